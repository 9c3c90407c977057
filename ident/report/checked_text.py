"""What single files and states say: robots, logs, CAD reports and tables, torques at a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ident.arrays import Array
from ident.report.text import Table, number, table
from ident.robot import Robot

if TYPE_CHECKING:
    from ident.cad import Cad, Sheet
    from ident.logs import LogReport

_SIGNS = {
    "positive": "+integral of x y dm",
    "tensor": "-integral of x y dm (entries of the tensor)",
    None: "not stated",
}


def robot_rows(robot: Robot, verdicts: Sequence[str]) -> Table:
    """Return each joint with its range, and the mass of its link and whether that can exist."""
    masses = np.full(robot.n, np.nan) if robot.inertials is None else robot.inertials[:, 0]
    rows = []
    for joint, link, mass, verdict in zip(robot.joints, robot.links, masses, verdicts, strict=True):
        parent = robot.base if joint.parent < 0 else robot.links[joint.parent]
        limits = f"{number(joint.limits.lower, 3)} to {number(joint.limits.upper, 3)}"
        shown = number(None if verdict == "no inertial" else float(mass))
        rows.append((joint.name, joint.kind, f"{parent} - {link}", limits, shown, verdict))
    columns = ("joint", "kind", "between", "range [rad; m]", "mass [kg]", "link")
    return table("", columns, rows, ["bad" if v.startswith("cannot") else "" for v in verdicts])


def step_rows(found: LogReport) -> Table:
    """Return the most frequent time steps of a recording."""
    rows = [(number(step * 1e3), count) for step, count in found.steps[:6]]
    if rest := sum(count for _, count in found.steps[6:]):
        rows.append((f"others, {number(found.dt_min * 1e3)} to {number(found.dt_max * 1e3)}", rest))
    shares = [(step, str(count), f"{100 * count / (found.samples - 1):.3g} %") for step, count in rows]
    return table("", ("time step [ms]", "rows", "share"), shares)


def sheet_rows(report: Sheet) -> Table:
    """Return every number of a CAD report as it is printed, with its unit, its rounding in SI and its line."""
    from ident.cad.sheets.sheet import ENTRIES

    named = [("mass", report.mass), ("density", report.density), ("volume", report.volume), ("area", report.area)]
    named += list(zip(("box length", "box width", "box height"), report.box or (), strict=False))
    named += list(zip(("centre x", "centre y", "centre z"), report.center, strict=True))
    for what, six in (("centre", report.at_center), ("output frame", report.at_origin)):
        named += [(f"I{e} at {what}", n) for e, n in zip(ENTRIES, six, strict=True)] if six else []
    for k, n in enumerate(report.moments or (), 1):
        named.append((f"principal moment {k}", n))
        named += [(f"its axis {j}", a) for j, a in zip("xyz", report.axes[k - 1] if report.axes else (), strict=False)]
    rows = [
        (name, n.text, n.unit, f"± {number(float(n.half), 2)}", str(n.line), "set by a user" if n.overridden else "")
        for name, n in named
        if n is not None
    ]
    return table("", ("number", "printed", "unit", "rounding [SI]", "line", ""), rows)


def sheet_sentences(report: Sheet) -> list[str]:
    """Return what a CAD report says of the sign of its products, and its notes."""
    said = _SIGNS[report.stated]
    if report.stated is None and report.documented is not None:
        said += f" here; {report.documented_by} say {_SIGNS[report.documented]}"
    notes = (f"note: {n.strip('* ')}" if n.startswith("*") else f"not read: {n}" for n in report.notes)
    return [f"products: {said}", *notes]


def cad_rows(cad: Cad) -> Table:
    """Return the links in SI: mass, centre, and tensor about the centre with tensor signs."""
    from ident.cad.convention import PLAIN
    from ident.cad.table import printed

    rows = []
    for link, p in zip(cad.links, cad.inertials, strict=True):
        m, *others = printed(p, PLAIN).tolist()
        rows.append((link, number(m), *(number(x, 4) for x in others)))
    columns = ("link", "m [kg]", "cx [m]", "cy", "cz", "Ixx [kg m^2]", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
    return table("Links in their frames, tensor about the centre of mass, Ixy = -integral of x y dm", columns, rows)


def torque_rows(title: str, robot: Robot, parts: Mapping[str, Array]) -> Table:
    """Return the torque (n,) of each joint by what it is made of."""
    each = zip(robot.joints, _rounded(np.array(list(parts.values())).T), strict=True)
    rows = [(joint.name, joint.unit("torque"), *(number(float(x)) for x in row)) for joint, row in each]
    return table(title, ("joint", "unit", *parts), rows)


def mass_rows(robot: Robot, matrix: Array) -> Table:
    """Return the mass matrix (n, n)."""
    each = zip(robot.joint_names, _rounded(matrix), strict=True)
    rows = [(name, *(number(float(x)) for x in row)) for name, row in each]
    title = "Mass matrix D(q), of the links without drives [kg m^2; kg m; kg]"
    return table(title, ("", *robot.joint_names), rows)


def _rounded(values: Array) -> Array:
    """Return values (n, m) with 0 in place of what is no more than rounding beside the largest."""
    return np.where(np.abs(values) < 1e-14 * np.abs(values).max(), 0.0, values)
