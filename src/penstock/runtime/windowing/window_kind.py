"""Which windows an assigner makes, in words."""

from __future__ import annotations

from typing import Any, Final

from penstock.runtime.windowing.assigner import WindowAssigner
from penstock.runtime.windowing.count_windows import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
)
from penstock.runtime.windowing.global_windows import GlobalWindows
from penstock.runtime.windowing.time_window_assigner import TimeWindowAssigner

OF_EVENT_TIME: Final = "windows of event time"


def kind_of(assigner: WindowAssigner[Any, Any]) -> str:
    """Return which windows an assigner makes, in words that checkpoints hold too: they must not change.

    Windows whose records, timers and ends mean the same have the same words, of whatever size they are.
    """
    if isinstance(assigner, GlobalWindows):
        return "the global window"
    if isinstance(assigner, (CountTumblingWindowAssigner, CountSlidingWindowAssigner)):
        # A record's number and these say which windows it is in: with others, the open ones mean nothing.
        size = assigner.window_size
        return f"windows of {size} records every {getattr(assigner, 'window_slide', size)}"
    time = OF_EVENT_TIME if assigner.is_event_time() else "windows of processing time"
    return time if isinstance(assigner, TimeWindowAssigner) else f"{time} of an assigner of its own"
