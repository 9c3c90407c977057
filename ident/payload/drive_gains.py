"""Drive gains from a load of known mass.

Torque computed from motor current needs each drive's gain [N m/A], and no log of the robot alone can tell it: gains,
masses and friction that are all c times larger explain the currents as well. One absolute anchor is needed, such as
two recordings of which one carries a mass that was weighed (Gautier, Briot, J. Dyn. Sys. Meas. Control 136(5), 2014).
With a_j = 1 / s_j, s_j being the factor by which the torque of joint j has to be multiplied,

    tau_j = a_j (Y_j phi + carries Y_j K_l p),   p_1 = mass,

is fitted in the measured torque, where the noise is: nonlinear least squares in a, phi and the other nine numbers of
p. (Gautier and Briot write s_j tau_j = Y_j phi ..., linear, and take the noise in tau into account by total least
squares; ordinary least squares of that form would shrink the gains.) That the joints' torques belong to the same bodies
gives the gains' ratios, the mass gives their size.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ident.arrays import Array
from ident.errors import EstimationError, InputError
from ident.estimate.covariance import half_widths, jackknife
from ident.estimate.least_squares import solve
from ident.model.model import Model
from ident.payload import payload as load
from ident.payload.payload import IdentifiedPayload, LoadFit
from ident.regression.base import BaseParameters
from ident.regression.regression import Regression, lengths, torque_columns, weighted_rows

_ROUNDS = 3  # of weights and fit in turn
_QUIETEST = 1e-5  # of a joint's torque: its noise counts as at least that
_SINGULAR = 1e-9  # of the largest singular value, columns scaled


@dataclass(frozen=True, eq=False)
class DriveGains:
    """Factors (n,) that turn the measured torque of each joint into its torque, with standard errors (n,).

    NaN where the recordings do not determine a joint's factor. kind, dof: of the errors. mass [kg]: the known one.
    payload: the load that goes with the corrected torques, its errors those of the common fit, the mass taken as exact.
    """

    joints: tuple[str, ...]
    scale: Array
    errors: Array
    kind: str
    dof: int
    mass: float
    payload: IdentifiedPayload

    def half_widths(self, level: float = 0.95) -> Array:
        """Return half the width of each factor's interval (n,) at this level."""
        return half_widths(self.errors, self.dof, level)


def drive_gains(
    model: Model,
    unloaded: Regression,
    loaded: Regression,
    mass: float,
    *,
    link: str | None = None,
    own: Iterable[str] = (),
) -> DriveGains:
    """Return the factors of all joints' torques, and the load, from a load of known mass [kg].

    Arguments and errors as for `identify_payload`; InputError for a mass that is not positive, EstimationError where no
    load is seen, or a factor comes out negative.
    """
    if not 0.0 < mass < np.inf:
        raise InputError(f"a known mass of {mass:g} kg", fix="Give the mass of the load in kg, above 0")
    load.require_apart(unloaded, loaded)
    carrier = load.carrying_link(model, link)
    L = load.loaded_columns(loaded.base, own, carrier)
    extended = load.with_load(unloaded, loaded, L)
    m = sum(L.shape) - 10  # where the mass stands in x = (phi, own terms, load)

    torques = np.sqrt(extended.squared_torques / extended.rows)
    loudness = np.maximum(torques, 1e-9 * torques.max())
    sigma = loudness  # a fit with the given gains would judge the joints by their gains' errors
    rows = weighted_rows(extended, extended.joint_factors, sigma)
    if not LoadFit.of(extended, rows).shows_mass:
        raise EstimationError(
            "the torques of these recordings do not show the mass of the load, so that knowing it scales nothing."
            " Move the joints that lift it"
        )
    x = solve(extended, sigma)
    if x[m] <= 0:
        raise EstimationError(f"no load is seen (mass {x[m]:.3g} kg), so nothing can be scaled. Check the recordings")
    a = np.full(model.robot.n, x[m] / mass)
    x = x * mass / x[m]
    for _ in range(_ROUNDS):
        x, a = _fitted(extended, sigma, x, a, m)
        missed = extended.scaled(1.0 / a).squared_residuals(x) * a**2
        sigma = np.maximum(np.sqrt(missed / extended.rows), _QUIETEST * loudness)
    wrong = [name for name, k in zip(model.robot.joint_names, a, strict=True) if k <= 0]
    if wrong:
        raise EstimationError(f"the factor of '{wrong[0]}' comes out negative. Check its sign and excitation")

    fewest = min(len(unloaded.segments), len(loaded.segments))
    kind, dof, V, lost, unit = _covariance(extended, sigma, x, a, m, fewest)
    n = model.robot.n
    known = np.linalg.norm(lost[-n:], axis=1) <= load.OPEN
    scale = np.where(known, 1.0 / a, np.nan)
    errors = np.where(known, np.sqrt(np.diag(V)[-n:]) / a**2, np.nan)

    # in torques that are right the free load is x's; the one that can exist is the nearest to it
    right = extended.scaled(1.0 / a)
    rows = weighted_rows(right, right.joint_factors, sigma / a)
    fit = LoadFit.of(right, rows)
    of_load = np.zeros((10, 10))
    of_load[1:, 1:] = V[m : m + 9, m : m + 9]
    more = np.vstack([np.zeros(lost.shape[1]), lost[m : m + 9] * (fit.scale[1:] / unit[m : m + 9])[:, None]])
    fit = replace(fit, undetermined=load.joined(fit.undetermined, more))
    body, edge = load.existing(fit, of_load, mass)
    phi, others = np.split(fit.others_at(body), [len(L)])
    payload = IdentifiedPayload(
        model.robot.links[carrier], body, fit.free, of_load, kind, dof, fit.undetermined, fit.scale,
        np.zeros((n, 10)), phi, phi + L @ np.append(others, body), sigma / a, edge, True,
    )  # fmt: skip
    return DriveGains(model.robot.joint_names, scale, errors, kind, dof, mass, payload)


def _covariance(
    extended: Regression, sigma: Array, x: Array, a: Array, m: int, fewest: int
) -> tuple[str, int, Array, Array, Array]:
    """Return kind, degrees of freedom and covariance of (x without x[m], a), what logs leave open of it, and units."""
    slope = _linearised(extended, x, a, m)
    free = np.delete(np.append(x, a), m)
    rows = weighted_rows(slope, slope.joint_factors, sigma)[:, :-1]
    unit = lengths(rows)
    _, s, vt = np.linalg.svd(rows / unit, full_matrices=False)
    lost = vt[s <= _SINGULAR * s[0]].T
    if fewest >= load.ENOUGH:
        kind, dof = "cluster-by-segment", fewest - 1
        d = jackknife(slope, sigma, free)
        V = (len(d) - 1) / len(d) * d.T @ d
    else:
        kind, dof = "classical", max(int(extended.rows.sum()) - len(free), 1)
        W = np.linalg.pinv(rows / unit, rcond=_SINGULAR) / unit[:, None]
        V = W @ W.T
    return kind, dof, np.asarray(V), lost, unit


def _fitted(extended: Regression, sigma: Array, x: Array, a: Array, m: int) -> tuple[Array, Array]:
    """Return the x and a of least weighted squared residual from these on, x[m] kept."""
    from scipy.optimize import least_squares

    n, size = len(a), len(x)
    free = np.delete(np.arange(size + n), m)
    factors = weighted_rows(extended, extended.joint_factors, sigma)
    Y, z = factors[:, :-1], factors[:, -1]
    joint = np.repeat(np.arange(n), [len(F) for F in extended.joint_factors])

    def whole(y: Array) -> tuple[Array, Array]:
        both = np.insert(y, m, x[m])
        return both[:size], both[size:]

    def residual(y: Array) -> Array:
        found, k = whole(y)
        return np.asarray(k[joint] * (Y @ found) - z)

    def slopes(y: Array) -> Array:
        found, k = whole(y)
        of_a = torque_columns(extended, Y @ found)
        return np.asarray(np.column_stack([k[joint][:, None] * Y, of_a])[:, free])

    start = np.append(x, a)[free]
    done = least_squares(residual, start, jac=slopes, x_scale="jac", xtol=1e-12, ftol=1e-14, gtol=1e-12, max_nfev=500)
    if done.status <= 0:
        raise EstimationError(
            "the fit of the drive gains did not converge: the load is hardly felt, or some joint hardly moves."
            " Take a heavier load, or longer recordings that move every joint"
        )
    return whole(done.x)


def _linearised(extended: Regression, x: Array, a: Array, m: int) -> Regression:
    """Return factors whose columns are the slopes in x (without x[m]) and a, and whose residual there is ours."""
    size = len(x)
    own = [tuple(k - (k > m) for k in of if k != m) for of in extended.parameters]
    parameters = tuple((*of, size - 1 + j) for j, of in enumerate(own))
    y = np.delete(np.append(x, a), m)

    def slopes_at(j: int, F: Array) -> Array:
        of = extended.parameters[j]
        predicted = F[:, :-1] @ x[list(of)]
        slopes = np.column_stack([a[j] * F[:, [c for c, k in enumerate(of) if k != m]], predicted])
        return np.column_stack([slopes, slopes @ y[list(parameters[j])] - (a[j] * predicted - F[:, -1])])

    base = BaseParameters.each([f"x{k}" for k in range(len(y))])
    return Regression(f"{extended.model}|gains", base, parameters, extended.mapped(slopes_at))
