"""Whether a result looks as if something were wrong with its files, and how much of CAD bears it out; and what is wrong
beyond doubt, before anything is weighed: guesses, limits, drives that weigh tonnes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ident.estimate.estimate import NamedCause
from ident.estimate.prior import neutral_prior
from ident.logs.check import out_of_reach
from ident.logs.manifest import RAW, kind_of
from ident.logs.motion import Motion
from ident.model import DriveInertia
from ident.pipelines.gears import followers
from ident.pipelines.loaded import Loaded, described_in
from ident.pipelines.steps import Result
from ident.robot import Robot

#: Least squares that are so much better than links that can exist: the robot may be another one.
_BETTER = 0.1
#: An error on motions never seen that is so many times that of the fit, and so much of the torque, is looked into.
_WORSE, _SEEN = 2.0, 0.01
#: An error of the fit that is so large is looked into.
_LARGE = 0.1
_CONTRADICTED = 0.5
#: What is left of a torque, squared, is so many times its noise: the rest is the model's, or the files', and what is
#: left is so much of the torque or more.
_NOISES, _FELT = 1.4, 0.01
#: Of CAD that is right but for a mistake elsewhere fewer numbers are contradicted than this share of those that agree.
AGREES = 1.0
#: And where it vouches for what the logs alone do not tell: than this one.
VOUCHES = 0.25


def suspicious(result: Result) -> bool:
    """Return whether a result is such that somebody should look for the cause: what `examination` is for."""
    from ident.estimate.least_squares import joint_noise, solve

    estimate, regression, comparison = result.estimate, result.regression, result.comparison
    if estimate.implausible or any("at zero" in a for a in estimate.active):
        return True
    if badly_predicted(result) or (result.validation and result.validation.opposed):
        return True
    if comparison is not None and comparison.count("contradicted") > _CONTRADICTED * max(len(comparison.rows), 1):
        return True
    if regression is None:
        return estimate.relative_total > _LARGE
    if estimate.floor is not None and np.any(
        (estimate.floor > 0) & (estimate.rms**2 > _NOISES * estimate.floor**2) & (estimate.missed > _FELT)
    ):
        return True
    sigma = joint_noise(regression)
    least = float(np.sum(regression.squared_residuals(solve(regression, sigma)) / sigma**2))
    squares = float(np.sum(regression.squared_residuals(estimate.phi) / sigma**2))
    return estimate.relative_total > _LARGE or squares > (1.0 + _BETTER) * least


def known_well(result: Result) -> bool:
    """Return whether CAD is right in most of what the logs tell and contradicted in some: then it knows the mistake."""
    comparison = result.comparison
    some = comparison.count("contradicted") if comparison is not None else 0
    return comparison is not None and 0 < some <= AGREES * comparison.count("agrees")


def vouched_for(result: Result) -> bool:
    """Return whether the logs test what CAD knows and hardly contradict it: then it tells gains and zeros."""
    comparison = result.comparison
    if comparison is None or not comparison.tested:
        return False
    return not comparison.far or comparison.count("contradicted") <= VOUCHES * comparison.count("agrees")


def harmless(result: Result) -> bool:
    """Return whether a mistake in the CAD table has spoilt neither the bodies nor what is predicted of all joints."""
    bad = result.estimate.implausible or result.estimate.relative_total > _LARGE
    return not bad and not worse_in_all(result)


def badly_predicted(result: Result) -> bool:
    """Return whether recordings that were not fitted are so badly predicted that something may be wrong with them.

    All joints together, or one joint beyond the noise of its readings.
    """
    if result.validation is None or result.validation.total("identified") is None:
        return False
    if worse_in_all(result):
        return True
    missed, fitted = result.validation.missed("identified"), np.minimum(result.estimate.relative, 1.0)
    return bool(np.any(missed > np.maximum(_WORSE * fitted, _SEEN)))


def worse_in_all(result: Result) -> bool:
    """Return whether recordings that were not fitted are badly predicted over all joints together."""
    total = result.validation.total("identified") if result.validation else None
    return total is not None and total.relative_total > max(_WORSE * result.estimate.relative_total, _SEEN)


#: What to do about a joint whose torque is missing, and about guessed gains.
_IDLE = "add the column of its torque, with a gain; or take `guessed` out if no motor drives it"
_GAINS = (
    "write the drives' gains, N m (N) for 1 of the unit, or find them with a known load (`ident payload --known-mass`),"
    " and take `guessed` out"
)
_REACH = "if it is in degrees, or of the motor, write so (`unit` takes a list); if not, right limits in the robot file"
_UNIT = "write the unit that the controller's manual says, and take `guessed` out"
#: The share of the rows that are beyond a joint's limits where it counts the other way, and within them turned round.
_BEYOND = 0.95
_MIRRORED = "and within them with the other sign: it counts the other way than the robot file says"
_TURN = "multiply its position and its torque by -1, the `gain` of each; or turn its axis and its limits round"
_TIED = "fix it, and log the others alone; what else seems wrong with this joint may come of it"
#: A slide's drive is no heavier than so many times all links: screws of a small pitch reach a tenth of that. Links of
#: which nobody knows anything weigh so much [kg], at least: a gantry moves tonnes, mm that are read as m millions.
_DRIVEN, _UNKNOWN = 100.0, 1000.0


def guessed(loaded: Loaded) -> Iterator[tuple[str, str, str]]:
    """Yield of which signal of the fitted recordings something is a guess, what, and what to do about it."""
    recordings = [r for r in loaded.manifest.recordings if r.name in loaded.experiment.fit]
    if rates := {f"{r.time.rate_hz:g}" for r in recordings if r.time.rate_hz is not None and r.time.guessed}:
        what = f"the rate of {' and '.join(sorted(rates))} Hz is a guess, and inertia goes with its square"
        yield "time", what, "write the rate, and take `guessed` out"
    if any(r.position.guessed for r in recordings):
        what = f"that the log is of {', '.join(loaded.robot.joint_names)} is a guess, and others are held still"
        yield "position", what, "see that the columns are of these joints, and take `guessed` out"
    yield from (("torque", *told) for told in _guessed_torques(loaded))


def _guessed_torques(loaded: Loaded) -> Iterator[tuple[str, str]]:
    """Yield what is a guess in the torques of the fitted recordings, and what to do about it."""
    signals = [r.torque for r in loaded.manifest.recordings if r.name in loaded.experiment.fit and r.torque.guessed]
    gains = np.array([np.broadcast_to(s.gain, loaded.robot.n) for s in signals]).reshape(-1, loaded.robot.n)
    names = zip(loaded.robot.joint_names, (gains == 0).any(axis=0), strict=True)
    if idle := ", ".join(name for name, none in names if none):
        yield f"{idle} taken for a joint without motor, which is a guess: no column is called so", _IDLE
    kinds = {kind_of(unit, "torque") for s in signals for unit in ([s.unit] if isinstance(s.unit, str) else s.unit)}
    if not np.isin(np.nan_to_num(np.abs(gains)), (0.0, 1.0)).all() or RAW in kinds:
        yield "gains are guesses, and so all that is found of a joint is known up to a factor", _GAINS
    elif units := ", ".join({str(u) for s in signals for u in np.ravel(s.unit)} - {"N m", "N"} if not idle else ()):
        yield f"the unit {units} is a guess, and so all that is found is known up to a factor", _UNIT
    elif signals and not idle and loaded.robot.transmission is not None:
        side = f"that the log is of the {signals[0].side}s, or how these are geared,"
        yield f"{side} is a guess", "write the right `side` or [transmission], and take `guessed` out"


def certain(result: Result, told: Sequence[tuple[str, str, str]], file: str = "") -> tuple[NamedCause, ...]:
    """Return causes that need no weighing: where, what, and what to do about it in a file, by default the data set."""
    joints, relative = result.estimate.joints, result.estimate.relative.tolist()
    known = {j: x for j, x in zip(joints, relative, strict=True) if np.isfinite(x)}
    each, total = tuple(known.values()), result.estimate.relative_total
    same, name = ((), tuple(known), each, each, (total, total)), file or result.loaded.experiment.data.name
    return tuple(NamedCause(where, what, name, mend, *same) for where, what, mend in told)


def beyond_limits(robot: Robot, motions: Sequence[Motion]) -> Iterator[tuple[str, str, str]]:
    """Yield each joint that is far beyond limits that the robot file states, what of it, and what to do about it."""
    stated = {j.name for j in robot.joints if np.isfinite([j.limits.lower, j.limits.upper]).all()}
    told = {joint: what for m in motions for joint, what in out_of_reach(m.q, robot).items()}
    yield from (
        (joint, f"its position {what.partition(':')[0]}", _REACH) for joint, what in told.items() if joint in stated
    )


def mirrored(robot: Robot, motions: Sequence[Motion]) -> Iterator[tuple[str, str, str]]:
    """Yield each joint that keeps its stated limits with the other sign alone, what of it, and what to do about it."""
    q = np.concatenate([m.q for m in motions])
    for joint, own in zip(robot.joints, q.T, strict=True):
        lower, upper = joint.limits.lower, joint.limits.upper
        beyond, turned = (float(np.mean((x < lower) | (x > upper))) for x in (own, -own))
        if np.isfinite([lower, upper]).all() and beyond > _BEYOND and turned < 1.0 - _BEYOND:
            yield (
                joint.name,
                f"its position is beyond its limits in {100 * beyond:.3g} % of the rows, {_MIRRORED}",
                _TURN,
            )


def tied(loaded: Loaded) -> Iterator[tuple[str, str, str]]:
    """Yield each joint that another one mimics, which no model has; what of that, and what to do about it."""
    if (described := described_in(loaded.experiment.robot)) is not None:
        for leader in loaded.robot.joint_names:
            for follower, _ in followers(described, {leader: 0.0}):
                yield (
                    leader,
                    f"{follower} moves with it and is locked, as no joint that mimics another is modelled",
                    _TIED,
                )


def heavy_drives(result: Result) -> Iterator[tuple[str, str, str]]:
    """Yield each slide whose drive would be far heavier than all links: its position scales that, and nothing else."""
    robot, theta = result.loaded.robot, result.estimate.theta
    value = {} if theta is None else dict(zip(result.loaded.model.names, theta.tolist(), strict=True))
    links = max(float(x[:, 0].sum()) for x in (result.loaded.prior.inertials, neutral_prior(robot).inertials))
    links = max(links, _UNKNOWN) if all(result.loaded.prior.neutral) else links
    for joint in (j.name for j in robot.joints if j.slides):
        if (kg := value.get(f"{joint}.{DriveInertia.kind.name}", 0.0)) > _DRIVEN * links:
            what = f"its position is in another unit: its drive would be of {kg:.3g} kg, all links {links:.3g}"
            yield joint, what, "correct `unit` or `gain` of its position"
