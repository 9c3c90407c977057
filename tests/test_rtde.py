"""Recordings of RTDE and of libfranka: columns by name wherever they stand, and what is missing is said."""

import csv
import io

import numpy as np
import pytest
from logs_data import TWO

from ident.errors import LogError
from ident.logs import read_log, read_manifest
from ident.logs.readers.info import convert, log_info
from ident.robot.file import MDHJoint, from_mdh

SIX = from_mdh("ur", [MDHJoint() for _ in range(6)])
SEVEN = from_mdh("panda", [MDHJoint() for _ in range(7)])
VECTORS = {"target_q": 6, "actual_q": 6, "actual_qd": 6, "actual_current": 6, "target_moment": 6, "actual_TCP_pose": 6}
RNG = np.random.default_rng(3)


def rtde_table(rows=50, vectors=VECTORS, rate=500.0):
    """Return names and numbers as both clients lay them out: scalars under their name, vectors as NAME_i."""
    names, columns = ["timestamp"], [1234.5 + np.arange(rows) / rate]
    for vector, size in vectors.items():
        names += [f"{vector}_{i}" for i in range(size)]
        columns += list(RNG.normal(size=(size, rows)))
    return [*names, "runtime_state"], np.column_stack([*columns, np.full(rows, 2)])


def by_ur_rtde(names, table, order=None):
    """Fixed notation with six decimals, commas, none at the end of a line."""
    order = range(len(names)) if order is None else order
    lines = [",".join(names[i] for i in order)]
    lines += [",".join(f"{row[i]:.6f}" for i in order) for row in table]
    return "\n".join(lines) + "\n"


def by_ur_client(names, table):
    """Python's csv.writer with a blank as delimiter."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=" ")
    writer.writerow(names)
    writer.writerows(table.tolist())
    return stream.getvalue()


def by_libfranka(rows=40, separator=",", milliseconds=2000):
    groups = {"state.q": 7, "state.q_d": 7, "state.dq": 7, "state.dq_d": 7, "state.tau_J": 7,
              "state.tau_ext_hat_filtered": 7, "cmd.q_d": 7, "cmd.O_T_EE_d": 16, "cmd.tau_J_d": 7}  # fmt: skip
    names = ["time", "success_rate", *(f"{g}[{i}]" for g, size in groups.items() for i in range(size))]
    table = RNG.normal(size=(rows, len(names)))
    table[:, 0], table[:, 1] = milliseconds + np.arange(rows), 1.0
    lines = [separator.join(names)] + [f"{int(row[0])}," + ",".join(repr(x) for x in row[1:].tolist()) for row in table]
    return "\n".join(lines) + "\n", names, table


def by_first_libfranka(rows=40):
    """As the first releases write: two columns q_d and dq_d, and an empty one between state and command."""
    state = {"q": 7, "q_d": 7, "dq": 7, "dq_d": 7, "tau_J": 7, "tau_ext_hat_filtered": 7}
    command = {"q_d": 7, "dq_d": 7, "O_T_EE_d": 16, "O_dP_EE_d": 6, "tau_J_d": 7}

    def columns(groups):
        return [", ".join(f"{g}[{i}]" for i in range(size)) for g, size in groups.items()]

    header = ",".join(["duration, success rate, " + ",".join(columns(state)), "sent commands", *columns(command)])
    names = ["duration", "success rate", *(f"{g}[{i}]" for g, size in state.items() for i in range(size))]
    table = RNG.normal(size=(rows, len(names)))
    table[:, 0], table[:, 1] = np.arange(rows), 1.0
    sent = ",".join(["0"] * sum(command.values()))
    lines = [header] + [f"{int(r[0])}," + ",".join(map(repr, r[1:].tolist())) + ",," + sent for r in table]
    return "\n".join(lines) + "\n", names, table


def picked(names, table, pattern, count):
    return np.column_stack([table[:, names.index(pattern.format(i))] for i in range(count)])


def refused(call, *args, **how) -> str:
    with pytest.raises(LogError) as caught:
        call(*args, **how)
    return str(caught.value)


def test_ur_rtde_in_any_order_of_columns(tmp_path):
    names, table = rtde_table()
    order = RNG.permutation(len(names))
    (tmp_path / "run.csv").write_text(by_ur_rtde(names, table, order))
    done = convert(tmp_path / "run.csv", tmp_path / "out.parquet", robot=SIX)
    assert (done.rows, done.dropped) == (50, 0)
    text = done.manifest.read_text()
    assert 'unit = "A"' in text
    with pytest.raises(LogError, match="'A' needs a gain"):
        read_manifest(done.manifest)
    done.manifest.write_text(text.replace('unit = "A"', 'unit = "A", gain = [10, 10, 9, 8, 7, -6]'))
    log = read_log(read_manifest(done.manifest), "out", SIX)
    assert np.array_equal(log.q, np.round(picked(names, table, "actual_q_{}", 6), 6))
    assert np.array_equal(log.qd, np.round(picked(names, table, "actual_qd_{}", 6), 6))
    current = np.round(picked(names, table, "actual_current_{}", 6), 6)
    assert np.allclose(log.tau, current * [10, 10, 9, 8, 7, -6], rtol=1e-15)
    assert np.allclose(log.t, np.arange(50) / 500, atol=1e-9)
    assert "# also there, in N m: " in text


def test_ur_client_and_what_info_says(tmp_path):
    names, table = rtde_table()
    (tmp_path / "run.csv").write_text(by_ur_client(names, table))
    info = log_info(tmp_path / "run.csv")
    assert info.recorded.kind == "RTDE recording (UR's client)"
    assert info.recorded.named == tuple(f"joint{i}" for i in range(1, 7))
    assert [(c.label, c.unit) for c in info.recorded.channels] == [
        ("position", "rad"), ("velocity", "rad/s"), ("current", "A"), ("target_moment", "N m")]  # fmt: skip
    assert info.recorded.torque == "current"
    assert info.rate_hz == pytest.approx(500)
    others = [f"target_q_{i}" for i in range(6)] + [f"actual_TCP_pose_{i}" for i in range(6)] + ["runtime_state"]
    assert f"columns not used: {', '.join(others)}" in info.sentences()
    convert(tmp_path / "run.csv", tmp_path / "out.parquet")
    import pandas as pd

    frame = pd.read_parquet(tmp_path / "out.parquet")
    assert np.array_equal(frame["time"], table[:, 0])
    assert np.array_equal(frame["current.joint6"], table[:, names.index("actual_current_5")])


def test_states_that_ur_rtde_wrote_twice_are_dropped_and_counted(tmp_path):
    names, table = rtde_table()
    again = np.repeat(table, np.where(np.isin(np.arange(50), [4, 20, 21]), 2, 1), axis=0)
    again = np.delete(again, 30, axis=0)
    (tmp_path / "run.csv").write_text(by_ur_rtde(names, again))
    info = log_info(tmp_path / "run.csv")
    assert (info.steps.repeats.count, [n for n, _ in info.steps.repeats.first], info.steps.lost) == (3, [6, 23, 25], 1)
    done = convert(tmp_path / "run.csv", tmp_path / "out.csv", robot=SIX)
    assert (done.rows, done.dropped) == (49, 3)
    assert "3 rows dropped whose clock repeats" in done.stanza


@pytest.mark.parametrize("separator", [",", ", "])
def test_libfranka_of_both_kinds(tmp_path, separator):
    text, names, table = by_libfranka(separator=separator)
    (tmp_path / "run.csv").write_text(text)
    done = convert(tmp_path / "run.csv", tmp_path / "out.csv", robot=SEVEN)
    log = read_log(read_manifest(done.manifest), "out", SEVEN)
    assert np.array_equal(log.q, picked(names, table, "state.q[{}]", 7))
    assert np.array_equal(log.qd, picked(names, table, "state.dq[{}]", 7))
    assert np.array_equal(log.tau, picked(names, table, "state.tau_J[{}]", 7))
    assert np.allclose(log.t, np.arange(40) * 1e-3, atol=1e-12)
    assert log.clock == 2.0
    assert done.info.recorded.kind == "libfranka log"


def test_the_first_releases_of_libfranka(tmp_path):
    text, names, table = by_first_libfranka()
    (tmp_path / "run.csv").write_text(text)
    done = convert(tmp_path / "run.csv", tmp_path / "out.csv", robot=SEVEN)
    log = read_log(read_manifest(done.manifest), "out", SEVEN)
    for signal, column in ((log.q, "q"), (log.qd, "dq"), (log.tau, "tau_J")):
        assert np.array_equal(signal, picked(names, table, column + "[{}]", 7))
    assert np.allclose(log.t, np.arange(40) * 1e-3, atol=1e-12)
    (tmp_path / "run.csv").write_text(text.replace("q[3],", "r[3],", 1))
    assert "column 'q[3]' is not there" in refused(log_info, tmp_path / "run.csv")
    (tmp_path / "run.csv").write_text(text.replace("duration", "time", 1))
    assert "the header of no known recorder" in refused(log_info, tmp_path / "run.csv")


def test_what_is_missing_is_named(tmp_path):
    path = tmp_path / "run.csv"

    def after(change):
        names, table = rtde_table(5)
        path.write_text(by_ur_rtde(*change(names, table)))
        return refused(log_info, path)

    def without(*gone):
        return lambda names, table: (
            [n for n in names if n not in gone],
            table[:, [i for i, n in enumerate(names) if n not in gone]],
        )

    assert after(without("timestamp")) == (
        "run.csv, line 1: column 'timestamp', the clock, is not there. Record the output 'timestamp' too."
    )
    assert after(without("actual_q_3")) == (
        "run.csv, line 1: column 'actual_q_3' is not there. It has: actual_q_0, actual_q_1, actual_q_2, actual_q_4,"
        " actual_q_5."
    )
    assert after(without(*[f"actual_q_{i}" for i in range(6)])) == (
        "run.csv, line 1: has no actual_q_0 ... actual_q_5. Record the output 'actual_q' too."
    )
    twice = after(lambda names, table: ([*names[:-1], "actual_q_0"], table))
    assert twice.startswith("run.csv, line 1: column 'actual_q_0' is twice.")


def test_a_recording_without_current_or_torque(tmp_path):
    names, table = rtde_table(20, {"actual_q": 6, "actual_qd": 6, "target_moment": 6})
    (tmp_path / "run.csv").write_text(by_ur_rtde(names, table))
    assert "no current or torque is recorded: nothing can be identified from it alone" in (
        log_info(tmp_path / "run.csv").sentences()
    )
    assert refused(convert, tmp_path / "run.csv", tmp_path / "out.csv") == (
        "run.csv: carries no current and no torque. Torque or current must be recorded for every joint."
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.csv"]


def test_broken_texts_are_one_sentence_and_leave_nothing(tmp_path):
    names, table = rtde_table(20)
    good = by_ur_rtde(names, table)
    path, out = tmp_path / "run.csv", tmp_path / "out.parquet"

    def after(text):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        found = refused(convert, path, out)
        assert sorted(p.name for p in tmp_path.iterdir()) == ["run.csv"]
        return found

    assert after("") == "run.csv: is empty, not one byte long. Record it again, or name another file."
    assert after(good.splitlines()[0] + "\n").startswith("run.csv: has no rows.")
    cut = after(good[:-40])
    assert cut.startswith("run.csv, line 21: has ")
    assert after(good.replace(good.splitlines()[3].split(",")[7], "oops")).startswith(
        "run.csv, line 4: column 8 is 'oops'"
    )
    assert after(b"\xff\xfe" + good.encode()) == "run.csv, line 1: is not UTF-8 text. Save it as UTF-8."
    back = table.copy()
    back[10:, 0] -= 0.5
    assert after(by_ur_rtde(names, back)).startswith(
        "run.csv: the clock 'timestamp' jumps back 1 time, at row 11 (-498 ms)."
    )
    back[4, 0] = np.nan
    assert after(by_ur_rtde(names, back)) == "run.csv, line 6: no finite number in 'timestamp'."
    unknown = after("a,b,c\n1,2,3\n")
    assert unknown.startswith("run.csv, line 1: has the header of no known recorder: a, b, c.")


def test_nan_in_a_joint_is_said_with_its_name(tmp_path):
    names, table = rtde_table(20)
    table[3:5, names.index("actual_qd_2")] = np.nan
    table[:, names.index("actual_current_4")] = np.nan
    (tmp_path / "run.csv").write_text(by_ur_rtde(names, table))
    said = log_info(tmp_path / "run.csv").sentences()
    assert "velocity is NaN, of 'joint3' in 2 rows" in said
    assert "current is NaN, of 'joint5' in every row" in said
    assert refused(convert, tmp_path / "run.csv", tmp_path / "out.csv") == (
        "run.csv: current is NaN, of 'joint5' in every row. Torque or current must be recorded for every joint."
    )


def test_robots_and_names_that_do_not_fit(tmp_path):
    names, table = rtde_table(5)
    (tmp_path / "run.csv").write_text(by_ur_rtde(names, table))
    assert refused(log_info, tmp_path / "run.csv", robot=TWO) == (
        "run.csv: is a recording of 6 joints, robot 'two' has 2."
    )
    assert refused(log_info, tmp_path / "run.csv", joints=["a", "b"]) == (
        "run.csv: is a recording of 6 joints, names are given for 2."
    )
    assert log_info(tmp_path / "run.csv", joints=list("abcdef")).recorded.named == tuple("abcdef")
    assert refused(log_info, tmp_path / "run.csv", topic="/j") == "run.csv, /j: is no bag and has no topics."
    assert refused(log_info, tmp_path / "nothing.csv") == "nothing.csv: there is no such file."
    (tmp_path / "x.xlsx").write_text("x")
    assert refused(log_info, tmp_path / "x.xlsx").startswith("x.xlsx: is no recording that names its own signals.")
