"""Generated C beside Pinocchio, one call at a time, and the time that planar arms take to derive.

python experiments/benchmarks/codegen.py     (needs gcc)
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from arm7 import arm, bodies, pinocchio, states

from ident.export.code import write_c
from ident.symbolic import functions, planar, planar_arm

SAMPLES = 1000
ROUNDS = 100  # over all samples, in each of five repetitions

#: Times one function over all samples; the sum of its results keeps the compiler from leaving calls out.
DRIVER = """
#include "{name}.h"
#include <stdio.h>
#include <time.h>
int main(void)
{{
    static double x[{samples} * 3 * {n}];
    static double theta[10 * {n}], out[10 * {n} * {n}];
    if (fread(x, sizeof x, 1, stdin) != 1) return 1;
    for (int k = 0; k < 10 * {n}; ++k) theta[k] = 0.1;
    struct timespec start, stop;
    double best = 1e9, sum = 0.0;
    for (int repeat = 0; repeat < 5; ++repeat) {{
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (int c = 0; c < {rounds}; ++c) {{
            for (int s = 0; s < {samples}; ++s) {{
                const double *q = x + 3 * {n} * s, *qd = q + {n}, *qdd = qd + {n};
                (void)qd; (void)qdd;
                {call};
                sum += out[0];
            }}
        }}
        clock_gettime(CLOCK_MONOTONIC, &stop);
        double ns = (stop.tv_sec - start.tv_sec) * 1e9 + (stop.tv_nsec - start.tv_nsec);
        if (ns < best) best = ns;
    }}
    printf("%.1f %g\\n", best / ({rounds}.0 * {samples}), sum);
    return 0;
}}
"""


def nanoseconds(folder: Path, robot: Any, parameters: np.ndarray | None) -> dict[str, float]:
    """Return the time of one call of each generated function, compiled with gcc -O2."""
    source, _ = write_c(folder, robot, parameters)
    x = np.concatenate(states(SAMPLES, robot.n), axis=1)
    found = {}
    for program in functions(robot, parameters):
        call = f"{source.stem}_{program.name}({', '.join([*program.inputs, 'out'])})"
        driver = folder / "driver.c"
        driver.write_text(DRIVER.format(name=source.stem, n=robot.n, samples=SAMPLES, rounds=ROUNDS, call=call))
        binary = folder / "driver"
        subprocess.run(["gcc", "-O2", str(driver), str(source), "-o", str(binary), "-lm"], check=True)
        done = subprocess.run([str(binary)], input=x.tobytes(), capture_output=True, check=True)
        found[program.name] = float(done.stdout.split()[0])
    return found


def pinocchio_nanoseconds(robot: Any) -> dict[str, float]:
    """Return the time of one call from Python, the crossing from Python into the library counted."""
    import pinocchio as pin

    model = pinocchio(robot)
    for i, (mass, *_) in enumerate(bodies(robot.n)):
        model.inertias[i + 1] = pin.Inertia(float(mass), np.array([0.01, -0.02, 0.05]), np.diag([0.03, 0.025, 0.02]))
    data = model.createData()
    q, qd, qdd = states(SAMPLES, robot.n)
    calls = {
        "inverse_dynamics": lambda s: pin.rnea(model, data, q[s], qd[s], qdd[s]),
        "regressor": lambda s: pin.computeJointTorqueRegressor(model, data, q[s], qd[s], qdd[s]),
        "mass_matrix": lambda s: pin.crba(model, data, q[s]),
        "coriolis_matrix": lambda s: pin.computeCoriolisMatrix(model, data, q[s], qd[s]),
        "gravity": lambda s: pin.computeGeneralizedGravity(model, data, q[s]),
    }
    found = {}
    for name, call in calls.items():
        times = []
        for _ in range(5):
            start = time.perf_counter()
            for s in range(SAMPLES):
                call(s)
            times.append(time.perf_counter() - start)
        found[name] = min(times) / SAMPLES * 1e9
    return found


def main() -> None:
    robot = arm()
    with tempfile.TemporaryDirectory() as folder:
        symbols = nanoseconds(Path(folder), robot, None)
        numbers = nanoseconds(Path(folder), robot, bodies(robot.n))
        ten = nanoseconds(Path(folder), planar_arm(10), planar_arm(10).inertials)
    rival = pinocchio_nanoseconds(robot)
    print("ns a call          theta given  worked in  Pinocchio from Python   planar arm of 10")
    for name, given in symbols.items():
        other = f"{rival[name]:10.0f}" if name in rival else "       n/a"
        print(f"{name:18} {given:11.0f} {numbers[name]:10.0f} {other}             {ten[name]:10.0f}")
    _ = planar(2).D  # imports sympy
    for n in (3, 7, 10):
        start = time.perf_counter()
        form = planar(n)
        terms = sum(max(1, len(x.args)) for matrix in (form.D, form.C, form.g) for x in matrix)
        closed = time.perf_counter() - start
        with tempfile.TemporaryDirectory() as folder:
            write_c(folder, planar_arm(n))
        both = time.perf_counter() - start
        print(
            f"planar arm of {n:2}: D, C, g in closed form {closed:5.2f} s, {terms} terms;",
            f"C code {both - closed:5.2f} s more",
        )


if __name__ == "__main__":
    main()
