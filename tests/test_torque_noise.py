"""Torques that say nothing: their equations do not decide on what the others weigh."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from synthetic import random_theta, recording, states
from test_rest import arm

from ident.errors import EstimationError
from ident.estimate import estimated, neutral_prior
from ident.estimate.least_squares import joint_noise, solve, unexplained
from ident.logs import Log, Processing, process
from ident.model import torque
from ident.regression import compress, load_regression, save_regression

NOISE = 0.02
LAST = 2


def logs(seed: int, kind: str):
    """Return a model, factors of a motion, and those of another motion without noise.

    "passive": the last joint has no motor and moves as the others make it, and accelerations are noisy, which bodies
    that weigh nothing explain best. Else it has one whose torque is recorded as zero, a constant, noise,
    another's, a law of friction ("rough law": with such accelerations).
    """
    rng = np.random.default_rng(seed)
    model = arm(2 * seed + 1, 3)
    theta = random_theta(rng, model)
    found = []
    for name in ("fit", "other"):
        motion = recording(rng, model, theta, samples=1200, segments=6, noise=NOISE, name=name)
        tau, qdd = motion.tau.copy(), motion.qdd.copy()
        if kind == "passive":
            ends = [np.where(np.arange(3) == LAST, x, qdd) for x in (0.0, 1.0)]
            at_rest, moved = (torque(model, theta, motion.q, motion.qd, x)[:, LAST] for x in ends)
            qdd[:, LAST] = -at_rest / (moved - at_rest)
            tau = torque(model, theta, motion.q, motion.qd, qdd)
            tau[:, LAST] = 0.0
        elif kind != "recorded":
            speed = motion.qd[:, LAST]
            said = {"zero": 0.0, "constant": 0.7, "noise": 1e-3 * rng.normal(size=len(tau)), "copied": tau[:, 0]}
            said["law"] = said["rough law"] = 0.3 * speed + 0.1 * np.sign(speed)
            tau[:, LAST] = said[kind]
        if name == "fit" and kind in ("passive", "rough law"):
            qdd *= 1.0 + 0.3 * rng.normal(size=qdd.shape)
        found.append(compress(model, replace(motion, tau=tau, qdd=qdd)))
    return model, *found


def missed(found, phi) -> float:
    """Return the error of the other joints' torques, relative to them."""
    return float(np.sqrt(found.squared_residuals(phi)[:LAST].sum() / found.squared_torques[:LAST].sum()))


def test_a_joint_without_motor_decides_nothing() -> None:
    """Other motions' torques are missed no more than with one weight for all; without a floor its noise goes to zero.

    Frozen on seeds 0 to 5: 0.97 of the equal weights' error on average, where the floor is missing 1.24.
    """
    errors = []
    for seed in range(6):
        _, found, other = logs(seed, "passive")
        assert unexplained(found).tolist() == [False, False, True]
        sigma = joint_noise(found)
        assert sigma[LAST] >= sigma[:LAST].max()
        errors.append([missed(other, solve(found, s)) for s in (sigma, np.ones(3))])
    weighted, equal = np.mean(errors, axis=0)
    assert weighted < 1.1 * equal


@pytest.mark.parametrize("kind", ["zero", "constant", "noise"])
def test_a_torque_that_was_not_recorded_ruins_no_other_joint(kind: str) -> None:
    for seed in range(3):
        _, found, other = logs(seed, kind)
        assert unexplained(found).tolist() == [False, False, True]
        assert missed(other, solve(found, joint_noise(found))) < 0.005


def test_a_joint_whose_torque_was_recorded_keeps_its_own_noise() -> None:
    for seed in range(3):
        _, found, _ = logs(seed, "recorded")
        assert not unexplained(found).any()
        np.testing.assert_allclose(joint_noise(found), NOISE, rtol=0.1)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("zero", "zero torque in all rows of '{last}'"),
        ("constant", "constant torque in all rows of '{last}'"),
        ("noise", "the fit explains next to nothing of the torque of '{last}'"),
        ("copied", "the torques of '{first}' and '{last}' are the same numbers"),
    ],
)
def test_the_fit_names_the_joint(kind: str, said: str) -> None:
    model, found, _ = logs(1, kind)
    names = model.robot.joint_names
    prior = neutral_prior(model.robot)
    fits = (
        estimated(model, found, loss="ols", feasible=False),
        estimated(model, found, feasible=False),
        estimated(model, found, prior, weight=1e-3),
    )
    for estimate in fits:
        assert said.format(first=names[0], last=names[LAST]) in " ".join(estimate.warnings)
    model, found, _ = logs(1, "recorded")
    assert not estimated(model, found, feasible=False).warnings


def test_no_torque_at_all_is_refused() -> None:
    rng = np.random.default_rng(3)
    model = arm(3, 3)
    motion = recording(rng, model, random_theta(rng, model), segments=6)
    for tau in (0.0 * motion.tau, np.full(motion.tau.shape, 0.7)):
        found = compress(model, replace(motion, tau=tau))
        for fit in (
            lambda m, f: estimated(m, f, loss="ols", feasible=False),
            lambda m, f: estimated(m, f, feasible=False),
            lambda m, f: estimated(m, f, neutral_prior(m.robot), weight="cross-validated"),
        ):
            with pytest.raises(EstimationError, match="every joint's torque is zero or constant"):
                fit(model, found)


def test_a_law_of_friction_has_no_weight_where_accelerations_are_noisy() -> None:
    """Bodies that weigh nothing would explain it best, and its noise would go to zero."""
    for seed in range(3):
        _, found, _ = logs(seed, "rough law")
        assert unexplained(found).tolist() == [False, False, True]
        sigma = joint_noise(found)
        assert sigma[LAST] >= sigma[:LAST].max()


def test_a_torque_that_is_a_law_of_friction_ruins_no_other_joint() -> None:
    """It was computed, not measured: bodies that weigh nothing explain it, and its noise would go to zero."""
    for seed in range(3):
        model, found, other = logs(seed, "law")
        sigma = joint_noise(found)
        assert unexplained(found).tolist() == [False, False, True]
        assert sigma[LAST] >= sigma[:LAST].max()
        assert missed(other, solve(found, sigma)) < 0.005
        name = model.robot.joint_names[LAST]
        told = f"friction and the like, with no link in it, explain all of the torque of '{name}'"
        assert told in " ".join(estimated(model, found, feasible=False).warnings)


@pytest.mark.parametrize("processing", [Processing(), Processing(decimation=(4,)), Processing(torque_hz=10.0)])
def test_readings_show_a_floor_of_their_noise(processing: Processing) -> None:
    """From the rounding of the readings, or from what differences of neighbours leave; of a motion itself nothing."""
    rng = np.random.default_rng(8)
    t, q = states(rng, 3, 4000)[:2]
    smooth = 5.0 * np.sin(2.0 * q) + 2.0 * np.sign(np.diff(q, axis=0, prepend=0.0))
    kinds = {"smooth": smooth, "noisy": smooth + NOISE * rng.normal(size=q.shape), "rounded": np.round(smooth, 1)}
    rounded = 0.1 / np.sqrt(12.0)
    filtered = 1.0 if processing == Processing() else np.sqrt(20.0 / 400.0 if processing.torque_hz else 1.0 / 4.0)
    for kind, (low, high) in {
        "smooth": (0.0, 1e-6),
        "noisy": (0.8 * NOISE * filtered, 1.1 * NOISE * filtered),
        "rounded": (0.8 * rounded * filtered, 1.1 * rounded * filtered),
    }.items():
        noise = process(Log("log", t, q, kinds[kind], None, ("a", "b", "c")), processing).noise
        assert (low <= noise).all(), kind
        assert (noise <= high).all(), kind


def test_no_noise_level_falls_below_that_floor(tmp_path) -> None:
    """Of a torque that its equation explains better than it is recorded; parts, sums and files keep the floor."""
    rng = np.random.default_rng(9)
    model = arm(3, 3)
    theta = random_theta(rng, model)
    a, b = (recording(rng, model, theta, segments=3, name=name) for name in ("a", "b"))
    found = compress(model, replace(a, noise=0.3)) + compress(model, replace(b, noise=(0.1, 0.1, 0.4)))
    floor = np.sqrt((0.09 + np.array([0.01, 0.01, 0.16])) / 2)
    np.testing.assert_allclose(joint_noise(found), floor)
    np.testing.assert_allclose(joint_noise(found.only(["b"])), [0.1, 0.1, 0.4])
    save_regression(found, tmp_path / "factors.npz")
    np.testing.assert_allclose(joint_noise(load_regression(tmp_path / "factors.npz")), floor)
