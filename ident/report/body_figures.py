"""Bodies, each as the solid, uniform ellipsoid of its mass and inertia: figures of them on the robot or one by itself,
and the robot in space with them, as numbers that the page's script draws and lets turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.report.figures import BLUE, GREEN, INK, LINE, MUTED, PALE, RED, figure_of, view
from ident.report.picture import WIDE, Axis, Dots, Mark, Note, Outline, Panel, Picture, Strip
from ident.report.text import number
from ident.robot.robot import Robot
from ident.spatial.inertia import pseudo_inertia

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Points (k, 3) [m] around each shape of a link, in its frame, by the link's name.
Shapes = Mapping[str, Sequence[Array]]
NO_SHAPES: Shapes = {}
_VIEWS = ((-55.0, 20.0), (35.0, 20.0))  # azimuth and elevation of the eye [deg]: a quarter turn apart
#: A circle (2, points) of radius 1.
CIRCLE = np.stack([np.cos(a := np.linspace(0.0, 2.0 * np.pi, 121)), np.sin(a)])


def inertia_picture(space: Mapping[str, Any], title: str) -> Picture:
    """Return what `in_space` returns in two views, a quarter turn apart: bodies of CAD are outlines."""
    panels = (Panel(Axis(), Axis(), tuple(_bodies(space, view(*eye))), 260.0, equal=True) for eye in _VIEWS)
    return Picture(title, tuple(panels), 2)


def _bodies(space: Mapping[str, Any], P: Array) -> Iterator[Mark]:
    """Yield shapes, links and bodies as seen by an eye; P (3, 3): what `view` returns."""
    for points in space["shapes"]:
        yield Outline(hull(np.asarray(points) @ P[:2].T), MUTED, LINE, width=0.7, opacity=0.4)
    bodies = [(b, shadow(P[:2], np.array(b["centre"]), np.array(b["shape"]))) for b in space["bodies"]]
    yield from (Outline(x, BLUE, PALE, "identified", 1.6, opacity=0.55) for b, x in bodies if b["kind"] != "CAD")
    for line in space["links"]:
        ends = np.asarray(line) @ P[:2].T
        yield from (Outline(ends, MUTED, width=2.7), Dots(ends[:, 0], ends[:, 1], MUTED, size=4.0))
    yield from (Outline(x, RED, label="CAD", dash="--") for b, x in bodies if b["kind"] == "CAD")
    for body, _ in bodies:
        x, y, _ = (P @ body["centre"]).tolist()
        yield from [Note(x, y, str(body["link"] + 1), INK, "center")] if body["kind"] != "CAD" else []


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
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ CIRCLE).T + P @ centre


#: Colour, dash and sign of each source, and how large that is: where signs meet, each is seen.
LOOKS = {"CAD": (RED, "", "D", 10.0), "identified": (BLUE, "--", "o", 7.0), "refined": (GREEN, "", "s", 4.0)}
_PLANES = ((0, 1), (0, 2), (1, 2))


def link_figure(link: str, bodies: Mapping[str, Array], outline: Array | None = None) -> Figure:
    """Return one link in three views, in its own frame [mm].

    bodies: inertials (10,) by source, one of LOOKS. Each is drawn as its centre of mass and the outline of the solid,
    uniform ellipsoid of the same mass and inertia; a body of which none exists is drawn by its centre alone.
    outline (k, 3) [m]: points of the link's mesh or box, whose hull is drawn behind. The views hold all but what was
    identified without CAD, which may lie anywhere where no motion tells.
    """
    note = "outline: the solid ellipsoid of the same mass and inertia; sign: its centre of mass"
    return figure_of(Picture(link, tuple(_view(p, bodies, outline) for p in _PLANES), 3, note, WIDE))


def ellipse(body: Array, plane: tuple[int, int]) -> Array | None:
    """Return the outline (points, 2) [m] of a body's ellipsoid along two of its axes; None where none exists."""
    found = ellipsoid(body)
    return None if found is None else shadow(np.eye(3)[list(plane)], *found)


def _view(plane: tuple[int, int], bodies: Mapping[str, Array], outline: Array | None) -> Panel:
    """Return one view in square limits around the link's origin, its outline and all bodies but the identified one."""
    origin = "origin of the link's frame"
    marks: list[Mark] = [Strip("x", 0.0, 0.0, MUTED, origin, ":"), Strip("y", 0.0, 0.0, MUTED, origin, ":")]
    shown = [np.zeros((1, 2))] if outline is None else [np.zeros((1, 2)), outline[:, plane]]
    if outline is not None and len(outline) > 2:
        marks.insert(0, Outline(hull(1e3 * outline[:, plane]), LINE, LINE, "shape of the link", opacity=0.5))
    for source, body in bodies.items():
        colour, dash, sign, size = LOOKS[source]
        around = ellipse(body, plane)
        if around is not None:
            marks.append(Outline(1e3 * around, colour, width=1.9, dash=dash))
            if source != "identified" or len(bodies) == 1:
                shown.append(around)
        if body[0]:
            centre = 1e3 * body[1:4][list(plane)] / body[0]
            said = "identified without CAD" if source == "identified" else source
            marks.append(Dots(centre[:1], centre[1:], colour, f"{said}: {body[0]:.4g} kg", size, sign))
    points = 1e3 * np.concatenate(shown)
    low, high = points.min(axis=0), points.max(axis=0)
    middle, half = (low + high) / 2.0, 0.62 * max(*(high - low).tolist(), 1.0)
    ends = zip((middle - half).tolist(), (middle + half).tolist(), plane, strict=True)
    across, up = (Axis("xyz"[k], "mm", (a, b)) for a, b, k in ends)
    return Panel(across, up, tuple(marks), 300.0, equal=True)


def hull(points: Array) -> Array:
    """Return those of points (k, 2) that all others lie between, in their order; of points on one line all."""
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
