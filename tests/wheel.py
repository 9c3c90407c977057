"""Look into a wheel and a source archive, and import the wheel from an empty folder: python wheel.py WHEEL SDIST."""

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

CHECK = """
import pathlib, ident, ident.cli.main, ident.experiment, ident.pipelines.identify, ident.report.report
place = pathlib.Path(ident.__file__).resolve()
assert place.is_relative_to(pathlib.Path.cwd().resolve() / "site"), place
missing = [name for name in DATA if not (place.parent / name).is_file()]
assert len(DATA) > 10 and not missing, missing
print("wheel imports from an empty folder:", ident.__version__)
"""

source = Path(__file__).resolve().parent.parent / "ident"
data = [p.relative_to(source).as_posix() for p in source.rglob("*") if p.suffix in (".j2", ".json", ".typed", ".pyi")]
data.append("py.typed")
wheel, sdist = (Path(name).resolve() for name in sys.argv[1:])
sources = {
    p.relative_to(source.parent).as_posix() for p in source.rglob("*") if p.is_file() and "__pycache__" not in p.parts
}
with zipfile.ZipFile(wheel) as packed:
    inside = set(packed.namelist())
    metadata = packed.read(next(name for name in inside if name.endswith("/METADATA"))).decode()
    largest = max(info.compress_size for info in packed.infolist())
about = {name for name in inside if ".dist-info/" in name}
packaged = {name for name in sources if not name.endswith("/README.md")}
assert inside - about == packaged, sorted((inside - about) ^ packaged)
assert {name.rpartition("/")[2] for name in about} == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "LICENSE"}, (
    about
)
assert "Requires-Dist: pyarrow" in metadata
assert not [
    line for line in metadata.splitlines() if line.startswith("Requires-Dist: pyarrow") and "extra ==" not in line
]
with tarfile.open(sdist) as archive:
    names = {name.partition("/")[2] for name in archive.getnames() if not name.endswith("/")}
kept = {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "pyproject.toml", "PKG-INFO", ".gitignore"}
assert names - {""} == sources | kept, sorted((names - {""}) ^ (sources | kept))
assert max(wheel.stat().st_size, sdist.stat().st_size) < 1.25 * 2**20, "over 1.25 MiB: what is in it?"
assert largest < 2**16, "a file over 64 KiB, packed: what is in it?"
with tempfile.TemporaryDirectory() as empty:
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", "site", str(wheel)]
    subprocess.run([*install, "--disable-pip-version-check"], cwd=empty, check=True)
    code = f"import sys; sys.path.insert(0, 'site')\nDATA = {sorted(set(data))}\n" + CHECK
    subprocess.run([sys.executable, "-P", "-c", code], cwd=empty, check=True)
