"""What a controller calls every cycle, with identified numbers worked in and as few operations as they allow.

Bodies are regrouped first, so that recursions written for standard parameters lose all that torque cannot show
(Khalil, Kleinfinger, IEEE J. Robotics and Automation 3, 1987).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import checked
from ident.errors import ModelError
from ident.model import Model
from ident.model.coulomb import COULOMB
from ident.model.term import along
from ident.regression.base import BaseParameters
from ident.symbolic import newton_euler
from ident.symbolic.mechanism import mechanism, zeros
from ident.symbolic.names import joint_names
from ident.symbolic.program import Program, traced
from ident.symbolic.regrouped import regrouped
from ident.symbolic.tape import Objects, Scalar

#: The input that is one over the width of the tanh in Coulomb friction [s/rad; s/m].
PER_WIDTH = "per_width"


def controller_functions(model: Model, base: BaseParameters, theta: ArrayLike) -> tuple[Program, ...]:
    """Return the programs inverse_dynamics, gravity, mass_matrix, friction and regressor.

    model: of terms that have a `symbol` (`ident.model.term`); base: its base parameters; theta (p,): its standard
    parameters. inverse_dynamics (n) takes q, qd, qdd and holds all but friction: bodies, drive inertia, springs,
    offsets; gravity (n) is what is left of it at rest, mass_matrix (n, n) its slope along qdd; friction (n) is the
    torque that is odd in qd. regressor (n, b): inverse_dynamics + friction = Y phi. Those with a tanh take one over its
    width as the input `PER_WIDTH`; the widths of the model's own terms are not used.
    Raises ModelError for terms without a formula and for numbers that do not fit.
    """
    if base.standard != model.names:
        raise ModelError("the base parameters are of another model")
    n, arm, robot = model.robot.n, mechanism(model.robot), model.robot
    theta = checked(theta, (len(model.names),), "theta", ModelError)
    inertials, numbers = regrouped(robot, theta[: 10 * n].reshape(n, 10)).astype(object), theta[10 * n :]

    def terms(friction: bool, q: Objects, qd: Objects, qdd: Objects, per_width: Scalar = 1.0) -> Objects:
        """Return the torque (n,) of the joint terms that are friction, or of those that are not."""
        tau = zeros(n)
        for j, k, column in _columns(model, q, qd, qdd, per_width, friction):
            tau[j] = tau[j] + float(numbers[k - 10 * n]) * column
        return tau

    def inverse_dynamics(q: Objects, qd: Objects, qdd: Objects) -> Objects:
        found = newton_euler.inverse_dynamics(arm, inertials, q, qd, qdd) + terms(False, q, qd, qdd)
        return np.asarray(found)

    def gravity(q: Objects) -> Objects:
        return np.asarray(newton_euler.gravity(arm, inertials, q) + terms(False, q, zeros(n), zeros(n)))

    def mass_matrix(q: Objects) -> Objects:
        D, still = newton_euler.mass_matrix(arm, inertials, q), terms(False, q, zeros(n), zeros(n))
        for i in range(n):
            unit = zeros(n)
            unit[i] = 1.0
            D[:, i] = D[:, i] + (terms(False, q, zeros(n), unit) - still)
        return D

    def friction(qd: Objects, per_width: Objects) -> Objects:
        return terms(True, zeros(n), qd, zeros(n), per_width[0])

    def regressor(q: Objects, qd: Objects, qdd: Objects, per_width: Objects) -> Objects:
        Y = np.concatenate([newton_euler.regressor(arm, q, qd, qdd), zeros(n, len(numbers))], axis=1)
        for j, k, column in _columns(model, q, qd, qdd, per_width[0]):
            Y[j, k] = Y[j, k] + column
        return np.asarray(Y[:, list(base.kept)])

    q, qd, qdd = ({letter: joint_names(letter, robot.n)} for letter in ("q", "qd", "qdd"))
    width = {PER_WIDTH: (PER_WIDTH,)}
    return (
        traced(
            "inverse_dynamics",
            q | qd | qdd,
            "tau",
            inverse_dynamics,
            "M(q) qdd + C(q, qd) qd + g(q), without friction [N m; N]",
        ),
        traced("gravity", q, "g", gravity, "torque that holds the arm still at q [N m; N]"),
        traced("mass_matrix", q, "M", mass_matrix, "M(q), drive inertia included [kg m^2; kg m; kg]"),
        traced("friction", qd | width, "f", friction, "viscous and Coulomb friction at qd [N m; N]"),
        traced("regressor", q | qd | qdd | width, "Y", regressor, "Y with Y phi = inverse_dynamics + friction"),
    )


def _columns(
    model: Model, q: Objects, qd: Objects, qdd: Objects, per_width: Scalar, friction: bool | None = None
) -> Iterator[tuple[int, int, Scalar]]:
    """Yield joint, parameter and column of the joint terms that are friction, of those that are not, or of all."""
    k = model.n_rigid
    for term in model.terms:
        if not hasattr(term, "symbol"):
            raise ModelError(
                f"{type(term).__name__} has no formula in one state of the robot, so no code is made of it"
            )
        for row in along(term, model.robot)[1]:
            if friction in (None, term.kind.friction):
                x, v, a = (row.astype(object) @ signal for signal in (q, qd, qdd))
                column = np.tanh(v * per_width) if term.kind == COULOMB else term.symbol(x, v, a)
                yield from ((int(j), k, float(row[j]) * column) for j in np.flatnonzero(row))
            k += 1
