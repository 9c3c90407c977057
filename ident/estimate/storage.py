"""Estimates on disk: one JSON file, described by `estimate.schema.json`, checked when written and when read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import numpy as np

from ident.arrays import Array
from ident.errors import InfeasibleError, InputError, nearest, require_known
from ident.estimate.covariance import Covariance
from ident.estimate.estimate import Estimate, rounded
from ident.files import write_whole
from ident.regression.base import BaseParameters
from ident.spatial.inertia import INERTIAL, consistency
from ident.tables import JsonFormat

if TYPE_CHECKING:
    from ident.robot.unknown import Calibrated

FORMAT = JsonFormat(
    "ident-estimate-1",
    "an estimate",
    Path(__file__).with_name("estimate.schema.json"),
    InputError,
    again="Fit again",
    given="Give a file that `ident fit` or `ident run` wrote",
)
#: Fields that the file holds in another form, or not at all; all others stand in it as they are.
_APART = (
    "base", "phi", "theta", "covariance", "sigma", "rows", "rms", "relative", "floor", "selection", "calibration",
    "bootstrap",
)  # fmt: skip
_BY_JOINT = ("sigma", "rms", "relative")


def save_estimate(estimate: Estimate, path: str | Path) -> Path:
    """Write an estimate to `path` (JSON), whole or not at all.

    theta is rounded to `estimate.DIGITS` significant digits; what could not be computed becomes null.
    Raises InfeasibleError when the estimate claims to be feasible and the numbers as written are not,
    InputError when a number is missing that must be there, or the place cannot be written to.
    """
    if estimate.theta is not None:
        estimate = replace(estimate, theta=rounded(estimate.theta))
    stored = document(estimate)
    text = FORMAT.text(stored, Path(path))
    _estimate(stored, Path(path))  # what is written is what could be read
    return write_whole(path, text)


def estimate_file(path: str | Path) -> Path:
    """Return the file itself, or the estimate.json of a folder of results."""
    inside = Path(path) / "estimate.json"
    return inside if inside.is_file() else Path(path)


def load_estimate(path: str | Path) -> Estimate:
    """Read an estimate written by `save_estimate`, or the estimate.json of a folder of results.

    Raises InputError, naming file and key, when it is not such a file or its parts contradict each other, and
    InfeasibleError when it claims that its links can exist and one cannot.
    """
    path = estimate_file(path)
    if path.is_dir():
        problem = f"there is no estimate in the folder '{path}'"
        raise InputError(problem, fix="Make one with `ident run`, and give the folder that it writes: results/NAME")
    return _estimate(FORMAT.read(path), path)


def document(e: Estimate) -> dict[str, Any]:
    """Return an estimate as its file has it."""
    base = e.base
    values = [None] * len(base.standard) if e.theta is None else [float(x) for x in e.theta]
    return {key: _plain(getattr(e, key)) for key in _as_it_is()} | {
        "format": FORMAT.name,
        "parameters": dict(zip(base.standard, values, strict=True)),
        "base": [
            {
                "name": name,
                "value": float(value),
                "combination": {base.standard[i]: float(row[i]) for i in np.flatnonzero(row)},
            }
            for name, value, row in zip(base.names, e.phi, base.K, strict=True)
        ],
        "covariance": {
            "kind": e.covariance.kind,
            "dof": int(e.covariance.dof),
            "clusters": int(e.covariance.clusters),
            "matrix": [[_number(x) for x in row] for row in e.covariance.matrix],
        },
        "fit": [
            {"joint": joint, "samples": int(e.rows[j])}
            | {key: _number(getattr(e, key)[j]) for key in _BY_JOINT}
            | ({} if e.floor is None else {"floor": _number(e.floor[j])})
            for j, joint in enumerate(e.joints)
        ],
        "selection": [{"weight": float(w), "error": _number(error)} for w, error in e.selection],
        "calibration": [_calibrated(c) for c in e.calibration],
    }


def _estimate(stored: dict[str, Any], path: Path) -> Estimate:
    """Return the estimate of a file whose shape is right, after checking that its parts agree."""

    def refuse(problem: str, key: str) -> InputError:
        return InputError(problem, file=path, key=key, fix="Do not edit the file by hand; fit again")

    standard = tuple(stored["parameters"])
    for name in stored["shapes"]:
        if name not in standard:
            raise refuse(f"names '{name}', which is no parameter{nearest(name, standard)}", "shapes")
    wanted = tuple(f"{link}.{part}" for link in stored["links"] for part in INERTIAL)
    if standard[: len(wanted)] != wanted:
        missing = next(w for w, s in zip(wanted, (*standard, *[None] * len(wanted)), strict=False) if w != s)
        raise refuse(
            f"must begin with the ten parameters of each link in order; '{missing}' is not there", "parameters"
        )
    fit = stored["fit"]
    if [f["joint"] for f in fit] != stored["joints"]:
        raise refuse("must have one entry per joint, in the order of `joints`", "fit")

    base = _base(stored["base"], standard, refuse)
    phi = np.array([entry["value"] for entry in stored["base"]], dtype=np.float64)
    plain = {key: _made(hint, stored[key]) for key, hint in _as_it_is().items() if key in stored}
    plain |= {key: _or(stored[key], float("inf")) for key in ("condition", "condition_scaled")}
    plain |= {key: np.array([_or(f[key]) for f in fit]) for key in _BY_JOINT}
    return Estimate(
        **plain,
        floor=np.array([_or(f["floor"], 0.0) for f in fit]) if all("floor" in f for f in fit) else None,
        base=base,
        phi=phi,
        theta=_theta(stored, base.K, phi, refuse, path),
        covariance=_covariance(stored["covariance"], len(phi), refuse),
        rows=np.array([f["samples"] for f in fit]),
        selection=tuple((float(t["weight"]), _or(t["error"])) for t in stored["selection"]),
        calibration=tuple(map(_calibration, stored.get("calibration", ()))),
    )


def _as_it_is() -> dict[str, Any]:
    """Return by name the types of the fields that stand in a file as they are; those of earlier versions lack some."""
    from ident.robot.unknown import Calibrated

    hints = get_type_hints(Estimate, localns={"Calibrated": Calibrated})
    return {key: hint for key, hint in hints.items() if key not in _APART}


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: dataclasses as objects, tuples as lists, numbers that are not finite as null."""
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(x) for key, x in value.items()}
    if isinstance(value, tuple):
        return [_plain(x) for x in value]
    return _number(value) if isinstance(value, float) else value


def _made(hint: Any, stored: Any) -> Any:
    """Return the value of a type that `_plain` made a part of JSON of; None stays where the type has it."""
    options = get_args(hint)
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        return hint(**{key: _made(hints[key], part) for key, part in stored.items()})  # type: ignore[operator]
    if get_origin(hint) is tuple:
        return tuple(_made(options[0], part) for part in stored)
    if type(None) in options:
        return None if stored is None else _made(options[0], stored)
    return _or(stored) if hint is float else stored


def _calibrated(found: Calibrated) -> dict[str, Any]:
    told = {"value": found.value, "standard_error": _number(found.error), "said": found.said, "applied": found.applied}
    return {**_plain(found.unknown), **told}


def _calibration(stored: dict[str, Any]) -> Calibrated:
    from ident.robot.unknown import Calibrated, Unknown

    told = [stored[key] for key in ("value", "standard_error", "said", "applied")]
    own = {key: value for key, value in stored.items() if key in Unknown.__dataclass_fields__}
    return Calibrated(_made(Unknown, own), told[0], _or(told[1]), *told[2:])


def _base(entries: list[dict[str, Any]], standard: tuple[str, ...], refuse: Any) -> BaseParameters:
    """Return the base parameters, each of which must be kept in its own combination alone."""
    b = len(entries)
    K = np.zeros((b, len(standard)))
    place = {name: i for i, name in enumerate(standard)}
    for k, entry in enumerate(entries):
        combination = entry["combination"]
        require_known((entry["name"], *combination), place, refuse, "there is no parameter", key=f"base[{k + 1}]")
        K[k, [place[n] for n in combination]] = list(combination.values())
        if combination.get(entry["name"]) != 1.0:
            raise refuse(f"the coefficient of '{entry['name']}' must be 1", f"base[{k + 1}].combination")
    names = tuple(entry["name"] for entry in entries)
    kept = tuple(place[n] for n in names)
    if not b or len(set(names)) != b or not np.array_equal(K[:, kept], np.eye(b)):
        raise refuse("must name different parameters, each in its own combination only", "base")
    K.setflags(write=False)
    return BaseParameters(names, kept, K, standard)


def _covariance(stored: dict[str, Any], b: int, refuse: Any) -> Covariance:
    """Return the covariance, which must be symmetric and as large as there are base parameters."""
    rows = stored["matrix"]
    if len(rows) != b or any(len(row) != b for row in rows):
        raise refuse(f"must be {b} by {b}, one row per base parameter", "covariance.matrix")
    matrix = np.array(rows, dtype=np.float64)
    size = np.sqrt(np.abs(np.diag(matrix)))
    lopsided = np.abs(matrix - matrix.T) > 1e-6 * np.outer(size, size)
    if (np.diag(matrix) < 0).any() or lopsided.any() or (np.isnan(matrix) != np.isnan(matrix.T)).any():
        raise refuse("is no covariance: it must be symmetric with a diagonal that is not negative", "covariance.matrix")
    matrix.setflags(write=False)
    return Covariance(stored["kind"], matrix, stored["dof"], stored["clusters"])


def _theta(stored: dict[str, Any], K: Array, phi: Array, refuse: Any, path: Path) -> Array | None:
    values = list(stored["parameters"].values())
    if all(v is None for v in values):
        if stored["feasible"]:
            raise refuse("is true, but there are no parameters of which it could be", "feasible")
        return None
    for name, value in stored["parameters"].items():
        if value is None:
            raise refuse("is null while other parameters are known", f"parameters.{name}")
    theta = rounded(np.array(values, dtype=np.float64))
    off = np.abs(K @ theta - phi) > 1e-9 * (np.abs(K) @ np.abs(theta) + np.abs(phi))
    if off.any():
        k = int(np.argmax(off))
        problem = f"is {phi[k]:.9g}, but the parameters give {K[k] @ theta:.9g} for '{stored['base'][k]['name']}'"
        raise refuse(problem, f"base[{k + 1}].value")
    if stored["feasible"]:
        for i, link in enumerate(stored["links"]):
            found = consistency(theta[10 * i : 10 * i + 10])
            if not found.consistent:
                told = f"said to be feasible, but such a body cannot exist ({'; '.join(found.failures())}). Fit again."
                raise InfeasibleError(f"{path.name}, {link}: {told}")
    theta.setflags(write=False)
    return theta


def _number(value: Any) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None


def _or(value: float | None, otherwise: float = float("nan")) -> float:
    return otherwise if value is None else float(value)
