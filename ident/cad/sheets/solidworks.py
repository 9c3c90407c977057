"""Mass properties of SolidWorks (Evaluate > Mass Properties > Print or Copy), English and Chinese.

Confirmed on public sheets: order of the blocks, their headings with and without notation text ("Using positive tensor
notation."), two blanks behind a `*`, "(user-overridden)", notes that begin with `*`, named coordinate systems, an area
or a volume in another unit of length than the centre, Chinese headings, units and both 坐标系 and 座标系, 重心 and
质心. The setting behind the notation is documented in the SolidWorks API (swUsePositiveInertiaTensorNotation). Seen
only in the patterns of other public readers: 质量（用户覆盖） and 使用负张量记数法; in a user's macro that imitates
the dialog: 报告与以下项相对的坐标值. Not seen, formed after the ones above: the English negative notation text, the
Chinese words for density, decimal commas.
"""

from __future__ import annotations

from ident.cad.sheets.layout import NUMBER, Layout

_N = rf"(?P<number>{NUMBER})"
_VECTOR = rf"\( ?(?P<a>{NUMBER}) ?[,;] ?(?P<b>{NUMBER}) ?[,;] ?(?P<c>{NUMBER}) ?\)"
_ROW = rf"(?:[IL][xyz]{{2}} ?= ?{NUMBER} ?)+"
_UNIT = r" ?:? ?\( ?(?P<unit>[^()]+?) ?\) ?:?"

ENGLISH = Layout(
    program="SolidWorks",
    language="English",
    letters=True,
    marks=(
        r"^Mass [Pp]roperties of .+",
        r"^Taken at the (?:center of mass|output coordinate system)",
        r"^Principal axes of inertia and principal moments of inertia",
    ),
    rules=(
        ("name", r"Mass [Pp]roperties of (?P<name>.+)"),
        ("configuration", r"Configuration ?: ?(?P<name>.+)"),
        ("frame", r"(?:Coordinate [Ss]ystem|Report coordinate values relative to) ?: ?(?P<name>.+)"),
        ("density", rf"Density(?P<over> ?\(user-overridden\))? ?= ?{_N} (?P<unit>.+)"),
        ("mass", rf"Mass(?P<over> ?\(user-overridden\))? ?= ?{_N} (?P<unit>.+)"),
        ("volume", rf"Volume(?P<over> ?\(user-overridden\))? ?= ?{_N} (?P<unit>.+)"),
        ("area", rf"Surface [Aa]rea(?P<over> ?\(user-overridden\))? ?= ?{_N} (?P<unit>.+)"),
        ("center", rf"Cent(?:er|re) of [Mm]ass(?P<over> ?\(user-overridden\))?{_UNIT}"),
        ("coordinate", rf"(?P<k>[XYZ]) ?= ?{_N}"),
        ("principal", rf"Principal axes of inertia and principal moments of inertia(?: ?\(user-overridden\))?{_UNIT}"),
        ("moment", rf"I(?P<k>[xyz]) ?= ?{_VECTOR} ?P(?P=k) ?= ?(?P<p>{NUMBER})"),
        ("tensor", rf"Moments of inertia(?: ?\(user-overridden\))?{_UNIT}"),
        (
            "point",
            r"Taken at the (?:(?P<at_center>center of mass(?: and aligned with the output coordinate system)?)"
            r"|(?P<at_origin>output coordinate system)) ?\.?"
            r"(?: ?\( ?Using (?:(?P<positive>positive)|(?P<negative>negative)) tensor notation ?\.? ?\))?",
        ),
        ("row", _ROW),
    ),
)

_OVER = r"(?P<over> ?\( ?用户(?:覆盖|覆写|定义)(?:的)? ?\))?"

CHINESE = Layout(
    program="SolidWorks",
    language="Chinese",
    letters=True,
    marks=(r"的 ?质量 ?(?:属性|特性)", r"^由(?:重心|质心)决定", r"^由输出[座坐]标系决定", r"^惯性主轴"),
    rules=(
        ("name", r"(?P<name>.*?) ?的 ?质量 ?(?:属性|特性) ?"),
        ("configuration", r"配置 ?: ?(?P<name>.+)"),
        ("frame", r"(?:[坐座]标系|报告与以下项相对的坐标值) ?: ?(?P<name>.+)"),
        ("density", rf"密度{_OVER} ?= ?{_N} ?(?P<unit>.+)"),
        ("mass", rf"质量{_OVER} ?= ?{_N} ?(?P<unit>.+)"),
        ("volume", rf"体积{_OVER} ?= ?{_N} ?(?P<unit>.+)"),
        ("area", rf"表面积{_OVER} ?= ?{_N} ?(?P<unit>.+)"),
        ("center", rf"(?:重心|质心|质量中心){_OVER}{_UNIT}"),
        ("coordinate", rf"(?P<k>[XYZ]) ?= ?{_N}"),
        ("principal", rf"惯性主轴和惯性(?:主力矩|主矩|主力距){_UNIT}"),
        ("moment", rf"I(?P<k>[xyz]) ?= ?{_VECTOR} ?P(?P=k) ?= ?(?P<p>{NUMBER})"),
        ("tensor", rf"(?:惯性张量|惯性力矩|转动惯量){_UNIT}"),
        (
            "point",
            r"由(?:(?P<at_center>(?:重心|质心)决定(?: ?, ?并且对齐输出的[坐座]标系)?)"
            r"|(?P<at_origin>输出[坐座]标系决定)) ?\.?"
            r"(?: ?\( ?使用(?:(?P<positive>正)|(?P<negative>负))张量记数法 ?\.? ?\))?",
        ),
        ("row", _ROW),
    ),
)
