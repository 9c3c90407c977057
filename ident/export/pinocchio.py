"""Pinocchio: a Python script with the vectors of `Inertia.FromDynamicParameters` and a model built of them.

Source: Pinocchio, `Inertia::toDynamicParameters`: m, m c (3), Ixx Ixy Iyy Ixz Iyz Izz about the frame's origin; its
RNEA adds armature * a, and neither damping nor dry friction.
"""

from __future__ import annotations

from ident.export.identified import ARMATURE, DAMPING, FRICTION, Identified, Written, on_axis
from ident.export.text import comment, number, numbers

TARGET = "a Pinocchio script"
CONVENTIONS = (
    "Units: SI, rad. Frame of a link: the link's axes, its origin on the joint's line (as in a URDF).",
    "Vector: m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz about that frame's ORIGIN, tensor signs",
    "(Ixy = -integral of x y dm). ARMATURE: drive inertia, DAMPING: viscous, FRICTION: Coulomb, at the joint.",
    "pinocchio.rnea counts the armature, not damping and friction: add DAMPING * v + FRICTION * sign(v).",
)
_ORDER = (0, 1, 2, 3, 4, 5, 7, 6, 8, 9)  # ours -> Pinocchio's

_FUNCTIONS = '''

def build_model():
    """Return the pinocchio.Model of this robot; joints in the order of JOINTS."""
    model = pinocchio.Model()
    model.gravity.linear = numpy.array(GRAVITY)
    ids = []
    for name, kind, parent, rotation, position, axis in JOINTS:
        moving = pinocchio.JointModelRevoluteUnaligned if kind == "revolute" else pinocchio.JointModelPrismaticUnaligned
        place = pinocchio.SE3(numpy.array(rotation), numpy.array(position))
        ids.append(model.addJoint(ids[parent] if parent >= 0 else 0, moving(*axis), place, name))
    apply_to(model)
    return model


def apply_to(model):
    """Put inertias, armature and damping into a model that has joints of these names and link frames.

    Joints that carry more than these links (a tool of the model's own) lose the rest: the vectors replace it.
    """
    for (name, *_), vector in zip(JOINTS, INERTIAS.values()):
        joint = model.getJointId(name)
        if joint >= model.njoints:
            raise ValueError(f"the model has no joint {name!r}")
        model.inertias[joint] = pinocchio.Inertia.FromDynamicParameters(numpy.array(vector))
        row = model.idx_vs[joint]
        model.armature[row] = ARMATURE[name]
        model.damping[row] = DAMPING[name]
'''


def write_pinocchio(item: Identified) -> Written:
    """Return a Python script with the numbers, `build_model()` and `apply_to(model)`; raises ModelError without robot.

    Confirmed by running it: its torques are compared in the tests.
    """
    robot, placements, inertials = on_axis(item, TARGET)
    notes = item.left_out(ARMATURE, DAMPING, FRICTION)
    lines = [*comment((*item.head, *CONVENTIONS, *notes), "#"), "", "import numpy", "import pinocchio", ""]
    lines += [f"GRAVITY = [{numbers(robot.gravity, ', ')}]  # m/s^2, in the base frame", "", "JOINTS = ["]
    lines += ["    # name, kind, index of the parent joint (-1: base), rotation and position at zero, axis"]
    for joint, place in zip(robot.joints, placements, strict=True):
        turn = ", ".join(f"[{numbers(row, ', ')}]" for row in place.rotation)
        lines.append(
            f"    ({joint.name!r}, {joint.kind!r}, {joint.parent}, [{turn}], [{numbers(place.position, ', ')}], "
            f"[{numbers(joint.axis, ', ')}]),"
        )
    lines += ["]", "", "INERTIAS = {"]
    for link, body in zip(robot.links, inertials, strict=True):
        lines.append(f"    {link!r}: [{numbers(body[list(_ORDER)], ', ')}],")
    lines += ["}", ""]
    for name, kind in (("ARMATURE", ARMATURE), ("DAMPING", DAMPING), ("FRICTION", FRICTION)):
        pairs = zip(robot.joint_names, item.values(kind), strict=True)
        lines.append(f"{name} = {{" + ", ".join(f"{joint!r}: {number(v)}" for joint, v in pairs) + "}")
    return Written("\n".join(lines) + "\n" + _FUNCTIONS, notes)
