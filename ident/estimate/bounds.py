"""What is known for sure about masses and centres."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ident.errors import ModelError, nearest
from ident.robot.robot import Robot

Interval = tuple[float, float]


@dataclass(frozen=True)
class Bounds:
    """Bounds that the constrained fit keeps.

    mass: (least, most) [kg] by link; total_mass: (least, most) [kg] of all moving links;
    com: three (least, most) [m] by link, a box in the link frame that contains its centre of mass.
    """

    mass: Mapping[str, Interval] = field(default_factory=dict)
    total_mass: Interval | None = None
    com: Mapping[str, tuple[Interval, Interval, Interval]] = field(default_factory=dict)

    def check(self, robot: Robot) -> None:
        """Raise ModelError for an unknown link or an interval that is empty."""
        for name in (*self.mass, *self.com):
            if name not in robot.links:
                raise ModelError(f"bounds name link '{name}', which the robot has not{nearest(name, robot.links)}")
        intervals = {**{f"mass of {k}": v for k, v in self.mass.items()}}
        intervals |= {
            f"centre of {k}, axis {a}": i for k, box in self.com.items() for a, i in zip("xyz", box, strict=True)
        }
        if self.total_mass is not None:
            intervals["total mass"] = self.total_mass
        for what, (least, most) in intervals.items():
            if not least <= most:
                raise ModelError(f"the bounds on the {what} are empty: {least:g} to {most:g}")
