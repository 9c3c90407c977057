"""Which joints of a robot the columns of a log are of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ident.arrays import Array
from ident.compare.columns import evidence
from ident.errors import IdentError, LogError, plural
from ident.logs.manifest import si_factor
from ident.logs.names import names_joint
from ident.logs.recognised import Family, clocks, fitting_units, windows
from ident.pipelines.questions import Asked, words
from ident.robot import Robot
from ident.robot.urdf import read_description
from ident.robot.xml import At

#: Joints explain the torques no better than others where it is by less than this share of their variance.
ALIKE = 0.02


@dataclass(frozen=True, eq=False)
class Arm:
    """The robot that a log is of: the joints that can move, the robot of those that do, and what its bodies may be.

    called: joints by what logs call them, where that is not their name; said: why these joints.
    """

    names: tuple[str, ...]
    of: Callable[[tuple[str, ...]], Robot]
    bodies: Callable[[Robot], Array | None]
    called: Mapping[str, str] = field(default_factory=dict)
    said: str = ""

    def turning(self) -> tuple[str, ...]:
        """Return the joints that turn: fingers mostly slide, and are seldom logged."""
        return tuple(joint.name for joint in self.of(self.names).joints if not joint.slides)


def of_one_side(arm: Arm, labels: Sequence[str], asked: Asked) -> Arm:
    """Return the arm with what columns call its joints, where several sets of these end alike, as answered.

    "s0" of a robot with left_s0 and right_s0, which is asked about: all columns are of the same side then.
    """
    if names_joint(labels, (*arm.called, *arm.names)):
        return arm
    sides: dict[str, dict[str, str]] = {}
    for name in arm.names:
        words_of = name.split("_")
        for k in range(1, len(words_of)):
            short = "_".join(words_of[k:])
            if any(names_joint([label], (short,)) for label in labels):
                sides.setdefault("_".join(words_of[:k]), {})[short] = name
                break
    alike = [
        side for side, of in sides.items() if len(of) > 1 and sum(of.keys() == x.keys() for x in sides.values()) > 1
    ]
    if not alike:
        return arm
    alike = [side for side in alike if sides[side].keys() == sides[alike[0]].keys()]
    shorts, why = ", ".join(sides[alike[0]]), f"{' and '.join(alike)} have such joints, and the first is a GUESS"
    side = asked("side", f"Whose joints are {shorts}?", alike[0], why, tuple(alike))
    return replace(arm, called=sides[side], said=asked.because(f"of {side}: {why}"))


def logged_joints(position: Family, families: Sequence[Family], t: Array, arm: Arm, asked: Asked) -> tuple[str, ...]:
    """Return the joints that the columns of the positions are of, in the robot's order.

    families: all columns, t (N,) [any unit]. Where names and numbers leave it open, joints in one row from the base
    outwards are the guess: those within whose limits the positions lie, and whose bodies explain the torques best.
    Raises InputError for an answer that is no joints, LogError for fewer than a robot has whose joints nobody can lock.
    """
    size = len(position.of)
    if size < len(arm.names) and len(arm.of(arm.names[:size]).joints) != size:
        shown = ", ".join(c.shown for c in position.columns)
        problem = f"{shown} are positions of {plural(size, 'joint')}, the robot file has {len(arm.names)}"
        fix = "Add the missing column, or give a URDF, whose other joints are locked"
        raise LogError(problem, file=position.columns[0].file, fix=fix)
    if all(isinstance(of, str) for of in position.of):
        return tuple(name for name in arm.names if name in position.of)
    if size == len(arm.names):
        return arm.names
    if len(arm.turning()) == size and not position.lengths:
        return arm.turning()
    guess, why = _guess(position, families, t, arm)
    text = f"Which {plural(size, 'joint')} are {position.shown} of, in their order?"
    why += f" (the robot has {len(arm.names)}; the others are locked)"
    return words(asked("joints", text, ", ".join(guess), why, joints=arm.names), arm.names)


def _guess(position: Family, families: Sequence[Family], t: Array, arm: Arm) -> tuple[tuple[str, ...], str]:
    """Return the likeliest joints, and why."""
    raw = position.values
    rows = list(dict.fromkeys(_rows(arm, raw.shape[1])))
    kinds = [[joint.slides for joint in arm.of(names).joints] for names in rows]
    like = [names for names, slides in zip(rows, kinds, strict=True) if slides == position.slide]
    fits = {names: fitting_units(raw, arm.of(names)) for names in like or rows}
    within = [names for names, units in fits.items() if units]
    left, why = within or list(fits), "their limits hold the positions" if within else "they come first"
    efforts = [f for f in families if f.quantity in ("torque", "current") and len(f.columns) == raw.shape[1]]
    if not efforts:
        clock = clocks(families)[:1]
        unnamed = [f for f in families if not f.quantity and not {*f.columns} & {*position.columns, *clock}]
        efforts = list(windows(unnamed, raw.shape[1]))
    if len(left) > 1 and efforts:
        columns = min(efforts, key=lambda f: f.origin == "commanded").values
        shares = [_explained(arm, names, t, raw, fits[names], columns) for names in left]
        best = int(np.argmax(shares)) if max(shares) > shares[0] + ALIKE else 0
        why += f", and they explain {100 * shares[best]:.0f} % of the torques"
        rivals = [n for n, share in zip(left, shares, strict=True) if share > shares[best] - ALIKE and n != left[best]]
        why += "".join(f"; {', '.join(n)} as much" for n in rivals[:1])
        return left[best], why
    return left[0], why


def _explained(arm: Arm, names: tuple[str, ...], t: Array, raw: Array, units: Sequence[str], columns: Array) -> float:
    """Return which share of the torques' variance these joints explain, in the unit that explains more."""
    robot = arm.of(names)
    bodies, turning = arm.bodies(robot), [not joint.slides for joint in robot.joints]
    positions = [np.where(turning, raw * si_factor(unit, "position"), raw) for unit in units or ("rad", "deg")]
    return max(float(np.mean(np.diag(evidence(robot, bodies, t, q, columns).explained))) for q in positions)


def _rows(arm: Arm, size: int) -> Iterator[tuple[str, ...]]:
    """Yield so many joints in one row: on the way to each end of the robot, and in the order of the file."""
    parents = arm.of(arm.names).parents
    for end in (k for k in range(len(parents)) if k not in parents):
        way = [end]
        while (parent := parents[way[0]]) >= 0:
            way.insert(0, parent)
        for first in range(len(way) - size, -1, -1):
            yield tuple(arm.names[k] for k in way[first : first + size])
    for first in range(len(arm.names) - size + 1):
        yield arm.names[first : first + size]


def misfit(cad: Path | None, robot: Robot) -> list[str]:
    """Say why a CAD table is not one of this robot, or of none, if so; a folder of reports is read by `ident run`."""
    from ident.cad import read_cad

    if cad is None or cad.suffix.lower() not in (".csv", ".toml"):
        return []
    try:
        read_cad(cad).for_robot(robot)
        doubts = doubted(cad)
    except IdentError as cause:
        return [f"PROBLEM, which `ident run` will stop at: {cause}"]
    return [f"PROBLEM: {cad.name}: {doubts[0]}; torques are taken without it"] if doubts else []


def doubted(cad: Path) -> list[str]:
    """Return a sentence for each body of a table that no link of a robot is, as of g where kg is declared."""
    from ident.cad import check_cad, read_cad

    return [f"link '{v.link}': {doubt}" for v in check_cad(read_cad(cad)) for doubt in v.doubts]


def mimics(urdf: Path, moving: Sequence[str]) -> list[str]:
    """Return what is to be told of the joints of a URDF that mimic those that move."""
    pairs = [(leader, follower) for leader in moving for follower, _ in followers(urdf, {leader: 0.0})]
    return [f"NOTE: {follower} mimics {leader} and is not modelled: it is locked at zero" for leader, follower in pairs]


def followers(urdf: Path, held: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Yield the joints that mimic those that are held, and where they are then."""
    for joint in read_description(urdf).joints.values():
        for mimic in joint.element.all("mimic"):
            at = At(urdf.name, f"joint '{joint.name}'")
            if (leader := at.text(mimic, "joint")) in held:
                yield joint.name, at.number(mimic, "multiplier", 1.0) * held[leader] + at.number(mimic, "offset", 0.0)
