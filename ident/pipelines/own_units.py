"""A log whose angles are in another unit than those of the other logs of its robot, under the same names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ident.arrays import Array
from ident.logs.manifest import si_factor
from ident.logs.recognised import ALIKE, fitting_units, related, scales
from ident.pipelines.signals import STILL, Signals

#: Degrees in a radian, and how much nearer to that than to 1 the ratio of two logs' ways has to be.
_WIDE, _NEAR = 180.0 / np.pi, 4.0
#: No robot that is read in rad goes so far about its joints [rad].
_FAR = 10.0


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
        far = float(np.abs(raw[:, turning]).max()) > _FAR and ratio > _WIDE / _NEAR
        other = "deg" if far or (fits == ("deg",) and ratio > _NEAR) else ""
    else:
        still = float(np.ptp(np.deg2rad(raw[:, turning]), axis=0).max()) < STILL
        other = "rad" if still and "rad" in fits and ratio < _NEAR / _WIDE else ""
    if not other:
        return log, ""
    own = tuple(other if k in turning else u for k, u in enumerate(log.position_unit))
    found = replace(log, position_unit=own)
    said = f"angles are in {other}, those of other logs in {unit}: they go {ratio:.2g} times as far"
    return replace(found, velocity_unit=_velocity_unit(found, turning)), said


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
