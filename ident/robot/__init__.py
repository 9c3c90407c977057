"""Robots and the readers and writers of their descriptions."""

from ident.robot.file import DHJoint, MDHJoint, from_dh, from_mdh, read_robot
from ident.robot.robot import FixedBody, Joint, Limits, Robot, Transmission, frame_poses
from ident.robot.urdf import read_joint_dynamics, read_urdf
from ident.robot.urdf_write import write_urdf

__all__ = [
    "DHJoint",
    "FixedBody",
    "Joint",
    "Limits",
    "MDHJoint",
    "Robot",
    "Transmission",
    "frame_poses",
    "from_dh",
    "from_mdh",
    "read_joint_dynamics",
    "read_robot",
    "read_urdf",
    "write_urdf",
]
