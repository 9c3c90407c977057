"""How nouns show themselves: ten lines at most in a terminal, a table in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, Protocol, TypeVar

#: Rows that a terminal shows; a notebook shows ROWS_HTML.
ROWS, ROWS_HTML = 8, 200
_WIDTH = 44  # of a cell in a terminal


#: A title, column heads ("" where a column needs none) and rows.
Shown = tuple[str, tuple[str, ...], Sequence[tuple[str, ...]]]


class Shows(Protocol):
    """A noun that says what is to be shown of it."""

    def shown(self) -> Shown:
        """Return it."""
        ...


T = TypeVar("T", bound=type[Shows])


def shows(noun: T) -> T:
    """Give a class its short `repr` and its HTML table, made of its method `shown`."""
    setattr(noun, "__repr__", as_text)  # noqa: B010
    setattr(noun, "_repr_html_", as_html)  # noqa: B010
    return noun


def as_text(noun: Shows) -> str:
    """Return the title and the first rows, ten lines at most."""
    title, columns, rows = noun.shown()
    some = rows if len(rows) <= ROWS else rows[: ROWS - 1]
    told = [title, *text_lines(columns, [tuple(_cut(cell) for cell in row) for row in some])]
    return "\n".join(told if len(rows) <= ROWS else [*told, f"... and {len(rows) - len(some)} more"])


def text_lines(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return rows as aligned lines, under a line of heads where there are any."""
    lines = [columns, *rows] if any(columns) and rows else list(rows)
    widths = [max(len(line[k]) for line in lines) for k in range(len(columns))] if lines else []
    return ["  " + "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines]


def as_html(noun: Shows) -> str:
    """Return the title and the rows as a table."""
    title, columns, rows = noun.shown()
    heads = "".join(f"<th>{escape(c)}</th>" for c in columns)
    cells = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows[:ROWS_HTML]]
    left = f"<p>... and {len(rows) - ROWS_HTML} more</p>" if len(rows) > ROWS_HTML else ""
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<p>{escape(title)}</p><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{left}"


def _cut(cell: Any) -> str:
    text = " ".join(str(cell).split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."
