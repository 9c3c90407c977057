"""Simulation by the classical Runge-Kutta method with a fixed step."""

from __future__ import annotations

import contextlib
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.errors import ModelError
from ident.simulation.plant import Plant
from ident.simulation.run import (
    Simulation,
    Slope,
    finished,
    limit_reached,
    positive,
    runaway,
    start,
    whole,
    whole_ratio,
)
from ident.simulation.stability import too_stiff
from ident.simulation.torques import Stop, TorqueFunction
from ident.tell import Tell, silent
from ident.threads import one_thread

#: Between so many steps the stability of friction is looked at, and progress told.
_LOOK = 8


def simulate_fixed(
    plant: Plant,
    q: ArrayLike,
    qd: ArrayLike,
    duration: float,
    step: float,
    torque: TorqueFunction | None = None,
    *,
    every: int = 1,
    control_period: float | None = None,
    stop_at_limits: bool = True,
    tell: Tell = silent,
) -> Simulation:
    """Return the motion from q, qd (n,) at t = 0 to the duration [s], by RK4 with the step [s], at every so many steps.

    torque, control_period (a whole number of steps), stop_at_limits, tell, what stops it and what raises ModelError: as
    in `simulate`. Friction that the step cannot follow near standstill is refused at the start and stops the simulation
    later on, naming the joint, the step and the width that would do: RK4 is stable while step * rate < 2.785
    (Hairer, Wanner, Solving Ordinary Differential Equations II, section IV.2).
    """
    steps, held = _steps(duration, step, control_period)
    every = whole(every, "every")
    span = (0.0, float(duration))
    y, drives = start(plant, q, qd, torque, span, period=control_period, limits=stop_at_limits)
    stiff = too_stiff(plant, y[: plant.robot.n], step)
    if stiff:
        raise ModelError(stiff[0], fix=stiff[1])
    slope = Slope(plant, drives)
    t, rows, stopped, reached = [0.0], [y], None, 0.0
    limited = stop_at_limits and bool(np.isfinite(plant.limits).any())
    n = plant.robot.n

    def keep() -> None:
        drives.note(reached, y[:n].copy(), y[n:].copy())
        t.append(reached)
        rows.append(y)

    try:
        with one_thread(), np.errstate(all="ignore"):
            for k in range(steps):
                now = k * step
                if held and k and k % held == 0:
                    drives.sample(now, y[:n].copy(), y[n:].copy())
                if k % _LOOK == 0:
                    tell("simulating", k, steps)
                    stiff = too_stiff(plant, y[:n], step)
                    if stiff:
                        raise Stop(f"{stiff[0]} at t = {now:g} s", stiff[1])
                begin = slope(now, y)
                after = _rk4(slope, now, y, begin, step)
                reason = runaway(plant, now + step, y, after)
                if reason:
                    raise Stop(f"the step of {step:g} s from t = {now:g} s diverged: {reason}")
                if limited:
                    inside = partial(_inside, now, step, y, begin, after, slope)
                    hit = limit_reached(plant, now, now + step, inside, points=1)
                    if hit:
                        reached, y = hit[0], inside(hit[0])
                        raise Stop(hit[1])
                reached, y = (k + 1) * step, after
                if (k + 1) % every == 0 or k + 1 == steps:
                    keep()
        tell("simulating", steps, steps)
    except Stop as cause:
        stopped = cause.reason
        if reached > t[-1]:
            with one_thread(), contextlib.suppress(Stop):  # where it stopped, if there is a torque
                keep()
    method = f"RK4, step {step:g} s"
    return finished(plant, np.array(t), np.array(rows), drives, slope, stopped=stopped, method=method, state=None)


def _steps(duration: float, step: float, control_period: float | None) -> tuple[int, int | None]:
    """Return how many steps the duration has, and the control period where there is one."""
    steps = whole_ratio(positive(duration, "duration"), positive(step, "step"))
    if steps is None:
        raise ModelError(f"the duration {duration:g} s is not a whole number of steps of {step:g} s")
    held = None
    if control_period is not None:
        held = whole_ratio(positive(control_period, "control_period"), step)
        if held is None:
            raise ModelError(
                f"the control period {control_period:g} s is not a whole number of steps of {step:g} s",
                fix="Choose a step that divides it",
            )
    return steps, held


def _rk4(slope: Slope, t: float, y: Array, k1: Array, h: float) -> Array:
    k2 = slope(t + h / 2, y + h / 2 * k1)
    k3 = slope(t + h / 2, y + h / 2 * k2)
    k4 = slope(t + h, y + h * k3)
    return np.asarray(y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))


def _inside(t0: float, h: float, y0: Array, slope0: Array, y1: Array, slope: Slope, t: float) -> Array:
    """Return the state within a step: the cubic through both ends with their slopes."""
    x = (t - t0) / h
    if x >= 1.0:
        return y1
    d0, d1 = h * slope0, h * slope(t0 + h, y1)
    return np.asarray(
        (1 + 2 * x) * (1 - x) ** 2 * y0 + x * (1 - x) ** 2 * d0 + x * x * (3 - 2 * x) * y1 - x * x * (1 - x) * d1
    )
