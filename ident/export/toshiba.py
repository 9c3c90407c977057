"""Toshiba / Shibaura: SCOL `PAYLOAD = {M, Gx, Gy, Gz}`.

Source: Toshiba TVL series, Transportation and Installation Manual, 10.3.2: kg, mm, absolute values of the offsets.
"""

from __future__ import annotations

import numpy as np

from ident.export.payload import Payload, about, decimal, decimals, rounded
from ident.export.text import comment

CONVENTIONS = (
    "Units: kg, mm. ABSOLUTE values of the centre's offsets from the flange: the signs are lost, and so is the",
    "inertia, for which PAYLOAD has no place.",
)


def write_toshiba(load: Payload) -> str:
    """Return one SCOL statement."""
    r = rounded(load)
    com = decimals(1e3 * np.abs(r.com), np.maximum(r.at_com - 3, 0), ", ")
    return (
        "\n".join([*comment(about(load, CONVENTIONS), "'"), f"PAYLOAD = {{{decimal(r.mass, r.at_mass)}, {com}}}"])
        + "\n"
    )
