"""What is to be calibrated, and whether it is worth it: tilt, zeros, gains, saturation, delays, lengths, by groups.

Wrong corrections harm a motion that was not fitted. So a group counts only where stretches that are left out are
predicted better with it than without, by GAIN of the error and CERTAIN standard errors of the paired differences, and
where the values of either half of the log are right for the other half, bodies and the other groups being free. Delays
come from readers of single joints, so each is judged by itself, against the share of GAIN that one of n joints has.
Groups are taken one after the other, the most gainful first. All of it happens on the equations at the end of the
calibration.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.calibrate.calibrate import Calibration, Normal, calibrated, free_of, solved
from ident.estimate.prior import Prior
from ident.logs.motion import Motion
from ident.model.model import Model
from ident.robot import Robot
from ident.robot.unknown import SPREADS, Unknown, gains, length, nominal, saturations, skews, spreads, tilts, zeros

Joints = bool | tuple[str, ...]


@dataclass(frozen=True)
class Wishes:
    """What [calibrate] of an experiment asks for. What the logs cannot tell is named with the reason."""

    gravity: bool = False
    """The base may be tilted."""
    zeros: Joints = False
    """Of all joints, or of those named, the zero may be off."""
    gains: Joints = False
    """Torques of all joints, or of those named, may be read too large or too small, against each other."""
    saturation: Joints = False
    """Torque constants of all joints, or of those named, may fall with the current."""
    skew: Joints = False
    """Positions of all joints, or of those named, may be read late; each joint is judged by itself."""
    lengths: tuple[str, ...] = ()
    """Lengths that may be off: "joint2.a" of a table, "joint2.x" of a URDF."""
    tilt_deg: float = float(np.rad2deg(SPREADS["tilt"]))
    """How far off the tilt is taken to be, as a standard deviation [deg]."""
    zero_deg: float = float(np.rad2deg(SPREADS["zero"]))
    """The same of zeros [deg]."""
    gain_share: float = SPREADS["gain"]
    """The same of gains, as a share."""
    saturation_share: float = SPREADS["saturation"]
    """The same of what saturation takes from the largest torque, as a share."""
    skew_ms: float = 1e3 * SPREADS["skew"]
    """The same of skews [ms]."""
    length_mm: float | None = None
    """The same of lengths [mm]."""

    def unknowns(
        self, robot: Robot, convention: Literal["dh", "mdh"] | None = None, largest: Array | None = None
    ) -> tuple[Unknown, ...]:
        """Return the unknowns of a robot; convention: of its DH table, None for a URDF.

        largest (n,) [N m; N]: torque of each drive in the logs, 1 without.
        Raises InputError for joints and lengths that it does not have.
        """
        found: tuple[Unknown, ...] = tilts(robot, np.deg2rad(self.tilt_deg)) if self.gravity else ()
        if self.zeros:
            found += zeros(robot, _named(self.zeros), np.deg2rad(self.zero_deg))
        if self.gains:
            found += gains(robot, _named(self.gains), self.gain_share)
        if self.saturation:
            most = np.ones(robot.n) if largest is None else largest
            found += saturations(robot, most, _named(self.saturation), self.saturation_share)
        if self.skew:
            found += skews(robot, _named(self.skew), 1e-3 * self.skew_ms)
        spread = None if self.length_mm is None else 1e-3 * self.length_mm
        return found + tuple(length(robot, name, convention, spread) for name in self.lengths)


def _named(joints: Joints) -> tuple[str, ...] | None:
    return joints if isinstance(joints, tuple) else None


#: What a group takes from the error of left-out stretches at least, and in how many standard errors.
GAIN, CERTAIN = 0.02, 3.0
#: Share of what a half's own values take from its squared residual that the other half's must take, too.
AGREED = 0.5
#: Stretches that are left out in turn, where there are fewer than three recordings.
_FOLDS = 5


def group_of(unknown: Unknown) -> str:
    """Return what an unknown is taken or left with: all of its kind, but each delay by itself."""
    return unknown.name if unknown.kind == "skew" else unknown.kind


@dataclass(frozen=True)
class Evidence:
    """What the log says for a group of unknowns, those before it in the list taken already.

    gain: share of the left-out error that it takes; certain: by how many paired standard errors of segments; agreed:
    what each half's values do for the other half, as a share of what its own do, the lesser of the two. least: gain
    from which on it is worth it.
    """

    group: str
    gain: float
    certain: float
    agreed: float
    least: float = GAIN

    @property
    def worth(self) -> bool:
        """Whether the group is worth it."""
        return self.gain >= self.least and self.certain >= CERTAIN and self.agreed >= AGREED

    def __str__(self) -> str:
        told = f"takes {100 * self.gain:.1f} % from the error of what is left out ({self.certain:.1f} standard errors)"
        halves = "both halves of the log agree" if self.agreed >= AGREED else "the halves of the log disagree"
        return f"{told}, {halves}"


def worthwhile(found: Calibration) -> tuple[Evidence, ...]:
    """Return the evidence for each group of unknowns that the log tells, those that are worth it first."""
    normal = found.normal
    told = np.array([u in found.unknowns for u in normal.at.unknowns], dtype=bool)
    kinds = np.array([group_of(u) for u in normal.at.unknowns])
    groups, names = list(dict.fromkeys(group_of(u) for u in found.unknowns)), [u.name for u in found.unknowns]
    taken, listed = np.zeros(len(told), dtype=bool), list[Evidence]()
    parts = _parts(normal)
    while groups:
        before = _left_out(normal, taken, parts)
        tried = []
        for group in groups:
            own = told & (kinds == group)
            after = _left_out(normal, taken | own, parts)
            least = GAIN / normal.at.model.robot.n if group in names else GAIN
            tried.append((_evidence(group, before, after, _agreement(normal, told & ~own, own), least), own))
        passed = [x for x in tried if x[0].worth]
        best, own = max(passed or tried, key=lambda x: x[0].gain)
        listed.append(best)
        groups.remove(best.group)
        if not passed:
            return (*listed, *(x[0] for x in tried if x[0] is not best))
        taken = taken | own
    return tuple(listed)


def calibrated_where_worth(
    model: Model, motions: Motion | Iterable[Motion], prior: Prior | None, unknowns: Sequence[Unknown]
) -> tuple[Calibration | None, tuple[Evidence, ...], Calibration]:
    """Return the calibration of the groups that are worth it (None for none), the evidence, and that of all.

    What a group that is not worth it may be off by all the same widens the error bars of the others.
    """
    given = (motions,) if isinstance(motions, Motion) else tuple(motions)
    whole = calibrated(model, given, prior, unknowns)
    evidence = worthwhile(whole)
    good = {e.group for e in evidence if e.worth}
    left = tuple(u for u in unknowns if group_of(u) in good)
    if not left or len(left) == len(unknowns):
        return (whole if left else None), evidence, whole
    others = tuple(u for u in unknowns if group_of(u) not in good)
    return calibrated(model, given, prior, left, *_considered(others, whole)), evidence, whole


def _considered(others: Sequence[Unknown], whole: Calibration) -> tuple[tuple[Unknown, ...], Array]:
    """Return unknowns that are not worth it with the spreads that they may be off by, and the covariance (k, k) of it.

    What was found of them, and its error bars: gains may all be off by one factor, not each by its own.
    """
    apart, names = whole.values - nominal(whole.unknowns), [u.name for u in whole.unknowns]
    moment, off = whole.covariance + np.outer(apart, apart), np.diag(spreads(others) ** 2)
    told = [k for k, u in enumerate(others) if u.name in names]
    own = [names.index(others[k].name) for k in told]
    off[np.ix_(told, told)] = moment[np.ix_(own, own)]
    size = np.sqrt(np.diag(off))
    least = np.minimum(spreads(others) / np.maximum(size, 1e-300), 1.0)
    bounded = tuple(replace(u, spread=float(x)) for u, x in zip(others, least * size, strict=True))
    return bounded, off * np.outer(least, least)


def _evidence(group: str, before: Array, after: Array, agreed: float, least: float) -> Evidence:
    fewer = np.sqrt(np.maximum(before, 0.0)) - np.sqrt(np.maximum(after, 0.0))
    certain = float(fewer.sum() / max(np.sqrt(len(fewer)) * fewer.std(ddof=1), 1e-300)) if len(fewer) > 1 else 0.0
    gain = 1.0 - float(np.sqrt(max(after.sum(), 0.0) / max(before.sum(), 1e-300)))
    return Evidence(group, gain, certain, agreed, least)


def _parts(normal: Normal) -> list[list[int]]:
    """Return the segments to leave out together: recordings where there are three, else stretches."""
    names = list(dict.fromkeys(normal.recordings))
    if len(names) >= 3:
        return [[s for s, own in enumerate(normal.recordings) if own == name] for name in names]
    return [part.tolist() for part in np.array_split(np.arange(len(normal.c)), min(_FOLDS, len(normal.c)))]


def _left_out(normal: Normal, unknowns: NDArray[np.bool_], parts: list[list[int]]) -> Array:
    """Return the squared error of each segment (G,) when its part is left out, these unknowns free."""
    errors, free = np.zeros(len(normal.c)), free_of(normal, unknowns)
    H, g = normal.whole
    for part in parts:
        x = solved(H - normal.H[part].sum(axis=0), g - normal.g[part].sum(axis=0), free, normal.pinned)
        errors[part] = [x @ normal.H[s] @ x - 2.0 * normal.g[s] @ x + normal.c[s] for s in part]
    return errors


def _agreement(normal: Normal, others: NDArray[np.bool_], own: NDArray[np.bool_]) -> float:
    """Return the lesser share of what a half's own values do for it that those of the other half do."""
    halves = [part.tolist() for part in np.array_split(np.arange(len(normal.c)), 2)]
    if not all(halves):
        return 0.0
    both = [(normal.H[h].sum(axis=0), normal.g[h].sum(axis=0)) for h in halves]
    free = free_of(normal, others | own)
    each = [solved(H + normal.P, g + normal.r, free, normal.pinned) for H, g in both]
    shares = []
    for (H, g), mine, theirs in zip(both, each, each[::-1], strict=True):
        at = [normal.pinned, mine, theirs]
        none, by_own, by_other = (_best(normal, H, g, others, own, x) for x in at)
        shares.append((none - by_other) / max(none - by_own, 1e-300))
    return float(min(shares))


def _best(
    normal: Normal, H: Array, g: Array, others: NDArray[np.bool_], own: NDArray[np.bool_], values: Array
) -> float:
    """Return the least sum of squares of a half, but for a constant, with a group's own unknowns at these values."""
    start, x = normal.unknowns.start, normal.pinned
    x[start:][own] = values[start:][own]
    P, r = normal.P.copy(), normal.r.copy()
    P[start:, start:][np.ix_(own, own)] = 0.0  # what is known of them is no residual
    r[start:][own] = 0.0
    x = solved(H + P, g + r, free_of(normal, others), x)
    return float(x @ (H + P) @ x - 2.0 * (g + r) @ x)
