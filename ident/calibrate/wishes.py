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
    """What [calibrate] of an experiment asks for. What the logs cannot tell is named with the reason."""

    gravity: bool = False
    """The base may be tilted."""
    zeros: Joints = False
    """Of all joints, or of those named, the zero may be off."""
    gains: Joints = False
    """Torques of all joints, or of those named, may be read too large or too small, against each other."""
    skew: Joints = False
    """Positions of all joints, or of those named, may be read late."""
    lengths: tuple[str, ...] = ()
    """Lengths that may be off: "joint2.a" of a table, "joint2.x" of a URDF."""
    tilt_deg: float = float(np.rad2deg(SPREADS["tilt"]))
    """How far off the tilt is taken to be, as a standard deviation [deg]."""
    zero_deg: float = float(np.rad2deg(SPREADS["zero"]))
    """The same of zeros [deg]."""
    gain_share: float = SPREADS["gain"]
    """The same of gains, as a share."""
    skew_ms: float = 1e3 * SPREADS["skew"]
    """The same of skews [ms]."""
    length_mm: float | None = None
    """The same of lengths [mm]."""

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
