"""Raw `sensor_msgs/JointState` messages to arrays, thousands at a time, without an object per message.

Fields: header (ROS 1: uint32 seq; stamp; frame_id), string[] name, float64[] position, velocity, effort [rad or m,
rad/s or m/s, N m or N]; each array is empty or as long as the names. ROS 1 packs them little-endian without padding;
ROS 2 uses CDR: 4 bytes that give the byte order, then numbers aligned to their size from there on, strings ended by a
zero byte (OMG DDSI-RTPS 2.5, section 10). Messages of one length whose names and counts are byte for byte alike share a
`Layout`, which is worked out once; that they are alike is checked for every message.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from ident.arrays import Array
from ident.errors import LogError

BATCH = 4096  # messages decoded together
LAYOUTS = 16  # per batch and length; beyond that messages are taken one by one
ARRAYS = ("position", "velocity", "effort")
RECORD_AGAIN = "Is the type of the topic really sensor_msgs/JointState? Else record it again"


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the parts of a message stand, in bytes: `stamp`, `starts` of the arrays with `counts` numbers each.

    `fixed` are the bytes that make the layout (names, counts, not their padding), `content` what they hold.
    """

    names: tuple[str, ...]
    stamp: int
    starts: tuple[int, int, int]
    counts: tuple[int, int, int]
    order: str
    fixed: np.ndarray
    content: np.ndarray

    def has(self, array: str) -> bool:
        """Return whether the messages carry this array."""
        return self.counts[ARRAYS.index(array)] > 0


@dataclass(frozen=True, eq=False)
class Alike:
    """Messages of one layout: `number` (k,) within the topic from 1 on, `received` (k,) [ns], `rows` (k, bytes)."""

    layout: Layout
    number: np.ndarray
    received: np.ndarray
    rows: np.ndarray

    def stamps(self) -> np.ndarray:
        """Return the header stamps (k,) [ns], int64."""
        at, order = self.layout.stamp, self.layout.order
        parts = np.ascontiguousarray(self.rows[:, at : at + 8]).view(f"{order}u4").astype(np.int64)
        return np.asarray(parts[:, 0] * 1_000_000_000 + parts[:, 1])

    def values(self, array: str) -> Array:
        """Return an array of all messages (k, names)."""
        which = ARRAYS.index(array)
        start, count = self.layout.starts[which], self.layout.counts[which]
        packed = np.ascontiguousarray(self.rows[:, start : start + 8 * count])
        return packed.view(f"{self.layout.order}f8").astype(np.float64).reshape(len(packed), count)


def decode(
    messages: Iterable[tuple[int, bytes]], ros: int, file: str | None = None, topic: str = ""
) -> Iterator[list[Alike]]:
    """Yield batches of messages, sorted into those that are laid out alike; `ros` 1 or 2 is their encoding.

    `messages`: (received [ns], bytes). Raises LogError, with the message's number, for bytes that are no JointState.
    """
    known: dict[int, list[Layout]] = {}
    number, source = 1, iter(messages)
    while batch := list(islice(source, BATCH)):
        received = np.array([r for r, _ in batch], dtype=np.int64)
        lengths = np.array([len(raw) for _, raw in batch])
        found: list[Alike] = []
        for length in np.unique(lengths).tolist():
            here = np.flatnonzero(lengths == length)
            rows = np.frombuffer(b"".join([batch[i][1] for i in here.tolist()]), np.uint8).reshape(len(here), length)
            layouts = known.setdefault(length, [])
            while len(here):
                first, tried = rows[0], len(found)
                layout = next((x for x in layouts if np.array_equal(first[x.fixed], x.content)), None)
                if layout is None:
                    try:
                        layout = layout_of(first.tobytes(), ros)
                    except LogError as cause:
                        at = f"message {number + int(here[0])} of '{topic}'"
                        raise LogError(cause.problem, file=file, key=at, fix=RECORD_AGAIN) from None
                    layouts.insert(0, layout)
                    del layouts[LAYOUTS:]
                if tried > LAYOUTS:  # hardly two are alike: comparing each with all the others does not pay
                    found.append(Alike(layout, number + here[:1], received[here[:1]], rows[:1]))
                    here, rows = here[1:], rows[1:]
                    continue
                match = (rows[:, layout.fixed] == layout.content).all(axis=1)
                found.append(Alike(layout, number + here[match], received[here[match]], rows[match]))
                here, rows = here[~match], rows[~match]
        number += len(batch)
        yield found


def layout_of(raw: bytes, ros: int) -> Layout:
    """Return where the parts of one message stand. Raises LogError when the bytes are no JointState."""
    try:
        return _layout(raw, ros)
    except (struct.error, UnicodeDecodeError) as cause:
        raise LogError(f"ends early or is no JointState message ({type(cause).__name__})") from None


@dataclass
class _Cursor:
    """A place in a message, with the places of the bytes that make its layout."""

    raw: bytes
    at: int
    origin: int
    order: str
    align: bool
    fixed: list[range] = field(default_factory=list)

    def count(self, size: int) -> int:
        """Read the number of elements that follow, of at least `size` bytes each."""
        if self.align:
            self.to_multiple(4)
        (value,) = struct.unpack_from(f"{self.order}I", self.raw, self.at)
        self.fixed.append(range(self.at, self.at + 4))
        self.at += 4
        if value * size > len(self.raw) - self.at:
            raise LogError(f"announces {value} elements where {len(self.raw) - self.at} bytes are left")
        return int(value)

    def text(self) -> bytes:
        size = self.count(1)
        self.at += size
        return self.raw[self.at - size : self.at]

    def to_multiple(self, size: int) -> None:
        self.at += -(self.at - self.origin) % size


def _layout(raw: bytes, ros: int) -> Layout:
    if ros == 1:
        place = _Cursor(raw, 4, 0, "<", align=False)  # after seq
    else:
        kind = struct.unpack_from(">H", raw)[0]
        if kind not in (0, 1):
            raise LogError(f"has the encoding 0x{kind:04x}, only plain CDR (0x0000, 0x0001) is read")
        place = _Cursor(raw, 4, 4, "<" if kind else ">", align=True)
        place.fixed.append(range(4))
    stamp = place.at
    place.at += 8
    place.text()
    names = []
    for _ in range(place.count(4)):
        text = place.text()
        place.fixed.append(range(place.at - len(text), place.at))
        names.append((text.removesuffix(b"\0") if ros == 2 else text).decode())
    starts, counts = [], []
    for array in ARRAYS:
        count = place.count(8)
        if count and place.align:
            place.to_multiple(8)
        if count not in (0, len(names)):
            raise LogError(f"has {count} numbers of {array} for {len(names)} names")
        starts.append(place.at)
        counts.append(count)
        place.at += 8 * count
    left = len(raw) - place.at
    if not 0 <= left <= (3 if ros == 2 else 0):  # CDR may be filled up to a multiple of 4
        raise LogError(f"ends early or is no JointState message ({abs(left)} bytes {'over' if left > 0 else 'short'})")
    if len(set(names)) < len(names):
        raise LogError(f"names a joint twice: {', '.join(names)}")
    fixed = np.array([i for r in place.fixed for i in r], dtype=np.intp)
    return Layout(
        tuple(names),
        stamp,
        (starts[0], starts[1], starts[2]),
        (counts[0], counts[1], counts[2]),
        place.order,
        fixed,
        np.frombuffer(raw, np.uint8)[fixed],
    )
