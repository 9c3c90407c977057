"""Robots and the readers and writers of their descriptions."""

from ident.robot.file import DHJoint as DHJoint
from ident.robot.file import MDHJoint as MDHJoint
from ident.robot.file import from_dh as from_dh
from ident.robot.file import from_mdh as from_mdh
from ident.robot.file import read_robot as read_robot
from ident.robot.robot import FixedBody as FixedBody
from ident.robot.robot import Joint as Joint
from ident.robot.robot import Limits as Limits
from ident.robot.robot import Robot as Robot
from ident.robot.robot import Transmission as Transmission
from ident.robot.robot import frame_poses as frame_poses
from ident.robot.urdf import read_joint_dynamics as read_joint_dynamics
from ident.robot.urdf import read_urdf as read_urdf
from ident.robot.urdf_write import write_urdf as write_urdf
