"""From a bag or a recorder's file to a table and the `dataset.toml` that describes it, whole or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ident.errors import LogError, plural
from ident.files import whole_file, write_whole
from ident.logs.readers.info import LogInfo, log_info
from ident.logs.readers.recorded import joint_units, parts
from ident.logs.readers.request import rebatched
from ident.robot import Robot
from ident.tell import Tell, silent

ENDINGS = (".parquet", ".csv")
ROWS = 65_536  # written together


@dataclass(frozen=True)
class Converted:
    """A table that was written: its path, that of its manifest and the manifest's text, rows written and dropped."""

    path: Path
    manifest: Path
    stanza: str
    rows: int
    dropped: int
    info: LogInfo


def convert(
    path: str | Path,
    out: str | Path,
    *,
    topic: str = "",
    joints: Sequence[str] = (),
    robot: Robot | None = None,
    tell: Tell = silent,
) -> Converted:
    """Write a recording as a table (.parquet or .csv) and, beside it, the manifest (.toml) that reads it.

    Columns: `time` as the recording's own clock, then `LABEL.JOINT`. Numbers are those of the recording. Rows whose
    clock repeats the row before are dropped and counted. Raises LogError, before anything is written, for a recording
    without position or without effort (torque, current), for a clock that jumps back (with the messages' numbers), a
    manifest that is there already, and all that `log_info` refuses.
    """
    path, out = Path(path), Path(out)
    manifest = out.with_suffix(".toml")
    if out.suffix not in ENDINGS:
        raise LogError(f"ends in '{out.suffix}'", file=out, fix=f"Choose one of {', '.join(ENDINGS)}")
    if out.resolve() == path.resolve():
        raise LogError("would be written over itself", file=out, fix="Give another --out")
    if manifest.exists():
        raise LogError("is there already, perhaps with your gains in it", file=manifest, fix="Remove it, or give"
                       " another --out")  # fmt: skip
    info = log_info(path, topic=topic, joints=joints, robot=robot, tell=tell)
    _require_usable(info)
    with whole_file(out) as temporary:
        dropped = _write(info, temporary, out.suffix, tell)
        text = stanza(info, out.name, robot, dropped)
        write_whole(manifest, text)
    return Converted(out, manifest, text, info.rows - dropped, dropped, info)


def _require_usable(info: LogInfo) -> None:
    r = info.recorded
    where = r.topic or None
    for label in ("position", r.torque):
        if label is None or label not in info.usable:
            what = label or ("effort" if r.topic else "current and no torque")
            problem = info.holes(label) if label else f"carries no {what}"
            wanted = "Positions" if label == "position" else "Torque or current"
            raise LogError(problem, file=r.name, key=where, fix=f"{wanted} must be recorded for every joint")
    if info.jumps.count:
        row = "message" if r.topic else "row"
        raise LogError(
            f"the clock '{r.clock}' jumps back {plural(info.jumps.count, 'time')}, at {row} {info.jumps}",
            file=r.name,
            key=where,
            fix="Cut the recording there; nothing is reordered silently",
        )
    if info.rows - info.repeats.count < 3:
        raise LogError("has fewer than 3 rows", file=r.name, key=where)


def stanza(info: LogInfo, table: str, robot: Robot | None = None, dropped: int = 0) -> str:
    """Return the text of a manifest that reads the converted `table`, units declared."""
    r = info.recorded
    stem = re.sub(r"[^A-Za-z0-9._+-]+", "_", Path(table).stem).lstrip("._+-")[:100] or "log"
    note = f"clock: {r.clock}"
    if dropped:
        note += f"; {plural(dropped, 'row')} dropped whose clock repeats"
    where = f", topic {r.topic}" if r.topic else ""
    lines = [
        "[dataset]",
        f"name = {_quoted(stem)}",
        f"source = {_quoted(f'{r.name} ({r.kind}{where})')}",
        f"note = {_quoted(note)}",
        "",
        "[signals]",
        f'time = {{ column = "time", unit = "{r.clock_unit}" }}',
    ]
    quantities = {"position": "position", "velocity": "velocity", r.torque: "torque"}
    for channel in r.channels:
        if channel.label not in info.usable:
            continue
        units = joint_units(channel, robot)
        unit = _quoted(units[0]) if len(set(units)) == 1 else f"[{', '.join(_quoted(u) for u in units)}]"
        columns = ", ".join(_quoted(f"{channel.label}.{joint}") for joint in r.named)
        quantity = quantities.get(channel.label)
        if channel.unit == "A" and quantity:
            lines.append("# add gain = [...], in N m per A, one per joint and with its sign; it can be identified, too")
            lines.append(f"torque = {{ columns = [{columns}], unit = {unit} }}")
        elif quantity:
            if channel.label == "effort":
                lines.append("# some drivers publish motor current as effort: then unit = 'A' and gain = [N m per A]")
            lines.append(f"{quantity} = {{ columns = [{columns}], unit = {unit} }}")
        else:
            lines.append(f"# also there, in {channel.unit}: {columns}")
    lines += ["", "[[recording]]", f"name = {_quoted(stem)}", f"file = {_quoted(table)}", ""]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _write(info: LogInfo, path: Path, ending: str, tell: Tell) -> int:
    """Write the table; return how many rows were dropped because their clock repeats."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    r, seen = info.recorded, info.recorded.seen()
    labels = [c.label for c in r.channels if c.label in info.usable]
    names = ["time", *(f"{label}.{joint}" for label in labels for joint in r.named)]
    kind = pyarrow.parquet.ParquetWriter if ending == ".parquet" else pyarrow.csv.CSVWriter
    columns = ([p.clocks[r.clock], *(x for label in labels for x in p.values[label].T)] for p in parts(r, seen))
    writer: Any = None
    last: Any = None
    dropped = 0
    try:
        for clock, *values in rebatched(columns, ROWS):
            new = clock > np.append(clock[0] - 1 if last is None else last, clock[:-1])
            last = clock[-1]
            dropped += int((~new).sum())
            table = pa.table([x[new] for x in (clock, *values)], names=names)
            writer = writer or kind(path, table.schema)
            writer.write_table(table)
            tell(f"writing {r.name}", seen.messages, max(info.messages, seen.messages))
    finally:
        if writer is not None:
            writer.close()
    return dropped
