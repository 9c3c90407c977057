"""What an installation promises: types, a command and the module that is the command."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import settings

import ident

USER = """
import ident
reveal_type(ident.read_robot)
reveal_type(ident.read_robot("robot.toml").n)
"""
#: mypy reads the public names and one room; the whole package is checked by `make lint`.
FOLLOWED = """
[mypy]
follow_imports = skip
[mypy-ident,ident.robot.*]
follow_imports = silent
"""


@pytest.mark.slow
def test_a_users_mypy_sees_types(tmp_path):
    (tmp_path / "user.py").write_text(USER, encoding="utf-8")
    (tmp_path / "mypy.ini").write_text(FOLLOWED, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--cache-dir", os.devnull, "user.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert 'Revealed type is "Any"' not in done.stdout, done.stdout
    assert "ident.robot.robot.Robot" in done.stdout


@pytest.mark.parametrize("target", ["wheel", "sdist"])
def test_types_are_packed(target):
    builders = import_module(f"hatchling.builders.{target}")
    builder = getattr(builders, f"{target.title()}Builder")(str(Path(__file__).parents[1]))
    packed = {file.distribution_path for file in builder.recurse_included_files()}
    assert {"ident/py.typed", "ident/__init__.py"} <= packed
    assert not [path for path in packed if path.startswith("tests")]


def test_the_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "ident", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"ident {ident.__version__}\n"


@pytest.mark.parametrize(("line", "place", "wanted"), [("ident ru", 1, "run"), ("ident cad doctor --qu", 3, "--quiet")])
def test_the_shell_completes_commands_and_options(line, place, wanted):
    asked = {"_IDENT_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(place)}
    code = "import sys; sys.argv[0] = 'ident'; from ident.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | asked, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [wanted]


def test_property_tests_have_no_deadline():
    """On a busy machine an example takes as long as it takes."""
    assert settings().deadline is None
