"""Every block of every page: files are read, commands and code are run, or it is said why not (`NOT_RUN`).

The robot is that of docs/guide/files.md, whose log is made here; test_demo.py compares what a page shows of an output.
"""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from bags import motion, storage, write_bag
from logs_data import ROOT
from pages import BLOCKS, TEXTS, blocks, inline, typed

import ident
from ident.cad import read_frames
from ident.cli.main import app, main
from ident.estimate.storage import FORMAT
from ident.model import torque
from ident.pipelines import check, fleet

README = TEXTS["README.md"]
(CAD_TABLE,) = (block.text for block in blocks("csv"))
#: What must not touch the robot of docs/guide/files.md.
SCENE = """length = "mm"
[[capsule]]
link = "link2"
start = [0, 0, 0]
end = [300, 0, 0]
radius = 50
[[plane]]
name = "table"
normal = [0, 0, 1]
offset = -300
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with the files of docs/guide/files.md and the logs that they name."""
    tmp_path = tmp_path / "myarm"
    tmp_path.mkdir()
    written = [block.text for block in blocks("toml") if block.page == "docs/guide/files.md"]
    names = ("robot.toml", "dataset.toml", "experiment.toml", "cad.csv", "scene.toml")
    for name, content in zip(names, (*written, CAD_TABLE, SCENE), strict=True):
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
    shutil.copytree(ROOT / "datasets" / "arm5" / "reports", tmp_path / "reports")
    (tmp_path / "datasets").symlink_to(ROOT / "datasets")
    shutil.copy(storage(write_bag(tmp_path / "bag", "mcap", motion(60)[0])), tmp_path / "recording.mcap")
    monkeypatch.chdir(tmp_path)
    return tmp_path


#: Commands that are not run here, by how they begin, and why.
NOT_RUN = {
    "make ": "makes an environment of its own, or runs these tests",
    "export IDENT_DATA=": "is the reader's own folder",
    "ident init robot.urdf": "has a test of its own below",
    "ident init dh.csv": "test_init.py makes a robot file of such tables",
    "ident payload experiment/": "has a test of its own below",
    "ident run experiments/arm5": "is run where docs/tutorials/logs.md shows what it prints",
    "ident run experiments/": "needs real logs; test_experiments.py runs these files",
    "ident doctor experiments/minimal/": "needs real logs, and half a minute",
    "ident cad doctor experiments/arm5 --cad": "takes 11 s; notebooks/03_cad.ipynb examines the same reports",
    "ident cad doctor experiments/ur10e": "needs real logs",
    "ident cad report experiments/ur10e": "needs real logs",
    "ident payload experiments/ur10e_payload": "needs real logs; test_payload.py finds the load",
    "ident excite datasets/": "takes 6 s or more from each start; test_excite_experiments.py designs shorter motions",
    "python experiments/minimal/": "needs real logs",
    "python experiments/tx40/": "needs real logs",
    "python experiments/excite_arm5/": "takes minutes; test_excite_experiments.py takes fewer draws",
    "python experiments/seed_arm5/": "takes over 5 s; test_seed_arm5.py calls its functions",
    "python experiments/seed_planar7/": "takes 20 s; test_seed_planar7.py calls its functions",
    "python experiments/seed_properties/": "is run by test_seed_properties.py, on six robots",
    "python experiments/seed_two_link/": "takes over 5 s; test_seed_two_link.py calls its functions",
    "python experiments/seed_ur5e/control": "takes 11 s; test_seed_ur5e.py calls its functions",
}


def not_run(line):
    """Return the entry of `NOT_RUN` for a command: the longest that it begins with; none for one that is run."""
    return max((start for start in NOT_RUN if line.startswith(start)), key=len, default=None)


def commands(program):
    """Return the commands of a program in indented blocks that are run, each once, as typed."""
    lines = dict.fromkeys(line for block in blocks("commands") for line in typed(block))
    return [line for line in lines if line.startswith(f"{program} ") and not not_run(line)]


def test_every_block_is_run_or_it_is_said_why_not():
    """Text and output hold no command; a guide's commands print in console blocks, where output is compared."""
    kinds = {"python", "console", "sh", "toml", "json", "csv", "commands"}  # each has its tests below
    for block in BLOCKS:
        study = block.page.startswith("experiments/")
        where = f"{block.page}: {block.text.splitlines()[0]}"
        if block.kind == "text" or (block.kind == "output" and study):
            timed = block.page == "experiments/benchmarks/README.md"  # by the name of a command
            assert timed or not typed(block), f"{where}: nobody runs the command in it; fence it as console or sh"
        else:
            assert block.kind in kinds, f"{where}: {block.kind!r} is not run; fence it as one of {kinds} or text"
        if block.kind == "commands" and not study:
            whole = len(typed(block)) == len(block.text.strip().splitlines())
            assert whole, f"{where}: what is printed below is not compared; fence it as console"
    lines = [line for block in blocks("commands") for line in typed(block)]
    assert {not_run(line) for line in lines} - {None} == NOT_RUN.keys()
    assert {line.split()[0] for line in lines if not not_run(line)} == {"ident", "python"}


@pytest.mark.slow
@pytest.mark.usefixtures("sketched")
def test_the_files_and_commands_of_all_pages_work(folder, once, capsys, monkeypatch):
    done = []
    for line in commands("ident"):
        result = next((folder / "results").glob("*"), None) if (folder / "results").exists() else None
        here = line.replace("results/NAME", f"results/{result.name}" if result else "").replace("experiment/", ".")
        words = shlex.split(here) + (["--starts", "1", "--seconds", "1e9"] if line.startswith("ident excite") else [])
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code, (words, capsys.readouterr().err)
        done.append(words[1])
    assert len(done) > 15
    assert {"check", "run", "excite", "postures", "sweep", "cad", "export", "dynamics", "codegen"} <= set(done)
    made = ("motion/trajectory.csv", "tour/trajectory.csv", "strokes/trajectory.yaml", "refined.csv", "fall.parquet")
    assert [name for name in made if not (folder / name).is_file()] == []
    written = {p.name for p in (folder / "results").rglob("*") if p.is_file()}
    assert {"estimate.json", "parameters.json", "robot.urdf", "report.html"} <= written
    said = capsys.readouterr().out
    assert "0 contradict cad.csv" in said  # the log was made of that table
    header = next(folder.rglob("*.h"))
    for page, _, text in blocks("sh"):
        script = text.replace("files/arm5.h", str(header)).replace("ARM5", header.stem.upper())
        script = script.replace("results/NAME", f"results/{result.name}")
        where = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        tried = subprocess.run(["sh", "-ec", script], check=True, capture_output=True, text=True, env=where)
        assert ("self test: ok (0)" in tried.stdout) == ("gcc" in text), page
        assert "not to be used" not in tried.stdout, page
    assert (folder / "myarm" / "cad.csv").is_file()


@pytest.mark.slow
@pytest.mark.usefixtures("sketched")
def test_the_two_commands_and_the_python_of_the_readme_need_no_other_file(folder, capsys, monkeypatch):
    """The robot is the table of docs/guide/files.md in place of a URDF; what a current is worth is a guess there."""
    for name in ("dataset.toml", "experiment.toml"):
        (folder / name).unlink()
    first = re.search(r"^    (ident init .*?)  +#.*\n    (ident run \.)  ", README, re.MULTILINE)
    monkeypatch.setattr(sys, "argv", shlex.split(first[1].replace("robot.urdf", "robot.toml")))
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code, capsys.readouterr().err
    exec(
        compile(re.search(r"```python\n(.*?)```", README, re.DOTALL)[1], "README.md", "exec"), {}
    )  # runs, as the second
    assert "link2.hx" in capsys.readouterr().out
    assert next((folder / "results").glob("*/report.html")).is_file()
    read = ident.read_manifest("dataset.toml").recordings[0]
    assert (read.position.columns, read.position.unit, read.torque.columns) == (("q1", "q2"), "deg", ("i1", "i2"))
    np.testing.assert_allclose(read.torque.gain, [11.2, 8.4], rtol=0.4)


def named_by(block):
    """Return a name of a block's test."""
    return f"{block.page}-{block.text.splitlines()[0][:40]}"


@pytest.mark.parametrize("block", blocks("python")[1:], ids=named_by)
def test_the_python_of_all_pages_runs(folder, capsys, block):
    code = re.sub(r'"experiments/\w+"', '"."', block.text).replace("datasets/arm5/", "")
    exec(compile(code, block.page, "exec"), {})
    assert "link2.hx" in capsys.readouterr().out or "print" not in code


@pytest.mark.parametrize("block", blocks("json"), ids=named_by)
def test_the_json_of_all_pages_is_as_its_schema_has_it(block):
    FORMAT.check(json.loads(block.text), Path(block.page))


@pytest.mark.slow
@pytest.mark.parametrize("line", commands("python"))
def test_the_short_programs_of_studies_run(folder, line):
    (folder / "experiments").mkdir()
    script = line.split()[1]
    study = Path(script).parent
    shutil.copytree(ROOT / study, folder / study)  # where it draws its pictures
    quiet = os.environ | {"MPLBACKEND": "Agg"}
    subprocess.run([sys.executable, script], check=True, capture_output=True, env=quiet)


def table(joints, links):
    """Return a robot file with these joints and links."""
    rows = "".join(
        f'[[joint]]\nname = "{joint}"\nlink = "{link}"\na = 0.3\nalpha = {1.57 * (k % 2)}\n'
        for k, (joint, link) in enumerate(zip(joints, links, strict=True))
    )
    return f'name = "named"\nconvention = "dh"\nlength = "m"\nangle = "rad"\n{rows}'


#: A robot whose links and joints have all names that the pages' fragments speak of.
ROBOT = table(
    ("joint1", "joint2", "shoulder", "elbow", "left", "right"),
    ("link1", "link2", "lower", "upper", "finger_left", "finger_right"),
)


def named(folder, text):
    """Return what is said of an experiment of that robot that ends with this text."""
    (folder / "robot.toml").write_text(ROBOT, encoding="utf-8")
    columns = {kind: [f"{kind}{k}" for k in range(1, 7)] for kind in "qi"}
    (folder / "dataset.toml").write_text(
        '[dataset]\nname = "six"\n[signals]\ntime = { column = "t", unit = "s" }\n'
        f'position = {{ columns = {columns["q"]}, unit = "rad" }}\n'
        f'torque = {{ columns = {columns["i"]}, unit = "N m" }}\ntemperature = {{ column = "T", unit = "degC" }}\n'
        '[[recording]]\nname = "x"\nfile = "another.csv"\n',
        encoding="utf-8",
    )
    head = '[experiment]\nrobot = "robot.toml"\ndata = "dataset.toml"\n[recordings]\nfit = ["x"]\n'
    (folder / "experiment.toml").write_text(head + text, encoding="utf-8")
    return check("experiment.toml")


@pytest.fixture
def described(folder, monkeypatch):
    """Return that folder with the files that robots and data sets on other pages speak of, below $IDENT_DATA."""
    (folder / "staubli_tx40").mkdir()
    joints = "".join(
        f'<joint name="joint_{k}" type="revolute"><parent link="{k - 1}"/><child link="{k}"/><axis xyz="0 0 1"/>'
        f'<limit lower="-1" upper="1" velocity="1" effort="1"/></joint><link name="{k}"/>'
        for k in range(1, 7)
    )
    tool = '<joint name="tool" type="fixed"><parent link="6"/><child link="tool0"/></joint><link name="tool0"/>'
    urdf = f'<robot name="tx40"><link name="0"/>{joints}{tool}</robot>'
    (folder / "staubli_tx40" / "tx40_mdh_modified.urdf").write_text(urdf, encoding="utf-8")
    (folder / "ur10e").mkdir()
    t = np.arange(0.0, 8.0, 0.002)[:, None]
    moved = np.sin(t * np.arange(1, 4))
    np.savetxt(folder / "ur10e" / "a.csv", np.hstack([t, *[moved] * 3, 30 + t, moved]), delimiter=",")
    np.savetxt(folder / "ur10e" / "b.csv", moved, delimiter=",")
    shutil.copy(folder / "recording.mcap", folder / "run.mcap")
    monkeypatch.setenv("IDENT_DATA", str(folder))
    return folder


def read(folder, text):
    """Write a block of TOML under the name of its kind, over the files of the folder, and read it as commands do."""
    given = tomllib.loads(text)
    if "fleet" in given:
        for robot in ("first", "second"):
            (folder / "robots" / robot).mkdir(parents=True)
            for name in ("dataset.toml", "excitation.csv", "another.csv"):
                shutil.copy(folder / name, folder / "robots" / robot)
        (folder / "fleet.toml").write_text(text, encoding="utf-8")
        assert set(fleet("fleet.toml", folder / "out").table["robot"]) == {"first", "second"}
    elif "joint" in given or "urdf" in given:
        (folder / "robot.toml").write_text(text, encoding="utf-8")
        assert check("robot.toml").robot.name == given["name"]
    elif "signals" in given:
        if given["signals"]["position"].get("side") == "motor":
            names = [f"joint{k + 1}" for k in range(len(given["signals"]["position"]["columns"]))]
            gears = f"[transmission]\nmotors = {names}\nratios = {[100] * len(names)}\n"
            (folder / "robot.toml").write_text(table(names, names) + gears, encoding="utf-8")
        head = "" if "dataset" in given else '[dataset]\nname = "two"\n'
        logged = hashlib.sha256((folder / "ur10e" / "a.csv").read_bytes()).hexdigest()
        (folder / "dataset.toml").write_text(head + re.sub("[0-9a-f]{64}", logged, text), encoding="utf-8")
        assert not check("dataset.toml").problems
    elif "experiment" in given:
        (folder / "experiment.toml").write_text(text, encoding="utf-8")
        assert not check("experiment.toml").problems
    elif any({"position", "rpy"} & set(entries) for entries in given.values()):
        (folder / "frames.toml").write_text(text, encoding="utf-8")
        assert set(read_frames("frames.toml")) == set(given)
    else:
        assert not named(folder, text).problems


@pytest.mark.parametrize("block", blocks("toml"), ids=named_by)
def test_the_toml_of_all_pages_is_read(described, block):
    read(described, block.text)


@pytest.mark.parametrize("block", [b for b in blocks("toml") if re.search(r"^# \w+ = ", b.text, re.M)], ids=named_by)
def test_the_lines_that_are_commented_out_can_be_taken(described, block):
    """Each by itself; of an experiment, beside Coulomb friction, which some of them need."""
    experiment, heading = "[experiment]" in block.text, ""
    for line in block.text.splitlines():
        if found := re.match(r"(?:# )?(\[\w+\])", line):
            heading = found[1]
        elif (found := re.match(r"# ((\w+) = .*)", line)) and experiment:
            below = "" if found[2] == "coulomb" or heading != "[model]" else "coulomb = { tanh = 0.02 }\n"
            assert not named(described, f"{heading}\n{below}{found[1]}\n").problems, line
        elif found:
            read(described, block.text.replace(line, found[1]))


def unknown(line, whole=False):
    """Return what a command names that is not there: command, option, target, file. whole: its values are read, too."""
    words = [word for word in shlex.split(re.split(" [>|] ", line)[0]) if not re.match(r"[A-Z_]+=", word)]
    program, words = words[0], words[1:]
    missing = [w for w in words if re.match(r"(datasets|experiments|tests|ident)/", w) and not (ROOT / w).exists()]
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        return [word for word in words if word not in targets]
    if program == "python" and words[0] != "-m":
        return missing + [word for word in words[:1] if not (ROOT / word).is_file()]
    if program != "ident":
        return missing
    command = top = typer.main.get_command(app)
    while isinstance(command, typer.core.TyperGroup) and words and words[0][0] != "-":
        among = command.commands
        named = words.pop(0).split("|")  # read|check
        if not set(named) <= among.keys():
            return named
        command = among[named[0]]
    if whole:
        command.make_context("ident", words, typer.Context(top))
    options = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    return missing + [word for word in words if word[0] == "-" and word not in options]


@pytest.mark.parametrize(
    "page", dict.fromkeys([*(page for page, _ in inline()), *(b.page for b in blocks("commands"))])
)
def test_commands_of_all_pages_are_there_and_their_options_known(page, monkeypatch):
    """Those in prose, which leave out what the reader knows, and whole ones that are not run."""
    monkeypatch.chdir(ROOT)
    prose = [line for where, line in inline() if where == page]
    assert [(line, unknown(line)) for line in prose if unknown(line)] == []
    for line in (line for block in blocks("commands") if block.page == page for line in typed(block)):
        assert unknown(line, whole=bool(not_run(line))) == [], line


def test_an_unknown_command_is_noticed(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert unknown("ident cad read|chekc") == ["read", "chekc"]
    assert unknown("ident run . --ouput results") == ["--ouput"]
    assert unknown("make tset") == ["tset"]
    assert unknown("python experiments/tx40/published.py") == ["experiments/tx40/published.py"] * 2
    with pytest.raises(typer.BadParameter):
        unknown("ident excite robot.toml --starts many", whole=True)


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 120
