"""From states and torques to solved least squares, against Pinocchio with three ways of numpy, and against FIGAROH.

python experiments/benchmarks/endtoend.py
python experiments/benchmarks/endtoend.py PYTHON      with the python of an environment that has figaroh==1.0.2
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from arm7 import model, peak_megabytes, pinocchio, seconds, states, urdf

from ident.logs import Motion
from ident.model import Model
from ident.regression import BaseParameters, base_parameters, compress

SAMPLES, BLOCK = 100_000, 1000

FIGAROH = """
import resource, sys, time
import numpy as np
from figaroh.tools.robot import Robot
from figaroh.tools.regressor import build_regressor_basic, build_regressor_reduced
from figaroh.tools.qrdecomposition import double_QR

data = np.load(sys.argv[2])
robot = Robot(sys.argv[1], package_dirs=".", isFext=False)
settings = {"is_joint_torques": True, "has_friction": True, "has_actuator_inertia": True, "has_joint_offset": True}
settings["act_idxv"] = list(range(7))
start = time.perf_counter()
W = build_regressor_basic(robot, data["q"], data["qd"], data["qdd"], settings)
tau = data["tau"].T.ravel()
norms = np.einsum("ij,ij->j", W, W)
empty = np.flatnonzero(norms < 1e-6).tolist()
names = [str(k) for k in range(W.shape[1]) if k not in empty]
result = double_QR(tau, build_regressor_reduced(W, empty), names)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, len(result[2]))
"""


def least_squares(ours: Model, base: BaseParameters, motion: Motion) -> dict[str, Callable[[], np.ndarray]]:
    """Return who solves the least squares of the base parameters, and how."""
    import pinocchio as pin

    n, q, qd, qdd, tau = ours.robot.n, motion.q, motion.qd, motion.qdd, motion.tau
    other = pinocchio(ours.robot)
    data = other.createData()

    # the kept columns, as ours: the rest is spanned by them
    order = np.concatenate([10 * i + np.array([0, 1, 2, 3, 4, 5, 7, 6, 8, 9]) for i in range(n)])
    columns = [int(order[k]) if k < 10 * n else k for k in base.kept]

    def rows(first: int, size: int) -> np.ndarray:
        """Return Pinocchio's regressor of some samples, with friction, and their torques beside it."""
        part = slice(first, first + size)
        Y = np.zeros((size, n, 10 * n + 4 * n))
        for s in range(size):
            at = first + s
            Y[s, :, : 10 * n] = pin.computeJointTorqueRegressor(other, data, q[at], qd[at], qdd[at])
        for k, column in enumerate((qdd[part], qd[part], np.sign(qd[part]), 1.0)):
            Y[:, range(n), range((10 + k) * n, (11 + k) * n)] = column
        return np.column_stack([Y.reshape(-1, 14 * n)[:, columns], tau[part].ravel()])

    def solved(R: np.ndarray) -> np.ndarray:
        return np.linalg.lstsq(R[:, :-1], R[:, -1], rcond=None)[0]

    def at_once() -> np.ndarray:
        return solved(np.linalg.qr(rows(0, SAMPLES), mode="r"))

    def tsqr() -> np.ndarray:
        R = np.zeros((0, len(columns) + 1))
        for first in range(0, SAMPLES, BLOCK):
            R = np.linalg.qr(np.concatenate([R, rows(first, BLOCK)]), mode="r")
        return solved(R)

    def gram() -> np.ndarray:
        G = np.zeros((len(columns) + 1,) * 2)
        for first in range(0, SAMPLES, BLOCK):
            part = rows(first, BLOCK)
            G += part.T @ part
        return np.linalg.solve(G[:-1, :-1], G[:-1, -1])

    def own() -> np.ndarray:
        found = compress(ours, motion, base=base)
        stack = []
        for segment in found.segments:
            for kept, R in zip(found.parameters, segment.factors, strict=True):
                wide = np.zeros((len(R), len(columns) + 1))
                wide[:, [*kept, -1]] = R
                stack.append(wide)
        return solved(np.concatenate(stack))

    return {"ident": own, "Pinocchio + QR in blocks": tsqr, "Pinocchio + Gram": gram, "Pinocchio + QR of all": at_once}


def main() -> None:
    ours = model()
    base = base_parameters(ours)
    n = ours.robot.n
    q, qd, qdd = states(SAMPLES, n)
    tau = np.random.default_rng(1).normal(size=(SAMPLES, n))
    keep = np.ones((SAMPLES, n), dtype=bool)
    blocks = tuple((k, k + 10_000) for k in range(0, SAMPLES, 10_000))
    motion = Motion("bench", np.arange(SAMPLES) * 1e-3, q, qd, qdd, tau, keep, (), blocks)
    ways = least_squares(ours, base, motion)
    phi = {name: work() for name, work in ways.items()}
    times = [{name: seconds(work, 3 if name == "ident" else 1) for name, work in ways.items()} for _ in range(3)]
    a = min(found["ident"] for found in times)
    for name in ways:
        b, off = (
            min(found[name] for found in times),
            np.abs(phi[name] - phi["ident"]).max() / np.abs(phi["ident"]).max(),
        )
        print(f"{name:26}{b / SAMPLES * 1e6:6.2f} us a sample   ratio {b / a:5.1f}   parameters differ by {off:.1e}")
    print(f"peak memory {peak_megabytes():.0f} MB, of the QR of all")
    if len(sys.argv) > 1:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "arm.urdf").write_text(urdf(ours.robot), encoding="utf-8")
            np.savez(place / "log.npz", q=q, qd=qd, qdd=qdd, tau=tau)
            (place / "run.py").write_text(FIGAROH, encoding="utf-8")
            command = [sys.argv[1], "run.py", "arm.urdf", "log.npz"]
            done = subprocess.run(command, cwd=place, check=True, capture_output=True, text=True)
        c, memory, count = (float(x) for x in done.stdout.split()[-3:])
        each, least = c / SAMPLES * 1e6, f"{count:.0f} base parameters (ident {len(base.names)})"
        print(f"FIGAROH                   {each:6.2f} us a sample   ratio {c / a:5.1f}   peak {memory:.0f} MB, {least}")


if __name__ == "__main__":
    main()
