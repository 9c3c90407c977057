"""Experiment files: what they mean, and what is said when they are wrong."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from seeds import cases
from typer.testing import CliRunner

from ident.cad import read_sheets
from ident.cli.main import app
from ident.errors import ConfigError, IdentError, ModelError
from ident.experiment import build_model, read_experiment
from ident.logs import Processing, read_manifest
from ident.model import Coulomb, Coupled, Dahl, DriveInertia, NonlinearViscous, Offset, SmoothCoulomb, Spring, Viscous
from ident.pipelines.loaded import load
from ident.robot import read_robot

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).parent / "broken" / "experiment"
EXPECTED = tomllib.loads((FOLDER / "expected.toml").read_text(encoding="utf-8"))
SOUND = {"expected.toml", "good.toml", "robot.toml", "dataset.toml", "cad.csv", "truth_other.txt"}
GOOD = (FOLDER / "good.toml").read_text()


def beside(tmp_path: Path, text: str, name: str = "experiment.toml") -> Path:
    """Write an experiment beside copies of the files that it names."""
    for file in ("robot.toml", "dataset.toml", "cad.csv"):
        (tmp_path / file).write_bytes((FOLDER / file).read_bytes())
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_broken_file_gives_its_message(name):
    with pytest.raises(IdentError) as caught:
        load(read_experiment(FOLDER / name))
    assert str(caught.value) == EXPECTED[name]
    assert type(caught.value) is ConfigError


def test_every_file_is_expected():
    assert {p.name for p in FOLDER.iterdir()} == EXPECTED.keys() | SOUND
    assert len(EXPECTED) >= 50


def test_a_missing_experiment_says_where_it_was_looked_for(tmp_path):
    (tmp_path / "nix").mkdir()
    with pytest.raises(ConfigError, match=r"^experiment\.toml: there is no such file in '.*nix'"):
        read_experiment(tmp_path / "nix")


def test_all_that_a_file_can_say(tmp_path):
    (tmp_path / "truth.toml").write_text('[parameters]\n"upper.m" = 2\n"elbow.viscous" = 0.1\n')
    path = beside(
        tmp_path,
        """
[experiment]
title = "All"
robot = "robot.toml"
data = "dataset.toml"
truth = "truth.toml"

[recordings]
fit = ["circle"]

[processing]
position_hz = 10
torque_hz = 8.5
edge_s = [1, 2]
decimation = [5, 2]
min_speed = [0.1, 0.2]

[processing.validate]
torque_hz = "none"
decimation = []

[model]
drive_inertia = ["elbow"]
viscous = false
coulomb = [{ tanh = 0.01, joints = ["shoulder"] }, { dead_zone = 0.1, joints = ["elbow"] }]

[fit]
weight = 0.5

[fit.bounds]
total_mass = [1, 30]
mass = { upper = [1, 5] }
com = { lower = [[-0.1, 0.1], [0, 0.2], [-1, 1]] }
box = { upper = [[-0.1, 0.1], [0, 0.2], [-1, 1]] }
ellipsoid = { lower = { centre = [0.1, 0, 0], semi_axes = [0.3, 0.2, 0.1] } }
equal = [["upper", "lower"]]
pinned = { "upper.m" = 2.5, "lower.cx" = 0, "elbow.offset" = 0.1 }

[expected]
fit = [0.05, 0.01]
"lower.m" = [1, 0.2]
""",
        "all.toml",
    )
    e = read_experiment(path)
    assert (e.name, e.title, e.cad, e.validate, e.feasible, e.weight) == ("all", "All", None, (), True, 0.5)
    assert e.robot == (tmp_path / "robot.toml").resolve()
    assert e.processing == Processing(
        position_hz=10, torque_hz=8.5, edge_s=(1, 2), decimation=(5, 2), min_speed=(0.1, 0.2)
    )
    assert e.validation_processing == Processing(position_hz=10, edge_s=(1, 2), min_speed=(0.1, 0.2))
    assert e.bounds.total_mass == (1, 30)
    assert e.bounds.mass == {"upper": (1, 5)}
    assert e.bounds.com == {"lower": ((-0.1, 0.1), (0, 0.2), (-1, 1))}
    assert e.bounds.box == {"upper": ((-0.1, 0.1), (0, 0.2), (-1, 1))}
    assert e.bounds.ellipsoid["lower"].axes.tolist() == np.diag([0.3, 0.2, 0.1]).tolist()
    assert e.bounds.equal == (("upper", "lower"),)
    assert e.bounds.pinned == {"upper.m": 2.5, "lower.cx": 0, "elbow.offset": 0.1}
    assert e.expected == {"fit": (0.05, 0.01), "lower.m": (1, 0.2)}
    loaded = load(e)
    assert loaded.model.terms == (
        DriveInertia(("elbow",)),
        SmoothCoulomb(0.01, ("shoulder",)),
        Coulomb(0.1, ("elbow",)),
        Offset(),
    )
    assert loaded.truth == {"upper.m": 2.0, "elbow.viscous": 0.1}
    assert loaded.prior.source.startswith("neutral")
    assert loaded.cad is None


def test_what_stands_where_nothing_is_said():
    e = read_experiment(FOLDER / "good.toml")
    assert e.processing == e.validation_processing == Processing(position_hz=10, torque_hz=10)
    assert e.terms == (DriveInertia(), Viscous(), SmoothCoulomb(0.01), Offset())
    assert e.weight is None
    loaded = load(e)
    assert loaded.model.terms == (DriveInertia(), Viscous(), SmoothCoulomb(0.01), Offset())
    assert set(loaded.inputs) == {"good.toml", "robot.toml", "dataset.toml", "cad.csv"}
    assert loaded.cad_source == "cad.csv"


@pytest.mark.parametrize(
    ("value", "terms"),
    [
        ("true", (Coulomb(),)),
        ("false", ()),
        ("{}", (Coulomb(),)),
        ("{ dead_zone = 0.2 }", (Coulomb(0.2),)),
        ("{ dahl = 0.001 }", (Dahl(0.001),)),
        ("[]", ()),
    ],
)
def test_shapes_of_coulomb_friction(tmp_path, value, terms):
    e = read_experiment(beside(tmp_path, GOOD.replace("{ tanh = 0.01 }", value)))
    assert load(e).model.terms == (DriveInertia(), Viscous(), *terms, Offset())


@pytest.mark.parametrize(
    ("value", "terms"),
    [
        ("true", (Spring(),)),
        ("false", ()),
        ("{ rest = 1 }", (Spring(rest=1.0),)),
        ("{ nonnegative = true }", (Spring(nonnegative=True),)),
        (
            '[{ rest = 0.1, joints = ["elbow"] }, { joints = ["shoulder"] }]',
            (Spring(("elbow",), 0.1), Spring(("shoulder",))),
        ),
    ],
)
def test_springs(tmp_path, value, terms):
    e = read_experiment(beside(tmp_path, GOOD.replace("[fit]", f"spring = {value}\n\n[fit]")))
    assert load(e).model.terms == (DriveInertia(), Viscous(), SmoothCoulomb(0.01), Offset(), *terms)


@pytest.mark.parametrize(
    ("value", "terms"),
    [
        ("false", ()),
        ("{ power = 0.3 }", (NonlinearViscous(0.3),)),
        (
            '[{ power = 0.2, joints = ["elbow"] }, { power = 2, joints = ["shoulder"] }]',
            (NonlinearViscous(0.2, ("elbow",)), NonlinearViscous(2.0, ("shoulder",))),
        ),
    ],
)
def test_nonlinear_viscous_friction(tmp_path, value, terms):
    e = read_experiment(beside(tmp_path, GOOD.replace("[fit]", f"nonlinear_viscous = {value}\n\n[fit]")))
    assert load(e).model.terms == (DriveInertia(), Viscous(), *terms, SmoothCoulomb(0.01), Offset())


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("true", "model.nonlinear_viscous: is true, wanted a table such as { power = 0.3 }, or a list of such tables."),
        ("{ power = 1 }", "model.nonlinear_viscous: the power 1 is plain viscous friction. Use viscous for it."),
        ("{ power = 0 }", "model.nonlinear_viscous.power: is 0, wanted a power of the speed, above 0 and at most 3."),
        ("{ power = 2, element = 10 }", "model.nonlinear_viscous.element: is 10, wanted a whole number from 1 to 9."),
        (
            "[{ power = 0.5 }, { power = 0.3 }]",
            "model: parameter 'elbow.nonlinear_viscous' comes from two terms. Give each joint one of them.",
        ),
    ],
)
def test_mistakes_in_nonlinear_viscous_friction_are_named(tmp_path, value, message):
    with pytest.raises(ConfigError) as caught:
        load(read_experiment(beside(tmp_path, GOOD.replace("[fit]", f"nonlinear_viscous = {value}\n\n[fit]"))))
    assert str(caught.value) == f"experiment.toml, {message}"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0.1", "model.spring: is 0.1, wanted true, false, a table such as { rest = 0.1 }, or a list of such tables."),
        ("{ rest = 'slack' }", "model.spring.rest: is 'slack', wanted a position."),
        ("{ rest = inf }", "model.spring.rest: is inf, wanted a position."),
        (
            "{ stiffness = 3 }",
            "model.spring.stiffness: is not a known key here. Known here: rest, joints, nonnegative.",
        ),
        (
            "{ joints = ['elbo'] }",
            "model.spring: robot 'two' has no joint 'elbo'; did you mean 'elbow'? Its joints are shoulder, elbow.",
        ),
        ("[{}, {}]", "model: parameter 'elbow.stiffness' comes from two terms. Give each joint one of them."),
    ],
)
def test_mistakes_in_springs_are_named(tmp_path, value, message):
    with pytest.raises(ConfigError) as caught:
        load(read_experiment(beside(tmp_path, GOOD.replace("[fit]", f"spring = {value}\n\n[fit]"))))
    assert str(caught.value) == f"experiment.toml, {message}"


def test_coupled_drives_take_the_shape_of_coulomb_friction():
    text = (ROOT / "datasets/tx40/robot.toml").resolve()
    robot = read_robot(text)
    e = read_experiment(ROOT / "experiments/tx40")
    model = build_model(e, robot)
    *_, drive = [t for t in model.terms if isinstance(t, Coupled)]
    (coulomb,) = [t for t in model.terms if isinstance(t, SmoothCoulomb)]
    assert drive.law.tanh == coulomb.tanh > 0
    assert drive.shares[4] != 0
    assert drive.shares[5] == 1


def test_a_transmission_that_couples_has_its_drives_unless_told_otherwise():
    given = read_experiment(ROOT / "experiments/minimal/tx40.toml")
    robot = read_robot(ROOT / "datasets/tx40/robot.toml")
    *_, drive = build_model(given, robot).terms
    assert isinstance(drive, Coupled)
    assert drive.motor == "motor_6"
    without = build_model(replace(given, coupled_drives=False), robot).terms
    assert not any(isinstance(term, Coupled) for term in without)


def test_the_name_is_the_folders_or_the_files(tmp_path):
    assert read_experiment(beside(tmp_path, GOOD)).name == tmp_path.name
    assert read_experiment(tmp_path).name == tmp_path.name
    assert read_experiment(beside(tmp_path, GOOD, "slow.toml")).name == "slow"


def test_the_title_is_the_folders_name_where_none_is_given(tmp_path):
    untitled = "\n".join(line for line in GOOD.splitlines() if not line.startswith("title"))
    assert untitled != GOOD
    assert read_experiment(beside(tmp_path, untitled, "slow.toml")).title == tmp_path.name
    named = read_experiment(beside(tmp_path, untitled))
    assert named.heading == named.title == tmp_path.name
    assert read_experiment(FOLDER / "good.toml").heading.startswith("good: ")


def test_paths_may_climb_two_folders(tmp_path):
    inner = tmp_path / "experiments" / "one"
    inner.mkdir(parents=True)
    path = beside(inner, GOOD.replace('"cad.csv"', '"../../cad.csv"'))
    (tmp_path / "cad.csv").write_bytes((FOLDER / "cad.csv").read_bytes())
    assert read_experiment(path).cad == (tmp_path / "cad.csv").resolve()


def test_paths_may_begin_with_the_data_folder(tmp_path, monkeypatch):
    path = beside(tmp_path, GOOD.replace('"cad.csv"', '"$IDENT_DATA/x/cad.csv"'))
    monkeypatch.delenv("IDENT_DATA", raising=False)
    with pytest.raises(ConfigError, match="needs the environment variable IDENT_DATA"):
        read_experiment(path)
    (tmp_path / "data" / "x").mkdir(parents=True)
    (tmp_path / "data" / "x" / "cad.csv").write_text("")
    monkeypatch.setenv("IDENT_DATA", str(tmp_path / "data"))
    assert read_experiment(path).cad == (tmp_path / "data/x/cad.csv").resolve()
    path.write_text(GOOD.replace('"cad.csv"', '"$IDENT_DATA/../cad.csv"'))
    with pytest.raises(ConfigError, match=r"experiment\.cad: the path .* names no file"):
        read_experiment(path)


def test_an_impossible_cad_table_is_refused(tmp_path):
    path = beside(tmp_path, GOOD)
    table = (tmp_path / "cad.csv").read_text()
    (tmp_path / "cad.csv").write_text(table.replace("lower,1.0,0.10,0,0,0.001", "lower,1.0,0.10,0,0,0.1"))
    with pytest.raises(IdentError, match=r"cad\.csv: 1 of 2 links cannot exist"):
        load(read_experiment(path))


def arm_urdf(*, length: str = "0.3", izz: str = "0.02") -> str:
    """Return the arm of robot.toml, whose lower link carries a tool of 0.5 kg."""
    body = '<link name="%s"><inertial><origin xyz="%s"/><mass value="%s"/><inertia %s/></inertial></link>'
    zeros = 'ixy="0" ixz="0" iyz="0"'
    joint = (
        '<joint name="%s" type="continuous"><parent link="%s"/><child link="%s"/><origin xyz="%s 0 0"/>'
        '<axis xyz="0 0 1"/></joint>'
    )
    return (
        '<robot name="two"><link name="base"/>'
        + body % ("upper", "0.15 0 0", "2", f'ixx="0.002" iyy="0.02" izz="{izz}" {zeros}')
        + body % ("lower", "0.1 0 0", "1", f'ixx="0.001" iyy="0.01" izz="0.01" {zeros}')
        + body % ("tool", "0 0 0", "0.5", f'ixx="0.001" iyy="0.001" izz="0.001" {zeros}')
        + joint % ("shoulder", "base", "upper", "0")
        + joint % ("elbow", "upper", "lower", length)
        + '<joint name="flange" type="fixed"><parent link="lower"/><child link="tool"/></joint></robot>'
    )


def test_the_inertials_of_the_description_are_cad_and_prior_unless_told_otherwise(tmp_path):
    bare = GOOD.replace('cad = "cad.csv"\n', "").replace("robot.toml", "arm.urdf")
    path = beside(tmp_path, bare)
    (tmp_path / "arm.urdf").write_text(arm_urdf())
    loaded = load(read_experiment(path))
    np.testing.assert_array_equal(loaded.cad, loaded.robot.inertials)
    np.testing.assert_array_equal(loaded.prior.inertials, loaded.robot.inertials)
    assert loaded.notes == (
        "the inertials of 'arm.urdf' are the CAD column and the prior, as nothing else is given; "
        'cad = "FILE" in experiment.toml gives others, cad = false none',
    )
    for recording in read_manifest(tmp_path / "dataset.toml").recordings:
        for file in recording.files:
            (tmp_path / file).write_text("")
    checked = CliRunner().invoke(app, ["check", str(path)])
    assert "note: the inertials of 'arm.urdf' are the CAD column and the prior" in checked.output
    for none in ("false", '"none"'):
        loaded = load(read_experiment(beside(tmp_path, bare.replace("[recordings]", f"cad = {none}\n[recordings]"))))
        assert loaded.cad is None
        assert loaded.prior.source.startswith("neutral")
        assert loaded.notes == ()
    with pytest.raises(ConfigError, match=r"experiment\.cad: is true, wanted a CAD table, a URDF, a folder of reports"):
        read_experiment(beside(tmp_path, bare.replace("[recordings]", "cad = true\n[recordings]")))


def test_inertials_of_bodies_that_cannot_exist_are_no_cad_unless_asked_for(tmp_path):
    bare = GOOD.replace('cad = "cad.csv"\n', "").replace("robot.toml", "arm.urdf")
    (tmp_path / "arm.urdf").write_text(arm_urdf(izz="0.2").replace('izz="0.01"', 'izz="0.1"'))
    loaded = load(read_experiment(beside(tmp_path, bare)))
    assert loaded.cad is None
    assert "'arm.urdf' are neither CAD nor prior: link 'upper' cannot exist" in loaded.notes[0]
    with pytest.raises(ModelError, match="link 'upper' cannot exist"):
        load(read_experiment(beside(tmp_path, bare.replace("[recordings]", 'cad = "robot"\n[recordings]'))))


def test_one_body_that_cannot_exist_takes_no_other_away(tmp_path):
    """What the description says of the other links is CAD and prior all the same: absurd masses of them are seen."""
    bare = GOOD.replace('cad = "cad.csv"\n', "").replace("robot.toml", "arm.urdf")
    (tmp_path / "arm.urdf").write_text(arm_urdf(izz="0.2"))
    robot = read_robot(tmp_path / "arm.urdf")
    loaded = load(read_experiment(beside(tmp_path, bare)))
    assert np.isnan(loaded.cad[0]).all()
    np.testing.assert_array_equal(loaded.cad[1], robot.inertials[1])
    np.testing.assert_array_equal(loaded.prior.inertials[1], robot.inertials[1])
    assert loaded.prior.neutral == (True, False)
    assert "nothing else is given, but for these: link 'upper' cannot exist: triangle" in loaded.notes[0]


def test_a_urdf_as_the_cad_of_a_table_of_joints(tmp_path):
    path = beside(tmp_path, GOOD.replace("cad.csv", "arm.urdf"))
    (tmp_path / "arm.urdf").write_text(arm_urdf())
    loaded = load(read_experiment(path))
    assert loaded.cad_source == "arm.urdf"
    np.testing.assert_allclose(loaded.cad[:, 0], [2.0, 1.5])  # the lower link with its tool
    (tmp_path / "arm.urdf").write_text((tmp_path / "arm.urdf").read_text().replace("0.3 0 0", "0.35 0 0"))
    with pytest.raises(ConfigError, match=r"link frames of 'arm\.urdf' are not those of 'robot\.toml': joint 'elbow'"):
        load(read_experiment(path))


def test_a_folder_of_reports_as_cad(tmp_path):
    arm5 = ROOT / "datasets" / "arm5"
    (tmp_path / "reports").mkdir()
    for report in (arm5 / "reports").glob("link*.txt"):
        (tmp_path / "reports" / report.name).write_bytes(report.read_bytes())
    for name in ("robot.toml", "dataset.toml"):
        (tmp_path / name).write_bytes((arm5 / name).read_bytes())
    path = tmp_path / "experiment.toml"
    names = [r.name for r in read_manifest(arm5 / "dataset.toml").recordings]
    path.write_text(
        '[experiment]\ntitle = "t"\nrobot = "robot.toml"\ndata = "dataset.toml"\ncad = "reports"\n'
        f'[recordings]\nfit = ["{names[0]}"]\n'
    )
    loaded = load(read_experiment(path))
    np.testing.assert_array_equal(loaded.cad, read_sheets(arm5 / "reports", loaded.robot).inertials)
    assert loaded.cad_source == "reports"
    assert len(loaded.inputs["reports"]) == 64


PLACES = [
    *((t, k) for t, ks in {
        "experiment": ("title", "robot", "data", "cad", "truth"),
        "recordings": ("fit", "validate"),
        "processing": (*Processing.__dataclass_fields__, "validate"),
        "model": ("drive_inertia", "viscous", "coulomb", "offset", "coupled_drives"),
        "fit": ("loss", "feasible", "weight", "metric", "residual_bound", "covariance", "bounds"),
        "expected": ("fit",),
    }.items() for k in ks),
    ("experiment", None), ("model", None), ("fit", None), ("processing", None), ("expected", None),
]  # fmt: skip
SCALARS = (
    st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
    | st.sampled_from(["none", "circle", "steps", "elbow", "upper", "robot", "cad.csv", "..", "~", "vanishing", "ols"])
)
WORDS = st.sampled_from(["tanh", "dead_zone", "joints", "mass", "com", "total_mass", "upper", "torque_hz", "x"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=3), max_leaves=8
)


def toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    return json.dumps(value, ensure_ascii=True) if isinstance(value, str) else str(value)


def message(path: Path) -> str | None:
    """Return what is said about an experiment file, None when nothing is; any other exception is let through."""
    try:
        load(read_experiment(path))
    except IdentError as error:
        return str(error)
    return None


@settings(max_examples=cases(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.sampled_from(PLACES), value=VALUES)
def test_any_value_anywhere_is_read_or_named(tmp_path, place, value):
    table, key = place
    data = tomllib.loads(GOOD)
    if key is None:
        data[table] = value
    else:
        data.setdefault(table, {})[key] = value
    path = beside(tmp_path, "".join(f"{k} = {toml(v)}\n" for k, v in data.items()))
    said = message(path)
    assert said is None or ("\n" not in said and len(said) < 600)


@settings(max_examples=cases(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=60), at=st.integers(0, len(GOOD)))
def test_any_bytes_in_the_file_are_read_or_named(tmp_path, content, at):
    path = beside(tmp_path, "")
    path.write_bytes(GOOD[:at].encode() + content + GOOD[at:].encode())
    said = message(path)
    assert said is None or ": " in said
