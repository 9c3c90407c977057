"""Logs as files of factors: what is fitted from them is what is fitted from the logs."""

import json
from dataclasses import replace

import numpy as np
import pytest
from test_cli import call, change, made, record, two

from ident import pipelines
from ident.errors import ConfigError, InputError, RegressionError
from ident.estimate.least_squares import joint_noise, solve
from ident.estimate.storage import load_estimate
from ident.experiment import read_experiment
from ident.pipelines.factors import joined, load_factors, save_factors
from ident.regression import load_regression, save_regression

__all__ = ["made", "two"]  # fixtures

DATASET = '\n[[recording]]\nname = "{0}"\nfile = "{0}.csv"\n'


@pytest.fixture
def days(two):
    """Return the experiment with two more recordings to fit, and a file for each day's experiment."""
    text = (two / "experiment.toml").read_text()
    for seed, day in enumerate(("monday", "tuesday"), 7):
        with (two / "dataset.toml").open("a") as manifest:
            manifest.write(DATASET.format(day))
        record(two, day, seed)
    every = (("all", '"circle", "monday", "tuesday"'), ("one", '"circle"'), ("more", '"monday", "tuesday"'))
    for name, fit in every:
        (two / f"{name}.toml").write_text(text.replace('fit = ["circle"]', f"fit = [{fit}]"))
    return two


def alike(a, b, rtol: float = 1e-9) -> None:
    np.testing.assert_allclose(a.phi, b.phi, rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(a.covariance.matrix, b.covariance.matrix, rtol=1e-6, atol=1e-15)
    np.testing.assert_allclose(a.sigma, b.sigma, rtol=rtol)
    assert a.covariance.clusters == b.covariance.clusters
    assert a.weight == b.weight
    np.testing.assert_allclose(a.selection, b.selection, rtol=1e-6)
    assert (a.rows == b.rows).all()


@pytest.mark.parametrize("weight", ["vanishing", "cross-validated"])
def test_factors_give_the_estimate_of_their_logs(days, weight):
    for name in ("all", "one", "more"):
        change(days / f"{name}.toml", '"vanishing"', f'"{weight}"')
    logs = pipelines.fit(days / "all.toml", days / "logs.json")
    for name in ("one", "more"):
        (days / "many").mkdir(exist_ok=True)
        pipelines.compress(days / f"{name}.toml", days / "many" / f"{name}.npz")
    pooled = pipelines.fit(days / "all.toml", factors=[f"{days}/many/*.npz"])
    assert set(pooled.regression.recordings) == {"circle", "monday", "tuesday"}
    alike(pooled.estimate, logs.estimate)
    written = load_estimate(days / "logs.json").provenance
    assert {k: v for k, v in pooled.estimate.provenance.items() if k.startswith("sha256")} == {
        k: v for k, v in written.items() if k.startswith("sha256")
    }
    assert set(pooled.estimate.provenance["fitted on"].split(", ")) == set(written["fitted on"].split(", "))
    assert pooled.estimate.warnings == logs.estimate.warnings


def test_todays_log_is_appended_and_yesterdays_is_not_read_again(days, monkeypatch):
    pipelines.compress(days / "one.toml", days / "before.npz")
    read = []
    motions = pipelines.factors.motions

    def told(loaded, names, *rest):
        read.extend(names)
        return motions(loaded, names, *rest)

    monkeypatch.setattr(pipelines.factors, "motions", told)
    done = call("compress", days / "all.toml", "--append", days / "before.npz", "-o", days / "after.npz")
    assert done.exit_code == 0, done.output
    assert read == ["monday", "tuesday"]
    assert "3 recordings, 3540 rows" in done.stdout.replace("\n", " ")
    after = load_factors(days / "after.npz")
    alike(
        pipelines.fit(days / "all.toml", factors=[days / "after.npz"]).estimate,
        pipelines.fit(days / "all.toml").estimate,
        rtol=1e-12,
    )
    assert set(after.inputs) == {"circle.csv", "monday.csv", "tuesday.csv"}
    record(days, "circle", 99)
    with pytest.raises(ConfigError, match=r"'circle' is in 'after.npz' already, compressed from another 'circle.csv'"):
        pipelines.compress(days / "all.toml", days / "again.npz", append=days / "after.npz")
    assert not (days / "again.npz").exists()


def test_what_the_logs_chose_holds_for_the_days_that_follow(days):
    """Without [model] and [processing], friction and filters are those of the first day's logs."""
    for name in ("all", "one", "more"):
        change(days / f"{name}.toml", "[model]\ncoulomb = { tanh = 0.05 }\n", "")
        change(days / f"{name}.toml", "[processing]\nedge_s = 0.1\n", "")
    first = pipelines.compress(days / "one.toml", days / "one.npz")
    assert any(w.about == "friction" for w in first.warned)
    after = pipelines.compress(days / "all.toml", days / "all.npz", append=days / "one.npz")
    assert after.shapes == first.shapes
    assert after.processing == first.processing
    found = pipelines.fit(days / "all.toml", factors=[days / "all.npz"])
    assert found.loaded.model.fingerprint() == first.regression.model
    assert [w for w in found.warnings if w.about in ("friction", "processing")] == [
        w for w in first.warned if w.about in ("friction", "processing")
    ]


def test_what_filters_leave_in_pooled_days_is_what_least_squares_makes_of_each_days(days):
    files = [days / f"{name}.npz" for name in ("one", "more")]
    each = [pipelines.compress(days / f"{file.stem}.toml", file) for file in files]
    rng, sigma = np.random.default_rng(3), joint_noise(joined(each).regression)
    bias = [rng.normal(size=len(f.regression.base.names)) for f in each]
    for factors, file, own in zip(each, files, bias, strict=True):
        told = dict(zip(factors.regression.base.names, own.tolist(), strict=True))
        save_factors(replace(factors, bias=told), file)
    found = joined([load_factors(file) for file in files])
    changed = replace(
        found.regression,
        segments=tuple(
            replace(s, identity=str(k))
            for k, (f, b) in enumerate(zip(each, bias, strict=True))
            for s in f.regression.shifted(b).segments
        ),
    )
    wanted = solve(changed, sigma) - solve(found.regression, sigma)
    np.testing.assert_allclose(list(found.bias.values()), wanted, rtol=1e-6, atol=1e-8)
    pooled, plain = (
        pipelines.fit(days / "all.toml", factors=paths).estimate.covariance.matrix
        for paths in (files, [pipelines.compress(days / "all.toml", days / "all.npz") and days / "all.npz"])
    )
    np.testing.assert_allclose(pooled - plain, np.outer(wanted, wanted), rtol=1e-4, atol=1e-8)


def test_logs_that_were_filtered_differently_are_named_and_kept_as_such(days, caplog):
    for name, hz in (("all", 8), ("one", 10), ("more", 8)):
        change(days / f"{name}.toml", "edge_s = 0.1", f"edge_s = 0.1\nposition_hz = {hz}")
    pipelines.compress(days / "one.toml", days / "one.npz")
    pipelines.compress(days / "more.toml", days / "two.npz")
    assert "another way" not in caplog.text
    pipelines.compress(days / "all.toml", days / "all.npz", append=days / "one.npz")
    told = (
        "factors: logs were processed in another way than the first: 'monday' (position_hz 8.0 in place of 10.0),"
        " 'tuesday' (position_hz 8.0 in place of 10.0); compress all with one [processing], unless each needs its own"
    )
    assert caplog.text.count(told) == 1
    for files in ([days / "one.npz", days / "two.npz"], [days / "all.npz"]):
        estimate = pipelines.fit(days / "all.toml", factors=files).estimate
        assert estimate.warnings.count(told) == 1
        kept = {k: v for k, v in estimate.provenance.items() if k.startswith("processing") and "validate" not in k}
        other = "position_hz = 8.0, edge_s = 0.1"
        assert kept == {
            "processing": "position_hz = 10.0, edge_s = 0.1",
            "processing of monday": other,
            "processing of tuesday": other,
        }


def test_factors_of_another_model_are_named(days):
    many = days / "many"
    pipelines.compress(days / "one.toml", many / "a.npz")
    change(days / "more.toml", "tanh = 0.05", "tanh = 0.1")
    pipelines.compress(days / "more.toml", many / "b.npz")
    change(days / "robot.toml", 'name = "two"', 'name = "other"')
    pipelines.compress(days / "more.toml", many / "c.npz")
    change(days / "robot.toml", 'name = "other"', 'name = "two"')
    done = call("fit", days / "one.toml", "--factors", many / "*.npz", "-o", days / "none.json")
    assert done.exit_code == 2
    assert done.stderr == (
        "error: 2 of 3 files of factors are of another model than the experiment's: b.npz (shoulder.coulomb with tanh"
        " 0.1, not tanh 0.05), c.npz (robot 'other', not 'two'). Leave them out, or compress their logs with one robot"
        " file and one [model].\n"
    )
    assert not (days / "none.json").exists()


def test_recordings_of_one_name_are_told_apart_and_held_out_ones_stay_known(days):
    pipelines.compress(days / "one.toml", days / "a.npz")
    record(days, "circle", 11)
    pipelines.compress(days / "one.toml", days / "b.npz")
    found = pipelines.fit(days / "one.toml", days / "e.json", factors=[days / "a.npz", days / "b.npz"])
    assert found.regression.recordings == ("a/circle", "b/circle")
    assert set(found.estimate.provenance["fitted on"].split(", ")) == {"a/circle", "b/circle", "circle"}
    assert {"sha256 a/circle.csv", "sha256 b/circle.csv"} <= set(found.estimate.provenance)
    assert pipelines.validate(days / "e.json", days).validation.recordings[0].held_out
    change(days / "experiment.toml", 'fit = ["circle"]\nvalidate = ["steps"]', 'fit = ["steps"]\nvalidate = ["circle"]')
    assert not pipelines.validate(days / "e.json", days).validation.recordings[0].held_out


def test_one_log_twice_no_file_and_old_files_are_refused(days):
    pipelines.compress(days / "one.toml", days / "a.npz")
    pipelines.compress(days / "one.toml", days / "b.npz")
    with pytest.raises(RegressionError, match=r"b.npz: holds the same numbers of 'circle' as 'a.npz'. Give each log"):
        pipelines.fit(days / "one.toml", factors=[days / "a.npz", days / "b.npz"])
    with pytest.raises(InputError, match=r"--factors: there is no file 'none/\*.npz'"):
        pipelines.fit(days / "one.toml", factors=["none/*.npz"])
    save_regression(load_regression(days / "a.npz"), days / "old.npz")
    with pytest.raises(RegressionError, match=r"old.npz: says nothing of its logs, as earlier releases wrote it"):
        pipelines.fit(days / "one.toml", factors=[days / "old.npz"])


def test_run_writes_factors_that_can_be_fitted(two):
    pipelines.run(two, two / "out")
    found = pipelines.fit(two, factors=[two / "out" / "factors.npz"])
    alike(found.estimate, load_estimate(two / "out"), rtol=1e-8)


@pytest.mark.parametrize(
    "damage",
    [
        {"robot": 3},
        {"processing": [{"position_hz": -1}, {}]},
        {"processing": [{"__class__": "x"}, {}]},
        {"shapes": {"shoulder.coulomb": {"tanh": "wide"}}},
        {"shapes": {"shoulder.coulomb": {"tanh": 1e999}}},
        {"warned": [["a", "b"]]},
        {"inputs": ["circle.csv"]},
        {"repeated": [1]},
    ],
)
def test_what_a_file_says_of_its_logs_is_checked(two, damage):
    path = two / "a.npz"
    pipelines.compress(two, path)
    with np.load(path) as stored:
        arrays = {k: stored[k] for k in stored.files}
    header = json.loads(bytes(arrays["header"]))
    header["about"] |= damage
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, **arrays)
    with pytest.raises(RegressionError, match=r"a.npz: what it says of its logs is damaged"):
        load_factors(path)


def test_packed_members_are_refused(two):
    """A small file could hold terabytes of zeros."""
    path = two / "a.npz"
    pipelines.compress(two, path)
    with np.load(path) as stored:
        np.savez_compressed(path, **{k: stored[k] for k in stored.files})
    with pytest.raises(RegressionError, match="is not a file of factors written by ident, or it is damaged"):
        load_factors(path)


def test_nothing_half_written_is_left(two, monkeypatch):
    found = pipelines.compress(two, two / "a.npz")
    before = (two / "a.npz").read_bytes()
    from pathlib import Path

    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match=r"a.npz: cannot be written: No space left on device"):
        save_factors(found, two / "a.npz")
    assert (two / "a.npz").read_bytes() == before
    assert read_experiment(two).name
