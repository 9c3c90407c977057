"""Every notebook runs, and is stored without output."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

#: What a notebook searches for longer than a test has to, and not by the clock.
QUICKER = {"02_excitation.ipynb": (("starts=2", "starts=1"), ("seconds=15.0", "seconds=1e9"))}
NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.name)
def test_notebook_runs_and_holds_no_output(path, monkeypatch, capsys):
    cells = [c for c in json.loads(path.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
    assert all(c["outputs"] == [] and c["execution_count"] is None for c in cells)
    code = "\n".join("".join(c["source"]) for c in cells)
    for slow, quick in QUICKER.get(path.name, ()):
        assert slow in code
        code = code.replace(slow, quick)
    monkeypatch.chdir(path.parent)
    exec(compile(code, path.name, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out
