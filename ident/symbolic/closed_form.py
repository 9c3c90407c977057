"""D(q), C(q, qd), g(q) and the regressor as sympy expressions, by Lagrange's equations, for small robots."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, checked
from ident.errors import ModelError, need
from ident.regression.base import BaseParameters
from ident.robot.file import DHJoint, from_dh
from ident.robot.robot import Robot
from ident.spatial.inertia import symmetric
from ident.symbolic.fourier import Fourier, Ring
from ident.symbolic.newton_euler import (
    Mechanism,
    cross,
    gravity,
    joint_names,
    mechanism,
    parameter_names,
    tidy,
    twists,
    zeros,
)
from ident.symbolic.program import Objects, Scalar

_NOTHING = 1e-13  # of the largest coefficient beside it


@dataclass(frozen=True, eq=False)
class Terms:
    """D (n, n), the Christoffel symbols c_ijk (n, n, n) and g (n,) as sums in `ring`."""

    ring: Ring
    groups: tuple[int, ...]
    D: Objects
    christoffel: Objects
    g: Objects
    _modes: dict[tuple[bool, tuple[int, ...]], Any] = field(default_factory=dict)

    @cached_property
    def symbols(self) -> tuple[Any, ...]:
        """Joint positions, then the others of the ring."""
        import sympy

        return tuple(sympy.symbols((*joint_names("q", len(self.groups)), *self.ring.others)))

    def written(self, x: Fourier | float) -> list[Any]:
        """Return the terms of a sum: products of modes of joint angles, one sine or cosine per set of parallel axes."""
        import sympy

        if not isinstance(x, Fourier):
            return [exact(float(x))] if x else []
        n = len(self.groups)
        found: dict[tuple[tuple[int, ...], tuple[tuple[bool, tuple[int, ...]], ...]], float] = {}
        for key, c in x.terms.items():
            exponents = self.ring.exponents(key)
            turning = (*self.ring.revolute, *[False] * (len(exponents) - n))
            powers = [0 if turns else e for turns, e in zip(turning, exponents, strict=True)]
            waves: list[tuple[tuple[int, ...], int]] = []
            for group in sorted(set(self.groups)):
                k = tuple(
                    e if turns and g == group else 0
                    for e, turns, g in zip(exponents, self.ring.revolute, self.groups, strict=False)
                )
                if any(k):
                    sign = 1 if next(e for e in k if e) > 0 else -1
                    waves.append((tuple(sign * e for e in k), sign))
            for sines in itertools.product((False, True), repeat=len(waves)):  # e^ix = cos x + i sin x
                factor = c
                for is_sine, (_, sign) in zip(sines, waves, strict=True):
                    factor *= 1j * sign if is_sine else 1.0
                if factor.real:  # the imaginary parts of all terms cancel
                    modes = tuple((is_sine, k) for is_sine, (k, _) in zip(sines, waves, strict=True))
                    place = (tuple(powers), modes)
                    found[place] = found.get(place, 0.0) + factor.real
        largest = max(map(abs, found.values()), default=0.0)
        return [
            sympy.Mul(
                exact(c),
                *(s**e for s, e in zip(self.symbols, powers, strict=True) if e),
                *(self._mode(*mode) for mode in modes),
            )
            for (powers, modes), c in found.items()
            if abs(c) > _NOTHING * largest
        ]

    def _mode(self, is_sine: bool, k: tuple[int, ...]) -> Any:
        import sympy

        known = self._modes.get((is_sine, k))
        if known is None:
            angle = sympy.Add(*(e * q for e, q in zip(k, self.symbols, strict=False)))
            known = self._modes[is_sine, k] = sympy.sin(angle) if is_sine else sympy.cos(angle)
        return known


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """The equations of motion D(q) qdd + C(q, qd) qd + g(q) = tau = Y(q, qd, qdd) theta, as sympy matrices.

    Symbols are q1 .., qd1 .., qdd1 .. and the standard parameters `theta` (10 n), such as link2_hx for `link2.hx`.
    C is that of the Christoffel symbols. Every entry is a sum of products, with sin(q2 + q3) where axes are parallel.
    """

    theta_names: tuple[str, ...]
    arm: Mechanism = field(repr=False)
    terms: Terms = field(repr=False)

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.arm.n

    @cached_property
    def q(self) -> Any:
        """Joint positions (n, 1) [rad or m]."""
        return _column(joint_names("q", self.n))

    @cached_property
    def qd(self) -> Any:
        """Joint velocities (n, 1)."""
        return _column(joint_names("qd", self.n))

    @cached_property
    def qdd(self) -> Any:
        """Joint accelerations (n, 1)."""
        return _column(joint_names("qdd", self.n))

    @cached_property
    def theta(self) -> Any:
        """Standard parameters (10 n, 1) as symbols, also where D, C and g hold numbers."""
        return _column(self.theta_names)

    @cached_property
    def D(self) -> Any:
        """Mass matrix (n, n) [kg m^2; kg m and kg where joints slide]."""
        return self._matrix(self.terms.D)

    @cached_property
    def C(self) -> Any:
        """Coriolis matrix (n, n) of the Christoffel symbols: C_ij = sum_k c_ijk(q) qd_k, dD/dt - 2 C is skew."""
        import sympy

        found = [
            [
                sympy.Add(*(term * self.qd[k] for k, x in enumerate(row) for term in self.terms.written(x)))
                for row in self.terms.christoffel[i]
            ]
            for i in range(self.n)
        ]
        return sympy.ImmutableMatrix(found)

    @cached_property
    def g(self) -> Any:
        """Torque (n, 1) that holds the arm still [N m; N]."""
        return self._matrix(self.terms.g[:, None])

    @cached_property
    def Y(self) -> Any:
        """Regressor (n, 10 n): the derivative of tau by theta. Raises ModelError when it has too many terms."""
        import sympy

        n, ring = self.n, self.terms.ring
        linear = derive(self.arm, ring, ring.symbols()[-10 * n :].reshape(n, 10))
        columns: list[list[list[Any]]] = [[[] for _ in range(10 * n)] for _ in range(n)]
        rates: list[tuple[Objects, tuple[int, ...], Any]] = [(linear.g, (), sympy.Integer(1))]
        rates += [(linear.D, (j,), self.qdd[j]) for j in range(n)]
        for j, k in itertools.combinations_with_replacement(range(n), 2):
            rates.append((linear.christoffel, (j, k), (2 if j < k else 1) * self.qd[j] * self.qd[k]))
        for i in range(n):
            for array, index, motion in rates:
                for p, part in _by_parameter(linear.ring, array[(i, *index)], 10 * n):
                    columns[i][p] += [term * motion for term in linear.written(part)]
        return sympy.ImmutableMatrix([[sympy.Add(*terms) for terms in row] for row in columns])

    def base_regressor(self, base: BaseParameters) -> Any:
        """Return Y_b (n, b) with tau = Y_b phi, phi = `base_parameters(base)`.

        base: of `Model(robot)` without joint terms. Raises ModelError when it is of another model.
        """
        self._require(base)
        return self.Y[:, list(base.kept)]

    def base_parameters(self, base: BaseParameters) -> Any:
        """Return phi (b, 1) = K theta as sums of standard parameters. Raises ModelError as `base_regressor`."""
        import sympy

        self._require(base)
        rows = [[exact(float(c)) for c in row] for row in base.K]
        return sympy.ImmutableMatrix(rows) * self.theta

    def _require(self, base: BaseParameters) -> None:
        if len(base.standard) != len(self.theta_names):
            other = f"the base parameters are of a model with {len(base.standard)} parameters"
            fix = "Take those of Model(robot), without joint terms"
            raise ModelError(f"{other}, the closed form has {len(self.theta_names)}", fix=fix)

    def _matrix(self, entries: Objects) -> Any:
        import sympy

        return sympy.ImmutableMatrix([[sympy.Add(*self.terms.written(x)) for x in row] for row in entries])


def closed_form(robot: Robot, inertials: ArrayLike | None = None) -> ClosedForm:
    """Return the equations of motion of a robot in closed form.

    inertials (n, 10): numbers to put in; without them they are symbols. Numbers of the geometry are made tidy:
    cos(pi/2) is 0, cosines of multiples of pi/12 are exact, lengths are those given.
    Raises ModelError when inertials do not fit or an expression has more terms than anyone reads.
    """
    need("sympy")
    numbers = None if inertials is None else checked(inertials, (robot.n, 10), "inertials", ModelError)
    names = parameter_names(robot)
    arm = mechanism(robot)
    ring = Ring(arm.revolute, names)
    try:
        terms = derive(arm, ring, ring.symbols().reshape(-1, 10) if numbers is None else numbers.astype(object))
    except ModelError as cause:
        raise ModelError(f"robot '{robot.name}': {cause.problem}", fix=cause.fix) from cause
    return ClosedForm(names, arm, terms)


def derive(arm: Mechanism, ring: Ring, inertials: Objects) -> Terms:
    """Return D, c and g by Lagrange's equations; inertials (n, 10) numbers or sums of `ring`.

    D_ij = d^2K / dqd_i dqd_j, c_ijk = (dD_ij/dq_k + dD_ik/dq_j - dD_jk/dq_i) / 2, g the torque of the links' weight.
    """
    n, q = arm.n, ring.joints()
    D, c, g = zeros(n, n), zeros(n, n, n), gravity(arm, inertials, q)
    for body, moved in zip(inertials, twists(arm, (arm.placed(i, q) for i in range(n))), strict=True):
        for i, j in itertools.combinations_with_replacement(sorted(moved), 2):
            D[i, j] = D[j, i] = D[i, j] + twice_kinetic(body, moved[i], moved[j])
    slopes = zeros(n, n, n)  # dD_ij/dq_k
    for i, j, k in itertools.product(range(n), repeat=3):
        slopes[i, j, k] = ring.derivative(D[i, j], k) if i <= j else slopes[j, i, k]
    for i, j, k in itertools.product(range(n), repeat=3):
        c[i, j, k] = 0.5 * (slopes[i, j, k] + slopes[i, k, j] - slopes[j, k, i]) if j <= k else c[i, k, j]
    return Terms(ring, _parallel(arm), D, c, g)


def _by_parameter(ring: Ring, x: Any, parameters: int) -> list[tuple[int, Fourier]]:
    """Return the factor of each standard parameter, the ring's last symbols, in a sum that is linear in them."""
    parts: dict[int, dict[int, complex]] = {}
    first = ring.size - parameters
    for key, c in x.terms.items() if isinstance(x, Fourier) else ():
        (place,) = (k for k, e in enumerate(ring.exponents(key)[first:]) if e)
        parts.setdefault(place, {})[key - (1 << (8 * (first + place)))] = c
    return [(p, Fourier(terms)) for p, terms in parts.items()]


def _parallel(arm: Mechanism) -> tuple[int, ...]:
    """Return of each joint the first joint of the chain of parallel revolute joints that it ends."""
    groups: list[int] = []
    for i in range(arm.n):
        groups.append(i)
        axis, above = arm.rotations[i] @ arm.axes[i], arm.parents[i]
        while above >= 0 and not arm.revolute[above]:
            axis, above = arm.rotations[above] @ axis, arm.parents[above]
        if above >= 0 and arm.revolute[i] and np.abs(np.abs(axis @ arm.axes[above]) - 1.0) < 1e-14:
            groups[i] = groups[above]
    return tuple(groups)


def exact(c: float) -> Any:
    """Return c as a fraction or a root of one where the small numbers of formulas give it, or else as a decimal."""
    import sympy

    for value, root in ((c, False), (math.copysign(c * c, c), True)):
        near = Fraction(value).limit_denominator(24)
        if near.denominator % 5 and near.denominator % 7 and abs(float(near) - value) <= 2e-15 * abs(value):
            size = sympy.Rational(abs(near.numerator), near.denominator)
            return int(math.copysign(1, c)) * (sympy.sqrt(size) if root else size)
    return sympy.Float(repr(tidy(c)))


def _column(names: tuple[str, ...]) -> Any:
    import sympy

    return sympy.ImmutableMatrix(sympy.symbols(names))


_MOST = 16  # joints; the terms of C grow with n^5


def planar_arm(n: int, lengths: ArrayLike = 1.0, masses: ArrayLike = 1.0, gravity: float = 9.81) -> Robot:
    """Return the arm of n thin uniform rods in the x-y plane, its inertials filled in.

    lengths [m] and masses [kg]: (n,), or one for all; gravity [m/s^2] along -y. Standard DH with a_i the lengths, so
    that link i's frame is at the rod's far end. Raises ModelError for n < 1 and numbers that are not positive.
    """
    a, m = _positive(n, lengths, "lengths"), _positive(n, masses, "masses")
    arm = from_dh(f"planar{n}", [DHJoint(a=float(x)) for x in a], gravity=(0.0, -gravity, 0.0))
    inertials = np.array([_rod(mass, length) for mass, length in zip(m, a, strict=True)])
    return Robot(arm.name, arm.joints, arm.links, arm.gravity, inertials=inertials)


def planar(
    n: int, lengths: ArrayLike | None = None, masses: ArrayLike | None = None, gravity: float | None = None
) -> ClosedForm:
    """Return the closed form of the same arm, with terms such as m5 a2 a4 cos(q3 + q4).

    lengths, masses, gravity: as for `planar_arm`; what is not given is a symbol: a1 .., m1 .., g0. `theta` and `Y` of
    the result are in the standard parameters, as for any robot.
    Raises ModelError for n outside 1 to 16 and numbers that are not positive.
    """
    _require_count(n)
    if n > _MOST:
        problem = f"a planar arm of {n} links has more terms than anyone reads, the most is {_MOST}"
        raise ModelError(problem, fix="Use write_c or write_python with planar_arm, which take any number of links")
    ones = _positive(n, 1.0, "lengths")
    arm = planar_arm(n)
    names = (*(f"a{i + 1}" for i in range(n)), *(f"m{i + 1}" for i in range(n)), "g0")
    theta_names = parameter_names(arm)
    ring = Ring((True,) * n, names + theta_names)
    symbols = ring.symbols()
    a = symbols[:n] if lengths is None else _positive(n, lengths, "lengths").astype(object)
    m = symbols[n : 2 * n] if masses is None else _positive(n, masses, "masses").astype(object)
    g0 = symbols[2 * n] if gravity is None else float(gravity)
    along = np.outer(ones, [1.0, 0.0, 0.0]).astype(object) * a[:, None]
    geometry = Mechanism(
        parents=arm.parents,
        revolute=(True,) * n,
        rotations=np.array([np.eye(3)] * n).astype(object),
        positions=along,
        axes=np.array([[0.0, 0.0, 1.0]] * n).astype(object),
        points=-along,
        gravity=np.array([0.0, -g0, 0.0], dtype=object),
    )
    rods = np.array([_rod(mass, length) for mass, length in zip(m, a, strict=True)], dtype=object)
    return ClosedForm(theta_names, geometry, derive(geometry, ring, rods))


def _rod(m: object, a: object) -> list[object]:
    """Return the parameters of a thin uniform rod that ends at its frame's origin and comes from -a along x."""
    moment = m * a * a * (1.0 / 3.0)  # type: ignore[operator]
    return [m, m * a * -0.5, 0.0, 0.0, 0.0, 0.0, 0.0, moment, 0.0, moment]  # type: ignore[operator]


def _require_count(n: object) -> None:
    if not isinstance(n, (int, np.integer)):
        raise ModelError(f"a planar arm has a whole number of links, got n = {n!r}")
    if n < 1:
        raise ModelError(f"a planar arm has at least one link, got n = {n}")


def _positive(n: int, values: ArrayLike, name: str) -> Array:
    _require_count(n)
    given = np.asarray(values)
    found = checked(np.full(n, values) if given.ndim == 0 else values, (n,), name, ModelError)
    if not (found > 0).all():
        raise ModelError(f"{name} must be positive, got {found[np.argmin(found)]:g}")
    return found


def twice_kinetic(body: Objects, one: tuple[Objects, Objects], other: tuple[Objects, Objects]) -> Scalar:
    """Return the symmetric bilinear form whose half is a body's kinetic energy at equal twists (u, v).

    m v.v' + v.(u' x h) + v'.(u x h) + u.(I u'), all in the body's frame, v that of its origin.
    """
    (u, v), (u2, v2) = one, other
    h, inertia = body[1:4], symmetric(body[4:])
    found: Scalar = body[0] * (v @ v2) + v @ cross(u2, h) + v2 @ cross(u, h) + u @ (inertia @ u2)
    return found
