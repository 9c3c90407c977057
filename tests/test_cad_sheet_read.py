"""Mass-property sheets: every printed number, its unit, line and rounding; broken sheets and their messages."""

from __future__ import annotations

import re
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import cases
from sheet_corpus import (
    LENGTH,
    MASS,
    Written,
    corpus,
    creo,
    fixed,
    fusion,
    onshape,
    random_body,
    scientific,
    solidworks,
)

from ident.cad.sheets.layout import plain
from ident.cad.sheets.read import LAYOUTS, parse_sheet, read_sheet
from ident.cad.sheets.readings import to_inertials
from ident.cad.sheets.sheet import ENTRIES, Number, Sheet, half_widths, printed_unit
from ident.errors import CadError

BROKEN = Path(__file__).parent / "broken" / "cad_reports"
EXPECTED = tomllib.loads((BROKEN / "expected.toml").read_text(encoding="utf-8"))
CORPUS = list(corpus())


def named(sheet: Sheet) -> dict[str, Number]:
    """Return the numbers of a sheet by the names that the generator gives them."""
    found = {"mass": sheet.mass, "density": sheet.density, "volume": sheet.volume, "area": sheet.area}
    found |= dict(zip("XYZ", sheet.center, strict=True))
    for letter, six in (("L", sheet.at_center), ("I", sheet.at_origin)):
        found |= {letter + e: n for e, n in zip(ENTRIES, six or (), strict=False)}
    for k, p, axis in zip("xyz", sheet.moments or (), sheet.axes or ((), (), ()), strict=False):
        found["P" + k] = p
        found |= {k + j: a for j, a in zip("xyz", axis, strict=False)}
    return {k: n for k, n in found.items() if n is not None}


def check_numbers(sheet: Sheet, written: Written) -> None:
    found = named(sheet)
    assert {k: n.text for k, n in found.items()} == written.printed
    m, length = MASS[written.mass_unit], LENGTH[written.length_unit]
    units = {"mass": m, "density": m / length**3, "volume": length**3, "area": length**2}
    units |= dict.fromkeys("XYZ", length)
    for key, n in found.items():
        directions = [i + j for i in "xyz" for j in "xyz"]
        unit = 1.0 if key in directions else units.get(key, m * length**2)
        text = written.printed[key].replace(",", ".")
        assert float(n.value) == pytest.approx(float(text) * unit, rel=1e-12)
        digits, _, exponent = text.lower().partition("e")
        last = 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
        assert float(n.half) == pytest.approx(last / 2 * unit, rel=1e-12)


def test_commas_between_thousands_are_read_where_a_point_follows_them():
    """A comma that may be a decimal mark, or may part the numbers of a vector, is none of them."""
    text = (Path(__file__).parents[1] / "datasets" / "arm5" / "reports" / "link2.txt").read_text(encoding="utf-8")
    grouped = re.sub(r"\d{4,}(?=\.)", lambda found: f"{int(found[0]):,}", text)
    assert "Lzz = 704,486.000" in grouped
    assert "Izz = 2,516,352.251" in grouped
    check = [named(parse_sheet(t)) for t in (text, grouped)]
    assert {k: n.text for k, n in check[0].items()} == {k: n.text for k, n in check[1].items()}
    for odd in ("125,833", "125833.333,333", "12,5833.333", "0,125.333", "1,2583.333"):
        with pytest.raises(CadError, match="line 9"):
            parse_sheet(text.replace("125833.333", odd))
    row = "Ix = (0.999,-0.050, 0.000)"
    assert plain(row.replace("0.999,-0.050", "2,345.678,9")) == "Ix = (2,345.678,9, 0.000)"


def test_the_corpus_has_every_layout_language_unit_notation_and_precision():
    assert len(CORPUS) >= 60
    assert len({w.name for w in CORPUS}) == len(CORPUS)
    assert {(w.mass_unit, w.stated) for w in CORPUS} >= {(m, s) for m in ("kg", "g", "lb", "oz", "mg")
                                                        for s in ("positive", "tensor", None)}  # fmt: skip
    assert {w.length_unit for w in CORPUS} == set(LENGTH)
    digits = {len(w.printed["Lxx"].replace(",", ".").partition(".")[2]) for w in CORPUS}
    assert digits >= set(range(2, 13))
    assert {w.encoding for w in CORPUS} == {"utf-8", "utf-8-sig", "utf-16", "gb18030"}


@pytest.mark.parametrize("written", CORPUS, ids=lambda w: w.name)
def test_every_number_of_the_corpus_is_read_exactly(written, tmp_path):
    path = tmp_path / "link1.txt"
    path.write_bytes(written.text.encode(written.encoding))
    sheet = read_sheet(path)
    check_numbers(sheet, written)
    assert sheet.stated == written.stated
    assert written.name.startswith(sheet.program.split()[0].lower())
    lines = written.text.split("\n")
    for n in named(sheet).values():
        below = 3 if "onshape" in written.name else 1  # there, a number stands below its heading
        assert n.text in "".join(lines[n.line - 1 : n.line - 1 + below])


@pytest.mark.parametrize("written", CORPUS, ids=lambda w: w.name)
def test_the_ten_parameters_are_the_bodys_within_rounding(written):
    sheet, body = parse_sheet(written.text), written.body
    found = to_inertials(sheet, written.products)
    c = np.abs(body.center) + half_widths(sheet.center)
    dm, dc = float(sheet.mass.half), half_widths(sheet.center)
    allowed = np.concatenate([[dm], dm * c + (body.mass + dm) * dc, half_widths(sheet.tensor)])
    about = dm * (c @ c) + 2 * (body.mass + dm) * (c @ dc) + (body.mass + dm) * (dc @ dc)
    allowed[4:] += about
    h, i = body.mass * body.center, body.about_origin
    truth = np.array([body.mass, *h, *i[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]])
    assert (np.abs(found - truth) <= allowed * 1.0001 + 1e-12 * np.abs(i).max()).all()


def test_names_frames_notes_and_overrides_are_kept():
    rng = np.random.default_rng(1)
    text = solidworks(random_body(rng), name="Arm - v2-", frame="L1FCS", hidden=True, over=("mass", "center")).text
    sheet = parse_sheet(text)
    assert (sheet.name, sheet.configuration, sheet.frame) == ("Arm - v2-", "Default", "L1FCS")
    assert sheet.notes == ("* Includes the mass properties of one or more hidden components/bodies.",)
    assert sheet.mass.overridden
    assert all(n.overridden for n in sheet.center)
    assert not any(n.overridden for n in sheet.tensor)
    assert parse_sheet(solidworks(random_body(rng), language="zh", over=("mass",)).text).mass.overridden


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("重心", "质心"),
        ("坐标系", "座标系"),
        ("输出座标系", "输出坐标系"),
        ("千克 *  平方毫米", "千克*平方毫米"),
        ("由重心决定，并且", "由重心决定,并且"),
        ("惯性主力矩", "惯性主力距"),
        ("\t", "    "),
        ("\n", "\r\n"),
        (" 的质量属性", "的质量特性"),
    ],
)
def test_spelling_variants_of_chinese_reports(old, new):
    written = solidworks(random_body(np.random.default_rng(2)), language="zh")
    assert old in written.text
    check_numbers(parse_sheet(written.text.replace(old, new)), written)


@pytest.mark.parametrize("blocks", [("center",), ("origin",), ("principal", "center"), ("principal", "origin")])
def test_single_blocks_are_read(blocks):
    written = solidworks(random_body(np.random.default_rng(3)), blocks=blocks)
    check_numbers(parse_sheet(written.text), written)


@settings(max_examples=cases(60))
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 12),
    st.sampled_from(["en", "zh"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from(sorted(MASS)),
    st.sampled_from(sorted(LENGTH)),
)
def test_any_digits_in_any_unit_are_read(seed, digits, language, comma, exponents, mass, length):
    show = scientific(digits, "E") if exponents else fixed(digits)
    body = random_body(np.random.default_rng(seed))
    written = solidworks(body, language=language, show=show, comma=comma, mass=mass, length=length)
    if float(written.printed["mass"].replace(",", ".")) == 0:
        with pytest.raises(CadError, match="Print it with more decimals"):
            parse_sheet(written.text)
    else:
        check_numbers(parse_sheet(written.text), written)


@settings(max_examples=cases(60))
@given(st.integers(0, 89), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_damaged_reports_are_read_or_refused_with_their_line(which, where, seed):
    """Cut somewhere, and with a line taken out or doubled: never another error than CadError."""
    text, rng = CORPUS[which].text, np.random.default_rng(seed)
    lines = text.split("\n")
    k = int(rng.integers(len(lines)))
    for damaged in (
        text[: int(where * len(text))],
        "\n".join(lines[:k] + lines[k + 1 :]),
        "\n".join([*lines[:k], lines[k], *lines[k:]]),
    ):
        try:
            sheet = parse_sheet(damaged, "arm.txt")
        except CadError as cause:
            named_file = str(cause).startswith("arm.txt")
            assert named_file
        else:  # what is read is what was printed, nothing else
            found = {k: n.text for k, n in named(sheet).items()}
            shorter = [k for k, t in found.items() if t != CORPUS[which].printed[k]]
            assert len(shorter) <= 1
            assert all(CORPUS[which].printed[k].startswith(found[k]) for k in shorter)


@pytest.mark.parametrize("name", sorted(p.name for p in BROKEN.glob("*.txt")))
def test_broken(name):
    with pytest.raises(CadError) as caught:
        to_inertials(read_sheet(BROKEN / name))
    assert str(caught.value) == EXPECTED[name]


def test_every_broken_example_is_there():
    assert set(EXPECTED) == {p.name for p in BROKEN.glob("*.txt")}


def test_no_file_no_text_too_large(tmp_path):
    with pytest.raises(CadError, match="no such file"):
        read_sheet(tmp_path / "absent.txt")
    with pytest.raises(CadError, match="cannot be read"):
        read_sheet(tmp_path)
    (tmp_path / "large.txt").write_bytes(b"Mass properties of x\n" * 60000)
    with pytest.raises(CadError, match="larger than 1 MB"):
        read_sheet(tmp_path / "large.txt")
    (tmp_path / "long.txt").write_text("Mass properties of x\n" + "=1" * 200000)
    with pytest.raises(CadError, match="line 2: the line has 400000 characters"):
        read_sheet(tmp_path / "long.txt")


@pytest.mark.parametrize(
    ("text", "kind", "unit", "value"),
    [
        ("pounds * square feet", "inertia", "lb ft^2", 0.45359237 * 0.3048**2),
        ("千克 *  平方毫米", "inertia", "kg mm^2", 1e-6),
        ("Kg.m^2", "inertia", "kg m^2", 1.0),
        ("KILOGRAM * MM^2", "inertia", "kg mm^2", 1e-6),
        ("lb in2", "inertia", "lb in^2", 0.45359237 * 0.0254**2),
        ("g / mm^3", "density", "g/mm^3", 1e6),
        ("grams per cubic centimeter", "density", "g/cm^3", 1e3),
        ("千克/立方米", "density", "kg/m^3", 1.0),
        ("立方英寸", "volume", "in^3", 0.0254**3),
        ("square inches", "area", "in^2", 0.0254**2),
        ("ounces", "mass", "oz", 0.45359237 / 16),
        ("microns", "length", "um", 1e-6),
        ("mils", "length", "mil", 2.54e-5),
    ],
)
def test_units(text, kind, unit, value):
    name, factor = printed_unit(text, kind)
    assert name == unit
    assert float(factor) == pytest.approx(value, rel=1e-15)
    assert isinstance(factor, Fraction)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("kg", "length"), ("mm", "mass"), ("kg mm", "inertia"), ("kg mm^3", "inertia"), ("kg lb mm", "inertia"),
        ("stone", "mass"), ("", "mass"), ("Mg", "mass"), ("kg m mm", "inertia"), ("square mm^2", "area"),
        ("g per mm^2", "density"), ("1000 kg", "mass"),
    ],
)  # fmt: skip
def test_units_that_are_none(text, kind):
    with pytest.raises(ValueError, match=r".*"):
        printed_unit(text, kind)


def test_layouts_do_not_take_one_anothers_reports():
    rng = np.random.default_rng(5)
    body = random_body(rng)
    texts = [solidworks(body).text, solidworks(body, language="zh").text, fusion(body).text, creo(body).text,
             onshape(body).text]  # fmt: skip
    programs = [(r.program, r.language) for r in map(parse_sheet, texts)]
    assert programs == [(x.program, x.language) for x in LAYOUTS]
