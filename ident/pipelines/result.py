"""What came of an experiment, its figures by name, and whether they are what its file expects."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ident.errors import IdentError, UnusableError, require_known
from ident.estimate import Estimate
from ident.pipelines.loaded import Loaded
from ident.regression import Regression

if TYPE_CHECKING:
    from ident.compare import Comparison, TruthComparison, Validation


#: Kinds of `Warned` that say what is so without anything being wrong.
NOTES = ("coarse position", "repeated position", "irregular sampling", "torque filter", "export", "reading")
#: Kinds of findings of torques that are no measurement of what the motors did: no fit makes up for them.
UNUSABLE = ("constant torque", "copied torque", "start transient")


@dataclass(frozen=True)
class Warned:
    """Something that the user should know: about which recording (or part of the work), what kind, and the sentence."""

    about: str
    kind: str
    message: str

    def __str__(self) -> str:
        return f"{self.about}: {self.message}"


@dataclass(frozen=True)
class Failed:
    """What could not be made of a finished fit, a file or its validation, and why."""

    name: str
    cause: IdentError

    @property
    def refused(self) -> bool:
        """Whether it could be made, and the gate of the exports forbids it."""
        return isinstance(self.cause, UnusableError)


@dataclass(frozen=True, eq=False)
class Result:
    """An experiment, its estimate, and what else was asked for: None where that is nothing.

    regression: the factors that were fitted. warnings: what to look at. failed: what could not be made of the fit.
    path: the folder or file that was written.
    """

    loaded: Loaded
    estimate: Estimate
    regression: Regression | None = None
    comparison: Comparison | None = None
    validation: Validation | None = None
    truth: TruthComparison | None = None
    warnings: tuple[Warned, ...] = ()
    failed: tuple[Failed, ...] = ()
    path: Path | None = None

    def figures(self) -> dict[str, float]:
        """Return all figures by the names that [expected] uses.

        `base_parameters`, `condition`, `condition_scaled`; `fit` and `fit.JOINT`: relative error of the fit [1];
        `RECORDING` and `RECORDING.JOINT`: relative error on a validation recording; `phi.NAME`: a base parameter [SI];
        `se.NAME`: its standard error; `theta.NAME`: a standard parameter; `mass.largest` [kg].
        """
        e = self.estimate
        found = {"base_parameters": float(len(e.phi)), "condition": e.condition, "condition_scaled": e.condition_scaled}
        found["fit"] = e.relative_total
        found |= {f"fit.{joint}": float(x) for joint, x in zip(e.joints, e.relative, strict=True)}
        found |= {f"phi.{name}": float(x) for name, x in zip(e.base.names, e.phi, strict=True)}
        errors = e.covariance.standard_errors
        found |= {f"se.{name}": float(x) for name, x in zip(e.base.names, errors, strict=True)}
        if e.theta is not None and e.inertials is not None:
            found |= {f"theta.{name}": float(x) for name, x in zip(e.base.standard, e.theta, strict=True)}
            found["mass.largest"] = float(e.inertials[:, 0].max())
        for recording in self.validation.recordings if self.validation else ():
            predicted = recording.of("identified")
            found[recording.recording] = predicted.relative_total
            for joint, x in zip(e.joints, predicted.relative, strict=True):
                found[f"{recording.recording}.{joint}"] = float(x)
        return found


@dataclass(frozen=True)
class Checked:
    """One expected figure: value and tolerance from [expected], and what was found."""

    name: str
    wanted: float
    tolerance: float
    found: float

    @property
    def met(self) -> bool:
        """Whether the figure lies within its tolerance; NaN never does."""
        return abs(self.found - self.wanted) <= self.tolerance


def check_expected(result: Result) -> tuple[Checked, ...]:
    """Return each figure that the experiment expects beside what was found.

    Raises ConfigError for a name that the result has no figure for.
    """
    experiment, known = result.loaded.experiment, result.figures()
    require_known(experiment.expected, known, experiment.error, "the result has no figure", key="expected")
    return tuple(Checked(name, value, tol, known[name]) for name, (value, tol) in experiment.expected.items())
