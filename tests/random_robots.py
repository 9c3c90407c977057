"""Random robots for tests: URDF text, the Robot read from it, and Pinocchio's joint order.

`random_robot` writes trees of 1-12 moving joints with revolute, prismatic and fixed joints, any axis, random origins
and inertials of bodies that can exist (each is a cloud of random point masses).
"""

from __future__ import annotations

from typing import Any

import numpy as np


def cloud(rng: np.random.Generator, points: int = 8) -> tuple[float, np.ndarray, np.ndarray]:
    """Return mass, centre (3,) and tensor about the centre (3, 3) of a random cloud of point masses."""
    m = rng.uniform(0.02, 1.0, points)
    x = rng.normal(0.0, 0.1, (points, 3)) + rng.normal(0.0, 0.1, 3)
    c = m @ x / m.sum()
    r = x - c
    inertia = (m[:, None] * r).T @ r
    return float(m.sum()), c, np.trace(inertia) * np.eye(3) - inertia


def _numbers(values: Any) -> str:
    return " ".join(repr(float(v)) for v in values)


def _origin(rng: np.random.Generator) -> str:
    return f'<origin xyz="{_numbers(rng.uniform(-0.5, 0.5, 3))}" rpy="{_numbers(rng.uniform(-np.pi, np.pi, 3))}"/>'


def _link(rng: np.random.Generator, name: str, inertial: bool) -> str:
    if not inertial:
        return f'  <link name="{name}"/>\n'
    mass, c, inertia = cloud(rng)
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.tolist()
    # the random rpy turns the tensor's axes: another body, but one that can exist
    return (
        f'  <link name="{name}">\n    <inertial>\n'
        f'      <origin xyz="{_numbers(c)}" rpy="{_numbers(rng.uniform(-np.pi, np.pi, 3))}"/>\n'
        f'      <mass value="{mass!r}"/>\n'
        f'      <inertia ixx="{xx!r}" ixy="{xy!r}" ixz="{xz!r}" iyy="{yy!r}" iyz="{yz!r}" izz="{zz!r}"/>\n'
        "    </inertial>\n  </link>\n"
    )


def random_robot(
    rng: np.random.Generator,
    n: int,
    *,
    branches: bool = True,
    prismatic: bool = True,
    fixed: bool = True,
    missing: float = 0.0,
    shuffled: bool = True,
) -> str:
    """Return the URDF text of a random robot with n moving joints.

    Moving joints are called joint0 .. joint(n-1) and carry link0 .. link(n-1); fixed ones are called weld0, weld1 ...
    and carry body0, body1 ... `missing` is the share of links without an <inertial>; `shuffled` mixes the order in
    which the elements stand in the document (a parent joint may then come after its child).
    """
    carriers = ["base"]
    pieces = [_link(rng, "base", rng.random() < 0.7)]
    welds = 0

    def weld(parent: str) -> str:
        nonlocal welds
        name = f"body{welds}"
        pieces.append(_link(rng, name, rng.random() < 0.7 and rng.random() >= missing))
        pieces.append(
            f'  <joint name="weld{welds}" type="fixed">\n    <parent link="{parent}"/>\n    <child link="{name}"/>\n'
            f"    {_origin(rng)}\n  </joint>\n"
        )
        welds += 1
        return name

    for i in range(n):
        parent = str(rng.choice(carriers)) if branches else carriers[-1]
        if fixed and rng.random() < 0.3:
            parent = weld(parent)
        slides = prismatic and rng.random() < 0.3
        axis = rng.normal(size=3)
        if rng.random() < 0.3:
            axis = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
        axis = axis / np.linalg.norm(axis)
        low, high = (-0.5, 0.5) if slides else (-3.0, 3.0)
        pieces.append(_link(rng, f"link{i}", rng.random() >= missing))
        pieces.append(
            f'  <joint name="joint{i}" type="{"prismatic" if slides else "revolute"}">\n'
            f'    <parent link="{parent}"/>\n    <child link="link{i}"/>\n    {_origin(rng)}\n'
            f'    <axis xyz="{_numbers(axis)}"/>\n'
            f'    <limit lower="{low}" upper="{high}" effort="100.0" velocity="3.0"/>\n  </joint>\n'
        )
        carriers.append(f"link{i}")
        while fixed and rng.random() < 0.25:
            carriers.insert(-1, weld(f"link{i}"))  # the moving link stays last, so that chains go on from it
    if shuffled:
        pieces = [pieces[i] for i in rng.permutation(len(pieces))]
    return f'<?xml version="1.0"?>\n<robot name="random">\n{"".join(pieces)}</robot>\n'


def random_pair(rng: np.random.Generator, n: int, **options: Any) -> tuple[str, Any]:
    """Return URDF text and the Robot that read_urdf makes of it, under a random gravity vector."""
    from ident.robot.urdf import parse_urdf

    text = random_robot(rng, n, **options)
    return text, parse_urdf(text.encode(), gravity=rng.normal(0.0, 6.0, 3))


def pinocchio_model(text: str, robot: Any) -> tuple[Any, np.ndarray]:
    """Return Pinocchio's model of the URDF text under the robot's gravity, and `order`.

    order (n,) is such that q_pinocchio[order] = q and tau = tau_pinocchio[order] (no continuous joints).
    """
    import pinocchio

    model = pinocchio.buildModelFromXML(text)
    model.gravity.linear = np.asarray(robot.gravity)
    return model, np.array([model.joints[model.getJointId(name)].idx_v for name in robot.joint_names])
