"""Lets tests import the helpers that stand beside them; property tests have no deadline, for machines may be busy.

`--seeds 20` tries all random cases (seeds.py), less a share of them.

IDENT_TEST_ROUNDING=SEED emulates another machine: the last bits of every motion's numbers get other values, 1e-13
relative at most, as another sine or filter might give them. The same number gets the same ones wherever it stands. No
test's outcome may depend on that (`make portability`).
"""

import functools
import gc
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import numpy as np
import pytest
import typer.testing
from hypothesis import Phase, settings

sys.path.insert(0, str(Path(__file__).parent))

from seeds import ALL, cases


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seeds", type=int, default=5, help="random cases that tests try, of 20 (default 5)")


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # what is imported stays: to look through it over and over is a third of the collection
    os.environ["IDENT_TEST_SEEDS"] = str(config.getoption("--seeds"))
    # a command's tree of options is made once, not for each call: a third of what test_cli.py costs
    typer.testing._get_command = functools.cache(typer.testing._get_command)
    settings.register_profile("ident", deadline=None, max_examples=cases(100))
    settings.register_profile(
        "mutants", settings.get_profile("ident"), database=None, phases=(Phase.explicit, Phase.generate)
    )
    settings.load_profile("ident")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module")
def sketched(request: pytest.FixtureRequest) -> Iterator[None]:
    """Write empty pictures in place of figures that are composed but not drawn, and simulate nothing for a report.

    For tests that look at no picture: drawing is four fifths of what `ident run` does on a short log, to simulate it
    half of the rest of its report. With `--seeds 20` all is drawn and simulated.
    """
    with pytest.MonkeyPatch.context() as patch:
        if request.config.getoption("--seeds") < ALL:
            from matplotlib.figure import Figure

            from ident.report import sections

            patch.setattr(Figure, "savefig", _sketch)
            patch.setattr(sections, "rollout", _not_simulated)
        yield


@pytest.fixture
def one_round(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for mistakes once, not again in what is left when the first is mended, which is half of that work.

    For tests that look at what has to be mended first. With `--seeds 20` they are looked for until none is left.
    """
    if request.config.getoption("--seeds") < ALL:
        from ident.compare.causes import causes

        monkeypatch.setattr(causes, "MOST", 1)


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `ident cad` examine an experiment that no command changes once, for tests of what is done with what it finds.

    A test that changes one asks in another folder.
    """
    from ident.pipelines import cad_tables

    examine = cad_tables._examined

    def examined(path: Path, wishes: object, tell: object) -> object:
        key = path.resolve(), wishes
        if key not in EXAMINED:
            EXAMINED[key] = examine(path, wishes, tell)
        return EXAMINED[key]

    monkeypatch.setattr(cad_tables, "_examined", examined)


EXAMINED: dict[tuple[Path, object], object] = {}


@pytest.fixture(autouse=True)
def _elsewhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Call commands in an empty folder: one that should have refused, and does not, writes nothing beside the tests."""
    if hasattr(request.module, "CliRunner"):
        monkeypatch.chdir(request.getfixturevalue("tmp_path_factory").mktemp("here"))


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> Callable[[], float]:
    """Give searches a clock that counts how often it is asked, four times a second: machines may be slow or busy."""
    clock = itertools.count(0.0, 0.25)
    search = sys.modules["ident.excitation.search"]
    monkeypatch.setattr(search, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    return lambda: next(clock)


def _not_simulated(*_: object) -> None:
    from ident.errors import ModelError

    raise ModelError("a sketch simulates nothing")


def _sketch(_: object, where: IO[str] | IO[bytes], *, format: str, **__: object) -> None:
    from PIL import Image

    if format == "svg":
        where.write("<svg xmlns='http://www.w3.org/2000/svg' width='9pt' height='9pt' viewBox='0 0 9 9'></svg>")
    else:
        Image.new("L", (1, 1)).save(where, format)


_BITS = np.uint64(9)


def other_last_bits(values: np.ndarray, seed: int) -> np.ndarray:
    """Return doubles whose last nine bits are a hash of their others: done twice, it is as done once."""
    others = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64) >> _BITS
    mixed = (others ^ np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)) * np.uint64(0xBF58476D1CE4E5B9)
    found = ((others << _BITS) | (mixed >> (np.uint64(64) - _BITS))).view(np.float64)
    return np.where(np.asarray(values) == 0.0, values, found)


def _round_otherwise(seed: int) -> None:
    from ident.logs.motion import Motion

    checked = Motion.__post_init__

    def rounded(motion: Motion) -> None:
        for what in ("q", "qd", "qdd", "tau"):
            object.__setattr__(motion, what, other_last_bits(np.asarray(getattr(motion, what), dtype=float), seed))
        checked(motion)

    Motion.__post_init__ = rounded  # type: ignore[method-assign]


if "IDENT_TEST_ROUNDING" in os.environ:
    _round_otherwise(int(os.environ["IDENT_TEST_ROUNDING"]))
