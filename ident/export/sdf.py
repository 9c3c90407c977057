"""SDFormat: a new file from the robot, or the numbers put into an existing one (see `sdf_edit`).

Source: sdformat, sdf/1.7/inertial.sdf ("the origin of the inertial reference frame needs to be at the center of
gravity", a symmetric rotational inertia matrix by ixx ... izz) and joint.sdf (axis/dynamics damping, friction;
limit effort, velocity); pose relative_to.
"""

from __future__ import annotations

import math

from ident.arrays import Array
from ident.errors import InfeasibleError
from ident.export.identified import DAMPING, FRICTION, Identified, Written
from ident.export.script import links
from ident.export.sdf_edit import edited, elements
from ident.export.text import filled, number, numbers, xml_comment
from ident.robot.robot import Joint
from ident.robot.urdf import TENSOR
from ident.robot.urdf_write import com_numbers
from ident.spatial.pose import roll_pitch_yaw

TARGET = "an SDF"
_PLACES = {DAMPING.name: "damping", FRICTION.name: "friction"}
CONVENTIONS = (
    "Units: SI, rad. inertial: pose is the centre of mass in the link's frame; ixx ... izz about that centre, link",
    "axes, entries of the inertia tensor (ixy = -integral of x y dm). dynamics: damping = viscous, friction = Coulomb.",
    "The base's mass is not identified: readers give a link without <inertial> 1 kg.",
)


def write_sdf(item: Identified) -> Written:
    """Return SDF 1.7: the given SDF edited in place, or a new one.

    In a new file a link's frame has the link's axes and its origin on the joint's line; what was fixed to a link is a
    frame, its mass part of the link's. SDF has no drive inertia: a note says so. Raises ModelError without a robot.
    """
    notes = item.left_out(DAMPING, FRICTION)
    comment = xml_comment((*item.head, *CONVENTIONS, *notes))
    damping, friction = item.per_joint(DAMPING), item.per_joint(FRICTION)
    robot = item.geometry(TARGET)
    if item.source is not None:
        return Written(edited(item.source, robot, item.inertials, damping, friction, comment, inertial), notes)
    text = filled(
        "sdf.sdf.j2",
        robot=robot,
        links=links(item, robot, (DAMPING, FRICTION), "on line"),
        comment=comment,
        inertial=inertial,
        elements=elements,
        dynamics=lambda terms: {_PLACES[kind]: number(value) for kind, value in terms.items()},
        limits=_limits,
        rpy=roll_pitch_yaw,
    )
    return Written(text, notes)


def inertial(body: Array) -> str:
    """Return <inertial> of a body (10,), on one line."""
    mass, com, tensor = com_numbers(body)
    if mass <= 0:
        raise InfeasibleError("a link has no mass, and SDF knows no such link. Choose another target, such as urdf.")
    entries = elements(dict(zip(TENSOR, map(number, tensor), strict=True)))
    return (
        f"<inertial>{elements({'pose': f'{numbers(com)} 0 0 0', 'mass': number(mass), 'inertia': entries})}</inertial>"
    )


def _limits(joint: Joint) -> dict[str, str]:
    lower, upper = joint.limits.ends or (-1e16, 1e16)
    values = {"lower": lower, "upper": upper, "effort": joint.limits.effort, "velocity": joint.limits.velocity}
    return {k: number(v) for k, v in values.items() if math.isfinite(v)}
