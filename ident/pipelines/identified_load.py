"""The load of load friction from the logs themselves, where no CAD gives it: fit and load in turn.

Inertia of a first joint's links and of its drive are one sum in all torques, and the load is the links' alone: what
the prior makes of that share is all that is left open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ident.arrays import Array
from ident.dynamics.rigid_body import inverse_dynamics
from ident.errors import EstimationError
from ident.estimate import Prior, estimated
from ident.logs.motion import Motion
from ident.model import LoadFriction, Model
from ident.pipelines.loaded import Loaded
from ident.pipelines.steps import FirstParts, Warned, processing_of
from ident.regression import base_parameters, compress

#: Fits at most, and the relative change of the load at which they end.
ROUNDS, SETTLED = 15, 0.001
#: Rows of a motion that say how much the load changed.
_ROWS = 500


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

    read: its `first_parts_of`. Raises LogError for the logs, ConfigError where fit and load do not come to agree.
    """
    if not open_load(loaded):
        return loaded
    processing = processing_of(loaded)
    motions = read(processing[0])
    try:
        model, change = identified_load(loaded.model, motions, loaded.prior)
    except EstimationError as cause:
        raise loaded.experiment.error(f"its load was not identified: {cause}", "model.load_friction", _FIX) from cause
    if not change <= SETTLED:
        problem = f"the logs do not tell its load: {ROUNDS} fits in turn still change it by {change:.0%}"
        raise loaded.experiment.error(problem, "model.load_friction", _FIX)
    told.append(Warned("load friction", "identified", "grows with the load of the fitted links, for there is no CAD"))
    return replace(loaded, model=model, base=base_parameters(model), processing=processing)


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
        terms = (LoadFriction.of(bodies, t.law) if isinstance(t, LoadFriction) else t for t in model.terms)
        now = replace(model, terms=tuple(terms))
        if change <= SETTLED:
            break
    return now, change


def _load(model: Model, bodies: Array, motion: Motion) -> Array:
    """Return the torque (rows, n) that links need in some rows of a motion."""
    some = slice(None, None, max(len(motion.t) // _ROWS, 1))
    return inverse_dynamics(model.robot, bodies, motion.q[some], motion.qd[some], motion.qdd[some])
