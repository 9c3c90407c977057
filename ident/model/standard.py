"""What a model has unless it is told otherwise, beside Coulomb friction: drive inertia, viscous friction, offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ident.arrays import Array
from ident.model.term import Kind, constant


@dataclass(frozen=True)
class DriveInertia:
    """tau_j = Ia_j qdd_j, with Ia the rotor's inertia times the squared reduction ratio [kg m^2; kg].

    joints: names of the joints that have it, None for all.
    """

    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = True
    kind: ClassVar[Kind] = Kind(
        "drive_inertia",
        "drive inertia",
        "torque = value * qdd: rotor inertia seen at the joint",
        ("kg m^2", "kg"),
        standard=True,
    )

    def column(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the acceleration qdd of the joint."""
        return qdd

    slopes = constant(0.0, 0.0, 1.0)
    symbol = column


@dataclass(frozen=True)
class Viscous:
    """tau_j = Fv_j qd_j [N m s/rad; N s/m].

    joints: names of the joints that have it, None for all.
    """

    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = True
    kind: ClassVar[Kind] = Kind(
        "viscous",
        "viscous friction",
        "torque = value * qd",
        ("N m s/rad", "N s/m"),
        friction=True,
        standard=True,
        trace="grows with speed",
    )

    def column(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the speed qd of the joint."""
        return qd

    slopes = constant(0.0, 1.0, 0.0)
    symbol = column


@dataclass(frozen=True)
class Offset:
    """tau_j = F0_j [N m; N]: current offset of the amplifier, asymmetry of Coulomb friction.

    joints: names of the joints that have it, None for all.
    """

    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = False
    kind: ClassVar[Kind] = Kind("offset", "offset", "constant torque", ("N m", "N"), standard=True)

    def column(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return ones, as the offset is constant."""
        return 0.0 * qd + 1.0  # arithmetic alone, which symbols do like numbers

    slopes = constant(0.0, 0.0, 0.0)
    symbol = column

    def energy(self, q: Array) -> Array:
        """Return the potential energy per parameter, which is q [rad; m]."""
        return q
