"""A term of one's own, defined outside the package: what CONTRIBUTING's recipe says, from experiment.toml to C code."""

from __future__ import annotations

import ctypes
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from test_cli import BROKEN, EXPERIMENT, TRUE
from test_export_controllers import c_library, module

from ident.errors import ConfigError, ModelError
from ident.estimate import fitted_model
from ident.estimate.storage import load_estimate
from ident.experiment import read_experiment
from ident.export.formats import export_to
from ident.model import TERMS, Model, register, torque
from ident.model.term import Kind
from ident.pipelines.identify import run
from ident.pipelines.loaded import load
from ident.simulation import acceleration, plant, rollouts, simulate, simulate_fixed

# ---- the recipe: 25 lines -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Breakaway:
    """tau_j = Fs_j exp(-(qd_j / speed)^2) tanh(qd_j / width): what friction has near standstill and loses with speed.

    speed, width [rad/s; m/s]; joints: names of the joints that have it, None for all.
    """

    speed: float
    width: float = 0.05
    joints: tuple[str, ...] | None = None
    nonnegative: ClassVar[bool] = True
    kind: ClassVar[Kind] = Kind(
        "breakaway",
        "Breakaway friction",
        "torque = value * exp(-(qd / speed)^2) tanh(qd / width)",
        ("N m", "N"),
        friction=True,
    )

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        return np.exp(-((qd / self.speed) ** 2)) * np.tanh(qd / self.width)

    symbol = column


# ---- and what follows from it ---------------------------------------------------------------------------------------

WISHED = EXPERIMENT.replace("[fit]", "breakaway = { speed = 0.4 }\n\n[fit]")
FRICTION = {"shoulder.breakaway": 0.8, "elbow.breakaway": 0.5}


@pytest.fixture(scope="module")
def registered():
    before = list(TERMS)
    register(Breakaway)
    yield
    TERMS[:] = before


@pytest.fixture(scope="module")
def folder(registered, tmp_path_factory) -> Path:
    """Return a folder with an experiment that asks for the term and two recordings of an arm that has it."""
    folder = tmp_path_factory.mktemp("own")
    for file in ("robot.toml", "dataset.toml", "cad.csv"):
        shutil.copy(BROKEN / "experiment" / file, folder / file)
    (folder / "experiment.toml").write_text(WISHED)
    truth = TRUE | FRICTION
    (folder / "truth.toml").write_text("[parameters]\n" + "".join(f'"{k}" = {v}\n' for k, v in truth.items()))
    model = load(read_experiment(folder)).model
    for seed, name in enumerate(("circle", "steps")):
        rng = np.random.default_rng(seed)
        t = np.arange(3000) / 100.0
        w, phase = 2 * np.pi * np.array([0.11, 0.31, 0.7])[:, None], rng.uniform(0, 6, (2, 3, 1))
        q, qd, qdd = (
            np.array([(w**k * 0.5 / w * np.sin(w * t + p + k * np.pi / 2)).sum(axis=0) for p in phase]).T
            for k in range(3)
        )
        tau = torque(model, [truth[x] for x in model.names], q, qd, qdd) + 0.02 * rng.standard_normal(q.shape)
        np.savetxt(folder / f"{name}.csv", np.column_stack([t, q, tau]), fmt="%.9g", delimiter=",")
    run(read_experiment(folder))
    return folder


@pytest.fixture(scope="module")
def fitted(folder):
    estimate = load_estimate(next((folder / "results").rglob("estimate.json")))
    return estimate, fitted_model(estimate, load(read_experiment(folder)).robot)


@pytest.mark.slow
def test_the_experiment_names_its_numbers_and_its_mistakes(folder, tmp_path):
    assert Breakaway(0.4) in read_experiment(folder).terms
    for given, message in (
        ("{ sped = 0.4 }", "model.breakaway.sped: is not a known key here; did you mean 'speed'?"),
        ("{ width = 0.1 }", "model.breakaway.speed: is missing, wanted a number"),
        ("true", "model.breakaway: is true, wanted a table such as { speed = ..., width = ... }, or a list of such"),
    ):
        for file in ("robot.toml", "dataset.toml", "cad.csv"):
            shutil.copy(folder / file, tmp_path / file)
        shutil.copy(folder / "truth.toml", tmp_path / "truth.toml")
        (tmp_path / "experiment.toml").write_text(WISHED.replace("{ speed = 0.4 }", given))
        with pytest.raises(ConfigError) as caught:
            read_experiment(tmp_path)
        assert message in str(caught.value)


def test_the_fit_finds_it_and_the_file_keeps_it(fitted):
    estimate, model = fitted
    assert estimate.shapes["elbow.breakaway"] == {"speed": 0.4, "width": 0.05}
    assert Breakaway(0.4, 0.05, ("shoulder", "elbow")) in model.terms
    for name, value in FRICTION.items():
        assert estimate.value(name) == pytest.approx(value, abs=0.05)


def test_the_report_says_it(folder):
    html = next((folder / "results").rglob("report.html")).read_text()
    assert "elbow.breakaway" in html
    assert "Breakaway 0." in html  # in the title of the friction curve


@pytest.mark.slow
def test_simulations_have_it(fitted):
    estimate, model = fitted
    p = plant(model, estimate.theta)
    q, qd, qdd = np.random.default_rng(0).normal(0, 0.5, (3, 20, 2))
    again = acceleration(p, q, qd, torque(model, estimate.theta, q, qd, qdd))
    np.testing.assert_allclose(again, qdd, rtol=1e-8, atol=1e-8)
    assert "Breakaway friction besides" in p.friction_law
    fixed = simulate_fixed(p, [0.3, -0.2], [0.0, 0.5], 0.2, 1e-3)
    many = rollouts(p, [[0.3, -0.2]], [[0.0, 0.5]], np.zeros((201, 2)), 1e-3)
    np.testing.assert_allclose(many.q[0], fixed.q, atol=1e-10)
    np.testing.assert_allclose(simulate(p, [0.3, -0.2], [0.0, 0.5], fixed.t).q, fixed.q, atol=1e-6)


def test_code_has_it(fitted, tmp_path):
    estimate, model = fitted
    paths = [
        export_to(form, estimate, tmp_path / f"arm.{end}", robot=model.robot, unvalidated=True)
        for form, end in (("c", "h"), ("python", "py"))
    ]
    assert all(done.notes == () for done in paths)
    library, python = c_library(paths[0].path), module(paths[1].path)
    assert library("self_test")() == 0
    python.self_test()
    assert "friction also: breakaway: torque = value * exp(" in paths[0].path.read_text()
    for state in np.random.default_rng(1).normal(0, 0.5, (20, 3, 2)):
        found = np.empty((2, 2))
        arguments = [ctypes.c_void_p(x.ctypes.data) for x in state]
        library("inverse_dynamics")(*arguments, ctypes.c_void_p(found[0].ctypes.data))
        library("friction")(arguments[1], ctypes.c_void_p(found[1].ctypes.data))
        expected = torque(model, estimate.theta, *state[:, None])[0]
        np.testing.assert_allclose(found.sum(axis=0), expected, rtol=1e-4, atol=1e-4)  # written with fewer digits
        both = python.inverse_dynamics(*state) + python.friction(state[1])
        np.testing.assert_allclose(found.sum(axis=0), both, rtol=1e-9, atol=1e-9)


def test_without_a_symbol_the_file_says_what_it_lacks(fitted, tmp_path, monkeypatch):
    estimate, model = fitted
    monkeypatch.delattr(Breakaway, "symbol")
    (note,) = export_to("c", estimate, tmp_path / "arm.h", robot=model.robot, unvalidated=True).notes
    assert note.startswith("Not in this file, the controller has to add it: shoulder.breakaway 0.8")


def test_slopes_are_found_where_none_are_given(registered, folder):
    robot = load(read_experiment(folder)).robot
    model, x = Model(robot, (Breakaway(0.4),)), np.random.default_rng(2).normal(0, 0.3, (3, 30, 2))
    found = model.term_pull_back(*x, np.ones((2, 30)))
    u, t = (x[1] / 0.4), np.tanh(x[1] / 0.05)
    np.testing.assert_allclose(found[1], np.exp(-(u**2)) * ((1 - t**2) / 0.05 - 2 * u / 0.4 * t), rtol=1e-6, atol=1e-7)
    assert not found[[0, 2]].any()


def test_a_signal_is_asked_for_by_name(registered, folder, monkeypatch):
    robot = load(read_experiment(folder)).robot
    monkeypatch.setattr(Breakaway, "needs", ("temprature",), raising=False)
    with pytest.raises(ModelError, match=r"Breakaway friction asks for the signal 'temprature', which nobody gives"):
        torque(Model(robot, (Breakaway(0.4),)), np.zeros(22), *np.zeros((3, 1, 2)))
    with pytest.raises(ModelError, match="motions are designed without Breakaway friction"):
        Model(robot, (Breakaway(0.4),)).term_pull_back(*np.zeros((3, 1, 2)), np.zeros((2, 1)))


def test_a_kind_is_registered_once(registered):
    with pytest.raises(ModelError, match="Breakaway has the kind and the fields of Breakaway already"):
        register(Breakaway)
