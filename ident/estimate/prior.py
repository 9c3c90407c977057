"""What the parameters are regularised towards where the data do not decide, CAD or neutral bodies; and whether to
believe them.

A body that can exist may still be one that no robot has: the logs know combinations only, and where they leave open how
these are shared out, 1,201 kg for a robot of 16 kg fit them as well as the truth.

Constant metrics for fits regularised towards a prior: how far links are from its own, |root @ (theta - theta_0)|^2.

Each is a small value with `root(prior) -> Array (m, 10 n)`. The entropic divergence tr Q - log det Q - 4 of
Q = J0^-1 J (pseudo-inertias of a body and of the prior's; Lee, Wensing, Park, T-RO 2020) is no metric, and finite only
inside of what can exist.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen, or_one
from ident.errors import ModelError
from ident.estimate.covariance import determined, deviations
from ident.model.model import Model
from ident.model.standard import Offset
from ident.model.term import BENDS, bends
from ident.regression.base import r_factor
from ident.regression.regression import Regression, lengths
from ident.robot.robot import Robot
from ident.shown import shows
from ident.spatial.inertia import PSEUDO_INERTIA_MAP, consistency, from_pseudo_inertia, pseudo_inertia, to_com

DENSITY = 2000.0  # kg/m^3: between a hollow aluminium link and a solid one
SLENDERNESS = 0.1  # radius of a link against its length
STOUTNESS = 0.2  # radius of a link against the mean link length, at least


@shows
@dataclass(frozen=True, eq=False)
class Prior:
    """Physically consistent inertials (n, 10), positive joint-term values by name, and where they come from.

    neutral (n,): which links have a neutral body, because nothing is known of them; default none.
    Raises ModelError when a link of the prior cannot exist: its divergence would be infinite.
    """

    inertials: Array
    source: str
    joint_values: Mapping[str, float] = field(default_factory=dict)
    neutral: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "inertials", frozen(self.inertials, (None, 10), "prior inertials", ModelError))
        object.__setattr__(self, "neutral", tuple(self.neutral) or (False,) * len(self.inertials))
        for i, body in enumerate(self.inertials):
            found = consistency(body)
            if not found.consistent:
                problem = f"link {i + 1} of the prior ({self.source}) cannot exist: {'; '.join(found.failures())}"
                raise ModelError(problem, fix="Correct the CAD table, or fit without one")

    def scaled(self, scale: float) -> Prior:
        """Return the prior with all bodies heavier by this factor."""
        if scale == 1.0:
            return self
        return replace(self, inertials=scale * self.inertials, source=f"{self.source}, times {scale:.3g}")


def cad_prior(
    robot: Robot, inertials: ArrayLike, source: str, joint_values: Mapping[str, float] | None = None
) -> Prior:
    """Return the prior at CAD values (n, 10). Bodies flat or thin enough to be singular get 1e-6 of a neutral body.

    Links whose row is NaN (the description gives no inertial) get the neutral body. Raises ModelError that names each
    link that cannot exist, and the nearest tensor that can.
    """
    values = np.array(inertials, dtype=np.float64)
    neutral = neutral_inertials(robot)
    missing = [robot.links[i] for i in range(robot.n) if np.isnan(values[i]).any()]
    for i in range(robot.n):
        if np.isnan(values[i]).any():
            values[i] = neutral[i]
        else:
            relative = np.linalg.eigvalsh(whitened(pseudo_inertia(values[i]), pseudo_inertia(neutral[i])))
            if abs(relative[0]) < 1e-9 * max(relative[-1], 1.0):  # flat, or a point, up to rounding
                values[i] = values[i] + 1e-6 * neutral[i]
    found = [consistency(body) for body in values]
    bad = [
        f"link '{robot.links[i]}' cannot exist: {'; '.join(f.failures())}{_nearest(values[i])}"
        for i, f in enumerate(found)
        if not f.consistent
    ]
    if bad:
        raise ModelError(f"{source}: {'. '.join(bad)}", fix="Correct these numbers, or fit without them")
    if missing:
        source += f"; neutral bodies for {', '.join(missing)}"
    return Prior(values, source, dict(joint_values or {}), tuple(link in missing for link in robot.links))


def solid_bodies(robot: Robot, inertials: ArrayLike, unknown: Sequence[str]) -> Array:
    """Return CAD values (n, 10) with neutral bodies for unknown links, as heavy for their size as the others."""
    values, neutral = np.array(inertials, dtype=np.float64), neutral_inertials(robot)
    out = np.array([link in unknown for link in robot.links], dtype=bool)
    heavier = values[~out, 0] / neutral[~out, 0]
    values[out] = neutral[out] * (np.nanmedian(heavier) if np.isfinite(heavier).any() else 1.0)
    return values


def neutral_prior(robot: Robot) -> Prior:
    """Return the prior for a robot without CAD: solid rods of 2000 kg/m^3 from each joint to the next."""
    source = f"neutral: solid rods of {DENSITY:g} kg/m^3 between the joints"
    return Prior(neutral_inertials(robot), source, neutral=(True,) * robot.n)


def neutral_inertials(robot: Robot) -> Array:
    """Return a rod (n, 10) per link, from its frame to the mean of the joints and frames that it carries.

    Radius: a tenth of its length, but at least a fifth of the mean link length; length: at least twice the radius.
    Where no link has a length, the joints' share of the robot's reach stands for the mean, within 0.1 to 0.5 m.
    """
    ends = []
    for i in range(robot.n):
        carried = [j.placement.position for j in robot.joints if j.parent == i]
        carried += [f.pose.position for f in robot.fixed if f.link == i]
        ends.append(np.mean(carried, axis=0) if carried else np.zeros(3))
    lengths = np.linalg.norm(ends, axis=1)
    typical = lengths[lengths > 0].mean() if (lengths > 0).any() else np.clip(robot.reach / robot.n, 0.1, 0.5)
    radius = np.maximum(SLENDERNESS * lengths, STOUTNESS * typical)
    rod = np.maximum(lengths, 2.0 * radius)
    mass = DENSITY * np.pi * radius**2 * rod
    along = np.where(lengths[:, None] > 0, np.array(ends) / or_one(lengths)[:, None], [0.0, 0.0, 1.0])
    J = np.zeros((robot.n, 4, 4))  # of 1 kg about the centre, then about the frame
    J[:, :3, :3] = np.multiply.outer(radius**2 / 4, np.eye(3))
    J[:, :3, :3] += (rod**2 / 12 - radius**2 / 4)[:, None, None] * along[:, :, None] * along[:, None]
    centre = np.column_stack([np.array(ends) / 2, np.ones(robot.n)])
    return from_pseudo_inertia(mass[:, None, None] * (J + centre[:, :, None] * centre[:, None]))


def _nearest(body: Array) -> str:
    from ident.cad.check import nearest_tensor
    from ident.cad.convention import PLAIN

    nearest = nearest_tensor(body, PLAIN) if body[0] > 0 else ""
    return f"; the nearest that can exist about the centre of mass: {nearest}" if nearest else ""


def whitened(j: Array, reference: Array) -> Array:
    """Return a pseudo-inertia (4, 4) in coordinates in which the reference is the unit matrix."""
    half = np.linalg.inv(np.linalg.cholesky(reference))
    return np.asarray(half @ j @ half.T)


#: A mass or radius of gyration so many times less or more than CAD's is implausible.
FROM_CAD = (5.0, 5.0)
#: The same against a neutral body, which knows the robot's size and torques alone: small links are often hollow.
FROM_NEUTRAL = (50.0, 30.0)
#: A last link may have a tool that its description lacks, of such a share of the arm's own mass.
CARRIED = 0.3
#: A joint whose torque is so many times less than CAD's links need, more than that of others is, lacks gravity.
LESS = 3.0


def implausible(robot: Robot, inertials: Array, prior: Prior, known: Collection[str] = ()) -> tuple[str, ...]:
    """Return a sentence for each link of inertials (n, 10) whose mass, spread or centre no such link has.

    Each body is compared with the prior's: its mass, and its least and largest radius of gyration about its centre. The
    mass of a neutral body may be that of its full size or, as torques ask for, scaled.
    Against CAD the centre may move by so many of CAD's largest radii; without, it stays within the robot's reach. A
    last link that is heavier than CAD's may carry a tool, of which nothing is known either.
    known: names of masses that the logs determine by themselves; they are believed.
    """
    found = []
    own, given = _shapes(neutral_inertials(robot)), _shapes(prior.inertials)
    for i, (link, m, c, k) in enumerate(zip(robot.links, *_shapes(inertials), strict=True)):
        tool = i not in robot.parents and given[0][i] < m <= given[0][i] + CARRIED * float(given[0].sum())
        neutral = prior.neutral[i] or (tool and m > FROM_CAD[1] * given[0][i])
        usual, centre, radii = (x[i] for x in (own if neutral else given))
        size = max(radii[-1], own[2][i, -1])
        against, (less, more) = ("a neutral body's", FROM_NEUTRAL) if neutral else ("CAD's", FROM_CAD)
        room = robot.reach if neutral and robot.reach else more * size
        scaled = given[0][i] if neutral and prior.neutral[i] else usual  # as the torques ask for, or its full size
        if not min(usual, scaled) / less <= m <= max(usual, scaled) * more and f"{link}.m" not in known:
            found.append(f"{link}: mass {m:.4g} kg, {against} {usual:.4g} kg")
        elif k[0] < radii[0] / less:
            found.append(f"{link}: least radius of gyration {k[0]:.2g} m, {against} {radii[0]:.2g} m")
        elif k[-1] > more * size:
            found.append(f"{link}: largest radius of gyration {k[-1]:.2g} m, {against} {radii[-1]:.2g} m")
        elif np.linalg.norm(c - centre) > room:
            found.append(f"{link}: centre of mass {np.linalg.norm(c - centre):.2g} m from {against}")
    return tuple(found)


def weightless(robot: Robot, regression: Regression, prior: Prior) -> tuple[str, ...]:
    """Return a sentence for each joint whose logged torque is far less than that of the prior's links, on these logs.

    Other joints' torques are not, so that all of them are no currents. Nothing is said against neutral bodies, nor for
    ones that no robot of this size has.
    """
    if sum(prior.neutral) > len(prior.neutral) / 2:
        return ()
    bodies = np.zeros(regression.base.K.shape[1])
    bodies[: prior.inertials.size] = prior.inertials.ravel()
    phi, rows = regression.base.K @ bodies, np.maximum(regression.rows, 1)
    parts = zip(regression.joint_factors, regression.parameters, strict=True)
    needed = np.sqrt(np.array([np.sum((R[:, :-1] @ phi[list(own)]) ** 2) for R, own in parts]) / rows)
    logged = np.sqrt(regression.squared_torques / rows)
    found = []
    for j in np.flatnonzero(logged > 0):
        others = (logged > 0) & (np.arange(robot.n) != j)
        usual = float(np.median(needed[others] / logged[others])) if others.any() else np.inf
        if needed[j] > LESS * max(1.0, usual) * logged[j]:
            joint, unit = robot.joint_names[j], robot.joints[j].unit("torque")
            found.append(
                f"{joint} is logged with {logged[j]:.3g} {unit} where CAD's links need {needed[j]:.3g}: without gravity"
                f" (a balancer, a drive that takes it out), not in {unit}, or CAD is wrong; leave it out (gain 0), give"
                " its gain, or correct CAD"
            )
    if found and implausible(robot, prior.inertials, neutral_prior(robot)):
        return ()
    return tuple(found)


def _shapes(bodies: Array) -> tuple[Array, Array, Array]:
    """Return mass (n,), centre (n, 3) and principal radii of gyration about it (n, 3), ascending, of bodies (n, 10)."""
    mass, some = bodies[:, 0], np.where(bodies[:, 0] == 0.0, 1.0, bodies[:, 0])[:, None]
    c = np.where(mass[:, None] == 0.0, 0.0, bodies[:, 1:4] / some)
    spread = np.linalg.eigvalsh(pseudo_inertia(bodies)[:, :3, :3] - mass[:, None, None] * c[:, :, None] * c[:, None])
    moments = np.maximum(spread.sum(axis=1)[:, None] - spread[:, ::-1], 0.0)
    return mass, c, np.sqrt(moments / some)


class Metric(Protocol):
    """A constant metric on inertials, taken at a prior: distances are norms of its root."""

    def root(self, prior: Prior) -> Array:
        """Return a root (m, 10 n) of the metric."""
        ...


@dataclass(frozen=True)
class ConstantPullback:
    """|L^-1 (J - J_0) L^-T|_F^2 with J_0 = L L': the affine-invariant metric, pulled back at the prior and kept there.

    Units and frames do not matter; half of it is the second-order part of the entropic divergence
    (Lee, Wensing, Park, T-RO 2020).
    """

    def root(self, prior: Prior) -> Array:
        """Return its root (16 n, 10 n)."""
        from scipy.linalg import block_diag

        parts = []
        for body in prior.inertials:
            inverse = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(body)))
            parts.append(np.kron(inverse, inverse) @ PSEUDO_INERTIA_MAP)
        return np.asarray(block_diag(*parts))


@dataclass(frozen=True)
class Euclidean:
    """Plain differences of the ten numbers in SI, as in regularised least squares; units and frames matter."""

    def root(self, prior: Prior) -> Array:
        """Return its root (10 n, 10 n)."""
        return np.eye(prior.inertials.size)


@dataclass(frozen=True)
class Tolerances:
    """How far CAD's numbers may be off, as standard deviations: the metric counts differences in these.

    mass: share of the mass; centre [m], along each axis; tensor: share of sqrt(I_aa I_bb), of the entry I_ab about
    the centre of mass; each one number for all links, or one for each. joint: share of each joint term that the prior
    states. covariances: of the inertials (10, 10) of links, by their places, where these are known otherwise.
    Raises ModelError unless all are positive.
    """

    mass: float | tuple[float, ...] = 0.02
    centre: float | tuple[float, ...] = 1e-3
    tensor: float | tuple[float, ...] = 0.05
    joint: float = 0.3
    covariances: Mapping[int, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in self._numbers():
            for x in np.atleast_1d(value):
                if not 0.0 < x < np.inf:
                    raise ModelError(f"the tolerance of the {name} must be positive, got {x:g}")

    @classmethod
    def shares(cls, prior: Prior, shares: ArrayLike) -> Tolerances:
        """Return tolerances that are one share, or one for each link (n,), of all its numbers.

        The centre's is that share of its distance from the frame's origin, or of 10 mm if that is more.
        """
        n = len(prior.inertials)
        each = np.broadcast_to(np.asarray(shares, dtype=np.float64), n)
        reach = [max(float(np.linalg.norm(to_com(body)[1])), 0.01) for body in prior.inertials]
        share = tuple(each.tolist())
        return cls(mass=share, centre=tuple((each * reach).tolist()), tensor=share)

    def root(self, prior: Prior) -> Array:
        """Return its root (10 n, 10 n), linear in theta at the prior. Raises ModelError for too many or few of them."""
        from scipy.linalg import block_diag

        n = len(prior.inertials)
        for name, value in self._numbers():
            if np.ndim(value) and np.shape(value) != (n,):
                raise ModelError(f"the tolerances of the {name} are {np.size(value)}, wanted one or {n}, one per link")
        each = (np.broadcast_to(value, n) for value in (self.mass, self.centre, self.tensor))
        roots = [_tolerance_root(*of) for of in zip(prior.inertials, *each, strict=True)]
        for i, covariance in self.covariances.items():
            roots[i] = np.linalg.inv(np.linalg.cholesky(covariance))
        return np.asarray(block_diag(*roots))

    def _numbers(self) -> list[tuple[str, float | tuple[float, ...]]]:
        return [(name, value) for name, value in vars(self).items() if name != "covariances"]


def _tolerance_root(body: Array, mass: float, centre: float, tensor: float) -> Array:
    m, c, inertia = to_com(body)
    d = np.sqrt(np.diag(inertia))
    deviations = np.concatenate([[mass * m], [centre] * 3, tensor * np.outer(d, d)[np.triu_indices(3)]])
    return np.asarray(np.linalg.inv(natural_jacobian(m, c) * deviations))


def natural_jacobian(mass: ArrayLike, centre: ArrayLike) -> Array:
    """Return d theta / d (m, c, I_c) (..., 10, 10) of bodies (...), (..., 3): h = m c, I = I_c + m (c'c E - c c')."""
    c = np.asarray(centre, dtype=np.float64)
    m = np.asarray(mass, dtype=np.float64)[..., None]
    parts = [np.ones_like(m), m, c, c * c, c[..., [0, 0, 1]] * c[..., [1, 2, 2]], m * c]
    return (np.concatenate(parts, axis=-1) @ _SLOPES).reshape(*c.shape[:-1], 10, 10)


def _slopes() -> Array:
    """Return what 1, m, x y z, xx yy zz, xy xz yz and m x, m y, m z add to `natural_jacobian` (14, 100)."""
    D = np.zeros((14, 10, 10))
    D[0, [0, 4, 5, 6, 7, 8, 9], [0, 4, 5, 6, 7, 8, 9]] = 1.0
    D[1, [1, 2, 3], [1, 2, 3]] = 1.0
    for k in range(3):
        D[2 + k, 1 + k, 0] = 1.0
        for row in (r for r, axis in ((4, 0), (7, 1), (9, 2)) if axis != k):
            D[5 + k, row, 0], D[11 + k, row, 1 + k] = 1.0, 2.0
    for k, (row, a, b) in enumerate(((5, 0, 1), (6, 0, 2), (8, 1, 2))):
        D[8 + k, row, 0] = D[11 + a, row, 1 + b] = D[11 + b, row, 1 + a] = -1.0
    return D.reshape(14, 100)


_SLOPES = _slopes()


# ---- joint terms that the logs do not determine ---------------------------------------------------------------------

#: How strongly an offset that is open is drawn to its value, against what the logs say of it in sums.
_PULL = 1e-4
#: A term is nearly open where its standard error is more than this share of its joint's torque. Of a joint that moved
#: one way friction and offset are told apart by the law's width near standstill alone: each is noise, their sum is not.
_VAGUE = 0.1
#: The shares of their joint's torque that an offset and any other term make, as standard deviations.
_SHARES = (0.1, 0.3)


def usual_factor(model: Model, regression: Regression, prior: Prior, sigma: Array, factor: Array) -> Array:
    """Return a factor (b + 1, b + 1) of the regression with a row for each joint term that it leaves nearly open.

    The row says that the term makes a usual share of its joint's torque, more or less; those of curves that they bend
    little. sigma (n,) [N m; N]: the noise
    by which the factor's rows are divided. Where no term is nearly open, the factor itself is returned.
    """
    rows = [*_vague(model, regression, prior, sigma, factor), *_straight(model, regression)]
    return r_factor(np.concatenate([factor, *rows])) if rows else factor


def _straight(model: Model, regression: Regression) -> list[Array]:
    """Return the rows (k, b + 1) of each curve of the model, see `bends`."""
    names, size = regression.base.names, np.sqrt(regression.squared_torques / np.maximum(regression.rows, 1))
    found = []
    for j, at, D in bends(model.terms, model.robot):
        own = [model.names[model.n_rigid + k] for k in at]
        if size[j] > 0.0 and set(own) <= set(names):
            rows = np.zeros((len(D), len(names) + 1))
            rows[:, [names.index(name) for name in own]] = D / (BENDS * size[j])
            found.append(rows)
    return found


def _vague(model: Model, regression: Regression, prior: Prior, sigma: Array, factor: Array) -> list[Array]:
    """Return a row (1, b + 1) for each joint term that is nearly open."""
    base, columns = regression.base, np.linalg.norm(regression.factor(sigma)[:, :-1], axis=0)
    apart = regression.n_joints == model.robot.n  # a regressor that was given stacked does not tell joints
    torque = dict(zip(model.robot.joint_names * apart, np.sqrt(regression.squared_torques) / sigma, strict=apart))
    errors, values = deviations(factor), base.K @ _values(model, prior)
    found = []
    for k in np.flatnonzero((base.K[:, : model.n_rigid] == 0).all(axis=1)):
        joint, _, kind = base.names[k].rpartition(".")
        if columns[k] * errors[k] > _VAGUE * torque.get(joint, 0.0) > 0.0:
            weight = columns[k] / (_SHARES[kind != Offset.kind.name] * torque[joint])
            row = np.zeros((1, len(factor)))
            row[0, k], row[0, -1] = weight, weight * values[k]
            found.append(row)
    return found


def settled(model: Model, regression: Regression, prior: Prior, pinned: Sequence[int], theta: Array) -> Array:
    """Return theta (p,) with the values, to the last digit, of the terms that the logs leave open, and those pinned."""
    open_ = ~(regression.base.K[regression.seen] != 0).any(axis=0)
    open_[[regression.base.kept[k] for k in pinned]] = True
    open_[: model.n_rigid] = False
    return np.where(open_, _values(model, prior), theta)


def drawn_factor(model: Model, regression: Regression, prior: Prior, sigma: Array) -> tuple[Array, list[int]]:
    """Return the regression's factor (b + 1, b + 1) with a row for each joint term that it leaves open.

    With it, which base parameters were pinned: one at a time, until none is open.
    """
    factor, base = regression.factor(sigma), regression.base
    size = lengths(factor[:, :-1])
    values = base.K @ _values(model, prior)
    alone = (base.K[:, : model.n_rigid] == 0).all(axis=1)  # of joint terms, no link in the sum
    pinned: list[int] = []

    def row(k: int, weight: float) -> Array:
        found = np.zeros((1, len(factor)))
        found[0, [k, -1]] = weight * size[k], weight * size[k] * values[k]
        return found

    while True:
        open_ = [int(k) for k in np.flatnonzero(~determined(factor)) if alone[k]]
        first = [k for k in open_ if k not in pinned and not base.names[k].endswith(f".{Offset.kind.name}")]
        if not first:
            rows = [row(k, _PULL) for k in open_ if k not in pinned]
            return (r_factor(np.concatenate([factor, *rows])) if rows else factor), pinned
        offset = f"{base.names[first[0]].rpartition('.')[0]}.{Offset.kind.name}"
        moved = factor[:, first[0]].any() and not prior.joint_values.get(base.names[first[0]])
        beside = [k for k in open_ if k not in pinned and base.names[k] == offset and moved]
        pinned.append((beside or first)[0])  # of a joint that moved one way the offset, not friction without a value
        factor = r_factor(np.concatenate([factor, row(pinned[-1], 1.0)]))


def _values(model: Model, prior: Prior) -> Array:
    """Return the prior's joint terms (p,), 0 where it says nothing and for the links."""
    return np.array([prior.joint_values.get(name, 0.0) for name in model.names])
