"""The command line: a thin copy of `ident.pipelines`. Results go to stdout, all else to stderr.

Exit codes: `EXIT_CODES`. Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ident import pipelines
from ident.cli.cad import app as cad_app
from ident.cli.console import (
    BAD_INPUT,
    EXIT_CODES,
    FAILED,
    INTERRUPTED,
    PROBLEMS,
    Asked,
    EstimatePath,
    ExperimentPath,
    answer,
    asked,
    attempted,
    command_line,
    out_option,
    progress,
    register,
    say,
    show,
    show_calibration,
    show_notes,
    tell_aside,
)
from ident.cli.experiments import check, doctor, fleet, init, select
from ident.cli.motions import codegen, dynamics, excite, postures, sweep
from ident.cli.report import export, payload, report
from ident.errors import InputError, plural
from ident.pipelines.answers import compared, outcome, parts_of
from ident.pipelines.wishes import Sharing
from ident.tell import LOG

if TYPE_CHECKING:
    from ident.compare import Comparison
    from ident.pipelines.steps import Checked, Result

app = typer.Typer(
    name="ident",
    help="Dynamic parameters of robots: identified from logs, compared with CAD, validated, exported.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


def run(
    share: Sharing,
    experiment: ExperimentPath = Path(),
    out: Annotated[Path | None, "Folder to write, instead of results/NAME", "--out -o"] = None,
    watch: Annotated[bool, "Repeat whenever a file of the experiment changes, until Ctrl-C", "--watch"] = False,
) -> None:
    """Do it all: read, check, fit, compare, validate, export, report."""
    if not watch:
        _run(experiment, share, out)
        return
    from ident.pipelines.estimated import changes

    if asked().json:
        raise InputError("goes on, and --json is one document", key="--watch", fix="Leave one of them out")
    with suppress(KeyboardInterrupt):  # while it waits; all that was found is written then
        for _ in changes(experiment):
            code, _ = attempted(_run, experiment, share, out)
            if code == INTERRUPTED:
                raise typer.Exit(code)
            LOG.info("waiting until a file of the experiment changes; Ctrl-C ends")


def _run(experiment: Path, share: Sharing, out: Path | None) -> None:
    from ident.pipelines.steps import check_expected

    with progress() as tell:
        result = pipelines.run(experiment, out, tell, command_line(), share=share)
    checked = check_expected(result)
    answer(**outcome(result), expected=[parts_of(c, "name", "wanted", "tolerance", "found", "met") for c in checked])
    _show_run(result, checked)
    _end(result)


def fit(
    experiment: ExperimentPath,
    share: Sharing,
    out: Annotated[Path, out_option("estimate.json")] = Path("estimate.json"),
    factors: Annotated[
        list[str] | None, "Factors that `ident compress` or `run` wrote, in place of logs; or 'many/*.npz'", "PATTERN"
    ] = None,
) -> None:
    """Fit an experiment and write the estimate."""
    from ident.report import text

    with progress() as tell:
        found = pipelines.fit(experiment, out, tell, command_line(), factors=factors or (), share=share)
    answer(**outcome(found))
    show_notes(found.loaded)
    show(text.summary_rows(found.estimate))
    show_calibration(found)
    show(text.residual_rows(found.estimate, found.loaded.robot.slides))
    say(f"wrote {out}")
    _end(found)


def compress(
    experiment: ExperimentPath,
    share: Sharing,
    out: Annotated[Path, out_option("factors.npz")] = Path("factors.npz"),
    append: Annotated[Path | None, "Factors of other days, to which recordings not in it are added", "FACTORS"] = None,
) -> None:
    """Compress the fitted recordings to factors, of which `ident fit --factors` makes the same estimate as of logs."""
    with progress() as tell:
        found = pipelines.compress(experiment, out, tell, command_line(), append=append, share=share)
    told = found.regression
    answer(recordings=told.recordings, segments=len(told.segments), rows=told.rows, warnings=found.warned, path=out)
    counts = (plural(len(told.recordings), "recording"), plural(len(told.segments), "segment"))
    say(f"{counts[0]}, {int(told.rows.max())} rows, {counts[1]}")
    say(f"wrote {out}")


def compare(
    estimate: EstimatePath,
    cad: Annotated[Path | None, "CAD table (.csv, .toml); without: the experiment's, or with --robot its own"] = None,
    robot: Annotated[Path | None, "Robot (.urdf, .xml, .toml) of the estimate; without: the experiment's"] = None,
    everything: Annotated[bool, "Show every base parameter", "--all"] = False,
) -> None:
    """Compare an estimate with CAD, on the combinations that torque can show."""
    from ident.robot import read_robot

    of, table = pipelines.robot_and_cad(estimate, robot, cad)
    found = pipelines.compare(estimate, of, table)
    answer(comparison=compared(found))
    _show_comparison(found, everything, read_robot(of).slides)


def validate(estimate: EstimatePath, experiment: ExperimentPath) -> None:
    """Predict the recordings that the experiment keeps for validation, and record the verdict in the estimate."""
    from ident.export.gate import VERDICT
    from ident.report import text

    with progress() as tell:
        found = pipelines.validate(estimate, experiment, tell)
    answer(**outcome(found))
    assert found.validation is not None
    show(text.validation_rows(found.validation))
    if found.path is not None:
        say(f"recorded in {estimate}: validation {found.estimate.provenance[VERDICT]}")
    _end(found)


register(app, run, fit, compress, compare, validate, init, check, doctor, select, fleet, dynamics, codegen, excite)
register(app, postures, sweep, export, payload, report)
app.add_typer(cad_app, name="cad")


def main() -> None:
    """Run the command line."""
    # Matrices are small here, and a busy machine's cores wait for each other: one BLAS thread is never slower by much.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # What is imported is not garbage: looking through it took a quarter of a fit of the demo, most of that at the end.
    gc.set_threshold(50_000)
    atexit.register(gc.freeze)
    if "--json" not in sys.argv:
        app(prog_name="ident")
    usage_error: Any = typer.BadParameter.__base__  # Click's, of which Typer has a copy of its own or not
    try:
        sys.exit(app(prog_name="ident", standalone_mode=False))
    except usage_error as wrong:
        wrong.show()
        cause = InputError(wrong.format_message(), fix=f"Try {wrong.ctx.command_path} --help" if wrong.ctx else None)
        typer.echo(Asked(json=True).document("", wrong.exit_code, cause))
        sys.exit(wrong.exit_code)


def _show_run(result: Result, checked: Sequence[Checked]) -> None:
    """Print what an engineer wants to know first, and where the rest is."""
    from ident.compare.validate import ZERO
    from ident.report import text
    from ident.report.verdict import questions

    e, slides = result.loaded.experiment, result.loaded.robot.slides
    say(e.heading, style="bold")
    show_notes(result.loaded)
    say(*questions(result.estimate, result.validation, result.comparison))
    show_calibration(result)
    show(text.residual_rows(result.estimate, slides))
    if result.validation is not None:
        hidden = {"samples", f"error, {ZERO}"}
        if all(r.held_out for r in result.validation.recordings):
            hidden.add("held out")
        table = text.validation_rows(result.validation)
        show(table, [c for c in table.columns if c not in hidden])
        if "CAD" in result.validation.names:
            called = text.cad_called(result.comparison)
            whose = "CAD's" if called == "CAD" else f"CAD is {called} here: its"
            say(f"{whose} error counts as zero every friction and drive inertia that CAD does not state.")
    say(*text.summary_sentences(result.estimate, result.comparison, result.validation))
    if result.truth is not None:
        table = text.truth_rows(result.truth, result.comparison, result.estimate, slides)
        show(table, [c for c in table.columns if c != "within 95 %"])
    elif result.comparison is not None:
        _show_comparison(result.comparison, False, slides)
    else:
        table = text.base_rows(result.estimate, slides)
        rows = tuple((row[0] if row[0] == row[-1] else f"{row[0]} + ...", *row[1:]) for row in table.rows)
        show(replace(table, rows=rows), [c for c in table.columns if c != "combination"])
        if rows != table.rows:
            say("+ ...: a combination that bears the name of its first parameter; report.html writes it out.")
    if checked:
        off = [c for c in checked if not c.met]
        say(f"{len(checked) - len(off)} of {len(checked)} expected figures met", style="red" if off else "green")
        for c in off:
            say(f"  {c.name} is {c.found:.6g}, expected {c.wanted:g} within {c.tolerance:g}", style="red")
    assert result.path is not None
    here, path = Path.cwd().resolve(), result.path.resolve()
    where = path.relative_to(here) if path.is_relative_to(here) else result.path
    say(f"wrote {', '.join(sorted(p.name for p in result.path.iterdir()))} to {where}")


def _end(result: Result) -> None:
    """Say last what could not be made of a fit, and whether it is to be used; the exit code says the same."""
    from ident.pipelines.identify import VALIDATION
    from ident.report.verdict import verdict

    causes: dict[str, list[str]] = {}
    for f in result.failed:
        causes.setdefault(str(f.cause), []).append(f.name)
    for cause, names in causes.items():
        tell_aside(f"{'error' if VALIDATION in names else 'not written'}: {', '.join(names)}: {cause}")
    if result.estimate.active:
        say(f"at their bound: {'; '.join(result.estimate.active)}")
    problems = sum(w.about == "PROBLEM" for w in result.warnings)
    if problems and result.comparison is not None:
        told = f"{plural(problems, 'mistake')} in {result.comparison.source}: see PROBLEM above"
        say(f"{told}; `ident cad refine . -o refined.csv` writes the table that agrees with the logs")
    judged = verdict(result.estimate, result.validation, result.comparison)
    if judged.tone == "bad":
        tell_aside(f"{judged.headline}: {judged.reason}")
    elif result.validation is not None:
        say(f"{judged.headline}: {judged.reason}")
    if any(f.name == VALIDATION for f in result.failed):
        raise typer.Exit(BAD_INPUT)
    if any(not f.refused for f in result.failed):
        raise typer.Exit(FAILED)
    if judged.tone == "bad":
        raise typer.Exit(PROBLEMS)


def _show_comparison(comparison: Comparison, everything: bool, slides: frozenset[str]) -> None:
    """Print the verdicts, and the rows that CAD and data disagree on (or all)."""

    from ident.report import text

    said = {"agrees": "agree"}
    counts = [f"{comparison.count(v)} {said.get(v, v)}" for v in text.TONES if comparison.count(v)]
    say(f"CAD ({comparison.source}) against the data: {', '.join(counts)}")
    rows = comparison.rows if everything else tuple(r for r in comparison.rows if r.verdict == "contradicted")
    if rows:
        show(text.comparison_rows(replace(comparison, rows=rows), slides))
    say(*(f"note: {note}" for note in comparison.notes))
