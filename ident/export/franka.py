"""Franka: libfranka `Robot::setLoad`.

Source: libfranka API: setLoad(double load_mass, array<double, 3> F_x_Cload, array<double, 9> load_inertia): centre of
mass in the flange frame, inertia matrix [kg m^2] column-major; franka_msgs/srv/SetLoad (docs.ros.org) likewise.
"""

from __future__ import annotations

from ident.export.payload import Payload, about, decimal, decimals, rounded
from ident.export.text import comment

CONVENTIONS = (
    "Units: kg, m, kg m^2. F_x_Cload: centre of mass in the FLANGE frame. load_inertia: 3 x 3, column-major, about the",
    "load's centre of mass, flange axes, tensor signs (Ixy = -integral of x y dm).",
    "The end effector itself is set in Desk: give here what is carried beyond it.",
)


def write_franka(load: Payload) -> str:
    """Return a C++ snippet with one call of robot.setLoad."""
    r = rounded(load)
    column_major = decimals(r.inertia.T, r.at_inertia.T)
    com = decimals(r.com, r.at_com)
    call = f"robot.setLoad({decimal(r.mass, r.at_mass)}, {{{{{com}}}}}, {{{{{column_major}}}}});"
    return "\n".join([*comment(about(load, CONVENTIONS, products=True), "//"), call]) + "\n"
