"""Readers of log files: one file a format, and one entry in `formats.py`."""
