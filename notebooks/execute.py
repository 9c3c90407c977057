"""Run the notebooks and store them with what they print and draw: python notebooks/execute.py [NAME ...]."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


def executed(path: Path) -> nbformat.NotebookNode:
    """Return a notebook with the outputs of a run in its own folder, without anything that differs from run to run."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, record_timing=False, resources={"metadata": {"path": path.parent}}).execute()
    notebook.metadata.pop("language_info", None)  # the version of Python
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [_kept(output) for output in cell.outputs]
    return notebook


def _kept(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    if "data" in output and "image/png" in output.data:
        output.data.pop("text/plain", None)  # the figure's address in memory
    return output


if __name__ == "__main__":
    for path in sorted(HERE.glob("*.ipynb")):
        if len(sys.argv) == 1 or path.name in sys.argv[1:]:
            nbformat.write(executed(path), path)
            print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")
