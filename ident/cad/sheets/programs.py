"""The layouts of the sheets that are read, each with what of it is confirmed by public samples."""

from __future__ import annotations

from ident.cad.sheets.layout import NUMBER, Layout, What

_N = rf"(?P<number>{NUMBER})"
_UNIT = r" ?\( ?(?P<unit>[^()]+?) ?\)"


def _scalars(*words: str) -> tuple[tuple[What, str], ...]:
    """Return the rules of density, mass, volume and area by their words; last comes what stands behind each."""
    kinds: tuple[What, ...] = ("density", "mass", "volume", "area")
    return tuple((what, word + words[-1]) for what, word in zip(kinds, words[:-1], strict=True))


# Mass properties of SolidWorks (Evaluate > Mass Properties > Print or Copy), English and Chinese. Confirmed on public
# sheets: order of the blocks, their headings with and without notation text ("Using positive tensor notation."), two
# blanks behind a `*`, "(user-overridden)", notes that begin with `*`, named coordinate systems, an area or a volume
# in another unit of length than the centre, Chinese headings, units and both 坐标系 and 座标系, 重心 and 质心. The
# setting behind the notation is documented in the SolidWorks API (swUsePositiveInertiaTensorNotation). Seen only in
# the patterns of other public readers: 质量（用户覆盖） and 使用负张量记数法; in a user's macro that imitates the
# dialog: 报告与以下项相对的坐标值. Not seen, formed after the ones above: the English negative notation text, the
# Chinese words for density, decimal commas.

_VECTOR = rf"\( ?(?P<a>{NUMBER}) ?[,;] ?(?P<b>{NUMBER}) ?[,;] ?(?P<c>{NUMBER}) ?\)"
_HEAD = r" ?:? ?\( ?(?P<unit>[^()]+?) ?\) ?:?"


def _solidworks(language: str, marks: tuple[str, ...], rules: dict[What, str], scalars: tuple[str, ...]) -> Layout:
    """Return a layout in the words of a language; lines of numbers are alike in all."""
    numbers: tuple[tuple[What, str], ...] = (
        ("coordinate", rf"(?P<k>[XYZ]) ?= ?{_N}"),
        ("moment", rf"I(?P<k>[xyz]) ?= ?{_VECTOR} ?P(?P=k) ?= ?(?P<p>{NUMBER})"),
        ("row", rf"(?:[IL][xyz]{{2}} ?= ?{NUMBER} ?)+"),
    )
    return Layout("SolidWorks", language, marks, (*rules.items(), *_scalars(*scalars), *numbers), letters=True)


ENGLISH = _solidworks(
    "English",
    (
        r"^Mass [Pp]roperties of .+",
        r"^Taken at the (?:center of mass|output coordinate system)",
        r"^Principal axes of inertia and principal moments of inertia",
    ),
    {
        "name": r"Mass [Pp]roperties of (?P<name>.+)",
        "configuration": r"Configuration ?: ?(?P<name>.+)",
        "frame": r"(?:Coordinate [Ss]ystem|Report coordinate values relative to) ?: ?(?P<name>.+)",
        "center": rf"Cent(?:er|re) of [Mm]ass(?P<over> ?\(user-overridden\))?{_HEAD}",
        "principal": rf"Principal axes of inertia and principal moments of inertia(?: ?\(user-overridden\))?{_HEAD}",
        "tensor": rf"Moments of inertia(?: ?\(user-overridden\))?{_HEAD}",
        "point": (
            r"Taken at the (?:(?P<at_center>center of mass(?: and aligned with the output coordinate system)?)"
            r"|(?P<at_origin>output coordinate system)) ?\.?"
            r"(?: ?\( ?Using (?:(?P<positive>positive)|(?P<negative>negative)) tensor notation ?\.? ?\))?"
        ),
    },
    ("Density", "Mass", "Volume", "Surface [Aa]rea", rf"(?P<over> ?\(user-overridden\))? ?= ?{_N} (?P<unit>.+)"),
)

_OVER = r"(?P<over> ?\( ?用户(?:覆盖|覆写|定义)(?:的)? ?\))?"

CHINESE = _solidworks(
    "Chinese",
    (r"的 ?质量 ?(?:属性|特性)", r"^由(?:重心|质心)决定", r"^由输出[座坐]标系决定", r"^惯性主轴"),
    {
        "name": r"(?P<name>.*?) ?的 ?质量 ?(?:属性|特性) ?",
        "configuration": r"配置 ?: ?(?P<name>.+)",
        "frame": r"(?:[坐座]标系|报告与以下项相对的坐标值) ?: ?(?P<name>.+)",
        "center": rf"(?:重心|质心|质量中心){_OVER}{_HEAD}",
        "principal": rf"惯性主轴和惯性(?:主力矩|主矩|主力距){_HEAD}",
        "tensor": rf"(?:惯性张量|惯性力矩|转动惯量){_HEAD}",
        "point": (
            r"由(?:(?P<at_center>(?:重心|质心)决定(?: ?, ?并且对齐输出的[坐座]标系)?)"
            r"|(?P<at_origin>输出[座坐]标系决定)) ?\.?"
            r"(?: ?\( ?使用(?:(?P<positive>正)|(?P<negative>负))张量记数法 ?\.? ?\))?"
        ),
    },
    ("密度", "质量", "体积", "表面积", rf"{_OVER} ?= ?{_N} ?(?P<unit>.+)"),
)

# Mass properties of PTC Creo (Analysis > Mass Properties, the .m_p file). Confirmed on public sheets: VOLUME, SURFACE
# AREA, DENSITY, MASS with exponents, the heading "INERTIA at CENTER OF GRAVITY with respect to NAME coordinate frame:
# (KILOGRAM * MM^2)", "INERTIA TENSOR:" and its rows `Ixx Ixy Ixz  4.1e+04 ...`. PTC documents the inertia TENSOR as
# trace times the unit matrix minus the integrals of x_i x_j, hence with tensor signs. Not seen in a public sample,
# general knowledge: the line of the centre of gravity, the tensor at the coordinate frame, the three principal
# moments in one line. Axes and radii of gyration are not read.

_THREE = rf"(?P<a>{NUMBER}) (?P<b>{NUMBER}) (?P<c>{NUMBER})"
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
        *_scalars("(?:AVERAGE )?DENSITY", "MASS", "VOLUME", "SURFACE AREA", rf" ?= ?{_N} (?P<unit>[A-Z].*)"),
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

# Physical properties of Autodesk Fusion 360 (Properties > Copy to clipboard). Confirmed on public sheets, both forms:
# `Ixx = 5517.548` below "Moment of Inertia at Center of Mass   (g mm^2)", and `Ixx<tab>0.00091` with sections
# General, Manage and Physical, or exponents of three as in `2035.055E-09`. Numbers change to `2.440E+06` where they
# are large. The products are entries of the tensor, as the parallel-axis slope of public sheets tells. The bounding
# box and the name of the material are read too. Trailing zeros are dropped, so that a number's own last digit
# overstates its rounding, never understates.

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
        *_scalars("Density", "Mass", "Volume", "Area", rf" ?{_N} (?P<unit>[A-Za-z].*)"),
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

# Mass properties of Onshape, as its dialog shows them. Onshape writes no sheet file. Confirmed on one public
# transcript of the dialog: a heading with the number in the line below (`Mass:` / `0.071 lb`), `X: -0.367 in`,
# "Moments of inertia: lb in2" and rows `Lxx: 9.870e-2  Lxy: ...`. The number may also stand behind the heading. The
# tensor is the one about the centre of mass; the sign of its products is documented nowhere that could be read, and
# one tensor without principal moments tells it only where the other sign would be no body's.


ONSHAPE = Layout(
    program="Onshape",
    language="English",
    letters=True,
    marks=(r"\bLxx ?:",),
    rules=(
        *_scalars("Density", "Mass", "Volume", "Surface area", rf" ?: ?{_N} (?P<unit>.+)"),
        ("center", r"Center of mass ?:"),
        ("coordinate", rf"(?P<k>[XYZ]) ?: ?(?P<number>{NUMBER}) (?P<unit>.+)"),
        ("tensor", r"Moments? of inertia ?: ?\(?(?P<unit>[^()]+)\)?"),
        ("row", rf"(?:L[xyz]{{2}} ?: ?{NUMBER} ?)+"),
    ),
)

LAYOUTS: tuple[Layout, ...] = (ENGLISH, CHINESE, FUSION, CREO, ONSHAPE)
