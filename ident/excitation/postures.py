"""Static postures that show gravity, where neither velocity nor acceleration disturbs."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.arrays import Array, frozen
from ident.errors import ExcitationError
from ident.excitation.basis import count, positive
from ident.excitation.moves import (
    Moves,
    nonnegative,
    pause,
    peaks,
    position_range,
    require_inside,
    rest_to_rest,
    sampled,
)
from ident.model.model import Model, regressor
from ident.robot.robot import Robot

_SCARCE = 1e-8  # information on what the postures so far have not shown, relative to what all candidates show


def static_postures(
    model: Model,
    number: int,
    *,
    noise: ArrayLike | None = None,
    margin: float = 0.0,
    candidates: int = 2000,
    seed: int = 0,
    allowed: Callable[[Array], NDArray[np.bool_]] | None = None,
) -> Array:
    """Return `number` postures (number, n) [rad; m] whose holding torques tell most about gravity's parameters.

    Among random candidates within the joint limits, the next posture is the one that raises log det(Y^T Y) of the
    regressor at qd = qdd = 0 most (greedy D-optimal design); what no candidate shows is left out first. They come in an
    order that keeps moves short, each move counted by the joint that needs the largest share of its range.
    `posture_tour` makes a motion of them. The moves between them are not checked for collisions.

    noise (n,): standard deviation of each joint's torque [N m; N], alike when None; margin [rad; m]: distance kept from
    each position limit; allowed(q (N, n)) -> (N,): which postures may be taken, such as those free of collision.
    Raises ExcitationError when a joint has no position limits, the margin leaves it no range, fewer than `number`
    candidates are allowed, or gravity acts on no joint.
    """
    robot = model.robot
    number = count(number, "the number of postures", 1, 1000)
    seed = count(seed, "the seed", 0, 2**63)
    candidates = count(candidates, "the number of candidates", number, 100_000)
    lower, upper = position_range(robot, margin)
    q = np.random.default_rng(seed).uniform(lower, upper, (candidates, robot.n))
    if allowed is not None:
        free = np.asarray(allowed(q), dtype=bool)
        if free.shape != (len(q),):
            raise ExcitationError(f"`allowed` must give one answer for each of {len(q)} postures, gave {free.shape}")
        q = q[free]
        if len(q) < number:
            raise ExcitationError(
                f"only {len(q)} of {candidates} random postures are allowed, wanted {number}",
                fix="Try more candidates, or see which obstacle is in the way",
            )
    Y = regressor(model, q, np.zeros_like(q), np.zeros_like(q))
    if noise is not None:
        weights = frozen(noise, (robot.n,), "the torque noise", ExcitationError)
        if (weights <= 0).any():
            raise ExcitationError("the torque noise must be positive for each joint")
        Y = Y / weights[:, None]
    chosen = _greedy(_shown(Y), number)
    return _in_short_moves(q[chosen], upper - lower)


def posture_tour(
    robot: Robot,
    postures: ArrayLike,
    rate_hz: float,
    *,
    hold: float = 1.0,
    velocity: float | None = None,
    acceleration: float | None = None,
) -> Moves:
    """Return the motion that goes from posture to posture (m, n) [rad; m] and rests `hold` seconds at each.

    Each move is straight in joint space, a quintic in time, as quick as the limits of velocity, acceleration and jerk
    of all joints allow, lowered to `velocity`, `acceleration` where given. Sampled at k / rate_hz; the rows at rest are
    those with `resting`. Nothing but those limits is checked: see `require_torque` and `require_clear`.
    Raises ExcitationError when a posture is outside the position limits or a limit is zero or missing.
    """
    rate, hold = positive(rate_hz, "the sampling rate [Hz]"), nonnegative(hold, "the time at each posture [s]")
    stops = frozen(postures, (None, robot.n), "the postures", ExcitationError)
    if not len(stops):
        raise ExcitationError("there is no posture to go to")
    limits = [joint.limits for joint in robot.joints]
    require_inside(robot, stops, np.array([x.lower for x in limits]), np.array([x.upper for x in limits]))
    allowed = [peaks(joint, velocity, acceleration) for joint in robot.joints]
    pieces = [pause(stops[0], hold, "at posture 1")]
    for k, (start, end) in enumerate(itertools.pairwise(stops), 1):
        way = rest_to_rest(start, end, allowed, f"on the way from posture {k} to posture {k + 1}")
        pieces += [way, pause(end, hold, f"at posture {k + 1}")]
    return sampled(robot, pieces, rate)


def _shown(Y: Array) -> Array:
    """Return Y (N, n, p) in coordinates (N, n, r) of what it shows, in which all candidates together show unity."""
    rows = Y.reshape(-1, Y.shape[2])
    length = np.linalg.norm(rows, axis=0)
    rows = rows[:, length > 1e-9 * length.max()] / length[length > 1e-9 * length.max()]
    if rows.size == 0:
        raise ExcitationError("gravity acts on no joint of this robot", fix="Check gravity's direction")
    values, vectors = np.linalg.eigh(rows.T @ rows)
    seen = values > 1e-12 * values[-1]
    shown: Array = (rows @ (vectors[:, seen] / np.sqrt(values[seen]))).reshape(*Y.shape[:2], -1)
    return shown


def _greedy(A: Array, number: int) -> list[int]:
    """Return the rows that, one by one, raise log det(sum A_k^T A_k) most; A (N, n, r).

    det(M + A^T A) = det(M) det(1 + A M^-1 A^T), and M^-1 is kept up to date by Woodbury's identity.
    """
    inverse = np.eye(A.shape[2]) / _SCARCE
    chosen: list[int] = []
    for _ in range(number):
        gain = np.linalg.slogdet(np.eye(A.shape[1]) + A @ inverse @ A.transpose(0, 2, 1))[1]
        gain[chosen] = -np.inf
        best = int(np.argmax(gain))
        chosen.append(best)
        P = inverse @ A[best].T
        inverse = inverse - P @ np.linalg.solve(np.eye(A.shape[1]) + A[best] @ P, P.T)
        inverse = (inverse + inverse.T) / 2
    return chosen


def _in_short_moves(q: Array, span: Array) -> Array:
    """Return the postures in the order of a short path: nearest neighbour, then 2-opt until nothing improves."""
    far = np.abs((q[:, None] - q) / span).max(axis=2)
    path = [int(np.argmin(far.max(axis=1)))]
    left = set(range(len(q))) - set(path)
    while left:
        path.append(min(left, key=lambda k: (far[path[-1], k], k)))
        left.remove(path[-1])
    better = True
    while better:
        better = False
        for i in range(len(path) - 1):
            for j in range(i + 1, len(path)):
                # turning path[i + 1 .. j] round replaces two of its moves
                gain = far[path[i], path[i + 1]] - far[path[i], path[j]]
                if j + 1 < len(path):
                    gain += far[path[j], path[j + 1]] - far[path[i + 1], path[j + 1]]
                if gain > 1e-12:
                    path[i + 1 : j + 1] = path[i + 1 : j + 1][::-1]
                    better = True
    return np.ascontiguousarray(q[path])
