"""Rigid-body regressor and inverse dynamics of a robot, in batches."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array, checked
from ident.dynamics.tree import tree
from ident.errors import ModelError
from ident.robot.robot import Robot
from ident.spatial.inertia import pseudo_inertia
from ident.threads import kernel_threads


def regressor(robot: Robot, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, out: Array | None = None) -> Array:
    """Return Y (N, n, 10 n) with tau = Y @ theta, theta (10 n,) the inertials one after the other, rigid bodies only.

    q, qd, qdd (N, n) [rad, rad/s, rad/s^2; m for prismatic joints]. Parameters are stacked link by link in the order of
    `ident.spatial.inertia.INERTIAL`. `out` (N, n, 10 n), C-contiguous, is filled and returned when given.
    Raises ModelError when shapes do not fit the robot or a number is not finite.
    """
    from ident.dynamics.kernels import regressor_rows

    q, qd, qdd = batch(robot, q=q, qd=qd, qdd=qdd)
    shape = (len(q), robot.n, 10 * robot.n)
    if out is None:
        out = np.empty(shape)
    elif out.shape != shape or out.dtype != np.float64 or not out.flags.c_contiguous:
        raise ModelError(f"out must be a C-contiguous float64 array of shape {shape}, got {out.dtype} {out.shape}")
    rows = out.reshape(len(q), robot.n * 10 * robot.n)
    with kernel_threads(len(q)):
        regressor_rows(tree(robot), q, qd, qdd, dense_columns(robot.n), rows)
    return out


def dense_columns(n: int) -> NDArray[np.int64]:
    """Return where parameter k of link i stands in the row of joint j, (n, n, 10), when nothing is left out."""
    return np.arange(n * n * 10, dtype=np.int64).reshape(n, n, 10)


def inverse_dynamics(
    robot: Robot, inertials: ArrayLike, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, wrenches: ArrayLike | None = None
) -> Array:
    """Return tau (N, n) [N m; N for prismatic joints] of rigid bodies with inertials (n, 10).

    q, qd, qdd (N, n). wrenches (N, n, 6) [N, N m]: force, then moment about the link frame's origin, in link axes, that
    its surroundings exert on each link. Recursive Newton-Euler by the regressor's sweep (Luh, Walker, Paul 1980). For
    another gravity see `Robot.with_gravity`. Raises ModelError when a shape does not fit or a number is not finite.
    """
    from ident.dynamics.kernels import inverse_dynamics_rows

    q, qd, qdd = batch(robot, q=q, qd=qd, qdd=qdd)
    theta = checked(inertials, (robot.n, 10), "inertials", ModelError)
    out = np.empty((len(q), robot.n))
    with kernel_threads(len(q)):
        inverse_dynamics_rows(tree(robot), theta, q, qd, qdd, wrench_rows(robot, wrenches, len(q)), out)
    return out


def wrench_rows(robot: Robot, wrenches: ArrayLike | None, samples: int) -> Array:
    """Return wrenches as checked rows (N, 6 n), (0, 6 n) when there are none; ModelError when they do not fit."""
    if wrenches is None:
        return checked(np.empty((0, 6 * robot.n)), (0, 6 * robot.n), "wrenches", ModelError)
    return checked(wrenches, (samples, robot.n, 6), "wrenches", ModelError).reshape(samples, 6 * robot.n)


def batch(robot: Robot, **states: ArrayLike) -> tuple[Array, ...]:
    """Return q, qd and the like, given by name, as checked (N, n) arrays of equal length.

    Raises ModelError naming the array that does not fit.
    """
    arrays = tuple(checked(x, (None, robot.n), name, ModelError) for name, x in states.items())
    if len({len(x) for x in arrays}) > 1:
        *first, last = states
        names = f"{', '.join(first)} and {last}"
        raise ModelError(f"{names} must be equally long, got {[len(x) for x in arrays]} samples")
    return arrays


def pseudo_inertias(robot: Robot, inertials: ArrayLike) -> Array:
    """Return the pseudo-inertias (n, 4, 4) of checked inertials (n, 10)."""
    return pseudo_inertia(checked(inertials, (robot.n, 10), "inertials", ModelError))
