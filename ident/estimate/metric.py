"""Constant metrics for fits regularised towards a prior: how far links are from its own, |root @ (theta - theta_0)|^2.

Each is a small value with `root(prior) -> Array (m, 10 n)`. The entropic divergence, which is no metric and stays
finite only inside of what can exist, is `ident.spatial.inertia.bregman`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.errors import ModelError
from ident.estimate.prior import Prior
from ident.spatial.inertia import PSEUDO_INERTIA_MAP, pseudo_inertia, to_com


class Metric(Protocol):
    """A constant metric on inertials, taken at a prior: distances are norms of its root."""

    def root(self, prior: Prior) -> Array:
        """Return a root (m, 10 n) of the metric."""
        ...


@dataclass(frozen=True)
class ConstantPullback:
    """|L^-1 (J - J_0) L^-T|_F^2 with J_0 = L L': the affine-invariant metric, pulled back at the prior and kept there.

    Units and frames do not matter; half of it is the second-order part of the entropic divergence
    (Lee, Wensing, Park, T-RO 2020).
    """

    def root(self, prior: Prior) -> Array:
        """Return its root (16 n, 10 n)."""
        parts = []
        for body in prior.inertials:
            inverse = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(body)))
            parts.append(np.kron(inverse, inverse) @ PSEUDO_INERTIA_MAP)
        return _diagonal(parts)


@dataclass(frozen=True)
class Euclidean:
    """Plain differences of the ten numbers in SI, as in regularised least squares; units and frames matter."""

    def root(self, prior: Prior) -> Array:
        """Return its root (10 n, 10 n)."""
        return np.eye(prior.inertials.size)


@dataclass(frozen=True)
class Tolerances:
    """How far CAD's numbers may be off, as standard deviations: the metric counts differences in these.

    mass: share of the mass; centre [m], along each axis; tensor: share of sqrt(I_aa I_bb), of the entry I_ab about
    the centre of mass; each one number for all links, or one for each. joint: share of each joint term that the prior
    states. Raises ModelError unless all are positive.
    """

    mass: float | tuple[float, ...] = 0.02
    centre: float | tuple[float, ...] = 1e-3
    tensor: float | tuple[float, ...] = 0.05
    joint: float = 0.3

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            for x in np.atleast_1d(value):
                if not 0.0 < x < np.inf:
                    raise ModelError(f"the tolerance of the {name} must be positive, got {x:g}")

    @classmethod
    def shares(cls, prior: Prior, shares: ArrayLike) -> Tolerances:
        """Return tolerances that are one share, or one for each link (n,), of all its numbers.

        The centre's is that share of its distance from the frame's origin, or of 10 mm if that is more.
        """
        n = len(prior.inertials)
        each = np.broadcast_to(np.asarray(shares, dtype=np.float64), n)
        reach = [max(float(np.linalg.norm(to_com(body)[1])), 0.01) for body in prior.inertials]
        share = tuple(each.tolist())
        return cls(mass=share, centre=tuple((each * reach).tolist()), tensor=share)

    def root(self, prior: Prior) -> Array:
        """Return its root (10 n, 10 n), linear in theta at the prior. Raises ModelError for too many or few of them."""
        n = len(prior.inertials)
        for name, value in vars(self).items():
            if np.ndim(value) and np.shape(value) != (n,):
                raise ModelError(f"the tolerances of the {name} are {np.size(value)}, wanted one or {n}, one per link")
        each = (np.broadcast_to(value, n) for value in (self.mass, self.centre, self.tensor))
        return _diagonal([_tolerance_root(*of) for of in zip(prior.inertials, *each, strict=True)])


def _tolerance_root(body: Array, mass: float, centre: float, tensor: float) -> Array:
    m, c, inertia = to_com(body)
    d = np.sqrt(np.diag(inertia))
    deviations = np.concatenate([[mass * m], [centre] * 3, tensor * np.outer(d, d)[np.triu_indices(3)]])
    return np.asarray(np.linalg.inv(natural_jacobian(m, c) * deviations))


def natural_jacobian(mass: float, centre: Array) -> Array:
    """Return d theta / d (m, c, I_c) (10, 10) at a body: h = m c, I = I_c + m (c'c E - c c')."""
    x, y, z = centre
    steiner = np.array([y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y])
    slopes = [[0.0, -y, -z, 2 * x, 0.0, 2 * x], [2 * y, -x, 0.0, 0.0, -z, 2 * y], [2 * z, 0.0, -x, 2 * z, -y, 0.0]]
    D = np.eye(10)
    D[1:4, 0] = centre
    D[4:, 0] = steiner
    D[1:4, 1:4] = mass * np.eye(3)
    D[4:, 1:4] = mass * np.array(slopes).T
    return D


def _diagonal(parts: list[Array]) -> Array:
    rows = parts[0].shape[0]
    out = np.zeros((rows * len(parts), 10 * len(parts)))
    for i, part in enumerate(parts):
        out[rows * i : rows * (i + 1), 10 * i : 10 * (i + 1)] = part
    return out
