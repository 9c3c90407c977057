"""The text of a line of bytes, whose encoding no file says."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import BinaryIO

#: What lines that are no UTF-8 are taken for: what Excel and other programs write on Windows in Europe's west.
WESTERN = "cp1252"
#: What no line of text in it has: control characters, and three of its further characters side by side, as other
#: alphabets and files of numbers do.
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]|[\x80-\xff]{3}")
#: Marks at the beginning of files: of some in UTF-8, of those in UTF-16.
MARK, _MARKS_16 = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")


def opened(path: Path) -> BinaryIO:
    """Return a file of text to read as bytes; one in UTF-16, which its mark says, as if it were in UTF-8."""
    stream = path.open("rb")
    mark = stream.read(2)
    stream.seek(0)
    return codecs.EncodedFile(stream, "utf-8", "utf-16", errors="replace") if mark in _MARKS_16 else stream


def decoded(line: bytes) -> tuple[str, str]:
    """Return the text of a line, without a mark of UTF-8 before it, and its encoding: "utf-8", or else WESTERN.

    Raises UnicodeDecodeError for a line that is text in neither.
    """
    try:
        return line.removeprefix(MARK).decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        if line.startswith(_MARKS_16) or _NO_TEXT.search(line):
            raise
        return line.decode(WESTERN), WESTERN


def note(encoding: str) -> str:
    """Return what the user should know of a file with lines in an encoding, "" for nothing."""
    return "" if encoding == "utf-8" else "no UTF-8 text, and read as Windows-1252, as Excel writes it"
