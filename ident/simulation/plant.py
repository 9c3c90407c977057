"""A model with numbers, as a simulation reads it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, checked, frozen
from ident.dynamics.equations_of_motion import kinetic_energy, potential_energy
from ident.dynamics.forward_dynamics import drive_rows
from ident.dynamics.tree import Tree, tree
from ident.errors import ModelError
from ident.model import (
    Coulomb,
    CoupledDrive,
    Dahl,
    DriveInertia,
    LoadFriction,
    Model,
    NonlinearViscous,
    Offset,
    SmoothCoulomb,
    Spring,
    Viscous,
)
from ident.model.term import Term, chosen
from ident.robot.robot import Robot
from ident.spatial.inertia import pseudo_inertia


@dataclass(frozen=True, eq=False)
class Plant:
    """tau = (D(q) + armature) qdd + C(q, qd) qd + g(q) + friction + springs + offset, with numbers.

    parameters (n, 10): the rigid bodies. armature (n, n) [kg m^2; kg]: drive inertia.
    Friction element k acts on the speed v = directions[k] . qd (a joint's, or a coupled motor's) with
    viscous[k] v + coulomb[k] tanh(v / width[k]) + nonlinear[k] v (v^2 + width[k]^2)^((power[k] - 1) / 2), the last of
    which is sign(v) |v|^power but for speeds below the width; elements are named after the joint or the motor.
    offset, stiffness, rest (n,). Raises ModelError when shapes do not fit, a number is not finite, friction is
    negative or a width is not positive.
    """

    robot: Robot
    parameters: Array
    armature: Array
    elements: tuple[str, ...]
    directions: Array
    viscous: Array
    coulomb: Array
    width: Array
    nonlinear: Array
    power: Array
    offset: Array
    stiffness: Array
    rest: Array

    def __post_init__(self) -> None:
        n, m = self.robot.n, len(self.elements)
        shapes: dict[str, tuple[int, ...]] = {"parameters": (n, 10), "armature": (n, n), "directions": (m, n)}
        shapes |= dict.fromkeys(("viscous", "coulomb", "width", "nonlinear", "power"), (m,))
        shapes |= dict.fromkeys(("offset", "stiffness", "rest"), (n,))
        for name, shape in shapes.items():
            object.__setattr__(self, name, frozen(getattr(self, name), shape, name, ModelError))
        for kind, called in (("viscous", "viscous"), ("coulomb", "Coulomb"), ("nonlinear", "nonlinear viscous")):
            values = getattr(self, kind)
            if values.size and values.min() < 0:
                k = int(values.argmin())
                raise ModelError(
                    f"{called} friction of '{self.elements[k]}' is {values[k]:g}, and negative friction drives",
                    fix="Set it to 0, or use the constrained fit, which keeps friction positive",
                )
        if self.width.size and self.width.min() <= 0:
            k = int(self.width.argmin())
            raise ModelError(f"the friction width of '{self.elements[k]}' must be positive, got {self.width[k]:g}")

    @cached_property
    def tree(self) -> Tree:
        """The robot as the kernels read it."""
        return tree(self.robot)

    @cached_property
    def bodies(self) -> Array:
        """Pseudo-inertias (n, 4, 4) of the links."""
        return frozen(pseudo_inertia(self.parameters), (self.robot.n, 4, 4), "bodies")

    @cached_property
    def limits(self) -> Array:
        """Lower and upper limits (2, n) of the positions, infinite where there is none."""
        return np.array([[j.limits.lower, j.limits.upper] for j in self.robot.joints]).T

    @cached_property
    def no_wrench(self) -> Array:
        """No external wrenches, as the kernels read it."""
        return frozen(np.empty((0, 6 * self.robot.n)), (0, None), "wrenches")

    @cached_property
    def drive(self) -> Array | None:
        """The diagonal of the armature as the articulated-body kernel reads it; None when drives are coupled."""
        diagonal = np.diag(self.armature)
        return None if (self.armature != np.diag(diagonal)).any() else drive_rows(self.robot, self.parameters, diagonal)

    @property
    def friction_law(self) -> str:
        """The friction that a simulation of this plant has, in words."""
        rubbing = self.coulomb > 0
        smooth = [
            name for name, values in (("viscous", self.viscous), ("nonlinear viscous", self.nonlinear)) if values.any()
        ]
        if not rubbing.any():
            return f"{' and '.join(smooth)} friction only" if smooth else "no friction"
        slides = {j.name for j in self.robot.joints if j.kind == "prismatic"}
        widths: dict[str, list[str]] = {}
        for k in np.flatnonzero(rubbing):
            unit = "m/s" if self.elements[k] in slides else "rad/s"
            widths.setdefault(f"{self.width[k]:g} {unit}", []).append(self.elements[k])
        listed = " and ".join(f"w = {width} for {', '.join(names)}" for width, names in widths.items())
        return (
            f"Coulomb friction is Fc tanh(v / w) in place of Fc sign(v), with {listed}: "
            "a joint that friction holds creeps at a speed below w instead of sticking"
            + (f"; {' and '.join(smooth)} friction besides" if smooth else "")
        )

    def friction(self, qd: Array) -> Array:
        """Return the torque (..., n) of friction at qd (..., n)."""
        v = qd @ self.directions.T
        bent = self.nonlinear * v * (v * v + self.width**2) ** (0.5 * (self.power - 1.0))
        return np.asarray((self.viscous * v + self.coulomb * np.tanh(v / self.width) + bent) @ self.directions)

    def static(self, q: Array) -> Array:
        """Return the torque (..., n) of springs and offsets at q (..., n)."""
        return np.asarray(self.stiffness * (q - self.rest) + self.offset)

    def kinetic(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the kinetic energy (N,) [J] of bodies and drives at q, qd (N, n)."""
        v = checked(qd, (None, self.robot.n), "qd", ModelError)
        drives = 0.5 * np.einsum("si,ij,sj->s", v, self.armature, v)
        return np.asarray(kinetic_energy(self.robot, self.parameters, q, v) + drives)

    def potential(self, q: ArrayLike) -> Array:
        """Return the potential energy (N,) [J] of gravity, springs and offsets at q (N, n)."""
        x = checked(q, (None, self.robot.n), "q", ModelError)
        joints = (0.5 * self.stiffness * (x - self.rest) ** 2 + self.offset * x).sum(axis=1)
        return np.asarray(potential_energy(self.robot, self.parameters, x) + joints)


def plant(model: Model, theta: ArrayLike, friction_width: float = 0.01) -> Plant:
    """Return the plant of a model at theta (p,).

    friction_width [rad/s; m/s]: Coulomb friction with a sign, with or without a dead zone, becomes
    Fc tanh(v / friction_width), for a sign cannot be integrated; so does Dahl's, whose state the plant does not carry.
    A SmoothCoulomb keeps its own width. Nonlinear viscous friction is straight below the width.
    Raises ModelError when theta does not fit the model or is not finite, friction is negative, or a term is
    unknown to simulations.
    """
    robot, n = model.robot, model.robot.n
    values = checked(theta, (len(model.names),), "theta", ModelError)
    if not 0 < friction_width < np.inf:
        raise ModelError(f"friction_width must be a positive speed, got {friction_width}")
    armature, offset, stiffness, rest = np.zeros((n, n)), np.zeros(n), np.zeros(n), np.zeros(n)
    viscous, coulomb, width = np.zeros(n), np.zeros(n), np.full(n, friction_width)
    nonlinear, power = np.zeros(n), np.ones(n)
    motors: list[tuple[str, tuple[float, ...], float, float, float]] = []
    at = model.n_rigid
    for term in model.terms:
        own = values[at : at + len(term.names(robot))]
        at += len(own)
        match term:
            case DriveInertia():
                joints = chosen(term.joints, robot)
                armature[joints, joints] += own
            case Viscous():
                viscous[chosen(term.joints, robot)] = own
            case NonlinearViscous():
                nonlinear[chosen(term.joints, robot)] = own
                power[chosen(term.joints, robot)] = term.power
            case Coulomb() | Dahl():
                coulomb[chosen(term.joints, robot)] = own
            case SmoothCoulomb():
                coulomb[chosen(term.joints, robot)] = own
                width[chosen(term.joints, robot)] = term.width
            case Offset():
                offset[chosen(term.joints, robot)] = own
            case Spring():
                stiffness[chosen(term.joints, robot)] = own
                rest[chosen(term.joints, robot)] = term.rest
            case CoupledDrive():
                inertia, fv, fc = (float(x) for x in own)
                armature += inertia * np.outer(term.shares, term.shares)
                motors.append((term.motor, term.shares, fv, fc, term.width or friction_width))
            case _:
                raise _unknown(term)
    rubbing = [j for j in range(n) if viscous[j] != 0 or coulomb[j] != 0 or nonlinear[j] != 0]
    return Plant(
        robot=robot,
        parameters=values[: model.n_rigid].reshape(n, 10),
        armature=armature,
        elements=tuple(robot.joint_names[j] for j in rubbing) + tuple(m[0] for m in motors),
        directions=np.array([np.eye(n)[j] for j in rubbing] + [m[1] for m in motors]).reshape(-1, n),
        viscous=np.append(viscous[rubbing], [m[2] for m in motors]),
        coulomb=np.append(coulomb[rubbing], [m[3] for m in motors]),
        width=np.append(width[rubbing], [m[4] for m in motors]),
        nonlinear=np.append(nonlinear[rubbing], np.zeros(len(motors))),
        power=np.append(power[rubbing], np.ones(len(motors))),
        offset=offset,
        stiffness=stiffness,
        rest=rest,
    )


def _unknown(term: Term) -> ModelError:
    if isinstance(term, LoadFriction):
        return ModelError("a simulation does not know friction that grows with load", fix="Leave friction out of it")
    return ModelError(f"a simulation does not know the term {term!r}", fix="Leave it out of the model")


def without_friction(plant: Plant) -> Plant:
    """Return the plant without friction; drive inertia, springs and offsets stay."""
    none = np.zeros(0)
    return replace(
        plant,
        elements=(),
        directions=np.zeros((0, plant.robot.n)),
        viscous=none,
        coulomb=none,
        width=none,
        nonlinear=none,
        power=none,
    )
