"""The page's simplified three-joint UR5e: its formulas, its code, and the same arm in ident.

Links 2 and 3 are uniform rods, links 4 to 6 a point mass m_e at the end of link 3. Joint 1 turns both rods as one body
("single link"), joints 2 and 3 move them in a vertical plane ("double link"). The formulas' angles: theta1 is the
azimuth of the arm, theta2 the elevation of rod 2, theta3 that of rod 3 against rod 2; c23 = cos(theta2 + theta3).
In the manufacturer's joint angles theta = (q1 + pi, -q2, -q3); the page's code takes q2 + pi/2 for q2.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ident.cad import read_cad
from ident.robot import DHJoint, Robot, from_dh, read_robot

Array = NDArray[np.float64]
UR5E = Path(__file__).resolve().parents[2] / "datasets" / "ur5e"

M2, M3 = 8.058, 2.846  # kg
ME = 1.37 + 1.3 + 0.365  # kg, links 4 to 6
L2, L3, D1 = 0.425, 0.3922, 0.1625  # m
G = 9.81


def theta_of(q: Array) -> Array:
    """Return theta (..., 3) of the manufacturer's q (..., 3 or more)."""
    return np.stack([q[..., 0] + np.pi, -q[..., 1], -q[..., 2]], axis=-1)


# ---- the formulas --------------------------------------------------------------------------------------------------


def single_link(theta: Array, version: str = "consistent") -> Array:
    """Return the inertia (...) [kg m^2] about axis 1, in the four ways the page has it.

    consistent: its velocities and its definition l3' = l3 c23, integrated; "as printed": its last formula M(Theta),
    without m_e; "energies": its E2, E3, Ee, where c3 stands in place of c23; "code": cos(t2) in place of cos(t1 + t2).
    """
    c2, c3, c23 = np.cos(theta[..., 1]), np.cos(theta[..., 2]), np.cos(theta[..., 1] + theta[..., 2])
    l2, l3 = L2 * c2, L3 * c23
    if version == "code":
        l3 = L3 * c3
    rods = M2 * l2**2 / 3 + M3 * l3**2 / 3 + M3 * l2**2 + M3 * l2 * l3
    if version == "energies":
        wrong = L3 * c3  # in E3; Ee has l3'
        rods = M2 * l2**2 / 3 + M3 * wrong**2 / 3 + M3 * l2**2 + M3 * l2 * wrong
    return rods + (0.0 if version == "as printed" else ME * (l2 + l3) ** 2)


def double_link(theta: Array) -> tuple[Array, Array, Array, Array]:
    """Return M (..., 2, 2), B (..., 2), C (..., 2, 2), G (..., 2) of joints 2 and 3.

    tau_23 = M acc + B vel2 vel3 + C (vel2^2, vel3^2) + G, each the sum of the rods' part and the point mass's.
    The page prints B as 2 x 2 with a second column of zeros; by its own definition it is n x n (n - 1) / 2 = 2 x 1.
    """
    c2, c3, s3, c23 = (
        np.cos(theta[..., 1]),
        np.cos(theta[..., 2]),
        np.sin(theta[..., 2]),
        np.cos(theta[..., 1] + theta[..., 2]),
    )
    zero = np.zeros_like(c2)
    coupling = M3 * L3**2 / 3 + M3 * L2 * L3 * c3 / 2 + ME * L3**2 + ME * L2 * L3 * c3
    first = M3 * L2**2 + M2 * L2**2 / 3 + M3 * L3**2 / 3 + M3 * L2 * L3 * c3
    first = first + ME * L2**2 + ME * L3**2 + 2 * ME * L2 * L3 * c3
    last = zero + M3 * L3**2 / 3 + ME * L3**2
    bend = M3 * L2 * L3 * s3 / 2 + ME * L2 * L3 * s3
    lower = M3 * G * L3 * c23 / 2 + ME * G * L3 * c23
    upper = (M2 / 2 + M3) * G * L2 * c2 + ME * G * L2 * c2
    return (
        np.stack([np.stack([first, coupling], -1), np.stack([coupling, last], -1)], -2),
        np.stack([-2 * bend, zero], -1),
        np.stack([np.stack([zero, -bend], -1), np.stack([bend, zero], -1)], -2),
        np.stack([upper + lower, lower], -1),
    )


def parts(q: Array, qd: Array, qdd: Array, single: str = "consistent") -> tuple[Array, Array, Array]:
    """Return inertia, velocity and gravity part (N, 3) [N m] of the formulas' torques, about the joints' own axes."""
    theta = theta_of(q)
    vel, acc = qd[:, 1:3] * -1, qdd[:, 1:3] * -1
    M, B, C, g = double_link(theta)
    zero = np.zeros(len(q))
    inertia = -np.einsum("sij,sj->si", M, acc)
    velocity = -(B * (vel[:, :1] * vel[:, 1:]) + np.einsum("sij,sj->si", C, vel**2))
    return (
        np.column_stack([single_link(theta, single) * qdd[:, 0], inertia]),
        np.column_stack([zero, velocity]),
        np.column_stack([zero, -g]),
    )


def jacobian(theta: Array) -> Array:
    """Return J (..., 3, 3) of the formulas: velocity of the end of rod 3 for the rates of theta."""
    s1, c1 = np.sin(theta[..., 0]), np.cos(theta[..., 0])
    s2, c2 = np.sin(theta[..., 1]), np.cos(theta[..., 1])
    s23, c23 = np.sin(theta[..., 1] + theta[..., 2]), np.cos(theta[..., 1] + theta[..., 2])
    rows = [
        [-L2 * s1 * c2 - L3 * s1 * c23, -L2 * c1 * s2 - L3 * c1 * s23, -L3 * c1 * s23],
        [L2 * c1 * c2 + L3 * c1 * c23, -L2 * s1 * s2 - L3 * s1 * s23, -L3 * s1 * s23],
        [np.zeros_like(c1), L2 * c2 + L3 * c23, L3 * c23],
    ]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def position(theta: Array) -> Array:
    """Return the end of rod 3 (..., 3) [m] from the shoulder."""
    reach = L2 * np.cos(theta[..., 1]) + L3 * np.cos(theta[..., 1] + theta[..., 2])
    height = L2 * np.sin(theta[..., 1]) + L3 * np.sin(theta[..., 1] + theta[..., 2])
    return np.stack([reach * np.cos(theta[..., 0]), reach * np.sin(theta[..., 0]), height], -1)


# ---- the code ------------------------------------------------------------------------------------------------------


def code_torque(q: Array, qd: Array, qdd: Array) -> Array:
    """Return the torques (N, 3) [N m] of the page's C++ function `Dynamics`, about the joints' own axes.

    q is the manufacturer's; the code's own is q2 + pi/2. As there, accelerations are taken as they are although
    t1 = pi/2 - q(1) and t2 = -q(2) turn the other way, and the result is negated.
    """
    t1, t2 = np.pi / 2 - (q[:, 1] + np.pi / 2), -q[:, 2]
    theta = np.stack([q[:, 0], t1, t2], -1)
    M, B, C, g = double_link(theta)
    v = np.einsum("sij,sj->si", C, qd[:, 1:3] ** 2) + B * (qd[:, 1:2] * qd[:, 2:3])
    tau = np.einsum("sij,sj->si", M, qdd[:, 1:3]) + v + g
    return np.column_stack([single_link(theta, "code") * qdd[:, 0], -tau])


def code_jacobian(q: Array) -> Array:
    """Return the block (..., 3, 3) of the page's C++ `computeJacobian` that is not zero, for the joints' rates.

    Its azimuth is q(0): the manufacturer's arm points the other way at q1 = 0, hence theta1 = q1 + pi.
    """
    return jacobian(theta_of(q)) @ np.diag([1.0, -1.0, -1.0])


# ---- the same arm in ident -----------------------------------------------------------------------------------------


def equivalent() -> tuple[Robot, Array]:
    """Return the arm that the formulas describe: two thin uniform rods, a point mass, no offset of the planes."""
    arm = from_dh("simplified", [DHJoint(d=D1, alpha=np.pi / 2), DHJoint(a=-L2), DHJoint(a=-L3)])
    return arm, np.array([np.zeros(10), rod(M2, L2), rod(M3, L3) + np.eye(10)[0] * ME])


def rod(m: float, length: float) -> Array:
    """Return the parameters (10,) of a thin uniform rod from the frame's origin along x."""
    second = m * length**2 / 3
    return np.array([m, m * length / 2, 0, 0, 0, 0, 0, second, 0, second])


def ur5e() -> tuple[Robot, Array]:
    """Return the six-joint arm and its parameters (6, 10)."""
    robot = read_robot(UR5E / "robot.toml")
    return robot, read_cad(UR5E / "cad.csv", robot.links).for_robot(robot)
