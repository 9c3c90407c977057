"""Base parameters: the combinations of standard parameters that torque can show, from structure alone.

phi = K theta with K = [1 B] up to order: standard parameters whose columns are independent are kept, the others are
regrouped into them (Gautier, Khalil 1990; Gautier 1991). A parameter is kept when its column is not spanned by those
before it, in the order of the names; where that would need a coefficient above LARGEST, in units of the robot's own
length, the two parameters change places, which bounds all of B (Gu, Eisenstat, SIAM J. Sci. Comput. 17, 1996,
algorithm 4). All is decided from the row space of Y, which the samples do not change, and with a margin: the same robot
gives the same base parameters on every machine.

And the triangular factors of rows that they come from: QR, factors one below the other, and their Gram matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ident.arrays import Array
from ident.model.model import Model, regressor
from ident.model.term import RECORDED
from ident.shown import Shown, shows

#: Columns from which it pays to make use of zeros below the diagonal; columns that LAPACK turns at a time.
LARGE, BLOCK = 128, 16
#: Factors that are turned at once.
MANY = 128


def r_factor(a: Array) -> Array:
    """Return R (k, k) of a (rows, k) = Q R, by Householder reflections; padded with zeros when rows < k."""
    r = np.linalg.qr(a, mode="r") if len(a) else np.zeros((0, a.shape[1]))
    if len(r) < a.shape[1]:
        r = np.vstack([r, np.zeros((a.shape[1] - len(r), a.shape[1]))])
    return np.asarray(r)


def stacked(factors: Sequence[Array]) -> Array:
    """Return R (k, k) of factors (k, k) one below the other: a third of the work of `r_factor` where all are upper.

    Many small ones are nevertheless turned faster all at once, as many as the cache holds.
    """
    if len(factors) > MANY:
        return stacked([stacked(factors[k : k + MANY]) for k in range(0, len(factors), MANY)])
    k = factors[0].shape[1]
    if (len(factors) == 1 and k < LARGE) or (len(factors) > 2 and k < LARGE // 2):
        return factors[0] if len(factors) == 1 else r_factor(np.concatenate(factors))
    from scipy.linalg.lapack import dtpqrt

    from ident.regression.kernels import is_upper

    first, *rest = (F if len(F) == F.shape[1] and is_upper(F) else r_factor(F) for F in factors)
    for F in rest:
        first = dtpqrt(len(F), min(BLOCK, len(F)), first, F)[0]
    return np.ascontiguousarray(first)


def gram_of(R: Array) -> Array:
    """Return the upper half of R'R (k, k), zeros below it: of a triangular R at a third of the cost of the product."""
    from ident.regression.kernels import add_square

    found = np.zeros((R.shape[1], R.shape[1]))
    add_square(found, R, np.arange(len(found)), 1.0)
    return found


#: Largest coefficient of a grouping in units of the robot's length: groupings of MDH tables reach 3.2.
LARGEST = 4.0

#: A `rank_margin` that begins below DOUBTFUL or ends above ROUNDING hangs on the last digits of the description.
DOUBTFUL, ROUNDING = 1e-5, 1e-12

_DEPENDENT = 1e-9  # of the largest singular value; what is nothing but rounding is about 1e-15
_NEARLY = 1e-3  # what is left of a column that those before it nearly span
_TIE = 1e-6  # numbers that are nearer to each other are the same, and the names decide
_ZERO = 1e-11
_SLOW, _SLOWEST = 50, -5.0  # states that are slow, and the powers of ten of their speeds down to which they are
_NOISE = 1e3  # times the rounding error of a grouping's coefficient; true ones lie above 1e7 times


@shows
@dataclass(frozen=True, eq=False)
class BaseParameters:
    """phi = K @ theta.

    names: of the kept standard parameters, one per base parameter; kept: their places in theta;
    K (b, p); standard: names of theta.
    """

    names: tuple[str, ...]
    kept: tuple[int, ...]
    K: Array
    standard: tuple[str, ...]

    @staticmethod
    def each(names: Sequence[str]) -> BaseParameters:
        """Return parameters of these names, each of which is one by itself."""
        return BaseParameters(tuple(names), tuple(range(len(names))), np.eye(len(names)), tuple(names))

    def widened(self, standard: tuple[str, ...]) -> BaseParameters:
        """Return these where theta has more names at its end, each of which is one by itself."""
        b, p = self.K.shape
        K = np.zeros((b + len(standard) - p, len(standard)))
        K[:b, :p], K[b:, p:] = self.K, np.eye(len(standard) - p)
        return BaseParameters((*self.names, *standard[p:]), (*self.kept, *range(p, len(standard))), K, standard)

    def theta(self, phi: Array | float) -> Array:
        """Return the theta (p,) that is phi (b,) on the kept parameters, and 0 else: it predicts the same torques."""
        found = np.zeros(len(self.standard))
        found[list(self.kept)] = phi
        return found

    def shown(self) -> Shown:
        """Return each base parameter as a sum."""
        rows = [(name, self.expression(k)) for k, name in enumerate(self.names)]
        return f"{len(rows)} base parameters of {len(self.standard)}", ("base parameter", "combination"), rows

    def expression(self, k: int) -> str:
        """Return base parameter k as a sum, such as `link2.Ixx - link2.Iyy - 0.0506 link3.m`."""
        parts: list[str] = []
        order = [self.kept[k], *(int(i) for i in np.flatnonzero(self.K[k]) if i != self.kept[k])]
        for i in order:
            c = float(self.K[k, i])
            size = "" if abs(abs(c) - 1.0) < _ZERO else f"{abs(c):.6g} "
            sign = ("" if c > 0 else "-") if not parts else (" + " if c > 0 else " - ")
            parts.append(f"{sign}{size}{self.standard[i]}")
        return "".join(parts)

    @property
    def identifiable(self) -> tuple[str, ...]:
        """Standard parameters that are a base parameter by themselves: the only ones that torque alone can fix."""
        alone = [k for k in range(len(self.kept)) if np.count_nonzero(self.K[k]) == 1]
        return tuple(self.names[k] for k in alone)

    @property
    def unidentifiable(self) -> tuple[str, ...]:
        """Standard parameters that no torque of this robot ever shows."""
        return tuple(name for name, column in zip(self.standard, self.K.T, strict=True) if not column.any())


def base_parameters(model: Model, factor: Array | None = None) -> BaseParameters:
    """Return the base parameters of a model, from its structure (random states, fixed seed, no log).

    factor (p, p): R of a regressor that is given as numbers, which then says what they are.
    """
    R = _factor(model) if factor is None else factor
    kept = _kept(_row_space(model, R)[0], model)
    size = np.linalg.norm(R, axis=0)
    unit = R / np.where(size > _ZERO * size.max(), size, np.inf)

    # unit = unit[:, kept] @ X, undone for the scaling of columns
    X, *_ = np.linalg.lstsq(unit[:, kept], unit, rcond=None)
    K = X * size[None, :] / size[kept][:, None]
    # A column's rounding error, eps (1 + sum |X|), reaches row k of X through row k of the inverse factor: with nearly
    # dependent columns this is far above eps, and a grouping must not gain parameters from it.
    inverse = np.linalg.inv(np.linalg.qr(unit[:, kept], mode="r"))
    rounding = np.finfo(float).eps * np.outer(np.linalg.norm(inverse, axis=1), 1.0 + np.abs(X).sum(axis=0))
    K[np.abs(X) < np.maximum(_ZERO, _NOISE * rounding)] = 0.0
    K[:, kept] = np.eye(len(kept))
    K = _significant(K, 12)  # groupings are products of lengths and cosines: this takes the noise of lstsq away
    K.setflags(write=False)
    return BaseParameters(tuple(model.names[k] for k in kept), tuple(kept), K, model.names)


def rank_margin(model: Model) -> tuple[float, float]:
    """Return the smallest singular value that counted as one and the largest that counted as zero, of the largest.

    Singular values of the regressor, its columns of the same unit brought to one size. Their distance tells how sure
    the number of base parameters is; the second is 0 where nothing was dropped.
    """
    _, s, rank = _row_space(model, _factor(model))
    return float(s[rank - 1]), float(s[rank]) if rank < len(s) else 0.0


def units(model: Model) -> Array:
    """Return (p,) what makes K[i, k] units[i] / units[k] free of units: powers of the longest link's length."""
    joints = model.robot.joints
    lengths = [float(np.linalg.norm(j.point)) for j in joints]
    lengths += [float(np.linalg.norm(j.placement.position)) for j in joints if j.parent >= 0]
    length = max(lengths, default=0.0)
    length = length if length > _DEPENDENT else 1.0
    found = np.ones(len(model.names))
    found[: model.n_rigid] = np.tile([length**2, *[length] * 3, *[1.0] * 6], model.robot.n)
    found[[k for j, k in model.term_entries if joints[j].slides]] = length**2
    return found


def _factor(model: Model) -> Array:
    """Return the regressor's R factor (p, p) at random states."""
    p, n = len(model.names), model.robot.n
    rng = np.random.default_rng(20210605)
    q, qd, qdd = rng.uniform(-3.0, 3.0, size=(3, 2 * p // n + 50, n))
    if model.terms:  # some show themselves near standstill alone
        q, qdd = (np.concatenate([x, x[-_SLOW:]]) for x in (q, qdd))
        qd = np.concatenate([qd, qd[-_SLOW:] * 10.0 ** rng.uniform(_SLOWEST, 0.0, qd[-_SLOW:].shape)])
    signals = {name: example(rng.random(len(q))) for name, example in RECORDED.items()}
    return np.asarray(np.linalg.qr(regressor(model, q, 2.0 * qd, 5.0 * qdd, signals=signals).reshape(-1, p), mode="r"))


def _row_space(model: Model, R: Array) -> tuple[Array, Array, int]:
    """Return an orthonormal basis (r, p) of the regressor's rows, its singular values over the largest, and r.

    Singular values are those of columns divided by the largest of all links' masses, first moments or inertias; the
    basis is that of parameters in units of the robot's length, in which coefficients are numbers of order one.
    """
    typical = np.linalg.norm(R, axis=0)
    rigid = typical[: model.n_rigid].reshape(-1, 10)
    for part in (slice(0, 1), slice(1, 4), slice(4, 10)):
        rigid[:, part] = rigid[:, part].max(initial=0.0)
    _, s, Vt = np.linalg.svd(R / np.where(typical > _ZERO * typical.max(), typical, np.inf))
    rank = int(np.count_nonzero(s > _DEPENDENT * s[0]))
    basis, _ = np.linalg.qr((Vt[:rank] * (typical / units(model))).T)
    return basis.T, s / s[0], rank


def _kept(rows: Array, model: Model) -> list[int]:
    """Return the columns (r of p) of a row space's orthonormal basis `rows` (r, p) that the others are regrouped into.

    No coefficient of rows = rows[:, kept] @ X is above LARGEST; within that, those whose names come first. A large one
    is mended within a link where that is possible, the carrying links included: links are regrouped towards the base.
    """
    robot = model.robot
    carries = np.zeros((robot.n + 1, robot.n + 1), dtype=bool)  # the last stands for no link
    for i in range(robot.n):
        carries[i, list(robot.carried_by(i))] = True
    link = np.arange(rows.shape[1]) // 10
    link[model.n_rigid :] = robot.n
    kept: list[int] = []
    left = rows.copy()

    def keep(k: int) -> None:
        kept.append(k)
        direction = left[:, k] / np.linalg.norm(left[:, k])
        left[:] -= np.outer(direction, direction @ left)

    for k in range(rows.shape[1]):
        if len(kept) < len(rows) and np.linalg.norm(left[:, k]) > _NEARLY:
            keep(k)
    while len(kept) < len(rows):  # what is left of nearly dependent columns
        keep(_first_largest(np.linalg.norm(left, axis=0))[0])
    while True:
        kept.sort()
        X = np.abs(np.linalg.solve(rows[:, kept], rows))
        X[:, kept] = 0.0
        if X.max() <= LARGEST * (1.0 + _TIE):
            return kept
        row, column = _first_largest(X)
        owner = link[kept][:, None]
        within = X * ((owner == link) & (carries[owner[row], link] & carries[link, link[column]]))
        if within.max() > 1.0 + _TIE:
            row, column = _first_largest(within)
        kept[row] = column


def _first_largest(a: Array) -> tuple[int, ...]:
    """Return the first place of an array's largest entry, where entries within rounding of it are as large."""
    return tuple(int(i) for i in np.argwhere(a >= (1.0 - _TIE) * a.max())[0])


def _significant(a: Array, digits: int) -> Array:
    """Return `a` rounded to so many significant digits."""
    power = np.where(a == 0.0, 0.0, np.floor(np.log10(np.abs(a), where=a != 0.0, out=np.zeros_like(a))))
    scale = 10.0 ** (digits - 1 - power)
    return np.asarray(np.round(a * scale) / scale)
