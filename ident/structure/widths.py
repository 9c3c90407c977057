"""How wide Coulomb friction is near standstill: a tanh in place of the sign of the speed, as the logs ask for.

A width is judged as any other candidate is, by what is left out; and again beside the terms that were taken since.
One width for all joints, relative to their speeds, is looked for first. Each joint's own, and the shapes of
the terms beside it, then go by steps of Gauss and Newton to where the whole fit misses least (variable projection);
what the logs do not tell stays near the common one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ident.arrays import Array, significant
from ident.estimate.estimate import TriedTerm
from ident.estimate.prior import Prior
from ident.logs.motion import Motion
from ident.model import Hysteresis, LoadFriction, Model, NonlinearViscous, SmoothCoulomb, Stribeck
from ident.model.standard import COULOMB, SIGN
from ident.model.term import Term
from ident.regression import base_parameters, compress
from ident.regression.compress import Known
from ident.structure.candidates import NARROWER, POWER, SPEED, WAY, Candidate, candidates
from ident.structure.judge import Judge, Logs, compared, shortened, size, told_by_the_rest
from ident.structure.selection import FEWEST
from ident.structure.shapes import BEFORE, Places, at_joints, refined

#: Widths that are tried first, relative to each joint's speed (99th percentile), and what they are kept within.
WIDTHS, WIDTH = tuple(0.002 * 2.0**k for k in range(9)), (0.001, 2.0)
#: Standard deviation of the logarithm of a joint's width, from the common one, before the logs are seen.
ALIKE = float(np.log(3.0))
#: The shape of terms beside that of Coulomb friction, and what it is kept within; speeds, relative to the joint's.
SHAPES: dict[type[Any], tuple[str, tuple[float, float]]] = {
    Stribeck: ("speed", SPEED),
    Hysteresis: ("way", WAY),
    NonlinearViscous: ("power", POWER),
}


def smoothed(model: Model, widths: Array) -> Model:
    """Return the model with a tanh of these widths (n,), to three digits, in place of the sign of the speed, if any."""
    if SIGN not in model.terms:
        return model
    digits = [significant(width, 3) for width in widths]
    names = model.robot.joint_names
    laws = [SmoothCoulomb(w, (joint,)) for w, joint in zip(digits, names, strict=True)]
    if len(set(digits)) == 1:
        laws = [SmoothCoulomb(digits[0], names)]
    at = model.terms.index(SIGN)
    return Model(model.robot, (*model.terms[:at], *laws, *model.terms[at + 1 :]))


def wide(
    model: Model,
    motions: Sequence[Motion],
    prior: Prior,
    before: Model | None = None,
    beside: Sequence[Term] = (),
    had: Sequence[Term] | None = None,
    known: Known | None = None,
) -> tuple[Model, TriedTerm, tuple[Term, ...]]:
    """Return the model with a tanh in place of the sign of the speed, or one `before` where that is not worth it.

    model: with the plain sign; before: with what it had, by default the same; beside: further terms, whose shapes go
    with it. prior: bodies that the fit is drawn to; known: what is kept of the motions. With the gain, and why it is
    too little; with the terms beside it that have shapes, joint by joint, as they are best.
    """
    before = before or model
    none = TriedTerm("a width of Coulomb friction", COULOMB.name, 0.0, 0.0, reason="the logs are too short")
    short, levels = shortened([m for m in motions if m.keep.any()])
    if SIGN not in model.terms or len(levels) < FEWEST:
        return before, none, ()
    whole = replace(model, terms=(*model.terms, *beside))
    known = known or Known()
    regression = compress(whole, short, base=base_parameters(model).widened(whole.names), known=known)
    found = told_by_the_rest(whole, prior, regression, levels)
    if found is None:
        return before, none, ()
    own = replace(model, terms=tuple(t for t in model.terms if t != SIGN))
    core = replace(own, terms=(*own.terms, *(t for t in beside if not _shaped(t))))
    logs = Logs(core, tuple(short), prior, base_parameters(own).widened(core.names), found.evidence.fold, known)
    fastest = np.max([np.percentile(np.abs(m.qd), 99, axis=0) for m in motions], axis=0)
    widths = _on_the_grid(logs, whole, np.maximum(fastest, 1e-6))
    terms = _refined(logs, widths, np.maximum(fastest, 1e-6))
    law = {t.joints: t.tanh for t in terms if isinstance(t, SmoothCoulomb)}
    had = by_joint(replace(before, terms=(*before.terms, *(beside if had is None else had))), None)
    gain = _gain(logs, had, terms)
    if gain.reason:
        return before, gain, ()
    each, moves = np.array([law[(joint,)] for joint in model.robot.joint_names]), fastest > 0.0
    usual = np.median(each[moves]) if moves.any() else each  # which a joint at rest says nothing of
    return smoothed(model, np.where(moves, each, usual)), gain, tuple(_rounded(t) for t in terms if type(t) in SHAPES)


def _gain(logs: Logs, before: Sequence[Term], after: Sequence[Term]) -> TriedTerm:
    """Return what one set of terms takes from the left-out error of another one, and why that is too little."""
    pool = [Candidate("a width of Coulomb friction", tuple(terms)) for terms in (before, after)]
    places, evidence = logs.places(pool), logs.evidence(pool)
    judge = Judge(evidence, places[1])
    return compared(pool[1], *(judge.weighed(judge.left_out(columns, judge.folds)) for columns in places))


def _on_the_grid(logs: Logs, model: Model, fastest: Array) -> list[Any]:
    """Return the terms with shapes of a model joint by joint, with the width of WIDTHS at which each misses least.

    The first: common to all, relative to their speeds, and best for what is left out.
    """
    n, names = len(fastest), model.robot.joint_names
    terms = [by_joint(model, ratio * fastest) for ratio in WIDTHS]
    pool = [Candidate("", tuple(each)) for each in terms]
    places, evidence = logs.places(pool), logs.evidence(pool)
    owner = [names.index(term.joints[0]) for term in terms[0]]
    judge = Judge(evidence, places[len(WIDTHS) // 2])

    def columns(choice: Sequence[int]) -> list[int]:
        return [places[choice[j]][k] for k, j in enumerate(owner)]

    def misfit(choice: Sequence[int], common: int) -> float:
        away = np.log([WIDTHS[k] / WIDTHS[common] for k in choice]) / ALIKE
        return judge.misfit(columns(choice)) / judge.inflation + float(away @ away)

    alike = [size(judge.weighed(judge.left_out(columns([k] * n), judge.folds))) for k in range(len(WIDTHS))]
    common = int(np.argmin(alike))
    choice = [common] * n
    for _ in range(n * len(WIDTHS)):  # far more than it takes
        last = list(choice)
        for j in range(n):
            each = [misfit([*choice[:j], k, *choice[j + 1 :]], common) for k in range(len(WIDTHS))]
            choice[j] = int(np.argmin(each))
        if choice == last:
            break
    return [terms[choice[j]][k] for k, j in enumerate(owner)]


def _refined(logs: Logs, terms: Sequence[Any], fastest: Array) -> list[Any]:
    """Return terms joint by joint with the shapes at which the whole fit misses least.

    terms: of one joint each, as `by_joint` has them; fastest (n,): speeds of the joints. Each joint has a width of its
    own, drawn to the usual ratio to its speed, a way of hysteresis, drawn to that of all, and a speed of Stribeck
    friction; a power is one for all joints.
    """
    names = logs.model.robot.joint_names
    speeds = [float(fastest[names.index(term.joints[0])]) for term in terms]
    groups = _groups(terms)
    law = np.array([isinstance(terms[g[0][0]], SmoothCoulomb) for g in groups])
    own = law | np.array([isinstance(terms[g[0][0]], Hysteresis) for g in groups])
    ratios = np.array([np.log(getattr(terms[g[0][0]], g[0][1]) / speeds[g[0][0]]) for g in groups])
    away = np.where(law, ratios - np.median(ratios[law]), 0.0)

    def moved(terms: Sequence[Any], moves: Array) -> list[Any]:
        return _moved(terms, groups, moves, speeds)

    return refined(logs, terms, groups, np.where(own, ALIKE, BEFORE), away, moved)


def _groups(terms: Sequence[Any]) -> list[Places]:
    """Return which numbers of the terms move together: a joint's widths; speeds, ways and powers of all joints."""
    found: dict[object, list[tuple[int, str]]] = {}
    for k, term in enumerate(terms):
        if isinstance(term, SmoothCoulomb):
            found.setdefault(term.joints, []).insert(0, (k, "tanh"))
        elif isinstance(term, Stribeck):
            found.setdefault(term.joints, []).append((k, "width"))
        if type(term) in SHAPES:
            key = (type(term), term.joints) if isinstance(term, (Stribeck, Hysteresis)) else type(term)
            found.setdefault(key, []).append((k, SHAPES[type(term)][0]))
    return [tuple(group) for group in found.values()]


def _moved(terms: Sequence[Any], groups: Sequence[Places], moves: Array, speeds: Sequence[float]) -> list[Any]:
    """Return terms with shapes times exp(moves (g,)), within what these are kept in."""
    found = list(terms)
    for group, x in zip(groups, moves, strict=True):
        (first, number), term = group[0], terms[group[0][0]]
        scale = speeds[first] if number in ("tanh", "speed") else 1.0
        (least, most), now = WIDTH if number == "tanh" else SHAPES[type(term)][1], getattr(term, number)
        ratio = float(np.clip(now * np.exp(x), least * scale, most * scale)) / now
        for k, own in group:
            found[k] = replace(found[k], **{own: ratio * getattr(found[k], own)})
    for k, term in enumerate(found):
        if isinstance(term, Stribeck):
            found[k] = replace(term, width=min(term.width, term.speed / NARROWER))
    laws = {term.joints: term for term in found if isinstance(term, SmoothCoulomb)}
    return [replace(t, law=laws.get(t.joints, t.law)) if isinstance(t, LoadFriction) else t for t in found]


def peaks(model: Model, motions: Sequence[Motion], beside: Sequence[Term]) -> tuple[Term, ...]:
    """Return Stribeck friction of the usual shape at the joints that move, none where the terms have some."""
    if any(isinstance(term, Stribeck) for term in beside):
        return ()
    shaped = [c for c in candidates(model, motions) if c.kind == Stribeck.kind]
    return shaped[len(shaped) // 2].terms if shaped else ()


def _shaped(term: Term) -> bool:
    """Return whether a term of joints depends on the width of Coulomb friction, or on a shape fitted with it."""
    rubs = term.kind in (COULOMB, LoadFriction.kind) or type(term) in SHAPES
    return rubs and not hasattr(term, "along")


def by_joint(model: Model, widths: Array | None) -> list[Any]:
    """Return the terms with shapes of a model, one for each joint; with these widths (n,), or as they are."""
    names, found = model.robot.joint_names, list[Any]()
    for term in filter(_shaped, model.terms):
        for joint in term.joints or names:
            width = None if widths is None else float(widths[names.index(joint)])
            own = at_joints(term, (joint,))
            if width is not None and term.kind == COULOMB:
                own = SmoothCoulomb(width, (joint,))
            elif width is not None and isinstance(term, Stribeck):
                own = replace(own, width=min(width, term.speed / NARROWER))
            elif width is not None and isinstance(term, LoadFriction):
                own = replace(own, law=SmoothCoulomb(width, (joint,)))
            found.append(own)
    return found


def _rounded(term: Any) -> Term:
    """Return a term with shapes of three digits."""
    names = [SHAPES[type(term)][0], *(["width"] if isinstance(term, Stribeck) else [])]
    found: Term = replace(term, **{name: significant(getattr(term, name), 3) for name in names})
    return found
