"""What the tests of state share."""

from __future__ import annotations

from collections.abc import Callable

from penstock.runtime.state.backend import KeyedStateBackend

MakeBackend = Callable[..., KeyedStateBackend]


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now
