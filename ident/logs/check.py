"""What is odd about a log: rows lost or repeated, gaps, coarse encoders, limits exceeded, units that look wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, isfinite, log10

import numpy as np

from ident.arrays import Array
from ident.errors import LogError, plural
from ident.logs.clock import find_clock
from ident.logs.log import Log, spans
from ident.logs.readings import GAP as MOST
from ident.logs.readings import gaps, position_quantum, saturated, spikes, unsigned, usual_steps
from ident.logs.recognised import LATE_ROWS, lateness, related
from ident.logs.unscaled import SMALL, unscaled
from ident.robot import Robot

#: Kinds of findings, and of what pipelines say, that tell what is so without anything being wrong.
NOTES = (
    "chosen", "calibrated", "left out", "coarse position", "repeated position", "irregular sampling", "rate change",
    "late velocity", "torque filter",    "export", "reading",
)  # fmt: skip
#: What is said of torques that no joint is made for.
OVER = "over 3 times its limit"
GAP = 1.5  # times the median step
SHORT = 0.5  # times the median step
IRREGULAR = 0.01  # spread of the steps, relative to the median
COARSE = 0.005  # one encoder step per sample, relative to the largest speed
HEAD = 0.03  # a transient at either end is over within this share of the rows
JUMP = 2.0  # a change of torque in the head, relative to the largest over as many rows of the rest
TURNS = 1.5  # the same of what a joint turns about by, which explains its torque, against what it does
LASTING = 4  # after so many heads, when a motion that began there has ended,
MOVED = 1e-3  # once it is away from where it began by this share of its range
OFTEN = 0.05  # of the rows: a torque that is cut off in more is no measurement
LEAP = 5.0  # the same for the position from row to row
FASTEST, SLOWEST = 2e-5, 0.3  # steps [s] of a robot's log
#: Velocities are those of the positions but for a factor where they correlate so well (a filter that takes 1 % off
#: lets it fall to 0.99), and the factor is the clock's where it is off by CLOCK_OFF and the same at ALL_ALIKE for every
#: joint: real logs are within 0.001 (UR10e, ten logs) and 0.004 (pendubot).
IN_STEP, CLOCK_OFF, ALL_ALIKE = 0.9995, 0.01, 0.003
NEARLY = 0.3  # a factor that is farther off is a unit
#: Velocities are told late that are so by LATE_ROWS and so much [s].
LATE_S = 0.005
IN_PARTS = "was checked in parts; of each kind of finding, those of the first part that has one are told"


@dataclass(frozen=True)
class Finding:
    """Something a user should know. `rows` of the file (1-based), () where it concerns the whole recording."""

    kind: str
    rows: tuple[int, ...]
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class LogReport:
    """What `check_log` found and counted.

    `steps`: (time step [s], how often), most frequent first, the step rounded to three digits of the median.
    `quantum` [rad or m] per joint: the step of the position readings, None where none shows. `duration` and the
    `dt` values in s.
    """

    name: str
    file: str | None
    samples: int
    duration: float
    dt_median: float
    dt_min: float
    dt_max: float
    steps: tuple[tuple[float, int], ...]
    quantum: tuple[float | None, ...]
    findings: tuple[Finding, ...]


def check_log(log: Log, robot: Robot) -> LogReport:
    """Report what is odd about a log; nothing is repaired.

    Hard faults (NaN, time that does not increase, wrong columns, text) never get this far: `read_log` and `Log` refuse
    them. Kinds of findings: "reading", "gap", "dropped rows", "short step", "irregular sampling", "rate change",
    "repeated rows", "repeated position", "constant torque", "saturated torque", "cut-off torque" (in more than OFTEN of
    the rows), "unsigned torque", "copied torque", "start transient", "end transient", "spikes", "coarse position",
    "position limit", "velocity limit", "effort limit", "unit", "sign", "clock", "late velocity".
    Raises LogError when the robot has another number of joints.
    """
    if log.n != robot.n:
        raise LogError(f"has {log.n} joints, robot '{robot.name}' has {robot.n}", file=log.file, key=log.name)
    if len(log.t) < 3:
        raise LogError("has fewer than 3 rows", file=log.file, key=log.name)
    dt = np.diff(log.t)
    quantum = tuple(position_quantum(log.q[:, j]) for j in range(log.n))
    findings = (
        *(Finding("reading", (), note) for note in log.notes),
        *_sampling(log, dt),
        *_repeats(log),
        *_torques(log),
        *transients(log),
        *_spikes(log),
        *_quantisation(log, robot, quantum, float(np.median(dt))),
        *_limits(log, robot),
        *_units(log, robot),
        *_late_velocities(log),
    )
    return LogReport(
        name=log.name,
        file=log.file,
        samples=len(log.t),
        duration=float(log.t[-1] - log.t[0]),
        dt_median=float(np.median(dt)),
        dt_min=float(dt.min()),
        dt_max=float(dt.max()),
        steps=_histogram(dt),
        quantum=quantum,
        findings=findings,
    )


def together(report: LogReport | None, part: LogReport, end: float) -> LogReport:
    """Return the report of a recording's parts so far and of the next one, whose last row is at `end` [s].

    Of each kind of finding it has those of the first part that has one; the median step and the quanta are those of the
    first part.
    """
    if report is None:
        return part
    told = report.findings
    if not any(f.message == IN_PARTS for f in told):
        told = (Finding("reading", (), IN_PARTS), *told)
    kinds, said = {f.kind for f in told} - {"reading"}, {f.message for f in told}
    steps = Counter(dict(report.steps))
    steps.update(dict(part.steps))
    samples = report.samples + part.samples
    return replace(
        report,
        samples=samples,
        duration=end,
        dt_min=min(report.dt_min, part.dt_min),
        dt_max=max(report.dt_max, part.dt_max),
        steps=tuple(steps.most_common()),
        findings=(*told, *(f for f in part.findings if f.kind not in kinds and f.message not in said)),
    )


def _histogram(dt: Array) -> tuple[tuple[float, int], ...]:
    digits = 2 - int(np.floor(log10(float(np.median(dt)))))
    values, counts = np.unique(np.round(dt, digits), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return tuple((float(values[i]), int(counts[i])) for i in order)


def _sampling(log: Log, dt: Array) -> Iterator[Finding]:
    clock, (usual, changes) = find_clock(log), usual_steps(dt)
    wide = np.flatnonzero(dt > GAP * usual)
    missing = np.round(dt / usual).astype(int) - 1
    if log.numbers is not None:  # rows that were left out are told of already
        wide = wide[missing[wide] != np.diff(log.numbers)[wide] - 1]
    whole = np.abs(dt / usual - missing - 1) < 0.15  # a whole number of usual steps: rows were lost, not late
    lost, late = wide[whole[wide]], wide[~whole[wide]]
    if len(lost):
        count = int(missing[lost].sum())
        gone = f"{count} row{'s seem' if count > 1 else ' seems'} to be missing {_after(log, lost, dt)}"
        yield Finding(
            "dropped rows", log.rows(lost), f"{gone}, where {_ms(usual[lost[0]])} is usual{_beside(log, lost)}"
        )
    if len(late) and clock.rows == "stamps":
        gone = f"a gap {_after(log, late, dt)}, where {_ms(usual[late[0]])} is usual"
        yield Finding("gap", log.rows(late), gone + _beside(log, late))
    short = np.flatnonzero(dt < SHORT * usual)
    if len(short) and clock.rows == "stamps":
        often = usual[short[0]]
        soon = f"{log.where(short + 1)}: less than {_ms(SHORT * often)} after the row before"
        fix = "resample linearly rather than differentiate over it"
        yield Finding("short step", log.rows(short + 1), f"{soon}, where {_ms(often)} is usual; {fix}")
    for k in changes.tolist():
        rates = f"{1.0 / usual[k - 1]:.4g} to {1.0 / usual[k]:.4g} Hz"
        yield Finding("rate change", log.rows(k), f"the rate changes from {rates} at {log.t[k]:.4g} s, {log.where(k)}")
    if clock.held > 1 or clock.rows == "moved":
        yield Finding("irregular sampling", (), f"{clock}; taken so unless clock = 'stamps'")
    elif np.ptp(np.percentile(dt / usual, [2.5, 97.5])) > IRREGULAR:
        most = ", ".join(f"{_ms(step)} {count} times" for step, count in _histogram(dt)[:3])
        taken = f"{clock}" if clock.rows == "stamps" else f"{clock}; taken so unless clock = 'stamps'"
        differ = f"the time steps differ: {most}, from {_ms(dt.min())} to {_ms(dt.max())}; {taken}"
        yield Finding("irregular sampling", (), differ)


def _beside(log: Log, at: np.ndarray) -> str:
    missing, _, count = gaps(log.t)
    long = np.isin(at, missing[count > MOST]).any()
    return "; no row counts that filters bring together across a long gap" if long else ""


def _after(log: Log, at: np.ndarray, dt: Array) -> str:
    """Return "after rows 3 (16 ms), 90 (18 ms) and 7 more"."""
    text = ", ".join(f"{log.rows(i)[0]} ({_ms(dt[i])})" for i in at[:5])
    more = f" and {len(at) - 5} more" if len(at) > 5 else ""
    return f"after row{'s' if len(at) > 1 else ''} {text}{more}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.4g} ms"


def _repeats(log: Log) -> Iterator[Finding]:
    still = (np.diff(log.q, axis=0) == 0).all(axis=1)
    same = still & (np.diff(log.tau, axis=0) == 0).all(axis=1)
    if log.qd is not None:
        same &= (np.diff(log.qd, axis=0) == 0).all(axis=1)
    whole, position = np.flatnonzero(same) + 1, np.flatnonzero(still & ~same) + 1
    if len(whole):
        same_as = f"{log.where(whole)}: every signal is the same as in the row before"
        yield Finding("repeated rows", log.rows(whole), f"{same_as}; was a frame logged twice?")
    if len(position):
        same_as = f"{log.where(position)}: all positions are the same as in the row before, the torque is not"
        why = "the robot rests, or its encoders are read less often than they are logged"
        yield Finding("repeated position", log.rows(position), f"{same_as}; {why}")


def _torques(log: Log) -> Iterator[Finding]:
    """Torques that cannot be measurements of a motor: zero or constant throughout, or another joint's."""
    span = "rows {}-{}".format(*(rows := log.rows((0, len(log.t) - 1))))
    constant = (log.tau == log.tau[0]).all(axis=0)
    for j in np.flatnonzero(constant).tolist():
        if (name := log.joints[j]) in (*log.passive, *log.unknown):
            continue
        none = "was it recorded? A joint without motor has the gain 0, an unknown torque nan"
        fix = none if (value := log.tau[0, j]) == 0 else "is it the right column?"
        yield Finding(
            "constant torque", rows, f"torque of '{name}' is {value:.4g} in all {len(log.t)} rows ({span}): {fix}"
        )
    yield from _cut_off(log)
    for j in np.flatnonzero(unsigned(log.tau) & ~constant).tolist():
        what = f"torque of '{log.joints[j]}' comes back to zero again and again, and never passes it ({span})"
        yield Finding("unsigned torque", rows, f"{what}: was its sign lost? Log it with that")
    size = np.linalg.norm(log.tau, axis=0)
    still = constant | (size == 0)  # its square underflows
    scaled = log.tau / np.maximum(size, np.finfo(float).tiny)
    cosine = scaled.T @ scaled
    alike = np.abs(cosine) > 1 - 1e-9
    for j in range(1, log.n):
        twins = [i for i in range(j) if alike[i, j] and not still[i] and not still[j]]
        for i in twins[:1]:
            factor = float(cosine[i, j] * size[j] / size[i])
            what = f"torque of '{log.joints[j]}' is {factor:.6g} times that of '{log.joints[i]}'"
            yield Finding("copied torque", rows, f"{what} in all {len(log.t)} rows ({span}): is a column named twice?")


def _cut_off(log: Log) -> Iterator[Finding]:
    """Torques that stand at their ends: in rows that can be left out, or too often for that."""
    often = (cut := saturated(log.tau)).mean(axis=0) > OFTEN
    for which, kind, fix in (
        (often, "cut-off torque", "log it in a wider range, or move so that it is not reached"),
        (cut.any(axis=0) & ~often, "saturated torque", "so left out"),
    ):
        joints = np.flatnonzero(which).tolist()
        ends = (" and ".join(f"{value:.5g}" for value in np.unique(log.tau[cut[:, j], j])) for j in joints)
        told = (f"that of '{log.joints[j]}', {end}, in {cut[:, j].sum()}" for j, end in zip(joints, ends, strict=True))
        if joints:
            at = np.flatnonzero(cut[:, which].any(axis=1))
            what = f"torque stands at its end, {'; '.join(told)} of {len(log.t)} rows"
            yield Finding(kind, log.rows(at), f"{what}: cut off by drive or recorder, {fix}")


#: Kinds of findings of what is unlike the rest: in the first rows, in the last ones.
START, END = "start transient", "end transient"


def transients(log: Log) -> Iterator[Finding]:
    """Yield torques beyond, or changes larger than, what the rest of the log has, in its first or last rows.

    Torques of a joint that turns about faster there than anywhere else are no such: they are those of this motion.
    """
    head = ceil(HEAD * len(log.t))
    if head < 4 or log.t[0] > 0:  # too short to tell, or a later part of a streamed recording
        return
    for j, kind in product(range(log.n), (START, END)):
        way = 1 if kind == START else -1
        tau, q = log.tau[::way, j], log.q[::way, j]
        low, high = tau[head:].min(), tau[head:].max()
        odd = {"torque": np.abs(tau[:head] - (low + high) / 2) > high - low, "position": np.zeros(head, dtype=bool)}
        still = int(np.argmax(tau != 0))  # rows of zeros
        for lag in sorted({1, head // 8, head // 2} - {0}):
            odd["torque"] |= _jumps(tau, lag, head, JUMP)
        odd["torque"][_turns_faster(q, head) :] = False
        odd["torque"][:still] |= 3 < still > 2 * _zeros(tau[head:])
        odd["position"] |= _jumps(q, 1, head, LEAP)
        for what, found in odd.items():
            if found.any():
                count = int(np.flatnonzero(found)[-1]) + 1
                rows = log.rows(range(count) if way > 0 else range(len(tau) - count, len(tau)))
                where = f"in the {'first' if way > 0 else 'last'} {plural(count, 'row')} ({spans(rows)})"
                told = f"{what} of '{log.joints[j]}' {where} is unlike the rest"
                yield Finding(kind, rows, f"{told}: cut them off with rows = [first, last]")


def _spikes(log: Log) -> Iterator[Finding]:
    """Readings that leap away from their neighbours and back."""
    for what, x in (("position", log.q), ("torque", log.tau)):
        found = spikes(x)
        for j in np.flatnonzero(found.any(axis=0)):
            rows = log.rows(np.flatnonzero(found[:, j]).tolist())
            told = f"{what} of '{log.joints[j]}' leaps away from its neighbours and back in {plural(len(rows), 'row')}"
            yield Finding("spikes", rows, f'{told} ({spans(rows)}): spikes = "interpolated" takes them out')


def _zeros(x: Array) -> int:
    """Return the length of the longest run of zeros."""
    other = np.flatnonzero(np.concatenate([[1.0], x, [1.0]]))
    return int(np.diff(other).max()) - 1


def _jumps(x: Array, lag: int, head: int, ratio: float) -> np.ndarray:
    change = np.abs(x[lag:] - x[:-lag])
    return np.asarray(change[:head] > ratio * change[head:].max())


def _turns_faster(q: Array, head: int) -> int:
    """Return from which of its first rows on a position moves, if it turns about faster than it does after that."""
    lag = max(head // 8, 1)
    change = np.abs(q[2 * lag :] - 2.0 * q[lag:-lag] + q[: -2 * lag])
    faster = change[:head].max() > TURNS * change[LASTING * head :].max(initial=0.0)
    moved = np.abs(q - q[0]) > MOVED * np.ptp(q)
    return max(int(np.argmax(moved)) - lag, 0) if faster else head


def _quantisation(log: Log, robot: Robot, quantum: tuple[float | None, ...], dt: float) -> Iterator[Finding]:
    for j, step in enumerate(quantum):
        speed = 0.0 if step is None else float(np.abs(np.gradient(log.q[:, j], log.t)).max())
        if step is not None and step / dt > COARSE * speed > 0:
            unit = robot.joints[j].unit("position")
            noise = f"noise of {step / 12**0.5:.2g} {unit} rms"
            told = f"position of '{robot.joint_names[j]}' comes in steps of {step:.3g} {unit} ({noise})"
            low_pass = f"one step per sample is {step / dt:.3g} {unit}/s: low-pass it"
            yield Finding("coarse position", (), f"{told}; {low_pass}")


def _limits(log: Log, robot: Robot) -> Iterator[Finding]:
    for j, joint in enumerate(robot.joints):
        unit, limits = joint.unit("position"), joint.limits
        slack = 1e-6 + 1e-3 * max((abs(x) for x in (limits.lower, limits.upper) if isfinite(x)), default=0.0)
        checks = [
            ("position limit", log.q[:, j], limits.lower - slack, limits.upper + slack, unit),
            ("effort limit", log.tau[:, j], -limits.effort, limits.effort, joint.unit("torque")),
        ]
        if log.qd is not None:
            checks.append(("velocity limit", log.qd[:, j], -limits.velocity, limits.velocity, joint.unit("velocity")))
        for kind, values, low, high, of in checks:
            outside = np.flatnonzero((values < low) | (values > high))
            if len(outside):
                rows = log.rows(outside)
                far = float(values[outside[np.argmax(np.abs(values[outside]))]])
                told = f"{kind.split()[0]} of '{joint.name}' reaches {far:.4g} {of}, beyond {low:.4g} to {high:.4g}"
                yield Finding(kind, rows, f"{told}, in {plural(len(rows), 'row')}: {spans(rows)}")


def _units(log: Log, robot: Robot) -> Iterator[Finding]:
    step = float(np.median(np.diff(log.t)))
    if not FASTEST <= step <= SLOWEST:
        unit = "milliseconds" if step > SLOWEST else "seconds that were declared as milliseconds"
        yield Finding("unit", (), f"rows are {step:.3g} s apart: is the time in {unit}?")
    if small := unscaled(log, robot):
        names = ", ".join(f"'{name}'" for name in small)
        what = "is it a current without its gain, or on the motor side?"
        yield Finding("unit", (), f"torque of {names} stays below {100 * SMALL:g} % of its limit: {what}")
    yield from (Finding("unit", (), f"position of '{j}' {said}") for j, said in out_of_reach(log.q, robot).items())
    for j, joint in enumerate(robot.joints):
        effort, torque = joint.limits.effort, float(np.abs(log.tau[:, j]).max())
        if isfinite(effort) and torque > 3 * effort > 0:
            what = f"torque of '{joint.name}' reaches {torque:.4g}, {OVER} {effort:.4g}"
            yield Finding("unit", (), f"{what}: is its gain or unit right?")
        if log.qd is not None:
            yield from _speed_unit(log, robot, j, log.qd[:, j])
    yield from _by_velocities(log)


def _late_velocities(log: Log) -> Iterator[Finding]:
    """Say by how much logged velocities are later than positions change, or earlier."""
    if log.qd is None:
        return
    least = max(LATE_ROWS * float(np.median(np.diff(log.t))), LATE_S)
    each = zip(log.joints, (lateness(log.t, x, v) for x, v in zip(log.q.T, log.qd.T, strict=True)), strict=True)
    told = [f"'{joint}' by {_ms(late)}" for joint, late in each if late is not None and abs(late) > least]
    if told:
        use = "filtered, or of another clock: take velocities from positions, as is done unless velocity = 'measured'"
        yield Finding("late velocity", (), f"velocities are later than positions: {', '.join(told)}; {use}")


def tempo(log: Log) -> tuple[float, int] | None:
    """Return by which factor time is longer than is logged by the velocities of so many joints alike; None: unknown."""
    if log.qd is None:
        return None
    each = (related(log.t, log.q[:, j], log.qd[:, j]) for j in range(log.n))
    ratios = [r.ratio for r in each if r is not None and r.alike > IN_STEP]
    return (float(np.median(ratios)), len(ratios)) if len(ratios) > 1 and np.ptp(ratios) < ALL_ALIKE else None


def _by_velocities(log: Log) -> Iterator[Finding]:
    """Say that time runs otherwise than the velocities have it, at all moving joints alike."""
    factor, joints = tempo(log) or (1.0, 0)
    if CLOCK_OFF < abs(factor - 1.0) < NEARLY:
        rate = 1.0 / (factor * float(np.median(np.diff(log.t))))
        took = f"took {100 * abs(factor - 1.0):.3g} % {'more' if factor > 1.0 else 'less'} time than is logged"
        write = f"`time = {{ rate_hz = {rate:.4g} }}` below [signals]; if they are, leave `velocity` out"
        told = f"the motion {took}, by the velocities of {joints} joints alike: if the time is wrong, write {write}"
        yield Finding("clock", (), told)


def out_of_reach(q: Array, robot: Robot) -> dict[str, str]:
    """Return what is to be said of the joints that turn, in positions q (N, n), more than twice as far as they can.

    One that moves no farther than it can stands elsewhere: its zero may be in degrees.
    """
    told = {}
    for joint, x in zip(robot.joints, q.T, strict=True):
        reach = max(abs(joint.limits.lower), abs(joint.limits.upper))
        most = 2 * (reach if isfinite(reach) else 4 * np.pi)
        if not joint.slides and np.abs(x).max() > most:
            what = f"is about {np.median(x):.4g}" if (stands := np.ptp(x) <= most) else f"reaches {np.abs(x).max():.4g}"
            it = "it, or its zero (`offset`)," if stands else "it"
            told[joint.name] = f"{what} rad, far beyond what the joint can do: is {it} in degrees or on the motor side?"
    return told


def _speed_unit(log: Log, robot: Robot, j: int, qd: Array) -> Iterator[Finding]:
    """Compare the measured velocity with the position's change: their ratio tells a wrong unit, sign or clock."""
    moved = np.diff(log.q[:, j])
    expected = (qd[1:] + qd[:-1]) / 2 * np.diff(log.t)
    if not moved.any() or not qd.any():
        return
    ratio = float(moved @ expected / (moved @ moved))
    correlation = float(moved @ expected / np.sqrt((moved @ moved) * (expected @ expected)))
    if abs(correlation) < 0.9:
        return  # noise, not a unit
    name = robot.joint_names[j]
    if ratio < 0:
        yield Finding("sign", (), f"velocity of '{name}' has the opposite sign of the change of its position")
    if not 0.7 < abs(ratio) < 1.4:
        known = {57.29578: "degrees", 9.549297: "revolutions per minute", 1e3: "thousandths"}
        off = max(abs(ratio), 1 / abs(ratio))
        hint = next((f" ({text}?)" for value, text in known.items() if 0.8 < off / value < 1.25), "")
        told = f"{abs(ratio):.3g} times the change of its position per second{hint}"
        yield Finding("unit", (), f"velocity of '{name}' is {told}")
