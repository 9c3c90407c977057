"""How work says how far it is, and what is to be known of it: the logger `ident`, which nobody has to hear."""

from __future__ import annotations

import logging
from collections.abc import Callable

#: Progress is told at the level DEBUG, notes at INFO, warnings at WARNING. Without a handler nothing is printed.
LOG = logging.getLogger("ident")
LOG.addHandler(logging.NullHandler())

#: Called with what is being done, how much of it is done, and how much there is.
Tell = Callable[[str, int, int], None]


def logged(doing: str, done: int, total: int) -> None:
    """Log how far work is: the `Tell` of callers who give none."""
    LOG.debug("%s: %d of %d", doing, done, total)
