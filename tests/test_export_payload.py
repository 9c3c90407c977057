"""Loads as controllers take them: principal axes, digits, feasibility after rounding, each vendor's own fields."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_robots import cloud
from seeds import cases

from ident.errors import InfeasibleError, InputError
from ident.export.formats import PAYLOAD_FORMATS, payload_format_named
from ident.export.payload import Payload, payload_call, payload_of, rounded, rounded_principal
from ident.spatial.inertia import from_com, is_positive_semidefinite, principal_axes, quaternion, rpy

NUMBER = r"-?\d+\.?\d*(?:e-?\d+)?"
LOAD = Payload(
    2.80512,
    [0.0123, -0.0456, 0.0789],
    [[0.0123, 0.0011, -0.0007], [0.0011, 0.0145, 0.0003], [-0.0007, 0.0003, 0.0101]],
    "tool0",
)


def last_numbers(text: str) -> list[float]:
    body = [line for line in text.splitlines() if not re.match(r"(#|//|;|!|')", line)]
    named = r"\[\d+\]|GROUP \d|s\^2|fCog\[3\]|array<[^>]*>"
    return [float(x) for x in re.findall(NUMBER, re.sub(named, "", " ".join(body)))]


@settings(max_examples=cases(200))
@given(st.integers(0, 2**32), st.sampled_from(["general", "equal pair", "all equal", "diagonal", "right angles"]))
def test_principal_axes(seed, case):
    rng = np.random.default_rng(seed)
    moments = rng.uniform(0.5, 1, 3) * 10.0 ** rng.integers(-6, 2)
    turn = rpy(*rng.uniform(-np.pi, np.pi, 3))
    if case == "equal pair":
        moments[1] = moments[0]
    elif case == "all equal":
        moments[:] = moments[0]
    elif case == "diagonal":
        turn = np.eye(3)
    elif case == "right angles":
        turn = np.round(rpy(*(np.pi / 2 * rng.integers(-2, 3, 3))))
    inertia = turn @ np.diag(moments) @ turn.T
    found, axes = principal_axes(inertia)
    assert np.allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(axes) > 0
    assert np.allclose(axes @ np.diag(found) @ axes.T, inertia, rtol=0, atol=3e-9 * moments.max())
    assert np.allclose(np.sort(found), np.sort(moments), rtol=1e-8)
    if case in ("all equal", "diagonal", "right angles"):
        assert np.array_equal(axes, np.eye(3))
    noise = 1e-14 * moments.max() * rng.normal(size=(3, 3))
    again, same = principal_axes(inertia + noise + noise.T)
    assert np.allclose(same, axes, atol=1e-4)  # of nearly equal moments too
    assert np.allclose(again, found, rtol=1e-9)


def test_nearest_axes_and_ties():
    moments, axes = principal_axes(rpy(0, 0, 0.3) @ np.diag([3.0, 1.0, 2.0]) @ rpy(0, 0, 0.3).T)
    assert np.allclose(moments, [3, 1, 2])
    assert np.allclose(axes, rpy(0, 0, 0.3))
    turn = rpy(0, 0, np.pi / 4)  # two turns are equally near
    for nudge in (-1e-15, 0, 1e-15):
        tensor = turn @ np.diag([3.0, 1.0, 2.0]) @ turn.T
        tensor[0, 0] += nudge
        assert np.allclose(principal_axes(tensor)[1], principal_axes(turn @ np.diag([3.0, 1.0, 2.0]) @ turn.T)[1])


@settings(max_examples=cases(100))
@given(st.integers(0, 2**32))
def test_quaternions(seed):
    rng = np.random.default_rng(seed)
    turn = rpy(*rng.choice([0, np.pi / 2, np.pi, -np.pi / 2, 1.0, 3.1], 3))
    w, x, y, z = quaternion(turn)
    assert np.allclose(pin.Quaternion(w, x, y, z).matrix(), turn, atol=1e-9)
    assert w > -1e-12


def exact_possible(inertia) -> bool:
    xx, xy, xz, _, yy, yz, _, _, zz = (Fraction(float(v)) for v in np.ravel(inertia))
    half = (xx + yy + zz) / 2
    return is_positive_semidefinite([[half - xx, -xy, -xz], [-xy, half - yy, -yz], [-xz, -yz, half - zz]])


@settings(max_examples=cases(200))
@given(st.integers(0, 2**32))
def test_what_is_written_can_exist_after_rounding(seed):
    rng = np.random.default_rng(seed)
    m, c, inertia = cloud(rng, int(rng.integers(4, 8)))
    size = 10.0 ** rng.integers(-4, 2)
    errors = 10.0 ** rng.uniform(-6, 0, 3)
    load = Payload(
        m, c, inertia * size, "tool0", mass_error=errors[0], com_error=np.full(3, errors[1]),
        inertia_error=np.full((3, 3), errors[2] * size),
    )  # fmt: skip
    r = rounded(load)
    assert exact_possible(r.inertia)
    assert r.mass > 0
    assert abs(r.mass - m) <= errors[0]
    assert np.abs(r.com - c).max() <= errors[1] / 10
    shown = np.abs(load.inertia[[0, 0, 1], [1, 2, 2]]).max() > errors[2] * size  # else the products count as zero
    assert (
        np.abs(r.inertia - (load.inertia if shown else np.diag(np.diag(load.inertia)))).max() <= errors[2] * size / 10
    )
    _, moments, axes = rounded_principal(load)
    assert exact_possible(np.diag(moments))
    assert np.linalg.det(axes) > 0


def test_digits_follow_the_standard_errors():
    errors = {"mass_error": 0.03, "com_error": [2e-4] * 3, "inertia_error": np.full((3, 3), 2e-4)}
    known = Payload(LOAD.mass, LOAD.com, LOAD.inertia, "tool0", **errors)
    text = next(f for f in PAYLOAD_FORMATS if f.name == "ur").write(known)
    assert (
        "set_target_payload(2.805, [0.01230, -0.04560, 0.07890], [0.01230, 0.01450, 0.01010, 0.00110, -0.00070" in text
    )
    assert "Standard errors: mass 0.03 kg; centre 0.0002, 0.0002, 0.0002 m; Ixx" in text


@pytest.mark.slow
def test_each_number_has_its_own_digits():
    """An entry that the recordings hardly show does not get the digits of the best one."""
    errors = np.full((3, 3), 4e-4)
    errors[1, 1] = 0.1
    known = Payload(LOAD.mass, LOAD.com, LOAD.inertia, "tool0", com_error=[1e-3, 1e-3, 0.2], inertia_error=errors)
    written = {f.name: f.write(known).splitlines()[-1] for f in PAYLOAD_FORMATS}
    assert "[0.0123, -0.0456, 0.08], [0.01230, 0.01, 0.01010, 0.00110, -0.00070, 0.00030]" in written["ur"]
    r = rounded(known)
    assert (r.at_com.tolist(), np.diag(r.at_inertia).tolist()) == ([4, 4, 2], [5, 2, 5])
    assert exact_possible(r.inertia)
    # products of 0.0011 with an error of 0.0004 are known, though one moment is not
    assert "A 0.0000, B 0.0000, C 0.0000" not in written["kuka"]
    assert "Z 80.0," in written["kuka"]


@pytest.mark.slow
@pytest.mark.parametrize("seen", [False, True])
def test_products_of_inertia_count_as_zero_by_one_rule_for_all_vendors(seen):
    """Where all three are within their own standard errors; each file that has a place for them says which it is."""
    errors = np.full((3, 3), 0.1)
    errors[0, 2] = errors[2, 0] = 0.0006 if seen else 0.0008  # the product is -0.0007
    load = Payload(LOAD.mass, LOAD.com, LOAD.inertia, "tool0", inertia_error=errors)
    written = {f.name: f.write(load) for f in PAYLOAD_FORMATS}
    last = {name: text.splitlines()[-1] for name, text in written.items()}
    assert last["ur"].endswith("0.00, -0.00070, 0.00])" if seen else "0.00, 0.00000, 0.00])")
    assert ("A 0.0000, B 0.0000, C 0.0000" in last["kuka"]) is not seen
    assert ("[1.000000000, 0.000000000, 0.000000000, 0.000000000]" in last["abb"]) is not seen
    assert ("-0.00070" in last["franka"]) is seen
    said = "Products of inertia: as they are; they count" if seen else "Products of inertia: zero, for all three are"
    for name in ("ur", "franka", "kuka", "abb"):
        assert said in written[name]
    for name in ("fanuc", "yaskawa"):
        assert re.search("no products of inertia: they are\\s+(. )?left out", written[name])


def test_fields_and_units_of_each_vendor():
    """UR xx yy zz xy xz yz, Franka column-major, KUKA and ABB principal, others diagonal or none."""
    written = {f.name: last_numbers(f.write(LOAD)) for f in PAYLOAD_FORMATS}
    i = LOAD.inertia
    six = [i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]]
    assert written["ur"] == pytest.approx([2.8051, *LOAD.com, *six])
    assert written["franka"] == pytest.approx([2.8051, *LOAD.com, *i.T.ravel()])
    diagonal = np.diag(i)
    mm = (1e3 * LOAD.com).tolist()
    assert written["yaskawa"] == pytest.approx([2.8051, *mm, *diagonal], abs=0.01)
    assert written["fanuc"] == pytest.approx([2.8051, *(100 * LOAD.com), *(diagonal / 0.0980665)], abs=1e-5)
    assert written["doosan"] == pytest.approx([*mm, 2.8051])
    assert written["mecademic"] == pytest.approx([2.8051, *mm])
    assert written["toshiba"] == pytest.approx([2.8051, *np.abs(mm)], abs=0.01)
    m, x, y, z, a, b, c, *j = written["kuka"]
    assert [m, x, y, z] == pytest.approx([2.8051, *mm])
    turn = rpy(*np.radians([c, b, a]))  # A about Z, B about Y', C about X''
    assert np.allclose(turn @ np.diag(j) @ turn.T, i, atol=2e-6)
    m, x, y, z, q1, q2, q3, q4, *j = written["abb"]
    assert [m, x, y, z] == pytest.approx([2.8051, *mm])
    turn = pin.Quaternion(q1, q2, q3, q4).normalized().matrix()
    assert np.allclose(turn @ np.diag(j) @ turn.T, i, atol=2e-6)


@pytest.mark.parametrize("form", PAYLOAD_FORMATS, ids=lambda f: f.name)
def test_every_payload_file_says_units_point_and_origin(form):
    load = Payload(
        LOAD.mass, LOAD.com, LOAD.inertia, "tool0", origin=("From a with minus a without load, sha256 abc.",)
    )
    text = form.write(load)
    for wanted in ("Units: kg", "sha256 abc", "Standard errors: not known"):
        assert wanted in text
    assert "Load seen from the flange, which is the frame 'tool0'; written by ident." in text
    assert "WARNING: NOT VALIDATED" in text
    assert "NOT VALIDATED" not in form.write(replace(load, validation="Validation passed."))
    assert re.search("no inertia|CENTRE|centre of (mass|gravity)|inertia, for which", text)


def test_ten_parameters_and_small_or_impossible_loads():
    body = from_com(1.5, [0.1, 0, 0.05], np.diag([0.01, 0.02, 0.025]))
    load = payload_of(body, "tool0")
    assert np.allclose(load.inertia, np.diag([0.01, 0.02, 0.025]))
    tiny = Payload(3e-6, np.zeros(3), np.diag([1e-9, 2e-9, 2.5e-9]), "tool0")
    assert last_numbers(payload_call("abb", tiny))[0] == 3e-6
    assert max(last_numbers(payload_call("abb", tiny))[-3:]) > 0
    point = Payload(1.0, np.zeros(3), np.zeros((3, 3)), "tool0")
    assert last_numbers(payload_call("abb", point))[-3:] == [0, 0, 0]
    with pytest.raises(InfeasibleError, match="-1 kg cannot exist"):
        Payload(-1.0, np.zeros(3), np.eye(3), "tool0")
    with pytest.raises(InfeasibleError, match=r"principal moments 1, 1, 3 kg m.2 cannot exist"):
        Payload(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0]), "tool0")
    with pytest.raises(InputError, match="not symmetric"):
        Payload(1.0, np.zeros(3), [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]], "tool0")
    with pytest.raises(InputError, match=r"centre of mass\[1\] is nan"):
        Payload(1.0, [0, np.nan, 0], np.eye(3), "tool0")
    with pytest.raises(InputError, match="there is no payload format 'kukka'; did you mean 'kuka'"):
        payload_format_named("kukka")
    assert payload_format_named("kuka").write(LOAD) == payload_call("kuka", LOAD)
