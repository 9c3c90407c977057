"""Dynamics of the page's five-joint arm: gravity surfaces, matrices, simulation, and what its Lagrange function costs.

python experiments/seed_arm5/arm5.py        prints the tables of README.md and draws its three pictures (10 s)
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import lagrange_page as page  # noqa: E402

from ident.cad import read_cad  # noqa: E402
from ident.dynamics import coriolis_matrix, forward_dynamics, gravity_load, inverse_dynamics, mass_matrix  # noqa: E402
from ident.robot import Robot, read_robot  # noqa: E402

Array = NDArray[np.float64]
ARM5 = HERE.parents[1] / "datasets" / "arm5"
NMM = 1e3  # N m -> N mm
POSE = np.radians([30.0, 30, -30, 30, 30])  # the page's pose for the two signs of gravity
TORQUE = np.array([0.0, 30, 6, 0, 0]) / NMM  # the page's torques [N m]; it gives six numbers for five joints
RUNS = (  # name, what torques and gravity are divided by, what the page's torques are multiplied by
    ("the page's units and torques", 1000.0, 1.0),
    ("the page's units, zero torque", 1000.0, 0.0),
    ("the page's units, torques of 30 and 6 N m", 1000.0, 1000.0),
    ("SI, the page's torques", 1.0, 1.0),
    ("SI, zero torque", 1.0, 0.0),
)
READINGS = {"tensor entries": -1.0, "+integral of x y dm": 1.0}  # sign from the table to the integral of x y dm

FAULTS = {
    "tensor about the centre of mass used at the link's origin": page.Faults(tensor_as_if_at_origin=True),
    "products of inertia with the other sign": page.Faults(products_as_integrals=True),
    "second derivative, rotation before the link (standard DH)": page.Faults(generator_before_link=True),
    "these three": page.Faults(True, True, True),
    "kg mm^2/s^2 added to N mm": page.Faults(units_mixed=True),
    "all four: the page's function": page.PAGE,
}


@functools.cache
def arm() -> tuple[Robot, Array]:
    """Return the arm and its parameters (5, 10) in SI, products read as tensor entries."""
    robot = read_robot(ARM5 / "robot.toml")
    return robot, read_cad(ARM5 / "cad_solidworks.csv", robot.links).for_robot(robot)


def limits(robot: Robot) -> tuple[Array, Array]:
    return np.array([j.limits.lower for j in robot.joints]), np.array([j.limits.upper for j in robot.joints])


def gravity_signs() -> tuple[Array, Array]:
    """Return the gravity load (5,) [N mm] at the page's pose, gravity along base z (hanging arm) and against."""
    robot, parameters = arm()
    down, up = (gravity_load(robot.with_gravity([0, 0, g]), parameters, POSE[None])[0] for g in (9.81, -9.81))
    return NMM * down, NMM * up


def gravity_surfaces(step: float = 0.1) -> tuple[Array, Array, Array, Array]:
    """Return q2, q3 [deg] and the load of joints 2 and 3 [N mm] over both ranges, (n, n) each; others at 0."""
    robot, parameters = arm()
    lower, upper = limits(robot)
    axes = [np.linspace(lower[j], upper[j], 1 + round((upper[j] - lower[j]) / step)) for j in (1, 2)]
    q2, q3 = np.meshgrid(*axes)
    q = np.zeros((q2.size, robot.n))
    q[:, 1], q[:, 2] = q2.ravel(), q3.ravel()
    load = NMM * gravity_load(robot, parameters, q)
    return np.degrees(q2), np.degrees(q3), load[:, 1].reshape(q2.shape), load[:, 2].reshape(q2.shape)


def random_states(samples: int = 300, seed: int = 0) -> tuple[Array, Array, Array]:
    """Return q within the ranges, qd with 1 rad/s and qdd with 5 rad/s^2 standard deviation, (samples, 5) each."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(*limits(arm()[0]), (samples, 5))
    return q, rng.normal(0, 1, (samples, 5)), rng.normal(0, 5, (samples, 5))


def lagrange(states: tuple[Array, Array, Array], faults: page.Faults) -> Array:
    """Return the page's torques (N, 5) [N mm]."""
    return np.array([page.torque(*state, faults) for state in zip(*states, strict=True)])


def newton_euler(states: tuple[Array, Array, Array]) -> Array:
    """Return ident's torques (N, 5) [N mm]."""
    return NMM * inverse_dynamics(*arm(), *states)


@functools.cache
def fault_errors(samples: int = 300) -> dict[str, Array]:
    """Return for each fault the rms torque error of the five joints relative to the rms torque."""
    states = random_states(samples)
    right = newton_euler(states)
    scale = np.sqrt((right**2).mean(axis=0))
    return {
        name: np.sqrt(((lagrange(states, faults) - right) ** 2).mean(axis=0)) / scale for name, faults in FAULTS.items()
    }


def indefinite(samples: int = 300) -> float:
    """Return in which share of poses the page's own D has a negative eigenvalue, which no mass distribution gives."""
    q = random_states(samples)[0]
    return float(np.mean([np.linalg.eigvalsh(page.mass_matrix(x, page.PAGE))[0] < 0 for x in q]))


def sign_evidence() -> dict[str, list[tuple[float, float, float]]]:
    """Return for each reading of the products, for links 2, 3 and 4: what shape it gives the link.

    Angle [deg] between the link's long axis and the line from its joint to its centre of mass; distance [mm] of the
    long axis from its own joint; the same from the next joint (link 4: both joints meet at its origin).
    """
    found: dict[str, list[tuple[float, float, float]]] = {}
    for name, sign in READINGS.items():
        found[name] = []
        for i in (1, 2, 3):
            row = page.table()[i]
            xx, yy, zz, xy = row["Ixx"], row["Iyy"], row["Izz"], sign * row["Ixy"]
            c = np.array([row["cx"], row["cy"]])
            _, vectors = np.linalg.eigh([[(yy + zz - xx) / 2, xy], [xy, (xx + zz - yy) / 2]])
            axis = vectors[:, 1]
            angle = np.degrees(np.arccos(abs(axis @ c) / np.linalg.norm(c)))
            beyond = np.array([page.A[i + 1] if i < 3 else 0.0, 0.0])
            own, following = (abs(axis[0] * r[1] - axis[1] * r[0]) for r in (c, c - beyond))
            found[name].append((float(angle), float(own), float(following)))
    return found


def origin_products() -> dict[str, list[tuple[float, float]]]:
    """Return for each reading of the products the integral of x y dm of link 4 about its origin [kg mm^2].

    Least and largest over the rounding of the table's mass, for the table and for the older one in its comments. The
    axes of joints 4 and 5 meet there and lie along z and y: a link whose parts are even in x, or in y, has 0.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    row = page.table()[3]
    tables = [(row["m"], row["cx"], row["cy"], row["Ixy"]), page.OLDER_LINK_4]
    for name, sign in READINGS.items():
        ends = [[sign * xy + (m + d) * x * y for d in (0.0005, -0.0005)] for m, x, y, xy in tables]
        found[name] = [(min(pair), max(pair)) for pair in ends]
    return found


def pose_torque() -> Array:
    """Return the torques (5,) [N mm] at the page's pose with every joint at 1 rad/s and 1 rad/s^2."""
    one = np.ones((1, 5))
    return np.asarray(NMM * inverse_dynamics(*arm(), POSE[None], one, one)[0])


def matrices() -> tuple[Array, Array]:
    """Return D [kg mm^2] and C [kg mm^2/s], (5, 5) each, at the page's pose, with every joint at 1 rad/s."""
    robot, parameters = arm()
    q, qd = POSE[None], np.ones((1, 5))
    return 1e6 * mass_matrix(robot, parameters, q)[0], 1e6 * coriolis_matrix(robot, parameters, q, qd)[0]


def rates(slow: float = 1.0, times: float = 1.0) -> Callable[[float, Array], Array]:
    """Return the rate of the state (q, qd) under `times` the page's torques, without friction.

    `slow` divides the torques and gravity: 1000 for the page's units, which divide N mm by kg mm^2.
    """
    robot, parameters = arm()
    robot, torque = robot.with_gravity(robot.gravity / slow), times * TORQUE[None] / slow

    def rate(_: float, x: Array) -> Array:
        return np.concatenate([x[5:], forward_dynamics(robot, parameters, x[None, :5], x[None, 5:], torque)[0]])

    return rate


def simulate(duration: float = 1.0, slow: float = 1.0) -> tuple[Array, Array]:
    """Return t (m,) [s] and q (m, 5) [rad] under the page's torques, from rest at q = 0, without friction."""
    t = np.linspace(0, duration, 201)
    return t, solved_closely(rates(slow), t)[:, :5]


def solved_closely(rate: Callable[[float, Array], Array], t: Array) -> Array:
    """Return the state (m, 10) at the times t (m,), from rest at 0."""
    from scipy.integrate import solve_ivp

    return np.asarray(solve_ivp(rate, (0.0, t[-1]), np.zeros(10), t_eval=t, rtol=1e-9, atol=1e-10).y.T)


def ode45(rate: Callable[[float, Array], Array], duration: float, x: Array) -> tuple[Array, Array, int]:
    """Return times (m,), states (m, n) of the accepted steps and the number of rejected ones, as MATLAB's ode45 does.

    Dormand and Prince's pair with the step control of Shampine and Reichelt (SIAM J. Sci. Comput. 18 (1997)) at the
    defaults, which `fdyn` uses: RelTol 1e-3, AbsTol 1e-6, no step above a tenth of the time. MATLAB returns four points
    for each step, and the first.
    """
    from scipy.integrate import RK45

    relative, floor = 1e-3, 1e-6 / 1e-3
    t, f, times, states, rejected = 0.0, rate(0.0, x), [0.0], [x], 0
    h = 0.1 * duration
    fastest = np.abs(f / np.maximum(np.abs(x), floor)).max() / (0.8 * relative**0.2)
    h = min(h, 1 / fastest) if fastest else h
    while t < duration:
        h, clean = min(h, 0.1 * duration), True
        while True:
            last = (1.1 * h >= duration - t and clean) or t + h >= duration
            h = duration - t if last else h
            k = [f]
            for a, c in zip(RK45.A[1:], RK45.C[1:], strict=True):
                k.append(rate(t + c * h, x + h * (a[: len(k)] @ np.array(k))))
            new = x + h * (RK45.B @ np.array(k))
            k.append(rate(t + h, new))
            error = h * np.abs(RK45.E @ np.array(k) / np.maximum(np.maximum(np.abs(x), np.abs(new)), floor)).max()
            if error <= relative:
                break
            rejected += 1
            h *= max(0.1, 0.8 * (relative / error) ** 0.2) if clean else 0.5
            clean = False
        t, x, f = duration if last else t + h, new, k[-1]
        times.append(t)
        states.append(x)
        if clean:
            h *= min(5.0, 0.8 * (relative / error) ** 0.2) if error else 5.0
    return np.array(times), np.array(states), rejected


def toolbox_run(slow: float, times: float) -> tuple[Array, int, float]:
    """Return the times (m,) [s] of ode45's steps over one second, the rejected ones, and the largest error [deg]."""
    rate = rates(slow, times)
    t, x, rejected = ode45(rate, 1.0, np.zeros(10))
    return t, rejected, float(np.degrees(np.abs(x - solved_closely(rate, t))[:, :5].max()))


def draw() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    q2, q3, g2, g3 = gravity_surfaces()
    figure = plt.figure(figsize=(9.6, 4.2))
    for i, (g, joint) in enumerate(((g2, 2), (g3, 3))):
        axes = figure.add_subplot(1, 2, i + 1, projection="3d")
        top = np.abs(g).max()
        axes.plot_surface(q2, q3, g, cmap="coolwarm", vmin=-top, vmax=top, linewidth=0.2, edgecolor="white")
        axes.set(xlabel="q2 [deg]", ylabel="q3 [deg]", zlabel="load [N mm]")
        axes.set_title(f"Gravity load of joint {joint}: {g.min():.0f} to {g.max():.0f} N mm", fontsize=11)
        axes.set(xticks=range(0, 121, 40), yticks=range(-120, 1, 40))
        axes.view_init(25, -125)
    figure.tight_layout()
    figure.savefig(HERE / "gravity_surfaces.png", dpi=80)

    errors = list(fault_errors().items())[:4]
    figure, axes = plt.subplots(figsize=(8.6, 3.6))
    colours = ("#0072b2", "#b08a00", "#d55e00", "#1b1b1c")
    for i, ((name, error), colour) in enumerate(zip(errors, colours, strict=True)):
        bars = axes.bar(np.arange(5) + 0.2 * (i - 1.5), 100 * error, 0.19, color=colour, label=name)
        axes.bar_label(bars, [f"{100 * e:.2g}" for e in error], fontsize=7)
    axes.set_xticks(range(5), [f"joint {i}" for i in range(1, 6)])
    axes.set(yscale="log", ylim=(0.003, 500), ylabel="rms torque error [% of rms torque]")
    axes.set_title("What each fault of the page's Lagrange function costs (repaired: 3e-13 %)", fontsize=10)
    axes.legend(fontsize=7.5, ncols=2, loc="upper center")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(HERE / "faults.png", dpi=90)

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.4))
    for axes, slow, title in (
        (left, 1.0, "consistent units (SI)"),
        (right, 1000.0, "as on the page: N mm divided by kg mm$^2$"),
    ):
        t, q = simulate(slow=slow)
        for j, colour in enumerate(("#8a8b8e", "#0072b2", "#d55e00", "#00855f", "#b08a00")):
            axes.plot(t, np.degrees(q[:, j]), color=colour, label=f"joint {j + 1}")
        axes.set(xlabel="time [s]", ylabel="angle [deg]", title=title)
        axes.spines[["top", "right"]].set_visible(False)
    right.legend(fontsize=8, loc="lower left")
    figure.suptitle("One second under torques 0, 30, 6, 0, 0 N mm from rest at q = 0, no friction", fontsize=11)
    figure.tight_layout()
    figure.savefig(HERE / "forward.png", dpi=90)


def show() -> None:
    np.set_printoptions(precision=4, suppress=True, linewidth=120)
    down, up = gravity_signs()
    print("gravity load at [30 30 -30 30 30] deg [N mm]\n  along base z  ", down, "\n  against base z", up)
    print("torque there with 1 rad/s and 1 rad/s^2 at every joint", pose_torque())
    q2, q3, g2, g3 = gravity_surfaces()
    for g, joint in ((g2, 2), (g3, 3)):
        low, high = g.argmin(), g.argmax()
        print(
            f"joint {joint}: {g.min():.1f} N mm at ({q2.flat[low]:.0f}, {q3.flat[low]:.0f}) deg to "
            f"{g.max():.1f} N mm at ({q2.flat[high]:.0f}, {q3.flat[high]:.0f}) deg"
        )
    D, C = matrices()
    print("D at the same pose [kg mm^2]\n", D, "\nC there, every joint at 1 rad/s [kg mm^2/s]\n", C)
    states = random_states()
    print("rms torque over random states [N mm]", np.sqrt((newton_euler(states) ** 2).mean(axis=0)))
    print("rms torque error, % of the rms torque")
    for name, error in fault_errors().items():
        print(f"  {name:58s}", " ".join(f"{100 * e:10.2f}" for e in error))
    difference = np.abs(lagrange(states, page.Faults()) - newton_euler(states)).max(axis=1)
    print(
        f"repaired against Newton-Euler, relative: {(difference / np.abs(newton_euler(states)).max(axis=1)).max():.1e}"
    )
    print(f"page's D has a negative eigenvalue in {100 * indefinite():.0f} % of poses")
    for name, links in sign_evidence().items():
        print(
            f"products are {name}: angle [deg], own joint [mm], next joint [mm] of links 2, 3, 4:", np.round(links, 1)
        )
    for name, products in origin_products().items():
        print(f"products are {name}: x y of link 4 about its origin [kg mm^2], new and older table:", products)
    for name, slow, times in RUNS:
        t, rejected, error = toolbox_run(slow, times)
        print(
            f"ode45, {name}: {len(t) - 1} steps, {rejected} rejected, {4 * len(t) - 3} points, error {error:.1e} deg; "
            f"point 65 at {t[16] if len(t) > 16 else np.nan:.3f} s"
        )
    for slow in (1.0, 1000.0):
        print(f"after 1 s, torques / {slow:g}: q [deg]", np.degrees(simulate(slow=slow)[1][-1]))


if __name__ == "__main__":
    show()
    draw()
