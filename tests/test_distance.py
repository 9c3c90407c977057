"""Clearances and their gradients against MuJoCo, scipy, hulls of Minkowski differences and central differences."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from oracles import random_tree
from scipy.optimize import minimize_scalar
from scipy.spatial import ConvexHull
from seeds import cases

from ident.errors import ModelError, RobotError
from ident.geometry.distance import clearance_pull_back, clearances, collisions
from ident.geometry.scene import Box, Capsule, Plane, Point, Scene
from ident.robot import Robot
from ident.robot.robot import FixedBody, Joint
from ident.spatial.inertia import Pose, rpy


def random_pose(rng: np.random.Generator, reach: float = 1.0) -> Pose:
    return Pose(rpy(*rng.uniform(-3, 3, 3)), rng.uniform(-reach, reach, 3))


def random_scene(rng: np.random.Generator, robot: Robot, reach: float = 0.8) -> Scene:
    """Return a capsule on every link and the base, two planes, two boxes, points in a room and above a floor."""
    links = [robot.base, *robot.links]
    capsules = [
        Capsule(link, rng.uniform(-0.3, 0.3, 3), rng.uniform(-0.3, 0.3, 3), rng.uniform(0.01, 0.1)) for link in links
    ]
    capsules[-1] = Capsule(links[-1], capsules[-1].start, capsules[-1].start, 0.05)  # a sphere
    return Scene(
        capsules=tuple(capsules),
        planes=tuple(Plane(f"plane{k}", rng.normal(size=3), rng.normal()) for k in range(2)),
        boxes=tuple(Box(f"box{k}", rng.uniform(0.1, 0.6, 3), random_pose(rng, reach)) for k in range(2)),
        points=(Point("tip", robot.links[-1], rng.normal(0, 0.2, 3)),),
        workspace=(Plane("floor", [0, 0, 1], -0.4), Box("room", [2.0, 2.0, 1.5], random_pose(rng, 0.2))),
        self_margin=0.01,
        environment_margin=0.02,
        workspace_margin=0.03,
    )


def in_base(robot: Robot, q: np.ndarray, link: str, point: np.ndarray) -> np.ndarray:
    if link == robot.base:
        return point
    pose = robot.poses(q)[robot.links.index(link)]
    return pose.rotation @ point + pose.position


def between_segments(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> float:
    def nearest(s: float) -> float:
        x = a + s * (b - a)
        length = (d - c) @ (d - c)
        t = np.clip((x - c) @ (d - c) / length, 0, 1) if length > 0 else 0.0
        return float(np.linalg.norm(x - c - t * (d - c)))

    return convex_minimum(nearest)


def segment_to_box(a: np.ndarray, b: np.ndarray, box: Box) -> float:
    """Return the signed distance: outside by search along the segment, inside from the hull of box - segment."""

    def nearest(s: float) -> float:
        x = box.pose.rotation.T @ (a + s * (b - a) - box.pose.position)
        return float(np.linalg.norm(np.maximum(np.abs(x) - box.size / 2, 0)))

    outside = convex_minimum(nearest)
    if outside > 1e-7:
        return outside
    ends = [a] if np.allclose(a, b) else [a, b]
    hull = ConvexHull(np.concatenate([box.corners - end for end in ends]))
    return float(hull.equations[:, -1].max())


def convex_minimum(f: object) -> float:
    found = minimize_scalar(f, bounds=(0, 1), method="bounded", options={"xatol": 1e-12})
    return float(min(found.fun, f(0.0), f(1.0)))  # type: ignore[operator]


def slow_clearances(scene: Scene, robot: Robot, q: np.ndarray) -> list[float]:
    found = []
    for pair in scene.pairs(robot):
        first, second = pair.first, pair.second
        if isinstance(first, Point):
            x = in_base(robot, q, first.link, first.position)
            if isinstance(second, Plane):
                found.append(float(second.normal @ x - second.offset))
            else:
                at = second.pose.rotation.T @ (x - second.pose.position)
                found.append(float(np.min(second.size / 2 - np.abs(at))))
            continue
        a, b = (in_base(robot, q, first.link, e) for e in (first.start, first.end))
        if isinstance(second, Capsule):
            c, d = (in_base(robot, q, second.link, e) for e in (second.start, second.end))
            found.append(between_segments(a, b, c, d) - first.radius - second.radius)
        elif isinstance(second, Plane):
            found.append(float(min(second.normal @ a, second.normal @ b)) - second.offset - first.radius)
        else:
            found.append(segment_to_box(a, b, second) - first.radius)
    return found


def test_clearances_agree_with_searches_one_by_one() -> None:
    inside = 0
    for seed in range(cases(18)):
        rng = np.random.default_rng(seed)
        robot = random_tree(rng, 1 + seed % 6, points=True)
        scene = random_scene(rng, robot, reach=0.5)
        q = rng.uniform(-3, 3, (4, robot.n))
        wanted = np.array([slow_clearances(scene, robot, x) for x in q])
        assert np.abs(clearances(scene, robot, q) - wanted).max() < 2e-8
        kinds = [isinstance(p.second, Box) and p.kind == "environment" for p in scene.pairs(robot)]
        inside += int((wanted[:, kinds] < -0.05).sum())
    assert inside > cases(18) // 2 - 1  # the way out of a box was asked for


def test_clearances_agree_with_mujoco() -> None:
    rng = np.random.default_rng(0)
    compared = 0
    for _ in range(60):
        ends = rng.uniform(-0.7, 0.7, (4, 3))
        radii, box = rng.uniform(0.02, 0.1, 2), Box("box", rng.uniform(0.1, 0.6, 3), random_pose(rng, 0.5))
        robot = Robot(
            "two fingers",
            tuple(Joint(f"joint{i}", "revolute", i - 1, Pose.identity(), [0, 0, 1]) for i in range(3)),
            ("one", "between", "two"),
        )
        capsules = (Capsule("one", ends[0], ends[1], radii[0]), Capsule("two", ends[2], ends[3], radii[1]))
        ours = clearances(Scene(capsules, boxes=(box,)), robot, np.zeros((1, 3)))[0]
        quat = np.empty(4)
        mujoco.mju_mat2Quat(quat, box.pose.rotation.ravel())

        def text(values: np.ndarray) -> str:
            return " ".join(repr(float(v)) for v in np.ravel(values))

        geoms = "".join(
            f'<geom type="capsule" fromto="{text(ends[k : k + 2])}" size="{float(r)!r}"/>'
            for k, r in zip((0, 2), radii, strict=True)
        )
        geoms += f'<geom type="box" pos="{text(box.pose.position)}" quat="{text(quat)}" size="{text(box.size / 2)}"/>'
        model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{geoms}</worldbody></mujoco>")
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        theirs = [mujoco.mj_geomDistance(model, data, *pair, 10.0, None) for pair in ((0, 1), (0, 2), (1, 2))]
        apart = np.array(theirs) > 0
        compared += int(apart.sum())
        assert np.abs(ours - theirs)[apart].max(initial=0) < 1e-5
        assert (ours[~apart] <= 1e-5).all()
    assert compared > 80


def central(scene: Scene, robot: Robot, q: np.ndarray, weights: np.ndarray, h: float = 1e-6) -> np.ndarray:
    rows = []
    for x, w in zip(q, weights, strict=True):
        steps = h * np.eye(robot.n)
        change = clearances(scene, robot, x + steps) - clearances(scene, robot, x - steps)
        rows.append(change @ w / (2 * h))
    return np.array(rows)


def test_the_pull_back_is_the_gradient() -> None:
    worst, far = [], 0
    for seed in range(cases(40)):
        rng = np.random.default_rng(100 + seed)
        robot = random_tree(rng, 1 + seed % 7, points=True)
        scene = random_scene(rng, robot, reach=0.5)
        m = len(scene.names(robot))
        q = rng.uniform(-3, 3, (m, robot.n))
        one_each = np.eye(m)  # sample k asks for the gradient of pair k
        error = np.abs(clearance_pull_back(scene, robot, q, one_each) - central(scene, robot, q, one_each)).max(axis=1)
        far += int((error > 1e-7).sum())
        worst.append(np.quantile(error, 0.9))
        weights = rng.normal(size=(m, m))
        combined = sum(
            clearance_pull_back(scene, robot, q, np.where(np.arange(m) == k, weights, 0.0)) for k in range(m)
        )
        assert np.abs(clearance_pull_back(scene, robot, q, weights) - combined).max() < 1e-12
    assert max(worst) < 1e-7
    assert far <= 2  # a difference across a switch of the closest points


def test_gradient_deep_inside_a_box() -> None:
    rng = np.random.default_rng(5)
    for seed in range(cases(40)):
        robot = random_tree(np.random.default_rng(seed), 4)
        q = rng.uniform(-2, 2, (1, 4))
        middle = in_base(robot, q[0], "link4", rng.uniform(-0.02, 0.02, 3))  # off the centre: no tie
        box = Box("box", rng.uniform(0.2, 0.5, 3), Pose(rpy(*rng.uniform(-3, 3, 3)), middle))
        half = rng.normal(0, 0.3, 3)
        scene = Scene((Capsule("link4", half, -half, 0.01),), boxes=(box,))
        assert clearances(scene, robot, q)[0, 0] < -0.05
        gradient = clearance_pull_back(scene, robot, q, [[1.0]])
        assert clearances(scene, robot, q)[0, 0] == pytest.approx(slow_clearances(scene, robot, q[0])[0], abs=1e-9)
        assert gradient == pytest.approx(central(scene, robot, q, np.ones((1, 1))), abs=1e-6)


def test_parallel_crossing_and_point_like_shapes() -> None:
    robot = Robot(
        "sliders",
        tuple(Joint(f"joint{i}", "prismatic", i - 1, Pose.identity(), np.eye(3)[i % 3]) for i in range(3)),
        ("a", "b", "c"),
    )

    def clearance(p: Capsule, q: Capsule) -> float:
        return float(clearances(Scene((p, q)), robot, np.zeros((1, 3)))[0, 0])

    x = Capsule("a", [0, 0, 0], [1, 0, 0], 0.1)
    assert clearance(x, Capsule("c", [0.2, 0.5, 0], [2, 0.5, 0], 0.1)) == pytest.approx(0.3)  # side by side
    assert clearance(x, Capsule("c", [1.5, 0, 0], [2, 0, 0], 0.1)) == pytest.approx(0.3)  # end to end
    assert clearance(x, Capsule("c", [0.5, -1, 0], [0.5, 1, 0], 0.1)) == pytest.approx(-0.2)  # axes cross
    assert clearance(x, Capsule("c", [0.5, 0.4, 0], [0.5, 0.4, 0], 0.1)) == pytest.approx(0.2)  # sphere
    ball = Capsule("a", [0, 0, 0], [0, 0, 0], 0.1)
    assert clearance(ball, Capsule("c", [0, 0, 0], [0, 0, 0], 0.1)) == pytest.approx(-0.2)
    assert clearance(x, Capsule("c", [0, 0.5, 0], [1, 0.5 + 1e-12, 0], 0.1)) == pytest.approx(0.3)  # nearly parallel
    tangled = Scene((x, Capsule("c", [0.5, -1, 0], [0.5, 1, 0], 0.1)))
    assert np.abs(clearance_pull_back(tangled, robot, np.zeros((1, 3)), [[1.0]])).max() == pytest.approx(1.0)


def arm() -> Robot:
    """Return an upright arm in a plane: links of 0.5 m and 0.4 m, a tool frame, a wrist between them."""
    up, along = Pose(np.eye(3), np.zeros(3)), Pose(np.eye(3), np.array([0.5, 0, 0]))
    return Robot(
        "arm",
        (
            Joint("turn", "revolute", -1, up, [0, 0, 1]),
            Joint("lift", "revolute", 0, Pose(np.eye(3), np.array([0, 0, 0.3])), [0, -1, 0]),
            Joint("elbow", "revolute", 1, along, [0, -1, 0]),
        ),
        ("column", "upper", "fore"),
        fixed=(FixedBody("tool", 2, Pose(np.eye(3), np.array([0.4, 0, 0]))),),
    )


def scene_of_arm(**other: object) -> Scene:
    return Scene(
        capsules=(
            Capsule("base", [0, 0, 0], [0, 0, 0.1], 0.08),
            Capsule("column", [0, 0, 0.1], [0, 0, 0.3], 0.06),
            Capsule("upper", [0, 0, 0], [0.5, 0, 0], 0.05),
            Capsule("fore", [0, 0, 0], [0.4, 0, 0], 0.04),
            Capsule("tool", [0, 0, 0], [0.1, 0, 0], 0.02, name="gripper"),
        ),
        planes=(Plane("table", [0, 0, 1], 0.0),),
        boxes=(Box("shelf", [0.2, 1.0, 0.2], Pose(np.eye(3), np.array([0.6, 0, 0.9]))),),
        points=(Point("tip", "tool", [0.1, 0, 0]),),
        workspace=(Box("cell", [2.5, 2.5, 1.0], Pose(np.eye(3), np.array([0, 0, 0.55]))),),
        **other,  # type: ignore[arg-type]
    )


def test_a_start_pose_in_collision_is_told_in_millimetres() -> None:
    robot = arm()
    scene = scene_of_arm(ignored=(("column", "table"),), self_margin=0.005, environment_margin=0.01)
    assert collisions(scene, robot, [0.0, 0.3, 0.2]) == []
    assert collisions(scene, robot, [0.0, -0.3, -0.4]) == [
        "capsule 'fore' reaches 145 mm beyond plane 'table', wanted at least 10 mm apart",
        "capsule 'gripper' of tool reaches 190 mm beyond plane 'table', wanted at least 10 mm apart",
        "point 'tip' of tool is 220 mm outside of box 'cell', wanted at least 0 mm inside",
    ]
    folded = collisions(scene, robot, [0.0, 0.0, 3.0])
    assert any(
        found.startswith("capsule 'column' and capsule 'gripper' of tool overlap by 9.44 mm") for found in folded
    )
    touching = Scene(scene.capsules, boxes=scene.boxes, environment_margin=0.5)
    assert "are 460 mm apart, wanted at least 500 mm apart" in " ".join(collisions(touching, robot, [0.0, 0.0, 0.0]))


def test_arguments_that_do_not_fit() -> None:
    robot, scene = arm(), scene_of_arm()
    with pytest.raises(ModelError, match=r"q must have shape \(any, 3\)"):
        clearances(scene, robot, np.zeros((2, 4)))
    with pytest.raises(ModelError, match="weights must have shape"):
        clearance_pull_back(scene, robot, np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(ModelError, match=r"q\[1\] is nan"):
        collisions(scene, robot, [0, np.nan, 0])
    with pytest.raises(RobotError, match="has no link 'uper'; did you mean 'upper'"):
        clearances(Scene((Capsule("uper", [0, 0, 0], [1, 0, 0], 0.1),)), robot, np.zeros((1, 3)))
    assert clearances(Scene(), robot, np.zeros((4, 3))).shape == (4, 0)
    assert (clearance_pull_back(Scene(), robot, np.zeros((4, 3)), np.zeros((4, 0))) == 0).all()
    assert clearances(scene, robot, np.zeros((0, 3))).shape == (0, len(scene.names(robot)))
