"""Writes datasets/arm5/reports/LINK.txt: what SolidWorks would print of the five links, with what goes wrong there.

    python experiments/arm5/make_reports.py

The layout is that of SolidWorks in English (grams, millimetres, three decimals, positive notation); the bodies are
those of cad_solidworks.csv, which are the truth of the log. Three things are planted:

- link3: only the tensor about the centre was kept, and its products have the other sign than the notation text says;
- link4: printed in the assembly's default coordinate system (the robot's base at zero posture), not in the link's own;
- link5: a clamp of 3 g, 30 mm up the link's z axis, is on the robot and not in CAD.

Density and surface are invented (1.2 g/cm^3, a box of twice the surface of a cube): the table does not have them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ident.arrays import Array
from ident.cad import read_cad
from ident.files import write_whole
from ident.robot import read_robot
from ident.spatial.inertia import from_com, tensor, to_com, transformed

DATA = Path(__file__).resolve().parents[2] / "datasets" / "arm5"
CLAMP = from_com(0.003, np.array([0.0, 0.0, 0.030]), np.zeros((3, 3)))  # kg, m
DENSITY = 0.0012  # g/mm^3
XYZ = "xyz"


def bodies() -> dict[str, Array]:
    """Return the parameters (10,) that each report states, in its own output frame, products rightly signed [SI]."""
    robot = read_robot(DATA / "robot.toml")
    cad = read_cad(DATA / "cad_solidworks.csv", robot.links)
    found = dict(zip(robot.links, cad.for_robot(robot), strict=True))
    found["link4"] = transformed(found["link4"], robot.poses(np.zeros(robot.n))[3])
    found["link5"] = found["link5"] - CLAMP
    return found


def report(link: str, body: Array) -> str:
    """Return the text of one link's report."""
    m, c, central = to_com(body)
    grams, mm = 1e3 * m, 1e3 * c
    volume = grams / DENSITY
    lines = [
        f"Mass properties of {link}",
        "     Configuration: Default",
        f"     Coordinate system: {'-- default --' if link == 'link4' else link}",
        "",
        f"Density = {DENSITY:.6f} grams per cubic millimeter",
        "",
        f"Mass = {grams:.3f} grams",
        "",
        f"Volume = {volume:.3f} cubic millimeters",
        "",
        f"Surface area = {12 * volume ** (2 / 3):.3f}  square millimeters",
        "",
        "Center of mass: ( millimeters )",
        *(f"\t{axis} = {_fixed(x)}" for axis, x in zip("XYZ", mm, strict=True)),
    ]
    unit = "( grams *  square millimeters )"
    if link != "link3":
        moments, axes = np.linalg.eigh(1e9 * central)
        axes = axes.T * [[1], [1], [np.linalg.det(axes)]]  # rows, right-handed
        lines += ["", f"Principal axes of inertia and principal moments of inertia: {unit}"]
        lines += ["Taken at the center of mass."]
        for k, axis, moment in zip(XYZ, axes, moments, strict=True):
            lines.append(f"\t I{k} = ({', '.join(map(_fixed, axis))})   \tP{k} = {_fixed(moment)}")
    sign = 1.0 if link == "link3" else -1.0  # of the printed products; the positive notation's is -1
    blocks = [("L", "center of mass and aligned with the output coordinate system", central)]
    if link != "link3":
        blocks.append(("I", "output coordinate system", tensor(body)))
    for letter, point, inertia in blocks:
        shown = 1e9 * inertia * np.where(np.eye(3) > 0, 1.0, sign)
        lines += ["", f"Moments of inertia: {unit}", f"Taken at the {point}. (Using positive tensor notation.)"]
        for i, row in enumerate(shown):
            lines.append("".join(f"\t{letter}{XYZ[i]}{XYZ[j]} = {_fixed(x)}" for j, x in enumerate(row)))
    return "\n".join(lines) + "\n"


def _fixed(x: float) -> str:
    return f"{round(float(x), 3) + 0.0:.3f}"  # no -0.000


if __name__ == "__main__":
    for name, parameters in bodies().items():
        write_whole(DATA / "reports" / f"{name}.txt", report(name, parameters))
