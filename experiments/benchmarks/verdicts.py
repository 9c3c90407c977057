"""Experiments with one mistake in their files, and the same without it: what does `ident run` say?

    python experiments/benchmarks/verdicts.py [SEED] [CASES]

Files are written as a user has them: a Denavit-Hartenberg table, two CSV logs (200 Hz, time, positions in steps of an
encoder, torques with noise), dataset.toml, an experiment that sets nothing. Six arms, two of them with sliding joints,
with the ordinary nuisance of `mistakes.py`: gains, zeros, a Stribeck part. A mistake does harm where it changes what
is predicted of some joint, on the motion that was kept, by more than the noise of that torque.

"named": the verdict's reason is the mistake; "held": no "Ready to use", for another reason; "READY": it is harmful, and
passes. Of right experiments, "READY" is wanted.

Seed 2 (40) had fits that failed without a word on why, and torques cut off that passed: both mended since. Drawn after
the rules were frozen, seed 5 (40): all 40 right experiments ready; of 31 harmful mistakes 30 named and one held, none
ready; the 9 without harm ready (zeros and lengths that bodies make up for, delays of slow motions).
"""

from __future__ import annotations

import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from automatic import fourier
from mistakes import ARM5, ELBOW, PANDA, RIGHT, UR, log

from ident.errors import IdentError
from ident.model import Model, torque
from ident.pipelines import run
from ident.report.text import verdict
from ident.robot import read_robot

Row = tuple[str, float, float, float, float]
TURNING = {"panda": ("mdh", PANDA), "ur": ("dh", UR), "arm5": ("mdh", ARM5), "elbow": ("mdh", ELBOW)}
SLIDING: dict[str, list[Row]] = {
    "gantry": [("prismatic", 0, -RIGHT, 0, 0), ("prismatic", 0, -RIGHT, 0, -RIGHT), ("revolute", 0.3, RIGHT, 0, 0)],
    "scara": [("revolute", 0.35, 0, 0, 0), ("revolute", 0.25, 2 * RIGHT, 0, 0), ("prismatic", 0, 0, 0, 0)],
}
SLIDING["gantry"].append(("revolute", 0.2, 0, 0, 0))
SLIDING["scara"].append(("revolute", 0, 0, 0.1, 0))
Table = list[dict[str, object]]


def arms() -> dict[str, tuple[str, Table]]:
    """Return the convention and the rows (mm, degrees) of each arm."""
    found: dict[str, tuple[str, list[Row]]] = {
        name: (how, [("revolute", *(float(x) for x in row), 0.0) for row in rows])
        for name, (how, rows) in TURNING.items()
    }
    found |= {name: ("dh", rows) for name, rows in SLIDING.items()}
    tables = {}
    for name, (how, rows) in found.items():
        deg = 180 / np.pi
        tables[name] = (
            how,
            [
                {"kind": k, "a": 1e3 * a, "alpha": deg * al, "d": 1e3 * d, "offset": deg * th, "sign": 1}
                for k, a, al, d, th in rows
            ],
        )
    return tables


def robot_file(name: str, how: str, rows: Table, head: dict[str, str]) -> str:
    """Return the text of robot.toml; head: `length`, `gravity` where they are not the right ones."""
    text = f'name = "{name}"\nconvention = "{how}"\nlength = "{head.get("length", "mm")}"\nangle = "deg"\n'
    text += f"gravity = {head.get('gravity', '[0, 0, -9.81]')}\n"
    for k, row in enumerate(rows):
        slides = row["kind"] == "prismatic"
        text += f'\n[[joint]]\nname = "joint{k + 1}"\nlink = "link{k + 1}"\nkind = "{row["kind"]}"\n'
        for key in ("a", "alpha", "d", "offset", "sign"):
            if not (slides and key == "d") and not (slides and key == "offset"):
                text += f"{key} = {row[key]}\n"
        if slides:
            text += f"theta = {row['offset']}\n"
    return text


DATA = """[dataset]
name = "logs"
source = "simulated"

[signals]
time = {{ column = "t", unit = "{time}" }}
position = {{ columns = {q}, unit = {unit} }}
torque = {{ columns = {tau}, unit = {effort} }}

[[recording]]
name = "first"
file = "first.csv"

[[recording]]
name = "second"
file = "second.csv"
"""
EXPERIMENT = """[experiment]
title = "as it came"
robot = "robot.toml"
data = "dataset.toml"

[recordings]
fit = ["first"]
validate = ["second"]
"""


class Files:
    """What a user wrote, to be changed."""

    def __init__(self, name: str, how: str, rows: Table, logs: dict[str, pd.DataFrame]):
        self.name, self.how, self.rows, self.logs = name, how, [dict(r) for r in rows], logs
        self.head: dict[str, str] = {}
        self.n = len(rows)
        self.q = [f"q{j + 1}" for j in range(self.n)]
        self.tau = [f"tau{j + 1}" for j in range(self.n)]
        self.units = ["m" if r["kind"] == "prismatic" else "rad" for r in rows]
        self.efforts = ["N" if r["kind"] == "prismatic" else "N m" for r in rows]
        self.time = "s"

    def change(self, columns: list[str], how: Callable[[np.ndarray], np.ndarray]) -> None:
        self.logs = {k: t.assign(**{c: how(t[c].to_numpy()) for c in columns}) for k, t in self.logs.items()}

    def write(self, folder: Path) -> Path:
        def listed(x: list[str]) -> str:
            return "[" + ", ".join(f'"{c}"' for c in x) + "]"

        (folder / "robot.toml").write_text(robot_file(self.name, self.how, self.rows, self.head))
        unit = listed(self.units) if len(set(self.units)) > 1 else f'"{self.units[0]}"'
        effort = listed(self.efforts) if len(set(self.efforts)) > 1 else f'"{self.efforts[0]}"'
        text = DATA.format(time=self.time, q=listed(self.q), tau=listed(self.tau), unit=unit, effort=effort)
        (folder / "dataset.toml").write_text(text)
        for name, table in self.logs.items():
            table.to_csv(folder / f"{name}.csv", index=False, float_format="%.7g")
        (folder / "experiment.toml").write_text(EXPERIMENT)
        return folder / "experiment.toml"


def mistaken(rng: np.random.Generator, files: Files) -> tuple[str, str]:
    """Make a mistake in the files; return what, and what a verdict that names it holds (a regular expression)."""
    n, sign = files.n, float(rng.choice([-1, 1]))
    turning = [j for j in range(n) if files.rows[j]["kind"] == "revolute"]
    j, k = (int(x) for x in rng.choice(n, 2, replace=False))
    t = int(rng.choice(turning))
    one, two = f"joint{j + 1}", f"joint{k + 1}"
    kinds = (
        "axis size quarter zero alpha direction length mm convention swaptau swapq sign signs gain degrees degree ms"
    )
    kinds += " rate dead clipped late weightless shift speed"
    kind = str(rng.choice(kinds.split()))
    row = files.rows[t]
    if kind == "axis":
        files.head["gravity"] = str(rng.choice(["[0, 0, 9.81]", "[0, 9.81, 0]", "[-9.81, 0, 0]"]))
        return f"gravity {files.head['gravity']}", "gravity"
    if kind == "size":
        files.head["gravity"] = "[0, 0, -9810]"
        return "gravity 9810", "gravity"
    if kind in ("quarter", "zero"):
        off = sign * 90 if kind == "quarter" else sign * rng.uniform(3, 8)
        row["offset"] = float(row["offset"]) + off  # type: ignore[arg-type]
        return f"zero of joint{t + 1} off by {off:.1f}", f"joint{t + 1}: its zero|joint{t + 1}"
    if kind == "alpha":
        which = [r for r in files.rows if abs(float(r["alpha"])) > 1]  # type: ignore[arg-type]
        bad = which[int(rng.integers(len(which)))]
        bad["alpha"] = -float(bad["alpha"])  # type: ignore[arg-type]
        return f"alpha of joint{files.rows.index(bad) + 1} turned", "alpha|turned|sign|other way|zero"
    if kind == "direction":
        row["sign"] = -1
        return f"joint{t + 1} turns the other way", f"joint{t + 1}"
    if kind == "length":
        long = [(r, c) for r in files.rows for c in ("a", "d") if abs(float(r[c])) > 50]  # type: ignore[arg-type]
        bad, column = long[int(rng.integers(len(long)))]
        factor = 1 + sign * rng.uniform(0.08, 0.2)
        bad[column] = factor * float(bad[column])  # type: ignore[arg-type]
        return f"{column} of joint{files.rows.index(bad) + 1} by {factor:.2f}", "length|is .* long|shorter|longer"
    if kind == "mm":
        files.head["length"] = "m"
        return "millimetres declared metres", "millimet"
    if kind == "convention":
        files.how = "mdh" if files.how == "dh" else "dh"
        for r in files.rows:
            if r["kind"] == "prismatic" and files.how == "mdh":
                pass
        return f"declared {files.how}", "Denavit|convention|modified|DH"
    if kind == "swaptau":
        files.tau[j], files.tau[k] = files.tau[k], files.tau[j]
        return f"torques of {one}, {two} swapped", f"{one} and {two}|{two} and {one}"
    if kind == "swapq":
        files.q[j], files.q[k] = files.q[k], files.q[j]
        return f"positions of {one}, {two} swapped", f"{one} and {two}|{two} and {one}"
    if kind == "shift":
        files.tau = files.tau[1:] + files.tau[:1]
        return "torques shifted by one", "shifted"
    if kind == "sign":
        files.change([f"tau{j + 1}"], lambda x: -x)
        return f"torque of {one} negative", one
    if kind == "signs":
        files.change([f"tau{i + 1}" for i in range(n)], lambda x: -x)
        return "all torques negative", "torques have the other sign|sign"
    if kind == "gain":
        factor = float(np.exp(sign * rng.uniform(0.2, 0.8)))
        files.change([f"tau{j + 1}"], lambda x: factor * x)
        return f"torque of {one} by {factor:.2f}", one
    if kind == "degrees":
        files.change([f"q{i + 1}" for i in turning], np.rad2deg)
        return "all in degrees", "degree"
    if kind == "degree":
        files.change([f"q{t + 1}"], np.rad2deg)
        return f"joint{t + 1} in degrees", f"joint{t + 1}.*degree"
    if kind == "ms":
        files.change(["t"], lambda x: 1e3 * x)
        return "milliseconds", "millisecond"
    if kind == "rate":
        factor = float(np.exp(sign * rng.uniform(0.08, 0.3)))
        files.change(["t"], lambda x: factor * x)
        return f"time by {factor:.2f}", "time|rate|Hz"
    if kind == "dead":
        files.change([f"tau{j + 1}"], lambda x: 0.0 * x)
        return f"torque of {one} dead", one
    if kind == "clipped":
        files.change([f"tau{j + 1}"], lambda x: np.clip(x, *np.quantile(x, [0.08, 0.92])))
        return f"torque of {one} saturated", f"{one}"
    if kind == "late":
        files.change([f"tau{i + 1}" for i in range(n)], lambda x: np.concatenate([x[:3], x[:-3]]))
        return "torques late by 15 ms", "late"
    if kind == "speed":
        files.change([f"q{j + 1}"], lambda x: np.gradient(x, 0.005))
        return f"velocity in the place of the position of {one}", f"{one}"
    return "weightless", "without gravity"


def experiment(rng: np.random.Generator, weightless: bool) -> tuple[Files, np.ndarray]:
    """Return the right files, and the noise of each torque (n,)."""
    name, (how, rows) = list(arms().items())[rng.integers(6)]
    with TemporaryDirectory() as place:
        file = Path(place) / "robot.toml"
        file.write_text(robot_file(name, how, rows, {}))
        robot = read_robot(file)
    _, links, _ = log(rng, robot)
    slides = np.array([j.slides for j in robot.joints])
    gains, zeros = rng.uniform(0.97, 1.03, robot.n), rng.uniform(-0.5, 0.5, robot.n) * np.pi / 180 * ~slides
    step = 2 * np.pi / 2.0 ** rng.integers(15, 20)
    share, curves = 10 ** rng.uniform(-2.3, -1.3), [fourier(rng, robot.n) for _ in range(2)]
    friction, logs, noise = np.zeros(0), {}, np.zeros(robot.n)
    for key, curve, seconds in zip(("first", "second"), curves, (30, 15), strict=True):
        t = np.arange(seconds * 200) / 200.0
        q, qd, qdd = (x * np.where(slides, 0.2, 1.0) for x in curve(t))
        if not len(friction):
            rigid = torque(Model(robot), links.ravel(), q, qd, qdd)
            size = rigid.std(axis=0) + 0.05 * rigid.std()
            speed, rate = qd.std(axis=0) + 1e-9, qdd.std(axis=0) + 1e-9
            shares = rng.uniform([[0.05], [0.05], [0.1]], [[0.3], [0.3], [0.4]], (3, robot.n))
            friction = shares * size / np.stack([rate, speed, np.ones(robot.n)])
            slow = 0.1 * np.abs(qd).max(axis=0)
        arm = robot.with_gravity(np.zeros(3)) if weightless else robot
        tau = torque(Model(arm), links.ravel(), q + zeros, qd, qdd)
        tau += friction[0] * qdd + friction[1] * qd
        tau += friction[2] * np.tanh(qd / (0.02 * speed)) * (1 + 0.1 * np.exp(-((qd / slow) ** 2)))
        tau *= gains
        noise = share * tau.std(axis=0)
        tau += noise * rng.normal(size=tau.shape)
        columns = {"t": t} | {f"q{j + 1}": step * np.round(q[:, j] / step) for j in range(robot.n)}
        logs[key] = pd.DataFrame(columns | {f"tau{j + 1}": tau[:, j] for j in range(robot.n)})
    return Files(name, how, rows, logs), noise


def said(files: Files) -> tuple[str, str, np.ndarray | None, float]:
    """Return the verdict on files, its reason, the validation's error of each joint, and the seconds it took."""
    start = time.process_time()
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = run(files.write(Path(folder)))
        except IdentError as cause:
            return "refused", str(cause), None, time.process_time() - start
        judged = verdict(result.estimate, result.validation)
        kept = result.validation.total("identified") if result.validation else None
        reason = judged.reason + "".join(f" / {w.message}" for w in result.warnings if "PROBLEM" in str(w))
        rms = None if kept is None else np.asarray(kept.rms)
        return judged.headline, reason, rms, time.process_time() - start


def main() -> None:
    seed, cases = (int(x) for x in (*sys.argv[1:], "2026", "20")[:2])
    right, wrong = Counter[str](), Counter[str]()
    for k in range(cases):
        rng = np.random.default_rng([seed, k])
        files, noise = experiment(rng, False)
        headline, reason, plain, took = said(files)
        right["READY" if headline.startswith("Ready") else headline] += 1
        if not headline.startswith("Ready"):
            print(f"{k:3} {files.name:7} right: {headline}: {reason[:200]}", flush=True)
        what, names = mistaken(rng, files)
        if what == "weightless":
            files, _ = experiment(np.random.default_rng([seed, k]), True)
        headline, reason, rms, took = said(files)
        harm = np.inf
        if rms is not None and plain is not None:
            harm = float(np.nanmax(np.sqrt(np.maximum(rms**2 - plain**2, 0.0)) / noise))
        ready = headline.startswith("Ready")
        told = "named" if re.search(names, reason) and not ready else "READY" if ready else "held"
        told += "" if harm > 1.0 else ", no harm"
        wrong[told] += 1
        print(
            f"{k:3} {files.name:7} {what:36} harm {harm:7.2f} {took:4.1f} s {told:15} {headline}: {reason[:170]}",
            flush=True,
        )
    print("right", dict(right), "wrong", dict(wrong))


if __name__ == "__main__":
    main()
