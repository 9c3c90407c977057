"""Where the named frames of a robot are, and how their points move with the joints, in batches."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, checked
from ident.dynamics.rigid_body import batch
from ident.dynamics.tree import tree
from ident.errors import ModelError, nearest
from ident.robot.robot import Robot
from ident.spatial.pose import Pose
from ident.threads import kernel_threads


def frame_pose(robot: Robot, q: ArrayLike, frame: str) -> tuple[Array, Array]:
    """Return the rotation (N, 3, 3) and position (N, 3) [m] of a frame, seen from the base, at q (N, n).

    `frame` is the name of a link, of a fixed body or of the base. Raises ModelError for an unknown frame and for q that
    does not fit the robot or is not finite. One sample at a time, every frame: `ident.robot.frame_poses`.
    """
    from ident.dynamics.matrix_kernels import frame_rows

    (q,) = batch(robot, q=q)
    link, local = _frame(robot, frame)
    if link < 0:
        return np.tile(local.rotation, (len(q), 1, 1)), np.tile(local.position, (len(q), 1))
    rotation, position = np.empty((len(q), 3, 3)), np.empty((len(q), 3))
    with kernel_threads(len(q)):
        frame_rows(tree(robot), q, link, local.matrix[:3].copy(), rotation, position)
    return rotation, position


def jacobian(robot: Robot, q: ArrayLike, frame: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Return J (N, 6, n) with (velocity of the point, angular velocity of the frame) = J qd, both in base axes.

    q (N, n); `frame` as for frame_pose; point (3,) [m] in the frame's axes. The geometric Jacobian (Spong, Hutchinson,
    Vidyasagar, section 4.6). Raises ModelError for an unknown frame and for arrays that do not fit or are not finite.
    """
    from ident.dynamics.matrix_kernels import jacobian_rows

    (q,) = batch(robot, q=q)
    link, at = _point(robot, frame, point)
    out = np.zeros((len(q), 6, robot.n))
    if link >= 0:
        with kernel_threads(len(q)):
            jacobian_rows(tree(robot), q, link, at, out)
    return out


def jacobian_derivative(
    robot: Robot, q: ArrayLike, qd: ArrayLike, frame: str, point: ArrayLike = (0.0, 0.0, 0.0)
) -> Array:
    """Return dJ/dt (N, 6, n) along the motion q, qd (N, n): the point's acceleration is J qdd + dJ/dt qd.

    Other arguments, units and errors as for jacobian.
    """
    from ident.dynamics.matrix_kernels import jacobian_rate_rows

    q, qd = batch(robot, q=q, qd=qd)
    link, at = _point(robot, frame, point)
    out = np.zeros((len(q), 6, robot.n))
    if link >= 0:
        with kernel_threads(len(q)):
            jacobian_rate_rows(tree(robot), q, qd, link, at, out)
    return out


def _frame(robot: Robot, name: str) -> tuple[int, Pose]:
    """Return the moving link (-1: the base) that carries a frame, and the frame seen from it."""
    frames = {robot.base: (-1, Pose.identity())}
    frames |= {link: (i, Pose.identity()) for i, link in enumerate(robot.links)}
    frames |= {body.name: (body.link, body.pose) for body in robot.fixed}
    if not isinstance(name, str) or name not in frames:
        raise ModelError(
            f"robot '{robot.name}' has no frame {name!r}{nearest(str(name), frames)}",
            key="frame",
            fix=f"Its frames are {', '.join(frames)}",
        )
    return frames[name]


def _point(robot: Robot, frame: str, point: ArrayLike) -> tuple[int, Array]:
    """Return the link that carries a frame and a point (3,) of the frame in the link's axes."""
    link, local = _frame(robot, frame)
    return link, local.rotation @ checked(point, (3,), "point", ModelError) + local.position
