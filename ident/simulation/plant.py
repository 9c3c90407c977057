"""A model with numbers, and its acceleration: (D + armature) qdd = tau - C qd - g - friction - springs - offset.

Friction that grows with the load depends on qdd, for the load does; `_under_load` solves for both at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, checked, frozen
from ident.dynamics import rigid_body
from ident.dynamics.rigid_body import NO_INERTIA, NOTHING, Tree, batch, drive_rows, singular, tree, weakest
from ident.errors import ModelError
from ident.model import Model
from ident.model.standard import COULOMB
from ident.model.term import RECORDED, Term, along
from ident.robot.robot import Robot

NO_NUMBERS: Mapping[str, float] = {}


@dataclass(frozen=True, eq=False)
class Acting:
    """A joint term with numbers: it acts with values[k] times its column of the speed v = directions[k] . qd.

    owners: names of the joints or coupled motors; directions (m, n); values (m,); width [rad/s; m/s]: over which a
    column that jumps is rounded. signals: those that the term needs, which stay as they are. bodies (n, 10): inertials
    of the load that the term needs, None where it needs none.
    """

    term: Term
    owners: tuple[str, ...]
    directions: Array
    values: Array
    width: float
    signals: Mapping[str, float] = field(default_factory=dict)
    bodies: Array | None = None

    def column(self, q: Any, qd: Any, load: Any = 1.0) -> Any:
        """Return the column that is integrated, from positions and speeds of the owners, numbers or symbols.

        load: on the owners, for a term that needs it.
        """
        given = dict(self.signals) if self.bodies is None else {**self.signals, "load": load}
        if hasattr(self.term, "continuous"):
            return self.term.continuous(q, qd, self.width, **given)
        return self.term.column(q, qd, 0.0 * qd, **given)

    def torque(self, q: Array, qd: Array, load: Array | float = 1.0) -> Array:
        """Return the joint torques (..., n) at q, qd (..., n) and the load (..., m) on the owners."""
        column = self.column(q @ self.directions.T, qd @ self.directions.T, load)
        return np.asarray((self.values * column) @ self.directions)

    @property
    def levels_off(self) -> bool:
        """Whether it is friction that hardly grows at high speed, which makes standstill stiff."""
        faster, fast = (np.abs(self.column(0.0, np.array([v]))) for v in (1e6, 1e3))
        return self.term.kind.friction and bool((faster < 2.0 * fast + 1e-300).all())


@dataclass(frozen=True, eq=False)
class Plant:
    """tau = (D(q) + armature) qdd + C(q, qd) qd + g(q) + joint terms, with numbers.

    inertials (n, 10): the rigid bodies. armature (n, n) [kg m^2; kg]: drive inertia. acting: the other joint terms.
    Raises ModelError when shapes do not fit, a number is not finite or friction is negative.
    """

    robot: Robot
    inertials: Array
    armature: Array
    acting: tuple[Acting, ...] = ()

    def __post_init__(self) -> None:
        n = self.robot.n
        for name, shape in (("inertials", (n, 10)), ("armature", (n, n))):
            object.__setattr__(self, name, frozen(getattr(self, name), shape, name, ModelError))
        for x in self.acting:
            for owner, value in zip(x.owners, x.values, strict=True):
                if x.term.kind.friction and x.term.nonnegative and value < 0:
                    raise ModelError(
                        f"{x.term.kind.words} of '{owner}' is {value:g}, and negative friction drives",
                        fix="Set it to 0, or use the constrained fit, which keeps friction positive",
                    )

    @cached_property
    def tree(self) -> Tree:
        """The robot as the kernels read it."""
        return tree(self.robot)

    @cached_property
    def limits(self) -> Array:
        """Lower and upper limits (2, n) of the positions, infinite where there is none."""
        return np.array([[j.limits.lower, j.limits.upper] for j in self.robot.joints]).T

    @cached_property
    def drive(self) -> Array | None:
        """The diagonal of the armature as the articulated-body kernel reads it; None when drives are coupled."""
        diagonal = np.diag(self.armature)
        return None if (self.armature != np.diag(diagonal)).any() else drive_rows(self.robot, self.inertials, diagonal)

    @property
    def frictions(self) -> tuple[Acting, ...]:
        """The joint terms that are friction."""
        return tuple(x for x in self.acting if x.term.kind.friction)

    @property
    def friction_law(self) -> str:
        """The friction that a simulation of this plant has, in words."""
        words = (x.term.kind.words.removesuffix(" friction") for x in self.frictions if x.term.kind != COULOMB)
        smooth = " and ".join(dict.fromkeys(words))
        slides = self.robot.slides
        widths: dict[str, list[str]] = {}
        for x in (x for x in self.frictions if x.term.kind == COULOMB):
            for owner in x.owners:
                width = getattr(x.term, "tanh", x.width)
                widths.setdefault(f"{width:g} {'m/s' if owner in slides else 'rad/s'}", []).append(owner)
        if not widths:
            return f"{smooth} friction only" if smooth else "no friction"
        listed = " and ".join(f"w = {width} for {', '.join(names)}" for width, names in widths.items())
        return (
            f"Coulomb friction is Fc tanh(v / w) in place of Fc sign(v), with {listed}: "
            "a joint that friction holds creeps at a speed below w instead of sticking"
            + (f"; {smooth} friction besides" if smooth else "")
        )

    @property
    def loaded(self) -> tuple[Acting, ...]:
        """The joint terms that need a load, and so the acceleration."""
        return tuple(x for x in self.acting if x.bodies is not None)

    def load(self, part: Acting, q: Array, qd: Array, qdd: Array) -> Array | float:
        """Return the load (..., m) on the owners of a joint term at q, qd, qdd (..., n), 1 for one that needs none."""
        if part.bodies is None:
            return 1.0
        rows = (np.ascontiguousarray(x.reshape(-1, self.robot.n)) for x in (q, qd, qdd))
        return np.asarray(inverse(self, *rows, bodies=part.bodies).reshape(np.shape(qd)) @ part.directions.T)

    def passive(self, q: Array, qd: Array, qdd: Array | None = None) -> Array:
        """Return the torque (..., n) of the joint terms at q, qd, qdd (..., n); qdd: for the load, None without."""
        found, still = np.zeros(np.shape(qd)), 0.0 * qd
        for x in self.acting:
            found += x.torque(q, qd, self.load(x, q, qd, still if qdd is None else qdd))
        return found

    def friction(self, qd: Array, q: Array | None = None, qdd: Array | None = None) -> Array:
        """Return the torque (..., n) of friction at qd (..., n); q, qdd: of the load, 0 where they are not given."""
        return replace(self, acting=self.frictions).passive(0.0 * qd if q is None else q, qd, qdd)

    def static(self, q: Array) -> Array:
        """Return the torque (..., n) of springs, offsets and what else is no friction at q (..., n), at rest."""
        return without_friction(self).passive(q, 0.0 * q)

    def kinetic(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the kinetic energy (N,) [J] of bodies and drives at q, qd (N, n)."""
        v = checked(qd, (None, self.robot.n), "qd", ModelError)
        drives = 0.5 * np.einsum("si,ij,sj->s", v, self.armature, v)
        return np.asarray(rigid_body.kinetic_energy(self.robot, self.inertials, q, v) + drives)

    def potential(self, q: ArrayLike) -> Array:
        """Return the potential energy (N,) [J] of gravity, springs and offsets at q (N, n)."""
        x = checked(q, (None, self.robot.n), "q", ModelError)
        keeping = [(part, getattr(part.term, "energy", None)) for part in self.acting]
        joints = [energy(x @ part.directions.T) @ part.values for part, energy in keeping if energy]
        return np.asarray(rigid_body.potential_energy(self.robot, self.inertials, x) + sum(joints))


def plant(
    model: Model, theta: ArrayLike, friction_width: float = 0.01, signals: Mapping[str, float] = NO_NUMBERS
) -> Plant:
    """Return the plant of a model at theta (p,).

    friction_width [rad/s; m/s]: Coulomb friction with a sign, with or without a dead zone, becomes
    Fc tanh(v / friction_width), for a sign cannot be integrated; so does Dahl's, whose state the plant does not carry.
    A SmoothCoulomb keeps its own width. Nonlinear viscous friction is straight below the width.
    signals: what stays as it is while the plant moves, such as {"temperature": 40.0} [degC] of all joints, or
    {"time": inf} for joints that are warm.
    Raises ModelError when theta does not fit the model or is not finite, friction is negative, or a term needs what
    is not given.
    """
    robot, n = model.robot, model.robot.n
    values = checked(theta, (len(model.names),), "theta", ModelError)
    if not 0 < friction_width < np.inf:
        raise ModelError(f"friction_width must be a positive speed, got {friction_width}")
    armature, acting, at = np.zeros((n, n)), list[Acting](), model.n_rigid
    probe = np.array([[0.7], [-0.3]])
    for term in model.terms:
        owners, directions = along(term, robot)
        own = values[at : at + len(owners)]
        at += len(owners)
        bodies, needs = None, set[str](getattr(term, "needs", ()))
        if "load" in needs:
            bodies = frozen(getattr(term, "inertials", ()), (n, 10), f"inertials of {term.kind.words}", ModelError)
            needs -= {"load"}
        if not needs <= signals.keys() & RECORDED.keys():
            given = f", or give signals = {{'{min(needs)}': ...}}" if needs <= RECORDED.keys() else ""
            problem = f"a simulation does not know {term.kind.words}, which needs the {' and '.join(sorted(needs))}"
            raise ModelError(problem, fix=f"Leave it out of the model{given}")
        given_signals = {name: signals[name] for name in needs}
        more = given_signals if bodies is None else {**given_signals, "load": 1.0}
        still, pushed = (term.column(0 * probe, 0 * probe, 0 * probe + x, **more) for x in (0.0, 1.0))
        inertia = pushed - still
        armature += np.einsum("k,ki,kj->ij", own * inertia[0, 0], directions, directions)
        used = [k for k in range(len(own)) if own[k] != 0]
        names = tuple(owners[k] for k in used)
        part = Acting(term, names, directions[used], own[used], friction_width, given_signals, bodies)
        if used and np.any(part.column(probe, probe)):  # as it is simulated: what has a state is 0 without a past
            acting.append(part)
    return Plant(robot, values[: model.n_rigid].reshape(n, 10), armature, tuple(acting))


def without_friction(plant: Plant) -> Plant:
    """Return the plant without friction; drive inertia, springs and offsets stay."""
    return replace(plant, acting=tuple(x for x in plant.acting if not x.term.kind.friction))


def acceleration(plant: Plant, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, wrenches: ArrayLike | None = None) -> Array:
    """Return qdd (N, n) [rad/s^2; m/s^2] at q, qd under the torques tau (N, n) [N m; N].

    wrenches (N, n, 6): force then moment on each link by its surroundings, about the link frame's origin in its axes.
    Raises ModelError when shapes do not fit, a number is not finite, or a joint moves nothing that has inertia.
    """
    q, qd, tau = batch(plant.robot, q=q, qd=qd, tau=tau)
    pushed = rigid_body.wrench_rows(plant.robot, wrenches, len(q))
    require_inertia(plant, q)
    return accelerations(plant, q, qd, tau, pushed)


def accelerations(plant: Plant, q: Array, qd: Array, tau: Array, wrenches: Array | None = None) -> Array:
    """Return qdd (N, n) of C-contiguous (N, n) arrays that nobody checks; wrenches (N, 6 n).

    NaN or infinite where a joint moves nothing. The one place where the equations of motion are solved: by articulated
    bodies, or by the mass matrix where a drive is coupled with several joints or friction grows with the load.
    """
    if plant.loaded:
        return _under_load(plant, q, qd, tau, wrenches)
    left = tau - plant.passive(q, qd)
    if plant.drive is None:
        return solved(plant, q, qd, left, wrenches)
    return rigid_body.articulated(plant.tree, plant.inertials, plant.drive, q, qd, left, wrenches)


def solved(plant: Plant, q: Array, qd: Array, left: Array, wrenches: Array | None = None) -> Array:
    """Return the accelerations (N, n) by the mass matrix, of what is left (N, n) of the torques besides joint terms.

    Slower than articulated bodies, but by the kernel of inverse dynamics alone. NaN where a joint moves nothing.
    """
    try:
        push = left - inverse(plant, q, qd, np.zeros(q.shape), wrenches)
        return np.asarray(np.linalg.solve(mass_matrices(plant, q), push[:, :, None])[:, :, 0])
    except np.linalg.LinAlgError:
        return np.full(q.shape, np.nan)


#: Rounds after which there is no acceleration that friction under load agrees with; the share of the torques to which
#: it has to agree.
_ROUNDS, _AGREED = 40, 1e-12


def _under_load(plant: Plant, q: Array, qd: Array, tau: Array, wrenches: Array | None) -> Array:
    """Return the accelerations (N, n) where friction grows with the load, which depends on them.

    Friction is F = (F / L) L with the load L = D_L qdd + h_L. The equations of motion are solved with the share F / L
    of the load that qdd gives, until qdd stays. As the share of |L| f(qd) is f(qd) times the sign of L, that ends
    exactly once the signs stay. Raises ModelError where no acceleration does.
    """
    free = replace(plant, acting=tuple(x for x in plant.acting if x.bodies is None))
    left = tau - free.passive(q, qd)
    qdd = solved(plant, q, qd, left, wrenches)
    left, D = left - inverse(plant, q, qd, np.zeros(q.shape), wrenches), mass_matrices(plant, q)
    bodies = [(x, x.bodies) for x in plant.acting if x.bodies is not None]
    heavy = [(x, np.asarray(x.directions @ rigid_body.accelerated(plant.tree, b, q))) for x, b in bodies]
    for _ in range(_ROUNDS):
        matrix, rest = D.copy(), left - (D @ qdd[:, :, None])[:, :, 0]
        size = np.abs(left) + np.abs(rest)
        for x, inertia in heavy:
            load = np.asarray(plant.load(x, q, qd, qdd))
            friction = x.values * x.column(q @ x.directions.T, qd @ x.directions.T, load)
            share = np.divide(friction, load, out=np.zeros_like(load), where=load != 0.0)
            matrix += x.directions.T @ (share[:, :, None] * inertia)
            rest -= friction @ x.directions
            size += np.abs(friction) @ np.abs(x.directions)
        wrong = np.abs(rest) > _AGREED * size.max(axis=1, keepdims=True)
        if not wrong.any():
            return qdd
        with suppress(np.linalg.LinAlgError):  # a joint that locks itself
            qdd += np.linalg.solve(matrix, rest[:, :, None])[:, :, 0]
    joint = plant.robot.joint_names[int(np.argmax(np.abs(rest)[wrong.any(axis=1)][0]))]
    problem = f"no acceleration of joint '{joint}' agrees with its friction, which grows with the load that it makes"
    raise ModelError(problem, fix="Take less load friction: at a share of the load near 1 a joint locks itself")


def mass_matrices(plant: Plant, q: Array) -> Array:
    """Return D + armature (N, n, n)."""
    return rigid_body.accelerated(plant.tree, plant.inertials, np.ascontiguousarray(q)) + plant.armature


def inverse(
    plant: Plant, q: Array, qd: Array, qdd: Array, wrenches: Array | None = None, *, bodies: Array | None = None
) -> Array:
    """Return the torque (N, n) of the rigid bodies alone, or of others (n, 10)."""
    own = plant.inertials if bodies is None else bodies
    return rigid_body.newton_euler(plant.tree, own, q, qd, qdd, wrenches)


def require_inertia(plant: Plant, q: Array) -> None:
    """Raise ModelError naming the joint when a mass matrix (N of them, at q) is singular or indefinite."""
    matrices = mass_matrices(plant, q)
    try:
        factors = np.linalg.cholesky(matrices[:, ::-1, ::-1])
        smallest = np.min(np.diagonal(factors, axis1=1, axis2=2) ** 2, axis=1)
        wrong = smallest <= NOTHING * np.max(np.diagonal(matrices, axis1=1, axis2=2), axis=1)
    except np.linalg.LinAlgError:
        wrong = np.array([weakest(D)[2] for D in matrices])
    still = np.zeros(q.shape)
    wrong |= ~np.isfinite(accelerations(plant, q, still, still)).all(axis=1)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ModelError(singular(plant.robot, matrices[at]), fix=NO_INERTIA)
