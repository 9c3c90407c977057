"""What a command answers to a program: one JSON document, described by `answers.schema.json`.

A changed meaning, or a key that goes, is a new number behind the command's name; a new key is not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from ident.pipelines.answers import plain

#: The number behind a command's name where it is not 1.
VERSIONS: dict[str, int] = {}


@dataclass
class Asked:
    """How one command shall answer, and the parts of its answer."""

    json: bool = False
    quiet: bool = False
    parts: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> bool:
        """Whether results are printed for people."""
        return not (self.json or self.quiet)

    def document(self, command: str, code: int, failed: BaseException | None) -> str:
        """Return the answer of a command (such as "cad read") that ended with an exit code, or its error."""
        name = "error" if failed is not None else command.replace(" ", ".")
        head = {"schema": f"ident.{name}/{VERSIONS.get(name, 1)}", "exit_code": code}
        return json.dumps(head | (self.parts if failed is None else plain(failed)), ensure_ascii=False)


_ASKED: ContextVar[Asked] = ContextVar("asked", default=Asked())  # noqa: B039  what nobody changes


def asked() -> Asked:
    """Return how the command that runs shall answer."""
    return _ASKED.get()


@contextmanager
def answering(as_json: bool, quiet: bool) -> Iterator[Asked]:
    """Let what runs inside answer so."""
    before = _ASKED.set(Asked(as_json, quiet))
    try:
        yield _ASKED.get()
    finally:
        _ASKED.reset(before)


def answer(**parts: Any) -> None:
    """Add parts to the answer of the command that runs, where a program reads it."""
    if asked().json:
        asked().parts |= plain(parts)
