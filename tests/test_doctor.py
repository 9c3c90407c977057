"""The CAD doctor: mistakes and their undoing, the probability behind it, and what it makes of planted mistakes."""

from dataclasses import replace

import numpy as np
import pytest
from doctor_cases import arm, case, judged, link_bodies, same
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import cases

from ident.compare.doctor import doctor
from ident.compare.doctor.doctor import searching, zero_instead
from ident.compare.doctor.evidence import DOF, deviations, evidence, log_student
from ident.compare.doctor.hypotheses import (
    EXTRA,
    KNOWN,
    PARTS,
    PRIOR,
    SINGLE,
    TOLERANCES,
    UNEXPLAINED,
    ExtraBody,
    InLinks,
    Swapped,
    TorqueGain,
    Unexplained,
    can_exist,
    can_exist_within,
)
from ident.compare.doctor.mistakes import Mistake, Setting, inertials_of, natural
from ident.compare.doctor.search import MARGIN
from ident.errors import ModelError
from ident.estimate import Prior, Tolerances, refine_cad
from ident.regression import compress
from ident.spatial.inertia import Pose, from_com, tensor, to_com, transformed

pytestmark = pytest.mark.slow


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=cases(20))
def test_every_mistake_is_undone_exactly(seed, about_origin):
    rng = np.random.default_rng(seed)
    robot, _ = arm(rng, 4)
    bodies = natural(link_bodies(rng, 4), about_origin)
    setting = Setting(robot, about_origin)
    for mistake in KNOWN:
        for i in (0, 2):
            back = mistake.undone(mistake.made(bodies[i], i, setting), i, setting)
            np.testing.assert_allclose(back, bodies[i], rtol=1e-9, atol=1e-12, err_msg=str(mistake))
    np.testing.assert_allclose(natural(inertials_of(bodies, about_origin), about_origin), bodies, atol=1e-13)


def known(words: str) -> Mistake:
    """The only mistake whose name holds these words."""
    (found,) = (k for k in KNOWN if words in k.name)
    return found


def test_mistakes_are_what_they_say():
    rng = np.random.default_rng(1)
    robot, _ = arm(rng, 3)
    body = link_bodies(rng, 3)[1]
    setting, printed = Setting(robot, False), natural(body[None], False)[0]
    m, c, inertia = to_com(body)
    # 23 rotations of a cube beside the identity, each a proper rotation
    turns = [k for k in KNOWN if k.kind == "axes"]
    rotations = [k.frame(robot, 1).rotation for k in turns]
    assert len({r.tobytes() for r in rotations}) == len({k.name for k in turns}) == 23
    for turn, rotation in zip(turns, rotations, strict=True):
        assert np.linalg.det(rotation) == pytest.approx(1.0)
        moved = inertials_of(turn.made(printed, 1, setting)[None], False)[0]
        np.testing.assert_allclose(moved, transformed(body, Pose(rotation, np.zeros(3))), atol=1e-12)
    # in the base's frame at zero posture
    moved = inertials_of(known("in the frame of the base").made(printed, 1, setting)[None], False)[0]
    np.testing.assert_allclose(moved, transformed(body, robot.poses(np.zeros(3))[1]), atol=1e-12)
    # a table declared about the centre that holds the tensor about the origin
    np.testing.assert_allclose(
        known("tensor is about the other point").made(printed, 1, setting)[4:],
        tensor(body)[np.triu_indices(3)],
        atol=1e-14,
    )
    flipped = known("products of inertia have the other sign").made(printed, 1, setting)
    np.testing.assert_array_equal(flipped[[5, 6, 8]], -printed[[5, 6, 8]])
    np.testing.assert_allclose(inertials_of(known("counted twice").made(printed, 1, setting)[None], False)[0], 2 * body)
    heavy = known("mass and inertia are 1000 times too large, as g read as kg").made(printed, 1, setting)
    assert heavy[0] == pytest.approx(1000 * m)
    np.testing.assert_allclose(heavy[1:4], c)
    np.testing.assert_allclose(heavy[4:], 1000 * inertia[np.triu_indices(3)])
    factors = [k.made(np.ones(10), 1, setting)[[0, 1, 4]] for k in KNOWN if k.kind == "unit"]
    assert len(np.unique(np.round(np.log(factors), 6), axis=0)) == len(factors)


def test_units_are_told_by_how_much_numbers_are_off():
    """0.0022 in a column of kg was called "in kg where g is declared", and inches "in in"."""
    names = [m.name for m in KNOWN if m.kind == "unit"]
    assert "mass is 1000 times too small, as kg read as g" in names
    assert "centre is 25.4 times too small, as inches read as mm" in names
    assert not [name for name in names if "declared" in name or " in in " in name]


def test_prior_odds_of_all_mistakes_sum_to_one_at_most():
    c = case(1, 0)
    space = searching(c.model, compress(c.model, c.motion), c.cad).space
    n = space.n
    moves = [InLinks(k, (i,)) for k in KNOWN for i in range(n)] + [
        InLinks(k, tuple(range(n))) for k in KNOWN if k.kind != SINGLE
    ]
    moves += [Swapped((a, b)) for a in range(n) for b in range(a + 1, n)]
    moves += [TorqueGain(j, -1.0) for j in range(n)] + [TorqueGain(j, 2.0, 0.0) for j in range(n)]
    moves += [Unexplained(links, t) for t in UNEXPLAINED for links in (*((i,) for i in range(n)), tuple(range(n)))]
    moves += [Unexplained((i,), t, part) for t in UNEXPLAINED for i in range(n) for part in PARTS if part != "all"]
    moves += [ExtraBody(i, mass, reach) for mass, reach in EXTRA for i in range(n)]
    total = sum(np.exp(space.log_prior(m)) for m in moves)
    assert total == pytest.approx(1.0 - PRIOR["gravity"] - PRIOR["geometry"] - PRIOR["elastic"], abs=1e-9)
    assert sum(PRIOR.values()) == pytest.approx(1.0)


def test_log_probability_is_students_t_against_the_peak_of_the_normal():
    from scipy.stats import multivariate_normal, multivariate_t

    rng = np.random.default_rng(3)
    for d in (1, 4, 9):
        A = rng.normal(size=(3, d, d))
        S = A @ A.transpose(0, 2, 1) + np.eye(d)
        r = rng.normal(size=(3, d))
        peak = multivariate_normal(np.zeros(d), np.eye(d)).logpdf(np.zeros(d))
        wanted = [multivariate_t(np.zeros(d), S[k], df=DOF).logpdf(r[k]) - peak for k in range(3)]
        np.testing.assert_allclose(log_student(r, S), wanted, rtol=1e-9)


def test_deviations_are_the_spread_of_bodies_with_numbers_off_by_the_share():
    rng = np.random.default_rng(4)
    body = link_bodies(rng, 1)[0]
    m, c, inertia = to_com(body)
    share, count = 1e-3, 20000
    d = np.sqrt(np.diag(inertia))
    reach = max(np.linalg.norm(c), np.sqrt(np.trace(inertia) / 2 / m))
    upper = np.triu_indices(3)
    drawn = []
    for e in rng.normal(0.0, share, (count, 10)):
        full = np.zeros((3, 3))
        full[upper] = inertia[upper] + e[4:] * np.outer(d, d)[upper]
        full = full + full.T - np.diag(np.diag(full))
        drawn.append(from_com(m * (1 + e[0]), c + e[1:4] * reach, full))
    root = deviations(body, share)
    spread = np.cov(np.array(drawn).T)
    scale = np.sqrt(np.diag(spread))
    np.testing.assert_allclose(root @ root.T / np.outer(scale, scale), spread / np.outer(scale, scale), atol=0.04)


def test_evidence_in_other_gains_is_the_evidence_of_scaled_torques():
    c = case(6, 0)
    regression = compress(c.model, c.motion)
    search = searching(c.model, regression, c.cad)
    state = search.space.after(search.space.start(c.cad), TorqueGain(1, 1.25, 0.0))
    plain = search.evidence(search.space.start(c.cad))
    # the squared residuals in the recorded torques' unit, from the Gram matrices and from the factors themselves
    from ident.estimate.least_squares import joint_noise, solve

    scaled = regression.scaled(state.gains)
    phi = solve(scaled, joint_noise(regression))
    squares = scaled.squared_residuals(phi) / state.gains**2
    signs_off = plain.fit(state.gains, np.zeros(c.model.robot.n))
    got = plain.fit(state.gains, plain.effective) - signs_off
    assert got == pytest.approx(-0.5 * plain.effective @ np.log(squares), rel=1e-6)


def test_options_have_the_scores_of_the_hypotheses_they_lead_to():
    # options are scored in the ten directions of one link, hypotheses in all of them
    c = case(13, 2)
    search = searching(c.model, compress(c.model, c.motion), c.cad, motions=[c.motion], geometries=c.geometries)
    state = search.space.start(c.cad)
    for move in (Unexplained((1,), 0.3, "mass"), TorqueGain(0, -1.0)):
        options = search.options(state)
        assert {type(o.move) for o in options} >= {InLinks, Swapped, Unexplained, TorqueGain}
        for option in options:
            if not isinstance(option.move, TorqueGain):  # their factors are not weighted anew
                wanted = search.score(search.space.after(state, option.move))
                assert option.score == pytest.approx(wanted, abs=1e-3, rel=1e-6), option.move
        state = search.space.after(state, move)


def test_the_probability_is_the_mean_over_the_tolerances():
    c = case(10, 2)
    regression = compress(c.model, c.motion)
    search = searching(c.model, regression, c.cad)
    each = [searching(c.model, regression, c.cad, tolerance=t) for t in TOLERANCES]
    scores = np.array([s.score(s.space.start(c.cad)) for s in each])
    most = scores.max()
    start = search.space.start(c.cad)
    assert search.score(start) == pytest.approx(most + np.log(np.mean(np.exp(scores - most))), rel=1e-12)
    np.testing.assert_allclose(search.weights(start), np.exp(scores - most) / np.exp(scores - most).sum(), rtol=1e-6)


def off(c, share, factor=1.0, link=None, shift=0.0):
    """Return a table that is off by `share` in every number, and in one link's mass by a factor, its centre by m."""
    rng = np.random.default_rng(0)
    bodies = natural(c.bodies, False)
    for body in bodies:
        body[0] *= 1 + share * rng.choice([-1, 1])
        body[1:4] *= 1 + share * rng.choice([-1, 1])
        body[4:] *= 1 + share * rng.choice([-1, 1])
    if link is not None:
        bodies[link, 0] *= factor
        bodies[link, 1:4] += shift
    return inertials_of(bodies, False)


def test_the_tolerance_is_learnt_from_the_table():
    c = case(23, 0)
    regression = compress(c.model, c.motion)
    learnt = []
    for share in (0.005, 0.06):
        found = doctor(searching(c.model, regression, off(c, share)))
        assert found.faults == ()
        assert found.learnt is not None
        learnt.append(found.learnt)
    assert learnt[0][1] < learnt[1][0]
    fixed = doctor(searching(c.model, regression, off(c, 0.06), tolerance=0.005))
    assert fixed.faults
    assert fixed.learnt is None
    assert fixed.tolerance == pytest.approx(0.005)


def test_a_mass_or_a_centre_that_is_off_alone_stands_out_of_a_table_that_is_good():
    c = case(54, 0)
    regression = compress(c.model, c.motion)
    i = 2
    right = natural(c.bodies, False)[i]
    (fault,) = doctor(searching(c.model, regression, off(c, 0.003, 1.3, i))).faults
    assert (fault.kind, fault.move.links, fault.move.part) == ("override", (i,), "mass")
    assert fault.move.asked[0] == pytest.approx(right[0], rel=0.01)
    assert [number.name for number in fault.numbers] == ["link3.m"]
    (fault,) = doctor(searching(c.model, regression, off(c, 0.003, 1.0, i, 0.05))).faults
    assert (fault.kind, fault.asserted, fault.move.part) == ("override", True, "centre")
    np.testing.assert_allclose(fault.move.asked, right[1:4], atol=0.006)


@pytest.mark.parametrize("factor", [0.05, 12.57, 30.0])
def test_an_overridden_mass_that_took_its_tensor_along_is_told_by_the_factor_that_the_logs_ask_for(factor):
    c = case(8, 0, share=0.01)
    cad = natural(c.cad, False)
    cad[4, [0, 4, 5, 6, 7, 8, 9]] /= factor
    (fault,) = doctor(searching(c.model, compress(c.model, c.motion), inertials_of(cad, False))).faults
    assert (fault.kind, fault.move.links, fault.move.part) == ("override", (4,), "density")
    assert fault.move.asked[0] == pytest.approx(factor, rel=0.05)


#: Arms of 3 to 7 joints, the smallest ones first: a doctor takes the larger ones four times as long.
RIGHT, PLANTED = (14, 6, 1, 2, 0), (5, 6, 2, 1, 0)


@pytest.mark.parametrize("seed", RIGHT[: cases(5)])
def test_right_tables_are_not_accused(seed):
    assert judged(seed, 0).asserted == ()


@pytest.mark.parametrize("seed", PLANTED[: cases(5)])
def test_planted_mistakes_are_named_and_nothing_else(seed):
    tally = judged(seed, 1)
    assert tally.wrong == ()
    assert tally.named == tally.identifiable
    assert tally.overclaimed == ()


def test_two_mistakes_at_once():
    tally = judged(363, 2)
    assert sorted(tally.identifiable) == ["sign", "torque sign"]
    assert sorted(tally.named) == ["sign", "torque sign"]
    assert tally.wrong == ()


def test_gravity_and_a_sign_that_hide_each_other_are_found_together():
    tally = judged(263, 3)
    assert sorted(tally.identifiable) == ["gravity", "order", "torque sign"] or "gravity" in tally.named
    assert "torque sign" in tally.named
    assert tally.wrong == ()


def test_what_another_mistake_may_hide_in_a_link_is_not_said_of_the_whole_table():
    tally = judged(715, 3)  # two mirrored links of three, the third one's mass in another unit
    assert tally.named == tally.identifiable == ("mirror",)
    assert tally.wrong == ()


def test_a_frame_turned_about_the_last_joints_own_axis_may_be_its_zero():
    c = case(6, 0)
    robot = c.model.robot
    axes = [m for m in KNOWN if m.kind == "axes"]
    own = {m: zero_instead(InLinks(m, (robot.n - 1,)), robot) for m in axes}
    assert sorted(angle for angle in own.values() if angle is not None) == pytest.approx([90.0, 90.0, 180.0])
    assert all(zero_instead(InLinks(m, (0,)), robot) is None for m in axes)
    turn = next(m for m, angle in own.items() if angle is not None and angle > 100)
    cad = natural(c.cad, False)
    cad[-1] = turn.made(cad[-1], robot.n - 1, Setting(robot, False))
    regression = compress(c.model, c.motion)
    (fault,) = doctor(searching(c.model, regression, inertials_of(cad, False), motions=[c.motion])).faults
    assert (fault.kind, fault.asserted) == ("axes", False)
    assert fault.rivals == (f"{robot.joint_names[-1]}: its zero is off by 180 degrees, and the table is right",)


def test_a_body_that_cad_leaves_out_of_an_inner_link_is_named_there():
    c = case(8, 0)
    i = c.model.robot.n - 3
    lacks = from_com(0.5 * c.bodies[i, 0], [0.1, -0.08, 0.05], 1e-3 * np.eye(3))
    table = c.bodies.copy()
    table[i] -= lacks
    (fault,) = doctor(searching(c.model, compress(c.model, c.motion), table)).faults
    assert (fault.kind, fault.move.link) == ("extra", i)


@pytest.mark.parametrize("factor", [2.7, 7.85, 1 / 3.0])
def test_one_density_of_a_whole_table_is_named_with_its_factor(factor):
    c = case(8, 0)
    found = doctor(searching(c.model, compress(c.model, c.motion), c.cad / factor))
    (fault,) = found.faults
    assert (fault.where, fault.kind, fault.move.part) == ("the whole table", "override", "density")
    assert fault.move.asked[0] == pytest.approx(factor, rel=0.03)
    np.testing.assert_allclose(found.corrected, c.cad * fault.move.asked[0] / factor, rtol=1e-9, atol=1e-12)
    assert "cannot be told apart by any motion" in found.notes[-1]


def test_a_unit_of_a_whole_table_is_no_density():
    c = case(8, 0)
    (fault,) = doctor(searching(c.model, compress(c.model, c.motion), c.cad * 0.45359237)).faults
    assert (fault.where, fault.kind) == ("the whole table", "unit")


@pytest.mark.parametrize("seed", [8, 13])
def test_a_body_near_the_axis_of_a_joint_may_be_of_either_link(seed):
    c = case(seed, 0)
    i = c.model.robot.n - 2
    joint, table = c.model.robot.joints[i], c.bodies.copy()
    lacks = from_com(0.5 * c.bodies[i, 0], 0.1 * joint.axis, 1e-3 * np.eye(3))
    table[i] -= lacks
    found = doctor(searching(c.model, compress(c.model, c.motion), table))
    (fault,) = found.faults
    parent = c.model.robot.links[joint.parent]
    said = {fault.where, *(rival.partition(":")[0] for rival in fault.rivals)}
    assert {c.model.robot.links[i], parent} <= said, fault


def test_a_component_that_cad_counts_twice_is_named_at_its_link():
    c = case(8, 0)
    i = c.model.robot.n - 3
    table = c.bodies.copy()
    table[i] += from_com(0.5 * c.bodies[i, 0], [0.1, -0.08, 0.05], 1e-3 * np.eye(3))
    (fault,) = doctor(searching(c.model, compress(c.model, c.motion), table)).faults
    assert (fault.kind, fault.move.link) == ("extra", i)
    assert fault.what.startswith("holds a body too many in CAD")
    off = "numbers are off by about 30 %, and no mistake of the list explains it"
    assert fault.rivals == (f"{c.model.robot.links[i]}: {off}",)


def test_an_extra_body_of_no_mass_far_away_is_none():
    left_out, too_many, link, none = ExtraBody(2, 2.0, 0.1), ExtraBody(2, -2.0, 0.1), np.zeros(10), np.zeros((10, 10))
    one = from_com(1.0, [0.25, 0.0, 0.1], 1e-3 * np.eye(3))
    assert left_out.may_be(one, none, link)
    assert not left_out.may_be(from_com(0.143, [1.33, 0.207, 0.141], np.zeros((3, 3))), none, link)
    assert not left_out.may_be(-one, none, link)
    assert not too_many.may_be(-one, none, link)  # of a link that does not hold it
    assert too_many.may_be(-one, none, one + one)
    assert not too_many.may_be(one, none, one + one)


def test_of_a_link_whose_mistake_is_not_sure_what_all_of_them_share_is_kept():
    """A mirrored part: which frame it is in is not sure, its mass is."""
    c = case(11, 0)
    cad = natural(c.cad, False)
    cad[1] = next(m for m in KNOWN if "its z is" in m.name and m.kind == "mirror").made(
        cad[1], 1, Setting(c.model.robot, False)
    )
    regression, table = compress(c.model, c.motion), inertials_of(cad, False)
    found = doctor(searching(c.model, regression, table))
    (link,) = found.unknown
    mean, covariance = found.left[link]
    assert mean[0] == pytest.approx(c.bodies[1, 0], rel=0.03)
    assert np.sqrt(covariance[0, 0]) < 0.05 * mean[0]
    np.testing.assert_allclose(mean, c.bodies[1], atol=0.1 * np.abs(c.bodies[1, 1:]).max())
    assert np.linalg.eigvalsh(covariance).min() > 0


def test_a_body_that_is_left_out_is_added_to_what_cad_says_of_its_link():
    c, i = case(119, 0), 3
    mass, centre, inertia = to_com(c.bodies[i])
    values, vectors = np.linalg.eigh(np.trace(inertia) / 2 * np.eye(3) - inertia)
    at = centre + vectors[:, 2] * np.sqrt(values[2] / mass)
    table = c.bodies.copy()
    table[i] -= from_com(0.4 * mass, at, 0.4 * mass * 0.02**2 * np.eye(3))
    regression = compress(c.model, c.motion)
    found = doctor(searching(c.model, regression, table))
    mean, covariance = found.left[c.model.robot.links[i]]
    prior = table.copy()
    prior[i] = mean
    start = Prior(prior, "CAD and the body that it lacks")
    metric = replace(Tolerances.shares(start, 0.02), covariances={i: covariance})
    refined = refine_cad(c.model, regression, start, metric=metric).estimate.inertials
    assert refined[i, 0] == pytest.approx(c.bodies[i, 0], rel=0.05)
    np.testing.assert_allclose(np.delete(refined[:, 0], i), np.delete(c.bodies[:, 0], i), rtol=0.03)


def test_frames_are_those_of_the_right_geometry():
    c = case(427, 3)
    regression = compress(c.model, c.motion)
    space = searching(c.model, regression, c.exact, motions=[c.motion], geometries=c.geometries).space
    frame, view, _ = c.planted
    assert (frame.mistake.kind, view.kind) == ("frame", "geometry")
    for moves in ((frame, view), (view, frame)):
        np.testing.assert_allclose(space.inertials(space.of(c.exact, moves)), c.bodies, atol=1e-9)
    assert np.abs(space.inertials(space.of(c.exact, (frame,))) - c.bodies).max() > 0.01


def test_what_changes_nothing_is_never_asserted_and_listed_as_undecidable():
    c = case(3, 0)
    table = c.cad.copy()
    robot = c.model.robot
    bodies = natural(table, False)
    bodies[:, [5, 6, 8]] = 0.0  # no products: their sign and order cannot show
    found = doctor(searching(c.model, compress(c.model, c.motion), inertials_of(bodies, False)))
    assert not any(f.kind in ("sign", "order") and f.asserted for f in found.faults)
    for link in robot.links:
        hidden = [u for u in found.undecidable if u.where == link and "would change no number" in u.why]
        assert any("sign of the products" in u.kinds for u in hidden)
    assert any("No motion" in note for note in found.notes)


def test_reports_settle_what_the_logs_need_not():
    c = case(1, 0)
    links = c.model.robot.links
    search = searching(c.model, compress(c.model, c.motion), c.cad, settled=[(links[0], "sign"), (links[1], "unit")])
    asked = {(i, m.kind) for i in range(search.space.n) for m in search.space.asked_of(i)}
    assert not {(0, "sign"), (1, "unit")} & asked
    assert {(1, "sign"), (0, "unit")} <= asked


def test_wrong_sizes_are_refused_in_a_sentence():
    c = case(1, 0)
    with pytest.raises(ModelError, match="CAD table"):
        searching(c.model, compress(c.model, c.motion), c.cad[:-1])


def test_can_exist_within():
    body = from_com(1.0, [0.1, 0, 0], np.diag([0.01, 0.01, 0.01]))
    assert can_exist_within(body, 1e-6 * np.eye(10))
    assert can_exist(natural(body[None], False)[0], False)
    thin = from_com(1.0, [0.1, 0, 0], np.diag([0.01, 0.01, 0.03]))  # triangle inequality fails by 0.01
    assert not can_exist_within(thin, 1e-6 * np.eye(10))
    assert can_exist_within(thin, 0.02 * np.eye(10))
    assert not can_exist(natural(thin[None], False)[0], False)
    assert not can_exist_within(-body, 1e-6 * np.eye(10))


def test_a_joint_without_motor_is_no_evidence_for_small_torques():
    """What is left of it is zero less the prediction, which any smaller gain of the others makes less."""
    rng = np.random.default_rng(5)
    c = case(3, 0)
    n = c.model.robot.n
    tau = np.where(np.arange(n) == n - 1, 0.0, c.motion.tau * (1.0 + 0.1 * rng.standard_normal(n)))
    E = evidence(c.model, compress(c.model, replace(c.motion, tau=tau)), {})
    E = replace(E, friction=E.friction[:0])
    each = np.ones((3, n))
    each[:, :-1] *= np.array([0.1, 1.0, 10.0])[:, None]
    np.testing.assert_allclose([E.fit(gains, E.effective) for gains in each], E.fit(each[1], E.effective), rtol=1e-6)


def test_the_margin_is_a_thousand_to_one_and_gains_are_compared_by_size():
    assert np.exp(MARGIN) == pytest.approx(1000.0)
    assert same(TorqueGain(1, 1.5, -3.0), TorqueGain(1, 1.47, 0.0))
    assert not same(TorqueGain(1, 1.5, -3.0), TorqueGain(1, 1.2, 0.0))
