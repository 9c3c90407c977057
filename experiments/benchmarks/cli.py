"""`import ident`, `ident --help`, and a first run with an empty compilation cache against a later one.

python experiments/benchmarks/cli.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]


def timed(arguments: list[str], **environment: str) -> float:
    """Return the wall-clock seconds of one `ident` command."""
    start = time.perf_counter()
    command = [sys.executable, "-c", "from ident.cli.main import main; main()", *arguments]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | environment)
    return time.perf_counter() - start


def imported(statement: str) -> float:
    """Return the wall-clock seconds of a Python that runs one statement."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def main() -> None:
    bare, with_ident = (min(imported(s) for _ in range(5)) for s in ("pass", "import ident"))
    print(f"import ident       {with_ident - bare:.3f} s")
    print(f"ident --help       {min(timed(['--help']) for _ in range(5)):.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        run = ["run", str(ROOT / "experiments" / "arm5"), "--out", str(Path(folder) / "out")]
        cache = str(Path(folder) / "cache")
        first, *later = (timed(run, NUMBA_CACHE_DIR=cache) for _ in range(3))
    print(f"ident run arm5     first {first:.1f} s, later {min(later):.1f} s, compilation {first - min(later):.1f} s")


if __name__ == "__main__":
    main()
