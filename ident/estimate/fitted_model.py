"""The model that an estimate's parameters belong to, from the estimate alone and the robot."""

from __future__ import annotations

from itertools import groupby

from ident.errors import ModelError
from ident.estimate.estimate import Estimate
from ident.model.coulomb import Coulomb, SmoothCoulomb
from ident.model.coupled_drive import CoupledDrive, coupled_drives, coupled_motors
from ident.model.dahl import Dahl
from ident.model.drive_inertia import DriveInertia
from ident.model.load_friction import load_friction_of
from ident.model.model import Model
from ident.model.nonlinear_viscous import NonlinearViscous
from ident.model.offset import Offset
from ident.model.spring import Spring
from ident.model.term import Term
from ident.model.viscous import Viscous
from ident.robot.robot import Robot


def fitted_model(estimate: Estimate, robot: Robot) -> Model:
    """Return the model that was fitted, so that torque(model, estimate.theta, q, qd, qdd) is its prediction.

    robot: the one that was identified. Raises ModelError for another robot, for a joint term that is not known here, or
    where the estimate does not say what a parameter means (such as the width of Coulomb friction's tanh).
    """
    require_same(estimate, robot)
    first = 10 * robot.n
    motors = coupled_motors(robot)
    terms: list[Term] = []
    named = [(*name.rpartition(".")[::2], estimate.shapes.get(name, {})) for name in estimate.base.standard[first:]]
    for (kind, shape), group in groupby(named, key=lambda x: (x[1], x[2]) if x[0] not in motors else ("motor", {})):
        owners = tuple(dict.fromkeys(owner for owner, _, _ in group))
        if kind == "motor":
            terms += [_coupled(owner, estimate, robot) for owner in owners]
        else:
            terms.append(_term(kind, shape, owners))
    model = Model(robot, tuple(terms))
    if model.names != estimate.base.standard:
        raise ModelError(f"the joint terms of '{estimate.robot}' have names that its joints and motors do not explain")
    return model


def _coupled(motor: str, estimate: Estimate, robot: Robot) -> CoupledDrive:
    shape = estimate.shapes.get(f"{motor}.coulomb", {})
    found = coupled_drives(robot, dead_zone=shape.get("dead_zone", 0.0), width=shape.get("tanh", 0.0))
    return next(drive for drive in found if drive.motor == motor)


def _term(kind: str, shape: dict[str, float], joints: tuple[str, ...]) -> Term:
    match kind, dict(shape):
        case "drive_inertia", {}:
            return DriveInertia(joints=joints)
        case "viscous", {}:
            return Viscous(joints=joints)
        case "offset", {}:
            return Offset(joints=joints)
        case "coulomb", {"dead_zone": width}:
            return Coulomb(width, joints=joints)
        case "coulomb", {"tanh": width}:
            return SmoothCoulomb(width, joints=joints)
        case "coulomb", {"dahl": way}:
            return Dahl(way, joints=joints)
        case "load_friction", {"dead_zone": width}:
            return load_friction_of(dict(shape), Coulomb(width, joints=joints))
        case "load_friction", {"tanh": width}:
            return load_friction_of(dict(shape), SmoothCoulomb(width, joints=joints))
        case "load_friction", {"dahl": way}:
            return load_friction_of(dict(shape), Dahl(way, joints=joints))
        case "nonlinear_viscous", {"power": power}:
            return NonlinearViscous(power, joints=joints)
        case "stiffness", {"rest": rest}:
            return Spring(joints, rest)
    told = ", ".join(f"{k} {v:g}" for k, v in shape.items()) or "no numbers"
    raise ModelError(f"'{joints[0]}.{kind}' with {told} beside it is no joint term that is known", fix="Fit again")


def require_same(estimate: Estimate, robot: Robot) -> None:
    """Raise ModelError when the estimate's links or joints are not the robot's."""
    for what, own, others in (("links", estimate.links, robot.links), ("joints", estimate.joints, robot.joint_names)):
        if own != others:
            first, second = (", ".join([*names[:6], *(["..."] if len(names) > 6 else [])]) for names in (own, others))
            raise ModelError(
                f"the estimate of '{estimate.robot}' has {what} {first}, robot '{robot.name}' has {second}",
                fix="Give the robot that was identified, with its joints in that order",
            )
