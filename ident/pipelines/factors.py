"""Logs as factors: compressed once, kept in a file with all that a fit asks of their logs, pooled, fitted."""

from __future__ import annotations

import glob
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ident.arrays import Array
from ident.errors import IdentError, InputError, RegressionError, cut, plural
from ident.estimate import Bounds, Estimate, estimated
from ident.estimate.estimate import restored_terms
from ident.estimate.estimators import HEAVIER
from ident.estimate.least_squares import joint_noise
from ident.files import CHOSEN, FITTED, TRIED, file_sha256, provenance, short_names
from ident.logs import Motion, Processing, iter_logs, locate
from ident.logs.automatic import as_toml, in_words
from ident.logs.check import NOTES, OVER
from ident.logs.log import hashed, require_unchanged
from ident.model import Model
from ident.pipelines.estimated import chosen_lines, processing_told
from ident.pipelines.loaded import Loaded, described_in
from ident.pipelines.select import open_load, restored
from ident.pipelines.steps import CUT_OFFS, Warned, delayed, motions, processing_of, unusable
from ident.regression import Regression, base_parameters, repeats_joined, save_regression
from ident.regression.compress import compress_any, packed_columns
from ident.regression.regression import weighted_gram
from ident.regression.storage import load_with_origin
from ident.tell import Tell, logged

#: Of files that cannot be used, so many are named.
_NAMED = 3


@dataclass(frozen=True, eq=False)
class Factors:
    """The factors of some recordings, with all that a fit asks of their logs.

    robot: its name; shapes: what the model's parameters mean (`Model.shapes`); processing: of fits and of predictions;
    inputs: file -> SHA-256; warned: what was found in the logs; repeated: recordings that repeat their motion;
    known_as: names that recordings had before they were pooled with others of the same name; pulls: as of
    `Loaded`; bias: what filters leave in base parameters (`ident.compare.settled`); filtered: recordings -> how they
    were processed, where that is not as `processing` says.
    """

    regression: Regression
    robot: str
    shapes: Mapping[str, Mapping[str, float]]
    processing: tuple[Processing, Processing]
    inputs: Mapping[str, str]
    warned: tuple[Warned, ...] = ()
    repeated: tuple[str, ...] = ()
    known_as: tuple[str, ...] = ()
    pulls: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    bias: Mapping[str, float] = field(default_factory=dict)
    filtered: Mapping[str, Processing] = field(default_factory=dict)


def of_recording(loaded: Loaded, name: str) -> Factors:
    """Return the factors of one recording of an experiment whose processing is settled; none where no row is left.

    Raises LogError, also for a file that changes meanwhile.
    """
    own, told, repeated = loaded.experiment.processing, list[Warned](), list[str]()
    inputs = hashed(loaded.manifest, name)

    def watched() -> Iterator[Motion]:
        for number, motion in enumerate(motions(loaded, [name], own, told)):
            if number == 0 and own is not None:
                told.extend(delayed(loaded, motion))
            if motion.repeats and not repeated:
                repeated.append(name)
            yield motion

    regression = compress_any(packed_columns(loaded.model, loaded.base), watched())
    require_unchanged(loaded.manifest, name, inputs)
    model, processing = loaded.model, processing_of(loaded)
    return Factors(regression, loaded.robot.name, model.shapes, processing, inputs, tuple(told), tuple(repeated))


def fitted(loaded: Loaded, factors: Factors, warned: list[Warned], tell: Tell = logged, command: str = "") -> Estimate:
    """Return the estimate of an experiment's model from factors; what to look at is added to `warned`, and kept.

    Raises EstimationError when the fit does not succeed.
    """
    experiment, regression = loaded.experiment, factors.regression
    warned += factors.warned
    several = bool(factors.repeated) or len(regression.recordings) > 1
    if several and len(repeats_joined(regression).recordings) == 1:
        message = (
            "the logs repeat one motion: segments are stretches of it with their repeats, and parts of that motion are"
            " what is left out to choose the weight of the prior; the error on others may be larger: fit more motions"
        )
        warned.append(Warned("fit on one motion", "one motion", message))
    tell("fitting", 0, 1)
    drawn = (experiment.weight, experiment.metric) != (None, None) or experiment.bounds != Bounds()
    from ident.compare.conditioning import one_for_another

    alone = not experiment.feasible and not drawn
    estimate = estimated(loaded.model, regression, None if alone else loaded.prior, **experiment.words)
    tell("fitting", 1, 1)
    warned += [Warned("fit", message, message) for message in estimate.warnings]
    warned += (*_parked(loaded, estimate), *_turned(loaded), *filtered_apart(factors))
    fix = "leave one out of [model], or log where it does"
    warned += [Warned("model", "term", f"{told}; {fix}") for told in one_for_another(loaded.model, regression)]
    more = tuple(str(w) for w in warned if w.about != "fit" and w.kind not in NOTES)
    notes = tuple(str(w) for w in warned if w.kind in NOTES)
    seen = ", ".join(dict.fromkeys((*regression.recordings, *factors.known_as)))
    origin = {FITTED: seen} | processing_told(factors.processing)
    origin |= {f"processing of {name}": as_toml(own) for name, own in factors.filtered.items()}
    if (tried := CUT_OFFS.get(experiment)) is not None and tried.errors:
        origin[TRIED] = str(tried)
    if pasted := chosen_lines(loaded, factors.processing):
        origin[CHOSEN] = pasted
    origin |= provenance({**loaded.inputs, **factors.inputs}, command or "ident fit")
    doubts = (*unusable(warned), *estimate.implausible, *_too_large(loaded, warned))
    estimate = replace(estimate, warnings=estimate.warnings + more, notes=notes, implausible=doubts, provenance=origin)
    none = tuple(0.0 for _ in next(iter(factors.pulls.values()), ()))  # of what is a base parameter since calibration
    moves = np.array([(factors.bias.get(name, 0.0), *factors.pulls.get(name, none)) for name in estimate.base.names])
    wider = estimate.covariance.widened(moves @ moves.T) if moves.any() else estimate.covariance
    if loaded.spread is not None and loaded.spread.shape == wider.matrix.shape:
        wider = wider.widened(loaded.spread)
    return replace(estimate, structure=loaded.structure, covariance=wider, calibration=loaded.calibrated)


def _too_large(loaded: Loaded, warned: Sequence[Warned]) -> Iterator[str]:
    """Yield that torques are in another unit: over their limits at most joints, and of bodies heavier than any are.

    Limits alone may be placeholders, and neutral bodies smaller than a robot's.
    """
    over = {w.message.split("'")[1]: w.message.partition(":")[0] for w in warned if OVER in w.message}
    if 2 * len(over) > loaded.robot.n and any(w.message.startswith(HEAVIER) for w in warned):
        first = next(iter(over.values()))
        yield f"{first}, as most joints do, and bodies would be heavier than any: is `unit` of the torque right?"


def _gains(loaded: Loaded) -> Array:
    """Return the gains of the torques (r, n) of the fitted recordings."""
    signals = [r.torque for r in loaded.manifest.recordings if r.name in loaded.experiment.fit]
    return np.array([np.broadcast_to(s.gain, loaded.robot.n) for s in signals]).reshape(-1, loaded.robot.n)


def _turned(loaded: Loaded) -> Iterator[Warned]:
    """Say which joints' torques are turned round, where other joints' are taken as they are logged."""
    gains = _gains(loaded)
    if (np.abs(gains) == 1.0).all() and (gains > 0).any() and (gains < 0).any():
        names = ", ".join(loaded.robot.joint_names[j] for j in np.flatnonzero(np.any(gains < 0, axis=0)))
        told = f"the torque of {names} is turned round (`gain` -1)"
        yield Warned(loaded.experiment.data.name, "turned", f"{told}: is that so on this robot?")


def filtered_apart(factors: Factors) -> Iterator[Warned]:
    """Say which recordings were processed in another way than the first, and how."""
    usual, told = factors.processing[0], []
    for name, own in list(factors.filtered.items())[:_NAMED]:
        keys = [f.name for f in fields(own) if getattr(own, f.name) != getattr(usual, f.name)]
        each = (f"{key} {getattr(own, key)} in place of {getattr(usual, key)}" for key in keys)
        told.append(f"'{name}' ({', '.join(each)})")
    if told:
        more = f" and {len(factors.filtered) - _NAMED} more" if len(factors.filtered) > _NAMED else ""
        message = f"logs were processed in another way than the first: {', '.join(told)}{more}"
        yield Warned("factors", "apart", f"{message}; compress all with one [processing], unless each needs its own")


def _parked(loaded: Loaded, estimate: Estimate) -> Iterator[Warned]:
    """Say of which joints no torque is known, and which rest in all fitted logs, and how to lock them there."""
    untold = np.isnan(_gains(loaded)).all(axis=0) & (np.array(estimate.rows) == 0)
    if untold.any() and loaded.experiment.fit:
        told = (
            f"{', '.join(loaded.robot.joint_names[j] for j in np.flatnonzero(untold))}: no torque is known (`gain` nan)"
        )
        fix = "log it whole; what is predicted of it is the prior's"
        yield Warned("joints", "unknown torque", f"{told}, so nothing is found of its friction and drive; {fix}")
    still = np.flatnonzero(estimate.still & ~untold)
    if not len(still) or not loaded.experiment.fit:
        return
    names, own = loaded.robot.joint_names, loaded.experiment.robot
    told = f"{', '.join(names[j] for j in still)}: at rest in all fitted logs, so nothing is found of its"
    fix = "fit a log in which it moves"
    with suppress(IdentError):
        q = next(iter_logs(loaded.manifest, loaded.experiment.fit[0], loaded.robot)).q
        at = ", ".join(f'"{names[j]}" = {round(float(np.median(q[:, j])), 4):g}' for j in still)
        lines = f"`lock = {{ {at} }}`"
        where = f"{own.name} [rad; m]"
        if (source := described_in(own)) is not None:
            lines = f'`angle = "rad"` and {lines} (`ident init` does both)'
            where = own.name if own.suffix == ".toml" else f"robot.toml beside `urdf = {json.dumps(source.name)}`"
        fix += f", or take its columns out of {loaded.experiment.data.name} and lock it, in {where}: {lines}"
    told += " friction and drive, and where it rests its torque is not judged"
    yield Warned("joints", "at rest", f"{told}; {fix}")


def as_compressed(loaded: Loaded, factors: Factors) -> Loaded:
    """Return the experiment with joint terms and filters of the factors, as far as its file leaves them open."""
    model = loaded.model
    if not loaded.experiment.own_model and model.fingerprint() != factors.regression.model:
        model = restored(model, factors.shapes, factors.regression.base.standard)
    elif open_load(loaded) and model.names == factors.regression.base.standard:
        model = replace(model, terms=restored_terms(factors.shapes, model.robot, model.names[model.n_rigid :]))
    base = loaded.base if model is loaded.model else base_parameters(model)
    settled = None if loaded.experiment.processing is not None else factors.processing
    return replace(loaded, model=model, base=base, processing=settled or loaded.processing)


# ---- appended and pooled -------------------------------------------------------------------------------------------


def missing(loaded: Loaded, before: Factors, file: str | Path) -> Loaded | None:
    """Return the experiment with those of its fitted recordings that `before` lacks, None where it has them all.

    loaded: as `as_compressed` returns it; file: where `before` is from, for messages. Raises RegressionError for
    factors of another model, ConfigError for a recording that is in it with other numbers.
    """
    _require_model([(Path(file), before)], loaded.model, loaded.robot.name)
    experiment, own = loaded.experiment, before.regression.recordings
    for name in (x for x in experiment.fit if x in own):
        there = (f for f in loaded.manifest.recording(name).files if f in before.inputs)
        changed = [f for f in there if file_sha256(locate(loaded.manifest, f)) != before.inputs[f]]
        if changed:
            problem = f"'{name}' is in '{Path(file).name}' already, compressed from another '{changed[0]}'"
            raise experiment.error(problem, "recordings.fit", "Give the new log another name, or compress all again")
    new = tuple(name for name in experiment.fit if name not in own)
    return replace(loaded, experiment=replace(experiment, fit=new)) if new else None


def pooled(loaded: Loaded, patterns: Sequence[str | Path], tell: Tell = logged) -> Factors:
    """Return the factors of many files together; recordings of one name from several files bear the file's as well.

    loaded: the experiment that they are for; patterns: files, or patterns such as 'many/*.npz'. Raises InputError
    where there is no such file, RegressionError for files of another model (all counted, some named) or that hold the
    same numbers as another.
    """
    files = _files(patterns)
    read: list[tuple[Path, Factors]] = []
    for number, file in enumerate(files):
        tell("reading factors", number, len(files))
        read.append((file, load_factors(file)))
    tell("reading factors", len(files), len(files))
    _require_model(read, as_compressed(loaded, read[0][1]).model, loaded.robot.name)
    seen: dict[str, Path] = {}
    for file, factors in read:
        for segment in factors.regression.segments:
            if segment.identity in seen:
                problem = f"holds the same numbers of '{segment.recording}' as '{seen[segment.identity].name}'"
                raise RegressionError(problem, file=file, fix="Give each log once")
            seen[segment.identity] = file
    counts = Counter(name for _, factors in read for name in factors.regression.recordings)
    each = zip(short_names(files), (factors for _, factors in read), strict=True)
    return joined([_renamed(factors, name, counts) for name, factors in each])


def _files(patterns: Sequence[str | Path]) -> list[Path]:
    found: list[Path] = []
    for pattern in patterns:
        some = [Path(pattern)] if Path(pattern).is_file() else [Path(p) for p in sorted(glob.glob(str(pattern)))]
        if not some:
            fix = "Give files of `ident compress`, or a pattern such as 'many/*.npz'"
            raise InputError(f"there is no file '{pattern}'", key="--factors", fix=fix)
        found += some
    return list(dict.fromkeys(found))


def _renamed(factors: Factors, name: str, counts: Mapping[str, int]) -> Factors:
    """Return factors whose recordings have the file's name before theirs where others are called the same."""
    twice = [x for x in factors.regression.recordings if counts[x] > 1]
    if not twice:
        return factors

    def new(x: str) -> str:
        return f"{name}/{x}" if x in twice else x

    segments = [replace(s, recording=new(s.recording), name=new(s.recording) + s.name[len(s.recording) :])
                for s in factors.regression.segments]  # fmt: skip
    return replace(
        factors,
        regression=replace(factors.regression, segments=tuple(segments)),
        inputs={f"{name}/{file}": sha for file, sha in factors.inputs.items()},
        warned=tuple(replace(w, about=new(w.about)) for w in factors.warned),
        repeated=tuple(map(new, factors.repeated)),
        known_as=(*factors.known_as, *twice),
        filtered={new(x): own for x, own in factors.filtered.items()},
    )


def joined(each: Sequence[Factors]) -> Factors:
    """Return the factors of all, which are of one model; RegressionError where two hold the same numbers."""
    first, usual = each[0], each[0].processing[0]
    filtered = {x: f.filtered.get(x, f.processing[0]) for f in each for x in f.regression.recordings}
    regression = replace(first.regression, segments=tuple(s for factors in each for s in factors.regression.segments))
    return replace(
        first,
        regression=regression,
        bias=_bias(regression, [(factors.regression, factors.bias) for factors in each if any(factors.bias.values())]),
        inputs={file: sha for factors in each for file, sha in factors.inputs.items()},
        warned=tuple(dict.fromkeys(w for factors in each for w in factors.warned)),
        repeated=tuple(x for factors in each for x in factors.repeated),
        known_as=tuple(dict.fromkeys(x for factors in each for x in factors.known_as)),
        filtered={name: own for name, own in filtered.items() if own != usual},
    )


def _bias(whole: Regression, parts: Sequence[tuple[Regression, Mapping[str, float]]]) -> Mapping[str, float]:
    """Return the bias of least squares of all factors, of which each part's are known: their mean, weighted as fits
    weigh their estimates, by R'R.
    """
    names, sides = whole.base.names, np.zeros(len(whole.base.names))
    if not parts:
        return {}
    with suppress(IdentError):  # whoever fits says so
        sigma = joint_noise(repeats_joined(whole))
        for part, own in parts:
            sides += weighted_gram(part, part.joint_factors, sigma)[:-1, :-1] @ [own.get(name, 0.0) for name in names]
        A = weighted_gram(whole, whole.joint_factors, sigma)[:-1, :-1]
        unit = 1.0 / np.sqrt(np.where(np.diag(A) > 0.0, np.diag(A), 1.0))
        found = unit * np.linalg.lstsq(A * np.outer(unit, unit), unit * sides, rcond=1e-12)[0]
        return dict(zip(names, found.tolist(), strict=True))
    return parts[0][1]


def _require_model(read: Sequence[tuple[Path, Factors]], model: Model, robot: str) -> None:
    """Raise RegressionError that names files of another model than this one, and says why."""
    wanted = model.fingerprint()
    others = [(file, factors) for file, factors in read if factors.regression.model != wanted]
    if others:
        told = [f"{cut(file.name)} ({_difference(factors, model, robot)})" for file, factors in others[:_NAMED]]
        more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
        count = f"{len(others)} of {plural(len(read), 'file')} of factors"
        problem = f"{count} are of another model than the experiment's: {', '.join(told)}{more}"
        fix = "Leave them out, or compress their logs with one robot file and one [model]"
        raise RegressionError(problem, fix=fix)
    first = read[0][1].regression.base.kept
    kept = next((file for file, factors in read if factors.regression.base.kept != first), None)
    if kept is not None:
        problem = "holds factors of other base parameters, as another release of ident chose them"
        raise RegressionError(problem, file=kept, fix="Compress the logs again with one and the same release")


def _difference(factors: Factors, model: Model, robot: str) -> str:
    """Return in a few words what makes the factors' model another one."""
    if factors.robot != robot:
        return f"robot '{cut(factors.robot)}', not '{cut(robot)}'"
    own = factors.regression.base.standard
    for what, some, others in (("with", own, model.names), ("without", model.names, own)):
        extra = [name for name in some if name not in others]
        if extra:
            return f"{what} {cut(extra[0])}"
    for name in model.names:
        there, here = (_told(shapes.get(name, {})) for shapes in (factors.shapes, model.shapes))
        if there != here:
            return f"{name} with {there}, not {here}"
    return "other geometry, gravity or order of terms"


def _told(shape: Mapping[str, float]) -> str:
    return ", ".join(f"{key} {value:g}" for key, value in shape.items()) or "no width"


# ---- on disk -------------------------------------------------------------------------------------------------------


def save_factors(factors: Factors, path: str | Path, command: str = "") -> Path:
    """Write factors to `path` (NPZ), whole or not at all, with versions and hashes of what they come from."""
    about = {
        "robot": factors.robot,
        "shapes": {name: dict(shape) for name, shape in factors.shapes.items()},
        "processing": [asdict(p) for p in factors.processing],
        "inputs": dict(factors.inputs),
        "warned": [[w.about, w.kind, w.message] for w in factors.warned],
        "repeated": factors.repeated,
        "known_as": factors.known_as,
        "pulls": factors.pulls,
        "bias": factors.bias,
        "filtered": {name: asdict(own) for name, own in factors.filtered.items()},
        "provenance": provenance({}, command or "ident compress"),
    }
    return save_regression(factors.regression, path, about)


def load_factors(path: str | Path) -> Factors:
    """Read factors that `ident compress` or `ident run` wrote; RegressionError names a file that is none or damaged."""
    regression, about = load_with_origin(path)
    if not about:
        problem = "says nothing of its logs, as earlier releases wrote it"
        raise RegressionError(problem, file=path, fix="Compress the logs again")
    try:
        return _restored(regression, about)
    except (AttributeError, LookupError, TypeError, ValueError, IdentError) as cause:
        problem = "what it says of its logs is damaged"
        raise RegressionError(problem, file=path, fix="Compress the logs again") from cause


def _restored(regression: Regression, about: dict[str, Any]) -> Factors:
    fit, judged = (Processing(**given) for given in about["processing"])
    shapes = {_text(name): {_text(k): _finite(x) for k, x in shape.items()} for name, shape in about["shapes"].items()}
    return Factors(
        regression,
        _text(about["robot"]),
        shapes,
        (fit, judged),
        {_text(file): _text(sha) for file, sha in about["inputs"].items()},
        tuple(Warned(*map(_text, (about_, kind, message))) for about_, kind, message in about["warned"]),
        tuple(map(_text, about["repeated"])),
        tuple(map(_text, about["known_as"])),
        {_text(name): tuple(map(_finite, moves)) for name, moves in about.get("pulls", {}).items()},
        {_text(name): _finite(x) for name, x in about.get("bias", {}).items()},
        {_text(name): Processing(**given) for name, given in about.get("filtered", {}).items()},
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("no text")
    return value


def _finite(value: Any) -> float:
    if not math.isfinite(value):
        raise ValueError("no finite number")
    return float(value)


# ---- what is told --------------------------------------------------------------------------------------------------


def of_processing(loaded: Loaded, processing: tuple[Processing, Processing]) -> Iterator[Warned]:
    """Say what was chosen, and what a low-pass on one side alone does."""
    fit, _ = processing
    if loaded.experiment.processing is None and fit != Processing():
        yield Warned("processing", "chosen", in_words(fit))
        hand = "a table of your own replaces all of it"
        if (own := loaded.experiment.by_hand) is not None:
            hand = f"{', '.join(own[0].left)} as the logs ask, the rest as it is set by hand"
        where = f'the report, below "Chosen", and estimate.json, {CHOSEN} in its provenance'
        yield Warned(
            loaded.experiment.file.name, "chosen", f"the tables to paste for what was chosen: {where} ({hand})"
        )
    if fit.torque_hz is not None and not fit.decimation:
        message = (
            f"the torque is low-passed (torque_hz = {fit.torque_hz:g}) and the model's side is not, which rounds off"
            " the corners of friction on one side only; decimation filters both alike"
        )
        yield Warned("processing", "torque filter", message)
