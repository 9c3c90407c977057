"""What the tests of logs share: a two-joint robot, the folder of the real logs, and logs made up."""

import os
from pathlib import Path

import numpy as np
import pytest

from ident.logs import Log, Manifest, read_manifest
from ident.robot.file import MDHJoint, from_mdh

ROOT = Path(__file__).parents[1]
TWO = from_mdh("two", [MDHJoint(), MDHJoint(a=1.0)])


def real_data(name: str = "") -> Path:
    """Return a folder of the real logs, $IDENT_DATA/name or ../shared/data/name.

    Where it is missing the test is skipped, or fails in CI, which has them.
    """
    folder = Path(os.environ.get("IDENT_DATA") or ROOT.parent / "shared" / "data") / name
    if not folder.is_dir():
        why = f"no real logs in {folder}: set IDENT_DATA; datasets/*/dataset.toml has their public addresses"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    return folder


def real_manifest(name: str, monkeypatch) -> Manifest:
    manifest = read_manifest(ROOT / "datasets" / name / "dataset.toml")
    monkeypatch.setenv("IDENT_DATA", str(real_data(manifest.folder.split("/")[1]).parent.resolve()))
    return manifest


def smooth(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a motion of two joints with its exact derivatives."""
    w = np.array([1.3, 2.1])
    x = t[:, None] * w + np.array([0.0, 0.4])
    q = np.sin(x) + 0.3 * np.sin(3 * x)
    return q, w * (np.cos(x) + 0.9 * np.cos(3 * x)), -(w**2) * (np.sin(x) + 2.7 * np.sin(3 * x))


def made_up(t: np.ndarray, **changes) -> Log:
    q, qd, _ = smooth(t)
    good = {"name": "run", "t": t, "q": q, "qd": qd, "tau": 2.0 * np.cos(q), "joints": TWO.joint_names}
    return Log(**(good | changes))
