"""Random bounded fits: every bound holds for the bodies as written, however light they come out."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import numpy as np
import pytest
from noisy_problems import infeasible, problem
from refine_cases import small_arm
from seeds import cases

from ident.errors import EstimationError, InfeasibleError
from ident.estimate import Bounds, ConstantPullback, Ellipsoid, Estimate, Prior, estimated, intervals, refine_cad
from ident.estimate.cones import Coordinates, require_possible
from ident.estimate.estimate import written_within
from ident.model import Model
from ident.regression import Regression
from ident.spatial.inertia import pseudo_inertia

#: What the check's own arithmetic may add [m, kg, or without unit].
ROUNDING = 1e-12


def drawn(seed: int) -> tuple[Model, Regression, Prior, Bounds]:
    """Return a problem with bounds of every kind around its prior's bodies, narrow ones and wide ones."""
    rng = np.random.default_rng(seed)
    if seed % 3:
        model, regression, prior = problem(seed)
    else:
        case = small_arm(seed)
        model, regression, prior = case.model, case.regression, case.prior
    mass, com, shape, box = {}, {}, {}, {}
    for link, body in zip(model.robot.links, prior.inertials, strict=True):
        m, c = body[0], body[1:4] / body[0]
        s = np.sqrt(np.maximum(np.diag(pseudo_inertia(body))[:3] / m - c**2, 1e-12))
        kind = rng.integers(0, 6)
        if kind == 1:
            mass[link] = tuple(np.sort(m * 10.0 ** rng.uniform(-2, 0.3, 2)).tolist())
        if kind in (2, 5):
            com[link] = tuple(zip(c - rng.uniform(0.01, 1, 3) * s, c + rng.uniform(0.01, 1, 3) * s, strict=True))
        if kind == 3:
            shape[link] = Ellipsoid(c + 0.3 * rng.normal(size=3) * s, np.diag(s * rng.uniform(1.9, 4, 3)))
        if kind == 4:
            box[link] = tuple(zip(c - rng.uniform(1.2, 4, 3) * s, c + rng.uniform(1.2, 4, 3) * s, strict=True))
        if kind == 5:
            mass[link] = (0.0, float(m * 10.0 ** rng.uniform(-2, 0.3)))
    most = float(prior.inertials[:, 0].sum() * rng.uniform(0.3, 1.2))
    total = (0.0, most) if rng.random() < 0.4 else None
    return model, regression, prior, Bounds(mass=mass, com=com, ellipsoid=shape, box=box, total_mass=total)


def fitted(seed: int) -> tuple[Model, Bounds, Estimate]:
    model, regression, prior, bounds = drawn(seed)
    rng = np.random.default_rng(1000 + seed)
    if rng.random() < 0.25:
        return model, bounds, refine_cad(model, regression, prior, metric=ConstantPullback(), bounds=bounds).estimate
    weight = 0.0 if rng.random() < 0.7 else float(10.0 ** rng.uniform(-6, 0))
    return model, bounds, estimated(model, regression, prior, weight=weight, bounds=bounds)


def outside(model: Model, bounds: Bounds, bodies: np.ndarray) -> float:
    """Return how far the worst number lies outside: masses [kg], centres [m], means of polynomials over the mass."""
    worst = 0.0
    for link, body in zip(model.robot.links, bodies, strict=True):
        m, M = body[0], pseudo_inertia(body) / (body[0] or 1.0)
        low, high = bounds.mass.get(link, (0.0, np.inf))
        worst = max(worst, low - m, m - high)
        if m == 0.0:
            continue
        for box in (bounds.com.get(link), bounds.box.get(link)):
            for axis, (low, high) in enumerate(box or ()):
                worst = max(worst, low - M[axis, 3], M[axis, 3] - high)
        for axis, (low, high) in enumerate(bounds.box.get(link, ())):
            worst = max(worst, M[axis, axis] - (low + high) * M[axis, 3] + low * high)
        if link in bounds.ellipsoid:
            inverse = np.linalg.inv(bounds.ellipsoid[link].axes)
            turned = np.column_stack([inverse, -inverse @ bounds.ellipsoid[link].centre])
            worst = max(worst, np.trace(turned @ M @ turned.T) - 1.0)
    if bounds.total_mass is not None:
        worst = max(worst, bodies[:, 0].sum() - bounds.total_mass[1])
    return float(worst)


@pytest.mark.slow
def test_bodies_as_written_keep_their_bounds_whatever_their_mass():
    light, found = 0, {}
    for seed in range(cases(20)):
        model, bounds, estimate = fitted(seed)
        assert infeasible(model, estimate.theta) == []
        light += bool((estimate.inertials[:, 0] < 1e-6).any())
        if (far := outside(model, bounds, estimate.inertials)) > ROUNDING:
            found[seed] = far
    assert light > cases(20) // 10
    assert found == {}


def test_a_speck_outside_of_its_box_is_moved_inside_and_nothing_else_moves():
    case = small_arm(1)
    first, second, third = case.model.robot.links[:3]
    bodies = case.prior.inertials.copy()
    c = bodies[1, 1:4] / bodies[1, 0]
    bodies[1] *= 1e-12
    bounds = Bounds(com={second: tuple((x + 0.1, x + 0.2) for x in c)}, pinned={f"{first}.m": bodies[0, 0]})
    theta = np.append(bodies.ravel(), case.theta[case.model.n_rigid :])
    moved = written_within(case.model, theta, case.prior, bounds)
    assert outside(case.model, bounds, moved[: case.model.n_rigid].reshape(-1, 10)) == 0.0
    elsewhere = np.r_[0:10, 20 : len(theta)]
    np.testing.assert_allclose(moved[elsewhere], theta[elsewhere], rtol=1e-6, atol=1e-9)
    none = Bounds(mass={third: (2.0 * bodies[2, 0], np.inf)}, total_mass=(0.0, bodies[2, 0]))
    with pytest.raises(InfeasibleError, match=f"breaks its bounds .*{third}: mass at its bound"):
        written_within(case.model, theta, case.prior, none)


def test_bounds_without_room_are_kept_as_near_as_their_digits():
    case = small_arm(1)
    m = case.prior.inertials[:, 0]
    bounds = Bounds(
        mass={link: (0.5 * x, 9.0) for link, x in zip(case.model.robot.links, m, strict=True)},
        total_mass=(0.0, 0.5 * m.sum()),
    )
    estimate = estimated(case.model, case.regression, case.prior, weight=0.0, bounds=bounds)
    np.testing.assert_allclose(estimate.inertials[:, 0], 0.5 * m, rtol=1e-6)


TWO = {"mass": {"link0": (1.0, 2.0)}, "total_mass": (0.1, 0.5)}


@pytest.mark.parametrize(
    ("bounds", "named"),
    [
        (Bounds(**TWO, com={"link2": ((0.0, 1.0),) * 3}), "these bounds together: link0: mass; total mass."),
        (Bounds(pinned={"link0.Ixx": -1.0}), "these bounds: link0.Ixx pinned at -1."),
        (
            Bounds(pinned={"link1.Ixx": 1.0, "link1.Iyy": 1.0, "link1.Izz": 2.001}),
            "these bounds together: link1.Ixx pinned at 1; link1.Iyy pinned at 1; link1.Izz pinned at 2.001.",
        ),
        (
            Bounds(equal=(("link0", "link1"),), pinned={"link0.m": 1.0, "link1.m": 1.1}),
            "these bounds together: link0.m pinned at 1; link1.m pinned at 1.1; link1 equal to link0.",
        ),
    ],
)
def test_bounds_that_exclude_each_other_are_named_by_every_way_and_at_once(bounds, named):
    case = small_arm(0)
    given = case.model, case.regression, case.prior
    for way in (
        lambda: estimated(*given, weight=0.0, bounds=bounds),
        lambda: estimated(*given, weight=0.1, bounds=bounds),
        lambda: estimated(*given, bounds=bounds, weight="vanishing"),
        lambda: estimated(*given, bounds=bounds, weight="cross-validated"),
        lambda: refine_cad(*given, metric=ConstantPullback(), bounds=bounds),
        lambda: intervals(*given, bounds=bounds),
    ):
        start = time.process_time()
        with pytest.raises(EstimationError, match=re.escape(f"no links that can exist keep {named}")):
            way()
        assert time.process_time() - start < 5.0


@pytest.mark.parametrize("known", [{"com": {"link1": ((0.1, 0.2), (-1, 1), (-1, 1))}}, {"pinned": {"link1.cx": 0.1}}])
def test_bounds_that_only_a_link_without_mass_keeps_exclude_each_other(known):
    case = small_arm(0)
    coordinates = Coordinates.of(case.model, case.prior, case.regression.factor(np.ones(3)), case.regression.base)
    bounds = Bounds(box={"link1": ((0.0, 0.05), (-0.1, 0.1), (-0.1, 0.1))}, **known)
    with pytest.raises(EstimationError, match=r"together: .*surface of its shape.* Loosen one"):
        require_possible(case.model, bounds, coordinates)
    touching = {"link1": ((0.0, 0.1), (-0.1, 0.1), (-0.1, 0.1))}
    require_possible(case.model, replace(bounds, box=touching), coordinates)


def test_what_can_just_be_met_is_not_refused():
    case = small_arm(0)
    coordinates = Coordinates.of(case.model, case.prior, case.regression.factor(np.ones(3)), case.regression.base)
    thin = {"link1.Ixx": 1.0, "link1.Iyy": 1.0, "link1.Izz": 2.0}
    for size in (1e-5, 1.0, 1e5):
        mass = dict.fromkeys(case.model.robot.links, (size, 2.0 * size))
        bounds = Bounds(mass=mass, total_mass=(0.0, 3.0 * size), pinned={name: size * x for name, x in thin.items()})
        require_possible(case.model, bounds, coordinates)
        with pytest.raises(EstimationError, match="total mass"):
            require_possible(case.model, replace(bounds, total_mass=(0.0, 2.99 * size)), coordinates)
