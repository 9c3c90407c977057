"""A stored estimate and its experiment: logs are read as they were fitted, and nothing is chosen anew."""

import html
import re
from dataclasses import replace
from shutil import copytree

import numpy as np
import pytest
from test_cli import BROKEN, EXPERIMENT, record

from ident import pipelines
from ident.compare import settled
from ident.errors import InputError, ModelError
from ident.estimate.storage import load_estimate, save_estimate
from ident.files import CHOSEN
from ident.logs import Processing
from ident.logs.automatic import Hand
from ident.pipelines import ExportWishes
from ident.pipelines.estimated import PROCESSED, as_estimated, as_run
from ident.pipelines.loaded import load
from ident.pipelines.steps import VOID, Result, Warned, processing_of

pytestmark = pytest.mark.usefixtures("sketched")


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Return an experiment that leaves all to its logs, the elbow's positions of which are late, and its run."""
    folder = tmp_path_factory.mktemp("late") / "two"
    folder.mkdir()
    for file in ("robot.toml", "dataset.toml", "cad.csv"):
        (folder / file).write_bytes((BROKEN / "experiment" / file).read_bytes())
    text = (folder / "robot.toml").read_text()
    (folder / "robot.toml").write_text(text.replace('angle = "rad"', 'angle = "rad"\ngravity = [0, -9.81, 0]'))
    experiment = EXPERIMENT.replace('truth = "truth.toml"\n', "")
    (folder / "experiment.toml").write_text(experiment)
    for seed, name in enumerate(("circle", "steps"), 1):
        record(folder, name, seed)
        table = np.loadtxt(folder / f"{name}.csv", delimiter=",")
        table[:, 2] = np.roll(table[:, 2], 1)  # a sample late
        np.savetxt(folder / f"{name}.csv", table[1:], fmt="%.9g", delimiter=",")
    (folder / "experiment.toml").write_text(experiment.partition("[processing]")[0])
    return folder, pipelines.run(folder, command="ident")


def said(page) -> list[str]:
    """Return the words of a page."""
    words = re.sub(r"(?s)<(script|style|svg)\b.*?</\1>|<[^>]+>", "\n", page.read_text())
    return [line.strip() for line in html.unescape(words).splitlines() if line.strip()]


def test_a_report_of_the_stored_estimate_says_what_its_run_said(ran, tmp_path, monkeypatch):
    folder, run = ran
    assert processing_of(run.loaded)[0].position_delay_s != 0.0
    monkeypatch.setattr(settled, "settled", None)  # nothing is chosen anew
    found = pipelines.report(folder / "results" / "two", folder, tmp_path / "again.html", command="ident")
    assert processing_of(found.loaded) == processing_of(run.loaded)
    own, again = run.figures(), found.figures()
    assert own == pytest.approx(again, rel=1e-9)
    assert said(folder / "results" / "two" / "report.html") == said(tmp_path / "again.html")
    judged = pipelines.validate(folder / "results" / "two", folder)
    assert judged.path == folder / "results" / "two" / "estimate.json"
    assert judged.estimate.provenance == run.estimate.provenance


def test_other_logs_and_a_processing_of_ones_own_are_not_read_so(ran, tmp_path, monkeypatch):
    folder, _ = ran
    for file in folder.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    assert as_run(load(tmp_path))[0].processing is None
    estimate = load_estimate(folder / "results" / "two")
    assert as_run(load(folder))[0].processing == as_estimated(load(tmp_path), estimate).processing
    own = tmp_path / "experiment.toml"
    text = own.read_text()
    own.write_text(text + "[processing]\nedge_s = 0.1\n")
    assert processing_of(as_estimated(load(tmp_path), estimate))[0].position_delay_s == 0.0
    own.write_text(text)
    log = tmp_path / "circle.csv"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-1]))
    monkeypatch.setattr(settled, "settled", lambda *_: (Processing(edge_s=0.7), Processing()))
    assert as_estimated(load(tmp_path), estimate).processing[0].edge_s == 0.7
    assert as_estimated(load(folder), estimate).processing[0].edge_s != 0.7


@pytest.mark.parametrize("wrong", ["edge_s = -1.0", "edge = 1.0", "edge_s = ", "decimation = 'many'", "edge_s = [[1]]"])
def test_a_damaged_processing_is_refused(ran, wrong):
    folder, run = ran
    origin = {**run.estimate.provenance, PROCESSED[0]: wrong}

    with pytest.raises(InputError, match=r"provenance\.processing: is no processing of logs"):
        as_estimated(load(folder), replace(run.estimate, provenance=origin))


def test_an_estimate_finds_its_experiment_and_its_robot(ran, tmp_path, monkeypatch):
    folder, run = ran
    place = tmp_path / "two"
    copytree(folder, place)
    monkeypatch.chdir(place)
    found = pipelines.report("results/two", None, tmp_path / "found.html", command="ident")
    assert found.loaded.experiment.file == place / "experiment.toml"
    elsewhere = [line.replace(str(folder), str(place)) for line in said(folder / "results" / "two" / "report.html")]
    assert said(tmp_path / "found.html") == elsewhere
    monkeypatch.chdir(tmp_path)
    for one in pipelines.export(["urdf", "c"], place / "results" / "two", tmp_path / "files"):
        assert one.path.is_file()
    with_name = pipelines.export(
        ["c"], place / "results" / "two", tmp_path / "named/", ExportWishes(place / "robot.toml")
    )
    (own,) = (p for p in (tmp_path / "files").iterdir() if p.suffix == ".h")
    assert with_name[0].path.read_bytes() == own.read_bytes()

    (place / "experiment.toml").write_text((place / "experiment.toml").read_text() + "\n")
    (place / "robot.toml").write_text((place / "robot.toml").read_text() + "\n")
    monkeypatch.chdir(place)
    with pytest.raises(InputError, match=r"before it changed.*: ident report results/two .*two/experiment\.toml"):
        pipelines.report("results/two", None, tmp_path / "changed.html")
    with pytest.raises(ModelError, match=r"Give the robot .*: ident export urdf,c results/two --robot robot\.toml"):
        pipelines.export(["urdf", "c"], "results/two", tmp_path / "changed")
    assert not (tmp_path / "changed").exists()
    stored = tmp_path / "far" / "away" / "from" / "it" / "estimate.json"
    stored.parent.mkdir(parents=True)
    monkeypatch.chdir(stored.parent)
    for name in ("experiment.toml", "../../experiment.toml", "dataset.csv"):
        origin = {"sha256 " + name: "0"} | dict(run.estimate.provenance)
        save_estimate(replace(run.estimate, provenance=origin), stored)
        with pytest.raises(InputError, match=r"not beside it.*: ident report estimate\.json EXPERIMENT"):
            pipelines.report("estimate.json", None, tmp_path / "changed.html")


def test_nothing_is_written_over_what_it_is_made_from(ran, tmp_path, monkeypatch):
    folder, _ = ran
    place = tmp_path / "two"
    copytree(folder, place)
    monkeypatch.chdir(place)
    kept = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    for name in ("robot.toml", "cad.csv", "dataset.toml", "experiment.toml", "circle.csv", "steps.csv"):
        with pytest.raises(InputError, match=rf"^{name}: is one of the files that this is made from"):
            pipelines.export(["urdf"], "results/two", name)
    with pytest.raises(InputError, match=r"^estimate\.json: is one of the files"):
        pipelines.export(["json"], "results/two", "results/two/estimate.json")
    for write in (pipelines.cad_refine, pipelines.cad_doctor):
        with pytest.raises(InputError, match=r"^cad\.csv: is one of the files"):
            write(".", out="cad.csv")
    with pytest.raises(InputError, match=r"^cad\.csv: is one of the files"):
        pipelines.cad_read("cad.csv", "cad.csv")
    copy = tmp_path / "copy.csv"
    copy.write_bytes(kept[place / "circle.csv"])
    with pytest.raises(InputError, match=r"^copy\.csv: is one of the files"):  # by its content, wherever it lies
        pipelines.export(["csv"], "results/two", copy)
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == kept
    for _ in range(2):  # an earlier export is written over
        (done,) = pipelines.export(["urdf"], "results/two")
    robot = place / "named.urdf"
    done.path.rename(robot)
    with pytest.raises(InputError, match=r"^named\.urdf: is one of the files"):
        pipelines.export(["urdf"], "results/two", robot, ExportWishes(robot))
    (place / "only").mkdir()
    (place / "only" / "robot.urdf").write_bytes(robot.read_bytes())
    text = (place / "experiment.toml").read_text().replace('robot = "robot.toml"', 'robot = "only/robot.urdf"')
    (place / "experiment.toml").write_text(text)
    with pytest.raises(InputError, match=r"^robot\.urdf: is one of the files"):
        pipelines.run(place, place / "only")


def test_dates_are_dates_and_a_folder_without_an_estimate_says_what_to_run(ran, tmp_path):
    where = ran[0] / "results" / "two"
    with pytest.raises(InputError, match=r"--date: 'yesterday' is no date\. Write it as 2025-03-01"):
        pipelines.export(["c"], where, tmp_path / "o/", ExportWishes(date="yesterday"))
    with pytest.raises(InputError, match=rf"no estimate in the folder '{tmp_path}'\. Make one with `ident run`"):
        pipelines.export(["c"], tmp_path, tmp_path / "o/")
    assert not (tmp_path / "o").exists()


def test_a_named_cause_stands_alone(ran, tmp_path):
    """Residuals and filters that follow from a mistake are no advice: what is to be mended is."""
    folder, _ = ran
    for file in folder.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    for name in ("circle", "steps"):
        table = np.loadtxt(tmp_path / f"{name}.csv", delimiter=",")
        np.savetxt(tmp_path / f"{name}.csv", table[:, [0, 1, 2, 4, 3]], fmt="%.9g", delimiter=",")
    found = pipelines.run(tmp_path, tmp_path / "out")
    assert "columns of torques are swapped" in found.estimate.causes[0].short
    assert not {w.kind for w in found.warnings} & set(VOID)
    pipelines.report(tmp_path / "out", tmp_path, tmp_path / "again.html")
    for page in (tmp_path / "out" / "report.html", tmp_path / "again.html"):
        lines = said(page)
        odd = lines.index("What stands out")
        assert lines[odd + 1].startswith("Mend first what is named above")
        whole = " ".join(lines)
        for advice in ("load these joints more", "set delay_s", "set position_delay_s", "low-pass"):
            assert advice not in whole, advice


def test_what_rounded_positions_do_without_a_chosen_cut_off_is_said_beside_a_cause(ran):
    loaded, estimate = ran[1].loaded, replace(ran[1].estimate, causes=("a mistake",))
    said = tuple(Warned("circle", kind, "so") for kind in VOID)
    own = replace(loaded.experiment, processing=Processing(), validation_processing=Processing())
    hand = Hand(left=("edge_s", "resample_hz"))
    partly, filtered = (replace(loaded.experiment, by_hand=(x, x)) for x in (hand, Hand(left=("position_hz",))))
    for experiment, kept in (
        (loaded.experiment, []),
        (own, ["rounded position"]),
        (partly, ["rounded position"]),
        (filtered, []),
    ):
        result = Result(replace(loaded, experiment=experiment), estimate, warnings=said).without_advice()
        assert [w.kind for w in result.warnings] == kept


def test_what_was_chosen_is_pasted_for_the_same_fit(ran, tmp_path):
    folder, run = ran
    tables = load_estimate(folder / "results" / "two").provenance[CHOSEN]
    assert "position_delay_s" in tables
    for header in ("[processing]", "[processing.validate]", "[model]"):
        assert tables.count(f"{header}\n") == 1
    page = (folder / "results" / "two" / "report.html").read_text()
    assert html.escape(tables.splitlines()[1], quote=False) in html.unescape(page)
    (said,) = [w.message for w in run.warnings if w.about == "experiment.toml"]
    assert said.startswith("the tables to paste for what was chosen")
    copytree(folder, tmp_path / "pasted", ignore=lambda *_: ["results"])
    file = tmp_path / "pasted" / "experiment.toml"
    file.write_text(f"{file.read_text()}\n{tables}\n")
    pasted = pipelines.run(file)
    assert CHOSEN not in pasted.estimate.provenance
    assert processing_of(pasted.loaded) == processing_of(run.loaded)
    assert pasted.estimate.base.standard == run.estimate.base.standard
    np.testing.assert_allclose(pasted.estimate.phi, run.estimate.phi, rtol=1e-9)
    assert pasted.figures() == pytest.approx(run.figures(), rel=1e-9)
