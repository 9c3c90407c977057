"""`ident cad doctor|refine|report` on a small experiment whose CAD table has a known mistake."""

from __future__ import annotations

import csv
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from doctor_cases import fourier, link_bodies
from typer.testing import CliRunner

from ident.cad import Cad, Convention, read_cad, write_cad
from ident.cli.cad import app
from ident.cli.console import BAD_INPUT, PROBLEMS
from ident.cli.main import app as whole
from ident.compare.doctor import other_convention
from ident.compare.doctor.mistakes import inertials_of, natural
from ident.estimate import estimated, refine_cad, solid_bodies
from ident.estimate.estimate import NamedCause
from ident.estimate.storage import save_estimate
from ident.experiment import read_experiment
from ident.model import DriveInertia, Model, Offset, SmoothCoulomb, Viscous, torque
from ident.pipelines import cad_tables
from ident.pipelines import steps as pipeline
from ident.pipelines.compressed import compressed
from ident.pipelines.factors import load_factors, save_factors
from ident.pipelines.loaded import load
from ident.regression import base_parameters, compress, save_regression
from ident.robot import read_robot
from ident.spatial.inertia import from_com, to_com
from ident.structure.widths import smoothed

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("sketched")]

ROOT = Path(__file__).parents[1]
ROBOT = """
name = "three"
convention = "dh"
length = "m"
angle = "deg"
gravity = [0, 0, -9.81]
[[joint]]
alpha = 90
d = 0.3
[[joint]]
a = 0.4
theta = 30
[[joint]]
a = 0.3
alpha = 90
theta = -20
"""
DATASET = """
[dataset]
name = "three"
source = "made by the tests"
[signals]
time = { column = "t", unit = "s" }
position = { columns = ["q1", "q2", "q3"], unit = "rad" }
torque = { columns = ["tau1", "tau2", "tau3"], unit = "N m" }
[[recording]]
name = "motion"
file = "motion.csv"
"""
EXPERIMENT = """
[experiment]
title = "Three joints"
robot = "robot.toml"
data = "dataset.toml"
cad = "cad.csv"
[recordings]
fit = ["motion"]
[processing]
edge_s = 0.1
[model]
coulomb = { tanh = 0.02 }
"""
MILLI = Convention("kg", "mm", "kg mm^2", "center_of_mass", "tensor")


def run(*args):
    return CliRunner().invoke(app, [str(a) for a in args])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with an experiment, its true links and its CAD table, right within 1 %."""
    folder = tmp_path_factory.mktemp("three")
    (folder / "robot.toml").write_text(ROBOT, encoding="utf-8")
    (folder / "dataset.toml").write_text(DATASET, encoding="utf-8")
    (folder / "experiment.toml").write_text(EXPERIMENT, encoding="utf-8")
    rng = np.random.default_rng(8)
    robot = read_robot(folder / "robot.toml")
    bodies = link_bodies(rng, 3)
    t = np.arange(0.0, 20.0, 0.01)
    q, qd, qdd = fourier(rng, 3, t)
    model = Model(robot, (DriveInertia(), Viscous(), SmoothCoulomb(0.02), Offset()))
    theta = np.append(bodies.ravel(), [0.2] * 3 + [0.5] * 3 + [0.8] * 3 + [0.1] * 3)
    tau = torque(model, theta, q, qd, qdd) + 0.05 * rng.normal(size=q.shape)
    columns = np.column_stack([t, q, tau])
    np.savetxt(folder / "motion.csv", columns, delimiter=",", header="t,q1,q2,q3,tau1,tau2,tau3", comments="")
    cad = []
    for body in bodies:
        m, c, inertia = to_com(body)
        cad.append(from_com(m * 1.01, c * 0.99, inertia * 1.01))
    write_cad(Cad(robot.links, np.array(cad)), MILLI, folder / "cad.csv")
    return folder, bodies


def with_mistake(made, tmp_path):
    """Return a copy of the experiment whose third link has its mass and inertia in grams."""
    folder, bodies = made
    there = tmp_path / "three"
    shutil.copytree(folder, there)
    cad = read_cad(there / "cad.csv")
    rows = np.array(cad.inertials)
    m, c, inertia = to_com(rows[2])
    rows[2] = from_com(m * 1000, c, inertia * 1000)
    write_cad(Cad(cad.links, rows), MILLI, there / "cad.csv")
    return there, bodies


@pytest.fixture(scope="module")
def mistaken(made, tmp_path_factory):
    """Return what `with_mistake` does, for tests that change nothing there."""
    return with_mistake(made, tmp_path_factory.mktemp("mistaken"))


def test_doctor_accepts_a_right_table(made, once):
    result = run("doctor", made[0])
    assert result.exit_code == 0, result.output
    assert "no mistake of the list is shown" in result.output
    assert "cannot be decided, as no motion of this fit shows it" in result.output
    assert re.search(r"^ +frame of the centre and the tensor: link1", result.output, re.MULTILINE)


def test_a_table_does_not_make_up_for_a_wrong_robot_file(made, once, tmp_path):
    there = tmp_path / "three"
    shutil.copytree(made[0], there)
    (there / "robot.toml").write_text(ROBOT.replace("[0, 0, -9.81]", "[0, 9.81, 0]"), encoding="utf-8")
    result = run("doctor", there)
    assert result.exit_code == PROBLEMS
    told = " ".join(result.output.split())
    assert "PROBLEM, not in the table: robot: gravity points along -z of the base" in told
    assert "robot.toml: `gravity = [0, 0, -9.81]` at its top" in told, told
    for command in ("doctor", "refine"):
        result = run(command, there, "--out", there / "refined.csv")
        assert result.exit_code == BAD_INPUT
        assert "not to be corrected: the mistake is elsewhere, robot: gravity" in " ".join(result.stderr.split())
        assert not (there / "refined.csv").exists()


def test_what_a_few_per_cent_of_a_centre_would_do_is_no_balancer(made, tmp_path):
    there = tmp_path / "three"
    shutil.copytree(made[0], there)
    rows = np.loadtxt(there / "motion.csv", delimiter=",", skiprows=1)
    rows[:, 5] += 0.04 * rows[:, 5].std() * np.sin(rows[:, 2] - 0.2)
    np.savetxt(there / "motion.csv", rows, delimiter=",", header="t,q1,q2,q3,tau1,tau2,tau3", comments="")
    result = run("doctor", there)
    assert "PROBLEM: joint2" not in result.output, result.output
    text = (there / "experiment.toml").read_text(encoding="utf-8")
    (there / "experiment.toml").write_text(text.partition("[model]")[0], encoding="utf-8")
    result = run("doctor", there)
    assert "ripple =" not in result.output + result.stderr


PULLS = {
    "the model lacks a spring": (lambda q: 25.0 * q, "spring = "),
    "the model lacks what balances it": (lambda q: -25.0 * np.sin(q - 0.2), "ripple = { per_turn = 1"),
}


@pytest.mark.parametrize("what", PULLS)
def test_what_pulls_a_joint_and_links_would_make_up_for_is_told_from_mistakes_of_the_table(made, once, tmp_path, what):
    """Free links take most of it, so that a right table looked wrong; with the table's links it shows."""
    pull, line = PULLS[what]
    there = tmp_path / "three"
    shutil.copytree(made[0], there)
    rows = np.loadtxt(there / "motion.csv", delimiter=",", skiprows=1)
    rows[:, 5] += pull(rows[:, 2])
    np.savetxt(there / "motion.csv", rows, delimiter=",", header="t,q1,q2,q3,tau1,tau2,tau3", comments="")
    result = run("doctor", there)
    told = " ".join(result.output.split())
    assert result.exit_code == PROBLEMS
    assert f"joint2: {what}" in told, told
    assert "link" not in told.partition("PROBLEM")[2].partition("cannot")[0], told
    result = run("refine", there, "--out", there / "refined.csv")
    assert result.exit_code == BAD_INPUT
    assert f"the mistake is elsewhere, joint2: {what}" in " ".join(result.stderr.split())
    text = (there / "experiment.toml").read_text(encoding="utf-8")
    (there / "open.toml").write_text(text.partition("[model]")[0], encoding="utf-8")
    result = run("refine", there / "open.toml", "--out", there / "refined.csv")
    assert result.exit_code == 0, result.output
    assert line in " ".join((result.output + result.stderr).split())
    refined = read_cad(there / "refined.csv").inertials
    np.testing.assert_allclose(refined[:, 0], made[1][:, 0], rtol=0.03)


def test_a_plate_that_rounding_explains_is_taken_by_check_and_by_fit(made, tmp_path):
    there = tmp_path / "three"
    shutil.copytree(made[0], there)
    lines = (there / "cad.csv").read_text(encoding="utf-8").splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("link,"))
    for numbers, code in (("4000,0,0,4000,0,8001", 0), ("4000,0,0,4000,0,8002", BAD_INPUT)):
        rows = ["link1,4,10,0,0," + numbers, *(f"link{i},2,10,20,30,4000,1,2,4000,3,4100" for i in (2, 3))]
        (there / "cad.csv").write_text("\n".join([*lines[: head + 1], *rows]) + "\n", encoding="utf-8")
        assert CliRunner().invoke(whole, ["check", str(there / "cad.csv")]).exit_code == (PROBLEMS if code else 0)
        result = CliRunner().invoke(whole, ["fit", str(there), "--out", str(tmp_path / "estimate.json")])
        assert (result.exit_code == BAD_INPUT) == bool(code), result.output
    assert "cad.csv: 1 of 3 links cannot exist" in result.output
    assert "'link1'" in result.output
    assert "the nearest that can exist: Ixx = 4001.0" in result.output


def test_doctor_names_the_mistake_and_writes_the_corrected_table(mistaken, once, tmp_path):
    there, bodies = mistaken
    result = run("doctor", there, "--out", tmp_path / "corrected.csv", "--tolerance", 0.02)
    assert result.exit_code == PROBLEMS, result.output
    assert "link3: mass and inertia are 1000 times too large, as g read as kg" in result.output
    assert "against the numbers as given" in result.output
    assert "link3.m: " in result.output
    corrected = read_cad(tmp_path / "corrected.csv")
    assert corrected.table is not None
    assert corrected.table.convention == MILLI
    np.testing.assert_allclose(corrected.inertials[:, 0], 1.01 * bodies[:, 0], rtol=1e-6)


@pytest.mark.parametrize(
    ("number", "factor", "said"),
    [(0, 1e3, "mass is 1000 times too large, as g read as kg"), (3, 1e3, "cz is 1000 times too large")],
)
def test_one_wrong_number_is_said_alike_by_every_command(made, once, tmp_path, number, factor, said):
    folder, bodies = made
    there = tmp_path / "three"
    shutil.copytree(folder, there)
    rows = natural(np.array(read_cad(there / "cad.csv").inertials), False)
    rows[2, number] *= factor
    write_cad(Cad(("link1", "link2", "link3"), inertials_of(rows, False)), MILLI, there / "cad.csv")
    for command in (["check", there / "cad.csv"], ["check", there / "cad.csv", "--robot", there / "robot.toml"]):
        result = CliRunner().invoke(whole, [str(x) for x in command])
        assert result.exit_code == PROBLEMS, result.output
        assert "PROBLEM (unit): link 'link3': " in result.output
    line = {0: "link3.m: ", 3: "link3.cz: "}[number]
    out = str(tmp_path / "refined.csv")
    for command in (["run"], ["doctor"], ["cad", "doctor"], ["cad", "refine", "--out", out]):
        given = [*command[:2], str(there), *command[2:]] if command[0] == "cad" else [*command, str(there)]
        result = CliRunner().invoke(whole, given)
        told = " ".join((result.output + result.stderr).split())
        assert f"link3: {said}" in told, told
        assert line in told, told
    assert read_cad(Path(out)).inertials[2, 0] == pytest.approx(bodies[2, 0], rel=0.05)


def test_doctor_takes_a_saved_fit_instead_of_the_logs(made, tmp_path):
    there, _ = with_mistake(made, tmp_path)
    loaded = load(replace(read_experiment(there), cad=None))
    experiment = loaded.experiment
    motions = list(pipeline.motions(loaded, experiment.fit, experiment.processing, []))
    results = tmp_path / "results"
    results.mkdir()
    save_regression(compress(loaded.model, motions, base=loaded.base), results / "factors.npz")
    (there / "motion.csv").unlink()
    for fit in (results, results / "estimate.json"):
        result = run("doctor", there, "--fit", fit)
        assert result.exit_code == PROBLEMS, result.output
        assert "PROBLEM: link3: mass and inertia are 1000 times too large, as g read as kg" in result.output
        assert "gravity, geometry and springs were not questioned" in result.output
    text = (there / "robot.toml").read_text(encoding="utf-8")
    (there / "robot.toml").write_text(text.replace("a = 0.4", "a = 0.5"), encoding="utf-8")
    result = run("doctor", there, "--fit", results)
    assert result.exit_code == BAD_INPUT
    assert "another robot or model" in result.output
    assert run("doctor", there, "--fit", tmp_path).exit_code == BAD_INPUT


def test_a_table_is_not_refined_with_a_fit_that_is_to_be_mended_first(made, tmp_path):
    """The torques of q2 were 12 % too large: `run` said so, and `refine` made the links heavier without a word."""
    folder = made[0]
    loaded = load(replace(read_experiment(folder), cad=None))
    save_factors(compressed(loaded), tmp_path / "factors.npz")
    regression = load_factors(tmp_path / "factors.npz").regression
    cause = NamedCause(
        "q2", "its torque has to be 10.8 % smaller", "dataset.toml", "its gain", (), (), (), (), (0.2, 0.1)
    )
    save_estimate(replace(estimated(loaded.model, regression), causes=(cause,)), tmp_path / "estimate.json")
    out = tmp_path / "out.csv"
    for command in ("refine", "doctor"):
        result = run(command, folder, "--fit", tmp_path, "--out", out)
        assert result.exit_code == BAD_INPUT, result.output
        assert (
            "is not to be corrected: the mistake is elsewhere, q2: its torque has to be 10.8 % smaller" in result.stderr
        )
        assert not out.exists()
    result = run("doctor", folder, "--fit", tmp_path)
    assert "PROBLEM, not in the table: q2: its torque has to be 10.8 % smaller" in result.output
    in_table = replace(cause, where="link2", what="mass is too large", file="cad.csv", by_table=True)
    save_estimate(replace(estimated(loaded.model, regression), causes=(in_table,)), tmp_path / "estimate.json")
    result = run("refine", folder, "--fit", tmp_path, "--out", out)  # which corrects what is in the table
    assert result.exit_code == 0, result.output
    assert out.exists()


def test_links_that_were_not_freed_do_not_move_far_without_a_word(made, once):
    found = cad_tables._examined(made[0], cad_tables.CadWishes(), lambda *_: None)
    right = cad_tables._refined(found, cad_tables.RefineWishes(), lambda *_: None, whole=False)
    assert right.far == ""
    heavy = np.array(found.diagnosis.corrected)
    heavy[1] *= 1.5
    other = replace(found, diagnosis=replace(found.diagnosis, corrected=heavy))
    moved = cad_tables._refined(other, cad_tables.RefineWishes(), lambda *_: None, whole=False)
    assert "numbers that were not freed ended more than 3 tolerances from CAD, link2." in moved.far


def test_doctor_takes_a_fit_with_the_friction_that_its_logs_chose(made, tmp_path):
    there, _ = with_mistake(made, tmp_path)
    text = (there / "experiment.toml").read_text(encoding="utf-8")
    (there / "experiment.toml").write_text(text.partition("[model]")[0], encoding="utf-8")
    loaded = load(replace(read_experiment(there), cad=None))
    model = smoothed(loaded.model, np.full(3, 0.02))
    assert model.fingerprint() != loaded.model.fingerprint()
    chosen = replace(loaded, model=model, base=base_parameters(model))
    save_factors(compressed(chosen), tmp_path / "factors.npz")
    result = run("doctor", there, "--fit", tmp_path / "factors.npz")
    assert result.exit_code == PROBLEMS, result.output
    assert "PROBLEM: link3: mass and inertia are 1000 times too large, as g read as kg" in result.output


def test_report_writes_all_files_and_the_links_come_nearer_to_the_truth(mistaken, once, tmp_path):
    there, bodies = mistaken
    out = tmp_path / "out"
    result = run("report", there, "--out", out, "--tolerance", 0.02)
    assert result.exit_code == 0, result.output
    names = {"refined.csv", "side_by_side.csv", "intervals.csv", "findings.txt"}
    assert {p.name for p in out.iterdir()} == names | {f"link{i}.png" for i in (1, 2, 3)}
    refined = read_cad(out / "refined.csv")
    assert refined.inertials[2, 0] == pytest.approx(bodies[2, 0], rel=0.02)
    # what gravity shows of the last link: its first moment across the joint's axis
    truth = np.linalg.norm(bodies[2, 1:3])
    assert np.linalg.norm(refined.inertials[2, 1:3] - bodies[2, 1:3]) < 0.02 * truth
    rows = list(csv.DictReader((out / "side_by_side.csv").open(encoding="utf-8")))
    mass = next(r for r in rows if r["link"] == "link3" and r["number"] == "m")
    assert "as g read as kg" in mass["why"]
    assert "% from the logs" in mass["why"]
    inertia = next(r for r in rows if r["link"] == "link3" and r["number"] == "Izz")
    assert inertia["why"].endswith("% from the logs (about the link's origin)")
    assert "all intervals at once with 99.7 % confidence" in (out / "findings.txt").read_text(encoding="utf-8")
    allowed = list(csv.DictReader((out / "intervals.csv").open(encoding="utf-8")))
    assert len(allowed) == 30
    truth = {"Ixx": 4, "Iyy": 7, "Izz": 9}
    for row in allowed:  # the truth is inside of every interval, tensors about the link's origin
        i, part = int(row["link"][-1]) - 1, row["number"]
        if part == "m" or part in truth:
            true = bodies[i, truth.get(part, 0)] * (1e6 if part in truth else 1)
            assert float(row["lowest"]) <= true * (1 + 1e-5)
            assert not row["highest"] or true * (1 - 1e-5) <= float(row["highest"])
    wrong = next(r for r in allowed if r["link"] == "link3" and r["number"] == "m")
    assert float(wrong["given"]) == pytest.approx(1000 * float(wrong["corrected"]))
    assert run("report", there, "--out", out).exit_code == BAD_INPUT


def test_refine_writes_the_table_in_its_own_convention(made, once, tmp_path):
    folder, bodies = made
    result = run("refine", folder, "--out", tmp_path / "refined.toml", "--way", "data-first")
    assert result.exit_code == 0, result.output
    refined = read_cad(tmp_path / "refined.toml")
    assert refined.table is not None
    assert refined.table.convention == MILLI
    np.testing.assert_allclose(refined.inertials[:, 0], bodies[:, 0], rtol=0.1)


NONSENSE = {
    "a point that is heavy": (3.7, [0.01, -0.02, 0.01], np.diag([8e-11, 9e-11, 1e-10])),
    "a large one": (40.0, [0.9, 0.4, -0.6], np.diag([9.0, 7.0, 4.0])),
}


@pytest.mark.parametrize("kind", NONSENSE)
def test_a_link_that_nothing_explains_is_freed_from_the_table(made, tmp_path, monkeypatch, kind):
    """Its prior is a solid body of its own size, with a wide tolerance."""
    folder, bodies = made
    drawn = {}

    def watched(model, regression, prior, **words):
        drawn.update(prior=prior, **words)
        return refine_cad(model, regression, prior, **words)

    monkeypatch.setattr(cad_tables, "refine_cad", watched)
    rows = np.array(read_cad(folder / "cad.csv").inertials)
    rows[2] = from_com(*NONSENSE[kind])
    write_cad(Cad(("link1", "link2", "link3"), rows), MILLI, tmp_path / "cad.csv")
    result = run("refine", folder, "--cad", tmp_path / "cad.csv", "--out", tmp_path / "refined.csv")
    assert result.exit_code == PROBLEMS, result.output
    assert "PROBLEM: link3 is freed from the table: " in result.output
    assert "link1 is freed" not in result.output
    assert "link2 is freed" not in result.output
    solid = solid_bodies(read_robot(folder / "robot.toml"), rows, ["link3"])
    np.testing.assert_allclose(drawn["prior"].inertials, solid, rtol=1e-6, atol=1e-9)
    assert drawn["metric"].tensor[2] == 1.0
    assert max(drawn["metric"].tensor[:2]) < 0.3
    for found, true in zip(read_cad(tmp_path / "refined.csv").inertials[1:], bodies[1:], strict=True):
        (m, _, inertia), (mass, _, right) = to_com(found), to_com(true)
        assert 0.5 < m / mass < 2
        radii = np.sqrt(np.linalg.eigvalsh(inertia) / m) / np.sqrt(np.linalg.eigvalsh(right) / mass)
        assert (radii > 0.2).all()
        assert (radii < 5).all()


@pytest.mark.parametrize("way", ["weighted", "data-first", "cross-validated"])
def test_radii_of_gyration_are_within_their_tolerance_or_what_the_logs_allow(made, once, tmp_path, monkeypatch, way):
    """All that are refined are; one that is not is named, and the exit code tells."""
    given = ("refine", made[0], "--out", tmp_path / "refined.csv", "--way", way)
    result = run(*given)
    assert result.exit_code == 0, result.output
    assert "radius of gyration" not in result.output

    def spoilt(*args, **words):
        found = refine_cad(*args, **words)
        theta = found.estimate.theta.copy()
        theta[24:30] *= 25.0
        return replace(found, estimate=replace(found.estimate, theta=theta))

    monkeypatch.setattr(cad_tables, "refine_cad", spoilt)
    result = run(*given)
    assert result.exit_code == PROBLEMS, result.output
    assert re.search(r"radius of gyration of 'link3' about its [xyz] axis, \S+ m, is neither within", result.output)
    assert "'link2'" not in result.output


def test_data_first_warns_of_numbers_that_the_logs_do_not_ask_for(made, once, tmp_path):
    given = ("refine", made[0], "--out", tmp_path / "refined.csv", "--way")
    result = run(*given, "data-first")
    assert "numbers ended farther from CAD than the logs ask for" in result.output
    assert "--way weighted does not" in result.output
    assert "ended farther" not in run(*given, "weighted").output


def test_a_length_unit_that_is_wrong_by_far_is_named(made, tmp_path):
    """Centres of 100 m leave nothing of the fit's own covariance in double precision."""
    text = (made[0] / "cad.csv").read_text(encoding="utf-8")
    (tmp_path / "cad.csv").write_text(text.replace('length = "mm"', 'length = "m"'), encoding="utf-8")
    result = run("doctor", made[0], "--cad", tmp_path / "cad.csv")
    assert result.exit_code == PROBLEMS, result.output
    assert "PROBLEM: the whole table: centre is 1000 times too large, as mm read as m" in result.output


def test_refine_takes_the_tolerances_that_cad_states(made, once, tmp_path):
    """The tighter a mass is stated, the less of it comes from the log."""
    folder, _ = made
    given = read_cad(folder / "cad.csv").inertials[:, 0]
    off = []
    for tolerance in (1e-6, 0.3):
        out = tmp_path / f"{tolerance}.csv"
        result = run(
            "refine",
            folder,
            "--out",
            out,
            "--mass-tolerance",
            tolerance,
            "--centre-tolerance",
            1,
            "--tensor-tolerance",
            0.05,
        )
        assert result.exit_code == 0, result.output
        off.append(np.abs(read_cad(out).inertials[:, 0] / given - 1).max())
    assert off[0] < 1e-4 < off[1]


def test_what_is_refused(made, tmp_path):
    folder, _ = made
    for args, said in (
        (("doctor", folder, "--tolerance", "2"), "share"),
        (("doctor", folder, "--out", tmp_path / "x.txt"), "Choose .csv or .toml"),
        (("refine", folder, "--out", tmp_path / "x.csv", "--way", "best"), "weighted, data-first"),
        (("doctor", folder, "--cad", tmp_path / "none.csv"), "none.csv"),
        (
            ("refine", folder, "--out", tmp_path / "x.csv", "--mass-tolerance", 2),
            "--mass-tolerance: is 2. Write a share",
        ),
        (("refine", folder, "--out", tmp_path / "x.csv", "--centre-tolerance", -1), "Write millimetres"),
        (
            ("refine", folder, "--out", tmp_path / "x.csv", "--way", "data-first", "--mass-tolerance", 0.1),
            "is not used",
        ),
    ):
        result = run(*args)
        assert result.exit_code == BAD_INPUT, result.output
        assert said in result.output
    assert not list(tmp_path.glob("x.*"))


def test_wishes_and_folders_that_are_refused_cost_no_examination(made, tmp_path, monkeypatch):
    monkeypatch.setattr(cad_tables, "_examined", lambda *_: pytest.fail("examined first"))
    (tmp_path / "own.txt").write_text("kept", encoding="utf-8")
    for args, said in (
        (("refine", made[0], "--out", tmp_path / "x.csv", "--mass-tolerance", 2), "Write a share"),
        (("report", made[0], "--out", tmp_path / "new", "--mass-tolerance", 2), "Write a share"),
        (("report", made[0], "--out", tmp_path), "which ident did not write"),
    ):
        result = run(*args)
        assert result.exit_code == BAD_INPUT, result.output
        assert said in " ".join(result.stderr.split())
    assert [p.name for p in tmp_path.iterdir()] == ["own.txt"]


def test_the_other_convention_of_a_table(made, tmp_path):
    folder, _ = made
    ((name, other),) = other_convention(folder / "robot.toml").items()
    assert "modified" in name
    (tmp_path / "robot.toml").write_text(ROBOT.replace('"dh"', '"mdh"'), encoding="utf-8")
    assert other.fingerprint() == read_robot(tmp_path / "robot.toml").fingerprint()
    assert other_convention(tmp_path / "arm.urdf") == {}
