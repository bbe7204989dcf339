"""The sink of every side: counts and sums what arrives, so that all sides can be compared."""

from __future__ import annotations

import json
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Tally:
    """Counts and sums the numbers it is given, and leaves both in a folder when it is closed.

    Args:
        folder: Where each subtask leaves a file of its own.
    """

    # Slots cost the same in an instance that was unpickled; a dictionary does not.
    __slots__ = ("_count", "_folder", "_sum")

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._count = self._sum = 0

    def invoke(self, value: int) -> None:
        """Takes a number; called for each."""
        self._count += 1
        self._sum += value

    def close(self) -> None:
        """Leaves the count and the sum."""
        path = Path(self._folder, uuid.uuid4().hex)
        path.write_text(json.dumps([self._count, self._sum]))


class Count(Tally):
    """Counts whatever it is given."""

    __slots__ = ()

    def invoke(self, value: object) -> None:
        """Takes a record; called for each."""
        self._count += 1


@dataclass(frozen=True)
class Outcome:
    """What one run of a job took and gave.

    Attributes:
        seconds: From the job's start to its end.
        count: How many numbers reached the sink.
        total: Their sum.
    """

    seconds: float
    count: int
    total: int


def timed(job: Callable[[Tally], object], kind: type[Tally] = Tally) -> Outcome:
    """Runs a job that ends in the tally it is given, which is of that kind."""
    with tempfile.TemporaryDirectory(prefix="tally-") as folder:
        start = perf_counter()
        job(kind(folder))
        seconds = perf_counter() - start
        counted = [json.loads(path.read_text()) for path in Path(folder).iterdir()]
    return Outcome(seconds, sum(count for count, _ in counted), sum(total for _, total in counted))
