"""`ident logs info` and `ident logs convert`: what is printed, what is written, and what a failure leaves."""

import numpy as np
import pytest
from bags import KINDS, motion, write_bag
from logs_data import TWO
from typer.testing import CliRunner

from ident.cli.files import logs
from ident.cli.main import app
from ident.errors import InputError, LogError
from ident.logs import read_log, read_manifest
from ident.logs.readers.info import convert
from ident.robot.file import MDHJoint, from_mdh

ROBOT = """
name = "two"
convention = "mdh"
length = "m"
angle = "rad"
gravity = [0, 0, -9.81]
[[joint]]
name = "joint1"
alpha = 0
a = 0
d = 0
[[joint]]
name = "joint2"
alpha = 0
a = 1.0
d = 0
"""


def run(*args):
    return CliRunner().invoke(logs, [str(a) for a in args])


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".parquet", ".csv"])
@pytest.mark.parametrize("kind", KINDS)
def test_converted_tables_read_as_the_bag_does(tmp_path, kind, ending):
    messages, (q, qd, tau) = motion(9000 if kind == "mcap" else 60, shuffle=kind != "mcap")
    path = write_bag(tmp_path / "run", kind, messages)
    done = run("convert", path, "--out", tmp_path / f"table{ending}", "--joints", "joint1, joint2")
    assert done.exit_code == 0, done.output
    assert f"wrote {len(q)} rows to" in done.output
    assert (tmp_path / "table.toml").read_text() in done.output
    log = read_log(read_manifest(tmp_path / "table.toml"), "table", TWO)
    assert np.array_equal(log.q, q)
    assert np.array_equal(log.qd, qd)
    assert np.array_equal(log.tau, tau)
    assert np.array_equal(log.t, np.arange(len(q)) * 2_000_000 * 1e-9)
    (tmp_path / "two.toml").write_text(ROBOT)
    said = CliRunner().invoke(app, ["check", str(tmp_path / f"table{ending}"), "--robot", str(tmp_path / "two.toml")])
    assert f"{len(q)} rows" in said.stdout, said.output


def test_info_prints_what_there_is(tmp_path):
    messages = motion(60)[0]
    gripper = [("/gripper", m[1], ["finger"], m[3], [0.0], [], []) for m in messages]
    path = write_bag(tmp_path / "run", "mcap", [m for i, m in enumerate(messages) if i != 30] + gripper)
    done = run("info", path, "--topic", "/joint_states")
    assert done.exit_code == 0, done.output
    for line in (
        "run: ROS 2 bag, topic /joint_states",
        "/gripper",
        "59 rows of 59 messages, 0.118 s, 491.525 Hz by the clock 'stamp'",
        "joints: joint1, joint2",
        "signals: position [rad], velocity [rad/s], effort [N m]",
        "1 message lost, by the steps of the clock",
        "1 gap before message 31 (4 ms)",
    ):
        assert line in done.output
    many = run("info", path)
    assert many.exit_code == 2
    assert "has 2 topics of joint states: /gripper, /joint_states" in many.output


def test_prismatic_joints_have_their_own_units(tmp_path):
    robot = from_mdh("two", [MDHJoint(), MDHJoint(kind="prismatic")])
    path = write_bag(tmp_path / "run", "bag", motion()[0])
    done = convert(path, tmp_path / "t.parquet", robot=robot)
    assert 'unit = ["rad", "m"]' in done.stanza
    assert 'unit = ["N m", "N"]' in done.stanza
    assert read_log(read_manifest(done.manifest), "t", robot).q.shape == (40, 2)


def test_names_that_toml_must_quote(tmp_path):
    names = ('arm "left"/j\\1', "gelenk_ü")
    path = write_bag(tmp_path / "run", "db3", motion(names=names)[0])
    done = convert(path, tmp_path / "a b.parquet")
    log = read_log(read_manifest(done.manifest), "a_b", TWO)
    assert log.q.shape == (40, 2)


def test_repeated_messages_are_dropped_aloud(tmp_path):
    messages, (q, _, _) = motion()
    path = write_bag(tmp_path / "run", "bag", [messages[0], *messages, messages[-1]])
    done = run("convert", path, "--out", tmp_path / "t.parquet")
    assert done.exit_code == 0, done.output
    assert "2 dropped, because their clock repeats" in done.output
    assert np.array_equal(read_log(read_manifest(tmp_path / "t.toml"), "t", TWO).q, q)


@pytest.mark.parametrize(("args", "message"), [
    (["--out", "t.xlsx"], "t.xlsx: ends in '.xlsx'. Choose one of .parquet, .csv."),
    (["--out", "t.csv", "--joints", "a,,b"], "--joints: 'a,,b' is no list of different names. Give it as 'a,b,c'."),
    (["--out", "t.csv", "--joints", "joint3"], "no message has the joint 'joint3'; did you mean 'joint2' or 'joint1'?"),
    (["--out", "t.csv", "--topic", "/nothing"], "run: there is no topic '/nothing'"),
    (["--out", "t.csv", "--robot", "nothing.urdf"], "nothing.urdf"),
])  # fmt: skip
def test_a_refusal_is_one_sentence_and_leaves_nothing(tmp_path, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    write_bag(tmp_path / "run", "mcap", motion()[0])
    done = run("convert", "run", *args)
    assert done.exit_code == 2
    assert message in done.output
    assert "Traceback" not in done.output
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_a_clock_that_jumps_back_is_refused_before_anything_is_written(tmp_path):
    messages = [(*m[:3], m[3] - (10**9 if i >= 20 else 0), *m[4:]) for i, m in enumerate(motion()[0])]
    path = write_bag(tmp_path / "run", "mcap", messages)
    done = run("convert", path, "--out", tmp_path / "t.parquet")
    assert done.exit_code == 2
    assert "the clock 'stamp' jumps back 1 time, at message 21 (-998 ms). Cut the recording there" in done.output
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_a_bag_without_effort_is_refused(tmp_path):
    path = write_bag(tmp_path / "run", "bag", [(*m[:6], []) for m in motion()[0]])
    done = run("convert", path, "--out", tmp_path / "t.parquet")
    assert done.exit_code == 2
    assert "run.bag, /joint_states: carries no effort. Torque or current must be recorded" in done.output


def test_a_manifest_with_gains_is_not_written_over(tmp_path):
    path = write_bag(tmp_path / "run", "bag", motion()[0])
    (tmp_path / "t.toml").write_text("mine")
    with pytest.raises(LogError, match=r"t\.toml: is there already"):
        convert(path, tmp_path / "t.csv")
    assert (tmp_path / "t.toml").read_text() == "mine"
    assert not (tmp_path / "t.csv").exists()


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    import pyarrow.parquet

    def full(*args, **how):
        raise OSError(28, "No space left on device")

    path = write_bag(tmp_path / "run", "bag", motion()[0])
    monkeypatch.setattr(pyarrow.parquet.ParquetWriter, "write_table", full)
    with pytest.raises(InputError, match=r"t\.parquet: cannot be written: No space left on device"):
        convert(path, tmp_path / "t.parquet")
    assert [p.name for p in tmp_path.iterdir()] == ["run.bag"]


def test_robot_gives_the_joints_and_their_order(tmp_path):
    (tmp_path / "robot.toml").write_text(ROBOT)
    messages, (q, _, _) = motion(names=("joint2", "joint1", "finger"))
    path = write_bag(tmp_path / "run", "db3", messages)
    done = run("convert", path, "--out", tmp_path / "t.parquet", "--robot", tmp_path / "robot.toml")
    assert done.exit_code == 0, done.output
    assert "joints not used: finger" in done.output
    assert np.array_equal(read_log(read_manifest(tmp_path / "t.toml"), "t", TWO).q, q[:, [1, 0]])
