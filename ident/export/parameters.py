"""What may be exported: parameters that are known and bodies that can exist."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ident.arrays import Array, frozen
from ident.errors import EstimationError, InfeasibleError, ModelError
from ident.estimate.estimate import Estimate
from ident.estimate.written import rounded
from ident.export.digits import deserved
from ident.robot.robot import Robot
from ident.spatial.inertia import consistency


@dataclass(frozen=True)
class Exported:
    """A file that was written; `notes` say what it cannot hold and what its user has to know."""

    path: Path
    notes: tuple[str, ...] = ()


def exportable(estimate: Estimate, robot: Robot | None = None) -> Array:
    """Return theta (p,) with the digits that are written, see `deserved`.

    Links of `robot` to which other bodies are fixed keep 12 digits, for a file's own share is what is left of them.
    Raises EstimationError when only base parameters are known, InfeasibleError when a link of these numbers
    cannot exist.
    """
    if estimate.theta is None:
        raise EstimationError(
            f"'{estimate.estimator}' determines base parameters only, and no file of links can be made of them. "
            "Use the constrained fit, which returns bodies that can exist.",
            estimate=estimate,
        )
    theta = frozen(rounded(estimate.theta), (len(estimate.base.standard),), "theta", ModelError)
    for i, link in enumerate(estimate.links):
        found = consistency(theta[10 * i : 10 * i + 10])
        if not found.consistent:
            why = "; ".join(found.failures()) or "its pseudo-inertia is not positive semidefinite"
            raise InfeasibleError(
                f"{link} cannot exist ({why}), so nothing was exported. Use the constrained fit.", estimate=estimate
            )
    merged = (
        () if robot is None else {robot.links[b.link] for b in robot.fixed if b.link >= 0 and b.inertial is not None}
    )
    return deserved(estimate, keep=merged)
