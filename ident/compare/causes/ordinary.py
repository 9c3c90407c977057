"""Whether a mistake is no matter, as any robot has such a thing, or as no joint feels it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ident.arrays import Array
from ident.compare.causes.hidden import unlike
from ident.compare.causes.mistakes import Mistake
from ident.compare.causes.terms import PART
from ident.compare.causes.weighing import Weighed

#: What matters: this share of a torque, and half of its noise, as other motions than the fitted ones may ask for more.
FELT, OF_NOISE = 0.005, 0.5
#: A value as any robot has it is told where this share of a joint's torque is its work, as of a joint that is vertical
#: but for a small tilt.
SPOILT = 0.2
#: Values of these that matter to no joint by PART of its torque, and leave this much of all that is missed, may be
#: taken from friction that no model has: cogging. One that is far off need only help a single joint by more.
SLIGHT, HELPS, HELPS_ONE = ("length", "zero", "clock", "position scale"), 0.98, 0.95
#: What changes within a recording: neither is a matter of the files. One that leaves so much of a joint's error is
#: not what spoils it.
DRIFTS, LEAVES = ("fading", "drifting", "warming"), 0.85


#: Where more than this share of the torque is missed beyond its noise, and a mistake takes less than this share of the
#: square of that, something else is wrong: parts that come and go gave zeros off by -23 and -20 degrees, of 0.022 and
#: 0.03. Of 14 planted mistakes that were drawn the least took 0.048, the next 0.39. And no joint has less by this share
#: of its own square. Both are larger where several explain as much: joint 5 of the TX40 drifts, or has crosstalk.
MUCH, TAKES, OWN = 0.02, (0.035, 0.1), (0.2, 0.36)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A mistake with its value, the reading without it weighed, and its log p, that of such a mistake included."""

    mistake: Mistake
    value: float
    weighed: Weighed
    log: float


def ordinary(tied: Sequence[Candidate], now: Weighed, noise: Array) -> bool:
    """Return whether what cannot be told apart is no matter, as one of it is no larger than any robot's.

    Neither is what no joint feels, or leaves nearly all of a large error. Of drifts that cannot be told apart each one
    spoils what is predicted, unless it stays within the noise (n,).
    """
    several, left = len(tied) > 1, now.channels(now.left)
    missed, fell = float(left.sum() - np.sum(np.square(noise))), left - tied[0].weighed.channels(tied[0].weighed.left)
    little = fell.sum() < TAKES[several] * missed and bool(np.all(fell <= OWN[several] * left))
    if little and missed > MUCH**2 * now.torques.sum():
        return True
    if not any(_felt(now, c.weighed, noise) or unlike(c.mistake, c.value) for c in tied):
        return True
    some = [c for c in tied if _ordinary(c, now)]
    if len(some) == len(tied) or any(c.mistake.kind not in DRIFTS for c in some):
        return bool(some)
    return bool(some) and not all(_felt(now, c.weighed, noise) for c in tied)


def _felt(before: Weighed, after: Weighed, noise: Array) -> bool:
    """Return whether a mistake changes the torque of some joint by OF_NOISE of its noise (n,) [N m; N], and by FELT."""
    fell = before.channels(before.left) - after.channels(after.left)
    return bool(np.any(fell > np.maximum((OF_NOISE * noise) ** 2, FELT**2 * before.channels(before.torques))))


def _ordinary(c: Candidate, now: Weighed) -> bool:
    left, torques = now.channels(now.left), now.channels(now.torques)
    fell = left - c.weighed.channels(c.weighed.left)
    if c.mistake.kind in DRIFTS and np.all(fell < (1.0 - LEAVES**2) * left):
        return True
    halved = fell > 0.75 * left
    if c.mistake.size is None:  # no model has all of its friction, but one half of whose error that is lacks a part
        slight = np.where(halved, min(c.mistake.slight, PART), c.mistake.slight)
        return bool(np.all(fell <= slight**2 * torques)) and c.mistake.slight > 0.0
    small = bool(np.all(fell <= np.where(halved, FELT, PART) ** 2 * torques))
    helps = float(fell.sum()) >= (1.0 - HELPS**2) * float(left.sum())
    helps |= unlike(c.mistake, c.value) and bool(np.any(fell > (1.0 - HELPS_ONE**2) * left))
    if c.mistake.kind in SLIGHT and small and not helps:
        return True
    spoilt = bool(np.any(halved & (fell > SPOILT**2 * torques)))
    return abs(c.value) <= c.mistake.size.ordinary and not spoilt
