"""One small file of every format, kept: what is written changes only when somebody means it.

`python tests/test_export_golden.py` writes the files anew; read the difference before it is committed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io

sys.path.insert(0, str(Path(__file__).parent))
from export_readers import estimate_of

from ident.export.formats import FORMATS, PAYLOAD_FORMATS, export_to, file_name, format_named, listing
from ident.export.payload import Payload
from ident.model import Coulomb, DriveInertia, Model, Offset, Viscous
from ident.robot import DHJoint, Limits, from_dh
from ident.spatial.inertia import from_com

FOLDER = Path(__file__).parent / "golden_exports"
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
WHEN = "2025-03-01"


def small():
    """Return a shoulder and a slide, their numbers, and an estimate of them."""
    table = [
        DHJoint(a=0.1, alpha=np.pi / 2, d=0.4, limits=Limits(-2.0, 2.0, 3.0, 50.0), name="shoulder", link="arm"),
        DHJoint(a=0.25, kind="prismatic", sign=-1, limits=Limits(0.0, 0.5, 1.0, 90.0), name="slide", link="hand"),
    ]
    robot = from_dh("small", table)
    arm = from_com(4.0, [-0.05, 0.01, 0.02], [[0.03, 0.001, -0.002], [0.001, 0.04, 0.003], [-0.002, 0.003, 0.025]])
    hand = from_com(1.5, [0.02, 0.0, -0.1], [[0.008, 0.0, 0.0005], [0.0, 0.009, 0.0], [0.0005, 0.0, 0.004]])
    terms = [0.12, 3.4, 0.5, 6.0, 0.7, 8.0, 0.05, -0.4]
    model = Model(robot, (DriveInertia(), Viscous(), Coulomb(), Offset()))
    return robot, estimate_of(robot, model, np.concatenate([arm, hand, terms]))


LOAD = Payload(
    2.805,
    [0.0123, -0.0456, 0.0789],
    [[0.0123, 0.0011, -0.0007], [0.0011, 0.0145, 0.0003], [-0.0007, 0.0003, 0.0101]],
    "tool0",
    mass_error=0.02,
    com_error=np.array([1e-3, 1e-3, 2e-3]),
    inertia_error=np.full((3, 3), 4e-4),
    origin=("Difference of two results: sha256 0123 with load, sha256 4567 without.",),
)


def same_text(found: str, kept: str) -> bool:
    """Compare text exactly and its numbers to 1e-12: the last digit of a sine is the platform's."""
    numbers = [[float(x) for x in NUMBER.findall(t)] for t in (found, kept)]
    rest = [NUMBER.sub("0", t) for t in (found, kept)]
    return rest[0] == rest[1] and bool(np.allclose(numbers[0], numbers[1], rtol=1e-12, atol=1e-15))


def path_of(form) -> Path:
    return FOLDER / f"{form.name}{form.suffix}"


@pytest.mark.parametrize("form", FORMATS, ids=lambda f: f.name)
def test_models(tmp_path, form):
    robot, estimate = small()
    found = export_to(form.name, estimate, tmp_path / "out", robot=robot, when=WHEN).path
    again = export_to(form.name, estimate, tmp_path / "again", robot=robot, when=WHEN).path
    assert found.read_bytes() == again.read_bytes()
    if form.suffix == ".mat":
        one, two = scipy.io.loadmat(found), scipy.io.loadmat(path_of(form))
        assert one.keys() == two.keys()
        for key in one.keys() - {"__header__", "__version__", "__globals__"}:
            values = one[key], two[key]
            if values[0].dtype.kind == "f":
                assert np.allclose(*values, rtol=1e-12, atol=1e-15)
            else:
                assert str(values[0]) == str(values[1])
    else:
        assert same_text(found.read_text(), path_of(form).read_text())


@pytest.mark.parametrize("form", PAYLOAD_FORMATS, ids=lambda f: f.name)
def test_loads(form):
    assert same_text(form.write(LOAD), path_of(form).read_text())


@pytest.mark.parametrize("form", FORMATS, ids=lambda f: f.name)
def test_every_file_says_where_it_comes_from_and_what_its_numbers_mean(form):
    if form.suffix == ".mat":
        text = "\n".join(str(x) for x in np.ravel(scipy.io.loadmat(path_of(form))["about"]))
    else:
        text = path_of(form).read_text()
    for wanted in ("written by ident on 2025-03-01", "sha256 ", "Validation passed", "nits", "-integral"):
        assert wanted in text, wanted
    assert re.search("ORIGIN|CENTRE|centre", text)
    assert re.search("[Ff]rame|link axes|link's", text)


@pytest.mark.parametrize(
    ("form", "robot", "name"),
    [
        ("urdf", "arm-7 b", "arm-7_b.urdf"),
        ("urdf", "con", "robot_con.urdf"),
        ("c", "机械臂 🤖", "robot.h"),
        ("json", "../arm", "arm.json"),
        ("csv", "", "robot.csv"),
        ("matlab", "arm-7 b", "arm_7_b_dynamics.m"),  # MATLAB calls functions and scripts by the names of their files
        ("simscape", "7-arm", "robot_7_arm_simscape.m"),
        ("python", "arm-7", "arm_7.py"),
        ("rtb-matlab", "", "robot_rtb_matlab.m"),
        ("csv-base", "arm", "arm_csv_base.csv"),
        ("kdl", "arm-7", "arm-7_kdl.hpp"),
    ],
)
def test_names_of_files(form, robot, name):
    assert file_name(format_named(form), robot) == name


def test_no_format_overwrites_another():
    names = [file_name(form, "arm-7 b") for form in FORMATS]
    assert len(set(names)) == len(names)


def test_at_least_22_formats_each_listed_once_in_a_line():
    rows = listing()
    assert len(rows) == len(FORMATS) + len(PAYLOAD_FORMATS) >= 22
    assert len({name for name, *_ in rows}) == len(rows)
    assert all(line and "\n" not in line and len(line) < 90 for *_, line in rows)
    assert {p.name for p in FOLDER.iterdir()} == {path_of(f).name for f in (*FORMATS, *PAYLOAD_FORMATS)}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    made, numbers = small()
    for model_format in FORMATS:
        export_to(model_format.name, numbers, path_of(model_format), robot=made, when=WHEN)
    for load_format in PAYLOAD_FORMATS:
        path_of(load_format).write_text(load_format.write(LOAD))
