"""The two point-mass pendulum of the page in closed form, term by term, beside ident.

    python experiments/seed_two_link/two_link.py        prints the table of README.md

Rods without mass of length d1, d2, point masses m1, m2 at their ends; theta1 from straight down, theta2 from rod 1:
K - P with K = m1 v1^2 / 2 + m2 v2^2 / 2 and P = -(m1 + m2) g d1 cos(theta1) - m2 g d2 cos(theta1 + theta2). The page
derives the torque of joint 1, its equation (1); that of joint 2 is derived here the same way. Newton-Euler, Kane's
equations and Gauss's principle of `algorithms.py` run on symbols and give the same terms; Gauss's principle is also
used in the masses' coordinates x, y, and Kane's equations on a closed chain.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent))

import algorithms

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


def symbolic_terms(method: str) -> dict[str, Any]:
    """Return the same coefficients as sympy expressions in m1, m2, d1, d2, g, t1, t2, by a method of `algorithms`.

    "newton_euler" and "kane" give the torques; "gauss" those that make its Z stationary.
    """
    import sympy as sp

    m1, m2, d1, d2, g = sp.symbols("m1 m2 d1 d2 g", positive=True)
    t, vel, acc, tau = (sp.symbols(f"{name}1 {name}2") for name in ("t", "vel", "acc", "tau"))
    turns = [np.array(sp.diag(sp.rot_ccw_axis3(x), 1)) for x in t]
    along = np.array(sp.eye(4))
    along[0, 3] = d1
    centres = [np.array([d, sp.S(0), sp.S(0), sp.S(1)]) for d in (d1, d2)]
    flat = [np.array(sp.zeros(3, 3))] * 2  # a point has no tensor about itself
    arm = algorithms.Arm([turns[0], along @ turns[1]], [m1, m2], centres, [], flat, np.array([g, 0, 0, 0]) * sp.S(1))
    if method == "gauss":
        Z = algorithms.constraint(arm, np.array(vel), np.array(acc), np.array(tau))
        torques = [Z.diff(x) + given for x, given in zip(acc, tau, strict=True)]
    else:
        torques = getattr(algorithms, method)(arm, np.array(vel), np.array(acc))
    found = {}
    for k, expression in enumerate(torques, 1):
        terms = sp.Poly(sp.nsimplify(sp.expand(expression)), *acc, *vel)
        for name, factor in (("1", acc[0]), ("2", acc[1]), ("11", vel[0] ** 2), ("22", vel[1] ** 2)):
            found[f"D{k}{name}"] = sp.simplify(terms.coeff_monomial(factor))
        found[f"D{k}12"] = sp.simplify(terms.coeff_monomial(vel[0] * vel[1]))
        found[f"D{k}"] = sp.simplify(terms.coeff_monomial(1))
    return found


def in_coordinates(p: Pendulum, theta: Array, vel: Array, tau: Array, guided: bool = False) -> tuple[Array, Array]:
    """Return accelerations (2,) [rad/s^2] and the rods' tensions (2,) [N] by Gauss's principle in x, y of both masses.

    The four accelerations make m1 |a1 - f1 / m1|^2 + m2 |a2 - f2 / m2|^2 least while the rods keep their lengths; each
    multiplier is a rod's force. x points down. A torque on a massless rod is a pair of forces across its ends. Guided:
    mass 2 stays on its vertical line as well, a closed chain; the guide's force [N] comes third.
    """
    way = [np.array([np.cos(x), np.sin(x)]) for x in np.cumsum(theta)]  # along the rods
    across = [np.array([-e[1], e[0]]) for e in way]
    rate, d, m = np.cumsum(vel), (p.d1, p.d2), (p.m1, p.m2)
    pair = [across[0] * (tau[0] - tau[1]) / p.d1, across[1] * tau[1] / p.d2]
    force = np.concatenate([m[0] * G * np.array([1.0, 0]) + pair[0] - pair[1], m[1] * G * np.array([1.0, 0]) + pair[1]])
    A = np.array([[*way[0], 0, 0], [*-way[1], *way[1]]])  # e (a_k - a_(k-1)) = -d rate^2
    b = -np.array(d) * rate**2
    if guided:
        A, b = np.vstack([A, [0, 0, 0, 1]]), np.append(b, 0.0)
    KKT = np.block([[np.diag(np.repeat(m, 2)), A.T], [A, np.zeros((len(b), len(b)))]])
    x = np.linalg.solve(KKT, np.concatenate([force, b]))
    turning = np.array([across[0] @ x[:2] / d[0], across[1] @ (x[2:4] - x[:2]) / d[1]])
    return np.diff(turning, prepend=0.0), x[4:]


def slider_crank(p: Pendulum, angle: float, rate: float) -> tuple[Array, Array, Array, float]:
    """Return theta, vel, acc (2,) and the crank's torque [N m] of a slider crank turned at a constant rate, by Kane.

    Mass 2 slides on the vertical line through the pivot. The one speed moves both joints, G = dtheta/dangle, so its
    partial velocities are theirs times G, and the torque is G' times that of the open chain; no force of the guide.
    """
    s1, c1 = np.sin(angle), np.cos(angle)
    s12 = -p.d1 / p.d2 * s1  # mass 2 on the line
    c12 = np.sqrt(1 - s12**2)
    turn = -p.d1 * c1 / (p.d2 * c12)  # of rod 2 for a unit of the crank's
    theta = np.array([angle, np.arctan2(s12, c12) - angle])
    G = np.array([1.0, turn - 1])
    acc = np.array([0.0, (p.d1 * s1 + p.d2 * s12 * turn**2) / (p.d2 * c12) * rate**2])
    return theta, G * rate, acc, float(G @ torque(p, theta, G * rate, acc))


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
    for method in ("newton_euler", "kane", "gauss"):
        same = symbolic_terms(method) == symbolic_terms("kane")
        print(f"{method} on symbols: {'the same terms' if same else 'other terms'}")
    for name, term in symbolic_terms("kane").items():
        print(f"{name:5s} {term}")
    swing, tension = in_coordinates(pendulum, angles, np.array([1.0, -2.0]), np.zeros(2))
    print(f"Gauss in x, y, at 1, -2 rad/s without torque: {swing} rad/s^2, rods pulled by {tension} N")
    crank = Pendulum(d1=0.5, d2=0.8)
    theta, vel, _, drive = slider_crank(crank, np.radians(40.0), 3.0)
    _, (*_, guide) = in_coordinates(crank, theta, vel, np.array([drive, 0.0]), guided=True)
    print(f"slider crank, d1 and d2 exchanged, 40 deg, 3 rad/s: Kane {drive:.6f} N m; guide {guide:.6f} N by Gauss")
    print(f"torques, 1000 random pendulums and states: {largest_difference():.1e} relative")
