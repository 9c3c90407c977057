"""Choose the width of smooth Coulomb friction by leaving out one fitting recording (or stretch of it) at a time.

    python experiments/choose_friction.py experiments/ur10e 0 0.005 0.01 0.02

prints each joint's left-out error [N m; N] for each width [rad/s; m/s] (0: sign with no dead zone) and their
norm weighted by each joint's noise. Validation recordings are not read.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

from ident.config import Shape, read_experiment
from ident.estimate.constrained import folds
from ident.estimate.least_squares import joint_noise, solve
from ident.pipeline import load, motions
from ident.regression import Regression, compress


def left_out_error(regression: Regression) -> tuple[np.ndarray, np.ndarray]:
    """Return each joint's root mean squared left-out residual (n,) and its noise (n,), by weighted least squares."""
    sigma = joint_noise(regression)
    squared = np.zeros(regression.n_joints)
    for fold in folds(regression):
        train = regression.without(fold)
        test = regression.without([s.identity for s in train.segments])
        squared += test.squared_residuals(solve(train, sigma))
    return np.sqrt(squared / regression.rows), sigma


def main(path: str, widths: list[float]) -> None:
    experiment = read_experiment(path)
    noise = None
    for width in widths:
        shape = Shape(tanh=width) if width else Shape()
        loaded = load(replace(experiment, terms=replace(experiment.terms, coulomb=(shape,))))
        regression = compress(
            loaded.model, motions(loaded, experiment.fit, experiment.processing, []), base=loaded.base
        )
        error, sigma = left_out_error(regression)
        noise = sigma if noise is None else noise
        print(f"width {width:<6g} total {np.linalg.norm(error / noise):.4f}  joints", np.round(error, 4))


if __name__ == "__main__":
    main(sys.argv[1], [float(w) for w in sys.argv[2:]] or [0.0, 0.005, 0.01, 0.02, 0.05])
