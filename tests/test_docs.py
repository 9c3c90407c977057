"""The documentation: no key, command or public name without an entry; a site without warnings that asks no network."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys

import pytest
from logs_data import ROOT
from test_report_browser import BROWSER, violations

import ident

GENERATE = ROOT / "docs" / "generate"


@pytest.fixture(scope="module")
def made(monkeypatch_module):
    """Return the modules that generate pages, by name."""
    monkeypatch_module.syspath_prepend(str(GENERATE))
    names = ("api", "commands", "formats", "keys", "messages", "notebook_pages")
    return {name: importlib.import_module(name) for name in names}


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def test_every_key_has_a_sentence_and_what_it_takes(made):
    formats = made["formats"]
    for name in formats.FORMATS:
        keys, page = formats.found(name), formats.pages()[f"formats/{name}.md"]
        assert [path for path, key in keys.items() if not key.means or not key.takes] == [], name
        assert [path for path in keys if f"| `{path.rpartition('.')[2]}` |" not in page] == [], name
    cad = formats.pages()["formats/cad.md"]
    assert [key for key in formats.cad_keys() if f"`{key}`" not in cad] == []


def test_a_key_without_a_sentence_is_noticed(made, tmp_path):
    """The readers themselves are asked: a key that they know and nobody explains shows."""
    file = tmp_path / "some.toml"
    file.write_text("told = 1\nunsaid = 2\n")

    def read(path):
        table = ident.tables.Table(ident.tables.read_toml(path, ident.errors.ConfigError), "", path, ValueError)
        table.known({"told": "A number.", "unsaid": ""})
        return table.number("told", 3.0), table.number("unsaid")

    found = made["keys"].asked(read, file)
    assert (found["told"].means, found["told"].takes, found["told"].default) == ("A number.", "a number", "`3`")
    assert found["unsaid"].means == ""


def test_examples_have_every_key_of_processing_model_and_fit(made):
    """Which are those of the classes that hold them; what a reader is asked for, and nothing else, is on the page."""
    import dataclasses

    from ident.calibrate import Wishes
    from ident.estimate.bounds import Bounds
    from ident.logs.process import Processing
    from ident.model.terms import TERMS

    keys = set(made["formats"].found("experiment"))
    for table, kind in (("processing", Processing), ("calibrate", Wishes), ("fit.bounds", Bounds)):
        assert {f"{table}.{f.name}" for f in dataclasses.fields(kind)} <= keys
    assert {f"model.{term.kind.key}" for term in TERMS} <= keys


def test_every_command_and_option_has_an_entry(made):
    commands = made["commands"]
    pages = commands.pages()
    assert {"run", "init", "cad doctor"} <= set(commands.commands())
    for name, command in commands.commands().items():
        page = pages[commands.page_name(name)]
        options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
        assert [p.opts[0] for p in options if f"`{p.opts[0]}`" not in page] == [], name
        assert [p.name for p in command.params if not p.help] == [], name


def test_every_public_name_has_an_entry(made):
    api = made["api"]
    shown = {name for names in api.public().values() for name in names} | set(api.rooms())
    assert set(ident.__all__) <= shown | {"__version__"}
    for room, package in api.rooms().items():
        assert set(getattr(package, "__all__", ())) <= set(api.names(package)) | set(vars(package)), room
    pages = api.pages()
    for page, names in api.public().items():
        assert [n for n in names if f"heading: {n}\n" not in pages[page] and f"## {n}\n" not in pages[page]] == []


def test_every_message_of_the_broken_files_is_on_its_page(made):
    page = made["messages"].pages()["guide/messages.md"]
    assert page.count("\n- ") > 200
    assert {p.name for p in (ROOT / "tests" / "broken").iterdir()} == set(made["messages"].KINDS)


def test_figures_of_the_comparison_are_those_of_the_benchmarks():
    page = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8").partition("## Speed and memory")[2]
    measured = (ROOT / "experiments" / "benchmarks" / "README.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.splitlines() if re.match(r"\| ?(\d|[^|]*us a)", line)]
    figures = {x for cells in rows for cell in cells[3:] for x in re.findall(r"\d+\.\d{2,}", cell)}
    assert len(rows) > 10
    assert figures <= set(re.findall(r"\d+\.\d+", measured))


def test_equations_stand_in_the_theory_alone():
    """In the repository's other pages a dollar is a dollar."""
    pages = [
        *ROOT.glob("*.md"),
        *ROOT.glob("ident/**/*.md"),
        *ROOT.glob("experiments/*/*.md"),
        *ROOT.glob("docs/*/*.md"),
    ]
    for page in pages:
        prose = re.sub(
            r"```.*?```|`[^`]*`|^    .*$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
        )
        assert not re.search(r"\$\S[^$\n]*\S\$", prose), page


def test_links_between_pages_hold_in_the_checkout():
    pages = [
        p
        for top in ("", "ident", "docs", "experiments", "datasets")
        for p in (ROOT / top).glob("**/*.md" if top else "*.md")
    ]
    links = []
    for page in pages:
        prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        found = re.findall(r"\]\(([^()\s#]+)(?:#[^()\s]*)?\)", prose)
        links += [(page, target) for target in found if not re.match(r"[a-z]+:", target)]
    assert len(links) > 80
    assert [f"{page}: {target}" for page, target in links if not (page.parent / target).exists()] == []


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the site, built with every warning an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}  # the theme's own notice
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=quiet)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.mark.slow
def test_the_site_has_all_pages_and_asks_no_network(site, made):
    pages = {str(p.relative_to(site)) for p in site.rglob("*.html")}
    wanted = [
        page for name in ("api", "commands", "formats", "messages", "notebook_pages") for page in made[name].pages()
    ]
    assert [page for page in wanted if page.replace(".md", ".html") not in pages] == []
    assert [
        p for p in (ROOT / "docs").rglob("*.md") if str(p.relative_to(ROOT / "docs"))[:-3] + ".html" not in pages
    ] == []
    fetched = re.compile(
        r'<(?:script|img|iframe|source)\b[^>]*\bsrc="(?:https?:)?//|<link\b[^>]*\bhref="(?:https?:)?//'
    )
    assert [p for p in pages if fetched.search((site / p).read_text(encoding="utf-8"))] == []
    styles = "".join(p.read_text(encoding="utf-8") for p in site.rglob("*.css"))
    assert not re.search(r"url\(['\"]?(?:https?:)?//", styles)
    theory = (site / "theory.html").read_text(encoding="utf-8")
    assert theory.count("<math") > 40
    assert "arithmatex" not in theory
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    notebook = (site / "notebooks" / "05_structure.html").read_text(encoding="utf-8")
    assert notebook.count('src="data:image/png;base64,') == 3
    assert "missed of the log" in notebook
    linked = (site / "tutorials" / "logs.html").read_text(encoding="utf-8")
    assert 'href="../notebooks/00_identify.html"' in linked
    assert any("drop_repeated" in entry["text"] for entry in index["docs"])


#: Pages of every kind.
SEEN = ("index.html", "theory.html", "formats/experiment.html", "python/logs.html", "guide/files.html")
SEEN += ("notebooks/00_identify.html", "notebooks/05_structure.html")


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light, wide", "dark, narrow"])
def test_pages_are_accessible(site, tmp_path, dark):
    """No serious finding of axe-core (of another version: IDENT_AXE=FILE), but on a page made to have one; without a
    browser, the language is told."""
    pages = [site / name for name in SEEN]
    assert all('<html lang="en"' in page.read_text(encoding="utf-8") for page in pages)
    text = pages[0].read_text(encoding="utf-8")
    assert 'alt="Files in, parameters out' in text
    if BROWSER:
        bad = site / "bad.html"
        bad.write_text(re.sub(r'(<img )alt="Files in[^"]*" ', r"\1", text), encoding="utf-8")
        *found, noticed = violations([*pages, bad], tmp_path / "profile", dark)
        bad.unlink()
        for name, told in zip(SEEN, found, strict=True):
            assert [v for v in told if v[0] in ("serious", "critical")] == [], name
        assert "image-alt" in [v[1] for v in noticed]
