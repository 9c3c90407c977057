"""How long work says how far it is."""

from __future__ import annotations

from collections.abc import Callable

#: Called with what is being done, how much of it is done, and how much there is.
Tell = Callable[[str, int, int], None]


def silent(doing: str, done: int, total: int) -> None:
    """Do nothing: the `Tell` of callers who do not want to know."""
