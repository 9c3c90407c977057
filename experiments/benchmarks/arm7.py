"""What the benchmarks share: a seven-joint arm, random states, and the same arm in Pinocchio."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ident.model import Coulomb, DriveInertia, Model, Offset, Viscous
from ident.robot import Robot
from ident.robot.file import MDHJoint, from_mdh
from ident.spatial.inertia import from_com, to_com

RIGHT = np.pi / 2


def arm() -> Robot:
    """Return a seven-joint arm with alternating axes and offsets, of human size."""
    rows = [(0, 0, 0.33), (0, -RIGHT, 0), (0, RIGHT, 0.32), (0.08, RIGHT, 0), (-0.08, -RIGHT, 0.38), (0, RIGHT, 0)]
    rows.append((0.09, RIGHT, 0.1))
    return from_mdh("arm7", [MDHJoint(a=a, alpha=alpha, d=d) for a, alpha, d in rows])


def model() -> Model:
    """Return the arm with drive inertia, viscous and Coulomb friction and offsets."""
    return Model(arm(), (DriveInertia(), Viscous(), Coulomb(), Offset()))


def bodies(n: int) -> np.ndarray:
    """Return the parameters (n, 10) of n plain bodies."""
    return np.array([from_com(4.0 - 0.4 * i, [0.01, -0.02, 0.05], np.diag([0.03, 0.025, 0.02])) for i in range(n)])


def states(samples: int, joints: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return random q, qd, qdd (samples, joints)."""
    q, qd, qdd = np.random.default_rng(seed).normal(size=(3, samples, joints))
    return q, qd, qdd


def pinocchio(robot: Robot, parameters: np.ndarray | None = None) -> Any:
    """Return the robot as a Pinocchio model, with bodies of parameters (n, 10) where given."""
    import pinocchio as pin

    found = pin.Model()
    found.gravity.linear = np.array(robot.gravity)
    for i, joint in enumerate(robot.joints):
        place = pin.SE3(np.array(joint.placement.rotation), np.array(joint.placement.position))
        k = found.addJoint(joint.parent + 1, pin.JointModelRevoluteUnaligned(np.array(joint.axis)), place, joint.name)
        if parameters is not None:
            found.appendBodyToJoint(k, pin.Inertia(*to_com(parameters[i])), pin.SE3.Identity())
    return found


def urdf(robot: Robot) -> str:
    """Return the robot as URDF text, for programs that read nothing else."""
    from scipy.spatial.transform import Rotation

    text = ['<robot name="arm7">', '  <link name="base"/>']
    for joint, link in zip(robot.joints, robot.links, strict=True):
        parent = robot.links[joint.parent] if joint.parent >= 0 else "base"
        angles = Rotation.from_matrix(joint.placement.rotation).as_euler("xyz")
        xyz, rpy, axis = (" ".join(map(repr, map(float, v))) for v in (joint.placement.position, angles, joint.axis))
        text += [
            f'  <joint name="{joint.name}" type="revolute"><parent link="{parent}"/><child link="{link}"/>',
            f'    <origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>',
            '    <limit lower="-3" upper="3" velocity="3" effort="100"/></joint>',
            f'  <link name="{link}"><inertial><mass value="1"/><origin xyz="0 0 0"/>',
            '    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>',
        ]
    return "\n".join([*text, "</robot>"])


def seconds(work: Callable[[], Any], repeat: int = 5) -> float:
    """Return the least wall-clock time of `repeat` runs, after one that is not counted."""
    work()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def peak_megabytes() -> float:
    """Return the largest memory that this process has held [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
