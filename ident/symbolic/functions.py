"""The functions that generated code offers, each as a program."""

from __future__ import annotations

from dataclasses import replace

from numpy.typing import ArrayLike

from ident.arrays import checked
from ident.errors import ModelError
from ident.model.model import Model
from ident.regression.base import BaseParameters, base_parameters
from ident.robot.robot import Robot
from ident.symbolic import newton_euler, pseudo_inertia
from ident.symbolic.mechanism import mechanism
from ident.symbolic.names import joint_names, parameter_names
from ident.symbolic.program import Program, traced
from ident.symbolic.tape import Objects


def functions(robot: Robot, inertials: ArrayLike | None = None) -> tuple[Program, ...]:
    """Return the programs of inverse dynamics, regressor, base regressor, mass matrix, Coriolis matrix and gravity.

    Inputs are q, qd, qdd (n) as far as they are needed and, without `inertials`, theta (10 n), the standard
    parameters in their usual order; with inertials (n, 10) their numbers are worked in. All are
    recursions from link to link but the Coriolis matrix, a sum of traces. Raises ModelError when inertials do not fit.
    """
    n, arm = robot.n, mechanism(robot)
    q, qd, qdd = ({letter: joint_names(letter, n)} for letter in ("q", "qd", "qdd"))
    if inertials is None:
        theta = {"theta": parameter_names(robot)}
        numbers = None
    else:
        theta = {}
        numbers = checked(inertials, (n, 10), "inertials", ModelError).astype(object)

    def inertials_of(given: Objects | None) -> Objects:
        return numbers if given is None else given.reshape(n, 10)  # type: ignore[return-value]

    kept = list(base_parameters(Model(robot)).kept)
    motion = q | qd | qdd
    return (
        traced(
            "inverse_dynamics",
            motion | theta,
            "tau",
            lambda q, qd, qdd, theta=None: newton_euler.inverse_dynamics(arm, inertials_of(theta), q, qd, qdd),
            "joint torques [N m; N] of the motion q, qd, qdd",
        ),
        traced(
            "regressor",
            motion,
            "Y",
            lambda q, qd, qdd: newton_euler.regressor(arm, q, qd, qdd),
            "tau = Y theta, theta the standard parameters",
        ),
        traced(
            "base_regressor",
            motion,
            "Y",
            lambda q, qd, qdd: newton_euler.regressor(arm, q, qd, qdd)[:, kept],
            "tau = Y phi, phi the base parameters",
        ),
        traced(
            "mass_matrix",
            q | theta,
            "D",
            lambda q, theta=None: newton_euler.mass_matrix(arm, inertials_of(theta), q),
            "tau = D qdd + C qd + g",
        ),
        traced(
            "coriolis_matrix",
            q | qd | theta,
            "C",
            lambda q, qd, theta=None: pseudo_inertia.coriolis_matrix(arm, inertials_of(theta), q, qd),
            "that of the Christoffel symbols, with dD/dt - 2 C skew",
        ),
        traced(
            "gravity",
            q | theta,
            "g",
            lambda q, theta=None: newton_euler.gravity(arm, inertials_of(theta), q),
            "the torques that hold the arm still",
        ),
    )


def code_parameters(robot: Robot) -> BaseParameters:
    """Return the base parameters of the links, under the names that parameters have in code."""
    base, names = base_parameters(Model(robot)), parameter_names(robot)
    return replace(base, standard=names, names=tuple(names[k] for k in base.kept))
