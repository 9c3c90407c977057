"""Whether bodies can exist: against numpy, the published table, and the rounding of printed digits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import cases

from ident.cad import SI, Cad, Convention, Printed, Row, Table, cad_of, check_cad, read_cad, require_consistent
from ident.cad.read import read_inertials
from ident.cad.table import printed
from ident.errors import CadError
from ident.estimate.cones import Block, ConeProgram
from ident.spatial.inertia import consistency, from_com, pseudo_inertia

ARM5 = Path(__file__).parents[1] / "datasets" / "arm5"
TABLE = Convention("kg", "mm", "kg mm^2", "center_of_mass", "tensor")


def table(text: str, convention: Convention = TABLE) -> Cad:
    rows = [
        Row(f"link{i}", tuple(map(Printed, line.split())), i) for i, line in enumerate(text.strip().splitlines(), 1)
    ]
    return cad_of(Table(convention, tuple(rows)), "arm.csv")


def test_published_table_about_the_centre_of_mass_is_accepted():
    verdicts = require_consistent(read_cad(ARM5 / "cad_solidworks.csv", [f"link{i}" for i in range(1, 6)]))
    assert [v.status for v in verdicts] == ["possible"] * 5


def test_a_frame_of_a_urdf_without_mass_is_no_impossible_body(tmp_path):
    body = '<link name="%s"><inertial><mass value="%g"/><inertia ixx="%g" ixy="0" ixz="0" iyy="%g" iyz="0" izz="%g"/>'
    rows = [("base", 0, 0, 0, 0), ("arm", 2, 1, 1, 1), ("half", 0, 1e-3, 1e-3, 1e-3)]
    (tmp_path / "arm.urdf").write_text(
        '<robot name="g">'
        + "".join(body % row + "</inertial></link>" for row in rows)
        + "".join(
            f'<joint name="to_{row[0]}" type="continuous"><parent link="base"/><child link="{row[0]}"/></joint>'
            for row in rows[1:]
        )
        + "</robot>"
    )
    verdicts = check_cad(read_inertials(tmp_path / "arm.urdf"))
    assert [v.status for v in verdicts] == ["possible", "possible", "impossible"]
    assert str(verdicts[0]) == "link 'base' is a frame without mass"
    assert check_cad(table("0 0 0 0 0 0 0 0 0 0"))[0].status == "impossible"  # in a table it is a forgotten number


def test_published_table_about_the_link_origin_is_refused_for_all_five_links():
    cad = read_cad(ARM5 / "cad_solidworks.csv")
    assert cad.table is not None
    misread = cad_of(Table(replace(cad.table.convention, tensor_at="link_origin"), cad.table.rows), cad.source)
    with pytest.raises(CadError) as caught:
        require_consistent(misread)
    lines = str(caught.value).splitlines()
    assert lines[0] == "cad_solidworks.csv: 5 of 5 links cannot exist:"
    assert [line.split(": ")[0] for line in lines[1:]] == [
        f"  link 'link{i}' (line {i + 12}) cannot exist" for i in range(1, 6)
    ]
    assert lines[5].endswith('Read with tensor_at = "center_of_mass", every link can exist.')
    # By hand: link 1 about its centre, 0.076 kg at (-0.598, 0.016, -23.413) mm.
    x, y, z = -0.598, 0.016, -23.413
    about_center = np.array(
        [
            [47.316 - 0.076 * (y * y + z * z), -0.003 + 0.076 * x * y, -2.549 + 0.076 * x * z],
            [-0.003 + 0.076 * x * y, 51.601 - 0.076 * (x * x + z * z), -0.016 + 0.076 * y * z],
            [-2.549 + 0.076 * x * z, -0.016 + 0.076 * y * z, 77.113 - 0.076 * (x * x + y * y)],
        ]
    )
    a, b, c = np.linalg.eigvalsh(about_center)
    assert f"{a:.6g} + {b:.6g} are {c - a - b:.6g} kg mm^2 ({(c - a - b) * 1e-6:.6g} kg m^2) less than" in lines[1]
    negative = [np.linalg.eigvalsh(i)[0] < 0 for i in about_centers(misread)]
    assert ["I_c > 0 fails" in line for line in lines[1:]] == negative == [False, True, True, False, True]


def about_centers(cad: Cad) -> list[np.ndarray]:
    found = []
    for p in cad.inertials:
        c = p[1:4] / p[0]
        i = np.array([[p[4], p[5], p[6]], [p[5], p[7], p[8]], [p[6], p[8], p[9]]])
        found.append(i - p[0] * (c @ c * np.eye(3) - np.outer(c, c)))
    return found


@given(
    st.floats(-0.2, 2.0),
    st.lists(st.floats(-1, 1), min_size=3, max_size=3),
    st.lists(st.floats(-0.3, 1), min_size=6, max_size=6),
)
def test_verdicts_agree_with_the_exact_check_of_the_ten_numbers(mass, center, tensor):
    xx, xy, xz, yy, yz, zz = tensor
    cad = Cad(("a",), [from_com(mass, center, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])])
    verdict, exact = check_cad(cad)[0], consistency(cad.inertials[0])
    # they may differ for a massless body, and where an eigenvalue vanishes within the last bit
    if mass > 1e-9 and abs(exact.triangle_gap) > 1e-12 and min(map(abs, exact.moments)) > 1e-12:
        assert (verdict.status == "possible") == exact.consistent
        assert verdict.moments == pytest.approx(exact.moments, rel=1e-9, abs=1e-12)
        assert [f.split(":")[0] for f in verdict.failures] == [f.split(":")[0] for f in exact.failures()]
    if mass <= 0 and cad.inertials.any():  # of zeros only: a frame without mass
        assert verdict.status == "impossible"
        assert verdict.failures[0].startswith("m > 0 fails")
        assert verdict.moments is verdict.triangle_gap is None


def test_a_thin_plate_can_exist():
    (verdict,) = check_cad(table("0.1 3.7 -0.2 1.1  0.1 0 0 0.2 0 0.3"))
    assert verdict.status == "possible"
    assert str(verdict) == "link 'link1' can exist"


def test_a_plate_rounded_past_the_edge_is_a_warning():
    (verdict,) = require_consistent(table("0.1 3.7 -0.2 1.1  0.123 0 0 0.234 0 0.358"))
    assert verdict.status == "rounded"
    assert str(verdict) == (
        "link 'link1' (line 1) can exist only within the rounding of its digits: triangle inequality fails: the "
        "smaller principal moments 0.123 + 0.234 are 0.001 kg mm^2 (1e-09 kg m^2) less than the largest 0.358"
    )


def test_more_than_rounding_is_refused():
    with pytest.raises(CadError, match="link 'link1' \\(line 1\\) cannot exist"):
        require_consistent(table("0.1 3.7 -0.2 1.1  0.123 0 0 0.234 0 0.365"))


@pytest.mark.parametrize("convention", [TABLE, replace(TABLE, tensor_at="link_origin")])
@given(st.integers(0, 2**32 - 1))
def test_rounding_alone_never_makes_a_body_impossible(convention, seed):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    a, b = rng.uniform(0.5, 20, 2)
    about_center = turn @ np.diag([a, b, a + b]) @ turn.T  # a thin plate, on the very edge
    c, m = rng.uniform(-30, 30, 3), rng.uniform(0.01, 1)
    about_origin = about_center + m * (c @ c * np.eye(3) - np.outer(c, c))
    tensor = (about_center if convention.tensor_at == "center_of_mass" else about_origin)[np.triu_indices(3)]
    digits = int(rng.integers(1, 5))
    mass = f"{m:.5f}"
    cad = table(" ".join([mass, *(f"{x:.{digits}f}" for x in (*c, *tensor))]), convention)
    assert check_cad(cad)[0].status in ("possible", "rounded")


@pytest.mark.parametrize(
    "row",
    [
        "1.000 0.000 0.000 0.000  2e4 0.00 0.00 4000.00 0.00 5000.00",  # 9000 at most, rounded from 15000 at least
        "1.000 0.000 0.000 0.000  2e4 0.00 1e12 4000.00 0.00 5000.00",
        "1.000 0.000 0.000 0.000  8e3 0.00 1e12 4000.00 0.00 5000.00",
        "1.000 0.000 0.000 0.000  8e3 0.00 6e4 4000.00 0.00 5000.00",
        "1.000 0.000 0.000 0.000  4000.00 9e3 0.00 4000.00 9e3 5000.00",
        "1.000 0.000 0.000 0.000  0e11 1.153 2.009 4.691 0.246 3.146",
    ],
)
@pytest.mark.parametrize("at", ["center_of_mass", "link_origin"])
def test_one_coarse_number_does_not_excuse_the_others(row, at):
    assert check_cad(table(row, replace(TABLE, tensor_at=at)))[0].status == "impossible"  # type: ignore[arg-type]


def test_a_coarse_number_is_excused_by_its_own_rounding():
    cad = table("1.000 0.000 0.000 0.000  1e4 0.00 0.00 4000.00 0.00 5000.00")
    assert check_cad(cad)[0].status == "rounded"
    assert 5e-3 <= cad.inertials[0, 4] <= 9e-3  # what is read can exist


@pytest.mark.parametrize("at", ["center_of_mass", "link_origin"])
@settings(deadline=None, max_examples=cases(40))
@given(st.integers(0, 2**32 - 1))
def test_true_bodies_are_not_impossible_however_each_number_is_rounded(at, seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(int(rng.integers(1, 5)), 3)) * 10.0 ** rng.uniform(-1, 3, 3)  # one to four points
    masses, c = rng.uniform(0.1, 1, len(points)), rng.normal(size=3) * 10.0 ** rng.uniform(-1, 3)
    m = masses.sum()
    about = points - masses @ points / m + (c if at == "link_origin" else 0.0)
    moments = np.trace(s := (about.T * masses) @ about) * np.eye(3) - s
    numbers = (m, *c, *moments[np.triu_indices(3)])
    cad = table(" ".join(f"{x:.{rng.integers(0, 13)}e}" for x in numbers), replace(TABLE, tensor_at=at))  # type: ignore[arg-type]
    assert check_cad(cad)[0].status in ("possible", "rounded")
    found = np.array([float(x) for x in cad.table.rounding()[0]])  # type: ignore[union-attr]
    given = np.array([float(n.value) for n in cad.table.rows[0].numbers])  # type: ignore[union-attr]
    assert (np.abs(printed(cad.inertials[0], cad.table.convention) - given) <= found + 1e-9 * np.abs(given).max()).all()  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", range(cases(10)))
def test_a_plate_is_not_impossible_where_all_numbers_have_as_many_digits(seed):
    """General formats print 54321.1 beside 0.123457: the coarse number is rounded no finer than it is printed."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(5):
        turn, (a, b) = np.linalg.qr(rng.normal(size=(3, 3)))[0], 10.0 ** rng.uniform(0, 5, 2)
        tensor = (turn @ np.diag([a, b, a + b]) @ turn.T)[np.triu_indices(3)]
        rows.append(" ".join(f"{x:.6g}" for x in (rng.uniform(0.1, 9), *rng.normal(0, 50, 3), *tensor)))
    assert {v.status for v in check_cad(table("\n".join(rows)))} <= {"possible", "rounded"}


@pytest.mark.parametrize("seed", range(cases(40)))
def test_what_rounding_explains_is_what_a_conic_solver_finds_possible(seed):
    rng = np.random.default_rng(seed)
    w = rng.uniform(0.2, 1, 3) * [1, 1, rng.choice([-0.03, -0.3, 0.001, 0.1])]  # of integral r r^T dm: near the edge
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    sigma = turn @ np.diag(w) @ turn.T
    numbers = 1000 * (np.trace(sigma) * np.eye(3) - sigma)[np.triu_indices(3)]
    cad = table("1 0 0 0 " + " ".join(f"{x:.{rng.integers(0, 3)}e}" for x in numbers))
    halves = [float(x) for x in cad.table.rounding()[0][4:]]  # type: ignore[union-attr]
    p = np.array([float(n.value) for n in cad.table.rows[0].numbers[4:]])  # type: ignore[union-attr]
    # the largest d with integral r r^T dm >= d E in the box
    x = [np.append(np.zeros(4), e) for e in np.diag(halves)]
    M = np.array([pseudo_inertia(b) for b in (*x, np.append(np.zeros(4), p))])
    lower = [(i, j) for j in range(4) for i in range(j + 1)]
    A = np.array([[(1 if i == j else np.sqrt(2)) * m[i, j] for m in M] for i, j in lower])
    E = np.array([-1.0 if i == j < 3 else 0.0 for i, j in lower])
    blocks = [Block(np.column_stack([A[:, :6], E]), A[:, 6], "semidefinite")]
    sides = np.column_stack([np.eye(6), np.zeros(6)])
    blocks += [Block(s * sides, np.ones(6), "nonnegative") for s in (1.0, -1.0)]
    depth = -ConeProgram(blocks).minimise(-np.eye(7)[6]).upper
    assert abs(depth) > 1e-3  # else the seed decides nothing
    assert (check_cad(cad)[0].status != "impossible") == (depth > 0)


def test_scientific_numbers_are_rounded_at_their_own_digit():
    rounding = table("1 0 0 0  2.440E+06 0 0 13.40 0 13.4").table.rounding()[0]  # type: ignore[union-attr]
    assert [float(r) for r in rounding] == [0.5, 0.5, 0.5, 0.5, 500.0, 0.005, 0.005, 0.005, 0.005, 0.005]


def test_without_a_table_the_amounts_are_in_si():
    cad = Cad(("a",), [[1, 0, 0, 0, 1, 0, 0, 1, 0, 3]])
    (verdict,) = check_cad(cad)
    assert verdict.failures == (
        "triangle inequality fails: the smaller principal moments 1 + 1 are 1 kg m^2 less than the largest 3",
    )
    assert cad.table is None
    assert SI.inertia == "kg m^2"
