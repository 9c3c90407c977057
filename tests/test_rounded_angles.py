"""Angles that a description rounds: a right angle written 1.5708 is a right angle, an odd one stays as it is."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ident.cli.main import app
from ident.model import Model
from ident.regression import base_parameters, rank_margin
from ident.robot import read_robot, read_urdf, write_urdf
from ident.robot.angles import meant_angle, meant_axis

RIGHT = math.pi / 2


@pytest.mark.parametrize("digits", range(3, 11))
def test_every_multiple_of_15_degrees_is_known_by_its_digits(digits: int) -> None:
    for k in range(-24, 25):
        exact = k * math.pi / 12
        assert meant_angle(f"{exact:.{digits}f}") == pytest.approx(exact, abs=1e-11)
        assert meant_angle(f"{exact:.{digits}e}") == pytest.approx(exact, abs=1e-11)
        cut = math.copysign(math.floor(abs(exact) * 10**digits) / 10**digits, exact)
        assert meant_angle(f"{cut:.{digits}f}") == pytest.approx(exact, abs=1e-11)


@pytest.mark.parametrize(
    ("word", "angle"),
    [
        ("0.2618", math.pi / 12),
        ("0.262", math.pi / 12),
        ("0.27", 0.27),
        ("0.26", 0.26),  # two decimals: right angles only
        ("1.57", RIGHT),
        ("-3.14", -math.pi),
        ("1.05", 1.05),
        ("1.6", 1.6),
        ("3", 3.0),
        ("1.5710", 1.571),
        ("1.5706", 1.5706),
        ("1.571", RIGHT),
        ("1.570599217", 1.570599217),  # a calibrated robot
        ("1.57079637", RIGHT),  # single precision
        ("1.57079632679", 1.57079632679),  # as near as anything can tell
        ("-1.47e-06", -1.47e-06),
        ("0.0001", 0.0001),
        ("0e999999999999999999999", 0.0),
    ],
)
def test_what_an_angle_means(word: str, angle: float) -> None:
    assert meant_angle(word) == angle


@pytest.mark.parametrize(
    ("words", "slack", "axis"),
    [
        ("0.866 0 0.5", 0.0, (math.sqrt(0.75), 0.0, 0.5)),
        ("-0.2588 0 0.9659", 0.0, (-math.cos(math.radians(75)), 0.0, math.cos(math.radians(15)))),
        ("0.87 0 0.5", 0.0, (0.87, 0.0, 0.5)),
        ("1 -3.6732E-06 0", 3.7e-6, (1.0, 0.0, 0.0)),  # what a rounded right angle beside it leaves
        ("1 -3.6732E-06 0", 0.0, (1.0, -3.6732e-06, 0.0)),
        ("1 2 3", 0.0, (1.0, 2.0, 3.0)),
    ],
)
def test_what_an_axis_means(words: str, slack: float, axis: tuple[float, ...]) -> None:
    np.testing.assert_allclose(meant_axis(words.split(), slack), axis, rtol=0, atol=1e-15)


def rounded_arm(seed: int, digits: int | None) -> bytes:
    """Return an arm of 7 joints at multiples of 90 and 15 degrees and one odd angle, with so many decimals."""
    rng = np.random.default_rng(seed)
    steps = rng.choice([0, 0, 6, -6, 12, 18, 2, -4], size=(7, 3)) * (rng.random((7, 3)) < 0.7)
    steps[0] = 12, 0, 0  # upside down, along gravity

    def word(angle: float) -> str:
        return repr(float(angle)) if digits is None else f"{angle:.{digits}f}"

    text = '<robot name="arm"><link name="l0"/>'
    for i, row in enumerate(steps, start=1):
        rpy = " ".join(word(k * math.pi / 12) for k in row) if i != 4 else f"{word(RIGHT)} 0 0.37"
        xyz = " ".join(f"{x:.3f}" for x in rng.uniform(-0.4, 0.4, 3) * (rng.random(3) < 0.4))
        text += (
            f'<link name="l{i}"><inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
            f'</inertial></link><joint name="j{i}" type="continuous"><parent link="l{i - 1}"/><child link="l{i}"/>\n'
            f'  <origin  xyz="{xyz}"\trpy="{rpy}" />\n<axis xyz="0 0 1"/></joint>'
        )
    return (text + "</robot>").encode()


@pytest.mark.parametrize("digits", [4, 5, 6])
def test_a_rounded_description_has_the_base_parameters_of_the_exact_one(digits: int, tmp_path: Path) -> None:
    for seed in range(8):
        (tmp_path / "exact.urdf").write_bytes(rounded_arm(seed, None))
        (tmp_path / "rounded.urdf").write_bytes(rounded_arm(seed, digits))
        exact, rounded = read_urdf(tmp_path / "exact.urdf"), read_urdf(tmp_path / "rounded.urdf")
        for a, b in zip(exact.joints, rounded.joints, strict=True):
            np.testing.assert_allclose(a.placement.matrix, b.placement.matrix, rtol=0, atol=1e-14)
        one, two = base_parameters(Model(exact)), base_parameters(Model(rounded))
        assert one.names == two.names
        np.testing.assert_allclose(one.K, two.K, rtol=0, atol=1e-9)
        kept, dropped = rank_margin(Model(rounded))
        assert kept > 1e-3
        assert dropped < 1e-12
        literal = read_urdf(tmp_path / "rounded.urdf", literal_angles=True)
        assert len(base_parameters(Model(literal)).names) >= len(two.names) + 2
        assert rank_margin(Model(literal))[0] < 1e-5
        assert not exact.notes
        assert not literal.notes
        assert len(rounded.notes) == 1


def test_the_writer_keeps_the_users_own_text_of_the_origins(tmp_path: Path) -> None:
    source = rounded_arm(3, 4)
    (tmp_path / "arm.urdf").write_bytes(source)
    for literal in (False, True):
        robot = read_urdf(tmp_path / "arm.urdf", literal_angles=literal)
        assert robot.inertials is not None
        assert write_urdf(source, robot, robot.inertials) == source
        written = write_urdf(source, robot, robot.inertials * 1.5)
        assert written.count(b'<origin  xyz="') == 7
        assert written.replace(b'mass value="3.0"', b'mass value="2"').count(b'mass value="2"') == 7


def test_check_tells_which_joints_and_a_robot_file_takes_them_literally(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_bytes(rounded_arm(0, 4))
    checked = CliRunner().invoke(app, ["check", str(tmp_path / "arm.urdf")])
    assert checked.exit_code == 0
    robot = read_urdf(tmp_path / "arm.urdf")
    assert f"angles of {robot.notes[0].count('(')} joints are rounded multiples of 15 degrees" in checked.output
    assert "'j4' (1.5708)" in checked.output
    assert "literal_angles = true" in checked.output
    assert "of the largest count" in checked.output
    (tmp_path / "robot.toml").write_text('urdf = "arm.urdf"\nliteral_angles = true\n')
    literal = CliRunner().invoke(app, ["check", str(tmp_path / "robot.toml")])
    assert "multiples of 15" not in literal.output
    assert "last digits of the description" in literal.output
    np.testing.assert_array_equal(
        read_robot(tmp_path / "robot.toml").joints[3].placement.matrix,
        read_urdf(tmp_path / "arm.urdf", literal_angles=True).joints[3].placement.matrix,
    )


def test_a_table_in_radians_means_its_rounded_angles_too(tmp_path: Path) -> None:
    table = 'convention = "dh"\nlength = "m"\nangle = "{}"\n[[joint]]\nalpha = {}\na = 0.3\noffset = {}\n[[joint]]\n'
    for name, text in {
        "deg": table.format("deg", 90, 30),
        "rad": table.format("rad", 1.5708, 0.5236),
        "literal": "literal_angles = true\n" + table.format("rad", 1.5708, 0.5236),
        "odd": table.format("rad", 1.5, 0.27),
    }.items():
        (tmp_path / f"{name}.toml").write_text(text)
    deg, rad, literal, odd = (read_robot(tmp_path / f"{name}.toml") for name in ("deg", "rad", "literal", "odd"))
    np.testing.assert_allclose(rad.joints[0].placement.matrix, deg.joints[0].placement.matrix, rtol=0, atol=1e-15)
    assert "'joint1' (alpha = 1.5708, offset = 0.5236)" in rad.notes[0]
    assert abs(literal.joints[0].placement.rotation[2, 2]) > 1e-6
    assert math.acos(odd.joints[0].placement.rotation[2, 2]) == pytest.approx(1.5, abs=1e-12)
    assert not any(robot.notes for robot in (deg, literal, odd))
