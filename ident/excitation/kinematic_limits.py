"""Limits of position, velocity, acceleration and jerk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ident.arrays import Array
from ident.errors import ExcitationError
from ident.excitation.guarantee import Guarantee
from ident.excitation.trajectory import Trajectory
from ident.robot.robot import UNITS, Robot

ORDERS = ("position", "velocity", "acceleration", "jerk")
METHOD = "exact extremes"


@dataclass(frozen=True, eq=False)
class KinematicLimits:
    """lower <= q <= upper and |derivatives| <= rates, for every joint.

    lower, upper (n,) [rad; m]; rates (3, n): greatest velocity, acceleration and jerk; infinite where there is none.
    Raises ExcitationError naming the joint whose limits leave no room.
    """

    joints: tuple[str, ...]
    kinds: tuple[str, ...]
    lower: Array
    upper: Array
    rates: Array

    def __post_init__(self) -> None:
        for j, joint in enumerate(self.joints):
            if not self.lower[j] < self.upper[j]:
                raise ExcitationError(
                    f"the position limits of joint '{joint}' leave no room: {self.lower[j]:g} to {self.upper[j]:g}",
                    fix="Check the limits, and the margin that is taken from both",
                )
            for what, limit in zip(ORDERS[1:], self.rates[:, j], strict=True):
                if not limit > 0:
                    raise ExcitationError(f"the {what} limit of joint '{joint}' is {limit:g}, so it cannot move")

    @property
    def names(self) -> tuple[str, ...]:
        """What each margin belongs to, such as `velocity of joint 'joint3'`."""
        return tuple(f"{ORDERS[o]} of joint '{self.joints[j]}'" for o, j in self._finite)

    @property
    def _finite(self) -> list[tuple[int, int]]:
        """(order, joint) of the limits that there are."""
        bounded = np.vstack([np.isfinite(self.lower) | np.isfinite(self.upper), np.isfinite(self.rates)])
        return [(int(o), int(j)) for o, j in np.argwhere(bounded)]

    def margins(self, states: tuple[Array, ...]) -> Array:
        """Return (N, m): 1 in the middle of a range, 0 at its ends, negative beyond; states q .. jerk (N, n)."""
        return np.stack(
            [self._position(states[0], j) if o == 0 else self._rate(states[o], o, j) for o, j in self._finite], 1
        )

    def pull_back(self, states: tuple[Array, ...], weights: Array) -> Array:
        """Return the derivative (4, N, n) of sum(weights * margins) with respect to the states."""
        found = np.zeros((4, *states[0].shape))
        for k, (o, j) in enumerate(self._finite):
            x = states[o][:, j]
            if o > 0:
                slope = -2.0 * x / self.rates[o - 1, j] ** 2
            elif np.isinf(self.lower[j]):
                slope = -np.ones(len(x))
            elif np.isinf(self.upper[j]):
                slope = np.ones(len(x))
            else:
                slope = (self.upper[j] + self.lower[j] - 2.0 * x) * 4.0 / (self.upper[j] - self.lower[j]) ** 2
            found[o][:, j] += weights[:, k] * slope
        return found

    def guarantees(self, trajectory: Trajectory) -> tuple[Guarantee, ...]:
        """Return what is proven: the exact extremes of each joint's position and derivatives over the whole motion."""
        found = []
        extremes = [trajectory.extremes(order) for order in range(4)]
        for (o, j), name in zip(self._finite, self.names, strict=True):
            least, most = (float(x[j]) for x in extremes[o])
            unit = UNITS[ORDERS[o]][self.kinds[j] == "prismatic"]
            if o > 0:
                found.append(Guarantee(name, max(-least, most), float(self.rates[o - 1, j]), unit, METHOD))
            if o == 0 and np.isfinite(self.lower[j]):
                found.append(Guarantee(f"least {name}", least, float(self.lower[j]), unit, METHOD, at_least=True))
            if o == 0 and np.isfinite(self.upper[j]):
                found.append(Guarantee(f"greatest {name}", most, float(self.upper[j]), unit, METHOD))
        return tuple(found)

    def _position(self, q: Array, j: int) -> Array:
        below, above = self.upper[j] - q[:, j], q[:, j] - self.lower[j]
        if np.isinf(self.lower[j]):
            return np.asarray(below)
        if np.isinf(self.upper[j]):
            return np.asarray(above)
        # the product of the two distances is positive between them, and negative outside on either side
        return np.asarray(below * above * 4.0 / (self.upper[j] - self.lower[j]) ** 2)

    def _rate(self, x: Array, order: int, j: int) -> Array:
        return np.asarray(1.0 - (x[:, j] / self.rates[order - 1, j]) ** 2)


def kinematic_limits(robot: Robot, *, position: float = 0.0, rates: float = 0.0) -> KinematicLimits:
    """Return a robot's own limits, less a margin.

    position: taken from both ends of each range [rad; m]. rates: share taken from velocity, acceleration and jerk.
    Raises ExcitationError when a joint has no limit of velocity and none of acceleration.
    """
    limits = [joint.limits for joint in robot.joints]
    for joint in robot.joints:
        if np.isinf(joint.limits.velocity) and np.isinf(joint.limits.acceleration):
            raise ExcitationError(
                f"joint '{joint.name}' of robot '{robot.name}' has neither a velocity nor an acceleration limit",
                fix="Give it one: limits = { velocity = ... } in the robot's file",
            )
    if not 0 <= rates < 1:
        raise ExcitationError(f"the margin of the rates is a share between 0 and 1, got {rates:g}")
    if not position >= 0:
        raise ExcitationError(f"the margin of the positions must not be negative, got {position:g}")
    kinds = tuple(joint.kind for joint in robot.joints)
    each = np.array([[x.velocity, x.acceleration, x.jerk] for x in limits]).T
    lower, upper = np.array([x.lower for x in limits]), np.array([x.upper for x in limits])
    return KinematicLimits(robot.joint_names, kinds, lower + position, upper - position, each * (1.0 - rates))
