"""Estimators against numpy on the dense stack, against each other in limiting cases, and against optimality."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from oracles import bregman, random_bodies, random_tree
from synthetic import random_theta, recording

from ident.errors import EstimationError, IdentError, ModelError
from ident.estimate import Bounds, Estimate, Prior, cad_prior, estimated, neutral_prior
from ident.estimate.covariance import effective_samples
from ident.estimate.estimators import folds
from ident.estimate.least_squares import joint_noise
from ident.logs.motion import Motion
from ident.model import Coulomb, DriveInertia, Model, Offset, SmoothCoulomb, Viscous, regressor
from ident.regression import Regression, base_parameters, compress
from ident.regression.regression import left_out
from ident.spatial.inertia import consistency, pseudo_inertia

NOISE = 0.2


def arm(n: int = 3, seed: int = 0, terms: tuple = (Viscous(), SmoothCoulomb(0.1)), *, branches: bool = False) -> Model:
    return Model(random_tree(np.random.default_rng(seed), n, branches=branches), terms)


BASE = cache(base_parameters)  # models are compared by identity


def problem(
    model: Model, seed: int = 0, *, noise: float | np.ndarray = NOISE, samples: int = 800, segments: int = 8
) -> tuple[Motion, np.ndarray, Regression]:
    """Return a recording of the model, its true theta, and the factors."""
    rng = np.random.default_rng(seed)
    theta = random_theta(rng, model)
    motion = recording(rng, model, theta, samples=samples, noise=noise, segments=segments)
    return motion, theta, compress(model, motion, base=BASE(model))


def stack(model: Model, motion: Motion, found: Regression, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the dense base regressor and torque, rows divided by sigma."""
    Y = regressor(model, motion.q, motion.qd, motion.qdd)[:, :, found.base.kept]
    return (Y / sigma[:, None]).reshape(-1, Y.shape[2]), (motion.tau / sigma).ravel()


def near(model: Model, spread: float = 0.2, seed: int = 9) -> Prior:
    """Return a CAD table that is off by a factor for each link."""
    rng = np.random.default_rng(seed)
    factors = np.exp(rng.normal(0, spread, (model.robot.n, 1)))
    return Prior(model.robot.inertials * factors, "cad")


def mean_square(estimate: Estimate, found: Regression) -> float:
    return float(np.sum(found.squared_residuals(estimate.phi) / estimate.sigma**2) / found.rows.sum())


def divergence(estimate: Estimate, prior: Prior) -> float:
    return sum(bregman(a, b) for a, b in zip(estimate.inertials, prior.inertials, strict=True))


MODELS = {
    "three in a row": arm(),
    "one slide": Model(
        replace(arm(1).robot, joints=(replace(arm(1).robot.joints[0], kind="prismatic"),)), (Viscous(),)
    ),
    "branches": arm(5, 3, (DriveInertia(), Viscous(), Offset()), branches=True),
    "eight joints": arm(8, 2, (DriveInertia(), Viscous(), Coulomb(), Offset())),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


# least squares


@every_model
def test_ols_is_lstsq_on_the_dense_stack(model: Model) -> None:
    motion, theta, found = problem(model)
    estimate = estimated(model, found, loss="ols", feasible=False)
    Y, tau = stack(model, motion, found, np.ones(model.robot.n))
    expected, rss, *_ = np.linalg.lstsq(Y, tau, rcond=None)
    np.testing.assert_allclose(Y @ estimate.phi, Y @ expected, atol=1e-9 * np.abs(tau).max())
    np.testing.assert_allclose(estimate.phi, expected, rtol=1e-5, atol=1e-7 * np.abs(expected).max())
    assert np.sum(estimate.rms**2 * estimate.rows) == pytest.approx(rss[0], rel=1e-9)
    assert estimate.relative_total == pytest.approx(np.sqrt(rss[0] / (tau @ tau)), rel=1e-9)
    np.testing.assert_allclose(
        estimate.relative,
        np.linalg.norm((Y @ expected - tau).reshape(-1, model.robot.n), axis=0) / np.linalg.norm(motion.tau, axis=0),
        rtol=1e-7,
    )
    s = np.linalg.svd(Y, compute_uv=False)
    assert estimate.condition == pytest.approx(s[0] / s[-1], rel=1e-4)
    assert estimate.theta is None
    assert estimate.inertials is None
    assert estimate.value("link1.m") is None
    assert np.abs(estimate.phi - found.base.K @ theta).max() < 0.5 * np.abs(found.base.K @ theta).max()


@every_model
def test_defect_4_wls_scales_rows_by_one_over_sigma(model: Model) -> None:
    motion, _, found = problem(model)
    sigma = np.geomspace(0.05, 3.0, model.robot.n)
    estimate = estimated(model, found, sigma=sigma, feasible=False)
    Y, tau = stack(model, motion, found, sigma)
    right = np.linalg.lstsq(Y, tau, rcond=None)[0]
    np.testing.assert_allclose(Y @ estimate.phi, Y @ right, atol=1e-9 * np.abs(tau).max())
    if model.robot.n > 1:
        Y2, tau2 = stack(model, motion, found, sigma**2)
        wrong = np.linalg.lstsq(Y2, tau2, rcond=None)[0]
        assert np.abs(Y @ (estimate.phi - wrong)).max() > 1e-3 * np.abs(tau).max() * NOISE / np.abs(motion.tau).max()


def test_wls_of_equal_sigma_is_ols() -> None:
    model = arm()
    _, _, found = problem(model)
    np.testing.assert_allclose(
        estimated(model, found, sigma=np.full(3, 7.0), feasible=False).phi,
        estimated(model, found, loss="ols", feasible=False).phi,
        rtol=1e-9,
        atol=1e-12,
    )


def test_wls_by_default_weighs_by_the_noise_of_each_joint_and_is_closer_to_the_truth() -> None:
    model = arm(4, 5)
    noise = np.array([3.0, 0.3, 3.0, 0.3])
    better = 0
    for seed in range(10):
        _, theta, found = problem(model, seed, noise=noise, samples=800)
        truth = found.base.K @ theta
        estimates = [estimated(model, found, loss=loss, feasible=False) for loss in ("ols", "wls")]
        np.testing.assert_allclose(estimates[1].sigma, noise, rtol=0.5)
        size = estimated(model, found, sigma=noise, feasible=False).covariance.standard_errors
        a, b = (np.linalg.norm((e.phi - truth) / size) for e in estimates)
        better += b < a
    assert better >= 9


def test_an_exact_log_gives_the_truth() -> None:
    model = arm(5, 1)
    _, theta, found = problem(model, noise=0.0)
    truth = found.base.K @ theta
    for estimate in (estimated(model, found, loss="ols", feasible=False), estimated(model, found, feasible=False)):
        np.testing.assert_allclose(estimate.phi, truth, rtol=1e-6, atol=1e-8 * np.abs(truth).max())


def test_defect_1_estimates_of_each_joint_keep_their_place() -> None:
    """The noise of one joint shows in that joint's residual only."""
    for n in (2, 5, 7):
        model = arm(n, n)
        for j in (0, n // 2, n - 1):
            noise = np.full(n, 1e-3)
            noise[j] = 1.0
            _, _, found = problem(model, noise=noise)
            assert int(np.argmax(estimated(model, found, feasible=False).rms)) == j


def test_a_motion_that_leaves_something_open_is_refused_with_the_estimate_attached() -> None:
    model = arm()
    motion, *_ = problem(model)
    still = motion.qd.copy()
    still[:, 2] = 0.0
    found = compress(model, replace(motion, qd=still))
    with pytest.raises(EstimationError) as caught:
        estimated(model, found, loss="ols", feasible=False)
    message = str(caught.value)
    assert message.startswith("the logs do not determine ")
    assert "joint3.viscous" in message
    assert "Use the constrained fit" in message
    assert caught.value.estimate.estimator == "ols"
    assert "joint3.viscous" not in caught.value.estimate.fixed_by_data


# the constrained fit in limiting cases


@every_model
def test_inactive_constraints_change_nothing(model: Model) -> None:
    """With little noise the truth is inside, and the plain fit is weighted least squares."""
    _, _, found = problem(model, noise=1e-3, samples=1500)
    prior = Prior(model.robot.inertials, "cad")
    free, kept = estimated(model, found, feasible=False), estimated(model, found, prior, weight=0.0)
    assert mean_square(kept, found) == pytest.approx(mean_square(free, found), rel=1e-5)
    size = free.covariance.standard_errors
    assert np.abs((kept.phi - free.phi) / size).max() < 0.05


@every_model
def test_a_large_weight_gives_the_prior(model: Model) -> None:
    _, _, found = problem(model)
    prior = near(model, 0.5)
    estimate = estimated(model, found, prior, weight=1e8)
    assert divergence(estimate, prior) < 1e-4
    np.testing.assert_allclose(estimate.inertials, prior.inertials, atol=1e-2 * np.abs(prior.inertials).max())
    assert estimate.weight == 1e8
    assert estimate.prior == "cad"


@pytest.mark.slow
@every_model
def test_residual_rises_and_divergence_falls_with_the_weight(model: Model) -> None:
    _, _, found = problem(model, samples=300)
    prior = near(model, 0.5)
    fits = [estimated(model, found, prior, weight=w) for w in (1e-5, 1e-3, 1e-1, 10.0)]
    residuals = [mean_square(f, found) for f in fits]
    distances = [divergence(f, prior) for f in fits]
    assert residuals == sorted(residuals)
    assert distances == sorted(distances, reverse=True)
    assert distances[0] > distances[-1]


@pytest.mark.parametrize("seed", range(4))
def test_vanishing_weight_keeps_the_least_residual_and_comes_closer_to_cad(seed: int) -> None:
    model = arm(4, seed)
    _, _, found = problem(model, seed, samples=300, noise=1.0)
    prior = near(model, 0.3)
    plain, closest = estimated(model, found, prior, weight=0.0), estimated(model, found, prior, weight="vanishing")
    assert mean_square(closest, found) <= mean_square(plain, found) * (1 + 1.1e-6)
    assert divergence(closest, prior) < divergence(plain, prior)
    assert closest.feasible


def test_without_a_prior_in_the_program_links_grow_and_with_it_they_do_not() -> None:
    """The residual does not see mass that no joint feels; the prior keeps it believable."""
    model = arm(6, 4)
    _, _, found = problem(model, samples=400, noise=1.0)
    prior = near(model, 0.1)
    estimate = estimated(model, found, prior, weight="cross-validated")
    masses, truth = estimate.inertials[:, 0], model.robot.inertials[:, 0]
    assert (masses < 2.0 * truth).all()
    assert (masses > 0.4 * truth).all()


def test_cross_validation_picks_a_weight_between_prior_and_data() -> None:
    """A short noisy log and a decent prior: neither alone predicts best, and the choice helps on a new motion."""
    model = arm(5, 6)
    found = compress(
        model, recording(np.random.default_rng(3), model, theta_of(model), samples=150, noise=3.0, segments=6)
    )
    prior = near(model, 0.15)
    estimate = estimated(model, found, prior, weight="cross-validated")
    weights, errors = np.array(estimate.selection).T
    assert weights[0] < estimate.weight < weights[-1]
    assert errors[list(weights).index(estimate.weight)] == errors.min()
    test = compress(model, recording(np.random.default_rng(4), model, theta_of(model), samples=600))

    def error(phi: np.ndarray) -> float:
        return float(np.sum(test.squared_residuals(phi)))

    assert error(estimate.phi) < error(estimated(model, found, prior, weight=0.0).phi)
    assert error(estimate.phi) < error(found.base.K @ theta_of_prior(model, prior))


def theta_of(model: Model) -> np.ndarray:
    return random_theta(np.random.default_rng(11), model)


def theta_of_prior(model: Model, prior: Prior) -> np.ndarray:
    return np.concatenate([prior.inertials.ravel(), np.zeros(len(model.names) - model.n_rigid)])


def test_few_segments_are_drawn_to_the_prior_as_the_noise_asks() -> None:
    model = arm()
    theta, found = theta_of(model), []
    for segments in (3, 12):
        log = recording(np.random.default_rng(0), model, theta, segments=segments)
        regression = compress(model, log)
        found.append(
            (estimated(model, regression, near(model)), effective_samples(regression, joint_noise(regression)))
        )
    (few, samples), (many, more) = found
    assert few.selection == ()
    assert few.weight == pytest.approx(1.0 / (0.09 * samples))
    assert many.selection
    assert many.weight >= 1.0 / (0.09 * more) * (1.0 - 1e-9)


def test_defect_9_folds_leave_out_whole_recordings() -> None:
    model = arm()
    theta = theta_of(model)
    logs = [recording(np.random.default_rng(i), model, theta, name=f"r{i}", segments=3) for i in range(3)]
    found = compress(model, logs)
    names = {s.identity: s.recording for s in found.segments}
    assert [{names[i] for i in group} for group in folds(found)] == [{"r0"}, {"r1"}, {"r2"}]
    one = compress(model, recording(np.random.default_rng(0), model, theta, segments=12))
    parts = folds(one)
    assert [len(p) for p in parts] == [3, 3, 2, 2, 2]
    assert [i for p in parts for i in p] == [s.identity for s in one.segments]
    with pytest.raises(EstimationError, match="cross-validation needs at least four segments, the logs have 3"):
        folds(compress(model, recording(np.random.default_rng(0), model, theta, segments=3)))
    many = replace(found, segments=tuple(replace(s, identity=str(k), recording=str(k)) for k, s in _again(found, 70)))
    assert {len(part) for part in folds(many)} == {2, 3}
    assert [i for part in folds(many) for i in part] == [s.identity for s in many.segments]


def _again(found: Regression, number: int):
    return enumerate(found.segments[k % len(found.segments)] for k in range(number))


def test_parts_left_out_are_what_the_segments_say() -> None:
    model = arm()
    found = compress(model, recording(np.random.default_rng(0), model, theta_of(model), segments=12))
    sigma = np.arange(1.0, model.robot.n + 1)
    for part, (rest, own) in zip(folds(found), left_out(found, folds(found)), strict=True):
        others = [s.identity for s in found.segments if s.identity not in part]
        for got, wanted in ((rest, found.without(part)), (own, found.without(others))):
            assert got.rows.tolist() == wanted.rows.tolist()
            R, other = got.factor(sigma), wanted.factor(sigma)
            np.testing.assert_allclose(R.T @ R, other.T @ other, rtol=1e-10, atol=1e-12 * np.abs(R).max() ** 2)


# optimality, checked without any solver


def slopes(
    model: Model, found: Regression, prior: Prior, estimate: Estimate, weight: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return gradient and Hessian in theta of mean squared residual + weight * divergence."""
    factor = found.factor(estimate.sigma)
    R = factor[:, :-1] @ found.base.K
    g = 2.0 * R.T @ (R @ estimate.theta - factor[:, -1]) / found.rows.sum()
    H = 2.0 * R.T @ R / found.rows.sum()
    E = np.array([pseudo_inertia(e) for e in np.eye(10)])
    for i, (body, reference) in enumerate(zip(estimate.inertials, prior.inertials, strict=True)):
        own = slice(10 * i, 10 * i + 10)
        J, J0 = (np.linalg.inv(pseudo_inertia(b)) for b in (body, reference))
        g[own] += weight * np.einsum("ij,kij->k", J0 - J, E)
        H[own, own] += weight * np.einsum("ij,kjl,lm,nmi->kn", J, E, J, E)
    return g, H


@pytest.mark.parametrize("weight", [1e-3, 1e-1])
@every_model
def test_the_weighted_fit_is_stationary(model: Model, weight: float) -> None:
    """Half the squared Newton decrement is what is left to gain; friction at zero may only push outwards."""
    _, _, found = problem(model, samples=400)
    prior = near(model, 0.5)
    estimate = estimated(model, found, prior, weight=weight)
    g, H = slopes(model, found, prior, estimate, weight)
    scale = np.abs(estimate.theta[model.n_rigid :]).max(initial=0.0)
    at_zero = np.append(
        np.zeros(model.n_rigid, bool), model.nonnegative & (estimate.theta[model.n_rigid :] < 1e-5 * scale)
    )
    assert (g[at_zero] > -1e-5).all()
    inner = ~at_zero
    size = 1.0 / np.sqrt(np.diag(H)[inner])
    scaled = H[np.ix_(inner, inner)] * np.outer(size, size)
    left = 0.5 * (g[inner] * size) @ np.linalg.solve(scaled, g[inner] * size)
    assert left < 3e-8 * mean_square(estimate, found)


@pytest.mark.parametrize("seed", range(3))
def test_no_feasible_neighbour_is_better(seed: int) -> None:
    """The plain fit with active constraints, tried against random feasible directions."""
    model = arm(3, seed)
    _, _, found = problem(model, seed, samples=60, noise=30.0)
    estimate = estimated(model, found, near(model), weight=0.0)
    assert any("edge of what can exist" in a for a in estimate.active)
    least = mean_square(estimate, found)
    rng = np.random.default_rng(seed)
    for _ in range(300):
        other = np.concatenate([random_bodies(rng, 3).ravel(), rng.exponential(1.0, len(model.names) - 30)])
        for share in (1e-5, 1e-3, 1e-1):
            theta = (1 - share) * estimate.theta + share * other
            residual = np.sum(found.squared_residuals(found.base.K @ theta) / estimate.sigma**2) / found.rows.sum()
            assert residual > least * (1 - 1e-6)


# priors, bounds, friction


@pytest.mark.slow
def test_friction_and_drive_inertia_are_never_negative() -> None:
    model = arm(4, 1, (DriveInertia(), Viscous(), Coulomb(), Offset()))
    rng = np.random.default_rng(0)
    theta = random_theta(rng, model)
    theta[40:44] = 0.0
    motion = recording(rng, model, theta, samples=200, noise=2.0, segments=6)
    pulled = replace(motion, tau=motion.tau - 0.3 * motion.qd)  # less than no viscous friction on some joints
    found = compress(model, pulled)
    for estimate in (
        estimated(model, found, near(model), weight=0.0),
        estimated(model, found, near(model), weight=1e-2),
        estimated(model, found, near(model), weight="vanishing"),
        estimated(model, found, near(model), weight="cross-validated"),
    ):
        terms = estimate.theta[40:]
        assert (terms[:12] >= 0).all()
        assert all(consistency(b).consistent for b in estimate.inertials)
    assert any("at zero" in a for a in estimate.active)


def test_joint_terms_are_drawn_to_their_prior() -> None:
    model = arm(2, 0, (Viscous(),))
    motion, *_ = problem(model)
    still = replace(motion, qd=0 * motion.qd)  # viscous friction never shows
    found = compress(model, still)
    prior = Prior(model.robot.inertials, "cad", {"joint1.viscous": 3.0})
    estimate = estimated(model, found, prior, weight=1e-2)
    assert estimate.value("joint1.viscous") == pytest.approx(3.0, rel=1e-3)


@pytest.mark.slow
def test_bounds_are_kept() -> None:
    model = arm(4, 2)
    _, _, found = problem(model, samples=300, noise=1.0)
    prior = near(model)
    masses = model.robot.inertials[:, 0]
    bounds = Bounds(
        mass={"link2": (1.3 * masses[1], 1.5 * masses[1]), "link3": (0.0, 0.5 * masses[2])},
        total_mass=(0.0, 0.9 * masses.sum()),
        com={"link4": ((-0.01, 0.02), (0.0, 0.01), (-1.0, 1.0))},
    )
    for estimate in (
        estimated(model, found, prior, weight=0.0, bounds=bounds),
        estimated(model, found, prior, weight=1e-2, bounds=bounds),
        estimated(model, found, prior, bounds=bounds, weight="vanishing"),
        estimated(model, found, prior, bounds=bounds, weight="cross-validated"),
    ):
        m, h = estimate.inertials[:, 0], estimate.inertials[:, 1:4]
        slack = 1e-6
        assert 1.3 * masses[1] - slack <= m[1] <= 1.5 * masses[1] + slack
        assert m[2] <= 0.5 * masses[2] + slack
        assert m.sum() <= 0.9 * masses.sum() + slack
        assert -0.01 - slack <= h[3, 0] / m[3] <= 0.02 + slack
        assert -slack <= h[3, 1] / m[3] <= 0.01 + slack
        assert any("bound" in a for a in estimate.active)


def test_a_bound_of_no_width_is_an_equality() -> None:
    model = arm(3, 2)
    _, _, found = problem(model, samples=300)
    estimate = estimated(
        model, found, near(model), weight=1e-3, bounds=Bounds(mass={"link2": (1.5, 1.5)}, com={"link3": ((0, 0),) * 3})
    )
    assert estimate.value("link2.m") == pytest.approx(1.5, abs=1e-6)
    np.testing.assert_allclose(estimate.inertials[2, 1:4] / estimate.inertials[2, 0], 0, atol=1e-6)


def test_defect_6_bounds_are_kilograms_and_metres() -> None:
    model = arm(2, 2)
    _, _, found = problem(model)
    estimate = estimated(model, found, near(model), weight=1.0, bounds=Bounds(mass={"link1": (0.01, 0.02)}))
    assert 0.01 - 1e-7 <= estimate.value("link1.m") <= 0.02 + 1e-7
    assert "link1: mass at its bound" in estimate.active


def test_bounds_that_cannot_be_met_are_an_error_that_says_so() -> None:
    model = arm(3, 2)
    _, _, found = problem(model)
    bounds = Bounds(mass=dict.fromkeys(model.robot.links, (0.0, 1.0)), total_mass=(50.0, 60.0))
    for fit in (
        lambda: estimated(model, found, near(model), weight=0.0, bounds=bounds),
        lambda: estimated(model, found, near(model), weight=1e-2, bounds=bounds),
        lambda: estimated(model, found, near(model), bounds=bounds, weight="vanishing"),
        lambda: estimated(model, found, near(model), bounds=bounds, weight="cross-validated"),
    ):
        with pytest.raises(EstimationError, match="bounds"):
            fit()


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (Bounds(mass={"lnik2": (0, 1)}), "bounds name link 'lnik2', which the robot has not; did you mean 'link2'?"),
        (Bounds(mass={"link2": (2, 1)}), "the bounds on the mass of link2 are empty: 2 to 1"),
        (Bounds(total_mass=(2, 1)), "the bounds on the total mass are empty: 2 to 1"),
        (Bounds(pinned={"link2.m": -1.0}), "'link2.m' is pinned at -1 kg, wanted at least 0 kg"),
        (Bounds(mass={"link2": (2, 3)}, pinned={"link2.m": 1.0}), "'link2.m' is pinned at 1 kg, wanted 2 to 3 kg"),
        (
            Bounds(com={"link1": ((0, 1), (1, 0), (0, 1))}),
            "the bounds on the centre of link1, axis y are empty: 1 to 0",
        ),
        (Bounds(mass={"link2": (float("nan"), 1)}), "the bounds on the mass of link2 are empty: nan to 1"),
    ],
)
def test_bounds_that_make_no_sense_are_named(bounds: Bounds, message: str) -> None:
    model = arm(3, 2)
    _, _, found = problem(model)
    with pytest.raises(ModelError) as caught:
        estimated(model, found, near(model), weight=0.0, bounds=bounds)
    assert message in str(caught.value)


def test_a_prior_that_cannot_exist_is_refused() -> None:
    bad = arm().robot.inertials.copy()
    bad[1, 9] = 100.0
    with pytest.raises(ModelError, match=r"link 2 of the prior \(cad\) cannot exist: triangle inequality fails"):
        Prior(bad, "cad")


def test_cad_without_some_links_and_with_thin_bodies_becomes_a_prior() -> None:
    robot = arm(3).robot
    cad = robot.inertials.copy()
    cad[0] = np.nan
    cad[1] = [2, 2, 4, 6, 26, -4, -6, 20, -12, 10]  # a point mass
    prior = cad_prior(robot, cad, "table")
    assert prior.source == "table; neutral bodies for link1"
    np.testing.assert_array_equal(prior.inertials[2], robot.inertials[2])
    np.testing.assert_allclose(prior.inertials[1], cad[1], rtol=1e-3)
    assert all(np.linalg.eigvalsh(pseudo_inertia(b))[0] > 0 for b in prior.inertials)
    assert all(consistency(b).consistent for b in neutral_prior(robot).inertials)


def test_defect_12_nothing_is_replaced_by_the_prior_when_solvers_fail(monkeypatch) -> None:
    from ident.estimate import problem as program
    from ident.estimate.log_det_newton import LogDetNewton

    model = arm()
    _, _, found = problem(model)

    least_norm = program.least_norm

    def failed(*given, **more):
        if "gap" in more:  # of the program
            raise EstimationError("failed on purpose")
        return least_norm(*given, **more)

    monkeypatch.setattr(program, "_status", lambda problem, solver, seconds: "failed on purpose")
    monkeypatch.setattr(program, "least_norm", failed)
    monkeypatch.setattr(LogDetNewton, "path", lambda *_: [])
    monkeypatch.setattr(LogDetNewton, "plain", lambda *_, **__: None)
    for fit in (
        lambda: estimated(model, found, near(model), weight=0.0),
        lambda: estimated(model, found, near(model), weight=1.0),
        lambda: estimated(model, found, near(model), weight="cross-validated"),
        lambda: estimated(model, found, near(model), weight="vanishing"),
    ):
        with pytest.raises(EstimationError, match="CLARABEL"):
            fit()


def test_the_second_solver_is_named_when_the_first_fails(monkeypatch) -> None:
    from ident.estimate import problem as program
    from ident.estimate.log_det_newton import LogDetNewton

    model = arm()
    _, _, found = problem(model)
    prior = near(model)
    first = estimated(model, found, prior, weight=1e-1)
    assert first.solver == "NEWTON"
    assert first.warnings == ()
    status = program._status
    monkeypatch.setattr(program, "_status", lambda p, s, t: "failed on purpose" if s == "CLARABEL" else status(p, s, t))
    monkeypatch.setattr(LogDetNewton, "path", lambda *_: [])
    monkeypatch.setattr(LogDetNewton, "plain", lambda *_, **__: None)
    second = estimated(model, found, prior, weight=1e-1)
    assert second.solver == "SCS (after CLARABEL: failed on purpose)"
    assert second.warnings == ("first solver failed: SCS (after CLARABEL: failed on purpose)",)
    np.testing.assert_allclose(second.phi, first.phi, atol=1e-3 * np.abs(first.phi).max())


def test_results_do_not_depend_on_the_order_of_the_logs() -> None:
    model = arm(4, 1)
    theta = theta_of(model)
    logs = [recording(np.random.default_rng(i), model, theta, samples=200, noise=0.5, name=f"r{i}") for i in range(4)]
    a, b = compress(model, logs), compress(model, logs[::-1])
    np.testing.assert_allclose(
        estimated(model, a, loss="ols", feasible=False).phi,
        estimated(model, b, loss="ols", feasible=False).phi,
        rtol=1e-8,
        atol=1e-10,
    )
    x, y = (estimated(model, r, near(model), weight="cross-validated") for r in (a, b))
    assert x.weight == y.weight
    np.testing.assert_allclose(x.phi, y.phi, rtol=1e-3, atol=1e-4 * np.abs(x.phi).max())


def test_what_only_the_prior_decides_is_told_apart() -> None:
    model = arm(3, 2)
    _, theta, found = problem(model, noise=1e-3, samples=1500)
    estimate = estimated(model, found, near(model, 0.5), weight=1e-9)
    fixed = estimate.fixed_by_data
    assert 0 < len(fixed) < len(model.names)
    for name in fixed:
        k = model.index(name)
        assert estimate.value(name) == pytest.approx(theta[k], rel=0.02, abs=0.02)
    assert issubclass(EstimationError, IdentError)
