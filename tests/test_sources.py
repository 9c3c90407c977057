"""Nothing is written over the files that it is made from."""

from types import SimpleNamespace

import pytest

from ident.errors import InputError
from ident.pipelines.estimated import require_apart, sources_of

URDF = """<robot name="arm"><link name="base"/><link name="l1"><visual><geometry><mesh filename="package://arm/l1.STL"/>
</geometry></visual></link></robot>"""


def test_a_robot_file_its_meshes_and_folders_of_reports_are_not_written_over(tmp_path):
    (tmp_path / "reports").mkdir()
    (tmp_path / "arm.urdf").write_text(URDF)
    (tmp_path / "robot.toml").write_text('urdf = "arm.urdf"\n')
    for name in ("l1.STL", "other.stl", "reports/l1.txt", "log.csv"):
        (tmp_path / name).write_text(name)
    (tmp_path / "link.csv").symlink_to("log.csv")
    sources = (tmp_path / "robot.toml", tmp_path / "reports", tmp_path / "log.csv", None)
    for name in ("robot.toml", "arm.urdf", "l1.STL", "reports/l1.txt", "link.csv"):
        with pytest.raises(InputError, match=r"would be lost\. Write it elsewhere, such as --out new/"):
            require_apart(tmp_path / name, sources)
    for name in ("other.stl", "new.urdf", "reports/new.txt"):
        require_apart(tmp_path / name, sources)


DATASET = """[dataset]
name = "far"
folder = "$IDENT_DATA/far"
[signals]
time = { column = 1, unit = "s" }
position = { column = 2, unit = "rad" }
torque = { column = 3, unit = "N m" }
[[recording]]
name = "one"
file = "log.csv"
"""


def test_logs_of_the_data_folder_are_not_written_over(tmp_path, monkeypatch):
    (tmp_path / "data" / "far").mkdir(parents=True)
    log = tmp_path / "data" / "far" / "log.csv"
    log.write_text("0,0,0")
    (tmp_path / "dataset.toml").write_text(DATASET)
    own = tmp_path / "experiment.toml"
    names = {"file": own, "robot": own, "data": tmp_path / "dataset.toml", "cad": None, "truth": None}
    monkeypatch.setenv("IDENT_DATA", str(tmp_path / "data"))
    with pytest.raises(InputError, match="would be lost"):
        require_apart(log, sources_of(SimpleNamespace(**names)))
