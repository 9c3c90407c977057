"""Cached kernels follow the content of every kernel source."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import ident
from ident.jit import SOURCES

PACKAGE = Path(ident.__file__).parent
RUN = """
import numpy as np
from ident.dynamics import inverse_dynamics
from ident.robot.dh import MDHJoint, from_mdh
from ident.spatial.inertia import from_com

arm = from_mdh("two", [MDHJoint(alpha=0.3), MDHJoint(a=1.0, alpha=0.5)])
body = from_com(2.0, np.array([0.1, 0.2, 0.3]), np.diag([0.1, 0.1, 0.1]))
state = np.array([[0.3, 0.4]])
print(inverse_dynamics(arm, np.array([body, body]), state, state, state).tolist())
"""


def torques(package: Path) -> str:
    environment = os.environ | {"PYTHONPATH": str(package.parent)}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", RUN], env=environment, cwd=package.parent, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_changed_step_is_seen_and_a_reverted_one_is_gone(tmp_path):
    """`cross` is inlined into kernels of other files, whose own content stays."""
    package = tmp_path / "ident"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    steps = package / "dynamics" / "sweeps.py"
    right = steps.read_text(encoding="utf-8")
    wrong = right.replace("a[1] * b[2] - a[2] * b[1]", "a[1] * b[2] + a[2] * b[1]", 1)
    assert wrong != right

    first = torques(package)
    folders = package / "__pycache__" / "kernels"
    (before,) = folders.iterdir()
    steps.write_text(wrong, encoding="utf-8")
    assert torques(package) != first
    (after,) = folders.iterdir()
    assert after.name != before.name
    assert list(after.rglob("*.nbc"))
    steps.write_text(right, encoding="utf-8")
    assert torques(package) == first


def test_every_compiled_file_counts():
    counted = {file for pattern in SOURCES for file in PACKAGE.glob(pattern)}
    compiled = {file for file in PACKAGE.rglob("*.py") if "njit(" in file.read_text(encoding="utf-8")}
    assert compiled - counted == {PACKAGE / "jit.py"}
