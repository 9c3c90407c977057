"""Fanuc: what is typed into the screen MOTION / PAYLOAD SET of a payload schedule.

Source: Lincoln Electric, "Robot payload", of its Fanuc robots (ch-delivery.lincolnelectric.com): ten schedules; kg; cm
from the centre of the faceplate, X up and Y right as seen from behind it, Z out of it. NOT confirmed in a document of
Fanuc's: kgf cm s^2 for the inertias (users of the screen agree on it) and that they are about the centre of mass (they
do not agree). The file warns of it. The system variables $PLST_GRPg[n].$PAYLOAD_IX are not written: listings call them
read-only, and a published one holds 4190.48 for 10 kg, which only a unit near kg cm^2 explains.
"""

from __future__ import annotations

import numpy as np

from ident.errors import InputError
from ident.export.payload import Payload, about, decimal, rounded
from ident.export.text import comment

#: 1 kgf cm s^2 = 9.80665 N * 0.01 m * s^2 = 0.0980665 kg m^2.
KGF_CM_S2 = 0.0980665
CONVENTIONS = (
    "Units: kg, cm, kgf cm s^2 (= 0.0980665 kg m^2). Faceplate frame: X up, Y right as seen from behind, Z out of it.",
    "Inertias about the CENTRE of mass, axes parallel to the faceplate's; Fanuc has no products of inertia: they are",
    "left out. To be typed in by hand: MENU, SYSTEM, Motion.",
    "WARNING: the unit of the inertias and their point are not confirmed by a Fanuc document. Compare with the units",
    "that the screen of your controller shows; the system variables $PLST_GRP may hold the inertias in another unit.",
)


def write_fanuc(load: Payload, *, schedule: int = 1, group: int = 1) -> str:
    """Return the values of one payload schedule (1 to 10) and motion group; raises InputError for other schedules."""
    if not 1 <= schedule <= 10:
        raise InputError(f"Fanuc has payload schedules 1 to 10, and {schedule} was asked for", key="schedule")
    r = rounded(load)
    lines = [f"GROUP {group}, SCHEDULE NO [{schedule}]", f"PAYLOAD          [kg]        = {decimal(r.mass, r.at_mass)}"]
    for axis, c, places in zip("XYZ", r.com, r.at_com, strict=True):
        lines.append(f"PAYLOAD CENTER {axis} [cm]        = {decimal(100 * c, max(int(places) - 2, 1))}")
    for axis, x, places in zip("XYZ", np.diag(r.inertia), np.diag(r.at_inertia), strict=True):
        value = decimal(x / KGF_CM_S2, max(int(places) - 1, 0))
        lines.append(f"PAYLOAD INERTIA {axis} [kgfcms^2] = {value}")
    return "\n".join([*comment(about(load, CONVENTIONS), "!"), *lines]) + "\n"
