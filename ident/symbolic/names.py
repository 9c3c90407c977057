"""Names of robots, links and parameters as identifiers that any language takes."""

from __future__ import annotations

import re

from ident.robot.robot import Robot
from ident.spatial.inertia import INERTIAL

_LONGEST = 40


def identifier(text: str, default: str) -> str:
    """Return `text` with all but ASCII letters and digits turned into `_`, `default` in front where it cannot begin so.

    At most 40 characters, never empty.
    """
    safe = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")[:_LONGEST].rstrip("_")
    return safe if safe and not safe[0].isdigit() else f"{default}_{safe}".rstrip("_")


def link_identifiers(robot: Robot) -> tuple[str, ...]:
    """Return one identifier per link; those that would be alike get the link's number behind."""
    safe = [identifier(link, "link") for link in robot.links]
    numbered = [f"{name}_{i + 1}" if safe.count(name) > 1 else name for i, name in enumerate(safe)]
    return tuple(numbered) if len(set(numbered)) == len(numbered) else tuple(f"link{i + 1}" for i in range(robot.n))


def parameter_names(robot: Robot) -> tuple[str, ...]:
    """Return `link2_hx` for `link2.hx` and so on, (10 n) in the order of the standard parameters."""
    return tuple(f"{link}_{part}" for link in link_identifiers(robot) for part in INERTIAL)


def joint_names(letter: str, n: int) -> tuple[str, ...]:
    """Return q1 .. qn, or qd1 .., qdd1 .."""
    return tuple(f"{letter}{i + 1}" for i in range(n))
