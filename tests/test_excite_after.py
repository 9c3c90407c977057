"""`ident excite --after`: the motion is designed for the joint terms that the experiment's last run chose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_balancer import written
from test_cli import TRUE
from test_warm_up import moved

from ident.estimate import estimated
from ident.estimate.storage import save_estimate
from ident.experiment import read_experiment
from ident.model import DriveInertia, LoadFriction, Model, Offset, SmoothCoulomb, Viscous, WarmUp, torque
from ident.model.term import names
from ident.pipelines import ExciteWishes, excite
from ident.pipelines.estimated import results_folder
from ident.pipelines.loaded import load
from ident.pipelines.steps import motions
from ident.regression import compress
from ident.robot import read_robot
from ident.robot.unknown import Calibrated, zeros

LIMITS = "limits = { lower = -2.5, upper = 2.5, velocity = 4, acceleration = 20, effort = 60 }\n"
MORE = {"shoulder.load_friction": 0.1, "elbow.load_friction": 0.2, "shoulder.warm_up": 0.8, "elbow.warm_up": 0.3}


def folder_of(place: Path, model: str, *more) -> tuple[Path, Model]:
    """Return a folder with an experiment and two recordings of an arm that has more terms, and that arm's model."""
    folder = written(place, model)
    file = folder / "robot.toml"
    file.write_text(file.read_text().replace('link = "upper"\n', f'link = "upper"\n{LIMITS}') + LIMITS)
    if not model:
        experiment = folder / "experiment.toml"
        experiment.write_text(experiment.read_text().replace("[model]\n", ""))
    known = load(read_experiment(folder))
    truth = Model(known.robot, (DriveInertia(), Viscous(), SmoothCoulomb(0.05), Offset(), *more))
    theta = [(TRUE | MORE)[name] for name in truth.names]
    for seed, name in enumerate(("circle", "steps")):
        t, *x = moved(seed)
        tau = torque(truth, theta, *x, signals={"time": t}) + 0.02 * np.random.default_rng(seed).normal(size=x[0].shape)
        np.savetxt(folder / f"{name}.csv", np.column_stack([t, x[0], tau]), fmt="%.9g", delimiter=",")
    return folder, truth


QUICK = ExciteWishes(duration=4.0, harmonics=2, starts=1, seconds=1e9)


def kinds(model: Model) -> list[str]:
    return list(dict.fromkeys(term.kind.name for term in model.terms))


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    """Return a folder whose experiment leaves the model open, and what a run of it would store with load friction."""
    place = tmp_path_factory.mktemp("open")
    bodies = load(read_experiment(written(place, "coulomb = true"))).cad
    law = SmoothCoulomb(0.05)
    folder, truth = folder_of(place, "", LoadFriction.of(bodies, law))
    loaded = load(read_experiment(folder))
    assert not loaded.experiment.own_model
    estimate = estimated(truth, compress(truth, list(motions(loaded, ["circle"], None, []))), loaded.prior)
    return folder, truth, estimate


def test_the_terms_and_the_noise_of_the_last_run_are_taken(chosen):
    folder, truth, estimate = chosen
    robot = folder / "robot.toml"
    without = excite(robot, replace(QUICK, after=folder))
    assert "load_friction" not in kinds(without.problem.information.columns.model)
    assert any("torque noise taken from what the logs of" in note for note in without.notes)
    file = results_folder(load(read_experiment(folder)).experiment) / "estimate.json"
    file.parent.mkdir(parents=True)
    save_estimate(estimate, file)
    found = excite(robot, replace(QUICK, after=folder))
    model = found.problem.information.columns.model
    assert kinds(model) == kinds(truth)
    (own,) = (term for term in model.terms if isinstance(term, LoadFriction))
    assert own.law == SmoothCoulomb(0.05, ("shoulder", "elbow"))
    np.testing.assert_allclose(found.problem.information.noise, estimate.sigma, rtol=1e-9)
    assert (found.problem.information.noise < 0.8 * without.problem.information.noise).any()  # it explains more
    assert any("last run: drive_inertia, viscous, coulomb, offset, load_friction" in note for note in found.notes)
    assert any("torque noise taken from what the last run leaves unexplained: 0.02" in note for note in found.notes)
    places = [found.worth.base.names.index(name) for name in names(own, truth.robot)]
    assert np.isfinite(found.worth.errors[places]).all()
    assert (found.worth.errors[places] < found.before.errors[places]).all()  # the motion tells more of it
    assert found.design.proven

    file = folder / "experiment.toml"  # changed since
    before = file.read_text()
    file.write_text(f"{before}\n[model]\nviscous_asymmetry = true\n")
    again = excite(robot, replace(QUICK, after=folder))
    file.write_text(before)
    assert "viscous_asymmetry" in kinds(again.problem.information.columns.model)
    assert "load_friction" not in kinds(again.problem.information.columns.model)


def test_what_was_calibrated_is_calibrated_once(chosen):
    folder, _, estimate = chosen
    robot = read_robot(folder / "robot.toml")
    moved_zeros = tuple(Calibrated(u, 0.1, 0.01, "", True) for u in zeros(robot, ["elbow"]))
    file = results_folder(load(read_experiment(folder)).experiment) / "estimate.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    save_estimate(replace(estimate, calibration=moved_zeros), file)
    found = excite(folder / "robot.toml", replace(QUICK, after=folder))
    once = robot.joints[1].pose(0.1)
    limits = found.problem.constraints[1]
    for model in (found.problem.information.columns.model, limits.model):
        np.testing.assert_allclose(model.robot.joints[1].placement.matrix, once.matrix, atol=1e-12)


def test_terms_that_need_time_are_left_out_with_a_sentence(tmp_path):
    folder, _ = folder_of(tmp_path, "coulomb = { tanh = 0.05 }\nwarm_up = { time = 20 }", WarmUp(20.0))
    found = excite(folder / "robot.toml", replace(QUICK, after=folder))
    assert kinds(found.problem.information.columns.model) == ["drive_inertia", "viscous", "coulomb", "offset"]
    said = f"the motion is designed without {WarmUp.kind.words}, which it does not decide"
    assert said in found.notes


def test_a_model_with_load_friction_is_designed_for(tmp_path):
    folder, _ = folder_of(tmp_path, "coulomb = { tanh = 0.05 }\nload_friction = true")
    found = excite(folder / "robot.toml", replace(QUICK, after=folder))
    assert "load_friction" in kinds(found.problem.information.columns.model)
    rng = np.random.default_rng(0)
    z, problem = found.problem.coordinates(found.design.trajectory), found.problem
    value, slope = problem.merit(z, 1e-3, (0.0,) * len(problem.constraints))
    for _ in range(5):
        way = rng.normal(size=z.shape)
        ends = [problem.merit(z + s * 1e-6 * way, 1e-3, (0.0,) * len(problem.constraints))[0] for s in (1.0, -1.0)]
        assert (slope * way).sum() == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-4, abs=1e-4 * abs(value))
