"""Torques over time: sampled ones, controllers that close the loop, and what simulations ask of a torque function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import IdentError, ModelError
from ident.simulation.plant import Plant, inverse

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
    """Ends a simulation that keeps what it has; an error, where there is nothing to keep yet."""

    def __init__(self, problem: str, fix: str | None = None) -> None:
        self.problem, self.fix = problem, fix
        self.reason = f"{problem}. {fix}" if fix else problem
        super().__init__(self.reason)


class Drives:
    """The torque function as a simulation calls it: checked, and held over a control period if there is one."""

    def __init__(self, plant: Plant, torque: TorqueFunction, period: float | None) -> None:
        self.plant, self.torque, self.period = plant, torque, period
        self.held: list[tuple[float, Array]] = []
        self.noted: list[Array] = []

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        """Return the torque (n,) that acts; raises Stop when the torque function gives none."""
        return self.held[-1][1] if self.period else self._asked(t, q, qd)

    def begin(self, t: float, q: Array, qd: Array) -> None:
        """Ask for the first time; raises an error where others get Stop, for nothing has been found yet."""
        try:
            self.sample(t, q, qd)
            self.note(t, q, qd)
        except Stop as cause:
            raise cause.__cause__ or ModelError(cause.problem, fix=cause.fix) from None

    def sample(self, t: float, q: Array, qd: Array) -> None:
        """Begin a control period at time t: ask the controller and hold its torque."""
        if self.period:
            self.held.append((t, self._asked(t, q, qd)))

    def note(self, t: float, q: Array, qd: Array) -> None:
        """Keep the torque of the next sample of the simulation, which is at time t; raises Stop when there is none."""
        if not self.period:
            self.noted.append(self._asked(t, q, qd))

    def along(self, t: Array) -> Array:
        """Return the torques (N, n) that acted at the samples of a simulation."""
        if not self.period:
            return np.array(self.noted)
        starts = np.array([start for start, _ in self.held]) - 1e-9 * self.period
        return np.array([self.held[k][1] for k in np.searchsorted(starts, t, "right") - 1])

    def _asked(self, t: float, q: Array, qd: Array) -> Array:
        n = self.plant.robot.n
        try:
            value = self.torque(t, q, qd)
        except IdentError as cause:
            raise Stop(f"the torque function failed at t = {t:g} s: {str(cause).rstrip('.')}") from cause
        try:
            tau = np.array(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise Stop(f"the torque at t = {t:g} s must be {n} numbers, got {str(value)[:40]!r}") from None
        if tau.shape != (n,):
            got = "nothing" if value is None else f"an array of shape {tau.shape}"
            if tau.ndim == 1:
                got = f"{len(tau)} number{'' if len(tau) == 1 else 's'}"
            raise Stop(
                f"the torque function returned {got} at t = {t:g} s, wanted {n}, one per joint",
                f"Return them in the order {', '.join(self.plant.robot.joint_names)}",
            )
        if not np.isfinite(tau).all():
            j = int(np.flatnonzero(~np.isfinite(tau))[0])
            raise Stop(f"the torque of joint '{self.plant.robot.joint_names[j]}' is {tau[j]} at t = {t:g} s")
        return tau


#: Wanted q, qd, qdd (n,) at time t [s].
Reference = Callable[[float], tuple[Array, Array, Array]]


@dataclass(frozen=True, eq=False)
class ComputedTorque:
    """tau = (D + armature) (qdd_des + kd (qd_des - qd) + kp (q_des - q)) + C qd + g + friction + springs + offset.

    kp [1/s^2], kd [1/s]: one per joint, or one for all; the error then obeys e'' + kd e' + kp e = 0 where plant is the
    one that is simulated (Spong, Hutchinson, Vidyasagar, section 9.3).
    """

    plant: Plant
    kp: Array
    kd: Array
    reference: Reference

    def __post_init__(self) -> None:
        n = self.plant.robot.n
        for name in ("kp", "kd"):
            value = getattr(self, name)
            spread = np.full(n, float(value)) if np.ndim(value) == 0 else value
            object.__setattr__(self, name, frozen(spread, (n,), name, ModelError))

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        """Return the torque (n,)."""
        plant = self.plant
        wanted = _wanted(self.reference(t), t, len(q))
        qdd = wanted[2] + self.kd * (wanted[1] - qd) + self.kp * (wanted[0] - q)
        tau = inverse(plant, q[None], qd[None], qdd[None])[0]
        return np.asarray(tau + plant.armature @ qdd + plant.friction(qd, q, qdd) + plant.static(q))


def _wanted(values: tuple[ArrayLike, ...], t: float, n: int) -> tuple[Array, ...]:
    """Return what a reference gave, as three arrays (n,); ModelError naming the time when it does not fit."""
    try:
        arrays = tuple(np.asarray(v, dtype=np.float64) for v in values)
    except (TypeError, ValueError):
        raise ModelError(f"the reference gave {str(values)[:60]} at t = {t:g} s, wanted arrays of numbers") from None
    if [a.shape for a in arrays] != [(n,)] * 3:
        got, wanted = (", ".join(map(str, shapes)) for shapes in ([a.shape for a in arrays], [(n,)] * 3))
        raise ModelError(f"the reference gave arrays of shapes {got} at t = {t:g} s, wanted {wanted}")
    return arrays
