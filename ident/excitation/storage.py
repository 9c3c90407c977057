"""Trajectories on disk: one JSON file with basis, coefficients, the robot's fingerprint, and what is guaranteed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ident.errors import ExcitationError, nearest
from ident.excitation.fourier import Fourier
from ident.excitation.fourier_polynomial import FourierAndPolynomial
from ident.excitation.periodic_spline import PeriodicSpline
from ident.excitation.rows import require_joints
from ident.excitation.trajectory import Trajectory
from ident.files import write_whole
from ident.robot.robot import Robot

FORMAT = "ident-trajectory-1"

_BASES: dict[str, type[Fourier | FourierAndPolynomial | PeriodicSpline]] = {
    "fourier": Fourier,
    "fourier_and_polynomial": FourierAndPolynomial,
    "periodic_spline": PeriodicSpline,
}
_KEYS = ("format", "robot", "fingerprint", "basis", "joints", "certificate", "design")
_AGAIN = "Do not edit the file by hand; design the trajectory again"


@dataclass(frozen=True, eq=False)
class StoredTrajectory:
    """A trajectory, the robot it was designed for, what is guaranteed for that robot, and how it came about.

    units: "rad" or "m" for each joint; `certificate` and `design` are plain JSON objects.
    """

    trajectory: Trajectory
    robot: str
    fingerprint: str
    units: tuple[str, ...]
    certificate: Mapping[str, Any]
    design: Mapping[str, Any]

    def for_robot(self, robot: Robot) -> Trajectory:
        """Return the trajectory; ExcitationError when it was designed for another robot than this."""
        require_joints(self.trajectory.joints, robot)
        if self.fingerprint != robot.fingerprint():
            raise ExcitationError(
                f"the trajectory was designed for robot {self.robot!r:.60} with fingerprint {self.fingerprint[:12]}, "
                f"this is {robot.name!r:.60} with {robot.fingerprint()[:12]}",
                fix="Design it again: its certificate holds for the other robot only",
            )
        return self.trajectory


def save_trajectory(
    path: str | Path,
    trajectory: Trajectory,
    robot: Robot,
    *,
    certificate: Mapping[str, Any] | None = None,
    design: Mapping[str, Any] | None = None,
) -> Path:
    """Write a trajectory to `path` (JSON), whole or not at all, every digit kept.

    certificate: what is guaranteed, with which margins; design: criterion, seed, time ...; both as JSON objects.
    Raises ExcitationError when the joints are not the robot's, the basis is none of the three of this package, or a
    given object holds what JSON cannot; InputError when the place cannot be written to.
    """
    path = Path(path)
    require_joints(trajectory.joints, robot)
    kind = next((name for name, basis in _BASES.items() if type(trajectory.basis) is basis), None)
    if kind is None:
        raise ExcitationError(f"the basis {type(trajectory.basis).__name__} has no place in a file", file=path)
    numbers = asdict(trajectory.basis)  # type: ignore[call-overload]
    joints = [
        {"name": name, "unit": unit, "coefficients": row}
        for name, unit, row in zip(
            trajectory.joints, robot.units("position"), trajectory.coefficients.tolist(), strict=True
        )
    ]
    document = {
        "format": FORMAT,
        "robot": robot.name,
        "fingerprint": robot.fingerprint(),
        "basis": {"kind": kind, **numbers},
        "joints": joints,
        "certificate": dict(certificate or {}),
        "design": dict(design or {}),
    }
    lines = []
    for key, value in document.items():
        if key == "joints":
            inner = ",\n".join(f"  {_json(joint, path, key)}" for joint in joints)
            lines.append(f' "joints": [\n{inner}\n ]')
        else:
            lines.append(f' "{key}": {_json(value, path, key)}')
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    _parsed(text, path)  # what is written is what can be read
    return write_whole(path, text)


def load_trajectory(path: str | Path) -> StoredTrajectory:
    """Read a trajectory written by `save_trajectory`; coefficients come back to the last digit.

    Raises ExcitationError, naming file and key, when it is not such a file or its parts contradict each other.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise _no_trajectory("is not text in UTF-8", path) from None
    except OSError as cause:
        raise ExcitationError(f"cannot be read: {cause.strerror}", file=path, fix="Check the path") from None
    return _parsed(text, path)


def _parsed(text: str, path: Path) -> StoredTrajectory:
    try:
        document = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode()  # refuses 1e999 and half characters
    except json.JSONDecodeError as cause:
        raise ExcitationError(f"is not JSON: {cause.msg}", file=path, line=cause.lineno) from None
    except (ValueError, RecursionError) as cause:
        raise _no_trajectory(f"is not usable JSON: {str(cause) or 'nested too deeply'}", path) from None
    if not isinstance(document, dict) or "format" not in document:
        raise _no_trajectory("is not a trajectory written by ident", path)
    if document["format"] != FORMAT:
        problem = f"is {document['format']!r:.60}, wanted '{FORMAT}'"
        raise ExcitationError(problem, file=path, key="format", fix="Use the version of ident that wrote the file")
    _keys(document, _KEYS, path, None)
    for key in ("robot", "fingerprint"):
        if not isinstance(document[key], str):
            raise _refused(f"must be text, got {document[key]!r:.40}", path, key)
    for key in ("basis", "certificate", "design"):
        if not isinstance(document[key], dict):
            raise _refused(f"must be an object, got {document[key]!r:.40}", path, key)
    joints = document["joints"]
    if not isinstance(joints, list) or not joints:
        raise _refused("must be a list with one entry per joint", path, "joints")

    basis = _basis(document["basis"], path)
    for i, joint in enumerate(joints):
        where = f"joints[{i + 1}]"
        if not isinstance(joint, dict):
            raise _refused(f"must be an object, got {joint!r:.40}", path, where)
        _keys(joint, ("name", "unit", "coefficients"), path, where)
        if joint["unit"] not in ("rad", "m"):
            raise _refused(f"must be 'rad' or 'm', got {joint['unit']!r:.40}", path, f"{where}.unit")
        row = joint["coefficients"]
        if not isinstance(row, list) or not all(_is_number(x) for x in row):
            raise _refused("must be a list of numbers", path, f"{where}.coefficients")
        if len(row) != basis.size:
            problem = f"has {len(row)} numbers, the basis needs {basis.size}"
            raise _refused(problem, path, f"{where}.coefficients")
    try:
        trajectory = Trajectory(basis, [j["coefficients"] for j in joints], tuple(j["name"] for j in joints))  # type: ignore[arg-type]
    except ExcitationError as cause:
        raise _refused(cause.problem, path, "joints") from None
    return StoredTrajectory(
        trajectory,
        document["robot"],
        document["fingerprint"],
        tuple(joint["unit"] for joint in joints),
        document["certificate"],
        document["design"],
    )


def _basis(given: dict[str, Any], path: Path) -> Fourier | FourierAndPolynomial | PeriodicSpline:
    kind = given.get("kind")
    if not isinstance(kind, str) or kind not in _BASES:
        known = nearest(kind, _BASES) if isinstance(kind, str) else ""
        raise _refused(f"{kind!r:.40} is none of {', '.join(_BASES)}{known}", path, "basis.kind")
    names = tuple(field.name for field in fields(_BASES[kind]))
    _keys(given, ("kind", *names), path, "basis")
    for name in names:
        if not _is_number(given[name]):
            raise _refused(f"must be a number, got {given[name]!r:.40}", path, f"basis.{name}")
    try:
        return _BASES[kind](**{name: given[name] for name in names})
    except ExcitationError as cause:
        raise _refused(cause.problem, path, "basis") from None


def _is_number(x: Any) -> bool:
    """Whether x is a number that a float can hold: a whole number of 400 digits is not."""
    return isinstance(x, float | int) and not isinstance(x, bool) and abs(x) < 10**300


def _keys(found: dict[str, Any], wanted: tuple[str, ...], path: Path, where: str | None) -> None:
    missing = [key for key in wanted if key not in found]
    unknown = [key for key in found if key not in wanted]
    if unknown:
        raise _refused(f"unknown key {unknown[0]!r:.40}{nearest(unknown[0], wanted)}", path, where)
    if missing:
        raise _refused(f"key '{missing[0]}' is missing", path, where)


def _json(value: Any, path: Path, key: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as cause:
        raise ExcitationError(f"cannot be written as JSON: {cause}", file=path, key=key) from None


def _refused(problem: str, path: Path, key: str | None) -> ExcitationError:
    return ExcitationError(problem, file=path, key=key, fix=_AGAIN)


def _no_trajectory(problem: str, path: Path) -> ExcitationError:
    return ExcitationError(problem, file=path, fix="Give a file written by `ident excite`")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"key {next(n for n in names if names.count(n) > 1)!r:.40} stands twice in one object")
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a number")
