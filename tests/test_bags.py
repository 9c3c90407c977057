"""Joint states out of bags: what `rosbags` wrote is read again to the last bit, by name, in any order."""

import dataclasses
import shutil
import struct

import bags
import numpy as np
import pandas as pd
import pytest
import two_joint_arm
from bags import KINDS, NAMES, START, STEP, motion, packed, state, storage, write_bag
from hypothesis import given, settings
from hypothesis import strategies as st
from logs_data import TWO
from seeds import cases

from ident.errors import InputError, LogError
from ident.files import file_sha256
from ident.logs import check_log, iter_logs, read_log, read_manifest
from ident.logs.readers import bag, bag1
from ident.logs.readers.bag import as_table
from ident.logs.readers.joint_state import ARRAYS, BATCH, decode, layout_of

MANIFEST = """
[dataset]
name = "two"
[signals]
time = {{ array = "{clock}", unit = "ns" }}
position = {{ array = "position", {columns}unit = "rad" }}
velocity = {{ array = "velocity", {columns}unit = "rad/s" }}
torque = {{ array = "effort", {columns}unit = "N m" }}
[[recording]]
name = "run"
file = "{file}"
{more}
"""
EXPERIMENT = """
[experiment]
title = "a bag"
robot = "robot.toml"
data = "dataset.toml"
[recordings]
fit = ["run"]
[fit]
loss = "ols"
feasible = false
"""


def manifest(path, clock="stamp", columns="", more=""):
    text = MANIFEST.format(file=path.name, clock=clock, columns=columns, more=more)
    (path.parent / "dataset.toml").write_text(text)
    return read_manifest(path.parent / "dataset.toml")


def read(path, robot=TWO, **how):
    return read_log(manifest(path, **how), "run", robot)


def refused(path, **how) -> str:
    with pytest.raises(LogError) as caught:
        read(path, **how)
    return str(caught.value)


def table_of(path, topic=""):
    """Return the table that `ident init` makes of a bag."""
    table = as_table(path, path.parent / f"{path.stem}.parquet", topic)
    frame = pd.read_parquet(table)
    table.unlink()
    return frame


def refused_table(path) -> str:
    there = sorted(path.parent.iterdir())
    with pytest.raises(LogError) as caught:
        table_of(path)
    assert sorted(path.parent.iterdir()) == there
    return str(caught.value)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_written_is_read_again_exactly(tmp_path, kind, shuffle):
    messages, (q, qd, tau) = motion(shuffle=shuffle)
    log = read(write_bag(tmp_path / "run", kind, messages))
    assert np.array_equal(log.q, q)
    assert np.array_equal(log.qd, qd)
    assert np.array_equal(log.tau, tau)
    assert np.array_equal(log.t, np.arange(len(q)) * STEP * 1e-9)
    assert log.clock == START * 1e-9
    assert check_log(log, TWO).dt_median == pytest.approx(STEP * 1e-9, rel=1e-12)


@pytest.mark.parametrize("kind", ["db3", "mcap"])
def test_the_file_inside_a_folder_is_a_bag_too(tmp_path, kind):
    messages, (q, _, _) = motion()
    file = storage(write_bag(tmp_path / "run", kind, messages))
    alone = shutil.copy(file, tmp_path / f"alone.{kind}")
    assert np.array_equal(read(tmp_path / alone.name).q, q)


@pytest.mark.parametrize("kind", ["db3", "mcap"])
def test_an_experiment_of_a_bag_that_is_a_folder(tmp_path, kind, monkeypatch):
    """It is fitted, its files' hash is told, and with many rows it is streamed."""
    from ident.experiment import read_experiment
    from ident.pipelines import steps as pipeline
    from ident.pipelines.compressed import compressed
    from ident.pipelines.factors import fitted
    from ident.pipelines.loaded import load

    bag = write_bag(tmp_path / "run", kind, motion(600, names=("shoulder", "elbow"))[0])
    (tmp_path / "robot.toml").write_text(two_joint_arm.ROBOT)
    (tmp_path / "dataset.toml").write_text(MANIFEST.format(file="run", clock="stamp", columns="", more=""))
    (tmp_path / "experiment.toml").write_text(EXPERIMENT)
    loaded = load(read_experiment(tmp_path / "experiment.toml"))
    estimate = fitted(loaded, compressed(loaded), [])
    assert estimate.provenance["sha256 run"] == file_sha256(bag)
    e = loaded.experiment
    assert len(list(pipeline.motions(loaded, e.fit, e.processing, []))) == 1
    monkeypatch.setattr("ident.logs.stream.NUMBERS", 200 * 7)
    assert len(list(pipeline.motions(loaded, e.fit, e.processing, []))) == 3


@pytest.mark.parametrize("how", ["bz2", "lz4", "zstd"])
def test_compressed_bags(tmp_path, how):
    messages, (q, _, _) = motion(500)
    if how == "zstd":
        from rosbags.rosbag2 import CompressionFormat, CompressionMode

        path = write_bag(tmp_path / "run", "mcap", messages, lambda w: w.set_compression(
            CompressionMode.MESSAGE, CompressionFormat.ZSTD))  # fmt: skip
    else:
        from rosbags.rosbag1 import Writer

        path = write_bag(
            tmp_path / "run", "bag", messages, lambda w: w.set_compression(Writer.CompressionFormat[how.upper()])
        )
    assert np.array_equal(read(path).q, q)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_a_bag_are_the_whole(tmp_path, kind):
    messages, (q, _, tau) = motion(3 * BATCH + 17)
    path = write_bag(tmp_path / "run", kind, messages)
    logs = list(iter_logs(manifest(path), "run", TWO, rows=5000))
    assert [len(log.t) for log in logs] == [5000, 7305]  # what is left is no part of its own
    assert np.array_equal(np.concatenate([log.q for log in logs]), q)
    assert np.array_equal(np.concatenate([log.tau for log in logs]), tau)


def test_rows_and_topic_of_the_manifest(tmp_path):
    messages, (q, _, _) = motion()
    other, _ = motion(topic="/other")
    path = write_bag(tmp_path / "run", "mcap", messages + other)
    log = read(path, more='topic = "/joint_states"\nrows = [3, 10]')
    assert np.array_equal(log.q, q[2:10])
    assert log.first_row == 3
    said = "has 2 topics of joint states: /joint_states, /other. Say which is meant: topic = '...' in the recording."
    assert refused(path) == f"run: {said}"
    assert np.array_equal(table_of(path, "/joint_states")["position.joint1"], q[:, 0])
    assert refused(path, more='topic = "/joint_stats"').startswith(
        "run: there is no topic '/joint_stats'; did you mean '/joint_states'?"
    )


def test_messages_of_other_joints_are_skipped_and_counted(tmp_path):
    messages, (q, _, tau) = motion()
    mixed = []
    for i, message in enumerate(messages):
        ns = message[1]
        mixed.append(message)
        mixed.append(("/joint_states", ns + 1000, ["finger"], ns + 1000, [0.1], [], []))
        if i == 3:
            mixed.append(("/joint_states", ns + 2000, ["joint2"], ns + 2000, [0.1], [0.0], [0.0]))
    path = write_bag(tmp_path / "run", "db3", mixed)
    log = read(path)
    assert np.array_equal(log.q, q)
    assert np.array_equal(log.tau, tau)


def test_joints_under_other_names_by_columns(tmp_path):
    messages, (q, _, _) = motion(names=("arm_b", "arm_a", "gripper"))
    path = write_bag(tmp_path / "run", "mcap", messages)
    log = read(path, columns='columns = ["arm_a", "arm_b"], ')
    assert np.array_equal(log.q, q[:, [1, 0]])
    assert refused(path).startswith("run, /joint_states: no message has the joint 'joint1'.")


def test_a_missing_joint_names_the_nearest(tmp_path):
    messages, _ = motion(names=("panda_joint1", "joint2"))
    found = refused(write_bag(tmp_path / "run", "bag", messages))
    assert found == ("run.bag, /joint_states: no message has the joint 'joint1'; did you mean 'joint2' or"
                     " 'panda_joint1'? It has: panda_joint1, joint2.")  # fmt: skip


def test_joints_that_never_come_together(tmp_path):
    messages = [("/j", START + i, [NAMES[i % 2]], START + i, [0.0], [0.0], [0.0]) for i in range(10)]
    found = refused(write_bag(tmp_path / "run", "mcap", messages))
    assert found.startswith("run, /j: no message carries all of joint1, joint2 together.")


@pytest.mark.parametrize(("tau", "problem"), [([], "the messages carry no effort"),
                                              ([np.nan, np.nan], "every effort in the messages is NaN")])  # fmt: skip
def test_a_bag_without_effort_says_so(tmp_path, tau, problem):
    messages = [(*m[:6], tau) for m in motion()[0]]
    path = write_bag(tmp_path / "run", "bag", messages)
    assert refused(path) == (
        f"run.bag, /joint_states: {problem}. Torque (or current) must be recorded: have the driver publish effort, or"
        " take torque from another file."
    )
    assert refused_table(path).startswith("run.bag, /joint_states: ")


def test_stamps_that_are_zero(tmp_path):
    messages = [(*m[:3], 0, *m[4:]) for m in motion()[0]]
    path = write_bag(tmp_path / "run", "mcap", messages)
    assert refused(path) == (
        "run, /joint_states: the header stamps are all 0. Take the time of arrival: array = 'received'."
    )
    log = read(path, clock="received")
    assert log.t[1] == STEP * 1e-9
    assert log.clock == pytest.approx((START + 77_000) * 1e-9, rel=1e-15)
    assert np.array_equal(table_of(path)["time"], [m[1] for m in messages])


def test_a_clock_that_jumps_back_is_named_with_its_messages(tmp_path):
    messages = [(*m[:3], m[3] - (1_500_000_000 if i >= 20 else 0), *m[4:]) for i, m in enumerate(motion()[0])]
    path = write_bag(tmp_path / "run", "db3", messages)
    assert refused(path).startswith(
        "run, /joint_states: the clock 'stamp' jumps back by 1.498 s between messages 20 and 21. "
    )
    assert refused_table(path).startswith(
        "run, /joint_states: the clock 'stamp' jumps back by 1.498 s at message 21. Cut the recording there; "
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_of_a_bag_has_its_numbers_without_repeated_messages(tmp_path, kind):
    messages, (q, qd, tau) = motion(9000 if kind == "mcap" else 60, shuffle=kind != "mcap")
    messages.insert(10, messages[9])
    messages.append(("/joint_states", START, ["finger"], START, [0.1], [], []))
    frame = table_of(write_bag(tmp_path / "run", kind, messages))
    for label, values in (("position", q), ("velocity", qd), ("effort", tau)):
        assert np.array_equal(frame[[f"{label}.{joint}" for joint in NAMES]], values)
    assert np.array_equal(frame["time"], START + STEP * np.arange(len(q)))


def test_a_table_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    path = write_bag(tmp_path / "run", "mcap", motion()[0])
    monkeypatch.setattr("ident.logs.readers.bag.rebatched", full)
    with pytest.raises((OSError, InputError), match="No space left"):
        as_table(path, tmp_path / "run.parquet")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run"]


def test_a_joint_without_numbers_is_named_and_a_velocity_left_out(tmp_path):
    messages = motion()[0]
    still = [(*m[:5], [np.nan, m[5][1]], m[6]) for m in messages]
    assert list(table_of(write_bag(tmp_path / "still", "bag", still))) == [
        "time", *(f"position.{j}" for j in NAMES), *(f"effort.{j}" for j in NAMES)]  # fmt: skip
    dead = [(*m[:6], [m[6][0], np.nan]) for m in messages]
    assert len(table_of(write_bag(tmp_path / "some", "bag", [messages[0], *dead[1:]]))) == len(messages)
    assert "every effort of 'joint2' is NaN" in refused_table(write_bag(tmp_path / "dead", "bag", dead))


def test_a_second_file_for_the_torque(tmp_path):
    messages, (q, _, _) = motion(12)
    path = write_bag(tmp_path / "run", "mcap", [(*m[:6], []) for m in messages])
    torque = np.arange(24.0).reshape(12, 2)
    np.savetxt(tmp_path / "torque.csv", torque, delimiter=",")
    found = manifest(path)
    signal = dataclasses.replace(found.recordings[0].torque, array=None, columns=(1, 2), file="torque.csv")
    found = dataclasses.replace(found, recordings=(dataclasses.replace(found.recordings[0], torque=signal),))
    log = read_log(found, "run", TWO)
    assert np.array_equal(log.q, q)
    assert np.array_equal(log.tau, torque)


def test_columns_that_a_bag_has_not(tmp_path):
    path = write_bag(tmp_path / "run", "mcap", motion()[0])
    assert refused(path, columns="columns = [1, 2], ").startswith("run: is a bag and has no column 'position'")
    assert refused(path, clock="stamps").startswith("run: is a bag and has no column 'stamps'; did you mean 'stamp'?")


def test_a_topic_of_another_type(tmp_path):
    from rosbags.rosbag1 import Writer

    store = bags.STORES[1]
    with Writer(tmp_path / "run.bag") as writer:
        chatter = writer.add_connection("/chatter", "std_msgs/msg/String", typestore=store)
        text = store.types["std_msgs/msg/String"](data="hello")
        writer.write(chatter, 1, store.serialize_ros1(text, "std_msgs/msg/String"))
    path = tmp_path / "run.bag"
    assert refused(path) == ("run.bag: has no topic of type sensor_msgs/msg/JointState. It has: /chatter"
                             " (std_msgs/msg/String).")  # fmt: skip
    assert refused(path, more='topic = "/chatter"').startswith("run.bag: topic '/chatter' is std_msgs/msg/String,")


def test_a_folder_that_links_outside_is_refused(tmp_path):
    path = (
        write_bag(tmp_path / "secret" / "run", "mcap", motion()[0]) if (tmp_path / "secret").mkdir() is None else None
    )
    (tmp_path / "data" / "run").mkdir(parents=True)
    for file in path.iterdir():
        (tmp_path / "data" / "run" / file.name).symlink_to(file)
    assert "'run' links to outside the data folder" in refused(tmp_path / "data" / "run")


# Decoding -------------------------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


@pytest.mark.slow
@settings(max_examples=cases(150))
@given(data=st.data(), ros=st.sampled_from([1, 2]), little=st.booleans())
def test_any_message_decodes_as_rosbags_decodes_it(data, ros, little):
    """Names of any length and alphabet, arrays there or not, both byte orders, several layouts in one batch."""
    messages, raws = [], []
    for _ in range(data.draw(st.integers(1, 6))):
        names = data.draw(st.lists(TEXT, max_size=4, unique=True))
        numbers = st.lists(st.floats(width=64), min_size=len(names), max_size=len(names))
        arrays = [data.draw(numbers) if data.draw(st.booleans()) else [] for _ in ARRAYS]
        message = state(ros, data.draw(st.integers(0, 2**31 * 10**9 - 1)), names, *arrays, frame=data.draw(TEXT))
        messages.append(message)
        raws.append(packed(ros, message, **({} if ros == 1 else {"little_endian": little})))
    (batch,) = decode(list(enumerate(raws)), ros)
    assert sorted(n for alike in batch for n in alike.number) == list(range(1, len(raws) + 1))
    for alike in batch:
        for i, number in enumerate(alike.number):
            message, raw = messages[number - 1], raws[number - 1]
            store = bags.STORES[ros]
            oracle = store.deserialize_ros1(raw, bags.TYPE) if ros == 1 else store.deserialize_cdr(raw, bags.TYPE)
            assert alike.received[i] == number - 1
            assert alike.layout.names == tuple(oracle.name) == tuple(message.name)
            assert alike.stamps()[i] == oracle.header.stamp.sec * 10**9 + oracle.header.stamp.nanosec
            for array in ARRAYS:
                assert alike.values(array)[i].tobytes() == getattr(oracle, array).astype(float).tobytes()


def test_padding_is_not_taken_for_content():
    """Writers leave what they like between the strings; messages are alike all the same."""
    clean = packed(2, state(2, 5, ["a", "bc"], [1.0, 2.0], [], [3.0, 4.0], frame="x"))
    layout = layout_of(clean, 2)
    free = set(range(len(clean))) - set(layout.fixed.tolist()) - set(range(layout.stamp, layout.stamp + 8))
    numbers = {
        i for start, count in zip(layout.starts, layout.counts, strict=True) for i in range(start, start + 8 * count)
    }
    dirty = bytearray(clean)
    for i in free - numbers - {16, 17}:  # 16: length of the frame_id, 17: its text
        if clean[i] == 0 and i >= 20:
            dirty[i] = 0xAB
    assert bytes(dirty) != clean
    (batch,) = decode([(0, clean), (1, bytes(dirty))], 2)
    assert len(batch) == 1
    assert batch[0].values("effort").tolist() == [[3.0, 4.0]] * 2


@pytest.mark.parametrize("ros", [1, 2])
def test_a_message_cut_off_anywhere_is_refused_with_its_number(ros):
    whole = packed(ros, state(ros, 5, NAMES, [1.0, 2.0], [0.0, 0.0], [3.0, 4.0], frame="base"))
    for size in range(len(whole)):
        with pytest.raises(LogError, match=r"message 2 of '/j': "):
            list(decode([(0, whole), (1, whole[:size])], ros, "f", "/j"))


def test_messages_that_contradict_themselves():
    with pytest.raises(LogError, match="names a joint twice: a, a"):
        layout_of(packed(1, state(1, 0, ["a", "a"], [1.0, 2.0])), 1)
    with pytest.raises(LogError, match="has 1 numbers of velocity for 2 names"):
        layout_of(packed(2, state(2, 0, ["a", "b"], [1.0, 2.0], [3.0])), 2)
    with pytest.raises(LogError, match="encoding 0x0007"):
        layout_of(struct.pack(">HH", 7, 0) + bytes(40), 2)


# Damage ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_cut_off_files_are_log_errors(tmp_path, kind):
    path = write_bag(tmp_path / "run", kind, motion(300)[0])
    file = storage(path)
    whole = file.read_bytes()
    for size in (0, 1, 5, 12, 40, 100, len(whole) // 3, len(whole) // 2, len(whole) - 100, len(whole) - 1):
        file.write_bytes(whole[:size])
        for target in {path, file}:
            with pytest.raises(LogError):
                as_table(target, tmp_path / "run.parquet")


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=cases(60))
@given(data=st.data())
def test_damaged_files_are_read_or_refused(tmp_path_factory, kind, data):
    """Whatever bytes are changed or cut, the answer is a log or a LogError, never a traceback from a library."""
    folder = tmp_path_factory.getbasetemp() / f"damaged_{kind}"
    if not folder.exists():
        folder.mkdir()
        write_bag(folder / "run", kind, motion(60)[0])
    path = folder / ("run.bag" if kind == "bag" else "run")
    file = storage(path)
    whole, sentences = file.read_bytes(), []
    raw = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        file.write_bytes(raw[: data.draw(st.integers(len(raw) // 2, len(raw)))])
        for target in {path, file}:
            try:
                as_table(target, folder / "table.parquet").unlink()
                read(path)
            except LogError as cause:
                sentences.append(str(cause))
    finally:
        file.write_bytes(whole)
    assert all("\n" not in sentence for sentence in sentences)


@settings(max_examples=cases(40))
@given(data=st.data())
def test_damaged_metadata_is_read_or_refused(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp() / "damaged_metadata"
    if not folder.exists():
        folder.mkdir()
        write_bag(folder / "run", "mcap", motion(60)[0])
    file = folder / "run" / "metadata.yaml"
    whole, sentences = file.read_text(), []
    at = data.draw(st.integers(0, len(whole)))
    try:
        file.write_text(whole[:at] + data.draw(st.text(max_size=5)) + whole[at + data.draw(st.integers(0, 8)) :])
        try:
            read(folder / "run")
        except LogError as cause:
            sentences.append(str(cause))
    finally:
        file.write_text(whole)
    assert all("\n" not in sentence for sentence in sentences)


def test_connections_and_counts_of_a_ros1_bag(tmp_path):
    path = write_bag(tmp_path / "run", "bag", motion(30)[0] + motion(20, topic="/left")[0])
    assert [(t.name, t.type, t.messages) for t in bag.topics(path, "run.bag")] == [
        ("/joint_states", bags.TYPE, 30), ("/left", bags.TYPE, 20)]  # fmt: skip
    found, counts = bag1.connections(path, "run.bag")
    assert {c.topic: counts[c.number] for c in found} == {"/joint_states": 30, "/left": 20}
    assert all(c.md5 == bag1.MD5 for c in found)


def test_a_ros1_bag_of_another_version_or_encrypted(tmp_path):
    path = write_bag(tmp_path / "run", "bag", motion(30)[0])
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"#ROSBAG V2.0", b"#ROSBAG V1.2", 1))
    assert refused(path) == "run.bag: is a bag of version 1.2, only 2.0 is read."
    at = whole.index(b"index_pos=") + len(b"index_pos=")
    path.write_bytes(whole[:at] + b"\xff" * 8 + whole[at + 8 :])
    assert refused(path).startswith("run.bag: is cut off before its index.")
    path.write_bytes(whole.replace(bag1.MD5.encode(), b"0" * 32))
    assert "is a JointState of another definition" in refused(path)


def test_an_index_that_promises_more_than_there_is(tmp_path):
    path = write_bag(tmp_path / "run", "mcap", motion(40)[0])
    file = path / "metadata.yaml"
    file.write_text(file.read_text().replace("message_count: 40", "message_count: 45"))
    assert len(table_of(path)) == 40
