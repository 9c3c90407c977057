"""The notebooks as pages: their text, code and stored output."""

from __future__ import annotations

import json
from typing import Any

from repository import ROOT


def pages() -> dict[str, str]:
    """Return the page of each notebook."""
    return {f"notebooks/{p.stem}.md": _page(p.read_text(encoding="utf-8")) for p in ROOT.glob("notebooks/*.ipynb")}


def _page(stored: str) -> str:
    return "\n\n".join(part for cell in json.loads(stored)["cells"] for part in _cell(cell)) + "\n"


def _cell(cell: dict[str, Any]) -> list[str]:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [text]
    return [_fenced("python", text), *(_output(output) for output in cell["outputs"])]


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return _fenced("text", "".join(output["text"]))
    data = {kind: "".join(content) for kind, content in output["data"].items()}
    if "image/png" in data:
        return f"![What the code above draws](data:image/png;base64,{data['image/png'].strip()})"
    return (
        f"<div markdown='0'>{data['text/html']}</div>" if "text/html" in data else _fenced("text", data["text/plain"])
    )


def _fenced(kind: str, text: str) -> str:
    return f"```{kind}\n{text.rstrip()}\n```"
