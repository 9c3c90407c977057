"""Rigid-body dynamics in batches: D(q) qdd + C(q, qd) qd + g(q) = tau, for N states in one call, on all cores.

Every function takes a Robot, the links' inertials (n, 10) where it needs them, and states (N, n).
"""

from ident.dynamics.equations_of_motion import (
    bias,
    christoffel,
    coriolis_matrix,
    gravity_load,
    kinetic_energy,
    mass_matrix,
    potential_energy,
)
from ident.dynamics.forward_dynamics import forward_dynamics
from ident.dynamics.jacobian import frame_pose, jacobian, jacobian_derivative
from ident.dynamics.rigid_body import inverse_dynamics, regressor

__all__ = [
    "bias",
    "christoffel",
    "coriolis_matrix",
    "forward_dynamics",
    "frame_pose",
    "gravity_load",
    "inverse_dynamics",
    "jacobian",
    "jacobian_derivative",
    "kinetic_energy",
    "mass_matrix",
    "potential_energy",
    "regressor",
]
