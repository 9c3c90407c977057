"""ABB: RAPID `loaddata`.

Source: ABB, RAPID reference (3HAC050917-001 and older editions), data type loaddata: mass [kg], cog [mm], aom: the
orientation of the axes of moment at the centre of gravity as a quaternion q1 ... q4, ix, iy, iz [kg m^2] about them;
a payload's cog and aom are in the tool's coordinate system, a tool's in the wrist's; abb_rapid_msgs/LoadData likewise.
A load with ix = iy = iz = 0 is a point mass; load0 has 0.001 kg.
"""

from __future__ import annotations

import re

import numpy as np

from ident.errors import InputError
from ident.export.payload import Payload, about, decimal, decimals, rounded_principal
from ident.export.text import comment
from ident.spatial.inertia import quaternion

CONVENTIONS = (
    "Units: kg, mm, kg m^2. loaddata := [mass, cog, aom, ix, iy, iz]: centre of gravity; quaternion w, x, y, z of the",
    "principal axes at it; principal moments about the CENTRE of gravity, about these axes.",
    "All in the WRIST (flange) frame: right for tooldata, and for a payload where tool0 is active or PayLoadsInWrist",
    "is set; else RAPID takes a payload's cog and aom in the active tool's frame.",
)


def write_abb(load: Payload, *, name: str = "identified_load") -> str:
    """Return a RAPID declaration; raises InputError for a name that RAPID does not take."""
    if not re.fullmatch(r"[A-Za-z]\w{0,31}", name, re.ASCII):
        raise InputError(f"'{name[:40]}' is no RAPID name: a letter, then up to 31 letters, digits or _", key="name")
    r, moments, axes = rounded_principal(load)
    mm = np.maximum(r.at_com - 3, 1)
    cog, aom = decimals(1e3 * r.com, mm), decimals(quaternion(axes), 9)
    data = f"[{decimal(r.mass, r.at_mass)}, [{cog}], [{aom}], {decimals(moments, np.diag(r.at_inertia))}]"
    head = comment(about(load, CONVENTIONS, products=True), "!")
    return "\n".join([*head, f"PERS loaddata {name} := {data};"]) + "\n"
