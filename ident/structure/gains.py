"""What a candidate takes from left-out errors, and why that is too little."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ident.arrays import Array
from ident.estimate.estimate import TriedTerm
from ident.structure.candidates import Candidate

#: Why what passed at first is not taken in the end.
GROWS = "the error grows"


def declined(tried: dict[str, TriedTerm], why: str) -> dict[str, TriedTerm]:
    """Return what was tried with a reason for each, `why` where it has no other."""
    return {kind: replace(one, reason=one.reason or why) for kind, one in tried.items()}


def size(errors: Array) -> float:
    """Return one number for errors (2, s) in both weighings, whatever their units: the sum of logarithms."""
    return float(np.log(np.maximum(errors.sum(axis=1), 1e-300)).sum())


def compared(candidate: Candidate, before: Array, after: Array) -> TriedTerm:
    """Return what a candidate takes from the errors (2, s), and why that is too little.

    One weighing that asks for it is enough, where the other one's gain is not below zero by more than its error.
    """
    each = [_step(candidate, *both) for both in zip(before, after, strict=True)]
    best = min(each, key=lambda one: (bool(one.reason), -one.gain))
    if not best.reason and any(one.gain < -one.error for one in each):
        return replace(next(one for one in each if one.reason), reason=GROWS)
    return best


def _step(candidate: Candidate, before: Array, after: Array) -> TriedTerm:
    gains = before - after
    error = float(np.sqrt(len(gains)) * gains.std(ddof=1))
    total, whole = float(gains.sum()), float(before.sum())
    share = 1.0 - float(np.sqrt(after.sum() / whole))
    relative = share * error / total if total else 0.0  # as many errors as of the squares
    found = TriedTerm(candidate.words, candidate.kind.name, share, relative)
    if total <= 0.0:
        return replace(found, reason=GROWS)
    if total < candidate.errors * error:
        return replace(found, reason=f"less than {candidate.errors:g} standard errors")
    if share < candidate.share:
        return replace(found, reason=f"less than {100 * candidate.share:g} %")
    return found
