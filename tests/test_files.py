"""Files and folders appear whole or not at all, and what killed processes leave is removed by the next one."""

import csv
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from export_readers import estimate_of

from ident.cad import read_cad
from ident.cad.back_to_cad import write_cad
from ident.errors import EstimationError, InputError, cut, shortened
from ident.excitation.information import worth
from ident.excitation.trajectory import write_csv
from ident.export import export_to
from ident.files import MARK, csv_cell, csv_name, file_word, whole_file, whole_folder, write_whole
from ident.model import Model, Viscous
from ident.pipelines.excitation import _predicted
from ident.robot import Joint, Robot
from ident.simulation.run import columns
from ident.spatial.inertia import Pose

#: Writes half of a folder and half of a file, or stops between the two renames of a folder, and waits to be killed.
CHILD = """
import sys
from pathlib import Path
from ident.files import whole_file, whole_folder

def wait(*_):
    print("ready", flush=True)
    sys.stdin.read()

where = Path(sys.argv[2])
if sys.argv[1] == "write":
    with whole_folder(where / "out", ["a"]) as folder, whole_file(where / "log.csv") as file:
        (folder / "a").write_text("half")
        file.write_text("half")
        wait()
else:
    move = Path.rename
    Path.rename = lambda self, to: wait() if (where / "out") == to else move(self, to)
    with whole_folder(where / "out", ["a"]) as folder:
        (folder / "a").write_text("after")
"""


def start(what: str, where: Path) -> subprocess.Popen:
    pipe = subprocess.PIPE
    child = subprocess.Popen([sys.executable, "-c", CHILD, what, str(where)], stdin=pipe, stdout=pipe, text=True)
    assert child.stdout.readline() == "ready\n"
    return child


def end(child: subprocess.Popen, how: int = signal.SIGKILL) -> None:
    child.send_signal(how)
    child.communicate()


def names(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
def test_the_next_run_removes_what_a_killed_one_left_and_nothing_of_a_living_one(tmp_path, how):
    dead, living = start("write", tmp_path), start("write", tmp_path)
    end(dead, how)
    assert len(names(tmp_path)) == 10  # of each: a marked folder with a file in it, a marked file
    mine = tmp_path / f".mine{MARK}"
    mine.write_text("not ident's")
    write_whole(tmp_path / "new.csv", "new")
    assert len(names(tmp_path)) == 7
    end(living)
    with whole_folder(tmp_path / "out", ["a"]) as folder:
        (folder / "a").write_text("whole")
    assert names(tmp_path) == [mine.name, "new.csv", "out", "out/a"]
    assert (tmp_path / "out" / "a").read_text() == "whole"


def test_results_that_were_set_aside_when_their_run_was_killed_come_back(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").write_text("before")
    end(start("replace", tmp_path))
    assert not (tmp_path / "out").exists()
    with pytest.raises(KeyError), whole_folder(tmp_path / "out", ["a"]):
        raise KeyError
    assert names(tmp_path) == ["out", "out/a"]
    assert (tmp_path / "out" / "a").read_text() == "before"


def test_a_file_is_replaced_whole_or_kept(tmp_path):
    path = write_whole(tmp_path / "new" / ("a" * 200 + ".csv"), "before")
    with pytest.raises(UnicodeEncodeError), whole_file(path) as part:
        part.write_text("half\ud800", encoding="utf-8")
    assert path.read_text() == "before"
    with whole_file(path) as part:
        part.write_text("after")
    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == (tmp_path / "new").stat().st_mode & 0o666
    assert names(tmp_path / "new") == [path.name]
    with pytest.raises(InputError, match=r"b\.csv: cannot be written: "):
        write_whole(path / "b.csv", "no folder")


# ---- names ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("arm", "arm"),
        ("../../etc/passwd", "etc_passwd"),
        ("C:\\arm", "C_arm"),
        ("Bras n° 7 (été)", "Bras_n_7_ete"),
        ("机械臂 🤖", "robot"),
        ("", "robot"),
        ("...", "robot"),
        ("NUL", "robot_NUL"),
        ("com1.x", "robot_com1.x"),
        ("-rf", "rf"),
        ("℀ㄧ", "a_c"),
        ("a\nb\x1b[2J", "a_b_2J"),
        ("x" * 300, "x" * 60),
    ],
)
def test_files_are_called_by_plain_words(name, word):
    assert file_word(name, "robot") == word


FORMULA = "=cmd|'/C calc'!A1"


@pytest.mark.parametrize("first", ["=", "+", "-", "@"])
def test_no_cell_of_a_table_begins_a_formula(tmp_path, first):
    """Names come from files that anybody may have written, and tables are opened by spreadsheets."""
    joint = Joint(first + FORMULA, "revolute", -1, Pose.identity(), np.array([0.0, 0, 1]))
    link = first + "1+2"
    robot = Robot("r", (joint,), (link,))
    e = estimate_of(robot, Model(robot, (Viscous(),)), np.array([1, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.1, 0.5]))
    head = '# mass = "kg"\n# length = "m"\n# inertia = "kg m^2"\n# tensor_at = "link_origin"\n# products = "tensor"\n'
    (tmp_path / "cad.csv").write_text(f"{head}link,m,cx,cy,cz,Ixx,Ixy,Ixz,Iyy,Iyz,Izz\n{link},1,0,0,0,1,0,0,1,0,1\n")
    cad = read_cad(tmp_path / "cad.csv")
    write_cad(cad, cad.convention, tmp_path / "refined.csv")
    write_csv(tmp_path / "motion.csv", robot, np.arange(3.0), *np.zeros((3, 3, 1)))
    for form in ("csv", "csv-base"):
        export_to(form, e, tmp_path / f"{form}.csv", robot=robot)
    (tmp_path / "predicted.csv").write_text(_predicted(worth(e.base, np.eye(len(e.base.names)), e.theta)))
    for table in ("refined", "motion", "csv", "csv-base", "predicted"):
        lines = [x for x in (tmp_path / f"{table}.csv").read_text().splitlines() if not x.startswith("#")]
        cells = [cell for row in csv.reader(lines) for cell in row]
        assert any(cell.startswith("'" + first) for cell in cells), table
        assert not [cell for cell in cells if cell[:1] in "=+@" and cell], table
        assert all(np.isfinite(float(cell)) for cell in cells if cell.startswith("-")), table  # numbers, no names
    assert columns(robot, "tau") == [f"'{first}{FORMULA}.tau [N m]"]
    assert read_cad(tmp_path / "refined.csv").links == (link,)
    assert csv_name(csv_cell(link)) == link


@pytest.mark.parametrize("name", ["x" * 5000, "a b " * 2000 + "c", "é" * 121])
def test_messages_quote_at_most_120_characters_of_a_name(name):
    error = InputError(f"robot '{name}' has no link '{name}', whose joint's is '{name}'", file=name, key=name)
    place, key, *_ = str(error).split(", ")
    for said in (str(error).partition(": ")[2], str(EstimationError(f"the fit of '{name}' failed"))):
        quoted = [part for part in said.split("'") if part.startswith(name[:2])]
        assert quoted
        assert {len(part) for part in (*quoted, place, key.partition(":")[0])} == {120}
        assert all(part.endswith("...") for part in quoted)


@pytest.mark.parametrize("quote", "'\"")
def test_a_shortened_quote_keeps_its_end(quote):
    name = f"joint {quote}{'x y' * 100}{quote}"
    assert cut(name) == f"{name[:116]}...{quote}"
    assert str(InputError("is wrong", key=name)).count(quote) == 2
    assert cut("x" * 200 + quote) == "x" * 117 + "..."  # which it does not begin


def test_messages_are_not_shortened_between_quotes():
    said = f"the robot's '{'x' * 120}' and SolidWorks' own, {'a word ' * 40}that is 'b'"
    assert shortened(said) == said
