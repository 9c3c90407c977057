"""Rotations, poses and inertial parameters."""

from ident.spatial.inertia import Pose as Pose
from ident.spatial.inertia import from_com as from_com
from ident.spatial.inertia import pseudo_inertia as pseudo_inertia
from ident.spatial.inertia import to_com as to_com
from ident.spatial.inertia import transformed as transformed
