"""The constrained fit where it is used: optimal, better than least squares on another motion, whatever solver works."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from identified import case, moved

from ident.errors import EstimationError, ModelError
from ident.estimate import Bounds, Prior, estimated, neutral_prior
from ident.estimate import problem as program
from ident.estimate.cones import Coordinates
from ident.estimate.covariance import effective_samples
from ident.estimate.estimators import _within_one_error
from ident.estimate.log_det_newton import LogDetNewton
from ident.estimate.prior import usual_factor
from ident.estimate.problem import samples
from ident.logs.motion import split
from ident.model import Model, Spring, torque
from ident.regression import compress
from ident.spatial.inertia import pseudo_inertia

NOISY = 0.02 * np.random.default_rng(3).normal(size=(1500, 3))


def off(spread=0.1):
    """Return a CAD table wrong by a factor for each link."""
    c = case()
    return Prior(c.inertials * np.exp(np.random.default_rng(5).normal(0, spread, (3, 1))), "cad")


def short_and_noisy(seed=7):
    c = case()
    motion = moved("short", c.model, c.theta, seed, samples=60, blocks=tuple((a, a + 10) for a in range(0, 60, 10)))
    noise = 3.0 * np.random.default_rng(100 + seed).normal(size=motion.tau.shape)
    return compress(c.model, replace(motion, tau=motion.tau + noise))


@pytest.mark.slow
def test_the_chosen_weight_predicts_another_motion_better_than_least_squares():
    """Squared errors summed over three logs; over ten more of them the ratio to OLS was 0.34 to 0.51 each."""
    c = case()
    held_out = compress(c.model, c.other)
    errors = {"chosen": 0.0, "plain": 0.0, "ols": 0.0}
    interior = 0
    for seed in (7, 8, 9):
        found = short_and_noisy(seed)
        chosen = estimated(c.model, found, off(), weight="cross-validated")
        weights = [w for w, _ in chosen.selection]
        assert chosen.weight > weights[0]
        interior += estimated(c.model, found, off(1.0), weight="cross-validated").weight < weights[-1]
        plain = estimated(c.model, found, off(), weight=0.0)
        for name, phi in (
            ("chosen", chosen.phi),
            ("plain", plain.phi),
            ("ols", estimated(c.model, found, loss="ols", feasible=False).phi),
        ):
            errors[name] += float(np.sum(held_out.squared_residuals(phi)))
    assert interior > 0
    assert errors["chosen"] < 0.7 * errors["ols"]
    assert errors["chosen"] < errors["plain"]


def held_still(seed, blocks=15):
    """A log of which only the last joint tells much, with noise that hardly changes within a segment."""
    c = case()
    found = moved("still", c.model, c.theta, seed, samples=300, blocks=split(0, 300, 300 / blocks)[0])
    q, qd, qdd = (np.array(x) * [0.02, 0.02, 1.0] for x in (found.q, found.qd, found.qdd))
    rng = np.random.default_rng(seed)
    slow = np.repeat(rng.normal(size=(30, 3)), 10, axis=0) + 0.1 * rng.normal(size=(300, 3))
    return compress(c.model, replace(found, q=q, qd=qd, qdd=qdd, tau=torque(c.model, c.theta, q, qd, qdd) + slow))


@pytest.mark.slow
def test_the_weight_is_no_less_than_the_independent_samples_ask_for():
    """Before, the least error alone decided: links of a tenth and of nine times CAD's mass in five logs."""
    c, worst = case(), []
    for seed in range(5):
        found = held_still(seed)
        chosen = estimated(c.model, found, off(0.2), weight="cross-validated")
        least = 1 / (effective_samples(found, chosen.sigma) * 0.3**2)
        assert chosen.weight >= 0.999 * least
        best = min(chosen.selection, key=lambda pair: pair[1])
        assert chosen.weight >= best[0]
        worst.append(np.abs(np.log(chosen.inertials[:, 0] / off(0.2).inertials[:, 0])).max())
    assert max(worst) < np.log(2.0)


def test_a_tie_goes_to_the_stronger_prior_and_the_edge_is_told():
    c = case()
    exact = compress(c.model, replace(c.fit, tau=torque(c.model, c.theta, c.fit.q, c.fit.qd, c.fit.qdd) + NOISY))
    prior = Prior(c.inertials, "cad")  # the truth: no weight does harm
    chosen = estimated(c.model, exact, prior, weights=(1e-4, 1e-2, 1.0), weight="cross-validated")
    assert chosen.weight == 1.0
    assert any("the strongest weight of the prior that was tried, 1," in w for w in chosen.warnings)
    wrong = Prior(30.0 * c.inertials, "cad")
    chosen = estimated(c.model, exact, wrong, weights=(1.0, 10.0, 100.0), weight="cross-validated")
    assert chosen.weight == 1.0
    assert any("the weakest weight of the prior that was tried, 1," in w for w in chosen.warnings)
    between = estimated(c.model, exact, off(0.3), weight="cross-validated")
    assert not any("weight of the prior" in w for w in between.warnings)


@pytest.mark.parametrize("bad", [(0.01, 0.0), (0.01, -1.0), (np.nan, 0.01), (np.inf, 0.01), ()])
def test_weights_to_try_are_numbers_above_zero(bad):
    c = case()
    with pytest.raises(ModelError, match=r"^weights: are .*, wanted one or more numbers above 0\. .*weight = 0\.$"):
        estimated(c.model, c.regression, off(), weights=bad, weight="cross-validated")


def test_within_one_error_is_what_differs_by_less_than_its_own_standard_error():
    """Part by part: what is worse in each part by as much is worse, however much the parts differ."""
    best = np.array([1.0, 5.0, 2.0, 9.0])
    errors = best + np.array([[0.1] * 4, [0.4, -0.3, 0.3, -0.2], [0.0] * 4])
    assert _within_one_error(errors).tolist() == [False, True, True]


def test_neutral_bodies_take_their_common_scale_from_the_logs():
    c, prior = case(), neutral_prior(case().robot)
    heavier = replace(prior, inertials=0.5 * prior.inertials)
    one, other = (estimated(c.model, c.regression, p, weight="cross-validated") for p in (prior, heavier))
    np.testing.assert_allclose(one.inertials[:, 0], other.inertials[:, 0], rtol=0.02)
    assert one.prior.startswith("neutral: solid rods")
    assert ", times" in one.prior
    assert not any("neutral bodies explain" in w for w in one.warnings)
    dwarfs = estimated(
        c.model, c.regression, replace(prior, inertials=1e-3 * prior.inertials), weight="cross-validated"
    )
    assert any(w.startswith("neutral bodies explain the logs best above 10 times") for w in dwarfs.warnings)


@pytest.mark.parametrize("weight", [1e-4, 1e-2, 1.0])
def test_a_newton_step_would_gain_nothing(weight):
    """Gradient and Hessian of mean squared residual + weight * divergence in theta, by numpy alone."""
    c = case()
    prior = off(0.3)
    estimate = estimated(c.model, short_and_noisy(), prior, weight=weight)
    assert not any("edge" in a for a in estimate.active)
    found = short_and_noisy()
    factor = usual_factor(c.model, found, prior, estimate.sigma, found.factor(estimate.sigma))
    count = found.rows.sum()
    R, z = factor[:, :-1] @ found.base.K, factor[:, -1]
    gradient, hessian = 2 * R.T @ (R @ estimate.theta - z) / count, 2 * R.T @ R / count
    basis = pseudo_inertia(np.eye(10))
    for i, (body, reference) in enumerate(zip(estimate.inertials, prior.inertials, strict=True)):
        inverse = np.linalg.inv(pseudo_inertia(body))
        part = slice(10 * i, 10 * i + 10)
        gradient[part] += weight * np.einsum("ij,kji->k", np.linalg.inv(pseudo_inertia(reference)) - inverse, basis)
        turned = inverse @ basis
        hessian[part, part] += weight * np.einsum("kij,lji->kl", turned, turned)
    free = np.ones(len(estimate.theta), bool)  # friction at zero stays there, as the gradient must say
    zero = c.model.nonnegative & (estimate.theta[30:] < 1e-6)
    free[30:] = ~zero
    assert (gradient[30:][zero] > -1e-6).all()
    step = np.linalg.lstsq(hessian[np.ix_(free, free)], gradient[free], rcond=1e-14)[0]
    objective = np.sum((R @ estimate.theta - z) ** 2) / count
    assert 0.5 * gradient[free] @ step < 1e-6 * objective
    elsewhere = gradient + 0.01 * hessian @ estimate.theta  # the same measure sees a change of 1 %
    far = np.linalg.lstsq(hessian[np.ix_(free, free)], elsewhere[free], rcond=1e-14)[0]
    assert 0.5 * elsewhere[free] @ far > 1e-5 * objective


FITS = {
    "weight 0": lambda found, **o: estimated(case().model, found, off(), weight=0.0, **o),
    "weight 0.1": lambda found, **o: estimated(case().model, found, off(), weight=0.1, **o),
    "vanishing": lambda found, **o: estimated(case().model, found, off(), **o, weight="vanishing"),
    "chosen": lambda found, **o: estimated(
        case().model, found, off(), weights=(1e-3, 1e-2, 1e-1, 1.0), **o, weight="cross-validated"
    ),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
@pytest.mark.slow
def test_every_way_goes_on_with_the_second_solver_and_says_so(fit, monkeypatch):
    found = case().regression
    first = fit(found)
    assert not any("solver" in w for w in first.warnings)
    _break("CLARABEL", monkeypatch)
    monkeypatch.setattr(LogDetNewton, "path", lambda *_: [])
    monkeypatch.setattr(LogDetNewton, "plain", lambda *_, **__: None)
    second = fit(found)
    assert any(w.startswith("first solver failed: SCS (after CLARABEL: broke down)") for w in second.warnings)
    assert second.feasible
    assert second.relative_total == pytest.approx(first.relative_total, rel=1e-3)


def _break(solver, monkeypatch):
    least_norm, status = program.least_norm, program._status

    def failed(*given, **more):
        if "gap" in more:  # of the program
            raise EstimationError("broke down")
        return least_norm(*given, **more)

    monkeypatch.setattr(program, "_status", lambda p, s, *more: "broke down" if s == solver else status(p, s, *more))
    monkeypatch.setattr(program, "least_norm", failed)


@pytest.mark.slow
def test_where_no_solver_ends_each_is_named_and_an_inaccurate_solution_is_kept(monkeypatch):
    status = program._status
    monkeypatch.setattr(LogDetNewton, "path", lambda *_: [])
    monkeypatch.setattr(LogDetNewton, "plain", lambda *_, **__: None)
    monkeypatch.setattr(program, "_status", lambda *_: "broke down")
    with pytest.raises(EstimationError, match=r"not solved at weight .* \(CLARABEL: broke down; SCS: broke down\)"):
        FITS["weight 0.1"](case().regression)
    monkeypatch.setattr(program, "_status", lambda *given: status(*given) and "optimal_inaccurate")
    with pytest.raises(EstimationError, match="did not converge: CLARABEL stopped short of its tolerance") as caught:
        FITS["weight 0.1"](case().regression)
    assert caught.value.estimate.feasible


def test_newtons_method_solves_all_fits_and_clarabel_those_without_a_prior_where_it_fails(monkeypatch):
    before = {way: fit(case().regression) for way, fit in FITS.items()}
    assert [found.solver for found in before.values()] == ["NEWTON"] * 4
    monkeypatch.setattr(LogDetNewton, "plain", lambda *_, **__: None)
    for way, first in before.items():
        found = FITS[way](case().regression)
        told = [w for w in found.warnings if "solver" in w]
        assert told == ["first solver failed: CLARABEL (after NEWTON)"] * (way == "weight 0")
        np.testing.assert_allclose(found.phi, first.phi, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("weight", [0.0, 1e-6, 1e-2])
def test_cvxpy_finds_what_the_faster_solvers_do(weight):
    """As the program is stated in its words, at the logs of a short and noisy motion."""
    c, found, prior = case(), short_and_noisy(), off(0.3)
    estimate = estimated(c.model, found, prior, weight=weight)
    factor = found.factor(estimate.sigma)
    factor = usual_factor(c.model, found, prior, estimate.sigma, factor) if weight else factor
    coordinates = Coordinates.of(c.model, prior, factor, found.base)
    stated = program.Program(c.model, found.base, coordinates, Bounds())
    second = stated.stated(factor, samples(found), weight, estimate.theta)
    assert second.accurate
    assert second.solver == "CLARABEL"
    apart = factor[:, :-1] @ (found.base.K @ second.theta - estimate.phi)
    assert np.linalg.norm(apart) < 1e-3 * np.linalg.norm(factor[:, -1])


def test_every_bound_that_holds_a_value_is_reported():
    c = case()
    masses = c.inertials[:, 0]
    bounds = Bounds(
        mass={"tower": (1.2 * masses[0], 99.0), "arm": (0.0, 99.0)},
        total_mass=(1.3 * masses.sum(), 99.0),
        com={"slider": ((0.2, 0.3), (-1.0, 1.0), (-1.0, 1.0))},
    )
    estimate = estimated(c.model, c.regression, Prior(c.inertials, "cad"), weight=1.0, bounds=bounds)
    assert estimate.inertials[:, 0].sum() == pytest.approx(1.3 * masses.sum(), rel=1e-5)
    assert estimate.inertials[2, 1] / estimate.inertials[2, 0] == pytest.approx(0.2, abs=1e-5)
    assert {"slider: centre of mass at its bound in x", "total mass at its bound"} <= set(estimate.active)
    assert not any("arm: mass" in a for a in estimate.active)
    tight = Bounds(mass={"tower": (1.2 * masses[0], 99.0)})
    alone = estimated(c.model, c.regression, Prior(c.inertials, "cad"), weight=1.0, bounds=tight)
    assert alone.inertials[0, 0] == pytest.approx(1.2 * masses[0], rel=1e-5)
    assert alone.active == ("tower: mass at its bound",)


@pytest.mark.parametrize(("short", "sits"), [(0.0, True), (0.9e-5, True), (1.1e-5, False), (0.1, False)])
def test_a_value_sits_on_its_bound_within_a_hundred_thousandth(short, sits):
    c = case()
    mass = float(c.inertials[0, 0])
    rows = Bounds(mass={c.model.robot.links[0]: (0.0, mass / (1.0 - short))}).on(c.model)
    assert bool(rows.active(c.theta)) == sits


def test_friction_and_drive_inertia_that_data_would_make_negative_are_zero_and_listed():
    c = case()
    k = c.model.n_rigid
    push = c.theta.copy()
    push[[k, k + 4, k + 8]] = [-0.5, -0.5, -0.5]  # one drive inertia, one viscous, one Coulomb
    found = compress(c.model, moved("pushed", c.model, push, 3))
    estimate = estimated(c.model, found, Prior(c.inertials, "cad"), weight=1e-3)
    assert (estimate.theta[k:][c.model.nonnegative] >= 0).all()
    names = [c.model.names[i] for i in (k, k + 4, k + 8)]
    assert {f"{name} at zero" for name in names} <= set(estimate.active)
    assert [estimate.value(name) for name in names] == pytest.approx([0.0] * 3, abs=1e-5)


def test_an_over_centre_spring_is_found_and_what_is_held_at_zero_is_named():
    """A balancer near its dead point pushes away from it: -4 N m/rad; held at zero only where that is asked for."""
    c = case()
    spring = 10 * c.model.robot.n + len(c.model.names) - c.model.n_rigid
    for added, held in ((Spring(("lift",)), False), (Spring(("lift",), nonnegative=True), True)):
        model = Model(c.robot, (*c.model.terms, added))
        found = compress(model, moved("fit", model, np.append(c.theta, -4.0), 1))
        estimate = estimated(model, found, Prior(c.inertials, "cad"), weight=1e-6)
        assert model.names[spring] == "lift.stiffness"
        if held:
            assert estimate.value("lift.stiffness") < 1e-6
            assert "lift.stiffness at zero" in estimate.active
        else:
            assert abs(estimate.value("lift.stiffness") + 4.0) < 0.5
            assert not estimate.active
