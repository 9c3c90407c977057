"""Logs: manifests, recordings as measured, checks, and their processing into motions."""

from ident.logs.check import Finding as Finding
from ident.logs.check import LogReport as LogReport
from ident.logs.check import check_log as check_log
from ident.logs.filter import decimate as decimate
from ident.logs.log import Log as Log
from ident.logs.log import locate as locate
from ident.logs.log import read_log as read_log
from ident.logs.manifest import Manifest as Manifest
from ident.logs.manifest import read_manifest as read_manifest
from ident.logs.motion import Motion as Motion
from ident.logs.process import Processing as Processing
from ident.logs.process import process as process
from ident.logs.readers.info import Converted as Converted
from ident.logs.readers.info import LogInfo as LogInfo
from ident.logs.readers.info import convert as convert
from ident.logs.readers.info import log_info as log_info
from ident.logs.stream import iter_logs as iter_logs
from ident.logs.stream import iter_motions as iter_motions
