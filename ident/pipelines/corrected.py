"""A CAD table that the fitted logs contradict: which mistakes of it are sure, and the prior without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ident.compare.causes.causes import Cause, of_table
from ident.compare.causes.reading import Reading, rows_of
from ident.compare.causes.tables import Table, scales_all, table_search, told_of
from ident.compare.causes.weighing import Weigher
from ident.compare.doctor import Diagnosis, doctor
from ident.compare.doctor.hypotheses import OtherView, TorqueGain
from ident.estimate.prior import Prior, cad_prior
from ident.logs.motion import Motion
from ident.pipelines.loaded import Loaded
from ident.regression import Regression

#: Differences to a corrected table, in their standard deviations, where all of its mistakes are known.
EXPLAINED = 2.0


@dataclass(frozen=True, eq=False)
class Corrected:
    """Mistakes of a table that are no slight ones; prior: without them, None where they are not all sure.

    elsewhere: whether robot file or logs are likelier to be wrong than the table.
    """

    causes: tuple[Cause, ...] = ()
    elsewhere: bool = False
    prior: Prior | None = None


def corrected(loaded: Loaded, regression: Regression, motions: Sequence[Motion], table: Table) -> Corrected:
    """Return what is wrong with a table, by the factors of a fit and its motions."""
    search = table_search(loaded.model, regression, table, motions)
    diagnosis = doctor(search)
    if not diagnosis.faults:
        return Corrected()
    weigher, reading = Weigher(loaded.model, rows_of(motions, thinned=True), loaded.prior), Reading.plain(loaded.robot)
    found = [f for f in told_of(weigher, reading, search, diagnosis.faults, table) if not f.ordinary]
    elsewhere = any(isinstance(f.fault.move, OtherView | TorqueGain) for f in found)
    causes = tuple(of_table(f, weigher, loaded.robot) for f in found if f.fault.asserted)
    return Corrected(causes, elsewhere, mended_prior(loaded, diagnosis) if causes and not elsewhere else None)


def mended_prior(loaded: Loaded, diagnosis: Diagnosis) -> Prior | None:
    """Return the prior of a table without its mistakes, None where these are not sure or not all that is wrong."""
    sure = diagnosis.faults and all(f.asserted and not scales_all(f) for f in diagnosis.faults)
    return _prior(loaded, diagnosis) if sure and diagnosis.deviation[1] < EXPLAINED else None


def _prior(loaded: Loaded, diagnosis: Diagnosis) -> Prior:
    """Return the prior of the corrected table: neutral bodies for links of which it says nothing that is sure."""
    robot, bodies = loaded.robot, diagnosis.corrected.copy()
    bodies[[robot.links.index(link) for link in diagnosis.unknown]] = np.nan
    for link, (mean, _) in diagnosis.left.items():
        bodies[robot.links.index(link)] = mean
    return cad_prior(robot, bodies, f"{loaded.cad_source} without its mistakes", loaded.prior.joint_values)
