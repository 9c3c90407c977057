"""The greatest speed of clearances, against speeds of random motions and against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import random_tree
from seeds import cases
from test_distance import arm, random_scene, scene_of_arm

from ident.errors import ModelError
from ident.geometry.distance import clearance_gradient_bound, clearance_pull_back, clearances
from ident.geometry.scene import Box, Capsule, Plane, Point, Scene
from ident.robot import Robot
from ident.robot.robot import Joint
from ident.spatial.inertia import Pose, rpy

SLIDE = 0.5


def worst_speeds(scene: Scene, robot: Robot, q: np.ndarray, speeds: np.ndarray) -> np.ndarray:
    """Return (m,) the greatest sum_j |dc/dq_j| speeds_j over the postures q."""
    m = len(scene.names(robot))
    return np.array(
        [
            (np.abs(clearance_pull_back(scene, robot, q, np.tile(np.eye(m)[k], (len(q), 1)))) @ speeds).max()
            for k in range(m)
        ]
    )


def postures(rng: np.random.Generator, robot: Robot, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return postures and the range that they stay in: all turns, slides of at most SLIDE."""
    slides = np.array([j.kind == "prismatic" for j in robot.joints])
    q = np.where(slides, rng.uniform(-SLIDE, SLIDE / 2, (samples, robot.n)), rng.uniform(-9, 9, (samples, robot.n)))
    return q, np.where(slides[:, None], [-SLIDE, SLIDE / 2], [-np.inf, np.inf])


def test_no_motion_is_faster() -> None:
    reached = []
    for seed in range(cases(28)):
        rng = np.random.default_rng(seed)
        robot = random_tree(rng, 1 + seed % 7, points=True)
        scene = random_scene(rng, robot)
        q, q_range = postures(rng, robot, 400)
        speeds = rng.uniform(0, 2, robot.n)
        bound = clearance_gradient_bound(scene, robot, q_range) @ speeds
        worst = worst_speeds(scene, robot, q, speeds)
        assert (worst <= bound * (1 + 1e-12) + 1e-12).all()
        reached += list(worst / bound)
    assert np.median(reached) > 0.5  # a bound, but not a wild one


def test_clearances_between_samples_stay_above_the_stated_bound() -> None:
    for seed in range(cases(20)):
        rng = np.random.default_rng(200 + seed)
        robot = random_tree(rng, 2 + seed % 5, points=True)
        scene = random_scene(rng, robot, reach=0.4)
        (start, stop), q_range = postures(rng, robot, 2)
        t = np.linspace(0, 1, 501)  # one second at constant speed
        c = clearances(scene, robot, start + t[:, None] * (stop - start))
        bound = clearance_gradient_bound(scene, robot, q_range) @ np.abs(stop - start)
        assert (np.abs(np.diff(c, axis=0)) <= bound * 0.002 + 1e-9).all()
        for every in (5, 25, 100):
            coarse = c[::every]
            floor = np.minimum(coarse[1:], coarse[:-1]) - bound * (every * 0.002) / 2
            between = c[:-1].reshape(-1, every, c.shape[1])[: len(floor)]
            assert (between >= floor[:, None] - 1e-9).all()


def bound_of(scene: Scene, robot: Robot, speeds: list[float], slide: float = 0.0) -> dict[str, float]:
    q_range = np.tile([0.0, slide], (robot.n, 1))
    bound = clearance_gradient_bound(scene, robot, q_range) @ speeds
    return dict(zip(scene.names(robot), bound.tolist(), strict=True))


def test_only_joints_between_the_two_count() -> None:
    found = bound_of(scene_of_arm(), arm(), [1.0, 0.0, 0.0])
    assert found["column - fore"] == found["column - gripper"] == 0.0
    assert found["base - upper"] == 0.0  # the base's capsule lies on the axis of the turn
    assert found["fore - table"] == 0.0  # a turn about an upright axis changes no height
    assert found["fore - shelf"] == pytest.approx(np.hypot(0.7, 0.5))  # the shelf is nearer than the reach of 0.9 m
    found = bound_of(scene_of_arm(), arm(), [0.0, 1.0, 0.0])
    assert found["column - fore"] == pytest.approx(0.2)  # seen from the lift's axis the column is the nearer one
    assert found["fore - table"] == pytest.approx(0.9)
    assert found["tip - cell"] == pytest.approx(1.0)
    assert bound_of(scene_of_arm(), arm(), [1.0, 2.0, 3.0])["fore - table"] == pytest.approx(2 * 0.9 + 3 * 0.4)


def test_a_slide_counts_with_its_range() -> None:
    robot = Robot(
        "crane",
        (
            Joint("turn", "revolute", -1, Pose.identity(), [0, 0, 1]),
            Joint("out", "prismatic", 0, Pose(rpy(0, 0.5, 0), np.array([0.2, 0, 0])), [1, 0, 0]),
        ),
        ("tower", "boom"),
    )
    scene = Scene(
        (Capsule("boom", [0, 0, 0], [0.3, 0, 0], 0.05),),
        planes=(Plane("floor", [0, 0, 1], -1.0), Plane("wall", [-1, 0, 0], -2.0)),
        boxes=(Box("pillar", [0.1, 0.1, 1.0], Pose(np.eye(3), np.array([3.0, 0, 0]))),),
        points=(Point("hook", "boom", [0.3, 0, 0]),),
        workspace=(Box("hall", [4, 4, 4]),),
    )
    out = 0.2 + np.cos(0.5) * (0.3 + 0.7)
    turning = bound_of(scene, robot, [1.0, 0.0], slide=0.7)
    assert turning == pytest.approx(
        {"boom - floor": 0.0, "boom - wall": out, "boom - pillar": out, "hook - hall": out}, abs=1e-12
    )
    sliding = bound_of(scene, robot, [0.0, 1.0], slide=0.7)
    assert sliding["boom - floor"] == pytest.approx(np.sin(0.5))
    assert sliding["boom - pillar"] == 1.0


def test_arguments_that_do_not_fit() -> None:
    robot, scene = arm(), scene_of_arm()
    unlimited = np.tile([-np.inf, np.inf], (3, 1))
    assert np.isfinite(clearance_gradient_bound(scene, robot, unlimited)).all()
    with pytest.raises(ModelError, match="q_range must have shape"):
        clearance_gradient_bound(scene, robot, np.zeros((2, 2)))
    crane = Robot("crane", (Joint("out", "prismatic", -1, Pose.identity(), [1, 0, 0]),), ("boom",))
    with pytest.raises(ModelError, match="the range of joint 'out' is empty: 2 to 1 m"):
        clearance_gradient_bound(Scene(), crane, [[2, 1]])
    with pytest.raises(ModelError, match=r"q_range\[0, 1\] is inf"):
        clearance_gradient_bound(Scene(), crane, [[0, np.inf]])
