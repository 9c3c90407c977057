"""Torques that repeat with a joint's position: cogging of motors, ripple of drives, eccentric gears."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ident.arrays import Array
from ident.errors import ModelError
from ident.model.term import Kind, setting

_UNITS = ("N m", "N")
_WORDS = "a number of waves above 0"
#: As many as fit into a parameter's name.
_MOST = 1e6


@dataclass(frozen=True)
class RippleSine:
    """tau_j = S_j sin(per_turn q_j) [N m; N]; with `RippleCosine` beside it a wave of any phase.

    per_turn: waves in a turn of the joint (of one that slides: in 2 pi m); of a motor, those of its own turn times the
    gear ratio. A joint may have several, each with parameters of its own, such as `joint1.ripple_sine6`. joints: names
    of the joints that have it, None for all.
    """

    per_turn: float = setting(_WORDS, gt=0, lt=_MOST)
    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = False
    kind: ClassVar[Kind] = Kind(
        "ripple_sine",
        "ripple, sine",
        "torque = value * sin(waves per turn * q)",
        _UNITS,
        key="ripple",
        example="{ per_turn = 6 }",
    )

    def __post_init__(self) -> None:
        _require_waves(self.per_turn)

    @property
    def suffix(self) -> str:
        """The waves per turn as a part of a name, such as 6 or 256_857."""
        return _in_name(self.per_turn)

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


def _require_waves(per_turn: float) -> None:
    if not 0 < per_turn < _MOST:
        raise ModelError(f"the waves per turn of ripple must be above 0 and below {_MOST:g}, got {per_turn:g}")


def _in_name(per_turn: float) -> str:
    return f"{per_turn:.6f}".rstrip("0").rstrip(".").replace(".", "_")
