"""Whether a mistake is no matter, as any robot has such a thing, or as no joint feels it; and what a log says of
lengths, zeros and gains by slopes alone, and which of these it cannot tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, radians

import numpy as np

from ident.arrays import Array
from ident.compare.causes.mistakes import Mistake, mistakes
from ident.compare.causes.reading import Rows, rows_of
from ident.compare.causes.slides import mistaken
from ident.compare.causes.terms import PART
from ident.compare.causes.weighing import Weighed, Weigher
from ident.estimate.prior import Prior, neutral_prior
from ident.logs.motion import Motion
from ident.model import DriveInertia, Model, torque
from ident.robot.robot import Robot

#: Kinds, with the value that should show: a logarithm of a factor, or an angle [rad]; in words.
ASKED = {
    "length": (log(1.25), "lengths before {} off by 25 %"),
    "zero": (radians(10.0), "zeros of {} off by 10 degrees"),
    "torque gain": (log(1.4), "gains of {} off by 40 %"),
}
#: Worth in log p at which a value shows, and is looked into where it is also so many times what is ordinary.
_SHOWS, _LOOKED_INTO, _UNLIKE = 30.0, 50.0, 4.0
#: A gain that takes less than this share from the squares of a joint is no cause; one of so much is looked into.
_LEAST, _GAIN = 0.1, log(1.25)
#: Joints that never moved at this share of their speed limits, half of all at least, are told.
_SLOW = 0.2
_STEP = 1e-4
_ROWS = 400


@dataclass(frozen=True)
class Screened:
    """What is said at a glance: whether something may be far off; what the logs do not tell, "" for nothing."""

    odd: bool
    hidden: str


def unlike(mistake: Mistake, value: float) -> bool:
    """Return whether a value is that of a length or a zero that is far off, which other motions may feel more."""
    far = mistake.size is not None and abs(value) > _UNLIKE * mistake.size.ordinary
    return mistake.kind in ("length", "zero", "clocks") and far


def screened(model: Model, motions: Sequence[Motion], prior: Prior) -> Screened:
    """Return what the slopes of the torques left say of lengths, zeros and gains, for about the cost of a fit.

    prior: of the links. What known bodies tell beside the torques is not asked here.
    """
    weigher = Weigher(model, rows_of(motions, thinned=True), prior)
    anywhere = Weigher(Model(model.robot, (DriveInertia(),)), _any_motion(model.robot), neutral_prior(model.robot))
    asked = [m for m in mistakes(model.robot) if m.kind in (*ASKED, "clocks") and m.size is not None]
    odd, hidden = any(mistaken(weigher, weigher.plain.reading, prior)), {kind: list[str]() for kind in ASKED}
    for mistake, (value, least), (_, told) in zip(
        asked, _values(weigher, asked), _values(anywhere, asked), strict=True
    ):
        share = least * (_LEAST * weigher.independent / (2.0 * _SHOWS)) ** 0.5
        gain, most = mistake.kind == "torque gain", ASKED.get(mistake.kind, (np.inf,))[0]
        far = abs(value) > max(share, _GAIN) if gain else unlike(mistake, value)
        odd |= _SHOWS * (value / least) ** 2 > _LOOKED_INTO and far
        if (share > most if gain else told < most < least) and mistake.where not in hidden[mistake.kind]:
            hidden[mistake.kind].append(mistake.where)
    words = [ASKED[kind][1].format(", ".join(where)) for kind, where in hidden.items() if where]
    return Screened(odd, "; ".join(words))


def unreached(robot: Robot, motions: Sequence[Motion]) -> str:
    """Return that joints were moved at speeds far below their limits, "" where they were not, or rested."""
    fastest = np.max([np.abs(m.qd).max(axis=0) for m in motions], axis=0)
    most = np.array([joint.limits.velocity for joint in robot.joints])
    slow = (fastest > 0.0) & np.isfinite(most) & (fastest < _SLOW * most)
    if 2 * slow.sum() < robot.n:
        return ""
    return f"speeds of {', '.join(np.array(robot.joint_names)[slow])} above {100 * _SLOW:g} % of their limits"


def _values(weigher: Weigher, asked: Sequence[Mistake]) -> list[tuple[float, float]]:
    """Return which value of each mistake explains most, and the least one that would show (inf: parameters hide it)."""
    state, found = weigher.plain, list[tuple[float, float]]()
    plain = state.reading
    for mistake in asked:
        step = _STEP * (mistake.size.usual if mistake.size else 1.0)
        value, worth = weigher.slopes(state, mistake.without(plain, step), step)
        found.append((value, abs(value) * (_SHOWS / worth) ** 0.5 if worth else np.inf))
    return found


def _any_motion(robot: Robot) -> Rows:
    """Return rows of lively motion in any posture, under the torques of solid rods with 1 % noise."""
    rng, n = np.random.default_rng(0), robot.n
    q = rng.uniform(-1.0, 1.0, (_ROWS, n)) * np.where([j.slides for j in robot.joints], 0.5, np.pi)
    qd, qdd, t = rng.normal(size=(_ROWS, n)), 3.0 * rng.normal(size=(_ROWS, n)), np.arange(_ROWS) / 100.0
    tau = torque(Model(robot), neutral_prior(robot).inertials.ravel(), q, qd, qdd)
    tau += 0.01 * rng.normal(size=tau.shape) * (tau.std(axis=0) + 0.01 * tau.std())
    return Rows(t, q, qd, qdd, tau, (0,), (((), 1),), np.ones(q.shape, bool), ((0, _ROWS),), {"time": t})


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
    if fell.sum() <= 0.0 and tied[0].mistake.where in ("all joints", "time"):
        return True
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
