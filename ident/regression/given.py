"""A regression from a regressor given as numbers: made elsewhere, or of a mechanism that no `Model` describes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array, frozen
from ident.errors import RegressionError
from ident.model.model import Model
from ident.model.term import Kind
from ident.model.terms import TERMS
from ident.regression.base import BaseParameters, base_parameters, r_factor
from ident.regression.regression import Regression, Segment
from ident.robot.robot import Joint, Robot
from ident.spatial.inertia import INERTIAL, Pose

#: Stretches that samples without groups are cut into.
_STRETCHES = 10


@dataclass(frozen=True)
class Given:
    """A joint term of which only its parameter's name is known, and whether it keeps its sign."""

    name: str
    nonnegative: bool
    joints = None

    @property
    def kind(self) -> Kind:
        """Kind of a ready-made column: the ending of its name."""
        return Kind(self.name.rpartition(".")[2], "a given column", "value * column", ("", ""))

    def along(self, robot: Robot) -> tuple[tuple[str, ...], Array]:
        """Return what the name begins with, and no joint: the column is in the given regressor."""
        return (self.name.rpartition(".")[0],), np.zeros((1, robot.n))

    def column(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return zeros: its columns are given, not computed."""
        return np.zeros_like(q)


def given_model(names: Sequence[str]) -> Model:
    """Return what estimators ask of a model, from the names of theta alone: links, terms and their signs.

    Ten names LINK.m, LINK.hx ... LINK.Izz in the order of INERTIAL are a link; all links come first. The robot in it is
    a chain without lengths, which no torque can be computed of.
    """
    links = list[str]()
    while 10 * len(links) + 10 <= len(names):
        ten = names[10 * len(links) : 10 * len(links) + 10]
        link = ten[0].rpartition(".")[0]
        if tuple(ten) != tuple(f"{link}.{part}" for part in INERTIAL):
            break
        links.append(link)
    if not links:
        fix = f"Name ten parameters of each link, links first, such as LINK.m, in the order {', '.join(INERTIAL)}"
        raise RegressionError("the names begin with no link", fix=fix)
    for name in names:
        if not all(name.rpartition(".")[::2]):
            raise RegressionError(f"'{name}' is no parameter's name", fix="Write OWNER.KIND, such as joint1.viscous")
    axis = np.array([0.0, 0.0, 1.0])
    joints = tuple(Joint(f"torque{i + 1}", "revolute", i - 1, Pose.identity(), axis) for i in range(len(links)))
    positive = {term.kind.name for term in TERMS if term.nonnegative is True}
    terms = tuple(Given(name, name.rpartition(".")[2] in positive) for name in names[10 * len(links) :])
    return Model(Robot("given regressor", joints, tuple(links)), terms)


def regression_from(
    Y: ArrayLike,
    tau: ArrayLike,
    names: Sequence[str],
    groups: ArrayLike | None = None,
    *,
    base: BaseParameters | None = None,
) -> Regression:
    """Return the factors of tau = Y theta, to be fitted as `ident.fit(None, regression, ...)`.

    Y (N, n, p) with tau (N, n), one noise level for each of the n torques; or Y (N, p) with tau (N,). names (p,): of
    theta; ten names LINK.m, LINK.hx, ... LINK.Izz are a link (about its own frame's origin), links first. groups (N,):
    which recording each sample belongs to; error bars and cross-validation take groups as independent, and nothing
    within them. Without, ten stretches of consecutive samples. base: base parameters known already; by default those
    that the columns of Y show. Raises RegressionError for shapes that do not fit, repeated names, numbers that are not
    finite.
    """
    Y = np.asarray(Y, dtype=np.float64)
    if Y.ndim in (2, 3) and Y.shape[-1] != len(names):
        problem = f"names has {len(names)}, and Y of shape {Y.shape} has {Y.shape[-1]} columns"
        raise RegressionError(problem, fix="Give one name for each column of Y, in their order")
    Y = frozen(Y[:, None] if Y.ndim == 2 else Y, (None, None, len(names)), "Y", RegressionError)
    N, n, p = Y.shape
    tau = np.asarray(tau, dtype=np.float64)
    tau = frozen(tau[:, None] if tau.ndim == 1 else tau, (N, n), "tau", RegressionError)
    if len(set(names)) < p:
        raise RegressionError("a parameter's name stands twice among the names")
    labels: NDArray[Any] = np.arange(N) * _STRETCHES // max(N, 1) if groups is None else np.asarray(groups)
    if labels.shape != (N,):
        raise RegressionError(f"groups must have shape ({N},), got {labels.shape}")
    model = given_model(names)
    if base is None:
        base = base_parameters(model, r_factor(Y.reshape(-1, p)))
    kept = list(base.kept)
    shown = [tuple(k for k, i in enumerate(kept) if Y[:, j, i].any()) for j in range(n)]
    segments = []
    for label in dict.fromkeys(labels.tolist()):
        own = labels == label
        digest = hashlib.sha256(Y[own].tobytes() + tau[own].tobytes()).hexdigest()
        rows = [np.column_stack([Y[own, j][:, [kept[k] for k in shown[j]]], tau[own, j]]) for j in range(n)]
        name, recording = (f"given[{label + 1}]", "given") if groups is None else (str(label), str(label))
        counts = (int(own.sum()),) * n
        segments.append(Segment(digest, name, recording, counts, tuple(r_factor(r) for r in rows)))
    return Regression(model.fingerprint(), base, tuple(shown), tuple(segments))
