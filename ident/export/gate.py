"""What lets a result out: a validation that passed, recorded with the numbers that it was made with."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np

from ident.compare.validate import ZERO, Validation
from ident.errors import UnusableError
from ident.estimate.estimate import Estimate, rounded

#: Keys of the provenance: the verdict in words, the hash of the numbers that it holds for, which recordings repeat a
#: fitted motion.
VERDICT, NUMBERS, AGAIN = "validation", "validation of", "validation on repeats"
#: How much larger than CAD's the error on held-out recordings may be, by chance, in a fit that passes.
MARGIN = 1.05
#: Share of the torque that a fit may miss: what misses more was fitted to another robot, other columns or other units.
MISSED = 0.4
_PASSED, _FAILED = "passed", "failed"


def fingerprint(estimate: Estimate) -> str:
    """Return a hash (hex) of the result: names and values of its parameters, 12 digits."""
    values = estimate.phi if estimate.theta is None else estimate.theta
    names = estimate.base.names if estimate.theta is None else estimate.base.standard
    content = [estimate.robot, estimate.estimator, list(names), [float(x) for x in rounded(values)]]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def with_validation(estimate: Estimate, validation: Validation | None, prediction: str = "identified") -> Estimate:
    """Return the estimate with the verdict of its validation in its provenance, from where it is saved and read.

    It passes when nothing is wrong with robot file and logs, no link and no torque is implausible, on all held-out
    recordings together every joint is predicted better than by zero torque, and the whole within 40 % of the torque and
    not worse than 1.05 times CAD's error where CAD was given. Without held-out recordings the estimate is returned as
    it is: not validated.
    """
    total = None if validation is None else validation.total(prediction)
    if validation is None or total is None:
        return estimate
    where = ", ".join(r.recording for r in validation.held_out)
    failures = [
        *(cause.short for cause in estimate.causes),
        *(f"implausible {found}" for found in estimate.implausible),
        *validation.unusable,
    ]
    failures += [
        f"joint '{joint}' is predicted no better than by zero torque"
        for joint, relative in zip(validation.joints, total.relative, strict=True)
        if np.isfinite(relative) and relative >= 1
    ]
    for name in validation.names:
        other = validation.total(name)
        if name in (prediction, ZERO) or other is None:
            continue
        if total.relative_total > MARGIN * other.relative_total:
            failures.append(f"{name} predicts better ({100 * other.relative_total:.3g} %)")
    if total.relative_total > MISSED and not failures:
        failures.append("over 40 % of the torque is missed: is it this robot, and are columns and units right?")
    error = f"error {100 * total.relative_total:.3g} % of the torque on held-out {where}"
    verdict = f"{_FAILED}: {'; '.join(failures)}; {error}" if failures else f"{_PASSED}: {error}"
    again = {AGAIN: names} if (names := ", ".join(r.recording for r in validation.held_out if r.again)) else {}
    known = {VERDICT: verdict, NUMBERS: fingerprint(estimate)} | again
    before = {key: said for key, said in estimate.provenance.items() if key != AGAIN}  # of another validation
    return replace(estimate, provenance=before | known)


def admitted(estimate: Estimate, *, unvalidated: bool = False) -> str:
    """Return what a file says about the validation; raises UnusableError where it forbids the export.

    unvalidated: export all the same, and say so in the file.
    """
    verdict = estimate.provenance.get(VERDICT)
    if verdict is not None and estimate.provenance.get(NUMBERS) != fingerprint(estimate):
        verdict = None  # it was given to other numbers
    if verdict is not None and verdict.startswith(_PASSED):
        return f"Validation {verdict}."
    found = "was never validated on a held-out recording" if verdict is None else f"did not pass validation ({verdict})"
    if verdict is None and estimate.implausible:
        found += f" and is not to be believed ({'; '.join(estimate.implausible)})"
    fix = "Validate it on a recording that was not fitted (ident validate)"
    if verdict is not None:
        fix = "Mend what the report shows, and fit again"
    if not unvalidated:
        fix += ", or ask for unvalidated numbers explicitly: ident export --unvalidated."
        raise UnusableError(f"the fit of '{estimate.robot}' {found}, so nothing was exported. {fix}", estimate=estimate)
    return f"WARNING: NOT VALIDATED, exported on request although the fit {found}."
