"""Experiment files and the model that they ask for."""

from ident.experiment.build import build_model
from ident.experiment.experiment import Experiment
from ident.experiment.read import read_experiment

__all__ = ["Experiment", "build_model", "read_experiment"]
