"""XML read as untrusted data: an immutable tree that knows the bytes it came from.

No DOCTYPE is accepted, hence no entity can grow without end or read another file. Every element and attribute value
knows its place in the original bytes, so that a writer can exchange some values and keep every other byte.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from types import MappingProxyType
from xml.parsers import expat

import numpy as np

from ident import tables
from ident.arrays import Array
from ident.errors import RobotError, cut, nearest, plural
from ident.robot.robot import GRAVITY, Limits
from ident.spatial.inertia import Pose, rpy

MAX_BYTES = 20_000_000
MAX_DEPTH = 100

_ATTRIBUTE = re.compile(rb"""\s+([^\s=/>]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_TAG_NAME = re.compile(rb"<[^\s/>]+")
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_NEWLINE = re.compile(rb"\r\n|\r|\n")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_LARGEST = 1e12  # beyond it a length, mass or inertia is a mistake, and squares of it lose all digits


@dataclass(frozen=True)
class Attribute:
    """One attribute: its decoded value, line (1-based), and data[start:end], the bytes between its quotes."""

    value: str
    line: int
    start: int
    end: int


@dataclass(frozen=True)
class Element:
    """One element.

    The start tag is data[start:start_end], everything data[start:end]; `empty` is True for <tag/>. Comments and text
    are not kept here: they stay in the bytes.
    """

    tag: str
    line: int
    attributes: Mapping[str, Attribute]
    children: tuple[Element, ...]
    start: int
    start_end: int
    end: int
    empty: bool

    @property
    def values(self) -> dict[str, str]:
        """The values of the attributes."""
        return {name: attribute.value for name, attribute in self.attributes.items()}

    def all(self, tag: str) -> tuple[Element, ...]:
        """Return the children with this tag, in document order."""
        return tuple(c for c in self.children if c.tag == tag)

    def everything(self) -> Iterator[Element]:
        """Yield this element and all below it, in document order."""
        yield self
        for child in self.children:
            yield from child.everything()


def read_bytes(path: str | Path, limit: int = MAX_BYTES) -> bytes:
    """Return the bytes of a robot's file; raises RobotError when it cannot be read or has more than `limit` bytes."""
    return tables.read_bytes(path, RobotError, limit)


def parse_xml(data: bytes, *, file: str | None = None, wanted: str = "") -> Element:
    """Return the root element of an XML document in UTF-8.

    Raises RobotError with the line for documents that are no XML, hold a DOCTYPE, are in another encoding, are nested
    deeper than MAX_DEPTH, or have another root than is wanted.
    """
    if b"\0" in data:  # expat would detect UTF-16 and count bytes of another text than ours
        raise RobotError("the file holds zero bytes, as UTF-16 and binary files do", file=file, fix="Save it as UTF-8")

    parser = expat.ParserCreate("utf-8")
    open_elements: list[tuple[str, int, Mapping[str, Attribute], list[Element], int, int, bool]] = []
    roots: list[Element] = []

    def refused(problem: str, fix: str | None = None) -> RobotError:
        return RobotError(problem, file=file, line=parser.CurrentLineNumber, fix=fix)

    def declaration(_version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ("utf-8", "utf8", "us-ascii", "ascii"):
            fix = "Save it as UTF-8 and declare encoding='utf-8'"
            raise refused(f"the file declares the encoding '{encoding}'", fix)

    def doctype(name: str, _system: str | None, _public: str | None, _internal: bool) -> None:
        danger = "which can define entities that grow without end or read other files, and is refused"
        fix = "Remove the DOCTYPE and write out what its entities stand for"
        raise refused(f"the file holds a DOCTYPE ('{name[:40]}'), {danger}", fix)

    def start(tag: str, values: dict[str, str]) -> None:
        if len(open_elements) >= MAX_DEPTH:
            raise refused(f"elements are nested more than {MAX_DEPTH} deep")
        line, begin = parser.CurrentLineNumber, parser.CurrentByteIndex
        attributes, tag_end, empty = _scan(data, begin, line, values)
        open_elements.append((tag, line, attributes, [], begin, tag_end, empty))

    def finish(_tag: str) -> None:
        tag, line, attributes, children, begin, tag_end, empty = open_elements.pop()
        stop = tag_end if empty else data.index(b">", parser.CurrentByteIndex) + 1
        element = Element(tag, line, attributes, tuple(children), begin, tag_end, stop, empty)
        (open_elements[-1][3] if open_elements else roots).append(element)

    parser.XmlDeclHandler = declaration
    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = start
    parser.EndElementHandler = finish
    try:
        parser.Parse(data, True)
    except expat.ExpatError as cause:
        reason = expat.errors.messages[cause.code]
        if reason == expat.errors.XML_ERROR_NO_ELEMENTS:
            reason = "it ends before its root element does"
        raise RobotError(f"the file is not well-formed XML: {reason}", file=file, line=cause.lineno) from cause
    (root,) = roots
    if wanted and root.tag != wanted:
        raise RobotError(f"the root element is <{root.tag}>, wanted <{wanted}>", file=file, line=root.line)
    return root


def _scan(data: bytes, begin: int, line: int, values: dict[str, str]) -> tuple[Mapping[str, Attribute], int, bool]:
    """Return the attributes of the (well-formed) start tag at `begin`, where the tag ends, and whether it is <tag/>."""
    name = _TAG_NAME.match(data, begin)
    assert name is not None  # expat has just accepted this tag
    at = name.end()
    attributes = {}
    while match := _ATTRIBUTE.match(data, at):
        start, end = match.span(2) if match.group(2) is not None else match.span(3)
        key = match.group(1).decode()
        attributes[key] = Attribute(values[key], line + len(_NEWLINE.findall(data, begin, start)), start, end)
        at = match.end()
    stop = data.index(b">", at) + 1
    return MappingProxyType(attributes), stop, data[stop - 2 : stop - 1] == b"/"


def inner_text(data: bytes, element: Element) -> str:
    """Return the text that an element of a document holds, without comments."""
    inside = b"" if element.empty else data[element.start_end : data.rindex(b"</", 0, element.end)]
    return unescape(_COMMENT.sub(b"", inside).decode()).strip()


@dataclass(frozen=True)
class At:
    """Reads elements and numbers; `file` and `key` say where in the errors, and `fix` what to do where they do not."""

    file: str | None
    key: str | None = None
    fix: str | None = None

    def error(self, problem: str, place: Element | Attribute, fix: str | None = None) -> RobotError:
        """Return the error that names this place and its line."""
        return RobotError(problem, file=self.file, line=place.line, key=self.key, fix=fix or self.fix)

    def only(self, element: Element, tag: str) -> Element | None:
        """Return the child of that tag, None when there is none."""
        found = element.all(tag)
        if len(found) > 1:
            raise self.error(f"<{tag}> stands here a second time (first in line {found[0].line})", found[1])
        return found[0] if found else None

    def need(self, element: Element, tag: str) -> Element:
        """Return the one child of that tag."""
        if (found := self.only(element, tag)) is None:
            raise self.error(f"<{element.tag}> has no <{tag}>", element)
        return found

    def text(self, element: Element, name: str, default: str = "") -> str:
        """Return an attribute that is not empty."""
        if found := element.values.get(name, default):
            return found
        raise self.error(f"<{element.tag}> has no {name}", element)

    def listed(self, text: str, count: int, element: Element, name: str = "") -> Array:
        """Return the finite numbers (count,) that a text of an element, or its attribute `name`, holds."""
        words = text.split()
        try:
            found = np.array(words, dtype=np.float64)
        except ValueError:
            found = np.empty(0)
        if len(found) != count or not np.isfinite(found).all():
            what = f"{name} of <{element.tag}>" if name else f"<{element.tag}>"
            shown = f"'{text}'" if len(text) <= 40 else f"{plural(len(words), 'word')}, '{cut(text, 40)}'"
            raise self.error(f"{what} is {shown}, wanted {plural(count, 'number')}", element)
        return found

    def numbers(self, element: Element, name: str, count: int, largest: float = _LARGEST) -> list[float]:
        """Return an attribute of so many finite numbers."""
        text = self.text(element, name)
        words = text.split()
        place = element.attributes[name]
        what = "a finite number" if count == 1 else f"{count} finite numbers"
        if len(words) != count or not all(_NUMBER.fullmatch(w) for w in words):
            macro = "${" in text or "$(" in text
            fix = "This is a xacro template; expand it first: xacro FILE > robot.urdf" if macro else None
            raise self.error(f'<{element.tag}> has {name}="{cut(text, 40)}", wanted {what}', place, fix)
        values = [float(w) for w in words]
        if not all(math.isfinite(v) and abs(v) <= largest for v in values):
            raise self.error(f'<{element.tag}> has {name}="{cut(text, 40)}", which is too large to be true', place)
        return values

    def number(self, element: Element, name: str, default: float | None = None, largest: float = _LARGEST) -> float:
        """Return an attribute that is one finite number."""
        if default is not None and name not in element.attributes:
            return default
        return self.numbers(element, name, 1, largest)[0]

    def known(self, element: Element, names: tuple[str, ...]) -> None:
        """Refuse attributes that are none of these."""
        for name, attribute in element.attributes.items():
            if name not in names:
                raise self.error(f"<{element.tag}> has the unknown attribute {name}{nearest(name, names)}", attribute)

    def origin(self, element: Element) -> Pose:
        """Return the pose of its <origin>, identity without."""
        return self.pose(self.only(element, "origin"))

    def pose(self, origin: Element | None) -> Pose:
        """Return the pose of an <origin>, identity without."""
        if origin is None:
            return Pose.identity()
        parts = ("xyz", "rpy")
        self.known(origin, parts)
        xyz, angles = (self.numbers(origin, x, 3) if x in origin.attributes else [0.0] * 3 for x in parts)
        return Pose(rpy(*angles), np.array(xyz))


@dataclass(frozen=True)
class UrdfLink:
    """One <link> and its own ten parameters (10,) in its frame, None where it has no <inertial>."""

    name: str
    element: Element
    inertial: Array | None


@dataclass(frozen=True)
class UrdfJoint:
    """One <joint>; `origin` is the child link's frame seen from the parent link's at zero position, as it is meant.

    written: the same with its angles as they stand; rounded: those of them that are not taken so; notes: what else
    is not taken as it stands. point: of the axis, in the child link's frame; limits: where <limit> does not say them.
    """

    name: str
    kind: str
    element: Element
    parent: str
    child: str
    origin: Pose
    written: Pose
    rounded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    point: Array = field(default_factory=lambda: np.zeros(3))
    limits: Limits | None = None


@dataclass(frozen=True)
class Urdf:
    """A URDF document whose links and joints are known to form one tree; both in document order.

    gravity [m/s^2] in the root's frame, and notes on what is not taken, are what an MJCF may say.
    """

    name: str
    file: str | None
    root: str
    links: Mapping[str, UrdfLink]
    joints: Mapping[str, UrdfJoint]
    gravity: tuple[float, ...] = GRAVITY
    notes: tuple[str, ...] = ()


#: What to put in place of data[start:end]: (start, end, new).
Edit = tuple[int, int, bytes]


def attribute_edit(element: Element, name: str, text: str) -> Edit:
    """Return the edit that gives an attribute a value that needs no escaping, added behind the others."""
    own = element.attributes.get(name)
    if own is not None:
        return own.start, own.end, text.encode()
    at = max((a.end + 1 for a in element.attributes.values()), default=element.start + 1 + len(element.tag))  # 1: quote
    return at, at, f' {name}="{text}"'.encode()


def first_child_edit(parent: Element, text: str) -> Edit:
    """Return the edit that puts text before what an element holds."""
    if parent.empty:  # <link/> becomes <link>...</link>
        return parent.end - 2, parent.end, f">{text}</{parent.tag}>".encode()
    return parent.start_end, parent.start_end, text.encode()


def exchanged(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Return `data` with every data[start:end] of the edits (start, end, new) replaced, which must not overlap."""
    out, at = [], 0
    for start, end, new in sorted(edits, key=lambda e: e[:2]):
        if start < at:
            raise ValueError("edits overlap")
        out += [data[at:start], new]
        at = end
    return b"".join([*out, data[at:]])
