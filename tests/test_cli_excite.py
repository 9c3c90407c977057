"""`ident excite`, as a user types it: files, messages, exit codes, and searches that go on or are broken off."""

from __future__ import annotations

import csv
import json
import math
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from two_joint_arm import CAD, ROBOT
from typer.testing import CliRunner

from ident.cli.main import app
from ident.excitation import Fourier, load_trajectory
from ident.pipelines import ExciteWishes, excite
from ident.pipelines.excitation import FILES
from ident.robot import read_robot

pytestmark = pytest.mark.usefixtures("sketched")

ROOT = Path(__file__).resolve().parents[1]
ARM5 = str(ROOT / "datasets" / "arm5" / "robot.toml")

SCENE = """link_radius = 0.05
[[plane]]
name = "wall"
normal = [1, 0, 0]
offset = -0.3
"""
MESH = """<robot name="m"><link name="base"/>
<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><mesh filename="a.stl"/></geometry></collision></link>
<joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" velocity="2" effort="5"/></joint></robot>
"""
QUICK = ("--duration", "4", "--harmonics", "2", "--starts", "1", "--seconds", "1e9", "--noise", "0.3 0.1")
GIVEN = ("two.toml", "--cad", "cad.csv", *QUICK)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a robot, its CAD table and a scene, and go there."""
    (tmp_path / "two.toml").write_text(ROBOT)
    (tmp_path / "cad.csv").write_text(CAD)
    (tmp_path / "scene.toml").write_text(SCENE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def designed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that `ident excite` wrote for the robot of this file."""
    folder = tmp_path_factory.mktemp("designed")
    (folder / "two.toml").write_text(ROBOT)
    (folder / "cad.csv").write_text(CAD)
    given = [str(folder / "two.toml"), "--cad", str(folder / "cad.csv"), *QUICK, "-o", str(folder / "out")]
    assert ident(*given)[0] == 0
    return folder / "out"


def ident(*args: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["excite", *args])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def sampled(path: Path) -> tuple[list[str], np.ndarray]:
    with path.open() as lines:
        rows = list(csv.reader(line for line in lines if not line.startswith("#")))
    return rows[0], np.array(rows[1:], dtype=float)


@pytest.mark.slow
def test_a_motion_its_proof_and_its_worth(place: Path) -> None:
    code, out, err = ident(*GIVEN, "--scene", "scene.toml", "--rate", "50", "--position-margin", "0.1", "-o", "out")
    assert code == 0
    assert sorted(p.name for p in (place / "out").iterdir()) == sorted(FILES)
    assert "proven for every instant: 12 of 12 limits" in out
    assert "start 1 of 1, " in err
    assert "note: CAD says nothing of friction" in err
    assert "no scene is given" not in err
    document = json.loads((place / "out" / "trajectory.json").read_text())
    certificate, design = document["certificate"], document["design"]
    robot = read_robot(place / "two.toml")
    assert certificate["proven"] is True
    assert certificate["robot"] == robot.fingerprint()
    assert set(certificate["inputs"]) == {"two.toml", "cad.csv", "scene.toml"}
    assert len(certificate["guarantees"]) == 12
    assert (design["criterion"], design["seed"], design["margins"]["position"]) == ("d", 0, 0.1)
    trajectory = load_trajectory(place / "out" / "trajectory.json").for_robot(robot)
    least, most = trajectory.extremes(0)
    assert (least >= [-1.9, -2.4]).all()
    assert (most <= [1.9, 2.4]).all()
    assert trajectory.at_rest()
    header, rows = sampled(place / "out" / "trajectory.csv")
    t, q, _, _ = trajectory.playback(50.0)
    assert rows.shape == (201, len(header))
    assert rows[:, 0] == pytest.approx(t)
    assert rows[:, 1:3] == pytest.approx(q, abs=1e-9)
    assert (place / "out" / "limits.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.slow
def test_predicted_errors_are_a_table_with_gaps_where_cad_has_them(designed: Path) -> None:
    with (designed / "predicted.csv").open() as lines:
        rows = {row["base_parameter"]: row for row in csv.DictReader(lines)}
    assert len(rows) == 12
    assert all(0 < float(row["predicted_standard_error"]) < math.inf for row in rows.values())
    assert float(rows["lower.hy"]["cad_value"]) == 0
    assert float(rows["lower.hx"]["cad_value"]) < 0
    assert rows["elbow.viscous"]["cad_value"] == ""


def test_drive_inertia_is_one_more_parameter_that_cad_does_not_know(place: Path) -> None:
    wishes = ExciteWishes(cad=place / "cad.csv", duration=4.0, harmonics=2, starts=1, drive_inertia=True)
    found = excite(place / "two.toml", wishes).worth
    k = found.base.names.index("elbow.drive_inertia")
    assert len(found.base.names) == 13
    assert found.values is not None
    assert np.isnan(found.values[k])
    assert 0 < found.errors[k] < math.inf


@pytest.mark.slow
def test_a_seed_means_the_same_motion(place: Path) -> None:
    wishes = ExciteWishes(cad=place / "cad.csv", noise=(0.3, 0.1), duration=4.0, harmonics=2, starts=1)
    one, same = (excite(place / "two.toml", wishes).design.trajectory.coefficients for _ in range(2))
    other = excite(place / "two.toml", replace(wishes, seed=7)).design.trajectory.coefficients
    assert np.array_equal(one, same)
    assert np.abs(one - other).max() > 0.01


@pytest.mark.slow
def test_a_search_goes_on_and_never_ends_worse(designed: Path, place: Path) -> None:
    before = str(designed / "trajectory.json")
    first = json.loads(Path(before).read_text())["design"]
    code, out, err = ident(*GIVEN, "--resume", before, "-o", "out")
    assert code == 0
    assert "start 2 of 2" in err
    second = json.loads((place / "out" / "trajectory.json").read_text())["design"]
    assert second["value"] <= first["value"]
    assert (first["seed"], second["seed"]) == (0, 1)
    assert "best of 2 motions from 2 starts" in out


@pytest.mark.slow
def test_what_is_gone_on_from_stays_when_the_search_finds_less(designed: Path, place: Path) -> None:
    """With next to no time the search ends early, with less than the motion that it began with."""
    wishes = ExciteWishes(cad=place / "cad.csv", noise=(0.3, 0.1), duration=4.0, harmonics=2)
    stored = load_trajectory(designed / "trajectory.json")
    found = excite(place / "two.toml", replace(wishes, resume=designed / "trajectory.json", seconds=1e-6))
    assert found.design.value <= stored.design["value"] + 1e-12
    assert found.design.proven


@pytest.mark.slow
def test_what_cannot_be_gone_on_from(designed: Path, place: Path) -> None:
    before = str(designed / "trajectory.json")
    code, _, err = ident(*GIVEN, "--harmonics", "4", "--resume", before, "-o", "more")
    assert (code, err) == (
        2,
        "error: trajectory.json: is a Fourier motion of 4 s with 5 coefficients per joint, the one asked for is "
        "Fourier, 4 s, 9. Give the same --duration, --harmonics, --start and --end again.\n",
    )
    (place / "two.toml").write_text(ROBOT.replace("a = 0.3", "a = 0.31"))
    code, _, err = ident(*GIVEN, "--resume", before, "-o", "more")
    assert code == 2
    assert "the trajectory was designed for robot 'two' with fingerprint" in err


def test_a_seed_that_is_no_number_counts_as_none(designed: Path, place: Path) -> None:
    (place / "odd.json").write_text((designed / "trajectory.json").read_text().replace('"seed": 0', '"seed": "0"'))
    wishes = ExciteWishes(cad=place / "cad.csv", duration=4.0, harmonics=2, seconds=1e-6)
    assert excite(place / "two.toml", replace(wishes, resume=place / "odd.json")).seed == 0


@pytest.mark.slow
def test_from_one_posture_to_another(place: Path) -> None:
    code, _, _ = ident(*GIVEN, "--start", "0 -20 deg", "--end", "40 40 deg", "-o", "out")
    assert code == 0
    trajectory = load_trajectory(place / "out" / "trajectory.json").trajectory
    q, qd, qdd = trajectory.states(np.array([0.0, trajectory.duration]))
    assert np.degrees(q) == pytest.approx(np.array([[0, -20], [40, 40]]), abs=1e-6)
    assert qd == pytest.approx(np.zeros((2, 2)), abs=1e-9)
    assert qdd == pytest.approx(np.zeros((2, 2)), abs=1e-8)


@pytest.mark.slow
def test_a_motion_of_two_periods_from_a_posture_is_gone_on_from(place: Path) -> None:
    given = (
        "two.toml",
        "--cad",
        "cad.csv",
        "--duration",
        "4",
        "--harmonics",
        "3",
        "--starts",
        "1",
        "--noise",
        "0.3 0.1",
    )
    start = ("--harmonics", "3", "--scene", "scene.toml", "--start", "30 20 deg", "--periods", "2")
    code, out, err = ident(*given, *start, "-o", "out")
    assert code == 0, err
    assert sorted(p.name for p in (place / "out").iterdir()) == sorted(FILES)
    assert re.search(r"proven for every instant: (\d+) of \1 limits", out)
    stored = load_trajectory(place / "out" / "trajectory.json")
    assert stored.certificate["proven"] is True
    trajectory = stored.for_robot(read_robot(place / "two.toml"))
    assert trajectory.basis == Fourier(np.pi / 2, 3)
    q, qd, qdd = trajectory.states(np.linspace(0, 4, 40_001))
    assert trajectory.at_rest()
    assert q[[0, -1]] == pytest.approx(np.radians([[30, 20], [30, 20]]))
    assert (np.abs(q).max(axis=0) <= [2, 2.5]).all()
    assert (np.abs(qd).max(axis=0) <= [3, 4]).all()
    assert (np.abs(qdd).max(axis=0) <= [20, 30]).all()
    assert np.abs(qd).max() > 1  # it does move
    _, rows = sampled(place / "out" / "trajectory.csv")
    t, *states = trajectory.playback(100.0, 2)
    assert rows == pytest.approx(np.column_stack([t, *states]), abs=1e-9)
    assert (place / "out" / "trajectory.yaml").read_text().count("positions:") == len(t)
    code, _, err = ident(*given, *start, "--resume", "out/trajectory.json", "--seconds", "1e-6", "-o", "more")
    assert code == 0, err
    again = load_trajectory(place / "more" / "trajectory.json")
    assert again.design["value"] <= stored.design["value"] + 1e-9


@pytest.mark.parametrize("command", ["excite", "sweep"])
def test_soft_limits_of_a_safety_controller_are_kept_and_told(place: Path, command: str) -> None:
    """Beyond them the real robot stops; the wider of the two soft limits leaves the hard one as it is."""
    soft = '<safety_controller k_velocity="40" soft_lower_limit="-0.25" soft_upper_limit="3"/></joint>'
    shape = '<collision><geometry><mesh filename="a.stl"/></geometry></collision>'
    (place / "soft.urdf").write_text(MESH.replace("</joint>", soft).replace(shape, ""))
    joint = read_robot(place / "soft.urdf").joints[0]
    assert (joint.limits.lower, joint.limits.upper) == (-1.0, 1.0)  # by which a log's joints are recognised
    more = QUICK[:-2] if command == "excite" else ("--rate", "50")
    done = CliRunner().invoke(app, [command, "soft.urdf", *more, "-o", "out"])
    assert done.exit_code == 0, done.stderr
    assert "keep to the soft limits of <safety_controller>" in " ".join(done.stderr.split())
    assert "'j' -0.25 to 1" in " ".join(done.stderr.split())
    q = sampled(place / "out" / "trajectory.csv")[1][:, 1]
    assert q.min() >= -0.25 - 1e-12
    assert q.max() <= 1.0
    assert np.ptp(q) > 0.3


@pytest.mark.slow
def test_a_second_motion_adds_to_an_experiment(tmp_path: Path) -> None:
    after = str(ROOT / "experiments" / "excite_arm5")
    out = str(tmp_path / "out")
    code, text, err = ident(
        ARM5, "--after", after, "--criterion", "worst-error", "--starts", "1", "--seconds", "1e9", "-o", out
    )
    assert code == 0
    assert "torques count 20 times a second, as in the processed logs of 'excite_arm5'" in err
    assert "torque noise taken from what the logs of 'excite_arm5' leave unexplained: 0.00" in err
    told = text[text.index("The logs alone do not show") :]
    before, now = (float(x) for x in told.split("falls from ")[1].split(",")[0].split(" to "))
    assert before / now > 5
    design = json.loads((tmp_path / "out" / "trajectory.json").read_text())["design"]
    assert design["log_hz"] == pytest.approx(20, rel=0.01)
    assert load_trajectory(tmp_path / "out" / "trajectory.json").trajectory.duration == pytest.approx(10)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--cad", "x.csv"], "--cad and --after are both given. The experiment names its own CAD table."),
        (["--no-friction"], "--no-friction and --after are both given. The experiment has a model of its own."),
        (["--drive-inertia"], "--drive-inertia and --after are both given. The experiment has a model of its own."),
    ],
)
def test_what_does_not_go_with_an_experiment(more: list[str], message: str, place: Path) -> None:
    code, _, err = ident(ARM5, "--after", str(ROOT / "experiments" / "arm5"), *more, "-o", "out")
    assert (code, err) == (2, f"error: {message}\n")


def test_there_has_to_be_something_to_decide(place: Path) -> None:
    code, _, err = ident(ARM5, "--decide", "-o", "out")
    assert (code, err) == (2, "error: --decide: is given without --after. Name the experiment that was examined.\n")


def test_an_experiment_of_another_robot(place: Path) -> None:
    code, _, err = ident("two.toml", "--after", str(ROOT / "experiments" / "arm5"), "-o", "out")
    assert code == 2
    assert err == (
        "error: the experiment of --after is about another robot, 'arm5' of 'robot.toml'. Give that robot's file, or an"
        " experiment of this robot.\n"
    )


MESSAGES = [
    # limits that cross, a robot without limits, zero torque limits, a posture in collision, a missing mesh, too fast
    (("cross.toml",), "cross.toml, joint[1].limits.lower: is 2, above upper = -2."),
    (
        ("free.toml",),
        "joint 'elbow' of robot 'two' has neither a velocity nor an acceleration limit. Give it one: <limit "
        'velocity="..."/> of the joint in the URDF, limits = { velocity = ... } in a DH table.',
    ),
    (
        ("zero.toml", "--cad", "cad.csv"),
        "the torque limit of joint 'elbow' is zero. Correct it, or leave it out where it is unknown.",
    ),
    (
        (*GIVEN, "--scene", "scene.toml", "--start", "1.9 1"),
        "the start posture is in collision: capsule 'lower' reaches 171 mm beyond plane 'wall', wanted at least 0 mm "
        "apart. Choose another posture.",
    ),
    (
        ("mesh.urdf", "--scene", "mesh.toml"),
        "mesh.urdf, line 3, link 'a': the mesh 'a.stl' is not in 'PLACE'. Give the folder that holds the meshes.",
    ),
    (
        ("two.toml", "--cad", "cad.csv", "--duration", "0.02"),
        "joint 'shoulder' can swing by 0.0002 rad only, because of its acceleration limit, at the base frequency 314 "
        "rad/s. Lower the base frequency: make the motion longer than 0.02 s.",
    ),
    (
        (*GIVEN, "--start", "3 0"),
        "joint 'shoulder' of the start posture is at 3 rad, outside of its range less the margin, -2 to 2 rad. Choose "
        "a posture inside; the command line takes degrees as '0 30 deg'.",
    ),
    (
        (*GIVEN, "--position-margin", "2.2"),
        "the position limits of joint 'shoulder' leave no room: 0.2 to -0.2. Check the limits, and the margin that is "
        "taken from both.",
    ),
    # numbers that make no sense
    ((*GIVEN, "--duration", "0"), "the duration of a period [s] must be positive, got 0."),
    ((*GIVEN, "--duration", "nan"), "the duration of a period [s] is nan, wanted a finite number."),
    (
        (*GIVEN, "--harmonics", "2000"),
        "a search among motions of 4001 coefficients per joint keeps 10.2 GB of tables, which grow with the square of "
        "that number; 3 GB is the most. Use fewer harmonics.",
    ),
    ((*GIVEN, "--harmonics", "1"), "the number of harmonics must be a whole number from 2 on, got 1."),
    ((*GIVEN, "--starts", "0"), "the number of starts must be a whole number from 1 to 100000, got 0."),
    ((*GIVEN, "--seed", "-1"), "the seed must be a whole number from 0 to 9223372036854775808, got -1."),
    ((*GIVEN, "--seconds", "0"), "the time budget is 0 s, wanted a positive number."),
    ((*GIVEN, "--periods", "0"), "the number of periods must be a whole number from 1 to 1000000, got 0."),
    ((*GIVEN, "--rate", "0"), "the sampling rate [Hz] must be positive, got 0."),
    (
        (*GIVEN, "--rate", "1e6"),
        "the sampled files would have 4e+06 rows, wanted 1e+06 at most. Lower the sampling rate, or play the one "
        "period of trajectory.json several times.",
    ),
    ((*GIVEN, "--log-rate", "-1"), "the logging rate is -1 Hz, wanted a positive number."),
    ((*GIVEN, "--noise", "1 2 3"), "--noise: '1 2 3' is not one number, nor 2. Give one number per joint."),
    ((*GIVEN, "--noise", "0 1"), "--noise: '0 1' are no standard deviations. Give positive numbers."),
    ((*GIVEN, "--noise", "a"), "--noise: 'a' is no list of numbers. Such as 0.1, or '1 1 0.5'."),
    (
        (*GIVEN, "--criterion", "conditon"),
        "no criterion is called 'conditon'; did you mean 'condition'? Choose one of d, a, e, condition, "
        "scaled-condition, worst-error.",
    ),
    ((*GIVEN, "--rate-margin", "1"), "the margin of the rates is a share between 0 and 1, got 1."),
    ((*GIVEN, "--torque-margin", "nan"), "the margin of the torques is a share between 0 and 1, got nan."),
    ((*GIVEN, "--power", "0"), "the power limit is 0 W, wanted a positive number."),
    (("two.toml", *QUICK, "--power", "9"), "a power limit needs parameters to compute torques from. Give CAD values."),
    ((*GIVEN, "--end", "0 0"), "an end posture is given without a start posture. Give both, or none."),
    # files
    (("nothing.toml",), "nothing.toml: the file cannot be read: No such file or directory."),
    (("two.toml", "--cad", "nothing.csv"), "nothing.csv: there is no such file."),
    (("two.toml", "--scene", "nothing.toml"), "nothing.toml: the file cannot be read: No such file or directory."),
    ((*GIVEN, "--resume", "nothing.json"), "nothing.json: cannot be read: No such file or directory. Check the path."),
]


@pytest.mark.parametrize(("args", "message"), MESSAGES)
def test_messages(args: tuple[str, ...], message: str, place: Path) -> None:
    (place / "cross.toml").write_text(ROBOT.replace("lower = -2, upper = 2,", "lower = 2, upper = -2,"))
    (place / "free.toml").write_text(ROBOT.replace("velocity = 4, acceleration = 30, ", ""))
    (place / "zero.toml").write_text(ROBOT.replace("effort = 10", "effort = 0"))
    (place / "mesh.urdf").write_text(MESH)
    (place / "mesh.toml").write_text('fit = "mesh.urdf"\n')
    there = sorted(p.name for p in place.iterdir())
    code, out, err = ident(*args, "-o", "new/out")
    assert (code, out) == (2, "")
    assert err == f"error: {message.replace('PLACE', place.name)}\n"
    assert sorted(p.name for p in place.iterdir()) == there


def test_a_search_without_result_says_what_is_in_the_way(place: Path) -> None:
    (place / "walled.toml").write_text(SCENE.replace("-0.3", "2"))
    code, out, err = ident(*GIVEN, "--scene", "walled.toml", "-o", "out")
    assert (code, out) == (2, "")
    first, second = err.splitlines()
    assert first.startswith("start 1 of 1, ")
    assert first.endswith(": no motion that is proven to keep every limit")
    assert second == (
        "error: no motion that keeps every limit was found in 1 starts; in the way was: clearance of upper - wall. "
        "Widen that limit, change the start posture, lower the base frequency, or allow more time."
    )
    assert not (place / "out").exists()


def test_a_folder_of_others_is_left_alone_and_known_before_the_search(place: Path) -> None:
    code, _, err = ident(*GIVEN, "-o", ".")
    assert (code, err) == (
        2,
        "error: the folder '.' holds 'cad.csv', which ident did not write. Choose another --out.\n",
    )
    code, _, err = ident(*GIVEN, "-o", "cad.csv")
    assert code == 2
    assert err.startswith("error: --out: 'cad.csv' is a file's name, wanted a folder for trajectory.csv and others.")


@pytest.mark.slow
def test_nothing_is_left_when_writing_fails(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ident.report import figures

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(figures, "legible", broken)
    there = sorted(p.name for p in place.iterdir())
    done = CliRunner().invoke(app, ["excite", *GIVEN, "-o", "out"])
    assert done.exit_code == 2
    assert done.stderr.endswith("error: out: cannot be written: No space left on device. Choose another --out.\n")
    assert sorted(p.name for p in place.iterdir()) == there


@pytest.mark.slow
def test_an_interrupt_keeps_the_best_so_far_or_leaves_nothing(place: Path) -> None:
    """Once a start is done an interrupt ends the search; before that there is nothing to write."""
    more = [*GIVEN, "--starts", "1000", "-o", "out"]
    # Python minds no interrupt that its parent ignores, as shells do for what they run in the background.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    with subprocess.Popen(
        [sys.executable, "-c", code + "from ident.cli.main import main; main()", "excite", *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stderr is not None
        assert running.stderr.readline().startswith("start 1 of 1000")
        running.send_signal(signal.SIGINT)  # in the next start, or on the way to it
        out, _ = running.communicate()
    assert running.returncode == 0
    assert "; interrupted" in out
    assert (place / "out" / "trajectory.json").exists()


def test_an_interrupt_before_the_first_result_leaves_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ident.excitation import search

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "_start", interrupted)
    there = sorted(p.name for p in place.iterdir())
    code, _, err = ident(*GIVEN, "-o", "out")
    assert (code, err) == (130, "interrupted; nothing was written\n")
    assert sorted(p.name for p in place.iterdir()) == there
