"""Tumbling and sliding windows of event time under the default trigger, pane by pane.

A pane is the longest stretch of time that no window begins or ends in. All records of a pane belong to
the same windows, and a tumbling window is one pane.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import accumulate, chain, groupby
from operator import attrgetter, itemgetter
from typing import Any, Final, cast

from penstock.common.typeinfo.types import Types
from penstock.runtime.exchange.elements import Block
from penstock.runtime.keys.key_types import VOID_NAMESPACE
from penstock.runtime.keys.window_values import TimeWindow, time_window
from penstock.runtime.objects.mutability import are_immutable, given, kept, own
from penstock.runtime.state.descriptors import MapStateDescriptor
from penstock.runtime.state.tables import ABSENT
from penstock.runtime.timers.internal_timer import InternalTimer, new_timer
from penstock.runtime.timestamp import MAX_TIMESTAMP
from penstock.runtime.windows.assigners.sliding import SlidingEventTimeWindows
from penstock.runtime.windows.assigners.stagger import WindowStagger
from penstock.runtime.windows.assigners.tumbling import TumblingEventTimeWindows
from penstock.runtime.windows.checks.associativity import AssociativityCheck
from penstock.runtime.windows.checks.merge_check import MergeCheck
from penstock.runtime.windows.checks.sampled_check import SampledCheck
from penstock.runtime.windows.operator.window_contents import (
    PANES_NAME,
    JoinedContents,
    ReducedRecords,
)
from penstock.runtime.windows.operator.window_operator import WindowOperator, WindowSet
from penstock.runtime.windows.panes import panes_of
from penstock.runtime.windows.triggers.time_triggers import EventTimeTrigger

_PANES: Final = MapStateDescriptor(PANES_NAME, Types.LONG(), Types.PICKLED_BYTE_ARRAY())
_MOST_DUE: Final = 4096
_START: Final = itemgetter(0)
_NAMESPACE: Final = attrgetter("namespace")

_Panes = list[tuple[int, Any]]
"""The panes of a key, in order: their starts, and what their records come to."""

ByPane = Mapping[int, Sequence[int]]
"""Which records of a block are in which pane."""
Windows = Mapping[int, Sequence[TimeWindow]]
"""The windows that hold each pane, the latest first."""


class AlignedWindows(WindowSet):
    """Windows that are the same for all keys: the records of a block are put into each in one go.

    The trigger is known, so it need not be asked. State and timers are those of `GeneralWindows`, but
    timers are registered for those keys only that are new in a window, and for late records: an earlier
    start may have had another lateness or trigger. A timer that fires too early registers the next.
    """

    def __init__(self, operator: WindowOperator) -> None:
        super().__init__(operator)
        self._service = operator.service
        self._panes = panes_of(operator.assigner)
        # Whether a pane has a place of its own, so that the order of panes does not matter.
        self._are_apart = self._panes.size <= self._panes.slide

    @staticmethod
    def can_run(assigner: Any, trigger: Any, contents: Any, call: Any) -> bool:  # noqa: ARG004
        is_aligned = type(assigner) is SlidingEventTimeWindows or (
            type(assigner) is TumblingEventTimeWindows
            and assigner.window_stagger is WindowStagger.ALIGNED
        )
        return is_aligned and type(trigger) is EventTimeTrigger and contents.evictor is None

    def put(self, block: Block) -> None:
        by_pane = self._panes.indexes_of(cast("list[int]", block.timestamps))
        past = set(filter(self._is_past, by_pane))
        if not past:
            self._put_panes(block, by_pane)
        elif len(past) == len(by_pane):
            self._put_late(block)
        else:
            # Late records fire windows at once. They stay in order, and so do the records of a place.
            late = set(chain.from_iterable(by_pane[pane] for pane in past))
            order: Iterable[int] = range(len(block))
            if self._are_apart:
                order = sorted(order, key=lambda index: index not in late)
            for _, indexes in groupby(order, key=late.__contains__):
                self.put(block.reordered(list(indexes)))

    def _is_past(self, pane: int) -> bool:
        """Whether the watermark has passed the end of a window that holds a pane, or none does."""
        windows = self._panes[pane]
        return not windows or windows[-1].max_timestamp() <= self._service.current_watermark

    def _put_panes(self, block: Block, by_pane: ByPane, late: Windows | None = None) -> None:
        """Put records into all windows that hold their panes, or into those of late ones; register timers."""
        by_window: dict[TimeWindow, list[Sequence[int]]] = {}
        for pane, indexes in by_pane.items():
            for window in (late or self._panes)[pane]:
                by_window.setdefault(window, []).append(indexes)
        are_shared = not (self._are_apart or block.is_immutable)
        operator, watermark = self._operator, self._service.current_watermark
        for window, parts in by_window.items():
            operator.window = window
            operator.kept.set_current_namespace(window)
            run = block.picked(parts[0] if len(parts) == 1 else sorted(chain(*parts)))
            rest = operator.reading(run, list(map(own, run.values)) if are_shared else run.values)
            new = operator.contents.put_run(operator.kept, run.keys or [], rest)
            for time in {window.max_timestamp(), operator.cleanup_time(window)}:
                if time > watermark:
                    self._register(time, run.keys if late else new, window)

    def _register(self, time: int, keys: Iterable[Any] | None, namespace: Any) -> None:
        if time < MAX_TIMESTAMP:
            timers = [new_timer((time, key, namespace)) for key in keys or ()]
            self._service.event_time_queue.add_all(timers)

    def _put_late(self, block: Block) -> None:
        """Put records one by one of which some windows have fired: those fire again, unless they are gone."""
        operator, watermark = self._operator, self._service.current_watermark
        times = cast("list[int]", block.timestamps)
        for index, (timestamp, key) in enumerate(zip(times, block.keys or (), strict=True)):
            operator.state.set_current_key(key)
            operator.window = None
            pane = self._panes.pane_of(timestamp)
            windows = [window for window in self._panes[pane] if not operator.is_late(window)]
            if not windows:
                operator.skip(block.values[index], timestamp, self._panes[pane][:1])
                continue
            part = block.part(index, index + 1)
            self._put_panes(part, {pane: (0,)}, {pane: windows})
            next(operator.reading(part))
            for window in windows:
                if window.max_timestamp() <= watermark:
                    operator.window = window
                    self._fire_again(window)

    def _fire_again(self, window: TimeWindow) -> None:
        """Fire a window under the current key that has fired before."""
        kept = self._operator.kept
        kept.set_current_namespace(window)
        self._operator.fire(window, kept.peek())

    def advance(self, watermark: int) -> None:
        self._service.current_watermark = watermark
        queue = self._service.event_time_queue
        while timers := queue.poll_together(watermark):
            self._service.fired += len(timers)
            self._fire_due(timers)

    def _fire_due(self, timers: list[InternalTimer]) -> None:
        """Do what is to be done for timers of one time."""
        operator, now = self._operator, timers[0].timestamp
        kept, set_current_key, fire = operator.kept, operator.state.set_current_key, operator.fire
        for window, same in groupby(timers, key=_NAMESPACE):
            operator.window = window
            kept.set_current_namespace(window)
            is_end, cleanup = now == window.max_timestamp(), operator.cleanup_time(window)
            is_gone = now >= cleanup
            get = kept.take if is_gone else kept.peek
            is_told = is_gone and operator.call.has_window_state
            due = list(same)
            if not is_gone:
                self._register(cleanup, (key for _, key, _ in due), window)
            for _, key, _ in due:
                set_current_key(key)
                found = get()
                if is_end and found is not ABSENT:
                    fire(window, found)
                if is_told:
                    operator.forget(window)


class SharedPanes(AlignedWindows):
    """Adds each record to one pane only, and joins the panes of a window when it fires.

    Each key has a map of its panes, and one timer: for the next end of a window that has records, or for
    the time at which its oldest pane goes.
    """

    layout = "panes"

    def __init__(self, operator: WindowOperator) -> None:
        super().__init__(operator)
        self._are_apart = True
        self._map = operator.state.get_state(_PANES)
        assert isinstance(operator.contents, JoinedContents)
        contents = self._contents = operator.contents
        self._merge = contents.merge
        self._check: SampledCheck | None = None
        if contents.is_joinable is None and isinstance(contents, ReducedRecords):
            self._check = AssociativityCheck(contents.merge, operator.name)
        elif contents.is_joinable is None:
            self._check = MergeCheck(contents.function.function, operator.name)

    @staticmethod
    def can_run(assigner: Any, trigger: Any, contents: Any, call: Any) -> bool:
        is_aligned = AlignedWindows.can_run(assigner, trigger, contents, call)
        is_joinable = contents.is_joinable is not False and not call.has_window_state
        return is_aligned and is_joinable and panes_of(assigner).is_worth_sharing

    def _put_panes(self, block: Block, by_pane: ByPane, late: Windows | None = None) -> None:
        view, hold, watermark = self._map.view, self._map.hold, self._service.current_watermark
        for pane, indexes in by_pane.items():
            run = block.picked(indexes)
            keys = run.keys or []
            if self._check is not None and self._check.wants_records:
                self._check.look_at_records(keys, run.values)
            rest = self._operator.reading(run)
            joined, new = self._contents.join_run(view.getter(pane), hold, keys, rest)
            self._operator.being_read = None
            view.put_each(pane, joined)
            ends = (window.max_timestamp() for window in reversed((late or self._panes)[pane]))
            time = next((end for end in ends if end > watermark), self._gone_at(pane))
            self._register(time, keys if late else new, VOID_NAMESPACE)

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
            known = self._due.pop(key, None)
            panes, tails = known or (self._sorted_panes(), None)
            if known is not None and tails is None:
                tails = self._join_tails([value for _, value in panes])
            for end in self._panes.ends_at(now, panes[-1][0]) if panes else ():
                self._fire_panes(end - self._panes.size, panes, tails)
            gone = 0
            while gone < len(panes) and self._gone_at(panes[gone][0]) <= now:
                self._map.remove(panes[gone][0])
                gone += 1
            if left := panes[gone:] if gone else panes:
                self._register_next(now, left)
                if len(self._due) < _MOST_DUE:
                    self._due[key] = left, tails

    def _gone_at(self, pane: int) -> int:
        """Return when the last window that holds a pane goes; `MAX_TIMESTAMP` for never."""
        return self._operator.cleanup_time(self._panes[pane][0])

    def _register_next(self, now: int, left: _Panes) -> None:
        """Register the timer for what comes next: the end of a window with records, or a pane that goes."""
        gone, end = self._gone_at(left[0][0]), self._panes.next_end(now, map(_START, left))
        time = gone if end is None else min(gone, end)
        if now < time < MAX_TIMESTAMP:
            self._service.register_event_time_timer(VOID_NAMESPACE, time)

    def _join_tails(self, values: list[Any]) -> list[Any]:
        """Return what the last pane comes to, the last two, and so on; nothing if that may be changed."""
        if not are_immutable(values):
            return []
        merge = self._merge
        return list(
            accumulate(reversed(values), lambda later, value: kept(merge(value, given(later))))
        )

    def _sorted_panes(self) -> _Panes:
        return sorted(self._map.items(), key=_START)

    def _fire_panes(self, start: int, panes: _Panes, tails: list[Any] | None = None) -> None:
        """Call the function for the window with a start, if it has records; see `advance`."""
        end = start + self._panes.size
        inside = [value for pane, value in panes if start <= pane < end]
        if not inside:
            return
        window = self._operator.window = time_window(start, end)
        if self._check is not None and self._check.wants_panes:
            self._check.look_at_panes(self._operator.state.current_key, inside)
        if tails and panes[-1][0] < end:
            found = given(tails[len(inside) - 1])
        elif len(inside) == 1:
            found = own(inside[0])
        else:
            # What panes hold may be changed where it is joined, and a pane is in other windows too.
            found = reduce(self._merge, inside if are_immutable(inside) else map(own, inside))
        self._operator.fire(window, found)
