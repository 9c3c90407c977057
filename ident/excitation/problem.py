"""The design problem: the best motion of a family within its constraints, as one smooth function with its gradient.

    merit(z) = criterion(R(z)) - weight * sum over constraints of mean(log(margin - tight))

over the free coefficients z. It is infinite where a margin is used up: minimised by steps that keep it finite, a
motion never leaves the limits (interior-point method; Fiacco, McCormick 1968). The gradient is exact: the reverse
of the regressor gives weights on q, qd, qdd, and those of a motion are linear in its coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from ident.arrays import Array
from ident.excitation.basis import Basis
from ident.excitation.criteria import Criterion
from ident.excitation.guarantee import Guarantee
from ident.excitation.information import Information
from ident.excitation.trajectory import Trajectory

States = tuple[Array, ...]  # q, qd, qdd and jerk, each (N, n)


class Constraint(Protocol):
    """Something that a motion has to keep, at every instant."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the limits that each column of `margins` is about."""

    def margins(self, states: States) -> Array:
        """Return (N, m), positive where the constraint is kept, at most 1 or about 1."""

    def pull_back(self, states: States, weights: Array) -> Array:
        """Return the vector-Jacobian product (4, N, n): the derivative of sum(weights * margins) by the states."""

    def guarantees(self, trajectory: Trajectory) -> tuple[Guarantee, ...]:
        """Return what is proven of the whole motion, one at least for each margin."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise `criterion` over the motions particular + z @ free.T of `basis` within `constraints`.

    particular (n, size), free (size, k); z (n, k). rate_hz: samples that will be logged per second, periods: how often
    the motion will be played; both matter beside a prior.
    """

    information: Information
    criterion: Criterion
    basis: Basis
    particular: Array
    free: Array
    constraints: tuple[Constraint, ...]
    rate_hz: float = 100.0
    periods: int = 1

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints that the motion moves."""
        return self.information.columns.model.robot.joint_names

    @cached_property
    def times(self) -> Array:
        """Times (N,) [s] at which the motion is looked at."""
        return np.linspace(0.0, self.basis.duration, instants(self.basis), endpoint=not self.basis.periodic)

    @property
    def share(self) -> float:
        """How many logged samples each instant stands for."""
        return self.rate_hz * self.basis.duration * self.periods / len(self.times)

    @cached_property
    def _values(self) -> tuple[Array, ...]:
        """Value of each function of the basis at the instants, (N, size), for orders 0..3."""
        return tuple(self.basis.values(self.times, order) for order in range(4))

    def trajectory(self, z: Array) -> Trajectory:
        """Return the motion of free coefficients z (n, k)."""
        return Trajectory(self.basis, self.particular + z @ self.free.T, self.joints)

    def coordinates(self, trajectory: Trajectory) -> Array:
        """Return z (n, k) of a motion of this family, or of the nearest one."""
        return (trajectory.coefficients - self.particular) @ self.free

    def states(self, z: Array) -> States:
        """Return q, qd, qdd and jerk at the instants, each (N, n)."""
        coefficients = self.particular + z @ self.free.T
        return tuple(np.ascontiguousarray(v @ coefficients.T) for v in self._values)

    def margins(self, z: Array) -> tuple[Array, ...]:
        """Return each constraint's margins (N, m)."""
        states = self.states(z)
        return tuple(constraint.margins(states) for constraint in self.constraints)

    def factor(self, z: Array) -> Array:
        """Return the information's factor R (b, b)."""
        return self.information.factor(self.states(z), self.share)

    def barrier(self, z: Array, tight: tuple[float, ...]) -> float:
        """Return the barrier alone: infinite where a margin is not above its `tight`."""
        return sum(_barrier(m - t) for m, t in zip(self.margins(z), tight, strict=True))

    def merit(self, z: Array, weight: float, tight: tuple[float, ...]) -> tuple[float, Array]:
        """Return merit and its gradient (n, k), infinite and zeros where a margin is not above its `tight`."""
        states = self.states(z)
        margins = [c.margins(states) - t for c, t in zip(self.constraints, tight, strict=True)]
        wall = sum(_barrier(m) for m in margins)
        if not np.isfinite(wall):
            return np.inf, np.zeros_like(z)
        value, slope = self.criterion(self.information.factor(states, self.share))
        bars = np.zeros((4, *states[0].shape))
        bars[:3] = self.information.pull_back(states, slope, self.share)
        for constraint, m in zip(self.constraints, margins, strict=True):
            bars += constraint.pull_back(states, -weight / (m * m.size))
        return value + weight * wall, self.gradient(bars)

    def gradient(self, bars: Array) -> Array:
        """Return the derivative (n, k) with respect to z, from weights (4, N, n) on the states."""
        return np.asarray(sum(bar.T @ v for bar, v in zip(bars, self._values, strict=True)) @ self.free)


def instants(basis: Basis) -> int:
    """Return at how many instants a motion is looked at: about forty in the period of the highest harmonic."""
    return max(20 * basis.size, 100)


def _barrier(margins: Array) -> float:
    if margins.size == 0:
        return 0.0
    return np.inf if margins.min() <= 0.0 else -float(np.log(margins).mean())
