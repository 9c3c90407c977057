"""How many random cases a test tries: all it has with `--seeds 20` (`make nightly`), five of twenty otherwise."""

import os

ALL, FEWEST = 20, 3


def cases(every: int, fewest: int = FEWEST) -> int:
    """Return how many of `every` random cases are tried, `fewest` of them at least: less than usual of dear ones."""
    return max(every * int(os.environ.get("IDENT_TEST_SEEDS", ALL)) // ALL, min(every, fewest))
