"""Whether predicted standard errors come true: a designed motion, played in MuJoCo with torque noise, and identified.

    python experiments/excite_arm5/closed_loop.py [--draws 1000]

`ident` designs the motion and predicts. MuJoCo, which shares no code with it, is the robot
(experiments/arm5/make_log.py): once as a robot that plays the motion exactly, once as one that follows it in closed
loop, by a controller that knows neither drive inertia nor friction, and so moves a little differently than designed.
The torques get white noise; weighted least squares, which has to find the size of the noise itself, identifies all base
parameters from them, for many draws of the noise. Achieved is the root of the mean square of estimate - truth over the
draws, for each base parameter.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import numpy as np

from ident.arrays import Array
from ident.estimate import estimated
from ident.excitation import Trajectory
from ident.logs import Motion
from ident.model import Model
from ident.pipelines import ExciteWishes, excite
from ident.pipelines.excitation import Excitation
from ident.pipelines.loaded import read_truth
from ident.regression import BaseParameters, compress

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "datasets" / "arm5"
LOG_HZ = 100.0


@functools.cache
def plant() -> ModuleType:
    """Return the simulated robot, make_log.py of the demo."""
    spec = importlib.util.spec_from_file_location("arm5_plant", ROOT / "experiments" / "arm5" / "make_log.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses ask for it
    spec.loader.exec_module(module)
    return module


def design(duration: float = 10.0, harmonics: int = 5, starts: int = 3) -> Excitation:
    """Return what `ident excite datasets/arm5/robot.toml --cad ... --drive-inertia` designs."""
    return excite(
        DATA / "robot.toml",
        ExciteWishes(
            cad=DATA / "cad.csv",
            noise=plant().TORQUE_NOISE,
            drive_inertia=True,
            duration=duration,
            harmonics=harmonics,
            log_rate=LOG_HZ,
            starts=starts,
            seconds=600.0,
            seed=0,
        ),
    )


def play(trajectory: Trajectory) -> Motion:
    """Return one period, LOG_HZ samples a second, played exactly as designed: torques of MuJoCo's inverse dynamics."""
    arm5 = plant()
    arm = arm5.Arm(arm5.published())
    t, q, qd, qdd = trajectory.sample(LOG_HZ)
    tau = np.array([arm.torque(*row) + arm5.dry(row[1]) for row in zip(q, qd, qdd, strict=True)])
    return Motion("played", t, q, qd, qdd, tau, np.ones_like(q, dtype=bool))


def follow(trajectory: Trajectory) -> Motion:
    """Return one period, LOG_HZ samples a second, as the controlled arm follows it: MuJoCo's forward dynamics."""
    arm5 = plant()

    def reference(t: float) -> tuple[Array, Array, Array]:
        q, qd, qdd = trajectory.states(np.array([t]))
        return q[0], qd[0], qdd[0]

    every = round(arm5.RATE / LOG_HZ)
    run = arm5.simulate(reference, round(trajectory.duration * arm5.RATE))
    t, q, qd, qdd, tau = (x[::every] for x in (run.t, run.q, run.qd, run.qdd, run.tau))
    return Motion("followed", t, q, qd, qdd, tau, np.ones_like(q, dtype=bool))


@dataclass(frozen=True, eq=False)
class Outcome:
    """names (b,); predicted, achieved (b,): standard errors; stated (b,): those that the fits claimed, in the mean."""

    names: tuple[str, ...]
    predicted: Array
    achieved: Array
    stated: Array

    @property
    def ratio(self) -> Array:
        """Achieved over predicted (b,)."""
        return self.achieved / self.predicted


def outcome(found: Excitation, moved: Motion, draws: int, seed: int = 1) -> Outcome:
    """Identify from `draws` noisy versions of the torques of a motion that was designed as `found`."""
    model, base = found.problem.information.columns.model, found.worth.base
    rng = np.random.default_rng(seed)
    phi, stated = np.empty((draws, len(base.names))), np.empty((draws, len(base.names)))
    for k in range(draws):
        tau = moved.tau + found.problem.information.noise * rng.standard_normal(moved.tau.shape)
        phi[k], stated[k] = identified(model, base, moved, tau)
    truth = read_truth(DATA / "truth.toml", found.robot)
    right = base.K @ np.array([truth.get(name, 0.0) for name in model.names])
    achieved = np.sqrt(((phi - right) ** 2).mean(axis=0))
    return Outcome(base.names, found.worth.errors, achieved, np.sqrt((stated**2).mean(axis=0)))


def identified(model: Model, base: BaseParameters, moved: Motion, tau: Array) -> tuple[Array, Array]:
    """Return base parameters (b,) from one log, and the standard errors (b,) that the fit states for white noise."""
    motion = replace(moved, tau=tau)
    estimate = estimated(model, compress(model, motion, base=base), feasible=False)
    return estimate.phi, estimate.covariance.standard_errors


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare achieved with predicted standard errors.")
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    found = design()
    trajectory = found.design.trajectory
    exact, loose = (outcome(found, moved, draws) for moved in (play(trajectory), follow(trajectory)))
    print(f"{'base parameter':22}{'predicted':>12}{'achieved':>12}{'ratio':>8}{'followed':>12}{'ratio':>8}")
    for row in zip(exact.names, exact.predicted, exact.achieved, exact.ratio, loose.achieved, loose.ratio, strict=True):
        print("{:22}{:12.3g}{:12.3g}{:8.3f}{:12.3g}{:8.3f}".format(*row))
    for name, got in (("played exactly", exact), ("followed in closed loop", loose)):
        print(
            f"{name}: {len(got.names)} base parameters, {draws} draws: achieved / predicted {got.ratio.min():.3f} to "
            f"{got.ratio.max():.3f}, median {np.median(got.ratio):.3f}; stated by the fits / achieved "
            f"{np.median(got.stated / got.achieved):.3f}"
        )
    print(f"chance alone gives each ratio a standard deviation of {np.sqrt(0.5 / draws):.3f}")


if __name__ == "__main__":
    main()
