"""Robots and the readers and writers of their descriptions."""

from ident.robot.robot import FixedBody, Joint, Limits, Robot
from ident.robot.transmission import Transmission

__all__ = ["FixedBody", "Joint", "Limits", "Robot", "Transmission"]
