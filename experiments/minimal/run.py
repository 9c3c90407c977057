"""Run the minimal experiments to a report, and print what came out.

python experiments/minimal/run.py
python experiments/minimal/run.py kr300 tiago
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from ident.errors import IdentError
from ident.experiment import read_experiment
from ident.pipelines.identify import run
from ident.report.verdict import verdict

HERE = Path(__file__).parent


def row(name: str, folder: Path) -> str:
    """Return one line of the table: does it run, validation error, masses, verdict."""
    start = time.perf_counter()
    try:
        result = run(read_experiment(HERE / f"{name}.toml"), out=folder / name)
    except IdentError as cause:
        return f"{name:9} no    {cause}"
    took = time.perf_counter() - start
    total = result.validation.total("identified") if result.validation else None
    error = "  n/a" if total is None else f"{100 * total.relative_total:5.1f}"
    theta, robot = result.estimate.theta, result.loaded.robot
    masses = [0.0] if theta is None else [theta[result.loaded.model.names.index(f"{link}.m")] for link in robot.links]
    judged = verdict(result.estimate, result.validation, result.comparison)
    report = "yes" if (folder / name / "report.html").is_file() else "no "
    return (
        f"{name:9} {report}   {error}   {sum(masses):7.1f} {max(masses):8.1f}   {took:5.0f}   {judged.headline}:"
        f" {judged.reason}"
    )


def main() -> None:
    names = sys.argv[1:] or ["pendubot", "tx40", "emps", "ur10e", "tiago", "kr300"]
    print("robot     runs  valid. %  mass kg  largest     s   verdict")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            print(row(name, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
