"""A CAD table against a fit: what is wrong with it, how sure that is, and what could not be told."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.compare.doctor.evidence import TOLERANCE, Evidence, evidence
from ident.compare.doctor.hypotheses import OtherView, Space
from ident.compare.doctor.mistakes import Setting
from ident.compare.doctor.search import Search
from ident.logs.motion import Motion
from ident.model.model import Model
from ident.regression.compress import compress
from ident.regression.regression import Regression
from ident.robot.robot import Robot


def searching(
    model: Model,
    regression: Regression,
    table: ArrayLike,
    *,
    joint_values: Mapping[str, float] | None = None,
    about_origin: bool = False,
    settled: Collection[tuple[str, str]] = (),
    motions: Sequence[Motion] = (),
    geometries: Mapping[str, Robot] | None = None,
    tolerance: float = TOLERANCE,
) -> Search:
    """Return the search that `doctor` does, before it has begun; arguments as there."""
    from dataclasses import replace

    robot, given = model.robot, dict(joint_values or {})
    others: dict[str, Robot] = {}
    views: list[OtherView] = []
    if motions:
        size = float(np.linalg.norm(robot.gravity))
        for axis in range(3):
            for sign in (1.0, -1.0):
                gravity = sign * size * np.eye(3)[axis]
                if size and np.abs(gravity - robot.gravity).max() > 1e-6 * size:
                    name = f"gravity {'+-'[sign < 0]}{'xyz'[axis]}"
                    others[name] = robot.with_gravity(gravity)
                    views.append(OtherView(name, "gravity"))
        for name, other in (geometries or {}).items():
            others[name] = other.with_gravity(robot.gravity)
            views.append(OtherView(name, "geometry"))
    factors: dict[str, tuple[Model, Regression]] = {"": (model, regression)}

    def look(view: str, gains: Array) -> Evidence:
        if view not in factors:
            turned = replace(model, robot=others[view])
            factors[view] = (turned, compress(turned, motions))
        return evidence(*factors[view], given, gains)

    places = {link: i for i, link in enumerate(robot.links)}
    space = Space(
        Setting(robot, about_origin),
        tolerance,
        frozenset((places[link], kind) for link, kind in settled),
        tuple(views),
    )
    start = look("", np.ones(robot.n))
    return Search(space, np.array(table, dtype=np.float64), look, start.effective)
