"""Install a wheel without its dependencies into an empty folder and import it from there: python wheel.py FILE.whl."""

import subprocess
import sys
import tempfile
from pathlib import Path

CHECK = """
import pathlib, ident, ident.cli.main, ident.experiment, ident.pipelines.identify, ident.report.report
place = pathlib.Path(ident.__file__).resolve()
assert place.is_relative_to(pathlib.Path.cwd().resolve() / "site"), place
assert (place.parent / "estimate" / "estimate.schema.json").is_file()
assert (place.parent / "excitation" / "trajectory.schema.json").is_file()
assert (place.parent / "report" / "report.html.j2").is_file()
assert (place.parent / "py.typed").is_file()
print("wheel imports from an empty folder:", ident.__version__)
"""

wheel = Path(sys.argv[1]).resolve()
with tempfile.TemporaryDirectory() as empty:
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", "site", str(wheel)]
    subprocess.run([*install, "--disable-pip-version-check"], cwd=empty, check=True)
    code = "import sys; sys.path.insert(0, 'site')\n" + CHECK
    subprocess.run([sys.executable, "-P", "-c", code], cwd=empty, check=True)
