"""What the name of a column says: its quantity, origin and unit, and the joint that it is of."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal
from unicodedata import normalize

Meaning = Literal["time", "index", "position", "velocity", "torque", "current", "other", ""]
Origin = Literal["measured", "", "commanded"]

_WORDS: dict[Meaning, str] = {
    "other": "temp temperature error err tracking volt voltage status mode tcp pose cartesian acc accel acceleration"
    " celsius degc qdd ddq qddot ddtheta external ext model grav gravity ff feedforward coriolis friction inertia"
    " jerk pwm power flag limit enable temperatur motortemperatur fehler schleppfehler spannung erreur",
    "index": "index idx row sample samples counter count seq unnamed",
    "current": "current currents curr cur i iq amp amps strom motorstrom courant corriente corrente",
    "torque": "torque torques tau trq torq effort efforts eff moment moments tq tor force forces"
    " drehmoment motormoment kraft couple coppia",
    "velocity": "velocity velocities vel speed speeds qd dq qdot dqdt omega w dtheta thetadot qp angvel dot"
    " geschwindigkeit drehzahl vitesse velocidad velocita",
    "position": "position positions pos q qm qr qg qc angle angles theta th ang phi enc encoder"
    " winkel gelenkwinkel achswinkel lage posicion posizione angulo angolo",
    "time": "time t timestamp stamp clock secs zeit zeitstempel temps tiempo tempo",
}
_ORIGINS: dict[Origin, str] = {
    "commanded": "d cmd command commanded des desired ref reference target set setpoint goal nominal dem demand plan"
    " planned sp qr qg qc soll",
    "measured": "est estimated act actual meas measured read fb feedback mes real qm ist",
}
#: Words of units, alone or side by side, in the order in which they are looked for; what each is of ("": of much).
_UNITS: tuple[tuple[str, str, Meaning], ...] = (
    *((f"{a} s", f"{u}/s", "velocity") for a, u in (("deg", "deg"), ("rad", "rad"), ("rev", "rev"), ("mm", "mm"))),
    ("grad s", "deg/s", "velocity"),
    *((f"{a} per {s}", f"{a}/s", "velocity") for a in ("deg", "rad", "rev", "m", "mm") for s in ("s", "sec")),
    ("m s", "m/s", "velocity"),
    *((w, "deg/s", "velocity") for w in ("degs", "degps", "dps")),
    *((w, "rad/s", "velocity") for w in ("rads", "radps")),
    ("rpm", "rpm", "velocity"),
    *((w, u, "torque") for w, u in (("m nm", "mN m"), ("k nm", "kN m"), ("mnm", "mN m"), ("knm", "kN m"))),
    *((w, "N m", "torque") for w in ("nm", "n m", "newton metre", "newtonmeter")),
    *((w, "N cm", "torque") for w in ("ncm", "n cm", "cnm", "c nm")),
    *((w, f"{w[:3]} {w[3:]}", "torque") for w in ("kgfcm", "kgfm", "lbfft", "lbfin", "ozfin")),
    *((w, w, "torque") for w in ("kgf cm", "kgf m", "lbf ft", "lbf in", "ozf in")),
    *((w, "lbf ft", "torque") for w in ("lbft", "lb ft", "ftlb", "ft lb", "ftlbf", "ft lbf")),
    *((w, "lbf in", "torque") for w in ("lbin", "lb in", "inlb", "in lb", "inlbf", "in lbf")),
    *((w, "ozf in", "torque") for w in ("ozin", "oz in", "inoz", "in oz")),
    *((w, "N mm", "torque") for w in ("nmm", "n mm")),
    *((w, u, "current") for w, u in (("ma", "mA"), ("amp", "A"), ("amps", "A"), ("ampere", "A"), ("a", "A"))),
    *((w, "deg", "position") for w in ("deg", "degree", "degrees", "grad")),
    *((w, w, "position") for w in ("mrad", "rad", "rev", "mm")),
    *((w, "rad", "position") for w in ("radian", "radians")),
    *((w, "ms", "time") for w in ("ms", "msec", "millis", "milliseconds", "msecs")),
    *((w, "us", "time") for w in ("us", "usec", "micros", "microseconds", "usecs", "microsec")),
    *((w, "ns", "time") for w in ("ns", "nsec", "nanos", "nanoseconds", "nsecs", "nanosec")),
    *((w, "s", "time") for w in ("s", "sec", "seconds", "secs")),
    ("m", "m", "position"),
    *((w, "N", "torque") for w in ("n", "newton")),
    *((w, "kN", "torque") for w in ("kn", "k n")),
    *((w, "%", "") for w in ("percent", "pct")),
    *((w, "permille", "") for w in ("permille", "promille", "per mille", "permil", "per mil")),
)
#: Torque and current of a drive by CiA 402 (objects 6077h, 6078h) are per mille of what is rated, as is 0.1 %.
_PER_MILLE = re.compile(r"‰|\b0[.,]1 ?%|(?<![0-9])(0x)?607[78]h?(?![0-9A-Za-z])", re.IGNORECASE)
#: Words that are units at the end of a name or in brackets alone: elsewhere they are much else.
_AT_END = ("a", "s", "m", "n", "ma", "ms", "us", "ns", "amp")
UNIT_WORDS = {word for words, *_ in _UNITS for word in words.split()}


@dataclass(frozen=True)
class Named:
    """What a name says: quantity, origin and unit, "" where it does not; the joint it names, or its numbers.

    joint: a number for words that tell columns apart and name no joint: the place of these words among such.
    stem: the name without joint and numbers, which columns of one signal have in common.
    """

    quantity: Meaning
    origin: Origin
    unit: str
    joint: str | int
    numbers: tuple[int, ...]
    stem: str


def named(label: str, joints: Sequence[str]) -> Named:
    """Return what a column's name says to somebody who knows the names of the robot's joints."""
    return said_by(*_without_joint(label, joints))


def said_by(rest: str, joint: str | int = "") -> Named:
    """Return what the rest of a column's name says, and the joint that is given."""
    words = tokens(rest)
    numbers = tuple(int(w) for w in words if w.isdigit())
    letters = [w for w in words if not w.isdigit()]
    joined = re.findall(r"(?<![A-Za-z])[A-Za-z](?=\d)", rest)  # the letter of "A1" is no unit
    unit, of = _unit(letters if not joined else [w for w in letters if w not in {x.lower() for x in joined}])
    for bracket in re.findall(r"[\[(]([^\d\])]+)[\])]", rest):
        unit, of = _unit(tokens(bracket), alone=True) if not unit else (unit, of)
    counted = [w for w in letters if has([w], "index") or has([w], "time")]  # "sample_time" is a time
    quantity: Meaning = "other" if has(letters, "other") else "index" if has(counted[-1:], "index") else ""
    last = tokens(rest.rpartition(".")[2]) if "." in rest else []
    if has(last[:1], "time") and all(has([w], "time") or w in UNIT_WORDS for w in last):
        quantity = "time"  # "q.time": the clock of q
    if not quantity:
        said = [m for m in _WORDS if m != "index" and has(letters, m)]
        quantity = said[0] if said else "position" if letters == ["observation", "state"] else of  # of LeRobot
        if numbers and [w for w in letters if w not in UNIT_WORDS] == ["t"]:
            quantity = of  # "T1" to "T6" are no clocks
        if quantity == "torque" and of == "current":
            quantity = "current"  # "torque [A]": what the drive counts
        if of == "torque" and quantity == "time":
            quantity = of  # "T [Nm]"
    drives = {"torque": ("torque", ""), "current": ("current", "torque", "")}  # "" is %, of which a drive's are told
    if of not in drives.get(quantity, (quantity or "other",)):
        unit = ""
    origin: Origin = next((o for o, known in _ORIGINS.items() if set(letters) & set(known.split())), "")
    return Named(quantity, origin, unit, joint, numbers, re.sub(r"\d+", "#", rest.lower()))


def has(words: Sequence[str], meaning: Meaning) -> bool:
    """Return whether one of the words is of that meaning."""
    return bool(set(words) & set(_WORDS[meaning].split()))


def _without_joint(label: str, joints: Sequence[str]) -> tuple[str, str]:
    """Return a name without that of a joint in it, and that joint; "" where there is none."""
    flat = re.sub(r"[^a-z0-9]", "_", label.lower())
    for joint in sorted(joints, key=len, reverse=True):
        at = re.search(rf"(?<![a-z0-9]){re.escape(re.sub(r'[^a-z0-9]', '_', joint.lower()))}(?![a-z0-9])", flat)
        if at and not joint.isdigit():
            return label[: at.start()] + " " + label[at.end() :], joint
    return label, ""


def tokens(text: str) -> list[str]:
    """Return the words and numbers of a name in lower case: at signs, at digits and where camelCase has its humps.

    Accents are dropped, and what German writes before a word is one of its own: Istposition.
    """
    text = normalize("NFKD", text.replace("°C", " celsius ").replace("°", " deg ").replace("µ", "u"))
    text = re.sub(r"N\s*[*·.]?\s*([cm]?m)(?![A-Za-z])", r"n\1", text)
    text = _PER_MILLE.sub(" permille ", text).replace("%", " percent ")
    text = re.sub(r"([a-z])([A-Z][a-z])", r"\1 \2", text)
    text = re.sub("[\u0300-\u036f]", "", text)
    text = re.sub(r"(?i)\b(ist|soll)(?=[a-z]{4})", r"\1 ", text)
    return [w.lower() for w in re.findall(r"[A-Za-z]+|\d+", text)]


def _unit(words: Sequence[str], *, alone: bool = False) -> tuple[str, Meaning]:
    """Return the unit that words of a name are, and of what; "" for none. alone: whether a letter by itself is one."""
    text = f" {' '.join(words)} "
    for word, unit, of in _UNITS:
        at = text.endswith(f" {word} ") if word in _AT_END else f" {word} " in text
        if at and (alone or text.strip() not in ("s", "a", "m", "n")):
            return unit, of
    return "", ""


#: Words of a name, as people write joints: at signs, digits and humps, "AxisS" too.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
#: A name may tell a column from its likes by so many words.
_MOST_WORDS = 3
SIGNALS = ("position", "velocity", "torque", "current")
_Words = tuple[str, ...]


def apart(labels: Sequence[str], joints: Sequence[str]) -> list[tuple[str, str | int]]:
    """Return of each column's name what it has in common with its likes, and the joint that the rest of it names.

    A number for words that name none, counted in the order of the columns; "" for a name that has none of its own.
    """
    shorts = _shorts(joints)
    found: list[tuple[str, str | int]] = [_without_joint(label, joints) for label in labels]
    found = [pair if pair[1] else _without_short(pair[0], shorts) for pair in found]
    stems = [re.sub(r"\d+", "#", label.lower()) for label in labels]
    # "joint_0" to "joint_5" are not "joint_1" to "joint_6" of the robot, though most names are the same
    numbered = {stem for stem, (_, joint) in zip(stems, found, strict=True) if not joint and "#" in stem}
    found = [(x, "") if stem in numbered else y for x, y, stem in zip(labels, found, stems, strict=True)]
    return _with_words(found, stems, len(joints)) if len(joints) > 1 else found


def names_joint(labels: Sequence[str], joints: Sequence[str]) -> bool:
    """Return whether one of the columns' names names a joint."""
    return any(joint and isinstance(joint, str) for _, joint in apart(labels, joints))


def _shorts(joints: Sequence[str]) -> dict[_Words, str]:
    """Return joints by the words of their names, without those that all begin or end with, "joint" at least."""
    split = {joint: tuple(w.lower() for w in _WORD.findall(joint)) for joint in joints}
    ends = [0, 0]
    for at, way in enumerate((1, -1)):
        for same in zip(*(words[::way] for words in split.values()), strict=False):
            if len(set(same)) > 1 or len(split) < 2:
                break
            ends[at] += 1
    cut = {j: w[ends[0] : len(w) - ends[1]] for j, w in split.items()}
    cut = {j: w[:-1] if w[-1:] == ("joint",) else w for j, w in cut.items()}
    told = [w for j, w in cut.items() if not "".join(w).isdigit() and (w == split[j] or not all(map(_known, w)))]
    return {w: joint for joint, w in cut.items() if told.count(w) == 1}


def _known(word: str) -> bool:
    """Return whether a word is one of a quantity, an origin or a unit."""
    said = [*_WORDS.values(), *_ORIGINS.values()]
    return word in UNIT_WORDS or any(word in known.split() for known in said)


def _without_short(label: str, shorts: Mapping[_Words, str]) -> tuple[str, str]:
    words = list(_WORD.finditer(label))
    for size in sorted({len(short) for short in shorts}, reverse=True):
        for first in range(len(words) - size + 1):
            run = words[first : first + size]
            if joint := shorts.get(tuple(w[0].lower() for w in run)):
                return f"{label[: run[0].start()]} {label[run[-1].end() :]}", joint
    return label, ""


def _with_words(found: list[tuple[str, str | int]], stems: Sequence[str], n: int) -> list[tuple[str, str | int]]:
    """Return names with the place of the words by which they differ from their likes, where these name no joint."""
    likes: dict[str, dict[int, tuple[str, _Words]]] = defaultdict(dict)
    for at, (label, joint) in enumerate(found):
        if joint:
            likes[label.lower()][at] = label, ()
        for rest, run in _runs(label) if not joint else ():
            if stems.count(stems[at]) > 1 and re.search(r"\d", rest):
                continue  # numbers tell it apart already: motor_pos_1 and joint_pos_1 are not two joints
            likes[rest.lower()].setdefault(at, (rest, run))
    rests: dict[int, tuple[str, _Words]] = {}
    for rest in sorted(likes, key=lambda rest: (-len(likes[rest]), -len(rest))):
        group = likes[rest]
        many = Counter(stems[at] for at in group)
        # columns that are numbered are a signal by themselves, unless there are words beside them: base, wrist 1
        alone = {stem for stem, k in many.items() if k > 1 and (k >= n or len(many) < 3)}
        new = {at: pair for at, pair in group.items() if pair[1] and at not in rests and stems[at] not in alone}
        if len(new) + sum(not run for _, run in group.values()) > 1 and not _crossed([run for _, run in new.values()]):
            rests |= {at: pair for at, pair in new.items() if _a_signal(said_by(pair[0]))}
    places: dict[_Words, int] = {}
    for at in sorted(rests):
        rest, run = rests[at]
        found[at] = rest, places.setdefault(run, len(places) + 1)
    return found


def _a_signal(said: Named) -> bool:
    """Return whether a name may be that of a signal: by its quantity, or as X_ist and X_soll, which say no more."""
    return said.quantity in SIGNALS or (not said.quantity and bool(said.origin))


def _runs(label: str) -> Iterator[tuple[str, _Words]]:
    """Yield a name without words that may be those of a joint, and these: letters outside of brackets, and no unit."""
    words = list(_WORD.finditer(label.split("[", maxsplit=1)[0].split("(", maxsplit=1)[0]))
    for first in range(len(words)):
        for last in range(first, min(first + _MOST_WORDS, len(words))):
            run = tuple(w[0].lower() for w in words[first : last + 1])
            if not "".join(run).isdigit() and not any(len(w) > 1 and _known(w) for w in run):
                yield f"{label[: words[first].start()]} {label[words[last].end() :]}", run


def _crossed(runs: Sequence[_Words]) -> bool:
    """Return whether words are every pair of two sets, left and right, base and elbow: several signals then."""
    sizes = [size for words in zip(*runs, strict=False) if (size := len(set(words))) > 1]
    return len({len(run) for run in runs}) == 1 and len(sizes) > 1 and prod(sizes) == len(runs)
