"""The model that an experiment asks for."""

from __future__ import annotations

from ident.arrays import Array
from ident.errors import ConfigError, InputError, nearest
from ident.experiment.experiment import Experiment, Joints, Shape
from ident.model import (
    Coulomb,
    Dahl,
    DriveInertia,
    LoadFriction,
    Model,
    NonlinearViscous,
    Offset,
    SmoothCoulomb,
    Spring,
    Viscous,
    coupled_drives,
)
from ident.model.term import Term
from ident.robot import Robot


def build_model(experiment: Experiment, robot: Robot, bodies: Array | None = None) -> Model:
    """Return the model that the experiment asks for.

    bodies (n, 10): the links as CAD has them, for friction that grows with their load. Raises ConfigError for joints
    that the robot does not have, and where bodies are needed and not given.
    """
    wanted, terms = experiment.terms, list[Term]()

    def joints(key: str, chosen: Joints | None) -> tuple[str, ...] | None:
        if not isinstance(chosen, tuple):
            return None
        for name in chosen:
            if name not in robot.joint_names:
                raise ConfigError(
                    f"robot '{robot.name}' has no joint '{name}'{nearest(name, robot.joint_names)}",
                    file=experiment.file,
                    key=f"model.{key}",
                    fix=f"Its joints are {', '.join(robot.joint_names)}",
                )
        return chosen

    if wanted.drive_inertia:
        terms.append(DriveInertia(joints("drive_inertia", wanted.drive_inertia)))
    if wanted.viscous:
        terms.append(Viscous(joints("viscous", wanted.viscous)))
    for bend in wanted.nonlinear_viscous:
        terms.append(NonlinearViscous(bend.power, joints("nonlinear_viscous", bend.joints)))
    for shape in wanted.coulomb:
        who = joints("coulomb", shape.joints)
        terms.append(shape.term(who))
    if wanted.load_friction:
        if bodies is None:
            raise ConfigError(
                "needs the load that the links are, from a CAD table",
                file=experiment.file,
                key="model.load_friction",
                fix="Give experiment.cad",
            )
        loaded = joints("load_friction", wanted.load_friction) or robot.joint_names
        terms += [LoadFriction.of(bodies, law) for law in _laws(wanted.coulomb, loaded)]
    if wanted.offset:
        terms.append(Offset(joints("offset", wanted.offset)))
    for slack in wanted.spring:
        terms.append(Spring(joints("spring", slack.joints), slack.rest, slack.nonnegative))
    if wanted.coupled_drives:
        if robot.transmission is None:
            raise ConfigError(
                f"robot '{robot.name}' has no transmission, so no drive is coupled",
                file=experiment.file,
                key="model.coupled_drives",
                fix="Give the robot file a [transmission], or leave this out",
            )
        shape = wanted.coulomb[0] if wanted.coulomb else Shape()
        terms += coupled_drives(robot, dead_zone=shape.dead_zone or 0.0, width=shape.tanh or 0.0)
    try:
        return Model(robot, tuple(terms))
    except InputError as cause:
        raise ConfigError(cause.problem, file=experiment.file, key="model", fix=cause.fix) from None


def _laws(shapes: tuple[Shape, ...], joints: tuple[str, ...]) -> list[Coulomb | SmoothCoulomb | Dahl]:
    """Return for some joints the laws of their Coulomb friction, the sign for those that have none."""
    found, left = [], list(joints)
    for shape in shapes:
        own = tuple(j for j in left if shape.joints is None or j in shape.joints)
        if own:
            found.append(shape.term(own))
            left = [j for j in left if j not in own]
    return [*found, Coulomb(joints=tuple(left))] if left else found
