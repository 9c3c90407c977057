"""The model that an estimate's parameters belong to, from the estimate alone and the robot."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ident.errors import ModelError
from ident.estimate.estimate import Estimate
from ident.model.coupled_drive import Coupled, coupled_drives, coupled_motors
from ident.model.model import Model
from ident.model.term import Term
from ident.model.terms import restored
from ident.robot.robot import Robot


def fitted_model(estimate: Estimate, robot: Robot) -> Model:
    """Return the model that was fitted, so that torque(model, estimate.theta, q, qd, qdd) is its prediction.

    robot: the one that was identified. Raises ModelError for another robot, for a joint term that is not known here, or
    where the estimate does not say what a parameter means (such as the width of Coulomb friction's tanh).
    """
    require_same(estimate, robot)
    terms = fitted_terms(estimate, robot, estimate.base.standard[10 * robot.n :])
    model = Model(robot, terms)
    if model.names != estimate.base.standard:
        raise ModelError(f"the joint terms of '{estimate.robot}' have names that its joints and motors do not explain")
    return model


def fitted_terms(estimate: Estimate, robot: Robot, parameters: Sequence[str]) -> tuple[Term, ...]:
    """Return the joint terms with these parameters; raises ModelError as `fitted_model` does."""
    motors = {drive.motor: drive.shares for drive in coupled_drives(robot) if drive.motor in coupled_motors(robot)}
    named = [(*name.rpartition(".")[::2], estimate.shapes.get(name, {})) for name in parameters]
    terms: list[Term] = []
    for (motor, kind, shape), group in groupby(named, key=lambda x: (x[0] if x[0] in motors else "", x[1], x[2])):
        owners = tuple(dict.fromkeys(owner for owner, _, _ in group))
        law = restored(kind, shape, owners)
        if law is None:
            told = ", ".join(f"{k} {v:g}" for k, v in shape.items()) or "no numbers"
            raise ModelError(
                f"'{owners[0]}.{kind}' with {told} beside it is no joint term that is known", fix="Fit again"
            )
        terms.append(Coupled(motor, motors[motor], law) if motor else law)
    return tuple(terms)


def require_same(estimate: Estimate, robot: Robot) -> None:
    """Raise ModelError when the estimate's links or joints are not the robot's."""
    for what, own, others in (("links", estimate.links, robot.links), ("joints", estimate.joints, robot.joint_names)):
        if own != others:
            first, second = (", ".join([*names[:6], *(["..."] if len(names) > 6 else [])]) for names in (own, others))
            raise ModelError(
                f"the estimate of '{estimate.robot}' has {what} {first}, robot '{robot.name}' has {second}",
                fix="Give the robot that was identified, with its joints in that order",
            )
