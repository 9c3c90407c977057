"""Whether the links of a result can be believed: against CAD, or else against the robot's own size.

A body that can exist may still be one that no robot has: the logs know combinations only, and where they leave open how
these are shared out, 1,201 kg for a robot of 16 kg fit them as well as the truth.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ident.arrays import Array
from ident.estimate.prior import Prior, neutral_inertials
from ident.robot.robot import Robot
from ident.spatial.inertia import to_com

#: A mass or radius of gyration so many times less or more than CAD's is implausible.
FROM_CAD = (5.0, 5.0)
#: The same against a neutral body, which knows the robot's size and torques alone: small links are often hollow.
FROM_NEUTRAL = (50.0, 30.0)


def implausible(robot: Robot, inertials: Array, prior: Prior, known: Collection[str] = ()) -> tuple[str, ...]:
    """Return a sentence for each link of inertials (n, 10) whose mass, spread or centre no such link has.

    Each body is compared with the prior's: its mass, and its least and largest radius of gyration about its centre.
    Against CAD the centre may move by so many of CAD's largest radii; without, it stays within the robot's reach.
    known: names of masses that the logs determine by themselves; they are believed.
    """
    found = []
    for i, link in enumerate(robot.links):
        m, c, k = _shape(inertials[i])
        neutral, own = prior.neutral[i], neutral_inertials(robot)[i]
        usual, centre, radii = _shape(own if neutral else prior.inertials[i])
        size = max(radii[-1], _shape(own)[2][-1])
        against, (less, more) = ("a neutral body's", FROM_NEUTRAL) if neutral else ("CAD's", FROM_CAD)
        room = robot.reach if neutral and robot.reach else more * size
        if not usual / less <= m <= usual * more and f"{link}.m" not in known:
            found.append(f"{link}: mass {m:.4g} kg, {against} {usual:.4g} kg")
        elif k[0] < radii[0] / less:
            found.append(f"{link}: least radius of gyration {k[0]:.2g} m, {against} {radii[0]:.2g} m")
        elif k[-1] > more * size:
            found.append(f"{link}: largest radius of gyration {k[-1]:.2g} m, {against} {radii[-1]:.2g} m")
        elif np.linalg.norm(c - centre) > room:
            found.append(f"{link}: centre of mass {np.linalg.norm(c - centre):.2g} m from {against}")
    return tuple(found)


def _shape(body: Array) -> tuple[float, Array, Array]:
    """Return mass, centre (3,) and the principal radii of gyration about it (3,), ascending."""
    mass, centre, inertia = to_com(body)
    return mass, centre, np.sqrt(np.maximum(np.linalg.eigvalsh(inertia), 0.0) / (mass or 1.0))
