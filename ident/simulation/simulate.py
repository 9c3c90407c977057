"""Simulation by SciPy's adaptive solvers, with fixed steps of the classical Runge-Kutta method, which must follow how
fast friction settles near standstill, and of many at once.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, checked
from ident.errors import ModelError, nearest
from ident.jit import one_thread
from ident.simulation.plant import Plant, accelerations, mass_matrices, require_inertia
from ident.simulation.run import Simulation, Slope, limit_reached, positive, runaway, start, whole, whole_ratio
from ident.simulation.torques import Drives, SampledTorque, Stop, TorqueFunction, increasing
from ident.symbolic.newton_euler import joint_names
from ident.symbolic.program import Node, Objects, Program, straight_line, traced
from ident.tell import Tell, logged

#: SciPy takes no finer relative tolerance, and puts this in its place.
FINEST = 100 * float(np.finfo(np.float64).eps)
METHODS = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")


def simulate(
    plant: Plant,
    q: ArrayLike,
    qd: ArrayLike,
    times: ArrayLike,
    torque: TorqueFunction | None = None,
    *,
    method: str | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-8,
    control_period: float | None = None,
    stop_at_limits: bool = True,
    tell: Tell = logged,
) -> Simulation:
    """Return the motion from q, qd (n,) at times[0] on, at the times (N,) [s], under torque(t, q, qd) -> (n,) [N m; N].

    torque: None for no drive; a SampledTorque; or any function, which must depend on its arguments alone unless a
    control_period [s] is given: then it is asked once per period, in order, and its answer is held.
    method: the name of one of SciPy's solvers; None takes DOP853 where there is no friction that levels off with speed,
    as Coulomb's does, and the implicit Radau where there is, for near standstill such a law is stiff. rtol, atol [rad,
    rad/s; m, m/s]: its tolerances. The solver starts afresh wherever the torque has a kink or a jump. tell(doing, done,
    total) hears of the progress.

    A simulation that reaches a joint limit (with stop_at_limits), runs away or cannot go on keeps what it has and says
    why in `stopped`; so does one whose torque function returns a wrong number of torques, returns what is not finite or
    raises one of the errors of `ident`. Where that happens at times[0], it is raised. Raises ModelError when arrays do
    not fit or are not finite, a joint moves nothing that has inertia, or the start is beyond a limit.
    """
    from scipy import integrate

    t = increasing(times, "times")
    name = method or ("Radau" if any(x.levels_off for x in plant.acting) else "DOP853")
    if name not in METHODS:
        fix = f"It is one of {', '.join(METHODS)}; simulate_fixed takes fixed steps of RK4"
        raise ModelError(f"'{name}' is no solver{nearest(str(name), METHODS)}", fix=fix)
    for key, tolerance, least in (("rtol", rtol, FINEST), ("atol", atol, 0.0)):
        if not least < tolerance < 1:
            raise ModelError(f"{key} must be between {least:g} and 1, got {tolerance}")
    period = None if control_period is None else positive(control_period, "control_period")
    state, drives = start(plant, q, qd, torque, t, period=period, limits=stop_at_limits)
    solver = partial(getattr(integrate, name), rtol=rtol, atol=atol, vectorized=True)
    taken = _Taken(plant, t, state, drives, stop_at_limits, tell)
    return _simulated(taken, solver, _breaks(t, torque, control_period), f"{name}, rtol {rtol:g}, atol {atol:g}")


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
    tell: Tell = logged,
) -> Simulation:
    """Return the motion from q, qd (n,) at t = 0 to the duration [s], by RK4 with the step [s], at every so many steps.

    torque, control_period (a whole number of steps), stop_at_limits, tell, what stops it and what raises ModelError: as
    in `simulate`. Friction that the step cannot follow near standstill is refused at the start and stops the simulation
    later on, naming the joint, the step and the width that would do: RK4 is stable while step * rate < 2.785
    (Hairer, Wanner, Solving Ordinary Differential Equations II, section IV.2).
    """
    steps = whole_ratio(positive(duration, "duration"), positive(step, "step"))
    if steps is None:
        raise ModelError(f"the duration {duration:g} s is not a whole number of steps of {step:g} s")
    held: int | None = steps
    if control_period is not None:
        held = whole_ratio(positive(control_period, "control_period"), step)
        if held is None:
            problem = f"the control period {control_period:g} s is not a whole number of steps of {step:g} s"
            raise ModelError(problem, fix="Choose a step that divides it")
    t = step * np.append(np.arange(0, steps, whole(every, "every")), steps)
    state, drives = start(plant, q, qd, torque, t, period=control_period, limits=stop_at_limits)
    stiff = too_stiff(plant, state[: plant.robot.n], step)
    if stiff:
        raise ModelError(stiff[0], fix=stiff[1])
    taken = _Taken(plant, t, state, drives, stop_at_limits, tell, fixed=True)
    breaks = step * np.append(np.arange(0, steps, held), steps)
    return _simulated(taken, partial(FixedSteps, step), breaks, f"RK4, step {step:g} s")


def _simulated(taken: _Taken, solver: Callable[..., Any], breaks: Array, method: str) -> Simulation:
    from scipy.interpolate import CubicHermiteSpline

    slope = Slope(taken.plant, taken.drives)
    try:
        with one_thread(), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of solvers that give up: their message is kept
            _solve(solver, slope, taken, breaks)
    except Stop as cause:
        taken.stopped = cause.reason
    with one_thread():
        taken.end()
    plant, t, y, n = taken.plant, np.array(taken.kept), np.array(taken.rows), taken.plant.robot.n
    q, qd, tau = y[:, :n].copy(), y[:, n:].copy(), taken.drives.along(t)
    qdd = accelerations(plant, q, qd, tau)
    arrays: dict[str, Any] = {"t": t, "q": q, "qd": qd, "qdd": qdd, "tau": tau}
    arrays |= {"kinetic": plant.kinetic(q, qd), "potential": plant.potential(q)}
    for array in arrays.values():
        array.setflags(write=False)
    return Simulation(
        plant=plant,
        **arrays,
        stopped=taken.stopped,
        friction_law=plant.friction_law,
        method=method,
        evaluations=slope.evaluations,
        state=taken.dense() or (lambda at: np.asarray(CubicHermiteSpline(t, y, np.concatenate([qd, qdd], axis=1))(at))),
    )


def _breaks(t: Array, torque: TorqueFunction | None, period: float | None) -> Array:
    """Return the times between which the torque is smooth, the first and the last one included."""
    inner = np.empty(0)
    if period:
        inner = t[0] + period * np.arange(1, int((t[-1] - t[0]) / period) + 1)
    elif isinstance(torque, SampledTorque):
        inner = torque.t
    least = 1e-12 * (t[-1] - t[0])
    return np.concatenate([t[:1], inner[(inner > t[0] + least) & (inner < t[-1] - least)], t[-1:]])


def _solve(solver: Callable[..., Any], slope: Slope, taken: _Taken, breaks: Array) -> None:
    """Step from break to break until the end or until something stops the simulation."""
    n = slope.plant.robot.n
    step = None
    for begin, end in zip(breaks[:-1].tolist(), breaks[1:].tolist(), strict=True):
        if begin > breaks[0]:
            slope.drives.sample(begin, taken.y[:n].copy(), taken.y[n:].copy())
        first = None if step is None else min(step, end - begin)
        run = solver(slope, begin, taken.y, end, first_step=first)
        while run.status == "running":
            message = run.step()
            if run.status == "failed":
                taken.stopped = _gave_up(slope, run.t, taken.y, message)
                return
            taken.add(run.t_old, run.t, run.y, run.dense_output())
            if taken.stopped:
                return
        step = getattr(run, "h_abs", None)  # what the solver would have tried next; LSODA does not say


def _gave_up(slope: Slope, t: float, y: Array, message: str) -> str:
    n = slope.plant.robot.n
    j = int(np.argmax(np.abs(np.nan_to_num(slope(t, y)[n:], nan=np.inf))))
    why = (message or "no reason given").rstrip(".").lower()
    return f"the solver gave up at t = {t:g} s, where joint '{slope.plant.robot.joint_names[j]}' moves hardest: {why}"


class _Taken:
    """The steps taken so far: samples at the wanted times, and the interpolants in between."""

    def __init__(
        self, plant: Plant, times: Array, y: Array, drives: Drives, limits: bool, tell: Tell, *, fixed: bool = False
    ) -> None:
        self.plant, self.times, self.drives, self.tell, self.fixed = plant, times, drives, tell, fixed
        self.limits = limits and bool(np.isfinite(plant.limits).any())
        self.t, self.y = float(times[0]), y
        self.kept, self.rows = [self.t], [y]
        self.ends = [self.t]
        self.pieces: list[Any] = []
        self.stopped: str | None = None

    def add(self, t0: float, t1: float, y: Array, dense: Any) -> None:
        """Take a step that the solver accepted, up to a limit if one lies in it."""
        self.stopped = runaway(self.plant, t1, self.y, y)
        if self.stopped is not None:
            return
        hit = limit_reached(self.plant, t0, t1, dense, 1 if self.fixed else 4) if self.limits else None
        if hit is not None:
            t1, self.stopped = max(hit[0], t0), hit[1]
            y = dense(t1)
        if t1 > self.ends[-1] and not self.fixed:
            self.ends.append(t1)
            self.pieces.append(dense)
        done = len(self.rows)
        for time in self.times[done : np.searchsorted(self.times, t1, "right")]:
            self._keep(float(time), y if time == t1 else dense(time))
        self.t, self.y = t1, y
        if len(self.rows) > done:
            self.tell("simulating", len(self.rows), len(self.times))

    def end(self) -> None:
        """Keep the state where the simulation stopped, if there is a torque."""
        if self.stopped and self.t > self.kept[-1]:
            with contextlib.suppress(Stop):
                self._keep(self.t, self.y)

    def _keep(self, t: float, y: Array) -> None:
        n = self.plant.robot.n
        self.drives.note(t, y[:n].copy(), y[n:].copy())
        self.kept.append(t)
        self.rows.append(y)

    def dense(self) -> Callable[[Array], Array] | None:
        """Return the state (M, 2 n) as a function of times (M,)."""
        from scipy.integrate import OdeSolution

        if not self.pieces:
            return None
        solution = OdeSolution(self.ends, self.pieces)
        return lambda at: np.asarray(solution(at)).T


@dataclass(frozen=True, eq=False)
class Rollouts:
    """R simulations at the times t (K,) [s]: q, qd (R, K, n), and the friction law they used in words.

    diverged (R,): the first time [s] at which a rollout was no longer finite, NaN for one that stayed finite; its
    numbers from there on are NaN.
    """

    t: Array
    q: Array
    qd: Array
    diverged: Array
    friction_law: str


def rollouts(plant: Plant, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, step: float, every: int = 1) -> Rollouts:
    """Simulate R rollouts at once by Runge-Kutta 4 with a fixed step [s], all cores at work.

    q, qd (R, n): where each starts. tau (S + 1, n), or (R, S + 1, n) for torques of their own [N m; N]: torques at the
    ends of the S steps, linear in between. Every `every`-th state is kept. Raises ModelError when a shape does not fit,
    a number is not finite, a joint has no inertia at the start, or drive inertia couples joints.
    """
    from ident.dynamics.articulated_body import rollout_rows

    n = plant.robot.n
    start = np.concatenate([checked(q, (None, n), "q", ModelError), checked(qd, (None, n), "qd", ModelError)], axis=1)
    torques = checked(tau, (None,) * (3 if np.ndim(tau) == 3 else 2), "tau", ModelError)
    torques = torques if torques.ndim == 3 else torques[None]
    if torques.shape[2] != n or torques.shape[0] not in (1, len(start)) or torques.shape[1] < 2:
        problem = f"tau must have shape (steps + 1, {n}) or ({len(start)}, steps + 1, {n}), got {np.shape(tau)}"
        raise ModelError(problem, fix="Give the torques at both ends of every step")
    steps = torques.shape[1] - 1
    if not 0 < step < np.inf:
        raise ModelError(f"the step must be a positive time, got {step}")
    every = whole(every, "every")
    if steps % every:
        raise ModelError(f"every {every}th of {steps} steps cannot be kept", fix="Choose a divisor of the steps")
    if plant.drive is None:
        problem = f"rollouts take drive inertia joint by joint, but a motor of '{plant.robot.name}' turns with several"
        raise ModelError(problem, fix="Use simulate")
    kept = steps // every + 1
    q_out, qd_out = np.empty((len(start), kept * n)), np.empty((len(start), kept * n))
    rollout_rows(
        plant.tree,
        plant.inertials,
        plant.drive,
        *straight_line(_passive(plant)),
        checked(start, (None, 2 * n), "start", ModelError),
        checked(torques.reshape(len(torques), -1), (None, None), "tau", ModelError),
        float(step),
        every,
        q_out,
        qd_out,
    )
    t = np.arange(kept) * (step * every)
    q_out, qd_out = q_out.reshape(-1, kept, n), qd_out.reshape(-1, kept, n)
    lost = np.asarray(~(np.isfinite(q_out).all(axis=2) & np.isfinite(qd_out).all(axis=2)))
    if kept > 1 and lost[:, 1].any():
        require_inertia(plant, start[np.argmax(lost[:, 1])][None, :n].copy())
    q_out[lost], qd_out[lost] = np.nan, np.nan
    diverged = np.where(lost.any(axis=1), t[np.argmax(lost, axis=1)], np.nan)
    return Rollouts(t, q_out, qd_out, diverged, plant.friction_law)


def _passive(plant: Plant) -> Program:
    """Return the torque of the plant's joint terms as a program of q and qd.

    Raises ModelError for a term whose column is not made of arithmetic, or needs the load.
    """
    n = plant.robot.n
    for x in plant.loaded:
        raise ModelError(f"rollouts do not take {x.term.kind.words}, which the load decides", fix="Use simulate")

    def formula(q: Objects, qd: Objects) -> Objects:
        tau = np.zeros(n).astype(object)
        for x in plant.acting:
            for direction, value in zip(x.directions.astype(object), x.values.tolist(), strict=True):
                try:
                    column = x.column(direction @ q, direction @ qd)
                except TypeError as cause:
                    problem = f"rollouts cannot be made of {x.term.kind.words}: {cause}"
                    raise ModelError(problem, fix="Use simulate") from None
                tau = tau + direction * (value * (column if isinstance(column, Node) else float(column)))
        return tau

    return traced("passive", {"q": joint_names("q", n), "qd": joint_names("qd", n)}, "tau", formula)


#: Between so many steps the stability of friction is looked at.
_LOOK = 8


class FixedSteps:
    """RK4 with a fixed step h [s] from one whole number of steps to another, with the members of SciPy's solvers."""

    def __init__(self, h: float, slope: Slope, begin: float, y: Array, end: float, first_step: float | None = None):
        self.h, self.slope, self.k, self.last = h, slope, round(begin / h), round(end / h)
        self.t = self.t_old = begin
        self.y, self.before, self.begin = y, y, y
        self.status = "running"

    def step(self) -> None:
        """Go on by one step; raises Stop where friction settles faster than it can follow, or it diverges."""
        h, t, y, slope = self.h, self.k * self.h, self.y, self.slope
        if self.k % _LOOK == 0:
            stiff = too_stiff(slope.plant, y[: slope.plant.robot.n], h)
            if stiff:
                raise Stop(f"{stiff[0]} at t = {t:g} s", stiff[1])
        k1 = slope(t, y)
        k2 = slope(t + h / 2, y + h / 2 * k1)
        k3 = slope(t + h / 2, y + h / 2 * k2)
        k4 = slope(t + h, y + h * k3)
        after = np.asarray(y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
        reason = runaway(slope.plant, t + h, y, after)
        if reason:
            raise Stop(f"the step of {h:g} s from t = {t:g} s diverged: {reason}")
        self.k += 1
        self.t_old, self.t, self.before, self.begin, self.y = t, self.k * h, y, k1, after
        self.status = "finished" if self.k == self.last else "running"

    def dense_output(self) -> FixedSteps:
        """Return what gives the states within the last step, until the next one."""
        return self

    def __call__(self, t: float) -> Array:
        """Return the state within the last step: the cubic through both ends with their slopes."""
        x = (t - self.t_old) / self.h
        if x >= 1.0:
            return self.y
        d0, d1 = self.h * self.begin, self.h * self.slope(self.t_old + self.h, self.y)
        start, end = (1 + 2 * x) * (1 - x) ** 2 * self.before, x * x * (3 - 2 * x) * self.y
        return np.asarray(start + x * (1 - x) ** 2 * d0 + end - x * x * (1 - x) * d1)


#: RK4 is stable for y' = -rate y while step * rate is below this: the real root of the stability function's |R| = 1.
RK4_BOUND = 2.785


def settling_rate(plant: Plant, q: Array) -> tuple[float, str]:
    """Return the greatest rate [1/s] at which friction ends a small motion at q (n,), and whose friction does most.

    Near standstill all friction is viscous, F = sum_k d_k d_k^T slope_k with slope_k that of the joint's (or motor's)
    friction at q and no speed, under the load of the weight alone: the greatest eigenvalue of D^-1 F. 0 and "" without
    friction.
    """
    found = _elements(plant, q)
    if not any(slope for _, slope, _ in found.values()):
        return 0.0, ""
    G = np.array([np.sqrt(slope) * direction for direction, slope, _ in found.values()])
    rates, shapes = np.linalg.eigh(G @ np.linalg.solve(mass_matrices(plant, q[None])[0], G.T))
    return float(rates[-1]), list(found)[int(np.argmax(np.abs(shapes[:, -1])))]


def too_stiff(plant: Plant, q: Array, step: float) -> tuple[str, str] | None:
    """Return what is wrong, and what to do, when RK4 would chatter in friction at q (n,); None when it would not."""
    rate, owner = settling_rate(plant, q)
    if rate * step < RK4_BOUND:
        return None
    what = (
        f"friction of '{owner}' settles at {rate:.3g} 1/s near standstill, and steps of {step:g} s would"
        f" make it chatter (step x rate is {step * rate:.3g}, RK4 allows {RK4_BOUND:.3g})"
    )
    ways = [f"steps below {_two_digits(RK4_BOUND / rate, np.floor):g} s"]
    _, slope, steep = _elements(plant, q)[owner]
    gentle = sum(s for s, size in steep if s <= size)
    size = sum(size for s, size in steep if s > size)
    allowed = slope * RK4_BOUND / (rate * step) - gentle
    if size > 0 and allowed > 0:
        ways.append(f"a friction width above {_two_digits(size / allowed, np.ceil):g}")
    return what, f"Use {', '.join(ways)}, or simulate(), whose default solver for friction is implicit"


def _elements(plant: Plant, q: Array) -> dict[str, tuple[Array, float, list[tuple[float, float]]]]:
    """Return by joint or motor: its direction (n,), the slope of its friction at standstill, and of each of its terms
    the slope and the torque at a speed of 1, less than the slope where the term is steep at standstill."""
    found: dict[str, tuple[Array, float, list[tuple[float, float]]]] = {}
    for x in plant.frictions:
        at, little, load = x.directions @ q, 1e-4 * x.width, plant.load(x, q, 0.0 * q, 0.0 * q)
        ends = [x.column(at, 0.0 * at + speed, load) for speed in (little, -little)]
        slopes = x.values * (ends[0] - ends[1]) / (2.0 * little)
        sizes = x.values * np.abs(x.column(at, 0.0 * at + 1.0, load))
        for owner, direction, slope, size in zip(x.owners, x.directions, slopes, sizes, strict=True):
            _, before, terms = found.get(owner, (direction, 0.0, []))
            found[owner] = direction, before + max(float(slope), 0.0), [*terms, (float(slope), float(size))]
    return found


def _two_digits(x: float, whole: np.ufunc) -> float:
    """Return x rounded to two digits, down by np.floor or up by np.ceil."""
    unit = 10.0 ** (np.floor(np.log10(x)) - 1)
    return float(f"{whole(x / unit) * unit:.2g}")
