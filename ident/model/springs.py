"""Springs, and balancers: cylinders and coil springs that pull along the line between a fixed point and a crank."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ident.arrays import Array, significant
from ident.dynamics.rigid_body import inverse_dynamics
from ident.errors import ModelError
from ident.model.term import Kind, Term, constant, setting
from ident.robot.robot import Robot


@dataclass(frozen=True)
class Spring:
    """tau_j = k_j (q_j - rest) [N m; N], with k in N m/rad or N/m.

    rest [rad; m]: position at which the spring is slack; joints: names of the joints that have it, None for all.
    Joints whose springs rest elsewhere get a Spring of their own. An `Offset` beside it takes up an unknown rest.
    nonnegative: whether k must not be negative, which that of an over-centre spring or a balancer is.
    """

    joints: tuple[str, ...] | None = None
    rest: float = setting("a position", 0.0)
    nonnegative: bool = field(default=False, repr=False, metadata={"description": "true or false"})  # no column has it
    kind: ClassVar[Kind] = Kind(
        "stiffness",
        "spring",
        "torque = value * (q - rest position)",
        ("N m/rad", "N/m"),
        key="spring",
        mechanism=True,
        example="{ rest = 0.1 }",
    )

    def column(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the deflection q - rest of the spring."""
        return q - self.rest

    slopes = constant(1.0, 0.0, 0.0)
    symbol = column

    def energy(self, q: Array) -> Array:
        """Return the potential energy per parameter, (q - rest)^2 / 2 [rad^2; m^2]."""
        return 0.5 * (q - self.rest) ** 2


#: Of a joint's torque, root mean square: what a balancer is worth, 0.76 and more of three that were drawn. A centre of
#: mass that is a few per cent off in CAD, or gains that are, look like one of 0.03 to 0.05.
BALANCES = 0.1
#: Where a balancer's arms are not given: this crank, with the fixed point 1 m away.
CRANK = 0.25
_LENGTH = "L^2 = fixed^2 + crank^2 - 2 fixed crank cos(q - dead)"


@dataclass(frozen=True)
class Balancer:
    """tau_j = F_j fixed crank sin(q_j - dead) / L_j / (1 - (L_j - L_0) / gas) [N m], F_j the pull at q_j = dead [N].

    L_j^2 = fixed^2 + crank^2 - 2 fixed crank cos(q_j - dead): the length between a point that stands still and one that
    turns with the link; L_0 = |fixed - crank| where both are in line on one side of the axis, at the dead point.
    dead [rad]: the position there; NaN (in [model]: left out) where the links' gravity is farthest up. fixed, crank
    [m]: distances of the two points from the joint's axis; NaN for an assumed lever. gas [m]: volume at the dead point
    over the piston's area of a gas spring or an accumulator at one temperature, so that F is its pressure there times
    that area; below 0 where the gas has more room the longer it is, 0 for a steady force. A cylinder that pushes has a
    negative F. joints: names of the joints that have it, None for all.
    """

    dead: float = setting("a position", math.nan)
    fixed: float = setting("a length above 0", math.nan, gt=0)
    crank: float = setting("a length above 0", math.nan, gt=0)
    gas: float = setting("a length", 0.0)
    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = False
    kind: ClassVar[Kind] = Kind(
        "balancer",
        "balancer",
        "torque = value * fixed crank sin(q - dead) / L / (1 - (L - |fixed - crank|) / gas), the last unless gas is 0; "
        + _LENGTH,
        ("N", "N"),
        example="{ dead = -1.6, fixed = 0.8, crank = 0.2 }",
        mechanism=True,
    )

    def __post_init__(self) -> None:
        given = [name for name in ("dead", "fixed", "crank") if not math.isnan(getattr(self, name))]
        if given not in ([], ["fixed", "crank"], ["dead", "fixed", "crank"]):
            problem = f"of a balancer's geometry {' and '.join(given)} alone says too little"
            raise ModelError(problem, fix="Give fixed and crank together, or leave all three out")
        if given:
            _require_arms(self.fixed, self.crank)

    def require(self, q: Array, qd: Array, qdd: Array) -> None:
        """Raise ModelError where the gas would have no room or the dead point is not known."""
        if math.isnan(self.dead):
            problem = "a balancer's dead point is not given"
            raise ModelError(problem, fix="Give dead, the position where it has no lever")
        room = self._room(_length(self, q))
        if np.min(room, initial=1.0) <= 0.0:
            at = float(np.asarray(q).flat[int(np.argmin(room))])
            problem = f"at {at:.4g} rad the balancer is longer than its gas has room for ({self.gas:g} m)"
            raise ModelError(problem, fix="gas is the volume at the dead point over the piston's area; check the arms")

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return lever times relative force [m]."""
        length = _length(self, q)
        lever = self.fixed * self.crank * np.sin(q - self.dead) * length**-1.0
        return lever * self._room(length) ** -1.0 if self.gas else lever

    symbol = column

    def energy(self, q: Array) -> Array:
        """Return the potential energy per parameter [m]: the integral of the relative force over the length."""
        longer = _length(self, q) - abs(self.fixed - self.crank)
        return np.asarray(-self.gas * np.log1p(-longer / self.gas) if self.gas else longer)

    @property
    def assumed(self) -> str:
        """What is assumed of its geometry where an experiment names its joint alone, as a sentence."""
        return (
            f"the balancer of '{', '.join(self.joints or ())}' is taken to have no lever at {self.dead:g} rad, where"
            f" the links' gravity is farthest up, and a crank of {self.crank / self.fixed:g} of the way to its fixed"
            " point: give dead, fixed and crank in [model] for a force in newtons"
        )

    def _room(self, length: Any) -> Any:
        """Return the gas's volume relative to that at the dead point, 1 without gas."""
        return 1.0 - (length - abs(self.fixed - self.crank)) * (1.0 / self.gas) if self.gas else 1.0

    def at_work(self, others: Sequence[Term], robot: Robot, inertials: Array) -> list[Balancer]:
        """Return this term with dead points: where it has none, where the links' gravity is farthest up, per joint.

        inertials (n, 10): the links'. Raises ModelError for a joint that slides or that gravity does not turn.
        """
        _require_turning(self, robot)
        if not math.isnan(self.dead):
            return [self]
        found, arms = [], (1.0, CRANK) if math.isnan(self.fixed) else (self.fixed, self.crank)
        for joint in self.joints or robot.joint_names:
            dead = significant(upright(robot, inertials, robot.joint_names.index(joint)), 4)
            found.append(replace(self, dead=dead, fixed=arms[0], crank=arms[1], joints=(joint,)))
        return found


@dataclass(frozen=True)
class BalancerSpring:
    """tau_j = k_j (L_j - L_0) fixed crank sin(q_j - dead) / L_j [N m], with k in N/m: a coil spring on a crank.

    As `Balancer`, with a pull that grows from zero at the dead point; a `Balancer` beside it is its preload.
    """

    dead: float = setting("a position")
    fixed: float = setting("a length above 0", gt=0)
    crank: float = setting("a length above 0", gt=0)
    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = False
    kind: ClassVar[Kind] = Kind(
        "balancer_spring",
        "balancer spring",
        "torque = value * (L - |fixed - crank|) fixed crank sin(q - dead) / L; " + _LENGTH,
        ("N/m", "N/m"),
        example="{ dead = -1.6, fixed = 0.8, crank = 0.2 }",
        mechanism=True,
    )

    def __post_init__(self) -> None:
        _require_arms(self.fixed, self.crank)

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return lever times extension [m^2]."""
        length = _length(self, q)
        return (length - abs(self.fixed - self.crank)) * self.fixed * self.crank * np.sin(q - self.dead) * length**-1.0

    symbol = column

    def energy(self, q: Array) -> Array:
        """Return the potential energy per parameter [m^2]."""
        return np.asarray(0.5 * (_length(self, q) - abs(self.fixed - self.crank)) ** 2)

    def at_work(self, others: Sequence[Term], robot: Robot, inertials: Array) -> list[BalancerSpring]:
        """Return this term. Raises ModelError for a joint that slides."""
        _require_turning(self, robot)
        return [self]


def _require_turning(term: Balancer | BalancerSpring, robot: Robot) -> None:
    for joint in (j for j in term.joints or robot.joint_names if j in robot.slides):
        fix = "Name the joints that a balancer holds, such as { joints = [...] }"
        raise ModelError(f"joint '{joint}' slides, and a balancer's crank turns", fix=fix)


def _require_arms(fixed: float, crank: float) -> None:
    if not (fixed > 0 and crank > 0 and fixed != crank):
        raise ModelError(f"a balancer's arms must be two different lengths above 0, got {fixed:g} and {crank:g}")


def _length(term: Balancer | BalancerSpring, q: Any) -> Any:
    return (term.fixed**2 + term.crank**2 - 2.0 * term.fixed * term.crank * np.cos(q - term.dead)) ** 0.5


def upright(robot: Robot, inertials: Array, joint: int) -> float:
    """Return where [rad] a joint that turns has the gravity of bodies (n, 10) farthest up, other joints at zero.

    Raises ModelError for a joint that gravity does not turn.
    """
    q = np.zeros((2, robot.n))
    q[1, joint] = np.pi / 2
    still = np.zeros(q.shape)
    flat, up = inverse_dynamics(robot, inertials, q, still, still)[:, joint]
    name = robot.joint_names[joint]
    if math.hypot(flat, up) < 1e-9 * (np.abs(inertials).sum() + 1.0):
        fix = "Name the joints that a balancer holds, such as { joints = [...] }"
        raise ModelError(f"gravity does not turn joint '{name}', so nothing says where its balancer is", fix=fix)
    # flat cos q + up sin q is the slope of flat sin q - up cos q, the potential
    return math.atan2(flat, -up)
