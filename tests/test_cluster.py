"""Logs shared out to real processes: the same digits, whoever does the work and whoever dies of it."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_cli import call, change, made, two
from test_factors import days

from ident import pipelines
from ident.errors import InputError, LogError
from ident.estimate.storage import load_estimate
from ident.logs import stream
from ident.pipelines import Sharing
from ident.pipelines import cluster as shared
from ident.pipelines.compressed import begun, compressed, in_parts
from ident.pipelines.loaded import load
from ident.pipelines.steps import processing_of

__all__ = ["days", "made", "two"]  # fixtures

distributed = pytest.importorskip("distributed")
psutil = pytest.importorskip("psutil")  # which distributed needs
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("NUMBA_NUM_THREADS", raising=False)
        with shared.sharing(Sharing(workers=2)) as client:
            yield client


def same_digits(a, b) -> None:
    assert [s.identity for s in a.segments] == [s.identity for s in b.segments]
    for one, other in zip(a.segments, b.segments, strict=True):
        assert (one.name, one.recording, one.rows, one.noise) == (other.name, other.recording, other.rows, other.noise)
        for x, y in zip(one.factors, other.factors, strict=True):
            np.testing.assert_array_equal(x, y)


def test_workers_give_the_digits_of_one_process(days, client):
    loaded = load(days / "all.toml")
    alone, many = compressed(loaded), compressed(loaded, client=client)
    same_digits(alone.regression, many.regression)
    assert many.warned == alone.warned
    assert many.inputs == alone.inputs


def test_workers_leave_numba_of_this_process_alone(client):
    assert set(client.run(os.getenv, "NUMBA_NUM_THREADS").values()) == {"1"}
    assert "NUMBA_NUM_THREADS" not in os.environ


@pytest.mark.parametrize("bokeh", [True, False])
def test_nobody_else_reaches_the_dashboard_and_its_address_is_told_where_there_is_one(caplog, monkeypatch, bokeh):
    monkeypatch.setattr(shared, "find_spec", lambda name: bokeh or None)
    caplog.set_level("INFO", "ident")
    with shared.sharing(Sharing(workers=1)) as client:
        link = client.dashboard_link
        own = psutil.Process()
        found = [c for p in (own, *own.children(recursive=True)) for c in p.net_connections() if c.status == "LISTEN"]
    assert {connection.laddr.ip for connection in found} == {"127.0.0.1"}
    told = [r.getMessage() for r in caplog.records if r.name == "ident"]
    assert told == [f"what the processes do is shown at {link}"] * bokeh


def test_a_killed_worker_loses_nothing(days, client, tmp_path):
    from at_workers import slowly

    loaded = load(days / "all.toml")
    alone = compressed(loaded)
    settled = replace(loaded, processing=alone.processing)
    with killing(tmp_path / "seen", lambda seen: int(seen.suffix[1:])):
        task = partial(slowly, tmp_path / "seen")
        found = list(shared.mapped(client, task, settled, loaded.experiment.fit, lambda *_: None, "reading logs"))
    same_digits(pipelines.factors.joined(found).regression, alone.regression)
    assert len({p.suffix for p in (tmp_path / "seen").iterdir() if p.suffix}) > 1


@contextlib.contextmanager
def killing(folder, process):
    """Kill process(file), once there is a file in a new folder, and say so there by one that is called "killed"."""

    def kill():
        while not (seen := list(folder.iterdir())):
            time.sleep(0.02)
        os.kill(process(seen[0]), signal.SIGKILL)
        (folder / "killed").touch()

    folder.mkdir()
    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    yield
    killer.join()


@pytest.fixture
def small_parts(client, monkeypatch):
    """Let parts have 100 rows of two joints, everywhere."""
    from at_workers import SmallParts

    monkeypatch.setattr(stream, "NUMBERS", 100 * 7)
    client.register_plugin(SmallParts(100 * 7), name="small parts")
    yield
    client.unregister_worker_plugin("small parts")


def as_parquet(two) -> None:
    """Have the recording "circle" in a file that is read in parts."""
    table = pd.read_csv(two / "circle.csv", header=None)
    table.columns = [f"c{k}" for k in range(1, 6)]
    table.to_parquet(two / "circle.parquet", row_group_size=130)
    change(two / "dataset.toml", 'file = "circle.csv"', 'file = "circle.parquet"')


def test_a_worker_killed_with_parts_of_a_log_loses_nothing(two, client, small_parts, tmp_path):
    from at_workers import Held

    as_parquet(two)
    loaded = load(two)
    alone = compressed(loaded)
    client.register_plugin(Held(tmp_path / "seen", "_compressed"), name="held")
    with killing(tmp_path / "seen", lambda seen: int(seen.suffix[1:])):
        many = compressed(loaded, client=client)
    client.unregister_worker_plugin("held")
    same_digits(alone.regression, many.regression)
    assert len({p.suffix for p in (tmp_path / "seen").iterdir() if p.suffix}) > 1


def test_parts_that_are_put_on_the_disk_give_the_same_digits(two, monkeypatch):
    import dask
    from at_workers import SmallParts

    as_parquet(two)
    loaded = load(two)
    monkeypatch.setattr(stream, "NUMBERS", 100 * 7)
    alone = compressed(loaded)
    limits = {f"distributed.worker.memory.{limit}": 1e-7 for limit in ("target", "spill")}
    with dask.config.set(limits), shared.sharing(Sharing(workers=1)) as client:
        client.register_plugin(SmallParts(100 * 7))
        many = compressed(loaded, client=client)
        (moved,) = client.run(lambda dask_worker: dict(dask_worker.data.cumulative_metrics)).values()
    assert moved["disk-write", "count"] >= 12
    assert moved["disk-read", "count"] >= 12
    same_digits(alone.regression, many.regression)


PROCESSINGS = {
    "plain": "edge_s = 0.1",
    "thinned": "edge_s = 0.1\nposition_hz = 20\ndecimation = [5]",
    "resampled": "resample_hz = 83.0\nposition_hz = 15\ntorque_hz = 15\nstart_s = 1.5\nstop_s = 9.0",
    "periodic": "position_hz = 20\nperiod_s = 2.0",
    "late": "delay_s = 0.004\nposition_delay_s = [0.002, 0.0]\nmin_speed = 0.05",
}


@pytest.mark.parametrize("processing", PROCESSINGS)
@pytest.mark.parametrize("clock", ["stamps", "rate"])
def test_parts_of_a_long_recording_give_the_digits_of_one_process(two, client, small_parts, processing, clock):
    as_parquet(two)
    change(two / "experiment.toml", "edge_s = 0.1", PROCESSINGS[processing])
    change(two / "dataset.toml", 'file = "circle.parquet"', 'file = "circle.parquet"\nrows = [21, 1190]')
    if clock == "rate":
        text = (two / "dataset.toml").read_text()
        (two / "dataset.toml").write_text(re.sub(r"time = \{.*\}", "time = { rate_hz = 100.0 }", text))
    loaded = load(two)
    long = begun(replace(loaded, processing=processing_of(loaded)), "circle")
    assert len(long.plan.parts) == 12
    alone, many = compressed(loaded), compressed(loaded, client=client)
    assert len(alone.regression.segments) > 3
    same_digits(alone.regression, many.regression)
    assert many.warned == alone.warned
    assert many.inputs == alone.inputs
    assert many.repeated == alone.repeated


def test_a_log_that_changes_while_its_parts_are_read_is_refused(two, client, small_parts):
    as_parquet(two)
    loaded = load(two)
    settled = replace(loaded, processing=processing_of(loaded))
    long = begun(settled, "circle")
    whole = (two / "circle.parquet").read_bytes()
    for content in (whole, whole[:5000]):
        (two / "circle.parquet").write_bytes(content)
        os.utime(two / "circle.parquet", (1, 1))
        future = in_parts(client, shared.at_workers(client, settled), long)
        with pytest.raises(LogError, match=r"circle.parquet: changed while it was read"):
            future.result()


def test_the_command_shares_logs_out(days):
    done = call("fit", days / "all.toml", "--workers", 1, "-o", days / "one.json")
    assert done.exit_code == 0, done.output
    alone = pipelines.fit(days / "all.toml")
    found = load_estimate(days / "one.json")
    np.testing.assert_array_equal(found.phi, alone.estimate.phi)
    np.testing.assert_array_equal(found.covariance.matrix, alone.estimate.covariance.matrix)


def test_a_worker_without_the_file_says_so(days, client):
    loaded = load(days / "all.toml")
    (days / "monday.csv").unlink()
    with pytest.raises(LogError, match=r"there is no file 'monday.csv' in the data folder") as caught:
        compressed(loaded, client=client)
    assert caught.value.file == "dataset.toml"
    assert caught.value.__notes__[0].startswith("said by the worker tcp://127.0.0.1:")


def test_a_log_that_grows_while_it_is_read_is_refused(two, monkeypatch):
    loaded = load(two)
    motions = pipelines.factors.motions

    def growing(*given):
        for motion in motions(*given):
            with (two / "circle.csv").open("a") as log:
                log.write("99,0,0,0,0\n")
            yield motion

    monkeypatch.setattr(pipelines.factors, "motions", growing)
    with pytest.raises(LogError, match=r"circle.csv: changed while it was read. Wait until its recorder is done"):
        compressed(loaded)


def test_a_scheduler_that_is_not_there_is_one_sentence_before_any_log_is_read(two, monkeypatch):
    (two / "fleet.toml").write_text('[fleet]\ntitle = "One"\nexperiment = "experiment.toml"\ndata = ["dataset.toml"]\n')
    change(two / "experiment.toml", "[model]\ncoulomb = { tanh = 0.05 }", "")
    (two / "circle.csv").unlink()
    monkeypatch.setattr(shared, "PATIENCE_S", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    before = sorted(p.name for p in two.iterdir())
    for address in (f"tcp://127.0.0.1:{port}", "nonsense://x"):
        for words in (
            ["run", two],
            ["fit", two],
            ["compress", two, "-o", two / "a.npz"],
            ["fleet", two / "fleet.toml"],
        ):
            done = call(*words, "--scheduler", address)
            assert done.exit_code == 2, done.output
            assert done.stderr.startswith(f"error: --scheduler: no Dask scheduler answers at '{address}'")
            assert done.stderr.count("\n") == 1
    assert sorted(p.name for p in two.iterdir() if p.name != "results") == before


def test_a_scheduler_that_dies_meanwhile_is_one_sentence(two, tmp_path):
    from at_workers import Held

    started = []

    def start(program, *words):
        command = (sys.executable, "-m", f"distributed.cli.dask_{program}", "--host", "127.0.0.1", "--no-dashboard")
        place = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        started.append(subprocess.Popen((*command, *words), env=place, stderr=subprocess.PIPE, text=True))
        return started[-1]

    scheduler = start("scheduler", "--port", "0")
    address = next(found[0] for line in scheduler.stderr if (found := re.search(r"tcp://127\.0\.0\.1:\d+", line)))
    start("worker", address, "--nthreads", "1", "--no-nanny")
    try:
        with distributed.Client(address) as client:
            client.register_plugin(Held(tmp_path / "seen", "begun"))
        with killing(tmp_path / "seen", lambda _: scheduler.pid):
            words = [sys.executable, "-m", "ident", "fit", str(two), "--scheduler", address, "-o", str(two / "a.json")]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
    finally:
        for process in started:
            process.kill()
            process.communicate()
    assert done.returncode == 2
    told = r"error: reading logs: the scheduler is gone \(\w+\)\. Start it again; nothing was written\.\n"
    assert re.fullmatch(told, done.stderr)
    assert not (two / "a.json").exists()


def test_a_scheduler_without_workers_and_workers_of_another_version_are_named(two, client, monkeypatch):
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as cluster:
        monkeypatch.setattr(shared, "PATIENCE_S", 2.0)
        with pytest.raises(InputError, match="has no worker"):
            pipelines.fit(two, share=Sharing(scheduler=cluster.scheduler_address))
    monkeypatch.setattr(shared, "PATIENCE_S", 60.0)
    others = Sharing(scheduler=client.scheduler.address)
    here, there = pipelines.fit(two).estimate, pipelines.fit(two, share=others).estimate
    np.testing.assert_array_equal(there.phi, here.phi)
    versions = distributed.Client.get_versions
    for name, there, told in (
        ("robot-ident", "0.0.9", "robot-ident 0.0.9, this process has 0.1.0. Install the same"),
        ("clarabel", None, r"clarabel not at all, this process has \d"),
        ("pyarrow", "1.0", r"pyarrow 1.0, this process has \d"),
        ("python", "3.99.0.final.0", r"python 3.99, this process has 3\.\d+\. "),
        ("python", ".".join(map(str, (*sys.version_info[:2], 99, "final", 0))), None),
    ):

        def other(self, *, _name=name, _there=there, **given):
            found = versions(self, **given)
            next(iter(found["workers"].values()))["packages"][_name] = _there
            return found

        monkeypatch.setattr(distributed.Client, "get_versions", other)
        expected = (
            pytest.raises(InputError, match=rf"worker tcp://\S+ has {told}") if told else contextlib.nullcontext()
        )
        with expected, shared.sharing(others):
            pass


def test_processes_that_cannot_be_started_are_one_sentence(two):
    place = {**os.environ, "DASK_TEMPORARY_DIRECTORY": str(two / "experiment.toml")}
    words = [sys.executable, "-m", "ident", "fit", str(two), "--workers", "1"]
    done = subprocess.run(words, env=place, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    (told,) = [line for line in done.stderr.splitlines() if not line.startswith("note: ")]
    assert told.startswith("error: --workers: a process could not be started ([Errno 20] Not a directory: ")
    assert told.endswith("or leave this out.")


def test_a_process_that_is_killed_while_it_starts_is_one_sentence():
    def kill():
        while not ended.is_set():
            for child in psutil.Process().children():
                if child.pid not in others and "spawn_main" in "".join(child.cmdline()):
                    child.kill()
            ended.wait(0.02)

    ended, others = threading.Event(), {child.pid for child in psutil.Process().children()}
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with (
            pytest.raises(InputError, match=r"^--workers: a process could not be started \(.*\)\. Free memory"),
            shared.sharing(Sharing(workers=1)),
        ):
            pass
    finally:
        ended.set()
        killer.join()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--workers", 0], "--workers: is 0, wanted 1 or more."),
        (["--workers", 2, "--scheduler", "tcp://x:1"], "--workers: a scheduler has workers of its own. Leave out one"),
    ],
)
def test_what_cannot_be_meant(two, words, told):
    done = call("compress", two, *words, "-o", two / "a.npz")
    assert done.exit_code == 2
    assert told in done.stderr
    assert not Path(two / "a.npz").exists()


def test_without_dask_it_says_what_to_install(two, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"Dask is not installed. pip install 'robot-ident\[dask\]'"):
        pipelines.fit(two, share=Sharing(workers=2))
