"""ROS 1 bags (format 2.0), read from front to back one chunk at a time.

The format: wiki.ros.org/Bags/Format/2.0. A record is a header of `name=value` fields and data, each after its length;
chunks hold the records of connections and messages. The `rosbags` package keeps an index entry of every message, some
200 bytes each; read in the order of the file, memory stays flat, and the recorder wrote in the order of arrival.
"""

from __future__ import annotations

import bz2
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ident.errors import LogError

MAGIC = b"#ROSBAG V2.0\n"
BAG, CHUNK, CHUNK_INFO, CONNECTION = 3, 5, 6, 7  # kinds of records, by their field op; 2 is a message
LARGEST = 1 << 30  # bytes of a chunk; the recorder's default is 768 KiB
MD5 = "3066dcd76a6cfaef579bd0f34173e9fd"  # of sensor_msgs/JointState, unchanged since 2010
DAMAGED = "Was the recording cut off? Try 'rosbag reindex', or record it again"

_U32, _U64, _MESSAGE_TIME = struct.Struct("<I"), struct.Struct("<Q"), struct.Struct("<II")


@dataclass(frozen=True)
class Connection1:
    """A publisher of a topic: its number in the bag, topic, type ("package/Name"), MD5 of the type."""

    number: int
    topic: str
    type: str
    md5: str


def connections(path: Path, name: str) -> tuple[tuple[Connection1, ...], dict[int, int]]:
    """Return the connections of a bag, and how many messages each has, from the index at its end."""
    with _open(path, name) as stream:
        header = _bag_header(stream, name)
        at = _number(header, b"index_pos", 8, name)
        if at == 0:
            raise LogError("is not indexed: its recorder was stopped", file=name, fix=DAMAGED)
        if at > path.stat().st_size:
            raise LogError("is cut off before its index", file=name, fix=DAMAGED)
        stream.seek(at)
        found: list[Connection1] = []
        counts: dict[int, int] = {}
        while record := _record(stream, name):
            fields, data = record
            op = _op(fields, name)
            if op == CONNECTION:
                about, number = _fields(data, name), _number(fields, b"conn", 4, name)
                texts = fields.get(b"topic", b""), about.get(b"type", b""), about.get(b"md5sum", b"")
                found.append(Connection1(number, *(text.decode("utf-8", "replace") for text in texts)))
            elif op == CHUNK_INFO:
                if len(data) % 8:
                    raise LogError("has a damaged index", file=name, fix=DAMAGED)
                for i in range(0, len(data), 8):
                    connection, count = _MESSAGE_TIME.unpack_from(data, i)
                    counts[connection] = counts.get(connection, 0) + count
        if len(found) != _number(header, b"conn_count", 4, name):
            raise LogError("ends before its index does", file=name, fix=DAMAGED)
    return tuple(found), counts


def messages(path: Path, name: str, numbers: Collection[int]) -> Iterator[tuple[int, bytes]]:
    """Yield (received [ns], bytes) of the messages of these connections, in the order of the file.

    Raises LogError for a file that is cut off or damaged.
    """
    with _open(path, name) as stream:
        end = _number(_bag_header(stream, name), b"index_pos", 8, name)
        wanted = {_U32.pack(n) for n in numbers}
        while stream.tell() < end:
            record = _record(stream, name)
            if record is None:
                break
            fields, data = record
            if _op(fields, name) == CHUNK:
                yield from _chunk(_unpacked(fields, data, name), name, wanted)


def _open(path: Path, name: str) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as cause:
        raise LogError(f"cannot be read ({cause.strerror})", file=name) from None


def _bag_header(stream: BinaryIO, name: str) -> dict[bytes, bytes]:
    magic = stream.read(len(MAGIC))
    if magic != MAGIC:
        other = magic.startswith(b"#ROSBAG V") and magic.endswith(b"\n")
        version = "".join(c for c in magic[9:-1].decode(errors="replace") if c.isprintable())
        what = f"is a bag of version {version}, only 2.0 is read" if other else ""
        raise LogError(what or "is not a ROS 1 bag: it does not begin with #ROSBAG", file=name)
    record = _record(stream, name)
    if record is None or _op(record[0], name) != BAG:
        raise LogError("has no bag header", file=name, fix=DAMAGED)
    if record[0].get(b"encryptor"):
        raise LogError("is encrypted", file=name, fix="Decrypt it with rosbag first")
    return record[0]


def _record(stream: BinaryIO, name: str) -> tuple[dict[bytes, bytes], bytes] | None:
    """Return header fields and data of the next record, None at the end of the file."""
    size = stream.read(4)
    if not size:
        return None
    header = _read(stream, _U32.unpack(size)[0] if len(size) == 4 else -1, name)
    data = _read(stream, _U32.unpack(_read(stream, 4, name))[0], name)
    return _fields(header, name), data


def _read(stream: BinaryIO, size: int, name: str) -> bytes:
    data = stream.read(size) if 0 <= size <= LARGEST else b""
    if len(data) != size:
        raise LogError("ends in the middle of a record, or is damaged", file=name, fix=DAMAGED)
    return data


def _fields(header: bytes, name: str) -> dict[bytes, bytes]:
    fields, at = {}, 0
    while at < len(header):
        if at + 4 > len(header):
            raise LogError("has a damaged record header", file=name, fix=DAMAGED)
        (size,) = _U32.unpack_from(header, at)
        key, equals, value = header[at + 4 : at + 4 + size].partition(b"=")
        at += 4 + size
        if not equals or at > len(header):
            raise LogError("has a damaged record header", file=name, fix=DAMAGED)
        fields[key] = value
    return fields


def _op(fields: dict[bytes, bytes], name: str) -> int:
    return _number(fields, b"op", 1, name)


def _number(fields: dict[bytes, bytes], key: bytes, size: int, name: str) -> int:
    value = fields.get(key, b"")
    if len(value) != size:
        raise LogError(f"has a record without '{key.decode()}'", file=name, fix=DAMAGED)
    return int.from_bytes(value, "little")


def _unpacked(fields: dict[bytes, bytes], data: bytes, name: str) -> bytes:
    size, compression = _number(fields, b"size", 4, name), fields.get(b"compression", b"none")
    if size > LARGEST:
        raise LogError(f"has a chunk of {size} bytes", file=name, fix=DAMAGED)
    try:
        if compression == b"bz2":
            data = bz2.BZ2Decompressor().decompress(data, max_length=size + 1)
        elif compression == b"lz4":
            import lz4.frame  # type: ignore[import-untyped]

            data = lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size + 1)
        elif compression != b"none":
            shown = compression.decode(errors="replace")[:20]
            raise LogError(f"is compressed by '{shown}', known are none, bz2 and lz4", file=name)
    except (OSError, RuntimeError, EOFError, ValueError) as cause:
        problem = f"has a chunk that cannot be unpacked ({type(cause).__name__})"
        raise LogError(problem, file=name, fix=DAMAGED) from None
    if len(data) != size:
        raise LogError("has a chunk of another size than it says", file=name, fix=DAMAGED)
    return data


def _chunk(data: bytes, name: str, wanted: Collection[bytes]) -> Iterator[tuple[int, bytes]]:
    at, end, length, time_of = 0, len(data), _U32.unpack_from, _MESSAGE_TIME.unpack
    try:
        while at < end:
            start = at + 4
            stop = start + length(data, at)[0]
            begin = stop + 4
            at = begin + length(data, stop)[0]
            if at > end:
                raise LogError("has a damaged chunk", file=name, fix=DAMAGED)
            fields = _fields(data[start:stop], name)
            if fields.get(b"op") == b"\x02" and fields.get(b"conn") in wanted:
                seconds, nanoseconds = time_of(fields[b"time"])
                yield seconds * 1_000_000_000 + nanoseconds, data[begin:at]
    except (struct.error, KeyError):
        raise LogError("has a damaged chunk", file=name, fix=DAMAGED) from None
