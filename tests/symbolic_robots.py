"""The four robots on which symbolic derivations are compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ident.robot import DHJoint, Robot, from_dh, read_robot
from ident.symbolic import planar_arm

RIGHT = np.pi / 2
SAMPLES = 100


def ur5e() -> Robot:
    """The six joints of the manufacturer's DH table."""
    rows = [
        (0, RIGHT, 0.1625),
        (-0.425, 0, 0),
        (-0.3922, 0, 0),
        (0, RIGHT, 0.1333),
        (0, -RIGHT, 0.0997),
        (0, 0, 0.0996),
    ]
    return from_dh("ur5e", [DHJoint(a=a, alpha=alpha, d=d) for a, alpha, d in rows])


def scara() -> Robot:
    slide = DHJoint(kind="prismatic", d=0.05)
    return from_dh("scara", [DHJoint(a=0.325, d=0.4), DHJoint(a=0.225, alpha=np.pi), slide, DHJoint(d=0.03)])


def four() -> dict[str, Robot]:
    seed_arm = read_robot(Path(__file__).parents[1] / "datasets" / "arm5" / "robot.toml")
    return {"planar": planar_arm(3, [1.0, 0.8, 0.5]), "arm5": seed_arm, "ur5e": ur5e(), "scara": scara()}


def motion(n: int, seed: int = 0, samples: int = SAMPLES) -> dict[str, np.ndarray]:
    """Return random q, qd, qdd (samples, n)."""
    rng = np.random.default_rng(seed)
    sizes = {"q": 3.0, "qd": 2.0, "qdd": 5.0}
    return {name: rng.uniform(-size, size, (samples, n)) for name, size in sizes.items()}


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest difference, relative to the largest number expected."""
    assert found.shape == expected.shape
    return float(np.abs(found - expected).max() / np.abs(expected).max())
