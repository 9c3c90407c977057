"""MAT files as MATLAB users have them: objects beside the arrays, structures, samples along the columns."""

import struct
import subprocess
import sys

import numpy as np
import pytest
import scipy.io
from logs_data import ROOT, TWO, real_data, real_manifest, smooth

from ident.cad import read_cad
from ident.dynamics import inverse_dynamics
from ident.errors import LogError
from ident.logs import Processing, check_log, process, read_log, read_manifest
from ident.logs.readers.read_arrays import _READER
from ident.robot import read_robot

T = np.arange(50) / 100
Q = smooth(T)[0]

MANIFEST = """
[dataset]
name = "two"
[signals]
time = { column = "rec.t", unit = "s" }
position = { array = "rec.pos.q", unit = "rad" }
torque = { array = "tau", unit = "N m" }
[[recording]]
name = "run"
file = "x.mat"
"""


def read(folder, manifest=MANIFEST):
    (folder / "dataset.toml").write_text(manifest)
    return read_log(read_manifest(folder / "dataset.toml"), "run", TWO)


def opaque() -> bytes:
    """Return an element of a MAT file that holds an object of MATLAB's: array flags, three names, an empty array."""

    def element(kind, data):
        return struct.pack("<II", kind, len(data)) + data + b"\0" * (-len(data) % 8)

    def matrix(array_class, *parts):
        return element(14, element(6, struct.pack("<II", array_class, 0)) + b"".join(parts))

    empty = matrix(6, element(5, struct.pack("<ii", 0, 0)), element(1, b""), element(9, b""))
    return matrix(17, element(1, b"robot"), element(1, b"MCOS"), element(1, b"SerialLink"), empty)


@pytest.mark.parametrize("transposed", [False, True])
def test_an_object_structures_and_transposed_arrays(tmp_path, transposed):
    as_kept = (lambda a: np.atleast_2d(a).T) if transposed else (lambda a: a)
    rec = {"t": as_kept(T[:, None]), "pos": {"q": as_kept(Q)}, "name": "a run"}
    scipy.io.savemat(tmp_path / "x.mat", {"rec": rec, "tau": as_kept(2 * Q)})
    with (tmp_path / "x.mat").open("ab") as file:
        file.write(opaque())
    log = read(tmp_path)
    np.testing.assert_array_equal(log.t, T)
    np.testing.assert_array_equal(log.q, Q)
    np.testing.assert_array_equal(log.tau, 2 * Q)
    said = [f.message for f in check_log(log, TWO).findings if f.kind == "reading"]
    each = "has its 50 samples along the columns and was transposed"
    assert said == ([f"array 'rec.pos.q' {each}", f"array 'tau' {each}"] if transposed else [])


@pytest.mark.slow
def test_an_object_in_front_is_no_array(tmp_path):
    scipy.io.savemat(tmp_path / "x.mat", {"rec": {"t": T}, "tau": Q})
    content = (tmp_path / "x.mat").read_bytes()
    (tmp_path / "x.mat").write_bytes(content[:128] + opaque() + content[128:])
    with pytest.raises(LogError, match=r"there is no array 'rec\.pos\.q'.* It has: rec\.t, tau\."):
        read(tmp_path)


@pytest.mark.slow
def test_the_size_that_a_file_claims_is_asked_before_it_is_read(tmp_path):
    """Where the system bounds no memory, as on Windows, which has no module `resource`."""
    scipy.io.savemat(tmp_path / "x.mat", {"q": np.zeros((1000, 2))}, do_compression=True)
    unbounded = "import sys; sys.modules['resource'] = None\n" + _READER
    for most, why in ((20_000, ""), (10_000, "MemoryError\n")):
        command = [sys.executable, "-I", "-c", unbounded, str(most), str(tmp_path / "x.mat"), str(tmp_path), "q"]
        assert subprocess.run(command, capture_output=True, text=True, check=False).stderr == why


@pytest.mark.parametrize(("asked", "message"), [
    ("rec.pos.p", "x.mat: there is no array 'rec.pos.p'; did you mean 'rec.pos.q'?"
     " It has: rec.t, rec.pos.q, rec.cells, tau."),
    ("rec.cells", "x.mat: holds structures or cells where numbers are wanted. Save plain arrays."),
])  # fmt: skip
@pytest.mark.slow
def test_a_field_that_is_not_there_or_no_array(tmp_path, asked, message):
    cells = np.array([np.ones(2), np.ones(3)], dtype=object)
    rec = {"t": T, "pos": {"q": Q}, "cells": cells}
    scipy.io.savemat(tmp_path / "x.mat", {"rec": rec, "tau": Q})
    with pytest.raises(LogError) as caught:
        read(tmp_path, MANIFEST.replace("rec.pos.q", asked))
    assert str(caught.value) == message


def test_an_npz_with_samples_along_the_columns(tmp_path):
    np.savez(tmp_path / "x.npz", **{"rec.t": T, "rec.pos.q": Q.T, "tau": Q})
    log = read(tmp_path, MANIFEST.replace("x.mat", "x.npz"))
    np.testing.assert_array_equal(log.q, Q)
    assert log.notes == ("array 'rec.pos.q' has its 50 samples along the columns and was transposed",)


@pytest.mark.slow
def test_kr300(monkeypatch):
    """The published structure: motor torque times gear ratio, degrees, offsets of the DH table."""
    manifest, robot = real_manifest("kr300", monkeypatch), read_robot(ROOT / "datasets" / "kr300" / "robot.toml")
    home = np.deg2rad([0, -90, 90, 0, 0, 0])
    for recording in manifest.recordings:
        log = read_log(manifest, recording.name, robot)
        rec = scipy.io.loadmat(real_data("kuka_kr300") / recording.file, variable_names=["rec", "para"])
        rec, ratios = rec["rec"][0, 0], rec["para"][0, 0]["u"].ravel()
        assert log.q.shape == (2501, 6)
        np.testing.assert_allclose(log.q, np.deg2rad(rec["act_pos_mot_deg"].T) + home, atol=1e-12)
        np.testing.assert_allclose(log.tau, rec["act_torque_abs_nm"].T * ratios, rtol=1e-5)
        # single samples of the torque leap: joint5 in row 75 of A goes from -469 to -156 N m and back to -447
        assert {f.kind for f in check_log(log, robot).findings} - {"spikes"} == {"reading"}


@pytest.mark.slow
def test_kr300_frames_and_signs(monkeypatch):
    """CAD and friction explain the torque, as the README of the data has it: 12 % in all, joint 4 with 34 %."""
    manifest, robot = real_manifest("kr300", monkeypatch), read_robot(ROOT / "datasets" / "kr300" / "robot.toml")
    cad = read_cad(real_data("kuka_kr300") / "cad.csv").for_robot(robot)
    motion = process(read_log(manifest, "A", robot), Processing(position_hz=10, torque_hz=10, edge_s=0.5))
    tau = inverse_dynamics(robot, cad, motion.q, motion.qd, motion.qdd)
    error = np.empty_like(tau)
    for j in range(6):
        more = [motion.qdd[:, j], motion.qd[:, j], np.tanh(100 * motion.qd[:, j]), np.ones(len(tau))]
        more += [np.sin(motion.q[:, 1]), np.sin(2 * motion.q[:, 1])] if j == 1 else []  # the counterbalance
        Y, left = np.column_stack(more), motion.tau[:, j] - tau[:, j]
        error[:, j] = left - Y @ np.linalg.lstsq(Y, left)[0]
    assert np.linalg.norm(error) < 0.15 * np.linalg.norm(motion.tau)
    assert np.all(np.linalg.norm(error, axis=0) < 0.4 * np.linalg.norm(motion.tau, axis=0))


def test_tiago(monkeypatch):
    """A force and seven currents, each in a file of its own, with gains of either sign."""
    manifest = real_manifest("tiago", monkeypatch)
    robot = read_robot(ROOT / "datasets" / "tiago" / "robot.toml")
    assert [j.kind for j in robot.joints] == ["prismatic"] + ["revolute"] * 7
    assert [len(read_log(manifest, r.name, robot).t) for r in manifest.recordings] == [8022, 3971, 1700]
    log = read_log(manifest, "last", robot)
    rows = slice(4071, 5771)  # of the file's lines, header first
    effort = np.array([line.split(",") for line in _lines("tiago_effort.csv")[rows]], dtype=float)
    ratio, constant = [1] + [100] * 4 + [336] * 3, [1, 0.136, 0.136] + [-0.087] * 2 + [-0.0613] * 3
    np.testing.assert_allclose(log.tau, effort[:, 1:] * ratio * constant, rtol=1e-12)
    assert log.qd is None


def _lines(file):
    return (real_data("tiago") / file).read_text().splitlines()
