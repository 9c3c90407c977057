"""What the commands of `ident` share: options, errors as sentences, progress, tables, answers to programs.

Results go to stdout, all else to stderr; with --json they are one document, described by `answers.schema.json`: a
changed meaning, or a key that goes, is a new number behind the command's name; a new key is not.
`name: Annotated[kind, "help", "--other-name WORD"]` is an option: the second text, which may be left out, gives other
names and the word for its value. A parameter that is a dataclass stands for an option for each such field of it.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import logging
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, is_dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints
from unicodedata import category

import typer

from ident.errors import EstimationError, IdentError, UnusableError, sentence, shortened
from ident.files import names_folder
from ident.pipelines.answers import plain
from ident.tell import LOG, logged

if TYPE_CHECKING:
    from rich.console import Console

    from ident.pipelines.loaded import Loaded
    from ident.pipelines.steps import Result
    from ident.report.text import Table
    from ident.tell import Tell


#: The number behind a command's name where it is not 1.
VERSIONS: dict[str, int] = {}


@dataclass
class Asked:
    """How one command shall answer, and the parts of its answer."""

    json: bool = False
    quiet: bool = False
    parts: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> bool:
        """Whether results are printed for people."""
        return not (self.json or self.quiet)

    def document(self, command: str, code: int, failed: BaseException | None) -> str:
        """Return the answer of a command (such as "cad read") that ended with an exit code, or its error."""
        name = "error" if failed is not None else command.replace(" ", ".")
        head = {"schema": f"ident.{name}/{VERSIONS.get(name, 1)}", "exit_code": code}
        return json.dumps(head | (self.parts if failed is None else plain(failed)), ensure_ascii=False)


_ASKED: ContextVar[Asked] = ContextVar("asked", default=Asked())  # noqa: B039  what nobody changes


def asked() -> Asked:
    """Return how the command that runs shall answer."""
    return _ASKED.get()


@contextmanager
def answering(as_json: bool, quiet: bool) -> Iterator[Asked]:
    """Let what runs inside answer so."""
    before = _ASKED.set(Asked(as_json, quiet))
    try:
        yield _ASKED.get()
    finally:
        _ASKED.reset(before)


def answer(**parts: Any) -> None:
    """Add parts to the answer of the command that runs, where a program reads it."""
    if asked().json:
        asked().parts |= plain(parts)


BAD_INPUT, FAILED, PROBLEMS, INTERRUPTED = 2, 3, 4, 130
#: What scripts may go by; `--help` ends with it.
EXIT_CODES = (
    "Exit codes: 0 done, 1 a bug, 2 input that cannot be used, 3 the fit failed or a file could not be made of it,"
    " 4 problems found: by a check, or the numbers are not to be used (validation failed, bodies or torques that are"
    " not plausible, an export of what was not validated); 130 interrupted."
)


def register(app: typer.Typer, *commands: Callable[..., None]) -> None:
    """Give an app commands, each as `guarded` and with the exit codes below its help."""
    for command in commands:
        app.command(epilog=EXIT_CODES)(guarded(command))


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Turn errors that `ident` raises on purpose into one sentence and an exit code, and answer as is asked."""
    command = spelt_out(command)

    @functools.wraps(command)
    def wrapped(*args: Any, **given: Any) -> None:
        context, as_json, quiet = (given.pop(key, None) for key in _OUTPUT)
        with answering(as_json, quiet) as asked, heard(quiet):
            code, failed = attempted(command, *args, **given)
            if as_json:
                typer.echo(asked.document(context.command_path.partition(" ")[2], code, failed))
        if code:
            raise typer.Exit(code)

    return wrapped


def attempted(command: Callable[..., None], *args: Any, **given: Any) -> tuple[int, BaseException | None]:
    """Run a command; return its exit code, and the error that ended it."""
    try:
        command(*args, **given)
    except typer.Exit as end:
        return end.exit_code, None
    except IdentError as cause:
        for note in getattr(cause, "__notes__", ()):
            LOG.info(note)
        tell_aside(f"error: {cause}")
        unusable, failed = isinstance(cause, UnusableError), isinstance(cause, EstimationError)
        return PROBLEMS if unusable else FAILED if failed else BAD_INPUT, cause
    except OSError as cause:
        if cause.errno != errno.ENAMETOOLONG:
            raise
        tell_aside(
            f"error: the path '{str(cause.filename)[:60]}...' is too long for this system. Choose a shorter one."
        )
        return BAD_INPUT, cause
    except KeyboardInterrupt as cause:
        tell_aside("interrupted; nothing was written")
        return INTERRUPTED, cause
    return 0, None


def tell_aside(text: str) -> None:
    """Print a line about a problem to stderr."""
    typer.echo(printable(shortened(text)), err=True)


class _Stderr(logging.Handler):
    """Prints notes and warnings of the library."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one."""
        from rich.console import Console

        told, style = ("note", None) if record.levelno < logging.WARNING else ("warning", "yellow")
        text = printable(shortened(f"{told}: {record.getMessage()}"))
        Console(stderr=True, highlight=False).print(text, style=style, markup=False, soft_wrap=True)


@contextlib.contextmanager
def heard(quiet: bool) -> Iterator[None]:
    """Print what the library logs, while a command runs: warnings, and notes unless `quiet`."""
    handler, before = _Stderr(logging.WARNING if quiet else logging.INFO), LOG.level
    LOG.addHandler(handler)
    LOG.setLevel(handler.level)
    try:
        yield
    finally:
        LOG.setLevel(before)
        LOG.removeHandler(handler)


def printable(text: str) -> str:
    """Return text that a terminal shows and does not obey: names come from files that anybody may have written."""
    return "".join(c if c.isprintable() or c in "\n\t" or category(c) == "Zs" else repr(c)[1:-1] for c in text)


def command_line() -> str:
    """Return the command as it was typed."""
    return shlex.join(["ident", *sys.argv[1:]])


@contextlib.contextmanager
def progress() -> Iterator[Tell]:
    """Show what is being done on stderr, when that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal or not asked().text:
        yield logged
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        tasks: dict[str, Any] = {}

        def tell(doing: str, done: int, total: int) -> None:
            if doing not in tasks:
                tasks[doing] = bar.add_task(printable(doing))
            bar.update(tasks[doing], completed=done, total=total)

        yield tell


def _console() -> Console:
    """Return the console of stdout; where that is no terminal, wide enough for tables."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console.width = 130
    return console


def say(*sentences: str, style: str = "") -> None:
    """Print sentences to stdout, with at most QUOTED characters of a name; the path of what was written is whole."""
    for text in sentences if asked().text else ():
        whole = text if "wrote " in text else shortened(text)
        _console().print(printable(whole), style=style or None, markup=False, soft_wrap=True)


STYLES = {"good": "green", "bad": "bold red", "unknown": "yellow", "": ""}


def show(table: Table, columns: Sequence[str] | None = None) -> None:
    """Print a table; `columns`: only these."""
    if not asked().text:
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Shown

    chosen = [i for i, c in enumerate(table.columns) if columns is None or c in columns]
    headed = any(table.columns[i] for i in chosen)
    title = _plain(table.title) if table.title else None
    shown = Shown(title=title, title_justify="left", title_style="bold", show_header=headed, box=SIMPLE_HEAD)
    for i in chosen:
        numbers = all(row[i][:1] in "0123456789+-(n" for row in table.rows if row[i]) and i > 0
        shown.add_column(_plain(table.columns[i]), justify="right" if numbers else "left", overflow="fold")
    for row, tone in zip(table.rows, table.tones, strict=True):
        shown.add_row(*(_plain(row[i]) for i in chosen), style=STYLES[tone] or None)
    _console().print(shown)


def _plain(text: str) -> Any:
    """Return a cell whose brackets mean nothing."""
    from rich.text import Text

    return Text(printable(shortened(text)))


def show_calibration(result: Result) -> None:
    """Print what [calibrate] found, and what to write into which file; nothing without one."""
    from ident.report.outcome_text import calibration_rows, lines_to_paste, shared_factor

    found = result.estimate.calibration
    if not found:
        return
    show(calibration_rows(result.estimate))
    if note := shared_factor(found, result.loaded.robot.n):
        say(note)
    gains = result.loaded.manifest.recordings[0].torque.gain
    say(*lines_to_paste(found, result.loaded.robot.gravity.tolist(), gains))


def show_notes(loaded: Loaded) -> None:
    """Print what an experiment's files say otherwise than it is read, or what is taken without being asked for."""
    say(*(sentence(f"note: {note}") for note in loaded.notes))


# Options --------------------------------------------------------------------------------------------------------------

ExperimentPath = Annotated[
    Path, typer.Argument(metavar="EXPERIMENT", help="Folder of an experiment, or its .toml file")
]
EstimatePath = Annotated[
    Path, typer.Argument(metavar="ESTIMATE", help="estimate.json that `run` or `fit` wrote, or its folder")
]
RobotPath = Annotated[Path, typer.Argument(metavar="ROBOT", help="Robot (.urdf, .xml, .toml)")]


#: What every command has besides its own options.
_OUTPUT = {
    "context": typer.Context,
    "json": Annotated[bool, "Print one JSON document for programs, and nothing else on stdout", "--json"],
    "quiet": Annotated[bool, "Print problems only", "--quiet"],
}


def out_option(name: str, about: str = "File to write") -> Any:
    """Return the option --out of a file, called `name` where a folder is given."""
    return typer.Option("--out", "-o", parser=file_out(name), metavar="PATH", help=about)


def file_out(name: str) -> Callable[[str], Path]:
    """Return what reads an --out for one file: itself, or `name` in the folder that it names."""
    return lambda out: Path(out) / name if names_folder(out) else Path(out)


def spelt_out(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the signature that typer reads: see this module."""
    hints = get_type_hints(command, include_extras=True)
    found: list[Parameter] = []
    groups: dict[str, tuple[type, list[str]]] = {}
    for p in signature(command).parameters.values():
        group = hints[p.name]
        if not (isinstance(group, type) and is_dataclass(group)):
            found.append(p.replace(annotation=_option(group), kind=Parameter.KEYWORD_ONLY))
            continue
        own = get_type_hints(group, include_extras=True)
        asked = [f for f in fields(group) if get_origin(own[f.name]) is Annotated]
        groups[p.name] = group, [f.name for f in asked]
        found += [
            Parameter(f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=_option(own[f.name])) for f in asked
        ]

    for name, hint in _OUTPUT.items():
        default = Parameter.empty if hint is typer.Context else False
        found.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=_option(hint)))

    @functools.wraps(command)
    def wrapped(*first: Any, **given: Any) -> None:
        given |= {p.name: value for p, value in zip(found, first, strict=False)}
        for name, (group, keys) in groups.items():
            given[name] = group(**{key: given.pop(key) for key in keys})
        command(**given)

    wrapped.__signature__ = Signature(found)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in found}
    return wrapped


def _option(hint: Any) -> Any:
    kind, *about = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if not about or not isinstance(about[0], str):
        return hint
    words = about[1].split() if about[1:] else []
    names = [word for word in words if word.startswith("-")]
    value = next((word for word in words if word not in names), None)
    return Annotated[kind, typer.Option(*names, help=about[0], metavar=value)]
