"""Where every named frame of a robot is."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ident.robot.robot import Robot
from ident.spatial.pose import Pose


def frame_poses(robot: Robot, q: ArrayLike) -> dict[str, Pose]:
    """Return each link's and fixed body's frame seen from the base frame at q (n,) [rad or m], by name.

    Raises InputError when q has another shape or is not finite.
    """
    links = robot.poses(q)
    found = {robot.base: Pose.identity(), **dict(zip(robot.links, links, strict=True))}
    for body in robot.fixed:
        found[body.name] = body.pose if body.link < 0 else links[body.link] @ body.pose
    return found
