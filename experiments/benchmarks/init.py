"""How often `ident init` reads a log that nobody described as it was meant: columns, units, rate.

    python experiments/benchmarks/init.py [SEED] [LOGS] [--gains | --lifts | --mounted]

Arms of 2, 3, 6 and 7 joints as URDF, with bodies 25 % off or without any, some with a gripper that no log has; 15 to
30 s at 50 to 1000 Hz; noise. Named in one of many ways or not at all, shuffled, in degrees or radians, time in s to ns
or not there, velocities or none, torques or currents; beside them counters, temperatures, commanded positions, words.
Right: every signal that the written files read is the true one, in SI units (currents: the right ones, whatever their
gain). Wrong and asked: what is wrong was asked for, with a wrong guess. Wrong and silent: nobody was asked.

Rules were made on seeds 1, 2 and 5. Drawn after they were frozen, seed 2718, 60 logs of each kind of names: as in the
rules 56 right, 4 asked; other names 54 and 6; names that nobody had looked at 43, 11 and 6 refused (single letters).
None silent; 0.7 to 1.0 questions a log read rightly. Usually wrong: the rate, where neither time nor velocities say it.
Before, frozen for the first time, seed 77, 100 logs each: 96 and 4; 79, 14 and 7 refused; none silent.

With --gains: columns called currents that are N m, or A of 0.3 to 30 N m each, alike or not; is their gain guessed 1?
Set on seed 3101 (300): the middle joint's count says more than that of each; of 152 in N m 137 are taken for it as
before, of 148 in A 9 instead of 13. Drawn after that, seeds 3102 and 3103 (400): of 222 in N m 195, of 178 in A 9, of
these 2 off by more than 1.6 (bodies are up to 1.6 times off). What is in N m and not found is friction for the most.

With --lifts: arms on a lift whose force has all of gravity, half of it or none; is it left out? Set on seed
4101 (60): of 22 without gravity 11 are, of 38 others none. Drawn after that, seed 4103 (150): of 49 without gravity 26,
of 101 others none. The factor was first 10 and found 8 of 22 there; seed 4102 (150), drawn for it, 8 of 49.

With --mounted: arms on a wall or at a ceiling whose files say that they stand, torques in N m or another unit; is the
other gravity told? Set on seed 5001 (100): of 38 that are turned and in N m 27 are. Drawn after that, seed 5002 (100):
of 50 43, of 50 others none; those that are not told have two joints for the most, whose offsets are about as likely.
Of the same arms with time stamps of 0.1 or 0.01 ms that are called "time" (seed 5003, 80): of 27 that stand, in N m, 19
are told, with the right rate; of 40 in ms none.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from arm7 import bodies
from automatic import ROWS, fourier, point_to_point

import ident
from ident import pipelines
from ident.dynamics import inverse_dynamics
from ident.errors import IdentError
from ident.model import Coulomb, DriveInertia, Model, Viscous, torque
from ident.robot.urdf import read_urdf
from ident.spatial.inertia import to_com

#: Positions, velocities, torques, currents: {0} counts from 0, {1} from 1, {name} is the joint's; unit of an angle.
STYLES = (
    ("act_pos_{0}", "act_vel_{0}", "act_trq_{0}", "act_cur_{0}", ""),
    ("q{1}", "dq{1}", "tau{1}", "i{1}", ""),
    ("J{1}_deg", "J{1}_deg_s", "J{1}_Nm", "J{1}_A", "deg"),
    ("joint_states/position[{0}]", "joint_states/velocity[{0}]", "joint_states/effort[{0}]", "drive/current[{0}]", ""),
    ("{name}_position", "{name}_velocity", "{name}_effort", "{name}_current", ""),
    ("{name}.pos_rad", "{name}.vel_rad_s", "{name}.torque_Nm", "{name}.current_A", "rad"),
    ("Axis {1} Angle [deg]", "Axis {1} Speed [deg/s]", "Axis {1} Torque [Nm]", "Axis {1} Current [A]", "deg"),
    ("position.{1}", "velocity.{1}", "effort.{1}", "current.{1}", ""),
    ("", "", "", "", ""),
)
#: Names that were drawn from once the rules were frozen; some words were learnt from them since.
UNSEEN = (
    ("actual_q_{0}", "actual_qd_{0}", "actual_moment_{0}", "actual_current_{0}", "rad"),
    ("AxisAct.A{1}", "AxisVel.A{1}", "TorqueAxisAct.A{1}", "CurrAxisAct.A{1}", "deg"),
    ("state.q[{0}]", "state.dq[{0}]", "state.tau_J[{0}]", "state.i[{0}]", "rad"),
    ("Axis_{1}.ActPos", "Axis_{1}.ActVelo", "Axis_{1}.ActTorque", "Axis_{1}.ActCurrent", "deg"),
    ("rob1/j{1}/angle", "rob1/j{1}/rate", "rob1/j{1}/load_torque", "rob1/j{1}/amps", ""),
    ("msrJntPos_{1}", "msrJntVel_{1}", "msrJntTrq_{1}", "msrJntCur_{1}", "rad"),
    ("measuredPosition_{0}", "measuredVelocity_{0}", "measuredTorque_{0}", "measuredCurrent_{0}", ""),
    ("A{1}_IST_deg", "A{1}_V_IST_deg/s", "A{1}_MOM_Nm", "A{1}_STROM_A", "deg"),
    ("robot0.theta_{1}", "robot0.theta_dot_{1}", "robot0.moment_{1}", "robot0.cur_{1}", "rad"),
    ("data.meas.q.{1}", "data.meas.qp.{1}", "data.meas.load.{1}", "data.meas.iq.{1}", ""),
    ("{name}/pos", "{name}/vel", "{name}/eff", "{name}/amp", ""),
    ("enc{1}", "speed{1}", "force{1}", "cur{1}", ""),
)
#: Names that nobody has looked at but to measure.
LAST = (
    ("SENSOR_J{1}_ANGLE", "SENSOR_J{1}_ANGVEL", "SENSOR_J{1}_TRQ", "SENSOR_J{1}_CURR", "deg"),
    ("ax{0}_position_actual_value", "ax{0}_velocity_actual_value", "ax{0}_torque_actual_value", "ax{0}_i_actual", ""),
    ("Robot.Joint{1}.Pos.Fbk", "Robot.Joint{1}.Vel.Fbk", "Robot.Joint{1}.Trq.Fbk", "Robot.Joint{1}.Cur.Fbk", "deg"),
    ("phi_{1}", "phidot_{1}", "M_{1}", "I_{1}", "rad"),
    ("jpos{0}", "jvel{0}", "jtor{0}", "jcur{0}", "rad"),
    ("{name}:p", "{name}:v", "{name}:t", "{name}:c", "rad"),
)
NAMES = ("shoulder_pan", "shoulder_lift", "elbow", "forearm_roll", "wrist_1", "wrist_2", "flange_roll")


@dataclass
class Case:
    """A drawn log in words, its columns as they are written, and the truth in SI units."""

    words: str
    columns: dict[str, np.ndarray]
    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray
    header: bool
    current: bool
    rate: float
    mark: str = ","
    texts: dict[str, str] = field(default_factory=dict)


def urdf(rng: np.random.Generator, n: int, names: list[str], inertials: np.ndarray | None, fingers: bool) -> str:
    """Return an arm as URDF, its bodies as given or none; fingers: with a gripper of two."""
    links, joints = ['<link name="base"/>'], []
    for i, (a, alpha, d) in enumerate(ROWS[:n]):
        body = ""
        if inertials is not None:
            mass, c, tensor = to_com(inertials[i])
            six = dict(zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), tensor[np.triu_indices(3)], strict=True))
            body = f'<inertial><origin xyz="{c[0]} {c[1]} {c[2]}"/><mass value="{mass}"/><inertia '
            body += " ".join(f'{k}="{v}"' for k, v in six.items()) + "/></inertial>"
        links.append(f'<link name="link{i + 1}">{body}</link>')
        parent = f"link{i}" if i else "base"
        origin = f'xyz="{a} {-np.sin(alpha) * d} {np.cos(alpha) * d}" rpy="{alpha} 0 0"'
        joints.append(
            f'<joint name="{names[i]}" type="revolute"><parent link="{parent}"/><child link="link{i + 1}"/>'
            f'<origin {origin}/><axis xyz="0 0 1"/><limit lower="-3.1" upper="3.1" velocity="{rng.uniform(2, 6):.2f}" '
            'effort="200"/></joint>'
        )
    for side in ("left", "right") if fingers else ():
        links.append(f'<link name="{side}"/>')
        mimic = '<mimic joint="finger_left"/>' if side == "right" else ""
        joints.append(
            f'<joint name="finger_{side}" type="prismatic"><parent link="link{n}"/><child link="{side}"/>{mimic}'
            '<axis xyz="0 1 0"/><limit lower="0" upper="0.04" velocity="0.2" effort="20"/></joint>'
        )
    return f'<robot name="drawn">{"".join(links)}{"".join(joints)}</robot>'


def motion(rng: np.random.Generator, n: int, t: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return q, qd, qdd (N, n) within 2.9 rad and 2 rad/s."""
    curve = fourier(rng, n) if rng.random() < 0.6 else point_to_point(rng, n, float(t[-1]) + 0.1)
    q, qd, qdd = curve(t)
    size = np.minimum(1.0, 2.0 / np.abs(qd).max(axis=0)) * np.minimum(1.0, 2.5 / np.ptp(q, axis=0))
    middle = (q.max(axis=0) + q.min(axis=0)) / 2
    return (q - middle) * size + rng.uniform(-0.3, 0.3, n), qd * size, qdd * size


def drawn(rng: np.random.Generator, styles: tuple[tuple[str, ...], ...], folder: Path) -> Case:
    """Write a robot and a log into a folder and return what they are."""
    n, rate = int(rng.choice([2, 3, 6, 7])), float(rng.choice([50, 100, 125, 250, 500, 1000]))
    style = styles[rng.integers(len(styles))]
    names = [f"joint{i + 1}" for i in range(n)] if rng.random() < 0.5 else list(NAMES[:n])
    t = np.arange(int(rng.uniform(15, 30) * rate)) / rate
    q, qd, qdd = motion(rng, n, t)
    true = bodies(n) * rng.uniform(0.7, 1.3, (n, 1))
    stated = true * rng.uniform(0.8, 1.25, (n, 1)) if rng.random() < 0.7 else None
    fingers = bool(rng.random() < 0.2)
    (folder / "arm.urdf").write_text(urdf(rng, n, names, stated, fingers), encoding="utf-8")
    robot = read_urdf(folder / "arm.urdf", keep=names)
    model = Model(robot, (DriveInertia(), Viscous(), Coulomb()))
    theta = np.concatenate([true.ravel(), rng.uniform(0.05, 0.5, n), *rng.uniform(0.3, 2.0, (2, n))])
    tau = torque(model, theta, q, qd, qdd)
    tau += rng.normal(size=tau.shape) * 0.02 * tau.std(axis=0)
    read = q + rng.normal(size=q.shape) * 1e-5
    unit = style[4] or str(rng.choice(["deg", "rad"]))
    angle = np.rad2deg(1.0) if unit == "deg" else 1.0
    current = bool(rng.random() < 0.25)
    measured = tau / rng.uniform(5, 15, n) if current else tau
    columns: dict[str, np.ndarray] = {}
    header = bool(style[0])

    def add(pattern: str, values: np.ndarray, name: str = "x") -> None:
        for k in range(values.shape[1]):
            key = pattern.format(k, k + 1, name=names[k]) if pattern else f"{name}{k}"
            columns[key] = values[:, k]

    clock = str(rng.choice(["s", "ms", "us", "ns", "unix", "none"], p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.1]))
    label = {"s": ["t", "time", "Time [s]", "timestamp"], "ms": ["time", "t_ms", "Time (ms)"], "none": ["sample"]}
    stamp = {"s": t, "ms": t * 1e3, "us": t * 1e6, "ns": t * 1e9, "unix": t + 1.7e9, "none": t * rate}[clock]
    index = bool(rng.random() < 0.3) and clock != "none"
    if index and header:
        columns["index"] = np.arange(len(t), dtype=float)
    columns[str(rng.choice(label.get(clock, ["time", "timestamp"])))] = stamp
    wanted = np.vstack([np.repeat(q[:1], 3, axis=0), q[:-3]])
    if not header and rng.random() < 0.3:
        add("", wanted * angle, "commanded")
    add(style[0], read * angle, "a")
    speeds = bool(rng.random() < 0.6)
    if speeds:
        add(style[1], (qd + rng.normal(size=q.shape) * 1e-3) * angle, "b")
    add(style[3] if current else style[2], measured, "c")
    extras = [e for e in ("command", "temperature", "both", "constant") if header and rng.random() < 0.35]
    if "command" in extras:
        add(str(rng.choice(["cmd_pos_{0}", "q_des_{1}", "target_q{1}", "{name}_ref"])), wanted * angle)
    if "temperature" in extras:
        add(str(rng.choice(["temp_{1}", "motor_temperature[{0}]"])), 40 + 1e-3 * np.cumsum(tau**2, axis=0) / rate)
    if "both" in extras and not current:
        add(style[3], tau / rng.uniform(5, 15, n) + rng.normal(size=tau.shape) * 0.01)
    if "constant" in extras:
        columns["mode"] = np.ones(len(t))
    order = list(columns)
    if header and rng.random() < 0.4:
        order = [order[k] for k in rng.permutation(len(order))]
    mark = str(rng.choice([",", ";", "\t"], p=[0.6, 0.3, 0.1]))
    words = f"{n} joints, {style[0] or 'no names'}, {unit}, {rate:g} Hz, clock {clock}, "
    words += f"{'currents' if current else 'torques'}, {'with' if speeds else 'no'} speeds, "
    words += f"{'no bodies, ' if stated is None else ''}{'gripper, ' if fingers else ''}{' '.join(extras)}"
    case = Case(words, {k: columns[k] for k in order}, t, read, measured, header, current, rate, mark)
    decimal = "," if mark == ";" and rng.random() < 0.4 else "."
    table = np.column_stack(list(case.columns.values()))
    head = [mark.join(case.columns)] if header else []
    head = ["Recorded by a drive", *head] if rng.random() < 0.15 else head
    rows = [mark.join(f"{x:.15g}" for x in row).replace(".", decimal) for row in table]
    if "constant" in extras and header and rng.random() < 0.3:
        head[-1] += f"{mark}state"
        rows = [f"{row}{mark}RUN" for row in rows]
    (folder / "log.csv").write_text("\n".join([*head, *rows, ""]), encoding="utf-8")
    return case


KEYS = {
    "position": {"positions", "position unit", "joints"},
    "time": {"time unit", "rate"},
    "torque": {"torques", "torques or currents", "torque unit", "gain", "order", "driven"},
}


def judged(case: Case, folder: Path) -> tuple[str, str]:
    """Return right, asked, silent or refused, and what is wrong."""
    try:
        found = pipelines.init(folder / "arm.urdf", [folder / "log.csv"], into=folder)
    except IdentError as cause:
        return "refused", str(cause)
    experiment = ident.read_experiment(folder)
    robot, manifest = ident.read_robot(experiment.robot), ident.read_manifest(experiment.data)
    log = ident.read_log(manifest, manifest.recordings[0].name, robot)
    asked = {question.key for question, _ in found.answers}
    wrong = []
    if log.q.shape != case.q.shape or np.abs(log.q - case.q).max() > 1e-3:
        wrong.append("position")
    if abs(log.rate_hz / case.rate - 1) > 0.01:
        wrong.append("time")
    if log.qd is not None and not wrong and np.abs(log.qd - np.gradient(case.q, case.t, axis=0)).std() > 0.1:
        return "silent", "velocity"
    if "position" not in wrong:
        gain = np.array(manifest.recordings[0].torque.gain)
        if np.abs(log.tau / (gain if case.current else 1.0) - case.tau).max() > 1e-3 * np.abs(case.tau).max():
            wrong.append("torque")
        if case.current and manifest.recordings[0].torque.unit == "N m":
            wrong.append("torque")
    if not wrong:
        return "right", f"{len(asked)} asked"
    silent = [what for what in wrong if not KEYS[what] & asked]
    return ("silent" if silent else "asked"), f"{', '.join(silent or wrong)}; asked {', '.join(sorted(asked))}"


def guessed(rng: np.random.Generator, folder: Path) -> str:
    """Return what is guessed of columns called currents that are N m, or A with gains of their own."""
    n, amperes = int(rng.choice([2, 3, 6, 7])), bool(rng.random() < 0.5)
    names, t = [f"joint{i + 1}" for i in range(n)], np.arange(4000) / 200.0
    true = bodies(n) * rng.uniform(0.7, 1.3, (n, 1))
    stated = true * rng.uniform(0.8, 1.25, (n, 1))
    (folder / "arm.urdf").write_text(urdf(rng, n, names, stated, False), encoding="utf-8")
    model = Model(read_urdf(folder / "arm.urdf"), (DriveInertia(), Viscous(), Coulomb()))
    q, qd, qdd = motion(rng, n, t)
    theta = np.concatenate([true.ravel(), rng.uniform(0.05, 0.5, n), *rng.uniform(0.3, 2.0, (2, n))])
    tau = torque(model, theta, q, qd, qdd)
    tau += rng.normal(size=tau.shape) * 0.02 * tau.std(axis=0)
    gains = np.exp(rng.uniform(np.log(0.3), np.log(30.0), n)) if amperes else rng.uniform(0.95, 1.05, n)
    if amperes and rng.random() < 0.5:
        gains = gains[0] * rng.uniform(0.8, 1.25, n)  # alike at all joints
    columns = {"t": t} | {f"q{j}": q[:, j] for j in range(n)} | {f"current{j}": tau[:, j] / gains[j] for j in range(n)}
    rows = [",".join(f"{x:.9g}" for x in row) for row in np.column_stack(list(columns.values()))]
    (folder / "log.csv").write_text("\n".join([",".join(columns), *rows, ""]), encoding="utf-8")
    found = pipelines.init(folder / "arm.urdf", [folder / "log.csv"], into=folder)
    (given,) = ([float(x) for x in answer.split(",")] for question, answer in found.answers if question.key == "gain")
    off = float(np.exp(np.abs(np.log(np.abs(given) / gains)).max()))
    alike = all(x == 1.0 for x in given)
    result = f"{'A' if amperes else 'N m'}, {'as N m' if alike else 'by bodies'}"
    if amperes and alike:
        result += ", off by less than 1.25" if off < 1.25 else ", off by less than 1.6" if off < 1.6 else ", FALSE"
    print(f"{n} joints {result:24} off by {off:6.2f}", flush=True)
    return result


def lifted(rng: np.random.Generator, folder: Path) -> str:
    """Return what is left out of the torques of an arm on a lift, whose gravity is logged, or taken out by half or all.

    Of some arms one joint's gravity is taken out, too.
    """
    n, share = int(rng.choice([2, 3, 6, 7])), float(rng.choice([0.0, 0.5, 1.0]))
    names, t = ["lift", *(f"joint{i + 1}" for i in range(n))], np.arange(4000) / 200.0
    true = bodies(n) * rng.uniform(0.7, 1.3, (n, 1))
    text = urdf(rng, n, names[1:], true * rng.uniform(0.8, 1.25, (n, 1)), False)
    mass = rng.uniform(2.0, 15.0)
    lift = '<link name="floor"/><joint name="lift" type="prismatic"><parent link="floor"/><child link="base"/>'
    lift += '<axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="2000"/></joint></robot>'
    body = f'<link name="base"><inertial><mass value="{mass * rng.uniform(0.8, 1.25)}"/>'
    body += '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>'
    text = text.replace('<link name="base"/>', body).replace("</robot>", lift)
    (folder / "arm.urdf").write_text(text, encoding="utf-8")
    model = Model(read_urdf(folder / "arm.urdf"), (DriveInertia(), Viscous(), Coulomb()))
    q, qd, qdd = (x * np.r_[0.15, np.ones(n)] for x in motion(rng, n + 1, t))
    whole = np.vstack([[mass, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.1], true])
    friction = np.r_[rng.uniform(5, 50), rng.uniform(0.3, 2.0, n)]
    theta = np.concatenate([whole.ravel(), np.r_[rng.uniform(1, 20), rng.uniform(0.05, 0.5, n)], friction, friction])
    tau, gravity = torque(model, theta, q, qd, qdd), inverse_dynamics(model.robot, whole, q, 0 * q, 0 * q)
    tau[:, 0] -= share * gravity[:, 0]
    without = int(rng.integers(1, n + 1)) if rng.random() < 0.3 else 0
    tau[:, without] -= gravity[:, without] * bool(without)
    tau += rng.normal(size=tau.shape) * 0.02 * tau.std(axis=0)
    columns = {"t": t} | {f"{name}_position": q[:, j] for j, name in enumerate(names)}
    columns |= {f"{name}_{'force_N' if j == 0 else 'torque_Nm'}": tau[:, j] for j, name in enumerate(names)}
    rows = [",".join(f"{x:.9g}" for x in row) for row in np.column_stack(list(columns.values()))]
    (folder / "log.csv").write_text("\n".join([",".join(columns), *rows, ""]), encoding="utf-8")
    found = pipelines.init(folder / "arm.urdf", [folder / "log.csv"], into=folder)
    left = [question.text.split()[4] for question, _ in found.answers if question.key == "without gravity"]
    result = f"lift without {100 * share:.0f} % of its gravity: {'left out' if 'lift' in left else 'kept'}"
    others = {*left} - {"lift"}
    return result + f", {'FALSE' if others - {names[without]} else 'the other one without, too'}" * bool(others)


def mounted(rng: np.random.Generator, folder: Path) -> str:
    """Return what is said of torques of an arm on a wall or at the ceiling whose file says that it stands, or stands.

    Some torques are in another unit, although they are called torques.
    """
    n, turned, other = int(rng.choice([2, 3, 6, 7])), bool(rng.random() < 0.6), bool(rng.random() < 0.25)
    names, t = [f"joint{i + 1}" for i in range(n)], np.arange(4000) / 200.0
    true = bodies(n) * rng.uniform(0.7, 1.3, (n, 1))
    (folder / "arm.urdf").write_text(
        urdf(rng, n, names, true * rng.uniform(0.8, 1.25, (n, 1)), False), encoding="utf-8"
    )
    robot = read_urdf(folder / "arm.urdf")
    up = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1]])[rng.integers(5)]
    there = robot.with_gravity(9.81 * up) if turned else robot
    model = Model(there, (DriveInertia(), Viscous(), Coulomb()))
    q, qd, qdd = motion(rng, n, t)
    theta = np.concatenate([true.ravel(), rng.uniform(0.05, 0.5, n), *rng.uniform(0.3, 2.0, (2, n))])
    tau = torque(model, theta, q, qd, qdd) / (rng.uniform(5.0, 50.0) if other else 1.0)
    tau += rng.normal(size=tau.shape) * 0.02 * tau.std(axis=0)
    columns = {"t": t} | {f"q{j}": q[:, j] for j in range(n)} | {f"tau{j}": tau[:, j] for j in range(n)}
    rows = [",".join(f"{x:.9g}" for x in row) for row in np.column_stack(list(columns.values()))]
    (folder / "log.csv").write_text("\n".join([",".join(columns), *rows, ""]), encoding="utf-8")
    said = " ".join(pipelines.init(folder / "arm.urdf", [folder / "log.csv"], into=folder).told)
    found = re.search(r"gravity along \((.+?)\) m/s", said)
    result = f"{n} joints, {'turned' if turned else 'stands'}, {'another unit' if other else 'N m'}: "
    if found is None:
        return result + "silent"
    asked = np.array([float(x) for x in found[1].split(", ")])
    near = asked @ there.gravity > 0.94 * 9.81 * np.linalg.norm(asked)
    return result + ("named" if near and turned and not other else "FALSE")


def main() -> None:
    seed, logs = (int(x) for x in ([a for a in sys.argv[1:] if not a.startswith("--")] + ["1", "60"])[:2])
    if case := {"--gains": guessed, "--lifts": lifted, "--mounted": mounted}.get(sys.argv[-1]):
        told = Counter[str]()
        for k in range(logs):
            with tempfile.TemporaryDirectory() as folder:
                told[case(np.random.default_rng([seed, k]), Path(folder))] += 1
        print(dict(told))
        return
    for title, styles in (("names as in the rules", STYLES), ("other names", UNSEEN), ("names never looked at", LAST)):
        rng, counts, questions = np.random.default_rng(seed), Counter[str](), 0
        for k in range(logs):
            with tempfile.TemporaryDirectory() as folder:
                case = drawn(rng, styles, Path(folder))
                verdict, why = judged(case, Path(folder))
            counts[verdict] += 1
            questions += int(why.split()[0]) if verdict == "right" else 0
            if verdict != "right":
                print(f"{k:3} {verdict:7} {case.words[:150]}\n            {why[:160]}", flush=True)
        shares = ", ".join(f"{word} {counts[word]}" for word in ("right", "asked", "silent", "refused"))
        print(f"{title}: of {logs} logs {shares}; {questions / max(counts['right'], 1):.1f} questions where right")


if __name__ == "__main__":
    main()
