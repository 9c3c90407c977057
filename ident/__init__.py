"""Dynamic parameters of robots: regressors, identification, comparison with CAD.

`__init__.pyi` names all that is public; each is imported when it is first used, so that `import ident` itself is quick.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
