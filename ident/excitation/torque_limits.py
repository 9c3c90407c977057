"""Limits of the joint torques and of the drives' total power, at stated parameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import ExcitationError
from ident.excitation.guarantee import Guarantee, greatest_bound
from ident.excitation.torque_bound import torque_curvature
from ident.excitation.trajectory import Trajectory
from ident.model.coulomb import COULOMB
from ident.model.model import Model, torque
from ident.regression.base import BaseParameters
from ident.regression.compress import Columns, packed_columns, pull_back

METHOD = "torque at samples, and a bound on its second derivative between them"


@dataclass(frozen=True, eq=False)
class TorqueLimits:
    """|tau_j| <= effort_j and sum_j |tau_j qd_j| <= power, with tau = Y theta of `model`.

    theta (p,); effort (n,) [N m; N]; power [W]; infinite where there is no limit. Coulomb friction is taken at its full
    magnitude against the limit, whatever the direction: near standstill nobody knows its sign.
    """

    model: Model
    theta: Array
    effort: Array
    power: float = np.inf

    @cached_property
    def smooth(self) -> Array:
        """Theta (p,) without Coulomb friction."""
        jumps = np.array([name.endswith(f".{COULOMB.name}") for name in self.model.names])
        return np.where(jumps, 0.0, self.theta)

    @cached_property
    def coulomb(self) -> Array:
        """Greatest magnitude of each joint's Coulomb friction (n,)."""
        found = np.zeros(self.model.robot.n)
        fast = np.full((2, self.model.robot.n), 1e6)  # every joint turns: each column is at its greatest
        travel = fast * [[0.0], [1.0]]
        sizes = np.abs(self.model.term_columns(travel, fast, 0.0 * fast)[:, 1])
        for (j, k), size in zip(self.model.term_entries, sizes, strict=True):
            if self.model.names[k].endswith(f".{COULOMB.name}"):
                found[j] += abs(self.theta[k]) * size
        return found

    @cached_property
    def columns(self) -> Columns:
        """All parameters' columns, for the way back from torques to states."""
        names = self.model.names
        everything = BaseParameters(names, tuple(range(len(names))), np.eye(len(names)), names)
        return packed_columns(self.model, everything)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the limits that each column of `margins` is about."""
        own = tuple(f"torque of joint '{self.model.robot.joint_names[j]}'" for j in self._limited)
        return own + (("total power",) if np.isfinite(self.power) else ())

    @property
    def _limited(self) -> list[int]:
        return [int(j) for j in np.flatnonzero(np.isfinite(self.effort))]

    def torques(self, states: tuple[Array, ...]) -> Array:
        """Return the torque without Coulomb friction, (N, n)."""
        return torque(self.model, self.smooth, *states[:3])

    def margins(self, states: tuple[Array, ...]) -> Array:
        """Return (N, m): 1 without torque, 0 at the limit less Coulomb friction, negative beyond."""
        tau, j = self.torques(states), self._limited
        found = 1.0 - (tau[:, j] / (self.effort - self.coulomb)[j]) ** 2
        return found if np.isinf(self.power) else np.column_stack([found, 1.0 - self._load(tau, states[1])])

    def _load(self, tau: Array, qd: Array) -> Array:
        """Return the share (N,) of the power limit that is used."""
        return np.asarray(((np.abs(tau) + self.coulomb) * np.abs(qd)).sum(axis=1) / self.power)

    def pull_back(self, states: tuple[Array, ...], weights: Array) -> Array:
        """Return the derivative (4, N, n) of sum(weights * margins) with respect to the states."""
        q, qd, qdd = states[:3]
        tau, j = self.torques(states), self._limited
        force = np.zeros_like(tau)
        force[:, j] = -2.0 * weights[:, : len(j)] * tau[:, j] / (self.effort - self.coulomb)[j] ** 2
        found = np.zeros((4, *tau.shape))
        if np.isfinite(self.power):
            each = weights[:, -1:] / self.power
            force -= each * np.sign(tau) * np.abs(qd)
            found[1] -= each * (np.abs(tau) + self.coulomb) * np.sign(qd)
        packed = np.zeros((len(tau), self.columns.width))
        for k, (start, stop) in enumerate(self.columns.span):
            packed[:, start : stop - 1] = force[:, k : k + 1] * self.smooth[list(self.columns.parameters[k])]
        found[:3] += pull_back(self.columns, q, qd, qdd, packed)
        return found

    def guarantees(self, trajectory: Trajectory) -> tuple[Guarantee, ...]:
        """Return what is proven of the torques at every instant: samples, and the torque's curvature between them."""
        rates = np.array([np.abs(trajectory.basis.extremes(trajectory.coefficients, o)).max(axis=0) for o in range(5)])
        curvature = torque_curvature(self.model, self.smooth, rates)
        room = self.effort - self.coulomb
        limit = np.append(room, self.power)

        def bound(a: Array, b: Array) -> tuple[Array, Array]:
            ends = [trajectory.states(x) for x in (a, b)]
            span = (b - a)[:, None] ** 2 / 8.0  # a function lies within span * max|f''| of its chord
            before, after = (np.abs(self.torques(x)) for x in ends)
            tau = np.maximum(before, after) + span * curvature
            speed = np.maximum(*(np.abs(x[1]) for x in ends)) + span * rates[3]
            power = ((before + self.coulomb) * np.abs(ends[0][1])).sum(axis=1)
            most = np.column_stack([tau, ((tau + self.coulomb) * speed).sum(axis=1)])
            return most, np.column_stack([np.maximum(before, after), power])

        reached = greatest_bound(bound, trajectory.duration, limit)
        names, units = self.names, self.model.robot.units("torque")
        found = [
            Guarantee(names[k], float(reached[j] + self.coulomb[j]), float(self.effort[j]), units[j], METHOD)
            for k, j in enumerate(self._limited)
        ]
        if np.isfinite(self.power):
            found.append(Guarantee("total power", float(reached[-1]), self.power, "W", METHOD))
        return tuple(found)


def torque_limits(model: Model, theta: ArrayLike, *, margin: float = 0.0, power: float = np.inf) -> TorqueLimits:
    """Return the robot's effort limits, less a share, for the torques that theta (p,) asks for.

    power: greatest sum of the joints' powers [W]. Raises ExcitationError when an effort limit is zero, when theta
    does not fit, or when gravity or Coulomb friction alone leaves nothing of a limit.
    """
    theta = frozen(theta, (len(model.names),), "theta", ExcitationError)
    if not 0 <= margin < 1:
        raise ExcitationError(f"the margin of the torques is a share between 0 and 1, got {margin:g}")
    if not power > 0:
        raise ExcitationError(f"the power limit is {power:g} W, wanted a positive number")
    for joint in model.robot.joints:
        if joint.limits.effort == 0:
            raise ExcitationError(
                f"the torque limit of joint '{joint.name}' is zero",
                fix="Correct it, or leave it out where it is unknown",
            )
    effort = np.array([joint.limits.effort for joint in model.robot.joints]) * (1.0 - margin)
    found = TorqueLimits(model, theta, effort, power * (1.0 - margin))
    for name, friction, limit in zip(model.robot.joint_names, found.coulomb, effort, strict=True):
        if friction >= limit:
            raise ExcitationError(
                f"Coulomb friction of joint '{name}', {friction:g}, takes all of its torque limit {limit:g}",
                fix="Check the friction values and the limit's unit",
            )
    return found
