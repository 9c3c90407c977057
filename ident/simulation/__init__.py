"""Simulation of a model with numbers: adaptive or with fixed steps, driven by torques over time or by a controller."""

from ident.simulation.plant import Plant, acceleration, plant, without_friction
from ident.simulation.rollouts import Rollouts, rollouts
from ident.simulation.run import Simulation
from ident.simulation.simulate import simulate, simulate_fixed
from ident.simulation.storage import manifest_text, read_torques, to_frame, write_simulation
from ident.simulation.torques import (
    CartesianPD,
    ComputedTorque,
    PDGravity,
    SampledTorque,
    TorqueFunction,
    hold,
    hold_point,
)

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
