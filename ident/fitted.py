"""A fit from its data to all that is made of it: `fit`, the `Fit` that it returns, and `load`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import InputError, ModelError, need
from ident.estimate import Bounds, Estimate, Prior, cad_prior, estimated, fitted_model
from ident.estimate.bootstrap import DRAWS
from ident.estimate.covariance import Bootstrap
from ident.estimate.estimators import CovarianceName, Loss, MetricName, Weight
from ident.estimate.least_squares import reweighted
from ident.estimate.prior import Metric
from ident.estimate.problem import VANISHING
from ident.estimate.storage import estimate_file, load_estimate, save_estimate
from ident.files import FITTED, provenance
from ident.logs.motion import Motion
from ident.model import Model, torque
from ident.regression import Regression, compress, load_regression
from ident.robot import Robot, read_robot
from ident.shown import Shown, shows, text_lines

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from ident.cad.table import Cad
    from ident.compare import Comparison, Validation
    from ident.export.identified import Exported


def fit(
    model: Model | None,
    motions: Motion | Iterable[Motion] | Regression,
    prior: Prior | Cad | ArrayLike | None = None,
    *,
    loss: Loss = "wls",
    feasible: bool = True,
    weight: Weight | None = None,
    metric: MetricName | Metric | None = None,
    residual_bound: float = VANISHING,
    bounds: Bounds | None = None,
    covariance: CovarianceName = "segments",
    sigma: ArrayLike | None = None,
) -> Fit:
    """Identify a model's parameters; every word may be chosen whatever the others are.

    motions: a Motion, several, an iterator of them (memory stays flat), or factors: of `compress`, or, with None for
    the model, of `regression_from`.
    prior: what the parameters are regularised towards: a Prior, a Cad, or inertials (n, 10) in SI, about the links'
    frames; None: neutral bodies, solid rods between the joints, where links must be able to exist, else nothing.
    loss: "wls" weighs each joint by its noise (sigma (n,) [N m; N], by default estimated), "ols" counts all alike,
    "huber" lets rows that do not belong count for less (of motions, not factors or an iterator). feasible: whether
    links must be physically consistent (pseudo-inertia positive semidefinite, a linear matrix inequality) and friction
    non-negative. weight: of the prior, a number against the mean squared weighted residual, "cross-validated", or
    "vanishing": least residual first, within `residual_bound`, then closest to the prior; None: cross-validated, or
    what the noise asks for where segments are too few. metric: "entropic", "pull-back" or "euclidean". bounds: what is
    known for sure. covariance: "segments", robust to correlation, "classical", or "bootstrap", which lets constraints
    narrow it. feasible=False without a prior is
    least squares, which determines base parameters only.

    Raises EstimationError when the fit does not succeed, ModelError for words or arrays that do not fit each other, and
    what `compress` raises. See `ident.estimate.estimators` for the equations and their sources.
    """
    kept: tuple[Motion, ...] = ()
    if isinstance(motions, Motion | list | tuple):
        kept = (motions,) if isinstance(motions, Motion) else tuple(motions)
        motions = kept
    odd = isinstance(motions, str) or not isinstance(motions, Regression | Iterable)
    for wrong in (m for m in ((motions,) if odd else kept) if not isinstance(m, Motion)):
        problem = f"motions has {wrong!r}" if isinstance(wrong, str | Path) else f"motions has a {type(wrong).__name__}"
        fix = "Give what ident.process makes of a log that ident.read_log has read"
        raise ModelError(f"{problem}, where a Motion is wanted", fix=fix)
    known = _named(motions, feasible=feasible and prior is None) if model is None else model
    if loss == "huber" and not isinstance(motions, Regression):
        if not kept:
            raise ModelError("loss = 'huber' reads the motions several times", fix="Give a Motion or a list of them")
        regression = reweighted(known, lambda: kept).regression
    else:
        regression = motions if isinstance(motions, Regression) else compress(known, motions)
    if regression.model != known.fingerprint():
        raise ModelError("the factors belong to another model", fix="Compress the logs with this one")
    words: dict[str, Any] = {
        "prior": _prior(known, prior, given=model is None),
        "loss": loss,
        "feasible": feasible,
        "weight": weight,
        "metric": metric,
        "residual_bound": residual_bound,
        "bounds": bounds,
        "sigma": sigma,
    }
    found = estimated(known, regression, **words, covariance=covariance)
    origin = {FITTED: ", ".join(regression.recordings)} | provenance({}, "ident.fit")
    return Fit(replace(found, provenance=origin), model, regression, kept, words)


def _named(motions: object, *, feasible: bool) -> Model:
    """Return a model of names alone; feasible: whether links without a prior must be able to exist."""
    from ident.regression.given import given_model

    if not isinstance(motions, Regression):
        raise ModelError("there is no model", fix="Give one, or a regressor as numbers: ident.regression_from")
    if feasible:
        problem = "links that must be able to exist need a prior, where only names of parameters are known"
        raise ModelError(problem, fix="Give inertials (n, 10) as prior, or feasible=False")
    return given_model(motions.base.standard)


def load(path: str | Path, robot: Robot | str | Path | None = None) -> Fit:
    """Read a fit that `Fit.save`, `ident fit` or `ident run` wrote: a file, or the folder of results it is in.

    robot: the one that was identified, or its file; without, nothing that needs its geometry can be asked.
    Raises InputError when it is no such file, ModelError for another robot.
    """
    estimate = load_estimate(path)
    factors = estimate_file(path).with_name("factors.npz")
    regression = load_regression(factors) if factors.is_file() else None
    if regression is not None and regression.base.names != estimate.base.names:
        regression = None  # of another result
    read = robot if robot is None or isinstance(robot, Robot) else read_robot(robot)
    return Fit(estimate, None if read is None else fitted_model(estimate, read), regression)


def _prior(model: Model, prior: Prior | Cad | ArrayLike | None, *, given: bool) -> Prior | None:
    if prior is None or isinstance(prior, Prior):
        return prior
    from ident.cad.table import Cad

    if isinstance(prior, Cad):
        return cad_prior(model.robot, prior.for_robot(model.robot), prior.source or "CAD", prior.joint_values)
    inertials = np.asarray(prior, dtype=np.float64)
    if inertials.shape != (model.robot.n, 10):
        raise ModelError(f"the prior's inertials have shape {inertials.shape}, wanted ({model.robot.n}, 10)")
    return Prior(inertials, "given inertials") if given else cad_prior(model.robot, inertials, "given inertials")


@shows
@dataclass(frozen=True, eq=False)
class Fit:
    """Identified parameters, and what can be made of them.

    estimate: numbers, error bars and figures; model: None where it is not known; regression: the factors fitted, None
    where they are not at hand; motions: those fitted, where they were not streamed. words: those that were asked, None
    where it was read from a file.
    """

    estimate: Estimate
    model: Model | None = None
    regression: Regression | None = None
    motions: tuple[Motion, ...] = ()
    words: Mapping[str, Any] | None = None

    @property
    def params(self) -> pd.Series[float]:
        """The base parameters [SI] by name: the combinations that torque can show (`to_frame` says which)."""
        return self._series(self.estimate.phi, "value")

    @property
    def std_errors(self) -> pd.Series[float]:
        """Their standard errors; NaN: not determined by these logs, and the value beside it is no result."""
        return self._series(self.estimate.covariance.standard_errors, "std_error")

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Return the lower and upper end of each base parameter's interval at this level, by name.

        Raises InputError for a level that is no share between 0 and 1.
        """
        if not 0.0 < level < 1.0:
            raise InputError(f"is {level:g}", key="level", fix="Give a share between 0 and 1, such as 0.95")
        half = self.estimate.covariance.half_widths(level)
        ends = {"lower": self.estimate.phi - half, "upper": self.estimate.phi + half}
        return self.params.to_frame()[[]].assign(**ends)

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return value, standard error, interval, unit and combination of each base parameter."""
        from ident.report.text import unit

        base, ends = self.estimate.base, self.conf_int(level)
        return self.params.to_frame().assign(
            std_error=self.std_errors,
            lower=ends["lower"],
            upper=ends["upper"],
            unit=[unit(name, self._slides) for name in base.names],
            combination=[base.expression(k) for k in range(len(base.names))],
        )

    def to_xarray(self) -> xr.Dataset:
        """Return value, standard error, unit and covariance of the base parameters [SI] by name; needs xarray."""
        need("xarray")
        import xarray as xr

        from ident.report.text import unit

        e = self.estimate
        names = list(e.base.names)
        return xr.Dataset(
            {
                "value": ("parameter", e.phi),
                "std_error": ("parameter", e.covariance.standard_errors),
                "covariance": (("parameter", "other"), e.covariance.matrix),
                "unit": ("parameter", [unit(name, self._slides) for name in names]),
            },
            {"parameter": names, "other": names},
            {"robot": e.robot, "estimator": e.estimator, "covariance": e.covariance.kind, "dof": e.covariance.dof},
        )

    def draws(self, count: int = 1000, chains: int = 4, seed: int = 0) -> xr.Dataset:
        """Return independent draws of the base parameters [SI], (chains, count, parameters); needs xarray.

        They are of the distribution that the intervals assume: Student's, with the covariance and its degrees of
        freedom. ArviZ reads the dataset as it is: `arviz.summary(fit.draws())`.
        """
        need("xarray")
        import xarray as xr

        e, rng = self.estimate, np.random.default_rng(seed)
        return xr.Dataset(
            {"phi": (("chain", "draw", "parameter"), e.phi + e.covariance.errors(rng, (chains, count)))},
            {"chain": np.arange(chains), "draw": np.arange(count), "parameter": list(e.base.names)},
            {"robot": e.robot, "estimator": e.estimator, "covariance": e.covariance.kind, "dof": e.covariance.dof},
        )

    def bootstrap(self, draws: int = DRAWS, seed: int = 0) -> Bootstrap:
        """Return the fit once more for each of so many draws of the noise that its segments show.

        `params` and `theta` of the result have a row a draw, each of links that can exist where the fit's can;
        `to_frame()` has standard errors and intervals that constraints and prior narrow. Raises ModelError for a fit
        that was read from a file, EstimationError for fewer than five segments.
        """
        if self.words is None or self.regression is None:
            raise ModelError("a file does not hold what a fit was asked", fix="Fit again, then draw")
        model = self.model or _named(self.regression, feasible=False)
        words = {**self.words, "covariance": "bootstrap", "draws": draws, "seed": seed}
        found = estimated(model, self.regression, **words).bootstrap
        assert found is not None  # as asked
        return found

    @property
    def theta(self) -> pd.Series[float]:
        """The standard parameters [SI] by name: ten per link, then joint terms.

        Of least squares without a prior these are the base parameters under the names that they keep, and 0 elsewhere:
        right for torques, and no result for a single link.
        """
        import pandas as pd

        return pd.Series(self.estimate.for_torque, index=list(self.estimate.base.standard), name="value")

    @property
    def inertials(self) -> Array | None:
        """The inertials of the links (n, 10), about their frames; None where links were not asked to exist."""
        return self.estimate.inertials if self.estimate.feasible else None

    def predict(self, motion: Motion | ArrayLike) -> Array:
        """Return the torque (N, n) [N m; N] of a motion, or of a regressor Y (N, n, p) given as numbers."""
        if isinstance(motion, Motion):
            model = self._model("predict a motion")
            return torque(model, self.estimate.for_torque, motion.q, motion.qd, motion.qdd, signals=motion.signals())
        Y = frozen(motion, (None, None, len(self.estimate.for_torque)), "Y", ModelError)
        return np.asarray(Y @ self.estimate.for_torque)

    def validate(self, motions: Motion | Iterable[Motion], cad: Cad | ArrayLike | None = None) -> Validation:
        """Return how well the fit (CAD, and no torque at all) predicts the torque of other recordings."""
        from ident.compare import cad_theta, validate

        model = self._model("validate")
        predictions = {"identified": self.estimate.phi}
        if cad is not None:
            inertials, values, _ = self._cad(cad)
            predictions["CAD"], _ = cad_theta(model, inertials, values)
        told = self.estimate.provenance.get(FITTED)
        seen = self.regression or (None if told is None else told.split(", "))
        return validate(
            model, motions, predictions, fitted=seen, base=self.estimate.base, covariance=self.estimate.covariance
        )

    def compare(self, cad: Cad | ArrayLike) -> Comparison:
        """Return which numbers of CAD, a Cad or inertials (n, 10), the logs contradict, confirm or cannot tell."""
        from ident.compare import compare_with

        return compare_with(self.estimate, *self._cad(cad), self.model.robot if self.model else None)

    def export(
        self, name: str, path: str | Path, validation: Validation | None = None, *, unvalidated: bool = False
    ) -> Exported:
        """Write a file in one of the formats of `ident export --list`; its notes say what it cannot hold.

        Numbers leave when `validation` passed (or one that the loaded fit was saved with), or unvalidated=True.
        """
        from ident.export import export_to

        robot = None if self.model is None else self.model.robot
        return export_to(name, self._validated(validation), path, robot=robot, unvalidated=unvalidated)

    def save(self, path: str | Path, validation: Validation | None = None) -> Path:
        """Write the fit to one JSON file, with the verdict of its validation; `load` reads it again."""
        return save_estimate(self._validated(validation), path)

    def report(
        self,
        path: str | Path,
        *,
        motions: Iterable[Motion] | None = None,
        held_out: Iterable[Motion] = (),
        comparison: Comparison | None = None,
        validation: Validation | None = None,
    ) -> Path:
        """Write a report (HTML or PDF by its ending). motions: those fitted, where they were streamed."""
        from ident.report import gather, write_report
        from ident.report.page import known_format

        known_format(path)
        report = gather(
            self._validated(validation),
            model=self._model("report"),
            fit=self.motions if motions is None else motions,
            held_out=next(iter(held_out), None),
            comparison=comparison,
            validation=validation,
            regression=self.regression,
        )
        return write_report(report, path)

    def summary(self) -> str:
        """Return the whole result as text: figures, base parameters with intervals, residuals, warnings."""
        from ident.report import text

        e, slides = self.estimate, self._slides
        tables = (text.figures_rows(e), text.base_rows(e, slides), text.residual_rows(e, slides))
        told = [str(self)]
        told += ["\n".join([t.title, *text_lines(t.columns, t.rows)]) for t in tables]
        told += [f"Note: {note}" for note in (*e.warnings, *e.notes)]
        return "\n\n".join(told)

    def shown(self) -> Shown:
        """Return the summary's rows."""
        from ident.report import text

        e = self.estimate
        rows = [*text.summary_rows(e).rows, ("notes", str(len(e.warnings + e.notes)))]
        return f"Fit of {e.robot}: {len(e.phi)} base parameters", ("", ""), [(a, b) for a, b in rows[-8:]]

    @property
    def _slides(self) -> frozenset[str]:
        return frozenset() if self.model is None else self.model.robot.slides

    def _series(self, values: Array, name: str) -> pd.Series[float]:
        import pandas as pd

        return pd.Series(values, index=list(self.estimate.base.names), name=name)

    def _model(self, what: str) -> Model:
        if self.model is None:
            problem = f"there is no robot to {what} with"
            raise ModelError(problem, fix="Give it: ident.load(path, robot), or fit a model's motions")
        return self.model

    def _cad(self, cad: Cad | ArrayLike) -> tuple[Array, dict[str, float], str]:
        from ident.cad.table import Cad

        if isinstance(cad, Cad):
            return cad.for_robot(self._model("compare").robot), dict(cad.joint_values), cad.source or "CAD"
        return np.asarray(cad, dtype=np.float64), {}, "given inertials"

    def _validated(self, validation: Validation | None) -> Estimate:
        from ident.export import with_validation

        return with_validation(self.estimate, validation)
