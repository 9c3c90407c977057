"""Which share of each number comes from the logs and which from CAD.

With the Hessians H_d = K' W'W K / inflation of the logs and H_p of the prior, (H_d + H_p)^-1 H_d takes the truth's
difference from CAD to the estimate's. The share of one number is how much of the prior's variance the logs remove,

    1 - [(H_d + H_p)^-1]_kk / [H_p^-1]_kk,

k a number that is linear in theta. One that is not, such as a tensor about the centre of mass, counts by its slope d
at the estimate (the delta method): [H^-1]_kk is then d H^-1 d'. The share is the diagonal of that matrix where the
prior's errors are independent (as CAD's tolerances are), and between 0 and 1 always.
"""

from __future__ import annotations

import numpy as np

from ident.arrays import Array

_SINGULAR = 1e-9


def data_share(data: Array, prior: Array, directions: Array) -> Array:
    """Return the share (k,) of the numbers directions @ theta that comes from the logs.

    data (b, p): a root of H_d; prior (p, p): a root of H_p, invertible; directions (k, p).
    """
    inverse = np.linalg.inv(prior)
    _, s, vt = np.linalg.svd(data @ inverse, full_matrices=False)
    return _share(directions @ inverse, vt, s**2 / (1.0 + s**2))


def data_share_first(data: Array, prior: Array, directions: Array) -> Array:
    """Return the shares in the limit of a vanishing weight of the prior, as `data_share`."""
    inverse = np.linalg.inv(prior)
    _, s, vt = np.linalg.svd(data @ inverse, full_matrices=False)
    return _share(directions @ inverse, vt, (s > _SINGULAR * s[0]).astype(np.float64))


def _share(rows: Array, vt: Array, kept: Array) -> Array:
    """Return sum_j kept_j (rows v_j)^2 / |rows|^2."""
    return np.asarray(((rows @ vt.T) ** 2 @ kept) / np.sum(rows**2, axis=1))
