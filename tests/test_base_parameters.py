"""Base parameters against Pinocchio's regressor, closed forms and published groupings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles import FROM_PIN, pin_regressor, random_tree
from random_robots import pinocchio_model, random_pair
from seeds import cases

from ident.model import Coulomb, DriveInertia, Model, Offset, Stribeck, Viscous, coupled_drives, regressor
from ident.regression import BaseParameters, base_parameters
from ident.regression.base import rank_margin
from ident.robot import DHJoint, MDHJoint, Robot, from_dh, from_mdh, read_robot
from ident.spatial.inertia import INERTIAL

DATASETS = Path(__file__).parents[1] / "datasets"
TERMS = (DriveInertia(), Viscous(), Coulomb(), Offset())


def tx40() -> Model:
    robot = read_robot(DATASETS / "tx40" / "robot.toml")
    return Model(robot, (*TERMS, *coupled_drives(robot)))


def groupings(base: BaseParameters) -> dict[str, dict[str, float]]:
    """Return each base parameter as {standard parameter: coefficient}, by name so that order does not matter."""
    return {
        name: {base.standard[i]: float(row[i]) for i in np.flatnonzero(row)}
        for name, row in zip(base.names, base.K, strict=True)
    }


@pytest.mark.parametrize("speed", [1e-4, 1e-3, 0.01, 0.03, 1.0])
def test_friction_near_standstill_alone_is_a_parameter_of_each_joint(speed: float) -> None:
    model = Model(tx40().robot, (*TERMS, Stribeck(speed, 0.1 * speed)))
    found = set(base_parameters(model).names)
    assert {f"{joint}.stribeck" for joint in model.robot.joint_names} <= found


# Rank and identifiability, judged on the regressor of another program.


def test_rank_and_what_torque_shows_agree_with_pinocchio() -> None:
    kinds = set()
    for seed in range(18):
        rng = np.random.default_rng(seed)
        n = 1 + seed % 9
        text, robot = random_pair(rng, n)
        kinds |= {j.kind for j in robot.joints} | {"branch" for p in robot.parents if robot.parents.count(p) > 1}
        base = base_parameters(Model(robot))
        model, order = pinocchio_model(text, robot)
        x = rng.normal(0, [[[1.5]], [[2.0]], [[6.0]]], (3, 20 + 30 // n, n))
        Y = pin_regressor(model, order, *x).reshape(-1, 10 * n)
        size = np.linalg.norm(Y, axis=0)
        unit = Y / np.where(size > 1e-10 * size.max(), size, np.inf)
        _, s, Vt = np.linalg.svd(np.linalg.qr(unit, mode="r"))
        rank = int(np.linalg.matrix_rank(unit, tol=1e-9 * s[0]))
        assert len(base.kept) == rank, seed
        error = np.abs(Y[:, base.kept] @ base.K - Y).max()
        assert error < 1e-10 * np.abs(base.K).max() * size.max(), seed
        # a parameter is fixed by torque alone when its unit vector lies in the row space
        alone = np.linalg.norm(Vt[:rank], axis=0) > 1 - 1e-10
        assert base.identifiable == tuple(np.array(base.standard)[alone]), seed
        assert base.unidentifiable == tuple(np.array(base.standard)[~unit.any(axis=0)]), seed
    assert kinds == {"revolute", "prismatic", "branch"}


@pytest.mark.parametrize("seed", [9, 21])
def test_groupings_gain_nothing_from_rounding(seed: int) -> None:
    """Columns of these arms are dependent to 1e-5, which lifts rounding far above 1e-16."""
    model = Model(random_tree(np.random.default_rng(seed), 1 + seed % 12, points=True))
    base = base_parameters(model)
    robot = model.robot
    for name, parts in groupings(base).items():
        link = robot.links.index(name.split(".")[0])
        below = {robot.links[i] for i in robot.carried_by(link)}
        # parameters are regrouped towards the base along the tree, or between bodies on one rigid parent
        near = below | {n for i, n in enumerate(robot.links) if robot.parents[i] == robot.parents[link]}
        tiny = {p: c for p, c in parts.items() if abs(c) < 1e-9}
        assert not tiny, (name, tiny)
        assert {p.split(".")[0] for p in parts} <= near, name


# Which parameters are kept: names decide, unless that needs large coefficients.


def random_table(rng: np.random.Generator, convention: str, *, near: bool) -> Robot:
    """Return an arm of 1 to 7 joints; `near`: some lengths and angles miss zero and right angles by 1e-1 to 1e-4."""

    def off() -> float:
        return float(rng.choice([0.0, *10.0 ** -np.arange(1, 5)]) * rng.uniform(0.3, 1.0)) if near else 0.0

    rows = [
        {
            "a": off() if rng.random() < 0.4 else float(rng.uniform(-0.5, 0.5)),
            "d": off() if rng.random() < 0.4 else float(rng.uniform(-0.5, 0.5)),
            "alpha": float(rng.choice([0, 0, 0.5, -0.5, 0.5, 1, rng.uniform(-1, 1)]) * np.pi)
            + (off() if rng.random() < 0.3 else 0.0),
            "theta": float(rng.choice([0.0, np.pi / 2, 1.0])),
            "kind": "prismatic" if rng.random() < 0.12 else "revolute",
        }
        for _ in range(rng.integers(1, 8))
    ]
    if convention == "dh":
        return from_dh("arm", [DHJoint(**row) for row in rows])
    return from_mdh("arm", [MDHJoint(**row) for row in rows])


def random_arm(seed: int) -> Robot:
    rng = np.random.default_rng([seed, 9])
    kind = ("dh", "mdh", "dh near", "mdh near", "urdf", "tree")[seed % 6]
    if kind == "urdf":
        return random_pair(rng, int(rng.integers(1, 8)))[1]
    if kind == "tree":
        return random_tree(rng, int(rng.integers(1, 8)), points=True)
    return random_table(rng, kind.split()[0], near=kind.endswith("near"))


@pytest.mark.slow
def test_coefficients_stay_of_the_size_of_the_geometry() -> None:
    """Pivots by name alone needed coefficients up to 1e6 here."""
    for seed in range(cases(210)):
        model = Model(random_arm(seed), (DriveInertia(), Viscous()))
        base = base_parameters(model)
        robot = model.robot
        longest = max(
            np.linalg.norm([j.point, j.placement.position * (j.parent >= 0)], axis=1).max() for j in robot.joints
        )
        assert np.abs(base.K).max() <= 4.00001 * max(longest, 1 / longest if longest else 1.0) ** 2, seed
        kept, dropped = rank_margin(model)
        assert kept > 1e4 * max(dropped, 1e-14), seed
        if seed % 6 < 2:  # a chain is regrouped towards its base
            for k, row in zip(base.kept, base.K, strict=True):
                rigid = np.flatnonzero(row[: model.n_rigid])
                assert k >= model.n_rigid or rigid.min() // 10 == k // 10, seed


def test_names_decide_where_their_choice_needs_no_large_coefficient() -> None:
    for seed in range(25):
        model = Model(random_table(np.random.default_rng([seed, 3]), "mdh", near=False), (DriveInertia(), Viscous()))
        q, qd, qdd = np.random.default_rng(seed).normal(0.0, 3.0, (3, 60, model.robot.n))
        R = np.linalg.qr(regressor(model, q, qd, qdd).reshape(-1, len(model.names)), mode="r")
        first: list[int] = []
        for k in range(len(model.names)):
            if np.linalg.matrix_rank(R[:, [*first, k]], tol=1e-8 * np.abs(R).max()) > len(first):
                first.append(k)
        assert base_parameters(model).kept == tuple(first), seed


def test_a_standard_dh_arm_has_no_coefficient_of_594() -> None:
    """link3.m was kept, and its 1 / 0.041^2 of link3.Iyy made masses of it that no link has."""
    arm = from_dh(
        "arm", [DHJoint(d=0.4, alpha=np.pi / 2), DHJoint(a=0.4), DHJoint(a=0.041, alpha=np.pi / 2), DHJoint()]
    )
    base = base_parameters(Model(arm))
    assert np.abs(base.K).max() <= 4.0 / 0.4**2
    assert "link3.m" not in base.names


@pytest.mark.parametrize("draw", range(5))
def test_rounding_of_another_machine_changes_nothing(draw: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that are 1e-13 off, as another BLAS or processor gives them; symmetric arms have many ties."""
    models = [Model(random_arm(seed), (DriveInertia(),)) for seed in range(12)]
    models.append(Model(from_dh("alike", [DHJoint(a=0.3, d=0.3, alpha=np.pi / 4) for _ in range(6)])))
    expected = [base_parameters(model) for model in models]
    rng = np.random.default_rng(draw)

    def rounded(*args: Any, **signals: Any) -> np.ndarray:
        Y = regressor(*args, **signals)
        return Y * (1.0 + 1e-13 * rng.uniform(-1.0, 1.0, Y.shape))

    monkeypatch.setattr("ident.regression.base.regressor", rounded)
    for model, base in zip(models, expected, strict=True):
        found = base_parameters(model)
        assert found.kept == base.kept
        np.testing.assert_allclose(found.K, base.K, rtol=0, atol=1e-7)


# Closed forms.


def planar(gravity: tuple[float, float, float]) -> Model:
    return Model(from_mdh("planar", [MDHJoint(), MDHJoint(a=0.7)], gravity=gravity), (DriveInertia(),))


def test_planar_arm_in_closed_form() -> None:
    """tau_2 shows h2 and Izz2; tau_1 the first link's h and Izz, to which a point mass m2 at (0.7, 0) belongs."""
    assert groupings(base_parameters(planar((0.0, -9.81, 0.0)))) == {
        "link1.hx": {"link1.hx": 1.0, "link2.m": 0.7},
        "link1.hy": {"link1.hy": 1.0},
        "link1.Izz": {"link1.Izz": 1.0, "link2.m": 0.49, "joint1.drive_inertia": 1.0},
        "link2.hx": {"link2.hx": 1.0},
        "link2.hy": {"link2.hy": 1.0},
        "link2.Izz": {"link2.Izz": 1.0},
        "joint2.drive_inertia": {"joint2.drive_inertia": 1.0},
    }


def test_planar_arm_lying_flat() -> None:
    """Without gravity in its plane the first link's first moments are never felt."""
    base = base_parameters(planar((0.0, 0.0, -9.81)))
    assert groupings(base) == {
        "link1.Izz": {"link1.Izz": 1.0, "link2.m": 0.49, "joint1.drive_inertia": 1.0},
        "link2.hx": {"link2.hx": 1.0},
        "link2.hy": {"link2.hy": 1.0},
        "link2.Izz": {"link2.Izz": 1.0},
        "joint2.drive_inertia": {"joint2.drive_inertia": 1.0},
    }
    assert base.identifiable == ("link2.hx", "link2.hy", "link2.Izz", "joint2.drive_inertia")
    rigid = [f"link{i}.{part}" for i in (1, 2) for part in INERTIAL]
    felt = {"link1.Izz", "link2.m", "link2.hx", "link2.hy", "link2.Izz"}
    assert base.unidentifiable == tuple(name for name in rigid if name not in felt)


def test_two_slides_at_right_angles_feel_the_masses() -> None:
    rows = [MDHJoint(kind="prismatic"), MDHJoint(kind="prismatic", alpha=np.pi / 2)]
    assert groupings(base_parameters(Model(from_mdh("gantry", rows), (DriveInertia(),)))) == {
        "link1.m": {"link1.m": 1.0, "joint2.drive_inertia": -1.0},  # m1 + m2 less m2 + Ia2
        "link2.m": {"link2.m": 1.0, "joint2.drive_inertia": 1.0},  # gravity is across the second slide
        "joint1.drive_inertia": {"joint1.drive_inertia": 1.0},  # and along the first
    }


def test_defect_2_inertias_stand_in_their_place_and_about_the_frame_origin() -> None:
    """Pinocchio orders Ixx Ixy Iyy Ixz Iyz Izz; a tensor about the centre would not group as m l^2 above."""
    turns = from_mdh("x", [MDHJoint(alpha=0.4), MDHJoint(alpha=np.pi / 2, a=0.3), MDHJoint(alpha=-0.8, d=0.2)])
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 5, 3))
    Y = regressor(Model(turns), q, qd, qdd).reshape(5, 3, 3, 10)
    assert FROM_PIN == [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
    # The last joint's own torque, Euler's equation about the origin of its frame: (I w' + w x I w)_z.
    rotations = [np.array([turns.joints[i].pose(x[i]).rotation for x in q]) for i in range(3)]
    z = np.array([0.0, 0.0, 1.0])
    w, a = np.zeros((5, 3)), np.zeros((5, 3))
    for i, R in enumerate(rotations):
        w, a = (np.einsum("sji,sj->si", R, v) for v in (w, a))
        a = a + qdd[:, i, None] * z + np.cross(w, qd[:, i, None] * z)
        w = w + qd[:, i, None] * z
    for k, (r, c) in enumerate([(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]):
        E = np.zeros((3, 3))
        E[r, c] = E[c, r] = 1.0
        expected = (a @ E + np.cross(w, w @ E))[:, 2]
        np.testing.assert_allclose(Y[:, 2, 2, 4 + k], expected, atol=1e-12, err_msg=INERTIAL[4 + k])


# The robots of the data sets.


def test_groupings_of_the_tx40_to_the_letter() -> None:
    base = base_parameters(tx40())
    assert len(base.names) == 61
    expressions = {name: base.expression(k) for k, name in enumerate(base.names)}
    later = " - ".join(f"0.050625 link_{i}.m" for i in (3, 4, 5, 6))
    assert expressions["link_2.Ixx"] == f"link_2.Ixx - link_2.Iyy - {later}"
    assert expressions["link_2.hx"] == "link_2.hx + " + " + ".join(f"0.225 link_{i}.m" for i in (3, 4, 5, 6))
    # a3 d4 = 0.225 * 0.035
    assert expressions["link_2.Ixz"] == (
        "link_2.Ixz - 0.007875 link_3.m - 0.225 link_3.hz - 0.007875 link_4.m - 0.007875 link_5.m - 0.007875 link_6.m"
    )
    assert expressions["link_3.hy"] == "link_3.hy - 0.225 link_4.m - link_4.hz - 0.225 link_5.m - 0.225 link_6.m"
    assert expressions["link_4.Izz"] == "link_4.Izz + link_5.Iyy"
    assert expressions["link_6.Ixx"] == "link_6.Ixx - link_6.Iyy"
    assert expressions["motor_6.coulomb"] == "motor_6.coulomb"
    assert base.unidentifiable == tuple(
        [f"link_1.{part}" for part in INERTIAL if part != "Izz"] + ["link_2.m", "link_2.hz"]
    )
    assert {"link_2.hy", "link_6.Izz", "joint_6.viscous", "motor_6.drive_inertia"} <= set(base.identifiable)
    assert not {"link_2.hx", "link_3.m", "joint_1.drive_inertia", "joint_2.drive_inertia"} & set(base.identifiable)


@pytest.mark.parametrize(("terms", "count"), [((), 36), ((DriveInertia(),), 40), (TERMS, 58)])
def test_counts_of_the_ur10e(terms: tuple, count: int) -> None:
    assert len(base_parameters(Model(read_robot(DATASETS / "ur10e" / "robot.toml"), terms)).kept) == count


@pytest.mark.slow
def test_order_of_terms_changes_the_order_only() -> None:
    model = tx40()
    expected = groupings(base_parameters(model))
    for terms in list(permutations(model.terms))[1::29]:
        base = base_parameters(Model(model.robot, terms))
        found = groupings(base)
        assert base.names != tuple(expected)
        assert found.keys() == expected.keys()
        for name, parts in expected.items():
            assert found[name] == pytest.approx(parts, rel=1e-10), name


TALK = """
import json, sys
from ident.model import *
from ident.regression import base_parameters
from ident.robot import read_robot
robot = read_robot(sys.argv[1])
terms = (DriveInertia(), Viscous(), Coulomb(), Offset(), *coupled_drives(robot))
base = base_parameters(Model(robot, terms))
print(json.dumps([base.names, base.K.tolist()]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tx40", "ur10e"])
def test_another_process_with_one_thread_finds_the_same(name: str) -> None:
    path = DATASETS / name / "robot.toml"
    robot: Robot = read_robot(path)
    base = base_parameters(Model(robot, (*TERMS, *coupled_drives(robot))))
    one = os.environ | {"OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, "-c", TALK, str(path)], capture_output=True, text=True, check=True, env=one)
    names, K = json.loads(run.stdout)
    assert tuple(names) == base.names
    np.testing.assert_allclose(K, base.K, rtol=0, atol=1e-10)
