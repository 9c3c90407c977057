"""`ident select`: joint terms that logs support, from simulated arms with known ones to the lines to paste."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path
from shutil import copytree
from types import SimpleNamespace

import numpy as np
import pytest
from oracles import random_tree
from synthetic import states
from test_cli import BROKEN, EXPERIMENT, call, record

import ident
from ident.estimate import cad_prior
from ident.estimate.estimate import FittedShape, Structure, TriedTerm
from ident.estimate.least_squares import joint_noise, solve
from ident.experiment import read_experiment
from ident.files import CHOSEN
from ident.logs.motion import Motion, split
from ident.model import (
    Balancer,
    BalancerSpring,
    Coulomb,
    DriveInertia,
    Hysteresis,
    LoadFriction,
    Model,
    NonlinearViscous,
    Offset,
    RippleCosine,
    RippleSine,
    SmoothCoulomb,
    Spring,
    Stribeck,
    Thermal,
    Viscous,
    ViscousAsymmetry,
    WarmUp,
    torque,
)
from ident.model.terms import lines
from ident.pipelines.loaded import Loaded
from ident.pipelines.select import tilt_in_place_of_springs, without_idle
from ident.regression import base_parameters, compress
from ident.regression.regression import restricted
from ident.report.outcome_text import examination_sentences, lines_in, shape_sentence
from ident.robot import Robot
from ident.spatial.inertia import axis_angle
from ident.structure import Selection, selected
from ident.structure.candidates import Candidate, Slope, candidates
from ident.structure.judge import (
    GROWS,
    Evidence,
    Judge,
    clustered,
    compared,
    folds,
    joined,
    shortened,
    told_by_the_rest,
)
from ident.structure.shapes import as_usual, beyond, fitted_shapes
from ident.structure.waves import apart, rippled, shifted, strongest
from ident.structure.widths import peaks, wide

USUAL = (DriveInertia(), Viscous(), Coulomb(), Offset())


def moved(model: Model, extra: tuple, values: list[float], noise: float = 0.002, seed: int = 3, rests=()) -> Motion:
    """Return 40 s of a motion of an arm with usual friction of 1 and extra terms with these values at all joints."""
    rng, n = np.random.default_rng(seed), model.robot.n
    truth = Model(model.robot, (*USUAL, *extra))
    own = np.concatenate([np.full(n, x) for x in (0.2, 1.0, 1.0, 0.0, *values)])
    theta = np.concatenate([model.robot.inertials.ravel(), own])
    _, q, qd, qdd = states(rng, n, 4000)
    t = np.arange(4000) * 0.01
    for j in rests:
        q[:, j], qd[:, j], qdd[:, j] = q[0, j], 0.0, 0.0
    tau = torque(truth, theta, q, qd, qdd)
    tau = tau + noise * tau.std(axis=0) * rng.normal(size=tau.shape)
    return Motion("log", t, q, qd, qdd, tau, np.ones(q.shape, dtype=bool))


@pytest.fixture(scope="module")
def arm() -> Model:
    return Model(random_tree(np.random.default_rng(5), 3, branches=False), USUAL)


def chosen(arm: Model, motion: Motion, inertials=None):
    return selected(arm, [motion], cad_prior(arm.robot, arm.robot.inertials, "CAD"), base_parameters(arm), inertials)


def kinds(selection) -> set[str]:
    return {term.kind.name for term in selection.terms}


def test_nothing_is_chosen_where_there_is_nothing(arm):
    found = chosen(arm, moved(arm, (), []), arm.robot.inertials)
    assert found.terms == ()
    assert found.model is arm
    assert found.structure.after == found.structure.before
    assert all(one.reason for one in found.structure.tried)


@pytest.mark.parametrize(
    ("extra", "value"),
    [(Hysteresis(3e-3), 1.0), (NonlinearViscous(0.3), 1.0), (ViscousAsymmetry(), 0.4), (Spring(), 3.0)],
)
def test_what_is_there_is_found_at_all_joints_and_nothing_else(arm, extra, value):
    found = chosen(arm, moved(arm, (extra,), [value]))
    assert kinds(found) == {extra.kind.name}
    assert {j for term in found.terms for j in term.joints} == set(arm.robot.joint_names)
    assert found.structure.after < 0.9 * found.structure.before
    assert found.structure.after <= 1.05 * found.structure.honest
    taken = [one for one in found.structure.tried if not one.reason]
    assert [one.kind for one in taken] == [extra.kind.name]


def test_a_spring_gives_way_to_a_tilted_base_and_to_nothing_else(arm):
    prior, base = cad_prior(arm.robot, arm.robot.inertials, "CAD"), base_parameters(arm)
    spring = TriedTerm("a spring", Spring.kind.name, 0.3, 0.01)
    said = Selection(arm, Structure(tried=(spring,)), (Spring(),))
    tilted = replace(arm, robot=arm.robot.with_gravity(axis_angle([0, 1, 0], 0.1) @ arm.robot.gravity))
    blocks = tuple(split(0, 4000, 200)[0])
    motion, sprung = (replace(m, blocks=blocks) for m in (moved(tilted, (), []), moved(arm, (Spring(),), [3.0])))
    reason = tilt_in_place_of_springs(arm, [motion], prior, said)
    assert reason.startswith("a tilted base takes")
    assert tilt_in_place_of_springs(arm, [sprung], prior, said) == ""
    found = selected(arm, [motion], prior, base, aside={Spring.kind.name: reason})
    assert Spring.kind.name not in kinds(found)
    assert reason in {one.reason for one in found.structure.tried}


@pytest.mark.parametrize("rate", [0.0, 4.0])
def test_a_balancer_that_nobody_declared_is_found_with_its_geometry(arm, rate):
    pull = Balancer(1.2, 1.0, 0.4, joints=(arm.robot.joint_names[1],))
    spring = BalancerSpring(pull.dead, pull.fixed, pull.crank, pull.joints)
    motion = moved(arm, (), [])
    tau, q, size = motion.tau.copy(), motion.q[:, 1], 4.0 * motion.tau[:, 1].std()
    tau[:, 1] += size * (pull.column(q, 0 * q, 0 * q) + rate * spring.column(q, 0 * q, 0 * q))
    found = chosen(arm, replace(motion, tau=tau))
    assert kinds(found) == ({"balancer", "balancer_spring"} if rate else {"balancer"})
    for term in found.terms:
        assert term.joints == pull.joints
        assert (term.dead, term.crank) == pytest.approx((pull.dead, pull.crank), abs=0.02)
    shapes = {shape.number: shape for shape in found.structure.shapes}
    assert set(shapes) == {"dead", "crank"}
    assert all(abs(np.log(s.values[0] / getattr(pull, s.number))) < 2 * s.half < 0.1 for s in shapes.values())


@pytest.mark.parametrize(("share", "taken"), [(0.07, False), (0.5, True)])
def test_a_pull_that_takes_less_than_a_tenth_of_its_joints_torque_is_no_balancer(arm, share, taken):
    pull = Balancer(1.2, 1.0, 0.4, joints=(arm.robot.joint_names[1],))
    motion = moved(arm, (), [])
    column = pull.column(motion.q[:, 1], 0 * motion.q[:, 1], 0 * motion.q[:, 1])
    tau, size = motion.tau.copy(), np.sqrt(np.mean(motion.tau[:, 1] ** 2))
    tau[:, 1] += share * size * column / np.sqrt(np.mean(column**2))
    assert ("balancer" in kinds(chosen(arm, replace(motion, tau=tau)))) == taken


def test_a_tilted_base_and_a_wrong_zero_are_no_balancers(arm):
    tilted = replace(arm, robot=arm.robot.with_gravity(axis_angle([0, 1, 0], 0.2) @ arm.robot.gravity))
    motion = moved(arm, (), [])
    for wrong in (moved(tilted, (), []), replace(motion, q=motion.q + np.array([0.0, 0.3, 0.0]))):
        found = chosen(arm, wrong)
        assert "balancer" not in kinds(found)
        assert {one.kind: one for one in found.structure.tried}["balancer"].reason


def test_stribeck_friction_is_found_at_the_nearest_speed(arm):
    share = next(c for c in candidates(arm, [moved(arm, (), [])]) if c.words == "Stribeck below 20 % of the speed")
    found = chosen(arm, moved(arm, share.terms, [1.0]))
    assert kinds(found) == {"stribeck"}
    for term, true in zip(found.terms, share.terms, strict=True):
        assert term.joints == true.joints
        assert term.speed == pytest.approx(true.speed, rel=0.1)


WAVES = (RippleSine(19.3), RippleCosine(19.3))


def test_ripple_is_found_with_its_waves_per_turn_also_beside_friction(arm):
    found = chosen(arm, moved(arm, (*WAVES, NonlinearViscous(0.4)), [0.3, 0.2, 1.0]))
    assert kinds(found) == {"ripple_sine", "ripple_cosine", "nonlinear_viscous"}
    own = [term for term in found.terms if isinstance(term, RippleSine)]
    assert {term.joints for term in own} == {(joint,) for joint in arm.robot.joint_names}
    np.testing.assert_allclose([term.per_turn for term in own], 19.3, rtol=5e-3)
    assert found.structure.honest < 1.05 * found.structure.after


@pytest.mark.parametrize("waves", [(19.3,), (8.0, 60.2)])
def test_the_strongest_waves_of_a_residual_are_those_that_are_in_it(waves):
    rng = np.random.default_rng(1)
    q = 2.0 * np.sin(0.01 * np.arange(5000)) + 0.3 * np.sin(0.037 * np.arange(5000))
    residual = 0.2 * rng.normal(size=len(q)) + sum(np.sin(n * q + n) / (1 + k) for k, n in enumerate(waves)) + q**3
    found = strongest(q, residual, 0.005)
    np.testing.assert_allclose(found[: len(waves)], waves, atol=0.1)
    assert strongest(q[:1], residual[:1], 0.005) == ()
    assert strongest(0.01 * q, residual, 0.005) == ()


def test_a_step_of_the_waves_goes_to_the_right_ones():
    q = np.linspace(-1.5, 1.5, 500)
    terms = rippled([("a", 7.2)])
    columns = np.array([term.column(q, q, q) for term in (*terms, *(Slope(t, ("per_turn",)) for t in terms))])
    np.testing.assert_allclose(columns[2], 7.2 * q * np.cos(7.2 * q), atol=1e-5)
    theta = np.linalg.lstsq(columns.T, 0.3 * np.sin(7.3 * q) + 0.4 * np.cos(7.3 * q), rcond=None)[0]
    assert shifted(terms, theta[:2], theta[2:])[0][1] == pytest.approx(7.3, abs=0.01)


def test_waves_that_came_together_are_one():
    waves = [("a", 34.16), ("a", 33.89), ("b", 34.0), ("a", 43.6), ("a", 39.0)]
    assert apart([], waves) == [("a", 34.16), ("b", 34.0), ("a", 43.6)]
    assert apart([("a", 33.89)], waves[:1]) == [("a", 33.89)]


def warmed(arm: Model, extra: Thermal | WarmUp, value: float, kelvin: float | None) -> Motion:
    """Return 200 s of an arm with a term of temperature or time at all joints; kelvin: how much warmer it gets."""
    plain = moved(arm, (), [])
    t = 5.0 * plain.t
    warm = None if kelvin is None else 20.0 + np.outer(kelvin * (1 - np.exp(-t / 60.0)), np.ones(arm.robot.n))
    beside = {"time": t} | ({} if warm is None else {"temperature": warm})
    columns = Model(arm.robot, (extra,)).term_columns(plain.q, plain.qd, plain.qdd, signals=beside)
    return replace(plain, t=t, tau=plain.tau + value * columns.T, temperature=warm)


def test_friction_that_falls_while_a_joint_warms_up_is_found(arm):
    found = chosen(arm, warmed(arm, WarmUp(50.0), 1.0, None))
    assert kinds(found) == {"warm_up"}
    assert found.terms[0].time == pytest.approx(50.0, rel=0.1)
    why = {one.kind: one.reason for one in found.structure.tried}
    assert why["thermal_viscous"] == "no temperature was logged"
    assert why["warm_up"] == ""


def test_a_temperature_that_changes_stands_before_time(arm):
    found = chosen(arm, warmed(arm, Thermal(20.0), -0.05, 10.0))
    assert kinds(found) == {"thermal_viscous"}
    assert "warm_up" not in {one.kind for one in found.structure.tried}
    steady = chosen(arm, warmed(arm, Thermal(20.0), -0.05, 1.0))
    why = {one.kind: one.reason for one in steady.structure.tried}
    assert why["thermal_viscous"] == "temperatures change by 0.96 K, and it takes 3"


def test_what_the_logs_cannot_carry_is_said(arm):
    tried = {one.kind: one for one in chosen(arm, moved(arm, (), [])).structure.tried}
    assert tried["warm_up"].reason == "the longest log lasts 40 s, and it takes 120"
    assert tried["thermal_viscous"].reason == "no temperature was logged"
    assert tried["load_friction"].reason == "the logs tell no load with which it may grow"
    assert np.isnan(tried["warm_up"].gain)
    assert tried["ripple_sine"].reason


def test_load_friction_goes_with_the_bodies_that_are_given(arm):
    load = LoadFriction.of(arm.robot.inertials, Coulomb())
    motion = moved(arm, (load,), [0.3])
    assert kinds(chosen(arm, motion, arm.robot.inertials)) == {"load_friction"}
    assert "load_friction" not in kinds(chosen(arm, motion))


def test_joints_that_lack_a_term_are_pruned(arm):
    plain, joint = moved(arm, (), []), arm.robot.joint_names[1]
    tau = plain.tau.copy()
    tau[:, 1] += np.abs(plain.qd[:, 1])
    found = chosen(arm, replace(plain, tau=tau))
    assert [(term.kind.name, term.joints) for term in found.terms] == [("viscous_asymmetry", (joint,))]


def test_few_segments_are_said(arm):
    motion = moved(arm, (), [])
    few = replace(motion, q=motion.q[:30], qd=motion.qd[:30], qdd=motion.qdd[:30], tau=motion.tau[:30], t=motion.t[:30],
                  keep=motion.keep[:30], blocks=(), noise=0.0)  # fmt: skip
    found = chosen(arm, few)
    assert found.terms == ()
    assert "short segments" in found.structure.note


def test_joints_at_rest_are_no_candidates(arm):
    motion = moved(arm, (), [])
    qd = motion.qd.copy()
    qd[:, 2] = 0.0
    for candidate in candidates(arm, [replace(motion, qd=qd)]):
        for term in candidate.terms:
            assert arm.robot.joint_names[2] not in term.joints


def test_kinds_that_the_model_has_are_no_candidates(arm):
    richer = replace(arm, terms=(*arm.terms, Spring(), NonlinearViscous(0.2)))
    found = {c.kind.name for c in candidates(richer, [moved(arm, (), [])]) if not c.reason}
    assert found == {"stribeck", "hysteresis", "viscous_asymmetry"}


def test_recordings_are_the_folds_where_three_differ(arm):
    motions = [replace(moved(arm, (), [], seed=k), name=f"log{k}") for k in range(3)]
    short, levels = shortened(motions)
    regression = compress(arm, short)
    assert len(levels) == len(regression.segments) == 72
    own = [segment.recording for segment in regression.segments]
    assert [found.tolist() for found in folds(regression, levels)] == [[int(name[-1]) for name in own]]
    repeated = [replace(moved(arm, (), []), name=f"log{k}", tau=moved(arm, (), []).tau + k) for k in range(3)]
    short, levels = shortened(repeated)
    assert [len(set(found.tolist())) for found in folds(compress(arm, short), levels)] == [6, 12, 24]


def test_folds_that_move_as_no_other_does_are_made_smaller(arm):
    """Joints move one after the other: a cluster of six has all that shows one of them, one of twelve a part of it."""
    motion = moved(arm, (), [])
    alone = (np.arange(4000) * 9 // 4000)[:, None] % 3 == np.arange(3)
    q, qd, qdd = (np.where(alone, x, rest) for x, rest in ((motion.q, 0.4), (motion.qd, 0.0), (motion.qdd, 0.0)))
    theta = np.concatenate([arm.robot.inertials.ravel(), *(np.full(3, x) for x in (0.2, 1.0, 1.0, 0.0))])
    tau = torque(arm, theta, q, qd, qdd)
    tau = tau + 0.01 * tau.std(axis=0) * np.random.default_rng(0).normal(size=tau.shape)
    prior = cad_prior(arm.robot, 3.0 * arm.robot.inertials, "heavy CAD")
    for log, clusters in ((motion, 6), (replace(motion, q=q, qd=qd, qdd=qdd, tau=tau), 12)):
        short, levels = shortened([log])
        judge = told_by_the_rest(arm, prior, compress(arm, short, base=base_parameters(arm)), levels)
        assert len(judge.folds) == clusters
        assert (
            judge.left_out((), judge.folds).sum() < 1.5 * judge.errors(judge.fitted((), judge.folds), judge.folds).sum()
        )


def test_a_term_many_times_as_large_as_its_torque_is_not_told_from_zero(arm):
    """Joints that hardly move: a spring is their offset but for a thousandth, and explains anything with it."""
    motion = moved(arm, (), [])
    slow = np.sin(0.2 * motion.t)[:, None]
    still = replace(motion, q=1.0 + 1e-3 * slow * np.ones(3), qd=2e-4 * np.cos(0.2 * motion.t)[:, None] * np.ones(3))
    still = replace(still, qdd=np.zeros(motion.q.shape), tau=motion.tau.std(axis=0) * (2.0 + 0.5 * slow))
    wide = replace(arm, terms=(*arm.terms, Spring()))
    short, levels = shortened([still])
    regression = compress(wide, short, base=base_parameters(arm).widened(wide.names))
    prior = cad_prior(arm.robot, arm.robot.inertials, "CAD")
    judge = Judge(Evidence(wide, len(arm.names), prior, regression, clustered(levels, 6)))
    columns = list(range(len(arm.names), len(wide.names)))
    large = np.abs(judge.fitted(columns, judge.folds)[columns]) > 30.0 * np.sqrt(np.mean(still.tau**2, axis=0))
    assert large.all()
    assert (judge.squared_wald(columns, judge.folds) == 0.0).all()


def test_clusters_are_of_points_that_are_alike():
    rng = np.random.default_rng(0)
    where = rng.integers(0, 4, 80)
    points = 5.0 * np.eye(4)[where] + 0.1 * rng.normal(size=(80, 4))
    found = clustered(points, 4)
    assert len({(a, b) for a, b in zip(where.tolist(), found.tolist(), strict=True)}) == 4
    assert clustered(np.zeros((5, 2)), 3).tolist() == [0] * 5


def test_the_judge_fits_what_least_squares_of_the_motion_does(arm):
    """With a prior that is right its pull is none; errors are those of the motion's own rows."""
    motion = moved(arm, (Spring(),), [3.0])
    wide = replace(arm, terms=(*arm.terms, Spring()))
    base = base_parameters(arm)
    short, levels = shortened([motion])
    regression = compress(wide, short, base=base.widened(wide.names))
    ones, alone = np.ones(3), compress(arm, short, base=base)
    own = restricted(regression, range(len(base.names))).factor(ones)
    np.testing.assert_allclose(np.abs(own), np.abs(alone.factor(ones)), atol=1e-8 * np.abs(own).max())
    prior = cad_prior(arm.robot, arm.robot.inertials, "CAD")
    evidence = Evidence(wide, len(arm.names), prior, regression, clustered(levels, 6))
    np.testing.assert_allclose(evidence.noise(())[0], joint_noise(alone), rtol=1e-6)
    spring = list(range(len(arm.names), len(wide.names)))
    judge = Judge(evidence, spring)
    assert (judge.sigma < 0.5 * joint_noise(alone)).all()
    theta = judge.fitted(spring, judge.folds)
    np.testing.assert_allclose(theta[spring], 3.0, rtol=0.02)
    residual = motion.tau - torque(wide, theta, motion.q, motion.qd, motion.qdd)
    found = judge.errors(theta, judge.folds)
    np.testing.assert_allclose(found.sum(axis=0), np.sum(residual**2, axis=0), rtol=1e-6)
    without = judge.fitted(spring, judge.folds[1:])
    np.testing.assert_array_equal(judge.left_out(spring, judge.folds)[evidence.fold == 0], judge.errors(without, [0]))


def test_shapes_are_found_between_those_that_are_tried(arm):
    found = chosen(arm, moved(arm, (Hysteresis(5.5e-4), NonlinearViscous(0.43)), [1.0, 1.0]))
    assert kinds(found) == {"hysteresis", "nonlinear_viscous"}
    way = next(term.way for term in found.terms if isinstance(term, Hysteresis))
    power = next(term.power for term in found.terms if isinstance(term, NonlinearViscous))
    assert way == pytest.approx(5.5e-4, rel=0.1)
    assert power == pytest.approx(0.43, rel=0.1)


def test_errors_of_shapes_hold_the_truth_as_often_as_they_say(arm):
    """100 logs: the shape of least misfit is off by more than its 95 % interval in 1 to 10 % of them."""
    motion, way = moved(arm, (), []), 2e-3
    motion = replace(motion, **{x: getattr(motion, x)[:1200] for x in ("t", "q", "qd", "qdd", "tau", "keep")})
    motion = replace(motion, blocks=(), noise=0.0)
    models = {ratio: replace(arm, terms=(*USUAL, Hysteresis(way * ratio))) for ratio in (0.8, 1.0, 1.25)}
    theta = np.concatenate([arm.robot.inertials.ravel(), *(np.full(3, x) for x in (0.2, 1.0, 1.0, 0.0, 0.5))])
    true = torque(models[1.0], theta, motion.q, motion.qd, motion.qdd)
    rng, bases, off = np.random.default_rng(0), {r: base_parameters(m) for r, m in models.items()}, []
    for _ in range(100):
        log = replace(motion, tau=true + 0.02 * true.std(axis=0) * rng.normal(size=true.shape))
        short, _ = shortened([log])
        factors = {r: compress(m, short, base=bases[r]) for r, m in models.items()}
        sigma = joint_noise(factors[1.0])
        misfit = [np.sum(f.squared_residuals(solve(f, sigma)) / sigma**2) for f in factors.values()]
        step = 0.5 * (misfit[0] - misfit[2]) / (misfit[0] - 2.0 * misfit[1] + misfit[2])
        best = Hysteresis(way * 1.25**step)
        model = replace(arm, terms=(*USUAL, best))
        (shape,), _ = fitted_shapes(model, base_parameters(model), short, [([best], ("way",))])
        off.append(np.log(best.way / way) / shape.half)
    assert 0.90 <= np.mean(np.abs(off) <= 1.0) <= 0.99


def test_the_covariance_is_wider_by_as_much_as_it_would_be_with_the_shape_among_the_parameters(arm):
    motion = moved(arm, (Hysteresis(2e-3),), [0.5], noise=0.05)
    way = Hysteresis(2e-3)
    model, beside = (replace(arm, terms=(*USUAL, *more)) for more in ((way,), (way, Slope(way, ("way",)))))
    short, _ = shortened([motion])
    base = base_parameters(model)
    (shape,), pulls = fitted_shapes(model, base, short, [([way], ("way",))])
    assert shape.parameters == ("joint1.hysteresis", "joint2.hysteresis", "joint3.hysteresis")
    factors = joined(compress(beside, short, base=base.widened(beside.names)))
    sigma = joint_noise(factors)
    whole = np.linalg.inv(factors.factor(sigma)[:, :-1].T @ factors.factor(sigma)[:, :-1])
    b = len(base.names)
    narrow = np.linalg.inv(np.linalg.inv(whole)[:b, :b])
    # three shapes are freer than one of all joints; both add most where the other does
    added, told = np.diag(whole)[:b] - np.diag(narrow), np.array([pulls[name][0] for name in base.names]) ** 2
    at = [base.names.index(name) for name in shape.parameters]
    assert (told[at] > 0.05 * added[at]).all()
    assert np.corrcoef(np.sqrt(added), np.sqrt(told))[0, 1] > 0.8


def test_a_shape_that_the_logs_do_not_tell_is_the_usual_one_and_said_to_be(arm, monkeypatch):
    motion = moved(arm, (NonlinearViscous(0.8),), [2.0], noise=0.01)
    (told,) = chosen(arm, motion).structure.shapes
    assert told.told
    assert told.values[0] > 0.6
    assert re.search(
        r"power of nonlinear viscous friction at joint1, joint2, joint3: 0.663, within -24.9 to \+33.2 %",
        shape_sentence(told),
    )
    monkeypatch.setattr("ident.structure.shapes.TOLD", 0.5 * told.half)
    found = chosen(arm, motion)
    (shape,) = found.structure.shapes
    assert not shape.told
    assert shape.half == told.half
    assert shape.values == (0.6, 0.6, 0.6)
    assert {term.power for term in found.terms} == {0.6}
    assert (
        "The logs do not tell the power of nonlinear viscous friction at joint1, joint2, joint3: 0.6 is"
        in shape_sentence(shape)
    )


def test_a_joint_whose_shape_the_logs_do_not_tell_says_nothing_of_the_others():
    each = [FittedShape("hysteresis", "way", (f"joint{k}.hysteresis",), (1e-3,), 0.1, half=0.2 * k) for k in (1, 2)]
    lost = replace(each[1], half=2.0, told=False)
    assert as_usual(each, [lost]) == (each[0], lost)
    common = replace(each[0], parameters=("joint1.hysteresis", "joint2.hysteresis"))
    assert [shape.told for shape in as_usual([common], [lost])] == [False]


def test_a_law_goes_on_above_the_logged_speeds_only_where_its_number_is_sure(arm):
    sure = chosen(arm, moved(arm, (NonlinearViscous(0.6),), [2.0], noise=0.001))
    (shape,) = sure.structure.shapes
    assert all(term.top == 0.0 for term in sure.terms)
    assert shape.half < 0.2
    law = NonlinearViscous(0.6, arm.robot.joint_names[:1], 2.0)
    assert [term.top for half in (0.5, 0.6) for term in beyond([law], [replace(shape, half=half)])] == [0.0, 2.0]


TERMS = [
    (Stribeck(0.1, 0.02, ("joint1",)), Stribeck(0.2, joints=("joint2",))),
    (
        Hysteresis(1e-3),
        Hysteresis(0.02, ("joint1",), 2),
        NonlinearViscous(0.6, ("joint3",)),
        ViscousAsymmetry(),
        Spring(("joint1",), 0.2),
    ),
    (SmoothCoulomb(0.02, ("joint1", "joint2", "joint3")), LoadFriction(joints=("joint2",)), Spring()),
]


@pytest.mark.parametrize("terms", TERMS)
def test_lines_ask_for_the_terms_that_they_are_of(terms, tmp_path):
    for name in ("robot.toml", "dataset.toml"):
        (tmp_path / name).write_text("", encoding="utf-8")
    text = '[experiment]\nrobot = "robot.toml"\ndata = "dataset.toml"\n[recordings]\nfit = ["a"]\n[model]\n'
    (tmp_path / "experiment.toml").write_text(text + "\n".join(lines(terms)) + "\n", encoding="utf-8")
    found = read_experiment(tmp_path).terms
    assert set(terms) <= set(found)


def test_sine_and_cosine_of_a_ripple_are_one_table_at_all_joints_that_have_it():
    terms = (*rippled([("a", 6.0), ("b", 6.0), ("b", 12.5)]), WarmUp(300.0, ("a",)), Thermal(31.0))
    assert lines(terms) == (
        'ripple = [{ per_turn = 6, joints = ["a", "b"] }, { per_turn = 12.5, joints = ["b"] }]',
        'warm_up = { time = 300, joints = ["a"] }',
        "thermal = { reference = 31 }",
    )


def test_one_weighing_is_enough_where_the_other_is_not_against_it():
    candidate = Candidate("spring", (Spring(),))
    before, steady = np.full((2, 40), 1.0), np.tile([0.001, -0.001], 20)
    better, worse = before[0] - 0.1 + steady, before[0] + 0.05 + steady
    assert not compared(candidate, before, np.array([better, before[1]])).reason
    assert not compared(candidate, before, np.array([before[0], better])).reason
    assert compared(candidate, before, np.array([better, worse])).reason == GROWS
    assert (
        compared(candidate, before, np.array([before[0] - 0.001 + 0.1 * steady, before[1]])).reason == "less than 1 %"
    )
    rough = before[0] - 0.02 + 300 * steady
    assert compared(candidate, before, np.array([rough, rough])).reason == "less than 2 standard errors"


def test_each_joint_has_the_width_of_friction_that_its_logs_show(arm):
    """Widths from 0.05 to 0.3 rad/s on one arm, and a sign that is one."""
    prior = cad_prior(arm.robot, arm.robot.inertials, "CAD")
    names, true = arm.robot.joint_names, (0.05, 0.1, 0.3)
    plain = moved(arm, (), [], noise=0.0)
    tau = plain.tau - np.sign(plain.qd) + 2.0 * np.tanh(plain.qd / np.array(true))
    tau = tau + 0.002 * tau.std(axis=0) * np.random.default_rng(0).normal(size=tau.shape)
    model, gain, more = wide(arm, [replace(plain, tau=tau)], prior)
    found = {t.joints[0]: t.tanh for t in model.terms if isinstance(t, SmoothCoulomb)}
    np.testing.assert_allclose([found[joint] for joint in names], true, rtol=0.1)
    assert gain.gain > 0.1
    assert more == ()
    same, gain, _ = wide(arm, [moved(arm, (), [], noise=0.01)], prior)
    assert same is arm
    assert gain.reason


def test_a_joint_at_rest_gets_the_usual_width(arm):
    prior = cad_prior(arm.robot, arm.robot.inertials, "CAD")
    plain = moved(arm, (), [], noise=0.001, rests=(2,))
    tau = plain.tau - np.sign(plain.qd) + 2.0 * np.tanh(plain.qd / 0.2)
    model, _, _ = wide(arm, [replace(plain, tau=tau)], prior)
    found = [t.tanh for t in model.terms if isinstance(t, SmoothCoulomb)]
    np.testing.assert_allclose(found, 0.2, rtol=0.1)
    assert found[2] == pytest.approx(np.mean(found[:2]), rel=1e-2)


def test_a_width_and_the_stribeck_friction_beside_it_are_found_together(arm):
    """Each joint's own width and speed; then selection takes the terms as they are."""
    prior, names = cad_prior(arm.robot, arm.robot.inertials, "CAD"), arm.robot.joint_names
    width, speed = np.array([0.03, 0.05, 0.08]), np.array([0.2, 0.5, 0.6])
    plain = moved(arm, (), [], noise=0.0)
    rise = np.tanh(plain.qd / width)
    tau = plain.tau - np.sign(plain.qd) + rise * (2.0 + 1.5 * np.exp(-((plain.qd / speed) ** 2)))
    tau = tau + 0.005 * tau.std(axis=0) * np.random.default_rng(0).normal(size=tau.shape)
    motion = replace(plain, tau=tau)
    begun = peaks(arm, [motion], ())
    model, _, given = wide(arm, [motion], prior, arm, begun, ())
    found = selected(model, [motion], prior, base_parameters(model), given=given)
    assert kinds(found) == {"stribeck"}
    np.testing.assert_allclose([t.speed for t in found.terms], speed, rtol=0.1)
    law = {t.joints[0]: t.tanh for t in model.terms if isinstance(t, SmoothCoulomb)}
    np.testing.assert_allclose([law[joint] for joint in names], width, rtol=0.1)
    assert [shape.parameters for shape in found.structure.shapes] == [(f"{joint}.stribeck",) for joint in names]
    assert peaks(model, [motion], found.terms) == ()


def test_each_joint_has_the_way_of_hysteresis_that_its_logs_show(arm):
    """Ways from 2 to 8 mrad on one arm, beside a width, from one common way."""
    prior, true = cad_prior(arm.robot, arm.robot.inertials, "CAD"), (0.002, 0.004, 0.008)
    plain = moved(arm, (), [], noise=0.0)
    turned = [
        Hysteresis(way).column(plain.q.T[[j]], plain.qd.T[[j]], plain.qdd.T[[j]])[0] for j, way in enumerate(true)
    ]
    tau = plain.tau - np.sign(plain.qd) + np.tanh(plain.qd / 0.05) + 2.0 * np.array(turned).T
    tau = tau + 0.002 * tau.std(axis=0) * np.random.default_rng(0).normal(size=tau.shape)
    _, gain, given = wide(arm, [replace(plain, tau=tau)], prior, beside=(Hysteresis(0.003),))
    assert not gain.reason
    np.testing.assert_allclose([term.way for term in given], true, rtol=0.05)


def test_terms_that_take_nothing_from_the_torque_that_is_missed_are_not_taken(arm):
    """A spring on a joint a hundred times as quiet as the others: its own error falls, the torque missed does not."""
    motion = moved(arm, (), [], noise=0.02)
    quiet, n = motion.tau.copy(), arm.robot.n
    theta = np.concatenate([arm.robot.inertials.ravel(), *(np.full(n, x) for x in (0.2, 1.0, 1.0, 0.0))])
    true = torque(arm, theta, motion.q, motion.qd, motion.qdd)
    quiet[:, 2] = true[:, 2] + 0.01 * (motion.tau - true)[:, 2] + 3e-3 * true.std() * motion.q[:, 2]
    found = chosen(arm, replace(motion, tau=quiet))
    assert found.terms == ()
    assert found.structure.after == found.structure.before


@pytest.fixture
def two(tmp_path) -> Path:
    """Return an experiment of two joints without [model] and processing, its shoulder with a spring."""
    for file in ("robot.toml", "dataset.toml", "cad.csv"):
        (tmp_path / file).write_bytes((BROKEN / "experiment" / file).read_bytes())
    experiment = EXPERIMENT[: EXPERIMENT.index("[processing]")].replace('truth = "truth.toml"\n', "")
    (tmp_path / "experiment.toml").write_text(experiment, encoding="utf-8")
    record(tmp_path, "circle", 1)
    record(tmp_path, "steps", 2)
    for name in ("circle", "steps"):
        table = np.loadtxt(tmp_path / f"{name}.csv", delimiter=",")
        table[:, 3] += 4.0 * table[:, 1]
        np.savetxt(tmp_path / f"{name}.csv", table, fmt="%.9g", delimiter=",")
    return tmp_path


def test_the_command_prints_what_was_tried_and_lines_to_paste(two):
    result = call("select", two)
    assert result.exit_code == 0, result.output
    assert "viscous that differs by direction" in result.output
    assert re.search(r"changes with temperature .* n/a .* no temperature was logged", result.output)
    assert re.search(r"left out: [\d.]+ % before, [\d.]+ % with the terms", result.output)
    pasted = result.output[result.output.index("[model]") :]
    assert 'spring = { joints = ["shoulder"] }' in pasted
    file = two / "experiment.toml"
    file.write_text(file.read_text(encoding="utf-8") + pasted, encoding="utf-8")
    assert Spring(("shoulder",)) in read_experiment(two).terms
    again = ident.select(two)
    assert again.lines == ()
    assert again.selection.terms == ()
    assert "No term is worth it" in call("select", two).output


@pytest.mark.slow
@pytest.mark.usefixtures("sketched")
def test_run_without_a_model_takes_what_the_logs_support_and_says_so(two, tmp_path):
    result = ident.run(two)
    assert Spring(("shoulder",)) in result.loaded.model.terms
    assert result.validation is not None
    assert result.validation.recordings[0].of("identified").relative_total < 0.05
    told = [str(w) for w in result.warnings if w.about == "model"]
    assert len(told) == 1
    assert "spring = { joints =" in told[0]
    assert any("spring" in w for w in result.estimate.notes)
    out = two / "results" / two.name
    pasted = result.estimate.provenance[CHOSEN]
    assert 'spring = { joints = ["shoulder"] }' in pasted
    copytree(two, two / "pasted", ignore=lambda *_: ["results", "pasted"])
    own = two / "pasted" / "experiment.toml"
    own.write_text(f"{own.read_text(encoding='utf-8')}\n{pasted}\n", encoding="utf-8")
    same = ident.pipelines.fit(own)
    assert same.estimate.base.standard == result.estimate.base.standard
    np.testing.assert_allclose(same.estimate.phi, result.estimate.phi, rtol=1e-9)
    again = ident.pipelines.fit(two, factors=[out / "factors.npz"])
    np.testing.assert_array_equal(again.estimate.theta, result.estimate.theta)
    np.testing.assert_array_equal(again.estimate.covariance.matrix, result.estimate.covariance.matrix)
    assert ident.pipelines.validate(out, two).validation is not None
    file = two / "experiment.toml"
    file.write_text(file.read_text(encoding="utf-8") + "[model]\ncoulomb = true\n", encoding="utf-8")
    own = ident.pipelines.fit(two)
    assert "shoulder.stiffness" not in own.loaded.model.names
    assert not [w for w in own.warnings if w.about == "model"]


@pytest.mark.slow
@pytest.mark.usefixtures("sketched")
def test_run_with_a_model_names_what_would_add_to_it_and_is_silent_on_a_right_one(two, one_round):
    file = two / "experiment.toml"
    without = file.read_text(encoding="utf-8")
    file.write_text(without + "[model]\ncoulomb = true\n", encoding="utf-8")
    result = ident.run(two)
    (own,) = result.estimate.causes  # what a spring does is too much to be a hint
    assert (own.where, own.what) == ("[model]", "its terms are not those that the logs choose")
    assert own.total[1] < 0.5 * own.total[0]
    assert re.match(r"add `spring = .*` below \[model\]", own.mend)
    assert "shoulder.stiffness" not in result.loaded.model.names
    assert "spring =" in (two / "results" / two.name / "report.html").read_text(encoding="utf-8")
    header, *lines_ = lines_in(own.mend).splitlines()
    file.write_text(without + "\n".join([header, "coulomb = true", *lines_, ""]), encoding="utf-8")
    mended = ident.run(two)
    assert not mended.estimate.causes
    assert not [w for w in mended.warnings if w.kind == "more terms"]


@pytest.mark.slow
@pytest.mark.usefixtures("sketched")
def test_a_model_whose_friction_is_far_too_wide_is_named_with_the_width_that_the_logs_ask_for(two, one_round):
    file = two / "experiment.toml"
    without = file.read_text(encoding="utf-8")
    file.write_text(without + "[model]\ncoulomb = { tanh = 3.0 }\n", encoding="utf-8")
    wide = ident.run(two)
    told = [w.message for w in wide.warnings if w.kind == "more terms"] + [c.mend for c in wide.estimate.causes]
    assert len(told) == 1
    assert re.search(r"leave it out, or write .*coulomb = .* below \[model\] for what it says of these", told[0])
    assert [c.where for c in wide.estimate.causes] == ["[model]"]
    found = ident.pipelines.doctor(two)  # as `ident doctor` says it
    assert found.own == wide.estimate.causes[0]
    assert found.examination.causes == ()
    said = examination_sentences(found.examination, ident.pipelines.files_of(found.loaded), ("circle",), found.own)
    assert said[1] == f"PROBLEM: {found.own.short}"
    file.write_text(without + "[model]\ncoulomb = false\n", encoding="utf-8")
    none = ident.run(two)
    told = [w.message for w in none.warnings if w.kind == "more terms"] + [c.mend for c in none.estimate.causes]
    assert len(told) == 1
    assert "coulomb = " in told[0]


def test_terms_that_the_fit_holds_at_zero_at_all_joints_are_left_out_again(arm):
    usual = (Viscous(), Coulomb(), Offset())
    model = Model(arm.robot, (*usual, Hysteresis(0.001), Stribeck(0.1)))
    taken = Structure(lines=("hysteresis = { way = 0.001 }", "stribeck = { speed = 0.1 }"))
    loaded = loaded_with(arm.robot, model, taken)
    at_zero = [f"{joint}.hysteresis at zero" for joint in arm.robot.joint_names]
    some = (at_zero[0], *(f"{joint}.coulomb at zero" for joint in arm.robot.joint_names))
    said = []
    assert without_idle(loaded, SimpleNamespace(active=some), said) is None
    found = without_idle(loaded, SimpleNamespace(active=tuple(at_zero)), said)
    assert found.model.terms == (*usual, Stribeck(0.1))
    assert found.structure.lines == taken.lines[1:]
    assert [w.about for w in said] == ["model"]
    apart = tuple(Hysteresis(0.001 * k, joints=(j,)) for k, j in enumerate(arm.robot.joint_names, start=1))
    each = loaded_with(arm.robot, Model(arm.robot, (*usual, *apart)), taken)
    assert without_idle(each, SimpleNamespace(active=tuple(at_zero[:-1])), []) is None  # one joint has it
    assert without_idle(each, SimpleNamespace(active=tuple(at_zero)), []).model.terms == usual
    assert without_idle(replace(loaded, structure=None), SimpleNamespace(active=tuple(at_zero)), []) is None


def loaded_with(robot: Robot, model: Model, structure: Structure) -> Loaded:
    none = dict.fromkeys(f.name for f in fields(Loaded))
    return Loaded(**none | {"robot": robot, "model": model, "structure": structure})
