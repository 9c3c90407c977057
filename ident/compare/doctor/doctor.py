"""A CAD table against a fit: what is wrong with it, how sure that is, and what could not be told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.cad.sheets.read import find_sheets, read_sheet
from ident.cad.sheets.readings import decide
from ident.cad.table import COLUMNS
from ident.compare.doctor.agreed import (
    FREED,
    LIKELY,
    agreement,
    contained,
    instead_of,
    nameless,
    told_by,
    unknown,
    what_is_left,
)
from ident.compare.doctor.beam import best as best_of
from ident.compare.doctor.evidence import Evidence, evidence
from ident.compare.doctor.hypotheses import (
    TOLERANCES,
    ExtraBody,
    Hypothesis,
    InLinks,
    Move,
    Space,
    Swapped,
    Unexplained,
    can_exist,
    touched,
    views_of,
)
from ident.compare.doctor.mistakes import Setting, inertials_of
from ident.compare.doctor.search import MARGIN, Option, Search, alike
from ident.compare.doctor.words import WHOLE, described
from ident.errors import ModelError, RobotError
from ident.logs.motion import Motion
from ident.model.model import Model
from ident.model.term import Term
from ident.regression.compress import compress
from ident.regression.regression import Regression
from ident.robot import Robot, read_robot
from ident.tables import read_toml


def searching(
    model: Model,
    regression: Regression,
    table: ArrayLike,
    *,
    joint_values: Mapping[str, float] | None = None,
    about_origin: bool = False,
    settled: Collection[tuple[str, str]] = (),
    motions: Sequence[Motion] = (),
    geometries: Mapping[str, Robot] | None = None,
    springs: Mapping[str, tuple[Term, ...]] | None = None,
    tolerance: float | None = None,
    gain_error: float = 0.0,
    zero_error: float = 0.0,
    density_error: float = 0.0,
) -> Search:
    """Return the search for known mistakes of a CAD table (n, 10) that explain the logs, for `doctor`.

    joint_values: joint terms that CAD states, by name. about_origin: the table's tensors are printed about the link's
    origin. settled: (link, kind) pairs, such as ("link2", "sign"), that reports decide by themselves. motions: those of
    the regression; without them gravity and geometry are not questioned. geometries: other robots to compare with, such
    as the same table in the other Denavit-Hartenberg convention. springs: terms that the model may lack, by what it
    then has; free links make up for much of them. tolerance: how far right CAD numbers may be off, a
    share of the mass, of the centre's distance and of sqrt(I_aa I_bb); None: whatever of TOLERANCES suits each reading,
    all of them equally probable beforehand, so that a large error stands out from numbers that are good otherwise, and
    numbers that are all a little off raise no alarm. gain_error, zero_error: as of `Search`; the
    latter needs motions. density_error: as of `Space`.

    Raises ModelError for a table that does not fit the robot.
    """
    values = frozen(table, (model.robot.n, 10), "the CAD table", ModelError)
    robot, given = model.robot, dict(joint_values or {})
    others, views = views_of(robot, geometries or {}, springs or {}) if motions else ({}, [])
    factors: dict[str, tuple[Model, Regression]] = {"": (model, regression)}

    def look(view: str, gains: Array) -> Evidence:
        if view not in factors:
            more = (springs or {}).get(view, ())
            seen = replace(model, robot=others.get(view, robot), terms=(*model.terms, *more))
            factors[view] = (seen, compress(seen, motions))
        return evidence(*factors[view], given, gains, motions if zero_error else ())

    places = {link: i for i, link in enumerate(robot.links)}
    space = Space(
        Setting(robot, about_origin),
        TOLERANCES if tolerance is None else (tolerance,),
        frozenset((places[link], kind) for link, kind in settled),
        tuple(views),
        others,
        density_error,
        dict(springs or {}),
    )
    start = look("", np.ones(robot.n))
    return Search(space, values, look, start.effective, gain_error=gain_error, zero_error=zero_error)


@dataclass(frozen=True)
class CorrectedNumber:
    """One number of the table: as given, and as it is without the mistakes (tensor about the declared point) [SI]."""

    name: str
    given: float
    corrected: float


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong.

    kind: family of the mistake ("sign", "point", "unit", "order", "axes", "frame", "count", "swap", "gravity",
    "geometry", "elastic", "torque sign", "torque gain", "extra", "override", "unexplained"). where: link, joint or
    "whole table". what: in words. asserted: nothing else explains it as well, within the margin; otherwise `rivals` do.
    log_odds: against the same reading without it, prior odds included. evidence: numbers in one sentence. slight: no
    larger than in any robot, or no help to any prediction, where logs have been asked that.
    """

    kind: str
    where: str
    what: str
    asserted: bool
    log_odds: float
    rivals: tuple[str, ...]
    evidence: str
    move: Move
    numbers: tuple[CorrectedNumber, ...] = ()
    slight: bool = False

    @property
    def sure(self) -> str:
        """How sure it is, as odds in words, with what cannot be told apart from it."""
        odds = f"odds 10^{self.log_odds / np.log(10):.0f} to 1"
        if self.asserted:
            return f"{odds} against the numbers as given"
        return f"something is wrong ({odds}), but what cannot be told apart from: {'; or '.join(self.rivals)}"

    def __str__(self) -> str:
        """Return where, what, the evidence and how sure it is, in one sentence."""
        return f"{self.where}: {self.what} ({self.evidence}; {self.sure})"


@dataclass(frozen=True)
class Undecidable:
    """Kinds of mistakes of one link that this fit could not show, and why."""

    where: str
    kinds: tuple[str, ...]
    why: str


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What is wrong with a table, and what could not be told.

    corrected (n, 10): inertials without the asserted mistakes; combinations: how many numbers the logs determine;
    deviation: root mean square of the differences to CAD in their standard deviations (fit and tolerance), as given
    and without the faults found; tolerance: how far right numbers are off, given or learnt, in the latter case with
    the range `learnt` that holds it with 95 %; shares (n, 3): tolerances of the mass, the centre and the tensor of
    each link if only the asserted mistakes were made, larger where numbers are off, or may be, in no known way.
    kind: of the fit's covariance. unknown: links of which `corrected` says nothing that is sure, and why; left: mean
    (10,) and covariance (10, 10) of the inertials of those of which something is known all the same. errors: standard
    deviations of gains and of zeros [rad] that nobody has to mend.
    """

    faults: tuple[Fault, ...]
    undecidable: tuple[Undecidable, ...]
    corrected: Array
    combinations: int
    deviation: tuple[float, float]
    tolerance: float
    shares: Array
    kind: str
    notes: tuple[str, ...] = ()
    learnt: tuple[float, float] | None = None
    unknown: Mapping[str, str] = field(default_factory=dict)
    left: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)
    errors: tuple[float, float] = (0.0, 0.0)


def doctor(search: Search) -> Diagnosis:
    """Return which known mistakes of a CAD table the logs show, in words.

    A mistake is asserted when it is a thousand times more probable than the table without it and than any other one in
    its place; with prior odds that sum to 1 over all mistakes, a right table is accused less than once in a thousand,
    as far as the covariances hold.
    """
    best, second = best_of(search)
    if (exact := exact_search(search)) is not None:
        other = best_of(exact)
        if exact.score(other[0]) > search.score(best):
            search, (best, second) = exact, other
    best = told_by(search, best)
    space, robot = search.space, search.space.setting.robot
    tolerance = search.tolerance(best)
    faults, asserted, shares = [], list[Move](), best.shares
    mended = list[tuple[Move, Move]]()  # of what is not sure: numbers on which all that it may be agree
    may, as_told = dict[Move, list[tuple[Hypothesis, float]]](), dict[Move, Move]()
    for move in best.moves:
        odds, rivals = search.rivals(best, move)
        less = search.without(best, move)
        near = [o for o in rivals if o.score > -MARGIN and not contained(space, less, move, o.move)]
        instead = None if second is None or any(alike(move, m) for m in second.moves) else second
        for option in near:
            shares = np.maximum(shares, space.after(less, option.move).shares)
        state, told, worse, near = instead_of(space, best, less, move, odds, rivals, near)
        odds += worse
        body = isinstance(told, ExtraBody)
        as_told[move] = told if body else move
        may[as_told[move]] = [*((space.after(less, o.move), o.score) for o in near), (state, 0.0 if body else worse)]
        said = _in_words(near, search, less)
        if instead is not None:
            said.append(" together with ".join(": ".join(described(m, robot, search, instead)) for m in instead.moves))
        said += _beside(move, best, search)
        if not said:
            asserted.append(move)
        elif instead is None and _only(move, best) and (agreed := agreement(space, less, told, near)) is not None:
            shares = np.maximum(shares, agreed)
            mended.append((move, told))
        faults.append(_fault(search, less, state, told, odds, said))
    if not faults and len(space.tolerances) > 1 and tolerance > RIGHT:
        faults += _likely(search, best, tolerance)
    right = space.of(search.table, (*asserted, *(told for _, told in mended)))
    E = search.evidence(best)
    notes = []
    if not space.views:
        notes.append("No motion was given, so gravity, geometry and springs were not questioned.")
    if E.kind == "classical":
        notes.append("Fewer than five segments: the noise is taken as white, and odds are too large.")
    if any(f.kind in ("unit", "count", "override") and f.where == WHOLE for f in faults):
        notes.append("A mass scale of the whole table and one gain of all torques cannot be told apart by any motion.")
    start, shares = space.start(search.table), np.maximum(search.shares(right), shares)
    for i, body in enumerate(start.numbers):
        if not can_exist(body, space.setting.about_origin):
            notes.append(f"{robot.links[i]}: as given, this body cannot exist.")
        for k in range(i):
            if body[0] and np.allclose(body, start.numbers[k], rtol=1e-6, atol=0):
                pair = f"{robot.links[k]} and {robot.links[i]}"
                notes.append(f"{pair} have the same numbers: is one report in both places?")
    best = space.of(search.table, tuple(as_told.values()))
    freed = unknown(space, best, right, [*asserted, *(move for move, _ in mended)])
    return Diagnosis(
        tuple(sorted(faults, key=lambda f: -f.log_odds)), undecidable(search, best), space.inertials(right), E.size,
        (search.deviation(start, tolerance), search.deviation(best, tolerance)), tolerance,
        np.hypot(shares[:, [0, 1, 4]], space.density_error * np.array([1.0, 0.0, 1.0])), E.kind, tuple(notes),
        _learnt(search, best),
        freed, what_is_left(search, best, right, freed, may), (search.gain_error, search.zero_error),
    )  # fmt: skip


def exact_search(search: Search) -> Search | None:
    """Return the search for a robot without errors of gains, zeros and densities: simulated, or calibrated; or None."""
    if not (search.gain_error or search.zero_error or search.space.density_error):
        return None
    space = replace(search.space, density_error=0.0)
    return replace(search, space=space, gain_error=0.0, zero_error=0.0, _expanded={})


#: Of a body's distance from a frame: what lies across the joint's axis where it may as well sit on the link before.
_NEAR_AXIS = 0.5
#: Densities of parts differ by so much [log] without anybody's mistake.
DENSITIES = 0.12


def _only(move: Move, best: Hypothesis) -> bool:
    """Return whether no other move says that the numbers of the same link are wrong."""
    return not any(set(touched(move)) & set(touched(m)) for m in best.moves if m is not move)


def zero_instead(move: Move, robot: Robot) -> float | None:
    """Return by how many degrees the zero of the last joint may be off where that link's frame would be turned.

    None for any other move: of inner links a zero moves those behind it, which the torques show.
    """
    match move:
        case InLinks(mistake, (i,)) if i == robot.n - 1 and mistake.kind == "axes" and mistake.frame is not None:
            turn, axis = mistake.frame(robot, i).rotation, robot.joints[i].axis
            if not robot.joints[i].slides and np.allclose(turn @ axis, axis):
                return float(np.rad2deg(np.arccos(np.clip((np.trace(turn) - 1) / 2, -1, 1))))
    return None


def _beside(move: Move, best: Hypothesis, search: Search) -> list[str]:
    """Return what else may be, where another mistake, or the axis of a joint, leaves the same numbers open."""
    found, robot = [], search.space.setting.robot
    match move:
        case ExtraBody(i) if i < robot.n - 1 and robot.joints[i].parent >= 0 and not robot.joints[i].slides:
            moments, axis = search.extra_body(search.without(best, move), move)[0][1:4], robot.joints[i].axis
            if np.linalg.norm(moments - (moments @ axis) * axis) < _NEAR_AXIS * np.linalg.norm(moments):
                near = f"most of that body, near the axis of {robot.joint_names[i]}, is its own"
                found.append(f"{robot.links[robot.joints[i].parent]}: {near}")
        case Unexplained((i,), _, "density", (factor,)):  # parts of one table differ by that much in density
            counted = {"part is counted twice": 0.5, "half of the part is missing": 2.0}
            parts = (said for said, exact in counted.items() if abs(np.log(factor / exact)) < DENSITIES)
            found += [f"{robot.links[i]}: {said}" for said in parts]
    if (angle := zero_instead(move, robot)) is not None:
        found.append(f"{robot.joint_names[-1]}: its zero is off by {angle:.0f} degrees, and the table is right")
    for other in best.moves:
        match move, other:
            case Unexplained((i,)), ExtraBody(link) if i == link:
                found.append(f"{robot.links[i]}: the body that CAD leaves out is another one")
            case InLinks() | Swapped(), Unexplained((_, _, *_), share) if share >= FREED[0]:
                found.append("the whole table: whatever else makes all of its numbers wrong")
    return found


def _in_words(near: Sequence[Option], search: Search, less: Hypothesis) -> list[str]:
    """Return what stands in a move's place, in words."""
    moves = list[Move]()
    for option in near:
        if not any(alike(option.move, m) for m in moves):
            moves.append(option.move)
    said = [": ".join(described(m, search.space.setting.robot, search, less)) for m in moves[:_SHOWN]]
    return said + [f"{len(moves) - _SHOWN} more"] * (len(moves) > _SHOWN)


def _fault(
    search: Search, less: Hypothesis, state: Hypothesis, move: Move, odds: float, rivals: Sequence[str]
) -> Fault:
    """Return the fault of a move that a hypothesis has, and `less` has not."""
    space, tolerance = search.space, search.tolerance(state)
    where, what = described(move, space.setting.robot, search, state)
    with_, without = search.deviation(less, tolerance), search.deviation(state, tolerance)
    shown = f"differences to the logs in standard deviations: {with_:.3g} with it, {without:.3g} without"
    numbers = _numbers(space, less, state, space.setting.robot)
    return Fault(move.kind, where, what, not rivals, odds, tuple(dict.fromkeys(rivals)), shown, move, numbers)


#: Right numbers are off by no more than this share; one mistake of a table whose numbers all seem to be off by more is
#: told from LIKELY on, beside that.
RIGHT = 0.04


def _likely(search: Search, start: Hypothesis, tolerance: float) -> list[Fault]:
    """Return the mistake that a table most probably has whose numbers all seem to be off, if there is one."""
    options = [o for o in search.options(start) if not nameless(o.move)]
    odds = options[0].score - search.score(start) if options else 0.0
    if odds < LIKELY:
        return []
    move, state = options[0].move, search.space.after(start, options[0].move)
    near = [o for o in search.rivals(state, move)[1] if o.score > -MARGIN]
    whole = f"the whole table: all numbers are off by about {100 * tolerance:.0f} %"
    return [_fault(search, start, state, move, odds, [whole, *_in_words(near, search, start)])]


def undecidable(search: Search, best: Hypothesis) -> tuple[Undecidable, ...]:
    """Return for each link the kinds of mistakes that these logs would not show if they had been made."""
    E, space = search.evidence(best), search.space
    inertials = space.inertials(best)
    tolerance = search.tolerance(best)
    _, covariance = search.totals(E, best, tolerance)
    shares = search.shares(best)
    found = []
    for i, link in enumerate(space.setting.robot.links):
        hidden, counted, nothing = Counter[str](), Counter[str](), Counter[str]()
        for mistake in space.asked_of(i):
            counted[mistake.kind] += 1
            made = mistake.made(best.numbers[i], i, space.setting_in(best.view))
            wrong = inertials_of(made, space.setting.about_origin)
            odds = search.expected(E, covariance, i, inertials[i], wrong, shares[i])
            if odds is None:
                nothing[mistake.kind] += 1
            elif odds + space.log_prior(InLinks(mistake, (i,))) < MARGIN:
                hidden[mistake.kind] += 1
        every = {k for k, n in hidden.items() if n + nothing[k] == counted[k]}
        words = tuple(
            _KIND_WORDS[k] + ("" if k in every else f" ({n} of {counted[k]} ways)") for k, n in hidden.items()
        )
        if words:
            found.append(Undecidable(link, words, "no motion of this fit shows it beyond CAD's tolerance"))
        none = tuple(_KIND_WORDS[k] for k, n in nothing.items() if n == counted[k])
        if none:
            found.append(Undecidable(link, none, "it would change no number of this link beyond CAD's tolerance"))
    return tuple(found)


def _learnt(search: Search, best: Hypothesis) -> tuple[float, float] | None:
    """Return the range that holds the tolerance with 95 %; None where it is given."""
    tolerances = search.space.tolerances
    if len(tolerances) == 1:
        return None
    below = np.cumsum(search.weights(best))
    low, high = (int(np.searchsorted(below, p)) for p in (0.025, 0.975))
    return tolerances[low], tolerances[min(high, len(tolerances) - 1)]


_SHOWN = 4
_KIND_WORDS = {
    "sign": "sign of the products", "point": "point of the tensor", "unit": "units", "order": "order of the products",
    "axes": "directions of the axes", "mirror": "mirrored parts",
    "frame": "frame of the centre and the tensor", "count": "number of parts",
    "number": "a decimal point or the sign of one number",
}  # fmt: skip


def _numbers(space: Space, before: Hypothesis, after: Hypothesis, robot: Robot) -> tuple[CorrectedNumber, ...]:
    found = []
    for i, link in enumerate(robot.links):
        for k, part in enumerate(COLUMNS):
            a, b = float(before.numbers[i, k]), float(after.numbers[i, k])
            kind = slice(4, 10) if k > 3 else slice(1, 4)
            size = max(abs(a), abs(b)) if k == 0 else float(np.abs(after.numbers[i, kind]).max())
            if abs(a - b) > 1e-9 * size:
                found.append(CorrectedNumber(f"{link}.{part}", a, b))
    return tuple(found)


def settled_by(sheets: str | Path) -> tuple[tuple[str, str], ...]:
    """Return the (link, kind) pairs that the sheets of a folder decide by themselves: "sign", "point".

    Raises CadError for a sheet that cannot be read.
    """
    found: list[tuple[str, str]] = []
    for link, path in find_sheets(sheets).items():
        decision = decide(read_sheet(path))
        found += [(link, "sign")] * (decision.products is not None)
        found += [(link, "point")] * (decision.as_named is not None)
    return tuple(found)


def other_convention(robot_file: str | Path) -> dict[str, Robot]:
    """Return the robot that a Denavit-Hartenberg table gives in the other convention, by what it is then called.

    Empty for a URDF. Raises RobotError for a file that cannot be read.
    """
    path = Path(robot_file)
    given = read_toml(path, RobotError).get("convention") if path.suffix.lower() == ".toml" else None
    if given not in ("dh", "mdh"):
        return {}
    name = f"that of the table read as {'modified' if given == 'dh' else 'standard'} Denavit-Hartenberg"
    return {name: read_robot(path, "mdh" if given == "dh" else "dh")}
