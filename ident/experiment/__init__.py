"""Experiment files and the model that they ask for."""

from ident.experiment.experiment import Experiment
from ident.experiment.model import build_model
from ident.experiment.read import read_experiment

__all__ = ["Experiment", "build_model", "read_experiment"]
