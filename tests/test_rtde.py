"""Recordings of RTDE and of libfranka: `ident init` knows their columns by name, wherever they stand."""

import csv
import io

import numpy as np
import pytest

from ident import pipelines
from ident.logs import check_log, read_log, read_manifest
from ident.model import Coulomb, Model, Viscous, torque
from ident.robot import read_robot
from ident.spatial.inertia import from_com

RATE = 500.0


def place(folder, n):
    """Write robot.toml, an arm of n joints, and return it with t, q, qd and tau of a motion."""
    rows = [
        f'[[joint]]\nname = "j{k + 1}"\nalpha = {(0, -90, 90)[k % 3]}\na = {0.1 * (k > 0)}\nd = {0.2 * (k % 2)}\n'
        for k in range(n)
    ]
    about = 'name = "arm"\nconvention = "mdh"\nlength = "m"\nangle = "deg"\ngravity = [0, 0, -9.81]\n'
    (folder / "robot.toml").write_text(about + "".join(rows))
    robot, rng = read_robot(folder / "robot.toml"), np.random.default_rng(1)
    t = np.arange(0, 8, 1 / RATE)
    w = 0.5 * np.pi * np.arange(1, 4)
    a, b = rng.normal(size=(2, 3, n)) * 0.3 / np.arange(1, 4)[:, None]
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q, qd, qdd = s @ a + c @ b, (c * w) @ a - (s * w) @ b, -(s * w**2) @ a - (c * w**2) @ b
    links = [from_com(m, [0.04, 0.02, 0.06], 0.02 * m * np.eye(3)) for m in 5.0 - 0.6 * np.arange(n)]
    tau = torque(Model(robot, (Viscous(), Coulomb())), np.append(links, np.ones(2 * n)), q, qd, qdd)
    return robot, t, q, qd, tau + 0.01 * tau.std(axis=0) * rng.normal(size=tau.shape)


def rtde(t, q, qd, tau):
    """Return names and numbers as both clients lay them out: scalars under their name, vectors as NAME_i."""
    rng = np.random.default_rng(2)
    vectors = {"target_q": q + 1e-4 * rng.normal(size=q.shape), "actual_q": q, "actual_qd": qd,
               "actual_current": tau / 10, "target_moment": 1.02 * tau,
               "actual_TCP_pose": 1e-3 * np.cumsum(rng.normal(size=q.shape), axis=0)}  # fmt: skip
    names = ["timestamp", *(f"{vector}_{i}" for vector in vectors for i in range(6)), "runtime_state"]
    return names, np.column_stack([1234.5 + t, *vectors.values(), np.full(len(t), 2)])


def by_ur_rtde(names, table):
    """Fixed notation, commas, none at the end of a line; the columns in any order."""
    order = np.random.default_rng(3).permutation(len(names))
    lines = [",".join(names[i] for i in order)]
    return "\n".join([*lines, *(",".join(f"{row[i]:.9f}" for i in order) for row in table)]) + "\n"


def by_ur_client(names, table):
    """Python's csv.writer with a blank as delimiter."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=" ")
    writer.writerow(names)
    writer.writerows(table.tolist())
    return stream.getvalue()


def by_libfranka(t, q, qd, tau, separator):
    noise = np.random.default_rng(2).normal(size=(len(t), 16))
    groups = {"state.q": q, "state.q_d": q, "state.dq": qd, "state.dq_d": qd, "state.tau_J": tau,
              "state.tau_ext_hat_filtered": 0.05 * noise[:, :7], "cmd.q_d": q, "cmd.O_T_EE_d": noise,
              "cmd.tau_J_d": 0.98 * tau}  # fmt: skip
    names = ["time", "success_rate", *(f"{g}[{i}]" for g, x in groups.items() for i in range(x.shape[1]))]
    table = np.column_stack([np.ones(len(t)), *groups.values()])
    rows = (f"{2000 + round(1e3 * at)}," + ",".join(map(repr, row)) for at, row in zip(t, table.tolist(), strict=True))
    return "\n".join([separator.join(names), *rows]) + "\n"


def by_first_libfranka(t, q, qd, tau):
    """As the first releases write: two columns q_d and dq_d, and an empty one between state and command."""
    state = {"q": q, "q_d": q, "dq": qd, "dq_d": qd, "tau_J": tau, "tau_ext_hat_filtered": 0.001 * tau}
    command = {"q_d": 7, "dq_d": 7, "O_T_EE_d": 16, "O_dP_EE_d": 6, "tau_J_d": 7}

    def columns(groups):
        return [", ".join(f"{g}[{i}]" for i in range(size)) for g, size in groups.items()]

    described = ",".join(columns(dict.fromkeys(state, 7)))
    header = ",".join(["duration, success rate, " + described, "sent commands", *columns(command)])
    sent = ",".join(["0"] * sum(command.values()))
    table = np.column_stack(list(state.values())).tolist()
    rows = (f"{round(1e3 * at)},1," + ",".join(map(repr, row)) + ",," + sent for at, row in zip(t, table, strict=True))
    return "\n".join([header, *rows]) + "\n"


def started(folder, text):
    """Return what `ident init` decides of a file, its first recording, and the log that is read then."""
    (folder / "run.csv").write_text(text)
    done = pipelines.init(folder / "robot.toml", [folder / "run.csv"], into=folder)
    manifest = read_manifest(folder / "dataset.toml")
    return done, manifest.recordings[0], read_log(manifest, "run", read_robot(folder / "robot.toml"))


@pytest.mark.parametrize("write", [by_ur_rtde, by_ur_client])
def test_recordings_of_rtde(tmp_path, write):
    _, t, q, qd, tau = place(tmp_path, 6)
    done, signals, log = started(tmp_path, write(*rtde(t, q, qd, tau)))
    assert signals.position.columns == tuple(f"actual_q_{i}" for i in range(6))
    assert done.guessed == ("gain",)  # measured currents, not the controller's target_moment
    for read, wanted in ((log.q, q), (log.qd, qd), (log.tau, tau / 10), (log.t, t)):
        np.testing.assert_allclose(read, wanted, atol=1e-8)


def test_states_that_ur_rtde_wrote_twice_are_left_out_and_told(tmp_path):
    robot, *signals = place(tmp_path, 6)
    names, table = rtde(*signals)
    again = np.repeat(table, np.where(np.isin(np.arange(len(table)), [40, 200, 201]), 2, 1), axis=0)
    _, _, log = started(tmp_path, by_ur_rtde(names, np.delete(again, 300, axis=0)))
    assert len(log.t) == len(table) - 1
    said = [finding.message for finding in check_log(log, robot).findings]
    assert said[0].startswith("3 rows like the row before left out: 42, 203, 205")
    assert said[1].startswith("1 row seems to be missing after row 300 (4 ms)")


@pytest.mark.parametrize("write", [by_libfranka, by_first_libfranka])
@pytest.mark.parametrize("separator", [",", ", "])
def test_logs_of_libfranka_of_all_kinds(tmp_path, write, separator):
    _, t, q, qd, tau = place(tmp_path, 7)
    text = write(t, q, qd, tau, separator) if write is by_libfranka else write(t, q, qd, tau)
    done, signals, log = started(tmp_path, text)
    assert not done.guessed
    assert signals.time.unit == "ms"
    assert signals.torque.columns[0] == ("state." if write is by_libfranka else "") + "tau_J[0]"
    for read, wanted in ((log.q, q), (log.qd, qd), (log.tau, tau), (log.t, t)):
        np.testing.assert_allclose(read, wanted, atol=1e-9)
