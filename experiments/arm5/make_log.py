"""Makes the log of the demo, the CAD table with planted errors and the truth, with MuJoCo as the robot.

    python experiments/arm5/make_log.py             writes datasets/arm5/ (half a minute)
    python experiments/arm5/make_log.py --search    ranks the candidates of the exciting motion (two minutes)

Nothing here uses `ident`: the table of joints and the CAD table are read, and turned into MuJoCo's conventions, anew.

What the motor gives, and what is recorded as torque, is at every instant

    tau = M(q) qdd + C(q, qd) qd + g(q) + drive_inertia qdd + viscous qd + coulomb tanh(qd / WIDTH) + offset.

Drive inertia and viscous friction are MuJoCo's `armature` and `damping`. Coulomb friction is not its `frictionloss`, a
constraint whose softness depends on solver settings, but the smooth law above, applied as a force and so known exactly.
The equations are integrated here with RK4 on MuJoCo's forward dynamics, motor torque and friction evaluated at every
stage: MuJoCo's own step would hold them for its duration and so shift torque against motion by half a step.
"""

from __future__ import annotations

import argparse
import copy
import csv
import functools
import os
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
DATA = Path(__file__).resolve().parents[2] / "datasets" / "arm5"
N = 5

# The truth, besides the published table: joint values of a small geared servo, seen at the joint.
DRIVE_INERTIA = (0.004, 0.004, 0.002, 0.0006, 0.0003)  # kg m^2
VISCOUS = (0.030, 0.030, 0.020, 0.008, 0.005)  # N m s/rad
COULOMB = (0.040, 0.050, 0.030, 0.012, 0.008)  # N m
OFFSET = (0.004, -0.006, 0.003, 0.001, -0.001)  # N m
WIDTH = 0.05  # rad/s

# What is measured.
RATE = 500.0  # Hz
SUBSTEPS = 4  # RK4 steps of 0.5 ms per sample
COUNTS = 4096 * 16  # encoder counts per turn
TORQUE_NOISE = (0.005, 0.010, 0.006, 0.0012, 0.0008)  # N m, standard deviation, white; 0.4 to 1.2 % of the range
SEED = 20240521

# The exciting motion: a Fourier series from a random seed, the best of CANDIDATES by `search`.
PERIOD, HARMONICS, PERIODS, RAMP = 9.0, 14, 4, 2.0  # s, -, -, s
CANDIDATES, BEST = 300, 210

# What is wrong in the demo's CAD table: each error shows in base parameters of its own.
PLANTED: dict[str, tuple[str, str, float, str]] = {
    "wrong_sign": ("link2", "Ixy", -29.632, "the product Ixy has the other sign (+integral of xy dm)"),
    "wrong_mass": ("link3", "m", 0.0845, "the mass is 30 % too high (0.0845 kg for 0.065 kg), centre and tensor kept"),
    "wrong_centre": ("link5", "cz", 53.571, "the centre of mass is 10 mm too far along z, tensor about it kept"),
}


# ---- the arm -------------------------------------------------------------------------------------------------------


def joints() -> list[dict[str, float]]:
    """Return the rows of robot.toml's table, limits among them, in metres and radians."""
    rad = np.pi / 180
    unit = {"a": 1e-3, "d": 1e-3, "alpha": rad, "offset": rad, "lower": rad, "upper": rad, "velocity": rad}
    rows = [row | row["limits"] for row in tomllib.loads((DATA / "robot.toml").read_text())["joint"]]
    return [{k: v * unit.get(k, 1.0) for k, v in row.items() if isinstance(v, int | float)} for row in rows]


def published() -> dict[str, dict[str, float]]:
    """Return the published CAD table as it is printed: kg, mm, kg mm^2, about the centre of mass."""
    lines = [x for x in (DATA / "cad_solidworks.csv").read_text().splitlines() if not x.startswith("#")]
    return {row.pop("link"): {k: float(v) for k, v in row.items()} for row in csv.DictReader(lines)}


def with_errors() -> dict[str, dict[str, float]]:
    """Return the table that the demo's user is given."""
    table = copy.deepcopy(published())
    for link, column, wrong, _ in PLANTED.values():
        table[link][column] = wrong
    return table


def standard(row: dict[str, float]) -> Array:
    """Return m, h, tensor about the link's origin (xx xy xz yy yz zz) of one row of the table, in SI."""
    c = np.array([row["cx"], row["cy"], row["cz"]]) * 1e-3
    xx, xy, xz, yy, yz, zz = (row[k] * 1e-6 for k in ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz"))
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) + row["m"] * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([row["m"], *(row["m"] * c), *tensor[np.triu_indices(3)]])


def mjcf(table: dict[str, dict[str, float]], drives: bool = True) -> str:
    """Return the arm as MJCF: one body per joint, its frame Rx(alpha) Tx(a) Rz(offset) Tz(d) in its parent's."""
    head, tail = "", ""
    for i, (joint, row) in enumerate(zip(joints(), table.values(), strict=True)):
        alpha, offset, d = joint["alpha"], joint["offset"], joint["d"]
        ca, sa, co, so = np.cos(alpha / 2), np.sin(alpha / 2), np.cos(offset / 2), np.sin(offset / 2)
        pos = (joint["a"], -np.sin(alpha) * d, np.cos(alpha) * d)
        com = [row[k] * 1e-3 for k in ("cx", "cy", "cz")]
        tensor = [row[k] * 1e-6 for k in ("Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")]
        drive = f'armature="{DRIVE_INERTIA[i]}" damping="{VISCOUS[i]}"' if drives else ""
        head += f"""
<body name="link{i + 1}" pos="{_text(pos)}" quat="{_text((ca * co, sa * co, -sa * so, ca * so))}">
<inertial pos="{_text(com)}" mass="{row["m"]!r}" fullinertia="{_text(tensor)}"/>
<joint name="joint{i + 1}" type="hinge" axis="0 0 {joint["sign"]:g}" {drive}/>"""
        tail += "</body>"
    gravity = tomllib.loads((DATA / "robot.toml").read_text())["gravity"]
    return f"""<mujoco><compiler angle="radian"/>
<option gravity="{_text(gravity)}"><flag contact="disable" constraint="disable"/></option>
<worldbody>{head}{tail}</worldbody></mujoco>"""


def _text(numbers: object) -> str:
    return " ".join(repr(float(x)) for x in numbers)  # type: ignore[attr-defined]


class Arm:
    """MuJoCo's model of the arm."""

    def __init__(self, table: dict[str, dict[str, float]], drives: bool = True) -> None:
        self.model = mujoco.MjModel.from_xml_string(mjcf(table, drives))
        self.data = mujoco.MjData(self.model)

    def acceleration(self, q: Array, qd: Array, force: Array) -> Array:
        """Return qdd (n,) under joint torques `force` (n,), drive inertia and viscous friction included."""
        self.data.qpos[:], self.data.qvel[:], self.data.qfrc_applied[:] = q, qd, force
        mujoco.mj_forward(self.model, self.data)
        return self.data.qacc.copy()

    def torque(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the joint torques (n,) of inverse dynamics, drive inertia and viscous friction included."""
        self.data.qpos[:], self.data.qvel[:], self.data.qacc[:] = q, qd, qdd
        mujoco.mj_inverse(self.model, self.data)
        return self.data.qfrc_inverse.copy()

    def inertia_diagonal(self, q: Array) -> Array:
        """Return the diagonal (n,) of the joint-space inertia matrix [kg m^2]."""
        zero = np.zeros(N)
        still = self.torque(q, zero, zero)
        return np.array([(self.torque(q, zero, e) - still) @ e for e in np.eye(N)])


# ---- motions -------------------------------------------------------------------------------------------------------

Motion = Callable[[float], tuple[Array, Array, Array]]


def quintic(x: float) -> tuple[float, float, float]:
    """Return the smooth step 10 x^3 - 15 x^4 + 6 x^5 and its first two derivatives, x limited to 0..1."""
    x = min(max(x, 0.0), 1.0)
    return x**3 * (10 - 15 * x + 6 * x * x), 30 * x * x * (1 - x) ** 2, 60 * x * (1 - x) * (1 - 2 * x)


def fourier(seed: int) -> Motion:
    """Return a random Fourier motion inside the limits, that starts at rest in the middle and ramps up."""
    rows = joints()
    lower, upper = np.array([r["lower"] for r in rows]), np.array([r["upper"] for r in rows])
    rng = np.random.default_rng([SEED, 1, seed])
    k = np.arange(1, HARMONICS + 1)
    w = 2 * np.pi * k / PERIOD
    a, b = rng.standard_normal((2, N, HARMONICS)) / np.sqrt(k)
    grid = np.outer(np.arange(0, PERIOD, 0.01), w)
    s, c = np.sin(grid), np.cos(grid)
    shape = s @ a.T + c @ b.T
    middle = 0.5 * (shape.max(axis=0) + shape.min(axis=0))
    half = np.ptp(shape, axis=0) / 2
    speed = np.abs(c * w @ a.T - s * w @ b.T).max(axis=0)
    scale = np.minimum(0.9 * (upper - lower) / 2 / half, 0.9 * np.array([r["velocity"] for r in rows]) / speed)
    a, b, home = scale[:, None] * a, scale[:, None] * b, (lower + upper) / 2

    def at(t: float) -> tuple[Array, Array, Array]:
        s, c = np.sin(w * t), np.cos(w * t)
        q, qd, qdd = a @ s + b @ c - scale * middle, (a * w) @ c - (b * w) @ s, -(a * w * w) @ s - (b * w * w) @ c
        r, rd, rdd = quintic(t / RAMP)
        rd, rdd = rd / RAMP, rdd / RAMP**2
        return home + r * q, r * qd + rd * q, r * qdd + 2 * rd * qd + rdd * q

    return at


LEG, DWELL, LEGS = 1.0, 0.25, 12  # s, s, -


def point_to_point(seed: int) -> Motion:
    """Return smooth moves of LEG seconds between random poses inside the limits, with rests of DWELL seconds."""
    rows = joints()
    lower, upper = np.array([r["lower"] for r in rows]), np.array([r["upper"] for r in rows])
    reach = 0.8 * LEG / 1.875 * np.array([r["velocity"] for r in rows])  # the quintic's top speed is 1.875 of the mean
    rng = np.random.default_rng([SEED, 2, seed])
    poses = [(lower + upper) / 2]
    for _ in range(LEGS):
        target = lower + (upper - lower) * rng.uniform(0.05, 0.95, N)
        poses.append(poses[-1] + np.clip(target - poses[-1], -reach, reach))

    def at(t: float) -> tuple[Array, Array, Array]:
        leg = min(int(t / (LEG + DWELL)), LEGS - 1)
        start, move = poses[leg], poses[leg + 1] - poses[leg]
        r, rd, rdd = quintic((t - leg * (LEG + DWELL)) / LEG)
        return start + r * move, rd / LEG * move, rdd / LEG**2 * move

    return at


# ---- simulation ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Run:
    """A simulated run before anything is measured: t (N,), q, qd, qdd, tau (N, 5)."""

    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array


def dry(qd: Array) -> Array:
    """Return Coulomb friction and torque offset [N m]."""
    return np.array(COULOMB) * np.tanh(qd / WIDTH) + np.array(OFFSET)


def simulate(reference: Motion, samples: int) -> Run:
    """Let the arm follow `reference` in closed loop: feed-forward without friction, and PD on each joint."""
    arm, feed = Arm(published()), Arm(published(), drives=False)
    q, qd, _ = reference(0.0)
    bandwidth = 60.0  # rad/s
    inertia = arm.inertia_diagonal(q)
    kp, kd = bandwidth**2 * inertia, 1.4 * bandwidth * inertia
    h = 1 / RATE / SUBSTEPS

    def motor(t: float, q: Array, qd: Array) -> Array:
        rq, rqd, rqdd = reference(t)
        return feed.torque(rq, rqd, rqdd) + kp * (rq - q) + kd * (rqd - qd)

    def slope(t: float, x: Array) -> Array:
        q, qd = x[:N], x[N:]
        return np.concatenate([qd, arm.acceleration(q, qd, motor(t, q, qd) - dry(qd))])

    x, rows = np.concatenate([q, qd]), []
    for k in range(samples):
        t = k / RATE
        rows.append((t, x[:N], x[N:], slope(t, x)[N:], motor(t, x[:N], x[N:])))
        for j in range(SUBSTEPS):
            s = t + j * h
            k1 = slope(s, x)
            k2 = slope(s + h / 2, x + h / 2 * k1)
            k3 = slope(s + h / 2, x + h / 2 * k2)
            k4 = slope(s + h, x + h * k3)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return Run(*(np.array(column) for column in zip(*rows, strict=True)))


def measured(run: Run, number: int) -> dict[str, Array]:
    """Return the columns of recording `number`: time, quantised positions, noisy torques."""
    rng = np.random.default_rng([SEED, 3, number])
    count = 2 * np.pi / COUNTS
    q = np.round(run.q / count) * count
    tau = run.tau + np.array(TORQUE_NOISE) * rng.standard_normal(run.tau.shape)
    tau = np.round(tau / 1e-5) * 1e-5  # the drive reports hundredths of a millinewton metre
    return (
        {"t": run.t}
        | {f"q{i + 1}": q[:, i] for i in range(N)}
        | {f"tau{i + 1}": tau[:, i].astype(np.float32) for i in range(N)}
    )


RECORDINGS: dict[str, tuple[int, Motion, int]] = {
    "identification": (1, fourier(BEST), round((RAMP + PERIODS * PERIOD) * RATE)),
    "validation": (2, point_to_point(0), round(LEGS * (LEG + DWELL) * RATE)),
}


# ---- excitation ----------------------------------------------------------------------------------------------------


def regressor(q: Array, qd: Array, qdd: Array) -> Array:
    """Return Y (N, 5, 70) by numeric differentiation of MuJoCo's inverse dynamics, exact since it is linear.

    Columns: ten parameters of each link, then drive inertia, viscous, Coulomb, offset of each joint.
    """
    truth = [standard(row) for row in published().values()]

    def torques(theta: list[Array]) -> Array:
        arm = Arm(published(), drives=False)
        for i, p in enumerate(theta):
            c = p[1:4] / p[0]
            about_origin = np.zeros((3, 3))
            about_origin[np.triu_indices(3)] = p[4:]
            about_origin += np.triu(about_origin, 1).T
            moments, axes = np.linalg.eigh(about_origin - p[0] * (c @ c * np.eye(3) - np.outer(c, c)))
            axes[:, 2] *= np.linalg.det(axes)
            arm.model.body_mass[i + 1], arm.model.body_ipos[i + 1], arm.model.body_inertia[i + 1] = p[0], c, moments
            mujoco.mju_mat2Quat(arm.model.body_iquat[i + 1], axes.ravel())
        return np.array([arm.torque(*x) for x in zip(q, qd, qdd, strict=True)])

    base = torques(truth)
    columns = []
    for i in range(N):
        for k in range(10):
            step = np.zeros(10)
            step[k] = 0.01 * truth[i][0] * (1.0, 0.01, 0.01, 0.01, *(6 * [1e-4]))[k]
            columns.append((torques([p + step if j == i else p for j, p in enumerate(truth)]) - base) / step[k])
    for i in range(N):
        for value in (qdd, qd, np.tanh(qd / WIDTH), np.ones_like(qd)):
            column = np.zeros_like(q)
            column[:, i] = value[:, i]
            columns.append(column)
    return np.stack(columns, axis=-1)


def information(motion: Motion, times: Array) -> float:
    """Return log det of the information on the base parameters: sum of the logarithms of the singular values."""
    q, qd, qdd = (np.array(x) for x in zip(*(motion(t) for t in times), strict=True))
    y = regressor(q, qd, qdd) / np.array(TORQUE_NOISE)[:, None]
    values = np.linalg.svd(y.reshape(-1, y.shape[-1]), compute_uv=False)
    return float(np.log(values[: np.count_nonzero(values > 1e-7 * values[0])]).sum())


def search() -> list[tuple[float, int]]:
    """Rank the candidates by information, best first (about a minute)."""
    times = RAMP + np.arange(0, PERIOD, PERIOD / 45)
    return sorted(((information(fourier(seed), times), seed) for seed in range(CANDIDATES)), reverse=True)


# ---- files ---------------------------------------------------------------------------------------------------------

INERTIAL = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


def truth() -> str:
    """Return truth.toml."""
    lines = [
        "# The truth of the demo's arm, in SI; written by experiments/arm5/make_log.py.",
        "# Links: h = m c, tensor entries about the link frame's origin. Drive inertia seen at the joint.",
        "",
        "[law]",
        'coulomb = "tanh"       # coulomb * tanh(qd / width)',
        f"width = {WIDTH}           # rad/s",
        f"torque_noise = {list(TORQUE_NOISE)}  # N m, standard deviation, white",
        f"encoder_counts = {COUNTS}  # per turn",
        "",
        "[parameters]",
    ]
    table = published()
    for link, row in table.items():
        lines += [f'"{link}.{k}" = {v:.15g}' for k, v in zip(INERTIAL, standard(row), strict=True)]
    joint = {"drive_inertia": DRIVE_INERTIA, "viscous": VISCOUS, "coulomb": COULOMB, "offset": OFFSET}
    lines += [f'"joint{i + 1}.{k}" = {v[i]!r}' for i in range(N) for k, v in joint.items()]
    lines += ["", "# What is wrong in cad.csv ...", "[planted]"]
    lines += [f'{key} = "{link}: {text}"' for key, (link, _, _, text) in PLANTED.items()]
    lines += [
        "",
        "# ... and by how much its parameters therefore differ from the truth (cad - truth); all others agree.",
        "[planted_difference]",
    ]
    for link, row in with_errors().items():
        difference = standard(row) - standard(table[link])
        lines += [f'"{link}.{k}" = {v:.13g}' for k, v in zip(INERTIAL, difference, strict=True) if abs(v) > 1e-15]
    return "\n".join(lines) + "\n"


def cad() -> str:
    """Return cad.csv: the published table, with the planted errors."""
    head = "".join(
        f'# {k} = "{v}"\n'
        for k, v in {
            "mass": "kg",
            "length": "mm",
            "inertia": "kg mm^2",
            "tensor_at": "center_of_mass",
            "products": "tensor",
        }.items()
    )
    columns = ("m", "cx", "cy", "cz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
    rows = [
        ",".join([link, *(f"{row[k]:.4f}" if k == "m" else f"{row[k]:.3f}" for k in columns)])
        for link, row in with_errors().items()
    ]
    return head + ",".join(("link", *columns)) + "\n" + "\n".join(rows) + "\n"


def write(path: Path, save: Callable[[Path], object]) -> None:
    """Write a file whole or not at all."""
    part = path.with_name(path.name + ".part")
    try:
        save(part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the log of the demo.")
    parser.add_argument("--search", action="store_true", help="rank the candidates of the exciting motion instead")
    parser.add_argument("--to", type=Path, default=DATA, help="folder to write to")
    arguments = parser.parse_args()
    if arguments.search:
        for value, seed in search()[:10]:
            print(f"candidate {seed}: {value:.2f}")
        return
    import pyarrow
    import pyarrow.parquet

    arguments.to.mkdir(parents=True, exist_ok=True)
    write(arguments.to / "truth.toml", lambda path: path.write_text(truth()))
    write(arguments.to / "cad.csv", lambda path: path.write_text(cad()))
    for name, (number, motion, samples) in RECORDINGS.items():
        run = simulate(motion, samples)
        save = functools.partial(
            pyarrow.parquet.write_table,
            pyarrow.table(measured(run, number)),
            compression="zstd",
            use_dictionary=False,
            use_byte_stream_split=True,
        )
        write(arguments.to / f"{name}.parquet", save)
        print(f"{name}: {samples} samples, largest torque {np.abs(run.tau).max(axis=0).round(3)} N m")


if __name__ == "__main__":
    main()
