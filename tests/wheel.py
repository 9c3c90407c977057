"""Install a wheel without its dependencies into an empty folder and import it from there: python wheel.py FILE.whl."""

import subprocess
import sys
import tempfile
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
wheel = Path(sys.argv[1]).resolve()
with tempfile.TemporaryDirectory() as empty:
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", "site", str(wheel)]
    subprocess.run([*install, "--disable-pip-version-check"], cwd=empty, check=True)
    code = f"import sys; sys.path.insert(0, 'site')\nDATA = {sorted(set(data))}\n" + CHECK
    subprocess.run([sys.executable, "-P", "-c", code], cwd=empty, check=True)
