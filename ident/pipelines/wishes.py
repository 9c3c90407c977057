"""What may be asked of the pipelines that take many words. Each field says what it is, which is also its help on the
command line, where an underscore is a hyphen; a second text gives another name or a word for the value there. Of some
that have a number for each joint a text is read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ident.errors import InputError

if TYPE_CHECKING:
    from ident.arrays import Array
    from ident.robot import Robot

Products = Annotated[
    str | None, "Sign of the printed products, where it is known: 'tensor' (-integral of x y dm) or 'positive'"
]
Frames = Annotated[
    Path | None,
    "Where the CAD output frames stand in their link frames, .toml: under \\[LINK] position = [0, 0, 0.1] (m)"
    " and rpy = [0, 0, 1.57] (rad, fixed axes); what is left out is 0",
]


@dataclass(frozen=True)
class Sharing:
    """Who reads and compresses logs: this process, processes beside it, or the workers of a Dask scheduler."""

    workers: Annotated[int | None, "Processes on this machine that share the logs; needs Dask", "N"] = None
    scheduler: Annotated[str | None, "Dask scheduler whose workers share them: tcp://HOST:8786", "ADDRESS"] = None


@dataclass(frozen=True)
class CadWishes:
    """Which CAD numbers are held against which logs."""

    cad: Annotated[
        Path | None, "Report, folder of reports, or table; without: the experiment's, or the robot's own"
    ] = None
    products: Products = None
    frames: Frames = None
    tolerance: Annotated[
        float | None, "How far right CAD numbers may be off, a share; learnt from the logs if left out"
    ] = None
    fit: Annotated[
        Path | None, "What `ident run` wrote (folder or estimate.json), instead of reading the logs again"
    ] = None


@dataclass(frozen=True)
class RefineWishes:
    """How a CAD table is refined; where a tolerance is left out, it is as the doctor has learnt it."""

    way: Annotated[str, "weighted (by the tolerance), data-first, or cross-validated (over recordings)"] = "weighted"
    mass_tolerance: Annotated[float | None, "How far masses may be off, a share, such as 0.02"] = None
    centre_tolerance: Annotated[float | None, "How far centres of mass may be off along each axis \\[mm]"] = None
    tensor_tolerance: Annotated[float | None, "How far tensors about the centre may be off, a share"] = None


@dataclass(frozen=True)
class PayloadWishes:
    """How a load is identified, and for which controller."""

    frame: Annotated[str | None, "Frame that the load is told in: a link, or one fixed to it (flange)"] = None
    flange: Annotated[str | None, "Frame that is the flange, which calls need; else the robot file's"] = None
    against: Annotated[Path | None, "Robot as identified, instead of a fit", "ESTIMATE"] = None
    known_mass: Annotated[float | None, "Mass of the load: finds the drive gains", "KG"] = None
    gain_error: Annotated[float, "Standard error of the drive gains", "PERCENT"] = 0.0
    own: Annotated[list[str] | None, "Joint term, such as offset, with other values under load", "TERM"] = None
    validate: Annotated[list[str] | None, "Recording with the load, held out", "RECORDING"] = None
    form: Annotated[str | None, "Controller to write the call for: ur, franka ...", "--format FORMAT"] = None


@dataclass(frozen=True)
class ExportWishes:
    """How identified parameters are exported."""

    robot: Annotated[Path | None, "Robot that was identified (.urdf, .xml, .toml); urdf, mjcf: its file is edited"] = (
        None
    )
    edit: Annotated[Path | None, "URDF, MJCF or SDF whose numbers are exchanged, the rest kept"] = None
    unvalidated: Annotated[bool, "Export although no validation passed, and say so in the file", "--unvalidated"] = (
        False
    )
    date: Annotated[str | None, "Date in the file's head, instead of today's"] = None


@dataclass(frozen=True)
class MoveWishes:
    """What motions at rest or at constant speed keep to."""

    acceleration: Annotated[
        float | None, "Acceleration, where below the joint's limit \\[rad/s^2; m/s^2]; without both: top speed in 0.5 s"
    ] = None
    margin: Annotated[float, "Kept from both ends of every range \\[rad; m]"] = 0.0
    cad: Annotated[Path | None, "CAD table for the torque limits; without: the robot's own numbers"] = None
    torque_margin: Annotated[float, "Of torque limits: share kept free, such as 0.05"] = 0.0
    scene: Annotated[Path | None, "scene.toml: what must not touch on the whole way"] = None
    rate: Annotated[float, "Rate of the file \\[Hz]"] = 100.0


@dataclass(frozen=True)
class PostureWishes:
    """Of a tour of postures at rest."""

    number: Annotated[int, "How many postures", "--number -n"] = 30
    hold: Annotated[float, "Time at each posture \\[s]"] = 1.0
    velocity: Annotated[float | None, "Velocity, where below the joint's limit \\[rad/s; m/s]"] = None
    seed: Annotated[int, "Of the candidates"] = 0


_KEPT = "share kept free, such as 0.05"


@dataclass(frozen=True)
class ExciteWishes:
    """Which motion shall make parameters identifiable; None: chosen from the robot.

    noise: standard deviation of the measured torques, one number or one per joint [N m; N].
    start, end: postures (n,) [rad; m], at rest; without `end` the motion ends where it starts.
    """

    cad: Annotated[Path | None, "CAD table for the torque limits; without: the robot's own numbers"] = None
    scene: Annotated[Path | None, "scene.toml: what must not touch"] = None
    after: Annotated[Path | None, "Add to what this experiment's logs tell", "EXPERIMENT"] = None
    estimate: Annotated[
        Path | None, "Torques of this estimate; without: of the one in the results of --after, else CAD's", "ESTIMATE"
    ] = None
    decide: Annotated[
        bool, "With --after: the motion that tells two causes apart which `ident doctor` cannot", "--decide"
    ] = False
    duration: Annotated[float, "Length of one period \\[s]"] = 10.0
    harmonics: Annotated[int | None, "Harmonics of the Fourier series; without: 5"] = None
    criterion: Annotated[str, "d, a, e, condition, scaled-condition or worst-error"] = "d"
    noise: tuple[float, ...] | None = None
    start: tuple[float, ...] | None = None
    end: tuple[float, ...] | None = None
    position_margin: Annotated[float, "Kept from both ends of every range \\[rad; m]"] = 0.0
    rate_margin: Annotated[float, f"Of velocity, acceleration and jerk limits: {_KEPT}"] = 0.0
    torque_margin: Annotated[float, f"Of torque and power limits: {_KEPT}"] = 0.0
    power: Annotated[float | None, "Limit of the joints' total power \\[W]"] = None
    rate: Annotated[float, "Rate of the sampled files, the controller's \\[Hz]"] = 100.0
    log_rate: Annotated[
        float | None, "Torque readings per second \\[Hz]; without: --rate, or that of --after's logs"
    ] = None
    periods: Annotated[int, "How often the motion is played"] = 1
    friction: Annotated[bool, "With viscous and Coulomb friction and an offset per joint"] = True
    drive_inertia: Annotated[bool, "With the inertia of each joint's drive"] = False
    starts: Annotated[int, "Random motions to start from"] = 10
    seconds: Annotated[float, "Time budget of the search \\[s]"] = 60.0
    seed: Annotated[int | None, "Of the random motions"] = None
    resume: Annotated[Path | None, "Go on from this trajectory.json", "TRAJECTORY"] = None

    @property
    def order(self) -> int:
        """Number of harmonics of the Fourier series."""
        return 5 if self.harmonics is None else self.harmonics


#: What options that take a posture or a speed of every joint want.
JOINT_NUMBERS = "one number per joint, such as '30 30 -30 30 30 deg' or '30 deg 0.2 m'; rad and m without a unit"
_SCALES = {"": 1.0, "deg": math.pi / 180, "rad": 1.0, "mm": 1e-3, "m": 1.0}  # to SI; mm is looked for before m


def numbers(text: str, key: str, fix: str) -> tuple[float, ...]:
    """Return the numbers of a list such as "0.1, 2"; InputError names the option."""
    try:
        return tuple(float(word) for word in text.replace(",", " ").split())
    except ValueError:
        raise InputError(f"'{text}' is no list of numbers", key=key, fix=fix) from None


def joint_numbers(text: str | None, robot: Robot, key: str) -> Array:
    """Return what an option says of every joint (n,), in rad or m; zeros without a text. Raises InputError."""
    import numpy as np

    if text is None:
        return np.zeros(robot.n)
    words = text.replace(",", " ").split()
    numbers: list[float] = []
    units: list[str] = []
    for word in words:
        unit = next((name for name in _SCALES if name and word.endswith(name)), "")
        number = word.removesuffix(unit)
        try:
            numbers += [float(number)] if number else []
        except ValueError:
            raise InputError(f"'{text}' is no list of numbers", key=key, fix=f"Give {JOINT_NUMBERS}") from None
        if number:
            units.append(unit)
        else:  # a unit by itself is that of all numbers before it that have none
            units = [given or unit for given in units]
    if len(numbers) != robot.n or not np.isfinite(numbers).all():
        problem = f"'{text}' is not {robot.n} finite numbers, one for each of {', '.join(robot.joint_names)}"
        raise InputError(problem, key=key)
    for joint, unit in zip(robot.joints, units, strict=True):
        if unit and (unit in ("deg", "rad")) == joint.slides:
            moves = "slides" if joint.slides else "turns"
            problem = f"{joint.name} {moves}, and '{unit}' is no unit of that"
            raise InputError(problem, key=key, fix=f"Give {JOINT_NUMBERS}")
    return np.array([x * _SCALES[unit] for x, unit in zip(numbers, units, strict=True)])


def noise_of(text: str, robot: Robot) -> tuple[float, ...]:
    """Return one number, or one per joint."""
    values = numbers(text, "--noise", "Such as 0.1, or '1 1 0.5'")
    if not all(0 < x < math.inf for x in values):
        raise InputError(f"'{text}' are no standard deviations", key="--noise", fix="Give positive numbers")
    if len(values) not in (1, robot.n):
        raise InputError(f"'{text}' is not one number, nor {robot.n}", key="--noise", fix="Give one number per joint")
    return values
