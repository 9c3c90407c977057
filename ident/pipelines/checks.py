"""What files say, and what they tell about themselves: `ident check`. What a kind of file needs is imported with it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from ident.errors import InputError
from ident.logs import LogReport, Manifest, iter_logs, locate, read_manifest
from ident.logs.check import NOTES
from ident.logs.manifest import manifest_of, recordings_of
from ident.logs.stream import check_recording
from ident.robot import Robot, read_robot
from ident.robot.robot import DESCRIPTIONS
from ident.spatial.inertia import consistency
from ident.tables import read_toml

if TYPE_CHECKING:
    from ident.pipelines.checked_cad import CheckedCad
    from ident.pipelines.loaded import Loaded

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
        from ident.regression.base import DOUBTFUL, ROUNDING

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
        from ident.pipelines.checked_cad import cad_check

        return cad_check(file, robot=robot)
    if kind == "experiment":
        from ident.pipelines.loaded import load

        loaded = load(file)
        for name in (*loaded.experiment.fit, *loaded.experiment.validate):
            for part in loaded.manifest.recording(name).files:
                locate(loaded.manifest, part)
        return CheckedExperiment(loaded)
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
            fix = "Name a log in a dataset.toml beside it; give a CAD table the header that docs/guide/files.md shows"
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
    from ident.model import Model
    from ident.regression import base_parameters, rank_margin

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
