"""SDFormat: a new file from the robot, or the numbers put into an existing one, which is read as untrusted data.

An existing file holds one model without nested ones. Source: sdformat, sdf/1.7/inertial.sdf ("the origin of the
inertial reference frame needs to be at the center of gravity", a symmetric rotational inertia matrix by ixx ... izz)
and joint.sdf (axis/dynamics damping, friction; limit effort, velocity); pose (relative_to, by default the model's frame
for links and frames, the child link's for joints), frame attached_to, axis xyz expressed_in; 1.5/1_4.convert: until 1.4
an axis is given in the model's frame.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np

from ident.arrays import Array
from ident.errors import InfeasibleError, RobotError, nearest
from ident.export.existing import commented, own_bodies
from ident.export.identified import DAMPING, FRICTION, SPRING, Identified, Source, Written
from ident.export.text import beside_world, filled, links, number, numbers, placed, xml_comment
from ident.robot.mjcf import FoundBody, FoundJoint
from ident.robot.robot import Joint, Robot
from ident.robot.urdf import TENSOR
from ident.robot.urdf_write import com_numbers
from ident.robot.xml import At, Edit, Element, exchanged, first_child_edit, inner_text, parse_xml
from ident.spatial.inertia import Pose, from_com, rpy, symmetric, transformed, turned_by

TARGET = "an SDF"
PLACES = {"damping": DAMPING, "friction": FRICTION, "spring_stiffness": SPRING}
CONVENTIONS = (
    "Units: SI, rad. inertial: pose is the centre of mass in the link's frame; ixx ... izz about that centre, link",
    "axes, entries of the inertia tensor (ixy = -integral of x y dm). dynamics: damping = viscous, friction = Coulomb,",
    "spring_stiffness and spring_reference = spring and its rest.",
    "The base's mass is not identified: readers give a link without <inertial> 1 kg.",
)


def write_sdf(item: Identified) -> Written:
    """Return SDF 1.7: the given SDF edited in place, or a new one.

    In a new file a link's frame has the link's axes and its origin on the joint's line; what was fixed to a link is a
    frame, its mass part of the link's. SDF has no drive inertia: a note says so. Raises ModelError without a robot.
    """
    robot, (head, notes) = item.geometry(TARGET), item.about(*PLACES.values())
    if item.source is not None:
        comment = xml_comment((*head, *CONVENTIONS, *notes))
        return edited(item.source, item, robot, comment), notes
    robot, called = beside_world(robot, TARGET)
    notes += called
    text = filled(
        "sdf.sdf.j2",
        robot=robot,
        links=links(item, robot, tuple(PLACES.values()), "on line"),
        comment=xml_comment((*head, *CONVENTIONS, *notes)),
        inertial=inertial,
        elements=elements,
        dynamics=lambda link: placed(item, link.joint.name, PLACES, "spring_reference"),
        limits=_limits,
    )
    return text, notes


def inertial(body: Array) -> dict[str, str]:
    """Return the elements of <inertial> of a body (10,)."""
    mass, com, tensor = com_numbers(body)
    if mass <= 0:
        raise InfeasibleError("a link has no mass, and SDF knows no such link. Choose another target, such as urdf.")
    entries = elements(dict(zip(TENSOR, map(number, tensor), strict=True)))
    return {"pose": f"{numbers(com)} 0 0 0", "mass": number(mass), "inertia": entries}


def _limits(joint: Joint) -> dict[str, str]:
    lower, upper = joint.limits.ends or (-1e16, 1e16)
    values = {"lower": lower, "upper": upper, "effort": joint.limits.effort, "velocity": joint.limits.velocity}
    return {k: number(v) for k, v in values.items() if math.isfinite(v)}


# ---- an existing file ------------------------------------------------------------------------------------------

_MODEL = "__model__"


def edited(source: Source, item: Identified, robot: Robot, comment: str) -> bytes:
    """Return the bytes of the SDF with the robot's numbers, every other byte kept, and `comment` before the root.

    A joint without damping or friction in the model keeps the file's. Raises RobotError for a file that is no SDF, has
    parts that are not understood (nested models, include) or describes another robot; what `own_bodies` raises.
    """
    root = parse_xml(source.data, file=source.name, wanted="sdf")
    models = [*root.all("model"), *(m for world in root.all("world") for m in world.all("model"))]
    if len(models) != 1:
        raise RobotError(f"the file holds {len(models)} models, wanted one", file=source.name)
    said = root.values.get("version", "")
    old = bool(re.fullmatch(r"\d{1,4}(\.\d{1,4})*", said)) and tuple(int(x) for x in said.split(".")) < (1, 5)
    reader = _Reader(source, models[0], axes_in_model=old)
    own = own_bodies(robot, item.inertials, reader.bodies, reader.joints, source.name)
    edits: list[Edit] = [commented(source.data, root, comment)]
    for link, body in zip(robot.links, own, strict=True):
        element = reader.links[link]
        for given in element.all("inertial")[:1]:
            if "auto" in given.attributes:
                raise reader.at.error(f"the inertia of link '{link}' is automatic", given, "Remove the attribute auto")
        edits += reader.put(element, "inertial", inertial(body))
    for joint in robot.joint_names:
        if known := placed(item, joint, PLACES, "spring_reference"):
            edits += reader.put(reader.at.need(reader.elements[joint], "axis"), "dynamics", known)
    return exchanged(source.data, edits)


class _Reader:
    def __init__(self, source: Source, model: Element, axes_in_model: bool) -> None:
        self.at, self.data = At(source.name), source.data
        self._axes_in_model = axes_in_model
        for element in model.children:
            if element.tag in ("model", "include"):
                raise self.at.error(f"<{element.tag}> inside a model is not followed", element, "Give a flat model")
        self.links = self._named(model, "link")
        self.elements = self._named(model, "joint")
        self._frames = self._named(model, "frame")
        self._known: dict[str, Pose | None] = {_MODEL: Pose.identity()}
        self.joints: dict[str, FoundJoint] = {}
        above: dict[str, str | None] = {}
        for name, joint in self.elements.items():
            child, parent = (self._text(self.at.need(joint, tag)) for tag in ("child", "parent"))
            if child not in self.links or (parent not in self.links and parent != "world"):
                raise self.at.error(f"joint '{name}' connects links that the file does not have", joint)
            if child in above:
                raise self.at.error(f"link '{child}' is the child of two joints", joint)
            above[child] = None if parent == "world" else parent
            self.joints[name] = self._joint(name, joint, child)
        self.bodies: dict[str, FoundBody] = {}
        for name, link in self.links.items():
            inertial, unclear = self._inertial(link)
            self.bodies[name] = FoundBody(above.get(name), self._pose_of(name, link), inertial, unclear)
        self._no_loop(model)

    def _no_loop(self, model: Element) -> None:
        for name in self.bodies:
            above, steps = self.bodies[name].parent, 0
            while above is not None:
                above, steps = self.bodies[above].parent, steps + 1
                if steps > len(self.bodies):
                    raise self.at.error(f"the joints above link '{name}' form a loop", model)

    def _named(self, model: Element, tag: str) -> dict[str, Element]:
        found: dict[str, Element] = {}
        for element in model.all(tag):
            name = element.values.get("name", "")
            if not name or name in found:
                raise self.at.error(f"<{tag}> has no name of its own", element)
            found[name] = element
        return found

    def _text(self, element: Element) -> str:
        return inner_text(self.data, element)

    def _numbers(self, element: Element, n: int) -> Array:
        return self.at.listed(self._text(element), n, element)

    def _pose(self, element: Element) -> tuple[Pose, str]:
        """Return what the element's own <pose> says, and relative to what."""
        if not (found := element.all("pose")):
            return Pose.identity(), ""
        pose = found[0]
        values = pose.values
        to = values.get("relative_to", "")
        if values.get("rotation_format", "euler_rpy") == "quat_xyzw":
            *xyz, x, y, z, w = self._numbers(pose, 7)
            if not (x or y or z or w):
                raise self.at.error("the quaternion is zero", pose)
            turn = turned_by(w, [x, y, z])
            return Pose(turn, np.array(xyz)), to
        if not self._text(pose):
            return Pose.identity(), to
        numbers = self._numbers(pose, 6)
        scale = math.pi / 180 if values.get("degrees", "false").strip() in ("true", "1") else 1.0
        return Pose(rpy(*(scale * a for a in numbers[3:])), np.array(numbers[:3])), to

    def _pose_of(self, name: str, at: Element) -> Pose:
        """Return the pose of a link, joint or frame in the model's frame."""
        if name in self._known:
            if (found := self._known[name]) is None:
                raise self.at.error(f"the poses around '{name}' refer to each other in a circle", at)
            return found
        self._known[name] = None
        for group in (self.links, self._frames, self.elements):
            if name in group:
                element, (own, to) = group[name], self._pose(group[name])
                if not to:
                    joint = element.tag == "joint"
                    to = self._text(self.at.need(element, "child")) if joint else element.values.get("attached_to", "")
                self._known[name] = result = self._pose_of(to or _MODEL, element) @ own
                return result
        known = [*self.links, *self.elements, *self._frames]
        raise self.at.error(f"a pose is relative to '{name}', which is not in the model{nearest(name, known)}", at)

    def _joint(self, name: str, joint: Element, child: str) -> FoundJoint:
        kind = joint.values.get("type", "")
        kind = {"continuous": "revolute"}.get(kind, kind)
        pose = self._pose_of(name, joint)
        axis = np.array([0.0, 0.0, 1.0])
        turn = np.eye(3) if self._axes_in_model else pose.rotation
        for element in (xyz for a in joint.all("axis") for xyz in a.all("xyz")):
            axis = np.array(self._numbers(element, 3))
            if to := element.values.get("expressed_in"):
                turn = self._pose_of(to, element).rotation
        for element in (old for a in joint.all("axis") for old in a.all("use_parent_model_frame")):
            if self._text(element) in ("true", "1"):
                turn = np.eye(3)
        length = float(np.linalg.norm(axis))
        if length == 0:
            raise self.at.error(f"the axis of joint '{name}' is zero", joint)
        return FoundJoint(child, kind, pose.position, turn @ axis / length)

    def _inertial(self, link: Element) -> tuple[Array | None, str | None]:
        if not (found := link.all("inertial")):
            return None, "SDF gives a link without <inertial> 1 kg"
        if found[0].values.get("auto", "").strip() in ("true", "1"):
            return None, "its inertia is made of its collision shapes"
        own, to = self._pose(found[0])
        if to:
            raise self.at.error("the pose of an <inertial> is relative to another frame than its link's", found[0])
        mass = 1.0
        for element in found[0].all("mass"):
            mass = self._numbers(element, 1)[0]
        about = np.eye(3)
        for inertia in found[0].all("inertia"):
            given = {e.tag: self._numbers(e, 1)[0] for e in inertia.children}
            about = symmetric([given.get(k, 1.0 if k[1] == k[2] else 0.0) for k in TENSOR])
        return transformed(from_com(mass, np.zeros(3), about), own), None

    def put(self, parent: Element, tag: str, values: Mapping[str, str]) -> list[Edit]:
        """Put children with these values into a child, in place of those of the same tags, or insert it whole."""
        if not (found := parent.all(tag)):
            return [first_child_edit(parent, elements({tag: elements(values)}))]
        edits, missing = [], ""
        for key, value in values.items():
            if old := found[0].all(key):
                edits.append((old[0].start, old[0].end, elements({key: value}).encode()))
            else:
                missing += elements({key: value})
        return [*edits, first_child_edit(found[0], missing)] if missing else edits


def elements(values: Mapping[str, str]) -> str:
    """Return <key>value</key> of each."""
    return "".join(f"<{k}>{v}</{k}>" for k, v in values.items())
