"""What a command cannot know and asks: a question with a guess, and who answers it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ident.errors import InputError


@dataclass(frozen=True)
class Question:
    """One thing that files do not say.

    key: its short name. guess: the answer that is taken when nobody gives one, and why that. choices: where only
    these are answers.
    """

    key: str
    text: str
    guess: str
    why: str
    choices: tuple[str, ...] = ()


#: Returns the answer to a question.
Ask = Callable[[Question], str]


@dataclass
class Asked:
    """Asks, and remembers: `answers` in the order of the questions."""

    ask: Ask | None = None
    answers: list[tuple[Question, str]] = field(default_factory=list)

    def __call__(self, key: str, text: str, guess: str, why: str, choices: tuple[str, ...] = ()) -> str:
        """Return the answer, the guess where nobody is there to give one. Raises InputError for one that is none."""
        question = Question(key, text, guess, why, choices)
        answer = self.ask(question).strip() if self.ask else guess
        if choices and answer not in choices:
            raise InputError(
                f"'{answer}' is no answer to '{text}'", key=key, fix=f"Answer one of: {'; '.join(choices)}"
            )
        self.answers.append((question, answer))
        return answer

    def number(self, key: str, text: str, guess: float, why: str) -> float:
        """Return a number above 0 that is asked for."""
        return self.numbers(key, text, (guess,), why)[0]

    def numbers(self, key: str, text: str, guess: tuple[float, ...], why: str) -> tuple[float, ...]:
        """Return as many finite numbers as are guessed."""
        answer = self(key, text, ", ".join(f"{x:g}" for x in guess), why)
        try:
            found = tuple(float(word) for word in answer.strip("[]").replace(",", " ").split())
        except ValueError:
            found = ()
        if len(found) != len(guess) or not all(abs(x) < 1e12 for x in found):
            raise InputError(f"'{answer}' is no answer to '{text}'", key=key, fix=f"Wanted {len(guess)} numbers")
        return found
