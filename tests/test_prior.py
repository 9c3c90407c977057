"""Priors: what CAD may be, what stands in for it, and that it is believable."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from identified import case, moved
from random_robots import random_pair
from seeds import cases

from ident.errors import ModelError
from ident.estimate import Prior, cad_prior, estimated, neutral_prior
from ident.estimate.prior import usual_factor
from ident.model import Model, Offset, SmoothCoulomb, Viscous, torque
from ident.regression import compress
from ident.robot import MDHJoint, from_mdh
from ident.spatial.inertia import consistency, from_com, pseudo_inertia

PUMA_LIKE = [
    MDHJoint(d=0.67),
    MDHJoint(alpha=-np.pi / 2, d=0.24),
    MDHJoint(a=0.43, d=-0.09),
    MDHJoint(a=0.02, alpha=np.pi / 2, d=0.43),
    MDHJoint(alpha=-np.pi / 2),
    MDHJoint(alpha=np.pi / 2),
]


def positive_definite(bodies: np.ndarray) -> bool:
    return bool((np.linalg.eigvalsh(pseudo_inertia(bodies))[:, 0] > 0).all())


@pytest.mark.slow
@pytest.mark.parametrize("what", ["massless", "flat", "rod", "point", "small point"])
def test_cad_bodies_without_volume_become_a_prior_next_to_them(what):
    robot, bodies = case().robot, case().inertials.copy()
    bodies[1] = {
        "massless": np.zeros(10),
        "flat": from_com(2.0, [0.1, 0.0, 0.0], np.diag([0.01, 0.02, 0.03])),
        "rod": from_com(2.0, [0.1, 0.2, 0.0], np.diag([0.02, 0.02, 0.0])),
        "point": from_com(2.0, [0.1, -0.2, 0.3], np.zeros((3, 3))),
        "small point": from_com(1e-4, [0.1, -0.2, 0.3], np.zeros((3, 3))),
    }[what]
    prior = cad_prior(robot, bodies, "cad.csv")
    assert prior.source == "cad.csv"
    assert positive_definite(prior.inertials)
    np.testing.assert_array_equal(prior.inertials[[0, 2]], bodies[[0, 2]])
    assert (prior.inertials[1] != bodies[1]).any()
    np.testing.assert_allclose(prior.inertials[1], bodies[1], atol=1e-4)
    estimated(case().model, case().regression, prior, weight=1e-6)  # its divergence can be computed


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({0: -3.0}, r"m > 0 fails: m = -3 kg"),
        ({9: 9.0}, r"triangle inequality fails: the two smaller principal moments sum to .* less than the largest"),
        ({4: 0.0, 7: 0.0, 9: 0.0}, r"I_c > 0 fails: smallest principal moment about the centre of mass = -"),
    ],
)
def test_cad_that_cannot_exist_is_refused_with_the_reason(change, reason):
    bodies = case().inertials.copy()
    bodies[1, list(change)] = list(change.values())
    with pytest.raises(
        ModelError, match=rf"cad\.csv: link '{case().robot.links[1]}' cannot exist: .*{reason}.*Correct these numbers"
    ):
        cad_prior(case().robot, bodies, "cad.csv")


def test_cad_that_is_not_far_from_possible_is_told_the_nearest_numbers():
    robot, bodies = case().robot, case().inertials.copy()
    bodies[1] = from_com(2.0, [0.1, 0.0, 0.0], np.diag([0.01, 0.02, 0.031]))
    with pytest.raises(ModelError, match=r"about the centre of mass: Ixx = 0.0105\d*, .* Izz = 0.0310\d* kg m\^2") as e:
        cad_prior(robot, bodies, "cad.csv")
    ixx, iyy, izz = (float(re.search(rf"{n} = ([\d.]+)", str(e.value))[1]) for n in ("Ixx", "Iyy", "Izz"))
    bodies[1] = from_com(2.0, [0.1, 0.0, 0.0], np.diag([ixx, iyy, izz]))
    assert consistency(bodies[1]).consistent


def test_missing_rows_are_filled_and_said_to_be():
    robot, bodies = case().robot, case().inertials.copy()
    bodies[0], bodies[2, 5] = np.nan, np.nan  # one number missing is a missing body
    prior = cad_prior(robot, bodies, "cad.csv", {"turn.viscous": 1.5})
    neutral = neutral_prior(robot).inertials
    np.testing.assert_array_equal(prior.inertials, [neutral[0], bodies[1], neutral[2]])
    assert prior.source == "cad.csv; neutral bodies for tower, slider"
    assert prior.joint_values == {"turn.viscous": 1.5}


def test_a_prior_of_the_wrong_shape_or_with_holes_is_refused():
    for bad in (np.ones((2, 9)), np.full((1, 10), np.nan)):
        with pytest.raises(ModelError, match="prior inertials"):
            Prior(bad, "cad")


@pytest.mark.parametrize("seed", range(cases(40)))
def test_neutral_bodies_of_random_robots_can_exist(seed):
    rng = np.random.default_rng(seed)
    _, robot = random_pair(rng, int(rng.integers(1, 13)))
    if seed % 2:  # wrists: some frames, or all, on top of each other
        on_top = rng.random(robot.n) < (1.0 if seed % 4 == 1 else 0.5)
        joints = tuple(
            replace(j, placement=replace(j.placement, position=np.zeros(3))) if o else j
            for j, o in zip(robot.joints, on_top, strict=True)
        )
        robot = replace(robot, joints=joints, fixed=())
    prior = neutral_prior(robot)
    assert "neutral: solid rods of 2000 kg/m^3" in prior.source
    assert positive_definite(prior.inertials)
    assert all(consistency(b).consistent for b in prior.inertials)
    assert (prior.inertials[:, 0] > 0.01).all()
    assert (prior.inertials[:, 0] < 100.0).all()  # no frame is farther than 0.9 m from the next


def test_an_arm_without_cad_gets_believable_masses():
    """The PUMA 560's links 2 and 3 weigh 17.4 and 4.8 kg, its wrist's 0.82, 0.34 and 0.09 (Armstrong et al. 1986)."""
    masses = neutral_prior(from_mdh("arm", PUMA_LIKE)).inertials[:, 0]
    assert (masses > 0.1).all()
    assert (masses < 30.0).all()
    assert 5.0 < masses.sum() < 100.0
    twice = [replace(j, a=2 * j.a, d=2 * j.d) for j in PUMA_LIKE]
    np.testing.assert_allclose(neutral_prior(from_mdh("large", twice)).inertials[:, 0], 8 * masses)


def test_a_neutral_rod_is_the_textbook_rod():
    robot = from_mdh("two", [MDHJoint(), MDHJoint(a=1.0), MDHJoint(a=1.0)])
    body = neutral_prior(robot).inertials[0]
    radius, length = 0.2, 1.0  # stoutness times the mean length
    mass = 2000.0 * np.pi * radius**2 * length
    across = mass * (3 * radius**2 + length**2) / 12
    expected = from_com(mass, [0.5, 0.0, 0.0], np.diag([mass * radius**2 / 2, across, across]))
    np.testing.assert_allclose(body, expected, rtol=1e-12, atol=1e-12)


def test_an_arm_fitted_without_cad_has_believable_masses():
    """A good log: no link grows where torque does not see it."""
    c = case()
    estimate = estimated(c.model, c.regression, neutral_prior(c.robot), weight=1e-4)
    assert (estimate.inertials[:, 0] > 0.1).all()
    assert (estimate.inertials[:, 0] < 100.0).all()
    assert "neutral" in estimate.prior


def test_a_joint_that_moved_one_way_gets_friction_not_an_offset():
    """Their sum is all that such a log says; each by itself was hundreds of times the torque."""
    c = case()
    model = Model(c.robot, (Viscous(), SmoothCoulomb(0.01), Offset()))
    theta = np.concatenate([c.robot.inertials.ravel(), [0.3, 0.4, 0.5], [2.0, 1.5, 4.0], [0.1, 0.2, 0.0]])
    motion, other = (moved(name, model, theta, seed) for seed, name in enumerate(("fitted", "other")))
    keep = motion.keep.copy()
    keep[:, 0] = motion.qd[:, 0] > 0.03
    prior = cad_prior(c.robot, 1.02 * c.robot.inertials, "CAD, 2 % too heavy")
    one_way, both = (
        estimated(model, compress(model, m), prior, weight=1e-3) for m in (replace(motion, keep=keep), motion)
    )
    sums = [
        fit.theta[model.names.index("turn.coulomb")] + fit.theta[model.names.index("turn.offset")]
        for fit in (one_way, both)
    ]
    assert sums == pytest.approx([2.1, 2.1], abs=0.03)
    assert abs(one_way.theta[model.names.index("turn.offset")]) < 0.3
    told = [torque(model, fit.theta, other.q, other.qd, other.qdd) for fit in (one_way, both)]
    missed = [np.sqrt(np.mean((tau - other.tau) ** 2, axis=0)) for tau in told]
    assert missed[0] == pytest.approx(missed[1], abs=0.2)
    factor = compress(model, motion).factor(both.sigma)  # nothing is drawn that the log says
    assert usual_factor(model, compress(model, motion), prior, both.sigma, factor) is factor
