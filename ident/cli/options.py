"""Options that commands share, and how options are written down.

`name: Annotated[kind, "help", "--other-name WORD"]` is an option: the second text, which may be left out, gives other
names and the word for its value. A parameter that is a dataclass stands for one option for each such field of it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer

from ident.errors import InputError
from ident.files import names_folder

if TYPE_CHECKING:
    from ident.arrays import Array
    from ident.robot import Robot

ExperimentPath = Annotated[
    Path, typer.Argument(metavar="EXPERIMENT", help="Folder of an experiment, or its .toml file")
]
EstimatePath = Annotated[
    Path, typer.Argument(metavar="ESTIMATE", help="estimate.json that `run` or `fit` wrote, or its folder")
]
RobotPath = Annotated[Path, typer.Argument(metavar="ROBOT", help="Robot (.urdf, .toml)")]


#: What options that take a posture or a speed of every joint want.
JOINT_NUMBERS = "one number per joint, such as '30 30 -30 30 30 deg' or '30 deg 0.2 m'; rad and m without a unit"
_SCALES = {"": 1.0, "deg": math.pi / 180, "rad": 1.0, "mm": 1e-3, "m": 1.0}  # to SI; mm is looked for before m


def out_option(name: str, about: str = "File to write") -> Any:
    """Return the option --out of a file, called `name` where a folder is given."""
    return typer.Option("--out", "-o", parser=file_out(name), metavar="PATH", help=about)


def file_out(name: str) -> Callable[[str], Path]:
    """Return what reads an --out for one file: itself, or `name` in the folder that it names."""
    return lambda out: Path(out) / name if names_folder(out) else Path(out)


def spelt_out(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the signature that typer reads: see this module."""
    hints = get_type_hints(command, include_extras=True)
    found: list[Parameter] = []
    groups: dict[str, tuple[type, list[str]]] = {}
    for p in signature(command).parameters.values():
        group = hints[p.name]
        if not (isinstance(group, type) and is_dataclass(group)):
            found.append(p.replace(annotation=_option(group), kind=Parameter.KEYWORD_ONLY))
            continue
        own = get_type_hints(group, include_extras=True)
        asked = [f for f in fields(group) if get_origin(own[f.name]) is Annotated]
        groups[p.name] = group, [f.name for f in asked]
        found += [
            Parameter(f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=_option(own[f.name])) for f in asked
        ]

    @functools.wraps(command)
    def wrapped(*first: Any, **given: Any) -> None:
        given |= {p.name: value for p, value in zip(found, first, strict=False)}
        for name, (group, keys) in groups.items():
            given[name] = group(**{key: given.pop(key) for key in keys})
        command(**given)

    wrapped.__signature__ = Signature(found)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in found}
    return wrapped


def _option(hint: Any) -> Any:
    kind, *about = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if not about or not isinstance(about[0], str):
        return hint
    words = about[1].split() if about[1:] else []
    names = [word for word in words if word.startswith("-")]
    value = next((word for word in words if word not in names), None)
    return Annotated[kind, typer.Option(*names, help=about[0], metavar=value)]


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
        raise InputError(
            f"'{text}' is not {robot.n} finite numbers, one for each of {', '.join(robot.joint_names)}", key=key
        )
    for joint, unit in zip(robot.joints, units, strict=True):
        if unit and (unit in ("deg", "rad")) == joint.slides:
            moves = "slides" if joint.slides else "turns"
            problem = f"{joint.name} {moves}, and '{unit}' is no unit of that"
            raise InputError(problem, key=key, fix=f"Give {JOINT_NUMBERS}")
    return np.array([x * _SCALES[unit] for x, unit in zip(numbers, units, strict=True)])
