"""One call for every target: the path's ending chooses it."""

from __future__ import annotations

from pathlib import Path

from ident.errors import InputError
from ident.estimate.estimate import Estimate
from ident.export.json import export_json
from ident.export.parameters import Exported
from ident.export.urdf import export_urdf
from ident.robot.robot import Robot

ENDINGS = (".json", ".urdf")


def export(
    estimate: Estimate, path: str | Path, *, robot: Robot | None = None, source_urdf: str | Path | None = None
) -> Exported:
    """Write the parameters to `path`: JSON for .json, URDF for .urdf. See `export_json`, `export_urdf`.

    Raises InputError for another ending.
    """
    ending = Path(path).suffix.lower()
    if ending == ".json":
        return export_json(estimate, path, robot=robot)
    if ending == ".urdf":
        return export_urdf(estimate, path, source_urdf=source_urdf, robot=robot)
    raise InputError(f"there is no export to '{ending}'", file=path, fix=f"Use one of {', '.join(ENDINGS)}")
