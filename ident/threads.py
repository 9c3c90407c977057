"""Small work runs on one thread: for few states, waking the others takes longer than the work."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Run kernels and BLAS on one thread; entering takes a millisecond, so this is for what calls them often."""
    import numba
    from threadpoolctl import threadpool_limits

    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        with threadpool_limits(1, "blas"):
            yield
    finally:
        numba.set_num_threads(before)


#: So many states are work for one thread.
FEW = 128


@contextlib.contextmanager
def kernel_threads(states: int) -> Iterator[None]:
    """Run kernels on one thread where there are few states: on busy cores others keep the caller waiting for long."""
    import numba

    before = numba.get_num_threads()
    if states > FEW or before == 1:
        yield
        return
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)
