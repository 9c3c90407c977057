"""`ident run --watch`: repeats when a file changes, goes on after an error, and ends with an interrupt."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from test_cli import call, change, made, two

from ident.pipelines import estimated as watch

__all__ = ["made", "two"]  # fixtures


def test_every_file_of_an_experiment_is_looked_at(two):
    reports = two / "reports"
    reports.mkdir()
    (reports / "upper.txt").write_text("mass")
    names = {"experiment.toml", "robot.toml", "dataset.toml", "circle.csv", "steps.csv", "cad.csv", "truth.toml"}
    assert {p.name for p in watch.files_of(two)} == names
    change(two / "experiment.toml", "cad.csv", "reports")
    assert {p.name for p in watch.files_of(two)} == names - {"cad.csv"} | {"reports", "upper.txt"}
    (two / "dataset.toml").write_text("broken [")
    assert two / "robot.toml" in watch.files_of(two)
    (two / "experiment.toml").write_text("broken [")
    assert watch.files_of(two) == [two / "experiment.toml"]


@pytest.mark.parametrize("name", ["experiment.toml", "robot.toml", "dataset.toml", "circle.csv", "cad.csv"])
def test_a_change_of_each_is_seen(two, name, monkeypatch):
    waited = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        assert len(waited) < 4, "the change was not seen"
        if len(waited) == 2:
            later = (two / name).stat().st_mtime_ns + 1_000_000_000
            os.utime(two / name, ns=(later, later))

    monkeypatch.setattr(watch.time, "sleep", sleep)
    found = watch.changes(two)
    next(found)
    next(found)
    assert waited == [watch.EVERY] * 3  # once more, until it rests


def test_a_file_that_goes_is_a_change(two):
    before = watch.stamps(two)
    (two / "circle.csv").unlink()
    assert watch.stamps(two) == {**before, two / "circle.csv": None}


def test_one_document_does_not_go_on(two):
    done = call("run", two, "--watch", "--json")
    assert done.exit_code == 2
    assert "--watch: goes on, and --json is one document. Leave one of them out." in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="interrupts are sent otherwise there")
def test_run_repeats_and_an_interrupt_ends_it(two: Path):
    # Python minds no interrupt that its parent ignores, as shells do for what they run in the background.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    command = [sys.executable, "-c", code + "from ident.cli.main import main; main()", "run", str(two), "--watch"]
    good = (two / "experiment.toml").read_text()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        told = iter(running.stderr.readline, "")

        def until_it_waits() -> str:
            return "".join(iter(lambda: line if "waiting until" not in (line := next(told)) else "", ""))

        assert "error" not in until_it_waits()
        first = (two / "results" / two.name / "estimate.json").stat().st_mtime_ns
        (two / "experiment.toml").write_text("broken [")
        assert "error: experiment.toml" in until_it_waits()
        (two / "experiment.toml").write_text(good)
        assert "error" not in until_it_waits()
        assert (two / "results" / two.name / "estimate.json").stat().st_mtime_ns > first
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert running.returncode == 0, err
    assert out.count("wrote estimate.json") == 2
    assert "interrupted" not in err
