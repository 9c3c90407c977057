"""How much depends on the cut-off of the positions: what is left out, and base parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ident.arrays import Array
from ident.errors import plural
from ident.estimate.least_squares import solved
from ident.regression.base import r_factor

#: Cut-offs are as good as the best one with at most so many times its squared error.
GOOD = 1.02
#: From one to the other a base parameter may change by so many of its standard errors.
STEADY = 1.0


@dataclass(frozen=True)
class CutOffs:
    """Cut-offs [Hz] that were tried and the error of stretches left out, relative to the least; what depends on them.

    moved: a sentence on base parameters that are others at another good cut-off, "" for none.
    """

    errors: tuple[tuple[float, float], ...]
    moved: str = ""

    def __str__(self) -> str:
        return ", ".join(f"{hz:.3g} Hz {error:.4f}" for hz, error in self.errors)


def depending(
    factors: Mapping[float, Sequence[Array]], errors: Mapping[float, Array], cut: float, names: Sequence[str]
) -> CutOffs:
    """Return what depends on the cut-off. factors: cut-off -> those of stretches; errors: squared, of each left out.

    cut: the one that is taken; names: of the first base parameters, those of bodies, for the law of friction only
    stands in for another one. They are compared with those of the next ones below and above it, where these
    are about as good; standard errors by leaving each stretch out (jackknife).
    """
    total = {hz: float(errors[hz].sum()) for hz in sorted(errors)}
    least = min(total.values())
    told = tuple((hz, float(np.sqrt(error / least))) for hz, error in total.items()) if least > 0.0 else ()
    tried = list(total)
    near = [tried[k] for k in (tried.index(cut) - 1, tried.index(cut) + 1) if 0 <= k < len(tried)]
    near = [hz for hz in near if total[hz] <= GOOD * total[cut]]
    own, each = (x[..., : len(names)] for x in _solutions(factors[cut]))
    spread = np.sqrt((len(each) - 1.0) / len(each) * np.sum((each - each.mean(axis=0)) ** 2, axis=0))
    moves = {
        hz: np.abs(_solutions(factors[hz])[0][: len(names)] - own) / np.where(spread > 0.0, spread, np.inf)
        for hz in near
    }
    if not moves or max(float(x.max()) for x in moves.values()) <= STEADY:
        return CutOffs(told)
    hz = max(moves, key=lambda hz: float(moves[hz].max()))
    far = moves[hz]
    first, others = names[int(np.argmax(far))], int(np.sum(far > STEADY)) - 1
    which = f"{first} and {plural(others, 'more base parameter')}" if others else first
    between = f"between cut-offs of the positions of {hz:.3g} and {cut:.3g} Hz, which predict alike"
    return CutOffs(told, f"{which} change by up to {far.max():.2g} standard errors {between}: intervals lack that")


def _solutions(factors: Sequence[Array]) -> tuple[Array, Array]:
    """Return the least squares of all stretches, and without each of them (k, b)."""
    without = [[f for i, f in enumerate(factors) if i != k] for k in range(len(factors))]
    return solved(r_factor(np.concatenate(factors))), np.array([solved(r_factor(np.concatenate(x))) for x in without])
