"""Mecademic: `SetPayload(m,cx,cy,cz)`.

Source: Mecademic programming manual (resources.mecademic.com), SetPayload: kg; centre of mass relative to the robot's
FRF in mm; everything attached to the flange is included.
"""

from __future__ import annotations

import numpy as np

from ident.export.payload import Payload, about, decimal, decimals, rounded
from ident.export.text import comment

CONVENTIONS = (
    "Units: kg, mm. Centre of mass in the flange reference frame (FRF). SetPayload has no inertia: it is left out.",
    "Include all that is attached to the flange. Send the last line only: the text interface has no comments.",
)


def write_mecademic(load: Payload) -> str:
    """Return one command of the text interface."""
    r = rounded(load)
    com = decimals(1e3 * r.com, np.maximum(r.at_com - 3, 1), ",")
    return (
        "\n".join([*comment(about(load, CONVENTIONS), "#"), f"SetPayload({decimal(r.mass, r.at_mass)},{com})"]) + "\n"
    )
