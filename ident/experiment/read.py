"""Reads the experiment file, `experiment.toml`."""

from __future__ import annotations

import re
import tomllib
import types
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import pydantic
from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic import Field as Key
from pydantic.fields import FieldInfo

from ident.errors import ConfigError, InputError, nearest
from ident.estimate.bounds import Bounds
from ident.estimate.density_realisable import Ellipsoid
from ident.estimate.estimators import VANISHING, CovarianceName, Loss, MetricName, Weight, compatible
from ident.experiment.experiment import WORDS, Experiment
from ident.experiment.terms import model_table, terms_of
from ident.logs.process import Processing
from ident.model.terms import TERMS
from ident.robot.file import data_path

LEVELS = 2  # folders that a path may climb: from experiments/NAME/ to the folder that also holds datasets/
LARGEST = 1_000_000  # bytes of an experiment file


def read_experiment(path: str | Path) -> Experiment:
    """Read an `experiment.toml`, or the one in the folder `path`; nothing that it names is opened.

    Paths in it are relative to its folder, at most two folders up, or begin with $IDENT_DATA; they must exist.
    Raises ConfigError for what is unknown (with the nearest known name), missing or of the wrong type, with its key.
    """
    file = Path(path)
    if file.is_dir():
        file = file / "experiment.toml"
    data = _toml(file)
    if isinstance(data.get("fit"), dict) and "estimator" in data["fit"]:
        fix = "Write loss = 'wls' or 'ols', and feasible = false where links need not be able to exist"
        raise ConfigError("is said by two words now", file=file, key="fit.estimator", fix=fix)
    table = data.get("processing")
    overrides = table.pop("validate", {}) if isinstance(table, dict) else {}
    schema = _schema(tuple(TERMS))
    try:
        read = schema.model_validate(_tuples(data))
    except pydantic.ValidationError as cause:
        raise _translated(cause, schema, data, file) from None
    about, recordings, estimation = read.experiment, read.recordings, read.fit

    def found(key: str, text: str) -> Path:
        return _path(text, file, f"experiment.{key}")

    _recordings_apart(recordings, file)
    given = {key: getattr(read.processing, key) for key in read.processing.model_fields_set}
    return Experiment(
        file=file.resolve(),
        name=file.resolve().parent.name if file.stem == "experiment" else file.stem,
        title=about.title,
        robot=found("robot", about.robot),
        data=found("data", about.data),
        cad=_cad(about.cad, file),
        truth=found("truth", about.truth) if about.truth else None,
        fit=recordings.fit,
        validate=recordings.validation,
        processing=_processing(given, {}, "processing", file),
        validation_processing=_processing(given, overrides, "processing.validate", file),
        terms=terms_of(read.model, file),
        coupled_drives=read.model.coupled_drives,
        bounds=_bounds(estimation, file),
        **_words_of_fit(estimation, file),
        expected=read.expected,
    )


# ---- the file's schema ---------------------------------------------------------------------------------------------


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


_TEXT = "a text that is not empty"
_PAIR = "two numbers, [least, most]"

_Text = Annotated[str, Key(min_length=1, description=_TEXT)]
_Pair = Annotated[tuple[float, float], Key(description=_PAIR)]
_Box = Annotated[tuple[_Pair, _Pair, _Pair], Key(description="three pairs [least, most] in m")]
_Boxes = Annotated[dict[str, _Box], Key(description="a table of links, each with three pairs [least, most] in m")]
_Value = Annotated[float, Key(description="a number in SI units")]
_Three = Annotated[tuple[float, float, float], Key(description="three numbers, x, y, z in m")]
_Alike = Annotated[tuple[str, ...], Key(min_length=2, description="a list of two or more links")]
_GROUPS = "a list of lists, each of two or more links that are alike"
_SEMI_AXES = "three lengths along the link's axes, or three vectors, in m"
_Figure = Annotated[tuple[float, float], Key(description="two numbers, [value, tolerance]")]


class _About(_Table):
    title: _Text
    robot: _Text
    data: _Text
    cad: Annotated[
        _Text | Literal[False] | None,
        Key(description="a CAD table, a URDF, a folder of reports, 'robot', or false for none"),
    ] = None
    truth: _Text | None = None


class _Recordings(_Table):
    fit: Annotated[tuple[_Text, ...], Key(min_length=1, description="a list of one or more recordings")]
    validation: Annotated[tuple[_Text, ...], Key(alias="validate", description="a list of recordings")] = ()


class _Ellipsoid(_Table):
    centre: _Three
    semi_axes: Annotated[_Three | tuple[_Three, _Three, _Three], Key(description=_SEMI_AXES)]


class _Bounds(_Table):
    total_mass: _Pair | None = None
    mass: Annotated[dict[str, _Pair], Key(description="a table of links, each with [least, most] in kg")] = {}
    com: _Boxes = {}
    box: _Boxes = {}
    ellipsoid: dict[str, _Ellipsoid] = {}
    equal: Annotated[tuple[_Alike, ...], Key(description=_GROUPS)] = ()
    pinned: Annotated[dict[str, _Value], Key(description="a table of parameters, each with its value in SI units")] = {}


class _Fit(_Table):
    loss: Annotated[Loss, Key(description="'wls' or 'ols'")] = "wls"
    feasible: Annotated[bool, Key(description="true or false")] = True
    weight: (
        Annotated[Weight, Key(description="'cross-validated', 'vanishing' or a number that is 0 or more")] | None
    ) = None
    metric: Annotated[MetricName, Key(description="'entropic', 'pull-back' or 'euclidean'")] | None = None
    residual_bound: Annotated[float, Key(gt=0, description="a number above 0")] = VANISHING
    covariance: Annotated[CovarianceName, Key(description="'segments' or 'classical'")] = "segments"
    bounds: _Bounds = _Bounds()


def _none(value: Any) -> Any:
    return None if value == "none" else value


def _words(hint: Any) -> str:
    """Return in plain words what a field of Processing takes."""
    simple = {float: "a number", int: "a whole number", str: "a text", bool: "true or false"}
    if hint in simple:
        return simple[hint]
    options = get_args(hint)
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(f"'{o}'" for o in options)
    if get_origin(hint) is tuple:
        many = {float: "numbers", int: "whole numbers"}[options[0]]
        return f"a list of {many}" if Ellipsis in options else f"a list of {len(options)} {many}"
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join("'none'" if o is type(None) else _words(o) for o in options)
    raise TypeError(f"no words for {hint}")


def _processing_fields() -> dict[str, Any]:
    hints = get_type_hints(Processing)
    found: dict[str, Any] = {}
    for f in fields(Processing):
        hint: Any = Annotated[hints[f.name], BeforeValidator(_none)] if type(None) in get_args(hints[f.name]) else None
        found[f.name] = (hint or hints[f.name], Key(f.default, description=_words(hints[f.name])))
    return found


_Settings: Any = pydantic.create_model("_Settings", __base__=_Table, **_processing_fields())


_Expected = Annotated[dict[str, _Figure], Key(description="a table of figures, each with [value, tolerance]")]


@cache
def _schema(terms: tuple[type, ...]) -> Any:
    """Return what a file may hold when there are these joint terms."""
    model = model_table(_Table)
    return pydantic.create_model(
        "_File",
        __base__=_Table,
        experiment=(_About, ...),
        recordings=(_Recordings, ...),
        processing=(_Settings, _Settings()),
        model=(model, model()),
        fit=(_Fit, _Fit()),
        expected=(_Expected, {}),
    )


# ---- from the tables to the experiment -----------------------------------------------------------------------------


def _toml(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError) as cause:
        raise ConfigError(
            f"there is no such file in '{file.parent}'", file=file, fix="Give an experiment's folder or its .toml file"
        ) from cause
    except (OSError, ValueError) as cause:
        raise ConfigError("the file cannot be read", file=file) from cause
    if len(content) > LARGEST:
        raise ConfigError("is far too large for an experiment file", file=file)
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError as cause:
        raise ConfigError("the file is not UTF-8 text", file=file, fix="Save it as UTF-8") from cause
    except RecursionError as cause:
        raise ConfigError("the file is nested too deep", file=file) from cause
    except ValueError as cause:  # TOMLDecodeError, or an integer of thousands of digits
        at = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(cause))
        reason = str(cause)[: at.start()] if at else str(cause)
        line = int(at[1]) if at and at[1] else None
        raise ConfigError(f"the file is not valid TOML: {reason}", file=file, line=line) from cause


def _tuples(value: Any) -> Any:
    """Return the tables with tuples for lists, as the schema wants them."""
    if isinstance(value, dict):
        return {k: _tuples(v) for k, v in value.items()}
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value


def _translated(
    cause: pydantic.ValidationError, schema: type[BaseModel], data: Any, file: Path, prefix: str = ""
) -> ConfigError:
    """Return the first of pydantic's complaints, unknown keys before others, as a sentence with the key's path."""
    first = min(cause.errors(include_url=False), key=lambda e: e["type"] != "extra_forbidden")
    unknown = first["type"] == "extra_forbidden"
    place = _follow(schema, data, first["loc"][:-1] if unknown else first["loc"], _Place(prefix, "", ()))
    key = place.path or None
    if unknown:
        name = str(first["loc"][-1])
        hint = nearest(name, place.known)
        fix = None if hint else f"Known here: {', '.join(place.known)}"
        return ConfigError(f"'{_short(name, str)}' is not a known key here{hint}", file=file, key=key, fix=fix)
    if first["type"] == "missing" and place.value is None:
        return ConfigError(f"is missing, wanted {place.wanted}", file=file, key=key)
    return ConfigError(f"is {_short(place.value)}, wanted {place.wanted}", file=file, key=key)


@dataclass(frozen=True)
class _Place:
    """Where a complaint of pydantic points to: key path, what is wanted there, known keys, and what stands there."""

    path: str
    wanted: str
    known: tuple[str, ...]
    value: Any = None


def _follow(hint: Any, value: Any, loc: tuple[int | str, ...], at: _Place) -> _Place:
    """Walk from the type `hint` and the raw `value` along pydantic's location, as far as keys of the file go."""
    if get_origin(hint) is Annotated:
        hint, *more = get_args(hint)
        said = [m.description for m in more if isinstance(m, FieldInfo) and m.description]
        return _follow(hint, value, loc, replace(at, wanted=(said or [at.wanted])[0]))
    options = [o for o in get_args(hint) if o is not type(None)]
    if get_origin(hint) in (Union, types.UnionType) and len(options) == 1:
        return _follow(options[0], value, loc, at)
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        known = {f.alias or name: f for name, f in hint.model_fields.items()}
        at = replace(at, wanted=at.wanted or "a table", known=tuple(known), value=value)
        if not loc or loc[0] not in known:
            return at
        f = known[str(loc[0])]
        inner = value.get(loc[0]) if isinstance(value, dict) else None
        there = _Place(_joined(at.path, str(loc[0])), f.description or "", (), inner)
        return _follow(f.annotation, inner, loc[1:], there)
    if get_origin(hint) is dict and loc and isinstance(value, dict):
        inner = value.get(loc[0])
        return _follow(options[1], inner, loc[1:], _Place(_joined(at.path, str(loc[0])), at.wanted, (), inner))
    if get_origin(hint) is tuple and loc and isinstance(loc[0], int) and _is_table(options[0]):
        if isinstance(value, dict):  # one table stood for a list of one
            return _follow(options[0], value, loc[1:], at)
        if isinstance(value, list):
            inner = value[loc[0]]
            return _follow(options[0], inner, loc[1:], _Place(f"{at.path}[{loc[0] + 1}]", "", (), inner))
    return replace(at, value=value)


def _is_table(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, BaseModel)


def _joined(*parts: str) -> str:
    return ".".join(p for p in parts if p)


def _processing(given: Mapping[str, Any], overrides: Any, place: str, file: Path) -> Processing:
    """Return the settings of one table, on top of those already read."""
    try:
        read = _Settings.model_validate(_tuples(overrides))
    except pydantic.ValidationError as cause:
        raise _translated(cause, _Settings, overrides, file, place) from None
    values = dict(given) | {key: getattr(read, key) for key in read.model_fields_set}
    try:
        return Processing(**values)
    except InputError as cause:
        key = cause.key if cause.key and cause.key in Processing.__dataclass_fields__ else None
        problem = cause.problem if key or not cause.key else f"{cause.key} {cause.problem}"
        raise ConfigError(problem, file=file, key=_joined(place, key or ""), fix=cause.fix) from None


def _recordings_apart(recordings: _Recordings, file: Path) -> None:
    """Refuse a recording that is named twice: held out means another recording."""
    for key, names in (("fit", recordings.fit), ("validate", recordings.validation)):
        twice = [n for n in names if names.count(n) > 1]
        if twice:
            raise ConfigError(f"'{twice[0]}' is named twice", file=file, key=f"recordings.{key}", fix="Name it once")
    both = [n for n in recordings.fit if n in recordings.validation]
    if both:
        raise ConfigError(
            f"'{both[0]}' is in both fit and validate",
            file=file,
            key="recordings",
            fix="Validate on a recording that the fit has not seen",
        )


def _cad(given: str | bool | None, file: Path) -> Path | Literal["robot", "none"] | None:
    if isinstance(given, bool) or given == "none":
        return "none"
    if given is None or given == "robot":
        return None if given is None else "robot"
    return _path(given, file, "experiment.cad", folders=True)


def _path(text: str, file: Path, key: str, *, folders: bool = False) -> Path:
    """Return the file (or folder) that `text` names; see `read_experiment` for what is allowed."""
    folder, steps = file.resolve().parent, PurePosixPath(text.replace("\\", "/")).parts
    climbed = next((i for i, step in enumerate(steps) if step != ".."), len(steps))
    if climbed > LEVELS:
        raise ConfigError(
            f"the path '{text}' climbs {climbed} folders, at most {LEVELS} are allowed",
            file=file,
            key=key,
            fix="Put the file nearer to the experiment, or under $IDENT_DATA",
        )
    if text.startswith("~") or PurePosixPath(text).is_absolute() or PureWindowsPath(text).anchor:
        raise ConfigError(
            f"the path '{text}' is absolute",
            file=file,
            key=key,
            fix="Give it relative to this file's folder, or begin it with $IDENT_DATA",
        )
    if ".." in steps[climbed:] or climbed == len(steps):
        raise ConfigError(
            f"the path '{text}' names no file",
            file=file,
            key=key,
            fix="Name a file, with '..' at the beginning of its path only",
        )
    for _ in range(climbed):
        folder = folder.parent
    try:
        found = data_path("/".join(steps[climbed:]), folder)
    except InputError as cause:
        raise ConfigError(cause.problem, file=file, key=key, fix=cause.fix) from None
    if not (found.is_file() or (folders and found.is_dir())):
        raise ConfigError(f"there is no file '{text}'", file=file, key=key, fix="Correct the path")
    return found


def _words_of_fit(fit: _Fit, file: Path) -> dict[str, Any]:
    """Return the words of [fit], bounds apart; raises ConfigError where they contradict each other."""
    words = {key: getattr(fit, key) for key in WORDS if key != "bounds"}
    try:
        compatible(fit.loss, fit.feasible, fit.weight, fit.metric)
    except InputError as cause:
        raise ConfigError(cause.problem, file=file, key=f"fit.{cause.key}", fix=cause.fix) from None
    return words


def _bounds(fit: _Fit, file: Path) -> Bounds:
    given = fit.bounds
    pairs = {f"mass.{link}": pair for link, pair in given.mass.items()}
    boxes = (("com", given.com), ("box", given.box))
    pairs |= {f"{k}.{x}": pair for k, links in boxes for x, box in links.items() for pair in box if pair[0] > pair[1]}
    if given.total_mass is not None:
        pairs["total_mass"] = given.total_mass
    for key, (least, most) in pairs.items():
        if not least <= most:
            raise ConfigError(
                f"the bounds are empty: {least:g} to {most:g}", file=file, key=f"fit.bounds.{key}", fix="Swap them?"
            )
        if not key.startswith(("com", "box")) and most <= 0:
            raise ConfigError(f"the bounds {least:g} to {most:g} kg allow no mass", file=file, key=f"fit.bounds.{key}")
    ellipsoids = {}
    for link, shape in given.ellipsoid.items():
        try:
            axes = np.diag(shape.semi_axes) if np.ndim(shape.semi_axes) == 1 else np.transpose(shape.semi_axes)
            ellipsoids[link] = Ellipsoid(np.array(shape.centre), axes)
        except InputError as cause:
            raise ConfigError(cause.problem, file=file, key=f"fit.bounds.ellipsoid.{link}", fix=cause.fix) from None
    return Bounds(given.mass, given.total_mass, given.com, ellipsoids, given.box, given.equal, given.pinned)


def _short(value: Any, show: Any = repr) -> str:
    text: str = str(value).lower() if isinstance(value, bool) else show(value)
    return text if len(text) <= 60 else text[:57] + "..."
