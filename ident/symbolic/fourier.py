"""Sums of products of symbols and Fourier modes of the joint angles, in which closed forms are worked out.

A term is c * x^a y^b .. * exp(i (k1 q1 + k2 q2 + ..)). Every polynomial in symbols, sines and cosines has one such
form, so equal things cancel and cos(q3 + q4) appears by itself where joints are parallel.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ident.errors import ModelError
from ident.symbolic.program import Objects

_BITS = 8  # an exponent or a frequency lies between -128 and 127
_HALF = 1 << (_BITS - 1)
_CANCELLED = 4.0 * float(np.finfo(float).eps)
LARGEST = 5_000  # terms of one sum


class Fourier:
    """A sum of terms: {exponents and frequencies, packed into one integer: complex coefficient}."""

    __slots__ = ("terms",)

    def __init__(self, terms: dict[int, complex]) -> None:
        if len(terms) > LARGEST:
            fix = "Generate code or read the assignments instead: these stay short for any robot"
            raise ModelError(f"the closed form has an expression of more than {LARGEST} terms", fix=fix)
        self.terms = terms

    def __add__(self, other: Fourier | float) -> Fourier:
        if not isinstance(other, Fourier):
            if not isinstance(other, float | int):
                return NotImplemented
            other = Fourier({0: complex(other)} if other else {})
        terms = dict(self.terms)
        for key, c in other.terms.items():
            old = terms.get(key)
            if old is None:
                terms[key] = c
            elif abs(old + c) > _CANCELLED * max(abs(old), abs(c)):
                terms[key] = old + c
            else:
                del terms[key]
        return Fourier(terms)

    def __mul__(self, other: Fourier | float) -> Fourier:
        if not isinstance(other, Fourier):
            if not isinstance(other, float | int):
                return NotImplemented
            return Fourier({key: c * other for key, c in self.terms.items()} if other else {})
        terms: dict[int, complex] = {}
        for key, c in self.terms.items():
            for key2, c2 in other.terms.items():
                both = key + key2
                terms[both] = terms.get(both, 0.0) + c * c2
        if len(self.terms) > 1 and len(other.terms) > 1:
            largest = max(map(abs, self.terms.values())) * max(map(abs, other.terms.values()))
            terms = {key: c for key, c in terms.items() if abs(c) > _CANCELLED * largest}
        return Fourier(terms)

    def __sub__(self, other: Fourier | float) -> Fourier:
        return self + (-other) if isinstance(other, Fourier | float | int) else NotImplemented

    def __rsub__(self, other: float) -> Fourier:
        return (-self) + other

    def __neg__(self) -> Fourier:
        return Fourier({key: -c for key, c in self.terms.items()})

    __radd__ = __add__
    __rmul__ = __mul__


class Angle:
    """A revolute joint's position, of which only sine and cosine are needed."""

    def __init__(self, place: int) -> None:
        self.step = 1 << (_BITS * place)

    def cos(self) -> Fourier:
        """Return (e^iq + e^-iq) / 2; `np.cos` of an array of angles calls this."""
        return Fourier({self.step: 0.5, -self.step: 0.5})

    def sin(self) -> Fourier:
        """Return (e^iq - e^-iq) / 2i."""
        return Fourier({self.step: -0.5j, -self.step: 0.5j})


class Ring(NamedTuple):
    """The symbols: joints 0 .. n-1 first, then others by name."""

    revolute: tuple[bool, ...]
    others: tuple[str, ...]

    @property
    def size(self) -> int:
        """How many numbers a key packs."""
        return len(self.revolute) + len(self.others)

    def joints(self) -> Objects:
        """Return the joint positions q (n,) as elements of the ring."""
        return np.array([Angle(i) if turns else _symbol(i) for i, turns in enumerate(self.revolute)], dtype=object)

    def symbols(self) -> Objects:
        """Return the symbols beside the joint positions."""
        return np.array([_symbol(len(self.revolute) + k) for k in range(len(self.others))], dtype=object)

    def exponents(self, key: int) -> list[int]:
        """Return the frequencies and exponents of a term."""
        bias = int.from_bytes(bytes([_HALF]) * self.size, "little")
        return [byte - _HALF for byte in (key + bias).to_bytes(self.size + 1, "little")[: self.size]]

    def derivative(self, x: Any, joint: int) -> Any:
        """Return dx/dq of a joint, 0 of a number."""
        if not isinstance(x, Fourier):
            return 0.0
        terms = {}
        step = 1 << (_BITS * joint)
        for key, c in x.terms.items():
            k = self.exponents(key)[joint]
            if k:
                terms[key if self.revolute[joint] else key - step] = c * k * (1j if self.revolute[joint] else 1.0)
        return Fourier(terms)


def _symbol(place: int) -> Fourier:
    return Fourier({1 << (_BITS * place): 1.0})
