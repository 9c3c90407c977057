"""The functions that generated code offers, each as a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    known = None if inertials is None else checked(inertials, (n, 10), "inertials", ModelError).astype(object)
    open_ = {"theta": parameter_names(robot)} if known is None else {}
    kept = list(base_parameters(Model(robot)).kept)

    def of_bodies(
        name: str, inputs: Mapping[str, tuple[str, ...]], output: str, formula: Callable[..., Objects], meaning: str
    ) -> Program:
        def bound(theta: Objects | None = None, **motion: Objects) -> Objects:
            return formula(arm, known if theta is None else theta.reshape(n, 10), *motion.values())

        return traced(name, {**inputs, **open_}, output, bound, meaning)

    def regressor(**motion: Objects) -> Objects:
        Y: Objects = newton_euler.regressor(arm, *motion.values())
        return Y

    motion = q | qd | qdd
    torque, standing = "joint torques [N m; N] of the motion q, qd, qdd", "the torques that hold the arm still"
    christoffel = "that of the Christoffel symbols, with dD/dt - 2 C skew"
    return (
        of_bodies("inverse_dynamics", motion, "tau", newton_euler.inverse_dynamics, torque),
        traced("regressor", motion, "Y", regressor, "tau = Y theta, theta the standard parameters"),
        traced(
            "base_regressor", motion, "Y", lambda **x: regressor(**x)[:, kept], "tau = Y phi, phi the base parameters"
        ),
        of_bodies("mass_matrix", q, "D", newton_euler.mass_matrix, "tau = D qdd + C qd + g"),
        of_bodies("coriolis_matrix", q | qd, "C", pseudo_inertia.coriolis_matrix, christoffel),
        of_bodies("gravity", q, "g", newton_euler.gravity, standing),
    )


def code_parameters(robot: Robot) -> BaseParameters:
    """Return the base parameters of the links, under the names that parameters have in code."""
    base, names = base_parameters(Model(robot)), parameter_names(robot)
    return replace(base, standard=names, names=tuple(names[k] for k in base.kept))
