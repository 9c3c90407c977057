"""Bags of joint states, written by the `rosbags` package: ROS 1, ROS 2 in SQLite, ROS 2 in MCAP."""

from pathlib import Path

import numpy as np
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_typestore

KINDS = ("bag", "db3", "mcap")
STORES = {1: get_typestore(Stores.ROS1_NOETIC), 2: get_typestore(Stores.ROS2_HUMBLE)}
TYPE = "sensor_msgs/msg/JointState"


def state(ros, ns, names, q=(), qd=(), tau=(), frame=""):
    types = STORES[ros].types
    seq = {"seq": 7} if ros == 1 else {}
    stamp = types["builtin_interfaces/msg/Time"](sec=ns // 10**9, nanosec=ns % 10**9)
    header = types["std_msgs/msg/Header"](stamp=stamp, frame_id=frame, **seq)
    arrays = [np.asarray(x, dtype=np.float64) for x in (q, qd, tau)]
    return types[TYPE](header=header, name=list(names), position=arrays[0], velocity=arrays[1], effort=arrays[2])


def packed(ros, message, **how) -> bytes:
    store = STORES[ros]
    return bytes(store.serialize_ros1(message, TYPE) if ros == 1 else store.serialize_cdr(message, TYPE, **how))


def write_bag(path: Path, kind: str, messages, before=None) -> Path:
    """Write messages (topic, received ns, names, stamp ns, q, qd, tau); return the bag: a file, or a folder (ROS 2)."""
    ros = 1 if kind == "bag" else 2
    path = path.with_suffix(".bag") if ros == 1 else path
    if ros == 1:
        writer = Writer1(path)
    else:
        plugin = StoragePlugin.MCAP if kind == "mcap" else StoragePlugin.SQLITE3
        writer = Writer2(path, version=9, storage_plugin=plugin)
    if before:
        before(writer)
    connections = {}
    with writer:
        for topic, received, names, stamp, q, qd, tau in messages:
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, TYPE, typestore=STORES[ros])
            writer.write(connections[topic], received, packed(ros, state(ros, stamp, names, q, qd, tau)))
    return path


def storage(path: Path) -> Path:
    """Return the file that holds the messages."""
    return path if path.is_file() else next(p for p in path.iterdir() if p.suffix in (".db3", ".mcap"))


START, STEP = 1_700_000_000_123_456_789, 2_000_000  # ns
NAMES = ("joint1", "joint2")


def motion(count: int = 40, topic: str = "/joint_states", shuffle: bool = False, names=NAMES):
    """Return messages of a made-up motion and its arrays q, qd, tau (count, joints), in the order of `names`."""
    rng = np.random.default_rng(5)
    q, qd, tau = rng.normal(size=(3, count, len(names)))
    messages = []
    for i in range(count):
        at = rng.permutation(len(names)) if shuffle else np.arange(len(names))
        ns = START + i * STEP
        messages.append((topic, ns + 77_000, [names[j] for j in at], ns, q[i][at], qd[i][at], tau[i][at]))
    return messages, (q, qd, tau)
