"""What a simulation found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, checked
from ident.errors import ModelError
from ident.simulation.plant import Plant


@dataclass(frozen=True, eq=False)
class Simulation:
    """The motion of a plant at the times t (N,) [s].

    q, qd, qdd, tau (N, n) [rad, rad/s, rad/s^2, N m; m, m/s, m/s^2, N]: tau is the torque of the drives at the joints,
    as a log has it, friction included. kinetic, potential (N,) [J]: of bodies and drives; of gravity, springs and
    offsets. stopped: why the simulation ended before its last time, None when it did not; t then ends there.
    friction_law: what became of friction, in words. method: the solver and its tolerances or step. evaluations: how
    many times the acceleration was computed. state: see `at`.
    """

    plant: Plant
    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    kinetic: Array
    potential: Array
    stopped: str | None
    friction_law: str
    method: str
    evaluations: int
    state: Callable[[Array], Array]

    @property
    def energy(self) -> Array:
        """Kinetic and potential energy (N,) [J]."""
        return np.asarray(self.kinetic + self.potential)

    def at(self, t: ArrayLike) -> tuple[Array, Array]:
        """Return q, qd (M, n) at any times (M,) [s] between the first and the last.

        By the solver's own interpolation; after fixed steps, by the cubic through both ends of a step and their slopes.
        Raises ModelError for times outside.
        """
        at = checked(t, (None,), "t", ModelError)
        if at.size and not (self.t[0] <= at.min() and at.max() <= self.t[-1]):
            wrong = at.min() if at.min() < self.t[0] else at.max()
            raise ModelError(f"t = {wrong:g} s is outside the simulation, {self.t[0]:g} s to {self.t[-1]:g} s")
        y = self.state(at) if len(self.t) > 1 else np.tile(np.concatenate([self.q[0], self.qd[0]]), (len(at), 1))
        n = self.plant.robot.n
        return y[:, :n], y[:, n:]
