"""What a log says of lengths, zeros and gains by slopes alone, and which of these it cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, radians

import numpy as np

from ident.compare.causes.mistakes import Mistake, mistakes
from ident.compare.causes.reading import Rows, rows_of
from ident.compare.causes.slides import mistaken
from ident.compare.causes.weighing import Weigher
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
