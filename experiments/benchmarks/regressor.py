"""The batch regressor against a loop over Pinocchio's call that stacks the same array.

python experiments/benchmarks/regressor.py
"""

from __future__ import annotations

import numpy as np
from arm7 import arm, bodies, pinocchio, seconds, states

from ident.dynamics.rigid_body import inverse_dynamics, regressor

SAMPLES = 100_000


def main() -> None:
    import pinocchio as pin

    robot = arm()
    q, qd, qdd = states(SAMPLES, robot.n)
    other = pinocchio(robot)
    data = other.createData()
    theta = bodies(robot.n)

    def theirs() -> np.ndarray:
        out = np.empty((SAMPLES, 7, 70))
        for s in range(SAMPLES):
            out[s] = pin.computeJointTorqueRegressor(other, data, q[s], qd[s], qdd[s])
        return out

    def loop() -> np.ndarray:
        out = np.empty((SAMPLES, 7))
        for s in range(SAMPLES):
            out[s] = pin.rnea(other, data, q[s], qd[s], qdd[s])
        return out

    order = np.concatenate([10 * i + np.array([0, 1, 2, 3, 4, 5, 7, 6, 8, 9]) for i in range(7)])
    ours = regressor(robot, q, qd, qdd)
    print(f"largest difference {np.abs(theirs()[:, :, order] - ours).max():.1e}")
    room = np.empty_like(ours)
    # in turn, so that both see the same machine
    figures = [
        (
            seconds(lambda: regressor(robot, q, qd, qdd), 3),
            seconds(lambda: regressor(robot, q, qd, qdd, out=room), 3),
            seconds(theirs, 1),
            seconds(lambda: inverse_dynamics(robot, theta, q, qd, qdd), 3),
            seconds(loop, 1),
        )
        for _ in range(3)
    ]
    fresh, filled, pinocchio_time, inverse, rnea = np.min(figures, axis=0) / SAMPLES * 1e6
    for name, a, b in (
        ("regressor, new array", fresh, pinocchio_time),
        ("regressor, same array", filled, pinocchio_time),
        ("inverse dynamics", inverse, rnea),
    ):
        print(f"{name:22} {a:6.2f} us a sample   Pinocchio {b:5.2f}   ratio {b / a:5.1f}")


if __name__ == "__main__":
    main()
