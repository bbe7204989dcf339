"""Functions of jobs in this process which a test holds, lets fail, and listens to.

They are in a module that can be imported, so that they are pickled by reference.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from functools import partial

SECONDS = 30
"""How long a test waits for what comes at once, if all is well."""


class Gates:
    """Holds a job in each of its epochs until the test lets it through."""

    def __init__(self) -> None:
        self.reached: defaultdict[int, threading.Event] = defaultdict(threading.Event)
        self._open: defaultdict[int, threading.Event] = defaultdict(threading.Event)

    def hold(self, number: int) -> None:
        self.reached[number].set()
        assert self._open[number].wait(SECONDS)

    def let_through(self, *numbers: int) -> None:
        for number in numbers:
            self._open[number].set()

    def reach(self, number: int) -> None:
        """Let all epochs before this one through, and wait until it has begun."""
        self.let_through(*range(number))
        assert self.reached[number].wait(SECONDS)


_GATES: dict[str, Gates] = {}
_FAILURES: dict[str, int] = {}
_FOUND: dict[str, list[int]] = {}


def _hold(name: str, number: int) -> int:
    _GATES[name].hold(number)
    return number


def holding(name: str) -> tuple[Gates, Callable[[int], int]]:
    """Return gates, and a function that waits at the one of its record's number."""
    _GATES[name] = Gates()
    return _GATES[name], partial(_hold, name)


def _fail(name: str, number: int) -> int:
    if number == 2 and _FAILURES[name]:
        _FAILURES[name] -= 1
        raise ValueError("not yet")
    return number


def failing(name: str, times: int) -> Callable[[int], int]:
    """Return a function that fails on 2, that many times."""
    _FAILURES[name] = times
    return partial(_fail, name)


def _take(name: str, number: int) -> None:
    _FOUND[name].append(number)


def taking(name: str) -> tuple[list[int], Callable[[int], None]]:
    """Return a list, and a function that appends records to it."""
    _FOUND[name] = []
    return _FOUND[name], partial(_take, name)
