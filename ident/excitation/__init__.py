"""Excitation: motions that make the parameters identifiable, within the robot's limits at every instant."""

from ident.excitation.bases import Basis as Basis
from ident.excitation.bases import Fourier as Fourier
from ident.excitation.bases import FourierAndPolynomial as FourierAndPolynomial
from ident.excitation.bases import through as through
from ident.excitation.moves import Moves as Moves
from ident.excitation.moves import posture_tour as posture_tour
from ident.excitation.moves import static_postures as static_postures
from ident.excitation.moves import velocity_sweep as velocity_sweep
from ident.excitation.trajectory import StoredTrajectory as StoredTrajectory
from ident.excitation.trajectory import Trajectory as Trajectory
from ident.excitation.trajectory import load_trajectory as load_trajectory
from ident.excitation.trajectory import save_trajectory as save_trajectory
from ident.excitation.trajectory import write_csv as write_csv
from ident.excitation.trajectory import write_ros2 as write_ros2
