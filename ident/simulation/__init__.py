"""Simulation of a model with numbers: adaptive or with fixed steps, driven by torques over time or by a controller."""

from ident.simulation.acceleration import acceleration
from ident.simulation.controllers import CartesianPD, ComputedTorque, PDGravity, hold, hold_point
from ident.simulation.fixed_step import simulate_fixed
from ident.simulation.plant import Plant, plant, without_friction
from ident.simulation.read import read_torques
from ident.simulation.rollouts import Rollouts, rollouts
from ident.simulation.simulate import simulate
from ident.simulation.simulation import Simulation
from ident.simulation.torques import SampledTorque, TorqueFunction
from ident.simulation.write import manifest_text, to_frame, write_simulation

__all__ = [
    "CartesianPD",
    "ComputedTorque",
    "PDGravity",
    "Plant",
    "Rollouts",
    "SampledTorque",
    "Simulation",
    "TorqueFunction",
    "acceleration",
    "hold",
    "hold_point",
    "manifest_text",
    "plant",
    "read_torques",
    "rollouts",
    "simulate",
    "simulate_fixed",
    "to_frame",
    "without_friction",
    "write_simulation",
]
