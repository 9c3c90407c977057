"""[calibrate] of an experiment: found, told, kept, and where results belong."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_calibrate import ROWS, arm, model_of, moved

from ident.calibrate import Wishes
from ident.errors import ConfigError
from ident.estimate.storage import load_estimate
from ident.experiment import read_experiment
from ident.logs import read_log
from ident.pipelines.calibration import with_calibration
from ident.pipelines.identify import export, fit, run, validate
from ident.pipelines.loaded import load
from ident.pipelines.steps import as_calibrated
from ident.pipelines.wishes import ExportWishes
from ident.report.outcome_text import calibration_rows, lines_to_paste, shared_factor
from ident.robot import read_robot
from ident.robot.unknown import Calibrated, corrected_robot, gains, nominal, saturations, tilts, zeros
from ident.robot.urdf import parse_urdf
from ident.robot.urdf_write import with_origins

EXPERIMENT = """
[experiment]
robot = "robot.toml"
data = "dataset.toml"
cad = "cad.csv"
[recordings]
fit = ["one"]
validate = ["other"]
[processing]
segment_s = 1.5
[model]
drive_inertia = true
viscous = true
coulomb = true
offset = true
[calibrate]
"""
TILT, GAIN = 0.03, 1.12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An arm whose base is tilted and whose second torque is read too large."""
    place = tmp_path_factory.mktemp("calibrated")
    robot, theta, prior = arm(1)
    unknowns = (*tilts(robot), *gains(robot))
    true = nominal(unknowns)
    true[0], true[3] = TILT, GAIN
    rows = "".join(f"[[joint]]\nalpha = {r.alpha!r}\na = {r.a!r}\nd = {r.d!r}\n" for r in ROWS)
    head = 'name = "arm"\nconvention = "mdh"\nlength = "m"\nangle = "rad"\n'
    (place / "robot.toml").write_text(head + rows)
    names = [f"{x}{j}" for x in ("q", "v", "u") for j in range(1, 5)]
    signals = [f"columns = {names[k : k + 4]}".replace("'", '"') for k in (0, 4, 8)]
    recordings = "".join(f'[[recording]]\nname = "{x}"\nfile = "{x}.csv"\n' for x in ("one", "other"))
    (place / "dataset.toml").write_text(
        f'[dataset]\nname = "arm"\n[signals]\ntime = {{ column = "t", unit = "s" }}\n'
        f'position = {{ {signals[0]}, unit = "rad" }}\nvelocity = {{ {signals[1]}, unit = "rad/s" }}\n'
        f'torque = {{ {signals[2]}, unit = "N m" }}\n{recordings}'
    )
    for name, seed in (("one", 3), ("other", 4)):
        m = moved(robot, theta, seed, unknowns, true)
        table = np.column_stack([m.t, m.q, m.qd, m.tau])
        np.savetxt(place / f"{name}.csv", table, "%.12g", ",", header=",".join(["t", *names]), comments="")
    header = ("m", "cx", "cy", "cz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
    lines = ['# mass = "kg"', '# length = "m"', '# inertia = "kg m^2"', '# tensor_at = "link_origin"',
             '# products = "tensor"', ",".join(("link", *header))]  # fmt: skip
    for i, body in enumerate(prior.inertials):
        numbers = [body[0], *(body[1:4] / body[0]), *body[4:]]
        lines.append(",".join([f"link{i + 1}", *(f"{x:.15g}" for x in numbers)]))
    (place / "cad.csv").write_text("\n".join(lines) + "\n")
    (place / "with.toml").write_text(EXPERIMENT + "gravity = true\nzeros = true\ngains = true\n")
    (place / "without.toml").write_text(EXPERIMENT.replace("[calibrate]", ""))
    return place


def test_saturation_goes_into_the_manifest_and_is_told(folder):
    """Beside a gain, and once more on top of itself: the log that is read has it taken out."""
    loaded = load(folder / "without.toml")
    raw = read_log(loaded.manifest, "one", loaded.robot).tau
    lost = saturations(loaded.robot, np.abs(raw).max(axis=0), ["joint2"])[0]
    found = [
        Calibrated(gains(loaded.robot, ["joint2"])[0], 1.1, 0.01, "taken", True),
        Calibrated(lost, lost.spread, 0.1 * lost.spread, "taken", True),
    ]
    once = as_calibrated(loaded, found)
    read = raw[:, 1] / 1.1
    tau = read_log(once.manifest, "one", once.robot).tau
    np.testing.assert_allclose(tau[:, 1], read * (1.0 - lost.spread * read**2))
    np.testing.assert_array_equal(tau[:, 0], raw[:, 0])
    twice = as_calibrated(once, found[1:])
    np.testing.assert_allclose(twice.manifest.recordings[0].torque.saturation[1], 2.0 * lost.spread)
    told = lines_to_paste(found, loaded.robot.gravity)
    assert f"dataset.toml, torque: saturation = {lost.spread:.4g} 1/(N m)^2 at joint2" in told
    experiment = replace(loaded.experiment, calibrate=Wishes(saturation=("elbow",)))
    with pytest.raises(ConfigError, match=r"robot 'arm' has no joint 'elbow'"):
        with_calibration(replace(loaded, experiment=experiment), [])


def test_a_tilt_is_told_with_the_line_that_puts_it_right_once(tmp_path):
    """Also of a URDF, which has no place for it: a robot.toml beside it has."""
    from identified import URDF, case

    robot = case().robot
    two = tilts(robot)
    found = [Calibrated(u, x, 0.001, "taken", True) for u, x in zip(two, (0.03, -0.01), strict=True)]
    right = corrected_robot(robot, two, [0.03, -0.01])
    (line,) = lines_to_paste(found, right.gravity)
    (tmp_path / "arm.urdf").write_text(URDF)
    gravity, urdf = re.search(r"gravity = \[.*?\]", line)[0], re.search(r'urdf = "FILE"', line)[0]
    (tmp_path / "robot.toml").write_text(f"{gravity}\n{urdf.replace('FILE', 'arm.urdf')}\n")
    np.testing.assert_allclose(read_robot(tmp_path / "robot.toml").gravity, right.gravity, atol=1e-5)
    assert np.abs(right.gravity - robot.gravity).max() > 0.1
    assert lines_to_paste([replace(x, applied=False) for x in found], robot.gravity) == ()


def test_that_all_gains_share_a_factor_is_said_where_all_are_asked_for():
    robot = arm(1)[0]
    all_of = [Calibrated(u, 1.0, 0.05, "taken", True) for u in gains(robot)]
    assert "masses" in shared_factor(all_of, robot.n)
    assert shared_factor(all_of[1:], robot.n) == ""
    assert shared_factor([Calibrated(u, 0.0, 0.01, "taken", True) for u in zeros(robot)], robot.n) == ""


@pytest.mark.slow
def test_what_is_calibrated_is_taken_over_told_and_kept(folder, sketched):
    result = run(folder / "with.toml")
    found = {c.unknown.name: c for c in result.estimate.calibration}
    assert found["base.tilt_x"].applied
    assert abs(found["base.tilt_x"].value - TILT) < 4 * found["base.tilt_x"].error
    ratio = found["joint2.gain"].value / found["joint1.gain"].value
    assert ratio == pytest.approx(GAIN, rel=0.02)
    assert not found["joint1.zero"].applied
    assert "left out" in found["joint1.zero"].said
    # a motion that was not fitted is predicted far better
    fit(folder / "without.toml", folder / "plain.json")
    plain = validate(folder / "plain.json", folder / "without.toml")
    errors = [r.validation.total("identified").relative_total for r in (result, plain)]
    assert errors[0] < 0.5 * errors[1]
    told = calibration_rows(result.estimate)
    assert "base.tilt_x" in {row[0] for row in told.rows}
    robot, gain = result.loaded.robot, result.loaded.manifest.recordings[0].torque.gain
    lines = lines_to_paste(list(found.values()), robot.gravity, gain)
    assert any("gain = [" in x for x in lines)
    written = re.search(r"gravity = \[.*?\]", lines[0])[0]
    (folder / "mended.toml").write_text(f"{written}\n" + (folder / "robot.toml").read_text())
    np.testing.assert_allclose(read_robot(folder / "mended.toml").gravity, robot.gravity, rtol=1e-5, atol=1e-5)
    page = (result.path / "report.html").read_text(encoding="utf-8")
    assert "Calibration" in page
    assert page.count("All gains share one factor with all masses") == 1
    # kept, and good for another look at the logs
    again = load_estimate(result.path)
    assert [c.value for c in again.calibration] == [c.value for c in result.estimate.calibration]
    later = validate(result.path, folder / "with.toml")
    assert later.validation.total("identified").relative_total == pytest.approx(errors[0], rel=1e-6)
    # exported with the base as it is
    (made,) = export(["urdf"], result.path, folder / "arm.urdf", ExportWishes(robot=folder / "robot.toml"))
    assert any("gravity" in note for note in made.notes)


@pytest.mark.slow
def test_factors_do_not_hold_what_a_calibration_needs(folder, tmp_path):
    with pytest.raises(ConfigError, match="needs the logs"):
        fit(folder / "with.toml", factors=[tmp_path / "none.npz"])


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("zeros = 3", "list of joint names"),
        ("zero = true", "zeros"),
        ("zero_deg = -1", "above 0"),
        ("gravity = 1", "true or false"),
    ],
)
def test_a_calibration_that_is_not_understood_is_said(folder, lines, said):
    file = folder / "wrong.toml"
    file.write_text(EXPERIMENT + lines + "\n")
    with pytest.raises(ConfigError, match=said):
        read_experiment(file)


def test_unknown_joints_and_lengths_are_named(folder):
    for lines, said in (('zeros = ["joint9"]', "joint9"), ('lengths = ["joint2.x"]', "no length")):
        file = folder / "wrong.toml"
        file.write_text(EXPERIMENT + lines + "\n")
        with pytest.raises(ConfigError, match=said):
            fit(file)


def test_origins_of_a_urdf_are_those_of_the_corrected_robot():
    from identified import URDF, case

    robot = case().robot
    unknowns = zeros(robot)
    corrected = corrected_robot(robot, unknowns, [0.02, -0.03, 0.004])
    found = parse_urdf(with_origins(URDF.encode(), robot, corrected))
    for a, b in zip(found.joints, corrected.joints, strict=True):
        np.testing.assert_allclose(a.placement.matrix, b.placement.matrix, atol=1e-12)


def test_the_arm_of_the_tests_is_read_as_it_is(folder):
    assert read_robot(folder / "robot.toml").fingerprint() == model_of(arm(1)[0]).robot.fingerprint()
