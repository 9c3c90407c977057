"""The batch regressor against a loop over Pinocchio's call that stacks the same array.

python experiments/benchmarks/regressor.py
"""

from __future__ import annotations

import numpy as np
from arm7 import bodies, model, pinocchio, seconds, states

from ident.dynamics.rigid_body import inverse_dynamics, regressor
from ident.model import regressor as with_friction
from ident.regression import base_parameters, packed_columns, state_rows

SAMPLES = 100_000


def main() -> None:
    import pinocchio as pin

    whole = model()
    robot = whole.robot
    q, qd, qdd = states(SAMPLES, robot.n)
    other = pinocchio(robot)
    data = other.createData()
    theta = bodies(robot.n)

    def theirs() -> np.ndarray:
        out = np.empty((SAMPLES, 7, 70))
        for s in range(SAMPLES):
            out[s] = pin.computeJointTorqueRegressor(other, data, q[s], qd[s], qdd[s])
        return out

    def beside_friction() -> np.ndarray:
        out = np.zeros((SAMPLES, 7, 98))
        for s in range(SAMPLES):
            out[s, :, :70] = pin.computeJointTorqueRegressor(other, data, q[s], qd[s], qdd[s])
        for k, column in enumerate((qdd, qd, np.sign(qd), 1.0)):
            out[:, range(7), range(70 + 7 * k, 77 + 7 * k)] = column
        return out

    def loop() -> np.ndarray:
        out = np.empty((SAMPLES, 7))
        for s in range(SAMPLES):
            out[s] = pin.rnea(other, data, q[s], qd[s], qdd[s])
        return out

    order = np.concatenate([10 * i + np.array([0, 1, 2, 3, 4, 5, 7, 6, 8, 9]) for i in range(7)])
    ours = regressor(robot, q, qd, qdd)
    print(f"largest difference {np.abs(theirs()[:, :, order] - ours).max():.1e}")
    wide = with_friction(whole, q, qd, qdd)
    order = np.concatenate([order, np.arange(70, 98)])
    print(f"with friction      {np.abs(beside_friction()[:, :, order] - wide).max():.1e}")
    room = np.empty_like(ours)
    columns = packed_columns(whole, base_parameters(whole))
    packed = state_rows(columns, q, qd, qdd)
    # in turn, so that both see the same machine
    figures = [
        (
            seconds(lambda: regressor(robot, q, qd, qdd), 3),
            seconds(lambda: regressor(robot, q, qd, qdd, out=room), 3),
            seconds(theirs, 1),
            seconds(lambda: with_friction(whole, q, qd, qdd), 3),
            seconds(lambda: with_friction(whole, q, qd, qdd, out=wide), 3),
            seconds(lambda: state_rows(columns, q, qd, qdd, out=packed), 3),
            seconds(beside_friction, 1),
            seconds(lambda: inverse_dynamics(robot, theta, q, qd, qdd), 3),
            seconds(loop, 1),
        )
        for _ in range(3)
    ]
    fresh, filled, pinocchio_time, fresh_wide, filled_wide, filled_packed, wide_time, inverse, rnea = (
        np.min(figures, axis=0) / SAMPLES * 1e6
    )
    for name, a, b in (
        ("regressor, new array", fresh, pinocchio_time),
        ("regressor, same array", filled, pinocchio_time),
        ("with friction, new", fresh_wide, wide_time),
        ("with friction, same", filled_wide, wide_time),
        ("the same, packed", filled_packed, wide_time),
        ("inverse dynamics", inverse, rnea),
    ):
        print(f"{name:22} {a:6.2f} us a sample   Pinocchio {b:5.2f}   ratio {b / a:5.1f}")


if __name__ == "__main__":
    main()
