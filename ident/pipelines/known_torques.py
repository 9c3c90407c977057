"""Torques that a design counts with: those of an estimate, as far as a proof can follow them, or those of CAD."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ident.arrays import Array
from ident.cad import read_cad, require_consistent
from ident.compare.difference import cad_theta
from ident.errors import EstimationError, ModelError
from ident.estimate import Estimate, fitted_model
from ident.estimate.storage import estimate_file, load_estimate
from ident.excitation.limits import TorqueLimits, torque_limits
from ident.export.gate import NUMBERS, VERDICT, fingerprint
from ident.files import hashes
from ident.model import DriveInertia, Model
from ident.model import term as each
from ident.model.standard import COULOMB
from ident.model.term import Term
from ident.model.terms import kind_of, kinds
from ident.robot import Robot

#: CAD's theta (p,), None where it does not know all links, and the joint terms that it does not state: 0 there.
Stated = tuple[Array | None, tuple[str, ...]]
_ERRORS = 3.0  # of each joint's error, kept free where an estimate is used
_GRID = 4001  # of positions and speeds; between its points no ripple of 200 waves grows by more than 1 %
_BETWEEN = 1.01
_LOADED = 0.5  # of the load: friction of a larger share has a load far below the limit, which would bound nothing


@dataclass(frozen=True, eq=False)
class KnownTorques:
    """Torque = Y theta of `model`, theta (p,), which a motion's proof follows.

    beside (n,) [N m; N]: kept free besides, of either sign. lacks: what is in neither, in words.
    """

    model: Model
    theta: Array
    beside: Array
    lacks: str = ""

    def limits(self, margin: float, power: float) -> TorqueLimits:
        """Return the limits of these torques and of their power [W], less a share `margin`."""
        return torque_limits(self.model, self.theta, margin=margin, power=power, beside=self.beside, lacks=self.lacks)


def known_torques(
    estimate: Path | None, model: Model, said: Stated, notes: list[str], inputs: dict[str, str]
) -> KnownTorques | None:
    """Return the torques of an estimate, else of what CAD says, None where neither is known; notes say more."""
    if estimate is None:
        notes += unlimited(model.robot, *said)
        return None if said[0] is None else stated_torques(model, said[0], said[1])
    found = identified_torques(estimate_file(estimate), model.robot, notes)
    inputs |= hashes(estimate_file(estimate))
    notes += unlimited(model.robot, found.theta, ())
    return found


def stated(model: Model, cad: Path | None, inputs: dict[str, str]) -> Stated:
    """Return theta (p,) of a CAD table, else of the robot's own file, and the names that are not stated, set to zero.

    None where neither gives the inertials of all links. `inputs` gets the table's hash. Raises CadError and ModelError.
    """
    robot = model.robot
    if cad is not None:
        table = read_cad(cad)
        require_consistent(table)
        inputs[cad.name] = table.sha256
        values = {k: v for k, v in table.joint_values.items() if k in model.names}
        return cad_theta(model, table.for_robot(robot), values)
    if robot.inertials is not None and np.isfinite(robot.inertials).all():
        return cad_theta(model, robot.inertials, {})
    return None, ()


def unlimited(robot: Robot, theta: Array | None, absent: tuple[str, ...]) -> list[str]:
    """Return notes on what the torque limits leave out."""
    if theta is None:
        return ["no inertials of all links are given (--cad): torques are not limited"]
    notes = []
    without = [joint.name for joint in robot.joints if math.isinf(joint.limits.effort)]
    if without:
        notes.append(f"no torque limit is given for {', '.join(without)}")
    rubbing = {kind.name for kind in kinds().values() if kind.friction}
    friction = [name for name in absent if name.rpartition(".")[2] in rubbing]
    if friction and len(without) < robot.n:
        notes.append("CAD says nothing of friction: it counts as zero in the torques; leave a --torque-margin for it")
    return notes


def stated_torques(model: Model, theta: Array, absent: Sequence[str]) -> KnownTorques:
    """Return the torques of theta (p,) as CAD has it; absent: names of the parameters that it does not state."""
    said = [name for name in model.names[model.n_rigid :] if name not in absent]
    friction = any(kind is not None and kind.friction for kind in map(kind_of, said))
    drive = any(kind_of(name) == DriveInertia.kind for name in said)
    lacks = [word for word, there in (("friction", friction), (DriveInertia.kind.words, drive)) if not there]
    return KnownTorques(model, theta, np.zeros(model.robot.n), " and ".join(lacks))


def identified_torques(file: Path, robot: Robot, notes: list[str]) -> KnownTorques:
    """Return the torques that an estimate predicts, with what of it nobody can follow at its greatest; notes say so.

    Joint terms that are straight in q, qd, qdd are followed, and Coulomb friction counts in full; of the others each
    joint's greatest within its limits is kept free, and three times the error of the fit, or of the validation.
    Raises InputError and InfeasibleError for the file, ModelError for another robot, EstimationError for an estimate
    that knows no links that can exist.
    """
    found = load_estimate(file)
    if found.theta is None or not found.feasible:
        problem = f"{file.name}: '{found.estimator}' determines no links that can exist. Use the constrained fit."
        raise EstimationError(problem, estimate=found)
    model = fitted_model(found, robot)
    followed = tuple(term for term in model.terms if term.kind == COULOMB or _straight(term))
    less = Model(model.robot, followed)
    beside, greatest, left_out, start = np.zeros(robot.n), list[str](), list[str](), model.n_rigid
    for term in model.terms:
        stop = start + len(each.names(term, model.robot))
        if term not in followed:
            most = _most(term, model.robot, found.theta[start:stop])
            words = term.kind.words.partition(",")[0]
            if most is None:
                left_out.append(words)
            else:
                unbounded = [robot.joint_names[j] for j in np.flatnonzero(np.isinf(most))]
                kept_free = np.where(np.isinf(most), 0.0, most)
                beside += kept_free
                left_out += [f"{words} of {' and '.join(unbounded)}"] if unbounded else []
                greatest += [words] if kept_free.any() or not unbounded else []
        start = stop
    errors = joint_errors(found)
    counted = dict.fromkeys(["bodies", *(term.kind.words for term in followed)])
    told = f"torques are those of {file.parent.name}/{file.name}: {', '.join(counted)}"
    if greatest:
        told += f"; {', '.join(dict.fromkeys(greatest))} at the greatest in either direction"
    kept = ", ".join(f"{_ERRORS * error:.3g}" for error in errors)
    notes.append(f"{told}; three times the error of each joint ({kept}; N m, N) is kept free besides")
    if left_out:
        names = ", ".join(dict.fromkeys(left_out))
        notes.append(f"{names} cannot be bounded and is not in the torques; leave a --torque-margin for it")
    if not found.provenance.get(VERDICT, "").startswith("passed") or verdict_error(found) is None:
        notes.append(
            f"no validation of {file.parent.name}/{file.name} passed, so its errors elsewhere are not known; leave a"
            " --torque-margin"
        )
    values = found.theta[[model.index(name) for name in less.names]]
    return KnownTorques(less, values, beside + _ERRORS * errors, " and ".join(dict.fromkeys(left_out)))


def joint_errors(estimate: Estimate) -> Array:
    """Return each joint's error (n,) [N m; N]: of the fit, or the validation's share of its torque if that is more."""
    rms, relative = np.nan_to_num(estimate.rms), estimate.relative
    size = np.where(np.nan_to_num(relative) > 0, rms / np.where(relative > 0, relative, 1.0), 0.0)
    return np.asarray(np.maximum(rms, (verdict_error(estimate) or 0.0) * size))


def verdict_error(estimate: Estimate) -> float | None:
    """Return the error on held-out recordings as a share of the torque; None where these numbers were not validated."""
    said = re.search(r"error ([0-9.e+-]+) % of the torque", estimate.provenance.get(VERDICT, ""))
    if said is None or estimate.provenance.get(NUMBERS) != fingerprint(estimate):
        return None
    return float(said[1]) / 100.0


def _straight(term: Term) -> bool:
    """Return whether a term's column is an affine function of q, qd, qdd, and of nothing else."""
    if getattr(term, "needs", ()):
        return False
    x = np.random.default_rng(0).normal(size=(3, 1, 20))
    origin, once, twice, back = (np.asarray(term.column(*(s * x))) for s in (0.0, 1.0, 2.0, -1.0))
    return np.allclose(twice - origin, 2.0 * (once - origin)) and np.allclose(back - origin, origin - once)


def _most(term: Term, robot: Robot, theta: Array) -> Array | None:
    """Return each joint's greatest magnitude (n,) of a term's torque within its limits, infinite or None for none."""
    found = np.zeros(robot.n)
    limits = [joint.limits for joint in robot.joints]
    if hasattr(term, "along") or (term.kind.friction and not all(np.isfinite(x.velocity) for x in limits)):
        return None
    entries = each.entries(term, robot)
    if "load" in getattr(term, "needs", ()):  # bodies cannot load a joint by more than it may give
        for k, (j, _) in enumerate(entries):
            found[j] += abs(theta[k]) * limits[j].effort if abs(theta[k]) < _LOADED else np.inf
        return found
    turn = [(-np.pi, np.pi) if np.isinf(x.allowed).any() else x.allowed for x in limits]
    low, high = np.array(turn).T
    share = np.linspace(0.0, 1.0, _GRID)[:, None]
    speed = np.geomspace(1e-5, 1.0, _GRID // 2)
    speeds = np.concatenate([-speed[::-1], speed])[:, None] * [
        x.velocity if term.kind.friction else 0.0 for x in limits
    ]
    sizes = np.zeros(len(entries))
    for q, qd in ((low + share * (high - low), np.zeros((_GRID, robot.n))), (0.0 * speeds, speeds)):
        try:
            columns = each.columns(term, robot, q, qd, 0.0 * q, {"time": np.zeros(len(q))})
        except ModelError:  # it needs what nobody knows before the motion, or holds in a part of the range only
            return None
        sizes = np.maximum(sizes, np.abs(columns).max(axis=1))
    for k, (j, _) in enumerate(entries):
        found[j] += _BETWEEN * abs(theta[k]) * sizes[k]
    return found
