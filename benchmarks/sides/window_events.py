"""The events of the window benchmark, and what every side does with them.

An event has a key, a time in milliseconds and an amount: one event a millisecond. Numbers come in two
halves, as to two readers; both halves run through all of the time.
"""

from __future__ import annotations

KEYS = 1_000
AMOUNTS = 100
WINDOW = 60_000
SPREAD = 30_000
"""Within how many milliseconds times are shuffled."""

Event = tuple[int, int, int]


class Events:
    """Makes events of the numbers from 1.

    Args:
        records: How many there are.
        is_shuffled: Whether times are in disorder, up to `SPREAD`.
    """

    def __init__(self, records: int, is_shuffled: bool) -> None:
        self._half = records // 2
        self._is_shuffled = is_shuffled

    def __call__(self, number: int) -> Event:
        """The event of a number."""
        index = number - 1
        half, place = divmod(index, self._half)
        time = place * 2 + half
        if self._is_shuffled:
            rest = time % SPREAD
            time += rest * 7919 % SPREAD - rest
        return index * 7919 % KEYS, time, index % AMOUNTS


def as_sql(records: int, is_shuffled: bool) -> list[str]:
    """The same events as columns of Spark's `range`."""
    half = records // 2
    time = f"(id % {half} * 2 + id div {half})"
    if is_shuffled:
        time = f"({time} div {SPREAD} * {SPREAD} + {time} % {SPREAD} * 7919 % {SPREAD})"
    return [
        f"id * 7919 % {KEYS} AS key",
        f"timestamp_millis({time}) AS time",
        f"id % {AMOUNTS} AS amount",
    ]


def time_of(event: Event, _: int | None) -> int:
    return event[1]


def key_of(event: Event) -> int:
    return event[0]


def amount_of(event: Event) -> int:
    return event[2]


def add(known: Event, new: Event) -> Event:
    return known[0], known[1], known[2] + new[2]


def expected(records: int, is_shuffled: bool) -> tuple[int, int]:
    """How many windows there are, and the sum of their sums."""
    found = set()
    total = 0
    for key, time, amount in map(Events(records, is_shuffled), range(1, records + 1)):
        found.add((key, time // WINDOW))
        total += amount
    return len(found), total
