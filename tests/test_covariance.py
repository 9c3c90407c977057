"""Error bars against Monte-Carlo truth: intervals that promise 95 % are counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles import random_tree
from scipy import stats
from synthetic import blocks, random_theta, recording

from ident.estimate import classical, cluster, estimated
from ident.estimate.covariance import default_covariance, effective_samples
from ident.estimate.least_squares import residual_sigma, solve
from ident.logs.motion import Motion, period, split, stretches
from ident.model import Model, Offset, Viscous, regressor, torque
from ident.regression import Regression, base_parameters, compress
from ident.regression.regression import weighted_rows
from ident.robot import MDHJoint, from_mdh

SIGMA = np.array([0.5, 0.1])


def two_joints() -> Model:
    robot = from_mdh("two", [MDHJoint(), MDHJoint(a=0.6)], gravity=(0, -9.81, 0))
    bodies = random_tree(np.random.default_rng(0), 2).inertials
    return Model(replace(robot, inertials=bodies), (Viscous(), Offset()))


MODEL = two_joints()
BASE = base_parameters(MODEL)


def motion(segments: int, samples: int = 900) -> tuple[Motion, np.ndarray]:
    """Return a noiseless motion and its true base parameters."""
    rng = np.random.default_rng(1)
    theta = random_theta(rng, MODEL)
    return recording(rng, MODEL, theta, samples=samples, segments=segments), BASE.K @ theta


def autocorrelated(rng: np.random.Generator, samples: int, joints: int, rho: float) -> np.ndarray:
    """Return AR(1) noise of unit variance."""
    from scipy.signal import lfilter

    white = rng.normal(size=(samples + 200, joints))
    return lfilter([np.sqrt(1 - rho**2)], [1.0, -rho], white, axis=0)[200:]


def coverage(kind: str, runs: int, rho: float, segments: int) -> float:
    """Return how often the 95 % intervals contain the truth, over all base parameters and runs."""
    rng = np.random.default_rng(2)
    clean, truth = motion(segments)
    inside = []
    for _ in range(runs):
        noise = SIGMA * autocorrelated(rng, 900, 2, rho)
        found = compress(MODEL, replace(clean, tau=clean.tau + noise), base=BASE)
        phi = solve(found, SIGMA)
        covariance = classical(found, SIGMA) if kind == "classical" else cluster(found, SIGMA, phi)
        assert covariance.kind == {"classical": "classical", "cluster": "cluster-by-segment"}[kind]
        inside.append(np.abs(phi - truth) <= covariance.half_widths())
    return float(np.mean(inside))


@pytest.mark.slow
def test_defect_5_classical_intervals_cover_what_they_promise_on_white_noise() -> None:
    assert 0.93 <= coverage("classical", 300, rho=0.0, segments=1) <= 0.97


def test_defect_5_classical_intervals_are_far_too_small_on_autocorrelated_noise() -> None:
    assert coverage("classical", 100, rho=0.95, segments=1) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 0.95])
def test_defect_5_cluster_intervals_hold_on_any_noise(rho: float) -> None:
    assert 0.88 <= coverage("cluster", 300, rho=rho, segments=15) <= 0.995


def test_the_factors_give_the_textbook_covariance() -> None:
    """s^2 (Y' S^-1 Y)^-1 from the dense stack."""
    clean, _ = motion(1)
    rng = np.random.default_rng(3)
    m = replace(clean, tau=clean.tau + SIGMA * rng.normal(size=(900, 2)))
    found = compress(MODEL, m, base=BASE)
    Y = regressor(MODEL, m.q, m.qd, m.qdd)[:, :, BASE.kept] / SIGMA[:, None]
    stack, tau = Y.reshape(-1, len(BASE.kept)), (m.tau / SIGMA).ravel()
    phi, rss, *_ = np.linalg.lstsq(stack, tau, rcond=None)
    dof = len(tau) - len(phi)
    expected = rss[0] / dof * np.linalg.inv(stack.T @ stack)
    covariance = classical(found, SIGMA)
    assert covariance.dof == dof
    np.testing.assert_allclose(covariance.matrix, expected, rtol=1e-8, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(covariance.standard_errors, np.sqrt(np.diag(expected)), rtol=1e-8)
    np.testing.assert_allclose(
        covariance.half_widths(0.9), stats.t.ppf(0.95, dof) * covariance.standard_errors, rtol=1e-12
    )


def test_cluster_is_the_jackknife_of_really_leaving_out_each_segment() -> None:
    clean, _ = motion(8)
    rng = np.random.default_rng(4)
    found = compress(MODEL, replace(clean, tau=clean.tau + SIGMA * autocorrelated(rng, 900, 2, 0.9)), base=BASE)
    phi = solve(found, SIGMA)
    without = np.array([solve(found.without([s.identity]), SIGMA) for s in found.segments])
    changes = without - phi
    expected = 7 / 8 * changes.T @ changes
    covariance = cluster(found, SIGMA, phi)
    assert (covariance.clusters, covariance.dof) == (8, 7)
    np.testing.assert_allclose(covariance.matrix, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())


def test_weights_of_another_unit_change_nothing() -> None:
    clean, _ = motion(8)
    rng = np.random.default_rng(5)
    found = compress(MODEL, replace(clean, tau=clean.tau + SIGMA * rng.normal(size=(900, 2))), base=BASE)
    phi = solve(found, SIGMA)
    for make in (lambda s: classical(found, s), lambda s: cluster(found, s, phi)):
        np.testing.assert_allclose(make(1e3 * SIGMA).matrix, make(SIGMA).matrix, rtol=1e-9)


def still_wrist() -> Regression:
    clean, _ = motion(8)
    zero = np.zeros((900, 1))
    q, qd, qdd = (np.hstack([x[:, :1], zero]) for x in (clean.q, clean.qd, clean.qdd))
    tau = torque(MODEL, random_theta(np.random.default_rng(1), MODEL), q, qd, qdd)
    noise = SIGMA * np.random.default_rng(6).normal(size=(900, 2))
    return compress(MODEL, replace(clean, q=q, qd=qd, qdd=qdd, tau=tau + noise), base=BASE)


def test_defect_12_what_was_not_determined_has_no_error_bar() -> None:
    found = still_wrist()
    phi = solve(found, SIGMA)
    for covariance in (classical(found, SIGMA), cluster(found, SIGMA, phi)):
        errors = dict(zip(BASE.names, covariance.standard_errors, strict=True))
        assert np.isnan(errors["joint2.viscous"])
        assert np.isfinite(errors["joint1.viscous"])
        k = BASE.names.index("joint2.viscous")
        assert np.isnan(covariance.matrix[k]).all()
        assert np.isnan(covariance.matrix[:, k]).all()


def test_five_segments_make_the_default_robust() -> None:
    clean, _ = motion(4)
    for number, kind in ((4, "classical"), (5, "cluster-by-segment")):
        found = compress(MODEL, replace(clean, blocks=blocks(900, number)), base=BASE)
        assert default_covariance(found, SIGMA, solve(found, SIGMA)).kind == kind


def test_residual_sigma_is_the_noise() -> None:
    clean, _ = motion(1, samples=4000)
    rng = np.random.default_rng(7)
    found = compress(MODEL, replace(clean, tau=clean.tau + SIGMA * rng.normal(size=(4000, 2))), base=BASE)
    np.testing.assert_allclose(residual_sigma(found, solve(found, np.ones(2))), SIGMA, rtol=0.05)
    np.testing.assert_allclose(estimated(MODEL, found, feasible=False).sigma, SIGMA, rtol=0.05)
    np.testing.assert_allclose(estimated(MODEL, found, loss="ols", feasible=False).sigma, SIGMA, rtol=0.05)


def test_an_exact_log_keeps_weights_finite() -> None:
    clean, truth = motion(1)
    found = compress(MODEL, clean, base=BASE)
    sigma = residual_sigma(found, solve(found, np.ones(2)))
    assert (sigma > 0).all()
    np.testing.assert_allclose(estimated(MODEL, found, feasible=False).phi, truth, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("size", [1.0, 0.0])
def test_noise_has_a_floor_of_a_billionth_of_the_torque(size) -> None:
    """An exact fit, and a robot without any torque."""
    clean, _ = motion(1)
    found = compress(MODEL, replace(clean, tau=size * clean.tau), base=BASE)
    sigma = residual_sigma(found, solve(found, np.ones(2)))
    np.testing.assert_allclose(sigma, 1e-9 * np.sqrt(found.squared_torques / found.rows) + 1e-15, rtol=1e-12)


def test_covariance_cannot_be_written_to() -> None:
    clean, _ = motion(8)
    found = compress(MODEL, clean, base=BASE)
    with pytest.raises(ValueError, match="read-only"):
        classical(found, SIGMA).matrix[0, 0] = 0.0


def beyond(pairs: int, *, repeats: bool) -> float:
    """Return the share of base parameters in which two three-period logs of one robot differ by over 1.96 errors.

    Each log has a motion of its own. The model leaves out a function of the state, which comes back in every period.
    """
    rng = np.random.default_rng(3)
    theta = random_theta(rng, MODEL)
    t, found = np.arange(900) / 30, []
    for _ in range(2 * pairs):
        w = 2 * np.pi * np.arange(1, 6)[:, None] / 10
        a, phase, q0 = rng.normal(0, 0.3, (5, 2)), rng.uniform(0, 6, (5, 2)), rng.uniform(-1, 1, 2)
        x = t[:, None, None] * w + phase
        q, qd, qdd = (a * np.sin(x)).sum(1) + q0, (a * w * np.cos(x)).sum(1), -(a * w**2 * np.sin(x)).sum(1)
        left_out = 3.0 * SIGMA * np.sin(3 * q) * np.cos(2 * qd)
        tau = torque(MODEL, theta, q, qd, qdd) + left_out + SIGMA * autocorrelated(rng, 900, 2, 0.9)
        assert period(q) == pytest.approx(300, abs=1)
        cut, which = stretches(0, 900, 30, period(q)) if repeats else (split(0, 900, 60)[0], ())
        keep = np.ones(q.shape, bool)
        found.append(
            estimated(
                MODEL,
                compress(MODEL, Motion("log", t, q, qd, qdd, tau, keep, (), cut, which), base=BASE),
                feasible=False,
            )
        )
    apart = [
        np.abs(one.phi - two.phi) / np.hypot(one.covariance.standard_errors, two.covariance.standard_errors)
        for one, two in zip(found[::2], found[1::2], strict=True)
    ]
    return float(np.mean(np.array(apart) > 1.96))


@pytest.mark.slow
def test_three_period_logs_of_one_robot_agree_within_their_intervals() -> None:
    """With ten clusters Student's t has 5 % beyond 2.2 and 7 to 8 % beyond 1.96."""
    assert beyond(30, repeats=True) < 0.15
    assert beyond(30, repeats=False) > 0.25


@pytest.mark.parametrize("rho", [0.0, 0.8, 0.95])
def test_effective_samples_are_those_of_autoregressive_noise(rho: float) -> None:
    """Truth: samples times tr(H) / tr(Y' C Y), both in the directions of the regressor, C the noise's correlation."""
    clean, _ = motion(15 if rho < 0.9 else 6)  # segments are long against the correlation
    Y = (regressor(MODEL, clean.q, clean.qd, clean.qdd)[:, :, BASE.kept] / SIGMA[:, None]).transpose(1, 0, 2)
    C = rho ** np.abs(np.subtract.outer(np.arange(900), np.arange(900)))
    H = sum(y.T @ y for y in Y)
    truth = 1800 * len(H) / np.trace(np.linalg.solve(H, sum(y.T @ C @ y for y in Y)))
    rng = np.random.default_rng(9)
    found = []
    for _ in range(10):
        noise = SIGMA * autocorrelated(rng, 900, 2, rho)
        found.append(effective_samples(compress(MODEL, replace(clean, tau=clean.tau + noise), base=BASE), SIGMA))
    assert 1 / np.mean(1 / np.array(found)) == pytest.approx(truth, rel=0.2)
    assert truth < {0.0: 1801, 0.8: 400, 0.95: 200}[rho]


@pytest.mark.parametrize("told", [True, False])
def test_effective_samples_are_those_of_their_formula(told: bool) -> None:
    """Whether all is determined, so that products of matrices will do, or not."""
    clean, _ = motion(8)
    noise = SIGMA * autocorrelated(np.random.default_rng(3), 900, 2, 0.5)
    found = compress(MODEL, replace(clean, tau=clean.tau + noise), base=BASE)
    if not told:
        found = replace(found, segments=found.mapped(lambda _, F: F * (np.arange(F.shape[1]) != 0)))
    rows = [weighted_rows(found, s.factors, SIGMA) for s in found.segments]
    inverse = np.linalg.pinv(sum(r[:, :-1].T @ r[:, :-1] for r in rows), hermitian=True)
    phi, spread, freedom = solve(found, SIGMA), 0.0, 0.0
    for r in rows:
        score, h = (r[:, :-1] @ phi - r[:, -1]) @ r[:, :-1], inverse @ r[:, :-1].T @ r[:, :-1]
        spread, freedom = spread + score @ inverse @ score, freedom + np.trace(h - h @ h)
    np.testing.assert_allclose(effective_samples(found, SIGMA), found.rows.sum() * freedom / spread, rtol=1e-6)
