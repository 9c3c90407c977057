"""Report of seven joints and 100,000 samples: time to write, size, time until headless Chromium has drawn it.

python experiments/benchmarks/report.py
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from arm7 import bodies, model

from ident.compare import cad_theta, compare_with, validate
from ident.estimate import estimated
from ident.logs import Motion
from ident.model import torque
from ident.regression import compress
from ident.report import gather, write_report

SAMPLES, SECONDS = 100_000, 100.0
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]


def recording(name: str, seed: int) -> Motion:
    """Return a multi-sine motion with noise of 2 % of the torque."""
    rng = np.random.default_rng(seed)
    arm = model()
    t = np.linspace(0.0, SECONDS, SAMPLES, endpoint=False)
    q, qd, qdd = np.zeros((3, SAMPLES, 7))
    for harmonic in range(1, 6):
        w, a, phase = 2 * np.pi * 0.1 * harmonic, rng.uniform(0.1, 0.4, 7), rng.uniform(0, 6, 7)
        x = w * t[:, None] + phase
        q, qd, qdd = q + a * np.sin(x), qd + a * w * np.cos(x), qdd - a * w**2 * np.sin(x)
    theta = np.concatenate([bodies(7).ravel(), np.full(7, 0.2), np.linspace(0.5, 2, 14), np.full(7, 0.1)])
    tau = torque(arm, theta, q, qd, qdd)
    tau += 0.02 * rng.normal(size=tau.shape) * tau.std(axis=0)
    blocks = tuple((k, k + SAMPLES // 10) for k in range(0, SAMPLES, SAMPLES // 10))
    return Motion(name, t, q, qd, qdd, tau, np.ones(tau.shape, dtype=bool), (), blocks)


def main() -> None:
    arm, fit, other = model(), recording("fit", 1), recording("other", 2)
    regression = compress(arm, fit)
    estimate = estimated(arm, regression, feasible=False)
    cad = bodies(7) * 1.1
    theta, _ = cad_theta(arm, cad, {})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        for ending in (".html", ".pdf"):
            start, cpu = time.perf_counter(), time.process_time()
            report = gather(
                estimate,
                model=arm,
                fit=[fit],
                held_out=other,
                comparison=compare_with(estimate, cad, {}, "cad"),
                validation=validate(arm, other, {"identified": estimate.phi, "CAD": theta}, fitted=regression),
                regression=regression,
            )
            write_report(report, path.with_suffix(ending))
            took, busy = time.perf_counter() - start, time.process_time() - cpu
            size = path.with_suffix(ending).stat().st_size / 1e6
            print(f"{ending[1:]:<4} written in {took:.1f} s ({busy:.1f} s of one core), {size:.2f} MB")
        browser = next((b for b in ("chromium", "google-chrome", "chromium-browser") if shutil.which(b)), None)
        if browser is None:
            print("no browser: not opened")
            return
        empty = Path(folder) / "empty.html"
        empty.write_text("<!DOCTYPE html><title>empty</title>")
        opened = {
            page: [shown(browser, page, Path(folder) / f"profile{k}") for k in range(3)] for page in (empty, path)
        }
        for page, runs in opened.items():
            print(f"{page.name}: browser started, page opened and written out in {min(s for s, _ in runs):.1f} s")
        told = [re.search(r'data-ready="(\d+)" data-ms="(\d+)"', dom) for _, dom in opened[path]]
        drawn = [(int(found[2]) / 1e3, found[1]) for found in told if found]
        if drawn:
            print("report.html: {:.2f} s until its {} charts are drawn".format(*min(drawn)))


def shown(browser: str, page: Path, profile: Path) -> tuple[float, str]:
    """Return how long the browser took from its start to the page's final state, and that state."""
    start = time.perf_counter()
    command = [browser, *FLAGS, f"--user-data-dir={profile}", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return time.perf_counter() - start, done.stdout


if __name__ == "__main__":
    main()
