"""What a joint term is: a small frozen dataclass with its numbers, what it means, and one function, `column`.

Nothing is inherited. Besides the four members of `Term` it may have, where the defaults below do not do:
`slopes(q, qd, qdd)`: the derivatives of its column by each of the three, and by its `SIGNALS` (without: differences);
`continuous(q, qd, width)`: the column that a simulation integrates, jumps rounded over `width` (without: its column);
`symbol(q, qd, qdd)`: the column of symbols, of which code is made (without: no code), with the signals that it needs by
keyword, as the two before; `symbol = column` where that is arithmetic with np.exp, np.sin, np.cos, np.tanh, np.abs and
powers;
`advanced(z, travel)`: of a column that has a memory, the state after z and a way of the joint, as symbols; its symbol
takes the state by the keyword z;
`energy(q)`: the potential energy of its column [J], where it keeps any;
`needs`: names of signals beside q, qd, qdd that its column takes by keyword (`SIGNALS`, `RECORDED`);
`torques(q, qd, qdd, signals)`: from all joints' motion (N, n) its torque (n_entries, N) on each joint that it acts on,
where these are not one column times `along`;
`require(q, qd, qdd)`: raises ModelError where a motion leaves what its law holds for;
`remembers`: whether its column depends on the way q alone, and on whence the joint came (`RUN_UP`);
`since`: names of numbers that files of earlier versions lack;
`bent`: what terms have in common that are the elements, in their order, of one curve which a fit bends as little as it
can (`bends`);
`suffix`: what its parameters' names end in after the kind, so that a joint may have several of a kind: digits and `_`.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ident.arrays import Array
from ident.dynamics.rigid_body import inverse_dynamics, inverse_dynamics_pull_back
from ident.errors import ModelError, nearest, require_known
from ident.robot.robot import Robot

#: Who gives a signal (N, n) that a column asks for, from the term, the robot and q, qd, qdd (N, n). load [N m; N]: the
#: torque that links with the inertials `term.inertials` (n, 10) need.
SIGNALS: dict[str, Callable[[Any, Robot, Array, Array, Array], Array]] = {
    "load": lambda term, robot, q, qd, qdd: inverse_dynamics(robot, np.array(term.inertials), q, qd, qdd)
}

#: Signals of the same rows that terms share, by name and the inertials that they are of.
Made = dict[tuple[str, bytes], Array]

#: The derivatives (3, N, n) of sum(weights * signal) by q, qd, qdd, weights (N, n): the way back from these signals.
SIGNALS_BACK: dict[str, Callable[[Any, Robot, Array, Array, Array, Array], Array]] = {
    "load": lambda term, robot, q, qd, qdd, weights: inverse_dynamics_pull_back(
        robot, np.array(term.inertials), q, qd, qdd, weights
    )
}

#: Signals that a recording has beside its motion, or may have, and examples (N,) for any structure that depends on
#: them, of numbers in 0..1. time [s] (N,): since the recording's start; temperature [degC] (N, n), of the joints.
RECORDED: dict[str, Callable[[Array], Array]] = {
    "time": lambda even: 10.0 ** (8.0 * even - 2.0),
    "temperature": lambda even: 100.0 * even,
}
#: How far from their first position joints were in the rows before it (K, n) [rad; m], among the signals of a motion.
RUN_UP = "run_up"
#: Standard deviation of a curve's second differences, as a share of the joint's torque (root mean square).
BENDS = 0.3
NO_SIGNALS: Mapping[str, Array] = {}


@dataclass(frozen=True)
class Kind:
    """What the parameters of one ending mean.

    name: the ending, such as `stiffness` of `joint3.stiffness`; words: what it is called in a sentence; law: its torque
    as a formula; units: of a parameter, for a joint that turns and for one that slides; friction: whether it resists
    movement; key: in [model] of an experiment, by default the name; standard: whether a model has it unless it is told
    otherwise; example: of a table of it there; mechanism: whether it is a part that the robot has,
    beside which the logs still have a say in the other terms.
    """

    name: str
    words: str
    law: str
    units: tuple[str, str]
    friction: bool = False
    key: str = ""
    standard: bool = False
    example: str = ""
    mechanism: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", self.key or self.name)

    def unit(self, joint_kind: str, either: str = "{}; {}") -> str:
        """Return the unit for a "revolute" or "prismatic" joint; for a motor or an unknown joint both of them."""
        by_kind = dict(zip(("revolute", "prismatic"), self.units, strict=True))
        return by_kind.get(joint_kind) or either.format(*self.units)


class Term(Protocol):
    """A part of the joint torques that is linear in its parameters, one for each joint (or motor) that it acts on."""

    @property
    def kind(self) -> Kind:
        """Ending of its parameters, their units and the law in words."""

    @property
    def joints(self) -> tuple[str, ...] | None:
        """Names of the joints that have it, None for all."""

    @property
    def nonnegative(self) -> bool:
        """Whether physics forbids negative values of its parameters."""

    @property
    def column(self) -> Callable[..., Array]:
        """The torque per parameter from q, qd, qdd (m, N) of its joints [N m; N], in the same shape."""


def rubs(term: Term) -> bool:
    """Return whether a term is friction that the joint's own movement says all of, not its load or temperature."""
    return term.kind.friction and not getattr(term, "needs", ())


#: SI units of the numbers of terms, at a joint that turns and at one that slides, by what their words begin with.
_UNITS = {
    "a speed": ("rad/s", "m/s"), "a travel": ("rad", "m"), "a position": ("rad", "m"),
    "a length": ("m", "m"), "a time": ("s", "s"), "a temperature": ("degC", "degC"),
}  # fmt: skip


def setting_units(words: str) -> tuple[str, str]:
    """Return the units of a number of a term, "1" for a power, ratio or count."""
    return next((units for start, units in _UNITS.items() if words.startswith(start)), ("1", "1"))


_RULES: dict[str, Callable[[float, float], bool]] = {
    **{name: getattr(operator, name) for name in ("gt", "ge", "lt", "le", "ne")},
    "whole": lambda x, _: x == int(x),
}


def setting(words: str, default: Any = dataclasses.MISSING, **bounds: float) -> Any:
    """Return a dataclass field that is a key of the term's table.

    words: what it takes; bounds: gt, ge, lt, le, ne and whole. A `Model` and experiment files refuse other numbers.
    """
    return dataclasses.field(default=default, metadata={"description": words, **bounds})


def allowed(value: float, description: str = "", **bounds: float) -> bool:
    """Return whether a `setting` of these words and bounds takes a number."""
    return math.isfinite(value) and all(_RULES[name](value, end) for name, end in bounds.items())


def require_settings(term: Any) -> None:
    """Raise ModelError where a term has a number that its `setting` does not take, other than its default."""
    for f in dataclasses.fields(term):
        value = getattr(term, f.name)
        if f.name == "law":
            require_settings(value)
        if f.name not in numbers(term):
            continue
        if value is not f.default and not allowed(value, **f.metadata):
            raise ModelError(f"{f.name} of {term.kind.words} is {value:g}, wanted {f.metadata['description']}")


def constant(*slopes: float) -> Any:
    """Return `slopes` of a column that is straight in q, qd, qdd."""
    return staticmethod(lambda q, qd, qdd: slopes)


def element() -> Any:
    """Return a field that tells several terms of a kind on one joint apart: all but the first have it as a suffix."""
    return setting("a whole number from 1 to 9", 1.0, ge=1, le=9, whole=True)


def element_suffix(term: Any) -> str:
    """Return the number of a term's element beside the first one."""
    return "" if term.element == 1 else f"{term.element:g}"


def along(term: Term, robot: Robot) -> tuple[tuple[str, ...], Array]:
    """Return on what a term acts: names of its joints or motors, and their speeds' directions (m, n) among the joints'.

    Raises ModelError for joints that the robot does not have.
    """
    own = getattr(term, "along", None)
    if own is not None:
        names, directions = own(robot)
        return names, directions
    at = chosen(term.joints, robot)
    return tuple(robot.joint_names[j] for j in at), np.eye(robot.n)[at]


def names(term: Term, robot: Robot) -> tuple[str, ...]:
    """Return the names of its parameters, such as `joint3.viscous`."""
    ending = f"{term.kind.name}{getattr(term, 'suffix', '')}"
    return tuple(f"{owner}.{ending}" for owner in along(term, robot)[0])


def entries(term: Term, robot: Robot) -> tuple[tuple[int, int], ...]:
    """Return the (joint, parameter) indices of the columns that are not zero."""
    return tuple((int(j), int(k)) for k, j in np.argwhere(along(term, robot)[1]))


def columns(
    term: Term,
    robot: Robot,
    q: Array,
    qd: Array,
    qdd: Array,
    signals: Mapping[str, Array] = NO_SIGNALS,
    made: Made | None = None,
) -> Array:
    """Return those columns, (n_entries, N), from q, qd, qdd (N, n); ModelError for a signal that nobody gives.

    signals: those of `RECORDED`, (N,) or (N, n), by name, and RUN_UP (K, n), and of `SIGNALS` what is not to be made
    here; made: takes what other terms of the same rows ask for, too.
    """
    made = {} if made is None else made
    whole = getattr(term, "torques", None)
    if whole is not None:
        return np.asarray(whole(q, qd, qdd, signals))
    more = {}
    for name in getattr(term, "needs", ()):
        if name in signals:
            more[name] = signals[name] if np.ndim(signals[name]) == 1 else _seen(term, robot, signals[name])
        elif name in SIGNALS:
            key = name, np.array(getattr(term, "inertials", ())).tobytes()
            if key not in made:
                made[key] = SIGNALS[name](term, robot, q, qd, qdd)
            more[name] = _seen(term, robot, made[key])
        else:
            there = (*SIGNALS, *(given for given in signals if given != RUN_UP))
            problem = f"{term.kind.words} asks for the signal '{name}', which nobody gives{nearest(name, there)}"
            fix = f"Name its columns as {name} in the data set's [signals]" if name in RECORDED else ""
            raise ModelError(problem, fix=fix or f"There is {', '.join(there)}")
    seen = tuple(_seen(term, robot, x) for x in (q, qd, qdd))
    if hasattr(term, "require"):
        term.require(*seen)
    if getattr(term, "remembers", False) and RUN_UP in signals and len(q):
        found = _led_in(term, _seen(term, robot, signals[RUN_UP]), seen, more)
    else:
        found = term.column(*seen, **more)
    if not hasattr(term, "along"):
        return found
    directions = along(term, robot)[1]
    return np.stack([directions[k, j] * found[k] for j, k in entries(term, robot)])


def bends(terms: Sequence[Term], robot: Robot) -> Iterator[tuple[int, list[int], Array]]:
    """Yield each curve's joint, its parameters counted from the first term's, and rows (k, m) of how much it bends.

    They are the second differences of its elements [N m; N], the fixed one before the first among them. A log that has
    half of the positions leaves the rest of a curve open: a fit expects each difference within BENDS of the torque.
    """
    at, found = 0, dict[tuple[object, ...], list[int]]()
    for term in terms:
        for k, name in enumerate(own := names(term, robot)):
            if (bent := getattr(term, "bent", None)) is not None:
                key = name.rpartition(".")[0], term.kind.name, *bent
                found.setdefault(key, []).append(at + k)
        at += len(own)
    for (joint, *_), places in found.items():
        yield robot.joint_names.index(str(joint)), places, np.diff(np.eye(len(places) + 1), 2, axis=0)[:, 1:]


def _seen(term: Term, robot: Robot, x: Array) -> Array:
    """Return a signal (N, n) as the term sees it, (m, N); a view where it sees all joints, for columns are many."""
    if hasattr(term, "along"):
        return np.asarray(along(term, robot)[1] @ x.T)
    if term.joints is None:
        return x.T
    at = chosen(term.joints, robot)
    return x.T[at[0] : at[0] + 1] if len(at) == 1 else x.T[at]


def _led_in(term: Term, run_up: Array, states: Sequence[Array], signals: Mapping[str, Array]) -> Array:
    """Return the column (m, N) from q, qd, qdd (m, N) after a run-up (m, K), of which the way of q alone counts."""
    q, *rates = states
    ahead = np.zeros(run_up.shape[1])

    def padded(x: Array) -> Array:
        return np.concatenate([np.broadcast_to(ahead, (*x.shape[:-1], len(ahead))), x], axis=-1)

    way = np.hstack([q[:, :1] + run_up, q])
    beside = {name: padded(x) for name, x in signals.items()}
    return np.asarray(term.column(way, *map(padded, rates), **beside))[:, len(ahead) :]


def pull_back(term: Term, robot: Robot, q: Array, qd: Array, qdd: Array, weights: Array) -> Array:
    """Return the derivative (3, N, n) of sum(weights * columns) with respect to q, qd, qdd; weights as columns.

    Raises ModelError for a term that needs more than these three and what `SIGNALS` makes of them.
    """
    if not follows_motion(term):
        fix = f"Leave {term.kind.key} out of the design"
        raise ModelError(f"motions are designed without {term.kind.words}", fix=fix)
    found, each = np.zeros((3, *q.shape)), weights
    directions = along(term, robot)[1] if hasattr(term, "along") else None
    if directions is not None:
        each = np.zeros((len(directions), len(q)))
        for (j, k), row in zip(entries(term, robot), weights, strict=True):
            each[k] += directions[k, j] * row
    needs: tuple[str, ...] = getattr(term, "needs", ())
    signals = {name: _seen(term, robot, SIGNALS[name](term, robot, q, qd, qdd)) for name in needs}
    slopes = slopes_of(term, *(_seen(term, robot, x) for x in (q, qd, qdd)), **signals)
    for order, slope in enumerate(slopes):
        if isinstance(slope, np.ndarray) or slope:
            part = np.zeros_like(q)
            if directions is None:
                part[:, chosen(term.joints, robot)] = (each * slope).T
            else:
                part = (each * slope).T @ directions
            if order < 3:
                found[order] += part
            else:
                found += SIGNALS_BACK[needs[order - 3]](term, robot, q, qd, qdd, part)
    return found


def follows_motion(term: Term) -> bool:
    """Return whether q, qd, qdd say all that a term depends on, so that motions can be designed with it."""
    return SIGNALS.keys() >= set(getattr(term, "needs", ()))


def slopes_of(term: Term, q: Array, qd: Array, qdd: Array, **signals: Array) -> list[Array]:
    """Return the derivatives of a term's column by q, qd, qdd (m, N) and by its signals."""
    own = getattr(term, "slopes", None)
    if own is not None:
        return list(own(q, qd, qdd, **signals))
    found, given = [], [q, qd, qdd, *signals.values()]
    for order, x in enumerate(given):
        step, ends = 1e-6 * np.maximum(1.0, np.abs(x)), []
        for way in (1.0, -1.0):
            moved = [*given[:order], x + way * step, *given[order + 1 :]]
            ends.append(term.column(*moved[:3], **dict(zip(signals, moved[3:], strict=True))))
        found.append((ends[0] - ends[1]) / (2.0 * step))
    return found


def numbers(term: Any, kind: str = "float") -> list[str]:
    """Return the names of a term's (or its class's) fields that are numbers, or of another annotation."""
    return [f.name for f in dataclasses.fields(term) if getattr(f.type, "__name__", f.type) == kind]


def required(f: dataclasses.Field[Any]) -> bool:
    """Return whether a field has to be given."""
    return f.default is dataclasses.MISSING


def shape(term: Term) -> dict[str, float]:
    """Return the numbers beside its parameters that its column depends on, such as {"tanh": 0.01}; {} where none."""
    own = getattr(term, "shape", None)
    return {name: float(getattr(term, name)) for name in numbers(term)} if own is None else dict(own)


def chosen(joints: tuple[str, ...] | None, robot: Robot) -> list[int]:
    """Return the indices of the named joints, or of all when None; ModelError names an unknown one."""
    if joints is None:
        return list(range(robot.n))
    require_known(joints, robot.joint_names, ModelError, f"robot '{robot.name}' has no joint")
    return [robot.joint_names.index(name) for name in joints]
