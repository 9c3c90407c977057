"""Peak memory while a log of 1e5 to 1e7 samples streams through `compress`.

python experiments/benchmarks/memory.py
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
from arm7 import model, peak_megabytes, states

from ident.logs import Motion
from ident.regression import compress

PART = 50_000


def log(samples: int, joints: int) -> Iterator[Motion]:
    """Yield a log in parts, each made when it is asked for."""
    for part in range(samples // PART):
        q, qd, qdd = states(PART, joints, seed=part)
        keep = np.ones((PART, joints), dtype=bool)
        t = np.arange(PART) * 1e-3
        yield Motion(f"part {part}", t, q, qd, qdd, np.sin(q), keep)


def main() -> None:
    if len(sys.argv) > 1:
        samples = int(float(sys.argv[1]))
        regression = compress(model(), log(samples, 7))
        print(f"{samples:>9,} samples: {peak_megabytes():.0f} MB, {int(regression.rows[0]):,} rows a joint")
        return
    for samples in ("1e5", "1e6", "1e7"):
        subprocess.run([sys.executable, __file__, samples], check=True)


if __name__ == "__main__":
    main()
