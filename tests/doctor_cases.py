"""Random arms with realistic bodies, friction and noise, whose CAD tables have known mistakes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from refine_cases import correlated, wrong

from ident.arrays import Array
from ident.compare.doctor.doctor import doctor, searching, zero_instead
from ident.compare.doctor.evidence import DOF, student
from ident.compare.doctor.hypotheses import (
    KNOWN,
    PRIOR,
    SINGLE,
    ExtraBody,
    Hypothesis,
    InLinks,
    Move,
    OtherView,
    Swapped,
    TorqueGain,
)
from ident.compare.doctor.mistakes import Setting, inertials_of, natural
from ident.compare.doctor.search import MARGIN, Search
from ident.logs.motion import Motion
from ident.model import DriveInertia, Model, Offset, SmoothCoulomb, Viscous, torque
from ident.regression import compress
from ident.robot import DHJoint, MDHJoint, Robot, from_dh, from_mdh
from ident.spatial.inertia import from_com

WIDTH = 0.02
GRAVITIES = {
    "+x": (9.81, 0.0, 0.0), "-x": (-9.81, 0.0, 0.0), "+y": (0.0, 9.81, 0.0), "-y": (0.0, -9.81, 0.0),
    "+z": (0.0, 0.0, 9.81),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Case:
    """What the doctor gets (model, motion, CAD (n, 10), other geometry), the truth, and what was planted.

    exact (n, 10): CAD with the mistakes but without its errors of 3 %.
    """

    model: Model
    motion: Motion
    cad: Array
    exact: Array
    bodies: Array
    planted: tuple[Move, ...]
    geometries: dict[str, Robot]


def arm(rng: np.random.Generator, n: int) -> tuple[Robot, Robot]:
    """Return an arm of a standard DH table, and what the same table read as a modified one gives."""
    rows = []
    for i in range(n):
        alpha = float(rng.choice([0.0, np.pi / 2, -np.pi / 2], p=[0.3, 0.35, 0.35]))
        a, d = rng.uniform(0.02, 0.4, 2) * (0.85**i) * (rng.random(2) < 0.8)
        rows.append({"alpha": alpha, "a": float(a), "d": float(d), "theta": float(rng.uniform(-1, 1))})
    return (from_dh("arm", [DHJoint(**row) for row in rows]), from_mdh("arm", [MDHJoint(**row) for row in rows]))


def link_bodies(rng: np.random.Generator, n: int) -> Array:
    """Return bodies (n, 10), each a cloud of masses: 3 to 12 kg at the base, lighter from link to link."""
    found = []
    for i in range(n):
        size = 0.16 * 0.88**i
        x = rng.normal(0.0, size / 2, 3) + rng.normal(0.0, 1.0, (12, 3)) * size * rng.uniform(0.2, 0.6, 3)
        w = rng.dirichlet(np.ones(12))
        c = w @ x
        r = x - c
        spread = (w[:, None] * r).T @ r
        mass = rng.uniform(3.0, 12.0) * 0.7**i
        found.append(from_com(mass, c, mass * (np.trace(spread) * np.eye(3) - spread)))
    return np.array(found)


def fourier(rng: np.random.Generator, n: int, t: Array) -> tuple[Array, Array, Array]:
    """Return a motion of five harmonics with the peak velocities 1.5 to 2.5 rad/s."""
    q, qd, qdd = np.zeros((3, len(t), n))
    for k in range(1, 6):
        w = 2 * np.pi * k / t[-1] * 2
        a, b = rng.normal(size=(2, n)) / k**0.5
        s, c = np.sin(w * t)[:, None], np.cos(w * t)[:, None]
        q, qd, qdd = q + a * s + b * c, qd + w * (a * c - b * s), qdd - w * w * (a * s + b * c)
    scale = rng.uniform(1.5, 2.5, n) / np.abs(qd).max(axis=0)
    return rng.uniform(-1, 1, n) + scale * q, scale * qd, scale * qdd


def case(seed: int, mistakes: int, *, samples: int = 1500, segments: int = 15, share: float = 0.03) -> Case:
    """Return an arm of 3 to 7 joints in a log of 20 s with so many mistakes in its CAD table or torques."""
    rng = np.random.default_rng([seed, mistakes])
    n = int(rng.integers(3, 8))
    right, other = arm(rng, n)
    bodies = link_bodies(rng, n)
    t = np.linspace(0.0, 20.0, samples)
    q, qd, qdd = fourier(rng, n, t)
    base = wrong(rng, bodies, 0.0, share)
    setting = Setting(right, False)
    cad, exact = natural(base, False), natural(bodies, False)
    planted: list[Move] = []
    robot, given, gains = right, right, np.ones(n)
    true = bodies.copy()
    while len(planted) < mistakes:
        kind = str(rng.choice(list(KINDS)))
        if kind == "extra" and not any(isinstance(m, ExtraBody) for m in planted):
            mass = float(rng.uniform(0.4, 1.5) * np.median(bodies[:, 0]))
            size = rng.uniform(0.03, 0.08, 3)
            true[-1] += from_com(mass, rng.normal(0.0, 0.08, 3), mass * np.diag(size**2))
            planted.append(ExtraBody(n - 1, mass, 0.1))
        elif kind in ("gravity", "geometry") and not any(isinstance(m, OtherView) for m in planted):
            if kind == "gravity":
                name = str(rng.choice(list(GRAVITIES)))
                robot = right.with_gravity(GRAVITIES[name])
                planted.append(OtherView(f"gravity {name}", "gravity"))
            else:
                given = other
                planted.append(OtherView("as the other table", "geometry"))
            robot = right if kind == "geometry" else robot
        elif kind.startswith("torque"):
            j = int(rng.integers(n))
            if gains[j] == 1.0:
                factor = -1.0 if kind == "torque sign" else float(np.exp(rng.choice([-1, 1]) * rng.uniform(0.25, 1.1)))
                gains[j] = factor
                planted.append(TorqueGain(j, -1.0) if kind == "torque sign" else TorqueGain(j, 1 / factor, 0.0))
        elif kind == "swap":
            a, b = sorted(int(x) for x in rng.choice(n, 2, replace=False))
            if not any(isinstance(m, InLinks | Swapped) for m in planted):
                cad[[a, b]], exact[[a, b]] = cad[[b, a]], exact[[b, a]]
                planted.append(Swapped((a, b)))
        elif any(m.kind == kind for m in KNOWN):
            known = [m for m in KNOWN if m.kind == kind]
            mistake = known[int(rng.integers(len(known)))]
            links = tuple(range(n)) if rng.random() < 0.4 else (int(rng.integers(n)),)
            if mistake.kind == "frame" and any(isinstance(m, OtherView) for m in planted):
                continue
            touched = {i for m in planted if isinstance(m, InLinks) for i in m.links}
            touched |= {i for m in planted if isinstance(m, Swapped) for i in m.links}
            if touched & set(links):
                continue
            for i in links:
                cad[i], exact[i] = mistake.made(cad[i], i, setting), mistake.made(exact[i], i, setting)
            planted.append(InLinks(mistake, links))
    terms = (DriveInertia(), Viscous(), SmoothCoulomb(WIDTH), Offset())
    plant, model = Model(robot, terms), Model(given, terms)
    theta = np.concatenate([true.ravel(), np.zeros(len(plant.names) - 10 * n)])
    rigid = torque(plant, theta, q, qd, qdd)
    level = np.sqrt(np.mean(rigid**2, axis=0)) + 0.05
    own = {"drive_inertia": 0.1, "viscous": 0.1, "coulomb": 0.15, "offset": 0.02}
    for k, name in enumerate(plant.names[10 * n :]):
        joint, _, term = name.rpartition(".")
        theta[10 * n + k] = own[term] * level[right.joint_names.index(joint)] * rng.uniform(0.3, 1.0)
    tau = torque(plant, theta, q, qd, qdd)
    # beside noise: friction at low speed (Stribeck) that the model does not have
    stribeck = 0.03 * level * np.tanh(qd / WIDTH) * np.exp(-((qd / 0.1) ** 2))
    tau = gains * (tau + stribeck + 0.03 * level * correlated(rng, tau.shape, 0.9))
    cuts = np.linspace(0, samples, segments + 1).astype(int).tolist()
    motion = Motion("log", t, q, qd, qdd, tau, np.ones(tau.shape, dtype=bool), (), tuple(pairwise(cuts)))
    return Case(
        model, motion, inertials_of(cad, False), inertials_of(exact, False), true, tuple(planted),
        {"as the other table": right if given is other else other},
    )  # fmt: skip


#: What is planted; single numbers are in `experiments/benchmarks/mistakes.py`.
KINDS = tuple(k for k in PRIOR if k not in ("unexplained", "override", "elastic", SINGLE))
#: Alternatives that are looked at, the best of an exact table first.
_LOOKED_AT = 60


@dataclass(frozen=True)
class Tally:
    """What one case came to; mistakes as texts "kind of WHERE"."""

    seed: int
    seconds: float
    planted: tuple[str, ...]
    asserted: tuple[str, ...]
    identifiable: tuple[str, ...]
    named: tuple[str, ...]
    wrong: tuple[str, ...]
    missed: tuple[str, ...]
    undecidable: int
    overclaimed: tuple[str, ...]
    tolerance: float


def same(found: Move, planted: Move) -> bool:
    """Return whether two moves say the same: gains within 10 %, extra bodies on one link."""
    if isinstance(found, TorqueGain) and isinstance(planted, TorqueGain):
        ratio = found.factor / planted.factor
        return found.joint == planted.joint and ratio > 0 and abs(np.log(ratio)) < 0.1
    if isinstance(found, ExtraBody) and isinstance(planted, ExtraBody):
        return found.link == planted.link
    return found == planted


def odds(search: Search, truth: Hypothesis, other: Hypothesis, tolerance: float) -> tuple[float, float]:
    """Return mean and standard deviation of the log odds of the truth against another hypothesis.

    Over the errors of the fit and of the table's numbers, those of a right table being off by `tolerance`. Whether
    bodies can exist is left out: that is not drawn, see `consistency`.
    """
    E = search.evidence(truth)
    if other.view != truth.view or (other.gains != truth.gains).any():
        # what the torques themselves say decides, which has one draw only
        mean = search.score(truth) - search.score(other) + search.penalty(truth) - search.penalty(other)
        return mean, float(np.sqrt(2 * abs(mean)))
    d = E.size
    (r, S), (r_other, T) = (search.totals(E, state, tolerance) for state in (truth, other))
    S, T, delta = S + np.eye(d), T + np.eye(d), r_other - r
    L = np.linalg.cholesky(T)
    v, M = np.linalg.solve(L, delta), np.linalg.solve(L, np.linalg.solve(L, S).T)
    squares = np.array([d, v @ v + np.trace(M)])
    logs = student(squares, np.array([np.linalg.slogdet(S)[1], 2 * np.sum(np.log(np.diagonal(L)))]), d)
    known = [search.log_prior(s.moves) for s in (truth, other)]
    spread = np.sqrt(v @ M @ v + 0.5 * np.sum((M - np.eye(d)) ** 2))
    return float(logs[0] - logs[1] + known[0] - known[1]), float(spread * (DOF + d) / (DOF + squares[1]))


def consistency(drawn: Search, given: Array, truth: Hypothesis, other: Hypothesis) -> float:
    """Return the log odds of the truth against another hypothesis by the bodies that exist: the table's own digits."""
    one, two = (drawn.space.of(given, state.moves) for state in (truth, other))
    return drawn.penalty(two) - drawn.penalty(one)


def decidable(
    search: Search, drawn: Search, given: Array, truth: Hypothesis, move: Move, tolerance: float
) -> tuple[float, float]:
    """Return what the log odds for a planted mistake are at least and at most, against the worst alternative.

    At least: two standard deviations below their mean; at most: three above.
    """
    if zero_instead(move, search.space.setting.robot) is not None:
        return -np.inf, -np.inf  # another zero of its joint changes the same
    less = search.without(truth, move)
    others = [less]
    others += [search.space.after(less, o.move) for o in search.options(less) if not same(o.move, move)][:_LOOKED_AT]
    found = []
    for other in others:
        mean, sd = odds(search, truth, other, tolerance)
        found.append((mean + consistency(drawn, given, truth, other), sd))
    return min(mean - 2 * sd for mean, sd in found), min(mean + 3 * sd for mean, sd in found)


def judged(seed: int, mistakes: int, share: float = 0.03, tolerance: float | None = None) -> Tally:
    """Return what the doctor makes of a case, right numbers off by up to a share, with a tolerance given or learnt."""
    c = case(seed, mistakes, share=share)
    regression = compress(c.model, c.motion)
    began = time.process_time()
    search = searching(c.model, regression, c.cad, motions=[c.motion], geometries=c.geometries, tolerance=tolerance)
    found = doctor(search)
    took = time.process_time() - began
    asserted = [f for f in found.faults if f.asserted]
    true = share / np.sqrt(3)  # root mean square of errors that are uniform up to the share
    exact = searching(c.model, regression, c.exact, motions=[c.motion], geometries=c.geometries, tolerance=true)
    truth = exact.space.of(c.exact, c.planted)
    sure = {move: decidable(exact, search, c.cad, truth, move, true) for move in c.planted}
    identifiable = [m for m in c.planted if sure[m][0] >= MARGIN]
    named = [m for m in identifiable if any(same(f.move, m) for f in asserted)]
    wrong = [f for f in asserted if not any(same(f.move, m) for m in c.planted)]
    hidden = [m for m in c.planted if sure[m][1] < MARGIN]
    return Tally(
        seed,
        took,
        tuple(f"{m} ({sure[m][0]:.0f} to {sure[m][1]:.0f})" for m in c.planted),
        tuple(f.kind for f in asserted),
        tuple(m.kind for m in identifiable),
        tuple(m.kind for m in named),
        tuple(f"{f.where}: {f.what} ({f.log_odds:.0f})" for f in wrong),
        tuple(f"missed {m}, found {[f'{f.where}: {f.what}, rivals {f.rivals}' for f in found.faults]}"
              for m in identifiable if m not in named),
        len(hidden),
        tuple(f"{m} ({sure[m][0]:.0f} to {sure[m][1]:.0f})"
              for m in hidden if any(same(f.move, m) for f in asserted)),
        found.tolerance,
    )  # fmt: skip
