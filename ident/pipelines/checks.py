"""What files say, and what they tell about themselves: `ident check`, `ident cad read` and `ident cad check`."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from ident.cad import (
    SI,
    Cad,
    Finding,
    LinkVerdict,
    Sheet,
    check_cad,
    examine,
    examine_table,
    examine_together,
    read_frames,
    read_sheet,
    read_source,
    require_consistent,
    write_cad,
)
from ident.cad.sheets.read import find_sheets
from ident.cad.sheets.sheet import Products
from ident.cad.source import is_sheet
from ident.compare.shape import Misfit, against_shapes
from ident.errors import CadError, InputError, RobotError
from ident.estimate import neutral_prior
from ident.estimate.prior import implausible
from ident.geometry.capsules import collision_clouds
from ident.logs import LogReport, Manifest, iter_logs, locate, read_manifest
from ident.logs.manifest import manifest_of, recordings_of
from ident.logs.stream import check_recording
from ident.model import Model
from ident.pipelines.loaded import Loaded, load
from ident.pipelines.steps import NOTES
from ident.regression import base_parameters, rank_margin
from ident.regression.base import DOUBTFUL, ROUNDING
from ident.robot import Robot, read_robot
from ident.robot.robot import DESCRIPTIONS
from ident.robot.urdf import parse_document, to_robot
from ident.robot.xml import parse_xml, read_bytes
from ident.spatial.inertia import Pose, consistency
from ident.tables import read_toml

Kind = Literal["robot", "cad", "log", "dataset", "experiment"]


@dataclass(frozen=True, eq=False)
class CheckedRobot:
    """A robot: how many combinations of its links' parameters torque can show, and whether each link can exist.

    margin: singular values down to the first, as a share of the largest, count; those up to the second are zero.
    verdicts: of every link, "no inertial", "massless frame", "can exist" or "cannot exist: why".
    """

    robot: Robot
    combinations: int
    margin: tuple[float, float]
    verdicts: tuple[str, ...]

    @property
    def doubtful(self) -> bool:
        """Whether the number of combinations hangs on the last digits of the description."""
        return self.margin[0] < DOUBTFUL or self.margin[1] > ROUNDING

    @property
    def problems(self) -> int:
        """How many links cannot exist."""
        return sum(verdict.startswith("cannot") for verdict in self.verdicts)


@dataclass(frozen=True, eq=False)
class CheckedLogs:
    """Recordings, what is odd about each, and the pictures that were drawn of them."""

    reports: tuple[LogReport, ...]
    pictures: tuple[Path, ...] = ()

    @property
    def problems(self) -> int:
        """How many findings are more than notes."""
        return sum(f.kind not in NOTES for report in self.reports for f in report.findings)


@dataclass(frozen=True, eq=False)
class CheckedExperiment:
    """An experiment whose files are there and fit each other."""

    loaded: Loaded
    problems: Literal[0] = 0


def check(
    file: str | Path, *, robot: Path | None = None, recording: str | None = None, plot: Path | None = None
) -> CheckedRobot | CheckedCad | CheckedLogs | CheckedExperiment:
    """Return what a robot, CAD table, data set, log or experiment says, and how many `problems` it has.

    robot: whose links a table must have, or whose log it is; without, of a log, the robot.toml or robot.urdf beside
    the data set. recording: only this one of a data set. plot: folder for a picture of each recording (of a long
    one, its first part). Raises InputError for what is none of these, and
    RobotError, CadError, LogError, ConfigError for files that cannot be read.
    """
    file = Path(file)
    kind = kind_of(file)
    if plot is not None and kind not in ("dataset", "log"):
        raise InputError("is for logs", key="--plot", fix="Leave it out")
    if kind == "robot":
        return _robot(read_robot(file))
    if kind == "cad":
        return cad_check(file, robot=robot)
    if kind == "experiment":
        return _experiment(load(file))
    if kind == "dataset":
        return _logs(file, robot, [recording] if recording else None, plot)
    path = manifest_of(file)
    if path is None:
        fix = "Describe its columns in a dataset.toml beside it, and check that"
        raise InputError("no dataset.toml says which columns are which signals", file=file, fix=fix)
    return _logs(path, robot, [recording] if recording else recordings_of(path, file), plot)


def kind_of(file: Path) -> Kind:
    """Return what a file is, by its ending and the tables in it; InputError where it is nothing that can be checked."""
    if file.is_dir():
        if not (file / "experiment.toml").is_file() and any(file.glob("*.txt")):
            fix = f"Reports of a CAD program: ident cad check {file.name}"
            raise InputError("is a folder without an experiment.toml", file=file, fix=fix)
        return "experiment"
    ending = file.suffix.lower()
    if ending in DESCRIPTIONS:
        return "robot"
    if ending in (".npz", ".mat", ".parquet") or (ending in (".txt", ".csv") and manifest_of(file)):
        return "log"
    if ending in (".txt", ".csv"):
        head = b"link"
        with contextlib.suppress(OSError), file.open("rb") as stream:  # what cannot be read is told by its reader
            head = stream.read(65536).lower().replace(b"\0", b"")
        if b"link" not in head:
            none = "is named by no dataset.toml beside it that can be read, and is no CAD table: no column 'link'"
            problem = none if head.strip() else "is empty"
            fix = "Name a log in a dataset.toml beside it; give a CAD table the header that README shows"
            raise InputError(problem, file=file, fix=fix)
        return "cad"
    if ending != ".toml":
        raise InputError("is nothing that can be checked", file=file, fix="Give a .toml, .urdf, .xml, .csv or log file")
    keys = read_toml(file, InputError).keys()
    kinds: dict[Kind, set[str]] = {
        "experiment": {"experiment"},
        "dataset": {"dataset", "recording"},
        "cad": {"link", "table"},
        "robot": {"urdf", "joint"},
    }
    for kind, own in kinds.items():
        if keys & own:
            return kind
    raise InputError("is no robot, CAD table, data set or experiment", file=file)


def _robot(robot: Robot) -> CheckedRobot:
    model, verdicts = Model(robot), []
    for i in range(robot.n):
        verdict = "no inertial"
        if robot.inertials is not None and np.isfinite(robot.inertials[i]).all():
            found = consistency(robot.inertials[i])
            verdict = "can exist" if robot.inertials[i].any() else "massless frame"
            verdict = verdict if found.consistent else f"cannot exist: {'; '.join(found.failures())}"
        verdicts.append(verdict)
    return CheckedRobot(robot, len(base_parameters(model).names), rank_margin(model), tuple(verdicts))


def _logs(file: Path, robot: Path | None, names: Sequence[str] | None, plot: Path | None = None) -> CheckedLogs:
    manifest = read_manifest(file)
    beside = [file.parent / name for name in ("robot.toml", "robot.urdf")]
    chosen = robot or next((p for p in beside if p.is_file()), None)
    if chosen is None:
        raise InputError("a log is checked against its robot", file=file, key="--robot", fix="Add --robot FILE")
    arm = read_robot(chosen)
    names = names or [r.name for r in manifest.recordings]
    reports = tuple(check_recording(manifest, name, arm) for name in names)
    return CheckedLogs(reports, () if plot is None else _drawn(manifest, arm, reports, plot))


def _drawn(manifest: Manifest, arm: Robot, reports: Sequence[LogReport], folder: Path) -> tuple[Path, ...]:
    """Write a picture of each recording to a folder."""
    from ident.report.figures import save_figure
    from ident.report.spectra import log_figure

    if folder.is_file():
        raise InputError("is a file", file=folder, key="--plot", fix="Name a folder")
    folder.mkdir(parents=True, exist_ok=True)
    logs = ((next(iter_logs(manifest, report.name, arm)), report) for report in reports)
    return tuple(save_figure(log_figure(log, found.findings), folder / f"{found.name}.png") for log, found in logs)


def _experiment(loaded: Loaded) -> CheckedExperiment:
    e = loaded.experiment
    for name in (*e.fit, *e.validate):
        for part in loaded.manifest.recording(name).files:
            locate(loaded.manifest, part)
    return CheckedExperiment(loaded)


@dataclass(frozen=True, eq=False)
class Shapes:
    """What the collision shapes of a URDF contradict in its numbers.

    judged: links that have both; links: of the robot; untold: why nothing was compared, "" where it was.
    """

    misfits: tuple[Misfit, ...] = ()
    judged: int = 0
    links: int = 0
    untold: str = ""


@dataclass(frozen=True, eq=False)
class CheckedCad:
    """What CAD numbers tell about themselves: reports by link (or why one cannot be read), or one table of links.

    findings: by link, "" for those of the table or of all reports together; verdicts: whether each link can exist; fix:
    what to do where one cannot ("" else). robot: the file of the robot whose links a table has.
    """

    reports: Mapping[str, Sheet | CadError]
    cad: Cad | None
    verdicts: tuple[LinkVerdict, ...]
    findings: Mapping[str, tuple[Finding, ...]]
    shapes: Shapes = Shapes()
    fix: str = ""
    robot: Path | None = None

    @property
    def problems(self) -> int:
        """How many problems there are."""
        found = sum(isinstance(report, CadError) for report in self.reports.values())
        found += sum((v.status == "impossible") + len(v.doubts) for v in self.verdicts)
        found += sum(f.verdict == "problem" for told in self.findings.values() for f in told)
        return found + sum(misfit.gross for misfit in self.shapes.misfits)


def cad_read(
    source: str | Path,
    out: str | Path | None = None,
    *,
    products: str | None = None,
    frames: Path | None = None,
    robot: Path | None = None,
) -> Cad:
    """Return what a report, a folder of reports LINK.txt, a table, a URDF or an MJCF says of links, in SI.

    out: table (.csv, .toml) to write it to. products: the sign of a report's printed products, "tensor" or "positive".
    frames: a .toml file with the poses of the output frames of reports. robot: whose links there must be.
    Raises InputError for another ending of `out`, CadError and RobotError.
    """
    table_ending(out)
    poses, sign = words_of(frames, products)
    cad = read_source(Path(source), None if robot is None else read_robot(robot), poses, sign)
    if out is not None:
        convention = cad.table.convention if cad.table else replace(SI, tensor_at="center_of_mass")
        write_cad(cad, convention, out)
    return cad


def cad_check(source: str | Path, meshes: Path | None = None, robot: Path | None = None) -> CheckedCad:
    """Return what numbers tell about their own signs, points and units; needs no log and no robot.

    source: as for `cad_read`; links of a URDF are also held against their own collision shapes, whose meshes lie in
    the folder `meshes`, by default the URDF's own. robot: whose links a table must have. A report of a folder that
    cannot be read is one of its problems. Raises InputError for a folder of meshes that is none, CadError and
    RobotError for a file that cannot be read.
    """
    source = Path(source)
    urdf = source.suffix.lower() in DESCRIPTIONS
    if meshes is not None and not (urdf and meshes.is_dir()):
        problem = "is no folder" if urdf else "is for a URDF"
        raise InputError(problem, key="--meshes", fix="Leave it out" if not urdf else "Give the folder of the meshes")
    if not source.is_dir() and not is_sheet(source):
        cad, fix = read_source(source, None if robot is None else read_robot(robot)), ""
        try:
            require_consistent(cad)
        except CadError as cause:
            fix = f"{cause.fix}."
        shapes = _shapes(source, (meshes or source.parent).resolve()) if urdf else Shapes()
        return CheckedCad({}, cad, _judged(cad, robot), {"": tuple(examine_table(cad))}, shapes, fix, robot)
    reports: dict[str, Sheet | CadError] = {}
    for link, path in (find_sheets(source) if source.is_dir() else {source.stem: source}).items():
        try:
            reports[link] = read_sheet(path)
        except CadError as cause:
            if not source.is_dir():
                raise
            reports[link] = cause
    read = {link: report for link, report in reports.items() if isinstance(report, Sheet)}
    findings = {link: tuple(examine(report)) for link, report in read.items()}
    return CheckedCad(reports, None, (), findings | {"": tuple(examine_together(read))})


def _judged(cad: Cad, robot: Path | None) -> tuple[LinkVerdict, ...]:
    """Return what each link's numbers say, also against the lengths of the robot where there is one."""
    verdicts = check_cad(cad)
    if robot is None or any(v.status == "impossible" for v in verdicts):
        return verdicts
    arm = read_robot(robot)
    odd = implausible(arm, cad.for_robot(arm), neutral_prior(arm))
    return tuple(
        replace(v, doubts=tuple(x.removeprefix(f"{v.link}: ") for x in odd if x.startswith(f"{v.link}: ")))
        if not v.doubts
        else v
        for v in verdicts
    )


def _shapes(source: Path, folder: Path) -> Shapes:
    """Return what the links' own shapes contradict in a URDF."""
    data = read_bytes(source)
    if parse_xml(data, file=source.name).tag == "mujoco":
        return Shapes()
    try:
        urdf = parse_document(data, file=source.name)
        robot = to_robot(urdf)
        clouds = collision_clouds(urdf, robot, folder)
    except RobotError as cause:
        return Shapes(untold=f"numbers and shapes were not compared: {cause} (--meshes names another folder of meshes)")
    if robot.inertials is None or not clouds:
        return Shapes()
    links = {link: p for link, p in zip(robot.links, robot.inertials, strict=True) if p[0] > 0}
    misfits = against_shapes(links, {link: cloud.surface() for link, cloud in clouds.items()})
    return Shapes(tuple(misfits), sum(link in clouds for link in links), len(robot.links))


def table_ending(out: str | Path | None) -> None:
    """Raise InputError for a table to write that is neither .csv nor .toml."""
    if out is not None and Path(out).suffix not in (".csv", ".toml"):
        raise InputError(f"ends in '{Path(out).suffix}'", file=out, fix="Choose .csv or .toml")


def words_of(frames: Path | None, products: str | None) -> tuple[dict[str, Pose] | None, Products | None]:
    """Return output frames by link, and the sign of products, as they are given; CadError for another word."""
    if products not in (None, "tensor", "positive"):
        raise CadError(f"unknown word '{products}'", key="--products", fix="Write tensor or positive")
    return None if frames is None else read_frames(frames), products  # type: ignore[return-value]
