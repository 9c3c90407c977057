"""An experiment: one identification as a noun, its file `experiment.toml`, and the model that it asks for."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from ident.arrays import Array
from ident.calibrate import Wishes
from ident.errors import ConfigError, InputError, ModelError, require_known
from ident.estimate import neutral_prior
from ident.estimate.bounds import Bounds, Ellipsoid
from ident.estimate.estimators import CovarianceName, Loss, MetricName, Weight, compatible
from ident.estimate.problem import VANISHING
from ident.files import data_path
from ident.logs.automatic import AUTOMATIC, Hand
from ident.logs.process import Processing
from ident.model import Model, coupled_drives
from ident.model.standard import SIGN
from ident.model.term import Term, allowed, numbers, required
from ident.model.terms import TERMS
from ident.robot import Robot
from ident.shown import shows
from ident.tables import Reader, Table, boolean, read_toml, string, typed

#: The words of [fit].
WORDS = ("loss", "feasible", "weight", "metric", "residual_bound", "covariance", "bounds")


@shows
@dataclass(frozen=True, eq=False)
class Experiment:
    """One identification, as its file says. Paths are absolute; units are SI."""

    file: Path
    """The file itself."""
    name: str
    """Of the file, or of its folder where the file is called experiment.toml."""
    title: str
    """Heading of the report; without one, the folder's name."""
    robot: Path
    """The robot: a URDF or a robot.toml."""
    data: Path
    """The logs: a dataset.toml."""
    fit: tuple[str, ...]
    """Names of the recordings that are fitted."""
    cad: Path | Literal["robot", "none"] | None = None
    """A CAD table, a URDF or a folder of reports; "robot" for the inertials of the robot's own description, the default
    where it has any; false for none.
    """
    truth: Path | None = None
    """True parameters to compare with, of a simulated robot: a TOML file with a table [parameters], by name in SI
    units.
    """
    validate: tuple[str, ...] = ()
    """Names of the recordings that are predicted and never fitted."""
    processing: Processing | None = None
    """None where the fitted logs choose it (`ident.logs.automatic`), for all recordings."""
    validation_processing: Processing | None = None
    by_hand: tuple[Hand, Hand] | None = None
    terms: tuple[Term, ...] = ()
    own_model: bool = True
    """Whether the file has a [model] that names more than mechanisms; if not, the logs have a say in its terms."""
    coupled_drives: bool | None = None
    """Whether motors that a transmission couples have their drives' friction and inertia; without: where the robot has
    such a transmission.
    """
    loss: Loss = "wls"
    """"wls": joints weighed by their noise; "ols": all alike; "huber": rows that do not belong count for less."""
    feasible: bool = True
    """Whether every link has to be able to exist; false: least squares, of base parameters unless a weight is given."""
    weight: Weight | None = None
    """How strongly the fit is drawn to the prior: "cross-validated", a number, or "vanishing" (least residual
    first).
    """
    metric: MetricName | None = None
    """How far from the prior is measured."""
    residual_bound: float = VANISHING
    """With a vanishing weight: by how much, relatively, the residual may grow above the least."""
    covariance: CovarianceName = "segments"
    """Error bars: "segments" are robust to correlated noise, "bootstrap" too and cut at edges, "classical" are not."""
    bounds: Bounds = field(default_factory=Bounds)
    """What is known for sure of links and masses."""
    calibrate: Wishes | None = None
    """What [calibrate] asks for, None without one."""
    expected: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Figures with their tolerances, for tests: each two numbers, [value, tolerance]."""

    @property
    def words(self) -> dict[str, Any]:
        """The keywords of `estimated` that [fit] gives."""
        return {name: getattr(self, name) for name in WORDS}

    @property
    def heading(self) -> str:
        """Name and title, once where they are the same."""
        return self.name if self.title == self.name else f"{self.name}: {self.title}"

    @property
    def folder(self) -> Path:
        """Folder that the experiment file is in."""
        return self.file.parent

    def error(self, problem: str, key: str, fix: str | None = None) -> ConfigError:
        """Return the error that names the experiment's file and a key."""
        return ConfigError(problem, file=self.file, key=key, fix=fix)


_JOINTS = typed(bool | tuple[str, ...], "true, false, or a list of joint names")
_NAMES = typed(tuple[str, ...], "a list of names, each once")


def terms_of(model: Table) -> tuple[Term, ...]:
    """Return the terms that [model] asks for, in the order of `TERMS`; ConfigError for numbers that no term takes.

    A term without numbers of its own is asked for by true, false or joints, another by one table or several; a table
    gives a term of each kind that has its key.
    """
    kinds: dict[str, list[Any]] = {}
    for term in TERMS:
        kinds.setdefault(term.kind.key, []).append(term)
    model.known((*kinds, "coupled_drives"))
    found: list[Term] = []
    for key, laws in kinds.items():
        if any(map(numbers, laws)):
            found += _laws(model, key, laws)
        elif value := model.read(key, _JOINTS, laws[0].kind.standard):
            found.append(laws[0](joints=value if isinstance(value, tuple) else None))
    return tuple(found)


def usual_terms(own: Sequence[Term]) -> tuple[Term, ...]:
    """Return the terms of an experiment whose [model] has none but the mechanisms among its own."""
    first = {term.kind: term for term in reversed(TERMS)}
    usual = (term() for term in TERMS if term.kind.standard and first[term.kind] is term)
    return (*usual, *(term for term in own if term.kind.mechanism))


def _laws(model: Table, key: str, laws: list[Any]) -> list[Term]:
    kind, names = laws[0].kind, list(dict.fromkeys(x for law in laws for x in numbers(law)))
    alike = {law.kind.name: [x for x in laws if x.kind == law.kind] for law in laws}
    fields = {f.name: f for law in laws for f in dataclasses.fields(law)}
    needed = [x for x in names if len(laws) == len(alike) and required(fields[x])]
    readers = {x: _number(fields[x].metadata) for x in names}
    others = {x: readers[x] for x in names if x not in needed} | {"joints": _NAMES}
    others |= {x: boolean for law in laws for x in numbers(law, "bool")}
    example = kind.example or f"{{ {', '.join(f'{name} = ...' for name in names)} }}"
    said = f"{'' if needed else 'true, false, '}a table such as {example}, or a list of such tables"

    def tables(value: Any) -> tuple[Any, ...]:
        if value is True and not needed:
            return ({},)
        if value is False:
            return ()
        found = (value,) if isinstance(value, dict) else tuple(value) if isinstance(value, list) else (None,)
        if not all(isinstance(x, dict) for x in found):
            raise ValueError(said)
        return found

    given = model.read(key, tables, ({},) if kind.standard else ())
    found = []
    for i, data in enumerate(given):
        place = f"{key}[{i + 1}]" if isinstance(model.data.get(key), list) else key
        table = Table(data, model.key(place), model.file, model.kind)
        values = table.values({x: readers[x] for x in needed}, others)
        at = key if len(given) == 1 else place
        found += [_term(model, at, same, values) for same in alike.values()]
    return found


def _number(known: Mapping[str, Any]) -> Reader:
    return typed(float, known.get("description", "a number"), lambda x: allowed(x, **known))


def _term(model: Table, place: str, laws: list[Any], given: dict[str, Any]) -> Term:
    said = [name for law in laws for name in numbers(law) if name in given]
    for law in laws:
        needed = {f.name for f in dataclasses.fields(law) if required(f)}
        if needed <= set(said) <= set(numbers(law)):
            try:
                term: Term = law(**given)
            except ModelError as cause:
                raise model.error(place, cause.problem, cause.fix) from None
            return term
    if len(said) > 1:
        raise model.error(place, f"has both {' and '.join(said)}", "Keep one of them")
    raise model.error(place, f"lacks one of {', '.join(x for law in laws for x in numbers(law))}")


def build_model(experiment: Experiment, robot: Robot, inertials: Array | None = None) -> Model:
    """Return the model that the experiment asks for.

    inertials (n, 10): the links as CAD has them, for friction that grows with their load and for balancers; None for
    neutral ones. Raises ConfigError for joints that the robot does not have.
    """
    terms: list[Term] = []
    for term in experiment.terms:
        has, fix = f"robot '{robot.name}' has no joint", f"Its joints are {', '.join(robot.joint_names)}"
        key = f"model.{term.kind.key}"
        require_known(term.joints or (), robot.joint_names, experiment.error, has, key=key, fix=fix)
        if not hasattr(term, "at_work"):
            terms.append(term)
            continue
        bodies = neutral_prior(robot).inertials if inertials is None else inertials
        try:
            terms += term.at_work(experiment.terms, robot, bodies)
        except InputError as cause:
            raise experiment.error(cause.problem, key, cause.fix) from None
    if experiment.coupled_drives and robot.transmission is None:
        problem = f"robot '{robot.name}' has no transmission, so no drive is coupled"
        fix = "Give the robot file a [transmission], or leave this out"
        raise experiment.error(problem, "model.coupled_drives", fix)
    if experiment.coupled_drives is not False:
        terms += coupled_drives(robot, next((x for x in terms if x.kind == SIGN.kind), SIGN))
    try:
        return Model(robot, tuple(terms))
    except InputError as cause:
        raise experiment.error(cause.problem, "model", cause.fix) from None


_TABLES = {
    "experiment": "The files that it is about.",
    "recordings": "What is fitted, and what is kept for validation.",
    "processing": "Filters; without, chosen from the fitted logs. Where it is given, only what stands in it is done.",
    "model": "Joint terms; without, or with balancers alone, the usual ones, and what `ident select` finds.",
    "fit": "How the parameters are estimated.",
    "calibrate": "What the description has wrong by a little, found with the parameters.",
    "expected": "Figures with their tolerances, for tests.",
}
LEVELS = 2  # folders that a path may climb: from experiments/NAME/ to the folder that also holds datasets/

_PAIR = typed(tuple[float, float], "two numbers, [least, most]")
_Three = tuple[float, float, float]
_BOX = typed(tuple[(tuple[float, float],) * 3], "three pairs [least, most] in m")  # type: ignore[misc]
_CAD = typed(str | Literal[False], "a CAD table, a URDF, a folder of reports, 'robot', or false for none")
_FIT = {
    "loss": typed(Loss, "'wls', 'ols' or 'huber'"),
    "feasible": boolean,
    "weight": typed(Weight, "'cross-validated', 'vanishing' or a number that is 0 or more"),
    "metric": typed(MetricName, "'entropic', 'pull-back' or 'euclidean'"),
    "residual_bound": typed(float, "a number above 0", lambda x: x > 0),
    "covariance": typed(CovarianceName, "'segments', 'classical' or 'bootstrap'"),
}


def read_experiment(path: str | Path) -> Experiment:
    """Read an `experiment.toml`, or the one in the folder `path`; nothing that it names is opened.

    Paths in it are relative to its folder, at most two folders up, or begin with $IDENT_DATA; they must exist.
    Raises ConfigError for what is unknown (with the nearest known name), missing or of the wrong type, with its key.
    """
    file = Path(path)
    if file.is_dir():
        file = file / "experiment.toml"
    if not file.exists():
        fix = "Give an experiment's folder or its .toml file; `ident init robot.urdf log.csv` writes one"
        raise ConfigError(f"there is no such file in '{file.parent}'", file=file, fix=fix)
    top = Table(read_toml(file, ConfigError), "", file, ConfigError)
    top.known(_TABLES)
    head, rows = top.table("experiment"), top.table("recordings")
    about = head.values({"robot": string, "data": string}, {"title": string, "cad": _CAD, "truth": string})
    recordings = rows.values(
        {"fit": typed(tuple[str, ...], "a list of one or more recordings", bool)},
        {"validate": typed(tuple[str, ...], "a list of recordings")},
    )
    about |= {key: _path(head, key, about[key]) for key in ("robot", "data", "truth") if key in about}
    _recordings_apart(rows, recordings["fit"], recordings.get("validate", ()))
    settings, model = top.inner("processing"), top.inner("model")
    readers = _processing_readers()
    chosen = {key: _or_auto(readers[key]) for key in AUTOMATIC}
    common = settings.values({}, readers | chosen | {"validate": lambda table: table})
    common.pop("validate", None)
    left = tuple(key for key in AUTOMATIC if common.get(key) == "auto")
    common = {key: value for key, value in common.items() if key not in left}
    both: tuple[Hand, Hand] | None = None
    if "processing" in top.data:
        judged = settings.inner("validate")
        kept = tuple(key for key in left if key not in judged.data)
        both = Hand(_processing(common, settings), left), Hand(_processing(common, judged), kept)
    by_hand = both if left else None
    folder, mechanisms = file.resolve().parent.name, {term.kind.key for term in TERMS if term.kind.mechanism}
    return Experiment(
        file=file.resolve(),
        name=folder if file.stem == "experiment" else file.stem,
        title=about.pop("title", folder),
        processing=both[0].processing if both and not left else None,
        validation_processing=both[1].processing if both and not left else None,
        by_hand=by_hand,
        terms=terms_of(model),
        own_model="model" in top.data and not (model.data and set(model.data) <= mechanisms),
        coupled_drives=model.flag("coupled_drives", False) if "coupled_drives" in model.data else None,
        calibrate=_calibrate(top.inner("calibrate")) if "calibrate" in top.data else None,
        expected=top.inner("expected").each(typed(tuple[float, float], "two numbers, [value, tolerance]")),
        **(about | {"cad": _cad(head, about.get("cad"))}),
        **recordings,
        **_words_of_fit(top.inner("fit")),
    )


def _or_auto(read: Reader) -> Reader:
    """Return what reads a key of [processing] that may be left to the logs."""
    return lambda value: value if value == "auto" else read(value)


@cache
def _processing_readers() -> dict[str, Reader]:
    """Return what reads each field of Processing."""
    hints = get_type_hints(Processing)
    return {f.name: typed(hints[f.name], _words(hints[f.name])) for f in fields(Processing)}


def _words(hint: Any) -> str:
    """Return in plain words what a field of Processing takes."""
    simple = {float: "a number", int: "a whole number", str: "a text", bool: "true or false", type(None): "'none'"}
    if hint in simple:
        return simple[hint]
    options = get_args(hint)
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(f"'{o}'" for o in options)
    if get_origin(hint) is tuple:
        many = {float: "numbers", int: "whole numbers"}[options[0]]
        return f"a list of {many}" if Ellipsis in options else f"a list of {len(options)} {many}"
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(map(_words, options))
    raise TypeError(f"no words for {hint}")


def _processing(common: dict[str, Any], table: Table) -> Processing:
    """Return the settings of one table, on top of those that hold for all recordings."""
    own = {} if table.path == "processing" else table.values({}, _processing_readers())
    try:
        return Processing(**(common | own))
    except InputError as cause:
        key = cause.key if cause.key in Processing.__dataclass_fields__ else ""
        problem = cause.problem if key or not cause.key else f"{cause.key} {cause.problem}"
        raise table.error(key or "", problem, cause.fix) from None


def _recordings_apart(at: Table, fit: Sequence[str], validate: Sequence[str]) -> None:
    """Refuse a recording that is named twice: held out means another recording."""
    for key, names in (("fit", fit), ("validate", validate)):
        twice = [n for n in names if names.count(n) > 1]
        if twice:
            raise at.error(key, f"'{twice[0]}' is named twice", "Name it once")
    both = [n for n in fit if n in validate]
    if both:
        fix = "Validate on a recording that the fit has not seen"
        raise at.error("", f"'{both[0]}' is in both fit and validate", fix)


def _cad(at: Table, given: str | Literal[False] | None) -> Path | Literal["robot", "none"] | None:
    if given is False or given == "none":
        return "none"
    if given is None or given == "robot":
        return None if given is None else "robot"
    return _path(at, "cad", given, folders=True)


def _path(at: Table, key: str, text: str, *, folders: bool = False) -> Path:
    """Return the file (or folder) that `text` names; see `read_experiment` for what is allowed."""
    folder, steps = at.file.resolve().parent, PurePosixPath(text.replace("\\", "/")).parts
    climbed = next((i for i, step in enumerate(steps) if step != ".."), len(steps))
    if climbed > LEVELS:
        problem = f"the path '{text}' climbs {climbed} folders, at most {LEVELS} are allowed"
        raise at.error(key, problem, "Put the file nearer to the experiment, or under $IDENT_DATA")
    if text.startswith("~") or PurePosixPath(text).is_absolute() or PureWindowsPath(text).anchor:
        fix = "Give it relative to this file's folder, or begin it with $IDENT_DATA"
        raise at.error(key, f"the path '{text}' is absolute", fix)
    if ".." in steps[climbed:] or climbed == len(steps):
        fix = "Name a file, with '..' at the beginning of its path only"
        raise at.error(key, f"the path '{text}' names no file", fix)
    for _ in range(climbed):
        folder = folder.parent
    with at.place(key):
        found = data_path("/".join(steps[climbed:]), folder)
    if not (found.is_file() or (folders and found.is_dir())):
        raise at.error(key, f"there is no file '{text}'", "Correct the path")
    return found


def _calibrate(given: Table) -> Wishes:
    above = typed(float, "a number above 0", lambda x: x > 0)
    spreads = dict.fromkeys(("tilt_deg", "zero_deg", "gain_share", "saturation_share", "skew_ms", "length_mm"), above)
    joints = dict.fromkeys(("zeros", "gains", "saturation", "skew"), _JOINTS)
    return Wishes(**given.values({}, {"gravity": boolean, **joints, "lengths": _NAMES, **spreads}))


def _words_of_fit(fit: Table) -> dict[str, Any]:
    """Return the words of [fit]; raises ConfigError where they contradict each other."""
    if "estimator" in fit.data:
        fix = (
            "Write loss = 'wls' or 'ols', weight = 'cross-validated' or 'vanishing', and feasible = false where links"
            " need not be able to exist"
        )
        raise fit.error("estimator", "is said by loss, weight and feasible now", fix)
    fit.known((*_FIT, "bounds"))
    words = {key: fit.read(key, reader) for key, reader in _FIT.items() if key in fit.data}
    try:
        compatible(*(words.get(key, getattr(Experiment, key)) for key in ("loss", "feasible", "weight", "metric")))
    except InputError as cause:
        raise fit.error(cause.key or "", cause.problem, cause.fix) from None
    return words | {"bounds": _bounds(fit.inner("bounds"))}


def _bounds(given: Table) -> Bounds:
    given.known(("total_mass", "mass", "com", "box", "ellipsoid", "equal", "pinned"))
    total = given.read("total_mass", _PAIR) if "total_mass" in given.data else None
    mass, com, around = (given.inner(k).each(r) for k, r in (("mass", _PAIR), ("com", _BOX), ("box", _BOX)))
    pairs = {f"mass.{link}": pair for link, pair in mass.items()} | ({"total_mass": total} if total else {})
    boxes = (("com", com), ("box", around))
    pairs |= {
        f"{k}.{x}": pair for k, links in boxes for x, three in links.items() for pair in three if pair[0] > pair[1]
    }
    for key, (least, most) in pairs.items():
        if not least <= most:
            raise given.error(key, f"the bounds are empty: {least:g} to {most:g}", "Swap them?")
        if not key.startswith(("com", "box")) and most <= 0:
            raise given.error(key, f"the bounds {least:g} to {most:g} kg allow no mass")
    ellipsoids, shapes = {}, given.inner("ellipsoid")
    for link in shapes.data:
        shape = shapes.table(link).values(
            {
                "centre": typed(_Three, "three numbers, x, y, z in m"),
                "semi_axes": typed(
                    _Three | tuple[_Three, _Three, _Three],
                    "three lengths along the link's axes, or three vectors, in m",
                ),
            },
            {},
        )
        with shapes.place(link):
            axes = np.array(shape["semi_axes"])
            ellipsoids[link] = Ellipsoid(np.array(shape["centre"]), np.diag(axes) if axes.ndim == 1 else axes.T)
    alike = typed(
        tuple[tuple[str, ...], ...],
        "a list of lists, each of two or more links that are alike",
        lambda groups: all(len(group) > 1 for group in groups),
    )
    pinned = given.inner("pinned").each(typed(float, "a number in SI units"))
    return Bounds(mass, total, com, ellipsoids, around, given.read("equal", alike, ()), pinned)
