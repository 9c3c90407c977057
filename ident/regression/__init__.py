"""Base parameters and the factors of a regression."""

import lazy_loader

from ident.regression.compress import compress  # noqa: F401  the file of that name would take its place

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
