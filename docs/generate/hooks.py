"""What MkDocs runs: generated pages, the repository's own pages, links between them, equations as MathML."""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Any

import api
import commands
import formats
import messages
import notebook_pages
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from repository import MADE_OF, ROOT, readmes, relinked, title

#: Pages of the site by path in the repository, and the other way round.
_PAGES: dict[str, str] = {}
_SOURCES: dict[str, str] = {}


@cache
def generated() -> dict[str, str]:
    """Return the pages that are made of the code."""
    return {**commands.pages(), **formats.pages(), **api.pages(), **messages.pages(), **notebook_pages.pages()}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the sections of the navigation whose pages are generated."""
    made = generated()
    own = {page: title(path) for path, page in readmes().items()}
    sections = {"Commands": "commands/", "File formats": "formats/", "Python": "python/", "Notebooks": "notebooks/"}
    for heading, folder in sections.items():
        pages = sorted((p for p in made if p.startswith(folder)), key=lambda p: (not p.endswith("index.md"), p))
        _section(config, heading)[:] = [p if p.endswith("index.md") else {_short(made[p]): p} for p in pages]
    for heading, folder in {"Studies": "studies/", "Lessons": "lessons/", "The house": "house/"}.items():
        pages = sorted((p for p in own if p.startswith(folder)), key=lambda p: (not p.endswith("index.md"), p))
        _section(config, heading)[len(_section(config, heading)) :] = [
            p if p.endswith("index.md") else {own[p].replace("`", ""): p} for p in pages
        ]
    return config


def _section(config: MkDocsConfig, heading: str) -> list[Any]:
    return next(part[heading] for part in config.nav or [] if isinstance(part, dict) and heading in part)


def _short(text: str) -> str:
    heading = re.search(r"^# (.*)$", text, re.MULTILINE)
    return heading[1].split(":")[0].removeprefix("ident ") if heading else "?"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, those of the repository, and copies of the files that these link to."""
    texts = {f.src_uri: f.content_string for f in files if f.src_uri.endswith(".md")}
    for page, text in generated().items():
        files.append(File.generated(config, page, content=text))
        texts[page] = text
    _PAGES.update({f"docs/{page}": page for page in texts})
    _PAGES.update({page.replace(".md", ".ipynb"): page for page in texts if page.startswith("notebooks/")})
    _PAGES.update(MADE_OF)
    for path, page in readmes().items():
        text = (ROOT / path).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
        texts[page], _PAGES[path], _SOURCES[page] = text, page, path
    copies = set[str]()
    for page, text in texts.items():
        copies |= relinked(text, _SOURCES.get(page, f"docs/{page}"), page, _PAGES)[1]
    for path in sorted(copies):
        files.append(File.generated(config, f"files/{path}", content=(ROOT / path).read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Turn the repository's links into the site's."""
    name = page.file.src_uri
    return relinked(markdown, _SOURCES.get(name, f"docs/{name}"), name, _PAGES)[0]


def on_page_content(content: str, **_: Any) -> str:
    """Set equations as MathML, which browsers draw without a script."""
    content = re.sub(r'<span class="arithmatex">\\\((.*?)\\\)</span>', _equation, content, flags=re.DOTALL)
    return re.sub(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', _equation, content, flags=re.DOTALL)


def _equation(found: re.Match[str]) -> str:
    return convert(html.unescape(found[1]).strip(), display="block" if found[0].startswith("<div") else "inline")
