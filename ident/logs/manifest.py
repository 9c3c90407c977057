"""The manifest of a data set, `dataset.toml`: which columns of which files are which signals, in which units."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isnan, nan, pi
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Literal

from ident.errors import LogError, nearest, plural, require_known
from ident.shown import shows
from ident.tables import Reader, Table, boolean, count, one_or_more, positive, read_toml, shown, string, table, typed

Quantity = Literal["time", "position", "velocity", "torque", "temperature"]
Column = int | str
QUANTITIES: tuple[Quantity, ...] = ("time", "position", "velocity", "torque", "temperature")

# unit -> (what it measures, its value in SI). RAW units become SI only through a gain.
RAW = "raw"
#: The unit of dates and clock times as text, which are read in ns.
DATES = "datetime"
UNITS: dict[Quantity, dict[str, tuple[str, float]]] = {
    "time": {u: ("time", x) for u, x in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), (DATES, 1e-9))},
    "position": {
        "rad": ("angle", 1.0),
        "mrad": ("angle", 1e-3),
        "deg": ("angle", pi / 180),
        "rev": ("angle", 2 * pi),
        "m": ("length", 1.0),
        "mm": ("length", 1e-3),
        "um": ("length", 1e-6),
        "count": (RAW, 1.0),
    },
    "velocity": {
        "rad/s": ("angle", 1.0),
        "deg/s": ("angle", pi / 180),
        "rev/s": ("angle", 2 * pi),
        "rpm": ("angle", 2 * pi / 60),
        "m/s": ("length", 1.0),
        "mm/s": ("length", 1e-3),
        "count/s": (RAW, 1.0),
    },
    "torque": {
        "N m": ("angle", 1.0),
        "N cm": ("angle", 1e-2),
        "N mm": ("angle", 1e-3),
        "mN m": ("angle", 1e-3),
        "kN m": ("angle", 1e3),
        "kgf m": ("angle", 9.80665),
        "kgf cm": ("angle", 0.0980665),
        "lbf ft": ("angle", 1.3558179483),
        "lbf in": ("angle", 0.1129848290),
        "ozf in": ("angle", 0.1129848290 / 16),
        "N": ("length", 1.0),
        "kN": ("length", 1e3),
        **dict.fromkeys(("A", "mA", "V", "mV", "%", "permille", "count"), (RAW, 1.0)),
    },
    "temperature": {"degC": ("temperature", 1.0)},
}

#: What an address begins with.
SCHEMES = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "https", "http", "memory")


@dataclass(frozen=True)
class Signal:
    """Where one signal stands: in columns of a file, or of one of its arrays."""

    quantity: Quantity
    """time, position, velocity, torque or temperature."""
    columns: tuple[Column, ...] = ()
    """Numbers from 1, or names: of the header (text), of the column (Parquet), of a one-column array (NPZ, MAT).
    `column` for one alone.
    """
    array: str | None = None
    """The array (NPZ, MAT) whose columns are meant; alone: all of its columns. In Parquet a column of lists, always
    with `columns`. A field of a MATLAB structure is "rec.q".
    """
    file: str | None = None
    """Where the signal is not in the recording's own file; rows belong together one by one."""
    unit: str | tuple[str, ...] = ""
    """One, or one per column; raw units (A, mA, V, mV, %, count) need a gain. "datetime": dates and times as text
    (2026-03-04T10:11:12.005, 04.03.2026 10:11:12.005, 10:11:12.005). Columns of one clock add up: ["s", "ns"].
    """
    gain: float | tuple[float, ...] = 1.0
    """One, or one per column. SI value = number * unit * gain; for raw units number * gain, in N m (or N) per unit,
    with its sign. Of torques 0 for a joint without motor, nan where a motor's torque is not known.
    """
    saturation: float | tuple[float, ...] = 0.0
    """Of torques [1/(N m)^2 or 1/N^2], one, or one per column: x (1 - saturation x^2) in place of x = number * unit *
    gain, for a torque constant that falls with the current.
    """
    offset: float | tuple[float, ...] = 0.0
    """Of positions [rad or m], added to the joint's position after the transmission."""
    guessed: bool = False
    """Whether it is a guess, which `run` says first: of torques unit or `gain`, or that a joint is without motor; of
    positions which joints they are of; of the time `rate_hz`.
    """
    side: Literal["joint", "motor"] = "joint"
    """"motor": the robot's transmission turns it into the joint's."""
    rate_hz: float | None = None
    """No column: the time of uniform rows [Hz]."""

    def units(self, count: int = 1) -> tuple[str, ...]:
        """Return the unit of each of so many columns, as far as one unit does not say it of all."""
        return (self.unit,) * count if isinstance(self.unit, str) else self.unit


@dataclass(frozen=True)
class Recording:
    """One recording: its file, its rows and its signals."""

    name: str
    """Letters, digits and . _ + -"""
    file: str
    """.csv .txt .dat .tsv, .npz, .mat (up to version 7.2), .parquet, or a ROS bag; a relative path inside the data
    folder, or an address: s3:// gs:// az:// abfs:// https:// http:// (and what fsspec calls memory://).
    """
    time: Signal
    """As in [signals]."""
    position: Signal
    """As in [signals]."""
    torque: Signal
    """As in [signals]."""
    velocity: Signal | None = None
    """As in [signals]."""
    temperature: Signal | None = None
    """As in [signals]: of each joint, or one column for all."""
    rows: tuple[int, int] | None = None
    """First and last, 1-based without the header, both included; without: all."""
    note: str = ""
    """Free text."""
    topic: str = ""
    """Of a bag, the one whose messages are the rows; "" for its only topic of joint states."""
    drop_repeated: bool = False
    """Whether rows with the time, or with all other signals, of the row before are left out; told with the count."""
    drop_missing: bool = False
    """Whether rows in which a number is missing, or a few in which all signals are zero though the robot moves (lost
    packets), are left out, as if they had been lost; told with the count.
    """

    @property
    def signals(self) -> tuple[Signal, ...]:
        """Time, position, torque and, where there are any, velocity and temperature; each with its file."""
        found = (self.time, self.position, self.torque, self.velocity, self.temperature)
        return tuple(replace(s, file=s.file or self.file) for s in found if s)

    @property
    def drops_rows(self) -> bool:
        """Whether rows may be left out within the recording."""
        return self.drop_repeated or self.drop_missing

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the signals stand in, the recording's own first."""
        used = [s.file for s in self.signals if s.file and s.rate_hz is None]
        return tuple(dict.fromkeys(sorted(used, key=lambda f: f != self.file)))


@dataclass(frozen=True)
class Remote:
    """Where the public can fetch one file of the data set; used where IDENT_DATA is not set."""

    file: str
    """Which file of the data set it is."""
    url: str
    """Its public address, https."""
    sha256: str
    """SHA-256 of its content in hexadecimal digits; checked for local copies too."""


@dataclass(frozen=True)
class TextFormat:
    """How text files (.csv .txt .dat .tsv) are written."""

    delimiter: str = ","
    """" " stands for any blanks."""
    header: bool = False
    """Whether the first line names the columns; left out: true when a column is asked for by name."""
    decimal: str = "."
    """The decimal mark."""
    skip_lines: int = 0
    """Lines before the header or the first row."""


@shows
@dataclass(frozen=True)
class Manifest:
    """A data set: where it comes from, where its files are, and its recordings."""

    file: Path
    name: str
    """Also the name of its folder in the cache."""
    folder: str
    """Where the files are: relative to this file, or beginning with $IDENT_DATA; no path may leave it."""
    recordings: tuple[Recording, ...]
    remotes: tuple[Remote, ...] = ()
    text: TextFormat = TextFormat()
    source: str = ""
    """Free text."""
    licence: str = ""
    """Free text."""
    citation: str = ""
    """Free text."""
    note: str = ""
    """Free text."""

    def recording(self, name: str) -> Recording:
        """Return the recording called `name`. Raises LogError, with the nearest name, when there is none."""
        names = [r.name for r in self.recordings]
        fix = f"It has: {', '.join(names)}"
        require_known([name], names, LogError, "there is no recording", file=self.file, fix=fix)
        return self.recordings[names.index(name)]


def manifest_of(file: Path) -> Path | None:
    """Return the data set that names a file: dataset.toml beside or above it, or LOG.toml beside it."""
    folders = (file.resolve().parent, *file.resolve().parent.parents[:3])
    for path in (file.resolve().with_suffix(".toml"), *(folder / "dataset.toml" for folder in folders)):
        if path.is_file():
            with contextlib.suppress(LogError):
                if recordings_of(path, file):
                    return path
    return None


def recordings_of(manifest: Path, file: Path) -> list[str]:
    """Return the names of the recordings of a dataset.toml that a file belongs to."""
    found = read_manifest(manifest)
    folder = manifest.resolve().parent / found.folder
    return [r.name for r in found.recordings if any((folder / f).resolve() == file.resolve() for f in r.files)]


_TABLES = {
    "dataset": "What it is.",
    "recording": "One table for each recording.",
    "signals": "Which column is what, in all recordings; columns in the order of the robot's joints.",
    "layout": "Other columns under a name; signals that a layout leaves out are those of [signals].",
    "text": "How text files are written.",
    "remote": "Public addresses of the files.",
}


def read_manifest(path: str | Path) -> Manifest:
    """Read a `dataset.toml`; see `ident/logs/README.md` for its keys.

    Only the manifest is read, no log. Raises LogError for unknown keys (with the nearest known one), missing keys,
    wrong types, unknown units, raw units without a gain, and paths that leave the data folder.
    """
    file = Path(path)
    top = Table(read_toml(file, LogError), "", file, LogError)
    top.known(_TABLES)
    about = top.table("dataset").values(
        {"name": _plain_name},
        {"source": string, "licence": string, "citation": string, "note": string, "folder": _folder},
    )
    text = top.inner("text").values(
        {}, {"delimiter": _character, "header": boolean, "decimal": _character, "skip_lines": count}
    )
    layouts = {"": _layout(top.inner("signals"))}
    named = top.inner("layout")
    for name in named.data:
        layouts[name] = layouts[""] | _layout(named.table(name))
    if not top.tables("recording"):
        raise top.error("recording", "is empty, wanted one or more tables in double brackets")
    recordings = tuple(_recording(given, layouts) for given in top.tables("recording"))
    _refuse_twice([r.name for r in recordings], "recording name", file)
    published = top.tables("remote") if "remote" in top.data else ()
    remotes = tuple(Remote(**r.values({"file": _inside, "url": _https, "sha256": _sha256}, {})) for r in published)
    _refuse_twice([r.file for r in remotes], "remote file", file)
    text.setdefault("header", any(isinstance(c, str) for r in recordings for s in r.signals for c in s.columns))
    return Manifest(file, recordings=recordings, remotes=remotes, text=TextFormat(**text), **({"folder": "."} | about))


def _layout(given: Table) -> dict[str, Signal]:
    given.known(QUANTITIES)
    return {q: _signal(q, given.table(q)) for q in QUANTITIES if q in given.data}


def _recording(given: Table, layouts: Mapping[str, dict[str, Signal]]) -> Recording:
    values = given.values(
        {"name": _plain_name, "file": _file},
        {"rows": _rows, "layout": string, "note": string, "topic": string}
        | dict.fromkeys(("drop_repeated", "drop_missing"), boolean)
        | dict.fromkeys(QUANTITIES, table),
    )
    layout = values.pop("layout", "")
    if layout not in layouts:
        raise given.error("layout", f"there is no [layout.{layout}]{nearest(layout, layouts)}")
    own = {q: _signal(q, given.table(q)) for q in QUANTITIES if values.pop(q, None) is not None}
    signals = layouts[layout] | own
    for quantity in ("time", "position", "torque"):
        if quantity not in signals:
            raise given.error("", f"no signal for {quantity}", f"Give {quantity} in [signals] or here")
    by_name: dict[str, Any] = dict(signals)
    return Recording(**values, **by_name)


_UNIT = "a text, or a list of texts"


def _signal(quantity: Quantity, given: Table) -> Signal:
    columns: dict[str, Reader] = {"column": _column, "columns": _columns, "array": string, "file": _file}
    if quantity == "time":
        own = {"unit": one_or_more(string, _UNIT), "rate_hz": positive, "guessed": boolean}
        values = given.values({}, columns | own)
        if ("rate_hz" in values) == bool(values.keys() - {"rate_hz", "guessed"}):
            raise given.error("", "wanted either a column with its unit, or rate_hz")
    else:
        optional = columns | {"gain": _gains if quantity == "torque" else _numbers}
        optional |= {} if quantity == "temperature" else {"side": _side}
        optional |= {"offset": _numbers} if quantity == "position" else {}
        optional |= {"guessed": boolean} if quantity in ("torque", "position") else {}
        optional |= {"saturation": _numbers} if quantity == "torque" else {}
        values = given.values({"unit": one_or_more(string, _UNIT)}, optional)
    if "column" in values:
        if "columns" in values:
            raise given.error("", "has both 'column' and 'columns'", "Keep one of them")
        values["columns"] = (values.pop("column"),)
    signal = Signal(quantity, **values)
    if signal.rate_hz is not None:
        return signal
    if not signal.columns and not signal.array:
        raise given.error("", "names no columns", "Give columns = [...] or array = '...'")
    if not signal.unit:
        raise given.error("unit", "is missing, wanted a text that is not empty")
    units = signal.units()
    with given.place("unit"):
        for unit in units:
            si_factor(unit, quantity)
    several = quantity == "time" and max(len(signal.columns), len(units)) > 1
    if several and (len(units) != len(signal.columns) or DATES in units):
        fix = 'Give the unit of each, such as unit = ["s", "ns"], or one column alone'
        raise given.error("", "several columns are one clock, and add up", fix)
    raw = [u for u in units if kind_of(u, quantity) == RAW]
    if raw and "gain" not in values:
        per = "N m (or N)" if quantity == "torque" else "rad (or m)" if quantity == "position" else "rad/s (or m/s)"
        raise given.error("", f"'{raw[0]}' needs a gain", f"Give gain = ... in {per} per {raw[0]}, with its sign")
    for key in ("unit", "gain", "saturation", "offset"):
        value = getattr(signal, key)
        if isinstance(value, tuple) and signal.columns and len(value) != len(signal.columns):
            raise given.error(key, f"has {plural(len(value), 'value')} for {plural(len(signal.columns), 'column')}")
    return signal


def _gains(value: Any) -> float | tuple[float, ...]:
    """Return the gains of torques, among which nan may be."""
    unknown = [isinstance(x, float) and isnan(x) for x in value] if isinstance(value, list) else []
    if not any(unknown) or all(unknown):
        return _numbers(value)  # type: ignore[no-any-return]
    known = _numbers([1.0 if none else x for none, x in zip(unknown, value, strict=True)])
    return tuple(nan if none else x for none, x in zip(unknown, known, strict=True))


def _matching(pattern: str, wanted: str) -> Reader:
    return typed(str, wanted, lambda text: re.fullmatch(pattern, text) is not None)


def _counts_or_names(column: Column) -> bool:
    return bool(column.strip()) if isinstance(column, str) else column >= 1


_numbers = typed(float | tuple[float, ...], "a finite number, or a list of them", lambda found: found != ())
_plain_name = _matching(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}", "a name of letters, digits and . _ + -")
_https = _matching(r"https://[^\s/]+/\S+", "an address that begins with https://")
_sha256 = _matching(r"[0-9a-f]{64}", "64 hexadecimal digits in lower case")
_character = _matching(r'[^"\r\n\x80-\U0010ffff]', "one character")
_side = typed(Literal["joint", "motor"], "'joint' or 'motor'")
_column = typed(Column, "a column number from 1 on, or a column name", _counts_or_names)
_columns = typed(
    tuple[Column, ...],
    "a list of column numbers from 1 on, or of column names",
    lambda columns: bool(columns) and all(map(_counts_or_names, columns)),
)
_rows = typed(tuple[int, int], "[first, last] row, 1-based, both included", lambda rows: bool(1 <= rows[0] < rows[1]))


def _folder(value: Any) -> str:
    text = string(value)
    rest = text.removeprefix("$IDENT_DATA").lstrip("/") if text.startswith("$IDENT_DATA") else text
    if rest not in ("", "."):
        _inside(rest)
    return text


def _file(value: Any) -> str:
    """Read an address, or a path inside the data folder. What opens files of this machine is no address."""
    text = string(value)
    scheme, is_address, rest = text.partition("://")
    if not is_address:
        return _inside(text)
    if scheme not in SCHEMES or "::" in rest or not re.fullmatch(r"[^\s/]+/[^\x00-\x1f]*[^\x00-\x20/]", rest):
        raise ValueError(f"a path inside the data folder, or an address that begins with {'://, '.join(SCHEMES)}://")
    if re.search(r"^[^/]*:[^/]*@|[?&][^=]*(signature|sig|accesskeyid|token)=", rest, re.IGNORECASE):
        raise ValueError("an address without secrets, which would stand in every result")
    return text


def _inside(value: Any) -> str:
    """Read a relative path with forward slashes that does not climb out of its folder."""
    text = string(value)
    climbs = ".." in PurePosixPath(text).parts or ".." in PureWindowsPath(text).parts
    rooted = PurePosixPath(text).is_absolute() or PureWindowsPath(text).anchor or PureWindowsPath(text).drive
    if climbs or rooted or "$" in text or "\0" in text or text.startswith("~"):
        raise ValueError("a relative path that stays inside the data folder")
    if any(len(part.encode()) > 255 for part in text.split("/")):
        raise ValueError("a path whose names have at most 255 bytes")
    return text


def _refuse_twice(names: list[str], what: str, file: Path) -> None:
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise LogError(f"{what} {shown(twice[0])} is used more than once", file=file)


def si_factor(unit: str, quantity: Quantity) -> float:
    """Return the value of one `unit` in s, rad or m, rad/s or m/s, N m or N; 1 for a raw unit, whose gain does it.

    Raises LogError when `quantity` is not measured in `unit`.
    """
    return _find(unit, quantity)[1]


def kind_of(unit: str, quantity: Quantity) -> str:
    """Return "angle" (rad, rad/s, N m), "length" (m, m/s, N), "time" or "raw" (A, V, counts: these need a gain)."""
    return _find(unit, quantity)[0]


def _find(unit: str, quantity: Quantity) -> tuple[str, float]:
    known = UNITS[quantity]
    if unit not in known:
        problem = f"'{unit}' is no unit of {quantity}{nearest(unit, known)}"
        raise LogError(problem, fix=f"Use one of: {', '.join(known)}")
    return known[unit]
