"""From raw files to an experiment: what the columns are is recognised, or asked, and written down."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ident.arrays import Array
from ident.errors import ConfigError, IdentError, InputError, LogError, plural
from ident.experiment import LEVELS
from ident.files import file_word, write_whole
from ident.logs.log import read_log
from ident.logs.manifest import Manifest, Recording, Signal, TextFormat
from ident.logs.raw import RawTable, read_raw
from ident.logs.readers import bag
from ident.logs.readers.bag import as_table
from ident.logs.readers.formats import is_bag
from ident.logs.recognised import with_whole_clocks
from ident.pipelines.gears import Arm, doubted, followers, mimics, misfit, of_one_side, transmission_toml
from ident.pipelines.given_files import (
    axis,
    description_among,
    dh_table_among,
    parted,
    robot_of_table,
    skeleton,
    without_copies,
)
from ident.pipelines.one_clock import apart, by_joint, joined, side_by_side
from ident.pipelines.questions import Ask, Asked, Question
from ident.pipelines.raw_recording import COLUMNS, RawRecording, recordings_of
from ident.pipelines.signals import Signals, parked
from ident.robot import Robot, read_robot
from ident.robot.placeholders import from_base, placeholders
from ident.robot.urdf import read_description, read_urdf

#: The files that are written.
FILES = ("robot.toml", "dataset.toml", "experiment.toml")
#: Of the one log there is, the share that is kept for validation.
KEPT = 0.3
#: Words by which the name of a file says that it is for validation, and that the robot carries something.
VALIDATION, CARRIES = {"val", "valid", "validate", "validation", "test", "verify"}, {"load", "loaded", "payload"}


@dataclass(frozen=True, eq=False)
class Started:
    """What was written (`files`), what was asked and answered, what was decided, as sentences.

    guessed: the keys of the questions that nobody answered. next: the command that goes on from here.
    """

    files: tuple[Path, ...]
    answers: tuple[tuple[Question, str], ...]
    told: tuple[str, ...]
    guessed: tuple[str, ...] = ()
    next: str = ""


def init(
    robot: str | Path, files: Sequence[str | Path] = (), *, into: str | Path = ".", ask: Ask | None = None
) -> Started:
    """Write robot.toml (where it is needed), dataset.toml and experiment.toml into a folder, from raw files.

    robot: a URDF or a robot file; where none is given, but logs, a robot.toml to be filled in is all that is written,
    unless the only joint's axis is answered.
    files: logs and, if there is one, a CAD table or a folder of reports. ask: returns the answer to a question; without
    it every guess is taken. Raises RobotError, CadError, LogError, and InputError where a file that would be written is
    there. Of a bag a table is written beside them, which they name.
    """
    folder, given = Path(into), [Path(robot), *map(Path, files)]
    described, others = description_among(given)
    robot = described or folder / "robot.toml"
    for name in FILES:
        if (folder / name).resolve() != (described and described.resolve()) and (folder / name).exists():
            fix = "Remove it, or choose another folder with --into"
            raise InputError("is there already, and is not overwritten", file=folder / name, fix=fix)
    made, asked = dict[Path, Path](), Asked(ask)
    table = dh_table_among(others) if described is None else None
    cad, logs = parted([f for f in others if f != table])
    if table is not None:
        made[robot] = write_whole(robot, robot_of_table(table, asked))
    elif described is None:
        text, joints = skeleton(logs)
        answered = axis(asked) if joints == 1 else ""
        written = write_whole(robot, answered or text)
        if not answered:
            has = f"{robot} has {plural(max(joints, 1), 'joint')}; put values in the place of every ?"
            typed = " ".join(shlex.quote(str(f)) for f in (robot, *others))
            return Started((written,), (), (f"no file describes the robot: {has}",), next=f"ident init {typed}")
        made[robot] = written
    try:
        for log in filter(is_bag, logs):
            made[log] = as_table(log, folder / f"{log.stem}.parquet", _topic(log, asked))
        arm = _arm(robot, cad)
        logs, told = without_copies([made.get(log, log) for log in logs])
        raw = [tuple(map(with_whole_clocks, read_raw(path))) for path in logs]
        if (each := by_joint(raw, arm.names)) and _at_once(each, asked):
            for name, tables in each.items():
                first = next(iter(tables.values())).file
                made[first], said = side_by_side(name, tables, folder)
                told.append(f"JOINED: {said}")
            raw = [read_raw(made[next(iter(tables.values())).file]) for tables in each.values()]
        if pairs := apart(raw, arm):
            for states, torques in pairs:
                made[states.file], said = joined(states, torques, folder)
                told.append(f"JOINED: {said}")
            used = {table.file for pair in pairs for table in pair}
            told += [f"{tables[0].file.name}: NOT USED" for tables in raw if tables[0].file not in used]
            raw = [read_raw(made[states.file]) for states, _ in pairs]
        return _started(folder, robot, cad, arm, raw, told, asked, tuple(made.values()))
    except BaseException:  # also one that is stopped leaves nothing half done
        for file in made.values():
            file.unlink()
        raise


def _at_once(each: Mapping[str, Mapping[str, RawTable]], asked: Asked) -> bool:
    """Return whether the joints of files with one each moved at the same time, which is asked."""
    files = ", ".join(table.file.name for table in next(iter(each.values())).values())
    text = f"Did the joints of {files} move at the same time (no: one after the other, the others at rest)?"
    return asked("joint files", text, "yes", "their times are one", ("yes", "no")) == "yes"


def _topic(log: Path, asked: Asked) -> str:
    """Return the topic of a bag that is meant, which is asked where it has several of joint states; else ""."""
    states = [t for t in bag.topics(log, log.name) if t.type == bag.JOINT_STATE]
    if len(states) < 2:
        return ""
    most = max(states, key=lambda t: t.messages)
    text, why = f"Which topic of {log.name} has the robot's joints?", f"it has most messages, {most.messages}"
    return asked("topic", text, most.name, why, tuple(t.name for t in states))


def _started(
    folder: Path,
    robot: Path,
    cad: Path | None,
    arm: Arm,
    raw: Sequence[tuple[RawTable, ...]],
    first_told: Sequence[str],
    asked: Asked,
    made: tuple[Path, ...],
) -> Started:
    """Write the files, those `made` being there already: tables of bags and of two files, and the robot of one axis."""
    arm = of_one_side(arm, [c.label for tables in raw for table in tables for c in table.columns], asked)
    given = [log.parts() for log in recordings_of(raw, arm, asked)]
    recordings = [part for parts, _ in given for part in parts]
    held, told = parked([r.signals for r in recordings], robot)
    own = {r.name: r.said for r in recordings if r.said}
    told = [f"{name}: NOTE: {said}" for name, said in own.items()] + told
    told = list(dict.fromkeys(f"{t.file.name}: {t.note}" for r in recordings for t in r.tables if t.note)) + told
    told = [line for _, lines in given for line in lines] + told
    told += misfit(cad, recordings[0].signals.robot)
    if cad is None and (unlike := placeholders(whole := recordings[0].signals.robot, whole.inertials)):
        told.append(f"NOTE: {unlike}: bodies of {robot.name} are not used")
    if held:
        left = arm.of(tuple(name for name in recordings[0].signals.robot.joint_names if name not in held))
        recordings = [replace(r, signals=r.signals.of_joints(left)) for r in recordings]
    first = recordings[0]
    told += mimics(robot, first.signals.robot.joint_names) if robot.suffix.lower() != ".toml" else []
    manifest, left_out = _manifest(folder, recordings)
    fit, validate, manifest, why = _parts(manifest, [r for r in recordings if r.name not in left_out], asked)
    texts, source = {"dataset.toml": dataset_toml(manifest, first.signals.why, own)}, robot
    if robot.suffix.lower() != ".toml" and not _as_it_is(robot, first.signals.robot):
        texts["robot.toml"] = _robot_toml(robot, folder, arm, first.signals, held)
        source = folder / "robot.toml"
        lacking = [name for name in arm.names if name not in first.signals.robot.joint_names and name not in held]
        told += [f"NO COLUMN is of {', '.join(lacking)}: locked at zero in robot.toml"] if lacking else []
    about = [f"robot = {_toml(_path(source, folder, LEVELS))}", 'data = "dataset.toml"']
    about += [f"cad = {_toml(_path(cad, folder, LEVELS))}"] if cad else []
    texts["experiment.toml"] = "\n".join(
        ["# Written by `ident init`; every line may be changed.", "[experiment]", *about, "", "[recordings]"]
        + [f"# {line}" for line in (*told, *why)]
        + [f"fit = {_toml(fit)}", f"validate = {_toml(validate)}", ""]
    )
    written = [write_whole(folder / name, texts[name]) for name in FILES if name in texts]
    told += [f"{quantity}: {reason}" for quantity, reason in first.signals.why.items()]
    lost = [*first_told, *(f"{name}: LEFT OUT: {cause}" for name, cause in left_out.items())]
    return Started(
        (*made, *written), tuple(asked.answers), (*lost, *told, *why), tuple(asked.guessed), f"ident run {folder}"
    )


def _arm(path: Path, cad: Path | None) -> Arm:
    """Return the robot of a file; of a URDF, whichever joints move."""

    def bodies(robot: Robot) -> Array | None:
        from ident.cad import read_cad

        found = robot.inertials
        with contextlib.suppress(IdentError):  # `ident run` says what is wrong with it
            found = None if cad and doubted(cad) else read_cad(cad).for_robot(robot) if cad else found
        unlike = found is None or np.isnan(found).all() or placeholders(robot, found) or from_base(robot, found)
        return None if unlike else found

    if path.suffix.lower() == ".toml":
        whole = read_robot(path)
        motors = whole.transmission.motors if whole.transmission else ()
        called = dict(zip(motors, whole.joint_names, strict=False)) if not {*motors} & {*whole.joint_names} else {}
        return Arm(whole.joint_names, lambda names: whole, bodies, called)
    document = read_description(path)
    moving = [
        joint.name
        for joint in document.joints.values()
        if joint.kind in ("revolute", "continuous", "prismatic")
        and not any(c.tag == "mimic" for c in joint.element.children)
    ]
    return Arm(read_urdf(path, keep=moving).joint_names, lambda names: read_urdf(path, keep=names), bodies)


def _as_it_is(urdf: Path, robot: Robot) -> bool:
    """Return whether a URDF alone is the robot whose joints the logs have."""
    try:
        return robot.transmission is None and read_urdf(urdf).joint_names == robot.joint_names
    except IdentError:
        return False


def _manifest(folder: Path, logs: Sequence[RawRecording]) -> tuple[Manifest, dict[str, str]]:
    """Return the data set, and the recordings that cannot be read, each with the reason.

    Raises LogError where none can, or where text files are written in different ways.
    """
    texts = {t.text for log in logs for t in log.tables if t.text is not None}
    if len(texts) > 1:
        fix = "Save them alike, or give those of one kind"
        raise LogError("the text files differ in delimiter, header or decimal mark", fix=fix)
    home = _home([t.file for log in logs for t in log.tables], folder)
    base = folder.resolve() if home == "." else Path(os.environ.get("IDENT_DATA", ".")).resolve() / home[12:]
    recordings = []
    for log in logs:
        own = log.tables[0].file.resolve().relative_to(base).as_posix()
        signals = {q: _signal(q, log.signals, base, own) for q in COLUMNS}
        repeats = any(np.any(np.diff(c.values) == 0) for c in log.signals.time)
        found = {q: s for q, s in signals.items() if s is not None}
        drops = {"drop_repeated": repeats, "drop_missing": log.holes}
        recordings.append(Recording(log.name, own, rows=log.rows, **drops, **found))  # type: ignore[arg-type]
    text = next(iter(texts), TextFormat())
    manifest = Manifest(folder / "dataset.toml", folder.resolve().name or "log", home, tuple(recordings), text=text)
    manifest = replace(manifest, name=file_word(manifest.name, "log"))
    causes: dict[str, LogError] = {}
    for log in logs:
        try:
            read_log(manifest, log.name, log.signals.robot)
        except LogError as cause:
            causes[log.name] = cause
    if len(causes) == len(logs):
        raise next(iter(causes.values()))
    return manifest, {name: str(cause) for name, cause in causes.items()}


def _home(files: Sequence[Path], folder: Path) -> str:
    """Return the folder of a data set whose files these are: its own, or one below $IDENT_DATA."""
    resolved, data = [f.resolve() for f in files], os.environ.get("IDENT_DATA")
    if all(f.is_relative_to(folder.resolve()) for f in resolved):
        return "."
    common = Path(os.path.commonpath([f.parent for f in resolved]))
    if data and common.is_relative_to(Path(data).resolve()):
        return f"$IDENT_DATA/{common.relative_to(Path(data).resolve()).as_posix()}".removesuffix("/.")
    fix = f"Call ident init there, or add --into {common}"
    raise LogError(f"lies outside of the folder '{folder}', in which the data set is", file=files[0], fix=fix)


def _signal(quantity: str, signals: Signals, base: Path, own: str) -> Signal | None:
    columns, unit = getattr(signals, quantity), getattr(signals, f"{quantity}_unit")
    if not columns:
        return (
            Signal("time", rate_hz=signals.rate_hz, guessed="time" in signals.guessed) if quantity == "time" else None
        )
    if columns[0].parts:
        columns, unit = columns[0].parts, tuple(c.unit for c in columns[0].parts)
    file = columns[0].file.resolve().relative_to(base).as_posix()
    found = Signal(
        quantity,  # type: ignore[arg-type]
        tuple(c.reference for c in columns),
        columns[0].array,
        None if file == own else file,
        unit[0] if len(set(unit)) == 1 else unit,
        guessed=quantity in signals.guessed and quantity != "time",
    )
    if quantity == "torque":
        found = replace(found, gain=signals.gain or 1.0)
    if quantity == "position" and signals.zeros:
        found = replace(found, offset=signals.zeros)
    if quantity == "position" and signals.count:
        found = replace(found, gain=signals.count)
    return replace(found, side="motor") if quantity != "time" and signals.side == "motor" else found


def _parts(
    manifest: Manifest, logs: Sequence[RawRecording], asked: Asked
) -> tuple[list[str], list[str], Manifest, tuple[str, ...]]:
    """Return the recordings to fit, those to validate, the data set that has them, and why."""
    words = {log.name: log.name.lower().replace("-", "_").split("_") for log in logs}
    carrying = [name for name, own in words.items() if CARRIES & set(own) and not {"no", "without"} & set(own)]
    spans = {log.name: log.moving() for log in logs if len(carrying) == len(logs) or log.name not in carrying}
    moves = {name: joints for name, (*_, joints) in spans.items()}
    most = max(int(joints.sum()) for joints in moves.values())
    whole = [name for name, joints in moves.items() if joints.sum() == most]
    some = [name for name in spans if name not in whole and moves[name].any()]
    told = {name: int(moves[name].sum()) for name in spans if name not in whole}
    why = [
        f"{name}: {k or 'none'} of {plural(most, 'joint')} move{'s' * (k < 2)}{'' if k else ', so it is left out'}"
        for name, k in told.items()
    ]
    why += [
        f"{name}: left out, as the robot carries something there by its name" for name in words if name not in spans
    ]
    if len(whole) == 1 and some and (np.any([moves[name] for name in some], axis=0) >= moves[whole[0]]).all():
        why += [f"{whole[0]} is kept for validation: the others together move as many joints"]
        return some, whole, manifest, tuple(why)
    if len(whole) > 1:
        marked = [n for n in whole if VALIDATION & set(words[n])]
        guess, reason = (marked[-1], "its name says so") if marked else (whole[-1], "the last one that was given")
        kept = asked("validate", "Which recording is kept for validation?", guess, reason, tuple(whole))
        parts = [n for n in whole if manifest.recording(n).file == manifest.recording(kept).file]
        aside = parts if kept == guess and len(parts) < len(whole) else [kept]
        why += [f"{' and '.join(aside)} {'is' if len(aside) == 1 else 'are'} kept for validation: "]
        why[-1] += reason if kept == guess else "as answered"
        return [name for name in spans if name in (*whole, *some) and name not in aside], aside, manifest, tuple(why)
    only = manifest.recording(whole[0])
    start, stop = (row + (only.rows[0] - 1 if only.rows else 0) for row in spans[only.name][:2])
    cut = stop - int(KEPT * (stop - start))
    halves = (
        replace(only, name=f"{only.name}-first", rows=(start, cut), note="of the stretch that moves"),
        replace(only, name=f"{only.name}-last", rows=(cut + 1, stop), note="later, but of the same motion"),
    )
    why += [f"one log: its last {100 * KEPT:.0f} % are kept for validation; another motion would say more"]
    found = replace(manifest, recordings=(*manifest.recordings, *halves))
    return [halves[0].name, *some], [halves[1].name], found, tuple(why)


def _robot_toml(urdf: Path, folder: Path, arm: Arm, signals: Signals, held: Mapping[str, float]) -> str:
    robot, why = signals.robot, signals.why["position"]
    locked = [name for name in arm.names if name not in robot.joint_names and name not in held]
    lines = [
        "# Written by `ident init`: the joints that move in the logs; others are locked, at zero if not in `lock`."
    ]
    lines += [f"# no column: {', '.join(locked)}"] if locked else []
    lines += [f"name = {_toml(robot.name)}", f"urdf = {_toml(_path(urdf, folder, 0))}"]
    lines += [f"keep = {_toml(list(robot.joint_names))}"]
    if held:
        at = dict(held) | dict(followers(urdf, held))
        lines += ["# rests in every log, there; to free it, take it out, and add it to keep and to dataset.toml"]
        lines += ['angle = "rad"', f"lock = {{ {', '.join(f'{_toml(name)} = {x:g}' for name, x in at.items())} }}"]
    lines += [] if robot.transmission is None else transmission_toml(robot.transmission, robot, why)
    return "\n".join([*lines, ""])


def _path(file: Path, folder: Path, levels: int) -> str:
    """Return how a file in `folder` names another one: at most so many folders up, or below $IDENT_DATA."""
    relative = Path(os.path.relpath(file.resolve(), folder.resolve()))
    if relative.parts.count("..") <= levels:
        return relative.as_posix()
    data = os.environ.get("IDENT_DATA")
    if data and file.resolve().is_relative_to(Path(data).resolve()):
        return f"$IDENT_DATA/{file.resolve().relative_to(Path(data).resolve()).as_posix()}"
    raise ConfigError(f"lies too far outside of the folder '{folder}'", file=file, fix="Put it there, or choose --into")


def dataset_toml(manifest: Manifest, why: Mapping[str, str], own: Mapping[str, str]) -> str:
    """Return a data set as the text of its dataset.toml.

    why: a comment on each quantity; own: one on each recording whose signals are unlike those of the others.
    """
    text = manifest.text
    lines = ["# Written by `ident init`; every line may be changed.", "[dataset]", f"name = {_toml(manifest.name)}"]
    lines += [f"folder = {_toml(manifest.folder)}"] if manifest.folder != "." else []
    if text != TextFormat():
        lines += ["", "[text]", f"delimiter = {_toml(text.delimiter)}", f"header = {_toml(text.header)}"]
        lines += [f"decimal = {_toml(text.decimal)}", f"skip_lines = {text.skip_lines}"]
    common = _tables(next((r for r in manifest.recordings if r.name not in own), manifest.recordings[0]))
    lines += ["", "[signals]"]
    for quantity in COLUMNS:
        lines += [f"# {why[quantity]}"] if quantity in why else []
        lines += [f"{quantity} = {common[quantity]}"] if quantity in common else []
    for recording in manifest.recordings:
        lines += ["", "[[recording]]", f"name = {_toml(recording.name)}", f"file = {_toml(recording.file)}"]
        lines += [f"rows = {_toml(list(recording.rows))}"] if recording.rows else []
        lines += [f"note = {_toml(recording.note)}"] if recording.note else []
        drops = {"repeated": "rows whose time is that of the row before"}
        drops |= {"missing": "rows in which a number is missing, or all are zero"}
        lines += [f"drop_{w} = true  # {why}" for w, why in drops.items() if getattr(recording, f"drop_{w}")]
        lines += [f"# {own[recording.name]}"] if recording.name in own else []
        lines += [f"{q} = {told}" for q, told in _tables(recording).items() if told != common.get(q)]
    return "\n".join([*lines, ""])


def _tables(recording: Recording) -> dict[str, str]:
    """Return the text of each signal of a recording."""
    return {
        s.quantity: _table(s) for s in (recording.time, recording.position, recording.velocity, recording.torque) if s
    }


def _table(signal: Signal) -> str:
    if signal.rate_hz is not None:
        return f"{{ rate_hz = {_toml(signal.rate_hz)}{', guessed = true' * signal.guessed} }}"
    many = signal.quantity != "time" or len(signal.columns) > 1
    given: dict[str, object] = {"file": signal.file, "array": signal.array}
    given["columns" if many else "column"] = list(signal.columns) if many else signal.columns[0]
    given |= {"unit": signal.unit, "gain": None if signal.gain == 1.0 else signal.gain}
    given |= {"offset": signal.offset or None}
    given |= {"side": None if signal.side == "joint" else signal.side, "guessed": signal.guessed or None}
    return f"{{ {', '.join(f'{key} = {_toml(value)}' for key, value in given.items() if value is not None)} }}"


def _toml(value: object) -> str:
    """Return a value as TOML has it."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        import json

        return json.dumps(value, ensure_ascii=False)
    return f"{value:.12g}" if isinstance(value, float) else str(value)
