"""The Coriolis matrix C(q, qd) and the Christoffel symbols it is made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.dynamics.batch import batch, bodies
from ident.dynamics.tree import tree
from ident.robot.robot import Robot
from ident.threads import kernel_threads


def coriolis_matrix(robot: Robot, parameters: ArrayLike, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return C (N, n, n) with c_kj = sum_i c_ijk qd_i, so that the torque of velocities is C qd and D' - 2 C is skew.

    parameters (n, 10); q, qd (N, n) [rad, rad/s; m, m/s for prismatic joints]. Costs n times the depth of the tree, not
    the n^3 of the sum (Echeandia, Wensing, J. Comput. Nonlinear Dyn. 16 (2021), here as traces of pseudo-inertias).
    Raises ModelError when shapes do not fit the robot or a number is not finite.
    """
    from ident.dynamics.matrix_kernels import coriolis_rows

    q, qd = batch(robot, q=q, qd=qd)
    out = np.zeros((len(q), robot.n, robot.n))
    with kernel_threads(len(q)):
        coriolis_rows(tree(robot), bodies(robot, parameters), q, qd, out)
    return out


def christoffel(robot: Robot, parameters: ArrayLike, q: ArrayLike) -> Array:
    """Return the Christoffel symbols of the first kind (N, n, n, n), [s, i, j, k] = c_ijk.

    c_ijk = (d d_kj/dq_i + d d_ki/dq_j - d d_ij/dq_k) / 2 (Spong, Hutchinson, Vidyasagar, Robot Modeling and Control,
    section 7.2), exactly and not by differences; c_ijk = c_jik to the bit. Then d d_kj/dq_i = c_ijk + c_ikj.
    Raises ModelError when shapes do not fit the robot or a number is not finite.
    """
    from ident.dynamics.matrix_kernels import christoffel_rows

    (q,) = batch(robot, q=q)
    out = np.zeros((len(q), robot.n, robot.n, robot.n))
    with kernel_threads(len(q)):
        christoffel_rows(tree(robot), bodies(robot, parameters), q, out)
    return out
