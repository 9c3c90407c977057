"""The joint-space mass (inertia) matrix D(q)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.dynamics.batch import batch, bodies
from ident.dynamics.tree import tree
from ident.robot.robot import Robot
from ident.threads import kernel_threads


def mass_matrix(robot: Robot, parameters: ArrayLike, q: ArrayLike) -> Array:
    """Return D (N, n, n) of rigid bodies with parameters (n, 10), the kinetic energy being qd^T D qd / 2.

    q (N, n) [rad; m for prismatic joints]. Entries in kg m^2, kg m or kg by the kinds of the two joints. Composite
    bodies (Walker, Orin, J. Dyn. Sys. Meas. Control 104 (1982)), as traces of pseudo-inertias. Symmetric to the bit.
    Raises ModelError when shapes do not fit the robot or a number is not finite.
    """
    from ident.dynamics.matrix_kernels import mass_rows

    (q,) = batch(robot, q=q)
    out = np.zeros((len(q), robot.n, robot.n))
    with kernel_threads(len(q)):
        mass_rows(tree(robot), bodies(robot, parameters), q, out)
    return out
