"""An existing model file against the robot: the same joints in the same places, and what is fixed to which link."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ident.arrays import Array
from ident.errors import InfeasibleError, RobotError, nearest
from ident.export.identified import moved
from ident.robot.mjcf import FoundBody, FoundJoint
from ident.robot.robot import Robot
from ident.robot.urdf_write import com_numbers
from ident.robot.xml import Edit, Element
from ident.spatial.inertia import Pose, transformed

#: Lengths [m] and directions of a file are often rounded to five or six digits; frames that differ by less are equal.
CLOSE = 2e-5


def own_bodies(
    robot: Robot, inertials: Array, found: Mapping[str, FoundBody], joints: Mapping[str, FoundJoint], file: str
) -> Array:
    """Return the robot's links (n, 10) in the frames of the file's bodies, without what the file fixes to them.

    The rule of the split: a body that the file fixes to a link (or moves by a joint that the robot does not have,
    which is then held, at zero if the robot does not say where) keeps what the file says of it, and the link takes the
    rest. Names decide which is which; the order in the file does not matter. The file's frames may differ from the
    robot's, its joints may not.
    Raises RobotError, naming the first link or joint that is missing or elsewhere, InfeasibleError where the rest
    cannot exist.
    """
    for what, names, known in (("link", robot.links, set(found)), ("joint", robot.joint_names, set(joints))):
        for name in names:
            if name not in known:
                raise RobotError(
                    f"the file has no {what} '{name}', which was identified{nearest(name, known)}",
                    file=file,
                    fix="Give the model of the identified robot, with the same names, or write a new file",
                )
    base = found[robot.base].pose if robot.base in found else Pose.identity()
    at_zero = robot.poses(np.zeros(robot.n))
    out, same = np.empty_like(inertials), np.empty(robot.n, dtype=bool)
    for i, (joint, link) in enumerate(zip(robot.joints, robot.links, strict=True)):
        there = base @ at_zero[i]
        _same_joint(robot, i, there, joints[joint.name], found, file)
        frame = found[link].pose.inverse() @ there
        same[i] = np.abs(frame.matrix - np.eye(4)).max() < CLOSE  # the same frame, up to the file's rounding
        out[i] = inertials[i] if same[i] else moved(inertials[i], frame)
    for key, body in found.items():
        if key in robot.links or (body.inertial is None and body.unclear is None):
            continue
        carrier = _carrier(key, found, robot)
        if carrier is None:
            continue
        i = robot.links.index(carrier)
        if body.inertial is None:
            raise RobotError(
                f"'{key}' is fixed to link '{carrier}', and {body.unclear}, so its share cannot be told apart",
                file=file,
                fix=f"Give '{key}' an <inertial> of its own, with mass 0 if it has none",
            )
        pose = found[carrier].pose.inverse() @ body.pose
        if same[i] and robot.frames.get(key, (-1, pose))[0] == i:
            pose = robot.frames[key][1]  # held where the robot has it
        share = transformed(body.inertial, pose)
        out[i] = out[i] - share
        try:
            com_numbers(out[i], size=float(np.abs(inertials[i, 4:]).max()))
        except InfeasibleError as cause:
            raise InfeasibleError(
                f"link '{carrier}' cannot be written into {file}: its {inertials[i, 0]:.6g} kg include '{key}', which "
                f"the file fixes to it with {body.inertial[0]:.6g} kg, and the rest cannot exist ({cause}). "
                f"Correct the <inertial> of '{key}', or set it to zero so that the link takes all."
            ) from cause
    return out


def _same_joint(
    robot: Robot, i: int, there: Pose, joint: FoundJoint, found: Mapping[str, FoundBody], file: str
) -> None:
    own = robot.joints[i]
    axis = there.rotation @ own.axis
    point = there.rotation @ own.point + there.position
    parent = robot.base if own.parent < 0 else robot.links[own.parent]
    carrier = _carrier(robot.links[i], found, robot)
    problem = None
    if joint.body != robot.links[i]:
        problem = f"it moves '{joint.body}', wanted '{robot.links[i]}'"
    elif joint.kind != own.kind:
        problem = f"it is {joint.kind}, wanted {own.kind}"
    elif (carrier or robot.base) != parent:
        problem = f"it hangs on '{carrier or robot.base}', wanted '{parent}'"
    elif np.abs(joint.axis - axis).max() > CLOSE:
        problem = f"at zero position its axis is {_short(joint.axis)}, wanted {_short(axis)}, seen from the base"
    elif not own.slides and np.linalg.norm(np.cross(axis, joint.point - point)) > CLOSE:
        problem = "its axis passes elsewhere"
    if problem is not None:
        raise RobotError(
            f"joint '{own.name}' is another one than the robot's: {problem}",
            file=file,
            fix="Give the model of the identified robot, its base body named as the robot's base, or write a new file",
        )


def _carrier(key: str, found: Mapping[str, FoundBody], robot: Robot) -> str | None:
    """Return the identified link that carries a body, None for the base and what stands on it."""
    above = found[key].parent
    while above is not None and above not in robot.links:
        above = found[above].parent
    return above


def _short(vector: Array) -> str:
    return "(" + ", ".join(f"{x + 0.0:.4g}" for x in vector) + ")"


# ---- what readers of such files share ------------------------------------------------------------------------------


def commented(data: bytes, root: Element, comment: str) -> Edit:
    """Return the edit that puts a comment before the root element, in place of the one of an earlier export."""
    mark = comment[:28].encode()  # "<!-- Identified parameters of"
    start = data.rfind(mark, 0, root.start)
    if start >= 0 and data[start : root.start].count(b"-->") == 1:
        return start, data.index(b"-->", start) + 3, comment.encode()
    return root.start, root.start, comment.encode() + b"\n"
