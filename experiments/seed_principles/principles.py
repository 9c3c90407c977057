"""The tutorial's way to the equations of motion, in numbers: particle, constraint, virtual work, d'Alembert, tensor.

python experiments/seed_principles/principles.py        prints the table of README.md

Each function takes one step of the page on a system small enough to check by other means: two particles on a massless
rod, free in space or leaning between wall and floor as a ladder, and a wedge whose density grows along it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
G = 9.81


@dataclass(frozen=True)
class Rod:
    """Two particles on a massless rod: |r1 - r2| = length."""

    m1: float = 2.0  # kg
    m2: float = 3.0
    length: float = 0.7  # m


def particle_force(m: float, acceleration: float) -> float:
    """Return the force [N] up on a particle: d/dt dK/dv - d(K - P)/dy with K = m v^2 / 2, P = m g y."""
    return m * acceleration + m * G


# ---- the holonomic constraint ---------------------------------------------------------------------------------------


def places(rod: Rod, q: Array) -> Array:
    """Return r1, r2 (2, 3) [m] of generalised coordinates: centre of mass (3,), heading and height of the rod [rad]."""
    heading, height = q[3:]
    along = np.array([np.cos(height) * np.cos(heading), np.cos(height) * np.sin(heading), np.sin(height)])
    share = np.array([rod.m2, -rod.m1]) / (rod.m1 + rod.m2)
    return np.asarray(q[:3] + rod.length * share[:, None] * along)


def virtual_displacements(rod: Rod, q: Array) -> Array:
    """Return dr_i/dq_j (5, 2, 3): what a unit of each coordinate moves, all that the rod allows."""
    (c, s), (cz, sz) = ((np.cos(x), np.sin(x)) for x in q[3:])
    turned = np.array([[-cz * s, cz * c, 0.0], [-sz * c, -sz * s, cz]])
    share = rod.length * np.array([rod.m2, -rod.m1]) / (rod.m1 + rod.m2)
    return np.concatenate([np.repeat(np.eye(3)[:, None], 2, axis=1), share[None, :, None] * turned[:, None]])


def free_rod(rod: Rod, r: Array, v: Array) -> tuple[Array, float]:
    """Return accelerations (2, 3) and the rod's pull [N] in free flight, from the constraint differentiated twice."""
    e, u = r[0] - r[1], v[0] - v[1]
    inverse = 1 / rod.m1 + 1 / rod.m2
    pull = u @ u / (inverse * e @ e)  # over the length: e.(a1 - a2) + u.u = 0, gravity alike on both
    a = np.array([-pull / rod.m1 * e, pull / rod.m2 * e]) - np.array([0, 0, G])
    return a, float(pull * np.linalg.norm(e))


def coin(radius: float, rolled: float, turned: float) -> Array:
    """Return where a rolling coin (2,) [m] ends after roll, turn, roll back, turn back: not where it began.

    dx = radius cos(heading) d(angle), dy = radius sin(heading) d(angle) are constraints that no g(x, y, ..) = 0 gives.
    """
    start = np.array([1.0, 0.0])
    other = np.array([np.cos(turned), np.sin(turned)])
    return np.asarray(radius * rolled * (start - other))


# ---- virtual work and d'Alembert on a ladder ------------------------------------------------------------------------
# particle 1 touches a smooth wall x = 0, particle 2 a smooth floor y = 0; angle at the floor


def ladder_hold(rod: Rod, angle: float) -> float:
    """Return the horizontal force [N] on the foot that holds the ladder: sum of f_i . dr_i = 0 over the angle."""
    dy1, dx2 = rod.length * np.cos(angle), -rod.length * np.sin(angle)  # virtual displacements of a unit of the angle
    return float(rod.m1 * G * dy1 / dx2)  # -m1 g dy1 + f dx2 = 0; wall, floor and rod do no work


def ladder_acceleration(rod: Rod, angle: float, rate: float) -> float:
    """Return angle'' [rad/s^2] of the ladder let go: sum of (f_i - m_i a_i) . dr_i = 0 (d'Alembert)."""
    s, c = np.sin(angle), np.cos(angle)
    inertia = rod.length * (
        rod.m1 * c**2 + rod.m2 * s**2
    )  # y1'' = l (c angle'' - s rate^2), x2'' = l (-s angle'' - ..)
    velocity = rod.length * (rod.m2 - rod.m1) * s * c * rate**2
    return float(-(velocity + rod.m1 * G * c) / inertia)


def ladder_with_forces(rod: Rod, angle: float, rate: float, push: float = 0.0) -> dict[str, float]:
    """Return angle'' and the forces of wall, floor and rod [N] by Newton's law of both particles, four equations."""
    s, c, length = np.sin(angle), np.cos(angle), rod.length
    # unknown: angle'', wall (+x on 1), floor (+y on 2), thrust of the rod (1 up and left, 2 down and right)
    A = np.array(
        [
            [0, 1, 0, -c],  # x1'' = 0
            [rod.m1 * length * c, 0, 0, -s],  # m1 y1'' = -m1 g + thrust s
            [-rod.m2 * length * s, 0, 0, -c],  # m2 x2'' = push + thrust c
            [0, 0, 1, -s],  # y2'' = 0
        ]
    )
    b = np.array([0, rod.m1 * (length * s * rate**2 - G), push + rod.m2 * length * c * rate**2, rod.m2 * G])
    return dict(zip(("acceleration", "wall", "floor", "thrust"), np.linalg.solve(A, b).tolist(), strict=True))


def ladder_fall(rod: Rod, angle: float, duration: float) -> tuple[Array, Array]:
    """Return angle and rate (m,) of the ladder let go at rest, over the time."""
    from scipy.integrate import solve_ivp

    def rate(_: float, x: Array) -> list[float]:
        return [x[1], ladder_acceleration(rod, x[0], x[1])]

    run = solve_ivp(rate, (0, duration), [angle, 0.0], rtol=1e-11, atol=1e-12, max_step=0.01)
    return run.y[0], run.y[1]


# ---- the inertia tensor by integration ------------------------------------------------------------------------------


def wedge_points(sides: tuple[float, float, float], density: tuple[float, float]) -> tuple[Array, Array]:
    """Return points (N, 3) [m] and masses (N,) [kg] that integrate polynomials up to degree 9 over a wedge exactly.

    The wedge is 0 <= x <= a, 0 <= y <= b (1 - x/a), 0 <= z <= c of sides (a, b, c); density at z = 0, c [kg/m^3].
    """
    node, weight = np.polynomial.legendre.leggauss(6)
    node, weight = (node + 1) / 2, weight / 2
    u, v, w = (x.ravel() for x in np.meshgrid(node, node, node, indexing="ij"))
    share = np.multiply.outer(np.multiply.outer(weight, weight), weight).ravel()
    a, b, c = sides
    points = np.stack([a * u, b * (1 - u) * v, c * w], axis=1)
    return points, share * a * b * (1 - u) * c * (density[0] + (density[1] - density[0]) * w)


def tensor(points: Array, masses: Array) -> Array:
    """Return the inertia tensor (3, 3) [kg m^2] about the origin: integral of (y^2 + z^2) dm, -integral of xy dm, .."""
    x, y, z = points.T
    xx, yy, zz = ((masses * value).sum() for value in (y * y + z * z, x * x + z * z, x * x + y * y))
    xy, xz, yz = (-(masses * value).sum() for value in (x * y, x * z, y * z))
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


WEDGE = (0.3, 0.2, 0.1), (1000.0, 3000.0)


def main() -> None:
    rod, e = Rod(), np.array([1.0, 0, 0])
    share = rod.length * np.array([[rod.m2], [-rod.m1]]) / (rod.m1 + rod.m2)
    _, pull = free_rod(rod, share * e, share * np.array([0, 4.0, 0]))
    angle = np.radians(60.0)
    points, masses = wedge_points(*WEDGE)
    centre = masses @ points / masses.sum()
    np.set_printoptions(precision=6, suppress=True)
    print(f"particle of 2 kg, 3 m/s^2 up: {particle_force(2.0, 3.0):.3f} N")
    print(f"rod spinning at 4 rad/s: pull {pull:.3f} N")
    print(f"coin of 0.1 m rolled half a turn, turned by 90 deg, and back: {coin(0.1, np.pi, np.pi / 2)} m away")
    held = ladder_hold(rod, angle)
    print(f"ladder at 60 deg: held by {held:.4f} N; {ladder_with_forces(rod, angle, 0.0, held)}")
    print(f"let go: {ladder_acceleration(rod, angle, 0.0):.4f} rad/s^2; {ladder_with_forces(rod, angle, 0.0)}")
    print(
        f"wedge: {masses.sum():.3f} kg, centre {centre} m, tensor about the corner [kg m^2]\n{tensor(points, masses)}"
    )
    print(f"about the centre\n{tensor(points - centre, masses)}")


if __name__ == "__main__":
    main()
