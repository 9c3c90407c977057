"""MuJoCo's MJCF: a new file from the robot, or the numbers put into an existing one (see `mjcf_edit`).

Source: MuJoCo XML reference (body/inertial: pos, mass, fullinertia = M11 M22 M33 M12 M13 M23 about pos, positive
definite and A + B >= C; joint: armature, damping, frictionloss).
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

import numpy as np

from ident.arrays import Array
from ident.errors import InfeasibleError
from ident.export.identified import Identified, Written
from ident.export.mjcf_edit import PLACES, edited
from ident.export.text import number, numbers, xml_comment
from ident.robot.robot import GRAVITY, Robot
from ident.robot.urdf_write import com_numbers
from ident.spatial.inertia import quaternion
from ident.spatial.pose import Pose

TARGET = "an MJCF"
CONVENTIONS = (
    "Units: SI, rad. inertial: pos is the centre of mass in the body's frame; fullinertia = Ixx Iyy Izz Ixy Ixz Iyz",
    "about that centre in the body's axes, entries of the inertia tensor (Ixy = -integral of x y dm).",
    "joint: armature = drive inertia, damping = viscous, frictionloss = Coulomb friction, all at the joint.",
)
_LEAST = 1e-15  # mjMINVAL: MuJoCo refuses moving bodies of less


def write_mjcf(item: Identified) -> Written:
    """Return MJCF: the given MJCF edited in place, or a new one.

    In a new file the bodies' frames are the robot's link frames, what was fixed to a link is a site in it (its mass
    is part of the link's), and the base is a body without mass. Raises ModelError without a robot,
    InfeasibleError for a link without mass or inertia, which MuJoCo does not load.
    """
    robot = item.geometry(TARGET)
    notes = item.left_out(*PLACES.values())
    if item.source is not None and not np.array_equal(robot.gravity, GRAVITY):
        notes = (*notes, f"The file's own gravity is kept; the fit's was {numbers(robot.gravity)} m/s^2 in the base.")
    comment = xml_comment((*item.head, *CONVENTIONS, *notes))
    values = {attribute: item.per_joint(kind) for attribute, kind in PLACES.items()}
    inertials = [full_inertia(body, f"link '{link}'") for body, link in zip(item.inertials, robot.links, strict=True)]
    if item.source is not None:
        return Written(edited(item.source, robot, item.inertials, values, comment, full_inertia), notes)
    limited = _limits(robot)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        comment,
        f"<mujoco model={quoteattr(robot.name)}>",
        '  <compiler angle="radian" autolimits="true"/>',
        f'  <option gravity="{numbers(robot.gravity)}"/>',
        "  <worldbody>",
        f"    <body name={quoteattr(robot.base)}>",
        *_sites(robot, -1, "      "),
    ]

    def element(i: int, indent: str) -> list[str]:
        joint = robot.joints[i]
        kind = "hinge" if not joint.slides else "slide"
        own = [f' {name}="{number(x[joint.name])}"' for name, x in values.items() if joint.name in x]
        inside = [line for k in range(robot.n) if robot.joints[k].parent == i for line in element(k, indent + "  ")]
        return [
            f"{indent}<body name={quoteattr(robot.links[i])} {placed(joint.placement)}>",
            f"{indent}  {inertials[i]}",
            f'{indent}  <joint name={quoteattr(joint.name)} type="{kind}" axis="{numbers(joint.axis)}" '
            f'pos="{numbers(joint.point)}"{limited[i]}{"".join(own)}/>',
            *_sites(robot, i, indent + "  "),
            *inside,
            f"{indent}</body>",
        ]

    for i, joint in enumerate(robot.joints):
        if joint.parent < 0:
            lines += element(i, "      ")
    lines += ["    </body>", "  </worldbody>", "</mujoco>"]
    return Written("\n".join(lines) + "\n", notes)


def full_inertia(body: Array, whose: str) -> str:
    """Return <inertial .../> of a body (10,); raises InfeasibleError for one that MuJoCo does not load."""
    mass, com, (xx, xy, xz, yy, yz, zz) = com_numbers(body)
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    moments = np.linalg.eigvalsh(tensor)
    if mass < _LEAST or moments[0] < _LEAST:
        raise InfeasibleError(
            f"{whose} has {mass:.3g} kg and a smallest moment of {moments[0]:.3g} kg m^2, and MuJoCo moves no body "
            "without mass and inertia. Give its prior a small body, or choose another target."
        )
    # MuJoCo diagonalises in floating point and then wants A + B >= C: stay off the edge by more than its rounding
    gap, room = moments[0] + moments[1] - moments[2], 1e-11 * moments[2]
    grow = max(0.0, room - gap)
    return (
        f'<inertial pos="{numbers(com)}" mass="{number(mass)}" '
        f'fullinertia="{numbers([xx + grow, yy + grow, zz + grow, xy, xz, yz])}"/>'
    )


def placed(pose: Pose) -> str:
    """Return MJCF's pos and quat of a pose."""
    return f'pos="{numbers(pose.position)}" quat="{numbers(quaternion(pose.rotation))}"'


def _sites(robot: Robot, link: int, indent: str) -> list[str]:
    return [f"{indent}<site name={quoteattr(b.name)} {placed(b.pose)}/>" for b in robot.fixed if b.link == link]


def _limits(robot: Robot) -> Sequence[str]:
    found = []
    for joint in robot.joints:
        limits = joint.limits
        text = ""
        if np.isfinite([limits.lower, limits.upper]).all() and limits.lower < limits.upper:
            text += f' range="{numbers([limits.lower, limits.upper])}"'
        if np.isfinite(limits.effort) and limits.effort > 0:
            text += f' actuatorfrcrange="{numbers([-limits.effort, limits.effort])}"'
        found.append(text)
    return found
