"""Forward dynamics in one call against a loop over Pinocchio's aba, and a thousand rollouts in one call.

python experiments/benchmarks/forward.py
"""

from __future__ import annotations

import numpy as np
from arm7 import arm, bodies, pinocchio, seconds, states

from ident.dynamics import forward_dynamics, inverse_dynamics
from ident.model import DriveInertia, Model, SmoothCoulomb, Viscous
from ident.simulation import rollouts
from ident.simulation.plant import plant

SAMPLES = 100_000
ROLLOUTS, SECONDS, STEP = 1000, 1.0, 1e-3


def accelerations() -> None:
    """Print the time of a sample, ours and Pinocchio's."""
    import pinocchio as pin

    robot = arm()
    q, qd, qdd = states(SAMPLES, robot.n)
    other = pinocchio(robot, bodies(robot.n))
    data = other.createData()
    tau = inverse_dynamics(robot, bodies(robot.n), q, qd, qdd)

    def theirs() -> np.ndarray:
        out = np.empty((SAMPLES, robot.n))
        for s in range(SAMPLES):
            out[s] = pin.aba(other, data, q[s], qd[s], tau[s])
        return out

    def ours() -> np.ndarray:
        return forward_dynamics(robot, bodies(robot.n), q, qd, tau)

    print(f"accelerations that gave these torques, largest error {np.abs(ours() - qdd).max():.1e}")
    a, b = np.min([(seconds(ours, 3), seconds(theirs, 1)) for _ in range(3)], axis=0) / SAMPLES * 1e6
    print(f"forward dynamics {a:6.2f} us a sample   Pinocchio {b:5.2f}   ratio {b / a:5.1f}")


def many() -> None:
    """Print how much faster than the clock a thousand arms with friction are simulated."""
    robot = arm()
    n, steps = robot.n, round(SECONDS / STEP)
    drives = np.concatenate([np.full(n, 0.1), np.full(n, 0.5), np.full(n, 0.5)])
    arms = plant(Model(robot, (DriveInertia(), Viscous(), SmoothCoulomb(0.1))), np.append(bodies(n).ravel(), drives))
    rng = np.random.default_rng(0)
    q, qd = 0.5 * rng.normal(size=(2, ROLLOUTS, n))
    tau = rng.normal(size=(steps + 1, n))
    rollouts(arms, q, qd, tau, STEP, 10)
    took = min(seconds(lambda: rollouts(arms, q, qd, tau, STEP, 10), 1) for _ in range(3))
    faster = ROLLOUTS * SECONDS / took
    print(f"{ROLLOUTS} rollouts of {SECONDS:g} s at {1 / STEP:g} Hz: {took:.2f} s, {faster:.0f} x real time")


if __name__ == "__main__":
    accelerations()
    many()
