"""The files around the package: workflows, forms, recipe, citation and the release say what pyproject.toml says."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import ident

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAME = re.compile(r"[A-Za-z0-9_.-]+")
CHANGELOG = "# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.1.0\n\n- Old.\n"


@pytest.fixture(scope="module")
def release() -> ModuleType:
    loader = SourceFileLoader("release", str(ROOT / ".ci" / "release"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
    loader.exec_module(module)
    return module


def _said(*command: str | Path) -> str:
    """Return what a checker finds wrong."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout if done.returncode else ""


def test_workflows_are_what_actionlint_takes(tmp_path):
    actionlint = (Path(sys.executable).parent / "actionlint", "-shellcheck=", "-pyflakes=")
    (flow,) = (ROOT / ".github" / "workflows").glob("*.yml")
    assert not _said(*actionlint, flow)
    broken = tmp_path / "check.yml"
    broken.write_text(flow.read_text(encoding="utf-8").replace("matrix.python", "matrix.snake"), encoding="utf-8")
    assert "snake" in _said(*actionlint, broken)


def test_issue_forms_are_as_their_schema_has_them():
    forms = (ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml")
    assert not _said(sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-issue-forms", *forms)


def test_commands_of_workflows_and_hooks_are_there():
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    flow = yaml.safe_load((ROOT / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8"))
    runs = "\n".join(step.get("run", "") for job in flow["jobs"].values() for step in job["steps"])
    for target in re.findall(r"^make (\w+)", runs, re.MULTILINE):
        assert f"\n{target}:" in made
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    assert {h["entry"].split()[0] for h in hooks} <= {f".venv/bin/{n}" for n in ("ruff", "mypy", "actionlint")}


def test_the_recipe_asks_for_what_the_package_asks_for():
    text = (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
    wanted = yaml.safe_load(text.replace("${{ version }}", "x"))["requirements"]["run"]
    given = {NAME.match(d)[0]: d[NAME.match(d).end() :] for d in PROJECT["dependencies"]}
    assert dict(line.split(" ", 1) for line in wanted) == {"python": PROJECT["requires-python"], **given}


def test_one_version_everywhere(release):
    assert PROJECT["version"] == ident.__version__
    for name, pattern in release.VERSIONS.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        assert release.numbered(text, pattern, ident.__version__) == text
        assert release.numbered(text, pattern, "9.8.7").count("9.8.7") == 1


def test_a_release_gives_its_lines_a_version(release):
    after = release.released(CHANGELOG, "0.2.0", "2030-01-02")
    assert after == CHANGELOG.replace("Unreleased\n", "Unreleased\n\n## 0.2.0 (2030-01-02)\n")
    release.released((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), "9.8.7", "2030-01-02")


@pytest.mark.parametrize(
    ("changelog", "version"),
    [("# Changelog\n", "0.2.0"), (CHANGELOG.replace("- New.\n", ""), "0.2.0"), (CHANGELOG, "0.1.0")],
)
def test_a_release_of_nothing_is_refused(release, changelog, version):
    with pytest.raises(ValueError, match=r"CHANGELOG\.md has"):
        release.released(changelog, version, "2030-01-02")


@pytest.mark.parametrize(
    "remote", ["https://example.org/me/ident.git\n", "git@example.org:me/ident", "ssh://git@example.org/me/ident.git"]
)
def test_a_release_links_to_the_repository_that_it_is_made_in(release, remote):
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    linked = release.linked(text, remote)
    found, before = tomllib.loads(linked), tomllib.loads(text)
    urls = found["project"].pop("urls")
    assert urls["Source"] == "https://example.org/me/ident"
    assert urls["Issues"] == "https://example.org/me/ident/issues"
    before["project"].pop("urls", None)
    assert found == before
    assert release.linked(linked, remote) == linked  # the next release writes none twice


@pytest.mark.parametrize("remote", ["", "/srv/ident.git", "https://example.org"])
def test_a_release_without_a_home_on_the_web_is_refused(release, remote):
    with pytest.raises(ValueError, match="is no address of a repository on the web"):
        release.linked("", remote)


def test_a_release_wants_a_version_and_no_changes():
    done = subprocess.run([ROOT / ".ci" / "release", "next"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "wanted a version such as 0.2.0\n")
