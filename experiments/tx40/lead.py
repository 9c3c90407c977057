"""By how much the torques of the TX40 lead the accelerations of their motors, by frequency: a delay, or something else?

    python experiments/tx40/lead.py

A delay is one time at all frequencies, and at all joints. Only the recording `first` is read.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.signal import csd, welch

from ident.logs import iter_logs, read_manifest
from ident.robot import read_robot

DATA = Path(__file__).parents[2] / "datasets" / "tx40"
BANDS = ((6, 10), (10, 16), (16, 24), (24, 34), (34, 48), (48, 70), (70, 100), (100, 140), (140, 200))


def main() -> None:
    """Print phase [deg], lead [ms] and coherence of each motor in each band [Hz]."""
    robot = read_robot(DATA / "robot.toml")
    log = next(iter_logs(read_manifest(DATA / "dataset.toml"), "first", robot))
    assert robot.transmission is not None
    motors, step = robot.transmission.matrix, 1.0 / log.rate_hz
    acceleration = np.gradient(np.gradient(log.q @ motors.T, step, axis=0), step, axis=0)
    torque = log.tau @ np.linalg.inv(motors)
    print("band, Hz    phase, degrees                 lead, ms                          coherence")
    how = {"fs": log.rate_hz, "nperseg": 2500, "noverlap": 2000, "axis": 0}
    f, cross = csd(acceleration, torque, **how)
    (_, power), (_, other) = welch(acceleration, **how), welch(torque, **how)
    for low, high in BANDS:
        own = (f >= low) & (f < high)
        sums = cross[own].sum(axis=0)
        centre = (f[own, None] * power[own]).sum(axis=0) / power[own].sum(axis=0)
        phase = np.angle(sums)
        coherence = np.abs(sums) ** 2 / power[own].sum(axis=0) / other[own].sum(axis=0)
        words = (
            " ".join(f"{x:{form}}" for x in row)
            for row, form in (
                (np.degrees(phase), "4.0f"),
                (1e3 * phase / (2 * np.pi * centre), "5.1f"),
                (coherence, "4.2f"),
            )
        )
        print(f"{low:3} to {high:3}  {'   '.join(words)}")


if __name__ == "__main__":
    main()
