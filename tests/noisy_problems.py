"""Noisy random problems for the constrained fit: random robots, short and bad excitation, noise as large as torque."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from random_robots import random_pair

from ident.arrays import Array
from ident.estimate import Estimate, Prior, cad_prior, estimated, neutral_prior
from ident.logs.motion import Motion
from ident.model import Coulomb, DriveInertia, Model, Offset, Viscous, torque
from ident.regression import Regression, compress

KINDS = ("weight 0", "given weight", "vanishing weight")


@cache
def problem(seed: int) -> tuple[Model, Regression, Prior]:
    """Return a problem of 1 to 8 joints: some joints at rest, 20 to 200 samples, noise of 0.3 to 3 times the torque."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    _, robot = random_pair(rng, n, missing=0.2 if rng.random() < 0.3 else 0.0)
    choice = [t for t in (DriveInertia(), Viscous(), Coulomb(), Offset()) if rng.random() < 0.6]
    model = Model(robot, tuple(choice))
    cad = np.array(robot.inertials if robot.inertials is not None else np.full((n, 10), np.nan))
    neutral = neutral_prior(robot)
    bodies = np.where(np.isnan(cad), neutral.inertials, cad)
    if rng.random() < 0.7:
        joint_values = {}
        if rng.random() < 0.5:
            joint_values = {name: float(rng.uniform(0.05, 3.0)) for name in model.names[model.n_rigid :]}
        prior = cad_prior(robot, cad * rng.uniform(0.5, 2.0, (n, 1)), "cad", joint_values)
    else:
        prior = neutral

    N = int(rng.integers(20, 201))
    t = np.linspace(0.0, rng.uniform(0.5, 4.0), N)
    moves = rng.random(n) < 0.7
    w, phase = rng.uniform(0.5, 6.0, n), rng.uniform(0.0, 2 * np.pi, n)
    a = np.where(moves, 10.0 ** rng.uniform(-2.5, 0.0, n), 0.0)
    start = rng.uniform(-1.0, 1.0, n)
    angle = w * t[:, None] + phase
    q, qd, qdd = start + a * np.sin(angle), a * w * np.cos(angle), -a * w**2 * np.sin(angle)
    theta = np.concatenate([bodies.ravel(), rng.uniform(0.05, 3.0, len(model.names) - 10 * n)])
    clean = torque(model, theta, q, qd, qdd)
    noise = rng.uniform(0.3, 3.0) * np.sqrt(np.mean(clean**2, axis=0)) + 1e-3
    tau = clean + noise * rng.normal(size=clean.shape)
    keep = np.ones((N, n), dtype=bool)
    blocks = tuple((int(s[0]), int(s[-1]) + 1) for s in np.array_split(np.arange(N), int(rng.integers(1, 7))))
    return model, compress(model, Motion(f"log {seed}", t, q, qd, qdd, tau, keep, blocks=blocks)), prior


def fitted(seed: int) -> tuple[Model, Estimate]:
    """Return the constrained fit of a problem, its kind KINDS[seed % 3]."""
    model, regression, prior = problem(seed)
    if seed % 3 == 2:
        return model, estimated(model, regression, prior, weight="vanishing")
    weight = 0.0 if seed % 3 == 0 else float(10.0 ** np.random.default_rng(seed).uniform(-7.0, 0.0))
    return model, estimated(model, regression, prior, weight=weight)


def infeasible(model: Model, theta: Array, digits: int = 12) -> list[str]:
    """Return what cannot exist in the numbers that a file with so many digits holds; all in rational arithmetic.

    Every principal minor of each pseudo-inertia is computed, which shares nothing with the check inside the package.
    """
    numbers = [Fraction(float(f"{x:.{digits - 1}e}")) for x in theta]
    found = []
    for i, link in enumerate(model.robot.links):
        J = _pseudo_inertia(numbers[10 * i : 10 * i + 10])
        subsets = [s for size in (1, 2, 3, 4) for s in combinations(range(4), size)]
        if any(_determinant([[J[a][b] for b in s] for a in s]) < 0 for s in subsets):
            found.append(link)
    for name, value, bounded in zip(
        model.names[model.n_rigid :], numbers[model.n_rigid :], model.nonnegative, strict=True
    ):
        if bounded and value < 0:
            found.append(name)
    return found


def _pseudo_inertia(p: list[Any]) -> list[list[Any]]:
    m, hx, hy, hz, xx, xy, xz, yy, yz, zz = p
    return [
        [(yy + zz - xx) / 2, -xy, -xz, hx],
        [-xy, (xx + zz - yy) / 2, -yz, hy],
        [-xz, -yz, (xx + yy - zz) / 2, hz],
        [hx, hy, hz, m],
    ]


def _determinant(a: list[list[Any]]) -> Any:
    if len(a) == 1:
        return a[0][0]
    minors = ([row[:k] + row[k + 1 :] for row in a[1:]] for k in range(len(a)))
    return sum((-1) ** k * a[0][k] * _determinant(m) for k, m in enumerate(minors))
