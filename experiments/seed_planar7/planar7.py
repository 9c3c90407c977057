"""The seven-link planar arm: derived, simulated by the compiled kernels and by its generated C code, energy balanced.

python experiments/seed_planar7/planar7.py        prints the numbers of README.md and draws planar7.png (needs gcc)
"""

from __future__ import annotations

import ctypes
import functools
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ident.dynamics import bias, gravity_load, inverse_dynamics, kinetic_energy, mass_matrix, potential_energy
from ident.export.code import write_c
from ident.model import Model
from ident.robot import Robot
from ident.simulation import Plant, Rollouts, Simulation, plant, rollouts, simulate, simulate_fixed
from ident.symbolic import planar, planar_arm

Array = NDArray[np.float64]
HERE = Path(__file__).resolve().parent
N, LENGTH, MASS, AMPLITUDE, STEP, DURATION = 7, 1.0, 2.0, 20.0, 1e-3, 1.0  # published: m, kg, N m, s, s
PERIOD = 1.0  # [s], ours: one sine in the simulated second, the same for every joint
STEPS = round(DURATION / STEP)

MISTAKES = {  # factors of the terms of velocity and of gravity
    "right": (1.0, 1.0),
    "terms of velocity left out": (0.0, 1.0),
    "halved": (0.5, 1.0),
    "of the other sign": (-1.0, 1.0),
    "gravity 10 % low": (1.0, 0.9),
}
PRINTED = (  # what the document prints of its matrices, by lines
    "m5a2a4cos(q3+q4)+m6a2a4cos(q3+q4)+m7a2a4cos(q3+q4)",
    "m6a4a6cos(q5+q6)+2m7a4a6cos(q5+q6)+m7a5a7cos(q5+q6)",
    "m7a3a4cos(q4)+m5a4a5cos(q5)+2m6a4a5cos(q5)",
    "2m7a4a5cos(q5)+m6a5a6cos(q6)+2m7a5a6cos(q6)",
    "m7a3a6cos(q4+q5+q6)+m7a4a7cos(q5+q6+q7)",
    "m6a4a5cos(q5)+m7a4a5cos(q5)+m6a5a6cos(q6)+2m7a5a6cos(q6)+m7a6a7cos(q7)",
)


@functools.cache
def arm() -> tuple[Robot, Plant]:
    robot = planar_arm(N, LENGTH, MASS)
    return robot, plant(Model(robot), robot.inertials.ravel())


def torque(t: float, q: Array, qd: Array) -> Array:
    return np.full(N, AMPLITUDE * np.sin(2 * np.pi * t / PERIOD))


@functools.cache
def by_kernel(step: float = STEP) -> Simulation:
    """Return the arm's second from rest, stretched out horizontally, by RK4 over articulated bodies."""
    return simulate_fixed(arm()[1], np.zeros(N), np.zeros(N), DURATION, step, torque)


@functools.cache
def by_c() -> tuple[Array, Array, float]:
    """Return q, qd (STEPS + 1, 7) by RK4 over the generated C: D qdd = tau - C qd - g; and its time per qdd [s]."""
    robot, _ = arm()
    with tempfile.TemporaryDirectory() as folder:
        source, _ = write_c(folder, robot, robot.inertials)
        library = Path(folder) / "planar7.so"
        subprocess.run(["gcc", "-std=c99", "-O2", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
        code = ctypes.CDLL(str(library))

    D, C, g = np.empty((N, N)), np.empty((N, N)), np.empty(N)
    out = {a: x.ctypes.data_as(ctypes.c_void_p) for a, x in (("D", D), ("C", C), ("g", g))}

    def slope(t: float, y: Array) -> Array:
        q, qd = np.ascontiguousarray(y[0]), np.ascontiguousarray(y[1])
        at, moving = q.ctypes.data_as(ctypes.c_void_p), qd.ctypes.data_as(ctypes.c_void_p)
        code.planar7_mass_matrix(at, out["D"])
        code.planar7_coriolis_matrix(at, moving, out["C"])
        code.planar7_gravity(at, out["g"])
        return np.array([qd, np.linalg.solve(D, torque(t, q, qd) - C @ qd - g)])

    before = time.perf_counter()
    y = runge_kutta(slope, np.zeros((2, N)))
    return y[:, 0], y[:, 1], (time.perf_counter() - before) / (4 * STEPS)


def runge_kutta(slope: Callable[[float, Array], Array], y: Array, h: float = STEP) -> Array:
    """Return the states at every step, by the document's method."""
    rows = [y]
    for k in range(round(DURATION / h)):
        t = k * h
        k1 = slope(t, y)
        k2 = slope(t + h / 2, y + h / 2 * k1)
        k3 = slope(t + h / 2, y + h / 2 * k2)
        k4 = slope(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        rows.append(y)
    return np.array(rows)


def by_rollouts() -> Rollouts:
    """Return the same as one batch: many arms at once, but the sine is linear within each step."""
    tau = np.array([torque(k * STEP, *np.zeros((2, N))) for k in range(STEPS + 1)])
    return rollouts(arm()[1], np.zeros((1, N)), np.zeros((1, N)), tau, STEP)


def tight() -> Simulation:
    """Return the motion by the adaptive solver at 1e-12, to see the error of the step."""
    return simulate(arm()[1], np.zeros(N), np.zeros(N), [0.0, DURATION], torque, rtol=1e-12, atol=1e-12)


def work(run: Simulation) -> Array:
    """Return the work (M,) [J] of the torques up to each time, of the power's cubics: exact to the step's 4th power."""
    h = np.diff(run.t)
    power = (run.tau * run.qd).sum(axis=1)
    turn = 2 * np.pi / PERIOD
    growth = AMPLITUDE * turn * np.cos(turn * run.t)  # d tau / dt
    slope = (run.tau * run.qdd).sum(axis=1) + growth * run.qd.sum(axis=1)
    return np.append(0.0, np.cumsum(h / 2 * (power[:-1] + power[1:]) + h**2 / 12 * (slope[:-1] - slope[1:])))


def residual(run: Simulation) -> Array:
    """Return by how much (M,) [J] the energy changed more than the torques worked."""
    return run.energy - run.energy[0] - work(run)


def points(q: Array) -> Array:
    """Return base, joints and tip (8, 2) [m] of the arm in one pose (7,)."""
    turned = np.cumsum(q)
    along = LENGTH * np.cumsum(np.column_stack([np.cos(turned), np.sin(turned)]), axis=0)
    return np.vstack([np.zeros(2), along])


def shares(speed: float, states: int = 5000) -> tuple[Array, Array]:
    """Return rms of velocity's and of acceleration's torque (7,), of rms of the whole torque, at so many times 1 rad/s.

    Random poses, velocities and accelerations of 1 rad/s and 1 rad/s^2 as of one motion; played faster, its velocities
    grow with the speed and its accelerations with its square.
    """
    robot, _ = arm()
    rng = np.random.default_rng(0)
    q, (qd, qdd) = rng.uniform(-np.pi, np.pi, (states, N)), rng.normal(size=(2, states, N))
    load = gravity_load(robot, robot.inertials, q)
    velocity = bias(robot, robot.inertials, q, speed * qd) - load
    inertia = inverse_dynamics(robot, robot.inertials, q, 0 * qd, speed**2 * qdd) - load
    whole, *parts = (np.sqrt((x**2).mean(axis=0)) for x in (load + velocity + inertia, velocity, inertia))
    return parts[0] / whole, parts[1] / whole


def mistaken(velocity: float, gravity: float, step: float = STEP) -> tuple[float, float, float]:
    """Return the largest angle and the largest error [deg], and by how much the energy is off [J], of a wrong model.

    The terms of velocity and of gravity are multiplied by these factors in the simulation; energy and work are true.
    """
    robot, _ = arm()
    parameters = robot.inertials

    def slope(t: float, y: Array) -> Array:
        q, qd = y[:, None]
        load = gravity_load(robot, parameters, q)[0]
        moving = bias(robot, parameters, q, qd)[0] - load
        rest = torque(t, y[0], y[1]) - velocity * moving - gravity * load
        return np.array([y[1], np.linalg.solve(mass_matrix(robot, parameters, q)[0], rest)])

    q, qd = runge_kutta(slope, np.zeros((2, N)), step).transpose(1, 0, 2)
    t = step * np.arange(len(q))
    right = simulate(arm()[1], np.zeros(N), np.zeros(N), t, torque, rtol=1e-9, atol=1e-10).q
    energy = kinetic_energy(robot, parameters, q, qd) + potential_energy(robot, parameters, q)
    power = AMPLITUDE * np.sin(2 * np.pi * t / PERIOD) * qd.sum(axis=1)
    done = np.append(0.0, np.cumsum(step * (power[1:] + power[:-1]) / 2))
    balance = np.abs(energy - energy[0] - done).max()
    return float(np.degrees(np.abs(q).max())), float(np.degrees(np.abs(q - right).max())), float(balance)


def entries(line: str) -> list[tuple[int, int]]:
    """Return the places, counted from 1, of the mass matrix's upper half that hold every term of a printed line."""
    import sympy

    D = planar(N).D
    terms = []
    for factor, m, a, b, angles in re.findall(r"(\d?)(m\d)(a\d)(a\d)cos\(([^)]*)\)", line):
        product = sympy.prod(sympy.symbols(f"{m} {a} {b}")) * sympy.cos(sympy.Add(*sympy.symbols(angles.split("+"))))
        terms.append((product, int(factor or 1)))
    found = {(i + 1, j + 1): D[i, j].as_coefficients_dict() for i in range(N) for j in range(i, N)}
    return [place for place, has in found.items() if all(has.get(term, 0) == factor for term, factor in terms)]


def derivation(n: int) -> tuple[float, int]:
    """Return how long [s] D, C and g of n links take to derive, all lengths and masses symbols, and D's terms."""
    from sympy import Add

    before = time.perf_counter()
    form = planar(n)
    D, _, _ = form.D, form.C, form.g
    return time.perf_counter() - before, sum(len(Add.make_args(entry)) for entry in D)


def draw() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    run = by_kernel()
    figure, ((left, right), (poses, energy)) = plt.subplots(2, 2, figsize=(9.6, 7.6))
    colours = ("#1b1b1c", "#0072b2", "#56a0d3", "#00855f", "#b08a00", "#d55e00", "#b0307a")
    for j, colour in enumerate(colours):
        left.plot(run.t, np.degrees(run.q[:, j]), color=colour, label=f"{j + 1}")
        right.plot(run.t, run.qd[:, j], color=colour)
    left.set(xlabel="time [s]", ylabel="joint angle [deg]", title="The first joint drops, the last ones whip")
    left.legend(title="joint", fontsize=8, title_fontsize=8, loc="upper left", ncols=2)
    right.set(xlabel="time [s]", ylabel="joint velocity [rad/s]", title="Velocities change rapidly, without a jump")
    shades = plt.get_cmap("viridis_r")(np.linspace(0.1, 1.0, 5))
    for shade, k in zip(shades, np.linspace(0, STEPS, 5).astype(int), strict=True):
        x, y = points(run.q[k]).T
        poses.plot(x, y, "o-", color=shade, markersize=4, linewidth=2, label=f"{run.t[k]:.2f} s")
    poses.plot(0, 0, "s", color="#1b1b1c", markersize=9)
    poses.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="Five poses: the arm falls to the vertical")
    poses.legend(fontsize=8)
    energy.plot(run.t, run.kinetic - run.kinetic[0], color="#d55e00", label="kinetic")
    energy.plot(run.t, run.potential - run.potential[0], color="#0072b2", label="potential")
    energy.plot(run.t, run.energy - run.energy[0], color="#1b1b1c", linewidth=3, label="sum")
    energy.plot(run.t, work(run), "--", color="#f0c000", label="work of the torques")
    energy.set(xlabel="time [s]", ylabel="change of energy [J]")
    energy.set_title(f"Work = change of energy, to {np.abs(residual(run)).max():.0e} J")
    energy.legend(fontsize=8)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle("Seven links of 1 m and 2 kg, 20 N m sin(2 pi t) at every joint, from rest, stretched out")
    figure.tight_layout()
    figure.savefig(HERE / "planar7.png", dpi=80)


def main() -> None:
    run, best = by_kernel(), tight()
    q, qd, per_call = by_c()
    print("time [s]   " + " ".join(f"{f'q{j + 1} [deg]':>9}" for j in range(N)))
    for k in np.linspace(0, STEPS, 5).astype(int):
        print(f"{run.t[k]:8.2f}   " + " ".join(f"{x:9.3f}" for x in np.degrees(run.q[k])))
    print("fastest    " + " ".join(f"{x:9.3f}" for x in np.abs(run.qd).max(axis=0)) + "  rad/s")

    print(f"\ngenerated C against the kernel: {np.abs(q - run.q).max():.1e} rad, {np.abs(qd - run.qd).max():.1e} rad/s")
    print(f"one qdd by the C code, ctypes and numpy's solve: {1e6 * per_call:.0f} us")
    batch = by_rollouts()
    print(f"rollouts, the sine linear within a step: {np.abs(batch.q[0] - run.q).max():.1e} rad")
    halved = by_kernel(STEP / 2)
    errors = [np.abs(r.q[-1] - best.q[-1]).max() for r in (by_kernel(4 * STEP), by_kernel(2 * STEP), run, halved)]
    print("RK4 against the adaptive solver, steps of 4, 2, 1, 0.5 ms:", " ".join(f"{e:.1e}" for e in errors), "rad")

    change = run.energy - run.energy[0]
    print(f"\nkinetic {run.kinetic[-1]:.6f}, potential {run.potential[-1] - run.potential[0]:.6f} J after 1 s")
    print(f"their change {change[-1]:.9f}, work of the torques {work(run)[-1]:.9f} J")
    halves = f"{np.abs(residual(halved)).max():.1e}"
    print(f"largest residual {np.abs(residual(run)).max():.1e} J, with steps of 0.5 ms {halves} J")

    for speed in (0.1, 0.3, 1.0, 3.0):
        velocity, inertia = shares(speed)
        ends = [100 * f(x) for x in (velocity, inertia) for f in (np.min, np.max)]
        print(
            "{:3.1f} rad/s: velocity {:.2g} to {:.2g} %, inertia {:.2g} to {:.2g} % of the torque".format(speed, *ends)
        )
    for name, factors in MISTAKES.items():
        largest, off, balance = mistaken(*factors)
        print(f"{name}: largest angle {largest:.0f} deg, {off:.0f} deg off, energy off by {balance:.2g} J")
    print("\nprinted terms, and the entries D_ij that hold them")
    for line in (*PRINTED, PRINTED[1].replace("a7cos(q5+q6)", "a7cos(q6+q7)")):
        print(f"  {line}: {', '.join(f'{i}{j}' for i, j in entries(line)) or 'none'}")
    for n in (2, 3, 7, 10):
        seconds, terms = derivation(n)
        print(f"{n:2d} links: D, C, g derived in {seconds:.2f} s, D has {terms} terms")
    draw()


if __name__ == "__main__":
    main()
