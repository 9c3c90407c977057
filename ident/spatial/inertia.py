"""Inertial parameters of a rigid body and its pseudo-inertia matrix.

The ten inertial parameters, called `inertials` everywhere in this package, (n, 10) for n bodies, are
m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz with h = m c and I the inertia TENSOR about the frame's
origin (Ixy = -integral of x y dm). The pseudo-inertia is J = [[tr(I)/2 E - I, h], [h^T, m]]; the parameters are
physically consistent (a body of positive mass density can exist) exactly when J is positive semidefinite, an LMI
(Wensing, Kim, Slotine, RA-L 2018, arXiv 1701.04395).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.spatial.pose import Pose

INERTIAL = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


def tensor(inertials: ArrayLike) -> Array:
    """Return the inertia tensor (..., 3, 3) [kg m^2] about the frame's origin of inertials (..., 10)."""
    p = np.asarray(inertials, dtype=np.float64)
    return np.asarray(p[..., [4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(*p.shape[:-1], 3, 3))


def _pseudo_inertia_map() -> Array:
    """Return E (16, 10) with vec(J) = E @ inertials."""
    columns = np.zeros((16, 10))
    for k in range(10):
        unit = np.zeros(10)
        unit[k] = 1.0
        inertia = tensor(unit)
        j = np.zeros((4, 4))
        j[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
        j[:3, 3] = j[3, :3] = unit[1:4]
        j[3, 3] = unit[0]
        columns[:, k] = j.ravel()
    columns.setflags(write=False)
    return columns


#: vec(J) = PSEUDO_INERTIA_MAP @ inertials, (16, 10).
PSEUDO_INERTIA_MAP = _pseudo_inertia_map()


def pseudo_inertia(inertials: ArrayLike) -> Array:
    """Return the pseudo-inertia (..., 4, 4) of inertials (..., 10)."""
    p = np.asarray(inertials, dtype=np.float64)
    return np.asarray((p @ PSEUDO_INERTIA_MAP.T).reshape(*p.shape[:-1], 4, 4))


def from_pseudo_inertia(j: ArrayLike) -> Array:
    """Return the inertials (..., 10) of a pseudo-inertia (..., 4, 4)."""
    j = np.asarray(j, dtype=np.float64)
    sigma = j[..., :3, :3]
    inertia = np.trace(sigma, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - sigma
    upper = inertia[..., [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    return np.concatenate([j[..., 3, 3][..., None], j[..., :3, 3], upper], axis=-1)


def from_com(mass: float, com: ArrayLike, inertia_com: ArrayLike) -> Array:
    """Return the inertials (10,) from mass [kg], centre (3,) [m] and tensor about it (3, 3) [kg m^2]."""
    c = np.asarray(com, dtype=np.float64)
    inertia = np.asarray(inertia_com, dtype=np.float64) + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.concatenate([[mass], mass * c, inertia[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]])


def to_com(inertials: ArrayLike) -> tuple[float, Array, Array]:
    """Return mass [kg], centre of mass (3,) [m] and tensor about it (3, 3) [kg m^2].

    A massless body gets its centre at the origin; one of next to no mass may get one that is not finite.
    """
    p = np.asarray(inertials, dtype=np.float64)
    mass = float(p[0])
    with np.errstate(over="ignore", invalid="ignore"):
        c = p[1:4] / mass if mass != 0.0 else np.zeros(3)
        return mass, c, tensor(p) - mass * (c @ c * np.eye(3) - np.outer(c, c))


def nearest_possible(inertials: ArrayLike) -> Array:
    """Return the body (10,) of the same positive mass and centre whose tensor can exist and is nearest to the given.

    The eigenvalues of integral r r^T dm about the centre are raised to 1e-5 of the largest, so that few digits do.
    """
    mass, c, inertia = to_com(inertials)
    w, V = np.linalg.eigh(0.5 * np.trace(inertia) * np.eye(3) - inertia)
    sigma = (V * np.maximum(w, 1e-5 * max(w[2], 0.0))) @ V.T
    return from_com(mass, c, np.trace(sigma) * np.eye(3) - sigma)


def transformed(inertials: ArrayLike, pose: Pose) -> Array:
    """Return the inertials (10,) in frame A of a body given in frame B; `pose` is B seen from A."""
    t = pose.matrix
    return from_pseudo_inertia(t @ pseudo_inertia(inertials) @ t.T)


def bregman(inertials: ArrayLike, reference: ArrayLike) -> float:
    """Return the log-det divergence tr(Q) - log det Q - 4 with Q = J0^-1/2 J J0^-1/2.

    It is 0 for equal bodies, infinite at the edge of what can exist, and does not depend on units or
    frame (Lee, Wensing, Park, T-RO 2020).
    """
    j, j0 = pseudo_inertia(inertials), pseudo_inertia(reference)
    q = np.linalg.solve(j0, j)
    sign, logdet = np.linalg.slogdet(q)
    return float(np.trace(q) - logdet - 4.0) if sign > 0 else float("inf")


@dataclass(frozen=True)
class Consistency:
    """What a body's ten numbers say about whether it can exist.

    mass [kg]; principal moments about the centre of mass, ascending [kg m^2];
    triangle_gap = smallest + middle - largest moment [kg m^2], negative where the triangle inequality fails.
    """

    mass: float
    moments: tuple[float, float, float]
    triangle_gap: float
    consistent: bool

    def failures(self) -> list[str]:
        """Return one phrase per condition that fails, with the amount; empty when consistent."""
        a, _, c = self.moments
        found = []
        if self.mass < 0 or (self.mass == 0 and not self.consistent):
            found.append(f"m > 0 fails: m = {self.mass:.6g} kg")
        if a < 0 and not self.consistent:
            found.append(f"I_c > 0 fails: smallest principal moment about the centre of mass = {a:.6g} kg m^2")
        if self.triangle_gap < 0 and not self.consistent:
            found.append(
                "triangle inequality fails: the two smaller principal moments sum to "
                f"{-self.triangle_gap:.6g} kg m^2 less than the largest ({c:.6g} kg m^2)"
            )
        if not found and not self.consistent:
            found.append("the pseudo-inertia is not positive semidefinite, by rounding only")
        return found


def consistency(inertials: ArrayLike) -> Consistency:
    """Examine one body (10,); `consistent` is decided in exact arithmetic on these very numbers."""
    p = np.asarray(inertials, dtype=np.float64)
    mass, _, inertia = to_com(p)
    finite = bool(np.isfinite(inertia).all())
    a, b, c = (float(x) for x in np.linalg.eigvalsh(inertia)) if finite else (-np.inf, np.inf, np.inf)
    return Consistency(mass, (a, b, c), a + b - c, is_positive_semidefinite(pseudo_inertia_exact(p)))


def pseudo_inertia_exact(inertials: Iterable[float | Fraction]) -> list[list[Fraction]]:
    """Return the pseudo-inertia of one body (10,) in exact rational arithmetic."""
    m, hx, hy, hz, xx, xy, xz, yy, yz, zz = (Fraction(x) for x in inertials)
    half = (xx + yy + zz) / 2
    return [[half - xx, -xy, -xz, hx], [-xy, half - yy, -yz, hy], [-xz, -yz, half - zz, hz], [hx, hy, hz, m]]


def is_positive_semidefinite(matrix: list[list[Fraction]]) -> bool:
    """Decide exactly whether a symmetric rational matrix is positive semidefinite (LDL^T by elimination)."""
    a = [row[:] for row in matrix]
    n = len(a)
    for k in range(n):
        if a[k][k] < 0:
            return False
        if a[k][k] == 0:
            if any(a[k][j] != 0 for j in range(k + 1, n)):
                return False
            continue
        for i in range(k + 1, n):
            factor = a[i][k] / a[k][k]
            for j in range(k + 1, n):
                a[i][j] -= factor * a[k][j]
    return True
