"""A tape records arithmetic on symbols once and in order: the straight-line form of a formula.

Formulas are written with numpy on arrays of `Node`s and numbers. Every sum and product is kept once, however often
it occurs (common subexpressions), and nothing is recorded for 0 and 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

    def sin(self) -> Node:
        """Return its sine; `np.sin` of an array of nodes calls this."""
        return self.tape.record("sin", self)

    def cos(self) -> Node:
        """Return its cosine; `np.cos` of an array of nodes calls this."""
        return self.tape.record("cos", self)

    def tanh(self) -> Node:
        """Return its hyperbolic tangent; `np.tanh` of an array of nodes calls this."""
        return self.tape.record("tanh", self)

    def exp(self) -> Node:
        """Return its exponential; `np.exp` of an array of nodes calls this."""
        return self.tape.record("exp", self)

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
