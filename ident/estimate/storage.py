"""Estimates on disk: one JSON file, described by `estimate.schema.json`, checked when written and when read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ident.arrays import Array
from ident.errors import InfeasibleError, InputError, cut, nearest
from ident.estimate.covariance import Covariance
from ident.estimate.estimate import Estimate
from ident.estimate.written import rounded
from ident.files import write_whole
from ident.regression.base import BaseParameters
from ident.spatial.inertia import INERTIAL, consistency

FORMAT = "ident-estimate-1"

Finite = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(allow_inf_nan=False, ge=0)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
Names = Annotated[list[str], Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class BaseEntry(_Strict):
    """One base parameter: the sum over `combination` of coefficient times standard parameter."""

    name: str = Field(description="the standard parameter it is named after, whose coefficient is 1")
    value: Finite = Field(description="identified value, SI")
    combination: dict[str, Finite] = Field(description="standard parameter -> coefficient that is not zero")


class CovarianceEntry(_Strict):
    """Covariance of the base parameters."""

    kind: Literal["classical", "cluster-by-segment"]
    dof: Annotated[int, Field(ge=1, lt=2**63)] = Field(description="degrees of freedom of Student's t")
    clusters: Count = Field(description="number of segments")
    matrix: list[list[Finite | None]] = Field(
        description="rows and columns in the order of `base`; null: not determined by the logs"
    )


class JointEntry(_Strict):
    """The fit of one joint's torque on the fitted logs."""

    joint: str
    samples: Count
    sigma: Positive = Field(description="torque noise that weighted its equations [N m; N]")
    rms: Positive | None = Field(description="residual [N m; N]; null: could not be computed")
    relative: Positive | None = Field(description="norm of residual / norm of torque; null: could not be computed")


class TriedWeight(_Strict):
    """A weight of the prior that cross-validation tried."""

    weight: Positive
    error: Positive | None = Field(description="mean squared weighted error on what was left out")


class EstimateFile(_Strict):
    """An identification's result, SI units throughout.

    Link parameters: m, h = m c, and the entries of the inertia tensor about the link frame's origin in link-frame axes
    (Ixy = -integral of x y dm). A quantity that could not be computed is null.
    """

    format: Literal["ident-estimate-1"]
    estimator: str = Field(
        description="ols, wls, constrained or regularised; ols behind one of the last two: all joints counted alike"
    )
    robot: str
    links: Names
    joints: Names
    parameters: dict[str, Finite | None] = Field(
        description="standard parameters theta, 12 significant digits; all null where only base parameters are known"
    )
    shapes: dict[str, dict[str, Finite]] = Field(
        description="friction laws and rests of springs by parameter: tanh, dead_zone (rad/s; m/s), dahl, rest "
        "(rad; m), power (of the speed)"
    )
    feasible: bool | None = Field(description="whether every link can exist: exact check of these very numbers")
    implausible: list[str] = Field(default=[], description="links that can exist and not be believed, in words")
    base: list[BaseEntry] = Field(description="base parameters phi, the combinations that torque can show")
    covariance: CovarianceEntry
    fit: list[JointEntry] = Field(description="one entry per joint, in the order of `joints`")
    relative_total: Positive | None = Field(description="norm of all residuals / norm of all torques")
    condition: Positive | None = Field(description="condition number of the regressor in SI; null: infinite")
    condition_scaled: Positive | None = Field(description="with noise weights and unit columns; null: infinite")
    active: list[str] = Field(description="constraints at their bound")
    prior: str | None = Field(description="what theta was drawn to; null: nothing")
    weight: Positive | None = Field(description="how strongly it was drawn there")
    selection: list[TriedWeight]
    solver: str | None
    warnings: list[str]
    provenance: dict[str, str] = Field(description="versions, hashes of inputs, command")


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of an estimate file, as kept in `estimate.schema.json`."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **EstimateFile.model_json_schema()}


def save_estimate(estimate: Estimate, path: str | Path) -> Path:
    """Write an estimate to `path` (JSON), whole or not at all.

    theta is rounded to `written.DIGITS` significant digits; what could not be computed becomes null.
    Raises InfeasibleError when the estimate claims to be feasible and the numbers as written are not,
    InputError when a number is missing that must be there, or the place cannot be written to.
    """
    if estimate.theta is not None:
        estimate = replace(estimate, theta=rounded(estimate.theta))
    document = _document(estimate)
    try:
        stored = EstimateFile.model_validate(document)
    except ValidationError as cause:
        raise _readable(cause, Path(path)) from None
    _estimate(stored, Path(path))  # what is written is what could be read
    return write_whole(path, _text(document))


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
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise _not_an_estimate(path, "is not text in UTF-8") from None
    except OSError as cause:
        fix = "Give a folder with an estimate.json" if path.is_dir() else "Check the path"
        raise InputError(f"cannot be read: {cause.strerror}", file=path, fix=fix) from None
    try:
        document = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
        json.dumps(document, ensure_ascii=False).encode()  # half a character, as "\\ud800", could not be written again
    except json.JSONDecodeError as cause:
        raise InputError(f"is not JSON: {cause.msg}", file=path, line=cause.lineno) from None
    except (ValueError, RecursionError) as cause:
        raise _not_an_estimate(path, f"is not usable JSON: {str(cause) or 'nested too deeply'}") from None
    if not isinstance(document, dict) or "format" not in document:
        raise _not_an_estimate(path, "is not an estimate written by ident")
    if document["format"] != FORMAT:
        raise InputError(
            f"is {document['format']!r:.60}, wanted '{FORMAT}'",
            file=path,
            key="format",
            fix="Use the version of ident that wrote the file, or fit again",
        )
    try:
        return _estimate(EstimateFile.model_validate(document), path)
    except ValidationError as cause:
        raise _readable(cause, path) from None


def _document(e: Estimate) -> dict[str, Any]:
    base = e.base
    values = [None] * len(base.standard) if e.theta is None else [float(x) for x in e.theta]
    return {
        "format": FORMAT,
        "estimator": e.estimator,
        "robot": e.robot,
        "links": list(e.links),
        "joints": list(e.joints),
        "parameters": dict(zip(base.standard, values, strict=True)),
        "shapes": {name: dict(shape) for name, shape in e.shapes.items()},
        "feasible": e.feasible,
        "implausible": list(e.implausible),
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
            {
                "joint": joint,
                "samples": int(e.rows[j]),
                "sigma": _number(e.sigma[j]),
                "rms": _number(e.rms[j]),
                "relative": _number(e.relative[j]),
            }
            for j, joint in enumerate(e.joints)
        ],
        "relative_total": _number(e.relative_total),
        "condition": _number(e.condition),
        "condition_scaled": _number(e.condition_scaled),
        "active": list(e.active),
        "prior": e.prior,
        "weight": None if e.weight is None else _number(e.weight),
        "selection": [{"weight": float(w), "error": _number(error)} for w, error in e.selection],
        "solver": e.solver,
        "warnings": list(e.warnings),
        "provenance": {str(k): str(v) for k, v in e.provenance.items()},
    }


def _estimate(stored: EstimateFile, path: Path) -> Estimate:
    """Return the estimate of a file whose shape is right, after checking that its parts agree."""

    def refuse(problem: str, key: str) -> InputError:
        return InputError(problem, file=path, key=key, fix="Do not edit the file by hand; fit again")

    standard = tuple(stored.parameters)
    for name in stored.shapes:
        if name not in standard:
            raise refuse(f"names '{name}', which is no parameter{nearest(name, standard)}", "shapes")
    wanted = tuple(f"{link}.{part}" for link in stored.links for part in INERTIAL)
    if standard[: len(wanted)] != wanted:
        missing = next(w for w, s in zip(wanted, (*standard, *[None] * len(wanted)), strict=False) if w != s)
        raise refuse(
            f"must begin with the ten parameters of each link in order; '{missing}' is not there", "parameters"
        )
    if len(stored.fit) != len(stored.joints) or [f.joint for f in stored.fit] != stored.joints:
        raise refuse("must have one entry per joint, in the order of `joints`", "fit")

    base = _base(stored, standard, refuse)
    phi = np.array([entry.value for entry in stored.base])
    theta = _theta(stored, base.K, phi, refuse, path)

    def per_joint(values: list[float | None]) -> Array:
        return np.array([np.nan if v is None else v for v in values], dtype=np.float64)

    return Estimate(
        estimator=stored.estimator,
        robot=stored.robot,
        links=tuple(stored.links),
        joints=tuple(stored.joints),
        base=base,
        phi=phi,
        theta=theta,
        covariance=_covariance(stored, refuse),
        sigma=per_joint([f.sigma for f in stored.fit]),
        rows=np.array([f.samples for f in stored.fit]),
        rms=per_joint([f.rms for f in stored.fit]),
        relative=per_joint([f.relative for f in stored.fit]),
        relative_total=_or(stored.relative_total, float("nan")),
        condition=_or(stored.condition, float("inf")),
        condition_scaled=_or(stored.condition_scaled, float("inf")),
        active=tuple(stored.active),
        prior=stored.prior,
        weight=stored.weight,
        selection=tuple((t.weight, _or(t.error, float("nan"))) for t in stored.selection),
        solver=stored.solver,
        feasible=stored.feasible,
        implausible=tuple(stored.implausible),
        warnings=tuple(stored.warnings),
        provenance=dict(stored.provenance),
        shapes={name: dict(shape) for name, shape in stored.shapes.items()},
    )


def _base(stored: EstimateFile, standard: tuple[str, ...], refuse: Any) -> BaseParameters:
    """Return the base parameters, each of which must be kept in its own combination alone."""
    b = len(stored.base)
    K = np.zeros((b, len(standard)))
    place = {name: i for i, name in enumerate(standard)}
    for k, entry in enumerate(stored.base):
        for name in (entry.name, *entry.combination):
            if name not in place:
                raise refuse(f"there is no parameter '{name}'{nearest(name, standard)}", f"base[{k + 1}]")
        K[k, [place[n] for n in entry.combination]] = list(entry.combination.values())
        if entry.combination.get(entry.name) != 1.0:
            raise refuse(f"the coefficient of '{entry.name}' must be 1", f"base[{k + 1}].combination")
    names = tuple(entry.name for entry in stored.base)
    kept = tuple(place[n] for n in names)
    if not b or len(set(names)) != b or not np.array_equal(K[:, kept], np.eye(b)):
        raise refuse("must name different parameters, each in its own combination only", "base")
    K.setflags(write=False)
    return BaseParameters(names, kept, K, standard)


def _covariance(stored: EstimateFile, refuse: Any) -> Covariance:
    """Return the covariance, which must be symmetric and as large as there are base parameters."""
    b = len(stored.base)
    rows = stored.covariance.matrix
    if len(rows) != b or any(len(row) != b for row in rows):
        raise refuse(f"must be {b} by {b}, one row per base parameter", "covariance.matrix")
    matrix = np.array([[np.nan if x is None else x for x in row] for row in rows])
    size = np.sqrt(np.abs(np.diag(matrix)))
    lopsided = np.abs(matrix - matrix.T) > 1e-6 * np.outer(size, size)
    if (np.diag(matrix) < 0).any() or lopsided.any() or (np.isnan(matrix) != np.isnan(matrix.T)).any():
        raise refuse("is no covariance: it must be symmetric with a diagonal that is not negative", "covariance.matrix")
    matrix.setflags(write=False)
    return Covariance(stored.covariance.kind, matrix, stored.covariance.dof, stored.covariance.clusters)


def _theta(stored: EstimateFile, K: Array, phi: Array, refuse: Any, path: Path) -> Array | None:
    values = list(stored.parameters.values())
    if all(v is None for v in values):
        if stored.feasible:
            raise refuse("is true, but there are no parameters of which it could be", "feasible")
        return None
    for name, value in stored.parameters.items():
        if value is None:
            raise refuse("is null while other parameters are known", f"parameters.{name}")
    theta = rounded(np.array(values, dtype=np.float64))
    off = np.abs(K @ theta - phi) > 1e-9 * (np.abs(K) @ np.abs(theta) + np.abs(phi))
    if off.any():
        k = int(np.argmax(off))
        problem = f"is {phi[k]:.9g}, but the parameters give {K[k] @ theta:.9g} for '{stored.base[k].name}'"
        raise refuse(problem, f"base[{k + 1}].value")
    if stored.feasible:
        for i, link in enumerate(stored.links):
            found = consistency(theta[10 * i : 10 * i + 10])
            if not found.consistent:
                raise InfeasibleError(
                    f"{path.name}, {link}: said to be feasible, but such a body cannot exist "
                    f"({'; '.join(found.failures()) or 'its pseudo-inertia is not positive semidefinite'}). Fit again."
                )
    theta.setflags(write=False)
    return theta


def _number(value: Any) -> float | None:
    value = float(value)
    return value if np.isfinite(value) else None


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


def _text(document: dict[str, Any]) -> str:
    """Return the document with one line per parameter, base parameter and matrix row."""
    lines = []
    for key, value in document.items():
        if isinstance(value, dict) and key != "covariance":
            inner = ",\n".join(f"  {_json(k)}: {_json(v)}" for k, v in value.items())
            shown = f"{{\n{inner}\n }}" if value else "{}"
        elif key == "covariance":
            rows = ",\n".join(f"   {_json(row)}" for row in value["matrix"])
            head = ", ".join(f'"{k}": {_json(v)}' for k, v in value.items() if k != "matrix")
            shown = f'{{\n  {head},\n  "matrix": [\n{rows}\n  ]\n }}'
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            inner = ",\n".join(f"  {_json(v)}" for v in value)
            shown = f"[\n{inner}\n ]"
        else:
            shown = _json(value)
        lines.append(f" {_json(key)}: {shown}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key '{key}' stands there twice")
        found[key] = value
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _not_an_estimate(path: Path, problem: str) -> InputError:
    return InputError(problem, file=path, fix="Give a file that `ident fit` or `ident run` wrote")


def _readable(cause: ValidationError, path: Path) -> InputError:
    """Return the first thing that is wrong with a document as a sentence."""
    error = cause.errors(include_url=False)[0]
    key = "".join(f"[{p + 1}]" if isinstance(p, int) else f".{p}" for p in error["loc"]).lstrip(".")
    fix = "Fit again"
    if error["type"] == "extra_forbidden":
        known = EstimateFile.model_fields if len(error["loc"]) == 1 else ()
        return InputError(f"unknown key{nearest(str(error['loc'][-1]), known)}", file=path, key=key, fix=fix)
    if error["type"] == "missing":
        return InputError("is missing", file=path, key=key, fix=fix)
    said = str(error["msg"]).partition(" after validation")[0]
    said = (
        said.replace("Input should be ", "").replace("List should have ", "").replace("greater than", "a number above")
    )
    said = said.replace("a number above or equal to 0", "a number that is not negative")
    found = cut(json.dumps(error["input"], ensure_ascii=False), 60)
    return InputError(f"is {found}, wanted {said}", file=path, key=key, fix=fix)
