"""How far each simplification of the page is from the six-joint UR5e, torque by torque, over its workspace.

    python experiments/seed_ur5e/sweep.py        prints the tables of README.md and draws errors.png (10 s)

Poses: q2 from -180 to 0 deg (arm above the table), q3 from -150 to 150 deg, wrist in any posture, at rest; joints 1
to 3 with velocities of 1 rad/s and accelerations of 2 rad/s^2 standard deviation.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import simplified as page  # noqa: E402
from simplified import Array  # noqa: E402

from ident.dynamics import coriolis_matrix, gravity_load, mass_matrix  # noqa: E402
from ident.robot import Robot  # noqa: E402
from ident.spatial.inertia import Pose, from_com, to_com, transformed  # noqa: E402

Parts = tuple[Array, Array, Array]  # inertia, velocity, gravity (N, 3) [N m]
PARTS = ("inertia", "velocity", "gravity")


def states(samples: int = 20000, seed: int = 0) -> tuple[Array, Array, Array]:
    """Return q, qd, qdd (samples, 6) of the sweep."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(-np.pi, np.pi, (samples, 6))
    q[:, 1] = rng.uniform(-np.pi, 0, samples)
    q[:, 2] = rng.uniform(-1, 1, samples) * np.radians(150)
    qd, qdd = np.zeros((2, samples, 6))
    qd[:, :3], qdd[:, :3] = rng.normal(0, 1, (samples, 3)), rng.normal(0, 2, (samples, 3))
    return q, qd, qdd


def torque_parts(robot: Robot, parameters: Array, q: Array, qd: Array, qdd: Array) -> Parts:
    """Return D qdd, C qd and g of joints 1 to 3."""
    inertia = np.einsum("sij,sj->si", mass_matrix(robot, parameters, q), qdd)
    velocity = np.einsum("sij,sj->si", coriolis_matrix(robot, parameters, q, qd), qd)
    return inertia[:, :3], velocity[:, :3], gravity_load(robot, parameters, q)[:, :3]


# ---- one simplification each: robot and parameters to robot and parameters ------------------------------------------


def without_link_1(robot: Robot, parameters: Array) -> tuple[Robot, Array]:
    """Return the arm without link 1, which turns with joint 1."""
    out = parameters.copy()
    out[0] = 0.0
    return robot, out


def wrist_as_point(robot: Robot, parameters: Array) -> tuple[Robot, Array]:
    """Return the arm with links 4 to 6 as a point mass at the end of link 3, the origin of frame 3."""
    out = parameters.copy()
    out[2, 0] += out[3:, 0].sum()
    out[3:] = 0.0
    return robot, out


def uniform_rods(robot: Robot, parameters: Array) -> tuple[Robot, Array]:
    """Return the arm with links 2 and 3 as thin uniform rods, as far beside the joint's plane as their centres are."""
    out = parameters.copy()
    for i, length in ((1, page.L2), (2, page.L3)):
        z = out[i, 3] / out[i, 0]
        out[i] = transformed(page.rod(out[i, 0], length), Pose(np.eye(3), np.array([0.0, 0.0, z])))
    return robot, out


def one_plane(robot: Robot, parameters: Array) -> tuple[Robot, Array]:
    """Return the arm with the centres of links 2 and 3 and the wrist moved into the vertical plane through axis 1."""
    out = parameters.copy()
    for i in (1, 2):
        m, c, tensor = to_com(out[i])
        out[i] = from_com(m, [c[0], c[1], 0.0], tensor)
    joints = list(robot.joints)
    placement = joints[3].placement
    joints[3] = replace(joints[3], placement=Pose(placement.rotation, np.zeros(3)))  # d4 = 0
    return replace(robot, joints=tuple(joints)), out


def without_tensors(robot: Robot, parameters: Array) -> tuple[Robot, Array]:
    """Return the arm of points at the centres of mass: what the manufacturer calls negligible is left out."""
    return robot, np.array([from_com(*to_com(p)[:2], np.zeros((3, 3))) for p in parameters])


ALONE = {
    "link 1 dropped": without_link_1,
    "links 4-6 a point at the end of link 3": wrist_as_point,
    "links 2, 3 uniform rods": uniform_rods,
    "planes' offsets dropped": one_plane,
}


def uncoupled(robot: Robot, parameters: Array, q: Array, qd: Array, qdd: Array) -> Parts:
    """Return the torques of joint 1 as if joints 2 and 3 stood still and without V, the others as if joint 1 did."""
    first, others = (torque_parts(robot, parameters, q, qd * w, qdd * w) for w in _only((0,)))
    columns = [np.column_stack([a[:, 0], b[:, 1:]]) for a, b in zip(first, others, strict=True)]
    columns[1][:, 0] = 0.0
    return columns[0], columns[1], columns[2]


def _only(joints: tuple[int, ...]) -> tuple[Array, Array]:
    chosen = np.isin(np.arange(6), joints).astype(float)
    return chosen, 1.0 - chosen


def errors(samples: int = 20000) -> tuple[Array, dict[str, Array]]:
    """Return the rms of the full arm's parts (3, 3) [part, joint] and of each simplification's error [N m]."""
    x = states(samples)
    robot, parameters = page.ur5e()
    full = np.array(torque_parts(robot, parameters, *x))
    found = {name: np.array(torque_parts(*change(robot, parameters), *x)) for name, change in ALONE.items()}
    found["joint 1 not coupled with 2, 3"] = np.array(uncoupled(robot, parameters, *x))
    found["all: the page's formulas"] = np.array(page.parts(*(a[:, :3] for a in x)))
    found["not the page's: no tensors"] = np.array(torque_parts(*without_tensors(robot, parameters), *x))
    return rms(full), {name: rms(value - full) for name, value in found.items()}


def rms(x: Array) -> Array:
    return np.asarray(np.sqrt((x**2).mean(axis=1)))


def single_link_versions(samples: int = 20000) -> dict[str, tuple[float, float]]:
    """Return mean and rms error of the page's four inertias about axis 1, in % of the mean of the consistent one."""
    theta = page.theta_of(states(samples)[0])
    right = page.single_link(theta)
    return {
        name: (
            float(100 * (page.single_link(theta, name) - right).mean() / right.mean()),
            float(100 * np.sqrt(((page.single_link(theta, name) - right) ** 2).mean()) / right.mean()),
        )
        for name in ("as printed", "energies", "code")
    }


def code_errors(samples: int = 20000) -> tuple[Array, Array]:
    """Return rms of code minus formulas (3,) and rms of the formulas' inertia part (3,) [N m]."""
    x = tuple(a[:, :3] for a in states(samples))
    parts = page.parts(*x)
    return np.sqrt(((page.code_torque(*x) - sum(parts)) ** 2).mean(axis=0)), np.sqrt((parts[0] ** 2).mean(axis=0))


def draw(full: Array, found: dict[str, Array]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(found)
    value = np.array([found[name].T.ravel() for name in names])  # joint by joint
    scale = full.T.ravel()
    keep = scale > 1e-6  # joint 1 carries no gravity
    percent = 100 * value[:, keep] / scale[keep]
    figure, axes = plt.subplots(figsize=(9.6, 4.2))
    axes.imshow(np.log10(np.maximum(percent, 1.0)), cmap="Oranges", vmin=0, vmax=2.3, aspect="auto")
    for (i, j), p in np.ndenumerate(percent):
        text = f"{value[:, keep][i, j]:.2g} N m\n{p:.0f} %" if p > 0.05 else "0"
        axes.text(j, i, text, ha="center", va="center", fontsize=8, color="white" if p > 45 else "black")
    titles = np.array([f"joint {j + 1}\n{part}" for j in range(3) for part in PARTS])[keep]
    axes.set_xticks(range(keep.sum()), titles)
    axes.set_yticks(range(len(names)), names)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for edge in (1.5, 4.5):
        axes.axvline(edge, color="white", linewidth=4)
    for edge in (4.5, 5.5):
        axes.axhline(edge, color="white", linewidth=4)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("rms torque error over the workspace, and % of the rms torque of that part", labelpad=10)
    figure.tight_layout()
    figure.savefig(HERE / "errors.png", dpi=90)


def main() -> None:
    full, found = errors()
    print(f"{'rms torque [N m]':40s}" + "".join(f"  joint {j}: {'/'.join(PARTS)}" for j in (1, 2, 3)))
    for name, value in {"full arm": full, **found}.items():
        print(f"{name:40s}" + "".join(f"   {a:9.3f} {b:7.3f} {c:7.3f}" for a, b, c in value.T))
    for name, (mean, spread) in single_link_versions().items():
        print(f"inertia about axis 1, {name}: mean error {mean:.1f} %, rms {spread:.1f} %")
    off, inertia = code_errors()
    print("code - formulas, rms [N m]:", off.round(3), "  formulas' inertia part:", inertia.round(3))
    draw(full, found)


if __name__ == "__main__":
    main()
