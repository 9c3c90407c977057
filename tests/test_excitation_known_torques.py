"""Torques that `ident excite` counts with: what an estimate says of friction and drives is in them, or named as not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from identified import NOISE, URDF, case, moved
from typer.testing import CliRunner

from ident.cli.main import app
from ident.errors import EstimationError, ModelError
from ident.estimate import Estimate, Prior, estimated
from ident.estimate.storage import save_estimate
from ident.excitation import load_trajectory
from ident.model import Coulomb, DriveInertia, Model, Offset, SmoothCoulomb, Viscous, torque
from ident.model.load_friction import LoadFriction
from ident.model.position import RippleCosine, RippleSine
from ident.model.standstill import Stribeck
from ident.model.viscous import NonlinearViscous, Thermal
from ident.pipelines.known_torques import identified_torques, joint_errors, stated_torques
from ident.regression import compress
from ident.robot import read_robot

pytestmark = pytest.mark.usefixtures("sketched")

STRAIGHT = (DriveInertia(), Viscous(), SmoothCoulomb(0.05), Offset())
WAVES = (RippleSine(per_turn=11), RippleCosine(per_turn=11))
QUICK = ("--duration", "4", "--harmonics", "2", "--starts", "1", "--seconds", "1e9", "--noise", "0.1")


def estimate_of(model: Model, values: dict[str, float]) -> tuple[Estimate, np.ndarray]:
    """Return what is identified of a simulated log of the crane, and the true theta; values by the names' endings."""
    terms = [values[name.rpartition(".")[2].rstrip("0123456789_")] for name in model.names[model.n_rigid :]]
    theta = np.concatenate([case().inertials.ravel(), terms])
    prior = Prior(case().inertials, "cad.csv", dict(zip(model.names[model.n_rigid :], terms, strict=True)))
    return estimated(model, compress(model, moved("fit", model, theta, 1)), prior, weight=1e-6), theta


VALUES = {
    "drive_inertia": 0.4, "viscous": 1.2, "coulomb": 1.5, "offset": 0.2, "ripple_sine": 0.3, "ripple_cosine": -0.2,
    "stribeck": 0.6, "nonlinear_viscous": 0.7, "load_friction": 0.05,
}  # fmt: skip


@pytest.mark.parametrize(
    "more",
    [
        (),
        WAVES,
        (Stribeck(0.2, width=0.05),),
        (NonlinearViscous(1.7),),
        (LoadFriction.of(case().inertials, Coulomb()),),
    ],
    ids=["straight", "ripple", "stribeck", "nonlinear", "load"],
)
def test_no_torque_of_the_estimate_is_greater_than_what_counts(more: tuple, tmp_path: Path) -> None:
    """At any state within the limits; load friction only as long as the bodies ask for no more than the limit."""
    robot = case().robot
    model = Model(robot, (*STRAIGHT, *more))
    found, _ = estimate_of(model, VALUES)
    notes: list[str] = []
    known = identified_torques(save_estimate(found, tmp_path / "estimate.json"), robot, notes)
    assert known.lacks == ""
    assert (known.beside >= 3 * joint_errors(found)).all()
    rng = np.random.default_rng(3)
    low, high, fastest = np.array([(j.limits.lower, j.limits.upper, j.limits.velocity) for j in robot.joints]).T
    q, qd = rng.uniform(low, high, (5000, 3)), rng.uniform(-1, 1, (5000, 3)) ** 5 * fastest
    qdd = rng.normal(0, 2, (5000, 3))
    limits = known.limits(0.0, np.inf)
    counted = np.abs(limits.torques((q, qd, qdd))) + limits.coulomb
    asked = np.abs(torque(model, found.theta, q, qd, qdd))
    assert (asked <= counted - 3 * joint_errors(found) + 1e-9).all()
    assert (counted.max(axis=0) < [55, 55, 95]).all()  # and it is no wild guess
    assert any("three times the error of each joint" in note for note in notes)
    assert any("no validation of" in note for note in notes)


def test_what_cannot_be_bounded_is_named(tmp_path: Path) -> None:
    robot = case().robot
    model = Model(robot, STRAIGHT)
    found, _ = estimate_of(model, VALUES)
    warm = Model(robot, (*STRAIGHT, Thermal()))
    base = replace(found.base, standard=warm.names, K=np.pad(found.base.K, ((0, 0), (0, 3))))
    theta = np.concatenate([found.theta, [0.01] * 3])
    path = save_estimate(replace(found, base=base, theta=theta, shapes=warm.shapes), tmp_path / "estimate.json")
    notes: list[str] = []
    known = identified_torques(path, robot, notes)
    assert known.lacks == Thermal.kind.words
    assert any(f"{Thermal.kind.words} cannot be bounded" in note and "--torque-margin" in note for note in notes)
    assert f"without {Thermal.kind.words}" in known.limits(0.0, np.inf).names[0]


def test_load_friction_that_its_limit_would_not_bound_is_named_with_its_joint(tmp_path: Path) -> None:
    """A share of 30 of the load says that the load is small, not that friction takes 30 times the limit."""
    bodies, law = case().inertials, SmoothCoulomb(0.05)
    terms = (LoadFriction.of(bodies, replace(law, joints=(joint,))) for joint in ("lift", "reach"))
    model = Model(case().robot, (*STRAIGHT, *terms))
    found, _ = estimate_of(model, VALUES)
    theta = np.append(found.theta[:-2], [0.05, 30.0])
    path = save_estimate(replace(found, theta=theta, phi=found.base.K @ theta), tmp_path / "estimate.json")
    notes: list[str] = []
    known = identified_torques(path, case().robot, notes)
    assert known.lacks == "load friction of reach"
    assert any(note.startswith("load friction of reach cannot be bounded") for note in notes)
    assert known.beside - 3 * joint_errors(found) == pytest.approx([0.0, 0.05 * 50.0, 0.0])


def test_what_cad_does_not_state() -> None:
    model = Model(case().robot, STRAIGHT)
    theta = case().theta
    terms = model.names[model.n_rigid :]
    assert stated_torques(model, theta, terms).lacks == "friction and drive inertia"
    assert stated_torques(model, theta, [n for n in terms if "coulomb" not in n]).lacks == "drive inertia"
    assert stated_torques(model, theta, ()).lacks == ""


def test_the_error_is_that_of_the_validation_where_it_is_greater() -> None:
    found, _ = estimate_of(Model(case().robot, STRAIGHT), VALUES)
    assert joint_errors(found) == pytest.approx(np.full(3, NOISE), rel=0.1)
    from ident.export.gate import NUMBERS, VERDICT, fingerprint

    said = {VERDICT: "passed: error 10 % of the torque on held-out other", NUMBERS: fingerprint(found)}
    assert joint_errors(replace(found, provenance=said)) == pytest.approx(0.1 * found.rms / found.relative)
    assert joint_errors(replace(found, provenance={**said, NUMBERS: "of others"})) == pytest.approx(found.rms)


def test_refusals(tmp_path: Path) -> None:
    alone = save_estimate(case().wls, tmp_path / "wls.json")
    with pytest.raises(
        EstimationError, match=r"wls\.json: .* determines no links that can exist\. Use the constrained"
    ):
        identified_torques(alone, case().robot, [])
    other = replace(case().robot, joints=tuple(replace(j, name=f"x{j.name}") for j in case().robot.joints))
    with pytest.raises(ModelError, match="robot 'crane' has"):
        identified_torques(save_estimate(case().constrained, tmp_path / "e.json"), other, [])


def test_a_motion_keeps_what_was_identified_where_one_of_cad_alone_does_not(tmp_path: Path) -> None:
    """Joint limits that the bodies alone fill: with friction and drives the motion of CAD's torques goes beyond."""
    weak = URDF.replace('effort="50" velocity="3"', 'effort="24" velocity="3"')
    (tmp_path / "crane.urdf").write_text(weak)
    robot = read_robot(tmp_path / "crane.urdf")
    model = Model(robot, (*STRAIGHT, *WAVES))
    found, theta = estimate_of(model, VALUES)
    path = save_estimate(found, tmp_path / "estimate.json")
    needs, shares = [], []
    for more in ((), ("--estimate", str(path))):
        out = tmp_path / f"out{len(more)}"
        done = CliRunner().invoke(app, ["excite", str(tmp_path / "crane.urdf"), *QUICK, *more, "-o", str(out)])
        assert done.exit_code == 0, done.stderr
        trajectory = load_trajectory(out / "trajectory.json").trajectory
        states = trajectory.states(np.linspace(0, trajectory.duration, 5001))
        needs.append((np.abs(torque(model, theta, *states)) / [j.limits.effort for j in robot.joints]).max())
        certificate = json.loads((out / "trajectory.json").read_text())["certificate"]
        shares.append([g["what"] for g in certificate["guarantees"] if "torque" in g["what"]])
        said = " ".join(done.stdout.split())
        assert ("bodies that are stated, without friction and drive inertia" in said) == (not more)
        assert ("torques are those of" in " ".join(done.stderr.split())) == bool(more)
    assert needs[0] > 1
    assert needs[1] <= 1
    assert shares[0][0] == "torque of joint 'turn' (without friction and drive inertia)"
    assert shares[1][0] == "torque of joint 'turn'"
