"""An experiment's [calibrate]: found in its fitted logs, and taken over into robot, manifest and processing.

Gains and saturation go into the manifest, delays into the processing, tilt, zeros and lengths into the robot: so
whatever reads a log or predicts a torque after that has them, workers and validation among them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from ident.calibrate import Calibration, Evidence, calibrated_where_worth, group_of
from ident.calibrate.slopes import drive_matrix
from ident.errors import ConfigError, InputError, RobotError
from ident.experiment import Experiment
from ident.pipelines.loaded import Loaded
from ident.pipelines.steps import Warned, as_calibrated, first_parts, processing_of
from ident.robot.unknown import Calibrated, skews
from ident.tables import read_toml
from ident.tell import Tell, logged


def with_calibration(loaded: Loaded, warned: list[Warned], tell: Tell = logged) -> Loaded:
    """Return the experiment as its [calibrate] has it, with what was found; as it is where it has none.

    Of long recordings the first part is looked at. Raises ConfigError for joints and lengths that the robot lacks and
    gains that its manifest cannot hold, LogError for the logs.
    """
    experiment = loaded.experiment
    if experiment.calibrate is None:
        return loaded
    try:
        unknowns = experiment.calibrate.unknowns(loaded.robot, _convention(experiment))
    except InputError as cause:
        raise experiment.error(cause.problem, "calibrate", cause.fix) from None
    if not unknowns:
        raise experiment.error("asks for nothing", "calibrate", "Write gravity = true, zeros = true or gains = true")
    if experiment.calibrate.gains or experiment.calibrate.saturation:
        _require_room(loaded)
    tell("calibrating", 0, 1)
    processing = processing_of(loaded)
    motions = [m for name in experiment.fit for m in first_parts(loaded, [name], processing[0])]
    if experiment.calibrate.saturation:
        largest = np.max(
            [np.abs(m.tau @ np.linalg.inv(drive_matrix(loaded.robot))).max(axis=0) for m in motions], axis=0
        )
        unknowns = experiment.calibrate.unknowns(loaded.robot, _convention(experiment), largest)
    kept, evidence, whole = calibrated_where_worth(loaded.model, motions, loaded.prior, unknowns)
    tell("calibrating", 1, 1)
    found = _said(kept, evidence, whole)
    warned += [Warned(f"calibrate {e.group}", "calibrated", f"{e}{'' if e.worth else '; not taken'}") for e in evidence]
    settled = as_calibrated(replace(loaded, processing=processing), found)
    return replace(settled, calibrated=found, spread=None if kept is None else kept.spread_of_parameters())


def with_late_torques(loaded: Loaded, late: float, warned: list[Warned]) -> Loaded:
    """Return the experiment with torques read as being late [s], which is all positions early, and that as found."""
    said = f"all torques come {1e3 * abs(late):.3g} ms {'late' if late > 0.0 else 'early'}"
    warned.append(Warned("torques", "late", f"{said}, as they follow the motion, and are read so"))
    found = tuple(Calibrated(u, -late, float("nan"), said, True) for u in skews(loaded.robot))
    return replace(loaded, late=late, calibrated=found)


def _said(kept: Calibration | None, evidence: tuple[Evidence, ...], whole: Calibration) -> tuple[Calibrated, ...]:
    """Return each unknown that was asked for, with its value and what is to be said of it."""
    words = {e.group: str(e) for e in evidence}
    reasons = {u.unknown.name: u.reason for c in (whole, kept) if c is not None for u in c.untold}
    own = {} if kept is None else dict(zip((u.name for u in kept.unknowns), kept.errors.tolist(), strict=True))
    found = []
    for u in whole.normal.at.unknowns:
        if kept is not None and u.name in own:
            found.append(Calibrated(u, kept.value(u.name), own[u.name], "taken", True))
        elif u.name in reasons:
            found.append(Calibrated(u, u.nominal, float("nan"), f"left out: {reasons[u.name]}", False))
        else:
            k = [x.name for x in whole.unknowns].index(u.name)
            said = f"not taken: {words[group_of(u)]}"
            found.append(Calibrated(u, float(whole.values[k]), float(whole.errors[k]), said, False))
    return tuple(found)


def _convention(experiment: Experiment) -> Literal["dh", "mdh"] | None:
    if experiment.robot.suffix.lower() != ".toml":
        return None
    found = read_toml(experiment.robot, RobotError).get("convention")
    return found if found in ("dh", "mdh") else None


def _require_room(loaded: Loaded) -> None:
    """Raise ConfigError where a coupled drive's gain has no place: torques on the joint side mix drives."""
    coupled = np.count_nonzero(drive_matrix(loaded.robot)) > loaded.robot.n
    if coupled and any(r.torque.side == "joint" for r in loaded.manifest.recordings):
        problem = "are those of drives that are coupled, and the data set's torques are on the joint side"
        raise ConfigError(problem, file=loaded.experiment.file, key="calibrate.gains", fix="Leave them out")
