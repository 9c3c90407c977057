"""Huber's loss: rows and stretches that do not belong count for little, with constraints and priors too."""

from dataclasses import replace

import numpy as np
import pytest
from identified import case
from scipy.stats import norm

import ident
from ident.errors import ModelError
from ident.estimate import least_squares
from ident.estimate.least_squares import reweighted


def touched():
    """Return a motion in which something pushes the first joint for half a second, and 1 % of the rows leap."""
    motion, tau = case().fit, case().fit.tau.copy()
    tau[600:650, 0] += 5.0
    tau[np.random.default_rng(0).choice(len(tau), 15, replace=False), 1] += 4.0
    return replace(motion, tau=tau, blocks=())


@pytest.mark.parametrize("words", [{"feasible": False}, {"feasible": True, "weight": 1e-6}])
def test_rows_that_do_not_belong_hardly_count(words):
    c = case()
    truth = c.regression.base.K @ c.theta

    def error(motion, loss):
        found = ident.fit(c.model, motion, loss=loss, **words)
        return np.linalg.norm(found.predict(c.other) - c.other.tau) / np.linalg.norm(c.other.tau), found

    clean, _ = error(replace(c.fit, blocks=()), "wls")
    square, _ = error(touched(), "wls")
    robust, found = error(touched(), "huber")
    assert square > 2.0 * clean
    assert robust < 1.15 * clean
    assert found.estimate.base.names == c.regression.base.names
    assert len(found.estimate.phi) == len(truth)


def test_a_stretch_in_which_something_pushes_is_named():
    found = reweighted(case().model, lambda: [touched()], case().regression.base)
    touch = max(found.odd, key=lambda stretch: stretch.far)
    assert touch.joint == "turn"
    assert touch.start == pytest.approx(6.0, abs=0.02)
    assert touch.stop == pytest.approx(6.5, abs=0.02)
    assert str(touch).startswith("'turn' at 6.0")
    assert touch.far >= 40
    assert found.far[0] >= 40
    assert found.far[1] >= 10


def test_a_sound_log_has_no_such_stretch():
    found = reweighted(case().model, lambda: [replace(case().fit, blocks=())], case().regression.base)
    assert sum(stretch.far for stretch in found.odd) == found.far.sum()
    assert found.far.sum() < 5


def test_motions_that_can_be_read_once_only_are_refused():
    with pytest.raises(ModelError, match="several times"):
        ident.fit(case().model, iter([case().fit]), loss="huber")


def test_the_constant_of_huber_keeps_95_percent_of_the_efficiency_on_normal_noise():
    k = least_squares.TUNING
    inside = 2.0 * norm.cdf(k) - 1.0
    squares = inside - 2.0 * k * norm.pdf(k) + 2.0 * k**2 * norm.sf(k)
    assert inside**2 / squares == pytest.approx(0.95, abs=1e-4)
