"""Dynamic parameters of robots: regressors, identification, comparison with CAD."""

__version__ = "0.1.0"
