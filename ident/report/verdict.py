"""The verdict on a result: whether its numbers can be used, the three questions that it rests on, and what to note."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ident.arrays import Array
from ident.compare.difference import GAIN_OF_ALL, Comparison
from ident.compare.validate import Predicted, Validation
from ident.errors import plural, sentence
from ident.estimate.estimate import Estimate
from ident.export.gate import VERDICT, with_validation
from ident.model.terms import kind_of
from ident.report.text import Tone, banded, percent


@dataclass(frozen=True)
class Judgement:
    """The first line of a report: what to make of the result, and why."""

    tone: Tone
    headline: str
    reason: str


#: Above this share of the torque, over all joints or in one, a prediction that passes is called rough; so is one that
#: misses so much more of what was never seen than of what was fitted, and this share of the torque or more.
ROUGH, ROUGH_JOINT = 0.15, 0.5
WORSE, WORSE_SHARE = 3.0, 0.05
#: Above this share of the torque, beyond the noise of the readings, something acts that the model does not have: of all
#: joints, and of one, which is rough from the third on. Right robots left up to 9 % of one joint (200 that were drawn),
#: elastic drives, backlash and motors at their limits 17 % and more.
LACKS, LACKS_JOINT, LACKS_MUCH = 0.03, 0.08, 0.15
#: Numbers of CAD that are all off by less than this factor are those of a rough table.
SCALE = 1.2
#: Friction of less than this share of its joint's torque in all joints is that of no robot with gears.
FRICTION = 0.01
#: The latter of one joint, beyond the noise of its readings.
WORSE_JOINT = 0.2
#: No more than so many times what its intervals allow (95 %) is missed for want of motion, not as something differs.
UNSURE = 2.0
#: Joints with more than this share of the squared error are what is predicted badly.
MOST = 0.1
#: Above this share the noise of a joint's readings is not to hide what the model misses of it.
QUIET = 0.3

_OPPOSED = (
    "CAD's bodies predict less than none do: they are wrong, or gravity, a zero or an axis of the robot file is, and"
    " the bodies found make up for it on motions like these alone"
)


def questions(
    estimate: Estimate, validation: Validation | None = None, comparison: Comparison | None = None
) -> list[str]:
    """Return what a result rests on, a line each: a complete model, believable numbers, motions predicted.

    comparison: with CAD, where there is one.
    """
    missed = np.where(np.isfinite(estimate.missed), estimate.missed, 0.0)
    worst = int(np.argmax(missed))
    left = f"{percent(estimate.relative_total)} of the torque of the fitted logs is left"
    if estimate.floor is not None and estimate.floor.any():
        most = percent(missed[worst]) if missed[worst] <= 1.0 else "all of it"  # and what noise is not
        left += f"; without the noise of its readings most is left at {estimate.joints[worst]}, {most}"
    mostly = missed[worst] > LACKS_JOINT or _missed(estimate)[0] > LACKS
    answer = "Mostly" if mostly else "Yes"
    if not complete(estimate):
        answer = "No"
        left += "; [model] lacks what acts there (elastic drives, backlash, cables, a touch, motors at their limits)"
    told = [f"Is the model complete? {answer}: {left}."]
    doubts = [*(cause.short for cause in estimate.causes), *estimate.implausible]
    if estimate.feasible is False:
        doubts.append("a link cannot exist")
    if validation is not None and validation.opposed and not estimate.noted:
        doubts.append(_OPPOSED)
    links = "links need not exist" if estimate.feasible is None else "every link can exist"
    bounds = f"; {len(estimate.active)} at their bound" if estimate.active else ""
    scale = _scale(estimate, comparison)
    said = f"{'Up to one factor' if scale else 'Yes'}: {links}{bounds}, and no mistake in robot file or logs shows"
    said = f"No: {doubts[0]}" if doubts else f"{said}, but {scale}" if scale else said
    said += "" if doubts else _frictionless(estimate)
    if all(cause.by_table for cause in estimate.causes):  # else CAD differs by what is named
        said += _beside_cad(estimate, comparison) + _hidden(estimate)
    told.append(f"Are the numbers believable? {said}.")
    total = None if validation is None else validation.total(validation.names[0])
    if validation is None or total is None:
        return [*told, "Does it predict? Not known: no recording that was kept from the fit was predicted."]
    error = f"{percent(total.relative_total)} of the torque{banded(validation, total)} of {validation.unseen} is missed"
    alone = replace(estimate, causes=(), implausible=())  # what is wrong there is the question before
    passed = with_validation(alone, validation, validation.names[0]).provenance[VERDICT].startswith("passed")
    left = _left(estimate, validation, total)
    quiet = "" if estimate.causes else _quiet(validation, total)
    well = passed and total.relative_total <= ROUGH
    good = well and not left
    left = left if well or not estimate.causes else ""
    why = [*validation.unusable[:1], *(x for x in (left, quiet) if x)]
    more = f"; {'; '.join(why)}" if why else ""
    answer = "No" if not good else "Yes, but mend first what is named above" if estimate.causes else "Yes"
    return [*told, f"Does it predict? {answer}: {error}{more}."]


def _beside_cad(estimate: Estimate, comparison: Comparison | None) -> str:
    """Return how far CAD's numbers are from those found, or which mistake they have that spoils nothing."""
    if estimate.noted:
        spoil = "spoil" if len(estimate.noted) > 1 else "spoils"
        first = estimate.noted[0].short.partition(" (")[0] + "?" * bool(estimate.noted[0].rivals)
        first += ", ..." * (len(estimate.noted) > 1)
        return f"; {plural(len(estimate.noted), 'mistake')} in {estimate.noted[0].file} {spoil} nothing here ({first})"
    far = 0 if comparison is None else len(comparison.wrong)
    if comparison is None or not far:
        return ""
    tested = comparison.tested
    said = f"; {comparison.source} is far off in {far} of {tested} numbers (`ident cad doctor` looks for mistakes)"
    if comparison.factor == 1.0 or _scale(estimate, comparison):
        return said
    more = f"as where all torques are counted {comparison.factor:.3g} times (constants, gears), or its masses are wrong"
    return f"{said}, {more}"


def _scale(estimate: Estimate, comparison: Comparison | None) -> str:
    """Return that one factor of all numbers is not known, for CAD has another one than the torques; "" else."""
    factor = 1.0 if comparison is None else comparison.factor
    doubted = next((c for c in estimate.noted if GAIN_OF_ALL in c.rivals), None)
    if doubted is None and (estimate.noted or 1.0 / SCALE < factor < SCALE):  # or it is known what is wrong with CAD
        return ""
    size = "another multiple of CAD's" if doubted is not None or comparison is None else f"{factor:.3g} times CAD's"
    return (
        f"all numbers are {size}, as where torques are counted wrongly (constants, gears) or its masses are wrong:"
        " weigh a link, or log a load that is known, before they are used"
    )


def complete(estimate: Estimate) -> bool:
    """Return whether the model leaves little more than noise of the fitted logs, in all joints and in each."""
    whole, each = _missed(estimate)
    return whole <= ROUGH and bool((each <= LACKS_MUCH).all())


def _missed(estimate: Estimate) -> tuple[float, Array]:
    """Return which share of the fitted torque is missed beyond the noise of its readings, of all joints and of each."""
    with np.errstate(divide="ignore", invalid="ignore"):
        energy = estimate.rows * (estimate.rms / estimate.relative) ** 2
    seen = np.isfinite(energy) & np.isfinite(estimate.missed)
    missed, energy = estimate.missed[seen], energy[seen]
    return float(np.sqrt(np.sum(energy * missed**2) / np.sum(energy))) if energy.any() else 0.0, missed


def _frictionless(estimate: Estimate) -> str:
    """Return that hardly any friction is in the torques, where the model would have it; "" where there is some."""
    rubs = {name: kind for name in estimate.base.standard if (kind := kind_of(name)) and kind.friction}
    if estimate.theta is None or not rubs:
        return ""
    values = dict(zip(estimate.base.standard, estimate.theta.tolist(), strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        torques = dict(zip(estimate.joints, estimate.rms / estimate.relative, strict=True))
        shares = [
            abs(values[name]) / (torques.get(name.rpartition(".")[0], 1.0) if kind.units[0].startswith("N m") else 1.0)
            for name, kind in rubs.items()
        ]
    if max(shares) > FRICTION:
        return ""
    return (
        "; no joint has friction: are these the motors' torques? A sensor behind the gears, or a drive that takes"
        " friction out, leaves none, and a controller has to add it"
    )


def verdict(
    estimate: Estimate, validation: Validation | None = None, comparison: Comparison | None = None
) -> Judgement:
    """Return whether the numbers can be used, in plain words; comparison: with CAD, where there is one."""
    if estimate.feasible is False:
        return Judgement("bad", "Do not use", "At least one link of these numbers cannot exist.")
    if estimate.causes:
        return Judgement("bad", "Do not use yet", sentence(f"Mend first: {estimate.causes[0]}") + _beyond(estimate))
    if estimate.implausible:
        return Judgement("bad", "Do not use", sentence(f"Not to be believed: {'; '.join(estimate.implausible)}"))
    total = None if validation is None else validation.total(validation.names[0])
    if validation is None or total is None:
        reason = "No recording that the fit never saw was predicted, so it is not known how good these numbers are."
        return Judgement("unknown", "Not validated", reason)
    missed = f"{percent(total.relative_total)} of the torque{banded(validation, total)}"
    error = f"{validation.unseen} are predicted within {missed}"
    judged = with_validation(estimate, validation, validation.names[0]).provenance[VERDICT]
    if not judged.startswith("passed"):
        return Judgement("bad", "Do not use yet", f"Validation {judged.partition(';')[0]}; {error}.")
    left = _left(estimate, validation, total)
    if total.relative_total > ROUGH or left:
        return Judgement("unknown", "Rough", f"Better than nothing, but {error}{f'; {left}' if left else ''}.")
    if validation.opposed and not estimate.noted:  # else CAD's bodies were wrong, and it is said how
        return Judgement("unknown", "Rough", f"{error[0].upper()}{error[1:]}, but {_OPPOSED}.")
    if not complete(estimate):
        return Judgement("unknown", "Rough", f"{questions(estimate, validation)[0]} {error[0].upper()}{error[1:]}.")
    if scale := _scale(estimate, comparison):
        return Judgement("unknown", "Rough", f"{error[0].upper()}{error[1:]}, but {scale}.")
    links = "every link can exist" if estimate.feasible else "only combinations of parameters are known"
    quiet = _quiet(validation, total)
    said = f"{error[0].upper()}{error[1:]}, and {links}{f'; {quiet}' if quiet else ''}"
    return Judgement("good", "Ready to use", f"{said}{_hidden(estimate)}.")


def _beyond(estimate: Estimate) -> str:
    """Return that what is named leaves much of the torque unexplained, as a sentence after others; "" where not."""
    weighed = [cause.total[1] for cause in estimate.causes if cause.total[0] != cause.total[1]]
    if not weighed or min(weighed) <= ROUGH:
        return ""
    return f" Even so {percent(min(weighed))} of the torque would be missed: something else is wrong, too."


def _hidden(estimate: Estimate) -> str:
    """Return what was not examined as no log tells it, as the end of a sentence."""
    return f". Not examined, as these logs cannot tell them: {estimate.hidden}" if estimate.hidden else ""


def _left(estimate: Estimate, validation: Validation, total: Predicted) -> str:
    """Return which joints are predicted badly for what their readings allow, or how much worse than fitted; "": none.

    A joint is rough where QUIET of its torque is missed beyond the noise of its readings, or ROUGH_JOINT with it.
    """
    each = zip(validation.joints, validation.missed(total.name), total.relative, strict=True)
    rough = [
        f"{joint} {percent(missed if missed > QUIET else relative)}"
        for joint, missed, relative in each
        if missed > QUIET or relative > ROUGH_JOINT
    ]
    if rough:
        return (
            f"of single joints more is missed than the noise of their readings: {', '.join(rough)}; log motions that"
            " load these joints more, without parts that come and go, or say in [model] what acts on them"
        )
    fitted = np.nan_to_num(estimate.missed, nan=np.inf, posinf=np.inf)
    differ = [
        f"{joint} {percent(missed)}, fitted {percent(own)}"
        for joint, missed, own in zip(validation.joints, validation.missed(total.name), fitted, strict=True)
        if missed > max(WORSE * own, WORSE_JOINT)
    ]
    unsure = _unsure(validation, total)
    if differ and unsure:
        return f"far more is missed than where they were fitted ({'; '.join(differ)}): {unsure}"
    if differ:
        return (
            f"of single joints far more is missed than where they were fitted ({'; '.join(differ)}), so their friction,"
            " load or gain differs between the recordings, as of a robot that warms up: fit more of them"
        )
    if total.relative_total > max(WORSE * estimate.relative_total, WORSE_SHARE):
        if unsure:
            return f"only {percent(estimate.relative_total)} of the fitted ones is: {unsure}"
        return (
            f"only {percent(estimate.relative_total)} of the fitted ones is, so something differs between the"
            " recordings (load, warmth, gain), or the fitted ones move too little: fit more of them"
        )
    return ""


def _unsure(validation: Validation, total: Predicted) -> str:
    """Return what the fit's intervals allow where most is missed; "" where more than that is missed."""
    if validation.allowed is None:
        return ""
    most = total.squared > MOST * total.squared.sum()
    if (total.rms > UNSURE * validation.allowed)[most].any():
        return ""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = validation.allowed / np.sqrt(total.energy / total.samples)
    told = [f"{percent(x)} at {j}" for j, x, some in zip(validation.joints, shares, most, strict=True) if some]
    return (
        f"the fitted motions tell too little of what these need: the intervals alone allow {', '.join(told)}; fit one"
        " like these, too, or log what `ident excite` designs"
    )


def _quiet(validation: Validation, total: Predicted) -> str:
    """Return the joints that are missed by QUIET or more because of the noise of their readings, "" for none."""
    each = zip(validation.joints, validation.missed(total.name), total.relative, strict=True)
    told = [f"{joint} {percent(relative)}" for joint, missed, relative in each if missed <= QUIET < relative]
    return f"the noise of their readings allows no better than: {', '.join(told)}" if told else ""


def warnings(estimate: Estimate, validation: Validation | None = None) -> list[str]:
    """Return everything that a reader must not overlook."""
    found = list(estimate.warnings)
    if estimate.feasible is False:
        found.append("A link of this estimate cannot exist; it is not exported.")
    found += [sentence(f"Implausible: {doubt}") for doubt in estimate.implausible if doubt not in found]
    if estimate.covariance.kind == "classical":
        found.append(
            "The error bars take residuals as independent from sample to sample; on filtered logs they are too small."
        )
    open_ = [n for n, e in zip(estimate.base.names, estimate.covariance.standard_errors, strict=True) if not e >= 0]
    if open_:
        shown = ", ".join(open_[:6]) + (", ..." if len(open_) > 6 else "")
        found.append(f"These logs do not determine {len(open_)} base parameters: {shown}.")
    if validation is None:
        found.append("Nothing was validated: the error on motions never seen is not known.")
    else:
        found += validation.warnings
    return list(dict.fromkeys(found))
