"""Hypotheses: which mistakes have been made together, and what links, tolerances and torques are without them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array
from ident.cad.check import DENSITIES, densities
from ident.compare.doctor.mistakes import Mistake, Setting, inertials_of, known_mistakes, natural
from ident.model.term import Term
from ident.robot.robot import Robot
from ident.spatial.inertia import from_com, pseudo_inertia, tensor

#: How far right CAD numbers may be off, where that is not stated: log-uniform over these shares.
TOLERANCES = tuple(0.003 * (0.1 / 0.003) ** (k / 10) for k in range(11))
#: Numbers that are wrong in no known way are off by about these shares.
UNEXPLAINED = (0.03, 0.1, 0.3, 1.0)
#: Which numbers of a link may be off while its others are right: m, c, six of the tensor, and the factor of a density.
PARTS = {
    "all": np.array([1.0] * 10 + [0.0]),
    "mass": np.array([1.0] + [0.0] * 10),
    "density": np.array([0.0] * 10 + [1.0]),
    "centre": np.array([0.0] + [1.0] * 3 + [0.0] * 7),
    "tensor": np.array([0.0] * 4 + [1.0] * 6 + [0.0]),
}
#: An extra body has about this share of the mean link's mass, and reaches so many times as far as the links' centres.
EXTRA = ((0.2, 1.0), (1.0, 1.0), (1.0, 2.0))
#: Its centre is within so many times that of the frame.
REACH = 3.0
#: Bodies that CAD leaves out sit on the last link so often: tools, cables, flanges.
_AT_THE_END = 0.7
#: What is counted twice is no more of a link's mass than that.
_PART = 0.6
#: Bodies too many are as frequent as that, beside those that are left out.
_TOO_MANY = 0.3
#: The torque's gain is looked for within this factor, up and down.
GAIN = 5.0
#: How probable a mistake of each kind is beforehand, against a table without any; they sum to 1.
PRIOR = {
    "sign": 0.09, "point": 0.09, "unit": 0.13, "number": 0.08, "order": 0.04, "axes": 0.07, "mirror": 0.03,
    "frame": 0.07, "count": 0.04, "swap": 0.05, "gravity": 0.04, "geometry": 0.02, "torque sign": 0.04,
    "torque gain": 0.04, "extra": 0.05, "override": 0.06, "unexplained": 0.04, "elastic": 0.02,
}  # fmt: skip
#: The view of a log whose torques have no part of gravity.
NO_GRAVITY = "gravity none"
#: Mistakes of this kind are made in one link.
SINGLE = "number"
#: Bodies whose integral of r r^T dm has a negative eigenvalue beyond this share of its trace cannot exist.
_ROUNDING = 1e-3
_UNIT = np.array([1.0, *[0.0] * 3, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0])  # a body that exists
#: What has a smaller radius of gyration was meant as a point [m].
_POINT = 1e-9


# What follows may have been done to a table or a log. `kind` is one word for the family, of PRIOR.


@dataclass(frozen=True)
class InLinks:
    """One mistake of a body's numbers, in one link or in all of them."""

    mistake: Mistake
    links: tuple[int, ...]

    @property
    def kind(self) -> str:
        """That of the mistake."""
        return self.mistake.kind


@dataclass(frozen=True)
class Swapped:
    """The numbers of two links stand in each other's place."""

    links: tuple[int, int]
    kind: ClassVar = "swap"


@dataclass(frozen=True)
class Unexplained:
    """Numbers that are off by about `share`, more than the tolerance, in no way of the list.

    part: which of PARTS; one that is not all of them in one link only, as where a mass has been overridden, or the
    density in all. asked: the mass, the centre, or the factor of a density that the logs ask for instead; cost: log of
    how probable so large a difference is.
    """

    links: tuple[int, ...]
    share: float
    part: str = "all"
    asked: tuple[float, ...] = ()
    cost: float = 0.0

    @property
    def kind(self) -> str:
        """Whether some part of a link's numbers has been overridden."""
        return "unexplained" if self.part == "all" else "override"


@dataclass(frozen=True)
class ExtraBody:
    """A body on a link that CAD leaves out: its mass about `mass` [kg], within about `radius` [m] of the frame.

    One of negative mass is a body too many: counted twice, or a neighbour's.
    """

    link: int
    mass: float
    radius: float
    kind: ClassVar = "extra"

    @property
    def mean(self) -> Array:
        """Its inertials (10,) before the logs are looked at: half of what they may be."""
        return 0.5 * from_com(self.mass, np.zeros(3), self.mass * self.radius**2 * np.eye(3))

    @property
    def root(self) -> Array:
        """A root (10, 10) of their covariance."""
        return self.mass * np.diag([1.0, *[self.radius] * 3, *[self.radius**2] * 6])

    def may_be(self, body: Array, root: Array, link: Array) -> bool:
        """Return whether it may be a body (10,) with covariance root @ root.T, on a link's (10,).

        Its centre has to be where an extra body's may be: one of no mass far away is a moment alone.
        """
        given = body if self.mass > 0 else -body
        near = np.linalg.norm(given[1:4]) <= REACH * self.radius * given[0]
        held = self.mass > 0 or (given[0] < _PART * link[0] and can_exist_within(link + body, root))
        return bool(near) and held and can_exist_within(given, root)


@dataclass(frozen=True)
class TorqueGain:
    """The torque of a joint has to be multiplied by `factor`; `cost`: log of the share of gains that do as well.

    factor -1: it is recorded with the other sign.
    """

    joint: int
    factor: float
    cost: float = 0.0

    @property
    def kind(self) -> str:
        """Whether it is the sign alone."""
        return "torque sign" if self.factor < 0 else "torque gain"


@dataclass(frozen=True)
class OtherView:
    """Gravity or geometry is another one, or a joint has a spring: the name of a view."""

    name: str
    kind: str


Move = InLinks | Swapped | Unexplained | ExtraBody | TorqueGain | OtherView


def touched(move: Move) -> tuple[int, ...]:
    """Return the single links whose numbers a move says are wrong."""
    match move:
        case InLinks(_, (_,) as links) | Unexplained((_,) as links) | Swapped(links):
            return links
        case ExtraBody(link, mass) if mass < 0:
            return (link,)
    return ()


def excludes(a: Move, b: Move) -> bool:
    """Return whether two moves cannot both be: the numbers that links have of each other are right ones."""
    return (isinstance(a, Swapped) or isinstance(b, Swapped)) and not set(touched(a)).isdisjoint(touched(b))


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """What is right if these mistakes have been made.

    given, numbers (n, 10): m, c, tensor as the table declares them, with and without the mistakes. shares (n, 11): what
    the tolerance of each number is at least, the last that of a factor of mass and tensor. gains (n,): of the torques.
    """

    moves: tuple[Move, ...]
    given: Array
    numbers: Array
    shares: Array
    gains: Array
    view: str = ""

    @property
    def extras(self) -> tuple[ExtraBody, ...]:
        """The extra bodies among the moves."""
        return tuple(m for m in self.moves if isinstance(m, ExtraBody))


def views_of(
    robot: Robot, geometries: Mapping[str, Robot], springs: Mapping[str, tuple[Term, ...]]
) -> tuple[dict[str, Robot], list[OtherView]]:
    """Return robots by the names of views in which gravity or geometry is another one, and these views and springs."""
    others: dict[str, Robot] = {}
    views: list[OtherView] = []
    size = float(np.linalg.norm(robot.gravity))
    for axis in range(3):
        for sign in (1.0, -1.0):
            gravity = sign * size * np.eye(3)[axis]
            if size and np.abs(gravity - robot.gravity).max() > 1e-6 * size:
                name = f"gravity {'+-'[sign < 0]}{'xyz'[axis]}"
                others[name] = robot.with_gravity(gravity)
                views.append(OtherView(name, "gravity"))
    if size:
        others[NO_GRAVITY] = robot.with_gravity(np.zeros(3))
        views.append(OtherView(NO_GRAVITY, "gravity"))
    for name, other in geometries.items():
        others[name] = other.with_gravity(robot.gravity)
        views.append(OtherView(name, "geometry"))
    return others, views + [OtherView(name, "elastic") for name in springs]


@dataclass(frozen=True, eq=False)
class Space:
    """All that the search chooses from: settings of the mistakes and those that are settled by other evidence.

    tolerances: what the tolerance may be, each as probable as the others, rising. settled: (link, kind) pairs that
    reports decide, which are not questioned. views: other gravities, geometries and models; robots, terms: theirs, by
    name. density_error: standard deviation of a link's density, as a share, without anybody's mistake.
    """

    setting: Setting
    tolerances: tuple[float, ...]
    settled: frozenset[tuple[int, str]]
    views: tuple[OtherView, ...]
    robots: Mapping[str, Robot]
    density_error: float = 0.0
    terms: Mapping[str, tuple[Term, ...]] = field(default_factory=dict)

    def setting_in(self, view: str) -> Setting:
        """Return the setting of mistakes in a view: frames are those of its geometry."""
        return replace(self.setting, robot=self.robots[view]) if view in self.robots else self.setting

    @property
    def n(self) -> int:
        """Number of links."""
        return self.setting.robot.n

    def start(self, inertials: Array) -> Hypothesis:
        """Return the table as given (n, 10)."""
        numbers = natural(inertials, self.setting.about_origin)
        return self._from(numbers)

    def _from(self, numbers: Array) -> Hypothesis:
        shares = np.tile(self.density_error * PARTS["density"], (self.n, 1))
        return Hypothesis((), numbers, numbers, shares, np.ones(self.n))

    def after(self, state: Hypothesis, move: Move) -> Hypothesis:
        """Return the hypothesis with one mistake more."""
        moves = (*state.moves, move)
        numbers, shares, gains = state.numbers.copy(), state.shares.copy(), state.gains.copy()
        match move:
            case InLinks(mistake, links):
                for i in links:
                    numbers[i] = mistake.undone(numbers[i], i, self.setting_in(state.view))
            case Swapped(links):
                numbers[[*links]] = numbers[[*links[::-1]]]
            case Unexplained(links, share, part, asked):
                for i in links if asked else ():
                    numbers[i] = self.with_asked(numbers[i], part, asked)
                shares[list(links)] = np.maximum(shares[list(links)], share * PARTS[part])
            case TorqueGain(joint, factor):
                gains[joint] *= factor
            case OtherView(name, _):
                seen = replace(self._from(state.given), moves=(move,), view=name)
                for other in state.moves:  # frames are now those of another geometry
                    seen = self.after(seen, other)
                return seen
        return replace(state, moves=moves, numbers=numbers, shares=shares, gains=gains)

    def with_asked(self, body: Array, part: str, asked: tuple[float, ...]) -> Array:
        """Return a body (10,) as the table declares it with another mass, centre or density; all else is kept."""
        origin = self.setting.about_origin
        central = natural(inertials_of(body, origin), False)
        if part == "centre":
            central[1:4] = asked
        else:
            factor = asked[0] / central[0] if part == "mass" else asked[0]
            central[0] *= factor
            central[4:] *= 1.0 if part == "mass" else factor
        return natural(inertials_of(central, False), origin)

    def of(self, inertials: Array, moves: tuple[Move, ...]) -> Hypothesis:
        """Return the hypothesis with these mistakes."""
        state = self.start(inertials)
        for move in moves:
            state = self.after(state, move)
        return state

    def inertials(self, state: Hypothesis) -> Array:
        """Return the links' inertials (n, 10)."""
        return inertials_of(state.numbers, self.setting.about_origin)

    def log_prior(self, move: Move) -> float:
        """Return the log of a move's odds beforehand; half of a kind's share goes to whole tables."""
        n, among, cost = self.n, 1, 0.0
        match move:
            case InLinks(mistake, links):
                single = move.kind == SINGLE  # never of a whole table
                among = 1 if n == 1 else n if single else 2 if len(links) > 1 else 2 * n
                cost = math.log(mistake.weight / _MEMBERS[move.kind])
            case Swapped():
                among = max(n * (n - 1) // 2, 1)
            case Unexplained(links, _, "all"):
                among = len(UNEXPLAINED) * (2 if len(links) > 1 else 2 * n)
            case Unexplained((_, _, *_)):
                among, cost = len(PARTS), move.cost
            case Unexplained():
                among, cost = len(UNEXPLAINED) * (len(PARTS) - 1) * n, move.cost
            case ExtraBody(_, mass) if mass < 0:
                among, cost = len(EXTRA), math.log(_TOO_MANY / n)
            case ExtraBody(link):
                share = _AT_THE_END if link == n - 1 else (1.0 - _AT_THE_END) / (n - 1)
                among, cost = len(EXTRA), math.log(share)
            case TorqueGain():
                among, cost = n, move.cost
            case OtherView(_, group):
                among = max(sum(v.kind == group for v in self.views), 1)
        return math.log(PRIOR[move.kind] / among) + cost

    def asked_of(self, link: int) -> list[Mistake]:
        """Return every mistake of a single link that is not settled."""
        return [mistake for mistake in KNOWN if (link, mistake.kind) not in self.settled]


KNOWN = known_mistakes()
_MEMBERS = {kind: sum(m.weight for m in KNOWN if m.kind == kind) for kind in {m.kind for m in KNOWN}}


def can_exist(bodies: Array, about_origin: bool, *, made: ArrayLike = True) -> NDArray[np.bool_]:
    """Return whether bodies (..., 10) are physically consistent, but for the rounding of their digits.

    made (...): and of some material; what has no extent is taken as it is, a point mass.
    """
    sound = (bodies[..., 0] > 0) & np.isfinite(bodies).all(axis=-1)
    central = natural(inertials_of(bodies, about_origin), False) if about_origin else bodies
    central = np.where(sound[..., None], central, _UNIT)
    half = central[..., [4, 7, 9]].sum(axis=-1) / 2
    values = np.linalg.eigvalsh(half[..., None, None] * np.eye(3) - tensor(central))  # of the integral of r r^T dm
    moments = half[..., None] - values[..., ::-1]
    exists = sound & (half >= 0) & (values[..., 0] >= -_ROUNDING * half)
    least, even = densities(central[..., 0], moments)
    point = np.sqrt(np.maximum(moments[..., -1], 0.0) / central[..., 0]) < _POINT
    return np.asarray(exists & (np.logical_not(made) | point | ((DENSITIES[0] < even) & (least < DENSITIES[1]))))


def can_exist_within(body: Array, root: Array, times: float = 2.0) -> bool:
    """Return whether inertials (10,) with covariance root @ root.T may be those of a body that can exist."""
    J = pseudo_inertia(body)
    values, vectors = np.linalg.eigh(J)
    if values[0] >= 0:
        return bool(body[0] > 0)
    v = vectors[:, 0]
    spread = np.linalg.norm([v @ pseudo_inertia(column) @ v for column in root.T])
    return bool(values[0] > -times * spread and body[0] > 0)
