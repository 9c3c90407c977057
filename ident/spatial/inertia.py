"""Inertial parameters of a rigid body and its pseudo-inertia matrix.

The ten inertial parameters, called `inertials` everywhere in this package, (n, 10) for n bodies, are
m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz with h = m c and I the inertia TENSOR about the frame's
origin (Ixy = -integral of x y dm). The pseudo-inertia is J = [[tr(I)/2 E - I, h], [h^T, m]]; the parameters are
physically consistent (a body of positive mass density can exist) exactly when J is positive semidefinite, an LMI
(Wensing, Kim, Slotine, RA-L 2018, arXiv 1701.04395).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array, frozen
from ident.errors import InputError


def skew(v: ArrayLike) -> Array:
    """Return the 3x3 matrix [v]x with [v]x u = v x u."""
    x, y, z = np.asarray(v, dtype=np.float64)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def axis_angle(axis: ArrayLike, angle: float) -> Array:
    """Return the rotation matrix (3, 3) about the unit vector `axis` by `angle` [rad] (Rodrigues)."""
    a = skew(axis)
    return np.asarray(np.eye(3) + np.sin(angle) * a + (1.0 - np.cos(angle)) * (a @ a))


def rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Return Rz(yaw) Ry(pitch) Rx(roll), URDF's fixed-axis roll, pitch, yaw [rad]."""
    return np.asarray(axis_angle([0, 0, 1], yaw) @ axis_angle([0, 1, 0], pitch) @ axis_angle([1, 0, 0], roll))


def roll_pitch_yaw(rotation: Array) -> Array:
    """Return (roll, pitch, yaw) [rad] with Rz(yaw) Ry(pitch) Rx(roll) = rotation, to rounding everywhere.

    The yaw is taken out before the others are read, so that near pitch = 90 deg the three still belong together.
    """
    level = math.hypot(rotation[0, 0], rotation[1, 0])  # 0: any yaw will do
    yaw = math.atan2(rotation[1, 0], rotation[0, 0]) if level > 1e-14 else 0.0
    left = axis_angle([0, 0, 1], -yaw) @ rotation
    return np.array([math.atan2(-left[1, 2], left[1, 1]), math.atan2(-left[2, 0], left[0, 0]), yaw])


def turned_by(w: float, v: ArrayLike) -> Array:
    """Return the rotation (3, 3) of a quaternion w, v (3,) of any length but 0."""
    size = float(np.linalg.norm(v))
    return axis_angle(np.asarray(v) / size, 2 * float(np.arctan2(size, w))) if size > 0 else np.eye(3)


def z_along(axis: Array) -> Array:
    """Return the smallest rotation (3, 3) whose third column is `axis`, a unit vector."""
    across = np.cross([0.0, 0.0, 1.0], axis)
    sine = float(np.linalg.norm(across))
    if sine < 1e-12:
        return np.eye(3) if axis[2] > 0 else np.diag([1.0, -1.0, -1.0])
    return axis_angle(across / sine, float(np.arctan2(sine, axis[2])))


@dataclass(frozen=True, eq=False)
class Pose:
    """Frame B seen from frame A: a point x_B of B is `rotation @ x_B + position` in A.

    rotation (3, 3); position (3,) [m]. Raises InputError when rotation is not a rotation.
    """

    rotation: Array
    position: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "rotation", frozen(self.rotation, (3, 3), "rotation"))
        object.__setattr__(self, "position", frozen(self.position, (3,), "position"))
        r = self.rotation
        if np.abs(r @ r.T - np.eye(3)).max() > 1e-9 or np.linalg.det(r) < 0:
            raise InputError("rotation must be a proper rotation matrix (orthogonal, determinant +1)")

    @staticmethod
    def identity() -> Pose:
        """Return the pose of a frame seen from itself."""
        return Pose(np.eye(3), np.zeros(3))

    def __matmul__(self, other: Pose) -> Pose:
        """Return C seen from A for self = B seen from A and other = C seen from B."""
        rotation = self.rotation @ other.rotation
        return Pose(rotation, self.rotation @ other.position + self.position)

    def inverse(self) -> Pose:
        """Return the inverse pose: frame A seen from frame B."""
        return Pose(self.rotation.T, -self.rotation.T @ self.position)

    @property
    def matrix(self) -> Array:
        """The homogeneous matrix (4, 4)."""
        out = np.eye(4)
        out[:3, :3] = self.rotation
        out[:3, 3] = self.position
        return out


INERTIAL = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
#: The ten numbers as people give them, in the same order: the centre in place of the first moments.
NATURAL = ("m", "cx", "cy", "cz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


def tensor(inertials: ArrayLike) -> Array:
    """Return the inertia tensor (..., 3, 3) [kg m^2] about the frame's origin of inertials (..., 10)."""
    p = np.asarray(inertials, dtype=np.float64)
    return np.asarray(p[..., [4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(*p.shape[:-1], 3, 3))


def symmetric(six: ArrayLike | Sequence[Fraction]) -> NDArray[Any]:
    """Return the matrix (3, 3) of xx xy xz yy yz zz, floats, fractions or symbols."""
    return np.asarray(six)[[[0, 1, 2], [1, 3, 4], [2, 4, 5]]]


def upper(matrix: ArrayLike) -> NDArray[Any]:
    """Return xx xy xz yy yz zz (..., 6) of symmetric matrices (..., 3, 3)."""
    return np.asarray(matrix)[..., [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]


def steiner(mass: float | Fraction, com: ArrayLike | Sequence[Fraction]) -> NDArray[Any]:
    """Return m (c.c E - c c^T) (3, 3): what a tensor is more about the origin than about c; exact for fractions."""
    c = np.asarray(com)
    return np.asarray(mass * (c @ c * np.eye(3, dtype=int) - np.outer(c, c)))


def pseudo_inertia_exact(inertials: Iterable[float | Fraction]) -> list[list[Fraction]]:
    """Return the pseudo-inertia of one body (10,) in exact rational arithmetic."""
    whole, unit = _whole(inertials)
    return [[Fraction(x, unit) for x in row] for row in whole]


def _whole(inertials: Iterable[float | Fraction]) -> tuple[list[list[int]], int]:
    """Return the pseudo-inertia of one body (10,) times a number that makes it whole, and that number."""
    ratios = [x.as_integer_ratio() for x in inertials]
    unit = 2 * math.lcm(*(below for _, below in ratios))
    m, hx, hy, hz, xx, xy, xz, yy, yz, zz = (above * (unit // below) for above, below in ratios)
    half = (xx + yy + zz) // 2  # all are even
    return [[half - xx, -xy, -xz, hx], [-xy, half - yy, -yz, hy], [-xz, -yz, half - zz, hz], [hx, hy, hz, m]], unit


_UNITS = np.array([pseudo_inertia_exact(unit) for unit in np.eye(10)], dtype=np.float64)
#: vec(J) = PSEUDO_INERTIA_MAP @ inertials, (16, 10).
PSEUDO_INERTIA_MAP = frozen(_UNITS.reshape(10, 16).T, (16, 10), "pseudo-inertias")


def pseudo_inertia(inertials: ArrayLike) -> Array:
    """Return the pseudo-inertia (..., 4, 4) of inertials (..., 10)."""
    p = np.asarray(inertials, dtype=np.float64)
    return np.asarray((p @ PSEUDO_INERTIA_MAP.T).reshape(*p.shape[:-1], 4, 4))


def from_pseudo_inertia(j: ArrayLike) -> Array:
    """Return the inertials (..., 10) of a pseudo-inertia (..., 4, 4)."""
    j = np.asarray(j, dtype=np.float64)
    sigma = j[..., :3, :3]
    inertia = np.trace(sigma, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - sigma
    return np.concatenate([j[..., 3, 3][..., None], j[..., :3, 3], upper(inertia)], axis=-1)


def from_com(mass: float, com: ArrayLike, inertia_com: ArrayLike) -> Array:
    """Return the inertials (10,) from mass [kg], centre (3,) [m] and tensor about it (3, 3) [kg m^2]."""
    c = np.asarray(com, dtype=np.float64)
    return np.concatenate([[mass], mass * c, upper(inertia_com + steiner(mass, c))])


def to_com(inertials: ArrayLike) -> tuple[float, Array, Array]:
    """Return mass [kg], centre of mass (3,) [m] and tensor about it (3, 3) [kg m^2].

    A massless body gets its centre at the origin; one of next to no mass may get one that is not finite.
    """
    p = np.asarray(inertials, dtype=np.float64)
    mass = float(p[0])
    with np.errstate(over="ignore", invalid="ignore"):
        c = p[1:4] / mass if mass != 0.0 else np.zeros(3)
        return mass, c, tensor(p) - steiner(mass, c)


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
        if self.consistent:
            return []
        a, _, c = self.moments
        found = []
        if self.mass <= 0:
            found.append(f"m > 0 fails: m = {self.mass:.6g} kg")
        if a < 0:
            found.append(f"I_c > 0 fails: smallest principal moment about the centre of mass = {a:.6g} kg m^2")
        if self.triangle_gap < 0:
            less = f"{-self.triangle_gap:.6g} kg m^2 less than the largest ({c:.6g} kg m^2)"
            found.append(f"triangle inequality fails: the two smaller principal moments sum to {less}")
        return found or ["the pseudo-inertia is not positive semidefinite, by rounding only"]


def consistency(inertials: ArrayLike) -> Consistency:
    """Examine one body (10,); `consistent` is decided in exact arithmetic on these very numbers."""
    p = np.asarray(inertials, dtype=np.float64)
    mass, _, inertia = to_com(p)
    finite = bool(np.isfinite(inertia).all())
    a, b, c = (float(x) for x in np.linalg.eigvalsh(inertia)) if finite else (-np.inf, np.inf, np.inf)
    return Consistency(mass, (a, b, c), a + b - c, can_exist(p.tolist()))


def tensor_can_exist(about_com: Iterable[float]) -> bool:
    """Decide exactly, on these very numbers, whether a tensor xx xy xz yy yz zz about the centre of mass can exist."""
    return can_exist([0.0] * 4 + [float(x) for x in about_com])


def can_exist(inertials: Iterable[float | Fraction]) -> bool:
    """Decide exactly, on these very numbers, whether a body (10,) can exist."""
    return is_positive_semidefinite(_whole(inertials)[0])


def is_positive_semidefinite(matrix: Sequence[Sequence[Fraction | int]]) -> bool:
    """Decide exactly whether a symmetric rational matrix is positive semidefinite (elimination in whole numbers)."""
    unit = math.lcm(*(x.denominator for row in matrix for x in row))
    a = [[x.numerator * (unit // x.denominator) for x in row] for row in matrix]
    n = len(a)
    for k in range(n):
        pivot = a[k][k]
        if pivot < 0:
            return False
        if pivot == 0:
            if any(a[k][j] != 0 for j in range(k + 1, n)):
                return False
            continue
        for i in range(k + 1, n):
            for j in range(i, n):
                a[i][j] = a[j][i] = pivot * a[i][j] - a[k][i] * a[k][j]  # pivot times the Schur complement
    return True


#: Moments and products closer than this share of the largest moment count as equal and as zero.
RELATIVE = 1e-9
_SAME = 1e-9  # two rotations whose traces differ by less are equally near to the frame


def principal_axes(inertia: ArrayLike) -> tuple[Array, Array]:
    """Return the principal moments (3,) [kg m^2] and axes R (3, 3), det R = +1, with inertia = R diag(moments) R^T.

    inertia (3, 3): a symmetric tensor; columns of R are the axes seen from the tensor's frame. Of the 24 proper
    rotations that diagonalise it R is the one nearest to the identity, and where several are equally near, the one
    with the larger first entries; so moment k is the one about the axis nearest to the frame's axis k. Moments that
    differ by at most 1e-9 of the largest count as equal, and R turns no further than the others demand: it is the
    identity when all products are as small or all three moments are equal. The diagonal of R^T inertia R is what is
    returned. Raises InputError for another shape or numbers that are not finite.
    """
    given = frozen(inertia, (3, 3), "inertia")
    tensor = (given + given.T) / 2
    axes = _axes(tensor, RELATIVE * float(np.abs(tensor).max()))
    return np.einsum("ik,ij,jk->k", axes, tensor, axes), axes


def _axes(tensor: Array, close: float) -> Array:
    if np.abs(tensor[[0, 0, 1], [1, 2, 2]]).max() <= close:
        return np.eye(3)
    moments, vectors = np.linalg.eigh(tensor)
    low, high = moments[1] - moments[0] <= close, moments[2] - moments[1] <= close
    if low and high:
        return np.eye(3)
    if low or high:  # one axis is determined, the other two are not
        return _least_turn(vectors[:, 2 if low else 0])
    candidates = [
        vectors[:, order] * signs
        for order in itertools.permutations(range(3))
        for signs in itertools.product((1.0, -1.0), repeat=3)
    ]
    proper = [c for c in candidates if np.linalg.det(c) > 0]
    most = max(float(np.trace(c)) for c in proper)
    nearest = [c for c in proper if np.trace(c) > most - _SAME]
    return max(nearest, key=lambda c: tuple(np.round(c.ravel(), 6)))


def _least_turn(axis: Array) -> Array:
    """Return the smallest rotation that takes a frame's axis, the one nearest to `axis`, to +-axis."""
    size = np.abs(axis)
    k = int(np.argmax(size > size.max() - _SAME))
    to = axis * math.copysign(1.0, axis[k])
    across = np.cross(np.eye(3)[k], to)
    sine = float(np.linalg.norm(across))
    return axis_angle(across / sine, math.atan2(sine, to[k])) if sine > 0 else np.eye(3)


def quaternion(rotation: ArrayLike) -> Array:
    """Return (w, x, y, z) of a rotation matrix (3, 3), w >= 0 (and the first of x, y, z positive where w = 0)."""
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(frozen(rotation, (3, 3), "rotation")).as_quat(canonical=True)
    q = np.array([w, x, y, z])
    return np.where(np.abs(q) < 1e-15, 0.0, q)
