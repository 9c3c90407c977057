"""Logs of Franka robots as libfranka writes them: `franka::logToCSV` of the log in a ControlException.

One header line, parted by commas (older releases: comma and blank): `time` [ms], state.q[0] ... [rad], state.dq
[rad/s], state.tau_J [N m], the measured link-side torque. The first releases name them duration, q[0], dq, tau_J,
have q_d and dq_d twice, of state and of command, and an empty column "sent commands" between. A row holds the command
of step n and the state of step n + 1. Sources: libfranka, src/log.cpp (both kinds) and
src/logging/robot_state_log.cpp (names, time in ms), issue 87 (the names that are there twice), robot state of its
reference (units). Of franka_ros there is no CSV format: record its /joint_states as a bag.
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
FIRST = {name.removeprefix("state."): meaning for name, meaning in KNOWN.items()}


def recognise(header: Sequence[str], delimiter: str, name: str) -> Recorder | None:
    """Return how a libfranka log with this header is read, None when it is none.

    Raises LogError when joints or the time are missing.
    """
    names = {column.partition("[")[0] for column in header}
    if names & KNOWN.keys():
        known, clock = KNOWN, "time"
    elif names >= {"duration", "sent commands"}:
        known, clock = FIRST, "duration"
    else:
        return None
    require_clock(header, clock, name, "Write the whole of logToCSV, its header included")
    channels = find_channels(header, known, "{}[{}]", JOINTS, name)
    if "position" not in [c.label for c in channels]:
        position = next(iter(known))
        fix = "Write the whole of logToCSV"
        raise LogError(f"has no {position}[0] ... {position}[6]", file=name, line=1, fix=fix)
    torque = "torque" if "torque" in [c.label for c in channels] else None
    text = TextFormat(delimiter, header=True)
    return Recorder("libfranka log", text, clock, "ms", channels, torque, unused(header, clock, channels))
