"""Writes mass-property reports of known bodies in every layout that is read; numbers are rounded as a CAD program does.

A Written sheet knows its text, each number as it was printed, and the body in SI.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

MASS = {"kg": 1.0, "g": 1e-3, "lb": 0.45359237, "oz": 0.45359237 / 16, "mg": 1e-6}
LENGTH = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "in": 0.0254, "ft": 0.3048, "um": 1e-6}
ENGLISH = {"kg": "kilograms", "g": "grams", "lb": "pounds", "oz": "ounces", "mg": "milligrams", "m": "meters",
           "cm": "centimeters", "mm": "millimeters", "in": "inches", "ft": "feet", "um": "microns"}  # fmt: skip
CHINESE = {"kg": "千克", "g": "克", "lb": "磅", "oz": "盎司", "mg": "毫克", "m": "米", "cm": "厘米", "mm": "毫米",
           "in": "英寸", "ft": "英尺", "um": "微米"}  # fmt: skip
CREO = {"kg": "KILOGRAM", "g": "GRAM", "lb": "POUND", "m": "M", "cm": "CM", "mm": "MM", "in": "IN", "ft": "FT"}
SIX = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]


@dataclass(frozen=True, eq=False)
class Body:
    """mass [kg], centre (3,) [m], tensor about it (3, 3) [kg m^2], volume [m^3], surface [m^2]."""

    mass: float
    center: np.ndarray
    inertia: np.ndarray
    volume: float
    area: float

    @property
    def about_origin(self) -> np.ndarray:
        c = self.center
        return self.inertia + self.mass * (c @ c * np.eye(3) - np.outer(c, c))


def random_body(rng: np.random.Generator, off: float = 1.0) -> Body:
    """An ellipsoid with a heavy point in it, anywhere near the origin; `off` scales its distance."""
    a, b, c = np.sort(rng.uniform(0.01, 0.15, 3))
    volume = 4 / 3 * math.pi * a * b * c
    p = 1.6075  # Thomsen's formula for the surface, within 1.1 %
    area = 4 * math.pi * ((a**p * b**p + a**p * c**p + b**p * c**p) / 3) ** (1 / p)
    shell, point = rng.uniform(900, 8000) * volume, rng.uniform(0, 0.4)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    at = turn @ (rng.uniform(-0.5, 0.5, 3) * [a, b, c])
    mass, center = shell * (1 + point), point / (1 + point) * at
    inertia = turn @ np.diag(shell / 5 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])) @ turn.T
    for m, r in ((shell, -center), (shell * point, at - center)):
        inertia = inertia + m * (r @ r * np.eye(3) - np.outer(r, r))
    where = off * rng.normal(size=3) * 0.1
    return Body(mass, where + center, (inertia + inertia.T) / 2, volume, area)


@dataclass(frozen=True, eq=False)
class Written:
    """A sheet. printed: the text of each number by its name; products: the true sign of what is printed."""

    name: str
    text: str
    body: Body
    mass_unit: str
    length_unit: str
    products: str
    printed: dict[str, str] = field(default_factory=dict)
    stated: str | None = None
    encoding: str = "utf-8"


def fixed(digits: int) -> Callable[[float], str]:
    def show(x: float) -> str:
        text = f"{x:.{digits}f}"
        return text[1:] if text.startswith("-") and not text.strip("-0.") else text

    return show


def scientific(digits: int, mark: str = "e") -> Callable[[float], str]:
    return lambda x: f"{x:.{digits - 1}e}".replace("e", mark)


def engineering(x: float) -> str:
    """Three decimals and a power of ten that is a multiple of -3, as one Fusion export prints."""
    if x == 0:
        return "0.00"
    power = min(3 * math.floor(math.log10(abs(x)) / 3), 0)
    power -= 3
    return f"{x / 10**power:.3f}E-{-power:02d}"


def fusion_mixed(x: float) -> str:
    """Three decimals, four digits with an exponent from 1e4 on, trailing zeros dropped in the former."""
    if abs(x) >= 1e4 or 0 < abs(x) < 1e-3:
        return f"{x:.3E}"
    text = f"{x:.3f}".rstrip("0")
    return text + "00" if text.endswith(".") else text


def principal(body: Body) -> tuple[np.ndarray, np.ndarray]:
    """Ascending moments and their axes as rows, the third of them so that they form a right-handed frame."""
    moments, axes = np.linalg.eigh(body.inertia)
    rows = axes.T.copy()
    rows[2] *= np.sign(np.linalg.det(rows))
    return moments, rows


def solidworks(
    body: Body,
    *,
    language: str = "en",
    mass: str = "kg",
    length: str = "mm",
    notation: str | None = "positive",
    products: str = "positive",
    show: Callable[[float], str] | None = None,
    comma: bool = False,
    exchanged: bool = False,
    blocks: Sequence[str] = ("principal", "center", "origin"),
    over: Sequence[str] = (),
    hidden: bool = False,
    frame: str = "",
    full_width: bool = False,
    density: bool = True,
    encoding: str = "utf-8",
    name: str = "Link_1",
) -> Written:
    """A SolidWorks sheet; `exchanged`: the two tensors stand in one another's place."""
    number, en = show or fixed(3), language == "en"
    word = ENGLISH if en else CHINESE
    printed: dict[str, str] = {}

    def n(key: str, x: float, form: Callable[[float], str] = number) -> str:
        printed[key] = form(x).replace(".", ",") if comma else form(x)
        return printed[key]

    m, ln = MASS[mass], LENGTH[length]
    o = {k: ((" (user-overridden)" if en else "（用户覆盖）") if k in over else "") for k in ("mass", "center")}
    lines = (
        [f"Mass properties of {name}", "     Configuration: Default"]
        if en
        else [f"{name} 的质量属性", "     配置： 默认"]
    )
    default = "-- default --" if en else "-- 默认 --"
    lines += [f"     {'Coordinate system:' if en else '坐标系：'} {frame or default}", ""]
    if hidden:
        note = "Includes the mass properties of one or more hidden components/bodies."
        lines += ["* " + (note if en else "含有一个或多个隐藏零部件/实体的质量属性。"), ""]
    square, cubic = ("square ", "cubic ") if en else ("平方", "立方")
    if density:
        per = f"{word[mass]} per cubic {word[length].rstrip('s')}" if en and length not in ("in", "ft") else ""
        per = per or (f"{word[mass]} per cubic {word[length]}" if en else f"{word[mass]}/{cubic}{word[length]}")
        lines += [f"{'Density' if en else '密度'} = {n('density', body.mass / body.volume / m * ln**3)} {per}", ""]
    lines += [f"{'Mass' if en else '质量'}{o['mass']} = {n('mass', body.mass / m)} {word[mass]}", ""]
    lines += [f"{'Volume' if en else '体积'} = {n('volume', body.volume / ln**3)} {cubic}{word[length]}", ""]
    area = n("area", body.area / ln**2)
    lines += [f"{'Surface area' if en else '表面积'} = {area}  {square}{word[length]}", ""]
    head = f"Center of {'M' if o['center'] else 'm'}ass{o['center']}:" if en else f"重心{o['center']} :"
    lines += [f"{head} ( {word[length]} )"]
    lines += [f"\t{k} = {n(k, x / ln)}" for k, x in zip("XYZ", body.center, strict=True)]
    unit = f"( {word[mass]} *  {square}{word[length]} )"
    text = {
        "positive": " (Using positive tensor notation.)" if en else " （使用正张量记数法。）",
        "tensor": " (Using negative tensor notation.)" if en else " （使用负张量记数法。）",
        None: "",
    }[notation]
    if "principal" in blocks:
        head = "Principal axes of inertia and principal moments of inertia:" if en else "惯性主轴和惯性主力矩:"
        lines += ["", f"{head} {unit}", "Taken at the center of mass." if en else "由重心决定。"]
        moments, axes = principal(body)
        for k, i, p in zip("xyz", axes, moments, strict=True):
            a = [n(f"{k}{j}", x) for j, x in zip("xyz", i, strict=True)]
            lines.append(f"\t I{k} = ({', '.join(a)})   \tP{k} = {n('P' + k, p / (m * ln * ln))}")
    sign = np.where(np.eye(3) > 0, 1, -1 if products == "positive" else 1)
    tensors = {"center": body.inertia, "origin": body.about_origin}
    if exchanged:
        tensors = {"center": tensors["origin"], "origin": tensors["center"]}
    point = {
        "center": "Taken at the center of mass and aligned with the output coordinate system."
        if en
        else "由重心决定，并且对齐输出的坐标系。",
        "origin": "Taken at the output coordinate system." if en else "由输出座标系决定。",
    }
    for block, letter in (("center", "L"), ("origin", "I")):
        if block not in blocks:
            continue
        lines += ["", f"{'Moments of inertia:' if en else '惯性张量:'} {unit}", point[block] + text]
        shown = sign * tensors[block] / (m * ln * ln)
        for i in range(3):
            row = [
                f"{letter}{'xyz'[i]}{'xyz'[j]} = {n(letter + 'xyz'[min(i, j)] + 'xyz'[max(i, j)], shown[i, j])}"
                for j in range(3)
            ]
            lines.append("\t" + "\t".join(row))
    out = "\n".join(lines) + "\n"
    if full_width:
        out = out.translate(str.maketrans("():=,", "（）：＝，")) if not comma else out
    label = f"solidworks-{language}-{mass}-{length}-{notation}"
    return Written(label, out, body, mass, length, products, printed, notation, encoding)


def fusion(
    body: Body, *, form: str = "equals", mass: str = "g", length: str = "mm", products: str = "tensor"
) -> Written:
    """A Fusion 360 sheet: "equals" (Ixx = ...), "tabs" (sections and tabs), or "engineering" (exponents of three)."""
    printed: dict[str, str] = {}
    show = {"equals": fusion_mixed, "tabs": fixed(6), "engineering": engineering}[form]

    def n(key: str, x: float) -> str:
        printed[key] = show(x)
        return printed[key]

    m, ln = MASS[mass], LENGTH[length]
    unit = f"({mass} {length}^2)" if form != "engineering" else f"({mass.capitalize()}.{length}^2)"
    lines = []
    if form == "tabs":
        lines += ["General", "\tPart Number\tmotor mod", "\tPart Name\tupper arm v9", "\tDescription",
                  "\tMaterial Name\t(Various)", "", "Manage", "\tItem Number", "", "Physical"]  # fmt: skip
    elif form == "equals":
        lines += ["", "4711_bracket v1", "", "Component Instances (1)"]
    else:
        lines += ["#Name\tmotor_20"]
    if form != "engineering":
        lines += [f"Area\t{n('area', body.area / ln**2)} {length}^2"]
        lines += [f"Density\t{n('density', body.mass / body.volume / m * ln**3)} {mass} / {length}^3"]
    lines += [f"Mass\t{n('mass', body.mass / m)} {mass if form != 'engineering' else mass.capitalize()}"]
    if form != "engineering":
        lines += [f"Volume\t{n('volume', body.volume / ln**3)} {length}^3", "Bounding Box"]
        lines += [f"\tLength \t 187.8 {length}", f"World X,Y,Z\t0.00 {length}, 0.00 {length}, 0.00 {length}"]
    center = ", ".join(f"{n(k, x / ln)} {length}" for k, x in zip("XYZ", body.center, strict=True))
    lines += [f"Center of Mass\t{center}", ""]
    sign = np.where(np.eye(3) > 0, 1, -1 if products == "positive" else 1)
    blocks = [("Center of Mass", "L", body.inertia), ("Origin", "I", body.about_origin)]
    for head, letter, inertia in blocks[: 1 if form == "engineering" else 2]:
        lines.append(f"Moment of Inertia at {head}   {unit}")
        shown = sign * inertia / (m * ln * ln)
        for i in range(3):
            for j in range(3):
                x = n(letter + "xyz"[min(i, j)] + "xyz"[max(i, j)], shown[i, j])
                lines.append(f"\tI{'xyz'[i]}{'xyz'[j]}{' = ' if form == 'equals' else chr(9)}{x}")
        lines.append("")
    return Written(f"fusion-{form}-{mass}-{length}", "\n".join(lines), body, mass, length, products, printed)


def creo(body: Body, *, mass: str = "kg", length: str = "mm", digits: int = 8, products: str = "tensor") -> Written:
    printed: dict[str, str] = {}

    def n(key: str, x: float) -> str:
        printed[key] = scientific(digits)(x)
        return f"{printed[key]:>{digits + 7}}"

    m, ln, kg, mm = MASS[mass], LENGTH[length], CREO[mass], CREO[length]
    frame, unit = "_LINK_1", f"({kg} * {mm}^2)"
    lines = [
        f"VOLUME = {n('volume', body.volume / ln**3)}  {mm}^3",
        f"SURFACE AREA = {n('area', body.area / ln**2)}  {mm}^2",
        f"DENSITY = {n('density', body.mass / body.volume / m * ln**3)} {kg} / {mm}^3",
        f"MASS = {n('mass', body.mass / m)} {kg}",
        "",
        f"CENTER OF GRAVITY with respect to {frame} coordinate frame:",
        "X   Y   Z  " + "".join(n(k, x / ln) for k, x in zip("XYZ", body.center, strict=True)) + f"  {mm}",
        "",
    ]
    sign = np.where(np.eye(3) > 0, 1, -1 if products == "positive" else 1)
    for head, letter, inertia in (
        ("INERTIA with respect to", "I", body.about_origin),
        ("INERTIA at CENTER OF GRAVITY with respect to", "L", body.inertia),
    ):
        lines += [f"{head} {frame} coordinate frame:  {unit}", "", "INERTIA TENSOR:"]
        shown = sign * inertia / (m * ln * ln)
        for i in range(3):
            names = " ".join(f"I{'xyz'[i]}{'xyz'[j]}" for j in range(3))
            row = "".join(n(letter + "xyz"[min(i, j)] + "xyz"[max(i, j)], shown[i, j]) for j in range(3))
            lines.append(f"{names} {row}")
        lines.append("")
    moments, _ = principal(body)
    lines += [f"PRINCIPAL MOMENTS OF INERTIA:  {unit}"]
    lines += ["I1  I2  I3  " + "".join(n("P" + k, p / (m * ln * ln)) for k, p in zip("xyz", moments, strict=True))]
    return Written(f"creo-{mass}-{length}-{digits}", "\n".join(lines) + "\n", body, mass, length, products, printed)


def onshape(body: Body, *, mass: str = "lb", length: str = "in", below: bool = True) -> Written:
    printed: dict[str, str] = {}

    def n(key: str, x: float, form: Callable[[float], str]) -> str:
        printed[key] = form(x)
        return printed[key]

    m, ln, gap = MASS[mass], LENGTH[length], "\n\n    " if below else " "
    lines = [
        f"Mass:{gap}{n('mass', body.mass / m, fixed(3))} {mass}",
        f"Volume:{gap}{n('volume', body.volume / ln**3, fixed(3))} {length}3",
        f"Surface area:{gap}{n('area', body.area / ln**2, fixed(3))} {length}2",
        "Center of mass:",
        *(f"    {k}: {n(k, x / ln, fixed(3))} {length}" for k, x in zip("XYZ", body.center, strict=True)),
        f"Moments of inertia: {mass} {length}2",
    ]
    shown = body.inertia / (m * ln * ln)
    for i in range(3):
        names = [(f"L{'xyz'[i]}{'xyz'[j]}", "L" + "xyz"[min(i, j)] + "xyz"[max(i, j)], shown[i, j]) for j in range(3)]
        lines.append(" \t".join(f"{label}: {n(key, x, scientific(4))}" for label, key, x in names))
    return Written(f"onshape-{mass}-{length}-{below}", "\n".join(lines) + "\n", body, mass, length, "tensor", printed)


def corpus() -> Iterator[Written]:
    """Yield 90 sheets in a fixed order from seeded bodies: every layout, language, unit, notation and precision."""
    rng = np.random.default_rng(20)
    units = [("kg", "m"), ("g", "mm"), ("kg", "mm"), ("lb", "ft"), ("lb", "in"), ("oz", "in"), ("g", "cm"),
             ("kg", "cm"), ("mg", "um"), ("g", "in")]  # fmt: skip
    enough = {("kg", "m"): 8, ("lb", "ft"): 8, ("kg", "cm"): 5, ("lb", "in"): 5}
    encodings = {"en": ("utf-8", "utf-8-sig", "utf-16"), "zh": ("utf-8", "gb18030", "utf-16")}
    k = 0
    for language in ("en", "zh"):
        for mass, length in units:
            for notation in ("positive", "tensor", None):
                k += 1
                digits = max(enough.get((mass, length), 2), 2 + k % 11)
                show = scientific(max(digits, 4), "E") if k % 6 == 5 else fixed(digits)
                yield solidworks(
                    random_body(rng, off=(0.0, 1.0, 3.0)[k % 3] or 0.3),
                    language=language,
                    mass=mass,
                    length=length,
                    notation=notation,
                    products=notation or ("positive", "tensor")[k % 2],
                    show=show,
                    comma=k % 4 == 1,
                    over=("mass", "center")[: k % 3],
                    hidden=k % 2 == 0,
                    frame="" if k % 3 else "坐标系1" if language == "zh" else "L1FCS",
                    full_width=k % 7 == 3,
                    density=k % 3 != 1,
                    encoding=encodings[language][k % 3],
                    name=("装配体1", "Link 2 - v3", "所选零部件")[k % 3] if language == "zh" else "Arm.SLDASM",
                )
    for form in ("equals", "tabs", "engineering"):
        for mass, length in (("g", "mm"), ("kg", "m"), ("g", "cm"), ("lb", "in")):
            yield fusion(random_body(rng), form=form, mass=mass, length=length)
    for mass, length in (("kg", "mm"), ("g", "cm"), ("kg", "m"), ("lb", "in")):
        for digits in (3, 8):
            yield creo(random_body(rng), mass=mass, length=length, digits=digits)
    for below in (True, False):
        for mass, length in (("lb", "in"), ("g", "mm"), ("kg", "cm"), ("oz", "in"), ("g", "in")):
            yield onshape(random_body(rng), mass=mass, length=length, below=below)
