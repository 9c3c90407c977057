"""Against CAD, against the truth, on other recordings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from identified import case, moved
from scipy.stats import t as student
from seeds import cases

from ident.compare import cad_theta, compare_truth, compare_with, validate
from ident.compare.difference import contradicted, decided_by
from ident.compare.validate import STEPS, WAY, _friction
from ident.errors import ModelError
from ident.estimate.covariance import Covariance, half_widths
from ident.logs.filter import decimate
from ident.model import Model, SmoothCoulomb, Stribeck, Viscous, regressor, torque
from ident.regression import base_parameters, compress


def row(comparison, name):
    return next(r for r in comparison.rows if r.name == name)


def known(estimate, phi, errors, dof=10_000):
    """Return the estimate with these phi and independent standard errors."""
    return replace(estimate, phi=phi, covariance=Covariance("cluster-by-segment", np.diag(errors**2), dof, dof + 1))


def test_true_cad_agrees_and_a_wrong_mass_is_found():
    c = case()
    right = compare_with(c.wls, c.inertials, c.terms, "cad.csv")
    assert right.count("contradicted") == 0
    assert right.count("not comparable") == 0
    assert right.count("agrees") > len(right.rows) / 2

    wrong = c.inertials.copy()
    wrong[2] *= 1.5
    found = compare_with(c.wls, wrong, c.terms, "cad.csv")
    touched = np.abs(c.wls.base.K[:, 20:30]) @ np.abs(c.inertials[2]) > 0
    flagged = np.array([r.verdict == "contradicted" for r in found.rows])
    assert flagged.any()
    assert not flagged[~touched].any()


@pytest.mark.parametrize("factor", [0.8, 1.0, 1.25, 2.5])
def test_a_factor_of_all_numbers_is_told_and_one_of_a_link_is_none(factor):
    c = case()
    scaled = compare_with(c.wls, c.inertials / factor, {}, "cad.csv", c.robot)
    assert scaled.factor == pytest.approx(factor, rel=0.03)
    assert (scaled.factor == 1.0) == (factor == 1.0)
    one = c.inertials.copy()
    one[1] *= 1.5
    assert compare_with(c.wls, one, {}, "cad.csv", c.robot).factor == 1.0


def test_numbers_of_a_row():
    c = case()
    found = compare_with(c.wls, c.inertials, c.terms, "cad.csv")
    phi_cad = c.wls.base.K @ c.theta
    for k, r in enumerate(found.rows):
        se = float(np.sqrt(c.wls.covariance.matrix[k, k]))
        assert r.reference == pytest.approx(phi_cad[k], rel=1e-12, abs=1e-15)
        assert r.difference == pytest.approx(c.wls.phi[k] - phi_cad[k], abs=1e-12)
        assert r.standard_errors == pytest.approx(r.difference / se)
        assert r.half_width == pytest.approx(student.ppf(0.975, c.wls.covariance.dof) * se)
        assert r.expression == c.wls.base.expression(k)


def test_a_joint_term_that_cad_does_not_state_is_unknown_not_zero():
    c = case()
    c_without = compare_with(c.wls, c.inertials, {}, "cad.csv")
    K = c.wls.base.K
    uses_terms = (K[:, c.model.n_rigid :] != 0).any(axis=1)
    verdicts = np.array([r.verdict == "not comparable" for r in c_without.rows])
    assert np.array_equal(verdicts, uses_terms)
    assert "turn.drive_inertia" in " ".join(r.expression for r in c_without.rows if r.verdict == "not comparable")
    assert all(
        np.isnan(r.reference) and np.isnan(r.difference) for r in c_without.rows if r.verdict == "not comparable"
    )


def test_a_link_that_cad_does_not_state_is_unknown():
    c = case()
    part = c.inertials.copy()
    part[1] = np.nan
    found = compare_with(c.wls, part, c.terms, "cad.csv")
    uses = (c.wls.base.K[:, 10:20] != 0).any(axis=1)
    assert np.array_equal([r.verdict == "not comparable" for r in found.rows], uses)
    with pytest.raises(ModelError, match=r"CAD says nothing of 'arm\.m', so it predicts no torque"):
        cad_theta(c.model, part, c.terms)


def test_not_determined_when_the_interval_is_wide_or_there_is_none():
    c = case()
    phi = c.wls.base.K @ c.theta
    errors = np.full(len(phi), 1e6)
    assert compare_with(known(c.wls, phi, errors), c.inertials, c.terms, "").count("not determined") == len(phi)
    errors = np.full(len(phi), 1e-9)
    errors[3] = np.nan
    found = compare_with(known(c.wls, phi, errors), c.inertials, c.terms, "")
    assert found.rows[3].verdict == "not determined"
    assert np.isnan(found.rows[3].standard_error)
    assert found.count("agrees") == len(phi) - 1


def test_a_contradiction_counts_even_where_the_interval_is_wider_than_cads_value():
    c = case()
    phi = c.wls.base.K @ c.theta
    errors = np.full(len(phi), 1e-9)
    k = c.wls.base.names.index("reach.offset")
    errors[k], phi[k] = 1.0, 50.0
    found = compare_with(known(c.wls, phi, errors), c.inertials, c.terms, "").rows[k]
    assert found.half_width > found.scale
    assert found.verdict == "contradicted"


def test_a_zero_of_cad_has_the_size_that_its_body_allows():
    c = case()
    flat = c.inertials.copy()
    flat[:, [5, 6, 8]] = 0.0
    found = compare_with(c.wls, flat, c.terms, "")
    r = row(found, "arm.Ixy")
    xx, yy, zz = flat[1:, 4], flat[1:, 7], flat[1:, 9]
    largest = np.sqrt((yy + zz - xx) / 2 * (xx + zz - yy) / 2)  # of the integral of x y dm (Cauchy, Schwarz)
    assert r.expression == "arm.Ixy + slider.Ixy"
    assert r.reference == 0.0
    assert r.scale == pytest.approx(0.1 * largest.sum())


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=12), st.integers(2, 60))
def test_holm_by_its_definition(off, dof):
    found, boundary = contradicted([*off, np.nan], dof)
    p = 2 * student.sf(np.abs(off), dof)
    order = np.argsort(p, kind="stable")
    adjusted = np.maximum.accumulate([(len(p) - j) * p[k] for j, k in enumerate(order)])
    expected = np.zeros(len(p), dtype=bool)
    expected[order] = adjusted <= 0.01
    assert found == [*expected.tolist(), False]
    assert all(
        (abs(x) > boundary) == bad for x, bad in zip(off, expected, strict=True) if abs(abs(x) - boundary) > 1e-9
    )


@pytest.mark.slow
def test_false_alarms_are_one_in_a_hundred_reports():
    c = case()
    phi = c.wls.base.K @ c.theta
    errors = np.abs(phi) * 0.01 + 1e-6
    rng = np.random.default_rng(0)
    reports = 500
    alarms = sum(any(contradicted(list(rng.normal(size=len(phi))), 10_000)[0]) for _ in range(reports))
    assert alarms <= 14  # 99.9 % point of Binomial(500, 0.01)
    noisy = known(c.wls, phi + errors * 8.0 * (np.arange(len(phi)) == 5), errors)
    assert [r.verdict for r in compare_with(noisy, c.inertials, c.terms, "").rows].count("contradicted") == 1


def test_notes_say_what_weakens_the_comparison():
    c = case()
    notes = compare_with(c.constrained, c.inertials, c.terms, "cad.csv").notes
    assert any(n.startswith("The fit was drawn towards its prior (cad.csv) with weight 1e-06.") for n in notes)
    classical = replace(c.wls, covariance=replace(c.wls.covariance, kind="classical"))
    assert any("too small" in n for n in compare_with(classical, c.inertials, c.terms, "").notes)
    assert compare_with(c.wls, c.inertials, c.terms, "").notes == ()


def test_standard_parameters_say_who_decided():
    c = case()
    found = decided_by(c.constrained)
    assert set(found) == set(c.model.names)
    assert all(found[n] == "data" for n in c.wls.base.identifiable)
    assert all(found[n] == "prior" for n in c.wls.base.unidentifiable)
    assert set(found.values()) == {"data", "data and prior", "prior"}
    theta = dict(zip(c.model.names, compare_with(c.constrained, c.inertials, {}, "").theta, strict=True))
    assert np.isnan(theta["lift.viscous"])
    assert theta["arm.m"] == c.inertials[1, 0]
    assert c.wls.value("arm.m") is None


def test_what_does_not_fit_is_refused():
    c = case()
    with pytest.raises(ModelError, match=r"must have shape \(3, 10\), got \(2, 10\)"):
        compare_with(c.wls, c.inertials[:2], {}, "")
    with pytest.raises(ModelError, match=r"no parameter 'lift\.viscos'; did you mean 'lift\.viscous'\?"):
        compare_with(c.wls, c.inertials, {"lift.viscos": 1.0}, "")
    with pytest.raises(ModelError, match="the truth does not state 'tower"):
        compare_truth(c.wls, {})


def test_truth():
    c = case()
    found = compare_truth(c.wls, c.truth)
    true = c.wls.base.K @ c.theta
    z = (c.wls.phi - true) / c.wls.covariance.standard_errors
    assert np.allclose([r.standard_errors for r in found.rows], z, atol=1e-9)
    assert found.largest == pytest.approx(np.abs(z).max())
    assert found.largest < 6
    inside = np.abs(c.wls.phi - true) <= c.wls.covariance.half_widths(0.95)
    assert found.coverage == pytest.approx(inside.mean())


def direct(model, theta, motion):
    """Return squared residuals, energy and samples per joint from the dense regressor, thinned and masked."""
    left = motion.tau - regressor(model, motion.q, motion.qd, motion.qdd) @ theta
    left, tau = decimate(left, motion.decimation), decimate(motion.tau, motion.decimation)
    return (left**2 * motion.keep).sum(axis=0), (tau**2 * motion.keep).sum(axis=0), motion.keep.sum(axis=0)


@pytest.mark.parametrize("decimation", [(), (2,), (2, 3)])
def test_validation_is_what_the_dense_regressor_gives(decimation):
    c = case()
    rows = 1500
    for factor in decimation:
        rows = -(-rows // factor)
    keep = np.random.default_rng(3).random((rows, 3)) < 0.7
    motion = moved("held out", c.model, c.theta, 7, decimation=decimation, keep=keep, blocks=((0, rows),))
    wrong = c.theta * 1.1
    found = validate(c.model, motion, {"identified": c.wls.phi, "wrong": wrong}, fitted=c.regression)
    assert found.names == ("identified", "wrong", "zero")
    assert found.recordings[0].held_out is True
    assert found.warnings == ()
    for name, theta in (("wrong", wrong), ("zero", 0 * wrong)):
        squared, energy, samples = direct(c.model, theta, motion)
        p = found.recordings[0].of(name)
        assert np.allclose(p.squared, squared, rtol=1e-9)
        assert np.allclose(p.rms, np.sqrt(squared / samples), rtol=1e-9)
        assert np.allclose(p.relative, np.sqrt(squared / energy), rtol=1e-9)
        assert p.relative_total == pytest.approx(np.sqrt(squared.sum() / energy.sum()))
        assert np.array_equal(p.samples, samples)
    assert np.allclose(found.recordings[0].of("zero").relative, 1.0)
    assert found.total("identified").relative_total < 0.1 < found.total("wrong").relative_total + 0.09


def test_what_intervals_allow_is_the_spread_of_torques_of_parameters_drawn_from_them():
    c = case()
    e, other, rng = c.constrained, c.other, np.random.default_rng(5)
    found = validate(c.model, other, {"identified": e.phi}, fitted=c.regression, covariance=e.covariance)
    off = rng.multivariate_normal(np.zeros(len(e.phi)), e.covariance.matrix, 1000, method="eigh")
    Y = regressor(c.model, other.q, other.qd, other.qdd)[:, :, list(e.base.kept)]
    squares = np.einsum("tjb,bc,tjc->j", Y, off.T @ off / len(off), Y) / len(Y)
    np.testing.assert_allclose(found.allowed, half_widths(np.sqrt(squares), e.covariance.dof), rtol=0.1)
    assert validate(c.model, other, {"identified": e.phi}, fitted=c.regression).allowed is None


def test_the_raw_error_is_that_before_thinning():
    c = case()
    loud = replace(c.other, tau=c.other.tau + 3.0 * np.where(np.arange(1500) % 2, 1, -1)[:, None])
    assert validate(c.model, loud, {"CAD": c.theta}, fitted=c.regression).total("CAD").raw_total is None
    keep = np.arange(375)[:, None] < [300, 375, 375]
    thinned = replace(loud, decimation=(4,), keep=keep, blocks=((0, 375),))
    found = validate(c.model, thinned, {"CAD": c.theta}, fitted=c.regression).total("CAD")
    rows = np.arange(1500)[:, None] < [1200, 1500, 1500]
    residual = loud.tau - torque(c.model, c.theta, loud.q, loud.qd, loud.qdd)
    np.testing.assert_allclose(found.raw_total, np.linalg.norm(residual[rows]) / np.linalg.norm(loud.tau[rows]))
    assert found.relative_total < 0.1 * found.raw_total


@pytest.mark.parametrize(("share", "told"), [(0.9, True), (-1.9, True), (3.0, False)])
def test_where_a_joint_stands_what_friction_holds_is_no_error_and_more_is(share, told):
    """The second half of a recording at rest, each torque off by a share of the joint's friction."""
    c = case()
    speed, half = 0.05, len(c.other.q) // 2
    still = np.arange(len(c.other.q)) >= half
    moves = np.where(still[:, None], 0.0, 1.0)
    q = np.where(still[:, None], c.other.q[half], c.other.q)
    coulomb = np.array([c.theta[c.model.names.index(f"{joint}.coulomb")] for joint in c.model.robot.joint_names])
    tau = torque(c.model, c.theta, q, c.other.qd * moves, c.other.qdd * moves)
    slow = np.abs(c.other.qd * moves) < speed
    assert slow[:half].any()
    motion = replace(c.other, q=q, qd=c.other.qd * moves, qdd=c.other.qdd * moves, tau=tau + slow * share * coulomb)
    every = validate(c.model, motion, {"CAD": c.theta}, fitted=c.regression).total("CAD")
    assert every.relative_total > 0.01
    assert every.every_total is None
    found = validate(c.model, motion, {"CAD": c.theta}, fitted=c.regression, standing=speed).total("CAD")
    assert found.every_total == pytest.approx(every.relative_total)
    assert found.relative_total == pytest.approx(0.0 if told else every.relative_total, abs=1e-9)
    assert np.array_equal(found.samples, np.sum(~slow, axis=0) if told else every.samples)


@pytest.mark.parametrize(("left", "told"), [(0.0, True), (0.6, False)])
def test_where_brakes_hold_a_joint_its_torque_does_not_count(left, told):
    """The second half of a recording at rest, with so much of the torques that would hold the joints."""
    c = case()
    theta = np.array(
        [0.02 * x if name.endswith(".coulomb") else x for name, x in zip(c.model.names, c.theta, strict=True)]
    )
    half = len(c.other.q) // 2
    still = (np.arange(len(c.other.q)) >= half)[:, None]
    moves = np.where(still, 0.0, 1.0)
    held = torque(c.model, theta, c.other.q, 0.0 * c.other.qd, 0.0 * c.other.qdd)
    q = np.where(still, c.other.q[np.argmax(np.abs(held).sum(axis=1))], c.other.q)
    tau = torque(c.model, theta, q, c.other.qd * moves, c.other.qdd * moves)
    motion = replace(c.other, q=q, qd=c.other.qd * moves, qdd=c.other.qdd * moves, tau=np.where(still, left * tau, tau))
    found = validate(c.model, motion, {"CAD": theta}, fitted=c.regression, standing=0.05)
    assert (found.total("CAD").relative_total < 1e-6) == told
    assert any("brakes hold" in w and "their torques are next to zero" in w for w in found.warnings) == told
    assert (found.total("CAD").every_total or found.total("CAD").relative_total) > 0.1


@pytest.mark.parametrize("decimation", [(), (5,)])
def test_where_brakes_hold_the_robot_between_moves_no_torque_counts(decimation):
    """In a third of each rest; in the rest of it the drives hold it, with friction as it happens to be."""
    c = case()
    rests = (np.arange(len(c.other.q)) % 300 < 120)[:, None]
    off = (np.arange(len(c.other.q)) % 300 // 40 == 1)[:, None]
    moves = np.where(rests, 0.0, 1.0)
    q = c.other.q[np.arange(len(c.other.q)) - np.where(rests[:, 0], np.arange(len(c.other.q)) % 300, 0)]
    tau = torque(c.model, c.theta, q, c.other.qd * moves, c.other.qdd * moves)
    rows = len(q) if not decimation else -(-len(q) // 5)
    keep = np.ones((rows, q.shape[1]), bool)
    states = {"q": q, "qd": c.other.qd * moves, "qdd": c.other.qdd * moves, "keep": keep, "decimation": decimation}
    motion = replace(c.other, **states, tau=np.where(off, 0.0, tau), blocks=())
    found = validate(c.model, motion, {"CAD": c.theta}, fitted=c.regression, standing=0.05)
    assert found.total("CAD").relative_total < (0.03 if decimation else 1e-6)
    assert found.total("CAD").every_total > 0.2
    assert any("brakes hold" in w for w in found.warnings)


def test_the_fitted_recording_validates_nothing():
    c = case()
    renamed = replace(c.fit, name="another name")
    motions = (m for m in (c.fit, renamed, c.other))
    with pytest.raises(Exception, match="holds the same numbers"):
        compress(c.model, (c.fit, renamed))
    assert [r.held_out for r in validate(c.model, iter([c.fit, c.other]), {}, fitted=c.regression).recordings] == [
        False,
        True,
    ]
    next(motions)
    found = validate(c.model, motions, {"identified": c.wls.phi}, fitted=c.regression)
    assert [r.held_out for r in found.recordings] == [False, True]
    assert found.warnings == ("Same recording: 'another name' holds the same numbers as 'fit', which was fitted.",)
    assert found.total("identified").samples[0] == 1500  # the held-out one only
    by_name = validate(c.model, c.fit, {"identified": c.wls.phi}, fitted=["fit"])
    assert by_name.warnings == ("Same recording: 'fit' was fitted; its errors show the fit and validate nothing.",)
    assert by_name.total("identified") is None
    unknown = validate(c.model, c.fit, {"identified": c.wls.phi}, fitted=None)
    assert unknown.recordings[0].held_out is None
    assert unknown.held_out == ()
    assert "not known" in unknown.warnings[0]


def test_a_fitted_motion_that_was_logged_again_is_no_motion_never_seen():
    c = case()
    noise = np.random.default_rng(0).normal(size=c.fit.tau.shape) * 0.01 * c.fit.tau.std(axis=0)
    again = replace(c.fit, name="again", tau=c.fit.tau + noise, q=c.fit.q + 1e-5)
    found = validate(c.model, again, {"identified": c.wls.phi}, fitted=c.regression)
    assert (found.recordings[0].held_out, found.unseen) == (True, "repeats of a fitted motion")
    both = validate(c.model, iter([again, c.other]), {"identified": c.wls.phi}, fitted=c.regression)
    assert [r.again for r in both.recordings] == [True, False]
    assert both.unseen == "motions never seen"


def test_noise_of_a_velocity_at_standstill_makes_no_other_motion():
    c, rng = case(), np.random.default_rng(5)
    model = Model(c.model.robot, (*c.model.terms, Stribeck(0.01, width=0.005)))
    stands = np.arange(len(c.fit.t)) < 150  # what a filter leaves of the noise is slow

    def logged(name):
        qd = np.where(stands[:, None], 0.01 * rng.normal(size=3), c.fit.qd)
        return replace(c.fit, name=name, qd=qd, tau=c.fit.tau + 0.01 * rng.normal(size=c.fit.tau.shape))

    fitted = compress(model, logged("first"))
    found = validate(model, logged("again"), {"identified": np.zeros(len(model.names))}, fitted=fitted)
    assert found.recordings[0].again


def test_cad_alone_counts_what_it_does_not_state_as_zero_and_says_so():
    c = case()
    theta, absent = cad_theta(c.model, c.inertials, {"turn.viscous": 0.3})
    assert set(absent) == set(c.terms) - {"turn.viscous"}
    assert theta[c.model.index("turn.viscous")] == 0.3
    assert np.array_equal(theta[:30], c.inertials.ravel())
    predicted = torque(c.model, theta, c.other.q, c.other.qd, c.other.qdd)
    found = validate(c.model, c.other, {"CAD": theta}, fitted=c.regression).recordings[0].of("CAD")
    assert np.allclose(found.squared, ((c.other.tau - predicted) ** 2).sum(axis=0))


def test_predictions_that_do_not_fit_are_refused():
    c = case()
    with pytest.raises(ModelError, match=r"prediction 'CAD' has shape \(4,\), wanted \(42,\) standard or"):
        validate(c.model, c.other, {"CAD": np.zeros(4)}, fitted=None)
    with pytest.raises(ModelError, match="a prediction is called 'zero'"):
        validate(c.model, c.other, {"zero": np.zeros(42)}, fitted=None)
    with pytest.raises(ModelError, match=r"prediction 'CAD'\[3\] is nan"):
        validate(c.model, c.other, {"CAD": np.where(np.arange(42) == 3, np.nan, 0.0)}, fitted=None)


@settings(max_examples=cases(20))
@given(st.floats(0.2, 5.0))
def test_verdicts_do_not_depend_on_the_unit_of_torque(factor):
    c = case()
    scaled = replace(
        c.wls, phi=c.wls.phi * factor, covariance=replace(c.wls.covariance, matrix=c.wls.covariance.matrix * factor**2)
    )
    terms = {k: v * factor for k, v in c.terms.items()}
    a = compare_with(c.wls, c.inertials, c.terms, "").rows
    b = compare_with(scaled, c.inertials * factor, terms, "").rows
    assert [r.verdict for r in a] == [r.verdict for r in b]


def test_friction_that_holds_a_joint_is_half_of_what_both_ways_differ_by_whatever_gravity_does():
    width, speed = 1e-4, WAY / STEPS
    viscous, coulomb = np.array([0.3, 0.2, 0.4]), np.array([1.0, 0.8, 2.0])
    model = Model(case().model.robot, (Viscous(), SmoothCoulomb(width)))
    theta = np.concatenate([case().theta[: model.n_rigid], viscous, coulomb])
    base = base_parameters(model)
    found = _friction(model, base, base.K @ theta, np.zeros(3))
    np.testing.assert_allclose(found, viscous * speed + coulomb * np.tanh(speed / width), rtol=1e-9)
