"""MAT file (level 5) of all parameters, for MATLAB and scipy. Source: scipy.io.savemat."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from ident.export.identified import Identified, Written

CONVENTIONS = (
    "Units: SI, rad. theta: standard parameters named in `names`; links: one row a link, in the order of `columns`,",
    "h = m * centre and the tensor about the link frame's ORIGIN, link axes, tensor signs (Ixy = -integral of x y dm).",
    "phi = K theta: base parameters named in `base_names`, with their covariance (NaN: not determined).",
)
_HEADER = b"MATLAB 5.0 MAT-file, written by ident"


def mat_file(content: Mapping[str, Any]) -> bytes:
    """Return the bytes of a MAT file; its head has no date and no machine, so that equal content gives equal bytes."""
    from scipy.io import savemat

    stream: Any = io.BytesIO()
    savemat(stream, dict(content), oned_as="column")
    written = bytes(stream.getvalue())
    return _HEADER.ljust(116) + written[116:]


def write_mat(item: Identified) -> Written:
    """Return theta, links, phi, K and the covariance as a MAT file."""
    e = item.estimate
    return Written(
        mat_file({
            "about": "\n".join((*item.head, *CONVENTIONS)),
            "names": np.array(e.base.standard, dtype=object),
            "theta": item.theta,
            "link_names": np.array(e.links, dtype=object),
            "joint_names": np.array(e.joints, dtype=object),
            "columns": np.array(["m", "hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz"], dtype=object),
            "links": item.inertials,
            "base_names": np.array(e.base.names, dtype=object),
            "phi": item.phi,
            "K": e.base.K,
            "covariance": e.covariance.matrix,
            "covariance_kind": e.covariance.kind,
        })
    )  # fmt: skip
