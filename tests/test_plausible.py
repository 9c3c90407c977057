"""Links that can exist and not be believed are named, fail the verdict, and leave only on request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from identified import case, moved
from random_robots import random_pair
from seeds import cases
from test_export_gate import validated

import ident
from ident.compare.validate import validate
from ident.errors import EstimationError
from ident.estimate import Prior, cad_prior, estimated, neutral_prior
from ident.estimate.prior import implausible, weightless
from ident.estimate.storage import load_estimate, save_estimate
from ident.export.formats import export_to
from ident.export.gate import VERDICT, with_validation
from ident.model import Model, Viscous, torque
from ident.regression import compress
from ident.report import text
from ident.report.verdict import questions, verdict, warnings
from ident.robot import Limits, MDHJoint, from_mdh, read_robot
from ident.robot.urdf import parse_urdf
from ident.spatial.inertia import from_com, to_com

LIFT = """<?xml version="1.0"?>
<robot name="lift">
  <link name="base"/>
  <link name="torso"><inertial><origin xyz="0 0 0.1"/><mass value="6.0"/>
    <inertia ixx="0.08" ixy="0" ixz="0" iyy="0.07" iyz="0" izz="0.05"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="2.0"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.04" iyz="0" izz="0.04"/></inertial></link>
  <joint name="lift" type="prismatic"><parent link="base"/><child link="torso"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="500" velocity="3"/></joint>
  <joint name="turn" type="revolute"><parent link="torso"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="50" velocity="3"/></joint>
</robot>
"""


def changed(link: int, body: np.ndarray) -> np.ndarray:
    bodies = case().inertials.copy()
    bodies[link] = body
    return bodies


def arm(mass: float = 3.0, c: tuple[float, float, float] = (0.25, -0.01, 0.02), size: float = 1.0) -> np.ndarray:
    return from_com(mass, c, mass / 3.0 * size**2 * np.diag([0.01, 0.06, 0.055]))


@pytest.mark.parametrize(("body", "found"), [
    (arm(), None),
    (arm(4.0, (0.28, 0.0, 0.0), 1.2), None),
    (arm(1201.0), "arm: mass 1201 kg, CAD's 3 kg"),
    (arm(0.5), "arm: mass 0.5 kg, CAD's 3 kg"),
    (arm(size=40.0), "arm: largest radius of gyration 5.7 m, CAD's 0.14 m"),
    (arm(c=(2.0, 0.0, 0.0)), "arm: centre of mass 1.8 m from CAD's"),
    (from_com(3.7, (0.25, 0.0, 0.0), np.diag([8e-11, 0.06, 0.06])),
     "arm: least radius of gyration 4.6e-06 m, CAD's 0.057 m"),
])  # fmt: skip
def test_against_cad(body, found):
    c = case()
    assert implausible(c.robot, changed(1, body), Prior(c.inertials, "cad")) == (() if found is None else (found,))


@pytest.mark.parametrize(("gravity", "headline"), [(1.0, "Ready to use"), (-1.0, "Rough")])
def test_cad_that_predicts_less_than_nothing_holds_the_green_back(gravity, headline):
    c = case()
    stated = {"identified": c.constrained.phi, "CAD": gravity * np.asarray(c.theta)}
    found = validate(c.model, c.other, stated, fitted=c.regression, base=c.regression.base)
    assert found.opposed == (gravity < 0)
    assert verdict(c.constrained, found).headline == headline
    assert ("CAD's bodies predict less than none do" in "".join(questions(c.constrained, found))) == found.opposed


@pytest.mark.parametrize(("left", "answer"), [(0.05, "Yes"), (0.12, "Mostly"), (0.2, "No")])
def test_a_model_that_misses_much_of_one_joint_is_not_simply_complete(left, answer):
    fit = case().constrained
    rms = fit.rms * np.array([1.0, 1.0, left / fit.relative[2]])
    fit = replace(fit, rms=rms, relative=np.append(fit.relative[:2], left), floor=None)
    assert questions(fit)[0].startswith(f"Is the model complete? {answer}: ")


def test_a_light_body_is_believed_where_the_torques_ask_for_light_ones():
    c = case()
    prior = neutral_prior(c.robot)
    bodies = 0.1 * prior.inertials
    bodies[1] *= 0.1
    assert implausible(c.robot, bodies, prior.scaled(0.1)) == ()
    bodies[1] *= 0.01
    (said,) = implausible(c.robot, bodies, prior.scaled(0.1))
    assert said.startswith("arm: mass")


def test_a_mass_that_the_logs_determine_is_believed():
    c = case()
    bodies = changed(2, 10.0 * c.inertials[2])
    assert len(implausible(c.robot, bodies, Prior(c.inertials, "cad"))) == 1
    assert implausible(c.robot, bodies, Prior(c.inertials, "cad"), {"slider.m"}) == ()


def test_a_mass_that_joints_without_torque_decide_is_not_believed():
    """Lift and reach without torque: they draw the slider's mass to a sixth of CAD's."""
    c = case()
    silent = replace(c.fit, tau=c.fit.tau * [1.0, 0.0, 0.0])
    found = estimated(c.model, compress(c.model, silent), Prior(c.inertials, "cad"), weight=1e-4)
    assert "slider.m" in found.fixed_by_data
    assert any(doubt.startswith("slider: mass 0.23") for doubt in found.implausible)


def test_a_joint_that_is_logged_without_gravity_is_named_where_cad_says_what_hangs_on_it():
    robot = parse_urdf(LIFT.encode())
    model, cad = Model(robot, (Viscous(),)), Prior(robot.inertials, "cad")
    still = replace(model, robot=robot.with_gravity(np.zeros(3)))
    theta = np.concatenate([robot.inertials.ravel(), [3.0, 0.2]])
    slow = moved("slow", model, theta, 1)
    slow = replace(slow, t=4.0 * slow.t, qd=slow.qd / 4.0, qdd=slow.qdd / 16.0)
    whole, without = (torque(m, theta, slow.q, slow.qd, slow.qdd) for m in (model, still))

    def logged(tau):
        return compress(model, replace(slow, tau=tau))

    held = logged(np.column_stack([without[:, 0], whole[:, 1]]))
    (told,) = weightless(robot, held, cad)
    assert told.startswith("lift is logged with ")
    assert "where CAD's links need 78" in told
    assert "gain 0" in told
    assert told in estimated(model, held, cad, weight=1e-4).implausible
    assert weightless(robot, held, neutral_prior(robot)) == ()
    heavy = Prior(robot.inertials * [[1.0], [1000.0]], "cad")  # in grams
    assert weightless(robot, logged(whole), heavy) == ()
    assert weightless(robot, logged(whole), cad) == ()
    assert weightless(robot, logged(0.01 * whole), cad) == ()  # all of them: currents


@pytest.mark.parametrize("kind", ["constant", "copied"])
def test_a_torque_that_is_no_measurement_is_no_result_of_a_fit_in_python(kind, tmp_path):
    c = case()
    tau = c.fit.tau.copy()
    tau[:, 1] = 3.0 if kind == "constant" else tau[:, 0]
    fit = ident.fit(c.model, replace(c.fit, tau=tau), prior=Prior(c.inertials, "cad"), weight=1e-3)
    assert any("'lift'" in doubt for doubt in fit.estimate.implausible)
    with pytest.raises(EstimationError, match="'lift'"):
        fit.export("json", tmp_path / "x.json", fit.validate(c.other))
    least_squares = ident.fit(c.model, replace(c.fit, tau=tau), feasible=False)
    assert any("'lift'" in doubt for doubt in least_squares.estimate.implausible)


@pytest.mark.parametrize("seed", range(cases(20)))
def test_without_cad_true_bodies_are_plausible_and_absurd_ones_are_not(seed):
    rng = np.random.default_rng(seed)
    _, robot = random_pair(rng, int(rng.integers(2, 9)), prismatic=False)
    assert robot.inertials is not None
    prior = neutral_prior(robot)
    assert implausible(robot, robot.inertials, prior) == ()
    assert len(implausible(robot, 1000.0 * robot.inertials, prior)) == robot.n
    mass, c, inertia = to_com(robot.inertials[0])
    far = np.array([from_com(mass, c + 2 * robot.reach, inertia), *robot.inertials[1:]])
    assert "centre of mass" in implausible(robot, far, prior)[0]


@pytest.mark.parametrize("name", ["ur10e", "tx40", "arm5", "ur5e", "panda"])
def test_cad_of_real_robots_is_plausible_beside_a_neutral_prior(name):
    from ident.cad import read_cad

    folder = Path(__file__).parents[1] / "datasets" / name
    robot = read_robot(folder / "robot.toml")
    cad = read_cad(folder / "cad.csv").for_robot(robot) if (folder / "cad.csv").exists() else robot.inertials
    assert implausible(robot, cad_prior(robot, cad, "cad").inertials, neutral_prior(robot)) == ()


def test_an_implausible_result_is_named_fails_and_stays(tmp_path):
    c = case()
    prior = Prior(0.01 * c.inertials, "cad.csv")  # a table in the wrong unit
    estimate = estimated(c.model, c.regression, prior, weight=1e-6)
    assert any("mass" in doubt and "CAD's" in doubt for doubt in estimate.implausible)
    good = validated()
    assert good.implausible == ()
    named = replace(good, implausible=("arm: mass 1201 kg, CAD's 3 kg",))
    stored = load_estimate(save_estimate(named, tmp_path / "estimate.json"))
    assert stored.implausible == named.implausible
    validation = good_validation()
    failed = with_validation(stored, validation)
    assert failed.provenance[VERDICT].startswith("failed: implausible arm: mass 1201 kg")
    for e in (failed, replace(stored, provenance={})):
        with pytest.raises(EstimationError, match="1201 kg"):
            export_to("json", e, tmp_path / "o.json", robot=c.robot)
    export_to("json", failed, tmp_path / "o.json", robot=c.robot, unvalidated=True)
    judged = verdict(named, validation)
    assert (judged.tone, judged.headline) == ("bad", "Do not use")
    assert "1201 kg" in judged.reason
    assert ("everything is plausible", "NO") in text.summary_rows(named).rows
    assert ("everything is plausible", "yes") in text.summary_rows(good).rows
    assert any("1201 kg" in w for w in warnings(named))


def test_a_doubt_that_is_a_question_ends_as_one():
    doubted = replace(validated(), implausible=("torque of 'b' is 1 times that of 'a': is a column named twice?",))
    said = [verdict(doubted).reason, *warnings(doubted), *text.summary_sentences(doubted)]
    asked = [sentence for sentence in said if "named twice" in sentence]
    assert len(asked) == 3
    assert all(sentence.endswith("named twice?") for sentence in asked)


def good_validation():
    from ident.compare.validate import validate

    c = case()
    return validate(c.model, c.other, {"identified": c.constrained.phi}, fitted=c.regression, base=c.regression.base)


def test_the_neutral_body_is_no_dwarf_where_no_link_has_a_length():
    """A carriage of 0.26 m travel weighed 0.1 kg before."""
    travel = Limits(lower=0.0, upper=0.26)
    carriage = from_mdh("carriage", [MDHJoint(kind="prismatic", limits=travel)])
    assert carriage.reach == pytest.approx(0.26)
    assert neutral_prior(carriage).inertials[0, 0] == pytest.approx(0.26**3 / 0.1**3 * 0.1005, rel=1e-3)
    wrist = from_mdh("wrist", [MDHJoint(d=0.5), MDHJoint(alpha=1.5), MDHJoint(alpha=1.5)])
    assert wrist.reach == pytest.approx(0.5)
    assert (neutral_prior(wrist).inertials[:, 0] > 0.4).all()  # 0.1 kg each before


def test_a_log_that_repeats_one_motion_is_told(tmp_path):
    import pandas as pd

    from ident.pipelines.identify import fit

    t = np.arange(1500) / 100
    q = 0.5 * np.sin(2 * np.pi * t / 5) + 0.3 * np.sin(4 * np.pi * t / 5)
    torque = 2 * np.gradient(np.gradient(q, t), t) + np.gradient(q, t)
    pd.DataFrame({"t": t, "q": q, "tau": torque}).to_csv(tmp_path / "x.csv", index=False)
    (tmp_path / "dataset.toml").write_text(
        '[dataset]\nname = "x"\n[signals]\ntime = { column = "t", unit = "s" }\n'
        'position = { columns = ["q"], unit = "rad" }\ntorque = { columns = ["tau"], unit = "N m" }\n'
        '[[recording]]\nname = "x"\nfile = "x.csv"\n'
    )
    robot = 'name = "r"\nconvention = "mdh"\nlength = "m"\nangle = "rad"\n[[joint]]\na = 0.3\n'
    (tmp_path / "robot.toml").write_text(robot)
    experiment = (
        '[experiment]\ntitle = "x"\nrobot = "robot.toml"\ndata = "dataset.toml"\n[recordings]\nfit = ["x"]\n'
        "[processing]\nsegment_s = 1.0\nPERIOD\n"
    )
    for period, told in (("", True), ("period_s = 0", False)):
        (tmp_path / "experiment.toml").write_text(experiment.replace("PERIOD", period))
        result = fit(tmp_path)
        assert len(result.regression.segments) == (5 if told else 15)
        assert any("repeat one motion" in w for w in result.estimate.warnings) == told
        assert any("repeat one motion" in w.message for w in result.warnings) == told
