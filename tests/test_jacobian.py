"""Frame poses and Jacobians against Pinocchio, MuJoCo and the poses themselves."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from oracles import mjcf, random_tree
from random_robots import pinocchio_model, random_pair
from seeds import cases

from ident.dynamics import frame_pose, jacobian
from ident.errors import ModelError
from ident.robot import Robot, frame_poses
from ident.robot.robot import FixedBody
from ident.spatial.inertia import Pose, rpy

TREES = 300
STATES = 3


def states(rng: np.random.Generator, n: int, samples: int = STATES) -> tuple[np.ndarray, np.ndarray]:
    return rng.uniform(-3, 3, (samples, n)), rng.normal(0, 2, (samples, n))


def relative(a: np.ndarray, b: np.ndarray) -> float:
    """Return max |a - b| relative to the largest |b|, or to 1 when that is smaller."""
    return float(np.abs(a - b).max() / max(1.0, np.abs(b).max()))


def some_frames(rng: np.random.Generator, robot: Robot) -> list[str]:
    """Return up to four names: a link or two, the rest fixed bodies, on the base too."""
    names = [*rng.choice(robot.links, min(2, robot.n), replace=False), *(b.name for b in robot.fixed)]
    return [str(name) for name in names[:4]]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, TREES, 100))
def test_frames_agree_with_pinocchio_on_random_trees(first: int) -> None:
    on_base = on_link = 0
    for seed in range(first, first + cases(100)):
        rng = np.random.default_rng(seed)
        text, robot = random_pair(rng, 1 + seed % 12)
        model, order = pinocchio_model(text, robot)
        back = np.argsort(order)
        names = some_frames(rng, robot)
        points = rng.normal(0, 0.5, (len(names), 3))
        on_base += sum(b.link < 0 for b in robot.fixed)
        on_link += sum(b.link >= 0 for b in robot.fixed)
        tips = []
        for name, point in zip(names, points, strict=True):
            frame = model.frames[model.getFrameId(name)]
            place = frame.placement * pin.SE3(np.eye(3), point)
            tips.append(model.addFrame(pin.Frame(f"tip of {name}", frame.parentJoint, place, pin.FrameType.OP_FRAME)))
        data = model.createData()
        q, _ = states(rng, robot.n)
        for s in range(STATES):
            pin.computeJointJacobians(model, data, q[s, back])
            pin.updateFramePlacements(model, data)
            one = q[s : s + 1]
            for name, point, tip in zip(names, points, tips, strict=True):
                theirs = pin.getFrameJacobian(model, data, tip, pin.LOCAL_WORLD_ALIGNED).reshape(6, -1)[:, order]
                rotation, position = frame_pose(robot, one, name)
                assert relative(rotation[0], data.oMf[tip].rotation) < 1e-10
                assert relative(position[0] + rotation[0] @ point, data.oMf[tip].translation) < 1e-10
                assert relative(jacobian(robot, one, name, point)[0], theirs) < 1e-10
    assert on_base > 0
    assert on_link > 0


def test_jacobians_of_points_agree_with_mujoco() -> None:
    """Also with joints beside their frames, which a URDF cannot say."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        robot = random_tree(rng, 1 + seed % 12, points=True)
        model = mujoco.MjModel.from_xml_string(mjcf(robot, robot.inertials))
        data = mujoco.MjData(model)
        order = [int(model.jnt_dofadr[model.joint(name).id]) for name in robot.joint_names]
        q, qd = states(rng, robot.n)
        link, point = robot.links[rng.integers(robot.n)], rng.normal(size=3)
        ours = jacobian(robot, q, link, point)
        for s in range(STATES):
            data.qpos[order], data.qvel[order] = q[s], qd[s]
            mujoco.mj_forward(model, data)
            body = model.body(link).id
            at = data.xpos[body] + data.xmat[body].reshape(3, 3) @ point
            linear, angular = np.zeros((3, robot.n)), np.zeros((3, robot.n))
            mujoco.mj_jac(model, data, linear, angular, at, body)
            assert relative(ours[s], np.vstack([linear, angular])[:, order]) < 1e-8, seed


def fixture(rng: np.random.Generator, n: int = 5) -> Robot:
    """Return a tree with a body fixed to the last link and one fixed to the base."""
    robot = random_tree(rng, n, points=True)
    tool = FixedBody("tool", n - 1, Pose(rpy(0.3, -0.2, 1.0), np.array([0.1, 0.2, 0.3])))
    camera = FixedBody("camera", -1, Pose(rpy(1.0, 0.5, -2.0), np.array([1.0, -2.0, 0.5])))
    return Robot("arm", robot.joints, robot.links, fixed=(tool, camera), inertials=robot.inertials)


def test_every_frame_is_where_the_sample_by_sample_function_puts_it() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        robot = fixture(rng, 1 + seed)
        q, _ = states(rng, robot.n, 4)
        each = [frame_poses(robot, x) for x in q]
        for name in each[0]:
            rotation, position = frame_pose(robot, q, name)
            np.testing.assert_allclose(rotation, [poses[name].rotation for poses in each], atol=1e-14)
            np.testing.assert_allclose(position, [poses[name].position for poses in each], atol=1e-14)


def test_frames_of_the_base_do_not_move() -> None:
    rng = np.random.default_rng(0)
    robot = fixture(rng)
    q, _ = states(rng, robot.n)
    for name in ("base", "camera"):
        assert not jacobian(robot, q, name, (1, 2, 3)).any()
    np.testing.assert_array_equal(frame_pose(robot, q, "camera")[1], [[1.0, -2.0, 0.5]] * STATES)


def test_a_joint_carries_what_hangs_on_its_link_and_nothing_else() -> None:
    for seed in range(5):
        robot = random_tree(np.random.default_rng(seed), 6)
        for joint in range(robot.n):
            own = {i for i in range(robot.n) if joint in ways(robot)[i]}
            assert robot.carried_by(joint) == tuple(sorted(own))


def ways(robot: Robot) -> list[list[int]]:
    """Return the joints from each link to the base, itself first."""
    found: list[list[int]] = []
    for i, parent in enumerate(robot.parents):
        found.append([i, *(found[parent] if parent >= 0 else [])])
    return found


def test_a_point_moves_as_its_jacobian_says() -> None:
    """Velocity of the point along q(t), by differences of its position."""
    rng = np.random.default_rng(1)
    robot = fixture(rng)
    q, qd = (x[0] for x in states(rng, robot.n, 1))
    point, h = np.array([0.2, -0.1, 0.4]), 1e-3
    t = h * np.arange(-2, 3)[:, None]
    rotation, position = frame_pose(robot, q + qd * t, "tool")
    x = rotation @ point + position
    velocity = (x[0] - 8 * x[1] + 8 * x[3] - x[4]) / (12 * h)
    spin = (rotation[0] - 8 * rotation[1] + 8 * rotation[3] - rotation[4]) / (12 * h) @ rotation[2].T
    J = jacobian(robot, q[None], "tool", point)[0]
    np.testing.assert_allclose(J[:3] @ qd, velocity, atol=1e-7)
    np.testing.assert_allclose(J[3:] @ qd, [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-7)


def test_forces_act_through_the_transposed_jacobian() -> None:
    """Virtual work: gravity on a point mass at a link's point is the load J^T m g asks for."""
    from ident.dynamics import gravity_load

    rng = np.random.default_rng(2)
    robot = fixture(rng)
    q, _ = states(rng, robot.n)
    c, m = np.array([0.1, 0.3, -0.2]), 1.7
    theta = np.zeros((robot.n, 10))
    theta[3, :4] = m, *(m * c)  # the tensor does not matter at rest
    expected = -np.einsum("skj,k->sj", jacobian(robot, q, robot.links[3], c)[:, :3], m * robot.gravity)
    np.testing.assert_allclose(gravity_load(robot, theta, q), expected, atol=1e-13)


def test_no_samples_give_empty_arrays() -> None:
    robot = fixture(np.random.default_rng(0))
    none = np.empty((0, robot.n))
    for name in ("tool", "camera"):
        assert [x.shape for x in frame_pose(robot, none, name)] == [(0, 3, 3), (0, 3)]
        assert jacobian(robot, none, name).shape == (0, 6, 5)


KNOWN = "Its frames are base, link1, link2, link3, link4, link5, tool, camera."
CALLS = {"frame_pose": lambda robot, q, frame, point: frame_pose(robot, q, frame), "jacobian": jacobian}


@pytest.mark.parametrize("name", CALLS)
def test_an_unknown_frame_is_refused_with_the_nearest(name: str) -> None:
    robot = fixture(np.random.default_rng(0))
    q = np.zeros((2, 5))
    wrong: list[tuple[Any, str]] = [
        ("tol", f"frame: robot 'arm' has no frame 'tol'; did you mean 'tool'? {KNOWN}"),
        ("zzz", f"frame: robot 'arm' has no frame 'zzz'. {KNOWN}"),
        (7, f"frame: robot 'arm' has no frame 7. {KNOWN}"),
        (["tool"], f"frame: robot 'arm' has no frame ['tool']; did you mean 'tool'? {KNOWN}"),
    ]
    for frame, message in wrong:
        with pytest.raises(ModelError) as caught:
            CALLS[name](robot, q, frame, (0, 0, 0))
        assert str(caught.value) == message


@pytest.mark.parametrize("name", CALLS)
def test_states_and_points_that_do_not_fit_are_refused(name: str) -> None:
    robot = fixture(np.random.default_rng(0))
    q = np.zeros((2, 5))
    cases: list[tuple[Any, Any, str]] = [(q[:, :4], (0, 0, 0), "q must have shape (any, 5), got (2, 4).")]
    cases += [(q + np.nan, (0, 0, 0), "q[0, 0] is nan, wanted a finite number.")]
    if name != "frame_pose":
        cases += [(q, (0, 0), "point must have shape (3), got (2,).")]
        cases += [(q, (0, 0, np.inf), "point[2] is inf, wanted a finite number.")]
    for x, point, message in cases:
        with pytest.raises(ModelError) as caught:
            CALLS[name](robot, x, "tool", point)
        assert str(caught.value) == message
