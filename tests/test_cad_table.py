"""Reading CAD tables: units, point and sign against formulas written anew, robots' links, files."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from ident.cad import SI, Cad, Convention, check_cad, read_cad, require_consistent, write_cad
from ident.cad.convention import INERTIA, LENGTH, MASS, PRODUCTS, TENSOR_AT
from ident.cli import cad as cli_cad
from ident.cli import main as cli
from ident.cli.console import BAD_INPUT, PROBLEMS, guarded
from ident.errors import CadError, InputError
from ident.robot import FixedBody, Joint, Robot
from ident.spatial.inertia import Pose, axis_angle

ARM5 = Path(__file__).parents[1] / "datasets" / "arm5"
BROKEN = Path(__file__).parent / "broken" / "cad"
EXPECTED = tomllib.loads((BROKEN / "expected.toml").read_text(encoding="utf-8"))
HEADER = "link,m,cx,cy,cz,Ixx,Ixy,Ixz,Iyy,Iyz,Izz"

# Values of the units, written here from their definitions and not taken from the code under test.
KG = {"kg": 1.0, "g": 1e-3, "mg": 1e-6, "t": 1e3, "lb": 0.45359237, "oz": 0.028349523125, "slug": 14.593902937206364}
M = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "in": 0.0254, "ft": 0.3048}

conventions = st.builds(
    Convention,
    mass=st.sampled_from(list(KG)),
    length=st.sampled_from(list(M)),
    inertia=st.builds("{} {}^2".format, st.sampled_from(list(KG)), st.sampled_from(list(M))),
    tensor_at=st.sampled_from(TENSOR_AT),
    products=st.sampled_from(PRODUCTS),
)
seeds = st.integers(0, 2**32 - 1)


def cloud(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Masses (k,) and positions (k, 3) of a body of random points."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.01, 1.0, 6), rng.normal(size=3) + rng.normal(size=(6, 3)) * rng.uniform(0.05, 0.5)


def integrals(mass: np.ndarray, at: np.ndarray, point: np.ndarray) -> dict[str, float]:
    """Moments and products as integrals over the points, products with the positive sign."""
    x, y, z = (at - point).T
    return {
        "Ixx": mass @ (y * y + z * z),
        "Iyy": mass @ (x * x + z * z),
        "Izz": mass @ (x * x + y * y),
        "Ixy": mass @ (x * y),
        "Ixz": mass @ (x * z),
        "Iyz": mass @ (y * z),
    }


def printed(seed: int, convention: Convention) -> str:
    mass, at = cloud(seed)
    center = mass @ at / mass.sum()
    tensor = integrals(mass, at, center if convention.tensor_at == "center_of_mass" else np.zeros(3))
    sign = {"Ixy": -1, "Ixz": -1, "Iyz": -1} if convention.products == "tensor" else {}
    weight, length = convention.inertia.removesuffix("^2").split()
    unit = KG[weight] * M[length] ** 2
    row = {"m": mass.sum() / KG[convention.mass], "link": "link1"}
    row |= dict(zip(("cx", "cy", "cz"), center / M[convention.length], strict=True))
    row |= {k: v * sign.get(k, 1) / unit for k, v in tensor.items()}
    keys = list(np.random.default_rng(seed).permutation(list(row)))  # columns may stand in any order
    return ",".join(keys) + "\n" + ",".join(str(row[k]) for k in keys) + "\n"


def declared(convention: Convention, sign: str = "# ") -> str:
    return "".join(
        f'{sign}{k} = "{getattr(convention, k)}"\n'
        for k in SI.__dataclass_fields__
        if (k, convention.rows) != ("rows", "links")
    )


@given(seeds, conventions)
def test_any_convention_gives_the_same_ten_numbers(tmp_path_factory, seed, convention):
    path = tmp_path_factory.mktemp("cad") / "cad.csv"
    path.write_text(declared(convention) + printed(seed, convention))
    cad = read_cad(path)
    mass, at = cloud(seed)
    about_origin = integrals(mass, at, np.zeros(3))
    signed = [
        about_origin["Ixx"], -about_origin["Ixy"], -about_origin["Ixz"],
        about_origin["Iyy"], -about_origin["Iyz"], about_origin["Izz"],
    ]  # fmt: skip
    np.testing.assert_allclose(cad.inertials[0, 0], mass.sum(), rtol=1e-13)
    np.testing.assert_allclose(cad.inertials[0, 1:4], mass @ at, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(cad.inertials[0, 4:], signed, rtol=1e-12, atol=1e-12)
    assert check_cad(cad)[0].status == "possible"


@given(seeds, conventions)
def test_rows_that_are_parts_of_a_link_are_added_up(tmp_path_factory, seed, convention):
    path = tmp_path_factory.mktemp("cad") / "cad.csv"
    rows = [
        dict(zip(*(x.split(",") for x in printed(s, convention).split()), strict=True)) for s in range(seed, seed + 3)
    ]
    rows.insert(1, rows[0] | {"link": "alone"})
    lines = [",".join(row[k] for k in HEADER.split(",")) for row in rows]
    path.write_text("\n".join([declared(replace(convention, rows="parts")) + HEADER, *lines]))
    cad = read_cad(path, ["link1", "alone"])
    mass, at = (np.concatenate(x) for x in zip(*map(cloud, range(seed, seed + 3)), strict=True))
    whole = integrals(mass, at, np.zeros(3))
    tensor = [whole["Ixx"], -whole["Ixy"], -whole["Ixz"], whole["Iyy"], -whole["Iyz"], whole["Izz"]]
    expected = [mass.sum(), *mass @ at, *tensor]
    np.testing.assert_allclose(cad.inertials[0], expected, rtol=1e-10, atol=1e-10)
    assert [cad.table.rows[i].numbers[0].scientific for i in (0, 1)] == [True, "e" in rows[1]["m"]]
    write_cad(cad, cad.convention, path)  # what is written has one row for each link
    assert "rows" not in path.read_text()
    np.testing.assert_allclose(read_cad(path).inertials, cad.inertials, rtol=1e-12, atol=1e-13)


@given(seeds, conventions, conventions)
def test_written_in_another_convention_and_read_back(tmp_path_factory, seed, first, second):
    folder = tmp_path_factory.mktemp("cad")
    (folder / "a.csv").write_text(declared(first) + printed(seed, first))
    cad = read_cad(folder / "a.csv")
    write_cad(cad, second, folder / "b.csv")
    back = read_cad(folder / "b.csv")
    assert back.table is not None
    assert back.table.convention == second
    np.testing.assert_allclose(back.inertials, cad.inertials, rtol=1e-12, atol=1e-13)
    assert [p.name for p in sorted(folder.iterdir())] == ["a.csv", "b.csv"]


def test_written_numbers_are_as_short_as_the_printed_ones(tmp_path):
    cad = read_cad(Path(__file__).parents[1] / "datasets/arm5/cad_solidworks.csv")
    write_cad(cad, Convention("g", "mm", "g mm^2", "center_of_mass", "positive"), tmp_path / "g.csv")
    lines = (tmp_path / "g.csv").read_text().splitlines()
    assert lines[:6] == [
        '# mass = "g"', '# length = "mm"', '# inertia = "g mm^2"',
        '# tensor_at = "center_of_mass"', '# products = "positive"', HEADER,
    ]  # fmt: skip
    assert lines[7] == "link2,151.0,104.91,-31.512,0.001,62746.0,-29632.0,1.0,651130.0,3.0,704486.0"


def test_units_have_their_values():
    assert {k: float(v) for k, v in MASS.items()} == pytest.approx(KG, rel=1e-15)
    assert {k: float(v) for k, v in LENGTH.items()} == pytest.approx(M, rel=1e-15)
    assert float(INERTIA["lb in^2"]) == pytest.approx(2.926396534e-4, rel=1e-9)
    assert float(INERTIA["kgf cm s^2"]) == pytest.approx(0.0980665, rel=1e-15)
    assert float(INERTIA["lbf in s^2"]) == pytest.approx(0.1129848290276167, rel=1e-14)


@pytest.mark.parametrize("spelling", ["kg mm^2", "kg*mm^2", "kg·mm²", "kg mm2", " kg  *  mm^2 "])
def test_spellings_of_a_unit(tmp_path, spelling):
    (tmp_path / "cad.csv").write_text(
        declared(replace(SI, tensor_at="center_of_mass")).replace("kg m^2", spelling)
        + f"{HEADER}\na,1,0,0,0,1,0,0,1,0,1"
    )
    assert read_cad(tmp_path / "cad.csv").inertials[0].tolist() == [1, 0, 0, 0, 1e-6, 0, 0, 1e-6, 0, 1e-6]


ONE = """[[link]]
name = 'link1'
m = 2
cx = 0.5
cy = 0
cz = 0
Ixx = 1.0
Ixy = 0
Ixz = 0
Iyy = 2
Iyz = 0
Izz = 2
"""


def test_toml_with_links_and_joint_values(tmp_path):
    text = "[convention]\n" + declared(SI, "") + ONE + "[joint.joint1]\nviscous = 0.1\noffset = -2\n"
    (tmp_path / "cad.toml").write_text(text)
    cad = read_cad(tmp_path / "cad.toml", ["link1"])
    assert cad.inertials.tolist() == [[2, 1, 0, 0, 1, 0, 0, 2, 0, 2]]
    assert cad.joint_values == {"joint1.viscous": 0.1, "joint1.offset": -2.0}
    assert cad.line(0) == 7


def test_toml_with_a_table_beside_it(tmp_path):
    (tmp_path / "cad.toml").write_text('table = "numbers.csv"\n[convention]\n' + declared(SI, ""))
    (tmp_path / "numbers.csv").write_text(f"\ufeff{HEADER}\r\nlink1,2,0.5,0,0,1,0,0,2,0,2\r\n\r\n", encoding="utf-8")
    cad = read_cad(tmp_path / "cad.toml")
    assert cad.inertials.tolist() == [[2, 1, 0, 0, 1, 0, 0, 2, 0, 2]]
    (tmp_path / "numbers.csv").write_text(f"{HEADER}\nlink1,3,0.5,0,0,1,0,0,2,0,2\n")
    assert read_cad(tmp_path / "cad.toml").sha256 != cad.sha256


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    (tmp_path / "secret.csv").write_text(f"{HEADER}\nlink1,2,0.5,0,0,1,0,0,2,0,2\n")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "numbers.csv").symlink_to(tmp_path / "secret.csv")
    (tmp_path / "in" / "cad.toml").write_text('table = "numbers.csv"\n[convention]\n' + declared(SI, ""))
    with pytest.raises(CadError, match="inside the folder"):
        read_cad(tmp_path / "in" / "cad.toml")


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(CadError, match=r"^absent.csv: there is no such file\.$"):
        read_cad(tmp_path / "absent.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(CadError, match=r"^folder.csv: the file cannot be read\.$"):
        read_cad(tmp_path / "folder.csv")


def outcome(path: Path) -> Cad | str:
    """What is read, or the sentence that refuses it."""
    try:
        return read_cad(path)
    except CadError as error:
        return str(error)


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused_in_a_sentence(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("cad")
    for name, head in (("a.csv", ""), ("b.csv", declared(SI) + HEADER + "\n"), ("c.toml", ""), ("d.toml", ONE)):
        (folder / name).write_text(head + text, encoding="utf-8", newline="")
        read = outcome(folder / name)
        assert read.startswith(name) if isinstance(read, str) else np.isfinite(read.inertials).all()


@given(
    st.lists(
        st.sampled_from(["1", "-2.5", "1e-3", "1e59", "-1e-999", "", "nan", "1_0", "0x1", "١"]),
        min_size=10,
        max_size=10,
    )
)
def test_any_numbers_are_read_and_judged_or_refused(tmp_path_factory, cells):
    path = tmp_path_factory.mktemp("cad") / "a.csv"
    path.write_text(declared(SI) + HEADER + "\nlink1," + ",".join(cells) + "\n", encoding="utf-8")
    bad = [c for c in cells if c in ("", "nan", "1_0", "0x1", "١")]
    read = outcome(path)
    if isinstance(read, str):
        assert bad
        assert read.startswith("a.csv, line 7, ")
    else:
        assert not bad
        verdict = check_cad(read)[0]
        assert verdict.failures or verdict.status == "possible"


@pytest.mark.parametrize(
    "above",
    [
        "",
        "[convention]\nlength = 'mm'\n",  # agrees with the table
        "[convention]\ninertia = 'kg mm²'\n",
    ],
)
def test_a_table_named_by_a_toml_file_declares_its_units_itself(tmp_path, above):
    (tmp_path / "cad.csv").write_bytes((ARM5 / "cad_solidworks.csv").read_bytes())
    (tmp_path / "cad.toml").write_text(f'table = "cad.csv"\n{above}[joint.joint1]\nviscous = 0.1\n', encoding="utf-8")
    cad, alone = read_cad(tmp_path / "cad.toml"), read_cad(tmp_path / "cad.csv")
    assert cad.table == alone.table
    np.testing.assert_array_equal(cad.inertials, alone.inertials)
    assert cad.joint_values == {"joint1.viscous": 0.1}


def arm(names: tuple[str, ...] = ("upper", "lower"), fixed: tuple[FixedBody, ...] = ()) -> Robot:
    joints = tuple(
        Joint(f"joint{i + 1}", "revolute", i - 1, Pose.identity(), np.array([0, 0, 1.0])) for i in range(len(names))
    )
    return Robot("arm", joints, names, fixed=fixed)


def test_links_come_in_the_order_of_the_robot():
    cad = Cad(("lower", "upper"), np.arange(20.0).reshape(2, 10))
    assert cad.for_robot(arm()).tolist() == [list(range(10, 20)), list(range(10))]


def test_a_fixed_body_is_moved_into_its_link_and_added():
    pose = Pose(axis_angle([0.6, 0, 0.8], 0.7), np.array([0.1, -0.2, 0.3]))
    robot = arm(fixed=(FixedBody("tool", 1, pose), FixedBody("stand", -1, pose)))
    upper, lower, tool = (integral_row(*cloud(s)) for s in (1, 2, 3))
    mass, at = cloud(3)
    moved = integral_row(mass, at @ pose.rotation.T + pose.position)
    cad = Cad(("stand", "tool", "upper", "lower", "base"), np.array([upper, tool, upper, lower, upper]))
    np.testing.assert_allclose(cad.for_robot(robot), [upper, lower + moved], rtol=1e-12)


def integral_row(mass: np.ndarray, at: np.ndarray) -> np.ndarray:
    i = integrals(mass, at, np.zeros(3))
    return np.array([mass.sum(), *(mass @ at), i["Ixx"], -i["Ixy"], -i["Ixz"], i["Iyy"], -i["Iyz"], i["Izz"]])


@pytest.mark.parametrize(
    ("links", "joint_values", "message"),
    [
        (("upper", "lowr"), {}, "the robot has no link 'lowr'; did you mean 'lower'?"),
        (("upper",), {}, "no row for 'lower'. Give every moving link of the robot one row."),
        (("upper", "lower"), {"joint3.viscous": 1.0}, "joint.joint3: the robot has no joint 'joint3'"),
    ],
)
def test_links_and_joints_that_do_not_fit(links, joint_values, message):
    cad = Cad(links, np.ones((len(links), 10)), joint_values=joint_values)
    with pytest.raises(CadError) as caught:
        cad.for_robot(arm())
    assert str(caught.value).startswith(message)


def test_nothing_is_written_for_a_body_without_a_centre(tmp_path):
    cad = Cad(("a",), np.array([[0, 1.0, 0, 0, 1, 0, 0, 1, 0, 1]]))
    with pytest.raises(CadError, match="first moment but no mass"):
        write_cad(cad, SI, tmp_path / "a.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("quote", "cells"), [(True, ","), (True, ",,,,,,,,,,"), (False, ",,,,,,,,,,"), (True, ";;;;;;;;;;"), (True, "\t\t")]
)
def test_a_spreadsheet_may_have_saved_the_table(tmp_path, quote, cells):
    """It puts a cell with quotes into quotes, doubles these, and gives every row as many cells as the longest."""
    row = "link1,76,-0.598,0.016,-23.413,47316,-3,-2549,51601,-16,77113"
    head = ['# mass = "g"', '# length = "mm"', '# inertia = "g mm^2"', '# tensor_at = "center_of_mass"',
            '# products = "tensor"   # or "positive", +integral']  # fmt: skip
    (tmp_path / "plain.csv").write_text("\n".join([*head, HEADER, row]) + "\n")
    saved = [('"' + h.replace('"', '""') + '"' if quote else h) + cells for h in head]
    (tmp_path / "saved.csv").write_text("\r\n".join([*saved, HEADER, row]) + "\r\n")
    plain, again = read_cad(tmp_path / "plain.csv"), read_cad(tmp_path / "saved.csv")
    assert again.table.convention == plain.table.convention
    np.testing.assert_array_equal(again.inertials, plain.inertials)


def test_a_colleagues_table_with_units_in_its_header_and_commas_in_its_numbers(tmp_path):
    """As German Excel saves it: semicolons between cells; names as people write them."""
    (tmp_path / "plain.csv").write_text(
        '# mass = "kg"\n# length = "mm"\n# inertia = "kg mm^2"\n'
        '# tensor_at = "center_of_mass"\n# products = "positive"\n'
        "link,m,cx,cy,cz,Ixx,Ixy,Ixz,Iyy,Iyz,Izz\nupper,4.5,150.25,0,0,10000,10,0,50000,0,50000\n"
    )
    head = "Name;Mass [kg];CoM x (mm);CoM y (mm);CoM z (mm);" + ";".join(
        f"L{a} [kg*mm²]" for a in ("xx", "yx", "zx", "yy", "yz", "zz")
    )
    saved = '"# tensor_at = ""center_of_mass""";;\n# products = "positive"\n' + head + "\n"
    (tmp_path / "saved.csv").write_text(saved + "upper;4,5;150,25;0;0;10000;10;0;50000;0;5e4\n")
    plain, again = read_cad(tmp_path / "plain.csv"), read_cad(tmp_path / "saved.csv")
    assert [str(x) for x in again.table.convention.factors] == [str(x) for x in plain.table.convention.factors]
    np.testing.assert_array_equal(again.inertials, plain.inertials)
    (tmp_path / "twice.csv").write_text('# mass = "g"\n' + saved + "upper;4,5;150,25;0;0;10000;10;0;50000;0;5e4\n")
    with pytest.raises(CadError, match=r"mass: is 'g' here and 'kg' in the header\. Keep one of them"):
        read_cad(tmp_path / "twice.csv")
    (tmp_path / "bare.csv").write_text(head + "\n")
    with pytest.raises(CadError, match=r"bare.csv, tensor_at, products: not declared"):
        read_cad(tmp_path / "bare.csv")


@pytest.mark.parametrize("name", sorted(p.name for p in BROKEN.iterdir() if p.name != "expected.toml"))
def test_broken(name):
    links = ["link1", "link2"] if name in ("missing_link.csv", "unknown_link.csv") else None
    with pytest.raises(InputError) as caught:
        require_consistent(read_cad(BROKEN / name, links))
    assert str(caught.value) == EXPECTED[name]
    assert isinstance(caught.value, CadError)


def test_every_broken_example_is_there():
    assert set(EXPECTED) == {p.name for p in BROKEN.iterdir()} - {"expected.toml"}
    assert len(EXPECTED) >= 50


CELLS = (
    "nan", "-inf", "1e308", "1e59", "-1e59", "1e-59", "5e-324", "0", "-0", "", "1,5", "0x10", "١", "=1+1", "-1",
    "1e-20", "1e5", "9" * 61,
)  # fmt: skip


def mutated(rng: np.random.Generator, data: bytes) -> bytes:
    """Return a table with a few cells, its units, columns, line ends or bytes changed."""
    text = data.decode()
    lines = text.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("link,"))
    kind, at = int(rng.integers(12)), int(rng.integers(len(data)))
    whole = {
        0: b"\xef\xbb\xbf" + data, 1: data.replace(b"\n", b"\r"), 2: text.encode("utf-16"), 3: data[:at], 4: b"",
        5: data[:at] + bytes([int(rng.integers(256))]) + data[at + 1 :], 6: data.replace(b",", b";"),
    }  # fmt: skip
    if kind in whole:
        return whole[kind]
    if kind == 7:  # a column twice
        return "\n".join(lines[:head] + [line + "," + line.split(",")[1] for line in lines[head:]]).encode()
    if kind == 8:
        return text.replace("kg mm^2", str(rng.choice(["g mm^2", "t m^2", "parsec", ""]))).encode()
    for _ in range(int(rng.integers(1, 6))):
        row = int(rng.integers(head + 1, len(lines)))
        cells = lines[row].split(",")
        cells[int(rng.integers(len(cells)))] = str(rng.choice(CELLS))
        lines[row] = ",".join(cells)
    return "\n".join(lines).encode()


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_mutated_tables_are_read_or_refused_in_a_sentence(tmp_path, capsys):
    data, path = (ARM5 / "cad_solidworks.csv").read_bytes(), tmp_path / "cad.csv"
    codes = set()
    for seed in range(40):
        path.write_bytes(mutated(np.random.default_rng(seed), data))
        out = tmp_path / "out.csv"
        for command, told in ((cli.check, {}), (cli_cad.check, {}), (cli_cad.read, {"out": out})):
            try:
                guarded(command)(path, **told)
                codes.add(0)
            except typer.Exit as ended:
                codes.add(ended.exit_code)
    assert codes == {0, BAD_INPUT, PROBLEMS}
    assert "Traceback" not in capsys.readouterr().err
