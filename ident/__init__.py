"""Dynamic parameters of robots: regressors, identification, comparison with CAD.

Everything below is imported when it is first used, so that `import ident` itself is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ident.cad import Cad, check_cad, read_cad, write_cad
    from ident.compare import Comparison, Validation, compare_truth, compare_with, validate
    from ident.errors import IdentError
    from ident.estimate import (
        Bounds,
        Estimate,
        Prior,
        cad_prior,
        estimated,
        neutral_prior,
    )
    from ident.estimate.storage import load_estimate, save_estimate
    from ident.experiment import Experiment, build_model, read_experiment
    from ident.logs import (
        Log,
        Manifest,
        Motion,
        Processing,
        check_log,
        iter_logs,
        iter_motions,
        process,
        read_log,
        read_manifest,
    )
    from ident.model import (
        Coulomb,
        Coupled,
        Dahl,
        DriveInertia,
        LoadFriction,
        Model,
        NonlinearViscous,
        Offset,
        SmoothCoulomb,
        Spring,
        Viscous,
        coupled_drives,
        regressor,
        torque,
    )
    from ident.pipelines import run
    from ident.regression import (
        BaseParameters,
        Regression,
        base_parameters,
        compress,
        load_regression,
        save_regression,
    )
    from ident.robot import Robot, read_robot, write_urdf

_HOMES = {
    "cad": ("Cad", "check_cad", "read_cad", "write_cad"),
    "compare": ("Comparison", "Validation", "compare_truth", "compare_with", "validate"),
    "experiment": ("Experiment", "build_model", "read_experiment"),
    "errors": ("IdentError",),
    "estimate": (
        "Bounds",
        "Estimate",
        "Prior",
        "cad_prior",
        "estimated",
        "neutral_prior",
    ),
    "estimate.storage": ("load_estimate", "save_estimate"),
    "logs": (
        "Log",
        "Manifest",
        "Motion",
        "Processing",
        "check_log",
        "iter_logs",
        "iter_motions",
        "process",
        "read_log",
        "read_manifest",
    ),
    "model": (
        "Coulomb",
        "Coupled",
        "Dahl",
        "DriveInertia",
        "Model",
        "LoadFriction",
        "NonlinearViscous",
        "Offset",
        "SmoothCoulomb",
        "Spring",
        "Viscous",
        "coupled_drives",
        "regressor",
        "torque",
    ),
    "pipelines": ("run",),
    "regression": (
        "BaseParameters",
        "Regression",
        "base_parameters",
        "compress",
        "load_regression",
        "save_regression",
    ),
    "robot": ("Robot", "read_robot", "write_urdf"),
}
_HOME = {name: f"ident.{module}" for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ident' has no attribute '{name}'")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value  # the next time it is found without coming here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


__all__ = [
    "BaseParameters",
    "Bounds",
    "Cad",
    "Comparison",
    "Coulomb",
    "Coupled",
    "Dahl",
    "DriveInertia",
    "Estimate",
    "Experiment",
    "IdentError",
    "LoadFriction",
    "Log",
    "Manifest",
    "Model",
    "Motion",
    "NonlinearViscous",
    "Offset",
    "Prior",
    "Processing",
    "Regression",
    "Robot",
    "SmoothCoulomb",
    "Spring",
    "Validation",
    "Viscous",
    "__version__",
    "base_parameters",
    "build_model",
    "cad_prior",
    "check_cad",
    "check_log",
    "compare_truth",
    "compare_with",
    "compress",
    "coupled_drives",
    "estimated",
    "iter_logs",
    "iter_motions",
    "load_estimate",
    "load_regression",
    "neutral_prior",
    "process",
    "read_cad",
    "read_experiment",
    "read_log",
    "read_manifest",
    "read_robot",
    "regressor",
    "run",
    "save_estimate",
    "save_regression",
    "torque",
    "validate",
    "write_cad",
    "write_urdf",
]
