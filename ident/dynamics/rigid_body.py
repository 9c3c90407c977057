"""Rigid bodies in batches: regressor, inverse and forward dynamics, the terms of D qdd + C qd + g = tau, Jacobians.

A robot is given to the compiled kernels as the flat arrays of `tree`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array, checked
from ident.errors import ModelError, nearest
from ident.jit import kernel_threads
from ident.robot.robot import Robot
from ident.spatial.inertia import Pose

Ints = NDArray[np.int64]
Entries = Sequence[tuple[int, int]]


class Tree(NamedTuple):
    """Joint i moves link i. All vectors are in the frame of link i except `position`, in its parent's.

    parent (n,): index of the parent link, -1 for the base.
    rotation (n, 3, 3), position (n, 3): link frame seen from its parent's frame at q = 0.
    turning (n,): 1 for a revolute joint, 0 for a prismatic one.
    angular (n, 3), linear (n, 3): the joint's unit twist, linear taken at the link frame's origin.
    axis (n, 3), point (n, 3): direction of the joint and a point of its line.
    gravity (3,): in the base frame [m/s^2].
    """

    parent: Ints
    rotation: Array
    position: Array
    turning: Ints
    angular: Array
    linear: Array
    axis: Array
    point: Array
    gravity: Array


@lru_cache(maxsize=64)
def tree(robot: Robot) -> Tree:
    """Return the flat arrays of `robot`, made once for each robot; nobody may change them."""
    joints = robot.joints
    turning = np.array([not joint.slides for joint in joints], dtype=np.int64)
    axis = np.array([joint.axis for joint in joints])
    point = np.array([joint.point for joint in joints])
    # A turn about a line through `point` moves the frame's origin at point x axis (per rad/s).
    linear = np.where(turning[:, None] == 1, np.cross(point, axis), axis)
    return Tree(
        parent=np.array(robot.parents, dtype=np.int64),
        rotation=np.array([joint.placement.rotation for joint in joints]),
        position=np.array([joint.placement.position for joint in joints]),
        turning=turning,
        angular=axis * turning[:, None],
        linear=linear,
        axis=axis,
        point=point,
        gravity=np.array(robot.gravity),
    )


def regressor(robot: Robot, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, out: Array | None = None) -> Array:
    """Return Y (N, n, 10 n) with tau = Y @ theta, theta (10 n,) the inertials one after the other, rigid bodies only.

    q, qd, qdd (N, n) [rad, rad/s, rad/s^2; m for prismatic joints]. Parameters are stacked link by link in the order of
    `ident.spatial.inertia.INERTIAL`. `out` (N, n, 10 n), C-contiguous, is filled and returned when given.
    Raises ModelError when shapes do not fit the robot or a number is not finite.
    """
    return wide_regressor(robot, batch(robot, q=q, qd=qd, qdd=qdd), 10 * robot.n, np.empty((0, 0)), (), out)


def wide_regressor(
    robot: Robot, states: tuple[Array, ...], width: int, terms: Array, entries: Entries, out: Array | None
) -> Array:
    """Return Y (N, n, width) of `regressor` with the columns of joint terms beside it.

    states: q, qd, qdd as `batch` returns them; terms (m, N), each added at one of `entries`: (joint, column). Raises
    ModelError for an `out` of another shape.
    """
    n = robot.n
    out = room((len(states[0]), n, width), out)
    joints = width * np.arange(n, dtype=np.int64)
    rigid = joints[:, None, None] + np.arange(10 * n, dtype=np.int64).reshape(n, 10)
    place = [(k, width * j + column) for k, (j, column) in enumerate(entries)]
    packed_regressor(tree(robot), states, rigid, terms, place, out.reshape(len(out), n * width))
    return out


def room(shape: tuple[int, ...], given: Array | None) -> Array:
    """Return the array to fill, a new one where none is given; ModelError for one of another shape or kind."""
    if given is None:
        return np.empty(shape)
    if given.shape != shape or given.dtype != np.float64 or not given.flags.c_contiguous:
        raise ModelError(f"out must be a C-contiguous float64 array of shape {shape}, got {given.dtype} {given.shape}")
    return given


def packed_regressor(
    tree: Tree, states: tuple[Array, ...], rigid: Ints, terms: Array, place: Entries, out: Array
) -> None:
    """Write the regressor of states into the rows of out (N, columns); the rest as of `kernels.regressor_rows`."""
    from ident.dynamics.kernels import regressor_rows

    to = np.array(place, dtype=np.int64).reshape(-1, 2)
    with kernel_threads(len(out)):
        regressor_rows(tree, *states, rigid, np.ascontiguousarray(terms), to, out)


def inverse_dynamics(
    robot: Robot, inertials: ArrayLike, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, wrenches: ArrayLike | None = None
) -> Array:
    """Return tau (N, n) [N m; N for prismatic joints] of rigid bodies with inertials (n, 10).

    q, qd, qdd (N, n). wrenches (N, n, 6) [N, N m]: force, then moment about the link frame's origin, in link axes, that
    its surroundings exert on each link. Recursive Newton-Euler by the regressor's sweep (Luh, Walker, Paul 1980). For
    another gravity see `Robot.with_gravity`. Raises ModelError when a shape does not fit or a number is not finite.
    """
    q, qd, qdd = batch(robot, q=q, qd=qd, qdd=qdd)
    theta = checked(inertials, (robot.n, 10), "inertials", ModelError)
    with kernel_threads(len(q)):
        return newton_euler(tree(robot), theta, q, qd, qdd, wrench_rows(robot, wrenches, len(q)))


def inverse_dynamics_pull_back(
    robot: Robot, inertials: ArrayLike, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, weights: ArrayLike
) -> Array:
    """Return the derivative (3, N, n) of sum(weights * inverse_dynamics) by q, qd, qdd; weights (N, n).

    Raises ModelError when a shape does not fit or a number is not finite.
    """
    from ident.dynamics.kernels import regressor_pull_back_rows

    q, qd, qdd, weights = batch(robot, q=q, qd=qd, qdd=qdd, weights=weights)
    theta = checked(inertials, (robot.n, 10), "inertials", ModelError)
    rows = np.einsum("sj,k->sjk", weights, theta.ravel()).reshape(len(q), -1)
    out = np.empty((len(q), 3 * robot.n))
    with kernel_threads(len(q)):
        columns = np.arange(10 * robot.n**2, dtype=np.int64).reshape(robot.n, robot.n, 10)
        regressor_pull_back_rows(tree(robot), q, qd, qdd, columns, checked(rows, rows.shape, "weights"), out)
    return np.ascontiguousarray(out.reshape(len(q), 3, robot.n).transpose(1, 0, 2))


def wrench_rows(robot: Robot, wrenches: ArrayLike | None, samples: int) -> Array | None:
    """Return wrenches as checked rows (N, 6 n), None when there are none; ModelError when they do not fit."""
    if wrenches is None:
        return None
    return checked(wrenches, (samples, robot.n, 6), "wrenches", ModelError).reshape(samples, 6 * robot.n)


def newton_euler(arm: Tree, inertials: Array, q: Array, qd: Array, qdd: Array, wrenches: Array | None = None) -> Array:
    """Return the torques (N, n) of C-contiguous q, qd, qdd (N, n) that nobody checks; wrenches (N, 6 n)."""
    from ident.dynamics.kernels import inverse_dynamics_rows

    out = np.empty(q.shape)
    inverse_dynamics_rows(arm, inertials, *_read_only(q, qd, qdd, wrenches), out)
    return out


def articulated(
    arm: Tree, inertials: Array, drive: Array, q: Array, qd: Array, tau: Array, wrenches: Array | None = None
) -> Array:
    """Return the accelerations (N, n) of C-contiguous q, qd, tau (N, n) that nobody checks; wrenches (N, 6 n).

    drive: as `drive_rows` returns it; NaN or infinite where a joint moves nothing.
    """
    from ident.dynamics.articulated_body import forward_dynamics_rows

    out = np.empty(q.shape)
    forward_dynamics_rows(arm, inertials, drive, *_read_only(q, qd, tau, wrenches), out)
    return out


def _read_only(q: Array, *others: Array | None) -> list[Array]:
    """Return arrays as the type that the kernels are compiled for, (0, 6 n) for no wrenches."""
    views = [np.empty((0, 6 * q.shape[1])) if x is None else x.view() for x in (q, *others)]
    for view in views:
        view.setflags(write=False)
    return views


def batch(robot: Robot, **states: ArrayLike) -> tuple[Array, ...]:
    """Return q, qd and the like, given by name, as checked (N, n) arrays of equal length.

    Raises ModelError naming the array that does not fit.
    """
    arrays = tuple(checked(x, (None, robot.n), name, ModelError) for name, x in states.items())
    if len({len(x) for x in arrays}) > 1:
        *first, last = states
        names = f"{', '.join(first)} and {last}"
        raise ModelError(f"{names} must be equally long, got {[len(x) for x in arrays]} samples")
    return arrays


def mass_matrix(robot: Robot, inertials: ArrayLike, q: ArrayLike) -> Array:
    """Return D (N, n, n) of rigid bodies with inertials (n, 10), the kinetic energy being qd^T D qd / 2.

    q (N, n) [rad; m for prismatic joints]. Entries in kg m^2, kg m or kg by the kinds of the two joints. By composite
    rigid bodies (Walker, Orin, J. Dyn. Sys. Meas. Control 104 (1982), method 3). Symmetric to the bit. Raises
    ModelError when shapes do not fit the robot or a number is not finite.
    """
    (q,) = batch(robot, q=q)
    theta = checked(inertials, (robot.n, 10), "inertials", ModelError)
    return accelerated(tree(robot), theta, q)


def accelerated(arm: Tree, inertials: Array, q: Array) -> Array:
    """Return D (N, n, n) of checked inertials (n, 10) and C-contiguous q (N, n)."""
    from ident.dynamics.place_kernels import mass_matrix_rows

    samples, n = q.shape
    out = np.zeros((samples, n * n))
    with kernel_threads(samples):
        mass_matrix_rows(arm, inertials, *_read_only(q), out)
    return out.reshape(samples, n, n)


def _weightless(arm: Tree, inertials: Array, q: Array, qd: Array, qdd: Array) -> Array:
    """Return the torques (N, m, n) of m motions qd, qdd, (m, n) or (N, m, n), at each of q (N, n), without gravity."""
    shape = np.broadcast_shapes(q[:, None].shape, qd.shape, qdd.shape)
    rows = [np.ascontiguousarray(np.broadcast_to(x, shape)).reshape(-1, shape[-1]) for x in (q[:, None], qd, qdd)]
    with kernel_threads(len(rows[0])):
        return newton_euler(arm._replace(gravity=np.zeros(3)), inertials, *rows).reshape(shape)


def coriolis_matrix(robot: Robot, inertials: ArrayLike, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return C (N, n, n) with c_kj = sum_i c_ijk qd_i, so that the torque of velocities is C qd and D' - 2 C is skew.

    inertials (n, 10); q, qd (N, n) [rad, rad/s; m, m/s for prismatic joints]. The torque h of velocities is a quadratic
    form, and column j is its bilinear one at qd and a unit speed of joint j: (h(qd + s e_j) - h(qd - s e_j)) / 4 s.
    Raises ModelError when shapes do not fit the robot or a number is not finite.
    """
    q, qd = batch(robot, q=q, qd=qd)
    theta, n = checked(inertials, (robot.n, 10), "inertials", ModelError), robot.n
    size = np.abs(qd).max(axis=1, keepdims=True)
    size = np.where(size > 0.0, size, 1.0)[:, :, None]
    ahead, behind = (
        _weightless(tree(robot), theta, q, qd[:, None] + way * size * np.eye(n), np.zeros((1, n)))
        for way in (1.0, -1.0)
    )
    return np.asarray(((ahead - behind) / (4.0 * size)).mT)


def christoffel(robot: Robot, inertials: ArrayLike, q: ArrayLike) -> Array:
    """Return the Christoffel symbols of the first kind (N, n, n, n), [s, i, j, k] = c_ijk.

    c_ijk = (d d_kj/dq_i + d d_ki/dq_j - d d_ij/dq_k) / 2 (Spong, Hutchinson, Vidyasagar, Robot Modeling and Control,
    section 7.2), exactly and not by differences of positions: from the torques of unit speeds of joints i and j, in one
    and in opposite ways. c_ijk = c_jik to the bit. Then d d_kj/dq_i = c_ijk + c_ikj.
    Raises ModelError when shapes do not fit the robot or a number is not finite.
    """
    (q,) = batch(robot, q=q)
    theta, n = checked(inertials, (robot.n, 10), "inertials", ModelError), robot.n
    i, j = np.triu_indices(n)
    ahead, behind = (
        _weightless(tree(robot), theta, q, np.eye(n)[i] + way * np.eye(n)[j], np.zeros((1, n))) for way in (1.0, -1.0)
    )
    out = np.empty((len(q), n, n, n))
    out[:, i, j] = out[:, j, i] = 0.25 * (ahead - behind)
    return out


def gravity_load(robot: Robot, inertials: ArrayLike, q: ArrayLike) -> Array:
    """Return g (N, n) [N m; N for prismatic joints]: the torques that hold the robot still at q (N, n).

    inertials (n, 10). g = dP/dq of the potential energy P. Raises ModelError as inverse_dynamics does.
    """
    (q,) = batch(robot, q=q)
    still = np.zeros_like(q)
    return inverse_dynamics(robot, inertials, q, still, still)


def bias(robot: Robot, inertials: ArrayLike, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return C qd + g (N, n) [N m; N]: the torques of the motion q, qd (N, n) without acceleration.

    inertials (n, 10). Raises ModelError as inverse_dynamics does.
    """
    q, qd = batch(robot, q=q, qd=qd)
    return inverse_dynamics(robot, inertials, q, qd, np.zeros_like(q))


def kinetic_energy(robot: Robot, inertials: ArrayLike, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return K (N,) [J] of the moving links with inertials (n, 10) at q, qd (N, n); K = qd^T D qd / 2.

    Raises ModelError when shapes do not fit the robot or a number is not finite.
    """
    q, qd = batch(robot, q=q, qd=qd)
    momenta = (mass_matrix(robot, inertials, q) * qd[:, None]).sum(axis=2)
    return np.asarray(0.5 * (qd * momenta).sum(axis=1))


def potential_energy(robot: Robot, inertials: ArrayLike, q: ArrayLike) -> Array:
    """Return P (N,) [J] in the field of gravity, P = -sum_l gravity . (m p + R h), zero at the base's origin.

    inertials (n, 10); q (N, n); p and R are the link's frame seen from the base. Bodies fixed to the base
    do not count.
    Raises ModelError when shapes do not fit the robot or a number is not finite.
    """
    (q,) = batch(robot, q=q)
    bodies = checked(inertials, (robot.n, 10), "inertials", ModelError)
    moments = (places(tree(robot), q)[0] * bodies[:, None, [1, 2, 3, 0]]).sum(axis=(1, 3))  # m p + R h of all links
    return np.asarray(-(moments * robot.gravity).sum(axis=1))


def places(arm: Tree, q: Array) -> tuple[Array, Array]:
    """Return the links' frames (N, n, 3, 4) seen from the base at q (N, n), and the joints' twists (N, n, 6).

    A twist is the angular velocity, then the linear velocity of the point passing the base's origin, per unit of qd.
    """
    from ident.dynamics.place_kernels import place_rows

    samples, n = q.shape
    pose, twist = np.empty((samples, 12 * n)), np.empty((samples, 6 * n))
    with kernel_threads(samples):
        place_rows(arm, q, pose, twist)
    return pose.reshape(samples, n, 3, 4), twist.reshape(samples, n, 6)


def forward_dynamics(
    robot: Robot,
    inertials: ArrayLike,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    wrenches: ArrayLike | None = None,
    armature: ArrayLike | None = None,
) -> Array:
    """Return qdd (N, n) [rad/s^2; m/s^2] of rigid bodies with inertials (n, 10) under torques tau (N, n) [N m; N].

    q, qd (N, n). wrenches (N, n, 6): as in `inverse_dynamics`. armature (n,) [kg m^2; kg]: drive inertia of each joint.
    Articulated bodies, O(n) (Featherstone 2008, table 7.1). Raises ModelError when a shape does not fit, a number is
    not finite, or the torque of some joint moves nothing (no mass or drive inertia to accelerate), naming the joint.
    """
    q, qd, tau = batch(robot, q=q, qd=qd, tau=tau)
    theta = checked(inertials, (robot.n, 10), "inertials", ModelError)
    drive = drive_rows(robot, theta, armature)
    with kernel_threads(len(q)):
        out = articulated(tree(robot), theta, drive, q, qd, tau, wrench_rows(robot, wrenches, len(q)))
    if not np.isfinite(out).all():
        sample = int(np.argmin(np.isfinite(out).all(axis=1)))
        D = mass_matrix(robot, theta, q[sample][None])[0] + np.diag(drive[0])
        if weakest(D)[2]:
            raise ModelError(singular(robot, D), fix=NO_INERTIA)
        problem = f"the accelerations of robot '{robot.name}' are not finite"
        raise ModelError(problem, fix="Use smaller speeds or torques")
    return out


def drive_rows(robot: Robot, inertials: Array, armature: ArrayLike | None) -> Array:
    """Return (2, n): drive inertia, and the inertia [kg m^2; kg] below which rounding decides what a joint moves."""
    own = checked(np.zeros(robot.n) if armature is None else armature, (robot.n,), "armature", ModelError)
    least = np.zeros(robot.n)
    reach = sum(float(np.abs(joint.placement.position).sum()) for joint in robot.joints)
    size = np.abs(inertials[:, [4, 7, 9]]).sum(axis=1) + 2 * np.abs(inertials[:, 1:4]).sum(axis=1) * reach
    turning = size + np.abs(inertials[:, 0]) * reach**2
    for i, joint in enumerate(robot.joints):
        carried = list(robot.carried_by(i))
        least[i] = 1e-13 * (turning if not joint.slides else np.abs(inertials[:, 0]))[carried].sum()
    return checked(np.array([own, least]), (2, robot.n), "armature", ModelError)


#: A pivot of the mass matrix below this share of its largest diagonal entry counts as no inertia.
NOTHING = 1e-13
#: What to do about a singular mass matrix.
NO_INERTIA = "Give the link mass and inertia, or the joint drive inertia"


def singular(robot: Robot, D: Array) -> str:
    """Return in words which joint makes a mass matrix (n, n) singular or indefinite."""
    j, pivot, _ = weakest(D)
    joint, link = robot.joints[j], robot.links[j]
    unit = joint.unit("inertia")
    if pivot < -NOTHING * np.diag(D).max():
        return f"the mass matrix is not positive: joint '{joint.name}' moves an inertia of {pivot:.3g} {unit}"
    return f"the mass matrix is singular: joint '{joint.name}' moves nothing that has inertia (link '{link}' and on)"


def weakest(D: Array) -> tuple[int, float, bool]:
    """Return the first joint, from the tips, that moves nothing (else the one that moves least), its pivot, and which.

    With D = L^T L from the tips to the base, the pivot of joint j is the inertia that it feels when all joints after it
    are free (Featherstone 2008, section 6.3).
    """
    left, least = D.copy(), NOTHING * np.diag(D).max()
    pivots = np.empty(len(D))
    for j in range(len(D) - 1, -1, -1):
        pivots[j] = left[j, j]
        if not pivots[j] > least:
            return j, float(pivots[j]), True
        left[:j, :j] -= np.outer(left[:j, j], left[j, :j]) / pivots[j]
    j = int(np.argmin(pivots / np.diag(D)))
    return j, float(pivots[j]), False


def frame_pose(robot: Robot, q: ArrayLike, frame: str) -> tuple[Array, Array]:
    """Return the rotation (N, 3, 3) and position (N, 3) [m] of a frame, seen from the base, at q (N, n).

    `frame` is the name of a link, of a fixed body or of the base. Raises ModelError for an unknown frame and for q that
    does not fit the robot or is not finite. One sample at a time, every frame: `ident.robot.frame_poses`.
    """
    (q,) = batch(robot, q=q)
    link, local = _frame(robot, frame)
    if link < 0:
        return np.tile(local.rotation, (len(q), 1, 1)), np.tile(local.position, (len(q), 1))
    pose = places(tree(robot), q)[0][:, link]
    return pose[..., :3] @ local.rotation, pose[..., :3] @ local.position + pose[..., 3]


def jacobian(robot: Robot, q: ArrayLike, frame: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Return J (N, 6, n) with (velocity of the point, angular velocity of the frame) = J qd, both in base axes.

    q (N, n); `frame` as for frame_pose; point (3,) [m] in the frame's axes. The geometric Jacobian (Spong, Hutchinson,
    Vidyasagar, section 4.6). Raises ModelError for an unknown frame and for arrays that do not fit or are not finite.
    """
    from ident.dynamics.place_kernels import jacobian_rows

    (q,) = batch(robot, q=q)
    link, local = _frame(robot, frame)
    at = local.rotation @ checked(point, (3,), "point", ModelError) + local.position
    out = np.zeros((len(q), 6 * robot.n))
    if link >= 0:
        with kernel_threads(len(q)):
            jacobian_rows(tree(robot), q, link, at, out)
    return out.reshape(len(q), 6, robot.n)


def _frame(robot: Robot, name: str) -> tuple[int, Pose]:
    """Return the moving link (-1: the base) that carries a frame, and the frame seen from it."""
    frames = robot.frames
    if not isinstance(name, str) or name not in frames:
        problem = f"robot '{robot.name}' has no frame {name!r}{nearest(str(name), frames)}"
        raise ModelError(problem, key="frame", fix=f"Its frames are {', '.join(frames)}")
    return frames[name]
