"""Reading: units, layouts, motor side, offsets, formats that agree with one another, fetching."""

import hashlib
import sys
from importlib.metadata import version

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from logs_data import TWO, smooth

from ident.errors import InputError, LogError
from ident.logs import check_log, locate, read_log, read_manifest
from ident.logs.log import read_parts, span
from ident.logs.manifest import RAW, UNITS, kind_of, si_factor
from ident.logs.readers import formats
from ident.logs.readers.read_tables import text_ends
from ident.robot import Transmission
from ident.robot.file import MDHJoint, from_mdh

HEAD = """
[dataset]
name = "two"
[[recording]]
name = "run"
file = "{file}"
"""

#: pandas before 3 rounds the last bit of a decimal number its own way.
LAST_BIT = 4e-15 if int(version("pandas").split(".")[0]) < 3 else 0.0


def write(folder, text, file):
    (folder / "dataset.toml").write_text(HEAD.format(file=file) + text)
    return read_manifest(folder / "dataset.toml")


@given(st.sampled_from(sorted(UNITS)), st.floats(-1e6, 1e6), st.data())
def test_units_round_trip(quantity, value, data):
    """A value converted from a unit to SI and on to another unit of its kind and back is the same."""
    a = data.draw(st.sampled_from(sorted(UNITS[quantity])))
    b = data.draw(st.sampled_from(sorted(u for u in UNITS[quantity] if kind_of(u, quantity) == kind_of(a, quantity))))
    there = value * si_factor(a, quantity) / si_factor(b, quantity)
    assert there * si_factor(b, quantity) / si_factor(a, quantity) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize(("unit", "quantity", "value"), [
    ("deg", "position", np.pi / 180), ("rev", "position", 2 * np.pi), ("mm", "position", 1e-3),
    ("rpm", "velocity", 2 * np.pi / 60), ("deg/s", "velocity", np.pi / 180), ("ns", "time", 1e-9),
    ("N mm", "torque", 1e-3), ("kN", "torque", 1e3), ("A", "torque", 1.0),
])  # fmt: skip
def test_unit_values(unit, quantity, value):
    assert si_factor(unit, quantity) == pytest.approx(value, rel=1e-15)
    assert (kind_of(unit, quantity) == RAW) == (unit == "A")


def test_every_speed_is_a_position_per_second_and_every_prefix_a_power_of_ten():
    positions, speeds, torques = (UNITS[quantity] for quantity in ("position", "velocity", "torque"))
    per_second = {unit.removesuffix("/s"): known for unit, known in speeds.items() if unit.endswith("/s")}
    assert per_second == {unit: positions[unit] for unit in per_second}
    sizes = {"u": 1e-6, "m": 1e-3, "k": 1e3}
    for known, bases in ((positions, ("rad", "m")), (torques, ("N m", "N"))):
        found = {unit: size for unit, (_, size) in known.items() if unit[1:] in bases and unit[0] in sizes}
        assert found == {unit: sizes[unit[0]] for unit in found}
    assert torques["N mm"] == torques["mN m"]


def test_units_gains_and_rows(tmp_path):
    table = np.column_stack([np.arange(6) * 10, 10 * np.arange(12).reshape(6, 2), np.arange(12).reshape(6, 2)])
    np.savetxt(tmp_path / "x.csv", table, delimiter=";", header="a\nt;q1;q2;i1;i2", comments="")
    manifest = write(
        tmp_path,
        """
rows = [2, 5]
time = { column = "t", unit = "ms" }
position = { columns = ["q1", "q2"], unit = "deg", gain = [1, -1], offset = [0, 0.5] }
torque = { columns = ["i1", "i2"], unit = ["A", "N mm"], gain = [-14.87, 2], saturation = [1e-6, 0] }
[text]
delimiter = ";"
header = true
skip_lines = 1
""",
        "x.csv",
    )
    log = read_log(manifest, "run", TWO)
    np.testing.assert_allclose(log.t, [0, 0.01, 0.02, 0.03], atol=1e-15)
    assert log.clock == pytest.approx(0.01)
    np.testing.assert_allclose(log.q, np.deg2rad(table[1:5, 1:3]) * [1, -1] + [0, 0.5])
    read = table[1:5, 3:] * [-14.87, 2e-3]
    np.testing.assert_allclose(log.tau, read * (1.0 - [1e-6, 0.0] * read**2))
    assert log.qd is None
    assert log.first_row == 2
    assert log.where([0]) == "row 2 (line 4)"
    assert log.sha256 == hashlib.sha256((tmp_path / "x.csv").read_bytes()).hexdigest()


def test_the_length_of_a_log_is_found_once_until_its_file_changes(tmp_path, monkeypatch):
    read, path = [], tmp_path / "x.csv"
    body = """
time = { column = "t", unit = "ms" }
position = { columns = ["q1", "q2"], unit = "rad" }
torque = { columns = ["i1", "i2"], unit = "N m" }
"""

    def ends(*given):
        read.append(1)
        return text_ends(*given)

    monkeypatch.setattr("ident.logs.readers.read_tables.text_ends", ends)
    for rows in (6, 9):
        table = np.column_stack([np.arange(rows) * 10, np.arange(4 * rows).reshape(rows, 4)])
        np.savetxt(path, table, delimiter=",", header="t,q1,q2,i1,i2", comments="")
        manifest = write(tmp_path, body, "x.csv")
        read.clear()
        assert [span(manifest, "run", TWO, 4) for _ in range(2)] == [(rows, pytest.approx((rows - 1) / 100))] * 2
        assert len(read) == 1


@pytest.mark.parametrize("lines", ["{}\n", "{}", "{}\n\n", "{}\r\n", "\ufeff{}\n", "# {}\n"])
@pytest.mark.parametrize("rows", [3, 40_000])
def test_the_length_of_a_text_file_is_that_of_its_rows(tmp_path, lines, rows):
    body = """
time = { column = 1, unit = "s" }
position = { columns = [2, 3], unit = "rad" }
torque = { columns = [4, 5], unit = "N m" }
"""
    table = "\n".join(f"{k / 7!r},{k % 5},1,2,{k}" for k in range(rows))
    if lines.startswith("#"):
        lines, body = f"0,1,2,3\n{lines[2:]}", body + "\n[text]\nskip_lines = 1\n"
    text = lines.format(table).replace("\n", "\r\n") if "\r" in lines else lines.format(table)
    (tmp_path / "x.csv").write_bytes(text.encode())
    manifest = write(tmp_path, body, "x.csv")
    log = read_log(manifest, "run", TWO)
    assert span(manifest, "run", TWO, 1000) == (len(log.t), log.t[-1]) == (rows, (rows - 1) / 7)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "txt", "npz", "mat", "parquet"])
def test_formats_agree(tmp_path, suffix):
    t = np.arange(40) / 100
    q, qd, _ = smooth(t)
    tau = np.round(np.cos(q), 4)
    names = ["t", "q1", "q2", "v1", "v2", "m1", "m2"]
    table = np.column_stack([t, q, qd, tau])
    columns = 'columns = ["{0}1", "{0}2"]'
    text = ""
    path = tmp_path / f"x.{suffix}"
    if suffix in ("csv", "txt"):
        mark = "," if suffix == "csv" else " "
        path.write_text("\n".join([mark.join(names)] + [mark.join(map(repr, row)) for row in table.tolist()]) + "\n\n")
        text = f'[text]\nheader = true\ndelimiter = "{mark}"\n'
    elif suffix == "npz":
        np.savez_compressed(path, **dict(zip(names, table.T, strict=True)))
    elif suffix == "mat":
        import scipy.io

        scipy.io.savemat(path, dict(zip(names, table.T, strict=True)))
    else:
        import pandas as pd

        pd.DataFrame(table, columns=names).to_parquet(path, row_group_size=7)
    body = f"""
rows = [3, 38]
time = {{ column = "t", unit = "s" }}
position = {{ {columns.format("q")}, unit = "rad" }}
velocity = {{ {columns.format("v")}, unit = "rad/s" }}
torque = {{ {columns.format("m")}, unit = "N m" }}
{text}"""
    log = read_log(write(tmp_path, body, path.name), "run", TWO)
    last_bit = LAST_BIT if suffix in ("csv", "txt") else 0.0
    np.testing.assert_allclose(log.q, q[2:38], rtol=last_bit)
    np.testing.assert_allclose(log.qd, qd[2:38], rtol=last_bit)
    np.testing.assert_allclose(log.tau, tau[2:38], rtol=last_bit)
    np.testing.assert_allclose(log.t, t[2:38] - t[2], atol=1e-16)


@pytest.mark.parametrize("block", [1, 100, 1000, 2**20])
def test_text_is_the_same_in_blocks_of_any_size(tmp_path, monkeypatch, block):
    """Lines that are more than numbers are looked at one by one, in their block alone; faults keep their line."""
    monkeypatch.setattr("ident.logs.readers.read_tables.BLOCK", block)
    numbers = np.column_stack([np.arange(60) / 10, np.random.default_rng(0).normal(size=(60, 4))])
    lines = [",".join(map(repr, row)) for row in numbers.tolist()]
    lines[7] = '"' + lines[7].replace(",", '","') + '"'
    lines[33] = lines[33].replace("3.3,", "+3.30,", 1)
    (tmp_path / "x.csv").write_text("\r\n".join(lines) + "\r\n\n \n")
    signals = """[signals]
time = { column = 1, unit = "s" }
position = { columns = [2, 3], unit = "rad" }
torque = { columns = [4, 5], unit = "N m" }
"""
    log = read_log(write(tmp_path, signals, "x.csv"), "run", TWO)
    found = np.column_stack([log.t, log.q, log.tau])
    np.testing.assert_allclose(found, numbers, rtol=LAST_BIT, atol=0)
    log = read_log(write(tmp_path, "rows = [5, 50]\n" + signals, "x.csv"), "run", TWO)
    np.testing.assert_allclose(log.q, numbers[4:50, 1:3], rtol=LAST_BIT, atol=0)
    assert log.where([0]) == "row 5 (line 5)"
    lines[55] = lines[55] + ",1"
    (tmp_path / "x.csv").write_text("\n".join(lines))
    assert len(read_log(write(tmp_path, "rows = [5, 50]\n" + signals, "x.csv"), "run", TWO).t) == 46
    with pytest.raises(LogError, match=r"x.csv, line 56: has 6 columns, the lines before have 5"):
        read_log(write(tmp_path, signals, "x.csv"), "run", TWO)


def test_decimal_comma(tmp_path):
    (tmp_path / "x.csv").write_text("0;1,5;2\n0,1;1,25;-2,5e1\n")
    body = """
time = { column = 1, unit = "s" }
position = { columns = [2, 3], unit = "rad" }
torque = { columns = [2, 3], unit = "N m" }
[text]
delimiter = ";"
decimal = ","
"""
    log = read_log(write(tmp_path, body, "x.csv"), "run", TWO)
    np.testing.assert_array_equal(log.q, [[1.5, 2], [1.25, -25]])
    assert log.t[1] == 0.1


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_clock_in_nanoseconds_keeps_its_digits(tmp_path, suffix):
    ns = 1_700_000_000_123_456_789 + np.array([0, 1_000_001, 2_000_003])
    path = tmp_path / f"x.{suffix}"
    if suffix == "csv":
        path.write_text("".join(f"{n},0,{i},1,1\n" for i, n in enumerate(ns)))
    elif suffix == "npz":
        np.savez(path, t=ns, x=np.array([[0, 0, 1, 1], [0, 1, 1, 1], [0, 2, 1, 1]]))
    else:
        import pandas as pd

        pd.DataFrame({"t": ns, "a": [0, 0, 0], "b": [0, 1, 2], "c": [1, 1, 1], "d": [1, 1, 1]}).to_parquet(path)
    of = 'array = "x", columns = [{}, {}]' if suffix == "npz" else "columns = [{}, {}]"
    shift = 0 if suffix != "npz" else 1
    time = 'column = "t"' if suffix == "npz" else "column = 1"
    body = f"""
time = {{ {time}, unit = "ns" }}
position = {{ {of.format(2 - shift, 3 - shift)}, unit = "rad" }}
torque = {{ {of.format(4 - shift, 5 - shift)}, unit = "N m" }}
"""
    log = read_log(write(tmp_path, body, path.name), "run", TWO)
    np.testing.assert_allclose(log.t, [0, 1.000001e-3, 2.000003e-3], rtol=1e-14)


def test_motor_side_keeps_power(tmp_path):
    """q = R^-1 q_motor and tau = R^T tau_motor, so that motor power is joint power; offsets come after."""
    rng = np.random.default_rng(1)
    R = np.array([[32.0, 0], [-7.0, 45.0]])
    robot = from_mdh("geared", [MDHJoint(), MDHJoint(a=1.0)])
    from dataclasses import replace

    robot = replace(robot, transmission=Transmission(("m1", "m2"), R))
    qm, vm, tm = rng.standard_normal((3, 9, 2))
    np.savez(tmp_path / "x.npz", q=qm, v=vm, tau=tm)
    body = """
time = { rate_hz = 10 }
position = { array = "q", unit = "rad", side = "motor", offset = [0.25, -1] }
velocity = { array = "v", unit = "rad/s", side = "motor" }
torque = { array = "tau", unit = "N m", side = "motor" }
"""
    log = read_log(write(tmp_path, body, "x.npz"), "run", robot)
    np.testing.assert_allclose((log.q - [0.25, -1]) @ R.T, qm, atol=1e-12)
    np.testing.assert_allclose((log.tau * log.qd).sum(1), (tm * vm).sum(1), atol=1e-10)
    np.testing.assert_allclose(log.t, np.arange(9) / 10)
    assert log.unknown == ()
    for gains, unknown in (("nan, 1", ("joint1",)), ("1, nan", ("joint1", "joint2"))):  # the second drives both
        told = body.replace('unit = "N m", side', f'unit = "N m", gain = [{gains}], side')
        log = read_log(write(tmp_path, told, "x.npz"), "run", robot)
        assert log.unknown == unknown
        assert np.isfinite(log.tau).all()


def test_layouts_and_overrides(tmp_path):
    text = """
layout = "swapped"
torque = { columns = [4, 5], unit = "N m", gain = 2 }
[signals]
time = { column = 1, unit = "s" }
position = { columns = [2, 3], unit = "rad" }
torque = { columns = [4, 5], unit = "N m" }
[layout.swapped]
position = { columns = [3, 2], unit = "rad" }
"""
    (tmp_path / "x.csv").write_text("0,1,2,3,4\n1,1,2,3,4\n")
    log = read_log(write(tmp_path, text, "x.csv"), "run", TWO)
    assert log.q[0].tolist() == [2, 1]
    assert log.tau[0].tolist() == [6, 8]


def test_fetching(tmp_path, monkeypatch):
    """Without IDENT_DATA a remote file comes from the cache when its hash is right; with it, from the folder."""
    content = b"0,1,2,3,4\n1,1,2,3,4\n"
    body = f"""
[signals]
time = {{ column = 1, unit = "s" }}
position = {{ columns = [2, 3], unit = "rad" }}
torque = {{ columns = [4, 5], unit = "N m" }}
[[remote]]
file = "sub/x.csv"
url = "https://localhost:1/x.csv"
sha256 = "{hashlib.sha256(content).hexdigest()}"
"""
    manifest = write(tmp_path, body, "sub/x.csv")
    manifest = read_manifest(_with_folder(tmp_path, "$IDENT_DATA/two"))
    monkeypatch.delenv("IDENT_DATA", raising=False)
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setattr("pooch.os_cache", lambda name: cache / name)
    with pytest.raises(
        LogError, match=r"dataset.toml: 'sub/x.csv' could not be fetched from https://localhost:1/x.csv"
    ):
        locate(manifest, "sub/x.csv")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pooch", None)
        with pytest.raises(InputError, match=r"fetching a public log needs pooch.*robot-ident\[public\]"):
            locate(manifest, "sub/x.csv")
    (cache / "robot-ident" / "two" / "sub").mkdir(parents=True, exist_ok=True)
    (cache / "robot-ident" / "two" / "sub" / "x.csv").write_bytes(content)
    assert read_log(manifest, "run", TWO).q.shape == (2, 2)
    with pytest.raises(LogError, match=r"has no \[\[remote\]\] address and \$IDENT_DATA is not set"):
        locate(manifest, "y.csv")
    monkeypatch.setenv("IDENT_DATA", str(tmp_path))
    with pytest.raises(LogError, match="or unset IDENT_DATA to have it fetched"):
        locate(manifest, "sub/x.csv")
    (tmp_path / "two" / "sub").mkdir(parents=True)
    (tmp_path / "two" / "sub" / "x.csv").write_bytes(content)
    assert locate(manifest, "sub/x.csv") == (tmp_path / "two" / "sub" / "x.csv").resolve()


def _with_folder(folder, text):
    path = folder / "dataset.toml"
    path.write_text(path.read_text().replace('name = "two"', f'name = "two"\nfolder = "{text}"', 1))
    return path


@pytest.mark.parametrize("rows", [3, 10**6])
def test_repeated_rows_are_dropped_on_request(tmp_path, rows):
    """A row with the stamp of the one before, and one with all its signals; across the parts of a long log too."""
    table = np.column_stack([np.arange(12) / 10, np.random.default_rng(1).normal(size=(12, 4))])
    again = table[[0, 1, 2, 2, 3, 4, 5, 6, 6, 7, 8, 9, 10, 11]]
    again[3, 1] += 1  # the same stamp, another value
    again[8, 0] += 0.01  # the same values, another stamp
    again[-1] = np.nan
    np.savetxt(tmp_path / "x.csv", again[:-1], delimiter=",", fmt="%.17g")
    body = """
drop_repeated = true
time = { column = 1, unit = "s" }
position = { columns = [2, 3], unit = "rad" }
torque = { columns = [4, 5], unit = "N m" }
"""
    manifest = write(tmp_path, body, "x.csv")
    logs = list(read_parts(manifest, "run", TWO, rows))
    np.testing.assert_allclose(np.concatenate([log.q for log in logs]), table[:11, 1:3], rtol=LAST_BIT)
    np.testing.assert_allclose(np.concatenate([log.t for log in logs]), table[:11, 0])
    told = [note for log in logs for note in log.notes]
    whole = ["1 row like the row before left out: 9", "1 row with the time stamp of the row before left out: 4"]
    assert sorted(told) == whole
    assert [row for log in logs for row in log.rows(range(len(log.t)))] == [1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13]
    if rows > 3:
        assert [str(f) for f in check_log(logs[0], TWO).findings if f.kind == "reading"] == whole
        assert logs[0].where([3]) == "row 5 (line 5)"
    with pytest.raises(LogError, match=r"does not increase at row 4.*drop_repeated = true"):
        read_log(write(tmp_path, body.replace("drop_repeated = true", ""), "x.csv"), "run", TWO)


def test_time_in_small_integers(tmp_path):
    """The difference of two of them does not fit their own type."""
    np.savez(tmp_path / "x.npz", t=np.array([-120, 0, 120], dtype=np.int8), x=np.eye(3)[:, :2])
    body = """
time = { column = "t", unit = "ms" }
position = { array = "x", unit = "rad" }
torque = { array = "x", unit = "N m" }
"""
    np.testing.assert_allclose(read_log(write(tmp_path, body, "x.npz"), "run", TWO).t, [0, 0.12, 0.24])


def test_a_new_format_is_one_function_and_one_entry(tmp_path, monkeypatch):
    """Frames of five 8-byte numbers, the last one first: rows, parts and errors come of themselves."""

    def read_frames(request):
        table = np.frombuffer(request.path.read_bytes(), "<f8").reshape(-1, 5)[::-1]
        places = [request.place(column, 5) for _, column in request.columns]
        yield from request.named(request.rebatched(table[k : k + 7, places].T for k in range(0, len(table), 7)))

    t = np.arange(40) / 100
    q = smooth(t)[0]
    tau = 2 * np.cos(q)
    (tmp_path / "run.frames").write_bytes(np.column_stack([t, q, tau])[::-1].astype("<f8").tobytes())
    signals = """
[signals]
time = { column = 1, unit = "s" }
position = { columns = [2, 3], unit = "rad" }
torque = { columns = [4, 5], unit = "N m" }
"""
    manifest = write(tmp_path, "rows = [3, 30]\n" + signals, "run.frames")
    with pytest.raises(LogError, match=r"run.frames: '.frames' files cannot be read. Use one of: .bag, .*, .parquet"):
        read_log(manifest, "run", TWO)
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, formats.Format((".frames",), read_frames)))
    log = read_log(manifest, "run", TWO)
    np.testing.assert_array_equal(log.q, q[2:30])
    np.testing.assert_array_equal(log.tau, tau[2:30])
    assert [len(part.t) for part in read_parts(manifest, "run", TWO, 10)] == [10, 10, 8]
    with pytest.raises(LogError, match=r"run.frames: ends before row 50"):
        read_log(write(tmp_path, "rows = [3, 50]\n" + signals, "run.frames"), "run", TWO)
    with pytest.raises(LogError, match=r"run.frames: has 5 columns, column 6 is asked for"):
        read_log(write(tmp_path, signals.replace("[4, 5]", "[4, 6]"), "run.frames"), "run", TWO)
    (tmp_path / "run.frames").write_bytes(b"")
    with pytest.raises(LogError, match=r"run.frames: is empty, not one byte long"):
        read_log(manifest, "run", TWO)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_whose_recorder_is_not_done_is_called_so_and_not_broken(tmp_path, monkeypatch, ending):
    table = pd.DataFrame(0.01 * np.arange(4000.0).reshape(-1, 5), columns=list("tabcd"))
    file = tmp_path / f"run.{ending}"
    table.to_csv(file, index=False, header=False) if ending == "csv" else table.to_parquet(file)
    signals = (
        "[signals]\ntime = { rate_hz = 100.0 }\n"
        'position = { columns = [2, 3], unit = "rad" }\ntorque = { columns = [4, 5], unit = "N m" }\n'
    )
    manifest = write(tmp_path, signals, file.name)
    read = formats.read_chunks

    def late(request):
        """Let the recorder add the first half of a line, or of what a file of Parquet ends with."""
        with file.open("a") as log:
            log.write("40.0,40.0")
        return read(request)

    with monkeypatch.context() as patch:
        patch.setattr("ident.logs.log.read_chunks", late)
        with pytest.raises(LogError, match=f"^run.{ending}: changed while it was read. Wait until its recorder is"):
            read_log(manifest, "run", TWO)
    with pytest.raises(LogError, match=r"has 2 columns, the lines before have 5|cannot be read as Parquet"):
        read_log(manifest, "run", TWO)
