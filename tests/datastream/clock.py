"""A clock that the records of a program move."""

from __future__ import annotations


class Clock:
    """Stands in for the machine's clock: stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def time_ns(self) -> int:
        return self.now * 1_000_000


CLOCK = Clock()


def passing(value: int) -> int:
    """Let as much time pass as the record says."""
    CLOCK.now += value
    return value
