"""The properties of the equations of motion, measured on random robots.

python experiments/seed_properties/properties.py [NUMBER_OF_ROBOTS]

`measure` does the same for a robot of your own. Derivatives by q are exact, not small differences: D is a trigonometric
polynomial of degree 2 in the angle of a revolute joint and a parabola in the stroke of a prismatic one, P of degree 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from ident.dynamics import (
    bias,
    christoffel,
    coriolis_matrix,
    gravity_load,
    inverse_dynamics,
    kinetic_energy,
    mass_matrix,
    potential_energy,
    regressor,
)
from ident.robot import DHJoint, Joint, MDHJoint, Robot, from_dh, from_mdh
from ident.spatial.inertia import Pose, from_com, rpy, to_com

STATES = 20

#: property: how it is measured. Differences are relative to the largest entry of the same state; those of c_ijk to the
#: largest entry of D, those of matrices of velocities to that times the largest of qd.
PROPERTIES = {
    "D symmetric": "columns of D by inverse dynamics, tau(q, 0, e_j) - g, against rows",
    "D of Newton-Euler": "mass_matrix against these columns",
    "D positive definite": "smallest / largest eigenvalue, lowest",
    "K = qd^T D qd / 2": "kinetic_energy against mass_matrix",
    "c_ijk from D": "christoffel against (d_i d_kj + d_j d_ki - d_k d_ij) / 2",
    "c_ijk = c_jik": "C(q, e_i) e_j against C(q, e_j) e_i",
    "c_kj = sum c_ijk qd_i": "coriolis_matrix against christoffel",
    "C qd + g of Newton-Euler": "against inverse dynamics without acceleration",
    "Ddot - 2C skew": "N + N^T of N = sum d_i D qd_i - 2C",
    "the same of another C": "c_kj = sum (d_i d_kj - d_k d_ij / 2) qd_i, of equal C qd, middle robot",
    "g_k = dP/dq_k": "gravity_load against potential_energy",
    "work = change of K + P": "integral of qd^T tau, relative to that of its absolute value",
    "passive": "1 + (integral of qd^T tau) / beta, beta = K(0) + P(0) - P_low, lowest",
    "Y theta = tau": "regressor times theta, and D qdd + C qd + g, against inverse dynamics",
}


def slopes(f: Callable[[np.ndarray], np.ndarray], robot: Robot, q: np.ndarray) -> np.ndarray:
    """Return df/dq_i (n, N, ...) of a batch function f(q) (N, ...) that is of degree 2 or less in each joint."""
    found = []
    for i, joint in enumerate(robot.joints):
        along = np.eye(robot.n)[i]

        def apart(step: float, along: np.ndarray = along) -> np.ndarray:
            return f(q + step * along) - f(q - step * along)

        if joint.kind == "prismatic":
            found.append(apart(1.0) / 2)
        else:  # exact for sines and cosines of the angle and of twice the angle
            found.append(apart(np.pi / 4) - (np.sqrt(0.5) - 0.5) * apart(np.pi / 2))
    return np.array(found)


def worst(a: np.ndarray, b: np.ndarray, scale: np.ndarray | None = None) -> float:
    """Return max |a - b| (N, ...) relative to the largest |b| of the same state, or to scale (N,)."""
    difference = np.abs(a - b).reshape(len(a), -1).max(axis=1)
    size = np.abs(b).reshape(len(b), -1).max(axis=1) if scale is None else scale
    return float((difference / size).max())


def measure(robot: Robot, parameters: np.ndarray, rng: np.random.Generator, states: int = STATES) -> dict[str, float]:
    """Return the figure of every property at random states; parameters (n, 10) of bodies that can exist."""
    n = robot.n
    q, qd, qdd = rng.uniform(-3, 3, (states, n)), rng.normal(0, 1, (states, n)), rng.normal(0, 2, (states, n))
    D, g = mass_matrix(robot, parameters, q), gravity_load(robot, parameters, q)
    C, c = coriolis_matrix(robot, parameters, q, qd), christoffel(robot, parameters, q)
    units = [np.tile(e, (states, 1)) for e in np.eye(n)]
    columns = np.stack([inverse_dynamics(robot, parameters, q, 0 * q, e) - g for e in units], axis=-1)
    eigenvalues = np.linalg.eigvalsh(D)
    dD = slopes(lambda x: mass_matrix(robot, parameters, x), robot, q)  # dD[i, s, k, j] = d d_kj / dq_i
    from_d = (np.einsum("iskj->sijk", dD) + np.einsum("jski->sijk", dD) - np.einsum("ksij->sijk", dD)) / 2
    size = np.abs(D).max(axis=(1, 2))  # C may vanish, D does not
    by_units = np.stack([coriolis_matrix(robot, parameters, q, e) for e in units], axis=1)  # [s, i, k, j]
    rate = np.einsum("iskj,si->skj", dD, qd)
    other = rate - np.einsum("ksij,si->skj", dD, qd) / 2
    speed = np.abs(qd).max(axis=1)

    def not_skew(matrix: np.ndarray) -> float:
        difference = rate - 2 * matrix
        return worst(difference, -difference.transpose(0, 2, 1), size * speed)

    torque = inverse_dynamics(robot, parameters, q, qd, qdd)
    dP = slopes(lambda x: potential_energy(robot, parameters, x), robot, q).T
    work, margin = _passivity(robot, parameters, rng)
    return {
        "D symmetric": worst(columns, columns.transpose(0, 2, 1)),
        "D of Newton-Euler": worst(D, columns),
        "D positive definite": float((eigenvalues[:, 0] / np.abs(eigenvalues).max(axis=1)).min()),
        "K = qd^T D qd / 2": worst(kinetic_energy(robot, parameters, q, qd), np.einsum("si,sij,sj->s", qd, D, qd) / 2),
        "c_ijk from D": worst(c, from_d, size),
        "c_ijk = c_jik": worst(by_units, np.einsum("sikj->sjki", by_units), size),
        "c_kj = sum c_ijk qd_i": worst(C, np.einsum("sijk,si->skj", c, qd), size * speed),
        "C qd + g of Newton-Euler": worst(np.einsum("skj,sj->sk", C, qd) + g, bias(robot, parameters, q, qd)),
        "Ddot - 2C skew": not_skew(C),
        "the same of another C": not_skew(other),
        "g_k = dP/dq_k": worst(dP, g),
        "work = change of K + P": work,
        "passive": margin,
        "Y theta = tau": max(
            worst(np.einsum("skj,sj->sk", D, qdd) + np.einsum("skj,sj->sk", C, qd) + g, torque),
            worst(regressor(robot, q, qd, qdd) @ parameters.ravel(), torque),
        ),
    }


def _passivity(robot: Robot, parameters: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """Return the error of the energy balance and the lowest margin of passivity along a smooth motion of 2 s."""
    panels, nodes = 60, 12
    x, weight = np.polynomial.legendre.leggauss(nodes)
    width = 2.0 / panels
    t = (width * (np.arange(panels)[:, None] + (x + 1) / 2)).ravel()
    size, rate, phase = rng.uniform(0.1, 1, robot.n), rng.uniform(1, 4, robot.n), rng.uniform(0, 6, robot.n)

    def motion(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        angle = np.multiply.outer(t, rate) + phase
        return size * np.sin(angle), size * rate * np.cos(angle), -size * rate**2 * np.sin(angle)

    q, qd, qdd = motion(t)
    power = (qd * inverse_dynamics(robot, parameters, q, qd, qdd)).sum(axis=1).reshape(panels, nodes)
    work = np.cumsum(power @ weight) * width / 2  # at the end of each panel
    q, qd, _ = motion(width * np.arange(panels + 1))
    energy = kinetic_energy(robot, parameters, q, qd) + potential_energy(robot, parameters, q)
    spent = float((np.abs(power) @ weight).sum() * width / 2)
    beta = energy[0] - _lowest(robot, parameters, size)
    return float(np.abs(work - (energy[1:] - energy[0])).max() / spent), float((work + beta).min() / beta)


def _lowest(robot: Robot, parameters: np.ndarray, strokes: np.ndarray) -> float:
    """Return a bound below the potential energy: every centre of mass hangs straight down, the arm stretched out."""
    reach, total = np.zeros(robot.n), 0.0
    for i, (joint, body) in enumerate(zip(robot.joints, parameters, strict=True)):
        own = strokes[i] if joint.kind == "prismatic" else 2 * np.linalg.norm(joint.point)
        before = reach[joint.parent] if joint.parent >= 0 else 0.0
        reach[i] = before + np.linalg.norm(joint.placement.position) + own
        total += body[0] * (reach[i] + np.linalg.norm(to_com(body)[1]))
    return -float(np.linalg.norm(robot.gravity)) * total


def random_bodies(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return parameters (n, 10) of bodies that can exist: clouds of eight point masses."""
    bodies = []
    for _ in range(n):
        mass, place = rng.uniform(0.05, 1, 8), rng.normal(0, 0.1, (8, 3)) + rng.normal(0, 0.1, 3)
        centre = mass @ place / mass.sum()
        arms = place - centre
        second = (mass[:, None] * arms).T @ arms
        bodies.append(from_com(mass.sum(), centre, np.trace(second) * np.eye(3) - second))
    return np.array(bodies)


def random_robot(rng: np.random.Generator, n: int) -> Robot:
    """Return a random robot of n joints: a table of standard or modified DH, or a tree with axes in any place."""
    kinds = rng.choice(["revolute", "revolute", "prismatic"], n)
    gravity = rng.normal(0, 6, 3)
    shape = rng.integers(3)
    if shape < 2:
        row, read = ((DHJoint, from_dh), (MDHJoint, from_mdh))[shape]
        table = [
            row(a=a, alpha=alpha, d=d, theta=theta, kind=kind)
            for (a, alpha, d, theta), kind in zip(rng.uniform(-1, 1, (n, 4)) * (0.5, 3, 0.5, 3), kinds, strict=True)
        ]
        return read("table", table, gravity=gravity)
    joints = tuple(
        Joint(
            f"joint{i + 1}",
            kinds[i],
            int(rng.integers(-1, i)),
            Pose(rpy(*rng.uniform(-3, 3, 3)), rng.uniform(-0.5, 0.5, 3)),
            rng.normal(size=3),
            rng.uniform(-0.2, 0.2, 3),
        )
        for i in range(n)
    )
    return Robot("tree", joints, tuple(f"link{i + 1}" for i in range(n)), gravity=gravity)


def main() -> None:
    robots = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    rng = np.random.default_rng(4)
    found = []
    for k in range(robots):
        robot = random_robot(rng, 1 + k % 12)
        found.append(measure(robot, random_bodies(rng, robot.n), rng))
    print(f"{robots} robots of 1 to 12 joints, {STATES} states each\n")
    print("| property | how measured | figure |\n|---|---|---|")
    for name, how in PROPERTIES.items():
        figures = [f[name] for f in found]
        pick = min if how.endswith("lowest") else np.median if how.endswith("middle robot") else max
        print(f"| {name} | {how} | {pick(figures):.1e} |")


if __name__ == "__main__":
    main()
