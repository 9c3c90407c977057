"""The blocks of the repository's Markdown pages and of its notebooks' texts, each by its kind."""

import json
import re
from pathlib import Path
from typing import NamedTuple

from logs_data import ROOT

#: The beginning of a line that somebody types.
COMMAND = re.compile(r"(?:\w+=\S+ )*(?:export|ident|make|python) \S")


class Block(NamedTuple):
    """A block of a page. Its kind is the word behind the fence; of an indented one "commands" or "output"."""

    page: str
    kind: str
    text: str


def _texts() -> dict[str, str]:
    """Return every page by its path, in the order in which a reader meets them; the changelog tells the past."""
    rooms = [p for room in ("docs", "ident", "datasets", "experiments") for p in sorted((ROOT / room).rglob("*.md"))]
    first = [ROOT / "README.md", ROOT / "docs" / "guide" / "files.md"]
    pages = dict.fromkeys([*first, *rooms, *sorted(ROOT.glob("*.md"))])
    del pages[ROOT / "CHANGELOG.md"]
    texts = {p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for p in pages}
    return texts | {p.relative_to(ROOT).as_posix(): _told(p) for p in sorted((ROOT / "notebooks").glob("*.ipynb"))}


def _told(notebook: Path) -> str:
    """Return what a notebook says between its code."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def _found(page: str, text: str) -> list[Block]:
    """Return the blocks of a page in their order: fenced ones, and indented ones below an empty line."""
    blocks = []
    fenced, indented = r"^ *```(.*)\n((?:.*\n)*?) *```$", r"(?:(?<=\n\n)|\A)(?: {4}.*\n?|\n(?= {4}))+"
    for block in re.finditer(f"{fenced}|{indented}", text, re.MULTILINE):
        if block[1] is None:
            inside = re.sub(r"^ {4}(\$ )?", "", block[0], flags=re.MULTILINE)
            blocks.append(Block(page, "commands" if COMMAND.match(inside) else "output", inside))
        else:
            blocks.append(Block(page, block[1], block[2]))
    return blocks


TEXTS = _texts()
BLOCKS = [block for page, text in TEXTS.items() for block in _found(page, text)]


def blocks(kind: str) -> list[Block]:
    """Return the blocks of a kind, of all pages."""
    return [block for block in BLOCKS if block.kind == kind]


def typed(block: Block) -> list[str]:
    """Return the lines of a block that somebody types, without the remarks behind them."""
    lines = re.sub(r"\\\n *", "", block.text).splitlines()
    return [re.split("  +", line)[0] for line in lines if COMMAND.match(line)]


def inline() -> list[tuple[str, str]]:
    """Return the page and the text of each command in prose."""
    prose = ((page, re.sub(r"^ *```.*?```", "", text, flags=re.DOTALL | re.MULTILINE)) for page, text in TEXTS.items())
    spans = ((page, " ".join(span.split())) for page, text in prose for span in re.findall(r"`([^`]+)`", text))
    return [(page, span) for page, span in spans if COMMAND.match(span)]
