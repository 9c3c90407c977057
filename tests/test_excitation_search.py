"""The search: interior point before walls, proven motions of a small arm, and what it says when there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from oracles import random_bodies

from ident.errors import ExcitationError, ModelError
from ident.excitation.bases import Fourier, FourierAndPolynomial, through
from ident.excitation.information import condition, d_optimal
from ident.excitation.problem import Problem, design_problem
from ident.excitation.search import Design, Start, minimise, search
from ident.excitation.trajectory import Trajectory
from ident.geometry.distance import clearances
from ident.geometry.scene import Box, Capsule, Plane, Scene
from ident.model import Model, Offset, SmoothCoulomb, Viscous, torque
from ident.robot import Joint, Robot
from ident.robot.robot import Limits
from ident.spatial.inertia import Pose, rpy

Merit = Callable[[np.ndarray], tuple[float, np.ndarray]]


def never() -> bool:
    return False


def box_barrier(target: np.ndarray, weight: float) -> Merit:
    """Return |z - target|^2 - weight sum log(1 - z^2): a wall at +-1, its minimum known from a cubic."""

    def merit(z: np.ndarray) -> tuple[float, np.ndarray]:
        room = 1.0 - z**2
        if room.min() <= 0.0:
            return np.inf, np.zeros_like(z)
        value = float(((z - target) ** 2).sum() - weight * np.log(room).sum())
        return value, 2.0 * (z - target) + weight * 2.0 * z / room

    return merit


@pytest.mark.parametrize("weight", [1.0, 1e-2, 1e-4, 1e-6])
def test_minimum_before_a_wall(weight: float) -> None:
    target = np.array([[3.0, -0.5, 0.2], [-2.0, 0.999, 0.0]])
    z, inverse = minimise(box_barrier(target, weight), np.zeros((2, 3)), None, 500, -np.inf, never)
    for x, t in zip(z.ravel(), target.ravel(), strict=True):
        # (x - t)(1 - x^2) + weight x = 0
        roots = np.roots([-1.0, t, 1.0 + weight, -t])
        inside = [r.real for r in roots if abs(r.imag) < 1e-9 and abs(r.real) < 1]
        assert x == pytest.approx(min(inside, key=lambda r: abs(r - x)), abs=1e-6)
    assert inverse.shape == (6, 6)
    assert np.linalg.eigvalsh(inverse)[0] > 0


@pytest.mark.slow
def test_a_linear_programme() -> None:
    """min c.x over a polytope, by a decreasing barrier: ends within m * weight of the best corner."""
    rng = np.random.default_rng(0)
    a = np.concatenate([rng.normal(size=(12, 4)), np.eye(4), -np.eye(4)])
    room, c = np.ones(20), rng.normal(size=4)

    def merit(z: np.ndarray, weight: float) -> tuple[float, np.ndarray]:
        spare = room - a @ z
        if spare.min() <= 0:
            return np.inf, np.zeros_like(z)
        return float(c @ z - weight * np.log(spare).sum()), c + weight * a.T @ (1.0 / spare)

    z, inverse = np.zeros(4), None
    for weight in 10.0 ** -np.arange(7):
        z, inverse = minimise(lambda x, w=weight: merit(x, w), z, inverse, 400, -np.inf, never)
    from scipy.optimize import linprog

    best = linprog(c, A_ub=a, b_ub=room, bounds=(None, None)).fun
    assert best < c @ z < best + 20 * 1e-6 * 1.1
    assert (a @ z < room).all()


def test_rosenbrock_and_an_inverse_hessian() -> None:
    def merit(z: np.ndarray) -> tuple[float, np.ndarray]:
        x, y = z
        value = (1 - x) ** 2 + 100 * (y - x**2) ** 2
        return float(value), np.array([-2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)])

    z, inverse = minimise(merit, np.array([-1.2, 1.0]), None, 200, -np.inf, never)
    assert z == pytest.approx([1.0, 1.0], abs=1e-6)
    hessian = np.array([[802.0, -400.0], [-400.0, 200.0]])
    assert inverse == pytest.approx(np.linalg.inv(hessian), rel=0.2)


@pytest.mark.slow
def test_minimise_ends_where_told() -> None:
    merit = box_barrier(np.full(4, 0.5), 0.1)
    z, _ = minimise(merit, np.zeros(4), None, 0, -np.inf, never)
    assert not z.any()
    z, _ = minimise(merit, np.zeros(4), None, 100, -np.inf, lambda: True)
    assert not z.any()
    asked: list[int] = []

    def third() -> bool:
        asked.append(1)
        return len(asked) > 3

    minimise(merit, np.zeros(4), None, 100, -np.inf, third)
    assert len(asked) == 4
    values: list[float] = []

    def kept(z: np.ndarray) -> tuple[float, np.ndarray]:
        found = merit(z)
        values.append(found[0])
        return found

    minimise(kept, np.full(4, 0.9), None, 1000, 1e-3, never)
    some = len(values)
    minimise(kept, np.full(4, 0.9), None, 1000, -np.inf, never)
    assert some < len(values) - some  # ended when ten steps gained nothing


LIMITS = (
    Limits(-2.0, 2.0, velocity=2.0, effort=40.0, acceleration=8.0),
    Limits(0.3, 2.2, velocity=2.5, effort=30.0, acceleration=10.0, jerk=200.0),  # a range without zero
    Limits(-2.5, 0.5, velocity=3.0, effort=8.0),
)


def arm(limits: tuple[Limits, ...] = LIMITS) -> Model:
    """Return an arm of three joints on a post above a table, 0.5 m of reach."""
    rng = np.random.default_rng(1)
    placements = (
        Pose(np.eye(3), np.array([0, 0, 0.5])),
        Pose(rpy(np.pi / 2, 0, 0), np.array([0.05, 0, 0])),
        Pose(np.eye(3), np.array([0.3, 0, 0])),
    )
    joints = tuple(
        Joint(f"joint{k + 1}", "revolute", k - 1, placement, np.array([0.0, 0, 1]), limits=x)
        for k, (placement, x) in enumerate(zip(placements, limits, strict=True))
    )
    robot = Robot("arm", joints, ("link1", "link2", "link3"), inertials=random_bodies(rng, 3))
    return Model(robot, (Viscous(), SmoothCoulomb(0.05), Offset()))


def numbers(model: Model) -> np.ndarray:
    return np.concatenate([model.robot.inertials.ravel(), [0.4] * 3, [0.3] * 3, [0.0] * 3])


def scene() -> Scene:
    return Scene(
        capsules=(
            Capsule("base", [0, 0, 0], [0, 0, 0.35], 0.06),
            Capsule("link2", [0, 0, 0], [0.3, 0, 0], 0.04),
            Capsule("link3", [0, 0, 0], [0.2, 0, 0], 0.03),
        ),
        planes=(Plane("table", [0, 0, 1], 0.0),),
        boxes=(Box("cabinet", [0.2, 0.4, 0.6], Pose(np.eye(3), np.array([-0.6, 0.0, 0.3]))),),
        self_margin=0.01,
        environment_margin=0.02,
    )


BASIS = Fourier(1.0, 4)


def small(**options: object) -> Problem:
    model = arm()
    settings = {"noise": [0.5, 0.4, 0.1], "theta": numbers(model), "scene": scene(), **options}
    return design_problem(model, settings.pop("basis", BASIS), **settings)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def design() -> Design:
    return search(small(), starts=2, seed=5, seconds=np.inf)


def violations(trajectory: Trajectory) -> list[str]:
    """Return the limits of the arm that 20,000 samples of a motion break."""
    model = arm()
    t = np.linspace(0.0, trajectory.duration, 20_001)
    q, qd, qdd = trajectory.states(t)
    jerk = trajectory.derivative(t, 3)
    tau = np.abs(torque(model, numbers(model), q, qd, qdd))
    found = []
    for j, x in enumerate(LIMITS):
        checks = {
            "lower": q[:, j] < x.lower,
            "upper": q[:, j] > x.upper,
            "velocity": np.abs(qd[:, j]) > x.velocity,
            "acceleration": np.abs(qdd[:, j]) > x.acceleration,
            "jerk": np.abs(jerk[:, j]) > x.jerk,
            "torque": tau[:, j] > x.effort,
        }
        found += [f"{what} {j}" for what, broken in checks.items() if broken.any()]
    near = clearances(scene(), model.robot, q)
    broken = (near < scene().margins(model.robot)).any(axis=0)
    return found + [name for name, b in zip(scene().names(model.robot), broken, strict=True) if b]


@pytest.mark.slow
def test_a_search_returns_a_proven_motion(design: Design) -> None:
    assert design.proven
    assert violations(design.trajectory) == []
    assert design.trajectory.at_rest()
    assert len(design.starts) == 2
    assert design.ended == "2 starts done"
    reached = [s.value for s in design.starts if s.value is not None]
    assert design.value == min(reached)
    assert [s.number for s in design.starts] == [0, 1]
    assert d_optimal(design.factor)[0] == pytest.approx(design.value)
    p = small()
    z = p.coordinates(design.trajectory)
    assert np.allclose(p.trajectory(z).coefficients, design.trajectory.coefficients)
    names = {name for c in p.constraints for name in c.names}
    covered = {g.what.removeprefix("least ").removeprefix("greatest ") for g in design.guarantees}
    assert covered == names


@pytest.mark.slow
def test_it_is_better_than_random_motions_scaled_to_the_limits(design: Design) -> None:
    p = small()
    rng = np.random.default_rng(0)
    still = np.outer([0.0, 1.2, -1.0], p.free.T @ np.eye(BASIS.size)[0])
    best = np.inf
    for _ in range(30):
        way, length = rng.normal(size=still.shape), 10.0
        while np.isinf(p.barrier(still + length * way, (0.0,) * 3)):
            length *= 0.9
        best = min(best, d_optimal(p.factor(still + length * way))[0])
    assert design.value < best - 0.5


@pytest.mark.slow
def test_same_seed_same_motion(design: Design) -> None:
    again = search(small(), starts=2, seed=5, seconds=np.inf)
    assert np.array_equal(again.trajectory.coefficients, design.trajectory.coefficients)
    assert [s.value for s in again.starts] == [s.value for s in design.starts]
    other = search(small(), starts=1, seed=6, seconds=np.inf)
    assert not np.array_equal(other.trajectory.coefficients, design.trajectory.coefficients)


@pytest.mark.slow
def test_starts_do_not_depend_on_how_many_there_are(design: Design) -> None:
    first = search(small(), starts=1, seed=5, seconds=np.inf)
    assert first.value == design.starts[0].value


def test_a_score_chooses_among_what_the_starts_lead_to(design: Design) -> None:
    values = {s.value for s in design.starts}

    def long_way(motion: Trajectory) -> float:
        scores.append(-float(np.ptp(motion.states(np.linspace(0.0, 6.0, 50))[0][:, 0])))
        return scores[-1]

    scores: list[float] = []
    found = search(small(), starts=2, seed=5, seconds=np.inf, score=long_way)
    assert found.value == [s.value for s in found.starts][int(np.argmax(scores))]
    assert {s.value for s in found.starts} == values


@pytest.mark.slow
def test_a_warm_start_is_never_made_worse(design: Design) -> None:
    for seed in range(2):
        warm = search(small(), starts=0, seed=seed, seconds=np.inf, warm=[design.trajectory])
        assert warm.proven
        assert warm.value <= design.value + 1e-9
    hurried = search(small(), starts=0, seed=0, seconds=0.0, warm=[design.trajectory])
    assert hurried.proven
    assert hurried.value <= design.value + 1e-9


@pytest.mark.slow
def test_progress_and_time_budget(ticking: Callable[[], float]) -> None:
    p = small()
    seen: list[tuple[Start, float | None]] = []
    found = search(p, starts=10_000, seed=1, seconds=1.0, progress=lambda s, best: seen.append((s, best)))
    assert 1.0 < ticking() < 4.0  # the last start ends with a proof
    assert found.ended == "time budget of 1 s used up"
    assert found.proven
    assert [s for s, _ in seen] == list(found.starts)
    best = [b for _, b in seen if b is not None]
    assert best == sorted(best, reverse=True)
    assert best[-1] == found.value


@pytest.mark.slow
def test_a_warm_start_close_to_its_limits_is_kept(design: Design) -> None:
    """Closer than the search itself goes at first: it comes back as it was when no time is left to improve it."""
    p = small()
    z = p.coordinates(design.trajectory)
    middle = np.outer(p.states(z)[0].mean(axis=0), p.free.T @ np.eye(BASIS.size)[0])
    stretch = 1.0
    while np.isfinite(p.barrier(middle + (stretch + 1e-4) * (z - middle), (1e-4,) * 3)):
        stretch += 1e-4
    tight = p.trajectory(middle + stretch * (z - middle))
    while not all(g.holds for c in p.constraints for g in c.guarantees(tight)):
        stretch -= 1e-4
        tight = p.trajectory(middle + stretch * (z - middle))
    assert stretch > 1.001
    before = d_optimal(p.factor(p.coordinates(tight)))[0]
    found = search(p, starts=0, seconds=0.0, warm=[tight])
    assert found.proven
    assert found.value <= before + 1e-12


@pytest.mark.slow
def test_a_series_with_a_polynomial() -> None:
    found = search(small(basis=FourierAndPolynomial(1.0, 3)), starts=1, seconds=np.inf)
    assert found.proven
    assert violations(found.trajectory) == []
    assert found.trajectory.at_rest()


@pytest.mark.slow
def test_from_a_posture_to_another() -> None:
    start, end = np.array([0.5, 1.0, -0.5]), np.array([-0.5, 1.5, -1.0])
    found = search(small(basis=FourierAndPolynomial(1.0, 3), start=start, end=end), starts=1, seconds=np.inf)
    q = found.trajectory.derivative(np.array([0.0, found.trajectory.duration]), 0)
    assert q == pytest.approx(np.array([start, end]), abs=1e-9)
    assert found.proven
    assert violations(found.trajectory) == []
    back = search(small(start=start, criterion=condition), starts=1, seconds=np.inf)
    assert back.trajectory.derivative(np.zeros(1), 0)[0] == pytest.approx(start, abs=1e-9)
    assert back.proven
    assert violations(back.trajectory) == []


@pytest.mark.slow
def test_margins_are_kept_from_every_limit() -> None:
    p = small(position_margin=0.1, rate_margin=0.2, torque_margin=0.3, power=40.0)
    found = search(p, starts=1, seconds=np.inf)
    q, qd, qdd = found.trajectory.states(np.linspace(0, found.trajectory.duration, 5001))
    model = arm()
    tau = np.abs(torque(model, numbers(model), q, qd, qdd))
    for j, x in enumerate(LIMITS):
        assert q[:, j].min() >= x.lower + 0.1
        assert q[:, j].max() <= x.upper - 0.1
        assert np.abs(qd[:, j]).max() <= 0.8 * x.velocity
        assert tau[:, j].max() <= 0.7 * x.effort
    assert (tau * np.abs(qd)).sum(axis=1).max() <= 0.7 * 40.0
    assert [g.limit for g in found.guarantees if g.what == "total power"] == [pytest.approx(28.0)]


def with_limits(j: int, **change: float) -> Model:
    each = list(LIMITS)
    each[j] = replace(each[j], **change)
    return arm(tuple(each))


def refused(
    message: str,
    model: Model | None = None,
    error: type[Exception] = ExcitationError,
    starts: int = 1,
    **options: object,
) -> None:
    model = arm() if model is None else model
    settings = {"noise": np.ones(3), **options}
    with pytest.raises(error) as raised:
        search(design_problem(model, settings.pop("basis", BASIS), **settings), starts=starts, seconds=np.inf)  # type: ignore[arg-type]
    assert message in str(raised.value)


@pytest.mark.slow
def test_no_motion_names_what_is_in_the_way() -> None:
    weak = with_limits(1, lower=0.3, upper=0.8, effort=4.0)  # gravity alone asks for more, in every posture
    still = np.stack(np.meshgrid(np.linspace(0.3, 0.8, 9), np.linspace(-2.5, 0.5, 9)), -1).reshape(-1, 2)
    q = np.column_stack([np.zeros(81), still])
    assert np.abs(torque(weak, numbers(weak), q, 0 * q, 0 * q)[:, 1]).min() > 4.0
    refused(
        "no motion that keeps every limit was found in 2 starts; in the way was: torque of joint 'joint2'. Widen that",
        weak,
        starts=2,
        theta=numbers(weak),
    )
    refused(
        "in the way was: clearance of link",
        scene=replace(scene(), boxes=(Box("crate", [3.0, 3.0, 2.0], Pose(np.eye(3), np.array([0.0, 0, 0.5]))),)),
    )


def test_start_postures() -> None:
    touching = np.array([3.0, 0.4, 0.0])
    refused(
        "joint 'joint1' of the start posture is at 3 rad, outside of its range less the margin, -2 to 2 rad",
        start=touching,
    )
    refused("the scene holds nothing that could touch. Give it capsules", scene=Scene())
    low = np.array([0.0, 2.1, 0.4])
    cabinet = replace(scene(), boxes=(Box("cabinet", [0.2, 0.4, 2.0], Pose(np.eye(3), np.array([-0.1, 0.0, 0.8]))),))
    refused(
        "the start posture is in collision: capsule 'link2' and box 'cabinet' overlap by 141 mm, wanted at least 20 mm "
        "apart (and 1 more). Choose another posture.",
        scene=cabinet,
        start=low,
    )
    beside = replace(scene(), boxes=(Box("cabinet", [0.2, 0.4, 2.0], Pose(np.eye(3), np.array([-0.2, 0.0, 0.8]))),))
    ends = {"basis": FourierAndPolynomial(1.0, 3), "start": np.array([0.0, 1.0, 0.0])}
    refused("the end posture is in collision: capsule 'link2' and box 'cabinet' overlap", end=low, scene=beside, **ends)
    refused("an end posture is given without a start posture. Give both, or none.", end=low)
    refused("no such motion at rest goes from 0 to 1 (joint 1)", start=np.array([0.0, 1, 0]), end=np.array([1.0, 1, 0]))
    refused("the start posture must have shape (3), got (2,)", start=np.zeros(2))
    refused("joint 'joint2' of the start posture is at 0.35", start=np.array([0.0, 0.35, 0]), position_margin=0.1)


def test_limits_that_make_no_sense() -> None:
    refused("the position limits of joint 'joint2' leave no room: 1.3 to 1.2", position_margin=1.0)
    zero = with_limits(2, effort=0.0)
    refused("the torque limit of joint 'joint3' is zero. Correct it, or leave it out", zero, theta=numbers(zero))
    refused(
        "joint 'joint3' of robot 'arm' has neither a velocity nor an acceleration limit. Give it one",
        with_limits(2, velocity=np.inf),
    )
    refused("the velocity limit of joint 'joint1' is 0, so it cannot move", with_limits(0, velocity=0.0))


def test_a_base_frequency_that_does_not_fit() -> None:
    refused(
        "joint 'joint2' can swing by 0.01 rad only, because of its velocity limit, at the base frequency 1 rad/s. "
        "Lower the base frequency: make the motion longer than 6.28 s.",
        with_limits(1, velocity=0.01),
    )
    refused("joint 'joint1' can swing by 0.0032 rad only, because of its acceleration limit", basis=Fourier(50.0, 2))
    refused("joint 'joint2' can swing by 0.0016 rad only, because of its jerk limit", basis=Fourier(50.0, 2),
            model=with_limits(0, acceleration=np.inf, velocity=1000.0))  # fmt: skip


def test_other_bad_requests() -> None:
    refused("the logging rate is 0 Hz, wanted a positive number", rate_hz=0.0)
    refused("the number of periods is 0, wanted 1 or more", periods=0)
    refused("a power limit needs parameters to compute torques from. Give CAD values.", power=10.0)
    refused(
        "a basis of 3 functions has no motion that starts and ends at rest. Use more harmonics.",
        basis=Fourier(1.0, 1),
        start=np.array([0.0, 1.0, 0.0]),
    )
    refused("the torque noise of joint 'joint2' is 0", noise=[1.0, 0.0, 1.0], error=ModelError)


@pytest.mark.slow
def test_a_family_without_a_motion_at_rest_in_it() -> None:
    """A given start in the family's particular motion: the search begins there, not at a posture of its own."""
    p = small(basis=FourierAndPolynomial(1.0, 3), start=np.array([0.5, 1.0, -0.5]))
    particular, free = through(p.basis, [0.5, 1.0, -0.5], [0.5, 1.0, -0.5])
    assert np.array_equal(p.particular, particular)
    assert np.array_equal(p.free, free)
    assert search(p, starts=1, seconds=np.inf).proven
