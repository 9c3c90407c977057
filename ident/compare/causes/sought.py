"""What is looked for anew beside each reading, as what that leaves of the torques tells where to look.

Tilts of the base by slopes; velocities, and other joints' torques, in a column; values so far off that slopes do not
lead there; signs of several joints at once, of which one put right is no way to the others; what one of several
recordings has and the others have not. A load of one recording, a body [m, m c, I] (10,) on the last link, is found by
least squares together with all other parameters,

    tau = Y phi + Y_last pi_load  in that recording,   tau = Y phi  in the others.

A part that is picked and placed is the same in stretches, which are found in turn with it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations, product

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.compare.causes import undone
from ident.compare.causes.geometries import Described, File
from ident.compare.causes.mistakes import Mistake, Size, transmission, zero
from ident.compare.causes.normal import solved
from ident.compare.causes.reading import Reading, Rows
from ident.compare.causes.undone import Without
from ident.compare.causes.weighing import Weighed, Weigher, last_link
from ident.estimate.prior import Prior
from ident.robot.robot import Robot
from ident.tables import below


def sought(
    weigher: Weigher, reading: Reading, prior: Prior, described: Described, rate_hz: float, names: Sequence[str]
) -> Iterator[Mistake]:
    """Yield all of it; rate_hz: as it is declared of logs without stamps, 0 of others; names: of the recordings."""
    yield from tilts(weigher, reading, described)
    yield from speeds(weigher.rows, weigher.plain.reading.robot)
    yield from crosstalk(weigher.rows, weigher.plain.reading.robot, described)
    yield from far_off(weigher, reading, described, rate_hz)
    yield from signs(weigher, reading, prior)
    yield from loads(weigher, reading, names)
    yield from parts(weigher, reading)
    yield from differing(reading, names)


_DEGREE = np.pi / 180
_TURN = 1e-4 * _DEGREE
#: Spreads up to which a tilt is looked for, 50 degrees: what is mounted farther off is named as another direction.
_MOST_TILTED = 25.0
#: Combinations of two axes across gravity whose slopes and curvatures give those of all.
_AXES = np.array([[1.0, 0.0], [0.0, 1.0], [0.5**0.5, 0.5**0.5]])


def tilts(weigher: Weigher, reading: Reading, described: Described) -> Iterator[Mistake]:
    """Yield that gravity is turned about that axis across it, of the base, which explains the torques best."""
    gravity = reading.robot.gravity
    if not gravity.any():
        return
    across = np.delete(np.eye(3), int(np.argmax(np.abs(gravity))), axis=0)
    axis = _direction(weigher, reading, across) @ across
    about = "(" + ", ".join(f"{x:.2g}" for x in axis.round(3) + 0.0) + ")"
    what = f"the base is tilted: gravity is turned by {{}} degrees about {about} of the base"
    size = Size(2 * _DEGREE, 1 * _DEGREE, _DEGREE, far=_MOST_TILTED)
    mend, change = described.turned(about), undone.tilted(axis)
    yield Mistake("tilt", "robot", what, mend, change, size, changed=described.turned_in)


def _direction(weigher: Weigher, reading: Reading, across: Array) -> Array:
    """Return the combination (2,), of length 1, of two axes (2, 3) by a step of Gauss and Newton along both."""
    state = weigher.weighed(reading, left_out=False)
    found = [weigher.slopes(state, undone.tilted(x @ across)(reading, _TURN), _TURN) for x in _AXES]
    values, worths = np.array(found).T
    if not values.all():
        return np.asarray(_AXES[np.argmax(worths)])
    curved = worths / values**2  # up to one factor
    mixed = curved[2] - 0.5 * (curved[0] + curved[1])
    step = np.linalg.lstsq(np.array([[curved[0], mixed], [mixed, curved[1]]]), (curved * values)[:2])[0]
    return np.asarray(step / np.linalg.norm(step))


#: Joints stay this near to where they are on average [rad; m]: the integral of a position does not.
NEAR = 2.0 * np.pi


def speeds(rows: Rows, robot: Robot) -> Iterator[Mistake]:
    """Yield each joint whose column of positions may be its velocity, with four averages of the position to try."""
    near = np.abs(rows.integrals).max(axis=0) < NEAR
    for j in np.flatnonzero(near & (np.ptp(rows.q, axis=0) > 0)).tolist():
        joint = robot.joints[j]
        what, mend = "its column of positions is its velocity", "name the column that holds its position"
        for quarter in range(1 if joint.slides else 4):
            yield Mistake("velocity", joint.name, what, mend, undone.speed(j, quarter * np.pi / 2))


#: What shares usually are, of the other torque, and of its own; what any robot has, of how far its own varies, of which
#: a constant weight is no part.
SHARE, ORDINARY = 0.1, 0.04
#: Shares that are looked for: to three times what a torque is, which may be small as they cancel, in usual ones of it.
_FAR_SHARE = 30.0


def crosstalk(rows: Rows, robot: Robot, described: Described) -> Iterator[Mistake]:
    """Yield each pair of joints of which the torque of the first may have a share of the second's in it.

    Torques of drives of which that of joint k moves with joint j, q_k + r q_j, have -r of the second in the first.
    """
    size, varies = np.sqrt(np.mean(rows.tau**2, axis=0)), rows.tau.std(axis=0)
    for j, k in permutations(np.flatnonzero(size > 0).tolist(), 2):
        what = f"its torque has {{}} % of that of {robot.joint_names[k]} in it"
        mend = "take that out: look for crosstalk of the two sensors, or for a drive that moves both joints"
        if abs(j - k) == 1:
            drives = described.keys(below("transmission", *transmission(robot.joint_names, {(k, j): "{-si}"})))
            mend = "take that out, where two sensors have crosstalk; where a drive moves both joints: "
            mend += f'{drives}, and `side = "motor"` for torque in dataset.toml'
        ratio = float(size[j] / size[k])
        usual = Size(
            SHARE * min(ratio, 1.0), ORDINARY * float(varies[j] / size[k]), 1e-2, far=_FAR_SHARE * max(ratio, 1.0)
        )
        yield Mistake("crosstalk", robot.joint_names[j], what, mend, undone.crosstalk(j, k), usual)


#: Factors of torques, and of positions, that are tried: those in between are found from there, smaller ones by slopes.
TRIED = np.log([*(1.0 / np.geomspace(4.0, 300.0, 6)[::-1]), *np.geomspace(4.0, 300.0, 6)])
TURNED = np.log([0.25, 1.0 / 3.0, 0.5, 2.0, 3.0, 4.0])
#: Factors of a time that is counted in rows. In those of inches time is that of lengths in another unit.
PACED = np.log([0.2, 0.25, 0.4, 0.5, 2.0, 2.5, 4.0, 5.0])
#: Zeros [rad]: smaller ones are found by slopes, quarters and halves of a turn are mistakes of their own.
MOVED = np.radians([-140.0, -115.0, -65.0, -45.0, -25.0, 25.0, 45.0, 65.0, 115.0, 140.0])
#: Log odds above which a factor is looked at closely.
_WORTH_A_LOOK = 5.0


def far_off(weigher: Weigher, reading: Reading, described: Described, rate_hz: float) -> Iterator[Mistake]:
    """Yield what is far off in torques, positions, the rate [Hz] of rows without stamps (0: none), and zeros."""
    plain = weigher.weighed(reading, left_out=False)
    yield from _gears(weigher, plain)
    yield from _rates(weigher, plain, rate_hz)
    for j, joint in enumerate(reading.robot.joints):  # but no quarter or half of a turn
        moved = 0.0 if joint.slides else _value(weigher, plain, ("zero", j), undone.more("zeros", j), MOVED)
        if degrees := round(np.degrees(moved), 1):
            yield zero(joint.name, j, degrees, described)


def _gears(weigher: Weigher, plain: Weighed) -> Iterator[Mistake]:
    """Yield each joint whose torque, or position, explains itself better by a factor far from 1, as of a gear."""
    for j, name in enumerate(plain.reading.robot.joint_names):
        for kind, change, tried in (
            ("gear", undone.larger_torque(j), TRIED),
            ("position scale", undone.larger_position(j), TURNED),
        ):
            value = _value(weigher, plain, (kind, j), change, tried) if plain.torques[j] else 0.0
            factor = float(f"{np.exp(value):.3g}")
            if factor == 1.0:
                continue
            times = f"{factor:g} times too small" if factor > 1.0 else f"{1 / factor:.3g} times too large"
            what = f"its torque is {times}, as on the motor's side of a gear, or in another unit"
            mend = f"multiply its torque by {factor:g}, its `gain`: the gear ratio, where that is it"
            if kind == "position scale":
                what = f"its position is {times} (gear ratio, encoder's lines)"
                mend = f"multiply its position by {factor:g}, its `gain`"
            yield Mistake(kind, name, what, mend, undone.fixed(change, float(np.log(factor))))


def _rates(weigher: Weigher, plain: Weighed, rate_hz: float) -> Iterator[Mistake]:
    """Yield another rate [Hz] of rows without stamps where the logs explain themselves better by one far off."""
    factor = float(np.exp(_value(weigher, plain, ("clock",), undone.longer_seconds, PACED))) if rate_hz else 1.0
    if factor != 1.0:
        rate = float(f"{rate_hz / factor:.3g}")
        what = f"the rate is wrong: rows were logged at about {rate:g} Hz, not {rate_hz:g}"
        mend = (
            f"`time = {{ rate_hz = {rate:g} }}`, or the rate near it that was set; a robot of another size looks alike"
        )
        yield Mistake("clock", "time", what, mend, undone.fixed(undone.longer_seconds, float(np.log(factor))))


def _value(weigher: Weigher, plain: Weighed, name: Hashable, change: Without, tried: Array) -> float:
    """Return the value of a mistake, by its name, that explains the logs best, 0 where none of those tried does."""
    from scipy.optimize import minimize_scalar

    def worth(value: float) -> float:
        return weigher.weighed(change(plain.reading, value), left_out=False).log - plain.log

    if weigher.tried.hopeless(name):
        return 0.0
    found = [worth(value) for value in tried]
    if weigher.tried.tell(name, max(found)) < _WORTH_A_LOOK:
        return 0.0
    near, step = float(tried[int(np.argmax(found))]), float(np.min(np.diff(tried)))
    return float(minimize_scalar(lambda x: -worth(x), bounds=(near - step, near + step), options={"xatol": 1e-3}).x)


#: Joints of which all signs are tried; of robots with more, this many that move most torque together.
MOST_SIGNS = 7
#: Sets within so much log p explain the logs alike, and those of the fewest joints are told, at most so many.
_AS_LIKELY, _ALIKE = 3.0, 3
#: Known bodies predict as much by a set that misses so many times as much as by the best of these.
_AS_WELL = 1.2

#: What is wrong, what to change in which file, and the reading without it, of signs (n,).
_KINDS: tuple[tuple[str, str, File, Callable[[Array], Without]], ...] = (
    (
        "they move the other way than the robot file says",
        "change their signs, or turn their axes round",
        "robot",
        lambda sign: undone.joints(np.diag(sign)),
    ),
    ("their torques have the other sign", "multiply their torques by -1, their `gain`", "log", undone.torques),
    (
        "their positions have the other sign, their torques have not",
        "multiply their positions by -1, their `gain`",
        "log",
        undone.positions,
    ),
)


def signs(weigher: Weigher, reading: Reading, prior: Prior) -> Iterator[Mistake]:
    """Yield sets of two joints or more that together have another sign, of each kind, where one explains most.

    A mirrored robot explains the torques as well: of such sets those are told by which known bodies predict most.
    """
    n = reading.robot.n
    tried = range(n) if n <= MOST_SIGNS else np.sort(np.argsort(-weigher.plain.torques)[:MOST_SIGNS]).tolist()
    every = [which for size in range(len(tried) + 1) for which in combinations(tried, size)]
    plain = weigher.weighed(reading, left_out=False).log
    read, odds = dict[tuple[str, tuple[int, ...]], Reading](), dict[tuple[str, tuple[int, ...]], float]()
    for which, (what, _, _, without) in product(every, _KINDS):  # two kinds have the same columns
        name = what, which
        if not which or not weigher.tried.hopeless(name):
            read[name] = without(np.where(np.isin(range(n), which), -1.0, 1.0))(reading, 0.0)
            odds[name] = weigher.tried.tell(name, weigher.weighed(read[name], left_out=False).log - plain)
    for what, mend, file, without in _KINDS:
        found = {which: log for (kind, which), log in odds.items() if kind == what}
        alike = [which for which in found if found[which] > max(found.values()) - _AS_LIKELY]
        if not any(prior.neutral) and len(alike) > 1:
            left = {which: weigher.told(read[what, which], prior.inertials).relative for which in alike}
            alike = [which for which in alike if left[which] < _AS_WELL * min(left.values())]
        alike = [which for which in alike if not any({*less} < {*which} for less in alike)]
        for which in (x for x in alike[:_ALIKE] if len(x) > 1):
            names = " and ".join(reading.robot.joint_names[j] for j in which)
            turned = without(np.where(np.isin(range(n), which), -1.0, 1.0))
            yield Mistake("signs", names, what, mend, turned, changed=file)


#: What robots without lengths carry stays within this [m] of the last frame.
LEAST_REACH = 0.5
#: A load that explains no more than this share of any joint's torque may be taken from what no model has.
SLIGHT = 0.01


def loads(weigher: Weigher, reading: Reading, names: Sequence[str]) -> Iterator[Mistake]:
    """Yield a load of each recording (names), where there are several; none that would reach farther than the robot.

    Of two recordings the one that carries it stands for both.
    """
    each = [((k, -np.inf, np.inf),) for k in range(len(names) if len(names) > 1 else 0)]
    bodies = [_carried(weigher, reading, weigher.rows.within(stretches))[1] for stretches in each]
    for k, (name, body) in enumerate(zip(names, bodies, strict=False)):
        if len(bodies) == 2 and body[0] < 0.0 < bodies[1 - k][0]:
            continue
        if np.abs(body[4:]).max() > abs(body[0]) * max(reading.robot.reach, LEAST_REACH) ** 2:
            continue  # inertia without weight is another effect's
        mass = f"{abs(body[0]):.3g} kg"
        what = f"it carries {mass} that the others do not" if body[0] > 0 else f"it lacks {mass} that the others carry"
        mend = f"leave {name} out of `fit` and `validate`, or fit it alone; `ident payload` identifies what is carried"
        yield Mistake("load", f"recording {name}", what, mend, _unloaded(each[k], body), slight=SLIGHT)


#: Blocks of rows, of so many at least, that hold a part or do not, and how often both are found in turn.
BLOCKS, FEWEST, TURNS = 400, 4, 8
#: Share of the error that is left without a part which comes and goes: 0.1 to 0.4 of eight; friction that grows with
#: gravity alone looks like one of 0.81, a torque that saturates like one of 0.92, a part of 0.3 kg like one of 0.85.
COMES = 0.75
#: A recording is with it, or without it, where this share of its rows is.
WHOLE = 0.9


def parts(weigher: Weigher, reading: Reading) -> Iterator[Mistake]:
    """Yield a part that the last link carries now and then, as where it is picked and placed.

    In turn, the body follows from the blocks of rows that hold it, and these from which fits them better: with it or
    without it. The first are those with more weight at the last link's origin than others. weigher: of rows that are
    not thinned.
    """
    state, robot, rows = weigher.weighed(reading, left_out=False), reading.robot, weigher.rows
    scale = weigher.kept(reading) / state.noise
    size = max(len(scale) // BLOCKS, FEWEST)
    first = np.arange(0, len(scale), size)
    left, pull = weigher.residual(state) * scale, _torque(weigher, reading, np.eye(10)[0]) * scale
    weight, squares = (np.add.reduceat(np.sum(pull * x, axis=1), first) for x in (left, pull))
    weight = weight / np.where(squares > 0.0, squares, np.inf)
    held = weight > np.mean(np.percentile(weight, (10, 90)))
    for _ in range(TURNS):
        if held.all() or not held.any():
            return
        phi, body = _carried(weigher, reading, np.repeat(held, size)[: len(scale)])
        without = weigher.residual(replace(state, phi=phi))
        with_it = without - _torque(weigher, reading, body)
        gains = np.add.reduceat(np.sum(scale**2 * (without**2 - with_it**2), axis=1), first)
        last, held = held, np.convolve(gains, np.ones(3), "same") > 0.0
        if np.array_equal(last, held):
            break
    inside = np.repeat(last, size)[: len(scale)]
    after = np.where(inside[:, None], with_it, without) * scale
    heavy = np.abs(body[4:]).max() <= abs(body[0]) * max(robot.reach, LEAST_REACH) ** 2
    shares = np.array([np.mean(inside[part]) for part in rows.parts])
    whole = bool(np.all(np.abs(shares - 0.5) > WHOLE - 0.5))  # a load of some recordings, as of `loads`
    if whole or not heavy or np.sum(after**2) > COMES**2 * np.sum(left**2):
        return
    if body[0] < 0.0:
        inside, body = ~inside, -body
    what = f"it carries a part of about {body[0]:.2g} kg now and then, in {100 * np.mean(inside):.0f} % of the rows"
    mend = "log it without parts, or all the time with one: the fit cannot know when they are held"
    yield Mistake("load", robot.links[-1], what, mend, _unloaded(_stretches(rows, inside), body), slight=SLIGHT)


def _stretches(rows: Rows, inside: NDArray[np.bool_]) -> tuple[tuple[int, float, float], ...]:
    """Return the stretches of samples (M,): recording, begin and end [s]."""
    found = []
    for k, part in enumerate(rows.parts):
        ends = np.flatnonzero(np.diff(inside[part], prepend=False, append=False))
        t = rows.t[part]
        found += [(k, float(t[a]), float(t[b - 1])) for a, b in zip(ends[::2], ends[1::2], strict=True)]
    return tuple(found)


def differing(reading: Reading, names: Sequence[str]) -> Iterator[Mistake]:
    """Yield each joint whose zero, friction or gain is another one in one recording (of names) than in others.

    Of two recordings the second stands for both.
    """
    none = np.zeros(reading.robot.n)
    for k, (j, joint) in product(range(len(names) < 3, len(names)), enumerate(reading.robot.joints)):
        one = np.eye(reading.robot.n)[j]
        word = "mm" if joint.slides else "degrees"
        size = Size(0.02, 0.005, 1e-3) if joint.slides else Size(3 * _DEGREE, _DEGREE, _DEGREE)
        what = f"its zero is off by {{}} {word} in recording {names[k]} against the others"
        mend = f"find what moved its zero, and add {{}} {word} to its position there, or leave that recording out"
        yield Mistake("apart", joint.name, what, mend, undone.apart(k, one, none), size)
        what = f"its torque has to be {{}} larger in recording {names[k]} than in the others"
        mend = "find what changed (drive, gain, brake), multiply it by {factor} there, or leave that recording out"
        yield Mistake("apart", joint.name, what, mend, undone.apart(k, none, one), Size(0.2, 0.08))
        what = f"its friction is {{}} larger in recording {names[k]} than in the others"
        mend = "warm the robot up as for the others, and log it anew"
        yield Mistake("apart", joint.name, what, mend, undone.friction_in(k, j), Size(0.2, 0.3))
        what = f"its torque has the other sign in recording {names[k]} than in the others"
        mend = "multiply it by -1 there, or leave that recording out"
        yield Mistake("apart", joint.name, what, mend, undone.turned_in(k, j))


def _unloaded(stretches: tuple[tuple[int, float, float], ...], body: Array) -> Without:
    return lambda reading, _: replace(reading, loads=(*reading.loads, (stretches, body)))


def _carried(weigher: Weigher, reading: Reading, inside: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return all parameters (p,), and the body (10,) that the last link carries in some rows (N,)."""
    state = weigher.weighed(reading, left_out=False)
    columns, n, p = weigher.columns(reading), reading.robot.n, len(state.phi)
    (rows, tau), kept = weigher.packed(columns, reading), weigher.kept(reading)
    gram = np.zeros((p + 11, p + 11))
    for j, ((start, stop), used) in enumerate(zip(columns.span, columns.parameters, strict=True)):
        Y, last = rows[:, start : stop - 1], last_link(used, n)
        block = np.column_stack([Y, Y[:, list(last)] * inside[:, None], tau[:, j]])
        block *= (kept[:, j] / state.noise[j])[:, None]
        place = np.array([*used, *(p + i for i in last.values()), p + 10])
        gram[np.ix_(place, place)] += block.T @ block
    found = solved(gram)
    return found[:p], found[p:]


def _torque(weigher: Weigher, reading: Reading, body: Array) -> Array:
    """Return the torques (N, n) that a body (10,) on the last link needs."""
    columns = weigher.columns(reading)
    Y, tau = weigher.packed(columns, reading)
    found = np.zeros_like(tau)
    for j, ((start, _), used) in enumerate(zip(columns.span, columns.parameters, strict=True)):
        for k, i in last_link(used, reading.robot.n).items():
            found[:, j] += Y[:, start + k] * body[i]
    return found
