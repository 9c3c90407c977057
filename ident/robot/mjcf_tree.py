"""An MJCF as the tree that a URDF is: links, joints with limits, damping and friction, what follows another joint.

The world is the root. Of several joints of a body each but the last moves a frame without mass, `body/joint`, as MuJoCo
turns them one after the other; sites are frames, too. What MuJoCo alone knows is refused or told: see `tree`.
Source: MuJoCo XML reference: compiler (autolimits), joint (limited, range, actuatorfrcrange, damping, frictionloss),
actuator (joint, gear, forcerange), equality (joint: polycoef), option (gravity).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ident.robot.mjcf import Attributes, FoundJoint, Mjcf
from ident.robot.robot import GRAVITY, Limits
from ident.robot.xml import Attribute, Element, Urdf, UrdfJoint, UrdfLink
from ident.spatial.inertia import Pose

WORLD = "world"
_KINDS = {"hinge": "revolute", "slide": "prismatic", "free": "floating"}
#: Parts that change how MuJoCo's robot moves, and that are left aside.
_ASIDE = ("tendon", "deformable")


def tree(root: Element, file: str) -> Urdf:
    """Return the links and joints of an MJCF; `file` is its name in errors.

    A joint that <equality> ties to another mimics it; free joints and ball joints are there, to be locked. Raises
    RobotError, with the line, for what `Mjcf` refuses, moving bodies and joints without a name, joints with a ref, and
    for chains that connect or weld closes.
    """
    literal, found = Mjcf(file, root), Mjcf(file, root, meant=True)
    links = {WORLD: UrdfLink(WORLD, root, None)}
    joints: dict[str, UrdfJoint] = {}
    ties, efforts = _ties(root, found), _efforts(root, found)
    for key, body in found.bodies.items():
        element, parent = found.elements[key], body.parent or WORLD
        origin, written = _seen(found, key), _seen(literal, key)
        for i, name in enumerate(found.moves.get(key, ()), start=1):
            mover, joint = found.movers[name], found.joints[name]
            _named(joint, mover, element, found)
            parts = tuple(_parts(joint, mover, ties.get(name)))
            last = i == len(found.moves[key])
            child = key if last else f"{key}/{name}"
            links[child] = UrdfLink(child, element, body.inertial if last else np.zeros(10))
            joints[name] = UrdfJoint(
                name,
                _KINDS.get(joint.type, joint.type),
                Element("joint", mover.line, mover.attributes, parts, 0, 0, 0, False),
                parent,
                child,
                origin,
                written,
                body.rounded if i == 1 else (),
                point=joint.own.position,
                limits=_limits(joint, mover, found, efforts.get(name, math.inf)),
            )
            parent, origin, written = child, Pose.identity(), Pose.identity()
        if key not in found.moves:
            links[key] = UrdfLink(key, element, body.inertial)
            name = f"{key} (fixed)"
            joints[name] = UrdfJoint(name, "fixed", element, parent, key, origin, written, body.rounded)
    for name, (carrier, pose) in found.sites.items():
        if name not in links:
            links[name] = UrdfLink(name, found.elements[carrier], None)
            joints[f"{name} (site)"] = UrdfJoint(f"{name} (site)", "fixed", root, carrier, name, pose, pose)
    stated = [tuple(found.numbers(e, e.values, "gravity", 3)) for e in root.all("option") if "gravity" in e.attributes]
    gravity = stated[-1] if stated else GRAVITY
    name = root.values.get("model", file.rpartition(".")[0])
    return Urdf(name, file, WORLD, links, joints, gravity, tuple(_told(root, found, gravity)))


def _seen(found: Mjcf, key: str) -> Pose:
    """Return a body's frame seen from its parent's."""
    body = found.bodies[key]
    return body.pose if body.parent is None else found.bodies[body.parent].pose.inverse() @ body.pose


def _named(joint: FoundJoint, mover: Element, body: Element, found: Mjcf) -> None:
    """Refuse joints that have no name, move a body without one, or do not stand at zero where the file has them."""
    if joint.type in ("hinge", "slide"):
        for element in (mover, body):
            if "name" not in element.attributes:
                raise found.at.error(f"a {element.tag} that moves has no name", element, "Name it")
        if joint.kind.endswith("with a ref"):
            fix = "Set it to 0, and turn the body to where it stands at joint position 0"
            raise found.at.error("a joint has a ref", mover, fix)


def _parts(joint: FoundJoint, mover: Element, tie: tuple[str, float, float] | None) -> Iterator[Element]:
    """Yield what a URDF's joint would hold: axis, dynamics, mimic."""

    def made(tag: str, **values: str) -> Element:
        given = {name: Attribute(value, mover.line, 0, 0) for name, value in values.items()}
        return Element(tag, mover.line, given, (), 0, 0, 0, True)

    axis, turn = joint.values.get("axis", "0 0 1"), joint.own.rotation
    if np.abs(turn - np.eye(3)).max() > 1e-12:  # inside a <frame>
        axis = " ".join(repr(float(x)) for x in np.round(turn @ [float(word) for word in axis.split()], 15))
    yield made("axis", xyz=axis)
    given = {"damping": joint.values.get("damping"), "friction": joint.values.get("frictionloss")}
    if any(given.values()):
        yield made("dynamics", **{name: value.split()[0] for name, value in given.items() if value})
    if tie is not None:
        yield made("mimic", joint=tie[0], offset=repr(tie[1]), multiplier=repr(tie[2]))


def _ties(root: Element, found: Mjcf) -> dict[str, tuple[str, float, float]]:
    """Return the joints that <equality> ties to another: its name, offset and multiplier."""
    ties = {}
    for equality in root.all("equality"):
        for element in equality.children:
            values = element.values
            if values.get("active", "true") != "true":
                continue
            if element.tag in ("connect", "weld"):
                fix = "Closed chains are not modelled: remove it if the robot's own joints form none"
                raise found.at.error(f"<{element.tag}> closes a chain", element, fix)
            if element.tag == "joint" and {"joint1", "joint2"} <= values.keys():
                law = [*_some(found, element, values, "polycoef", "0 1"), 0.0]
                ties[values["joint1"]] = (values["joint2"], law[0], law[1])
    return ties


def _some(found: Mjcf, element: Element, values: Attributes, name: str, default: str = "0") -> list[float]:
    """Return the numbers of an attribute, however many they are."""
    given = {name: values.get(name, default)}
    return found.numbers(element, given, name, len(given[name].split()) or 1)


def _efforts(root: Element, found: Mjcf) -> dict[str, float]:
    """Return the largest torque [N m], or force [N], of the joints' actuators, as far as their ranges say it."""
    efforts = {}
    for element in (e for actuators in root.all("actuator") for e in actuators.children if "joint" in e.attributes):
        values = found.of_class(element)
        known = "forcerange" if "forcerange" in values else "ctrlrange" if element.tag == "motor" else ""
        if known in values:
            most = max(map(abs, _some(found, element, values, known)))
            efforts[values["joint"]] = most * abs(_some(found, element, values, "gear", "1")[0]) or math.inf
    return efforts


def _limits(joint: FoundJoint, mover: Element, found: Mjcf, effort: float) -> Limits:
    unit = math.pi / 180 if joint.type == "hinge" and found.degrees else 1.0
    limited = joint.values.get("limited", "auto")
    lower, upper = (unit * x for x in found.numbers(mover, joint.values, "range", 2, (0.0, 0.0)))
    if limited == "false" or (limited == "auto" and not found.autolimits) or lower >= upper:
        lower, upper = -math.inf, math.inf
    drive = max(map(abs, _some(found, mover, joint.values, "actuatorfrcrange")))
    return Limits(lower, upper, effort=min(effort, drive or math.inf))


def _told(root: Element, found: Mjcf, gravity: tuple[float, ...]) -> Iterator[str]:
    """Say what is not taken, or not as usual."""
    if gravity != GRAVITY:
        yield f"gravity is {', '.join(f'{g:g}' for g in gravity)} m/s^2 in the world, as <option> has it"
    if weighed := [name for name, body in found.bodies.items() if body.unclear]:
        told = "MuJoCo makes the mass of some bodies of their geoms, and here they have none"
        yield f"{told}: {', '.join(weighed[:6])}{', ...' if len(weighed) > 6 else ''}; a model that MuJoCo saved has it"
    if aside := [tag for tag in _ASIDE if any(part.children for part in root.all(tag))]:
        yield f"not taken of the MJCF: {', '.join(f'<{tag}>' for tag in aside)}"
