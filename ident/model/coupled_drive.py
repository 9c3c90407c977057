"""A motor that turns with more than one joint, as in the coupled wrists of many industrial arms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ident.arrays import Array, frozen
from ident.errors import ModelError
from ident.robot.robot import Robot


@dataclass(frozen=True)
class CoupledDrive:
    """Inertia, viscous and Coulomb friction of a motor that turns with the speed v = sum_j share_j qd_j.

    tau_j = share_j (Ia v' + Fv v + Fc f(v)), with f the sign (zero where |v| <= dead_zone), or tanh(v / width) when
    `width` is positive. `shares` is the motor's row of the transmission matrix divided by its own
    joint's ratio, so that the parameters are reflected to that joint: (0, 0, 0, 0, 1, 1) for a TX40's motor 6.
    dead_zone, width [rad/s]. Raises ModelError when one of them is negative or a share is not finite.
    """

    motor: str
    shares: tuple[float, ...]
    dead_zone: float = 0.0
    width: float = 0.0
    nonnegative: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", tuple(float(x) for x in frozen(self.shares, (None,), "shares", ModelError)))
        for what in ("dead_zone", "width"):
            if not getattr(self, what) >= 0:
                raise ModelError(f"the {what} of motor '{self.motor}' must not be negative, got {getattr(self, what)}")

    @property
    def shape(self) -> dict[str, float]:
        """The width of the tanh, or the dead zone of the sign."""
        return {"tanh": self.width} if self.width > 0 else {"dead_zone": self.dead_zone}

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Return `MOTOR.drive_inertia`, `MOTOR.viscous`, `MOTOR.coulomb`; raises ModelError for a joint's name."""
        if self.motor in robot.joint_names:
            raise ModelError(
                f"motor '{self.motor}' turns with several joints and has the name of one, so that nobody could tell "
                f"'{self.motor}.viscous' of the motor from that of the joint",
                fix="Give the motor a name of its own in the robot file's [transmission]",
            )
        return tuple(f"{self.motor}.{part}" for part in ("drive_inertia", "viscous", "coulomb"))

    def entries(self, robot: Robot) -> tuple[tuple[int, int], ...]:
        """Return three entries for each joint that the motor turns with."""
        return tuple((j, k) for j in self._joints(robot) for k in range(3))

    def columns(self, robot: Robot, q: Array, qd: Array, qdd: Array) -> Array:
        """Return share_j v', share_j v, share_j f(v) for each of those joints, (n_entries, N)."""
        joints, shares = self._joints(robot), np.array(self.shares)
        speed = qd @ shares
        sign = np.sign(speed) * (np.abs(speed) > self.dead_zone)
        coulomb = np.tanh(speed / self.width) if self.width > 0 else sign
        motor = np.stack([qdd @ shares, speed, coulomb])
        return np.concatenate([shares[j] * motor for j in joints])

    def pull_back(self, robot: Robot, q: Array, qd: Array, qdd: Array, weights: Array) -> Array:
        """Return the derivative of sum(weights * columns) with respect to q, qd, qdd: (3, N, n)."""
        joints, shares = self._joints(robot), np.array(self.shares)
        inertia, viscous, coulomb = np.einsum("j,jkn->kn", shares[joints], weights.reshape(len(joints), 3, -1))
        slope = (1.0 - np.tanh(qd @ shares / self.width) ** 2) / self.width if self.width > 0 else 0.0
        found = np.zeros((3, *q.shape))
        found[1] = np.outer(viscous + coulomb * slope, shares)
        found[2] = np.outer(inertia, shares)
        return found

    def _joints(self, robot: Robot) -> list[int]:
        if len(self.shares) != robot.n:
            raise ModelError(f"motor '{self.motor}' names {len(self.shares)} joints, the robot has {robot.n}")
        return [j for j in range(robot.n) if self.shares[j] != 0.0]


def coupled_motors(robot: Robot) -> set[str]:
    """Return the names by which parameters are those of a motor that turns with several joints."""
    return {drive.motor for drive in coupled_drives(robot)} - set(robot.joint_names)


def coupled_drives(robot: Robot, *, dead_zone: float = 0.0, width: float = 0.0) -> tuple[CoupledDrive, ...]:
    """Return one CoupledDrive for each motor of the robot's transmission that turns with several joints.

    The motor's own joint is the one of the same index. Raises ModelError when its ratio there is zero.
    """
    if robot.transmission is None:
        return ()
    found = []
    for k, (motor, row) in enumerate(zip(robot.transmission.motors, robot.transmission.matrix, strict=True)):
        if np.count_nonzero(row) > 1:
            if row[k] == 0.0:
                raise ModelError(f"motor '{motor}' does not turn with its own joint '{robot.joint_names[k]}'")
            found.append(CoupledDrive(motor, tuple(row / row[k]), dead_zone, width))
    return tuple(found)
