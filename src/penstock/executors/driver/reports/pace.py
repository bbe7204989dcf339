"""How often something is made that must not take much of a job's time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_TIMES: Final = 200


class Pace:
    """Says when something is to be made anew: so seldom that it takes little of a processor.

    Args:
        least_s: How many seconds at least what was made is good for.
        times: For how many times as long as it took it is good. Default: 200, half a percent of a processor.
        clock: Returns seconds that never go back.
        spent: Returns the seconds of a processor that the thread has taken.
    """

    def __init__(
        self,
        least_s: float,
        clock: Callable[[], float] = time.monotonic,
        spent: Callable[[], float] = time.thread_time,
        *,
        times: int = _TIMES,
    ) -> None:
        self._least_s = least_s
        self._times = times
        self._clock = clock
        self._spent = spent
        self._made: float | None = None
        self._cost = 0.0

    @property
    def is_due(self) -> bool:
        """Whether it is to be made anew."""
        good_for = max(self._least_s, self._times * self._cost)
        return self._made is None or self._clock() - self._made >= good_for

    @contextmanager
    def making(self) -> Iterator[None]:
        """Make it inside."""
        self._cost = 0.0
        with self.adding():
            yield
        self._made = self._clock()

    @contextmanager
    def adding(self) -> Iterator[None]:
        """Make something more of it inside."""
        began = self._spent()
        try:
            yield
        finally:
            self._cost += self._spent() - began
