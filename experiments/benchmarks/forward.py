"""Accelerations, mass matrices and Jacobians in one call against loops over Pinocchio; a thousand rollouts in one call.

python experiments/benchmarks/forward.py
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from arm7 import arm, bodies, pinocchio, seconds, states

from ident.dynamics import forward_dynamics, inverse_dynamics, jacobian, mass_matrix
from ident.model import DriveInertia, Model, SmoothCoulomb, Viscous
from ident.simulation import rollouts
from ident.simulation.plant import plant

SAMPLES = 100_000
ROLLOUTS, SECONDS, STEP = 1000, 1.0, 1e-3


def against_pinocchio() -> None:
    """Print the times of a sample, ours and Pinocchio's."""
    import pinocchio as pin

    robot, theta = arm(), bodies(7)
    q, qd, qdd = states(SAMPLES, robot.n)
    other = pinocchio(robot, theta)
    tip = other.addFrame(pin.Frame("tip", robot.n, 0, pin.SE3.Identity(), pin.OP_FRAME))
    data = other.createData()
    tau = inverse_dynamics(robot, theta, q, qd, qdd)

    def loop(call: Callable[[int], np.ndarray], *shape: int) -> np.ndarray:
        out = np.empty((SAMPLES, *shape))
        for s in range(SAMPLES):
            out[s] = call(s)
        return out

    def upper(s: int) -> np.ndarray:
        return pin.crba(other, data, q[s])

    def axes(s: int) -> np.ndarray:
        return pin.computeFrameJacobian(other, data, q[s], tip, pin.LOCAL_WORLD_ALIGNED)

    n = robot.n
    pairs = {
        "forward dynamics": (
            lambda: forward_dynamics(robot, theta, q, qd, tau),
            lambda: loop(lambda s: pin.aba(other, data, q[s], qd[s], tau[s]), n),
        ),
        "mass matrix": (lambda: mass_matrix(robot, theta, q), lambda: loop(upper, n, n)),
        "Jacobian": (lambda: jacobian(robot, q, robot.links[-1]), lambda: loop(axes, 6, n)),
    }
    for name, (ours, theirs) in pairs.items():
        found, wanted = ours(), theirs()
        if name == "mass matrix":
            found, wanted = np.triu(found), np.triu(wanted)
        a, b = np.min([(seconds(ours, 3), seconds(theirs, 1)) for _ in range(3)], axis=0) / SAMPLES * 1e6
        print(f"{name:16} {a:6.2f} us a sample   Pinocchio {b:5.2f}   ratio {b / a:5.1f}", end="   ")
        print(f"largest difference {np.abs(found - wanted).max():.1e}")


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
    against_pinocchio()
    many()
