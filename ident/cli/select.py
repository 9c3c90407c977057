"""The command `ident select`: which joint terms the logs of an experiment support."""

from __future__ import annotations

import typer

from ident import pipelines
from ident.cli.answers import answer, asked, parts_of
from ident.cli.console import ExperimentPath, guarded, progress, say, show


@guarded
def select(experiment: ExperimentPath) -> None:
    """Choose friction and other joint terms by what they predict of parts of the logs left out."""
    from ident.report.structure_text import selection_sentences, tried_rows

    with progress() as tell:
        found = pipelines.select(experiment, tell)
    own, structure = ("before", "after", "honest", "segments", "folds", "note"), found.selection.structure
    tried = [parts_of(t, "candidate", "gain", "error", "reason") for t in structure.tried]
    answer(**parts_of(structure, *own), tried=tried, lines=found.lines)
    e = found.loaded.experiment
    say(e.heading, "bold")
    if structure.tried:
        show(tried_rows(structure))
    for sentence in selection_sentences(structure):
        say(sentence)
    if found.lines and asked().text:
        say(f"{'Add to' if e.own_model else 'Write into'} {e.file.name}:")
        for line in ("[model]", *found.lines):
            typer.echo(line)
