"""Exported C of a seven-joint arm beside Pinocchio's compiled calls: processor time of one call.

python experiments/benchmarks/controllers.py [EIGEN]     (needs gcc and g++)

EIGEN is a folder that holds Eigen's headers (the folder `Eigen`), such as the one that the package cmeel-eigen brings:
with it a C++ program is built against the headers and libraries that the package pin brings, and Pinocchio is called
from C++; without it Pinocchio is called from Python only, which costs about a microsecond more.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from arm7 import arm, model, pinocchio, states

from ident.estimate import Covariance, Estimate
from ident.export import export_to
from ident.regression import base_parameters
from ident.spatial.inertia import from_com, to_com

SAMPLES = 1000
ASKED = {"gravity": 0.5, "inverse_dynamics": 1.0, "regressor": 2.0}

PINOCCHIO = """
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/regressor.hpp>
#include <pinocchio/algorithm/rnea.hpp>
"""

TIMING = """
#include <stdio.h>
#include <time.h>
#define SAMPLES 1000
#define ROUNDS 20
#define REPEATS 25
static REAL x[SAMPLES * 21], out[7 * 70];
#define TIMED(name, call) do { \\
    double best = 1e18; \\
    for (int repeat = 0; repeat < REPEATS; ++repeat) { \\
        struct timespec start, stop; \\
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start); \\
        for (int c = 0; c < ROUNDS; ++c) \\
            for (int s = 0; s < SAMPLES; ++s) { \\
                const REAL *q = x + 21 * s, *qd = q + 7, *qdd = q + 14; \\
                (void)q; (void)qd; (void)qdd; \\
                call; \\
                __asm__ volatile("" : : "r"(out) : "memory"); \\
            } \\
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &stop); \\
        const double ns = 1e9 * (double)(stop.tv_sec - start.tv_sec) + (double)(stop.tv_nsec - start.tv_nsec); \\
        if (ns < best) best = ns; \\
    } \\
    printf("%s %.4f\\n", name, best / (1e3 * ROUNDS * SAMPLES)); \\
} while (0)
"""

OURS = """
int main(void)
{
    if (fread(x, sizeof x, 1, stdin) != 1 || arm7_self_test()) return 1;
    TIMED("gravity", arm7_gravity(q, out));
    TIMED("inverse_dynamics", arm7_inverse_dynamics(q, qd, qdd, out));
    TIMED("mass_matrix", arm7_mass_matrix(q, out));
    TIMED("friction", arm7_friction(qd, out));
    TIMED("regressor", arm7_regressor(q, qd, qdd, out));
    return 0;
}
"""

THEIRS = """
int main()
{
    pinocchio::Model model;
    static double numbers[7][22];
    if (fread(numbers, sizeof numbers, 1, stdin) != 1 || fread(x, sizeof x, 1, stdin) != 1) return 1;
    for (int i = 0; i < 7; ++i) {
        const double *k = numbers[i];
        Eigen::Matrix3d turn, inertia;
        turn << k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7], k[8];
        inertia << k[12], k[13], k[14], k[13], k[15], k[16], k[14], k[16], k[17];
        const pinocchio::SE3 place(turn, Eigen::Vector3d(k[9], k[10], k[11]));
        // every axis is z, and this is the joint that Pinocchio's own readers make of it
        const pinocchio::JointIndex joint =
            model.addJoint(i, pinocchio::JointModelRZ(), place, "joint" + std::to_string(i));
        const pinocchio::Inertia body(k[18], Eigen::Vector3d(k[19], k[20], k[21]), inertia);
        model.appendBodyToJoint(joint, body, pinocchio::SE3::Identity());
    }
    pinocchio::Data data(model);
    Eigen::VectorXd position(7), velocity(7), acceleration(7);
    #define LOAD position = Eigen::Map<const Eigen::VectorXd>(q, 7); \\
        velocity = Eigen::Map<const Eigen::VectorXd>(qd, 7); \\
        acceleration = Eigen::Map<const Eigen::VectorXd>(qdd, 7)
    const double *q = x, *qd = q + 7, *qdd = q + 14;
    LOAD;
    pinocchio::rnea(model, data, position, velocity, acceleration);
    printf("check %.12g\\n", data.tau.norm());
    TIMED("gravity", LOAD; pinocchio::computeGeneralizedGravity(model, data, position));
    TIMED("inverse_dynamics", LOAD; pinocchio::rnea(model, data, position, velocity, acceleration));
    TIMED("mass_matrix", LOAD; pinocchio::crba(model, data, position));
    TIMED("regressor", LOAD; pinocchio::computeJointTorqueRegressor(model, data, position, velocity, acceleration));
    return 0;
}
"""


def estimate(theta: np.ndarray) -> Estimate:
    """Return a result that claims theta; only what an export reads is of meaning."""
    robot, base, ones = arm(), base_parameters(model()), np.ones(7)
    covariance = Covariance("cluster-by-segment", np.eye(len(base.names)), 10, 11)
    fit = {"sigma": ones, "rows": ones, "rms": ones, "relative": ones, "relative_total": 1.0}
    return Estimate(
        "constrained", robot.name, robot.links, robot.joint_names, base, base.K @ theta, theta, covariance, **fit,
        condition=1.0, condition_scaled=1.0,
    )  # fmt: skip


def timed(command: list[str], given: bytes) -> dict[str, float]:
    """Return the numbers that a program prints by name."""
    done = subprocess.run(command, input=given, capture_output=True, check=True)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.decode().splitlines())}


def ours(folder: Path, theta: np.ndarray, x: np.ndarray, *flags: str) -> dict[str, float]:
    export_to("c", estimate(theta), folder / "arm7.h", robot=arm(), unvalidated=True)
    (folder / "ours.c").write_text('#define _POSIX_C_SOURCE 200809L\n#include "arm7.h"\n' + TIMING + OURS)
    subprocess.run(["gcc", "-std=c99", "-O2", *flags, "ours.c", "-o", "ours", "-lm"], cwd=folder, check=True)
    return timed([str(folder / "ours")], x.tobytes())


def from_cpp(folder: Path, eigen: str, bodies: np.ndarray, x: np.ndarray) -> dict[str, float]:
    import pinocchio as pin

    prefix = Path(pin.__file__).parents[4]
    (folder / "theirs.cpp").write_text(PINOCCHIO + TIMING + THEIRS)
    where = [f"-I{prefix / 'include'}", f"-I{eigen}", f"-L{prefix / 'lib'}", f"-Wl,-rpath,{prefix / 'lib'}"]
    # the definitions are those that Pinocchio's own CMake files give to its users
    limits = ("MPL_LIMIT_LIST_SIZE=30", "MPL_LIMIT_VECTOR_SIZE=30", "MPL_CFG_NO_PREPROCESSED_HEADERS")
    given = [*(f"-DBOOST_{x}" for x in limits), "-DBOOST_FUSION_INVOKE_MAX_ARITY=12", "-DREAL=double", "-DNDEBUG"]
    build = ["g++", "-std=c++17", "-O2", "-DPINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION", *given, "theirs.cpp", "-o"]
    subprocess.run([*build, "theirs", *where, "-lpinocchio_default"], cwd=folder, check=True)
    rows = []
    for joint, body in zip(arm().joints, bodies, strict=True):
        mass, com, inertia = to_com(body)
        tensor = np.asarray(inertia)[np.triu_indices(3)]
        rows.append([*joint.placement.rotation.ravel(), *joint.placement.position, *tensor, mass, *com])
    return timed([str(folder / "theirs")], np.array(rows).tobytes() + x.tobytes())


def from_python(bodies: np.ndarray, x: np.ndarray) -> dict[str, float]:
    import pinocchio as pin

    known = pinocchio(arm(), bodies)
    data = known.createData()
    q, qd, qdd = (np.ascontiguousarray(part) for part in np.split(x, 3, axis=1))
    calls = {
        "gravity": lambda s: pin.computeGeneralizedGravity(known, data, q[s]),
        "inverse_dynamics": lambda s: pin.rnea(known, data, q[s], qd[s], qdd[s]),
        "mass_matrix": lambda s: pin.crba(known, data, q[s]),
        "regressor": lambda s: pin.computeJointTorqueRegressor(known, data, q[s], qd[s], qdd[s]),
    }
    found = {"check": float(np.linalg.norm(calls["inverse_dynamics"](0)))}
    for name, call in calls.items():
        times = []
        for _ in range(7):
            start = time.thread_time()
            for s in range(SAMPLES):
                call(s)
            times.append(time.thread_time() - start)
        found[name] = min(times) / SAMPLES * 1e6
    return found


def main() -> None:
    rng = np.random.default_rng(3)
    bodies = np.array([
        from_com(4.0 - 0.4 * i, rng.normal(0, 0.05, 3), np.diag([0.03, 0.025, 0.02]) + 0.002) for i in range(7)
    ])  # fmt: skip
    theta = np.concatenate([bodies.ravel(), rng.uniform(0.05, 1.0, 28)])
    x = np.concatenate(states(SAMPLES, 7), axis=1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mine = ours(folder, theta, x, "-DREAL=double")
        single = ours(folder, theta, x.astype(np.float32), "-DREAL=float", "-DARM7_FLOAT")
        python = from_python(bodies, x)
        cpp = from_cpp(folder, sys.argv[1], bodies, x) if len(sys.argv) > 1 else {}
    if cpp and abs(cpp["check"] / python["check"] - 1.0) > 1e-9:
        raise SystemExit(f"Pinocchio from C++ is another robot: {cpp['check']} instead of {python['check']}")
    print("microseconds a call   exported C   in float   Pinocchio C++   from Python    asked")
    for function, value in mine.items():
        others = [f"{d[function]:.3f}" if function in d else "n/a" for d in (single, cpp, python)]
        asked = f"{ASKED[function]:.1f}" if function in ASKED else ""
        print(f"{function:20} {value:11.3f} {others[0]:>10} {others[1]:>15} {others[2]:>13} {asked:>8}")


if __name__ == "__main__":
    main()
