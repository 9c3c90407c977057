"""Rigid-body dynamics in batches: D(q) qdd + C(q, qd) qd + g(q) = tau, for N states in one call, on all cores.

Every function takes a Robot, the links' inertials (n, 10) where it needs them, and states (N, n).
"""

from ident.dynamics.rigid_body import (
    bias,
    christoffel,
    coriolis_matrix,
    forward_dynamics,
    frame_pose,
    gravity_load,
    inverse_dynamics,
    jacobian,
    jacobian_derivative,
    kinetic_energy,
    mass_matrix,
    potential_energy,
    regressor,
)

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
