"""The HTML report, its figures, and its tables as text."""

from ident.report.cad_figures import link_figure
from ident.report.excitation_figures import limits_figure, worth_figure
from ident.report.excitation_text import worth_sentences
from ident.report.poses import poses_figure
from ident.report.report import write_report
from ident.report.text import Table, comparison_rows, summary_rows, validation_rows

__all__ = [
    "Table",
    "comparison_rows",
    "limits_figure",
    "link_figure",
    "poses_figure",
    "summary_rows",
    "validation_rows",
    "worth_figure",
    "worth_sentences",
    "write_report",
]
