"""The command line and the pipeline behind it: what is written, what is said, and what is left after a failure."""

import html
import json
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
from rich.text import Text
from scipy.signal import lfilter
from typer.testing import CliRunner

from ident.cli.console import EXIT_CODES, file_out, printable, progress, show
from ident.cli.main import app
from ident.errors import InputError
from ident.estimate import estimated
from ident.estimate.storage import load_estimate
from ident.experiment import read_experiment
from ident.export import exportable
from ident.export.urdf import new_urdf
from ident.files import whole_folder
from ident.logs import Processing
from ident.model import torque
from ident.pipelines import factors as logs_as_factors
from ident.pipelines import identify, run, validate
from ident.pipelines import steps as pipeline
from ident.pipelines.compressed import compressed
from ident.pipelines.loaded import load
from ident.regression import load_regression
from ident.report.text import table
from ident.robot import read_robot
from ident.spatial.inertia import pseudo_inertia

pytestmark = pytest.mark.usefixtures("sketched")

ROOT = Path(__file__).parents[1]
BROKEN = Path(__file__).parent / "broken"
FILES = {"estimate.json", "parameters.json", "robot.urdf", "factors.npz", "report.html"}
RATE, ROWS = 100.0, 1200
TRUE = {
    "upper.m": 2.0, "upper.hx": 0.3, "upper.hy": 0.0, "upper.hz": 0.0,
    "upper.Ixx": 0.002, "upper.Ixy": 0.0, "upper.Ixz": 0.0, "upper.Iyy": 0.065, "upper.Iyz": 0.0, "upper.Izz": 0.065,
    "lower.m": 1.0, "lower.hx": 0.1, "lower.hy": 0.0, "lower.hz": 0.0,
    "lower.Ixx": 0.001, "lower.Ixy": 0.0, "lower.Ixz": 0.0, "lower.Iyy": 0.02, "lower.Iyz": 0.0, "lower.Izz": 0.02,
    "shoulder.drive_inertia": 0.1, "elbow.drive_inertia": 0.05, "shoulder.viscous": 0.4, "elbow.viscous": 0.2,
    "shoulder.coulomb": 0.6, "elbow.coulomb": 0.3, "shoulder.offset": 0.1, "elbow.offset": -0.1,
}  # fmt: skip
EXPERIMENT = """
[experiment]
title = "Two joints"
robot = "robot.toml"
data = "dataset.toml"
cad = "cad.csv"
truth = "truth.toml"

[recordings]
fit = ["circle"]
validate = ["steps"]

[processing]
edge_s = 0.1

[model]
coulomb = { tanh = 0.05 }

[fit]
weight = "vanishing"
"""


def call(*arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def tree(folder: Path) -> dict[str, bytes | None]:
    """Return every file and folder below `folder`, hidden ones too."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def record(folder: Path, name: str, seed: int, late: int = 0, pole: float = 0.0) -> None:
    """Write a log of the arm in smooth motion: time, two positions, two torques with noise, `late` samples late.

    pole: of a low-pass of first order that the torques went through.
    """
    rng = np.random.default_rng(seed)
    loaded = load(read_experiment(folder))
    t = np.arange(-50, ROWS + 50) / RATE
    phases = rng.uniform(0, 2 * np.pi, (3, 2))
    w = 2 * np.pi * np.array([[0.25], [0.6], [1.1]])
    a = np.array([[1.0, 0.8], [0.4, 0.5], [0.15, 0.2]])
    angle = w[:, :, None] * t + phases[:, :, None]  # (harmonics, joints, samples)
    q = (a[:, :, None] * np.sin(angle)).sum(axis=0).T
    qd = (a[:, :, None] * w[:, :, None] * np.cos(angle)).sum(axis=0).T
    qdd = -(a[:, :, None] * w[:, :, None] ** 2 * np.sin(angle)).sum(axis=0).T
    theta = np.array([TRUE[n] for n in loaded.model.names])
    tau = lfilter([1.0 - pole], [1.0, -pole], torque(loaded.model, theta, q, qd, qdd), axis=0)
    tau += 0.02 * rng.standard_normal(q.shape)
    table = np.column_stack([t, q, np.roll(tau, late, axis=0)])[50:-50]
    np.savetxt(folder / f"{name}.csv", table, fmt="%.9g", delimiter=",")


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Return the folder of a sound experiment of two joints."""
    folder = tmp_path_factory.mktemp("two")
    for file in ("robot.toml", "dataset.toml", "cad.csv"):
        (folder / file).write_bytes((BROKEN / "experiment" / file).read_bytes())
    text = (folder / "robot.toml").read_text()
    (folder / "robot.toml").write_text(text.replace('angle = "rad"', 'angle = "rad"\ngravity = [0, -9.81, 0]'))
    (folder / "experiment.toml").write_text(EXPERIMENT)
    (folder / "truth.toml").write_text("[parameters]\n" + "".join(f'"{k}" = {v}\n' for k, v in TRUE.items()))
    record(folder, "circle", 1)
    record(folder, "steps", 2)
    return folder


@pytest.fixture
def two(made, tmp_path) -> Path:
    """Return a copy of it that a test may change."""
    for file in made.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def line_of(path: Path, number: int, edit) -> None:
    lines = path.read_text().splitlines()
    lines[number - 1 : number] = edit(lines[number - 1])
    path.write_text("\n".join(lines) + "\n")


# ---- run -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_run_writes_everything_and_says_what_it_found(two):
    done = call("run", two)
    assert done.exit_code == 0, done.output
    out = two / "results" / two.name
    assert {p.name for p in out.iterdir()} == FILES
    assert {p.name for p in (two / "results").iterdir()} == {two.name}
    assert re.search(r"truth +CAD +identified", done.stdout)
    assert re.search(r"lower\.hx +kg m +0\.1 +0\.1 +0\.\d+ ± 0\.\d+ +\S+ +agrees", done.stdout)
    assert "wrote estimate.json, factors.npz, parameters.json, report.html, robot.urdf to" in done.stdout
    estimate = load_estimate(out / "estimate.json")
    for name, value in zip(estimate.base.names, estimate.phi, strict=True):
        k = estimate.base.names.index(name)
        true = estimate.base.K[k] @ [TRUE[n] for n in estimate.base.standard]
        assert abs(value - true) < 5 * estimate.covariance.standard_errors[k]
    assert estimate.provenance["fitted on"] == "circle"
    for name in ("experiment.toml", "robot.toml", "dataset.toml", "cad.csv", "truth.toml", "circle.csv"):
        assert re.fullmatch("[0-9a-f]{64}", estimate.provenance[f"sha256 {name}"])
    assert estimate.provenance["command"].startswith("ident")
    assert re.fullmatch(r"\d+\.\d+.*", estimate.provenance["numpy"])
    assert load_regression(out / "factors.npz").recordings == ("circle",)
    assert read_robot(out / "robot.urdf").joint_names == ("shoulder", "elbow")
    assert json.loads((out / "parameters.json").read_text())["robot"] == "two"
    assert 'class="picture"' in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_next_motion_counts_with_the_torques_that_a_run_identified(two):
    """`ident excite --after`: CAD alone where there is no usable estimate, and then it says what is not in it."""
    limits = "limits = { lower = -2, upper = 2, velocity = 3, acceleration = 20, effort = 30 }"
    for link in ("upper", "lower"):
        change(two / "robot.toml", f'link = "{link}"', f'link = "{link}"\n{limits}')
    kept = two / "results" / two.name / "estimate.json"
    name = f"{two.name}/estimate.json"
    asked = ["excite", two / "robot.toml", "--after", two, "--duration", 4, "--harmonics", 2, "--starts", 1]

    def excited(*more: object) -> tuple[str, dict]:
        done = call(*asked, *more, "-o", two / "next")
        assert done.exit_code == 0, done.stderr
        certificate = json.loads((two / "next" / "trajectory.json").read_text())["certificate"]
        return "".join((done.stdout + done.stderr).split()), certificate  # lines end within long names

    said, _ = excited()
    assert f"thereisno{name}" in said
    assert "of the bodies that are stated, without friction and drive inertia".replace(" ", "") in said

    assert call("run", two).exit_code == 0
    said, certificate = excited()
    assert f"torquesarethoseof{name}:bodies,driveinertia,viscousfriction,Coulombfriction,offset" in said
    assert "bodiesthatarestated" not in said
    assert "novalidationof" not in said
    assert "estimate.json" in certificate["inputs"]
    assert not [g for g in certificate["guarantees"] if "without" in g["what"]]
    moved = kept.rename(two / "mine.json")
    assert f"torquesarethoseof{two.name}/mine.json" in excited("--estimate", moved)[0]

    kept.write_text("{}")
    said, certificate = excited()
    assert f"{name}isnotusedforthetorques" in said
    assert [g for g in certificate["guarantees"] if "without friction and drive inertia" in g["what"]]
    assert call(*asked, "--estimate", kept).exit_code == 2


@pytest.mark.slow
def test_run_replaces_its_own_results_whole(two):
    out = two / "out"
    assert call("run", two, "--out", out).exit_code == 0
    (out / "report.html").write_text("old")
    (out / "factors.npz").unlink()
    assert call("run", two, "--out", out).exit_code == 0
    assert {p.name for p in out.iterdir()} == FILES
    assert (out / "report.html").stat().st_size > 10_000
    assert not [p for p in two.iterdir() if p.name.startswith(".")]


def test_run_touches_no_folder_of_others(two):
    (two / "mine").mkdir()
    (two / "mine" / "thesis.tex").write_text("years of work")
    before = tree(two)
    done = call("run", two, "--out", two / "mine")
    assert done.exit_code == 2
    assert "holds 'thesis.tex', which ident did not write. Choose another --out." in done.stderr
    assert tree(two) == before


def test_run_into_a_file_is_refused(two):
    done = call("run", two, "--out", two / "cad.csv")
    assert done.exit_code == 2
    assert done.stderr == "error: cad.csv: is a file, wanted a folder. Choose another --out.\n"


FAILURES = {
    "no such experiment": (lambda f: (f / "experiment.toml").unlink(), 2, "there is no such file"),
    "unknown key": (lambda f: change(f / "experiment.toml", "[fit]", "[fit]\nwieght = 1"), 2, "did you mean 'weight'?"),
    "missing log": (lambda f: (f / "circle.csv").unlink(), 2, "there is no file 'circle.csv' in the data folder"),
    "text in the fitted log": (
        lambda f: line_of(f / "circle.csv", 7, lambda s: [s.replace(",", ",x", 1)]), 2, "circle.csv, line 7"
    ),
    "nothing but nan in the fitted log": (
        lambda f: [line_of(f / "circle.csv", k, lambda s: [s.rpartition(",")[0] + ",nan"]) for k in range(1, 1201)],
        2, "no finite number at 1200 rows: 1-1200",
    ),
    "cut-off above the Nyquist frequency": (
        lambda f: change(f / "experiment.toml", "edge_s", "position_hz = 60\nedge_s"), 2, "Nyquist frequency 50 Hz"
    ),
    "link that cannot exist": (
        lambda f: change(f / "cad.csv", "0.10,0,0,0.001", "0.10,0,0,0.1"), 2, "1 of 2 links cannot exist"
    ),
    "bounds that contradict each other": (
        lambda f: change(
            f / "experiment.toml", 'weight = "vanishing"',
            "bounds = { total_mass = [90, 99], mass = { upper = [1, 2], lower = [1, 2] } }",
        ), 3, "error: ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_a_failing_run_says_why_and_leaves_nothing_behind(two, name):
    spoil, code, said = FAILURES[name]
    spoil(two)
    before = tree(two)
    done = call("run", two)
    assert done.exit_code == code, done.output
    assert said in done.stderr
    assert done.stderr.count("error: ") == 1
    assert "Traceback" not in done.output
    assert tree(two) == before


def test_a_failing_run_keeps_the_results_before(two):
    out = two / "results" / two.name
    out.mkdir(parents=True)
    (out / "estimate.json").write_text("before")
    line_of(two / "circle.csv", 40, lambda s: ["nan" + s])
    before = tree(two)
    assert call("run", two).exit_code == 2
    assert tree(two) == before


@pytest.mark.parametrize(
    ("raised", "code"), [(KeyboardInterrupt(), 130), (RuntimeError("a bug"), 1), (OSError(28, "No space left"), 1)]
)
def test_a_run_that_is_stopped_leaves_nothing_behind(two, monkeypatch, raised, code):
    def stopped(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr(identify, "reported", stopped)
    before = tree(two)
    assert call("run", two).exit_code == code
    assert tree(two) == before


def test_a_folder_that_cannot_be_replaced_is_kept(tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    (out / "estimate.json").write_text("before")
    before = tree(tmp_path)
    moves = []

    def move(self: Path, target: Path) -> Path:
        moves.append(self.name)
        if len(moves) == 2:
            raise PermissionError(13, "Permission denied")
        return original(self, target)

    original = Path.rename
    monkeypatch.setattr(Path, "rename", move)
    with (
        pytest.raises(InputError, match="out: cannot be written: Permission denied"),
        whole_folder(out, identify.FILES) as f,
    ):
        (f / "estimate.json").write_text("after")
    assert tree(tmp_path) == before


def test_folders_made_for_the_results_go_with_them(tmp_path):
    with pytest.raises(KeyError), whole_folder(tmp_path / "a" / "b" / "c", identify.FILES):
        raise KeyError
    assert tree(tmp_path) == {}
    with whole_folder(tmp_path / "a" / "b" / "c", identify.FILES) as folder:
        (folder / "estimate.json").write_text("x")
    assert tree(tmp_path) == {"a": None, "a/b": None, "a/b/c": None, "a/b/c/estimate.json": b"x"}


def heavy_tool(folder: Path) -> Path:
    """Make the experiment's robot a URDF that fixes 5 kg to the last link, which has 1 kg with them by the log."""
    data, _ = new_urdf(read_robot(folder / "robot.toml"))
    tool = """  <link name="tool">
    <inertial><mass value="5"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <joint name="flange" type="fixed"><parent link="lower"/><child link="tool"/></joint>
</robot>"""
    text = data.decode().replace("</robot>", tool)
    assert 'type="continuous"' in text
    (folder / "robot.urdf").write_text(text)
    (folder / "robot.toml").write_text('name = "two"\nurdf = "robot.urdf"\ngravity = [0, -9.81, 0]\n')
    return folder / "robot.urdf"


@pytest.mark.slow
def test_a_link_that_is_outweighed_by_what_is_fixed_to_it_takes_all_of_its_mass(two):
    heavy_tool(two)
    done = call("run", two)
    assert done.exit_code == 0, done.output
    results = two / "results" / two.name
    assert {p.name for p in results.iterdir()} == FILES
    assert re.search(
        r"note: robot\.urdf: Link 'lower' has all of its \S+ kg; 'tool', fixed to it, no mass\.", done.stderr
    )
    assert "'tool', fixed to it, no mass." in (results / "robot.urdf").read_text()
    wanted = exportable(load_estimate(results), read_robot(two / "robot.toml"))
    (results / "robot.urdf").rename(two / "arm.urdf")
    change(two / "robot.toml", '"robot.urdf"', '"arm.urdf"')
    again = read_robot(two / "robot.toml")
    np.testing.assert_allclose(again.inertials.ravel(), wanted[:20], rtol=1e-9, atol=1e-12)
    assert again.fixed[0].inertial is None


@pytest.mark.slow
@pytest.mark.parametrize("command", ["fit", "run"])
def test_inertials_of_the_description_that_are_taken_as_cad_are_told(two, command):
    heavy_tool(two)
    change(two / "experiment.toml", 'cad = "cad.csv"\n', "")
    done = call(command, two, "-o", two / "out/")
    assert done.exit_code in (0, 3, 4), done.output
    assert (
        "note: the inertials of 'robot.toml' are the CAD column and the prior, as nothing else is given" in done.stdout
    )
    assert load_estimate(two / "out").prior == "robot.toml; neutral bodies for upper"


@pytest.mark.slow
def test_a_fit_is_kept_when_its_validation_cannot_be_made(two):
    rows = (two / "steps.csv").read_text().splitlines()
    (two / "steps.csv").write_text("".join(row.rpartition(",")[0] + ",nan\n" for row in rows))
    done = call("run", two)
    assert done.exit_code == 2, done.output
    assert {p.name for p in (two / "results" / two.name).iterdir()} == FILES - {"robot.urdf", "parameters.json"}
    assert "error: validation: steps.csv, torque of elbow: no finite number at 1200 rows: 1-1200" in done.stderr


@pytest.mark.slow
def test_what_run_writes_is_what_export_writes(two):
    assert call("run", two).exit_code == 0
    results = two / "results" / two.name
    robot = ("--robot", two / "robot.toml", "--date", "")
    for form, file in (("urdf", "robot.urdf"), ("json", "parameters.json")):
        assert call("export", form, results, *robot, "-o", two / "again").exit_code == 0
        assert (two / "again").read_bytes() == (results / file).read_bytes()
        assert b"Validation passed: error " in (results / file).read_bytes()
    by_itself = call("compare", results)
    assert (by_itself.exit_code, by_itself.stderr) == (0, "")
    assert by_itself.stdout == call("compare", results, *robot[:2], "--cad", two / "cad.csv").stdout


@pytest.mark.slow
def test_without_validation_run_and_export_keep_the_same_files_back(two):
    change(two / "experiment.toml", 'validate = ["steps"]', "")
    done = call("run", two)
    assert done.exit_code == 0, done.output
    results = two / "results" / two.name
    assert {p.name for p in results.iterdir()} == FILES - {"robot.urdf", "parameters.json"}
    assert done.stderr.splitlines()[-1].startswith(
        "not written: parameters.json, robot.urdf: the fit of 'two' was never validated on a held-out recording"
    )
    robot = ("--robot", two / "robot.toml", "-o", two / "again")
    for form in ("urdf", "json"):
        assert call("export", form, results, *robot).exit_code == 4
        assert call("export", form, results, *robot, "--unvalidated").exit_code == 0
        assert "NOT VALIDATED" in (two / "again").read_text()


UNUSABLE = {
    "zero": (lambda x: x.__setitem__((slice(None), 3), 0.0), "torque of 'shoulder' is 0 in all 1200 rows"),
    "constant": (lambda x: x.__setitem__((slice(None), 4), 0.7), "torque of 'elbow' is 0.7 in all 1200 rows"),
    "copied": (lambda x: x.__setitem__((slice(None), 4), x[:, 3]), "torque of 'elbow' is 1 times that of 'shoulder'"),
    "start": (lambda x: x.__setitem__((slice(0, 15), 3), 40.0), "torque of 'shoulder' in the first 15 rows"),
}


@pytest.mark.slow
@pytest.mark.parametrize("recording", ["circle", "steps"])
@pytest.mark.parametrize("kind", UNUSABLE)
def test_a_torque_that_cannot_be_used_is_no_result(two, kind, recording):
    """Whatever the fit makes of it, and whichever recording has it: the last line says so, no export lets it out."""
    spoil, said = UNUSABLE[kind]
    values = np.loadtxt(two / f"{recording}.csv", delimiter=",")
    spoil(values)
    np.savetxt(two / f"{recording}.csv", values, fmt="%.9g", delimiter=",")
    change(two / "experiment.toml", "edge_s = 0.1\n", "")
    assert call("check", two / "dataset.toml", "--recording", recording).exit_code == 4
    done = call("run", two, "-o", two / "out")
    assert done.exit_code == 4, done.output
    last = done.stderr.splitlines()[-1]
    assert last.startswith("Do not use: " if recording == "circle" else "Do not use yet: Validation failed: ")
    assert f"{recording}: {said}" in last
    assert "Ready to use" not in (two / "out/report.html").read_text()
    assert not (two / "out/robot.urdf").exists()
    assert call("export", "csv", two / "out", "-o", two / "x.csv").exit_code == 4
    if recording == "steps":
        assert call("validate", two / "out", two).exit_code == 4


@pytest.mark.slow
def test_a_kept_torque_that_begins_unlike_the_rest_counts_where_it_is_predicted(two):
    values = np.loadtxt(two / "steps.csv", delimiter=",")
    values[:2, 4] += 1.5
    np.savetxt(two / "steps.csv", values, fmt="%.9g", delimiter=",")
    change(two / "experiment.toml", "edge_s = 0.1\n", "")
    done = call("run", two, "-o", two / "out")
    assert done.exit_code == 0, done.output
    assert "in the first 2 rows (1-2) is unlike the rest, but predicted" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("late", [2, 4])
def test_late_torques_are_read_so_before_friction_is_chosen(two, monkeypatch, late):
    """Wide friction and hysteresis make up for much of a delay, so what is left looks like a filter, and is less."""
    for name, seed in (("circle", 1), ("steps", 2)):
        record(two, name, seed, late=late)
    change(two / "experiment.toml", "[processing]\nedge_s = 0.1\n", "")
    change(two / "experiment.toml", "[model]\ncoulomb = { tanh = 0.05 }\n", "")
    change(two / "experiment.toml", 'truth = "truth.toml"\n', "")
    monkeypatch.setattr("ident.compare.settled.late_positions", lambda *_: ())
    result = run(two, two / "out")
    assert not result.estimate.causes, result.estimate.causes
    np.testing.assert_allclose([c.value for c in result.estimate.calibration], -late / RATE, atol=0.2 / RATE)
    assert result.validation.total("identified").relative_total < 0.01


@pytest.mark.slow
def test_a_filter_that_no_delay_explains_as_well_stays_one(two, monkeypatch):
    for name, seed in (("circle", 1), ("steps", 2)):
        record(two, name, seed, pole=0.8)
    change(two / "experiment.toml", "[processing]\nedge_s = 0.1\n", "")
    monkeypatch.setattr("ident.compare.settled.late_positions", lambda *_: ())
    (cause,) = run(two, two / "out").estimate.causes
    assert cause.what.startswith("torques are blurred by a filter with a time constant of 4")


@pytest.mark.slow
def test_torques_that_only_the_doctor_finds_late_are_read_so_unless_signals_are_read_by_hand(two, monkeypatch):
    for name, seed in (("circle", 1), ("steps", 2)):
        record(two, name, seed, late=1)
    by_hand = call("run", two, "-o", two / "hand")
    assert by_hand.exit_code == 4
    assert "torques come 9.9" in by_hand.output
    change(two / "experiment.toml", "[processing]\nedge_s = 0.1\n", "")
    monkeypatch.setattr("ident.compare.settled.late_positions", lambda *_: ())
    result = run(two, two / "out")
    assert [c.unknown.name for c in result.estimate.calibration] == ["shoulder.skew", "elbow.skew"]
    np.testing.assert_allclose([c.value for c in result.estimate.calibration], -1 / RATE, rtol=0.01)
    assert not result.estimate.causes
    assert any(w.kind == "late" for w in result.warnings)
    error = result.validation.total("identified").relative_total
    assert error < 0.01
    again = validate(two / "out", two)  # reads them late by what the estimate says
    assert again.validation.total("identified").relative_total == pytest.approx(error)


@pytest.mark.slow
def test_positions_in_degrees_are_what_stands_out_and_no_delay(two):
    text = (two / "robot.toml").read_text().replace("link = ", "limits = { lower = -2.0, upper = 2.0 }\nlink = ")
    (two / "robot.toml").write_text(text)
    for name, seed in (("circle", 1), ("steps", 2)):
        record(two, name, seed, late=6)
        values = np.loadtxt(two / f"{name}.csv", delimiter=",")
        values[:, 1:3] = np.degrees(values[:, 1:3])
        np.savetxt(two / f"{name}.csv", values, fmt="%.9g", delimiter=",")
    done = call("run", two, "-o", two / "out")
    assert done.exit_code == 4, done.output
    assert "is it in degrees" in done.stderr
    page = (two / "out/report.html").read_text()
    assert "far beyond what the joint can do: is it in degrees" in page
    assert "delay_s" not in done.output + page


@pytest.mark.slow
def test_a_rough_prediction_is_told_last(two):
    values = np.loadtxt(two / "steps.csv", delimiter=",")
    values[:, 3:] += np.random.default_rng(4).normal(size=(len(values), 2)) * [2.0, 0.4]
    np.savetxt(two / "steps.csv", values, fmt="%.9g", delimiter=",")
    done = call("run", two, "-o", two / "out")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1].startswith("Rough: Better than nothing, but motions never seen are predicted")


@pytest.mark.slow
def test_what_is_cut_off_is_no_start_transient(two):
    spoil, _ = UNUSABLE["start"]
    values = np.loadtxt(two / "circle.csv", delimiter=",")
    spoil(values)
    np.savetxt(two / "circle.csv", values, fmt="%.9g", delimiter=",")
    for key in ("edge_s = 0.3", "edge_s = 0.1\nedge_samples = 30", "start_s = 0.3\nedge_s = 0.1"):
        change(two / "experiment.toml", "edge_s = 0.1", key)
        done = call("run", two, "-o", two / "out")
        assert done.exit_code == 0, done.output
        (told,) = [line for line in done.stderr.splitlines() if "first 15 rows" in line]
        assert told.startswith("note: ")
        assert told.endswith(" is unlike the rest: left out")
        change(two / "experiment.toml", key, "edge_s = 0.1")


@pytest.mark.slow
def test_tables_and_sentences_show_120_characters_of_a_name(two):
    long = "z" * 400
    for file in ("robot.toml", "experiment.toml", "cad.csv", "truth.toml"):
        text = (two / file).read_text()
        (two / file).write_text(text.replace("shoulder", long).replace("upper", f"u{long}"))
    for command in (
        ("check", two / "robot.toml"),
        ("check", two / "cad.csv"),
        ("run", two, "-o", two / "out"),
        ("fit", two, "-o", two / "e.json"),
        ("validate", two / "out", two),
        ("compare", two / "out", "--robot", two / "robot.toml", "--cad", two / "cad.csv", "--all"),
    ):
        done = call(*command)
        assert done.exit_code == 0, done.output
        assert "zzz" in done.output
        assert max(map(len, re.findall("z+", done.output))) <= 120, command


def test_a_cell_of_a_table_shows_120_characters_of_a_name(capsys):
    show(table("z" * 400, (f"z{'z' * 400}", "sum"), [(f"{'z' * 400}.m", f"1 + {'z' * 400}.hx")]))
    assert capsys.readouterr().out.count("z") <= 4 * 120


@pytest.mark.slow
def test_a_failed_validation_is_told_last_and_by_the_exit_code(two):
    values = np.loadtxt(two / "steps.csv", delimiter=",")
    values[:, 3] *= -1
    np.savetxt(two / "steps.csv", values, fmt="%.9g", delimiter=",")
    for command in (("run", two, "-o", two / "out"), ("validate", two / "out", two)):
        done = call(*command)
        assert done.exit_code == 4, done.output
        last = done.stderr.splitlines()[-1]
        cause = "shoulder: its torque has the other sign in recording steps than in the others"
        assert last.startswith(f"Do not use yet: Mend first: {cause}")
    assert {p.name for p in (two / "out").iterdir()} == FILES - {"robot.urdf", "parameters.json"}
    refused = call("export", "csv", two / "out", "-o", two / "x.csv")
    assert refused.exit_code == 4
    assert f"did not pass validation (failed: {cause}" in refused.stderr
    assert "Validate it" not in refused.stderr  # it was
    assert call("export", "csv", two / "out", "-o", two / "x.csv", "--unvalidated").exit_code == 0


@pytest.mark.parametrize("command", [(), ("run",), ("fit",), ("validate",), ("export",), ("check",)])
def test_help_ends_with_the_exit_codes(command):
    said = " ".join(call(*command, "--help").output.split())
    assert said.endswith(EXIT_CODES)


@pytest.mark.parametrize("command", ["read", "doctor", "refine", "report"])
def test_help_tells_the_keys_of_frames(command):
    said = " ".join(call("cad", command, "--help").stdout.replace("│", " ").split())
    assert "under [LINK] position = [0, 0, 0.1] (m) and rpy = [0, 0, 1.57] (rad, fixed axes)" in said


def test_odd_rows_of_a_log_are_warned_of(two):
    line_of(two / "circle.csv", 201, lambda _: [])
    done = call("fit", two, "-o", two / "e.json")
    assert done.exit_code == 0, done.output
    assert "warning: circle: 1 row seems to be missing after row 200 (20 ms), where 10 ms is usual" in done.stderr
    assert any("row 200" in w for w in load_estimate(two / "e.json").warnings)


def test_a_delay_between_position_and_torque_is_warned_of(two):
    assert "read late" not in call("fit", two, "-o", two / "e.json").stderr
    record(two, "circle", 1, late=1)
    done = call("fit", two, "-o", two / "e.json")
    found = re.search(
        r"warning: circle: positions are read late: 'shoulder' by (-[\d.]+) ms, 'elbow' by (-[\d.]+)", done.stderr
    )
    assert [float(x) for x in found.groups()] == pytest.approx([-10, -10], abs=1)


@pytest.mark.slow
def test_without_a_model_the_logs_choose_the_width_of_friction(two):
    change(two / "experiment.toml", "[model]\ncoulomb = { tanh = 0.05 }\n", "")
    done = call("fit", two, "-o", two / "e.json")
    assert done.exit_code == 0, done.output
    assert "note: friction: chosen by what is left out, whose error falls by " in done.stderr
    assert any(w.startswith("friction: chosen by") for w in load_estimate(two / "e.json").notes)
    shapes = load_estimate(two / "e.json").shapes
    assert all(0.02 <= shapes[f"{joint}.coulomb"]["tanh"] <= 0.12 for joint in ("shoulder", "elbow"))
    judged = call("validate", two / "e.json", two)
    assert judged.exit_code == 0, judged.output
    for name, seed in (("circle", 1), ("steps", 2)):
        record(two, name, seed)  # without [model]: the plain sign of the speed
    done = call("fit", two, "-o", two / "sign.json")
    assert done.exit_code == 0, done.output
    assert "friction: chosen" not in done.stderr
    assert not load_estimate(two / "sign.json").shapes["elbow.coulomb"].get("tanh")


@pytest.mark.slow
def test_expected_figures_are_checked(two):
    (two / "experiment.toml").write_text(EXPERIMENT + "\n[expected]\nfit = [0, 1]\nsteps = [5, 0.1]\n")
    done = call("run", two)
    assert done.exit_code == 0, done.output
    assert "1 of 2 expected figures met" in done.stdout
    assert re.search(r"steps is 0\.0\d+, expected 5 within 0\.1", done.stdout)
    change(two / "experiment.toml", "steps =", "stepz =")
    done = call("run", two)
    assert done.exit_code == 2
    assert "experiment.toml, expected: the result has no figure 'stepz'; did you mean 'steps'?" in done.stderr


@pytest.mark.slow
def test_least_squares_writes_no_links(two):
    change(two / "experiment.toml", 'weight = "vanishing"', "feasible = false")
    done = call("run", two, "-o", two / "out")
    assert done.exit_code == 0, done.output
    assert {p.name for p in (two / "out").iterdir()} == {"estimate.json", "factors.npz", "report.html"}
    assert "no parameters.json and no robot.urdf" in done.stderr


@pytest.mark.slow
def test_what_stands_for_a_combination_is_not_told_as_a_parameter(two):
    """Without CAD too: the first parameter's name alone would make its combination that parameter's value."""
    change(two / "experiment.toml", 'cad = "cad.csv"', "cad = false")
    change(two / "experiment.toml", 'truth = "truth.toml"\n', "")
    done = call("run", two, "-o", two / "out")
    found = load_estimate(two / "out")
    for k, name in enumerate(found.base.names):
        alone = found.base.expression(k) == name
        assert re.search(rf"^ *{re.escape(name)}{' ' if alone else ' [+] [.]{3} '} *[a-zN]", done.stdout, re.M), name
    assert "+ ...: a combination" in done.stdout


@pytest.mark.slow
def test_a_large_log_is_streamed_to_the_same_result(two, monkeypatch):
    change(two / "experiment.toml", 'weight = "vanishing"', 'loss = "ols"\nfeasible = false')
    change(two / "experiment.toml", "edge_s = 0.1", "edge_s = 0.1\nposition_hz = 20\ntorque_hz = 20\nsegment_s = 1")
    loaded = load(read_experiment(two))
    whole = logs_as_factors.fitted(loaded, compressed(loaded), [])
    monkeypatch.setattr("ident.logs.stream.NUMBERS", 400 * 7)
    assert len(list(pipeline.motions(loaded, loaded.experiment.fit, loaded.experiment.processing, []))) == 3
    streamed = logs_as_factors.fitted(loaded, compressed(loaded), [])
    assert (streamed.rows == whole.rows).all()
    np.testing.assert_allclose(streamed.phi, whole.phi, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("fit", "estimator", "weighed"),
    [
        ("", "constrained", True),
        ('weight = "cross-validated"', "constrained", True),
        ("weight = 0.1", "constrained", False),
        ('loss = "ols"\nfeasible = false', "ols", False),
    ],
)
def test_estimators_of_an_experiment(two, fit, estimator, weighed):
    change(two / "experiment.toml", 'weight = "vanishing"', fit)
    loaded = load(read_experiment(two))
    estimate = logs_as_factors.fitted(loaded, compressed(loaded), [])
    assert estimate.estimator == estimator
    assert bool(estimate.selection) == weighed


def test_few_segments_get_the_weight_that_their_noise_asks_for(two):
    change(two / "experiment.toml", 'weight = "vanishing"', "")
    loaded = load(read_experiment(two))
    one = replace(loaded.experiment, processing=Processing(segment_s=6))
    factors = compressed(replace(loaded, experiment=one))
    estimate = logs_as_factors.fitted(replace(loaded, experiment=one), factors, [])
    assert len(factors.regression.segments) < 4
    same = estimated(loaded.model, factors.regression, loaded.prior)
    assert estimate.selection == ()
    assert estimate.weight == same.weight > estimated(loaded.model, factors.regression, loaded.prior, weight=0.0).weight
    np.testing.assert_array_equal(estimate.theta, same.theta)


# ---- the other commands --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted(made, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("estimate") / "estimate.json"
    assert call("fit", made, "-o", path).exit_code == 0
    return path


@pytest.fixture
def estimate(fitted, tmp_path_factory) -> Path:
    """A copy: `ident validate` records its verdict in the file."""
    path = tmp_path_factory.mktemp("estimate") / "estimate.json"
    path.write_bytes(fitted.read_bytes())
    return path


def test_compare(made, estimate, tmp_path):
    said = call("compare", estimate, "--cad", made / "cad.csv", "--robot", made / "robot.toml")
    assert said.exit_code == 0, said.output
    assert re.search(r"CAD \(cad\.csv\) against the data: \d+ agree", said.stdout)
    assert "contradicted" not in said.stdout
    wrong = tmp_path / "wrong.csv"
    wrong.write_text((made / "cad.csv").read_text().replace("lower,1.0,0.10", "lower,1.0,0.12"))
    said = call("compare", estimate, "--cad", wrong, "--robot", made / "robot.toml")
    assert said.exit_code == 0
    assert re.search(r"lower\.hx +kg m +0\.12 .*contradicted", said.stdout)
    assert call("compare", estimate, "--cad", wrong, "--robot", made / "robot.toml", "--all").stdout.count("kg m") > 3


def test_compare_gives_sliding_joints_their_units(made, estimate, tmp_path):
    slides = tmp_path / "robot.toml"
    slides.write_text((made / "robot.toml").read_text().replace('name = "elbow"', 'name = "elbow"\nkind = "prismatic"'))
    said = call("compare", estimate, "--cad", made / "cad.csv", "--robot", slides, "--all")
    assert said.exit_code == 0, said.output
    assert re.search(r"elbow\.viscous +N s/m ", said.stdout)
    assert re.search(r"shoulder\.viscous +N m s/rad ", said.stdout)


def test_export_says_which_option_gives_the_robot(estimate):
    said = call("export", "c", estimate, "--unvalidated")
    assert (said.exit_code, said.stdout) == (2, "")
    assert "--robot" in said.stderr
    said = call("export", "c", ROOT)
    assert "Make one with `ident run`, and give the folder" in said.stderr


def test_check_sends_a_folder_of_reports_to_the_command_that_reads_them():
    said = call("check", ROOT / "datasets/arm5/reports")
    assert said.exit_code == 2
    assert "ident cad check" in said.stderr


def test_compare_needs_the_robot(made, estimate):
    said = call("compare", estimate, "--cad", made / "cad.csv")
    assert (said.exit_code, said.stdout) == (2, "")
    assert said.stderr == "error: --robot: no robot is given. Add --robot with the robot file of the estimate.\n"
    said = call("compare", estimate, "--robot", made / "robot.toml")
    assert said.stderr == "error: robot.toml: gives no inertials to compare with. Add --cad with a CAD table.\n"


def test_validate(made, estimate, two):
    said = call("validate", estimate, made)
    assert said.exit_code == 0, said.output
    assert re.search(r"steps +yes +shoulder +\d+ ", said.stdout)
    (two / "results").mkdir()
    (two / "results" / "estimate.json").write_bytes(estimate.read_bytes())
    assert call("validate", two / "results", made).exit_code == 0
    assert load_estimate(two / "results").provenance["validation"].startswith("passed")
    change(two / "experiment.toml", '["circle"]', '["steps"]')
    change(two / "experiment.toml", 'validate = ["steps"]', 'validate = ["circle"]')
    said = call("validate", estimate, two)
    assert "warning: validation: Same recording: 'circle' was fitted" in said.stderr
    change(two / "experiment.toml", 'validate = ["circle"]', "")
    said = call("validate", estimate, two)
    assert (said.exit_code, "no recording is kept for validation" in said.stderr) == (2, True)


def test_an_estimate_of_another_model_is_refused(estimate):
    said = call("validate", estimate, ROOT / "experiments" / "arm5")
    assert said.exit_code == 2
    assert "the estimate is of another model of 'two' than this experiment's of 'arm5': it alone has" in said.stderr


def test_names_from_files_do_not_command_the_terminal(two):
    """A joint's name with escape sequences is shown, in tables, notes and errors."""
    text = (two / "robot.toml").read_text().replace('"elbow"', '"el\\u001b[2Jbow"')
    (two / "robot.toml").write_text(text)
    for command in (
        ("check", two / "robot.toml"),
        ("dynamics", two / "robot.toml", "--cad", two / "cad.csv", "--q", "1 9"),
    ):
        said = call(*command)
        assert "\x1b" not in said.output + said.stderr
        assert "el\\x1b[2Jbow" in said.output + said.stderr
    refused = call("dynamics", two / "robot.toml", "--cad", two / "cad.csv", "--q", "1 x")
    assert refused.exit_code == 2
    assert "\x1b" not in refused.output + refused.stderr


def test_blanks_of_other_scripts_are_shown():
    assert printable("\u673a\u5668\u4eba\u3000\u81c2\u00a0a") == "\u673a\u5668\u4eba\u3000\u81c2\u00a0a"
    assert printable("a\u202eb\u2028c\rd") == "a\\u202eb\\u2028c\\rd"


def test_names_of_files_mean_nothing_to_the_progress_bar(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")  # a bar, as in a terminal
    monkeypatch.setenv("TERM", "xterm")
    with progress() as tell:
        tell("reading [/b]\x07.bag", 1, 2)
    said = capsys.readouterr().err
    assert "reading [/b]\\x07.bag" in said
    assert "\x07" not in said


def test_bounds_of_the_experiment_are_kept(two):
    """Numbers set by hand, a box around all mass, an ellipsoid that excludes the true centre."""
    text = (two / "experiment.toml").read_text()
    (two / "experiment.toml").write_text(
        text + "[fit.bounds]\ntotal_mass = [2.5, 2.9]\n"
        'pinned = { "upper.m" = 1.8, "lower.cz" = 0.02, "elbow.offset" = -0.2 }\n'
        "box = { upper = [[0, 0.4], [-0.02, 0.02], [-0.02, 0.02]] }\n"
        "ellipsoid = { lower = { centre = [0.0, 0, 0], semi_axes = [0.05, 0.05, 0.05] } }\n"
    )
    done = call("fit", two, "-o", two / "bounded.json")
    assert done.exit_code == 4  # the fit is kept, and what such bounds make of a link is no body to believe
    assert "lower: least radius of gyration" in done.stderr
    assert "at their bound: " in done.stdout
    assert "upper.m pinned at 1.8" in " ".join(done.stdout.split())
    found = load_estimate(two / "bounded.json")
    upper, lower = found.inertials
    assert upper[0] == pytest.approx(1.8, rel=1e-6)
    assert lower[3] == pytest.approx(0.02 * lower[0], abs=1e-6)
    assert found.value("elbow.offset") == pytest.approx(-0.2, rel=1e-6)
    assert 2.5 - 1e-5 <= upper[0] + lower[0] <= 2.9 + 1e-5
    assert np.linalg.norm(lower[1:4]) <= 0.05 * lower[0]  # far from the true 0.1 m
    second = np.trace(pseudo_inertia(upper)[:3, :3])  # integral of x'x dm: no box of these sides holds more
    assert second <= (0.4**2 + 2 * 0.02**2) * upper[0] * (1 + 1e-6)
    assert any("upper.m pinned at 1.8" in text for text in found.active)


def test_export(made, estimate, tmp_path):
    refused = call("export", "urdf", estimate, "-o", tmp_path / "arm.urdf", "--robot", made / "robot.toml")
    assert (refused.exit_code, "was never validated on a held-out recording" in refused.stderr) == (4, True)
    said = call(
        "export", "urdf", estimate, "--unvalidated", "-o", tmp_path / "arm.urdf", "--robot", made / "robot.toml"
    )
    assert said.exit_code == 0, said.output
    assert "note: Not in this file, the controller has to add it: shoulder.drive_inertia" in said.stderr
    again = call(
        "export", "urdf", estimate, "--unvalidated", "-o", tmp_path / "more.urdf", "--robot", tmp_path / "arm.urdf"
    )
    assert again.exit_code == 0, again.output
    first, second = (read_robot(tmp_path / name).inertials for name in ("arm.urdf", "more.urdf"))
    np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-15)
    written = exportable(load_estimate(estimate))[: first.size].reshape(first.shape)
    np.testing.assert_allclose(first, written, rtol=1e-9, atol=1e-12)
    assert call("export", "json", estimate, "--unvalidated", "-o", tmp_path / "arm.json").exit_code == 0
    before = tree(tmp_path)
    assert call("export", "xlsx", estimate).exit_code == 2
    assert call("export", "urdf", estimate, "--unvalidated", "-o", tmp_path / "new.urdf").exit_code == 2
    assert tree(tmp_path) == before


def test_a_torque_that_is_filtered_alone_is_noted(two):
    said = call("fit", two, "-o", two / "e.json")
    assert "torque_hz" not in said.stderr
    change(two / "experiment.toml", "edge_s = 0.1", "edge_s = 0.1\ntorque_hz = 15")
    said = call("fit", two, "-o", two / "e.json")
    assert "note: processing: the torque is low-passed (torque_hz = 15) and the model's side is not" in said.stderr
    change(two / "experiment.toml", "torque_hz = 15", "torque_hz = 15\ndecimation = [5]")
    assert "torque_hz" not in call("fit", two, "-o", two / "e.json").stderr


@pytest.mark.slow
def test_several_formats_from_a_folder_of_results(made, estimate, tmp_path, monkeypatch):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "estimate.json").write_bytes(estimate.read_bytes())
    robot = ("--robot", made / "robot.toml", "--unvalidated")
    said = call("export", "URDF, c,csv,csv-base,urdf,", tmp_path / "results", *robot, "-o", tmp_path / "new")
    assert said.exit_code == 0, said.output
    assert set(tree(tmp_path / "new")) == {"two.urdf", "two.h", "two.csv", "two_csv_base.csv"}
    for name, file in (("urdf", "two.urdf"), ("c", "two.h"), ("csv", "two.csv")):
        assert call("export", name, estimate, *robot, "-o", tmp_path / "one").exit_code == 0
        assert (tmp_path / "one").read_bytes() == (tmp_path / "new" / file).read_bytes()
    monkeypatch.chdir(tmp_path)
    before = tree(tmp_path)
    for args, code in (
        (("csv,c", estimate, "--unvalidated"), 2),  # no robot: nothing is written, not even the first
        (("csv,xlsx", estimate, *robot), 2),
        (("csv,c", estimate, *robot, "-o", tmp_path / "one"), 2),
        (("urdf,c", estimate, *robot, "--edit", tmp_path / "new" / "two.urdf"), 2),
        (("csv", tmp_path / "new"), 2),
    ):
        assert call("export", *args).exit_code == code
    assert tree(tmp_path) == before


@pytest.mark.slow
def test_report(made, estimate, tmp_path):
    said = call("report", estimate, made, "-o", tmp_path / "r.html")
    assert said.exit_code == 0, said.output
    assert (tmp_path / "r.html").read_text(encoding="utf-8").count('class="picture"') >= 4


def test_a_summary_is_of_one_estimate(estimate, tmp_path):
    said = call("report", estimate, estimate, "--summary", "-o", tmp_path / "s.pdf")
    assert (said.exit_code, said.stdout) == (2, "")
    assert "--summary: is of one estimate" in said.stderr
    assert not (tmp_path / "s.pdf").exists()


@pytest.mark.slow
def test_the_command_for_the_next_motion_runs_as_it_is_copied(two, tmp_path, monkeypatch):
    """From anywhere, with a folder whose name has a blank."""
    place = tmp_path / "two joints"
    place.mkdir()
    for file in ("robot.toml", "dataset.toml", "cad.csv", "truth.toml", "experiment.toml", "circle.csv", "steps.csv"):
        (place / file).write_bytes((two / file).read_bytes())
    robot = (place / "robot.toml").read_text()
    limits = "limits = { lower = -2, upper = 2, velocity = 3, effort = 30 }\n"
    (place / "robot.toml").write_text(robot.replace('link = "', f'{limits}link = "'))
    assert call("run", place, "-o", place / "out").exit_code == 0
    page = (place / "out" / "report.html").read_text(encoding="utf-8")
    command = html.unescape(re.search(r'<pre id="paste-identifiable-\d+">(ident excite .*?)</pre>', page)[1])
    monkeypatch.chdir(tmp_path)
    _, *pasted = shlex.split(command)
    done = call(*pasted, "--starts", "1", "--seconds", "0.5")
    assert done.exit_code == 0, done.output
    assert "falls from" in done.stdout
    assert (tmp_path / "excitation-two" / "trajectory.csv").is_file()


def test_an_experiment_is_no_estimate_whatever_lies_beside_it(tmp_path):
    for name in ("estimate.json", "experiment.toml"):
        (tmp_path / name).write_text("")
    said = call("report", tmp_path, tmp_path)
    assert (said.exit_code, said.stdout) == (2, "")
    assert "wanted an estimate and its experiment, or two estimates or more: " in said.stderr


@pytest.mark.slow
def test_out_is_a_folder_where_it_ends_with_a_slash_or_is_one(made, estimate, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    for out, place in (("new/", "new"), ("there", "there"), ("deep/er/", "deep/er")):
        assert call("export", "json", estimate, "--unvalidated", "--out", out).exit_code == 0
        assert call("export", "csv,ros2", estimate, "--unvalidated", "--out", out).exit_code == 0
        assert set(tree(tmp_path / place)) == {"two.json", "two.csv", "two_ros2.yaml"} - {"two_ros2.yaml"} | {
            "two.yaml"
        }
    assert call("fit", made, "-o", "results/").exit_code == 0
    assert set(tree(tmp_path / "results")) == {"estimate.json"}
    said = call("report", "results", made, "-o", "there")  # the folder of results, as export, validate, payload take it
    assert said.exit_code == 0, said.output
    assert (tmp_path / "there" / "report.html").stat().st_size > 10_000
    assert call("report", "results", estimate, "-o", "new/").exit_code == 0
    assert "wanted an estimate and its experiment" in call("report", made, made).stderr
    assert file_out("a.csv")("x/y.csv") == Path("x/y.csv")


def test_a_damaged_estimate_is_refused(tmp_path, estimate):
    broken = tmp_path / "e.json"
    broken.write_text(estimate.read_text()[:500])
    said = call("export", "json", broken, "-o", tmp_path / "x.json")
    assert said.exit_code == 2
    assert said.stderr.startswith("error: e.json")


# ---- check ---------------------------------------------------------------------------------------------------------


def test_check_says_what_a_file_is(made):
    for file, said in {
        "robot.toml": "robot 'two': 2 joints, gravity 0 -9.81 0 m/s^2 in the base frame",
        "cad.csv": "cad.csv: 2 links",
        "dataset.toml": "recording 'circle' (circle.csv): 1200 rows, 11.99 s",
        "circle.csv": "recording 'circle' (circle.csv): 1200 rows, 11.99 s",
        "experiment.toml": "Two joints",
        ".": "fit on circle; validate on steps; prior: cad.csv",
    }.items():
        done = call("check", made / file)
        assert done.exit_code == 0, done.output
        assert said in done.stdout
    done = call("check", made / "cad.csv", "--robot", made / "robot.toml")
    assert "every moving link of robot.toml has its row" in done.stdout
    assert call("check", ROOT / "datasets/ur10e/ur10e.urdf").exit_code == 0


def test_check_shows_the_time_steps(made):
    said = call("check", made / "dataset.toml", "--recording", "steps").stdout
    assert "circle" not in said
    assert re.search(r"time step \[ms\] +rows +share", said)
    assert re.search(r"\n +10 +1199 +100 %", said)
    assert "no problem" in said


def test_check_finds_problems(two):
    line_of(two / "circle.csv", 201, lambda _: [])
    line_of(two / "circle.csv", 300, lambda s: [s, "3.005" + s[s.index(",") :]])
    done = call("check", two / "circle.csv")
    assert done.exit_code == 4
    assert "PROBLEM (dropped rows): 1 row seems to be missing after row 200 (20 ms)" in done.stdout
    assert re.search(r"\d problems found", done.stderr)
    done = call("check", BROKEN / "cad" / "triangle.csv")
    assert done.exit_code == 4
    assert "triangle inequality fails" in " ".join(done.stdout.split())
    assert done.stderr == "1 problem found\n"


def test_check_of_a_table_that_nobody_speaks_of(tmp_path):
    """A log without a dataset.toml was told that its masses are in no unit."""
    (tmp_path / "log.csv").write_text("t,q1,i1\n0,1,2\n")
    done = call("check", tmp_path / "log.csv")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: log.csv: is named by no dataset.toml beside it that can be read")
    (tmp_path / "log.csv").write_text("")
    assert call("check", tmp_path / "log.csv").stderr.startswith("error: log.csv: is empty.")


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("nix.toml", "error: nix.toml: the file cannot be read: No such file or directory.\n"),
        ("notes.md", "error: notes.md: is nothing that can be checked. Give a .toml, .urdf, .xml, .csv or log file.\n"),
        ("truth.toml", "error: truth.toml: is no robot, CAD table, data set or experiment.\n"),
        (
            "lost.parquet",
            "error: lost.parquet: no dataset.toml says which columns are which signals. Describe its columns in a"
            " dataset.toml beside it, and check that.\n",
        ),
    ],
)
def test_check_of_something_else(made, file, said):
    done = call("check", made / file)
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.parametrize("kind", ["robot", "cad", "logs", "experiment"])
@pytest.mark.slow
def test_check_never_ends_in_a_traceback(kind):
    """Every broken example of every kind: bad input or a found problem, never a bug."""
    codes = set()
    for file in sorted((BROKEN / kind).iterdir()):
        if file.name not in ("expected.toml", "good.toml", "robot.toml", "dataset.toml", "good.csv", "cad.csv"):
            done = call("check", file, *(["--robot", BROKEN / "experiment" / "robot.toml"] if kind == "logs" else []))
            assert done.exit_code in (0, 2, 4), f"{file.name}: {done.output}{done.exception!r}"
            assert done.exit_code == 0 or len(done.stderr) > 10
            codes.add(done.exit_code)
    assert codes & {2, 4}


# ---- the command itself --------------------------------------------------------------------------------------------


def test_help_names_every_command():
    """How quick it is: experiments/benchmarks/cli.py; what it must not import for that: tests/test_layers.py."""
    command = [str(Path(sys.executable).parent / "ident"), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for name in ("run", "fit", "compare", "validate", "export", "report", "check", "excite", "payload", "cad", "logs"):
        assert re.search(rf"\b{name}\b", done.stdout)


def test_help_shows_units_in_brackets():
    """Rich takes [s] for markup and leaves it out, unless it is escaped."""
    told, waiting = 0, [typer.main.get_command(app)]
    for command in waiting:
        waiting += getattr(command, "commands", {}).values()
        for parameter in command.params:
            text = getattr(parameter, "help", None) or ""
            assert Text.from_markup(text).plain == text.replace("\\[", "["), (command.name, parameter.name)
            told += "[" in text
    assert told > 10


def test_version():
    done = call("--version")
    assert (done.exit_code, done.stdout) == (0, "ident 0.1.0\n")


def test_a_wrong_command_is_bad_input():
    assert call("identify").exit_code == 2
    assert call("run").exit_code == 2
    assert call("run", "--fast", ".").exit_code == 2
