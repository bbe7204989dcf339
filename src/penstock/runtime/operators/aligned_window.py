"""Tumbling and sliding windows of event time under the default trigger, a block at a time."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import compress, groupby
from operator import attrgetter
from typing import Any, Self

from penstock.errors import InvalidArgumentError
from penstock.runtime.elements import MAX_TIMESTAMP, Block
from penstock.runtime.mutability import IMMUTABLE_TYPES, NO_PAIR, Kept, are_immutable, own
from penstock.runtime.operators.window import WindowOperator
from penstock.runtime.operators.window_contents import (
    AggregatedRecords,
    JoinedRecords,
    ListedRecords,
    ReducedRecords,
    WindowContents,
)
from penstock.runtime.state.tables import ABSENT, Keep
from penstock.runtime.timers.internal_timer import InternalTimer
from penstock.runtime.user_code import FAILURES, failing_record
from penstock.runtime.windowing.pane_windows import PaneWindows

_NAMESPACE = attrgetter("namespace")
_VALUE = attrgetter("value")

Known = Callable[[Any, Any], Any]
"""Returns what is kept for a key, as it is held, or the default."""


class AlignedWindowOperator(WindowOperator):
    """Does what `WindowOperator` does, for windows that are the same for all keys.

    The trigger is known, so it need not be asked. The records of a block that are in the same windows
    are added to them in one go, and timers are registered for those keys only that are new there.
    """

    shows_order = False

    def on_partials(self) -> Self:
        """Return a prototype like this one whose records come as `Partial`s."""
        assert isinstance(self.contents, (ReducedRecords, AggregatedRecords))
        changed = copy.copy(self)
        changed.contents = JoinedRecords(self.contents)
        return changed

    def open(self) -> None:
        super().open()
        self._panes = panes_of(self.assigner)
        self._is_tumbling = self._panes.size == self._panes.slide
        self._join = join_of(self.contents)

    def process_block(self, block: Block) -> None:
        if block.timestamps is None or block.keys is None or None in block.timestamps:
            super().process_block(block)
            return
        for pane, run in self._runs(block):
            self._put_run(pane, run)
        self._collector.flush()

    def _runs(self, block: Block) -> Iterator[tuple[int, Block]]:
        """Yield the records by panes.

        Records of one window stay in order. So do all that are late; they fire windows at once.
        """
        timestamps: list[int] = block.timestamps  # type: ignore[assignment]
        offset, size = self._panes.offset, self._panes.pane_size
        first = min(timestamps)
        pane = first - (first - offset) % size
        if max(timestamps) < pane + size:
            return iter(((pane, block),))
        panes = [timestamp - (timestamp - offset) % size for timestamp in timestamps]
        if not self._is_tumbling:
            return _one_after_the_other(panes, block)
        past = frozenset(filter(self._is_past, set(panes)))
        return _by_pane(panes, block, past)

    def _is_past(self, pane: int) -> bool:
        """Whether the watermark has passed the end of a window that holds a pane, or none does."""
        windows = self._panes[pane]
        return not windows or windows[-1].end - 1 <= self._service.current_watermark

    def _put_run(self, pane: int, run: Block) -> None:
        """Add records to the windows that hold their pane."""
        if self._is_past(pane):
            super().process_block(run)
            return
        assert run.keys is not None
        are_shared = not (self._is_tumbling or are_immutable(run.values))
        for window in self._panes[pane]:
            self._kept.set_current_namespace(window)
            self._window = window
            rest = iter(list(map(own, run.values)) if are_shared else run.values)
            try:
                new = self._join(self._kept, run.keys, rest)
            except FAILURES as error:
                raise self._run_failure(error, run, rest) from error
            add_all = self._service.event_time_queue.add_all
            end = window.max_timestamp()
            add_all(InternalTimer(end, key, window) for key in new)
            cleanup = self._cleanup_time(window)
            if end < cleanup < MAX_TIMESTAMP:
                add_all(InternalTimer(cleanup, key, window) for key in new)

    def _run_failure(self, error: BaseException, run: Block, rest: Iterator[Any]) -> Exception:
        assert run.keys is not None
        index = len(run.values) - rest.__length_hint__() - 1  # type: ignore[attr-defined]
        self.state.set_current_key(run.keys[max(index, 0)])
        return self._failure(error, failing_record(run, rest))

    def process_watermark(self, timestamp: int) -> None:
        self._service.current_watermark = timestamp
        queue = self._service.event_time_queue
        while timers := queue.poll_together(timestamp):
            self._on_timers(timers)
        super().process_watermark(timestamp)

    def _on_timers(self, timers: list[InternalTimer]) -> None:
        """Do what is to be done for timers of one time."""
        for window, same in groupby(timers, key=_NAMESPACE):
            self._on_window_timers(window, list(same))

    def _on_window_timers(self, window: Any, timers: list[InternalTimer]) -> None:
        self._window = window
        kept_state, set_current_key = self._kept, self.state.set_current_key
        kept_state.set_current_namespace(window)
        end = window.end - 1
        is_end = timers[0].timestamp == end
        is_gone = timers[0].timestamp == self._cleanup_time(window)
        get = kept_state.take if is_gone else kept_state.peek
        is_plain = self.is_plain
        plain: list[Any] = []
        try:
            for timer in timers:
                set_current_key(timer[1])
                kept = get()
                if is_end and kept is not ABSENT:
                    values = self._result(kept)
                    if values is not None:
                        if is_plain:
                            plain += values
                            if not are_immutable(values):
                                self._collector.collect(plain, window.max_timestamp())
                                plain.clear()
                        else:
                            self._emit(window, values)
                if is_gone and not is_plain:
                    self._window_context.current = window
                    self.call.clear(self._window_context)
        except FAILURES as error:
            raise self._failure(error, None) from error
        self._collector.collect(plain, window.max_timestamp())


def panes_of(assigner: Any) -> PaneWindows:
    """Return the windows of a tumbling or sliding assigner."""
    return PaneWindows(assigner.size, getattr(assigner, "slide", assigner.size), assigner.offset)


def _one_after_the_other(panes: list[int], block: Block) -> Iterator[tuple[int, Block]]:
    start = 0
    for pane, same in groupby(panes):
        end = start + sum(1 for _ in same)
        yield pane, block.part(start, end)
        start = end


def _by_pane(panes: list[int], block: Block, past: frozenset[int]) -> Iterator[tuple[int, Block]]:
    """Yield the records of each pane, but those of all past ones together."""
    assert block.keys is not None
    if past:
        is_past = [pane in past for pane in panes]
        yield next(iter(past)), _selected(block, is_past)
        is_open = [not it for it in is_past]
        panes, block = list(compress(panes, is_open)), _selected(block, is_open)
    runs: dict[int, tuple[list[Any], list[Any]]] = {}
    for pane, value, key in zip(panes, block.values, block.keys or (), strict=True):
        run = runs.get(pane)
        if run is None:
            run = runs[pane] = [], []
        run[0].append(value)
        run[1].append(key)
    for pane, (values, keys) in runs.items():
        yield pane, Block(values, None, keys)


def _selected(block: Block, are_wanted: list[bool]) -> Block:
    return Block(
        list(compress(block.values, are_wanted)),
        list(compress(block.timestamps or (), are_wanted)),
        list(compress(block.keys or (), are_wanted)),
    )


Join = Callable[[Any, list[Any], Iterator[Any]], list[Any]]
"""Adds values under their keys to the current namespace of a state; returns the keys to which timers are
to be registered: all that are new there, and maybe others."""


def join_of(contents: WindowContents) -> Join:
    """Return what adds a run of records to a window.

    Raises:
        InvalidArgumentError: If there is nothing for contents of this kind.
    """
    if isinstance(contents, JoinedRecords):
        return _in_entries(merging(contents.contents.merge))
    if isinstance(contents, ReducedRecords):
        return _in_entries(reducing(contents.function.call))
    if isinstance(contents, AggregatedRecords):
        return _in_entries(aggregating(contents.function.function))
    if isinstance(contents, ListedRecords):
        return _append
    raise InvalidArgumentError(f"{type(contents).__name__} cannot be added to by the block.")


def _in_entries(join: Callable[..., tuple[dict[Any, Any], list[Any]]]) -> Join:
    def add(state: Any, keys: list[Any], values: Iterator[Any]) -> list[Any]:
        entries, mark, _ = state.view
        joined, new = join(entries.get, state.hold, keys, values)
        for key, value in joined.items():
            entries[key] = value
            mark(key)
        return new

    return add


def reducing(call: Callable[[Any, Any], Any]) -> Callable[..., tuple[dict[Any, Any], list[Any]]]:
    """Return what reduces values by key; it returns what to hold of what they come to, and new keys."""

    def join(known: Known, hold: Keep, keys: list[Any], values: Iterator[Any]) -> Any:
        joined: dict[Any, Any] = {}
        fixed = IMMUTABLE_TYPES
        so_far, new = joined.get, []
        for value, key in zip(values, keys, strict=True):
            before = so_far(key, ABSENT)
            if before is ABSENT:
                before = known(key, ABSENT)
                if before is ABSENT:
                    new.append(key)
                    joined[key] = value if type(value) in IMMUTABLE_TYPES else hold(value, key)
                    continue
            if type(before) is Kept:
                before = before.value()
            result = call(before, value)
            if type(result) not in fixed:
                one, other = result if type(result) is tuple and len(result) == 2 else NO_PAIR
                if type(one) not in fixed or type(other) not in fixed:
                    result = hold(result, key)
            joined[key] = result
        return joined, new

    return join


def merging(merge: Callable[[Any, Any], Any]) -> Callable[..., tuple[dict[Any, Any], list[Any]]]:
    """Return what merges `Partial`s by key, as `reducing` reduces values."""
    reduce_values = reducing(merge)

    def join(known: Known, hold: Keep, keys: list[Any], values: Iterator[Any]) -> Any:
        return reduce_values(known, hold, keys, map(_VALUE, values))

    return join


def aggregating(function: Any) -> Callable[..., tuple[dict[Any, Any], list[Any]]]:
    """Return what aggregates values by key; it returns what to hold of accumulators, and new keys."""

    def join(known: Known, hold: Keep, keys: list[Any], values: Iterator[Any]) -> Any:
        joined: dict[Any, Any] = {}
        fixed = IMMUTABLE_TYPES
        so_far, new, call = joined.get, [], function.add
        for value, key in zip(values, keys, strict=True):
            accumulator = so_far(key, ABSENT)
            if accumulator is ABSENT:
                accumulator = known(key, ABSENT)
                if accumulator is ABSENT:
                    new.append(key)
                    accumulator = function.create_accumulator()
            if type(accumulator) is Kept:
                accumulator = accumulator.value()
            result = call(value, accumulator)
            if type(result) not in fixed:
                one, other = result if type(result) is tuple and len(result) == 2 else NO_PAIR
                if type(one) not in fixed or type(other) not in fixed:
                    result = hold(result, key)
            joined[key] = result
        return joined, new

    return join


def _append(state: Any, keys: list[Any], values: Iterator[Any]) -> list[Any]:
    lists: dict[Any, list[Any]] = {}
    for value, key in zip(values, keys, strict=True):
        lists.setdefault(key, []).append(value)
    extend = state.view.extend
    for key, elements in lists.items():
        extend(key, elements)
    # Whether a list is new costs more to know than a timer that is there already.
    return list(lists)
