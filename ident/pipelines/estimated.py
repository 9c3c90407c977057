"""What an estimate's file says of the experiment that it comes from: how its logs are read, and with which terms; and
the files that results are made from, which no result is written over, and whose changes are waited for.
"""

from __future__ import annotations

import re
import shlex
import time
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ident.errors import ConfigError, IdentError, InputError
from ident.estimate import Estimate, fitted_model
from ident.estimate.storage import estimate_file, load_estimate
from ident.experiment import LEVELS, Experiment, read_experiment
from ident.files import data_path, file_sha256, hashes
from ident.logs import Processing, locate, read_manifest
from ident.logs.automatic import as_lines, as_toml
from ident.model import coupled_drives
from ident.model.term import names
from ident.model.terms import TERMS, lines
from ident.pipelines.loaded import Loaded, described_in
from ident.pipelines.select import open_load
from ident.pipelines.steps import as_calibrated, processing_of, reaching_kept, require_same_model
from ident.robot.robot import DESCRIPTIONS
from ident.robot.xml import read_bytes
from ident.tables import read_toml

#: The entries of an estimate's provenance that say how logs were processed, in a fit and where it is judged.
PROCESSED = ("processing", "processing to validate")


def results_folder(experiment: Experiment) -> Path:
    """Return where the results go unless told otherwise: results/NAME beside the experiment's file."""
    return experiment.folder / "results" / experiment.name


def processing_told(processing: tuple[Processing, Processing]) -> dict[str, str]:
    """Return the entries of the provenance that say how logs were processed."""
    return dict(zip(PROCESSED, map(as_toml, processing), strict=True))


def chosen_lines(loaded: Loaded, processing: tuple[Processing, Processing]) -> str:
    """Return the tables of experiment.toml that say what the logs chose, as they are pasted; "" where they did not."""
    experiment, (fit, judged) = loaded.experiment, processing
    found = list[str]()
    if experiment.processing is None and fit != Processing():
        found += ["[processing]", *as_lines(fit)]
        changed = as_lines(judged, fit)
        found += ["", "[processing.validate]", *changed] if changed else []
    if not experiment.own_model:
        coupled = coupled_drives(loaded.robot)
        own = [t for t in loaded.model.terms if not t.kind.mechanism and t not in coupled]
        given = [t for t in experiment.terms if t.kind.mechanism]  # as the file has them, not as they are at work
        said = {name for t in given for name in names(t, loaded.robot)}
        given += [t for t in loaded.model.terms if t.kind.mechanism and said.isdisjoint(names(t, loaded.robot))]
        without = {t.kind.key for t in TERMS if t.kind.standard} - {t.kind.key for t in own}
        lacking = [f"{key} = false" for key in sorted(without)]
        found += ["", "[model]", *lines([*own, *given]), *lacking]
    return "\n".join(found).strip()


def experiment_of(estimate: str | Path) -> Path:
    """Return the file of the experiment that a stored estimate comes from, from the folders that its results lie in.

    Raises InputError where it is not there, or has changed since, with the command that names it.
    """
    named = _beside(Path(estimate))
    if named is not None and named[1]:
        return named[0]
    problem, given = "was fitted on an experiment that is not beside it", "EXPERIMENT"
    if named is not None:
        problem, given = f"was fitted on '{named[0].name}' as it was before it changed", str(named[0])
    command = shlex.join(["ident", "report", str(estimate), given])
    raise InputError(problem, file=estimate, fix=f"Name the experiment: {command}")


def origin_of(estimate: str | Path) -> Experiment | None:
    """Return the experiment that a stored estimate comes from, None where it or its robot has gone or changed."""
    named, origin = _beside(Path(estimate)), load_estimate(estimate).provenance
    with suppress(IdentError):
        found = None if named is None else read_experiment(named[0])
        if found is not None:
            known = hashes(found.robot, described_in(found.robot))
            return found if all(origin.get(f"sha256 {name}") == sha for name, sha in known.items()) else None
    return None


def made_from(estimate: str | Path) -> tuple[Path, ...]:
    """Return a stored estimate's file and, where its experiment is still there, all that this names, changed or not."""
    found = [estimate_file(estimate)]
    with suppress(IdentError):
        if (named := _beside(Path(estimate))) is not None:
            found += sources_of(read_experiment(named[0]))
    return tuple(found)


def _beside(estimate: Path) -> tuple[Path, bool] | None:
    """Return the experiment's file that a stored estimate names, and whether it is unchanged; None where none is there.

    It is the first of the hashed files. Looked for in the folder of the results, those above, and the working folder.
    """
    found, folder = None, estimate_file(estimate).resolve().parent
    origin = load_estimate(estimate).provenance
    name = next((key.removeprefix("sha256 ") for key in origin if key.startswith("sha256 ")), "")
    if Path(name).name != name or not name.endswith(".toml"):
        return None
    for place in (folder, *list(folder.parents)[:LEVELS], Path.cwd()):
        file = place / name
        with suppress(IdentError, OSError):
            if file.is_file() and "experiment" in read_toml(file, ConfigError):
                same = file_sha256(file) == origin[f"sha256 {name}"]
                if same:
                    return file, True
                found = found or (file, False)
    return found


def as_estimated(loaded: Loaded, estimate: Estimate) -> Loaded:
    """Return the experiment as it was fitted: with the estimate's joint terms, where its file has no [model], and its
    processing, where the same logs chose it.

    Raises ConfigError for an estimate of another model.
    """
    links = loaded.model.n_rigid
    left_open = not loaded.experiment.own_model or open_load(loaded)
    chosen = left_open and estimate.base.standard[:links] == loaded.model.names[:links]
    if not chosen:
        require_same_model(loaded, estimate)
    stored = _stored(loaded, estimate)
    if stored is not None:
        loaded = replace(loaded, processing=stored)
    if chosen:
        model = replace(fitted_model(estimate, loaded.robot), robot=loaded.robot)
        loaded = replace(loaded, model=model, base=estimate.base, processing=processing_of(loaded))
    found = as_calibrated(loaded, estimate.calibration)
    return found if stored is None else replace(found, processing=stored)  # which has calibrated delays already


def as_run(loaded: Loaded) -> tuple[Loaded, Estimate | None]:
    """Return the experiment as its last run fitted it, see `as_estimated`, and what it found.

    None, and the experiment as its files have it, where there is no run, or one of another model.
    """
    with suppress(IdentError):
        estimate = load_estimate(results_folder(loaded.experiment))
        return as_estimated(loaded, estimate), estimate
    return loaded, None


def _stored(loaded: Loaded, estimate: Estimate) -> tuple[Processing, Processing] | None:
    """Return the estimate's processing, None where the experiment says its own or its fitted logs are others."""
    experiment, origin = loaded.experiment, estimate.provenance
    if experiment.processing is not None or any(key not in origin for key in PROCESSED):
        return None
    files = {f: locate(loaded.manifest, f) for name in experiment.fit for f in loaded.manifest.recording(name).files}
    if experiment.by_hand is not None:
        files[experiment.file.name] = experiment.file
    if any(origin.get(f"sha256 {name}") != file_sha256(file) for name, file in files.items()):
        return None
    fit, judged = (_processing(key, origin[key]) for key in PROCESSED)
    return fit, judged if experiment.by_hand is not None else reaching_kept(loaded, judged)


def _processing(key: str, text: str) -> Processing:
    try:
        return Processing(**tomllib.loads(f"given = {{ {text} }}")["given"])
    except (TypeError, ValueError, IdentError) as cause:
        fix = "Do not edit the estimate by hand; fit again"
        raise InputError("is no processing of logs", key=f"provenance.{key}", fix=fix) from cause


#: What a URDF or an MJCF says of its meshes, textures and parts.
_NAMED = re.compile(rb"""\bfile(?:name)?\s*=\s*["']([^"']+)["']""")


def sources_of(experiment: Experiment) -> Iterator[Path]:
    """Yield the files and folders that an experiment names, logs and the robot's description among them."""
    yield from (experiment.file, experiment.robot, experiment.data)
    yield from (path for path in (experiment.cad, experiment.truth) if isinstance(path, Path))
    with suppress(IdentError):
        found = read_manifest(experiment.data)
        folder = data_path(found.folder, found.file.parent)
        yield from (folder / file for recording in found.recordings for file in recording.files)


def require_apart(out: str | Path, sources: Iterable[Path | None], known: Iterable[str] = ()) -> None:
    """Raise InputError where `out` is one of these files, lies in such a folder, or is a mesh that a robot file names.

    known: SHA-256 of what was read, wherever it lies. What is not there yet may always be written.
    """
    out = Path(out)
    if out.is_file() and (_is_one(out.resolve(), sources) or file_sha256(out) in known):
        problem = "is one of the files that this is made from, and would be lost"
        raise InputError(problem, file=out, fix=f"Write it elsewhere, such as --out new/{out.name}")


def _is_one(out: Path, sources: Iterable[Path | None]) -> bool:
    for source in (path.resolve() for path in sources if path is not None):
        described = None
        with suppress(IdentError):
            described = described_in(source) if source.suffix.lower() in (".toml", *DESCRIPTIONS) else None
        if out in (source, described and described.resolve()) or (source.is_dir() and source in out.parents):
            return True
        named = _NAMED.findall(read_bytes(described)) if described and described.is_file() else []
        if out.name in (Path(name.decode(errors="replace").replace("\\", "/")).name for name in named):
            return True
    return False


#: How often files are looked at [s].
EVERY = 1.0


def changes(experiment: Path) -> Iterator[None]:
    """Yield at once, and again whenever a file of an experiment is another one than when that was last yielded."""
    while True:
        before = stamps(experiment)
        yield
        seen = before
        while seen == before or seen != stamps(experiment):  # a file may be half written
            seen = stamps(experiment)
            time.sleep(EVERY)


def stamps(experiment: Path) -> dict[Path, tuple[int, int] | None]:
    """Return time of change [ns] and size of each file that an experiment reads, None where it is missing."""
    found: dict[Path, tuple[int, int] | None] = {}
    for path in files_of(experiment):
        found[path] = None
        with suppress(OSError):
            there = path.stat()
            found[path] = (there.st_mtime_ns, there.st_size)
    return found


def files_of(experiment: Path) -> list[Path]:
    """Return the files of an experiment: its own, robot, data set, logs, tables; of a broken one those that it names.

    A folder of CAD reports stands for the files in it.
    """
    found = [experiment / "experiment.toml" if experiment.is_dir() else experiment]
    with suppress(IdentError):
        read = read_experiment(experiment)
        found += sources_of(read)
        found += filter(None, [described_in(read.robot)])
    inside = [file for path in found if path.is_dir() for file in sorted(path.rglob("*"))]
    return list(dict.fromkeys([*found, *inside]))
