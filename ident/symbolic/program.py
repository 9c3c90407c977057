"""A formula as a straight-line program: the one form that every code generator reads.

A tape records arithmetic on symbols once and in order. Formulas are written with numpy on arrays of `Node`s and
numbers. Every sum and product is kept once, however often it occurs (common subexpressions), and nothing is recorded
for 0 and 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partialmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ident.arrays import Array

_LONGEST = 12  # operations in one line
#: In the order of their numbers in `ident.dynamics.articulated_body`.
OPERATIONS = ("+", "-", "*", "neg", "sin", "cos", "tanh", "exp", "power")


@dataclass(frozen=True, eq=False)
class Program:
    """Assignments from inputs to one output array, each in terms of those before it.

    name: what is computed, such as `mass_matrix`; inputs: the arrays that it takes, by name, each with the names of
    its entries; output: name of the result, `entries` its numbers and nodes in its shape; meaning: what that is, for
    the comments of generated code.
    """

    name: str
    inputs: Mapping[str, tuple[str, ...]]
    output: str
    entries: Objects
    meaning: str = ""

    @property
    def flat(self) -> list[Scalar]:
        """The output's entries, row by row."""
        return list(self.entries.ravel())

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All that must be evaluated, in order."""
        return tuple(needed(self.flat))

    @property
    def operations(self) -> dict[str, int]:
        """How many multiplications, additions (and subtractions), signs, sines and the like one evaluation has."""
        ops = Counter(node.op for node in self.nodes)
        return {
            "multiplications": ops["*"],
            "additions": ops["+"] + ops["-"],
            "signs": ops["neg"],
            "sines and cosines": ops["sin"] + ops["cos"] + ops["tanh"] + ops["exp"] + ops["power"],
        }

    @property
    def rare(self) -> tuple[str, ...]:
        """Functions of the C library that it needs beside sin, cos and tanh."""
        ops = {node.op for node in self.nodes}
        return (("fabs", "pow", "copysign") if "power" in ops else ()) + (("exp",) if "exp" in ops else ())

    @cached_property
    def used(self) -> frozenset[str]:
        """Names of the inputs' entries that the output depends on."""
        return frozenset(node.label for node in self.nodes if node.op == "input")

    @cached_property
    def assignments(self) -> tuple[tuple[str, Node], ...]:
        """Name and node of every line: sines and cosines, what is used twice, and what would make a line too long."""
        uses = Counter(x.index for x in self.flat if isinstance(x, Node))
        for node in reversed(self.nodes):  # a sign gets no line, so what it turns is used as often as the sign is
            for a in node.args:
                if isinstance(a, Node):
                    uses[a.index] += uses[node.index] if node.op == "neg" else 1
        length: dict[int, int] = {}
        lines: list[tuple[str, Node]] = []
        count = 0
        for node in self.nodes:
            if node.op == "input":
                continue
            size = 1 + sum(length.get(a.index, 0) for a in node.args if isinstance(a, Node))
            angle = node.args[0] if node.op in ("sin", "cos", "tanh", "exp", "power") else None
            if isinstance(angle, Node) and angle.op == "input" and node.op in ("sin", "cos"):
                lines.append((f"{node.op[0]}{angle.label.removeprefix('q')}", node))
            elif (uses[node.index] > 1 and node.op != "neg") or angle is not None or size >= _LONGEST:
                count += 1
                lines.append((f"v{count}", node))
            else:
                length[node.index] = size
        return tuple(lines)

    def lines(self, style: Style) -> tuple[list[tuple[str, str]], list[str]]:
        """Return the assignments as (name, expression) and the outputs' expressions, row by row, written in a style."""
        names = {node.index: style.name(name) for name, node in self.assignments}
        body = [(names[node.index], style.operation(node, names)) for _, node in self.assignments]
        return body, [style.expression(x, names)[0] for x in self.flat]

    def not_zero(self, written: Sequence[str]) -> list[tuple[tuple[int, ...], str]]:
        """Return index and text of each entry but those that are 0 anyway."""
        entries = zip(np.ndindex(self.entries.shape), self.flat, written, strict=True)
        return [(place, text) for place, x, text in entries if isinstance(x, Node) or x != 0.0]


def straight_line(program: Program) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
    """Return a program as arrays for compiled loops: numbers (c,), operations (k, 3) and places of the output.

    Its slots are the inputs' entries, the numbers, and one result an operation: its row is the place of the operation
    in `OPERATIONS` and the slots of its arguments.
    """
    labels = [label for array in program.inputs.values() for label in array]
    made = [node for node in program.nodes if node.op != "input"]
    floats = [x for node in made for x in node.args if not isinstance(x, Node)]
    numbers = list(dict.fromkeys(map(float, [*floats, *(x for x in program.flat if not isinstance(x, Node))])))
    first = len(labels) + len(numbers)
    slots = {node.index: labels.index(node.label) for node in program.nodes if node.op == "input"}
    slots |= {node.index: first + k for k, node in enumerate(made)}

    def slot(x: Scalar) -> int:
        return slots[x.index] if isinstance(x, Node) else len(labels) + numbers.index(float(x))

    rows = [[OPERATIONS.index(node.op), slot(node.args[0]), slot(node.args[-1])] for node in made]
    return (
        np.array(numbers, dtype=np.float64),
        np.array(rows, dtype=np.int64).reshape(-1, 3),
        np.array([slot(x) for x in program.flat], dtype=np.int64),
    )


@dataclass(frozen=True)
class Style:
    """How a language writes names, numbers, products and functions."""

    name: Callable[[str], str] = str
    number: Callable[[float], str] = repr
    times: str = "*"
    call: Callable[[str, str], str] = lambda function, argument: f"{function}({argument})"
    power: Callable[[str, str], str] = lambda x, p: f"np.copysign(np.abs({x}) ** {p}, {x})"

    def expression(self, x: Scalar, names: Mapping[int, str]) -> tuple[str, int]:
        """Return the text and how tightly it binds: 0 a sum, 1 a product or a sign, 2 anything else."""
        if not isinstance(x, Node):
            return self.number(float(x)), 2 if x >= 0 else 1
        if x.index in names:
            return names[x.index], 2
        if x.op == "input":
            return self.name(x.label), 2
        tight = 0 if x.op in ("+", "-") else 1 if x.op in ("*", "neg") else 2
        return self.operation(x, names), tight

    def operation(self, node: Node, names: Mapping[int, str]) -> str:
        """Return the text of a node from its arguments, whether or not it has a name itself."""
        parts = [self.expression(a, names) for a in node.args]
        (a, tight), (b, other) = parts[0], parts[-1]
        match node.op:
            case "+":
                return f"{a} - {b[1:]}" if b.startswith("-") else f"{a} + {b}"
            case "-":
                return f"{a} - {b if other > 0 else f'({b})'}"
            case "*":
                return self.times.join(text if tight > 0 else f"({text})" for text, tight in parts)
            case "neg":
                return f"-{a if tight > 0 else f'({a})'}"
            case "power":
                return self.power(a, b)
            case _:
                return self.call(node.op, a)


def traced(
    name: str, inputs: Mapping[str, tuple[str, ...]], output: str, formula: Callable[..., Objects], meaning: str = ""
) -> Program:
    """Return the program of a formula that takes arrays of nodes by the inputs' names."""
    tape = Tape()
    arrays = {array: tape.inputs(labels) for array, labels in inputs.items()}
    return Program(name, dict(inputs), output, np.asarray(formula(**arrays), dtype=object), meaning)


Objects = NDArray[np.object_]
_CANCELLED = 4.0 * float(np.finfo(float).eps)


def plus(a: float, b: float) -> float:
    """Return a + b, and 0 where only rounding is left of a difference."""
    total = a + b
    return 0.0 if abs(total) <= _CANCELLED * max(abs(a), abs(b)) else float(total)


class Node:
    """One recorded operation: "input", "+", "-", "*", "neg", "sin", "cos", "tanh", "exp" or "power" of `args`, nodes or
    numbers; the power p of x is sign(x) |x|^p."""

    __slots__ = ("args", "index", "label", "op", "tape")

    def __init__(self, tape: Tape, index: int, op: str, args: tuple[Scalar, ...], label: str = "") -> None:
        self.tape, self.index, self.op, self.args, self.label = tape, index, op, args, label

    # numpy hands its arrays' elements over one by one, so an array itself is declined here
    def __add__(self, other: Scalar) -> Scalar:
        return self.tape.add(self, other) if isinstance(other, Node | float | int) else NotImplemented

    def __sub__(self, other: Scalar) -> Scalar:
        return self.tape.add(self, -other) if isinstance(other, Node | float | int) else NotImplemented

    def __rsub__(self, other: Scalar) -> Scalar:
        return self.tape.add(-self, other) if isinstance(other, Node | float | int) else NotImplemented

    def __mul__(self, other: Scalar) -> Scalar:
        return self.tape.multiply(self, other) if isinstance(other, Node | float | int) else NotImplemented

    def __truediv__(self, other: Scalar) -> Scalar:
        if isinstance(other, Node):
            return self.tape.multiply(self, other.power(-1.0))
        return self.tape.multiply(self, 1.0 / other) if isinstance(other, float | int) else NotImplemented

    def __rtruediv__(self, other: Scalar) -> Scalar:
        return self.tape.multiply(self.power(-1.0), other) if isinstance(other, float | int) else NotImplemented

    def __pow__(self, p: float) -> Scalar:
        if isinstance(p, int) and p >= 0:
            return 1.0 if p == 0 else self.tape.multiply(self ** (p - 1), self)
        return self.power(float(p)) if isinstance(p, float | int) else NotImplemented

    def __abs__(self) -> Scalar:
        return self.tape.multiply(self, self.power(0.0))  # x sign(x)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Node:
        return self.args[0] if self.op == "neg" else self.tape.record("neg", self)  # type: ignore[return-value]

    def function(self, op: str) -> Node:
        """Return one of the functions below of it, which `np.sin` and so on of an array of nodes call."""
        return self.tape.record(op, self)

    sin = partialmethod(function, "sin")
    cos = partialmethod(function, "cos")
    tanh = partialmethod(function, "tanh")
    exp = partialmethod(function, "exp")

    def power(self, p: float) -> Node:
        """Return sign(x) |x|^p."""
        return self.tape.record("power", self, p)


Scalar = Node | float


class Tape:
    """The record: `nodes` in the order in which they can be evaluated."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[tuple[object, ...], Node] = {}

    def inputs(self, labels: Sequence[str]) -> Objects:
        """Return an array of new symbols."""
        return np.array([self._new(("input", label), "input", (), label) for label in labels], dtype=object)

    def record(self, op: str, *args: Scalar) -> Node:
        """Return the node of an operation, the same one for the same operation."""
        key = (op, *(("node", a.index) if isinstance(a, Node) else a for a in args))
        return self._known.get(key) or self._new(key, op, args)

    def _new(self, key: tuple[object, ...], op: str, args: tuple[Scalar, ...], label: str = "") -> Node:
        node = self._known[key] = Node(self, len(self.nodes), op, args, label)
        self.nodes.append(node)
        return node

    def add(self, a: Scalar, b: Scalar) -> Scalar:
        """Return a + b."""
        if not isinstance(a, Node):
            a, b = b, a
        if not isinstance(a, Node):
            return plus(a, b)  # type: ignore[arg-type]
        if not isinstance(b, Node):
            if a.op == "+" and not isinstance(a.args[1], Node):  # one number behind a sum, not several
                return self.add(a.args[0], plus(a.args[1], b))
            return a if b == 0 else self.record("+", a, float(b))
        (ca, xa), (cb, xb) = _scaled(a), _scaled(b)
        if xa is xb:
            return self.multiply(plus(ca, cb), xa)
        if a.op == "neg" and b.op == "neg":
            return -self.add(a.args[0], b.args[0])
        if a.op == "neg":
            a, b = b, a
        if b.op == "neg":
            b = b.args[0]
            assert isinstance(b, Node)
            opposite = self._known.get(("-", ("node", b.index), ("node", a.index)))
            return -opposite if opposite else self.record("-", a, b)
        return self.record("+", a, b) if a.index < b.index else self.record("+", b, a)

    def multiply(self, a: Scalar, b: Scalar) -> Scalar:
        """Return a b."""
        if isinstance(a, Node) and not isinstance(b, Node):
            a, b = b, a
        if not isinstance(b, Node):
            return float(a * b)  # type: ignore[arg-type]
        if not isinstance(a, Node):
            factor, b = _scaled(b)
            factor *= a
            if factor == 0.0:
                return 0.0
            product = b if abs(factor) == 1.0 else self.record("*", abs(factor), b)
            return product if factor > 0 else -product
        (ca, a), (cb, b) = _scaled(a), _scaled(b)
        product = self.record("*", a, b) if a.index < b.index else self.record("*", b, a)
        return product if ca * cb == 1.0 else self.multiply(ca * cb, product)


def _scaled(node: Node) -> tuple[float, Node]:
    """Return c and x of a node c x; c is 1 where it carries no factor."""
    factor = 1.0
    while True:
        if node.op == "neg":
            factor, node = -factor, node.args[0]  # type: ignore[assignment]
        elif node.op == "*" and not isinstance(node.args[0], Node):
            factor, node = factor * node.args[0], node.args[1]  # type: ignore[assignment]
        else:
            return factor, node


def needed(outputs: Sequence[Any]) -> list[Node]:
    """Return the nodes that the outputs are made of, in the order of evaluation."""
    seen: dict[int, Node] = {}
    waiting = [x for x in outputs if isinstance(x, Node)]
    while waiting:
        node = waiting.pop()
        if node.index not in seen:
            seen[node.index] = node
            waiting += [a for a in node.args if isinstance(a, Node)]
    return [seen[k] for k in sorted(seen)]
