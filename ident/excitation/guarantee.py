"""One thing that is proven of a motion at every instant."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Guarantee:
    """`what` never goes beyond `reached`, and has to stay within `limit`, both in `unit`; at_least: has to stay above.

    method: how it is known to hold between samples.
    """

    what: str
    reached: float
    limit: float
    unit: str
    method: str
    at_least: bool = False

    @property
    def holds(self) -> bool:
        """Whether what is reached keeps the limit."""
        return self.reached >= self.limit if self.at_least else self.reached <= self.limit

    def __str__(self) -> str:
        wanted = "at least" if self.at_least else "at most"
        return f"{self.what}: {self.reached:.6g} {self.unit}, wanted {wanted} {self.limit:.6g} {self.unit}"
