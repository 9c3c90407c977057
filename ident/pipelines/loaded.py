"""An experiment with all that it names read, and checked to fit together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ident.arrays import Array
from ident.cad import read_source, require_consistent
from ident.errors import ConfigError, InputError, ModelError, RobotError, nearest, require_known
from ident.estimate import Prior, cad_prior, neutral_prior
from ident.estimate.estimate import Structure
from ident.experiment import Experiment, build_model, read_experiment
from ident.files import data_path, hashes
from ident.logs import Manifest, Processing, read_manifest
from ident.model import Balancer, Model
from ident.model.terms import kind_of, kinds
from ident.regression import BaseParameters, base_parameters
from ident.robot import Robot, read_robot
from ident.robot.placeholders import placeholders
from ident.robot.robot import DESCRIPTIONS
from ident.robot.unknown import Calibrated
from ident.spatial.inertia import INERTIAL, to_com
from ident.tables import Table, read_toml

#: A frame is another one when an axis or a point is farther off [1; m], which rounding is not.
_SAME_FRAME = 1e-4


@dataclass(frozen=True, eq=False)
class Loaded:
    """An experiment with all it names read, except for the logs.

    cad (n, 10): link parameters that the result is compared with, None without; joint_values: CAD's values of joint
    terms by name; cad_source: where they come from. truth: true parameters by name. inputs: file -> SHA-256.
    notes: what was taken otherwise than it stands, or without being asked for. processing: of fits and of predictions,
    where that was settled before the model was. described: the robot as its file has it, where it was calibrated.
    structure: how joint terms were chosen, where they were; pulls: by what their shapes widen the base parameters'
    covariance (`ident.structure.shapes`). late: by how much all torques are late [s], where the logs say so.
    calibrated: each unknown that was asked for, with what is said of it; spread (b, b): what they add to that, too.
    """

    experiment: Experiment
    robot: Robot
    model: Model
    base: BaseParameters
    manifest: Manifest
    prior: Prior
    cad: Array | None
    joint_values: Mapping[str, float]
    cad_source: str | None
    truth: Mapping[str, float] | None
    inputs: Mapping[str, str]
    notes: tuple[str, ...] = ()
    processing: tuple[Processing, Processing] | None = None
    described: Robot | None = None
    structure: Structure | None = None
    pulls: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    late: float = 0.0
    calibrated: tuple[Calibrated, ...] = ()
    spread: Array | None = None


def load(experiment: Experiment | str | Path) -> Loaded:
    """Read an experiment's robot, manifest, CAD table and truth, and check that they fit each other.

    Raises ConfigError for recordings, joints and links that the experiment names and that do not exist; RobotError,
    CadError and LogError from the files themselves.
    """
    experiment = experiment if isinstance(experiment, Experiment) else read_experiment(experiment)
    robot = read_robot(experiment.robot)
    manifest = read_manifest(experiment.data)
    _known_recordings(experiment, manifest)
    inputs = hashes(experiment.file, experiment.robot, experiment.data, described_in(experiment.robot))
    cad, joint_values, source = None, dict[str, float](), None
    notes = list(robot.notes)
    if isinstance(experiment.cad, Path):
        table = read_source(experiment.cad)
        require_consistent(table)
        cad, joint_values, source = _urdf_inertials(robot, experiment), dict(table.joint_values), experiment.cad.name
        cad = table.for_robot(robot) if cad is None else cad
        inputs[experiment.cad.name] = table.sha256
    elif experiment.cad == "robot":
        if robot.inertials is None or np.isnan(robot.inertials).all():
            problem = f"is 'robot', but '{experiment.robot.name}' gives no inertials"
            raise experiment.error(problem, "experiment.cad", "Name a CAD table, or leave it out")
        cad, source = robot.inertials, experiment.robot.name
    elif experiment.cad is None and robot.inertials is not None and not np.isnan(robot.inertials).all():
        cad, source, note = _own_inertials(robot, experiment.robot.name)
        notes.append(note)
    prior = neutral_prior(robot) if cad is None else cad_prior(robot, cad, source or "", joint_values)
    truth = None if experiment.truth is None else read_truth(experiment.truth, robot)
    inputs |= hashes(experiment.truth)
    model = build_model(experiment, robot, None if cad is None else np.where(np.isnan(cad), prior.inertials, cad))
    _known_links(experiment, model)
    base = base_parameters(model)
    notes += [term.assumed for term in model.terms if isinstance(term, Balancer) and term not in experiment.terms]
    told = tuple(notes)
    return Loaded(experiment, robot, model, base, manifest, prior, cad, joint_values, source, truth, inputs, told)


def with_data(loaded: Loaded, data: Path) -> Loaded:
    """Return an experiment with the logs of another manifest. Raises LogError, ConfigError for recordings it lacks."""
    experiment, manifest = replace(loaded.experiment, data=data), read_manifest(data)
    _known_recordings(experiment, manifest)
    return replace(loaded, experiment=experiment, manifest=manifest, inputs={**loaded.inputs, **hashes(data)})


def _own_inertials(robot: Robot, source: str) -> tuple[Array | None, str | None, str]:
    """Return the description's own inertials as CAD (n, 10), their source, and what to tell; NaN what cannot exist."""
    assert robot.inertials is not None
    if unlike := placeholders(robot, robot.inertials):
        return None, None, f"the inertials of '{source}' are neither CAD nor prior: {unlike}"
    values, wrong = robot.inertials.copy(), []
    for i in range(robot.n):
        try:
            cad_prior(robot, np.where(np.arange(robot.n)[:, None] == i, values, np.nan), source)
        except ModelError as cause:
            wrong.append(cause.problem.removeprefix(f"{source}: "))
            values[i] = np.nan
    if np.isnan(values).all():
        return None, None, f"the inertials of '{source}' are neither CAD nor prior: {'; '.join(wrong)}"
    note = f"the inertials of '{source}' are the CAD column and the prior, as nothing else is given"
    note += f", but for these: {'; '.join(wrong)}" if wrong else ""
    if (same := _same(values)) > 2:
        note += f"; {same} links of different masses have one and the same inertia: a placeholder?"
    return values, source, f'{note}; cad = "FILE" in experiment.toml gives others, cad = false none'


def _same(bodies: Array) -> int:
    """Return how many bodies (n, 10) of different masses share one inertia about their centres, as no machine has."""
    found: dict[tuple[float, ...], set[float]] = {}
    for m, _, inertia in (to_com(b) for b in bodies if np.isfinite(b).all() and b[0] > 0):
        found.setdefault(tuple(np.round(inertia.ravel(), 9)), set()).add(round(m, 9))
    return max(map(len, found.values()), default=0)


def _urdf_inertials(robot: Robot, experiment: Experiment) -> Array | None:
    """Return the links' inertials (n, 10) where the experiment's CAD is a URDF, with all that is fixed to them.

    Raises ConfigError where its link frames are not the robot's.
    """
    path = experiment.cad
    if not isinstance(path, Path) or path.suffix.lower() not in DESCRIPTIONS:
        return None
    from ident.robot.urdf import read_urdf
    from ident.robot.xml import parse_xml, read_bytes

    if parse_xml(read_bytes(path), file=path.name).tag != "robot":
        return None
    other = read_urdf(path, keep=robot.joint_names)
    order = [other.joint_names.index(name) for name in robot.joint_names]
    for joint, found in zip(robot.joints, (other.joints[i] for i in order), strict=True):
        parts = [(joint.axis, found.axis), (joint.point, found.point)]
        if joint.parent >= 0:
            parts.append((joint.placement.matrix, found.placement.matrix))
        if any(np.abs(a - b).max() > _SAME_FRAME for a, b in parts):
            frames = f"the link frames of '{path.name}' are not those of '{experiment.robot.name}'"
            why = f"joint '{joint.name}' stands elsewhere, so its numbers are about other points and axes"
            fix = f"Use '{path.name}' as the robot, or give a CAD table in the robot's frames"
            raise experiment.error(f"{frames}: {why}", "experiment.cad", fix)
    assert other.inertials is not None
    return np.asarray(other.inertials[order])


def described_in(robot_file: Path, form: str = "") -> Path | None:
    """Return the URDF or MJCF that a robot file is, or names; None for a DH table, and for one of another `form`."""
    found: Path | None = robot_file
    if robot_file.suffix.lower() not in DESCRIPTIONS:
        named = read_toml(robot_file, RobotError).get("urdf")
        found = data_path(named, robot_file.parent) if isinstance(named, str) else None
    if found is None or not form:
        return found
    from ident.robot.xml import parse_xml, read_bytes

    tag = parse_xml(read_bytes(found), file=found.name).tag
    return found if tag == {"urdf": "robot", "mjcf": "mujoco"}.get(form) else None


def shapes_of(loaded: Loaded) -> dict[str, list[Array]]:
    """Return points (k, 3) [m] around the links' shapes, in their frames, as far as the robot's URDF has any."""
    from ident.geometry.capsules import link_shapes

    urdf = described_in(loaded.experiment.robot)
    return {} if urdf is None else link_shapes(urdf, loaded.robot)


def read_truth(path: Path, robot: Robot) -> dict[str, float]:
    """Return the true parameters by name [SI] from the table [parameters] of a TOML file.

    Raises ConfigError for names that belong to no link or joint of the robot, and for what is no number.
    """
    known = [f"{link}.{part}" for link in robot.links for part in INERTIAL]
    known += [f"{joint}.{term}" for joint in robot.joint_names for term in kinds()]
    given = Table(read_toml(path, ConfigError), "", path, ConfigError).table("parameters")
    for name in given.data:
        if name not in known and (kind_of(name) is None or name.rpartition(".")[0] not in robot.joint_names):
            raise ConfigError(f"'{name}' is no parameter of '{robot.name}'{nearest(name, known)}", file=path)
    return {name: given.number(name) for name in given.data}


def _known_recordings(experiment: Experiment, manifest: Manifest) -> None:
    known = [r.name for r in manifest.recordings]
    has, fix = f"'{manifest.file.name}' has no recording", f"It has {', '.join(known)}"
    for key, names in (("fit", experiment.fit), ("validate", experiment.validate)):
        require_known(names, known, experiment.error, has, key=f"recordings.{key}", fix=fix)


def _known_links(experiment: Experiment, model: Model) -> None:
    robot, bounds = model.robot, experiment.bounds
    alike = [link for group in bounds.equal for link in group]
    places = {"mass": bounds.mass, "com": bounds.com, "box": bounds.box, "ellipsoid": bounds.ellipsoid, "equal": alike}
    has, fix = f"robot '{robot.name}' has no link", f"Its moving links are {', '.join(robot.links)}"
    for key, links in places.items():
        require_known(links, robot.links, experiment.error, has, key=f"fit.bounds.{key}", fix=fix)
    known = {*model.names, *(f"{link}.c{axis}" for link in robot.links for axis in "xyz")}
    has, fix = "the model has no parameter", f"Pin {robot.links[0]}.m (kg), {robot.links[0]}.cx (m) and the like"
    require_known(bounds.pinned, known, experiment.error, has, key="fit.bounds.pinned", fix=fix)
    try:
        bounds.check(robot)
    except InputError as cause:
        raise experiment.error(cause.problem, "fit.bounds", cause.fix) from None
