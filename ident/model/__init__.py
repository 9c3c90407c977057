"""Models: rigid bodies plus joint terms, one file each."""

from ident.model.coulomb import Coulomb, SmoothCoulomb
from ident.model.coupled_drive import Coupled, coupled_drive, coupled_drives, coupled_motors
from ident.model.dahl import Dahl
from ident.model.drive_inertia import DriveInertia
from ident.model.load_friction import LoadFriction
from ident.model.model import Model, regressor, torque
from ident.model.nonlinear_viscous import NonlinearViscous
from ident.model.offset import Offset
from ident.model.spring import Spring
from ident.model.terms import TERMS, register
from ident.model.viscous import Viscous

__all__ = [
    "TERMS",
    "Coulomb",
    "Coupled",
    "Dahl",
    "DriveInertia",
    "LoadFriction",
    "Model",
    "NonlinearViscous",
    "Offset",
    "SmoothCoulomb",
    "Spring",
    "Viscous",
    "coupled_drive",
    "coupled_drives",
    "coupled_motors",
    "register",
    "regressor",
    "torque",
]
