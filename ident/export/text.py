"""Names and numbers as text of the languages that are written, where untrusted names stay data; and targets that are a
template of this folder each (`*.j2`), with the links of a result as such a file has them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from ident.arrays import Array
from ident.errors import ModelError
from ident.export.identified import SPRING, Identified, Written, moved
from ident.model.term import Kind
from ident.robot.robot import Joint, Robot
from ident.robot.urdf import TENSOR
from ident.robot.urdf_write import com_numbers
from ident.spatial.inertia import Pose, quaternion, roll_pitch_yaw, z_along

if TYPE_CHECKING:
    from jinja2 import Environment


def number(value: float) -> str:
    """Return a number with all its digits, and no -0."""
    return repr(float(value) + 0.0)


def numbers(values: Iterable[float], between: str = " ") -> str:
    """Return numbers with all their digits."""
    return between.join(number(v) for v in values)


def plain(text: str) -> str:
    """Return text that stays on its line in any comment: no control characters, no backslash at an end."""
    return "".join(c if c.isprintable() else " " for c in text).replace("\\", "/")


def comment(lines: Iterable[str], mark: str) -> list[str]:
    """Return the lines behind a comment mark such as '#', '%' or '//'."""
    return [f"{mark} {plain(line)}".rstrip() for line in lines]


def xml_comment(lines: Iterable[str]) -> str:
    """Return an XML comment, which must not hold two hyphens in a row."""
    body = "\n  ".join(escape(plain(line)).replace("--", "- -") for line in lines)
    return f"<!-- {body} -->"


def quoted(text: str) -> str:
    """Return a string in double quotes for JSON, YAML and C++."""
    if any(not c.isprintable() for c in text):
        raise ModelError(f"the name {text!r} holds characters that no program takes", fix="Rename the link or joint")
    return json.dumps(text, ensure_ascii=False)


def matlab(text: str) -> str:
    """Return a MATLAB character vector, of what `quoted` takes."""
    quoted(text)
    return "'" + text.replace("'", "''") + "'"


def rows(matrix: Iterable[Iterable[float]]) -> str:
    """Return a matrix as MATLAB writes it."""
    return "[" + "; ".join(numbers(row) for row in matrix) + "]"


def filled(template: str, **values: Any) -> str:
    """Return a template of this folder with its values; what they hold is not read as a template again."""
    return templates(keep_trailing_newline=True).get_template(template).render(values)


@functools.cache
def templates(package: str = "ident.export", **options: Any) -> Environment:
    """Return the templates of a package, with the functions of this module as filters; each is compiled once."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader(package, ""), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, **options
    )
    found.filters |= {f.__name__: f for f in (number, numbers, plain, quoted, matlab, rows, escape, repr, quaternion)}
    found.filters |= {"attribute": quoteattr, "rpy": roll_pitch_yaw}
    return found


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
    turns = [z_along(joint.axis) if frame == "along z" else np.eye(3) for joint in robot.joints]
    points = [np.zeros(3) if frame == "own" else joint.point for joint in robot.joints]
    shifts = [Pose(turn, point) for turn, point in zip(turns, points, strict=True)]
    found = []
    for name, joint, shift in zip(robot.links, robot.joints, shifts, strict=True):
        parent = robot.base if joint.parent < 0 else robot.links[joint.parent]
        before = Pose.identity() if joint.parent < 0 else shifts[joint.parent].inverse()
        found.append(Link(name, joint, parent, shift, before @ joint.placement @ shift))
    return found


def beside_world(robot: Robot, format: str) -> tuple[Robot, tuple[str, ...]]:
    """Return the robot with a base of another name where it is called as a format's own world, and a note on that."""
    name = "world_base"
    while name in robot.frames:
        name += "_"
    if robot.base != "world":
        return robot, ()
    return replace(robot, base=name), (f"The base 'world' is called '{name}' here: in {format} that name is taken.",)


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


def placed(item: Identified, joint: str, places: Mapping[str, Kind], rest: str, unit: float = 1.0) -> dict[str, str]:
    """Return a joint's own parameters by the places that a file has for them, and for a spring's rest in its unit."""
    found = {place: own[joint] for place, kind in places.items() if joint in (own := item.per_joint(kind))}
    if SPRING in places.values() and joint in item.per_joint(SPRING):
        found[rest] = unit * item.rests[joint]
    return {place: number(x) for place, x in found.items()}


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
        (head, notes), e = item.about(*self.places), item.estimate

        def about(mark: str, caller: Callable[[], str]) -> str:
            return "\n".join(comment((*head, *caller().splitlines(), *notes), mark)) + "\n"

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
        return text, notes
