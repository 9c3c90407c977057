"""KUKA: KRL load data, LOAD_DATA[n] = {M .., CM {X .., Y .., Z .., A .., B .., C ..}, J {X .., Y .., Z ..}}.

Source: KUKA, MA KR IONTEC V4, "Load center of gravity and mass moment of inertia": mm; A, B, C in degrees about Z, Y'
and X'' give the main axis system, whose origin is the centre of mass; inertias in kg m^2 about its axes. KUKA
mxAutomation, KRC_WriteLoadData: X, Y, Z and A, B, C relative to the flange.
"""

from __future__ import annotations

import numpy as np

from ident.errors import InputError
from ident.export.payload import Payload, about, decimal, rounded_principal
from ident.export.text import comment
from ident.export.urdf import roll_pitch_yaw

CONVENTIONS = (
    "Units: kg, mm, deg, kg m^2. CM: centre of mass in the flange frame, and the frame of the principal axes there",
    "(A about Z, then B about Y, then C about X). J: principal moments about the CENTRE of mass, about X, Y, Z of CM.",
)


def write_kuka(load: Payload, *, tool: int = 1) -> str:
    """Return one KRL assignment to LOAD_DATA[tool], tool 1 to 16; raises InputError for another number."""
    if not 1 <= tool <= 16:
        raise InputError(f"KUKA has load data 1 to 16, and {tool} was asked for", key="tool")
    r, moments, axes = rounded_principal(load)
    roll, pitch, yaw = np.degrees(roll_pitch_yaw(axes))
    x, y, z = (decimal(1e3 * c, max(int(p) - 3, 1)) for c, p in zip(r.com, r.at_com, strict=True))
    jx, jy, jz = (decimal(m, int(p)) for m, p in zip(moments, np.diag(r.at_inertia), strict=True))
    a, b, c = (decimal(angle, 4) for angle in (yaw, pitch, roll))
    cm, j = f"{{X {x}, Y {y}, Z {z}, A {a}, B {b}, C {c}}}", f"{{X {jx}, Y {jy}, Z {jz}}}"
    data = f"{{M {decimal(r.mass, r.at_mass)}, CM {cm}, J {j}}}"
    return "\n".join([*comment(about(load, CONVENTIONS, products=True), ";"), f"LOAD_DATA[{tool}] = {data}"]) + "\n"
