"""Every block of the README, of the pages under docs/ and of the packages: files are read, commands and code are run.

The robot is that of docs/guide/files.md, whose log is made here; what a page shows of a command's output is compared.
"""

import contextlib
import io
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
from bags import motion, storage, write_bag
from logs_data import ROOT

import ident
from ident.cli.main import main
from ident.dynamics import inverse_dynamics
from ident.model import torque
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
    made = ("motion/trajectory.csv", "tour/trajectory.csv", "strokes/trajectory.yaml", "refined.csv", "fall.parquet")
    assert [name for name in made if not (folder / name).is_file()] == []
    written = {p.name for p in (folder / "results").rglob("*") if p.is_file()}
    assert {"estimate.json", "parameters.json", "robot.urdf", "report.html"} <= written
    said = capsys.readouterr().out
    assert "0 contradict cad.csv" in said  # the log was made of that table
    header = next(folder.rglob("*.h"))
    (block,) = (b for _, b in blocks("sh") if "gcc" in b)
    block = block.replace("files/arm5.h", str(header)).replace("ARM5", header.stem.upper())
    tried = subprocess.run(["sh", "-ec", block], check=True, capture_output=True, text=True)
    assert "self test: ok (0)" in tried.stdout


@pytest.mark.parametrize(("page", "block"), blocks("sh"), ids=lambda x: x.splitlines()[0][:40])
def test_the_shell_of_all_pages_can_be_read(page, block):
    assert not subprocess.run(["sh", "-n"], input=block, capture_output=True, text=True, check=True).stderr, page
    typed = re.findall(r"^ *(?:if )?ident ([a-z]+)", block, re.MULTILINE)
    assert set(typed) <= {command[0] for command in commands()}, page


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


@pytest.mark.parametrize(("page", "code"), blocks("python")[1:], ids=lambda x: x.splitlines()[0][:40])
def test_the_python_of_all_pages_runs(folder, capsys, page, code):
    exec(compile(code, page, "exec"), {})
    assert "link2.hx" in capsys.readouterr().out or "print" not in code


@pytest.mark.parametrize(("page", "text"), blocks("toml"), ids=lambda x: x.splitlines()[0][:40])
def test_the_toml_of_all_pages_has_known_keys(page, text, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "generate"))
    import formats

    given = tomllib.loads(text)
    known = {path for name in formats.FORMATS for path in formats.found(name)}

    def paths(table, above=""):
        for key, value in table.items():
            yield (above, key)
            for inner in value if isinstance(value, list) else [value]:
                yield from paths(inner, f"{above}.{key}".lstrip(".")) if isinstance(inner, dict) else ()

    for above, key in paths(given):
        named = [f"{above}.{key}".lstrip("."), f"{above}.NAME".lstrip("."), f"NAME.{key}"]
        named.append(f"{above.rpartition('.')[0]}.NAME.{key}")
        assert known & set(named), (page, above, key)


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
    here = tmp_path_factory.mktemp("demo") / "myarm"
    here.mkdir()
    line = re.search(r"^cp -r (.*) myarm$", TEXTS["docs/tutorials/logs.md"], re.MULTILINE)[1]
    for pattern in line.split():
        for file in ROOT.glob(pattern):
            shutil.copy(file, here)
    return here


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


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 120
