"""Writing files and folders whole or not at all, under plain names, and removing what killed processes left; and where
results come from: versions, machine, command, and the hashes of what was read.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import os
import platform
import re
import secrets
import shutil
import sys
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ident.errors import InputError

#: Ending of the files that say which process makes what is beside them; they hold the name that it shall have.
MARK = ".writing"
#: What spreadsheets take for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
#: Names that Windows keeps for devices, with any ending.
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_MARK = re.compile(r"\..*\.[0-9a-f]{8}\.writing")


def file_word(name: str, otherwise: str) -> str:
    """Return a name as one plain ASCII word for a file: letters, digits, `.`, `-`, `_`, at most 60 of them.

    Marks on letters are dropped, all else becomes `_`; where nothing is left the word is `otherwise`.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    word = re.sub(r"[^A-Za-z0-9._-]+", "_", plain).strip("._-")[:60].rstrip("._-")
    return f"{otherwise}_{word}" if _DEVICE.fullmatch(word) else word or otherwise


def csv_cell(name: str) -> str:
    """Return a name as a spreadsheet shows it and does not compute it: a ' before what would begin a formula."""
    return f"'{name}" if name.startswith(_FORMULA) else name


def csv_text(head: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as CSV, the first cell of each row a name."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows((csv_cell(name), *rest) for name, *rest in rows)
    return text.getvalue()


def csv_name(cell: str) -> str:
    """Return the name that `csv_cell` made a cell of."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


def names_folder(out: str | Path) -> bool:
    """Return whether a path to write is a folder's: one that is there, or a text that ends with a slash."""
    return str(out).endswith(("/", os.sep)) or os.path.isdir(out)  # which is no error for a name that is too long


def short_names(files: Sequence[Path]) -> list[str]:
    """Return short names that tell files apart: their stems, with folders where stems are equal."""
    resolved = [f.resolve() for f in files]
    for depth in range(1, max((len(f.parts) for f in resolved), default=0) + 1):
        names = ["/".join([*f.parts[-depth:-1], f.stem]) for f in resolved]
        if len(set(names)) == len(names):
            return names
    return [str(f) for f in files]  # one file twice


def write_whole(path: str | Path, content: bytes | str) -> Path:
    """Write `content` to `path` so that no half-written file is ever left; missing folders are made.

    Text is written as UTF-8. Raises InputError when the place cannot be written to.
    """
    path = Path(path)
    with whole_file(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; the file takes its place at the end, or is removed when anything fails.

    Raises InputError when the place cannot be written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _beside(path) as part:
            yield part
            part.replace(path)
    except OSError as cause:
        raise InputError(f"cannot be written: {cause.strerror or cause}", file=path) from cause


@contextlib.contextmanager
def whole_folder(out: str | Path, files: Collection[str] = ()) -> Iterator[Path]:
    """Yield a new folder beside `out` that takes its place at the end, or is removed when anything fails.

    Raises InputError when `out` holds other files than `files`, or the place cannot be written to.
    """
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise InputError("is a file, wanted a folder", file=out, fix="Choose another --out")
    strangers = sorted(p.name for p in out.iterdir() if p.name not in files) if out.exists() else []
    if strangers:
        problem = f"the folder '{out}' holds '{strangers[0]}', which ident did not write"
        raise InputError(problem, fix="Choose another --out")
    made = [p for p in out.parents if not p.exists()]  # the innermost first
    with contextlib.ExitStack() as stack:
        for parent in reversed(made):  # from the innermost: they hold the results then, or something else
            stack.callback(_remove_empty, parent)
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            part = stack.enter_context(_beside(out))
            part.mkdir()
        except OSError as cause:
            raise _unwritable(out, cause) from None
        yield part
        try:
            _take_place(part, out)
        except OSError as cause:
            raise _unwritable(out, cause) from None


def _take_place(part: Path, out: Path) -> None:
    """Give the folder `part` the name `out`; what had it before goes once that has worked."""
    old = _old(part)
    if out.exists():
        out.rename(old)
    try:
        part.rename(out)
    except OSError:
        if old.exists():
            old.rename(out)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _unwritable(out: Path, cause: OSError) -> InputError:
    return InputError(f"cannot be written: {cause.strerror}", file=out, fix="Choose another --out")


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


# ---- what is being written, and by whom ----------------------------------------------------------------------------


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Yield a hidden path beside `path`, of nothing yet, and remove what it is of at the end.

    A marking file beside it is locked as long as this process lives, whatever kills it. What is marked and not locked
    is removed first. Raises OSError.
    """
    _sweep(path.parent)
    while True:
        mark = path.with_name(f".{path.name[:40]}.{secrets.token_hex(4)}{MARK}")
        handle = os.open(mark, os.O_CREAT | os.O_EXCL | os.O_RDWR)
        if _lock(handle) is not False:  # else another process takes it for one that was left
            break
        os.close(handle)
    try:
        os.write(handle, path.name.encode(errors="surrogateescape"))
        yield _part(mark)
    finally:
        _remove(_part(mark))
        os.close(handle)
        mark.unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Remove what processes that are gone have left unfinished in `folder`, and give back what they had set aside."""
    for mark in [Path(entry) for entry in os.scandir(folder) if _MARK.fullmatch(entry.name)]:
        with contextlib.suppress(OSError):  # another process did it, or it is another user's
            handle = os.open(mark, os.O_RDWR)
            try:
                ours = _lock(handle) is True
                if ours:
                    name = os.read(handle, 4096).decode(errors="surrogateescape")
                    old = _old(_part(mark))
                    if old.exists() and name and not (folder / name).exists():
                        old.rename(folder / name)
                    _remove(_part(mark))
                    _remove(old)
            finally:
                os.close(handle)
            if ours:
                mark.unlink(missing_ok=True)


def _lock(handle: int) -> bool | None:
    """Lock an open file for this process without waiting: False where another one has it, None where none can."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return None
    return True


def _part(mark: Path) -> Path:
    return mark.with_name(mark.name.removesuffix(MARK))


def _old(part: Path) -> Path:
    return part.with_name(part.name + ".old")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


# ---- where results come from ---------------------------------------------------------------------------------------

#: The entry of an estimate's provenance that names the recordings it was fitted on.
FITTED = "fitted on"
#: The entry that holds the tables of experiment.toml for what its logs chose, as they are pasted.
CHOSEN = "chosen"
#: That of the cut-offs that were tried, each with the error of what was left out, relative to the least.
TRIED = "left-out error by cut-off"

PACKAGES = ("robot-ident", "numpy", "scipy", "numba", "cvxpy", "clarabel", "scs", "pandas", "pyarrow")


def provenance(inputs: Mapping[str, str], command: str) -> dict[str, str]:
    """Return versions, platform, command, and `sha256 NAME` -> hash for each input, as texts.

    inputs: name of each file read -> its SHA-256 (hex).
    """
    found = {"command": command, "python": platform.python_version()}
    found |= {package: installed(package) for package in PACKAGES}
    found |= {"platform": f"{platform.system()} {platform.machine()}"}
    return found | {f"sha256 {name}": digest for name, digest in inputs.items()}


@cache
def installed(package: str) -> str:
    """Return the installed version of a distribution (or of its slim edition NAME-base), "n/a" where there is none."""
    for name in (package, f"{package}-base"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "n/a"


def dated(date: str | None) -> str:
    """Return the date in a file's head, today's for None, none for "". Raises InputError for what is no ISO date."""
    if date == "":
        return date
    try:
        return (datetime.now(UTC) if date is None else datetime.strptime(date, "%Y-%m-%d")).strftime("%Y-%m-%d")
    except ValueError:
        raise InputError(f"'{date}' is no date", key="--date", fix="Write it as 2025-03-01") from None


def hashes(*files: Path | None) -> dict[str, str]:
    """Return name -> SHA-256 (hex) of the files that there are. Raises InputError for one that cannot be read."""
    found = dict[str, str]()
    for file in files:
        try:
            found |= {} if file is None else {file.name: file_sha256(file)}
        except OSError as cause:
            raise InputError(f"cannot be read: {cause.strerror}", file=file) from None
    return found


def file_sha256(path: Path) -> str:
    """Return the SHA-256 (hex) of the file's content; of a bag's folder, that of its files' names and SHA-256s."""
    if path.is_dir():
        lines = (f"{p.name} {file_sha256(p)}\n" for p in sorted(path.iterdir()) if p.is_file())
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    now = path.stat()
    return _content_sha256(path, now.st_size, now.st_mtime_ns)


@lru_cache(maxsize=1024)
def _content_sha256(path: Path, _size: int, _changed: int) -> str:
    """Return the hash of a file as it is now, which is worked out once as long as size and time of change stay."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def data_path(text: str, folder: Path) -> Path:
    """Return the file that `text` in a file of `folder` names: inside that folder, or inside $IDENT_DATA.

    Raises InputError when the path leaves its folder or IDENT_DATA is needed and not set.
    """
    problem = f"the path '{text}' "
    if "\0" in text or not text:
        raise InputError(problem + "is no path")
    if any(len(name.encode()) > 255 for name in text.split("/")):
        raise InputError(f"the path '{text[:60]}...' has a name of more than 255 bytes", fix="Choose a shorter one")
    if text.startswith("$"):
        variable, _, text = text[1:].replace("\\", "/").partition("/")
        if variable != "IDENT_DATA":
            raise InputError(problem + f"uses ${variable}, and only $IDENT_DATA is known here")
        if not os.environ.get(variable):
            fix = f"Set it to the folder of the data: export {variable}=FOLDER"
            raise InputError(problem + f"needs the environment variable {variable}, which is not set", fix=fix)
        folder = Path(os.environ[variable])
    found = (folder / text).resolve()
    if not found.is_relative_to(folder.resolve()):
        raise InputError(problem + "leads out of its folder", fix="Put the file beside this one, or below it")
    return found
