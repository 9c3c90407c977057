"""Every notebook runs, and is stored with what it prints and draws."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HERE = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(HERE.glob("*.ipynb"))
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


@pytest.fixture(scope="module")
def execute():
    spec = importlib.util.spec_from_file_location("execute", HERE / "execute.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shown(notebook) -> list[tuple[str, bool, bool]]:
    """Return the text of each cell, whether it has a picture, and whether its numbers come from a search.

    Which local optimum a search ends in depends on the machine's rounding; such cells carry the tag "search", and hold
    their own assertions.
    """
    found = []
    for cell in notebook["cells"]:
        outputs = cell.get("outputs", [])
        texts = [o["text"] if "text" in o else o["data"].get("text/plain", "") for o in outputs]
        picture = any("image/png" in o.get("data", {}) for o in outputs)
        found.append(("".join("".join(text) for text in texts), picture, "search" in cell["metadata"].get("tags", [])))
    return found


def same_text(one: str, other: str) -> bool:
    """Say whether two outputs have the same words, and numbers that differ by no more than machines do."""
    words = [NUMBER.sub("#", text).split() for text in (one, other)]
    numbers = [[float(x) for x in NUMBER.findall(text)] for text in (one, other)]
    return words[0] == words[1] and numbers[0] == pytest.approx(numbers[1], rel=0.02, abs=1e-6)


def test_there_are_notebooks():
    assert NOTEBOOKS


def test_notebooks_print_and_draw_what_is_stored(execute):
    for path, found in zip(NOTEBOOKS, execute.executed(*NOTEBOOKS), strict=True):
        assert path.stat().st_size < 2**20
        stored = shown(json.loads(path.read_text(encoding="utf-8")))
        for (text, picture, searched), (kept, kept_picture, _) in zip(shown(found), stored, strict=True):
            same = bool(text) == bool(kept) if searched else same_text(text, kept)
            assert same, f"{path.name}: {text}\n--- stored\n{kept}"
            assert picture == kept_picture, path.name


def test_other_numbers_are_told_apart():
    assert same_text("mass 120.07 +- 0.12 g", "mass 120.08 +- 0.12 g")
    assert not same_text("mass 120.07 +- 0.12 g", "mass 130.07 +- 0.12 g")
    assert not same_text("mass 120.07 +- 0.12 g", "mass 120.07 +- 0.12 kg")
