"""Small work runs on one thread."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Run kernels and BLAS on one thread: for few states, waking the others takes longer than the work."""
    import numba
    from threadpoolctl import threadpool_limits

    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        with threadpool_limits(1, "blas"):
            yield
    finally:
        numba.set_num_threads(before)
