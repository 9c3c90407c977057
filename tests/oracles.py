"""A Robot rebuilt in Pinocchio and in MuJoCo, to compare with. Neither shares code with the package."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from random_robots import cloud

from ident.robot import Joint, Robot
from ident.spatial.inertia import INERTIAL, Pose, from_com, pseudo_inertia, rpy, to_com

PIN_ORDER = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
FROM_PIN = [PIN_ORDER.index(name) for name in INERTIAL]


def bregman(inertials: np.ndarray, reference: np.ndarray) -> float:
    """Return the log-det divergence tr Q - log det Q - 4 of two bodies, Q = J0^-1 J, by the eigenvalues of Q."""
    values = np.linalg.eigvals(np.linalg.solve(pseudo_inertia(reference), pseudo_inertia(inertials))).real
    return float(np.sum(values - np.log(values) - 1.0)) if values.min() > 0 else np.inf


def random_bodies(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return parameters (n, 10) of bodies that can exist."""
    return np.array([from_com(*cloud(rng)) for _ in range(n)])


def random_tree(
    rng: np.random.Generator, n: int, *, points: bool = False, branches: bool = True, sliding: bool = True
) -> Robot:
    """Return a robot of n joints without fixed bodies; `points` puts the joints' lines beside the frames' origins."""
    joints = []
    for i in range(n):
        parent = int(rng.integers(-1, i)) if branches else i - 1
        placement = Pose(rpy(*rng.uniform(-3, 3, 3)), rng.uniform(-0.5, 0.5, 3))
        kind = "prismatic" if rng.random() < 0.3 and sliding else "revolute"
        point = rng.uniform(-0.3, 0.3, 3) if points else np.zeros(3)
        joints.append(Joint(f"joint{i + 1}", kind, parent, placement, rng.normal(size=3), point))
    links = tuple(f"link{i + 1}" for i in range(n))
    return Robot("tree", tuple(joints), links, gravity=rng.normal(0, 6, 3), inertials=random_bodies(rng, n))


def pin_tree(robot: Robot, bodies: np.ndarray) -> Any:
    """Return Pinocchio's model of any Robot; its joint frames lie on the joints' lines, at `point`."""
    model = pin.Model()
    model.gravity.linear = np.asarray(robot.gravity)
    for joint, body in zip(robot.joints, bodies, strict=True):
        moving = pin.JointModelRevoluteUnaligned if joint.kind == "revolute" else pin.JointModelPrismaticUnaligned
        start = joint.placement.position + joint.placement.rotation @ joint.point
        if joint.parent >= 0:
            start = start - robot.joints[joint.parent].point
        k = model.addJoint(joint.parent + 1, moving(*joint.axis), pin.SE3(joint.placement.rotation, start), joint.name)
        mass, com, inertia = to_com(body)
        model.appendBodyToJoint(k, pin.Inertia(mass, com, inertia), pin.SE3(np.eye(3), -joint.point))
    order = [model.joints[model.getJointId(name)].idx_v for name in robot.joint_names]
    assert order == list(range(robot.n))
    return model


def pin_torque(model: Any, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    data = model.createData()
    return np.array([pin.rnea(model, data, *x).copy() for x in zip(q, qd, qdd, strict=True)])


def pin_regressor(model: Any, order: np.ndarray, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """Return (N, n, 10 n) in this package's order of joints and parameters; order as from `pinocchio_model`."""
    data, n = model.createData(), len(order)
    columns = np.concatenate([10 * k + np.array(FROM_PIN) for k in order])
    back = np.argsort(order)
    out = np.empty((len(q), n, 10 * n))
    for s, (x, v, a) in enumerate(zip(q[:, back], qd[:, back], qdd[:, back], strict=True)):
        # one row comes back flat
        out[s] = pin.computeJointTorqueRegressor(model, data, x, v, a).reshape(n, -1)[np.ix_(order, columns)]
    return out


def mjcf(robot: Robot, bodies: np.ndarray) -> str:
    """Return MuJoCo's description of any Robot with link parameters (n, 10)."""

    def text(values: Any) -> str:
        return " ".join(repr(float(v)) for v in np.ravel(values))

    def element(i: int) -> str:
        joint = robot.joints[i]
        mass, com, inertia = to_com(bodies[i])
        full = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        kind = {"revolute": "hinge", "prismatic": "slide"}[joint.kind]
        rotation = joint.placement.rotation
        inside = "".join(element(k) for k in range(robot.n) if robot.joints[k].parent == i)
        return (
            f'<body name="{robot.links[i]}" pos="{text(joint.placement.position)}" '
            f'xyaxes="{text(rotation[:, 0])} {text(rotation[:, 1])}">'
            f'<inertial pos="{text(com)}" mass="{mass!r}" fullinertia="{text(full)}"/>'
            f'<joint name="{joint.name}" type="{kind}" axis="{text(joint.axis)}" pos="{text(joint.point)}"/>'
            f"{inside}</body>"
        )

    roots = "".join(element(i) for i in range(robot.n) if robot.joints[i].parent < 0)
    return (
        f'<mujoco><compiler angle="radian"/><option gravity="{text(robot.gravity)}"/>'
        f"<worldbody>{roots}</worldbody></mujoco>"
    )


def mujoco_torque(robot: Robot, bodies: np.ndarray, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    import mujoco

    model = mujoco.MjModel.from_xml_string(mjcf(robot, bodies))
    data = mujoco.MjData(model)
    order = [int(model.jnt_dofadr[model.joint(name).id]) for name in robot.joint_names]
    back = np.argsort(order)
    out = np.empty_like(q)
    for s in range(len(q)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[s, back], qd[s, back], qdd[s, back]
        mujoco.mj_inverse(model, data)
        out[s] = data.qfrc_inverse[order]
    return out
