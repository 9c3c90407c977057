"""The links' masses as ellipsoids on the robot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.report.figures import BLUE, INK, MUTED, PALE, RED, blank, legend, plain, view
from ident.robot.robot import Robot
from ident.spatial.inertia import pseudo_inertia

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_VIEWS = ((-55.0, 20.0), (35.0, 20.0))  # azimuth and elevation of the eye [deg]: a quarter turn apart
_CIRCLE = np.stack([np.cos(a := np.linspace(0.0, 2.0 * np.pi, 49)), np.sin(a)])


def inertia_figure(
    robot: Robot, q: ArrayLike, inertials: ArrayLike, other: ArrayLike | None = None, *, title: str, named: str = "CAD"
) -> Figure:
    """Return the robot at q (n,) with each link as the solid ellipsoid that has its mass, centre and inertia.

    inertials (n, 10); other (n, 10): drawn as outlines beside them, NaN rows left out; named: what the outlines are.
    Bodies that cannot exist, and those without mass, are not drawn. Two views, a quarter turn apart.
    """
    figure, both = blank(3.2, title, columns=2)
    poses = robot.poses(q)
    origins = np.array([p.position for p in poses])
    joints = [np.stack([np.zeros(3) if p < 0 else origins[p], origins[i]]) for i, p in enumerate(robot.parents)]
    bodies, outlines = (
        [ellipsoid(row) for row in np.asarray(rows, dtype=np.float64)] if rows is not None else [None] * robot.n
        for rows in (inertials, other)
    )
    for axes, (azimuth, elevation) in zip(both, _VIEWS, strict=True):
        P = view(azimuth, elevation)
        for line in joints:
            axes.plot(*(P @ line.T)[:2], "-o", color=MUTED, linewidth=2.0, markersize=3.0, zorder=3.5)
        for i, pose in enumerate(poses):
            for found, kind in ((bodies[i], "identified"), (outlines[i], named)):
                if found is not None:
                    centre, shape = pose.rotation @ found[0] + pose.position, pose.rotation @ found[1]
                    _draw(axes, P, centre, shape, kind == "identified")
            if bodies[i] is not None:
                centre = P @ (pose.rotation @ bodies[i][0] + pose.position)  # type: ignore[index]
                axes.text(centre[0], centre[1], str(i + 1), fontsize=7.5, color=INK, ha="center", va="center", zorder=6)
        axes.set_aspect("equal", adjustable="datalim")
        axes.axis("off")
    both[0].plot([], [], "o", color=PALE, markeredgecolor=BLUE, label="identified")
    if any(o is not None for o in outlines):
        both[0].plot([], [], "--", color=RED, label=plain(named))
    legend(figure, 3)
    return figure


def ellipsoid(inertials: ArrayLike) -> tuple[Array, Array] | None:
    """Return centre (3,) [m] and semi-axes as columns (3, 3) [m] of the solid ellipsoid with a link's ten inertials.

    Its second moment about the centre is m A A^T / 5. None for a body without mass or one that cannot exist.
    """
    p = np.asarray(inertials, dtype=np.float64)
    if not np.isfinite(p).all() or p[0] <= 0:
        return None
    J = pseudo_inertia(p)
    centre = J[:3, 3] / p[0]
    moments, axes = np.linalg.eigh(J[:3, :3] / p[0] - np.outer(centre, centre))
    if moments[0] < -1e-9 * max(float(moments[-1]), 0.0) or moments[-1] <= 0:
        return None
    return centre, axes * np.sqrt(5.0 * np.maximum(moments, 0.0))


def links_named(links: Sequence[str]) -> str:
    """Return which number of the figure is which link, as a sentence."""
    return ", ".join(f"{i} {name}" for i, name in enumerate(links, start=1))


def _draw(axes: Axes, P: Array, centre: Array, shape: Array, solid: bool) -> None:
    """Draw an ellipsoid's outline: that of A u over the unit sphere, seen along the third row of P, is an ellipse."""
    flat = (P @ shape)[:2]
    values, vectors = np.linalg.eigh(flat @ flat.T)
    outline = (vectors * np.sqrt(np.maximum(values, 0.0))) @ _CIRCLE + (P @ centre)[:2, None]
    if solid:
        axes.fill(*outline, facecolor=PALE, edgecolor=BLUE, linewidth=1.2, alpha=0.55, zorder=3)
    else:
        axes.plot(*outline, "--", color=RED, linewidth=1.1, zorder=4)
