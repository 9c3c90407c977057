"""Estimates on disk: what is read is what was written, and nothing that contradicts itself is read."""

from __future__ import annotations

import json
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from identified import case
from seeds import cases

from ident.errors import IdentError, InfeasibleError, InputError
from ident.estimate import storage
from ident.estimate.estimate import NamedCause, Structure, Trace, TriedTerm
from ident.estimate.storage import load_estimate, save_estimate
from ident.spatial.inertia import is_positive_semidefinite, pseudo_inertia_exact

BROKEN = Path(__file__).parent / "broken" / "estimate"
SCHEMA = Path(storage.__file__).parent / "estimate.schema.json"
EXPECTED = tomllib.loads((BROKEN / "expected.toml").read_text())


def same(a, b):
    """Return whether two values, arrays and dataclasses included, are the same to the last bit; NaN equals NaN."""
    if hasattr(a, "__dataclass_fields__"):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=True)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or (isinstance(a, float) and np.isnan([a, b]).all())


def estimates():
    c = case()
    open_ = c.wls.covariance.matrix.copy()
    open_[2], open_[:, 2] = np.nan, np.nan
    missing = replace(
        c.wls,
        covariance=replace(c.wls.covariance, matrix=open_),
        relative=np.array([0.1, np.nan, 0.2]),
        condition=np.inf,
        relative_total=np.nan,
        warnings=("näher → “x”",),
        notes=("chosen",),
        provenance={"ident": "0", "command": 'ident run "a b"\n'},
        active=("tower: mass at its bound",),
    )
    cause = NamedCause("robot", "wrong", "r.toml", "mend", ("or",), ("a", "b"), (0.2, 0.1), (0.1, 0.0), (0.1, 0.05))
    taken = TriedTerm("a spring", "stiffness", 0.1, 0.01, 0.2)
    other = TriedTerm("hysteresis over 0.001", "hysteresis", np.nan, 0.01, 0.2, "the error grows")
    way = ((other, taken), (other,))
    structure = Structure(0.3, 0.2, np.nan, 72, 6, "", ("spring = true",), (taken, other), way)
    tried = ((1e-6, 1.0), (1e-5, np.nan))
    trace = Trace("a", "N m", "position of b", "rad", (0.0, 0.1), (1.0, 2.0), (0.1, 0.2), (0.0, -0.1))
    causes = (cause, replace(cause, trace=trace))
    chosen = replace(c.constrained, causes=causes, noted=causes[1:], selection=tried, structure=structure)
    return {"wls": c.wls, "constrained": c.constrained, "missing": missing, "chosen": chosen}


@pytest.mark.parametrize("name", ["wls", "constrained", "missing", "chosen"])
def test_reading_gives_back_what_was_written(tmp_path, name):
    estimate = estimates()[name]
    again = load_estimate(save_estimate(estimate, tmp_path / "e.json"))
    assert same(estimate, again)
    assert same(estimate.covariance.standard_errors, again.covariance.standard_errors)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wls", "constrained", "missing", "chosen"])
def test_the_schema_describes_the_file(tmp_path, name):
    schema = json.loads(SCHEMA.read_text())
    document = json.loads(save_estimate(estimates()[name], tmp_path / "e.json").read_text())
    jsonschema.validate(document, schema, cls=jsonschema.Draft202012Validator)
    newer = {
        "implausible",
        "notes",
        "causes",
        "noted",
        "hidden",
        "calibration",
        "structure",
    }  # which files of earlier versions do not have
    for key in document.keys() - newer:
        less = {k: v for k, v in document.items() if k != key}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(less, schema)
        (tmp_path / "less.json").write_text(json.dumps(less))
        with pytest.raises(InputError):
            load_estimate(tmp_path / "less.json")


def test_parameters_have_twelve_digits_and_can_exist(tmp_path):
    c = case()
    rough = c.constrained.theta * (1 + 1e-7 * np.pi)
    path = save_estimate(replace(c.constrained, theta=rough, phi=c.wls.base.K @ rough), tmp_path / "e.json")
    for text in json.loads(path.read_text(), parse_float=str)["parameters"].values():
        digits = str(text).partition("e")[0].replace(".", "").replace("-", "").lstrip("0")
        assert len(digits) <= 12
    for body in load_estimate(path).inertials:
        assert is_positive_semidefinite(pseudo_inertia_exact(body))


def test_what_claims_to_be_feasible_and_is_not_is_not_written(tmp_path):
    c = case()
    theta = c.constrained.theta.copy()
    theta[20:30] = [1.0, 0, 0, 0, 1.0, 0, 0, 1.0, 0, 2.0 + 1e-11]
    wrong = replace(c.constrained, theta=theta, phi=c.wls.base.K @ theta)
    with pytest.raises(InfeasibleError, match=r"e\.json, slider: said to be feasible, but such a body cannot exist"):
        save_estimate(wrong, tmp_path / "e.json")
    assert list(tmp_path.iterdir()) == []
    save_estimate(replace(wrong, feasible=False), tmp_path / "e.json")
    assert load_estimate(tmp_path / "e.json").feasible is False


def test_a_number_that_must_be_there_is_not_written_as_null(tmp_path):
    phi = case().wls.phi.copy()
    phi[0] = np.nan
    with pytest.raises(InputError, match=r"e\.json, base\[1\]\.value: is NaN, wanted a finite number"):
        save_estimate(replace(case().wls, phi=phi), tmp_path / "e.json")
    assert list(tmp_path.iterdir()) == []


def test_the_example_without_a_mistake_is_read():
    assert load_estimate(BROKEN / "good.json").value("leaf.m") == 2.0


def test_every_broken_file_is_expected():
    assert {p.name for p in BROKEN.glob("*.json")} == {*EXPECTED, "good.json"}
    with pytest.raises(InputError, match=r"absent\.json: cannot be read: No such file"):
        load_estimate(BROKEN / "absent.json")


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_broken(name):
    with pytest.raises(IdentError) as caught:
        load_estimate(BROKEN / name)
    assert str(caught.value) == EXPECTED[name]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.text(max_size=3)
    | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


@settings(max_examples=cases(150))
@given(st.data())
def test_anything_in_any_place_is_read_or_refused_in_words(tmp_path_factory, data):
    document = json.loads((BROKEN / "good.json").read_text())
    path = data.draw(st.sampled_from([p for p in places(document) if p]))
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = data.draw(VALUES)
    file = tmp_path_factory.mktemp("any") / "e.json"
    file.write_text(json.dumps(document))
    try:
        estimate = load_estimate(file)
    except IdentError as refused:
        told = str(refused)
    else:
        told = "e.json"
        jsonschema.validate(document, json.loads(SCHEMA.read_text()), cls=jsonschema.Draft202012Validator)
        assert same(estimate, load_estimate(save_estimate(estimate, file)))
    assert told.startswith("e.json")


@settings(max_examples=cases(100))
@given(st.binary(max_size=80) | st.just(b"[" * 100_000) | st.just(b'{"a":' * 100_000) | st.just(b"1" * 10_000))
def test_any_bytes_are_refused_in_words(tmp_path_factory, content):
    file = tmp_path_factory.mktemp("bytes") / "e.json"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"^e\.json"):
        load_estimate(file)
