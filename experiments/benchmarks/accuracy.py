"""Largest differences from Pinocchio, MuJoCo and one QR of everything, and the coverage of the error bars.

python experiments/benchmarks/accuracy.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from oracles import mujoco_torque, pin_regressor, pin_torque
from random_robots import pinocchio_model, random_pair
from synthetic import random_theta, recording
from test_covariance import coverage
from test_dynamics import largest_relative, states
from test_regression import dense, gram_difference, random_model

from ident.dynamics.rigid_body import inverse_dynamics, regressor
from ident.regression import compress


def dynamics(trees: int, samples: int) -> tuple[float, float]:
    """Return the largest relative difference of regressor and inverse dynamics from Pinocchio's."""
    worst = [0.0, 0.0]
    for seed in range(trees):
        rng = np.random.default_rng(seed)
        text, robot = random_pair(rng, 1 + seed % 12)
        model, order = pinocchio_model(text, robot)
        q, qd, qdd = states(rng, robot.n, samples)
        worst[0] = max(
            worst[0], largest_relative(regressor(robot, q, qd, qdd), pin_regressor(model, order, q, qd, qdd))
        )
        back = np.argsort(order)
        tau = pin_torque(model, q[:, back], qd[:, back], qdd[:, back])[:, order]
        worst[1] = max(worst[1], largest_relative(inverse_dynamics(robot, robot.inertials, q, qd, qdd), tau))
    return worst[0], worst[1]


def simulator(trees: int, samples: int) -> float:
    """Return the largest relative difference of Y @ theta from MuJoCo's inverse dynamics."""
    worst = 0.0
    for seed in range(trees):
        rng = np.random.default_rng(1000 + seed)
        _, robot = random_pair(rng, 1 + seed % 12)
        x = states(rng, robot.n, samples)
        found = regressor(robot, *x) @ robot.inertials.ravel()
        worst = max(worst, largest_relative(found, mujoco_torque(robot, robot.inertials, *x)))
    return worst


def merged(models: int) -> float:
    """Return the largest difference of R'R of merged factors from that of one dense stack, columns of length 1."""
    worst = 0.0
    for seed in range(models):
        model = random_model(seed, 1 + seed % 8)
        rng = np.random.default_rng(seed)
        theta = random_theta(rng, model)
        motions = [recording(rng, model, theta, samples=500, noise=0.1, segments=3, name=f"{i}") for i in range(4)]
        found = compress(model, motions)
        Y, tau = dense(model, motions)
        stack = np.concatenate([Y[:, :, found.base.kept], tau[:, :, None]], axis=2)
        stack = stack.reshape(-1, stack.shape[2])
        worst = max(worst, gram_difference(found.factor(np.ones(model.robot.n)), stack))
    return worst


def main() -> None:
    first, second = dynamics(300, 50)
    print(f"regressor against Pinocchio, 300 trees x 50 states:        {first:.1e}")
    print(f"inverse dynamics against Pinocchio, the same:              {second:.1e}")
    print(f"regressor @ theta against MuJoCo, 20 trees x 50 states:    {simulator(20, 50):.1e}")
    print(f"merged factors against one QR, 40 models:                  {merged(40):.1e}")
    print("share of 95 % intervals that hold the truth:")
    print(f"  white noise, classical                                   {coverage('classical', 1000, 0.0, 1):.1%}")
    print(f"  AR(1) noise with rho 0.95, classical                     {coverage('classical', 300, 0.95, 1):.1%}")
    print(f"  AR(1) noise with rho 0.95, by segment (15 segments)      {coverage('cluster', 600, 0.95, 15):.1%}")


if __name__ == "__main__":
    main()
