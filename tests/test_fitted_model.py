"""The model of an estimate is the one that was fitted: same names, same shapes, same torques."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from export_readers import estimate_of
from oracles import random_bodies, random_tree

from ident.errors import ModelError
from ident.estimate import fitted_model
from ident.estimate.storage import load_estimate, save_estimate
from ident.model import (
    Coulomb,
    Coupled,
    Dahl,
    DriveInertia,
    Hysteresis,
    LoadFriction,
    Model,
    NonlinearViscous,
    Offset,
    RelativeViscous,
    SmoothCoulomb,
    Spring,
    Stribeck,
    Viscous,
    ViscousAsymmetry,
    coupled_drives,
    torque,
)
from ident.robot import Robot
from ident.robot.robot import Transmission


def estimated(model: Model, seed: int = 0):
    rng = np.random.default_rng(seed)
    n = model.robot.n
    theta = np.concatenate([random_bodies(rng, n).ravel(), rng.uniform(0.1, 2.0, len(model.names) - 10 * n)])
    return replace(estimate_of(model.robot, model, theta), shapes=model.shapes)


def coupled(robot: Robot, first: str = "m") -> Robot:
    matrix = np.diag(np.full(robot.n, 50.0))
    matrix[-1, -2] = 50.0
    return replace(robot, transmission=Transmission(tuple(f"{first}{i + 1}" for i in range(robot.n)), matrix))


def models():
    arm = random_tree(np.random.default_rng(0), 4, branches=False)
    wrist = coupled(arm)
    a, b, c, d = arm.joint_names
    yield Model(arm)
    yield Model(arm, (DriveInertia(), Viscous(), Coulomb(0.01), Offset()))
    yield Model(
        arm, (Viscous((b,)), NonlinearViscous(0.3, (a, c)), NonlinearViscous(2.0, (d,), 0.7), SmoothCoulomb(0.05))
    )
    yield Model(arm, (SmoothCoulomb(0.05, (a,)), SmoothCoulomb(0.02, (b,)), Dahl(1e-3, (c, d)), Spring((c, b), 0.2)))
    yield Model(arm, (Spring((a,), 0.2), Spring((b,), -0.1), Coulomb(0.0, (a, b)), Coulomb(0.1, (c,)), Offset((d,))))
    yield Model(
        arm, (SmoothCoulomb(0.05), Hysteresis(1e-3, (a, b)), Hysteresis(1e-4, (a, d), 2), ViscousAsymmetry((c,)))
    )
    yield Model(arm, (NonlinearViscous(2.0), NonlinearViscous(3.0, element=2), RelativeViscous(-1.0, (a, b, c, d))))
    yield Model(arm, (Stribeck(0.1, 0.02, (b, d)), Stribeck(0.3, joints=(a,)), Coulomb()))
    bodies = random_bodies(np.random.default_rng(3), 4)
    rubbing = (Coulomb(0.1, (a,)), SmoothCoulomb(0.02, (b,)), Dahl(1e-3, (c, d)))
    yield Model(arm, (*rubbing, *(LoadFriction.of(bodies, law) for law in rubbing), Offset()))
    yield Model(wrist, (DriveInertia((a, b, c)), Viscous((a, b, c)), *coupled_drives(wrist, SmoothCoulomb(0.03))))
    yield Model(wrist, (Coulomb(0.2), *coupled_drives(wrist, Coulomb(0.1)), Offset()))


@pytest.mark.parametrize("model", list(models()))
def test_the_model_comes_back_from_the_file_alone(model, tmp_path):
    estimate = load_estimate(save(estimated(model), tmp_path))
    found = fitted_model(estimate, model.robot)
    assert found.names == model.names
    assert found.shapes == model.shapes
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, 50, 4)) * 0.3
    np.testing.assert_array_equal(torque(found, estimate.theta, q, qd, qdd), torque(model, estimate.theta, q, qd, qdd))


def save(estimate, folder):
    save_estimate(estimate, folder / "estimate.json")
    return folder / "estimate.json"


def test_refusals():
    arm = random_tree(np.random.default_rng(0), 4, branches=False)
    model = Model(arm, (Coulomb(0.01), Offset()))
    estimate = estimated(model)
    other = replace(arm, links=(*arm.links[:3], "hand"))
    with pytest.raises(ModelError, match="has links link1, link2, link3, link4, robot"):
        fitted_model(estimate, other)
    silent = replace(estimate, shapes={})
    with pytest.raises(ModelError, match=r"'joint1.coulomb' with no numbers beside it is no joint term"):
        fitted_model(silent, arm)
    wrist = coupled(arm)
    drives = estimated(Model(wrist, coupled_drives(wrist)))
    with pytest.raises(ModelError, match="robot 'tree' has no joint 'm4'"):
        fitted_model(drives, arm)


def test_a_coupled_motor_needs_a_name_of_its_own():
    arm = random_tree(np.random.default_rng(0), 4, branches=False)
    wrist = coupled(arm, "joint")
    with pytest.raises(ModelError, match="'joint4' turns with several joints and has the name of one"):
        _ = Model(wrist, coupled_drives(wrist)).names
    model = Model(wrist, (DriveInertia(), Viscous()))  # names of joints mean the joints
    found = fitted_model(estimated(model), wrist)
    assert not any(isinstance(term, Coupled) for term in found.terms)
