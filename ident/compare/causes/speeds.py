"""A velocity in the place of a position: the column's integral is the position, but for where that begins."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ident.compare.causes import undone
from ident.compare.causes.mistakes import Mistake
from ident.compare.causes.reading import Rows
from ident.robot.robot import Robot

#: Joints stay this near to where they are on average [rad; m]: the integral of a position does not.
FARTHEST = 2.0 * np.pi


def speeds(rows: Rows, robot: Robot) -> Iterator[Mistake]:
    """Yield each joint whose column of positions may be its velocity, with four averages of the position to try."""
    near = np.abs(rows.integrals).max(axis=0) < FARTHEST
    for j in np.flatnonzero(near & (np.ptp(rows.q, axis=0) > 0)).tolist():
        joint = robot.joints[j]
        what, mend = "its column of positions is its velocity", "name the column that holds its position"
        for quarter in range(1 if joint.slides else 4):
            yield Mistake("velocity", joint.name, what, mend, undone.speed(j, quarter * np.pi / 2))
