"""Viscous friction that falls while a joint warms up, beside `Viscous`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ident.errors import ModelError
from ident.model.term import Kind, setting


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

    def __post_init__(self) -> None:
        if not self.time > 0:
            raise ModelError(f"the time in which a joint warms up must be above 0, got {self.time}")

    def column(self, q: Any, qd: Any, qdd: Any, time: Any) -> Any:
        """Return exp(-t / time) qd, with t (N,) [s]."""
        return np.exp(time * (-1.0 / self.time)) * qd

    symbol = column
