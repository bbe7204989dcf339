"""Which windows there are and how they are kept, in words that checkpoints hold: they must not change."""

from __future__ import annotations

from typing import Any, Final

from penstock.runtime.windows.assigners.assigner import MergingWindowAssigner, WindowAssigner
from penstock.runtime.windows.assigners.count_windows import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
)
from penstock.runtime.windows.assigners.global_windows import GlobalWindows
from penstock.runtime.windows.assigners.time_window_assigner import TimeWindowAssigner
from penstock.runtime.windows.panes import panes_of
from penstock.runtime.windows.serializers import own_serializer

OF_EVENT_TIME: Final = "windows of event time"

_CONTENTS: Final = {
    "list": "with their records",
    "reducing": "with what their records are reduced to",
    "aggregating": "with accumulators",
}


def kept_windows(
    assigner: WindowAssigner[Any, Any], layout: str, contents: str, *, evicts: bool
) -> str:
    """Return which windows an assigner makes, and how they are kept.

    Where that is the same, the ones can go on with what is kept of the others, of whatever size they are.

    Args:
        assigner: The assigner.
        layout: Where what is kept of a window is: in `places`, `panes` or `sessions`.
        contents: The kind of state that it is in.
        evicts: Whether an evictor takes records out.
    """
    what = "with their records and timestamps, for an evictor" if evicts else _CONTENTS[contents]
    serializer = own_serializer(assigner.get_window_serializer())
    written = "" if serializer is None else f", written by {type(serializer).__qualname__}"
    return f"{_kind_of(assigner)}, {_layout_of(assigner, layout)}, {what}{written}"


def _kind_of(assigner: WindowAssigner[Any, Any]) -> str:
    if isinstance(assigner, GlobalWindows):
        return "the global window"
    if isinstance(assigner, (CountTumblingWindowAssigner, CountSlidingWindowAssigner)):
        # A record's number and these say which windows it is in: with others, the open ones mean nothing.
        size = assigner.window_size
        return f"windows of {size} records every {getattr(assigner, 'window_slide', size)}"
    time = OF_EVENT_TIME if assigner.is_event_time() else "windows of processing time"
    return time if isinstance(assigner, TimeWindowAssigner) else f"{time} of an assigner of its own"


def _layout_of(assigner: WindowAssigner[Any, Any], layout: str) -> str:
    if layout == "sessions":
        return "as sessions with one gap under the default trigger"
    if layout == "panes":
        # With another grid a pane would have records of other windows.
        panes = panes_of(assigner)
        size, slide = panes.size, panes.slide
        return f"as panes shared by windows of {size} ms every {slide} ms (offset {panes.offset % slide} ms)"
    merges = isinstance(assigner, MergingWindowAssigner)
    return "as windows that merge" if merges else "each by itself"
