"""How nouns show themselves: ten lines at most in a terminal, a table in a notebook."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, TypeVar

#: A title, column heads ("" where a column needs none) and rows.
Shown = tuple[str, tuple[str, ...], Sequence[tuple[str, ...]]]

#: Rows that a terminal shows, and a notebook.
ROWS, ROWS_HTML = 8, 200
_WIDTH = 60  # of a cell in a terminal

T = TypeVar("T", bound=type)


def shows(noun: T) -> T:
    """Give a class its short `repr` and its HTML table: of its fields, or of what its method `shown` returns."""
    setattr(noun, "__repr__", as_text)  # noqa: B010
    setattr(noun, "_repr_html_", as_html)  # noqa: B010
    return noun


def as_text(noun: Any) -> str:
    """Return the title and the first rows, ten lines at most."""
    title, columns, rows = shown(noun)
    more = len(rows) - (ROWS - 1) if len(rows) > ROWS else 0
    some = [tuple(_cut(cell) for cell in row) for row in rows[: len(rows) - more]]
    return "\n".join([title, *text_lines(columns, some), *([f"... and {more} more"] if more else [])])


def text_lines(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return rows as aligned lines, under a line of heads where there are any."""
    lines = [columns, *rows] if any(columns) and rows else list(rows)
    widths = [max(len(line[k]) for line in lines) for k in range(len(columns))] if lines else []
    return ["  " + "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines]


def as_html(noun: Any) -> str:
    """Return the title and the rows as a table."""
    title, columns, rows = shown(noun)
    lines = [(columns, "th"), *((row, "td") for row in rows[:ROWS_HTML])]
    body = "".join(f"<tr>{''.join(f'<{tag}>{escape(c)}</{tag}>' for c in cells)}</tr>" for cells, tag in lines)
    return f"<p>{escape(title)}</p><table>{body}</table>"


def shown(noun: Any) -> Shown:
    """Return what is to be shown of a noun."""
    if hasattr(noun, "shown"):
        found: Shown = noun.shown()
        return found
    values = {f.name: getattr(noun, f.name) for f in dataclasses.fields(noun)}
    empty = (str, Mapping, tuple, list, type(None))
    rows = [(name, _brief(value)) for name, value in values.items() if not isinstance(value, empty) or value]
    return type(noun).__name__, ("", ""), rows


def _brief(value: Any) -> str:
    """Return one line: of arrays the shape, of lists and tables their names."""
    if hasattr(value, "shape") and getattr(value, "size", 0) > 4:
        return f"array {value.shape}"
    if isinstance(value, Mapping | tuple | list):
        return f"{len(value)}: {_names(value)}"
    if dataclasses.is_dataclass(value):
        return str(getattr(value, "name", "")) or _names(getattr(value, "names", [type(value).__name__]))
    return _cut(value)


def _names(values: Iterable[Any]) -> str:
    return _cut(
        ", ".join(str(getattr(v, "name", type(v).__name__ if dataclasses.is_dataclass(v) else v)) for v in values)
    )


def _cut(cell: Any) -> str:
    text = " ".join(str(cell).split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."
