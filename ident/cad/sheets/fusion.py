"""Physical properties of Autodesk Fusion 360 (Properties > Copy to clipboard).

Confirmed on public sheets, both forms: `Ixx = 5517.548` below "Moment of Inertia at Center of Mass   (g mm^2)", and
`Ixx<tab>0.00091` with sections General, Manage and Physical, or exponents of three as in `2035.055E-09`. Numbers
change to `2.440E+06` where they are large. The products are entries of the tensor, as the parallel-axis slope of public
sheets tells. The bounding box and the name of the material are read too.
Trailing zeros are dropped, so that a number's own last digit overstates its rounding, never understates.
"""

from __future__ import annotations

from ident.cad.sheets.layout import NUMBER, Layout

_SCALAR = rf" ?(?P<number>{NUMBER}) (?P<unit>[A-Za-z].*)"
_POINT = (
    rf" ?(?P<a>{NUMBER}) (?P<unit_a>[a-z]+) ?[,;] ?(?P<b>{NUMBER}) (?P<unit_b>[a-z]+) ?[,;] ?"
    rf"(?P<c>{NUMBER}) (?P<unit_c>[a-z]+)"
)

FUSION = Layout(
    program="Fusion 360",
    language="English",
    marks=(r"^Moment of Inertia at (?:Center of Mass|Origin)",),
    documented="tensor",
    documented_by="public Fusion 360 reports, whose parallel-axis slope is -1",
    rules=(
        ("name", r"#? ?(?:Part )?Name ?:? (?P<name>.+)"),
        ("mass", rf"Mass{_SCALAR}"),
        ("volume", rf"Volume{_SCALAR}"),
        ("density", rf"Density{_SCALAR}"),
        ("area", rf"Area{_SCALAR}"),
        ("center", rf"Center of Mass{_POINT}"),
        (
            "tensor",
            r"Moment of Inertia at (?:(?P<at_center>Center of Mass)|(?P<at_origin>Origin)) ?\( ?(?P<unit>[^()]+?) ?\)",
        ),
        ("row", rf"I[xyz]{{2}} ?=? ?{NUMBER}"),
        ("box", rf"(?P<k>Length|Width|Height) (?P<number>{NUMBER}) (?P<unit>[a-z]+)"),
        ("skip", rf"World X ?, ?Y ?, ?Z .*{NUMBER}.*"),
        ("material", r"(?:Physical Material|Material Name) (?P<name>.+)"),
        ("skip", r"(?:Part Number|Description|Component Instances|Item Number) .*"),
        ("skip", r"General|Manage|Physical|Item Number|Description|Bounding Box|Component Instances \(\d+\)"),
        ("skip", r"(?:Appearance|Lifecycle|Revision|State|Change Order|Min Point|Max Point|BoundingBox)\b.*"),
        ("name", r"(?P<name>\S.* v\d+)"),
    ),
)
