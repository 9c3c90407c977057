"""Bodies that a description has only because its format, or a simulator, asks for some, and such as are elsewhere."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ident.arrays import Array
from ident.robot.robot import Robot
from ident.spatial.inertia import to_com

#: So many links, and this share of them, have one mass and one inertia, where they are placeholders.
LINKS, SHARE = 3, 2.0 / 3.0
#: And their centres on the joints' axes [m], or radii of gyration beyond this share of the robot's reach.
CENTRED, WIDE = 1e-9, 0.5
#: Links that begin farther from the base than this share of the reach tell whether their centres are measured from it.
AWAY = 0.2


def placeholders(robot: Robot, bodies: Array | None) -> str:
    """Return why bodies (n, 10) of a description are placeholders, "" where they may be those of a machine.

    A chain of equal links has equal masses and inertias, too, but none as wide as the robot, or balanced about each of
    its joints.
    """
    given = [] if bodies is None else [to_com(b) for b in bodies if np.isfinite(b).all() and b[0] > 0.0]
    alike = Counter[tuple[float, ...]]()
    for m, c, inertia in given:
        wide = float(np.sqrt(max(np.trace(inertia), 0.0) / (2.0 * m))) > WIDE * robot.reach
        if wide or float(np.abs(c).max()) < CENTRED:
            alike[tuple(float(f"{x:.9g}") for x in (m, *inertia.ravel()))] += 1
    (numbers, count), *_ = alike.most_common(1) or [((0.0,), 0)]
    if count < LINKS or count < SHARE * len(given):
        return ""
    return f"{count} links have one and the same {numbers[0]:g} kg and inertia, as placeholders have and no machine"


def from_base(robot: Robot, bodies: Array) -> bool:
    """Return whether centres (n, 10) are measured from the base at zero posture, as assemblies print them.

    Most of those that are away from it are nearer to where their link begins than to zero, by half.
    """
    poses, nearer = robot.poses(np.zeros(robot.n)), list[bool]()
    for body, pose in zip(bodies, poses, strict=True):
        if np.isfinite(body).all() and body[0] > 0.0 and np.linalg.norm(pose.position) > AWAY * robot.reach:
            centre = body[1:4] / body[0]
            nearer.append(bool(np.linalg.norm(centre - pose.position) < np.linalg.norm(centre) / 2.0))
    return len(nearer) >= 2 and sum(nearer) >= SHARE * len(nearer)
