"""Tumbling and sliding windows of event time under the default trigger, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, cast

from penstock.runtime.elements import MAX_TIMESTAMP, Block
from penstock.runtime.mutability import are_immutable, own
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


class AlignedWindows(WindowSet):
    """Windows that are the same for all keys: records of one pane are put into its windows in one go.

    The trigger is known, so it need not be asked. State and timers are those of `GeneralWindows`, but
    timers are registered for those keys only that are new in a window.
    """

    def __init__(self, operator: WindowOperator) -> None:
        super().__init__(operator)
        self._service = operator.service
        self._panes = panes_of(operator.assigner)
        # Whether what is kept of one pane is kept apart from others, so that their order does not matter.
        self._are_apart = self._panes.size == self._panes.slide

    @staticmethod
    def can_run(assigner: Any, trigger: Any, contents: Any, call: Any) -> bool:  # noqa: ARG004
        is_aligned = type(assigner) is SlidingEventTimeWindows or (
            type(assigner) is TumblingEventTimeWindows
            and assigner.window_stagger is WindowStagger.ALIGNED
        )
        return is_aligned and type(trigger) is EventTimeTrigger and contents.evictor is None

    def put(self, block: Block) -> None:
        for pane, run in self._runs(block):
            if self._is_past(pane):
                self._put_late(run)
            else:
                self._put_run(pane, self._panes[pane], run)

    def _runs(self, block: Block) -> Iterator[tuple[int, Block]]:
        """Yield the records by panes.

        Records of one window stay in order. So do all that are late; they fire windows at once.
        """
        timestamps = cast("list[int]", block.timestamps)
        offset, size = self._panes.offset, self._panes.pane_size
        first = min(timestamps)
        pane = first - (first - offset) % size
        if max(timestamps) < pane + size:
            return iter(((pane, block),))
        panes = [timestamp - (timestamp - offset) % size for timestamp in timestamps]
        return (
            self._by_pane(panes, block) if self._are_apart else _one_after_the_other(panes, block)
        )

    def _by_pane(self, panes: list[int], block: Block) -> Iterator[tuple[int, Block]]:
        """Yield the records of each pane, but those of all past ones together."""
        runs: dict[int, tuple[list[Any], list[Any]]] = {
            pane: ([], []) for pane in dict.fromkeys(panes)
        }
        past = set(filter(self._is_past, runs))
        if past:
            yield next(iter(past)), block.chosen([pane in past for pane in panes])
        for pane, value, key in zip(panes, block.values, block.keys or (), strict=True):
            values, keys = runs[pane]
            values.append(value)
            keys.append(key)
        for pane, (values, keys) in runs.items():
            if pane not in past:
                yield pane, Block(values, None, keys)

    def _is_past(self, pane: int) -> bool:
        """Whether the watermark has passed the end of a window that holds a pane, or none does."""
        windows = self._panes[pane]
        return not windows or windows[-1].end - 1 <= self._service.current_watermark

    def _put_run(self, pane: int, windows: tuple[TimeWindow, ...], run: Block) -> None:
        """Add records of a pane to windows that hold it."""
        operator, watermark = self._operator, self._service.current_watermark
        add_timers = self._service.event_time_queue.add_all
        are_copied = len(windows) > 1 and not are_immutable(run.values)
        for window in windows:
            operator.window = window
            operator.kept.set_current_namespace(window)
            rest = operator.reading(run, list(map(own, run.values)) if are_copied else None)
            new = operator.contents.put_run(operator.kept, run.keys or [], rest)
            for time in {window.max_timestamp(), operator.cleanup_time(window)}:
                if watermark < time < MAX_TIMESTAMP:
                    add_timers(new_timer((time, key, window)) for key in new)

    def _put_late(self, run: Block) -> None:
        """Put records one by one of which some windows have fired: those fire again, unless they are gone."""
        operator, watermark = self._operator, self._service.current_watermark
        times = cast("list[int]", run.timestamps)
        for value, key, timestamp in zip(run.values, run.keys or (), times, strict=True):
            operator.state.set_current_key(key)
            operator.window = None
            pane = self._panes.pane_of(timestamp)
            windows = tuple(it for it in self._panes[pane] if not operator.is_late(it))
            if not windows:
                operator.skip(value, timestamp)
                continue
            self._put_run(pane, windows, Block([value], [timestamp], [key]))
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
        for window, same in groupby(timers, key=_NAMESPACE):
            self._fire_window(window, list(same))

    def _fire_window(self, window: TimeWindow, timers: list[InternalTimer]) -> None:
        operator = self._operator
        operator.window = window
        kept_state, set_current_key = operator.kept, operator.state.set_current_key
        kept_state.set_current_namespace(window)
        end = window.max_timestamp()
        is_end = timers[0].timestamp == end
        is_gone = timers[0].timestamp == operator.cleanup_time(window)
        get = kept_state.take if is_gone else kept_state.peek
        is_plain, collect = operator.is_plain, operator.collector.collect
        plain: list[Any] = []
        for timer in timers:
            set_current_key(timer[1])
            kept = get()
            if is_end and kept is not ABSENT:
                if not is_plain:
                    operator.fire(window, kept)
                elif (values := operator.values_of(kept)) is not None:
                    plain += values
                    if not are_immutable(values):
                        collect(plain, end)
                        plain.clear()
            if is_gone and not is_plain:
                operator.forget(window)
        collect(plain, end)


def panes_of(assigner: Any) -> PaneWindows:
    """Return the windows of a tumbling or sliding assigner."""
    return PaneWindows(assigner.size, getattr(assigner, "slide", assigner.size), assigner.offset)


def _one_after_the_other(panes: list[int], block: Block) -> Iterator[tuple[int, Block]]:
    start = 0
    for pane, same in groupby(panes):
        end = start + sum(1 for _ in same)
        yield pane, block.part(start, end)
        start = end
