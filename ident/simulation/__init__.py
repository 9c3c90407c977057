"""Simulation of a model with numbers: adaptive or with fixed steps, driven by torques over time or by a controller."""

from ident.simulation.plant import Plant as Plant
from ident.simulation.plant import acceleration as acceleration
from ident.simulation.plant import plant as plant
from ident.simulation.plant import without_friction as without_friction
from ident.simulation.run import Simulation as Simulation
from ident.simulation.run import read_torques as read_torques
from ident.simulation.run import to_frame as to_frame
from ident.simulation.run import write_simulation as write_simulation
from ident.simulation.simulate import Rollouts as Rollouts
from ident.simulation.simulate import rollouts as rollouts
from ident.simulation.simulate import simulate as simulate
from ident.simulation.simulate import simulate_fixed as simulate_fixed
from ident.simulation.torques import ComputedTorque as ComputedTorque
from ident.simulation.torques import SampledTorque as SampledTorque
from ident.simulation.torques import TorqueFunction as TorqueFunction
