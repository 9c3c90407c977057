"""The digits that numbers deserve: as many as their standard errors allow, and as many as a body needs to exist.

A body is rounded as it is understood and as most files hold it: mass, centre of mass, tensor about the centre. Its ten
parameters about the link's frame are the exact products of these.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from fractions import Fraction

import numpy as np

from ident.arrays import Array
from ident.errors import InfeasibleError
from ident.estimate.estimate import DIGITS, Estimate, rounded
from ident.estimate.prior import natural_jacobian
from ident.robot.urdf_write import com_numbers
from ident.spatial.inertia import consistency, steiner, upper

#: Together the rounded numbers move no combination of base parameters by more than this share of its standard error.
SHARE = 0.1
#: Size of a body's last digits against their scale: at most COARSEST, and FINEST where no standard error is known.
COARSEST, FINEST = 1e-3, 1e-6
_MOMENTS = (0, 3, 5)  # of xx xy xz yy yz zz
#: Eigenvalues of the correlations that are zero but for rounding, as fewer segments than parameters leave them: these
#: combinations have no standard error, and one of a hundredth of their parameters' is taken.
_ZERO, _TAKEN = 1e-12, 1e-4


def deserved(estimate: Estimate, keep: Collection[str] = ()) -> Array:
    """Return theta (p,) with the digits that its standard errors deserve, every link that can exist still able to.

    A number that enters base parameters is cut where its last digit is worth a tenth of the least of their standard
    errors, and all of them one digit later until together they move no combination of base parameters by more than a
    tenth of its standard error: |W K (rounded - theta)| <= 0.1 with W' W the inverse covariance. What no standard error
    speaks of keeps six digits. Links in `keep`, and everything where no standard error is known at all, keep 12.
    """
    if estimate.theta is None:
        raise ValueError("there are no standard parameters to round")
    exact = rounded(estimate.theta)
    (whiten, errors), K = _whitening(estimate), estimate.base.K
    if not len(whiten):
        return exact
    for finer in range(DIGITS + 1):
        theta = exact.copy()
        for i, link in enumerate(estimate.links):
            place = slice(10 * i, 10 * i + 10)
            if link not in keep:
                theta[place] = _body(exact[place], K[:, place], errors, finer)
        for k in range(10 * len(estimate.links), len(theta)):
            size = abs(exact[k])  # one digit stays
            theta[k] = float(_cut(exact[k], _unit(K[:, k], errors, size, size, finer)))
        if np.linalg.norm(whiten @ (K @ (theta - exact))) <= SHARE:
            return theta
    return exact


def deserved_base(estimate: Estimate, phi: Array) -> Array:
    """Return base parameters phi (b,), those of rounded theta, with digits by the same rule.

    Both roundings together move no combination by more than a tenth of its standard error.
    """
    whiten, errors = _whitening(estimate)
    exact = rounded(phi)
    for finer in range(DIGITS + 1 if len(whiten) else 0):
        units = [_unit(np.ones(1), errors[[k]], abs(x), np.inf, finer) for k, x in enumerate(exact)]
        out = np.array([float(_cut(x, unit)) for x, unit in zip(exact, units, strict=True)])
        if np.linalg.norm(whiten @ (out - estimate.phi)) <= SHARE:
            return out
    return exact


def told(estimate: Estimate) -> str:
    """Return what a file says about its digits."""
    if not len(_whitening(estimate)[0]):
        return f"Numbers have {DIGITS} digits: their standard errors are not known."
    return (
        f"Rounded as the standard errors ({estimate.covariance.kind}) deserve:"
        f" no combination of base parameters moves by over {SHARE:g} of its own."
    )


def _whitening(estimate: Estimate) -> tuple[Array, Array]:
    """Return W (r, b) with W' W the inverse covariance of the base parameters whose standard error is known, and these.

    Where that is singular, _TAKEN stands for what is zero. Standard errors (b,) are infinite where they are not known.
    """
    matrix = estimate.covariance.matrix
    errors = estimate.covariance.standard_errors
    known = np.flatnonzero(np.isfinite(errors) & (errors > 0))
    out = np.zeros((len(known), len(errors)))
    if len(known):
        correlation = matrix[np.ix_(known, known)] / np.outer(errors[known], errors[known])
        size, axes = np.linalg.eigh(correlation)
        out[:, known] = axes.T / np.sqrt(np.where(size > _ZERO, size, _TAKEN))[:, None] / errors[known]
    return out, np.where(np.isfinite(errors), errors, np.inf)


def _unit(slope: Array, errors: Array, scale: float, most: float, finer: int) -> Fraction:
    """Return the size of the last digit, a power of ten, of a number on which phi depends by `slope` (b,)."""
    seen = np.abs(slope) > 0
    with np.errstate(divide="ignore"):
        allowed = SHARE * float(np.min(errors[seen] / np.abs(slope[seen]), initial=np.inf))
    least = scale * 10.0 ** (1 - DIGITS)  # an error of 0 is that of a number at its bound
    known = bool(np.isfinite(allowed))
    largest = max(min(allowed, most), least) if known else FINEST * scale
    return Fraction(10) ** (int(np.floor(np.log10(largest))) - finer * known) if largest > 0 else Fraction(0)


def _cut(value: float | Fraction, unit: Fraction) -> Fraction:
    return round(Fraction(value) / unit) * unit if unit else Fraction(value)


def _body(body: Array, K: Array, errors: Array, finer: int) -> Array:
    """Return one body (10,), rounded as mass, centre and tensor about it; `K` (b, 10) are its columns."""
    if body[0] <= 0 or not consistency(body).consistent:
        return body
    try:
        mass, com, about_com = com_numbers(body)
    except InfeasibleError:
        return body
    slopes = K @ natural_jacobian(mass, np.array(com))
    length = float(np.sqrt(sum(body[[4, 7, 9]]) / 2 / mass))  # radius of gyration about the frame's origin
    moments = max(sum(about_com[k] for k in _MOMENTS), 1e-6 * mass * length**2)
    scales = [mass, *[length] * 3, *[moments] * 6]
    units = [_unit(slopes[:, k], errors, scales[k], COARSEST * scales[k], finer) for k in range(10)]
    cut = [_cut(value, unit) for value, unit in zip((mass, *com, *about_com), units, strict=True)]
    m, c, step = cut[0], cut[1:4], max(units[4:])
    for grown in range(10):  # rounding may leave a body at the edge outside: its three moments grow
        tensor = [x + grown * step if k in _MOMENTS else x for k, x in enumerate(cut[4:])]
        found = np.array([m, *(m * x for x in c), *(tensor + upper(steiner(m, c)))], dtype=np.float64)
        with suppress(InfeasibleError):
            if consistency(found).consistent:
                com_numbers(found)  # it can be read again
                return found
    return body
