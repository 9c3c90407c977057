"""Figures of a result by name, and whether they are what an experiment file expects."""

from __future__ import annotations

from dataclasses import dataclass

from ident.errors import ConfigError, nearest
from ident.pipelines.identify import Result


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


def figures(result: Result) -> dict[str, float]:
    """Return all figures of a result by the names that [expected] uses.

    `base_parameters`, `condition`, `condition_scaled`; `fit` and `fit.JOINT`: relative error of the fit [1];
    `RECORDING` and `RECORDING.JOINT`: relative error on a validation recording; `phi.NAME`: a base parameter [SI];
    `se.NAME`: its standard error; `theta.NAME`: a standard parameter; `mass.largest` [kg].
    """
    e = result.estimate
    found = {"base_parameters": float(len(e.phi)), "condition": e.condition, "condition_scaled": e.condition_scaled}
    found["fit"] = e.relative_total
    found |= {f"fit.{joint}": float(x) for joint, x in zip(e.joints, e.relative, strict=True)}
    found |= {f"phi.{name}": float(x) for name, x in zip(e.base.names, e.phi, strict=True)}
    errors = e.covariance.standard_errors
    found |= {f"se.{name}": float(x) for name, x in zip(e.base.names, errors, strict=True)}
    if e.theta is not None and e.inertials is not None:
        found |= {f"theta.{name}": float(x) for name, x in zip(e.base.standard, e.theta, strict=True)}
        found["mass.largest"] = float(e.inertials[:, 0].max())
    for recording in result.validation.recordings if result.validation else ():
        predicted = recording.of("identified")
        found[recording.recording] = predicted.relative_total
        for joint, x in zip(e.joints, predicted.relative, strict=True):
            found[f"{recording.recording}.{joint}"] = float(x)
    return found


def check_expected(result: Result) -> tuple[Checked, ...]:
    """Return each figure that the experiment expects beside what was found.

    Raises ConfigError for a name that the result has no figure for.
    """
    experiment, known = result.loaded.experiment, figures(result)
    for name in experiment.expected:
        if name not in known:
            raise ConfigError(
                f"the result has no figure '{name}'{nearest(name, known)}", file=experiment.file, key="expected"
            )
    return tuple(Checked(name, value, tol, known[name]) for name, (value, tol) in experiment.expected.items())
