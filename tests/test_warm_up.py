"""Viscous friction that falls while a joint warms up: a term that needs the time of a recording."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_balancer import written
from test_cli import TRUE

from ident.errors import ConfigError, ModelError
from ident.estimate import fitted_model
from ident.estimate.storage import load_estimate
from ident.experiment import read_experiment
from ident.export.formats import export_to
from ident.model import Model, Viscous, WarmUp, regressor, torque
from ident.model.term import pull_back
from ident.pipelines.identify import run
from ident.pipelines.loaded import load
from ident.pipelines.validated import validated
from ident.regression import base_parameters
from ident.simulation import plant

COLD = {"shoulder.warm_up": 0.8, "elbow.warm_up": 0.3}
WISHED = 'warm_up = { time = 20 }\n\n[calibrate]\ngains = ["elbow"]'


def moved(seed: int) -> tuple[np.ndarray, ...]:
    """Return t (N,) and q, qd, qdd (N, 2) of a motion of one minute."""
    t, rng = np.arange(6000) / 100.0, np.random.default_rng(seed)
    w, phase = 2 * np.pi * np.array([0.11, 0.31, 0.7])[:, None], rng.uniform(0, 6, (2, 3, 1))
    waves = ([(w**k * 0.5 / w * np.sin(w * t + p + k * np.pi / 2)).sum(axis=0) for p in phase] for k in range(3))
    return t, *(np.array(x).T for x in waves)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Return a folder with an experiment that asks for the term, and two recordings of an arm that has it."""
    folder = written(tmp_path_factory.mktemp("cold"), WISHED)
    truth = TRUE | COLD
    model = load(read_experiment(folder)).model
    for seed, name in enumerate(("circle", "steps")):
        t, q, qd, qdd = moved(seed)
        tau = torque(model, [truth[x] for x in model.names], q, qd, qdd, signals={"time": t})
        tau += 0.02 * np.random.default_rng(seed).standard_normal(q.shape)
        # a clock that counts from another day: time is that since the recording's start
        np.savetxt(folder / f"{name}.csv", np.column_stack([t + 86400.0 * seed, q, tau]), fmt="%.9g", delimiter=",")
    return folder


@pytest.fixture(scope="module")
def result(folder, sketched):
    return run(read_experiment(folder))


def test_the_column_is_viscous_friction_that_fades(folder):
    robot = load(read_experiment(folder)).robot
    t, qd = np.linspace(0, 100, 30), np.random.default_rng(0).normal(size=(30, 2))
    Y = regressor(Model(robot, (Viscous(), WarmUp(20.0))), 0 * qd, qd, 0 * qd, signals={"time": t})
    for j in range(2):
        np.testing.assert_allclose(Y[:, j, 22 + j], Y[:, j, 20 + j] * 0.5 ** (t / (20.0 * np.log(2.0))), rtol=1e-12)


@pytest.mark.parametrize("time", [1.0, 600.0, 1e5])
def test_it_is_a_base_parameter_by_itself(folder, time):
    robot = load(read_experiment(folder)).robot
    without, base = (base_parameters(Model(robot, (Viscous(), *more))) for more in ((), (WarmUp(time),)))
    assert set(base.identifiable) == {*without.identifiable, "shoulder.warm_up", "elbow.warm_up"}


@pytest.mark.slow
def test_a_run_finds_it_and_the_file_keeps_it(folder, result):
    estimate = load_estimate(next((folder / "results").rglob("estimate.json")))
    assert estimate.shapes["elbow.warm_up"] == {"time": 20.0}
    assert WarmUp(20.0, ("shoulder", "elbow")) in fitted_model(estimate, result.loaded.robot).terms
    errors = dict(zip(estimate.base.names, estimate.covariance.standard_errors, strict=True))
    for name, value in COLD.items():
        assert abs(estimate.value(name) - value) < 4 * errors[name] + 0.01
    assert result.validation.total("identified").relative_total < 0.05
    html = next((folder / "results").rglob("report.html")).read_text()
    assert "elbow.warm_up" in html


@pytest.mark.slow
@pytest.mark.parametrize("warm", [True, False])
def test_a_recording_that_begins_warm_is_predicted_so(folder, result, tmp_path, warm):
    estimate, loaded = result.estimate, result.loaded
    more = {name: 20.0 * value for name, value in COLD.items()}  # at first friction is most of the torque
    phi = np.array([more.get(name, x) for name, x in zip(estimate.base.names, estimate.phi, strict=True)])
    theta, changed = estimate.base.theta(phi), replace(estimate, phi=phi)
    t, q, qd, qdd = moved(1)
    tau = torque(loaded.model, theta, q, qd, qdd, signals={"time": t + 1e4 * warm})
    for file in ("experiment.toml", "robot.toml", "dataset.toml", "cad.csv", "circle.csv"):
        (tmp_path / file).write_bytes((folder / file).read_bytes())
    np.savetxt(tmp_path / "steps.csv", np.column_stack([t, q, tau]), fmt="%.9g", delimiter=",")
    warned = []
    here = replace(load(read_experiment(tmp_path)), model=loaded.model, base=loaded.base, processing=loaded.processing)
    validation = validated(here, changed, None, warned)
    assert validation.names == ("identified", "CAD", "zero")
    assert validation.total("identified").relative_total < 0.05
    told = [w.message for w in warned if w.kind == "warm"]
    assert bool(told) == warm
    assert all(x.startswith("predicted as of a robot that is warm from the start: ") for x in told)


@pytest.mark.slow
def test_who_says_no(folder, result, tmp_path):
    estimate, model = result.estimate, result.loaded.model
    done = export_to("c", estimate, tmp_path / "arm.h", robot=model.robot, unvalidated=True)
    assert done.notes == ()
    assert "// time: one number [s], since the controller's start as since a recording's" in done.path.read_text()
    with pytest.raises(ModelError, match="a simulation does not know viscous friction that falls while a joint warms"):
        plant(model, estimate.theta)
    begun, warm = (plant(model, estimate.theta, signals={"time": t}) for t in (0.0, np.inf))
    qd = np.random.default_rng(0).normal(size=(9, 2))
    lost = begun.friction(qd) - warm.friction(qd)
    np.testing.assert_allclose(lost, qd * [estimate.value(name) for name in COLD], rtol=1e-9, atol=1e-12)
    with pytest.raises(ModelError, match="motions are designed without viscous friction that falls"):
        pull_back(WarmUp(), model.robot, *np.zeros((3, 1, 2)), np.zeros((2, 1)))
    with pytest.raises(ModelError, match=r"asks for the signal 'time', which nobody gives"):
        torque(model, estimate.theta, *np.zeros((3, 1, 2)))


def test_a_time_that_cannot_be_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"model\.warm_up\.time: is 0, wanted a time above 0"):
        read_experiment(written(tmp_path, "warm_up = { time = 0 }"))
