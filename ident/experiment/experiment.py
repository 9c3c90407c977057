"""One identification as a noun: what to read, how to process it, which model to fit and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ident.estimate.bounds import Bounds
from ident.estimate.estimators import VANISHING, CovarianceName, Loss, MetricName, Weight
from ident.logs.process import Processing
from ident.model.term import Term
from ident.shown import shows

#: The words of [fit].
WORDS = ("loss", "feasible", "weight", "metric", "residual_bound", "covariance", "bounds")


@shows
@dataclass(frozen=True, eq=False)
class Experiment:
    """One identification, as its file says. Paths are absolute; units are SI.

    name: of the file, or of its folder when the file is called experiment.toml. cad: a CAD table, a URDF or a folder
    of reports, "robot" for the inertials of the robot's own description, "none", or None: the robot's where it has any.
    loss, feasible, weight, metric, residual_bound, covariance, bounds: the words of `estimated`; without a weight,
    links that need not exist are plain least squares. expected: figures with their tolerances, for tests.
    """

    file: Path
    name: str
    title: str
    robot: Path
    data: Path
    fit: tuple[str, ...]
    cad: Path | Literal["robot", "none"] | None = None
    truth: Path | None = None
    validate: tuple[str, ...] = ()
    processing: Processing = field(default_factory=Processing)
    validation_processing: Processing = field(default_factory=Processing)
    terms: tuple[Term, ...] = ()
    coupled_drives: bool = False
    loss: Loss = "wls"
    feasible: bool = True
    weight: Weight | None = None
    metric: MetricName | None = None
    residual_bound: float = VANISHING
    covariance: CovarianceName = "segments"
    bounds: Bounds = field(default_factory=Bounds)
    expected: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def words(self) -> dict[str, Any]:
        """The keywords of `estimated` that [fit] gives."""
        return {name: getattr(self, name) for name in WORDS}

    @property
    def folder(self) -> Path:
        """Folder that the experiment file is in."""
        return self.file.parent
