"""What tests have Dask's workers do, in a file of its own: to import tests would take each worker seconds."""

import os
import time
from pathlib import Path

from distributed import WorkerPlugin

from ident.logs import stream
from ident.pipelines import compressed, factors


class SmallParts(WorkerPlugin):
    """Parts of so many numbers at every worker, those included that come later in the place of a killed one."""

    def __init__(self, numbers: int) -> None:
        self.numbers = numbers

    def setup(self, worker) -> None:
        self.usual, stream.NUMBERS = stream.NUMBERS, self.numbers

    def teardown(self, worker) -> None:
        stream.NUMBERS = self.usual


class Held(WorkerPlugin):
    """A step of `compressed` that says at every worker who does it, and waits until somebody was killed."""

    def __init__(self, folder: Path, step: str) -> None:
        self.folder, self.step = folder, step

    def setup(self, worker) -> None:
        self.usual = getattr(compressed, self.step)
        setattr(compressed, self.step, self.held)

    def teardown(self, worker) -> None:
        setattr(compressed, self.step, self.usual)

    def held(self, *given):
        (self.folder / f"{self.step}.{os.getpid()}").touch()
        while not (self.folder / "killed").exists():
            time.sleep(0.02)
        return self.usual(*given)


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
