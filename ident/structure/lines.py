"""Joint terms as the lines of [model] that ask for them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ident.model.term import Term, numbers


def lines(terms: Sequence[Term]) -> tuple[str, ...]:
    """Return one line for each kind of terms, such as `stribeck = { speed = 0.1 }`, in their order."""
    kinds: dict[str, list[Term]] = {}
    for term in terms:
        kinds.setdefault(term.kind.key, []).append(term)
    return tuple(f"{key} = {_value(same)}" for key, same in kinds.items())


def _value(terms: Sequence[Term]) -> str:
    if not any(map(numbers, terms)):
        everywhere = any(term.joints is None for term in terms)
        return "true" if everywhere else _names([j for term in terms for j in term.joints or ()])
    tables = [_table(term) for term in terms]
    return tables[0] if len(tables) == 1 else f"[{', '.join(tables)}]"


def _table(term: Term) -> str:
    default = {f.name: f.default for f in dataclasses.fields(term)}  # type: ignore[arg-type]
    given = [f"{name} = {getattr(term, name):g}" for name in numbers(term) if getattr(term, name) != default[name]]
    given += [] if term.joints is None else [f"joints = {_names(term.joints)}"]
    return f"{{ {', '.join(given)} }}" if given else "true"


def _names(joints: Sequence[str]) -> str:
    quoted = ", ".join(f'"{joint}"' for joint in joints)
    return f"[{quoted}]"
