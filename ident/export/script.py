"""Targets that are a template of this folder each (`*.j2`): the links of a result as such a file has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from ident.arrays import Array
from ident.export.identified import Identified, Written, moved
from ident.export.text import comment, filled
from ident.model.term import Kind
from ident.robot.robot import Joint, Robot
from ident.robot.urdf import TENSOR
from ident.robot.urdf_write import com_numbers
from ident.spatial.inertia import Pose, z_along

#: A link's frame as the robot has it; its axes with the origin on the joint's line; z along that line, too.
Frame = Literal["own", "on line", "along z"]


@dataclass(frozen=True, eq=False)
class Link:
    """A moving link in a file's own frame for it.

    body: its ten numbers there (10,), physically consistent; terms: the joint's own parameters by kind, those that the
    file has a place for. joint, parent: what moves it, and the name of what carries it; shift: the frame seen from the
    robot's; place: from the parent's at zero position.
    """

    name: str
    joint: Joint
    parent: str
    shift: Pose
    place: Pose
    body: Array = field(default_factory=lambda: np.zeros(10))
    terms: Mapping[str, float] = field(default_factory=dict)


def about_com(body: Array) -> Mapping[str, float | list[float]]:
    """Return mass [kg], com (3,) [m] and ixx ... izz about it [kg m^2] of a body (10,), physically consistent."""
    mass, com, tensor = com_numbers(body)
    return {"mass": mass, "com": com, **dict(zip(TENSOR, tensor, strict=True))}


def placed_links(robot: Robot, frame: Frame) -> list[Link]:
    """Return the moving links of a robot, without numbers."""
    shifts = [_frame(joint, frame) for joint in robot.joints]
    found = []
    for name, joint, shift in zip(robot.links, robot.joints, shifts, strict=True):
        parent = robot.base if joint.parent < 0 else robot.links[joint.parent]
        before = Pose.identity() if joint.parent < 0 else shifts[joint.parent].inverse()
        found.append(Link(name, joint, parent, shift, before @ joint.placement @ shift))
    return found


def links(item: Identified, robot: Robot, places: Sequence[Kind] = (), frame: Frame = "own") -> list[Link]:
    """Return the moving links of a result, in order."""
    found = []
    for link, body, terms in zip(placed_links(robot, frame), item.inertials, terms_in(item, places), strict=True):
        shifted = frame != "own" and link.joint.point.any()
        seen = moved(body, Pose(np.eye(3), -link.joint.point)) if shifted else body
        if frame == "along z":
            seen = moved(seen, Pose(link.shift.rotation.T, np.zeros(3)))
        found.append(replace(link, body=seen, terms=terms))
    return found


def terms_in(item: Identified, places: Sequence[Kind]) -> list[dict[str, float]]:
    """Return each joint's own parameters of these kinds."""
    held = {kind.name: item.per_joint(kind) for kind in places}
    return [{k: own[joint] for k, own in held.items() if joint in own} for joint in item.estimate.joints]


def _frame(joint: Joint, frame: Frame) -> Pose:
    turn = z_along(joint.axis) if frame == "along z" else np.eye(3)
    return Pose(turn, np.zeros(3) if frame == "own" else joint.point)


def depth_first(found: Sequence[Link], parent: int = -1) -> list[Link]:
    """Return the links of a tree, each followed by all that it carries."""
    return [x for i, a in enumerate(found) if a.joint.parent == parent for x in (a, *depth_first(found, i))]


@dataclass(frozen=True)
class Script:
    """Writes a template. target: what messages call it, "" where it does without the robot's geometry.

    places: joint terms that it has a place for; conventions: text that another target has, too.
    """

    template: str
    target: str = ""
    places: tuple[Kind, ...] = ()
    frame: Frame = "own"
    conventions: str = ""

    def __call__(self, item: Identified) -> Written:
        """Return the file; raises ModelError without a robot where it needs one."""
        robot = item.geometry(self.target) if self.target else item.robot
        notes, e = item.left_out(*self.places), item.estimate

        def about(mark: str, caller: Callable[[], str]) -> str:
            return "\n".join(comment((*item.head, *caller().splitlines(), *notes), mark)) + "\n"

        text = filled(
            self.template,
            robot=robot,
            name=e.robot,
            links=links(item, robot, self.places, self.frame) if robot and self.target else (),
            bodies=list(zip(e.links, e.joints, item.inertials, terms_in(item, self.places), strict=True)),
            conventions=self.conventions,
            about=about,
            about_com=about_com,
            depth_first=depth_first,
        )
        return Written(text, notes)
