"""A tilted base: about which axis gravity is turned follows from the slopes of what is left of the torques."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ident.arrays import Array
from ident.compare.causes import undone
from ident.compare.causes.described import Described
from ident.compare.causes.mistakes import Mistake, Size
from ident.compare.causes.reading import Reading
from ident.compare.causes.weighing import Weigher

_DEGREE = np.pi / 180
_STEP = 1e-4 * _DEGREE
#: Spreads up to which a tilt is looked for, 50 degrees: what is mounted farther off is named as another direction.
_FARTHEST = 25.0
#: Combinations of two axes across gravity whose slopes and curvatures give those of all.
_TRIED = np.array([[1.0, 0.0], [0.0, 1.0], [0.5**0.5, 0.5**0.5]])


def tilts(weigher: Weigher, reading: Reading, described: Described) -> Iterator[Mistake]:
    """Yield that gravity is turned about that axis across it, of the base, which explains the torques best."""
    gravity = reading.robot.gravity
    if not gravity.any():
        return
    across = np.delete(np.eye(3), int(np.argmax(np.abs(gravity))), axis=0)
    axis = _direction(weigher, reading, across) @ across
    about = "(" + ", ".join(f"{x:.2g}" for x in axis.round(3) + 0.0) + ")"
    what = f"the base is tilted: gravity is turned by {{}} degrees about {about} of the base"
    size = Size(2 * _DEGREE, 1 * _DEGREE, _DEGREE, far=_FARTHEST)
    mend, change = described.turned(about), undone.tilted(axis)
    yield Mistake("tilt", "robot", what, mend, change, size, changed=described.turned_in)


def _direction(weigher: Weigher, reading: Reading, across: Array) -> Array:
    """Return the combination (2,), of length 1, of two axes (2, 3) by a step of Gauss and Newton along both."""
    state = weigher.weighed(reading, left_out=False)
    found = [weigher.slopes(state, undone.tilted(x @ across)(reading, _STEP), _STEP) for x in _TRIED]
    values, worths = np.array(found).T
    if not values.all():
        return np.asarray(_TRIED[np.argmax(worths)])
    curved = worths / values**2  # up to one factor
    mixed = curved[2] - 0.5 * (curved[0] + curved[1])
    step = np.linalg.lstsq(np.array([[curved[0], mixed], [mixed, curved[1]]]), (curved * values)[:2])[0]
    return np.asarray(step / np.linalg.norm(step))
