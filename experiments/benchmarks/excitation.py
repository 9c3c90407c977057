"""Designed motions of the Panda, of arm5 and of a UR10e: condition numbers, seconds, proofs held against fine samples.

OPENBLAS_NUM_THREADS=1 python experiments/benchmarks/excitation.py [SECTION ...] [--starts 20] [--certified 100]

Sections: limits, all, certified, gradient, others, second; without: each of them. The matrices are small: a second
thread of the BLAS only waits.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ident.cad import read_cad
from ident.errors import ExcitationError
from ident.excitation import Fourier, Trajectory
from ident.excitation.information import condition, information, scaled_condition, worst_error, worth
from ident.excitation.problem import Problem, design_problem
from ident.excitation.search import Design, search
from ident.geometry.distance import clearances
from ident.geometry.scene_file import read_scene
from ident.jit import one_thread
from ident.logs import Motion
from ident.model import Coulomb, Model, Offset, SmoothCoulomb, Viscous, torque
from ident.pipelines import ExciteWishes, excite
from ident.regression import compress
from ident.robot import read_robot

DATASETS = Path(__file__).resolve().parents[2] / "datasets"
ROBOT = read_robot(DATASETS / "panda" / "robot.toml")
MODEL = Model(ROBOT, (Viscous(), SmoothCoulomb(0.02), Offset()))
SIGNED = Model(ROBOT, (Viscous(), Coulomb(), Offset()))
#: CAD of the links; friction of the size that is published for this robot: 0.5 N m s/rad and 0.3 N m.
THETA = np.concatenate(
    [read_cad(DATASETS / "panda" / "cad.csv").for_robot(ROBOT).ravel(), [0.5] * 7, [0.3] * 7, [0.0] * 7]
)
SCENE = read_scene(DATASETS / "panda" / "scene.toml", ROBOT)
BASIS = Fourier(0.15 * np.pi, 5)
ONES = np.ones(7)


def kinematic() -> Problem:
    """Limits of position, velocity, acceleration and jerk; at rest at both ends."""
    return design_problem(MODEL, BASIS, noise=ONES, criterion=condition)


def everything(harmonics: int = 5) -> Problem:
    """The same with torques, self-collision and the table."""
    basis = Fourier(BASIS.base, harmonics)
    return design_problem(MODEL, basis, noise=ONES, criterion=condition, theta=THETA, scene=SCENE)


def conditions(trajectory: Trajectory) -> tuple[float, float, float]:
    """Return the condition number in SI units with tanh and with the sign, and the column-scaled one with the sign."""
    x = trajectory.sample(2000 / trajectory.duration)[1:]
    smooth, signed = (information(model, ONES).factor(x) for model in (MODEL, SIGNED))
    return tuple(
        float(np.exp(value)) for value in (condition(smooth)[0], condition(signed)[0], scaled_condition(signed)[0])
    )


def each_start(problem: Problem, starts: int, seed: int) -> list[Design]:
    """Return what every single start leads to."""
    return [search(problem, starts=1, seed=seed + k, seconds=300.0) for k in range(starts)]


def told(name: str, designs: list[Design]) -> None:
    """Print median and best of some starts."""
    smooth, signed, scaled = np.array([conditions(d.trajectory) for d in designs]).T
    seconds = [d.starts[0].seconds for d in designs]
    print(
        f"{name}: {len(designs)} starts\n"
        f"  SI condition: median {np.median(smooth):.1f}, best {smooth.min():.1f}; "
        f"with the sign {np.median(signed):.1f}, {signed.min():.1f}; "
        f"columns scaled {np.median(scaled):.1f}, {scaled.min():.1f}\n"
        f"  a start takes {np.median(seconds):.1f} s (median), {max(seconds):.1f} s at most",
        flush=True,
    )


def limits(starts: int, seed: int) -> None:
    p = kinematic()
    print(f"{len(p.information.base.names)} base parameters; published: 121.88")
    told("kinematic limits, at rest at both ends", each_start(p, starts, seed))
    told("kinematic limits, ends free", each_start(replace(p, free=np.eye(BASIS.size)), starts // 4, seed))


def with_everything(starts: int, seed: int) -> None:
    p = everything()
    told("with torques, self-collision, table", each_start(p, starts, seed))
    told("the same, ends free", each_start(replace(p, free=np.eye(BASIS.size)), starts // 4, seed))


def violations(trajectory: Trajectory, samples: int) -> int:
    """Return how many limits some sample of a motion breaks; Coulomb friction with the sign of the speed."""
    t = np.linspace(0.0, trajectory.duration, samples)
    q, qd, qdd = trajectory.states(t)
    tau, jerk = torque(SIGNED, THETA, q, qd, qdd), trajectory.derivative(t, 3)
    broken = 0
    for j, joint in enumerate(ROBOT.joints):
        x = joint.limits
        broken += int(q[:, j].min() < x.lower) + int(q[:, j].max() > x.upper)
        rates = ((qd, x.velocity), (qdd, x.acceleration), (jerk, x.jerk), (tau, x.effort))
        broken += sum(int(np.abs(signal[:, j]).max() > most) for signal, most in rates)
    near = clearances(SCENE, ROBOT, q).min(axis=0)
    return broken + int((near < SCENE.margins(ROBOT)).sum())


def certified(count: int, seed: int) -> None:
    p = everything()
    began, proven, broken, tightest = time.perf_counter(), 0, 0, np.inf
    for k in range(count):
        try:
            design = search(p, starts=1, seed=1000 + seed + k, seconds=300.0)
        except ExcitationError as none:
            print(f"start {k}: {none}", flush=True)
            continue
        proven += design.proven
        broken += violations(design.trajectory, 100 * len(p.times))
        tightest = min(tightest, *(m.min() for m in p.margins(p.coordinates(design.trajectory))))
    print(
        f"{proven} of {count} random starts end in a motion proven to keep all limits; at {100 * len(p.times)} samples "
        f"{broken} violations; least margin left {tightest:.4f}; {time.perf_counter() - began:.0f} s",
        flush=True,
    )


def milliseconds(f: Callable[[], object], repeats: int = 40) -> float:
    """Return the time of a call: the best of five means."""
    f()
    best = np.inf
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(repeats):
            f()
        best = min(best, (time.perf_counter() - began) / repeats)
    return 1e3 * best


def gradient() -> None:
    for harmonics in (5, 10, 20):
        p = everything(harmonics)
        bare = replace(p, constraints=())
        z = p.coordinates(search(p, starts=1, seconds=0.0).trajectory)
        value = milliseconds(lambda p=p, z=z: p.criterion(p.factor(z)))
        whole = milliseconds(lambda bare=bare, z=z: bare.merit(z, 1.0, ()))
        every = milliseconds(lambda p=p, z=z: p.merit(z, 1.0, (0.0,) * 3))
        print(
            f"{harmonics:2} harmonics, {z.size} coefficients, {len(p.times)} instants: criterion {value:.2f} ms,"
            f" with gradient {whole:.2f} ms ({whole / value:.1f} times), with all constraints {every:.2f} ms",
            flush=True,
        )


def others(seed: int) -> None:
    for name, cad in (("panda", True), ("arm5", True), ("ur10e", False)):
        folder = DATASETS / name
        wishes = ExciteWishes(cad=folder / "cad.csv" if cad else None, starts=5, seed=seed, seconds=120.0)
        began = time.perf_counter()
        found = excite(folder / "robot.toml", wishes)
        print(
            f"ident excite {name}: condition {found.conditions[0]:.1f} (SI), {found.conditions[1]:.1f} (scaled), "
            f"{sum(g.holds for g in found.design.guarantees)} of {len(found.design.guarantees)} limits proven, "
            f"{len(found.worth.hidden)} base parameters hidden, {time.perf_counter() - began:.0f} s for 5 starts",
            flush=True,
        )


def second(seed: int) -> None:
    """A poor log: 10 s at 100 Hz of small motions with two harmonics; then 10 s designed to add to it."""
    rng = np.random.default_rng(seed)
    noise = np.array([1.0, 1.0, 1.0, 1.0, 0.3, 0.3, 0.3])
    basis = Fourier(0.2 * np.pi, 2)
    middle = [(j.limits.lower + j.limits.upper) / 2 for j in ROBOT.joints]
    coefficients = 0.2 * rng.normal(size=(7, 5))
    coefficients[:, 0] = middle
    t, q, qd, qdd = Trajectory(basis, coefficients, ROBOT.joint_names).sample(100.0)
    tau = torque(MODEL, THETA, q, qd, qdd) + noise * rng.normal(size=q.shape)
    log = Motion("poor", t, q, qd, qdd, tau, np.ones(q.shape, bool), (), ((0, len(t)),))
    p = design_problem(
        MODEL, Fourier(0.2 * np.pi, 5), noise=noise, criterion=worst_error, theta=THETA, scene=SCENE, rate_hz=100.0,
        prior=compress(MODEL, log),
    )  # fmt: skip
    prior = p.information.prior
    assert prior is not None
    before = worth(p.information.base, prior)
    design = search(p, starts=3, seed=seed, seconds=120.0)
    after = worth(p.information.base, design.factor)
    names = p.information.base.names
    print(
        f"poor log: {len(before.hidden)} hidden, worst of the rest {names[int(np.argmax(before.errors))]} "
        f"{before.errors.max():.3g}; after 10 s designed for it: {names[int(np.argmax(after.errors))]} "
        f"{after.errors.max():.3g}: {before.errors.max() / after.errors.max():.1f} times less; every parameter "
        f"{(before.errors / after.errors).min():.1f} to {(before.errors / after.errors).max():.0f} times",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    names = ("limits", "all", "certified", "gradient", "others", "second")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(names))
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--certified", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chosen = options.sections or names
    unknown = set(chosen) - set(names)
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    search(kinematic(), starts=1, seconds=0.0)  # compiles
    search(everything(), starts=1, seconds=0.0)
    steps: dict[str, Callable[[], None]] = {
        "limits": lambda: limits(options.starts, options.seed),
        "all": lambda: with_everything(options.starts, options.seed),
        "certified": lambda: certified(options.certified, options.seed),
        "gradient": one_thread()(gradient),
        "others": lambda: others(options.seed),
        "second": lambda: second(options.seed),
    }
    for name in names:
        if name in chosen:
            steps[name]()


if __name__ == "__main__":
    main()
