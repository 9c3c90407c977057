"""Excitation: motions that make the parameters identifiable, within the robot's limits at every instant."""

from ident.excitation.bases import Fourier, FourierAndPolynomial, PeriodicSpline
from ident.excitation.basis import Basis, through
from ident.excitation.moves import Moves, posture_tour, static_postures, velocity_sweep
from ident.excitation.storage import StoredTrajectory, load_trajectory, save_trajectory, write_csv, write_ros2
from ident.excitation.trajectory import Trajectory

__all__ = [
    "Basis",
    "Fourier",
    "FourierAndPolynomial",
    "Moves",
    "PeriodicSpline",
    "StoredTrajectory",
    "Trajectory",
    "load_trajectory",
    "posture_tour",
    "save_trajectory",
    "static_postures",
    "through",
    "velocity_sweep",
    "write_csv",
    "write_ros2",
]
