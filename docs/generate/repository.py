"""The repository's own pages on the site: which file is which page, and links that hold in both places."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: Links and images of Markdown, and what they point to.
_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+)\)")

#: Files of the repository that the site has a generated page for: a link to one is one to that page there.
MADE_OF = {
    **{f"docs/examples/{name}.toml": f"formats/{name}.md" for name in ("experiment", "dataset", "cad")},
    "ident/cli/answers.schema.json": "formats/answers.md",
    "ident/pipelines/__init__.pyi": "python/pipelines.md",
    "tests/broken": "guide/messages.md",
}


def readmes() -> dict[str, str]:
    """Return the repository's pages that the site includes, and where: {path in the repository: page}."""
    found = {"CHANGELOG.md": "house/changelog.md", "CONTRIBUTING.md": "house/contributing.md"}
    found |= {"README.md": "index.md", "ident/README.md": "house/index.md"}
    found |= {f"ident/{p.parent.name}/README.md": f"house/{p.parent.name}.md" for p in _sorted("ident/*/README.md")}
    for path in _sorted("experiments/*/README.md"):
        name = path.parent.name
        place = f"lessons/{name.removeprefix('seed_')}" if name.startswith("seed_") else f"studies/{name}"
        found[f"experiments/{name}/README.md"] = f"{place}.md"
    return found


def _sorted(pattern: str) -> list[Path]:
    return sorted(ROOT.glob(pattern))


def title(path: str) -> str:
    """Return the first heading of a page of the repository."""
    return re.search(r"^# (.*)$", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)[1]  # type: ignore[index]


def relinked(text: str, source: str, page: str, pages: dict[str, str]) -> tuple[str, set[str]]:
    """Return a page with its links as they are on the site, and the files of the repository that they ask for.

    source: path in the repository; page: on the site; pages: of all that the site has, by path in the repository.
    A link to a page becomes one to its place; one to another file, one to a copy; one to a folder without page, text.
    """
    files: set[str] = set()

    def placed(found: re.Match[str]) -> str:
        label, (target, hash_, anchor) = found[1], found[2].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        where = pages.get(path) or pages.get(f"{path}/README.md")
        if where is None and (ROOT / path).is_file():
            own = path.startswith("docs/")
            where = path.removeprefix("docs/") if own else f"files/{path}"
            files.update(() if own else (path,))
        if where is None:
            return label[1:-1] if (ROOT / path).is_dir() else found[0]
        return f"{label}({posixpath.relpath(where, posixpath.dirname(page) or '.')}{hash_}{anchor})"

    return _LINK.sub(placed, text), files
