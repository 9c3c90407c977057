# Identified parameters of 'small', written by ident on 2025-03-01.
# Result: estimator constrained, sha256 cfb4fecdb94e3c370a3fb9b0585ea8695c5b641f50a92a3a0c1dc42bf86672a7.
# Validation passed: in a test, with offset, which is not in this file.
# Rounded as the standard errors (cluster-by-segment) deserve: no combination of base parameters moves by over 0.1 of its own.
# Units: SI, rad. Frame of a link: the link's axes, its origin on the joint's line (as in a URDF).
# Vector: m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz about that frame's ORIGIN, tensor signs
# (Ixy = -integral of x y dm). ARMATURE: drive inertia, DAMPING: viscous, FRICTION: Coulomb, at the joint.
# pinocchio.rnea counts the armature, not damping and friction: add DAMPING * v + FRICTION * sign(v).
# Not in this file, the controller has to add it: shoulder.offset 0.05, slide.offset -0.4 (offset: constant torque).

import numpy
import pinocchio

GRAVITY = [0.0, 0.0, -9.81]  # m/s^2, in the base frame

JOINTS = [
    # name, kind, index of the parent joint (-1: base), rotation and position at zero, axis
    ('shoulder', 'revolute', -1, [[1.0, 0.0, 0.0], [0.0, 1.1102230246251565e-16, -1.0], [0.0, 1.0, 1.1102230246251565e-16]], [0.0, 0.0, 0.0], [0.0, 1.0, 1.1102230246251565e-16]),
    ('slide', 'prismatic', 0, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0.09999999999999998, 0.4, 4.4408920985006264e-17], [0.0, 0.0, -1.0]),
]

INERTIAS = {
    'arm': [4.0, 0.2, 1.6400000000000001, 0.08000000000000018, 0.7040000000000001, -0.081, 0.05159999999999998, -0.00600000000000001, -0.029800000000000076, 0.7074],
    'hand': [1.5, 0.405, 0.0, -0.15, 0.022999999999999993, 0.0, 0.13335, 0.041, 0.0, 0.11334999999999999],
}

ARMATURE = {'shoulder': 0.1, 'slide': 3.4}
DAMPING = {'shoulder': 0.5, 'slide': 6.0}
FRICTION = {'shoulder': 0.7, 'slide': 8.0}


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
