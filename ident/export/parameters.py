"""Parameters as JSON that explains itself, as CSV tables, and as MAT files (level 5) for MATLAB and scipy."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ident.compare.difference import decided_by
from ident.export.identified import Identified, Written, deserved_base
from ident.export.text import Script, comment, links, number, plain
from ident.files import csv_cell, csv_text
from ident.model.term import Kind
from ident.model.terms import kind_of, law_of, units_of
from ident.robot.robot import Robot
from ident.robot.urdf_write import com_numbers
from ident.spatial.inertia import INERTIAL

JSON_FORMAT = "ident-parameters-1"

JSON_CONVENTIONS = {
    "units": "SI, rad",
    "frame": "each link's own frame, as the robot's description (DH table or URDF) defines it",
    "first_moment": "hx, hy, hz = m * centre of mass in the link frame",
    "tensor_point": "Ixx .. Izz: about the link frame's ORIGIN; about_com: about the centre of mass, link-frame axes",
    "products_of_inertia": "entries of the inertia tensor: Ixy = -integral of x y dm",
    "shape": "numbers that the meaning of a joint term names, such as widths, speeds and exponents of its law",
    "torque": "on the joint side, as the joint moves the links: M(q) qdd + C qd + g + joint terms",
}


def write_json(item: Identified) -> Written:
    """Return every parameter with unit, meaning and who decided on it, under "about" where the file comes from."""
    estimate, theta, robot = item.estimate, item.theta, item.robot
    decided = decided_by(estimate)
    errors = estimate.covariance.standard_errors
    phi = deserved_base(estimate, estimate.base.K @ theta)
    names = estimate.base.standard
    document: dict[str, Any] = {
        "format": JSON_FORMAT,
        "about": list(item.head),
        "robot": estimate.robot,
        "estimator": estimate.estimator,
        "conventions": {**JSON_CONVENTIONS, "gravity_m_s2": None if robot is None else robot.gravity.tolist()},
        "links": [_link(link, theta[10 * i : 10 * i + 10], decided) for i, link in enumerate(estimate.links)],
        "joint_terms": [
            _term(name, None if name in item.unknown else float(theta[k]), decided[name], item)
            for k, name in enumerate(names)
            if k >= 10 * len(estimate.links)
        ],
        "base_parameters": [
            {
                "name": name,
                "expression": estimate.base.expression(k),
                "value": float(phi[k]) if np.isfinite(errors[k]) else None,
                "standard_error": float(f"{errors[k]:.3g}") if np.isfinite(errors[k]) else None,
            }
            for k, name in enumerate(estimate.base.names)
        ],
        "covariance": estimate.covariance.kind,
        "prior": estimate.prior,
        "warnings": [*estimate.warnings, *estimate.notes],
        "provenance": dict(estimate.provenance),
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n", ()


def _link(link: str, body: np.ndarray, decided: dict[str, Any]) -> dict[str, Any]:
    mass, com, about_com = com_numbers(body)
    return {
        "name": link,
        "units": {"m": "kg", "h": "kg m", "I": "kg m^2"},
        **{part: float(value) for part, value in zip(INERTIAL, body, strict=True)},
        "decided_by": {part: decided[f"{link}.{part}"] for part in INERTIAL},
        "com_m": com,
        "about_com": dict(zip(INERTIAL[4:], about_com, strict=True)),
        "mass_kg": mass,
    }


def _term(name: str, value: float | None, decided: str, item: Identified) -> dict[str, Any]:
    joint, term, moves = _kind(name, item.robot)
    numbers = item.estimate.shapes.get(name, {})
    units = {number: dataclasses.replace(term, units=units_of(name, number)).unit(moves) for number in numbers}
    return {
        "name": name,
        "of": joint,
        "value": value,
        "unit": term.unit(moves),
        "meaning": law_of(name, numbers) or term.law,
        "shape": {number: {"value": x, "unit": units[number]} for number, x in numbers.items()},
        "decided_by": decided,
    }


def _kind(name: str, robot: Robot | None) -> tuple[str, Kind, str]:
    """Return of a joint parameter its joint, what it means, and how the joint moves, "" where that is not known."""
    joint, _, kind = name.rpartition(".")
    moves = {} if robot is None else {j.name: j.kind for j in robot.joints}
    return joint, kind_of(kind) or Kind(kind, kind, kind, ("SI", "SI")), moves.get(joint, "")


CSV_CONVENTIONS = (
    "Units: SI, rad, beside each number. h = m * centre of mass; tensor about the link frame's ORIGIN, link axes,",
    "tensor signs (Ixy = -integral of x y dm).",
)
_UNITS = ("kg", *["kg m"] * 3, *["kg m^2"] * 6)


def write_csv(item: Identified) -> Written:
    """Return one row a standard parameter: name, value, unit, and whether data or the prior decided on it."""
    e, decided = item.estimate, decided_by(item.estimate)
    found = []
    for k, (name, value) in enumerate(zip(e.base.standard, item.theta, strict=True)):
        if k < 10 * len(e.links):
            unit = _UNITS[k % 10]
        else:
            _, term, moves = _kind(name, item.robot)
            unit = term.unit(moves, "{} (prismatic: {})")
        found.append((plain(name), "" if name in item.unknown else number(value), unit, decided[name]))
    return _csv((*item.head, *CSV_CONVENTIONS), ("parameter", "value", "unit", "decided_by"), found), ()


def write_base_csv(item: Identified) -> Written:
    """Return one row a base parameter: name, combination, value and its standard error (both empty: not determined)."""
    e = item.estimate
    errors = e.covariance.standard_errors
    found = [
        (
            plain(name),
            csv_cell(plain(e.base.expression(k))),
            *((number(value), f"{error:.3g}") if np.isfinite(error) else ("", "")),
        )
        for k, (name, value, error) in enumerate(zip(e.base.names, deserved_base(e, item.phi), errors, strict=True))
    ]
    about = (*item.head, *CSV_CONVENTIONS, f"Standard errors: {e.covariance.kind}.")
    return _csv(about, ("base_parameter", "combination", "value", "standard_error"), found), ()


def _csv(about: Iterable[str], columns: Sequence[str], found: Iterable[Sequence[str]]) -> str:
    return "\n".join(comment(about, "#")) + "\n" + csv_text(columns, found)


MAT_CONVENTIONS = (
    "Units: SI, rad. theta: standard parameters named in `names`; links: one row a link, in the order of `columns`,",
    "h = m * centre and the tensor about the link frame's ORIGIN, link axes, tensor signs (Ixy = -integral of x y dm).",
    "phi = K theta: base parameters named in `base_names`, with their covariance (NaN: not determined).",
)
_HEADER = b"MATLAB 5.0 MAT-file, written by ident"


def mat_file(content: Mapping[str, Any]) -> bytes:
    """Return the bytes of a MAT file; its head has no date and no machine, so that equal content gives equal bytes."""
    from scipy.io import savemat

    stream: Any = io.BytesIO()
    savemat(stream, dict(content), oned_as="column")
    written = bytes(stream.getvalue())
    return _HEADER.ljust(116) + written[116:]


def write_mat(item: Identified) -> Written:
    """Return theta, links, phi, K and the covariance as a MAT file."""
    e = item.estimate
    return mat_file({
        "about": "\n".join((*item.head, *MAT_CONVENTIONS)),
        "names": np.array(e.base.standard, dtype=object),
        "theta": item.theta,
        "link_names": np.array(e.links, dtype=object),
        "joint_names": np.array(e.joints, dtype=object),
        "columns": np.array(INERTIAL, dtype=object),
        "links": item.inertials,
        "base_names": np.array(e.base.names, dtype=object),
        "phi": item.phi,
        "K": e.base.K,
        "covariance": e.covariance.matrix,
        "covariance_kind": e.covariance.kind,
    }), ()  # fmt: skip


TREE = "a rigidBodyTree"
TREE_CONVENTIONS = (
    "Units: SI, rad. Frame of a body: the link's axes, its origin on the joint's line (as in a URDF).",
    "Inertia = [Ixx Iyy Izz Iyz Ixz Ixy] about the body frame's ORIGIN (not the centre of mass), tensor signs",
    "(Ixy = -integral of x y dm). rigidBodyTree has no drive inertia and no joint friction.",
)


write_rigid_body_tree = Script("rigid_body_tree.m.j2", TREE, frame="on line", conventions="\n".join(TREE_CONVENTIONS))


def write_rigid_body_tree_mat(item: Identified) -> Written:
    """Return a MAT file with what the script has, one row a body; raises ModelError without a robot."""
    robot, (head, notes) = item.geometry(TREE), item.about()
    placed = links(item, robot, frame="on line")
    numbers_of = [com_numbers(link.body) for link in placed]
    return mat_file({
        "about": "\n".join((*head, *TREE_CONVENTIONS, *notes)),
        "body": np.array(robot.links, dtype=object),
        "joint": np.array(robot.joint_names, dtype=object),
        "jointType": np.array([j.kind for j in robot.joints], dtype=object),
        "parent": np.array([link.parent for link in placed], dtype=object),
        "fixedTransform": np.stack([link.place.matrix for link in placed], axis=-1),
        "jointAxis": np.array([j.axis for j in robot.joints]),
        "Mass": np.array([[m] for m, _, _ in numbers_of]),
        "CenterOfMass": np.array([c for _, c, _ in numbers_of]),
        "Inertia": np.array([link.body for link in placed])[:, [4, 7, 9, 8, 6, 5]],
        "Gravity": np.array([robot.gravity]),
    }), notes  # fmt: skip
