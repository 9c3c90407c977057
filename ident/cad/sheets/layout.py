"""How a sheet's lines become a Sheet: a layout is a table of patterns, and one reader follows every layout.

A line that no pattern knows is kept as a note when it holds no number behind a `=` or `:`; otherwise it is an error,
as is a number that is given twice, begun and not finished, or in a unit that does not fit.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, NoReturn

from ident.cad.sheets.sheet import ENTRIES, Kind, Number, Products, Sheet, printed_unit
from ident.errors import CadError, cut

#: A number as a sheet prints it; the decimal mark may be a comma.
NUMBER = r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d{1,3})?"

#: What ends a line: on Windows, Unix and old Macs, and Word's line inside of a paragraph.
LINE_END = re.compile(r"(\r\n|[\r\n\v\u2028])")

_LONGEST = 1000  # characters; patterns are tried on no longer line

#: Thousands that can be nothing else: the point behind them is the decimal mark, and no bracket begins a vector there.
_THOUSANDS = re.compile(r"(?<![\d.,(])[1-9]\d{0,2}(?:,\d{3})+(?=\.\d)")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+[., ]|\d{1,3}(?:\.\d{3})+,|\d(?:['’ ]\d{3})+\b")

What = Literal[
    "name", "configuration", "frame", "skip", "density", "mass", "volume", "area", "center", "coordinate",
    "principal", "moment", "tensor", "point", "row", "box", "material",
]  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """One program's sheet in one language.

    marks: patterns by which a text is recognised, any of them. rules: (what the line holds, pattern), tried in this
    order on each line. Groups of a pattern: `name`, `unit`, `over` (the user set it), `number`; `a`, `b`, `c` (a
    vector), `k` (x, y or z; Length, Width or Height), `p` (a principal moment); `at_center`, `at_origin` (which
    tensor), `positive`, `negative` (notation text). letters: the letter of the entries tells the point (L centre, I
    origin). documented: the sign of the products that the maker documents for this layout.
    """

    program: str
    language: str
    marks: tuple[str, ...]
    rules: tuple[tuple[What, str], ...]
    letters: bool = False
    documented: Products | None = None
    documented_by: str = ""


def plain(line: str) -> str:
    """Return a line with full-width letters, digits and signs made plain, blanks as spaces, no commas in thousands."""
    text = unicodedata.normalize("NFKC", line).replace("−", "-").replace("–", "-").replace("。", ".")
    return _THOUSANDS.sub(lambda found: found[0].replace(",", ""), " ".join(text.replace("²", "2").split()))


def matches(layout: Layout, lines: list[str]) -> bool:
    """Whether a text is in this layout."""
    return any(re.search(mark, line) for mark in layout.marks for line in lines)


def follow(layout: Layout, lines: list[str], file: str) -> Sheet:
    """Return the sheet that `lines` (made plain) hold.

    Raises CadError naming the line, what was understood and what was not.
    """
    state = _State(file, layout)
    for n, line in enumerate(lines, 1):
        if not line:
            continue
        if len(line) > _LONGEST:
            state.fail(f"the line has {len(line)} characters, and no line of a report has {_LONGEST}", n)
        for what, pattern in layout.rules:
            if found := re.fullmatch(pattern, line):
                if what != "skip":
                    _TAKE[what](state, what, defaultdict(lambda: None, found.groupdict(), line=line), n)
                break
        else:
            if re.search(rf"\w\)? ?=|[=:].*{NUMBER}|\b[IL][xyz]{{2}}\b", line):
                grouped = "Write the numbers without signs or blanks between thousands"
                fix = grouped if _GROUPED.search(line) else "Delete the line if it is not part of the report"
                state.fail(f"'{cut(line, 60)}' is not understood", n, fix)
            state.notes.append(line)
    return _finished(state, len(lines))


#: What a pattern found by the names of its groups, None where it has none of a name; "line": all of it.
Groups = defaultdict[str, Any]


@dataclass
class _State:
    """What was read so far: `found` by name, `at` the line where each thing began, `open` the block being read."""

    file: str
    layout: Layout
    found: dict[str, Any] = field(default_factory=dict)
    at: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    entries: dict[str, dict[str, Number]] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    over: set[str] = field(default_factory=set)
    open: str = ""
    mark: tuple[str, int] | None = None  # the decimal mark that the file uses, and where it was first seen

    def fail(self, problem: str, line: int | None = None, fix: str = "") -> NoReturn:
        read = {k: n for k, n in self.at.items() if n != line and k != "tensor"}
        understood = "nothing"
        if read:
            first, last = min(read.values()), max(read.values())
            lines = f"from line {first}{f' to {last}' if last > first else ''}"
            understood = f"{', '.join(_SAID[k] for k in read)} ({lines})"
        kind = f"a {self.layout.program} report in {self.layout.language}"
        raise CadError(f"{problem}; understood as {kind}: {understood}", file=self.file, line=line, fix=fix or None)

    def begin(self, key: str, line: int) -> None:
        if key in self.at:
            problem = f"a second {_SAID[key]}, the first stands in line {self.at[key]}"
            self.fail(problem, line, "Keep one report in each file: one link, printed once")
        self.at[key] = line

    def begin_block(self, key: str, line: int, unit: str | None = None) -> None:
        self.begin(key, line)
        self.units[key], self.entries[key], self.open = unit or "", {}, key

    def put(
        self, block: str, keys: list[str], texts: list[str], kind: Kind | None, line: int, unit: str | None = None
    ) -> None:
        """Read numbers of a block, in its unit where they have none of their own."""
        for key, text in zip(keys, texts, strict=True):
            if key in self.entries[block]:
                first = f"first in line {self.entries[block][key].line}"
                self.fail(f"{key} of the {_SAID[block]} is given twice, {first}", line, "Keep one of them")
            self.entries[block][key] = self.number(text, unit or self.units[block], kind, line, block in self.over)

    def inside(self, block: str, found: Groups, line: int) -> None:
        if self.open != block:
            self.fail(f"'{cut(found['line'], 60)}' stands outside {_BLOCKS[block]}", line)

    def number(self, text: str, unit: str, kind: Kind | None, line: int, over: bool = False) -> Number:
        for sign in ".,":
            if sign in text:
                if self.mark and self.mark[0] != sign:
                    problem = f"'{text}' has another decimal mark than the numbers from line {self.mark[1]} on"
                    self.fail(problem, line, "Write all numbers with a point, or all with a comma")
                self.mark = self.mark or (sign, line)
        name, factor = "", Fraction(1)
        if kind is not None:
            try:
                name, factor = printed_unit(unit, kind)
            except ValueError:
                fix = "Write the numbers without blanks between thousands" if re.match(r"\d{3}\b", unit.strip()) else ""
                what = "moments of inertia" if kind == "inertia" else kind
                self.fail(f"'{unit.strip()}' is no known unit of {what}", line, fix)
        made = Number(text, name, factor, line, over)
        try:
            believable = not made.value or abs(made.value) > _LEAST  # no more than 1e60 by its digits
        except ValueError:
            believable = False
        if not believable:
            self.fail(f"'{cut(text, 60)}' is no number that can be true", line)
        return made


_SAID = {
    "name": "title", "configuration": "configuration", "frame": "coordinate system", "density": "density",
    "mass": "mass", "volume": "volume", "area": "surface area", "center": "centre of mass",
    "principal": "block of principal moments", "at_center": "tensor at the centre of mass",
    "at_origin": "tensor at the output coordinate system", "box": "bounding box", "material": "material",
}  # fmt: skip
_BLOCKS = {
    "center": "the block of the centre of mass", "principal": "a block of principal moments",
    "tensor": "a block of moments of inertia", "at_origin": "a block of moments of inertia",
}  # fmt: skip


def _text(state: _State, what: What, found: Groups, line: int) -> None:
    state.begin(what, line)
    state.found[what] = found["name"].strip(" -") if what == "frame" else found["name"]


def _scalar(state: _State, what: Kind, found: Groups, line: int) -> None:
    state.begin(what, line)
    state.found[what] = state.number(found["number"], found["unit"], what, line, bool(found["over"]))


def _box(state: _State, what: What, found: Groups, line: int) -> None:
    if "box" not in state.at:
        state.begin("box", line)
        state.units["box"], state.entries["box"] = "", {}
    state.put("box", [found["k"]], [found["number"]], "length", line, found["unit"])


def _block(state: _State, what: What, found: Groups, line: int) -> None:
    """Read the heading of the centre or the principal moments, or the coordinates of the centre in a line."""
    state.begin_block(what, line, found["unit"])
    if found["over"]:
        state.over.add(what)
    if found["a"]:
        state.open = ""
        for k, c in zip("xyz", "abc", strict=True):
            state.put("center", [k], [found[c]], "length", line, found[f"unit_{c}"])


def _coordinate(state: _State, what: What, found: Groups, line: int) -> None:
    state.inside("center", found, line)
    state.put("center", [found["k"].lower()], [found["number"]], "length", line, found["unit"])


def _moment(state: _State, what: What, found: Groups, line: int) -> None:
    """Read one principal moment with its axis, or three moments in a row."""
    state.inside("principal", found, line)
    vector = [found[c] for c in "abc"]
    if not found["p"]:
        state.put("principal", ["Px", "Py", "Pz"], vector, "inertia", line)
        return
    k = found["k"].lower()
    state.put("principal", [f"P{k}"], [found["p"]], "inertia", line)
    state.put("principal", [k + j for j in "xyz"], vector, None, line)


def _tensor(state: _State, what: What, found: Groups, line: int) -> None:
    """Open a block of a tensor; its point follows from the heading, a line below it, or the letters."""
    if key := _point_of(found):
        state.begin_block(key, line, found["unit"])
    else:
        _closed(state)
        state.units["tensor"], state.at["tensor"], state.open = found["unit"], line, "tensor"
    _notation(state, found, line)


def _point(state: _State, what: What, found: Groups, line: int) -> None:
    """Read the line that tells where a tensor is taken at (and maybe the notation)."""
    key = _point_of(found)
    if state.open == "principal":
        if key == "at_origin":
            state.fail("principal moments are about the centre of mass, not the output coordinate system", line)
        return
    state.inside("tensor", found, line)
    _named(state, key or "at_center")
    _notation(state, found, line)


def _named(state: _State, key: str) -> None:
    state.begin_block(key, state.at.pop("tensor"), state.units.pop("tensor"))


_LETTERS = {"L": "at_center", "I": "at_origin"}


def _row(state: _State, what: What, found: Groups, line: int) -> None:
    names = re.findall(r"[IL][xyz]{2}", found["line"])
    numbers = re.findall(NUMBER, re.sub(r"[IL][xyz]{2}", " ", found["line"]))
    if len(names) != len(numbers):
        state.fail(f"'{cut(found['line'], 60)}' holds {len(names)} names and {len(numbers)} numbers", line)
    if state.open == "tensor":
        _named(state, _LETTERS[names[0][0]] if state.layout.letters else state.open)
    if state.open != "at_center":
        state.inside("at_origin", found, line)
    for name, text in zip(names, numbers, strict=True):
        if state.layout.letters and state.open != _LETTERS[name[0]]:
            state.fail(f"{name} does not belong into the {_SAID[state.open]}", line)
        state.put(state.open, [name[1:]], [text], "inertia", line)


def _point_of(found: Groups) -> str:
    return next((key for key in ("at_center", "at_origin") if found[key] is not None), "")


def _notation(state: _State, found: Groups, line: int) -> None:
    for word, sign in (("positive", "positive"), ("negative", "tensor")):
        if found[word]:
            if state.found.get("stated", sign) != sign:
                state.fail(f"another notation than in line {state.found['stated_line']}", line)
            state.found.setdefault("stated", sign)
            state.found.setdefault("stated_line", line)


def _closed(state: _State) -> None:
    if "tensor" in state.at:
        state.fail("moments of inertia without numbers", state.at["tensor"])


_TAKE: Mapping[What, Any] = {
    "name": _text, "configuration": _text, "frame": _text, "material": _text, "density": _scalar, "mass": _scalar,
    "volume": _scalar, "area": _scalar, "center": _block, "coordinate": _coordinate, "principal": _block,
    "moment": _moment, "tensor": _tensor, "point": _point, "row": _row, "box": _box,
}  # fmt: skip

_NINE = tuple(i + j for i in "xyz" for j in "xyz")
_NEEDED = {"center": ("x", "y", "z"), "principal": ("Px", "Py", "Pz"), "at_center": _NINE, "at_origin": _NINE}


#: No number of a sheet is smaller, in SI, but zero; so that no square or product of them overflows.
_LEAST = Fraction(1, 10**60)


def _finished(state: _State, last: int) -> Sheet:
    """Return the sheet, unless something is missing, contradicts itself or cannot be a body."""
    cut = "Print the whole report again; it seems cut off"
    _closed(state)
    for key, needed in _NEEDED.items():
        missing = [k for k in needed if key in state.entries and k not in state.entries[key]]
        if missing:
            state.fail(f"the {_SAID[key]} has no {', '.join(missing)}", state.at[key], cut)
    for key in ("mass", "center"):
        if key not in state.at:
            state.fail(f"there is no {_SAID[key]}", last, cut)
    if not state.entries.keys() & {"at_center", "at_origin"}:
        state.fail("there are no moments of inertia along the output axes", last, cut)
    mass: Number = state.found["mass"]
    if mass.value <= 0:
        finer = "Print it with more decimals, or in a smaller unit"
        fix = "Correct it in the CAD program" if mass.value else finer
        state.fail(f"the mass is {mass.text} {mass.unit}, and a body has a positive one", mass.line, fix)
    for key in ("density", "volume", "area"):
        if key in state.found and state.found[key].value < 0:
            state.fail(f"the {_SAID[key]} is negative", state.found[key].line)
    _same_units(state)
    tensors = {key: _six(state, key) for key in ("at_center", "at_origin") if key in state.entries}
    block, box = state.entries.get("principal", {}), state.entries.get("box", {})
    return Sheet(
        program=state.layout.program,
        language=state.layout.language,
        center=tuple(state.entries["center"][k] for k in "xyz"),  # type: ignore[arg-type]
        box=(box["Length"], box["Width"], box["Height"]) if len(box) == 3 else None,
        moments=tuple(block[f"P{k}"] for k in "xyz") if block else None,  # type: ignore[arg-type]
        axes=tuple(tuple(block[k + j] for j in "xyz") for k in "xyz") if "xx" in block else None,  # type: ignore[arg-type]
        documented=state.layout.documented,
        documented_by=state.layout.documented_by,
        notes=tuple(state.notes),
        source=state.file,
        **tensors,
        **state.found,
    )


def _same_units(state: _State) -> None:
    """Raise unless mass, centre and all moments of inertia are in one system of units, as one dialog prints them.

    The volume and the density may have another unit of length, which the dialog offers to set apart.
    """
    mass: Number = state.found["mass"]
    lengths = {n.unit: n for n in state.entries["center"].values()}
    if len(lengths) > 1:
        state.fail(f"the centre of mass is in {' and '.join(lengths)}", state.at["center"])
    (length,) = lengths
    lines = f"lines {mass.line} and {state.at['center']}"
    others = f"while mass and centre ({lines}) are in {mass.unit} and {length}: one report has one system of units"
    fix = "Print the report again, and do not join parts of two"
    for key in ("principal", "at_center", "at_origin"):
        for name, number in state.entries.get(key, {}).items():
            if number.unit not in ("", f"{mass.unit} {length}^2"):
                state.fail(f"{name} of the {_SAID[key]} is in {number.unit}, {others}", number.line, fix)


def _six(state: _State, key: str) -> Any:
    """Return the six entries of a tensor whose nine printed ones are symmetric within rounding."""
    nine = state.entries[key]
    for i, j in (("x", "y"), ("x", "z"), ("y", "z")):
        a, b = nine[i + j], nine[j + i]
        if abs(a.value - b.value) > a.half + b.half:
            two = f"{i}{j} is {a.text} (line {a.line}), {j}{i} is {b.text}"
            fix = "Print the report again; one of the two was changed"
            state.fail(f"the {_SAID[key]} is not symmetric: {two}", b.line, fix)
    return tuple(nine[e] for e in ENTRIES)
