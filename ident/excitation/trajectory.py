"""A motion of all joints: coefficients in a basis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, checked, frozen
from ident.errors import ExcitationError
from ident.excitation.bases import Basis, count, end_conditions, positive

_NUMBERS = 4_000_000  # values of basis functions at a time, so that memory is flat


@dataclass(frozen=True, eq=False)
class Trajectory:
    """q_j(t) = sum_k coefficients[j, k] b_k(t) for the joints named [rad; m].

    coefficients (n, basis.size). Raises ExcitationError when they do not fit basis and joints, are not finite, or a
    name is empty, repeated or not printable.
    """

    basis: Basis
    coefficients: Array
    joints: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", tuple(self.joints))
        if not self.joints:
            raise ExcitationError("a trajectory needs at least one joint")
        for name in self.joints:
            if not isinstance(name, str) or not name or not name.isprintable():
                raise ExcitationError(f"{name!r:.60} cannot be the name of a joint", fix="Use printable characters")
            if self.joints.count(name) > 1:
                raise ExcitationError(f"joint '{name}' is named twice")
        shape = (len(self.joints), self.basis.size)
        object.__setattr__(self, "coefficients", frozen(self.coefficients, shape, "coefficients", ExcitationError))
        if np.abs(self.coefficients).max() > 1e12:  # so that derivatives do not overflow
            raise ExcitationError("a coefficient is beyond 1e12, which no robot can follow")

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)

    @property
    def duration(self) -> float:
        """Length of the motion, which is the period of a periodic one [s]."""
        return self.basis.duration

    def derivative(self, t: ArrayLike, order: int) -> Array:
        """Return the time derivative of order 0..4 of q at t (N,) [s], (N, n).

        Raises ExcitationError when a time is not finite, or outside 0..duration of a motion that is not periodic.
        """
        t = checked(t, (None,), "t", ExcitationError)
        if not self.basis.periodic and len(t):
            past = 1e-9 * self.duration
            if t.min() < -past or t.max() > self.duration + past:
                worst = t.min() if t.min() < -past else t.max()
                raise ExcitationError(f"the motion lasts from 0 to {self.duration:g} s, asked for {worst:g} s")
        found = np.empty((len(t), self.n))
        few = max(1, _NUMBERS // self.basis.size)
        for k in range(0, len(t), few):
            found[k : k + few] = self.basis.values(t[k : k + few], order) @ self.coefficients.T
        return found

    def states(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return q, qd, qdd at t (N,) [s], each (N, n) [rad, rad/s, rad/s^2; m ...]; errors as of `derivative`."""
        return self.derivative(t, 0), self.derivative(t, 1), self.derivative(t, 2)

    def jerk(self, t: ArrayLike) -> Array:
        """Return the third derivative at t (N,) [s], (N, n) [rad/s^3; m/s^3]; errors as of `derivative`."""
        return self.derivative(t, 3)

    def extremes(self, order: int) -> tuple[Array, Array]:
        """Return the least and greatest value (n,) of the derivative of order 0..3 over the whole duration."""
        return self.basis.extremes(self.coefficients, count(order, "the order of the derivative", 0, 3))

    def sample(self, rate_hz: float) -> tuple[Array, Array, Array, Array]:
        """Return t (N,), q, qd, qdd (N, n) of one duration at t = k / rate_hz, from 0 on.

        The end is left out of a periodic motion, so that repeating the rows repeats the motion when duration * rate_hz
        is whole. Other motions include it; where it falls between two times, the later one holds the end's state.
        Raises ExcitationError for a rate that is not positive.
        """
        return self._rows(rate_hz, self.duration, self.basis.periodic)

    def playback(self, rate_hz: float, periods: int = 1) -> tuple[Array, Array, Array, Array]:
        """Return t (N,), q, qd, qdd (N, n) as a controller plays them: that many periods, start and end included.

        Times are k / rate_hz; where the end falls between two, the later one holds the end's state.
        Raises ExcitationError for a rate that is not positive, or several periods of a motion that has none.
        """
        if count(periods, "the number of periods", 1, 10**6) > 1 and not self.basis.periodic:
            raise ExcitationError(f"the motion is not periodic and cannot be played {periods} times")
        return self._rows(rate_hz, periods * self.duration, False)

    def at_rest(self) -> bool:
        """Return whether velocity and acceleration vanish at start and end, to 1e-9 of their greatest magnitudes."""
        for order in (1, 2):
            least, most = self.extremes(order)
            ends = np.abs(end_conditions(self.basis, (order,)) @ self.coefficients.T)
            if (ends > 1e-9 * np.maximum(-least, most)).any():
                return False
        return True

    def _rows(self, rate_hz: float, end: float, without_end: bool) -> tuple[Array, Array, Array, Array]:
        rate = positive(rate_hz, "the sampling rate [Hz]")
        steps = end * rate
        if steps > 1e7:
            raise ExcitationError(f"{end:g} s at {rate:g} Hz are {steps:.3g} samples, wanted 1e7 at most")
        last = int(np.ceil(steps * (1 - 1e-12)))  # a whole number of steps stays whole under rounding
        t = np.arange(last if without_end else last + 1) / rate
        return (t, *self.states(np.minimum(t, end)))
