"""The delay between position and torque is found from the log itself, to a fraction of a sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from identified import NOISE, case, moved

from ident.compare.delay import delays
from ident.model import torque

STEP = 0.005  # seconds per sample
SAMPLES = 3001


def arm_motion(late, **options):
    """Return a motion of the crane whose torque of joint j comes late[j] seconds late, exactly, with noise."""
    c = case()
    t = np.arange(SAMPLES) * STEP
    rng = np.random.default_rng(3)
    w, a, phase = rng.uniform(1.0, 8.0, (6, 1, 3)), rng.uniform(0.1, 0.3, (6, 1, 3)), rng.uniform(0, 6, (6, 1, 3))

    def at(time):
        x = w * time[:, None] + phase
        return (a * np.sin(x)).sum(0), (a * w * np.cos(x)).sum(0), -(a * w**2 * np.sin(x)).sum(0)

    smooth = c.theta.copy()
    smooth[c.model.n_rigid + 6 : c.model.n_rigid + 9] = 0.0  # no jumps of Coulomb friction
    tau = np.column_stack([torque(c.model, smooth, *at(t - s))[:, j] for j, s in enumerate(late)])
    tau += NOISE * rng.normal(size=tau.shape)
    made = moved("late", c.model, smooth, 0)
    q, qd, qdd = at(t)
    keep = np.ones((SAMPLES, 3), bool)
    return replace(made, t=t, q=q, qd=qd, qdd=qdd, tau=tau, keep=keep, blocks=(), **options)


@pytest.mark.parametrize("samples", [(0.0, 0.0, 0.0), (0.4, 0.4, 0.4), (1.3, -0.7, 2.5), (-2.6, 3.1, 0.2)])
def test_fractional_delays_are_found_within_a_fifth_of_a_sample(samples):
    late = np.array(samples) * STEP
    found = delays(case().model, arm_motion(late))
    np.testing.assert_allclose(found.seconds / STEP, samples, atol=0.2)
    for gain, s in zip(found.gain, samples, strict=True):
        assert gain < 0.5 if abs(s) > 1 else gain <= 1.0


def test_thinned_logs_show_the_same_delay():
    late = np.array([1.3, -0.7, 2.5]) * STEP
    rows = -(-SAMPLES // 4)
    motion = arm_motion(late)
    thinned = replace(motion, decimation=(4,), keep=np.ones((rows, 3), bool), blocks=((0, rows),))
    np.testing.assert_allclose(delays(case().model, thinned).seconds / STEP, late / STEP, atol=0.2)


def at_rest(moving):
    """Return the motion with all joints at rest but those in `moving`."""
    c = case()
    motion = arm_motion((0.0, 0.0, 0.0))
    still = [j for j in range(3) if j not in moving]
    q, qd, qdd = motion.q.copy(), motion.qd.copy(), motion.qdd.copy()
    q[:, still], qd[:, still], qdd[:, still] = q[0, still], 0.0, 0.0
    tau = torque(c.model, c.theta, q, qd, qdd)
    tau += NOISE * np.random.default_rng(1).normal(size=tau.shape)
    return replace(motion, q=q, qd=qd, qdd=qdd, tau=tau)


def test_a_joint_that_does_not_move_tells_nothing():
    found = delays(case().model, at_rest([]))
    assert np.isnan(found.seconds).all()
    assert (found.gain == 1.0).all()
    found = delays(case().model, at_rest([2]))
    assert abs(found.seconds[2]) < 0.2 * STEP


def test_a_delay_beyond_reach_is_not_told():
    found = delays(case().model, arm_motion((0.05, 0.0, 0.0)))
    assert np.isnan(found.seconds[0])
    assert found.gain[0] == 1.0
    assert np.isfinite(found.seconds[1:]).all()
    further = delays(case().model, arm_motion((0.05, 0.0, 0.0)), reach=0.1)
    assert further.seconds[0] == pytest.approx(0.05, abs=0.2 * STEP)


def test_too_few_samples_tell_nothing():
    motion = arm_motion((0.0, 0.0, 0.0))
    keep = np.zeros((SAMPLES, 3), bool)
    keep[:5] = True
    assert np.isnan(delays(case().model, replace(motion, keep=keep)).seconds).all()
