"""Files and folders appear whole or not at all, and what killed processes leave is removed by the next one."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ident.errors import InputError
from ident.files import MARK, whole_file, whole_folder, write_whole

#: Writes half of a folder and half of a file, or stops between the two renames of a folder, and waits to be killed.
CHILD = """
import sys, time
from pathlib import Path
from ident.files import whole_file, whole_folder

def wait(*_):
    print("ready", flush=True)
    time.sleep(60)

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
    child = subprocess.Popen([sys.executable, "-c", CHILD, what, str(where)], stdout=subprocess.PIPE, text=True)
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
