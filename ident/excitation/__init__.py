"""Excitation: motions that make the parameters identifiable, within the robot's limits at every instant."""

from ident.excitation.basis import Basis, through
from ident.excitation.fourier import Fourier
from ident.excitation.fourier_polynomial import FourierAndPolynomial
from ident.excitation.moves import Moves
from ident.excitation.periodic_spline import PeriodicSpline
from ident.excitation.postures import posture_tour, static_postures
from ident.excitation.storage import StoredTrajectory, load_trajectory, save_trajectory
from ident.excitation.trajectory import Trajectory
from ident.excitation.velocity_sweep import velocity_sweep
from ident.excitation.write_samples import write_csv, write_ros2

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
