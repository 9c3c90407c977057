"""Logs that no model explains: a fit ends in a result or in a sentence, and no numpy warning reaches the terminal."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
from identified import case, moved
from random_robots import random_robot
from synthetic import random_theta, recording

from ident.errors import EstimationError
from ident.estimate import ConstantPullback, Prior, Tolerances, estimated, log_det_newton, problem, refine_cad
from ident.estimate.cones import IDENTITY, Coordinates, _bodies, _spectrum, edge, interior
from ident.model import Coulomb, DriveInertia, Model, Offset, Viscous, torque
from ident.regression import compress
from ident.robot.urdf import parse_urdf
from ident.spatial.inertia import consistency

WAYS = {
    "weight 0": lambda *given: estimated(*given, weight=0.0),
    "weight 1e-6": lambda *given: estimated(*given, weight=1e-6),
    "vanishing": lambda *given: estimated(*given, weight="vanishing"),
    "chosen": lambda *given: estimated(*given, weight="cross-validated"),
    "pull-back": lambda *given: refine_cad(*given, metric=ConstantPullback()).estimate,
    "tolerances": lambda *given: refine_cad(*given, metric=Tolerances(mass=0.1, centre=0.01, tensor=0.1)).estimate,
}
TORQUES = {
    "one joint zero": lambda tau: tau * [1.0, 0.0, 1.0],
    "all reversed": lambda tau: -tau,
    "one reversed": lambda tau: tau * [1.0, -1.0, 1.0],
}
UNITS = {"a million times too small": lambda tau: 1e-6 * tau, "a million times too large": lambda tau: 1e6 * tau}
CASES = [(t, way) for t in TORQUES for way in WAYS] + [(t, way) for t in UNITS for way in ("weight 0", "tolerances")]


@pytest.mark.slow
@pytest.mark.parametrize(("torque", "way"), CASES)
def test_a_fit_ends_without_a_warning(torque, way):
    c = case()
    motion = moved("short", c.model, c.theta, 3, samples=300, blocks=tuple((k, k + 50) for k in range(0, 300, 50)))
    found = compress(c.model, replace(motion, tau=(TORQUES | UNITS)[torque](motion.tau)))
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate = WAYS[way](c.model, found, Prior(c.inertials, "cad"))
    assert all(consistency(body).consistent for body in estimate.inertials)
    assert time.process_time() - start < 30.0


@pytest.mark.slow
def test_a_search_that_leads_nowhere_ends_in_time(monkeypatch):
    """Eight joints, all torques reversed, nothing set: Newton's method alone took 30 s for each part left out.

    The limits, 8 s and 20 s of processor time, are a tenth here.
    """
    monkeypatch.setattr(log_det_newton, "PATIENCE", 0.8)
    monkeypatch.setattr(problem, "SECONDS", 2.0)
    rng = np.random.default_rng(0)
    robot = parse_urdf(random_robot(rng, 8, branches=False, prismatic=False).encode())
    model = Model(robot, (DriveInertia(), Viscous(), Coulomb(), Offset()))
    motion = recording(rng, model, random_theta(rng, model), samples=3000, segments=15, noise=0.05)
    found = compress(model, replace(motion, tau=-motion.tau))
    start = time.process_time()
    with pytest.raises(EstimationError, match=r"was not solved .* nothing says that no solution exists"):
        estimated(model, found)
    assert time.process_time() - start < 10.0


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_logs_without_any_noise_end_in_bodies_that_can_exist(sign, way):
    """Residuals are 1e-13 of the torque, or, of reversed torque, 1e13 times what they are taken to be."""
    c = case()
    motion = moved("exact", c.model, c.theta, 3, samples=300, blocks=tuple((k, k + 50) for k in range(0, 300, 50)))
    tau = sign * torque(c.model, c.theta, motion.q, motion.qd, motion.qdd)
    prior = Prior(c.inertials * [[1.2], [0.7], [1.5]], "cad")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate = WAYS[way](c.model, compress(c.model, replace(motion, tau=tau)), prior)
    assert all(consistency(body).consistent for body in estimate.inertials)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_torques_that_are_all_zero_are_named_at_once(way):
    c = case()
    motion = moved("still", c.model, c.theta, 3, samples=300, blocks=tuple((k, k + 50) for k in range(0, 300, 50)))
    found = compress(c.model, replace(motion, tau=0.0 * motion.tau))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(EstimationError, match="zero or constant"):
            way(c.model, found, Prior(c.inertials, "cad"))


def test_a_prior_of_another_size_is_where_the_search_starts_only_after_scaling():
    c = case()
    for size in (1e-6, 1e-1, 1e6):
        factor = c.regression.factor(np.ones(3))
        found = Coordinates.of(c.model, Prior(size * c.inertials, "cad"), factor, c.regression.base)
        links = found.T[:30, :30] @ np.tile(IDENTITY, 3)
        ratio = links.reshape(3, 10)[:, 0] / c.inertials[:, 0]
        assert (ratio > 0.01).all()
        assert (ratio < 100.0).all()


def test_a_joint_term_of_one_in_the_searchs_coordinates_explains_a_tenth_of_the_torque():
    c = case()
    factor = c.regression.factor(np.ones(3))
    found = Coordinates.of(c.model, Prior(c.inertials, "cad"), factor, c.regression.base)
    column = np.linalg.norm(factor[:, :-1] @ c.regression.base.K[:, 30:], axis=0)
    np.testing.assert_allclose(found.scale * column, 0.1 * np.linalg.norm(factor[:, -1]))


@pytest.mark.parametrize("largest", [0.5, 1.0, 40.0])
def test_a_link_at_the_edge_is_moved_inside_by_a_ten_millionth_of_itself_or_of_the_prior(largest):
    c = case()
    prior = Prior(c.inertials, "cad")
    values, root = _spectrum(c.inertials, prior)
    values[:] = 0.0, 0.2, 0.3, largest
    links = _bodies(values, root)
    assert edge(links, prior) == pytest.approx(0.0, abs=1e-12)
    assert edge(interior(links, prior), prior) == pytest.approx(1e-7 * max(largest, 1.0), rel=1e-3)
