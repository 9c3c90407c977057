"""Simulated arms with known bodies, correlated torque noise, and CAD tables that are wrong by a known amount."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from random_robots import random_pair
from synthetic import states

from ident.arrays import Array
from ident.estimate import Prior
from ident.logs.motion import Motion
from ident.model import Coulomb, DriveInertia, Model, Offset, SmoothCoulomb, Viscous, torque
from ident.regression import Regression, compress
from ident.robot import read_robot
from ident.spatial.inertia import consistency, from_com, to_com

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, eq=False)
class Case:
    """What is known (model, factors, CAD), and the truth theta (p,)."""

    model: Model
    regression: Regression
    prior: Prior
    theta: Array


def correlated(rng: np.random.Generator, shape: tuple[int, int], rho: float) -> Array:
    """Return AR(1) noise of unit variance."""
    from scipy.signal import lfilter

    white = rng.normal(size=shape)
    white[1:] *= np.sqrt(1.0 - rho**2)
    return np.asarray(lfilter([1.0], [1.0, -rho], white, axis=0))


def recorded(
    rng: np.random.Generator,
    model: Model,
    theta: Array,
    noise: Array | float,
    *,
    samples: int,
    segments: int,
    rho: float,
    name: str = "log",
) -> Motion:
    """Return a motion whose torque noise is `noise` [N m] or, for a float, that share of each joint's torque."""
    t, q, qd, qdd = states(rng, model.robot.n, samples)
    tau = torque(model, theta, q, qd, qdd)
    sd = noise * np.sqrt(np.mean(tau**2, axis=0)) if np.isscalar(noise) else noise
    tau = tau + sd * correlated(rng, tau.shape, rho)
    cuts = np.linspace(0, samples, segments + 1).astype(int).tolist()
    return Motion(name, t, q, qd, qdd, tau, np.ones(tau.shape, dtype=bool), (), tuple(pairwise(cuts)))


def wrong(rng: np.random.Generator, inertials: Array, least: float, most: float) -> Array:
    """Return bodies whose mass, centre and tensor are each off by a share from `least` to `most`, either way.

    The centre by that share of its distance, in a random direction; the tensor about it by a similarity with 1 + share.
    """
    found = []
    for body in inertials:
        while True:
            share = rng.uniform(least, most, 5) * rng.choice([-1.0, 1.0], 5)
            mass, c, inertia = to_com(body)
            away = rng.normal(size=3)
            scale = np.diag(np.sqrt(1.0 + share[2:]))
            moved = from_com(
                mass * (1 + share[0]),
                c + share[1] * np.linalg.norm(c) * away / np.linalg.norm(away),
                scale @ inertia @ scale,
            )
            if consistency(moved).consistent:
                found.append(moved)
                break
    return np.array(found)


def small_arm(seed: int, *, noise: float = 0.05, rho: float = 0.95, segments: int = 15, samples: int = 900) -> Case:
    """Return an arm of three or four joints, some sliding, in a log of 10 s; CAD off by 5 to 20 %."""
    rng = np.random.default_rng(seed)
    _, robot = random_pair(rng, 3 + seed % 2, branches=False)
    model = Model(robot, (DriveInertia(), Viscous(), Coulomb()))
    theta = np.concatenate([robot.inertials.ravel(), rng.uniform(0.05, 0.5, 3 * robot.n)])
    motion = recorded(rng, model, theta, noise, samples=samples, segments=segments, rho=rho)
    cad = wrong(rng, robot.inertials, 0.05, 0.2)
    return Case(model, compress(model, motion), Prior(cad, "cad, 5 to 20 % wrong"), theta)


#: Torque noise of the five-joint arm [N m], correlated from sample to sample.
ARM5_NOISE = np.array([0.005, 0.01, 0.006, 0.0012, 0.0008])


def arm5(seed: int, *, segments: int = 20, samples: int = 2000) -> Case:
    """Return the five-joint arm in a log of 20 s inside its limits; CAD 5 to 20 % off, joint terms unknown."""
    rng = np.random.default_rng(seed)
    robot = read_robot(ROOT / "datasets" / "arm5" / "robot.toml")
    truth = tomllib.loads((ROOT / "datasets" / "arm5" / "truth.toml").read_text(encoding="utf-8"))
    model = Model(robot, (DriveInertia(), Viscous(), SmoothCoulomb(truth["law"]["width"]), Offset()))
    theta = np.array([truth["parameters"][name] for name in model.names])
    t = np.arange(samples) * 20.0 / samples
    q, qd, qdd = np.zeros((3, samples, robot.n))
    for k in range(1, 9):
        w = 2 * np.pi * 0.2 * k
        a, b = rng.normal(size=(2, robot.n)) / k
        s, c = np.sin(w * t)[:, None], np.cos(w * t)[:, None]
        q, qd, qdd = q + a * s + b * c, qd + w * (a * c - b * s), qdd - w * w * (a * s + b * c)
    limits = [j.limits for j in robot.joints]
    middle, half = np.array([((x.upper + x.lower) / 2, (x.upper - x.lower) / 2) for x in limits]).T
    scale = 0.9 * np.minimum(half / np.abs(q).max(axis=0), [x.velocity for x in limits] / np.abs(qd).max(axis=0))
    q, qd, qdd = middle + scale * q, scale * qd, scale * qdd
    tau = torque(model, theta, q, qd, qdd) + ARM5_NOISE * correlated(rng, q.shape, 0.9)
    cuts = np.linspace(0, samples, segments + 1).astype(int).tolist()
    motion = Motion("log", t, q, qd, qdd, tau, np.ones(q.shape, dtype=bool), (), tuple(pairwise(cuts)))
    cad = wrong(rng, theta[: model.n_rigid].reshape(-1, 10), 0.05, 0.2)
    return Case(model, compress(model, motion), Prior(cad, "cad, 5 to 20 % wrong"), theta)
