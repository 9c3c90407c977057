"""A load at the flange as it is written for controllers: rounded by its error bars, and still a body that can exist.

The calls themselves, and where each is documented, are the macros of `payload_calls.j2`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array, frozen
from ident.errors import EstimationError, InfeasibleError, InputError
from ident.export.text import comment, templates
from ident.robot.robot import Robot, declared_flange, moving_frame
from ident.robot.urdf_write import com_numbers
from ident.spatial.inertia import principal_axes, roll_pitch_yaw, symmetric, tensor_can_exist, transformed, upper

if TYPE_CHECKING:
    from ident.payload.payload import IdentifiedPayload

Places = NDArray[np.int64]
#: Places after the point [kg, m, kg m^2] where no standard error is known.
PLACES = (4, 5, 6)
_MOST = 12
#: Share of its standard error below which an inertia is written as that of a point.
POINT = 1e-4


@dataclass(frozen=True, eq=False)
class Payload:
    """Mass [kg], centre (3,) [m] and tensor about the centre (3, 3) [kg m^2] of a load, all in the FLANGE's axes.

    flange: name of its frame. *_error: standard errors of mass, centre (3,) and tensor (3, 3), None where they are not
    known; validation: what the file says of it; origin: lines on where this comes from. Raises InputError for wrong
    shapes, InfeasibleError for a body that cannot exist (exact check).
    """

    mass: float
    com: Array
    inertia: Array
    flange: str
    mass_error: float | None = None
    com_error: Array | None = None
    inertia_error: Array | None = None
    validation: str = "WARNING: NOT VALIDATED on a held-out recording with the load."
    origin: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", float(frozen(self.mass, (), "mass")))
        object.__setattr__(self, "com", frozen(self.com, (3,), "centre of mass"))
        object.__setattr__(self, "inertia", frozen(self.inertia, (3, 3), "inertia"))
        if np.abs(self.inertia - self.inertia.T).max() > 1e-12 * np.abs(self.inertia).max():
            raise InputError("the inertia is not symmetric", fix="Give all nine entries of the tensor")
        if self.mass <= 0:
            raise InfeasibleError(f"a load of {self.mass:g} kg cannot exist, so nothing was exported")
        if not tensor_can_exist(upper(self.inertia)):
            a, b, c = np.linalg.eigvalsh(self.inertia)
            raise InfeasibleError(
                f"a load with principal moments {a:.4g}, {b:.4g}, {c:.4g} kg m^2 cannot exist, so nothing was exported"
            )

    def places(self) -> tuple[int, Places, Places]:
        """Return how many places after the point mass [kg], centre (3,) [m] and tensor (3, 3) [kg m^2] deserve.

        The last one of each number is worth at most a tenth of its own standard error; PLACES where none is known. A
        mass that would become zero gets more.
        """
        at_mass = int(_places(self.mass_error, PLACES[0], ()))
        while round(self.mass, at_mass) <= 0:
            at_mass += 1
        return at_mass, _places(self.com_error, PLACES[1], (3,)), _places(self.inertia_error, PLACES[2], (3, 3))


@dataclass(frozen=True, eq=False)
class Rounded:
    """A load with the digits that are written: mass [kg], centre (3,) [m], tensor (3, 3) [kg m^2].

    at_mass, at_com (3,), at_inertia (3, 3): decimal places of each.
    """

    mass: float
    com: Array
    inertia: Array
    at_mass: int
    at_com: Places
    at_inertia: Places


def payload_of(body: ArrayLike, flange: str, origin: tuple[str, ...] = ()) -> Payload:
    """Return the load of ten parameters about the flange's origin (10,); raises InfeasibleError."""
    mass, com, about_com = com_numbers(body)
    return Payload(mass, np.array(com), symmetric(about_com), flange, origin=origin)


def identified_load(
    found: IdentifiedPayload,
    robot: Robot,
    flange: str | None = None,
    *,
    gain_error: float = 0.0,
    validation: str = Payload.validation,
    origin: tuple[str, ...] = (),
) -> Payload:
    """Return an identified load with its standard errors, seen from the flange.

    flange: name of its frame, a link or a frame fixed to one; without, the one that the robot declares. gain_error:
    relative standard error of the drive gains. Raises InputError where no flange is declared or another link carries
    it, EstimationError where the recordings do not determine one of the load's numbers.
    """
    name = declared_flange(robot, flange)
    link, pose = moving_frame(robot, name)
    if robot.links[link] != found.link:
        problem = f"the load was identified on '{found.link}', and the flange '{name}' belongs to '{robot.links[link]}'"
        raise InputError(problem, key="--flange")
    figures = found.at(pose, gain_error=gain_error)
    known = [figures.mass_error, *figures.com_error, *figures.inertia_error.ravel()]
    if not np.isfinite(known).all():
        what = "mass" if not np.isfinite(known[0]) else "centre" if not np.isfinite(known[:4]).all() else "inertia"
        raise EstimationError(
            f"the recordings do not determine the load's {what}, so no call was written. Give motions that"
            " turn the load about all axes, or a load that can be felt."
        )
    load = payload_of(transformed(found.body, pose.inverse()), name, origin)
    inertia = load.inertia
    if np.abs(inertia).max() < POINT * np.abs(figures.inertia_error).max():
        inertia = np.zeros((3, 3))  # the digits that are left are the solver's
    return replace(
        load,
        inertia=inertia,
        mass_error=None if found.known_mass else figures.mass_error,
        com_error=figures.com_error,
        inertia_error=figures.inertia_error,
        validation=validation,
    )


def rounded(load: Payload) -> Rounded:
    """Return the load with as many digits as it deserves and as many more as it needs to exist as written."""
    at_mass, at_com, at_inertia = load.places()
    inertia, at_inertia = _digits(_told_apart(load), at_inertia)
    return Rounded(round(load.mass, at_mass), _round(load.com, at_com), inertia, at_mass, at_com, at_inertia)


def rounded_principal(load: Payload) -> tuple[Rounded, Array, Array]:
    """Return the load's rounded mass and centre, rounded principal moments (3,) and their axes (3, 3), det +1.

    The rounded load's tensor is that of the moments, in their own axes.
    """
    error = load.inertia_error
    moments, axes = principal_axes(_told_apart(load))
    # of the moment a^T I a about an axis a, as if the errors of the entries of I were independent
    own = None if error is None else np.sqrt(np.einsum("ik,jk,ij->k", axes**2, axes**2, np.square(error)))
    diagonal, at_inertia = _digits(np.diag(moments), np.diag(_places(own, PLACES[2], (3,))))
    at_mass, at_com, _ = load.places()
    found = Rounded(round(load.mass, at_mass), _round(load.com, at_com), diagonal, at_mass, at_com, at_inertia)
    return found, np.diag(diagonal).copy(), axes


def _told_apart(load: Payload) -> Array:
    """Return the tensor (3, 3) that every vendor gets: its products of inertia zero where none differs from zero."""
    return np.diag(np.diag(load.inertia)) if _no_products(load) else load.inertia


def _no_products(load: Payload) -> bool:
    """Return whether all three products of inertia are within their standard errors."""
    error = load.inertia_error
    return error is not None and bool((np.abs(load.inertia) <= np.asarray(error))[[0, 0, 1], [1, 2, 2]].all())


def decimal(value: float, places: int) -> str:
    """Return a number with so many places after the point, without exponent and without -0."""
    return f"{round(float(value), places) + 0.0:.{max(places, 0)}f}"


def decimals(values: ArrayLike, places: ArrayLike) -> str:
    """Return numbers with so many places after the point: one for all or one each."""
    numbers = np.asarray(values)
    each = np.broadcast_to(np.asarray(places), numbers.shape)
    return ", ".join(decimal(float(v), int(p)) for v, p in zip(numbers.ravel(), each.ravel(), strict=True))


def _places(error: ArrayLike | None, otherwise: int, shape: tuple[int, ...]) -> Places:
    sizes = np.full(shape, np.nan) if error is None else np.broadcast_to(np.asarray(error, dtype=np.float64), shape)
    known = np.isfinite(sizes) & (sizes > 0)
    needed = 1.0 + np.ceil(-np.log10(np.where(known, sizes, 1.0)))
    return np.asarray(np.where(known, np.clip(needed, 0, _MOST), otherwise).astype(np.int64))


def _round(values: Array, places: Places) -> Array:
    rounds = [round(float(v), int(p)) + 0.0 for v, p in zip(values.ravel(), places.ravel(), strict=True)]
    return np.array(rounds).reshape(values.shape)


def _digits(inertia: Array, places: Places) -> tuple[Array, Places]:
    """Return a tensor rounded so that the body can still exist, with as many more places in all entries as it takes."""
    for more in range(_MOST + 1):
        at = np.minimum(places + more, _MOST)
        found = _round(inertia, at)
        if tensor_can_exist(upper(found)) and (found.any() or not inertia.any()):
            return found, at
    raise InfeasibleError(f"no rounding of the inertia to {_MOST} places can exist, so nothing was exported")


def payload_call(vendor: str, load: Payload) -> str:
    """Return a whole file for a vendor's controller, one of the macros of `payload_calls.j2`."""
    known = templates(keep_trailing_newline=True)
    known.filters |= {"decimal": decimal, "decimals": decimals}
    shown = {
        "about": _about,
        "rounded": rounded,
        "rounded_principal": rounded_principal,
        "millimetres": lambda r, least=1: decimals(1e3 * r.com, np.maximum(r.at_com - 3, least)).split(", "),
        "angles": lambda axes: np.degrees(roll_pitch_yaw(axes)),
    }
    macros = known.get_template("payload_calls.j2").make_module(shown)
    return str(getattr(macros, vendor)(load))


def _about(load: Payload, mark: str, products: bool = False) -> str:
    """Return the lines at the head of a payload file: frame, origin, error bars.

    products: whether the file has a place for products of inertia, or for axes that stand for them.
    """
    bars = []
    if load.mass_error is not None:
        bars.append(f"mass {load.mass_error:.2g} kg")
    if load.com_error is not None:
        bars.append(f"centre {', '.join(f'{x:.2g}' for x in load.com_error)} m")
    if load.inertia_error is not None:
        bars.append(f"Ixx Ixy Ixz Iyy Iyz Izz {', '.join(f'{x:.2g}' for x in upper(load.inertia_error))} kg m^2")
    known = f"Standard errors: {'; '.join(bars)}." if bars else "Standard errors: not known."
    where = f"Load seen from the flange, which is the frame '{load.flange}'; written by ident."
    rule = "Products of inertia: as they are; they count as zero where all three are within their standard errors."
    if _no_products(load):
        rule = "Products of inertia: zero, for all three are within their standard errors."
    return "\n".join(comment((where, *load.origin, load.validation, known, *([rule] if products else [])), mark))
