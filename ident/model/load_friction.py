"""Coulomb friction that grows with the load on the joint, as that of gears does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.dynamics.rigid_body import inverse_dynamics
from ident.errors import ModelError
from ident.model.coulomb import Coulomb, SmoothCoulomb
from ident.model.dahl import Dahl
from ident.model.term import chosen, joint_names
from ident.robot.robot import Robot
from ident.spatial.inertia import INERTIAL


@dataclass(frozen=True)
class LoadFriction:
    """tau_j = mu_j |load_j(q, qd, qdd)| f(qd_j), mu_j without a unit.

    load_j: torque that links with the parameters `bodies` (n, 10), such as CAD's, need at the joint; f: of `law`, which
    names the joints too. The term is linear in mu because the bodies are given: where they are off by a factor, mu
    takes it up, and little is lost. Source: Hamon, Gautier, Garrec, "Dynamic identification of robots with a dry
    friction model depending on load and velocity", IROS 2010.
    """

    bodies: tuple[tuple[float, ...], ...]
    law: Coulomb | SmoothCoulomb | Dahl
    nonnegative: bool = True

    @staticmethod
    def of(bodies: ArrayLike, law: Coulomb | SmoothCoulomb | Dahl) -> LoadFriction:
        """Return the term with the load of bodies (n, 10); raises ModelError when one is not finite."""
        given = frozen(bodies, (None, 10), "bodies of the load", ModelError)
        return LoadFriction(tuple(tuple(float(x) for x in row) for row in given), law)

    @property
    def shape(self) -> dict[str, float]:
        """The law's own shape, and the bodies as {"1 m": ..., "1 hx": ..., ...}, links counted from 1."""
        numbers = {
            f"{i} {part}": x for i, body in enumerate(self.bodies, 1) for part, x in zip(INERTIAL, body, strict=True)
        }
        return {**self.law.shape, **numbers}

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Return `JOINT.load_friction` for each joint."""
        return joint_names(self.law.joints, robot, "load_friction")

    def entries(self, robot: Robot) -> tuple[tuple[int, int], ...]:
        """Return one entry per joint, in its own equation."""
        return self.law.entries(robot)

    def columns(self, robot: Robot, q: Array, qd: Array, qdd: Array) -> Array:
        """Return |load_j| f(qd_j) of each joint, (n_joints, N)."""
        load = inverse_dynamics(robot, np.array(self.bodies), q, qd, qdd)
        return np.abs(load.T[chosen(self.law.joints, robot)]) * self.law.columns(robot, q, qd, qdd)

    def pull_back(self, robot: Robot, q: Array, qd: Array, qdd: Array, weights: Array) -> Array:
        """Raise ModelError: motions are designed without this term."""
        raise ModelError("motions are designed without load friction", fix="Leave load_friction out of the design")


def load_friction_of(shape: dict[str, float], law: Coulomb | SmoothCoulomb | Dahl) -> LoadFriction:
    """Return the term whose `shape` this is; raises ModelError where a number of a body is missing."""
    rows: list[list[float]] = []
    while f"{len(rows) + 1} m" in shape:
        try:
            rows.append([shape[f"{len(rows) + 1} {part}"] for part in INERTIAL])
        except KeyError as cause:
            raise ModelError(f"the load of load friction lacks the number {cause}", fix="Fit again") from None
    return LoadFriction.of(np.array(rows).reshape(-1, 10), law)
