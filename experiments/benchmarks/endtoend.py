"""Regressor, friction and factor, end to end, against Pinocchio + numpy and against FIGAROH.

python experiments/benchmarks/endtoend.py
python experiments/benchmarks/endtoend.py PYTHON      with the python of an environment that has figaroh==1.0.2
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from arm7 import model, peak_megabytes, pinocchio, seconds, states, urdf

from ident.logs import Motion
from ident.regression import base_parameters, compress

SAMPLES = 100_000

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


def main() -> None:
    import pinocchio as pin

    ours = model()
    base = base_parameters(ours)
    n = ours.robot.n
    q, qd, qdd = states(SAMPLES, n)
    tau = np.random.default_rng(1).normal(size=(SAMPLES, n))
    keep = np.ones((SAMPLES, n), dtype=bool)
    blocks = tuple((k, k + 10_000) for k in range(0, SAMPLES, 10_000))
    motion = Motion("bench", np.arange(SAMPLES) * 1e-3, q, qd, qdd, tau, keep, (), blocks)
    other = pinocchio(ours.robot)
    data = other.createData()

    def stacked() -> np.ndarray:
        Y = np.zeros((SAMPLES, n, 10 * n + 4 * n))
        for s in range(SAMPLES):
            Y[s, :, : 10 * n] = pin.computeJointTorqueRegressor(other, data, q[s], qd[s], qdd[s])
        for j in range(n):
            for k, column in enumerate((qdd[:, j], qd[:, j], np.sign(qd[:, j]), 1.0)):
                Y[:, j, 10 * n + k * n + j] = column
        # the kept columns, as ours: the rest is spanned by them
        order = np.concatenate([10 * i + np.array([0, 1, 2, 3, 4, 5, 7, 6, 8, 9]) for i in range(n)])
        columns = [int(order[k]) if k < 10 * n else k for k in base.kept]
        return np.linalg.qr(np.column_stack([Y.reshape(-1, 14 * n)[:, columns], tau.ravel()]), mode="r")

    ours_time, theirs = [], []
    for _ in range(3):
        ours_time.append(seconds(lambda: compress(ours, motion, base=base), 3))
        theirs.append(seconds(stacked, 1))
    a, b = min(ours_time), min(theirs)
    print(f"ident                  {a / SAMPLES * 1e6:6.2f} us a sample")
    memory = peak_megabytes()
    print(f"Pinocchio + numpy QR   {b / SAMPLES * 1e6:6.2f} us a sample   ratio {b / a:5.1f}   peak {memory:.0f} MB")
    if len(sys.argv) > 1:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "arm.urdf").write_text(urdf(ours.robot), encoding="utf-8")
            np.savez(place / "log.npz", q=q, qd=qd, qdd=qdd, tau=tau)
            (place / "run.py").write_text(FIGAROH, encoding="utf-8")
            command = [sys.argv[1], "run.py", "arm.urdf", "log.npz"]
            done = subprocess.run(command, cwd=place, check=True, capture_output=True, text=True)
        c, memory, count = (float(x) for x in done.stdout.split()[-3:])
        print(
            f"FIGAROH                {c / SAMPLES * 1e6:6.2f} us a sample   ratio {c / a:5.1f}   peak {memory:.0f} MB,"
            f" {count:.0f} base parameters (ident {len(base.names)})"
        )


if __name__ == "__main__":
    main()
