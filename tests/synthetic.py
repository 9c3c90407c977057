"""Made-up recordings of a model with known parameters."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ident.logs.motion import Motion
from ident.model import Model, torque


def random_theta(rng: np.random.Generator, model: Model) -> np.ndarray:
    """Return the robot's own bodies and joint terms of 0.2 to 1."""
    return np.concatenate([model.robot.inertials.ravel(), rng.uniform(0.2, 1.0, len(model.names) - model.n_rigid)])


def states(rng: np.random.Generator, n: int, samples: int, harmonics: int = 5) -> tuple[np.ndarray, ...]:
    """Return t and a smooth motion of n joints with its exact derivatives, 10 s at `samples` / 10 Hz."""
    t = np.arange(samples) * 10.0 / samples
    q, qd, qdd = np.tile(rng.uniform(-1, 1, n), (samples, 1)), np.zeros((samples, n)), np.zeros((samples, n))
    for _ in range(harmonics):
        w, a, phase = rng.uniform(0.5, 6.0, n), rng.normal(0, 0.5, n), rng.uniform(0, 6, n)
        x = t[:, None] * w + phase
        q, qd, qdd = q + a * np.sin(x), qd + a * w * np.cos(x), qdd - a * w**2 * np.sin(x)
    return t, q, qd, qdd


def blocks(rows: int, number: int) -> tuple[tuple[int, int], ...]:
    return tuple(pairwise(np.linspace(0, rows, number + 1).astype(int).tolist()))


def recording(
    rng: np.random.Generator,
    model: Model,
    theta: np.ndarray,
    *,
    samples: int = 600,
    noise: float | np.ndarray = 0.0,
    segments: int = 1,
    name: str = "log",
    decimation: tuple[int, ...] = (),
    harmonics: int = 5,
) -> Motion:
    """Return a motion whose torque is the model's at theta plus white noise [N m] of each joint."""
    n = model.robot.n
    t, q, qd, qdd = states(rng, n, samples, harmonics)
    tau = torque(model, theta, q, qd, qdd) + noise * rng.normal(size=(samples, n))
    rows = samples
    for factor in decimation:
        rows = -(-rows // factor)
    return Motion(name, t, q, qd, qdd, tau, np.ones((rows, n), bool), decimation, blocks(rows, segments))
