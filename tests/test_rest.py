"""Joints that rest, whatever their readings hold: nothing is said of them that the logs do not say."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from random_robots import random_robot
from synthetic import states

from ident.errors import EstimationError
from ident.estimate import Prior, estimated, log_det_newton, neutral_prior
from ident.export import export_to
from ident.export.formats import FORMATS
from ident.logs import Log, Processing, process
from ident.logs.readings import resting
from ident.model import Coulomb, DriveInertia, Model, Offset, Viscous, torque
from ident.regression import compress
from ident.report.text import base_rows
from ident.report.verdict import warnings
from ident.robot.urdf import parse_urdf

RATE = 200.0
FILTERED = Processing(position_hz=10.0, edge_s=0.5)
MEASURED = Processing(position_hz=10.0, velocity_hz=10.0, velocity="measured", edge_s=0.5)
TERMS = ("drive_inertia", "viscous", "coulomb")


def arm(seed: int, n: int = 4) -> Model:
    rng = np.random.default_rng(seed)
    robot = parse_urdf(random_robot(rng, n, branches=False, prismatic=seed % 2 == 0).encode())
    return Model(robot, (DriveInertia(), Viscous(), Coulomb(), Offset()))


def readings(kind: str, rng: np.random.Generator, samples: int) -> np.ndarray:
    """Return what the encoder of a joint that rests at 0.7 rad says."""
    still = np.full(samples, 0.7)
    count = 2 * np.pi / 2**16
    return {
        "exact": still,
        "rounding": still * (1 + 1e-13 * rng.normal(size=samples)),
        "one count": still + count * rng.integers(0, 2, samples),
        "both neighbours": still + count * rng.integers(-1, 2, samples),
        "rare flicker": still + count * (np.sin(np.arange(samples) / 300.0) > 0.9),
        "noise": still + 1e-4 * rng.normal(size=samples),
    }[kind]


KINDS = ("exact", "rounding", "one count", "both neighbours", "rare flicker", "noise")


def log(model: Model, kind: str, seed: int, still: int, samples: int = 3000) -> Log:
    """Return a log in which the joint `still` rests and the others move; its torques know nothing of the readings."""
    rng = np.random.default_rng(seed)
    n = model.robot.n
    t, q, qd, qdd = states(rng, n, samples)
    t = np.arange(samples) / RATE
    q, qd, qdd = q[:, :n], qd * 10.0 * RATE / samples, qdd * (10.0 * RATE / samples) ** 2
    q[:, still], qd[:, still], qdd[:, still] = 0.7, 0.0, 0.0
    theta = np.concatenate([model.robot.inertials.ravel(), rng.uniform(0.2, 1.0, len(model.names) - model.n_rigid)])
    tau = torque(model, theta, q, qd, qdd) + 0.02 * rng.normal(size=q.shape)
    q[:, still] = readings(kind, rng, samples)
    qd = qd + 1e-3 * rng.normal(size=q.shape)
    return Log("log", t, q, tau, qd, model.robot.joint_names)


@pytest.mark.parametrize("kind", KINDS)
def test_readings_of_a_joint_that_rests_are_no_motion(kind: str) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        moving = states(rng, 3, 2000)[1]
        slow = np.round(np.linspace(0, 0.01, 2000) / 1e-4)[:, None] * 1e-4  # 100 counts in ten seconds
        q = np.column_stack([readings(kind, rng, 2000), moving, slow])
        assert resting(q).tolist() == [True, False, False, False, False]


FITS = {
    "ols": lambda model, found, prior: estimated(model, found, loss="ols", feasible=False),
    "wls": lambda model, found, prior: estimated(model, found, feasible=False),
    "constrained": lambda model, found, prior: estimated(model, found, prior, weight=1e-3),
    "plain": lambda model, found, prior: estimated(model, found, prior, weight=0.0),
    "closest to the prior": lambda *given: estimated(*given, weight="vanishing"),
    "cross-validated": lambda *given: estimated(*given, weight="cross-validated"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FITS)
def test_nothing_is_found_of_a_joint_that_rests(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The joint's friction and drive take the prior's value, 0 without one, and have no standard error."""
    monkeypatch.setattr(log_det_newton, "PATIENCE", 0.5)  # where its paths end, others go on, here as after 8 s
    for seed, kind in enumerate(KINDS):
        model, still = arm(seed, 3), seed % 3
        joint = model.robot.joint_names[still]
        told = {f"{joint}.viscous": 0.25} if seed % 2 else {}
        found = compress(model, process(log(model, kind, seed, still), MEASURED if seed % 3 else FILTERED))
        prior = Prior(model.robot.inertials, "cad", told)
        if name in ("ols", "wls"):  # they have nothing else to say of it
            with pytest.raises(EstimationError, match=rf"do not determine .*{joint}\.") as cause:
                FITS[name](model, found, prior)
            estimate = cause.value.estimate
        else:
            estimate = FITS[name](model, found, prior)
        errors = dict(zip(estimate.base.names, estimate.covariance.standard_errors, strict=True))
        values = dict(zip(estimate.base.names, estimate.phi, strict=True))
        for term in ("viscous", "coulomb"):
            assert np.isnan(errors[f"{joint}.{term}"])
            drawn = 0.0 if estimate.theta is None else told.get(f"{joint}.{term}", 0.0)
            assert values[f"{joint}.{term}"] == drawn
        assert {f"{joint}.{term}" for term in TERMS[1:]} <= set(estimate.undetermined)
        moving = {f"{other}.{term}" for other in model.robot.joint_names if other != joint for term in TERMS[1:]}
        assert not moving & set(estimate.undetermined)
        if estimate.theta is not None:
            assert np.abs(estimate.theta[model.n_rigid :]).max() < 5.0
            assert f"{joint}.viscous" in " ".join(estimate.warnings)


def test_columns_of_rounding_are_zero() -> None:
    """A motion that never went through `process` has them too."""
    model = arm(3, 3)
    moved = process(log(model, "exact", 3, 1), FILTERED)
    rounding = np.random.default_rng(0).normal(size=moved.qd[:, 1].shape)
    qd, qdd = moved.qd.copy(), moved.qdd.copy()
    qd[:, 1], qdd[:, 1] = 1e-15 * rounding, 1e-13 * rounding
    joint = model.robot.joint_names[1]
    found = compress(model, replace(moved, qd=qd, qdd=qdd))
    assert {f"{joint}.viscous"} <= set(found.unseen())
    estimate = estimated(model, found, neutral_prior(model.robot), weight="cross-validated")
    assert f"{joint}.viscous" in estimate.undetermined
    assert np.abs(estimate.theta).max() < 50.0


def test_what_shows_in_a_sum_only_does_not_run_away() -> None:
    """A joint that turned one way: Coulomb friction takes all, or keeps what the prior has, and the offset the rest."""
    model = arm(3, 3)
    recording = process(log(model, "exact", 3, 1), FILTERED)
    one_way = replace(recording, keep=recording.keep & (recording.qd[:, [2]] > 0.05) & [False, False, True] | (
        recording.keep & [True, True, False]))  # fmt: skip
    joint = model.robot.joint_names[2]
    found = compress(model, one_way)
    for known in (0.0, 0.4):
        prior = Prior(model.robot.inertials, "cad", {f"{joint}.coulomb": known} if known else {})
        estimate = estimated(model, found, prior, weight=1e-4)
        assert {f"{joint}.coulomb", f"{joint}.offset"} <= set(estimate.undetermined)
        stated = f"{joint}.coulomb" if known else f"{joint}.offset"
        assert estimate.value(stated) == known
        assert estimate.value(f"{joint}.coulomb") + estimate.value(f"{joint}.offset") == pytest.approx(1.007, abs=0.01)
        assert estimate.relative_total < 0.05


@pytest.fixture(scope="module")
def resting_estimate():
    model = arm(3, 3)
    found = compress(model, process(log(model, "exact", 3, 1), FILTERED))
    joint = model.robot.joint_names[1]
    prior = Prior(model.robot.inertials, "cad", {f"{joint}.viscous": 0.25})
    return model.robot, joint, estimated(model, found, prior, weight=1e-3)


@pytest.mark.slow
def test_no_export_has_what_is_not_determined(resting_estimate, tmp_path) -> None:
    robot, joint, estimate = resting_estimate
    for form in FORMATS:
        if form.name.startswith("rtb"):
            continue  # DH robots only
        path = export_to(form.name, estimate, tmp_path / f"x{form.suffix}", robot=robot, unvalidated=True).path
        text = " ".join(path.read_bytes().decode("latin-1").split())
        assert "not determined by these logs" in text, form.name
        assert f"{joint}.viscous (0.25 stands there)" in text, form.name
    document = json.loads(
        export_to("json", estimate, tmp_path / "x.json", robot=robot, unvalidated=True).path.read_text()
    )
    values = {term["name"]: term["value"] for term in document["joint_terms"]}
    assert values[f"{joint}.viscous"] == 0.25
    assert values[f"{joint}.coulomb"] is None
    base = {b["name"]: b["value"] for b in document["base_parameters"]}
    assert base[f"{joint}.viscous"] is base[f"{joint}.coulomb"] is None
    urdf = export_to("urdf", estimate, tmp_path / "x.urdf", robot=robot, unvalidated=True).path.read_text()
    own = re.search(f'<joint name="{joint}".*?</joint>', urdf, re.S).group()
    assert 'damping="0.25"' in own


def test_the_terminal_and_the_report_say_not_determined(resting_estimate) -> None:
    _, joint, estimate = resting_estimate
    rows = {row[0]: row[2] for row in base_rows(estimate).rows}
    assert rows[f"{joint}.viscous"] == rows[f"{joint}.coulomb"] == "not determined"
    assert any(f"{joint}.coulomb" in w and "no result" in w for w in warnings(estimate))
