"""Parameters as JSON that explains itself: names, units, frame, point, signs, who decided on each number."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ident.compare.cad import decided_by
from ident.export.digits import deserved_base
from ident.export.identified import Identified, Written
from ident.model.term import Kind
from ident.model.terms import kinds
from ident.robot.robot import Robot
from ident.robot.urdf_write import com_numbers
from ident.spatial.inertia import INERTIAL

FORMAT = "ident-parameters-1"

CONVENTIONS = {
    "units": "SI, rad",
    "frame": "each link's own frame, as the robot's description (DH table or URDF) defines it",
    "first_moment": "hx, hy, hz = m * centre of mass in the link frame",
    "tensor_point": "Ixx .. Izz: about the link frame's ORIGIN; about_com: about the centre of mass, link-frame axes",
    "products_of_inertia": "entries of the inertia tensor: Ixy = -integral of x y dm",
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
        "format": FORMAT,
        "about": list(item.head),
        "robot": estimate.robot,
        "estimator": estimate.estimator,
        "conventions": {**CONVENTIONS, "gravity_m_s2": None if robot is None else robot.gravity.tolist()},
        "links": [_link(link, theta[10 * i : 10 * i + 10], decided) for i, link in enumerate(estimate.links)],
        "joint_terms": [
            _term(name, None if name in item.unknown else float(theta[k]), decided[name], robot)
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
        "warnings": list(estimate.warnings),
        "provenance": dict(estimate.provenance),
    }
    return Written(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


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


def _term(name: str, value: float | None, decided: str, robot: Robot | None) -> dict[str, Any]:
    joint, _, kind = name.rpartition(".")
    term = kinds().get(kind, Kind(kind, kind, kind, ("SI", "SI")))
    moves = {} if robot is None else {j.name: j.kind for j in robot.joints}
    unit = term.unit(moves.get(joint, ""))
    return {"name": name, "of": joint, "value": value, "unit": unit, "meaning": term.law, "decided_by": decided}
