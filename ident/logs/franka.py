"""Logs of Franka robots as libfranka writes them: `franka::logToCSV` of the log in a ControlException.

One header line with names such as state.q[0], parted by commas (older releases: comma and blank); `time` [ms],
state.q [rad], state.dq [rad/s], state.tau_J [N m], the measured link-side torque. A row holds the command of step n and
the state of step n + 1. Sources: libfranka, src/log.cpp and src/logging/robot_state_log.cpp (names, time in ms), robot
state of its reference (units). Of franka_ros there is no CSV format: record its /joint_states as a bag.
"""

from __future__ import annotations

from collections.abc import Sequence

from ident.errors import LogError
from ident.logs.manifest import TextFormat
from ident.logs.recorder import Recorder, find_channels, require_clock, unused
from ident.logs.units import Quantity

JOINTS = 7
KNOWN: dict[str, tuple[str, Quantity, str]] = {
    "state.q": ("position", "position", "rad"),
    "state.dq": ("velocity", "velocity", "rad/s"),
    "state.tau_J": ("torque", "torque", "N m"),
}


def recognise(header: Sequence[str], delimiter: str, name: str) -> Recorder | None:
    """Return how a libfranka log with this header is read, None when it is none.

    Raises LogError when joints or the time are missing.
    """
    if not any(column.partition("[")[0] in KNOWN for column in header):
        return None
    require_clock(header, "time", name, "Write the whole of logToCSV, its header included")
    channels = find_channels(header, KNOWN, "{}[{}]", JOINTS, name)
    if "position" not in [c.label for c in channels]:
        raise LogError("has no state.q[0] ... state.q[6]", file=name, line=1, fix="Write the whole of logToCSV")
    torque = "torque" if "torque" in [c.label for c in channels] else None
    text = TextFormat(delimiter, header=True)
    return Recorder("libfranka log", text, "time", "ms", channels, torque, unused(header, "time", channels))
