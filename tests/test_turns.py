"""Positions that wrap are taken on; what is fast, or in another unit, is left as it is."""

import numpy as np
import pytest
from logs_data import TWO

from ident.logs import read_log, read_manifest
from ident.logs.log import read_parts
from ident.logs.readings import continued

T = np.arange(3000) / 200
Q = np.column_stack([3.0 + 2.0 * np.sin(T), 2.5 * T])


@pytest.mark.parametrize("turn", [2 * np.pi, 360.0, 1.0])
def test_a_whole_turn_is_taken_out(turn):
    true = Q * turn / (2 * np.pi)
    wrapped = np.remainder(true + turn / 2, turn) - turn / 2
    found, which = continued(list(wrapped.T), (turn, turn), [])
    assert which == (0, 1)
    np.testing.assert_allclose(np.column_stack(found) - true, 0.0, atol=1e-9 * turn)


def test_lengths_fast_motors_and_other_units_are_left_alone():
    length = np.where(T < 5, 0.0, 2 * np.pi)
    motor = 2 * np.pi * 100 * np.cumsum(np.sin(T)) / 200  # up to half a turn from row to row
    degrees = np.degrees(8.0 * np.sin(3 * T))  # declared radians: up to seven from row to row
    with_spike = np.where(np.arange(len(T)) == 70, 5.0, np.sin(T))
    columns = [length, motor, degrees, with_spike, np.full(len(T), np.nan)]
    found, which = continued(columns, (np.inf, *[2 * np.pi] * 4), [])
    assert which == ()
    for a, b in zip(found, columns, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_log_that_wraps_is_read_on_whole_or_in_parts(tmp_path):
    wrapped = np.degrees(np.remainder(Q + np.pi, 2 * np.pi) - np.pi)
    np.savetxt(
        tmp_path / "x.csv",
        np.column_stack([T, wrapped, 0 * Q + T[:, None]]),
        header="t,a,b,c,d",
        delimiter=",",
        comments="",
    )
    (tmp_path / "dataset.toml").write_text("""
[dataset]
name = "two"
[text]
header = true
[[recording]]
name = "run"
file = "x.csv"
time = { column = "t", unit = "s" }
position = { columns = ["a", "b"], unit = "deg" }
torque = { columns = ["c", "d"], unit = "N m" }
""")
    manifest = read_manifest(tmp_path / "dataset.toml")
    whole = read_log(manifest, "run", TWO)
    np.testing.assert_allclose(whole.q, Q, atol=1e-9)
    assert [note.endswith("wraps after a whole turn: taken on") for note in whole.notes] == [True, True]
    parts = list(read_parts(manifest, "run", TWO, 170))
    np.testing.assert_allclose(np.concatenate([p.q for p in parts]), Q, atol=1e-9)
