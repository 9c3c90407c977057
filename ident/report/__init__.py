"""The HTML report, its figures, and its tables as text."""

from ident.report.report import write_report
from ident.report.text import Table, comparison_rows, summary_rows, validation_rows

__all__ = ["Table", "comparison_rows", "summary_rows", "validation_rows", "write_report"]
