"""Whether the tests would notice: small mistakes put into the core, one at a time, and the tests that belong to it run.

    python tests/mutants.py [--seed 13] [--count 60] [--numbers 1 2 ...] [--files 12] [--only PATTERN]
        [--killers FILE] [--list]

A mutant changes one sign, comparison, operator or number. Which ones are tried is drawn by the seed and by what stands
in the line, so that moving a file changes nothing. Each is made in a copy of the repository in a temporary folder. Its
tests are those that reach the function that it stands in, first those that use its words and call it, at most for
LONGEST. It is killed when one of them fails that passes without it. The last line counts; a survivor is a test to be
written, or it changes nothing that shows. FILE keeps which test killed what: another run tries that one first, and
takes a tenth of the time to say whether a changed test still notices.

Left out is what no test should notice: text, messages, annotations, decorators, `__all__`, what merely sets memory,
threads, rounds, ladders of trials or margins of rounding (1e-6 and less), and formats' names.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import math
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ident.jit import cache_folder

ROOT = Path(__file__).resolve().parent.parent
CORE = re.compile(
    r"ident/((spatial|robot|dynamics|model|regression|estimate|compare)/\w+"
    r"|logs/(process|sampled|filter|readings|manifest|motion)|export/(gate|digits))\.py"
)
SECONDS = 300  # of the processor for one run of tests
LONGEST = 400  # the same for all tests of a mutant, after which no other run begins
PASSED = (0, 5)  # what pytest ends with: all passed, there was none
EACH = 2  # mutants of one file, at most: kernels have more to change than all the rest
#: Names whose value sets memory, threads, time or rounds, or names a format.
QUIET = re.compile(
    r"chunk|lane|block|rows$|rounds|steps|halvings|attempts|seconds|bytes|depth|max_samples|thread|format|axis|strict"
    r"|maxiter|rtol|atol|stacklevel|width|indent|fast|fused|vector|align",
    re.IGNORECASE,
)
SWAPS = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*")}
COMPARED = {
    ast.Lt: ("<", ">="),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.GtE: (">=", "<"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
TEXT = (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)


@dataclass(frozen=True)
class Mutant:
    """A change of `old` to `new` at bytes [start, stop) of a file; `where` is its function and line of text."""

    file: str
    line: int
    start: int
    stop: int
    old: str
    new: str
    where: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old} -> {self.new}   {self.where.splitlines()[-1]}"

    @property
    def key(self) -> str:
        """What it is called where it is remembered: the number of its line may change."""
        return f"{self.file} {' '.join(self.where.splitlines())} {self.old} -> {self.new}"


def mutants(source: str, file: str) -> Iterator[Mutant]:
    """Yield every change of a file that a test should notice."""
    text = source.encode()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def begin(node: ast.expr) -> int:
        return starts[node.lineno - 1] + node.col_offset

    def end(node: ast.expr) -> int:
        return starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)

    def mutant(first: int, last: int, old: str, new: str) -> Mutant | None:
        """Return the change of the one `old` between two bytes."""
        found = re.search(rb"(?<!\w)" * old[0].isalpha() + re.escape(old.encode()), text[first:last])
        if found is None:  # such as `not  in`
            return None
        at = first + found.start()
        line = text.count(b"\n", 0, at)
        where = "\n".join([*scope, text[starts[line] : starts[line + 1]].decode().strip()])
        return Mutant(file, line + 1, at, at + len(old), old, new, where)

    def changes(node: ast.AST) -> Iterator[Mutant | None]:
        if isinstance(node, ast.BinOp) and type(node.op) in SWAPS and not isinstance(node.left, TEXT[1:]):
            if not isinstance(node.right, TEXT[1:]) and not _is_text(node.left) and not _is_text(node.right):
                yield mutant(end(node.left), begin(node.right), *SWAPS[type(node.op)])
        elif isinstance(node, ast.AugAssign) and type(node.op) in SWAPS and not isinstance(node.value, TEXT[1:]):
            old, new = SWAPS[type(node.op)]
            if not _is_text(node.value):
                yield mutant(end(node.target), begin(node.value), f"{old}=", f"{new}=")
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            between = end(node.left), begin(node.comparators[0])
            old, new = COMPARED[type(node.ops[0])]
            yield mutant(*between, old, new)
            if old[0] in "<>" and (_counts(node.left) or _counts(node.comparators[0])):
                yield mutant(*between, old, old[0] if "=" in old else f"{old}=")
        elif isinstance(node, ast.BoolOp):
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            yield mutant(end(node.values[0]), begin(node.values[1]), old, new)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
            old = "-" if isinstance(node.op, ast.USub) else "not "
            yield mutant(begin(node), begin(node.operand), old, "")
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float) and not 0 < node.value <= 1e-6:
            old = text[begin(node) : end(node)].decode()
            new = repr(node.value + 1) if isinstance(node.value, int) or not node.value else f"{2 * node.value!r}"
            yield mutant(begin(node), end(node), old, new)

    scope: list[str] = [Path(file).stem]

    def walk(node: ast.AST) -> Iterator[Mutant]:
        if _silent(node):
            return
        named = isinstance(node, (ast.FunctionDef, ast.ClassDef))
        if named:
            scope.append(node.name)
        yield from filter(None, changes(node))
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns", "decorator_list"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        yield from walk(child)
        if named:
            scope.pop()

    yield from walk(ast.parse(source))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _counts(node: ast.expr) -> bool:
    """Return whether an expression is a count by its looks: of such a comparison the edge matters."""
    return (isinstance(node, ast.Constant) and type(node.value) is int and node.value > 0) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"
    )


def _silent(node: ast.AST) -> bool:
    """Return whether nothing below a node is to be changed."""
    if isinstance(node, (ast.JoinedStr, ast.Raise, ast.Import, ast.ImportFrom)):
        return True
    if isinstance(node, ast.FunctionDef) and node.name in ("__repr__", "__str__", "_repr_html_", "summary"):
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("zeros", "empty"):
        return True  # scratch that is larger is as good
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and isinstance(node.left, ast.Constant):
        return True  # the rungs of a ladder
    if isinstance(node, ast.keyword):
        return node.arg is not None and bool(QUIET.search(node.arg))
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        return any(QUIET.search(name) or name == "__all__" for name in names)
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def drawn(seed: int, count: int, pattern: str = "") -> list[Mutant]:
    """Return the mutants of least hash, at most EACH of a file, of the core files whose path has `pattern`."""
    found: dict[str, Mutant] = {}
    for path in sorted((ROOT / "ident").rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        if CORE.fullmatch(file) and path.name not in ("__init__.py", "storage.py"):
            for k, mutant in enumerate(mutants(path.read_text(encoding="utf-8"), file)):
                same = f"{seed}\n{mutant.where}\n{mutant.old}\n{mutant.new}"
                while (key := hashlib.sha256(same.encode()).hexdigest()) in found:
                    same += f"\n{k}"  # the same change twice in one line
                found[key] = mutant
    out: list[Mutant] = []
    for key in sorted(found):
        if re.search(pattern, found[key].file) and sum(other.file == found[key].file for other in out) < EACH:
            out.append(found[key])
    return out[:count]


# which tests belong to a file


@cache
def _nodes(path: Path) -> list[ast.AST]:
    """Return all of a file's syntax that says what it imports, nothing where there is no such file."""
    tree = ast.parse(path.read_text(encoding="utf-8") if path.is_file() else "")
    return [n for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom, ast.Attribute))]


@cache
def _imports(path: Path) -> frozenset[str]:
    """Return the files of ident and tests that a file imports, through what folders hand on by name."""
    found: set[str] = set()
    if path == ROOT / "ident" / "__init__.py":  # of what it hands on, only what is used counts
        return frozenset()
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            found |= {_module(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found |= {_home(node.module or "", alias.name) for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ident":
            found.add(_home("ident", node.attr))
    return frozenset(found - {""})


@cache
def _module(name: str) -> str:
    """Return the file of a module's dotted name, "" for those of others."""
    base = ROOT / name.replace(".", "/") if name.split(".", maxsplit=1)[0] == "ident" else ROOT / "tests" / name
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path.relative_to(ROOT).as_posix()
    return ""


@cache
def _home(module: str, name: str) -> str:
    """Return the file that defines what `from module import name` gives."""
    file = _module(f"{module}.{name}") or _module(module)
    if not file.endswith("__init__.py"):
        return file
    for part in (ROOT / file, (ROOT / file).with_suffix(".pyi")):
        for node in _nodes(part):
            if isinstance(node, ast.ImportFrom) and any((a.asname or a.name) == name for a in node.names):
                inner = "." * node.level and ".".join(Path(file).parent.parts)
                return _home(".".join(filter(None, [inner, node.module])), name)
    return file


@cache
def _mentions(path: Path) -> dict[str, frozenset[str]]:
    """Return the names that each function, class and constant of a file mentions."""
    found: dict[str, set[str]] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node]
        for name in {getattr(t, "name", None) or getattr(t, "id", "") for t in targets}:
            found.setdefault(name, set()).update(
                getattr(inner, "id", None) or getattr(inner, "attr", None) or getattr(inner, "name", "")
                for inner in ast.walk(node)
                if isinstance(inner, (ast.Name, ast.Attribute, ast.alias))
            )
    return {name: frozenset(mentioned) for name, mentioned in found.items()}


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]{3,}", text.lower().replace("_", " ")))


@cache
def _weights() -> dict[str, float]:
    """Return how much it says that a test file has a word: the fewer others do, the more."""
    tests = [_words(path.read_text(encoding="utf-8")) for path in (ROOT / "tests").glob("test_*.py")]
    return {word: math.log(len(tests) / sum(word in test for test in tests)) for word in frozenset().union(*tests)}


def alike(code: str, test: str) -> float:
    """Return the share of a function's words, rare ones more, that a test's text has."""
    known = _weights()
    all_, shared = (sum(known.get(w, 0.0) for w in words) for words in (_words(code), _words(code) & _words(test)))
    return shared / all_ if all_ else 0.0


def _around(mutant: Mutant) -> str:
    """Return the innermost function or class that a mutant stands in, its line where there is none."""
    source = (ROOT / mutant.file).read_text(encoding="utf-8")
    found = source.splitlines()[mutant.line - 1 : mutant.line]
    for node in ast.walk(ast.parse(source)):  # outer ones come first
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.lineno <= mutant.line <= (node.end_lineno or 0):
            found = source.splitlines()[node.lineno - 1 : node.end_lineno]
    return "\n".join(found)


def belonging(mutant: Mutant, most: int) -> list[str]:
    """Return the test files that belong to a mutant, those that say most about it first.

    They import its file, directly or through others; first those that use the words of its function, and those that
    call it, directly or through others.
    """
    files = {path: path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "ident").rglob("*.py"))}
    tests = {path: path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests").glob("*.py"))}
    far = {mutant.file: 0}
    for step in range(1, 6):
        for path, name in (files | tests).items():
            if name not in far and any(far.get(other) == step - 1 for other in _imports(path)):
                far[name] = step
    scope, line = mutant.where.splitlines()[1:-1], mutant.where.splitlines()[-1]
    steps = {scope[0] if scope else re.split(r"\W", line, maxsplit=1)[0]: 0}
    for step in range(1, 6):
        for path in (path for path, name in files.items() if name in far):
            for name, mentioned in _mentions(path).items():
                if name not in steps and any(steps.get(other) == step - 1 for other in mentioned):
                    steps[name] = step
    order, around = [], _around(mutant)
    for path, name in tests.items():
        if name in far and path.name.startswith("test_") and path.stem != "test_mutants":
            called = min((steps.get(n, 9) for names in _mentions(path).values() for n in names), default=9)
            text = path.read_text(encoding="utf-8")
            said = alike(around, text) - 5e-6 * len(text)  # a long file has many words, and takes its time
            named = path.stem == f"test_{Path(mutant.file).stem}"
            order.append((min(called, 5) / 5.0 - said - 0.5 * named, far[name], len(_imports(path)), name))
    return [name for *_, name in sorted(order)[:most]]


# running them


def _run(copy: Path, tests: list[str], kernels: Path, *options: str) -> str:
    """Return the name of the first test that fails, that of the first given where they do not end, "" for none."""
    environment = os.environ | {
        "PYTHONPATH": str(copy),
        "NUMBA_CACHE_DIR": str(kernels),  # a folder for each content: ident/jit.py
        "IDENT_DATA": os.environ.get("IDENT_DATA", str(ROOT.parent / "shared" / "data")),
        "PYTHONDONTWRITEBYTECODE": "1",
        **{f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "NUMBA")},
    }
    quiet = ["-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0"]
    command = [sys.executable, "-m", "pytest", *quiet, "--hypothesis-profile=mutants", *options, *tests]
    shutil.rmtree(copy / ".hypothesis", ignore_errors=True)
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=10 * SECONDS, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS)),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return tests[0]
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return "" if done.returncode in PASSED else failed[1] if failed else tests[0]


def killer(copy: Path, mutant: Mutant, tests: list[str], kernels: Path, sound: dict[str, bool], before: str) -> str:
    """Return the test that fails with the mutant and passes without it, "" where it survives.

    Tried are the one that noticed it `before`, the quick tests of the first files, the slow ones of the very first, the
    quick ones of the others, and the other slow ones, as long as LONGEST allows.
    `sound` remembers which tests pass without.
    """
    path = copy / mutant.file
    right = path.read_bytes()
    rounds = [([before], "")] if before else []
    first, others = tests[:4], tests[4:]
    rounds += [(first, "not slow"), (first[:1], "slow")] * bool(first) + [(others, "not slow")] * bool(others)
    rounds += [([file], "slow") for file in tests[1:]]
    end = _spent() + LONGEST
    while rounds and _spent() < end:
        files, mark = rounds[0]
        bad = [f"--deselect={test}" for test, passes in sound.items() if not passes]
        path.write_bytes(right[: mutant.start] + mutant.new.encode() + right[mutant.stop :])
        failed = _run(copy, files, kernels, "-m", mark, *bad)
        path.write_bytes(right)
        if failed and failed not in sound:
            sound[failed] = not _run(copy, [failed], kernels)
            if not sound[failed]:
                print(f"  {failed} fails without it, too", flush=True)
        if failed and sound[failed]:
            return failed
        if not failed or failed in files or f"--deselect={failed}" in bad:
            rounds.pop(0)
    return ""


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _copied(copy: Path) -> None:
    """Copy the files that git knows."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)


def main() -> None:
    """Try the drawn mutants and print what became of each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--numbers", type=int, nargs="+", help="which of those drawn, from 1: to try them in pieces")
    parser.add_argument(
        "--files", type=int, default=12, help="test files per mutant, at most; 0: what killed it before"
    )
    parser.add_argument("--only", default="", help="only files whose path has this regular expression")
    parser.add_argument("--killers", type=Path, help="JSON of what killed which mutant: read, tried first, kept up")
    parser.add_argument("--list", action="store_true", help="only say what would be tried")
    chosen = parser.parse_args()
    tried = list(enumerate(drawn(chosen.seed, chosen.count, chosen.only), start=1))
    tried = [(number, mutant) for number, mutant in tried if not chosen.numbers or number in chosen.numbers]
    tests = {mutant: belonging(mutant, chosen.files) if chosen.files else [] for _, mutant in tried}
    if chosen.list:
        print(*(f"{number:3d} {mutant}\n    {' '.join(tests[mutant])}" for number, mutant in tried), sep="\n")
        return
    kept = chosen.killers is not None and chosen.killers.is_file()
    killers: dict[str, str] = json.loads(chosen.killers.read_text(encoding="utf-8")) if kept else {}
    survivors: list[str] = []
    sound: dict[str, bool] = {}
    print(f"seed {chosen.seed}, {chosen.count} drawn", f"of {chosen.only}" * bool(chosen.only), flush=True)
    with tempfile.TemporaryDirectory(prefix="mutants-") as temporary:
        copy, kernels = Path(temporary) / "copy", Path(temporary) / "kernels"
        _copied(copy)
        if (known := cache_folder()) is not None:  # what changes no kernel compiles none
            shutil.copytree(known, kernels / "ident" / known.name)
        for number, mutant in tried:
            began = time.monotonic()
            failed = killer(copy, mutant, tests[mutant], kernels, sound, killers.get(mutant.key, ""))
            print(f"{number:3d} {mutant}\n    {failed or 'SURVIVED'} ({time.monotonic() - began:.0f} s)", flush=True)
            if not failed:
                survivors.append(f"{number:3d} {mutant}")
            elif chosen.killers is not None:
                killers[mutant.key] = failed
                chosen.killers.write_text(json.dumps(killers, indent=1), encoding="utf-8")
    print(f"{len(tried) - len(survivors)} of {len(tried)} killed", *survivors, sep="\n")


if __name__ == "__main__":
    main()
