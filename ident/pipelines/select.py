"""The joint terms that an experiment's fitted logs support, and what they ask for of friction where nobody says it: the
law of Coulomb friction without a [model], the load of load friction without CAD, fit and load in turn.

Inertia of a first joint's links and of its drive are one sum in all torques, and the load is the links' alone: what
the prior makes of that share is all that is left open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ident.arrays import Array
from ident.calibrate import calibrated, worthwhile
from ident.compare.causes.terms import SPRING, lacked
from ident.dynamics.rigid_body import inverse_dynamics
from ident.errors import EstimationError, LogError
from ident.estimate import Estimate, estimated
from ident.estimate.estimate import restored_terms
from ident.estimate.prior import Prior
from ident.experiment import Experiment
from ident.logs.motion import Motion
from ident.model import Balancer, Coulomb, DriveInertia, LoadFriction, Model, Offset, SmoothCoulomb, Spring, Viscous
from ident.model.standard import COULOMB, SIGN
from ident.model.term import Kind, Term, names
from ident.model.terms import lines
from ident.pipelines.loaded import Loaded, load
from ident.pipelines.steps import FirstParts, Warned, processing_of
from ident.regression import base_parameters, compress
from ident.regression.compress import Known
from ident.report.text import percent
from ident.robot.unknown import tilts
from ident.structure import Selection, selected
from ident.structure.widths import peaks, smoothed, wide
from ident.tables import below
from ident.tell import Tell, logged

#: A tilt that explains so much of what springs do stands in their place.
ALIKE = 0.9
#: How often the width of Coulomb friction and the terms beside it are chosen in turn, at most.
TURNS = 2
#: What is fitted without being chosen.
USUAL = (Viscous, Coulomb, DriveInertia, Offset)


@dataclass(frozen=True, eq=False)
class Selected:
    """An experiment with the model that its logs support, the choice, and that model as lines of [model].

    lines: all that [model] takes where the experiment has none, else what is to be added to it.
    """

    loaded: Loaded
    selection: Selection
    lines: tuple[str, ...]


def select(experiment: Experiment | str | Path, tell: Tell = logged) -> Selected:
    """Choose joint terms beside an experiment's own by what its fitted recordings predict of parts left out.

    Recordings kept for validation are not read. Raises what `load` raises, LogError for the logs.
    """
    loaded = with_friction(load(experiment), list[Warned]())
    selection = selection_of(loaded, tell)
    model = selection.model
    own = () if loaded.experiment.own_model else _smooth(model)
    chosen = replace(loaded, model=model, base=base_parameters(model), processing=processing_of(loaded))
    return Selected(chosen, selection, lines((*own, *selection.terms)))


def with_selection(loaded: Loaded, warned: list[Warned], tell: Tell = logged, read: FirstParts | None = None) -> Loaded:
    """Return the experiment with the joint terms that its fitted logs support beside the usual ones, and say so.

    An experiment with a [model] stays as it is. read: as of `with_friction`. Raises LogError for the logs.
    """
    if loaded.experiment.own_model:
        return loaded
    found = selection_of(loaded, tell, read=read)
    wider = tuple(term for term in _smooth(found.model))
    if wider != _smooth(loaded.model):
        warned[:] = [w for w in warned if w.about != "friction"] + [told(found.model, "beside the terms that were")]
    processing, model = processing_of(loaded), plain(loaded.model)
    if SIGN in model.terms:
        model = restored(model, found.model.shapes, found.model.names)
    loaded = replace(loaded, structure=found.structure, processing=processing, model=model, base=base_parameters(model))
    if not found.terms:
        return loaded
    shares = f"{percent(found.structure.before)} to {percent(found.structure.honest)}"
    taken = below("model", *found.structure.lines)
    why = f"chosen by what is left out, whose error falls from {shares}: {taken}"
    more = "error bars take the choice as given; `ident select` says why, a [model] of your own replaces it"
    for pulled in (", ".join(t.joints or ()) for t in found.terms if isinstance(t, Balancer)):
        more = f"something pulls {pulled} as a gas or coil spring on a crank does: is there one? {more}"
    warned.append(Warned("model", "chosen", f"{why}; {more}"))
    return replace(loaded, pulls=found.pulls)


def with_terms(loaded: Loaded, told: list[Warned], tell: Tell = logged) -> Loaded:
    """Return an experiment with the width of friction and the further terms that its logs ask for.

    Raises LogError for the logs, ConfigError for load friction without a load.
    """
    read = FirstParts(loaded)
    found = with_identified_load(with_selection(with_friction(loaded, told, read), told, tell, read), told, read)
    if found.structure is None or not found.structure.lines:
        return found
    return replace(found, processing=processing_of(replace(found, processing=None)))  # what was missed hid their noise


def with_springs(loaded: Loaded, springs: Mapping[tuple[str, str], str], told: list[Warned]) -> Loaded:
    """Return an experiment with what its CAD's links ask for, and say so; springs: joint and words -> evidence."""
    terms = loaded.model.terms
    for (joint, what), evidence in springs.items():
        more = lacked(joint, what)
        asked = "a spring" if what == SPRING else "a balancer"
        line = below("model", *lines(more)) + ", the wave that any balancer has," * (what != SPRING)
        told.append(
            Warned("model", "elastic", f"CAD's links ask for {asked} at '{joint}' ({evidence}): {line} is taken")
        )
        terms = (*terms, *more)
    model = replace(loaded.model, terms=terms)
    return replace(loaded, model=model, base=base_parameters(model))


def without_idle(loaded: Loaded, estimate: Estimate, warned: list[Warned]) -> Loaded | None:
    """Return the experiment without chosen terms that its fit holds at zero in every joint, and say so; None: no such.

    A choice is made on more rows than are fitted, or before signals were treated anew.
    """
    if loaded.structure is None or not loaded.structure.lines:
        return None
    zero, usual = {said.removesuffix(" at zero") for said in estimate.active}, {t.kind for t in USUAL}
    kinds: dict[Kind, list[str]] = {}
    for term in loaded.model.terms:
        kinds.setdefault(term.kind, []).extend(names(term, loaded.robot))
    gone = {
        kind for kind, parameters in kinds.items() if kind not in usual and parameters and zero.issuperset(parameters)
    }
    idle = tuple(term for term in loaded.model.terms if term.kind in gone)
    if not idle:
        return None
    message = f"{'; '.join(lines(idle))}: zero in all joints of the fit, so left out again"
    warned.append(Warned("model", "left out", message))
    model = replace(loaded.model, terms=tuple(term for term in loaded.model.terms if term not in idle))
    kept = tuple(line for line in loaded.structure.lines if line.partition(" =")[0] not in {k.key for k in gone})
    shapes = tuple(shape for shape in loaded.structure.shapes if shape.kind not in {k.name for k in gone})
    structure = replace(loaded.structure, lines=kept, shapes=shapes)
    return replace(loaded, model=model, base=base_parameters(model), structure=structure)


def selection_of(loaded: Loaded, tell: Tell = logged, worth: float = 0.0, read: FirstParts | None = None) -> Selection:
    """Return which joint terms a loaded experiment's fitted logs support; of long recordings the first part.

    Where the rows that are fitted support none, slow ones, which are predicted as well, may: friction near standstill.
    Widths that logs chose are chosen again beside the terms, and terms beside these, until nothing changes.
    worth: as of `ident.structure.selected`; read: as of `with_friction`.
    """
    fit, first = processing_of(loaded)[0], read or FirstParts(loaded)
    parts = first.read(fit)
    if not any(motion.keep.any() for motion in parts):
        raise LogError("no row of the fitted recordings is left", fix="Does the robot move? Check masks and window")
    carried = _carried(loaded, parts) if loaded.cad is None else loaded.prior.inertials

    def among(model: Model, given: Sequence[Term] = ()) -> tuple[Selection, list[Motion]]:
        base = base_parameters(model)
        found = selected(model, parts, loaded.prior, base, carried, tell, worth, given=given, known=first.known)
        if found.terms or found.structure.note or not np.any(fit.min_speed):
            return found, parts
        slow = slow_too(loaded, first)
        more = selected(model, slow, loaded.prior, base, carried, tell, worth, given=given, known=first.known)
        return (more, slow) if more.terms else (found, parts)

    model, shapes = loaded.model, tuple[Term, ...]()
    found, motions = among(model)
    for _ in range(0 if loaded.experiment.own_model else TURNS):
        wider, given = _wider(model, slow_too(loaded, first), loaded.prior, found.terms, first.known)
        if wider is model:
            break
        again, rows = among(wider, given)
        if rows is motions and again.structure.after >= found.structure.after:
            break
        model, shapes, found, motions = wider, given, again, rows
    if loaded.experiment.calibrate is not None:  # a tilt has been asked for, or not wanted
        return found
    tilt = tilt_in_place_of_springs(model, motions, loaded.prior, found)
    if not tilt:
        return found
    aside = {Spring.kind.name: tilt}
    return selected(
        model, motions, loaded.prior, base_parameters(model), carried, tell, worth, aside, shapes, first.known
    )


def _wider(
    model: Model, motions: Sequence[Motion], prior: Prior, terms: Sequence[Term], known: Known
) -> tuple[Model, tuple[Term, ...]]:
    """Return a model with the widths of Coulomb friction that are best beside terms, or beside Stribeck friction, too.

    With the terms that have shapes, as they are best. The model as it is where nothing is gained: width and peak hide
    one another, so that one alone may be worth nothing.
    """
    if SIGN not in plain(model).terms:
        return model, ()
    for more in (peaks(model, motions, terms), ()):
        if more or terms:
            wider, _, given = wide(plain(model), motions, prior, model, (*terms, *more), terms, known)
            if wider is not model:
                return wider, given
    return model, ()


def tilt_in_place_of_springs(model: Model, motions: Sequence[Motion], prior: Prior, found: Selection) -> str:
    """Return why springs are not taken: a tilt of the base, two unknowns, explains as much as they do; else "".

    model: that of the robot as it is described, with its own terms; found: what was selected beside them.
    """
    taken = [t for t in found.structure.tried if t.kind == Spring.kind.name and not t.reason]
    unknowns = tilts(model.robot)
    if not taken or not found.terms or not unknowns:
        return ""
    others = tuple(t for t in found.terms if t.kind != Spring.kind)
    without = replace(model, terms=(*model.terms, *others))
    for evidence in worthwhile(calibrated(without, [m for m in motions if m.keep.any()], prior, unknowns)):
        if evidence.worth and evidence.gain >= ALIKE * taken[0].gain:
            return f"a tilted base {evidence}, with two unknowns: {below('calibrate', 'gravity = true')}"
    return ""


def _smooth(model: Model) -> tuple[Term, ...]:
    """Return the Coulomb friction of joints that is not the plain sign."""
    return tuple(t for t in model.terms if t.kind == SIGN.kind and t != SIGN and not hasattr(t, "along"))


def with_friction(loaded: Loaded, warned: list[Warned], read: FirstParts | None = None) -> Loaded:
    """Return the experiment with Coulomb friction as wide near standstill as its fitted logs ask for, and say so.

    An experiment with a [model] stays as it is. read: its `FirstParts`, where others read them too. Raises LogError
    for the logs.
    """
    if loaded.experiment.own_model or SIGN not in loaded.model.terms:
        return loaded
    processing, read = processing_of(loaded), read or FirstParts(loaded)
    model, gain, _ = wide(loaded.model, slow_too(loaded, read), loaded.prior, known=read.known)
    if model is loaded.model:
        return loaded
    warned.append(told(model, f"whose error falls by {gain.gain:.0%}"))
    return replace(loaded, model=model, base=base_parameters(model), processing=processing)


def slow_too(loaded: Loaded, read: FirstParts) -> list[Motion]:
    """Return the fitted recordings, of long ones the first part, with rows too slow for the sign of the speed."""
    return read.read(replace(processing_of(loaded)[0], min_speed=0.0))


def told(model: Model, why: str) -> Warned:
    """Return what to say of the widths that logs chose."""
    laws = [term for term in model.terms if isinstance(term, SmoothCoulomb)]
    each = ", ".join(f"{{ tanh = {law.tanh:g}, joints = {list(law.joints or ())} }}".replace("'", '"') for law in laws)
    message = f"chosen by what is left out, {why}: {below('model', f'coulomb = [{each}]')}"
    return Warned("friction", "chosen", message)


def plain(model: Model) -> Model:
    """Return the model with the sign of the speed in place of widths that logs chose."""
    at = [k for k, term in enumerate(model.terms) if term.kind == COULOMB and isinstance(term, SmoothCoulomb)]
    if not at:
        return model
    return replace(model, terms=(*model.terms[: at[0]], SIGN, *model.terms[at[-1] + 1 :]))


def restored(model: Model, shapes: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> Model:
    """Return a model with what logs chose: another one's widths in place of its sign of the speed, its further terms.

    shapes, names: `Model.shapes` and the names of the other's parameters, of the same robot.
    """
    named = [f"{joint}.{SIGN.kind.name}" for joint in model.robot.joint_names]
    widths = [shapes[name]["tanh"] for name in named if "tanh" in shapes.get(name, {})]
    if len(widths) == len(named):
        model = smoothed(model, np.array(widths))
    more = names[len(model.names) :]
    if not more or tuple(names[: len(model.names)]) != model.names:
        return model
    return replace(model, terms=(*model.terms, *restored_terms(shapes, model.robot, more)))


#: Fits at most, and the relative change of the load at which they end.
ROUNDS, SETTLED = 15, 0.001
#: Rows of a motion that say how much the load changed.
_ROWS = 500
#: Share by which other bodies are others to friction that grows with load.
LOADS = 0.1


def open_load(loaded: Loaded) -> bool:
    """Return whether the experiment asks for friction that grows with a load that no CAD gives."""
    return loaded.cad is None and any(isinstance(term, LoadFriction) for term in loaded.model.terms)


def require_load(loaded: Loaded) -> Loaded:
    """Return the experiment; ConfigError where its friction has a load that each robot would tell anew."""
    if open_load(loaded):
        raise loaded.experiment.error("needs one load for all robots, from a CAD table", "model.load_friction", _FIX)
    return loaded


def with_identified_load(loaded: Loaded, told: list[Warned], read: FirstParts) -> Loaded:
    """Return the experiment with the load that its fitted logs identify, where no CAD gives it, and say so.

    read: its `FirstParts`. Raises LogError for the logs, ConfigError where the experiment asks
    for such friction, and fit and load do not come to agree.
    """
    if not open_load(loaded):
        return loaded
    processing = processing_of(loaded)
    motions = read.read(processing[0])
    try:
        model, change = identified_load(loaded.model, motions, loaded.prior)
    except EstimationError as cause:
        if not loaded.experiment.own_model:  # nobody asked for it: the load that it was chosen with stays
            return loaded
        raise loaded.experiment.error(f"its load was not identified: {cause}", "model.load_friction", _FIX) from cause
    if not change <= SETTLED and loaded.experiment.own_model:
        problem = f"the logs do not tell its load: {ROUNDS} fits in turn still change it by {change:.0%}"
        raise loaded.experiment.error(problem, "model.load_friction", _FIX)
    open_ = "" if change <= SETTLED else f"; {ROUNDS} fits in turn still change it by {change:.0%}"
    told.append(
        Warned("load friction", "identified", f"grows with the load of the fitted links, for there is no CAD{open_}")
    )
    return replace(loaded, model=model, base=base_parameters(model), processing=processing)


def _carried(loaded: Loaded, motions: Sequence[Motion]) -> Array | None:
    """Return the links (n, 10) that a fit without load friction identifies, None where it identifies none."""
    moving = [m for m in motions if m.keep.any()]
    with suppress(EstimationError):
        theta = estimated(loaded.model, compress(loaded.model, moving), loaded.prior).theta
        return None if theta is None else theta[: loaded.model.n_rigid].reshape(-1, 10)
    return None


_FIX = "Give experiment.cad, or leave load_friction out"


def identified_load(model: Model, motions: Sequence[Motion], prior: Prior) -> tuple[Model, float]:
    """Return the model whose load friction has the load of the links that are fitted with it, and its last change.

    The first fit is without load friction; the change is relative, root mean square over all joints. Raises what
    `estimated` raises.
    """
    moving = [m for m in motions if m.keep.any()]
    now = replace(model, terms=tuple(t for t in model.terms if not isinstance(t, LoadFriction)))
    before, change = np.zeros(0), np.inf
    for _ in range(ROUNDS):
        estimate = estimated(now, compress(now, moving), prior)
        assert estimate.theta is not None
        bodies = estimate.theta[: model.n_rigid].reshape(-1, 10)
        load = np.concatenate([_load(model, bodies, m) for m in moving])
        if before.size:
            change = float(np.linalg.norm(load - before) / np.linalg.norm(load))
        before = load
        now = with_load(model, bodies)
        if change <= SETTLED:
            break
    return now, change


def loads_otherwise(prior: Prior, before: Prior) -> bool:
    """Return whether the bodies of a prior load joints otherwise than those of another one, by LOADS or more."""
    change, size = prior.inertials - before.inertials, prior.inertials
    parts = slice(0, 1), slice(1, 4)  # masses, and masses times centres
    return any(np.linalg.norm(change[:, p]) > LOADS * np.linalg.norm(size[:, p]) for p in parts)


def with_load(model: Model, bodies: Array) -> Model:
    """Return a model whose load friction, where it has some, grows with the load of these bodies (n, 10)."""
    terms = (LoadFriction.of(bodies, t.law) if isinstance(t, LoadFriction) else t for t in model.terms)
    return replace(model, terms=tuple(terms))


def _load(model: Model, bodies: Array, motion: Motion) -> Array:
    """Return the torque (rows, n) that links need in some rows of a motion."""
    some = slice(None, None, max(len(motion.t) // _ROWS, 1))
    return inverse_dynamics(model.robot, bodies, motion.q[some], motion.qd[some], motion.qdd[some])
