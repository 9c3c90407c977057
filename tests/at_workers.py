"""What tests have Dask's workers do, in a file of its own: to import tests would take each worker seconds."""

import os
import time
from pathlib import Path

from distributed import WorkerPlugin

from ident.logs import stream
from ident.pipelines import factors


class SmallParts(WorkerPlugin):
    """Parts of so many numbers at every worker, those included that come later in the place of a killed one."""

    def __init__(self, numbers: int) -> None:
        self.numbers = numbers

    def setup(self, worker) -> None:
        self.usual, stream.NUMBERS = stream.NUMBERS, self.numbers

    def teardown(self, worker) -> None:
        stream.NUMBERS = self.usual


def slowly(before, loaded, name):
    """Say who does it, and take a while, for as long as nobody was killed."""
    (before / f"{name}.{os.getpid()}").touch()
    while not (before / "killed").exists():
        time.sleep(0.02)
    return factors.of_recording(loaded, name)


def deadly(folder: str, item: int) -> int:
    """Return the item; of the second one every worker dies, while others wait behind it."""
    if item == 2:
        time.sleep(1.0)
        os._exit(1)
    (Path(folder) / str(item)).touch()
    return item
