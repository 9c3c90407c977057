"""Files for controllers and simulators, one target per module."""

from ident.export.formats import (
    FORMATS,
    PAYLOAD_FORMATS,
    Format,
    PayloadFormat,
    export_payload,
    export_to,
    format_named,
    listing,
    payload_format_named,
)
from ident.export.gate import with_validation
from ident.export.parameters import Exported, exportable
from ident.export.payload import Payload, identified_load, payload_of

__all__ = [
    "FORMATS",
    "PAYLOAD_FORMATS",
    "Exported",
    "Format",
    "Payload",
    "PayloadFormat",
    "export_payload",
    "export_to",
    "exportable",
    "format_named",
    "identified_load",
    "listing",
    "payload_format_named",
    "payload_of",
    "with_validation",
]
