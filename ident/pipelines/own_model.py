"""What the logs say of the [model] that an experiment has of its own: terms to add, or others in its place."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ident.compare.causes.causes import GROSS
from ident.compare.causes.reading import Reading, rows_of
from ident.compare.causes.weighing import Weigher
from ident.errors import IdentError
from ident.estimate import Estimate
from ident.estimate.estimate import NamedCause
from ident.experiment import usual_terms
from ident.model.terms import lines
from ident.pipelines.loaded import Loaded, load
from ident.pipelines.select import selection_of, with_terms
from ident.pipelines.steps import Warned, first_parts
from ident.report.text import percent
from ident.tables import below
from ident.tell import Tell, logged

#: What is gross is a mistake: terms that leave so much more of the torque, beside the share GROSS of what is left.
SPOILS = 0.02
#: Share of the left-out error for which terms beside an experiment's own [model], or in its place, are named.
WORTH = 0.05
#: Of a residual, what the noise of the readings leaves, below which there is nothing to find: sqrt(1 - 0.95^2).
QUIET = 0.31


@dataclass(frozen=True, eq=False)
class Instead:
    """An experiment with the terms that its logs choose in place of its own, and the error of what is left out with
    its own (before) and with these (after), relative to the torque. lines: what differs; drops: whether own ones go.
    """

    loaded: Loaded
    before: float
    after: float
    lines: tuple[str, ...]
    drops: bool

    @property
    def what(self) -> str:
        """What is wrong with the [model], in words."""
        own, left = percent(self.before), percent(self.after)
        return f"its terms leave {own} of the torque on stretches left out, those that the logs choose {left}"

    @property
    def mend(self) -> str:
        """What to change in it."""
        more = below("model", *self.lines)
        return f"leave it out, or write {more} for what it says of these" if self.drops else f"add {more}"

    @property
    def gross(self) -> bool:
        """Whether its own terms leave twice as much, and more by SPOILS of the torque."""
        return self.after < (1.0 - GROSS) * self.before and self.before**2 - self.after**2 > SPOILS**2

    @property
    def cause(self) -> NamedCause:
        """The [model] as what is wrong with the experiment."""
        file, total = self.loaded.experiment.file.name, (self.before, self.after)
        return NamedCause(
            "[model]", "its terms are not those that the logs choose", file, self.mend, (), (), (), (), total
        )


def chosen_instead(loaded: Loaded, tell: Tell = logged) -> Instead | None:
    """Return the terms that the logs choose in place of an experiment's own where that is worth `WORTH`."""
    experiment = loaded.experiment
    usual = replace(experiment, terms=usual_terms(experiment.terms), own_model=False)
    try:
        chosen = with_terms(load(usual), [], tell)
    except IdentError:  # the fit stands without
        return None
    rows = rows_of([m for m in first_parts(loaded, experiment.fit, None) if m.keep.any()], thinned=True)
    each = (Weigher(x.model, rows, x.prior).weighed(Reading.plain(x.robot)) for x in (loaded, chosen))
    before, after = (weighed.relative for weighed in each)
    other = lines([term for term in chosen.model.terms if term not in loaded.model.terms])
    drops = not set(loaded.model.terms) <= set(chosen.model.terms)
    return Instead(chosen, before, after, other, drops) if other and after < (1.0 - WORTH) * before else None


def advised(
    loaded: Loaded, estimate: Estimate, tell: Tell = logged
) -> tuple[tuple[NamedCause, ...], tuple[Warned, ...]]:
    """Return which terms the logs choose in place of an experiment's own, or beside them, where that is worth `WORTH`.

    The former are its [model] where that is a gross mistake. estimate: its fit, whose noise says whether there is
    anything to look for. Cheap where there is not: one pass.
    """
    if not loaded.experiment.own_model or not (estimate.missed > QUIET * estimate.relative).any():
        return (), ()
    if (other := chosen_instead(loaded, tell)) is not None:
        warned = Warned("[model]", "more terms", f"{other.what}: {other.mend}")
        return ((other.cause,), ()) if other.gross else ((), (warned,))
    try:
        found = selection_of(loaded, tell, WORTH).structure
    except IdentError:  # the fit stands without
        return (), ()
    if not found.honest < (1.0 - WORTH) * found.before or not found.lines:
        return (), ()
    shares = f"{percent(found.before)} to {percent(found.honest)}"
    message = f"the logs support more terms, with which the error of what is left out falls from {shares}"
    return (), (Warned("model", "more terms", f"{message}: add {below('model', *found.lines)}"),)
