"""Viscous friction that changes with temperature: a signal of the data set that reaches a joint term by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_balancer import written
from test_cli import TRUE, call
from test_warm_up import moved

from ident.errors import ConfigError, LogError, ModelError
from ident.estimate import fitted_model
from ident.estimate.storage import load_estimate
from ident.experiment import read_experiment
from ident.export.formats import export_to
from ident.logs import read_log, read_manifest
from ident.logs.log import read_parts
from ident.logs.process import Processing, process
from ident.model import Model, Thermal, Viscous, regressor, torque
from ident.pipelines.identify import run
from ident.pipelines.loaded import load
from ident.simulation import acceleration, plant

COLD = {"shoulder.thermal_viscous": -0.01, "elbow.thermal_viscous": -0.004}
COLUMNS = 'temperature = { columns = [6, 7], unit = "degC" }\n'
WISHED = 'thermal = { reference = 20 }\n\n[calibrate]\ngains = ["elbow"]'


def degrees(t: np.ndarray) -> np.ndarray:
    """Return temperatures (N, 2) [degC] that do not fall in with each other."""
    return np.column_stack([45.0 - 20.0 * np.exp(-t / 15.0), 25.0 + 0.3 * t])


def recorded(folder: Path, columns: str = COLUMNS) -> Path:
    """Write two recordings of an arm whose friction depends on its joints' temperatures."""
    robot = load(read_experiment(folder)).robot
    model = Model(robot, load(read_experiment(folder)).model.terms)
    truth = TRUE | COLD
    for seed, name in enumerate(("circle", "steps")):
        t, q, qd, qdd = moved(seed)
        warm = degrees(t) + 10.0 * seed
        tau = torque(model, [truth[x] for x in model.names], q, qd, qdd, signals={"temperature": warm})
        tau += 0.02 * np.random.default_rng(seed).standard_normal(q.shape)
        np.savetxt(folder / f"{name}.csv", np.column_stack([t, q, tau, warm]), fmt="%.9g", delimiter=",")
    manifest = folder / "dataset.toml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace("\n[[recording]]", f"{columns}\n[[recording]]", 1), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return recorded(written(tmp_path_factory.mktemp("thermal"), WISHED))


@pytest.fixture(scope="module")
def result(folder, sketched):
    return run(read_experiment(folder))


def test_the_column_is_viscous_friction_times_the_degrees_above_the_reference(folder):
    robot = load(read_experiment(folder)).robot
    warm, qd = np.random.default_rng(0).normal(30, 9, (20, 2)), np.random.default_rng(1).normal(size=(20, 2))
    Y = regressor(Model(robot, (Viscous(), Thermal(20.0))), 0 * qd, qd, 0 * qd, signals={"temperature": warm})
    for j in range(2):
        np.testing.assert_allclose(Y[:, j, 22 + j], qd[:, j] * (warm[:, j] - 20.0), rtol=1e-12)


def test_the_log_has_it_whole_in_parts_and_resampled(folder):
    robot, manifest = load(read_experiment(folder)).robot, read_manifest(folder / "dataset.toml")
    log = read_log(manifest, "circle", robot)
    np.testing.assert_allclose(log.temperature, degrees(log.t), rtol=1e-8)
    parts = [part.temperature for part in read_parts(manifest, "circle", robot, 700)]
    np.testing.assert_array_equal(np.concatenate(parts), log.temperature)
    motion = process(log, Processing(resample_hz=83.0, edge_s=0.3))
    np.testing.assert_allclose(motion.signals()["temperature"], degrees(motion.t), atol=1e-3)
    np.testing.assert_array_equal(motion.signals(slice(5, 9))["temperature"], motion.temperature[5:9])
    assert replace(motion, temperature=motion.temperature + 1.0).fingerprint() != motion.fingerprint()


@pytest.mark.slow
def test_a_run_finds_it_and_the_file_keeps_it(folder, result):
    estimate = load_estimate(next((folder / "results").rglob("estimate.json")))
    assert estimate.shapes["elbow.thermal_viscous"] == {"reference": 20.0}
    assert Thermal(20.0, ("shoulder", "elbow")) in fitted_model(estimate, result.loaded.robot).terms
    errors = dict(zip(estimate.base.names, estimate.covariance.standard_errors, strict=True))
    for name, value in COLD.items():
        assert abs(estimate.value(name) - value) < 4 * errors[name] + 2e-4
    assert result.validation.total("identified").relative_total < 0.05
    assert not any("cannot be told" in w for w in result.estimate.warnings)
    done = export_to("c", estimate, folder / "arm.h", robot=result.loaded.robot, unvalidated=True)
    assert done.notes == ()
    assert "_friction(const two_real *qd, const two_real *temperature, two_real *f)" in done.path.read_text()
    with pytest.raises(ModelError, match="a simulation does not know viscous friction that changes with temperature"):
        plant(result.loaded.model, estimate.theta)
    q, qd, qdd = np.random.default_rng(5).normal(0, 0.5, (3, 20, 2))
    tau = torque(result.loaded.model, estimate.theta, q, qd, qdd, signals={"temperature": np.full(20, 40.0)})
    warm = plant(result.loaded.model, estimate.theta, signals={"temperature": 40.0})
    cold = plant(result.loaded.model, estimate.theta, signals={"temperature": 20.0})
    smooth = warm.friction(qd) - cold.friction(qd)  # Coulomb's law is another one in a simulation
    np.testing.assert_allclose(smooth, 20.0 * qd * [estimate.value(name) for name in COLD], rtol=1e-9, atol=1e-12)
    assert np.isfinite(acceleration(warm, q, qd, tau)).all()


@pytest.mark.slow
def test_the_doctor_weighs_logs_with_it(folder):
    told = call("doctor", folder / "experiment.toml")
    assert told.exit_code == 0
    assert "none of them explains the torques better" in " ".join(told.output.split())


@pytest.mark.slow
def test_one_column_is_for_all_joints_and_another_number_is_refused(tmp_path):
    folder = recorded(written(tmp_path, WISHED), 'temperature = { column = 6, unit = "degC" }\n')
    robot = load(read_experiment(folder)).robot
    file = folder / "dataset.toml"
    log = read_log(read_manifest(file), "circle", robot)
    np.testing.assert_array_equal(log.temperature[:, 0], log.temperature[:, 1])
    file.write_text(file.read_text().replace("column = 6", "columns = [6, 7, 6]"))
    with pytest.raises(LogError, match=r"temperature has 3 columns, robot 'two' has 2 joints"):
        read_log(read_manifest(file), "circle", robot)
    for given, message in (("K", "'K'"), ("rad", "'rad'")):
        file.write_text(file.read_text().replace('unit = "degC"', f'unit = "{given}"'))
        with pytest.raises(LogError, match=message):
            read_manifest(file)
        file.write_text(file.read_text().replace(f'unit = "{given}"', 'unit = "degC"', 1))


@pytest.mark.slow
def test_a_log_without_temperatures_is_told_so(tmp_path):
    folder = recorded(written(tmp_path, WISHED), "")
    with pytest.raises(ModelError, match=r"asks for the signal 'temperature', which nobody gives.*\[signals\]"):
        run(read_experiment(folder))


@pytest.mark.slow
def test_a_temperature_that_stays_says_nothing_and_the_rest_goes_on(tmp_path, sketched):
    folder = recorded(written(tmp_path, WISHED))
    for name in ("circle", "steps"):
        table = np.loadtxt(folder / f"{name}.csv", delimiter=",")
        table[:, 5:] = 35.0
        np.savetxt(folder / f"{name}.csv", table, fmt="%.9g", delimiter=",")
    estimate = run(read_experiment(folder)).estimate
    assert [w for w in estimate.warnings if "cannot be told" in w] == [
        f"model: {j}.thermal_viscous cannot be told from {j}.viscous in these logs: what it depends on hardly changes;"
        " leave one out of [model], or log where it does"
        for j in ("shoulder", "elbow")
    ]


def test_a_reference_that_cannot_be_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"model\.thermal\.reference: is 'warm', wanted a temperature in degC"):
        read_experiment(written(tmp_path, "thermal = { reference = 'warm' }"))
