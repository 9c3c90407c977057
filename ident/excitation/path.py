"""Whether a sampled motion stays clear of a scene, and moves and pauses keep the torque limits, between samples too."""

from __future__ import annotations

import numpy as np

from ident.arrays import Array
from ident.errors import ExcitationError
from ident.excitation.limits import TorqueLimits
from ident.excitation.moves import Moves
from ident.excitation.trajectory import Trajectory
from ident.geometry.distance import clearance_gradient_bound, clearances
from ident.geometry.scene import Scene
from ident.robot.robot import Robot


def require_torque(limits: TorqueLimits, moves: Moves) -> float:
    """Return the greatest share of a torque limit that the motion is proven not to exceed, at most 1.

    The proof is that of `TorqueLimits.guarantees`, piece by piece, as the jerk may jump where two of them meet.
    Raises ExcitationError, naming place, time, joint and torque, where a limit may be exceeded.
    """
    begin, greatest = 0.0, 0.0
    joints = limits.model.robot.joint_names
    for piece in moves.pieces:
        motion = Trajectory(piece, np.stack([piece.start, piece.way], axis=1), joints)
        for found in limits.guarantees(motion):
            greatest = max(greatest, found.reached / found.limit)
            if not found.holds:
                where = f"{piece.name}, which begins {begin:.4g} s after the start"
                most = f"{found.reached:.4g} {found.unit}, wanted at most {found.limit:.4g} {found.unit}"
                fix = "Lower the acceleration or the velocity, or take other postures"
                raise ExcitationError(f"{where}, the {found.what} may reach {most}", fix=fix)
        begin += piece.duration
    return greatest


def holding_torque(limits: TorqueLimits, q: Array) -> Array:
    """Return the torque (N, n) [N m; N] that each joint may need at rest in q (N, n), with friction against it."""
    still = np.zeros_like(q)
    return np.asarray(np.abs(limits.torques((q, still, still))) + limits.coulomb)


def require_clear(scene: Scene, robot: Robot, t: Array, q: Array) -> None:
    """Raise ExcitationError, naming pair and time, unless every clearance is proven to keep its margin.

    t (N,) [s], q (N, n): joints that move one way from sample to sample. A clearance falls by at most its gradient's
    bound times the way of each joint, so between two samples it is at least (c_k + c_k+1 - bound . |dq|) / 2.
    """
    found = clearances(scene, robot, q)
    bound = clearance_gradient_bound(scene, robot, np.stack([q.min(axis=0), q.max(axis=0)], axis=1))
    least = (found[:-1] + found[1:] - np.abs(np.diff(q, axis=0)) @ bound.T) / 2.0
    wanted = scene.margins(robot)
    short = wanted - least
    if short.size and short.max() > 0.0:
        k, m = np.unravel_index(int(np.argmax(short)), short.shape)
        may = f"the clearance of {scene.names(robot)[m]} may be {1e3 * least[k, m]:.3g} mm"
        problem = f"{t[k]:.4g} s after the start {may}, wanted {1e3 * wanted[m]:.3g} mm"
        fix = "Take other postures, a shorter range, or a higher rate where it is the proof that is short"
        raise ExcitationError(problem, fix=fix)
