"""The mistakes that CAD tables are known for, each of which can be made and undone.

A body is what a table prints of it: m, c and six entries of the tensor, about the centre or about the link's origin
as the table declares.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import permutations, product

import numpy as np

from ident.arrays import Array
from ident.robot.robot import Robot
from ident.spatial.inertia import Pose, transformed

_PRODUCTS = {"Ixy": 5, "Ixz": 6, "Iyz": 8}  # their places among the ten numbers
_LB, _IN = 0.45359237, 0.0254
#: What masses and tensors are multiplied by in known mistakes, or divided.
FACTORS = (2.0, 1e3, 1.0 / _LB, 1e3 * _LB)
_RARE = 0.1  # of the weight of kg and g, m and mm: pounds, inches and centimetres


@dataclass(frozen=True, eq=False)
class Setting:
    """What a mistake may depend on: the robot, and the point that the table's tensors are about."""

    robot: Robot
    about_origin: bool


#: (body (10,), link, setting, 1 to make the mistake or -1 to undo it) -> body (10,).
Change = Callable[[Array, int, Setting, int], Array]
#: (robot, link) -> the link's frame seen from another one, at zero posture.
Frame = Callable[[Robot, int], Pose]


@dataclass(frozen=True)
class Mistake:
    """One mistake in the numbers of one body: its family, and what is wrong in words.

    frame: where centre and tensor are printed in another frame, the link's seen from it. weight: how common it is
    within its family.
    """

    kind: str
    name: str
    change: Change = field(compare=False, repr=False)
    frame: Frame | None = field(default=None, compare=False, repr=False)
    weight: float = field(default=1.0, compare=False, repr=False)

    def __str__(self) -> str:
        return self.name

    def made(self, body: Array, link: int, setting: Setting) -> Array:
        """Return the body (10,) as a table with this mistake prints it."""
        return self.change(body, link, setting, 1)

    def undone(self, body: Array, link: int, setting: Setting) -> Array:
        """Return the right body (10,) of one that is printed with this mistake."""
        return self.change(body, link, setting, -1)


def known_mistakes() -> tuple[Mistake, ...]:
    """Return every mistake that a single body's numbers can have."""
    flipped = np.ones(10)
    flipped[list(_PRODUCTS.values())] = -1.0
    point = "tensor is about the other point (link origin, centre of mass) than declared"
    found = [
        Mistake("sign", "products of inertia have the other sign", _scaled(flipped)),
        Mistake("point", point, _other_point),
        Mistake("count", "part is counted twice", _scaled(_sizes(2.0, 1.0, 2.0))),
        Mistake("count", "half of the part is missing", _scaled(_sizes(0.5, 1.0, 0.5))),
        *_units(),
        *_single_numbers(),
    ]
    names = tuple(_PRODUCTS)
    for order in permutations(names):
        if order != names:
            found.append(Mistake("order", f"columns Ixy, Ixz, Iyz hold {', '.join(order)}", _reordered(order)))
    for letters, signs in product(permutations("xyz"), product(("", "-"), repeat=3)):
        axes = tuple(sign + letter for sign, letter in zip(signs, letters, strict=True))
        if np.linalg.det(_rotation(axes)) > 0 and axes != ("x", "y", "z"):  # rotations of a cube beside the identity
            said = f"frame is turned: its x, y, z are the link's {', '.join(axes)}"
            found.append(_reframed("axes", said, partial(_turned_link, Pose(_rotation(axes), np.zeros(3)))))
    for letter, signs in zip("xyz", -2.0 * np.eye(3) + 1.0, strict=True):
        products = [signs[0] * signs[1], signs[0] * signs[2], signs[1] * signs[2]]
        mirrored = np.array([1.0, *signs, 1.0, *products[:2], 1.0, products[2], 1.0])
        found.append(Mistake("mirror", f"part is mirrored: its {letter} is the link's -{letter}", _scaled(mirrored)))
    frames: dict[str, Frame] = {
        "the parent": lambda robot, link: robot.joints[link].pose(0.0),
        "the base": lambda robot, link: robot.poses(np.zeros(robot.n))[link],
    }
    for name, seen in frames.items():
        found.append(Mistake("frame", f"centre of mass is measured from {name}'s origin", _other_origin(seen)))
    for name, seen in frames.items():
        of = f"{name} link" if name == "the parent" else name
        found.append(_reframed("frame", f"centre and tensor are in the frame of {of} at zero posture", seen))
    return tuple(found)


def _units() -> list[Mistake]:
    """Return units taken for others: of mass, of length, of both together, and of the moments of inertia alone.

    Their names say by how much numbers are off: kg read as g may as well be t read as kg, whichever a table declares.
    """
    mass = {"kg": 1.0, "g": 1e-3, "lb": _LB}
    length = {"m": 1.0, "mm": 1e-3, "inches": _IN, "cm": 1e-2}
    found: list[tuple[float, float, float, str]] = []
    for is_, said in product(mass, mass):
        if is_ != said:
            f = mass[said] / mass[is_]
            found.append((f, 1.0, f, f"mass and inertia are {_times(f)}, as {is_} read as {said}"))
            found.append((f, 1.0, 1.0, f"mass is {_times(f)}, as {is_} read as {said}"))
    for is_, said in product(length, length):
        if is_ != said:
            f = length[said] / length[is_]
            found.append((1.0, f, f * f, f"lengths in centre and inertia are {_times(f)}, as {is_} read as {said}"))
            found.append((1.0, f, 1.0, f"centre is {_times(f)}, as {is_} read as {said}"))
    for small, short in (("g", "mm"), ("lb", "inches")):
        f, g = 1.0 / mass[small], 1.0 / length[short]
        own, si = f"{small} and {short}", "kg and m"
        found.append((f, g, f * g * g, f"all numbers are {own} read as {si}"))
        found.append((1 / f, 1 / g, 1 / (f * g * g), f"all numbers are {si} read as {own}"))
    for f in (1e3, 1e6, 1e9, 1.0 / _LB, _IN**-2, _IN**-2 / _LB):
        found += [(1.0, 1.0, x, f"moments of inertia are {_times(x)}") for x in (f, 1.0 / f)]
    distinct: dict[tuple[float, ...], Mistake] = {}
    for *factors, name in found:  # "mm where m" and "m where km" are one and the same: the first name stays
        thousands = all(abs(math.log10(f) % 3 - 1.5) > 1.4 for f in factors)
        made = Mistake("unit", name, _scaled(_sizes(*factors)), weight=1.0 if thousands else _RARE)
        distinct.setdefault(tuple(float(f"{x:.9g}") for x in factors), made)
    return list(distinct.values())


def _times(factor: float) -> str:
    """Return by how much numbers are off, in words."""
    return f"{max(factor, 1.0 / factor):.6g} times too {'large' if factor > 1.0 else 'small'}"


def _single_numbers() -> list[Mistake]:
    """Return one number with its decimal point elsewhere (a comma, mm for m), or one coordinate with the other sign."""
    found = []
    for k, number in ((0, "mass"), (1, "cx"), (2, "cy"), (3, "cz"), (4, "Ixx"), (7, "Iyy"), (9, "Izz")):
        for factor in (10.0, 100.0, 1e3)[: 3 if k else 2]:  # a mass a thousand times off is in g
            for power, way in ((1.0, "large"), (-1.0, "small")):
                sizes = np.where(np.arange(10) == k, factor**power, 1.0)
                found.append(Mistake("number", f"{number} is {factor:g} times too {way}", _scaled(sizes)))
        if 0 < k < 4:
            found.append(Mistake("number", f"{number} has the other sign", _scaled(1.0 - 2.0 * np.eye(10)[k])))
    return found


def _sizes(mass: float, length: float, inertia: float) -> Array:
    return np.array([mass, *[length] * 3, *[inertia] * 6])


def _scaled(sizes: Array) -> Change:
    """Return the change that prints numbers so many times (10,) too large."""
    return lambda body, link, setting, power: np.asarray(body * sizes**power)


def _other_point(body: Array, link: int, setting: Setting, way: int) -> Array:
    given = setting.about_origin == (way > 0)
    return natural(inertials_of(body, given), not given)


def _reordered(order: Sequence[str]) -> Change:
    """Return the change that puts the products named into the columns for Ixy, Ixz, Iyz."""

    def change(body: Array, link: int, setting: Setting, way: int) -> Array:
        right, printed = list(_PRODUCTS.values()), [_PRODUCTS[name] for name in order]
        to, from_ = (right, printed) if way > 0 else (printed, right)
        out = body.copy()
        out[to] = body[from_]
        return out

    return change


def _other_origin(seen: Frame) -> Change:
    """Return the change that measures the centre alone from another frame's origin, along the link's axes."""

    def change(body: Array, link: int, setting: Setting, way: int) -> Array:
        pose = seen(setting.robot, link)
        return np.concatenate([body[:1], body[1:4] + way * pose.rotation.T @ pose.position, body[4:]])

    return change


def _reframed(kind: str, name: str, seen: Frame) -> Mistake:
    """Return the mistake of centre and tensor given in another frame."""

    def change(body: Array, link: int, setting: Setting, way: int) -> Array:
        pose = seen(setting.robot, link)
        moved = transformed(inertials_of(body, setting.about_origin), pose if way > 0 else pose.inverse())
        return natural(moved, setting.about_origin)

    return Mistake(kind, name, change, seen)


def _rotation(axes: Sequence[str]) -> Array:
    """Return the matrix (3, 3) to the axes from the link's, such as ("y", "-x", "z")."""
    out = np.zeros((3, 3))
    for row, axis in enumerate(axes):
        out[row, "xyz".index(axis[-1])] = -1.0 if axis[0] == "-" else 1.0
    return out


def _turned_link(turn: Pose, robot: Robot, link: int) -> Pose:
    return turn


def natural(inertials: Array, about_origin: bool) -> Array:
    """Return m, c and the tensor about the declared point (..., 10) of inertials (..., 10)."""
    m = inertials[..., :1]
    c = np.divide(inertials[..., 1:4], m, out=np.zeros_like(inertials[..., 1:4]), where=m != 0)
    return np.concatenate([m, c, inertials[..., 4:] - (0.0 if about_origin else m * _shift(c))], axis=-1)


def inertials_of(numbers: Array, about_origin: bool) -> Array:
    """Return the ten inertials (..., 10) of bodies as they are printed (..., 10)."""
    m, c = numbers[..., :1], numbers[..., 1:4]
    return np.concatenate([m, m * c, numbers[..., 4:] + (0.0 if about_origin else m * _shift(c))], axis=-1)


def _shift(c: Array) -> Array:
    """Return what a tensor about the origin has more than about the centre (..., 3), per mass: xx xy xz yy yz zz."""
    x, y, z = c.tolist() if c.ndim == 1 else c.T  # numbers of one body are quicker than arrays
    xx, yy, zz = x * x, y * y, z * z
    return np.array([yy + zz, -x * y, -x * z, xx + zz, -y * z, xx + yy]).T
