"""The HTML report, its figures, and its tables as text."""

from ident.report.body_figures import link_figure as link_figure
from ident.report.excitation_figures import limits_figure as limits_figure
from ident.report.excitation_figures import worth_figure as worth_figure
from ident.report.excitation_text import worth_sentences as worth_sentences
from ident.report.poses import poses_figure as poses_figure
from ident.report.report import write_report as write_report
from ident.report.text import Table as Table
from ident.report.text import comparison_rows as comparison_rows
from ident.report.text import summary_rows as summary_rows
from ident.report.text import validation_rows as validation_rows
