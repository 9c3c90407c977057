"""Clearances that a motion has to keep: between the robot's own links, to its surroundings, inside its workspace."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ident.arrays import Array
from ident.excitation.guarantee import Guarantee, greatest_bound
from ident.excitation.trajectory import Trajectory
from ident.geometry.distance import clearance_pull_back, clearances
from ident.geometry.distance_bound import clearance_gradient_bound
from ident.geometry.scene import Scene
from ident.robot.robot import Robot

METHOD = "clearance at samples, and a bound on its rate between them"
_NEAR = 0.1  # m: beyond this a clearance hardly matters


@dataclass(frozen=True, eq=False)
class ClearanceLimits:
    """Each clearance of the scene is at least its margin."""

    scene: Scene
    robot: Robot

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the pairs that each column of `margins` is about."""
        return tuple(f"clearance of {name}" for name in self.scene.names(self.robot))

    @cached_property
    def wanted(self) -> Array:
        """Least clearance wanted of each pair (m,) [m]."""
        return self.scene.margins(self.robot)

    def _spare(self, states: tuple[Array, ...]) -> Array:
        return clearances(self.scene, self.robot, states[0]) - self.wanted

    def margins(self, states: tuple[Array, ...]) -> Array:
        """Return (N, m): 1 - exp(-spare / 0.1 m), about 1 far away, 0 at the margin, negative beyond."""
        return np.asarray(1.0 - np.exp(-self._spare(states) / _NEAR))

    def pull_back(self, states: tuple[Array, ...], weights: Array) -> Array:
        """Return the derivative (4, N, n) of sum(weights * margins) with respect to the states."""
        found = np.zeros((4, *states[0].shape))
        slopes = weights * np.exp(-self._spare(states) / _NEAR) / _NEAR
        found[0] = clearance_pull_back(self.scene, self.robot, states[0], slopes)
        return found

    def guarantees(self, trajectory: Trajectory) -> tuple[Guarantee, ...]:
        """Return what is proven of every pair at every instant."""
        ranges = np.stack(trajectory.extremes(0), axis=1)
        speeds = np.abs(trajectory.extremes(1)).max(axis=0)
        rate = clearance_gradient_bound(self.scene, self.robot, ranges) @ speeds

        def bound(a: Array, b: Array) -> tuple[Array, Array]:
            # two lines of the greatest slope down from the ends meet at the least that is possible between them
            before, after = (clearances(self.scene, self.robot, trajectory.derivative(t, 0)) for t in (a, b))
            return (b - a)[:, None] * rate / 2.0 - (before + after) / 2.0, -np.minimum(before, after)

        least = -greatest_bound(bound, trajectory.duration, -self.wanted)
        return tuple(
            Guarantee(name, float(reached), float(wanted), "m", METHOD, at_least=True)
            for name, reached, wanted in zip(self.names, least, self.wanted, strict=True)
        )
