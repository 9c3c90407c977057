"""The README's own robot: its four files are written as they stand there, a log is made, its commands are run."""

import re
import shlex
import sys

import numpy as np
import pandas as pd
import pytest
from logs_data import ROOT

import ident
from ident.cli.main import main
from ident.model import torque

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with the README's files and the logs that they name."""
    for name in ("robot.toml", "dataset.toml", "cad.csv", "experiment.toml"):
        content = re.search(rf"\*\*{re.escape(name)}\*\*.*?```(?:toml)?\n(.*?)```", TEXT, re.DOTALL).group(1)
        (tmp_path / name).write_text(content, encoding="utf-8")
    robot = ident.read_robot(tmp_path / "robot.toml")
    model = ident.Model(robot, (ident.DriveInertia(), ident.Viscous(), ident.SmoothCoulomb(0.02), ident.Offset()))
    bodies = ident.read_cad(tmp_path / "cad.csv").for_robot(robot)
    theta = np.concatenate([bodies.ravel(), [0.3, 0.2], [2.0, 1.0], [3.0, 2.0], [0.1, -0.1]])
    rng = np.random.default_rng(0)
    for name, seconds in (("excitation.csv", 30.0), ("another.csv", 10.0)):
        t = np.arange(0.0, seconds, 0.005)
        w = 2 * np.pi * np.arange(1, 6) / 10
        a, b = rng.normal(size=(2, 5, 2)) * 0.5 / np.arange(1, 6)[:, None]
        s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
        q, qd, qdd = s @ a + c @ b, (c * w) @ a - (s * w) @ b, -(s * w**2) @ a - (c * w**2) @ b
        tau = torque(model, theta, q, qd, qdd)
        current = (tau + rng.normal(size=tau.shape)) / np.array([11.2, 8.4])
        columns = {"t": t, "q1": np.rad2deg(q[:, 0]), "q2": np.rad2deg(q[:, 1])}  # the model adds the offsets
        pd.DataFrame(columns | {"i1": current[:, 0], "i2": current[:, 1]}).to_csv(tmp_path / name, index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


#: Commands of the README that want what its four files are not: reports, a bag, a loaded arm.
ELSEWHERE = ("cad check reports/", "logs info recording.mcap", "logs convert recording.mcap", "payload experiment/")


def commands():
    """Return the README's indented commands, as typed in the folder of its four files, in their order."""
    lines = re.findall(r"^    ident (.*?)(?:  +#.*)?$", TEXT, re.MULTILINE)
    for line in lines:
        if not line.startswith((*ELSEWHERE, "run experiments/", "init ")):
            here = (
                line.replace("results/NAME", "results/*").replace("experiment/", ".").replace(" --scene scene.toml", "")
            )
            words = shlex.split(here)
            yield words + (["--starts", "1", "--seconds", "1e9"] if words[0] == "excite" else [])


@pytest.mark.slow
@pytest.mark.usefixtures("sketched")
def test_the_files_and_commands_of_the_readme_work(folder, capsys, monkeypatch):
    done = []
    for command in commands():
        result = next((folder / "results").glob("*"), None) if (folder / "results").exists() else None
        typed = [word.replace("results/*", f"results/{result.name}") if result else word for word in command]
        monkeypatch.setattr(sys, "argv", ["ident", *typed])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code, (typed, capsys.readouterr().err)
        done.append(command[0])
    assert len(done) > 15
    assert {"check", "run", "excite", "postures", "sweep", "cad", "export", "dynamics", "codegen"} <= set(done)
    made = ("motion/trajectory.csv", "tour/trajectory.csv", "strokes/trajectory.yaml", "refined.csv", "fall.parquet")
    assert [name for name in made if not (folder / name).is_file()] == []
    written = {p.name for p in (folder / "results").rglob("*") if p.is_file()}
    assert {"estimate.json", "parameters.json", "robot.urdf", "report.html"} <= written
    said = capsys.readouterr().out
    assert "0 contradict cad.csv" in said  # the log was made of that table


@pytest.mark.slow
@pytest.mark.usefixtures("sketched")
def test_the_two_commands_of_the_readme_need_no_other_file(folder, capsys, monkeypatch):
    """The robot is the README's table in place of a URDF; what a current is worth is a guess there."""
    for name in ("dataset.toml", "experiment.toml"):
        (folder / name).unlink()
    first = re.search(r"^    (ident init .*?)  +#.*\n    (ident run \.)  ", TEXT, re.MULTILINE)
    for line in first.groups():
        monkeypatch.setattr(sys, "argv", shlex.split(line.replace("robot.urdf", "robot.toml")))
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code, (line, capsys.readouterr().err)
    assert next((folder / "results").glob("*/report.html")).is_file()
    read = ident.read_manifest("dataset.toml").recordings[0]
    assert (read.position.columns, read.position.unit, read.torque.columns) == (("q1", "q2"), "deg", ("i1", "i2"))
    np.testing.assert_allclose(read.torque.gain, [11.2, 8.4], rtol=0.4)


def test_the_python_of_the_readme_runs(folder, capsys):
    code = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL).group(1)
    exec(compile(code, "README.md", "exec"), {})
    assert "link2.hx" in capsys.readouterr().out
