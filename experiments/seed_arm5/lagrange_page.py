"""The page's Lagrange function for the five-joint arm, with each of its faults as a switch.

    tau = D qdd + h(q, qd) + g,   D_ij = sum_p tr(U_pj J_p U_pi^T),   h_i = sum_jk sum_p tr(U_pjk J_p U_pi^T) qd_j qd_k,
    g_i = -sum_p m_p g^T U_pi r_p

with U_pj = dT_p/dq_j and U_pjk = d2T_p/dq_j dq_k of the links' transforms T_p and the pseudo-inertias J_p
(Uicker's form of Lagrange's equations; Paul, Robot Manipulators, 1981, ch. 6). Lengths are mm and tensors kg mm^2, as
on the page; torques are N mm.
"""

from __future__ import annotations

import csv
import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
TABLE = Path(__file__).resolve().parents[2] / "datasets" / "arm5" / "cad_solidworks.csv"
N = 5

# The page's modified DH table: T_i = Rx(alpha) Tx(a) Rz(q + offset) Tz(d), every d is 0.
A = (0.0, 13.0, 233.24, 175.64, 0.0)  # mm
ALPHA = (0.0, np.pi / 2, 0.0, 0.0, np.pi / 2)
OFFSET = (0.0, np.pi / 2, 0.0, np.pi / 2, 0.0)
OLDER_LINK_4 = (0.009, 3.601, -12.855, 0.404)  # kg, mm, mm, kg mm^2: m, cx, cy, Ixy of the table in its comments
GRAVITY = np.array([0.0, 0.0, 9.81, 0.0])  # m/s^2 along the base's z: the arm hangs
TURN = np.array([[0.0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])  # Rz'(q) = Rz(q) TURN


@dataclass(frozen=True)
class Faults:
    """What the page does that it should not; Faults() repairs all."""

    tensor_as_if_at_origin: bool = False  # the tensor about the centre of mass goes into J, which is about the origin
    products_as_integrals: bool = False  # the products Ixy go into J unchanged, as if they were +integral of x y dm
    generator_before_link: bool = False  # d2T/dq_j dq_k puts TURN before T_j and T_k, as for standard DH
    units_mixed: bool = False  # D qdd + h in kg mm^2/s^2 = 0.001 N mm is added to g in N mm as if it were the same


PAGE = Faults(True, True, True, True)


@functools.cache
def table() -> list[dict[str, float]]:
    """Return the page's table: kg, mm, kg mm^2."""
    lines = [line for line in TABLE.read_text().splitlines() if not line.startswith("#")]
    return [{k: float(v) for k, v in row.items() if k != "link"} for row in csv.DictReader(lines)]


def pseudo_inertia(row: dict[str, float], faults: Faults) -> Array:
    """Return J (4, 4) = integral of x x^T dm with x = (x, y, z, 1) in the link's frame."""
    xx, yy, zz, m = row["Ixx"], row["Iyy"], row["Izz"], row["m"]
    sign = 1 if faults.products_as_integrals else -1
    xy, xz, yz = (sign * row[k] for k in ("Ixy", "Ixz", "Iyz"))
    c = np.array([row["cx"], row["cy"], row["cz"]])
    J = np.empty((4, 4))
    J[:3, :3] = [[(yy + zz - xx) / 2, xy, xz], [xy, (xx + zz - yy) / 2, yz], [xz, yz, (xx + yy - zz) / 2]]
    if not faults.tensor_as_if_at_origin:
        J[:3, :3] += m * np.outer(c, c)
    J[:3, 3] = J[3, :3] = m * c
    J[3, 3] = m
    return J


def transforms(q: Array) -> list[Array]:
    """Return T_1 ... T_5 (4, 4), each link seen from the one before."""
    found = []
    for i in range(N):
        c, s, ca, sa = np.cos(q[i] + OFFSET[i]), np.sin(q[i] + OFFSET[i]), np.cos(ALPHA[i]), np.sin(ALPHA[i])
        found.append(np.array([[c, -s, 0, A[i]], [s * ca, c * ca, -sa, 0], [s * sa, c * sa, ca, 0], [0, 0, 0, 1.0]]))
    return found


def first(T: list[Array], p: int, j: int) -> Array:
    """Return U_pj: TURN after T_j, which is right for a modified DH table (and the page does it)."""
    return product(T[: j + 1]) @ TURN @ product(T[j + 1 : p + 1])


def second(T: list[Array], p: int, j: int, k: int, faults: Faults) -> Array:
    """Return U_pjk for j <= k <= p; the page's own has TURN before T_j and before T_k."""
    at = 0 if faults.generator_before_link else 1
    return product(T[: j + at]) @ TURN @ product(T[j + at : k + at]) @ TURN @ product(T[k + at : p + 1])


def product(matrices: list[Array]) -> Array:
    out = np.eye(4)
    for matrix in matrices:
        out = out @ matrix
    return out


def mass_matrix(q: Array, faults: Faults = Faults()) -> Array:
    """Return D (5, 5) [kg mm^2]."""
    T, J = transforms(q), [pseudo_inertia(row, faults) for row in table()]
    U = [[first(T, p, j) for j in range(p + 1)] for p in range(N)]
    D = np.zeros((N, N))
    for p in range(N):
        for i in range(p + 1):
            for j in range(p + 1):
                D[i, j] += np.trace(U[p][j] @ J[p] @ U[p][i].T)
    return D


def torque(q: Array, qd: Array, qdd: Array, faults: Faults = PAGE) -> Array:
    """Return the joint torques (5,) [N mm] of one state (5,) [rad, rad/s, rad/s^2]."""
    T, rows = transforms(q), table()
    h, g = np.zeros(N), np.zeros(N)
    for p in range(N):
        J = pseudo_inertia(rows[p], faults)
        r = np.array([rows[p]["cx"], rows[p]["cy"], rows[p]["cz"], 1.0])
        # the sum over j, k of U_pjk qd_j qd_k; pairs j < k stand for both orders
        pairs = [(j, k) for j in range(p + 1) for k in range(j, p + 1)]
        bend = sum((1 if j == k else 2) * second(T, p, j, k, faults) * qd[j] * qd[k] for j, k in pairs)
        for i in range(p + 1):
            U = first(T, p, i)
            h[i] += np.trace(bend @ J @ U.T)
            g[i] -= rows[p]["m"] * GRAVITY @ U @ r
    unit = 1.0 if faults.units_mixed else 1e-3  # kg mm^2/s^2 -> N mm
    return unit * (mass_matrix(q, faults) @ qdd + h) + g
