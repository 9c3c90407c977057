"""The joint terms of most models: drive inertia, offset, viscous and Coulomb friction, the latter in three laws.

Coulomb friction is the sign of the speed with a dead zone, a smooth tanh, or Dahl's law, which turns around over a
short way and keeps its force at standstill.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ident.arrays import Array, checked
from ident.errors import ModelError
from ident.model.term import Kind, constant, setting


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
    """tau_j = Fv_j qd_j [N m s/rad; N s/m]. joints: names of the joints that have it, None for all."""

    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = True
    kind: ClassVar[Kind] = Kind(
        "viscous", "viscous friction", "torque = value * qd", ("N m s/rad", "N s/m"), friction=True, standard=True
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


COULOMB = Kind(
    "coulomb",
    "Coulomb friction",
    "torque = value * sign(qd), or the smooth law of the model",
    ("N m", "N"),
    friction=True,
    standard=True,
    example="{ tanh = 0.01 }",
)


def smooth_sign(law: Any, q: Array, qd: Array, width: float) -> Array:
    """Return tanh(qd / width), what is simulated: a sign cannot be integrated, and no state like Dahl's is carried."""
    return np.tanh(qd / width)


@dataclass(frozen=True)
class Coulomb:
    """tau_j = Fc_j sign(qd_j), zero where |qd_j| <= dead_zone [N m; N].

    dead_zone [rad/s; m/s]; joints: names of the joints that have it, None for all.
    """

    dead_zone: float = setting("a speed that is 0 or more", 0.0, ge=0)
    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = True
    kind: ClassVar[Kind] = COULOMB
    formula: ClassVar[str] = "torque = value * sign(qd), 0 where |qd| <= dead_zone"

    def column(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the sign of the speed."""
        return np.sign(qd) * (np.abs(qd) > self.dead_zone)

    slopes = constant(0.0, 0.0, 0.0)
    continuous = smooth_sign


#: The plain sign of the speed, at all joints.
SIGN = Coulomb()


@dataclass(frozen=True)
class SmoothCoulomb:
    """tau_j = Fc_j tanh(qd_j / width) [N m; N], with `tanh` the width.

    tanh [rad/s; m/s]: speed at which 76 % of the friction is reached; joints: as in `Coulomb`.
    """

    tanh: float = setting("a speed above 0", gt=0)
    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = True
    kind: ClassVar[Kind] = COULOMB
    formula: ClassVar[str] = "torque = value * tanh(qd / tanh)"

    def column(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return tanh(qd / width)."""
        return np.tanh(qd / self.tanh)

    def slopes(self, q: Array, qd: Array, qdd: Array) -> tuple[float, Array, float]:
        """Return the derivatives of the column by q, qd, qdd."""
        return 0.0, (1.0 - np.tanh(qd / self.tanh) ** 2) / self.tanh, 0.0

    symbol = column


@dataclass(frozen=True)
class Dahl:
    """tau_j = Fc_j z_j with dz/dq = (1 - z sign(qd)) / way, so -1 <= z <= 1 [N m; N], with `dahl` the way.

    dahl [rad; m]: presliding travel in which z comes nearer to the sign of the speed by the factor e; where the joint
    stands still, z stays. Samples have to be in the order of time; z starts at the sign of the first movement, which is
    forgotten after a few ways. joints: as in `Coulomb`. Encoder noise is travel, too: filter the position.
    Source: Dahl, "A solid friction model", Aerospace Corporation TOR-0158(3107-18)-1, 1968.
    """

    dahl: float = setting("a travel above 0", gt=0)
    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = True
    remembers: ClassVar[bool] = True
    kind: ClassVar[Kind] = COULOMB
    formula: ClassVar[str] = "torque = value * z, dz/dq = (1 - z sign(qd)) / dahl"

    def column(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return Dahl's state z in -1..1, which the presliding displacement drives."""
        from ident.model.dahl_kernel import dahl_states

        travel = checked(q, (None, None), "q", ModelError)
        out = np.empty(travel.shape)
        dahl_states(travel, self.dahl, out)
        return out

    slopes = constant(0.0, 0.0, 0.0)  # between reversals z hardly changes; they depend on the whole past
    continuous = smooth_sign
