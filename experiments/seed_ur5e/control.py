"""The page's Cartesian PD closing the loop on the full UR5e, with and without feed-forward.

    python experiments/seed_ur5e/control.py        prints the table of README.md and draws control.png (10 s)

tau = J^T (Kp (p_des - p) + Kd (v_des - v)) + feed-forward along the desired motion. The end of link 3 (wrist 1) draws
an inclined circle of 0.12 m radius twice in 4 s, from rest to rest. The page gives the wrist no torque: it would fall;
here it is held rigidly at -90, -90, 0 deg, that is, part of link 3. No friction, no drive inertia, no delay.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import simplified as page  # noqa: E402
from simplified import Array  # noqa: E402

from ident.dynamics import inverse_dynamics  # noqa: E402
from ident.model import Model  # noqa: E402
from ident.robot import Robot  # noqa: E402
from ident.simulation import TorqueFunction, plant, simulate_fixed  # noqa: E402
from ident.spatial.inertia import Pose, transformed  # noqa: E402

KP, KD = 2000.0, 200.0  # N/m, N s/m along each axis
WRIST = np.radians([-90.0, -90.0, 0.0])
DURATION, STEP, TURNS = 4.0, 1e-3, 2
CENTRE, RADIUS = np.array([0.5, 0.0, 0.25]), 0.12  # m from the shoulder


def locked() -> tuple[Robot, Array]:
    """Return joints 1 to 3 of the UR5e with the wrist held: links 4 to 6 are part of link 3."""
    robot, parameters = page.ur5e()
    pose, last = Pose.identity(), parameters[2].copy()
    for joint, body, q in zip(robot.joints[3:], parameters[3:], WRIST, strict=True):
        pose = pose @ joint.pose(float(q))
        last += transformed(body, pose)
    arm = replace(robot, joints=robot.joints[:3], links=robot.links[:3], inertials=None)
    return arm, np.vstack([parameters[:2], last])


def desired(t: Array) -> Array:
    """Return the desired position (N, 3) [m] from the shoulder at t (N,)."""
    x = np.clip(t / DURATION, 0.0, 1.0)
    angle = 2 * np.pi * TURNS * (10 * x**3 - 15 * x**4 + 6 * x**5)
    s, c = np.sin(angle), np.cos(angle)
    return CENTRE + RADIUS * np.stack([0.5 * s, c, np.sqrt(0.75) * s], -1)


def joints_at(p: Array) -> Array:
    """Return the manufacturer's q (N, 3), elbow up, that puts the end of link 3 at p (N, 3) from the shoulder."""
    reach = np.hypot(p[:, 0], p[:, 1])
    bend = -np.arccos((reach**2 + p[:, 2] ** 2 - page.L2**2 - page.L3**2) / (2 * page.L2 * page.L3))
    lean = np.arctan2(page.L3 * np.sin(bend), page.L2 + page.L3 * np.cos(bend))
    return np.stack([np.arctan2(p[:, 1], p[:, 0]) - np.pi, lean - np.arctan2(p[:, 2], reach), -bend], -1)


def slopes(f: Callable[[Array], Array], t: Array, h: float = 1e-3) -> tuple[Array, Array]:
    """Return first and second time derivative of f at t by central differences of fourth order."""
    f2, f1, f0, b1, b2 = (f(t + k * h) for k in (2, 1, 0, -1, -2))
    return (-f2 + 8 * f1 - 8 * b1 + b2) / (12 * h), (-f2 + 16 * f1 - 30 * f0 + 16 * b1 - b2) / (12 * h * h)


def feed_forwards(t: Array) -> dict[str, Array]:
    """Return each feed-forward torque (N, 3) [N m] along the desired motion."""
    robot, parameters = locked()
    q = joints_at(desired(t))
    qd, qdd = slopes(lambda s: joints_at(desired(s)), t)
    parts = page.parts(q, qd, qdd)
    return {
        "PD alone": np.zeros_like(q),
        "PD + simplified model's gravity": parts[2],
        "PD + page's code as printed": page.code_torque(q, qd, qdd),
        "PD + simplified model (formulas)": sum(parts),
        "PD + full model": inverse_dynamics(robot, parameters, q, qd, qdd),
    }


def simulate(step: float = STEP) -> tuple[Array, dict[str, Array]]:
    """Return t (N,) and for each feed-forward the Cartesian error (N, 3) [m], by RK4, the law inside it."""
    robot, parameters = locked()
    arm = plant(Model(robot), parameters.ravel())
    half = np.arange(0, DURATION + step / 4, step / 2)  # RK4 asks at the middle of each step too
    p_des, v_des = desired(half), slopes(desired, half)[0]
    start = joints_at(p_des[:1])[0]
    found = {}
    for name, forward in feed_forwards(half).items():
        law = controller(p_des, v_des, forward, step)
        run = simulate_fixed(arm, start, np.zeros(3), DURATION, step, law)
        found[name] = page.position(page.theta_of(run.q)) - p_des[::2]
    return run.t, found


def controller(p_des: Array, v_des: Array, forward: Array, step: float) -> TorqueFunction:
    """Return the page's law tau = J^T (Kp (p_des - p) + Kd (v_des - v)) + feed-forward, sampled at half steps."""

    def torque(t: float, q: Array, qd: Array) -> Array:
        i = round(2 * t / step)
        J = page.code_jacobian(q)
        force = KP * (p_des[i] - page.position(page.theta_of(q))) + KD * (v_des[i] - J @ qd)
        return np.asarray(J.T @ force + forward[i])

    return torque


def figures(error: Array) -> tuple[float, float]:
    """Return rms and largest distance from the desired point [mm]."""
    distance = 1e3 * np.linalg.norm(error, axis=1)
    return float(np.sqrt((distance**2).mean())), float(distance.max())


def draw(t: Array, errors: dict[str, Array]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.0), width_ratios=(1, 1.5))
    p = desired(t)
    left.plot(p[:, 1], p[:, 2], color="#1b1b1c", linewidth=4, alpha=0.25, label="desired")
    colours = ("#8a8b8e", "#b08a00", "#d55e00", "#0072b2", "#00855f")
    for (name, error), colour in zip(errors.items(), colours, strict=True):
        path = p + error
        left.plot(path[:, 1], path[:, 2], color=colour, linewidth=1)
        size = figures(error)[0]
        label = f"{name}: {size:.1f} mm rms" if size > 0.05 else f"{name}: below 0.001 mm"
        right.plot(t, 1e3 * np.linalg.norm(error, axis=1), color=colour, label=label)
    left.set(
        xlabel="y [m]", ylabel="z above the shoulder [m]", aspect="equal", title="Path of wrist 1 (grey band: wanted)"
    )
    right.set(xlabel="time [s]", ylabel="distance from the desired point [mm]", title="Tracking error", ylim=(0, 65))
    right.legend(fontsize=8, loc="upper left")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(HERE / "control.png", dpi=90)


def main() -> None:
    t, errors = simulate()
    for name, error in errors.items():
        print(f"{name:36s} rms {figures(error)[0]:8.4f} mm   largest {figures(error)[1]:8.4f} mm")
    draw(t, errors)


if __name__ == "__main__":
    main()
