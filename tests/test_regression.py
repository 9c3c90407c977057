"""Base parameters, factors that merge, and files of factors."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import random_tree
from seeds import cases
from synthetic import random_theta, recording, states

from ident.errors import LogError, ModelError, RegressionError
from ident.logs.filter import decimate
from ident.model import Coulomb, DriveInertia, Model, Offset, SmoothCoulomb, Viscous, coupled_drives, regressor
from ident.regression import (
    BaseParameters,
    Regression,
    base_parameters,
    compress,
    load_regression,
    packed_columns,
    save_regression,
    state_rows,
)
from ident.regression.base import LARGEST, gram_of, r_factor, units
from ident.regression.compress import _cut
from ident.regression.regression import weighted_rows
from ident.robot import MDHJoint, Robot, Transmission, from_mdh, read_robot

DATASETS = Path(__file__).parents[1] / "datasets"
FRICTION = (Viscous(), Coulomb(), Offset())


def random_model(seed: int, n: int, *, branches: bool = True) -> Model:
    robot = random_tree(np.random.default_rng(seed), n, points=seed % 2 == 0, branches=branches)
    return Model(robot, [(), (Viscous(), Offset()), (DriveInertia(), Viscous(), SmoothCoulomb(0.1))][seed % 3])


def dense(model: Model, motions: list) -> tuple[np.ndarray, np.ndarray]:
    """Return Y (N, n, p) and tau (N, n) of all motions, as they are (decimation and masks left out)."""
    Y = np.concatenate([regressor(model, m.q, m.qd, m.qdd) for m in motions])
    return Y, np.concatenate([m.tau for m in motions])


def one_qr(columns: np.ndarray) -> np.ndarray:
    """Return R of a dense stack with a non-negative diagonal, the form in which two factors can be compared."""
    r = np.linalg.qr(columns, mode="r")
    return np.where(np.diag(r) < 0, -1.0, 1.0)[:, None] * r


def signed(r: np.ndarray) -> np.ndarray:
    return np.where(np.diag(r) < 0, -1.0, 1.0)[:, None] * r


def gram_difference(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest difference of A'A and B'B, relative to the columns' lengths."""
    ga, gb = a.T @ a, b.T @ b
    size = np.sqrt(np.diag(gb))
    size[size == 0] = 1.0
    return float(np.abs((ga - gb) / np.outer(size, size)).max())


# base parameters


@settings(max_examples=cases(12))
@given(st.integers(0, 10**6), st.integers(1, 9))
def test_rank_is_that_of_an_independent_stack_and_nothing_is_lost(seed: int, n: int) -> None:
    model = random_model(seed, n)
    base = base_parameters(model)
    rng = np.random.default_rng(seed + 1)
    q, qd, qdd = rng.uniform(-3, 3, (3, 40 + 30 * n, n))
    Y = regressor(model, q, qd, qdd).reshape(-1, len(model.names))
    scaled = Y / np.maximum(np.linalg.norm(Y, axis=0), 1e-9)
    s = np.linalg.svd(scaled, compute_uv=False)
    assert np.count_nonzero(s > 1e-10 * s[0]) == len(base.kept)
    np.testing.assert_allclose(Y[:, base.kept] @ base.K, Y, atol=1e-10 * np.abs(base.K).max() * np.abs(Y).max())
    np.testing.assert_array_equal(base.K[:, base.kept], np.eye(len(base.kept)))
    assert base.names == tuple(model.names[k] for k in base.kept)
    in_units = base.K * units(model)[list(base.kept), None] / units(model)
    assert np.abs(in_units).max() <= LARGEST * (1 + 1e-5)


def ur_like() -> Robot:
    """Six joints with axes like a UR10e's: z, y, y, y, z, y."""
    half = np.pi / 2
    rows = [(0, 0, 0.18), (0, half, 0), (-0.61, 0, 0), (-0.57, 0, 0.17), (0, half, 0.12), (0, -half, 0.12)]
    return from_mdh("ur", [MDHJoint(a=a, alpha=alpha, d=d) for a, alpha, d in rows])


def tx40() -> Robot:
    """Staubli TX40, modified DH; motor 6 turns with joint 5 too."""
    half = np.pi / 2
    rows = [(0, 0, 0.32), (0, -half, 0), (0.225, 0, 0.035), (0, half, 0.225), (0, -half, 0), (0, half, 0)]
    joints = [MDHJoint(a=a, alpha=alpha, d=d, offset=np.pi if i == 5 else 0.0) for i, (a, alpha, d) in enumerate(rows)]
    matrix = np.diag([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
    matrix[5, 4] = 32.0
    return replace(from_mdh("tx40", joints), transmission=Transmission(tuple("abcdef"), matrix))


def panda() -> Robot:
    """Franka Panda, modified DH of the maker's manual."""
    half = np.pi / 2
    rows = [(0, 0, 0.333), (0, -half, 0), (0, half, 0.316), (0.0825, half, 0), (-0.0825, -half, 0.384), (0, half, 0)]
    return from_mdh("panda", [MDHJoint(a=a, alpha=alpha, d=d) for a, alpha, d in [*rows, (0.088, half, 0.107)]])


@pytest.mark.parametrize(
    ("robot", "terms", "count"),
    [
        (ur_like(), (), 36),  # the authors of the UR10e logs, as for every arm of this kind
        (ur_like(), (DriveInertia(),), 40),
        (ur_like(), (DriveInertia(), *FRICTION), 58),
        (tx40(), (), 36),
        (tx40(), (DriveInertia(), *FRICTION), 58),
        (tx40(), (DriveInertia(), *FRICTION, *coupled_drives(tx40())), 61),
        (panda(), (), 43),  # Gaz et al., RA-L 2019
        (panda(), FRICTION, 43 + 21),
    ],
)
def test_known_counts(robot: Robot, terms: tuple, count: int) -> None:
    assert len(base_parameters(Model(robot, terms)).kept) == count


@pytest.mark.parametrize(("name", "terms", "count"), [("tx40", (DriveInertia(), *FRICTION), 61)])
def test_known_counts_of_robot_files(name: str, terms: tuple, count: int) -> None:
    robot = read_robot(DATASETS / name / "robot.toml")
    assert len(base_parameters(Model(robot, (*terms, *coupled_drives(robot)))).kept) == count


def test_groupings_of_the_tx40_are_the_published_ones() -> None:
    """Regrouped first moments and inertias of a Staubli: Khalil, Dombre, Modeling and Control of Robots, ch. 9."""
    base = base_parameters(Model(tx40(), (DriveInertia(), *FRICTION, *coupled_drives(tx40()))))
    expression = {name: base.expression(k) for k, name in enumerate(base.names)}
    # the torque of joint 1 shows link 1 only through its Izz, as drive inertia does
    grouped = expression["link1.Izz"]
    assert "joint1.drive_inertia" in grouped
    assert "link2.Iyy" in grouped
    assert "0.050625 link3.m" in expression["link2.Ixx"].replace("- ", "")  # a3^2 = 0.225^2
    assert expression["joint5.viscous"] == "joint5.viscous"
    assert expression["f.coulomb"] == "f.coulomb"
    assert "joint3.drive_inertia" in base.identifiable
    assert "joint6.drive_inertia" in base.identifiable  # theory says so; FIGAROH loses it
    assert not any(name.startswith("link1.") and name != "link1.Izz" for name in base.names)


def test_expressions_read_as_sums() -> None:
    base = BaseParameters(("a", "c"), (0, 2), np.array([[1.0, -0.5, 0.0, 1.0], [0.0, 0.0, 1.0, -1.0]]), tuple("abcd"))
    assert [base.expression(0), base.expression(1)] == ["a - 0.5 b + d", "c - d"]
    assert base.identifiable == ()
    assert base.unidentifiable == ()


def test_what_no_torque_shows() -> None:
    """One vertical joint: only its inertia about the axis is ever felt."""
    base = base_parameters(Model(from_mdh("turntable", [MDHJoint()])))
    assert base.names == base.identifiable == ("link1.Izz",)
    assert len(base.unidentifiable) == 9


def test_a_slide_feels_only_mass() -> None:
    base = base_parameters(Model(from_mdh("lift", [MDHJoint(kind="prismatic")]), (DriveInertia(), Viscous())))
    assert base.names == ("link1.m", "joint1.drive_inertia", "joint1.viscous")  # gravity tells mass from drive inertia
    flat = from_mdh("slide", [MDHJoint(kind="prismatic")], gravity=(9.81, 0, 0))
    assert base_parameters(Model(flat, (DriveInertia(),))).expression(0) == "link1.m + joint1.drive_inertia"


def bits() -> str:
    """Return the names and a hash of all digits of the base parameters of three models."""
    models = Model(panda(), FRICTION), random_model(4, 5), random_model(5, 7)
    found = (base_parameters(model) for model in models)
    return "".join(f"{base.names} {hashlib.sha256(base.K.tobytes()).hexdigest()}\n" for base in found)


@pytest.mark.slow
def test_defect_8_base_parameters_do_not_depend_on_threads_or_on_what_was_asked_before() -> None:
    base_parameters(random_model(6, 6))
    here = str(Path(__file__).parent)
    script = f"import sys; sys.path.insert(0, {here!r}); from test_regression import bits; print(bits())"
    threads = "1" if os.environ.get("OPENBLAS_NUM_THREADS") == "2" else "2"
    other = os.environ | {"OPENBLAS_NUM_THREADS": threads, "NUMBA_NUM_THREADS": threads}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=other)
    assert done.stdout.strip().splitlines() == bits().splitlines()


def test_order_of_names_decides_not_the_size_of_columns() -> None:
    """Links a thousand times larger or smaller keep the same base parameters."""
    rows = [(0.0, 0.0, 0.3), (0.0, np.pi / 2, 0.0), (0.4, 0.0, 0.0), (0.05, np.pi / 2, 0.35)]

    def names(scale: float) -> tuple[str, ...]:
        return base_parameters(Model(from_mdh("arm", [MDHJoint(a * scale, al, d * scale) for a, al, d in rows]))).names

    assert names(1.0) == names(1e-2) == names(30.0)


# factors


@settings(max_examples=cases(8))
@given(st.integers(0, 10**6), st.integers(1, 8))
def test_merged_factors_equal_one_qr_of_everything(seed: int, n: int) -> None:
    model = random_model(seed, n)
    rng = np.random.default_rng(seed)
    theta = random_theta(rng, model)
    sizes = rng.integers(20, 900, 4)
    motions = [
        recording(rng, model, theta, samples=int(k), noise=0.1, segments=int(rng.integers(1, 4)), name=f"r{i}")
        for i, k in enumerate(sizes)
    ]
    base = base_parameters(model)
    merged = compress(model, motions[:1], base=base)
    for motion in motions[1:]:
        merged = merged + compress(model, motion, base=base)
    Y, tau = dense(model, motions)
    sigma = rng.uniform(0.1, 2.0, n)
    kept = Y[:, :, base.kept]
    stack = np.concatenate([kept / sigma[:, None], (tau / sigma)[:, :, None]], axis=2).reshape(-1, len(base.kept) + 1)
    assert gram_difference(merged.factor(sigma), stack) < 1e-12
    for j, r in enumerate(merged.joint_factors):
        own = np.column_stack([kept[:, j, list(merged.parameters[j])], tau[:, j]])
        assert gram_difference(r, own) < 1e-12
        unseen = [k for k in range(len(base.kept)) if k not in merged.parameters[j]]
        assert not kept[:, j, unseen].any()  # what the factor leaves out is zero
    assert merged.rows.tolist() == [sum(sizes)] * n


def test_factors_agree_with_one_qr_entry_by_entry() -> None:
    """The triangular factor itself, where the stack is well conditioned."""
    rng = np.random.default_rng(0)
    model = Model(panda(), (Viscous(),))
    model = Model(replace(panda(), inertials=random_tree(rng, 7).inertials), (Viscous(),))
    motions = [recording(rng, model, random_theta(rng, model), samples=3000, noise=0.1, name=f"{i}") for i in range(3)]
    found = compress(model, motions)
    Y, tau = dense(model, motions)
    stack = np.concatenate([Y[:, :, found.base.kept], tau[:, :, None]], axis=2).reshape(-1, len(found.base.kept) + 1)
    expected = one_qr(stack)
    difference = signed(found.factor(np.ones(7))) - expected
    assert np.abs(difference).max() / np.abs(expected).max() < 1e-12
    assert np.abs(np.diag(difference) / np.diag(expected)).max() < 1e-9


@settings(max_examples=cases(8))
@given(st.integers(0, 10**6), st.permutations(range(4)), st.integers(1, 6))
def test_order_and_cutting_do_not_matter(seed: int, order: list[int], pieces: int) -> None:
    model = random_model(seed, 3)
    rng = np.random.default_rng(seed)
    theta = random_theta(rng, model)
    motions = [recording(rng, model, theta, samples=200, noise=0.1, name=f"{i}") for i in range(4)]
    base = base_parameters(model)
    there = compress(model, motions, base=base)
    back = compress(model, [motions[i] for i in order], base=base)
    ones = np.ones(3)
    assert gram_difference(there.factor(ones), back.factor(ones)) < 1e-12
    assert {s.identity for s in there.segments} == {s.identity for s in back.segments}
    edges = np.linspace(0, 200, pieces + 1).astype(int)
    cut = [replace(m, blocks=tuple(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))) for m in motions]
    assert gram_difference(compress(model, cut, base=base).factor(ones), there.factor(ones)) < 1e-12
    # shuffled rows
    mixed = rng.permutation(200)
    m = motions[0]
    shuffled = replace(m, q=m.q[mixed], qd=m.qd[mixed], qdd=m.qdd[mixed], tau=m.tau[mixed])
    whole = compress(model, m, base=base).factor(ones)
    assert gram_difference(compress(model, shuffled, base=base).factor(ones), whole) < 1e-12


def test_long_logs_go_through_in_chunks_and_lanes_the_same_on_any_number_of_cores() -> None:
    rng = np.random.default_rng(2)
    model = random_model(2, 3)
    motion = recording(rng, model, random_theta(rng, model), samples=20_001, noise=0.1)
    found = compress(model, motion)
    Y, tau = dense(model, [motion])
    stack = np.concatenate([Y[:, :, found.base.kept], tau[:, :, None]], axis=2).reshape(-1, len(found.base.kept) + 1)
    assert gram_difference(found.factor(np.ones(3)), stack) < 1e-12
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        alone = compress(model, motion)
    finally:
        numba.set_num_threads(threads)
    for a, b in zip(found.joint_factors, alone.joint_factors, strict=True):
        np.testing.assert_array_equal(a, b)


def test_precision_survives_a_badly_excited_log() -> None:
    """At condition 1e9 the factor gives the solution of the dense stack; the Gram matrix would have lost it."""
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(500, 6)) * 10.0 ** -np.arange(0, 12, 2)
    columns[:, 5] = columns[:, 0] + 1e-9 * columns[:, 5] / 1e-10
    truth = rng.normal(size=6)
    parts = [r_factor(np.column_stack([c, c @ truth])) for c in np.array_split(columns, 7)]
    r = r_factor(np.concatenate(parts))
    expected = np.linalg.lstsq(columns, columns @ truth, rcond=None)[0]
    size = np.linalg.norm(r[:, :6], axis=0)
    found = np.linalg.lstsq(r[:, :6] / size, r[:, 6], rcond=None)[0] / size
    np.testing.assert_allclose(columns @ found, columns @ expected, atol=1e-12)


def test_decimating_factors_is_decimating_the_dense_regressor() -> None:
    rng = np.random.default_rng(4)
    model = random_model(1, 4)
    theta = random_theta(rng, model)
    motion = recording(rng, model, theta, samples=1503, noise=0.3, decimation=(5, 3), segments=3)
    found = compress(model, motion)
    Y, tau = dense(model, [motion])
    thin = decimate(np.concatenate([Y[:, :, found.base.kept], tau[:, :, None]], axis=2), (5, 3))
    assert len(thin) == motion.rows == 101
    stack = thin.reshape(-1, thin.shape[2])
    assert gram_difference(found.factor(np.ones(4)), stack) < 1e-12
    assert found.rows.tolist() == [101] * 4


def test_masks_leave_out_rows_of_each_joint_alone() -> None:
    rng = np.random.default_rng(5)
    model = random_model(1, 5)
    motion = recording(rng, model, random_theta(rng, model), samples=400, noise=0.3, segments=4)
    keep = rng.random((400, 5)) < 0.6
    keep[100:200, 2] = False  # a whole segment without a row of joint 3
    found = compress(model, replace(motion, keep=keep))
    Y, tau = dense(model, [motion])
    for j, r in enumerate(found.joint_factors):
        rows = keep[:, j]
        own = np.column_stack([Y[rows, j][:, np.array(found.base.kept)[list(found.parameters[j])]], tau[rows, j]])
        assert gram_difference(r, own) < 1e-12
    assert found.rows.tolist() == keep.sum(axis=0).tolist()
    assert found.segments[1].rows[2] == 0
    assert not found.segments[1].factors[2].any()


def test_sums_of_squares_are_those_of_the_dense_regressor() -> None:
    rng = np.random.default_rng(14)
    model = random_model(2, 5)
    motions = [recording(rng, model, random_theta(rng, model), noise=0.4, segments=3, name=x) for x in "ab"]
    found = compress(model, motions)
    Y, tau = dense(model, motions)
    phi = rng.normal(size=len(found.base.names))
    residual = Y[:, :, found.base.kept] @ phi - tau
    np.testing.assert_allclose(found.squared_residuals(phi), np.sum(residual**2, axis=0), rtol=1e-11)
    np.testing.assert_allclose(found.squared_torques, np.sum(tau**2, axis=0), rtol=1e-12)


@settings(max_examples=cases(20))
@given(st.integers(0, 10**6), st.sets(st.integers(1, 299), max_size=8))
def test_any_cut_points_give_the_factor_of_the_dense_stack(seed: int, cuts: set[int]) -> None:
    """Segments of a single row up; each alone may have far fewer rows than columns."""
    rng = np.random.default_rng(seed)
    model = random_model(seed, 4)
    motion = recording(rng, model, random_theta(rng, model), samples=300, noise=0.1)
    edges = [0, *sorted(cuts), 300]
    blocks = tuple(pairwise(edges))
    Y, tau = dense(model, [motion])
    base = base_parameters(model)
    stack = np.concatenate([Y[:, :, base.kept], tau[:, :, None]], axis=2).reshape(-1, len(base.kept) + 1)
    inside = compress(model, replace(motion, blocks=blocks), base=base)
    assert [s.rows[0] for s in inside.segments] == [b - a for a, b in blocks]
    assert gram_difference(inside.factor(np.ones(4)), stack) < 1e-12
    fields = ("t", "q", "qd", "qdd", "tau", "keep")
    pieces = [replace(motion, **{k: getattr(motion, k)[a:b] for k in fields}, blocks=()) for a, b in blocks]
    assert gram_difference(compress(model, pieces, base=base).factor(np.ones(4)), stack) < 1e-12


def test_repeats_of_a_stretch_are_one_segment() -> None:
    rng = np.random.default_rng(4)
    model = random_model(2, 3)
    whole = recording(rng, model, random_theta(rng, model), samples=300, noise=0.1)
    blocks, which = ((0, 50), (50, 100), (100, 150), (150, 300)), (0, 1, 0, 1)
    found = compress(model, replace(whole, blocks=blocks, stretches=which))
    assert [(s.name, s.rows) for s in found.segments] == [("log[1]", (100,) * 3), ("log[2]", (200,) * 3)]
    ones = np.ones(3)
    assert gram_difference(found.factor(ones), compress(model, whole, base=found.base).factor(ones)) < 1e-12
    fields = ("t", "q", "qd", "qdd", "tau", "keep")
    parts = [
        replace(whole, **{k: getattr(whole, k)[a:b] for k in fields}, blocks=((0, b - a),), stretches=(s,))
        for (a, b), s in zip(blocks, which, strict=True)
    ]
    streamed = compress(model, parts, base=found.base)
    assert [s.rows for s in streamed.segments] == [s.rows for s in found.segments]
    with pytest.raises(RegressionError, match="holds the same numbers"):
        compress(model, [*parts, parts[0]], base=found.base)
    with pytest.raises(LogError, match="1 stretches for 4 blocks"):
        replace(whole, blocks=blocks, stretches=(1,))


def test_fewer_rows_than_columns_give_a_factor_of_their_rank() -> None:
    rng = np.random.default_rng(15)
    model = random_model(2, 4)
    motion = recording(rng, model, random_theta(rng, model), samples=3, noise=0.1)
    found = compress(model, motion)
    b = len(found.base.names)
    Y, tau = dense(model, [motion])
    stack = np.concatenate([Y[:, :, found.base.kept], tau[:, :, None]], axis=2).reshape(-1, b + 1)
    r = found.factor(np.ones(4))
    assert r.shape == (b + 1, b + 1)
    assert gram_difference(r, stack) < 1e-12
    assert np.linalg.matrix_rank(r) <= 12 < b
    for j, factor in enumerate(found.joint_factors):
        assert factor.shape == (len(found.parameters[j]) + 1,) * 2
        assert np.linalg.matrix_rank(factor) <= 3


def test_a_recording_of_which_no_sample_counts_leaves_no_segment() -> None:
    rng = np.random.default_rng(16)
    model = random_model(1, 3)
    theta = random_theta(rng, model)
    a, b = (recording(rng, model, theta, samples=100, segments=2, name=x) for x in "ab")
    nothing = replace(a, keep=np.zeros((100, 3), bool))
    assert [s.name for s in compress(model, [nothing, b]).segments] == ["b[1]", "b[2]"]
    with pytest.raises(RegressionError) as caught:
        compress(model, nothing)
    assert (
        str(caught.value)
        == "no row of the motions is left to fit. Does the robot move? Check masks, time window and recordings."
    )


def test_masks_and_blocks_keep_their_places_in_long_logs() -> None:
    """Rows are taken in pieces of 8192, from the middle of a recording too."""
    rng = np.random.default_rng(19)
    model = random_model(2, 2)
    motion = recording(rng, model, random_theta(rng, model), samples=20_001, noise=0.1)
    keep = rng.random((20_001, 2)) < 0.5
    found = compress(model, replace(motion, keep=keep, blocks=((700, 9500), (9500, 20_001))))
    Y, tau = dense(model, [motion])
    for segment, (a, b) in zip(found.segments, ((700, 9500), (9500, 20_001)), strict=True):
        for j, r in enumerate(segment.factors):
            rows = a + np.flatnonzero(keep[a:b, j])
            assert segment.rows[j] == len(rows)
            columns = np.array(found.base.kept)[list(found.parameters[j])]
            assert gram_difference(r, np.column_stack([Y[rows, j][:, columns], tau[rows, j]])) < 1e-12


@given(st.sets(st.integers(1, 99), max_size=8))
def test_rows_of_a_block_are_the_same_however_they_come(cuts: set[int]) -> None:
    rows, blocks = np.arange(100.0)[:, None], ((5, 30), (30, 31), (31, 80), (90, 100))
    parts: dict[int, list[np.ndarray]] = {}
    for number, first, part in _cut(iter(np.split(rows, sorted(cuts))), blocks, [0, 1, 3]):
        np.testing.assert_array_equal(part, rows[first : first + len(part)])
        parts.setdefault(number, []).append(part)
    assert set(parts) == {0, 1, 3}
    for number, found in parts.items():
        np.testing.assert_array_equal(np.concatenate(found), rows[slice(*blocks[number])])


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 9])
def test_a_factor_is_square_for_any_number_of_rows(rows: int) -> None:
    a = np.random.default_rng(rows).normal(size=(rows, 4))
    r = r_factor(a)
    assert r.shape == (4, 4)
    np.testing.assert_allclose(r.T @ r, a.T @ a, atol=1e-13)
    np.testing.assert_array_equal(r, np.triu(r))


def test_rows_outside_all_blocks_do_not_count() -> None:
    rng = np.random.default_rng(6)
    model = random_model(1, 3)
    motion = recording(rng, model, random_theta(rng, model), samples=300, noise=0.3)
    inner = replace(motion, blocks=((50, 250),))
    part = replace(motion, **{k: getattr(motion, k)[50:250] for k in ("t", "q", "qd", "qdd", "tau", "keep")}, blocks=())
    ones = np.ones(3)
    assert gram_difference(compress(model, inner).factor(ones), compress(model, part).factor(ones)) < 1e-12


def test_defect_1_rows_stay_with_their_joint_for_any_number_of_joints_and_samples() -> None:
    for n in (1, 4, 7, 9):
        rng = np.random.default_rng(n)
        model = random_model(3 * n, n)
        motion = recording(rng, model, random_theta(rng, model), samples=37 * n + 1)
        found = compress(model, motion)
        truth = found.base.K @ random_theta(np.random.default_rng(n), model)
        assert found.squared_residuals(truth).max() < 1e-18 * found.squared_torques.max()
        assert found.squared_residuals(0 * truth) == pytest.approx(np.sum(motion.tau**2, axis=0))


def test_defect_4_rows_are_divided_by_sigma_not_by_its_square() -> None:
    rng = np.random.default_rng(7)
    model = random_model(1, 3)
    found = compress(model, recording(rng, model, random_theta(rng, model), noise=0.5))
    sigma = np.array([0.1, 2.0, 30.0])
    phi = rng.normal(size=len(found.base.names))
    r = found.factor(sigma)
    weighted = np.sum(found.squared_residuals(phi) / sigma**2)
    assert np.sum((r[:, :-1] @ phi - r[:, -1]) ** 2) == pytest.approx(weighted, rel=1e-10)


def test_defect_8_factors_of_another_model_do_not_merge() -> None:
    rng = np.random.default_rng(8)
    model = random_model(1, 3)
    motion = recording(rng, model, random_theta(rng, model))
    other = [recording(rng, model, random_theta(rng, model), name="b")]
    for changed in (
        Model(model.robot.with_gravity([0, 0, -9.81]), model.terms),
        Model(model.robot, (*model.terms, Coulomb())),
        Model(replace(model.robot, links=("a", "b", "c")), model.terms),
    ):
        with pytest.raises(RegressionError) as caught:
            compress(model, motion) + compress(changed, other)
        assert str(caught.value) == (
            "the factors belong to another model (robot, gravity or terms differ). Compress the logs again with one and"
            " the same model."
        )


def test_factors_of_other_base_parameters_of_the_same_model_do_not_merge() -> None:
    """As files of an older release hold them, which chose its pivots by name alone."""
    rng = np.random.default_rng(8)
    model = random_model(1, 3)
    found = compress(model, recording(rng, model, random_theta(rng, model)))
    other = replace(found, base=replace(found.base, kept=found.base.kept[::-1]), segments=())
    with pytest.raises(RegressionError, match="of other base parameters, as another release of ident chose them"):
        found + other


def test_defect_8_a_width_is_part_of_the_model() -> None:
    rng = np.random.default_rng(17)
    robot = random_tree(rng, 3)
    a, b = Model(robot, (SmoothCoulomb(0.1),)), Model(robot, (SmoothCoulomb(0.1000001),))
    assert a.names == b.names
    first, second = (recording(rng, m, random_theta(rng, m), name=x) for m, x in ((a, "a"), (b, "b")))
    with pytest.raises(RegressionError, match="the factors belong to another model"):
        compress(a, first) + compress(b, second)
    assert len((compress(a, first) + compress(Model(robot, (SmoothCoulomb(0.1),)), second)).segments) == 2


FACTOR = """
import sys; sys.path.insert(0, {folder!r})
import conftest
import numpy as np
from test_regression import random_model, random_theta, recording
from ident.regression import compress, save_regression
rng = np.random.default_rng(18)
model = random_model(2, 5)
save_regression(compress(model, recording(rng, model, random_theta(rng, model), samples=20_001, noise=0.1)), {path!r})
"""


@pytest.mark.slow
def test_a_process_with_one_thread_computes_the_same_factors(tmp_path: Path) -> None:
    path = tmp_path / "one.npz"
    script = FACTOR.format(folder=str(Path(__file__).parent), path=str(path))
    subprocess.run([sys.executable, "-c", script], check=True, env=os.environ | {"NUMBA_NUM_THREADS": "1"})
    rng = np.random.default_rng(18)
    model = random_model(2, 5)
    here = compress(model, recording(rng, model, random_theta(rng, model), samples=20_001, noise=0.1))
    there = load_regression(path)
    assert {s.identity for s in there.segments} == {s.identity for s in here.segments}
    for a, b in zip(there.joint_factors, here.joint_factors, strict=True):
        assert np.abs(a - b).max() <= 1e-13 * np.abs(b).max()


STREAM = """
import resource, sys; sys.path.insert(0, {folder!r})
import numpy as np
from test_regression import random_model, random_theta, recording
from ident.regression import compress

def used():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)  # MB

def motions():
    rng = np.random.default_rng(0)
    theta = random_theta(rng, model)
    for k in range(40):
        yield recording(rng, model, theta, samples=20_000, noise=0.1, harmonics=1, name=str(k))
        if k == 1:
            first.append(used())

first, model = [], random_model(3, 6)
found = compress(model, motions())
print(len(found.segments), used() - first[0])
"""


@pytest.mark.slow
def test_defect_10_memory_does_not_grow_with_the_number_of_recordings() -> None:
    """Forty recordings of 20,000 samples: 160 MB of motion, 2.3 GB as a dense regressor, 180 TB as weights N x N."""
    script = STREAM.format(folder=str(Path(__file__).parent))
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    segments, growth = run.stdout.split()
    assert segments == "40"
    assert float(growth) < 80  # MB


def test_defect_10_memory_does_not_grow_with_the_log() -> None:
    """A dense regressor of this log would take 160 MB; the pieces take a tenth."""
    import tracemalloc

    rng = np.random.default_rng(9)
    model = random_model(3, 7)
    theta = random_theta(rng, model)
    small = recording(rng, model, theta, samples=100)
    compress(model, small)
    motion = recording(rng, model, theta, samples=40_000)
    base = base_parameters(model)
    tracemalloc.start()
    try:
        compress(model, motion, base=base)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    dense_bytes = 40_000 * 7 * 70 * 8
    assert peak < 0.2 * dense_bytes


def test_the_same_segment_twice_is_refused() -> None:
    rng = np.random.default_rng(10)
    model = random_model(1, 3)
    motion = recording(rng, model, random_theta(rng, model))
    found = compress(model, motion)
    message = (
        "segment 'copy' holds the same numbers as 'log'. Give each recording once; counting it twice makes error bars"
        " too small."
    )
    for twice in (
        lambda: found + compress(model, replace(motion, name="copy")),
        lambda: compress(model, [motion, replace(motion, name="copy")]),
    ):
        with pytest.raises(RegressionError) as caught:
            twice()
        assert str(caught.value) == message


def test_segments_can_be_chosen_and_left_out() -> None:
    rng = np.random.default_rng(11)
    model = random_model(1, 3)
    theta = random_theta(rng, model)
    found = compress(model, [recording(rng, model, theta, name=x, segments=2) for x in "abc"])
    assert found.recordings == ("a", "b", "c")
    assert [s.name for s in found.segments] == ["a[1]", "a[2]", "b[1]", "b[2]", "c[1]", "c[2]"]
    assert found.only(["b"]).recordings == ("b",)
    left = found.without([s.identity for s in found.only(["a", "c"]).segments])
    assert [s.name for s in left.segments] == ["b[1]", "b[2]"]
    with pytest.raises(RegressionError, match=r"no segment of \['d'\]; there are \['a', 'b', 'c'\]"):
        found.only(["d"])
    with pytest.raises(RegressionError, match="every segment was left out"):
        left.without([s.identity for s in left.segments])


def test_what_a_log_never_shows_is_named() -> None:
    model = Model(from_mdh("two", [MDHJoint(), MDHJoint(a=0.5)]), (Viscous(),))
    t, q, qd, qdd = states(np.random.default_rng(0), 2, 100)
    from ident.logs.motion import Motion

    still = np.zeros((100, 1))
    qd, qdd = np.hstack([qd[:, :1], still]), np.hstack([qdd[:, :1], still])
    found = compress(model, Motion("m", t, q, qd, qdd, q, np.ones((100, 2), bool)))
    assert found.unseen() == ("joint2.viscous",)


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda m, r: compress(m, []), RegressionError, "no row of the motions is left to fit"),
        (
            lambda m, r: compress(m, recording(np.random.default_rng(0), *four())),
            ModelError,
            "motion 'log' has 4 joints, the robot has 3",
        ),
        (
            lambda m, r: r.factor([1.0, 0.0, 1.0]),
            RegressionError,
            "every joint's sigma must be positive, got [1.0, 0.0, 1.0]",
        ),
        (lambda m, r: r.factor([1.0, 1.0]), RegressionError, "sigma must have shape (3), got (2,)"),
        (lambda m, r: r.squared_residuals(np.zeros(3)), RegressionError, "phi must have shape ("),
    ],
)
def test_mistakes_are_named(act, error: type[Exception], message: str) -> None:
    rng = np.random.default_rng(0)
    model = random_model(1, 3)
    with pytest.raises(error) as caught:
        act(model, compress(model, recording(rng, model, random_theta(rng, model), samples=50)))
    assert message in str(caught.value)


def four() -> tuple[Model, np.ndarray]:
    model = random_model(1, 4)
    return model, random_theta(np.random.default_rng(0), model)


# files


@pytest.fixture
def factors() -> Regression:
    rng = np.random.default_rng(12)
    model = random_model(1, 3)
    theta = random_theta(rng, model)
    return compress(model, [recording(rng, model, theta, noise=0.1, name=x, segments=2) for x in ("a", "ü/b")])


def test_factors_survive_a_file_bit_by_bit(factors: Regression, tmp_path: Path) -> None:
    path = save_regression(factors, tmp_path / "deep" / "factors.npz")
    assert [p.name for p in path.parent.iterdir()] == ["factors.npz"]
    found = load_regression(path)
    assert found.model == factors.model
    assert found.parameters == factors.parameters
    assert (found.base.names, found.base.kept, found.base.standard) == (
        factors.base.names,
        factors.base.kept,
        factors.base.standard,
    )
    np.testing.assert_array_equal(found.base.K, factors.base.K)
    for a, b in zip(found.segments, factors.segments, strict=True):
        assert (a.identity, a.name, a.recording, a.rows) == (b.identity, b.name, b.recording, b.rows)
        for x, y in zip(a.factors, b.factors, strict=True):
            np.testing.assert_array_equal(x, np.triu(y))
    with pytest.raises(RegressionError, match="holds the same numbers"):
        found + factors


def test_factors_computed_apart_merge_after_loading(tmp_path: Path) -> None:
    rng = np.random.default_rng(13)
    model = random_model(1, 3)
    theta = random_theta(rng, model)
    a, b = (recording(rng, model, theta, noise=0.1, name=x) for x in "ab")
    paths = [save_regression(compress(model, m), tmp_path / f"{m.name}.npz") for m in (a, b)]
    merged = load_regression(paths[0]) + load_regression(paths[1])
    assert gram_difference(merged.factor(np.ones(3)), compress(model, [a, b]).factor(np.ones(3))) < 1e-12


def rewritten(path: Path, **changes) -> None:
    """Change entries of a factor file's header, or its arrays."""
    with np.load(path) as stored:
        arrays = {k: stored[k] for k in stored.files}
    header = json.loads(bytes(arrays["header"]))
    for key, value in changes.items():
        if key in arrays:
            arrays[key] = value
        elif value is None:
            del header[key]
        else:
            header[key] = value
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, **arrays)


DAMAGED = "factors.npz: this is not a file of factors written by ident, or it is damaged. Compress the logs again."


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda p: p.unlink(), "factors.npz: no such file. Check the path."),
        (lambda p: p.write_bytes(b""), DAMAGED),
        (lambda p: p.write_bytes(p.read_bytes()[:-200]), DAMAGED),
        (lambda p: p.write_bytes(p.read_bytes()[:300] + b"\0" * 50 + p.read_bytes()[350:]), DAMAGED),
        (lambda p: p.write_text("m,hx,hy\n1,2,3\n"), DAMAGED),
        (lambda p: np.savez(p, a=np.zeros(3)), DAMAGED),
        (lambda p: np.savez(p, header=np.array([{"format": "ident-regression-1"}], dtype=object)), DAMAGED),
        (lambda p: zipfile.ZipFile(p, "w").close(), DAMAGED),
        (lambda p: rewritten(p, segments=None), DAMAGED),
        (lambda p: rewritten(p, parameters=[["a"]]), DAMAGED),
        (lambda p: rewritten(p, names=3), DAMAGED),
        (
            lambda p: rewritten(p, format="ident-regression-9"),
            "factors.npz: format is 'ident-regression-9', wanted 'ident-regression-1'.",
        ),
    ],
)
def test_damaged_files_are_refused(factors: Regression, tmp_path: Path, damage, message: str) -> None:
    path = save_regression(factors, tmp_path / "factors.npz")
    damage(path)
    with pytest.raises(RegressionError) as caught:
        load_regression(path)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "changes",
    [
        {"K": np.zeros((2, 2))},
        {"K": np.full((5, 5), np.nan)},
        {"factors": np.zeros((4, 7))},
        {"factors": np.zeros(3)},
        {"kept": [0, 999]},
        {"kept": [0]},
        {"parameters": [[0], [1], [9999]]},
        {"segments": []},
        {"segments": [{"identity": "x", "name": "a", "recording": "a", "rows": [1, 2, 3]}]},
    ],
)
def test_files_whose_parts_do_not_fit_are_refused(factors: Regression, tmp_path: Path, changes: dict) -> None:
    path = save_regression(factors, tmp_path / "factors.npz")
    rewritten(path, **changes)
    with pytest.raises(RegressionError):
        load_regression(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda f: {"kept": [k - len(f.base.standard) for k in f.base.kept]},
        lambda f: {"K": np.zeros_like(f.base.K)},
        lambda f: {"parameters": [list(reversed(p)) for p in f.parameters]},
        lambda f: {"parameters": [[p[0]] * len(p) for p in f.parameters]},
        lambda f: {"segments": [{"identity": s.name, "name": "a", "recording": "a", "rows": [1]} for s in f.segments]},
        lambda f: {
            "segments": [{"identity": s.name, "name": "a", "recording": "a", "rows": [1, -1, 1]} for s in f.segments]
        },
        lambda f: {
            "segments": [{"identity": s.name, "name": "a", "recording": "a", "rows": [1e999] * 3} for s in f.segments]
        },
    ],
)
def test_headers_that_contradict_themselves_are_refused(factors: Regression, tmp_path: Path, change) -> None:
    path = save_regression(factors, tmp_path / "factors.npz")
    rewritten(path, **change(factors))
    with pytest.raises(RegressionError) as caught:
        load_regression(path)
    assert str(caught.value) == DAMAGED


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_changed_bytes_end_in_no_other_error(factors: Regression, tmp_path: Path, save) -> None:
    path = save_regression(factors, tmp_path / "factors.npz")
    with np.load(path) as stored:
        save(path, **{k: stored[k] for k in stored.files})
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    refused = 0
    for k in range(400):
        bytes_ = bytearray(whole)
        end = k % 2 * (len(whole) - 300)  # the ends hold what zip and NumPy steer by
        for place in end + rng.integers(0, 300, 1 + k % 3):
            bytes_[place] = rng.integers(256)
        path.write_bytes(bytes_)
        try:
            load_regression(path)
        except RegressionError:
            refused += 1
    path.write_bytes(rng.bytes(5000))
    with pytest.raises(RegressionError) as caught:
        load_regression(path)
    assert str(caught.value) == DAMAGED
    assert refused > 200


def test_the_same_file_loaded_twice_does_not_merge_with_itself(factors: Regression, tmp_path: Path) -> None:
    path = save_regression(factors, tmp_path / "factors.npz")
    with pytest.raises(RegressionError) as caught:
        load_regression(path) + load_regression(path)
    assert str(caught.value).startswith("segment 'a[1]' holds the same numbers as 'a[1]'. Give each recording once;")


def test_columns_of_no_base_parameter_are_refused(factors: Regression, tmp_path: Path) -> None:
    path = save_regression(factors, tmp_path / "factors.npz")
    rewritten(path, parameters=[[i + 99 for i in p] for p in factors.parameters])
    with pytest.raises(RegressionError) as caught:
        load_regression(path)
    assert str(caught.value) == DAMAGED


def test_a_file_never_runs_code(factors: Regression, tmp_path: Path) -> None:
    class Bad:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "ran"),))

    path = tmp_path / "bad.npz"
    np.savez(path, header=np.array([Bad()], dtype=object))
    with pytest.raises(RegressionError):
        load_regression(path)
    assert not (tmp_path / "ran").exists()


def test_nothing_is_left_behind_when_a_file_cannot_be_written(factors: Regression, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(Exception, match="cannot be written"):
        save_regression(factors, tmp_path / "folder")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_the_square_of_a_factor_is_the_product_whatever_its_size_and_shape():
    rng = np.random.default_rng(0)
    for k in (20, 200):
        for R in (np.triu(rng.normal(size=(k, k))), rng.normal(size=(k, k)), rng.normal(size=(k - 5, k))):
            whole = R.T @ R
            np.testing.assert_allclose(np.triu(gram_of(R)), np.triu(whole), atol=1e-13 * np.abs(whole).max())


def test_bodies_that_are_kept_for_models_of_other_terms_give_the_factors_of_rows_made_anew():
    from identified import case, moved

    from ident.model import Model, Spring, Stribeck
    from ident.regression.compress import Known

    c = case()
    base = base_parameters(c.model)
    models = [Model(c.robot, (*c.model.terms, *more)) for more in ((), (Stribeck(0.1), Spring()), (Stribeck(0.2),))]
    for decimation in ((), (5,)):
        rows = 1500 // (5 if decimation else 1)
        keep, blocks = np.ones((rows, 3), dtype=bool), tuple((a, a + 100) for a in range(0, rows, 100))
        keep[130:160, 1], keep[200:295] = False, False  # and a block of fewer rows than columns
        motions = [
            moved(n, c.model, c.theta, k, decimation=decimation, keep=keep, blocks=blocks) for k, n in enumerate("ab")
        ]
        known = Known()
        for wide in (*models, models[1]):
            kept = compress(wide, motions, base=base.widened(wide.names), known=known)
            anew = compress(wide, motions, base=base.widened(wide.names))
            assert kept.parameters == anew.parameters
            for one, other in zip(kept.segments, anew.segments, strict=True):
                assert one.identity == other.identity
                for F, G in zip(one.factors, other.factors, strict=True):
                    np.testing.assert_allclose(F.T @ F, G.T @ G, rtol=1e-12, atol=1e-12 * np.abs(G).max() ** 2)


def test_what_is_kept_of_a_motion_is_not_taken_for_another_one_with_the_same_positions():
    from identified import case, moved

    from ident.regression.compress import Known

    c = case()
    one = moved("a", c.model, c.theta, 0)
    thin = {"decimation": (5,), "keep": one.keep[::5], "blocks": ((0, 150), (150, 300))}
    others = [replace(one, qdd=2.0 * one.qdd), replace(one, **thin)]
    known, base = Known(), base_parameters(c.model)
    for motion in (one, *others, one):
        kept, anew = (compress(c.model, motion, base=base, known=k) for k in (known, None))
        for segment, other in zip(kept.segments, anew.segments, strict=True):
            for F, G in zip(segment.factors, other.factors, strict=True):
                np.testing.assert_allclose(F.T @ F, G.T @ G, rtol=1e-12, atol=1e-12 * np.abs(G).max() ** 2)


def test_large_factors_are_those_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triangles one under the other, on trees, with a joint whose factor is full and a column that is not seen."""
    for module in ("regression", "base"):
        monkeypatch.setattr(f"ident.regression.{module}.LARGE", 1)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        found = compress(model := random_model(seed, 5), recording(rng, model, random_theta(rng, model), noise=0.3))
        unseen = found.parameters[-1][0]

        def changed(j: int, F: np.ndarray, found: Regression = found, unseen: int = unseen) -> np.ndarray:
            turned = np.linalg.qr(np.random.default_rng(j).normal(size=F.shape))[0] @ F if j == 2 else F
            return turned * ([*found.parameters[j], -1] != np.int64(unseen))

        found = replace(found, segments=found.mapped(changed))
        assert found.unseen() == (found.base.names[unseen],)
        sigma = np.array([0.1, 2.0, 30.0, 0.3, 1.0])
        stack = np.concatenate([weighted_rows(found, s.factors, sigma) for s in found.segments])
        R = found.factor(sigma)
        assert gram_difference(R, stack) < 1e-13
        np.testing.assert_array_equal(R, np.triu(R))


def test_packed_rows_hold_what_each_joints_torque_can_show_bit_for_bit():
    robot = random_tree(np.random.default_rng(5), 5)
    model = Model(robot, (Viscous(), Coulomb()))
    base = base_parameters(model)
    columns = packed_columns(model, base)
    x = np.random.default_rng(6).normal(size=(3, 100, 5))
    whole = regressor(model, *x)
    out = np.full((100, columns.width), np.nan)
    assert state_rows(columns, *x, out=out) is out
    for j, (start, stop) in enumerate(columns.span):
        kept = [base.kept[k] for k in columns.parameters[j]]
        np.testing.assert_array_equal(out[:, start : stop - 1], whole[:, j, kept])
        assert not out[:, stop - 1].any()
        assert not whole[:, j, sorted(set(base.kept) - set(kept))].any()
    with pytest.raises(ModelError, match=r"out must be a C-contiguous float64 array of shape \(100, \d+\)"):
        state_rows(columns, *x, out=out[:, 1:])
