"""Every experiment reaches its expected figures; published numbers are met."""

import csv
import os
import re
import tomllib
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from logs_data import ROOT, real_data
from seeds import ALL

from ident.compare.delays import delays
from ident.estimate.least_squares import solve
from ident.experiment import read_experiment
from ident.logs import process, read_log
from ident.pipelines.identify import run
from ident.pipelines.loaded import load
from ident.pipelines.steps import Result, check_expected, motions
from ident.regression import compress
from ident.spatial.inertia import consistency

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("sketched")]

FILES = sorted(p.relative_to(ROOT / "experiments").as_posix() for p in (ROOT / "experiments").glob("*/*.toml"))
FILES = [name for name in FILES if not name.startswith("minimal/")]  # those measure the defaults: nothing is expected
RUN = [name for name in FILES if name != "arm5/experiment.toml"]  # which test_demo.py runs as a page shows it

#: Whose causes are looked for, of the real logs: half of what a run does. With `--seeds 20` those of all are.
EXAMINED = "ur10e/experiment.toml"


@pytest.fixture(autouse=True, scope="module")
def _ident_data():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IDENT_DATA", os.environ.get("IDENT_DATA") or str(ROOT.parent / "shared" / "data"))
        yield


@pytest.fixture(scope="module")
def result(request, tmp_path_factory):
    """Run an experiment once, however many tests look at it."""
    done: dict[str, Result] = {}

    def of(name: str) -> Result:
        if name not in done:
            file = ROOT / "experiments" / name
            text = file.read_text(encoding="utf-8") + _manifest(file).read_text(encoding="utf-8")
            if "$IDENT_DATA" in text:
                real_data()
            out = tmp_path_factory.mktemp("results") / "out"
            with pytest.MonkeyPatch.context() as patch:
                if "$IDENT_DATA" in text and request.config.getoption("--seeds") < ALL:
                    patch.setattr(import_module("ident.compare.causes.causes"), "MOST", 1)  # as `one_round` has it
                    if name != EXAMINED:
                        patch.setattr(import_module("ident.pipelines.doctor"), "suspicious", lambda _: False)
                done[name] = run(read_experiment(file), out)
        return done[name]

    return of


def _manifest(file):
    return file.parent / tomllib.loads(file.read_text(encoding="utf-8"))["experiment"]["data"]


def test_there_are_experiments():
    assert {"arm5/experiment.toml", "emps/experiment.toml", "tx40/published.toml", "ur10e/published.toml"} <= set(FILES)


@pytest.mark.parametrize("name", RUN)
def test_experiment_is_as_expected(name, result):
    require_expected(result(name))


def require_expected(result):
    checked = check_expected(result)
    missed = [f"{c.name} is {c.found:.6g}, wanted {c.wanted:g} +- {c.tolerance:g}" for c in checked if not c.met]
    assert checked, "an experiment without expected figures proves nothing"
    assert not missed, missed


@pytest.mark.parametrize("name", RUN)
def test_links_that_are_written_can_exist(name, result):
    require_links(result(name))


def require_links(result):
    estimate, model = result.estimate, result.loaded.model
    if estimate.theta is not None:
        assert all(consistency(body).consistent for body in estimate.inertials)
        assert (estimate.theta[model.n_rigid :][model.nonnegative] >= 0).all()


class TestUR10e:
    """The authors' published parameters, in their own gains."""

    @pytest.mark.parametrize(("recording", "percent"), [("train-30s", 5.47), ("ptp", 5.65), ("train-50s", 5.30)])
    def test_published_parameters_predict_as_published(self, recording, percent):
        text = (real_data("ur10e") / "UR10E_parameters.txt").read_text(encoding="utf-8")

        def numbers(name: str) -> np.ndarray:
            return np.array(re.search(rf"{name} = \[([^\]]*)\]", text).group(1).split(), dtype=float)

        real_data("ur10e")
        loaded = load(read_experiment(ROOT / "experiments" / "ur10e" / "published.toml"))
        rigid = numbers("pi_rgd").reshape(6, 10)[:, [9, 6, 7, 8, 0, 1, 2, 3, 4, 5]]
        friction = numbers("pi_frcn").reshape(6, 3)
        theta = np.concatenate([rigid.ravel(), numbers("pi_drvs"), friction.T.ravel()])
        motion = motions(loaded, [f"{recording}-published-gains"], loaded.experiment.processing, [])
        regression = compress(loaded.model, motion, base=loaded.base)
        squared = regression.squared_residuals(loaded.base.K @ theta)
        assert 100 * np.sqrt(squared.sum() / regression.squared_torques.sum()) == pytest.approx(percent, abs=0.05)


class TestTX40:
    """The base parameters that FIGAROH published, and a misaligned log."""

    def test_base_parameters_are_those_published(self, result):
        estimate = result("tx40/published.toml").estimate
        off = self.distance(dict(zip(estimate.base.names, estimate.phi, strict=True)))
        assert len(off) == 60  # they lost Ia6
        assert {name for name, z in off.items() if z > 1.0} == {"my6", "Iyz6"}

    def test_all_of_them_when_the_acceleration_of_joint_6_is_lost_as_it_was_there(self):
        """Why the two differ, and the other faults of the published program: experiments/tx40/README.md."""
        real_data("staubli_tx40")
        loaded = load(read_experiment(ROOT / "experiments" / "tx40" / "published.toml"))
        (motion,) = motions(loaded, ["all"], loaded.experiment.processing, [])
        faulty = replace(motion, qdd=motion.qdd * [1, 1, 1, 1, 1, 0])
        phi = solve(compress(loaded.model, faulty, base=loaded.base), np.ones(6))
        off = self.distance(dict(zip(loaded.base.names, phi, strict=True)))
        assert len(off) == 60
        assert max(off.values()) < 1.0, off

    @staticmethod
    def distance(phi: dict[str, float]) -> dict[str, float]:
        """Return how far each published value is from ours, in published standard deviations."""
        # Their wrist couples joints 5 and 6 by the off-diagonal alone; ours turns the motor with both.
        for term in ("drive_inertia", "viscous"):
            for joint in ("joint_5", "joint_6"):
                phi[f"{joint}.{term}"] += phi[f"motor_6.{term}"]
        off = {}
        with (real_data("staubli_tx40") / "results_figaroh" / "TX40_bp_5.csv").open(newline="") as file:
            for expression, value, percent, *_ in csv.reader(file):
                error = abs(float(value)) * float(percent) / 100
                name = expression.split(maxsplit=1)[0]
                off[name] = abs(phi[_published_name(name)] - float(value)) / error
        return off

    def test_a_misaligned_torque_is_found(self):
        """Late by 8 ms, early by 6 ms: the difference of what is found is theirs, whatever the log has of its own."""
        real_data("staubli_tx40")
        loaded = load(read_experiment(ROOT / "experiments" / "tx40" / "published.toml"))
        log = read_log(loaded.manifest, "all", loaded.robot)
        processing = replace(loaded.experiment.processing, start_s=0.1, stop_s=7.4, edge_samples=0)
        late, early = (
            delays(
                loaded.model, process(replace(log, tau=np.roll(log.tau, samples, axis=0)), processing), base=loaded.base
            ).seconds
            for samples in (40, -30)
        )
        assert np.median(early - late) == pytest.approx(14e-3, abs=0.5e-3)
        np.testing.assert_allclose(early - late, 14e-3, atol=2.5e-3)


def _published_name(expression: str) -> str:
    """Translate the first term of a published grouping, such as `mx2`, into our name of it."""
    kind, number = re.fullmatch(r"([A-Za-z]+?)(m?\d)", expression).groups()
    terms = {"Ia": "drive_inertia", "fv": "viscous", "fs": "coulomb", "off": "offset"}
    if kind in terms:
        return f"motor_6.{terms[kind]}" if number == "m6" else f"joint_{number}.{terms[kind]}"
    return f"link_{number}.{ {'mx': 'hx', 'my': 'hy', 'mz': 'hz'}.get(kind, kind) }"


def test_experiments_have_a_readme():
    assert all((Path(ROOT / "experiments" / name).parent / "README.md").is_file() for name in FILES)
