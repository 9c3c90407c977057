"""One motion in several recordings is one motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from synthetic import blocks, random_theta, recording
from test_rest import arm

from ident.errors import EstimationError
from ident.estimate import estimated
from ident.estimate.estimators import folds
from ident.logs.motion import Motion, one_way
from ident.model import torque
from ident.pipelines.identify import fit
from ident.regression import compress, regression, repeats_joined
from ident.regression.regression import Segment, repeated_in


def again(rng: np.random.Generator, motion: Motion, name: str, segments: int) -> Motion:
    """Return another recording of a motion: other noise of torque and acceleration, a few rows less."""
    cut = slice(0, len(motion.t) - int(rng.integers(0, 5)))
    q, qd, qdd = (
        x[cut] + s * rng.normal(size=x[cut].shape) for x, s in ((motion.q, 1e-4), (motion.qd, 1e-3), (motion.qdd, 0.1))
    )
    tau = motion.tau[cut] + 0.02 * rng.normal(size=q.shape)
    return Motion(name, motion.t[cut], q, qd, qdd, tau, np.ones(q.shape, bool), (), blocks(len(q), segments))


def repeated(seed: int, segments: int, motions: int, repeats: int):
    rng = np.random.default_rng(seed)
    model = arm(seed, 3)
    theta = random_theta(rng, model)
    each = [recording(rng, model, theta, samples=2000) for _ in range(motions)]
    named = [again(rng, m, f"{i}{r}", segments + r) for r in range(repeats) for i, m in enumerate(each)]
    return model, compress(model, named)


@pytest.mark.slow
def test_no_motion_is_in_two_parts_of_a_cross_validation() -> None:
    for seed in range(3):
        model, found = repeated(seed, segments=5, motions=3, repeats=2)
        joined = repeats_joined(found)
        assert joined.recordings == ("00", "10", "20")
        assert [len(part) for part in folds(joined)] == [5, 5, 5]
        np.testing.assert_allclose(joined.rows, found.rows)
        for a, b in zip(joined.joint_factors, found.joint_factors, strict=True):
            np.testing.assert_allclose(a.T @ a, b.T @ b, rtol=1e-9, atol=1e-9 * np.abs(b).max() ** 2)
        estimate = estimated(model, found)
        assert estimate.covariance.clusters == 15
        assert estimate.selection == estimated(model, joined).selection


def test_what_repeats_only_is_never_cross_validated_recording_by_recording() -> None:
    model, found = repeated(1, segments=2, motions=1, repeats=3)
    with pytest.raises(EstimationError, match="at least four segments, the logs have 2"):
        estimated(model, found, weight="cross-validated")


@pytest.mark.slow
def test_other_motions_of_a_robot_are_other_motions() -> None:
    for seed in range(20):
        _, found = repeated(seed, segments=5, motions=4, repeats=1)
        assert repeats_joined(found) is found


@pytest.mark.parametrize("joints", [3, 6])
def test_the_same_motion_on_another_day_is_no_motion_never_seen(joints: int) -> None:
    """Where a lower cut-off has left accelerations smaller; of few joints, motions that differ are as near."""
    rng = np.random.default_rng(4)
    model = arm(4, joints)
    theta = random_theta(rng, model)
    fitted, other = (recording(rng, model, theta, samples=2000) for _ in range(2))
    later = again(rng, replace(fitted, qdd=0.9 * fitted.qdd), "later", 4)
    whole, same, unlike = (compress(model, [m]) for m in (fitted, later, replace(other, name="other")))
    assert (repeated_in(same, whole) is not None) == (joints == 6)
    assert repeated_in(unlike, whole) is None


def test_a_way_is_known_again_whenever_it_begins_and_another_one_is_not() -> None:
    """However alike are the mean squares of two motions between random points."""
    rng = np.random.default_rng(6)
    t = np.arange(6000) / 200

    def moves() -> Motion:
        points, at = rng.uniform(-2.0, 2.0, (17, 6)), np.arange(17) * 2.0
        q = np.column_stack([np.interp(t, at, x) for x in points.T])
        return Motion("moves", t, q, 0 * q, 0 * q, 0 * q, np.ones(q.shape, bool))

    one, other = moves(), moves()
    part, keep = slice(1500, 5500), np.ones((4000, 6), bool)
    q = one.q[part] + 1e-3 * rng.normal(size=(4000, 6))
    later = [Motion("b", 1.002 * t[part], q, 0 * q, 0 * q, 0 * q, keep)]
    assert one_way([one], later)
    assert one_way(later, [one])
    assert not one_way([other], later)
    assert not one_way([one], [other])


@pytest.mark.slow
def test_logs_that_repeat_one_motion_are_told(tmp_path) -> None:
    rng = np.random.default_rng(5)
    model = arm(2, 2)
    theta = random_theta(rng, model)
    t = np.arange(3000) / 200
    q = np.column_stack([np.sin(1.3 * t) + 0.2 * t, np.cos(0.9 * t + 0.1 * t**2)])
    qd = np.gradient(q, t, axis=0)
    tau = torque(model, theta, q, qd, np.gradient(qd, t, axis=0))
    for name, factor in (("a", 1.0), ("b", 1.0), ("c", 0.7)):
        rows = np.column_stack([t, factor * q, tau + 0.01 * rng.normal(size=q.shape)])
        np.savetxt(tmp_path / f"{name}.csv", rows, delimiter=",", header="t,q1,q2,u1,u2", comments="")
    recordings = "".join(f'[[recording]]\nname = "{n}"\nfile = "{n}.csv"\n' for n in "abc")
    (tmp_path / "dataset.toml").write_text(
        '[dataset]\nname = "x"\n[signals]\ntime = { column = "t", unit = "s" }\n'
        'position = { columns = ["q1", "q2"], unit = "rad" }\ntorque = { columns = ["u1", "u2"], unit = "N m" }\n'
        + recordings
    )
    (tmp_path / "robot.toml").write_text(
        'name = "r"\nconvention = "mdh"\nlength = "m"\nangle = "rad"\n[[joint]]\n[[joint]]\na = 0.3\n'
    )
    for names, told in ((["a"], False), (["a", "b"], True), (["a", "b", "c"], False)):
        (tmp_path / "experiment.toml").write_text(
            f'[experiment]\ntitle = "x"\nrobot = "robot.toml"\ndata = "dataset.toml"\n[recordings]\nfit = {names}\n'
            "[processing]\nposition_hz = 20.0\n"
        )
        estimate = fit(tmp_path).estimate
        assert any("the logs repeat one motion" in warning for warning in estimate.warnings) == told


def test_of_many_recordings_few_pairs_are_compared_in_full(monkeypatch) -> None:
    """300 motions of other speeds, 60 of them twice: a fiftieth of all pairs is enough to find these."""
    rng = np.random.default_rng(0)
    one = repeated(0, segments=1, motions=1, repeats=1)[1]
    (first,) = one.segments

    def drawn(name: str, speeds: np.ndarray) -> Segment:
        factors = tuple(
            np.triu(F * np.append(speeds[list(own)], 1.0)) for F, own in zip(first.factors, one.parameters, strict=True)
        )
        return replace(first, identity=name, name=name, recording=name, factors=factors)

    speeds = np.exp(rng.normal(size=(300, len(one.base.names))))
    names = [*range(300), *range(60)]
    segments = tuple(drawn(f"log{k}", speeds[i]) for k, i in enumerate(names))
    compared = []
    apart = regression._apart
    monkeypatch.setattr(regression, "_apart", lambda a, b: compared.append(1) or apart(a, b))
    joined = repeats_joined(replace(one, segments=segments))
    assert joined.recordings == tuple(f"log{k}" for k in range(300))
    assert [s.rows for s in joined.segments[:60]] == [tuple(2 * n for n in first.rows)] * 60
    assert 60 <= len(compared) < 300 * 299 / 2 / 50
