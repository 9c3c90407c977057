"""Every command as a Python function, called as a user calls it: files in, what was found out. `excite` likewise in
test_cli_excite.py."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from test_cli import BROKEN, EXPERIMENT, TRUE, record

import ident
from ident import pipelines
from ident.cad import read_cad
from ident.cli.main import app
from ident.errors import ConfigError, ExcitationError, InputError, UnusableError
from ident.experiment import read_experiment
from ident.logs import Log, Processing
from ident.logs.check import Finding
from ident.pipelines import CadWishes, ExportWishes, MoveWishes, PayloadWishes, PostureWishes, RefineWishes, steps
from ident.pipelines.checked_cad import CheckedCad
from ident.pipelines.checks import CheckedExperiment, CheckedLogs, CheckedRobot
from ident.pipelines.loaded import load
from ident.pipelines.steps import first_parts, processing_of
from ident.report.spectra import log_figure
from ident.report.verdict import verdict

pytestmark = pytest.mark.usefixtures("sketched")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Return an experiment of two joints with the results of `run`."""
    made = tmp_path_factory.mktemp("two")
    for file in ("robot.toml", "dataset.toml", "cad.csv"):
        (made / file).write_bytes((BROKEN / "experiment" / file).read_bytes())
    text = (made / "robot.toml").read_text()
    (made / "robot.toml").write_text(text.replace('angle = "rad"', 'angle = "rad"\ngravity = [0, -9.81, 0]'))
    (made / "experiment.toml").write_text(EXPERIMENT)
    (made / "truth.toml").write_text("[parameters]\n" + "".join(f'"{k}" = {v}\n' for k, v in TRUE.items()))
    for seed, name in enumerate(("circle", "steps"), 1):
        record(made, name, seed)
    done = pipelines.run(str(made), f"{made}/done")
    assert not done.failed
    return made


def test_every_command_has_its_function():
    """Under its own name, those of `ident cad` with cad_ before it."""
    names = {c.name or c.callback.__name__ for c in app.registered_commands}
    for group in app.registered_groups:
        if group.name == "cad":
            names |= {f"cad_{c.name or c.callback.__name__}" for c in group.typer_instance.registered_commands}
    assert {"run", "sweep", "cad_refine"} < names
    for name in names:
        function = getattr(pipelines, name)
        assert callable(function), name
        assert len(function.__doc__) > 60, name
        assert "return" in function.__annotations__, name
    assert ident.run is pipelines.run
    with pytest.raises(AttributeError, match="attribute nothing"):
        _ = pipelines.nothing


@pytest.mark.slow
def test_check_says_what_a_file_is(folder):
    robot = pipelines.check(folder / "robot.toml")
    assert isinstance(robot, CheckedRobot)
    assert (robot.problems, robot.robot.n, robot.doubtful) == (0, 2, False)
    assert 0 < robot.combinations < 20
    table = pipelines.check(folder / "cad.csv", robot=folder / "robot.toml")
    assert isinstance(table, CheckedCad)
    assert (table.problems, table.fix) == (0, "")
    for file, count in ((folder / "dataset.toml", 2), (folder / "circle.csv", 1)):
        logs = pipelines.check(file)
        assert isinstance(logs, CheckedLogs)
        assert len(logs.reports) == count
        assert logs.problems == 0
    experiment = pipelines.check(folder)
    assert isinstance(experiment, CheckedExperiment)
    assert experiment.loaded.experiment.title == "Two joints"
    with pytest.raises(InputError, match="is nothing that can be checked"):
        pipelines.check(folder / "a.pdf")


@pytest.mark.slow
def test_fit_compare_validate_report_and_export(folder, tmp_path):
    experiment = read_experiment(folder)
    found = pipelines.fit(experiment, f"{tmp_path}/estimate.json")
    compared = pipelines.compare(tmp_path, folder / "robot.toml", folder / "cad.csv")
    assert {row.name for row in compared.rows} == set(found.estimate.base.names)
    with pytest.raises(InputError, match="no robot is given"):
        pipelines.compare(tmp_path, None)
    with pytest.raises(UnusableError):
        pipelines.export(["json"], tmp_path, tmp_path / "early.json")
    judged = pipelines.validate(tmp_path, experiment)
    assert judged.path == tmp_path / "estimate.json"
    assert judged.validation.recordings[0].of("identified").relative_total < 0.1
    written = pipelines.export(["json", "urdf"], tmp_path, tmp_path / "out", ExportWishes(folder / "robot.toml"))
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted(w.path.name for w in written)
    assert len(written) == 2
    pipelines.report(tmp_path, experiment, f"{tmp_path}/report.html")
    assert "Ready to use" in (tmp_path / "report.html").read_text()
    changes, _ = pipelines.report_changes([tmp_path, folder / "done"], f"{tmp_path}/change.html")
    assert len(changes) == 1
    assert (tmp_path / "change.html").exists()


@pytest.mark.slow
def test_cad_tables(folder, tmp_path):
    cad = pipelines.cad_read(folder / "cad.csv", f"{tmp_path}/same.toml")
    np.testing.assert_allclose(read_cad(tmp_path / "same.toml").inertials, cad.inertials, rtol=1e-9, atol=1e-12)
    assert pipelines.cad_check(folder / "cad.csv").problems == 0
    asked = CadWishes(fit=folder / "done")
    examined = pipelines.cad_doctor(folder, asked, f"{tmp_path}/doctored.csv")
    assert examined.diagnosis.combinations > 0
    assert read_cad(tmp_path / "doctored.csv").links == cad.links
    refined = pipelines.cad_refine(folder, f"{tmp_path}/refined.csv", asked)
    assert refined.allowed is None
    assert len(refined.changes) == 20
    written = read_cad(tmp_path / "refined.csv").for_robot(examined.loaded.robot)
    np.testing.assert_allclose(written, refined.refined.estimate.inertials, rtol=1e-3, atol=1e-4)
    whole = pipelines.cad_report(folder, f"{tmp_path}/report", asked, RefineWishes(mass_tolerance=0.05))
    assert whole.allowed is not None
    assert {p.name for p in (tmp_path / "report").iterdir()} >= {"refined.csv", "intervals.csv", "findings.txt"}
    with pytest.raises(InputError, match="is not used by --way data-first"):
        pipelines.cad_refine(folder, tmp_path / "no.csv", asked, RefineWishes("data-first", mass_tolerance=0.1))


@pytest.mark.slow
def test_a_payload_that_is_not_there(folder):
    found = pipelines.payload(folder, ["steps"], PayloadWishes(form="ur", flange="lower"))
    assert not found.payload.seen
    assert found.recordings == ("steps",)
    assert found.gains is None
    with pytest.raises(UnusableError, match="was not validated"):
        found.call()
    with pytest.raises(InputError, match="wanted 0 to 100 %"):
        pipelines.payload(folder, ["steps"], PayloadWishes(gain_error=120))


@pytest.mark.slow
def test_dynamics_and_code(folder, tmp_path):
    known = pipelines.dynamics(folder / "robot.toml", cad=folder / "cad.csv")
    at_rest = known.torques([0.3, -0.2], [0, 0], [0, 0])
    np.testing.assert_allclose(at_rest.parts["torque"], at_rest.parts["gravity"])
    np.testing.assert_allclose(at_rest.mass_matrix, at_rest.mass_matrix.T)
    moved = known.simulate([0.3, -0.2], [0, 0], 0.1, step=0.01)
    assert moved.t[-1] == pytest.approx(0.1)
    fitted = pipelines.dynamics(folder / "robot.toml", estimate=folder / "done", friction=False)
    assert not {name.rpartition(".")[2] for name in fitted.model.names} & {"viscous", "coulomb"}
    written, notes = pipelines.codegen(folder / "robot.toml", python=tmp_path / "arm.py", symbolic=True)
    assert written == (tmp_path / "arm.py",)
    assert notes == ("link parameters are arguments of the code",)


def test_motions(folder, tmp_path):
    text = (folder / "robot.toml").read_text()
    limits = "limits = { lower = -1.5, upper = 1.5, velocity = 2.0, effort = 60.0 }"
    (tmp_path / "robot.toml").write_text(text.replace("[[joint]]", f"[[joint]]\n{limits}"))
    arm = tmp_path / "robot.toml"
    asked = MoveWishes(acceleration=5.0, cad=folder / "cad.csv")
    tour = pipelines.postures(arm, asked, PostureWishes(number=4), f"{tmp_path}/tour")
    assert tour.postures is not None
    assert tour.postures.shape == (4, 2)
    assert {p.name for p in (tmp_path / "tour").iterdir()} == {"trajectory.csv", "trajectory.yaml"}
    assert any("no scene" in note for note in tour.notes)
    swept = pipelines.sweep(arm, asked, speeds=[0.2, 0.4], joints=["elbow"], out=f"{tmp_path}/sweep")
    assert dict(swept.speeds) == {"elbow": [0.2, 0.4]}
    with pytest.raises(ExcitationError) as caught:
        pipelines.sweep(arm, MoveWishes(margin=2.0), speeds=[0.2], out=f"{tmp_path}/none")
    assert not (tmp_path / "none").exists()
    assert caught.value.problem


@pytest.mark.slow
def test_keys_of_processing_may_be_left_to_the_logs_one_by_one(folder):
    text = (folder / "experiment.toml").read_text()
    head, rest = re.split(r"\[processing\]\n", text)
    table = rest.split("\n[", 1)
    file = folder / "partly.toml"
    file.write_text(
        f'{head}[processing]\nposition_hz = "auto"\nedge_s = 0.3\n' + ("\n[" + table[1] if table[1:] else "")
    )
    own, judged = processing_of(load(file))
    chosen, _ = processing_of(replace(load(file), experiment=replace(read_experiment(file), by_hand=None)))
    assert own == judged == Processing(position_hz=chosen.position_hz, edge_s=0.3)
    file.write_text(file.read_text().replace("0.3", "0.3\n[processing.validate]\nposition_hz = 7.0"))
    assert [p.position_hz for p in processing_of(load(file))] == [own.position_hz, 7.0]
    file.write_text(file.read_text().replace("0.3", "0.3\norder = 'auto'"))
    with pytest.raises(ConfigError, match=r"processing\.order: is 'auto', wanted a whole number"):
        read_experiment(file)


@pytest.mark.slow
def test_check_draws_each_recording(folder):
    found = pipelines.check(folder / "dataset.toml", robot=folder / "robot.toml", plot=folder / "pictures")
    assert isinstance(found, CheckedLogs)
    assert [picture.stem for picture in found.pictures] == [report.name for report in found.reports]
    assert all(picture.exists() for picture in found.pictures)
    with pytest.raises(InputError, match="is for logs"):
        pipelines.check(folder / "robot.toml", plot=folder / "pictures")


def test_the_picture_of_a_log_marks_the_rows_that_findings_name():
    t = np.arange(2000) * 0.005
    q = np.column_stack([np.sin(t), np.cos(2 * t)])
    tau = q + 0.01 * np.random.default_rng(0).normal(size=q.shape)
    tau[1000, 1] += 5.0
    log = Log("run", t, q, tau)
    finding = Finding("spikes", log.rows(1000), "torque of 'joint 2' leaps away")
    _, *panels = log_figure(log, [finding]).axes
    marked = [[x for line in panels[3 * j + 2].lines[1:] for x in set(line.get_xdata())] for j in range(2)]
    assert marked == [[], [5.0]]


def test_the_first_part_of_a_long_recording_has_as_many_segments_as_a_whole_one(folder, monkeypatch):
    """Friction near standstill was chosen from none: 30 segments of an hour leave two to a part of it."""
    loaded = load(folder)
    (whole,) = first_parts(loaded, ["circle"], Processing())
    t = np.linspace(0.0, 240.0, len(whole.t))
    part = replace(whole, t=t, blocks=((0, len(t) // 2), (len(t) // 2, len(t))))
    monkeypatch.setattr(steps, "iter_motions", lambda *_, **__: iter([part, part]))
    (cut,) = first_parts(loaded, ["circle"], Processing())
    assert len(cut.blocks) == 15
    assert cut.blocks[0][0] == 0
    assert cut.blocks[-1][1] == len(t)
    assert all(a[1] == b[0] for a, b in pairwise(cut.blocks))
    monkeypatch.setattr(steps, "iter_motions", lambda *_, **__: iter([whole]))
    assert next(first_parts(loaded, ["circle"], Processing())) is whole


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        ('"A", gain = [1.0, 1.0]', "gains are guesses, and so all that is found of a joint is known up to a factor"),
        ('"kgf cm"', "the unit kgf cm is a guess, and so all that is found is known up to a factor"),
    ],
)
def test_guessed_gains_and_units_are_said_before_anything_else(folder, tmp_path, unit, said):
    """The fit cannot tell: a factor of a joint's torque is one of its friction, and of bodies that CAD agrees with."""
    for file in folder.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    data = tmp_path / "dataset.toml"
    data.write_text(data.read_text().replace('unit = "N m" }', f"unit = {unit}, guessed = true }}"))
    found = ident.run(tmp_path)
    assert [cause.short for cause in found.estimate.causes] == [f"torque: {said}"]
    assert "error on stretches" not in str(found.estimate.causes[0])
    assert verdict(found.estimate, found.validation).headline == "Do not use yet"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is counted in other units there")
def test_a_fit_from_a_file_keeps_its_memory(tmp_path):
    """A million rows by README's recipe: 492 MB above the import; each copy of all rows is 120 MB more."""
    pytest.importorskip("pyarrow")
    script = str(Path(__file__).parents[1] / "experiments" / "benchmarks" / "memory.py")
    one = os.environ | dict.fromkeys(("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    subprocess.run([sys.executable, script, "write", str(tmp_path), "parquet", "1e6"], check=True, env=one)
    command = [sys.executable, script, "fit", str(tmp_path)]
    for _ in range(2):  # the first time kernels may be compiled, which takes memory, too
        done = subprocess.run(command, check=True, env=one, stdout=subprocess.PIPE)
        peak, before = map(int, re.search(rb"peak (\d+) MB \(import (\d+)\)", done.stdout).groups())
        if peak - before < 570:
            return
    pytest.fail(f"{peak - before} MB")
