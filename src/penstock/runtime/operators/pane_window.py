"""Sliding windows that share what their records come to."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial, reduce
from itertools import accumulate
from operator import itemgetter
from typing import Any, Final

from penstock.common.typeinfo import Types
from penstock.runtime.elements import MAX_TIMESTAMP, Block
from penstock.runtime.mutability import are_immutable, given, kept, own
from penstock.runtime.operators.aligned_window import (
    AlignedWindowOperator,
    aggregating,
    merging,
    panes_of,
    reducing,
)
from penstock.runtime.operators.associativity import AssociativityCheck
from penstock.runtime.operators.merge_check import MergeCheck
from penstock.runtime.operators.sampled_check import SampledCheck
from penstock.runtime.operators.window_contents import (
    PANES_NAME,
    STATE_NAME,
    AggregatedRecords,
    JoinedRecords,
    ReducedRecords,
)
from penstock.runtime.state.descriptors import MapStateDescriptor
from penstock.runtime.state.tables import VOID_NAMESPACE
from penstock.runtime.timers.internal_timer import InternalTimer
from penstock.runtime.user_code import FAILURES, failing_record
from penstock.runtime.windowing.window import time_window

_PANES: Final = MapStateDescriptor(PANES_NAME, Types.LONG(), Types.PICKLED_BYTE_ARRAY())
_MOST_PANES_A_SLIDE: Final = 8
_MOST_DUE: Final = 4096
_START: Final = itemgetter(0)

_Due = tuple[list[tuple[int, Any]], list[Any] | None]
"""The panes of a key, in order, and what `_join_tails` returned for them, if it was called."""


class PaneWindowOperator(AlignedWindowOperator):
    """Adds each record to one pane only, and joins the panes of a window when it fires.

    A pane is the longest stretch of time that no window begins or ends in. Each key has a map of its
    panes, and one timer: for the next end of a window that has records, or for the time at which its
    oldest pane goes.
    """

    kept_by_others = frozenset({STATE_NAME})

    @property
    def how_kept(self) -> str:
        panes = panes_of(self.assigner)
        size, slide = panes.size, panes.slide
        return f"as panes shared by windows of {size} ms every {slide} ms (offset {panes.offset % slide} ms)"

    def open(self) -> None:
        super().open()
        self._map = self.state.get_state(_PANES)
        self._check: SampledCheck | None = None
        contents = self.contents
        if isinstance(contents, JoinedRecords):
            contents = contents.contents
        elif isinstance(contents, ReducedRecords) and contents.is_associative is None:
            self._check = AssociativityCheck(contents.function.call, self.name)
        elif isinstance(contents, AggregatedRecords) and contents.is_mergeable is None:
            self._check = MergeCheck(contents.function.function, self.name)
        if isinstance(contents, ReducedRecords):
            self._join_run = reducing(contents.function.call)
            self._join_panes = partial(reduce, contents.function.call)
        else:
            assert isinstance(contents, AggregatedRecords)
            self._join_run = aggregating(contents.function.function)
            self._join_panes = partial(reduce, contents.function.function.merge)
        self._merge = contents.merge
        if self.contents.are_partial:
            self._join_run = merging(contents.merge)

    def _put_run(self, pane: int, run: Block) -> None:
        windows = self._panes[pane]
        if self._is_past(pane):
            self._put_late_run(pane, run)
            return
        first_end = windows[-1].max_timestamp()
        new = self._add_run(pane, run)
        self._service.event_time_queue.add_all(
            InternalTimer(first_end, key, VOID_NAMESPACE) for key in new
        )

    def _add_run(self, pane: int, run: Block) -> list[Any]:
        """Add records to their pane; return the keys that did not have it."""
        view = self._map.view
        self._window = None
        if self._check is not None and self._check.wants_records:
            self._check.look_at_records(run.keys or (), run.values)
        rest = iter(run.values)
        try:
            joined, new = self._join_run(view.getter(pane), self._map.hold, run.keys, rest)
        except FAILURES as error:
            raise self._run_failure(error, run, rest) from error
        view.put_each(pane, joined)
        return new

    def _put_late_run(self, pane: int, run: Block) -> None:
        """Add records some of whose windows have fired: those fire again, unless they are gone."""
        assert run.keys is not None
        assert run.timestamps is not None
        watermark = self._service.current_watermark
        windows = [
            (start, window.max_timestamp())
            for start, window in zip(self._panes.starts(pane), self._panes[pane], strict=True)
            if not self._is_late(window)
        ]
        next_time = min((end for _, end in windows if end > watermark), default=self._gone_at(pane))
        rest = iter(run.values)
        try:
            for value, key, timestamp in zip(rest, run.keys, run.timestamps, strict=True):
                self.state.set_current_key(key)
                if not windows:
                    self._skip(value, timestamp)
                    continue
                for new in self._add_run(pane, Block([value], None, [key])):
                    if next_time < MAX_TIMESTAMP:
                        timer = InternalTimer(next_time, new, VOID_NAMESPACE)
                        self._service.event_time_queue.add(timer)
                for start, end in windows:
                    if end <= watermark:
                        self._fire_panes(start, self._sorted_panes())
        except FAILURES as error:
            raise self._failure(error, failing_record(run, rest)) from error

    def _on_timers(self, timers: list[InternalTimer]) -> None:
        for timer in timers:
            self.state.set_current_key(timer.key)
            self.on_event_time(timer)

    def process_watermark(self, timestamp: int) -> None:
        # It may fire many windows of a key, and no record comes in between.
        self._due: dict[Any, _Due | None] = {}
        super().process_watermark(timestamp)
        self._due.clear()

    def on_event_time(self, timer: InternalTimer) -> None:
        now, key, _ = timer
        self._window = None
        known = self._due.pop(key, None)
        panes, tails = known or (self._sorted_panes(), None)
        if not panes:
            return
        try:
            if known is not None and tails is None:
                tails = self._join_tails([value for _, value in panes])
            for end in self._ends_at(now, panes[-1][0]):
                self._fire_panes(end - self._panes.size, panes, tails)
        except FAILURES as error:
            raise self._failure(error, None) from error
        left = self._without_gone(now, panes)
        if left:
            self._register_next(now, left)
            if len(self._due) < _MOST_DUE:
                self._due[key] = left, tails

    def _without_gone(self, now: int, panes: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
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
        return self._cleanup_time(self._panes[pane][0])

    def _register_next(self, now: int, left: list[tuple[int, Any]]) -> None:
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

    def _sorted_panes(self) -> list[tuple[int, Any]]:
        return sorted(self._map.items(), key=_START)

    def _fire_panes(
        self, start: int, panes: list[tuple[int, Any]], tails: list[Any] | None = None
    ) -> None:
        """Call the function for the window with a start, if it has records.

        Args:
            start: The start.
            panes: The panes of the key, in order.
            tails: What `_join_tails` returned for them, if it was called.
        """
        end = start + self._panes.size
        is_tail = panes[-1][0] < end
        if is_tail and start <= panes[0][0]:
            inside = [value for _, value in panes]
        else:
            inside = [value for pane, value in panes if start <= pane < end]
        if not inside:
            return
        window = self._window = time_window(start, end)
        if self._check is not None and self._check.wants_panes:
            self._check.look_at_panes(self.state.current_key, inside)
        if tails and is_tail:
            kept = given(tails[len(inside) - 1])
        elif len(inside) == 1:
            kept = own(inside[0])
        else:
            # What panes hold may be changed where it is joined, and a pane is in other windows too.
            kept = self._join_panes(inside if are_immutable(inside) else list(map(own, inside)))
        values = self._result(kept)
        if values is not None:
            self._emit(window, values)


def can_share_panes(assigner: Any, contents: Any) -> bool:
    """Whether sliding windows are better off with panes, and their contents can be joined.

    There are several windows to a record, not many more panes than windows, and a way to join what
    panes have come to: one that is known to be right, or that the user stands for.
    """
    windows = panes_of(assigner)
    if windows.size < 2 * windows.slide or windows.slide > _MOST_PANES_A_SLIDE * windows.pane_size:
        return False
    if isinstance(contents, AggregatedRecords):
        return contents.is_mergeable is not False
    return isinstance(contents, ReducedRecords) and contents.is_associative is not False
