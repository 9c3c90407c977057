"""HDF5 files, and MATLAB's of version 7.3, which are HDF5: groups, samples along the columns, links out of the file."""

import h5py
import numpy as np
import pytest
from test_logs_mat import MANIFEST, Q, T, read

from ident.errors import LogError
from ident.logs.raw import read_raw


def written(path, transposed=False, userblock=0, **more):
    as_kept = (lambda a: np.atleast_2d(a).T) if transposed else (lambda a: a)
    with h5py.File(path, "w", userblock_size=userblock) as file:
        for name, array in {"rec/t": T, "rec/pos/q": Q, "tau": 2 * Q, **more}.items():
            file[name] = as_kept(array) if isinstance(array, np.ndarray) else array
        file["rec/itself"] = file["rec"]  # a group within itself
    return path


@pytest.mark.parametrize("transposed", [False, True])
def test_groups_and_samples_along_the_columns(tmp_path, transposed):
    written(tmp_path / "x.h5", transposed)
    log = read(tmp_path, MANIFEST.replace("x.mat", "x.h5"))
    np.testing.assert_array_equal(log.q, Q)
    np.testing.assert_array_equal(log.tau, 2 * Q)


def test_a_mat_file_of_version_7_3(tmp_path):
    written(tmp_path / "x.mat", transposed=True, userblock=512)
    np.testing.assert_array_equal(read(tmp_path).tau, 2 * Q)
    (table,) = read_raw(tmp_path / "x.mat")
    assert {"rec.t", "tau[1]", "rec.pos.q[2]"} <= {column.label for column in table.columns}


def test_numbers_of_another_file_and_text_are_not_read(tmp_path):
    written(tmp_path / "other.h5")
    (tmp_path / "raw.bin").write_bytes(np.ones(50).tobytes())
    layout = h5py.VirtualLayout((50,), "f8")
    layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "rec/t", (50,))
    with h5py.File(
        written(tmp_path / "x.h5", a=h5py.ExternalLink("other.h5", "tau"), s=h5py.SoftLink("/tau")), "a"
    ) as f:
        f.create_virtual_dataset("v", layout)
        f.create_dataset("e", (50,), "f8", external=[(str(tmp_path / "raw.bin"), 0, 400)])
        f["text"] = ["one"] * 50
    (table,) = read_raw(tmp_path / "x.h5")
    assert not {"a", "s", "v", "e", "text"} & {column.label.split("[")[0] for column in table.columns}
    for name in "ave":
        with pytest.raises(LogError, match=f"no array '{name}'"):
            read(tmp_path, MANIFEST.replace("x.mat", "x.h5").replace('"tau"', f'"{name}"'))
    with pytest.raises(LogError, match="array 'text' holds object, wanted real numbers"):
        read(tmp_path, MANIFEST.replace("x.mat", "x.h5").replace('"tau"', '"text"'))


@pytest.mark.parametrize("damage", [b"text, and no HDF5", None])
def test_a_damaged_file_is_said(tmp_path, damage):
    whole = written(tmp_path / "x.h5").read_bytes()
    (tmp_path / "x.h5").write_bytes(damage or whole[: len(whole) // 2])
    with pytest.raises(LogError, match="cannot be read as HDF5"):
        read(tmp_path, MANIFEST.replace("x.mat", "x.h5"))


def test_a_file_of_an_unknown_kind_is_said(tmp_path):
    (tmp_path / "x.jsonl").write_text("{}")
    with pytest.raises(LogError, match=r"'\.jsonl' files cannot be read\. Use one of: .*\.h5"):
        read_raw(tmp_path / "x.jsonl")
