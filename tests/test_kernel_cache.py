"""Cached kernels follow the content of every kernel source. A package of two small files stands for the whole."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ident
from ident.jit import SOURCES

pytestmark = pytest.mark.slow

PACKAGE = Path(ident.__file__).parent
STEP = """
from numba import njit

@njit(inline="always")
def step(x):
    return x + 1.0
"""
KERNEL = """
from ident.dynamics.step import step
from ident.jit import cached_njit

@cached_njit()
def kernel(x):
    return 10.0 * step(x)

@cached_njit()
def same(x):
    return x
"""
RUN = """
import logging
from ident.dynamics.kernels import kernel, same
logging.basicConfig(level=logging.INFO)
print(same(kernel(1.0)), sum(kernel.stats.cache_misses.values()))
"""


@pytest.fixture
def package(tmp_path):
    """Return a way to make a package of one kernel, which inlines a step of another file."""

    def made(name: str) -> Path:
        folder = tmp_path / name / "ident"
        (folder / "dynamics").mkdir(parents=True)
        for empty in (folder, folder / "dynamics"):
            (empty / "__init__.py").touch()
        for file in ("jit.py", "tell.py"):
            shutil.copyfile(PACKAGE / file, folder / file)
        (folder / "dynamics" / "step.py").write_text(STEP, encoding="utf-8")
        (folder / "dynamics" / "kernels.py").write_text(KERNEL, encoding="utf-8")
        return folder

    return made


def result(package: Path, **environment: str) -> tuple[float, int]:
    """Return what the kernel gives in a new process, and how often that compiled it, which is said once."""
    # bytecode is known by the second in which its source was written: two changes of a test fall into one
    own = {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    others = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | own
    command = [sys.executable, "-c", RUN]
    done = subprocess.run(
        command, env=others | environment, cwd=package.parent, capture_output=True, text=True, check=True
    )
    value, compiled = done.stdout.split()
    assert done.stderr.count("compiling, once on this machine") == (compiled != "0")
    return float(value), int(compiled)


def test_a_changed_step_is_seen_and_a_reverted_one_is_gone(package):
    """It is inlined into the kernel of another file, whose own content stays."""
    one = package("one")
    folders = one / "__pycache__" / "kernels"
    assert result(one) == (20.0, 1)
    assert result(one) == (20.0, 0)
    (before,) = folders.iterdir()
    (one / "dynamics" / "step.py").write_text(STEP.replace("+", "-"), encoding="utf-8")
    assert result(one) == (0.0, 1)
    (after,) = folders.iterdir()
    assert after.name != before.name
    assert list(after.rglob("*.nbc"))
    (one / "dynamics" / "step.py").write_text(STEP, encoding="utf-8")
    assert result(one) == (20.0, 1)


def test_copies_of_the_package_share_what_is_compiled(package, tmp_path):
    """As the clones of one repository do in CI, whatever their paths and times."""
    there = tmp_path / "cache"
    assert result(package("one"), NUMBA_CACHE_DIR=str(there)) == (20.0, 1)
    two = package("two")
    os.utime(two / "dynamics" / "kernels.py", (0, 0))
    assert result(two, NUMBA_CACHE_DIR=str(there)) == (20.0, 0)
    (kernels,) = (there / "ident").iterdir()
    for name, days in (("long_ago", 31), ("lately", 29)):
        kernels.with_name(name).mkdir()
        os.utime(kernels.with_name(name), (time.time() - days * 86400,) * 2)
    assert result(two, NUMBA_CACHE_DIR=str(there)) == (20.0, 0)
    assert {folder.name for folder in (there / "ident").iterdir()} == {kernels.name, "lately"}


def test_every_compiled_file_counts():
    counted = {file for pattern in SOURCES for file in PACKAGE.glob(pattern)}
    compiled = {file for file in PACKAGE.rglob("*.py") if "njit(" in file.read_text(encoding="utf-8")}
    assert compiled - counted == {PACKAGE / "jit.py"}
