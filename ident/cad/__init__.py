"""CAD tables and mass-property reports: conventions, units, what they tell by themselves, physical consistency."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
