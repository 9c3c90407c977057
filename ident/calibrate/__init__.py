"""Calibration: what is wrong with the robot's file and the log by a small number, estimated with the parameters."""

from ident.calibrate.calibrate import Calibration as Calibration
from ident.calibrate.calibrate import calibrated as calibrated
from ident.calibrate.worth import Evidence as Evidence
from ident.calibrate.worth import Wishes as Wishes
from ident.calibrate.worth import calibrated_where_worth as calibrated_where_worth
from ident.calibrate.worth import group_of as group_of
from ident.calibrate.worth import worthwhile as worthwhile
