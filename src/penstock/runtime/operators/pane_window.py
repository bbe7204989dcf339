"""Sliding windows that share what their records come to."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import accumulate
from operator import itemgetter
from typing import Any, Final

from penstock.common.typeinfo import Types
from penstock.runtime.elements import MAX_TIMESTAMP, Block
from penstock.runtime.mutability import are_immutable, given, kept, own
from penstock.runtime.operators.aligned_window import (
    AlignedWindows,
    ByPane,
    Windows,
    panes_of,
    part_of,
)
from penstock.runtime.operators.associativity import AssociativityCheck
from penstock.runtime.operators.merge_check import MergeCheck
from penstock.runtime.operators.sampled_check import SampledCheck
from penstock.runtime.operators.window import WindowOperator
from penstock.runtime.operators.window_contents import (
    PANES_NAME,
    STATE_NAME,
    JoinedContents,
    ReducedRecords,
)
from penstock.runtime.state.descriptors import MapStateDescriptor
from penstock.runtime.state.tables import VOID_NAMESPACE
from penstock.runtime.timers.internal_timer import InternalTimer, new_timer
from penstock.runtime.windowing.window import TimeWindow, time_window

_PANES: Final = MapStateDescriptor(PANES_NAME, Types.LONG(), Types.PICKLED_BYTE_ARRAY())
_MOST_PANES_A_SLIDE: Final = 8
_MOST_DUE: Final = 4096
_START: Final = itemgetter(0)

_Panes = list[tuple[int, Any]]
"""The panes of a key, in order: their starts, and what their records come to."""


class SharedPanes(AlignedWindows):
    """Adds each record to one pane only, and joins the panes of a window when it fires.

    A pane is the longest stretch of time that no window begins or ends in. Each key has a map of its
    panes, and one timer: for the next end of a window that has records, or for the time at which its
    oldest pane goes.
    """

    kept_by_others = frozenset({STATE_NAME})

    def __init__(self, operator: WindowOperator) -> None:
        super().__init__(operator)
        self._are_apart = True
        self._map = operator.state.get_state(_PANES)
        assert isinstance(operator.contents, JoinedContents)
        self._contents = operator.contents
        self._merge = operator.contents.merge
        self._check = _check_of(operator.contents, operator.name)

    @staticmethod
    def can_run(assigner: Any, trigger: Any, contents: Any, call: Any) -> bool:
        is_aligned = AlignedWindows.can_run(assigner, trigger, contents, call)
        return is_aligned and not call.has_window_state and can_share_panes(assigner, contents)

    @staticmethod
    def how_kept(assigner: Any) -> str:
        panes = panes_of(assigner)
        size, slide = panes.size, panes.slide
        return f"as panes shared by windows of {size} ms every {slide} ms (offset {panes.offset % slide} ms)"

    def _put_panes(self, block: Block, by_pane: ByPane, windows: Windows) -> None:
        for pane, indexes in by_pane.items():
            self._put_pane(pane, windows[pane], part_of(block, indexes))

    def _put_pane(self, pane: int, windows: Sequence[TimeWindow], run: Block) -> None:
        """Join records to their pane, for windows that are not gone."""
        view, keys = self._map.view, run.keys or []
        if self._check is not None and self._check.wants_records:
            self._check.look_at_records(keys, run.values)
        rest = self._operator.reading(run)
        joined, new = self._contents.join_run(view.getter(pane), self._map.hold, keys, rest)
        view.put_each(pane, joined)
        ends = (window.max_timestamp() for window in reversed(windows))
        watermark, gone = self._service.current_watermark, self._gone_at(pane)
        time = next((end for end in ends if end > watermark), gone)
        if time < MAX_TIMESTAMP:
            timers = (new_timer((time, key, VOID_NAMESPACE)) for key in new)
            self._service.event_time_queue.add_all(timers)

    def _fire_again(self, window: TimeWindow) -> None:
        # A window that ends with the last timestamp would end behind it.
        is_whole = window.end < MAX_TIMESTAMP
        start = window.end - self._panes.size if is_whole else window.start
        self._fire_panes(start, self._sorted_panes())

    def advance(self, watermark: int) -> None:
        # It may fire many windows of a key, and no record comes in between: what is left of its panes, and
        # what `_join_tails` returned for them, if it was called.
        self._due: dict[Any, tuple[_Panes, list[Any] | None]] = {}
        super().advance(watermark)
        self._due.clear()

    def _fire_due(self, timers: list[InternalTimer]) -> None:
        for now, key, _ in timers:
            self._operator.state.set_current_key(key)
            self._operator.window = None
            self._fire_key(now, key)

    def _fire_key(self, now: int, key: Any) -> None:
        """Fire the windows of a key that end at a time, and drop the panes that go at that time."""
        known = self._due.pop(key, None)
        panes, tails = known or (self._sorted_panes(), None)
        if not panes:
            return
        if known is not None and tails is None:
            tails = self._join_tails([value for _, value in panes])
        for end in self._ends_at(now, panes[-1][0]):
            self._fire_panes(end - self._panes.size, panes, tails)
        left = self._without_gone(now, panes)
        if left:
            self._register_next(now, left)
            if len(self._due) < _MOST_DUE:
                self._due[key] = left, tails

    def _without_gone(self, now: int, panes: _Panes) -> _Panes:
        """Remove panes that no window needs any more, and return the others."""
        gone = 0
        for pane, _ in panes:
            if self._gone_at(pane) > now:
                break
            self._map.remove(pane)
            gone += 1
        return panes[gone:] if gone else panes

    def _ends_at(self, now: int, newest: int) -> Iterable[int]:
        """Return the ends of the windows that fire at a time, on a grid without limits.

        All windows that would end behind the last timestamp end with it.
        """
        windows = self._panes
        end = now + 1
        if end < MAX_TIMESTAMP:
            return (end,) if (end - windows.size - windows.offset) % windows.slide == 0 else ()
        return range(self._end_from(end), newest + windows.size + 1, windows.slide)

    def _end_from(self, time: int) -> int:
        """Return the first end of a window that is not before a time, on a grid without limits."""
        windows = self._panes
        return time + (windows.offset + windows.size - time) % windows.slide

    def _gone_at(self, pane: int) -> int:
        """Return when the last window that holds a pane goes; `MAX_TIMESTAMP` for never."""
        return self._operator.cleanup_time(self._panes[pane][0])

    def _register_next(self, now: int, left: _Panes) -> None:
        """Register the timer for what comes next: the end of a window with records, or a pane that goes."""
        windows = self._panes
        end = self._end_from(now + 2)
        start = end - windows.size
        inside = next((pane for pane, _ in left if pane >= start), None)
        time = self._gone_at(left[0][0])
        if inside is not None:
            end = max(end, self._end_from(inside + windows.pane_size))
            time = min(time, min(end, MAX_TIMESTAMP) - 1)
        if now < time < MAX_TIMESTAMP:
            self._service.register_event_time_timer(VOID_NAMESPACE, time)

    def _join_tails(self, values: list[Any]) -> list[Any]:
        """Return what to hold of what the last pane comes to, the last two, and so on.

        Return nothing if what one holds may change.
        """
        if not are_immutable(values):
            return []
        merge = self._merge
        return list(
            accumulate(reversed(values), lambda later, value: kept(merge(value, given(later))))
        )

    def _sorted_panes(self) -> _Panes:
        return sorted(self._map.items(), key=_START)

    def _fire_panes(self, start: int, panes: _Panes, tails: list[Any] | None = None) -> None:
        """Call the function for the window with a start, if it has records, by panes and their joined tails."""
        end = start + self._panes.size
        low, high = (bisect_left(panes, time, key=_START) for time in (start, end))
        inside = [value for _, value in panes[low:high]]
        if not inside:
            return
        window = self._operator.window = time_window(start, end)
        if self._check is not None and self._check.wants_panes:
            self._check.look_at_panes(self._operator.state.current_key, inside)
        if tails and high == len(panes):
            found = given(tails[len(inside) - 1])
        elif len(inside) == 1:
            found = own(inside[0])
        else:
            # What panes hold may be changed where it is joined, and a pane is in other windows too.
            found = reduce(self._merge, inside if are_immutable(inside) else map(own, inside))
        self._operator.fire(window, found)


def can_share_panes(assigner: Any, contents: Any) -> bool:
    """Whether sliding windows are better off with panes, and their contents can be joined.

    There are several windows to a record, not many more panes than windows, and a way to join what
    panes have come to: one that is known to be right, or that the user stands for.
    """
    windows = panes_of(assigner)
    if windows.size < 2 * windows.slide or windows.slide > _MOST_PANES_A_SLIDE * windows.pane_size:
        return False
    return contents.is_joinable is not False


def _check_of(contents: JoinedContents, operator: str) -> SampledCheck | None:
    """Return what looks whether contents may be joined; None if that is known."""
    if contents.is_joinable is not None:
        return None
    if isinstance(contents, ReducedRecords):
        return AssociativityCheck(contents.function.call, operator)
    return MergeCheck(contents.function.function, operator)
