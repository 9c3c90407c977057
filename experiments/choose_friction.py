"""Choose the width of smooth Coulomb friction by leaving out one fitting recording (or stretch of it) at a time.

    python experiments/choose_friction.py experiments/ur10e 0 0.01 0.02 hz=10 dahl=0.0002 power=0.3 dahl=0.0002

prints each joint's left-out error [N m; N] for each width of the tanh [rad/s; m/s] (0: sign with no dead zone; dahl=X:
Dahl's law with way X [rad; m]) and their norm weighted by each joint's noise. hz=X: cut-off of the position's filter in
what follows; power=X: nonlinear viscous friction of all joints, with this power, in what follows (0: none); load=X:
friction of these joints (JOINT,JOINT, all or none) that grows with their load, in what follows. Validation recordings
are not read.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

from ident.estimate.estimators import folds
from ident.estimate.least_squares import joint_noise, solve
from ident.experiment import Experiment, read_experiment
from ident.model import Coulomb, Dahl, LoadFriction, NonlinearViscous, SmoothCoulomb
from ident.model.term import Term
from ident.pipelines.loaded import load
from ident.pipelines.steps import motions
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


def exchanged(experiment: Experiment, kind: type[Term], *terms: Term) -> Experiment:
    """Return the experiment with these in place of all terms of a kind."""
    others = tuple(term for term in experiment.terms if term.kind.name != kind.kind.name)
    return replace(experiment, terms=(*others, *terms))


def main(path: str, laws: list[str]) -> None:
    experiment = read_experiment(path)
    noise = None
    for law in laws:
        name, _, number = law.rpartition("=")
        if name == "hz":
            experiment = replace(experiment, processing=replace(experiment.processing, position_hz=float(number)))
            print(f"position low-passed at {number} Hz")
            continue
        if name == "power":
            experiment = exchanged(
                experiment, NonlinearViscous, *([NonlinearViscous(float(number))] if float(number) else [])
            )
            print(f"nonlinear viscous friction of power {number}")
            continue
        if name == "load":
            joints = None if number == "all" else tuple(number.split(","))
            experiment = exchanged(
                experiment, LoadFriction, *([] if number == "none" else [LoadFriction(joints=joints)])
            )
            print(f"friction that grows with load: {number}")
            continue
        width = float(number)
        friction = Dahl(width) if name == "dahl" else SmoothCoulomb(width) if width else Coulomb()
        loaded = load(exchanged(experiment, Coulomb, friction))
        regression = compress(
            loaded.model, motions(loaded, experiment.fit, experiment.processing, []), base=loaded.base
        )
        error, sigma = left_out_error(regression)
        noise = sigma if noise is None else noise
        print(f"{law:<12} total {np.linalg.norm(error / noise):.4f}  joints", np.round(error, 4))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or ["0", "0.005", "0.01", "0.02", "0.05"])
