"""The probability of the logs as one thing changes and the rest is kept: one link, or the gain of one torque.

And what the numbers of one link are without each mistake that a table may have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.compare.doctor.evidence import Evidence, log_student, reach, root_of, spread, student
from ident.compare.doctor.hypotheses import PARTS, Space, can_exist
from ident.compare.doctor.mistakes import Mistake, inertials_of

_LEAST = 1e-3  # of a mass that is off alone: the logs ask for none
_FAR = 3.0  # a centre that is off alone is off by no more than so many times its reach


@dataclass(frozen=True, eq=False)
class Parts:
    """A hypothesis in the space of the evidence.

    residual (d,); fixed (d, d): covariance that no tolerance changes, the fit's own 1 among it; means (n, d) and
    roots (n, d, 11) of the links; shares (g, n, 11): for each tolerance those of all numbers.
    """

    residual: Array
    fixed: Array
    means: Array
    roots: Array
    shares: Array

    def spreads(self) -> Array:
        """Return the covariance (g, n, d, d) that each link adds, for each tolerance."""
        B = self.roots * self.shares[:, :, None, :]
        return B @ B.transpose(0, 1, 3, 2)

    def factor(self) -> float:
        """Return the factor of all masses and tensors that the logs ask for, with the largest tolerance."""
        mean = self.means.sum(axis=0)
        weighted = np.linalg.solve(self.covariances()[-1], mean)
        return 1.0 + float(weighted @ self.residual) / max(float(weighted @ mean), 1e-300)

    def covariances(self) -> Array:
        """Return the covariance (g, d, d) for each tolerance."""
        return np.asarray(self.fixed + self.spreads().sum(axis=1))


@dataclass(frozen=True, eq=False)
class Alone:
    """What one link has to explain, for each tolerance of the others: in the ten directions or fewer that it can.

    w (g, m) = R (g, m, 10) @ its parameters + noise of unit variance; squares and logdets (g,): of all else.
    """

    w: Array
    R: Array
    squares: Array
    logdets: Array

    def asked(
        self, E: Evidence, space: Space, i: int, body: Array, part: str, shares: Array, g: int
    ) -> tuple[tuple[float, ...], float]:
        """Return what the logs ask for in place of a part of a body (10,) that is off, and by what share it is off.

        Of a factor above 2 that grows with its logarithm. Gauss-Newton, as the parameters are quadratic in the centre.
        shares (11,): tolerances; g: which of the others'.
        """
        origin, which = space.setting.about_origin, PARTS[part] > 0
        start = now = inertials_of(body, origin)
        asked: tuple[float, ...] = ()
        for _ in range(4 if part == "centre" else 1):
            B = self.R[g] @ (E.roots(i, spread(now)[None])[0] * shares)
            far = (now[1:4] / now[0] - start[1:4] / start[0]) / reach(now)
            residual = self.w[g] - self.R[g] @ now
            if part == "centre":
                residual = residual + B[:, 1:4] @ (far / shares[1:4])
            off = (B.T @ np.linalg.solve(np.eye(len(B)) + B @ B.T, residual))[which] * shares[which]
            if part == "centre":
                off = np.clip(off, -_FAR, _FAR)
                asked = tuple(float(f"{x:.5g}") for x in start[1:4] / start[0] + off * reach(now))
                off = off * reach(now) / reach(start)
            else:
                factor = max(1.0 + float(off[0]), _LEAST)
                asked = (float(f"{factor * (start[0] if part == 'mass' else 1.0):.5g}"),)
                off = np.array([factor - 1.0 if factor < 2.0 else 1.0 + np.log(factor - 1.0)])
            now = inertials_of(space.with_asked(body, part, asked), origin)
        return asked, float(np.linalg.norm(off))

    def logs(self, E: Evidence, inertials: Array, roots: Array, shares: Array) -> Array:
        """Return the log probability (g, k) of inertials (k, 10), off by shares (g, k, q) of roots (k, 10, q)."""
        g, m = self.w.shape
        k, q = len(inertials), roots.shape[2]
        B = (self.R.reshape(g * m, 10) @ roots.transpose(1, 0, 2).reshape(10, k * q)).reshape(g, m, k, q)
        B = B.transpose(0, 2, 1, 3) * shares[:, :, None]
        residuals = self.w[:, None] - (self.R @ inertials.T).transpose(0, 2, 1)
        covariances = np.eye(m) + B @ B.transpose(0, 1, 3, 2)
        return log_student(residuals, covariances, E.size, self.squares[:, None], self.logdets[:, None])


def links_alone(E: Evidence, p: Parts) -> list[Alone]:
    """Return for each link what is left for it when all others are as the hypothesis has them."""
    n = len(p.means)
    others = np.tensordot(p.spreads(), 1.0 - np.eye(n), axes=(1, 0))  # (g, d, d, n)
    L = root_of(p.fixed + others.transpose(0, 3, 1, 2), E.size)
    right = np.stack([np.column_stack([E.A[:, 10 * i : 10 * i + 10], p.residual + p.means[i]]) for i in range(n)])
    z = np.linalg.solve(L, np.broadcast_to(right, (len(L), *right.shape)))
    Q, R = np.linalg.qr(z[..., :10])
    w = (Q.transpose(0, 1, 3, 2) @ z[..., 10:])[..., 0]
    squares = np.sum((z[..., 10:] - Q @ w[..., None])[..., 0] ** 2, axis=-1)
    logdets = 2.0 * np.sum(np.log(np.diagonal(L, axis1=-2, axis2=-1)), axis=-1)
    return [Alone(w[:, i], R[:, i], squares[:, i], logdets[:, i]) for i in range(n)]


@dataclass(frozen=True, eq=False)
class Along:
    """Inner products (g, n + 1, n + 1) of the directions of all joints' torques and of the residual; logdets (g,)."""

    products: Array
    logdets: Array
    d: int

    @classmethod
    def of(cls, p: Parts, directions: Array) -> Along:
        """Return the products under the inverse covariance of each tolerance."""
        L = root_of(p.covariances(), len(p.residual))
        z = np.linalg.solve(
            L, np.broadcast_to(np.column_stack([directions, p.residual]), (*L.shape[:2], len(p.means) + 1))
        )
        logdets = 2.0 * np.sum(np.log(np.diagonal(L, axis1=-2, axis2=-1)), axis=-1)
        return cls(z.transpose(0, 2, 1) @ z, logdets, len(p.residual))

    def logs(self, joint: int, factors: Array) -> Array:
        """Return the log probability (k,) over all tolerances when the torque of a joint is multiplied by factors."""
        vv, rv, rr = (self.products[:, a, b, None] for a, b in ((joint, joint), (-1, joint), (-1, -1)))
        change = factors - 1.0
        squares = np.maximum(rr + 2.0 * rv * change + vv * change**2, 0.0)
        return over_tolerances(student(squares, self.logdets[:, None], self.d))


def over_tolerances(logs: Array) -> Array:
    """Return the log (...) of the mean over the tolerances of probabilities whose logs (g, ...) these are."""
    most = logs.max(axis=0)
    return np.asarray(most + np.log(np.mean(np.exp(logs - most), axis=0)))


_ALIKE = 0.3  # tolerances within which two readings are the same


@dataclass(frozen=True, eq=False)
class Readings:
    """Mistakes (k), inertials (k, 10) without them, and their `spread` (k, 10, 11)."""

    mistakes: tuple[Mistake, ...]
    inertials: Array
    spreads: Array

    def beside(self, body: Array, share: float) -> Readings:
        """Return those that are another one than a body's inertials (10,), whose numbers are off by a share."""
        near = _within(body, self.inertials, _sizes(spread(body)), _sizes(self.spreads), share)
        new = np.flatnonzero(~near)
        return Readings(tuple(self.mistakes[k] for k in new), self.inertials[new], self.spreads[new])


def readings(space: Space, i: int, body: Array, view: str) -> Readings:
    """Return what link i's numbers (10,) are without each mistake, where that can exist, in a geometry."""
    setting, asked = space.setting_in(view), space.asked_of(i)
    mended = np.array([m.undone(body, i, setting) for m in asked]).reshape(-1, 10)
    kept = np.flatnonzero(can_exist(mended, setting.about_origin))
    inertials = inertials_of(mended[kept], setting.about_origin)
    return Readings(tuple(asked[k] for k in kept), inertials, spread(inertials))


def same(a: Array, b: Array, share: float) -> bool:
    """Return whether two bodies' inertials (10,) are alike within a part of the tolerance of the smaller of them."""
    return bool(_within(a, b, _sizes(spread(a)), _sizes(spread(b)), share))


def _sizes(roots: Array) -> Array:
    """Return by how much each parameter (..., 10) changes if all numbers are off by a share of 1; (..., 10, 11)."""
    return np.asarray(np.sqrt(np.sum(roots[..., :10] ** 2, axis=-1)))


def _within(a: Array, b: Array, size_a: Array, size_b: Array, share: float) -> NDArray[np.bool_]:
    masses = np.abs(a[..., 0] - b[..., 0]) <= _ALIKE * share * np.minimum(np.abs(a[..., 0]), np.abs(b[..., 0]))
    alike = np.abs(a - b) <= _ALIKE * share * np.minimum(size_a, size_b) + 1e-12
    return np.asarray(masses & alike.all(axis=-1))
