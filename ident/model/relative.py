"""Friction between two joints: of jaws on one spindle, of differentials, of a drive that runs through another joint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ident.arrays import Array
from ident.errors import ModelError
from ident.model.term import Kind, chosen, setting
from ident.robot.robot import Robot

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

    ratio: float = setting("a number that is not 0", 1.0)
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
        if not (np.isfinite(self.ratio) and self.ratio):
            raise ModelError(f"the ratio of two joints' speeds must be a number that is not 0, got {self.ratio}")

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

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.tanh > 0:
            raise ModelError(f"the width of the tanh must be positive, got {self.tanh}")

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return tanh of the relative speed over the width."""
        return np.tanh(qd * (1.0 / self.tanh))

    symbol = column
