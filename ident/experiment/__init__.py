"""Experiment files and what they ask for."""
