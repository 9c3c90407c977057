"""Friction near standstill, beside any law of Coulomb friction: lost with speed, or turned around over a short way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ident.arrays import Array
from ident.model.standard import Dahl, smooth_sign
from ident.model.term import Kind, constant, element, element_suffix, setting


@dataclass(frozen=True)
class Stribeck:
    """tau_j = Fs_j exp(-|qd_j / speed|^exponent) tanh(qd_j / width) [N m; N]: what friction has more near standstill.

    speed, width [rad/s; m/s]: at which a third of it is left; of the tanh, below it. exponent: 2, or 1 where it is lost
    at once and lasts longer. joints: as in `Coulomb`. Source:
    Armstrong-Helouvry, Dupont, Canudas de Wit, "A survey of models, analysis tools and compensation methods for the
    control of machines with friction", Automatica 30(7), 1994, section 2.1 (Tustin's and the Gaussian form).
    """

    speed: float = setting("a speed above 0", gt=0)
    width: float = setting("a speed above 0", default=0.01, gt=0)
    joints: tuple[str, ...] | None = None
    exponent: float = setting("1 or 2", default=2.0, ge=1, le=2, whole=True)
    nonnegative: ClassVar[bool] = True
    since: ClassVar[frozenset[str]] = frozenset({"exponent"})
    kind: ClassVar[Kind] = Kind(
        "stribeck",
        "Stribeck friction",
        "torque = value * exp(-|qd / speed|^exponent) tanh(qd / width)",
        ("N m", "N"),
        friction=True,
        example="{ speed = 0.1 }",
    )

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return exp(-|qd / speed|^exponent) tanh(qd / width)."""
        x = qd / self.speed
        return np.exp(-(x**2) if self.exponent == 2 else -np.abs(x)) * np.tanh(qd / self.width)

    def slopes(self, q: Array, qd: Array, qdd: Array) -> tuple[float, Array, float]:
        """Return the derivatives of the column by q, qd, qdd."""
        rise, x = np.tanh(qd / self.width), qd / self.speed
        bell, falls = (np.exp(-(x**2)), 2.0 * x) if self.exponent == 2 else (np.exp(-np.abs(x)), np.sign(x))
        return 0.0, bell * ((1.0 - rise**2) / self.width - falls / self.speed * rise), 0.0

    symbol = column


@dataclass(frozen=True)
class Hysteresis:
    """tau_j = Fh_j z_j [N m; N] with Dahl's z, as `Dahl` has it: a second law beside that of `coulomb`.

    way [rad; m]: of presliding; joints: as in `Coulomb`; element: 2 to 9 for further ones on the same joint, such as
    `joint1.hysteresis2` of another way. Gears slide at some contacts while others still stick, so that one law, of the
    speed or of the way, is half of their friction. Source: Al-Bender, Lampaert, Swevers, "The generalized Maxwell-slip
    model", IEEE Transactions on Automatic Control 50(11), 2005 (elements side by side).
    """

    way: float = setting("a travel above 0", gt=0)
    joints: tuple[str, ...] | None = None
    element: float = element()
    nonnegative: ClassVar[bool] = True
    remembers: ClassVar[bool] = True
    since: ClassVar[frozenset[str]] = frozenset({"element"})  # numbers that older files of estimates lack
    kind: ClassVar[Kind] = Kind(
        "hysteresis",
        "hysteresis friction",
        "torque = value * z, dz/dq = (1 - z sign(qd)) / way",
        ("N m", "N"),
        friction=True,
        example="{ way = 0.001 }",
    )

    suffix = property(element_suffix)

    def column(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return Dahl's state z in -1..1."""
        return Dahl(self.way).column(q, qd, qdd)

    slopes = constant(0.0, 0.0, 0.0)  # as Dahl's
    continuous = smooth_sign

    def symbol(self, q: Any, qd: Any, qdd: Any, z: Any) -> Any:
        """Return the state, which code carries along."""
        return z

    def advanced(self, z: Any, travel: Any) -> Any:
        """Return the state after z when the joint went one way by `travel`, as symbols."""
        towards = travel.power(0.0)  # its sign
        return towards + (z - towards) * np.exp(travel * towards * (-1.0 / self.way))
