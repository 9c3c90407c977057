"""Only a result that passed validation leaves, or one that is asked for in so many words; one list of targets."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import typer
from export_readers import estimate_of
from identified import case
from typer.testing import CliRunner

from ident.cli.console import register
from ident.cli.report import export
from ident.compare.validate import Predicted, ValidatedRecording, Validation, validate
from ident.errors import EstimationError, InfeasibleError, InputError, ModelError
from ident.estimate.storage import load_estimate, save_estimate
from ident.export.formats import FORMATS, export_to, listing
from ident.export.gate import NUMBERS, VERDICT, fingerprint, with_validation
from ident.export.identified import identified
from ident.model import Coulomb, DriveInertia, Model, Viscous, coupled_drive
from ident.robot import Joint, Limits, Robot, Transmission
from ident.robot.urdf import read_joint_dynamics
from ident.robot.urdf_write import write_urdf
from ident.spatial.inertia import Pose


def validated():
    c = case()
    predictions = {"identified": c.constrained.phi, "CAD": c.theta}
    return with_validation(
        c.constrained, validate(c.model, c.other, predictions, fitted=c.regression, base=c.regression.base)
    )


def test_a_validation_that_passed_is_kept_with_the_numbers(tmp_path):
    e = validated()
    assert re.fullmatch(r"passed: error \S+ % of the torque on held-out other", e.provenance[VERDICT])
    again = load_estimate(save_estimate(e, tmp_path / "estimate.json"))
    assert again.provenance == e.provenance
    assert fingerprint(again) == fingerprint(e) == e.provenance[NUMBERS]
    text = export_to("csv", again, tmp_path / "o.csv").path.read_text()
    assert f"# Validation {e.provenance[VERDICT]}." in text
    assert fingerprint(e) in text


@pytest.mark.slow
def test_without_validation_nothing_is_written_unless_asked_for(tmp_path):
    c = case()
    out = tmp_path / "o"
    for form in FORMATS:
        with pytest.raises(
            EstimationError, match=r"fit of 'crane' was never validated .*: ident export --unvalidated\."
        ):
            export_to(form.name, c.constrained, out, robot=c.robot)
    assert not out.exists()
    text = export_to("ros2", c.constrained, out, robot=c.robot, unvalidated=True).path.read_text()
    assert (
        "# WARNING: NOT VALIDATED, exported on request although the fit was never validated on a held-out recording."
        in text
    )


def test_validation_fails_for_a_bad_joint_for_better_cad_and_not_for_what_was_fitted():
    c = case()
    e = c.constrained
    zero = np.zeros(len(e.phi))
    bad = validate(c.model, c.other, {"identified": 2.5 * e.phi}, fitted=c.regression, base=c.regression.base)
    said = with_validation(e, bad).provenance[VERDICT]
    assert said.startswith("failed: joint 'turn' is predicted no better than by zero torque; joint 'lift'")
    worse = {"identified": 0.5 * e.phi, "CAD": c.theta, "other": zero}
    report = validate(c.model, c.other, worse, fitted=c.regression, base=c.regression.base)
    said = with_validation(e, report).provenance[VERDICT]
    assert re.search(r"failed: CAD predicts better \(\S+ %\); error 50", said)
    with pytest.raises(EstimationError, match=r"did not pass validation \(failed: CAD predicts better"):
        identified(with_validation(e, report))
    assert "did not pass" in identified(with_validation(e, report), unvalidated=True).head[2]
    own = validate(c.model, c.fit, {"identified": e.phi}, fitted=c.regression, base=c.regression.base)
    assert VERDICT not in with_validation(e, own).provenance
    assert with_validation(e, None) is e


def validation_of(identified: tuple[float, float], cad: tuple[float, float] | None = None) -> Validation:
    """Return a validation with these relative errors of two joints, the second with a tenth of the torque's square."""
    given = {"identified": identified, "CAD": cad, "zero": (1.0, 1.0)}
    size = np.array([1.0, 0.1])
    found = tuple(
        Predicted(name, np.square(errors) * size, size, np.ones(2)) for name, errors in given.items() if errors
    )
    recording = ValidatedRecording("other", True, np.ones(2), found)
    return Validation(("a", "b"), ("N m", "N m"), tuple(p.name for p in found), (recording,))


@pytest.mark.parametrize(
    ("identified", "cad", "passed"),
    [
        ((0.2, 0.9999), None, True),
        ((0.2, 1.0), None, False),  # no better than zero torque
        ((0.42, 0.42), None, False),  # another robot's, or other columns
        ((0.38, 0.38), None, True),
        ((0.1049, 0.1049), (0.1, 0.1), True),  # chance: not worse than 1.05 times CAD
        ((0.1051, 0.1051), (0.1, 0.1), False),
        ((0.05, 0.2), (0.2, 0.05), True),  # the whole counts against CAD
    ],
)
def test_where_a_validation_fails(identified, cad, passed):
    judged = with_validation(case().constrained, validation_of(identified, cad)).provenance[VERDICT]
    assert judged.startswith("passed" if passed else "failed")


@pytest.mark.parametrize(
    ("lower", "upper", "wanted"),
    [
        (-1.5, 2.0, "<lower>-1.5</lower><upper>2.0</upper>"),
        (-np.inf, 2.0, "<lower>-1e+16</lower><upper>1e+16</upper>"),  # SDFormat's word for none
        (-1.5, np.inf, "<lower>-1e+16</lower><upper>1e+16</upper>"),
        (-np.inf, np.inf, "<lower>-1e+16</lower><upper>1e+16</upper>"),
    ],
)
def test_limits_of_an_sdf(tmp_path, lower, upper, wanted):
    """An axis with one limit alone is one without: SDFormat's readers clamp to both."""
    limits = Limits(lower, upper, 3.0, 40.0)
    robot = Robot("r", (Joint("j", "revolute", -1, Pose.identity(), np.array([0.0, 0, 1]), limits=limits),), ("l",))
    e = estimate_of(robot, Model(robot), np.array([1, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.1]))
    text = export_to("sdf", e, tmp_path / "o.sdf", robot=robot).path.read_text()
    assert f"<limit>{wanted}<effort>40.0</effort><velocity>3.0</velocity></limit>" in text


def test_a_verdict_on_other_numbers_counts_for_nothing():
    e = validated()
    theta = e.theta.copy()
    theta[-1] += 1
    with pytest.raises(EstimationError, match="was never validated"):
        identified(replace(e, theta=theta))


def test_infeasible_or_undetermined_results_are_refused_in_every_format(tmp_path):
    c = case()
    theta = c.constrained.theta.copy()
    theta[0] = -1.0
    bad = replace(c.constrained, theta=theta)
    other = replace(c.robot, links=("a", "b", "c"))
    for form in FORMATS:
        for estimate, robot, error, message in (
            (bad, c.robot, InfeasibleError, "tower cannot exist .*m = -1 kg"),
            (c.wls, c.robot, EstimationError, "'wls' determines base parameters only"),
            (c.constrained, other, ModelError, "has links tower, arm, slider"),
        ):
            with pytest.raises(error, match=message):
                export_to(form.name, estimate, tmp_path / "o", robot=robot, unvalidated=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_names_stay_data(tmp_path):
    """Names of links and joints come from files: they must not become code or end a comment."""
    evil = "x'; system('rm'); \"; --> end"
    joint = Joint(evil, "revolute", -1, Pose.identity(), np.array([0.0, 0, 1]))
    robot = Robot(evil, (joint,), (evil + "l",), base=evil + "b")
    model = Model(robot, (Viscous(),))
    e = estimate_of(robot, model, np.concatenate([[1, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.1], [0.5]]))
    import xml.etree.ElementTree as ET

    import yaml

    for form in FORMATS:
        content = export_to(form.name, e, tmp_path / form.name, robot=robot).path.read_bytes()
        if form.name in ("urdf", "mjcf", "sdf"):
            ET.fromstring(content)
        elif form.suffix == ".py":
            compile(content, form.name, "exec")
        elif form.suffix == ".m":
            code = [line for line in content.decode().splitlines() if not line.startswith("%")]
            assert all(len(re.findall("'", line)) % 2 == 0 for line in code)
            assert "''; system(''rm'');" in content.decode()
        elif form.name == "ros2":
            assert evil in yaml.safe_load(content)["/**"]["ros__parameters"]["identified"]["joint_names"]
    broken = Robot("a\nimport os\n#", (replace(joint, name="j\n x"),), ("l\r\nevil",))
    e = estimate_of(broken, Model(broken), np.array([1, 0, 0, 0, 0.1, 0, 0, 0.1, 0, (0.1).real]))
    for form in FORMATS:
        if form.suffix in (".m", ".h", ".hpp", ".yaml"):
            with pytest.raises(ModelError, match="characters that no program takes"):
                export_to(form.name, e, tmp_path / "o", robot=broken)
            continue
        text = export_to(form.name, e, tmp_path / "o", robot=broken).path.read_bytes()
        assert b"\nimport os\n" not in text or form.suffix in (".urdf", ".xml", ".sdf", ".mat")


def test_coupled_motors_are_not_taken_for_joints(tmp_path):
    joints = tuple(Joint(n, "revolute", i - 1, Pose.identity(), np.array([0.0, 0, 1])) for i, n in enumerate("ab"))
    robot = Robot("r", joints, ("la", "lb"), transmission=Transmission(("a", "m"), np.array([[1.0, 0], [1, 1]])))
    model = Model(robot, (Viscous(("a",)), *coupled_drive("m", (1.0, 1.0))))
    body = [1, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.1]
    e = estimate_of(robot, model, np.array([*body, *body, 0.5, 0.1, 0.2, 0.3]))
    item = identified(e, robot=robot)
    assert item.per_joint(Viscous.kind) == {"a": 0.5}
    note = item.about(*(x.kind for x in (DriveInertia, Viscous, Coulomb)))[1][0]
    assert "m.drive_inertia 0.1, m.viscous 0.2, m.coulomb 0.3" in note
    done = export_to("urdf", e, tmp_path / "r.urdf", robot=robot)
    assert read_joint_dynamics(done.path) == {"a": (0.5, 0.0), "b": None}
    assert done.notes[0] == note


def test_unknown_targets_name_the_nearest(tmp_path):
    e = validated()
    with pytest.raises(InputError, match=r"there is no format 'mjfc'; did you mean 'mjcf'.*ident export --list"):
        export_to("mjfc", e, tmp_path / "o")
    with pytest.raises(InputError, match="'kuka' takes one load at the flange"):
        export_to("kuka", e, tmp_path / "o")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def call():
    app = typer.Typer()
    register(app, export)

    def run(*arguments):
        return CliRunner().invoke(app, [str(a) for a in arguments])

    return run


def test_the_command(call, tmp_path):
    c = case()
    save_estimate(validated(), tmp_path / "e.json")
    robot = tmp_path / "crane.urdf"
    robot.write_bytes(write_urdf(_urdf(), c.robot, c.inertials))
    done = call("mjcf", tmp_path / "e.json", "--robot", robot, "--out", tmp_path / "o.xml", "--date", "2025-01-02")
    assert done.exit_code == 0, done.output
    assert "on 2025-01-02" in (tmp_path / "o.xml").read_text()
    done = call("urdf", tmp_path / "e.json", "--robot", robot, "-o", tmp_path / "o.urdf")
    assert done.exit_code == 0, done.output
    assert "note:" in done.output
    said = call("mjfc", tmp_path / "e.json", "-o", tmp_path / "no")
    assert said.exit_code == 2
    assert "did you mean 'mjcf'" in said.output
    save_estimate(c.constrained, tmp_path / "raw.json")
    said = call("csv", tmp_path / "raw.json", "-o", tmp_path / "no")
    assert said.exit_code == 4
    assert "never validated" in said.output
    assert not (tmp_path / "no").exists()
    assert call("csv", tmp_path / "raw.json", "-o", tmp_path / "raw.csv", "--unvalidated").exit_code == 0
    said = call("csv,rtb-python", tmp_path / "e.json", "--robot", robot, "-o", tmp_path / "no/")
    assert "rtb-python: the frame of joint" in said.output  # of several, the one that fails
    assert not (tmp_path / "no").exists()


def test_the_list_has_a_line_for_each(call):
    said = call("--list")
    assert said.exit_code == 0
    for name, suffix, line in listing():
        found = [row for row in said.output.splitlines() if row.split()[:1] == [name]]
        assert len(found) == 1
        assert suffix in found[0]
        assert line in found[0]


def _urdf() -> bytes:
    from identified import URDF

    return URDF.encode()
