"""Short simulations of a fitted model under the logged torques, each begun at a measured state.

Without feedback every error of torque grows twice integrated, so a whole recording would say little: a window of half a
second shows how fast. In each step acts the mean of the logged torque over it, which keeps its impulse.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.dynamics.rigid_body import singular
from ident.errors import ModelError
from ident.logs.motion import Motion
from ident.model.model import Model, torque
from ident.simulation.plant import Plant, mass_matrices, plant, solved
from ident.simulation.simulate import RK4_BOUND, settling_rate

WINDOW_S, MOST_WINDOWS, KEPT = 0.5, 64, 20
_FEWEST, _MOST = 120, 600  # steps of a window
_WIDTHS = (0.01, 0.02, 0.04, 0.08, 0.16)  # rad/s; m/s: Coulomb friction is rounded over the least that can be followed
_LOOKED = 5  # states at which it is looked how fast friction settles


@dataclass(frozen=True, eq=False)
class Rollout:
    """W windows of a recording at K times: t (W, K) [s], measured and simulated (W, K, n) [rad; m], NaN once diverged.

    coasted (W, n): where each joint had ended at its first velocity. law: the friction that was simulated, in words.
    """

    recording: str
    t: Array
    measured: Array
    simulated: Array
    coasted: Array
    law: str

    def off(self, seconds: float) -> Array:
        """Return how far apart (W, n) both are at the kept time nearest to so many seconds; infinite once diverged."""
        k = int(np.argmin(np.abs(self.t[0] - self.t[0, 0] - seconds)))
        return np.nan_to_num(np.abs(self.simulated[:, k] - self.measured[:, k]), nan=np.inf)

    @property
    def moved(self) -> Array:
        """How far each joint gets from its start within each window (W, n)."""
        return np.asarray(np.abs(self.measured - self.measured[:, :1]).max(axis=1))


def rollout(model: Model, theta: ArrayLike, motion: Motion) -> Rollout:
    """Return windows that follow each other, of a long recording those in its middle.

    Raises ModelError where the model cannot be simulated, or the recording is too short or lacks a joint's torque.
    """
    seconds = float(np.ptp(motion.t)) if len(motion.t) else 0.0
    count = min(int(seconds / WINDOW_S), MOST_WINDOWS)
    if not count:
        raise ModelError(f"'{motion.name}' is shorter than {WINDOW_S:g} s")
    quiet = [j for j, spread in zip(model.robot.joint_names, np.ptp(motion.tau, axis=0), strict=True) if not spread]
    if quiet:
        raise ModelError(f"'{motion.name}' has no torque of '{quiet[0]}'")
    begin = 0.5 * (motion.t[0] + motion.t[-1] - count * WINDOW_S) + WINDOW_S * np.arange(count)
    state = np.concatenate([_at(motion, motion.q, begin), _at(motion, motion.qd, begin)], axis=1)
    free, own, held = _free(model, np.asarray(theta, dtype=np.float64), motion)
    moved, steps = _followed(free, own, np.ascontiguousarray(state[:: ceil(count / _LOOKED), : model.robot.n]))
    edges = begin[:, None] + np.linspace(0.0, WINDOW_S, steps + 1)
    every = slice(None, None, steps // KEPT)
    path = _moved(moved, state, _mean_torque(motion, motion.tau - held, edges), WINDOW_S / steps)[:, every]
    n, kept = model.robot.n, dict.fromkeys(term.kind.words for term in model.terms if term not in free.terms)
    return Rollout(
        motion.name,
        edges[:, every],
        _at(motion, motion.q, edges[:, every]),
        path,
        state[:, :n] + WINDOW_S * state[:, n:],
        moved.friction_law + (f"; {' and '.join(kept)} as at the recorded motion" if kept else ""),
    )


def _free(model: Model, theta: Array, motion: Motion) -> tuple[Model, Array, Array]:
    """Return the model without the terms that need more than positions and speeds, its theta, and their torque (N, n).

    Load, temperature and time of a simulation are those of the recording, and so is what they do.
    """
    free = Model(model.robot, tuple(term for term in model.terms if not getattr(term, "needs", ())))
    kept = [model.index(name) for name in free.names]
    held = np.zeros(motion.tau.shape)
    if len(kept) < len(theta):
        states, signals = (motion.q, motion.qd, motion.qdd), motion.signals()
        held = torque(model, theta, *states, signals=signals) - torque(free, theta[kept], *states, signals=signals)
    return free, theta[kept], held


def _at(motion: Motion, values: Array, t: Array) -> Array:
    """Return values (N, n) of a motion at times t (...), (..., n)."""
    return np.stack([np.interp(t, motion.t, column) for column in values.T], axis=-1)


def _mean_torque(motion: Motion, tau: Array, edges: Array) -> Array:
    """Return the mean (W, S, n) of torques tau (N, n) between edges (W, S + 1) in time."""
    inner = 0.5 * (tau[1:] + tau[:-1]) * np.diff(motion.t)[:, None]
    impulse = np.concatenate([np.zeros((1, tau.shape[1])), np.cumsum(inner, axis=0)])
    return np.asarray(np.diff(_at(motion, impulse, edges), axis=1) / np.diff(edges, axis=1)[..., None])


def _followed(model: Model, theta: ArrayLike, q: Array) -> tuple[Plant, int]:
    """Return the plant whose friction near q (m, n) is rounded least of those that few steps follow, and the steps."""
    for width in _WIDTHS:
        found = plant(model, theta, width)
        matrices = mass_matrices(found, q)
        light = np.linalg.eigvalsh(matrices)[:, 0]
        if light.min() <= 0:
            raise ModelError(singular(model.robot, matrices[int(np.argmin(light))]))
        rate = max(settling_rate(found, row)[0] for row in q)
        steps = KEPT * ceil(max(1.5 * rate * WINDOW_S / RK4_BOUND, _FEWEST) / KEPT)
        if steps <= _MOST:
            return found, steps
    raise ModelError(f"friction of '{settling_rate(found, q[0])[1]}' stops the joint faster than steps can follow")


def _moved(moved: Plant, state: Array, tau: Array, h: float) -> Array:
    """Return positions (W, S + 1, n) from states (W, 2 n) under torques (W, S, n), by Runge-Kutta 4 with step h [s]."""
    n = tau.shape[2]

    def slope(x: Array, k: int) -> Array:
        q, qd = np.ascontiguousarray(x[:, :n]), np.ascontiguousarray(x[:, n:])
        return np.concatenate([qd, solved(moved, q, qd, tau[:, k] - moved.passive(q, qd))], axis=1)

    path = [state[:, :n]]
    with np.errstate(all="ignore"):  # a window that diverges ends in NaN
        for k in range(tau.shape[1]):
            k1 = slope(state, k)
            k2 = slope(state + h / 2 * k1, k)
            k3 = slope(state + h / 2 * k2, k)
            state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(state + h * k3, k))
            path.append(state[:, :n])
    return np.stack(path, axis=1)
