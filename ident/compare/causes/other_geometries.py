"""Other geometries that a CAD table is tried with: a zero, an axis or a length that is off, lengths in another unit.

Bodies that are free make up for a zero, an axis or a length, so that torques alone hardly tell; numbers that are right
do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ident.compare.causes.geometries import with_joint
from ident.compare.doctor.search import MARGIN, Search
from ident.robot.robot import Robot
from ident.spatial.inertia import Pose

#: What is said of an axis, of a zero and of a length, and how far off that of any robot may be [deg; share, m].
_ZERO, _ZERO_OFF = "its zero is off by {:g} degrees", 1.5
REVERSED = "its axis points the other way, in the robot file or in the log"
_LENGTH, _LENGTH_OFF = "its distance of {:.4g} m along {} from the joint before is off by {:.3g} %", (0.02, 0.003)
#: Units of length that a robot file may be in where another is declared.
_UNITS = {"a thousandth of that": 1e-3, "a thousand times that": 1e3, "in inches": 0.0254, "in metres": 1 / 0.0254}
#: Lengths [m] of which it is asked, where numbers differ from the logs by so many standard deviations; by which share
#: each is off at first, and then those that this helps most; so many of them.
_SHORTEST, _DOUBTED, _TRIED, _FINER, _MOST = 0.02, 1.2, 0.05, np.arange(0.0, 0.27, 0.02), 3


def usual_ones(robot: Robot) -> dict[str, Robot]:
    """Return the robot with lengths in another unit, or a zero a quarter or half a turn off, by what it then is."""
    found = {}
    for words, factor in _UNITS.items():
        if 0.02 < robot.reach * factor < 20.0:
            places = (Pose(j.placement.rotation, factor * j.placement.position) for j in robot.joints)
            joints = (replace(j, placement=place) for j, place in zip(robot.joints, places, strict=True))
            found[f"that with all lengths {words}"] = replace(robot, joints=tuple(joints))
    turning = (j for j, joint in enumerate(robot.joints) if not joint.slides)
    return found | dict(_turned(robot, j, turn) for j in turning for turn in (90.0, -90.0, 180.0))


def asked_for(found: Search, searched: Callable[[Mapping[str, Robot]], Search], robot: Robot) -> dict[str, Robot]:
    """Return the robot with the zeros, axes and lengths that a table asks for, each alone, by what is mistaken.

    found: the search so far; searched: makes one that knows other geometries.
    """
    start = found.space.start(found.table)
    zeros = found.zeros_asked(start)
    asked = dict(_turned(robot, j, round(float(np.rad2deg(angle)), 1)) for j, angle in zeros.items())
    if found.deviation(start, found.tolerance(start)) < _DOUBTED:
        return asked
    reversed_ones = [_reversed(robot, j) for j in range(robot.n)]
    worth = _worth(searched, reversed_ones)
    asked |= dict(each for each, gain in zip(reversed_ones, worth, strict=True) if gain > MARGIN)
    places = [(j, k) for j, joint in enumerate(robot.joints) for k in range(3) if _long(joint.placement.position[k])]
    gains: dict[tuple[int, int, float], float] = {}
    for sign in (-1.0, 1.0):
        worth = _worth(searched, [_longer(robot, *place, 1.0 + sign * _TRIED) for place in places])
        gains |= {(*place, sign): gain for place, gain in zip(places, worth, strict=True)}
    best = sorted((place for place in gains if gains[place] > MARGIN), key=lambda place: -gains[place])
    for j, k, sign in best[:_MOST]:
        worth = [0.0, *_worth(searched, [_longer(robot, j, k, 1.0 + sign * x) for x in _FINER[1:]])]
        at = min(int(np.argmax(worth)), len(worth) - 2)
        left, top, right = worth[at - 1], worth[at], worth[at + 1]
        share = _FINER[at] + 0.5 * _FINER[1] * (left - right) / min(left - 2.0 * top + right, -1e-9)
        asked |= dict([_longer(robot, j, k, 1.0 + sign * float(share))])
    return asked


def size_of(what: str) -> tuple[float, bool]:
    """Return by how much a zero [deg] or a length (share) is off by these words, else 0; whether any robot's is."""
    if what.startswith("its zero is off"):
        degrees = float(what.split()[-2])
        return degrees, abs(degrees) <= _ZERO_OFF
    if what.startswith("its distance of"):
        share, along = float(what.split()[-2]) / 100.0, float(what.split()[3])
        return share, abs(share) <= max(_LENGTH_OFF[0], _LENGTH_OFF[1] / abs(along))
    return 0.0, False


def _long(x: float) -> bool:
    return abs(x) > _SHORTEST


def _worth(searched: Callable[[Mapping[str, Robot]], Search], robots: list[tuple[str, Robot]]) -> list[float]:
    """Return how much likelier [log] a table is as it is with each of some robots."""
    search = searched(dict(robots))
    start, views = search.space.start(search.table), {view.name: view for view in search.space.views}
    base = search.score(start)
    return [search.score(search.space.after(start, views[name])) - base for name, _ in robots]


def _reversed(robot: Robot, j: int) -> tuple[str, Robot]:
    """Return what is mistaken of a joint whose axis points the other way, and the robot with it."""
    joint = robot.joints[j]
    return f"{joint.name}: {REVERSED}", with_joint(robot, j, replace(joint, axis=-joint.axis))


def _turned(robot: Robot, j: int, degrees: float) -> tuple[str, Robot]:
    """Return what is mistaken of a joint whose zero is off by so much, and the robot with it."""
    placement = robot.joints[j].pose(np.deg2rad(degrees))
    return f"{robot.joints[j].name}: {_ZERO.format(degrees)}", _placed(robot, j, placement)


def _longer(robot: Robot, j: int, k: int, factor: float) -> tuple[str, Robot]:
    """Return what is mistaken of a joint whose distance along an axis is to be multiplied by so much, and the robot."""
    place = robot.joints[j].placement
    along = place.position[k]
    words = _LENGTH.format(along, "xyz"[k], 100.0 * (factor - 1.0))
    longer = place.position + (factor - 1.0) * along * np.eye(3)[k]
    return f"{robot.joints[j].name}: {words}", _placed(robot, j, Pose(place.rotation, longer))


def _placed(robot: Robot, j: int, placement: Pose) -> Robot:
    return with_joint(robot, j, replace(robot.joints[j], placement=placement))
