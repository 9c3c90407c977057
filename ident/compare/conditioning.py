"""What the logs identify worst, in words: weakest directions of the regressor, joint terms that are one for another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ident.model import Model
from ident.model.term import RECORDED, names
from ident.regression.regression import Regression, lengths

#: Share of a joint term's column at right angles to another one's below which the two cannot be told apart.
OWN = 0.05


@dataclass(frozen=True)
class Direction:
    """Base parameters that together move the torque `times` less than each of them would alone.

    parts: (name, sign) of those that count, largest first.
    """

    times: float
    parts: tuple[tuple[str, int], ...]


def weakest_directions(regression: Regression, sigma: ArrayLike, count: int = 3) -> tuple[Direction, ...]:
    """Return the `count` weakest directions of the regressor, its columns in units of noise and of length 1.

    Their `times` are the reciprocal singular values; base parameters that no sample shows are left out.
    """
    sigma = np.asarray(sigma, dtype=np.float64)
    W = regression.factor(np.where(sigma > 0, sigma, 1.0))[:-1, :-1]
    size = np.linalg.norm(W, axis=0)
    shown = np.flatnonzero(size > 0)
    if len(shown) == 0:
        return ()
    _, s, vt = np.linalg.svd(W[:, shown] / size[shown])
    found = []
    for value, v in list(zip(s, vt, strict=True))[::-1][:count]:
        largest = np.abs(v).max()
        order = [int(k) for k in np.argsort(-np.abs(v), kind="stable") if abs(v[k]) >= 0.35 * largest][:5]
        flip = np.sign(v[order[0]])
        parts = tuple((regression.base.names[shown[k]], int(np.sign(v[k]) * flip)) for k in order)
        found.append(Direction(float(1.0 / value) if value > 0 else float("inf"), parts))
    return tuple(found)


def one_for_another(model: Model, regression: Regression) -> tuple[str, ...]:
    """Return sentences on joint terms that need a signal beside the motion, where that changes too little in the logs.

    Such a term's column is then another one's of its joint but for a factor: less than OWN of it is at right angles.
    """
    found, kept = list[str](), regression.base.names
    asking = [term for term in model.terms if set(getattr(term, "needs", ())) & RECORDED.keys()]
    asked = {name for term in asking for name in names(term, model.robot)}
    terms = set(model.names[model.n_rigid :])
    for factor, used in zip(regression.joint_factors, regression.parameters, strict=True):
        at = [k for k, own in enumerate(used) if kept[own] in terms]
        unit = factor[:, at] / lengths(factor[:, at])
        for k in range(len(at)):
            cosines = np.abs(unit.T @ unit[:, k])
            cosines[k] = 0.0
            like = int(np.argmax(cosines))
            if kept[used[at[k]]] in asked and cosines[like] > np.sqrt(1.0 - OWN**2):
                both = f"{kept[used[at[k]]]} cannot be told from {kept[used[at[like]]]}"
                found.append(f"{both} in these logs: what it depends on hardly changes")
    return tuple(found)


def sentence(direction: Direction) -> str:
    """Return a direction in plain words."""
    up = [name for name, sign in direction.parts if sign > 0]
    down = [name for name, sign in direction.parts if sign < 0]
    moved = ((up, "larger"), (down, "smaller"))
    change = " and ".join(f"{', '.join(names)} {how}" for names, how in moved if names)
    times = f"{direction.times:.3g} times" if np.isfinite(direction.times) else "infinitely"
    if len(direction.parts) == 1:
        return f"{direction.parts[0][0]}: seen {times} less sharply than if all others were known."
    return f"{change}: together they move the torque {times} less than each alone."
