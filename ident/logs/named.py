"""What the name of a column says: which quantity of which joint, in which unit, measured or commanded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Meaning = Literal["time", "index", "position", "velocity", "torque", "current", "other", ""]
Origin = Literal["measured", "", "commanded"]

_WORDS: dict[Meaning, str] = {
    "other": "temp temperature error err tracking volt voltage status mode tcp pose cartesian acc accel acceleration"
    " qdd ddq qddot ddtheta external ext est estimated model grav gravity ff feedforward coriolis friction inertia"
    " jerk pwm power flag limit enable",
    "index": "index idx row sample samples counter count seq unnamed",
    "current": "current currents curr cur i iq amp amps",
    "torque": "torque torques tau trq torq effort efforts eff moment moments tq tor force forces",
    "velocity": "velocity velocities vel speed speeds qd dq qdot dqdt omega w dtheta thetadot qp angvel dot",
    "position": "position positions pos q qm qr qg qc angle angles theta th ang phi enc encoder",
    "time": "time t timestamp stamp clock secs",
}
_ORIGINS: dict[Origin, str] = {
    "commanded": "d cmd command commanded des desired ref reference target set setpoint goal nominal dem demand plan"
    " planned sp qr qg qc",
    "measured": "act actual meas measured read fb feedback mes real qm",
}
#: Words of units, alone or side by side, in the order in which they are looked for; what each is of.
_UNITS: tuple[tuple[str, str, Meaning], ...] = (
    *((f"{a} s", f"{u}/s", "velocity") for a, u in (("deg", "deg"), ("rad", "rad"), ("rev", "rev"), ("mm", "mm"))),
    *((f"{a} per {s}", f"{a}/s", "velocity") for a in ("deg", "rad", "rev", "m", "mm") for s in ("s", "sec")),
    ("m s", "m/s", "velocity"),
    *((w, "deg/s", "velocity") for w in ("degs", "degps", "dps")),
    *((w, "rad/s", "velocity") for w in ("rads", "radps")),
    ("rpm", "rpm", "velocity"),
    *((w, u, "torque") for w, u in (("m nm", "mN m"), ("k nm", "kN m"), ("mnm", "mN m"), ("knm", "kN m"))),
    *((w, "N m", "torque") for w in ("nm", "n m", "newton metre", "newtonmeter")),
    ("nmm", "N mm", "torque"),
    *((w, u, "current") for w, u in (("ma", "mA"), ("amp", "A"), ("amps", "A"), ("ampere", "A"), ("a", "A"))),
    *((w, "deg", "position") for w in ("deg", "degree", "degrees")),
    *((w, w, "position") for w in ("mrad", "rad", "rev", "mm")),
    *((w, "rad", "position") for w in ("radian", "radians")),
    *((w, "ms", "time") for w in ("ms", "msec", "millis", "milliseconds")),
    *((w, "us", "time") for w in ("us", "usec", "micros", "microseconds")),
    *((w, "ns", "time") for w in ("ns", "nsec", "nanos", "nanoseconds")),
    *((w, "s", "time") for w in ("s", "sec", "seconds")),
    ("m", "m", "position"),
    ("n", "N", "torque"),
)


@dataclass(frozen=True)
class Named:
    """What a name says: quantity, origin and unit, "" where it does not; the joint it names, or its numbers.

    stem: the name without joint and numbers, which columns of one signal have in common.
    """

    quantity: Meaning
    origin: Origin
    unit: str
    joint: str
    numbers: tuple[int, ...]
    stem: str


def named(label: str, joints: Sequence[str]) -> Named:
    """Return what a column's name says to somebody who knows the names of the robot's joints."""
    rest, joint = _without_joint(label, joints)
    words = _tokens(rest)
    numbers = tuple(int(w) for w in words if w.isdigit())
    letters = [w for w in words if not w.isdigit()]
    joined = re.findall(r"(?<![A-Za-z])[A-Za-z](?=\d)", rest)  # the letter of "A1" is no unit
    unit, of = _unit(letters if not joined else [w for w in letters if w not in {x.lower() for x in joined}])
    quantity: Meaning = next((m for m in ("other", "index") if _has(letters, m)), "")
    if not quantity:
        said = [m for m in _WORDS if _has(letters, m)]
        quantity = said[0] if said else of
        if quantity == "torque" and of == "current":
            quantity = "current"  # "torque [A]": what the drive counts
    if of not in (quantity, "") and not (of == "torque" and quantity == "current"):
        unit = ""
    origin: Origin = next((o for o, known in _ORIGINS.items() if set(letters) & set(known.split())), "")
    return Named(quantity, origin, unit, joint, numbers, re.sub(r"\d+", "#", rest.lower()))


def _has(words: Sequence[str], meaning: Meaning) -> bool:
    return bool(set(words) & set(_WORDS[meaning].split()))


def _without_joint(label: str, joints: Sequence[str]) -> tuple[str, str]:
    """Return a name without that of a joint in it, and that joint; "" where there is none."""
    flat = re.sub(r"[^a-z0-9]", "_", label.lower())
    for joint in sorted(joints, key=len, reverse=True):
        at = re.search(rf"(?<![a-z0-9]){re.escape(re.sub(r'[^a-z0-9]', '_', joint.lower()))}(?![a-z0-9])", flat)
        if at and not joint.isdigit():
            return label[: at.start()] + " " + label[at.end() :], joint
    return label, ""


def _tokens(text: str) -> list[str]:
    """Return the words and numbers of a name in lower case: at signs, at digits and where camelCase has its humps."""
    text = re.sub(r"([a-z])([A-Z][a-z])", r"\1 \2", re.sub(r"N\s*[*·.]?\s*m\b", "nm", text))
    return [w.lower() for w in re.findall(r"[A-Za-z]+|\d+", text)]


def _unit(words: Sequence[str]) -> tuple[str, Meaning]:
    """Return the unit that the last words of a name are, and of what; "" for none."""
    text = f" {' '.join(words)} "
    for word, unit, of in _UNITS:
        at = text.endswith(f" {word} ") if len(word) < 3 else f" {word} " in text
        if at and text.strip() not in ("s", "a", "m", "n"):
            return unit, of
    return "", ""
