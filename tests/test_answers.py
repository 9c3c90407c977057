"""What commands answer to programs: one JSON document as its schema has it, and nothing else on stdout."""

import json
import logging
import sys
from pathlib import Path

import jsonschema
import pytest
import typer.main
from bags import motion, write_bag
from test_cli import call, made, two
from two_joint_arm import CAD, ROBOT
from typer.testing import CliRunner

from ident.cli import console as answers
from ident.cli.main import app, main
from ident.pipelines import fit, validate

__all__ = ["made", "two"]  # fixtures

pytestmark = pytest.mark.usefixtures("sketched")

ROOT = Path(__file__).parents[1]
ARM5 = ROOT / "datasets" / "arm5"
SCHEMA = json.loads(Path(answers.__file__).with_name("answers.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
#: Every command, with what it needs; {here}: a folder with an experiment of two joints, an estimate of it, and more.
CALLS = {
    "run": ("{here}", "-o", "{here}/out"),
    "fit": ("{here}", "-o", "{here}/new.json"),
    "compress": ("{here}", "-o", "{here}/f.npz"),
    "compare": ("{here}/estimate.json", "--robot", "{here}/robot.toml", "--cad", "{here}/cad.csv"),
    "validate": ("{here}/estimate.json", "{here}"),
    "report": ("{here}/estimate.json", "{here}", "-o", "{here}/r.html"),
    "init": ("{here}/robot.toml", "{here}/new/circle.csv", "{here}/new/steps.csv", "--into", "{here}/new", "--yes"),
    "check": ("{here}",),
    "doctor": ("{here}",),
    "select": ("{here}",),
    "fleet": ("{here}/fleet.toml", "-o", "{here}/fleet"),
    "dynamics": ("{here}/robot.toml", "--cad", "{here}/cad.csv"),
    "codegen": ("{here}/robot.toml", "--python", "{here}/code.py"),
    "export": ("csv", "{here}/estimate.json", "--unvalidated", "-o", "{here}/x.csv"),
    "payload": ("{here}", "--loaded", "steps"),
    "excite": (
        "{here}/two.toml", "--cad", "{here}/two.csv", "--duration", "4", "--harmonics", "2", "--starts", "1",
        "--seconds", "1e9", "--noise", "0.3 0.1", "-o", "{here}/excite",
    ),
    "postures": ("{here}/two.toml", "--cad", "{here}/two.csv", "-n", "6", "-o", "{here}/postures"),
    "sweep": ("{here}/two.toml", "--speeds", "0.5 1", "-o", "{here}/sweep"),
    "cad read": ("{here}/cad.csv", "-o", "{here}/again.csv"),
    "cad check": ("{here}/cad.csv",),
    "cad doctor": ("{here}",),
    "cad refine": ("{here}", "-o", "{here}/refined.csv"),
    "cad report": ("{here}", "-o", "{here}/cad_report"),
}  # fmt: skip
SLOW = {"run", "doctor", "select", "fleet", "payload", "excite", "cad doctor", "cad refine", "cad report"}
#: The same commands, asked for something else.
OTHERS = {
    "a robot": ("check", "{here}/robot.toml"),
    "logs": ("check", "{here}/dataset.toml"),
    "a table": ("check", "{here}/cad.csv"),
    "a surface": ("dynamics", "{here}/robot.toml", "--cad", "{here}/cad.csv", "--surface", "shoulder elbow"),
    "a simulation": ("dynamics", "{here}/robot.toml", "--cad", "{here}/cad.csv", "--simulate", "0.01"),
    "changes": ("report", "{here}/estimate.json", "{here}/again.json", "-o", "{here}/c.html"),
    "an error": ("check", "{here}/nothing.toml"),
    "a CAD report": ("cad", "read", str(ARM5 / "reports" / "link1.txt")),
}


@pytest.fixture(scope="module")
def kept(made, tmp_path_factory):
    """Return a folder with all that the commands need."""
    folder = tmp_path_factory.mktemp("kept")
    for file in made.iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    fit(folder, folder / "estimate.json")
    (folder / "again.json").write_bytes((folder / "estimate.json").read_bytes())
    (folder / "two.toml").write_text(ROBOT)
    (folder / "two.csv").write_text(CAD)
    (folder / "new").mkdir()
    for name in ("circle.csv", "steps.csv"):
        (folder / "new" / name).write_bytes((folder / name).read_bytes())
    (folder / "fleet.toml").write_text(
        '[fleet]\ntitle = "One"\nexperiment = "experiment.toml"\ndata = ["dataset.toml"]\n'
    )
    write_bag(folder / "run", "mcap", motion(60)[0])
    return folder


def answered(kept: Path, *words: str):
    """Return the exit code and the only document on stdout."""
    done = CliRunner().invoke(app, [word.replace("{here}", str(kept)) for word in (*words, "--json")])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    lines = done.stdout.splitlines()
    assert len(lines) == 1, done.output
    document = json.loads(lines[0], parse_constant=pytest.fail)
    VALIDATOR.validate(document)
    assert document["exit_code"] == done.exit_code, done.output
    return document


@pytest.mark.parametrize("command", [pytest.param(c, marks=[pytest.mark.slow] * (c in SLOW)) for c in CALLS])
def test_every_command_answers_as_its_schema_has_it(kept, command):
    document = answered(kept, *command.split(), *CALLS[command])
    assert document["schema"] == f"ident.{command.replace(' ', '.')}/1", document
    assert document["exit_code"] in (0, 4)


@pytest.mark.parametrize("what", OTHERS)
def test_other_answers(kept, what):
    document = answered(kept, *OTHERS[what])
    assert ("error" in document["schema"]) == (what == "an error"), document


def odd(log: Path) -> None:
    """Leave a row out, which is warned of, and repeat the positions of another, which is noted."""
    rows = log.read_text().splitlines()
    t, *_, shoulder, elbow = rows[400].split(",")
    rows[400] = ",".join([t, *rows[399].split(",")[1:3], shoulder, elbow])
    log.write_text("\n".join(rows[:200] + rows[201:]) + "\n")


def test_an_error_says_its_parts(kept):
    document = answered(kept, "check", "{here}/nothing.toml")
    assert (document["exit_code"], document["error"], document["file"]) == (2, "InputError", "nothing.toml")
    assert "cannot be read" in document["problem"]


@pytest.mark.parametrize(
    ("words", "code", "schema"),
    [
        (("check", "{here}/robot.toml"), 0, "ident.check/1"),
        (("check", "{here}/nothing.toml"), 2, "ident.error/1"),
        (("check",), 2, "ident.error/1"),
        (("check", "{here}/robot.toml", "--nothing"), 2, "ident.error/1"),
        (("nothing",), 2, "ident.error/1"),
    ],
)
def test_a_wrong_command_answers_as_well(kept, monkeypatch, capsys, words, code, schema):
    monkeypatch.setattr(sys, "argv", ["__main__.py", *(word.replace("{here}", str(kept)) for word in words), "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    document = json.loads(capsys.readouterr().out)
    VALIDATOR.validate(document)
    assert (ended.value.code or 0, document["exit_code"], document["schema"]) == (code, code, schema)


def test_messages_go_to_stderr_and_quiet_leaves_problems_only(two):
    odd(two / "circle.csv")
    loud = call("fit", two, "-o", two / "e.json")
    assert "\nnote: circle: row 400" in loud.stderr
    assert "warning: circle: 1 row" in loud.stderr
    assert loud.stdout
    quiet = call("fit", two, "-o", two / "e.json", "--quiet")
    assert quiet.stdout == ""
    assert "note: " not in quiet.stderr
    kept = [line for line in loud.stderr.splitlines() if not line.startswith("note: ")]
    assert quiet.stderr.splitlines() == kept
    wrong = call("check", two / "nothing.toml", "--quiet")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("error: nothing.toml")


def test_the_library_prints_nothing_and_logs_as_ident(two, capfd, caplog):
    odd(two / "circle.csv")
    with caplog.at_level(logging.DEBUG, logger="ident"):
        fit(two, two / "e.json")
        validate(two / "e.json", two)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")
    assert {r.name for r in caplog.records if r.name.startswith("ident")} == {"ident"}
    assert {r.levelno for r in caplog.records} >= {logging.DEBUG, logging.INFO, logging.WARNING}


def test_no_command_is_forgotten():
    group = typer.main.get_command(app)
    found = set()
    for name, command in group.commands.items():
        found |= {f"{name} {inner}" for inner in command.commands} if hasattr(command, "commands") else {name}
    assert found == set(CALLS)
    assert {c.replace(" ", ".") for c in CALLS} < set(SCHEMA["$defs"])
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
