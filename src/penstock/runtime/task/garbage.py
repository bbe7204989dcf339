"""How often Python looks for garbage while blocks flow.

A block is a thousand new objects that live until the next operator has read them, so that Python's own
threshold (700 in 3.11) starts a collection for every block and operator, in vain: what is dropped is freed
at once by its reference count. Measured: a chain of ten maps over tuples reaches 0.54 of a loop by hand with
that threshold, 0.76 with this one, and no more without any collection.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_THRESHOLDS: Final = (100_000, 10, 10)
_SHARE: Final = 0.01


def collect_rarely() -> None:
    """Look for garbage rarely from now on: for processes that are there for operators."""
    gc.set_threshold(*_THRESHOLDS)


class Survivors:
    """Keeps what has lived for long out of the collections of a worker.

    Spark has a worker look for garbage after each task, through everything that it holds: all modules, and
    all state. Measured: 10 to 20 ms of a core without any state, and a task of an empty epoch needs 1 ms
    otherwise. What is there when a task begins is set aside, so that the collection after it looks only
    through what the task has made. Cycles among what was set aside are found by a collection of everything,
    which comes as seldom as is needed to take at most a hundredth of the time.

    Args:
        clock: Tells the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due: float | None = None

    def set_aside(self) -> None:
        """Set aside what there is: for the begin of a task."""
        began = self._clock()
        if self._due is None or began >= self._due:
            gc.unfreeze()
            gc.collect()
            ended = self._clock()
            self._due = ended + (ended - began) / _SHARE
        gc.freeze()


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for garbage rarely inside of the block: for a process that is somebody else's."""
    before = gc.get_threshold()
    collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*before)
