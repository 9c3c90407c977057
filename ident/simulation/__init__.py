"""Simulation of a model with numbers: adaptive or with fixed steps, driven by torques over time or by a controller."""

from ident.simulation.acceleration import acceleration
from ident.simulation.fixed_step import simulate_fixed
from ident.simulation.plant import Plant, plant, without_friction
from ident.simulation.rollouts import Rollouts, rollouts
from ident.simulation.simulate import simulate
from ident.simulation.simulation import Simulation
from ident.simulation.torques import SampledTorque, TorqueFunction

__all__ = [
    "Plant",
    "Rollouts",
    "SampledTorque",
    "Simulation",
    "TorqueFunction",
    "acceleration",
    "plant",
    "rollouts",
    "simulate",
    "simulate_fixed",
    "without_friction",
]
