"""What a mistake leaves of one joint's torque, against what explains it: the picture of its evidence."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.compare.causes.reading import Rows
from ident.compare.causes.weighing import Weighed, Weigher
from ident.estimate.estimate import Trace
from ident.robot.robot import Robot

#: Samples that are kept, and stretches of what may explain them, equally full.
KEPT, BINS = 240, 20
#: A signal that explains less than this share of what a mistake changes shows a cloud.
CLEAR = 0.7
#: The residual of a joint that a mistake is about falls at least to this share, or another joint shows it better.
FALLS = 0.9
_DIGITS = 4


def trace_of(weigher: Weigher, before: Weighed, after: Weighed, robot: Robot, where: str) -> Trace:
    """Return what two readings of the same rows leave of one joint's torque, against what explains the difference.

    That joint is the one of `where`, joints that a mistake is about, that the second reading helps most; of all joints
    where it helps none of these. No signal explains what acts through several joints: that is drawn against the torque
    that the mistake makes. robot: as it is described, with the joints that the log names.
    """
    rows = weigher.rows
    left = [weigher.left_in_log(state) for state in (before, after)]
    at = _samples(rows)
    kept = weigher.kept(after.reading)
    j = _shown(left, rows.tau[at], kept, [name in where.split(" and ") for name in robot.joint_names])
    found = np.flatnonzero(rows.keep[:, j])
    found = found[np.linspace(0, len(found) - 1, min(KEPT, len(found))).astype(int)]
    t, own = _passed(rows)[at], robot.joints[j]
    signals = [(f"torque of {own.name}", own.unit("torque"), rows.tau[at, j])]
    for k, joint in enumerate(robot.joints):
        signals.append((f"position of {joint.name}", joint.unit("position"), rows.q[at, k]))
        signals.append((f"velocity of {joint.name}", joint.unit("velocity"), rows.qd[at, k]))
    change = (left[0] - left[1])[:, j]
    kept = rows.keep[:, j]
    along, unit, x = max(signals, key=lambda s: explained(s[2][kept], change[kept]))
    if explained(x[kept], change[kept]) < CLEAR:
        along, unit, x = f"torque of {own.name} by the mistake", own.unit("torque"), change
    numbers = (_short(values[found]) for values in (t, x, left[0][:, j], left[1][:, j]))
    return Trace(own.name, own.unit("torque"), along, unit, *numbers)


def explained(x: Array, y: Array) -> float:
    """Return which share of the squares of y (N,) its means over BINS stretches of x (N,) hold."""
    parts = np.array_split(y[np.argsort(x, kind="stable")], BINS)
    whole = float(y @ y)
    return sum(len(p) * float(p.mean()) ** 2 for p in parts if len(p)) / whole if whole else 0.0


def _samples(rows: Rows) -> NDArray[np.intp]:
    """Return at which sample each row (N,) stands."""
    parts = (
        np.arange(part.start, part.stop, prod(factors))[::every]
        for part, (factors, every) in zip(rows.parts, rows.thinning, strict=True)
    )
    return np.concatenate(list(parts))


def _shown(left: list[Array], tau: Array, keep: NDArray[np.bool_], about: list[bool]) -> int:
    """Return the joint whose residual falls by the largest factor, of those that it is `about` where one falls."""
    was, is_left, whole = (np.linalg.norm(x * keep, axis=0) for x in (*left, tau))
    factor = was / np.maximum(is_left, 1e-5 * whole + 1e-300)
    own = np.where(about, factor, 0.0)
    return int(np.argmax(own if own.max() * FALLS > 1.0 else factor))


def _passed(rows: Rows) -> Array:
    """Return the time of each sample (M,) [s], that of recordings one after the other."""
    t, end = rows.t.copy(), 0.0
    for part in rows.parts:
        t[part] += end - t[part][0]
        end = float(t[part][-1])
    return t


def _short(values: Array) -> tuple[float, ...]:
    return tuple(float(f"{x:.{_DIGITS}g}") for x in values)
