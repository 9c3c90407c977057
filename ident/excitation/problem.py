"""The design problem: the best motion of a family within its constraints, as one smooth function with its gradient.

    merit(z) = criterion(R(z)) - weight * sum over constraints of mean(log(margin - tight))

over the free coefficients z. It is infinite where a margin is used up: minimised by steps that keep it finite, a
motion never leaves the limits (interior-point method; Fiacco, McCormick 1968). The gradient is exact: the reverse
of the regressor gives weights on q, qd, qdd, and those of a motion are linear in its coefficients. `design_problem`
makes it from a robot's limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import ExcitationError
from ident.excitation.bases import Basis, resting, through
from ident.excitation.information import Criterion, Information, d_optimal, information
from ident.excitation.limits import (
    ORDERS,
    ClearanceLimits,
    Guarantee,
    KinematicLimits,
    TorqueLimits,
    kinematic_limits,
    torque_limits,
)
from ident.excitation.trajectory import Trajectory
from ident.geometry.distance import collisions
from ident.geometry.scene import Scene
from ident.model.model import Model
from ident.regression.regression import Regression

States = tuple[Array, ...]  # q, qd, qdd and jerk, each (N, n)
#: What a motion has to keep at every instant: margins that are positive where it is kept, at most 1 or about 1.
Constraint = KinematicLimits | ClearanceLimits | TorqueLimits


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

    def guarantees(self, z: Array) -> list[tuple[Guarantee, ...]]:
        """Return what is proven of each constraint."""
        trajectory = self.trajectory(z)
        return [constraint.guarantees(trajectory) for constraint in self.constraints]

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


_MOST_TABLES = 3.0  # GB: a search keeps the values of all functions, of order 0..3, at all of its instants
_LEAST_SWING = np.radians(1.0)  # rad, or 17 mm of a slide: less is hardly a motion


def design_problem(
    model: Model,
    basis: Basis,
    *,
    noise: ArrayLike,
    criterion: Criterion = d_optimal,
    theta: ArrayLike | TorqueLimits | None = None,
    scene: Scene | None = None,
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
    position_margin: float = 0.0,
    rate_margin: float = 0.0,
    torque_margin: float = 0.0,
    power: float = np.inf,
    prior: Regression | None = None,
    rate_hz: float = 100.0,
    periods: int = 1,
) -> Problem:
    """Return the problem of the best motion of a basis within a robot's limits, at rest at both ends.

    noise (n,): standard deviation of each joint's measured torque [N m; N]. theta (p,): parameters for the torque
    limits, or these limits themselves, less their margin; without them torques are not limited. scene: what must not
    touch. start, end (n,): where the motion begins and ends, free when not given (end: start). position_margin [rad; m]
    is kept from both ends of every range; the other margins are shares of the limits of velocity, acceleration and
    jerk, and of torque and power [W]. prior: logs already taken, of the same model. rate_hz, periods: how it will be
    logged.
    Raises ExcitationError or ModelError when limits, postures, margins or noise make no sense, saying which.
    """
    robot = model.robot
    if not rate_hz > 0:
        raise ExcitationError(f"the logging rate is {rate_hz:g} Hz, wanted a positive number")
    if periods < 1:
        raise ExcitationError(f"the number of periods is {periods}, wanted 1 or more")
    source = information(model, noise, prior=prior)
    limits = kinematic_limits(robot, position=position_margin, rates=rate_margin)
    _slow_enough(limits, basis)
    _small_enough(basis)
    constraints: list[Constraint] = [limits]
    if isinstance(theta, TorqueLimits):
        constraints.append(theta)
    elif theta is not None:
        constraints.append(torque_limits(model, theta, margin=torque_margin, power=power))
    elif np.isfinite(power):
        raise ExcitationError("a power limit needs parameters to compute torques from", fix="Give CAD values")
    if scene is not None:
        if not scene.pairs(robot):
            fix = "Give it capsules and a plane, or leave the scene out"
            raise ExcitationError("the scene holds nothing that could touch", fix=fix)
        constraints.append(ClearanceLimits(scene, robot))
    if start is None:
        particular, free = np.zeros((robot.n, basis.size)), resting(basis)
        if end is not None:
            raise ExcitationError("an end posture is given without a start posture", fix="Give both, or none")
    else:
        ends = [_require_posture(limits, scene, model, start, "start")]
        ends.append(ends[0] if end is None else _require_posture(limits, scene, model, end, "end"))
        particular, free = through(basis, *ends)
    if free.shape[1] == 0:
        problem = f"a basis of {basis.size} functions has no motion that starts and ends at rest"
        raise ExcitationError(problem, fix="Use more harmonics")
    return Problem(source, criterion, basis, particular, free, tuple(constraints), rate_hz, periods)


def _require_posture(
    limits: KinematicLimits, scene: Scene | None, model: Model, posture: ArrayLike, which: str
) -> Array:
    """Return a posture that lies within the limits and touches nothing."""
    q = frozen(posture, (model.robot.n,), f"the {which} posture", ExcitationError)
    for j, joint in enumerate(limits.joints):
        if not limits.lower[j] < q[j] < limits.upper[j]:
            unit = model.robot.joints[j].unit("position")
            hint = "; the command line takes degrees as '0 30 deg'" if unit == "rad" else ""
            span = f"outside of its range less the margin, {limits.lower[j]:g} to {limits.upper[j]:g} {unit}"
            problem = f"joint '{joint}' of the {which} posture is at {q[j]:g} {unit}, {span}"
            raise ExcitationError(problem, fix=f"Choose a posture inside{hint}")
    touching = [] if scene is None else collisions(scene, model.robot, q)
    if touching:
        more = f" (and {len(touching) - 1} more)" if len(touching) > 1 else ""
        raise ExcitationError(f"the {which} posture is in collision: {touching[0]}{more}", fix="Choose another posture")
    return q


def _slow_enough(limits: KinematicLimits, basis: Basis) -> None:
    """Raise ExcitationError when even the slowest oscillation of the basis is too fast for a joint to swing at all."""
    frequency = 2.0 * np.pi / basis.duration
    for j, joint in enumerate(limits.joints):
        swings = [limits.rates[o, j] / frequency ** (o + 1) for o in range(3)]
        if min(swings) < min(_LEAST_SWING, 0.05 * (limits.upper[j] - limits.lower[j])):
            because = f"because of its {ORDERS[1 + int(np.argmin(swings))]} limit"
            swing = f"{min(swings):.2g} {'rad' if limits.kinds[j] == 'revolute' else 'm'}"
            at = f"at the base frequency {frequency:.3g} rad/s"
            problem = f"joint '{joint}' can swing by {swing} only, {because}, {at}"
            fix = f"Lower the base frequency: make the motion longer than {basis.duration:.3g} s"
            raise ExcitationError(problem, fix=fix)


def _small_enough(basis: Basis) -> None:
    """Raise ExcitationError when the search's tables would not fit into memory."""
    size = 4 * 8 * instants(basis) * basis.size / 1e9
    if size > _MOST_TABLES:
        tables = f"{size:.3g} GB of tables, which grow with the square of that number; {_MOST_TABLES:g} GB is the most"
        problem = f"a search among motions of {basis.size} coefficients per joint keeps {tables}"
        raise ExcitationError(problem, fix="Use fewer harmonics")
