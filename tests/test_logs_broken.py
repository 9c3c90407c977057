"""Every broken manifest and log of tests/broken/logs gives its exact message."""

import contextlib
import tomllib
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logs_data import TWO
from seeds import cases
from two_joint_arm import CAD

from ident.errors import LogError
from ident.logs import read_log, read_manifest
from ident.logs.stream import check_recording

FOLDER = Path(__file__).parent / "broken" / "logs"
EXPECTED = tomllib.loads((FOLDER / "expected.toml").read_text(encoding="utf-8"))
SOUND = {"expected.toml", "expected.xlsx", "good.toml", "good.csv", "short.csv"}


def read(path: Path):
    if path.suffix == ".toml":
        return read_log(read_manifest(path), "run", TWO)
    manifest = read_manifest(FOLDER / "good.toml")
    return read_log(replace(manifest, recordings=(replace(manifest.recordings[0], file=path.name),)), "run", TWO)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_broken_file_gives_its_message(name):
    with pytest.raises(LogError) as caught:
        read(FOLDER / name)
    assert str(caught.value) == EXPECTED[name]


def test_every_file_is_expected():
    assert {p.name for p in FOLDER.iterdir()} == EXPECTED.keys() | SOUND
    assert len(EXPECTED) >= 45


def test_the_sound_one_is_read():
    log = read(FOLDER / "good.toml")
    assert log.q.shape == (12, 2)
    assert log.where([3]) == "row 4 (line 4)"


MANIFEST = """
[dataset]
name = "two"
[signals]
time = {{ column = "t", unit = "s" }}
position = {{ array = "q", unit = "rad" }}
torque = {{ array = "tau", unit = "N m" }}
[[recording]]
name = "run"
file = "{file}"
"""
GOOD = {"t": np.arange(5) / 10, "q": np.eye(5)[:, :2], "tau": np.ones((5, 2))}


def in_folder(folder: Path, file: str, manifest: str = MANIFEST):
    (folder / "dataset.toml").write_text(manifest.format(file=file))
    return read_log(read_manifest(folder / "dataset.toml"), "run", TWO)


@pytest.mark.parametrize(("change", "message"), [
    ({"tau": np.ones((4, 2))}, "x.npz: its arrays have 4 and 5 rows."),
    ({"q": np.ones((5, 3))}, "dataset.toml: position has 3 columns, robot 'two' has 2 joints."
     " Name one column per joint, in the order joint1, joint2."),
    ({"q": np.array([["a", "b"]] * 5)}, "x.npz: array 'q' holds <U1, wanted real numbers."),
    ({"q": np.ones((5, 2)) * 1j}, "x.npz: array 'q' holds complex128, wanted real numbers."),
    ({"q": np.ones((5, 2, 2))}, "x.npz: array 'q' has shape (5, 2, 2), wanted rows and columns."),
    ({"t": np.ones((5, 2))},
     "x.npz: array 't' has 2 columns, wanted one. Give array = 't' with columns = [...]."),
    ({"q": np.array([[None, 1]] * 5)}, "x.npz: holds Python objects, which are never loaded."
     " Save plain arrays of numbers."),
    ({"q": np.vstack([np.eye(2), [[np.nan, 1]], np.eye(2)])}, "x.npz, position of joint1: no finite number at row 3."
     " Correct the file, cut the rows out with rows = [first, last], or leave out single ones (drop_missing = true in"
     " its [[recording]]); nothing is filled in silently."),
])  # fmt: skip
def test_broken_npz(tmp_path, change, message):
    np.savez(tmp_path / "x.npz", **(GOOD | change))
    with pytest.raises(LogError) as caught:
        in_folder(tmp_path, "x.npz")
    assert str(caught.value) == message


def test_missing_array_names_the_nearest(tmp_path):
    np.savez(tmp_path / "x.npz", t=GOOD["t"], q=GOOD["q"], taus=GOOD["tau"])
    with pytest.raises(LogError, match=r"x.npz: there is no array 'tau'; did you mean 'taus'\?"):
        in_folder(tmp_path, "x.npz")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["npz", "mat", "parquet"])
@settings(max_examples=cases(40))
@given(data=st.data())
def test_damaged_binary_files_give_log_errors(tmp_path_factory, suffix, data):
    """Whatever bytes are changed or cut, the answer is a log or a LogError, never a traceback from a library."""
    folder = tmp_path_factory.getbasetemp()
    path = folder / f"x.{suffix}"
    manifest = MANIFEST
    if suffix == "npz":
        np.savez(path, **GOOD)
    elif suffix == "mat":
        import scipy.io

        scipy.io.savemat(path, GOOD)
    else:
        import pandas as pd

        pd.DataFrame(np.column_stack(list(GOOD.values())), columns=list("tabcd")).to_parquet(path)
        manifest = manifest.replace('array = "q"', 'columns = ["a", "b"]').replace('array = "tau"', "columns = [4, 5]")
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw[: data.draw(st.integers(len(raw) // 2, len(raw)))])
    with contextlib.suppress(LogError):  # any other exception fails
        in_folder(folder, path.name, manifest)


@settings(max_examples=cases(150))
@given(data=st.data())
def test_damaged_text_gives_log_errors(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp()
    for name in ("good.toml", "good.csv"):
        text = (FOLDER / name).read_text()
        at = data.draw(st.integers(0, len(text)))
        junk = data.draw(st.text(max_size=6))
        text = text[:at] + junk + text[data.draw(st.integers(at, min(len(text), at + 6))) :]
        (folder / name).write_text(text, encoding="utf-8", newline="")
    with contextlib.suppress(LogError):  # any other exception fails
        read_log(read_manifest(folder / "good.toml"), "run", TWO)


def test_link_out_of_the_folder_is_refused(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "secret.csv").write_text((FOLDER / "good.csv").read_text())
    (tmp_path / "data" / "good.csv").symlink_to(tmp_path / "secret.csv")
    (tmp_path / "data" / "dataset.toml").write_text((FOLDER / "good.toml").read_text())
    with pytest.raises(LogError, match=r"'good\.csv' lies outside the data folder"):
        read_log(read_manifest(tmp_path / "data" / "dataset.toml"), "run", TWO)


def test_archive_that_is_no_npz(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("t.npy", b"nothing")
    with pytest.raises(LogError, match=r"x.npz: "):
        in_folder(tmp_path, "x.npz")


@pytest.mark.parametrize(("change", "message"), [
    ({"t": np.array([0.0, 1.0, 1.0, 3.0])}, "time: does not increase at row 3: 1 s after 1 s."),
    ({"q": np.ones((4, 3))}, "run: has 3 columns for 2 joints."),
    ({"tau": np.ones((3, 2))}, "run: tau must have shape (4, 2), got (3, 2)."),
    ({"q": np.ones(4)}, "run: q must have shape (samples, joints), got (4,)."),
    ({"tau": [["a", "b"]] * 4}, "run: tau must be numbers."),
])  # fmt: skip
def test_log_refuses(change, message):
    from ident.logs import Log

    good = {"t": np.arange(4.0), "q": np.ones((4, 2)), "tau": np.ones((4, 2)), "joints": TWO.joint_names}
    with pytest.raises(LogError) as caught:
        Log(name="run", **(good | change))
    assert str(caught.value).startswith(message)


@pytest.mark.slow
def test_mutated_logs_end_in_one_sentence():
    """Byte flips, cuts, odd types, shapes and numbers in all formats, through check and fit.

    Once more where that took too much memory: it compiles what is not in Numba's cache, which is more than any log.
    """
    import re
    import subprocess
    import sys

    script = Path(__file__).parent / "mutated_logs.py"
    command = [sys.executable, str(script), "3", str(cases(40))]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = re.search(r"^escapes (\d+), peak of memory (\d+) MB$", done.stdout, re.MULTILINE)
        assert found, done.stderr
        assert found[1] == "0", done.stdout
        if int(found[2]) < 1000:
            return
    pytest.fail(done.stdout)


@pytest.mark.parametrize(("change", "message"), [
    ({"tau": np.full((5, 2), 1e300)}, "x.npz, torque of joint1: beyond 1e\\+12 at 5 rows: 1-5."),
    ({"t": np.array([1, 2, np.inf, 4, 5])}, "x.npz, time: no finite number at row 3."),
    ({"t": np.array([True] * 5)}, "x.npz, time: does not increase at 4 rows: 2-5:"),
    ({"t": np.array([np.inf] * 5)}, "x.npz, time: no finite number at"),
    ({"t": np.array([0, 1e-320, 1, 2, 3])}, "x.npz, time: does not increase at row 2:"),
])  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_numbers_that_are_no_measurements(tmp_path, change, message):
    np.savez(tmp_path / "x.npz", **(GOOD | change))
    with pytest.raises(LogError, match=f"^{message}"):
        in_folder(tmp_path, "x.npz")


COLUMNS = MANIFEST.replace('"t"', "1").replace('array = "q"', "columns = [2, 3]").replace(
    'array = "tau"', "columns = [4, 5]"
)  # fmt: skip


def in_text(folder: Path, content: bytes, manifest: str = COLUMNS):
    (folder / "x.csv").write_bytes(content)
    return in_folder(folder, "x.csv", manifest)


@pytest.mark.parametrize(("content", "message"), [
    (b"0,1,2,3,4\r1,1,2,3,4\r2,1,2,3,4\r",
     "x.csv, line 1: its lines end with CR alone. Save it with line ends LF or CR LF."),
    (b"0\n1\n2\n3\n4\n", "x.csv, line 1: has one value per line, 5 columns are wanted."
     " Write the values of a row on one line."),
    (b"0\t1\t2\t3\t4\n", "x.csv, line 1: has one value per line, 5 columns are wanted."
     " Set delimiter = '\\t' in [text]."),
    (b"t" * 140_000 + b",q,q,m,m\n0,1,2,3,4\n", "x.csv, line 1: cannot be split into columns"
     " (field larger than field limit (131072))."),
    (b"7" * 5_000_000, "x.csv, line 1: the line has more than 4,194,304 bytes. Is it a text file?"),
])  # fmt: skip
def test_odd_text(tmp_path, content, message):
    with pytest.raises(LogError) as caught:
        in_text(tmp_path, content)
    assert str(caught.value) == message


def test_one_value_per_line_below_a_header_of_many(tmp_path):
    with pytest.raises(LogError, match=r"^x\.csv, line 2: has one value per line, 5 columns are wanted\."):
        in_text(tmp_path, b"a,b,c,d,e\n0\n1\n2\n3\n4\n", COLUMNS + "[text]\nheader = true\n")


def test_crlf_is_read(tmp_path):
    assert in_text(tmp_path, b"0,1,2,3,4\r\n1,1,2,3,4\r\n").q.shape == (2, 2)


def test_parquet_names_that_are_not_utf8(tmp_path):
    import pandas as pd

    pd.DataFrame(np.ones((4, 5)), columns=["time", "qqqq", "q2", "m1", "m2"]).to_parquet(tmp_path / "x.parquet")
    content = (tmp_path / "x.parquet").read_bytes()
    (tmp_path / "x.parquet").write_bytes(content.replace(b"qqqq", b"\xff\xfeqq"))
    with pytest.raises(LogError, match=r"^x.parquet: has column names that are not UTF-8. Save it with names in UTF-8"):
        in_folder(tmp_path, "x.parquet", COLUMNS)


def test_a_page_of_parquet_that_claims_gigabytes(tmp_path):
    """Five bytes of a page's head say 2^31 in place of 4,007, the size that it has plain and compressed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    pq.write_table(pa.table({k: np.arange(500.0) for k in "abcde"}), tmp_path / "x.parquet", **plain)
    content = (tmp_path / "x.parquet").read_bytes()
    size, huge = b"\x15\xce\x3e", b"\x15\xf0\xff\xff\xff\x0f"
    assert 2 * size in content[:16]
    (tmp_path / "x.parquet").write_bytes(content.replace(2 * size, 2 * huge, 1))
    with pytest.raises(LogError, match=r"^x.parquet: cannot be read as Parquet"):
        in_folder(tmp_path, "x.parquet", COLUMNS)
    assert pa.default_memory_pool().max_memory() < 2**30


@pytest.mark.slow
def test_arrays_that_would_not_fit_are_refused_before_they_are_read(tmp_path, monkeypatch):
    import scipy.io

    from ident.logs.readers import read_arrays

    monkeypatch.setattr(read_arrays, "MOST", 100_000)
    big = GOOD | {"q": np.zeros((10_000, 2))}
    np.savez_compressed(tmp_path / "x.npz", **big)
    scipy.io.savemat(tmp_path / "x.mat", big, do_compression=True)
    for file in ("x.npz", "x.mat"):
        with pytest.raises(LogError, match=rf"^{file}: its arrays need more than 0 GB of memory. Save them as Parquet"):
            in_folder(tmp_path, file)


@pytest.mark.slow
def test_a_small_file_with_many_rows_is_read_in_parts(tmp_path):
    """Parquet of constants: 1.3 million rows in a few kB."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = 1_300_000
    pq.write_table(pa.table({k: np.ones(rows) for k in "abcd"}), tmp_path / "x.parquet", compression="zstd")
    assert (tmp_path / "x.parquet").stat().st_size < 100_000
    text = COLUMNS.replace('column = 1, unit = "s"', "rate_hz = 1000").replace("[4, 5]", "[1, 2]")
    (tmp_path / "dataset.toml").write_text(text.format(file="x.parquet"))
    report = check_recording(read_manifest(tmp_path / "dataset.toml"), "run", TWO)
    assert report.samples == rows
    assert [f.kind for f in report.findings] == ["reading", "repeated rows", "constant torque", "constant torque"]


@pytest.mark.parametrize("where", ["file", "folder", "argument"])
def test_paths_over_255_characters(tmp_path, where):
    from typer.testing import CliRunner

    from ident.cli.main import app

    long = "x" * 300
    text = COLUMNS.format(file=f"{long}.csv" if where == "file" else "x.csv")
    if where == "folder":
        text = text.replace('name = "two"', f'name = "two"\nfolder = "{long}"')
    (tmp_path / "dataset.toml").write_text(text)
    path = tmp_path / ("dataset.toml" if where != "argument" else f"{long}.toml")
    done = CliRunner().invoke(app, ["check", str(path), "--robot", str(tmp_path / "robot.toml")])
    assert done.exit_code == 2
    assert "Traceback" not in done.output
    message = "too long for this system" if where == "argument" else "wanted a path whose names have at most 255 bytes"
    assert message in done.output


def test_out_over_255_characters(tmp_path):
    from typer.testing import CliRunner

    from ident.cli.main import app

    (tmp_path / "cad.csv").write_text(CAD)
    done = CliRunner().invoke(app, ["cad", "read", str(tmp_path / "cad.csv"), "--out", f"{tmp_path}/{'x' * 300}.csv"])
    assert done.exit_code == 2
    assert "too long for this system" in done.stderr
