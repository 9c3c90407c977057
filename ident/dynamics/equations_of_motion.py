"""The terms of D(q) qdd + C(q, qd) qd + g(q) = tau: mass matrix, Christoffel symbols, gravity load, energies."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.dynamics.rigid_body import batch, inverse_dynamics, pseudo_inertias
from ident.dynamics.tree import tree
from ident.robot.robot import Robot
from ident.threads import kernel_threads


def mass_matrix(robot: Robot, inertials: ArrayLike, q: ArrayLike) -> Array:
    """Return D (N, n, n) of rigid bodies with inertials (n, 10), the kinetic energy being qd^T D qd / 2.

    q (N, n) [rad; m for prismatic joints]. Entries in kg m^2, kg m or kg by the kinds of the two joints. Composite
    bodies (Walker, Orin, J. Dyn. Sys. Meas. Control 104 (1982)), as traces of pseudo-inertias. Symmetric to the bit.
    Raises ModelError when shapes do not fit the robot or a number is not finite.
    """
    from ident.dynamics.matrix_kernels import mass_rows

    (q,) = batch(robot, q=q)
    out = np.zeros((len(q), robot.n, robot.n))
    with kernel_threads(len(q)):
        mass_rows(tree(robot), pseudo_inertias(robot, inertials), q, out)
    return out


def coriolis_matrix(robot: Robot, inertials: ArrayLike, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return C (N, n, n) with c_kj = sum_i c_ijk qd_i, so that the torque of velocities is C qd and D' - 2 C is skew.

    inertials (n, 10); q, qd (N, n) [rad, rad/s; m, m/s for prismatic joints]. Costs n times the depth of the tree, not
    the n^3 of the sum (Echeandia, Wensing, J. Comput. Nonlinear Dyn. 16 (2021), here as traces of pseudo-inertias).
    Raises ModelError when shapes do not fit the robot or a number is not finite.
    """
    from ident.dynamics.matrix_kernels import coriolis_rows

    q, qd = batch(robot, q=q, qd=qd)
    out = np.zeros((len(q), robot.n, robot.n))
    with kernel_threads(len(q)):
        coriolis_rows(tree(robot), pseudo_inertias(robot, inertials), q, qd, out)
    return out


def christoffel(robot: Robot, inertials: ArrayLike, q: ArrayLike) -> Array:
    """Return the Christoffel symbols of the first kind (N, n, n, n), [s, i, j, k] = c_ijk.

    c_ijk = (d d_kj/dq_i + d d_ki/dq_j - d d_ij/dq_k) / 2 (Spong, Hutchinson, Vidyasagar, Robot Modeling and Control,
    section 7.2), exactly and not by differences; c_ijk = c_jik to the bit. Then d d_kj/dq_i = c_ijk + c_ikj.
    Raises ModelError when shapes do not fit the robot or a number is not finite.
    """
    from ident.dynamics.matrix_kernels import christoffel_rows

    (q,) = batch(robot, q=q)
    out = np.zeros((len(q), robot.n, robot.n, robot.n))
    with kernel_threads(len(q)):
        christoffel_rows(tree(robot), pseudo_inertias(robot, inertials), q, out)
    return out


def gravity_load(robot: Robot, inertials: ArrayLike, q: ArrayLike) -> Array:
    """Return g (N, n) [N m; N for prismatic joints]: the torques that hold the robot still at q (N, n).

    inertials (n, 10). g = dP/dq of the potential energy P. Raises ModelError as inverse_dynamics does.
    """
    (q,) = batch(robot, q=q)
    still = np.zeros_like(q)
    return inverse_dynamics(robot, inertials, q, still, still)


def bias(robot: Robot, inertials: ArrayLike, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return C qd + g (N, n) [N m; N]: the torques of the motion q, qd (N, n) without acceleration.

    inertials (n, 10). Raises ModelError as inverse_dynamics does.
    """
    q, qd = batch(robot, q=q, qd=qd)
    return inverse_dynamics(robot, inertials, q, qd, np.zeros_like(q))


def kinetic_energy(robot: Robot, inertials: ArrayLike, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return K (N,) [J] of the moving links with inertials (n, 10) at q, qd (N, n); K = qd^T D qd / 2.

    Raises ModelError when shapes do not fit the robot or a number is not finite.
    """
    q, qd = batch(robot, q=q, qd=qd)
    return _energies(robot, inertials, q, qd)[0]


def potential_energy(robot: Robot, inertials: ArrayLike, q: ArrayLike) -> Array:
    """Return P (N,) [J] in the field of gravity, P = -sum_l gravity . (m p + R h), zero at the base's origin.

    inertials (n, 10); q (N, n); p and R are the link's frame seen from the base. Bodies fixed to the base
    do not count.
    Raises ModelError when shapes do not fit the robot or a number is not finite.
    """
    (q,) = batch(robot, q=q)
    return _energies(robot, inertials, q, q)[1]


def _energies(robot: Robot, inertials: ArrayLike, q: Array, qd: Array) -> tuple[Array, Array]:
    from ident.dynamics.matrix_kernels import energy_rows

    kinetic, potential = np.empty(len(q)), np.empty(len(q))
    with kernel_threads(len(q)):
        energy_rows(tree(robot), pseudo_inertias(robot, inertials), q, qd, kinetic, potential)
    return kinetic, potential
