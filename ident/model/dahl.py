"""Dahl friction: Coulomb friction that turns around over a short way and keeps its force at standstill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ident.arrays import Array, checked
from ident.errors import ModelError
from ident.model.coulomb import COULOMB
from ident.model.term import Kind, constant, setting


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
    kind: ClassVar[Kind] = COULOMB

    def __post_init__(self) -> None:
        if not self.dahl > 0:
            raise ModelError(f"the way of Dahl friction must be positive, got {self.dahl}")

    def column(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return Dahl's state z in -1..1, which the presliding displacement drives."""
        from ident.model.dahl_kernel import dahl_states

        travel = checked(q, (None, None), "q", ModelError)
        out = np.empty(travel.shape)
        dahl_states(travel, self.dahl, out)
        return out

    slopes = constant(0.0, 0.0, 0.0)  # between reversals z hardly changes; they depend on the whole past

    def continuous(self, q: Array, qd: Array, width: float) -> Array:
        """Return tanh(qd / width): a simulation carries no z."""
        return np.tanh(qd / width)
