"""Shapes around links, scenes, clearances between them."""
