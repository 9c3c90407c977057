"""The torque constants of drives whose controller logs the torques, and the currents, that it asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ident.logs.raw import Column
from ident.logs.recognised import Family

#: Torques that are asked for differ from those of a constant by this share of their size, at most.
_PROPORTIONAL = 0.02


def constants(families: Sequence[Family], family: Family) -> tuple[Mapping[Column, float], str]:
    """Return the gain [N m or N for 1] of each column of a family of currents, and why; nothing where none is told.

    What a controller asks for as torque and as current is in proportion where it knows a constant and no more.
    """
    others = [f for f in families if f is not family and f.of == family.of]
    if family.quantity != "current" or len(set(family.of)) < len(family.of):
        return {}, ""
    for told, drives in ((a, b) for a in others for b in others if a.origin == b.origin):
        if told.quantity == "torque" and drives.quantity == "current" and told.unit in ("", "N m", "N"):
            size = np.sum(drives.values**2, axis=0)
            gains = np.sum(told.values * drives.values, axis=0) / np.where(size > 0.0, size, 1.0)
            left = np.linalg.norm(told.values - gains * drives.values, axis=0)
            if np.all(gains != 0.0) and np.all(left <= _PROPORTIONAL * np.linalg.norm(told.values, axis=0)):
                each = dict(zip(family.columns, (float(f"{g:.5g}") for g in gains), strict=True))
                return each, f"so many N m (N) of {told.shown} go with 1 of {drives.shown}"
    return {}, ""
