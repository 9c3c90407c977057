"""Joint torques at rest and at constant velocity."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.dynamics.batch import batch
from ident.dynamics.rigid_body import inverse_dynamics
from ident.robot.robot import Robot


def gravity_load(robot: Robot, parameters: ArrayLike, q: ArrayLike) -> Array:
    """Return g (N, n) [N m; N for prismatic joints]: the torques that hold the robot still at q (N, n).

    parameters (n, 10). g = dP/dq of the potential energy P. Raises ModelError as inverse_dynamics does.
    """
    (q,) = batch(robot, q=q)
    still = np.zeros_like(q)
    return inverse_dynamics(robot, parameters, q, still, still)


def bias(robot: Robot, parameters: ArrayLike, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return C qd + g (N, n) [N m; N]: the torques of the motion q, qd (N, n) without acceleration.

    parameters (n, 10). Raises ModelError as inverse_dynamics does.
    """
    q, qd = batch(robot, q=q, qd=qd)
    return inverse_dynamics(robot, parameters, q, qd, np.zeros_like(q))
