"""Tumbling and sliding windows of event time under the default trigger, a block at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby
from operator import attrgetter
from typing import Any, Final, cast

from penstock.runtime.elements import MAX_TIMESTAMP, Block
from penstock.runtime.mutability import own
from penstock.runtime.operators.window import WindowOperator, WindowSet
from penstock.runtime.state.tables import ABSENT
from penstock.runtime.timers.internal_timer import InternalTimer, new_timer
from penstock.runtime.windowing.pane_windows import PaneWindows
from penstock.runtime.windowing.sliding import SlidingEventTimeWindows
from penstock.runtime.windowing.stagger import WindowStagger
from penstock.runtime.windowing.time_triggers import EventTimeTrigger
from penstock.runtime.windowing.tumbling import TumblingEventTimeWindows
from penstock.runtime.windowing.window import TimeWindow

_NAMESPACE: Final = attrgetter("namespace")

ByPane = Mapping[int, Sequence[int]]
"""Which records of a block are in which pane."""
Windows = Mapping[int, Sequence[TimeWindow]]
"""The windows that hold each pane, the latest first."""


class AlignedWindows(WindowSet):
    """Windows that are the same for all keys: the records of a block are put into each in one go.

    The trigger is known, so it need not be asked. State and timers are those of `GeneralWindows`, but
    timers are registered for those keys only that are new in a window.
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
        by_pane = self._by_pane(cast("list[int]", block.timestamps))
        past = set(filter(self._is_past, by_pane))
        if not past:
            self._put_panes(block, by_pane, self._panes)
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

    def _by_pane(self, timestamps: list[int]) -> ByPane:
        offset, size = self._panes.offset, self._panes.pane_size
        first = self._panes.pane_of(min(timestamps))
        if max(timestamps) < first + size:
            return {first: range(len(timestamps))}
        panes = [timestamp - (timestamp - offset) % size for timestamp in timestamps]
        by_pane: dict[int, list[int]] = {pane: [] for pane in dict.fromkeys(panes)}
        for index, pane in enumerate(panes):
            by_pane[pane].append(index)
        return by_pane

    def _is_past(self, pane: int) -> bool:
        """Whether the watermark has passed the end of a window that holds a pane, or none does."""
        windows = self._panes[pane]
        return not windows or windows[-1].max_timestamp() <= self._service.current_watermark

    def _put_panes(self, block: Block, by_pane: ByPane, windows: Windows) -> None:
        """Put records into windows, and register timers."""
        by_window: dict[TimeWindow, list[Sequence[int]]] = {}
        for pane, indexes in by_pane.items():
            for window in windows[pane]:
                by_window.setdefault(window, []).append(indexes)
        are_shared = not (self._are_apart or block.is_immutable)
        for window, parts in by_window.items():
            run = part_of(block, parts[0] if len(parts) == 1 else sorted(chain(*parts)))
            self._put_run(window, run, list(map(own, run.values)) if are_shared else run.values)

    def _put_run(self, window: TimeWindow, run: Block, values: list[Any]) -> None:
        operator, watermark = self._operator, self._service.current_watermark
        operator.window = window
        operator.kept.set_current_namespace(window)
        rest = operator.reading(run, values)
        new = operator.contents.put_run(operator.kept, run.keys or [], rest)
        for time in {window.max_timestamp(), operator.cleanup_time(window)}:
            if watermark < time < MAX_TIMESTAMP:
                timers = (new_timer((time, key, window)) for key in new)
                self._service.event_time_queue.add_all(timers)

    def _put_late(self, block: Block) -> None:
        """Put records one by one of which some windows have fired: those fire again, unless they are gone."""
        operator, watermark = self._operator, self._service.current_watermark
        for index, timestamp in enumerate(cast("list[int]", block.timestamps)):
            record = block.part(index, index + 1)
            (value,), (key,) = record.values, record.keys or ()
            operator.state.set_current_key(key)
            operator.window = None
            pane = self._panes.pane_of(timestamp)
            windows = [window for window in self._panes[pane] if not operator.is_late(window)]
            if not windows:
                operator.skip(value, timestamp)
                continue
            self._put_panes(record, {pane: (0,)}, {pane: windows})
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
            self._fire_due(timers)

    def _fire_due(self, timers: list[InternalTimer]) -> None:
        """Do what is to be done for timers of one time."""
        operator, now = self._operator, timers[0].timestamp
        kept, set_current_key, fire = operator.kept, operator.state.set_current_key, operator.fire
        for window, same in groupby(timers, key=_NAMESPACE):
            operator.window = window
            kept.set_current_namespace(window)
            is_end = now == window.max_timestamp()
            is_gone = now == operator.cleanup_time(window)
            get = kept.take if is_gone else kept.peek
            is_told = is_gone and operator.call.has_window_state
            for _, key, _ in same:
                set_current_key(key)
                found = get()
                if is_end and found is not ABSENT:
                    fire(window, found)
                if is_told:
                    operator.forget(window)


def panes_of(assigner: Any) -> PaneWindows:
    """Return the windows of a tumbling or sliding assigner."""
    return PaneWindows(assigner.size, getattr(assigner, "slide", assigner.size), assigner.offset)


def part_of(block: Block, indexes: Sequence[int]) -> Block:
    """Return some of the records of a block, or all, in their order."""
    return block if len(indexes) == len(block) else block.reordered(list(indexes))
