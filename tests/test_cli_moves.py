"""`ident postures` and `ident sweep`: motions within the limits, clear of a scene on the whole way."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from logs_data import ROOT
from two_joint_arm import CAD, ROBOT
from typer.testing import CliRunner

from ident.cli.main import app
from ident.excitation.limits import require_clear
from ident.geometry.distance import clearances
from ident.geometry.scene_file import read_scene
from ident.robot import read_robot

PANDA = ROOT / "datasets" / "panda"


def call(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def table(path):
    return pd.read_csv(path, comment="#")


def test_postures_are_a_tour_clear_of_the_scene(tmp_path):
    out = tmp_path / "tour"
    scene = PANDA / "scene.toml"
    said = call("postures", PANDA / "robot.toml", "-n", 6, "--scene", scene, "--rate", 50, "-o", out)
    assert said.exit_code == 0, said.output
    assert said.stdout.startswith("6 postures, ")
    robot = read_robot(PANDA / "robot.toml")
    assert {p.name for p in out.iterdir()} == {"trajectory.csv", "trajectory.yaml"}
    rows = table(out / "trajectory.csv").to_numpy()
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
    out = tmp_path / "sweep"
    said = call("sweep", PANDA / "robot.toml", "--speeds", "0.5 1.0", "--joints", "joint4", "-o", out)
    assert said.exit_code == 0, said.output
    assert "1 joint at 2 speeds" in said.stdout
    assert (out / "trajectory.yaml").read_text().startswith("# trajectory_msgs/msg/JointTrajectory")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sweep", "--speeds", "fast"), "--speeds: 'fast' is no list of numbers"),
        (("sweep", "--speeds", "9"), "joint1"),
        (("postures", "-o", "x.csv"), "--out: 'x.csv' is a file's name, wanted a folder for trajectory.csv"),
        (("sweep", "-o", "x.yaml"), "--out: 'x.yaml' is a file's name, wanted a folder"),
        (("excite", "-o", "x.csv"), "--out: 'x.csv' is a file's name, wanted a folder"),
        (("postures", "--seed", "-1"), "the seed must be a whole number from 0"),
        (("sweep", "--joints", "joint9"), "has no joint 'joint9'; did you mean 'joint7'?"),
        (("postures", "-n", "0"), "the number of postures must be a whole number"),
    ],
)
def test_mistakes_are_sentences_and_write_nothing(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    said = call(words[0], PANDA / "robot.toml", *words[1:])
    assert said.exit_code == 2, said.output
    assert message in said.stderr
    assert list(tmp_path.iterdir()) == []


TWO = ROBOT.replace("acceleration = 20, effort = 30", "acceleration = 5, effort = SHOULDER")
TWO = TWO.replace("acceleration = 30", "acceleration = 5")
# held out straight: 9.81 (3 * 0.2 + 1.5 * 0.55) = 13.98 N m and 9.81 * 1.5 * 0.15 = 2.207 N m


def load(q1, q2):
    """What the shoulder holds [N m]."""
    return 9.81 * ((3 * 0.2 + 1.5 * 0.4) * np.cos(q1) + 1.5 * 0.15 * np.cos(q1 + q2))


def two(folder, shoulder="30", *words: object):
    (folder / "two.toml").write_text(TWO.replace("SHOULDER", shoulder))
    (folder / "cad.csv").write_text(CAD)
    return call(words[0], folder / "two.toml", "-o", folder / "x", *words[1:])


def test_torques_of_a_tour_are_proven_and_reported(tmp_path):
    said = two(tmp_path, "30", "postures", "--cad", tmp_path / "cad.csv", "-n", 8)
    assert said.exit_code == 0, said.output
    assert "left out" not in said.stderr
    assert "CAD says nothing of friction" in said.stderr
    pattern = r"at rest the joints need most at posture (\d): ([\d.]+) N m at joint 'shoulder', wanted at most 30; "
    number, need = re.search(pattern, said.stdout).groups()
    rows = table(tmp_path / "x" / "trajectory.csv")
    stops = rows[(rows.iloc[:, 3:5] == 0).all(axis=1)].iloc[:, 1:3].drop_duplicates().to_numpy()
    assert float(need) == pytest.approx(abs(load(*stops[int(number) - 1])), rel=1e-3)
    share = float(re.search(r"no joint needs more than ([\d.]+)% of its torque limit less the margin", said.stdout)[1])
    assert float(need) / 30 < share / 100 < 1


def test_postures_that_a_joint_cannot_hold_are_left_out(tmp_path):
    given = ("postures", "--cad", tmp_path / "cad.csv", "-n", 6, "--acceleration", 0.5, "--torque-margin", 0.5)
    said = two(tmp_path, "26", *given)
    assert said.exit_code == 0, said.output
    pattern = r"\d+ of 2000 random postures were left out because joint 'shoulder' may need up to 13\.9\d* N m to hold "
    assert re.search(pattern + "them, wanted at most 13", said.stderr)
    rows = table(tmp_path / "x" / "trajectory.csv")
    assert 6 < np.abs(load(rows["shoulder.q [rad]"], rows["elbow.q [rad]"])).max() <= 13


def test_a_robot_too_weak_for_any_posture(tmp_path):
    said = two(tmp_path, "0.001", "postures", "--cad", tmp_path / "cad.csv")
    assert said.exit_code == 2
    assert "because joint 'shoulder' may need up to" in said.stderr
    assert re.search(r"only \d of 2000 random postures are allowed, wanted 30", said.stderr)
    assert not (tmp_path / "x").exists()


def test_moves_that_need_too_much_torque(tmp_path):
    """Held out straight the shoulder needs 13.98 N m, less with the elbow bent."""
    given = ("sweep", "--speeds", "1", "--cad", tmp_path / "cad.csv", "--joints", "shoulder")
    said = two(tmp_path, "13", *given, "--posture", "0 0")
    assert said.exit_code == 2
    pattern = (
        r"error: .*joint 'shoulder'.*, which begins [\d.]+ s after the start, the torque of joint 'shoulder' may reach "
    )
    assert re.search(pattern + r"1[34]\.\d+ N m, wanted at most 13 N m", said.stderr)
    assert not (tmp_path / "x").exists()
    bent = two(tmp_path, "13", *given, "--posture", "0 2.4")
    assert bent.exit_code == 0, bent.output
    assert "no joint needs more than" in bent.stdout


@pytest.mark.parametrize("command", [("postures", "-n", 4), ("sweep", "--speeds", "0.5")])
def test_unchecked_torques_are_said_to_be(tmp_path, command):
    said = two(tmp_path, "30", *command)
    assert said.exit_code == 0, said.output
    assert "note: no inertials of all links are given (--cad): torques were not checked" in said.stderr
    assert "torque limit" not in said.stdout


@pytest.mark.slow
def test_without_limits_of_acceleration_top_speed_takes_half_a_second(tmp_path):
    """The demo's robot states none, nor any speed for a sweep: both commands work and say what they took."""
    robot = read_robot(ROOT / "datasets" / "arm5" / "robot.toml")
    top = np.array([joint.limits.velocity for joint in robot.joints])
    assert all(np.isinf(joint.limits.acceleration) for joint in robot.joints)
    for command, fastest in (("postures", top), ("sweep", 0.4 * top)):
        said = call(command, ROOT / "datasets" / "arm5" / "robot.toml", "-o", tmp_path / command)
        assert said.exit_code == 0, said.output
        assert f"{2 * fastest[0]:.4g} (rad/s^2; m/s^2) taken, top speed in 0.5 s; --acceleration sets" in said.stderr
        rows = table(tmp_path / command / "trajectory.csv").to_numpy()
        qd, qdd = np.abs(rows[:, 6:11]).max(axis=0), np.abs(rows[:, 11:16]).max(axis=0)
        assert (qd <= fastest * (1 + 1e-9)).all()
        assert (qdd <= 2 * fastest * (1 + 1e-9)).all()
        assert qdd.max() > 1.8 * fastest.max()
    assert "5 joints at 4 speeds" in said.stdout
    steady = np.unique(np.round(np.abs(rows[:, 6][rows[:, 11] == 0]) / top[0], 9))
    np.testing.assert_allclose(steady[steady > 0], [0.05, 0.1, 0.2, 0.4], rtol=1e-6)
    given = call("sweep", ROOT / "datasets" / "arm5" / "robot.toml", "--acceleration", 4, "-o", tmp_path / "given")
    assert given.exit_code == 0
    assert "taken" not in given.stderr


def test_a_sweep_without_any_speed_says_which_option_gives_one(tmp_path):
    limits = "velocity = 3"
    assert limits in ROBOT
    (tmp_path / "arm.toml").write_text(ROBOT.replace(limits + ",", ""))
    said = call("sweep", tmp_path / "arm.toml", "-o", tmp_path / "x")
    assert said.exit_code == 2
    assert "states no limit of velocity to take shares of. Give the speeds, such as --speeds" in said.stderr
    said = call("postures", tmp_path / "arm.toml", "-o", tmp_path / "x")
    assert "has a limit of velocity of inf, wanted a positive finite one. State it: <limit velocity=" in said.stderr
    assert "--velocity" in said.stderr
