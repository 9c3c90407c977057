"""MuJoCo's MJCF read as untrusted data: where its bodies and joints are, what the bodies weigh, and the tree that a
URDF is: links, joints with limits, damping and friction, what follows another joint.

The world is the root. Of several joints of a body each but the last moves a frame without mass, `body/joint`, as MuJoCo
turns them one after the other; sites are frames, too. What MuJoCo alone knows is refused or told: see `tree`.
Source: MuJoCo XML reference: body/inertial (pos, mass, diaginertia, fullinertia = M11 M22 M33 M12 M13 M23 about pos),
joint (pos, axis, ref, limited, range, actuatorfrcrange, damping, frictionloss), compiler (angle, autolimits, eulerseq,
inertiafromgeom, balanceinertia ...), default classes and childclass, frame, body, orientation attributes, actuator
(joint, gear, forcerange), equality (joint: polycoef), option (gravity).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ident.arrays import Array
from ident.errors import RobotError, cut
from ident.robot.angles import meant_angle
from ident.robot.robot import GRAVITY, Limits
from ident.robot.xml import At, Attribute, Element, Urdf, UrdfJoint, UrdfLink
from ident.spatial.inertia import Pose, axis_angle, from_com, symmetric, transformed, turned_by, z_along

Attributes = Mapping[str, str]

_TURNS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
#: Settings with which MuJoCo would not use the numbers as they are written, and the values that are harmless.
_ALTERING = {
    "inertiafromgeom": ("auto", "false"),
    "balanceinertia": ("false",),
    "boundmass": ("0",),
    "boundinertia": ("0",),
    "settotalmass": ("-1", "0"),
    "coordinate": ("local",),
}


@dataclass(frozen=True, eq=False)
class FoundBody:
    """A body of the file: its parent's key (None: the world), its pose in the file's world at zero joint positions.

    inertial (10,) in its own frame, None where the file gives it none; unclear: why its inertial cannot be told.
    rounded: angles of its pose, as written, that are taken for what they mean.
    """

    parent: str | None
    pose: Pose
    inertial: Array | None
    unclear: str | None = None
    rounded: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class FoundJoint:
    """A joint of the file: the body that it moves, its kind, a point of its line and its direction in the world.

    type: as the file has it; own: its frame seen from its body, a <frame>'s; values: its attributes, its class's too.
    """

    body: str
    kind: str
    point: Array
    axis: Array
    type: str = ""
    own: Pose = field(default_factory=Pose.identity)
    values: Attributes = field(default_factory=dict)


@dataclass(frozen=True)
class _Place:
    """Where a walk through the tree is: the body's key, the frame seen from the world, the class of its children."""

    body: str | None
    pose: Pose
    childclass: str | None = None


class Mjcf:
    """The bodies and joints of an MJCF by name.

    at: says where in errors. elements, movers: the XML of the bodies and of the joints. moves: the joints of each body
    that has any, in their order. sites: the bodies that carry them, and their poses there.
    meant: whether rounded angles of bodies are taken for what they mean, see `meant_angle`. Raises RobotError, with the
    line, for parts that are not followed (include, replicate, attach ...), for settings with which MuJoCo would not use
    the bodies' inertials as they stand, and for numbers and orientations that are none.
    """

    def __init__(self, file: str, root: Element, *, meant: bool = False) -> None:
        self.at, self._meant = At(file), meant
        self.sites: dict[str, tuple[str, Pose]] = {}
        self.bodies: dict[str, FoundBody] = {}
        self.joints: dict[str, FoundJoint] = {}
        self.elements: dict[str, Element] = {}
        self.movers: dict[str, Element] = {}
        self.moves: dict[str, list[str]] = {}
        self._compiler: dict[str, str] = {}
        self._classes: dict[str, dict[str, dict[str, str]]] = {"main": {}}
        self._settings(root)
        for world in root.all("worldbody"):
            self._walk(world, _Place(None, Pose.identity()))

    def _settings(self, root: Element) -> None:
        for element in root.children:
            if element.tag == "include":
                raise self._not_followed(element)
            if element.tag == "compiler":
                self._compiler |= element.values
                for name, harmless in _ALTERING.items():
                    value = self._compiler.get(name, harmless[0])
                    if value.strip() not in harmless and not _zero(value, harmless):
                        problem = f"with {name}='{value}' MuJoCo changes or ignores the inertias that are written"
                        raise self.at.error(problem, element, f"Remove {name} from <compiler>")
            if element.tag == "default":
                self._default(element, "main", self._classes["main"])

    def _default(self, element: Element, name: str, above: dict[str, dict[str, str]]) -> None:
        own = {tag: dict(values) for tag, values in above.items()}
        for child in element.children:
            if child.tag == "include":
                raise self._not_followed(child)
            if child.tag != "default":
                own.setdefault(child.tag, {}).update(child.values)
        self._classes[name] = own
        for child in element.all("default"):
            if "class" not in child.attributes:
                raise self.at.error("a nested <default> has no class", child)
            self._default(child, child.attributes["class"].value, own)

    def _not_followed(self, element: Element) -> RobotError:
        included = element.values.get("file", "")
        fix = f"Give '{cut(included, 60)}' if that is the robot, or save" if included else "Save"
        return self.at.error(f"<{element.tag}> is not followed", element, f"{fix} the whole model with MuJoCo first")

    def of_class(self, element: Element, childclass: str | None = None) -> Attributes:
        """Return the element's attributes, those of its class or of `childclass` where it has none."""
        own = element.values
        name = own.get("class", childclass or "main")
        if name not in self._classes:
            raise self.at.error(f"there is no default class '{name}'", element)
        return {**self._classes[name].get(element.tag, {}), **own}

    def _walk(self, parent: Element, place: _Place) -> None:
        for element in parent.children:
            if element.tag in ("include", "replicate", "attach", "composite", "flexcomp"):
                raise self._not_followed(element)
            if element.tag == "frame":
                values = element.values
                pose = place.pose @ self._pose(element, values)
                self._walk(element, _Place(place.body, pose, values.get("childclass", place.childclass)))
            elif element.tag == "body":
                self._body(element, place)
            elif element.tag in ("joint", "freejoint") and place.body is not None:
                self._joint(element, place)
            elif element.tag == "site" and place.body is not None and "name" in element.attributes:
                given = self.of_class(element, place.childclass)
                if "fromto" not in given:
                    at = place.pose @ self._pose(element, given)
                    self.sites[given["name"]] = (place.body, self.bodies[place.body].pose.inverse() @ at)

    def _body(self, element: Element, place: _Place) -> None:
        values = element.values
        key = values.get("name", _unnamed(element))
        if key in self.bodies:
            raise self.at.error(f"a body of the name '{key}' stands already in the file", element)
        pose = place.pose @ self._pose(element, values, self._meant)
        inside = _Place(key, pose, values.get("childclass", place.childclass))
        inertial, unclear = self._own_inertial(element, inside)
        self.bodies[key] = FoundBody(place.body, pose, inertial, unclear, self._rounded(values))
        self.elements[key] = element
        self._walk(element, inside)

    def _own_inertial(self, element: Element, place: _Place) -> tuple[Array | None, str | None]:
        found = element.all("inertial")
        if not found:
            weighs = [self._weighs(geom, place) for geom in _geoms(element)]
            return None, "MuJoCo makes its mass of its geoms" if any(weighs) else None
        values = found[0].values
        mass = self.numbers(found[0], values, "mass", 1)[0]
        self.numbers(found[0], values, "pos", 3)  # no default, as for MuJoCo
        about = np.diag(self.numbers(found[0], values, "diaginertia", 3, (0.0, 0.0, 0.0)))
        if "fullinertia" in values:
            for other in ("diaginertia", *_TURNS):
                if other in values:
                    raise self.at.error(f"fullinertia and {other} exclude each other", found[0])
            xx, yy, zz, xy, xz, yz = self.numbers(found[0], values, "fullinertia", 6)
            about = symmetric([xx, xy, xz, yy, yz, zz])
        return transformed(from_com(mass, np.zeros(3), about), self._pose(found[0], values)), None

    def _weighs(self, geom: Element, place: _Place) -> bool:
        values = self.of_class(geom, place.childclass)
        return self.numbers(geom, values, "mass" if "mass" in values else "density", 1, (1000.0,))[0] != 0

    def _joint(self, element: Element, place: _Place) -> None:
        assert place.body is not None
        values = self.of_class(element, place.childclass)
        name = values.get("name", _unnamed(element))
        kind = "free" if element.tag == "freejoint" else values.get("type", "hinge")
        if name in self.joints:
            raise self.at.error(f"a joint of the name '{name}' stands already in the file", element)
        axis = np.array(self.numbers(element, values, "axis", 3, (0.0, 0.0, 1.0)))
        length = float(np.linalg.norm(axis))
        if length == 0:
            raise self.at.error(f"the axis of joint '{name}' is zero", element)
        position = np.array(self.numbers(element, values, "pos", 3, (0.0, 0.0, 0.0)))
        at = place.pose @ Pose(np.eye(3), position)
        known = {"hinge": "revolute", "slide": "prismatic"}.get(kind, kind)
        if self.numbers(element, values, "ref", 1, (0.0,))[0] != 0:
            known = f"{known} with a ref"
        self.moves.setdefault(place.body, []).append(name)
        if len(self.moves[place.body]) > 1:
            known = f"one of several joints of body '{place.body}'"
        direction = place.pose.rotation @ axis / length
        own = self.bodies[place.body].pose.inverse() @ at
        self.joints[name] = FoundJoint(place.body, known, at.position, direction, kind, own, values)
        self.movers[name] = element

    def _pose(self, element: Element, values: Attributes, meant: bool = False) -> Pose:
        """Return the pose of pos and one of quat, axisangle, euler, xyaxes, zaxis."""
        position = np.array(self.numbers(element, values, "pos", 3, (0.0, 0.0, 0.0)))
        turn = np.eye(3)
        try:
            if "quat" in values:
                w, *v = self.numbers(element, values, "quat", 4)
                if not any((w, *v)):
                    raise ValueError("zero quaternion")
                turn = turned_by(w, np.array(v))
            elif "axisangle" in values:
                *axis, angle = self.numbers(element, values, "axisangle", 4)
                angle = self._angle(values["axisangle"].split()[3], angle, meant)
                turn = axis_angle(np.array(axis) / np.linalg.norm(axis), angle)
            elif "euler" in values:
                three = zip(values["euler"].split(), self.numbers(element, values, "euler", 3), strict=True)
                for letter, (word, angle) in zip(self._compiler.get("eulerseq", "xyz"), three, strict=True):
                    step = axis_angle(np.eye(3)["xyz".index(letter.lower())], self._angle(word, angle, meant))
                    turn = turn @ step if letter.islower() else step @ turn
            elif "xyaxes" in values:
                both = np.array(self.numbers(element, values, "xyaxes", 6)).reshape(2, 3)
                x = both[0] / np.linalg.norm(both[0])
                y = both[1] - x * (x @ both[1])
                y = y / np.linalg.norm(y)
                turn = np.column_stack([x, y, np.cross(x, y)])
            elif "zaxis" in values:
                z = np.array(self.numbers(element, values, "zaxis", 3))
                turn = z_along(z / np.linalg.norm(z))
        except ValueError as cause:
            raise self.at.error(f"the orientation of <{element.tag}> is not understood", element) from cause
        if not np.isfinite(turn).all():
            raise self.at.error(f"the orientation of <{element.tag}> has no direction", element)
        return Pose(turn, position)

    @property
    def degrees(self) -> bool:
        """Whether the file's angles are in degrees."""
        return self._compiler.get("angle", "degree") != "radian"

    @property
    def autolimits(self) -> bool:
        """Whether a range is a limit unless it is said not to be."""
        return self._compiler.get("autolimits", "true") == "true"

    def _angle(self, word: str, value: float, meant: bool) -> float:
        if self.degrees:
            return value * math.pi / 180
        return meant_angle(word) if meant else value

    def _rounded(self, values: Attributes) -> tuple[str, ...]:
        """Return the angles of a pose that are not taken as they are written."""
        words = [*values.get("euler", "").split(), *values.get("axisangle", "").split()[3:]]
        return () if self.degrees else tuple(w for w in words if meant_angle(w) != float(w))

    def numbers(
        self, element: Element, values: Attributes, name: str, n: int, default: tuple[float, ...] | None = None
    ) -> list[float]:
        """Return the n numbers of an attribute; raises RobotError for another value, and where there is no default."""
        if name not in values:
            if default is not None:
                return list(default)
            raise self.at.error(f"<{element.tag}> has no {name}", element)
        found: list[float] = self.at.listed(values[name], n, element, name).tolist()
        return found


def _unnamed(element: Element) -> str:
    return f"{element.tag} in line {element.line}, byte {element.start}"


def _geoms(element: Element) -> list[Element]:
    """Return the geoms that are children, those in <frame> too."""
    return [*element.all("geom"), *(geom for frame in element.all("frame") for geom in _geoms(frame))]


def _zero(value: str, harmless: tuple[str, ...]) -> bool:
    try:
        return "0" in harmless and float(value) <= 0
    except ValueError:
        return False


# ---- as the tree that a URDF is --------------------------------------------------------------------------------------

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
