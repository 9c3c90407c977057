"""What every joint term of a model offers. Terms are small frozen values; nothing has to be inherited."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ident.arrays import Array
from ident.errors import ModelError, nearest
from ident.robot.robot import Robot

#: What the names of joint-term parameters end in, after the joint or motor.
KINDS = ("drive_inertia", "viscous", "nonlinear_viscous", "coulomb", "load_friction", "offset", "stiffness")


class Term(Protocol):
    """A part of the joint torque that is linear in its own parameters."""

    @property
    def nonnegative(self) -> bool:
        """Whether physics forbids negative values of its parameters."""

    @property
    def shape(self) -> dict[str, float]:
        """Numbers beside its parameters that its columns depend on, such as {"tanh": width}; {} where none."""

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Return the names of its parameters."""

    def entries(self, robot: Robot) -> tuple[tuple[int, int], ...]:
        """Return the (joint, parameter) indices of the columns that are not zero."""

    def columns(self, robot: Robot, q: Array, qd: Array, qdd: Array) -> Array:
        """Return those columns, (n_entries, N), from q, qd, qdd (N, n)."""

    def pull_back(self, robot: Robot, q: Array, qd: Array, qdd: Array, weights: Array) -> Array:
        """Return the derivative of sum(weights * columns) with respect to q, qd, qdd: (3, N, n); weights as columns."""


def chosen(joints: tuple[str, ...] | None, robot: Robot) -> list[int]:
    """Return the indices of the named joints, or of all when None; ModelError names an unknown one."""
    if joints is None:
        return list(range(robot.n))
    for name in joints:
        if name not in robot.joint_names:
            raise ModelError(f"robot '{robot.name}' has no joint '{name}'{nearest(name, robot.joint_names)}")
    return [robot.joint_names.index(name) for name in joints]


def one_per_joint(joints: tuple[str, ...] | None, robot: Robot) -> tuple[tuple[int, int], ...]:
    """Return the entries of a term with one parameter in each chosen joint's own equation."""
    return tuple((j, k) for k, j in enumerate(chosen(joints, robot)))


def joint_names(joints: tuple[str, ...] | None, robot: Robot, suffix: str) -> tuple[str, ...]:
    """Return `joint.suffix` for each chosen joint."""
    return tuple(f"{robot.joint_names[j]}.{suffix}" for j in chosen(joints, robot))


def own_joint(joints: tuple[str, ...] | None, order: int, slopes: Array, state: Array, robot: Robot) -> Array:
    """Return a pull-back (3, N, n) of columns that each depend on one signal of their own joint.

    order: 0 for q, 1 for qd, 2 for qdd; slopes (n_joints, N); state (N, n) gives the shape.
    """
    found = np.zeros((3, *state.shape))
    found[order][:, chosen(joints, robot)] = slopes.T
    return found
