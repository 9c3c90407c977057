"""Writes a CAD table as CSV or TOML in any convention."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

from ident.cad.convention import Convention
from ident.cad.rounding import Exact
from ident.cad.table import COLUMNS, Cad, steiner
from ident.errors import CadError
from ident.files import csv_cell, write_whole


def write_cad(cad: Cad, convention: Convention, path: str | Path) -> None:
    """Write the links of `cad` to a CSV file (its convention above the header), whole or not at all.

    Numbers are converted exactly and written with the digits that give the same double back. Joint values have no
    place in a CSV table and are left out. Raises CadError for a link without mass but with a first moment,
    InputError when the file cannot be written.
    """
    text = io.StringIO()
    for key, value in asdict(convention).items():
        text.write(f'# {key} = "{value}"\n')
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("link", *COLUMNS))
    for link, exact in zip(cad.links, cad.exact(), strict=True):
        writer.writerow((csv_cell(link), *(repr(float(x)) for x in _printed(link, exact, convention))))
    write_whole(path, text.getvalue())


def write_cad_toml(cad: Cad, convention: Convention, path: str | Path) -> None:
    """Write the links of `cad` and its joint values to a TOML file, as `write_cad` does; raises as it does."""
    text = ["[convention]", *(f'{key} = "{value}"' for key, value in asdict(convention).items())]
    for link, exact in zip(cad.links, cad.exact(), strict=True):
        text += ["", "[[link]]", f"name = {_quoted(link)}"]
        text += [f"{c} = {float(x)!r}" for c, x in zip(COLUMNS, _printed(link, exact, convention), strict=True)]
    for name, value in cad.joint_values.items():
        joint, _, key = name.rpartition(".")
        text += ["", f"[joint.{_quoted(joint)}]", f"{key} = {value!r}"]
    write_whole(path, "\n".join(text) + "\n")


def _quoted(text: str) -> str:
    """Return a basic string of TOML."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _printed(link: str, exact: Exact, convention: Convention) -> Exact:
    """Return m, c and the six entries of the tensor in the convention."""
    mass, length, inertia = convention.factors
    m, h = exact[0], exact[1:4]
    if m == 0 and any(h):
        raise CadError(f"link '{link}' has a first moment but no mass, so it has no centre of mass")
    c = tuple(x / m for x in h) if m else (Fraction(0),) * 3
    shift = steiner(m, *c) if convention.tensor_at == "center_of_mass" else (Fraction(0),) * 6
    signs = (1, 1, 1, 1, 1, 1) if convention.products == "tensor" else (1, -1, -1, 1, -1, 1)
    tensor = (s * (i - d) / inertia for s, i, d in zip(signs, exact[4:], shift, strict=True))
    return (m / mass, *(x / length for x in c), *tensor)
