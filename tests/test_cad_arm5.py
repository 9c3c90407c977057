"""The demo's data: MuJoCo's run obeys the stated law, the files are the script's, the errors are as stated."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from ident.cad import read_cad, require_consistent
from ident.logs import read_log, read_manifest
from ident.model import DriveInertia, Model, Offset, SmoothCoulomb, Viscous, torque
from ident.robot import read_robot

ROOT = Path(__file__).parents[1]
ARM5 = ROOT / "datasets" / "arm5"


def _script():
    spec = importlib.util.spec_from_file_location("arm5_make_log", ROOT / "experiments" / "arm5" / "make_log.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


script = _script()
TRUTH = tomllib.loads((ARM5 / "truth.toml").read_text())
ROBOT = read_robot(ARM5 / "robot.toml")


@pytest.fixture(scope="module", params=["identification", "validation"])
def start(request):
    """Name, and the first 0.6 s of a recording simulated anew."""
    return request.param, script.simulate(script.RECORDINGS[request.param][1], 300)


def test_the_files_hold_what_the_script_gives(start):
    name, run = start
    stored = pyarrow.parquet.read_table(ARM5 / f"{name}.parquet")
    number, _, samples = script.RECORDINGS[name]
    assert stored.num_rows == samples
    for column, values in script.measured(run, number).items():
        np.testing.assert_allclose(stored[column].to_numpy()[:300], values, rtol=0, atol=1e-9, err_msg=column)


def test_the_torque_is_rigid_body_plus_drive_inertia_plus_friction(start):
    _, run = start
    bare = script.Arm(script.published(), drives=False)
    rigid = np.array([bare.torque(*x) for x in zip(run.q, run.qd, run.qdd, strict=True)])
    p = {
        k: np.array([TRUTH["parameters"][f"joint{i}.{k}"] for i in range(1, 6)])
        for k in ("drive_inertia", "viscous", "coulomb", "offset")
    }
    friction = p["viscous"] * run.qd + p["coulomb"] * np.tanh(run.qd / TRUTH["law"]["width"]) + p["offset"]
    np.testing.assert_allclose(run.tau, rigid + p["drive_inertia"] * run.qdd + friction, rtol=0, atol=1e-12)


def test_the_accelerations_are_those_of_the_recorded_motion(start):
    """So the law holds for what is recorded, to better than a hundredth of the torque noise."""
    _, run = start
    h = 1 / script.RATE
    for x, slope in ((run.q, run.qd), (run.qd, run.qdd)):
        # Simpson's rule over two samples, against the integrated motion; on the joints' inertia an error of e in
        # qdd is a torque of e times about 0.02 kg m^2 at joint 1 and 3e-4 kg m^2 at joint 5
        mean = (slope[:-2] + 4 * slope[1:-1] + slope[2:]) / 6
        error = np.abs((x[2:] - x[:-2]) / (2 * h) - mean).max(axis=0)
        assert (error * np.array([0.03, 0.03, 0.01, 1e-3, 3e-4]) < np.array(script.TORQUE_NOISE) / 100).all()


def test_our_model_of_the_arm_gives_the_same_torque(start):
    _, run = start
    model = Model(ROBOT, (DriveInertia(), Viscous(), SmoothCoulomb(TRUTH["law"]["width"]), Offset()))
    theta = [TRUTH["parameters"][name] for name in model.names]
    np.testing.assert_allclose(torque(model, theta, run.q, run.qd, run.qdd), run.tau, rtol=0, atol=1e-12)


def test_truth_and_table_are_what_the_script_writes():
    anew = tomllib.loads(script.truth())
    assert anew.keys() == TRUTH.keys()
    for key, values in TRUTH.items():  # numbers may differ in the last bit from machine to machine
        for name, value in values.items():
            wanted = value if isinstance(value, str | list) else pytest.approx(value, rel=1e-12)
            assert anew[key][name] == wanted, name
    assert script.cad() == (ARM5 / "cad.csv").read_text()


def test_truth_is_the_published_table():
    cad = read_cad(ARM5 / "cad_solidworks.csv", ROBOT.links)
    for link, row in zip(ROBOT.links, cad.for_robot(ROBOT), strict=True):
        stated = [TRUTH["parameters"][f"{link}.{name}"] for name in script.INERTIAL]
        np.testing.assert_allclose(row, stated, rtol=1e-12, atol=1e-20)


def test_the_table_of_the_demo_is_wrong_as_stated_and_can_exist():
    cad = read_cad(ARM5 / "cad.csv", ROBOT.links)
    require_consistent(cad)
    difference = {
        f"{link}.{name}": value - TRUTH["parameters"][f"{link}.{name}"]
        for link, row in zip(cad.links, cad.inertials, strict=True)
        for name, value in zip(script.INERTIAL, row, strict=True)
    }
    stated = TRUTH["planted_difference"]
    for name, value in difference.items():
        assert value == pytest.approx(stated.get(name, 0.0), rel=1e-9, abs=1e-17)
    assert {name.split(".")[0] for name in stated} == {"link2", "link3", "link5"}
    assert len(TRUTH["planted"]) == 3


@pytest.mark.parametrize("name", ["identification", "validation"])
def test_recordings_are_read_stay_inside_the_limits_and_are_small(name):
    log = read_log(read_manifest(ARM5 / "dataset.toml"), name, ROBOT)
    lower, upper = (np.array([getattr(j.limits, k) for j in ROBOT.joints]) for k in ("lower", "upper"))
    assert (log.q > lower).all()
    assert (log.q < upper).all()
    assert (np.abs(np.diff(log.q, axis=0)) * script.RATE < [j.limits.velocity for j in ROBOT.joints]).all()
    assert (np.abs(log.tau) < [j.limits.effort for j in ROBOT.joints]).all()
    counts = log.q * TRUTH["law"]["encoder_counts"] / (2 * np.pi)
    np.testing.assert_allclose(counts, np.round(counts), rtol=0, atol=1e-6)
    np.testing.assert_allclose(np.diff(log.t), 1 / script.RATE, rtol=0, atol=1e-9)
    assert (np.ptp(log.q, axis=0) > np.radians([60, 60, 60, 60, 60])).all()
    assert (ARM5 / f"{name}.parquet").stat().st_size < 700_000


@pytest.mark.slow
def test_the_chosen_motion_is_better_than_others():
    times = script.RAMP + np.arange(0, script.PERIOD, script.PERIOD / 15)
    chosen = script.information(script.fourier(script.BEST), times)
    assert chosen > max(script.information(script.fourier(seed), times) for seed in (0, 1, 2))
