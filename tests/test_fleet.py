"""Many robots beside each other: who stands out, who drifted, who could not be fitted."""

import re

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from test_cli import TRUE, call, change, line_of, made, record

from ident import pipelines
from ident.compare.difference import COLUMNS, compared
from ident.errors import ConfigError, InputError
from ident.pipelines import Sharing
from ident.pipelines.fleet import read_table
from ident.report.several import drawing

__all__ = ["made"]  # a fixture

FLEET = '[fleet]\ntitle = "Six arms"\n'
SHARED = FLEET + 'experiment = "experiment.toml"\ndata = ["robots/*/dataset.toml"]\n'
ROBOTS = 6


@pytest.fixture(scope="module")
def arms(made, tmp_path_factory):
    """Return a folder of six arms of one kind, each with its own logs; the fourth elbow rubs more."""
    folder = tmp_path_factory.mktemp("arms")
    for file in made.iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    (folder / "fleet.toml").write_text(SHARED)
    with pytest.MonkeyPatch.context() as patch:
        for k in range(ROBOTS):
            place = folder / "robots" / f"arm{k}"
            place.mkdir(parents=True)
            for file in ("robot.toml", "dataset.toml", "experiment.toml", "cad.csv", "truth.toml"):
                (place / file).write_bytes((folder / file).read_bytes())
            patch.setitem(TRUE, "elbow.coulomb", 0.6 if k == 3 else 0.3)
            for name in ("circle", "steps"):
                record(place, name, 10 * k + (name == "steps"))
    return folder


@pytest.fixture
def six(arms, tmp_path):
    for file in arms.rglob("*"):
        if file.is_file():
            place = tmp_path / file.relative_to(arms)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.read_bytes())
    return tmp_path


@pytest.mark.slow
def test_a_worn_joint_stands_out(six):
    found = pipelines.fleet(six / "fleet.toml", six / "out")
    assert found.standing_out == ("arm3",)
    assert not found.failed
    table = pq.read_table(six / "out" / "fleet.parquet").to_pandas()
    assert tuple(table.columns[: len(COLUMNS)]) == COLUMNS
    assert table["robot"].nunique() == ROBOTS
    out = table[table["stands_out"]]
    assert set(out["parameter"]) == {"elbow.coulomb"}
    alone = pipelines.fit(six / "robots" / "arm3").estimate
    row = table[(table["robot"] == "arm3") & (table["parameter"] == "elbow.coulomb")].iloc[0]
    k = alone.base.names.index("elbow.coulomb")
    assert row["value"] == alone.phi[k]
    assert row["standard_error"] == alone.covariance.standard_errors[k]
    assert row["verdict"] == "Ready to use"
    assert row["torque_error"] < 0.1
    page = (six / "out" / "fleet.html").read_text(encoding="utf-8")
    assert "elbow.coulomb: 1 of 6 robots stand out" in page
    assert "<p>The pictures need a browser that runs scripts; fleet.parquet has their numbers.</p>" in page
    assert re.search(r"&#39;arm3&#39;: elbow.coulomb is 0\.\d+ N m, the fleet&#39;s 0\.\d+", page)


@pytest.mark.parametrize("robots", [5, 400])
def test_a_picture_names_its_parameter_and_its_robots(robots):
    names = [f"arm{k}" for k in range(robots)]
    same = {"parameter": "elbow.coulomb", "unit": "N m", "standard_error": 0.1, "dof": 9, "median": 0.0, "spread": 1.0}
    values = {"robot": names, "value": np.linspace(-1.0, 1.0, robots), "stands_out": False}
    drawn = drawing(pd.DataFrame(same | values), "elbow.coulomb")
    assert drawn.title == f"elbow.coulomb: {robots} robots are alike"
    (panel,) = drawn.panels
    assert panel.y.words == "elbow.coulomb [N m]"
    said = dict(panel.x.ticks)
    assert 5 <= len(said) <= 16
    assert all(name == names[int(x)] for x, name in said.items())


@pytest.mark.slow
def test_broken_logs_stop_nothing_and_are_listed(six):
    line_of(six / "robots" / "arm1" / "circle.csv", 7, lambda s: [s.replace(",", ",x", 1)])
    (six / "robots" / "arm2" / "circle.csv").unlink()
    change(six / "robots" / "arm4" / "dataset.toml", "[signals]", "[singals]")
    done = call("fleet", six / "fleet.toml", "-o", six / "out", "--workers", 2)
    assert done.exit_code == 4, done.output
    assert "not fitted: arm1: circle.csv, line 7" in done.stderr
    assert "not fitted: arm2: dataset.toml: there is no file 'circle.csv' in the data folder." in done.stderr
    assert "not fitted: arm4: dataset.toml, singals: is not a known key here" in done.stderr
    assert "3 robots fitted, 3 not; 0 stand out" in done.stdout
    table = pq.read_table(six / "out" / "fleet.parquet").to_pandas()
    lost = table[table["verdict"] == "failed"]
    assert lost["robot"].tolist() == ["arm1", "arm2", "arm4"]
    assert lost["parameter"].isna().all()
    assert "circle.csv, line 7" in (six / "out" / "fleet.html").read_text(encoding="utf-8")
    alone = pipelines.fleet(six / "fleet.toml", six / "alone").table
    for name in ("value", "standard_error"):
        np.testing.assert_array_equal(table[name].dropna(), alone[name].dropna())


@pytest.mark.slow
def test_drift_since_an_earlier_table(six, monkeypatch):
    pipelines.fleet(six / "fleet.toml", six / "may")
    monkeypatch.setitem(TRUE, "shoulder.viscous", 0.8)
    record(six / "robots" / "arm5", "circle", 77)
    done = call("fleet", six / "fleet.toml", "-o", six / "june", "--against", six / "may" / "fleet.parquet")
    assert done.exit_code == 0, done.output
    assert "1 drifted since fleet.parquet" in done.stdout
    table = pq.read_table(six / "june" / "fleet.parquet").to_pandas()
    assert set(table["robot"][table["drifted"]]) == {"arm5"}
    assert "shoulder.viscous" in set(table["parameter"][table["drifted"]])
    same = table[table["robot"] == "arm0"]
    np.testing.assert_array_equal(same["earlier"], same["value"])


@pytest.mark.slow
def test_each_robot_may_have_its_own_experiment(six):
    (six / "fleet.toml").write_text(FLEET + 'experiments = ["robots/*/experiment.toml"]\n')
    own = six / "robots" / "arm5" / "experiment.toml"
    change(own, "[model]\ncoulomb = { tanh = 0.05 }\n", "")
    change(own, "[processing]\nedge_s = 0.1\n", "")
    change(own, "[fit]\n", '[calibrate]\ngains = true\n\n[fit]\nloss = "huber"\n')
    found = pipelines.fleet(six / "fleet.toml")
    assert found.path == six / "fleets" / "fleet"
    assert found.standing_out == ("arm3",)
    rows, alone = found.table[found.table["robot"] == "arm5"], pipelines.fit(own).estimate
    assert rows["parameter"].tolist() == list(alone.base.names)
    np.testing.assert_array_equal(rows["value"], alone.phi)
    np.testing.assert_array_equal(rows["standard_error"], alone.covariance.standard_errors)


def test_a_worker_that_dies_of_one_robot_costs_that_robot_alone(tmp_path):
    pytest.importorskip("distributed")
    from at_workers import deadly

    from ident.pipelines.cluster import mapped, sharing

    with sharing(Sharing(workers=1)) as client:  # a single one, so that 3 to 5 wait behind the deadly one
        client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 1))
        items = (1, 2, 3, 4, 5)
        told = list(mapped(client, deadly, str(tmp_path), items, lambda *_: None, "trying", "{}: {}".format))
    assert [told[0], *told[2:]] == [1, 3, 4, 5]
    assert told[1].startswith("2: 2: workers die of it, one after the other: too little memory?")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[fleet]\ntitle = "x"\n', "fleet.toml, fleet.experiment: is missing"),
        (SHARED.replace("data", "date"), "fleet.date: is not a known key here; did you mean 'data'?"),
        (SHARED.replace("robots/", "robbots/"), "fleet.data: no file is called 'robbots/*/dataset.toml'. Correct"),
        (SHARED.replace("robots/", "/robots/"), "fleet.data: '/robots/*/dataset.toml' is no pattern. Give it relative"),
        (SHARED.replace('"experiment.toml"', '"none.toml"'), "none.toml: there is no such file in"),
    ],
)
def test_mistakes_in_the_file_are_named(six, text, message):
    (six / "fleet.toml").write_text(text)
    with pytest.raises(ConfigError, match=re.escape(message)):
        pipelines.fleet(six / "fleet.toml", six / "out")
    assert not (six / "out").exists()


def test_other_tables_are_refused(six):
    pd.DataFrame({"a": [1]}).to_parquet(six / "a.parquet")
    pd.DataFrame({k: [1.0] for k in COLUMNS}).to_parquet(six / "b.parquet")
    (six / "c.parquet").write_text("PAR1")
    for name, why in (
        ("a", "cannot be read as"),
        ("b", "are no texts"),
        ("c", "cannot be read"),
        ("d", "no such file"),
    ):
        with pytest.raises(InputError, match=rf"{name}.parquet: .*{why}"):
            read_table(six / f"{name}.parquet")


def test_where_all_fail_there_is_no_table(six):
    for log in six.glob("robots/*/circle.csv"):
        log.unlink()
    with pytest.raises(InputError, match=r"none of 6 robots could be fitted; 'arm0': dataset.toml: there is no file"):
        pipelines.fleet(six / "fleet.toml", six / "out")
    assert not (six / "out").exists()


def rows(values, errors, dof: int = 20) -> pd.DataFrame:
    told = [(f"r{k}", "a.m", "kg", v, e, dof, 0.1, "", "") for k, (v, e) in enumerate(zip(values, errors, strict=True))]
    return pd.DataFrame(told, columns=list(COLUMNS))


def test_noise_alone_stands_out_in_one_fleet_of_a_hundred():
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        table = rows(rng.normal(3.0, 0.1, 60), np.full(60, 0.1))
        older = rows(rng.normal(3.0, 0.1, 60), np.full(60, 0.1))
        found = compared(table, older)
        alarms += bool(found["stands_out"].any()) + bool(found["drifted"].any())
    assert alarms <= 5  # of 120; medians of 60 numbers are not exact


def test_few_robots_and_open_parameters_are_not_judged():
    few = compared(rows([1.0, 1.0, 1.0, 9.0], [0.1] * 4))
    assert few["deviation"].isna().all()
    assert not few["stands_out"].any()
    values, errors = [1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 50.0, 60.0], [0.1] * 6 + [np.nan, 0.1]
    found = compared(rows(values, errors))
    assert found["stands_out"].tolist() == [False] * 7 + [True]
    assert np.isnan(found["deviation"][6])
    alike = compared(rows([2.0] * 6, [0.0] * 6))
    assert not alike["stands_out"].any()
