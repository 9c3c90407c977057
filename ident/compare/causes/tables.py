"""Mistakes of a CAD table among the causes: what `ident.compare.doctor` finds once robot file and log are read rightly.

A table changes nothing that the torques alone tell. Its errors are those of its own prediction: links as the table has
them, joint terms by least squares.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log

import numpy as np

from ident.arrays import Array
from ident.cad.table import COLUMNS, Cad
from ident.compare.causes.geometries import DH, REVERSED, Described, asked_for, size_of, usual_ones
from ident.compare.causes.mistakes import WEIGHTLESS, Mistake, pulled
from ident.compare.causes.reading import Reading
from ident.compare.causes.terms import BALANCED, PART, SPRING, elastic, lacked
from ident.compare.causes.weighing import Weighed, Weigher
from ident.compare.difference import GAIN_OF_ALL
from ident.compare.doctor import Diagnosis, Fault, doctor, searching
from ident.compare.doctor.doctor import DENSITIES
from ident.compare.doctor.evidence import Evidence, evidence
from ident.compare.doctor.hypotheses import Hypothesis, Move, OtherView, TorqueGain, Unexplained
from ident.compare.doctor.search import Search
from ident.compare.doctor.words import WHOLE, WITHOUT
from ident.logs.motion import Motion
from ident.model.model import Model
from ident.model.springs import BALANCES
from ident.model.terms import lines
from ident.regression.compress import compress
from ident.regression.regression import Regression
from ident.robot.robot import Robot
from ident.tables import below

#: Numbers of one fault that are told.
SHOWN = 3
#: Gains [log] that are all so near to 1 are those of a robot that may be exact.
_EXACT = 0.015
#: How often all gains are sought in turn.
_ROUNDS = 4
_RATE = "time: the rate is wrong, for only inertia tells the gain of a joint that gravity does not pull"
_ELSEWHERE = ("gravity", "geometry", "elastic")
#: Standard deviations of gains, of zeros [rad] and of densities of links, and gains [log] that any robot has.
_GAIN_ERROR, _ZERO_ERROR, _DENSITY_ERROR, _GAIN = 0.04, 0.005, 0.04, 0.11
#: A gain so large may stand for a torque that lacks gravity.
_LACKS = 2.0
#: Share of a joint's squared error that is left where a fault is worth the name.
_HELPS = 0.99
#: Share of the error of all joints that is left where another robot is worth the name: a law that the model lacks looks
#: like a length that is off as well.
_OTHER_HELPS = 0.85
#: Nor is anything a fault that makes the error of all joints so many times as large.
_SPOILS = 2.0
#: Of a joint's squared error, for a body that is left out, with ten numbers of its own, or numbers that logs ask for.
_EXTRA = 0.5


@dataclass(frozen=True, eq=False)
class Table:
    """A CAD table to be examined. settled, geometries: as of `ident.compare.doctor.searching`.

    described: what the robot is described by.
    """

    cad: Cad
    settled: Collection[tuple[str, str]] = ()
    geometries: Mapping[str, Robot] = field(default_factory=dict)
    described: Described = DH


@dataclass(frozen=True, eq=False)
class Found:
    """A fault of a table as a mistake, and what the table predicts with it and without it."""

    mistake: Mistake
    fault: Fault
    before: Weighed
    after: Weighed

    @property
    def ordinary(self) -> bool:
        """Whether it is no larger than in any robot, says that a table is a rough one, or helps no prediction."""
        match self.fault.move:
            case TorqueGain(_, factor):
                return factor > 0 and abs(log(factor)) <= _GAIN
            case Unexplained(asked=()):
                return True
            case Unexplained(part="density", asked=(factor,)):
                return abs(log(factor)) <= DENSITIES
            case OtherView() if (
                size_of(self.fault.what)[1] or self.after.relative > _OTHER_HELPS * self.before.relative
            ):
                return True
            case OtherView(_, "elastic") if self.fault.what == BALANCED:
                return not (self.fault.asserted and _pull(self.after, self.fault.where) > BALANCES)
            case OtherView(_, "elastic"):
                return bool(np.all(self.before.left - self.after.left <= PART**2 * self.before.torques))
        without, with_it = (x.left / np.maximum(x.torques, 1e-300) for x in (self.after, self.before))
        free = isinstance(self.fault.move, Unexplained) and bool(self.fault.move.asked)  # as the logs ask for
        extra = free or (self.fault.kind == "extra" and not self.fault.asserted)  # more numbers always help some joint
        worse = not self.fault.asserted and self.after.relative > (_HELPS if extra else 1.0) * self.before.relative
        return worse or bool(np.all(without > (_EXTRA if extra else _HELPS) * with_it))


def _pull(state: Weighed, joint: str) -> float:
    """Return the amplitude of the wave that a reading has last, as a share of the torque of its joint."""
    assert state.theta is not None
    torque = state.torques[state.reading.robot.joint_names.index(joint)]
    return float(np.hypot(*state.theta[-2:]) / np.sqrt(max(torque, 1e-300)))


def may_examine(reading: Reading) -> bool:
    """Return whether samples by themselves can be read so, for `table_faults`."""
    some = reading.weightless.any() or reading.warming.any()
    return not (some or reading.blurred or reading.loads or reading.apart or reading.turned or reading.ignored)


def table_faults(
    weigher: Weigher, model: Model, reading: Reading, motions: Sequence[Motion], table: Table
) -> tuple[list[Found], Diagnosis]:
    """Return what is wrong with a table if a log is read so, which `may_examine` has to allow, and what is without."""
    right = replace(model, robot=reading.robot, terms=(*model.terms, *reading.terms))
    as_read = [reading.motion(m) for m in motions]
    search = table_search(right, compress(right, as_read), table, as_read, described=model.robot)
    return faults_told(weigher, reading, search, table)


def table_search(
    model: Model,
    regression: Regression,
    table: Table,
    motions: Sequence[Motion] = (),
    *,
    described: Robot | None = None,
    tolerance: float | None = None,
) -> Search:
    """Return the search for mistakes of a table, with the gains that the torques ask for by themselves.

    described: the robot of the table, where the model has another; motions, tolerance: as of `searching`.
    """
    cad, robot = table.cad, described or model.robot
    gains = own_gains(evidence(model, regression, {}))
    gains = np.where(np.abs(np.log(gains)).max() < _EXACT, 1.0, gains)
    same = model.robot is robot
    others = {**table.geometries, **usual_ones(robot)} if same else {}

    def with_geometries(geometries: Mapping[str, Robot]) -> Search:
        return searching(
            model,
            regression.scaled(gains),
            cad.for_robot(robot),
            joint_values=cad.joint_values,
            about_origin=about_origin(cad),
            settled=table.settled,
            motions=[replace(m, tau=gains * m.tau) for m in motions],
            geometries=geometries,
            springs=elastic(model) if motions else {},
            tolerance=tolerance,
            gain_error=_GAIN_ERROR,
            zero_error=_ZERO_ERROR,
            density_error=_DENSITY_ERROR,
        )

    found = with_geometries(others)
    asked = asked_for(found, with_geometries, robot) if same and motions else {}
    return with_geometries({**others, **asked}) if asked else found


def faults_told(weigher: Weigher, reading: Reading, search: Search, table: Table) -> tuple[list[Found], Diagnosis]:
    """Return the faults of a table as mistakes, each with what the table predicts with it and without it, and all else.

    A spring or a balancer that takes too little to be one hides what is wrong with its link, and is not asked for.
    """
    while True:
        diagnosis = doctor(search)
        told = _told_of(weigher, reading, search, diagnosis.faults, table)
        slight = {f"{f.fault.where}: {f.fault.what}" for f in told if f.fault.kind == "elastic" and f.ordinary}
        views = tuple(view for view in search.space.views if view.name not in slight)
        if len(views) == len(search.space.views):
            return told, diagnosis
        search = replace(search, space=replace(search.space, views=views), _expanded={})


def _told_of(weigher: Weigher, reading: Reading, search: Search, faults: Sequence[Fault], table: Table) -> list[Found]:
    found = list[Found]()
    moves: tuple[Move, ...] = ()
    before = _told(weigher, reading, search, search.space.start(search.table))
    for fault in (_doubted(x, reading.robot) for x in faults):
        moves = (*moves, fault.move)
        after = _told(weigher, reading, search, search.space.of(search.table, moves))
        if after.relative > _SPOILS * before.relative:  # one that others make up for, which are none by themselves
            break
        kind = fault.kind if fault.kind.startswith("torque") or fault.kind in _ELSEWHERE else f"CAD {fault.kind}"
        mend = _mend(fault, table, reading.robot)
        file = table.described.offset_in if fault.what.startswith("its zero") else None
        mistake = Mistake(kind, fault.where, fault.what, mend, lambda r, _: r, changed=file)
        found.append(Found(mistake, fault, before, after))
        before = after
    return found


def _doubted(fault: Fault, robot: Robot) -> Fault:
    """Return a fault with what a large gain of a joint that carries weight, or one factor of all masses, may be.

    A spring and a balancer of one joint are no rivals: with the one, the other is asked for next where it lacks.
    """
    match fault.move:
        case OtherView(_, "elastic"):
            either = {f"{fault.where}: {what}" for what in (SPRING, BALANCED)}
            rivals = tuple(r for r in fault.rivals if r not in either)
            return replace(fault, asserted=not rivals, rivals=rivals)
        case TorqueGain(j, factor) if factor > _LACKS and pulled(robot)[j]:
            return replace(fault, asserted=False, rivals=(*fault.rivals, f"{fault.where}: {WEIGHTLESS}"))
        case TorqueGain(j, factor) if factor > 0.0 and pulled(robot).any() and not pulled(robot)[j]:
            return replace(fault, asserted=False, rivals=(*fault.rivals, _RATE))
    if scales_all(fault):
        return replace(fault, asserted=False, rivals=(*fault.rivals, GAIN_OF_ALL))
    return fault


def scales_all(fault: Fault) -> bool:
    """Return whether a fault multiplies all masses by a number of no unit, as one gain of all torques would."""
    density = isinstance(fault.move, Unexplained) and fault.move.part == "density"
    return fault.where == WHOLE and (fault.kind == "count" or density)


def about_origin(cad: Cad) -> bool:
    """Return whether a table's tensors are printed about the links' origins."""
    return cad.table is not None and cad.table.convention.tensor_at == "link_origin"


def own_gains(E: Evidence) -> Array:
    """Return the gains (n,) that the torques ask for by themselves, none of them farther from 1 than any robot's."""
    gains, grid = np.ones(len(E.effective)), np.exp(np.linspace(-_GAIN, _GAIN, 45))
    for _ in range(_ROUNDS):
        for j in range(len(gains)):
            prior = -0.5 * (np.log(grid) / _GAIN_ERROR) ** 2
            along = E.fits_along(np.where(np.arange(len(gains)) == j, 1.0, gains), j, grid, E.effective)
            gains[j] = grid[int(np.argmax(along + prior))]
    return gains


def _told(weigher: Weigher, reading: Reading, search: Search, state: Hypothesis) -> Weighed:
    """Return what a table leaves of the torques under a hypothesis."""
    robot = search.space.robots.get(state.view, reading.robot)
    terms = search.space.terms.get(state.view, ())
    torques = np.diag(state.gains) @ reading.torques
    seen = replace(reading, robot=robot, torques=torques, terms=(*reading.terms, *terms))
    links = search.space.inertials(state)
    for extra in state.extras:
        links[extra.link] += search.extra_body(search.without(state, extra), extra)[0]
    return weigher.told(seen, links)


def _mend(fault: Fault, table: Table, robot: Robot) -> str:
    """Return what to change, and where."""
    if fault.what == WITHOUT:
        return table.described.gravity(np.zeros(3))
    if fault.kind == "gravity":
        axis = fault.what.split()[3]  # such as "-z"
        size = float(np.linalg.norm(robot.gravity)) * (-1.0 if axis[0] == "-" else 1.0)
        return table.described.gravity(size * np.eye(3)["xyz".index(axis[1])])
    if fault.what.startswith("its zero"):
        return f"add {size_of(fault.what)[0]:g} degrees to {table.described.offset}"
    if fault.what.startswith("its distance"):
        return f"multiply it by {1.0 + size_of(fault.what)[0]:.4g}"
    if fault.what == REVERSED:
        turned = 0.0 - robot.joints[robot.joint_names.index(fault.where)].axis
        written = "" if table.described.form == "dh" else f"{table.described.axis(turned)} in that joint; or "
        return f"{written}multiply its position and its torque by -1 in the log"
    if fault.kind == "geometry":
        return "describe the robot so"
    if fault.kind == "elastic":
        return f"add it: {below('model', *lines(lacked(fault.where, fault.what)))}"
    if fault.kind == "extra":
        return "measure the link with all that is fixed to it, and export its report again"
    if fault.kind == "torque sign":
        return "multiply its torque by -1, its `gain`"
    if fault.kind == "torque gain":
        return f"multiply its torque by {fault.what.split()[-1]}, its `gain`"
    changed = [in_units_of(table.cad, *numbers) for numbers in changed_by(fault)]
    if not changed:
        return "find what is right in the CAD program: no number is known to be"
    more = f"; {len(changed) - SHOWN} more: `ident cad doctor . -o corrected.csv`" if len(changed) > SHOWN else ""
    return "; ".join(changed[:SHOWN]) + more


def changed_by(fault: Fault) -> list[tuple[str, float, float]]:
    """Return name, given and corrected value of what a fault changes; what conversion leaves of a zero is a zero."""
    sizes: dict[str, float] = {}
    for n in fault.numbers:
        of = n.name[:-1] if n.name[-2] == "c" else n.name[:-2]  # link2.c or link2.I, of all their numbers
        sizes[of] = max(sizes.get(of, 0.0), abs(n.given), abs(n.corrected))

    def clean(name: str, x: float) -> float:
        of = name[:-1] if name[-2] == "c" else name[:-2]
        return 0.0 if abs(x) < 1e-9 * sizes[of] else x

    rows = [(n.name, clean(n.name, n.given), clean(n.name, n.corrected)) for n in fault.numbers]
    return [(name, a, b) for name, a, b in rows if a != b]


def in_units_of(cad: Cad, name: str, given: float, corrected: float) -> str:
    """Return a number as given and corrected [SI, tensor signs], in the table's own unit and sign."""
    k = COLUMNS.index(name.rpartition(".")[2])
    unit, factor = cad.convention.units[k], float(cad.convention.scales[k])
    return f"{name}: {given / factor:z.6g} -> {corrected / factor:z.6g} {unit}"
