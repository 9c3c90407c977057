"""MuJoCo's MJCF: a new file from the robot, or the numbers put into an existing one, which is read as untrusted data.

Source: MuJoCo XML reference: body/inertial (pos, mass, fullinertia = M11 M22 M33 M12 M13 M23 about pos, positive
definite and A + B >= C), joint (armature, damping, frictionloss, pos, axis, ref), compiler (angle, eulerseq,
inertiafromgeom, balanceinertia ...), default classes and childclass, frame, body, orientation attributes.
"""

from __future__ import annotations

import numpy as np

from ident.arrays import Array
from ident.errors import InfeasibleError
from ident.export.existing import commented, own_bodies
from ident.export.identified import ARMATURE, DAMPING, FRICTION, SPRING, Identified, Source, Written
from ident.export.text import beside_world, filled, links, number, numbers, placed, xml_comment
from ident.robot.mjcf import Mjcf
from ident.robot.robot import GRAVITY, Joint, Robot
from ident.robot.urdf_write import com_numbers
from ident.robot.xml import Edit, attribute_edit, exchanged, first_child_edit, parse_xml
from ident.spatial.inertia import symmetric

TARGET = "an MJCF"
CONVENTIONS = (
    "Units: SI, rad. inertial: pos is the centre of mass in the body's frame; fullinertia = Ixx Iyy Izz Ixy Ixz Iyz",
    "about that centre in the body's axes, entries of the inertia tensor (Ixy = -integral of x y dm).",
    "joint: armature = drive inertia, damping = viscous, frictionloss = Coulomb friction, stiffness and springref =",
    "spring and its rest, all at the joint.",
)
_LEAST = 1e-15  # mjMINVAL: MuJoCo refuses moving bodies of less


def write_mjcf(item: Identified) -> Written:
    """Return MJCF: the given MJCF edited in place, or a new one.

    In a new file the bodies' frames are the robot's link frames, what was fixed to a link is a site in it (its mass
    is part of the link's), and the base is a body without mass. Raises ModelError without a robot,
    InfeasibleError for a link without mass or inertia, which MuJoCo does not load.
    """
    robot = item.geometry(TARGET)
    head, notes = item.about(*PLACES.values())
    if item.source is not None:
        if not np.array_equal(robot.gravity, GRAVITY):
            notes += (f"The file's own gravity is kept; the fit's was {numbers(robot.gravity)} m/s^2 in the base.",)
        comment = xml_comment((*head, *CONVENTIONS, *notes))
        return edited(item.source, item, robot, comment), notes
    robot, called = beside_world(robot, TARGET)
    notes += called
    bodies = {
        link: full_inertia(body, f"link '{link}'") for link, body in zip(robot.links, item.inertials, strict=True)
    }
    text = filled(
        "mjcf.xml.j2",
        robot=robot,
        links=links(item, robot, tuple(PLACES.values())),
        inertials=bodies,
        attributes=lambda link: placed(item, link.joint.name, PLACES, "springref"),
        limits=_limits,
        comment=xml_comment((*head, *CONVENTIONS, *notes)),
    )
    return text, notes


def full_inertia(body: Array, whose: str) -> str:
    """Return <inertial .../> of a body (10,); raises InfeasibleError for one that MuJoCo does not load."""
    mass, com, about_com = com_numbers(body)
    moments = np.linalg.eigvalsh(symmetric(about_com))
    if mass < _LEAST or moments[0] < _LEAST:
        raise InfeasibleError(
            f"{whose} has {mass:.3g} kg and a smallest moment of {moments[0]:.3g} kg m^2, and MuJoCo moves no body "
            "without mass and inertia. Give its prior a small body, or choose another target."
        )
    # MuJoCo diagonalises in floating point and then wants A + B >= C: stay off the edge by more than its rounding
    xx, xy, xz, yy, yz, zz = about_com
    gap, room = moments[0] + moments[1] - moments[2], 1e-11 * moments[2]
    grow = max(0.0, room - gap)
    return (
        f'<inertial pos="{numbers(com)}" mass="{number(mass)}" '
        f'fullinertia="{numbers([xx + grow, yy + grow, zz + grow, xy, xz, yz])}"/>'
    )


def _limits(joint: Joint) -> str:
    text, ends, effort = "", joint.limits.ends, joint.limits.effort
    if ends is not None and ends[0] < ends[1]:
        text += f' range="{numbers(ends)}"'
    if np.isfinite(effort) and effort > 0:
        text += f' actuatorfrcrange="{numbers([-effort, effort])}"'
    return text


# ---- an existing file ------------------------------------------------------------------------------------------

#: Attributes of a joint, with the joint terms that they are.
PLACES = {"armature": ARMATURE, "damping": DAMPING, "frictionloss": FRICTION, "stiffness": SPRING}


def edited(source: Source, item: Identified, robot: Robot, comment: str) -> bytes:
    """Return the bytes of the MJCF with the robot's numbers, every other byte kept, and `comment` before the root.

    A joint without one of the joint parameters (`PLACES`) keeps what the file says. Raises RobotError for a file that
    is no MJCF, has parts that are not understood (include, replicate, attach), would change the numbers (compiler
    settings), or describes another robot; what `own_bodies` raises.
    """
    root = parse_xml(source.data, file=source.name, wanted="mujoco")
    found = Mjcf(source.name, root)
    own = own_bodies(robot, item.inertials, found.bodies, found.joints, source.name)
    edits: list[Edit] = [commented(source.data, root, comment)]
    for link, body in zip(robot.links, own, strict=True):
        element, text = found.elements[link], full_inertia(body, f"link '{link}'")
        if old := element.all("inertial"):
            edits.append((old[0].start, old[0].end, text.encode()))
            continue
        line = source.data[: element.start].rpartition(b"\n")[2].decode()
        indent = line if not line.strip() else ""
        edits.append(first_child_edit(element, text if element.empty else f"\n{indent}  {text}"))
    for joint in robot.joints:
        unit = 180.0 / np.pi if found.degrees and not joint.slides else 1.0
        for attribute, value in placed(item, joint.name, PLACES, "springref", unit).items():
            edits.append(attribute_edit(found.movers[joint.name], attribute, value))
    return exchanged(source.data, edits)
