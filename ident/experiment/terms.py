"""The table [model] of an experiment file: a key for each kind of `ident.model.TERMS`, with the fields of its terms."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, create_model
from pydantic import Field as Key

from ident.errors import ConfigError, ModelError
from ident.model.term import Term, numbers, required
from ident.model.terms import TERMS

_Joints = Annotated[bool | tuple[str, ...], Key(description="true, false, or a list of joint names")]
_Names = Annotated[
    tuple[Annotated[str, Key(min_length=1)], ...], Key(description="a list of names, each once")
]  # fmt: skip


def _by_key() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for term in TERMS:
        found.setdefault(term.kind.key, []).append(term)
    return found


def model_table(base: type[BaseModel]) -> Any:
    """Return the schema of [model]: true, false or joints for a term without numbers of its own, tables for others."""
    found: dict[str, Any] = {}
    for key, laws in _by_key().items():
        kind = laws[0].kind
        if not any(map(numbers, laws)):
            found[key] = (_Joints, kind.standard)
            continue
        fields = {f.name: f for law in laws for f in dataclasses.fields(law)}
        needed = len(laws) == 1 and any(required(f) for f in fields.values())
        names = [x for law in laws for x in numbers(law)]
        values: dict[str, Any] = {name: _number(fields[name], needed) for name in names}
        values["joints"] = (_Names | None, None)
        values |= {
            x: (Annotated[bool, Key(**fields[x].metadata)], fields[x].default)
            for law in laws
            for x in numbers(law, "bool")
        }
        table = create_model(f"_{key}", __base__=base, **values)
        example = kind.example or f"{{ {', '.join(f'{name} = ...' for name in names)} }}"
        said = f"{'' if needed else 'true, false, '}a table such as {example}, or a list of such tables"
        hint = Annotated[tuple[table, ...], BeforeValidator(_tables), Key(description=said)]  # type: ignore[valid-type]
        found[key] = (hint, (table(),) if kind.standard else ())
    found["coupled_drives"] = (Annotated[bool, Key(description="true or false")], False)
    return create_model("_Model", __base__=base, **found)


def _number(f: dataclasses.Field[Any], needed: bool) -> tuple[Any, Any]:
    hint = Annotated[float, Key(**{"description": "a number", **f.metadata})]
    return (hint, ...) if needed and required(f) else (hint | None, None)


def _tables(value: Any) -> Any:
    """Read true as one plain table, false as none, a table as one."""
    if isinstance(value, bool):
        return ({},) if value else ()
    return (value,) if isinstance(value, dict) else value


def terms_of(model: Any, file: Path) -> tuple[Term, ...]:
    """Return the terms that [model] asks for, in the order of `TERMS`; ConfigError for numbers that no term takes."""
    found: list[Term] = []
    for key, laws in _by_key().items():
        value = getattr(model, key)
        if not any(map(numbers, laws)):
            found += [laws[0](joints=value if isinstance(value, tuple) else None)] if value else []
            continue
        for i, table in enumerate(value):
            place = f"model.{key}" if len(value) == 1 else f"model.{key}[{i + 1}]"
            found.append(_term(laws, table.model_dump(exclude_none=True), file, place))
    return tuple(found)


def _term(laws: list[Any], given: dict[str, Any], file: Path, place: str) -> Term:
    said = [name for law in laws for name in numbers(law) if name in given]
    for law in laws:
        needed = {f.name for f in dataclasses.fields(law) if required(f)}
        if needed <= set(said) <= set(numbers(law)):
            try:
                term: Term = law(**given)
            except ModelError as cause:
                raise ConfigError(cause.problem, file=file, key=place, fix=cause.fix) from None
            return term
    if len(said) > 1:
        raise ConfigError(f"has both {' and '.join(said)}", file=file, key=place, fix="Keep one of them")
    raise ConfigError(f"lacks one of {', '.join(x for law in laws for x in numbers(law))}", file=file, key=place)
