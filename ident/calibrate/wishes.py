"""What a user asks to be calibrated, as [calibrate] of an experiment has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ident.robot import Robot
from ident.robot.unknown import SPREADS, Unknown, gains, length, skews, tilts, zeros

Joints = bool | tuple[str, ...]


@dataclass(frozen=True)
class Wishes:
    """gravity: tilt of the base; zeros, gains, skew: of all joints or of those named; lengths: by name.

    tilt_deg, zero_deg, gain_share, skew_ms, length_mm: how far off each is taken to be, as a standard deviation.
    """

    gravity: bool = False
    zeros: Joints = False
    gains: Joints = False
    skew: Joints = False
    lengths: tuple[str, ...] = ()
    tilt_deg: float = float(np.rad2deg(SPREADS["tilt"]))
    zero_deg: float = float(np.rad2deg(SPREADS["zero"]))
    gain_share: float = SPREADS["gain"]
    skew_ms: float = 1e3 * SPREADS["skew"]
    length_mm: float | None = None

    def unknowns(self, robot: Robot, convention: Literal["dh", "mdh"] | None = None) -> tuple[Unknown, ...]:
        """Return the unknowns of a robot; convention: of its DH table, None for a URDF.

        Raises InputError for joints and lengths that it does not have.
        """
        found: tuple[Unknown, ...] = tilts(robot, np.deg2rad(self.tilt_deg)) if self.gravity else ()
        if self.zeros:
            found += zeros(robot, _named(self.zeros), np.deg2rad(self.zero_deg))
        if self.gains:
            found += gains(robot, _named(self.gains), self.gain_share)
        if self.skew:
            found += skews(robot, _named(self.skew), 1e-3 * self.skew_ms)
        spread = None if self.length_mm is None else 1e-3 * self.length_mm
        return found + tuple(length(robot, name, convention, spread) for name in self.lengths)


def _named(joints: Joints) -> tuple[str, ...] | None:
    return joints if isinstance(joints, tuple) else None
