"""The two point-mass pendulum of the page in closed form, term by term, beside ident.

    python experiments/seed_two_link/two_link.py        prints the table of README.md

Rods without mass of length d1, d2, point masses m1, m2 at their ends; theta1 from straight down, theta2 from rod 1:
K - P with K = m1 v1^2 / 2 + m2 v2^2 / 2 and P = -(m1 + m2) g d1 cos(theta1) - m2 g d2 cos(theta1 + theta2). The page
derives the torque of joint 1, its equation (1); that of joint 2 is derived here the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ident.dynamics import christoffel, gravity_load, inverse_dynamics, mass_matrix
from ident.robot import MDHJoint, Robot, from_mdh

Array = NDArray[np.float64]
G = 9.81


@dataclass(frozen=True)
class Pendulum:
    m1: float = 2.0  # kg
    m2: float = 1.5
    d1: float = 0.8  # m
    d2: float = 0.5


def terms(p: Pendulum, theta: Array) -> dict[str, float]:
    """Return the coefficients of both equations [kg m^2; N m for gravity] at theta (2,).

    tau_i = D_i1 acc1 + D_i2 acc2 + D_i11 vel1^2 + D_i22 vel2^2 + D_i12 vel1 vel2 + D_i
    """
    s1, s2, c2, s12 = np.sin(theta[0]), np.sin(theta[1]), np.cos(theta[1]), np.sin(theta[0] + theta[1])
    return {
        # equation (1), as printed
        "D11": (p.m1 + p.m2) * p.d1**2 + p.m2 * p.d2**2 + 2 * p.m2 * p.d1 * p.d2 * c2,
        "D12": p.m2 * p.d2**2 + p.m2 * p.d1 * p.d2 * c2,
        "D111": 0.0,
        "D122": -p.m2 * p.d1 * p.d2 * s2,
        "D112": -2 * p.m2 * p.d1 * p.d2 * s2,
        "D1": (p.m1 + p.m2) * G * p.d1 * s1 + p.m2 * G * p.d2 * s12,
        # equation (2); the products vel1 vel2 of d/dt dL/dvel2 and of dL/dtheta2 cancel
        "D21": p.m2 * p.d2**2 + p.m2 * p.d1 * p.d2 * c2,
        "D22": p.m2 * p.d2**2,
        "D211": p.m2 * p.d1 * p.d2 * s2,
        "D222": 0.0,
        "D212": 0.0,
        "D2": p.m2 * G * p.d2 * s12,
    }


def torque(p: Pendulum, theta: Array, vel: Array, acc: Array) -> Array:
    """Return the torques (2,) [N m] from the closed form."""
    t = terms(p, theta)
    return np.array(
        [
            t[f"D{i}1"] * acc[0]
            + t[f"D{i}2"] * acc[1]
            + t[f"D{i}11"] * vel[0] ** 2
            + t[f"D{i}22"] * vel[1] ** 2
            + t[f"D{i}12"] * vel[0] * vel[1]
            + t[f"D{i}"]
            for i in (1, 2)
        ]
    )


def robot(p: Pendulum) -> tuple[Robot, Array]:
    """Return the pendulum in ident: both axes along z, x of the base straight down; parameters (2, 10)."""
    arm = from_mdh("two_link", [MDHJoint(), MDHJoint(a=p.d1)], gravity=(G, 0.0, 0.0))
    return arm, np.array([[m, m * d, 0, 0, 0, 0, 0, m * d**2, 0, m * d**2] for m, d in ((p.m1, p.d1), (p.m2, p.d2))])


def ident_terms(p: Pendulum, theta: Array) -> dict[str, float]:
    """Return the same coefficients from ident's mass matrix, Christoffel symbols and gravity load."""
    arm, parameters = robot(p)
    q = theta[None]
    D, c, g = (
        mass_matrix(arm, parameters, q)[0],
        christoffel(arm, parameters, q)[0],
        gravity_load(arm, parameters, q)[0],
    )
    found = {}
    for k in (0, 1):  # c[i, j, k]: vel_i vel_j in the equation of joint k
        found |= {f"D{k + 1}{j + 1}": D[k, j] for j in (0, 1)}
        found |= {
            f"D{k + 1}11": c[0, 0, k],
            f"D{k + 1}22": c[1, 1, k],
            f"D{k + 1}12": 2 * c[0, 1, k],
            f"D{k + 1}": g[k],
        }
    return found


def largest_difference(samples: int = 1000) -> float:
    """Return the largest relative difference between closed form and ident over random pendulums and states."""
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(samples):
        p = Pendulum(*rng.uniform(0.1, 3, 4))
        theta, vel, acc = rng.uniform(-np.pi, np.pi, 2), rng.normal(0, 2, 2), rng.normal(0, 5, 2)
        closed, found = torque(p, theta, vel, acc), inverse_dynamics(*robot(p), theta[None], vel[None], acc[None])[0]
        worst = max(worst, float(np.abs(closed - found).max() / np.abs(closed).max()))
    return worst


WHAT = {
    "D11": "inertia",
    "D12": "coupling",
    "D111": "centrifugal",
    "D122": "centrifugal",
    "D112": "Coriolis",
    "D1": "gravity",
    "D21": "coupling",
    "D22": "inertia",
    "D211": "centrifugal",
    "D222": "centrifugal",
    "D212": "Coriolis",
    "D2": "gravity",
}

if __name__ == "__main__":
    pendulum, angles = Pendulum(), np.radians([40.0, 65.0])
    closed, found = terms(pendulum, angles), ident_terms(pendulum, angles)
    print(f"{pendulum} at 40, 65 deg")
    for name, value in closed.items():
        print(f"{name:5s} {WHAT[name]:12s} closed form {value:10.6f}   ident {found[name]:10.6f}")
    print(f"torques, 1000 random pendulums and states: {largest_difference():.1e} relative")
