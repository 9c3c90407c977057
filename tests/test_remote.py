"""Logs at addresses: real bytes from stand-ins on this machine for an object store (moto) and the web."""

import os
import socket
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_cli import call, change, made, two

from ident import pipelines
from ident.errors import InputError, LogError
from ident.estimate.storage import load_estimate
from ident.logs import locate, read_manifest
from ident.logs.readers import remote
from ident.pipelines.compressed import compressed
from ident.pipelines.loaded import load

__all__ = ["made", "two"]  # fixtures

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("s3fs")
moto = pytest.importorskip("moto.server")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Keep what is fetched in a folder of the test, and let no answer of a store count for longer than it takes."""
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "cache"))
    monkeypatch.setattr(remote, "FRESH_S", 1e-9)
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def server():
    found = moto.ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    found.start()
    yield "http://{}:{}".format(*found.get_host_and_port())
    found.stop()


@pytest.fixture
def bucket(server, monkeypatch):
    """Return the file system of a store with an empty bucket "logs"."""
    secret = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_EC2_METADATA_DISABLED": "true"}
    for variable, value in {"AWS_ENDPOINT_URL": server, "AWS_DEFAULT_REGION": "us-east-1", **secret}.items():
        monkeypatch.setenv(variable, value)
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    store = fsspec.filesystem("s3", use_listings_cache=False)
    if not store.exists("logs"):
        store.mkdir("logs")
    yield store
    fsspec.get_filesystem_class("s3").clear_instance_cache()


class Site(SimpleHTTPRequestHandler):
    def send_head(self):
        return self.send_error(403) if "secret" in self.path else super().send_head()

    def log_message(self, *_):
        pass


@pytest.fixture
def web(tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Site, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def found(folder: Path, address: str) -> Path:
    """Return what a data set of one log at an address is read from."""
    (folder / "far.toml").write_text(
        '[dataset]\nname = "far"\n[signals]\ntime = { column = 1, unit = "s" }\n'
        'position = { column = 2, unit = "rad" }\ntorque = { column = 3, unit = "N m" }\n'
        f'[[recording]]\nname = "run"\nfile = "{address}"\n'
    )
    return locate(read_manifest(folder / "far.toml"), address)


def kept(cache: Path) -> list[Path]:
    return [p for p in cache.rglob("*") if p.is_file() and p.suffix in (".csv", ".parquet")]


def test_logs_in_a_bucket_give_the_digits_of_local_ones(two, bucket, cache):
    alone = pipelines.fit(two).estimate
    for name, address in (("circle", "logs/day 1/circle.csv"), ("steps", "logs/steps.csv")):
        bucket.put_file(str(two / f"{name}.csv"), address)
        (two / f"{name}.csv").unlink()
        change(two / "dataset.toml", f'file = "{name}.csv"', f'file = "s3://{address}"')
    for command in (("check", two / "dataset.toml"), ("compress", two, "-o", two / "day.npz"), ("run", two)):
        done = call(*command)
        assert done.exit_code == 0, done.output
    estimate = load_estimate(next(two.glob("results/*/estimate.json")))
    np.testing.assert_array_equal(estimate.phi, alone.phi)
    hashes = [{k: v for k, v in e.provenance.items() if "circle" in k} for e in (estimate, alone)]
    assert hashes[0] == {"sha256 s3://logs/day 1/circle.csv": hashes[1]["sha256 circle.csv"]}
    assert len(kept(cache)) == 2


def test_a_worker_fetches_by_itself(two, bucket):
    table = pd.read_csv(two / "circle.csv", header=None)
    table.columns = [f"c{k}" for k in range(1, 6)]
    table.to_parquet(two / "circle.parquet")
    bucket.put_file(str(two / "circle.parquet"), "logs/circle.parquet")
    change(two / "dataset.toml", 'file = "circle.csv"', 'file = "circle.parquet"')
    alone = pipelines.fit(two).estimate
    change(two / "dataset.toml", 'file = "circle.parquet"', 'file = "s3://logs/circle.parquet"')
    done = call("fit", two, "--workers", 1, "-o", two / "far.json")
    assert done.exit_code == 0, done.output
    np.testing.assert_array_equal(load_estimate(two / "far.json").phi, alone.phi)


def test_a_copy_is_made_once_and_again_when_the_log_changes(tmp_path, web, cache):
    (tmp_path / "run.csv").write_text("0,1,2\n")
    first = found(tmp_path, f"{web}/run.csv")
    assert first.read_text() == "0,1,2\n"
    inode = first.stat().st_ino
    assert found(tmp_path, f"{web}/run.csv").stat().st_ino == inode
    (tmp_path / "run.csv").write_text("0,1,2\n1,2,3\n")
    again = found(tmp_path, f"{web}/run.csv")
    assert again.read_text() == "0,1,2\n1,2,3\n"
    assert kept(cache) == [again]


def test_a_copy_that_nobody_asks_for_is_removed(tmp_path, web, cache):
    copies = []
    for name in ("old", "used", "new"):
        (tmp_path / f"{name}.csv").write_text("0,1,2\n")
        if name == "new":
            assert found(tmp_path, f"{web}/used.csv") == copies[1]
        copies.append(found(tmp_path, f"{web}/{name}.csv"))
        os.utime(copies[-1].parent, (0, 0))
    assert sorted(kept(cache)) == sorted(copies[1:])


def test_machines_that_fetch_one_log_see_one_time_of_change(tmp_path, web, cache):
    (tmp_path / "run.csv").write_text("0,1,2\n")
    first = found(tmp_path, f"{web}/run.csv")
    time = first.stat().st_mtime_ns
    first.unlink()
    assert found(tmp_path, f"{web}/run.csv").stat().st_mtime_ns == time


def test_a_log_that_changes_while_it_is_fetched_or_read_is_refused(two, monkeypatch):
    store = fsspec.filesystem("memory")
    store.pipe("/logs/circle.csv", (two / "circle.csv").read_bytes())
    change(two / "dataset.toml", 'file = "circle.csv"', 'file = "memory://logs/circle.csv"')
    motions = pipelines.factors.motions

    def growing(*given):
        for motion in motions(*given):
            store.pipe("/logs/circle.csv", store.cat("/logs/circle.csv") + b"99,0,0,0,0\n")
            yield motion

    with monkeypatch.context() as patch:
        patch.setattr(pipelines.factors, "motions", growing)
        with pytest.raises(LogError, match=r"circle.csv: changed while it was read. Wait until its recorder is done"):
            compressed(load(two))
    store.pipe("/logs/circle.csv", (two / "circle.csv").read_bytes())
    copy = type(store).get_file

    def late(self, *given, **words):
        copy(self, *given, **words)
        store.pipe("/logs/circle.csv", b"0,0,0,0,0\n")

    monkeypatch.setattr(type(store), "get_file", late)
    with pytest.raises(LogError, match=r"'memory://logs/circle.csv' changed while it was fetched. Wait until"):
        compressed(load(two))


def test_what_cannot_be_had_is_one_sentence(tmp_path, bucket, web, monkeypatch):
    bucket.pipe("logs/folder/run.csv", b"0,1,2\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}/run.csv"
    for address, told in {
        "s3://logs/other.csv": "there is no object 's3://logs/other.csv'. Correct the address, or put the log there.",
        "s3://nowhere/run.csv": "there is no object 's3://nowhere/run.csv'. Correct",
        "s3://logs/folder": "'s3://logs/folder' is a folder. Name one file of it.",
        f"{web}/other.csv": f"there is no object '{web}/other.csv'. Correct",
        f"{web}/secret.csv": f"the store refuses '{web}/secret.csv' (ClientResponseError). Set the credentials",
        nobody: f"'{nobody}' could not be fetched (ClientConnectorError). Try again later.",
    }.items():
        with pytest.raises(LogError) as caught:
            found(tmp_path, address)
        assert str(caught.value).startswith(f"far.toml: {told}")
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(variable)
    bucket.clear_instance_cache()
    with pytest.raises(LogError, match=r"the store refuses 's3://logs/run.csv' \(NoCredentialsError\). Set the"):
        found(tmp_path, "s3://logs/run.csv")


def test_a_missing_package_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)  # of those that were used before
    for package, told in {
        "gcsfs": r"'gs://logs/run.csv' needs a package that is not installed. Please install gcsfs",
        "s3fs": r"'s3://logs/run.csv' needs a package that is not installed. pip install 'robot-ident\[remote\]'",
        "fsspec": r"needs fsspec, which is not installed. pip install 'robot-ident\[remote\]'",
    }.items():
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(InputError, match=told):
            found(tmp_path, "gs://logs/run.csv" if package == "gcsfs" else "s3://logs/run.csv")


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        ("file:///etc/passwd", "an address that begins with s3://"),
        ("local:///etc/passwd", "an address that begins with s3://"),
        ("simplecache::s3://logs/run.csv", "an address that begins with s3://"),
        ("s3://logs/run.csv::file:///etc/passwd", "an address that begins with s3://"),
        ("s3://logs", "an address that begins with s3://"),
        ("s3://logs/", "an address that begins with s3://"),
        ("https://me:secret@example.org/run.csv", "an address without secrets"),
        ("https://example.org/run.csv?X-Amz-Signature=0123", "an address without secrets"),
        ("../s3:/logs/run.csv", "a relative path that stays inside the data folder"),
    ],
)
def test_what_is_no_address_of_a_store_is_refused(tmp_path, address, wanted):
    with pytest.raises(LogError, match=rf"far.toml, recording\[1\].file: is .* wanted .*{wanted}"):
        found(tmp_path, address)
