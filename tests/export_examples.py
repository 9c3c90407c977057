"""Random robots with numbers to export, and the torques that whoever reads the files has to find."""

from __future__ import annotations

import numpy as np
from export_readers import Read, estimate_of, torque_of
from oracles import pin_torque, pin_tree, random_bodies, random_tree
from random_robots import random_pair

from ident.export.formats import export_to
from ident.export.identified import exportable
from ident.model import Coulomb, DriveInertia, Model, Offset, Viscous, torque
from ident.robot import DHJoint, Limits, MDHJoint, from_dh, from_mdh
from ident.spatial.inertia import Pose, rpy

TOLERANCE = 1e-9
KINDS = ("drive_inertia", "viscous", "coulomb", "offset")


class Example:
    """A random robot with numbers, and the torque of Pinocchio's model of it, without Coulomb friction and offset."""

    def __init__(self, robot, seed: int) -> None:
        rng = np.random.default_rng(1000 + seed)
        self.robot = robot
        self.model = Model(robot, (DriveInertia(), Viscous(), Coulomb(), Offset()))
        n = robot.n
        terms = rng.uniform(0.05, 2.0, (4, n))
        bodies = robot.inertials if robot.inertials is not None else random_bodies(rng, n)
        theta = np.concatenate([bodies.ravel(), terms.ravel()])
        self.estimate = estimate_of(robot, self.model, theta)
        self.theta = theta = exportable(self.estimate, robot)  # as it is written
        self.bodies, self.terms = theta[: 10 * n].reshape(n, 10), theta[10 * n :].reshape(4, n)
        self.drive, self.viscous, self.coulomb, _ = self.terms
        self.q, self.qd, self.qdd = rng.uniform(-2, 2, (3, 10, n))
        self.rigid = pin_torque(pin_tree(robot, self.bodies), self.q, self.qd, self.qdd)

    def ours(self, *kinds: str) -> np.ndarray:
        """Return this package's torque (N, n) with joint terms of these kinds only."""
        terms = np.where(np.isin(KINDS, kinds)[:, None], self.terms, 0.0)
        return torque(self.model, np.concatenate([self.bodies.ravel(), terms.ravel()]), self.q, self.qd, self.qdd)

    def close(self, found, *, drive: bool = False, viscous: bool = False) -> None:
        expected = self.rigid + drive * self.drive * self.qdd + viscous * self.viscous * self.qd
        scale = np.abs(expected).max()
        assert np.abs(found - expected).max() < TOLERANCE * scale

    def text(self, name: str, tmp_path, **more) -> str:
        return export_to(name, self.estimate, tmp_path / "out", robot=self.robot, **more).path.read_text()

    def torque(self, reads: list[Read], gravity) -> np.ndarray:
        return torque_of(reads, gravity, self.robot.joint_names, self.q, self.qd, self.qdd)


def tree(seed: int) -> Example:
    """Return trees with joints beside the frames, or robots of a URDF with fixed bodies."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    robot = random_tree(rng, n, points=True) if seed % 2 else random_pair(rng, n)[1]
    return Example(robot, seed)


def chain(seed: int, n: int = 5, first: str | None = None) -> Example:
    """Return a robot of a standard (even) or modified (odd) DH table; first is the kind of its first joint."""
    rng = np.random.default_rng(seed)
    one, make = (MDHJoint, from_mdh) if seed % 2 else (DHJoint, from_dh)
    table = [
        one(
            *rng.uniform(-2, 2, 4), offset=float(rng.uniform(-1, 1)), sign=int(rng.choice([-1, 1])),
            kind=str(rng.choice(["revolute", "prismatic"])) if first is None or i else first,
            limits=Limits(-3.0, 3.0, 1.0, 5.0), name=f"j{i}",
        )
        for i in range(n)
    ]  # fmt: skip
    base = Pose(rpy(*rng.uniform(-3, 3, 3)), rng.uniform(-1, 1, 3)) if seed % 3 else None
    return Example(make("arm", table, gravity=rng.normal(0, 6, 3), base=base), seed)
