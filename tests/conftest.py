"""Lets tests import the helpers that stand beside them; property tests have no deadline, for machines may be busy."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("ident", deadline=None)
settings.load_profile("ident")
