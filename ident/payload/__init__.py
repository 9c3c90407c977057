"""The load that a robot carries, and drive gains from a load of known mass."""

from ident.payload.drive_gains import DriveGains, drive_gains
from ident.payload.payload import IdentifiedPayload, identify_payload, identify_payload_against

__all__ = ["DriveGains", "IdentifiedPayload", "drive_gains", "identify_payload", "identify_payload_against"]
