"""Figures of links: centres of mass and ellipsoids of inertia as CAD has them, as identified, and refined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ident.arrays import Array
from ident.report.figures import BLUE, GREEN, INK, LINE, MUTED, RED, plain
from ident.spatial.inertia import pseudo_inertia

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colour, line and sign of each source.
LOOKS = {"CAD": (RED, "-", "D"), "identified": (BLUE, "--", "o"), "refined": (GREEN, "-", "s")}
_PLANES = ((0, 1), (0, 2), (1, 2))


def link_figure(link: str, bodies: Mapping[str, Array], outline: Array | None = None) -> Figure:
    """Return one link in three views, in its own frame [mm].

    bodies: inertials (10,) by source, one of LOOKS. Each is drawn as its centre of mass and the outline of the solid,
    uniform ellipsoid of the same mass and inertia; a body of which none exists is drawn by its centre alone.
    outline (k, 3) [m]: points of the link's mesh or box, whose hull is drawn behind. The views hold all but what was
    identified without CAD, which may lie anywhere where no motion tells.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, plane in zip(figure.subplots(1, 3), _PLANES, strict=True):
        _view(axes, plane, bodies, outline)
    figure.suptitle(plain(link, 60), x=0.01, ha="left", fontsize=10, fontweight="bold", color=INK)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8, frameon=False, labelcolor=INK,
        title="outline: the solid ellipsoid of the same mass and inertia; sign: its centre of mass", title_fontsize=8,
    )  # fmt: skip
    return figure


def ellipse(body: Array, plane: tuple[int, int], points: int = 121) -> Array | None:
    """Return the outline (points, 2) [m] of a body's ellipsoid seen along the third axis; None where none exists.

    The solid, uniform ellipsoid with covariance S = integral of r r^T dm / m has the surface r' (5 S)^-1 r = 1, and its
    shadow on a plane is that of the plane's part of S.
    """
    J = pseudo_inertia(body)
    m, c = float(J[3, 3]), J[:3, 3]
    if m <= 0:
        return None
    spread = J[:3, :3] / m - np.outer(c, c) / m**2
    if np.linalg.eigvalsh(spread)[0] < 0:
        return None
    values, vectors = np.linalg.eigh(spread[np.ix_(plane, plane)])
    angle = np.linspace(0.0, 2 * np.pi, points)
    around = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.asarray(c[list(plane)] / m + (around * np.sqrt(5.0 * values)) @ vectors.T)


def _view(axes: Axes, plane: tuple[int, int], bodies: Mapping[str, Array], outline: Array | None) -> None:
    if outline is not None and len(outline) > 2:
        hull = _hull(1e3 * outline[:, plane])
        axes.fill(*hull.T, color=LINE, alpha=0.5, linewidth=0, zorder=0, label="shape of the link")
    for source, body in bodies.items():
        colour, line, sign = LOOKS[source]
        around = ellipse(body, plane)
        if around is not None:
            axes.plot(*(1e3 * around.T), color=colour, linestyle=line, linewidth=1.4)
        if body[0]:
            x, y = 1e3 * body[1:4][list(plane)] / body[0]
            said = "identified without CAD" if source == "identified" else source
            label = f"{said}: {body[0]:.4g} kg"
            axes.plot([x], [y], sign, color=colour, markersize=5, markerfacecolor="none", label=label)
    axes.plot([0], [0], "+", color=MUTED, markersize=9, label="origin of the link's frame")
    _window(axes, plane, bodies, outline)
    axes.set_xlabel(f"{'xyz'[plane[0]]} [mm]", fontsize=8.5, color=INK)
    axes.set_ylabel(f"{'xyz'[plane[1]]} [mm]", fontsize=8.5, color=INK)
    axes.tick_params(labelsize=8, colors=INK)
    axes.grid(color=LINE, linewidth=0.5)
    axes.set_axisbelow(True)


def _window(axes: Axes, plane: tuple[int, int], bodies: Mapping[str, Array], outline: Array | None) -> None:
    """Set square limits around the link's origin, its outline and all bodies but the identified one."""
    shown = [np.zeros((1, 2))] if outline is None else [np.zeros((1, 2)), outline[:, plane]]
    for source, body in bodies.items():
        around = ellipse(body, plane)
        if around is not None and (source != "identified" or len(bodies) == 1):
            shown.append(around)
    points = 1e3 * np.concatenate(shown)
    middle = (points.max(axis=0) + points.min(axis=0)) / 2
    half = 0.62 * max(float(np.ptp(points, axis=0).max()), 1.0)
    axes.set_xlim(middle[0] - half, middle[0] + half)
    axes.set_ylim(middle[1] - half, middle[1] + half)
    axes.set_aspect("equal")


def _hull(points: Array) -> Array:
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except QhullError:  # all on one line
        return points
