"""The report of an estimate: its figures, tables and sentences, gathered once for HTML, PDF and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ident.arrays import Array
from ident.compare.difference import Comparison, TruthComparison
from ident.compare.validate import ZERO, Residuals, Validation, residuals
from ident.errors import ModelError
from ident.estimate.estimate import Estimate, NamedCause
from ident.files import CHOSEN, TRIED
from ident.logs.check import out_of_reach
from ident.logs.log import Log
from ident.logs.motion import Motion
from ident.logs.process import Processing
from ident.model.model import Model, torque
from ident.regression.compress import compress
from ident.regression.regression import Regression
from ident.report import drawings, text
from ident.report.body_figures import NO_SHAPES, Shapes
from ident.report.outcome_text import (
    calibration_rows,
    lines_in,
    odds_in_words,
    selection_sentences,
    shared_factor,
    tried_rows,
)
from ident.report.page import stretches
from ident.report.parts import Block, Card, Report, Section
from ident.report.sections import identifiable_section, lengths, numbered, short_of, simulated
from ident.report.spectra import errors_by_cut_off, spectra
from ident.report.verdict import questions, verdict, warnings
from ident.robot.robot import Robot

_WORSE = 2.0  # a recording is worth a sentence when its residual is so many times that of the others
_FIRST = 3  # remarks on residuals, and warnings, that the first screen shows; all stand further down

#: The command that designs a motion which adds to the logs, where the files are not known.
NEXT_MOTION = "ident excite ROBOT --after EXPERIMENT"


def gather(
    estimate: Estimate,
    *,
    model: Model,
    fit: Iterable[Motion] = (),
    held_out: Motion | None = None,
    comparison: Comparison | None = None,
    validation: Validation | None = None,
    truth: TruthComparison | None = None,
    command: str | None = None,
    regression: Regression | None = None,
    next_motion: str = NEXT_MOTION,
    filtered: tuple[Log, Processing] | None = None,
    shapes: Shapes = NO_SHAPES,
) -> Report:
    """Return what the report of an estimate shows.

    The torque of the first motion of each kind is drawn; residuals and friction are those of all fitted recordings, of
    a streamed recording those of its first part. regression: the factors of the fit, where they are at hand; else those
    of the fitted motions say what is weak. next_motion: the command that designs a motion which adds to the logs.
    filtered: a fitted log, and how it was filtered. shapes: points (k, 3) [m] around each shape of a link, in its
    frame, by the link.
    Raises ModelError when estimate and model have other parameters.
    """
    if estimate.base.standard != model.names:
        problem = f"the estimate of '{estimate.robot}' has other parameters than the model"
        raise ModelError(problem, fix="Use the robot and the terms that were fitted")
    motions, theta, slides = _first_parts(fit), estimate.for_torque, model.robot.slides
    drawn = [(kind, m) for kind, m in (("held-out", held_out), ("fitted", next(iter(motions), None))) if m is not None]
    judged = [m for m in motions or [m for _, m in drawn] if len(m.t)]
    left = residuals(model, theta, judged) if judged else None
    if regression is None and motions:
        regression = compress(model, motions, base=estimate.base)
    odd = _odd(estimate, model.robot, judged, left)
    measured = _left_over(estimate, model, left, odd)
    rubbed = Block(note=_DOTS, drawings=tuple(drawings.frictions(model, theta, left)) if left else ())
    bodies = drawings.inertias(estimate, model, comparison, [m for _, m in drawn], shapes)
    named = ", ".join(f"{i} {link}" for i, link in enumerate(estimate.links, 1))
    linked = Block(note=f"{named}. {_BODIES}", drawings=tuple(bodies))
    said, chosen = text.summary_sentences(estimate, comparison, validation), drawings.selection(estimate)
    fitted = Block(items=tuple(said), drawings=tuple(chosen), table=text.figures_rows(estimate))
    predicted = *_charts(model, theta, drawn), *_judged(estimate, slides, validation)
    warned = tuple(warnings(estimate, validation))
    return Report(
        title=f"{estimate.robot}: identified parameters",
        verdict=verdict(estimate, validation, comparison),
        cards=tuple(cards(estimate, comparison, validation)),
        sentences=tuple(questions(estimate, validation, comparison)),
        lead=tuple(drawings.errors(validation)),
        odd=odd[:_FIRST],
        warnings=warned[:_FIRST],
        note=_MORE if len(warned) > _FIRST else "",
        sections=(
            *_mistakes(estimate),
            Section("torque", "Does it predict torque?", predicted, "Torque"),
            *simulated(estimate, model, drawn),
            _drawn("residuals", "What is left over", measured, "No recording was given to judge residuals by."),
            _base_parameters(estimate, model.robot, comparison, truth),
            _drawn("friction", "Friction", rubbed, "The model has no friction, or no fitted recording was given."),
            *_terms(estimate),
            identifiable_section(estimate, model.robot, comparison, regression, next_motion),
            _drawn("links", "Links", linked, "Only combinations of parameters are known, so there is no body to draw."),
            *_spectra(filtered, model.robot, str(estimate.provenance.get(TRIED, ""))),
            Section("fit", "About the fit", (fitted,)),
            *_notes(warned[_FIRST:], estimate),
            Section("provenance", "Provenance", (Block(table=text.provenance_rows(estimate, command)),)),
        ),
    )


_DRAWN = "drawn, with their noise, also those that thinning and masks leave out."
_KINDS = {"held-out": "Motion never seen", "fitted": "Fitted recording"}
_CAD_ALONE = "A prediction from CAD counts as zero every friction and drive inertia that CAD does not state."
_LEFT = (
    "Measured less predicted torque: over time, its autocorrelation, over velocity and position, its histogram with a"
    " normal distribution of the same rms, and its quantiles against that one. Bands hold the middle 90 % of the"
    " samples, lines the median: where a line leaves zero, the model lacks something that depends on velocity or"
    " position. Residuals that stay correlated for long are"
    " not noise. The intervals count whole segments as independent, not samples, and ask for no normal residual; long"
    " tails, where the last picture leaves its line, mean that few samples decide much."
)
_COMPARED = (
    "Torque shows only these combinations of the links' parameters, so CAD is compared on them. A value is contradicted"
    " when its difference is more than chance explains, with at most one false alarm in a hundred reports; it is not"
    " determined when the 95 % interval is wider than the value is large."
)
_CUT_OFF = (
    "Shaded: up to where 99 % of the velocity's power lies. A cut-off in there takes motion away; what is far to the"
    " right of it lets noise in. How much of an acceleration is noise of the positions is that of the processed one;"
    " inertias come out too small by the square of that share. A lower cut-off than the spectra ask for is taken where"
    " it leaves a tenth less of the torque of stretches left out, in nearly all of them."
)
_PASTE = "These tables in experiment.toml, in place of those of that name, keep what was chosen from the logs."
_MORE = "More to note stands under “Notes”."
_MEND = "Mend first what is named above: until then residuals and advice to filter or log otherwise say nothing."
_DOTS = "Dots: measured torque less what the model explains by everything but this joint's own friction and offset."
_BODIES = (
    "One set of bodies that predicts the torque: where the map above says “sum” or “not by any motion”, the prior chose"
    " among many. Up is against gravity."
)
_CHOSEN = (
    "From top to bottom: the kind of term is added that takes most from the error, and more than chance gives; in the"
    " end it is left out at joints where it cannot be told from zero. The table has each kind's gain beside all that"
    " are taken. The lines for [model] are printed by: ident select EXPERIMENT"
)


def _charts(model: Model, theta: Array, drawn: Sequence[tuple[str, Motion]]) -> Iterator[Block]:
    """Yield measured and predicted torque of the motions to draw, each with its kind."""
    for kind, m in drawn:
        tau = torque(model, theta, m.q, m.qd, m.qdd, signals=m.signals())
        k = stretches(len(m.t), 3 * model.robot.n * len(drawn))
        title, pictures = f"{_KINDS[kind]} “{m.name}”", tuple(drawings.torques(model, m, tau, kind, k))
        kept = f"the least and the largest of every {len(m.t) / k:.1f} are"
        shown = f"All {len(m.t):,} samples are" if len(m.t) <= k else f"{len(m.t):,} samples: {kept}"
        yield Block(title, note=f"{shown} {_DRAWN}", drawings=pictures, link=kind)


def _first_parts(motions: Iterable[Motion]) -> list[Motion]:
    """Return the first part of each recording, which stands for all: streamed ones come in several."""
    first: dict[str, Motion] = {}
    for motion in motions:
        first.setdefault(motion.name, motion)
    return list(first.values())


def _left_over(estimate: Estimate, model: Model, left: Residuals | None, odd: tuple[str, ...]) -> Block:
    """Return what is left of the torque of the fitted recordings; odd: what stands out in them."""
    if left is None:
        return Block(items=odd, note=_LEFT)
    rms = text.recording_rows(left.names, left.rms(), estimate.joints, model.robot.units("torque"))
    table = rms if len(left.names) > 1 else None
    return Block(items=odd, note=_LEFT, drawings=tuple(drawings.left_over(model, left)), table=table)


def _mistakes(estimate: Estimate) -> Iterator[Section]:
    """Yield what to mend before anything else, and what is wrong with a CAD table without spoiling the result."""
    of_table = len(estimate.causes) + 1
    if estimate.causes:
        yield Section("mistakes", "What to mend first", tuple(_mended(estimate.causes, 1)), "Mend first")
    if estimate.noted:
        blocks = tuple(_mended(estimate.noted, of_table))
        yield Section("table", "What to mend in the CAD table", blocks, "CAD table")


def _mended(causes: Sequence[NamedCause], first: int) -> Iterator[Block]:
    """Yield a block for each mistake; first: the number of the first one's pictures."""
    for k, cause in enumerate(causes, first):
        yield Block(
            f"{cause.where}: {cause.what}",
            f"{cause.file}: {cause.mend}",
            tuple(_weight_of(cause)),
            lines_in(cause.mend),
            drawings=(*drawings.traces(cause, k), *drawings.evidence(cause, k)),
        )


def _weight_of(cause: NamedCause) -> Iterator[str]:
    """Yield how sure a mistake is, and what it cannot be told apart from."""
    if cause.log_odds is not None:
        yield odds_in_words(cause.log_odds)
    yield from (f"Cannot be told apart from: {rival}" for rival in cause.rivals)
    if cause.trace is not None and cause.where in cause.joints and cause.trace.joint != cause.where:
        yield f"It shows at {cause.trace.joint}: at {cause.where} itself the fit makes up for it."


def _terms(estimate: Estimate) -> Iterator[Section]:
    found = estimate.structure
    if found is not None:
        block = Block(
            items=tuple(selection_sentences(found)),
            note=_CHOSEN if found.steps else "",
            drawings=tuple(drawings.path_of_terms(found)),
            table=tried_rows(found) if found.tried else None,
        )
        yield Section("terms", "Which joint terms the logs support", (block,), "Joint terms")


def _spectra(filtered: tuple[Log, Processing] | None, robot: Robot, tried: str) -> Iterator[Section]:
    if filtered is not None and (drawn := tuple(spectra(*filtered, robot))):
        drawn = (*errors_by_cut_off(tried, filtered[1].position_hz), *drawn)
        block = Block(note=f"Recording “{filtered[0].name}” as it was logged. {_CUT_OFF}", drawings=drawn)
        yield Section("spectra", "Spectra and cut-offs", (block,), "Spectra")


def _notes(warned: tuple[str, ...], estimate: Estimate) -> Iterator[Section]:
    """Yield the warnings that the first screen has no room for, and what was decided, with its lines to paste."""
    said = (("Please note as well", warned), ("Decided", estimate.notes))
    blocks = [Block(title, items=items) for title, items in said if items]
    if pasted := estimate.provenance.get(CHOSEN):
        blocks.append(Block("Chosen", _PASTE, paste=str(pasted)))
    if blocks:
        yield Section("notes", "Notes", tuple(blocks))


def _drawn(name: str, title: str, block: Block, otherwise: str) -> Section:
    """Return a section of figures, or of words where there are none."""
    return Section(name, title, (block if block.drawings else Block(words=otherwise),))


def _judged(estimate: Estimate, slides: frozenset[str], validation: Validation | None) -> Iterator[Block]:
    if validation is not None:
        note = _CAD_ALONE if any(drawings.errors(validation)) else ""
        yield Block(note=note, table=text.validation_rows(validation))
    if estimate.calibration:
        note = shared_factor(estimate.calibration, len(estimate.joints))
        yield Block(note=note, table=calibration_rows(estimate))
    yield Block(table=text.residual_rows(estimate, slides))


def _base_parameters(
    estimate: Estimate, robot: Robot, comparison: Comparison | None, truth: TruthComparison | None
) -> Section:
    slides, numbers = robot.slides, numbered(estimate.links, estimate.joints, lengths(robot))
    compared = text.comparison_rows(comparison, slides) if comparison else text.base_rows(estimate, slides)
    compared = replace(compared, short=short_of(estimate, robot))
    note = " ".join(comparison.notes) if comparison else ""
    found = [Block(words=_COMPARED, note=note, drawings=tuple(drawings.comparisons(comparison)))]
    found += [Block(table=t) for t in (numbers, compared)]
    if truth is not None:
        held = f"{text.percent(truth.coverage)} of the 95 % intervals hold the true value; the largest difference is"
        said = () if truth.largest is None else (f"{held} {truth.largest:.1f} standard errors.",)
        found.append(Block(items=said, table=text.truth_rows(truth, comparison, estimate, slides), opened=False))
    return Section("cad", "Base parameters: what the data say", tuple(found), "Base parameters")


def cards(estimate: Estimate, comparison: Comparison | None, validation: Validation | None) -> Iterator[Card]:
    """Yield the numbers of the first screen."""
    if validation is not None:
        own = validation.total(validation.names[0])
        called = text.cad_called(comparison)
        rest = [(called if n == "CAD" else n, validation.total(n)) for n in validation.names[1:] if n != ZERO]
        note = ", ".join(f"{n} alone: {text.percent(t.relative_total)}" for n, t in rest if t)
        value = text.percent(own.relative_total if own else None)
        yield Card(f"torque error, {validation.unseen}{text.band(validation)}", value, note)
    yield Card("torque error, fitted logs", text.percent(estimate.relative_total), "norm of error / norm of torque")
    feasible = {True: ("yes", "checked exactly"), False: ("NO", "do not use"), None: ("n/a", "combinations only")}
    value, note = feasible[estimate.feasible]
    tone: text.Tone = "good" if estimate.feasible else "bad" if estimate.feasible is False else "unknown"
    yield Card("every link can exist", value, note, tone)
    if comparison is not None:
        bad, good = comparison.count("contradicted"), comparison.count("agrees")
        yield Card("CAD contradicted", str(bad), "base parameters", "bad" if bad else "")
        left = comparison.count("not determined"), comparison.count("not comparable")
        yield Card("CAD confirmed", str(good), f"{left[0]} not determined, {left[1]} without CAD value", "good")


# ---- sentences -----------------------------------------------------------------------------------------------------


def _odd(estimate: Estimate, robot: Robot, judged: Sequence[Motion], left: Residuals | None) -> tuple[str, ...]:
    """Return what stands out in the recordings, what has to be mended first before all else."""
    far = {j: f"in “{m.name}” {said}" for m in judged for j, said in out_of_reach(m.q, robot).items()}
    if estimate.causes and not far:
        return (_MEND,)
    first = [f"{j}: the position {what} Nothing else can be told before that is mended." for j, what in far.items()]
    worse = () if left is None or len(left.names) < 2 else _worse(left, estimate.joints, robot.units("torque"))
    return (*first[:1], *worse)


def _worse(left: Residuals, joints: Sequence[str], units: Sequence[str]) -> Iterator[str]:
    """Yield a sentence on each recording that the common parameters predict much worse than the others."""
    rms = left.rms()
    for k, name in enumerate(left.names):
        usual = np.median(np.delete(rms, k, axis=0), axis=0)
        worst = int(np.argmax(rms[k] / np.where(usual > 0, usual, np.inf)))
        if rms[k, worst] > _WORSE * usual[worst] > 0:
            yield (
                f"{joints[worst]}: the residual of “{name}” is {text.number(rms[k, worst], 3)} {units[worst]} rms, of"
                f" the others {text.number(usual[worst], 3)}; look for another load, offset or temperature in it."
            )
