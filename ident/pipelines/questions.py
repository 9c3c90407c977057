"""What a command cannot know and asks: a question with a guess, and who answers it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from ident.errors import InputError, plural
from ident.logs.recognised import Family


@dataclass(frozen=True)
class Question:
    """One thing that files do not say.

    key: its short name. guess: the answer that is taken when nobody gives one, and why that. choices: where only
    these are answers. numbers: how many an answer has, one standing for all; 0 where it is in words. joints: those
    of which an answer names as many as the guess, () where it names none. check: what else is wanted in place of an
    answer, "" for nothing.
    """

    key: str
    text: str
    guess: str
    why: str
    choices: tuple[str, ...] = ()
    numbers: int = 0
    joints: tuple[str, ...] = ()
    check: Callable[[str], str] = lambda answer: ""

    def wanted_instead(self, answer: str) -> str:
        """Return what is wanted in place of an answer that is none, "" for one that is."""
        if self.choices and answer not in self.choices:
            return f"Answer one of: {'; '.join(self.choices)}"
        if self.numbers and answer != self.guess and not numbers_in(answer, self.numbers):
            return "Wanted a number" if self.numbers == 1 else f"Wanted {self.numbers} numbers, or one for all"
        names, count = words(answer, self.joints), len(words(self.guess))
        if self.joints and answer != self.guess and not len(names) == len({*names} & {*self.joints}) == count:
            commas = ", with commas between them" * (count > 1 and "," not in answer and " " in answer)
            return f"Wanted {plural(count, 'joint')} of {', '.join(self.joints)}{commas}"
        return self.check(answer)


def words(answer: str, known: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the words of an answer that has commas between them, or blanks where all words are known ones then."""
    if {*answer.split()} <= {*known}:
        return tuple(answer.split())
    return tuple(word.strip() for word in answer.split(","))


def numbers_in(answer: str, wanted: int) -> tuple[float, ...]:
    """Return as many finite numbers as are wanted, one standing for all; () where an answer has others."""
    try:
        found = tuple(float(word) for word in answer.strip("[]").replace(",", " ").split())
    except ValueError:
        return ()
    found = found * wanted if len(found) == 1 else found
    return found if len(found) == wanted and all(abs(x) < 1e12 for x in found) else ()


#: Returns the answer to a question, None where nobody gives one.
Ask = Callable[[Question], str | None]


@dataclass
class Asked:
    """Asks, and remembers: `answers` in the order of the questions, and the keys of those that nobody answered.

    typed: whether the last answer was given in words, be they those of the guess, and not by an empty line.
    """

    ask: Ask | None = None
    answers: list[tuple[Question, str]] = field(default_factory=list)
    guessed: list[str] = field(default_factory=list)
    typed: bool = False

    def __call__(self, key: str, text: str, guess: str, why: str, choices: tuple[str, ...] = (), **more: Any) -> str:
        """Return the answer, the guess where nobody is there to give one. Raises InputError for one that is none.

        more: fields of the `Question`.
        """
        question = Question(key, text, guess, why, choices, **more)
        given = self.ask(question) if self.ask else None
        self.typed = bool(given and given.strip())
        answer = given.strip() if given and self.typed else guess
        self.guessed += [key] if given is None else []
        if wanted := question.wanted_instead(answer):
            raise InputError(f"'{answer}' is no answer to '{text}'", key=key, fix=wanted)
        self.answers.append((question, answer))
        return answer

    def because(self, reason: str) -> str:
        """Return why the last answer was taken: for the reason of its guess, or because somebody gave it."""
        question, answer = self.answers[-1]
        return reason if answer == question.guess else f"{answer}, as answered"

    def number(self, key: str, text: str, guess: float, why: str) -> float:
        """Return a number above 0 that is asked for."""

        def above_zero(answer: str) -> str:
            return "" if min(numbers_in(answer, 1), default=0.0) > 0 else "Wanted a number above 0"

        return self.numbers(key, text, (guess,), why, check=above_zero)[0]

    def numbers(self, key: str, text: str, guess: tuple[float, ...], why: str, **more: Any) -> tuple[float, ...]:
        """Return as many finite numbers as are guessed; more: fields of the `Question`."""
        shown = ", ".join(f"{x:g}" for x in guess)
        answer = self(key, text, shown, why, numbers=len(guess), **more)
        # to the last digit: whoever compares has to see that it is the guess
        return tuple(map(float, guess)) if answer == shown else numbers_in(answer, len(guess))


def ranked(found: Sequence[Family], most: int) -> list[list[Family]]:
    """Return families, those that are alike in all that counts together, the best first: measured, whole, moving."""

    def rank(f: Family) -> tuple[bool, int, int]:
        moving = sum(bool(np.ptp(c.values) > 0) for c in f.columns)
        return f.origin != "measured", -min(len(f.columns), most), -moving

    return [list(same) for _, same in groupby(sorted(found, key=rank), key=rank)]


def one_of(same: Sequence[Family], what: str, asked: Asked, why: str, *, alone: bool = False) -> Family:
    """Return one of families that nothing tells apart, asking where there are several; alone: even where not."""
    if len(same) == 1 and not alone:
        return same[0]
    answer = asked(what, f"Which columns are the measured {what}?", same[0].shown, why, tuple(f.shown for f in same))
    return next(f for f in same if f.shown == answer)
