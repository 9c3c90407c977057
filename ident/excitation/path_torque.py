"""Whether a motion made of moves and pauses keeps the torque limits on its whole way, between the samples too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial

from ident.arrays import Array
from ident.errors import ExcitationError
from ident.excitation.basis import resting
from ident.excitation.moves import Moves
from ident.excitation.periodic_spline import greatest_of_polynomials, to_bernstein
from ident.excitation.torque_limits import TorqueLimits
from ident.excitation.trajectory import Trajectory


def require_torque(limits: TorqueLimits, moves: Moves) -> float:
    """Return the greatest share of a torque limit that the motion is proven not to exceed, at most 1.

    The proof is that of `TorqueLimits.guarantees`, piece by piece, as the jerk may jump where two of them meet.
    Raises ExcitationError, naming place, time, joint and torque, where a limit may be exceeded.
    """
    begin, greatest = 0.0, 0.0
    joints = limits.model.robot.joint_names
    for piece in moves.pieces:
        motion = Trajectory(_Line(piece.duration, piece.s), np.stack([piece.start, piece.way], axis=1), joints)
        for found in limits.guarantees(motion):
            greatest = max(greatest, found.reached / found.limit)
            if not found.holds:
                raise ExcitationError(
                    f"{piece.name}, which begins {begin:.4g} s after the start, the {found.what} may reach "
                    f"{found.reached:.4g} {found.unit}, wanted at most {found.limit:.4g} {found.unit}",
                    fix="Lower the acceleration or the velocity, or take other postures",
                )
        begin += piece.duration
    return greatest


def holding_torque(limits: TorqueLimits, q: Array) -> Array:
    """Return the torque (N, n) [N m; N] that each joint may need at rest in q (N, n), with friction against it."""
    still = np.zeros_like(q)
    return np.asarray(np.abs(limits.torques((q, still, still))) + limits.coulomb)


@dataclass(frozen=True, eq=False)
class _Line:
    """The functions 1 and s(t) on 0..duration."""

    duration: float
    s: Polynomial

    periodic = False
    size = 2

    @property
    def resting(self) -> Array:
        return resting(self)

    def values(self, t: Array, order: int) -> Array:
        return np.stack([np.full(len(t), float(order == 0)), self._derivative(order)(t)], axis=1)

    def extremes(self, coefficients: Array, order: int) -> tuple[Array, Array]:
        powers = np.asarray(self._derivative(order).coef, dtype=np.float64)  # of t, and so of t / duration:
        bernstein = (powers * self.duration ** np.arange(len(powers))) @ to_bernstein(len(powers) - 1)
        ends = np.array([sign * greatest_of_polynomials(sign * bernstein[None, None])[0] for sign in (-1.0, 1.0)])
        both = coefficients[:, :1] * (order == 0) + coefficients[:, 1:] * ends
        return both.min(axis=1), both.max(axis=1)

    def _derivative(self, order: int) -> Polynomial:
        return self.s.deriv(order) if order else self.s
