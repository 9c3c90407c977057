"""The demo: its commands print what the pages show, and its run finds what was planted in its log and its table."""

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from logs_data import ROOT
from pages import TEXTS, blocks
from test_experiments import require_expected, require_links

import ident
from ident import pipelines
from ident.cli.main import main
from ident.dynamics import inverse_dynamics
from ident.pipelines.steps import Result
from ident.spatial import from_com

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("sketched")]

#: What the commands that run an experiment found.
RUNS: dict[str, Result] = {}


def shown():
    """Return each command of a console block with the lines that stand below it, and its page."""
    for page, _, text in blocks("console"):
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield page, command, output


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    """Return a folder with the raw files of the demo, as the tutorial puts them there, and its experiment beside it."""
    here = tmp_path_factory.mktemp("demo")
    for part in ("datasets", "experiments"):
        shutil.copytree(ROOT / part / "arm5", here / part / "arm5", ignore=shutil.ignore_patterns("results"))
    (script,) = (block.text for block in blocks("sh") if block.page == "docs/tutorials/logs.md")
    subprocess.run(["sh", "-ec", script], cwd=here, check=True)
    return here / "myarm"


@cache
def said(command, folder):
    """Return what a command of a page prints; it runs once, whatever pages show it, after those that it needs."""
    init = next(line for _, line, _ in shown() if line.startswith("ident init "))
    for later, earlier in (("ident run .", init), ("ident export ", "ident run .")):
        if command.startswith(later):
            said(earlier, folder)
    run = pipelines.run
    here = folder.parent if re.search(r" (experiments|datasets)/", command) else folder
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as out:
        patch.chdir(here)
        patch.setattr(sys, "argv", shlex.split(command))
        patch.setattr(pipelines, "run", lambda *given, **more: RUNS.setdefault(command, run(*given, **more)))
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code in (None, 0, 4)
    return [" ".join(line.split()) for line in out.getvalue().splitlines()]


def test_the_load_is_found_by_the_command_of_the_page(arm, tmp_path, capsys, monkeypatch):
    """The arm of the demo with 60 g at its flange, in the motions of its two logs."""
    said(next(line for _, line, _ in shown() if line.startswith("ident init ")), arm)
    monkeypatch.chdir(shutil.copytree(arm, tmp_path / "myarm"))
    robot = ident.read_robot("robot.toml")
    load = np.zeros((robot.n, 10))
    load[-1] = from_com(0.06, np.array([0.02, 0.0, 0.05]), 2e-5 * np.eye(3))
    manifest = ident.read_manifest("dataset.toml")
    more = 'flange = { name = "tool0" }\n' + Path("robot.toml").read_text(encoding="utf-8")
    Path("robot.toml").write_text(more, encoding="utf-8")
    for name, loaded in (("identification", "with-load"), ("validation", "with-load-2")):
        moved = ident.process(ident.read_log(manifest, name, robot), ident.Processing(position_hz=40))
        table = pd.read_parquet(f"{name}.parquet").iloc[: len(moved.t)]
        weight = inverse_dynamics(robot, load, moved.q, moved.qd, moved.qdd)
        torques = list(manifest.recordings[0].torque.columns)
        pd.concat([table.drop(columns=torques), table[torques] + weight], axis=1).to_parquet(f"{loaded}.parquet")
        with Path("dataset.toml").open("a", encoding="utf-8") as file:
            file.write(f'\n[[recording]]\nname = "{loaded}"\nfile = "{loaded}.parquet"\n')
    page = TEXTS["docs/tutorials/controllers.md"]
    words = shlex.split(re.search(r"^    (ident payload .*)$", page, re.MULTILINE)[1].replace("experiment/", "."), True)
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    out = capsys.readouterr()
    assert not ended.value.code, out.err
    assert 0.055 < float(re.search(r"set_target_payload\(([\d.]+)", out.out)[1]) < 0.065


def alike(line, other):
    """Return whether two lines have the same words, and numbers within 5 % (or one unit of a count or a power)."""
    number = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
    if re.sub(number, "#", line) != re.sub(number, "#", other):
        return False
    pairs = zip(re.findall(number, line), re.findall(number, other), strict=True)
    return all(abs(float(a) - float(b)) <= max(0.05 * abs(float(a)), 1.0 if "." not in a else 0.0) for a, b in pairs)


@pytest.mark.parametrize(
    ("page", "command", "output"), list(shown()), ids=lambda x: x.splitlines()[0][:40] if x else "-"
)
def test_commands_print_what_the_pages_show(arm, page, command, output):
    """Lines in their order; where "..." stands, lines are left out, but for problems."""
    lines = list(said(command, arm))
    assert sum(line.startswith("PROBLEM") for line in lines) == output.count("\nPROBLEM"), lines
    found = iter(lines)
    skipped = False
    for line in map(" ".join, map(str.split, output.splitlines())):
        if line == "...":
            skipped = True
        elif skipped:
            assert any(alike(line, other) or other.startswith(line) for other in found), (page, line)
            skipped = False
        elif line:
            assert alike(line, next(other for other in found if other)), (page, line)


def test_a_wrong_line_is_noticed():
    assert alike("10 contradict, 1.36 %", "11 contradict, 1.37 %")
    assert not alike("10 contradict, 1.36 %", "10 contradict, 1.5 %")
    assert not alike("10 contradict, 1.36 %", "10 agree, 1.36 %")


@pytest.fixture(scope="module")
def result(arm):
    """Return what the run of the demo gave, whose truth is known."""
    said(command := "ident run experiments/arm5", arm)
    return RUNS[command]


def test_the_run_is_as_expected_and_links_that_are_written_can_exist(result):
    require_expected(result)
    require_links(result)


def test_every_base_parameter_is_within_four_standard_errors(result):
    off = {row.name: row.standard_errors for row in result.truth.rows}
    assert len(off) == 47
    assert max(abs(z) for z in off.values()) < 4.0, off


def test_planted_errors_are_flagged_and_no_other(result):
    loaded = result.loaded
    true = np.array([loaded.truth[name] for name in loaded.model.names[: loaded.model.n_rigid]])
    change = loaded.base.K[:, : loaded.model.n_rigid] @ (loaded.cad.ravel() - true)
    error = dict(zip(loaded.base.names, change, strict=True))
    for row in result.comparison.rows:
        if row.verdict == "contradicted":
            assert abs(error[row.name]) > 1e-12, f"{row.name} is right in the CAD table"
    flagged = {row.name for row in result.comparison.rows if row.verdict == "contradicted"}
    # one sure sign of each planted error: the product of link 2, the mass of link 3, the centre of link 5
    assert {"link2.Ixy", "link3.hx", "link4.hy"} <= flagged


def test_the_three_mistakes_of_the_table_are_named_and_the_fit_is_drawn_to_the_table_without_them(result):
    far = {row.name for row in result.comparison.far}
    assert far >= {"link4.hy", "link4.Izz"}  # of the centre of link 5
    assert far < {row.name for row in result.comparison.rows if row.verdict == "contradicted"}
    assert result.estimate.causes == ()
    assert sorted(c.where for c in result.estimate.noted) == ["link2", "link3", "link5"]
    assert result.estimate.prior == "cad.csv without its mistakes"


def test_cad_alone_predicts_far_worse(result):
    validation = result.validation.recordings[0]
    assert validation.held_out
    assert validation.of("identified").relative_total < 0.1 * validation.of("CAD").relative_total
