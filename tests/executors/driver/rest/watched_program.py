"""A program that is watched from outside, by whoever starts it.

python -m tests.executors.driver.rest.watched_program WAY FOLDER [KEY=VALUE ...]

runs a job that does not end by itself (`stop`) or ends when the file `end` is in the folder (`end`). It writes its
address into the file `address` and, when it ends, the seconds that it took since its job had ended into `seconds`.
"""

from __future__ import annotations

import atexit
import sys
import time
from pathlib import Path
from typing import Any

from penstock.common import Configuration, WatermarkStrategy
from penstock.common.epoch_listener import EpochCompleted, EpochListener
from penstock.executors.driver.rest.serving import SERVING
from penstock.testing import TestingSource, local_environment


class _Address(EpochListener):
    """Says where the job is seen, once it has committed an epoch."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def on_epoch_completed(self, event: EpochCompleted) -> None:
        """Write it."""
        found = self._folder / "found"
        found.write_text(SERVING.address or "")
        found.rename(self._folder / "address")


def main(way: str, folder: str, *settings: str) -> None:
    """Run the job."""
    place = Path(folder)
    given = dict(setting.split("=") for setting in settings)
    location = str(place / "checkpoints")
    env = local_environment()
    env.configure(
        Configuration.from_dict(
            {"rest.port": "0", "execution.checkpointing.dir": location, **given}
        )
    )
    env.add_epoch_listener(_Address(place))

    def wait(number: int) -> Any:
        while number and not (place / "end").exists():
            time.sleep(0.01)
        return number

    epochs = [[0], [1]] if way == "end" else [[0]] * 100_000
    numbers = env.from_source(TestingSource(epochs), WatermarkStrategy.no_watermarks(), "numbers")
    numbers.map(wait).key_by(lambda number: 0).sum().add_sink(lambda total: None)
    ended: list[float] = []
    # What was registered first is called last.
    atexit.register(lambda: (place / "seconds").write_text(f"{time.monotonic() - ended[0]}"))
    try:
        env.execute("watched")
    finally:
        ended.append(time.monotonic())
        atexit.register((place / "over").touch)


if __name__ == "__main__":
    main(*sys.argv[1:])
