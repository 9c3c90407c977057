"""URDF read as untrusted data: trees of revolute, continuous, prismatic and fixed joints.

Joints come depth first, in the order in which the document lists them. A body fixed to a moving link is merged into
that link's ten parameters and kept as a FixedBody; so is a joint that the caller locks.
The root link's frame is the base frame. Source: wiki.ros.org/urdf/XML (link, joint).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.errors import RobotError, cut, nearest, plural
from ident.robot.angles import meant_angle, meant_axis, rounding_told
from ident.robot.robot import FixedBody, Joint, Limits, Lock, Robot, to_hold
from ident.robot.xml import At, Element, Urdf, UrdfJoint, UrdfLink, parse_xml, read_bytes
from ident.spatial.inertia import Pose, from_com, rpy, symmetric, transformed

KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
TENSOR = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def read_urdf(
    path: str | Path,
    *,
    gravity: ArrayLike | None = None,
    lock: Lock = (),
    keep: Iterable[str] = (),
    literal_angles: bool = False,
) -> Robot:
    """Return the robot that a URDF or MJCF file describes.

    gravity (3,) [m/s^2] in the root link's frame, by default (0, 0, -9.81) or an MJCF's own; `lock` names moving
    joints to hold as if they were fixed, at zero or at the position [rad; m] that is given for each; `keep` those to
    leave moving, which locks all others. Both take patterns, such as "gripper_*".
    `inertials` are NaN where a link and everything fixed to it have no <inertial>; a body without one among others
    that have it counts as massless. Bodies fixed to the root are listed with link = -1.
    Angles and axes of joints that are rounded (1.5708) are taken as what they mean, see `meant_angle`, unless
    `literal_angles`; `notes` tell it.
    As the URDF standard has it: revolute and prismatic joints need <limit> with effort and velocity, whose lower and
    upper default to 0; <axis> defaults to 1 0 0. Whether a body can exist is not asked here.
    Raises RobotError with the line and the joint or link.
    """
    document = read_description(path)
    return to_robot(document, gravity=gravity, lock=lock, keep=keep, literal_angles=literal_angles)


def parse_urdf(data: bytes, *, file: str | None = None, gravity: ArrayLike | None = None, lock: Lock = ()) -> Robot:
    """Return the robot of a URDF document given as bytes; `file` is its name in errors. Otherwise as read_urdf."""
    return to_robot(parse_document(data, file=file), gravity=gravity, lock=lock)


def read_description(path: str | Path) -> Urdf:
    """Return the tree of a URDF, or of an MJCF in a URDF's words; the root element tells which."""
    data, file = read_bytes(path), Path(path).name
    if (root := parse_xml(data, file=file)).tag == "mujoco":
        from ident.robot.mjcf import tree

        return tree(root, file)
    return parse_document(data, file=file)


def read_joint_dynamics(path: str | Path) -> dict[str, tuple[float, float] | None]:
    """Return (damping [N m s/rad or N s/m], friction [N m or N]) of each joint by name, None without <dynamics>.

    Raises RobotError as read_urdf does.
    """
    urdf = read_description(path)
    found: dict[str, tuple[float, float] | None] = {}
    for joint in urdf.joints.values():
        at = At(urdf.file, f"joint '{joint.name}'")
        own = at.only(joint.element, "dynamics")
        found[joint.name] = None if own is None else (at.number(own, "damping", 0.0), at.number(own, "friction", 0.0))
    return found


def to_robot(
    urdf: Urdf,
    *,
    gravity: ArrayLike | None = None,
    lock: Lock = (),
    keep: Iterable[str] = (),
    literal_angles: bool = False,
) -> Robot:
    """Return the robot of a parsed document; arguments and errors as for read_urdf."""
    fixed_already = [j.name for j in urdf.joints.values() if j.kind == "fixed"]
    locked = to_hold([j for j in urdf.joints if j not in fixed_already], lock, keep, urdf.file, fixed_already)

    hanging: dict[str, list[UrdfJoint]] = {name: [] for name in urdf.links}
    for joint in reversed(list(urdf.joints.values())):
        hanging[joint.parent].append(joint)

    joints: list[Joint] = []
    links: list[str] = []
    inertials: list[Array] = []
    fixed: list[FixedBody] = []
    rounded: dict[str, tuple[str, ...]] = {}
    # (joint, moving link that carries it, frame of the joint's parent link seen from that moving link)
    ahead = [(joint, -1, Pose.identity()) for joint in hanging[urdf.root]]
    while ahead:
        joint, carrier, pose = ahead.pop()
        placement = pose @ (joint.written if literal_angles else joint.origin)
        words = () if literal_angles else joint.rounded
        inertial = urdf.links[joint.child].inertial
        if joint.kind == "fixed" or joint.name in locked:
            if at := locked.get(joint.name, 0.0):
                placement = placement @ _moved(joint, _axis(joint, urdf.file, literal_angles)[0], at)
            fixed.append(FixedBody(joint.child, carrier, placement, inertial, at))
            if carrier >= 0 and inertial is not None:
                own = inertials[carrier]
                inertials[carrier] = np.where(np.isnan(own), 0.0, own) + transformed(inertial, placement)
        else:
            axis, axis_words = _axis(joint, urdf.file, literal_angles)
            words += axis_words
            joints.append(_moving(joint, carrier, placement, axis, urdf.file))
            links.append(joint.child)
            inertials.append(np.full(10, np.nan) if inertial is None else inertial)
            carrier, placement = len(joints) - 1, Pose.identity()
        if words:
            rounded[joint.name] = words
        ahead += [(below, carrier, placement) for below in hanging[joint.child]]
    if not joints:
        held = " that is not locked" if locked else ""
        raise RobotError(f"the robot has no revolute, continuous or prismatic joint{held}", file=urdf.file)
    return Robot(
        urdf.name,
        tuple(joints),
        tuple(links),
        gravity=np.asarray(urdf.gravity if gravity is None else gravity),
        base=urdf.root,
        fixed=tuple(fixed),
        inertials=np.array(inertials),
        notes=(
            *urdf.notes,
            *rounding_told(rounded),
            *(note for joint in urdf.joints.values() for note in joint.notes),
            *_unlimited_told(joints, urdf),
            *(
                f"link '{link}' has no inertial of its own, and weighs what is fixed to it: {own[0]:.3g} kg"
                for link, own in zip(links, inertials, strict=True)
                if urdf.links[link].inertial is None and np.isfinite(own).all()
            ),
        ),
    )


def _moved(joint: UrdfJoint, axis: Array, at: float) -> Pose:
    kind: Literal["revolute", "prismatic"] = "prismatic" if joint.kind == "prismatic" else "revolute"
    return Joint(joint.name, kind, -1, Pose.identity(), axis, joint.point).pose(at)


def parse_document(data: bytes, *, file: str | None = None) -> Urdf:
    """Return the links and joints of a URDF document; raises RobotError unless they form one tree."""
    root = parse_xml(data, file=file, wanted="robot")
    if macro := next((c for c in root.children if c.tag.startswith("xacro:")), None):
        problem = f"the file holds <{macro.tag}> and is a xacro template, not yet a URDF"
        raise RobotError(problem, file=file, line=macro.line, fix="Expand it first: xacro FILE > robot.urdf")
    links: dict[str, UrdfLink] = {}
    for element in root.all("link"):
        name = At(file, "<link>").text(element, "name")
        _once("link", name, element, links, file)
        links[name] = UrdfLink(name, element, _inertial(At(file, f"link '{name}'"), element))
    if not links:
        raise RobotError("the robot has no <link>", file=file, line=root.line)
    joints: dict[str, UrdfJoint] = {}
    for element in root.all("joint"):
        name = At(file, "<joint>").text(element, "name")
        _once("joint", name, element, joints, file)
        joints[name] = _joint(At(file, f"joint '{name}'"), name, element, links)
    name = At(file, "<robot>").text(root, "name")
    return Urdf(name, file, _root(links, joints, file), links, joints)


def _once(what: str, name: str, element: Element, known: Mapping[str, UrdfLink | UrdfJoint], file: str | None) -> None:
    if name in known:
        problem = f"a {what} of the name '{name}' stands already in line {known[name].element.line}"
        raise RobotError(problem, file=file, line=element.line, fix=f"Give each {what} its own name")


def _inertial(at: At, link: Element) -> Array | None:
    if (inertial := at.only(link, "inertial")) is None:
        return None
    mass = at.number(at.need(inertial, "mass"), "value")
    element = at.need(inertial, "inertia")
    about_com = symmetric([at.number(element, name) for name in TENSOR])
    return transformed(from_com(mass, np.zeros(3), about_com), at.origin(inertial))


def _joint(at: At, name: str, element: Element, links: Mapping[str, UrdfLink]) -> UrdfJoint:
    kind = at.text(element, "type")
    if kind not in KINDS:
        known = f"{', '.join(KINDS)}{nearest(kind, KINDS)}"
        raise at.error(f"the type is '{cut(kind, 40)}', wanted one of {known}", element)
    ends = []
    for end in ("parent", "child"):
        holder = at.need(element, end)
        link = at.text(holder, "link")
        if link not in links:
            raise at.error(f"the {end} link '{link}' is not in the file{nearest(link, links)}", holder)
        ends.append(link)
    origins, notes = element.all("origin"), []
    if len(origins) > 1:
        first = f"the first, in line {origins[0].line}, counts, as in other parsers"
        notes.append(f"joint '{name}' has {len(origins)} <origin>: {first}")
    written = at.pose(origins[0] if origins else None)
    words = origins[0].attributes["rpy"].value.split() if origins and "rpy" in origins[0].attributes else []
    angles = [meant_angle(word) for word in words]
    rounded = tuple(word for word, angle in zip(words, angles, strict=True) if angle != float(word))
    origin = Pose(rpy(*angles), written.position) if rounded else written
    return UrdfJoint(name, kind, element, ends[0], ends[1], origin, written, rounded, tuple(notes))


def _moving(joint: UrdfJoint, carrier: int, placement: Pose, axis: Array, file: str | None) -> Joint:
    at = At(file, f"joint '{joint.name}'")
    hold = f"Lock it at zero with lock = ['{joint.name}'] if it does not move in the log"
    if joint.kind not in ("revolute", "continuous", "prismatic"):
        raise at.error(f"joints of type {joint.kind} are not modelled", joint.element, hold)
    if mimic := at.only(joint.element, "mimic"):
        raise at.error("joints that mimic another are not modelled", mimic, hold)
    kind: Literal["revolute", "prismatic"] = "prismatic" if joint.kind == "prismatic" else "revolute"
    limits = _softened(at, joint, _limits(at, joint)) if joint.limits is None else joint.limits
    return Joint(joint.name, kind, carrier, placement, axis, joint.point, limits)


def _axis(joint: UrdfJoint, file: str | None, literal: bool) -> tuple[Array, tuple[str, ...]]:
    """Return the direction of the axis, and its numbers as written where they are not taken so."""
    at = At(file, f"joint '{joint.name}'")
    if (element := at.only(joint.element, "axis")) is None:
        return np.array([1.0, 0.0, 0.0]), ()
    axis = np.array(at.numbers(element, "xyz", 3))
    if np.linalg.norm(axis) < 1e-9:
        raise at.error("<axis> is zero", element, "Give the axis a direction, such as 0 0 1")
    if literal:
        return axis, ()
    words = element.attributes["xyz"].value.split()
    meant = meant_axis(words, sum(abs(meant_angle(word) - float(word)) for word in joint.rounded))
    return meant, tuple(w for w, a, b in zip(words, axis, meant, strict=True) if a != b)


def _limits(at: At, joint: UrdfJoint) -> Limits:
    """Return a joint's limits; those that leave it no room are none: SolidWorks' exporter writes zeros where none are.

    Raises RobotError.
    """
    element = at.only(joint.element, "limit")
    bounded = joint.kind != "continuous"
    if element is None:
        if bounded:
            fix = 'Add <limit lower="..." upper="..." effort="..." velocity="..."/>'
            raise at.error(f"a {joint.kind} joint needs <limit>, and there is none", joint.element, fix)
        return Limits()
    at.known(element, ("lower", "upper", "effort", "velocity", "acceleration", "deceleration", "jerk"))

    lower, upper = -math.inf, math.inf
    if bounded:
        lower, upper = (at.number(element, name, 0.0, math.inf) for name in ("lower", "upper"))
    if lower > upper:
        raise at.error(f"the lower limit {lower:g} is above the upper limit {upper:g}", element)
    needed = None if bounded else math.inf
    defaults = {"velocity": needed, "effort": needed, "acceleration": math.inf}
    rates = {name: at.number(element, name, default, math.inf) for name, default in defaults.items()}
    for name, value in rates.items():
        if value < 0:
            raise at.error(f"the {name} limit is {value:g}, wanted at least 0", element)
    if lower == upper:
        lower, upper = -math.inf, math.inf
    return Limits(lower, upper, **{name: value or math.inf for name, value in rates.items()})


def _softened(at: At, joint: UrdfJoint, limits: Limits) -> Limits:
    """Return limits with the soft ones of <safety_controller>; ends that leave no room, such as zeros, are none."""
    if (element := at.only(joint.element, "safety_controller")) is None:
        return limits
    lower, upper = (at.number(element, f"soft_{end}_limit", 0.0, math.inf) for end in ("lower", "upper"))
    return replace(limits, soft_lower=lower, soft_upper=upper) if lower < upper else limits


def _unlimited_told(joints: Sequence[Joint], urdf: Urdf) -> list[str]:
    """Return a note on the joints whose <limit> leaves them no room."""
    limited = [j for j in joints if urdf.joints[j.name].kind != "continuous" and urdf.joints[j.name].limits is None]
    names = [f"'{j.name}'" for j in limited if math.inf in (j.limits.upper, j.limits.velocity, j.limits.effort)]
    some = f"{', '.join(names[:6])}{', ...' if len(names) > 6 else ''}"
    told = f"limits of {plural(len(names), 'joint')} are zero, and are taken as not given: {some}"
    return [told] if names else []


def _root(links: Mapping[str, UrdfLink], joints: Mapping[str, UrdfJoint], file: str | None) -> str:
    """Return the root link's name; raises RobotError unless every link hangs on it by exactly one chain of joints."""
    above: dict[str, UrdfJoint] = {}
    for joint in joints.values():
        if joint.child in above:
            two = f"'{above[joint.child].name}' and '{joint.name}'"
            fix = "Closed chains are not modelled: cut one of the two joints"
            problem = f"link '{joint.child}' is the child of two joints, {two}"
            raise RobotError(problem, file=file, line=joint.element.line, fix=fix)
        above[joint.child] = joint
    try:
        TopologicalSorter({child: [joint.parent] for child, joint in above.items()}).prepare()
    except CycleError as cause:
        loop: list[str] = cause.args[1]
        names = " -> ".join(loop if len(loop) < 8 else [*loop[:4], "...", *loop[-3:]])
        raise RobotError(f"the links {names} form a loop", file=file, line=above[loop[-2]].element.line) from None
    roots = [name for name in links if name not in above]
    if len(roots) > 1:
        problem = f"links '{roots[0]}' and '{roots[1]}' both have no parent, and a robot has one root"
        line = links[roots[1]].element.line
        raise RobotError(problem, file=file, line=line, fix="Connect them with a joint, or remove one")
    return roots[0]
