"""Viscous friction that changes with a joint's temperature, beside `Viscous`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from ident.errors import ModelError
from ident.model.term import Kind, setting


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

    def __post_init__(self) -> None:
        if not math.isfinite(self.reference):
            raise ModelError(f"the reference temperature must be a finite number, got {self.reference}")

    def column(self, q: Any, qd: Any, qdd: Any, temperature: Any) -> Any:
        """Return (temperature - reference) qd, with temperature (N,) or (m, N) [degC]."""
        return (temperature - self.reference) * qd

    symbol = column
