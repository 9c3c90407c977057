"""The pages in a real browser, where one is installed: no script error, all drawn, no overflow, both colour schemes.

Without a browser the structure of the same pages is checked all the same.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from identified import case
from test_report import full
from test_report_change import after

from ident.compare.difference import changes
from ident.estimate.estimate import NamedCause, Structure, Trace, TriedTerm
from ident.report import gather, write_report
from ident.report.several import gather_changes

pytestmark = pytest.mark.slow

BROWSER = next((b for b in ("chromium", "google-chrome", "chromium-browser", "chrome") if shutil.which(b)), None)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--enable-logging=stderr"]
WIDTHS = (1280, 390)
# Holds every page at every width, and writes what each says of itself into its own document.
LOOK = """<!DOCTYPE html><title>all</title><body>%s<pre id="found"></pre><script>
addEventListener("load", () => {
  const found = [];
  for (const f of document.querySelectorAll("iframe")) {
    const d = f.contentDocument, root = d.documentElement, one = {...root.dataset, width: +f.width};
    const pictures = [...d.querySelectorAll("figure.picture")];
    one.curves = pictures.map((p) => p.querySelectorAll("path.curve, path.cloud, circle, rect[fill]").length);
    one.ticks = pictures.map((p) => p.querySelectorAll("text.tick").length);
    one.small = [...d.querySelectorAll("figure")].filter((c) => c.getBoundingClientRect().width < 200).length;
    one.background = f.contentWindow.getComputedStyle(root).backgroundColor;
    one.ink = f.contentWindow.getComputedStyle(root).color;
    const path = () => { const p = d.querySelector("#torque_held-out_1 path.curve"); return p && p.getAttribute("d"); };
    const button = (what) => d.querySelector(`button[data-zoom="${what}"]`);
    one.whole = path();
    if (button("in")) { button("in").click(); one.near = path(); button("all").click(); one.again = path(); }
    const cell = d.querySelector("td[data-say]");
    if (cell) { cell.click(); one.said = d.getElementById("say").textContent; }
    found.push(one);
    if (root.dataset.errors) continue;
    const space = d.querySelector("figure.space > svg");
    if (space) {
      const press = (key) => space.dispatchEvent(new f.contentWindow.KeyboardEvent("keydown", { key }));
      one.first = space.innerHTML; one.bodies = space.querySelectorAll("ellipse").length;
      press("ArrowLeft"); one.turned = space.innerHTML; press("0"); one.restored = space.innerHTML;
    }
    const head = [...d.querySelectorAll("#cad th, #all th")].find((h) => /standard error/.test(h.textContent));
    const table = head.closest("table"), rows = table.tBodies[0].rows;
    const column = () => [...rows].map((r) => r.cells[head.cellIndex].textContent);
    const sorted = () => { head.querySelector("button").click(); return column(); };
    one.given = column(); one.up = sorted(); one.sorted = head.ariaSort; one.down = sorted(); one.back = sorted();
    const field = table.closest("details").querySelector("input");
    field.value = "LIFT viscous"; field.dispatchEvent(new f.contentWindow.Event("input"));
    one.left = [...rows].filter((r) => !r.hidden).map((r) => r.cells[0].textContent);
    one.count = table.closest("details").querySelector(".count").textContent;
    let kept = null;
    f.contentWindow.URL.createObjectURL = (blob) => { kept = blob; return "#"; };
    table.closest("details").querySelector(".tools button").click();
    one.csv = kept.size;
    one.contents = d.querySelectorAll("nav a").length;
  }
  document.getElementById("found").textContent = JSON.stringify(found);
});
</script>"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    c = case()
    comparison, validation, truth = full()
    long = "a joint with a very long name " * 3
    warned = replace(c.constrained, warnings=(long, "x" * 200), provenance={"ident": "1" * 150})
    report = write_report(
        gather(
            warned,
            model=c.model,
            fit=[c.fit],
            held_out=c.other,
            comparison=comparison,
            validation=validation,
            truth=truth,
            command="ident run " + "x" * 150,
        ),
        folder / "report.html",
    )
    named = [("before", c.wls), ("after", after(lift__viscous=1.3))]
    change = write_report(gather_changes(named, changes(named)), folder / "change.html")
    return {"report": report.read_text(), "change": change.read_text()}


def seen(folder: Path, pages: dict[str, str], dark: bool, attempts: int = 3) -> tuple[list[dict], list[str]]:
    """Return what each page at each width says of itself, and what the browser's console said."""
    assert BROWSER is not None
    frames = [
        f'<iframe width="{width}" height="3000" srcdoc="{html.escape(page)}"></iframe>'
        for page in pages.values()
        for width in WIDTHS
    ]
    look = folder / "look.html"
    look.write_text(LOOK % "".join(frames))
    # A fault of a page is there every time; a busy browser that complained of a frame once did not complain again.
    for attempt in range(attempts):
        profile = f"--user-data-dir={folder / f'profile{dark}{attempt}'}"
        command = [BROWSER, *FLAGS, profile, "--window-size=1400,3000"]
        command += [f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--dump-dom", look.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=180)
        console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        if not console:
            break
    said = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, flags=re.S).group(1)
    return json.loads(html.unescape(said)), console


def brightness(colour: str) -> float:
    return float(np.mean([int(x) for x in re.findall(r"\d+", colour)[:3]]))


def structure(pages: dict[str, str]) -> None:
    """Check what can be checked without a browser."""
    report = pages["report"]
    assert report.count('class="picture"') == 20
    assert "prefers-color-scheme: dark" in report
    assert "@media print" in report
    for page in pages.values():
        assert 'name="viewport" content="width=device-width, initial-scale=1"' in page
        assert page.count("<script>") == 1
        assert page.count("<svg") == page.count("</svg>") == 0  # the scripts draw all
    assert set(re.findall(r'data-zoom="(\w+)"', report)) == {"in", "out", "left", "right", "all"}


@pytest.mark.parametrize("dark", [False, True])
def test_pages_in_a_browser(pages, tmp_path, dark):
    structure(pages)
    if BROWSER is None:
        return
    found, console = seen(tmp_path, pages, dark)
    assert console == []
    assert [f["width"] for f in found] == list(WIDTHS) * 2
    for one in found:
        assert "errors" not in one
        content, window = map(int, one["wide"].split("/"))
        assert content <= window <= one["width"]
        assert one["small"] == 0
        paper, ink = brightness(one["background"]), brightness(one["ink"])
        assert (paper < 60 and ink > 180) if dark else (paper > 200 and ink < 80)
        numbers = [float(x) if x != "n/a" else np.nan for x in one["given"]]
        known = sorted(x for x in numbers if not np.isnan(x))
        assert [float(x) for x in one["up"] if x != "n/a"] == known
        assert [float(x) for x in one["down"] if x != "n/a"] == known[::-1]
        assert one["up"][len(known) :] == one["down"][len(known) :] == ["n/a"] * (len(numbers) - len(known))
        assert one["sorted"] == "ascending"
        assert one["back"] == one["given"]
        assert one["left"] == ["lift.viscous"]
        assert one["count"] == f"(1 of {len(numbers)})"
        assert 100 < one["csv"] < 400
        assert one["contents"] >= 3
    for one in found[:2]:
        assert one["ready"] == "20"
        assert one["bodies"] == 6  # three links, identified and CAD's
        assert one["first"] == one["restored"] != one["turned"]
        assert min(one["curves"]) >= 2
        assert min(one["ticks"]) >= 4
        assert len(one["whole"]) > 1000
        assert one["near"] != one["whole"]
        assert one["again"] == one["whole"]
        assert one["said"].startswith("tower.m: ")
    for one in found[2:]:
        assert one["ready"] == "4"
        assert min(one["curves"]) >= 2


def test_a_broken_page_is_noticed(pages, tmp_path):
    """The checks above can fail: a script with an error, and a page that is too wide, are told."""
    structure(pages)
    if BROWSER is None:
        with pytest.raises(AssertionError):
            structure({**pages, "report": pages["report"].replace("<script>", "", 1)})
        return
    policy = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
    throws = policy.sub("", pages["report"]).replace("  draw();\n", "  draw(); missing();\n", 1)
    wide = pages["report"].replace("<h1>", '<h1 style="width: 3000px">', 1)
    found, console = seen(tmp_path, {"throws": throws, "wide": wide}, dark=False, attempts=1)
    assert "missing is not defined" in found[0]["errors"]
    assert any("missing" in line for line in console)
    content, window = map(int, found[3]["wide"].split("/"))
    assert content > window


#: What runs on a page: the rules of axe-core, half a second after it is drawn.
RULES = """<script src="%s"></script><script>
addEventListener("load", () => setTimeout(() => axe.run(document, {resultTypes: ["violations"]}).then((found) => {
  const told = found.violations.map((v) => [v.impact, v.id, v.nodes[0].html, v.nodes[0].failureSummary]);
  parent.postMessage(["looked", +name, told], "*");
}), 500));
</script></body>"""
#: Holds the pages, and writes what each told into its own document.
ALL = """<!DOCTYPE html><title>all</title><body>%s<pre id="found"></pre><script>
const found = [];
addEventListener("message", ({ data: [word, k, told] }) => {
  if (word === "looked") found[k] = told;
  document.getElementById("found").textContent = JSON.stringify(found);
});
</script></body>"""


def violations(pages, folder, dark):
    """Return for each page what the rules of axe-core find on it: impact, rule, the first element and why."""
    rules = Path(os.environ.get("IDENT_AXE") or Path(find_spec("axe_core_python").origin).with_name("axe.min.js"))
    folder.mkdir(exist_ok=True)
    width, frames, looked = 390 if dark else 1280, [], [page.with_name(f"looked-at-{page.name}") for page in pages]
    for k, (page, copy) in enumerate(zip(pages, looked, strict=True)):
        copy.write_text(page.read_text(encoding="utf-8").replace("</body>", RULES % rules.as_uri()), encoding="utf-8")
        frames.append(f'<iframe name="{k}" width="{width}" height="1200" src="{copy.as_uri()}"></iframe>')
    (folder / "all.html").write_text(ALL % "".join(frames), encoding="utf-8")
    command = [BROWSER, *FLAGS, f"--user-data-dir={folder}", f"--window-size={width + 20},{1250 * len(pages)}"]
    command += [
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        "--virtual-time-budget=15000",
        "--dump-dom",
    ]
    uri = (folder / "all.html").as_uri()
    done = subprocess.run([*command, uri], capture_output=True, text=True, check=True, timeout=180)
    for copy in looked:
        copy.unlink()
    told = json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', done.stdout, flags=re.DOTALL)[1]))
    assert len(told) == len(pages), done.stdout
    assert all(isinstance(each, list) for each in told), done.stdout
    return told


@pytest.mark.parametrize("dark", [False, True], ids=["light, wide", "dark, narrow"])
def test_reports_are_accessible(pages, tmp_path, dark):
    """No serious finding of axe-core, with all tables open; a page that has one is noticed."""
    c = case()
    cause = NamedCause(
        "lift", "its zero is off", "robot.toml", 'add 5; or `zeros = ["lift"]` below [calibrate]', ("turn: other way",),
        c.constrained.joints, (0.2, 0.1, 0.1), (0.02, 0.03, 0.04), (0.15, 0.03), 9.2,
        Trace("turn", "N m", "position of lift", "rad", (0.0, 1.0), (0.3, 0.2), (3.0, 4.0), (0.3, 0.4)),
    )  # fmt: skip
    tried = TriedTerm("a spring", "stiffness", 0.1, 0.01, 0.15)
    chosen = Structure(0.2, 0.15, 0.16, 72, 6, "", ("spring = true",), (tried,), ((tried,), ()))
    estimate = replace(c.constrained, causes=(cause,), structure=chosen, notes=("chosen",), warnings=tuple("abcd"))
    more = write_report(gather(estimate, model=c.model, fit=[c.fit], held_out=None), tmp_path / "more.html")
    policy = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
    files = []
    for name, text in {**pages, "more": more.read_text()}.items():
        files.append(tmp_path / f"{name}.html")
        files[-1].write_text(policy.sub("", text).replace("<details ", "<details open "))
    assert '<html lang="en"' in pages["report"]
    files.append(tmp_path / "nameless.html")
    files[-1].write_text(files[-2].read_text().replace('<html lang="en"', "<html"))
    if BROWSER:
        *found, nameless = violations(files, tmp_path / "profile", dark)
        for file, told in zip(files, found, strict=False):
            assert [v for v in told if v[0] in ("serious", "critical")] == [], file.name
        assert "html-has-lang" in [v[1] for v in nameless]
