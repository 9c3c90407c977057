"""The functions that generated code offers, each as a program: of any links, or for a controller.

A controller gets identified numbers worked in, with as few operations as they allow: bodies are regrouped first, so
that recursions written for standard parameters lose all that torque cannot show (Khalil, Kleinfinger, IEEE J. Robotics
and Automation 3, 1987). Bodies that move like the given ones and are as few numbers as possible are found link by link
without any fit.

What lies on the line of a revolute joint does not notice that the joint turns, and the orientation of a sliding link is
its parent's: both may belong to the parent as well (Gautier, Khalil, IEEE Trans. Robotics and Automation 6, 1990, here
for a line anywhere in the link's frame). The numbers stay as large as they were: nothing is divided by small numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, checked
from ident.errors import ModelError
from ident.model.load_friction import LoadFriction
from ident.model.model import Model
from ident.model.standard import COULOMB
from ident.model.term import along
from ident.regression.base import BaseParameters, base_parameters
from ident.robot.robot import Joint, Robot
from ident.spatial.inertia import Pose, transformed, upper
from ident.symbolic import newton_euler
from ident.symbolic.newton_euler import joint_names, mechanism, parameter_names, zeros
from ident.symbolic.program import Objects, Program, Scalar, traced


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

    motion, Y = q | qd | qdd, partial(newton_euler.regressor, arm)
    torque, standing = "joint torques [N m; N] of the motion q, qd, qdd", "the torques that hold the arm still"
    christoffel = "that of the Christoffel symbols, with dD/dt - 2 C skew"
    return (
        of_bodies("inverse_dynamics", motion, "tau", newton_euler.inverse_dynamics, torque),
        traced("regressor", motion, "Y", Y, "tau = Y theta, theta the standard parameters"),
        traced("base_regressor", motion, "Y", lambda **x: Y(**x)[:, kept], "tau = Y phi, phi the base parameters"),
        of_bodies("mass_matrix", q, "D", newton_euler.mass_matrix, "tau = D qdd + C qd + g"),
        of_bodies("coriolis_matrix", q | qd, "C", newton_euler.coriolis_matrix, christoffel),
        of_bodies("gravity", q, "g", newton_euler.gravity, standing),
    )


def code_parameters(robot: Robot) -> BaseParameters:
    """Return the base parameters of the links, under the names that parameters have in code."""
    base, names = base_parameters(Model(robot)), parameter_names(robot)
    return replace(base, standard=names, names=tuple(names[k] for k in base.kept))


#: The input that is one over the width of the tanh in Coulomb friction [s/rad; s/m].
PER_WIDTH = "per_width"


def arrays_of(program: Program) -> dict[str, list[tuple[int, str]]]:
    """Return the arrays that a function of code takes, each with place and name of the entries that are used."""
    taken = {array: labels for array, labels in program.inputs.items() if array != PER_WIDTH}
    return {a: [(k, x) for k, x in enumerate(labels) if x in program.used] for a, labels in taken.items()}


def signals_of(model: Model) -> dict[str, tuple[str, ...]]:
    """Return the signals of recordings that a model's terms need, by name, with the names of their numbers.

    temperature has one for each joint, time one alone, z one for each of the `states_of` the model.
    """
    needed, states = {name for term in model.terms for name in getattr(term, "needs", ())}, states_of(model)
    needed |= {"z"} if states else set()
    sizes = {"temperature": model.robot.n, "time": 1, "z": len(states)}
    return {name: joint_names(name, size) for name, size in sizes.items() if name in needed}


def states_of(model: Model) -> dict[int, tuple[Any, Array]]:
    """Return by the place of its parameter each state that code carries along: its term, and its joint's row (n,)."""
    terms = [(term, row) for term in model.terms for row in along(term, model.robot)[1]]
    return {k: x for k, x in enumerate(terms, model.n_rigid) if hasattr(x[0], "advanced")}


def controller_functions(model: Model, base: BaseParameters, theta: ArrayLike) -> tuple[Program, ...]:
    """Return the programs inverse_dynamics, gravity, mass_matrix, friction, presliding where it has any, and regressor.

    model: of terms that have a `symbol` (`ident.model.term`); base: its base parameters; theta (p,): its standard
    parameters. inverse_dynamics (n) takes q, qd, qdd and holds all but friction: bodies, drive inertia, springs,
    offsets; gravity (n) is what is left of it at rest, mass_matrix (n, n) its slope along qdd; friction (n) is the
    torque of the terms that resist movement. regressor (n, b): inverse_dynamics + friction = Y phi. Those with a tanh
    take one over its width, the widest joint's, as the input `PER_WIDTH`; others are narrower as in the model. friction
    and regressor take the `signals_of` the model, too, and friction takes q, qd, qdd where it grows with the load.
    presliding (m) is what becomes of the states z when the joints went by dq (n).
    Raises ModelError for terms without a formula and for numbers that do not fit.
    """
    if base.standard != model.names:
        raise ModelError("the base parameters are of another model")
    n, arm, robot = model.robot.n, mechanism(model.robot), model.robot
    theta = checked(theta, (len(model.names),), "theta", ModelError)
    inertials, numbers = regrouped(robot, theta[: 10 * n].reshape(n, 10)).astype(object), theta[10 * n :]

    def terms(
        friction: bool, q: Objects, qd: Objects, qdd: Objects, per_width: Scalar = 1.0, **signals: Objects
    ) -> Objects:
        """Return the torque (n,) of the joint terms that are friction, or of those that are not."""
        tau = zeros(n)
        for j, k, column in _columns(model, q, qd, qdd, per_width, friction, **signals):
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

    def friction(qd: Objects, per_width: Objects, q: Objects, qdd: Objects, **signals: Objects) -> Objects:
        return terms(True, q, qd, qdd, per_width[0], **signals)

    def regressor(q: Objects, qd: Objects, qdd: Objects, per_width: Objects, **signals: Objects) -> Objects:
        Y = np.concatenate([newton_euler.regressor(arm, q, qd, qdd), zeros(n, len(numbers))], axis=1)
        for j, k, column in _columns(model, q, qd, qdd, per_width[0], None, **signals):
            Y[j, k] = Y[j, k] + column
        return np.asarray(Y[:, list(base.kept)])

    q, qd, qdd = ({letter: joint_names(letter, robot.n)} for letter in ("q", "qd", "qdd"))
    width = signals_of(model) | {PER_WIDTH: (PER_WIDTH,)}
    loaded = any("load" in getattr(term, "needs", ()) for term in model.terms)
    resisting = friction if loaded else partial(friction, q=zeros(n), qdd=zeros(n))
    meaning = "M(q) qdd + C(q, qd) qd + g(q), without friction [N m; N]"
    rubs = "friction at qd under the load of q, qd, qdd" if loaded else "viscous and Coulomb friction at qd"
    return (
        traced("inverse_dynamics", q | qd | qdd, "tau", inverse_dynamics, meaning),
        traced("gravity", q, "g", gravity, "torque that holds the arm still at q [N m; N]"),
        traced("mass_matrix", q, "M", mass_matrix, "M(q), drive inertia included [kg m^2; kg m; kg]"),
        traced("friction", (q | qd | qdd if loaded else qd) | width, "f", resisting, f"{rubs} [N m; N]"),
        *_memory(model),
        traced("regressor", q | qd | qdd | width, "Y", regressor, "Y with Y phi = inverse_dynamics + friction"),
    )


def _memory(model: Model) -> tuple[Program, ...]:
    """Return the program of what becomes of the states of a model's terms; none for a model without."""
    states = states_of(model).values()
    if not states:
        return ()

    def presliding(z: Objects, dq: Objects) -> Objects:
        ways = [row.astype(object) @ dq for _, row in states]
        return np.array([x.advanced(*at) for (x, _), *at in zip(states, z, ways, strict=True)], dtype=object)

    memory = {"z": signals_of(model)["z"], "dq": joint_names("dq", model.robot.n)}
    told = "the states z of hysteresis friction after the joints went by dq [rad; m]"
    return (traced("presliding", memory, "z_next", presliding, told),)


def _columns(
    model: Model, q: Objects, qd: Objects, qdd: Objects, per_width: Scalar, friction: bool | None, **signals: Objects
) -> Iterator[tuple[int, int, Scalar]]:
    """Yield joint, parameter and column of the joint terms that are friction, of those that are not, or of all."""
    k, loads, states = model.n_rigid, dict[object, Objects](), list(states_of(model))
    turning = [getattr(term, "law", term) for term in model.terms if term.kind in TURNING]
    widest = max((float(getattr(law, "tanh", 1.0)) for law in turning), default=1.0)
    for term in model.terms:
        if not hasattr(term, "symbol"):
            problem = f"{type(term).__name__} has no formula in one state of the robot, so no code is made of it"
            raise ModelError(problem)
        if friction not in (None, term.kind.friction):
            k += len(along(term, model.robot)[1])
            continue
        needs, law = getattr(term, "needs", ()), _relative(term, widest)
        if "load" in needs and law.inertials not in loads:
            bodies = regrouped(model.robot, np.array(law.inertials)).astype(object)
            loads[law.inertials] = newton_euler.inverse_dynamics(mechanism(model.robot), bodies, q, qd, qdd)
        given = {name: loads[law.inertials] if name == "load" else signals[name] for name in needs}
        for row in along(term, model.robot)[1]:
            x, v, a = (row.astype(object) @ signal for signal in (q, qd, qdd))
            own = {name: row.astype(object) @ s if len(s) == len(row) else s[0] for name, s in given.items()}
            own |= {"z": signals["z"][states.index(k)]} if k in states else {}
            column = law.symbol(x, v * per_width if term.kind in TURNING else v, a, **own)
            yield from ((int(j), k, float(row[j]) * column) for j in np.flatnonzero(row))
            k += 1


#: Kinds whose tanh is as wide as code is told.
TURNING = COULOMB, LoadFriction.kind


def _relative(term: Any, widest: float) -> Any:
    """Return a term with its tanh in shares of the widest one, where it is of those that code is told."""
    if term.kind not in TURNING:
        return term
    law = getattr(term, "law", term)
    own = replace(law, tanh=law.tanh / widest)
    return own if law is term else replace(term, law=own)


def regrouped(robot: Robot, inertials: Array) -> Array:
    """Return inertials (n, 10) of the same torque at every motion, with zeros where the joint above allows it.

    Below a revolute joint m, the entry of h and the moment of inertia that fit its axis best become 0, below a
    prismatic one the whole tensor. They are no bodies that could exist.
    """
    found = np.array(inertials, dtype=np.float64)
    for i in reversed(range(robot.n)):
        joint = robot.joints[i]
        moved = _line(joint, found[i]) if not joint.slides else np.where(np.arange(10) < 4, 0.0, found[i])
        found[i] -= moved
        if joint.parent >= 0:
            where = joint.placement if not joint.slides else Pose(joint.placement.rotation, np.zeros(3))
            found[joint.parent] += transformed(moved, where)
    return found


def _line(joint: Joint, body: Array) -> Array:
    """Return the mass on the joint's line p + s a that takes m, one entry of h and one moment away from a body.

    Of density rho(s) it has m = int rho, h = m p + a int rho s, I = int rho (r.r - r r^T), r = p + s a; the three
    integrals are free.
    """
    a, p = joint.axis, joint.point

    def of(zeroth: float, first: float, second: float) -> Array:
        spread = zeroth * np.outer(p, p) + first * (np.outer(a, p) + np.outer(p, a)) + second * np.outer(a, a)
        tensor = np.trace(spread) * np.eye(3) - spread
        return np.concatenate([[zeroth], zeroth * p + first * a, upper(tensor)])

    along, across = int(np.argmax(np.abs(a))), int(np.argmin(np.abs(a)))
    diagonal = 4 + (0, 3, 5)[across]
    m = float(body[0])
    first = float((body[1 + along] - m * p[along]) / a[along])
    second = float((body[diagonal] - of(m, first, 0.0)[diagonal]) / (1.0 - a[across] ** 2))
    moved = of(m, first, second)
    moved[[0, 1 + along, diagonal]] = body[[0, 1 + along, diagonal]]  # but for rounding
    return moved
