"""Mass properties of Onshape, as its dialog shows them.

Onshape writes no sheet file. Confirmed on one public transcript of the dialog: a heading with the number in the line
below (`Mass:` / `0.071 lb`), `X: -0.367 in`, "Moments of inertia: lb in2" and rows `Lxx: 9.870e-2  Lxy: ...`. The
number may also stand behind the heading. The tensor is the one about the centre of mass; the sign of its products is
documented nowhere that could be read, and one tensor without principal moments tells it only where the other sign
would be no body's.
"""

from __future__ import annotations

from ident.cad.sheets.layout import NUMBER, Layout

_SCALAR = rf" ?: ?(?P<number>{NUMBER}) (?P<unit>.+)"

ONSHAPE = Layout(
    program="Onshape",
    language="English",
    letters=True,
    marks=(r"\bLxx ?:",),
    rules=(
        ("mass", rf"Mass{_SCALAR}"),
        ("volume", rf"Volume{_SCALAR}"),
        ("area", rf"Surface area{_SCALAR}"),
        ("density", rf"Density{_SCALAR}"),
        ("center", r"Center of mass ?:"),
        ("coordinate", rf"(?P<k>[XYZ]) ?: ?(?P<number>{NUMBER}) (?P<unit>.+)"),
        ("tensor", r"Moments? of inertia ?: ?\(?(?P<unit>[^()]+)\)?"),
        ("row", rf"(?:L[xyz]{{2}} ?: ?{NUMBER} ?)+"),
    ),
)
