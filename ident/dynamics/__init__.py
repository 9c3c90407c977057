"""Rigid-body dynamics in batches: D(q) qdd + C(q, qd) qd + g(q) = tau, for N states in one call, on all cores.

Every function takes a Robot, the links' inertials (n, 10) where it needs them, and states (N, n).
"""

from ident.dynamics.rigid_body import bias as bias
from ident.dynamics.rigid_body import christoffel as christoffel
from ident.dynamics.rigid_body import coriolis_matrix as coriolis_matrix
from ident.dynamics.rigid_body import forward_dynamics as forward_dynamics
from ident.dynamics.rigid_body import frame_pose as frame_pose
from ident.dynamics.rigid_body import gravity_load as gravity_load
from ident.dynamics.rigid_body import inverse_dynamics as inverse_dynamics
from ident.dynamics.rigid_body import jacobian as jacobian
from ident.dynamics.rigid_body import kinetic_energy as kinetic_energy
from ident.dynamics.rigid_body import mass_matrix as mass_matrix
from ident.dynamics.rigid_body import potential_energy as potential_energy
from ident.dynamics.rigid_body import regressor as regressor
