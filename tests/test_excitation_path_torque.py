"""Torques of tours and sweeps: what is proven of them, against closed forms and very fine sampling."""

from __future__ import annotations

import numpy as np
import pytest

from ident.arrays import Array
from ident.errors import ExcitationError
from ident.excitation.limits import TorqueLimits, require_torque, torque_limits
from ident.excitation.moves import Moves, posture_tour, static_postures, velocity_sweep
from ident.model import Model, Offset, SmoothCoulomb, Viscous, torque
from ident.robot import Limits, MDHJoint, Robot, from_mdh
from ident.spatial.inertia import from_com

MASS, LEVER, INERTIA, COULOMB, VISCOUS = 2.0, 0.5, 0.1, 0.7, 0.4


def pendulum(effort: float) -> TorqueLimits:
    """A body of 2 kg, 0.5 m from a horizontal axis: tau = 0.6 qdd + 9.81 cos q + 0.4 qd + 0.7 sign qd."""
    limits = Limits(-1.0, 1.0, 2.0, effort, 6.0, 300.0)
    robot = from_mdh("pendulum", (MDHJoint(alpha=np.pi / 2, limits=limits),))
    model = Model(robot, (Viscous(), SmoothCoulomb(0.01)))
    body = from_com(MASS, np.array([LEVER, 0.0, 0.0]), INERTIA * np.eye(3))
    values = dict(zip(model.names[:10], body, strict=True)) | {"joint1.viscous": VISCOUS, "joint1.coulomb": COULOMB}
    return torque_limits(model, [values[name] for name in model.names])


def finely(moves: Moves) -> tuple[Array, Array, Array]:
    """The states at very many times, from the pieces."""
    found = []
    for piece in moves.pieces:
        u = np.linspace(0.0, piece.duration, 3001)
        found.append([piece.start * (o == 0) + np.outer(piece.s.deriv(o)(u), piece.way) for o in range(3)])
    return tuple(np.concatenate([part[o] for part in found]) for o in range(3))  # type: ignore[return-value]


def test_the_pendulum_in_closed_form() -> None:
    limits = pendulum(20.0)
    sweep = velocity_sweep(limits.model.robot, {"joint1": [0.5, 1.5]}, [0.2], 100)
    tour = posture_tour(limits.model.robot, [[-0.9], [0.8], [0.1]], 100)
    for moves in (sweep, tour):
        q, qd, qdd = finely(moves)
        tau = (INERTIA + MASS * LEVER**2) * qdd + MASS * 9.81 * LEVER * np.cos(q) + VISCOUS * qd
        wanted = (np.abs(tau).max() + COULOMB) / 20.0  # friction of either direction
        got = require_torque(limits, moves)
        assert wanted <= got * (1 + 1e-12)
        assert got <= 1.001 * wanted
    q = np.array([[0.0], [1.0], [-0.5]])
    np.testing.assert_allclose(limits.holding(q), MASS * 9.81 * LEVER * np.cos(q) + COULOMB)


def crane(effort: tuple[float, float, float]) -> tuple[Robot, TorqueLimits]:
    limits = [Limits(-2.0, 1.0, 2.0, effort[0], 8.0), Limits(0.5, 2.5, 1.5, effort[1], 4.0)]
    table = (
        MDHJoint(alpha=np.pi / 2, limits=limits[0]),
        MDHJoint(a=0.4, limits=limits[1]),
        MDHJoint(a=0.3, alpha=np.pi / 2, kind="prismatic", limits=Limits(-0.1, 0.4, 0.5, effort[2], 3.0, 20.0)),
    )
    robot = from_mdh("crane", table)
    model = Model(robot, (Viscous(), Offset()))
    rng = np.random.default_rng(2)
    bodies = [from_com(m, rng.normal(size=3) / 5, 0.02 * np.eye(3)) for m in (4.0, 3.0, 1.5)]
    return robot, torque_limits(model, np.concatenate([*bodies, rng.uniform(0, 1, len(model.names) - 30)]))


@pytest.mark.slow
def test_several_joints_against_very_fine_sampling() -> None:
    robot, limits = crane((100.0, 60.0, 40.0))
    postures = static_postures(Model(robot), 8)
    for moves in (
        posture_tour(robot, postures, 50),
        velocity_sweep(robot, {"joint1": [0.4], "joint3": [0.1, 0.2]}, [0.0, 1.0, 0.1], 50),
    ):
        tau = np.abs(torque(limits.model, limits.theta, *finely(moves)))
        wanted = (tau / [100.0, 60.0, 40.0]).max()
        got = require_torque(limits, moves)
        assert wanted <= got * (1 + 1e-12)
        assert got <= 1.01 * wanted


def test_the_place_of_too_much_torque_is_named() -> None:
    robot, limits = crane((100.0, 60.0, 40.0))
    many = static_postures(Model(robot), 12)
    postures = many[np.argsort(limits.holding(many)[:, 0])[[0, 1, -1]]]
    tour = posture_tour(robot, postures, 50, acceleration=0.5)
    need = limits.holding(postures)
    still = np.zeros_like(postures)
    np.testing.assert_allclose(need, np.abs(torque(limits.model, limits.theta, postures, still, still)))
    heavy = need[2, 0]
    assert heavy > 2.0 * need[:2, 0].max()
    robot, limits = crane((0.9 * heavy, 60.0, 40.0))
    with pytest.raises(ExcitationError, match=r"^on the way from posture 2 to posture 3, which begins .* the torque of "
                       r"joint 'joint1' may reach .* N m, wanted at most .* N m\. Lower the acceleration"):  # fmt: skip
        require_torque(limits, tour)
    with pytest.raises(ExcitationError, match=r"^at posture 1, which begins 0 s after"):
        require_torque(limits, posture_tour(robot, postures[2:], 50))
    robot, limits = crane((100.0, 60.0, 2.0))
    sweep = velocity_sweep(robot, {"joint3": [0.25]}, [0.0, 1.0, 0.1], 50)
    with pytest.raises(ExcitationError, match=r"joint 'joint3'.* the torque of joint 'joint3' may reach .* N, wanted"):
        require_torque(limits, sweep)
