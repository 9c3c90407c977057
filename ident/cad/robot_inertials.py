"""The inertials of a URDF or MJCF file as a CAD table, each link or body by itself."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from ident.cad.mjcf_inertials import read_mjcf_inertials
from ident.cad.table import Cad
from ident.errors import CadError, RobotError
from ident.robot.urdf import parse_document
from ident.robot.xml import parse_xml, read_bytes


def read_inertials(path: str | Path) -> Cad:
    """Return the links of a URDF that have an <inertial>, or the bodies of an MJCF file; the root element tells which.

    Raises CadError naming line and element.
    """
    path = Path(path)
    try:
        data = read_bytes(path)
        if parse_xml(data, file=path.name).tag == "mujoco":
            return read_mjcf_inertials(path)
        links = parse_document(data, file=path.name).links.values()
    except RobotError as cause:
        raise CadError(cause.problem, file=path, line=cause.line, key=cause.key, fix=cause.fix) from cause
    given = [(link.name, link.inertial) for link in links if link.inertial is not None]
    if not given:
        raise CadError("no link has an <inertial>", file=path)
    names, inertials = zip(*given, strict=True)
    return Cad(tuple(names), np.array(inertials), path.name, hashlib.sha256(data).hexdigest())
