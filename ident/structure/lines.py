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
    tables: dict[str, list[str] | None] = {}
    for term in terms:  # the same numbers once, at all joints that have them
        before, joints = tables.get(_given(term), ()), term.joints
        tables[_given(term)] = None if before is None or joints is None else list(dict.fromkeys((*before, *joints)))
    found = [_table(given, joints) for given, joints in tables.items()]
    return found[0] if len(found) == 1 else f"[{', '.join(found)}]"


def _given(term: Term) -> str:
    default = {f.name: f.default for f in dataclasses.fields(term)}  # type: ignore[arg-type]
    return ", ".join(f"{x} = {getattr(term, x):g}" for x in numbers(term) if getattr(term, x) != default[x])


def _table(given: str, joints: Sequence[str] | None) -> str:
    both = ", ".join(x for x in (given, "" if joints is None else f"joints = {_names(joints)}") if x)
    return f"{{ {both} }}" if both else "true"


def _names(joints: Sequence[str]) -> str:
    quoted = ", ".join(f'"{joint}"' for joint in joints)
    return f"[{quoted}]"
