"""Joints that slide along gravity, told by the weight that they carry: a constant torque takes that from any fit.

Of a slide a fit sees m (qdd + g) + offset = (m + drive) qdd + constant, and masses of any size explain it. What bodies
are known to weigh tells whether the constant is that of an axis the other way, or of another slide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from ident.arrays import Array
from ident.compare.causes import undone
from ident.compare.causes.mistakes import Mistake, pulled
from ident.compare.causes.reading import Reading
from ident.compare.causes.tables import Found
from ident.compare.causes.weighing import Weighed, Weigher
from ident.compare.doctor import Fault
from ident.compare.doctor.hypotheses import OtherView
from ident.estimate.prior import Prior, neutral_prior
from ident.model import Model, Offset, torque

#: A constant of so many weights is that of a slide which holds them; one of less than LACKS is none.
HOLDS, LACKS = (0.5, 2.0), 0.35
#: A weight that changes by more than this with posture is no constant.
_CHANGES = 0.2


@dataclass(frozen=True, eq=False)
class Slides:
    """What a log says of joints that slide: their constant torques [N], the weights of known bodies on them [N].

    slides, brakes (n,): whether a joint slides along one direction to gravity; whether its friction takes power.
    """

    slides: Array
    constants: Array
    weights: Array
    brakes: Array


def slides_of(weigher: Weigher, reading: Reading, inertials: Array) -> Slides:
    """Return what a log says of joints that slide, by least squares of each torque; inertials (n, 10): known bodies."""
    robot, rows = reading.robot, reading.of(weigher.rows)
    slides = np.array([joint.slides for joint in robot.joints])
    constants, weights, brakes = np.zeros(robot.n), np.zeros(robot.n), slides.copy()
    still, keep = np.zeros_like(rows.q), weigher.kept(reading)
    weight = rows.left(torque(Model(robot), inertials.ravel(), rows.q, still, still))
    most = np.abs(weight[:, slides]).mean(axis=0).max()
    qd, qdd, tau, signs = (rows.left(x) for x in (rows.qd, rows.qdd, rows.tau, np.sign(rows.qd)))
    for j in np.flatnonzero(slides & keep.any(axis=0)):
        on = keep[:, j]
        X = np.column_stack([np.ones(on.sum()), qdd[on, j], qd[on, j], signs[on, j]])
        found = np.linalg.lstsq(X, tau[on, j])[0]
        constants[j], weights[j] = found[0], weight[on, j].mean()
        brakes[j] = float((X[:, 2:] @ found[2:]) @ qd[on, j]) >= 0.0
        slides[j] = weight[on, j].std() <= _CHANGES * max(abs(weights[j]), LACKS * most)
    return Slides(slides, constants, weights, brakes)


def mistaken(weigher: Weigher, reading: Reading, prior: Prior) -> Iterator[Mistake]:
    """Yield slides that have another one's columns, or go the other way, by known bodies of a prior.

    Where friction would drive a joint by its sign, only torque or position is turned round, which inertia tells.
    """
    if any(prior.neutral) or not any(joint.slides for joint in reading.robot.joints):
        return
    told, names, n = slides_of(weigher, reading, prior.inertials), reading.robot.joint_names, reading.robot.n
    size, own = np.abs(told.weights), np.flatnonzero(told.slides)
    for j, k in permutations(own.tolist(), 2):
        share = told.constants[j] / told.weights[k] if size[j] < LACKS * size[k] else 0.0
        if HOLDS[0] < share < HOLDS[1] and abs(told.constants[k]) < LACKS * size[k]:
            where = " and ".join(names[x] for x in sorted((j, k)))
            what = f"the log has them in the other order: {names[j]} holds the weight that is on {names[k]}"
            mend = (
                "swap their columns of position, velocity and torque; or these joints, where the description is wrong"
            )
            order = np.eye(n)[[k if x == j else j if x == k else x for x in range(n)]]
            yield Mistake("joint order", where, what, mend, undone.joints(order))
            return
    for j in own[(size[own] > LACKS * size.max()) & told.brakes[own].astype(bool)]:
        share = -told.constants[j] / told.weights[j]
        if HOLDS[0] < share < HOLDS[1]:
            what = f"it slides the other way than the robot file says: it holds {-share:.2g} times the weight on it"
            mend = "turn its axis round; or multiply its position and its torque by -1, their `gain` in the log's file"
            mend += "; or turn gravity round, where the robot hangs" * (int(pulled(reading.robot).sum()) == 1)
            yield Mistake("direction", names[j], what, mend, undone.joints(np.diag(1.0 - 2.0 * np.eye(n)[j])))


def slid(weigher: Weigher, model: Model, reading: Reading, prior: Prior) -> list[Found]:
    """Return what is wrong with slides, each with what known bodies leave with it and without, no torque constant."""
    found = list[Found]()
    for mistake in mistaken(weigher, reading, prior):
        before, after = (_told(weigher, model, r, prior.inertials) for r in (reading, mistake.without(reading, 0.0)))
        odds = 0.5 * weigher.independent * float(np.log(before.left.sum() / after.left.sum()))
        move = OtherView(mistake.what, mistake.kind)
        fault = Fault(mistake.kind, mistake.where, mistake.what, True, odds, (), "", move)
        found.append(Found(mistake, fault, before, after))
        reading = after.reading
    return found


def _told(weigher: Weigher, model: Model, reading: Reading, inertials: Array) -> Weighed:
    """Return what known bodies (n, 10) leave of the torques where no torque has a constant of its own."""
    plain = replace(model, terms=tuple(t for t in model.terms if not isinstance(t, Offset)))
    bare = Weigher(plain, weigher.rows, neutral_prior(model.robot))
    told = bare.told(reading, inertials)
    own = dict(zip(bare.columns(reading).model.names, told.phi.tolist(), strict=True))
    theta = np.array([own.get(name, 0.0) for name in weigher.columns(reading).model.names])
    return replace(told, phi=theta, theta=theta)
