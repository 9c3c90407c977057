"""Lets these tests import the helpers that stand in the folder above."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
