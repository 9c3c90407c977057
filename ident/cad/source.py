"""CAD numbers from whatever holds them: a table, the inertials of a URDF or MJCF, a sheet or a folder of sheets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ident.cad.read import read_cad
from ident.cad.robot_inertials import read_inertials
from ident.cad.sheets.read import read_sheets
from ident.cad.sheets.sheet import Products
from ident.cad.table import Cad
from ident.errors import CadError
from ident.spatial.pose import Pose

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
