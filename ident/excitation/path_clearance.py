"""Whether a sampled motion stays clear of a scene on its whole way, between the samples too."""

from __future__ import annotations

import numpy as np

from ident.arrays import Array
from ident.errors import ExcitationError
from ident.geometry.distance import clearances
from ident.geometry.distance_bound import clearance_gradient_bound
from ident.geometry.scene import Scene
from ident.robot.robot import Robot


def require_clear(scene: Scene, robot: Robot, t: Array, q: Array) -> None:
    """Raise ExcitationError, naming pair and time, unless every clearance is proven to keep its margin.

    t (N,) [s], q (N, n): joints that move one way from sample to sample. A clearance falls by at most its gradient's
    bound times the way of each joint, so between two samples it is at least (c_k + c_k+1 - bound . |dq|) / 2.
    """
    found = clearances(scene, robot, q)
    bound = clearance_gradient_bound(scene, robot, np.stack([q.min(axis=0), q.max(axis=0)], axis=1))
    least = (found[:-1] + found[1:] - np.abs(np.diff(q, axis=0)) @ bound.T) / 2.0
    short = scene.margins(robot) - least
    if short.size and short.max() > 0.0:
        k, m = np.unravel_index(int(np.argmax(short)), short.shape)
        raise ExcitationError(
            f"{t[k]:.4g} s after the start the clearance of {scene.names(robot)[m]} may be {1e3 * least[k, m]:.3g} mm, "
            f"wanted {1e3 * scene.margins(robot)[m]:.3g} mm",
            fix="Take other postures, a shorter range, or a higher rate where it is the proof that is short",
        )
