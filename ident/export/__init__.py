"""Files for controllers and simulators, one template or module a target."""

from ident.export.formats import FORMATS as FORMATS
from ident.export.formats import PAYLOAD_FORMATS as PAYLOAD_FORMATS
from ident.export.formats import Format as Format
from ident.export.formats import PayloadFormat as PayloadFormat
from ident.export.formats import export_payload as export_payload
from ident.export.formats import export_to as export_to
from ident.export.formats import format_named as format_named
from ident.export.formats import listing as listing
from ident.export.formats import payload_format_named as payload_format_named
from ident.export.gate import with_validation as with_validation
from ident.export.identified import Exported as Exported
from ident.export.identified import exportable as exportable
from ident.export.payload import Payload as Payload
from ident.export.payload import identified_load as identified_load
from ident.export.payload import payload_of as payload_of
