"""The planar arm of n uniform rods, as numbers and in closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, checked
from ident.errors import ModelError
from ident.robot.dh import DHJoint, from_dh
from ident.robot.robot import Robot
from ident.symbolic.closed_form import ClosedForm, derive
from ident.symbolic.fourier import Ring
from ident.symbolic.mechanism import Mechanism
from ident.symbolic.names import parameter_names

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
        raise ModelError(
            f"a planar arm of {n} links has more terms than anyone reads, the most is {_MOST}",
            fix="Use write_c or write_python with planar_arm, which take any number of links",
        )
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
