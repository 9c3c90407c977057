"""Values so far off that slopes do not lead there: of torques or positions behind a gear, of rates, of zeros."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ident.arrays import Array
from ident.compare.causes import undone
from ident.compare.causes.described import Described
from ident.compare.causes.mistakes import Mistake, zero
from ident.compare.causes.reading import Reading
from ident.compare.causes.undone import Without
from ident.compare.causes.weighing import Weighed, Weigher

#: Factors of torques, and of positions, that are tried: those in between are found from there, smaller ones by slopes.
TRIED = np.log([*(1.0 / np.geomspace(4.0, 300.0, 6)[::-1]), *np.geomspace(4.0, 300.0, 6)])
TURNED = np.log([0.25, 1.0 / 3.0, 0.5, 2.0, 3.0, 4.0])
#: Factors of a time that is counted in rows. In those of inches time is that of lengths in another unit.
PACED = np.log([0.2, 0.25, 0.4, 0.5, 2.0, 2.5, 4.0, 5.0])
#: Zeros [rad]: smaller ones are found by slopes, quarters and halves of a turn are mistakes of their own.
MOVED = np.radians([-140.0, -115.0, -65.0, -45.0, -25.0, 25.0, 45.0, 65.0, 115.0, 140.0])
#: Log odds above which a factor is looked at closely.
_WORTH = 5.0


def far_off(weigher: Weigher, reading: Reading, described: Described, rate_hz: float) -> Iterator[Mistake]:
    """Yield what is far off in torques, positions, the rate [Hz] of rows without stamps (0: none), and zeros."""
    yield from _gears(weigher, reading)
    yield from _rates(weigher, reading, rate_hz)
    yield from _zeros(weigher, reading, described)


def _gears(weigher: Weigher, reading: Reading) -> Iterator[Mistake]:
    """Yield each joint whose torque, or position, explains itself better by a factor far from 1, as of a gear."""
    plain = weigher.weighed(reading, left_out=False)
    for j, name in enumerate(reading.robot.joint_names):
        for kind, change, tried in (
            ("gear", undone.larger_torque(j), TRIED),
            ("position scale", undone.larger_position(j), TURNED),
        ):
            factor = float(f"{np.exp(_value(weigher, plain, change, tried)):.3g}") if plain.torques[j] else 1.0
            if factor == 1.0:
                continue
            times = f"{factor:g} times too small" if factor > 1.0 else f"{1 / factor:.3g} times too large"
            what = f"its torque is {times}, as on the motor's side of a gear, or in another unit"
            mend = f"multiply its torque by {factor:g}, its `gain`: the gear ratio, where that is it"
            if kind == "position scale":
                what = f"its position is {times} (gear ratio, encoder's lines)"
                mend = f"multiply its position by {factor:g}, its `gain`"
            yield Mistake(kind, name, what, mend, undone.fixed(change, float(np.log(factor))))


def _rates(weigher: Weigher, reading: Reading, rate_hz: float) -> Iterator[Mistake]:
    """Yield another rate [Hz] of rows without stamps where the logs explain themselves better by one far off."""
    plain = weigher.weighed(reading, left_out=False)
    factor = float(np.exp(_value(weigher, plain, undone.longer_seconds, PACED))) if rate_hz else 1.0
    if factor != 1.0:
        rate = float(f"{rate_hz / factor:.3g}")
        what = f"the rate is wrong: rows were logged at about {rate:g} Hz, not {rate_hz:g}"
        mend = (
            f"`time = {{ rate_hz = {rate:g} }}`, or the rate near it that was set; a robot of another size looks alike"
        )
        yield Mistake("clock", "time", what, mend, undone.fixed(undone.longer_seconds, float(np.log(factor))))


def _zeros(weigher: Weigher, reading: Reading, described: Described) -> Iterator[Mistake]:
    """Yield each joint that turns whose zero is far off, but no quarter or half of a turn."""
    plain = weigher.weighed(reading, left_out=False)
    for j, joint in enumerate(reading.robot.joints):
        degrees = 0.0 if joint.slides else round(np.degrees(_value(weigher, plain, undone.zero(j), MOVED)), 1)
        if degrees:
            yield zero(joint.name, j, degrees, described)


def _value(weigher: Weigher, plain: Weighed, change: Without, tried: Array) -> float:
    """Return the value that explains the logs best, 0 where none of those tried does."""
    from scipy.optimize import minimize_scalar

    def worth(value: float) -> float:
        return weigher.weighed(change(plain.reading, value), left_out=False).log - plain.log

    found = [worth(value) for value in tried]
    if max(found) < _WORTH:
        return 0.0
    near, step = float(tried[int(np.argmax(found))]), float(np.min(np.diff(tried)))
    return float(minimize_scalar(lambda x: -worth(x), bounds=(near - step, near + step), options={"xatol": 1e-3}).x)
