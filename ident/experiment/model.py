"""The table [model] of an experiment file, a key for each kind of `ident.model.TERMS` with the fields of its terms, and
the model that it asks for.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from ident.arrays import Array
from ident.errors import ConfigError, InputError, ModelError, require_known
from ident.experiment.experiment import Experiment
from ident.model import Model, coupled_drives
from ident.model.coulomb import SIGN
from ident.model.term import Term, numbers, required
from ident.model.terms import TERMS
from ident.robot import Robot
from ident.tables import Reader, Table, boolean, typed

_JOINTS = typed(bool | tuple[str, ...], "true, false, or a list of joint names")
_NAMES = typed(tuple[str, ...], "a list of names, each once")


def terms_of(model: Table) -> tuple[Term, ...]:
    """Return the terms that [model] asks for, in the order of `TERMS`; ConfigError for numbers that no term takes.

    A term without numbers of its own is asked for by true, false or joints, another by one table or several.
    """
    kinds: dict[str, list[Any]] = {}
    for term in TERMS:
        kinds.setdefault(term.kind.key, []).append(term)
    model.known((*kinds, "coupled_drives"))
    found: list[Term] = []
    for key, laws in kinds.items():
        if any(map(numbers, laws)):
            found += _laws(model, key, laws)
        elif value := model.read(key, _JOINTS, laws[0].kind.standard):
            found.append(laws[0](joints=value if isinstance(value, tuple) else None))
    return tuple(found)


def _laws(model: Table, key: str, laws: list[Any]) -> list[Term]:
    kind, names = laws[0].kind, [x for law in laws for x in numbers(law)]
    fields = {f.name: f for law in laws for f in dataclasses.fields(law)}
    needed = [x for x in names if len(laws) == 1 and required(fields[x])]
    readers: dict[str, Reader] = {x: _number(**fields[x].metadata) for x in names}
    others = {x: readers[x] for x in names if x not in needed} | {"joints": _NAMES}
    others |= {x: boolean for law in laws for x in numbers(law, "bool")}
    example = kind.example or f"{{ {', '.join(f'{name} = ...' for name in names)} }}"
    said = f"{'' if needed else 'true, false, '}a table such as {example}, or a list of such tables"

    def tables(value: Any) -> tuple[Any, ...]:
        if value is True and not needed:
            return ({},)
        if value is False:
            return ()
        found = (value,) if isinstance(value, dict) else tuple(value) if isinstance(value, list) else (None,)
        if not all(isinstance(x, dict) for x in found):
            raise ValueError(said)
        return found

    given = model.read(key, tables, ({},) if kind.standard else ())
    found = []
    for i, data in enumerate(given):
        place = f"{key}[{i + 1}]" if isinstance(model.data.get(key), list) else key
        table = Table(data, model.key(place), model.file, model.kind)
        values = table.values({x: readers[x] for x in needed}, others)
        found.append(_term(model, key if len(given) == 1 else place, laws, values))
    return found


def _number(description: str = "a number", **bounds: float) -> Reader:
    rules = {"gt": float.__gt__, "ge": float.__ge__, "lt": float.__lt__, "le": float.__le__}
    return typed(float, description, lambda x: all(rules[name](x, float(end)) for name, end in bounds.items()))


def _term(model: Table, place: str, laws: list[Any], given: dict[str, Any]) -> Term:
    said = [name for law in laws for name in numbers(law) if name in given]
    for law in laws:
        needed = {f.name for f in dataclasses.fields(law) if required(f)}
        if needed <= set(said) <= set(numbers(law)):
            try:
                term: Term = law(**given)
            except ModelError as cause:
                raise model.error(place, cause.problem, cause.fix) from None
            return term
    if len(said) > 1:
        raise model.error(place, f"has both {' and '.join(said)}", "Keep one of them")
    raise model.error(place, f"lacks one of {', '.join(x for law in laws for x in numbers(law))}")


def build_model(experiment: Experiment, robot: Robot, inertials: Array | None = None) -> Model:
    """Return the model that the experiment asks for.

    inertials (n, 10): the links as CAD has them, for friction that grows with their load. Raises ConfigError for joints
    that the robot does not have, and where inertials are needed and not given.
    """
    terms: list[Term] = []
    for term in experiment.terms:
        has, fix = f"robot '{robot.name}' has no joint", f"Its joints are {', '.join(robot.joint_names)}"
        place: dict[str, Any] = {"file": experiment.file, "key": f"model.{term.kind.key}"}
        require_known(term.joints or (), robot.joint_names, ConfigError, has, fix=fix, **place)
        if "load" not in getattr(term, "needs", ()):
            terms.append(term)
        elif inertials is None:
            raise ConfigError("needs the load that the links are, from a CAD table", fix="Give experiment.cad", **place)
        else:
            terms += term.at_work(experiment.terms, robot, inertials)  # type: ignore[attr-defined]
    if experiment.coupled_drives:
        if robot.transmission is None:
            raise ConfigError(
                f"robot '{robot.name}' has no transmission, so no drive is coupled",
                file=experiment.file,
                key="model.coupled_drives",
                fix="Give the robot file a [transmission], or leave this out",
            )
        terms += coupled_drives(robot, next((x for x in terms if x.kind == SIGN.kind), SIGN))
    try:
        return Model(robot, tuple(terms))
    except InputError as cause:
        raise ConfigError(cause.problem, file=experiment.file, key="model", fix=cause.fix) from None
