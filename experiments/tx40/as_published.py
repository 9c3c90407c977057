"""Repeat the faults of the published identification one after the other, until its numbers come out.

    python experiments/tx40/as_published.py TX40_bp_5.csv

prints for each set of steps how many of the 60 published values (ordinary least squares) are met within one published
standard deviation, the worst, the median, and the range of our standard deviations over theirs.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np

from ident.estimate.least_squares import solve
from ident.experiment import read_experiment
from ident.logs import Motion, decimate
from ident.pipelines.loaded import Loaded, load
from ident.pipelines.steps import motions
from ident.regression import Regression, compress

KINDS = {"Ia": "drive_inertia", "fv": "viscous", "fs": "coulomb", "off": "offset", "mx": "hx", "my": "hy", "mz": "hz"}


def ours(expression: str) -> list[str]:
    """Return our names of the terms that add up to a published grouping, given by its first term such as `mx2`.

    Theirs couples joints 5 and 6 by the off-diagonal terms alone, our motor 6 turns with both: their Ia5 is Ia5 + Iam6.
    """
    kind, number = re.findall(r"^([A-Za-z]+?)(m?\d)\b", expression)[0]
    term = KINDS.get(kind, kind)
    if number == "m6":
        return [f"motor_6.{term}"]
    if kind not in ("Ia", "fv", "fs", "off"):
        return [f"link_{number}.{term}"]
    return [f"joint_{number}.{term}"] + ([f"motor_6.{term}"] if kind in ("Ia", "fv") and number in "56" else [])


def without_last_acceleration(motion: Motion) -> Motion:
    """Leave the last joint's acceleration at zero, as their loop over the joints does, which stops one early."""
    return replace(motion, qdd=np.column_stack([motion.qdd[:, :-1], np.zeros(len(motion.qdd))]))


def slipping(motion: Motion, min_speed: np.ndarray) -> Iterator[Motion]:
    """Yield a motion for each joint: forward differences, no last acceleration, the rows of joint j (0, 1...) 2 j late.

    Their differences leave two samples fewer than the torque has; cutting the stacked rows of the joints into pieces as
    long as the torque then takes joint j's rows 2 j samples late.
    """
    dt = np.diff(motion.t[:2])[0]
    qd = np.diff(motion.q, axis=0) / dt
    qdd = np.gradient(qd, dt, axis=0)
    qdd[:, -1] = 0.0  # as in `without_last_acceleration`
    for j in range(motion.q.shape[1]):
        rows = slice(2 * j, len(qd))
        count = len(qd) - 2 * j
        keep = np.zeros((-(-count // prod(motion.decimation)), motion.q.shape[1]), dtype=bool)
        keep[:, j] = np.abs(decimate(qd[rows], motion.decimation)[:, j]) >= min_speed[j]
        yield Motion(
            f"{motion.name}, joint {j + 1}",
            motion.t[:count],
            motion.q[:-1][rows],
            qd[rows],
            qdd[rows],
            motion.tau[:count],
            keep,
            motion.decimation,
        )


def compare(loaded: Loaded, regression: Regression, published: list[list[str]]) -> str:
    """Return one line on how close ordinary least squares comes to the published values."""
    factor = regression.factor(np.ones(regression.n_joints))
    phi = solve(regression, np.ones(regression.n_joints))
    seen = np.linalg.norm(factor[:, :-1], axis=0) > 0
    squared, rows = regression.squared_residuals(phi).sum(), regression.rows.sum()
    covariance = np.zeros((len(phi), len(phi)))
    covariance[np.ix_(seen, seen)] = np.linalg.inv(factor[:, :-1][:, seen].T @ factor[:, :-1][:, seen])
    covariance *= squared / (rows - len(published))
    index = {name: i for i, name in enumerate(loaded.base.names)}
    T = np.zeros((len(published), len(phi)))
    for row, line in zip(T, published, strict=True):
        row[[index[name] for name in ours(line[0])]] = 1.0
    value = np.array([float(line[1]) for line in published])
    sd = np.abs(value) * np.array([float(line[2]) for line in published]) / 100
    z = np.abs(T @ phi - value) / sd
    ratio = np.sqrt(np.diag(T @ covariance @ T.T)) / sd
    return (
        f"{(z <= 1).sum()} of {len(z)}  worst {z.max():.3f} {published[z.argmax()][0].split()[0]:<4}  "
        f"median {np.median(z):.3f}  deviations {ratio.min():.2f} to {ratio.max():.2f}  "
        f"error {100 * np.sqrt(squared / regression.squared_torques.sum()):.2f} %"
    )


def main(path: str) -> None:
    with Path(path).open(newline="") as file:
        published = list(csv.reader(file))
    experiment = read_experiment(Path(__file__).with_name("published.toml"))
    for hz in (100.0, 25.0):
        processing = replace(experiment.processing, position_hz=hz)
        loaded = load(replace(experiment, processing=processing))
        (motion,) = motions(loaded, experiment.fit, processing, [])
        steps = {"": [motion], ", no qdd6": [without_last_acceleration(motion)]}
        steps[", no qdd6, rows slip"] = list(slipping(motion, np.asarray(processing.min_speed)))
        for name, found in steps.items():
            regression = compress(loaded.model, found, base=loaded.base)
            print(f"{f'{hz:g} Hz{name}':<28}", compare(loaded, regression, published))


if __name__ == "__main__":
    main(sys.argv[1])
