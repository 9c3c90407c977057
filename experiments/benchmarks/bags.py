"""Reading rate and peak memory of ROS bags and MCAP files of 1e5 and 1e6 joint states of seven joints.

python experiments/benchmarks/bags.py
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

KINDS = ("bag", "db3", "mcap")
TYPE = "sensor_msgs/msg/JointState"
MANIFEST = """
[dataset]
name = "benchmark"
[signals]
time = { array = "stamp", unit = "ns" }
position = { array = "position", unit = "rad" }
velocity = { array = "velocity", unit = "rad/s" }
torque = { array = "effort", unit = "N m" }
[[recording]]
name = "run"
file = "FILE"
"""


def write(folder: Path, kind: str, messages: int) -> Path:
    """Write a bag of `messages` joint states at 1 kHz with the `rosbags` package."""
    from rosbags.rosbag1 import Writer as Writer1
    from rosbags.rosbag2 import StoragePlugin
    from rosbags.rosbag2 import Writer as Writer2
    from rosbags.typesys import Stores, get_typestore

    path = folder / ("run.bag" if kind == "bag" else "run")
    store = get_typestore(Stores.ROS1_NOETIC if kind == "bag" else Stores.ROS2_HUMBLE)
    plugin = StoragePlugin.MCAP if kind == "mcap" else StoragePlugin.SQLITE3
    types = store.types
    names = [f"joint{i}" for i in range(1, 8)]
    numbers = np.random.default_rng(1).normal(size=(1000, 3, 7))
    seq = {"seq": 0} if kind == "bag" else {}
    with Writer1(path) if kind == "bag" else Writer2(path, version=9, storage_plugin=plugin) as writer:
        connection = writer.add_connection("/joint_states", TYPE, typestore=store)
        for i in range(messages):
            stamp = types["builtin_interfaces/msg/Time"](sec=1_700_000_000 + i // 1000, nanosec=i % 1000 * 1_000_000)
            header = types["std_msgs/msg/Header"](stamp=stamp, frame_id="", **seq)
            q, qd, tau = numbers[i % 1000]
            message = types[TYPE](header=header, name=names, position=q, velocity=qd, effort=tau)
            raw = store.serialize_ros1(message, TYPE) if kind == "bag" else store.serialize_cdr(message, TYPE)
            writer.write(connection, 1_700_000_000_000_000_000 + i * 1_000_000, bytes(raw))
    (folder / "dataset.toml").write_text(MANIFEST.replace("FILE", path.name))
    return path


def peak() -> float:
    """Return the peak memory of this process [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def read(how: str, path: Path) -> None:
    """Read one bag and print messages per second and peak memory above that before."""
    import apsw  # noqa: F401  imports are no part of the reading
    import rosbags.rosbag1
    import rosbags.rosbag2

    from ident.logs import iter_logs, read_manifest
    from ident.logs.readers.bag import as_table
    from ident.robot.file import MDHJoint, from_mdh

    before, start, cpu = peak(), time.perf_counter(), time.process_time()
    if how == "raw messages by rosbags":
        reader = rosbags.rosbag1.Reader if path.suffix == ".bag" else rosbags.rosbag2.Reader
        with reader(path) as bag:
            messages = sum(1 for _ in bag.messages(bag.connections))
    elif how == "as a table":
        import pyarrow.parquet

        table = as_table(path, path.with_suffix(".parquet"))
        messages = pyarrow.parquet.ParquetFile(table).metadata.num_rows
        table.unlink()
    else:
        robot = from_mdh("arm", [MDHJoint() for _ in range(7)])
        manifest = read_manifest(path.parent / "dataset.toml")
        messages = sum(len(log.t) for log in iter_logs(manifest, "run", robot, rows=20_000))
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    rates = f"{messages / seconds:>9,.0f} messages/s ({messages / cpu:>9,.0f} per s of CPU)"
    print(f"{how:>24}: {rates}, {peak():.0f} MB ({peak() - before:.0f} above imports)")


def main() -> None:
    if len(sys.argv) > 1:
        how, path = sys.argv[1], Path(sys.argv[2])
        write(path.parent, how.split()[1], int(how.split()[2])) if how.startswith("write") else read(how, path)
        return
    for kind in KINDS:
        for messages in (100_000, 1_000_000):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / ("run.bag" if kind == "bag" else "run")
                print(f"{kind}, {messages:,} messages", flush=True)
                # in a process of its own: a child's peak begins at its parent's memory
                subprocess.run([sys.executable, __file__, f"write {kind} {messages}", str(path)], check=True)
                for how in ("raw messages by rosbags", "as a table", "iter_logs"):
                    subprocess.run([sys.executable, __file__, how, str(path)], check=True)


if __name__ == "__main__":
    main()
