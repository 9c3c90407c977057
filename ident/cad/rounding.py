"""Whether a body is physically consistent (can exist) within the rounding of its printed numbers, each by its digits.

Numbers p_k + r_k u_k with |u_k| <= 1 make a matrix that is linear in u,

    M(u) = [[tr(I)/2 E - I, c], [c^T, 1/m]],

positive semidefinite (a linear matrix inequality, LMI) exactly for bodies that can exist (with c = 0 where I is about
the centre of mass; m at its lower end, which is the easiest). So a body exists within the rounding exactly when the
largest lambda with M(u) >= lambda E in the box is not negative: a semidefinite program in nine numbers, solved with its
logarithmic barrier.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ident.arrays import Array
from ident.spatial.inertia import consistency, from_com, pseudo_inertia_exact, tensor

#: m, c and the tensor's six entries; or the halves of their last digits [kg, m, kg m^2].
Exact = tuple[Fraction, ...]
#: The exact numbers from the first to the second.
Interval = tuple[Fraction, Fraction]

_DIAGONAL = {4: (7, 9), 7: (4, 9), 9: (4, 7)}
_ACROSS = {5: 9, 6: 7, 8: 4}  # a product, and the moment that is twice its bound
#: What counts as no lack at all, in units of the rounding.
_TIE = 1e-8


def within_rounding(numbers: Exact, halves: Exact, about_center: bool) -> Array | None:
    """Return the body (10,) within the rounding that is farthest from the edge of what can exist, None without one.

    numbers, halves (10,): m > 0, c and the tensor with tensor signs, and how far each may be off. about_center: the
    tensor is taken there. The inertials returned are about the origin [SI].
    """
    mass = numbers[0] - halves[0]
    box = [(p - r, p + r) for p, r in zip(numbers, halves, strict=True)]
    if about_center:
        box[1:4] = [(Fraction(0), Fraction(0))] * 3
    if mass <= 0 or not _tightened(box, mass):
        return None
    middle, half = [(a + b) / 2 for a, b in box], [(b - a) / 2 for a, b in box]
    nothing = [Fraction(0)] * 10
    most = [_matrix([*nothing[:k], r, *nothing[k + 1 :]], Fraction(0)) for k, r in enumerate(half)]
    T = _whitening(_matrix(middle, 1 / mass), most, box)
    exact = np.array([[Fraction(x) for x in row] for row in T.tolist()], dtype=object)
    start = (exact.T @ _matrix(middle, 1 / mass) @ exact).astype(np.float64)
    free = [k for k in range(1, 10) if half[k] > 0]
    steps = np.array([T.T @ most[k].astype(np.float64) @ T for k in free])
    u, depth = _deepest(start, steps.reshape(-1, 4, 4))
    if depth < -_TIE:
        return None
    found = np.array([float(i) for i in middle])
    found[free] += np.array([float(half[k]) for k in free]) * u
    if about_center:
        return from_com(float(numbers[0]), [float(c) for c in numbers[1:4]], tensor(found))
    for m in (float(numbers[0]), float(mass)):
        body = np.concatenate([[m], m * found[1:4], found[4:]])
        if consistency(body).consistent:
            break
    return body


def _tightened(box: list[Interval], mass: Fraction) -> bool:
    """Cut from the box, in place, what no body has, so that one coarse number hides no other; False if all of it.

    A moment is at most the sum of the other two, a product at most half a moment, m c_x^2 at most a moment across x.
    """
    for _ in range(4):  # passes until nothing changes, as two ends of three moments have it at most
        for k, (a, b) in _DIAGONAL.items():
            least = max(box[k][0], box[a][0] - box[b][1], box[b][0] - box[a][1], Fraction(0))
            box[k] = (least, min(box[k][1], box[a][1] + box[b][1]))
    for k, across in _ACROSS.items():
        box[k] = (max(box[k][0], -box[across][1] / 2), min(box[k][1], box[across][1] / 2))
    for k, (a, b) in {1: (7, 9), 2: (4, 9), 3: (4, 7)}.items():
        most = Fraction(float(max(min(box[a][1], box[b][1]), Fraction(0)) / mass) ** 0.5 * (1 + 1e-12))
        box[k] = (max(box[k][0], -most), min(box[k][1], most))
    return all(least <= most for least, most in box)


def _matrix(numbers: list[Fraction], corner: Fraction) -> Array:
    """Return M (4, 4) of exact numbers."""
    return np.array(pseudo_inertia_exact([corner, *numbers[1:]]), dtype=object)


def _whitening(middle: Array, steps: list[Array], box: list[Interval]) -> Array:
    """Return T (4, 4) that makes T'(|M(0)| + R) T the unit matrix, R being the most that the roundings add to M."""
    largest = [min(box[7][1], box[9][1]), min(box[4][1], box[9][1]), min(box[4][1], box[7][1]), middle[3, 3]]
    D = np.diag([float(x) ** -0.5 if x > 0 else 1.0 for x in largest])
    w, V = np.linalg.eigh(D @ middle.astype(np.float64) @ D)
    most = np.sum([np.abs(D @ step.astype(np.float64) @ D).sum(axis=0) for step in steps], axis=0)
    L = np.linalg.cholesky((V * np.abs(w)) @ V.T + np.diag(most) + 1e-18 * np.eye(4))
    return np.asarray(D @ np.linalg.inv(L).T)


def _deepest(start: Array, steps: Array) -> tuple[Array, float]:
    """Return u (k,) inside the box and an upper bound of the largest lambda with start + u steps >= lambda E.

    Newton's method on -lambda / mu - log det(start + u steps - lambda E) - sum log(1 - u^2), mu towards 0: the bound is
    lambda + (4 + 2 k) mu, from the dual.
    """
    k = len(steps)
    slopes = np.concatenate([steps, -np.eye(4)[None]])
    x = np.append(np.zeros(k), np.linalg.eigvalsh(start)[0] - 1.0)
    for mu in 10.0 ** -np.arange(11):
        for _ in range(100):
            inverse = np.linalg.inv(start + np.tensordot(x, slopes, 1))
            turned = inverse @ slopes
            gradient = -np.trace(turned, axis1=1, axis2=2)
            hessian = np.einsum("aij,bji->ab", turned, turned)
            u, room = x[:k], 1.0 - x[:k] ** 2
            gradient[:k] += 2.0 * u / room
            gradient[k] -= 1.0 / mu
            hessian[np.arange(k), np.arange(k)] += 2.0 * (1.0 + u**2) / room**2
            size = np.sqrt(np.diag(hessian))
            step = np.linalg.solve(hessian / np.outer(size, size) + 1e-15 * np.eye(k + 1), -gradient / size) / size
            decrement = float(np.sqrt(max(-gradient @ step, 0.0)))
            x = x + step / (1.0 + decrement)
            if decrement < 0.1:
                break
        gap = (4 + 2 * k) * mu
        if x[k] > 100 * gap or x[k] + gap < -_TIE:
            break
    return x[:k], float(x[k] + gap)
