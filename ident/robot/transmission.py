"""The map between joints and motors: reduction ratios and coupled wrists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import RobotError


@dataclass(frozen=True, eq=False)
class Transmission:
    """q_motor = matrix @ q_joint, hence tau_joint = matrix^T @ tau_motor (no power is lost in between).

    matrix (n_motors, n_joints): reduction ratios on the diagonal, couplings beside it. A TX40's motor 6 also turns
    with joint 5: matrix[5, 4] = 32. `motors` are the motors' names.
    Raises RobotError when the matrix is not square and invertible.
    """

    motors: tuple[str, ...]
    matrix: Array

    def __post_init__(self) -> None:
        n = len(self.motors)
        object.__setattr__(self, "motors", tuple(self.motors))
        object.__setattr__(self, "matrix", frozen(self.matrix, (n, n), "transmission matrix", RobotError))
        if np.linalg.matrix_rank(self.matrix) < n:
            raise RobotError("the transmission matrix is singular: some joint is moved by no motor")

    def joint_position(self, q_motor: ArrayLike) -> Array:
        """Return q_joint (..., n) from q_motor (..., n), in rad; velocities and accelerations alike."""
        return np.asarray(np.linalg.solve(self.matrix, np.asarray(q_motor, dtype=np.float64).T).T)

    def joint_torque(self, tau_motor: ArrayLike) -> Array:
        """Return tau_joint (..., n) from tau_motor (..., n), in N m."""
        return np.asarray(np.asarray(tau_motor, dtype=np.float64) @ self.matrix)
