"""Without the packages of extras: one sentence that says how to install them, and CSV logs read as with them."""

import sys
from pathlib import Path

import numpy as np
import pytest
from bags import motion, write_bag

from ident.errors import EXTRAS, EstimationError, InputError, need
from ident.estimate.problem import Program
from ident.logs import read_log, read_manifest
from ident.logs.readers import read_tables
from ident.logs.readers.bag import as_table
from ident.logs.readers.formats import Request
from ident.pipelines import codegen, excite
from ident.report.page import known_format
from ident.robot import read_robot

ARM5 = Path(__file__).parents[1] / "datasets" / "arm5"


@pytest.fixture(params=EXTRAS)
def missing(request, monkeypatch) -> str:
    monkeypatch.setitem(sys.modules, request.param, None)
    return request.param


def test_the_sentence_says_what_needs_it_and_how_to_install_it(missing):
    with pytest.raises(
        InputError, match=rf"needs {missing}, which is not installed\. pip install 'robot-ident\[\w+\]'"
    ):
        need(missing)
    for other in set(EXTRAS) - {missing}:
        need(other)


def test_commands_say_the_sentence(monkeypatch, tmp_path):
    path = write_bag(tmp_path / "run", "mcap", motion(60)[0])
    for package in EXTRAS:
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=r"needs pyarrow.*robot-ident\[parquet\]"):
        read_log(read_manifest(ARM5 / "dataset.toml"), "validation", read_robot(ARM5 / "robot.toml"))
    with pytest.raises(InputError, match=r"needs rosbags.*robot-ident\[ros\]"):
        as_table(path, tmp_path / "run.parquet")
    with pytest.raises(InputError, match=r"needs matplotlib.*robot-ident\[plots\]"):
        known_format(tmp_path / "report.pdf")
    with pytest.raises(InputError, match=r"needs matplotlib.*robot-ident\[plots\]"):
        excite(ARM5 / "robot.toml", out=tmp_path / "motion")
    with pytest.raises(InputError, match=r"needs sympy.*robot-ident\[symbolic\]"):
        codegen(ARM5 / "robot.toml", latex=tmp_path / "x.tex")
    with pytest.raises(EstimationError, match=r"needs cvxpy.*robot-ident\[solvers\]"):
        Program(None, None, None, None).stated(np.eye(3), 1.0, 0.1)


BLOCKS = {
    "plain": "0.1,1,2\n0.2,-3e-5,4.25\n0.30000000000000004,1e300,5\n",
    "no end of line": "1,2,3\n4,5,6",
    "carriage returns": "1,2,3\r\n4,5,6\r\n",
    "clocks in ns": "1700000000000000001,1,2\n1700000000000000003,1,2\n",
    "a missing number": "1,,3\n4,5,6\n",
    "a word": "1,x,3\n4,5,6\n",
    "not a number": "1,nan,3\n4,5,6\n",
    "a short line": "1,2,3\n4,5\n",
    "a long line": "1,2,3\n4,5,6,7\n",
    "an empty line": "1,2,3\n\n4,5,6\n",
    "quotes": '1,"2",3\n4,5,6\n',
    "a comment": "1,2,3 # old\n4,5,6\n",
    "an underscore": "1,2_0,3\n4,5,6\n",
    "no UTF-8": "1,\xff,3\n",
}


@pytest.mark.parametrize("what", BLOCKS)
def test_blocks_of_text_are_read_as_by_arrow(what, monkeypatch, tmp_path):
    (tmp_path / "log.csv").write_bytes(BLOCKS[what].encode("latin-1"))
    request = Request(tmp_path / "log.csv", "log.csv", {"all": [(None, c) for c in (1, 2, 3)]})

    def read() -> object:
        try:
            return [np.asarray(x) for part in read_tables.read_text(request) for x in part["all"]]
        except InputError as cause:
            return str(cause)

    with_arrow = read()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    without = read()
    if isinstance(with_arrow, str):
        assert without == with_arrow
    else:
        for x, y in zip(without, with_arrow, strict=True):
            np.testing.assert_array_equal(x, y, strict=True)
