"""Imports run only downward, and `import ident` stays light."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import ident
from ident.model.terms import TERMS

PACKAGE = Path(ident.__file__).parent

#: The order of DESIGN, part 2: a module may import those before it and its own folder.
ORDER = (
    "errors",
    "arrays",
    "shown",
    "tell",
    "jit",
    "files",
    "tables",
    "spatial",
    "robot",
    "dynamics",
    "logs",
    "geometry",
    "model",
    "cad",
    "regression",
    "symbolic",
    "simulation",
    "excitation",
    "estimate",
    "calibrate",
    "structure",
    "payload",
    "compare",
    "export",
    "report",
    "experiment",
    "fitted",
    "pipelines",
    "cli",
    "__main__",
)

HEAVY = {
    "numba", "scipy", "cvxpy", "pandas", "pyarrow", "matplotlib", "sympy", "jinja2", "pooch", "clarabel", "mujoco",
    "rosbags", "h5py", "trimesh", "threadpoolctl", "fpdf", "dask", "distributed",
}  # fmt: skip

COMPILED = {
    "kernels.py", "place_kernels.py", "articulated_body.py", "packs.py", "distance_kernels.py",
    "dahl_kernel.py", "filter_kernels.py",
}  # fmt: skip


#: What is committed at the root of the repository.
ROOT_ENTRIES = {
    ".ci", ".dockerignore", ".github", ".gitignore", ".pre-commit-config.yaml", "CHANGELOG.md", "CITATION.cff",
    "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "Dockerfile", "LICENSE", "Makefile", "README.md", "SECURITY.md",
    "constraints.txt", "datasets", "docs", "experiments", "ident", "mkdocs.yml", "notebooks", "pyproject.toml",
    "recipe", "tests",
}  # fmt: skip


@cache
def sources() -> list[Path]:
    return [p for p in sorted(PACKAGE.rglob("*.py")) if p != PACKAGE / "__init__.py"]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree(path)))


def layer(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> list[tuple[int, str]]:
    """Return (line, layer) of everything of ident that a file imports, wherever in the file that stands."""
    found = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relative to itself; write 'from ident...'"
            names = [f"ident.{a.name}" for a in node.names] if node.module == "ident" else [node.module or ""]
        else:
            continue
        found += [(node.lineno, n.split(".")[1]) for n in names if n.startswith("ident.")]
    return found


def test_nothing_stray_is_committed_at_the_root():
    root = PACKAGE.parent
    if not (root / ".git").exists():
        pytest.skip("no git repository")
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
    assert {name.split("/")[0] for name in listed.splitlines()} == ROOT_ENTRIES


def test_every_module_has_a_place_in_the_order():
    assert {layer(p) for p in sources()} <= set(ORDER)


@pytest.mark.slow
def test_imports_run_downward():
    upward = []
    for path in sources():
        own = ORDER.index(layer(path))
        for line, name in imported(path):
            if name in ORDER and ORDER.index(name) > own:
                upward.append(f"{path.relative_to(PACKAGE)}:{line} imports {name}")
    assert upward == []


@pytest.mark.slow
def test_files_of_one_layer_do_not_import_the_whole_package():
    """`from ident import X` is for names that are modules: the public names are made of the layers."""
    public = {n for n in ident.__all__ if not (PACKAGE / n).is_dir()}
    wrong = [
        f"{path.relative_to(PACKAGE)}: {alias.name}"
        for path in sources()
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom) and node.module == "ident"
        for alias in node.names
        if alias.name in public
    ]
    assert wrong == []


@pytest.mark.slow
def test_no_module_and_no_function_is_longer_than_agreed():
    """450 and 70 lines; compiled kernels are one function each."""
    long = []
    for file in (PACKAGE / "__init__.py", *sources()):
        if file.read_text(encoding="utf-8").count("\n") > 450:
            long.append(file.name)
        for node in nodes(file):
            lines = node.end_lineno - node.lineno + 1 if isinstance(node, ast.FunctionDef) else 0
            if lines > 70 and file.parent.name != "dynamics":
                long.append(f"{file.name}: {node.name}")
    assert long == []


def test_heavy_packages_are_imported_where_they_are_used():
    """At the top of a module, numba only in compiled code (which is itself imported where used)."""
    top = []
    for path in sources():
        for node in tree(path).body:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            heavy = {n.split(".")[0] for n in names} & HEAVY
            if heavy and not (path.name in COMPILED and heavy == {"numba"}):
                top.append(f"{path.relative_to(PACKAGE)} imports {min(heavy)}")
    assert top == []


def modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


def test_import_ident_loads_nothing():
    assert not modules_after("import ident") & (HEAVY | {"numpy", "typer", "rich"})
    assert not modules_after("import ident.cli.main") & (HEAVY | {"numpy"})


def test_logs_and_cad_tables_are_checked_without_compiled_kernels():
    arm5 = PACKAGE.parent / "datasets" / "arm5"
    for file in ("dataset.toml", "cad.csv"):
        assert "numba" not in modules_after(f"from ident import pipelines; pipelines.check({str(arm5 / file)!r})")


def test_import_ident_loads_few_modules():
    """Which is what makes it quick; experiments/benchmarks/cli.py times it. Which of Python's own are new depends on
    what the installation loads at its start."""
    code = "import sys; before = set(sys.modules); import ident; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    new = done.stdout.split()
    assert {name.split(".")[0] for name in new} - set(sys.stdlib_module_names) == {"ident", "lazy_loader"}
    assert len(new) < 40


#: From a log to an estimate, and which files of the package have a function or class run meanwhile.
A_FIT = """
import sys
import ident
ran = set()
def note(frame, event, _):
    if event == "call" and frame.f_code.co_qualname != "<module>":
        ran.add(frame.f_code.co_filename)
arm = sys.argv[1] + "/datasets/arm5/"
sys.setprofile(note)
robot = ident.read_robot(arm + "robot.toml")
log = ident.read_log(ident.read_manifest(arm + "dataset.toml"), "validation", robot)
motion = ident.process(log, ident.Processing(position_hz=20, decimation=(5,)))
ident.fit(ident.Model(robot, (ident.DriveInertia(), ident.Viscous(), ident.SmoothCoulomb(0.02))), motion)
sys.setprofile(None)
# from Python 3.12 on, a profiler does not see compiled functions
ran.update(m.__file__ for name, m in sys.modules.items() if name.startswith("ident.") and name.endswith("kernels"))
print(*ran, sep="\\n")
"""


@pytest.mark.slow
def test_a_fit_runs_the_files_that_the_plan_says():
    """And it stays in the core."""
    command = [sys.executable, "-c", A_FIT, str(PACKAGE.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    ran = [Path(line).relative_to(PACKAGE) for line in done.stdout.splitlines() if line.startswith(str(PACKAGE))]
    told = re.search(r"A fit runs (\d+) files", (PACKAGE / "README.md").read_text(encoding="utf-8"))
    assert len(ran) == int(told[1]) if told else 0, sorted(map(str, ran))
    rooms = {path.parts[0] for path in ran if len(path.parts) > 1}
    assert rooms == {"spatial", "robot", "logs", "dynamics", "model", "regression", "estimate"}


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name; a package's is that of its __init__.py."""
    named = {".".join(p.relative_to(PACKAGE.parent).with_suffix("").parts): p for p in sources()}
    return {name.removesuffix(".__init__"): path for name, path in named.items()}


def module_imports(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules that a file imports, wherever in it and for whatever purpose; types among them."""
    names = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {n if (n := f"{node.module}.{a.name}") in known else node.module for a in node.names}
    return names & known.keys()


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """The circles of a graph of imports: the groups of modules that all reach one another."""
    reached = {name: set(to) for name, to in imports.items()}
    for middle in imports:
        for name, to in reached.items():
            if middle in to:
                reached[name] = to | reached[middle]
    on = {name: frozenset(x for x in to if name in reached[x]) for name, to in reached.items()}
    return sorted(sorted(c) for c in set(on.values()) if c)


@pytest.mark.slow
def test_no_modules_import_each_other_in_a_circle():
    known = modules()
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == [["a", "b", "c"]]
    imports = {name: module_imports(path, known) for name, path in known.items()}
    assert circles(imports) == []


@pytest.mark.slow
def test_nothing_outside_of_the_command_line_prints():
    for file in (file for file in sources() if layer(file) != "cli"):
        calls = [n for n in nodes(file) if isinstance(n, ast.Call)]
        assert not [n.lineno for n in calls if isinstance(n.func, ast.Name) and n.func.id == "print"], file


#: "offset" also means one of angles, of axes, of positions, of a mimic joint; "drive_inertia" is
#: a setting, too.
ELSEWHERE = {
    ("offset", "robot/"), ("offset", "geometry/"), ("offset", "logs/manifest.py"), ("offset", "export/robotics"),
    ("offset", "pipelines/init.py"), ("offset", "pipelines/gears.py"),
    ("drive_inertia", "pipelines/excitation.py"), ("stiffness", "export/mjcf.py"),
}  # fmt: skip


@pytest.mark.slow
def test_the_name_of_a_kind_stands_in_its_own_file_only():
    words = {word for term in TERMS for word in (term.kind.name, term.kind.key)} - {"breakaway"}
    found: dict[str, set[str]] = {word: set() for word in words}
    for file in sources():
        place = file.relative_to(PACKAGE).as_posix()
        for node in nodes(file):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                word = node.value.removeprefix(".")
                if word in words and not any(word == w and place.startswith(p) for w, p in ELSEWHERE):
                    found[word].add(place)
    assert {word: len(places) for word, places in found.items()} == dict.fromkeys(words, 1), found
