"""From a robot's limits to a design problem."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import ExcitationError
from ident.excitation.basis import Basis, through
from ident.excitation.clearance_limits import ClearanceLimits
from ident.excitation.criteria import Criterion, d_optimal
from ident.excitation.information import information
from ident.excitation.kinematic_limits import KinematicLimits, kinematic_limits
from ident.excitation.problem import Constraint, Problem, instants
from ident.excitation.torque_limits import torque_limits
from ident.geometry.distance import collisions
from ident.geometry.scene import Scene
from ident.model.model import Model
from ident.regression.regression import Regression

_MOST_TABLES = 3.0  # GB: a search keeps the values of all functions, of order 0..3, at all of its instants
_LEAST_SWING = np.radians(1.0)  # rad, or 17 mm of a slide: less is hardly a motion


def design_problem(
    model: Model,
    basis: Basis,
    *,
    noise: ArrayLike,
    criterion: Criterion = d_optimal,
    theta: ArrayLike | None = None,
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
    limits; without them torques are not limited. scene: what must not touch. start, end (n,): where the motion begins
    and ends, free when not given (end: start). position_margin [rad; m] is kept from both ends of every range; the
    other margins are shares of the limits of velocity, acceleration and jerk, and of torque and power [W]. prior: logs
    already taken, of the same model. rate_hz, periods: how it will be logged.
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
    if theta is not None:
        constraints.append(torque_limits(model, theta, margin=torque_margin, power=power))
    elif np.isfinite(power):
        raise ExcitationError("a power limit needs parameters to compute torques from", fix="Give CAD values")
    if scene is not None:
        if not scene.pairs(robot):
            raise ExcitationError(
                "the scene holds nothing that could touch", fix="Give it capsules and a plane, or leave the scene out"
            )
        constraints.append(ClearanceLimits(scene, robot))
    if start is None:
        particular, free = np.zeros((robot.n, basis.size)), basis.resting
        if end is not None:
            raise ExcitationError("an end posture is given without a start posture", fix="Give both, or none")
    else:
        ends = [_posture(limits, scene, model, start, "start")]
        ends.append(ends[0] if end is None else _posture(limits, scene, model, end, "end"))
        particular, free = through(basis, *ends)
    if free.shape[1] == 0:
        raise ExcitationError(
            f"a basis of {basis.size} functions has no motion that starts and ends at rest",
            fix="Use more harmonics or intervals",
        )
    return Problem(source, criterion, basis, particular, free, tuple(constraints), rate_hz, periods)


def _posture(limits: KinematicLimits, scene: Scene | None, model: Model, posture: ArrayLike, which: str) -> Array:
    """Return a posture that lies within the limits and touches nothing."""
    q = frozen(posture, (model.robot.n,), f"the {which} posture", ExcitationError)
    for j, joint in enumerate(limits.joints):
        if not limits.lower[j] < q[j] < limits.upper[j]:
            unit = "rad" if limits.kinds[j] == "revolute" else "m"
            hint = "; the command line takes degrees as '0 30 deg'" if unit == "rad" else ""
            raise ExcitationError(
                f"joint '{joint}' of the {which} posture is at {q[j]:g} {unit}, outside of its range less the margin, "
                f"{limits.lower[j]:g} to {limits.upper[j]:g} {unit}",
                fix=f"Choose a posture inside{hint}",
            )
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
            what = ("velocity", "acceleration", "jerk")[int(np.argmin(swings))]
            unit = "rad" if limits.kinds[j] == "revolute" else "m"
            raise ExcitationError(
                f"joint '{joint}' can swing by {min(swings):.2g} {unit} only, because of its {what} limit, "
                f"at the base frequency {frequency:.3g} rad/s",
                fix=f"Lower the base frequency: make the motion longer than {basis.duration:.3g} s",
            )


def _small_enough(basis: Basis) -> None:
    """Raise ExcitationError when the search's tables would not fit into memory."""
    size = 4 * 8 * instants(basis) * basis.size / 1e9
    if size > _MOST_TABLES:
        raise ExcitationError(
            f"a search among motions of {basis.size} coefficients per joint keeps {size:.3g} GB of tables, which grow "
            f"with the square of that number; {_MOST_TABLES:g} GB is the most",
            fix="Use fewer harmonics or intervals",
        )
