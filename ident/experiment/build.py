"""The model that an experiment asks for."""

from __future__ import annotations

from typing import Any

from ident.arrays import Array
from ident.errors import ConfigError, InputError, require_known
from ident.experiment.experiment import Experiment
from ident.model import Model, coupled_drives
from ident.model.coulomb import SIGN
from ident.model.term import Term
from ident.robot import Robot


def build_model(experiment: Experiment, robot: Robot, inertials: Array | None = None) -> Model:
    """Return the model that the experiment asks for.

    inertials (n, 10): the links as CAD has them, for friction that grows with their load. Raises ConfigError for joints
    that the robot does not have, and where inertials are needed and not given.
    """
    terms: list[Term] = []
    for term in experiment.terms:
        has, fix = f"robot '{robot.name}' has no joint", f"Its joints are {', '.join(robot.joint_names)}"
        place: dict[str, Any] = {"file": experiment.file, "key": f"model.{term.kind.key}"}
        require_known(term.joints or (), robot.joint_names, ConfigError, has, fix=fix, **place)
        if "load" not in getattr(term, "needs", ()):
            terms.append(term)
        elif inertials is None:
            raise ConfigError("needs the load that the links are, from a CAD table", fix="Give experiment.cad", **place)
        else:
            terms += term.at_work(experiment.terms, robot, inertials)  # type: ignore[attr-defined]
    if experiment.coupled_drives:
        if robot.transmission is None:
            raise ConfigError(
                f"robot '{robot.name}' has no transmission, so no drive is coupled",
                file=experiment.file,
                key="model.coupled_drives",
                fix="Give the robot file a [transmission], or leave this out",
            )
        terms += coupled_drives(robot, next((x for x in terms if x.kind == SIGN.kind), SIGN))
    try:
        return Model(robot, tuple(terms))
    except InputError as cause:
        raise ConfigError(cause.problem, file=experiment.file, key="model", fix=cause.fix) from None
