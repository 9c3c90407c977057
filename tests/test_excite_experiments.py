"""The examples of `ident excite`: predicted errors come true in MuJoCo, scenes are usable, the Panda gets a motion."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ident.geometry.distance import clearances, collisions
from ident.geometry.scene_file import read_scene
from ident.model.model import torque
from ident.pipelines import ExciteWishes, excite
from ident.pipelines.excitation import Excitation
from ident.pipelines.loaded import read_truth
from ident.robot import read_robot

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "datasets"


@pytest.fixture(scope="module")
def closed_loop() -> ModuleType:
    path = ROOT / "experiments" / "excite_arm5" / "closed_loop.py"
    spec = importlib.util.spec_from_file_location("excite_arm5_closed_loop", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def arm5(closed_loop: ModuleType) -> Excitation:
    return closed_loop.design(duration=4.0, harmonics=4, starts=1)


def test_the_model_is_right_so_that_errors_come_from_noise_alone(closed_loop: ModuleType, arm5: Excitation) -> None:
    played = closed_loop.play(arm5.design.trajectory)
    model = arm5.problem.information.columns.model
    truth = read_truth(DATA / "arm5" / "truth.toml", arm5.robot)
    theta = np.array([truth.get(name, 0.0) for name in model.names])
    assert torque(model, theta, played.q, played.qd, played.qdd) == pytest.approx(played.tau, abs=1e-9)


def test_predicted_errors_come_true(closed_loop: ModuleType, arm5: Excitation) -> None:
    got = closed_loop.outcome(arm5, closed_loop.play(arm5.design.trajectory), draws=200)
    assert len(got.ratio) == 47
    assert np.sqrt((got.ratio**2).mean()) == pytest.approx(1, abs=0.1)
    assert np.median(got.ratio) == pytest.approx(1, abs=0.04)
    assert (np.abs(got.ratio - 1) < 4.5 * np.sqrt(0.5 / 200)).all()
    assert np.median(got.stated / got.achieved) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(
    ("name", "free", "touching"),
    [
        ("panda", [0, -np.pi / 4, 0, -3 * np.pi / 4, 0, np.pi / 2, np.pi / 4], [0, 1.7, 0, -1.2, 0, 1.6, 0]),
        ("ur10e", [0, -np.pi / 2, 0, -np.pi / 2, 0, 0], [0, 0.5, 0, 0, 0, 0]),
    ],
)
def test_scenes(name: str, free: list[float], touching: list[float]) -> None:
    robot = read_robot(DATA / name / "robot.toml")
    scene = read_scene(DATA / name / "scene.toml", robot)
    assert collisions(scene, robot, np.array(free)) == []
    found = collisions(scene, robot, np.array(touching))
    assert any("table" in sentence for sentence in found)


def test_panda_between_itself_and_the_table(ticking: Callable[[], float]) -> None:
    folder = DATA / "panda"
    found = excite(
        folder / "robot.toml",
        ExciteWishes(
            cad=folder / "cad.csv", scene=folder / "scene.toml",
            duration=10.0, harmonics=4, torque_margin=0.2, starts=1, seconds=5.0,
        ),
    )  # fmt: skip
    design, robot = found.design, found.robot
    assert design.proven
    assert len(found.worth.errors) == 64
    assert np.isfinite(found.worth.errors).all()
    t = np.linspace(0.0, 10.0, 5001)
    q, qd, qdd = design.trajectory.states(t)
    limits = [joint.limits for joint in robot.joints]
    assert (q > [x.lower for x in limits]).all()
    assert (q < [x.upper for x in limits]).all()
    assert (np.abs(qd) < [x.velocity for x in limits]).all()
    assert (np.abs(qdd) < [x.acceleration for x in limits]).all()
    assert found.scene is not None
    assert (clearances(found.scene, robot, q) > found.scene.margins(robot)).all()
