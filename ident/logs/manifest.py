"""The manifest of a data set, `dataset.toml`: which columns of which files are which signals, in which units."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Literal

from ident.errors import LogError, nearest
from ident.logs.tables import (
    Reader,
    boolean,
    count,
    numbers,
    plural,
    positive,
    read_table,
    read_toml,
    shown,
    string,
    strings,
)
from ident.logs.units import RAW, Quantity, kind_of, si_factor
from ident.shown import Shown, shows

Column = int | str
QUANTITIES: tuple[Quantity, ...] = ("time", "position", "velocity", "torque")


@dataclass(frozen=True)
class Signal:
    """Where one signal stands: `columns` (1-based numbers or names) of `file`, or of its `array` (NPZ, MAT).

    No columns: all columns of `array`. `file` None: the recording's own. `unit` and `gain` one per column, or one for
    all; the SI value is number * unit * gain, and for raw units (A, V, counts) number * gain, with the gain in
    SI per unit (N m/A). `offset` [rad or m] is added to a joint position after the transmission.
    `side` "motor": the robot's transmission turns it into the joint's. `rate_hz`: no column, the time of uniform rows.
    """

    quantity: Quantity
    columns: tuple[Column, ...] = ()
    array: str | None = None
    file: str | None = None
    unit: str | tuple[str, ...] = ""
    gain: float | tuple[float, ...] = 1.0
    offset: float | tuple[float, ...] = 0.0
    side: Literal["joint", "motor"] = "joint"
    rate_hz: float | None = None


@dataclass(frozen=True)
class Recording:
    """One recording: its file, its rows (first and last, 1-based, both included; None: all) and its signals.

    `topic`: of a bag, the one whose messages are the rows; "" for its only topic of joint states. `drop_repeated`: rows
    with the time, or with all other signals, of the row before are left out.
    """

    name: str
    file: str
    time: Signal
    position: Signal
    torque: Signal
    velocity: Signal | None = None
    rows: tuple[int, int] | None = None
    note: str = ""
    topic: str = ""
    drop_repeated: bool = False

    @property
    def signals(self) -> tuple[Signal, ...]:
        """Time, position, torque and, where there is one, velocity; each with its file."""
        found = [self.time, self.position, self.torque] + ([self.velocity] if self.velocity else [])
        return tuple(replace(s, file=s.file or self.file) for s in found)

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the signals stand in, the recording's own first."""
        used = [s.file for s in self.signals if s.file and s.rate_hz is None]
        return tuple(dict.fromkeys(sorted(used, key=lambda f: f != self.file)))


@dataclass(frozen=True)
class Remote:
    """A public address of one file of the data set, with the SHA-256 of its content."""

    file: str
    url: str
    sha256: str


@dataclass(frozen=True)
class TextFormat:
    """How text files are written: delimiter (" ": any blanks), a header line or none, decimal mark, lines to skip.

    Where [text] does not say, there is a header when a column is asked for by name.
    """

    delimiter: str = ","
    header: bool = False
    decimal: str = "."
    skip_lines: int = 0


@shows
@dataclass(frozen=True)
class Manifest:
    """A data set: where it comes from, where its files are, and its recordings.

    `folder` as written: relative to the manifest's own folder, or beginning with $IDENT_DATA.
    """

    file: Path
    name: str
    folder: str
    recordings: tuple[Recording, ...]
    remotes: tuple[Remote, ...] = ()
    text: TextFormat = TextFormat()
    source: str = ""
    licence: str = ""
    citation: str = ""
    note: str = ""

    def shown(self) -> Shown:
        """Return its recordings and their files."""
        return f"Data set {self.name}", ("recording", "file"), [(r.name, r.file) for r in self.recordings]

    def recording(self, name: str) -> Recording:
        """Return the recording called `name`. Raises LogError, with the nearest name, when there is none."""
        names = [r.name for r in self.recordings]
        if name not in names:
            raise LogError(
                f"there is no recording '{name}'{nearest(name, names)}",
                file=self.file,
                fix=f"It has: {', '.join(names)}",
            )
        return self.recordings[names.index(name)]


def manifest_of(file: Path) -> Path | None:
    """Return the data set that names a file: dataset.toml beside or above it, or LOG.toml from `ident logs convert`."""
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


def read_manifest(path: str | Path) -> Manifest:
    """Read a `dataset.toml`; see `ident/logs/README.md` for its keys.

    Only the manifest is read, no log. Raises LogError for unknown keys (with the nearest known one), missing keys,
    wrong types, unknown units, raw units without a gain, and paths that leave the data folder.
    """
    file = Path(path)
    top = read_table(
        read_toml(file),
        file,
        "top level",
        {"dataset": _any, "recording": _tables},
        {"signals": _any, "layout": _named_tables, "text": _any, "remote": _tables},
    )
    about = read_table(
        top["dataset"],
        file,
        "dataset",
        {"name": _plain_name},
        {"source": string, "licence": string, "citation": string, "note": string, "folder": _folder},
    )
    text = read_table(
        top.get("text", {}),
        file,
        "text",
        {},
        {"delimiter": _character, "header": boolean, "decimal": _character, "skip_lines": count},
    )
    layouts = {"": _layout(top.get("signals", {}), file, "signals")}
    for name, values in top.get("layout", {}).items():
        layouts[name] = layouts[""] | _layout(values, file, f"layout.{name}")
    recordings = tuple(
        _recording(values, file, f"recording[{i}]", layouts) for i, values in enumerate(top["recording"], start=1)
    )
    _refuse_twice([r.name for r in recordings], "recording name", file)
    remotes = tuple(
        Remote(**read_table(values, file, f"remote[{i}]", {"file": _inside, "url": _https, "sha256": _sha256}, {}))
        for i, values in enumerate(top.get("remote", []), start=1)
    )
    _refuse_twice([r.file for r in remotes], "remote file", file)
    text.setdefault("header", any(isinstance(c, str) for r in recordings for s in r.signals for c in s.columns))
    return Manifest(file, recordings=recordings, remotes=remotes, text=TextFormat(**text), **({"folder": "."} | about))


def _layout(values: Any, file: Path, place: str) -> dict[str, Signal]:
    table = read_table(values, file, place, {}, dict.fromkeys(QUANTITIES, _any))
    return {q: _signal(q, table[q], file, f"{place}.{q}") for q in QUANTITIES if q in table}


def _recording(values: Any, file: Path, place: str, layouts: Mapping[str, dict[str, Signal]]) -> Recording:
    table = read_table(
        values,
        file,
        place,
        {"name": _plain_name, "file": _inside},
        {"rows": _rows, "layout": string, "note": string, "topic": string, "drop_repeated": boolean}
        | dict.fromkeys(QUANTITIES, _any),
    )
    layout = table.pop("layout", "")
    if layout not in layouts:
        raise LogError(f"there is no [layout.{layout}]{nearest(layout, layouts)}", file=file, key=f"{place}.layout")
    own = {k: table.pop(k) for k in QUANTITIES if k in table}
    signals = layouts[layout] | _layout(own, file, place)
    for quantity in ("time", "position", "torque"):
        if quantity not in signals:
            raise LogError(
                f"no signal for {quantity}", file=file, key=place, fix=f"Give {quantity} in [signals] or here"
            )
    by_name: dict[str, Any] = dict(signals)
    return Recording(**table, **by_name)


def _signal(quantity: Quantity, values: Any, file: Path, place: str) -> Signal:
    columns: dict[str, Reader] = {"column": _column, "columns": _columns, "array": string, "file": _inside}
    if quantity == "time":
        table = read_table(values, file, place, {}, columns | {"unit": string, "rate_hz": positive})
        if ("rate_hz" in table) == bool(table.keys() - {"rate_hz"}):
            raise LogError("wanted either a column with its unit, or rate_hz", file=file, key=place)
    else:
        optional = columns | {"gain": numbers, "side": _side} | ({"offset": numbers} if quantity == "position" else {})
        table = read_table(values, file, place, {"unit": strings}, optional)
    if "column" in table:
        if "columns" in table:
            raise LogError("has both 'column' and 'columns'", file=file, key=place, fix="Keep one of them")
        table["columns"] = (table.pop("column"),)
    signal = Signal(quantity, **table)
    if signal.rate_hz is not None:
        return signal
    if not signal.columns and not signal.array:
        raise LogError("names no columns", file=file, key=place, fix="Give columns = [...] or array = '...'")
    if not signal.unit:
        raise LogError("the key 'unit' is missing", file=file, key=place)
    units = (signal.unit,) if isinstance(signal.unit, str) else signal.unit
    try:
        for unit in units:
            si_factor(unit, quantity)
    except LogError as cause:
        raise LogError(cause.problem, file=file, key=f"{place}.unit", fix=cause.fix) from None
    raw = [u for u in units if kind_of(u, quantity) == RAW]
    if raw and "gain" not in table:
        per = "N m (or N)" if quantity == "torque" else "rad (or m)" if quantity == "position" else "rad/s (or m/s)"
        raise LogError(
            f"'{raw[0]}' needs a gain",
            file=file,
            key=place,
            fix=f"Give gain = ... in {per} per {raw[0]}, with its sign",
        )
    for key in ("unit", "gain", "offset"):
        value = getattr(signal, key)
        if isinstance(value, tuple) and signal.columns and len(value) != len(signal.columns):
            raise LogError(
                f"has {plural(len(value), 'value')} for {plural(len(signal.columns), 'column')}",
                file=file,
                key=f"{place}.{key}",
            )
    return signal


def _any(value: Any) -> Any:
    return value


def _tables(value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise ValueError("one or more tables in double brackets")
    return value


def _named_tables(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("tables such as [layout.NAME]")
    return value


def _plain_name(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}", value):
        raise ValueError("a name of letters, digits and . _ + -")
    return value


def _character(value: Any) -> str:
    if not isinstance(value, str) or len(value) != 1 or value in '"\r\n' or not value.isascii():
        raise ValueError("one character")
    return value


def _folder(value: Any) -> str:
    text = string(value)
    rest = text.removeprefix("$IDENT_DATA").lstrip("/") if text.startswith("$IDENT_DATA") else text
    if rest not in ("", "."):
        _inside(rest)
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


def _https(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"https://[^\s/]+/\S+", value):
        raise ValueError("an address that begins with https://")
    return value


def _sha256(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9a-f]{64}", value):
        raise ValueError("64 hexadecimal digits in lower case")
    return value


def _side(value: Any) -> str:
    if value not in ("joint", "motor"):
        raise ValueError("'joint' or 'motor'")
    return str(value)


def _column(value: Any) -> Column:
    if isinstance(value, bool) or not (
        (isinstance(value, int) and value >= 1) or (isinstance(value, str) and value.strip())
    ):
        raise ValueError("a column number from 1 on, or a column name")
    return value


def _columns(value: Any) -> tuple[Column, ...]:
    try:
        if isinstance(value, list) and value:
            return tuple(_column(v) for v in value)
    except ValueError:
        pass
    raise ValueError("a list of column numbers from 1 on, or of column names")


def _rows(value: Any) -> tuple[int, int]:
    good = isinstance(value, list) and len(value) == 2 and all(isinstance(v, int) and v is not True for v in value)
    if not good or not 1 <= value[0] < value[1]:
        raise ValueError("[first, last] row, 1-based, both included")
    return (value[0], value[1])


def _refuse_twice(names: list[str], what: str, file: Path) -> None:
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise LogError(f"{what} {shown(twice[0])} is used more than once", file=file)
