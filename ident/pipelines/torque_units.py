"""In which unit torques are, and what each counts: as their names say, or as the bodies and friction ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.compare.columns import middle
from ident.logs.manifest import RAW, UNITS, si_factor
from ident.logs.names import named
from ident.logs.recognised import Family
from ident.pipelines.questions import Asked
from ident.robot import Joint

#: Torques in N m count this much for one that the bodies in the description predict, about.
LIKE_N_M = (0.4, 2.5)
#: Where those of each joint do, and so much those of the middle one, the bodies are off rather than the gains.
ALL_ALIKE, MIDDLE = (0.6, 1.6), (0.75, 1.35)
#: Units that differ from N m by more than bodies are off; 1 lbf ft does not.
OTHER_UNITS = ("mN m", "kN m", "kgf m", "kgf cm", "lbf in", "ozf in")
#: Units are as near to what the bodies say where one counts so many times what the other does, at most.
RIVALS = 1.2
#: Where only sizes can be compared, torques so many times smaller than the bodies', or larger, are doubted.
ROUGHLY = (8.0, 200.0)
#: Torques beyond so many times the efforts that the robot file allows are in another unit.
BEYOND = 3.0
#: Torques that are called so are in N m where the largest is so much of what the robot file allows its joint, or one as
#: large as the bodies ask for is beyond that.
ALLOWED = (0.25, 1.5)
#: Gains by the rated torque are the guess where those that bodies ask for are so many times these, in the middle.
RATED = (0.7, 1.4)
#: Torques without a unit are shares of efforts where what they count for 1 N m differs by so much from joint to joint,
#: and by no more than this when each is multiplied by its effort.
SHARES, EVEN = 2.5, 1.5
_OF_EFFORTS = (
    "they are called torques, but 1 N m of the bodies counts {:.2g} to {:.2g}, the more the smaller a joint's effort in"
    " the robot file is: percent of that, or of the rated torque"
)
UNKNOWN = "count"
RAW_UNITS = tuple(u for u, (kind, _) in UNITS["torque"].items() if kind == RAW)


def of_force(unit: str, family: Family) -> str:
    """Return the unit of joints that slide where those that turn are in `unit`: as names say, else alike."""
    return unit if unit in RAW_UNITS else family.sliding or ("kN" if unit == "kN m" else "N")


@dataclass(frozen=True, eq=False)
class Counts:
    """What joints (k,) say of their torques' columns.

    ratio: what each column counts for 1 N m of the bodies' prediction, NaN where that says nothing; swing: how much of
    it there is, for where there is little friction may look like it. size: the ratios of standard deviations, which
    count where they are silent. friction: the sign with which it takes power, 0 where it is too little; it needs no
    bodies, and goes first. most: the largest number of each.
    """

    ratio: Array
    swing: Array
    size: ArrayLike
    friction: Array
    most: Array


def _units_of(counts: Array) -> list[str]:
    """Return the unit other than N m that counts (k,) of 1 N m tell at every joint alike, then those like it."""
    found = {}
    for unit in OTHER_UNITS if len(counts) > 1 else ():
        each = counts * si_factor(unit, "torque")
        if np.all((each > ALL_ALIKE[0]) & (each < ALL_ALIKE[1])) and MIDDLE[0] < np.median(each) < MIDDLE[1]:
            found[unit] = abs(float(np.log(np.median(each))))
    nearest = sorted(found, key=lambda unit: found[unit])
    return [
        u for u in nearest if max(ratio := si_factor(u, "torque") / si_factor(nearest[0], "torque"), 1 / ratio) < RIVALS
    ]


def unit_of(family: Family, joints: Sequence[Joint], counts: Counts, asked: Asked) -> tuple[str, Array, bool, str]:
    """Return unit, gains of the columns, whether these are a guess, and why; joints: of the columns.

    N m by name or because the bodies weigh so, else what they say.
    """
    ratio, swing, size, friction = counts.ratio, counts.swing, counts.size, counts.friction
    said = family.unit or ("" if family.quantity else named(f"torque {family.columns[0].label}", ()).unit)  # load [%]
    unit = said or {"torque": "N m", "current": "A"}.get(family.quantity, UNKNOWN)
    each = [of_force(unit, family) if joint.slides else unit for joint in joints]
    scale = np.array([si_factor(unit, "torque") for unit in each])
    ratio, size = ratio * scale, np.append(size * scale if np.size(size) else (), np.nan)
    names = [joint.name for joint in joints]
    bodies = np.sign(np.nan_to_num(ratio))
    sign = _signs(ratio, friction)
    agree = sign * bodies > 0
    known, turned = ratio[agree], [name for name, x in zip(names, sign, strict=True) if x < 0]
    typical = (
        middle(np.abs(known), swing[agree]) if len(known) else float(np.nanmedian(size)) if len(size) > 1 else np.nan
    )
    low, high = LIKE_N_M if len(known) and not family.unit else (1 / ROUGHLY[0], ROUGHLY[1])
    like = f"1 N m of the bodies in the description counts {typical:.2g}{' N m' * bool(np.any(scale != 1.0))}"
    doubted, sized = [name for name, x in zip(names, sign * bodies, strict=True) if x < 0], False
    why_turned = _why_turned(turned, bool(np.any(friction[sign < 0] == 0)))
    unsure = family.quantity != "current" and (not family.unit or not low <= typical <= high)
    efforts = np.array([joint.limits.effort for joint in joints])
    others = _units_of(np.abs(known)) if unsure and not family.unit and {*each} <= {"N m", UNKNOWN} else []
    others = [u for u in others if (counts.most * si_factor(u, "torque") <= BEYOND * efforts).all()]
    allowed = bool(np.all(scale == 1.0)) and _allowed(float(np.max(counts.most / efforts)), typical, low)
    if others:
        reason = f"{like}, at every joint that says something: as in {' or '.join(others)}"
        answer = asked("torque unit", "In which unit are the torques?", others[0], reason, (*others, "N m", "A"))
        if answer != "A":
            told = f"{reason}; {answer} is a GUESS" if not asked.typed else f"{answer}, as answered"
            return answer, sign, not asked.typed, told + why_turned
        unit = answer
    if family.quantity == "torque" and not said and _shares(known, efforts[agree]):
        unit, reason = "%", _OF_EFFORTS.format(*np.sort(np.abs(known))[[0, -1]])
    elif unit in RAW_UNITS and (family.quantity == "torque" or (said and not family.quantity)):
        reason = f"they are called {unit}" if said else f"{unit}, as answered"
        reason += ", of the rated torque perhaps" * (unit in ("%", "permille"))
    elif family.quantity == "torque" and (allowed or not (typical < low or typical > high)):
        if not turned and not doubted:
            called = f"{unit}, for they are called so" if family.unit else "N m, for they are called torques"
            return unit, np.ones(len(ratio)), False, called + (f" ({like})" if len(known) else "")
        reason, sized = f"they are called {family.unit or 'torques'}", True
    elif family.quantity == "torque":
        reason = f"they are called {family.unit or 'torques'}, but {like}: of the motors, or currents?"
        unit = family.unit or UNKNOWN
    elif not family.quantity and len(known) and low < typical < high and not turned:
        unit = asked("torque unit", "In which unit are the torques?", "N m", like, ("N m", "A", "V", "%"))
        if unit == "N m":
            return unit, np.ones(len(ratio)), False, f"N m: {like}"
        reason = f"{unit}, as answered"
    else:
        reason = "currents" if family.quantity == "current" else "no name says a unit"
    guess, source = _gains(ratio, known, typical, efforts / {"%": 100.0, "permille": 1000.0}.get(unit, np.nan))
    guess, source = (np.ones(len(ratio)), f"taken for {unit} as they are") if sized else (guess, source)
    alike = np.all((np.abs(known) > ALL_ALIKE[0]) & (np.abs(known) < ALL_ALIKE[1]))
    if len(known) and alike and MIDDLE[0] < typical < MIDDLE[1]:
        as_if = "N m" if unit in RAW_UNITS else unit
        guess, source, sized = np.ones(len(ratio)), f"{like}, as if they were {as_if}", True
    source += why_turned
    if doubted:
        reason += f"; NOTE: friction asks for one sign at {', '.join(doubted)}, the bodies for the other: gravity, an"
        reason += " axis, a zero or a sign in the robot file may be wrong, which `ident doctor` weighs"
    why = f"{reason}; the gains are a GUESS: {source}"
    guess = sign * guess
    per = "of the unit" if unit == UNKNOWN else unit
    gains = asked.numbers("gain", f"How many N m (N) is 1 {per} of {family.shown}, with sign?", tuple(guess), why)
    return unit, np.array(gains), not (asked.typed or sized), f"{reason}; gains as answered" if asked.typed else why


def _shares(counts: Array, efforts: Array) -> bool:
    """Return whether what torques count for 1 N m (k,) goes with one over the efforts (k,) that the file allows."""
    counts = np.abs(counts)
    if len(counts) < 2 or not np.isfinite(efforts).all():
        return False
    return bool(np.ptp(np.log(counts)) > np.log(SHARES) and np.ptp(np.log(counts * efforts)) < np.log(EVEN))


def _allowed(most: float, typical: float, low: float) -> bool:
    """Return whether torques are in N m by what the robot file allows, of which the largest is `most` times.

    typical, low: what 1 N m of the bodies counts, and should at least.
    """
    return ALLOWED[0] < most < ALLOWED[1] or (0.0 < typical < low and most / typical > BEYOND)


def _why_turned(names: Sequence[str], silent: bool) -> str:
    """Say why joints have the other sign, "" for no joints; silent: whether friction says nothing of one of them."""
    told = f"; the sign of {', '.join(names)} is the other one, for friction would drive the joint" if names else ""
    return told + ", or the bodies ask for it" * silent


def _gains(ratio: Array, known: Array, typical: float, rated: Array) -> tuple[Array, str]:
    """Return the gain of each column [N m or N for 1], of those that say nothing the usual one of the others; why.

    rated: by the largest torques of the robot file; NaN where the unit is no share of these.
    """
    with np.errstate(divide="ignore"):
        asked = 1.0 / np.where(ratio == 0.0, np.nan, np.abs(ratio))
    if np.isfinite(rated).all() and (not len(known) or RATED[0] < np.nanmedian(asked / rated) < RATED[1]):
        return np.array([float(f"{x:.3g}") for x in rated]), "100 % taken for the effort that the robot file allows"
    if len(known) and np.isfinite(rated).all() and _shares(known, rated[np.isfinite(asked)]):
        times = float(np.nanmedian(asked / rated))
        return np.array([float(f"{times * x:.3g}") for x in rated]), "as the efforts are, and as the bodies ask for"
    found = np.array([float(f"{x:.3g}") for x in asked])
    usual = float(f"{1 / typical:.3g}") if typical > 1e-6 and not len(known) else 1.0
    source = "so much the bodies in the description would ask for" if np.isfinite(typical) else "nothing says how much"
    source += ", and where they say nothing the middle of these" * bool(len(known) and np.isnan(found).any())
    return np.where(np.isnan(found), np.nanmedian(found) if len(known) else usual, found), source


def _signs(ratio: Array, friction: Array) -> Array:
    """Return the sign of each column: as friction says, else the bodies.

    Those alone are believed where signs differ from joint to joint, where all ask for the other one, or where they
    weigh as much as at the other joints: a wrong axis or zero would make another torque, not the same turned round.
    Where they weigh as much without another sign, friction of a few moves says nothing against them. Where friction
    contradicts them at one joint, they say nothing of the others: gravity may be upside down.
    """
    bodies, known = np.sign(np.nan_to_num(ratio)), np.abs(ratio[np.isfinite(ratio)])
    typical = float(np.median(known)) if len(known) else np.nan
    alike = (np.abs(ratio) > MIDDLE[0] * typical) & (np.abs(ratio) < MIDDLE[1] * typical)
    if 2 * np.count_nonzero(friction) < len(friction):  # of a robot with friction most joints show it: chance
        friction = np.maximum(friction, 0.0)
    friction = np.where(alike & (bodies > 0), 1.0, friction)
    trusted = alike | np.any(friction < 0) | (not np.any(bodies > 0))
    trusted &= not np.any(friction * bodies < 0)
    told = np.where(friction != 0, friction, np.where(trusted, bodies, 0.0))
    return np.where(told != 0, told, -1.0 if np.any(told) and np.all(told[told != 0] < 0) else 1.0)
