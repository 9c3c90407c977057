"""Results against each other: what changed is found, chance is not, and other robots are refused."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from identified import case, moved
from test_report import Page

from ident.compare.difference import changes, friction_curve
from ident.errors import InputError, ModelError
from ident.estimate import estimated
from ident.estimate.storage import save_estimate
from ident.model import Model
from ident.regression import compress
from ident.report import write_report
from ident.report.several import gather_changes, judgement, sentences


@cache
def after(seed=5, **factors):
    """Return the fit of another recording, some parameters multiplied."""
    c = case()
    theta = c.theta.copy()
    for name, factor in factors.items():
        theta[c.model.index(name.replace("__", "."))] *= factor
    return estimated(c.model, compress(c.model, moved(f"after {seed}", c.model, theta, seed)), feasible=False)


def test_what_changed_is_found_and_nothing_else():
    found = changes([("before", case().wls), ("after", after(lift__viscous=1.3, turn__coulomb=0.8))])[0]
    assert {r.name for r in found.rows if r.verdict == "changed"} == {"lift.viscous", "turn.coulomb"}
    row = next(r for r in found.rows if r.name == "lift.viscous")
    assert row.difference == pytest.approx(0.3 * row.reference, rel=0.05)
    a, b = case().wls, after(lift__viscous=1.3, turn__coulomb=0.8)
    k = a.base.names.index("lift.viscous")
    error = np.sqrt(a.covariance.matrix[k, k] + b.covariance.matrix[k, k])
    assert row.standard_error == pytest.approx(error)
    assert row.standard_errors == pytest.approx((b.phi[k] - a.phi[k]) / error)
    judged = judgement("before", [found])
    assert judged.headline == "Only friction changed"
    assert any("lift.viscous rose from" in s for s in sentences("before", [found]))


def test_chance_is_no_change():
    found = changes([("first", case().wls), *((f"again {s}", after(s)) for s in range(5, 15))])
    assert sum(c.count("changed") for c in found) <= 1  # at most 1 in 100 comparisons
    assert sum(c.count("same") for c in found) > 0.85 * sum(len(c.rows) for c in found)


def test_a_link_that_changed_is_not_called_friction():
    found = changes([("a", case().wls), ("b", after(slider__m=1.2))])
    assert judgement("a", found).headline == "Changed"
    assert "slider.m" in {r.name for r in found[0].rows if r.verdict == "changed"}


def test_undetermined_rows_are_not_compared():
    a = case().wls
    matrix = a.covariance.matrix.copy()
    matrix[0], matrix[:, 0] = np.nan, np.nan
    blind = replace(a, covariance=replace(a.covariance, matrix=matrix))
    found = changes([("a", a), ("b", blind)])[0]
    assert found.rows[0].verdict == "not determined"
    assert np.isnan(found.rows[0].standard_errors)
    assert "not compared" in " ".join(sentences("a", [found]))


def test_refusals():
    a = case().wls
    other = estimated(Model(case().robot), compress(Model(case().robot), case().fit), feasible=False)
    with pytest.raises(InputError, match="one result cannot be compared"):
        changes([("a", a)])
    with pytest.raises(InputError, match="two results are called 'a'"):
        changes([("a", a), ("a", a)])
    with pytest.raises(ModelError, match="have other parameters, such as 'lift"):
        changes([("a", a), ("b", other)])
    longer = replace(a, base=replace(a.base, K=a.base.K * np.where(a.base.K == 1.0, 1.0, 1.1)))
    with pytest.raises(ModelError, match="robots differ in geometry"):
        changes([("a", a), ("b", longer)])


def test_a_friction_curve_and_its_error():
    a, v = case().wls, np.array([-1.0, 0.5, 2.0])
    law, error = friction_curve(a, "lift", v)
    value = dict(zip(a.base.names, a.phi, strict=True))
    assert np.allclose(law, value["lift.viscous"] * v + value["lift.coulomb"] * np.sign(v) + value["lift.offset"])
    columns = np.zeros((3, len(a.phi)))
    for part, column in (("viscous", v), ("coulomb", np.sign(v)), ("offset", np.ones(3))):
        columns[:, a.base.names.index(f"lift.{part}")] = column
    assert np.allclose(error**2, np.diag(columns @ a.covariance.matrix @ columns.T))
    assert friction_curve(a, "nobody", v) is None


@pytest.mark.slow
def test_the_page_shows_every_row(tmp_path):
    named = [("before <b>", case().wls), ("after", after(lift__viscous=1.3)), ("later", after(6))]
    report = gather_changes(named, changes(named), command="ident report a b", prismatic=frozenset({"reach"}))
    text = write_report(report, tmp_path / "c.html").read_text()
    page = Page(text)
    rows = {r[0] for r in page.rows if r}
    assert set(case().wls.base.names) <= rows
    assert "Only friction changed" in page.said
    assert "before <b>" in page.said
    assert "ident report a b" in page.said
    assert set(re.findall(r'<figure id="([^"]+)"', text)) == {
        "change_1", "change_2", "friction_1", "friction_2", "friction_3",
    }  # fmt: skip
    bare = gather_changes(named, changes(named))
    assert write_report(bare, tmp_path / "c.pdf").read_bytes().startswith(b"%PDF-")
    unknown = Page(write_report(bare, tmp_path / "d.html").read_text())
    assert not any("N m" in cell for r in unknown.rows if len(r) > 6 and r[0].endswith("viscous") for cell in r)


@pytest.mark.slow
def test_the_command(tmp_path):
    import typer
    from typer.testing import CliRunner

    from ident.cli.console import register
    from ident.cli.report import report

    app = typer.Typer()
    register(app, report)
    call = CliRunner().invoke
    files = [str(save_estimate(e, tmp_path / f"{n}.json")) for n, e in
             (("a", case().wls), ("b", after(lift__viscous=1.3)))]  # fmt: skip
    done = call(app, [*files, "-o", str(tmp_path / "c.html"), "--figures", str(tmp_path / "p")])
    assert done.exit_code == 0, done.output
    assert "Only friction changed: 1 of 22 base parameters differ from 'a'" in done.output
    assert (tmp_path / "c.html").is_file()
    assert len(list((tmp_path / "p").iterdir())) == 8
    for arguments, said in (
        ([files[0]], "not beside it"),
        ([files[0], files[0]], "Give each result once, under a name of its own"),
        ([*files, "-o", str(tmp_path / "x.docx")], "a report ends in .html, .htm, .pdf, got '.docx'"),
    ):
        refused = call(app, arguments)
        assert refused.exit_code == 2
        assert said in refused.output
    assert not (tmp_path / "x.docx").exists()
