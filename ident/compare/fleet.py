"""Which robots of a fleet stand out from the others, and which have drifted from an earlier table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ident.compare.difference import contradicted

if TYPE_CHECKING:
    import pandas as pd

#: Columns of a fleet's table, a row for each base parameter of each robot [SI]. What is added by `compared` follows.
COLUMNS = ("robot", "parameter", "unit", "value", "standard_error", "dof", "torque_error", "verdict", "reason")
COMPARED = ("median", "spread", "deviation", "stands_out", "earlier", "drift", "drifted")
#: Robots without which nobody knows what is usual.
FEWEST = 5
#: Of the median distance from the median to the standard deviation, of normal numbers.
_NORMAL = 1.4826


def compared(table: pd.DataFrame, earlier: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return a fleet's table with what sets robots apart.

    table: with COLUMNS. median, spread: of each parameter over the robots, by medians, which strangers do not move;
    deviation: distance from the median in spreads, or in own standard errors where these are larger; stands_out:
    whether chance does not explain it, all comparisons considered (Holm's rule at 1 %). earlier: an older table; its
    value, the drift since in standard errors of the difference, and whether chance does not explain it. NaN: not
    determined, or too few robots.
    """
    table = table.copy()
    known = table["value"].where(table["standard_error"] > 0)
    by = table["parameter"]
    table["median"] = known.groupby(by).transform("median")
    off = known - table["median"]
    table["spread"] = _NORMAL * off.abs().groupby(by).transform("median")
    counts = known.groupby(by).transform("count")
    size = np.maximum(table["spread"], table["standard_error"])
    table["deviation"] = (off / size).where((counts >= FEWEST) & (size > 0))
    robots = int(table["robot"].nunique())
    table["stands_out"] = contradicted(table["deviation"].tolist(), max(robots - 1, 1))[0]
    old = None if earlier is None else earlier.drop_duplicates(["robot", "parameter"]).set_index(["robot", "parameter"])
    if old is None:
        table["earlier"], table["drift"] = np.nan, np.nan
    else:
        places = list(zip(table["robot"], table["parameter"], strict=True))
        was = old.reindex(places)[["value", "standard_error", "dof"]].to_numpy(dtype=np.float64)
        table["earlier"] = was[:, 0]
        error = np.hypot(table["standard_error"], was[:, 1])
        table["drift"] = ((known - was[:, 0]) / error).where(error > 0)
        table["dof"] = np.fmin(table["dof"], was[:, 2])
    tested = table["dof"][table["drift"].notna()]
    table["drifted"] = contradicted(table["drift"].tolist(), max(int(tested.min()), 1) if len(tested) else 1)[0]
    return table
