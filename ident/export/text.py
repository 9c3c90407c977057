"""Names and numbers as text of the languages that are written: untrusted names stay data."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from ident.errors import ModelError

if TYPE_CHECKING:
    from jinja2 import Environment


def number(value: float) -> str:
    """Return a number with all its digits, and no -0."""
    return repr(float(value) + 0.0)


def numbers(values: Iterable[float], between: str = " ") -> str:
    """Return numbers with all their digits."""
    return between.join(number(v) for v in values)


def plain(text: str) -> str:
    """Return text that stays on its line in any comment: no control characters, no backslash at an end."""
    return "".join(c if c.isprintable() else " " for c in text).replace("\\", "/")


def comment(lines: Iterable[str], mark: str) -> list[str]:
    """Return the lines behind a comment mark such as '#', '%' or '//'."""
    return [f"{mark} {plain(line)}".rstrip() for line in lines]


def xml_comment(lines: Iterable[str]) -> str:
    """Return an XML comment, which must not hold two hyphens in a row."""
    body = "\n  ".join(escape(plain(line)).replace("--", "- -") for line in lines)
    return f"<!-- {body} -->"


def quoted(text: str) -> str:
    """Return a string in double quotes for JSON, YAML and C++."""
    if any(not c.isprintable() for c in text):
        raise ModelError(f"the name {text!r} holds characters that no program takes", fix="Rename the link or joint")
    return json.dumps(text, ensure_ascii=False)


def matlab(text: str) -> str:
    """Return a MATLAB character vector."""
    if any(not c.isprintable() for c in text):
        raise ModelError(f"the name {text!r} holds characters that no program takes", fix="Rename the link or joint")
    return "'" + text.replace("'", "''") + "'"


def rows(matrix: Iterable[Iterable[float]]) -> str:
    """Return a matrix as MATLAB writes it."""
    return "[" + "; ".join(numbers(row) for row in matrix) + "]"


def filled(template: str, **values: Any) -> str:
    """Return a template of this folder with its values; what they hold is not read as a template again."""
    return templates(keep_trailing_newline=True).get_template(template).render(values)


@functools.cache
def templates(package: str = "ident.export", **options: Any) -> Environment:
    """Return the templates of a package, with the functions of this module as filters; each is compiled once."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader(package, ""), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, **options
    )
    found.filters |= {f.__name__: f for f in (number, numbers, plain, quoted, matlab, rows, escape, repr)}
    found.filters["attribute"] = quoteattr
    return found
