"""A small robot, two recordings of it made from a known theta, and what is identified from them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ident.arrays import Array
from ident.compare.validate import Residuals
from ident.estimate import Estimate, Prior, estimated
from ident.logs.motion import Motion
from ident.model import Coulomb, DriveInertia, Model, Offset, Viscous, torque
from ident.regression import Regression, compress
from ident.report.pictures import residual_picture
from ident.robot import Joint
from ident.robot.urdf import parse_urdf
from ident.simulation import acceleration, plant, simulate_fixed
from ident.spatial.inertia import Pose

NOISE = 0.02
URDF = """<?xml version="1.0"?>
<robot name="crane">
  <link name="base"/>
  <link name="tower"><inertial><origin xyz="0.02 0.01 0.2"/><mass value="6.0"/>
    <inertia ixx="0.08" ixy="0.002" ixz="-0.001" iyy="0.07" iyz="0.003" izz="0.05"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0.25 -0.01 0.02"/><mass value="3.0"/>
    <inertia ixx="0.01" ixy="-0.001" ixz="0.002" iyy="0.06" iyz="0.001" izz="0.055"/></inertial></link>
  <link name="slider"><inertial><origin xyz="0.1 0.03 -0.02"/><mass value="1.5"/>
    <inertia ixx="0.004" ixy="0.0005" ixz="-0.0004" iyy="0.009" iyz="0.0002" izz="0.008"/></inertial></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="tower"/><origin xyz="0 0 0.3"/>
    <axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="50" velocity="3"/></joint>
  <joint name="lift" type="revolute"><parent link="tower"/><child link="arm"/><origin xyz="0.1 0 0.4"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="50" velocity="3"/></joint>
  <joint name="reach" type="prismatic"><parent link="arm"/><child link="slider"/><origin xyz="0.5 0 0"/>
    <axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="90" velocity="1"/></joint>
</robot>
"""


def moved(name: str, model: Model, theta: Array, seed: int, samples: int = 1500, **options: Any) -> Motion:
    """Return a multi-sine motion of 15 s with torques of theta and white noise."""
    rng = np.random.default_rng(seed)
    n = model.robot.n
    t = np.linspace(0.0, 15.0, samples)
    q, qd, qdd = (np.zeros((samples, n)) for _ in range(3))
    for harmonic in range(1, 6):
        w = 2 * np.pi * 0.1 * harmonic
        a, phase = rng.uniform(0.2, 0.5, n), rng.uniform(0, 2 * np.pi, n)
        q += a * np.sin(w * t[:, None] + phase)
        qd += a * w * np.cos(w * t[:, None] + phase)
        qdd -= a * w**2 * np.sin(w * t[:, None] + phase)
    tau = torque(model, theta, q, qd, qdd) + NOISE * rng.normal(size=(samples, n))
    options.setdefault("keep", np.ones((samples, n), dtype=bool))
    options.setdefault("blocks", tuple((a, a + 100) for a in range(0, samples, 100)))
    return Motion(name, t, q, qd, qdd, tau, **options)


class Case:
    """Robot, model, true theta, motions to fit and to validate, factors, estimates."""

    def __init__(self) -> None:
        rng = np.random.default_rng(4)
        self.robot = parse_urdf(URDF.encode())
        self.model = Model(self.robot, (DriveInertia(), Viscous(), Coulomb(), Offset()))
        terms = np.concatenate([rng.uniform(0.1, 0.3, 3), rng.uniform(0.5, 2, 3), rng.uniform(0.5, 2, 3), [0.1] * 3])
        assert self.robot.inertials is not None
        self.inertials: Array = self.robot.inertials
        self.theta = np.concatenate([self.inertials.ravel(), terms])
        self.truth = dict(zip(self.model.names, self.theta.tolist(), strict=True))
        self.terms = {name: self.truth[name] for name in self.model.names[self.model.n_rigid :]}
        self.fit = moved("fit", self.model, self.theta, 1)
        self.other = moved("other", self.model, self.theta, 2)
        self.regression: Regression = compress(self.model, self.fit)
        self.wls: Estimate = estimated(self.model, self.regression, feasible=False)
        prior = Prior(self.inertials, "cad.csv", self.terms)
        self.constrained: Estimate = estimated(self.model, self.regression, prior, weight=1e-6)


@cache
def case() -> Case:
    """Return the case, made once."""
    return Case()


def require_lossless(model: Model, theta: Array, speeds: list[float], *, seconds: float, step: float) -> None:
    """Assert of two joints without friction: forward dynamics undo inverse ones, and a simulation keeps energy.

    theta (p,); speeds (2,) at the start [rad/s]; seconds, step [s].
    """
    p = plant(model, theta)
    q, qd, qdd = np.random.default_rng(0).normal(0, 0.5, (3, 20, 2))
    again = acceleration(p, q, qd, torque(model, theta, q, qd, qdd))
    np.testing.assert_allclose(again, qdd, rtol=1e-7, atol=1e-7)
    run = simulate_fixed(p, [0.3, -0.2], speeds, seconds, step)
    energy = p.kinetic(run.q, run.qd) + p.potential(run.q)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-6)


def residual_of(t, residual, velocity, position, *, title, starts=(0,)):
    """Return the picture of the residual of a joint that turns."""
    columns = (np.asarray(x)[:, None] for x in (position, velocity, residual))
    left = Residuals(("run",) * len(starts), starts, t, *columns)
    joint = Joint("joint", "revolute", -1, Pose.identity(), np.array([0.0, 0.0, 1.0]))
    return residual_picture(left, 0, joint, title=title)
