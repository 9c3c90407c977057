"""A torque on the other side of a gear, or in another unit: by which factor it is off, however far that is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ident.compare.causes import undone
from ident.compare.causes.mistakes import Mistake
from ident.compare.causes.reading import Reading
from ident.compare.causes.weighing import Weigher

#: Factors that are tried, up and down: those in between are found from there, smaller ones by slopes.
TRIED = np.log(np.geomspace(4.0, 300.0, 6))
#: Log odds above which a factor is looked at closely.
_WORTH = 5.0


def gears(weigher: Weigher, reading: Reading) -> Iterator[Mistake]:
    """Yield each joint whose torque explains itself better by a factor far from 1, as of a gear that is left out."""
    from scipy.optimize import minimize_scalar

    plain = weigher.weighed(reading, left_out=False)
    for j, name in enumerate(reading.robot.joint_names):
        larger = undone.larger_torque(j)

        def worth(value: float, larger: undone.Without = larger) -> float:
            return weigher.weighed(larger(reading, value), left_out=False).log - plain.log

        tried = np.array([*-TRIED, *TRIED])
        found = [worth(value) for value in tried] if plain.torques[j] else [0.0]
        if max(found) < _WORTH:
            continue
        near, step = float(tried[int(np.argmax(found))]), float(TRIED[1] - TRIED[0])
        ends = (near - step, near + step)
        value = float(minimize_scalar(lambda x, f=worth: -f(x), bounds=ends, options={"xatol": 1e-2}).x)
        factor = float(f"{np.exp(value):.3g}")
        times = f"{factor:g} times too small" if value > 0 else f"{1 / factor:.3g} times too large"
        what = f"its torque is {times}, as on the motor's side of a gear, or in another unit"
        mend = f"multiply its torque by {factor:g}, its `gain`: the gear ratio, where that is it"
        yield Mistake("gear", name, what, mend, undone.fixed(larger, float(np.log(factor))))
