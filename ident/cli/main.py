"""The command line: a thin copy of `ident.pipelines`. Results go to stdout, all else to stderr.

Exit codes: `EXIT_CODES`. Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

import contextlib
import os
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ident.cli.cad import app as cad_app
from ident.cli.console import (
    BAD_INPUT,
    EXIT_CODES,
    FAILED,
    PROBLEMS,
    command_line,
    ended,
    guarded,
    progress,
    say,
    show,
    tell_aside,
    warn,
)
from ident.cli.dynamics import codegen, dynamics
from ident.cli.excite import excite
from ident.cli.export import export
from ident.cli.logs import logs as logs_app
from ident.cli.moves import postures, sweep
from ident.cli.options import file_out
from ident.cli.payload import payload
from ident.cli.report import report

if TYPE_CHECKING:
    from ident.compare import Comparison, Validation
    from ident.estimate import Estimate
    from ident.experiment import Experiment
    from ident.pipelines.identify import Failed, Result
    from ident.pipelines.loaded import Loaded
    from ident.pipelines.warned import Warned
    from ident.report.text import Table
    from ident.robot import Robot

app = typer.Typer(
    name="ident",
    help="Dynamic parameters of robots: identified from logs, compared with CAD, validated, exported.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

ExperimentPath = Annotated[
    Path, typer.Argument(metavar="EXPERIMENT", help="Folder of an experiment, or its .toml file")
]
EstimatePath = Annotated[
    Path, typer.Argument(metavar="ESTIMATE", help="estimate.json that `run` or `fit` wrote, or its folder")
]


def _version(wanted: bool) -> None:
    if wanted:
        from ident import __version__

        typer.echo(f"ident {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop")
    ] = False,
) -> None:
    """Take the options that stand before the command."""


@app.command(epilog=EXIT_CODES)
@guarded
def run(
    experiment: ExperimentPath,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder to write, instead of results/NAME")] = None,
) -> None:
    """Do it all: read, check, fit, compare, validate, export, report."""
    from ident.pipelines import run as whole

    with progress() as tell:
        result = whole(_experiment(experiment), out, tell, command_line())
    warn(result.warnings)
    _show_run(result)
    _end(result.estimate, result.validation, result.failed)


@app.command(epilog=EXIT_CODES)
@guarded
def fit(
    experiment: ExperimentPath,
    out: Annotated[
        Path, typer.Option("--out", "-o", parser=file_out("estimate.json"), metavar="PATH", help="File to write")
    ] = Path("estimate.json"),
) -> None:
    """Fit an experiment and write the estimate."""
    from ident.estimate.storage import save_estimate
    from ident.pipelines import steps as pipeline
    from ident.pipelines.loaded import load
    from ident.report import text

    warned: list[Warned] = []
    with progress() as tell:
        loaded = load(_experiment(experiment))
        estimate, _ = pipeline.fitted(loaded, warned, tell, command_line())
    save_estimate(estimate, out)
    warn(warned)
    _show_notes(loaded)
    show(text.summary_rows(estimate))
    show(text.residual_rows(estimate, loaded.slides))
    say(f"wrote {out}")
    _end(estimate)


@app.command()
@guarded
def compare(
    estimate: EstimatePath,
    cad: Annotated[Path | None, typer.Option("--cad", help="CAD table (.csv, .toml); without: the robot's own")] = None,
    robot: Annotated[Path | None, typer.Option("--robot", help="Robot (.urdf, .toml) of the estimate")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every base parameter")] = False,
) -> None:
    """Compare an estimate with CAD, on the combinations that torque can show."""
    from ident.compare import compare_with
    from ident.errors import InputError
    from ident.estimate.storage import load_estimate
    from ident.robot import read_robot

    found = load_estimate(estimate)
    if robot is None:
        raise InputError("no robot is given", key="--robot", fix="Add --robot with the robot file of the estimate")
    arm = read_robot(robot)
    inertials, joint_values, source = _cad_values(cad, arm, robot)
    comparison = compare_with(found, inertials, joint_values, source)
    _show_comparison(comparison, everything, frozenset(j.name for j in arm.joints if j.kind == "prismatic"))


@app.command(epilog=EXIT_CODES)
@guarded
def validate(estimate: EstimatePath, experiment: ExperimentPath) -> None:
    """Predict the recordings that the experiment keeps for validation, and record the verdict in the estimate."""
    from ident.errors import ConfigError
    from ident.estimate.storage import estimate_file, load_estimate, save_estimate
    from ident.export import with_validation
    from ident.export.gate import VERDICT
    from ident.pipelines import steps as pipeline
    from ident.pipelines.loaded import load
    from ident.report import text

    found, warned = load_estimate(estimate), list[Any]()
    wanted = _experiment(experiment)
    with progress() as tell:
        validation = pipeline.validated(load(wanted), found, None, warned, tell)
    if validation is None:
        raise ConfigError("no recording is kept for validation", file=wanted.file, key="recordings.validate")
    warn(warned)
    show(text.validation_rows(validation))
    judged = with_validation(found, validation)
    if VERDICT in judged.provenance:
        save_estimate(judged, estimate_file(estimate))
        say(f"recorded in {estimate}: validation {judged.provenance[VERDICT]}")
    _end(found, validation)


@app.command(epilog=EXIT_CODES)
@guarded
def check(
    file: Annotated[Path, typer.Argument(help="Robot, CAD table, dataset.toml, log file or experiment")],
    robot: Annotated[Path | None, typer.Option("--robot", help="Robot that a CAD table or a log belongs to")] = None,
    recording: Annotated[str | None, typer.Option("--recording", help="Only this recording of a data set")] = None,
) -> None:
    """Say what a file is and whether it can be used; exit code 4 when there are problems."""
    problems = _CHECKS[_kind(file)](file, robot, recording)
    if problems:
        raise ended(f"{problems} problem{'s' if problems > 1 else ''} found", PROBLEMS)


app.command()(dynamics)
app.command()(codegen)
app.command()(excite)
app.command()(postures)
app.command()(sweep)
app.command(epilog=EXIT_CODES)(export)
app.command()(payload)
app.command()(report)
app.add_typer(cad_app, name="cad")
app.add_typer(logs_app, name="logs")


def main() -> None:
    """Run the command line."""
    # Matrices are small here, and a busy machine's cores wait for each other: one BLAS thread is never slower by much.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    app()


# ---- check ---------------------------------------------------------------------------------------------------------


def _kind(file: Path) -> str:
    """Return what a file is, by its ending and the tables in it."""
    from ident.errors import InputError
    from ident.logs.manifest import manifest_of

    if file.is_dir():
        if not (file / "experiment.toml").is_file() and any(file.glob("*.txt")):
            fix = f"Reports of a CAD program: ident cad check {file.name}"
            raise InputError("is a folder without an experiment.toml", file=file, fix=fix)
        return "experiment"
    ending = file.suffix.lower()
    if ending in (".urdf", ".xml"):
        return "robot"
    if ending in (".npz", ".mat", ".parquet") or (ending in (".txt", ".csv") and manifest_of(file)):
        return "log"
    if ending in (".txt", ".csv"):
        head = b"link"
        with contextlib.suppress(OSError), file.open("rb") as stream:  # what cannot be read is told by its reader
            head = stream.read(65536).lower().replace(b"\0", b"")
        if b"link" not in head:
            none = "is named by no dataset.toml beside it that can be read, and is no CAD table: no column 'link'"
            problem = none if head.strip() else "is empty"
            fix = "Name a log in a dataset.toml beside it; give a CAD table the header that README shows"
            raise InputError(problem, file=file, fix=fix)
        return "cad"
    if ending != ".toml":
        raise InputError("is nothing that can be checked", file=file, fix="Give a .toml, .urdf, .csv or log file")
    try:
        keys = tomllib.loads(file.read_text(encoding="utf-8")).keys()
    except OSError as cause:
        raise InputError(f"cannot be read: {cause.strerror}", file=file) from None
    except (ValueError, RecursionError) as cause:
        raise InputError(f"is not valid TOML: {cause}", file=file) from None
    if "experiment" in keys:
        return "experiment"
    if keys & {"dataset", "recording"}:
        return "dataset"
    if keys & {"link", "table"}:
        return "cad"
    if keys & {"urdf", "joint"}:
        return "robot"
    raise InputError("is no robot, CAD table, data set or experiment", file=file)


def _check_robot(file: Path, _: Path | None, __: str | None) -> int:
    import numpy as np

    from ident.logs.tables import plural
    from ident.model import Model
    from ident.regression import base_parameters, rank_margin
    from ident.regression.base import DOUBTFUL, ROUNDING
    from ident.report.text import number, table
    from ident.robot import read_robot
    from ident.spatial.inertia import consistency

    robot = read_robot(file)
    model = Model(robot)
    base, (kept, dropped) = base_parameters(model), rank_margin(model)
    gravity = " ".join(f"{g:g}" for g in robot.gravity)
    say(f"robot '{robot.name}': {plural(robot.n, 'joint')}, gravity {gravity} m/s^2 in the base frame")
    say(f"torque can show {plural(len(base.names), 'combination')} of its {10 * robot.n} link parameters")
    say(f"(singular values down to {kept:.1g} of the largest count, those up to {dropped:.0e} of it are zero)")
    if kept < DOUBTFUL or dropped > ROUNDING:
        tell_aside(
            "note: the number of combinations hangs on the last digits of the description: angles or lengths that just "
            "miss zero, a right angle or each other make combinations that no log can tell from noise"
        )
    for note in robot.notes:
        tell_aside(f"note: {note}")
    rows, tones, problems = [], [], 0
    for i, (joint, link) in enumerate(zip(robot.joints, robot.links, strict=True)):
        verdict, mass = "no inertial", None
        if robot.inertials is not None and np.isfinite(robot.inertials[i]).all():
            found = consistency(robot.inertials[i])
            mass = float(robot.inertials[i, 0])
            verdict = "massless frame" if not robot.inertials[i].any() else "can exist"
            verdict = verdict if found.consistent else f"cannot exist: {'; '.join(found.failures())}"
            problems += not found.consistent
        parent = robot.base if joint.parent < 0 else robot.links[joint.parent]
        limits = f"{number(joint.limits.lower, 3)} to {number(joint.limits.upper, 3)}"
        rows.append((joint.name, joint.kind, f"{parent} - {link}", limits, number(mass), verdict))
        tones.append("bad" if verdict.startswith("cannot") else "")
    columns = ("joint", "kind", "between", "range [rad; m]", "mass [kg]", "link")
    show(table("", columns, rows, tones))  # type: ignore[arg-type]
    return problems


def _check_cad(file: Path, robot: Path | None, _: str | None) -> int:
    from ident.cad import check_cad, read_cad, require_consistent
    from ident.errors import CadError
    from ident.report.text import number, table
    from ident.robot import read_robot

    cad = read_cad(file)
    say(f"CAD table of {len(cad.links)} links")
    verdicts = check_cad(cad)
    rows = []
    for v, body in zip(verdicts, cad.parameters, strict=True):
        com = ", ".join(number(float(h / body[0]), 3) for h in body[1:4]) if body[0] > 0 else "n/a"
        moments = "n/a" if v.moments is None else ", ".join(number(x, 3) for x in v.moments)
        nearest = [f"the nearest that can exist: {v.nearest}"] if v.nearest else []
        rows.append((v.link, number(v.mass), com, moments, "; ".join([v.status, *v.failures, *nearest])))
    columns = ("link", "mass [kg]", "centre [m]", "principal moments [kg m^2]", "can it exist")
    show(table("", columns, rows, ["bad" if v.status == "impossible" else "" for v in verdicts]))
    try:
        require_consistent(cad)
        say("every link can exist", "green")
    except CadError as cause:
        say(f"{cause.fix}.", "bold red")
    if robot is not None:
        cad.for_robot(read_robot(robot))
        say(f"every moving link of {robot.name} has its row", "green")
    return sum(v.status == "impossible" for v in verdicts)


def _check_log(file: Path, robot: Path | None, recording: str | None) -> int:
    from ident.errors import InputError
    from ident.logs.manifest import manifest_of, recordings_of

    path = manifest_of(file)
    if path is None:
        fix = "Describe its columns in a dataset.toml beside it, and check that"
        raise InputError("no dataset.toml says which columns are which signals", file=file, fix=fix)
    names = [recording] if recording else recordings_of(path, file)
    return sum(_check_dataset(path, robot, name) for name in names)


def _check_dataset(file: Path, robot: Path | None, recording: str | None) -> int:
    from ident.errors import InputError
    from ident.logs import read_manifest
    from ident.pipelines.steps import checked
    from ident.pipelines.warned import NOTES
    from ident.report.text import number, table
    from ident.robot import read_robot

    manifest = read_manifest(file)
    beside = [file.parent / name for name in ("robot.toml", "robot.urdf")]
    chosen = robot or next((p for p in beside if p.is_file()), None)
    if chosen is None:
        raise InputError("a log is checked against its robot", file=file, key="--robot", fix="Add --robot FILE")
    arm, problems = read_robot(chosen), 0
    for name in [recording] if recording else [r.name for r in manifest.recordings]:
        _, found = checked(manifest, name, arm)
        say(f"recording '{name}' ({found.file}): {found.samples} rows, {found.duration:.6g} s")
        shown = found.steps[:6]
        rows = [(number(step * 1e3), str(count), f"{100 * count / (found.samples - 1):.3g} %") for step, count in shown]
        rest = sum(count for _, count in found.steps[6:])
        if rest:
            span = f"others, {number(found.dt_min * 1e3)} to {number(found.dt_max * 1e3)}"
            rows.append((span, str(rest), f"{100 * rest / (found.samples - 1):.3g} %"))
        show(table("", ("time step [ms]", "rows", "share"), rows))
        for kind in dict.fromkeys(f.kind for f in found.findings):
            same, note = [f for f in found.findings if f.kind == kind], kind in NOTES
            problems += 0 if note else len(same)
            for f in same[:1] if note else same:  # notes are alike from joint to joint
                more = f" (and {len(same) - 1} more of this kind)" if note and len(same) > 1 else ""
                say(f"  {'note' if note else 'PROBLEM'} ({kind}): {f.message}{more}", "" if note else "bold red")
        if all(f.kind in NOTES for f in found.findings):
            say("  no problem", "green")
    return problems


def _check_experiment(file: Path, _: Path | None, __: str | None) -> int:
    from ident.logs import locate
    from ident.pipelines.loaded import load

    loaded = load(_experiment(file))
    e = loaded.experiment
    for name in (*e.fit, *e.validate):
        for part in loaded.manifest.recording(name).files:
            locate(loaded.manifest, part)
    say(f"experiment '{e.name}': {e.title}")
    say(f"robot '{loaded.robot.name}', {len(loaded.model.names)} parameters, {len(loaded.base.names)} base parameters")
    say(f"fit on {', '.join(e.fit)}; validate on {', '.join(e.validate) or 'nothing'}; prior: {loaded.prior.source}")
    _show_notes(loaded)
    return 0


_CHECKS: dict[str, Callable[[Path, Path | None, str | None], int]] = {
    "robot": _check_robot,
    "cad": _check_cad,
    "log": _check_log,
    "dataset": _check_dataset,
    "experiment": _check_experiment,
}

# ---- results -------------------------------------------------------------------------------------------------------


def _show_notes(loaded: Loaded) -> None:
    """Print what was read otherwise than it stands, or taken without being asked for."""
    for note in loaded.notes:
        say(f"note: {note}.")


def _show_run(result: Result) -> None:
    """Print what an engineer wants to know first, and where the rest is."""
    from ident.compare.validate import ZERO
    from ident.pipelines.expected import check_expected
    from ident.report import text

    e, slides = result.loaded.experiment, result.loaded.slides
    say(f"{e.name}: {e.title}", "bold")
    _show_notes(result.loaded)
    for sentence in text.summary_sentences(result.estimate, result.comparison, result.validation):
        say(sentence)
    show(text.residual_rows(result.estimate, slides))
    if result.validation is not None:
        hidden = {"samples", f"error, {ZERO}"}
        if all(r.held_out for r in result.validation.recordings):
            hidden.add("held out")
        table = text.validation_rows(result.validation)
        show(table, [c for c in table.columns if c not in hidden])
        if "CAD" in result.validation.names:
            say("CAD's error counts as zero every friction and drive inertia that CAD does not state.")
    if result.truth is not None:
        show(_side_by_side(result))
    elif result.comparison is not None:
        _show_comparison(result.comparison, False, slides)
    else:
        table = text.base_rows(result.estimate, slides)
        rows = tuple((row[0] if row[0] == row[-1] else f"{row[0]} + ...", *row[1:]) for row in table.rows)
        show(replace(table, rows=rows), [c for c in table.columns if c != "combination"])
        if rows != table.rows:
            say("+ ...: a combination that bears the name of its first parameter; report.html writes it out.")
    if e.expected:
        checked = check_expected(result)
        off = [c for c in checked if not c.met]
        say(f"{len(checked) - len(off)} of {len(checked)} expected figures met", "red" if off else "green")
        for c in off:
            say(f"  {c.name} is {c.found:.6g}, expected {c.wanted:g} within {c.tolerance:g}", "red")
    say(f"wrote {', '.join(sorted(p.name for p in result.folder.iterdir()))} to {_near(result.folder)}")


def _end(estimate: Estimate, validation: Validation | None = None, failed: Sequence[Failed] = ()) -> None:
    """Say last what could not be made of a fit, and whether it is to be used; the exit code says the same."""
    from ident.pipelines.identify import VALIDATION
    from ident.report.text import verdict

    causes: dict[str, list[str]] = {}
    for f in failed:
        causes.setdefault(str(f.cause), []).append(f.name)
    for cause, names in causes.items():
        tell_aside(f"{'error' if VALIDATION in names else 'not written'}: {', '.join(names)}: {cause}")
    if estimate.active:
        say(f"at their bound: {'; '.join(estimate.active)}")
    judged = verdict(estimate, validation)
    if judged.tone == "bad":
        tell_aside(f"{judged.headline}: {judged.reason}")
    if any(f.name == VALIDATION for f in failed):
        raise typer.Exit(BAD_INPUT)
    if any(not f.refused for f in failed):
        raise typer.Exit(FAILED)
    if judged.tone == "bad":
        raise typer.Exit(PROBLEMS)


def _side_by_side(result: Result) -> Table:
    """Return truth, CAD and identified of every base parameter."""
    from ident.report.text import MISSING, TONES, number, table, unit, with_error

    assert result.truth is not None
    compared = {r.name: r for r in result.comparison.rows} if result.comparison else {}
    halves = result.estimate.covariance.half_widths(0.95)
    rows, tones = [], []
    for r, half in zip(result.truth.rows, halves, strict=True):
        cad = compared.get(r.name)
        z = MISSING if r.z is None else f"{r.z:+.1f}"
        verdict = cad.verdict if cad else MISSING
        identified = with_error(r.identified, float(half))
        row = (r.name, unit(r.name, result.loaded.slides), number(r.true), number(cad.cad if cad else None))
        rows.append((*row, identified, z, verdict))
        tones.append(TONES[cad.verdict] if cad else "")
    columns = ("base parameter", "unit", "truth", "CAD", "identified ± 95 %", "off truth [s.e.]", "CAD is")
    return table("Truth, CAD and identified, on the combinations that torque can show", columns, rows, tones)


def _show_comparison(comparison: Comparison, everything: bool, slides: frozenset[str]) -> None:
    """Print the verdicts, and the rows that CAD and data disagree on (or all)."""

    from ident.report import text

    said = {"agrees": "agree"}
    counts = [f"{comparison.count(v)} {said.get(v, v)}" for v in text.TONES if comparison.count(v)]
    say(f"CAD ({comparison.source}) against the data: {', '.join(counts)}")
    rows = comparison.rows if everything else tuple(r for r in comparison.rows if r.verdict == "contradicted")
    if rows:
        show(text.comparison_rows(replace(comparison, rows=rows), slides))
    for note in comparison.notes:
        say(f"note: {note}")


def _near(path: Path) -> Path:
    """Return the path relative to the working folder, where it is below it."""
    here = Path.cwd().resolve()
    return path.resolve().relative_to(here) if path.resolve().is_relative_to(here) else path


# ---- what the commands share ---------------------------------------------------------------------------------------


def _experiment(path: Path) -> Experiment:
    from ident.experiment import read_experiment

    return read_experiment(path)


def _cad_values(cad: Path | None, arm: Robot, robot: Path) -> tuple[Any, dict[str, float], str]:
    """Return link parameters, joint values and their source, from a CAD table or from the robot itself."""
    from ident.cad import read_cad, require_consistent
    from ident.errors import CadError

    if cad is not None:
        table = read_cad(cad)
        require_consistent(table)
        return table.for_robot(arm), dict(table.joint_values), cad.name
    if arm.inertials is None:
        raise CadError("gives no inertials to compare with", file=robot, fix="Add --cad with a CAD table")
    return arm.inertials, {}, robot.name
