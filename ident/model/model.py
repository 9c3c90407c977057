"""A model: rigid bodies plus joint terms, linear in the standard parameters theta."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array, checked
from ident.dynamics.rigid_body import batch, inverse_dynamics, wide_regressor
from ident.errors import ModelError, require_known
from ident.model import term as each
from ident.model.term import NO_SIGNALS, Term
from ident.robot.robot import Robot
from ident.shown import shows
from ident.spatial.inertia import INERTIAL


@shows
@dataclass(frozen=True, eq=False)
class Model:
    """tau = Y(q, qd, qdd) theta for a robot's rigid bodies and the given joint terms.

    theta: ten numbers per link, then each term's parameters. Raises ModelError when a name occurs twice
    and for numbers that no term takes.
    """

    robot: Robot
    terms: tuple[Term, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", tuple(self.terms))
        for term in self.terms:
            each.require_settings(term)
        twice = {name for name in self.names if self.names.count(name) > 1}
        if twice:
            raise ModelError(f"parameter '{min(twice)}' comes from two terms", fix="Give each joint one of them")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the standard parameters theta, such as `link2.hx`, `joint3.viscous`."""
        rigid = tuple(f"{link}.{part}" for link in self.robot.links for part in INERTIAL)
        return rigid + tuple(name for term in self.terms for name in each.names(term, self.robot))

    @property
    def n_rigid(self) -> int:
        """Number of rigid-body parameters; they come first in theta."""
        return 10 * self.robot.n

    @cached_property
    def nonnegative(self) -> NDArray[np.bool_]:
        """Which joint-term parameters (after the rigid ones) must not be negative."""
        return np.array([t.nonnegative for t in self.terms for _ in each.names(t, self.robot)], dtype=bool)

    @cached_property
    def term_entries(self) -> tuple[tuple[int, int], ...]:
        """(joint, parameter) of every column that `term_columns` returns; parameters count from theta's start."""
        found: list[tuple[int, int]] = []
        start = self.n_rigid
        for term in self.terms:
            found += [(j, start + k) for j, k in each.entries(term, self.robot)]
            start += len(each.names(term, self.robot))
        return tuple(found)

    @cached_property
    def shapes(self) -> dict[str, dict[str, float]]:
        """What parameters mean beyond their names: {"joint1.coulomb": {"tanh": 0.01}, ...}; nothing for most kinds."""
        found = {name: each.shape(term) for term in self.terms for name in each.names(term, self.robot)}
        return {name: shape for name, shape in found.items() if shape}

    def term_columns(self, q: Array, qd: Array, qdd: Array, *, signals: Mapping[str, Array] = NO_SIGNALS) -> Array:
        """Return the joint terms' columns (n_entries, N) in the order of `term_entries`; signals: as of `regressor`."""
        q, qd, qdd = map(np.asfortranarray, (q, qd, qdd))  # a term reads joints, one after the other
        found, start = np.empty((len(self.term_entries), len(qd))), 0
        made: each.Made = {}
        for term in self.terms:
            part = each.columns(term, self.robot, q, qd, qdd, signals, made)
            found[start : start + len(part)] = part
            start += len(part)
        return found

    def term_pull_back(self, q: Array, qd: Array, qdd: Array, weights: Array) -> Array:
        """Return the derivative (3, N, n) of sum(weights * term_columns) with respect to q, qd, qdd."""
        found, start = np.zeros((3, *q.shape)), 0
        for term in self.terms:
            stop = start + len(each.entries(term, self.robot))
            found += each.pull_back(term, self.robot, q, qd, qdd, weights[start:stop])
            start = stop
        return found

    def index(self, name: str) -> int:
        """Return the place of a parameter in theta; ModelError with the nearest name when unknown."""
        require_known([name], self.names, ModelError, "the model has no parameter")
        return self.names.index(name)

    def fingerprint(self) -> str:
        """Return a hash (hex) of robot and terms: factors of equal fingerprint may be merged."""
        return hashlib.sha256((self.robot.fingerprint() + repr(self.terms)).encode()).hexdigest()


def regressor(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    signals: Mapping[str, Array] = NO_SIGNALS,
    out: Array | None = None,
) -> Array:
    """Return Y (N, n, p) with tau = Y @ theta, joint terms included.

    q, qd, qdd (N, n); signals (N,) or (N, n) by name: what terms need beside, such as {"time": t}. `out` (N, n, p),
    C-contiguous, is filled and returned when given. Whole logs are compressed without it: see `ident.regression`.
    Raises ModelError when shapes do not fit the robot or a number is not finite.
    """
    q, qd, qdd = states = batch(model.robot, q=q, qd=qd, qdd=qdd)
    terms = model.term_columns(q, qd, qdd, signals=signals)
    return wide_regressor(model.robot, states, len(model.names), terms, model.term_entries, out)


def torque(
    model: Model,
    theta: ArrayLike,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    signals: Mapping[str, Array] = NO_SIGNALS,
) -> Array:
    """Return tau (N, n) [N m; N] of the model at theta (p,): inverse dynamics plus joint terms.

    q, qd, qdd (N, n); signals: as of `regressor`.
    Raises ModelError when shapes do not fit the robot or a number is not finite.
    """
    theta = checked(theta, (len(model.names),), "theta", ModelError)
    q, qd, qdd = batch(model.robot, q=q, qd=qd, qdd=qdd)
    tau = inverse_dynamics(model.robot, theta[: model.n_rigid].reshape(-1, 10), q, qd, qdd)
    columns = model.term_columns(q, qd, qdd, signals=signals)
    for (j, k), column in zip(model.term_entries, columns, strict=True):
        tau[:, j] += theta[k] * column
    return tau
