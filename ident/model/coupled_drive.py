"""A motor that turns with more than one joint, as in the coupled wrists of many industrial arms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ident.arrays import Array, frozen
from ident.errors import ModelError
from ident.model.standard import SIGN, DriveInertia, Viscous
from ident.model.term import Term, shape
from ident.robot.robot import Robot


@dataclass(frozen=True)
class Coupled:
    """A joint term that acts on a motor's speed v = sum_j share_j qd_j in place of a joint's: tau_j = share_j tau(v).

    `shares` is the motor's row of the transmission matrix divided by its own joint's ratio, so that the parameter is
    reflected to that joint: (0, 0, 0, 0, 1, 1) for a TX40's motor 6. law: the term, whose own joints mean nothing.
    Raises ModelError when a share is not finite.
    """

    motor: str
    shares: tuple[float, ...]
    law: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", tuple(float(x) for x in frozen(self.shares, (None,), "shares", ModelError)))

    joints = None

    def __getattr__(self, name: str) -> Any:
        """Return what the law has: its kind, column, sign, slopes and so on."""
        if name == "law" or name.startswith("__"):  # a copy asks before there is one
            raise AttributeError(name)
        return getattr(self.law, name)

    @property
    def shape(self) -> Mapping[str, float]:
        """Return the shape numbers of the law, by name."""
        return shape(self.law)

    def along(self, robot: Robot) -> tuple[tuple[str, ...], Array]:
        """Return the motor's name and its shares (1, n); ModelError when it has a joint's name or does not fit."""
        if self.motor in robot.joint_names:
            raise ModelError(
                f"motor '{self.motor}' turns with several joints and has the name of one, so that nobody could tell "
                f"'{self.motor}.{self.kind.name}' of the motor from that of the joint",
                fix="Give the motor a name of its own in the robot file's [transmission]",
            )
        if len(self.shares) != robot.n:
            raise ModelError(f"motor '{self.motor}' names {len(self.shares)} joints, the robot has {robot.n}")
        return (self.motor,), np.array([self.shares])


def coupled_drive(motor: str, shares: tuple[float, ...], law: Term = SIGN) -> tuple[Coupled, ...]:
    """Return inertia, viscous friction and Coulomb friction (of some law) of a motor, each a `Coupled`."""
    return tuple(Coupled(motor, shares, own) for own in (DriveInertia(), Viscous(), law))


def coupled_motors(robot: Robot) -> set[str]:
    """Return the names by which parameters are those of a motor that turns with several joints."""
    return {term.motor for term in coupled_drives(robot)} - set(robot.joint_names)


def coupled_drives(robot: Robot, law: Term = SIGN) -> tuple[Coupled, ...]:
    """Return a `coupled_drive` for each motor of the robot's transmission that turns with several joints.

    The motor's own joint is the one of the same index. Raises ModelError when its ratio there is zero.
    """
    if robot.transmission is None:
        return ()
    found: list[Coupled] = []
    for k, (motor, row) in enumerate(zip(robot.transmission.motors, robot.transmission.matrix, strict=True)):
        if np.count_nonzero(row) > 1:
            if row[k] == 0.0:
                raise ModelError(f"motor '{motor}' does not turn with its own joint '{robot.joint_names[k]}'")
            found += coupled_drive(motor, tuple(row / row[k]), law)
    return tuple(found)
