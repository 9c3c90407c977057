"""Recordings of Universal Robots' RTDE: by `ur_rtde` (startFileRecording) and by UR's own client (record.py).

Both write one header line: a vector `actual_q` as actual_q_0 ... actual_q_5, base to wrist 3, a scalar under its own
name; `ur_rtde` separates by commas, UR's client by blanks unless told otherwise. `timestamp` [s] runs since the
controller's start. `ur_rtde` writes from a thread of its own at its own rate, so that a state may stand there twice
or be missing. Sources: RTDE_Python_Client_Library, rtde/csv_writer.py and examples/record.py; ur_rtde,
src/rtde_receive_interface.cpp; the RTDE guide of Universal Robots (names and units).
"""

from __future__ import annotations

from collections.abc import Sequence

from ident.errors import LogError
from ident.logs.manifest import TextFormat
from ident.logs.recorder import Recorder, find_channels, require_clock, unused
from ident.logs.units import Quantity

JOINTS = 6
KNOWN: dict[str, tuple[str, Quantity, str]] = {
    "actual_q": ("position", "position", "rad"),
    "actual_qd": ("velocity", "velocity", "rad/s"),
    "actual_current": ("current", "torque", "A"),
    "actual_current_as_torque": ("torque", "torque", "N m"),  # from PolyScope 5.23 and 10.11 on
    "target_moment": ("target_moment", "torque", "N m"),  # of the controller's model: not measured
}
MEASURED = ("current", "torque")  # the current is what is measured; its gain can be identified


def recognise(header: Sequence[str], delimiter: str, name: str) -> Recorder | None:
    """Return how an RTDE recording with this header is read, None when it is none.

    Raises LogError when joints or the time stamp are missing.
    """
    if not any(column.rpartition("_")[0] in (*KNOWN, "target_q") for column in header):
        return None
    require_clock(header, "timestamp", name, "Record the output 'timestamp' too")
    channels = find_channels(header, KNOWN, "{}_{}", JOINTS, name)
    if "position" not in [c.label for c in channels]:
        raise LogError("has no actual_q_0 ... actual_q_5", file=name, line=1, fix="Record the output 'actual_q' too")
    torque = next((label for label in MEASURED if label in [c.label for c in channels]), None)
    writer = "UR's client" if delimiter == " " else "ur_rtde or UR's client"
    text = TextFormat(delimiter, header=True)
    others = unused(header, "timestamp", channels)
    return Recorder(f"RTDE recording ({writer})", text, "timestamp", "s", channels, torque, others)
