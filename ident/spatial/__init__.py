"""Rotations, poses and inertial parameters."""

from ident.spatial.inertia import from_com, pseudo_inertia, to_com, transformed
from ident.spatial.pose import Pose

__all__ = ["Pose", "from_com", "pseudo_inertia", "to_com", "transformed"]
