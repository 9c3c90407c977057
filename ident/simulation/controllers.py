"""Controllers: torque functions of time, position and velocity that close the loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.dynamics.rigid_body import jacobian
from ident.errors import ModelError
from ident.simulation.plant import Plant, fixed, inverse
from ident.simulation.torques import TorqueFunction

#: Wanted q, qd, qdd (n,) at time t [s].
Reference = Callable[[float], tuple[Array, Array, Array]]

#: Wanted position and velocity (3,) [m, m/s] of a point, in base axes, at time t [s].
PointReference = Callable[[float], tuple[Array, Array]]


def hold(q: ArrayLike) -> Reference:
    """Return the reference that stays at q (n,)."""
    at = frozen(q, (None,), "q", ModelError)
    still = np.zeros(len(at))
    return lambda t: (at, still, still)


def hold_point(p: ArrayLike) -> PointReference:
    """Return the reference that stays at p (3,) [m]."""
    at = frozen(p, (3,), "p", ModelError)
    still = np.zeros(3)
    return lambda t: (at, still)


@dataclass(frozen=True, eq=False)
class PDGravity:
    """tau = kp (q_des - q) + kd (qd_des - qd) + g(q), with springs and offsets as part of g.

    kp [N m/rad; N/m], kd [N m s/rad; N s/m]: one per joint, or one for all. plant: what the controller believes in,
    which need not be the plant that is simulated. Converges to a standing reference (Takegaki, Arimoto 1981).
    """

    plant: Plant
    kp: Array
    kd: Array
    reference: Reference

    def __post_init__(self) -> None:
        _gains(self, self.plant.robot.n)

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        """Return the torque (n,)."""
        wanted = _wanted(self.reference(t), t, (len(q),) * 3)
        still = np.zeros(len(q))
        gravity = _inverse(self.plant, q, still, still) + self.plant.static(q)
        return np.asarray(self.kp * (wanted[0] - q) + self.kd * (wanted[1] - qd) + gravity)


@dataclass(frozen=True, eq=False)
class ComputedTorque:
    """tau = (D + armature) (qdd_des + kd (qd_des - qd) + kp (q_des - q)) + C qd + g + friction + springs + offset.

    kp [1/s^2], kd [1/s]: one per joint, or one for all; the error then obeys e'' + kd e' + kp e = 0 where plant is the
    one that is simulated (Spong, Hutchinson, Vidyasagar, section 9.3).
    """

    plant: Plant
    kp: Array
    kd: Array
    reference: Reference

    def __post_init__(self) -> None:
        _gains(self, self.plant.robot.n)

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        """Return the torque (n,)."""
        plant = self.plant
        wanted = _wanted(self.reference(t), t, (len(q),) * 3)
        qdd = wanted[2] + self.kd * (wanted[1] - qd) + self.kp * (wanted[0] - q)
        return np.asarray(_inverse(plant, q, qd, qdd) + plant.armature @ qdd + plant.friction(qd) + plant.static(q))


@dataclass(frozen=True, eq=False)
class CartesianPD:
    """tau = J^T f + feedforward, with f = kp (p_des - p) + kd (v_des - v) at a point of a frame.

    kp [N/m], kd [N s/m]: one per axis of the base, or one for all. frame: a link or a body fixed to one; point (3,) [m]
    in its axes. feedforward: another torque function, such as gravity or an inverse dynamics, None for none.
    Raises ModelError for an unknown frame, one that does not move, and arrays that do not fit.
    """

    plant: Plant
    frame: str
    kp: Array
    kd: Array
    reference: PointReference
    feedforward: TorqueFunction | None = None
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        _gains(self, 3)
        jacobian(self.plant.robot, np.zeros((1, self.plant.robot.n)), self.frame, self.point)  # names what is unknown
        if self._carried[0] < 0:
            raise ModelError(f"frame '{self.frame}' does not move", fix="Name a link, or a body fixed to one")

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        """Return the torque (n,)."""
        from ident.dynamics.matrix_kernels import frame_rows, jacobian_rows

        tree, (link, local) = self.plant.tree, self._carried
        row, turn, p, J = fixed(q[None]), np.empty((1, 3, 3)), np.empty((1, 3)), np.zeros((1, 6, len(q)))
        frame_rows(tree, row, link, local, turn, p)
        jacobian_rows(tree, row, link, local[:, 3].copy(), J)
        wanted = _wanted(self.reference(t), t, (3, 3))
        f = self.kp * (wanted[0] - p[0]) + self.kd * (wanted[1] - J[0, :3] @ qd)
        tau = J[0, :3].T @ f
        if self.feedforward is not None:
            tau = tau + _wanted((self.feedforward(t, q, qd),), t, (len(q),), "feedforward")[0]
        return np.asarray(tau)

    @cached_property
    def _carried(self) -> tuple[int, Array]:
        """The link that carries the point (-1: the base), and the frame at the point seen from the link (3, 4)."""
        robot, point = self.plant.robot, np.asarray(self.point, dtype=np.float64)
        if self.frame in robot.links:
            return robot.links.index(self.frame), np.column_stack([np.eye(3), point])
        for body in robot.fixed:
            if body.name == self.frame:
                turn = body.pose.rotation
                at = turn @ point + body.pose.position
                return body.link, np.column_stack([turn, at])
        return -1, np.eye(3, 4)


def _inverse(plant: Plant, q: Array, qd: Array, qdd: Array) -> Array:
    tau: Array = inverse(plant, q[None], qd[None], qdd[None])[0]
    return tau


def _gains(controller: PDGravity | ComputedTorque | CartesianPD, n: int) -> None:
    """Spread kp and kd over n entries and freeze them."""
    for name in ("kp", "kd"):
        value = getattr(controller, name)
        spread = np.full(n, float(value)) if np.ndim(value) == 0 else value
        object.__setattr__(controller, name, frozen(spread, (n,), name, ModelError))


def _wanted(
    values: tuple[ArrayLike, ...], t: float, lengths: tuple[int, ...], what: str = "reference"
) -> tuple[Array, ...]:
    """Return what a reference or feedforward gave, as arrays; ModelError naming the time when it does not fit."""
    try:
        arrays = tuple(np.asarray(v, dtype=np.float64) for v in values)
    except (TypeError, ValueError):
        raise ModelError(f"the {what} gave {str(values)[:60]} at t = {t:g} s, wanted arrays of numbers") from None
    if [a.shape for a in arrays] != [(k,) for k in lengths]:
        got, wanted = [", ".join(map(str, shapes)) for shapes in ([a.shape for a in arrays], [(k,) for k in lengths])]
        raise ModelError(f"the {what} gave arrays of shapes {got} at t = {t:g} s, wanted {wanted}")
    return arrays
