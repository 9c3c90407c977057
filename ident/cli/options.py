"""Options that commands share, and how options are written down.

`name: Annotated[kind, "help", "--other-name WORD"]` is an option: the second text, which may be left out, gives other
names and the word for its value. A parameter that is a dataclass stands for one option for each such field of it.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

ExperimentPath = Annotated[
    Path, typer.Argument(metavar="EXPERIMENT", help="Folder of an experiment, or its .toml file")
]
EstimatePath = Annotated[
    Path, typer.Argument(metavar="ESTIMATE", help="estimate.json that `run` or `fit` wrote, or its folder")
]
RobotPath = Annotated[Path, typer.Argument(metavar="ROBOT", help="Robot (.urdf, .toml)")]


def out_option(name: str, about: str = "File to write") -> Any:
    """Return the option --out of a file, called `name` where a folder is given."""
    return typer.Option("--out", "-o", parser=file_out(name), metavar="PATH", help=about)


def is_folder(out: str) -> bool:
    """Return whether --out names a folder: one that is there, or a name that ends with a slash."""
    return out.endswith(("/", os.sep)) or os.path.isdir(out)  # which is no error for a name that is too long


def file_out(name: str) -> Callable[[str], Path]:
    """Return what reads an --out for one file: itself, or `name` in the folder that it names."""
    return lambda out: Path(out) / name if is_folder(str(out)) else Path(out)


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
    def wrapped(**given: Any) -> None:
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
    from ident.errors import InputError

    try:
        return tuple(float(word) for word in text.replace(",", " ").split())
    except ValueError:
        raise InputError(f"'{text}' is no list of numbers", key=key, fix=fix) from None
