"""A small model of windows, written without the operators: what a sequence of records should give."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

END = 2**63 - 1


class Record(NamedTuple):
    """What the records of the tests are."""

    key: str
    time: int
    numbers: tuple[int, ...]


@dataclass
class Pane:
    """What is kept of one window of a key."""

    numbers: list[int] = field(default_factory=list)
    count: int = 0
    fire_at: int | None = None
    timers: set[int] = field(default_factory=set)


Bounds = tuple[int, int]
"""The start of a window, and its last timestamp."""


@dataclass
class Rules:
    """What a program says of its windows.

    Attributes:
        assign: Returns the windows of a time.
        merges: Whether windows that touch become one.
        trigger: "event", "count" or "continuous".
        limit: The number of records or the interval of the trigger.
        purges: Whether firing drops the records.
        lateness: The allowed lateness.
    """

    assign: Callable[[int], list[Bounds]]
    merges: bool
    trigger: str
    limit: int
    purges: bool
    lateness: int


class Model:
    """Takes records and watermarks, one by one.

    Attributes:
        results: Key, window and numbers of each result.
        late: The records that came too late for all their windows.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.watermark = -(2**63)
        self.windows: dict[str, dict[Bounds, Pane]] = defaultdict(dict)
        self.results: list[tuple[str, Bounds, tuple[int, ...]]] = []
        self.late: list[Record] = []

    def gone_at(self, window: Bounds) -> int:
        return min(window[1] + self.rules.lateness, END)

    def add(self, record: Record) -> None:
        is_in_none = True
        for assigned in self.rules.assign(record.time):
            window = self.merged(record.key, assigned) if self.rules.merges else assigned
            if self.gone_at(window) <= self.watermark:
                self.windows[record.key].pop(window, None)
                continue
            is_in_none = False
            pane = self.windows[record.key].setdefault(window, Pane())
            pane.numbers += record.numbers
            if self.fires_on(record, window, pane):
                self.fire(record.key, window, pane)
            if self.gone_at(window) < END:
                pane.timers.add(self.gone_at(window))
        if is_in_none and record.time + self.rules.lateness <= self.watermark:
            self.late.append(record)

    def merged(self, key: str, window: Bounds) -> Bounds:
        panes = self.windows[key]
        touching = [
            known for known in panes if known[0] <= window[1] + 1 and window[0] <= known[1] + 1
        ]
        if not touching:
            return window
        whole = (
            min(start for start, _ in [*touching, window]),
            max(end for _, end in [*touching, window]),
        )
        if touching == [whole]:
            return whole
        pane = Pane()
        for known in sorted(touching):
            part = panes.pop(known)
            pane.numbers += part.numbers
            pane.count += part.count
            times = [time for time in (pane.fire_at, part.fire_at) if time is not None]
            pane.fire_at = min(times, default=None)
        if self.rules.trigger == "event" and whole[1] > self.watermark:
            pane.timers.add(whole[1])
        if self.rules.trigger == "continuous" and pane.fire_at is not None:
            pane.timers.add(pane.fire_at)
        panes[whole] = pane
        return whole

    def fires_on(self, record: Record, window: Bounds, pane: Pane) -> bool:
        if self.rules.trigger == "count":
            pane.count += 1
            if pane.count < self.rules.limit:
                return False
            pane.count = 0
            return True
        if window[1] <= self.watermark:
            return True
        pane.timers.add(window[1])
        if self.rules.trigger == "continuous" and pane.fire_at is None:
            self.set_next(pane, window, record.time - record.time % self.rules.limit)
        return False

    def set_next(self, pane: Pane, window: Bounds, last: int) -> None:
        pane.fire_at = min(last + self.rules.limit, window[1])
        pane.timers.add(pane.fire_at)

    def fire(self, key: str, window: Bounds, pane: Pane) -> None:
        if pane.numbers:
            self.results.append((key, window, tuple(sorted(pane.numbers))))
        if self.rules.purges:
            pane.numbers = []

    def advance(self, watermark: int) -> None:
        if watermark <= self.watermark:
            return
        self.watermark = watermark
        while due := [
            (time, key, window)
            for key, panes in self.windows.items()
            for window, pane in panes.items()
            for time in pane.timers
            if time <= watermark
        ]:
            time, key, window = min(due)
            self.on_time(time, key, window)

    def on_time(self, time: int, key: str, window: Bounds) -> None:
        pane = self.windows[key][window]
        pane.timers.remove(time)
        if self.rules.trigger != "count" and time == window[1]:
            self.fire(key, window, pane)
        elif self.rules.trigger == "continuous" and time == pane.fire_at:
            self.set_next(pane, window, time)
            self.fire(key, window, pane)
        if time == self.gone_at(window):
            del self.windows[key][window]


def tumbling(size: int, offset: int) -> Callable[[int], list[Bounds]]:
    return sliding(size, size, offset)


def sliding(size: int, slide: int, offset: int) -> Callable[[int], list[Bounds]]:
    def assign(time: int) -> list[Bounds]:
        starts = [
            start for start in range(time - size + 1, time + 1) if (start - offset) % slide == 0
        ]
        return [(start, start + size - 1) for start in starts]

    return assign


def session(gap: int) -> Callable[[int], list[Bounds]]:
    return lambda time: [(time, time + gap - 1)]


def everything(time: int) -> list[Bounds]:
    return [(0, END)]
