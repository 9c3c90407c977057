"""Viscous friction that bends with speed, differs by direction, warms up or follows temperature, beside `Viscous`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ident.arrays import Array
from ident.errors import ModelError
from ident.model.term import Kind, element, element_suffix, setting


@dataclass(frozen=True)
class NonlinearViscous:
    """tau_j = Fn_j sign(qd_j) |qd_j|^power [N m (s/rad)^power; N (s/m)^power], and straight on above the speed `top`.

    top [rad/s; m/s]: the fastest that was logged, 0 for none; beyond it nothing tells how the law bends, and its slope
    there is the safest guess. power: between 0 (Coulomb friction) and 1 (viscous friction), or up to 3, for drag. Below
    1, beside `Viscous`, it is the grease of gears, harmonic drives above all, which drags less the faster it is
    sheared. joints: as in `Coulomb`; element: 2 to 9 for further powers on the same joint: `joint1.nonlinear_viscous2`;
    those of 2 and 3 beside `Viscous` are a polynomial of the speed. Source: Olsson, Astrom, Canudas de Wit, Gafvert,
    Lischinsky, "Friction models and friction compensation", European Journal of Control 4, 1998; for harmonic drives
    Wolf and Iskandar, ICRA 2018.
    """

    power: float = setting("a power of the speed, above 0 and at most 3", gt=0, le=3)
    joints: tuple[str, ...] | None = None
    top: float = setting("a speed that is 0 or more", 0.0, ge=0)
    element: float = element()
    nonnegative: ClassVar[bool] = True
    since: ClassVar[frozenset[str]] = frozenset({"top", "element"})  # numbers that older files of estimates lack
    kind: ClassVar[Kind] = Kind(
        "nonlinear_viscous",
        "nonlinear viscous friction",
        "torque = value * sign(qd) |qd|^power, with the fitted power, straight on above the top speed (0: none)",
        ("N m (s/rad)^power", "N (s/m)^power"),
        friction=True,
        example="{ power = 0.3 }",
    )

    def __post_init__(self) -> None:
        if self.power == 1:
            raise ModelError("the power 1 is plain viscous friction", fix="Use viscous for it")

    suffix = property(element_suffix)

    @property
    def _slope(self) -> float:
        """The law's slope at the top speed."""
        return self.power * self.top ** (self.power - 1.0) if self.top else 0.0

    def _within(self, qd: Array) -> Array:
        """Return speeds, those above the top one as that."""
        return np.clip(qd, -self.top, self.top) if self.top else qd

    def column(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return sign(qd) |qd|^power, above the top speed with its slope there."""
        known = self._within(qd)
        return np.copysign(np.abs(known) ** self.power, qd) + self._slope * (qd - known)

    def slopes(self, q: Array, qd: Array, qdd: Array) -> tuple[float, Array, float]:
        """Return the derivatives of the column by q, qd, qdd; 0 at standstill."""
        speed = np.abs(self._within(qd))
        slope = np.where(speed > 0, self.power * np.where(speed > 0, speed, 1.0) ** (self.power - 1.0), 0.0)
        return 0.0, slope, 0.0

    def continuous(self, q: Array, qd: Array, width: float) -> Array:
        """Return qd (qd^2 + width^2)^((power - 1) / 2), which is the column but for speeds below the width."""
        known = self._within(qd)
        return known * (known * known + width * width) ** (0.5 * (self.power - 1.0)) + self._slope * (qd - known)

    def symbol(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return what `column` does, of symbols."""
        if not self.top:
            return qd.power(self.power)
        known = 0.5 * (np.abs(qd + self.top) - np.abs(qd - self.top))
        return known.power(self.power) + self._slope * (qd - known)


@dataclass(frozen=True)
class ViscousAsymmetry:
    """tau_j = Fa_j |qd_j| [N m s/rad; N s/m]: half of what viscous friction is more forwards than backwards.

    joints: as in `Coulomb`. Coulomb friction that differs by direction is Coulomb friction and an `Offset`.
    """

    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = False
    kind: ClassVar[Kind] = Kind(
        "viscous_asymmetry",
        "viscous friction that differs by direction",
        "torque = value * |qd|",
        ("N m s/rad", "N s/m"),
        friction=True,
    )

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return the speed of the joint without its sign."""
        return np.abs(qd)

    def slopes(self, q: Array, qd: Array, qdd: Array) -> tuple[float, Array, float]:
        """Return the derivatives of the column by q, qd, qdd."""
        return 0.0, np.sign(qd), 0.0

    symbol = column


@dataclass(frozen=True)
class WarmUp:
    """tau_j = Fw_j exp(-t / time) qd_j [N m s/rad; N s/m]: what viscous friction is more when a recording begins.

    t [s]: since the recording's start; time [s]: in which all but a third of it is lost, the same in every recording,
    so that recordings have to begin equally cold. Needs a motion of some such times, else it is hard to tell from
    `Viscous`. joints: names of the joints that have it, None for all. The drift of one exponential is that of a body
    that warms up to a steady temperature; see Bittencourt, Axehill, "Modeling and experiments of friction in a robot
    joint under the influence of load and temperature", IEEE Transactions on Control Systems Technology 22(5), 2014.
    """

    time: float = setting("a time above 0", 600.0, gt=0)
    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("time",)
    kind: ClassVar[Kind] = Kind(
        "warm_up",
        "viscous friction that falls while a joint warms up",
        "torque = value * exp(-time since the log's start / time constant) * qd",
        ("N m s/rad", "N s/m"),
        friction=True,
        example="{ time = 600 }",
    )

    def column(self, q: Any, qd: Any, qdd: Any, time: Any) -> Any:
        """Return exp(-t / time) qd, with t (N,) [s]."""
        return np.exp(time * (-1.0 / self.time)) * qd

    symbol = column


@dataclass(frozen=True)
class Thermal:
    """tau_j = Ft_j (temperature_j - reference) qd_j [N m s/(rad K); N s/(m K)]: negative where warm grease is thin.

    temperature [degC]: as the data set's signal of that name has it, of each joint or one for all; reference [degC]:
    where the joint's friction is `Viscous` alone. A straight line is the beginning of any law; far outside the
    temperatures that were logged it is none. joints: names of the joints that have it, None for all. Source: Simoni,
    Beschi, Legnani, Visioli, "Friction modeling with temperature effects for industrial robot manipulators", IROS 2015.
    """

    reference: float = setting("a temperature in degC", 25.0)
    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("temperature",)
    kind: ClassVar[Kind] = Kind(
        "thermal_viscous",
        "viscous friction that changes with temperature",
        "torque = value * (temperature - reference) * qd",
        ("N m s/(rad K)", "N s/(m K)"),
        friction=True,
        key="thermal",
        example="{ reference = 25 }",
    )

    def column(self, q: Any, qd: Any, qdd: Any, temperature: Any) -> Any:
        """Return (temperature - reference) qd, with temperature (N,) or (m, N) [degC]."""
        return (temperature - self.reference) * qd

    symbol = column
