"""A log whose angles are in another unit than those of the other logs of its robot, under the same names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ident.arrays import Array
from ident.logs.manifest import si_factor
from ident.logs.recognised import ALIKE, BEYOND, fitting_units, named, related, scales
from ident.pipelines.signals import STILL, Signals

#: Degrees in a radian, and how far the ratio of two logs' ways may be from that, or from 1.
_WIDE, _NEAR = 180.0 / np.pi, 4.0
#: No robot that is read in rad goes so far about joints without limits [rad]; one of these may spin, not so many.
_FAR, _MANY = 10.0, 3


def in_own_units(log: Signals, decided: Signals) -> tuple[Signals, str]:
    """Return what a log's columns are if its angles are in degrees where another's are in radians, or conversely.

    decided: the same columns of the other log. And the reason, "" where nothing is other.
    """
    turning = [k for k, joint in enumerate(log.robot.joints) if not joint.slides]
    units = {log.position_unit[k] for k in turning}
    if log.side != "joint" or log.count or units not in ({"rad"}, {"deg"}):
        return log, ""
    unit = units.pop()
    raw, way = _angles(log), np.ptp(_angles(decided)[:, turning], axis=0)
    ratio = float(np.median(np.ptp(raw[:, turning], axis=0)[way > 0] / way[way > 0])) if way.any() else 1.0
    fits = fitting_units(raw, log.robot)
    if unit == "rad":
        like = _beyond(log, decided, turning, 1.0) and ratio > _WIDE / _NEAR
        other = "deg" if like or (fits == ("deg",) and _beyond(log, decided, turning, _NEAR)) else ""
    else:
        still = float(np.ptp(np.deg2rad(raw[:, turning]), axis=0).max()) < STILL
        like = 1.0 / _NEAR < ratio * _WIDE < _NEAR  # a log of a robot that rests goes nowhere in either unit
        names_say = any(named(log.position[k].label, log.robot.joint_names).unit == unit for k in turning)
        other = "rad" if still and like and "rad" in fits and not names_say else ""
    if not other:
        return log, ""
    own = tuple(other if k in turning else u for k, u in enumerate(log.position_unit))
    found = replace(log, position_unit=own)
    said = (
        f"angles are in {other}, a GUESS: in {unit}, as those of other logs, they would go {ratio:.2g} times as far"
        f" and reach {np.abs(raw[:, turning]).max():.3g} {unit}"
    )
    return replace(found, velocity_unit=_velocity_unit(found, turning)), said


def _beyond(log: Signals, decided: Signals, turning: list[int], times: float) -> bool:
    """Return whether angles that are read in rad reach so many times beyond the limits and what another log reaches."""
    limits = [log.robot.joints[k].limits for k in turning]
    ends = np.array([max(abs(limit.lower), abs(limit.upper)) for limit in limits])
    reach = np.maximum(np.where(np.isfinite(ends), ends, _FAR), np.abs(_angles(decided)[:, turning]).max(axis=0))
    leaves = np.abs(_angles(log)[:, turning]).max(axis=0) > times * ((1.0 + BEYOND[0]) * reach + BEYOND[1])
    return bool(leaves[np.isfinite(ends)].any() or np.sum(leaves) >= _MANY)


def _angles(log: Signals) -> Array:
    return np.column_stack([column.values for column in log.position])


def _velocity_unit(log: Signals, turning: list[int]) -> tuple[str, ...]:
    """Return the units of the velocities: whichever makes their integrals the positions."""
    if not log.velocity or not log.time:
        return log.velocity_unit
    t = log.time[0].values * si_factor(log.time_unit[0], "time")
    q = _angles(log) * scales(log.position_unit)
    swapped = {"rad/s": "deg/s", "deg/s": "rad/s"}
    found = list(log.velocity_unit)
    for k in turning:
        unit, other = found[k], swapped.get(found[k], found[k])
        scale, to = si_factor(unit, "velocity"), si_factor(other, "velocity")
        relation = related(t, q[:, k], log.velocity[k].values * scale)
        if relation is not None and relation.alike > ALIKE:
            ratios = {unit: abs(relation.ratio), other: abs(relation.ratio) * scale / to}
            found[k] = min(ratios, key=lambda u: abs(np.log(ratios[u])))
    return tuple(found)
