"""The joint terms that there are: the one list that experiments, files, simulations, exports and reports walk."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ident.errors import ModelError
from ident.model.load_friction import LoadFriction
from ident.model.position import Curve, RippleCosine, RippleSine
from ident.model.relative import RelativeCoulomb, RelativeViscous
from ident.model.springs import Balancer, BalancerSpring, Spring
from ident.model.standard import Coulomb, Dahl, DriveInertia, Offset, SmoothCoulomb, Viscous
from ident.model.standstill import Hysteresis, Stribeck
from ident.model.term import Kind, Term, numbers, required, setting_units
from ident.model.viscous import NonlinearViscous, Thermal, ViscousAsymmetry, WarmUp
from ident.spatial.inertia import INERTIAL

#: Classes of terms; those of one kind are laws of the same parameter, told apart by their fields.
TERMS: list[Any] = [
    *(DriveInertia, Viscous, ViscousAsymmetry, NonlinearViscous, Coulomb, SmoothCoulomb, Dahl, Hysteresis, Stribeck),
    *(RelativeViscous, RelativeCoulomb),
    *(LoadFriction, WarmUp, Thermal, Offset, Spring, Balancer, BalancerSpring, RippleSine, RippleCosine, Curve),
]

T = TypeVar("T", bound=type)


def register(term: T) -> T:
    """Add a class of terms to `TERMS`, as a decorator: a frozen dataclass as `ident.model.term` describes it.

    Raises ModelError when another class has the same kind and the same fields.
    """
    alike = [x for x in TERMS if x.kind.name == term.kind.name and numbers(x) == numbers(term)]  # type: ignore[attr-defined]
    if alike:
        raise ModelError(f"{alike[0].__name__} has the kind and the fields of {term.__name__} already")
    TERMS.append(term)
    return term


def kinds() -> dict[str, Kind]:
    """Return the kinds of parameters by name, in the order of `TERMS`."""
    return {term.kind.name: term.kind for term in TERMS}


def kind_of(name: str) -> Kind | None:
    """Return the kind of a parameter, such as of `joint3.viscous` or `joint3.ripple_sine6`; None where it is none."""
    known, ending = kinds(), name.rpartition(".")[2]
    return known.get(ending) or known.get(ending.rstrip("0123456789_"))


def law_of(name: str, shape: Mapping[str, float]) -> str:
    """Return the torque of a parameter as a formula of the numbers of its shape; "" where it is none."""
    kind = kind_of(name)
    laws = (x.formula for x in TERMS if x.kind == kind and hasattr(x, "formula") and set(shape) == set(numbers(x)))
    return str(next(laws, "" if kind is None else kind.law))


def units_of(name: str, number: str) -> tuple[str, str]:
    """Return the units of a number of a parameter's shape, at a joint that turns and at one that slides."""
    kind, part = kind_of(name), number.rpartition(" ")[2]
    if part in INERTIAL:  # of a link that loads a joint
        return (("kg m^2" if part[0] == "I" else "kg m" if part[0] == "h" else "kg"),) * 2
    fields = [(term.kind == kind, f) for term in TERMS for f in dataclasses.fields(term) if f.name == number]
    own = next((f for same, f in sorted(fields, key=lambda x: not x[0]) if "description" in f.metadata), None)
    return ("SI", "SI") if own is None else setting_units(own.metadata["description"])


def plain() -> dict[str, Any]:
    """Return by kind the terms that a parameter alone says all of: no number but 0 and no signal beside it."""
    found: dict[str, Any] = {}
    for term in TERMS:
        beside = getattr(term, "needs", ()) or any(getattr(term, name, None) != 0 for name in numbers(term))
        if not beside and not any(required(f) for f in dataclasses.fields(term)):
            found.setdefault(term.kind.name, term)
    return found


def restored(kind: str, shape: Mapping[str, float], joints: tuple[str, ...]) -> Term | None:
    """Return the term of this kind (with its suffix) and `shape` at some joints; None when none has such fields."""
    kind_ = kind_of(kind)
    for term in TERMS:
        if term.kind == kind_:
            if hasattr(term, "restored"):
                found: Term | None = term.restored(shape, joints, restored)
            else:
                own, since = set(numbers(term)), getattr(term, "since", set[str]())  # which older files may lack
                found = term(**shape, joints=joints) if own - since <= set(shape) <= own else None
            if found is not None:
                return found
    return None


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
