"""One page for each command, made of what the command line itself declares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from ident.cli.console import EXIT_CODES
from ident.cli.main import app


def commands() -> dict[str, Any]:
    """Return all commands by name, those of groups with the group's."""
    return dict(_within(get_command(app), ()))


def _within(group: Any, above: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _within(command, (*above, name))
        else:
            yield " ".join((*above, name)), command


def page_name(name: str) -> str:
    """Return the page of a command."""
    return f"commands/{name.replace(' ', '-')}.md"


def pages() -> dict[str, str]:
    """Return the pages of all commands, and the one that lists them."""
    found = {page_name(name): _page(name, command) for name, command in commands().items()}
    rows = [
        f"| [`ident {name}`]({page_name(name).removeprefix('commands/')}) | {_plain(command.help)} |"
        for name, command in commands().items()
    ]
    head = "# Commands\n\nEach command is one function of [`ident.pipelines`](../python/pipelines.md). "
    found["commands/index.md"] = "\n".join([head, "", "| command | what it does |", "|---|---|", *rows, "", _ended()])
    return found


def _ended() -> str:
    said = "Results go to stdout, all else to stderr; [what `--json` prints](../formats/answers.md)."
    return f"{said} {EXIT_CODES} More in [exit codes](../guide/exit-codes.md).\n"


def _page(name: str, command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not getattr(p, "hidden", False)]
    usage = " ".join(["ident", name, *(["[OPTIONS]"] if options else []), *map(_argument, arguments)])
    lines = [f"# ident {name}", "", _plain(command.help), "", "```text", usage, "```", ""]
    if arguments:
        lines += ["## Arguments", "", "| argument | meaning |", "|---|---|"]
        lines += [f"| `{_argument(p)}` | {_plain(p.help)} |" for p in arguments] + [""]
    if options:
        lines += ["## Options", "", "| option | meaning |", "|---|---|"]
        lines += [_option(p) for p in options] + [""]
    return "\n".join([*lines, _ended()])


def _argument(parameter: Any) -> str:
    word = parameter.metavar or parameter.name.upper()
    word = f"{word}..." if parameter.nargs == -1 else word
    return word if parameter.required else f"[{word}]"


def _option(parameter: Any) -> str:
    names = ", ".join(f"`{o}`" for o in (*parameter.opts, *parameter.secondary_opts))
    word = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}"
    default = parameter.default
    told = isinstance(default, str | int | float | Path) and default not in (False, "")
    shown = f" (default `{default}`)" if told else ""
    required = " (required)" if parameter.required else ""
    return f"| {names}{word}{required} | {_plain(parameter.help)}{shown} |"


def _plain(text: str | None) -> str:
    """Return help without the marks of the terminal, fit for a cell of a table."""
    return re.sub(r"\s+", " ", (text or "").replace("\\[", "[").replace("|", "\\|")).strip()
