"""Mass properties of PTC Creo (Analysis > Mass Properties, the .m_p file).

Confirmed on public sheets: VOLUME, SURFACE AREA, DENSITY, MASS with exponents, the heading "INERTIA at CENTER OF
GRAVITY with respect to NAME coordinate frame:  (KILOGRAM * MM^2)", "INERTIA TENSOR:" and its rows
`Ixx Ixy Ixz  4.1e+04 ...`. PTC documents the inertia TENSOR as trace times the unit matrix minus the integrals of
x_i x_j, hence with tensor signs. Not seen in a public sample, general knowledge: the line of the centre of gravity, the
tensor at the coordinate frame, the three principal moments in one line. Axes and radii of gyration are not read.
"""

from __future__ import annotations

from ident.cad.sheets.layout import NUMBER, Layout

_SCALAR = rf" ?= ?(?P<number>{NUMBER}) (?P<unit>[A-Z].*)"
_THREE = rf"(?P<a>{NUMBER}) (?P<b>{NUMBER}) (?P<c>{NUMBER})"
_UNIT = r" ?\( ?(?P<unit>[^()]+?) ?\)"
_FRAME = r" with respect to .+? coordinate frame ?:"

CREO = Layout(
    program="Creo",
    language="English",
    marks=(
        r"^INERTIA TENSOR ?:",
        r"^INERTIA (?:at CENTER OF GRAVITY )?with respect to",
        r"^CENTER OF GRAVITY with respect",
    ),
    documented="tensor",
    documented_by="PTC's definition of the inertia tensor",
    rules=(
        ("name", r"MASS PROPERTIES OF THE (?:PART|ASSEMBLY) (?P<name>.+)"),
        ("volume", rf"VOLUME{_SCALAR}"),
        ("area", rf"SURFACE AREA{_SCALAR}"),
        ("density", rf"(?:AVERAGE )?DENSITY{_SCALAR}"),
        ("mass", rf"MASS{_SCALAR}"),
        ("skip", r"CENTER OF GRAVITY with respect to .+ coordinate frame ?:"),
        ("center", rf"X Y Z {_THREE} (?P<unit>[A-Z]+)"),
        ("tensor", rf"INERTIA (?:(?P<at_center>at CENTER OF GRAVITY)|(?P<at_origin>(?=with)))\s?{_FRAME[1:]}{_UNIT}"),
        ("skip", r"INERTIA TENSOR ?:"),
        ("row", rf"(?:I[xyz]{{2}} ){{3}}{NUMBER}(?: {NUMBER}){{2}}"),
        ("principal", rf"PRINCIPAL MOMENTS OF INERTIA ?:{_UNIT}"),
        ("moment", rf"I1 I2 I3 {_THREE}"),
        ("skip", r"ROTATION (?:MATRIX|ANGLES) from .*"),
        ("skip", rf"{NUMBER}(?: {NUMBER}){{2}}"),
        ("skip", r"angles about x y z .*"),
        ("skip", r"RADII OF GYRATION with respect to .*"),
        ("skip", r"R1 R2 R3 .*"),
    ),
)
