"""Excitation: motions that make the parameters identifiable, within the robot's limits at every instant."""

from ident.excitation.basis import Basis, through
from ident.excitation.fourier import Fourier
from ident.excitation.fourier_polynomial import FourierAndPolynomial
from ident.excitation.periodic_spline import PeriodicSpline
from ident.excitation.storage import StoredTrajectory, load_trajectory, save_trajectory
from ident.excitation.trajectory import Trajectory
from ident.excitation.write_c import write_c
from ident.excitation.write_csv import write_csv
from ident.excitation.write_ros2 import write_ros2

__all__ = [
    "Basis",
    "Fourier",
    "FourierAndPolynomial",
    "PeriodicSpline",
    "StoredTrajectory",
    "Trajectory",
    "load_trajectory",
    "save_trajectory",
    "through",
    "write_c",
    "write_csv",
    "write_ros2",
]
