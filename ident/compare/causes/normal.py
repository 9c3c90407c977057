"""Normal matrices of the rows of a reading: of each joint's columns, and what they are solved by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array

#: Of a normal matrix with a unit diagonal: what is added to it, so that what no row shows is not told from others.
_RIDGE = 1e-10
#: Of the largest square of a column: what may be rounding.
_ROUNDING = 1e-18


@dataclass(frozen=True, eq=False)
class Blocks:
    """Each joint's columns (N, k) of the rows that count, and their Gram matrices: they do for readings whose torques
    alone differ. places: of each joint's columns among all, and of the torques, behind them; stretches: where those
    that are left out begin and end.
    """

    rows: list[Array]
    places: Sequence[NDArray[np.intp]]
    stretches: Sequence[tuple[int, int]]

    @cached_property
    def whole(self) -> list[Array]:
        """Gram matrices (k, k) of all rows."""
        return [Y.T @ Y for Y in self.rows]

    @cached_property
    def parts(self) -> list[list[Array]]:
        """Those of each stretch."""
        return [[Y[a:b].T @ Y[a:b] for Y in self.rows] for a, b in self.stretches]

    def grams(self, tau: Array, stretch: int | None = None) -> list[Array]:
        """Return the Gram matrices (k + 1, k + 1) with torques tau (N, n), of all rows or of one stretch."""
        at = slice(None) if stretch is None else slice(*self.stretches[stretch])
        found = list[Array]()
        for Y, t, G in zip(self.rows, tau[at].T, self.whole if stretch is None else self.parts[stretch], strict=True):
            gram = np.empty((len(G) + 1, len(G) + 1))
            gram[:-1, :-1], gram[-1, -1] = G, t @ t
            gram[:-1, -1] = gram[-1, :-1] = t @ Y[at]
            found.append(gram)
        return found

    @cached_property
    def _at(self) -> NDArray[np.intp]:
        """Where the entries of all joints' Gram matrices, one after the other, stand in one of all columns."""
        return np.concatenate([np.add.outer((own[-1] + 1) * own, own).ravel() for own in self.places])

    def summed(self, grams: Sequence[Array], noise: Array) -> Array:
        """Return the Gram matrix of all columns and the torques, each joint's rows divided by its noise (n,)."""
        size = self.places[0][-1] + 1
        each = np.concatenate([(g / s**2).ravel() for g, s in zip(grams, noise, strict=True)])
        return np.asarray(np.bincount(self._at, each, size * size).reshape(size, size), dtype=float)


def solved(gram: Array) -> Array:
    """Return the least squares of a Gram matrix of [Y tau]."""
    return solved_for(gram[:-1, :-1], gram[:-1, -1])


def solved_for(G: Array, g: Array) -> Array:
    """Return the solution of normal equations G x = g, of least size where G tells only sums."""
    size = size_of(G)
    return np.asarray(np.linalg.solve(G / np.outer(size, size) + _RIDGE * np.eye(len(G)), g / size) / size)


def factor_of(gram: Array) -> Array:
    """Return an upper triangular R with R' R the Gram matrix, but for its rounding."""
    size = size_of(gram)
    unit = gram / np.outer(size, size) + _RIDGE * np.eye(len(gram))
    return np.asarray(np.linalg.cholesky(unit).T * size)


def size_of(G: Array) -> Array:
    """Return the lengths of the columns behind a Gram matrix, that of the longest for those that are rounding."""
    squares = np.diag(G)
    most = float(squares.max(initial=0.0)) or 1.0
    return np.asarray(np.sqrt(np.where(squares > _ROUNDING * most, squares, most)))
