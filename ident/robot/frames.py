"""Where every named frame of a robot is."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ident.errors import InputError, nearest
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


def moving_frame(robot: Robot, name: str) -> tuple[int, Pose]:
    """Return the index of the link that carries a frame, and the frame seen from the link's; raises InputError."""
    if name in robot.links:
        return robot.links.index(name), Pose.identity()
    for body in robot.fixed:
        if body.name == name and body.link >= 0:
            return body.link, body.pose
    known = moving_frames(robot)
    raise InputError(
        f"no moving frame of '{robot.name}' is called '{name}'{nearest(name, known)}", fix=f"It has {', '.join(known)}"
    )


def moving_frames(robot: Robot) -> tuple[str, ...]:
    """Return the names of the links' frames and of those fixed to a link."""
    return (*robot.links, *(f.name for f in robot.fixed if f.link >= 0))


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
