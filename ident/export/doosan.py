"""Doosan: `set_workpiece_weight` of the C++ API (DRFL).

Source: Doosan Robotics API manual 1.33.1 (doosanrobotics.github.io/doosan-robotics-api-manual), set_workpiece_weight:
weight in kg, centre in mm, COG_REFERENCE_FLANGE, ADD_UP_REPLACE; the same names in DRFLEx.h of API-DRFL. DRL has a call
of that name, too, but its constant for the flange is not in that manual, so it is not written. add_tool takes an
inertia, in a unit that the manual does not state.
"""

from __future__ import annotations

import numpy as np

from ident.export.payload import Payload, about, decimal, decimals, rounded
from ident.export.text import comment

CONVENTIONS = (
    "Units: kg, mm. fCog: centre of gravity in the flange's frame; the load replaces the one before. There is no",
    "inertia: it is left out. In automatic mode collision detection and the TCP SLF check have to be muted, else the",
    "robot makes a protective stop. Changing the tool sets the load to zero.",
)


def write_doosan(load: Payload) -> str:
    """Return a C++ snippet with one call of CDRFLEx, which takes floats."""
    r = rounded(load)
    cog = decimals(1e3 * r.com, np.maximum(r.at_com - 3, 1), "f, ")
    weight = decimal(r.mass, max(r.at_mass, 1))
    lines = [
        f"float fCog[3] = {{{cog}f}};",
        f"drfl.set_workpiece_weight({weight}f, fCog, COG_REFERENCE_FLANGE, ADD_UP_REPLACE);",
    ]
    return "\n".join([*comment(about(load, CONVENTIONS), "//"), *lines]) + "\n"
