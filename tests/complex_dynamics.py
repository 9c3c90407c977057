"""Regressor and criteria in complex numbers, for derivatives by the complex step (Squire, Trapp 1998).

f'(x) = Im f(x + i h) / h has no cancellation, so with h = 1e-30 it is exact to rounding. That asks for operations
without conjugates and magnitudes. The regressor is written in the base frame, by virtual work; the package sweeps
through the links' own frames.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ident.robot import Robot

STEP = 1e-30
_TENSORS = np.zeros((6, 3, 3))
for _k, (_a, _b) in enumerate([(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]):
    _TENSORS[_k, _a, _b] = _TENSORS[_k, _b, _a] = 1.0


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.stack(
        [
            a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1],
            a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2],
            a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0],
        ],
        -1,
    )


def _turn(axis: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return rotations (N, 3, 3) about an axis by angles (N,)."""
    x, y, z = axis
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(q)[:, None, None] * skew + (1.0 - np.cos(q))[:, None, None] * (skew @ skew)


def rigid_regressor(robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """Return Y (N, n, 10 n) of the rigid bodies; q, qd, qdd (N, n), real or complex."""
    samples, n = q.shape
    kind = np.result_type(q, qd, qdd, float)
    out = np.zeros((samples, n, 10 * n), kind)
    still = np.zeros((samples, 3), kind)
    rotation, origin, spin, spin_rate, pull, axis, line = [], [], [], [], [], [], []
    for i, joint in enumerate(robot.joints):
        p = joint.parent
        base = np.broadcast_to(np.eye(3), (samples, 3, 3)) if p < 0 else rotation[p]
        o, w, al = (still, still, still) if p < 0 else (origin[p], spin[p], spin_rate[p])
        a = still - robot.gravity if p < 0 else pull[p]
        frame = base @ joint.placement.rotation
        z = frame @ joint.axis
        mount = o + base @ joint.placement.position
        rate, rate_rate = qd[:, i : i + 1], qdd[:, i : i + 1]
        if joint.kind == "revolute":
            at = mount + frame @ joint.point
            rotation.append(frame @ _turn(joint.axis, q[:, i]))
            spin.append(w + z * rate)
            spin_rate.append(al + z * rate_rate + _cross(w, z) * rate)
            arm, lever = at - o, -(rotation[i] @ joint.point)
            origin.append(at + lever)
            here = a + _cross(al, arm) + _cross(w, _cross(w, arm))
            pull.append(here + _cross(spin_rate[i], lever) + _cross(spin[i], _cross(spin[i], lever)))
            line.append(at)
        else:
            rotation.append(frame)
            spin.append(w)
            spin_rate.append(al)
            origin.append(mount + z * q[:, i : i + 1])
            arm = origin[i] - o
            pull.append(a + _cross(al, arm) + _cross(w, _cross(w, arm)) + 2.0 * _cross(w, z) * rate + z * rate_rate)
            line.append(origin[i])
        axis.append(z)
        force, moment = np.zeros((2, 10, samples, 3), kind)
        force[0] = pull[i]
        for k in range(3):
            h = rotation[i][:, :, k]
            force[1 + k] = _cross(spin_rate[i], h) + _cross(spin[i], _cross(spin[i], h))
            moment[1 + k] = _cross(h, pull[i])
        for k, tensor in enumerate(_TENSORS):
            turned = rotation[i] @ tensor @ rotation[i].transpose(0, 2, 1)
            along = (turned @ spin[i][:, :, None])[:, :, 0]
            moment[4 + k] = (turned @ spin_rate[i][:, :, None])[:, :, 0] + _cross(spin[i], along)
        j = i
        while j >= 0:
            if robot.joints[j].kind == "revolute":
                work = (axis[j] * (moment + _cross(origin[i] - line[j], force))).sum(-1)
            else:
                work = (axis[j] * force).sum(-1)
            out[:, j, 10 * i : 10 * i + 10] = work.T
            j = robot.joints[j].parent
    return out


def derivative(f: Callable[[np.ndarray], complex], x: np.ndarray) -> np.ndarray:
    """Return the gradient of f at x, by one complex step for each entry."""
    found = np.empty(x.shape)
    for place in np.ndindex(x.shape):
        moved = x.astype(complex)
        moved[place] += 1j * STEP
        found[place] = np.imag(f(moved)) / STEP
    return found


def eigenvalue(matrix: np.ndarray, which: int) -> complex:
    """Return the smallest (which 0) or greatest (-1) eigenvalue of a symmetric complex matrix, without conjugates.

    Starts from the real part's eigenvector; Rayleigh's iteration converges cubically.
    """
    values, vectors = np.linalg.eigh(matrix.real)
    v = vectors[:, which].astype(complex)
    shift = values[which] * (1.0 + 1e-4)
    for _ in range(6):
        v = np.linalg.solve(matrix - shift * np.eye(len(v)), v)
        v = v / np.sqrt(v @ v)
    return v @ matrix @ v


def log_det(matrix: np.ndarray) -> complex:
    sign, log = np.linalg.slogdet(matrix)
    return log + np.log(sign)


def d_optimal(m: np.ndarray) -> complex:
    return -log_det(m) / len(m)


def a_optimal(m: np.ndarray) -> complex:
    return np.log(np.trace(np.linalg.inv(m)))


def e_optimal(m: np.ndarray) -> complex:
    return -0.5 * np.log(eigenvalue(m, 0))


def condition(m: np.ndarray) -> complex:
    return 0.5 * np.log(eigenvalue(m, -1) / eigenvalue(m, 0))


def scaled_condition(m: np.ndarray) -> complex:
    size = np.sqrt(np.diag(m))
    return condition(m / size / size[:, None])


def worst_error(m: np.ndarray) -> complex:
    variance = np.diag(np.linalg.inv(m))
    return 0.5 * np.log(((variance / variance.real.max()) ** 8).sum()) / 8 + 0.5 * np.log(variance.real.max())
