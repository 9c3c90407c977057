"""Run the notebooks and store them with what they print and draw: python notebooks/execute.py [NAME ...]."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


def executed(*paths: Path) -> list[nbformat.NotebookNode]:
    """Return notebooks of one folder with the outputs of a run there, without anything that differs from run to run.

    One kernel runs them all, one after the other, and forgets all names before each.
    """
    notebooks = [nbformat.read(path, as_version=4) for path in paths]
    one = nbformat.v4.new_notebook(metadata=notebooks[0].metadata)
    for notebook in notebooks:
        one.cells += [nbformat.v4.new_code_cell("%reset -f"), *notebook.cells]
    where = {"metadata": {"path": paths[0].parent}}
    NotebookClient(one, timeout=600, record_timing=False, resources=where).execute()
    for notebook in notebooks:
        notebook.metadata.pop("language_info", None)  # the version of Python
        for count, cell in enumerate([c for c in notebook.cells if c.cell_type == "code"], 1):
            cell.execution_count = count
            cell.outputs = [_kept(output, count) for output in cell.outputs]
    return notebooks


def _kept(output: nbformat.NotebookNode, count: int) -> nbformat.NotebookNode:
    if "execution_count" in output:
        output.execution_count = count
    if "data" in output and "image/png" in output.data:
        output.data.pop("text/plain", None)  # the figure's address in memory
    return output


if __name__ == "__main__":
    for path in sorted(HERE.glob("*.ipynb")):
        if len(sys.argv) == 1 or path.name in sys.argv[1:]:
            nbformat.write(executed(path)[0], path)
            print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")
