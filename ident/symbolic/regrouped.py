"""Bodies that move like the given ones and are as few numbers as possible, found link by link without any fit.

What lies on the line of a revolute joint does not notice that the joint turns, and the orientation of a sliding link is
its parent's: both may belong to the parent as well (Gautier, Khalil, IEEE Trans. Robotics and Automation 6, 1990, here
for a line anywhere in the link's frame). The numbers stay as large as they were: nothing is divided by small numbers.
"""

from __future__ import annotations

import numpy as np

from ident.arrays import Array
from ident.robot.robot import Joint, Robot
from ident.spatial.inertia import transformed
from ident.spatial.pose import Pose


def regrouped(robot: Robot, inertials: Array) -> Array:
    """Return inertials (n, 10) of the same torque at every motion, with zeros where the joint above allows it.

    Below a revolute joint m, the entry of h and the moment of inertia that fit its axis best become 0, below a
    prismatic one the whole tensor. They are no bodies that could exist.
    """
    found = np.array(inertials, dtype=np.float64)
    for i in reversed(range(robot.n)):
        joint = robot.joints[i]
        moved = _line(joint, found[i]) if not joint.slides else np.where(np.arange(10) < 4, 0.0, found[i])
        found[i] -= moved
        if joint.parent >= 0:
            where = joint.placement if not joint.slides else Pose(joint.placement.rotation, np.zeros(3))
            found[joint.parent] += transformed(moved, where)
    return found


def _line(joint: Joint, body: Array) -> Array:
    """Return the mass on the joint's line p + s a that takes m, one entry of h and one moment away from a body.

    Of density rho(s) it has m = int rho, h = m p + a int rho s, I = int rho (r.r - r r^T), r = p + s a; the three
    integrals are free.
    """
    a, p = joint.axis, joint.point

    def of(zeroth: float, first: float, second: float) -> Array:
        spread = zeroth * np.outer(p, p) + first * (np.outer(a, p) + np.outer(p, a)) + second * np.outer(a, a)
        tensor = np.trace(spread) * np.eye(3) - spread
        return np.concatenate([[zeroth], zeroth * p + first * a, tensor[np.triu_indices(3)]])

    along, across = int(np.argmax(np.abs(a))), int(np.argmin(np.abs(a)))
    diagonal = 4 + (0, 3, 5)[across]
    m = float(body[0])
    first = float((body[1 + along] - m * p[along]) / a[along])
    second = float((body[diagonal] - of(m, first, 0.0)[diagonal]) / (1.0 - a[across] ** 2))
    moved = of(m, first, second)
    moved[[0, 1 + along, diagonal]] = body[[0, 1 + along, diagonal]]  # but for rounding
    return moved
