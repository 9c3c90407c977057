"""CAD numbers from whatever holds them: a table, the inertials of a URDF or MJCF, a sheet or a folder of sheets.

Descriptions are read as untrusted data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ident.arrays import Array
from ident.cad.read import read_cad
from ident.cad.table import Cad
from ident.errors import CadError, RobotError
from ident.robot.robot import DESCRIPTIONS
from ident.spatial.inertia import Pose

if TYPE_CHECKING:
    from ident.cad.sheets.sheet import Products
    from ident.robot.robot import Robot
    from ident.robot.xml import Element


def is_sheet(source: Path) -> bool:
    """Tell whether a path is one mass-property report, and no table, description or folder."""
    return not source.is_dir() and source.suffix.lower() not in (".csv", ".toml", *DESCRIPTIONS)


def read_source(
    source: Path, robot: Robot | None = None, frames: Mapping[str, Pose] | None = None, products: Products | None = None
) -> Cad:
    """Return any source as a table of links; `frames` and `products` are for sheets, see `read_sheets`.

    Given `robot`, it must have these links. Raises CadError.
    """
    if source.is_dir() or is_sheet(source):
        from ident.cad.sheets.read import read_sheets

        return read_sheets(source, robot, frames, products)
    if products is not None or frames is not None:
        option = "--products" if products is not None else "--frames"
        raise CadError("is for reports; a table declares its own convention", key=option, file=source)
    cad = read_inertials(source) if source.suffix.lower() in DESCRIPTIONS else read_cad(source)
    if robot is not None:
        cad.for_robot(robot)
    return cad


def read_inertials(path: str | Path) -> Cad:
    """Return the links of a URDF or the bodies of an MJCF file that have an <inertial>; the root element tells which.

    Bodies of an MJCF file without one get their inertia from geoms in MuJoCo and are left out. Raises CadError naming
    line and element, also for what would change an MJCF's numbers unseen, see `Mjcf`.
    """
    from ident.robot.urdf import parse_document
    from ident.robot.xml import parse_xml, read_bytes

    path = Path(path)
    try:
        data = read_bytes(path)
        root = parse_xml(data, file=path.name)
        if root.tag == "mujoco":
            given = dict(_bodies(root, path.name))
        else:
            links = parse_document(data, file=path.name).links.values()
            given = {link.name: link.inertial for link in links if link.inertial is not None}
    except RobotError as cause:
        raise CadError(cause.problem, file=path, line=cause.line, key=cause.key, fix=cause.fix) from cause
    if not given:
        kind, fix = ("body", "Save the compiled model, which has them") if root.tag == "mujoco" else ("link", None)
        raise CadError(f"no {kind} has an <inertial>", file=path, fix=fix)
    return Cad(tuple(given), np.array(list(given.values())), path.name, hashlib.sha256(data).hexdigest())


def _bodies(root: Element, file: str) -> Iterator[tuple[str, Array]]:
    """Yield name and inertial (10,) of each body of an MJCF file that has one, in its own frame."""
    from ident.robot.mjcf import Mjcf

    found = Mjcf(file, root)
    for name, body in found.bodies.items():
        if body.inertial is not None:
            element = found.elements[name]
            inertial = element.all("inertial")[0]
            if "name" not in element.attributes:
                raise found.at.error("a body with <inertial> has no name", element, "Name it")
            if not {"diaginertia", "fullinertia"} & inertial.attributes.keys():
                raise found.at.error("<inertial> wants one of diaginertia and fullinertia", inertial)
            yield name, body.inertial
