"""Terms of several joints: motors that turn with more than one, as in many wrists; friction between two joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ident.arrays import Array, frozen
from ident.errors import ModelError
from ident.model.standard import SIGN, DriveInertia, Viscous
from ident.model.term import Kind, Term, chosen, setting, shape
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


#: What stands between the two joints in a parameter's name.
BETWEEN = ":"


@dataclass(frozen=True)
class RelativeViscous:
    """tau_a = F v and tau_b = -ratio F v [N m s/rad; N s/m] of two joints a, b, with v = qd_a - ratio qd_b.

    joints: a and b, and so on in pairs; ratio: turns of a for one of b at which nothing slides, -1 for jaws that move
    against each other. Its parameter is called `a:b.relative_viscous`. What takes power from both joints is one force,
    so that friction of each joint alone, which has no part in the other one's torque, is told from it in any motion
    that moves both. Raises ModelError for joints that are no pairs of different ones, and for a ratio of 0.
    """

    ratio: float = setting("a number that is not 0", 1.0, ne=0)
    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = True
    kind: ClassVar[Kind] = Kind(
        "relative_viscous",
        "viscous friction between two joints",
        "torque = value * v on the first joint, -ratio times it on the second; v = first qd - ratio * second qd",
        ("N m s/rad", "N s/m"),
        friction=True,
        example='{ joints = ["joint1", "joint2"], ratio = 1 }',
    )

    def __post_init__(self) -> None:
        if not self.joints or len(self.joints) % 2 or any(a == b for a, b in self._pairs):
            fix = f"Name two different joints, such as {type(self).kind.example}"
            raise ModelError(f"{self.kind.words} needs two joints, got {list(self.joints or ())}", fix=fix)

    @property
    def _pairs(self) -> list[tuple[str, str]]:
        return list(zip((self.joints or ())[::2], (self.joints or ())[1::2], strict=False))

    def along(self, robot: Robot) -> tuple[tuple[str, ...], Array]:
        """Return the pairs' names and how each speed is made of the joints' (m, n)."""
        first, second = (np.eye(robot.n)[chosen(names, robot)] for names in zip(*self._pairs, strict=True))
        return tuple(BETWEEN.join(pair) for pair in self._pairs), first - self.ratio * second

    @classmethod
    def restored(cls, given: Mapping[str, float], joints: tuple[str, ...], other: Any) -> RelativeViscous | None:
        """Return the term whose `shape` is given, of pairs by their names; None when it is none."""
        both = tuple(name for pair in joints for name in pair.split(BETWEEN))
        return cls(**given, joints=both) if len(both) == 2 * len(joints) else None

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return the relative speed."""
        return qd

    symbol = column


@dataclass(frozen=True)
class RelativeCoulomb(RelativeViscous):
    """tau_a = F tanh(v / tanh) and tau_b = -ratio F tanh(v / tanh) [N m; N], as `RelativeViscous`.

    tanh [rad/s; m/s]: speed at which 76 % of the friction is reached.
    """

    tanh: float = setting("a speed above 0", 0.01, gt=0)
    kind: ClassVar[Kind] = Kind(
        "relative_coulomb",
        "Coulomb friction between two joints",
        "torque = value * tanh(v / tanh), else as relative_viscous",
        ("N m", "N"),
        friction=True,
        example='{ joints = ["joint1", "joint2"], ratio = 1, tanh = 0.01 }',
    )

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return tanh of the relative speed over the width."""
        return np.tanh(qd * (1.0 / self.tanh))

    symbol = column
