"""The errors of `ident`: each is one sentence for the user and carries its data as attributes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

#: So many characters of a name at most are quoted in a message.
QUOTED = 120
_WORD, _QUOTE = (
    re.compile(rf"[^\s',:;()]{{{QUOTED + 1},}}"),
    re.compile(rf"(?<!\w)'(?=\S)[^'\n]{{{QUOTED + 1},}}'(?!\w)"),
)


class IdentError(Exception):
    """Base of every error that `ident` raises on purpose."""

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


def shortened(message: str) -> str:
    """Return a message that quotes at most QUOTED characters of a name, whoever wrote the file that it comes from."""
    message = _QUOTE.sub(lambda found: f"'{cut(found[0][1:-1])}'", message)
    return _WORD.sub(lambda found: cut(found[0]), message)


def cut(text: str, most: int = QUOTED) -> str:
    """Return a text of at most `most` characters: its beginning, dots where some are left out, and the quote's end."""
    if len(text) <= most:
        return text
    quoted = text[-1] in "'\"" and text[: most - 4].count(text[-1]) % 2
    end = f"...{text[-1]}" if quoted else "..."
    return text[: most - len(end)] + end


def plural(number: int, what: str) -> str:
    """Return "1 column", "2 columns"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


class InputError(IdentError):
    """Something a user gave cannot be used.

    The message reads "FILE, line N, KEY: PROBLEM. FIX."; each part is kept as an attribute.

    Parameters: `problem` what was found and what was wanted; `file`, `line` (1-based), `key` where;
    `fix` what to do.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        key: str | None = None,
        fix: str | None = None,
    ) -> None:
        self.problem = problem
        self.file = None if file is None else Path(file).name
        self.line = line
        self.key = key
        self.fix = fix
        places = [self.file, None if line is None else f"line {line}", key]
        where = ", ".join(cut(p) for p in places if p)
        message = f"{where}: {problem}" if where else problem
        super().__init__(" ".join(sentence(part) for part in (message, fix) if part))


def sentence(text: str) -> str:
    """Return the text ending in one full stop, unless it is a question.

    Only a list, of items on indented lines, has line ends: whatever names hold becomes a space.
    """
    text = re.sub(r"(?:(?!\n  \S)[\x00-\x1f\x7f])+", " ", text).rstrip(". ")
    return text if text.endswith("?") else text + "."


class RobotError(InputError):
    """A robot description cannot be used."""


class CadError(InputError):
    """A CAD table cannot be used, or holds a body that cannot exist."""


class LogError(InputError):
    """A log or its manifest cannot be used."""


class ConfigError(InputError):
    """An experiment file cannot be used."""


class ModelError(InputError):
    """A model and the data given to it do not fit each other."""


class RegressionError(InputError):
    """Factors cannot be merged, loaded or solved."""


class ExcitationError(InputError):
    """A trajectory cannot be used, or none can be designed for what was asked."""


class EstimationError(IdentError):
    """An estimator did not succeed. `estimate` holds what it had reached, or None."""

    def __init__(self, message: str, *, estimate: Any = None) -> None:
        self.estimate = estimate
        super().__init__(message)


class UnusableError(EstimationError):
    """A fit succeeded, and its numbers are not to be used as they are: validation failed, or there was none."""


class InfeasibleError(EstimationError):
    """The numbers that would be written out are not physically consistent."""


#: Packages that extras of the installation bring: what needs them, and the extra.
EXTRAS = {
    "pyarrow": ("Parquet", "parquet"),
    "rosbags": ("reading ROS 2 bags and MCAP", "ros"),
    "h5py": ("HDF5, as MATLAB's files of version 7.3 are,", "hdf5"),
    "matplotlib": ("drawing figures", "plots"),
    "fpdf": ("a PDF", "plots"),
    "sympy": ("equations in closed form", "symbolic"),
    "xarray": ("labelled arrays", "xarray"),
    "fsspec": ("reading logs at an address such as s3://", "remote"),
    "pooch": ("fetching a public log", "public"),
    "cvxpy": ("a fit that ident's own solver gives up", "solvers"),
}


def need(package: str) -> None:
    """Raise InputError, which says how to install it, where the package of an extra is not there."""
    if find_spec(package) is None:
        what, extra = EXTRAS[package]
        raise InputError(f"{what} needs {package}, which is not installed", fix=f"pip install 'robot-ident[{extra}]'")


def require_known(
    names: Iterable[str], known: Collection[str], error: Callable[..., InputError], unknown: str, **place: Any
) -> None:
    """Raise `error` for the first name that is not known, with the nearest one that is.

    unknown: the beginning of its message, such as "the robot has no link"; place: where it is, and the fix.
    """
    for name in names:
        if name not in known:
            raise error(f"{unknown} '{name}'{nearest(name, known)}", **place)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the nearest known name, or "" when none is near."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean '{close[0]}'?" if close else ""
