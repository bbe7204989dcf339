"""Timers: which clock they follow, what one is, and how several are written."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple, final

from penstock.runtime.job_pickle import UNPICKLER, dumps


class TimeDomain(Enum):
    """Which clock a timer follows.

    Attributes:
        EVENT_TIME: The watermark.
        PROCESSING_TIME: The clock of the machine.
    """

    EVENT_TIME = 0
    PROCESSING_TIME = 1


@final
class InternalTimer(NamedTuple):
    """A timer of an operator. Equal timers are one timer.

    Attributes:
        timestamp: When it fires, in milliseconds of event time or of processing time.
        key: The key that was current when it was registered.
        namespace: What it belongs to under that key, for instance a window.
    """

    timestamp: int
    key: Any
    namespace: Any


new_timer: Callable[[tuple[int, Any, Any]], InternalTimer] = partial(tuple.__new__, InternalTimer)
"""Makes a timer of its timestamp, key and namespace, in half of the time."""

TimerChange = tuple[InternalTimer, bool | None]
"""A timer, and whether it is there; None if it still is, and keeps its place among others of its time."""

_TIMERS_A_FRAME: Final = 4096


def write_timers(changes: Iterable[TimerChange]) -> Iterator[bytes]:
    """Yield frames that hold the changes, in their order: one form, whatever kind of queue reads or writes it."""
    rest = iter(changes)
    while batch := list(islice(rest, _TIMERS_A_FRAME)):
        timers, present = zip(*batch, strict=True)
        columns = (*zip(*timers, strict=True), present)
        yield dumps(columns)


def read_timers(frame: bytes) -> Iterator[TimerChange]:
    """Yield the changes that a frame holds."""
    columns = UNPICKLER.get()(io.BytesIO(frame)).load()
    for timestamp, key, namespace, present in zip(*columns, strict=True):
        yield InternalTimer(timestamp, key, namespace), present
