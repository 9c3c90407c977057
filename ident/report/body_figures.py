"""Bodies, each as the solid, uniform ellipsoid of its mass and inertia: figures of them on the robot or one by itself,
and the robot in space with them, as numbers that the page's script draws and lets turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.report.figures import BLUE, GREEN, INK, LINE, MUTED, PALE, RED, blank, empty, legend, plain, style, view
from ident.report.text import number
from ident.robot.robot import Robot
from ident.spatial.inertia import pseudo_inertia

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Points (k, 3) [m] around each shape of a link, in its frame, by the link's name.
Shapes = Mapping[str, Sequence[Array]]
NO_SHAPES: Shapes = {}
_VIEWS = ((-55.0, 20.0), (35.0, 20.0))  # azimuth and elevation of the eye [deg]: a quarter turn apart
_CIRCLE = np.stack([np.cos(a := np.linspace(0.0, 2.0 * np.pi, 121)), np.sin(a)])


def inertia_figure(space: Mapping[str, Any], *, title: str) -> Figure:
    """Return what `in_space` returns in two views, a quarter turn apart: bodies of CAD are outlines."""
    figure, both = blank(3.2, title, columns=2)
    for axes, (azimuth, elevation) in zip(both, _VIEWS, strict=True):
        P = view(azimuth, elevation)
        for points in space["shapes"]:
            hull = _hull(np.asarray(points) @ P[:2].T)
            axes.fill(*hull.T, facecolor=LINE, edgecolor=MUTED, linewidth=0.5, alpha=0.4, zorder=1)
        for line in space["links"]:
            axes.plot(*P[:2] @ np.transpose(line), "-o", color=MUTED, linewidth=2.0, markersize=3.0, zorder=3.5)
        for body in space["bodies"]:
            outline = shadow(P[:2], np.array(body["centre"]), np.array(body["shape"])).T
            if body["kind"] == "identified":
                axes.fill(*outline, facecolor=PALE, edgecolor=BLUE, linewidth=1.2, alpha=0.55, zorder=3)
                x, y, _ = P @ body["centre"]
                axes.text(x, y, str(body["link"] + 1), fontsize=7.5, color=INK, ha="center", va="center", zorder=6)
            else:
                axes.plot(*outline, "--", color=RED, linewidth=1.1, zorder=4)
        axes.set_aspect("equal", adjustable="datalim")
        axes.axis("off")
    both[0].plot([], [], "o", color=PALE, markeredgecolor=BLUE, label="identified")
    if any(body["kind"] == "CAD" for body in space["bodies"]):
        both[0].plot([], [], "--", color=RED, label="CAD")
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


def shadow(P: Array, centre: Array, shape: Array) -> Array:
    """Return the outline (points, 2) [m] of what `ellipsoid` returns, on the plane of the rows of P (2, 3)."""
    values, vectors = np.linalg.eigh(P @ shape @ shape.T @ P.T)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ _CIRCLE).T + P @ centre


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
    figure = empty(8.4, 3.6)
    for axes, plane in zip(figure.subplots(1, 3), _PLANES, strict=True):
        _view(axes, plane, bodies, outline)
    figure.suptitle(plain(link, 60), x=0.01, ha="left", fontsize=10, fontweight="bold", color=INK)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8, frameon=False, labelcolor=INK,
        title="outline: the solid ellipsoid of the same mass and inertia; sign: its centre of mass", title_fontsize=8,
    )  # fmt: skip
    return figure


def ellipse(body: Array, plane: tuple[int, int]) -> Array | None:
    """Return the outline (points, 2) [m] of a body's ellipsoid along two of its axes; None where none exists."""
    found = ellipsoid(body)
    return None if found is None else shadow(np.eye(3)[list(plane)], *found)


def _view(axes: Axes, plane: tuple[int, int], bodies: Mapping[str, Array], outline: Array | None) -> None:
    """Draw one view in square limits around the link's origin, its outline and all bodies but the identified one."""
    shown = [np.zeros((1, 2))] if outline is None else [np.zeros((1, 2)), outline[:, plane]]
    if outline is not None and len(outline) > 2:
        hull = _hull(1e3 * outline[:, plane])
        axes.fill(*hull.T, color=LINE, alpha=0.5, linewidth=0, zorder=0, label="shape of the link")
    for source, body in bodies.items():
        colour, line, sign = LOOKS[source]
        around = ellipse(body, plane)
        if around is not None:
            axes.plot(*(1e3 * around.T), color=colour, linestyle=line, linewidth=1.4)
            if source != "identified" or len(bodies) == 1:
                shown.append(around)
        if body[0]:
            x, y = 1e3 * body[1:4][list(plane)] / body[0]
            said = "identified without CAD" if source == "identified" else source
            label = f"{said}: {body[0]:.4g} kg"
            axes.plot([x], [y], sign, color=colour, markersize=5, markerfacecolor="none", label=label)
    axes.plot([0], [0], "+", color=MUTED, markersize=9, label="origin of the link's frame")
    points = 1e3 * np.concatenate(shown)
    (left, low), (right, high) = points.min(axis=0), points.max(axis=0)
    x, y, half = (left + right) / 2, (low + high) / 2, 0.62 * max(right - left, high - low, 1.0)
    axes.set(xlim=(x - half, x + half), ylim=(y - half, y + half), aspect="equal")
    axes.set(xlabel=f"{'xyz'[plane[0]]} [mm]", ylabel=f"{'xyz'[plane[1]]} [mm]")
    style(axes)


def _hull(points: Array) -> Array:
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except QhullError:  # all on one line
        return points


def in_space(
    robot: Robot, q: ArrayLike, inertials: ArrayLike, other: ArrayLike | None = None, *, shapes: Shapes = NO_SHAPES
) -> dict[str, Any]:
    """Return the robot at q (n,) as JSON can hold it: its links' frames, and ellipsoids of the inertia of the links.

    inertials (n, 10); other (n, 10): those of CAD, NaN rows left out. shapes: of the links. All is in the
    base frame [m]. Bodies that cannot exist, and those without mass, are left out. The z axis of the page points
    against gravity, where there is any.
    """
    poses, weight = robot.poses(q), float(np.linalg.norm(robot.gravity))
    origins, named = [p.position for p in poses], dict(zip(robot.links, poses, strict=True))
    bodies: list[dict[str, Any]] = []
    for kind, rows in (("identified", inertials), ("CAD", other)):
        for i, row in enumerate(np.asarray(rows, dtype=np.float64) if rows is not None else ()):
            found = ellipsoid(row)
            if found is not None:
                bodies.append({
                    "kind": kind, "link": i, "says": f"{robot.links[i]}, {kind}: {number(float(row[0]), 3)} kg",
                    "centre": _rounded(poses[i].rotation @ found[0] + origins[i]),
                    "shape": _rounded(poses[i].rotation @ found[1]),
                })  # fmt: skip
    return {
        "names": list(robot.links),
        "second": "CAD" if other is not None else "",
        "up": _rounded(-robot.gravity / weight if weight > 0 else (0.0, 0.0, 1.0)),
        "links": [_rounded([np.zeros(3) if p < 0 else origins[p], origins[i]]) for i, p in enumerate(robot.parents)],
        "frames": [_rounded(np.column_stack([p.position, p.rotation])) for p in poses],
        "bodies": bodies,
        "shapes": [
            _rounded(points @ named[link].rotation.T + named[link].position if link in named else points, 4)
            for link, own in shapes.items()
            for points in own
        ],
    }


def _rounded(x: ArrayLike, digits: int = 5) -> Any:
    return np.round(np.asarray(x, dtype=np.float64), digits).tolist()
