"""Models: rigid bodies plus joint terms, one file each."""

from ident.model.coulomb import Coulomb as Coulomb
from ident.model.coulomb import Dahl as Dahl
from ident.model.coulomb import SmoothCoulomb as SmoothCoulomb
from ident.model.coupled_drive import Coupled as Coupled
from ident.model.coupled_drive import coupled_drive as coupled_drive
from ident.model.coupled_drive import coupled_drives as coupled_drives
from ident.model.coupled_drive import coupled_motors as coupled_motors
from ident.model.drive_inertia import DriveInertia as DriveInertia
from ident.model.load_friction import LoadFriction as LoadFriction
from ident.model.model import Model as Model
from ident.model.model import regressor as regressor
from ident.model.model import torque as torque
from ident.model.nonlinear_viscous import NonlinearViscous as NonlinearViscous
from ident.model.offset import Offset as Offset
from ident.model.spring import Spring as Spring
from ident.model.stribeck import Stribeck as Stribeck
from ident.model.terms import TERMS as TERMS
from ident.model.terms import register as register
from ident.model.viscous import Viscous as Viscous
