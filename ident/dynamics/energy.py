"""Kinetic and potential energy of the rigid bodies."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.dynamics.batch import batch, bodies
from ident.dynamics.tree import tree
from ident.robot.robot import Robot
from ident.threads import kernel_threads


def kinetic_energy(robot: Robot, parameters: ArrayLike, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return K (N,) [J] of the moving links with parameters (n, 10) at q, qd (N, n); K = qd^T D qd / 2.

    Raises ModelError when shapes do not fit the robot or a number is not finite.
    """
    q, qd = batch(robot, q=q, qd=qd)
    return _energies(robot, parameters, q, qd)[0]


def potential_energy(robot: Robot, parameters: ArrayLike, q: ArrayLike) -> Array:
    """Return P (N,) [J] in the field of gravity, P = -sum_l gravity . (m p + R h), zero at the base's origin.

    parameters (n, 10); q (N, n); p and R are the link's frame seen from the base. Bodies fixed to the base
    do not count.
    Raises ModelError when shapes do not fit the robot or a number is not finite.
    """
    (q,) = batch(robot, q=q)
    return _energies(robot, parameters, q, q)[1]


def _energies(robot: Robot, parameters: ArrayLike, q: Array, qd: Array) -> tuple[Array, Array]:
    from ident.dynamics.matrix_kernels import energy_rows

    kinetic, potential = np.empty(len(q)), np.empty(len(q))
    with kernel_threads(len(q)):
        energy_rows(tree(robot), bodies(robot, parameters), q, qd, kinetic, potential)
    return kinetic, potential
