"""Every block of the README, of the pages under docs/ and of the packages: files are read, commands and code are run.

The robot is that of docs/guide/files.md, whose log is made here; what a page shows of a command's output is compared.
"""

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from bags import motion, storage, write_bag
from logs_data import ROOT

import ident
from ident.cad import read_frames
from ident.cli.main import app, main
from ident.dynamics import inverse_dynamics
from ident.model import torque
from ident.pipelines import check, fleet
from ident.spatial import from_com

README = (ROOT / "README.md").read_text(encoding="utf-8")
FILES = (ROOT / "docs" / "guide" / "files.md").read_text(encoding="utf-8")
#: Every page by its path, in the order in which a reader meets them.
TEXTS = {"README.md": README} | {
    str(p.relative_to(ROOT)): p.read_text(encoding="utf-8")
    for part in ("guide/files.md", "guide", "tutorials", ".")
    for p in ([ROOT / "docs" / part] if part.endswith(".md") else sorted((ROOT / "docs" / part).glob("*.md")))
}


#: What the packages say of themselves, by its path.
ROOMS = {str(p.relative_to(ROOT)): p.read_text(encoding="utf-8") for p in sorted((ROOT / "ident").glob("*/README.md"))}


def blocks(kind, texts=TEXTS):
    """Return the fenced blocks of one kind on all pages, each with its page."""
    return [(page, b) for page, text in texts.items() for b in re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with the files of docs/guide/files.md and the logs that they name."""
    tmp_path = tmp_path / "myarm"
    tmp_path.mkdir()
    for name in ("robot.toml", "dataset.toml", "cad.csv", "experiment.toml"):
        content = re.search(rf"\*\*{re.escape(name)}\*\*.*?```(?:toml)?\n(.*?)```", FILES, re.DOTALL).group(1)
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


def commands():
    """Return the indented commands of all pages, each once, as typed in the folder of the four files."""
    lines = [
        line for text in TEXTS.values() for line in re.findall(r"^    ident (.*?)(?:  +#.*)?$", text, re.MULTILINE)
    ]
    for line in dict.fromkeys(lines):
        if not line.startswith(("init ", "payload ")):  # tests below
            here = line.replace("results/NAME", "results/*").replace("experiment/", ".")
            here = here.replace(" --scene scene.toml", "")
            words = shlex.split(here)
            yield words + (["--starts", "1", "--seconds", "1e9"] if words[0] == "excite" else [])


@pytest.mark.slow
@pytest.mark.usefixtures("sketched")
def test_the_files_and_commands_of_all_pages_work(folder, capsys, monkeypatch):
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
    (shown,) = (json.loads(block) for _, block in blocks("json", ROOMS))
    assert shown.keys() <= json.loads(next(folder.glob("results/*/estimate.json")).read_text(encoding="utf-8")).keys()
    made = ("motion/trajectory.csv", "tour/trajectory.csv", "strokes/trajectory.yaml", "refined.csv", "fall.parquet")
    assert [name for name in made if not (folder / name).is_file()] == []
    written = {p.name for p in (folder / "results").rglob("*") if p.is_file()}
    assert {"estimate.json", "parameters.json", "robot.urdf", "report.html"} <= written
    said = capsys.readouterr().out
    assert "0 contradict cad.csv" in said  # the log was made of that table
    header = next(folder.rglob("*.h"))
    for page, block in blocks("sh"):
        typed = block.replace("files/arm5.h", str(header)).replace("ARM5", header.stem.upper())
        typed = typed.replace("results/NAME", f"results/{result.name}")
        where = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        tried = subprocess.run(["sh", "-ec", typed], check=True, capture_output=True, text=True, env=where)
        assert ("self test: ok (0)" in tried.stdout) == ("gcc" in block), page
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


@pytest.mark.parametrize(
    ("page", "code"), [*blocks("python")[1:], *blocks("python", ROOMS)], ids=lambda x: x.splitlines()[0][:40]
)
def test_the_python_of_all_pages_runs(folder, capsys, page, code):
    code = re.sub(r'"experiments/\w+"', '"."', code).replace("datasets/arm5/", "")
    exec(compile(code, page, "exec"), {})
    assert "link2.hx" in capsys.readouterr().out or "print" not in code


#: A robot whose links and joints have all names that the pages' fragments speak of.
ROBOT = 'name = "named"\nconvention = "dh"\nlength = "m"\nangle = "rad"\n' + "".join(
    f'[[joint]]\nname = "{joint}"\nlink = "{link}"\na = 0.3\nalpha = {1.57 * (k % 2)}\n'
    for k, (joint, link) in enumerate(
        zip(
            ("joint1", "joint2", "shoulder", "elbow", "left", "right"),
            ("link1", "link2", "lower", "upper", "finger_left", "finger_right"),
            strict=True,
        )
    )
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
        head = "" if "dataset" in given else '[dataset]\nname = "two"\n'
        (folder / "dataset.toml").write_text(head + text, encoding="utf-8")
        assert ident.read_manifest("dataset.toml").recordings[0].name == given["recording"][0]["name"]
    elif "experiment" in given:
        (folder / "experiment.toml").write_text(text, encoding="utf-8")
        assert not check("experiment.toml").problems
    elif "fit" in given:
        assert not named(folder, text).problems
    else:
        (folder / "frames.toml").write_text(text, encoding="utf-8")
        assert set(read_frames("frames.toml")) == set(given)


@pytest.mark.parametrize(
    ("page", "text"), [*blocks("toml"), *blocks("toml", ROOMS)], ids=lambda x: x.splitlines()[0][:40]
)
def test_the_toml_of_all_pages_is_read(folder, monkeypatch, page, text):
    urdf = folder / "staubli_tx40" / "tx40_mdh_modified.urdf"
    urdf.parent.mkdir()
    joints = "".join(
        f'<joint name="joint_{k}" type="revolute"><parent link="{k - 1}"/><child link="{k}"/><axis xyz="0 0 1"/>'
        f'<limit lower="-1" upper="1" velocity="1" effort="1"/></joint><link name="{k}"/>'
        for k in range(1, 7)
    )
    tool = '<joint name="tool" type="fixed"><parent link="6"/><child link="tool0"/></joint><link name="tool0"/>'
    urdf.write_text(f'<robot name="tx40"><link name="0"/>{joints}{tool}</robot>', encoding="utf-8")
    monkeypatch.setenv("IDENT_DATA", str(folder))
    read(folder, text)


def test_the_lines_that_are_commented_out_can_be_taken(folder):
    """Each by itself, beside Coulomb friction, which some of them need."""
    (block,) = (text for _, text in blocks("toml", {"": FILES}) if "[experiment]" in text)
    table, tried = "", []
    for line in block.splitlines():
        if found := re.match(r"(?:# )?(\[\w+\])", line):
            table = found[1]
        elif found := re.match(r"# ((\w+) = .*)", line):
            below = "" if found[2] == "coulomb" or table != "[model]" else "coulomb = { tanh = 0.02 }\n"
            assert not named(folder, f"{table}\n{below}{found[1]}\n").problems, line
            tried.append(found[2])
    assert len(tried) > 20


# ---- what the pages show of a command's output -----------------------------------------------------------------------


def shown():
    """Return each command of a console block with the lines that stand below it, and its page."""
    for page, block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield page, command, output


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    """Return a folder with the raw files of the demo, as the tutorial puts them there."""
    here = tmp_path_factory.mktemp("demo")
    (here / "datasets").symlink_to(ROOT / "datasets")
    (block,) = (b for page, b in blocks("sh") if page == "docs/tutorials/logs.md")
    subprocess.run(["sh", "-ec", block], cwd=here, check=True)
    return here / "myarm"


@cache
def said(command, folder):
    """Return what a command of a page prints; it runs once, whatever pages show it, after those that it needs."""
    init = next(typed for _, typed, _ in shown() if typed.startswith("ident init "))
    for later, earlier in (("ident run .", init), ("ident export ", "ident run .")):
        if command.startswith(later):
            said(earlier, folder)
    here = ROOT if re.search(r" (experiments|datasets)/", command) else folder
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as out:
        patch.chdir(here)
        patch.setattr(sys, "argv", shlex.split(command))
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code in (None, 0, 4)
    return [" ".join(line.split()) for line in out.getvalue().splitlines()]


@pytest.mark.slow
@pytest.mark.usefixtures("sketched")
def test_the_load_is_found_by_the_command_of_the_page(arm, tmp_path, capsys, monkeypatch):
    """The arm of the demo with 60 g at its flange, in the motions of its two logs."""
    said(next(typed for _, typed, _ in shown() if typed.startswith("ident init ")), arm)
    monkeypatch.chdir(shutil.copytree(arm, tmp_path / "myarm"))
    robot = ident.read_robot("robot.toml")
    load = np.zeros((robot.n, 10))
    load[-1] = from_com(0.06, np.array([0.02, 0.0, 0.05]), 2e-5 * np.eye(3))
    manifest = ident.read_manifest("dataset.toml")
    more = 'flange = { name = "tool0" }\n' + Path("robot.toml").read_text(encoding="utf-8")
    Path("robot.toml").write_text(more, encoding="utf-8")
    for name, loaded in (("identification", "with-load"), ("validation", "with-load-2")):
        moved = ident.process(ident.read_log(manifest, name, robot), ident.Processing(position_hz=40))
        table = pd.read_parquet(f"{name}.parquet").iloc[: len(moved.t)]
        weight = inverse_dynamics(robot, load, moved.q, moved.qd, moved.qdd)
        torques = list(manifest.recordings[0].torque.columns)
        pd.concat([table.drop(columns=torques), table[torques] + weight], axis=1).to_parquet(f"{loaded}.parquet")
        with Path("dataset.toml").open("a", encoding="utf-8") as file:
            file.write(f'\n[[recording]]\nname = "{loaded}"\nfile = "{loaded}.parquet"\n')
    page = TEXTS["docs/tutorials/controllers.md"]
    typed = shlex.split(re.search(r"^    (ident payload .*)$", page, re.MULTILINE)[1].replace("experiment/", "."), True)
    monkeypatch.setattr(sys, "argv", typed)
    with pytest.raises(SystemExit) as ended:
        main()
    out = capsys.readouterr()
    assert not ended.value.code, out.err
    assert 0.055 < float(re.search(r"set_target_payload\(([\d.]+)", out.out)[1]) < 0.065


def alike(line, other):
    """Return whether two lines have the same words, and numbers within 5 % (or one unit of a count or a power)."""
    number = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
    if re.sub(number, "#", line) != re.sub(number, "#", other):
        return False
    pairs = zip(re.findall(number, line), re.findall(number, other), strict=True)
    return all(abs(float(a) - float(b)) <= max(0.05 * abs(float(a)), 1.0 if "." not in a else 0.0) for a, b in pairs)


@pytest.mark.slow
@pytest.mark.usefixtures("sketched")
@pytest.mark.parametrize(
    ("page", "command", "output"), list(shown()), ids=lambda x: x.splitlines()[0][:40] if x else "-"
)
def test_commands_print_what_the_pages_show(arm, page, command, output):
    """Lines in their order; where "..." stands, lines are left out, but for problems."""
    lines = list(said(command, arm))
    assert sum(line.startswith("PROBLEM") for line in lines) == output.count("\nPROBLEM"), lines
    found = iter(lines)
    skipped = False
    for line in map(" ".join, map(str.split, output.splitlines())):
        if line == "...":
            skipped = True
        elif skipped:
            assert any(alike(line, other) or other.startswith(line) for other in found), (page, line)
            skipped = False
        elif line:
            assert alike(line, next(other for other in found if other)), (page, line)


def test_a_wrong_line_is_noticed():
    assert alike("10 contradict, 1.36 %", "11 contradict, 1.37 %")
    assert not alike("10 contradict, 1.36 %", "10 contradict, 1.5 %")
    assert not alike("10 contradict, 1.36 %", "10 agree, 1.36 %")


STUDIES = sorted((ROOT / "experiments").glob("*/README.md"))


@pytest.mark.parametrize("page", STUDIES, ids=lambda p: p.parent.name)
def test_commands_of_studies_are_there_and_their_options_known(page, monkeypatch):
    """They take minutes, or logs that are not in the repository; `tests` of theirs, and benchmarks, run them."""
    monkeypatch.chdir(ROOT)
    text = page.read_text(encoding="utf-8").replace("\\\n", " ").replace("`", "`\n`")
    typed = re.findall(r"(?:^    (?:\w+=\w+ )*|`)(python [^`\n]+?)(?:  +.*|`.*)?$", text, re.MULTILINE)
    if page.parent.name != "benchmarks":  # there, what was timed stands by its name
        typed += re.findall(r"^    (?:\w+=\w+ )*(ident \S.*?)(?:  +.*)?$", text, re.MULTILINE)
    assert typed
    for line in typed:
        program, *words = shlex.split(line.split(" > ")[0])
        files = [word for word in words if re.match(r"(datasets|experiments)/", word)]
        assert [f for f in files if not (ROOT / f).exists()] == [], line
        if program == "ident":
            command = top = typer.main.get_command(app)
            while isinstance(command, typer.core.TyperGroup):
                command = command.commands[words.pop(0)]
            command.make_context("ident", words, typer.Context(top))


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 120
