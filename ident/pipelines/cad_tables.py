"""A CAD table against an experiment's logs: `ident cad doctor`, `refine` and `report`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array
from ident.cad import back_to_cad
from ident.cad.convention import PLAIN
from ident.cad.table import Cad
from ident.compare.causes.geometries import described_by
from ident.compare.causes.reading import Reading, rows_of
from ident.compare.causes.tables import Table, faults_told, table_search
from ident.compare.causes.weighing import Weigher
from ident.compare.doctor import Diagnosis, doctor, other_convention
from ident.compare.doctor.evidence import usual_errors
from ident.compare.doctor.hypotheses import OtherView
from ident.errors import CadError, EstimationError, InputError, RegressionError, need
from ident.estimate import Prior, Tolerances, cad_prior, estimated, intervals, refine_cad, solid_bodies, verdicts
from ident.estimate.estimate import NamedCause
from ident.estimate.estimators import Weight
from ident.estimate.interval import Intervals, NumberVerdict, natural
from ident.estimate.refined import Refined
from ident.estimate.storage import load_estimate
from ident.experiment import build_model, read_experiment
from ident.files import file_word, whole_folder, write_whole
from ident.logs import Motion
from ident.pipelines.checked_cad import table_ending
from ident.pipelines.doctor import causes_of, examination
from ident.pipelines.estimated import require_apart, sources_of
from ident.pipelines.factors import as_compressed, load_factors
from ident.pipelines.loaded import Loaded, load, shapes_of
from ident.pipelines.select import with_springs, with_terms
from ident.pipelines.stated_tables import settled_in, table_of
from ident.pipelines.steps import Warned, log_warned, motions
from ident.pipelines.wishes import CadWishes, RefineWishes
from ident.regression import Regression, base_parameters, compress, load_regression
from ident.tell import Tell, logged

#: Tolerance of a link of which the table says nothing that is sure, about a solid body of its size.
FREE = 1.0
#: A number that ended this many tolerances farther from CAD than the logs ask for is warned of.
FAR = 3.0
#: What solvers leave of an end of an interval.
_SLACK = 1e-3
_STATED, _WEIGHTED = CadWishes(), RefineWishes()


@dataclass(frozen=True, eq=False)
class Examined:
    """An experiment's model and factors, its CAD table, what the doctor says of it, and what to know of the logs.

    source: where the table comes from, None for the robot's own description. outside: what is wrong with the robot file
    or the logs: looked for in logs where the table seems wrong; of a saved fit, which has no `motions`, what was named
    with it (`refused`).
    """

    loaded: Loaded
    regression: Regression
    cad: Cad
    source: Path | None
    diagnosis: Diagnosis
    warnings: tuple[Warned, ...]
    outside: tuple[NamedCause, ...] = ()
    refused: bool = False
    motions: tuple[Motion, ...] = ()


@dataclass(frozen=True, eq=False)
class RefinedTable:
    """What was examined, the refined table in the links of the given one, and all numbers side by side.

    allowed: what the logs allow for each number, None where that was not asked. far: a warning of numbers that ended
    farther from CAD than its tolerance (data-first: and the logs) ask for, "" without. odd: sentences on radii of
    gyration that neither CAD's tolerance nor the logs allow.
    """

    examined: Examined
    table: Cad
    refined: Refined
    allowed: Intervals | None
    changes: tuple[back_to_cad.Change, ...]
    far: str
    odd: tuple[str, ...]


def cad_doctor(
    experiment: str | Path, wishes: CadWishes = _STATED, out: str | Path | None = None, *, tell: Tell = logged
) -> Examined:
    """Say which known mistakes of a CAD table the experiment's logs show, and which they could not.

    out: table (.csv, .toml) to write, without the mistakes that are sure. Raises InputError for another ending,
    CadError, ConfigError, RobotError, LogError for the files, RegressionError for a fit of another model, and CadError
    where a table is to be written though the robot file or the logs are wrong, by a saved fit or here.
    """
    table_ending(out)
    if out is not None:
        require_apart(out, (*sources_of(read_experiment(experiment)), wishes.cad))
    found = _examined(Path(experiment), wishes, tell)
    if out is not None:
        _require_table_alone(found)
        corrected = back_to_cad.refined_cad(found.cad, found.loaded.robot, found.diagnosis.corrected)
        back_to_cad.write_cad(corrected, found.cad.convention, out)
    return found


def cad_refine(
    experiment: str | Path,
    out: str | Path,
    wishes: CadWishes = _STATED,
    how: RefineWishes = _WEIGHTED,
    *,
    tell: Tell = logged,
) -> RefinedTable:
    """Correct what the doctor is sure of, and write the table (.csv, .toml) that agrees with the logs closest to CAD.

    Raises what `cad_doctor` raises, and EstimationError where no links that can exist explain the logs.
    """
    table_ending(out)
    require_apart(out, (*sources_of(read_experiment(experiment)), wishes.cad))
    _sensible(how)
    found = _examined(Path(experiment), wishes, tell)
    _require_table_alone(found)
    done = _refined(found, how, tell, whole=False)
    back_to_cad.write_cad(done.table, found.cad.convention, out)
    return done


def cad_report(
    experiment: str | Path,
    out: str | Path,
    wishes: CadWishes = _STATED,
    how: RefineWishes = _WEIGHTED,
    *,
    tell: Tell = logged,
) -> RefinedTable:
    """Write a folder: findings, the refined table as it came, numbers side by side, what the logs allow, and figures.

    The folder appears whole or not at all. Raises what `cad_refine` raises, and InputError for a folder in use.
    """
    _sensible(how)
    need("matplotlib")
    with whole_folder(out) as work:  # which refuses a folder in use at once
        found = _examined(Path(experiment), wishes, tell)
        _require_table_alone(found)
        done = _refined(found, how, tell, whole=True)
        _write_report(work, done)
    return done


def _examined(path: Path, wishes: CadWishes, tell: Tell) -> Examined:
    """Read the experiment and the table, and let the doctor look at them."""
    if wishes.tolerance is not None and not 0 < wishes.tolerance < 1:
        raise CadError(f"is {wishes.tolerance:g}", key="--tolerance", fix="Write a share, such as 0.03")
    experiment = read_experiment(path)
    unloaded = tuple(term for term in experiment.terms if not getattr(term, "needs", ()))
    plain = replace(experiment, cad="none", terms=unloaded)
    loaded = load(plain)  # the table may be one that cannot exist
    robot = loaded.robot
    table, given = table_of(experiment, robot, wishes)
    inertials = table.for_robot(robot)
    if unloaded != experiment.terms:
        model = build_model(experiment, robot, inertials)
        loaded = replace(loaded, experiment=experiment, model=model, base=base_parameters(model))
    known = Table(table, settled_in(given), other_convention(experiment.robot), described_by(experiment.robot))
    start, springs = loaded, dict[tuple[str, str], str]()
    outside = tuple[NamedCause, ...]()
    while True:
        warned, moved = list[Warned](), list[Motion]()
        if wishes.fit is not None:
            loaded, regression, outside = _fitted(wishes.fit, loaded)
        else:
            loaded = with_springs(start, springs, warned) if springs else start
            loaded = with_terms(loaded, warned, tell)
            moved += motions(loaded, experiment.fit, experiment.processing, warned, tell)
            regression = compress(loaded.model, moved, base=loaded.base)
        tell("looking for mistakes", 0, 1)
        search = table_search(loaded.model, regression, known, moved, tolerance=wishes.tolerance)
        if moved:
            weigher = Weigher(loaded.model, rows_of(moved, thinned=True), loaded.prior)
            told, diagnosis = faults_told(weigher, Reading.plain(robot), search, known)
            faults = (replace(f.fault, slight=f.ordinary) for f in sorted(told, key=lambda f: f.ordinary))
            diagnosis = replace(diagnosis, faults=tuple(faults))
        else:
            diagnosis = doctor(search)
        tell("looking for mistakes", 1, 1)
        elastic = (f for f in diagnosis.faults if f.kind == "elastic" and f.asserted and not f.slight)
        more = {(f.where, f.what): f.evidence for f in elastic}
        if not more or experiment.own_model:
            break
        springs |= more
    refused = bool(outside)
    if moved:
        outside = causes_of(examination(loaded, tell, moved), loaded)
    log_warned(warned)
    return Examined(loaded, regression, table, given, diagnosis, tuple(warned), outside, refused, tuple(moved))


def _require_table_alone(found: Examined) -> None:
    """Raise CadError where the robot file or the logs are wrong, for which a table must not make up."""
    alone = found.refused or not found.diagnosis.faults  # rivals in the table are not known to the others
    sure = [str(cause) for cause in found.outside if alone or not cause.rivals]
    sure += [str(f) for f in found.diagnosis.faults if isinstance(f.move, OtherView) and f.asserted and not f.slight]
    if sure:
        problem = f"is not to be corrected: the mistake is elsewhere, {sure[0]}"
        fix = "Mend that first; `ident doctor` says more"
        raise CadError(problem, file=found.source or found.loaded.experiment.robot, fix=fix)


def _fitted(fit: Path, loaded: Loaded) -> tuple[Loaded, Regression, tuple[NamedCause, ...]]:
    """Return the experiment with a saved estimate's joint terms, the factors beside that, and what was wrong with it.

    Raises RegressionError where they are another model's.
    """
    folder = fit if fit.is_dir() else fit.parent
    path = fit if fit.suffix == ".npz" else folder / "factors.npz"
    if not path.exists():
        fix = "Give the folder of results that `ident run` wrote, or leave out --fit"
        raise RegressionError(f"is not there, or holds no {path.name}", file=fit, key="--fit", fix=fix)
    regression = load_regression(path)
    if regression.model != loaded.model.fingerprint() and not loaded.experiment.own_model:
        loaded = as_compressed(loaded, load_factors(path))
    if regression.model != loaded.model.fingerprint():
        problem = "belongs to another robot or model than the experiment's"
        raise RegressionError(problem, file=path, fix="Run `ident run` again, or leave out --fit")
    estimate = path.with_name("estimate.json")
    causes = load_estimate(estimate).causes if estimate.is_file() else ()
    return loaded, regression, tuple(cause for cause in causes if not cause.by_table)  # the table is examined anew


def _refined(found: Examined, how: RefineWishes, tell: Tell, *, whole: bool) -> RefinedTable:
    """Return the refined table; `whole`: with what the logs allow for each number."""
    tell("refining", 0, 1)
    model, diagnosis = found.loaded.model, found.diagnosis
    corrected = solid_bodies(model.robot, diagnosis.corrected, list(diagnosis.unknown))
    left = {model.robot.links.index(link): known for link, known in diagnosis.left.items()}
    for i, (body, _) in left.items():
        corrected[i] = body
    prior = cad_prior(model.robot, corrected, f"{found.cad.source}, corrected", found.cad.joint_values)
    bounds = found.loaded.experiment.bounds
    free = np.array([link in diagnosis.unknown for link in model.robot.links])
    shares = np.where(free[:, None], FREE, diagnosis.shares)
    far = ""
    if how.way == "weighted":
        mass, centre, tensor = (Tolerances.shares(prior, share) for share in shares.T)
        tolerances = Tolerances(
            how.mass_tolerance or mass.mass,
            centre.centre if how.centre_tolerance is None else how.centre_tolerance / 1000,
            how.tensor_tolerance or tensor.tensor,
            covariances={i: covariance for i, (_, covariance) in left.items()},
        )
        errors = usual_errors(model, found.regression, *diagnosis.errors, found.motions)
        refined = refine_cad(model, found.regression, prior, metric=tolerances, bounds=bounds, errors=errors)
        far = _moved(found, refined, prior, tolerances)
    else:
        weight: Weight = "vanishing" if how.way == "data-first" else "cross-validated"
        refined = refine_cad(model, found.regression, prior, weight=weight, bounds=bounds)
    assert refined.estimate.inertials is not None
    doubtful = _apart(refined.estimate.inertials, prior.inertials, shares)
    asked = whole or how.way == "data-first" or bool(doubtful.any())
    allowed = intervals(model, found.regression, prior, bounds=bounds) if asked else None
    odd = odd_radii(model.robot.links, refined.estimate.inertials, doubtful, allowed) if allowed else ()
    table = back_to_cad.refined_cad(found.cad, model.robot, refined.estimate.inertials)
    judged = verdicts(allowed, diagnosis.corrected) if whole and allowed else None
    if how.way == "data-first" and allowed is not None:
        far = _far(found, refined, allowed)
    tell("refining", 1, 1)
    return RefinedTable(found, table, refined, allowed, _changes(found, table, refined, judged), far, odd)


def _radii(inertials: Array) -> Array:
    """Return each body's radii of gyration (n, 3) [m] about the axes of its link's frame."""
    values = natural(inertials)[0]
    return np.asarray(np.sqrt(values[:, [4, 7, 9]] / values[:, :1]))


def _apart(refined: Array, cad: Array, shares: Array) -> NDArray[np.bool_]:
    """Return which radii of gyration (n, 3) are farther from CAD's than FAR tolerances, of mass, centre and tensor."""
    allowed = 1.0 + FAR * np.sum(shares, axis=1, keepdims=True) / 2.0
    ratio = _radii(refined) / _radii(cad)
    return np.asarray((ratio > allowed) | (ratio < 1.0 / allowed))


def odd_radii(links: Sequence[str], refined: Array, doubtful: NDArray[np.bool_], allowed: Intervals) -> tuple[str, ...]:
    """Return a sentence on each doubtful radius of gyration (n, 3) that is outside of what the logs allow."""
    ends = np.array([(a.lower, a.upper) for a in allowed.numbers]).reshape(-1, 10, 2)
    mass, moments = ends[:, :1], ends[:, [4, 7, 9]]
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.sqrt(np.maximum(moments[..., 0], 0.0) / mass[..., 1])
        most = np.sqrt(moments[..., 1] / np.maximum(mass[..., 0], 0.0))
    radii = _radii(refined)
    outside = doubtful & ((radii < (1.0 - _SLACK) * least) | (radii > (1.0 + _SLACK) * most))
    return tuple(
        f"the radius of gyration of '{links[i]}' about its {'xyz'[k]} axis, {radii[i, k]:.3g} m, is neither within"
        f" CAD's tolerance nor within what the logs allow, {least[i, k]:.3g} to {most[i, k]:.3g} m"
        for i, k in np.argwhere(outside)
    )


def _sensible(how: RefineWishes) -> None:
    """Raise InputError for wishes that cannot be meant."""
    if how.way not in ("weighted", "data-first", "cross-validated"):
        raise InputError(f"unknown word '{how.way}'", key="--way", fix="Write weighted, data-first or cross-validated")
    for key, value, most, fix in (
        ("--mass-tolerance", how.mass_tolerance, 1.0, "Write a share, such as 0.02"),
        ("--centre-tolerance", how.centre_tolerance, inf, "Write millimetres, such as 1"),
        ("--tensor-tolerance", how.tensor_tolerance, 1.0, "Write a share, such as 0.02"),
    ):
        if value is not None and how.way != "weighted":
            raise InputError(f"is not used by --way {how.way}", key=key, fix="Leave it out, or write --way weighted")
        if value is not None and not 0 < value < most:
            raise InputError(f"is {value:g}", key=key, fix=fix)


def _moved(found: Examined, refined: Refined, prior: Prior, tolerances: Tolerances) -> str:
    """Return a warning of numbers of links that were not freed, and yet ended far from CAD by its tolerances; or ""."""
    assert refined.estimate.inertials is not None
    trusted = np.repeat([link not in found.diagnosis.unknown for link in found.loaded.robot.links], 10)
    off = np.abs(tolerances.root(prior) @ (refined.estimate.inertials - prior.inertials).ravel()) * trusted
    if not (off > FAR).any():
        return ""
    return (
        f"{(off > FAR).sum()} of {trusted.sum()} numbers that were not freed ended more than {FAR:g} tolerances from "
        f"CAD, {refined.numbers[int(np.argmax(off))].name} by {off.max():.0f}: no mistake of the list explains why the "
        "logs ask for that"
    )


def _far(found: Examined, refined: Refined, allowed: Intervals) -> str:
    """Return a warning of numbers that ended farther from CAD than their intervals and CAD's tolerance ask for."""
    assert refined.estimate.inertials is not None
    links = found.loaded.robot.links
    trusted = np.repeat([link not in found.diagnosis.unknown for link in links], 10)
    cad, size = (x.ravel() for x in natural(found.diagnosis.corrected))
    ended = natural(refined.estimate.inertials)[0].ravel()
    lower, upper = np.array([(a.lower, a.upper) for a in allowed.numbers]).T
    asked = np.maximum(np.maximum(lower - cad, cad - upper), 0.0)  # by the logs
    over = (np.abs(ended - cad) - asked) / (np.repeat(found.diagnosis.shares, (1, 3, 6), axis=1).ravel() * size)
    far = trusted & (over > FAR)
    if not far.any():
        return ""
    worst = int(np.argmax(np.where(far, over, -1.0)))
    return (
        f"{far.sum()} of {trusted.sum()} numbers ended farther from CAD than the logs ask for, "
        f"{allowed.numbers[worst].name} by {over[worst]:.0f} tolerances: data-first follows the noise in what the "
        "logs hardly show, --way weighted does not"
    )


def _changes(
    found: Examined, table: Cad, refined: Refined, judged: Mapping[str, NumberVerdict] | None
) -> tuple[back_to_cad.Change, ...]:
    """Return all numbers side by side, with what is known of why each changed."""
    convention = found.cad.table.convention if found.cad.table else PLAIN
    moved = " (about the link's origin)" if convention.tensor_at == "center_of_mass" else ""
    known = {*refined.estimate.fixed_by_data}  # by themselves; of the others only sums
    why: dict[str, list[str]] = {}
    for fault in found.diagnosis.faults:
        for n in fault.numbers if fault.asserted else ():
            why.setdefault(n.name, []).append(fault.what)
    for number in refined.numbers:
        said = why.setdefault(number.name, [])
        link, _, entry = number.name.rpartition(".")
        if link in found.diagnosis.unknown:
            said.append("freed from the table")
        if judged and number.name in judged:
            said.append(judged[number.name])
        parts = {"m": ("m",), "c": ("m", f"h{entry[-1]}")}.get(entry[0], (entry,))
        alone = known.issuperset(f"{link}.{part}" for part in parts) or number.data_share <= 0.005
        logs = "the logs" if alone else "the logs, with CAD's other numbers"
        said.append(f"{100 * number.data_share:.0f} % from {logs}{moved if entry.startswith('I') else ''}")
    return back_to_cad.changes(found.cad, table, {name: "; ".join(parts) for name, parts in why.items()})


def _write_report(work: Path, done: RefinedTable) -> None:
    from ident.report.body_figures import link_figure
    from ident.report.figures import save_figure
    from ident.report.outcome_text import diagnosis_sentences, freed_sentences, interval_sentences

    found, allowed = done.examined, done.allowed
    assert allowed is not None
    assert done.refined.estimate.inertials is not None
    identified, robot, corrected = _identified(found), found.loaded.robot, found.diagnosis.corrected
    given = found.cad.for_robot(robot)
    as_given, as_corrected = verdicts(allowed, given), verdicts(allowed, corrected)
    back_to_cad.write_cad(done.table, found.cad.convention, work / "refined.csv")
    back_to_cad.write_changes(done.changes, work / "side_by_side.csv")
    ends = {a.name: (a.lower, a.upper) for a in allowed.numbers}
    judged = {name: (as_given[name], as_corrected[name]) for name in as_corrected}
    back_to_cad.write_intervals(found.cad, robot, corrected, ends, judged, work / "intervals.csv")
    findings = diagnosis_sentences(found.diagnosis, found.cad) + freed_sentences(found.diagnosis)
    write_whole(work / "findings.txt", "\n".join([*findings, *interval_sentences(allowed)]) + "\n")
    outlines = {link: np.concatenate(shapes) for link, shapes in shapes_of(found.loaded).items()}
    words = [file_word(link, "link") for link in robot.links]
    for i, (link, word) in enumerate(zip(robot.links, words, strict=True)):
        bodies = {"CAD": given[i], "refined": done.refined.estimate.inertials[i]}
        if identified is not None:
            bodies["identified"] = identified[i]
        name = word if words.count(word) == 1 else f"{word}_{i + 1}"
        save_figure(link_figure(link, bodies, outlines.get(link)), work / f"{name}.png")


def _identified(found: Examined) -> Array | None:
    """Return the links (n, 10) that the logs tell without CAD, the rest drawn to neutral rods; None without success."""
    model, bounds = found.loaded.model, found.loaded.experiment.bounds
    try:
        return estimated(model, found.regression, weight="vanishing", bounds=bounds).inertials
    except EstimationError:
        return None
