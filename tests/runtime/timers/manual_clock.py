"""A clock for tests."""

from __future__ import annotations


class ManualClock:
    """A clock that stands still until it is moved, forwards or back.

    Args:
        now: The time at first, in milliseconds.
    """

    def __init__(self, now: int = 0) -> None:
        self.now = now

    def __call__(self) -> int:
        """Return the time in milliseconds."""
        return self.now

    def advance(self, milliseconds: int) -> None:
        """Move the clock on."""
        self.now += milliseconds
