"""Corke's Robotics Toolbox, Python and MATLAB, of a robot with a standard or modified DH table.

Source: petercorke/robotics-toolbox-python, Link: m, r (centre in the link frame), I about the centre of mass as
[Ixx Iyy Izz Ixy Iyz Ixz], Jm, B, Tc on the MOTOR side, G; `Link.friction`: tau = G^2 B qd + |G| Tc, "the friction
parameters in the Link object are referred to the motor"; petercorke/robotics-toolbox-matlab, Link, likewise. With
G = 1, as written here, motor and joint side are the same. Measured with Python's 1.1.1 and 1.5.0: `rne` takes gravity
as the acceleration of a falling body (MATLAB's: upwards), no version's `rne` honours `flip`, and the compiled one is
wrong where the first joint is prismatic. MATLAB's rne_dh.m and rne_mdh.m (read: those of 2011 to 2017) leave out a
prismatic joint's offset, and rne_dh.m turns the first joint about the world's z instead of the base's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ident.arrays import Array
from ident.errors import ModelError
from ident.export.identified import MOTOR, Identified, Written
from ident.export.text import comment, matlab, number, numbers, rows
from ident.robot.file import DHJoint, MDHJoint, X, Z
from ident.robot.robot import Joint, Robot
from ident.robot.urdf_write import com_numbers
from ident.spatial.inertia import Pose, axis_angle

_CLOSE = 1e-9
#: One row; its theta and d are those at zero joint position.
Row = DHJoint | MDHJoint


@dataclass(frozen=True, eq=False)
class Table:
    """A DH table whose joints all count along their axis z, and frame 0 seen from the base frame.

    A joint of the robot that counts against z has its frame (standard DH: the one before it) turned by half a turn
    about x: `turned` says so of each link's frame, `base` includes that of frame 0.
    """

    modified: bool
    rows: tuple[Row, ...]
    turned: tuple[bool, ...]
    base: Pose


def dh_table(robot: Robot) -> Table:
    """Return the table that the robot's link frames follow; standard is tried first.

    Raises ModelError, naming the first joint that fits neither, for trees and for frames of a URDF that are no DH
    frames. Frame 0 may stand anywhere, so the first joint always fits as far as theta and (standard DH) d go.
    """
    for i, joint in enumerate(robot.joints):
        if joint.parent != i - 1:
            raise ModelError(f"a DH table describes a chain, and joint '{joint.name}' branches off", fix=_OTHERS)
    for modified, row_of in ((False, _standard), (True, _modified)):
        rows, signs, base = [], [], Pose.identity()
        for i, joint in enumerate(robot.joints):
            fits = [(*x, sign) for sign in (1, -1) if (x := row_of(joint, sign, i == 0)) is not None]
            if not fits:
                break
            row, before, sign = min(fits, key=lambda x: float(np.abs(x[1].matrix - np.eye(4)).max()) > _CLOSE)
            rows.append(row)
            signs.append(sign)
            if i == 0:
                base = before
        else:
            # every joint along its axis: with X = Rx(pi), X Rz(theta) Tz(d) = Rz(-theta) Tz(-d) X
            against = [sign < 0 for sign in signs]
            frames = [False, *against] if modified else [*against, False]  # frame 0 ... n: is it turned?
            turns = [math.pi * (after - turned) for turned, after in pairwise(frames)]
            made = [
                replace(r, alpha=math.remainder(r.alpha + turn, 2 * math.pi), d=sign * r.d, theta=sign * r.theta)
                for r, sign, turn in zip(rows, signs, turns, strict=True)
            ]
            return Table(modified, tuple(made), tuple(frames[1:]), base @ HALF_TURN if frames[0] else base)
    raise ModelError(f"the frame of joint '{joint.name}' follows neither standard nor modified DH", fix=_OTHERS)


_OTHERS = "Export a format with free frames, such as urdf (of several leave this out), or give the robot as a DH table"


def _standard(joint: Joint, sign: int, first: bool) -> tuple[Row, Pose] | None:
    """Return the row of A = Rz(theta) Tz(d) Tx(a) Rx(alpha) whose axis z, seen from the child, is sign * axis."""
    x, y, z = sign * joint.axis
    alpha = math.atan2(y, z)
    a, off, d = axis_angle(X, alpha) @ -joint.point
    if abs(x) > _CLOSE or abs(off) > _CLOSE:
        return None
    row = DHJoint(float(a), alpha, float(d))
    return _turned(joint.placement @ row.geometry(0.0, row.d)[0].inverse(), row, first)


def _turned(left: Pose, row: Row, first: bool) -> tuple[Row, Pose] | None:
    """Return the row with the theta of a rotation about z; of the first joint anything else is frame 0."""
    theta = math.atan2(left.rotation[1, 0], left.rotation[0, 0])
    rest = left @ Pose(axis_angle(Z, -theta), np.zeros(3))
    if np.abs(rest.matrix - np.eye(4)).max() < _CLOSE:
        return replace(row, theta=theta), Pose.identity()
    return (row, left) if first else None


def _modified(joint: Joint, sign: int, first: bool) -> tuple[Row, Pose] | None:
    """Return the row of A = Rx(alpha) Tx(a) Rz(theta) Tz(d)."""
    if np.abs(sign * joint.axis - Z).max() > _CLOSE or np.abs(joint.point).max() > _CLOSE:
        return None
    r: Array = joint.placement.rotation
    alpha, theta = math.atan2(-r[1, 2], r[2, 2]), math.atan2(-r[0, 1], r[0, 0])
    a, _, d = axis_angle(X, -alpha) @ joint.placement.position
    row = MDHJoint(float(a), alpha, float(d), theta)
    if np.abs(row.geometry(theta, row.d)[0].matrix - joint.placement.matrix).max() < _CLOSE:
        return row, Pose.identity()
    return (MDHJoint(), joint.placement) if first else None


CONVENTIONS = (
    "Units: SI, rad. Frame: the link's DH frame. r: centre of mass; I = [Ixx Iyy Izz Ixy Iyz Ixz] about the CENTRE of",
    "mass, link axes, tensor signs (Ixy = -integral of x y dm). Jm, B, Tc belong to the MOTOR side in this toolbox;",
    "here G = 1, so that they are the joint's drive inertia, viscous and Coulomb friction. Before you set the gear",
    "ratio G, divide Jm and B by G^2 and Tc by |G|. The toolbox's dynamics ignore `flip`: frames whose joint counts",
    "against its axis are turned by half a turn about x, so that q keeps its sign.",
)
HALF_TURN = Pose(np.diag([1.0, -1.0, -1.0]), np.zeros(3))


def write_rtb_python(item: Identified) -> Written:
    """Return a Python script that makes `robot`, a DHRobot; raises ModelError without DH frames."""
    robot = item.geometry("a Robotics Toolbox script")
    table = dh_table(robot)
    head, notes = item.about(*MOTOR)
    if robot.joints[0].slides:
        notes += ("The first joint is prismatic, where the toolbox's compiled rne is wrong: call rne_python (of 1.5).",)
    ends = f"base={_se3(table.base)}" + (f", tool={_se3(HALF_TURN)}" if table.turned[-1] else "")
    lines = [*comment((*head, *CONVENTIONS, *notes), "#"), "import numpy"]
    lines += ["from roboticstoolbox import DHLink, DHRobot", "from spatialmath import SE3", "", "links = ["]
    for joint, geometry, dynamics, limits in _links(item, robot, table):
        values = ", ".join(f"{k}={_python(v)}" for k, v in {**geometry, **dynamics}.items())
        qlim = "" if limits is None else f", qlim=[{numbers(limits, ', ')}]"
        lines.append(f"    DHLink({values}, mdh={table.modified}{qlim}),  # {joint.name!r}")
    lines += ["]", "# gravity: that of a falling body, as versions 1.1 to 1.5 take it (MATLAB's toolbox: its negative)"]
    lines += [f"robot = DHRobot(links, name={robot.name!r}, {ends}, gravity=[{numbers(robot.gravity, ', ')}])"]
    return "\n".join(lines) + "\n", notes


def write_rtb_matlab(item: Identified) -> Written:
    """Return a MATLAB script that makes `robot`, a SerialLink; raises ModelError without DH frames."""
    robot = item.geometry("a Robotics Toolbox script")
    table = dh_table(robot)
    head, notes = item.about(*MOTOR)
    notes = (*notes, *_matlab_limits(robot, table))
    lines = [*comment((*head, *CONVENTIONS, *notes), "%"), "clear links"]
    convention = "modified" if table.modified else "standard"
    for i, (_, geometry, dynamics, limits) in enumerate(_links(item, robot, table), 1):
        dh = numbers(geometry[k] for k in ("theta", "d", "a", "alpha"))
        lines.append(f"links({i}) = Link([{dh} {geometry['sigma']} {number(geometry['offset'])}], '{convention}');")
        if limits is not None:
            lines.append(f"links({i}).qlim = [{numbers(limits)}];")
        for key, value in dynamics.items():
            text = number(value) if isinstance(value, float) else f"[{numbers(value)}]"
            lines.append(f"links({i}).{key} = {text};")
    lines += ["% gravity points up here: it is the acceleration of the base that weight amounts to"]
    tool = f"'tool', {rows(HALF_TURN.matrix)}, " if table.turned[-1] else ""
    lines += [
        f"robot = SerialLink(links, 'name', {matlab(robot.name)}, 'base', {rows(table.base.matrix)}, {tool}"
        f"'gravity', [{numbers(-robot.gravity)}]);"
    ]
    return "\n".join(lines) + "\n", notes


def _matlab_limits(robot: Robot, table: Table) -> Iterator[str]:
    """Yield notes on what MATLAB's toolbox finds wrong torques for."""
    kinds = [joint.kind for joint in robot.joints]
    if any(kind == "prismatic" and row.d for kind, row in zip(kinds, table.rows, strict=True)):
        yield "A prismatic joint has an offset, which the toolbox's rne_dh.m and rne_mdh.m leave out."
    if not table.modified and abs(table.base.rotation[2, 2] - 1) > 1e-12:
        weight = numbers(-table.base.rotation.T @ robot.gravity)
        yield (
            "The base is tilted, where the toolbox's rne_dh.m is wrong: for torques set robot.base to eye(4) and "
            f"robot.gravity to [{weight}]."
        )
    if kinds[0] == "prismatic":
        yield "The first joint is prismatic, where the toolbox's compiled rne is wrong."


def _links(
    item: Identified, robot: Robot, table: Table
) -> Iterator[tuple[Joint, dict[str, float], dict[str, float | list[float]], tuple[float, float] | None]]:
    places = [item.per_joint(kind) for kind in MOTOR]
    for i, (joint, row, turned) in enumerate(zip(robot.joints, table.rows, table.turned, strict=True)):
        mass, com, (xx, xy, xz, yy, yz, zz) = com_numbers(item.inertials[i])
        if turned:
            com, xy, xz = [com[0], -com[1], -com[2]], -xy, -xz
        drive, viscous, coulomb = (own.get(joint.name, 0.0) for own in places)
        dynamics: dict[str, float | list[float]] = {
            "m": mass,
            "r": com,
            "I": [xx, yy, zz, xy, yz, xz],
            "Jm": drive,
            "G": 1.0,
            "B": viscous,
            "Tc": [coulomb, -coulomb],
        }
        # what the joint moves is 0 in the toolbox, and its value at zero is the offset
        moved = "d" if joint.slides else "theta"
        geometry = {"d": row.d, "alpha": row.alpha, "theta": row.theta, "a": row.a, "sigma": int(joint.slides)}
        yield joint, geometry | {moved: 0.0, "offset": geometry[moved]}, dynamics, joint.limits.ends


def _se3(pose: Pose) -> str:
    return "SE3(numpy.array([" + ", ".join(f"[{numbers(r, ', ')}]" for r in pose.matrix) + "]), check=False)"


def _python(value: float | list[float]) -> str:
    if isinstance(value, list):
        return f"[{numbers(value, ', ')}]"
    return number(value) if isinstance(value, float) else repr(value)
