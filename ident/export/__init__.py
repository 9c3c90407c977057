"""Files for controllers and simulators, one target per module."""

from ident.export.export import export
from ident.export.json import export_json
from ident.export.parameters import Exported
from ident.export.urdf import export_urdf

__all__ = ["Exported", "export", "export_json", "export_urdf"]
