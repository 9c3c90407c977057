"""All messages about broken files that are tested, by the kind of file: `tests/broken` has one file for each."""

from __future__ import annotations

import tomllib

from repository import ROOT

#: What the folders of broken files hold.
KINDS = {
    "robot": "Robots: robot.toml, URDF",
    "logs": "Logs: dataset.toml and its files",
    "cad": "CAD tables: cad.csv, cad.toml",
    "cad_reports": "Reports of CAD programs",
    "experiment": "experiment.toml",
    "estimate": "estimate.json",
}


def pages() -> dict[str, str]:
    """Return the page of all messages."""
    lines = ["# Messages about files", ""]
    lines += ["Each line is what `ident` says of one broken file; file, key and numbers are those of that file.", ""]
    for folder, heading in KINDS.items():
        told = tomllib.loads((ROOT / "tests" / "broken" / folder / "expected.toml").read_text(encoding="utf-8"))
        said = [message for entry in told.values() for message in ([entry] if isinstance(entry, str) else entry)]
        lines += [f"## {heading}", "", *(f"- `` {message} ``" for message in dict.fromkeys(map(str, said))), ""]
    return {"guide/messages.md": "\n".join(lines)}
