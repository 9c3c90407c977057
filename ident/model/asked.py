"""Signals beside q, qd, qdd that a term's column asks for by name, in its `needs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ident.arrays import Array
from ident.dynamics.rigid_body import inverse_dynamics
from ident.errors import ModelError, nearest
from ident.robot.robot import Robot


def load(term: Any, robot: Robot, q: Array, qd: Array, qdd: Array) -> Array:
    """Return the torque (N, n) that links with the `term.inertials` (n, 10) need at each joint [N m; N]."""
    return inverse_dynamics(robot, np.array(term.inertials), q, qd, qdd)


#: Who gives a signal (N, n), from the term, the robot and q, qd, qdd (N, n).
GIVERS: dict[str, Callable[[Any, Robot, Array, Array, Array], Array]] = {"load": load}


def asked(term: Any, robot: Robot, q: Array, qd: Array, qdd: Array) -> Mapping[str, Array]:
    """Return the signals (N, n) that a term needs; ModelError names one that nobody gives."""
    found = {}
    for name in getattr(term, "needs", ()):
        if name not in GIVERS:
            raise ModelError(
                f"{term.kind.words} asks for the signal '{name}', which nobody gives{nearest(name, GIVERS)}",
                fix=f"There is {', '.join(GIVERS)}",
            )
        found[name] = GIVERS[name](term, robot, q, qd, qdd)
    return found
