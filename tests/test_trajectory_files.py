"""Trajectories as JSON, CSV, ROS 2 message and C: written, read back by other means, compared."""

from __future__ import annotations

import csv
import ctypes
import json
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml
from rosbags.typesys import Stores, get_typestore

from ident.errors import ExcitationError, InputError
from ident.excitation import (
    Basis,
    Fourier,
    FourierAndPolynomial,
    Trajectory,
    load_trajectory,
    save_trajectory,
    write_csv,
    write_ros2,
)
from ident.excitation import trajectory as kept
from ident.excitation.bases import resting
from ident.export.code import write_trajectory
from ident.robot import MDHJoint, Robot, from_mdh

SCHEMA = json.loads((Path(kept.__file__).parent / "trajectory.schema.json").read_text())
BASES = [Fourier(0.15 * np.pi, 5), FourierAndPolynomial(0.9, 4)]
STRICT = ("gcc", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror", "-std=c99")


def crane(name: str = "crane") -> Robot:
    return from_mdh(name, (MDHJoint(d=0.3, name="turn"), MDHJoint(alpha=1.5, kind="prismatic", name='a, "lift" ü')))


ROBOT = crane()


def drawn(basis: Basis, seed: int = 0) -> Trajectory:
    free = resting(basis)
    return Trajectory(
        basis, np.random.default_rng(seed).normal(size=(2, free.shape[1])) @ free.T / 3, ROBOT.joint_names
    )


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_a_file_gives_back_every_digit(tmp_path: Path, basis: Basis) -> None:
    trajectory = drawn(basis)
    certificate = {"position": {"margin": [0.1, 1e-17], "bound": None}, "table": True}
    path = save_trajectory(tmp_path / "new" / "a.json", trajectory, ROBOT, certificate=certificate, design={"seed": 7})
    stored = load_trajectory(path)
    assert stored.trajectory.basis == basis
    assert type(stored.trajectory.basis) is type(basis)
    np.testing.assert_array_equal(stored.trajectory.coefficients, trajectory.coefficients)
    assert stored.trajectory.joints == ROBOT.joint_names
    assert (stored.robot, stored.fingerprint) == ("crane", ROBOT.fingerprint())
    assert stored.units == ("rad", "m")
    assert stored.certificate == certificate
    assert stored.design == {"seed": 7}
    again = save_trajectory(
        tmp_path / "b.json", stored.for_robot(ROBOT), ROBOT, certificate=certificate, design={"seed": 7}
    )
    assert again.read_bytes() == path.read_bytes()
    jsonschema.validate(json.loads(path.read_text()), SCHEMA, cls=jsonschema.Draft202012Validator)
    t = np.linspace(0, basis.duration, 50)
    for a, b in zip(stored.trajectory.states(t), trajectory.states(t), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_trajectory_belongs_to_its_robot(tmp_path: Path) -> None:
    stored = load_trajectory(save_trajectory(tmp_path / "a.json", drawn(BASES[0]), ROBOT))
    moved = replace(ROBOT, gravity=np.array([0.0, 9.81, 0.0]))
    with pytest.raises(ExcitationError, match=r"designed for robot 'crane' with fingerprint .* Design it again"):
        stored.for_robot(moved)
    other = from_mdh("other", (MDHJoint(), MDHJoint()))
    with pytest.raises(ExcitationError, match=r"moves turn, .* robot 'other' has joint1, joint2"):
        stored.for_robot(other)
    for write in (save_trajectory, lambda path, x, r: write_trajectory(path, r, x)):
        with pytest.raises(ExcitationError, match="robot 'other' has joint1, joint2"):
            write(tmp_path / "b", drawn(BASES[0]), other)
    assert not (tmp_path / "b").exists()


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = save_trajectory(tmp_path_factory.mktemp("good") / "a.json", drawn(BASES[0]), ROBOT)
    return json.loads(path.read_text())


def put(*keys: str | int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        inner: Any = document
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value

    return change


def drop(*keys: str | int) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        inner: Any = document
        for key in keys[:-1]:
            inner = inner[key]
        del inner[keys[-1]]

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (put("format", value="ident-trajectory-2"), "a.json, format: is 'ident-trajectory-2', wanted 'ident-traj"),
        (put("format", value=None), "format: is None"),
        (drop("format"), "is not a trajectory written by ident"),
        (drop("basis"), "basis: is missing"),
        (put("extra", value=1), "extra: unknown key"),
        (put("desing", value=1), "desing: unknown key; did you mean 'design'"),
        (put("robot", value=3), "robot: is 3, wanted a text"),
        (put("fingerprint", value=None), "fingerprint: is null, wanted a text"),
        (put("certificate", value=[]), r"certificate: is \[\], wanted an object"),
        (put("design", value="x"), 'design: is "x", wanted an object'),
        (put("basis", value="fourier"), 'basis: is "fourier", wanted an object'),
        (put("basis", "kind", value="furier"), "kind: is \"furier\", wanted 'fourier' or .* did you mean 'fourier'"),
        (put("basis", "kind", value=[1]), r"basis.kind: is \[1\], wanted 'fourier' or"),
        (put("basis", "kind", value="periodic_spline"), "kind: is \"periodic_spline\", wanted 'fourier' or"),
        (drop("basis", "base"), "basis.base: is missing"),
        (put("basis", "base", value=0), "basis: the base frequency .* must be positive"),
        (put("basis", "base", value="1"), 'basis.base: is "1", wanted a valid number'),
        (put("basis", "base", value=True), "basis.base: is true, wanted a valid number"),
        (put("basis", "base", value=10**400), r"basis.base: is 10+\.\.\., wanted a finite number"),
        (put("basis", "harmonics", value=5.0), "basis: the number of harmonics must be a whole number"),
        (
            put("basis", "harmonics", value=10**9),
            r"joints\[1\].coefficients: has 11 numbers, the basis needs 2000000001",
        ),
        (put("basis", "harmonics", value=4), r"joints\[1\].coefficients: has 11 numbers, the basis needs 9"),
        (put("joints", value=[]), r"joints: is \[\], wanted at least 1 item"),
        (put("joints", value={}), r"joints: is \{\}, wanted a list"),
        (put("joints", 0, value=3), r"joints\[1\]: is 3, wanted an object"),
        (put("joints", 1, "unit", value="deg"), r"joints\[2\].unit: is \"deg\", wanted 'rad' or 'm'"),
        (put("joints", 1, "unit", value=[]), r"joints\[2\].unit"),
        (drop("joints", 1, "name"), r"joints\[2\].name: is missing"),
        (put("joints", 1, "name", value="turn"), "joints: joint 'turn' is named twice"),
        (put("joints", 1, "name", value=None), r"joints\[2\].name: is null, wanted a text"),
        (put("joints", 1, "name", value="\n"), "cannot be the name"),
        (put("joints", 1, "coefficients", value=None), r"joints\[2\].coefficients: is null, wanted a list"),
        (put("joints", 1, "coefficients", 3, value=None), r"joints\[2\].coefficients\[4\]: is null, wanted a valid"),
        (put("joints", 1, "coefficients", 3, value=float("nan")), "NaN is no JSON number"),
        (put("joints", 1, "coefficients", 3, value=float("inf")), "Infinity is no JSON number"),
        (put("joints", 1, "coefficients", 3, value=1e20), "joints: a coefficient is beyond 1e12"),
        (put("design", value={"a": float("nan")}), "NaN is no JSON number"),
    ],
)
def test_a_broken_file_is_refused_in_one_sentence(
    tmp_path: Path, good: dict[str, Any], change: Callable[[dict[str, Any]], None], problem: str
) -> None:
    document = json.loads(json.dumps(good))
    change(document)
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ExcitationError, match=problem) as caught:
        load_trajectory(path)
    assert caught.value.file == "a.json"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is not JSON"),
        (b"{\n1", "a.json, line 2: is not JSON"),
        (b"\xff\xfe", "is not text in UTF-8"),
        (b"[]", "is not a trajectory written by ident"),
        (b'{"format": 1, "format": 1}', "key 'format' stands there twice"),
        (b'{"format": "ident-trajectory-1", "design": {"a": 1e999}}', "design.a: is Infinity, wanted a finite number"),
        (b'{"format": "\\ud800"}', "not usable JSON"),
        (b"[" * 100_000, "nested too deeply|recursion"),
        (b'{"format": ' + b"1" * 5000 + b"}", "not usable JSON"),
    ],
)
def test_what_is_no_trajectory_file_is_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(ExcitationError, match=problem):
        load_trajectory(path)
    with pytest.raises(ExcitationError, match="cannot be read"):
        load_trajectory(tmp_path / "none.json")


def test_what_cannot_be_written_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for certificate in ({"x": float("nan")}, {"x": object()}, {"x": np.zeros(2)}, {"x": "\ud800"}):
        with pytest.raises(ExcitationError, match=r"certificate: cannot be written|certificate.x: is NaN"):
            save_trajectory(path, drawn(BASES[0]), ROBOT, certificate=certificate)

    @dataclass(frozen=True)
    class Mine:
        base: float = 1.0

        def __getattr__(self, name: str) -> Any:
            return getattr(Fourier(self.base, 5), name)

    for write in (save_trajectory, lambda path, x, r: write_trajectory(path, r, x)):
        with pytest.raises(ExcitationError, match="basis Mine"):
            write(path, Trajectory(Mine(), np.zeros((2, 11)), ROBOT.joint_names), ROBOT)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        save_trajectory(tmp_path / "file" / "a.json", drawn(BASES[0]), ROBOT)


def test_csv(tmp_path: Path) -> None:
    rows = drawn(BASES[0]).playback(50)
    path = write_csv(tmp_path / "a.csv", ROBOT, *rows)
    with path.open(encoding="utf-8", newline="") as file:
        comments = [file.readline(), file.readline()]
        header, *body = csv.reader(file)
    assert comments[0] == f'# Motion for robot "crane", fingerprint {ROBOT.fingerprint()}\n'
    assert comments[1] == "# SI units, one row per time; starts and ends at rest: yes\n"
    lift = 'a, "lift" ü'
    assert header == [
        "t [s]", "turn.q [rad]", f"{lift}.q [m]", "turn.qd [rad/s]", f"{lift}.qd [m/s]",
        "turn.qdd [rad/s^2]", f"{lift}.qdd [m/s^2]",
    ]  # fmt: skip
    np.testing.assert_array_equal(np.array(body, dtype=float), np.column_stack(rows))


def test_files_say_when_a_motion_does_not_rest(tmp_path: Path) -> None:
    rows = Trajectory(Fourier(1.0, 1), [[0, 1.0, 0], [0, 0, 0]], ROBOT.joint_names).playback(50)
    assert "at rest: NO" in write_csv(tmp_path / "a.csv", ROBOT, *rows).read_text(encoding="utf-8")
    assert "at rest: NO" in write_ros2(tmp_path / "a.yaml", ROBOT, *rows).read_text(encoding="utf-8")


def fields_of(message: Any) -> list[str]:
    return [field.name for field in fields(message) if not field.name.startswith("_")]


@pytest.mark.parametrize("name", ["crane", "two\nlines: [", "#*/ ??/", "\ud800"])
def test_ros2(tmp_path: Path, name: str) -> None:
    t, q, qd, qdd = drawn(BASES[1]).playback(30)
    q[1, 0], q[2, 0], qd[3, 1] = 1e-5, 2.0, -3e22  # repr gives 1e-05, which YAML 1.1 takes for text
    path = write_ros2(tmp_path / "a.yaml", crane(name), t, q, qd, qdd)
    text = path.read_text(encoding="utf-8")
    message = yaml.safe_load(text)
    assert set(message) == {"header", "joint_names", "points"}
    assert message["header"] == {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""}
    assert message["joint_names"] == list(ROBOT.joint_names)
    points = message["points"]
    assert all(set(p) == {"positions", "velocities", "accelerations", "time_from_start"} for p in points)
    for key, wanted in (("positions", q), ("velocities", qd), ("accelerations", qdd)):
        assert all(isinstance(x, float) for p in points for x in p[key])
        np.testing.assert_array_equal([p[key] for p in points], wanted)
    times = [p["time_from_start"] for p in points]
    assert all(0 <= x["nanosec"] < 10**9 for x in times)
    np.testing.assert_allclose([x["sec"] + 1e-9 * x["nanosec"] for x in times], t, rtol=0, atol=0.6e-9)
    assert f"fingerprint {ROBOT.fingerprint()}" in text.split("header")[0]

    types = get_typestore(Stores.ROS2_HUMBLE).types  # the message's definition, as ROS 2 has it
    assert set(message) == set(fields_of(types["trajectory_msgs/msg/JointTrajectory"]))
    assert set(points[0]) == set(fields_of(types["trajectory_msgs/msg/JointTrajectoryPoint"])) - {"effort"}
    assert set(times[0]) == set(fields_of(types["builtin_interfaces/msg/Duration"]))


def evaluated(header: Path, name: str, t: np.ndarray) -> np.ndarray:
    """q, qd, qdd, (N, 3, 2), of the compiled header."""
    source = header.with_suffix(".c")
    source.write_text(
        f'#include "{header.name}"\n'
        f"void run(double t, double *x) {{ {name}_evaluate(t, x, x + 2, x + 4); }}\n"
        f"double facts(int k) {{ return k ? {name.upper()}_JOINTS : {name.upper()}_DURATION; }}\n"
    )
    library = header.with_suffix(".so")
    subprocess.run([*STRICT, "-shared", "-fPIC", str(source), "-o", str(library), "-lm"], check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.run.argtypes = [ctypes.c_double, ctypes.POINTER(ctypes.c_double)]
    loaded.facts.restype = ctypes.c_double
    found = np.full((len(t) + 1, 3, 2), np.nan)
    for k, x in enumerate(t):
        loaded.run(x, found[k].ctypes.data_as(ctypes.POINTER(ctypes.c_double)))
    found[-1] = [[loaded.facts(0), loaded.facts(1)]] * 3
    return found


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_c_agrees(tmp_path: Path, basis: Basis) -> None:
    trajectory = drawn(basis)
    header = write_trajectory(tmp_path / "my-motion 1.h", crane("cr*/ane ??/ \\\n#error"), trajectory)
    inside = np.append(np.random.default_rng(1).uniform(0, basis.duration, 200), [0.0, basis.duration])
    beyond = np.array([-1.7, -3 * basis.duration, basis.duration + 1.3, 2.5 * basis.duration])
    t = np.concatenate([inside, beyond])
    *found, facts = evaluated(header, "my_motion_1", t)
    assert facts[0].tolist() == [basis.duration, 2.0]
    played = t if basis.periodic else np.clip(t, 0, basis.duration)
    for got, wanted in zip(np.array(found).transpose(1, 0, 2), trajectory.states(played), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())
    text = header.read_text(encoding="ascii")
    assert ROBOT.fingerprint() in text
    assert "turn [rad]" in text
    assert "malloc" not in text


def test_c_headers_stand_alone_and_beside_each_other(tmp_path: Path) -> None:
    lines = []
    for k, basis in enumerate(BASES):
        header = write_trajectory(tmp_path / f"m{k}.h", ROBOT, drawn(basis))
        lines += [f'#include "{header.name}"'] * 2
    (tmp_path / "all.c").write_text("\n".join([*lines, "int main(void) { return 0; }"]))
    subprocess.run([*STRICT, "-c", "all.c", "-o", "all.o"], check=True, cwd=tmp_path)


@pytest.mark.parametrize("write", [write_csv, write_ros2])
def test_rows_that_do_not_fit_are_refused(tmp_path: Path, write: Any) -> None:
    t, q, qd, qdd = drawn(BASES[0]).sample(20)
    path = tmp_path / "a"
    with pytest.raises(ExcitationError, match=r"qd must have shape \(267, 2\), got \(266, 2\)"):
        write(path, ROBOT, t, q, qd[1:], qdd)
    with pytest.raises(ExcitationError, match="times of a motion must ascend"):
        write(path, ROBOT, t[::-1], q, qd, qdd)
    with pytest.raises(ExcitationError, match=r"qdd\[0, 1\] is nan"):
        write(path, ROBOT, t, q, qd, np.where(np.arange(2) == 1, np.nan, qdd))
    with pytest.raises(ExcitationError, match="no samples"):
        write(path, ROBOT, t[:0], q[:0], qd[:0], qdd[:0])
    assert not path.exists()


def test_what_the_file_calls_a_basis_is_its_fields(tmp_path: Path) -> None:
    for basis in BASES:
        document = json.loads(save_trajectory(tmp_path / "a.json", drawn(basis), ROBOT).read_text(encoding="utf-8"))
        assert {k: v for k, v in document["basis"].items() if k != "kind"} == asdict(basis)
