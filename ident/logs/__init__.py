"""Logs: manifests, recordings as measured, checks, and their processing into motions."""

import lazy_loader

from ident.logs.process import process  # noqa: F401  the file of that name would take its place

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
