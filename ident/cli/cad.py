"""The commands `ident cad read|check|doctor|refine|report`: what a CAD report or table says, what is wrong with it, and
what it should say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ident.cli.console import EXIT_CODES, PROBLEMS, file_out, guarded, progress, say, show, tell_aside, warn

if TYPE_CHECKING:
    from ident.arrays import Array
    from ident.cad.back_to_cad import Change
    from ident.cad.sheets.evidence import Finding
    from ident.cad.sheets.sheet import Sheet
    from ident.cad.table import Cad
    from ident.compare.doctor import Diagnosis, Fault
    from ident.estimate.interval import Intervals, NumberVerdict
    from ident.estimate.refined import Refined
    from ident.logs.motion import Motion
    from ident.model.model import Model
    from ident.pipelines.loaded import Loaded
    from ident.pipelines.warned import Warned
    from ident.regression import Regression
    from ident.spatial.pose import Pose
    from ident.tell import Tell

app = typer.Typer(
    name="cad",
    help="Read mass-property reports and tables of CAD programs, and find their mistakes.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Source = Annotated[
    Path,
    typer.Argument(
        metavar="FILE_OR_FOLDER",
        help="Report (.txt, .m_p), folder of reports LINK.txt, table (.csv, .toml), URDF or MJCF",
    ),
]
ProductsOption = Annotated[
    str | None,
    typer.Option(
        "--products",
        help="Sign of the printed products, where it is known: 'tensor' (-integral of x y dm) or 'positive'",
    ),
]
ExperimentPath = Annotated[
    Path, typer.Argument(metavar="EXPERIMENT", help="Folder of an experiment, or its .toml file")
]
CadOption = Annotated[
    Path | None,
    typer.Option("--cad", help="Report, folder of reports, or table; without: the experiment's, or the robot's own"),
]
FramesOption = Annotated[
    Path | None,
    typer.Option(
        "--frames",
        help="Where the CAD output frames stand in their link frames, .toml: under \\[LINK] position = [0, 0, 0.1] (m)"
        " and rpy = [0, 0, 1.57] (rad, fixed axes); what is left out is 0",
    ),
]
FitOption = Annotated[
    Path | None,
    typer.Option("--fit", help="What `ident run` wrote (folder or estimate.json), instead of reading the logs again"),
]
ToleranceOption = Annotated[
    float | None,
    typer.Option("--tolerance", help="How far right CAD numbers may be off, a share; learnt from the logs if left out"),
]
WayOption = Annotated[
    str, typer.Option("--way", help="weighted (by the tolerance), data-first, or cross-validated (over recordings)")
]
MassOption = Annotated[
    float | None, typer.Option("--mass-tolerance", help="How far masses may be off, a share, such as 0.02")
]
CentreOption = Annotated[
    float | None, typer.Option("--centre-tolerance", help="How far centres of mass may be off along each axis \\[mm]")
]
TensorOption = Annotated[
    float | None, typer.Option("--tensor-tolerance", help="How far tensors about the centre may be off, a share")
]


@app.command(epilog=EXIT_CODES)
@guarded
def read(
    source: Source,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", parser=file_out("cad.csv"), metavar="PATH", help="Table to write, .csv or .toml"),
    ] = None,
    products: ProductsOption = None,
    frames: FramesOption = None,
    robot: Annotated[Path | None, typer.Option("--robot", help="Robot whose links the table must have")] = None,
) -> None:
    """Print what a report, a folder of reports or a table says; --out writes it as a table."""
    from ident.cad.source import is_sheet
    from ident.errors import InputError

    if out is not None and out.suffix not in (".csv", ".toml"):
        raise InputError(f"ends in '{out.suffix}'", file=out, fix="Choose .csv or .toml")
    if is_sheet(source):
        from ident.cad.sheets.read_sheet import read_sheet

        _show_sheet(read_sheet(source))
        if out is None and frames is None and robot is None:
            return
    cad = _cad(source, products, frames, robot)
    _show_cad(cad)
    if out is not None:
        _write(cad, out)


@app.command(epilog=EXIT_CODES)
@guarded
def check(
    source: Source,
    meshes: Annotated[
        Path | None, typer.Option("--meshes", help="Folder of a URDF's meshes or of its package, where not its own")
    ] = None,
) -> None:
    """Say what the numbers tell about their own signs, points and units; needs no log and no robot.

    Links of a URDF are also held against their own collision shapes.
    """
    from ident.cad.source import is_sheet
    from ident.errors import InputError

    urdf = source.suffix.lower() in (".urdf", ".xml")
    if meshes is not None and not (urdf and meshes.is_dir()):
        problem = "is no folder" if urdf else "is for a URDF"
        raise InputError(problem, key="--meshes", fix="Leave it out" if not urdf else "Give the folder of the meshes")
    if source.is_dir() or is_sheet(source):
        problems = _check_reports(source)
    else:
        problems = _check_table(_cad(source, None, None, None))
        if urdf:
            problems += _check_shapes(source, (meshes or source.parent).resolve())
    say("no problem found" if not problems else "1 problem" if problems == 1 else f"{problems} problems", "bold")
    if problems:
        raise typer.Exit(PROBLEMS)


@app.command(epilog=EXIT_CODES)
@guarded
def doctor(
    experiment: ExperimentPath,
    cad: CadOption = None,
    products: ProductsOption = None,
    frames: FramesOption = None,
    tolerance: ToleranceOption = None,
    fit: FitOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            parser=file_out("cad.csv"),
            metavar="PATH",
            help="Table to write without the mistakes that are sure, .csv or .toml",
        ),
    ] = None,
) -> None:
    """Say which known mistakes of the CAD table the experiment's logs show, and which they could not."""
    _table_ending(out)
    with progress() as tell:
        found = _examined(experiment, cad, products, frames, tolerance, fit, tell)
    warn(found.warned)
    _show_diagnosis(found.diagnosis, found.cad)
    if out is not None:
        from ident.cad.back_to_cad import refined_cad, write_refined

        write_refined(found.cad, refined_cad(found.cad, found.loaded.robot, found.diagnosis.corrected), out)
        say(f"wrote {out.name}")
    if found.diagnosis.faults:
        raise typer.Exit(PROBLEMS)


@app.command(epilog=EXIT_CODES)
@guarded
def refine(
    experiment: ExperimentPath,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", parser=file_out("cad.csv"), metavar="PATH", help="Table to write, .csv or .toml"),
    ],
    cad: CadOption = None,
    products: ProductsOption = None,
    frames: FramesOption = None,
    tolerance: ToleranceOption = None,
    fit: FitOption = None,
    way: WayOption = "weighted",
    mass_tolerance: MassOption = None,
    centre_tolerance: CentreOption = None,
    tensor_tolerance: TensorOption = None,
) -> None:
    """Correct what the doctor is sure of, and write the table that agrees with the logs and is closest to CAD."""
    _table_ending(out)
    with progress() as tell:
        found = _examined(experiment, cad, products, frames, tolerance, fit, tell)
        tell("refining", 0, 1)
        stated = (mass_tolerance, centre_tolerance, tensor_tolerance)
        table, refined, allowed = _refined(found, way, stated, judge=way == "data-first")
        tell("refining", 1, 1)
    warn(found.warned)
    _show_diagnosis(found.diagnosis, found.cad)
    _show_freed(found.diagnosis)
    from ident.cad.back_to_cad import write_refined
    from ident.report.text import number
    from ident.report.text import table as rows

    shown = [
        (c.link, c.number, c.unit, number(c.given, 6), number(c.refined, 6), c.why)
        for c in _changes(found, table, refined)
    ]
    show(rows("Given and refined", ("link", "number", "unit", "given", "refined", "why"), shown))
    write_refined(found.cad, table, out)
    say(f"wrote {out.name}")
    if allowed is not None:
        _warn_of_far(found, refined, allowed)
    if found.diagnosis.unknown:
        raise typer.Exit(PROBLEMS)


@app.command(epilog=EXIT_CODES)
@guarded
def report(
    experiment: ExperimentPath,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write")],
    cad: CadOption = None,
    products: ProductsOption = None,
    frames: FramesOption = None,
    tolerance: ToleranceOption = None,
    fit: FitOption = None,
    way: WayOption = "weighted",
    mass_tolerance: MassOption = None,
    centre_tolerance: CentreOption = None,
    tensor_tolerance: TensorOption = None,
) -> None:
    """Write findings, the refined table as it came, numbers side by side, what the logs allow for each, and figures."""
    with progress() as tell:
        found = _examined(experiment, cad, products, frames, tolerance, fit, tell)
        tell("refining", 0, 1)
        stated = (mass_tolerance, centre_tolerance, tensor_tolerance)
        table, refined, allowed = _refined(found, way, stated, judge=True)
        assert allowed is not None
        tell("refining", 1, 1)
        _write_report(out, found, table, refined, allowed, products, frames)
    warn(found.warned)
    _show_diagnosis(found.diagnosis, found.cad)
    _show_freed(found.diagnosis)
    names = sorted(p.name + "/" * p.is_dir() for p in out.iterdir())
    say(f"wrote {', '.join(names)} to {out}")
    if way == "data-first":
        _warn_of_far(found, refined, allowed)
    if found.diagnosis.unknown:
        raise typer.Exit(PROBLEMS)


@dataclass(frozen=True, eq=False)
class _Found:
    """An experiment's model and factors, its CAD table, what the doctor says, and what to warn of."""

    loaded: Loaded
    regression: Regression
    cad: Cad
    source: Path | None
    diagnosis: Diagnosis
    warned: list[Warned]


def _table_ending(out: Path | None) -> None:
    from ident.errors import InputError

    if out is not None and out.suffix not in (".csv", ".toml"):
        raise InputError(f"ends in '{out.suffix}'", file=out, fix="Choose .csv or .toml")


#: Tolerance of a link of which the table says nothing that is sure, about a solid body of its size.
FREE = 1.0


def _examined(
    path: Path,
    cad: Path | None,
    products: str | None,
    frames: Path | None,
    tolerance: float | None,
    fit: Path | None,
    tell: Tell,
) -> _Found:
    """Read the experiment and the table, and let the doctor look at them."""
    from ident.compare.doctor import doctor, other_convention, settled
    from ident.errors import CadError
    from ident.experiment import build_model, read_experiment
    from ident.pipelines import steps as pipeline
    from ident.pipelines.loaded import load
    from ident.regression import base_parameters, compress

    if tolerance is not None and not 0 < tolerance < 1:
        raise CadError(f"is {tolerance:g}", key="--tolerance", fix="Write a share, such as 0.03")
    experiment = read_experiment(path)
    plain = replace(experiment, cad="none", terms=replace(experiment.terms, load_friction=False))
    loaded = load(plain)  # the table may be one that cannot exist
    given = cad or (experiment.cad if isinstance(experiment.cad, Path) else None)
    if given is not None:
        table = _cad(given, products, frames, experiment.robot)
    else:
        if loaded.robot.inertials is None:
            raise CadError("gives no inertials to examine", file=experiment.robot, fix="Add --cad with a CAD table")
        from ident.cad.table import Cad

        table = Cad(loaded.robot.links, loaded.robot.inertials, experiment.robot.name)
    parameters = table.for_robot(loaded.robot) if given is not None else table.parameters
    if experiment.terms.load_friction:
        model = build_model(experiment, loaded.robot, parameters)
        loaded = replace(loaded, experiment=experiment, model=model, base=base_parameters(model))
    warned: list[Warned] = []
    motions: list[Motion] = []
    if fit is not None:
        regression = _fitted(fit, loaded.model)
    else:
        motions += pipeline.motions(loaded, experiment.fit, experiment.processing, warned, tell)
        regression = compress(loaded.model, motions, base=loaded.base)
    tell("looking for mistakes", 0, 1)
    diagnosis = doctor(
        loaded.model,
        regression,
        parameters,
        joint_values=table.joint_values,
        about_origin=table.table is not None and table.table.convention.tensor_at == "link_origin",
        settled=settled(given) if given is not None and given.is_dir() else (),
        motions=motions,
        geometries=other_convention(experiment.robot),
        tolerance=tolerance,
    )
    tell("looking for mistakes", 1, 1)
    return _Found(loaded, regression, table, given, diagnosis, warned)


def _fitted(fit: Path, model: Model) -> Regression:
    """Return the factors that lie beside a saved estimate; RegressionError where they are another model's."""
    from ident.errors import RegressionError
    from ident.regression import load_regression

    folder = fit if fit.is_dir() else fit.parent
    path = fit if fit.suffix == ".npz" else folder / "factors.npz"
    regression = load_regression(path)
    if regression.model != model.fingerprint():
        raise RegressionError(
            "belongs to another robot or model than the experiment's",
            file=path,
            fix="Run `ident run` again, or leave out --fit",
        )
    return regression


def _refined(
    found: _Found, way: str, stated: tuple[float | None, float | None, float | None], judge: bool = False
) -> tuple[Cad, Refined, Intervals | None]:
    """Return the refined table in the links of the given one, the refinement, and what each number may be.

    stated: tolerances of mass (share), centre [mm] and tensor (share); where None, as the doctor has learnt them.
    """
    import numpy as np

    from ident.cad.back_to_cad import refined_cad
    from ident.errors import InputError
    from ident.estimate import (
        Tolerances,
        cad_prior,
        intervals,
        refine_cad,
        solid_bodies,
    )

    if way not in ("weighted", "data-first", "cross-validated"):
        raise InputError(f"unknown word '{way}'", key="--way", fix="Write weighted, data-first or cross-validated")
    names = ("--mass-tolerance", "--centre-tolerance", "--tensor-tolerance")
    for name, value in zip(names, stated, strict=True):
        if value is not None and way != "weighted":
            raise InputError(f"is not used by --way {way}", key=name, fix="Leave it out, or write --way weighted")
        if value is not None and not 0 < value < (float("inf") if name == names[1] else 1):
            fix = "Write millimetres, such as 1" if name == names[1] else "Write a share, such as 0.02"
            raise InputError(f"is {value:g}", key=name, fix=fix)
    model, unknown = found.loaded.model, found.diagnosis.unknown
    corrected = solid_bodies(model.robot, found.diagnosis.corrected, list(unknown))
    prior = cad_prior(model.robot, corrected, f"{found.cad.source}, corrected", found.cad.joint_values)
    bounds = found.loaded.experiment.bounds
    if way == "weighted":
        free = np.array([link in unknown for link in model.robot.links])
        shares = np.where(free[:, None], FREE, found.diagnosis.shares)
        mass, centre, tensor = (Tolerances.shares(prior, share) for share in shares.T)
        tolerances = Tolerances(
            stated[0] or mass.mass,
            centre.centre if stated[1] is None else stated[1] / 1000,
            stated[2] or tensor.tensor,
        )
        refined = refine_cad(model, found.regression, prior, metric=tolerances, bounds=bounds)
    else:
        refined = refine_cad(
            model,
            found.regression,
            prior,
            weight="vanishing" if way == "data-first" else "cross-validated",
            bounds=bounds,
        )
    allowed = intervals(model, found.regression, prior, bounds=bounds) if judge else None
    assert refined.estimate.inertials is not None
    return refined_cad(found.cad, model.robot, refined.estimate.inertials), refined, allowed


def _freed(diagnosis: Diagnosis) -> list[str]:
    instead = "what the logs leave open of it is a solid body's of its size"
    return [f"PROBLEM: {link} is freed from the table: {why}; {instead}" for link, why in diagnosis.unknown.items()]


def _show_freed(diagnosis: Diagnosis) -> None:
    for line in _freed(diagnosis):
        say(line, "bold red")


def _warn_of_far(found: _Found, refined: Refined, allowed: Intervals) -> None:
    """Warn of numbers that ended farther from CAD than their intervals and CAD's tolerance ask for."""
    import numpy as np

    from ident.estimate.interval import natural

    assert refined.estimate.inertials is not None
    links = found.loaded.robot.links
    trusted = np.repeat([link not in found.diagnosis.unknown for link in links], 10)
    cad, size = (x.ravel() for x in natural(found.diagnosis.corrected))
    ended = natural(refined.estimate.inertials)[0].ravel()
    lower, upper = np.array([(a.lower, a.upper) for a in allowed.numbers]).T
    asked = np.maximum(np.maximum(lower - cad, cad - upper), 0.0)  # by the logs
    over = (np.abs(ended - cad) - asked) / (np.repeat(found.diagnosis.shares, (1, 3, 6), axis=1).ravel() * size)
    far = trusted & (over > 3.0)
    if far.any():
        worst = int(np.argmax(np.where(far, over, -1.0)))
        tell_aside(
            f"warning: {far.sum()} of {trusted.sum()} numbers ended farther from CAD than the logs ask for, "
            f"{allowed.numbers[worst].name} by {over[worst]:.0f} tolerances: data-first follows the noise in what the "
            "logs hardly show, --way weighted does not"
        )


def _changes(
    found: _Found, table: Cad, refined: Refined, verdicts: Mapping[str, NumberVerdict] | None = None
) -> tuple[Change, ...]:
    """Return all numbers side by side, with what is known of why each changed."""
    from ident.cad.back_to_cad import changes
    from ident.cad.convention import PLAIN

    convention = found.cad.table.convention if found.cad.table else PLAIN
    moved = " (about the link's origin)" if convention.tensor_at == "center_of_mass" else ""
    why: dict[str, list[str]] = {}
    for fault in found.diagnosis.faults:
        for n in fault.numbers:
            if fault.asserted:
                why.setdefault(n.name, []).append(fault.what)
    for number in refined.numbers:
        said = why.setdefault(number.name, [])
        if number.name.rpartition(".")[0] in found.diagnosis.unknown:
            said.append("freed from the table")
        if verdicts and number.name in verdicts:
            said.append(verdicts[number.name])
        tensor = number.name.rpartition(".")[2].startswith("I")
        said.append(f"{100 * number.data_share:.0f} % from the logs{moved if tensor else ''}")
    return changes(found.cad, table, {name: "; ".join(parts) for name, parts in why.items()})


def _write_report(
    out: Path,
    found: _Found,
    table: Cad,
    refined: Refined,
    allowed: Intervals,
    products: str | None,
    frames: Path | None,
) -> None:
    """Write all files of `report` to a folder, which appears whole or not at all."""

    from ident.cad.back_to_cad import (
        write_bill_of_materials,
        write_changes,
        write_intervals,
        write_refined,
        write_reports,
    )
    from ident.cad.sheets.read_folder import read_frames
    from ident.cad.source import is_sheet
    from ident.estimate import verdicts
    from ident.files import file_word, whole_folder, write_whole
    from ident.report.cad_figures import link_figure
    from ident.report.fonts import legible

    with whole_folder(out) as work:
        identified, robot, corrected = _identified(found), found.loaded.robot, found.diagnosis.corrected
        given = found.cad.for_robot(robot)
        as_given, as_corrected = verdicts(allowed, given), verdicts(allowed, corrected)
        write_refined(found.cad, table, work / "refined.csv")
        write_changes(_changes(found, table, refined, as_corrected), work / "side_by_side.csv")
        write_intervals(
            found.cad,
            robot,
            corrected,
            {a.name: (a.lower, a.upper) for a in allowed.numbers},
            {name: (as_given[name], as_corrected[name]) for name in as_corrected},
            work / "intervals.csv",
        )
        write_bill_of_materials(found.cad, table, work / "bill_of_materials.csv")
        findings = [*_sentences(found.diagnosis, found.cad), *_freed(found.diagnosis), *_about_intervals(allowed)]
        write_whole(work / "findings.txt", "\n".join(findings) + "\n")
        if found.source is not None and (found.source.is_dir() or is_sheet(found.source)):
            (work / "reports").mkdir()
            poses = _output_frames(found, {} if frames is None else read_frames(frames))
            write_reports(found.source, table, work / "reports", poses, _sign(products))
        clouds = _outlines(found)
        assert refined.estimate.inertials is not None
        words = [file_word(link, "link") for link in robot.links]
        for i, (link, word) in enumerate(zip(robot.links, words, strict=True)):
            bodies = {"CAD": given[i], "refined": refined.estimate.inertials[i]}
            if identified is not None:
                bodies["identified"] = identified[i]
            figure = link_figure(link, bodies, clouds.get(link))
            legible(figure).savefig(work / f"{word if words.count(word) == 1 else f'{word}_{i + 1}'}.png", dpi=130)


def _about_intervals(allowed: Intervals) -> list[str]:
    said = [
        f"intervals.csv: the truth lies in all intervals at once with {100 * allowed.level:.3g} % confidence; an "
        "end that is left out is open; tensors are about the links' origins"
    ]
    if allowed.excess > 1:
        said.append(
            "no links that can exist explain the logs within their noise, so that the intervals may be too narrow"
        )
    return said


def _output_frames(found: _Found, given: Mapping[str, Pose]) -> dict[str, Pose]:
    """Return the reports' output frames seen from their links, as given and as the doctor has found them.

    A report that was printed in another frame than its link's is written again in the frame that its head names.
    """
    from ident.compare.doctor.hypotheses import InLinks
    from ident.spatial.pose import Pose

    robot, poses = found.loaded.robot, dict(given)
    for fault in found.diagnosis.faults:
        if fault.asserted and isinstance(fault.move, InLinks) and (seen := fault.move.mistake.frame):
            for i in fault.move.links:
                link = robot.links[i]
                poses[link] = seen(robot, i).inverse() @ poses.get(link, Pose.identity())
    return poses


def _identified(found: _Found) -> Array | None:
    """Return the links (n, 10) that the logs tell without CAD, the rest drawn to neutral rods; None without success."""
    from ident.errors import EstimationError
    from ident.estimate import estimated

    bounds = found.loaded.experiment.bounds
    try:
        return estimated(found.loaded.model, found.regression, weight="vanishing", bounds=bounds).inertials
    except EstimationError:
        return None


def _outlines(found: _Found) -> dict[str, Array]:
    """Return points of the links' collision shapes where the robot's URDF has them and they can be read."""
    from ident.errors import RobotError
    from ident.geometry.collision_geometry import collision_clouds
    from ident.pipelines.loaded import urdf_source
    from ident.robot.urdf import parse_document
    from ident.robot.xml import read_bytes

    urdf = urdf_source(found.loaded.experiment.robot)
    if urdf is None:
        return {}
    try:
        clouds = collision_clouds(parse_document(read_bytes(urdf), file=urdf.name), found.loaded.robot, urdf.parent)
    except RobotError:  # meshes are often left out of a description
        return {}
    return {link: cloud.surface() for link, cloud in clouds.items()}


def _sentences(diagnosis: Diagnosis, cad: Cad) -> list[str]:
    before, after = diagnosis.deviation
    share = f"{100 * diagnosis.tolerance:.2g} %"
    found = [
        f"{cad.source}: {diagnosis.combinations} combinations that the logs determine and CAD states",
        f"differences in standard deviations (of the fit and a tolerance of {share}{_learnt(diagnosis)}): "
        f"{before:.3g} as given, {after:.3g} without what was found",
    ]
    if not diagnosis.faults:
        found.append("no mistake of the list is shown")
        if _beyond(diagnosis):
            said = f"yet the differences are larger than numbers that are right within {share} would have them"
            if diagnosis.learnt is None:
                found.append(f"{said}; without --tolerance it is learnt from the logs, which shows more")
            else:
                found.append(f"{said}: the table as a whole is off by more, no single number stands out")
    for fault in diagnosis.faults:
        found.append(f"{'PROBLEM' if fault.asserted else 'PROBLEM, of several possible'}: {fault.where}: {fault.what}")
        found += [f"    {fault.sure}", f"    {fault.evidence}"]
        changed = _changed(fault)
        shown = changed[:_SHOWN]
        found += [f"    {_in_units_of(cad, *numbers)}" for numbers in shown]
        if len(changed) > len(shown):
            found.append(f"    and {len(changed) - len(shown)} more numbers")
    for u in diagnosis.undecidable:
        found.append(f"cannot be decided: {u.where}: {', '.join(u.kinds)}; {u.why}")
    return found + [f"note: {note}" for note in diagnosis.notes]


def _learnt(diagnosis: Diagnosis) -> str:
    """Return where the tolerance comes from, in words; nothing for one that was given."""
    from ident.compare.doctor import TOLERANCES

    if diagnosis.learnt is None:
        return ""
    low, high = diagnosis.learnt
    ends = f"{100 * low:.2g} to {100 * high:.2g} %"
    if low == TOLERANCES[-1]:
        ends = "that or more"
    elif high == TOLERANCES[0]:
        ends = "that or less"
    return f", learnt from the logs: {ends}"


def _beyond(diagnosis: Diagnosis) -> bool:
    """Return whether CAD's differences are larger than in one right table of a thousand."""
    from scipy.stats import chi2

    d = diagnosis.combinations
    return bool(d and d * diagnosis.deviation[0] ** 2 > chi2.ppf(0.999, d))


_SHOWN = 10  # numbers of one fault


def _changed(fault: Fault) -> list[tuple[str, float, float]]:
    """Return name, given and corrected value of what a fault changes; what conversion leaves of a zero is a zero."""
    sizes: dict[str, float] = {}
    for n in fault.numbers:
        of = n.name[:-1] if n.name[-2] == "c" else n.name[:-2]  # link2.c or link2.I, of all their numbers
        sizes[of] = max(sizes.get(of, 0.0), abs(n.given), abs(n.corrected))

    def clean(name: str, x: float) -> float:
        of = name[:-1] if name[-2] == "c" else name[:-2]
        return 0.0 if abs(x) < 1e-9 * sizes[of] else x

    rows = [(n.name, clean(n.name, n.given), clean(n.name, n.corrected)) for n in fault.numbers]
    return [(name, a, b) for name, a, b in rows if a != b]


def _in_units_of(cad: Cad, name: str, given: float, corrected: float) -> str:
    """Return a number as given and corrected [SI, tensor signs], in the table's own unit and sign."""
    from ident.cad.convention import PLAIN

    convention, part = cad.table.convention if cad.table else PLAIN, name.rpartition(".")[2]
    k = ("m", "c", "I").index(part[0])
    unit, factor = (convention.mass, convention.length, convention.inertia)[k], float(convention.factors[k])
    if k == 2 and part[1] != part[2] and convention.products == "positive":
        factor = -factor
    return f"{name}: {given / factor:z.6g} -> {corrected / factor:z.6g} {unit}"


def _show_diagnosis(diagnosis: Diagnosis, cad: Cad) -> None:
    for line in _sentences(diagnosis, cad):
        style = "bold red" if line.startswith("PROBLEM") else "yellow" if line.startswith("cannot") else ""
        say(line, style)


def _sign(products: str | None) -> Literal["tensor", "positive"] | None:
    from ident.errors import CadError

    if products in (None, "tensor", "positive"):
        return products  # type: ignore[return-value]
    raise CadError(f"unknown word '{products}'", key="--products", fix="Write tensor or positive")


def _cad(source: Path, products: str | None, frames: Path | None, robot: Path | None) -> Cad:
    """Return any source as a table of links."""
    from ident.cad.sheets.read_folder import read_frames
    from ident.cad.source import read_source
    from ident.robot import read_robot

    arm = None if robot is None else read_robot(robot)
    poses = None if frames is None else read_frames(frames)
    return read_source(source, arm, poses, _sign(products))


def _check_reports(source: Path) -> int:
    """Print the findings of every report; return how many problems there are. A report that cannot be read is one."""
    from ident.cad.sheets.evidence import examine, examine_together
    from ident.cad.sheets.read_folder import find_sheets
    from ident.cad.sheets.read_sheet import read_sheet
    from ident.cad.sheets.sheet import Sheet
    from ident.errors import CadError

    problems, reports = 0, dict[str, Sheet]()
    for link, path in (find_sheets(source) if source.is_dir() else {source.stem: source}).items():
        try:
            report = read_sheet(path)
        except CadError as cause:
            if not source.is_dir():
                raise
            say(f"{path.name}: PROBLEM: {cause}", "bold red")
            problems += 1
            continue
        name = f" '{report.name}'" if report.name else ""
        say(f"{link}: {report.program} ({report.language}){name}, mass {report.mass.text} {report.mass.unit}", "bold")
        problems += _show_findings(examine(report))
        reports[link] = report
    together = examine_together(reports)
    if together:
        say("all reports", "bold")
    return problems + _show_findings(together)


def _check_table(cad: Cad) -> int:
    from ident.cad.check import check_cad
    from ident.cad.table_evidence import examine_table

    problems = 0
    say(f"{cad.source}: {len(cad.links)} links", "bold")
    for verdict in check_cad(cad):
        bad = verdict.status == "impossible"
        problems += bad
        say(f"  {verdict}", "bold red" if bad else "")
        for doubt in verdict.doubts:
            problems += 1
            say(f"  PROBLEM (unit): link '{verdict.link}': {doubt}", "bold red")
    return problems + _show_findings(examine_table(cad))


def _check_shapes(source: Path, folder: Path) -> int:
    """Print what the links' own shapes contradict in a URDF, and return how many of these no part left out explains."""
    from ident.compare.shape import against_shapes
    from ident.errors import RobotError
    from ident.geometry.collision_geometry import collision_clouds
    from ident.robot.urdf import parse_document, to_robot
    from ident.robot.xml import parse_xml, read_bytes

    data = read_bytes(source)
    if parse_xml(data, file=source.name).tag == "mujoco":
        return 0
    try:
        urdf = parse_document(data, file=source.name)
        robot = to_robot(urdf)
        clouds = collision_clouds(urdf, robot, folder)
    except RobotError as cause:
        tell_aside(f"note: numbers and shapes were not compared: {cause} (--meshes names another folder of meshes)")
        return 0
    if robot.inertials is None or not clouds:
        return 0
    links = {link: p for link, p in zip(robot.links, robot.inertials, strict=True) if p[0] > 0}
    found = against_shapes(links, {link: cloud.surface() for link, cloud in clouds.items()})
    for misfit in found:
        word, style = ("PROBLEM (shape)", "bold red") if misfit.gross else ("shape", "yellow")
        more = "" if misfit.gross else ", or the shape leaves parts out"
        say(f"  {word}: link '{misfit.link}': {misfit.what}{more}", style)
    judged = [link for link in links if link in clouds]
    if judged and not found:
        say(f"  shape: the numbers of {len(judged)} of {len(robot.links)} links fit their shapes", "green")
    return sum(misfit.gross for misfit in found)


def _show_findings(findings: tuple[Finding, ...]) -> int:
    styles = {"decided": "green", "agrees": "green", "problem": "bold red", "undecided": "yellow", "note": ""}
    for f in findings:
        word = "PROBLEM " if f.verdict == "problem" else ""
        line = f" (line {f.line})" if f.line is not None else ""
        say(f"  {word}{f}{line}", styles[f.verdict])
    return sum(f.verdict == "problem" for f in findings)


def _show_sheet(report: Sheet) -> None:
    """Print every number of one report as it is printed, with its unit, its rounding in SI and its line."""
    from ident.cad.sheets.sheet import ENTRIES
    from ident.report.text import number, table

    about = [("title", report.name), ("configuration", report.configuration), ("output frame", report.frame)]
    about.append(("material", report.material))
    said = ", ".join(f"{k} '{v}'" for k, v in about if v)
    say(f"{report.source}: {report.program} ({report.language}){': ' if said else ''}{said}")
    named = [("mass", report.mass), ("density", report.density), ("volume", report.volume), ("area", report.area)]
    named += list(zip(("box length", "box width", "box height"), report.box or (), strict=False))
    named += list(zip(("centre x", "centre y", "centre z"), report.center, strict=True))
    for what, six in (("centre", report.at_center), ("output frame", report.at_origin)):
        named += [(f"I{e} at {what}", n) for e, n in zip(ENTRIES, six, strict=True)] if six else []
    for k, n in enumerate(report.moments or (), 1):
        named.append((f"principal moment {k}", n))
        for j, a in zip("xyz", report.axes[k - 1] if report.axes else (), strict=False):
            named.append((f"its axis {j}", a))
    rows = [
        (name, n.text, n.unit, f"± {number(float(n.half), 2)}", str(n.line), "set by a user" if n.overridden else "")
        for name, n in named
        if n is not None
    ]
    show(table("", ("number", "printed", "unit", "rounding [SI]", "line", ""), rows))
    sign = {
        "positive": "+integral of x y dm",
        "tensor": "-integral of x y dm (entries of the tensor)",
        None: "not stated",
    }
    said = sign[report.stated]
    if report.stated is None and report.documented is not None:
        said += f" here; {report.documented_by} say {sign[report.documented]}"
    say(f"products: {said}")
    for note in report.notes:
        say(f"note: {note.strip('* ')}" if note.startswith("*") else f"not read: {note}")


def _show_cad(cad: Cad) -> None:
    """Print the links in SI: mass, centre, and tensor about the centre with tensor signs."""
    from ident.cad.convention import PLAIN
    from ident.cad.table import printed
    from ident.report.text import number, table

    rows = []
    for link, p in zip(cad.links, cad.parameters, strict=True):
        m, *others = printed(p, PLAIN).tolist()
        rows.append((link, number(m), *(number(x, 4) for x in others)))
    columns = ("link", "m [kg]", "cx [m]", "cy", "cz", "Ixx [kg m^2]", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
    show(table("Links in their frames, tensor about the centre of mass, Ixy = -integral of x y dm", columns, rows))


def _write(cad: Cad, out: Path) -> None:
    from dataclasses import replace

    from ident.cad.convention import SI
    from ident.cad.write import write_cad

    convention = cad.table.convention if cad.table else replace(SI, tensor_at="center_of_mass")
    if out.suffix == ".csv":
        write_cad(cad, convention, out)
    else:
        from ident.cad.write import write_cad_toml

        write_cad_toml(cad, convention, out)
    say(f"wrote {out.name}, {len(cad.links)} links")
