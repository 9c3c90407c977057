"""Whether 95 % intervals hold the truth after a default choice of filters, before and after they are widened.

    python experiments/benchmarks/drift.py [SEED] [LOGS]

LOGS logs of the demo's arm under its controller, whose friction puts corners into the motion (`experiments/arm5`): two
Fourier series and one motion from point to point, noise of the encoder of 0 to 3e-4 rad, of the torque one to three
times the demo's; and four times as many logs of `automatic.py`, whose motions are smooth. Weighted least squares; of
friction (with offsets) and of bodies (with drives) the share of intervals that hold, how much wider they are
(geometric mean), and of how many logs a parameter is told.

The rule (`ident/compare/settled.py`) was set on the demo's motions of seeds 210, 2 and 1 (96 logs) and on seed 9001 of
`automatic.py` (40 logs), of rules that ask the second fit of everything, of what is beyond chance, or of what it knows;
and of second fits with 1, 1.4 and 2 times the cut-off, in the band of the fit, twice the motion's and the motion's.
"""

from __future__ import annotations

import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import numpy as np
from automatic import drawn

import ident
from ident.compare.settled import drift, in_the_band, settled
from ident.errors import IdentError
from ident.logs import Log, process
from ident.model import DriveInertia, Model, Offset, SmoothCoulomb, Viscous
from ident.regression import base_parameters
from ident.regression.compress import packed_columns

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments" / "arm5"))
Counted = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def counted(model: Model, log: Log, theta: np.ndarray) -> Counted:
    """Return which parameters are of friction, which intervals hold before and after, their widening, and what is told.

    All of the parameters that are determined.
    """
    fit, judged = settled(model, [log])
    found = ident.fit(model, [process(log, fit)], loss="wls", feasible=False).estimate
    errors, columns = found.covariance.standard_errors, packed_columns(model, base_parameters(model))
    second = in_the_band(fit, judged) or fit
    off = drift(columns, [(process(log, fit), process(log, second))], errors**2)
    missed, wider = np.abs(found.phi - found.base.K @ theta), np.hypot(errors, off.bias) / errors
    half = found.covariance.half_widths()
    friction = np.array([name.endswith(("coulomb", "viscous", "offset")) for name in found.base.names])
    each = np.stack([friction, missed <= half, missed <= half * wider, wider, off.shown])
    return tuple(each[:, np.isfinite(errors)])  # type: ignore[return-value]


def arms(seed: int, logs: int) -> dict[str, list[Counted]]:
    """Return what was counted of logs of the demo's arm, by kind of motion."""
    import make_log as m

    robot, rng = ident.read_robot(ROOT / "datasets/arm5/robot.toml"), np.random.default_rng(seed)
    model = Model(robot, (DriveInertia(), Viscous(), SmoothCoulomb(m.WIDTH), Offset()))
    truth = tomllib.loads((ROOT / "datasets/arm5/truth.toml").read_text())["parameters"]
    theta, step = np.array([truth[name] for name in model.names]), 2 * np.pi / m.COUNTS
    whole, legs = m.RAMP + m.PERIODS * m.PERIOD, m.LEGS * (m.LEG + m.DWELL)
    runs = [(f"Fourier {k}", m.simulate(m.fourier(k), round(whole * m.RATE))) for k in rng.integers(1, 300, 2)]
    runs.append(("points", m.simulate(m.point_to_point(int(rng.integers(1, 300))), round(legs * m.RATE))))
    found = defaultdict(list)
    for k in range(logs):
        kind, run = runs[k % len(runs)]
        noise, times = float(rng.choice([0.0, 1e-5, 3e-5, 1e-4, 3e-4])), float(rng.uniform(1, 3))
        q = np.round((run.q + noise * rng.normal(size=run.q.shape)) / step) * step
        tau = run.tau + times * np.array(m.TORQUE_NOISE) * rng.normal(size=run.tau.shape)
        found[f"arm5, {kind}"].append(counted(model, Log("arm5", run.t, q, tau), theta))
    return found


def smooth(seed: int, logs: int) -> dict[str, list[Counted]]:
    """Return what was counted of logs of `automatic.py`."""
    rng, found = np.random.default_rng(seed), defaultdict(list)
    for _ in range(logs):
        made = drawn(rng)
        try:
            found[f"smooth, {made.words.split()[-1]}"].append(counted(made.model, made.log, made.theta))
        except IdentError as cause:
            print(cause)
    return found


def main() -> None:
    seed, logs = (int(x) for x in (*sys.argv[1:], *("77", "60")[len(sys.argv) - 1 :]))
    print("                          logs   friction        bodies         wider          told")
    for kind, each in (arms(seed, logs) | smooth(seed, 4 * logs)).items():
        friction, before, after, wider, _ = np.concatenate(each, axis=1)
        of = [friction == 1, friction == 0]
        shares = [f"{100 * before[k].mean():5.1f} -> {100 * after[k].mean():5.1f}" for k in of]
        widening = ", ".join(f"{np.exp(np.log(wider[k]).mean()):.2f}" for k in of)
        told = 100 * np.mean([x[4].any() for x in each])
        print(f"{kind:25} {len(each):4}   {'   '.join(shares)}   {widening}   {told:5.1f} %", flush=True)


if __name__ == "__main__":
    main()
