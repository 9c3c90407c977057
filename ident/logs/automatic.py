"""Filters chosen from the positions of a log: how far its motion reaches in frequency, and where noise begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from math import inf, prod
from typing import Any

import numpy as np

from ident.arrays import Array, significant
from ident.logs.check import END, START, transients
from ident.logs.clock import Clock, filled, find_clock, freshly_read, on_clock, only
from ident.logs.filter import HIGHEST, factors_below, resample, thinned_band
from ident.logs.log import Log
from ident.logs.process import ALIKE, Processing
from ident.logs.readings import ENOUGH, GAP, gaps, interpolated, leap, position_quantum, spikes

#: Both sides are low-passed at these many times the band of the motion's velocity: in a fit, and where it is judged.
FITTED, JUDGED = 64.0, 8.0
#: Nothing is judged above this share of the position's cut-off, below which its filter leaves nine tenths of a motion.
PREDICTED = 0.75
#: No position is low-passed below this many times that band.
LOWEST = 4.0
#: An octave this much louder than the highest one is noise yet, where it holds so many frequencies.
FLAT, OCTAVE = 10.0, 64
#: A joint is too slow for the sign of its speed below so many standard deviations of its noise,
SLOW_NOISE = 10.0
#: and below this share of its largest speed.
SLOW_SHARE = 0.01
#: but never above this share of it, lest nothing be left.
SLOW_MOST = 0.1
#: Five of the largest travel in which friction turns around, 0.01 rad [rad; m].
RUN_IN = 0.05
#: Noise that looks like motion (steps of a coarse encoder) lies above this many times the band of the position.
REACH = 250.0
#: Torques of all joints that come so much later [s] than positions are seldom those of the sensors: a robot lags its
#: commands by 8 ms to 60 ms.
COMMANDED = 0.008
ENDS = 0.03  # of the rows, at either end, are not looked at
#: Where rows come less than so many times as fast as the motion, central differences take 2 % or more off its
#: accelerations; below the other, five rows, exact up to the fourth power of time, take 3 % or more off, too.
DENSE, SPARSE = 25.0, 5.0
FIVE_ROWS: dict[str, Any] = {"derivative": "savgol", "savgol_window": 5, "savgol_degree": 4}
#: What five rows make of noise in an acceleration, relative to it over the squared step.
FIVE_NOISE = 3.1
#: Steps that differ by this share of the usual one, in so many of the rows, are no even grid for a filter.
UNEVEN, UNEVEN_ROWS = 0.01, 1e-3
#: Logs that are shorter say nothing; a grid of so many times a log's rows would invent them.
SHORT, MOST_GRID = 100, 2.0

#: The fields of Processing that are left to the logs where nobody sets them, besides the clock, which is by default.
AUTOMATIC = (
    "spikes", "position_delay_s", "resample_hz", "position_hz", "derivative", "decimation", "edge_s", "min_speed",
    "run_in",
)  # fmt: skip


@dataclass(frozen=True)
class Hand:
    """What is set by hand, and the fields that are left to the logs: all others stay.

    Beside a Fourier series of the positions there is no low-pass of them to choose. Thinning is chosen with the rate
    that it is meant for, and a derivative with its stencil.
    """

    processing: Processing = field(default_factory=Processing)
    left: tuple[str, ...] = AUTOMATIC

    def __post_init__(self) -> None:
        left = tuple(key for key in self.left if key != "position_hz" or self.processing.derivative != "fourier")
        if "decimation" in left and self.processing.meant_hz is None:
            left = (*left, "meant_hz")
        if "derivative" in left:
            left = (*left, "savgol_window", "savgol_degree")
        object.__setattr__(self, "left", tuple(dict.fromkeys(left)))

    def of(self, key: str, found: Any) -> Any:
        """Return what was found for a field that is left to the logs, else what is set."""
        return found if key in self.left else getattr(self.processing, key)

    def filled(self, found: Processing) -> Processing:
        """Return what is set, with what was found for the rest."""
        return replace(self.processing, **{key: getattr(found, key) for key in self.left})


#: By hand, in a fit and where its prediction is judged: nothing.
OPEN = (Hand(), Hand())


@dataclass(frozen=True, eq=False)
class Band:
    """What positions, read at `rate_hz`, show of each joint.

    `noise` (n,) [rad; m] of a reading; `cut_hz` (n,), above which noise outweighs the motion; `motion_hz` (n,), below
    which 99 % of the velocity's power lies, or all but as much of the position as there is noise; `fastest` (n,), its
    99th percentile [rad/s; m/s].
    """

    rate_hz: float
    noise: Array
    cut_hz: Array
    motion_hz: Array
    fastest: Array

    @property
    def rows_per_period(self) -> float:
        """How many times as fast as the fastest motion the rows come."""
        return self.rate_hz / float(self.motion_hz.max()) if self.motion_hz.any() else inf


def band_of(log: Log, resample_hz: float | None = None) -> Band:
    """Return what the positions of a log show, on an even grid where one is given; its ends, often wild, left out.

    From the periodogram P(f) of their second differences (Hann window): white noise of variance s^2 has
    N(f) = s^2 (2 - 2 cos(2 pi f / rate))^2, with s^2 from the median of P / N over the highest octave, or over those
    below it that are hardly louder, and no less than the rounding of the readings. An ideal low-pass at f leaves in
    the acceleration the noise below it and loses the motion above it, sum_{<f} N + sum_{>f} (P - N) in squares: the
    minimum of that is `cut_hz`. What goes no farther than the noise, all together, is no motion: steps of an encoder
    that hardly moves are not white.
    """
    rate, q = log.rate_hz, interpolated(log.t[:ENOUGH], log.q[:ENOUGH])
    if resample_hz is not None:
        _, q = resample(log.t[:ENOUGH], q, resample_hz, "cubic", rate)
        rate = resample_hz
    q = q[int(ENDS * len(q)) : len(q) - int(ENDS * len(q))]
    second = np.diff(q, 2, axis=0)
    window = np.hanning(len(second))[:, None]
    power = np.abs(np.fft.rfft((second - second.mean(axis=0)) * window, axis=0)) ** 2 / np.sum(window**2)
    f = np.fft.rfftfreq(len(second), 1.0 / rate)
    white = ((2.0 - 2.0 * np.cos(2.0 * np.pi * f / rate)) ** 2)[:, None]
    steps = np.array([position_quantum(x) or 0.0 for x in q.T])
    variance = _floor(power[1:] / white[1:], steps**2 / 12.0 * np.log(2.0)) / np.log(2.0)
    noise = variance * white
    position = np.cumsum(np.maximum(power - noise, 0.0)[1:] / white[1:], axis=0)
    reach = REACH * f[1:][np.argmax(position >= 0.99 * position[-1], axis=0)]
    risk = np.cumsum(2.0 * noise - power, axis=0)
    cut = np.argmin(np.where(f[:, None] <= reach, risk, np.inf), axis=0)
    velocity = np.maximum(power - noise, 0.0)[1:] / np.sqrt(white[1:])
    velocity[np.arange(1, len(f))[:, None] > cut] = 0.0
    share = np.cumsum(velocity, axis=0)
    above = 2.0 / len(second) * (position[-1] - position)
    fast = np.minimum(np.argmax(share >= 0.99 * share[-1], axis=0), np.argmax(above <= variance, axis=0))
    motion = np.where(share[-1] > 0, f[1:][fast], 0.0)
    lag = max(1, int(rate / max(4.0 * motion.max(), 1e-9) / 2)) if motion.max() > 0 else 1
    lag = min(lag, len(q) - 1)
    speed = np.percentile(np.abs(q[lag:] - q[:-lag]), 99, axis=0) * rate / lag
    return Band(rate, np.sqrt(variance), f[cut], motion, speed)


def _floor(power: Array, least: Array) -> Array:
    """Return the level (n,) of the noise in a position's power (F, n) at rising, even frequencies, at least `least`."""
    stop = len(power)
    level = np.maximum(np.median(power[stop // 2 :], axis=0), least)
    flat, top = np.ones(len(level), dtype=bool), FLAT * level
    while (stop := stop // 2) > OCTAVE and flat.any():
        octave = np.median(power[stop // 2 : stop], axis=0)
        flat &= octave <= top
        level = np.where(flat, np.maximum(level, octave), level)
    return np.asarray(level)


def chosen(
    logs: Sequence[Log], position_hz: float | None = None, hands: tuple[Hand, Hand] = OPEN
) -> tuple[Processing, Processing] | None:
    """Return the processing that the positions of the logs ask for, in a fit and where its prediction is judged.

    position_hz: a cut-off of the positions that is known to be better than that of their spectra. hands: what is set
    for either by hand. None where the logs say nothing.

    `resample_hz`: an even grid where rows are not evenly apart, for filters count rows. `derivative`: over five rows
    where these are few for the motion and noise is small, on that grid. `decimation`: regressor and torque below FITTED
    times the band of the fastest motion; below JUDGED times it, slow rows included, where they are compared with a
    prediction. `position_hz`: the highest `cut_hz` of the joints, at least LOWEST times that band. `edge_s`: one period
    of the lowest cut-off, beside a start or an end unlike the rest. `min_speed`: what noise and the filter leave of a
    joint that stands, a tenth of its speed at most. `run_in`: some of the largest presliding travels. Where readings
    leap away and back, `spikes` are interpolated. Joints that rest throughout say nothing, and neither do logs that are
    short or whose clock leaps. The thresholds were set on simulated logs (`experiments/benchmarks/automatic.py`).
    """
    hand = hands[0]
    clocks = _clocks(logs, hand.processing)
    timed = [on_clock(log, clock) for log, clock in clocks]
    odd = any(clock.rows == "moved" for _, clock in clocks)
    grid = hand.of("resample_hz", even_grid(timed) if odd or any(map(_uneven, timed)) else None)
    bands = [band_of(freshly_read(log, clock), grid and grid / clock.held) for log, clock in clocks]
    few = "derivative" in hand.left and bool(bands) and all(map(few_rows, bands))
    grid = grid or hand.of("resample_hz", even_grid(timed) if few else None)
    motion = max((float(b.motion_hz.max()) for b in bands), default=0.0)
    if motion <= 0.0:
        return None
    every = max(clock.held for _, clock in clocks)
    rates = [b.rate_hz * clock.held for b, (_, clock) in zip(bands, clocks, strict=True)]
    rate = min(x for x in rates if x * ALIKE >= max(rates))
    cut = position_hz or max(LOWEST * motion, *(float(b.cut_hz.max()) for b in bands))
    position = significant(cut, 2) if cut < HIGHEST * rate / every else None
    position = hand.of("position_hz", position)
    left = (cut if "position_hz" in hand.left else position) if position else rate / every / 2
    cut = cut if "position_hz" in hand.left else left
    judged = max(min(JUDGED * motion, PREDICTED * cut), motion)
    factors, fewer = (
        own.of("decimation", factors_below(thinned_band(rate, ()) / band))
        for own, band in zip(hands, (FITTED * motion, judged), strict=True)
    )
    noise = np.max([b.noise / np.sqrt(b.rate_hz) for b in bands], axis=0)  # its density
    slow = SLOW_NOISE * noise * np.sqrt(8.0 / 3.0 * np.pi**2 * left**3)
    fastest = np.max([b.fastest for b in bands], axis=0)
    slow = np.clip(slow, SLOW_SHARE * fastest, SLOW_MOST * fastest)
    edge = significant(1.0 / min(left, thinned_band(rate, fewer)), 2)
    wild = dict.fromkeys((START, END), 0.0)
    for log in logs:
        for f in transients(log):
            far = len(f.rows) if f.kind == START else -1 - len(f.rows)
            wild[f.kind] = max(wild[f.kind], abs(log.t[far] - log.t[0 if f.kind == START else -1]))
    edges = significant(edge + wild[START], 2), significant(edge + wild[END], 2)
    leaps = any(spikes(x).any() for log in logs for x in (log.q, log.tau))
    fit = Processing(
        spikes="interpolated" if leaps else "kept",
        resample_hz=grid,
        position_hz=position,
        decimation=factors,
        meant_hz=significant(rate, 4),
        edge_s=edges if any(wild.values()) else edge,
        min_speed=tuple(significant(x, 2) for x in slow),
        run_in=RUN_IN,
        **(FIVE_ROWS if grid and few else {}),
    )
    return hand.filled(fit), hands[1].filled(replace(fit, decimation=fewer, min_speed=0.0))


def few_rows(band: Band) -> bool:
    """Return whether accelerations of the fastest joint lose more to central differences than five rows add as noise.

    Of one that moves at f Hz those take (2 pi f / rate)^2 / 3.
    """
    j, rate = int(np.argmax(band.motion_hz)), band.rate_hz
    angle = 2.0 * np.pi * float(band.motion_hz[j]) / rate
    noise = FIVE_NOISE * float(band.noise[j]) * rate**2
    lost = angle**2 / 3.0 * angle * rate * float(band.fastest[j])
    return rate < DENSE * float(band.motion_hz[j]) and noise < lost


def band_alone(log: Log) -> Band | None:
    """Return what the positions of one log show, None where it says nothing."""
    return next((band_of(freshly_read(*one)) for one in _clocks([log], Processing())), None)


def reaching(judged: Processing, logs: Sequence[Log], left: Sequence[str] = AUTOMATIC) -> Processing:
    """Return where a prediction of these logs is judged: as `judged`, unless they move too fast for its filters.

    Positions are low-passed at LOWEST times the band of their motion at least, and the band in which errors are
    counted is no narrower than the motion. Nothing but the positions is looked at, and only what is left to them is
    changed.
    """
    clocks = _clocks(logs, judged)
    grid = judged.resample_hz
    bands = [band_of(freshly_read(log, clock), grid and grid / clock.held) for log, clock in clocks]
    motion = max((float(b.motion_hz.max()) for b in bands), default=0.0)
    rates = (b.rate_hz * clock.held for b, (_, clock) in zip(bands, clocks, strict=True))
    rate = judged.meant_hz or min(rates, default=np.inf)
    cut = judged.position_hz
    if cut is not None and cut < LOWEST * motion:
        every = max(clock.held for _, clock in clocks)
        cut = significant(LOWEST * motion, 2) if LOWEST * motion < HIGHEST * rate / every else None
    fewer = judged.decimation
    if fewer and thinned_band(rate, fewer) < motion:
        fewer = factors_below(thinned_band(rate, ()) / motion)
    judged = Hand(judged, tuple(left)).filled(replace(judged, position_hz=cut, decimation=fewer))
    if not {"derivative", "resample_hz"} <= {*left} or not bands or not all(map(few_rows, bands)):
        return judged
    grid = grid or even_grid([on_clock(*one) for one in clocks])
    return replace(judged, resample_hz=grid, **FIVE_ROWS) if grid else judged


def _clocks(logs: Sequence[Log], processing: Processing) -> list[tuple[Log, Clock]]:
    """Return the logs that say something, between their gaps, each with its clock, as `processing` has it."""
    said = [part for log in logs for part in unbroken(log) if len(part.t) > SHORT and leap(part.t) is None]
    return [(log, find_clock(log) if processing.clock == "auto" else Clock()) for log in said]


def unbroken(log: Log) -> list[Log]:
    """Return the stretches of a log between its long gaps, the short ones filled; the log itself where it has none."""
    at, _, count = gaps(log.t)
    stretch = np.cumsum(np.isin(np.arange(len(log.t)), at[count > GAP] + 1))
    parts = [log] if not stretch[-1] else [only(log, stretch == k) for k in range(stretch[-1] + 1)]
    return [filled(part)[0] for part in parts] if len(at) else parts


def even_grid(logs: Sequence[Log]) -> float | None:
    """Return the rate [Hz] of an even grid for all logs; None where it would invent many rows of one."""
    # of each log the rate of the usual step, at least the mean rate
    grid = max(significant(max(1.0 / np.median(np.diff(log.t)), log.rate_hz), 4) for log in logs)
    return None if any(grid * (log.t[-1] - log.t[0]) > MOST_GRID * len(log.t) for log in logs) else grid


def _uneven(log: Log) -> bool:
    steps = np.diff(log.t)
    return bool(np.mean(np.abs(steps / np.median(steps) - 1.0) > UNEVEN) > UNEVEN_ROWS)


def as_toml(processing: Processing) -> str:
    """Return what is not the default, as it stands in an inline table."""
    return ", ".join(as_lines(processing))


def as_lines(processing: Processing, default: Processing | None = None) -> list[str]:
    """Return what is not the default, as it stands in [processing], or in [processing.validate] with that for one."""
    default = default or Processing()
    changed = {f.name: getattr(processing, f.name) for f in fields(processing)}
    changed = {key: value for key, value in changed.items() if value != getattr(default, key)}
    return [f"{key} = {_toml(x)}" for key, x in changed.items()]


def _toml(value: Any) -> str:
    if value is None or isinstance(value, str):
        return f'"{value or "none"}"'
    return repr(list(value) if isinstance(value, tuple) else value)


def lagging(processing: Processing) -> float:
    """Return by how much [s] all torques come after positions, as they do after commanded ones; 0: by less."""
    late = -np.atleast_1d(processing.position_delay_s)
    return float(late.max()) if len(late) > 1 and late.min() >= COMMANDED else 0.0


def in_words(processing: Processing) -> str:
    """Return in one line what is done with a log."""
    p, thinned = processing, prod(processing.decimation)
    edges = p.edge_s if isinstance(p.edge_s, tuple) else (p.edge_s, p.edge_s)
    late = np.atleast_1d(p.position_delay_s)
    joints, most = int(np.count_nonzero(late)), f"{np.abs(late).max(initial=0.0) * 1e3:.2g} ms"
    said = [
        f"positions below {p.position_hz:g} Hz" if p.position_hz else "positions as they are",
        f"regressor and torque thinned by {thinned}" if thinned > 1 else "every row used",
        f"{edges[0]:g} s cut off at the start and {edges[1]:g} s at the end",
    ]
    said += ["rows resampled evenly"] if p.resample_hz else []
    said += [f"derivatives over {p.savgol_window} rows, which are few for so fast a motion"] * (
        p.derivative == "savgol"
    )
    said += ["spikes interpolated"] if p.spikes == "interpolated" else []
    if joints > 1 and late.max() <= 0.0:
        asked = " (are these commanded positions, or torques behind a filter?)" * bool(lagging(processing))
        said += [f"torques of {joints} joints read as late by up to {most}{asked}"]
    elif joints:
        said += [f"positions of single joints shifted in time by up to {most}"]
    return ", ".join(said)
