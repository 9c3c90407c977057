"""`ident.fit`: words that are independent of each other, and a result that predicts, validates, exports, is kept."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from identified import NOISE, case, moved

import ident
from ident.errors import IdentError, ModelError, RegressionError, UnusableError
from ident.estimate import Tolerances
from ident.model import regressor
from ident.regression import compress
from ident.regression.given import given_model
from ident.spatial.inertia import consistency

BLOCKS = tuple((k, k + 90) for k in range(0, 900, 90))


def motion(name="a", seed=3):
    c = case()
    return moved(name, c.model, c.theta, seed, samples=900, blocks=BLOCKS)


def fitted():
    return [case().fit, motion("b", 4)]


LOSS, FEASIBLE, COVARIANCE = ("ols", "wls"), (True, False), ("segments", "classical")
WEIGHTS = (None, "cross-validated", "vanishing", 0.01, 0.0)
METRICS = (None, "pull-back", "euclidean")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "feasible", "weight", "metric", "covariance"),
    [
        words
        for k, words in enumerate(itertools.product(LOSS, FEASIBLE, WEIGHTS, METRICS, COVARIANCE))
        if k % 13 in (0, 5)  # every pair of words is there
    ],
)
@pytest.mark.parametrize("prior", [True, False])
def test_every_combination_of_words_is_a_fit_that_predicts_and_is_kept(
    tmp_path, loss, feasible, weight, metric, covariance, prior
):
    c, a = case(), motion()
    given = {"prior": 1.1 * c.inertials} if prior else {}
    words = {"loss": loss, "feasible": feasible, "weight": weight, "metric": metric, "covariance": covariance}
    if not (prior or feasible) and (metric or weight not in (None, "vanishing", 0.0)):
        with pytest.raises(ModelError, match="no prior to draw to"):
            ident.fit(c.model, c.regression, **given, **words)
        return
    fit = ident.fit(c.model, c.regression, **given, **words)
    predicted = fit.predict(a)
    assert predicted.shape == a.tau.shape
    assert np.sqrt(np.mean((predicted - a.tau) ** 2)) < 0.05 * np.sqrt(np.mean(a.tau**2))
    bodies = np.split(fit.theta.to_numpy()[:30], 3)
    assert not feasible or all(consistency(body).consistent for body in bodies)
    assert (fit.inertials is not None) == feasible
    assert fit.estimate.covariance.kind == ("classical" if covariance == "classical" else "cluster-by-segment")
    again = ident.load(fit.save(tmp_path / "fit.json"), c.model.robot)
    np.testing.assert_array_equal(again.predict(a), predicted)
    np.testing.assert_array_equal(again.std_errors, fit.std_errors)
    assert len(str(fit).splitlines()) <= 10
    assert str(again) == str(fit)


def test_least_squares_is_numpys():
    c = case()
    Y = regressor(c.model, *(np.concatenate([getattr(m, s) for m in fitted()]) for s in ("q", "qd", "qdd")))
    tau = np.concatenate([m.tau for m in fitted()])
    for loss, sigma in (("ols", None), ("wls", np.array([0.1, 2.0, 0.5]))):
        fit = ident.fit(c.model, fitted(), loss=loss, feasible=False, sigma=sigma)
        scale = 1.0 if sigma is None else sigma[:, None]
        A, z = Y / scale if sigma is not None else Y, tau / (1.0 if sigma is None else sigma)
        theta = np.linalg.lstsq(A.reshape(-1, Y.shape[2]), z.ravel(), rcond=1e-12)[0]
        np.testing.assert_allclose(fit.params, fit.estimate.base.K @ theta, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(fit.predict(fitted()[0]), (Y @ theta)[: len(fitted()[0].t)], atol=1e-8)


def test_a_prior_without_feasibility_is_the_regularised_least_squares_of_the_textbooks():
    c, weight = case(), 0.3
    fit = ident.fit(c.model, c.regression, 1.1 * c.inertials, feasible=False, weight=weight, metric="euclidean")
    A = c.regression.factor(fit.estimate.sigma)
    W, z, count = A[:, :-1] @ c.regression.base.K, A[:, -1], c.regression.rows.sum()
    links = np.eye(W.shape[1])[:30]
    rows = np.concatenate([W / np.sqrt(count), np.sqrt(weight / 2.0) * links])
    aims = np.append(z / np.sqrt(count), np.sqrt(weight / 2.0) * 1.1 * c.inertials.ravel())
    theta = np.linalg.lstsq(rows, aims, rcond=None)[0]
    np.testing.assert_allclose(fit.theta, theta, rtol=1e-6, atol=1e-9)


def test_ordinary_least_squares_with_a_prior_takes_one_noise_for_all_joints():
    c = case()
    fit = ident.fit(c.model, c.regression, c.inertials, loss="ols", weight=1e-6)
    np.testing.assert_allclose(fit.estimate.sigma, NOISE, rtol=0.05)


def test_given_columns_keep_the_signs_of_their_kinds():
    names = case().model.names
    np.testing.assert_array_equal(given_model(names).nonnegative, case().model.nonnegative)


def test_bounds_without_feasibility_are_kept():
    c = case()
    bounds = ident.Bounds(mass={"arm": (1.0, 1.2)})
    fit = ident.fit(c.model, c.regression, c.inertials, feasible=False, bounds=bounds)
    assert 1.0 - 1e-6 <= fit.theta["arm.m"] <= 1.2 + 1e-6
    assert fit.inertials is None


WRONG = {
    "loss: is 'lasso', wanted 'wls' or 'ols' or 'huber'.": {"loss": "lasso"},
    "weight: is 'much', wanted 'cross-validated' or 'vanishing'.": {"weight": "much"},
    "weight: is -1, wanted 'cross-validated', 'vanishing' or a number that is 0 or more.": {"weight": -1.0},
    "metric: is 'riemann', wanted": {"metric": "riemann"},
    "metric: is 'entropic', finite only for links that can exist": {"metric": "entropic", "feasible": False},
    "covariance: is 'robust', wanted 'segments' or 'classical' or 'bootstrap'.": {"covariance": "robust"},
    "sigma is given, but loss = 'ols' counts all joints alike": {"loss": "ols", "sigma": [1.0, 1.0, 1.0]},
    "the prior's inertials have shape (2, 10), wanted (3, 10)": {"prior": np.ones((2, 10))},
    "link 'tower' cannot exist": {"prior": -np.ones((3, 10))},
}


@pytest.mark.parametrize(("message", "words"), WRONG.items(), ids=[" ".join(words) for words in WRONG.values()])
def test_words_that_mean_nothing_are_one_sentence(message, words):
    c = case()
    with pytest.raises(ModelError, match=re.escape(message)):
        ident.fit(c.model, c.regression, **words)


def test_a_regressor_given_as_numbers_gives_what_the_model_gives():
    c, a = case(), motion()
    found = compress(c.model, a)
    Y, groups = regressor(c.model, a.q, a.qd, a.qdd), np.repeat(np.arange(10), 90)
    given = ident.regression_from(Y, a.tau, c.model.names, groups, base=found.base)
    for words in ({"feasible": False, "loss": "ols"}, {"feasible": False}, {"weight": 0.01, "metric": "pull-back"}):
        prior = None if "weight" not in words else c.inertials
        one, other = ident.fit(c.model, found, prior, **words), ident.fit(None, given, prior, **words)
        np.testing.assert_allclose(other.params, one.params, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(other.std_errors, one.std_errors, rtol=1e-5)
        np.testing.assert_allclose(other.predict(Y), one.predict(a), atol=1e-8)
    links = ident.fit(None, given, c.inertials)
    assert links.estimate.feasible
    assert all(consistency(body).consistent for body in links.inertials)
    with pytest.raises(ModelError, match="there is no robot to predict a motion with"):
        links.predict(a)
    with pytest.raises(ModelError, match="need a prior, where only names of parameters are known"):
        ident.fit(None, given)


def test_a_stacked_regressor_is_plain_least_squares():
    c, a = case(), motion()
    Y = regressor(c.model, a.q, a.qd, a.qdd).reshape(-1, len(c.model.names))
    fit = ident.fit(None, ident.regression_from(Y, a.tau.ravel(), c.model.names), loss="ols", feasible=False)
    theta = np.linalg.lstsq(Y, a.tau.ravel(), rcond=1e-12)[0]
    np.testing.assert_allclose(fit.params, fit.estimate.base.K @ theta, rtol=1e-7, atol=1e-9)
    assert fit.estimate.joints == ("torque1",)
    links = ident.fit(None, ident.regression_from(Y, a.tau.ravel(), c.model.names), c.inertials)
    assert all(consistency(body).consistent for body in links.inertials)


def test_arrays_that_do_not_fit_are_one_sentence():
    c, a = case(), motion()
    Y, names = regressor(c.model, a.q, a.qd, a.qdd), c.model.names
    for message, arrays in {
        "names has 41, and Y of shape (900, 3, 40) has 40 columns": (Y[:, :, :-1], a.tau, names),
        "names has 40, and Y of shape (900, 3, 41) has 41 columns. Give one name": (Y, a.tau, names[:-1]),
        "Y must have shape (any, any, 41), got (41,)": (Y[0, 0], a.tau, names),
        "tau must have shape (900, 3), got (899, 3)": (Y, a.tau[1:], names),
        "stands twice": (Y, a.tau, (*names[:-1], names[0])),
        "groups must have shape (900,), got (3,)": (Y, a.tau, names, [1, 2, 3]),
        "the names begin with no link": (Y, a.tau, names[::-1]),
        "'Fv1' is no parameter's name. Write OWNER.KIND": (Y, a.tau, (*names[:-1], "Fv1")),
    }.items():
        message = message.replace("41", str(len(names))).replace("40", str(len(names) - 1))
        with pytest.raises(RegressionError, match=re.escape(message)):
            ident.regression_from(*arrays)


def test_what_is_no_motion_is_one_sentence():
    c, a = case(), motion()
    for given, said in (("excitation", "'excitation'"), ([a, Path("a.csv")], "a.csv"), (3.0, "a float")):
        with pytest.raises(ModelError, match=rf"motions has .*{said}.*, where a Motion is wanted\. Give what"):
            ident.fit(c.model, given)


@pytest.mark.slow
def test_weights_of_samples_are_those_of_numpys_least_squares():
    c, a = case(), motion()
    weights = np.random.default_rng(0).uniform(0.0, 2.0, size=a.tau.shape)
    weights[weights < 0.5] = 0.0
    found = compress(c.model, a, weights=weights)
    phi = ident.fit(c.model, found, loss="ols", feasible=False).params
    Y, root = regressor(c.model, a.q, a.qd, a.qdd), np.sqrt(weights)
    theta = np.linalg.lstsq((Y * root[..., None]).reshape(-1, Y.shape[2]), (a.tau * root).ravel(), rcond=1e-12)[0]
    np.testing.assert_allclose(phi, found.base.K @ theta, rtol=1e-7, atol=1e-9)
    assert (found.rows == np.count_nonzero(weights, axis=0)).all()
    both = compress(c.model, [a, motion("b", 4)], weights=[np.ones(900), weights])
    assert len(both.segments) == 20
    for bad, message in ((np.ones(3), "have shape (3, 1), wanted (900, 3)"), (-np.ones(900), "is negative: -1")):
        with pytest.raises(RegressionError, match=re.escape(message)):
            compress(c.model, a, weights=bad)
    with pytest.raises(RegressionError, match="2 motions have weights, there are more"):
        compress(c.model, [a, motion("b", 4), motion("c", 5)], weights=[np.ones(900), np.ones(900)])


def test_draws_fill_the_intervals_and_are_read_by_arviz():
    import arviz_stats

    fit = ident.fit(case().model, fitted())
    drawn, ends = fit.draws(2000), fit.conf_int().to_numpy().T
    assert drawn["phi"].shape == (4, 2000, len(fit.params))
    inside = ((drawn["phi"] > ends[0]) & (drawn["phi"] < ends[1])).mean(("chain", "draw"))
    np.testing.assert_allclose(inside, 0.95, atol=0.02)
    table = arviz_stats.summary(drawn.isel(parameter=[0, 3]), kind="stats", round_to="none")
    assert list(table.index) == [f"phi[{fit.params.index[k]}]" for k in (0, 3)]
    assert (
        abs(table["mean"] - fit.params.iloc[[0, 3]].to_numpy()) < 0.1 * fit.std_errors.iloc[[0, 3]].to_numpy()
    ).all()


@pytest.mark.slow
def test_from_motions_to_files(tmp_path):
    c = case()
    fit = ident.fit(c.model, iter(fitted()), ident.Prior(c.inertials, "cad"))
    table = fit.to_frame()
    arrays = fit.to_xarray()
    assert arrays["value"].to_series().tolist() == table["value"].tolist()
    assert arrays["covariance"].shape == (len(table), len(table))
    name = table.index[0]
    error = float(arrays["covariance"].sel(parameter=name, other=name)) ** 0.5
    assert error == pytest.approx(table["std_error"].iloc[0])
    assert arrays["unit"].to_series().tolist() == table["unit"].tolist()
    assert list(table.columns) == ["value", "std_error", "lower", "upper", "unit", "combination"]
    assert (table["lower"] < table["value"]).all()
    np.testing.assert_allclose(fit.conf_int(0.95)["upper"], table["upper"])
    with pytest.raises(IdentError, match=r"level: is 95\. Give a share between 0 and 1, such as 0\.95"):
        fit.conf_int(95)
    other = motion("other", 9)
    validation = fit.validate(other, c.inertials)
    assert validation.names == ("identified", "CAD", "zero")
    assert validation.held_out
    assert fit.validate(fitted()[0]).held_out == ()
    assert fit.compare(c.inertials).count("agrees") > 0
    with pytest.raises(UnusableError, match="never validated"):
        fit.export("urdf", tmp_path / "arm.urdf")
    assert fit.export("urdf", tmp_path / "arm.urdf", validation).path.is_file()
    again = ident.load(fit.save(tmp_path / "fit.json", validation), c.model.robot)
    assert again.export("json", tmp_path / "arm.json").path.is_file()
    assert again.validate(fitted()[0]).held_out == ()  # what was fitted is known from the file
    page = fit.report(tmp_path / "report.html", motions=fitted(), held_out=[other], validation=validation)
    assert page.stat().st_size > 10_000
    assert len(fit.summary().splitlines()) > len(fit.params)
    with pytest.raises(ModelError, match=r"ident.load\(path, robot\)"):
        ident.load(tmp_path / "fit.json").predict(other)
    with pytest.raises(ModelError, match="the factors belong to another model"):
        ident.fit(ident.Model(c.model.robot), c.regression)


@pytest.mark.slow
def test_what_is_not_determined_is_no_result():
    c = case()
    still = moved("still", c.model, c.theta, 3, samples=900, blocks=BLOCKS)
    q = still.q.copy()
    still = ident.Motion("still", still.t, q, 0.0 * q, 0.0 * q, still.tau, still.keep, (), BLOCKS)
    fit = ident.fit(c.model, still, c.inertials)
    open_ = fit.std_errors.isna()
    assert open_.any()
    assert (fit.to_frame().loc[open_, "std_error"].isna()).all()
    assert "not determined" in fit.summary()
    with pytest.raises(IdentError, match="the logs do not determine"):
        ident.fit(c.model, still, feasible=False)


def nouns():
    c, a = case(), motion()
    fit = ident.fit(c.model, c.regression, c.inertials)
    validation = fit.validate(a)
    cad = ident.Cad(c.model.robot.links, c.inertials, "cad.csv")
    log = ident.Log("log", a.t, a.q, a.tau)
    table = [fit, fit.estimate, c.regression, c.model, c.model.robot, cad, log, a, validation, fit.compare(cad)]
    table += [fit.estimate.base, ident.Prior(c.inertials, "cad")]
    plain = [ident.Processing(), ident.Bounds(), *c.model.terms, Tolerances(), fit.estimate.covariance]
    return table, plain


def test_every_noun_shows_itself_in_ten_lines_and_tables_in_a_notebook():
    table, plain = nouns()
    for noun in table + plain:
        for text in (repr(noun), str(noun)):
            assert len(text.splitlines()) <= 10, type(noun)
            assert max(len(line) for line in text.splitlines()) <= 500, type(noun)
    for noun in table:
        assert noun._repr_html_().count("<tr>") >= 2, type(noun)
    shown = {type(noun) for noun in table + plain}
    public = {n for n in map(ident.__dict__.get, ident.__all__) if isinstance(n, type)}
    assert {n.__name__ for n in public - shown} <= {"IdentError", "Experiment", "Manifest"} | TERMS


TERMS = {"Coulomb", "Dahl", "DriveInertia", "LoadFriction", "NonlinearViscous", "Offset", "SmoothCoulomb", "Spring"}
TERMS |= {"Stribeck", "Viscous"}


def test_about_forty_names_are_public_and_each_stands_once_in_the_stub():
    for name in ident.__all__:
        assert getattr(ident, name) is not None
    rooms = {n for n in ident.__all__ if type(getattr(ident, n)).__name__ == "module"}
    assert len(set(ident.__all__) - rooms) <= 41
    assert len(set(ident.__all__)) == len(ident.__all__)
