"""One page for each file that people write: every key, asked of the code that reads it, and a file that has them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import keys as asking
from keys import Key
from repository import ROOT

import ident
from ident.cad import convention, read_cad, read_frames
from ident.cad.table import COLUMNS
from ident.calibrate import Wishes
from ident.estimate.bounds import Bounds
from ident.experiment import Experiment, read_experiment
from ident.geometry.scene_file import read_scene
from ident.logs.manifest import UNITS, Manifest, Recording, Remote, Signal, TextFormat
from ident.logs.process import Processing
from ident.model.terms import TERMS
from ident.pipelines.fleet import fleet
from ident.pipelines.loaded import read_truth

EXAMPLES = ROOT / "docs" / "examples"
SIGNALS = ("time", "position", "velocity", "torque", "temperature")


@dataclass(frozen=True)
class Format:
    """A kind of file: its page's heading and first words, its examples, who reads them, and tables of named tables.

    fields: dataclasses whose fields are the keys of a table.
    """

    heading: str
    words: str
    examples: tuple[str, ...]
    read: Callable[[Path], object]
    named: tuple[str, ...] = ()
    fields: tuple[tuple[str, Any], ...] = ()


def _robot() -> ident.Robot:
    return ident.read_robot(EXAMPLES / "robot-urdf.toml")


FORMATS: dict[str, Format] = {
    "robot": Format(
        "robot.toml: the robot",
        "A DH table, or a URDF and what a URDF cannot say. A URDF alone needs no robot.toml. How a URDF is read, and"
        " what rounded angles mean: [robots](../../ident/robot/README.md).",
        ("robot.toml", "robot-urdf.toml", "robot-keep.toml"),
        ident.read_robot,
    ),
    "dataset": Format(
        "dataset.toml: the logs",
        "Which column of which file is what, in which unit. `ident init` writes it from raw logs. How logs are read:"
        " [logs](../../ident/logs/README.md).",
        ("dataset.toml",),
        ident.read_manifest,
        ("layout",),
        (
            ("dataset", Manifest),
            ("text", TextFormat),
            ("recording", Recording),
            ("remote", Remote),
            *((f"{table}.{signal}", Signal) for signal in SIGNALS for table in ("signals", "layout.NAME", "recording")),
        ),
    ),
    "experiment": Format(
        "experiment.toml: the identification",
        "Robot, logs and CAD, what is fitted and what is kept for validation. `ident init` writes it.",
        ("experiment.toml",),
        read_experiment,
        (
            "fit.bounds.mass",
            "fit.bounds.com",
            "fit.bounds.box",
            "fit.bounds.ellipsoid",
            "fit.bounds.pinned",
            "expected",
        ),
        (
            ("experiment", Experiment),
            ("recordings", Experiment),
            ("processing", Processing),
            ("processing.validate", Processing),
            ("fit", Experiment),
            ("fit.bounds", Bounds),
            ("calibrate", Wishes),
        ),
    ),
    "scene": Format(
        "scene.toml: what a motion must not touch",
        "Shapes around the robot, read by `ident excite --scene`. Lengths and angles are in the file's own units.",
        ("scene.toml", "scene-capsules.toml"),
        lambda path: read_scene(path, _robot()),
    ),
    "fleet": Format(
        "fleet.toml: many robots",
        "Read by `ident fleet`. Patterns are relative to the file's folder.",
        ("fleet.toml", "fleet-experiments.toml"),
        fleet,
    ),
    "frames": Format(
        "frames.toml: where CAD reports were printed",
        "Read by `--frames` of `ident cad`: the output frame of each link's report, seen from the link's frame.",
        ("frames.toml",),
        read_frames,
        ("",),
    ),
    "truth": Format(
        "truth.toml: true parameters",
        "Of a simulated robot, named by `truth` in experiment.toml: parameters by name in SI units.",
        ("truth.toml",),
        lambda path: read_truth(path, _robot()),
        ("parameters",),
    ),
}

#: What no field and no table of the code says: keys that stand for another, or hold one.
MORE = {
    "parameters": "One line for each parameter.",
    "parameters.NAME": 'Its value, such as `"link2.hx" = 0.04` or `"joint3.viscous" = 0.03`.',
    "fleet": "The only table.",
    "NAME": "The frame in which the report of the link NAME was printed.",
    "processing.validate": "The same keys, for the recordings kept for validation, where they differ.",
    "model.coupled_drives": dict(asking.of_fields(Experiment))["coupled_drives"].means,
    "fit.bounds": dict(asking.of_fields(Experiment))["bounds"].means,
    "fit.bounds.mass.NAME": "Of the link NAME.",
    "fit.bounds.com.NAME": "Of the link NAME.",
    "fit.bounds.box.NAME": "Of the link NAME.",
    "fit.bounds.ellipsoid.NAME": "Of the link NAME.",
    "fit.bounds.ellipsoid.NAME.centre": "Of the ellipsoid, in the link's frame.",
    "fit.bounds.ellipsoid.NAME.semi_axes": "Its half lengths.",
    "fit.bounds.pinned.NAME": "Of the parameter NAME.",
    "expected.NAME": "A figure of the result, such as `relative_total`.",
    "recording.layout": "Name of the [layout] that holds for it, instead of [signals].",
    "layout.NAME": "The signals of the layout NAME.",
    **{
        f"{table}.{signal}": f"Where the {signal} stands."
        for table in ("signals", "layout.NAME", "recording")
        for signal in SIGNALS
    },
    **{
        f"{table}.{signal}.column": "One column, in place of `columns`."
        for table in ("signals", "layout.NAME", "recording")
        for signal in SIGNALS
    },
}


@cache
def found(name: str) -> dict[str, Key]:
    """Return every key of a format by its path, each with what it takes, defaults to and means."""
    form = FORMATS[name]
    entries: dict[str, Key] = {}
    for example in form.examples:
        for path, key in asking.asked(form.read, EXAMPLES / example, form.named).items():
            entry = entries.setdefault(path, key)
            entry.takes, entry.means = entry.takes or key.takes, entry.means or key.means
    for table, kind in form.fields:
        for field, told in asking.of_fields(kind):
            if entry := entries.get(f"{table}.{field}"):
                entry.means, entry.default = entry.means or told.means, entry.default or told.default
    for path, means in MORE.items():
        if path in entries and not entries[path].means:
            entries[path].means = means
    _with_terms(entries)
    return entries


def _with_terms(entries: dict[str, Key]) -> None:
    """Give the keys of [model] what the terms say of themselves."""
    for term in TERMS:
        kind = term.kind
        if entry := entries.get(f"model.{kind.key}"):
            entry.means = f"{kind.words[0].upper()}{kind.words[1:]}: {kind.law} [{kind.units[0]}; {kind.units[1]}]."
            entry.default = "`true`" if kind.standard else "`false`"
        for field in dataclasses.fields(term):
            if entry := entries.get(f"model.{kind.key}.{field.name}"):
                entry.means = (
                    "The joints that have it; without, all." if field.name == "joints" else term.__doc__.split("\n")[0]
                )


def pages() -> dict[str, str]:
    """Return the pages of all formats."""
    made = {f"formats/{name}.md": _page(name) for name in FORMATS}
    made |= {f"formats/{path.name.split('.')[0]}.md": _schema(path) for path in schemas()}
    return made | {"formats/cad.md": _cad(), "formats/index.md": _index()}


def schemas() -> list[Path]:
    """Return the JSON schemas of the files that `ident` writes."""
    return sorted((ROOT / "ident").glob("**/*.schema.json"))


def _index() -> str:
    lines = [
        "# File formats",
        "",
        "Files that people write. A mistake in one is a sentence that names file, key and what was wanted.",
        "",
    ]
    lines += ["| file | what it says |", "|---|---|"]
    for name, form in FORMATS.items():
        lines.append("| [{}]({}.md) | {} |".format(form.heading.split(":")[0], name, form.heading.split(": ")[1]))
    lines += ["| [cad.csv, cad.toml](cad.md) | masses, centres and inertias, as CAD has them |", ""]
    lines += ["Files that `ident` writes, by their JSON schema:", ""]
    for path in schemas():
        title = json.loads(path.read_text(encoding="utf-8")).get("title", path.name).replace("`", "")
        lines.append(f"- [{title}]({path.name.split('.')[0]}.md)")
    return "\n".join(lines) + "\n"


def _page(name: str) -> str:
    form = FORMATS[name]
    lines = [f"# {form.heading}", "", form.words, "", "Unknown keys are errors.", ""]
    tables: dict[str, list[str]] = {}
    for path in found(name):
        tables.setdefault(path.rpartition(".")[0], []).append(path)
    hidden = {f"layout.NAME.{s}" for s in SIGNALS} | {f"recording.{s}" for s in SIGNALS} | {"processing.validate"}
    for table, paths in tables.items():
        if table in hidden and name in ("dataset", "experiment"):
            continue
        lines += [f"## {_title(table)}", "", "| key | takes | default | meaning |", "|---|---|---|---|"]
        lines += [_row(path, found(name)[path]) for path in paths] + [""]
        if table == "model":
            lines += _laws()
    if name == "dataset":
        lines += _units()
    for example in form.examples:
        text = (EXAMPLES / example).read_text(encoding="utf-8")
        lines += [f"## An example: {example}", "", "```toml", text.rstrip(), "```", ""]
    return "\n".join(lines)


def _title(table: str) -> str:
    return f"[{table}]" if table else "At the top"


def _row(path: str, key: Key) -> str:
    cells = (f"`{path.rpartition('.')[2]}`", key.takes, key.default, key.means)
    return "| " + " | ".join(cell.replace("|", "\\|").replace("[", "\\[") for cell in cells) + " |"


def _laws() -> list[str]:
    lines = ["Each law, with its numbers:", ""]
    for term in TERMS:
        body = [line.strip() for line in term.__doc__.strip().splitlines()]
        lines += [f"`{term.kind.key}` ({term.__name__})", ":   " + " ".join(body).replace("[", "\\["), ""]
    return lines


def _units() -> list[str]:
    lines = ["## Units", "", "| signal | units |", "|---|---|"]
    return lines + [f"| {signal} | {', '.join(f'`{u}`' for u in units)} |" for signal, units in UNITS.items()] + [""]


def _cad() -> str:
    lines = [
        "# cad.csv, cad.toml: what CAD says",
        "",
        "One line (or one table `[[link]]`) for each link, or for each of its parts.",
    ]
    lines += [
        " What the numbers mean is declared, never guessed: "
        + 'in cad.csv by lines `# key = "value"` at the top, in cad.toml by `[convention]`.',
        "",
    ]
    lines += ["## [convention]", "", "| key | takes | meaning |", "|---|---|---|"]
    takes = {
        "mass": convention.MASS,
        "length": convention.LENGTH,
        "tensor_at": convention.TENSOR_AT,
        "products": convention.PRODUCTS,
        "rows": convention.ROWS,
    }
    for field, told in asking.of_fields(convention.Convention):
        some = "a unit of mass and one of length squared, such as `kg mm^2`; `kgf cm s^2`, `lbf in s^2`, `lbf ft s^2`"
        words = ", ".join(f"`{word}`" for word in takes[field]) if field in takes else some
        lines.append(f"| `{field}` | {words} | {told.means} |")
    columns = ", ".join(f"`{c}`" for c in COLUMNS)
    lines += ["", "## Columns, or keys of [[link]]", ""]
    lines += [
        f"`link` (in cad.toml `name`) and {columns}: mass, centre of mass, tensor."
        " Numbers are kept as they are printed: their digits say how far they are rounded.",
        "",
    ]
    lines += ["## cad.toml only", "", "| key | meaning |", "|---|---|"]
    lines += ["| `table` | a cad.csv beside it, in place of `[[link]]` |"]
    lines += ["| `joint` | `[joint.NAME]` holds joint terms that CAD states, such as `drive_inertia` |", ""]
    for example in ("cad.csv", "cad.toml"):
        text = (EXAMPLES / example).read_text(encoding="utf-8")
        lines += [
            f"## An example: {example}",
            "",
            "```toml" if example.endswith("toml") else "```text",
            text.rstrip(),
            "```",
            "",
        ]
    return "\n".join(lines)


def cad_keys() -> list[str]:
    """Return the keys of a CAD table."""
    return [*(f.name for f in dataclasses.fields(convention.Convention)), *COLUMNS, "link", "table", "joint"]


def _schema(path: Path) -> str:
    schema = json.loads(path.read_text(encoding="utf-8"))
    heading = f"{path.name.split('.')[0]}.json" if "properties" in schema else schema["title"]
    lines = [f"# {heading}", "", schema.get("description", ""), ""]
    lines += _properties(schema)
    for name, part in schema.get("$defs", {}).items():
        lines += [f"## {name}", "", part.get("description", ""), "", *_properties(part)]
    return "\n".join([*lines, "## The schema", "", "```json", path.read_text(encoding="utf-8").rstrip(), "```", ""])


def _properties(schema: dict[str, Any]) -> list[str]:
    """Return the table of an object's keys, nothing where it says none."""
    rows = []
    for key, told in schema.get("properties", {}).items():
        kind = told.get("type", told.get("$ref", "").rpartition("/")[2])
        kind = " or ".join(kind) if isinstance(kind, list) else kind or f"`{json.dumps(told.get('const', ''))}`"
        rows.append(f"| `{key}` | {kind} | {told.get('description', '')} |".replace("[", "\\["))
    return ["| key | takes | meaning |", "|---|---|---|", *rows, ""] if rows else []


def readers() -> dict[str, Callable[[Path], object]]:
    """Return who reads each example, for the tests."""
    return {example: form.read for form in FORMATS.values() for example in form.examples} | {
        "cad.csv": read_cad,
        "cad.toml": read_cad,
    }
