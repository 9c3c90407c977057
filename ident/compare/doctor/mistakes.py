"""The mistakes that CAD tables are known for, each a small value that can be made and undone.

A body is what a table prints of it: m, c and six entries of the tensor, about the centre or about the link's origin
as the table declares. `undone` returns what a body would be if the mistake had been made, `made` makes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product
from typing import Literal, Protocol

import numpy as np

from ident.arrays import Array
from ident.robot.robot import Robot
from ident.spatial.inertia import tensor
from ident.spatial.pose import Pose

_UPPER = ([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2])
_PRODUCTS = [5, 6, 8]  # Ixy, Ixz, Iyz among the ten numbers
_LB, _IN = 0.45359237, 0.0254


@dataclass(frozen=True, eq=False)
class Setting:
    """What a mistake may depend on: the robot, and the point that the table's tensors are about."""

    robot: Robot
    about_origin: bool


class Mistake(Protocol):
    """One mistake in the numbers of one body (10,)."""

    @property
    def kind(self) -> str:
        """One word for the family of mistakes."""
        ...

    def __str__(self) -> str:
        """Return what is wrong, in words."""
        ...

    def made(self, body: Array, link: int, setting: Setting) -> Array:
        """Return the body (10,) as a table with this mistake prints it."""
        ...

    def undone(self, body: Array, link: int, setting: Setting) -> Array:
        """Return the right body (10,) of one that is printed with this mistake."""
        ...


@dataclass(frozen=True)
class ProductSign:
    """Products of inertia with the other sign: +integral of x y dm taken for entries of the tensor, or the reverse."""

    kind = "sign"

    def __str__(self) -> str:
        return "products of inertia have the other sign"

    def made(self, body: Array, link: int, setting: Setting) -> Array:
        """Return the body as printed."""
        out = body.copy()
        out[_PRODUCTS] *= -1.0
        return out

    undone = made


@dataclass(frozen=True)
class TensorPoint:
    """The tensor is about the other point than the table declares."""

    kind = "point"

    def __str__(self) -> str:
        return "tensor is about the other point (link origin, centre of mass) than declared"

    def _shifted(self, body: Array, sign: float) -> Array:
        m, c = body[0], body[1:4]
        shift = m * (c @ c * np.eye(3) - np.outer(c, c))
        return np.concatenate([body[:4], body[4:] + sign * shift[_UPPER]])

    def made(self, body: Array, link: int, setting: Setting) -> Array:
        """Return the body as printed."""
        return self._shifted(body, -1.0 if setting.about_origin else 1.0)

    def undone(self, body: Array, link: int, setting: Setting) -> Array:
        """Return the right body."""
        return self._shifted(body, 1.0 if setting.about_origin else -1.0)


@dataclass(frozen=True)
class Units:
    """Numbers printed in other units: so many times too large as the declared ones make them."""

    mass: float
    length: float
    inertia: float
    name: str
    kind = "unit"

    def __str__(self) -> str:
        return self.name

    def _scaled(self, body: Array, power: int) -> Array:
        scale = np.array([self.mass, *[self.length] * 3, *[self.inertia] * 6])
        return np.asarray(body * scale**power)

    def made(self, body: Array, link: int, setting: Setting) -> Array:
        """Return the body as printed."""
        return self._scaled(body, 1)

    def undone(self, body: Array, link: int, setting: Setting) -> Array:
        """Return the right body."""
        return self._scaled(body, -1)


@dataclass(frozen=True)
class ProductOrder:
    """The columns for Ixy, Ixz, Iyz hold the products named `order`, such as ("Ixz", "Ixy", "Iyz")."""

    order: tuple[str, str, str]
    kind = "order"

    def __str__(self) -> str:
        return f"columns Ixy, Ixz, Iyz hold {', '.join(self.order)}"

    def made(self, body: Array, link: int, setting: Setting) -> Array:
        """Return the body as printed."""
        out = body.copy()
        out[_PRODUCTS] = body[[_PRODUCTS[_NAMES.index(name)] for name in self.order]]
        return out

    def undone(self, body: Array, link: int, setting: Setting) -> Array:
        """Return the right body."""
        out = body.copy()
        out[[_PRODUCTS[_NAMES.index(name)] for name in self.order]] = body[_PRODUCTS]
        return out


_NAMES = ("Ixy", "Ixz", "Iyz")


@dataclass(frozen=True)
class AxesRelabelled:
    """Centre and tensor are along other axes: those printed as x, y, z are the link's `axes`, such as ("y", "-x", "z").

    One of the 23 rotations of a cube beside the identity.
    """

    axes: tuple[str, str, str]
    kind = "axes"

    def __str__(self) -> str:
        return f"frame is turned: its x, y, z are the link's {', '.join(self.axes)}"

    @property
    def rotation(self) -> Array:
        """(3, 3): printed = rotation @ right."""
        out = np.zeros((3, 3))
        for row, axis in enumerate(self.axes):
            out[row, "xyz".index(axis[-1])] = -1.0 if axis[0] == "-" else 1.0
        return out

    def made(self, body: Array, link: int, setting: Setting) -> Array:
        """Return the body as printed."""
        return _turned(body, self.rotation)

    def undone(self, body: Array, link: int, setting: Setting) -> Array:
        """Return the right body."""
        return _turned(body, self.rotation.T)


@dataclass(frozen=True)
class OtherOrigin:
    """Only the centre of mass is measured from another frame's origin, along the link's axes, at zero posture."""

    origin: Literal["parent", "base"]
    kind = "frame"

    def __str__(self) -> str:
        where = "the parent's origin" if self.origin == "parent" else "the base's origin"
        return f"centre of mass is measured from {where}"

    def _moved(self, body: Array, link: int, setting: Setting, sign: float) -> Array:
        pose = _seen_from(setting.robot, link, self.origin)
        return np.concatenate([body[:1], body[1:4] + sign * pose.rotation.T @ pose.position, body[4:]])

    def made(self, body: Array, link: int, setting: Setting) -> Array:
        """Return the body as printed."""
        return self._moved(body, link, setting, 1.0)

    def undone(self, body: Array, link: int, setting: Setting) -> Array:
        """Return the right body."""
        return self._moved(body, link, setting, -1.0)


@dataclass(frozen=True)
class OtherFrame:
    """Centre and tensor are given in another frame, at zero posture."""

    frame: Literal["parent", "base"]
    kind = "frame"

    def __str__(self) -> str:
        where = "the parent link" if self.frame == "parent" else "the base"
        return f"centre and tensor are in the frame of {where} at zero posture"

    def made(self, body: Array, link: int, setting: Setting) -> Array:
        """Return the body as printed."""
        return _in_frame(body, _seen_from(setting.robot, link, self.frame), setting)

    def undone(self, body: Array, link: int, setting: Setting) -> Array:
        """Return the right body."""
        return _in_frame(body, _seen_from(setting.robot, link, self.frame).inverse(), setting)


@dataclass(frozen=True)
class Counted:
    """The part is counted `times` times: twice, or half of it is missing."""

    times: float
    kind = "count"

    def __str__(self) -> str:
        return "part is counted twice" if self.times > 1 else "half of the part is missing"

    def _scaled(self, body: Array, factor: float) -> Array:
        return np.asarray(body * np.array([factor, 1, 1, 1, *[factor] * 6]))

    def made(self, body: Array, link: int, setting: Setting) -> Array:
        """Return the body as printed."""
        return self._scaled(body, self.times)

    def undone(self, body: Array, link: int, setting: Setting) -> Array:
        """Return the right body."""
        return self._scaled(body, 1.0 / self.times)


def known_mistakes() -> tuple[Mistake, ...]:
    """Return every mistake that a single body's numbers can have."""
    found: list[Mistake] = [ProductSign(), TensorPoint(), Counted(2.0), Counted(0.5), *_units()]
    found += [ProductOrder(order) for order in permutations(_NAMES) if order != _NAMES]  # type: ignore[arg-type]
    for axes, signs in product(permutations("xyz"), product(("", "-"), repeat=3)):
        turned = AxesRelabelled(tuple(s + a for s, a in zip(signs, axes, strict=True)))  # type: ignore[arg-type]
        if np.linalg.det(turned.rotation) > 0 and turned.axes != ("x", "y", "z"):
            found.append(turned)
    found += [OtherOrigin("parent"), OtherOrigin("base"), OtherFrame("parent"), OtherFrame("base")]
    return tuple(found)


def _units() -> list[Units]:
    """Return units taken for others: of mass, of length, of both together, and of the moments of inertia alone."""
    mass = {"kg": 1.0, "g": 1e-3, "lb": _LB}
    length = {"m": 1.0, "mm": 1e-3, "in": _IN, "cm": 1e-2}
    found = []
    for is_, said in product(mass, mass):
        if is_ != said:
            f = mass[said] / mass[is_]
            found.append(Units(f, 1.0, f, f"mass and inertia are in {is_} where {said} is declared"))
            found.append(Units(f, 1.0, 1.0, f"mass is in {is_} where {said} is declared"))
    for is_, said in product(length, length):
        if is_ != said:
            f = length[said] / length[is_]
            found.append(Units(1.0, f, f * f, f"centre and inertia are in {is_} where {said} is declared"))
            found.append(Units(1.0, f, 1.0, f"centre is in {is_} where {said} is declared"))
    for small, short in (("g", "mm"), ("lb", "in")):
        f, g = 1.0 / mass[small], 1.0 / length[short]
        own, si = f"{small} and {short}", "kg and m"
        found.append(Units(f, g, f * g * g, f"all numbers are in {own} where {si} are declared"))
        found.append(Units(1 / f, 1 / g, 1 / (f * g * g), f"all numbers are in {si} where {own} are declared"))
    for f in (1e3, 1e6, 1e9, 1.0 / _LB, _IN**-2, _IN**-2 / _LB):
        found.append(Units(1.0, 1.0, f, f"moments of inertia are {f:.6g} times too large"))
        found.append(Units(1.0, 1.0, 1.0 / f, f"moments of inertia are {f:.6g} times too small"))
    distinct: dict[tuple[float, ...], Units] = {}
    for unit in found:  # "mm where m" and "m where km" are one and the same: the first name stays
        distinct.setdefault(tuple(float(f"{x:.9g}") for x in (unit.mass, unit.length, unit.inertia)), unit)
    return list(distinct.values())


def natural(parameters: Array, about_origin: bool) -> Array:
    """Return m, c and the tensor about the declared point (n, 10) of parameters (n, 10)."""
    return _about(parameters, -1.0, about_origin)


def parameters_of(bodies: Array, about_origin: bool) -> Array:
    """Return the ten parameters (n, 10) of bodies as they are printed (n, 10)."""
    return _about(bodies, 1.0, about_origin)


def _about(values: Array, sign: float, about_origin: bool) -> Array:
    """Return h for c, or c for h, and the tensor moved between centre and origin (sign 1: to the origin)."""
    out = values.copy()
    m = values[:, :1]
    if sign < 0:
        c = np.divide(values[:, 1:4], m, out=np.zeros((len(values), 3)), where=m != 0)
        out[:, 1:4] = c
    else:
        c = values[:, 1:4]
        out[:, 1:4] = m * c
    if not about_origin:
        shift = np.sum(c**2, axis=1)[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :]
        out[:, 4:] = values[:, 4:] + sign * m * shift[:, _UPPER[0], _UPPER[1]]
    return out


def _turned(body: Array, rotation: Array) -> Array:
    inertia = rotation @ tensor(body) @ rotation.T
    return np.concatenate([body[:1], rotation @ body[1:4], inertia[_UPPER]])


def _in_frame(body: Array, pose: Pose, setting: Setting) -> Array:
    """Return the body as printed in frame A; `pose` is its own frame seen from A."""
    central = natural(parameters_of(body[None], setting.about_origin), False)[0]
    turned = _turned(central, pose.rotation)
    turned[1:4] += pose.position
    return np.asarray(natural(parameters_of(turned[None], False), setting.about_origin)[0])


def _seen_from(robot: Robot, link: int, frame: Literal["parent", "base"]) -> Pose:
    if frame == "parent":
        return robot.joints[link].pose(0.0)
    return robot.poses(np.zeros(robot.n))[link]
