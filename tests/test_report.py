"""The report: one page that needs nothing else, figures that fit their frames, tables that hide nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from identified import case, residual_of

from ident.compare import cad_theta, compare_truth, compare_with, validate
from ident.compare.difference import GAIN_OF_ALL, SOME
from ident.compare.settled import CutOffs
from ident.compare.validate import residuals
from ident.errors import InputError, ModelError
from ident.estimate.estimate import NamedCause, Structure, Trace, TriedTerm
from ident.files import TRIED
from ident.logs import Log, Processing, process
from ident.logs.filter import decimate, thinned_band
from ident.model import DriveInertia, Model, Spring, coupled_drive, torque
from ident.regression import BaseParameters, base_parameters
from ident.report import figures, gather, pictures, text, write_report
from ident.report.body_figures import ellipsoid
from ident.report.drawings import (
    agreeing,
    comparisons,
    correlated,
    correlations,
    errors,
    friction_law,
    frictions,
    identifiability,
    inertias,
    selection,
    torques,
)
from ident.report.figures import figure_of
from ident.report.page import page_data
from ident.report.pdf import pdf
from ident.report.picture import Axis, Cells, Dots, Line, Note, Panel, Picture, rows, sparse, stretched
from ident.report.sections import in_short, lengths, numbered
from ident.report.verdict import questions, verdict
from ident.robot import read_robot
from ident.spatial.inertia import Pose, axis_angle, from_com

VOID = {"col", "meta", "link", "br", "img", "hr"}


class Page(HTMLParser):
    """Collects tags, visible text and links; fails on tags that are not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.addresses: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [v or "" for k, v in attrs if k in ("src", "href", "xlink:href", "action", "data")]
        assert not [k for k, _ in attrs if k.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [v or "" for k, v in attrs if k in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.words.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data

    @property
    def said(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


@cache
def full():
    """Return what a report of the small robot shows, CAD 50 % wrong in the slider's mass."""
    c = case()
    cad = c.inertials.copy()
    cad[2] *= 1.5
    theta, _ = cad_theta(c.model, cad, {})
    comparison = compare_with(c.constrained, cad, {}, "cad.csv")
    predictions = {"identified": c.constrained.theta, "CAD": theta}
    validation = validate(c.model, c.other, predictions, fitted=c.regression)
    return comparison, validation, compare_truth(c.constrained, c.truth)


@cache
def page(folder) -> str:
    c = case()
    comparison, validation, truth = full()
    estimate = replace(c.constrained, selection=((1e-6, 1.0), (1e-5, 1.1), (1e-4, 1.5)), provenance={"ident": "9.9"})
    path = write_report(
        gather(
            estimate,
            model=c.model,
            fit=iter([c.fit]),
            held_out=c.other,
            comparison=comparison,
            validation=validation,
            truth=truth,
            command='ident run "my experiment"',
        ),
        folder / "r.html",
    )
    assert [p.name for p in folder.iterdir()] == ["r.html"]
    return path.read_text()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return page(tmp_path_factory.mktemp("report"))


def test_the_error_left_out_is_drawn_over_the_cut_offs_that_were_tried():
    c = case()
    t = np.arange(4000) * 0.005
    log = Log(
        "run", t, np.outer(np.sin(4.0 * t), [1.0, 0.5, 0.2]), np.ones((4000, 3)), joints=c.model.robot.joint_names
    )
    tried = CutOffs(((5.0, 1.2), (10.0, 1.0), (20.0, 1.5)))
    filtered = {"model": c.model, "fit": [c.fit], "held_out": None, "filtered": (log, Processing(position_hz=10.0))}
    plain, drawn = (
        next(s.blocks for s in gather(estimate, **filtered).sections if s.name == "spectra")[0].drawings
        for estimate in (c.wls, replace(c.wls, provenance={TRIED: str(tried)}))
    )
    assert [d.name for d in drawn] == ["cut_offs", *(d.name for d in plain)]
    taken, line, dots = drawn[0].panels[0].marks
    assert taken.low == taken.high == 10.0
    for mark in (line, dots):
        np.testing.assert_allclose(np.column_stack([mark.x, mark.y]), tried.errors)


@pytest.mark.slow
def test_the_page_is_whole_and_needs_nothing_else(report):
    found = Page(report)
    assert all(a.startswith("#") for a in found.addresses)
    assert "@import" not in report
    assert not re.findall(r"url\((?!#)", report)
    names = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert set(re.findall(r"https?://[^\s\"'<]+", report)) <= names
    assert not re.findall(r"\b(fetch|XMLHttpRequest|WebSocket|import|eval|innerHTML|document\.write)\b\s*[(=]", report)
    kinds = {"turn", "lift", "reach"}
    figures_of = set(re.findall(r'<figure id="([^"]+)"', report))
    per_joint = ("torque_held-out", "torque_fitted", "simulation", "residual", "friction")
    assert figures_of == {f"{what}_{j}" for what in per_joint for j in range(1, 1 + len(kinds))} | {
        "errors", "cad_standard_errors", "cad_intervals", "correlation", "segments", "inertia_ellipsoids",
        "prior_weight",
    }  # fmt: skip
    assert report.count("<svg") == found.tags.count("svg") == 0  # the scripts draw all
    assert re.findall(r'data-picture="(\d+)"', report) == [str(k) for k in range(len(figures_of) - 1)]
    assert 'id="identifiability"' in report


def test_only_the_script_of_the_page_may_run(report):
    policy = re.search(r'content="(default-src [^"]*)"', report).group(1)
    assert policy.startswith("default-src 'none'; ")
    script = re.search(r"<script>(.*?)</script>", report, flags=re.S).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert Page(report).tags.count("script") == 2  # the other one is data


def embedded(page):
    """Return the pictures in a page, with their arrays in place of the references to them."""
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, flags=re.S).group(1)
    given = json.loads(data)
    arrays = [opened(a) for a in given["arrays"]]
    found = json.loads(data, object_hook=lambda o: arrays[o["a"]] if o.keys() == {"a"} else o)
    return found["pictures"]


def opened(array):
    """Return an array as the page's script opens it."""
    if isinstance(array, list):
        return np.array(array, dtype=float)
    if "f4" in array:
        return np.frombuffer(base64.b64decode(array["f4"]), "<f4")
    raw = np.frombuffer(base64.b64decode(array["i2"]), "<i2").astype(float)
    return array["lo"] + (raw + 32768.0) * (array["hi"] - array["lo"]) / 65535.0


def test_the_pictures_hold_the_recordings(report):
    c = case()
    pictures = embedded(report)
    names = re.findall(r'<figure id="([^"]+)" class="picture" data-picture', report)
    for motion, kind in ((c.other, "held-out"), (c.fit, "fitted")):
        predicted = torque(c.model, c.constrained.theta, motion.q, motion.qd, motion.qdd)
        for j in range(3):
            above, below = pictures[names.index(f"torque_{kind}_{j + 1}")]["panels"]
            assert above["x"]["link"] == below["x"]["link"] == kind
            lines = [m for panel in (above, below) for m in panel["marks"] if m["kind"] == "line"]
            assert [m["label"] for m in lines] == ["measured", "predicted", "residual"]
            for line, y in zip(lines, (motion.tau, predicted, motion.tau - predicted), strict=True):
                assert np.allclose(line["x"], motion.t, rtol=1e-6)
                assert np.allclose(line["y"], y[:, j], atol=np.ptp(y[:, j]) / 60000)


@given(st.integers(1, 4000), st.integers(1, 500), st.integers(0, 2**32 - 1))
def test_stretches_keep_every_peak(samples, most, seed):
    y = np.random.default_rng(seed).normal(size=samples)
    line = Line(np.arange(samples) * 0.01, y, figures.BLUE, most=most)
    ((mark,),) = [p["panels"][0]["marks"] for p in data_of(Picture("t", (Panel(Axis(), Axis(), (line,)),)))]
    starts = np.round(np.asarray(mark["x"]) / 0.01).astype(int)
    found = np.asarray(mark["y"]).reshape(len(starts), -1)
    assert len(starts) <= max(most, 1)
    assert (found.shape[1] == 1) == (samples <= most)
    fine = np.ptp(y) / 60000 + 1e-5
    for a, b, ends in zip(starts, [*starts[1:], samples], found, strict=True):
        assert abs(ends[0] - y[a:b].min()) <= fine
        assert abs(ends[-1] - y[a:b].max()) <= fine


def data_of(*pictures):
    """Return what the page's script gets of some pictures."""
    return embedded(f'<script type="application/json" id="data">{page_data(pictures)}</script>')


def test_pictures_are_safe_in_a_page_and_keep_what_is_missing():
    """No text ends the script that holds it; NaN is null; numbers that two marks share are there once."""
    x = np.array([0.0, 1.0, np.nan, 3.0])
    marks = (Line(x, x, figures.BLUE, "</script><!--"), Dots(x, x, figures.RED, sign="D"), Cells(np.eye(2)))
    text = page_data([Picture("a", (Panel(Axis("</script>", "N m"), Axis(), marks),))])
    assert "<" not in text
    assert "NaN" not in text
    assert len(json.loads(text)["arrays"]) == 2
    ((line, dots, cells),) = [p["panels"][0]["marks"] for p in data_of(Picture("a", (Panel(Axis(), Axis(), marks),)))]
    assert line["label"] == "</script><!--"
    assert np.array_equal(dots["x"], x, equal_nan=True)
    assert dots["colour"] == "--red"
    assert dots["sign"] == "D"
    assert np.array_equal(cells["values"], np.eye(2))


@given(st.integers(0, 20_000), st.integers(0, 2**32 - 1))
def test_a_sparse_cloud_covers_the_same_ground(samples, seed):
    x, y = np.random.default_rng(seed).normal(size=(2, samples))
    found = sparse(x, y)
    assert len(found[0]) <= min(samples, 301 * 161)
    if samples:
        for given_, kept in zip((x, y), found, strict=True):
            fine = np.ptp(given_) / 100
            assert kept.min() - given_.min() <= fine
            assert given_.max() - kept.max() <= fine


def test_the_first_screen_says_it_in_words(report):
    said = Page(report).said
    comparison, validation, _ = full()
    own = text.percent(validation.total("identified").relative_total)
    cad = text.percent(validation.total("CAD").relative_total)
    assert f"it misses motions never seen by {own}, CAD alone by {cad}." in said
    told = " ".join(text.summary_sentences(case().constrained, replace(comparison, source="robot.xml"), validation))
    assert f", robot.xml alone by {cad}." in told
    assert ("no value in robot.xml" in told) == bool(comparison.count("not comparable"))
    assert "CAD" not in told
    assert "Every link can exist: checked exactly, on the digits that are written." in said
    assert f"{comparison.count('contradicted')} contradict cad.csv" in said
    assert "The fit was drawn towards its prior (cad.csv)" in said
    assert 'ident run "my experiment"' in said
    assert "9.9" in said


def test_every_number_of_the_tables_is_on_the_page(report):
    rows = {tuple(r) for r in Page(report).rows}
    c = case()
    comparison, validation, truth = full()
    slides = frozenset({"reach"})
    short = in_short(c.constrained.base, c.constrained.links, c.constrained.joints, lengths(c.model.robot))
    assert all(f'title="{full}">{symbols}</td>' in report for full, symbols in short.items())  # copies take the title
    for table in (
        text.comparison_rows(comparison, slides),
        text.standard_rows(c.constrained, comparison, slides),
        text.validation_rows(validation),
        text.residual_rows(c.constrained, slides),
        text.truth_rows(truth, comparison, c.constrained, slides),
    ):
        assert {(*row[:-1], short.get(row[-1], row[-1])) for row in table.rows} <= rows
        assert len(table.tones) == len(table.rows)
        assert {len(r) for r in table.rows} == {len(table.columns)}


def test_combinations_in_symbols():
    names = ("hand.Iyy", "arm.m", "arm.hx", "turn.drive_inertia", "turn.viscous", "arm.hy", "payload.m")
    K = np.array([[1.0, 0, 0.61251, -2.0, 0, -0.61251, 1.0], [0, 1.0, 0, 0, -1.0, 0, -0.5]])
    base = BaseParameters(names[:2], (0, 1), K, names)
    short = in_short(base, ("arm", "hand"), ("turn", "bend"))
    assert short == {
        "hand.Iyy + 0.61251 arm.hx - 2 turn.drive_inertia - 0.61251 arm.hy + payload.m": (
            "Iyy2 + payload.m + 0.613 (hx1 - hy1) - 2 Ia1"
        ),
        "arm.m - turn.viscous - 0.5 payload.m": "m1 - viscous1 - 0.5 payload.m",
    }
    assert in_short(base, ("arm", "hand"), ("turn", "bend"), {"x2": 0.306255})[base.expression(0)] == (
        "Iyy2 + payload.m + 2 x2 (hx1 - hy1) - 2 Ia1"
    )
    table = numbered(("arm", "hand"), ("turn", "bend"), {"x2": 0.306255})
    assert table.rows == (("1", "arm", "turn", ""), ("2", "hand", "bend", "x2 = 0.306255"))
    names = ("l1.Izz", *(f"l{k}.m" for k in range(2, 7)))
    tower = BaseParameters(names[:1], (0,), np.array([[1.0, 0.25, 0.25, 0.25, 0.25, -0.25]]), names)
    short = in_short(tower, [f"l{k}" for k in range(1, 7)], ["j"] * 6, {"z2": 0.5})
    assert list(short.values()) == ["Izz1 + z2² (m2 + ... + m5 - m6)"]


@pytest.mark.parametrize("name", ["ur10e", "panda", "tx40", "ur5e"])
def test_symbols_of_lengths_hold_for_other_lengths_too(name):
    """So none is a coincidence of three-digit numbers: 2 (0.176 - 0.137) is 0.571 + 0.12 - 0.613 as well."""
    robot, rng = read_robot(Path(__file__).parents[1] / "datasets" / name / "robot.toml"), np.random.default_rng(3)

    def symbols(robot):
        base = base_parameters(Model(robot, (DriveInertia(),)))
        return list(in_short(base, robot.links, robot.joint_names, lengths(robot)).values())

    factors = {round(x, 9): rng.uniform(0.7, 1.4) for x in lengths(robot).values()}  # equal ones stay equal
    moved = []
    for joint in robot.joints:
        there = [x * factors.get(round(abs(x), 9), 1.0) for x in joint.placement.position]
        point = [x * factors.get(round(abs(x), 9), 1.0) for x in joint.point]
        moved.append(replace(joint, placement=Pose(joint.placement.rotation, np.array(there)), point=np.array(point)))
    found = symbols(robot)
    assert found == symbols(replace(robot, joints=tuple(moved)))
    assert not [text for text in found if re.search(r"\d\.\d", text)]


@pytest.mark.slow
def test_pdf_and_pictures(tmp_path):
    c = case()
    comparison, validation, _ = full()
    bare = {"model": c.model, "held_out": None}
    given = bare | {"comparison": comparison, "validation": validation}
    parts = iter([c.fit, replace(c.other, name="second"), c.fit])  # a streamed one comes in parts
    drawn = write_report(gather(c.constrained, fit=parts, **bare), tmp_path / "a.pdf").read_bytes()
    assert drawn.startswith(b"%PDF-")
    assert drawn.rstrip().endswith(b"%%EOF")
    assert len(drawn) > 10_000
    assert len(re.findall(rb"/Type /Page\b", drawn)) >= 4
    made = [
        write_report(gather(c.constrained, **given), tmp_path / name, **more).read_bytes()
        for name, more in (("b.pdf", {"pictures": tmp_path / "figures"}), ("c.PDF", {}))
    ]
    assert made[0] == made[1]
    stems = {"errors", "identifiability", "inertia_ellipsoids", "cad_standard_errors", "cad_intervals", "correlation"}
    assert {p.name for p in (tmp_path / "figures").iterdir()} == {s + e for s in stems for e in (".png", ".svg")}
    named = {d.name for d in gather(c.constrained, model=c.model, fit=[c.fit], held_out=c.other).drawings}
    assert named >= {
        f"{what}_{j}" for what in ("torque_fitted", "torque_held-out", "residual", "friction") for j in (1, 3)
    }
    for path in (tmp_path / "figures").glob("*.svg"):
        drawn = path.read_text()
        ET.fromstring(drawn)
        assert "var(" not in drawn
    with pytest.raises(InputError, match=r"a report ends in .html, .htm, .pdf, got '.txt'"):
        write_report(gather(c.constrained, fit=[], **given), tmp_path / "r.txt")
    assert not (tmp_path / "r.txt").exists()


def test_spectra_stand_beside_the_cut_offs():
    """A motion of 2 Hz with white noise: its peak is there, the band ends there, every filter has its line."""
    c = case()
    t = np.arange(4000) * 0.005
    q = np.outer(np.sin(4.0 * np.pi * t), [1.0, 0.5, 0.0])
    rng = np.random.default_rng(0)
    log = Log("run", t, q + 1e-4 * rng.normal(size=q.shape), 3.0 * q, joints=c.model.robot.joint_names)
    processing = Processing(position_hz=30.0, torque_hz=20.0, decimation=(5,))
    report = gather(c.wls, model=c.model, fit=[c.fit], held_out=None, filtered=(log, processing))
    (block,) = next(s.blocks for s in report.sections if s.name == "spectra")
    assert "“run”" in block.note
    turn, _, reach = block.drawings
    said = re.match(r"turn: moves below 2\.\d* Hz, noise above 3.\d Hz, (0\.\d+) % of the acceleration$", turn.title)
    own, true = (process(x, processing) for x in (log, replace(log, q=q)))
    share = np.linalg.norm(decimate((own.qdd - true.qdd)[:, 0], (5,))) / np.linalg.norm(decimate(true.qdd[:, 0], (5,)))
    assert float(said[1]) == pytest.approx(100 * share, rel=0.2)
    assert reach.title == "reach: rests"
    for name, panel in zip(("position", "velocity", "accel.", "torque"), turn.panels, strict=True):
        assert panel.y.label == name
        band, *lines, curve = panel.marks
        assert band.high == pytest.approx(2.0, abs=0.1)
        assert [line.low for line in lines] == [30.0, 20.0, pytest.approx(thinned_band(200.0, (5,)))]
        assert curve.x[np.argmax(curve.y)] == pytest.approx(2.0, abs=0.1)
    labels = [[m.label for m in panel.marks if m.label] for panel in turn.panels]
    assert labels == [
        ["motion", "positions below 30 Hz", "torque below 20 Hz", "regressor and torque below 16 Hz"],
        [],
        [],
        [],
    ]
    assert turn.panels[0].marks[-1].y.max() == pytest.approx(0.5, rel=0.05)  # half the amplitude of a sine
    few = replace(log, t=t[:50], q=log.q[:50], tau=log.tau[:50])
    short = gather(c.wls, model=c.model, fit=[], held_out=None, filtered=(few, processing))
    assert "spectra" not in [s.name for s in short.sections]


@pytest.mark.slow
def test_a_summary_is_one_page(tmp_path):
    """Also of twelve joints, with all that the first screen takes."""
    c = case()
    comparison, validation, _ = full()
    joints = tuple(f"a joint with a name {k}" for k in range(12))
    (recording,) = validation.recordings
    sums = {"squared": np.full(12, 4.0), "energy": np.full(12, 100.0), "samples": np.full(12, 9)}
    recordings = (replace(recording, predictions=tuple(replace(p, **sums) for p in recording.predictions)),)
    many = replace(validation, joints=joints, units=("N m",) * 12, recordings=recordings)
    estimate = replace(c.constrained, warnings=tuple(f"{k} {'long words ' * 30}" for k in range(6)))
    report = gather(estimate, model=c.model, fit=[c.fit], held_out=None, comparison=comparison, validation=validation)
    full_page = replace(report, sections=(), lead=tuple(errors(many)), odd=("long words " * 20,) * 3)
    for name, drawn in (("long", pdf(full_page)), ("whole", None)):
        if drawn is None:
            given = {"model": c.model, "fit": [c.fit], "held_out": None}
            one = gather(estimate, **given, comparison=comparison, validation=validation).summary
            drawn = write_report(one, tmp_path / "s.pdf").read_bytes()
        assert len(re.findall(rb"/Type /Page\b", drawn)) == 1, name
    page_ = write_report(gather(estimate, **given, validation=validation).summary, tmp_path / "s.html").read_text()
    assert re.findall(r'<figure id="([^"]+)"', page_) == ["errors"]
    assert "Is the model complete?" in page_
    assert "<section" not in page_


def test_correlations_say_which_parameters_the_logs_cannot_tell_apart():
    c = case()
    matrix = np.diag([4.0, 1.0, 9.0])
    matrix[0, 2] = matrix[2, 0] = -5.7
    matrix[1] = matrix[:, 1] = np.nan
    values = correlations(matrix)
    assert values[0, 2] == values[2, 0] == pytest.approx(-0.95)
    assert np.isnan(np.delete(values.ravel(), [2, 6])).all()
    (drawn,) = correlated(c.constrained)
    (cells,) = drawn.panels[0].marks
    errors = c.constrained.covariance.standard_errors
    assert np.allclose((cells.values * np.outer(errors, errors))[1, 0], c.constrained.covariance.matrix[1, 0])
    assert drawn.title.startswith("Correlation of base parameters: ")


def test_segments_that_decide_the_numbers_stand_out():
    c = case()
    (drawn,) = agreeing(c.constrained, c.regression)
    straight, found = drawn.panels[0].marks
    assert np.array_equal(straight.x, straight.y)
    assert np.abs(found.y - found.x).max() < 1.0
    odd = [
        s if k else replace(s, factors=tuple(r * [*[1.0] * (len(r) - 1), 1.3] for r in s.factors))
        for k, s in enumerate(c.regression.segments)
    ]
    (drawn,) = agreeing(c.constrained, replace(c.regression, segments=tuple(odd)))
    above = drawn.panels[0].marks[1]
    assert above.y[-1] > above.x[-1] + 0.3
    assert drawn.title.startswith(f"{odd[0].name} moves ")
    assert f" most: {above.y[-1]:.1f} rms (chance: {above.x[-1]:.1f})" in drawn.title
    classical = replace(c.constrained, covariance=replace(c.constrained.covariance, kind="classical"))
    assert not list(agreeing(classical, c.regression))


def test_a_residual_is_compared_with_a_normal_one():
    rng = np.random.default_rng(0)
    for sample, bent in ((rng.normal(size=20_000), False), (rng.standard_t(3, size=20_000), True)):
        histogram, quantiles = residual_of(np.arange(20_000.0), 7 * sample, sample, sample, title="t").panels[4:]
        area = np.trapezoid(histogram.marks[0].high, histogram.marks[0].x)
        assert area == pytest.approx(1.0, abs=0.02)
        line = quantiles.marks[1]
        assert (np.abs(line.y - line.x).max() > 1.0) == bent


def test_the_verdict():
    c = case()
    _, validation, _ = full()
    assert verdict(c.constrained, validation).headline == "Ready to use"
    assert verdict(c.constrained).headline == "Not validated"
    assert verdict(replace(c.constrained, feasible=False), validation).headline == "Do not use"
    for factor, headline in ((0.7, "Rough"), (0.0, "Do not use yet")):
        worse = validate(c.model, c.other, {"identified": factor * c.constrained.theta}, fitted=c.regression)
        judged = verdict(c.constrained, worse)
        assert judged.headline == headline
        assert text.percent(worse.total("identified").relative_total) in judged.reason


def test_a_joint_is_judged_by_what_the_noise_of_its_readings_allows():
    c = case()
    _, validation, _ = full()
    (recording,) = validation.recordings
    own = recording.of("identified")
    energy = own.energy * [1, 1, 4 * own.squared[2] / own.energy[2]]  # half of a torque that hardly counts is missed
    quiet = replace(recording, predictions=(replace(own, energy=energy), *recording.predictions[1:]))
    for share, headline, said in (
        (0.1, "Rough", "noise of their readings: reach 49.7 %"),
        (1.0, "Ready to use", "no better than"),
    ):
        noise = share * own.rms * [1, 1, 1]
        judged = verdict(c.constrained, replace(validation, recordings=(quiet,), noise=noise))
        assert judged.headline == headline
        assert said in judged.reason


def test_motions_that_are_missed_far_more_than_the_fitted_ones_are_not_ready():
    c = case()
    worse = validate(c.model, c.other, {"identified": 0.9 * c.constrained.theta}, fitted=c.regression)
    assert c.constrained.relative_total < 0.03
    judged = verdict(c.constrained, worse)
    assert judged.headline == "Rough"
    assert "something differs between the recordings" in judged.reason


def test_a_joint_that_is_missed_far_more_than_where_it_was_fitted_is_rough():
    """As of a robot that warms up: of all joints together little is missed."""
    c = case()
    _, validation, _ = full()
    (recording,) = validation.recordings
    own = recording.of("identified")
    energy = own.energy * [1, 1, 16 * own.squared[2] / own.energy[2]]  # a quarter of a torque that hardly counts
    worse = replace(recording, predictions=(replace(own, energy=energy), *recording.predictions[1:]))
    judged = verdict(c.constrained, replace(validation, recordings=(worse,), noise=0.1 * own.rms))
    assert judged.headline == "Rough"
    assert "reach 24.9 %, fitted" in judged.reason
    assert "differs between the recordings, as of a robot that warms up" in judged.reason
    unsure = replace(validation, recordings=(worse,), noise=0.1 * own.rms, allowed=0.6 * own.rms)
    reason = verdict(c.constrained, unsure).reason
    assert "the fitted motions tell too little of what these need: the intervals alone allow" in reason
    assert "warms up" not in reason


#: A mistake of a CAD table that is sure.
COUNTED = NamedCause(
    "the whole table", "mass is 2.20462 times too large, as lb read as kg", "cad.csv", "all masses", (),
    ("a", "b", "c"), (0.2, 0.1, 0.1), (0.02, 0.03, 0.04), (0.15, 0.03), 9.2,
)  # fmt: skip


def test_one_factor_of_all_numbers_is_settled_before_they_are_used():
    """CAD of twice the masses, or torques counted half: no torque tells which."""
    c = case()
    comparison, validation, _ = full()
    for factor, settled in ((1.1, True), (0.5, False), (2.0, False)):
        rows = tuple(replace(r, reference=r.identified / factor, scale=abs(r.identified)) for r in comparison.rows)
        contradicted = tuple(replace(r, verdict="contradicted") for r in rows)
        other = replace(comparison, rows=contradicted, factor=factor)
        judged = verdict(c.constrained, validation, other)
        assert (judged.headline == "Ready to use") == settled
        assert ("times CAD's" in judged.reason) != settled
        assert ("Up to one factor" in questions(c.constrained, validation, other)[1]) != settled
    doubted = replace(c.constrained, noted=(replace(COUNTED, rivals=(GAIN_OF_ALL,)),))
    assert "another multiple of CAD's" in verdict(doubted, validation, comparison).reason
    known = replace(c.constrained, noted=(COUNTED,))
    assert verdict(known, validation, other).headline == "Ready to use"


def test_torques_without_any_friction_are_asked_for():
    c = case()
    _, validation, _ = full()
    names = c.constrained.base.standard
    assert "no joint has friction" not in questions(c.constrained, validation)[1]
    rubs = [name.endswith((".coulomb", ".viscous")) for name in names]
    bare = replace(c.constrained, theta=np.where(rubs, 1e-4, 1.0) * c.constrained.theta)
    assert "no joint has friction: are these the motors' torques?" in questions(bare, validation)[1]


def test_a_model_that_leaves_more_than_noise_is_mostly_complete():
    c = case()
    for left, answer in ((0.02, "Yes"), (0.04, "Mostly"), (0.2, "No")):
        estimate = replace(c.constrained, relative=np.full(3, left), floor=np.zeros(3))
        assert questions(estimate)[0].startswith(f"Is the model complete? {answer}"), estimate.missed


def test_what_to_mend_comes_first():
    c = case()
    cause = NamedCause(
        "joint1", "its zero is off by 5 degrees", "robot.toml",
        'add -5 degrees; or `zeros = ["joint1"]` below [calibrate]',
        ("joint2: it turns the other way",), c.constrained.joints, (0.2, 0.1, 0.1), (0.02, 0.03, 0.04), (0.15, 0.03),
        9.2, Trace("turn", "N m", "position of lift", "rad", (0.0, 1.0), (0.3, 0.2), (3.0, 4.0), (0.3, 0.4)),
    )  # fmt: skip
    estimate = replace(c.constrained, causes=(cause,))
    report = gather(estimate, model=c.model, fit=[c.fit], held_out=c.other)
    assert "Mend first: joint1: its zero is off by 5 degrees" in report.verdict.reason
    assert "Even so" not in report.verdict.reason
    _, validation, _ = full()
    for judged, answer in ((validation, "Yes, but mend first what is named above: "), (None, "Not known: ")):
        assert questions(estimate, judged)[2].startswith(f"Does it predict? {answer}")
    assert questions(replace(estimate, causes=()), validation)[2].startswith("Does it predict? Yes: ")
    more = verdict(replace(estimate, causes=(replace(cause, total=(0.5, 0.3)),))).reason
    assert more.endswith("Even so 30.0 % of the torque would be missed: something else is wrong, too.")
    assert [line.partition(":")[0] for line in report.odd] == ["Mend first what is named above"]
    first = report.sections[0]
    assert first.title == "What to mend first"
    assert first.blocks[0].words == 'robot.toml: add -5 degrees; or `zeros = ["joint1"]` below [calibrate]'
    assert first.blocks[0].paste == '[calibrate]\nzeros = ["joint1"]'
    sure, rival = first.blocks[0].items
    assert sure == "The odds are 10,000 to one."
    assert rival == "Cannot be told apart from: joint2: it turns the other way"
    shows, errors_ = first.blocks[0].drawings
    assert shows.title == "turn: 3.54 N m rms left, 0.354 without the mistake"
    over, in_time = shows.panels
    assert over.x.words == "position of lift [rad]"
    assert [m.label for m in over.marks[1:]] == ["as the files are", "without the mistake", "what the mistake explains"]
    assert [m.y.tolist() for m in in_time.marks[1:]] == [[3.0, 4.0], [0.3, 0.4]]
    assert "15.0 % error, 3.00 % without" in errors_.title
    before, after = (m.value for m in errors_.panels[0].marks)
    assert np.allclose([before, after], [[20.0, 10.0, 10.0], [2.0, 3.0, 4.0]])
    elsewhere = gather(replace(estimate, causes=(replace(cause, where="lift"),)), model=c.model, fit=[], held_out=None)
    assert elsewhere.sections[0].blocks[0].items[-1] == "It shows at turn: at lift itself the fit makes up for it."


def test_mistakes_of_a_table_that_spoil_nothing_have_their_own_place():
    c = case()
    cause = NamedCause(
        "lift", "mass is 1000 times too large, as g read as kg", "cad.csv", "lift.m: 3 -> 0.003 kg", (),
        c.constrained.joints, (0.2, 0.1, 0.1), (0.02, 0.03, 0.04), (0.15, 0.03), 9.2,
    )  # fmt: skip
    comparison, validation, _ = full()
    estimate = replace(c.constrained, noted=(cause,))
    report = gather(estimate, model=c.model, fit=[c.fit], held_out=c.other, validation=validation)
    assert "Mend first" not in report.verdict.reason
    first = report.sections[0]
    assert (first.title, first.blocks[0].words) == ("What to mend in the CAD table", "cad.csv: lift.m: 3 -> 0.003 kg")
    assert report.sentences[1].endswith(
        "; 1 mistake in cad.csv spoils nothing here (lift: mass is 1000 times too large, as g read as kg)."
    )
    far = len(comparison.far)
    assert far > SOME * comparison.tested
    assert f"; cad.csv is far off in {far} of " in questions(c.constrained, validation, comparison)[1]
    one = tuple(replace(r, verdict="agrees") if r in comparison.far[1:] else r for r in comparison.rows)
    assert "far off" not in questions(c.constrained, validation, replace(comparison, rows=one * 5))[1]


def test_the_first_screen_has_few_sentences():
    """What was decided, and more than three warnings, stand further down; nothing is lost."""
    c = case()
    _, validation, _ = full()
    told = tuple(f"warning {k}" for k in range(5))
    estimate = replace(c.constrained, warnings=told, notes=("processing: chosen",), active=("lift.viscous at zero",))
    report = gather(estimate, model=c.model, fit=[c.fit], held_out=None, validation=validation)
    assert [s.partition("?")[0] for s in report.sentences] == [
        "Is the model complete", "Are the numbers believable", "Does it predict"
    ]  # fmt: skip
    assert report.warnings == told[:3]
    assert "Notes" in report.note
    (notes,) = [s for s in report.sections if s.name == "notes"]
    assert [(b.title, b.items) for b in notes.blocks] == [
        ("Please note as well", told[3:]), ("Decided", ("processing: chosen",))
    ]  # fmt: skip
    about = next(s.blocks[0] for s in report.sections if s.name == "fit")
    assert any("checked exactly" in said for said in about.items)
    assert ("constraints at their bound", "lift.viscous at zero") in about.table.rows
    short = gather(c.constrained, model=c.model, fit=[], held_out=None, validation=validation)
    assert short.warnings == ()
    assert short.note == ""
    assert "notes" not in [s.name for s in short.sections]


def test_the_choice_of_joint_terms_is_drawn():
    """Also where all that was taken on the way is given up in the end."""
    c = case()
    spring, other = TriedTerm("a spring", "stiffness", 0.25, 0.01, 0.15), TriedTerm("x", "y", 0.05, 0.04, 0.19, "less")
    way = ((spring, other), (replace(other, missed=0.14),))
    chosen = Structure(0.2, 0.13, 0.16, 72, 6, "", ("spring = true",), (spring, other), way)
    lost = replace(spring, reason="nothing is gained")
    rejected = replace(chosen, after=0.2, honest=0.21, lines=(), tried=(lost, other))
    for structure, title, said in (
        (chosen, "1 kind of joint terms: 20.0 % missed becomes 13.0 %", "16.0 % where they are chosen without"),
        (rejected, "Taken on the way, and all given up", "given up: a spring; nothing is gained."),
    ):
        report = gather(replace(c.constrained, structure=structure), model=c.model, fit=[c.fit], held_out=None)
        (block,) = next(s.blocks for s in report.sections if s.name == "terms")
        assert said in block.items[-1]
        (drawn,) = block.drawings
        assert drawn.title == title
        (panel,) = drawn.panels
        assert [name for _, name in panel.y.ticks] == ["the model as it is", "+ a spring", "in the end"]
        honest, tried, path, paired, taken, *values = panel.marks
        assert honest.low == 100.0 * structure.honest
        assert np.allclose([tried.x, tried.y], [[19.0, 14.0], [1.0, 2.0]])
        assert np.allclose([taken.x, path.x], [20.0, 15.0, 100.0 * structure.after])
        assert np.allclose(paired.x[3:5], [14.6, 15.4])  # 2 x 1 % of the 20 % before
        assert [note.text for note in values][:2] == ["20.0 %", "15.0 %"]
        assert block.table.rows[0][-1] == ("taken" if structure is chosen else "nothing is gained")
        assert figure_of(drawn).axes[0].get_legend_handles_labels()[1][-1] == "taken"
    untried = gather(replace(c.constrained, structure=Structure(note="no")), model=c.model, fit=[], held_out=None)
    (block,) = next(s.blocks for s in untried.sections if s.name == "terms")
    assert (block.items, block.drawings, block.table) == (("Nothing was tried: no.",), (), None)
    assert "terms" not in [s.name for s in gather(c.constrained, model=c.model, fit=[], held_out=None).sections]


def test_an_ellipsoid_has_the_mass_centre_and_inertia_of_its_link():
    axes = np.array([0.3, 0.2, 0.1])
    turn = axis_angle(np.array([0.6, 0.0, 0.8]), 0.7)
    tensor = turn @ np.diag(2.0 / 5.0 * (np.sum(axes**2) - axes**2)) @ turn.T  # a solid ellipsoid of 2 kg
    centre, shape = ellipsoid(from_com(2.0, [0.1, -0.2, 0.3], tensor))
    assert np.allclose(centre, [0.1, -0.2, 0.3])
    assert np.allclose(shape @ shape.T, turn @ np.diag(axes**2) @ turn.T)
    assert ellipsoid([0.0] * 10) is None
    assert ellipsoid(from_com(1.0, [0.0] * 3, np.diag([1.0, 1.0, 5.0]))) is None


def test_the_robot_in_space_has_its_bodies_where_they_are():
    c = case()
    q = np.array([0.3, -0.4, 0.2])
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    shapes = {"base": [corners], "arm": [corners, 2 * corners]}
    (drawn,) = inertias(c.constrained, c.model, None, [replace(c.fit, q=np.tile(q, (len(c.fit.q), 1)))], shapes)
    space = json.loads(drawn.instead)
    arm = c.robot.poses(q)[1]
    assert np.allclose(
        space["shapes"], [corners, *(k * corners @ arm.rotation.T + arm.position for k in (1, 2))], atol=1e-4
    )
    assert sum(len(axes.patches) for axes in figure_of(drawn).axes) == 2 * (3 + 3)  # in two views, with the bodies
    assert [b["link"] for b in space["bodies"]] == [0, 1, 2]
    assert space["up"] == [0.0, 0.0, 1.0]
    for body, pose, row in zip(space["bodies"], c.robot.poses(q), c.constrained.inertials, strict=True):
        centre, shape = ellipsoid(row)
        assert np.allclose(body["centre"], pose.rotation @ centre + pose.position, atol=1e-5)
        assert np.allclose(body["shape"], pose.rotation @ shape, atol=1e-5)
        assert f"{row[0]:.3g} kg" in body["says"]


def test_pictures_have_the_colours_of_the_page(report):
    style = report[report.index("<style>") : report.index("</style>")]
    used = set(re.findall(r'"colour":"([^"]+)"', report))
    assert len(used) > 4
    assert all(style.count(f"{name}: #") == 2 for name in used)  # in light and in dark


NASTY = "<script>alert('1')</script> $x_1$ & \"q\" {{ 7*7 }}"


@pytest.mark.slow
def test_names_are_shown_and_never_run(tmp_path):
    c = case()
    renamed = replace(c.robot, name=NASTY)
    estimate = replace(c.constrained, robot=NASTY, prior=NASTY, provenance={NASTY: NASTY}, warnings=(NASTY,))
    motion = replace(c.fit, name=NASTY)
    path = write_report(
        gather(estimate, model=replace(c.model, robot=renamed), fit=[motion], held_out=motion, command=NASTY),
        tmp_path / "r.html",
    )
    found = Page(path.read_text())
    assert found.tags.count("script") == 2
    assert found.said.count(NASTY) >= 6
    assert "49" not in found.said.split("Provenance")[-1]


def test_names_in_figures_are_literal():
    picture = pictures.comparison_picture([("$a_b$", 1.0, "agrees"), ("x" * 80, 2.0, "agrees")], 3.0, title="$t$")
    shown = figures.svg_file(figure_of(picture), "d")
    assert "$t$" in shown
    assert "$a_b$" in shown
    assert "x" * 27 + "…" in shown


@pytest.mark.slow
def test_least_squares_without_anything_else(tmp_path):
    c = case()
    path = write_report(gather(c.wls, model=c.model, fit=[c.fit], held_out=None), tmp_path / "r.html")
    said = Page(path.read_text()).said
    assert "Only combinations of parameters are known" in said
    assert "Nothing was validated: the error on motions never seen is not known." in said
    assert "tower.m kg n/a prior" in said
    alone = write_report(gather(c.wls, model=c.model, fit=[], held_out=None), tmp_path / "a.html")
    assert "no fitted recording was given" in Page(alone.read_text()).said


def test_a_fitted_recording_is_not_called_held_out(tmp_path):
    c = case()
    validation = validate(c.model, c.fit, {"identified": c.wls.phi}, fitted=c.regression)
    path = write_report(gather(c.wls, model=c.model, fit=[], held_out=None, validation=validation), tmp_path / "r.html")
    said = Page(path.read_text()).said
    assert "Same recording: 'fit' was fitted; its errors show the fit and validate nothing." in said
    assert "no other recording was there to validate it" in said
    assert "NO: same recording" in said
    assert "Motions never seen:" not in said


def test_the_band_stands_over_the_errors_of_predictions():
    _, validation, _ = full()
    (plain,) = errors(validation)
    (banded,) = errors(replace(validation, band_hz=8.0))
    assert plain.title.endswith("% error over all joints")
    assert banded.title == f"{plain.title} below 8 Hz"


@pytest.mark.slow
def test_all_fitted_recordings_are_judged(tmp_path):
    """Residuals, friction and tables hold both recordings; of a streamed one the first part."""
    c = case()
    rest = replace(c.fit, tau=c.fit.tau + 5.0)
    parts = [c.fit, replace(c.other, name="second", tau=c.other.tau + 0.5), rest]
    given = {"model": c.model, "held_out": None}
    path = write_report(gather(c.wls, fit=iter(parts), **given), tmp_path / "r.html")
    found = Page(path.read_text())
    told = r"(turn|lift|reach): the residual of “second” is 0.5\d* N( m)? rms, of the others 0.0\d+; look for"
    assert len(re.findall(told, found.said)) == 2  # on the first screen and beside the figures
    assert "the residual of “fit” is" not in found.said
    report = gather(c.wls, model=c.model, fit=parts[:2], held_out=None)
    shown = next(section for section in report.sections if section.name == "residuals").blocks[0]
    table = shown.table
    assert [row[0] for row in table.rows] == ["fit", "second"]
    assert [float(x) for x in table.rows[1][1:]] == pytest.approx([0.5] * 3, abs=0.02)
    assert [float(x) for x in table.rows[0][1:]] == pytest.approx([0.02] * 3, abs=0.005)
    assert shown.drawings[0].panels[0].x.words == "time of 2 recordings [s]"
    assert re.search(r"turn: 0.35\d N m rms left, correlated for ", shown.drawings[0].title)


def test_another_model_is_refused(tmp_path):
    c = case()
    with pytest.raises(ModelError, match="the estimate of 'crane' has other parameters than the model"):
        write_report(gather(c.wls, model=Model(c.robot), fit=[], held_out=None), tmp_path / "r.html")
    assert list(tmp_path.iterdir()) == []


def test_a_prediction_from_base_parameters_is_that_of_phi():
    c = case()
    theta = c.wls.for_torque
    found = torque(c.model, theta, c.other.q, c.other.qd, c.other.qdd)
    left = ((c.other.tau - found) ** 2).sum(axis=0)
    own = validate(c.model, c.other, {"x": c.wls.phi}, fitted=None).recordings[0].of("x")
    assert np.allclose(left, own.squared, rtol=1e-8)
    assert c.constrained.for_torque is c.constrained.theta


def test_friction_law():
    c = case()
    v = np.linspace(-2, 2, 41)
    value = dict(zip(c.model.names, c.theta, strict=True))
    expected = value["lift.viscous"] * v + value["lift.coulomb"] * np.sign(v) + value["lift.offset"]
    assert np.allclose(friction_law(c.model, c.theta, 1, v), expected)
    sprung = Model(c.robot, (*c.model.terms, Spring(rest=1.0)))  # a spring is no friction
    assert np.allclose(friction_law(sprung, np.append(c.theta, [5.0] * 3), 1, v), expected)
    coupled = Model(c.robot, coupled_drive("motor", (0.0, 0.5, 1.0)))
    theta = np.zeros(33)
    theta[30:] = [9.0, 2.0, 3.0]  # inertia does not show at steady speed
    assert np.allclose(friction_law(coupled, theta, 1, v), 0.5 * (2.0 * 0.5 * v + 3.0 * np.sign(v)))


def test_identifiability_map():
    c = case()
    states = identifiability(c.wls)
    flat = dict(zip(c.model.names, [s for row in states for s in row], strict=False))
    base = base_parameters(c.model)
    assert {n for n, s in flat.items() if s == "alone"} == {n for n in base.identifiable if n in flat}
    assert {n for n, s in flat.items() if s == "never"} == set(base.unidentifiable)
    matrix = c.wls.covariance.matrix.copy()
    k = base.names.index("slider.m")
    matrix[k], matrix[:, k] = np.nan, np.nan
    still = replace(c.wls, covariance=replace(c.wls.covariance, matrix=matrix))
    assert identifiability(still)[2][0] == "logs"


@cache
def drawings():
    rng = np.random.default_rng(0)
    t = np.linspace(0, 60, 40_000)
    y = 30 * np.sin(t) + rng.normal(size=len(t))
    long = "a_joint_with_a_name_that_does_not_end_at_all"
    off = rng.normal(0, 30, 45)
    verdicts = ["contradicted" if abs(x) > 4 else "agrees" if k % 2 else "not determined" for k, x in enumerate(off)]
    states = [[("alone", "sum", "logs", "never")[(i + k) % 4] for k in range(10)] for i in range(7)]
    title = "joint1: prediction misses 1.23 % of the torque"
    c, rows_ = case(), [
        SimpleNamespace(name=long, standard_errors=x, verdict=v, scale=1.0, difference=x / 30, half_width=abs(x) / 9)
        for x, v in zip(off, verdicts, strict=True)
    ]  # fmt: skip
    against, shares = comparisons(SimpleNamespace(rows=rows_, boundary=4.2, count=verdicts.count))
    motion = SimpleNamespace(t=t, tau=np.stack([y] * 3, axis=1), name=long)
    tried = tuple(zip(10.0 ** np.arange(-7, 2), np.arange(1.0, 10.0), strict=True))
    return {
        "torque": next(torques(c.model, motion, motion.tau + 1, "fitted", 1500)),
        "friction": next(frictions(c.model, c.theta, residuals(c.model, c.theta, [c.fit]))),
        "comparison": against,
        "intervals": shares,
        "errors": pictures.error_picture([long, "b"], {"identified": [0.02, np.nan], "CAD": [0.9, 2.5]}, title=title),
        "residual": residual_of(t, y, np.cos(t), np.sin(t), title=title, starts=(0, 10_000)),
        "map": pictures.states_picture([long] * 7, text.INERTIAL, states, title=title),
        "weight": next(selection(replace(c.constrained, selection=tried, weight=1e-7))),
        "matrix": Picture(title, (Panel(rows("abc"), rows("abc"), (Cells(np.eye(3)), Note(1, 1, "n", figures.RED))),)),
    }


NAMES = ["torque", "friction", "comparison", "intervals", "errors", "residual", "map", "weight", "matrix"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_figures_fit_their_frames_and_name_their_units(name, tmp_path):
    shown = drawings()[name]
    figure = figure_of(shown)
    assert figures.save_figure(figure, tmp_path / "figure.png", 60).read_bytes().startswith(b"\x89PNG")
    width, height = figure.get_size_inches()
    box = figure.get_tightbbox(figure.canvas.get_renderer())
    assert min(box.x0, box.y0) > -0.02
    assert box.x1 < width + 0.02
    assert box.y1 < height + 0.02
    for axes in figure.axes:
        labels = [axes.get_xlabel(), axes.get_ylabel()]
        if name in ("torque", "friction", "weight"):
            assert all(re.search(r"\[.+\]$", label) for label in labels if label)
            assert labels[1]
    boxes = [x.get_window_extent() for x in figure.axes[-1].get_xticklabels() if x.get_text() and x.get_visible()]
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])


@pytest.mark.slow
@pytest.mark.parametrize("words", [2, 4, 14])
def test_titles_are_no_wider_than_their_figure(words):
    said = " ".join(["shoulder_pan_joint:", *["viscous 21.7"] * words])
    figure = figure_of(Picture(said, (Panel(Axis(), Axis(), ()),)))
    (title,) = figure.texts
    assert title.get_window_extent().x1 <= figure.bbox.width
    assert title.get_text().endswith("…") == (words == 14)


@given(st.integers(1, 4000), st.integers(0, 2**32 - 1))
def test_a_curve_on_paper_keeps_its_peaks_and_its_gaps(samples, seed):
    y = np.random.default_rng(seed).normal(size=samples)
    gap = np.where(np.arange(samples) == samples // 2, np.nan, y)
    for own in (y, gap):
        starts, ends = stretched(own, 900)
        assert len(starts) == (samples if np.isnan(own).any() else min(samples, 900))
        assert (np.diff(starts) > 0).all()
        assert np.nanmax(ends, initial=-9) == np.nanmax(own, initial=-9)
        assert np.nanmin(ends, initial=9) == np.nanmin(own, initial=9)
        assert np.isnan(ends).sum() == np.isnan(own).sum()


@pytest.mark.slow
def test_no_window_system_and_no_global_figures():
    code = (
        "import sys; from ident.report import figures, pictures;"
        "p = pictures.error_picture(['j'], {'a': [1.0]}, title='t'); heavy = 'matplotlib' in sys.modules;"
        "figures.svg_file(figures.figure_of(p), 'd'); sys.exit(heavy or 'matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("value", "half", "shown"),
    [
        (0.041234, 0.00023, "0.04123 ± 0.00023"),
        (-12.3456, 1.7, "-12.3 ± 1.7"),
        (1234.5, 99.0, "1234 ± 99"),
        (1.2341e-6, 3.1e-8, "(1.234 ± 0.031)e-6"),
        (0.0, 0.5, "0.00 ± 0.50"),
        (0.1, None, "not determined"),
        (0.1, float("nan"), "not determined"),
    ],
)
def test_numbers_with_errors(value, half, shown):
    assert text.with_error(value, half) == shown


@given(st.floats(-1e9, 1e9), st.floats(1e-12, 1e9))
def test_numbers_with_errors_lose_less_than_a_tenth_of_the_error(value, half):
    shown = text.with_error(value, half)
    middle, _, rest = shown.strip("()").partition(" ± ")
    size, _, power = rest.partition(")e")
    scale = 10.0 ** int(power or 0)
    assert abs(float(middle) * scale - value) <= 0.1 * half + 1e-14 * abs(value)
    assert abs(float(size) * scale - half) <= 0.1 * half


def test_what_could_not_be_computed_is_said():
    assert text.number(None) == text.number(float("nan")) == text.percent(None) == text.percent(float("nan")) == "n/a"
    assert text.number(float("inf")) == "infinite"
    assert text.percent(0.0133) == "1.33 %"
    assert text.percent(1.0) == "100 %"
    assert text.percent(0.018) == "1.80 %"


def test_units():
    assert text.unit("a.b.Ixx") == "kg m²"
    assert text.unit("a.m") == "kg"
    assert text.unit("a.hz") == "kg m"
    assert text.unit("lift.viscous") == "N m s/rad"
    assert text.unit("reach.viscous", frozenset({"reach"})) == "N s/m"


def test_summary_rows():
    c = case()
    rows = dict(text.summary_rows(c.constrained).rows)
    assert rows["robot"] == "crane, 3 joints"
    assert rows["every link can exist"] == "yes"
    assert dict(text.summary_rows(c.wls).rows)["every link can exist"] == "not asked"


def test_validation_rows():
    _, validation, _ = full()
    table = text.validation_rows(validation)
    assert table.columns == (
        "recording", "held out", "joint", "samples", "error, identified", "error, CAD", "error, zero",
    )  # fmt: skip
    assert [r[2] for r in table.rows] == ["turn", "lift", "reach", "all"]
    assert table.rows[0][1] == "yes"
    assert " N m (" in table.rows[0][4]
    assert " N (" in table.rows[2][4]
    assert table.rows[3][6] == "100 %"


def test_a_cause_of_a_light_joint_shows_the_error_of_that_joint():
    own = {"where": "b", "what": "zero", "file": "log", "mend": "mend", "rivals": (), "joints": ("a", "b")}
    light = NamedCause(**own, before=(0.01, 0.3), after=(0.01, 0.1), total=(0.0176, 0.0175))
    assert "(error of b on stretches left out 30 %, without that 10 %)" in str(light)
    heavy = replace(light, total=(0.3, 0.1))
    assert "(error on stretches left out 30 %, without that 10 %)" in str(heavy)
