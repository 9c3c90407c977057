"""Bootstrap error bars: the segments' where nothing is at an edge, narrower at one, each draw one that can exist."""

import re
from dataclasses import replace

import numpy as np
import pytest
from identified import case, moved

import ident
from ident.errors import EstimationError, ModelError
from ident.estimate import Prior, estimated
from ident.estimate.bounds import Bounds
from ident.estimate.problem import Entropic, Task
from ident.model import torque
from ident.regression import compress
from ident.spatial.inertia import consistency


def test_least_squares_has_the_standard_errors_of_the_segments():
    c = case()
    fit = ident.fit(c.model, c.regression, feasible=False)
    found = fit.bootstrap(draws=4000)
    table = found.to_frame()
    np.testing.assert_allclose(table["std_error"], fit.std_errors, rtol=0.06)
    np.testing.assert_allclose(found.params.mean(), fit.params, atol=4e-2 * fit.std_errors.max())
    np.testing.assert_allclose(table["upper"] - table["value"], table["value"] - table["lower"], atol=1e-12)
    with pytest.raises(ModelError, match="determines base parameters only"):
        _ = found.theta


@pytest.mark.parametrize(
    "words", [{"weight": 0.0}, {}, {"metric": "pull-back", "weight": 0.1}, {"weight": "vanishing"}]
)
def test_every_draw_can_exist_keeps_its_bounds_and_is_the_same_again(words, tmp_path):
    c = case()
    words = {**words, "bounds": Bounds(mass={"arm": (2.5, 3.2)})}
    fit = ident.fit(c.model, c.regression, 1.1 * c.inertials, **words)
    found = fit.bootstrap(draws=12, seed=3)
    bodies = found.theta.to_numpy()[:, :30].reshape(-1, 10)
    assert all(consistency(body).consistent for body in bodies)
    assert found.theta["arm.m"].between(2.5 - 1e-9, 3.2 + 1e-9).all()
    np.testing.assert_allclose(found.params, found.theta.to_numpy() @ c.regression.base.K.T, rtol=1e-12)
    np.testing.assert_array_equal(found.params, fit.bootstrap(draws=12, seed=3).params)
    assert not np.allclose(found.params, fit.bootstrap(draws=12, seed=4).params)
    asked = ident.fit(c.model, c.regression, 1.1 * c.inertials, **words, covariance="bootstrap")
    np.testing.assert_array_equal(asked.std_errors, fit.bootstrap().to_frame()["std_error"])
    again = ident.load(asked.save(tmp_path / "fit.json"), c.model.robot)
    assert again.estimate.covariance.kind == "bootstrap"
    np.testing.assert_allclose(again.std_errors, asked.std_errors, rtol=1e-9)
    with pytest.raises(ModelError, match="a file does not hold what a fit was asked"):
        again.bootstrap()


def thin():
    """Return a model, factors of a noisy log of it without drive inertia, and its bodies."""
    c = case()
    theta = c.theta.copy()
    theta[c.model.n_rigid : c.model.n_rigid + 3] = 1e-4
    motion = moved("thin", c.model, theta, 5)
    noisy = motion.tau + 2.0 * np.random.default_rng(6).normal(size=motion.tau.shape)
    return c.model, compress(c.model, [replace(motion, tau=noisy)]), c.inertials


def test_an_edge_cuts_errors_off_and_a_prior_does_not():
    model, regression, inertials = thin()
    segments = ident.fit(model, regression, inertials, weight=0.0)
    assert segments.estimate.active
    edge = ident.fit(model, regression, inertials, weight=0.0, covariance="bootstrap")
    ratio = edge.std_errors / segments.std_errors
    assert ratio.min() < 0.7
    assert ratio.max() < 1.2
    drawn = ident.fit(model, regression, inertials, weight=10.0, covariance="bootstrap")
    assert (drawn.std_errors > 0.5 * edge.std_errors).all()


def test_a_draw_is_solved_from_another_one_as_from_the_start():
    model, regression, inertials = thin()
    prior = Prior(inertials, "cad")
    sigma = estimated(model, regression, prior, weight=0.0).sigma
    change = np.random.default_rng(0).normal(size=len(regression.base.names)) * 0.01
    other = regression.shifted(change)
    for weight in (0.0, 1e-7, 1e-2):
        problem = Entropic(Task(model, regression, prior, Bounds(), sigma))
        problem.solved(weight)
        for _ in range(2):
            near = problem.again(other, weight)
        cold = Entropic(Task(model, regression, prior, Bounds(), sigma)).again(other, weight)
        R = other.factor(sigma)
        K = regression.base.K
        squares = [np.sum((R @ np.append(K @ s.theta, -1.0)) ** 2) for s in (near, cold)]
        assert near.accurate
        assert abs(squares[0] - squares[1]) < 1e-3  # of a log-likelihood twice


def test_shifted_factors_are_those_of_shifted_torques():
    c = case()
    motion, change = moved("a", c.model, c.theta, 3), np.random.default_rng(1).normal(size=len(c.model.names))
    more = torque(c.model, change, motion.q, motion.qd, motion.qdd)
    known, added = (compress(c.model, motion), compress(c.model, replace(motion, tau=motion.tau + more)))
    sigma = np.array([0.1, 2.0, 0.5])
    phi = np.random.default_rng(2).normal(size=len(known.base.names))
    for asked in (False, True):  # the whole factor is turned with the others, or made of them
        if asked:
            known.factor(sigma)
        found = known.shifted(known.base.K @ change)
        np.testing.assert_allclose(found.squared_residuals(phi), added.squared_residuals(phi), rtol=1e-9)
        whole = [np.sum((r.factor(sigma) @ np.append(phi, -1.0)) ** 2) for r in (found, added)]
        np.testing.assert_allclose(*whole, rtol=1e-9)


def test_what_a_bootstrap_cannot_do_is_one_sentence():
    c = case()
    fit = ident.fit(c.model, c.regression, c.inertials, weight=0.01)
    with pytest.raises(ModelError, match="draws is 1, wanted 2 or more"):
        fit.bootstrap(draws=1)
    few = c.regression.without([s.identity for s in c.regression.segments[4:]])
    message = "a bootstrap needs 5 segments or more, these logs have 4. Cut them into shorter ones, or use covariance ="
    with pytest.raises(EstimationError, match=re.escape(message)):
        ident.fit(c.model, few, c.inertials, weight=0.01, covariance="bootstrap")
