"""Everything at once: logs with wrong clocks, coarse encoders, delays, wild starts, spikes and filters, truth known.

    python experiments/benchmarks/signals.py [SEED] [LOGS]

UR-like, Panda-like and three-joint arms; 20 to 60 s of a Fourier series or of motions from point to point, at 100 Hz to
1 kHz; positions in steps of 2^12 to 2^20 a turn or with Gaussian noise of 1e-5 to 1e-3 rad; noise in the torque. A
fifth of the logs has nothing else. The others draw, each by itself: a clock (rows and stamps that jitter; stamps that
jitter alone; rows lost or written twice in silence; positions held for 2 to 4 rows), velocities that lag, one or two
joints read up to 2 samples late, a wild start of torques, spikes in up to 1 % of the rows of one joint, a first-order
filter of the torques.

Processed as `ident run` does it without [processing]; least squares of the base parameters; the error of their torque
on another motion without noise, over that of the fit that is told q, qd, qdd, with the same noise and filter of torques
and the same edges. Then over that of a fit that is told them and leaves out the same slow rows, whose friction has no
sign in the log; and the error where clock, delays and spikes are told and the filters kept, over the first. A filter of
the torques counts as a delay of all joints. The fit that is told the truth has that filter too and is biased by it, so
multiples below one there say little; the last figures are without those logs.

Set on seeds 6001 (40 logs), 15001 and 15002 (60 each). Before rows lost among noise and near each other were found and
the rounding of coarse steps was a floor of their noise: 1.10 and 4.0 on seed 15001, which had 4.6, 3.0, 2.2, 1.6 and
1.5 for logs with rows lost or written twice (2.0, 0.6, 1.7, 1.1 and 1.0 now); 18.8 for coarse steps on seed 15002 (1.2
now). Drawn then, seed 15777 (110 logs): 1.03 and 2.9; one of its logs (12.2, 1.0 now) had delays tried that a straight
line sees half of. Drawn after that was frozen, too, seed 15888 (100 logs):

                                    median  95th     torques not filtered (65)
    as `ident run` does it            1.03   2.25    1.08   2.6
    slow rows left out of both        1.01   2.2     1.04   2.7
    clock, delays and spikes told     0.99   1.9     1.05   2.3

Clock named rightly in 68 of 68, skew in 10 of 53, wild start in 27 of 29; 19 clean logs 1.08 and 2.4, no false alarm;
94 % of the intervals hold the truth. Seed 6202 before all that (40 logs): 1.02 and 5.2, clock 20 of 28.

Drawn long after, seed 41001 (100 logs): 1.02 and 3.2 (slow rows left out of both 1.00 and 2.4; clock, delays and spikes
told 0.97 and 2.7); clock 69 of 71, skew 23 of 58, wild start 33 of 34, no false alarm on 15 clean logs, coverage 96 %.
Its two worst (201 and 31) have a joint that moves one way but for its slow rows: least squares then tells its offset
from its friction by noise, which `ident run`, drawn to a prior, does not.

What is left: of 14 logs above 1.4, 10 are there with clock, delays and spikes told; worst is 20, a wild start or spikes
that were not cut off whole. Where torques have a hundredth of the usual noise and encoders much, no cut-off chosen by
hindsight is much better (seed 15001, logs 17, 53 and 57, twice the usual edges: 3.97, 1.53 and 4.10; with the best one
3.97, 1.49 and 3.96), nor are cut-offs joint by joint from their spectra (6.4, 12.9 and 4.0), so there are none. A slow
motion under the noise of its encoder would have liked twice its cut-off (seed 15777: 9.2, 1.3 then): its edges leave no
stretches to try it on. Skew: the true delay changes what is left by less than 0.1 % (seed 15002, log 21: 3.9, 1.5
where it is told), or by what another law of friction would.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace

import numpy as np
from arm7 import RIGHT, bodies
from automatic import ROWS, Curve, fourier, point_to_point
from scipy.signal import lfilter

import ident
from ident.compare.settled import settled
from ident.errors import IdentError
from ident.logs import Log, Motion, Processing, process
from ident.logs.automatic import as_toml
from ident.logs.check import START, transients
from ident.logs.clock import find_clock, freshly_read
from ident.logs.filter import central
from ident.model import Coulomb, DriveInertia, Model, Offset, Viscous, torque
from ident.robot.file import MDHJoint, from_mdh

UR = [(0, 0, 0.18), (0, RIGHT, 0), (-0.61, 0, 0), (-0.57, 0, 0.17), (0, RIGHT, 0.12), (0, -RIGHT, 0.12)]
ARMS = {"UR": UR, "Panda": ROWS, "3 joints": ROWS[:3]}
CLOCKS = ["true", "jitter", "false stamps", "lost", "twice", "held"]


@dataclass(frozen=True, eq=False)
class Case:
    """A log in words, its truth, and what is wrong with it.

    shown: when the positions were read [s], and which (one entry each); late (n,) [s]; right: the log without errors of
    clock and torques; told: the motion without those of the encoders, too; theta: of the model.
    """

    words: str
    model: Model
    theta: np.ndarray
    log: Log
    shown: tuple[np.ndarray, np.ndarray]
    right: Log
    told: Motion
    unseen: Motion
    clock: str = "true"
    late: np.ndarray = field(default_factory=lambda: np.zeros(0))
    wild: float = 0.0
    filtered: bool = False
    clean: bool = True


def drawn(rng: np.random.Generator) -> Case:
    """Return a log with its truth."""
    name, rate = str(rng.choice(list(ARMS))), float(rng.choice([100, 125, 200, 250, 500, 1000]))
    robot = from_mdh("arm", [MDHJoint(a=a, alpha=alpha, d=d) for a, alpha, d in ARMS[name]])
    n, duration, model = (
        robot.n,
        float(rng.uniform(20, 60)),
        Model(robot, (DriveInertia(), Viscous(), Coulomb(), Offset())),
    )
    law = np.concatenate([np.full(n, 0.5), *rng.uniform(1, 5, (2, n)), np.zeros(n)])
    theta = np.concatenate([(bodies(n) * rng.uniform(0.7, 1.3, (n, 1))).ravel(), law])
    curves: list[Curve] = [fourier(rng, n), point_to_point(rng, n, duration)][:: int(rng.choice([1, -1]))]
    clean, wrong = bool(rng.random() < 0.2), rng.random(5) < 0.4
    clock = "true" if clean else str(rng.choice(CLOCKS))
    skewed, wild, leaps, filtered, lags = wrong & (not clean)
    stamps, taken, rows, whose = timed(rng, clock, rate, int(duration * rate))

    late = np.zeros(n)
    if skewed:
        joints = rng.choice(n, size=int(rng.integers(1, 3)), replace=False)
        late[joints] = rng.uniform(0.5, 2.0, len(joints)) / rate
    even = np.arange(int(duration * rate)) / rate
    tau = torque(model, theta, *curves[0](even))
    filter_hz = float(np.exp(rng.uniform(np.log(0.05 * rate), np.log(0.3 * rate)))) if filtered else 0.0
    if filtered:
        pole = np.exp(-2 * np.pi * filter_hz / rate)
        tau = lfilter([1 - pole], [1, -pole], tau, axis=0, zi=pole * tau[:1])[0]
        late -= pole / (1 - pole) / rate
    tau = np.column_stack([np.interp(taken, even, x) for x in tau.T])
    tau += rng.normal(size=tau.shape) * 0.3 * 10 ** rng.uniform(-2, 0) * tau.std(axis=0)
    q, qd, qdd = curves[0](taken)
    told = Motion("told", taken, q, qd, qdd, tau, np.ones(q.shape, dtype=bool))

    skew = np.maximum(late, 0.0) if not filtered else late - late.min()
    read = np.column_stack([curves[0](taken - d)[0][:, j] for j, d in enumerate(skew)])
    step, noise = 2 * np.pi / 2 ** int(rng.integers(12, 21)), 10 ** rng.uniform(-5, -3)
    if rng.random() < 0.5:
        read, encoder = read + rng.normal(size=read.shape) * noise, f"{noise:.0e} rad"
    else:
        read, encoder = np.round(read / step) * step, f"steps of {step:.0e} rad"
    lag = rng.uniform(0.0, 0.1)
    speed = curves[0](taken - lag)[1] + rng.normal(size=q.shape) * 0.01 if lags else None
    logged, start = tau.copy(), 0.0
    if wild:
        start = float(rng.uniform(0.2, 0.6))
        burst = rng.normal(size=n) * tau.std(axis=0) * rng.uniform(2, 4)
        logged += np.where(taken < start, np.cos(2 * np.pi * rng.uniform(3, 8) * taken), 0.0)[:, None] * burst
    if leaps:
        at = rng.choice(len(tau), int(rng.uniform(0, 0.01) * len(tau)) + 1, replace=False)
        j, size = int(rng.integers(n)), rng.choice([-1, 1], len(at)) * rng.uniform(0.5, 2, len(at))
        logged[at, j] += size * tau[:, j].std()
    also = {"skew": skewed, f"wild {start:.1f} s": wild, "spikes": leaps, f"torque {filter_hz:.0f} Hz": filtered}
    said = ", ".join([f"clock {clock}", *(what for what, there in also.items() if there)])
    away = curves[1](even[:: max(1, len(even) // 1500)])
    unseen = torque(model, theta, *away)
    return Case(
        words=f"{name:8} {rate:4.0f} Hz {duration:2.0f} s {encoder:20} {said}",
        model=model,
        theta=theta,
        log=Log("drawn", stamps - stamps[0], read[whose], logged[rows], None if speed is None else speed[rows]),
        shown=(taken[own := np.unique(whose)], read[own]),
        right=Log("right", taken - taken[0], read, tau),
        told=told,
        unseen=Motion("unseen", even[:: max(1, len(even) // 1500)], *away, unseen, np.ones(unseen.shape, dtype=bool)),
        clock=clock,
        late=late,
        wild=start,
        filtered=bool(filtered),
        clean=clean,
    )


def timed(rng: np.random.Generator, clock: str, rate: float, count: int) -> tuple[np.ndarray, ...]:
    """Return stamps of a log [s], times of the samples [s], which sample each row shows, and whose position."""
    even, rows = np.arange(count) / rate, np.arange(count)
    if clock == "lost":
        kept = rng.random(count) > 0.003
        return even[: kept.sum()], even[kept], rows[: kept.sum()], rows[: kept.sum()]
    if clock == "twice":
        again = np.sort(np.concatenate([rows, rng.choice(count, count // 300, replace=False)]))[:count]
        return even, even[: again[-1] + 1], again, again
    if clock == "held":
        return even, even, rows, rows - rows % int(rng.integers(2, 5))
    jitter = even + np.clip(rng.normal(size=count) * 10 ** rng.uniform(-2, -0.7), -0.4, 0.4) / rate
    stamps = jitter if clock in ("jitter", "false stamps") else even
    return stamps, jitter if clock == "jitter" else even, rows, rows


def error(case: Case, log: Log | Motion, fit: Processing | None = None) -> tuple[float, float]:
    """Return the error of the torque on the unseen motion, and the share of 95 % intervals that hold the truth.

    Of a log processed, or of a motion; infinite where it does not determine the parameters.
    """
    try:
        motion = log if isinstance(log, Motion) else process(log, fit or Processing())
        made = ident.fit(case.model, [motion], loss="wls", feasible=False)
    except IdentError as cause:
        print(cause)
        return np.inf, 0.0
    found = made.estimate
    off = np.linalg.norm(made.predict(case.unseen) - case.unseen.tau) / np.linalg.norm(case.unseen.tau)
    apart = np.abs(found.phi - found.base.K @ case.theta)
    return float(off), float(np.mean(apart <= found.covariance.half_widths(0.95)))


def clock_told(case: Case) -> bool:
    """Return whether the acceleration errs by at most 5 % more than with the right clock; it is mostly noise."""
    found, least = freshly_read(case.log, find_clock(case.log)), case.shown
    rough = [float(np.linalg.norm(central(central(q, t), t)[5:-5])) for t, q in ((found.t, found.q), least)]
    return rough[0] < 1.05 * rough[1]


def told(case: Case, fit: Processing) -> dict[str, bool]:
    """Return what was named rightly: the clock, which joints are late (within 0.3 samples), a wild start."""
    found = np.broadcast_to(fit.position_delay_s, case.late.shape)
    step = float(np.median(np.diff(case.told.t)))
    near = np.abs(found - case.late).max() < 0.3 * step
    wild = any(f.kind == START for f in transients(case.log))
    return {"clock": clock_told(case), "skew": bool(near), "transient": wild == bool(case.wild)}


def one(case: Case) -> tuple[list[float], float, dict[str, bool], str]:
    """Return multiples of the least error, the coverage, what was told, and the settings.

    The multiples: as `ident run` does it; the same, of the least error of a fit that leaves out the same slow rows,
    whose friction has no sign in the log; clock, delays and spikes told, its filters kept.
    """
    fit, _ = settled(case.model, [case.log])
    edges = np.broadcast_to(fit.edge_s, 2)
    t = case.told.t - case.told.t[0]
    within = ((t >= edges[0]) & (t <= t[-1] - edges[1]))[:, None]
    least, _ = error(case, replace(case.told, keep=within & np.ones(case.told.q.shape, dtype=bool)))
    moving, _ = error(case, replace(case.told, keep=within & (np.abs(case.told.qd) >= np.asarray(fit.min_speed))))
    found, held = error(case, case.log, fit)
    grid = 1.0 / float(np.median(np.diff(t))) if case.clock in ("jitter", "lost") else None
    right = replace(fit, clock="stamps", resample_hz=grid, spikes="kept", position_delay_s=tuple(case.late.tolist()))
    limit, _ = error(case, case.right, right)
    multiples = [found / least, found / moving if np.isfinite(moving) else np.nan, limit / least]
    return multiples, held, told(case, fit), as_toml(fit)


def main() -> None:
    seed, logs = (int(x) for x in (*sys.argv[1:], *("2026", "40")[len(sys.argv) - 1 :]))
    rng, rows = np.random.default_rng(seed), []
    for _ in range(logs):
        case = drawn(rng)
        ratios, held, named, toml = one(case)
        rows.append((ratios, held, named, case))
        missed = ", ".join(what for what, right in named.items() if not right)
        said = " ".join(f"{ratio:6.2f}" for ratio in ratios)
        print(f"{said} {held:4.0%} {case.words}; missed: {missed or '-'}; {toml}", flush=True)
    table = np.array([row[0] for row in rows])
    clean = [row for row in rows if row[3].clean]
    sound = np.array([not row[3].filtered for row in rows])
    for what, own in zip(
        ("with the truth told", "the same, slow rows left out", "clock, delays, spikes told"), table.T, strict=True
    ):
        some = [f"median {np.nanmedian(x):.2f}, 95th {np.nanpercentile(x, 95):.2f}" for x in (own, own[sound])]
        print(f"{what:30} {some[0]}; torques not filtered ({sound.sum()}): {some[1]}")
    if clean:
        own = np.array([row[0][0] for row in clean])
        alarms = sum(not all(row[2].values()) for row in clean)
        print(f"{len(clean)} clean logs: {np.median(own):.2f}, {np.percentile(own, 95):.2f}; false alarms on {alarms}")
    print(f"95 % intervals hold the truth in {np.mean([row[1] for row in rows]):.0%}")
    there = {"clock": lambda c: c.clock != "true", "skew": lambda c: c.late.any(), "transient": lambda c: c.wild > 0}
    for what, has in there.items():
        own = [row[2][what] for row in rows if has(row[3])]
        print(f"{what}: named rightly in {sum(own)} of {len(own)}")
    print("worst:")
    for ratios, _, _, case in sorted(rows, key=lambda row: -row[0][0])[:10]:
        print(" ".join(f"{ratio:6.2f}" for ratio in ratios), case.words)


if __name__ == "__main__":
    main()
