"""Torques over time: sampled ones, and what simulations ask of a torque function."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import ModelError
from ident.simulation.plant import Plant

#: The joint torques (n,) [N m; N] at time t [s], position q (n,) and velocity qd (n,).
TorqueFunction = Callable[[float, Array, Array], ArrayLike]


@dataclass(frozen=True, eq=False)
class SampledTorque:
    """Torques tau (M, n) [N m; N] at increasing times t (M,) [s], linear in between; a TorqueFunction.

    Raises ModelError when the shapes do not fit, a number is not finite or a time does not increase.
    """

    t: Array
    tau: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "t", increasing(self.t, "the times of the torques"))
        object.__setattr__(self, "tau", frozen(self.tau, (len(self.t), None), "tau", ModelError))

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        """Return the torque (n,) at time t; the first one before the first time, the last one after the last."""
        k = int(np.clip(np.searchsorted(self.t, t, "right") - 1, 0, len(self.t) - 2))
        share = min(max((t - self.t[k]) / (self.t[k + 1] - self.t[k]), 0.0), 1.0)
        return np.asarray((1.0 - share) * self.tau[k] + share * self.tau[k + 1])


def increasing(times: ArrayLike, name: str) -> Array:
    """Return times (M >= 2,) as a read-only array; ModelError when they do not increase."""
    t = frozen(times, (None,), name, ModelError)
    if len(t) < 2:
        raise ModelError(f"{name} must be two or more, got {len(t)}")
    stuck = np.flatnonzero(np.diff(t) <= 0)
    if len(stuck):
        k = int(stuck[0])
        raise ModelError(f"{name} do not increase: {t[k + 1]:g} s comes after {t[k]:g} s")
    return t


def no_torque(t: float, q: Array, qd: Array) -> Array:
    """Return zeros (n,)."""
    return np.zeros(len(q))


class Stop(Exception):  # noqa: N818 - an end, not an error
    """Ends a simulation that keeps what it has; carries the reason."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Drives:
    """The torque function as a simulation calls it: checked, and held over a control period if there is one."""

    def __init__(self, plant: Plant, torque: TorqueFunction, period: float | None) -> None:
        self.plant, self.torque, self.period = plant, torque, period
        self.held: list[tuple[float, Array]] = []

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        """Return the torque (n,) that acts; raises ModelError for a wrong length, Stop for what is not finite."""
        return self.held[-1][1] if self.period else self._asked(t, q, qd)

    def begin(self, t: float, q: Array, qd: Array) -> None:
        """Ask for the first time; raises ModelError also for what is not finite, for nothing has been found yet."""
        try:
            self.sample(t, q, qd)
            self(t, q, qd)
        except Stop as cause:
            raise ModelError(cause.reason) from None

    def sample(self, t: float, q: Array, qd: Array) -> None:
        """Begin a control period at time t: ask the controller and hold its torque."""
        if self.period:
            self.held.append((t, self._asked(t, q, qd)))

    def along(self, t: Array, q: Array, qd: Array) -> Array:
        """Return the torques (N, n) that acted at the times of a simulation."""
        if self.period:
            starts = np.array([start for start, _ in self.held]) - 1e-9 * self.period
            return np.array([self.held[k][1] for k in np.searchsorted(starts, t, "right") - 1])
        tau = np.full(q.shape, np.nan)
        for k, x in enumerate(zip(t.tolist(), q.copy(), qd.copy(), strict=True)):
            with contextlib.suppress(Stop):  # no number where the function gives none
                tau[k] = self._asked(*x)
        return tau

    def _asked(self, t: float, q: Array, qd: Array) -> Array:
        n = self.plant.robot.n
        value = self.torque(t, q, qd)
        try:
            tau = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ModelError(f"the torque at t = {t:g} s must be {n} numbers, got {str(value)[:40]!r}") from None
        if tau.shape != (n,):
            got = "nothing" if value is None else f"an array of shape {tau.shape}"
            if tau.ndim == 1:
                got = f"{len(tau)} number{'' if len(tau) == 1 else 's'}"
            raise ModelError(
                f"the torque function returned {got} at t = {t:g} s, wanted {n}, one per joint",
                fix=f"Return them in the order {', '.join(self.plant.robot.joint_names)}",
            )
        if not np.isfinite(tau).all():
            j = int(np.flatnonzero(~np.isfinite(tau))[0])
            raise Stop(f"the torque of joint '{self.plant.robot.joint_names[j]}' is {tau[j]} at t = {t:g} s")
        return tau
