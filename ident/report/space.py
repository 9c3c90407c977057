"""The robot in space, as numbers that the page's script draws and lets turn: frames, links, ellipsoids of inertia."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ident.report.body_figures import ellipsoid
from ident.report.text import number
from ident.robot.robot import Robot


def space_data(
    robot: Robot, q: ArrayLike, inertials: ArrayLike, other: ArrayLike | None = None, *, named: str = "CAD"
) -> str:
    """Return the robot at q (n,) as JSON: its links' frames, and the ellipsoids that have the inertia of the links.

    inertials (n, 10); other (n, 10): a second set of bodies, NaN rows left out; named: what they are. All is in the
    base frame [m]. Bodies that cannot exist, and those without mass, are left out. The z axis of the page points
    against gravity, where there is any.
    """
    poses = robot.poses(q)
    origins = [p.position for p in poses]
    bodies: list[dict[str, Any]] = []
    for kind, rows in (("identified", inertials), (named, other)):
        for i, row in enumerate(np.asarray(rows, dtype=np.float64) if rows is not None else ()):
            found = ellipsoid(row)
            if found is not None:
                bodies.append({
                    "kind": kind, "link": i, "says": f"{robot.links[i]}, {kind}: {number(float(row[0]), 3)} kg",
                    "centre": _rounded(poses[i].rotation @ found[0] + origins[i]),
                    "shape": _rounded(poses[i].rotation @ found[1]),
                })  # fmt: skip
    return json.dumps(
        {
            "names": list(robot.links),
            "second": named if other is not None else "",
            "up": _rounded(_up(robot)),
            "links": [
                _rounded(np.stack([np.zeros(3) if p < 0 else origins[p], origins[i]]))
                for i, p in enumerate(robot.parents)
            ],
            "frames": [_rounded(np.column_stack([p.position, p.rotation])) for p in poses],
            "bodies": bodies,
        },
        allow_nan=False,
    )


def _up(robot: Robot) -> Any:
    """Return the direction (3,) against gravity, z where there is none."""
    size = float(np.linalg.norm(robot.gravity))
    return -robot.gravity / size if size > 0 else np.array([0.0, 0.0, 1.0])


def _rounded(x: ArrayLike) -> Any:
    """Return numbers as lists, to a hundredth of a millimetre."""
    return np.round(np.asarray(x, dtype=np.float64), 5).tolist()
