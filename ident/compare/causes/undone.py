"""Readings without a mistake: each function takes what the mistake is and returns the reading without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import exp

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.compare.causes.reading import Reading
from ident.model.coupling import coupled_drive
from ident.model.term import Term
from ident.robot.robot import Robot
from ident.spatial.inertia import Pose, axis_angle

#: A reading without a mistake of some value, from the reading with it.
Without = Callable[[Reading, float], Reading]


def fixed(change: Without, value: float) -> Without:
    """Return a change by one value, whatever else is asked for."""
    return lambda reading, _: change(reading, value)


def robot(other: Robot) -> Without:
    """Return the robot replaced, gravity kept."""
    return lambda r, _: replace(r, robot=other.with_gravity(r.robot.gravity))


def gravity(vector: Array) -> Without:
    """Return gravity replaced by a vector (3,) [m/s^2] in the base frame."""
    return lambda r, _: replace(r, robot=r.robot.with_gravity(vector))


def weightless(which: NDArray[np.bool_]) -> Without:
    """Return torques of some joints (n,) without those of gravity."""
    return lambda r, _: replace(r, weightless=r.weightless | which)


def tilted(axis: Array) -> Without:
    """Return gravity turned about an axis (3,) of the base by a value [rad]."""
    return lambda r, value: replace(r, robot=r.robot.with_gravity(axis_angle(axis, value) @ r.robot.gravity))


def longer(which: Mapping[int, Array]) -> Without:
    """Return distances from the joints before multiplied by exp(value): by joint, a share (3,) of each coordinate."""

    def without(reading: Reading, value: float) -> Reading:
        found = list(reading.robot.joints)
        for j, shares in which.items():
            place = found[j].placement
            position = place.position * (1.0 + (exp(value) - 1.0) * shares)
            found[j] = replace(found[j], placement=Pose(place.rotation, position))
        return replace(reading, robot=replace(reading.robot, joints=tuple(found)))

    return without


def more(field: str, j: int) -> Without:
    """Return an entry of joint j in the reading, of zeros, fading, drifting or warming, larger by a value."""
    return lambda r, value: replace(r, **{field: getattr(r, field) + value * np.eye(len(r.zeros))[j]})


def bent(which: Array) -> Without:
    """Return the largest torques of some joints (n,) smaller by a value, as a share of them, and smaller ones less."""
    return lambda r, value: replace(r, bent=r.bent + value * which)


def at_rest(reading: Reading, _: float) -> Reading:
    """Return joints that are so slow that their torques are those of gravity and friction."""
    return replace(reading, clock=1e6)


def joints(mixed: Array) -> Without:
    """Return other joints q' = mixed q (n, n), with the torques that do the same work."""
    back = np.linalg.inv(mixed).T
    return lambda r, _: replace(r, positions=mixed @ r.positions, zeros=mixed @ r.zeros, torques=back @ r.torques)


def motors(matrix: Array, positions: bool) -> Without:
    """Return torques, and positions or not, that are those of drives, q_drive = matrix @ q_joint, with their friction.

    Only drives of several joints have terms of their own.
    """
    coupled = np.flatnonzero(np.count_nonzero(matrix, axis=1) > 1).tolist()
    more = tuple(term for j in coupled for term in coupled_drive(f"coupled drive {j + 1}", tuple(matrix[j])))
    known = {term.motor for term in more}
    to_joints = joints(np.asarray(np.linalg.inv(matrix), dtype=float))

    def without(reading: Reading, _: float) -> Reading:
        others = (term for term in reading.terms if getattr(term, "motor", None) not in known)
        of_joints = to_joints(reading, 0.0)
        kept = of_joints if positions else replace(reading, torques=of_joints.torques)
        return replace(kept, terms=(*others, *more))

    return without


def columns(order: Array, of_positions: bool, of_torques: bool) -> Without:
    """Return the log's columns in another order (n, n), those of positions, of torques or of both."""
    return lambda r, _: replace(
        r,
        positions=r.positions @ order if of_positions else r.positions,
        torques=r.torques @ order if of_torques else r.torques,
    )


def torques(factors: Array) -> Without:
    """Return torques multiplied by factors (n,)."""
    return lambda r, _: replace(r, torques=factors[:, None] * r.torques)


def positions(factors: Array) -> Without:
    """Return positions multiplied by factors (n,)."""
    return lambda r, _: replace(r, positions=factors[:, None] * r.positions, zeros=factors * r.zeros)


def larger_torque(j: int) -> Without:
    """Return the torque of a joint multiplied by exp(value)."""
    return lambda r, value: torques(np.exp(value * np.eye(len(r.zeros))[j]))(r, 0.0)


def crosstalk(j: int, k: int) -> Without:
    """Return the torque of joint j without a share, the value, of that of joint k."""

    def without(reading: Reading, value: float) -> Reading:
        mixed = np.eye(len(reading.zeros))
        mixed[j, k] = -value
        return replace(reading, torques=mixed @ reading.torques)

    return without


def apart(k: int, zeros: Array, exponents: Array) -> Without:
    """Return shares (n,) of a value added to zeros [rad; m], and to exponents of torques, in recording k."""
    return lambda r, value: replace(r, apart=(*r.apart, (k, value * zeros, value * exponents)))


def turned_in(k: int, j: int) -> Without:
    """Return the torque of a joint with the other sign in recording k."""
    return lambda r, _: replace(r, turned=(*r.turned, (k, j)))


def friction_in(k: int, j: int) -> Without:
    """Return the friction of a joint larger by exp(value) in recording k."""
    return lambda r, value: replace(r, rubbing=(*r.rubbing, (k, value * np.eye(len(r.zeros))[j])))


def larger_position(j: int) -> Without:
    """Return the position of a joint multiplied by exp(value)."""
    return lambda r, value: positions(np.exp(value * np.eye(len(r.zeros))[j]))(r, 0.0)


def longer_seconds(reading: Reading, value: float) -> Reading:
    """Return time multiplied by exp(value)."""
    return replace(reading, clock=reading.clock * exp(value))


def late(reading: Reading, value: float) -> Reading:
    """Return torques that are late by a value [s]."""
    return replace(reading, late=reading.late + value)


def parting(reading: Reading, value: float) -> Reading:
    """Return torques that come later by a value [s] with each second of a recording."""
    return replace(reading, parting=reading.parting + value)


def blurred(reading: Reading, value: float) -> Reading:
    """Return torques that went through a filter of first order with a time constant [s]; less than none is none."""
    return replace(reading, blurred=max(reading.blurred + value, 0.0))


def speed(j: int, start: float) -> Without:
    """Return the position of a joint as its velocity, which leads to a position of `start` [rad; m] on average."""

    def without(reading: Reading, _: float) -> Reading:
        own = np.arange(len(reading.zeros)) == j
        return replace(reading, speeds=reading.speeds | own, zeros=reading.zeros + start * own)

    return without


def ignored(k: int, stretches: Sequence[tuple[float, float]]) -> Without:
    """Return recording k without what is between two times [s], of each stretch."""
    return lambda r, _: replace(r, ignored=(*r.ignored, *((k, *stretch) for stretch in stretches)))


def lacking(terms: tuple[Term, ...]) -> Without:
    """Return joint terms beside those of the model."""
    return lambda r, _: replace(r, terms=(*r.terms, *terms))
