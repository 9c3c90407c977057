"""MuJoCo's MJCF: a new file from the robot, or the numbers put into an existing one, which is read as untrusted data.

Source: MuJoCo XML reference: body/inertial (pos, mass, fullinertia = M11 M22 M33 M12 M13 M23 about pos, positive
definite and A + B >= C), joint (armature, damping, frictionloss, pos, axis, ref), compiler (angle, eulerseq,
inertiafromgeom, balanceinertia ...), default classes and childclass, frame, body, orientation attributes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ident.arrays import Array
from ident.errors import InfeasibleError, RobotError
from ident.export.identified import ARMATURE, DAMPING, FRICTION, Identified, Source, Written
from ident.export.matching import FoundBody, FoundJoint, commented, numbers_in, own_bodies, turned_by
from ident.export.text import filled, links, number, numbers, xml_comment
from ident.robot.robot import GRAVITY, Joint, Robot
from ident.robot.urdf_write import com_numbers
from ident.robot.xml import Edit, Element, attribute_edit, exchanged, first_child_edit, parse_xml
from ident.spatial.inertia import Pose, axis_angle, from_com, quaternion, symmetric, transformed, z_along

TARGET = "an MJCF"
CONVENTIONS = (
    "Units: SI, rad. inertial: pos is the centre of mass in the body's frame; fullinertia = Ixx Iyy Izz Ixy Ixz Iyz",
    "about that centre in the body's axes, entries of the inertia tensor (Ixy = -integral of x y dm).",
    "joint: armature = drive inertia, damping = viscous, frictionloss = Coulomb friction, all at the joint.",
)
_LEAST = 1e-15  # mjMINVAL: MuJoCo refuses moving bodies of less


def write_mjcf(item: Identified) -> Written:
    """Return MJCF: the given MJCF edited in place, or a new one.

    In a new file the bodies' frames are the robot's link frames, what was fixed to a link is a site in it (its mass
    is part of the link's), and the base is a body without mass. Raises ModelError without a robot,
    InfeasibleError for a link without mass or inertia, which MuJoCo does not load.
    """
    robot = item.geometry(TARGET)
    notes = item.left_out(*PLACES.values())
    if item.source is not None and not np.array_equal(robot.gravity, GRAVITY):
        notes = (*notes, f"The file's own gravity is kept; the fit's was {numbers(robot.gravity)} m/s^2 in the base.")
    comment = xml_comment((*item.head, *CONVENTIONS, *notes))
    inertials = [full_inertia(body, f"link '{link}'") for body, link in zip(item.inertials, robot.links, strict=True)]
    if item.source is not None:
        return Written(edited(item.source, item, robot, comment), notes)
    text = filled(
        "mjcf.xml.j2",
        robot=robot,
        links=links(item, robot, tuple(PLACES.values())),
        inertials=dict(zip(robot.links, inertials, strict=True)),
        places=PLACES,
        limits=_limits,
        comment=comment,
        quaternion=quaternion,
    )
    return Written(text, notes)


def full_inertia(body: Array, whose: str) -> str:
    """Return <inertial .../> of a body (10,); raises InfeasibleError for one that MuJoCo does not load."""
    mass, com, about_com = com_numbers(body)
    moments = np.linalg.eigvalsh(symmetric(about_com))
    if mass < _LEAST or moments[0] < _LEAST:
        raise InfeasibleError(
            f"{whose} has {mass:.3g} kg and a smallest moment of {moments[0]:.3g} kg m^2, and MuJoCo moves no body "
            "without mass and inertia. Give its prior a small body, or choose another target."
        )
    # MuJoCo diagonalises in floating point and then wants A + B >= C: stay off the edge by more than its rounding
    xx, xy, xz, yy, yz, zz = about_com
    gap, room = moments[0] + moments[1] - moments[2], 1e-11 * moments[2]
    grow = max(0.0, room - gap)
    return (
        f'<inertial pos="{numbers(com)}" mass="{number(mass)}" '
        f'fullinertia="{numbers([xx + grow, yy + grow, zz + grow, xy, xz, yz])}"/>'
    )


def _limits(joint: Joint) -> str:
    """Return the attributes of a joint's limits."""
    text, ends, effort = "", joint.limits.ends, joint.limits.effort
    if ends is not None and ends[0] < ends[1]:
        text += f' range="{numbers(ends)}"'
    if np.isfinite(effort) and effort > 0:
        text += f' actuatorfrcrange="{numbers([-effort, effort])}"'
    return text


# ---- an existing file ------------------------------------------------------------------------------------------

Attributes = Mapping[str, str]

#: Attributes of a joint, with the joint terms that they are.
PLACES = {"armature": ARMATURE, "damping": DAMPING, "frictionloss": FRICTION}
#: Settings with which MuJoCo would not use the numbers as they are written, and the values that are harmless.
_ALTERING = {
    "inertiafromgeom": ("auto", "false"),
    "balanceinertia": ("false",),
    "boundmass": ("0",),
    "boundinertia": ("0",),
    "settotalmass": ("-1", "0"),
    "coordinate": ("local",),
}


def edited(source: Source, item: Identified, robot: Robot, comment: str) -> bytes:
    """Return the bytes of the MJCF with the robot's numbers, every other byte kept, and `comment` before the root.

    A joint without one of the joint parameters (`PLACES`) keeps what the file says. Raises RobotError for a file that
    is no MJCF, has parts that are not understood (include, replicate, attach), would change the numbers (compiler
    settings), or describes another robot; what `own_bodies` raises.
    """
    root = parse_xml(source.data, file=source.name)
    if root.tag != "mujoco":
        raise RobotError(f"the root element is <{root.tag}>, wanted <mujoco>", file=source.name, line=root.line)
    reader = _Reader(source, root)
    own = own_bodies(robot, item.inertials, reader.bodies, reader.joints, source.name)
    edits: list[Edit] = [commented(source.data, root, comment)]
    for link, body in zip(robot.links, own, strict=True):
        edits += reader.inertial(link, full_inertia(body, f"link '{link}'"))
    for attribute, kind in PLACES.items():
        for joint, value in item.per_joint(kind).items():
            edits.append(attribute_edit(reader.elements[joint], attribute, number(value)))
    return exchanged(source.data, edits)


@dataclass(frozen=True)
class _Place:
    """Where a walk through the tree is: the body's key, the frame seen from the world, the class of its children."""

    body: str | None
    pose: Pose
    childclass: str | None = field(default=None)


class _Reader:
    def __init__(self, source: Source, root: Element) -> None:
        self.file, self.data = source.name, source.data
        self.bodies: dict[str, FoundBody] = {}
        self.joints: dict[str, FoundJoint] = {}
        self._bodies: dict[str, Element] = {}
        self.elements: dict[str, Element] = {}  # joints
        self._moves: dict[str, list[str]] = {}
        self.compiler: dict[str, str] = {}
        self._classes: dict[str, dict[str, dict[str, str]]] = {"main": {}}
        self._settings(root)
        for world in root.all("worldbody"):
            self._walk(world, _Place(None, Pose.identity()))

    def error(self, problem: str, element: Element, fix: str | None = None) -> RobotError:
        return RobotError(problem, file=self.file, line=element.line, fix=fix)

    def _settings(self, root: Element) -> None:
        for element in root.children:
            if element.tag == "include":
                raise self.error("<include> is not followed", element, "Save the whole model with MuJoCo first")
            if element.tag == "compiler":
                self.compiler |= element.values
                for name, harmless in _ALTERING.items():
                    value = self.compiler.get(name, harmless[0])
                    if value.strip() not in harmless and not _zero(value, harmless):
                        raise self.error(
                            f"with {name}='{value}' MuJoCo changes or ignores the inertias that are written",
                            element,
                            f"Remove {name} from <compiler>",
                        )
            if element.tag == "default":
                self._default(element, "main", {})

    def _default(self, element: Element, name: str, above: dict[str, dict[str, str]]) -> None:
        own = {tag: dict(values) for tag, values in above.items()}
        for child in element.children:
            if child.tag == "include":
                raise self.error("<include> is not followed", child, "Save the whole model with MuJoCo first")
            if child.tag != "default":
                own.setdefault(child.tag, {}).update(child.values)
        self._classes[name] = own
        for child in element.all("default"):
            if "class" not in child.attributes:
                raise self.error("a nested <default> has no class", child)
            self._default(child, child.attributes["class"].value, own)

    def _values(self, element: Element, place: _Place) -> Attributes:
        """Return the element's attributes, its class's where it has none."""
        own = element.values
        name = own.get("class", place.childclass or "main")
        if name not in self._classes:
            raise self.error(f"there is no default class '{name}'", element)
        return {**self._classes[name].get(element.tag, {}), **own}

    def _walk(self, parent: Element, place: _Place) -> None:
        for element in parent.children:
            if element.tag in ("include", "replicate", "attach", "composite", "flexcomp"):
                raise self.error(f"<{element.tag}> is not followed", element, "Save the whole model with MuJoCo first")
            if element.tag == "frame":
                values = element.values
                inside = _Place(place.body, place.pose @ self._pose(element, values), _class(values, place))
                self._walk(element, inside)
            elif element.tag == "body":
                self._body(element, place)
            elif element.tag in ("joint", "freejoint") and place.body is not None:
                self._joint(element, place)

    def _body(self, element: Element, place: _Place) -> None:
        values = element.values
        key = values.get("name", f"body in line {element.line}")
        if key in self.bodies:
            raise self.error(f"a body of the name '{key}' stands already in the file", element)
        pose = place.pose @ self._pose(element, values)
        inside = _Place(key, pose, _class(values, place))
        inertial, unclear = self._own_inertial(element, inside)
        self.bodies[key] = FoundBody(place.body, pose, inertial, unclear)
        self._bodies[key] = element
        self._walk(element, inside)

    def _own_inertial(self, element: Element, place: _Place) -> tuple[Array | None, str | None]:
        found = element.all("inertial")
        if not found:
            geoms = [g for g in _deep(element, "geom") if self._weighs(g, place)]
            return None, "MuJoCo makes its mass of its geoms" if geoms else None
        values = found[0].values
        mass = self._numbers(found[0], values, "mass", 1)[0]
        about = np.diag(self._numbers(found[0], values, "diaginertia", 3, (0.0, 0.0, 0.0)))
        if "fullinertia" in values:
            xx, yy, zz, xy, xz, yz = self._numbers(found[0], values, "fullinertia", 6)
            about = symmetric([xx, xy, xz, yy, yz, zz])
        return transformed(from_com(mass, np.zeros(3), about), self._pose(found[0], values)), None

    def _weighs(self, geom: Element, place: _Place) -> bool:
        values = self._values(geom, place)
        if "mass" in values:
            return self._numbers(geom, values, "mass", 1)[0] != 0
        return self._numbers(geom, values, "density", 1, (1000.0,))[0] != 0

    def _joint(self, element: Element, place: _Place) -> None:
        assert place.body is not None
        values = self._values(element, place)
        name = values.get("name", f"joint in line {element.line}")
        kind = "free" if element.tag == "freejoint" else values.get("type", "hinge")
        if name in self.joints:
            raise self.error(f"a joint of the name '{name}' stands already in the file", element)
        axis = np.array(self._numbers(element, values, "axis", 3, (0.0, 0.0, 1.0)))
        length = float(np.linalg.norm(axis))
        if length == 0:
            raise self.error(f"the axis of joint '{name}' is zero", element)
        point = place.pose.rotation @ self._numbers(element, values, "pos", 3, (0.0, 0.0, 0.0)) + place.pose.position
        known = {"hinge": "revolute", "slide": "prismatic"}.get(kind, kind)
        if self._numbers(element, values, "ref", 1, (0.0,))[0] != 0:
            known = f"{known} with a ref"
        self._moves.setdefault(place.body, []).append(name)
        if len(self._moves[place.body]) > 1:
            known = f"one of several joints of body '{place.body}'"
        self.joints[name] = FoundJoint(place.body, known, point, place.pose.rotation @ axis / length)
        self.elements[name] = element

    def _pose(self, element: Element, values: Attributes) -> Pose:
        """Return the pose of pos and one of quat, axisangle, euler, xyaxes, zaxis."""
        position = np.array(self._numbers(element, values, "pos", 3, (0.0, 0.0, 0.0)))
        scale = 1.0 if self.compiler.get("angle", "degree") == "radian" else math.pi / 180
        turn = np.eye(3)
        try:
            if "quat" in values:
                w, *v = self._numbers(element, values, "quat", 4)
                if not any((w, *v)):
                    raise ValueError("zero quaternion")
                turn = turned_by(w, np.array(v))
            elif "axisangle" in values:
                *axis, angle = self._numbers(element, values, "axisangle", 4)
                turn = axis_angle(np.array(axis) / np.linalg.norm(axis), angle * scale)
            elif "euler" in values:
                for letter, angle in zip(
                    self.compiler.get("eulerseq", "xyz"), self._numbers(element, values, "euler", 3), strict=True
                ):
                    step = axis_angle(np.eye(3)["xyz".index(letter.lower())], angle * scale)
                    turn = turn @ step if letter.islower() else step @ turn
            elif "xyaxes" in values:
                both = np.array(self._numbers(element, values, "xyaxes", 6)).reshape(2, 3)
                x = both[0] / np.linalg.norm(both[0])
                y = both[1] - x * (x @ both[1])
                y = y / np.linalg.norm(y)
                turn = np.column_stack([x, y, np.cross(x, y)])
            elif "zaxis" in values:
                z = np.array(self._numbers(element, values, "zaxis", 3))
                turn = z_along(z / np.linalg.norm(z))
        except ValueError as cause:
            raise self.error(f"the orientation of <{element.tag}> is not understood", element) from cause
        if not np.isfinite(turn).all():
            raise self.error(f"the orientation of <{element.tag}> has no direction", element)
        return Pose(turn, position)

    def _numbers(
        self, element: Element, values: Attributes, name: str, n: int, default: tuple[float, ...] | None = None
    ) -> list[float]:
        if name not in values:
            if default is not None:
                return list(default)
            raise self.error(f"<{element.tag}> has no {name}", element)
        said = f"{name} of <{element.tag}> is '{values[name][:40]}', wanted {n} numbers"
        return numbers_in(values[name], n, lambda: self.error(said, element))

    def inertial(self, link: str, text: str) -> list[Edit]:
        """Put <inertial> in place of the body's own, or as its first child."""
        body = self._bodies[link]
        old = body.all("inertial")
        if old:
            return [(old[0].start, old[0].end, text.encode())]
        line = self.data[: body.start].rpartition(b"\n")[2].decode()
        indent = line if not line.strip() else ""
        return [first_child_edit(body, text if body.empty else f"\n{indent}  {text}")]


def _class(values: Attributes, place: _Place) -> str | None:
    return values.get("childclass", place.childclass)


def _deep(element: Element, tag: str) -> list[Element]:
    """Return the children of this tag, those in <frame> too."""
    inside = [g for frame in element.all("frame") for g in _deep(frame, tag)]
    return [*element.all(tag), *inside]


def _zero(value: str, harmless: tuple[str, ...]) -> bool:
    try:
        return "0" in harmless and float(value) <= 0
    except ValueError:
        return False
