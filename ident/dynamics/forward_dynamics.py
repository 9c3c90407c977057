"""Joint accelerations from joint torques, in batches."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, checked
from ident.dynamics.rigid_body import batch, wrench_rows
from ident.dynamics.tree import tree
from ident.errors import ModelError
from ident.robot.robot import Robot
from ident.threads import kernel_threads


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
    from ident.dynamics.articulated_body import forward_dynamics_rows

    q, qd, tau = batch(robot, q=q, qd=qd, tau=tau)
    theta = checked(inertials, (robot.n, 10), "inertials", ModelError)
    drive = drive_rows(robot, theta, armature)
    out = np.empty((len(q), robot.n))
    with kernel_threads(len(q)):
        forward_dynamics_rows(tree(robot), theta, drive, q, qd, tau, wrench_rows(robot, wrenches, len(q)), out)
    if not np.isfinite(out).all():
        sample = int(np.argmin(np.isfinite(out).all(axis=1)))
        raise weightless(robot, theta, drive[0], q[sample])
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


def weightless(robot: Robot, inertials: Array, armature: Array, q: Array) -> ModelError:
    """Return the error that names the first joint, from the tips, whose torque meets no inertia at q (n,)."""
    from ident.dynamics.equations_of_motion import mass_matrix

    d = mass_matrix(robot, inertials, q[None])[0] + np.diag(armature)
    for i in range(robot.n - 1, -1, -1):
        carried = list(robot.carried_by(i))
        low = np.linalg.eigvalsh(d[np.ix_(carried, carried)])[0]
        if low <= 1e-12 * np.abs(d).max():
            kind = "has no inertia" if low > -1e-12 * np.abs(d).max() else "has a negative inertia"
            return ModelError(
                f"joint '{robot.joint_names[i]}' of robot '{robot.name}' {kind} to accelerate: its mass matrix is not"
                f" positive definite (eigenvalue {low:.3g})",
                fix="Give its link a mass and a tensor that can exist, or the joint a drive inertia",
            )
    return ModelError(f"the accelerations of robot '{robot.name}' are not finite", fix="Use smaller speeds or torques")
