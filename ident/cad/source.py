"""CAD numbers from whatever holds them: a table, the inertials of a URDF or MJCF, a sheet or a folder of sheets.

Descriptions are read as untrusted data, each link or body by itself. Source: MuJoCo's XML reference, body/inertial:
mass; pos, the centre in the body frame; quat (w x y z), the axes of diaginertia; fullinertia = Ixx Iyy Izz Ixy Ixz Iyz
with tensor signs, along the body frame; SI.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ident.arrays import Array
from ident.cad.read import read_cad
from ident.cad.sheets.read import read_sheets
from ident.cad.sheets.sheet import Products
from ident.cad.table import Cad
from ident.errors import CadError, RobotError
from ident.robot.urdf import parse_document
from ident.robot.xml import Element, parse_xml, read_bytes
from ident.spatial.inertia import Pose, from_com

if TYPE_CHECKING:
    from ident.robot.robot import Robot

DESCRIPTIONS = (".urdf", ".xml", ".mjcf")


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
    line and element, also for what would change an MJCF's numbers unseen: inertiafromgeom, balanceinertia, boundmass,
    boundinertia, settotalmass, <include> and other orientations than quat.
    """
    path = Path(path)
    try:
        data = read_bytes(path)
        root = parse_xml(data, file=path.name)
        links = [] if root.tag == "mujoco" else parse_document(data, file=path.name).links.values()
    except RobotError as cause:
        raise CadError(cause.problem, file=path, line=cause.line, key=cause.key, fix=cause.fix) from cause
    given = [(link.name, link.inertial) for link in links if link.inertial is not None]
    if root.tag == "mujoco" and not (given := list(_bodies(root, path))):
        raise CadError("no body has an <inertial>", file=path, fix="Save the compiled model, which has them")
    if not given:
        raise CadError("no link has an <inertial>", file=path)
    names, inertials = zip(*given, strict=True)
    return Cad(tuple(names), np.array(inertials), path.name, hashlib.sha256(data).hexdigest())


_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_KNOWN = ("pos", "quat", "mass", "diaginertia", "fullinertia")


def _bodies(element: Element, path: Path) -> Iterator[tuple[str, Array]]:
    """Yield name and inertial (10,) of each body of an MJCF file that has one, in its own frame."""
    for child in element.children:
        if child.tag in ("include", "attach", "replicate"):
            raise CadError(f"<{child.tag}> is not followed", file=path, line=child.line, fix="Save one complete file")
        if child.tag == "compiler":
            _compiler(child, path)
        if child.tag == "inertial" and element.tag == "body":
            if "name" not in element.attributes:
                raise CadError("a body with <inertial> has no name", file=path, line=element.line, fix="Name it")
            yield element.attributes["name"].value, _inertial(child, path)
        yield from _bodies(child, path)


def _compiler(element: Element, path: Path) -> None:
    harmless = {"inertiafromgeom": ("false", "auto"), "balanceinertia": ("false",)}
    for key in ("inertiafromgeom", "balanceinertia", "boundmass", "boundinertia", "settotalmass"):
        given = element.attributes.get(key)
        if given is not None and given.value not in harmless.get(key, ("0", "-1")):
            raise CadError(
                f'{key}="{given.value}" makes MuJoCo change the inertials', file=path, line=given.line, fix="Remove it"
            )


def _inertial(element: Element, path: Path) -> Array:
    from scipy.spatial.transform import Rotation

    for key, attribute in element.attributes.items():
        if key not in _KNOWN:
            fix = "Write the orientation as quat"
            raise CadError(f"<inertial> with {key} is not read", file=path, line=attribute.line, fix=fix)
    if ("diaginertia" in element.attributes) == ("fullinertia" in element.attributes):
        raise CadError("<inertial> wants one of diaginertia and fullinertia", file=path, line=element.line)
    (mass,) = _numbers(element, "mass", 1, path)
    pos = _numbers(element, "pos", 3, path)
    if "fullinertia" in element.attributes:
        if "quat" in element.attributes:
            raise CadError("fullinertia and quat exclude each other", file=path, line=element.line)
        xx, yy, zz, xy, xz, yz = _numbers(element, "fullinertia", 6, path)
        return from_com(mass, pos, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    quat = _numbers(element, "quat", 4, path) if "quat" in element.attributes else [1.0, 0.0, 0.0, 0.0]
    if math.hypot(*quat) < 1e-9:
        raise CadError("quat is zero", file=path, line=element.line)
    turn = Rotation.from_quat([*quat[1:], quat[0]]).as_matrix()
    return from_com(mass, pos, turn @ np.diag(_numbers(element, "diaginertia", 3, path)) @ turn.T)


def _numbers(element: Element, key: str, count: int, path: Path) -> list[float]:
    attribute = element.attributes.get(key)
    words = attribute.value.split() if attribute else []
    if len(words) != count or not all(_NUMBER.fullmatch(w) and abs(float(w)) < 1e12 for w in words):
        given = f'{key}="{attribute.value[:40]}"' if attribute else f"no {key}"
        line = attribute.line if attribute else element.line
        raise CadError(f"<inertial> has {given}, wanted {count} finite numbers", file=path, line=line)
    return [float(w) for w in words]
