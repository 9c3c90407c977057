"""The mistakes that tests/mutants.py makes, and the tests that it takes for a file."""

import pytest
from mutants import ROOT, Mutant, belonging, drawn, mutants

from ident.dynamics import kinetic_energy
from ident.spatial.inertia import to_com

SOURCE = '''"""One + two."""
from x import y

__all__ = ["f" + "g"]
_CHUNK = 64
SCALE = 2.0


def f(a: "int < 3", n=1e-9):
    """Return a - b."""
    if len(a) < 3 and not n:
        raise ValueError(f"é {len(a) - 1}")
    return -a["é" in n] * np.zeros(3)
'''


def test_every_change_that_a_test_should_notice_and_no_other():
    found = [(m.line, m.old, m.new, SOURCE.encode()[m.start : m.stop].decode()) for m in mutants(SOURCE, "x.py")]
    assert all(old == there for *_, old, _, there in found)
    assert [f[:3] for f in found] == [
        (6, "2.0", "4.0"),
        (11, "and", "or"),
        (11, "<", ">="),
        (11, "<", "<="),
        (11, "3", "4"),
        (11, "not ", ""),
        (13, "*", "/"),
        (13, "-", ""),
        (13, "in", "not in"),
    ]


@pytest.mark.slow
def test_the_draw_knows_no_folder_and_changes_with_the_seed():
    first = drawn(1, 20)
    assert len({(m.file, m.start, m.new) for m in first}) == 20
    assert {m.where for m in first} != {m.where for m in drawn(2, 20)}
    moved = next(mutants(SOURCE, "a/x.py"))
    assert moved.where == next(mutants(SOURCE, "b/x.py")).where


def mutant_of(function) -> Mutant:
    """Return a change of a function of ident."""
    file = function.__module__.replace(".", "/") + ".py"
    source = (ROOT / file).read_text(encoding="utf-8")
    return next(m for m in mutants(source, file) if m.where.splitlines()[1] == function.__name__)


@pytest.mark.slow
def test_a_mutant_belongs_to_the_tests_that_call_its_function():
    assert belonging(mutant_of(kinetic_energy), 1) == ["tests/test_dynamics_matrices.py"]
    assert "tests/test_spatial.py" in belonging(mutant_of(to_com), 2)
