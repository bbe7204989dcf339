"""Timers as bytes, for changelogs and snapshots. Queues of all kinds read and write the same form."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from penstock.runtime.job_pickle import UNPICKLER, dumps
from penstock.runtime.timers.internal_timer import InternalTimer

TimerChange = tuple[InternalTimer, bool | None]
"""A timer, and whether it is there; None if it still is, and keeps its place among others of its time."""

_TIMERS_A_FRAME: Final = 4096


def write_frames(changes: Iterable[TimerChange]) -> Iterator[bytes]:
    """Yield frames that hold the changes, in their order."""
    rest = iter(changes)
    while batch := list(islice(rest, _TIMERS_A_FRAME)):
        timers, present = zip(*batch, strict=True)
        columns = (*zip(*timers, strict=True), present)
        yield dumps(columns)


def read_frame(frame: bytes) -> Iterator[TimerChange]:
    """Yield the changes that a frame holds."""
    columns = UNPICKLER.get()(io.BytesIO(frame)).load()
    for timestamp, key, namespace, present in zip(*columns, strict=True):
        yield InternalTimer(timestamp, key, namespace), present
