"""URDF, SDF and MJCF files, new and edited in place, read by Drake.

Proved, to 1e-9 of the largest torque, for random trees of revolute and prismatic joints, some with fixed bodies: the
inverse dynamics of Drake's MultibodyPlant is this package's torque with viscous friction (damping); from an MJCF also
with drive inertia (armature, which Drake heeds where the joint has a motor) and under the file's own gravity. Limits
are read as the robot's, and Drake warns of nothing but what it does not know: dry friction, sites, actuatorfrcrange.

Needs .venv-consumers with drake 1.51.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from export_examples import TOLERANCE, Example
from oracles import mjcf, random_bodies, random_tree
from random_robots import random_pair

PYTHON = Path(__file__).parents[2] / ".venv-consumers" / "bin" / "python"
SEEDS = range(10)
SUFFIX = {"urdf": ".urdf", "sdf": ".sdf", "mjcf": ".xml"}
UNKNOWN = ("joint friction", "'actuatorfrcrange'", "'frictionloss'", "The tag 'site'")
PROGRAM = """
import sys
import numpy
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import MultibodyForces
for path in sys.argv[1:]:
    given = numpy.load(path + ".npz")
    plant = MultibodyPlant(0.0)
    (model,) = Parser(plant).AddModels(path)
    if path.endswith(".xml"):  # its world is Drake's, with its gravity
        assert numpy.allclose(plant.gravity_field().gravity_vector(), given["gravity"], rtol=1e-15)
    else:
        base = plant.GetBodyByName(str(given["base"]), model).body_frame()
        plant.WeldFrames(plant.world_frame(), base)
        plant.mutable_gravity_field().set_gravity_vector(given["gravity"])
    plant.Finalize()
    assert plant.num_velocities() == len(given["names"])
    joints = [plant.GetJointByName(str(name), model) for name in given["names"]]
    context = plant.CreateDefaultContext()
    where = [joint.velocity_start() for joint in joints]
    tau = []
    for q, qd, qdd in given["states"]:
        known = numpy.zeros((3, len(where)))
        known[0, [joint.position_start() for joint in joints]] = q
        known[1, where], known[2, where] = qd, qdd
        plant.SetPositions(context, known[0])
        plant.SetVelocities(context, known[1])
        forces = MultibodyForces(plant)
        plant.CalcForceElementsContribution(context, forces)
        tau.append(plant.CalcInverseDynamics(context, known[2], forces)[where])
    limits = [[j.position_lower_limits()[0], j.position_upper_limits()[0], j.velocity_upper_limits()[0]]
              for j in joints]
    efforts = {a.joint().name(): a.effort_limit() for k in plant.GetJointActuatorIndices()
               for a in [plant.get_joint_actuator(k)]}
    numpy.savez(path + ".found.npz", tau=tau, limits=limits,
                effort=[efforts.get(str(name), numpy.inf) for name in given["names"]])
"""


def with_motors(text: str, x: Example) -> str:
    motors = "".join(f'<motor name="motor {name}" joint="{name}"/>' for name in x.robot.joint_names)
    return text.replace("</mujoco>", f"<actuator>{motors}</actuator></mujoco>")


def files(folder: Path) -> list[tuple[str, Example, Path]]:
    """Return formats, robots and files that were written."""
    made: list[tuple[str, Example, Path]] = []

    def write(form: str, x: Example, name: str, **more: Path) -> str:
        text = x.text(form, folder, **more)
        path = folder / f"{name}{SUFFIX[form]}"
        path.write_text(with_motors(text, x) if form == "mjcf" and not more else text)
        made.append((form, x, path))
        return text

    source = folder / "source"
    for seed in SEEDS:
        rng = np.random.default_rng(700 + seed)
        n = int(rng.integers(1, 8))
        text, robot = random_pair(rng, n)
        fixed = Example(robot, seed)
        bare = Example(random_tree(rng, n, points=True), seed)
        for form in SUFFIX:
            x = bare if seed % 2 and form != "urdf" else fixed
            new = write(form, x, f"new{seed}")
            if form == "sdf":
                text = new.replace("<mass>", "<mass>9").replace("<damping>", "<damping>9")
            elif form == "mjcf":
                x = bare
                named = mjcf(x.robot, random_bodies(rng, n)).replace("<mujoco>", '<mujoco model="mine">', 1)
                text = with_motors(named, x)
            source.write_text(text)
            write(form, x, f"edited{seed}", source=source)
    return made


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    made = files(tmp_path_factory.mktemp("drake"))
    for _, x, path in made:
        np.savez(
            f"{path}.npz", states=np.stack([x.q, x.qd, x.qdd], axis=1), gravity=x.robot.gravity,
            names=x.robot.joint_names, base=x.robot.base,
        )  # fmt: skip
    done = subprocess.run([PYTHON, "-c", PROGRAM, *(p for *_, p in made)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    told = [line for line in done.stderr.splitlines() if line and not any(word in line for word in UNKNOWN)]
    return told, [(form, x, np.load(f"{path}.found.npz")) for form, x, path in made]


@pytest.mark.parametrize("i", range(2 * len(SEEDS) * len(SUFFIX)))
def test_drake(read, i):
    form, x, found = read[1][i]
    expected = x.ours("viscous", "drive_inertia") if form == "mjcf" else x.ours("viscous")
    assert np.abs(found["tau"] - expected).max() < TOLERANCE * np.abs(expected).max()
    for joint, (lower, upper, speed), effort in zip(x.robot.joints, found["limits"], found["effort"], strict=True):
        limits = joint.limits
        if np.isfinite(limits.upper):
            assert (lower, upper) == (limits.lower, limits.upper)
        else:
            assert upper - lower >= 2e9
        if form != "mjcf":  # which knows no limit of the speed
            assert speed == limits.velocity or (np.isinf(limits.velocity) and speed >= 1e9)
        if form == "sdf":  # a URDF's effort needs a transmission in Drake
            assert effort == limits.effort


def test_drake_warns_of_nothing_else(read):
    assert read[0] == []
