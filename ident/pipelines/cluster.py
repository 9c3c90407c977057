"""Work that is shared out by Dask: to processes on this machine, or to the workers of a scheduler.

Which pieces there are and in which order they are joined does not depend on who does them, so results are the same to
the last digit. What Dask sends is code: name only schedulers that you trust.
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from ident.errors import IdentError, InputError
from ident.pipelines.wishes import Sharing
from ident.tell import LOG, Tell

if TYPE_CHECKING:
    from distributed import Client, Future

Item = TypeVar("Item")
Found = TypeVar("Found")

#: What has to be the same everywhere for results to be the same to the last digit.
SAME = ("robot-ident", "numpy", "scipy", "numba", "clarabel", "pandas", "pyarrow", "distributed")
#: How long a scheduler, and its first worker, are waited for [s].
PATIENCE_S = 20.0
#: What processes begin with. Kernels and BLAS use one thread: there is a process for each core. Dask's own setting, to
#: give memory back at once, stands for a third of the time here: every array's pages are asked for anew.
#: What is set before they begin is set in this process too, and stays. Numba refuses another number once its threads
#: run, so that one is set in the processes alone.
_BEGIN = {
    "distributed.nanny.pre-spawn-environ": {"OPENBLAS_NUM_THREADS": 1},
    "distributed.nanny.environ": {"NUMBA_NUM_THREADS": 1},
}


@contextlib.contextmanager
def sharing(wishes: Sharing) -> Iterator[Client | None]:
    """Yield the client of the workers that are asked for, None where this process does the work alone.

    Raises InputError where Dask is not installed, no process can be started, no scheduler or no worker answers, or a
    worker has other versions.
    """
    if wishes.workers is None and wishes.scheduler is None:
        yield None
        return
    if wishes.workers is not None and wishes.scheduler is not None:
        raise InputError("a scheduler has workers of its own", key="--workers", fix="Leave out one of the two")
    if wishes.workers is not None and wishes.workers < 1:
        raise InputError(f"is {wishes.workers}, wanted 1 or more", key="--workers")
    try:
        import distributed  # noqa: F401
    except ModuleNotFoundError:
        raise InputError("Dask is not installed", key="--workers", fix="pip install 'robot-ident[dask]'") from None
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")  # of other versions: said below
        if wishes.scheduler is None:
            client = _started(wishes.workers, stack)
        else:
            client = stack.enter_context(_connected(wishes.scheduler))
            _require_same_versions(client)
        yield client


def _started(workers: int | None, stack: contextlib.ExitStack) -> Client:
    """Return the client of so many processes on this machine, which end with the stack."""
    import dask
    from distributed import Client, LocalCluster

    stack.enter_context(dask.config.set(_BEGIN))
    words = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}
    try:
        cluster = stack.enter_context(LocalCluster(n_workers=workers, **words))
        client = stack.enter_context(Client(cluster))
    except (OSError, RuntimeError) as cause:
        problem = f"a process could not be started ({cause.__cause__ or cause})"
        fix = "Free memory, give Dask a folder that it can write to (DASK_TEMPORARY_DIRECTORY), or leave this out"
        raise InputError(problem, key="--workers", fix=fix) from None
    if find_spec("bokeh") is not None:  # without it Dask has no dashboard
        LOG.info("what the processes do is shown at %s", client.dashboard_link)
    return client


def _connected(scheduler: str) -> Client:
    from distributed import Client

    for name in ("distributed", "distributed.client"):  # what goes wrong is raised
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(scheduler, timeout=PATIENCE_S)
    except (OSError, ValueError) as cause:
        problem = f"no Dask scheduler answers at '{scheduler}' ({type(cause).__name__})"
        fix = "Start one with `dask scheduler`, and `dask worker ADDRESS` on each machine"
        raise InputError(problem, key="--scheduler", fix=fix) from None
    try:
        client.wait_for_workers(1, timeout=PATIENCE_S)
    except TimeoutError:
        client.close()
        fix = "Start some with `dask worker ADDRESS`"
        raise InputError(f"the scheduler at '{scheduler}' has no worker", key="--scheduler", fix=fix) from None
    return client


def _require_same_versions(client: Client) -> None:
    """Raise InputError that names a worker with another version than this process has."""
    found = client.get_versions(packages=SAME)
    for address, there in found["workers"].items():
        for name in ("python", *SAME):
            other, own = (_version(at["packages"], name) for at in (there, found["client"]))
            if other != own:
                problem = f"worker {address} has {name} {other}, this process has {own}"
                fix = "Install the same versions everywhere (constraints.txt)"
                raise InputError(problem, key="--scheduler", fix=fix)


def _version(packages: Mapping[str, str | None], name: str) -> str:
    """Return a version; of Python what decides which code it can run."""
    found = packages.get(name) or "not at all"
    return ".".join(found.split(".")[:2]) if name == "python" else found


def mapped(
    client: Client | None,
    function: Callable[[Any, Item], Found],
    common: Any,
    items: Sequence[Item],
    tell: Tell,
    doing: str,
    lost: Callable[[Item, InputError], Found] | None = None,
) -> Iterator[Found]:
    """Yield function(common, item) of each item in their order, by the workers where there are some.

    function: of a module, not a closure. lost: what stands for an item of which workers die one after the other;
    without it InputError is raised, as where the scheduler goes. Raises what the function raises, with a note on the
    worker.
    """
    if client is None:
        tell(doing, 0, len(items))
        for number, item in enumerate(items, 1):
            yield function(common, item)
            tell(doing, number, len(items))
        return
    there = at_workers(client, common)
    futures = [submitted(client, function, there, item) for item in items]
    yield from results(client, futures, items, tell, doing, lost)


def at_workers(client: Client, common: Any) -> Future:
    """Return an object at the workers: the result of a task, which is made again when the worker that has it dies."""
    return client.submit(_itself, common, pure=False)


def submitted(client: Client, function: Callable[..., Any], *given: Any) -> Future:
    """Return function(*given) to come; futures among what is given stand for their results."""
    return client.submit(_noted, function, *given, pure=False)


def results(
    client: Client,
    futures: Sequence[Future],
    items: Sequence[Item],
    tell: Tell,
    doing: str,
    lost: Callable[[Item, InputError], Any] | None = None,
) -> Iterator[Any]:
    """Yield the result for each item in their order, as `mapped` does; what is left is cancelled when one fails."""
    from distributed import CancelledError, KilledWorker

    tell(doing, 0, len(items))
    left = deque(futures)
    try:
        for number, item in enumerate(items, 1):
            try:
                try:
                    found = left[0].result()
                except KilledWorker:
                    found = _alone(left)
            except KilledWorker:
                problem = "workers die of it, one after the other: too little memory?"
                cause = InputError(problem, key=str(item), fix="Give each worker more, or use fewer")
                if lost is None:
                    raise cause from None
                found = lost(item, cause)
            except (CancelledError, OSError) as gone:
                problem = f"the scheduler is gone ({type(gone).__name__})"
                raise InputError(problem, key=doing, fix="Start it again; nothing was written") from None
            yield found
            left.popleft()
            tell(doing, number, len(items))
    finally:
        client.cancel(list(left))


def _alone(left: Sequence[Future]) -> Any:
    """Return the first one's result, tried once more when the others are done.

    Dask counts a worker's death against everything that waits there, so only what is tried alone is known to kill.
    """
    from distributed import wait

    wait(left)
    left[0].retry()
    return left[0].result()


def _itself(common: Any) -> Any:
    return common


def _noted(function: Callable[..., Found], *given: Any) -> Found:
    from distributed import get_worker

    try:
        return function(*given)
    except IdentError as cause:
        cause.add_note(f"said by the worker {get_worker().address}")
        raise
