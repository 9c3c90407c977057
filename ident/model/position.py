"""Torques of a joint's own position: cogging, ripple of drives, eccentric gears; cables and hoses that are bent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ident.arrays import Array
from ident.errors import ModelError
from ident.model.term import Kind, Term, chosen, require_settings, setting
from ident.robot.robot import Robot

#: As many waves per turn as fit into a parameter's name.
_MOST = 1e6


@dataclass(frozen=True)
class RippleSine:
    """tau_j = S_j sin(per_turn q_j) [N m; N]; with `RippleCosine` beside it a wave of any phase.

    per_turn: waves in a turn of the joint (of one that slides: in 2 pi m); of a motor, those of its own turn times the
    gear ratio. A joint may have several, each with parameters of its own, such as `joint1.ripple_sine6`. joints: names
    of the joints that have it, None for all.
    """

    per_turn: float = setting(f"a number of waves above 0 and below {_MOST:g}", gt=0, lt=_MOST)
    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = False
    kind: ClassVar[Kind] = Kind(
        "ripple_sine",
        "ripple, sine",
        "torque = value * sin(waves per turn * q)",
        ("N m", "N"),
        key="ripple",
        example="{ per_turn = 6 }",
    )

    @property
    def suffix(self) -> str:
        """The waves per turn as a part of a name, such as 6 or 256_857."""
        return f"{self.per_turn:.6f}".rstrip("0").rstrip(".").replace(".", "_")

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return sin(per_turn q)."""
        return np.sin(self.per_turn * q)

    def slopes(self, q: Array, qd: Array, qdd: Array) -> tuple[Array, float, float]:
        """Return the derivatives of the column by q, qd, qdd."""
        return self.per_turn * np.cos(self.per_turn * q), 0.0, 0.0

    symbol = column

    def energy(self, q: Array) -> Array:
        """Return the potential energy per parameter, (1 - cos(per_turn q)) / per_turn [rad; m]."""
        return np.asarray((1.0 - np.cos(self.per_turn * q)) / self.per_turn)


@dataclass(frozen=True)
class RippleCosine(RippleSine):
    """tau_j = C_j cos(per_turn q_j) [N m; N], beside `RippleSine` and with its fields."""

    kind: ClassVar[Kind] = replace(
        RippleSine.kind, name="ripple_cosine", words="ripple, cosine", law="torque = value * cos(waves per turn * q)"
    )

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return cos(per_turn q)."""
        return np.cos(self.per_turn * q)

    def slopes(self, q: Array, qd: Array, qdd: Array) -> tuple[Array, float, float]:
        """Return the derivatives of the column by q, qd, qdd."""
        return -self.per_turn * np.sin(self.per_turn * q), 0.0, 0.0

    symbol = column

    def energy(self, q: Array) -> Array:
        """Return the potential energy per parameter, sin(per_turn q) / per_turn [rad; m]."""
        return np.asarray(np.sin(self.per_turn * q) / self.per_turn)


#: Fourth differences of |u|^3 / 12 are the cubic B-spline of knots -2 .. 2; of u |u|^3 / 48 its integral.
_DIFFERENCES = tuple(zip((-2, -1, 0, 1, 2), (1.0, -4.0, 6.0, -4.0, 1.0), strict=True))


@dataclass(frozen=True)
class Curve:
    """tau_j = C_j B(u) [N m; N] with the cubic B-spline B of even knots: its bell stands at the place `element`.

    low, high [rad; m]: between which the curve bends, by default the joint's limits; it is level beyond. intervals:
    between knots, so many and two more are the elements 1, 2, ..., each a term with a parameter of its own, such as
    `joint1.curve3`; their sum is any cubic spline that is zero but for `Offset` where the first bell would stand.
    element 0 is all of them, as [model] asks for. A fit draws it to a straight line (`bends`), which decides where a
    log hardly has positions; ends beyond all that was logged leave it and `Offset` one sum. joints: names of the joints
    that have it, None for all. Source: Eilers, Marx, "Flexible smoothing with B-splines and penalties", Statistical
    Science 11(2), 1996.
    """

    low: float = setting("a position", math.nan)
    high: float = setting("a position", math.nan)
    intervals: float = setting("a whole number from 2 to 50", 5.0, ge=2, le=50, whole=True)
    element: float = setting("a whole number, 0 for all", 0.0, ge=0)
    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = False
    kind: ClassVar[Kind] = Kind(
        "curve",
        "curve of the position",
        "torque = value * B((q - low) * intervals / (high - low) + 1 - element), q held between low and high, B the "
        "cubic B-spline of knots -2 ... 2",
        ("N m", "N"),
        example="{ low = -1.5, high = 1.5 }",
    )

    def __post_init__(self) -> None:
        require_settings(self)
        if self.element not in range(int(self.intervals) + 3):
            raise ModelError(f"a curve of {self.intervals:g} intervals has no element {self.element:g}")
        if math.isnan(self.low) != math.isnan(self.high) or self.high <= self.low:
            problem = f"a curve needs two ends, the lower one first, got {self.low:g} and {self.high:g}"
            raise ModelError(problem, fix="Give low and high, or leave both out for the joint's limits")

    @property
    def bent(self) -> tuple[float, ...]:
        """What elements of one curve have in common."""
        return self.low, self.high, self.intervals

    @property
    def suffix(self) -> str:
        """The element's number."""
        return f"{self.element:g}"

    def at_work(self, others: Sequence[Term], robot: Robot, inertials: Array) -> list[Curve]:
        """Return a term for each element, joint by joint where ends are limits; ModelError for a joint without any."""
        if not math.isnan(self.low):
            return [self] if self.element else self.elements()
        found = []
        for j in chosen(self.joints, robot):
            joint = robot.joints[j]
            if (ends := joint.limits.ends) is None:
                problem = f"joint '{joint.name}' has no limits for a curve to bend between"
                raise ModelError(problem, fix="Give low and high")
            found += replace(self, low=ends[0], high=ends[1], joints=(joint.name,)).elements()
        return found

    def elements(self) -> list[Curve]:
        """Return a term for each element."""
        return [replace(self, element=float(k)) for k in range(1, int(self.intervals) + 3)]

    def _places(self, q: Any) -> Any:
        """Return how many intervals positions are beyond the bell, those beyond the ends as these."""
        scale = self.intervals / (self.high - self.low)
        u = (q - 0.5 * (self.low + self.high)) * scale
        half = 0.5 * self.intervals
        return 0.5 * (np.abs(u + half) - np.abs(u - half)) + (half + 1.0 - self.element)

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return the bell at q."""
        u, found = self._places(q), 0.0
        for at, weight in _DIFFERENCES:
            x = np.abs(u - float(at))
            found = found + (weight / 12.0) * (x * x * x)
        return found

    symbol = column

    def energy(self, q: Array) -> Array:
        """Return the potential energy per parameter [rad; m]."""
        u, scale = self._places(q), self.intervals / (self.high - self.low)
        inside = sum(weight / 48.0 * (u - at) * np.abs(u - at) ** 3 for at, weight in _DIFFERENCES)
        beyond = q - np.clip(q, self.low, self.high)
        return np.asarray(inside / scale + beyond * self.column(q, q, q))
