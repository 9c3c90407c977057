"""Refining a CAD table: optimal by conditions checked without the solver, bounds kept, shares, any size of robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from doctor_cases import case as doctor_case
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import bregman
from refine_cases import Case, arm5, small_arm
from seeds import cases

from ident.compare.doctor.evidence import usual_errors
from ident.errors import ModelError
from ident.estimate import (
    Bounds,
    ConstantPullback,
    Ellipsoid,
    Euclidean,
    Prior,
    Tolerances,
    cad_prior,
    confidence_region,
    refine_cad,
)
from ident.estimate.bounds import box_rows, ellipsoid_row
from ident.estimate.cones import Block, ConeProgram, _spectrum, edge, fixed
from ident.estimate.interval import natural
from ident.estimate.least_squares import joint_noise
from ident.estimate.prior import natural_jacobian
from ident.estimate.refined import data_share
from ident.logs.motion import Motion
from ident.model import Coulomb, DriveInertia, Model, Viscous, torque
from ident.regression import compress
from ident.robot.urdf import parse_urdf
from ident.spatial.inertia import consistency, from_com, pseudo_inertia, to_com

WIDE = Tolerances(mass=0.13, centre=0.01, tensor=0.13)


def residual(case: Case, estimate) -> float:
    return float(np.sum(case.regression.squared_residuals(estimate.phi) / estimate.sigma**2))


def test_the_metrics_agree_where_they_should():
    """Pull-back against the divergence's second order; tolerances against finite differences of (m, c, I_c)."""
    rng = np.random.default_rng(0)
    prior = small_arm(0).prior
    root = ConstantPullback().root(prior)
    step = 1e-4 * rng.normal(size=prior.inertials.shape) * prior.inertials[:, :1] * 0.05
    divergence = sum(bregman(b + s, b) for b, s in zip(prior.inertials, step, strict=True))
    assert 0.5 * np.sum((root @ step.ravel()) ** 2) == pytest.approx(divergence, rel=1e-2)
    m, c, inertia = 2.0, np.array([0.1, -0.2, 0.3]), np.diag([0.3, 0.4, 0.5])
    D = natural_jacobian(m, c)
    upper = np.triu_indices(3)
    for k in range(10):
        x = np.concatenate([[m], c, inertia[upper]])
        ends = []
        for h in (1e-6, -1e-6):
            y = x.copy()
            y[k] += h
            tensor = np.zeros((3, 3))
            tensor[upper] = y[4:]
            ends.append(from_com(y[0], y[1:4], tensor + np.triu(tensor, 1).T))
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-6, D[:, k], rtol=0, atol=1e-8)


@pytest.mark.slow
def test_three_metrics_reach_one_residual_and_only_the_entropic_one_keeps_off_the_edge():
    edges = {"entropic": 0, "Euclidean": 0}
    for seed in range(3):
        case = arm5(seed)
        found = {
            "entropic": refine_cad(case.model, case.regression, case.prior),
            "Euclidean": refine_cad(case.model, case.regression, case.prior, metric=Euclidean()),
            "pull-back": refine_cad(case.model, case.regression, case.prior, metric=ConstantPullback()),
        }
        sums = [residual(case, r.estimate) for r in found.values()]
        assert max(sums) / min(sums) - 1.0 < 1e-5
        distance = {}
        for name, r in found.items():
            assert all(consistency(body).consistent for body in r.estimate.inertials)
            distance[name] = sum(bregman(*b) for b in zip(r.estimate.inertials, case.prior.inertials, strict=True))
            if name in edges:
                edges[name] += int(np.sum(_spectrum(r.estimate.inertials, case.prior)[0][:, 0] < 1e-7))
        assert distance["entropic"] < distance["Euclidean"]
        for metric, name in ((Euclidean(), "Euclidean"), (ConstantPullback(), "pull-back")):
            root = metric.root(case.prior)
            far = {
                k: np.linalg.norm(root @ (r.estimate.inertials - case.prior.inertials).ravel())
                for k, r in found.items()
            }
            assert far[name] <= min(far.values()) * (1 + 1e-4)
    assert edges["entropic"] == 0
    assert edges["Euclidean"] >= 5


def test_weighted_by_tolerances_is_least_squares_of_both_where_nothing_binds():
    """Against one stacked lstsq, and the shares against errors planted one by one."""
    case = small_arm(0)
    case = replace(
        case,
        prior=Prior(
            case.prior.inertials, "cad", dict(zip(case.model.names[30:], case.theta[30:].tolist(), strict=True))
        ),
    )
    narrow = Tolerances(mass=0.01, centre=1e-3, tensor=0.01, joint=0.05)
    found = refine_cad(case.model, case.regression, case.prior, metric=narrow)
    assert found.estimate.active == ()
    region = confidence_region(case.regression, joint_noise(case.regression))
    data = region.W @ case.regression.base.K / np.sqrt(region.inflation)
    root = np.zeros((len(case.theta), len(case.theta)))
    root[:30, :30] = narrow.root(case.prior)
    root[30:, 30:] = np.diag(1.0 / (0.05 * case.theta[30:]))
    start = np.append(case.prior.inertials.ravel(), case.theta[30:])
    right = np.concatenate([region.W @ region.centre / np.sqrt(region.inflation), root @ start])
    scale = np.linalg.norm(root, axis=0)
    theta = np.linalg.lstsq(np.concatenate([data, root]) / scale, right)[0] / scale
    np.testing.assert_allclose((found.estimate.theta - theta) @ root.T, 0.0, atol=1e-4)
    # shares: 1 - posterior variance / prior variance of m, c and the tensor about c, their slopes by differences
    after, before = np.linalg.inv(data.T @ data + root.T @ root), np.linalg.inv(root.T @ root)
    for i, body in enumerate(found.estimate.inertials):
        slope = np.zeros((10, len(case.theta)))
        for k in range(10):
            step = 1e-6 * np.eye(10)[k]
            slope[:, 10 * i + k] = (central(body + step) - central(body - step)) / 2e-6
        wanted = 1.0 - np.diag(slope @ after @ slope.T) / np.diag(slope @ before @ slope.T)
        shown = found.numbers[10 * i : 10 * i + 10]
        np.testing.assert_allclose([n.data_share for n in shown], wanted, atol=1e-5)
        np.testing.assert_allclose([n.refined for n in shown], central(body), rtol=1e-12)
        np.testing.assert_allclose([n.cad for n in shown], central(case.prior.inertials[i]), rtol=1e-12)


def central(body: np.ndarray) -> np.ndarray:
    m, c, inertia = to_com(body)
    return np.concatenate([[m], c, inertia[np.triu_indices(3)]])


@pytest.mark.slow
def test_shares_are_all_or_nothing_where_the_logs_are():
    data = np.diag([1e3, 1.0, 0.0])
    np.testing.assert_allclose(data_share(data, np.eye(3), np.eye(3)), [1.0, 0.5, 0.0], atol=1e-5)
    np.testing.assert_allclose(data_share(data, np.eye(3), np.eye(3), first=True), [1.0, 1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(data_share(data, np.eye(3), np.array([[1.0, 0.0, 1.0]]), first=True), [0.5])
    for seed in range(3):
        case = small_arm(seed)
        for found in (
            refine_cad(case.model, case.regression, case.prior),
            refine_cad(case.model, case.regression, case.prior, metric=WIDE),
        ):
            shares = np.array([n.data_share for n in found.numbers])
            assert (shares > -1e-9).all()
            assert (shares < 1 + 1e-9).all()
    case = arm5(0)
    by_name = {n.name: n for n in refine_cad(case.model, case.regression, case.prior).numbers}
    # the logs alone give link 2's Ixy about the frame's origin; about the centre it takes the mass and centre as well
    assert "link2.Ixy" in case.regression.base.identifiable
    assert 0.5 < by_name["link2.Ixy"].data_share < 0.9
    assert by_name["link5.Izz"].data_share > 0.99
    assert by_name["link1.m"].data_share < 1e-6  # its axis stands along gravity


def second_moment(body: np.ndarray) -> np.ndarray:
    """Return integral r r^T dm / m about the centre of mass, (3, 3) [m^2]."""
    m, c, _ = to_com(body)
    return pseudo_inertia(body)[:3, :3] / m - np.outer(c, c)


@pytest.mark.parametrize("tolerance", [0.13, 0.5])
def test_radii_of_gyration_under_tolerances_stop_at_their_share_of_the_priors(tolerance):
    """Tensors of a hundred times the truth are pulled down until 1 / (2 + 2 t) of the radius is left along an axis."""
    case = small_arm(2)
    large = np.array([from_com(m, c, 100.0 * inertia) for m, c, inertia in map(to_com, case.prior.inertials)])
    prior, tolerances = replace(case.prior, inertials=large), replace(WIDE, tensor=tolerance)
    found = refine_cad(case.model, case.regression, prior, metric=tolerances).estimate.inertials
    for body, before in zip(found, large, strict=True):
        unit = np.linalg.inv(np.linalg.cholesky(second_moment(before)))
        least = np.linalg.eigvalsh(unit @ second_moment(body) @ unit.T)[0]
        assert least == pytest.approx(1.0 / (2.0 + 2.0 * tolerance) ** 2, rel=1e-4)


def test_refined_is_nearer_to_the_truth_than_cad_and_the_fit_within_its_errors():
    """Draws of the five-joint arm; the benchmark has two hundred."""
    z, after, before = [], [], []
    for seed in range(cases(12)):
        case = arm5(seed)
        centres = np.linalg.norm(natural(case.prior.inertials)[0][:, 1:4], axis=1)
        tolerances = Tolerances(0.13, tuple((0.075 * centres).tolist()), 0.13)
        estimate = refine_cad(case.model, case.regression, case.prior, metric=tolerances).estimate
        z.append((estimate.phi - case.regression.base.K @ case.theta) / estimate.covariance.standard_errors)
        truth, size = natural(case.theta[: case.model.n_rigid].reshape(-1, 10))
        after.append(np.sqrt(np.mean(((natural(estimate.inertials)[0] - truth) / size) ** 2)))
        before.append(np.sqrt(np.mean(((natural(case.prior.inertials)[0] - truth) / size) ** 2)))
    assert np.sqrt(np.mean(np.square(z))) < 1.0
    assert np.median(after) < np.median(before)
    assert max(after) < max(before)


def test_cross_validation_is_the_existing_one_with_shares():
    case = small_arm(1)
    found = refine_cad(case.model, case.regression, case.prior, weights=(0.01, 0.1, 1.0), weight="cross-validated")
    assert found.estimate.weight in (0.01, 0.1, 1.0)
    assert len(found.numbers) == 10 * case.model.robot.n


WAYS = {
    "entropic": lambda c, b: refine_cad(c.model, c.regression, c.prior, bounds=b),
    "pull-back": lambda c, b: refine_cad(c.model, c.regression, c.prior, metric=ConstantPullback(), bounds=b),
    "weighted": lambda c, b: refine_cad(c.model, c.regression, c.prior, metric=WIDE, bounds=b),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_every_bound_is_kept_and_named(way):
    case = small_arm(1)
    robot = case.model.robot
    first, second, third, *_ = robot.links
    bodies = case.prior.inertials
    m, c = bodies[2, 0], bodies[2, 1:4] / bodies[2, 0]
    spread = np.sqrt(np.diag(pseudo_inertia(bodies[2]))[:3] / m)
    box = tuple((float(x - 2.2 * s), float(x + 1.5 * s)) for x, s in zip(c, spread, strict=True))
    ball = Ellipsoid(
        bodies[1, 1:4] / bodies[1, 0],
        1.7 * np.eye(3) * np.sqrt(np.trace(pseudo_inertia(bodies[1])[:3, :3]) / bodies[1, 0]),
    )
    bounds = Bounds(
        total_mass=(0.5 * bodies[:, 0].sum(), 0.6 * bodies[:, 0].sum()),
        ellipsoid={second: ball},
        box={third: box},
        pinned={f"{first}.m": 0.5 * bodies[0, 0], f"{third}.cx": float(c[0]), f"{first}.Ixx": bodies[0, 4]},
    )
    estimate = way(case, bounds).estimate
    links = estimate.inertials
    assert links[0, 0] == pytest.approx(0.5 * bodies[0, 0], rel=1e-6)
    assert links[0, 4] == pytest.approx(bodies[0, 4], rel=1e-6)
    assert links[2, 1] / links[2, 0] == pytest.approx(c[0], rel=1e-5)
    assert 0.5 * bodies[:, 0].sum() * (1 - 1e-6) <= links[:, 0].sum() <= 0.6 * bodies[:, 0].sum() * (1 + 1e-6)
    assert ellipsoid_row(ball) @ links[1] >= -1e-12 * links[1, 0]
    assert (box_rows(box) @ links[2] >= -1e-12 * links[2, 0]).all()
    assert f"{third}.cx pinned at {c[0]:g}" in estimate.active
    assert any("total mass" in a for a in estimate.active)
    assert all(consistency(body).consistent for body in links)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_links_equal_by_design_come_out_equal(way):
    case = small_arm(2)
    first, _, third = case.model.robot.links[:3]
    found = way(case, Bounds(equal=((first, third),))).estimate
    np.testing.assert_allclose(found.inertials[0], found.inertials[2], rtol=1e-5, atol=1e-7 * found.inertials[0, 0])
    assert f"{third} equal to {first}" in found.active


def test_shapes_hold_exactly_what_lies_inside():
    """Clouds of points inside give non-negative rows, points outside negative ones; extreme clouds give zero."""
    rng = np.random.default_rng(3)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    shape = Ellipsoid([0.1, -0.2, 0.3], turn * [0.5, 0.2, 0.1])
    box = ((-0.2, 0.4), (0.1, 0.3), (-0.5, -0.1))

    def point(x):
        return from_com(1.0, x, np.zeros((3, 3)))

    on = rng.normal(size=(50, 3))
    on /= np.linalg.norm(on, axis=1)[:, None]
    for u in on:
        assert ellipsoid_row(shape) @ point(shape.centre + shape.axes @ u) == pytest.approx(0.0, abs=1e-9)
        assert ellipsoid_row(shape) @ point(shape.centre + 0.9 * shape.axes @ u) > 0
        assert ellipsoid_row(shape) @ point(shape.centre + 1.1 * shape.axes @ u) < 0
    low, high = np.array(box).T
    for u in rng.uniform(size=(50, 3)):
        assert (box_rows(box) @ point(low + u * (high - low)) >= -1e-12).all()
    for axis in range(3):
        assert (box_rows(box) @ point(0.5 * (low + high) + 0.6 * (high - low) * np.eye(3)[axis])).min() < 0
    with pytest.raises(ModelError, match="flat"):
        Ellipsoid([0, 0, 0], np.diag([1.0, 1.0, 0.0]))


def test_what_three_axes_of_a_box_say_together():
    """Clouds keep all rows. Around the centre, moments u_i u_j of 0.14 break only 1 - sum u_i + sum u_i u_j >= 0."""
    rng = np.random.default_rng(4)
    box = ((-0.2, 0.4), (0.1, 0.3), (-0.5, -0.1))
    low, high = np.array(box).T
    side = high - low
    corners = np.array([[k & 1, k >> 1 & 1, k >> 2] for k in range(8)], dtype=float)
    for x in [*corners, *rng.beta(0.2, 0.2, size=(200, 3))]:
        assert (box_rows(box) @ from_com(1.0, low + x * side, np.zeros((3, 3))) >= -1e-12).all()
    for near in ([0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]):
        sign = 1.0 - 2.0 * np.array(near)
        second = 0.25 * np.eye(3) + (0.14 - 0.25) * (1.0 - np.eye(3))
        spread = second * np.outer(sign * side, sign * side)
        body = from_com(2.0, 0.5 * (low + high), 2.0 * (np.trace(spread) * np.eye(3) - spread))
        assert consistency(body).consistent
        found = box_rows(box) @ body
        assert (found[:15] >= -1e-12).all()
        assert np.sum(found < -1e-12) == 1
        assert found.min() == pytest.approx(2.0 * (1.0 - 1.5 + 3 * 0.14), rel=1e-9)


def sized(seed: int, mass: float, length: float) -> Case:
    """Return an arm of two links of about this mass and length, moved so that gravity and inertia count alike."""
    rng = np.random.default_rng(seed)
    links = ['<link name="base"/>']
    for i in (1, 2):
        links.append(f'<link name="link{i}"/>')
        links.append(
            f'<joint name="joint{i}" type="revolute"><child link="link{i}"/><parent link="{("base", "link1")[i - 1]}"/>'
            f'<origin xyz="{length if i == 2 else 0} 0 0" rpy="0 {0.7 * i} 0"/><axis xyz="0 1 {i - 1}"/>'
            '<limit lower="-2" upper="2" effort="1" velocity="9"/></joint>'
        )
    robot = parse_urdf(("<robot name='r'>" + "".join(links) + "</robot>").encode())
    model = Model(robot, (DriveInertia(), Viscous(), Coulomb()))
    bodies = []
    for _ in range(2):
        m, c = mass * rng.uniform(0.5, 2.0), length * rng.uniform(-0.4, 0.4, 3)
        half = rng.normal(size=(3, 3)) * 0.2 * length
        S = half @ half.T
        bodies.append(from_com(m, c, m * (np.trace(S) * np.eye(3) - S)))
    t = np.arange(300) * 0.02 * np.sqrt(length)
    w = np.array([2.0, 3.1]) / np.sqrt(length)
    q, qd, qdd = np.sin(w * t[:, None]), w * np.cos(w * t[:, None]), -(w**2) * np.sin(w * t[:, None])
    gravity = mass * 9.81 * length
    terms = gravity * np.repeat([0.01 * length / 9.81, 0.02, 0.02], 2)
    theta = np.concatenate([np.ravel(bodies), terms])
    tau = torque(model, theta, q, qd, qdd) + 0.01 * gravity * rng.normal(size=q.shape)
    motion = Motion(
        "log", t, q, qd, qdd, tau, np.ones(q.shape, bool), (), tuple((k, k + 30) for k in range(0, 300, 30))
    )
    cad = np.array(bodies) * rng.uniform(0.85, 1.15, (2, 1))
    return Case(model, compress(model, motion), Prior(cad, "cad"), theta)


@settings(max_examples=cases(12))
@given(st.integers(0, 1000), st.floats(-3.0, np.log10(500.0)), st.floats(-1.7, 0.4))
def test_from_fingers_of_a_gram_to_arms_of_half_a_ton(seed, mass, length):
    case = sized(seed, 10.0**mass, 10.0**length)
    for way in WAYS.values():
        found = way(case, Bounds(total_mass=(0.0, 1.2 * case.prior.inertials[:, 0].sum())))
        assert found.estimate.warnings == ()  # no second solver
        assert all(consistency(body).consistent for body in found.estimate.inertials)
        assert found.estimate.relative_total < 0.2
        assert edge(found.estimate.inertials, case.prior) > -1e-6


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (Bounds(pinned={"link9.m": 1.0}), "the model has no parameter 'link9.m'"),
        (Bounds(pinned={"link0.m": float("nan")}), "'link0.m' is pinned at nan"),
        (Bounds(box={"link0": ((0, 1), (0, 0), (0, 1))}), "the bounds on the box of link0, axis y are empty"),
        (Bounds(equal=(("link0", "link1"), ("link1", "link2"))), "a link stands twice"),
        (Bounds(equal=(("link0", "lnik1"),)), "did you mean 'link1'"),
    ],
)
def test_bounds_without_sense_are_named(bounds, message):
    case = small_arm(0)
    with pytest.raises(ModelError, match=message):
        refine_cad(case.model, case.regression, case.prior, metric=WIDE, bounds=bounds)


def test_tolerances_without_sense_are_named():
    with pytest.raises(ModelError, match="tolerance of the mass must be positive, got 0"):
        Tolerances(mass=0.0)
    with pytest.raises(ModelError, match="tolerances of the centre are 2, wanted one or 3"):
        Tolerances(centre=(1e-3, 1e-3)).root(small_arm(0).prior)


def test_the_cone_program_says_how_it_ended():
    row = np.array([[1.0, 0.0]])
    positive = Block(row, np.zeros(1), "nonnegative")
    program = ConeProgram([positive, fixed(np.array([0.0, 1.0]), 3.0)])
    assert program.minimise(np.array([1.0, 1.0])).lower == pytest.approx(3.0, abs=1e-6)
    assert program.minimise(np.array([-1.0, 0.0])).status == "unbounded"
    assert (
        ConeProgram([positive, Block(-row, -np.ones(1), "nonnegative")]).minimise(np.array([1.0, 0.0])).status
        == "infeasible"
    )


def test_gains_and_zeros_that_are_off_do_not_move_a_right_table():
    """Logs that may be off so say little of what CAD states to a few per cent; those that are exact say as before."""
    sums = np.zeros((3, 3))  # of three arms: as given, refined by logs that are taken for exact, and for usual ones
    for seed in range(3):
        c = doctor_case(1100 + seed, 0)
        rng, n = np.random.default_rng(seed), c.model.robot.n
        gains, zeros = 1.0 + 0.03 * rng.standard_normal(n), np.deg2rad(0.25) * rng.standard_normal(n)
        motion = replace(c.motion, tau=c.motion.tau * gains, q=c.motion.q + zeros)
        regression, prior = compress(c.model, motion), cad_prior(c.model.robot, c.cad, "CAD")
        metric, usual = Tolerances(0.02, 0.002, 0.02), usual_errors(c.model, regression, 0.04, 0.005, [motion])
        none, plain, wide = (
            refine_cad(c.model, regression, prior, metric=metric, errors=e) for e in (0.0 * usual, None, usual)
        )
        for one, two in zip(none.numbers, plain.numbers, strict=True):
            assert one.refined == pytest.approx(two.refined, rel=1e-4, abs=1e-7)
            assert one.data_share == pytest.approx(two.data_share, abs=1e-4)
        truth, size = natural(c.bodies)
        for k, bodies in enumerate((c.cad, plain.estimate.inertials, wide.estimate.inertials)):
            sums[seed, k] = float(np.sum(np.abs(natural(bodies)[0] - truth) / size))
    assert (sums[:, 2] < 1.1 * sums[:, 0]).all()
    assert sums[:, 2].sum() < 0.9 * sums[:, 1].sum()
