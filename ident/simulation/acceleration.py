"""The acceleration of a plant: (D + armature) qdd = tau - C qd - g - friction - springs - offset."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.dynamics.rigid_body import batch, wrench_rows
from ident.errors import ModelError
from ident.simulation.plant import Plant

#: A pivot of the mass matrix below this share of its largest diagonal entry counts as no inertia.
NOTHING = 1e-13


def acceleration(plant: Plant, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, wrenches: ArrayLike | None = None) -> Array:
    """Return qdd (N, n) [rad/s^2; m/s^2] at q, qd under the torques tau (N, n) [N m; N].

    wrenches (N, n, 6): force then moment on each link by its surroundings, about the link frame's origin in its axes.
    Raises ModelError when shapes do not fit, a number is not finite, or a joint moves nothing that has inertia.
    """
    q, qd, tau = batch(plant.robot, q=q, qd=qd, tau=tau)
    pushed = wrench_rows(plant.robot, wrenches, len(q))
    require_inertia(plant, q)
    return accelerations(plant, q, qd, tau, pushed)


def accelerations(plant: Plant, q: Array, qd: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Return qdd (N, n) of C-contiguous (N, n) arrays that nobody checks; wrenches (N, 6 n).

    NaN or infinite where a joint moves nothing. The one place where the equations of motion are solved: by articulated
    bodies, or by the mass matrix where a drive is coupled with several joints.
    """
    from ident.dynamics.articulated_body import forward_dynamics_rows

    left = tau - plant.passive(q, qd)
    if plant.drive is None:
        try:
            push = left - bias(plant, q, qd, wrenches)
            return np.asarray(np.linalg.solve(mass_matrices(plant, q), push[:, :, None])[:, :, 0])
        except np.linalg.LinAlgError:
            return np.full(q.shape, np.nan)
    out = np.empty(q.shape)
    pushed = plant.no_wrench if wrenches is None else fixed(wrenches)
    forward_dynamics_rows(plant.tree, plant.inertials, plant.drive, fixed(q), fixed(qd), fixed(left), pushed, out)
    return out


def mass_matrices(plant: Plant, q: Array) -> Array:
    """Return D + armature (N, n, n)."""
    from ident.dynamics.matrix_kernels import mass_rows

    out = np.zeros((len(q), plant.robot.n, plant.robot.n))
    mass_rows(plant.tree, plant.pseudo_inertias, fixed(q), out)
    return out + plant.armature


def bias(plant: Plant, q: Array, qd: Array, wrenches: Array | None = None) -> Array:
    """Return C qd + g (N, n), less what wrenches (N, 6 n) on the links contribute."""
    return inverse(plant, q, qd, np.zeros(q.shape), wrenches)


def inverse(plant: Plant, q: Array, qd: Array, qdd: Array, wrenches: Array | None = None) -> Array:
    """Return the torque (N, n) of the rigid bodies alone."""
    from ident.dynamics.kernels import inverse_dynamics_rows

    out = np.empty(q.shape)
    pushed = plant.no_wrench if wrenches is None else fixed(wrenches)
    inverse_dynamics_rows(plant.tree, plant.inertials, fixed(q), fixed(qd), fixed(qdd), pushed, out)
    return out


def fixed(a: Array) -> Array:
    """Return a read-only view, the type that the kernels are compiled for."""
    view = a.view()
    view.setflags(write=False)
    return view


def require_inertia(plant: Plant, q: Array) -> None:
    """Raise ModelError naming the joint when a mass matrix (N of them, at q) is singular or indefinite."""
    matrices = mass_matrices(plant, q)
    try:
        factors = np.linalg.cholesky(matrices[:, ::-1, ::-1])
        smallest = np.min(np.diagonal(factors, axis1=1, axis2=2) ** 2, axis=1)
        wrong = smallest <= NOTHING * np.max(np.diagonal(matrices, axis1=1, axis2=2), axis=1)
    except np.linalg.LinAlgError:
        wrong = np.array([_weakest(D)[2] for D in matrices])
    still = np.zeros(q.shape)
    wrong |= ~np.isfinite(accelerations(plant, q, still, still)).all(axis=1)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ModelError(singular(plant, matrices[at]), fix=NO_INERTIA)


#: What to do about a singular mass matrix.
NO_INERTIA = "Give the link mass and inertia, or the joint drive inertia"


def singular(plant: Plant, D: Array) -> str:
    """Return in words which joint makes a mass matrix (n, n) singular or indefinite."""
    j, pivot, _ = _weakest(D)
    joint, link = plant.robot.joints[j], plant.robot.links[j]
    unit = joint.unit("inertia")
    if pivot < -NOTHING * np.diag(D).max():
        return f"the mass matrix is not positive: joint '{joint.name}' moves an inertia of {pivot:.3g} {unit}"
    return f"the mass matrix is singular: joint '{joint.name}' moves nothing that has inertia (link '{link}' and on)"


def _weakest(D: Array) -> tuple[int, float, bool]:
    """Return the first joint, from the tips, that moves nothing (else the one that moves least), its pivot, and which.

    With D = L^T L from the tips to the base, the pivot of joint j is the inertia that it feels when all joints after it
    are free (Featherstone 2008, section 6.3).
    """
    left, least = D.copy(), NOTHING * np.diag(D).max()
    pivots = np.empty(len(D))
    for j in range(len(D) - 1, -1, -1):
        pivots[j] = left[j, j]
        if not pivots[j] > least:
            return j, float(pivots[j]), True
        left[:j, :j] -= np.outer(left[:j, j], left[j, :j]) / pivots[j]
    j = int(np.argmin(pivots / np.diag(D)))
    return j, float(pivots[j]), False
