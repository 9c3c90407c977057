"""How many random cases a test tries: all it has with `--seeds 20` (`make nightly`), five of twenty otherwise."""

import os

ALL, FEWEST = 20, 3


def cases(every: int) -> int:
    """Return how many of `every` random cases are tried, FEWEST of them at least."""
    return max(every * int(os.environ.get("IDENT_TEST_SEEDS", ALL)) // ALL, min(every, FEWEST))
