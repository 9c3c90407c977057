"""Logs: manifests, recordings as measured, checks, and their processing into motions."""

from ident.logs.check import Finding, LogReport, check_log
from ident.logs.decimate import decimate
from ident.logs.fetch import locate
from ident.logs.log import Log, read_log
from ident.logs.manifest import Manifest, read_manifest
from ident.logs.motion import Motion
from ident.logs.process import Processing, process
from ident.logs.readers.convert import Converted, convert
from ident.logs.readers.info import LogInfo, log_info
from ident.logs.stream import iter_logs, iter_motions

__all__ = [
    "Converted",
    "Finding",
    "Log",
    "LogInfo",
    "LogReport",
    "Manifest",
    "Motion",
    "Processing",
    "check_log",
    "convert",
    "decimate",
    "iter_logs",
    "iter_motions",
    "locate",
    "log_info",
    "process",
    "read_log",
    "read_manifest",
]
