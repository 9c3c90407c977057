"""Write identified numbers back into a URDF: inertials and joint dynamics change, every other byte stays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import InfeasibleError, RobotError, nearest
from ident.robot.robot import Robot
from ident.robot.urdf import TENSOR, parse_document, to_robot
from ident.robot.xml import Edit, Element, Urdf, attribute_edit, exchanged, read_bytes
from ident.spatial.inertia import consistency, roll_pitch_yaw, steiner, tensor_can_exist, transformed, upper


def write_urdf(
    source: str | Path | bytes,
    robot: Robot,
    inertials: ArrayLike,
    joint_dynamics: Mapping[str, tuple[float, float] | None] | None = None,
) -> bytes:
    """Return the bytes of the URDF `source` with new inertials and joint dynamics and no other change.

    inertials (n, 10): the moving links of `robot` (read from this source) with everything fixed to them merged in;
    what the file says of the fixed bodies is taken away again before writing. Each is written about its centre of
    mass with rpy 0. joint_dynamics: joint name -> (damping [N m s/rad], friction [N m]), or None to leave a joint as
    it is. Numbers have all digits, so that reading gives the same inertials within 1e-12; text of a number that keeps
    its value is kept.
    Raises RobotError when the robot is not the source's, a joint is unknown or a number is not finite;
    InfeasibleError when the numbers as written are not those of a body that can exist.
    """
    file = None if isinstance(source, bytes) else Path(source).name
    data = source if isinstance(source, bytes) else read_bytes(source)
    urdf = parse_document(data, file=file)
    robot = _same_robot(urdf, robot)
    inertials = frozen(inertials, (robot.n, 10), "inertials", RobotError)
    dynamics = joint_dynamics or {}

    own = _own(robot, inertials)
    page = _Page(data)
    edits: list[Edit] = []
    for i, name in enumerate(robot.links):
        size = float(np.abs(inertials[i, 4:]).max())
        if (np.abs(own[i]) <= 1e-14 * np.array([inertials[i, 0]] * 4 + [size] * 6)).all():
            own[i] = 0.0  # what rounding leaves when the fixed bodies are all there is
        if not own[i].any() and urdf.links[name].inertial is None:
            continue
        try:
            numbers = com_numbers(own[i], size=size)
        except InfeasibleError as cause:
            raise InfeasibleError(_why(robot, i, inertials[i], str(cause))) from cause
        edits += page.inertial(urdf.links[name].element, numbers)
    for name, pair in dynamics.items():
        if name not in urdf.joints:
            known = nearest(name, urdf.joints)
            raise RobotError(f"there is no joint '{name}' to give damping and friction{known}", file=file)
        if len(urdf.joints[name].element.all("dynamics")) > 1:
            raise RobotError("the joint has <dynamics> twice", file=file, key=f"joint '{name}'")
        if pair is not None:
            if not all(math.isfinite(x) and x >= 0 for x in pair):
                problem = f"damping and friction are {pair[0]:g} and {pair[1]:g}, wanted finite numbers of at least 0"
                raise RobotError(problem, file=file, key=f"joint '{name}'")
            values = dict(zip(("damping", "friction"), pair, strict=True))
            edits += page.child(urdf.joints[name].element, "dynamics", values)
    return exchanged(data, edits)


def with_origins(source: bytes, described: Robot, corrected: Robot) -> bytes:
    """Return the URDF with the origins of its joints moved as `corrected` stands to the robot as it is described."""
    urdf, page = parse_document(source), _Page(source)
    edits: list[Edit] = []
    for joint, now in zip(described.joints, corrected.joints, strict=True):
        if np.array_equal(joint.placement.matrix, now.placement.matrix):
            continue
        own = urdf.joints[joint.name]
        origin = own.origin @ joint.placement.inverse() @ now.placement
        rpy = roll_pitch_yaw(origin.rotation)
        values: dict[str, float | list[float]] = {"xyz": origin.position.tolist(), "rpy": rpy.tolist()}
        found = own.element.all("origin")
        if found:
            edits += [attribute_edit(found[0], key, _text(value)) for key, value in values.items()]
        else:
            edits += page.insert(own.element, [_tag("origin", values)])
    return exchanged(source, edits)


def without_outweighed(source: bytes, robot: Robot, inertials: ArrayLike) -> tuple[bytes, tuple[str, ...]]:
    """Return the URDF without the <inertial> of bodies that leave nothing that can exist of the link that carries them.

    Such a link then takes all of its row of `inertials` (n, 10). Also returned: what was changed, a sentence
    for each link.
    """
    inertials = frozen(inertials, (robot.n, 10), "inertials", RobotError)
    own, urdf = _own(robot, inertials), parse_document(source)
    edits: list[Edit] = []
    told = []
    for i, link in enumerate(robot.links):
        fixed = [b for b in robot.fixed if b.link == i and b.inertial is not None]
        try:
            com_numbers(own[i], size=float(np.abs(inertials[i, 4:]).max()))
        except InfeasibleError:
            if not fixed:
                continue
            for element in (e for b in fixed for e in urdf.links[b.name].element.all("inertial")):
                start = len(source[: element.start].rstrip())
                edits.append((start, element.end, b""))
            names = ", ".join(f"'{b.name}'" for b in fixed)
            told.append(f"Link '{link}' has all of its {inertials[i, 0]:.6g} kg; {names}, fixed to it, no mass.")
    return exchanged(source, edits), tuple(told)


def _own(robot: Robot, inertials: Array) -> Array:
    """Return what is left of the links (n, 10) without the bodies fixed to them."""
    own = inertials.copy()
    for body in robot.fixed:
        if body.link >= 0 and body.inertial is not None:
            own[body.link] -= transformed(body.inertial, body.pose)
    return own


def com_numbers(parameters: ArrayLike, *, size: float = 0.0) -> tuple[float, list[float], list[float]]:
    """Return mass [kg], centre (3,) [m] and the tensor about it (6,) xx xy xz yy yz zz [kg m^2] of one body (10,).

    Rounded so that these very numbers are physically consistent in exact arithmetic: where rounding breaks a body at
    the edge of what can exist, its three moments grow by at most 1e-13 of the largest entry of its tensor about the
    origin, or of `size` [kg m^2] where the numbers are a difference of larger ones.
    Raises InfeasibleError with what fails and by how much.
    """
    p = [Fraction(float(x)) for x in np.asarray(parameters, dtype=np.float64)]
    m, h = p[0], p[1:4]
    if m <= 0 and any(p):
        raise InfeasibleError(f"m > 0 fails: m = {float(m):.6g} kg")
    c = [x / m for x in h] if m else [Fraction(0)] * 3
    if any(abs(x) > 10**9 for x in c):
        raise InfeasibleError(f"a mass of {float(m):.6g} kg has its centre more than 1e9 m away")
    exact = [value - s for value, s in zip(p[4:], upper(steiner(m, c)), strict=True)]
    size = max(size, *(abs(float(x)) for x in p[4:]))
    decimal = [_near(x, size) for x in exact]
    c = [_near(x, max(abs(float(x)) for x in c)) for x in c]
    if tensor_can_exist(map(float, decimal)):
        return float(m), [float(x) for x in c], [float(x) for x in decimal]
    for nudge in (0.0, 1e-16, 4e-16, 1.6e-15, 6.4e-15, 2.5e-14, 1e-13):
        grown = [x + Fraction(nudge * size) if k in (0, 3, 5) else x for k, x in enumerate(exact)]
        rounded = [float(x) for x in grown]
        if tensor_can_exist(rounded):
            return float(m), [float(x) for x in c], rounded
    phrases = consistency(np.asarray(parameters, dtype=np.float64)).failures()
    raise InfeasibleError("; ".join(phrases) or "the tensor about the centre of mass fails the triangle inequality")


def _near(x: Fraction, size: float) -> Fraction:
    """Return the decimal number that x is up to rounding in quantities of this size, so that 0.3 is written as 0.3."""
    return round(x, 14 - math.ceil(math.log10(size))) if size > 0 else x


def _same_robot(urdf: Urdf, robot: Robot) -> Robot:
    """Return the source's robot, with the joints held that `robot` holds; raises RobotError if it is another."""
    held = {body.name: body.held for body in robot.fixed}
    left = [j for j in urdf.joints.values() if j.kind != "fixed" and j.name not in robot.joint_names]
    locked = {j.name: held.get(j.child, 0.0) for j in left}
    unknown = [name for name in robot.joint_names if name not in urdf.joints]
    if unknown:
        raise RobotError(f"the file has no joint '{unknown[0]}', which the robot to be written has", file=urdf.file)
    for literal in (False, True):
        same = to_robot(urdf, gravity=robot.gravity, lock=locked, literal_angles=literal)
        if same.fingerprint() == robot.fingerprint():
            return same
    problem = f"the robot '{robot.name}' to be written has other links, axes or placements than this file"
    raise RobotError(problem, file=urdf.file, fix="Write into the file that the robot was read from")


def _why(robot: Robot, i: int, given: Array, what: str) -> str:
    failures = consistency(given).failures()
    start = f"link '{robot.links[i]}' cannot be written"
    fixed = [f"'{b.name}' ({b.inertial[0]:.6g} kg)" for b in robot.fixed if b.link == i and b.inertial is not None]
    if failures or not fixed:
        return f"{start}, for such a body cannot exist: {'; '.join(failures) or what}."
    return (
        f"{start}: its {given[0]:.6g} kg include what is fixed to it, {', '.join(fixed)}, and without these as the "
        f"file has them the rest cannot exist: {what}. Correct the <inertial> of the fixed bodies in the URDF."
    )


class _Page:
    """The source's bytes with their habits: newline and indentation."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.newline = b"\r\n" if b"\r\n" in data else b"\n"

    def inertial(self, link: Element, numbers: tuple[float, list[float], list[float]]) -> list[Edit]:
        mass, com, about_com = numbers
        wanted: dict[str, dict[str, float | list[float]]] = {
            "origin": {"xyz": com, "rpy": [0.0, 0.0, 0.0]},
            "mass": {"value": mass},
            "inertia": dict(zip(TENSOR, about_com, strict=True)),
        }
        found = link.all("inertial")
        if found:
            if not found[0].all("origin") and not any(com):
                del wanted["origin"]
            return [edit for tag, values in wanted.items() for edit in self.child(found[0], tag, values)]
        return self.insert(link, ["<inertial>", *("\t" + _tag(t, v) for t, v in wanted.items()), "</inertial>"])

    def child(self, element: Element, tag: str, values: Mapping[str, float | list[float]]) -> list[Edit]:
        """Set attributes of the only child with this tag, which is inserted where there is none."""
        found = element.all(tag)
        if not found:
            return self.insert(element, [_tag(tag, values)])
        own = found[0].values
        wanted = {k: v for k, v in values.items() if (k in own or k != "rpy") and not _says(own.get(k, ""), v)}
        return [attribute_edit(found[0], k, _text(v)) for k, v in wanted.items()]

    def insert(self, parent: Element, lines: list[str]) -> list[Edit]:
        """Insert lines (one leading tab per level) as last child, indented like the children that are there."""
        outer = self.indentation(parent.start)
        unit = b"\t" if b"\t" in outer else b"  "
        inner = self.indentation(parent.children[0].start) if parent.children else outer + unit
        body = b"".join(self.newline + inner + line.encode().replace(b"\t", unit) for line in lines)
        if parent.empty:  # <link name="x"/> becomes <link name="x"> ... </link>
            slash = parent.end - 2
            return [(slash, parent.end, b">" + body + self.newline + outer + f"</{parent.tag}>".encode())]
        if parent.children:
            at = parent.children[-1].end
            return [(at, at, body)]
        rest = self.data[parent.start_end : self.data.rindex(b"</", 0, parent.end)]
        at = parent.start_end
        return [(at, at, body if rest.startswith((b"\n", b"\r")) else body + self.newline + outer)]

    def indentation(self, at: int) -> bytes:
        """Return the white space before data[at] on its line, or nothing where something else stands there."""
        line = self.data[max(self.data.rfind(b"\n", 0, at), self.data.rfind(b"\r", 0, at)) + 1 : at]
        return line[: len(line) - len(line.lstrip(b" \t"))]


def _tag(tag: str, values: Mapping[str, float | list[float]]) -> str:
    return f"<{tag} " + " ".join(f"{name}={quoteattr(_text(value))}" for name, value in values.items()) + "/>"


def _text(value: float | list[float]) -> str:
    # repr has all digits; + 0.0 turns -0.0 into 0.0
    return " ".join(repr(x + 0.0) for x in (value if isinstance(value, list) else [value]))


def _says(text: str, value: float | list[float]) -> bool:
    """Return whether the text already has this value."""
    try:
        return [float(word) for word in text.split()] == (value if isinstance(value, list) else [value])
    except ValueError:
        return False
