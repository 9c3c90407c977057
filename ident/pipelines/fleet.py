"""A fleet: many robots, each identified from its own logs, beside each other and beside an earlier table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ident.errors import ConfigError, IdentError, InputError, need, plural
from ident.files import short_names, whole_file, whole_folder
from ident.pipelines.calibration import with_calibration
from ident.pipelines.cluster import mapped, sharing
from ident.pipelines.compressed import compressed
from ident.pipelines.factors import fitted
from ident.pipelines.loaded import Loaded, load, with_data
from ident.pipelines.select import require_load, with_terms
from ident.pipelines.steps import Warned, processing_of
from ident.pipelines.validated import validated
from ident.pipelines.wishes import Sharing
from ident.report.text import unit
from ident.tables import Table, read_toml, string, typed
from ident.tell import Tell, logged

if TYPE_CHECKING:
    import pandas as pd

FILES = ("fleet.parquet", "fleet.html")
#: The verdict of a robot that could not be fitted; its row has no parameter.
FAILED = "failed"
_ALONE = Sharing()
_KEYS = {
    "title": "Heading of the page.",
    "experiment": "The robot, model and fit of all; its own data, too, where it has no [model].",
    "data": "Patterns of data sets, one for each robot.",
    "experiments": "Instead of experiment and data: patterns of experiment files, one for each robot.",
}
_PATTERNS = typed(tuple[str, ...], "a list of patterns such as 'robots/*/experiment.toml'", bool)


@dataclass(frozen=True)
class Member:
    """A robot of a fleet: its name, and the file of its experiment, or of its logs where all share one experiment."""

    name: str
    file: Path


@dataclass(frozen=True, eq=False)
class Identified:
    """What came of a robot: rows of the table (`ident.compare.difference.COLUMNS`), or why there are none."""

    name: str
    rows: tuple[tuple[object, ...], ...] = ()
    reason: str = ""


@dataclass(frozen=True, eq=False)
class FleetResult:
    """A fleet's table (`ident.compare.difference`), who could not be fitted and why, and the folder written."""

    title: str
    table: pd.DataFrame
    failed: Mapping[str, str]
    path: Path

    @property
    def standing_out(self) -> tuple[str, ...]:
        """Robots with a parameter that chance does not set so far from the others'."""
        return tuple(dict.fromkeys(self.table["robot"][self.table["stands_out"]]))

    @property
    def drifted(self) -> tuple[str, ...]:
        """Robots with a parameter that chance does not set so far from the earlier one."""
        return tuple(dict.fromkeys(self.table["robot"][self.table["drifted"]]))


def fleet(
    file: str | Path,
    out: str | Path | None = None,
    tell: Tell = logged,
    command: str = "",
    *,
    against: str | Path | None = None,
    share: Sharing = _ALONE,
) -> FleetResult:
    """Identify every robot of a fleet, and write the table and the page of those who stand out to the folder `out`.

    file: fleet.toml; out: by default fleets/NAME beside it; against: an earlier fleet.parquet; share: who does the
    work. Robots that cannot be fitted stop nothing: they are listed. Raises ConfigError for the file, what `load`
    raises for an experiment that all share, InputError where no robot could be fitted.
    """
    need("pyarrow")
    import pandas as pd

    from ident.compare.difference import COLUMNS, compared
    from ident.report import write_report
    from ident.report.several import gather_fleet

    title, template, members = _read(Path(file))
    earlier = None if against is None else read_table(against)
    where = Path(out) if out else Path(file).resolve().parent / "fleets" / Path(file).stem
    with whole_folder(where, FILES) as folder:
        with sharing(share) as client:
            template = None if template is None else _settled(template)
            found = list(mapped(client, of_robot, template, members, tell, "identifying robots", _lost))
        failed = {robot.name: robot.reason for robot in found if not robot.rows}
        if len(failed) == len(found):
            name, why = next(iter(failed.items()))
            raise InputError(f"none of {plural(len(found), 'robot')} could be fitted; '{name}': {why}", file=file)
        tell("writing results", 0, 1)
        table = compared(pd.DataFrame([row for robot in found for row in robot.rows], columns=list(COLUMNS)), earlier)
        _write_table(table, failed, folder / FILES[0])
        write_report(gather_fleet(title, table, failed, against=against, command=command), folder / FILES[1])
        tell("writing results", 1, 1)
    return FleetResult(title, table, failed, where)


def of_robot(template: Loaded | None, member: Member) -> Identified:
    """Return what its logs say of one robot, or why they say nothing."""
    from ident.export import with_validation
    from ident.report.verdict import verdict

    try:
        told, warned = list[Warned](), list[Warned]()
        loaded = with_calibration(_loaded(template, member), told)
        found = compressed(loaded, told)
        estimate = fitted(loaded, found, warned)
        validation = validated(loaded, estimate, found.regression, warned)
        estimate = with_validation(estimate, validation)
        judged = verdict(estimate, validation)
    except IdentError as cause:
        return Identified(member.name, reason=str(cause))
    except Exception as cause:  # a mistake of ours: one robot of thousands does not end the others' work
        return Identified(member.name, reason=f"a bug of ident: {type(cause).__name__}: {cause}")
    total = (None if validation is None else validation.total(validation.names[0])) or estimate
    about = int(estimate.covariance.dof), total.relative_total, judged.headline, judged.reason
    values = estimate.phi.tolist(), estimate.covariance.standard_errors.tolist()
    each = zip(estimate.base.names, *values, strict=True)
    rows = ((member.name, name, unit(name, loaded.robot.slides), *numbers, *about) for name, *numbers in each)
    return Identified(member.name, tuple(rows))


def _loaded(template: Loaded | None, member: Member) -> Loaded:
    if template is not None:
        return with_data(template, member.file)
    return _settled(require_load(load(member.file)))


def _settled(loaded: Loaded) -> Loaded:
    """Return an experiment with the friction and the processing that its logs ask for."""
    loaded = with_terms(loaded, [])
    return replace(loaded, processing=processing_of(loaded))


def _lost(member: Member, cause: InputError) -> Identified:
    return Identified(member.name, reason=str(cause))


# ---- files ---------------------------------------------------------------------------------------------------------


def _read(file: Path) -> tuple[str, Loaded | None, tuple[Member, ...]]:
    """Return a fleet's title, what all robots share (None: nothing), and its robots."""
    top = Table(read_toml(file, ConfigError), "", file, ConfigError)
    top.known(("fleet",))
    head = top.table("fleet")
    head.known(_KEYS)
    several = "experiments" in head.data
    readers = {"experiments": _PATTERNS} if several else {"experiment": string, "data": _PATTERNS}
    given = head.values({"title": string, **readers}, {})
    files = _matching(head, "experiments" if several else "data", given["experiments" if several else "data"])
    members = tuple(map(Member, _names(files), files))
    if several:
        return given["title"], None, members
    return given["title"], require_load(load(file.parent / given["experiment"])), members


def _matching(head: Table, key: str, patterns: Sequence[str]) -> list[Path]:
    """Return the files of all patterns, which are relative to the fleet's folder."""
    found: list[Path] = []
    for pattern in patterns:
        try:
            some = sorted(p for p in Path(head.file).parent.glob(pattern) if p.is_file())
        except (NotImplementedError, ValueError):
            raise head.error(key, f"'{pattern}' is no pattern", "Give it relative to this file's folder") from None
        if not some:
            raise head.error(key, f"no file is called '{pattern}'", "Correct the pattern")
        found += some
    return list(dict.fromkeys(found))


def _names(files: Sequence[Path]) -> list[str]:
    """Return names of robots: of their files, or of the folders where all files are called the same."""
    alike = len({file.name for file in files}) == 1
    return short_names([file.parent for file in files] if alike and len(files) > 1 else files)


def _write_table(table: pd.DataFrame, failed: Mapping[str, str], path: Path) -> None:
    """Write the table as Parquet, with a row without parameter for each robot that failed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = {name: table[name].tolist() + [None] * len(failed) for name in table.columns}
    for name, values in (("robot", list(failed)), ("verdict", [FAILED] * len(failed)), ("reason", failed.values())):
        rows[name][len(table) :] = values
    with whole_file(path) as part:
        pq.write_table(pa.table(rows), part)


def read_table(path: str | Path) -> pd.DataFrame:
    """Read the table that `fleet` wrote; InputError for a file that is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    needed = ["robot", "parameter", "value", "standard_error", "dof"]
    try:
        found = pq.read_table(path, columns=needed)
        texts = all(pa.types.is_string(found.schema.field(name).type) for name in needed[:2])
        numbers = found.select(needed[2:]).cast(pa.schema([(name, pa.float64()) for name in needed[2:]]))
    except FileNotFoundError:
        raise InputError("no such file", file=path, fix="Give a fleet.parquet of `ident fleet`") from None
    except (pa.ArrowException, OSError, KeyError, ValueError) as cause:
        problem = f"cannot be read as the table of a fleet ({type(cause).__name__})"
        raise InputError(problem, file=path, fix="Give a fleet.parquet of `ident fleet`") from None
    if not texts:
        raise InputError("robots and parameters are no texts", file=path, fix="Give a fleet.parquet of `ident fleet`")
    frame: pd.DataFrame = numbers.to_pandas()
    for name in needed[:2]:
        frame[name] = found[name].to_pandas()
    return frame
