"""`ident postures` and `ident sweep`: motions within the limits, clear of a scene on the whole way."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from logs_data import ROOT
from typer.testing import CliRunner

from ident.cli import app
from ident.excitation.distance import clearances
from ident.excitation.path_clearance import require_clear
from ident.excitation.scene_file import read_scene
from ident.robot import read_robot

PANDA = ROOT / "datasets" / "panda"


def call(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def table(path):
    return pd.read_csv(path, comment="#")


def test_postures_are_a_tour_clear_of_the_scene(tmp_path):
    out = tmp_path / "tour.csv"
    scene = PANDA / "scene.toml"
    said = call("postures", PANDA / "robot.toml", "-n", 6, "--scene", scene, "--rate", 50, "-o", out)
    assert said.exit_code == 0, said.output
    assert said.stdout.startswith("6 postures, ")
    robot = read_robot(PANDA / "robot.toml")
    rows = table(out).to_numpy()
    t, q, qd = rows[:, 0], rows[:, 1:8], rows[:, 8:15]
    assert (np.diff(t) > 0).all()
    still = (qd == 0).all(axis=1)
    assert 0.05 < still.mean() < 0.9
    place = read_scene(scene, robot)
    fine = np.concatenate([np.linspace(a, b, 5) for a, b in itertools.pairwise(q)])
    assert (clearances(place, robot, fine) >= place.margins(robot)).all()


def test_a_way_through_the_table_is_refused():
    robot = read_robot(PANDA / "robot.toml")
    scene = read_scene(PANDA / "scene.toml", robot)
    up = np.array([0.0, 0.0, 0.0, -0.5, 0.0, 1.6, 0.0])
    down = np.array([0.0, 1.7, 0.0, -1.5, 0.0, 1.6, 0.0])
    way = up + np.linspace(0.0, 1.0, 400)[:, None] * (down - up)
    require_clear(scene, robot, np.arange(10.0), way[:10])
    with pytest.raises(Exception, match=r"s after the start the clearance of .* - table may be .* mm, wanted 20 mm"):
        require_clear(scene, robot, np.arange(400.0), way)


def test_a_sweep_moves_one_joint_at_a_time_at_the_speeds_asked_for(tmp_path):
    out = tmp_path / "sweep.yaml"
    said = call("sweep", PANDA / "robot.toml", "--speeds", "0.5 1.0", "--joints", "joint4", "-o", out)
    assert said.exit_code == 0, said.output
    assert "1 joints at 2 speeds" in said.stdout
    assert out.read_text().startswith("# trajectory_msgs/msg/JointTrajectory")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sweep", "--speeds", "fast"), "--speeds: 'fast' is no list of numbers"),
        (("sweep", "--speeds", "9"), "joint1"),
        (("postures", "-o", "x.txt"), "ends in '.txt'"),
        (("postures", "-n", "0"), "the number of postures must be a whole number"),
    ],
)
def test_mistakes_are_sentences_and_write_nothing(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    said = call(words[0], PANDA / "robot.toml", *words[1:])
    assert said.exit_code == 2, said.output
    assert message in said.stderr
    assert list(tmp_path.iterdir()) == []
