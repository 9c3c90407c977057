"""What the commands of `ident` share: errors as sentences, progress, tables.

Results go to stdout, all else to stderr.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from unicodedata import category

import typer

from ident.cli.options import spelt_out
from ident.errors import EstimationError, IdentError, UnusableError, shortened

if TYPE_CHECKING:
    from rich.console import Console

    from ident.pipelines.loaded import Loaded
    from ident.pipelines.steps import Warned
    from ident.report.text import Table
    from ident.tell import Tell

BAD_INPUT, FAILED, PROBLEMS, INTERRUPTED = 2, 3, 4, 130
#: What scripts may go by; `--help` ends with it.
EXIT_CODES = (
    "Exit codes: 0 done, 1 a bug, 2 input that cannot be used, 3 the fit failed or a file could not be made of it,"
    " 4 problems found: by a check, or the numbers are not to be used (validation failed, bodies or torques that are"
    " not plausible, an export of what was not validated); 130 interrupted."
)


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Turn errors that `ident` raises on purpose into one sentence and an exit code."""
    command = spelt_out(command)

    @functools.wraps(command)
    def wrapped(*args: Any, **given: Any) -> None:
        try:
            command(*args, **given)
        except IdentError as cause:
            for note in getattr(cause, "__notes__", ()):
                tell_aside(f"note: {note}")
            unusable, failed = isinstance(cause, UnusableError), isinstance(cause, EstimationError)
            raise ended(f"error: {cause}", PROBLEMS if unusable else FAILED if failed else BAD_INPUT) from None
        except OSError as cause:
            if cause.errno != errno.ENAMETOOLONG:
                raise
            message = (
                f"error: the path '{str(cause.filename)[:60]}...' is too long for this system. Choose a shorter one"
            )
            raise ended(message + ".", BAD_INPUT) from None
        except KeyboardInterrupt:
            raise ended("interrupted; nothing was written", INTERRUPTED) from None

    return wrapped


def ended(message: str, code: int) -> typer.Exit:
    """Print why a command ends, and return the exit to raise."""
    tell_aside(message)
    return typer.Exit(code)


def tell_aside(text: str) -> None:
    """Print a line to stderr."""
    typer.echo(printable(shortened(text)), err=True)


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

    from ident.tell import silent

    console = Console(stderr=True)
    if not console.is_terminal:
        yield silent
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


def say(text: str, style: str = "") -> None:
    """Print a sentence to stdout, with at most QUOTED characters of a name; the path of what was written is whole."""
    text = text if "wrote " in text else shortened(text)
    _console().print(printable(text), style=style or None, markup=False, soft_wrap=True)


STYLES = {"good": "green", "bad": "bold red", "unknown": "yellow", "": ""}


def show(table: Table, columns: Sequence[str] | None = None) -> None:
    """Print a table; `columns`: only these."""
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


def warn(warned: Sequence[Warned]) -> None:
    """Print warnings to stderr, those of one kind about one recording together."""
    from rich.console import Console

    from ident.pipelines.steps import NOTES

    console = Console(stderr=True, highlight=False)
    groups: dict[tuple[str, str], list[Warned]] = {}
    for w in dict.fromkeys(warned):
        groups.setdefault((w.about, w.kind), []).append(w)
    for same in groups.values():
        more = f" (and {len(same) - 1} more of this kind)" if len(same) > 1 else ""
        told, style = ("note", None) if same[0].kind in NOTES else ("warning", "yellow")
        console.print(printable(shortened(f"{told}: {same[0]}{more}")), style=style, markup=False, soft_wrap=True)


def show_notes(loaded: Loaded) -> None:
    """Print what an experiment's files say otherwise than it is read, or what is taken without being asked for."""
    for note in loaded.notes:
        say(f"note: {note}.")


def show_steps(steps: Sequence[tuple[float, int]], total: int, others: str = "others") -> None:
    """Print how often each time step [s] of a recording occurs, the most frequent six; `others`: all the rest."""
    from ident.report.text import number, table

    rows = [(number(step * 1e3), count) for step, count in steps[:6]]
    rest = sum(count for _, count in steps[6:])
    rows += [(others, rest)] if rest else []
    if rows:
        shares = [(step, str(count), f"{100 * count / total:.3g} %") for step, count in rows]
        show(table("", ("time step [ms]", "rows", "share"), shares))
