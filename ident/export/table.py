"""Parameters as CSV: every standard parameter, or the base parameters with their error bars. Lines with # explain."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

import numpy as np

from ident.compare.cad import decided_by
from ident.export.digits import deserved_base
from ident.export.identified import Identified, Written
from ident.export.text import comment, number, plain
from ident.files import csv_cell
from ident.model.term import Kind
from ident.model.terms import kinds
from ident.spatial.inertia import INERTIAL

CONVENTIONS = (
    "Units: SI, rad, beside each number. h = m * centre of mass; tensor about the link frame's ORIGIN, link axes,",
    "tensor signs (Ixy = -integral of x y dm).",
)
_UNITS = ("kg", *["kg m"] * 3, *["kg m^2"] * 6)


def write_csv(item: Identified) -> Written:
    """Return one row a standard parameter: name, value, unit, and whether data or the prior decided on it."""
    e, decided = item.estimate, decided_by(item.estimate)
    moves = {} if item.robot is None else {j.name: j.kind for j in item.robot.joints}
    found = []
    for k, (name, value) in enumerate(zip(e.base.standard, item.theta, strict=True)):
        owner, _, part = name.rpartition(".")
        if k < 10 * len(e.links):
            unit = _UNITS[INERTIAL.index(part)]
        else:
            term = kinds().get(part, Kind(part, part, part, ("SI", "SI")))
            unit = term.unit(moves.get(owner, ""), "{} (prismatic: {})")
        found.append((csv_cell(plain(name)), "" if name in item.unknown else number(value), unit, decided[name]))
    return Written(_csv((*item.head, *CONVENTIONS), ("parameter", "value", "unit", "decided_by"), found))


def write_base_csv(item: Identified) -> Written:
    """Return one row a base parameter: name, combination, value and its standard error (both empty: not determined)."""
    e = item.estimate
    errors = e.covariance.standard_errors
    found = [
        (
            csv_cell(plain(name)),
            csv_cell(plain(e.base.expression(k))),
            *((number(value), f"{error:.3g}") if np.isfinite(error) else ("", "")),
        )
        for k, (name, value, error) in enumerate(zip(e.base.names, deserved_base(e, item.phi), errors, strict=True))
    ]
    about = (*item.head, *CONVENTIONS, f"Standard errors: {e.covariance.kind}.")
    return Written(_csv(about, ("base_parameter", "combination", "value", "standard_error"), found))


def _csv(about: Iterable[str], columns: Sequence[str], found: Iterable[Sequence[str]]) -> str:
    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\n")
    table.writerow(columns)
    table.writerows(found)
    return "\n".join(comment(about, "#")) + "\n" + stream.getvalue()
