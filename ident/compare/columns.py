"""Which columns of a log are which joints' torques: told by what the robot's bodies and friction predict of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.dynamics import inverse_dynamics, regressor
from ident.estimate.prior import neutral_inertials
from ident.logs.automatic import band_of
from ident.logs.filter import low_pass
from ident.logs.log import Log
from ident.robot import Robot

#: Rows that are looked at, the share of them that is left out at either end, and the order of the filter.
ROWS, ENDS, ORDER = 4000, 0.03, 4
#: Gravity or friction that explains less than these shares, of what the others leave of a column and of all of it, says
#: nothing of the column's size or sign.
TELLING, FELT = 0.2, 0.01


@dataclass(frozen=True, eq=False)
class Evidence:
    """What n joints say of C columns.

    explained (n, C): share of a column's variance that gravity, inertia and friction of a joint explain, in a few
    numbers: 1 for a torque of that joint without noise. ratio (n, C): what a column counts for 1 N m (1 N) of
    gravity as the bodies have it; NaN where that explains too little. size (n, C): the same of standard deviations.
    sign (n, C): 1 where friction as the column has it takes power from the joint, -1 where it would drive it, and the
    column or the position has the other sign whatever the bodies are; 0 where friction is too little.
    swing (n,): half of what gravity of the bodies changes by [N m; N]. lever (n,): how far from a joint's axis gravity
    sees the centre of mass of what it carries [m]; inf where it slides.
    noise (C,): what is left above the motion's band.
    """

    explained: Array
    ratio: Array
    size: Array
    sign: Array
    swing: Array
    lever: Array
    noise: Array


def evidence(robot: Robot, inertials: Array | None, t: Array, q: Array, columns: Array) -> Evidence:
    """Return what positions q (N, n) [rad; m] at t (N,) [s] say of columns (N, C).

    inertials (n, 10): what the bodies may be, NaN where nobody knows; None for bodies of the links' sizes.
    """
    guess = neutral_inertials(robot)
    if inertials is not None:
        guess = np.where(np.isnan(inertials).any(axis=1, keepdims=True), guess, inertials)
    q, qd, qdd, smooth, noise = _states(t, q, columns)
    gravity = inverse_dynamics(robot, guess, q, 0 * q, 0 * q)
    inertia = inverse_dynamics(robot, guess, q, qd, qdd) - gravity
    across = np.delete(np.eye(3), int(np.argmax(np.abs(robot.gravity))), axis=0)
    tilted = np.array([inverse_dynamics(robot.with_gravity(x), guess, q, 0 * q, 0 * q) for x in across])
    size = np.sum((smooth - smooth.mean(axis=0)) ** 2, axis=0)
    size = np.where(size > 1e-20 * np.sum(smooth**2, axis=0), size, np.inf)
    explained, ratio, sign = (np.full((robot.n, columns.shape[1]), x) for x in (0.0, np.nan, 0.0))
    for j in range(robot.n):
        whole = np.column_stack([gravity[:, j], inertia[:, j], *_friction(qd[:, j]), qdd[:, j], np.ones(len(q))])
        left, without = _left(whole, smooth), _left(whole[:, 1:], smooth)
        explained[j] = 1.0 - left / size
        slopes = _slopes(whole, smooth)
        ratio[j] = np.where(_tells(left, without, size), slopes[0], np.nan)
        whole = np.column_stack([whole, *tilted[..., j]])  # a base that is tilted makes no friction
        left, slopes = _left(whole, smooth), _slopes(whole, smooth)
        power = qd[:, j] @ whole[:, 2:4] @ slopes[2:4]
        sign[j] = np.where(_tells(left, _left(np.delete(whole, (2, 3), axis=1), smooth), size), np.sign(power), 0.0)
    loud = np.std(gravity + inertia, axis=0)[:, None]
    sizes = np.std(smooth, axis=0) / np.where(loud > 0, loud, np.nan)
    carried = [
        guess[[*robot.carried_by(j)], 0].sum() if not joint.slides else 0.0 for j, joint in enumerate(robot.joints)
    ]
    pull = np.linalg.norm(robot.gravity) * np.array(carried)
    swing = np.ptp(gravity, axis=0) / 2
    lever = np.where(pull > 0, swing / np.where(pull > 0, pull, 1.0), np.inf)
    return Evidence(np.clip(explained, 0.0, 1.0), ratio, sizes, sign, swing, lever, noise)


def middle(x: Array, weights: Array) -> float:
    """Return the median of values (k,), each as often as its weight (k,) says."""
    order = np.argsort(x)
    share = np.cumsum(weights[order])
    return float(x[order][np.searchsorted(share, share[-1] / 2)])


def gravity_of(robot: Robot, inertials: Array, t: Array, q: Array, columns: Array) -> tuple[Array, float, float]:
    """Return the gravity (3,) [m/s^2] that torques (N, n) [N m; N] ask for of bodies (n, 10) as they are, and which
    share of these is left with the robot's own and with that one; each joint has friction, drive inertia and offset.
    """
    q, qd, qdd, smooth, _ = _states(t, q, columns)
    left = smooth - inverse_dynamics(robot.with_gravity(np.zeros(3)), inertials, q, qd, qdd)
    pulls = np.array([inverse_dynamics(robot.with_gravity(x), inertials, q, 0 * q, 0 * q) for x in np.eye(3)])
    rows = _beside_friction(qd, qdd, np.array([*pulls, left]), smooth)
    found = np.asarray(np.linalg.lstsq(rows[:, :3], rows[:, 3], rcond=1e-9)[0])
    before, after = (float(np.sum((rows[:, 3] - rows[:, :3] @ g) ** 2)) for g in (robot.gravity, found))
    return found, before, after


def pace_of(robot: Robot, inertials: Array, t: Array, q: Array, columns: Array) -> tuple[float, float, float, float]:
    """Return of how much gravity and of how large accelerations of bodies (n, 10) torques (N, n) [N m; N] are, relative
    to what is logged, and which share of these is left with accelerations as they are and with those.
    """
    q, qd, qdd, smooth, _ = _states(t, q, columns)
    gravity = inverse_dynamics(robot, inertials, q, 0 * q, 0 * q)
    inertia = inverse_dynamics(robot, inertials, q, qd, qdd) - gravity
    rows = _beside_friction(qd, qdd, np.array([gravity, inertia, smooth]), smooth)
    found = np.linalg.lstsq(rows[:, :2], rows[:, 2], rcond=1e-9)[0]
    left = rows[:, 2] - rows[:, 1]
    left -= rows[:, 0] * (rows[:, 0] @ left) / max(float(rows[:, 0] @ rows[:, 0]), 1e-300)
    return float(found[0]), float(found[1]), float(left @ left), float(np.sum((rows[:, 2] - rows[:, :2] @ found) ** 2))


def load_of(robot: Robot, inertials: Array, t: Array, q: Array, columns: Array) -> tuple[Array, Array, float, float]:
    """Return the load (10,) on the last link that torques (N, n) [N m; N] ask for beside bodies (n, 10) as they are,
    what each joint's torque then counts for 1 N m, and the share of them left with it, and with gains in its place.
    """
    q, qd, qdd, smooth, _ = _states(t, q, columns)
    bodies = inverse_dynamics(robot, inertials, q, qd, qdd)
    carried = np.moveaxis(regressor(robot, q, qd, qdd)[..., -10:], -1, 0)
    rows = _beside_friction(qd, qdd, np.array([*carried, bodies, smooth]), smooth)
    load = _slopes(rows[:, :10], rows[:, -1:] - rows[:, -2:-1])
    loaded = np.column_stack([rows[:, -2:-1] + rows[:, :10] @ load, rows[:, -2:]])
    joints = np.split(loaded, max(len(rows) // len(q), 1))
    counts = np.array([_slopes(a[:, :1], a[:, 2:])[0, 0] for a in joints])
    scaled = sum(float(_left(a[:, 1:2], a[:, 2:])[0]) for a in joints)
    return load[:, 0], counts, float(np.sum((loaded[:, 2] - loaded[:, 0]) ** 2)), scaled


def _beside_friction(qd: Array, qdd: Array, parts: Array, smooth: Array) -> Array:
    """Return parts (k, N, n) of torques as rows (n N, k) without what each joint's friction, drive inertia and offset
    explain of them, such that all squares of the torques smooth (N, n) sum to 1; joints without any are left out.
    """
    size, each = np.sum((smooth - smooth.mean(axis=0)) ** 2, axis=0), [np.zeros((0, len(parts)))]
    for j in np.flatnonzero(size > 0.0):
        own = np.column_stack([*_friction(qd[:, j]), qdd[:, j], np.ones(len(qd))])
        each.append((parts[:, :, j].T - own @ _slopes(own, parts[:, :, j].T)) / np.sqrt(size[j]))
    return np.asarray(np.concatenate(each) / np.sqrt(max(len(each) - 1, 1)))


def unexplained(robot: Robot, t: Array, q: Array, columns: Array, matrix: Array) -> Array:
    """Return the share of each column's variance (n,) that no bodies and no friction, of motors or joints, explain.

    columns (N, n): of the motors, which turn by matrix @ q (N, n) [rad; m], each in a unit of its own.
    """
    q, qd, qdd, smooth, _ = _states(t, q, columns)
    felt, turn = np.linalg.inv(matrix), qd @ matrix.T
    rigid = np.einsum("jk,Njp->Nkp", felt, regressor(robot, q, qd, qdd))
    at_joints, at_motors = (np.stack(_friction(speed), axis=2) for speed in (qd, turn))  # (N, n, 2)
    size = np.maximum(np.sum((smooth - smooth.mean(axis=0)) ** 2, axis=0), 1e-300)
    found = []
    for k in range(robot.n):
        joints = at_joints[:, felt[:, k] != 0].reshape(len(q), -1)
        whole = np.column_stack([rigid[:, k], joints, at_motors[:, k], qdd @ matrix[k], np.ones(len(q))])
        found.append(_left(whole, smooth[:, [k]])[0] / size[k])
    return np.array(found)


def _friction(speed: Array) -> tuple[Array, Array]:
    """Return what speeds (N, ...) rub dry, but for next to standstill, and the speeds."""
    return np.tanh(speed / np.maximum(0.02 * np.percentile(np.abs(speed), 90, axis=0), 1e-12)), speed


def _tells(left: Array, without: Array, size: Array) -> NDArray[np.bool_]:
    """Return for which columns some regressors matter: the residual with them and without, and the column's size."""
    return (without - left > TELLING * without) & (without - left > FELT * size)


def _slopes(a: Array, x: Array) -> Array:
    scale = np.linalg.norm(a, axis=0)
    scale = np.where(scale > 1e-9 * scale.max(initial=1e-300), scale, np.inf)
    return np.asarray(np.linalg.lstsq(a / scale, x, rcond=1e-9)[0] / scale[:, None])


def _left(a: Array, x: Array) -> Array:
    return np.asarray(np.sum((x - a @ _slopes(a, x)) ** 2, axis=0))


def _states(t: Array, q: Array, columns: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Return q, qd, qdd and the columns below the band in which the positions move, thinned, and the columns' noise."""
    even = np.linspace(t[0], t[-1], len(t))  # before filters and derivatives: time stamps may jitter
    q, columns = (np.column_stack([np.interp(even, t, x) for x in signals.T]) for signals in (q, columns))
    log = Log("log", even, q, np.zeros_like(q))
    rate, band = log.rate_hz, band_of(log)
    cut = float(np.clip(4 * band.motion_hz.max(), 1.0, 0.2 * rate))
    parts = [low_pass(q, cut, rate, ORDER)]
    for _ in range(2):
        parts.append(np.gradient(parts[-1], even, axis=0))
    smooth = low_pass(columns, cut, rate, ORDER)
    noise = np.std(columns - smooth, axis=0)
    ends = int(ENDS * len(t)) + 1
    rows = slice(ends, len(t) - ends, max(1, (len(t) - 2 * ends) // ROWS))
    return parts[0][rows], parts[1][rows], parts[2][rows], smooth[rows], noise
