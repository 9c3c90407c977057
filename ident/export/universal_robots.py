"""Universal Robots: URScript `set_target_payload`.

Source: URScript manual, SW 5.20: set_target_payload(m, cog, inertia=[0]*6, transition_time=0), inertia [Ixx, Iyy, Izz,
Ixy, Ixz, Iyz] at the centre of gravity, axes of the tool flange; set_payload is deprecated and resets the inertia.
The same six names in ur_msgs/srv/SetPayload (docs.ros.org). The sign of Ixy is not stated: taken as tensor entries.
"""

from __future__ import annotations

from ident.export.payload import Payload, about, decimal, decimals, rounded
from ident.export.text import comment

CONVENTIONS = (
    "Units: kg, m, kg m^2. cog: from the tool flange, in its axes. inertia = [Ixx, Iyy, Izz, Ixy, Ixz, Iyz] about the",
    "centre of gravity, flange axes, tensor signs (Ixy = -integral of x y dm; the manual does not state the sign).",
    "Give everything beyond the flange at once: gripper and workpiece.",
)


def write_ur_script(load: Payload) -> str:
    """Return one call of set_target_payload."""
    r = rounded(load)
    six = ([0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2])
    inertia = decimals(r.inertia[six], r.at_inertia[six])
    cog = decimals(r.com, r.at_com)
    call = f"set_target_payload({decimal(r.mass, r.at_mass)}, [{cog}], [{inertia}])"
    return "\n".join([*comment(about(load, CONVENTIONS, products=True), "#"), call]) + "\n"
