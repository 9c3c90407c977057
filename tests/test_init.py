"""`ident init`: raw logs of a made-up arm, strangely named, become an experiment that reads them as they are meant."""

import io
import math
import os
import pathlib
import re
import shutil
import sys
import tomllib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from bags import KINDS, write_bag
from oracles import mjcf
from seeds import cases
from test_causes import arm as elbow
from test_causes import links_of

import ident
from ident import pipelines
from ident.cad import Cad, Convention, write_cad
from ident.cli.experiments import _asked as at_a_terminal
from ident.cli.main import main
from ident.compare.columns import evidence
from ident.dynamics import inverse_dynamics
from ident.errors import CadError, IdentError, InputError, LogError, RobotError
from ident.estimate import neutral_prior
from ident.logs.check import check_log
from ident.logs.log import span
from ident.logs.names import named
from ident.logs.raw import Column, read_raw
from ident.logs.readings import lost
from ident.logs.recognised import clocks, families, related
from ident.logs.stream import iter_logs
from ident.model import Model, Viscous, torque
from ident.pipelines.questions import Asked, Question
from ident.pipelines.signals import _sliding_unit
from ident.pipelines.suspicions import heavy_drives, mirrored
from ident.pipelines.torque_units import Counts, _signs, unit_of
from ident.report.outcome_text import lines_in
from ident.report.verdict import verdict
from ident.robot import Joint, Limits, Robot
from ident.robot.file import DHJoint, MDHJoint, from_dh, from_mdh
from ident.robot.placeholders import from_base, placeholders
from ident.robot.urdf import read_urdf
from ident.spatial.inertia import Pose, axis_angle, from_com

pytestmark = pytest.mark.usefixtures("sketched")

LINK = """<link name="{name}"><inertial><origin xyz="0.1 0.02 0.05"/><mass value="{mass}"/>
<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial></link>"""
JOINT = """<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="0.3 0 0" rpy="{roll} 0 0"/><axis xyz="0 0 1"/>
<limit lower="-2.8" upper="2.8" velocity="{speed}" effort="80"/></joint>"""
FINGER = """<link name="finger"/><joint name="finger_joint" type="prismatic"><parent link="c"/><child link="finger"/>
<axis xyz="0 1 0"/><limit lower="0" upper="0.04" velocity="0.2" effort="20"/></joint>"""
N = 3


def arm(folder, extra="", names=("j_one", "j_two", "j_three"), masses=(6.0, 4.0, 2.0)):
    """Write an arm of three joints, one of them vertical, and return its file."""
    links = '<link name="base"/>' + "".join(LINK.format(name=n, mass=m) for n, m in zip("abc", masses, strict=True))
    places = zip(names, ("base", "a", "b"), "abc", (0, 1.5708, 0), (2.1, 2.6, 3.1), strict=True)
    joints = "".join(JOINT.format(name=n, parent=p, child=c, roll=r, speed=v) for n, p, c, r, v in places)
    path = folder / "arm.urdf"
    path.write_text(f'<robot name="arm">{links}{joints}{extra}</robot>', encoding="utf-8")
    return path


def log(
    folder, seed=0, rate=200.0, seconds=12.0, names=("j_one", "j_two", "j_three"), period=6.0, gravity=(0, 0, -9.81)
):
    """Return t, q, qd and tau of a motion of that arm, with friction and noise."""
    rng = np.random.default_rng(seed)
    robot = read_urdf(folder / "arm.urdf", keep=names).with_gravity(np.array(gravity))
    t = np.arange(int(seconds * rate)) / rate
    w = 2 * np.pi * np.arange(1, 5) / period
    a, b = rng.normal(size=(2, 4, N)) * 0.45 / np.arange(1, 5)[:, None]
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q, qd, qdd = s @ a + c @ b, (c * w) @ a - (s * w) @ b, -(s * w**2) @ a - (c * w**2) @ b
    model = ident.Model(robot, (ident.DriveInertia(), ident.Viscous(), ident.SmoothCoulomb(0.02)))
    theta = np.concatenate([robot.inertials.ravel(), np.full(N, 0.3), np.full(N, 1.0), np.full(N, 1.5)])
    tau = torque(model, theta, q, qd, qdd)
    return t, q + 1e-5 * rng.normal(size=q.shape), qd, tau + 0.05 * rng.normal(size=tau.shape)


def columns(pattern, values, start=1):
    return {pattern.format(k + start): values[:, k] for k in range(values.shape[1])}


def read(folder):
    """Return what the written files read of the first recording, and its robot."""
    experiment = ident.read_experiment(folder)
    robot, manifest = ident.read_robot(experiment.robot), ident.read_manifest(experiment.data)
    return ident.read_log(manifest, manifest.recordings[0].name, robot), robot, manifest


def drawn(folder, weight=1e-3):
    """Say how much the prior counts in a fit: to choose it by leaving parts of the logs out is most of its work."""
    with (folder / "experiment.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n[fit]\nweight = {weight:g}\n")


def keys(found):
    return [question.key for question, _ in found.answers]


def command(monkeypatch, *words):
    """Run a command, which has to end well."""
    monkeypatch.setattr(sys, "argv", ["ident", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("label", "quantity", "origin", "unit"),
    [
        ("act_pos_0", "position", "measured", ""),
        ("J1_deg", "position", "", "deg"),
        ("joint_states/position[0]", "position", "", ""),
        ("Axis 3 Speed [deg/s]", "velocity", "", "deg/s"),
        ("rec.act_vel_mot_deg_per_s[2]", "velocity", "measured", "deg/s"),
        ("- torso_lift_joint_effort", "torque", "", ""),
        ("axis3.torque_Nm", "torque", "", "N m"),
        ("cmd_pos_2", "position", "commanded", ""),
        ("i1", "current", "", ""),
        ("motor_temp_1", "other", "", ""),
        ("Time (ms)", "time", "", "ms"),
        ("timestamp_ns", "time", "", "ns"),
        ("sample", "index", "", ""),
        ("sample_time", "time", "", ""),
        ("sample_time_s", "time", "", "s"),
        ("time_index", "index", "", ""),
        ("torque_time_constant", "torque", "", ""),
        ("Joint_3", "", "", ""),
        ("Istposition Achse 3 [°]", "position", "measured", "deg"),
        ("Sollgeschwindigkeit_A3 [°/s]", "velocity", "commanded", "deg/s"),
        ("Motorstrom 2", "current", "", ""),
        ("posición_4", "position", "", ""),
        ("Zeit [µs]", "time", "", "us"),
        ("trq_Ncm_1", "torque", "", "N cm"),
        ("trq_1 [kgf·cm]", "torque", "", "kgf cm"),
        ("tau_mNm_2", "torque", "", "mN m"),
        ("torque_Nmm", "torque", "", "N mm"),
        ("axis1_torque_mNm", "torque", "", "mN m"),
        ("T [kNm]", "torque", "", "kN m"),
        ("trq_Nm_1_filtered", "torque", "", "N m"),
        ("Drehmoment [Nm] Achse 3", "torque", "", "N m"),
        ("Strom [A] Achse 3", "current", "", "A"),
        ("Achse 3 Ist-Moment [%]", "torque", "measured", "%"),
        ("Axis3_TorqueActualValue_6077h", "torque", "measured", "permille"),
        ("Achse 2 Ist-Moment [0,1 %]", "torque", "measured", "permille"),
        ("torque (per mille of rated)", "torque", "", "permille"),
        ("tau_cNm_3", "torque", "", "N cm"),
        ("torque_ozin", "torque", "", "ozf in"),
        ("torque [ft·lb]", "torque", "", "lbf ft"),
        ("X_ActTorque_permille", "torque", "measured", "permille"),
        ("torque A2 [‰]", "torque", "", "permille"),
        ("Speed [%]", "velocity", "", ""),
        ("override [%]", "", "", ""),
        ("angles.time", "time", "", ""),
        ("tau.t [ms]", "time", "", "ms"),
        ("tau.t1", "torque", "", ""),
        ("T1", "", "", ""),
        ("T_2 [ms]", "time", "", "ms"),
        ("T3 [°C]", "other", "", ""),
    ],
)
def test_names_say_what_a_column_is(label, quantity, origin, unit):
    said = named(label, ("torso_lift_joint",))
    assert (said.quantity, said.origin, said.unit) == (quantity, origin, unit)


def test_the_likeliest_clock_comes_first(here):
    arm(here)
    t, q, _, _ = log(here)
    pd.DataFrame({"n": np.arange(len(t)), "index": np.arange(len(t)), "Time": t, **columns("q{}", q)}).to_csv("a.csv")
    (table,) = read_raw(here / "a.csv")
    assert [c.label for c in clocks(families(table.columns, ()))][:1] == ["Time"]


def test_a_velocity_is_known_by_its_integral_and_by_when_it_comes():
    t = np.arange(2000) / 100.0
    q, v = np.sin(1.3 * t) + 0.2 * np.cos(4 * t), 1.3 * np.cos(1.3 * t) - 0.8 * np.sin(4 * t)
    found = related(t, np.rad2deg(q), v)
    assert found.alike > 0.999
    assert found.ratio == pytest.approx(180 / np.pi, rel=1e-3)
    assert related(t, q, np.roll(v, 12)).late == 12
    assert abs(related(t, q, np.sin(9 * t)).alike) < 0.5
    assert related(t, q, np.zeros(len(t))) is None


def test_the_doctor_examines_a_robot_file_with_a_link_without_bodies(here):
    arm(here)
    t, q, qd, tau = log(here)
    signals = columns("q{}", q) | columns("qd{}", qd) | columns("tau{}", tau)
    pd.DataFrame({"t": t, **signals}).to_csv("log.csv", index=False)
    text = (here / "arm.urdf").read_text()
    bare = re.sub(r'(<link name="b">)<inertial>.*?</inertial>', r"\1", text, flags=re.S)
    assert bare != text
    (here / "arm.urdf").write_text(bare)
    pipelines.init("arm.urdf", ["log.csv"])
    found = pipelines.doctor("experiment.toml").examination
    assert found.table is None
    assert not [c for c in found.causes if not c.ordinary]
    with pytest.raises(CadError, match="gives no inertials of b to examine"):
        pipelines.cad_doctor("experiment.toml")


@pytest.mark.parametrize(("sign", "viscous"), [(1.0, 0.1), (1.0, 3.0), (-1.0, 3.0)])
def test_gravity_of_a_tilted_base_is_not_taken_for_friction_that_drives(sign, viscous):
    robot = replace(elbow(), inertials=np.array(links_of(np.random.default_rng(2), 3)))
    speeds, phases, amplitudes = np.array([1.0, 1.0, 2.3]), np.array([0.0, -1.57, 0.0]), np.array([0.5, 0.5, 0.3])
    at = np.outer(np.arange(4000) / 100.0, speeds) + phases  # the arm is stretched where its first joint turns fast
    q, qd, qdd = np.sin(at) + np.array([0.0, 1.2, 0.0]), np.cos(at) * speeds, -np.sin(at) * speeds**2
    tilted = Model(robot.with_gravity(axis_angle([1, 0, 0], 0.25) @ robot.gravity), (Viscous(),))
    theta = np.append(robot.inertials, 3 * [viscous])
    tau = torque(tilted, theta, amplitudes * q, amplitudes * qd, amplitudes * qdd)
    found = np.diag(evidence(robot, robot.inertials, np.arange(4000) / 100.0, amplitudes * q, sign * tau).sign)
    assert not np.any(found == -sign)
    assert found[2] == sign or viscous < 1.0


def test_torques_are_known_by_what_bodies_and_friction_predict(here):
    arm(here)
    t, q, qd, tau = log(here)
    robot = read_urdf(here / "arm.urdf")
    found = evidence(robot, robot.inertials, t, q, np.column_stack([tau, 0.1 * tau, np.roll(qd, 97, axis=0)]))
    assert np.diag(found.explained).min() > 0.95
    assert found.explained[:, 6:].max() < 0.9
    assert found.ratio[1, 1] == pytest.approx(1.0, abs=0.2)
    assert found.ratio[1, 4] == pytest.approx(0.1, abs=0.02)


def test_shuffled_columns_in_degrees_and_ms_beside_others_are_read_as_meant(here):
    arm(here)
    t, q, qd, tau = log(here)
    table = {"index": np.arange(len(t)), "time": t * 1e3, **columns("act_pos_{}", np.rad2deg(q), 0)}
    table |= columns("act_vel_{}", np.rad2deg(qd), 0) | columns("act_trq_{}", tau, 0) | columns("drive_i{}", tau / 9, 0)
    table |= columns("cmd_pos_{}", np.rad2deg(np.roll(q, 3, axis=0)), 0) | columns("temp_{}", 40 + np.cumsum(tau, 0), 0)
    order = np.random.default_rng(3).permutation(list(table))
    pd.DataFrame({name: table[name] for name in order}).to_csv("log.csv", index=False, sep=";", decimal=",")
    found = pipelines.init("arm.urdf", ["log.csv"])
    read_log, _, manifest = read(here)
    np.testing.assert_allclose(read_log.t, t, atol=1e-6)
    np.testing.assert_allclose(read_log.q, q, atol=1e-6)
    np.testing.assert_allclose(read_log.qd, qd, atol=1e-6)
    np.testing.assert_allclose(read_log.tau, tau, atol=1e-6)
    assert keys(found) == ["position unit"]  # degrees, within the limits; or a motor's radians
    assert not (here / "robot.toml").exists()
    assert [r.rows is None for r in manifest.recordings] == [True, False, False]
    text = (here / "dataset.toml").read_text()
    assert "# by their names" in text
    assert "not used: drive_i0 to drive_i2" in text


def test_without_names_the_speeds_tell_positions_and_the_bodies_tell_torques(here):
    arm(here)
    t, q, qd, tau = log(here)
    np.savetxt("log.csv", np.column_stack([t, q, qd, tau / 12.0]), delimiter=",")
    found = pipelines.init("arm.urdf", ["log.csv"])
    read_log, _, manifest = read(here)
    np.testing.assert_allclose(read_log.q, q, atol=1e-9)
    np.testing.assert_allclose(read_log.qd, qd, atol=1e-9)
    assert manifest.recordings[0].torque.columns == (8, 9, 10)
    assert "gain" in keys(found)  # nobody can know it; the bodies in the description make the guess
    assert manifest.recordings[0].torque.gain[1] == pytest.approx(12.0, rel=0.2)


def test_accelerations_between_velocities_and_torques_without_names_are_no_torques(here):
    arm(here)
    t, q, qd, tau = log(here)
    np.savez("log.npz", x=np.column_stack([q, qd, np.gradient(qd, t, axis=0), tau]))
    pipelines.init("arm.urdf", ["log.npz"])
    np.testing.assert_allclose(read(here)[0].tau, tau, atol=1e-9)


def test_swapped_torque_columns_are_asked_about(here):
    arm(here)
    t, q, qd, tau = log(here)
    np.savetxt("log.csv", np.column_stack([t, q, qd, tau[:, [0, 2, 1]]]), delimiter=",")
    asked = []
    found = pipelines.init("arm.urdf", ["log.csv"], ask=lambda question: asked.append(question) or question.guess)
    order = next(question for question in asked if question.key == "order")
    assert order.choices[1] == "column 8, column 10, column 9"
    assert "order" in keys(found)


def test_columns_without_names_are_taken_in_the_order_that_explains_far_more(here):
    arm(here)
    t, q, qd, tau = log(here)
    np.savetxt("log.csv", np.column_stack([t, q, qd, tau[:, [1, 0, 2]]]), delimiter=",")
    found = pipelines.init("arm.urdf", ["log.csv"])
    assert "order" in keys(found)
    assert "column 9, column 8, column 10 the robot explains" in found.files[0].read_text(encoding="utf-8")
    np.testing.assert_allclose(read(here)[0].tau, tau, rtol=1e-6)


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_swapped_torque_columns_are_not_taken_for_signs(here, seed):
    arm(here)
    t, q, _, tau = log(here, seed)
    pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}_Nm", tau[:, [1, 0, 2]])}).to_csv("log.csv")
    found = pipelines.init("arm.urdf", ["log.csv"])
    assert "gain" not in keys(found)  # friction of the other joint would turn one of them
    assert "NOTE: j_one and j_two may have each other's columns, so their signs stay" in found.files[0].read_text()


def test_positions_without_a_name_are_as_many_as_named_torques_of_fewer_joints(here):
    arm(here)
    t, q, _, tau = log(here)
    two = {**columns("A{}_IPO", q[:, :2]), **columns("Torque_A{}", tau[:, :2])}
    pd.DataFrame({"t": t, **two}).to_csv("log.csv", index=False)
    pipelines.init("arm.urdf", ["log.csv"])
    np.testing.assert_allclose(read(here)[0].q, q[:, :2], atol=1e-9)


def test_positions_without_a_name_beside_named_torques_are_those_of_all_joints(here):
    arm(here)
    t, q, _, tau = log(here)
    table = {"t": t, **columns("Weg {}", np.rad2deg(q)), **columns("tau{}_Nm", tau)}
    pd.DataFrame(table).to_csv("log.csv", index=False)
    pipelines.init("arm.urdf", ["log.csv"])
    np.testing.assert_allclose(read(here)[0].q, q, atol=1e-6)


@pytest.mark.parametrize(("of_q", "of_tau"), ["JM", "JT", "qT"])
def test_positions_and_torques_may_be_two_letters_in_a_file_whatever_it_is_called(here, of_q, of_tau):
    arm(here)
    t, q, _, tau = log(here)
    pd.DataFrame({"t": t, **columns(of_q + "{}", q), **columns(of_tau + "{}", tau)}).to_csv("rec_a.csv", index=False)
    pipelines.init("arm.urdf", ["rec_a.csv"])
    found, *_ = read(here)
    np.testing.assert_allclose(found.q, q, atol=1e-9)
    np.testing.assert_allclose(found.tau, tau, atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, list, tuple])
def test_cells_of_arrays_are_refused_with_what_takes_them_apart(here, form):
    arm(here)
    t, q, _, tau = log(here)
    wide = [form(np.tile(row, 3).tolist()) for row in tau]  # numpy writes these in two lines
    pd.DataFrame({"t": t, "q": [form(row.tolist()) for row in q], "tau": wide}).to_csv("log.csv", index=False)
    with pytest.raises(LogError, match="'q', 'tau' hold arrays") as caught:
        pipelines.init("arm.urdf", ["log.csv"])
    line = re.search(r"in pandas: table = (.*)", caught.value.fix)[1]
    apart = eval(line, {"table": pd.read_csv("log.csv")})
    np.testing.assert_allclose(apart[["q_0", "q_1", "q_2"]].to_numpy(float), q, atol=1e-7)


def test_of_many_lines_above_the_rows_the_one_that_tells_columns_apart_has_their_names(here):
    """A scope's CSV: each line has a key beside each value, one of units among them, and a clock beside each column."""
    arm(here)
    t, q, _, tau = log(here)
    values = [*columns("Axis_{}_ActPos", np.rad2deg(q)).items(), *columns("Axis_{}_ActTorque", tau).items()]
    keys = {"Name": [name for name, _ in values], "SymbolComment": ["deg"] * N + ["Nm"] * N}
    keys |= {"SampleTime[ms]": ["5"] * 2 * N, "ScaleFactor": ["1"] * 2 * N, "BitMask": ["0xFFFF"] * 2 * N}
    lines = ["Name;Scope", *(";".join(f"{key};{x}" for x in line) for key, line in keys.items())]
    rows = [[x for v in row for x in (1e3 * s, v)] for s, *row in zip(t, *(v for _, v in values), strict=True)]
    (here / "log.csv").write_text("\n".join([*lines, *(";".join(f"{x:.9g}" for x in row) for row in rows)]), "utf-8")
    pipelines.init("arm.urdf", ["log.csv"])
    found, _, manifest = read(here)
    np.testing.assert_allclose(found.q, q, atol=1e-6)
    np.testing.assert_allclose(found.tau, tau, atol=1e-6)
    assert manifest.recordings[0].position.unit == "deg"
    assert not manifest.recordings[0].torque.guessed


def test_a_word_above_several_columns_is_that_of_each(here):
    """As a spreadsheet writes cells that were joined."""
    arm(here)
    t, q, _, tau = log(here)
    table = pd.DataFrame(np.column_stack([t, q, tau])).to_csv(index=False, header=False)
    head = ",Position [deg],,,Torque [Nmm],,\nTime,J1,J2,J3,J1,J2,J3\n"
    (here / "log.csv").write_text(head + table, encoding="utf-8")
    pipelines.init("arm.urdf", ["log.csv"])
    first = read(here)[2].recordings[0]
    assert (first.position.columns, first.torque.columns) == ((2, 3, 4), (5, 6, 7))
    assert (first.position.unit, first.torque.unit) == ("deg", "N mm")


@pytest.mark.parametrize("names", [("j_one", "j_two", "j_three"), (1, 2, 3)])
def test_a_table_with_a_row_a_joint_is_refused_with_what_makes_it_one_with_a_row_a_time(here, names):
    arm(here)
    t, q, _, tau = log(here)
    rows = {"time": np.repeat(t, N), "joint": np.tile(names, len(t)), "position": q.ravel(), "effort": tau.ravel()}
    pd.DataFrame(rows).to_csv("log.csv", index=False)
    with pytest.raises(LogError, match="is a long table: each row is of one joint, 'joint'") as caught:
        pipelines.init("arm.urdf", ["log.csv"])
    exec(caught.value.fix.split("in pandas: ")[1], {"table": pd.read_csv("log.csv"), "map": map})
    pipelines.init("arm.urdf", ["wide.csv"])
    np.testing.assert_allclose(read(here)[0].q, q, atol=1e-9)


def test_a_clock_in_brackets_is_no_array(here):
    arm(here)
    t, q, _, tau = log(here)
    table = {"at": [f"[{x:.6f}]" for x in t], "t": t, **columns("q{}", q), **columns("tau{}_Nm", tau)}
    pd.DataFrame(table).to_csv("log.csv", index=False)
    assert pipelines.init("arm.urdf", ["log.csv"])


def test_numbered_columns_of_all_joints_are_not_halved(here):
    arm(here)
    t, q, *_ = log(here)
    pd.DataFrame({"t": t, **columns("J{}", q), "load": np.sin(t)}).to_csv("log.csv", index=False)
    pipelines.init("arm.urdf", ["log.csv"])
    np.testing.assert_allclose(read(here)[0].q, q, atol=1e-9)


@pytest.mark.parametrize(
    ("right", "wrong", "cause"),
    [
        ("0 0 0", "3.14159265 0 0", "gravity points along +z"),
        ("1.5708 0 0", "1.5708 1.5708 0", "j_two: its zero is off by 90 degrees"),
    ],
)
def test_the_robot_file_is_blamed_where_the_bodies_of_a_slow_log_would_make_up_for_it(
    here, right, wrong, cause, one_round
):
    path = arm(here)
    for k in (0, 10):
        t, q, _, tau = log(here, k, rate=100.0, seconds=40.0, period=24.0)
        pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}_Nm", tau)}).to_csv(f"log{k}.csv", index=False)
    path.write_text(path.read_text().replace(f'rpy="{right}"/><axis', f'rpy="{wrong}"/><axis', 1))
    pipelines.init("arm.urdf", ["log0.csv", "log10.csv"])
    result = pipelines.run(here)
    assert result.estimate.relative_total < 0.01
    assert cause in str(result.estimate.causes[0])


@pytest.mark.slow
@pytest.mark.parametrize("joint", (1, 0, 2)[: cases(N, 2)])  # the last one takes three times as long as the others
def test_one_joint_in_degrees_is_what_has_to_be_mended_first(here, joint, one_round):
    """Whatever else seems wrong, a body or a gain, follows from it; a limit that is too narrow is told alike."""
    arm(here)
    for seed, name in enumerate(("one", "two")):
        t, q, _, tau = log(here, seed=seed)
        q[:, joint] = np.rad2deg(q[:, joint])
        pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}_Nm", tau)}).to_csv(f"{name}.csv", index=False)
    pipelines.init("arm.urdf", ["one.csv", "two.csv"])
    found = ident.run(here)
    assert found.estimate.causes[0].where == ("j_one", "j_two", "j_three")[joint]
    assert "position" in found.estimate.causes[0].what
    assert verdict(found.estimate, found.validation).headline == "Do not use yet"


def test_a_slide_whose_drive_would_weigh_tonnes_is_in_another_unit(here, one_round):
    """Its position scales the drive's inertia and friction alone, so no torque tells."""
    path = arm(here)
    slide = path.read_text("utf-8").replace('name="j_one" type="revolute"', 'name="j_one" type="prismatic"')
    path.write_text(slide, encoding="utf-8")
    for seed, name in enumerate(("one", "two")):
        t, q, _, tau = log(here, seed=seed)
        frame = {"t": t, "q1 [mm]": q[:, 0], "q2 [rad]": q[:, 1], "q3 [rad]": q[:, 2], **columns("tau{}", tau)}
        pd.DataFrame(frame).to_csv(f"{name}.csv", index=False)
    pipelines.init("arm.urdf", ["one.csv", "two.csv"])
    found = ident.run(here)
    assert (found.estimate.causes[0].where, verdict(found.estimate, found.validation).headline) == (
        "j_one",
        "Do not use yet",
    )
    assert "its position is in another unit: its drive would be of" in found.estimate.causes[0].what
    at = np.arange(len(found.estimate.theta)) == found.loaded.model.index("j_one.drive_inertia")
    unknown = replace(found.loaded, prior=neutral_prior(found.loaded.robot))
    for drive, known, told in ((5e3, True, True), (5e3, False, False), (2e5, False, True)):
        estimate = replace(found.estimate, theta=np.where(at, drive, found.estimate.theta))
        loaded = found.loaded if known else unknown
        assert bool(list(heavy_drives(replace(found, loaded=loaded, estimate=estimate)))) == told


def test_a_joint_that_follows_another_is_named_and_no_gain_that_makes_up_for_it(here, one_round):
    follower = JOINT.format(name="tip", parent="c", child="d", roll=0, speed=3) + LINK.format(name="d", mass=2.0)
    path = arm(here, follower)
    whole, ties = read_urdf(path), np.vstack([np.eye(3), [0, 0, 0.8]])
    path.write_text(path.read_text().replace("</joint><link", '<mimic joint="j_three" multiplier="0.8"/></joint><link'))
    for seed, name in enumerate(("one", "two")):
        t, q, qd, _ = log(here, seed=seed)
        motion = (x @ ties.T for x in (q, qd, np.gradient(qd, t, axis=0)))
        tau = torque(Model(whole), whole.inertials.ravel(), *motion) @ ties + qd + 1.5 * np.tanh(qd / 0.02)
        tau += 0.05 * np.random.default_rng(seed).normal(size=tau.shape)
        signals = {
            f"{key}_{j}": x[:, k] for key, x in (("q", q), ("tau", tau)) for k, j in enumerate(whole.joint_names[:3])
        }
        pd.DataFrame({"t": t, **signals}).to_csv(f"{name}.csv", index=False)
    pipelines.init("arm.urdf", ["one.csv", "two.csv"])
    found = ident.run(here).estimate
    assert [(c.where, c.file) for c in found.causes] == [("j_three", "robot.toml")]
    assert found.causes[0].what.startswith("tip moves with it and is locked")


@pytest.mark.parametrize("name", ["log.csv", "log.parquet", "log.npz", "log.mat"])
def test_an_empty_log_is_called_empty_and_nothing_is_written(here, name):
    arm(here)
    (here / name).touch()
    with pytest.raises(LogError, match=rf"{name}: is empty\. Nothing was recorded, or the copy failed"):
        pipelines.init("arm.urdf", [name])
    assert sorted(p.name for p in here.iterdir()) == ["arm.urdf", name]


def test_a_sign_that_was_turned_and_bodies_that_look_invented_are_said_with_the_fit(here):
    arm(here, masses=(6.0, 9.0, 5.0))
    t, q, _, tau = log(here)
    pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}_Nm", tau * [1, -1, 1])}).to_csv("log.csv", index=False)
    pipelines.init("arm.urdf", ["log.csv"])
    result = pipelines.fit(here)
    told = [str(w) for w in result.warnings]
    assert "; 3 links of different masses have one and the same inertia: a placeholder?" in "".join(result.loaded.notes)
    assert "dataset.toml: the torque of j_two is turned round (`gain` -1): is that so on this robot?" in told


def test_torques_per_mille_of_what_is_rated_have_gains_that_are_guesses(here):
    arm(here)
    t, q, _, tau = log(here)
    rated = {f"J{k}_TrqAct_permille": np.round(1000 * tau[:, k - 1] / 40.0) for k in (1, 2, 3)}
    pd.DataFrame({"t_s": t, **columns("J{}_PosAct_rad", q), **rated}).to_csv("log.csv", index=False)
    pipelines.init("arm.urdf", ["log.csv"])
    torque = read(here)[2].recordings[0].torque
    assert (torque.unit, torque.guessed) == ("permille", True)
    np.testing.assert_allclose(torque.gain, 0.04, rtol=0.3)


@pytest.mark.parametrize("name", ["run_{joint}.csv", "run{number}.csv"])
def test_files_with_a_joint_each_are_put_side_by_side(here, name):
    arm(here)
    t, q, _, tau = log(here)
    files = []
    for k, joint in enumerate(("j_one", "j_two", "j_three")):
        every = slice(k % 2, None, 1 + k % 2)  # the second one is logged half as often
        files.append(name.format(joint=joint, number=k + 1))
        table = {"t_s": t[every], "ActPos_rad": q[every, k], "ActTorque_Nm": tau[every, k]}
        pd.DataFrame(table).to_csv(files[-1], index=False)
    found = pipelines.init("arm.urdf", files)
    joined = f"JOINED: run.csv has the joints of {', '.join(map(repr, files))} side by side: 2399 of 2400 rows"
    assert joined in found.told
    read_log, robot, _ = read(here)
    assert robot.joint_names == ("j_one", "j_two", "j_three")
    rows = np.rint((read_log.t + t[1]) * 200.0).astype(int)
    np.testing.assert_allclose(read_log.q, q[rows], atol=1e-4)
    np.testing.assert_allclose(read_log.tau[:, [0, 2]], tau[rows][:, [0, 2]], atol=1e-9)


def test_joints_of_files_that_moved_one_after_the_other_are_recordings_of_their_own(here):
    arm(here)
    t, q, _, tau = log(here)
    for k, joint in enumerate(("j_one", "j_two", "j_three")):
        table = {"t_s": t, "ActPos_rad": q[:, k], "ActTorque_Nm": tau[:, k]}
        pd.DataFrame(table).to_csv(f"run_{joint}.csv", index=False)
    files, said = sorted(p.name for p in here.glob("*.csv")), dict[str, str]()

    def answer(question: Question) -> str:
        said[question.key] = question.text
        return "no" if question.key == "joint files" else question.guess

    found = pipelines.init("arm.urdf", files, ask=answer)
    assert said["joint files"].startswith("Did the joints of run_j_one.csv, run_j_three.csv, run_j_two.csv move at the")
    assert not any("side by side" in line for line in found.told)
    assert len(ident.read_manifest(here / "dataset.toml").recordings) == 3


def test_files_of_single_joints_at_other_times_are_recordings_of_their_own(here):
    arm(here)
    t, q, _, tau = log(here)
    for k, joint in enumerate(("j_one", "j_two", "j_three")):
        table = {"t_s": t + 20.0 * k, "ActPos_rad": q[:, k], "ActTorque_Nm": tau[:, k]}
        pd.DataFrame(table).iloc[: 2000 - k].to_csv(f"run_{joint}.csv", index=False)
    found = pipelines.init("arm.urdf", sorted(p.name for p in here.glob("*.csv")))
    assert not any("side by side" in line for line in found.told)


def test_a_file_of_one_joint_that_is_unlike_the_others_is_named(here):
    arm(here)
    t, q, _, tau = log(here)
    tables = {
        f"run_{joint}.csv": pd.DataFrame({"t_s": t, "ActPos_rad": q[:, k], "ActTorque_Nm": tau[:, k]})
        for k, joint in enumerate(("j_one", "j_two", "j_three"))
    }
    for name, table in tables.items():
        table.to_csv(name, index=False)
    odd = "run_j_two.csv"
    tables[odd].drop(columns="ActTorque_Nm").to_csv(odd, index=False)
    with pytest.raises(
        LogError, match=r"run_j_two.csv: no column is found that is a torque, which the files of the other"
    ):
        pipelines.init("arm.urdf", sorted(tables))
    tables[odd].assign(t_s=1000 * t).to_csv(odd, index=False)
    with pytest.raises(LogError, match=r"its times span 1000 times those of 'run_j_one.csv', in as many rows"):
        pipelines.init("arm.urdf", sorted(tables))
    found = pipelines.init("arm.urdf", sorted({*tables} - {odd}))
    assert "NO COLUMN is of j_two: locked at zero in robot.toml" in found.told


def test_rows_in_which_brakes_hold_the_robot_are_left_out(here):
    arm(here)
    t, q, _, tau = log(here)
    rng = np.random.default_rng(3)
    tau = tau + np.array([0.0, 60.0, 0.0])  # what hangs on the second joint is hardly ever without torque
    held = 300
    still, ended = np.tile(q[0], (held, 1)), np.tile(q[-1], (held, 1))
    quiet = 0.05 * rng.normal(size=(held, N))
    q, tau = np.vstack([still, q, ended]), np.vstack([quiet, tau, quiet])
    t = np.arange(len(q)) / 200.0

    def told(torques):
        for name in ("dataset.toml", "experiment.toml"):
            (here / name).unlink(missing_ok=True)
        table = {"t_s": t, **columns("q{}_rad", q), **columns("tau{}_Nm", torques)}
        pd.DataFrame(table).to_csv("log.csv", index=False)
        return pipelines.init("arm.urdf", ["log.csv"]).told

    (cut,) = (line for line in told(tau) if "CUT" in line)
    rows = re.search(r"as where its brakes hold it: only rows (\d+)-(\d+) are used", cut)
    assert rows is not None, cut
    assert [abs(int(x) - y) <= 20 for x, y in zip(rows.groups(), (held + 1, len(q) - held), strict=True)] == [
        True,
        True,
    ]
    rests = np.vstack([np.tile(tau[held], (held, 1)), tau[held:-held], np.tile(tau[-held - 1], (held, 1))])
    assert not any("brakes" in line for line in told(rests))  # motors hold it there
    rests -= np.array([0.0, 60.0, 0.0])
    assert not any("brakes" in line for line in told(rests))


def test_joints_that_gravity_hardly_moves_do_not_outvote_the_others_in_what_torques_count():
    counts = Counts(
        np.array([np.nan, 0.9, 1.2, 9.0, 21.0]), np.array([0.0, 400.0, 150.0, 3.0, 0.2]), (), np.ones(5), np.ones(5)
    )
    told = by_name(counts, np.inf)
    assert told[:1] == ("N m",)
    assert not told[2]
    told = by_name(replace(counts, ratio=np.array([np.nan, 9.0, 9.0, 1.0, 1.0])), np.inf)
    assert told[2]


def test_efforts_of_the_robot_file_tell_units_that_bodies_in_grams_would_hide():
    grams = Counts(np.full(3, 1e-3), np.full(3, 1e4), (), np.ones(3), np.full(3, 1.3))
    assert by_name(grams, np.inf)[0] == "kN m"
    unit, gain, guessed, why = by_name(grams, 24.0)  # 1.3 kN m are far beyond
    assert (unit, guessed, *gain) == ("N m", False, 1.0, 1.0, 1.0)
    assert "1 N m of the bodies in the description counts 0.001" in why
    within = Counts(np.full(3, 5.0), np.ones(3), (), np.ones(3), np.full(3, 20.0))
    assert by_name(within, 24.0)[0] == "N m"
    assert by_name(within, np.inf)[2]


def test_percent_are_of_the_efforts_of_the_robot_file_where_bodies_say_nothing_else():
    near, far = (Counts(np.array([np.nan, x]), np.ones(2), (), np.ones(2), np.full(2, 80.0)) for x in (2.2, 5.0))
    assert by_name(near, 50.0, "%")[1].tolist() == [0.5, 0.5]
    assert by_name(near, 50.0, "%")[2]  # a guess all the same
    assert by_name(far, 50.0, "%")[1].tolist() == [0.2, 0.2]


def test_friction_of_one_joint_among_many_is_chance_and_turns_no_sign_round():
    unknown = np.full(6, np.nan)  # no bodies, as of a robot that a hand moves
    assert _signs(unknown, np.array([0.0, 0, 0, -1, 0, 0])).tolist() == [1] * 6
    assert _signs(unknown, np.array([1.0, 1, 0, -1, 0, 1])).tolist() == [1, 1, 1, -1, 1, 1]


@pytest.mark.parametrize("of_assembly", [False, True])
def test_centres_that_are_measured_from_the_base_tell_no_units_or_balancers(of_assembly):
    """As assemblies print them; joints far out would be left out as "without gravity"."""
    rng = np.random.default_rng(3)
    robot = from_dh("arm", [DHJoint(d=0.4, alpha=np.pi / 2), *[DHJoint(a=0.3)] * 2, DHJoint(d=0.1, alpha=np.pi / 2)])
    begins = [of_assembly * pose.position for pose in robot.poses(np.zeros(4))]
    bodies = [
        from_com(m, p + rng.normal(0, 0.06, 3), 0.02 * np.eye(3)) for m, p in zip((9, 5, 3, 1), begins, strict=True)
    ]
    assert from_base(robot, np.array(bodies)) == of_assembly


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_a_slide_beside_angles_in_rad_is_in_mm_where_in_m_it_would_leave_its_limits(scale):
    joints = [
        Joint(name, kind, -1, Pose(np.eye(3), np.zeros(3)), np.array([0, 0, 1.0]), limits=Limits(*ends))
        for name, kind, ends in (("x", "prismatic", (0.0, 1.5)), ("a", "revolute", (-3.0, 3.0)))
    ]
    robot = Robot("r", tuple(replace(j, parent=k - 1) for k, j in enumerate(joints)), links=("l1", "l2"))
    q = np.column_stack([scale * np.linspace(0.1, 1.4, 50), np.linspace(-2.0, 2.0, 50)])
    why = {"position": ""}
    assert _sliding_unit(q, "rad", robot, "joint", why) == ("mm" if scale == 1000.0 else "")
    assert ("mm where they slide" in why["position"]) == (scale == 1000.0)
    assert _sliding_unit(q, "deg", robot, "joint", why) == ""  # mm, which is usual there, is within them


@pytest.mark.parametrize("times", [1.0, 3.0])
def test_torques_that_count_the_more_the_smaller_the_effort_is_are_percent_of_it(times):
    efforts = np.array([150.0, 150.0, 28.0, 28.0])
    share = times * 100.0 / efforts
    asked = share * np.array([np.nan, 0.98, 1.04, np.nan])  # two joints tell
    unit, gain, guessed, why = by_name(Counts(asked, np.ones(4), (), np.ones(4), np.full(4, 50.0)), efforts)
    assert (unit, guessed) == ("%", True)
    assert gain == pytest.approx(1.0 / share, rel=0.05)
    assert "percent of that, or of the rated torque" in why
    alike = Counts(np.array([np.nan, 1.1, 1.0, 3.6]), np.ones(4), (), np.ones(4), np.full(4, 50.0))  # a load
    assert by_name(alike, np.array([150.0, 250.0, 150.0, 28.0]))[::2] == ("N m", False)


def by_name(counts, effort, unit=""):
    """Return what is decided of columns that are called torques, of joints with these limits, or all with that."""
    joint = Joint("j", "revolute", -1, Pose(np.eye(3), np.zeros(3)), np.array([0, 0, 1.0]))
    limits = np.broadcast_to(effort, len(counts.ratio)).tolist()
    joints = [replace(joint, name=f"j{k}", limits=Limits(effort=x)) for k, x in enumerate(limits)]
    each = [Column(pathlib.Path("log.csv"), k, None, f"torque_{k + 1}", np.ones(9)) for k in range(len(joints))]
    (family,) = (f for f in families(each, ()) if f.quantity == "torque")
    return unit_of(replace(family, unit=unit), joints, counts, Asked(None))


@pytest.mark.parametrize("constant", [True, False])
def test_constants_of_drives_are_those_by_which_asked_torques_go_with_asked_currents(here, constant):
    arm(here)
    t, q, _, tau = log(here)
    amperes, asked = np.array([9.0, -11.0, 7.5]), tau + 0.1
    table = {"timestamp": t, **columns("actual_q_{}", q, 0), **columns("actual_current_{}", tau / amperes, 0)}
    table |= {**columns("target_current_{}", asked / amperes, 0)}
    table |= columns("target_moment_{}", asked if constant else asked + 0.1 * np.abs(asked), 0)
    pd.DataFrame(table).to_csv("log.csv", index=False)
    pipelines.init("arm.urdf", ["log.csv"])
    torque = read(here)[2].recordings[0].torque
    assert torque.unit == "A"
    assert torque.columns == tuple(f"actual_current_{k}" for k in range(N))
    assert torque.guessed != constant
    if constant:
        np.testing.assert_allclose(torque.gain, amperes, rtol=1e-4)


@pytest.mark.parametrize("typed", [True, False])
def test_turns_that_no_joint_makes_are_those_of_motors_whose_gears_are_asked(here, typed):
    arm(here)
    t, q, _, tau = log(here)
    gears = np.array([100.0, 120.0, -80.0])
    turns = columns("M{}_pos_rev", q * gears / (2 * np.pi))
    pd.DataFrame({"t": t, **turns, **columns("M{}_torque_Nm", tau / gears)}).to_csv("log.csv", index=False)

    def answer(question: Question) -> str:
        return "100, 120, -80" if question.key == "position unit" else question.guess

    pipelines.init("arm.urdf", ["log.csv"], ask=answer if typed else None)
    read_log, robot, manifest = read(here)
    record = manifest.recordings[0]
    assert (record.position.unit, record.position.side, record.torque.guessed) == ("rev", "motor", not typed)
    if typed:
        np.testing.assert_array_equal(robot.transmission.matrix, np.diag(gears))
        np.testing.assert_allclose(read_log.q, q, atol=1e-9)


CUBE = re.compile("<inertial>.*?</inertial>", re.DOTALL)


def test_bodies_that_are_placeholders_are_neither_cad_nor_asked_for_units(here):
    arm(here)
    t, q, _, tau = log(here)
    pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", tau)}).to_csv("log.csv", index=False)
    unit = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    (here / "arm.urdf").write_text(CUBE.sub(unit, (here / "arm.urdf").read_text()))
    found = pipelines.init("arm.urdf", ["log.csv"])
    same = "3 links have one and the same 1 kg and inertia, as placeholders have and no machine"
    assert f"NOTE: {same}: bodies of arm.urdf are not used" in found.told
    assert not read(here)[2].recordings[0].torque.guessed
    loaded = pipelines.load(here)
    assert loaded.cad is None
    assert f"the inertials of 'arm.urdf' are neither CAD nor prior: {same}" in loaded.notes


def test_equal_links_of_a_chain_are_no_placeholders(here):
    robot = read_urdf(arm(here, masses=(2.0, 2.0, 2.0)), keep=("j_one", "j_two", "j_three"))
    assert not placeholders(robot, robot.inertials)
    assert not placeholders(robot, None)
    wide = np.array([from_com(2.0, [0.1, 0.0, 0.0], np.eye(3))] * 3)
    assert placeholders(robot, wide)
    assert not placeholders(robot, wide * [[1.0], [2.0], [3.0]])


def test_a_joint_that_keeps_its_limits_with_the_other_sign_alone_counts_the_other_way(here):
    text = (
        arm(here)
        .read_text()
        .replace('lower="-2.8" upper="2.8" velocity="2.6"', 'lower="-2.8" upper="0" velocity="2.6"')
    )
    (here / "arm.urdf").write_text(text)
    robot = read_urdf(here / "arm.urdf", keep=("j_one", "j_two", "j_three"))
    t, q, qd, tau = log(here)
    q[:, 1] -= q[:, 1].max() + 0.1
    motion = ident.Motion("one", t, q, qd, qd, tau, np.ones(q.shape, bool))
    assert not list(mirrored(robot, [motion]))
    ((joint, what, mend),) = mirrored(robot, [replace(motion, q=q * [1, -1, 1])])
    assert joint == "j_two"
    assert what.startswith(
        "its position is beyond its limits in 100 % of the rows, and within them with the other sign"
    )
    assert mend.startswith("multiply its position and its torque by -1")
    assert not list(mirrored(robot, [replace(motion, q=q + np.array([0.0, 5.0, 0.0]))]))


def test_a_torque_of_the_other_sign_and_one_of_the_motors_are_asked_about(here):
    arm(here, masses=(6.0, 9.0, 5.0))
    t, q, _, tau = log(here)
    asked = {}
    for name, sizes in (("signs", [-1, -1, -1]), ("motor", [0.01, 0.01, 0.01])):
        pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}_Nm", tau * sizes)}).to_csv("log.csv", index=False)
        found = pipelines.init("arm.urdf", ["log.csv"])
        asked[name] = {question.key: answer for question, answer in found.answers}
        for path in found.files:
            path.unlink()
    assert asked["signs"] == {"gain": "-1, -1, -1"}
    assert np.median([float(x) for x in asked["motor"]["gain"].split(",")]) == pytest.approx(100, rel=0.3)


@pytest.mark.parametrize(("pattern", "asked"), [("Ist-Moment {} [%]", "1 % of"), ("tau{}", "1 of the unit of tau1")])
def test_a_gain_is_asked_for_1_of_what_the_name_says(here, pattern, asked):
    arm(here, masses=(6.0, 9.0, 5.0))
    t, q, _, tau = log(here)
    sizes = np.array([0.2, 0.03, 0.05])
    pd.DataFrame({"t": t, **columns("q{}", q), **columns(pattern, sizes * tau)}).to_csv("log.csv", index=False)
    ((question, answer),) = pipelines.init("arm.urdf", ["log.csv"]).answers
    assert f"is {asked}" in question.text
    assert "so much the bodies in the description would ask for, and where they say nothing" in question.why
    np.testing.assert_allclose([float(x) for x in answer.split(",")][1:], 1 / sizes[1:], rtol=0.3)
    manifest = ident.read_manifest("dataset.toml")
    assert manifest.recordings[0].torque.guessed
    assert manifest.recordings[0].torque.unit == ("%" if "%" in pattern else "count")


def test_a_unit_of_the_names_is_the_one_that_is_told_of(here):
    arm(here, masses=(6.0, 9.0, 5.0))
    t, q, _, tau = log(here)
    signals = columns("q{}", q) | columns("tau_mNm_{}", 1e3 * tau * [1, -1, 1])
    pd.DataFrame({"t": t, **signals}).to_csv("log.csv", index=False)
    ((question, answer),) = pipelines.init("arm.urdf", ["log.csv"]).answers
    assert answer == "1, -1, 1"
    assert "is 1 mN m of" in question.text
    assert re.search(r"counts (0\.\d+|1\.\d+|1) N m, as if they were mN m", question.why)


def test_a_motor_that_turns_against_its_joint_has_no_other_sign(here):
    arm(here)
    motors = '[transmission]\nmotors = ["m1", "m2", "m3"]\nratios = [60, 80, -50]\n'
    (here / "robot.toml").write_text(f'urdf = "arm.urdf"\n{motors}', encoding="utf-8")
    t, q, _, tau = log(here)
    ratios = np.array([60, 80, -50])
    pd.DataFrame({"t": t, **columns("q{}", q * ratios), **columns("i{}", tau / ratios)}).to_csv("log.csv", index=False)
    pipelines.init("robot.toml", ["log.csv"])
    read_log, robot, manifest = read(here)
    assert manifest.recordings[0].torque.gain == (1.0, 1.0, 1.0)
    np.testing.assert_allclose(robot.transmission.joint_torque(tau / ratios), read_log.tau, atol=1e-9)


def test_what_was_answered_is_not_said_to_be_for_the_reason_of_the_guess(here):
    arm(here)
    _, q, _, tau = log(here)
    pd.DataFrame({**columns("q{}", np.rad2deg(q)), **columns("tau{}_Nm", tau)}).to_csv("log.csv", index=False)
    answers = {"position unit": "rad", "rate": "200"}
    pipelines.init("arm.urdf", ["log.csv"], ask=lambda question: answers.get(question.key, question.guess))
    said = (here / "dataset.toml").read_text(encoding="utf-8")
    assert "rad, as answered" in said
    assert "200, as answered" in said
    assert "in rad they would leave" not in said


@pytest.mark.parametrize(
    ("unit", "counts"), [("mN m", 1e3), ("kgf m", 1 / 9.80665), ("lbf in", 8.8507), ("kgf cm", 10.19716), ("N m", 1.0)]
)
def test_a_factor_that_all_joints_have_is_the_unit_that_it_is(here, unit, counts):
    arm(here, masses=(6.0, 9.0, 5.0))
    t, q, _, tau = log(here)
    pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", counts * tau)}).to_csv("log.csv", index=False)
    pipelines.init("arm.urdf", ["log.csv"])
    np.testing.assert_allclose(read(here)[0].tau[:, 1], tau[: len(read(here)[0].tau), 1], atol=1e-3)
    text = (here / "dataset.toml").read_text(encoding="utf-8")
    assert f'unit = "{unit}"' in text
    assert ("guessed = true" in text) == (unit != "N m")
    assert ("as in kgf cm or lbf in" in text) == (unit == "kgf cm")


def test_friction_tells_a_torque_of_another_sign_from_a_mistake_of_the_robots_file(here):
    file = arm(here, masses=(6.0, 9.0, 5.0))
    t, q, _, tau = log(here)
    pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}_Nm", tau * [-1, -1, 1])}).to_csv("a.csv", index=False)
    pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}_Nm", tau)}).to_csv("b.csv", index=False)
    ((question, answer),) = pipelines.init("arm.urdf", ["a.csv"]).answers
    assert answer == "-1, -1, 1"  # of the vertical joint, too, whose bodies say nothing
    assert "the sign of j_one, j_two is the other one, for friction would drive the joint" in question.why
    parts = file.read_text().split('xyz="0 0 1"')
    file.write_text('xyz="0 0 1"'.join(parts[:2]) + 'xyz="0 0 -1"' + 'xyz="0 0 1"'.join(parts[2:]))
    for name in ("dataset.toml", "experiment.toml"):
        (here / name).unlink()
    ((question, answer),) = pipelines.init("arm.urdf", ["b.csv"]).answers
    assert answer == "1, 1, 1"
    assert (
        "one sign at j_two, the bodies for the other: gravity, an axis, a zero or a sign in the robot file may be"
        in question.why
    )
    assert "so much the bodies" not in question.why  # who would not ask for 1, 1, 1


def test_bodies_whose_centre_of_mass_is_next_to_the_axis_ask_for_no_other_sign(here):
    file = arm(here, masses=(6.0, 9.0, 9.0))
    head, _, tail = file.read_text().rpartition('xyz="0.1 0.02 0.05"')
    file.write_text(f'{head}xyz="-0.04 0 0.05"{tail}')
    t, q, _, tau = log(here, seconds=24.0, period=12.0)
    file.write_text(f'{head}xyz="0.002 0 0.05"{tail}')
    said = evidence(read_urdf(file), read_urdf(file).inertials, t, q, tau)
    assert said.ratio[2, 2] < 0 < said.sign[2, 2]
    pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}_Nm", tau)}).to_csv("log.csv", index=False)
    assert not pipelines.init("arm.urdf", ["log.csv"]).answers


@pytest.mark.parametrize("side", ["", "right"])
def test_names_that_joints_of_two_arms_end_in_are_asked_about(here, side):
    ends = ("s0", "e0", "w0")
    left, right = ([f"{word}_{end}" for end in ends] for word in ("left", "right"))
    links = "".join(LINK.format(name=n, mass=3.0) for n in "def")
    places = zip(right, ("base", "d", "e"), "def", (0, 1.5708, 0), strict=True)
    other = "".join(JOINT.format(name=n, parent=p, child=c, roll=r, speed=3.0) for n, p, c, r in places)
    arm(here, links + other, names=left)
    t, q, _, tau = log(here, names=left)
    signals = {f"{end}_{what}": x[:, k] for what, x in (("pos", q), ("torque", tau)) for k, end in enumerate(ends)}
    pd.DataFrame({"time": t, **signals}).to_csv("log.csv", index=False)
    found = pipelines.init(
        "arm.urdf", ["log.csv"], ask=lambda question: side if question.key == "side" and side else None
    )
    assert (found.answers[0][0].text, found.answers[0][1]) == ("Whose joints are s0, e0, w0?", side or "left")
    assert read(here)[1].joint_names == tuple(right if side else left)
    assert ("side" in found.guessed) is not bool(side)
    said = (here / "dataset.toml").read_text(encoding="utf-8")
    assert (
        "right, as answered" if side else "of left: left and right have such joints, and the first is a GUESS"
    ) in said


def test_measured_and_commanded_positions_without_names_are_asked_about(here):
    arm(here)
    t, q, qd, tau = log(here)
    np.savetxt("log.csv", np.column_stack([t, np.roll(q, 3, axis=0), q, qd, tau])[5:], delimiter=",")
    found = pipelines.init("arm.urdf", ["log.csv"])
    assert "positions" in keys(found)
    assert read(here)[2].recordings[0].position.columns == (5, 6, 7)


def test_a_rate_that_no_column_says_follows_from_the_velocities_else_is_asked(here):
    arm(here)
    t, q, qd, tau = log(here, rate=250.0)
    measured = columns("q{}_rad", q) | columns("tau{}_Nm", tau)
    pd.DataFrame({"sample": np.arange(len(t)), **measured, **columns("dq{}_rad_s", qd)}).to_csv("a.csv", index=False)
    pd.DataFrame(measured).to_csv("b.csv", index=False)
    for name, wanted in (("a", []), ("b", ["rate"])):
        found = pipelines.init("arm.urdf", [f"{name}.csv"], ask=lambda q: "250" if q.key == "rate" else q.guess)
        assert keys(found) == wanted
        assert read(here)[0].rate_hz == pytest.approx(250, rel=0.01)
        assert not read(here)[2].recordings[0].time.guessed
        for path in found.files:
            path.unlink()


@pytest.mark.parametrize("moves", [True, False])
def test_a_joint_that_mimics_one_that_moves_is_said_not_to_be_modelled(here, moves):
    twin = FINGER.replace('"finger', '"thumb').replace("<axis", '<mimic joint="finger_joint"/><axis')
    file = arm(here, FINGER)
    file.write_text(file.read_text().replace("</robot>", f"{twin}</robot>"))
    t, q, _, tau = log(here, names=("j_one", "j_two", "j_three"))
    finger = {"q_finger_joint": 0.02 + 0.015 * np.sin(t), "tau_finger_joint": np.sign(np.cos(t))} if moves else {}
    names = ("j_one", "j_two", "j_three")
    signals = {f"{key}_{j}": x[:, k] for key, x in (("q", q), ("tau", tau)) for k, j in enumerate(names)}
    pd.DataFrame({"t": t, **signals, **finger}).to_csv("log.csv", index=False)
    told = " ".join(pipelines.init("arm.urdf", ["log.csv"]).told)
    assert ("thumb_joint mimics finger_joint and is not modelled" in told) == moves


def test_joints_without_columns_are_locked_in_a_robot_toml(here):
    arm(here, FINGER)
    t, q, _, tau = log(here)
    pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", tau)}).to_csv("log.csv", index=False)
    pipelines.init("arm.urdf", ["log.csv"])
    read_log, robot, _ = read(here)
    assert robot.joint_names == ("j_one", "j_two", "j_three")
    assert "no column: finger_joint" in (here / "robot.toml").read_text()
    np.testing.assert_allclose(read_log.q, q, atol=1e-9)
    for name in ("robot.toml", "dataset.toml", "experiment.toml"):
        (here / name).unlink()
    table = {"t": t, **columns("q{}", q[:, :2]), **columns("tau{}", tau[:, :2])}
    pd.DataFrame(table).to_csv("log.csv", index=False)
    found = pipelines.init("arm.urdf", ["log.csv"], ask=lambda q: "j_one, j_two" if q.key == "joints" else q.guess)
    assert "joints" in keys(found)  # which two of three, nobody can know
    assert read(here)[1].joint_names == ("j_one", "j_two")
    assert not read(here)[2].recordings[0].position.guessed


@pytest.mark.slow
def test_a_rate_and_joints_that_nobody_says_are_guesses_and_a_run_says_so_first(here):
    arm(here)
    _, q, _, tau = log(here, rate=250.0)
    pd.DataFrame({**columns("q{}", q[:, :2]), **columns("tau{}", tau[:, :2])}).to_csv("log.csv", index=False)
    pipelines.init("arm.urdf", ["log.csv"])
    (first, *_) = read(here)[2].recordings
    assert (first.time.guessed, first.position.guessed) == (True, True)
    causes = pipelines.run(here).estimate.causes
    assert [c.where for c in causes] == ["time", "position"]
    assert all("is a guess" in c.what for c in causes)
    assert first.time.rate_hz is not None
    assert causes[0].what.startswith(f"the rate of {first.time.rate_hz:g} Hz")


@pytest.mark.parametrize(("gains", "guessed"), [((1.0, 1.0, 1.0), (1, 1, 1)), ((1.0, 4.0, 1.0), None)])
def test_currents_that_count_like_newton_metres_at_every_joint_are_taken_for_these(here, gains, guessed):
    arm(here, masses=(6.6, 4.4, 1.9))
    t, q, _, tau = log(here)
    arm(here)  # in the description they are a little off
    pd.DataFrame({"t": t, **columns("q{}", q), **columns("current{}", tau / gains)}).to_csv("log.csv", index=False)
    found = pipelines.init("arm.urdf", ["log.csv"])
    (answer,) = [a for question, a in found.answers if question.key == "gain"]
    given = tuple(float(x) for x in answer.split(",")) if isinstance(answer, str) else tuple(answer)
    assert given == guessed if guessed else given[1] > 3.0 * given[2]  # nothing weighs on the first
    assert read(here)[2].recordings[0].torque.guessed == (guessed is None)


def test_columns_beyond_the_joints_of_the_robot_are_left_aside_and_named(here):
    arm(here)
    t, q, qd, tau = log(here)
    more = 0.2 * np.sin(t)[:, None]  # of a gripper that the file does not have
    q, qd, tau = (np.column_stack([x, more]) for x in (q, qd, tau))
    table = {"t": t, **columns("q{}", q), **columns("qd{}", qd), **columns("tau{}", tau)}
    pd.DataFrame(table).to_csv("log.csv", index=False)
    pipelines.init("arm.urdf", ["log.csv"])
    read_log, robot, _ = read(here)
    assert robot.joint_names == ("j_one", "j_two", "j_three")
    for found, written in ((read_log.q, q), (read_log.qd, qd), (read_log.tau, tau)):
        np.testing.assert_allclose(found, written[:, :3], atol=1e-9)
    assert "NOTE: the robot has 3 joints that move by themselves, so q4" in (here / "dataset.toml").read_text()


@pytest.mark.parametrize("place", [1, 4])
@pytest.mark.parametrize("force", ["Drehmoment", "Kraft"])
def test_a_joint_that_slides_is_read_in_units_of_its_own(here, place, force):
    arm(here, FINGER)
    t, q, qd, tau = log(here, names=("j_one", "j_two", "j_three"))
    at, change = 0.02 + 0.015 * np.sin(3 * t), 0.045 * np.cos(3 * t)
    slow = 20 * np.tanh(change / 0.001) + 100 * change
    table = {"Zeit [s]": t}
    for turns, values, slides, own in (
        ("Istposition Achse {} [deg]", np.rad2deg(q), "Istposition Achse {} [mm]", 1e3 * at),
        ("Istdrehzahl Achse {} [deg/s]", np.rad2deg(qd), "Istgeschwindigkeit Achse {} [mm/s]", 1e3 * change),
        ("Drehmoment Achse {} [Nm]", tau, force + " Achse {} [N]", slow),
    ):
        left = iter(values.T)
        table |= {
            slides.format(k) if k == place else turns.format(k): own if k == place else next(left) for k in range(1, 5)
        }
    pd.DataFrame(table).to_csv("log.csv", index=False)
    pipelines.init("arm.urdf", ["log.csv"])
    read_log, robot, manifest = read(here)
    assert robot.joint_names == ("j_one", "j_two", "j_three", "finger_joint")
    signals = manifest.recordings[0]
    assert signals.position.unit == ("deg", "deg", "deg", "mm")
    assert signals.velocity.unit == ("deg/s", "deg/s", "deg/s", "mm/s")
    assert signals.torque.unit == ("N m", "N m", "N m", "N")
    rows = slice(0, len(read_log.t))
    np.testing.assert_allclose(read_log.q, np.column_stack([q, at])[rows], atol=1e-5)
    np.testing.assert_allclose(read_log.tau, np.column_stack([tau, slow])[rows], atol=1e-5)


def test_joints_that_no_name_says_are_those_whose_limits_and_bodies_fit(here):
    """Wheels and a head come first in the file; the log is of the arm behind them."""
    before = "".join(
        f'<link name="{c}"/><joint name="{c}_joint" type="{kind}"><parent link="base"/><child link="{c}"/>'
        f'<axis xyz="0 0 1"/><limit lower="-0.3" upper="0.3" velocity="2" effort="20"/></joint>'
        for c, kind in (("wheel", "continuous"), ("pan", "revolute"), ("tilt", "revolute"))
    )
    path = arm(here)
    path.write_text(path.read_text().replace('<joint name="j_one"', before + '<joint name="j_one"'))
    t, q, _, tau = log(here)
    pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", tau)}).to_csv("log.csv", index=False)
    found = pipelines.init("arm.urdf", ["log.csv"])
    (asked,) = (question for question, _ in found.answers if question.key == "joints")
    assert asked.guess == "j_one, j_two, j_three"
    assert "they explain" in asked.why
    assert read(here)[1].joint_names == ("j_one", "j_two", "j_three")


@pytest.mark.parametrize("measured", [True, False])
@pytest.mark.parametrize(("turn", "unit"), [(2 * np.pi, "rad"), (360.0, "deg")])
def test_positions_that_wrap_are_read_as_the_joints_turned(here, turn, unit, measured):
    """As an encoder without turns gives them: each leap would be a torque without end, and friction of another sign."""
    arm(here)
    for name, seed in (("fit", 5), ("other", 6)):
        t, q, qd, tau = log(here, seed=seed)
        values = np.mod(q * turn / (2 * np.pi), turn)
        speeds = qd if measured else np.random.default_rng(seed).normal(size=q.shape)  # which says nothing of units
        pd.DataFrame({"t": t, **columns("q{}", values), **columns("qd{}", speeds), **columns("tau{}", tau)}).to_csv(
            f"{name}.csv", index=False
        )
    pipelines.init("arm.urdf", ["fit.csv", "other.csv"])
    found, _, manifest = read(here)
    recording = manifest.recordings[0]
    assert recording.position.unit == unit
    assert (recording.velocity is not None) == measured
    assert (recording.torque.unit, recording.torque.gain) == ("N m", 1.0)
    np.testing.assert_allclose(np.ptp(found.q, axis=0), np.ptp(log(here, seed=5)[1], axis=0), rtol=1e-3)


def test_stamps_that_jitter_hide_nothing_of_the_torques(here):
    """At 1 kHz a jitter of 0.1 ms is more than the change of the speed: to differentiate over it shows noise."""
    arm(here)
    rng = np.random.default_rng(3)
    t, q, _, tau = log(here, rate=1000.0, seconds=8.0)
    q = np.round(q / 7.7e-4) * 7.7e-4
    robot = read_urdf(here / "arm.urdf")
    jitter = t + rng.normal(scale=1e-4, size=len(t))
    found, true = (evidence(robot, robot.inertials, x, q, tau) for x in (jitter, t))
    np.testing.assert_allclose(found.size, true.size, rtol=0.05)
    np.testing.assert_allclose(found.explained, true.explained, atol=0.02)


def test_files_of_one_recording_belong_together_row_by_row(here):
    arm(here)
    t, q, _, tau = log(here)
    joints = ("j_one", "j_two", "j_three")
    pd.DataFrame({"t": t} | dict(zip(joints, q.T, strict=True))).to_csv("run_pos.csv", index=False)
    pd.DataFrame({"t": t} | dict(zip(joints, tau.T, strict=True))).to_csv("run_torque.csv", index=False)
    pipelines.init("arm.urdf", ["run_pos.csv", "run_torque.csv"])
    read_log, _, manifest = read(here)
    np.testing.assert_allclose(read_log.tau, tau, atol=1e-9)
    assert manifest.recordings[0].torque.file == "run_torque.csv"


def test_of_several_logs_the_one_called_so_or_the_last_is_kept_and_one_that_rests_is_not_fitted(here):
    arm(here)
    for k, name in enumerate(("a", "my_validation", "b", "rest")):
        t, q, _, tau = log(here, seed=k, seconds=6.0)
        q = q[:1] + 0 * q if name == "rest" else q
        pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", tau)}).to_csv(f"{name}.csv", index=False)
    pipelines.init("arm.urdf", ["a.csv", "my_validation.csv", "b.csv", "rest.csv"])
    experiment = ident.read_experiment(here)
    assert (experiment.fit, experiment.validate) == (("a", "b"), ("my_validation",))


def test_a_joint_that_rests_in_every_log_is_locked_where_it_stands(here):
    arm(here)
    for seed, name in enumerate(("one", "two")):
        t, q, _, tau = log(here, seed=seed, seconds=6.0)
        q[:, 1] = 0.4 + 1e-5 * np.random.default_rng(seed).normal(size=len(t))
        pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", tau)}).to_csv(f"{name}.csv", index=False)
    found = pipelines.init("arm.urdf", ["one.csv", "two.csv"])
    assert "j_two rests in every log, at 0.4: robot.toml locks it there" in found.told
    robot, manifest = read(here)[1:]
    assert (robot.joint_names, robot.fixed[0].held) == (("j_one", "j_three"), 0.4)
    assert manifest.recordings[0].torque.columns == ("tau1", "tau3")


def test_a_joint_that_rests_where_none_can_be_locked_is_named_and_not_judged(here):
    arm(here)
    for seed, name in enumerate(("one", "two")):  # elsewhere in each
        t, q, _, tau = log(here, seed=seed, seconds=12.0)
        q[:, 2], tau[:, 2] = 0.4 + seed, 5.0 - 10.0 * seed + 0.05 * np.random.default_rng(seed).normal(size=len(t))
        pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", tau)}).to_csv(f"{name}.csv", index=False)
    told = pipelines.init("arm.urdf", ["one.csv", "two.csv"]).told
    assert "j_three rests in every log, and stays free: nothing is found of its friction and drive" in told
    said = [str(w) for w in pipelines.fit(here, "estimate.json").warnings if w.kind == "at rest"]
    assert len(said) == 1
    beside = 'in robot.toml beside `urdf = "arm.urdf"`: `angle = "rad"` and `lock = { "j_three" = 0.4 }`'
    assert beside in said[0]
    assert tomllib.loads(lines_in(beside)) == {"urdf": "arm.urdf", "angle": "rad", "lock": {"j_three": 0.4}}
    kept = pipelines.validate("estimate.json", here).validation
    assert not np.isfinite(kept.total("identified").relative[2])


def test_a_log_of_fewer_joints_is_fitted_too(here):
    arm(here)
    for k, (name, moving) in enumerate((("a", [1, 1, 1]), ("sweep", [1, 0, 0]), ("b", [1, 1, 1]))):
        t, q, _, tau = log(here, seed=k, seconds=6.0)
        pd.DataFrame({"t": t, **columns("q{}", q * moving), **columns("tau{}", tau)}).to_csv(f"{name}.csv", index=False)
    found = pipelines.init("arm.urdf", ["a.csv", "sweep.csv", "b.csv"])
    experiment = ident.read_experiment(here)
    assert (experiment.fit, experiment.validate) == (("a", "sweep"), ("b",))
    assert "sweep: 1 of 3 joints moves" in found.told


def test_logs_of_some_joints_each_are_fitted_where_together_they_move_all(here):
    arm(here)
    for name, moving in (("a", [1, 0, 1]), ("b", [0, 1, 0]), ("all", [1, 1, 1])):
        t, q, _, tau = log(here, seed=len(name), seconds=6.0)
        pd.DataFrame({"t": t, **columns("q{}", q * moving), **columns("tau{}", tau)}).to_csv(f"{name}.csv", index=False)
    pipelines.init("arm.urdf", ["a.csv", "b.csv", "all.csv"])
    experiment = ident.read_experiment(here)
    assert (experiment.fit, experiment.validate) == (("a", "b"), ("all",))


def test_arrays_of_npz_and_columns_of_parquet_are_read_too(here):
    arm(here)
    t, q, qd, tau = log(here)
    np.savez("log.npz", stamp=t, pos=q, vel=qd, torque=tau, gains=np.ones(3))
    pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", tau)}).to_parquet("log.parquet")
    for name in ("log.npz", "log.parquet"):
        found = pipelines.init("arm.urdf", [name])
        np.testing.assert_allclose(read(here)[0].tau, tau, atol=1e-12)
        for path in found.files:
            path.unlink()


@pytest.mark.parametrize("fixed", [False, True])
def test_lists_of_one_length_in_parquet_are_columns_and_others_are_named(here, fixed):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    arm(here)
    t, q, _, tau = log(here)
    form = pa.list_(pa.float64(), N) if fixed else pa.list_(pa.float64())
    lists = {"observation.state": q, "observation.effort": tau, "action": q + 0.01 * np.sin(t)[:, None]}
    table = {"timestamp": t, **{name: pa.array(x.tolist(), form) for name, x in lists.items()}}
    pq.write_table(pa.table(table | {"boxes": [[0.0] * (k % 2 + 1) for k in range(len(t))]}), "log.parquet")
    told = pipelines.init("arm.urdf", ["log.parquet"]).told
    found, *_ = read(here)
    np.testing.assert_allclose(found.q, q, atol=1e-9)
    np.testing.assert_allclose(found.tau, tau, atol=1e-9)
    assert "log.parquet: left out: column 'boxes' holds lists of 1 and 2 numbers" in told
    dataset = here / "dataset.toml"
    dataset.write_text(dataset.read_text("utf-8").replace("[1, 2, 3]", "[1, 2, 4]"), "utf-8")
    with pytest.raises(LogError, match=r"column 'observation\.state' holds lists of 3 numbers"):
        read(here)


@pytest.mark.parametrize("kind", KINDS)
def test_a_bag_is_read_by_way_of_a_table_that_is_left_only_where_all_goes_well(here, kind):
    arm(here)
    t, q, qd, tau = log(here)
    names, stamps = ("j_one", "j_two", "j_three"), np.rint(1.7e18 + t * 1e9).astype(np.int64).tolist()
    states = [("/joint_states", ns + 1000, names, ns, *rows) for ns, *rows in zip(stamps, q, qd, tau, strict=True)]
    write_bag(here / "drive", kind, states)
    written = pipelines.init("arm.urdf", [str(here / ("drive.bag" if kind == "bag" else "drive"))])
    assert written.files[0].name == "drive.parquet"
    np.testing.assert_allclose(read(here)[0].tau, tau)
    for path in written.files:
        path.unlink()
    write_bag(here / "half", kind, [(*state[:6], ()) for state in states])
    with pytest.raises(LogError, match="effort"):
        pipelines.init(
            "arm.urdf", [str(here / f"{name}{'.bag' if kind == 'bag' else ''}") for name in ("drive", "half")]
        )
    assert not list(here.glob("*.parquet"))
    (here / "drive.parquet").write_bytes(b"mine")
    with pytest.raises(LogError, match="is there already, and is not overwritten"):
        pipelines.init("arm.urdf", [str(here / ("drive.bag" if kind == "bag" else "drive"))])
    assert (here / "drive.parquet").read_bytes() == b"mine"


def test_of_several_topics_of_a_bag_the_one_that_is_meant_is_asked(here):
    arm(here)
    t, q, qd, tau = log(here)
    names, stamps = ("j_one", "j_two", "j_three"), np.rint(1.7e18 + t * 1e9).astype(np.int64).tolist()
    states = [("/arm", ns, names, ns, *rows) for ns, *rows in zip(stamps, q, qd, tau, strict=True)]
    hand = [("/hand", ns + 1, ("f_one", "f_two"), ns, *np.ones((3, 2))) for ns in stamps[::2]]
    write_bag(here / "drive", "mcap", states + hand)
    guessed = pipelines.init("arm.urdf", ["drive"])  # the topic of most messages
    assert "topic" in guessed.guessed
    np.testing.assert_allclose(read(here)[0].tau, tau)
    for path in guessed.files:
        path.unlink()
    fewer = [("/other", *state[1:]) for state in states[:1500]]
    write_bag(here / "twice", "mcap", states + hand + fewer)
    answers = {"topic": "/other"}
    done = pipelines.init("arm.urdf", ["twice"], ask=lambda question: answers.get(question.key, ""))
    (question,) = [question for question, _ in done.answers if question.key == "topic"]
    assert (question.guess, question.choices) == ("/arm", ("/arm", "/hand", "/other"))
    np.testing.assert_allclose(read(here)[0].tau, tau[:1500])


def test_nothing_is_overwritten_and_nothing_is_left_of_what_fails(here):
    arm(here)
    t, q, _, _ = log(here)
    pd.DataFrame({"t": t, **columns("q{}", q)}).to_csv("half.csv", index=False)
    with pytest.raises(LogError, match="no columns are found that are torques or currents"):
        pipelines.init("arm.urdf", ["half.csv"])
    assert not list(here.glob("*.toml"))
    (here / "dataset.toml").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=re.escape("is there already, and is not overwritten")):
        pipelines.init("arm.urdf", ["half.csv"])
    assert (here / "dataset.toml").read_text(encoding="utf-8") == "mine"
    with pytest.raises(IdentError, match="no log is given"):
        pipelines.init("arm.urdf", [], into=here / "other")


def test_without_a_robot_its_file_is_written_to_be_filled_in(here, capsys, monkeypatch):
    arm(here)
    t, q, _, tau = log(here)
    pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", tau)}).to_csv("run.csv", index=False)
    command(monkeypatch, "init", "run.csv")
    assert "Next: ident init robot.toml run.csv\n" in capsys.readouterr().out
    text = (here / "robot.toml").read_text(encoding="utf-8")
    assert "# 3, as run.csv has positions or torques" in text
    assert [p.name for p in here.glob("*.toml")] == ["robot.toml"]
    joints = "of joint1, joint2, joint3"
    for value, said in (
        ('convention = "dh"', f"not filled in: convention; length; angle; a, alpha, d {joints}"),
        ('length = "m"', f"not filled in: length; angle; a, alpha, d {joints}"),
        ('angle = "deg"', f"not filled in: angle; a, alpha, d {joints}"),
        ("a = 0.3", f"not filled in: a, alpha, d {joints}"),
        ("alpha = 90", f"not filled in: alpha, d {joints}"),
        ("d = 0", f"not filled in: d {joints}"),
    ):
        with pytest.raises(IdentError, match=said):
            pipelines.init("robot.toml", ["run.csv"])
        key = re.match(r"\w+ = ", value)[0]
        text = re.sub(rf'^{key}"\?"', value, text, flags=re.MULTILINE)
        (here / "robot.toml").write_text(text, encoding="utf-8")
    started = pipelines.init("run.csv", ["robot.toml"])  # in any order
    assert [p.name for p in started.files] == ["dataset.toml", "experiment.toml"]
    assert started.next == "ident run ."


def test_a_robot_to_be_filled_in_has_a_joint_where_columns_have_no_names(here):
    arm(here)
    t, q, _, tau = log(here)
    np.savetxt("run.csv", np.column_stack([t, q, tau]), delimiter=",")
    (told,) = pipelines.init("run.csv").told
    assert told.endswith("robot.toml has 1 joint; put values in the place of every ?")
    assert "one such table for each joint" in (here / "robot.toml").read_text(encoding="utf-8")
    with pytest.raises(InputError, match=re.escape("is there already, and is not overwritten")):
        pipelines.init("run.csv")


def test_a_clock_that_starts_again_makes_several_recordings_of_a_file(here):
    arm(here)
    logs = [log(here, seed=k) for k in range(3)]
    for name, parts in {"train": (0, 1), "test": (2, 0)}.items():
        t, q, _, tau = (np.concatenate([logs[k][i] for k in parts]) for i in range(4))
        pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", tau)}).to_csv(f"{name}.csv", index=False)
    found = pipelines.init("arm.urdf", ["train.csv", "test.csv"])
    said = "CUT: its clock starts again, 1 time: rows 1-2400, 2401-4800 are recordings of their own"
    assert found.told[:2] == (f"train: {said}", f"test: {said}")
    experiment = ident.read_experiment(here)
    assert experiment.fit == ("train-part1", "train-part2")
    assert experiment.validate == ("test-part1", "test-part2")


def stamped(t, form, start="2026-03-04T23:59:55"):
    """Return times as text."""
    return [form(x) for x in np.datetime64(start, "us") + np.round(t * 1e6).astype("timedelta64[us]")]


@pytest.mark.parametrize(
    "form",
    [
        str,
        lambda x: f"{x}Z",
        lambda x: f"{x}+02:00",
        lambda x: str(x).replace("T", " "),
        lambda x: f"{x.item():%d.%m.%Y %H:%M:%S.%f}",
        lambda x: str(x)[11:],
        pd.Timestamp,  # as Parquet has it
    ],
)
def test_time_stamps_as_text_are_the_time_and_go_on_after_midnight(here, form):
    arm(here)
    t, q, _, tau = log(here)
    frame = pd.DataFrame({"stamp": stamped(t, form)} | columns("q{}", q) | columns("tau{}", tau))
    frame.to_csv("run.csv", index=False)
    if form is pd.Timestamp:
        frame.to_parquet("run.parquet")
    pipelines.init("arm.urdf", ["run.parquet" if form is pd.Timestamp else "run.csv"])
    found, _, manifest = read(here)
    assert manifest.recordings[0].time.unit == "datetime"
    np.testing.assert_allclose(found.t, t - t[0], atol=1e-6)
    name, robot = manifest.recordings[0].name, ident.read_robot(here / "arm.urdf")
    assert span(manifest, name, robot, 500) == (len(t), pytest.approx(t[-1] - t[0]))
    parts = list(iter_logs(manifest, name, robot, rows=500))
    np.testing.assert_allclose(np.concatenate([p.t for p in parts]), t - t[0], atol=1e-6)


def test_a_date_that_is_none_is_told_with_its_line(here):
    arm(here)
    t, q, _, tau = log(here)
    frame = pd.DataFrame({"stamp": stamped(t, str)} | columns("q{}", q) | columns("tau{}", tau))
    frame.loc[900, "stamp"] = "2026-13-04T10:11:12"
    frame.to_csv("run.csv", index=False)
    with pytest.raises(LogError, match=r"902: there is no such date as '2026-13-04T10:11:12'"):
        pipelines.init("arm.urdf", ["run.csv"])


@pytest.mark.parametrize("names", ["header.stamp.sec header.stamp.nanosec", "secs nsecs", "tv_sec tv_usec"])
def test_a_clock_in_two_columns_is_put_together(here, names):
    arm(here)
    t, q, _, tau = log(here)
    whole, rest = names.split()
    ticks = 1_772_000_000_000_000_000 + np.round(t * 1e9).astype(np.int64)
    per = 1000 if "usec" in rest else 1
    clock = {whole: ticks // 10**9, rest: ticks % 10**9 // per}
    pd.DataFrame(clock | columns("q{}", q) | columns("tau{}", tau)).to_csv("run.csv", index=False)
    pipelines.init("arm.urdf", ["run.csv"])
    found, _, manifest = read(here)
    assert manifest.recordings[0].time.columns == (whole, rest)
    np.testing.assert_allclose(found.t, t - t[0], atol=1e-6)


def test_words_for_missing_numbers_and_lines_that_are_no_rows_are_left_out(here):
    arm(here)
    t, q, _, tau = log(here)
    frame = pd.DataFrame({"t": t} | columns("q{}", q) | columns("tau{}", tau)).astype(object)
    for row, word in enumerate(("-", "--", "NULL", "#N/A", "n.a."), start=20):
        frame.iloc[30 * row, 1 + row % 5] = word
    rows = frame.to_csv(index=False).splitlines()
    rows[1400:1400] = [rows[0], "# a pause"]
    (here / "run.csv").write_text("\n".join(["# made by hand", *rows, ""]))
    told = pipelines.init("arm.urdf", ["run.csv"]).told
    found, *_ = read(here)
    assert "run.csv: 2 lines that repeat what stands above the rows, or begin with #: left out" in told
    assert len(found.t) == len(t) - 5


def test_a_clock_that_starts_again_below_a_repeated_header_makes_two_recordings(here):
    arm(here)
    t, q, _, tau = log(here)
    rows = pd.DataFrame({"t": t} | columns("q{}", q) | columns("tau{}", tau)).to_csv(index=False).splitlines()
    (here / "run.csv").write_text("\n".join([*rows, *rows, ""]))
    pipelines.init("arm.urdf", ["run.csv"])
    found, _, manifest = read(here)
    assert len(manifest.recordings) == 2
    np.testing.assert_allclose(found.q, q)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
def test_a_mark_of_its_encoding_is_obeyed(here, encoding):
    arm(here)
    t, q, _, tau = log(here)
    text = pd.DataFrame({"Zeit [s]": t} | columns("Größe q{}", q) | columns("tau{}", tau)).to_csv(index=False)
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (here / "run.csv").write_bytes((mark + text).encode(encoding))
    pipelines.init("arm.urdf", ["run.csv"])
    found, *_ = read(here)
    np.testing.assert_allclose(found.q, q)


def test_rows_of_zeros_in_a_moving_log_are_lost_packets(here):
    arm(here)
    t, q, _, tau = log(here)
    both = np.column_stack([q, tau])
    gone = np.concatenate([np.arange(k, k + 1 + k % 4) for k in range(205, 2200, 250)])
    both[gone] = 0.0
    pd.DataFrame({"t": t} | columns("q{}", both[:, :3]) | columns("tau{}", both[:, 3:])).to_csv("run.csv", index=False)
    told = pipelines.init("arm.urdf", ["run.csv"]).told
    found, *_ = read(here)
    assert f"all signals are zero in {len(gone)} rows of a moving robot" in " ".join(told)
    np.testing.assert_allclose(found.q, np.delete(q, gone, axis=0))
    assert f"{len(gone)} rows in which all signals are zero, though the robot moves, left out" in " ".join(found.notes)


def test_a_row_of_zeros_of_a_robot_that_passes_there_is_kept(here):
    arm(here)
    t = np.arange(1200) / 200.0
    q = np.repeat(np.sin(t - t[600])[:, None], 3, axis=1)
    assert not lost([*q.T, *np.zeros((3, 1200))], list(q.T)).any()


def test_of_two_clocks_the_one_on_which_positions_are_smooth_is_taken_and_the_other_named(here):
    arm(here)
    t, q, qd, tau = log(here)
    host = np.maximum.accumulate(t + np.random.default_rng(3).exponential(0.004, len(t)))
    clock = {"host_time_ns": (host * 1e9).astype(np.int64), "robot_time": 1e3 * t}
    signals = columns("q{}", q) | columns("qd{}", qd) | columns("tau{}", tau)
    pd.DataFrame(clock | signals).to_csv("run.csv", index=False)
    told = pipelines.init("arm.urdf", ["run.csv"]).told
    assert "host_time_ns not used: positions are less smooth on it" in " ".join(told)
    found, *_ = read(here)
    np.testing.assert_allclose(found.t, t - t[0], atol=1e-9)


def test_why_a_column_that_is_called_time_is_not_used_is_said(here):
    arm(here)
    t, q, qd, tau = log(here)
    signals = columns("q{}", q) | columns("qd{}_rad_s", qd) | columns("tau{}", tau)
    pd.DataFrame({"time": np.floor(t * 100) / 100} | signals).to_csv("run.csv", index=False)
    told = " ".join(pipelines.init("arm.urdf", ["run.csv"]).told)
    assert "time cannot be the time, for it has the stamp of the row before in 50 % of the rows" in told


@pytest.mark.parametrize("pattern", ["{}[{}]", "{}_{}", "/joint_states/{}.{}"])
def test_columns_of_names_say_the_order_of_the_joints(here, pattern):
    arm(here)
    t, q, qd, tau = log(here)
    names, order = ("j_one", "j_two", "j_three"), (2, 0, 1)
    signals = {pattern.format("name", k): [names[j]] * len(t) for k, j in enumerate(order)}
    for key, x in (("position", q), ("velocity", qd), ("effort", tau)):
        signals |= {pattern.format(key, k): x[:, j] for k, j in enumerate(order)}
    pd.DataFrame({"stamp": t} | signals).to_csv("run.csv", index=False)
    told = " ".join(pipelines.init("arm.urdf", ["run.csv"]).told)
    assert "the order of the joints is what its columns of names say: j_three, j_one, j_two" in told
    np.testing.assert_allclose(read(here)[0].q, q)


def test_positions_that_an_encoder_counts_are_asked_about(here):
    arm(here)
    t, q, _, tau = log(here)
    turn = np.array([2**20, -(2**20), 3 * 2**19])
    counts = columns("q{}", np.round((q - [0.1, 0, 0]) / (2 * np.pi) * turn) + 0.0)
    pd.DataFrame({"t": t, **counts, **columns("tau{}", tau)}).to_csv("log.csv", index=False)
    with pytest.raises(InputError, match="nobody has said how many counts of the encoders are a turn"):
        pipelines.init("arm.urdf", ["log.csv"])
    answers = {"counts": ", ".join(map(str, turn)), "zeros": "0.1, 0, 0"}
    pipelines.init("arm.urdf", ["log.csv"], ask=lambda question: answers.get(question.key))
    np.testing.assert_allclose(read(here)[0].q, q, atol=4e-6)


def test_long_gaps_end_a_stretch_and_a_torque_of_zero_is_no_reason_to_fail(here):
    arm(here)
    t, q, _, tau = log(here)
    hole = q.copy()
    hole[45:51, 1] = np.nan
    pd.DataFrame({"t": t, **columns("q{}", hole), **columns("tau{}", tau)}).to_csv("log.csv", index=False)
    found = pipelines.init("arm.urdf", ["log.csv"])
    assert found.told[0] == "log: CUT: numbers are missing, and only rows 52-2400 are used"
    np.testing.assert_allclose(read(here)[0].q, q[51:], atol=1e-9)
    manifest = read(here)[2]
    kept = [part.rows for name in ("log-first", "log-last") for part in [manifest.recording(name)]]
    assert 52 <= kept[0][0] < kept[0][1] + 1 == kept[1][0] < kept[1][1] <= 2400
    for path in found.files:
        path.unlink()
    hole[1000:1013, 0] = np.nan
    pd.DataFrame({"t": t, **columns("q{}", hole), **columns("tau{}", tau)}).to_csv("log.csv", index=False)
    for path in pipelines.init("arm.urdf", ["log.csv"]).files:
        experiment = ident.read_experiment(here) if path.name == "experiment.toml" else None
        assert experiment is None or (experiment.fit, experiment.validate) == (("log-part1",), ("log-part2",))
    for path in found.files:
        path.unlink()
    hole[::10, 2] = hole[5::10, 0] = hole[1::5, 1] = hole[2::5, 1] = np.nan  # positions, and torques where these are
    missing = np.where(np.arange(len(tau))[:, None] % 5 > 2, np.nan, tau)
    pd.DataFrame({"t": t, **columns("q{}", hole), **columns("tau{}", missing)}).to_csv("log.csv", index=False)
    with pytest.raises(LogError, match="no finite number at"):
        pipelines.init("arm.urdf", ["log.csv"])
    pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", 0 * tau)}).to_csv("log.csv", index=False)
    assert "gain" in keys(pipelines.init("arm.urdf", ["log.csv"]))


def test_columns_without_a_number_are_said_and_torques_may_begin_late(here):
    arm(here)
    t, q, _, tau = log(here)
    late = np.where(np.arange(len(t))[:, None] < 150, np.nan, tau)
    frame = pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", late)}).assign(spare=np.nan)
    frame.to_csv("log.csv", index=False)
    found = pipelines.init("arm.urdf", ["log.csv"])
    assert "log.csv: left out, for no number is in it: spare" in found.told
    assert "log: CUT: numbers are missing, and only rows 151-2400 are used" in found.told
    for path in found.files:
        path.unlink()
    frame.assign(**{f"q{k}": np.nan for k in (1, 2, 3)}).to_csv("none.csv", index=False)
    with pytest.raises(LogError, match="no columns are found that are") as caught:
        pipelines.init("arm.urdf", ["none.csv"])
    assert caught.value.__notes__ == ["none.csv: left out, for no number is in it: q1, q2, q3, spare"]


def test_a_position_that_is_missing_beside_a_robot_file_is_said(here):
    arm(here)
    (here / "robot.toml").write_text('urdf = "arm.urdf"\n', encoding="utf-8")
    t, q, _, tau = log(here)
    frame = pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", tau)})
    for gone in ("q3", "q1"):
        frame.drop(columns=gone).to_csv("log.csv", index=False)
        with pytest.raises(LogError, match=r"are positions of \d joints?, the robot file has"):
            pipelines.init("robot.toml", ["log.csv"])
        assert not (here / "dataset.toml").exists()


@pytest.mark.parametrize(
    ("kind", "angle", "felt"),
    [("slides", 0.0, 49.05), ("slides", 90.0, 0.0), ("turns", 0.0, 0.0), ("turns", 90.0, 4.905)],
)
def test_one_axis_needs_no_robot_file_but_two_answers(here, kind, angle, felt):
    t = np.arange(4000) / 200.0
    q, qdd = 0.3 * np.sin(2 * t) + 0.1 * np.sin(5 * t), -1.2 * np.sin(2 * t) - 2.5 * np.sin(5 * t)
    pd.DataFrame({"t": t, "pos": q, "force": 5.0 * qdd}).to_csv("log.csv", index=False)
    assert pipelines.init("log.csv", into="guessed").next == "ident init guessed/robot.toml log.csv"  # nobody answers
    with pytest.raises(IdentError, match="not filled in: convention; length; angle; a, alpha, d of joint1"):
        ident.read_robot(here / "guessed" / "robot.toml")
    answers = {"kind": kind, "axis": f"{angle:g}"}
    found = pipelines.init("log.csv", [], into=".", ask=lambda question: answers.get(question.key, ""))
    assert [path.name for path in found.files] == ["robot.toml", "dataset.toml", "experiment.toml"]
    robot = read(here)[1]
    assert robot.joints[0].slides == (kind == "slides")
    body = np.array([[5.0, 0.5, 0, 0, 1, 0, 0, 1, 0, 1]])  # kg, kg m, kg m^2
    still = inverse_dynamics(robot, body, *np.zeros((3, 1, 1)))
    assert abs(still[0, 0]) == pytest.approx(felt, abs=1e-9)


def test_a_written_robot_goes_where_the_rest_fails(here):
    t = np.arange(400) / 200.0
    pd.DataFrame({"t": t, "pos": np.sin(t)}).to_csv("log.csv", index=False)
    with pytest.raises(LogError, match="no columns are found that are torques"):
        pipelines.init("log.csv", [], into=".", ask=lambda question: "")
    assert [path.name for path in here.iterdir()] == ["log.csv"]


def test_what_run_stops_at_in_reports_and_tables_is_told(here):
    """A folder without a report of each link, with one too many, or whose products have no sign; foreign columns."""
    arm(here)
    t, q, _, tau = log(here)
    pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", tau)}).to_csv("log.csv", index=False)
    undecided = pathlib.Path(__file__).parent / "broken" / "cad_reports" / "sign_undecided.txt"
    sound = pathlib.Path(__file__).parents[1] / "datasets" / "arm5" / "reports" / "link1.txt"
    links = read_urdf(here / "arm.urdf").links

    def problem(cad: str) -> str:
        started = pipelines.init("arm.urdf", ["log.csv", cad])
        for file in started.files:
            file.unlink()
        told = [said.removeprefix("PROBLEM, which `ident run` will stop at: ") for said in started.told]
        return next((said for said, whole in zip(told, started.told, strict=True) if said != whole), "")

    (here / "reports").mkdir()
    for link in links:
        shutil.copy(sound, here / "reports" / f"{link}.txt")
    assert problem("reports") == ""
    shutil.copy(sound, here / "reports" / f"{links[0]}_motor.txt")
    assert f"the robot has no link '{links[0]}_motor'" in problem("reports")
    (here / "reports" / f"{links[0]}_motor.txt").unlink()
    (here / "reports" / f"{links[0]}.txt").unlink()
    assert f"no row for '{links[0]}'" in problem("reports")
    shutil.copy(undecided, here / "reports" / f"{links[0]}.txt")
    assert "`ident cad read FOLDER --products tensor -o cad.csv`, then cad = " in problem("reports")
    (here / "cad.csv").write_text("Glied;Masse [kg];Ixx [kg mm²];Ixy;Ixz;Iyy;Iyz;Izz\nupper;1,5;1;0;0;1;0;1\n")
    assert problem("cad.csv").startswith("cad.csv, mass, length, tensor_at, products: not declared")
    (here / "cad.xlsx").write_bytes(b"PK")
    with pytest.raises(LogError, match="Save its table, of a log or of CAD, as"):
        pipelines.init("arm.urdf", ["log.csv", "cad.xlsx"])


def test_a_cad_table_that_no_robot_has_says_nothing_of_torques(here):
    """In g where kg is declared, it made kN m of torques, and a right verdict of bodies a thousand times too heavy."""
    arm(here)
    t, q, _, tau = log(here)
    pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", tau)}).to_csv("log.csv", index=False)
    bodies = read_urdf(here / "arm.urdf")
    kilogram = Convention("kg", "mm", "kg mm^2", "center_of_mass", "tensor")
    write_cad(Cad(bodies.links, 1000 * bodies.inertials), kilogram, here / "cad.csv")
    found = pipelines.init("arm.urdf", ["log.csv", "cad.csv"])
    assert any(told.startswith("PROBLEM: cad.csv: link") and "no material is so dense" in told for told in found.told)
    assert read(here)[2].recordings[0].torque.unit == "N m"


def test_rows_with_a_missing_number_here_and_there_are_left_out_as_if_they_had_been_lost(here):
    arm(here)
    t, q, _, tau = log(here)
    hole, torque = q.copy(), tau.copy()
    for at in range(20, 2390, 60):  # in turn one to five rows, of a position or a torque
        (hole if at % 120 == 20 else torque)[at : at + 1 + at // 60 % 5, at % 3] = np.nan
    hole[0, 0] = np.nan
    pd.DataFrame({"t": t, **columns("q{}", hole), **columns("tau{}", torque)}).to_csv("log.csv", index=False)
    found = pipelines.init("arm.urdf", ["log.csv"])
    said = "log: CUT: numbers are missing in 120 rows, at most 5 at a time: these are left out; "
    assert found.told[0] == said + "numbers are missing for longer, and only rows 2-2400 are used"
    whole = np.isfinite(hole).all(axis=1) & np.isfinite(torque).all(axis=1)
    read_again = read(here)[0]
    np.testing.assert_allclose(read_again.q, q[whole], atol=1e-9)
    np.testing.assert_allclose(read_again.t, t[whole] - t[1], atol=1e-9)
    assert read_again.rows([18, 19]) == (20, 22)
    assert any("rows in which a number is missing left out" in note for note in read_again.notes)
    assert {f.kind for f in check_log(read_again, read(here)[1]).findings}.isdisjoint(("dropped rows", "gap"))
    text = (here / "dataset.toml").read_text()
    assert text.count("drop_missing = true  # rows in which a number is missing") == 3


@pytest.mark.slow
def test_a_run_cuts_logs_with_missing_numbers_as_init_does(here):
    arm(here)
    for seed, name in enumerate(("fit", "kept")):
        t, q, _, tau = log(here, seed)
        pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", tau)}).to_csv(f"{name}.csv", index=False)
    pipelines.init("arm.urdf", ["fit.csv", "kept.csv"])
    for name, row in (("fit", 1000), ("kept", 50)):
        frame = pd.read_csv(f"{name}.csv")
        frame.loc[row - 5 : row, "q2"] = np.nan
        frame.to_csv(f"{name}.csv", index=False)
    result = ident.run(here / "experiment.toml")
    said = ["only rows 1-995, 1002-2400 are used", "only rows 52-2400 are used"]
    assert [str(w).rpartition(", and ")[2] for w in result.warnings[:2]] == said
    assert result.loaded.experiment.fit == ("fit-part1", "fit-part2")
    again = pipelines.validate(result.path / "estimate.json", here / "experiment.toml")
    assert again.loaded.experiment.validate == ("kept",)
    totals = [found.validation.total("identified").relative_total for found in (again, result)]
    assert totals[0] == pytest.approx(totals[1], rel=1e-9)
    pd.DataFrame(np.full_like(frame, np.nan), columns=frame.columns).to_csv("fit.csv", index=False)
    with pytest.raises(LogError, match="no finite number"):
        ident.run(here / "experiment.toml")


def test_a_torque_that_is_not_known_counts_for_nothing(here):
    """With the gain nan, whatever its column holds; 0 says that no motor drives the joint, which tells of masses."""
    arm(here)
    t, q, _, tau = log(here)
    found = []
    for noise in (np.zeros_like(t), np.random.default_rng(0).normal(0.0, 50.0, len(t))):
        torques = columns("tau{}", tau) | {"tau2": noise}
        pd.DataFrame({"t": t, **columns("q{}", q), **torques}).to_csv("fit.csv", index=False)
        if not found:
            pipelines.init(
                "arm.urdf", ["fit.csv"], ask=lambda q: "no" if q.key in ("no motor", "without gravity") else q.guess
            )
            text = (here / "dataset.toml").read_text(encoding="utf-8")
            gains = ('unit = "N m"', 'unit = "N m", gain = [1, nan, 1]')
            (here / "dataset.toml").write_text(text.replace(*gains), encoding="utf-8")
            drawn(here)
        found.append(ident.pipelines.fit(here))
    assert found[0].estimate.rows[1] == 0
    np.testing.assert_array_equal(found[0].estimate.phi, found[1].estimate.phi)
    assert any("j_two: no torque is known (`gain` nan)" in str(w) for w in found[0].warnings)
    assert not any("at rest" in str(w) for w in found[0].warnings)
    true = ident.read_robot(here / "arm.urdf").inertials
    assert found[0].estimate.inertials[2, 0] == pytest.approx(true[2, 0], rel=0.3)
    (here / "dataset.toml").write_text(text.replace(gains[0], 'unit = "N m", gain = nan'), encoding="utf-8")
    with pytest.raises(LogError, match="wanted a finite number, or a list of them"):
        ident.pipelines.fit(here)


@pytest.mark.parametrize("pattern", ["torque_{}", "tau{}"])
def test_a_joint_without_a_torque_is_asked_about_and_told(here, pattern):
    arm(here)
    t, q, _, tau = log(here)
    named = ["j_one", "j_two", "j_three"] if pattern == "torque_{}" else ["1", "2", "3"]
    states = {f"position_{name}": q[:, k] for k, name in enumerate(named)}
    torques = {pattern.format(name): tau[:, k] for k, name in enumerate(named) if k != 1}
    pd.DataFrame({"t": t, **states, **torques}).to_csv("log.csv", index=False)
    with pytest.raises(LogError, match=r"there is no torque of j_two\. Add its column to the log"):
        pipelines.init("arm.urdf", ["log.csv"], ask=lambda q: "no" if q.key == "no motor" else q.guess)
    assert not (here / "dataset.toml").exists()
    found = pipelines.init("arm.urdf", ["log.csv"])
    assert "no motor" in keys(found)
    assert "NOTE: j_two taken for a joint without motor" in (here / "dataset.toml").read_text()
    if pattern == "tau{}":
        drawn(here)
        causes = [cause.short for cause in ident.run(here).estimate.causes]
        assert causes == ["torque: j_two taken for a joint without motor, which is a guess: no column is called so"]
    for path in found.files:
        path.unlink()
    pipelines.init("arm.urdf", ["log.csv"], ask=lambda q: q.guess)  # somebody says so
    assert "guessed" not in (here / "dataset.toml").read_text()


LIFT = """<link name="floor"/><joint name="lift" type="prismatic"><parent link="floor"/><child link="base"/>
<axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="900"/></joint></robot>"""


@pytest.mark.parametrize(
    ("share", "answer", "gain"), [(1.0, None, math.nan), (1.0, "no", 1.0), (0.5, None, 1.0), (0.0, None, 1.0)]
)
def test_a_lift_whose_torque_has_nothing_of_gravity_is_left_out(here, share, answer, gain):
    text = arm(here).read_text(encoding="utf-8").replace("</robot>", LIFT)
    text = text.replace('<link name="base"/>', LINK.format(name="base", mass=8.0))
    (here / "arm.urdf").write_text(text, encoding="utf-8")
    robot, t = read_urdf(here / "arm.urdf"), np.arange(2400) / 200.0
    w, size = np.array([1.1, 2.3, 3.1, 1.7]), np.array([0.2, 0.6, 0.8, 0.9])
    q, qd, qdd = size * np.sin(np.outer(t, w)), size * w * np.cos(np.outer(t, w)), -size * w**2 * np.sin(np.outer(t, w))
    tau = inverse_dynamics(robot, robot.inertials, q, qd, qdd) + qd + 1.5 * np.tanh(qd / 0.02)
    tau[:, 0] -= share * 9.81 * robot.inertials[:, 0].sum()
    table = {"t": t} | {f"{name}_position": q[:, j] for j, name in enumerate(robot.joint_names)}
    table |= {f"{name}_{'torque_Nm' if j else 'force_N'}": tau[:, j] for j, name in enumerate(robot.joint_names)}
    pd.DataFrame(table).to_csv("log.csv", index=False)
    given = {"without gravity": answer}
    found = pipelines.init("arm.urdf", ["log.csv"], ask=lambda question: given.get(question.key))
    np.testing.assert_array_equal(np.broadcast_to(read(here)[2].recordings[0].torque.gain, 4), [gain, 1, 1, 1])
    assert any("lift reaches" in line and "left out (gain nan)" in line for line in found.told) == math.isnan(gain)
    assert ("without gravity" in keys(found)) == (share == 1.0)


def test_an_answer_that_is_none_is_refused(here):
    arm(here)
    t, q, qd, tau = log(here)
    np.savetxt("log.csv", np.column_stack([t, q, qd, tau / 12.0]), delimiter=",")
    with pytest.raises(InputError, match="Wanted 3 numbers"):
        pipelines.init("arm.urdf", ["log.csv"], ask=lambda question: "11 eleven")


@pytest.mark.parametrize("file", ["arm.urdf", "arm.xml"])
def test_two_commands_lead_from_raw_files_to_a_report(here, monkeypatch, capsys, file):
    robot = read_urdf(arm(here))
    (here / "arm.xml").write_text(mjcf(robot, robot.inertials), encoding="utf-8")
    for k, name in enumerate(("first.csv", "second.csv")):
        t, q, _, tau = log(here, seed=k, rate=100.0)
        pd.DataFrame({"Time [s]": t, **columns("J{}_deg", np.rad2deg(q)), **columns("J{}_Nm", tau)}).to_csv(name)
    for words in (["init", file, "first.csv", "second.csv", "--yes"], ["run", "."]):
        monkeypatch.setattr(sys, "argv", ["ident", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code, capsys.readouterr()
    said = capsys.readouterr().out
    assert "wrote dataset.toml" in said
    assert "Next: ident run ." in said
    results = next((here / "results").iterdir())
    assert (results / "report.html").is_file()
    assert ident.read_robot(results / file.replace("arm", "robot")).joint_names == robot.joint_names


def test_the_order_of_the_files_does_not_decide(here):
    arm(here)
    for seed, name in enumerate(("one", "two", "three")):
        t, q, _, tau = log(here, seed=seed, seconds=6.0)
        np.savetxt(f"{name}.csv", np.column_stack([t, q, tau]), delimiter=",")
    texts = []
    for order in (("one", "two", "three"), ("two", "three", "one")):
        for path in pipelines.init("arm.urdf", [f"{name}.csv" for name in order]).files:
            texts += [path.read_text().partition("[[recording]]")[0]] if path.name == "dataset.toml" else []
            path.unlink()
    assert texts[0] == texts[1]


def test_numbers_that_nobody_changes_are_the_guess_to_the_last_digit():
    guess = (0.0427 / 2 + 0.266 / 2, 1 / 3)
    for ask in (None, lambda question: "", lambda question: question.guess):
        assert Asked(ask).numbers("gain", "How much?", guess, "so much") == guess
    assert Asked(lambda _: "0.15, 0.3").numbers("gain", "How much?", guess, "so much") == (0.15, 0.3)


def test_a_copy_of_a_log_is_left_out_and_validates_nothing(here):
    arm(here)
    for seed, name in enumerate(("one", "two")):
        t, q, _, tau = log(here, seed=seed, seconds=6.0)
        pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", tau)}).to_csv(f"{name}.csv", index=False)
    shutil.copy("one.csv", "three.csv")
    found = pipelines.init("arm.urdf", ["one.csv", "two.csv", "three.csv"])
    assert "three.csv: LEFT OUT: it is a copy of one.csv" in found.told
    assert ident.read_experiment(here).validate == ("two",)
    shutil.copy("one.csv", "two.csv")  # as somebody does by hand
    result = pipelines.run(here)
    assert not result.validation.held_out
    assert any("'two' is a copy of that of 'one'" in str(w) for w in result.warnings)


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "heavy"), [(1e3, True), (1.0, False)])
def test_torques_a_thousand_times_too_large_are_not_ready_where_no_bodies_are_known(here, factor, heavy, one_round):
    """Else nothing weighs them but the limits of most joints and what neutral bodies can be."""
    bare = re.sub(r"<inertial>.*?</inertial>", "", arm(here).read_text(encoding="utf-8"), flags=re.DOTALL)
    for seed, name in enumerate(("one", "two")):
        t, q, _, tau = log(here, seed=seed)
        pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", factor * tau)}).to_csv(f"{name}.csv", index=False)
    (here / "arm.urdf").write_text(bare, encoding="utf-8")
    pipelines.init("arm.urdf", ["one.csv", "two.csv"])
    found = pipelines.run(here)
    assert any("is `unit` of the torque right?" in doubt for doubt in found.estimate.implausible) == heavy
    assert (verdict(found.estimate, found.validation).headline == "Do not use") == heavy


def test_logs_of_a_robot_that_carries_something_by_their_names_are_left_out(here):
    arm(here)
    names = ("free_no_load", "slow-loaded", "zz_payload", "fast")
    for seed, name in enumerate(names):
        t, q, _, tau = log(here, seed=seed, seconds=4.0)
        pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", tau)}).to_csv(f"{name}.csv", index=False)
    told = pipelines.init("arm.urdf", [f"{name}.csv" for name in names]).told
    experiment = ident.read_experiment(here)
    assert {*experiment.fit, *experiment.validate} == {"free_no_load", "fast"}
    assert "slow-loaded: left out, as the robot carries something there by its name" in told
    for path in here.glob("*.toml"):
        path.unlink()
    pipelines.init("arm.urdf", [f"{name}.csv" for name in names[1:3]])
    experiment = ident.read_experiment(here)
    assert {*experiment.fit, *experiment.validate} == set(names[1:3])


@pytest.mark.parametrize(
    ("gravity", "gain", "said"),
    [
        ((0.0, -9.81, 0.0), 1.0, "they ask for gravity along ("),
        ((6.94, 0.0, 6.94), 1.0, "they ask for gravity along ("),
        ((0.0, 0.0, -9.81), 1.0, ""),
        ((0.0, -9.81, 0.0), 0.05, ""),  # another unit besides: nothing is as large as it is
    ],
)
def test_torques_of_a_robot_that_is_mounted_otherwise_stay_in_n_m(here, gravity, gain, said):
    arm(here)
    t, q, _, tau = log(here, gravity=gravity)
    pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", gain * tau)}).to_csv("one.csv", index=False)
    (told,) = (line for line in pipelines.init("arm.urdf", ["one.csv"]).told if line.startswith("torque: "))
    assert ("they ask for gravity" in told) == bool(said)
    if said:
        found = [float(x) for x in re.search(r"along \((.+?)\) m/s", told)[1].split(", ")]
        np.testing.assert_allclose(found, gravity, atol=1.0)
        manifest = ident.read_manifest(here / "dataset.toml")
        assert all(np.all(r.torque.gain == 1.0) and r.torque.unit == "N m" for r in manifest.recordings)


@pytest.mark.parametrize(("ticks", "times"), [(1e4, "10 times as fast"), (1e5, "0.1 times as fast"), (1e3, "")])
def test_a_time_in_another_unit_is_told_by_the_torques(here, ticks, times):
    arm(here, masses=(6.0, 14.0, 8.0))
    t, q, _, tau = log(here, period=2.0)
    pd.DataFrame({"time": ticks * t, **columns("q{}", q), **columns("tau{}", tau)}).to_csv("one.csv", index=False)
    told = " ".join(line for line in pipelines.init("arm.urdf", ["one.csv"]).told if line.startswith("torque: "))
    assert ("accelerated" in told) == bool(times)
    assert times in told
    if times:
        assert "`time = { rate_hz = 200 }`" in told


def test_columns_that_say_a_joint_by_a_letter_and_that_they_are_measured_may_be_positions(here):
    arm(here)
    t, q, _, tau = log(here)
    wanted, read = ({f"{axis}_{word}": q[:, k] for k, axis in enumerate("XYZ")} for word in ("soll", "ist"))
    torques = {f"{axis}_moment_Nm": tau[:, k] for k, axis in enumerate("XYZ")}
    pd.DataFrame({"Zeit_s": t, **wanted, **read, **torques}).to_csv("one.csv", index=False)
    found = pipelines.init("arm.urdf", ["one.csv"])
    assert [c for q, c in found.answers if q.key == "positions"] == ["X_ist to Z_ist"]
    (first, *_) = ident.read_manifest(here / "dataset.toml").recordings
    assert first.position.columns == ("X_ist", "Y_ist", "Z_ist")


def test_answers_may_be_piped_in(here, monkeypatch, capsys):
    arm(here)
    for seed, name in enumerate(("one", "two")):
        t, q, _, tau = log(here, seed=seed, seconds=6.0)
        pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", tau)}).to_csv(f"{name}.csv", index=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\n"))
    command(monkeypatch, "init", "arm.urdf", "one.csv", "two.csv")
    assert "answered: Which recording is kept for validation? one" in capsys.readouterr().err
    assert ident.read_experiment(here).validate == ("one",)
    for path in here.glob("*.toml"):
        path.unlink()
    silent, other = os.pipe()  # open, and nobody writes to it
    monkeypatch.setattr("ident.cli.experiments.PATIENCE", 0.05)
    monkeypatch.setattr(sys, "stdin", os.fdopen(silent))
    command(monkeypatch, "init", "arm.urdf", "one.csv", "two.csv")
    os.close(other)
    assert "guessed: Which recording is kept for validation? two" in capsys.readouterr().err


def test_a_cad_table_of_another_robot_and_rows_of_the_fitted_log_are_called_so(here, monkeypatch, capsys):
    arm(here)
    t, q, _, tau = log(here)
    pd.DataFrame({"t": t, **columns("q{}", q), **columns("tau{}", tau)}).to_csv("log.csv", index=False)
    (here / "cad.csv").write_text("link,m\nother,1.0\n")
    assert any(told.startswith("PROBLEM") for told in pipelines.init("arm.urdf", ["log.csv", "cad.csv"]).told)
    (here / "experiment.toml").write_text((here / "experiment.toml").read_text().replace('cad = "cad.csv"\n', ""))
    command(monkeypatch, "run")
    said = capsys.readouterr().out
    assert "other rows of the fitted log" in said
    assert "never seen" not in said


def test_gears_couplings_and_zeros_are_answered_as_lists(here):
    arm(here)
    t, q, _, tau = log(here)
    matrix, zero = np.array([[50.0, 0, 0], [0, -60, 0], [0, 40, 70]]), [0.0, 0.5, -0.3]
    motors, own = (q - zero) @ matrix.T, tau @ np.linalg.inv(matrix)
    pd.DataFrame({"t": t, **columns("q{}", motors), **columns("i{}", own)}).to_csv("log.csv", index=False)
    given = {"position unit": "50, -60, 70; 3/2 40", "zeros": "0 0.5 -0.3"}
    pipelines.init("arm.urdf", ["log.csv"], ask=lambda question: given.get(question.key))
    read_log, robot, _ = read(here)
    np.testing.assert_allclose(robot.transmission.matrix, matrix)
    np.testing.assert_allclose(read_log.q, q, atol=1e-9)
    np.testing.assert_allclose(read_log.tau, tau, atol=1e-9)
    degrees = given | {"zeros": "0, 90, -17.2"}
    with pytest.raises(InputError, match=r"Wanted rad: 90 degrees are 1\.571 rad"):
        pipelines.init("arm.urdf", ["log.csv"], into=here / "other", ask=lambda question: degrees.get(question.key))
    for answer in ("50, -60", "50, -60, 70; 4/2 40", "turns"):
        with pytest.raises(InputError, match="or 3 ratios"):
            pipelines.init("arm.urdf", ["log.csv"], into=here / "other", ask=lambda question, a=answer: a)


@pytest.mark.parametrize(("turns", "zero"), [(0.0, -90.0), (0.0, 45.0), (23.5, 90.0)])
def test_a_zero_in_degrees_is_asked_for_again_and_one_of_an_encoder_that_counts_turns_is_not(here, turns, zero):
    arm(here)
    t, q, _, tau = log(here)
    away = [0.0, 0.0, 2 * np.pi * turns]  # the encoder counts so far already
    motors = (q + away) * 50.0
    pd.DataFrame({"t": t, **columns("q{}", motors), **columns("i{}", tau / 50.0)}).to_csv("log.csv", index=False)
    given = {"position unit": "50, 50, 50", "zeros": f"0, {zero}, 0"}
    with pytest.raises(InputError, match=f"{zero:g} degrees are {np.deg2rad(zero):.4g} rad; with it 'j_two'"):
        pipelines.init("arm.urdf", ["log.csv"], ask=lambda question: given.get(question.key))
    given["zeros"] = f"0, 0, {-away[2]}"
    pipelines.init("arm.urdf", ["log.csv"], ask=lambda question: given.get(question.key))
    np.testing.assert_allclose(read(here)[0].q, q, atol=1e-9)


def test_positions_of_motors_by_name_have_guessed_ratios_and_the_example_asked_with_is_an_answer(here):
    arm(here)
    t, q, _, tau = log(here)
    ratios = np.array([50.0, 80.0, 120.0])
    names = columns("motor_pos_{}", q * ratios) | columns("motor_torque_{}", tau / ratios)
    pd.DataFrame({"t": t, **names}).to_csv("log.csv", index=False)
    found = pipelines.init("arm.urdf", ["log.csv"])
    question, answer = found.answers[0]
    assert "position unit" in found.guessed
    guess = [float(x) for x in answer.split(",")]
    assert all(0 < x <= ratio for x, ratio in zip(guess, ratios, strict=True))
    _, robot, manifest = read(here)
    np.testing.assert_allclose(robot.transmission.matrix, np.diag(guess))
    signals = manifest.recordings[0]
    assert (signals.position.side, signals.position.unit, signals.torque.guessed) == ("motor", "rad", True)
    assert "# by their names; " + answer + " is a guess" in (here / "robot.toml").read_text(encoding="utf-8")
    example = re.search(r"such as (.*; \S+ \d+)", question.text)[1]
    for path in found.files:
        path.unlink()
    answers = {"position unit": example}
    pipelines.init("arm.urdf", ["log.csv"], ask=lambda question: answers.get(question.key, ""))
    assert not read(here)[2].recordings[0].torque.guessed
    np.testing.assert_allclose(read(here)[1].transmission.matrix, [[100, 0, 0], [0, -80, 0], [0, 50, 50]])


def test_without_names_half_of_few_columns_are_positions(here):
    """A gripper that turns is not in the log: what is no whole number of all joints is one of fewer."""
    turning = FINGER.replace("prismatic", "revolute").replace('upper="0.04"', 'upper="0.5"')
    arm(here, turning)
    t, q, _, tau = log(here)
    np.savetxt("log.csv", np.column_stack([t, q, tau]), delimiter=",")
    own = "j_one, j_two, j_three"
    found = pipelines.init("arm.urdf", ["log.csv"], ask=lambda q: own if q.key == "joints" else None)
    assert "joints" in keys(found)
    read_log, robot, _ = read(here)
    assert robot.joint_names == ("j_one", "j_two", "j_three")
    np.testing.assert_allclose(read_log.q, q, atol=1e-9)
    np.testing.assert_allclose(read_log.tau, tau, atol=1e-9)


def test_gains_that_are_typed_are_an_answer_though_they_are_the_guess(here):
    arm(here)
    t, q, _, tau = log(here, seconds=6.0)
    pd.DataFrame({"t": t, **columns("q{}", q), **columns("i{}", tau / 7.0)}).to_csv("log.csv", index=False)
    for answer, guessed in ((lambda question: "", True), (lambda question: question.guess, False)):
        for path in pipelines.init("arm.urdf", ["log.csv"], ask=answer).files:
            manifest = ident.read_manifest(path) if path.name == "dataset.toml" else None
            assert manifest is None or manifest.recordings[0].torque.guessed is guessed
            path.unlink()


def test_one_number_stands_for_all_joints_and_a_terminal_asks_again(monkeypatch):
    asked = Asked(lambda question: "2.5")
    assert asked.numbers("gain", "How many N m is 1 A?", (0.1, 0.2, 0.3), "guessed") == (2.5, 2.5, 2.5)
    question = Question("gain", "How many N m is 1 A?", "0.1, 0.2, 0.3", "guessed", numbers=3)
    typed = iter(["much", "1 2", "7"])
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(typed))
    assert at_a_terminal(question) == "7"
    assert question.wanted_instead("1 2") == "Wanted 3 numbers, or one for all"
    assert question.wanted_instead(question.guess) == ""


@pytest.mark.parametrize("rate", ["0", "-5", "fast"])
def test_a_log_has_a_rate_above_zero(here, rate):
    arm(here)
    _, q, _, tau = log(here)
    pd.DataFrame({**columns("q{}", q), **columns("tau{}", tau)}).to_csv("log.csv", index=False)
    with pytest.raises(
        InputError, match=r"rate: '.*' is no answer to 'At how many Hz .*'\. Wanted a number( above 0)?\."
    ):
        pipelines.init("arm.urdf", ["log.csv"], ask=lambda q: rate if q.key == "rate" else None)


def test_names_that_are_no_joints_are_asked_for_again(monkeypatch):
    question = Question("joints", "Which 2 joints are q1 to q2 of?", "a, b", "they come first", joints=("a", "b", "c"))
    typed = iter(["a, x", "a", "c, c", "c, a"])
    said = []
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(typed))
    monkeypatch.setattr("ident.cli.experiments.tell_aside", said.append)
    assert at_a_terminal(question) == "c, a"
    assert said[1:] == [f"'{word}' is no answer. Wanted 2 joints of a, b, c." for word in ("a, x", "a", "c, c")]
    with pytest.raises(InputError, match=r"joints: 'a' is no answer to '.*'\. Wanted 2 joints of a, b, c\."):
        Asked(lambda question: "a")("joints", question.text, question.guess, question.why, joints=question.joints)


@pytest.mark.parametrize("speeds", [True, False])
@pytest.mark.parametrize("first", ["rad", "deg"])
def test_a_log_in_another_unit_than_the_others_is_read_in_its_own(here, first, speeds):
    """Under the same names; the longest log decides, and velocities are in what makes their integrals the positions."""
    arm(here)
    units = {"two.csv": "rad" if first == "deg" else "deg", "one.csv": first, "three.csv": first}
    for k, (name, unit) in enumerate(units.items()):
        t, q, qd, tau = (x[: 2000 - 300 * (name != "one.csv")] for x in log(here, seed=k))
        turn = np.rad2deg(1.0) if unit == "deg" else 1.0
        own = {**columns("q{}", turn * q), **columns("qd{}", (turn if speeds else 1.0) * qd), **columns("tau{}", tau)}
        pd.DataFrame({"t": t, **own}).to_csv(name)
    found = pipelines.init("arm.urdf", list(units))
    manifest = ident.read_manifest(here / "dataset.toml")
    for recording in manifest.recordings:
        unit = units[f"{recording.name}.csv"]
        assert recording.position.unit == unit
        assert recording.velocity is None or recording.velocity.unit == (f"{unit}/s" if speeds else "rad/s")
    said = [line for line in found.told if "NOTE: angles are in" in line]
    assert [line.partition(":")[0] for line in said] == ["two"]
    written = (here / "dataset.toml").read_text(encoding="utf-8")
    common, own, _ = written.split("[[recording]]", 1)[0], *written.split("[[recording]]")[1:3]
    assert f'unit = "{first}"' in common
    assert f"# {said[0].removeprefix('two: NOTE: ')}\nposition = " in own
    assert "a GUESS: in" in own


@pytest.mark.parametrize(
    ("turn", "pattern", "move"),
    [
        (180 / np.pi, "q{}", lambda t, q: 1e-3 * np.cos(q)),  # it rests at home
        (180 / np.pi, "q{} [deg]", lambda t, q: q),  # it moves little there, and names say the unit
        (1.0, "q{}", lambda t, q: q + np.outer(t, [3.0, 0.0, 0.0])),  # a joint without limits spins
        (1.0, "q{}", lambda t, q: 1.3 * 2.8 * q / np.abs(q).max()),  # limits of the file are too narrow
        (1.0, "q{}", lambda t, q: q / 60),
    ],
)
def test_a_log_in_the_unit_of_the_others_is_left_in_it(here, turn, pattern, move):
    path = arm(here)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('type="revolute"', 'type="continuous"', 1), encoding="utf-8")
    t, q, _, tau = log(here)
    for name, angles, rows in (("one.csv", turn * q, 2000), ("two.csv", move(t, q), 1500)):
        pd.DataFrame({"t": t, **columns(pattern, angles), **columns("tau{}", tau)})[:rows].to_csv(name)
    found = pipelines.init("arm.urdf", ["one.csv", "two.csv"])
    assert not [line for line in found.told if "angles are in" in line]


def test_a_table_that_windows_wrote_is_read_and_said_to_be(here):
    """In Windows-1252, a column of words among those of numbers; beside a log in UTF-8 with the same names."""
    arm(here)
    for name, encoding in (("one.csv", "cp1252"), ("two.csv", "utf-8")):
        t, q, _, tau = log(here)
        own = {**columns("Istposition A{} [°]", np.rad2deg(q)), **columns("Moment A{} [Nm]", tau)}
        table = pd.DataFrame({"Zeit [ms]": 1e3 * t, **own}).assign(Zustand="gestört")
        table.to_csv(name, index=False, sep=";", decimal=",", encoding=encoding)
    found = pipelines.init("arm.urdf", ["one.csv", "two.csv"])
    note = "no UTF-8 text, and read as Windows-1252, as Excel writes it"
    assert [line for line in found.told if "UTF-8" in line] == [f"one.csv: {note}"]
    assert f"# one.csv: {note}" in (here / "experiment.toml").read_text(encoding="utf-8")
    got, robot, manifest = read(here)
    assert manifest.recordings[0].position.columns[0] == "Istposition A1 [°]"
    assert got.notes == (note,)
    other = ident.read_log(manifest, "two", robot)
    assert other.notes == ()
    np.testing.assert_array_equal(got.q, other.q)
    np.testing.assert_array_equal(got.tau, other.tau)


@pytest.mark.parametrize("head", [b"\xff\xfet,q\n", "时间,q\n".encode("gbk"), b"t,q\x00\xb0\n", b"t,q\x81\n"])
def test_what_is_text_in_no_encoding_is_refused(here, head):
    (here / "log.csv").write_bytes(head + b"0.1,0.2\n" * 60)
    with pytest.raises(LogError, match=r"log\.csv: (is not UTF-8 text\. Save it as UTF-8|no line of numbers)"):
        read_raw(here / "log.csv")


UR = ("shoulder_pan_joint", "elbow_joint", "wrist_1_joint")


@pytest.mark.parametrize(
    ("names", "labels", "order"),
    [
        (UR, ("shoulder_pan_{}", "elbow_{}", "wrist_1_{}"), (0, 1, 2)),
        (UR, ("wrist_1_{}", "elbow_{}", "shoulder_pan_{}"), (2, 1, 0)),
        (UR, ("{}Base", "{}Elbow", "{}Wrist1"), (0, 1, 2)),
        (UR, ("{} S", "{} L", "{} U"), (0, 1, 2)),
        (("S", "L", "U"), ("AxisU.Act_{}", "AxisS.Act_{}", "AxisL.Act_{}"), (2, 0, 1)),
        (("FR_hip_joint", "FR_thigh_joint", "FR_calf_joint"), ("f.hip.{}", "f.thigh.{}", "f.calf.{}"), (0, 1, 2)),
        (("j_joint_1", "j_joint_2", "j_finger_3"), ("joint_0_{}", "joint_1_{}", "joint_2_{}"), (0, 1, 2)),
    ],
)
def test_columns_named_by_joints_or_other_words_are_a_signal_of_those_joints(here, names, labels, order):
    arm(here, names=names)
    t, q, qd, tau = log(here, names=names)
    table = {"time": t}
    for word, values in (("torque", tau), ("pos", q), ("vel", qd)):
        table |= {label.format(word): values[:, k] for label, k in zip(labels, order, strict=True)}
    pd.DataFrame(table).to_csv("log.csv", index=False)
    found = pipelines.init("arm.urdf", ["log.csv"])
    assert "joints" not in keys(found)
    read_log, robot, _ = read(here)
    assert robot.joint_names == names
    np.testing.assert_allclose(read_log.q, q, atol=1e-9)
    np.testing.assert_allclose(read_log.tau, tau, atol=1e-9)


def test_columns_of_two_sides_and_of_numbered_joints_stay_signals_of_their_own():
    joints = ("j_one", "j_two")
    labels = [f"{side}_{place}_pos" for side in ("left", "right") for place in ("base", "elbow")]
    file = pathlib.Path("log.csv")
    raw = [Column(file, label, None, label, np.arange(3.0)) for label in labels]
    assert [len(f.columns) for f in families(raw, joints)] == [2, 2]
    numbered = ("joint_1_pos", "joint_2_pos", "gripper_pos")
    found = families([Column(file, label, None, label, np.arange(3.0)) for label in numbered], joints)
    assert [f.shown for f in found] == ["joint_1_pos to joint_2_pos", "gripper_pos"]


def test_one_of_several_torques_that_names_do_not_tell_apart_is_asked_about(here):
    arm(here)
    t, q, _, tau = log(here)
    table = {"time": t, **columns("q{}", q), "tau": tau[:, 1], "torque": np.random.default_rng(0).normal(size=len(t))}
    pd.DataFrame(table).to_csv("log.csv", index=False)
    found = pipelines.init("arm.urdf", ["log.csv"])
    assert "torques" in found.guessed


def test_a_force_beside_torques_may_have_another_letter(here):
    arm(here, FINGER)
    t, q, _, tau = log(here)
    at, push = 0.02 + 0.015 * np.sin(3 * t), 20 * np.tanh(np.cos(3 * t) / 0.02)
    table = {"t [s]": t, **columns("q{} [deg]", np.rad2deg(q)), "q4 [mm]": 1e3 * at}
    pd.DataFrame(table | columns("M{} [Nm]", tau) | {"F4 [N]": push}).to_csv("log.csv", index=False)
    pipelines.init("arm.urdf", ["log.csv"])
    read_log, _, manifest = read(here)
    assert manifest.recordings[0].torque.unit == ("N m", "N m", "N m", "N")
    np.testing.assert_allclose(read_log.tau, np.column_stack([tau, push]), atol=1e-9)


def test_torques_of_more_joints_than_positions_are_refused(here):
    arm(here)
    t, q, _, tau = log(here)
    table = {"t [s]": t, "angle [rad]": q[:, 1], **columns("tau{}", tau)}
    pd.DataFrame(table).to_csv("log.csv", index=False)
    with pytest.raises(LogError, match="tau1 to tau3 are torques of 3 joints, and angle"):
        pipelines.init("arm.urdf", ["log.csv"])


@pytest.mark.parametrize(
    ("pattern", "answer", "side", "guessed"),
    [
        ("A{} {}", "", "motor", True),
        ("A{} {}", "motors", "motor", False),
        ("A{} {}", "joints", "joint", False),
        ("m{}.{}", "", "motor", False),
        ("motor_{}_{}", "", "motor", False),
        ("joint_{}_{}", "", "joint", False),
    ],
)
def test_a_log_is_of_motors_or_joints_as_names_say_or_as_is_asked(here, pattern, answer, side, guessed):
    arm(here)
    coupled = '[transmission]\nmotors = ["m1", "m2", "m3"]\nmatrix = [[1, 0, 0], [0, 1, 0], [0, 1, 1]]\n'
    (here / "robot.toml").write_text(f'urdf = "arm.urdf"\n{coupled}', encoding="utf-8")
    t, q, _, tau = log(here)
    matrix = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1]])
    table = {"t": t}
    for k, (x, y) in enumerate(zip((q @ matrix.T).T, (tau @ np.linalg.inv(matrix)).T, strict=True), start=1):
        table |= {pattern.format(k, "pos [rad]"): x, pattern.format(k, "torque [Nm]"): y}
    pd.DataFrame(table).to_csv("log.csv", index=False)
    found = pipelines.init("robot.toml", ["log.csv"], ask=lambda x: answer or None if x.key == "motors" else None)
    assert ("motors" in keys(found)) == (guessed or bool(answer))
    signals = read(here)[2].recordings[0]
    assert (signals.position.side, signals.torque.side, signals.torque.guessed) == (side, side, guessed)
    if guessed:
        assert "unexplained" in next(question.why for question, _ in found.answers if question.key == "motors")
        causes = ident.run(here).estimate.causes
        assert any("that the log is of the motors" in cause.what for cause in causes)


@pytest.mark.parametrize("every", [(1, 2), (3, 1)])
def test_positions_and_torques_at_other_times_are_joined(here, every):
    arm(here)
    truth = {}
    for run, seed in {"run1": 1, "run2": 2}.items():
        t, q, qd, tau = log(here, seed=seed, rate=600.0)
        truth[run], late = tau, slice(1, None, every[1])
        states, speeds, torques = columns("A{}_deg", np.rad2deg(q)), columns("A{}_dps", qd), columns("A{}_Nm", tau)
        pd.DataFrame({"time_ms": 1e3 * t, **states})[:: every[0]].to_csv(f"pos_{run}.csv", index=False)
        pd.DataFrame({"time_s": t, **torques})[late].to_csv(f"torque_{run}.csv", index=False)
        pd.DataFrame({"time_ms": 1e3 * t, **speeds})[::7].to_csv(f"speed_{run}.csv", index=False)
    files = [f"{what}_{run}.csv" for what in ("torque", "speed", "pos") for run in ("run2", "run1")]
    found = pipelines.init("arm.urdf", files)
    assert sum("JOINED: pos_run" in told for told in found.told) == 2
    assert sum("speed_run" in told and "NOT USED" in told for told in found.told) == 2
    manifest = read(here)[2]
    for recording, run in zip(manifest.recordings, ("run1", "run2"), strict=True):
        joined = ident.read_log(manifest, recording.name, ident.read_robot("arm.urdf"))
        assert joined.rate_hz == pytest.approx(600.0 / min(every))
        rows = np.rint(joined.t * 600.0 + joined.clock * 600.0).astype(int)
        assert np.abs(joined.tau - truth[run][rows]).max() < 0.4  # noise of 0.05 N m, between neighbours
        assert np.std(joined.tau - truth[run][rows]) < 0.08


def test_arrays_of_one_file_at_other_times_are_joined(here):
    arm(here)
    t, q, _, tau = log(here)
    np.savez("log.npz", q=q[::2], time=t[::2], tau=tau, stamp=t)
    found = pipelines.init("arm.urdf", ["log.npz"])
    assert any("JOINED: log-joined.csv has the positions of 'log.npz'" in told for told in found.told)
    joined = ident.read_log(read(here)[2], "log-joined", ident.read_robot("arm.urdf"))
    rows = np.rint((joined.t + joined.clock) * 200.0).astype(int)
    assert np.allclose(joined.tau, tau[rows], rtol=1e-12)
    assert np.abs(joined.q - q[rows]).max() < 1e-4


def test_rows_that_are_written_twice_keep_their_clock(here):
    arm(here)
    t, q, _, tau = log(here)
    table = pd.DataFrame({"time_ms": np.round(1e3 * t), **columns("q{}_rad", q), **columns("tau{}_Nm", tau)})
    table.loc[table.index.repeat(2)].to_csv("log.csv", index=False)
    pipelines.init("arm.urdf", ["log.csv"])
    manifest = read(here)[2]
    assert (manifest.recordings[0].time.columns, manifest.recordings[0].drop_repeated) == (("time_ms",), True)
    found = ident.read_log(manifest, "log", ident.read_robot("arm.urdf"))
    assert (len(found.t), found.rate_hz) == (len(t), pytest.approx(200.0))


def test_numbers_of_samples_that_are_called_seconds_are_no_seconds(here):
    arm(here)
    t, q, _, tau = log(here, rate=1000.0)
    table = {"t_s": np.arange(len(t)), **columns("q{}_rad", q), **columns("tau{}_Nm", tau)}
    pd.DataFrame(table).to_csv("log.csv", index=False)
    found = pipelines.init("arm.urdf", ["log.csv"])
    assert "time unit" in keys(found)
    assert read(here)[2].recordings[0].time.unit == "ms"


@pytest.mark.parametrize(("times", "plus"), [(1e3, 1e9), (1.0, 0.0)])
def test_positions_and_torques_without_a_clock_in_common_are_refused_with_both_files(here, times, plus):
    """As of two recorders that began at other times, or one whose seconds are called milliseconds."""
    arm(here)
    t, q, _, tau = log(here)
    pd.DataFrame({"time_ms": 1e3 * t, **columns("A{}_deg", np.rad2deg(q))}).to_csv("positions.csv", index=False)
    pd.DataFrame({"time_ms": times * t + plus, **columns("A{}_Nm", tau)})[::2].to_csv("torques.csv", index=False)
    with pytest.raises(
        LogError, match=r"'positions.csv' has the positions and 'torques.csv' the torques, in 2400 rows"
    ):
        pipelines.init("arm.urdf", ["torques.csv", "positions.csv"])
    assert not list(here.glob("*.toml"))
    pd.DataFrame({"time_ms": 1e3 * t, **columns("A{}_Nm", tau)}).to_csv("torques.csv", index=False)
    assert pipelines.init("arm.urdf", ["torques.csv", "positions.csv"]).files


def test_one_gain_of_all_torques_is_no_mistake_of_the_table(here):
    """Half of all torques may as well be bodies of half the mass: no motion tells them apart."""
    arm(here)
    for name, seed in {"train": 1, "test": 2}.items():
        t, q, _, tau = log(here, seed=seed, seconds=20.0, period=10.0)
        table = {"t": t, **columns("q{}_rad", q), **columns("tau{}_Nm", 0.5 * tau)}
        pd.DataFrame(table).to_csv(f"{name}.csv", index=False)
    pipelines.init("arm.urdf", ["train.csv", "test.csv"])
    found = ident.run(here)
    assert (found.estimate.noted, found.estimate.causes) == ((), ())
    assert abs(math.log2(found.comparison.factor)) == pytest.approx(1.0, abs=0.1)


def test_bodies_that_are_known_tell_a_torque_constant_that_is_off(here):
    """Free bodies nearly make up for it, and the verdict was: no mistake shows."""
    arm(here)
    for name, seed in {"train": 1, "test": 2}.items():
        t, q, _, tau = log(here, seed=seed, seconds=60.0, period=10.0)
        tau[:, 1] *= 0.85
        table = {"t": t, **columns("q{}_rad", q), **columns("tau{}_Nm", tau)}
        pd.DataFrame(table).to_csv(f"{name}.csv", index=False)
    pipelines.init("arm.urdf", ["train.csv", "test.csv"])
    found = ident.run(here)
    assert found.validation.total("identified").relative_total < 0.01
    (cause,) = found.estimate.causes
    assert cause.where == "j_two"
    assert float(re.search(r"its torque has to be ([\d.]+) % larger", cause.what)[1]) == pytest.approx(17.6, abs=2.0)


def test_torques_that_a_drive_estimates_and_degrees_in_german_are_known(here):
    arm(here)
    t, q, qd, tau = log(here)
    table = {"Zeit [s]": t, **columns("Achse{}_Ist [Grad]", np.rad2deg(q)), **columns("dq{} [Grad/s]", np.rad2deg(qd))}
    pd.DataFrame(table | columns("motor.{}.tauEst", tau)).to_csv("log.csv", index=False)
    pipelines.init("arm.urdf", ["log.csv"])
    read_log, _, manifest = read(here)
    assert (manifest.recordings[0].position.unit, manifest.recordings[0].velocity.unit) == ("deg", "deg/s")
    np.testing.assert_allclose(read_log.tau, tau, atol=1e-9)
    assert (named("tau_est_0", ()).quantity, named("tau_ext_est", ()).quantity) == ("torque", "other")


def test_a_position_in_mm_alone_is_that_of_the_joint_that_slides(here):
    arm(here, FINGER)
    t = log(here)[0]
    at, push = 0.02 + 0.015 * np.sin(3 * t), 20 * np.tanh(np.cos(3 * t) / 0.02)
    pd.DataFrame({"t [s]": t, "Achse3 [mm]": 1e3 * at, "F3 [N]": push}).to_csv("log.csv", index=False)
    pipelines.init("arm.urdf", ["log.csv"])
    assert read(here)[1].joint_names == ("finger_joint",)


@pytest.mark.parametrize("answer", ["count", "rad, deg, rad", "rad deg furlong"])
def test_the_unit_of_positions_may_be_counts_or_one_of_each_joint(here, answer):
    arm(here)
    t, q, _, tau = log(here)
    q = q + np.array([0.0 if answer == "count" else 30.0, 0.0, 0.0])
    written = np.round(q / (2 * np.pi) * 4096) + 2048 if answer == "count" else q.copy()
    if answer != "count":
        written[:, 1] = np.rad2deg(q[:, 1])
    pd.DataFrame({"t": t, **columns("q{}", written), **columns("tau{}", tau)}).to_csv("log.csv", index=False)
    answers = {"position unit": answer, "counts": "4096", "zeros": "-3.14159, -3.14159, -3.14159"}
    if "furlong" in answer:
        with pytest.raises(InputError, match="one for each joint, or 3 ratios"):
            pipelines.init("arm.urdf", ["log.csv"], ask=lambda question: answers.get(question.key))
        return
    found = pipelines.init("arm.urdf", ["log.csv"], ask=lambda question: answers.get(question.key))
    guess = next(question.guess for question, _ in found.answers if question.key == "position unit")
    assert (guess == "count") == (answer == "count")
    np.testing.assert_allclose(read(here)[0].q, q, atol=1e-3)


def test_joints_may_be_answered_with_blanks_where_their_names_have_none(here):
    arm(here, FINGER)
    t, q, _, tau = log(here)
    pd.DataFrame({"t": t, **columns("q{}", q[:, :2]), **columns("tau{}", tau[:, :2])}).to_csv("log.csv", index=False)
    pipelines.init("arm.urdf", ["log.csv"], ask=lambda x: "j_two j_three" if x.key == "joints" else None)
    assert read(here)[1].joint_names == ("j_two", "j_three")
    question = Question("joints", "", "j 1, j 2", "", joints=("j 1", "j 2", "j 3"))
    assert question.wanted_instead("j 1 j 2") == "Wanted 2 joints of j 1, j 2, j 3, with commas between them"
    assert not question.wanted_instead("j 1, j 2")


def test_percent_is_a_unit_though_no_name_says_of_what(here):
    arm(here)
    t, q, _, tau = log(here)
    pd.DataFrame({"t": t, **columns("J{}_pos", q), **columns("J{}_load[%]", tau / 0.4)}).to_csv("log.csv", index=False)
    found = pipelines.init("arm.urdf", ["log.csv"])
    (question,) = (question for question, _ in found.answers if question.key == "gain")
    assert "is 1 % of J1_load[%]" in question.text
    assert "they are called %, of the rated torque perhaps" in question.why
    assert read(here)[2].recordings[0].torque.unit == "%"


@pytest.mark.parametrize("pattern", ["{}_pos_{}", "{}{}_pos", "arm{1}_{0}_pos"])
def test_numbered_columns_of_motors_and_of_joints_are_two_signals(pattern):
    file, words = pathlib.Path("log.csv"), ("motor", "link")
    labels = [pattern.format(word, k) for word in words for k in (1, 2)]
    found = families([Column(file, x, None, x, np.arange(3.0)) for x in labels], ("j_one", "j_two"))
    assert [f.of for f in found] == [(1, 2), (1, 2)]


@pytest.mark.parametrize(
    ("table", "convention", "said"),
    [
        ("joint,a,alpha,d,theta\nj_one,0,0,0.4,q1\nj_two,0.1,-pi/2,0,q2\nj_three,0.3,0,0,0\n", "mdh", ("m", "rad")),
        ("i;a [mm];alpha [deg];d [mm];theta\n1;0;-90;400;0\n2;300,5;0;0;0\n3;0;0;0;0\n", "dh", ("mm", "deg")),
        ("link,r,twist,d,offset\n1,0,90,400,0\n2,300,0,0,-90\n3,250,0,0,0\n", "dh", ("mm", "deg")),
    ],
)
def test_a_dh_table_becomes_a_robot_file(here, table, convention, said):
    arm(here)
    t, q, _, tau = log(here)
    pd.DataFrame({"t_s": t, **columns("q{}_rad", q), **columns("tau{}_Nm", tau)}).to_csv("log.csv", index=False)
    (here / "dh.csv").write_text(table, encoding="utf-8")
    found = pipelines.init("dh.csv", ["log.csv"])
    written = tomllib.loads((here / "robot.toml").read_text(encoding="utf-8"))
    assert (written["convention"], written["length"], written["angle"]) == (convention, *said)
    assert "convention" in found.guessed
    assert len(written["joint"]) == 3
    robot = ident.read_robot(here / "robot.toml")
    want = {"mdh": from_mdh, "dh": from_dh}[convention]
    row = {"mdh": MDHJoint, "dh": DHJoint}[convention]
    if table.startswith("joint"):
        places = want("x", [row(d=0.4), row(a=0.1, alpha=-np.pi / 2), row(a=0.3)])
    elif table.startswith("i;"):
        places = want("x", [row(d=0.4, alpha=-np.pi / 2), row(a=0.3005), row()])
    else:
        places = want("x", [row(d=0.4, alpha=np.pi / 2), row(a=0.3, offset=-np.pi / 2), row(a=0.25)])
    for x, y in zip(robot.poses(np.full(3, 0.3)), places.poses(np.full(3, 0.3)), strict=True):
        np.testing.assert_allclose(x.position, y.position, atol=1e-9)
        np.testing.assert_allclose(x.rotation, y.rotation, atol=1e-9)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("a,alpha,d,theta\n0,90,0.4,0\n0.3,0,long,0\n0,0,0,0\n", r"'long' in the row 0.3,0,long,0 is no number"),
        ("a,alpha,d,theta\n0,90,0.4,0\n,0,0,0\n0,0,0,0\n", r"'' in the row ,0,0,0 is no number"),
        ("a,alpha,d,theta\n0,pi/0,0.4,0\n", r"'pi/0' in the row 0,pi/0,0.4,0 is no number"),
        ("a,alpha,d,theta\n", r"this DH table has no row below its header"),
        ("a,alpha,theta\n0,90,0\n", r"this DH table has no column d"),
    ],
)
def test_a_dh_table_that_lacks_something_is_refused_and_leaves_nothing(here, rows, said):
    arm(here)
    t, q, _, tau = log(here)
    pd.DataFrame({"t_s": t, **columns("q{}_rad", q), **columns("tau{}_Nm", tau)}).to_csv("log.csv", index=False)
    (here / "dh.csv").write_text(rows, encoding="utf-8")
    with pytest.raises(RobotError, match=f"dh.csv: {said}"):
        pipelines.init("dh.csv", ["log.csv"])
    assert sorted(p.name for p in here.iterdir()) == ["arm.urdf", "dh.csv", "log.csv"]
