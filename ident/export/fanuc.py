"""Fanuc: values of the PAYLOAD SET screen, as system variables of a payload schedule.

Source: Lincoln Electric / Fanuc, "Robot payload": ten schedules, kg and cm from the centre of the faceplate, Z out of
it. NOT confirmed in a Fanuc document: the unit kgf cm s^2 of the inertias and that they are about the centre of mass
(users report both), and the names $PLST_GRPg[n].$PAYLOAD_IX; other pages say mm. The file warns of it.
"""

from __future__ import annotations

import numpy as np

from ident.errors import InputError
from ident.export.payload import Payload, about, decimal, rounded
from ident.export.text import comment

#: 1 kgf cm s^2 = 9.80665 N * 0.01 m * s^2 = 0.0980665 kg m^2.
KGF_CM_S2 = 0.0980665
CONVENTIONS = (
    "Units: kg, cm, kgf cm s^2 (= 0.0980665 kg m^2). Faceplate frame: Z out of the plate. Inertias about the CENTRE of",
    "mass, axes parallel to the faceplate's; Fanuc has no products of inertia: they are left out.",
    "WARNING: the unit of the inertias, their point and the variables' names are not confirmed by a Fanuc document;",
    "some sources give the centre in mm. Compare with the units that the PAYLOAD SET screen of your controller shows.",
)


def write_fanuc(load: Payload, *, schedule: int = 1, group: int = 1) -> str:
    """Return assignments for one payload schedule (1 to 10) and motion group; raises InputError for others."""
    if not 1 <= schedule <= 10:
        raise InputError(f"Fanuc has payload schedules 1 to 10, and {schedule} was asked for", key="schedule")
    r = rounded(load)
    cm, digits = max(r.places[1] - 2, 1), max(r.places[2] - 1, 0)
    names = ["", "_X", "_Y", "_Z", "_IX", "_IY", "_IZ"]
    values = [decimal(r.mass, r.places[0]), *(decimal(100 * c, cm) for c in r.com)]
    values += [decimal(x / KGF_CM_S2, digits) for x in np.diag(r.inertia)]
    variable = f"$PLST_GRP{group}[{schedule}].$PAYLOAD"
    lines = [f"{variable}{name} = {value}" for name, value in zip(names, values, strict=True)]
    return "\n".join([*comment(about(load, CONVENTIONS), "!"), *lines]) + "\n"
