"""Excitation: motions that make the parameters identifiable, within the robot's limits at every instant."""

from ident.excitation.basis import Basis, through
from ident.excitation.fourier import Fourier
from ident.excitation.fourier_polynomial import FourierAndPolynomial
from ident.excitation.periodic_spline import PeriodicSpline
from ident.excitation.trajectory import Trajectory

__all__ = ["Basis", "Fourier", "FourierAndPolynomial", "PeriodicSpline", "Trajectory", "through"]
