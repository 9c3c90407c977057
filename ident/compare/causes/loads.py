"""What one of several recordings has, and the others have not: a load, another zero, gain or friction of a joint.

A load is a body on the last link in that recording alone. The body [m, m c, I] (10,) is found by least squares together
with all other parameters,

    tau = Y phi + Y_last pi_load  in that recording,   tau = Y phi  in the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from ident.arrays import Array
from ident.compare.causes import undone
from ident.compare.causes.mistakes import Mistake, Size
from ident.compare.causes.reading import Reading
from ident.compare.causes.undone import Without
from ident.compare.causes.weighing import Weigher, last_link, solved

#: What robots without lengths carry stays within this [m] of the last frame.
LEAST_REACH = 0.5
#: A load that explains no more than this share of any joint's torque may be taken from what no model has.
SLIGHT = 0.01
_DEGREE = np.pi / 180


def loads(weigher: Weigher, reading: Reading, names: Sequence[str]) -> Iterator[Mistake]:
    """Yield a load of each recording (names), where there are several; none that would reach farther than the robot.

    Of two recordings the one that carries it stands for both.
    """
    bodies = [_carried(weigher, reading, k) for k in range(len(names) if len(names) > 1 else 0)]
    for k, (name, body) in enumerate(zip(names, bodies, strict=False)):
        if len(bodies) == 2 and body[0] < 0.0 < bodies[1 - k][0]:
            continue
        if np.abs(body[4:]).max() > abs(body[0]) * max(reading.robot.reach, LEAST_REACH) ** 2:
            continue  # inertia without weight is another effect's
        mass = f"{abs(body[0]):.3g} kg"
        what = f"it carries {mass} that the others do not" if body[0] > 0 else f"it lacks {mass} that the others carry"
        mend = f"leave {name} out of `fit` and `validate`, or fit it alone; `ident payload` identifies what is carried"
        yield Mistake("load", f"recording {name}", what, mend, _without(k, body), slight=SLIGHT)


def differing(reading: Reading, names: Sequence[str]) -> Iterator[Mistake]:
    """Yield each joint whose zero, friction or gain is another one in one recording (of names) than in others.

    Of two recordings the second stands for both.
    """
    for k, (j, joint) in product(range(len(names) == 2, len(names)), enumerate(reading.robot.joints)):
        if len(names) == 1:
            return
        word = "mm" if joint.slides else "degrees"
        size = Size(0.02, 0.005, 1e-3) if joint.slides else Size(3 * _DEGREE, _DEGREE, _DEGREE)
        what = f"its zero is off by {{}} {word} in recording {names[k]} against the others"
        mend = f"find what moved its zero, and add {{}} {word} to its position there, or leave that recording out"
        yield Mistake("apart", joint.name, what, mend, undone.zero_in(k, j), size)
        what = f"its torque has to be {{}} larger in recording {names[k]} than in the others"
        mend = "find what changed (drive, gain, brake), multiply it by {factor} there, or leave that recording out"
        yield Mistake("apart", joint.name, what, mend, undone.larger_torque_in(k, j), Size(0.2, 0.08))
        what = f"its friction is {{}} larger in recording {names[k]} than in the others"
        mend = "warm the robot up as for the others, and log it anew"
        yield Mistake("apart", joint.name, what, mend, undone.friction_in(k, j), Size(0.2, 0.3))
        what = f"its torque has the other sign in recording {names[k]} than in the others"
        mend = "multiply it by -1 there, or leave that recording out"
        yield Mistake("apart", joint.name, what, mend, undone.turned_in(k, j))


def _without(k: int, body: Array) -> Without:
    return lambda reading, _: replace(reading, loads=(*reading.loads, (k, body)))


def _carried(weigher: Weigher, reading: Reading, k: int) -> Array:
    """Return the body (10,) that the last link carries in recording k."""
    state = weigher.weighed(reading, left_out=False)
    columns, n, p = weigher.columns(reading), reading.robot.n, len(state.phi)
    (rows, tau), kept = weigher.packed(columns, reading), weigher.kept(reading)
    inside = weigher.rows.within([(k, -np.inf, np.inf)])
    gram = np.zeros((p + 11, p + 11))
    for j, ((start, stop), used) in enumerate(zip(columns.span, columns.parameters, strict=True)):
        Y, last = rows[:, start : stop - 1], last_link(used, n)
        block = np.column_stack([Y, Y[:, list(last)] * inside[:, None], tau[:, j]])
        block *= (kept[:, j] / state.noise[j])[:, None]
        place = np.array([*used, *(p + i for i in last.values()), p + 10])
        gram[np.ix_(place, place)] += block.T @ block
    return solved(gram)[p:]
