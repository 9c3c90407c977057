"""A robot: a tree of links, each moved by one revolute or prismatic joint."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import InputError, RobotError, nearest
from ident.shown import shows
from ident.spatial.inertia import Pose, axis_angle

GRAVITY = (0.0, 0.0, -9.81)
#: Endings of files that describe a robot in XML; the root element tells whether as URDF or MJCF.
DESCRIPTIONS = (".urdf", ".xml", ".mjcf")
#: Units of each quantity of a joint: one that turns, one that slides.
UNITS = {
    "position": ("rad", "m"),
    "velocity": ("rad/s", "m/s"),
    "acceleration": ("rad/s^2", "m/s^2"),
    "jerk": ("rad/s^3", "m/s^3"),
    "torque": ("N m", "N"),
    "inertia": ("kg m^2", "kg"),
}


#: Joints to hold: names or patterns, or the position [rad; m] of each.
Lock = Iterable[str] | Mapping[str, float]
#: Where a robot's file has a limit.
IN_FILE = '<limit {0}="..."/> of the joint in the URDF, limits = {{ {0} = ... }} in a DH table'


@dataclass(frozen=True)
class Limits:
    """Limits of one joint in rad, rad/s, N m, rad/s^2, rad/s^3, or m and N; infinite where none is known.

    soft_lower, soft_upper: where its controller begins to intervene, which may be beyond lower and upper.
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    acceleration: float = math.inf
    jerk: float = math.inf
    soft_lower: float = -math.inf
    soft_upper: float = math.inf

    def __post_init__(self) -> None:
        rates = (self.velocity, self.effort, self.acceleration, self.jerk)
        if any(math.isnan(x) for x in (self.lower, self.upper, self.soft_lower, self.soft_upper, *rates)):
            raise RobotError("a joint limit is not a number")
        if self.lower > self.upper:
            raise RobotError(f"the lower limit {self.lower:g} is above the upper limit {self.upper:g}")
        if min(rates) < 0:
            raise RobotError("velocity, effort, acceleration and jerk limits must not be negative")

    @property
    def allowed(self) -> tuple[float, float]:
        """Ends of the positions that a motion may be planned to, within hard and soft limits."""
        return max(self.lower, self.soft_lower), min(self.upper, self.soft_upper)

    @property
    def ends(self) -> tuple[float, float] | None:
        """Lower and upper limit of the position, None unless both are known."""
        return (self.lower, self.upper) if math.isfinite(self.lower) and math.isfinite(self.upper) else None


@dataclass(frozen=True, eq=False)
class Joint:
    """One joint and where it puts its child link.

    The child link's frame seen from the parent link's frame is `placement` @ motion(q), and motion(q)
    turns about (revolute) or slides along (prismatic) the line through `point` with direction `axis`,
    both given in the child link's frame. `parent` is the index of the link that carries the joint, -1
    for the base; joint i moves link i. Sign and offset of a DH joint are already contained in
    `axis` and `placement`.
    """

    name: str
    kind: Literal["revolute", "prismatic"]
    parent: int
    placement: Pose
    axis: Array
    point: Array = field(default_factory=lambda: np.zeros(3))
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.kind not in ("revolute", "prismatic"):
            raise RobotError(f"joint '{self.name}' is '{self.kind}', wanted 'revolute' or 'prismatic'")
        axis = frozen(self.axis, (3,), f"axis of joint '{self.name}'", RobotError)
        length = float(np.linalg.norm(axis))
        if length < 1e-9:
            raise RobotError(f"joint '{self.name}' has a zero axis", fix="Give the axis a direction, such as 0 0 1")
        object.__setattr__(self, "axis", frozen(axis / length, (3,), "axis"))
        object.__setattr__(self, "point", frozen(self.point, (3,), f"point of joint '{self.name}'", RobotError))

    @property
    def slides(self) -> bool:
        """Whether the joint is prismatic."""
        return self.kind == "prismatic"

    def unit(self, quantity: str) -> str:
        """Return the SI unit of one of the `UNITS` at this joint, such as "rad" or "m" of its "position"."""
        return UNITS[quantity][self.slides]

    def pose(self, q: float) -> Pose:
        """Return the child link's frame seen from the parent link's frame at joint position q [rad or m]."""
        if self.slides:
            return self.placement @ Pose(np.eye(3), self.axis * q)
        turn = axis_angle(self.axis, q)
        return self.placement @ Pose(turn, self.point - turn @ self.point)


@dataclass(frozen=True, eq=False)
class FixedBody:
    """A body or frame fixed to a moving link (`link` is its index) or to the base (-1).

    `pose` is its frame seen from that link's frame; `inertial` its ten parameters (10,) in its own
    frame, or None. Its mass is already part of the moving link's inertial. held: position [rad; m] of the joint before
    it, where that moves in the description and is locked.
    """

    name: str
    link: int
    pose: Pose
    inertial: Array | None = None
    held: float = 0.0


@shows
@dataclass(frozen=True, eq=False)
class Robot:
    """A robot: joints in an order where parents come first, link names, gravity in the base frame [m/s^2].

    `inertials` (n, 10) are the numbers that the description itself gives for the moving links with
    everything fixed to them merged in, NaN rows where it gives none, or None. `transmission` maps joints to motors
    where they differ. `notes` tell what was not taken as the description has it. `flange` names the frame at which
    tools are mounted, a link's or one fixed to it, where that is declared. Raises RobotError for repeated names, a
    parent that comes after its child, or wrong shapes.
    """

    name: str
    joints: tuple[Joint, ...]
    links: tuple[str, ...]
    gravity: Array = field(default_factory=lambda: np.array(GRAVITY))
    base: str = "base"
    fixed: tuple[FixedBody, ...] = ()
    inertials: Array | None = None
    transmission: Transmission | None = None
    notes: tuple[str, ...] = ()
    flange: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", tuple(self.joints))
        object.__setattr__(self, "links", tuple(self.links))
        object.__setattr__(self, "gravity", frozen(self.gravity, (3,), "gravity", RobotError))
        n = len(self.joints)
        if n == 0:
            raise RobotError(f"robot '{self.name}' has no moving joint")
        if len(self.links) != n:
            raise RobotError(f"robot '{self.name}' has {n} joints but {len(self.links)} moving links")
        for what, names in (("joint", self.joint_names), ("link", self.links)):
            twice = {x for x in names if names.count(x) > 1}
            if twice:
                raise RobotError(f"{what} name '{min(twice)}' is used more than once", fix="Give each its own name")
        for i, joint in enumerate(self.joints):
            if not -1 <= joint.parent < i:
                raise RobotError(f"joint '{joint.name}' hangs on link {joint.parent}, which does not come before it")
        if self.inertials is not None:
            inertials = np.array(self.inertials, dtype=np.float64)
            if inertials.shape != (n, 10):
                raise RobotError(f"inertials must have shape ({n}, 10), got {inertials.shape}")
            inertials.setflags(write=False)
            object.__setattr__(self, "inertials", inertials)
        if self.transmission is not None and self.transmission.matrix.shape[1] != n:
            raise RobotError(f"the transmission is for {self.transmission.matrix.shape[1]} joints, the robot has {n}")

    @cached_property
    def frames(self) -> dict[str, tuple[int, Pose]]:
        """By name, each frame's moving link (-1: the base) and the frame seen from it: base, links, fixed bodies."""
        found = {self.base: (-1, Pose.identity())}
        found |= {link: (i, Pose.identity()) for i, link in enumerate(self.links)}
        return found | {body.name: (body.link, body.pose) for body in self.fixed}

    @property
    def n(self) -> int:
        """Number of joints, which is the number of moving links."""
        return len(self.joints)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of q."""
        return tuple(j.name for j in self.joints)

    @property
    def slides(self) -> frozenset[str]:
        """Names of the prismatic joints."""
        return frozenset(joint.name for joint in self.joints if joint.slides)

    def units(self, quantity: str) -> tuple[str, ...]:
        """Return the SI unit of one of the `UNITS` at every joint."""
        return tuple(joint.unit(quantity) for joint in self.joints)

    @property
    def parents(self) -> tuple[int, ...]:
        """Index of each link's parent link, -1 for the base."""
        return tuple(j.parent for j in self.joints)

    @property
    def reach(self) -> float:
        """Length of the longest way from the base along joints, travels of sliding joints and fixed frames [m]."""
        ways = list[float]()
        for joint in self.joints:
            travel = joint.limits.upper - joint.limits.lower
            length = float(np.linalg.norm(joint.placement.position))
            length += travel if joint.slides and math.isfinite(travel) else 0.0
            ways.append(length + (ways[joint.parent] if joint.parent >= 0 else 0.0))
        ends = [float(np.linalg.norm(f.pose.position)) + ways[f.link] for f in self.fixed if f.link >= 0]
        return max(ways + ends)

    def carried_by(self, joint: int) -> tuple[int, ...]:
        """Return the indices of the links that joint `joint` carries, itself included, ascending."""
        carried = {joint}
        for i in range(joint + 1, self.n):
            if self.joints[i].parent in carried:
                carried.add(i)
        return tuple(sorted(carried))

    def poses(self, q: ArrayLike) -> tuple[Pose, ...]:
        """Return every moving link's frame seen from the base frame at q (n,)."""
        q = frozen(q, (self.n,), "q")
        found: list[Pose] = []
        for i, joint in enumerate(self.joints):
            local = joint.pose(float(q[i]))
            found.append(local if joint.parent < 0 else found[joint.parent] @ local)
        return tuple(found)

    def with_gravity(self, gravity: ArrayLike) -> Robot:
        """Return this robot under another gravity vector (3,) [m/s^2], given in the base frame."""
        return replace(self, gravity=np.asarray(gravity, dtype=np.float64))

    def fingerprint(self) -> str:
        """Return a hash (hex) of all that the equations of motion depend on: joints, links, gravity."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        digest = hashlib.sha256()
        for joint, link in zip(self.joints, self.links, strict=True):
            digest.update(f"{joint.name}|{link}|{joint.kind}|{joint.parent}|".encode())
            for part in (joint.placement.matrix, joint.axis, joint.point):
                digest.update(np.round(part, 12).tobytes())
        digest.update(self.gravity.tobytes())
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Transmission:
    """q_motor = matrix @ q_joint, hence tau_joint = matrix^T @ tau_motor (no power is lost in between).

    matrix (n_motors, n_joints): reduction ratios on the diagonal, couplings beside it. A TX40's motor 6 also turns
    with joint 5: matrix[5, 4] = 32. `motors` are the motors' names.
    Raises RobotError when the matrix is not square and invertible.
    """

    motors: tuple[str, ...]
    matrix: Array

    def __post_init__(self) -> None:
        n = len(self.motors)
        object.__setattr__(self, "motors", tuple(self.motors))
        object.__setattr__(self, "matrix", frozen(self.matrix, (n, n), "transmission matrix", RobotError))
        if np.linalg.matrix_rank(self.matrix) < n:
            raise RobotError("the transmission matrix is singular: some joint is moved by no motor")

    def joint_position(self, q_motor: ArrayLike) -> Array:
        """Return q_joint (..., n) from q_motor (..., n), in rad; velocities and accelerations alike."""
        return np.asarray(np.linalg.solve(self.matrix, np.asarray(q_motor, dtype=np.float64).T).T)

    def joint_torque(self, tau_motor: ArrayLike) -> Array:
        """Return tau_joint (..., n) from tau_motor (..., n), in N m."""
        return np.asarray(np.asarray(tau_motor, dtype=np.float64) @ self.matrix)


def to_hold(
    moving: Sequence[str], lock: Lock, keep: Iterable[str], file: str | None, fixed: Collection[str] = ()
) -> dict[str, float]:
    """Return the joints of a description to hold as if fixed, and where [rad; m].

    moving, fixed: the names of its joints; lock: of those to hold, or the position of each; keep: of those to leave
    moving, which holds all others. Both take patterns. Raises RobotError for names that no joint has.
    """

    def chosen(pattern: str, what: str) -> list[str]:
        if pattern in fixed:
            cannot = "locked: it is fixed already" if what == "lock" else "kept moving: it is fixed"
            raise RobotError(f"joint '{pattern}' cannot be {cannot}", file=file)
        matching = [name for name in moving if name == pattern or fnmatchcase(name, pattern)]
        if not matching:
            near = nearest(pattern, [*moving, *fixed])
            raise RobotError(f"there is no joint '{pattern}' to {what}{near}", file=file)
        return matching

    given = lock if isinstance(lock, Mapping) else dict.fromkeys([lock] if isinstance(lock, str) else lock, 0.0)
    locked = {name: at for pattern, at in given.items() for name in chosen(pattern, "lock")}
    kept = {name for pattern in ([keep] if isinstance(keep, str) else keep) for name in chosen(pattern, "keep")}
    if both := sorted(locked.keys() & kept):
        raise RobotError(f"joint '{both[0]}' stands in lock and in keep", file=file, fix="Leave it in one of them")
    return {name: locked.get(name, 0.0) for name in moving if name not in kept} if kept else locked


def hold(robot: Robot, at: Mapping[str, float]) -> Robot:
    """Return a robot of which no bodies are known with joints held at positions [rad; m], their links as `fixed`."""
    places: list[tuple[int, Pose]] = []  # of each link: the moving link that carries it, and its frame seen from there
    joints, links, fixed = list[Joint](), list[str](), list[FixedBody]()
    for joint, link in zip(robot.joints, robot.links, strict=True):
        carrier, pose = places[joint.parent] if joint.parent >= 0 else (-1, Pose.identity())
        if joint.name in at:
            places.append((carrier, pose @ joint.pose(at[joint.name])))
            fixed.append(FixedBody(link, *places[-1], held=at[joint.name]))
        else:
            places.append((len(joints), Pose.identity()))
            joints.append(replace(joint, parent=carrier, placement=pose @ joint.placement))
            links.append(link)
    return replace(robot, joints=tuple(joints), links=tuple(links), fixed=tuple(fixed))


def frame_poses(robot: Robot, q: ArrayLike) -> dict[str, Pose]:
    """Return each link's and fixed body's frame seen from the base frame at q (n,) [rad or m], by name.

    Raises InputError when q has another shape or is not finite.
    """
    links = robot.poses(q)
    return {name: pose if i < 0 else links[i] @ pose for name, (i, pose) in robot.frames.items()}


def moving_frame(robot: Robot, name: str) -> tuple[int, Pose]:
    """Return the index of the link that carries a frame, and the frame seen from the link's; raises InputError."""
    if name in robot.frames and robot.frames[name][0] >= 0:
        return robot.frames[name]
    known = moving_frames(robot)
    problem = f"no moving frame of '{robot.name}' is called '{name}'{nearest(name, known)}"
    raise InputError(problem, fix=f"It has {', '.join(known)}")


def moving_frames(robot: Robot) -> tuple[str, ...]:
    """Return the names of the links' frames and of those fixed to a link."""
    return tuple(name for name, (link, _) in robot.frames.items() if link >= 0)


def declared_flange(robot: Robot, name: str | None = None) -> str:
    """Return `name`, or else the flange that the robot's file declares; raises InputError where there is neither."""
    flange = robot.flange if name is None else name
    if flange is None:
        raise InputError(
            f"the flange of '{robot.name}' is not declared, and a controller wants the load seen from there",
            key="--flange",
            fix=f"Name its frame: {', '.join(moving_frames(robot))}. Or declare it in the robot's .toml file, flange ="
            " 'NAME', or beside a DH table flange = { xyz = [...], rpy = [...] }, seen from the last link's frame",
        )
    moving_frame(robot, flange)
    return flange
