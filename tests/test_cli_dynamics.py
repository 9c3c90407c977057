"""`ident dynamics` and `ident codegen`, as a user types them."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from identified import URDF, case
from typer.testing import CliRunner

from ident.cad import read_cad
from ident.cli.main import app
from ident.dynamics import gravity_load, inverse_dynamics, potential_energy
from ident.errors import InputError
from ident.estimate.storage import save_estimate
from ident.model import torque
from ident.pipelines.wishes import joint_numbers
from ident.report.body_figures import link_figure
from ident.report.dynamics_figures import gravity_figure, gravity_surface
from ident.robot import read_robot

ARM5 = Path(__file__).resolve().parents[1] / "datasets" / "arm5"
ROBOT, CAD = str(ARM5 / "robot.toml"), str(ARM5 / "cad_solidworks.csv")


def ident(*args: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(args))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def arm() -> tuple:
    robot = read_robot(ROBOT)
    return robot, read_cad(Path(CAD)).for_robot(robot)


def test_torques_at_a_state() -> None:
    code, text = ident("dynamics", ROBOT, "--cad", CAD, "--q", "30 30 -30 30 30 deg")
    robot, theta = arm()
    load = gravity_load(robot, theta, np.radians([[30, 30, -30, 30, 30]]))[0]
    assert code == 0
    row = next(line.split() for line in text.splitlines() if line.split()[:1] == ["joint2"])
    assert float(row[-1]) == pytest.approx(load[1], rel=1e-3)
    assert "Mass matrix" in text


@pytest.mark.slow
def test_gravity_surface_is_drawn_over_the_ranges(tmp_path: Path) -> None:
    code, text = ident("dynamics", ROBOT, "--cad", CAD, "--surface", "joint2 joint3", "--plot", str(tmp_path / "s.png"))
    assert code == 0
    assert "gravity load of joint2: -0.2531 to 0.5443 N m" in text
    assert (tmp_path / "s.png").read_bytes()[:4] == b"\x89PNG"
    robot, theta = arm()
    a, b, load = gravity_surface(robot, theta, ("joint2", "joint3"), np.zeros(5), points=5)
    at = np.array([[0, a[3], b[1], 0, 0]])
    assert np.degrees(a[[0, -1]]) == pytest.approx([-10, 130])
    assert load[3, 1] == pytest.approx(inverse_dynamics(robot, theta, at, 0 * at, 0 * at)[0, 1:3])


@pytest.mark.slow
def test_a_simulation_stops_at_a_limit_and_keeps_what_it_has(tmp_path: Path) -> None:
    out = tmp_path / "fall.csv"
    code, text = ident(
        "dynamics", ROBOT, "--cad", CAD, "--q", "0 60 -60 0 0 deg", "--simulate", "0.3", "-o", str(out),
        "--plot", str(tmp_path / "fall.svg"),
    )  # fmt: skip
    assert code == 0
    assert "stopped: joint 'joint3' reached its upper limit 0 rad" in text
    table = pd.read_csv(out)
    assert table["joint3.q [rad]"].iloc[-1] == pytest.approx(0, abs=1e-9)
    energy = table["kinetic [J]"] + table["potential [J]"]
    assert np.ptp(energy) < 1e-6
    assert (tmp_path / "fall.svg").read_text().startswith("<?xml")


def test_fixed_steps_and_constant_torques() -> None:
    code, text = ident(
        "dynamics", ROBOT, "--cad", CAD, "--q", "0 60 -60 0 0 deg", "--simulate", "0.01", "--step", "0.001",
        "--torque", "0 0.3 0 0 0",
    )  # fmt: skip
    assert code == 0
    assert "simulated arm5 for 0.01 s: RK4, step 0.001 s, 11 samples" in text


def test_the_table_of_a_simulation_drives_another_one(tmp_path: Path) -> None:
    start = ["dynamics", ROBOT, "--cad", CAD, "--q", "0 60 -60 0 0 deg", "--simulate", "0.05"]
    tables = [str(tmp_path / name) for name in ("a.parquet", "b.csv", "c.csv")]
    assert ident(*start, "--torque", "0.01 0.3 0 0 0.001", "-o", tables[0])[0] == 0
    assert ident(*start, "--torque", tables[0], "-o", tables[1])[0] == 0
    assert ident(*start, "--torque", tables[1], "--step", "0.001", "-o", tables[2])[0] == 0
    a, b, c = pd.read_parquet(tables[0]), pd.read_csv(tables[1]), pd.read_csv(tables[2])
    assert a["joint2.tau [N m]"].to_numpy() == pytest.approx(np.full(51, 0.3))
    for again in (b, c):
        assert list(again.columns) == list(a.columns)
        np.testing.assert_allclose(again, a, atol=1e-4)
    code, text = ident(*start[:-1], "0.1", "--torque", tables[0])
    assert code == 2
    assert "the sampled torques cover 0 s to 0.05 s, the simulation 0 s to 0.1 s. Simulate a shorter time" in text


def joint_terms(folder: Path) -> str:
    """Return a CAD table of the arm with everything that it can say of joint 2."""
    path = folder / "cad.toml"
    text = (
        '[convention]\nmass = "kg"\nlength = "mm"\ninertia = "kg mm^2"\ntensor_at = "center_of_mass"\n'
        'products = "tensor"\n[[link]]\n'
    )
    rows = []
    for line in Path(CAD).read_text().splitlines():
        if line.startswith("link,"):
            names = line.split(",")
        elif line.startswith("link"):
            name, *numbers = line.split(",")
            entries = [f'name = "{name}"', *(f"{k} = {x}" for k, x in zip(names[1:], numbers, strict=True))]
            rows.append("\n".join(entries))
    joint = "drive_inertia = 0.01\nviscous = 0.02\ncoulomb = 0.04\noffset = 0.08\nstiffness = 0.5\n"
    path.write_text(text + "\n[[link]]\n".join(rows) + f"\n[joint.joint2]\n{joint}")
    return str(path)


def test_joint_terms_of_the_table_are_in_the_torque(tmp_path: Path) -> None:
    cad, state = joint_terms(tmp_path), ["--q", "0 .2 0 0 0", "--qd", "0 2 0 0 0", "--qdd", "0 10 0 0 0"]
    rows = {}
    for friction in ("--friction", "--no-friction"):
        code, text = ident("dynamics", ROBOT, "--cad", cad, *state, friction)
        assert code == 0
        rows[friction] = next(line.split() for line in text.splitlines() if line.split()[:1] == ["joint2"])
    *_, terms, total = (float(x) for x in rows["--friction"][-5:])
    assert terms == pytest.approx(0.1 + 0.04 + 0.04 + 0.08 + 0.1)
    robot, theta = arm()
    bodies = inverse_dynamics(robot, theta, [[0, 0.2, 0, 0, 0]], [[0, 2, 0, 0, 0]], [[0, 10, 0, 0, 0]])[0, 1]
    assert total == pytest.approx(bodies + terms, rel=1e-3)
    assert float(rows["--no-friction"][-2]) == pytest.approx(0.1 + 0.08 + 0.1)


@pytest.mark.slow
def test_an_estimate_moves_the_arm_with_what_was_fitted(tmp_path: Path) -> None:
    """Numbers, friction law and offsets of estimate.json: the torques are those of the model that was fitted."""
    c = case()
    (tmp_path / "crane.urdf").write_text(URDF)
    save_estimate(c.constrained, tmp_path / "estimate.json")
    save_estimate(c.wls, tmp_path / "wls.json")
    arguments = ["dynamics", str(tmp_path / "crane.urdf"), "--estimate", str(tmp_path / "estimate.json")]
    state = ([0.3, -0.2, 0.1], [1.0, -0.5, 0.2], [2.0, 1.0, -1.0])
    asked = [x for key, v in zip(("--q", "--qd", "--qdd"), state, strict=True) for x in (key, " ".join(map(str, v)))]
    for options, kinds in (([], ()), (["--no-friction"], ("viscous", "coulomb"))):
        code, text = ident(*arguments, *asked, *options)
        assert code == 0
        left = np.array([name.rpartition(".")[2] not in kinds for name in c.model.names])
        expected = torque(c.model, np.where(left, c.constrained.theta, 0.0), *(np.array([x]) for x in state))[0]
        rows = [line.split() for line in text.splitlines()]
        found = [float(next(r for r in rows if r[:1] == [name])[-1]) for name in c.robot.joint_names]
        np.testing.assert_allclose(found, expected, rtol=1e-3)
    code, text = ident(
        *arguments, "--simulate", "0.05", "--out", str(tmp_path / "sim.csv"), "--plot", f"{tmp_path}/s.png"
    )
    assert code == 0
    assert "tanh(v / w)" in text
    code, text = ident(*arguments[:-1], str(tmp_path / "wls.json"))
    assert code == 3
    assert "determines base parameters only" in text
    code, text = ident(*arguments, "--cad", CAD)
    assert code == 2
    assert "both give the numbers of the links" in text
    code, text = ident("dynamics", ROBOT, *arguments[2:])
    assert code == 2
    assert "Give the robot that was identified" in text


def test_damping_and_friction_of_a_urdf_are_in_the_torque(tmp_path: Path) -> None:
    c = case()
    given = URDF.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><dynamics damping="3" friction="2"/>')
    (tmp_path / "crane.urdf").write_text(given)
    (tmp_path / "robot.toml").write_text('urdf = "crane.urdf"\n')
    state = [0.3, -0.2, 0.1], [1.0, -0.5, 0.2], [0.0, 0.0, 0.0]
    asked = [x for key, v in zip(("--q", "--qd"), state, strict=False) for x in (key, " ".join(map(str, v)))]
    rigid = inverse_dynamics(c.robot, c.inertials, *(np.array([x]) for x in state))[0, 1]
    for file in ("crane.urdf", "robot.toml"):
        for options, friction in (([], 3 * -0.5 - 2), (["--no-friction"], 0.0)):
            code, text = ident("dynamics", str(tmp_path / file), *asked, *options)
            assert code == 0
            row = next(line.split() for line in text.splitlines() if line.split()[:1] == ["lift"])
            assert float(row[-1]) == pytest.approx(rigid + friction, rel=1e-3)


def test_damping_that_drives_is_told(tmp_path: Path) -> None:
    (tmp_path / "crane.urdf").write_text(
        URDF.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><dynamics damping="-3" friction="2"/>')
    )
    code, text = ident("dynamics", str(tmp_path / "crane.urdf"))
    assert code == 0
    assert "joint 'lift' has damping -3 and friction 2: less than 0 drives the joint" in text


def test_springs_of_the_table_pull_in_a_simulation(tmp_path: Path) -> None:
    out = tmp_path / "x.csv"
    code, _ = ident(
        "dynamics", ROBOT, "--cad", joint_terms(tmp_path), "--q", "0 1 -1 0 0", "--simulate", "0.01", "-o", str(out)
    )
    assert code == 0
    start, robot = pd.read_csv(out).iloc[0], arm()[0]
    assert start["potential [J]"] == pytest.approx(
        potential_energy(robot, arm()[1], [[0, 1, -1, 0, 0]])[0] + 0.5 * 0.5 + 0.08, rel=1e-9
    )


def test_code_leaves_joint_terms_out_and_says_so(tmp_path: Path) -> None:
    code, text = ident("codegen", ROBOT, "--cad", joint_terms(tmp_path), "--python", str(tmp_path / "x.py"))
    assert code == 0
    assert "friction and other joint terms are not in the code" in text


def test_a_body_of_the_robot_file_that_cannot_exist_is_told(tmp_path: Path) -> None:
    def robot(mass: float, ixx: float) -> str:
        path = tmp_path / "r.urdf"
        path.write_text(
            '<robot name="r"><link name="base"/><link name="a"><inertial><origin xyz="0 0.1 0"/>'
            f'<mass value="{mass}"/><inertia ixx="{ixx}" iyy="0.2" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
            "</inertial></link>"
            '<joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="1 0 0"/></joint>'
            "</robot>"
        )
        return str(path)

    assert "cannot exist" not in ident("dynamics", robot(1.0, 0.1))[1]  # on the edge of what can exist
    code, text = ident("dynamics", robot(-1.0, 0.2), "--simulate", "0.01")
    assert code == 0
    assert "warning: r.urdf: link 'a' cannot exist: m > 0 fails: m = -1 kg" in text
    assert "triangle inequality fails" in ident("dynamics", robot(1.0, 0.05))[1]


def test_beyond_the_limits_on_request() -> None:
    start = ["dynamics", ROBOT, "--cad", CAD, "--q", "0 60 -60 0 0 deg", "--simulate", "0.3", "--step", "0.001"]
    assert "stopped: joint 'joint3' reached its upper limit" in ident(*start)[1]
    code, text = ident(*start, "--no-limits")
    assert code == 0
    assert "stopped" not in text
    start[5] = "0 60 10 0 0 deg"
    code, text = ident(*start, "--no-limits")
    assert code == 0
    assert "warning: joint3 at 0.174533 rad is outside its limits" in text


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["dynamics", ROBOT], "robot.toml: does not give the inertials of every link"),
        (["dynamics", ROBOT, "--cad", CAD, "--q", "1 2"], "'1 2' is not 5 finite numbers"),
        (["dynamics", ROBOT, "--cad", CAD, "--q", "1 2 3 4 x"], "'1 2 3 4 x' is no list of numbers"),
        (["dynamics", ROBOT, "--cad", CAD, "--surface", "joint2 joint"], "has no joint 'joint'"),
        (["dynamics", ROBOT, "--cad", CAD, "--surface", "joint2"], "'joint2' is not two joints"),
        (["dynamics", ROBOT, "--cad", CAD, "--plot", "x.png"], "--plot: there is nothing to write"),
        (
            ["dynamics", ROBOT, "--cad", CAD, "--simulate", "1", "-o", "x.xlsx"],
            "x.xlsx: ends in '.xlsx'. Choose one of",
        ),
        (
            ["dynamics", ROBOT, "--cad", CAD, "--simulate", "1", "-o", "x.csv", "--plot", "x.gif"],
            "x.gif: ends in '.gif'",
        ),
        (
            ["dynamics", ROBOT, "--cad", CAD, "--q", "30 30 -30 30 30", "--simulate", "1"],
            "--q: joint1 at 30 rad is outside its limits -2.96706 to 2.96706 rad (for degrees, end --q with deg)."
            " Start inside, or add --no-limits.",
        ),
        (["dynamics", ROBOT, "--cad", CAD, "--simulate", "-1"], "-1.0 is no time to simulate"),
        (["dynamics", ROBOT, "--cad", CAD, "--simulate", "1", "--torque", "1"], "'1' is not 5 finite torques"),
        (
            ["dynamics", ROBOT, "--cad", CAD, "--simulate", "1", "--torque", "0 0 nan 0 0"],
            "--torque: '0 0 nan 0 0' is not 5 finite torques, one for each of joint1, joint2, joint3, joint4, joint5.",
        ),
        (["dynamics", ROBOT, "--cad", CAD, "--simulate", "1", "--torque", "x.csv"], "x.csv: there is no such file."),
        (
            ["dynamics", ROBOT, "--cad", CAD, "--simulate", "1", "--torque", "x.txt"],
            "'x.txt' is no list of torques. Give one number a joint, or a .csv or .parquet file.",
        ),
        (["dynamics", ROBOT, "--cad", CAD, "--torque", "0 0 0 0 0"], "--torque: is for a simulation. Add --simulate"),
        (["dynamics", ROBOT, "--cad", CAD, "--step", "0.001"], "--step: is for a simulation. Add --simulate SECONDS."),
        (
            ["dynamics", ROBOT, "--cad", CAD, "--surface", "joint2 joint3", "--simulate", "1"],
            "--simulate: means nothing for the gravity loads of --surface. Leave it out.",
        ),
        (
            ["dynamics", ROBOT, "--cad", CAD, "--surface", "joint2 joint3", "-o", "x.csv"],
            "--out: means nothing for the gravity loads of --surface. Leave it out.",
        ),
        (
            ["dynamics", ROBOT, "--cad", CAD, "--simulate", "1", "--qdd", "1 1 1 1 1"],
            "--qdd: means nothing for a simulation, which finds accelerations. Leave it out.",
        ),
        (
            ["dynamics", ROBOT, "--cad", CAD, "--simulate", "1e9"],
            "--simulate: 1e+09 s in steps of 0.001 s are more than 2,000,000 samples. Simulate a shorter time.",
        ),
        (
            ["dynamics", ROBOT, "--cad", CAD, "--simulate", "1", "--step", "1e-9"],
            "--simulate: 1 s in steps of 1e-09 s are more than 2,000,000 samples. Simulate a shorter time.",
        ),
        (["dynamics", ROBOT, "--cad", CAD, "--simulate", "1", "--step", "0"], "--step: 0.0 is no step"),
        (["codegen", ROBOT, "--c", "new", "--python", "x.py", "--latex", "x.pdf"], "a LaTeX document ends in .tex"),
        (["codegen", ROBOT, "--c", __file__], "--c: 'test_cli_dynamics.py' is no folder. Name a folder"),
        (["codegen", ROBOT], "no target is given"),
        (["codegen", ROBOT, "--python", "x.txt"], "a Python module ends in .py"),
    ],
)
def test_messages(args: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, text = ident(*args)
    assert code == 2
    assert message in text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_code_that_compiles_and_agrees(tmp_path: Path) -> None:
    code, text = ident(
        "codegen", ROBOT, "--cad", CAD, "--c", str(tmp_path), "--python", str(tmp_path / "arm5_dynamics.py"),
        "--latex", str(tmp_path / "arm5.tex"),
    )  # fmt: skip
    assert code == 0
    assert "link parameters are worked into the code" in text
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-DARM5_EXAMPLE"]
    subprocess.run(["gcc", *flags, "arm5.c", "-o", "check", "-lm"], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "check"], check=True, capture_output=True)
    spec = importlib.util.spec_from_file_location("arm5_dynamics", tmp_path / "arm5_dynamics.py")
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    robot, theta = arm()
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 4, 5))
    ours = inverse_dynamics(robot, theta, q, qd, qdd)
    assert np.allclose(module.inverse_dynamics(q, qd, qdd), ours, rtol=0, atol=1e-12 * np.abs(ours).max())
    assert r"\begin{document}" in (tmp_path / "arm5.tex").read_text()


@pytest.mark.slow
def test_dollars_in_names_are_no_mathematics(tmp_path):
    text = (
        'name = "two"\nconvention = "dh"\nlength = "m"\nangle = "rad"\n'
        "[[joint]]\nname = '$\\foo$'\nlink = 'a'\na = 0.3\nalpha = 1.5707963267948966\n"
        "[[joint]]\nname = '$\\bar'\nlink = '$\\link$'\na = 0.3\n"
    )
    (tmp_path / "robot.toml").write_text(text)
    (tmp_path / "cad.csv").write_text(
        '# mass = "kg"\n# length = "m"\n# inertia = "kg m^2"\n# tensor_at = "center_of_mass"\n# products = "tensor"\n'
        "link,m,cx,cy,cz,Ixx,Ixy,Ixz,Iyy,Iyz,Izz\n"
        "a,2,0,0,0,0.01,0,0,0.01,0,0.01\n$\\link$,2,0,0,0,0.01,0,0,0.01,0,0.01\n"
    )
    given = ("dynamics", str(tmp_path / "robot.toml"), "--cad", str(tmp_path / "cad.csv"), "--plot")
    for name, asked in (("surface.png", ("--surface", "$\\foo$ $\\bar")), ("moves.png", ("--simulate", "0.01"))):
        said = CliRunner().invoke(app, [*given, str(tmp_path / name), *asked])
        assert said.exit_code == 0, said.output + said.stderr
        assert (tmp_path / name).stat().st_size > 1000
    figure = link_figure("$\\link$", {"CAD": np.array([2.0, 0, 0, 0, 0.01, 0, 0, 0.01, 0, 0.01])})
    figure.canvas.draw()


MIXED = """
name = "mixed"
convention = "mdh"
length = "m"
angle = "rad"
gravity = [0, 0, -9.81]

[[joint]]
name = "turn"
limits = { lower = -3, upper = 3 }

[[joint]]
name = "lift"
kind = "prismatic"
limits = { lower = 0, upper = 1 }

[[joint]]
name = "wrist"
a = 0.3
limits = { lower = -3, upper = 3 }
"""


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("30 deg 0.2 m 1 rad", (np.pi / 6, 0.2, 1)),
        ("30deg, 200mm, 1", (np.pi / 6, 0.2, 1)),
        ("0.5 0.2 -1e-1", (0.5, 0.2, -0.1)),
        ("0.5 200 mm 1", "turn turns, and 'mm' is no unit of that. Give one number per joint, such as"),
        ("30 0.2 60 deg", "lift slides, and 'deg' is no unit of that"),
        ("30 deg 0.2 m", "is not 3 finite numbers, one for each of turn, lift, wrist"),
        ("30 grad 0.2 1", "is no list of numbers"),
    ],
)
def test_degrees_and_metres_of_one_robot(tmp_path, text, right):
    (tmp_path / "mixed.toml").write_text(MIXED)
    robot = read_robot(tmp_path / "mixed.toml")
    if isinstance(right, str):
        with pytest.raises(InputError, match=f"--q: '?.*{re.escape(right)}"):
            joint_numbers(text, robot, "--q")
    else:
        np.testing.assert_allclose(joint_numbers(text, robot, "--q"), right, rtol=1e-15)


@pytest.mark.slow
def test_a_recordings_file_drives_a_simulation_in_its_own_units(tmp_path, monkeypatch):
    """The log of an experiment is read by its dataset.toml: columns, units, gains."""
    monkeypatch.chdir(tmp_path)
    log = ARM5 / "identification.parquet"
    start = ["dynamics", ROBOT, "--cad", CAD, "--q", "0 60 -60 0 0 deg", "--simulate", "0.05", "--no-limits"]
    code, text = ident(*start, "--torque", str(log), "-o", "own.csv")
    assert code == 0, text
    measured, own = pd.read_parquet(log), pd.read_csv("own.csv")
    tau = [f"tau{i}" for i in range(1, 6)]
    t = measured["t"] - measured["t"].iloc[0]
    for i, name in enumerate(tau, 1):
        wanted = np.interp(own["t [s]"], t, measured[name])
        np.testing.assert_allclose(own[f"joint{i}.tau [N m]"], wanted, rtol=1e-9, atol=1e-12)
    # the same log as currents in mA behind gears, under other names
    table = pd.DataFrame({"clock": 1e3 * measured["t"]} | {f"i{k}": 1e3 * measured[k] / 20 for k in tau})
    for k in range(1, 6):
        table[f"p{k}"] = measured[f"q{k}"]
    table.to_csv("currents.csv", index=False)
    (tmp_path / "dataset.toml").write_text(
        '[dataset]\nname = "currents"\n[signals]\ntime = { column = "clock", unit = "ms" }\n'
        f"position = {{ columns = {[f'p{k}' for k in range(1, 6)]}, unit = 'rad' }}\n"
        f"torque = {{ columns = {[f'i{k}' for k in tau]}, unit = 'mA', gain = [0.02, 0.02, 0.02, 0.02, 0.02] }}\n"
        '[[recording]]\nname = "first"\nfile = "currents.csv"\n'
    )
    code, text = ident(*start, "--torque", "currents.csv", "-o", "currents_run.csv")
    assert code == 0, text
    again = pd.read_csv("currents_run.csv").filter(like=".tau [")
    np.testing.assert_allclose(again, own.filter(like=".tau ["), rtol=1e-5, atol=1e-7)  # float32
    with (tmp_path / "dataset.toml").open("a") as file:
        file.write('[[recording]]\nname = "second"\nfile = "currents.csv"\nrows = [1, 100]\n')
    code, text = ident(*start, "--torque", "currents.csv")
    assert code == 2
    assert "currents.csv: dataset.toml makes several recordings of it: first, second. Copy the rows" in text


@pytest.mark.slow
def test_a_joint_that_carries_no_gravity_has_no_load_of_rounding(tmp_path):
    """Joint 1 of the demo's arm turns about gravity."""
    out = str(tmp_path / "s.png")
    code, text = ident("dynamics", ROBOT, "--cad", CAD, "--surface", "joint1 joint2", "--plot", out)
    assert code == 0
    assert "gravity load of joint1: 0 to 0 N m" in text
    robot, theta = arm()
    _, _, load = gravity_surface(robot, theta, ("joint1", "joint2"), np.radians([0, 0, -50, 20, 10]), points=9)
    assert not load[..., 0].any()
    assert np.abs(load[..., 1]).max() > 0.1
    none, some = gravity_figure(robot, theta, ("joint1", "joint2"), np.zeros(5)).axes[:2]
    assert none.get_title() == "Gravity load of joint1: none"
    assert not none.collections
    assert "at most" in some.get_title()
