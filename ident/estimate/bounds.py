"""Bounds on the links, as linear inequalities and equalities in theta.

What a body that fills no more than a known ellipsoid or box must satisfy: linear in its ten parameters.

For a polynomial f(x) = (x, 1)' Q (x, 1) the body's integral of f is tr(J Q), J its pseudo-inertia. Where f >= 0 on the
shape, tr(J Q) >= 0 for every mass distribution inside it (Wensing, Kim, Slotine, RA-L 2018, section III).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from ident.arrays import Array, frozen
from ident.errors import ModelError, nearest
from ident.model.model import Model
from ident.robot.robot import Robot
from ident.spatial.inertia import NATURAL, PSEUDO_INERTIA_MAP

Interval = tuple[float, float]
Box = tuple[Interval, Interval, Interval]
#: How near to its bound, relative to the row's unit, counts as on it.
_NEAR = 1e-5


@dataclass(frozen=True, eq=False)
class Rows:
    """rows @ theta <= sides, the first `equal` of them with equality.

    rows (m, p); sides (m,); units (m, p): units @ |theta| is what a row is measured against; labels (m,): in words.
    """

    rows: Array
    sides: Array
    units: Array
    labels: tuple[str, ...]
    equal: int

    def met(self, theta: Array) -> bool:
        """Return whether theta (p,) keeps all of them."""
        over = self.rows @ theta - self.sides
        over[: self.equal] = np.abs(over[: self.equal])
        return bool((over <= _NEAR * (self.units @ np.abs(theta))).all())

    def active(self, theta: Array) -> tuple[str, ...]:
        """Return the labels of those that theta (p,) sits on."""
        near = self.sides - self.rows @ theta <= _NEAR * (self.units @ np.abs(theta))
        near[: self.equal] = True
        return tuple(dict.fromkeys(label for label, at in zip(self.labels, near, strict=True) if at))


@dataclass(frozen=True)
class Bounds:
    """Bounds that the constrained fit keeps."""

    mass: Mapping[str, Interval] = field(default_factory=dict)
    """(least, most) [kg] by link."""
    total_mass: Interval | None = None
    """(least, most) [kg] of all moving links."""
    com: Mapping[str, Box] = field(default_factory=dict)
    """Three (least, most) [m] by link: a box in the link frame that contains its centre of mass."""
    ellipsoid: Mapping[str, Ellipsoid] = field(default_factory=dict)
    """By link, an ellipsoid in the link frame that contains all of its mass (`ellipsoid_row`)."""
    box: Mapping[str, Box] = field(default_factory=dict)
    """By link, three (least, most) [m]: a box in the link frame that contains all of its mass (`box_rows`)."""
    equal: tuple[tuple[str, ...], ...] = ()
    """Groups of links that are alike by design, each in its own frame."""
    pinned: Mapping[str, float] = field(default_factory=dict)
    """Values set by hand [SI], by a parameter's name or "LINK.cx" (cy, cz) for a centre's coordinate."""

    def shaped(self) -> set[str]:
        """Return the links of which more than the mass is bound."""
        alike = {name for group in self.equal for name in group}
        pinned = {name.rpartition(".")[0] for name in self.pinned}
        return {*self.com, *self.ellipsoid, *self.box, *alike, *pinned}

    def shape(self, link: str, mass: float) -> Bounds:
        """Return the bounds on where a link's mass and centre are, which hold at any mass alike, at this mass [kg]."""
        return Bounds(
            mass={link: (mass, mass)},
            com={link: self.com[link]} if link in self.com else {},
            ellipsoid={link: self.ellipsoid[link]} if link in self.ellipsoid else {},
            box={link: self.box[link]} if link in self.box else {},
            pinned={f"{link}.{c}": self.pinned[f"{link}.{c}"] for c in NATURAL[1:4] if f"{link}.{c}" in self.pinned},
        )

    def check(self, robot: Robot) -> None:
        """Raise ModelError for an unknown link or an interval that is empty."""
        alike = [name for group in self.equal for name in group]
        for name in (*self.mass, *self.com, *self.ellipsoid, *self.box, *alike):
            if name not in robot.links:
                raise ModelError(f"bounds name link '{name}', which the robot has not{nearest(name, robot.links)}")
        if len(set(alike)) < len(alike):
            raise ModelError("a link stands twice among the links that are equal by design")
        intervals = {**{f"mass of {k}": v for k, v in self.mass.items()}}
        for what, boxes in (("centre", self.com), ("box", self.box)):
            intervals |= {
                f"{what} of {k}, axis {a}": i for k, box in boxes.items() for a, i in zip("xyz", box, strict=True)
            }
        if self.total_mass is not None:
            intervals["total mass"] = self.total_mass
        for what, (least, most) in intervals.items():
            if not least <= most or (what.startswith("box") and least == most):
                raise ModelError(f"the bounds on the {what} are empty: {least:g} to {most:g}")
        for name, value in self.pinned.items():
            if not np.isfinite(value):
                raise ModelError(f"'{name}' is pinned at {value}, wanted a finite number")
            link, _, part = name.rpartition(".")
            if part == "m" and link in robot.links:
                least, most = self.mass.get(link, (0.0, np.inf))
                if not max(least, 0.0) <= value <= most:
                    wanted = f"at least {max(least, 0.0):g}" if np.isinf(most) else f"{max(least, 0.0):g} to {most:g}"
                    raise ModelError(f"'{name}' is pinned at {value:g} kg, wanted {wanted} kg")

    def on(self, model: Model) -> Rows:
        """Return the bounds as rows in theta. Raises ModelError as `check` does, and for an unknown pinned name."""
        self.check(model.robot)
        p = len(model.names)
        equal: list[tuple[Array, float, Array, str]] = []  # row, side, unit, label
        most: list[tuple[Array, float, Array, str]] = []
        unit = np.eye(p)
        place = {link: 10 * i for i, link in enumerate(model.robot.links)}
        mass = {link: unit[at] for link, at in place.items()}

        def between(row: Array, interval: Interval, size: Array, label: str, per: Array | None = None) -> None:
            """Keep a row within an interval, or within an interval times the row `per`."""
            ends = [(row, x) if per is None else (row - x * per, 0.0) for x in interval]
            low, high = ends
            if interval[0] == interval[1]:
                equal.append((*high, size, label))
            else:
                most.extend(((*high, size, label), (-low[0], -low[1], size, label)))

        for name, value in self.pinned.items():
            link, _, part = name.rpartition(".")
            label = f"{name} pinned at {value:g}"
            if link in place and part in NATURAL[1:4]:
                between(unit[place[link] + NATURAL.index(part)], (value, value), mass[link], label, mass[link])
            else:
                row = unit[model.index(name)]
                equal.append((row, value, row, label))
        for first, *others in self.equal:
            for other in others:
                for k in range(10):
                    row = unit[place[other] + k] - unit[place[first] + k]
                    equal.append((row, 0.0, unit[place[first] + k], f"{other} equal to {first}"))
        for link, interval in self.mass.items():
            between(mass[link], interval, mass[link], f"{link}: mass at its bound")
        if self.total_mass is not None:
            total = np.sum(list(mass.values()), axis=0)
            between(total, self.total_mass, total, "total mass at its bound")
        for link, box in self.com.items():
            for axis, interval in enumerate(box):
                label = f"{link}: centre of mass at its bound in {'xyz'[axis]}"
                between(unit[place[link] + 1 + axis], interval, mass[link], label, mass[link])
        shapes = {link: [ellipsoid_row(e)] for link, e in self.ellipsoid.items()}
        for link, box in self.box.items():
            shapes.setdefault(link, []).extend(box_rows(box))
        for link, parts in shapes.items():
            at = unit[place[link] : place[link] + 10]
            label = f"{link}: mass at the surface of its shape"
            most += [(-part @ at, 0.0, mass[link], label) for part in parts]
        found = [f for f in equal + most if np.isfinite(f[1]) and np.isfinite(f[0]).all()]
        return Rows(
            np.array([f[0] for f in found]).reshape(-1, p),
            np.array([f[1] for f in found], dtype=np.float64),
            np.array([f[2] for f in found]).reshape(-1, p),
            tuple(f[3] for f in found),
            len(equal),
        )


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """All x with |axes^-1 (x - centre)| <= 1. centre (3,) [m]; axes (3, 3) [m], one semi-axis per column."""

    centre: Array
    axes: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", frozen(self.centre, (3,), "the ellipsoid's centre", ModelError))
        object.__setattr__(self, "axes", frozen(self.axes, (3, 3), "the ellipsoid's axes", ModelError))
        s = np.linalg.svd(self.axes, compute_uv=False)
        if not s[-1] > 1e-9 * s[0]:
            raise ModelError("the ellipsoid is flat: one semi-axis is zero", fix="Give three that differ in direction")


def ellipsoid_row(ellipsoid: Ellipsoid) -> Array:
    """Return r (10,) with r @ parameters = integral of 1 - |axes^-1 (x - centre)|^2 dm [kg].

    With a positive semidefinite J, r @ parameters >= 0 is also sufficient: some distribution inside has this J.
    """
    inverse = np.linalg.inv(ellipsoid.axes)
    inside = np.column_stack([inverse, -inverse @ ellipsoid.centre])
    last = np.zeros((4, 4))
    last[3, 3] = 1.0
    return _integral(last - inside.T @ inside)


def box_rows(box: Sequence[tuple[float, float]]) -> Array:
    """Return rows r (19, 10): integrals of polynomials of second degree that are not negative on the box, unit-free.

    box: (least, most) [m] along x, y, z. The first fifteen are products of two distances to faces, in units of the
    box's sides. With J >= 0 they are sufficient for bodies in two dimensions, not in three (Anstreicher, Burer, Math.
    Program. 2010). The last four belong to three axes at once, the triangle inequalities of u in [0, 1]^3,

        1 - u1 - u2 - u3 + u1 u2 + u1 u3 + u2 u3 >= 0,    u_i - u_i u_j - u_i u_k + u_j u_k >= 0

    (Yajima, Fujie, J. Global Optim. 1998). r @ parameters >= 0 is necessary; no proof makes it sufficient, but against
    the exact condition (J a sum over the tetrahedra of a cut box, each doubly non-negative in its corners: Anstreicher,
    Burer) nothing is left in 300 random directions, where without the last four 1 in 100 is up to 0.2 % too wide.
    """
    faces = []
    for axis, (least, most) in enumerate(box):
        low, high = np.zeros(4), np.zeros(4)
        low[axis], high[axis] = 1.0, -1.0
        low[3], high[3] = -least, most
        faces.append((low / (most - least), high / (most - least)))
    pairs = [(low, high) for low, high in faces]
    pairs += [(a, b) for one, other in combinations(faces, 2) for a in one for b in other]
    products = [0.5 * (np.outer(a, b) + np.outer(b, a)) for a, b in pairs]
    one = np.zeros(4)
    one[3] = 1.0
    for a, b, c in ((0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)):  # the second with two of u counted from the far face
        u, v, w = faces[0][a], faces[1][b], faces[2][c]
        Q = np.outer(one, one - u - v - w) + np.outer(u, v) + np.outer(u, w) + np.outer(v, w)
        products.append(0.5 * (Q + Q.T))
    return np.array([_integral(Q) for Q in products])


def _integral(Q: Array) -> Array:
    """Return r (10,) with r @ parameters = tr(J Q)."""
    return np.asarray(Q.ravel() @ PSEUDO_INERTIA_MAP)
