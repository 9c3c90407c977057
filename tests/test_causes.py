"""What is wrong with a robot file or a log is named; what is right is not accused."""

import re
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from doctor_cases import case
from seeds import ALL, cases
from synthetic import states

from ident.cad.table import Cad
from ident.compare.causes import causes as causes_module
from ident.compare.causes.causes import Cause, Examination, comparable, examined, stands
from ident.compare.causes.geometries import Described, Geometry, described_by, geometries, size_of
from ident.compare.causes.mistakes import PRIOR, WEIGHTLESS, mistakes
from ident.compare.causes.ordinary import Candidate, ordinary, screened, unreached
from ident.compare.causes.reading import Reading, rows_of
from ident.compare.causes.sought import parts, signs
from ident.compare.causes.tables import Table, table_search
from ident.compare.causes.touches import MEND, ROBUST, touched
from ident.compare.causes.traces import explained
from ident.compare.causes.weighing import Tried, Weighed, Weigher
from ident.compare.doctor import doctor
from ident.estimate import cad_prior, neutral_prior
from ident.estimate.estimate import NamedCause
from ident.logs import Motion
from ident.logs.motion import split
from ident.model import Balancer, Coulomb, DriveInertia, LoadFriction, Model, Offset, SmoothCoulomb, Viscous, torque
from ident.model.coupling import coupled_drive
from ident.pipelines.doctor import already_doubted, beside_loss, causes_of
from ident.regression import compress
from ident.report import outcome_text
from ident.report.outcome_text import lines_in
from ident.robot import Joint, Robot, read_robot
from ident.robot.file import DHJoint, MDHJoint, from_dh, from_mdh
from ident.spatial.inertia import Pose, axis_angle, from_com
from ident.tables import below

RIGHT = np.pi / 2
DEGREE = np.pi / 180


def arm() -> Robot:
    """Return an elbow arm with a joint across the other two at its end."""
    rows = [DHJoint(d=0.4, alpha=RIGHT), DHJoint(a=0.35), DHJoint(a=0.3, alpha=RIGHT)]
    return from_dh("elbow", rows)


def links_of(rng: np.random.Generator, bodies: int) -> list[np.ndarray]:
    return [from_com(m, rng.normal(0, 0.1, 3), m * 0.02 * np.eye(3)) for m in (6.0, 4.0, 2.0, 1.0, 0.8, 0.5)[:bodies]]


def log(rng: np.random.Generator, robot: Robot, noise: float = 0.02, bodies: int = 3) -> tuple[Model, Motion]:
    model = Model(robot, (Viscous(), Coulomb(), Offset()))
    t, q, qd, qdd = states(rng, robot.n, 1500)
    links = links_of(rng, bodies)
    theta = np.concatenate([np.ravel(links), *(np.full(bodies, x) for x in (0.8, 1.5, 0.1))])
    tau = torque(model, theta, 0.6 * q, 0.6 * qd, 0.6 * qdd)
    tau = tau + noise * tau.std(axis=0) * rng.normal(size=tau.shape)
    return model, Motion("log", t, 0.6 * q, 0.6 * qd, 0.6 * qdd, tau, np.ones(q.shape, bool))


def found(model: Model, robot: Robot, motion: Motion) -> Examination:
    return examined(replace(model, robot=robot), [motion], neutral_prior(robot))


def first_found(model: Model, robot: Robot, *motions: Motion, **more: Any) -> Cause:
    """Return what is mended first; what is left then, half of the work, is looked for with `--seeds 20` only."""
    with patch.object(causes_module, "MOST", causes_module.MOST if cases(ALL) == ALL else 1):
        return examined(replace(model, robot=robot), motions, neutral_prior(robot), **more).causes[0]


def turned(robot: Robot, j: int, angle: float) -> Robot:
    joint = robot.joints[j]
    turn = axis_angle(joint.axis, angle)
    placed = joint.placement @ Pose(turn, joint.point - turn @ joint.point)
    joints = [replace(joint, placement=placed) if k == j else x for k, x in enumerate(robot.joints)]
    return replace(robot, joints=tuple(joints))


def longer(robot: Robot, factor: float) -> Robot:
    joints = [replace(x, placement=Pose(x.placement.rotation, factor * x.placement.position)) for x in robot.joints]
    return replace(robot, joints=tuple(joints))


def in_degrees(m: Motion) -> Motion:
    return replace(m, q=m.q / DEGREE, qd=m.qd / DEGREE, qdd=m.qdd / DEGREE)


PLANTED = {
    "gravity": (lambda r: r.with_gravity(-r.gravity), lambda m: m, ("gravity", "robot")),
    "quarter": (lambda r: turned(r, 1, RIGHT), lambda m: m, ("zero", "joint2")),
    "zero": (lambda r: turned(r, 1, 5 * DEGREE), lambda m: m, ("zero", "joint2")),
    "tilt": (lambda r: r.with_gravity(axis_angle([1, 0, 0], 4 * DEGREE) @ r.gravity), lambda m: m, ("tilt", "robot")),
    "metres": (lambda r: longer(r, 1000.0), lambda m: m, ("lengths", "robot")),
    "degrees": (lambda r: r, in_degrees, ("angle unit", "all joints")),
    "swapped": (lambda r: r, lambda m: replace(m, tau=m.tau[:, [0, 2, 1]]), ("columns", "joint2 and joint3")),
    "sign": (lambda r: r, lambda m: replace(m, tau=-m.tau), ("torque sign", "all joints")),
    "one sign": (lambda r: r, lambda m: replace(m, tau=m.tau * [1, -1, 1]), ("torque sign", "joint2")),
    "gain": (lambda r: r, lambda m: replace(m, tau=m.tau * [1, 1, 0.7]), ("torque gain", "joint3")),
    "rate": (lambda r: r, lambda m: replace(m, t=1.2 * m.t, qd=m.qd / 1.2, qdd=m.qdd / 1.44), ("clock", "time")),
}


def test_joints_that_turn_the_other_way_are_found_together_and_known_bodies_tell_them_from_a_mirrored_robot() -> None:
    rows = [
        (0.4, 0.18, RIGHT),
        (0.0, 0.6, 0.0),
        (0.0, 0.1, RIGHT),
        (0.5, 0.0, -RIGHT),
        (0.0, 0.0, RIGHT),
        (0.1, 0.0, 0),
    ]
    robot = from_dh("six", [DHJoint(d=d, a=a, alpha=alpha) for d, a, alpha in rows])
    rng = np.random.default_rng(11)
    model, motion = log(rng, robot, bodies=6, noise=0.005)
    sign = np.array([1, -1, -1, -1, 1, 1])
    counted = replace(motion, **{x: sign * getattr(motion, x) for x in ("q", "qd", "qdd", "tau")})
    states(again := np.random.default_rng(11), 6, 1500)
    links = np.array(links_of(again, 6))  # those of the log
    known = cad_prior(robot, links, "CAD")
    for prior in (neutral_prior(robot), known):
        weigher = Weigher(model, rows_of([counted], thinned=False), prior)
        sets = [m.where for m in signs(weigher, Reading.plain(robot), prior) if m.file == "robot"]
        assert "joint2 and joint3 and joint4" in sets, sets
    assert len(sets) == 1
    first = first_found(model, robot, counted)
    assert first.where == "joint2 and joint3 and joint4"
    assert first.after < 0.1 * first.before


def test_a_joint_that_would_turn_many_times_is_not_in_radians() -> None:
    robot = arm()
    for travel, possible in ((0.1, True), (1.0, False)):
        found = [
            m.what for m in mistakes(robot, travel=np.full(3, travel)) if (m.kind, m.where) == ("angle unit", "joint2")
        ]
        assert ("its position is in rad" in found) == possible
        assert "its position is in degrees" in found


def test_joints_that_turn_the_other_way_are_a_rival_of_those_of_a_mirrored_robot() -> None:
    rows = [(0.4, RIGHT), (0.1, RIGHT), (0.0, 0.0)]
    robot = from_dh("wrist", [DHJoint(d=d, alpha=alpha) for d, alpha in rows])
    model, motion = log(np.random.default_rng(3), robot)
    for sign, first, rival in (
        ([1, -1, -1], "joint1", "joint2 and joint3"),
        ([1, -1, 1], "joint2", "joint1 and joint3"),
    ):
        counted = replace(motion, **{x: np.array(sign) * getattr(motion, x) for x in ("q", "qd", "qdd", "tau")})
        cause = found(model, robot, counted).causes[0]
        assert (cause.mistake.kind, cause.where) == ("direction", first)
        assert any(x.startswith(f"{rival}: they move the other way") for x in cause.rivals), cause.rivals


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_named_first(name: str) -> None:
    spoilt_robot, spoilt_log, wanted = PLANTED[name]
    model, motion = log(np.random.default_rng(7), arm())
    result = found(model, spoilt_robot(arm()), spoilt_log(motion))
    first = result.causes[0]
    assert (first.mistake.kind, first.where) == wanted, first.what
    assert not first.ordinary
    assert first.after < first.before
    assert result.error < 0.025
    trace = first.trace
    with_it, without = np.array(trace.before), np.array(trace.after)
    assert np.square(without).mean() < np.square(with_it).mean()
    assert explained(np.array(trace.x), with_it - without) > 0.95  # no cloud, whatever joints it acts through
    about = [j for j, joint in enumerate(arm().joint_names) if joint in first.where]
    fell = [j for j in about if first.joints_after[j] < 0.8 * first.joints_before[j]]
    assert trace.joint in [arm().joint_names[j] for j in fell or range(3)]


@pytest.mark.parametrize("timed", [True, False])
def test_gravity_that_is_counted_twice_is_told_from_a_wrong_rate_by_velocities_alone(timed: bool) -> None:
    model, motion = log(np.random.default_rng(7), arm())
    light = arm().with_gravity(0.5 * arm().gravity)
    cause = first_found(model, light, motion, timed=timed)
    alike = [cause.what, *cause.rivals]
    assert any("the torques hold gravity twice" in one for one in alike)
    assert any("the rate is wrong: the motion took 41." in one for one in alike) != timed


@pytest.mark.parametrize("whose", ["position and torque", "torque"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_drives_that_move_with_two_joints_are_told_with_the_lines_to_paste(sign: float, whose: str) -> None:
    rng, matrix = np.random.default_rng(4), np.eye(3)
    matrix[2, 1] = sign
    _, m = log(rng, arm())
    whole = Model(arm(), (Viscous(), Coulomb(), *coupled_drive("m3", tuple(matrix[2]))))
    theta = np.concatenate([np.ravel(links_of(rng, 3)), [0.8, 0.8, 0.0, 1.5, 1.5, 0.0, 0.0, 0.8, 1.5]])
    tau = torque(whole, theta, m.q, m.qd, m.qdd) @ np.linalg.inv(matrix)
    tau += 0.01 * tau.std(axis=0) * rng.normal(size=tau.shape)
    q, qd, qdd = (x @ (matrix.T if "position" in whose else np.eye(3)) for x in (m.q, m.qd, m.qdd))
    logged = replace(m, q=q, qd=qd, qdd=qdd, tau=tau)
    first = first_found(Model(arm(), (Viscous(), Coulomb(), Offset())), arm(), logged)
    assert (first.mistake.kind, first.where, first.ordinary) == ("coupling", "joint3", False)
    assert first.after < 0.03
    assert first.mend.endswith(f'`side = "motor"` for {whose} in dataset.toml')
    transmission = tomllib.loads(lines_in(first.mend))["transmission"]
    assert transmission["coupling"] == [{"motor": "motor3", "joint": "joint2", "ratio": sign}]


def test_speeds_far_below_their_limits_are_told() -> None:
    _, motion = log(np.random.default_rng(4), arm())
    fastest = np.abs(motion.qd).max(axis=0)

    def limited(shares: tuple[float, ...]) -> Robot:
        speeds = (f / s if s else np.inf for f, s in zip(fastest, shares, strict=True))
        joints = (replace(j, limits=replace(j.limits, velocity=v)) for j, v in zip(arm().joints, speeds, strict=True))
        return replace(arm(), joints=tuple(joints))

    slow = "speeds of joint1, joint3 above 20 % of their limits"
    assert unreached(limited((0.1, 0.5, 0.19)), [motion]) == slow
    assert unreached(limited((0.1, 0.5, 0.3)), [motion]) == ""
    assert unreached(limited((0.1, 0.0, 0.0)), [motion]) == ""
    assert unreached(limited((0.1, 0.1, 0.1)), [motion, replace(motion, qd=10.0 * motion.qd)]) == ""


@pytest.mark.parametrize("whose", ["position and torque", "torque"])
@pytest.mark.parametrize("turned", [(1, 1), (2, 1)])
def test_drives_of_a_differential_are_told_with_the_lines_to_paste(turned: tuple[int, int], whose: str) -> None:
    rng, matrix = np.random.default_rng(4), np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    matrix[turned] = -1.0
    _, m = log(rng, arm())
    drives = (*coupled_drive("m2", tuple(matrix[1])), *coupled_drive("m3", tuple(matrix[2])))
    whole = Model(arm(), (Viscous(("joint1",)), Coulomb(joints=("joint1",)), *drives))
    theta = np.concatenate([np.ravel(links_of(rng, 3)), [0.8, 1.5], 2 * [0.01, 0.4, 0.8]])
    tau = torque(whole, theta, m.q, m.qd, m.qdd) @ np.linalg.inv(matrix)
    tau += 0.01 * tau.std(axis=0) * rng.normal(size=tau.shape)
    q, qd, qdd = (x @ (matrix.T if "position" in whose else np.eye(3)) for x in (m.q, m.qd, m.qdd))
    logged = replace(m, q=q, qd=qd, qdd=qdd, tau=tau)
    first = first_found(Model(arm(), (Viscous(), Coulomb(), Offset())), arm(), logged)
    assert (first.mistake.kind, first.where) == ("coupling", "joint2 and joint3")
    assert first.after < 0.03
    told = tomllib.loads(lines_in(first.mend))["transmission"]
    found = np.diag(np.array(told["ratios"], dtype=float))
    for one in told["coupling"]:
        found[int(one["motor"][-1]) - 1, int(one["joint"][-1]) - 1] = one["ratio"]
    np.testing.assert_array_equal(found, matrix)
    assert first.mend.endswith(f'`side = "motor"` for {whose} in dataset.toml')


@pytest.mark.parametrize(("x", "share"), [(np.arange(400.0), 1.0), (np.arange(400.0) * 7919 % 400, 0.0)])
def test_what_explains_a_residual_holds_its_squares(x: np.ndarray, share: float) -> None:
    assert abs(explained(x, np.sin(np.arange(400.0) / 60)) - share) < 0.1


@pytest.mark.parametrize("what", ["frame", "axis"])
def test_a_frame_or_an_axis_of_a_urdf_that_is_turned_is_named(what: str) -> None:
    right = from_mdh("elbow", [MDHJoint(d=0.4), MDHJoint(alpha=RIGHT), MDHJoint(a=0.35), MDHJoint(a=0.3, alpha=RIGHT)])
    model, motion = log(np.random.default_rng(11), right, bodies=4)
    joint = right.joints[2]
    turn = Pose(axis_angle([1, 0, 0], -RIGHT), np.zeros(3))
    wrong = replace(joint, placement=joint.placement @ turn) if what == "frame" else replace(joint, axis=[0, 1, 0])
    robot = replace(right, joints=tuple(wrong if k == 2 else x for k, x in enumerate(right.joints)))
    first = first_found(model, robot, motion, geometries=geometries("r.urdf", robot))
    told = {"frame": "joint3 has to be turned by 90 degrees about its x", "axis": "the axis of joint3 is z"}[what]
    assert told in first.what or any(told in rival for rival in first.rivals), (first.what, first.rivals)
    assert first.after < 0.03 < first.before


def test_what_to_change_in_a_description_makes_it_the_other_robot(tmp_path: Path) -> None:
    """The line for each frame or axis, written into the file: read again, the robot is the one that was meant."""
    frame = '<origin xyz="0.1 0 0.2" rpy="0.3 -0.4 0.5"/>'
    text = f"""<robot name="r"><link name="a"/><link name="b"/><link name="c"/>
        <joint name="j" type="continuous"><parent link="a"/><child link="b"/>{frame}<axis xyz="0 0 1"/></joint>
        <joint name="k" type="fixed"><parent link="b"/><child link="c"/><origin rpy="0 1 0"/></joint></robot>"""
    path = tmp_path / "r.urdf"
    path.write_text(text)
    known = geometries(path, read_robot(path))
    assert len(known) == 8
    for what, other in known.items():
        old = '<axis xyz="0 0 1"/>' if "axis" in other.mend else 'rpy="0.3 -0.4 0.5"'
        new = re.search(r'<axis.*/>|rpy=".*"', other.mend)
        path.write_text(text.replace(old, new[0]))
        again = read_robot(path).joints[0]
        np.testing.assert_allclose(again.axis, other.robot.joints[0].axis, atol=1e-6, err_msg=what)
        pose = other.robot.joints[0].placement
        np.testing.assert_allclose(again.placement.rotation, pose.rotation, atol=1e-5, err_msg=what)


URDF = """<robot name="r"><link name="a"/><link name="b"/><joint name="joint1" type="continuous"><parent link="a"/>
    <child link="b"/><origin xyz="0.1 0 0.2"/><axis xyz="0 0 1"/></joint></robot>"""
MJCF = """<mujoco><worldbody><body name="b" pos="0.1 0 0.2"><joint name="joint1" axis="0 0 1"/>
    <inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("form", ["dh", "urdf", "mjcf", "toml"])
def test_what_to_change_of_gravity_is_pasted_and_read(tmp_path: Path, form: str) -> None:
    """In the words of the file that describes the robot; a URDF has no gravity, but a robot.toml that names it has."""
    table = 'convention = "dh"\nlength = "m"\nangle = "rad"\n[[joint]]\na = 0.1\n'
    files = {"r.urdf": URDF, "r.xml": MJCF, "dh.toml": table, "robot.toml": 'urdf = "r.urdf"\n'}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    path = tmp_path / {"dh": "dh.toml", "urdf": "r.urdf", "mjcf": "r.xml", "toml": "robot.toml"}[form]
    described = described_by(path)
    known = mistakes(read_robot(path), described=described)
    mend = next(m.mend for m in known if m.kind == "gravity" and "along +x" in m.what)
    if form == "urdf":
        path = tmp_path / "robot.toml"
        path.write_text(lines_in(mend))
        assert mend.startswith("a URDF has no place for that; write a robot.toml")
    else:
        mark, line = ("<worldbody>", mend) if form == "mjcf" else ("", lines_in(mend))
        path.write_text(path.read_text().replace(mark, line + "\n" + mark, 1))
    np.testing.assert_allclose(read_robot(path).gravity, [9.81, 0, 0], rtol=1e-3)
    zero = next(m for m in known if m.kind == "zero" and m.size)
    assert zero.file == ("robot" if form == "dh" else "log")  # whose position has an `offset`
    assert "URDF" not in zero.mend
    told = described.turned("(1, 0, 0)")
    assert told.endswith("a URDF has no gravity to turn") == (described.turned_in == "model") == (form == "urdf")
    assert tomllib.loads(lines_in(told)) == {"calibrate": {"gravity": True}}


@pytest.mark.parametrize("form", ["dh", "urdf", "mjcf"])
def test_all_that_is_proposed_as_toml_can_be_pasted(form: str) -> None:
    described = Described(form, "r", form == "dh")
    two = from_dh("two", [DHJoint(d=0.4, alpha=RIGHT), DHJoint(a=0.35)])
    known = mistakes(two, described=described)
    mends = [*(m.words(0.1)[1] for m in known), MEND + ROBUST, described.turned("x")]
    for mend in mends:
        tomllib.loads(lines_in(mend))
        for line in re.findall(r"`([^`]* = [^`]*)`", mend):
            tomllib.loads(line)
        assert " = " not in re.sub(r"`[^`]*`", "", mend)
        assert not re.search(r"\] \w+ =", mend)
    assert lines_in(f"add it: {below('model', 'coulomb = true', 'viscous = true')}").splitlines() == [
        "[model]", "coulomb = true", "viscous = true"
    ]  # fmt: skip
    assert {m.file for m in known if m.kind == "joint order"} == {"log"}


def test_what_to_change_of_an_axis_is_said_as_the_description_says_it(tmp_path: Path) -> None:
    for name, text, told in (("r.urdf", URDF, '<axis xyz="1 0 0"/>'), ("r.xml", MJCF, 'axis="1 0 0"')):
        path = tmp_path / name
        path.write_text(text)
        found = geometries(path, read_robot(path))
        assert found["the axis of joint1 is x, not as described"].mend == f"{told} in that joint"
        assert any("<origin>" in other.mend for other in found.values()) == (name == "r.urdf")


@pytest.mark.parametrize(("loaded", "names"), [(0, "abc"), (2, "abc"), (0, "ab"), (1, "ab")])
def test_a_load_in_one_of_the_recordings_is_named(loaded: int, names: str) -> None:
    right, rng = arm(), np.random.default_rng(4)
    model, first = log(rng, right)
    theta = np.zeros(len(model.names))
    theta[20:30] = from_com(0.8, [0.1, 0.02, 0.05], 0.002 * np.eye(3))
    parts = [replace(first, name=name, **_cut(first, 500 * k)) for k, name in enumerate(names)]
    carried = torque(model, theta, parts[loaded].q, parts[loaded].qd, parts[loaded].qdd)
    parts[loaded] = replace(parts[loaded], tau=parts[loaded].tau + carried)
    (cause,) = examined(model, parts, neutral_prior(right)).causes
    assert (cause.mistake.kind, cause.where) == ("load", f"recording {names[loaded]}")
    mass = float(cause.what.split()[2])
    assert cause.what.startswith("it carries")
    assert mass == pytest.approx(0.8, rel=0.3)
    assert cause.asserted


def test_a_part_that_is_picked_and_placed_is_named_with_its_mass() -> None:
    right, rng = arm(), np.random.default_rng(9)
    model, motion = log(rng, right)
    theta = np.zeros(len(model.names))
    theta[20:30] = from_com(0.8, [0.1, 0.02, 0.05], 0.002 * np.eye(3))
    carried = torque(model, theta, motion.q, motion.qd, motion.qdd)
    holds = (np.arange(len(motion.t)) // 170 % 2 == 1)[:, None]
    first = first_found(model, right, replace(motion, tau=motion.tau + holds * carried))
    assert (first.mistake.kind, first.where) == ("load", right.links[-1])
    mass, share = (float(x) for x in re.findall(r"about ([\d.]+) kg now and then, in (\d+) %", first.what)[0])
    assert mass == pytest.approx(0.8, rel=0.2)
    assert share == pytest.approx(50, abs=8)
    assert first.after < 0.5 * first.before
    weigher = Weigher(model, rows_of([motion], thinned=False), neutral_prior(right))
    assert not list(parts(weigher, Reading.plain(right)))


@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize("what", ["zero", "gain"])
def test_another_zero_or_gain_in_one_of_the_recordings_is_named(parts: int, what: str) -> None:
    model, whole = log(np.random.default_rng(9), arm())
    motions = [replace(whole, name=name, **_cut(whole, 500 * k)) for k, name in enumerate("abc"[:parts])]
    last = motions[-1]
    off = {"zero": {"q": last.q + 3 * DEGREE * np.eye(3)[1]}, "gain": {"tau": last.tau * [1, 1, 0.8]}}[what]
    first = first_found(model, arm(), *motions[:-1], replace(last, **off))
    assert (first.mistake.kind, first.asserted) == ("apart", True)
    assert first.where == {"zero": "joint2", "gain": "joint3"}[what]
    assert f"in recording {last.name}" in first.what
    assert first.value == pytest.approx({"zero": -3 * DEGREE, "gain": -np.log(0.8)}[what], rel=0.1)
    assert first.after < 0.0205


@pytest.mark.parametrize("parts", [2, 3])
def test_friction_that_is_larger_in_one_of_the_recordings_is_no_other_gain(parts: int) -> None:
    model, whole = log(np.random.default_rng(9), arm())
    motions = [replace(whole, name=name, **_cut(whole, 500 * k)) for k, name in enumerate("abc"[:parts])]
    last = motions[-1]
    more = 0.25 * (0.8 * last.qd + 1.5 * np.sign(last.qd)) * [0, 0, 1]
    first = first_found(model, arm(), *motions[:-1], replace(last, tau=last.tau + more))
    assert first.what.startswith("its friction is")
    assert (first.where, first.ordinary) == ("joint3", True)
    assert first.value == pytest.approx(np.log(1.25), rel=0.2)


def test_time_that_velocities_bear_out_is_not_accused() -> None:
    model, motion = log(np.random.default_rng(7), arm())
    slow = PLANTED["rate"][1](motion)
    causes = examined(model, [slow], neutral_prior(arm()), timed=True).causes
    assert "clock" not in [c.mistake.kind for c in causes]  # that is named first where velocities do not: PLANTED


@pytest.mark.parametrize("far", [0.4, 0.5, 2.2, 4.0])
def test_a_rate_far_off_of_rows_without_stamps_is_named_with_the_right_one(far: float) -> None:
    model, motion = log(np.random.default_rng(7), arm())
    off = replace(motion, t=far * motion.t, qd=motion.qd / far, qdd=motion.qdd / far**2)
    cause = first_found(model, arm(), off, rate_hz=100.0)
    told = float(re.search(r"rows were logged at about ([\d.]+) Hz, not 100", cause.what)[1])
    assert told == pytest.approx(100.0 * far, rel=0.03)
    assert (cause.where, cause.rivals) == ("time", ())
    assert f"`time = {{ rate_hz = {told:g} }}`" in cause.mend


def _cut(m: Motion, start: int) -> dict[str, np.ndarray]:
    return {key: getattr(m, key)[start : start + 500] for key in ("t", "q", "qd", "qdd", "tau", "keep")}


def pushed(motion: Motion, begin: float, end: float, force: float) -> Motion:
    """Return a motion in which something pushes joints 1 and 2."""
    bump = np.where((motion.t > begin) & (motion.t < end), np.sin((motion.t - begin) / (end - begin) * np.pi) ** 2, 0.0)
    return replace(motion, tau=motion.tau + force * bump[:, None] * motion.tau.std(axis=0) * [1, 1, 0])


def test_a_touch_is_named_with_its_recording_seconds_and_joints() -> None:
    model, motion = log(np.random.default_rng(6), arm())
    seen = found(model, arm(), pushed(motion, 4.0, 5.5, 0.6))
    cause = seen.causes[0]
    assert (cause.mistake.kind, cause.where) == ("touch", "recording log")
    begin, end = (float(x) for x in re.findall(r"from ([\d.]+) to ([\d.]+) s", cause.what)[0])
    assert begin == pytest.approx(4.0, abs=0.4)
    assert end == pytest.approx(5.5, abs=0.4)
    assert "joint1" in cause.what
    assert "joint2" in cause.what
    assert not cause.ordinary
    assert cause.after < 0.025
    assert lines_in(cause.mend) == '[fit]\nloss = "huber"'
    (robust,) = beside_loss(seen).causes  # that is done already
    assert robust.mend == "log it anew, or leave that out: two recordings with `rows` of one file"
    assert beside_loss(seen, predicts=True).causes == ()


def test_a_rate_does_not_bend_the_law_of_friction() -> None:
    _, motion = log(np.random.default_rng(6), arm())
    model = Model(arm(), (Viscous(), SmoothCoulomb(tanh=0.5)))
    weigher, plain = Weigher(model, rows_of([motion], thinned=True), neutral_prior(arm())), Reading.plain(arm())
    columns, rubs = weigher.columns(plain), np.array([name.endswith("coulomb") for name in model.names])
    now, slower = (weigher.packed(columns, replace(plain, clock=clock))[0] for clock in (1.0, 2.0))
    for (start, _), used in zip(columns.span, columns.parameters, strict=True):
        at = start + np.flatnonzero(rubs[list(used)])
        assert len(at) == 1
        np.testing.assert_allclose(slower[:, at], now[:, at], rtol=1e-12, atol=1e-12)
    assert not np.allclose(now, slower)


@pytest.mark.parametrize(("j", "k", "share"), [(2, 1, 0.06), (1, 0, -0.3), (0, 2, 0.25), (2, 0, 0.9)])
def test_a_share_of_another_joints_torque_is_named_with_both_joints(j: int, k: int, share: float) -> None:
    model, motion = log(np.random.default_rng(7), arm())
    tau = motion.tau.copy()
    tau[:, j] += share * tau[:, k]
    first = first_found(model, arm(), replace(motion, tau=tau))
    assert (first.mistake.kind, first.where, first.rivals, first.ordinary) == ("crosstalk", f"joint{j + 1}", (), False)
    assert first.value == pytest.approx(share, rel=0.1)
    assert first.what == f"its torque has {100 * first.value:.3g} % of that of joint{k + 1} in it"
    assert first.after < 0.03
    if abs(j - k) == 1:  # drives that are coupled so: torques of joints are matrix.T @ those of drives
        matrix, (coupling,) = np.eye(3), tomllib.loads(lines_in(first.mend))["transmission"]["coupling"]
        assert (coupling["motor"], coupling["joint"]) == (f"motor{k + 1}", f"joint{j + 1}")
        matrix[k, j] = coupling["ratio"]
        spoilt, left = (np.std(x - motion.tau) for x in (tau, tau @ matrix))
        assert left < 0.1 * spoilt


def test_what_happens_again_and_again_or_is_noise_is_no_touch() -> None:
    rng, t = np.random.default_rng(0), np.arange(3000) / 100.0
    keep = np.ones((3000, 1), bool)
    noise = rng.normal(size=(3000, 1))
    bump = np.where(np.abs(t - 12.0) < 0.7, 4.0, 0.0)[:, None]
    (touch,) = touched(t, noise + bump, keep)
    assert (touch.begin, touch.end) == pytest.approx((11.3, 12.7), abs=0.5)
    assert touched(t, noise, keep) == []
    both = touched(t, noise + bump + np.roll(bump, 900), keep)
    assert sorted(x.begin for x in both) == pytest.approx([11.3, 20.3], abs=0.5)
    assert touched(t, noise + sum(np.roll(bump, k) for k in (-900, 0, 500, 900, 1300)), keep) == []


def test_torques_blurred_by_a_filter_are_named_with_its_time_constant() -> None:
    model, motion = log(np.random.default_rng(7), arm())
    share = 1.0 / (1.0 + 0.06 / np.diff(motion.t).mean())
    tau = motion.tau.copy()
    for k in range(1, len(tau)):
        tau[k] = tau[k - 1] + share * (motion.tau[k] - tau[k - 1])
    first = first_found(model, arm(), replace(motion, tau=tau))
    assert (first.mistake.kind, first.asserted, first.ordinary) == ("blur", True, False)
    assert first.value == pytest.approx(0.06, rel=0.1)


def test_a_velocity_in_the_place_of_a_position_is_named() -> None:
    model, motion = log(np.random.default_rng(7), arm())
    second = np.arange(3) == 1
    swapped = np.where(second, [motion.qd, motion.qdd, np.gradient(motion.qdd, motion.t, axis=0)],
                       [motion.q, motion.qd, motion.qdd])  # fmt: skip
    spoilt = replace(motion, q=swapped[0], qd=swapped[1], qdd=swapped[2])
    first = first_found(model, arm(), spoilt)
    assert (first.mistake.kind, first.where) == ("velocity", "joint2")
    assert first.after < 0.5 * first.before


@pytest.mark.parametrize(("noise", "passes"), [(0.1, False), (10.0, True)])
def test_drifts_that_cannot_be_told_apart_pass_only_within_the_noise(noise: float, passes: bool) -> None:
    drifts = [m for m in mistakes(arm()) if m.kind in ("fading", "warming") and m.where == "joint2"]
    three = np.ones(3)
    plain = Reading.plain(arm())
    before, after = (
        Weighed(plain, 0.0, x * np.ones((10, 3)), 100 * three, three, three, np.eye(4)) for x in (1.0, 0.5)
    )
    tied = [Candidate(m, 0.1, after, 0.0) for m in drifts]
    assert ordinary(tied, before, noise * three) is passes
    assert ordinary(tied[1:], before, noise * three)  # warmth alone is what any robot has


def test_values_of_mistakes_are_those_that_were_made() -> None:
    model, motion = log(np.random.default_rng(3), arm(), noise=0.005)
    zero = first_found(model, turned(arm(), 1, 5 * DEGREE), motion)
    assert zero.value == pytest.approx(-5 * DEGREE, rel=0.05)
    far = first_found(model, turned(arm(), 1, -40 * DEGREE), motion)
    assert (far.mistake.kind, far.where) == ("zero", "joint2")
    assert float(re.findall(r"-?\d+\.?\d*", far.what)[0]) == pytest.approx(40, abs=0.3)
    passed = np.linspace(-0.5, 0.5, len(motion.t))[:, None] * np.sqrt(np.mean(motion.tau**2, axis=0))
    drift = first_found(model, arm(), replace(motion, tau=motion.tau + 0.2 * passed * [0, 1, 0]))
    assert (drift.mistake.kind, drift.where) == ("drifting", "joint2")
    assert drift.value == pytest.approx(0.2, rel=0.05)
    gain = first_found(model, arm(), replace(motion, tau=motion.tau * [1, 1, 0.7]))
    assert gain.value == pytest.approx(-np.log(0.7), rel=0.05)


def test_values_are_said_with_the_word_of_their_sign() -> None:
    (gain,) = (m for m in mistakes(arm()) if m.kind == "torque gain" and m.where == "joint3")
    assert gain.words(np.log(0.8))[0].startswith("its torque has to be 20 % smaller")
    assert gain.words(np.log(1.25)) == (
        "its torque has to be 25 % larger (torque constant, gear ratio, unit)",
        'multiply its torque by 1.25, its `gain`; or `gains = ["joint3"]` below [calibrate] in experiment.toml',
    )
    (zero,) = (m for m in mistakes(arm()) if m.kind == "zero" and m.where == "joint2" and m.size)
    assert zero.words(-5 * DEGREE)[0] == "its zero is off by -5 degrees"


@pytest.mark.parametrize("seed", range(4))
def test_right_files_are_not_accused(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, motion = log(rng, arm(), noise=float(rng.uniform(0.005, 0.1)))
    assert found(model, arm(), motion).causes == ()


@pytest.mark.parametrize(("share", "which", "where"), [(0.15, [1, 1, 1], "all joints"), (-0.15, [0, 1, 0], "joint2")])
def test_torques_that_saturate_are_named_with_their_share(share: float, which: list[int], where: str) -> None:
    """As logged y of the true y (1 - share (y / largest)^2): more than it is where a torque constant falls."""
    model, motion = log(np.random.default_rng(5), arm(), noise=0.005)
    y = motion.tau
    for _ in range(60):
        y = motion.tau / (1.0 - share * np.array(which) * (y / np.abs(y).max(axis=0)) ** 2)
    first = first_found(model, arm(), replace(motion, tau=y))
    assert (first.mistake.kind, first.where) == ("saturation", where), first.what
    assert first.value == pytest.approx(share, rel=0.15)
    assert f"% {'more' if share > 0 else 'less'} than they are" in first.what
    assert first.after < 0.0065
    assert "saturation = " in first.mend


def test_a_robot_that_a_hand_moves_is_told() -> None:
    """Its motors hold it against gravity alone; lengths in inches would leave as little of what moves it."""
    rng = np.random.default_rng(8)
    robot = arm()
    model, motion = log(rng, robot)
    held = torque(
        model, np.concatenate([np.ravel(links_of(rng, 3)), np.zeros(9)]), motion.q, 0 * motion.qd, 0 * motion.q
    )
    held = held + 0.01 * held.std(axis=0) * rng.normal(size=held.shape)
    first = first_found(model, robot, replace(motion, tau=held))
    assert "none of what moves it, as where a hand does" in first.what, first.what
    assert first.after < 0.2 * first.before


def test_what_leaves_nearly_all_of_a_large_error_is_not_what_to_mend() -> None:
    rng = np.random.default_rng(2)
    model, motion = log(rng, arm())
    weigher = Weigher(model, rows_of([motion], thinned=True), neutral_prior(model.robot))
    now = weigher.weighed(Reading.plain(model.robot))
    zero = next(m for m in mistakes(model.robot) if m.kind == "zero" and m.size is None)
    for before, share, told in ((0.1, 0.03, True), (0.1, 0.3, False), (0.04, 0.04, False)):
        errors = np.broadcast_to(before**2 * now.torques, now.errors.shape)
        found = replace(now, errors=errors)
        after = replace(now, errors=(1.0 - share) * errors)
        assert ordinary([Candidate(zero, 0.0, after, 0.0)], found, np.zeros(3)) == told
    late = next(m for m in mistakes(model.robot) if m.kind == "delay")
    for times, told in ((20.0, True), (0.9, False)):  # what concerns all joints has to lessen the error of all
        after = replace(now, errors=np.array([0.5, times, times]) * errors)
        assert ordinary([Candidate(late, 0.01, after, 0.0)], found, np.zeros(3)) == told
    light = (1.0 - 0.5 * (np.arange(3) == 2)) * errors  # half of what a joint misses that hardly counts
    assert light.sum() > 0.9 * errors.sum()
    assert not ordinary([Candidate(zero, 0.0, replace(now, errors=light), 0.0)], found, np.zeros(3))


def test_a_length_that_only_the_load_of_given_links_would_tell_is_not_accused() -> None:
    """Moved along the last joint's axis, a frame and the centre in it are one; links that are off by 8 % are not."""
    robot = from_dh("elbow", [DHJoint(d=0.4, alpha=RIGHT), DHJoint(a=0.35, alpha=RIGHT), DHJoint(d=0.3)])
    rng = np.random.default_rng(4)
    links = [from_com(m, rng.normal(0, 0.1, 3), m * 0.02 * np.eye(3)) for m in (6.0, 4.0, 2.0)]
    given = np.array(links) * rng.uniform(0.9, 1.1, (3, 1))
    given[2, 3] += 0.04
    t, q, qd, qdd = states(rng, 3, 1500)
    law = SmoothCoulomb(0.01)
    model = Model(robot, (Viscous(), law, Offset(), LoadFriction.of(links, law)))
    theta = np.concatenate([np.ravel(links), *(np.full(3, x) for x in (0.8, 1.5, 0.1, 0.2))])
    tau = torque(model, theta, 0.6 * q, 0.6 * qd, 0.6 * qdd)
    tau = tau + 1e-3 * tau.std(axis=0) * rng.normal(size=tau.shape)
    motion = Motion("log", t, 0.6 * q, 0.6 * qd, 0.6 * qdd, tau, np.ones(q.shape, bool))
    model = replace(model, terms=(*model.terms[:3], LoadFriction.of(given, law)))
    found = examined(model, [motion], cad_prior(robot, given, "CAD"))
    assert not found.causes, [(c.where, c.what, c.before, c.after) for c in found.causes]
    assert found.error < 0.002


def test_a_stretch_left_out_that_alone_shows_a_joint_is_no_worse_than_its_torque() -> None:
    """Joint 3 stands but for the noise of its speeds, until the last stretch: what noise seems to weigh is absurd."""
    rng = np.random.default_rng(8)
    model, motion = log(rng, arm())
    q, qd, qdd = (np.array(x) for x in (motion.q, motion.qd, motion.qdd))
    q[:1350, 2], qd[:1350, 2], qdd[:1350, 2] = 0.3, 1e-4 * rng.normal(size=1350), 1e-3 * rng.normal(size=1350)
    links = [from_com(m, [0.1, 0.05, -0.1], m * 0.02 * np.eye(3)) for m in (6.0, 4.0, 2.0)]
    theta = np.concatenate([np.ravel(links), *(np.full(3, x) for x in (0.8, 1.5, 0.1))])
    tau = torque(model, theta, q, qd, qdd)
    tau = tau + 0.02 * tau.std(axis=0) * rng.normal(size=tau.shape)
    jogged = replace(motion, q=q, qd=qd, qdd=qdd, tau=tau)
    weigher = Weigher(model, rows_of([jogged], thinned=False), neutral_prior(arm()))
    errors = weigher.weighed(Reading.plain(arm())).errors
    torques = np.array([np.mean(weigher.rows.tau[a:b] ** 2, axis=0) for a, b in weigher.rows.stretches])
    assert errors[-1, 2] == pytest.approx(torques[-1, 2])
    assert (errors[:-1] < 0.01 * torques[:-1]).all()


def test_what_changes_no_torque_by_half_a_percent_holds_nothing_back() -> None:
    (zero,) = (m for m in mistakes(arm()) if m.kind == "zero" and m.where == "joint2" and m.size)
    three, plain = np.ones(3), Reading.plain(arm())
    before, near, far = (
        Weighed(plain, 0.0, (0.002**2 + x**2) * np.ones((10, 3)), three, three, three, np.eye(4))
        for x in (0.006, 0.0045, 0.0)
    )
    size = 5.0 * DEGREE
    assert ordinary([Candidate(zero, size, near, 0.0)], before, 0.001 * three)
    assert not ordinary([Candidate(zero, size, far, 0.0)], before, 0.001 * three)
    assert ordinary([Candidate(zero, size, far, 0.0)], before, 0.015 * three)


def test_what_no_torque_shows_is_not_claimed() -> None:
    model, motion = log(np.random.default_rng(5), arm())
    assert found(model, turned(arm(), 0, RIGHT), motion).causes == ()  # about the vertical axis


def test_a_reading_of_the_files_as_they_are_changes_nothing() -> None:
    model, motion = log(np.random.default_rng(1), arm())
    rows = rows_of([motion], thinned=True)
    same = Reading.plain(model.robot).of(rows)
    for name in ("t", "q", "qd", "qdd", "tau"):
        assert np.array_equal(getattr(same, name), getattr(rows, name))


def test_slopes_lead_to_what_explains_most() -> None:
    model, motion = log(np.random.default_rng(2), arm(), noise=0.01)
    weigher = Weigher(model, rows_of([motion], thinned=True), neutral_prior(arm()))
    plain = Reading.plain(arm())
    for mistake in mistakes(arm()):
        if mistake.size is None or mistake.kind in ("torque gain", "delay"):
            continue
        value = 0.3 * mistake.size.usual
        off = mistake.without(plain, -value)
        state = weigher.weighed(off, left_out=False)
        if weigher.weighed(plain, left_out=False).log - state.log < 20:
            continue
        step = 1e-4 * mistake.size.usual
        back, _ = weigher.slopes(state, mistake.without(off, step), step)
        assert back == pytest.approx(value, rel=0.3), mistake.what


def test_probabilities_beforehand_sum_to_one() -> None:
    assert sum(PRIOR.values()) == pytest.approx(1.0)
    assert {m.kind for m in mistakes(arm(), {"other": Geometry(arm(), "another")})} <= PRIOR.keys()


def test_a_motion_decides_where_the_torques_of_two_causes_lie_apart() -> None:
    model, motion = log(np.random.default_rng(3), arm(), noise=0.03)
    late = replace(motion, t=1.1 * motion.t, qd=motion.qd / 1.1, qdd=motion.qdd / 1.21)
    result = found(model, arm(), late)
    (cause,) = result.causes
    assert cause.pair is not None
    states_ = motion.t, motion.q, motion.qd, motion.qdd
    assert result.apart(cause, *states_) < 1e-3  # an elbow arm of another size is one at another rate
    assert result.weigher is not None
    plain = Reading.plain(arm())
    other = replace(plain, zeros=np.array([0.0, 0.5, 0.0]))
    pair = tuple(result.weigher.weighed(reading, bodies=True) for reading in (plain, other))
    assert result.apart(replace(cause, pair=pair), *states_) > 0.1


@pytest.mark.parametrize(("friction", "told"), [(1.5, False), (0.1, True)])
def test_a_small_tilt_is_told_where_it_is_most_of_a_vertical_joints_torque(friction: float, told: bool) -> None:
    rng = np.random.default_rng(1)
    model, m = log(rng, arm())
    q, qd, qdd = m.q, m.qd / 4, m.qdd / 16  # slow
    theta = np.concatenate([np.ravel(links_of(rng, 3)), *(friction * np.full(3, x) for x in (0.5, 1.0, 0.0))])
    tau = torque(model, theta, q, qd, qdd)
    tau = tau + 0.01 * tau.std(axis=0) * rng.normal(size=tau.shape)
    tilted = arm().with_gravity(axis_angle([0.6, -0.8, 0], 0.95 * DEGREE) @ arm().gravity)
    first = first_found(model, tilted, replace(m, t=4 * m.t, qd=qd, qdd=qdd, tau=tau))
    assert first.mistake.kind == "tilt"  # not a joint without gravity
    assert abs(first.value) == pytest.approx(0.95 * DEGREE, rel=0.1)
    assert first.ordinary != told


@pytest.mark.parametrize("tilt", [15.0, 30.0])
def test_a_base_that_stands_on_a_slope_is_named_with_its_angle(tilt: float) -> None:
    tilted = arm().with_gravity(axis_angle([0.6, -0.8, 0], tilt * DEGREE) @ arm().gravity)
    model, m = log(np.random.default_rng(3), tilted)
    first = first_found(model, arm(), m)
    assert (first.mistake.kind, first.asserted, first.ordinary) == ("tilt", True, False)
    assert abs(first.value) == pytest.approx(tilt * DEGREE, rel=0.1)


LACKING = {
    "Coulomb friction": ("all joints", (Viscous(), Offset()), 0.0),
    "a spring at it": ("joint2", (Viscous(), Coulomb(), Offset()), 60.0),
}


@pytest.mark.parametrize("words", LACKING)
def test_what_a_model_lacks_is_a_cause_with_the_line_to_paste(words: str) -> None:
    where, terms, stiffness = LACKING[words]
    model, motion = log(np.random.default_rng(12), arm())
    motion = replace(motion, tau=motion.tau + stiffness * (motion.q - 0.3) * [0, 1, 0])
    examination = examined(replace(model, terms=terms), [motion], neutral_prior(arm()))
    first = examination.causes[0]
    assert (first.mistake.kind, first.mistake.file, first.where) == ("term", "model", where)
    files = SimpleNamespace(robot=Path("r.urdf"), data=Path("d.toml"), file=Path("e.toml"), cad=None)
    loaded = SimpleNamespace(experiment=files, robot=arm(), manifest=SimpleNamespace(recordings=()))
    assert causes_of(examination, loaded)[0].file == "e.toml"
    for after, chosen in ((first.after, True), (0.6 * first.before, False)):  # less than half of the error is left
        slight = replace(examination, causes=(replace(first, after=after), *examination.causes[1:]))
        assert [c.file for c in causes_of(slight, loaded, terms=False)][:1] == ["e.toml"] * chosen
    assert first.what == f"the model lacks {words}"
    assert not first.ordinary
    assert lines_in(first.mend) in ("[model]\ncoulomb = true", '[model]\nspring = { joints = ["joint2"] }')
    assert first.after < 0.0205 < first.before


def test_a_balancer_at_the_last_joint_is_named_where_no_bodies_are_known() -> None:
    """A neutral body's weight pulls nowhere; that of the fitted ones says where a balancer has its dead point."""
    robot = from_mdh("elbow", [MDHJoint(d=0.4), MDHJoint(a=0.05, alpha=-RIGHT), MDHJoint(a=0.35, d=0.03)])
    model, motion = log(np.random.default_rng(12), robot)
    links = np.array(links_of(np.random.default_rng(12), 3))
    theta = np.concatenate([links.ravel(), *(np.full(3, x) for x in (0.8, 1.5, 0.1))])
    tau = torque(model, theta, motion.q, motion.qd, motion.qdd)
    (part,) = Balancer(joints=("joint3",)).at_work((), robot, links)
    column = part.column(motion.q[:, 2], None, None)
    tau[:, 2] -= tau[:, 2].std() * column / column.std()
    tau += 0.01 * tau.std(axis=0) * np.random.default_rng(13).normal(size=tau.shape)
    first = first_found(model, robot, replace(motion, tau=tau))
    assert (first.what, first.where, first.rivals) == ("the model lacks a balancer at it", "joint3", ())
    assert "balancer" in lines_in(first.mend)


@pytest.mark.parametrize(("factor", "said"), [(80.0, "80"), (1 / 9, "9")])
def test_a_torque_on_the_motors_side_is_named_with_its_gear_ratio(factor: float, said: str) -> None:
    model, motion = log(np.random.default_rng(7), arm())
    first = first_found(model, arm(), replace(motion, tau=motion.tau / [1, 1, factor]))
    ratio, size = re.search(r"its torque is (\S+) times too (small|large)", first.what).groups()
    assert (first.where, first.rivals, size) == ("joint3", (), "small" if factor > 1 else "large")
    assert float(ratio) == pytest.approx(float(said), rel=0.03)
    gain = float(re.search(r"multiply its torque by ([\d.]+)", first.mend)[1])
    assert gain == pytest.approx(factor, rel=0.03)
    assert first.after < 0.03 < first.before


@pytest.mark.parametrize(("joint", "factor"), [(1, 2.0), (2, 3.0), (1, 0.5)])
def test_a_position_of_a_wrong_gear_ratio_is_named_with_its_factor(joint: int, factor: float) -> None:
    model, motion = log(np.random.default_rng(7), arm())
    q, qd, qdd = (x * factor ** -np.eye(3)[joint] for x in (motion.q, motion.qd, motion.qdd))
    first = first_found(model, arm(), replace(motion, q=q, qd=qd, qdd=qdd))
    assert (first.where, first.rivals) == (f"joint{joint + 1}", ())
    told = float(re.search(r"multiply its position by ([\d.]+)", first.mend)[1])
    assert told == pytest.approx(factor, rel=0.02)
    assert first.after < 0.03 < first.before


@pytest.mark.parametrize("gain", [1.05, 1.0])
def test_a_length_far_off_gives_way_to_gains_that_explain_more(gain: float) -> None:
    model, motion = log(np.random.default_rng(8), arm())
    longer = replace(arm(), joints=tuple(_longer(j, 1.3) if j.name == "joint3" else j for j in arm().joints))
    if gain != 1.0:
        longer, motion = arm(), replace(motion, tau=motion.tau * [1, gain, 1])
    fine = Weigher(replace(model, robot=longer), rows_of([motion], thinned=True), neutral_prior(longer))
    reading, every = Reading.plain(longer), mistakes(longer)
    kinds = Counter(m.kind for m in every)

    def candidate(kind: str, where: str, value: float) -> Candidate:
        known = (m for m in every if (m.kind, m.where) == (kind, where) and m.size)
        return max(
            (Candidate(m, value, w := fine.weighed(m.without(reading, value), bodies=True), w.log) for m in known),
            key=lambda c: c.log,
        )

    length = candidate("length", "joint3", -np.log(1.3))
    gains = candidate("torque gain", "joint2", -np.log(gain))
    assert (gains.log > length.log) == (gain != 1.0)
    assert stands(fine, reading, length, [length, gains], kinds) == (gain == 1.0)


def _longer(joint: Joint, factor: float) -> Joint:
    place = joint.placement
    return replace(joint, placement=Pose(place.rotation, factor * place.position))


def printed(body: np.ndarray, how: str) -> np.ndarray:
    """Return a body (10,) as a table has it that is in grams, of a mirrored part, or of one that leaves a third out."""
    if how == "grams":
        return 1000.0 * body
    if how == "missing":
        return body - from_com(0.33 * body[0], body[1:4] / body[0] + [0.07, -0.05, 0.0], np.zeros((3, 3)))
    return body * [1, 1, -1, 1, 1, -1, 1, 1, -1, 1]


@pytest.mark.parametrize("how", ["grams", "mirrored", "missing", "right", "robot"])
def test_a_cad_table_is_in_the_same_list(how: str) -> None:
    model, motion = log(np.random.default_rng(21), arm())
    motion = replace(motion, blocks=split(0, len(motion.t), 100)[0])
    rng = np.random.default_rng(21)
    states(rng, 3, 1500)
    cad = np.array(links_of(rng, 3)) * np.random.default_rng(1).uniform(0.98, 1.02, (3, 1))
    robot = arm() if how != "robot" else arm().with_gravity(-arm().gravity)
    if how in ("grams", "mirrored", "missing"):
        cad[2] = printed(cad[2], how)
    table = Table(Cad(robot.links, cad, "cad.csv"))
    result = examined(replace(model, robot=robot), [motion], neutral_prior(robot), table=table)
    assert result.table
    causes = [c for c in result.causes if not c.ordinary]
    told = [(c.mistake.file, c.mistake.kind, c.where) for c in causes]
    if how in ("right", "robot"):
        assert told == ([("robot", "gravity", "robot")] if how == "robot" else [])
        return
    link = robot.links[2]
    kind, mend = {
        "grams": ("CAD unit", f"{link}.m: 19"),
        "mirrored": ("CAD mirror", f"{link}.cy: "),
        "missing": ("CAD extra", "measure the link"),
    }[how]
    assert told == [("table", kind, link)]
    (cause,) = causes
    assert cause.mend.startswith(mend)
    assert cause.joints_after[2] < 0.1 < cause.joints_before[2]


@pytest.mark.parametrize(("j", "degrees"), [(0, 0.0), (1, 6.0), (2, -5.0), (2, 1.0)])
def test_a_zero_that_is_off_is_told_by_a_table_that_is_right_but_for_it(j: int, degrees: float) -> None:
    """The torques alone do not tell: bodies that are turned make up for it."""
    model, motion = log(np.random.default_rng(21), arm())
    q = motion.q - np.deg2rad(degrees) * np.eye(3)[j]
    motion = replace(motion, q=q, blocks=split(0, len(motion.t), 100)[0])
    rng = np.random.default_rng(21)
    states(rng, 3, 1500)
    cad = np.array(links_of(rng, 3)) * np.random.default_rng(1).uniform(0.98, 1.02, (3, 1))
    result = examined(model, [motion], neutral_prior(arm()), table=Table(Cad(arm().links, cad, "cad.csv")))
    causes = [c for c in result.causes if not c.ordinary]
    if abs(degrees) < 1.5:
        assert not causes
        return
    (cause,) = causes
    assert cause.where == arm().joint_names[j]
    assert float(re.fullmatch(r"its zero is off by (\S+) degrees", cause.what)[1]) == pytest.approx(degrees, abs=0.4)
    assert cause.mend.startswith("add ")
    assert cause.asserted


@pytest.mark.parametrize("j", [0, 1, 2])
def test_an_axis_that_points_the_other_way_is_told(j: int) -> None:
    """Of a joint beyond others by the torques alone; of the first one by a table that is right."""
    model, motion = log(np.random.default_rng(21), arm())
    rng = np.random.default_rng(21)
    states(rng, 3, 1500)
    cad = np.array(links_of(rng, 3)) * np.random.default_rng(1).uniform(0.98, 1.02, (3, 1))
    joints = [replace(joint, axis=-joint.axis) if k == j else joint for k, joint in enumerate(arm().joints)]
    other = replace(arm(), joints=tuple(joints))
    motion = replace(motion, blocks=split(0, len(motion.t), 100)[0])
    table = Table(Cad(other.links, cad, "cad.csv"))
    (cause,) = examined(Model(other, model.terms), [motion], neutral_prior(other), table=table).causes
    words = "its axis points the other way" if j == 0 else "it turns the other way"
    assert (cause.where, cause.ordinary) == (other.joint_names[j], False)
    assert cause.what.startswith(words)
    if j == 0:
        assert cause.mend == "multiply its position and its torque by -1 in the log"


@pytest.mark.parametrize("factor", [1.11, 1.0])
def test_a_length_that_is_off_is_told_by_a_table_that_is_right_but_for_it(factor: float) -> None:
    """The torques alone do not tell: bodies make up for it within the noise."""
    c = case(7223, 0, share=0.005)
    robot = c.model.robot
    longer = replace(robot, joints=(robot.joints[0], _longer(robot.joints[1], factor), *robot.joints[2:]))
    model, table = replace(c.model, robot=longer), Table(Cad(robot.links, c.cad, "cad.csv"))
    faults = doctor(table_search(model, compress(model, c.motion), table, [c.motion])).faults
    if factor == 1.0:
        assert not faults
        return
    (fault,) = faults
    assert (fault.where, fault.what.split(" of ")[0], fault.asserted) == ("joint2", "its distance", True)
    assert 1.0 + size_of(fault.what)[0] == pytest.approx(1.0 / factor, abs=0.03)
    assert not size_of(fault.what)[1]


def gantry() -> Robot:
    """Return three joints that slide, the last one along gravity."""
    rows = [DHJoint(kind="prismatic", alpha=-RIGHT), DHJoint(kind="prismatic", theta=-RIGHT, alpha=-RIGHT)]
    turns = axis_angle([0, 1, 0], RIGHT)
    return from_dh("gantry", [*rows, DHJoint(kind="prismatic")]).with_gravity(turns @ [0, 0, -9.81])


def test_a_table_of_a_robot_that_only_slides_is_examined() -> None:
    model, motion = log(np.random.default_rng(21), gantry())
    rng = np.random.default_rng(21)
    states(rng, 3, 1500)
    table = Table(Cad(gantry().links, np.array(links_of(rng, 3)), "cad.csv"))
    motion = replace(motion, blocks=split(0, len(motion.t), 100)[0])
    assert not examined(model, [motion], neutral_prior(gantry()), table=table).causes


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("turned", ("direction", "joint3", "the other way than the robot file says: it holds -0.91 times the weight")),
        ("swapped", ("joint order", "joint2 and joint3", "joint2 holds the weight that is on joint3")),
        ("balanced", None),
        ("right", None),
    ],
)
def test_a_slide_is_told_by_the_weight_that_it_holds(how: str, said: tuple[str, str, str] | None) -> None:
    """A constant torque takes the weight of a slide, so that all but known bodies fit either way."""
    model, motion = log(np.random.default_rng(21), gantry())
    model = replace(model, terms=(DriveInertia(), *model.terms))
    rng = np.random.default_rng(21)
    states(rng, 3, 1500)
    links = np.array(links_of(rng, 3))
    sides, order = [1, 1, -1 if how == "turned" else 1], [0, 2, 1] if how == "swapped" else [0, 1, 2]
    q, qd, qdd, tau = ((x * sides)[:, order] for x in (motion.q, motion.qd, motion.qdd, motion.tau))
    tau = tau - [0, 0, 0.9 * tau[:, 2].mean() if how == "balanced" else 0.0]
    prior = cad_prior(gantry(), 1.1 * links, "CAD")
    given = [replace(motion, q=q, qd=qd, qdd=qdd, tau=tau)]
    causes = [c for c in examined(model, given, prior).causes if not c.ordinary]
    assert screened(model, given, prior).odd == bool(said)
    if said is None:
        assert not causes
        return
    (cause,) = causes
    assert (cause.mistake.kind, cause.where) == said[:2]
    assert said[2] in cause.what
    assert cause.after < 0.5 * cause.before
    assert not examined(model, given, neutral_prior(gantry())).causes  # no bodies are known


@pytest.mark.parametrize("slow", [1.0, 0.02])
def test_what_no_log_tells_is_said(slow: float) -> None:
    robot = arm()
    model, motion = log(np.random.default_rng(8), robot, noise=0.0)
    qd, qdd = slow * motion.qd, slow**2 * motion.qdd
    theta = np.concatenate([np.ravel(links_of(np.random.default_rng(9), 3)), *(np.full(3, x) for x in (0.8, 1.5, 0.1))])
    torques = torque(model, theta, motion.q, qd, qdd)
    torques += 0.01 * torques.std(axis=0) * np.random.default_rng(1).normal(size=torques.shape)
    seen = screened(model, [replace(motion, qd=qd, qdd=qdd, tau=torques)], neutral_prior(robot))
    assert not seen.odd
    assert ("lengths before" in seen.hidden) == (slow < 1.0)


def test_errors_before_and_after_are_of_torques_of_one_size() -> None:
    """A joint whose torque is multiplied by five is no larger share of all for that."""
    model, motion = log(np.random.default_rng(1), arm())
    weigher = Weigher(model, rows_of([motion], thinned=True), neutral_prior(model.robot))
    before = weigher.weighed(Reading.plain(model.robot))
    size = np.array([1.0, 25.0, 1.0])
    after = replace(before, errors=before.errors * size, torques=before.torques * size)
    assert comparable(before, after) == pytest.approx(before.relative)
    assert comparable(before, replace(after, errors=4.0 * after.errors)) == pytest.approx(2.0 * before.relative)


def test_a_torque_doubted_for_its_size_is_told_by_that_and_by_no_gain() -> None:
    gain = NamedCause("lift", "times 5", "log", "gain", (f"lift: {WEIGHTLESS}",), (), (), (), (0.2, 0.1))
    doubts = ("lift is logged with 1.4 N where CAD's links need 179: without gravity",)
    assert already_doubted(gain, doubts)
    assert not already_doubted(replace(gain, where="turn"), doubts)
    assert not already_doubted(replace(gain, rivals=()), doubts)
    assert not already_doubted(gain, ("lift: mass 9 kg, CAD's 1 kg",))


def test_errors_that_are_equal_with_and_without_a_cause_are_left_out() -> None:
    """ "Misses 2.01 %, without that 2.01 %" explains nothing: the odds do."""
    cause = SimpleNamespace(
        ordinary=False, asserted=True, where="link2", what="is off", log_odds=67.0, mend="mend it", rivals=(),
        by_table=True, joints=("a1",), joints_before=(0.1,), joints_after=(0.1,),
        before=0.0201, after=0.0201, pair=None,
    )  # fmt: skip
    assert outcome_text._cause(cause, "cad.csv", "robot.urdf")[1] == "    odds 10^29 to 1"
    cause.after = 0.01
    told = outcome_text._cause(cause, "cad.csv", "robot.urdf")[1]
    assert told == "    what CAD predicts misses 2.01 %, without that 1 %; odds 10^29 to 1"


def test_what_explained_less_than_nothing_is_tried_again_only_after_something_large() -> None:
    tried = Tried()
    assert not tried.hopeless("swap")
    assert tried.tell("swap", -400.0) == -400.0
    tried.tell("sign", -10.0)
    assert tried.hopeless("swap")
    assert not tried.hopeless("sign")
    tried.since(100.0)  # which may hide as much again
    assert tried.hopeless("swap")
    tried.least = -100.0  # links that can exist explain so much less
    assert not tried.hopeless("swap")
