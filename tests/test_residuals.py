"""Pictures of residuals, and the directions that a motion shows worst."""

from __future__ import annotations

import numpy as np
import pytest
from identified import residual_of
from random_robots import random_pair
from synthetic import blocks, random_theta, states

from ident.compare.conditioning import sentence as direction_sentence
from ident.compare.conditioning import weakest_directions
from ident.logs.motion import Motion
from ident.model import Coulomb, DriveInertia, Model, Offset, Viscous, torque
from ident.regression import compress
from ident.report.figures import figure_of
from ident.report.picture import Strip
from ident.report.pictures import alike_for, autocorrelation, binned, one_after_another


def test_autocorrelation_against_the_plain_sum():
    rng = np.random.default_rng(0)
    x = np.convolve(rng.normal(size=400), np.ones(7), "valid")
    y = x - x.mean()
    plain = [float(y[k:] @ y[: len(y) - k] / (y @ y)) for k in range(50)]
    assert np.allclose(autocorrelation(x, 49), plain, atol=1e-12)
    assert autocorrelation(np.ones(10), 3).tolist() == [0.0] * 4
    one, two = (part - part.mean() for part in (x[:150], x[150:]))
    apart = [float(one[k:] @ one[: len(one) - k] + two[k:] @ two[: len(two) - k]) for k in range(50)]
    assert np.allclose(autocorrelation(x, 49, (0, 150)), np.array(apart) / apart[0], atol=1e-12)
    short = autocorrelation(x, 300, (0, 380))  # lags beyond the second recording's 14 samples are the first one's
    one, two = (part - part.mean() for part in (x[:380], x[380:]))
    apart = [float(one[k:] @ one[: len(one) - k]) for k in range(14, 301)]
    assert np.allclose(short[14:], np.array(apart) / (one @ one + two @ two), atol=1e-12)
    white, colour = rng.normal(size=20_000), np.convolve(rng.normal(size=20_000), np.ones(9), "valid")
    t = np.arange(20_000) * 0.01
    assert alike_for(t, white)[0] == pytest.approx(0.01)
    assert alike_for(t, white)[1] == pytest.approx(1.0, abs=0.2)
    assert alike_for(t[:-8], colour)[0] == pytest.approx(0.08, abs=0.011)
    assert alike_for(t[:-8], colour)[1] == pytest.approx(9.0, abs=2.0)


def test_recordings_are_drawn_one_after_another():
    t = np.concatenate([np.arange(3) * 0.5, 7 + np.arange(4) * 0.5])
    assert one_after_another(t, (0, 3)) == pytest.approx(np.arange(7) * 0.5)
    assert one_after_another(t[:3], (0,)) == pytest.approx(t[:3])
    time = residual_of(t, t, t, t, title="two", starts=(0, 3)).panels[0]
    assert time.x.words == "time of 2 recordings [s]"
    assert [mark.low for mark in time.marks if isinstance(mark, Strip) and mark.axis == "x"] == [1.5]


@pytest.mark.parametrize("largest", [4e-7, 0.00543, 0.5, 40.0, 12_345.0])
@pytest.mark.slow
def test_labels_of_residuals_stay_in_the_figure(largest):
    t = np.linspace(0, 1, 500)
    picture = residual_of(t, largest * np.sin(40 * t), t, t, title="joint")
    figure = figure_of(picture)
    figure.canvas.draw()
    for axes in figure.axes:
        box = axes.yaxis.label.get_window_extent()
        low, high = axes.get_ylim()
        seen = (x for x in axes.get_yticklabels() if x.get_text() and low <= x.get_position()[1] <= high)
        ticks = [x.get_window_extent() for x in seen]
        assert box.x0 >= 0
        assert all(box.x1 <= tick.x0 + 1 for tick in ticks)


def test_bins_hold_the_quantiles():
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-1, 1, 20_000), rng.normal(size=20_000)
    centres, quantiles = binned(x, y + 3 * (x > 0))
    assert np.allclose(quantiles[:, 1], 3 * (centres > 0), atol=0.25)
    assert np.allclose(quantiles[:, 2] - quantiles[:, 0], 2 * 1.645, atol=0.6)
    assert len(binned(np.ones(5), np.ones(5))[0]) == 0


def test_the_weakest_direction_is_the_pair_that_hardly_differs():
    rng = np.random.default_rng(0)
    robot = random_pair(rng, 5, branches=False, prismatic=False)[1]
    model = Model(robot, (DriveInertia(), Viscous(), Coulomb(), Offset()))
    t, q, qd, qdd = states(rng, 5, 3000)
    tau = torque(model, random_theta(rng, model), q, qd, qdd)
    slow = 1e-3  # a joint that hardly moves shows its offset and its gravity moments together
    q0 = q.mean(axis=0) + slow * (q - q.mean(axis=0))
    motion = Motion("slow", t, q0, slow * qd, slow * qdd, tau, np.ones((3000, 5), bool), (), blocks(3000, 10))
    regression = compress(model, motion)
    found = weakest_directions(regression, np.ones(5))
    W = regression.factor(np.ones(5))[:-1, :-1]
    W = W / np.where(np.linalg.norm(W, axis=0) > 0, np.linalg.norm(W, axis=0), 1.0)
    assert found[0].times >= found[1].times >= found[2].times > 100
    names = regression.base.names
    places = [names.index(n) for n, _ in found[0].parts]
    assert 1.0 / found[0].times == pytest.approx(np.linalg.svd(W, compute_uv=False)[-1], rel=1e-6)
    assert len(places) >= 1
    assert all(name in direction_sentence(found[0]) for name, _ in found[0].parts)
