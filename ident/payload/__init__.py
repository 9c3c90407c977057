"""The load that a robot carries, and drive gains from a load of known mass."""

from ident.payload.drive_gains import DriveGains as DriveGains
from ident.payload.drive_gains import drive_gains as drive_gains
from ident.payload.payload import IdentifiedPayload as IdentifiedPayload
from ident.payload.payload import identify_payload as identify_payload
from ident.payload.payload import identify_payload_against as identify_payload_against
