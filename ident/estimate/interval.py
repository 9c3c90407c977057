"""What data and physical consistency allow for each number of a CAD table, and what that says about the table.

Over all links that can exist, keep the bounds and explain the logs,

    { J_i >= 0, friction >= 0, bounds, |W (K theta - phi_hat)|^2 <= radius^2 + e^2 },

each mass, centre coordinate h / m and tensor entry about the link frame's origin has a least and a greatest value: two
semidefinite programs per number (a centre's ratio becomes linear by the transform of Charnes and Cooper 1962). e is the
distance from phi_hat to what can exist, so that the set is never empty. The set holds the truth at the level of its
confidence region, and so all intervals do at once. Which ends are open is the same at every level (`Growth`), but for
centres: where the level is so high that the mass may vanish, its centre may be anywhere.

Whether a number has a least value over the links that can exist and explain the logs, at whatever level.

The set {x: J_i >= 0, rows >= 0, |W K x - z| <= r}, where it has a point inside, goes on for ever just as

    {d: J_i(d) >= 0, rows d >= 0, |W K d| <= 1}      (rows d >= -1 for bounds that are numbers, such as of masses)

does, which has neither level nor noise in it: the first lies in a multiple of the second, and holds a smaller multiple,
shifted. So a linear function is bounded below on both or on neither; and h / m where h is on the d with m <= 1, if m
stays away from 0. Both are asked by looking at bodies ten times as large, and again: what is bounded comes to rest,
what is not gains at least the root of ten as much each time, as the sides of a parabola do, which no recession
direction shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.estimate.bounds import Bounds
from ident.estimate.cones import Block, ConeProgram, Coordinates, ball, feasible, fixed, least_norm, require_possible
from ident.estimate.covariance import LEVEL, confidence_region
from ident.estimate.least_squares import joint_noise, triangular
from ident.estimate.prior import Prior
from ident.model.model import Model
from ident.regression.regression import Regression
from ident.spatial.inertia import NATURAL, pseudo_inertia

NumberVerdict = Literal[
    "confirmed", "contradicted", "not determined by this motion", "not determined by any motion", "not computed"
]
#: A number is determined when half its interval is at most this share of its size.
DETERMINED = 0.25
# A moment that CAD puts at zero still has a size: this share of the largest that its body's other numbers allow.
_SHARE = 0.1
_POSITIVE = ("m", "Ixx", "Iyy", "Izz")
_DIAGONAL = np.array([NATURAL.index(part) for part in _POSITIVE[1:]])
_AXES = frozenset(range(3))
#: A mass that may go below this share of the prior's may vanish, and its centre may be anywhere.
_VANISHED = 1e-6
#: What is left of a number's row, against the row itself, where motions fix it at zero: rounding.
_FIXED = 1e-12


@dataclass(frozen=True)
class Allowed:
    """The interval of one number [SI]: infinite where nothing bounds it, NaN where the solver failed.

    name: such as "link2.m", "link2.cx", "link2.Ixy" (tensor about the link frame's origin).
    by_any_motion: the interval that perfect knowledge of all base parameters would leave, if the prior's bodies were
    the true ones: what no motion can narrow.
    """

    name: str
    lower: float
    upper: float
    by_any_motion: tuple[float, float]


@dataclass(frozen=True)
class Intervals:
    """The intervals of all numbers, holding at once at `level`; `kind` of covariance that they rest on.

    excess: how far least squares lies outside of what can exist, as a share of the region's squared radius. Above 1 no
    link that can exist explains the logs within their noise: the model lacks something.
    """

    numbers: tuple[Allowed, ...]
    level: float
    kind: str
    excess: float


def intervals(
    model: Model,
    regression: Regression,
    prior: Prior,
    *,
    bounds: Bounds | None = None,
    sigma: ArrayLike | None = None,
    level: float = LEVEL,
) -> Intervals:
    """Return the intervals of every link's mass, centre and tensor that the logs allow at this level.

    prior: sets the units of the programs and the bodies of `by_any_motion`; it does not draw the intervals. sigma (n,):
    torque noise of each joint [N m; N], by default `joint_noise`. Raises EstimationError when the bounds cannot be met.
    """
    bounds = bounds or Bounds()
    sigma = joint_noise(regression) if sigma is None else np.asarray(sigma, dtype=np.float64)
    region = confidence_region(regression, sigma, level)
    base = regression.base
    coordinates = Coordinates.of(model, prior, regression.factor(sigma), base)
    require_possible(model, bounds, coordinates)
    blocks = feasible(model, bounds, coordinates)
    rows, centre = triangular(region.W @ base.K @ coordinates.T, region.W @ region.centre)
    _, distance = least_norm(rows, centre, blocks)
    squared = region.radius**2 + distance**2
    growth = Growth(coordinates, blocks, rows, centre)
    within = ball(rows, centre, float(np.sqrt(squared)))
    found = _extremes(coordinates, np.eye(len(coordinates.T) + 1), [*blocks, within], growth)
    anyhow = _by_any_motion(model, bounds, coordinates, blocks, base.K, rows, centre, growth)
    numbers = tuple(
        Allowed(name, *limits, by_any_motion=any_)
        for name, limits, any_ in zip(number_names(model), found, anyhow, strict=True)
    )
    return Intervals(numbers, level, region.kind, distance**2 / region.radius**2)


def verdicts(
    found: Intervals, inertials: ArrayLike, tolerances: Mapping[str, float] | None = None
) -> dict[str, NumberVerdict]:
    """Return the verdict on each number of a table with these inertials (n, 10); NaN rows are left out.

    The first that applies, for a number x with tolerance t (0 where not stated) [SI]:

    - "contradicted": no value from x - t to x + t lies in its interval;
    - "confirmed": half the interval is at most a quarter of the number's size, |x| or a tenth of the largest that
      its body's other numbers allow;
    - "not determined by any motion": perfect knowledge of all base parameters would leave it as open;
    - "not determined by this motion": else.
    """
    tolerances = tolerances or {}
    table, sizes = natural(np.asarray(inertials, dtype=np.float64))
    out: dict[str, NumberVerdict] = {}
    for a, x, size in zip(found.numbers, table.ravel(), sizes.ravel(), strict=True):
        if not np.isfinite(x):
            continue
        t = tolerances.get(a.name, 0.0)
        widest = 2.0 * DETERMINED * size
        if np.isnan(a.lower) or np.isnan(a.upper):
            out[a.name] = "not computed"
        elif x + t < a.lower or x - t > a.upper:
            out[a.name] = "contradicted"
        elif a.upper - a.lower <= widest:
            out[a.name] = "confirmed"
        elif not a.by_any_motion[1] - a.by_any_motion[0] <= widest:
            out[a.name] = "not determined by any motion"
        else:
            out[a.name] = "not determined by this motion"
    return out


def number_names(model: Model) -> tuple[str, ...]:
    """Return the names of the natural numbers of all links: m, cx, cy, cz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz of each."""
    return tuple(f"{link}.{part}" for link in model.robot.links for part in NATURAL)


def natural(inertials: Array) -> tuple[Array, Array]:
    """Return m, c = h / m and the tensor about the origin (n, 10) [SI] of each body, and the size (n, 10) of each."""
    values = np.array(inertials, dtype=np.float64)
    m = values[:, :1]
    with np.errstate(divide="ignore", invalid="ignore"):
        values[:, 1:4] = np.where(m == 0, 0.0, values[:, 1:4] / m)
        J = np.sqrt(np.abs(np.diagonal(pseudo_inertia(inertials), axis1=1, axis2=2)))
        largest = np.zeros_like(values)
        largest[:, 1:4] = np.where(m > 0, J[:, :3] / np.sqrt(m), 0.0)
    for k, (a, b) in {5: (0, 1), 6: (0, 2), 8: (1, 2)}.items():
        largest[:, k] = J[:, a] * J[:, b]
    return values, np.maximum(np.abs(values), _SHARE * largest)


def _extremes(coordinates: Coordinates, M: Array, blocks: list[Block], growth: Growth) -> list[tuple[float, float]]:
    """Return the least and greatest value of each number over links of the blocks' cones, outwards by the solver's gap.

    The blocks' (x, s) are M @ v, s being the last of v.
    """
    bodies, theta = coordinates.prior.inertials, coordinates.T @ M[:-1]
    blocks = [Block(o.A @ M, o.b, o.cone) for o in blocks]
    plain = ConeProgram([*blocks, fixed(M[-1], 1.0)])
    # the link's mass is the prior's: then h is that mass times the centre
    per_mass = [ConeProgram([*blocks, fixed(mass, 1.0)]) for mass in theta[: bodies.size : 10] / bodies[:, :1]]

    def least(i: int, k: int, sign: float) -> float:
        """Return the least value of sign times number k of link i, NaN where the solver failed."""
        row, of_centre = sign * theta[10 * i + k], NATURAL[k] in NATURAL[1:4]
        size = float(np.linalg.norm(row))
        if size < _FIXED * np.linalg.norm(coordinates.T[10 * i + k]):  # it is zero, whatever v is
            return sign * 0.0
        lower = (per_mass[i] if of_centre else plain).minimise(row / size).lower
        return lower * size / (bodies[i, 0] if of_centre else 1.0) if np.isfinite(lower) else np.nan

    found: list[tuple[float, float]] = []
    for i, mass in enumerate(bodies[:, 0]):
        lightest = max(least(i, 0, 1.0), 0.0)
        vanishes = lightest < _VANISHED * mass
        found.append((lightest, -least(i, 0, -1.0) if growth.bounded(i, 0, -1.0) else np.inf))
        for k, part in enumerate(NATURAL[1:], 1):
            limits = [
                least(i, k, sign) if growth.bounded(i, k, sign, vanishes=vanishes) else -np.inf for sign in (1.0, -1.0)
            ]
            lower, upper = limits[0], -limits[1]
            found.append((max(0.0, lower) if part in _POSITIVE else lower, upper))
    return found


def _by_any_motion(
    model: Model,
    bounds: Bounds,
    coordinates: Coordinates,
    blocks: list[Block],
    K: Array,
    rows: Array,
    centre: Array,
    growth: Growth,
) -> list[tuple[float, float]]:
    """Return the intervals at K theta = K theta_0 with theta_0 the prior's links and the joint terms that go with them.

    Where the prior breaks the bounds, the nearest links to it that keep them.
    """
    prior = coordinates.prior
    rigid = np.linalg.solve(coordinates.T, np.append(prior.inertials.ravel(), np.zeros(model.nonnegative.size)))
    terms = rows[:, model.n_rigid :]  # joint terms: those that fit the logs best with these links
    start = np.append(
        rigid[: model.n_rigid], np.linalg.lstsq(terms, centre - rows[:, : model.n_rigid] @ rigid[: model.n_rigid])[0]
    )
    start[model.n_rigid :][model.nonnegative] = np.maximum(start[model.n_rigid :][model.nonnegative], 0.0)
    if not bounds.on(model).met(coordinates.T @ start):
        start = least_norm(np.eye(len(start)), start, blocks)[0]
    _, s, vt = np.linalg.svd(K @ coordinates.T)
    rank = int(np.count_nonzero(s > 1e-9 * s[0]))
    shown, hidden = vt[:rank], vt[rank:]
    if np.linalg.matrix_rank(rows, 1e-9 * np.linalg.norm(rows)) < len(shown):  # else the logs leave open just as much
        growth = Growth(coordinates, blocks, shown, shown @ start)
    M = np.zeros((len(start) + 1, len(hidden) + 1))  # x = s start + what no motion shows
    M[:-1, :-1], M[:-1, -1], M[-1, -1] = hidden.T, start, 1.0
    return _extremes(coordinates, M, blocks, growth)


#: How large bodies may get, against the prior's; and how far from the logs, against their torques: 1e6 times as little.
REACHES = (1e1, 1e2, 1e3, 1e4)
ALLOWED = 1e-3
#: A gain against the one before: about 0.1 for what is bounded, 3.2 or 10 for what is not.
_GAIN = 2.0
#: What counts as no gain at all, in all and against the value; and the solver's gap.
_REST, _OF_VALUE, _GAP = 3e-4, 1e-3, 1e-5


class Growth:
    """The cones of bodies, bounds and logs; rows (m, p), centre (m,): |rows @ x - centre| is the distance from them."""

    def __init__(self, coordinates: Coordinates, blocks: list[Block], rows: Array, centre: Array):
        n, p = len(coordinates.prior.inertials), len(coordinates.T)
        # a bound that is a number leaves room on its inner side
        room = {"nonnegative": 1.0}
        self._T = coordinates.T
        self._blocks = [Block(o.A[:, :p], room.get(o.cone, 0.0) * (o.A[:, p] != 0.0), o.cone) for o in blocks]
        self._free = not any(len(o.b) for o in blocks[n + 1 :])  # of bounds
        unit = ALLOWED * (float(np.linalg.norm(centre)) or 1.0)
        stacked = np.concatenate([np.zeros((1, p)), rows / unit])
        self._logs = Block(stacked, np.append(1.0, np.zeros(len(rows))), "second-order")
        traces = np.zeros((n, p))
        for i in range(n):
            traces[i, 10 * i : 10 * i + 10] = coordinates.trace[10 * i : 10 * i + 10] / 4.0
        joints = np.eye(p)[10 * n :]
        self._ends = np.concatenate([-traces, joints, -joints])
        self._masses = coordinates.T[: 10 * n : 10] / coordinates.prior.inertials[:, :1]
        self._programs: dict[tuple[int | None, bool], list[ConeProgram]] = {}
        self._known: dict[tuple[bytes, int | None, bool], bool] = {}

    def bounded(self, i: int, k: int, sign: float, *, vanishes: bool = False) -> bool:
        """Return whether sign times number k of link i is bounded below; vanishes: its mass may go down to none.

        J >= 0 asks most entries for nothing: I_aa is the sum of the second moments S along the two other axes,
        I_ab^2 <= S_aa S_bb, and h_a^2 <= m S_aa.
        """
        part, q = NATURAL[k], sign * self._T[10 * i + k]
        if part in _POSITIVE:
            across = _AXES - {ord(part[-1]) - ord("x")}
            return sign > 0 or (self.asked(q) if part == "m" else all(self._thin(i, a) for a in across))
        if part[0] == "I":
            return (self._thin(i, ord(part[1]) - ord("x")) and self._thin(i, ord(part[2]) - ord("x"))) or self.asked(q)
        if vanishes:  # then the logs say nothing of its centre
            return not self._free and self.asked(q, per_mass=i, logs=False)
        return self._thin(i, k - 1) or self.asked(q, per_mass=i)

    def _thin(self, i: int, axis: int) -> bool:
        """Return whether the second moment of link i along an axis is bounded above."""
        tensor = self._T[10 * i + _DIAGONAL]
        return self.asked(-tensor.sum(axis=0)) or self.asked(tensor[axis] - tensor.sum(axis=0) / 2.0)

    def asked(self, q: Array, *, per_mass: int | None = None, logs: bool = True) -> bool:
        """Return whether q @ x is bounded below; per_mass: whether it is per mass of that link; logs: if they count."""
        asked = q.tobytes(), per_mass, logs
        if asked not in self._known:
            self._known[asked] = self._rests(q, (per_mass, logs))
        return self._known[asked]

    def _rests(self, q: Array, key: tuple[int | None, bool]) -> bool:
        if key not in self._programs:
            self._programs[key] = [self._program(*key, reach) for reach in REACHES]
        values: list[float] = []
        for program in self._programs[key]:
            values.append(-program.minimise(q / np.linalg.norm(q)).upper)
            if len(values) > 2:
                before, gain = np.diff(values[-3:])
                if gain < max(_REST, _OF_VALUE * values[-1]):
                    return True
                if gain > _GAIN * before:
                    return False
        return True

    def _program(self, per_mass: int | None, logs: bool, reach: float) -> ConeProgram:
        blocks = [*self._blocks, Block(self._ends, np.full(len(self._ends), reach), "nonnegative")]
        if per_mass is not None:
            blocks.append(Block(-self._masses[per_mass][None], np.ones(1), "nonnegative"))
        return ConeProgram([*blocks, self._logs] if logs else blocks, _GAP)
