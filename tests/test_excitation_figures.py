"""Figures and tables of designed motions: what is drawn is what was computed, and it fits its frame."""

import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import cases

from ident.errors import ExcitationError, RobotError
from ident.excitation import Fourier, FourierAndPolynomial, Trajectory
from ident.excitation.bases import resting
from ident.excitation.information import Worth, information, worth
from ident.excitation.limits import Guarantee, KinematicLimits, kinematic_limits, torque_limits
from ident.geometry.scene import Box, Capsule, Plane, Scene
from ident.model import Coulomb, Model, Offset, Viscous, torque
from ident.regression.base import BaseParameters
from ident.report import designed as drawn
from ident.report import dynamics_figures as posed
from ident.report import figures
from ident.robot.robot import FixedBody, Joint, Limits, Robot
from ident.spatial.inertia import Pose, axis_angle

LONG = "one_$at$_a_joint_with_a_name_that_does_not_end"


def arm(kinds, limits=None, names=None):
    """Return a chain whose joints turn about or slide along x, y, z in turn."""
    limits = limits or [Limits(-2.0, 1.0, 3.0, 60.0, 9.0)] * len(kinds)
    names = names or [f"joint{k}" for k in range(len(kinds))]
    joints = tuple(
        Joint(name, kind, k - 1, Pose(axis_angle([1.0, 0.0, 0.0], 0.7), np.array([0.1, 0.0, 0.4])), np.eye(3)[k % 3],
              limits=each)
        for k, (name, kind, each) in enumerate(zip(names, kinds, limits, strict=True))
    )  # fmt: skip
    return Robot("arm", joints, tuple(f"link{k}" for k in range(len(kinds))))


def motion(robot, scale=0.3, basis=None, seed=0):
    basis = basis or Fourier(1.0, 3)
    free = np.random.default_rng(seed).normal(size=(robot.n, resting(basis).shape[1]))
    return Trajectory(basis, scale * free @ resting(basis).T, robot.joint_names)


def model_of(robot):
    model = Model(robot, (Viscous(), Coulomb(), Offset()))
    return model, np.random.default_rng(1).uniform(0.1, 1.0, len(model.names))


def title(figure):
    return figure.texts[0].get_text()


def used_of(axes):
    """Return what is written above a panel of the share that is used."""
    return axes.get_title().rpartition(": ")[2]


SEVEN = arm(["revolute"] * 7)
SLIDE = arm(["prismatic"], [Limits(-0.2, 0.3, 1.0, 300.0)])
FREE = arm(["revolute", "revolute"], [Limits(velocity=3.0), Limits(acceleration=40.0, lower=-9.0)])
MIXED = arm(["revolute", "prismatic", "revolute"], names=[LONG, "b" * 60, "c"])


@pytest.mark.slow
@pytest.mark.parametrize("robot", [SEVEN, SLIDE, MIXED])
def test_limits_between_lines_with_the_share_used(robot):
    trajectory, limits = motion(robot, 0.1), kinematic_limits(robot)
    figure = drawn.limits_figure(trajectory, limits)
    t = np.linspace(0.0, trajectory.duration, 20_001)
    shares = []
    for k, axes in enumerate(figure.axes):
        j, o = divmod(k, 3)
        y = trajectory.derivative(t, o)[:, j]
        ends = (limits.lower[j], limits.upper[j]) if o == 0 else (-limits.rates[o - 1, j], limits.rates[o - 1, j])
        lines = [line.get_ydata()[0] for line in axes.get_lines()[1:]]
        assert lines == [x for x in ends if np.isfinite(x)]
        low, high = axes.get_ylim()
        assert low < y.min() < y.max() < high
        assert np.allclose(
            axes.get_lines()[0].get_ydata(), trajectory.derivative(axes.get_lines()[0].get_xdata(), o)[:, j]
        )
        if np.isfinite(ends).all():
            used = np.abs(2.0 * y - sum(ends)).max() / (ends[1] - ends[0])
            assert float(used_of(axes).removesuffix("%")) == pytest.approx(100 * used, abs=0.51)
            shares.append(used)
        else:
            assert used_of(axes) == "no limit"
    assert title(figure).startswith("Every limit of the motion is kept. Nearest: ")
    assert float(re.findall(r"([\d.]+) % used", title(figure))[0]) == pytest.approx(100 * max(shares), abs=0.51)


@pytest.mark.slow
def test_beyond_a_limit_is_said_and_red():
    trajectory = motion(SEVEN, 0.1)
    fast = float(np.abs(trajectory.extremes(1)).max(axis=0)[4])
    rates = np.full((3, 7), np.inf)
    rates[0, 4] = fast / 1.25
    limits = KinematicLimits(SEVEN.joint_names, ("revolute",) * 7, np.full(7, -9.0), np.full(7, 9.0), rates)
    figure = drawn.limits_figure(trajectory, limits)
    assert title(figure) == "BEYOND A LIMIT: velocity of joint4, 125 %"
    assert [k for k, axes in enumerate(figure.axes) if axes.get_lines()[0].get_color() == figures.RED] == [4 * 3 + 1]


def test_continuous_joints_and_ranges_with_one_end():
    figure = drawn.limits_figure(motion(FREE), kinematic_limits(FREE))
    assert [used_of(axes) for axes in figure.axes[:4]][0::2] == ["no limit", "no limit"]
    assert used_of(figure.axes[3]) == "kept"
    far = Trajectory(Fourier(1.0, 3), motion(FREE).coefficients - np.eye(7)[0] * 20.0, FREE.joint_names)
    assert title(drawn.limits_figure(far, kinematic_limits(FREE))) == "BEYOND A LIMIT: position of joint1"


@pytest.mark.parametrize(("jerk", "columns"), [(1e6, 3), (1.0, 4)])
def test_jerk_is_drawn_where_it_matters(jerk, columns):
    robot = arm(["revolute"], [Limits(-9, 9, 9, 9, 99, jerk)])
    assert len(drawn.limits_figure(motion(robot), kinematic_limits(robot)).axes) == columns


@pytest.mark.parametrize("robot", [SEVEN, SLIDE, MIXED])
def test_torques_keep_friction_at_its_full_size(robot):
    model, theta = model_of(robot)
    trajectory, limits = motion(robot), torque_limits(model, theta)
    figure = drawn.torque_figure(trajectory, limits)
    panels = figure.axes
    t = panels[0].get_lines()[0].get_xdata()
    full = np.abs(torque(model, theta, *trajectory.states(t)))  # with the friction's sign: never more than what is said
    for j, axes in enumerate(panels):
        band = axes.collections[0].get_paths()[0].vertices[:, 1]
        curve = axes.get_lines()[0].get_ydata()
        friction = theta[model.names.index(f"{robot.joint_names[j]}.coulomb")]
        assert band.max() == pytest.approx(curve.max() + friction)
        assert band.min() == pytest.approx(curve.min() - friction)
        said = 100 * (np.abs(curve).max() + friction) / limits.effort[j]
        assert float(used_of(axes).removesuffix("%")) == pytest.approx(said, abs=0.51)
        assert full[:, j].max() <= (np.abs(curve).max() + friction) * (1 + 1e-9)


def test_total_power_has_its_own_panel():
    model, theta = model_of(SEVEN)
    trajectory = motion(SEVEN, 0.1)
    figure = drawn.torque_figure(trajectory, torque_limits(model, theta, power=1.0))
    *_, last = figure.axes
    tau, qd = (f(last.get_lines()[0].get_xdata()) for f in (lambda t: torque(model, theta, *trajectory.states(t)),
                                                            lambda t: trajectory.states(t)[1]))  # fmt: skip
    assert (last.get_lines()[0].get_ydata() >= np.abs(tau * qd).sum(axis=1) - 1e-9).all()
    assert "total power" in title(figure)
    assert title(figure).startswith("BEYOND")


def test_a_torque_that_nothing_limits():
    model, theta = model_of(FREE)
    figure = drawn.torque_figure(motion(FREE), torque_limits(model, theta))
    assert title(figure) == "No limits to compare with"


def promised(values=True):
    """Return a Worth with every verdict: well, roughly, weakly, no size, hidden."""
    names = ("link1.m", "link1.hx", "link2.Ixx", "joint1.viscous", "joint1.offset", "joint2.offset")
    base = BaseParameters(names, tuple(range(6)), np.eye(6, 7), (*names, "link1.Izz"))
    errors = np.array([0.02, 0.5, 3.0, np.inf, 0.1, 0.2])
    return Worth(base, errors, np.array([2.0, -1.0, 0.5, 1.0, 0.0, 1e-14]) if values else None)


def test_verdicts():
    found = promised()
    assert drawn.promises(found) == ("well", "roughly", "weakly", "not shown", "shown", "shown")
    assert np.allclose(drawn.relative_errors(found), [0.01, 0.5, 6.0, np.inf, np.nan, np.nan], equal_nan=True)
    assert drawn.promises(promised(False)) == ("shown",) * 3 + ("not shown",) + ("shown",) * 2
    rows = drawn.worth_table(found, frozenset({"joint2"})).rows
    assert rows[0] == ("link1.m", "kg", "2", "0.02", "1.00 %", "well", "link1.m")
    assert rows[3][2:6] == ("1", "not shown", "n/a", "not shown")
    assert rows[5][1:5] == ("N", "1e-14", "0.2", "n/a")
    assert drawn.worth_table(found).tones == ("good", "", "unknown", "bad", "", "")
    assert {row[2] for row in drawn.worth_table(promised(False)).rows} == {"n/a"}
    off = Worth(found.base, found.errors, np.array([1e-3, np.nan, *found.values[2:]]))
    assert [row[4] for row in drawn.worth_table(off).rows[:3]] == ["20 times", "n/a", "600 %"]
    (axes,) = drawn.worth_figure(off).axes
    assert "no CAD value; error 0.5 kg m" in [x.get_text() for x in axes.texts]


def test_sentences_name_what_is_not_shown_and_why():
    text = drawn.worth_sentences(promised())
    assert text[0] == (
        "The motion determines 1 of 6 base parameters to within a tenth of their CAD values, "
        "and 1 more to within the values themselves."
    )
    joined = " ".join(text)
    for part in ("1 base parameter, link2.Ixx", "1 base parameter, joint1.viscous", "1 standard parameter, link1.Izz"):
        assert part in joined
    assert "combinations" not in joined  # every one of them stands alone
    assert drawn.worth_sentences(promised(False))[0] == "The motion shows 5 of 6 base parameters."
    model, theta = model_of(SEVEN)
    source = information(model, np.ones(7))
    found = worth(source.base, source.factor(motion(SEVEN).states(np.linspace(0, 6, 100))), theta)
    joined = " ".join(drawn.worth_sentences(found))
    assert f"{len(found.combined)} standard parameters" in joined
    assert f"{len(found.structural)} standard parameters" in joined


def marks(axes):
    """Return each row's label and the place and colour of its sign, None where a text stands, from top to bottom."""
    signs = [line for line in axes.get_lines() if line.get_marker() not in ("None", "", None)]
    at = {int(y): (x, line.get_color()) for line in signs for x, y in zip(*line.get_data(), strict=True)}
    return [(label.get_text(), at.get(k)) for k, label in enumerate(axes.get_yticklabels())]


def test_every_parameter_is_drawn_once_and_sorted():
    robot = arm(["revolute"] * 5)
    model, theta = model_of(robot)
    source = information(model, np.ones(5))
    found = worth(source.base, source.factor(motion(robot).states(np.linspace(0, 6, 100))), theta)
    expected = dict(zip(found.base.names, found.errors / np.abs(found.values), strict=True))
    figure = drawn.worth_figure(found)
    shown = [(label, mark) for axes in figure.axes for label, mark in marks(axes) if label]
    assert {label: mark[0] for label, mark in shown} == pytest.approx(
        {name: min(value, 100.0) for name, value in expected.items()}  # beyond that its size stands there
    )
    beyond = [value for value in expected.values() if value > 100.0]
    assert len(beyond) == sum(len(axes.texts) for axes in figure.axes)
    kinds = [name.split(".")[0] if name.startswith("link") else name.split(".")[1] for name, _ in shown]
    assert kinds == sorted(kinds, key=kinds.index)
    for kind in kinds:
        own = [expected[name] for (name, _), of in zip(shown, kinds, strict=True) if of == kind]
        assert own == sorted(own, reverse=True)


def test_hidden_and_without_size_are_told():
    figure = drawn.worth_figure(promised())
    (axes,) = figure.axes
    shown = dict(marks(axes))
    assert shown["joint1.viscous"] == (10.0, figures.RED)
    assert shown["link2.Ixx"][1] == figures.AMBER
    assert shown["joint2.offset"] is None
    assert [x.get_text() for x in axes.texts] == ["CAD says 0; error 0.2 N m", "CAD says 0; error 0.1 N m"]
    assert title(figure) == ("1 of 6 base parameters will be known to 10 % or better, 1 roughly, 1 weakly, 1 not shown")
    plain = drawn.worth_figure(promised(False), frozenset({"joint2"}))
    labels = {label for label, _ in marks(plain.axes[0])}
    assert {"link1.m [kg]", "joint2.offset [N]", "joint1.offset [N m]"} <= labels
    assert title(plain) == "5 of 6 base parameters will be known, 1 not shown"


def scene():
    return Scene(
        capsules=(Capsule("link0", [0, 0, 0], [0, 0, 0.3], 0.05), Capsule("link6", [0, 0, 0], [0, 0, 0], 0.06)),
        planes=(Plane("table", [0, 0, 1], -0.1), Plane("far wall", [1, 0, 0], -40.0)),
        boxes=(Box("crate", [0.2, 0.3, 0.2], Pose(np.eye(3), np.array([0.4, 0.4, 0.0]))),),
        workspace=(Box("room", [9.0, 9.0, 9.0]),),
    )


@pytest.mark.slow
def test_poses_show_the_links_where_they_are():
    robot = Robot(
        "tool", SEVEN.joints, SEVEN.links, fixed=(FixedBody("tip", 6, Pose(np.eye(3), np.array([0, 0, 0.2]))),)
    )
    trajectory = motion(robot)
    figure = posed.poses_figure(robot, trajectory, scene(), poses=6)
    panels = [axes for axes in figure.axes if axes.get_title()]
    assert len(panels) == 6
    assert len({(axes.get_xlim(), axes.get_ylim()) for axes in figure.axes}) == 1
    for k, axes in enumerate(panels):
        t = k * trajectory.duration / 6
        assert axes.get_title() == f"{t:.3g} s"
        poses = robot.poses(trajectory.derivative([t], 0)[0])
        points = np.array([p.position for p in poses] + [(poses[-1] @ robot.fixed[0].pose).position])
        links = [x for x in axes.get_lines() if x.get_color() == figures.BLUE and x.get_linestyle() == "-"]
        ends = np.array([line.get_xydata()[1] for line in links])
        assert ends == pytest.approx(posed._seen(points)[:, :2])
        (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
        assert ((ends > [left, low]) & (ends < [right, high])).all()
        solid = [patch for patch in axes.patches if patch.get_edgecolor()[:3] != patch.get_facecolor()[:3]]
        assert len(solid) == 1 + 2  # the table, not the far wall, and two capsules
    assert figure.axes[0].get_aspect() == 1.0  # a circle is a circle


@pytest.mark.slow
def test_a_single_pose_and_motions_that_do_not_repeat():
    trajectory = motion(SLIDE, basis=FourierAndPolynomial(1.0, 3))
    assert len(posed.poses_figure(SLIDE, trajectory, poses=1).axes) == 1
    *_, last = posed.poses_figure(SLIDE, trajectory, poses=4).axes
    assert last.get_title() == f"{trajectory.duration:.3g} s"


@given(st.lists(st.floats(-2, 2), min_size=4, max_size=4), st.floats(0.01, 1), st.floats(0, 7))
def test_an_outline_reaches_as_far_as_its_capsule(ends, radius, angle):
    a, b = np.array(ends[:2]), np.array(ends[2:])
    outline = posed.capsule_outline(a, b, radius)
    along = np.array([np.cos(angle), np.sin(angle)])
    reach = max(a @ along, b @ along) + radius
    assert reach - 0.01 * radius <= (outline @ along).max() <= reach + 1e-12


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=cases(20))
def test_the_view_keeps_lengths(seed):
    points = np.random.default_rng(seed).normal(size=(5, 3))
    assert np.linalg.norm(posed._seen(points), axis=1) == pytest.approx(np.linalg.norm(points, axis=1))


def test_wrong_robot_and_wrong_numbers():
    trajectory = motion(SLIDE)
    model, theta = model_of(SEVEN)
    for draw in (
        lambda: drawn.limits_figure(trajectory, kinematic_limits(SEVEN)),
        lambda: drawn.torque_figure(trajectory, torque_limits(model, theta)),
        lambda: posed.poses_figure(SEVEN, trajectory),
    ):
        with pytest.raises(ExcitationError, match="moves joint0, and the robot's joints are joint0, joint1"):
            draw()
    with pytest.raises(ExcitationError, match="number of poses is 0"):
        posed.poses_figure(SLIDE, trajectory, poses=0)
    with pytest.raises(RobotError, match="no link 'arm'"):
        posed.poses_figure(SLIDE, trajectory, Scene(capsules=(Capsule("arm", [0, 0, 0], [0, 0, 1], 0.1),)))


def guarantees():
    return (
        Guarantee("least position of joint 'a'", -1.9, -2.0, "rad", "exact extremes", at_least=True),
        Guarantee("greatest position of joint 'a'", 0.5, 1.0, "rad", "exact extremes"),
        Guarantee("velocity of joint 'a'", 1.0, 2.0, "rad/s", "exact extremes"),
        Guarantee("velocity of joint 'b'", 1.9, 2.0, "rad/s", "exact extremes"),
        Guarantee("clearance of x - y", 0.052, 0.01, "m", "bound", at_least=True),
        Guarantee("acceleration of joint 'a'", 11.0, 10.0, "rad/s^2", "exact extremes"),
        Guarantee("position of joint 'c'", 11.0, 10.0, "m", "exact extremes"),
    )


def test_guarantees_with_what_is_left_nearest_first():
    found = drawn.guarantees_table(guarantees())
    assert [row[0] for row in found.rows] == [
        "position of joint 'c'",
        "least position of joint 'a'",
        "greatest position of joint 'a'",
        "velocity of joint 'b'",
        "velocity of joint 'a'",
        "acceleration of joint 'a'",
        "clearance of x - y",
    ]
    assert [row[3] for row in found.rows] == [
        "-10 %",
        "3.33 % of the range",
        "16.7 % of the range",
        "5 %",
        "50 %",
        "-10 %",
        "42 mm",
    ]
    assert found.rows[5][1:3] == ("11 rad/s²", "at most 10 rad/s²")
    assert found.rows[6][2] == "at least 0.01 m"
    assert found.tones == ("bad", "", "", "", "", "bad", "")


def test_a_real_motions_guarantees_have_rows():
    trajectory, limits = motion(SLIDE, 0.02), kinematic_limits(SLIDE)
    found = drawn.guarantees_table(limits.guarantees(trajectory))
    assert [row[0] for row in found.rows if row[3].endswith("of the range")] != []
    assert len(found.rows) == len(limits.guarantees(trajectory)) == 3


def drawings(robot):
    model, theta = model_of(robot)
    trajectory = motion(robot)
    source = information(model, np.ones(robot.n))
    factor = source.factor(trajectory.states(np.linspace(0, 6, 100)))
    return {
        "limits": drawn.limits_figure(trajectory, kinematic_limits(robot)),
        "torque": drawn.torque_figure(trajectory, torque_limits(model, theta, power=30.0)),
        "worth": drawn.worth_figure(worth(source.base, factor, theta)),
        "no CAD": drawn.worth_figure(worth(source.base, factor)),
        "hidden": drawn.worth_figure(promised()),
        "poses": posed.poses_figure(robot, trajectory, scene() if robot.n == 7 else None, poses=7),
    }


@pytest.mark.parametrize("robot", [SEVEN, SLIDE, FREE, MIXED], ids=["seven", "slide", "free", "mixed"])
@pytest.mark.slow
def test_figures_fit_their_frames_in_the_colours_of_the_page(robot):
    for name, figure in drawings(robot).items():
        svg = figures.svg_file(figure, "d")
        width, height = figure.get_size_inches()
        box = figure.get_tightbbox(figure.canvas.get_renderer())
        assert min(box.x0, box.y0) > -0.02, name
        assert max(box.x1, *(x.get_window_extent().x1 / figure.dpi for x in figure.texts)) < width + 0.02, name
        assert box.y1 < height + 0.02, name
        colours = set(re.findall(r"#[0-9a-f]{6}\b", svg))
        assert not colours - {*figures.COLOURS, "#000000", "#ffffff"}, name
        assert ("$at$" in svg) == (robot is MIXED and name not in ("hidden", "poses"))


@pytest.mark.slow
def test_no_window_system_and_quick_import():
    code = (
        "import sys; from ident.report import designed; heavy = 'matplotlib' in sys.modules;"
        "sys.exit(heavy or 'matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
