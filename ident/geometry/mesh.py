"""The vertices of mesh files, read as untrusted data: nothing that they refer to is opened.

STL and OBJ are read here: the vertices are a dozen lines, and must be all there; trimesh mends what is broken.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ident.arrays import Array
from ident.errors import RobotError
from ident.geometry.collada import collada_points
from ident.robot.xml import read_bytes

LARGEST_MESH = 200_000_000  # bytes
KINDS = ("stl", "obj", "dae")


def mesh_points(path: str | Path) -> Array:
    """Return the vertices (k, 3) of an STL or OBJ file in its own unit, of a COLLADA file in metres.

    Raises RobotError for another ending, and for a file that has none, is no such file, or is not whole.
    """
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise RobotError(f"is none of {', '.join(KINDS)}", file=path, fix="Convert it, for example with Blender")
    data = read_bytes(path, LARGEST_MESH)
    points = collada_points(data, path.name) if kind == "dae" else _vertices(data, kind)
    if points is None:
        raise RobotError(f"cannot be read as {kind.upper()}", file=path, fix="Export it again")
    return points


def _vertices(data: bytes, kind: str) -> Array | None:
    """Return the vertices (k, 3) of an STL or OBJ file, None when it has none or is no such file, or not whole."""
    if kind == "stl" and len(data) >= 84 and len(data) >= 84 + 50 * (count := int.from_bytes(data[80:84], "little")):
        facet = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
        corners = np.frombuffer(data, facet, count, 84)["corners"].reshape(-1, 3)
        points = np.where(np.isfinite(corners), corners, np.inf).astype(np.float64)
    else:
        lines = [line.split() for line in data.splitlines() if line.strip()]
        if kind == "stl" and (not lines or lines[0][0].lower() != b"solid" or lines[-1][0].lower() != b"endsolid"):
            return None
        mark = b"vertex" if kind == "stl" else b"v"
        words = [line[1:4] for line in lines if line[0].lower() == mark]
        try:
            points = np.array([[float(w) for w in line] for line in words if len(line) == 3])
        except ValueError:
            return None
        if len(points) != len(words):
            return None
    return points if len(points) and np.isfinite(points).all() else None
