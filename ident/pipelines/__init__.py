"""One function for each command of `ident`, whole: it takes files, does all the work, and returns what was found.

`__init__.pyi` names them; each is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
