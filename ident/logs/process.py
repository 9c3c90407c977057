"""From a log to a motion: delay, resampling, zero-phase filters, derivatives, edges, window, masks, segments."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache
from math import ceil, inf, isfinite, prod
from typing import Literal, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array, runs
from ident.errors import LogError
from ident.logs import filter as filters
from ident.logs.clock import filled, find_clock, on_clock, rate_of
from ident.logs.filter import HIGHEST, Interpolation, central, checked, decimate, factors_below, thinned_band, undelayed
from ident.logs.log import Log
from ident.logs.motion import USUAL, Motion, period, segment_length, split, stretches
from ident.logs.readings import interpolated, leap, least_noise, moving, resting, run_in, saturated

PerJoint = float | tuple[float, ...]
Ends = float | tuple[float, float]
_hints = cache(get_type_hints)
#: Rates are alike up to this factor.
ALIKE = 1.2
#: A cubic goes across a gap that is shorter than this share of what is cut off at an end, as far as filters tell.
BRIDGED = 0.25


@dataclass(frozen=True)
class Processing:
    """How a log becomes a motion; the steps in the order in which they are done.

    A joint that rests (see `readings.resting`) stays at the median of its readings, without velocity and acceleration.
    Raises LogError for values that make no sense.
    """

    clock: Literal["auto", "stamps"] = "auto"
    """"stamps": the time as logged; "auto": even steps where stamps jitter and positions do not, rows lost or written
    twice counted, positions that are held interpolated (`find_clock`).
    """
    spikes: Literal["kept", "interpolated"] = "kept"
    """Whether positions, velocities and torques that leap away from their neighbours and back within two samples stay
    or are interpolated.
    """
    delay_s: PerJoint = 0.0
    """Torque lags position by this much [s], one or per joint; negative: leads. Taken out by interpolation."""
    position_delay_s: PerJoint = 0.0
    """Position and velocity lag the time stamps by this much [s], one or per joint."""
    resample_hz: float | None = None
    """All signals are brought onto the uniform grid k / resample_hz [Hz]; None: rows as they are."""
    interpolation: Interpolation = "cubic"
    """How they are interpolated there."""
    nominal_rate_hz: float | None = None
    """The rate [Hz] that filters are designed for, in place of the recording's mean rate."""
    order: int = 4
    """Of each zero-phase Butterworth low-pass, per direction."""
    position_hz: float | None = None
    """Cut-off [Hz] of the zero-phase low-pass of positions; None for none."""
    velocity_hz: float | None = None
    """The same of velocities."""
    acceleration_hz: float | None = None
    """The same of accelerations, which are the derivative of the filtered velocity."""
    torque_hz: float | None = None
    """The same of torques alone; it rounds friction's corners off."""
    velocity: Literal["position", "measured"] = "position"
    """The derivative of the position, or the velocity that was measured."""
    derivative: Literal["central", "savgol", "fourier"] = "central"
    """"central" (with the measured steps), "savgol" (Savitzky-Golay; uniform samples only), or "fourier": q, qd, qdd
    are a fitted series and its exact derivatives, over the whole recording.
    """
    savgol_window: int = 11
    """Samples of the Savitzky-Golay window, an odd number."""
    savgol_degree: int = 3
    """Degree of its polynomial, 2 or more."""
    fourier_period_s: float | None = None
    """Period [s] of the series."""
    fourier_harmonics: int | None = None
    """Number of its harmonics."""
    edge_s: Ends = 0.0
    """Cut from the recording's ends [s], one or (start, end), where filters miss their neighbours."""
    edge_samples: int | tuple[int, int] = 0
    """The same in samples."""
    start_s: float | None = None
    """Only what comes so long after the recording's first row [s] is kept; filters still see what lies outside."""
    stop_s: float | None = None
    """Only what comes before it is kept."""
    decimation: tuple[int, ...] = ()
    """Factors (2 to 13) by which regressor and torque are thinned alike when the motion is compressed."""
    meant_hz: float | None = None
    """The rate [Hz] that decimation and position_hz are meant for: a recording of another rate is thinned to about the
    same band, and positions that its own rate cuts off lower are not low-passed. None: all are treated alike.
    """
    min_speed: PerJoint = 0.0
    """A joint's rows slower than this [rad/s or m/s], one or per joint, do not count: friction has no sign there."""
    standstill: PerJoint = 0.0
    """Rows where every joint is slower than this [rad/s or m/s], one or per joint, do not count: `readings.moving`."""
    run_in: float = 0.0
    """A joint that begins at rest counts from where it has moved so far [rad or m]: `readings.run_in`."""
    segment_s: float | None = None
    """Length of the segments [s], of which error bars are made; None for the rule of `motion`."""
    period_s: float | None = None
    """After which the motion repeats itself [s], 0 for never; None: found from the positions."""

    def __repr__(self) -> str:
        given = ((f.name, getattr(self, f.name)) for f in fields(self) if getattr(self, f.name) != f.default)
        return f"Processing({', '.join(f'{name}={value!r}' for name, value in given)})"

    def __post_init__(self) -> None:
        for f in fields(self):
            if isinstance(getattr(self, f.name), list):
                object.__setattr__(self, f.name, tuple(getattr(self, f.name)))
        rates = (f.name for f in fields(self) if f.name.endswith("_hz"))
        for key in (*rates, "segment_s", "fourier_period_s"):
            value = getattr(self, key)
            if value is not None and not (isfinite(value) and value > 0):
                raise LogError(f"is {value}, wanted a number above 0", key=key, fix="Leave it out for none")
        for key in ("edge_s", "edge_samples", "min_speed", "standstill", "run_in"):
            if not all(isfinite(v) and v >= 0 for v in _tuple(getattr(self, key))):
                raise LogError(f"is {getattr(self, key)}, wanted numbers that are 0 or more", key=key)
        if self.period_s is not None and not (isfinite(self.period_s) and self.period_s >= 0):
            raise LogError(f"is {self.period_s}, wanted a time, or 0 for none", key="period_s")
        for key in ("edge_s", "edge_samples"):
            if len(_tuple(getattr(self, key))) > 2:
                raise LogError(f"has {len(_tuple(getattr(self, key)))} values, wanted one or (start, end)", key=key)
        for key in ("delay_s", "position_delay_s"):
            if not all(isfinite(v) for v in _tuple(getattr(self, key))):
                raise LogError(f"is {getattr(self, key)}, wanted finite numbers", key=key)
        for key, hint in _hints(Processing).items():
            if get_origin(hint) is Literal and getattr(self, key) not in get_args(hint):
                raise LogError(f"is '{getattr(self, key)}', wanted one of: {', '.join(get_args(hint))}", key=key)
        if not 1 <= self.order <= 20:
            raise LogError(f"is {self.order}, wanted 1 to 20", key="order")
        if self.start_s is not None and self.stop_s is not None and not self.start_s < self.stop_s:
            raise LogError(f"start_s {self.start_s:g} is not before stop_s {self.stop_s:g}", key="start_s")
        object.__setattr__(self, "decimation", checked(self.decimation))
        if self.derivative == "savgol" and not (
            self.savgol_window % 2 and 2 <= self.savgol_degree < self.savgol_window
        ):
            problem = f"a window of {self.savgol_window} samples and degree {self.savgol_degree} do not fit"
            fix = "Use an odd window, longer than the degree, and a degree of 2 or more"
            raise LogError(problem, key="savgol_window", fix=fix)
        if self.derivative == "fourier":
            if self.fourier_period_s is None or not self.fourier_harmonics or self.fourier_harmonics < 1:
                raise LogError("needs fourier_period_s and fourier_harmonics", key="derivative = 'fourier'")
            if self.velocity == "measured" or self.position_hz or self.velocity_hz or self.acceleration_hz:
                problem = "takes velocity and acceleration from the fitted series"
                fix = "Leave out velocity = 'measured', position_hz, velocity_hz and acceleration_hz"
                raise LogError(problem, key="derivative = 'fourier'", fix=fix)

    def at(self, rate_hz: float) -> Processing:
        """Return what is done with a recording of this rate [Hz], where it is another one than `meant_hz`."""
        own, meant = self.resample_hz or rate_hz, self.meant_hz
        if meant is None or max(own / meant, meant / own) < ALIKE:
            return self
        nearest = thinned_band(own, ()) / thinned_band(meant, self.decimation) + 0.5
        position = self.position_hz if (self.position_hz or inf) < HIGHEST * own else None
        return replace(self, position_hz=position, decimation=factors_below(nearest))

    def left_out(self, step: float, end: int = 0) -> float:
        """Return how much [s] is left out at one end of a recording with this time step [s]: 0 its start, 1 its end."""
        samples = _ends(self.edge_samples)[end] * (1 / self.resample_hz if self.resample_hz else step)
        return max(samples, _ends(self.edge_s)[end], 0.0 if end else self.start_s or 0.0)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Filtered signals of a log, or of a part of one.

    noise (n,): how noisy tau is at least when it is thinned; cut (M, n): which torques are cut off. Samples begin..end
    belong to the recording's motion, as far as the part shows; first..stop are the part's own.
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    noise: Array
    cut: NDArray[np.bool_]
    first: int
    stop: int
    begin: int
    end: int
    temperature: Array | None = None


def process(log: Log, processing: Processing) -> Motion:
    """Return the motion of a log: filtered, differentiated, cut, with its masks and segments.

    Nothing is thinned here: `Motion.decimation` says by what the regressor and the torque will be, together
    (`decimate`), and `Motion.keep` and `Motion.blocks` count rows after that. Raises LogError for settings that the log
    does not allow, such as a cut-off above its Nyquist frequency, or when nothing is left.
    """
    if processing.clock == "auto":
        log = on_clock(log, find_clock(log))
    rate = processing.nominal_rate_hz or rate_of(log)
    processing = processing.at(rate)
    ready = prepare(log, processing, rate, (True, True))
    if ready.stop <= ready.first:
        raise LogError("nothing is left after edges and window", file=log.file, key=log.name)
    return motion(log.name, ready, processing, (ready.first, ready.stop), repeats(ready, processing))


def repeats(ready: Prepared, p: Processing) -> float | None:
    """Return after how many samples the motion repeats itself, as given or as the part's own positions show it."""
    own = slice(ready.first, ready.stop)
    if p.period_s is None:
        return period(ready.q[own])
    return p.period_s / float(np.mean(np.diff(ready.t[own]))) if p.period_s and ready.stop > ready.first + 1 else None


def prepare(log: Log, p: Processing, rate_hz: float, ends: tuple[bool, bool]) -> Prepared:
    """Do all steps up to edges and window.

    `rate_hz` is what the filters are designed for (before resampling); `ends`: whether the log's first and last row are
    the recording's.
    """
    if p.derivative != "fourier":
        _require_no_break(log)
    log, lacking = filled(log) if p.derivative != "fourier" else (log, np.zeros(len(log.t), dtype=bool))
    n = log.n
    t, rate = log.t, rate_hz
    if p.spikes == "interpolated":
        qd = None if log.qd is None else interpolated(t, log.qd)
        log = replace(log, q=interpolated(t, log.q), tau=interpolated(t, log.tau), qd=qd)
    late = _per_joint(p.position_delay_s, n, "position_delay_s")
    tau, known = undelayed(t, log.tau, _per_joint(p.delay_s, n, "delay_s"), p.interpolation)
    q, read = undelayed(t, log.q, late, p.interpolation)
    qd = None if log.qd is None else undelayed(t, log.qd, late, p.interpolation)[0]
    both = t[max(known.start, read.start) : min(known.stop, read.stop)]
    from_s, to_s = both[[0, -1]] if len(both) else (inf, -inf)
    warm = log.temperature
    if p.resample_hz is not None:
        stacked = np.hstack([q, tau] if qd is None else [q, tau, qd])
        t, joined = filters.resample(t, stacked, p.resample_hz, p.interpolation, rate_hz)
        q, tau, qd = joined[:, :n], joined[:, n : 2 * n], joined[:, 2 * n :] if qd is not None else None
        if warm is not None:  # slow and coarse: a spline would swing
            warm = np.column_stack([np.interp(t, log.t, x) for x in warm.T])
        rate = p.resample_hz
    if len(t) < 3:
        raise LogError("has fewer than 3 samples", file=log.file, key=log.name)
    q, qd, qdd = _derivatives(log, p, t, (q, qd), rate)
    if not (moves := ~resting(log.q)).all():
        q, qd, qdd = np.where(moves, q, np.median(log.q, axis=0)), qd * moves, qdd * moves
    tau = filters.low_pass(tau, p.torque_hz, rate, p.order, "torque_hz")
    band = min(rate_hz, filters.BAND * rate / prod(p.decimation), 2 * (p.torque_hz or inf))  # left of white noise
    noise = least_noise(log.tau) * np.sqrt(band / rate_hz)

    # which samples belong to the motion: torque known, in the window, not at an edge of the recording
    edge_s, edge_samples = _ends(p.edge_s), _ends(p.edge_samples)
    begin, end = _index(t, from_s), _index(t, to_s, after=True)
    if ends[0]:
        begin = max(begin + int(edge_samples[0]), _index(t, log.t[0] + edge_s[0]))
    if ends[1]:
        end = min(end - int(edge_samples[1]), _index(t, log.t[-1] - edge_s[1], after=True))
    begin = max(begin, _index(t, -inf if p.start_s is None else p.start_s))
    end = min(end, _index(t, inf if p.stop_s is None else p.stop_s))
    before, after = log.margin
    first = max(begin, _index(t, log.t[before]))
    stop = min(end, _index(t, log.t[-after]) if after else len(t))

    def smeared(rows: NDArray[np.bool_]) -> NDArray[np.bool_]:  # by filters, over the samples beside them
        later = np.clip(np.searchsorted(log.t, t), 0, len(log.t) - 1)
        return np.asarray(rows[later] | rows[np.maximum(later - 1, 0)])

    cut = saturated(log.tau)
    cut = (smeared(cut) if cut.any() else np.zeros(tau.shape, dtype=bool)) | np.isin(log.joints, log.unknown)
    if lacking.any():
        near = ceil(max(min(edge_s) * rate, min(edge_samples)) - 1e-6)
        for a, b in runs(lacking).tolist():
            lacking[a:b] = b - a > BRIDGED * near * rate_hz / rate
        cut |= _nearby(smeared(lacking)[:, None], near)
    return Prepared(t, q, qd, qdd, tau, noise, cut, first, stop, begin, end, warm)


def noise_share(log: Log, processing: Processing, noise: ArrayLike) -> Array:
    """Return how much of each joint's acceleration (n,), root mean square, is noise of its position.

    noise (n,) [rad; m]: its standard deviation, 0 for none; that of rounding is a step / sqrt(12). It is taken as white
    and uniform: a draw of it goes through the same filters, derivatives and thinning. NaN where a joint has no
    acceleration. Least squares take inertias too small by about the square of this share.
    """
    rate = processing.nominal_rate_hz or rate_of(log)
    processing = processing.at(rate)
    steps = np.sqrt(12.0) * np.asarray(noise, dtype=np.float64)
    drawn = np.random.default_rng(0).uniform(-0.5, 0.5, log.q.shape) * steps
    found, moved = (prepare(x, processing, rate, (True, True)) for x in (log, replace(log, q=log.q + drawn)))
    part = slice(found.first, found.stop)
    if found.stop <= found.first:  # whoever asks for the motion is told
        return np.full(log.n, np.nan)
    # the filter leaves the first and the last row as they are
    off, whole = (decimate(x[part], processing.decimation)[1:-1] for x in (moved.qdd - found.qdd, found.qdd))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt(np.sum(off**2, axis=0) / np.sum(whole**2, axis=0)))


def _require_no_break(log: Log) -> None:
    """Raise LogError where the clock leaps forward so far that no filter or derivative can go across."""
    k, step = leap(log.t), np.diff(log.t)
    if k is not None:
        usual = float(np.median(step))
        raise LogError(
            f"the clock leaps forward by {step[k]:.6g} s after {log.where(k)}, where {usual * 1e3:.4g} ms is usual",
            file=log.file,
            key=log.name,
            fix="Give what is before and after as two recordings, with rows = [first, last]",
        )


def _index(t: Array, time: float, after: bool = False) -> int:
    """Return the first sample at `time` or later (`after`: later than `time`); stamps within 1 ns are equal."""
    return int(np.searchsorted(t, time + 1e-9 if after else time - 1e-9))


def motion(
    name: str,
    ready: Prepared,
    p: Processing,
    rows: tuple[int, int],
    every: float | None = None,
    total: float | None = None,
    before: int = 0,
    usual: int = USUAL,
) -> Motion:
    """Return some rows (first, stop) of `ready` as a motion that repeats itself after `every` samples (None: never).

    total: samples of the recording's motion, `before` those that came before this part's own; None for a whole one.
    usual: how many segments it has where that is long enough for each.
    Of its rows after thinning only those count (`keep`, `blocks`) whose sample belongs to the motion; the
    others lead the thinning's filters in and out.
    """
    first, stop = rows
    span = slice(first, stop)
    t, qd = ready.t[span], ready.qd[span]
    thin = prod(p.decimation)
    limits = [_per_joint(getattr(p, key), qd.shape[1], key) for key in ("min_speed", "standstill")]
    keep = moving(decimate(qd, p.decimation) if np.any(limits) else qd[::thin], *limits)
    counted = (ceil((ready.first - first) / thin), ceil((min(ready.stop, stop) - first) / thin))
    begin = ready.first - first
    if p.run_in and before == 0 and 0 <= begin < len(t):
        keep[-(-begin // thin) :] &= run_in(ready.q[span][begin:], qd[begin:], p.run_in)[-begin % thin :: thin]
    if ready.cut[span].any():
        keep &= ~_nearby(ready.cut[span], 2 * thin)[::thin]
    keep[: counted[0]] = False
    keep[counted[1] :] = False
    rate = (len(t) - 1) / (t[-1] - t[0]) if len(t) > 1 else 1.0
    cutoffs = [c for c in (p.position_hz, p.velocity_hz, p.acceleration_hz, p.torque_hz) if c]
    cutoffs += [thinned_band(rate, p.decimation)] if p.decimation else []
    duration = (every or total or len(t)) / rate
    least = (p.segment_s or segment_length(duration, min(cutoffs, default=inf), usual)) * rate / thin
    if every is not None:
        blocks, segments = stretches(*counted, least, every / thin, before / thin)
    elif total is not None:
        blocks, segments = split(*counted, least, total / thin, before / thin)
    else:
        blocks, segments = split(*counted, least)[0], ()
    return Motion(
        name=name,
        t=t,
        q=ready.q[span],
        qd=qd,
        qdd=ready.qdd[span],
        tau=ready.tau[span],
        keep=keep,
        decimation=p.decimation,
        blocks=blocks,
        stretches=segments,
        repeats=every is not None,
        noise=ready.noise,
        temperature=None if ready.temperature is None else ready.temperature[span],
        run_up=ready.q[:first] - ready.q[first] if first else None,
    )


def _nearby(rows: NDArray[np.bool_], most: int) -> NDArray[np.bool_]:
    """Return which rows (N, n) are at most so many from one of those."""
    total = np.cumsum(np.pad(rows, ((most + 1, most), (0, 0))), axis=0)
    return np.asarray(total[2 * most + 1 :] > total[: len(rows)])


def window(p: Processing, duration: float, rate_hz: float) -> float:
    """Return how many samples a recording of `duration` [s] has left after edges and window, but for rounding."""
    rate = p.resample_hz or rate_hz
    edges = [max(s, k / rate) for s, k in zip(_ends(p.edge_s), _ends(p.edge_samples), strict=True)]
    start, stop = max(p.start_s or 0.0, edges[0]), duration - edges[1]
    return max(1.0, ((stop if p.stop_s is None else min(p.stop_s, stop)) - start) * rate)


def memory(p: Processing, rate_hz: float) -> int:
    """Return after how many rows of the log no step of `process` remembers a sample (thinning not included)."""
    rate, per_row, rows = rate_hz, 1.0, 60.0  # splines forget a sample by a factor 0.27 a row
    if p.resample_hz is not None:
        fine = max(1, ceil(rate_hz / p.resample_hz - 0.01))
        if fine > 1:
            rows += filters.memory(0.4 * p.resample_hz, fine * p.resample_hz, 8) * rate_hz / (fine * p.resample_hz)
        rate, per_row = p.resample_hz, rate_hz / p.resample_hz
        rows += 2 * fine
    cutoffs = [c for c in (p.position_hz, p.velocity_hz, p.acceleration_hz) if c]
    chain = sum(filters.memory(c, rate, p.order) for c in cutoffs if c < rate / 2)
    torque = filters.memory(p.torque_hz, rate, p.order) if p.torque_hz and p.torque_hz < rate / 2 else 0
    stencil = p.savgol_window if p.derivative == "savgol" else 4
    delay = max(abs(d) for key in (p.delay_s, p.position_delay_s) for d in _tuple(key)) * rate_hz
    return ceil(rows + per_row * (max(chain, torque) + stencil) + delay)


def _derivatives(
    log: Log, p: Processing, t: Array, signals: tuple[Array, Array | None], rate: float
) -> tuple[Array, Array, Array]:
    q, measured = signals
    if p.derivative == "fourier":
        assert p.fourier_period_s is not None
        assert p.fourier_harmonics is not None
        return filters.fourier_fit(t, q, p.fourier_period_s, p.fourier_harmonics)
    q = filters.low_pass(q, p.position_hz, rate, p.order, "position_hz")

    def slope(x: Array, derivative: int = 1) -> Array:
        if p.derivative == "savgol":
            return filters.savitzky_golay(x, t, p.savgol_window, p.savgol_degree, derivative)
        return central(x, t)

    if p.velocity == "measured":
        if measured is None:
            fix = "Use velocity = 'position', or name the velocity's columns in the manifest"
            raise LogError("no velocity was measured", file=log.file, key="velocity = 'measured'", fix=fix)
        qd = filters.low_pass(measured, p.velocity_hz, rate, p.order, "velocity_hz")
    else:
        qd = filters.low_pass(slope(q), p.velocity_hz, rate, p.order, "velocity_hz")
    twice = p.derivative == "savgol" and p.velocity == "position" and p.velocity_hz is None
    qdd = slope(q, 2) if twice else slope(qd)
    return q, qd, filters.low_pass(qdd, p.acceleration_hz, rate, p.order, "acceleration_hz")


def _tuple(value: float | tuple[float, ...]) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,)


def _ends(value: Ends) -> tuple[float, float]:
    values = _tuple(value)
    return (values[0], values[-1])


def _per_joint(value: ArrayLike, n: int, key: str) -> Array:
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (n,)):
        raise LogError(f"has {array.size} values, the recording has {n} joints", key=key)
    return np.broadcast_to(array, (n,))
