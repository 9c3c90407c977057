"""Many simulations of one plant in one call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, checked
from ident.errors import ModelError
from ident.simulation.plant import Plant, require_inertia
from ident.simulation.run import whole
from ident.symbolic.newton_euler import joint_names
from ident.symbolic.program import Node, Objects, Program, straight_line, traced


@dataclass(frozen=True, eq=False)
class Rollouts:
    """R simulations at the times t (K,) [s]: q, qd (R, K, n), and the friction law they used in words.

    diverged (R,): the first time [s] at which a rollout was no longer finite, NaN for one that stayed finite; its
    numbers from there on are NaN.
    """

    t: Array
    q: Array
    qd: Array
    diverged: Array
    friction_law: str


def rollouts(plant: Plant, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, step: float, every: int = 1) -> Rollouts:
    """Simulate R rollouts at once by Runge-Kutta 4 with a fixed step [s], all cores at work.

    q, qd (R, n): where each starts. tau (S + 1, n), or (R, S + 1, n) for torques of their own [N m; N]: torques at the
    ends of the S steps, linear in between. Every `every`-th state is kept. Raises ModelError when a shape does not fit,
    a number is not finite, a joint has no inertia at the start, or drive inertia couples joints.
    """
    from ident.dynamics.articulated_body import rollout_rows

    n = plant.robot.n
    start = np.concatenate([checked(q, (None, n), "q", ModelError), checked(qd, (None, n), "qd", ModelError)], axis=1)
    torques = checked(tau, (None,) * (3 if np.ndim(tau) == 3 else 2), "tau", ModelError)
    torques = torques if torques.ndim == 3 else torques[None]
    if torques.shape[2] != n or torques.shape[0] not in (1, len(start)) or torques.shape[1] < 2:
        raise ModelError(
            f"tau must have shape (steps + 1, {n}) or ({len(start)}, steps + 1, {n}), got {np.shape(tau)}",
            fix="Give the torques at both ends of every step",
        )
    steps = torques.shape[1] - 1
    if not 0 < step < np.inf:
        raise ModelError(f"the step must be a positive time, got {step}")
    every = whole(every, "every")
    if steps % every:
        raise ModelError(f"every {every}th of {steps} steps cannot be kept", fix="Choose a divisor of the steps")
    if plant.drive is None:
        raise ModelError(
            f"rollouts take drive inertia joint by joint, but a motor of '{plant.robot.name}' turns with several",
            fix="Use simulate",
        )
    kept = steps // every + 1
    q_out, qd_out = np.empty((len(start), kept * n)), np.empty((len(start), kept * n))
    rollout_rows(
        plant.tree,
        plant.inertials,
        plant.drive,
        *straight_line(_passive(plant)),
        checked(start, (None, 2 * n), "start", ModelError),
        checked(torques.reshape(len(torques), -1), (None, None), "tau", ModelError),
        float(step),
        every,
        q_out,
        qd_out,
    )
    t = np.arange(kept) * (step * every)
    q_out, qd_out = q_out.reshape(-1, kept, n), qd_out.reshape(-1, kept, n)
    lost = np.asarray(~(np.isfinite(q_out).all(axis=2) & np.isfinite(qd_out).all(axis=2)))
    if kept > 1 and lost[:, 1].any():
        require_inertia(plant, start[np.argmax(lost[:, 1])][None, :n].copy())
    q_out[lost], qd_out[lost] = np.nan, np.nan
    diverged = np.where(lost.any(axis=1), t[np.argmax(lost, axis=1)], np.nan)
    return Rollouts(t, q_out, qd_out, diverged, plant.friction_law)


def _passive(plant: Plant) -> Program:
    """Return the torque of the plant's joint terms as a program of q and qd.

    Raises ModelError for a term whose column is not made of arithmetic.
    """
    n = plant.robot.n

    def formula(q: Objects, qd: Objects) -> Objects:
        tau = np.zeros(n).astype(object)
        for x in plant.acting:
            for direction, value in zip(x.directions.astype(object), x.values.tolist(), strict=True):
                try:
                    column = x.column(direction @ q, direction @ qd)
                except TypeError as cause:
                    raise ModelError(
                        f"rollouts cannot be made of {x.term.kind.words}: {cause}", fix="Use simulate"
                    ) from None
                tau = tau + direction * (value * (column if isinstance(column, Node) else float(column)))
        return tau

    return traced("passive", {"q": joint_names("q", n), "qd": joint_names("qd", n)}, "tau", formula)
