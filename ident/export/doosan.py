"""Doosan: DRL `set_workpiece_weight`.

Source: NOT confirmed in Doosan's own manual (its Programming Manual V3.2.0 is quoted second hand for weight, centre,
reference, replace or add, start and transition time; the C++ API's CONFIG_TOOL gives the centre in metres). The file
warns of it.
"""

from __future__ import annotations

from ident.export.payload import Payload, about, decimal, decimals, rounded
from ident.export.text import comment

CONVENTIONS = (
    "Units: kg, mm. set_workpiece_weight(weight, cog, cog_ref, add_up, ...): cog relative to the flange, the load",
    "replaces the one before. There is no inertia: it is left out.",
    "WARNING: units and names of the constants are not confirmed by a Doosan document: compare with your DRL manual.",
)


def write_doosan(load: Payload) -> str:
    """Return one DRL call."""
    r = rounded(load)
    cog = decimals(1e3 * r.com, max(r.places[1] - 3, 1))
    weight = decimal(r.mass, r.places[0])
    call = f"set_workpiece_weight(weight={weight}, cog=[{cog}], cog_ref=DR_FLANGE, add_up=DR_REPLACE)"
    return "\n".join([*comment(about(load, CONVENTIONS), "#"), call]) + "\n"
