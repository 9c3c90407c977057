"""Yaskawa Motoman: values of the tool file.

Source: Yaskawa, NX100 instructions 9.11 "ARM control", and YRC1000 "Tool load information": W in kg; Xg, Yg, Zg in mm
in the flange coordinates; Ix, Iy, Iz in kg m^2 about axes through the centre of gravity parallel to the flange's.
"""

from __future__ import annotations

import numpy as np

from ident.export.payload import Payload, about, decimal, rounded
from ident.export.text import comment

CONVENTIONS = (
    "Units: kg, mm, kg m^2. Flange coordinates. Ix, Iy, Iz about the CENTRE of gravity, axes parallel to the flange's;",
    "Yaskawa has no products of inertia: they are left out. Give tool, gripper and workpiece together, and enter the",
    "values at standstill: TOOL LOAD INFORMATION of the tool file, or MLxRobotSetToolProperties.",
)


def write_yaskawa(load: Payload) -> str:
    """Return the seven values, one a line."""
    r = rounded(load)
    lines = [f"W  = {decimal(r.mass, r.at_mass)}"]
    lines += [f"{k}g = {decimal(1e3 * c, max(int(p) - 3, 0))}" for k, c, p in zip("XYZ", r.com, r.at_com, strict=True)]
    diagonal = zip("xyz", np.diag(r.inertia), np.diag(r.at_inertia), strict=True)
    lines += [f"I{k} = {decimal(x, int(p))}" for k, x, p in diagonal]
    return "\n".join([*comment(about(load, CONVENTIONS), "#"), *lines]) + "\n"
