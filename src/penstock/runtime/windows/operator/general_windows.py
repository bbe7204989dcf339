"""Windows of any assigner, under any trigger."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sized
from typing import Any, Final

from penstock.common.typeinfo.types import Types
from penstock.errors import InvalidTriggerError, InvalidWindowError, LateMergedWindowError
from penstock.runtime.exchange.elements import Block
from penstock.runtime.keys.window_values import CountWindow, Window
from penstock.runtime.objects.mutability import given
from penstock.runtime.state.descriptors import MapStateDescriptor
from penstock.runtime.state.states import KeyedMapState
from penstock.runtime.state.tables import ABSENT
from penstock.runtime.timers.internal_timer import InternalTimer
from penstock.runtime.timestamp import MAX_TIMESTAMP
from penstock.runtime.user_code import record_text
from penstock.runtime.windows.assigners.assigner import MergingWindowAssigner
from penstock.runtime.windows.evictors import TimestampedValue
from penstock.runtime.windows.operator.window_contexts import Clocks, TriggerContext
from penstock.runtime.windows.operator.window_namespaces import WindowNamespaces
from penstock.runtime.windows.operator.window_operator import WindowOperator, WindowSet
from penstock.runtime.windows.triggers.trigger import TriggerResult

_MERGING: Final = MapStateDescriptor(
    "merging-window-set", Types.PICKLED_BYTE_ARRAY(), Types.PICKLED_BYTE_ARRAY()
)


class MergingWindows(MergingWindowAssigner.MergeCallback[Any]):
    """The windows of a key that merge, each with its place: the window in whose state its contents are.

    So contents need not move when a window grows: the new window takes over the place of one of those
    that became it.
    """

    def __init__(
        self,
        assigner: MergingWindowAssigner[Any, Any],
        state: KeyedMapState,
        namespaces: WindowNamespaces,
    ) -> None:
        self._assigner, self._state, self._namespaces = assigner, state, namespaces
        read = namespaces.window_of
        self._persistent = {read(window): read(place) for window, place in state.items()}
        self.places = dict(self._persistent)
        self._groups: list[tuple[list[Any], Any]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        self._groups.append((list(dict.fromkeys(to_be_merged)), merge_result))

    def add(self, window: Any, merge: Callable[[Any, list[Any], Any, list[Any]], None]) -> Any:
        """Add a window, and return the one that it has become part of, or is.

        Where windows with contents became one, `merge` is called with that, what became it, its place, and
        the places whose state is to be moved there.
        """
        if window in self.places:
            return window
        self._groups.clear()
        self._assigner.merge_windows([*self.places, window], self)
        result = window
        for merged, whole in self._groups:
            if window in merged:
                result = whole
            known = [part for part in merged if part != window and part in self.places]
            if not known:
                self.places.setdefault(whole, whole)
                continue
            place, *others = [self.places.pop(part) for part in known]
            self.places[whole] = place
            if known != [whole]:
                merge(whole, known, place, others)
        if result is window:
            self.places.setdefault(window, window)
        return result

    def persist(self) -> None:
        """Write the windows back."""
        written = self._namespaces.of
        for window in self._persistent.keys() - self.places.keys():
            self._state.remove(written(window))
        for window, place in self.places.items():
            if self._persistent.get(window) != place:
                self._state.put(written(window), written(place))
        self._persistent = dict(self.places)


class GeneralWindows(WindowSet):
    """Asks assigner and trigger about each record.

    State and timers of a window have the window as their namespace. Where windows merge, contents stay
    in the place of one of the windows that became one.

    With an evictor, a window of which nothing is left has its function called with nothing, unless it is
    to reduce. One that fires without having had records is cleaned up like any other (Flink's never is,
    if that happens with its last record).
    """

    shows_order = True

    def __init__(self, operator: WindowOperator) -> None:
        super().__init__(operator)
        self._assigner, self._trigger = operator.assigner, operator.trigger
        self._kept, self._evictor = operator.kept, operator.contents.evictor
        context, service, is_event_time = operator.context, operator.service, operator.is_event_time
        self._namespace_of = operator.namespaces.of
        self._clocks = Clocks(context, service)
        self._context = TriggerContext(
            context,
            service,
            operator.state,
            operator.cleanup_time,
            self._namespace_of,
            is_event_time=is_event_time,
        )
        self._register, self._delete = (
            (service.register_event_time_timer, service.delete_event_time_timer)
            if is_event_time
            else (service.register_processing_time_timer, service.delete_processing_time_timer)
        )
        self._merges = isinstance(self._assigner, MergingWindowAssigner)
        if self._merges:
            self._merging_state = operator.state.get_state(_MERGING)
        # Of the keys of a block: read and written once.
        self._merging: dict[Any, MergingWindows] = {}

    def begin_epoch(self) -> None:
        self._merging.clear()

    def put(self, block: Block) -> None:
        operator = self._operator
        set_current_key, keys = operator.state.set_current_key, block.keys or ()
        timestamps = block.timestamps or [None] * len(keys)
        for value, key, timestamp in zip(operator.reading(block), keys, timestamps, strict=True):
            set_current_key(key)
            operator.window = None
            self._put_record(value, timestamp)
        operator.being_read = None
        for key, known in self._merging.items():
            set_current_key(key)
            known.persist()
        self._merging.clear()

    def _put_record(self, value: Any, timestamp: int | None) -> None:
        """Put a record into its windows."""
        operator, is_skipped = self._operator, True
        gone: list[Any] = []
        windows = self._windows_of(value, timestamp)
        # Each of several windows is given its own.
        held = self._kept.hold(value, operator.state.current_key) if len(windows) > 1 else value
        known = None
        if self._merges:
            known = self._merging[operator.state.current_key] = self._merging_set()
        for window in windows:
            operator.window = whole = place = window
            if known is not None:
                operator.window = whole = known.add(window, self._merge)
                place = known.places[whole]
            if not operator.is_late(whole):
                is_skipped = False
                self._kept.set_current_namespace(self._namespace_of(place))
                self._add(given(held), timestamp, whole)
                continue
            gone.append(whole)
            if known is not None:
                known.places.pop(whole, None)
        if is_skipped:
            operator.skip(value, timestamp, gone)

    def _windows_of(self, value: Any, timestamp: int | None) -> Collection[Any]:
        windows = self._assigner.assign_windows(value, timestamp, self._clocks)
        if windows is None or isinstance(windows, Window):
            raise InvalidWindowError(
                f"{type(self._assigner).__name__}, the assigner of operator {self._operator.name!r}, "
                f"returned {windows!r} for the record {record_text(value)}, with "
                f"{self._operator.where()}: that is no collection of windows.",
                hint="Return a list of windows from assign_windows(), an empty one for none.",
            )
        return windows if isinstance(windows, Sized) else list(windows)

    def _add(self, value: Any, timestamp: int | None, window: Any) -> None:
        """Add a record to a window whose place is entered."""
        self._kept.add(value if self._evictor is None else TimestampedValue(value, timestamp))
        self._context.window = window
        result = self._trigger.on_element(value, timestamp, window, self._context)
        is_gone = result is not TriggerResult.CONTINUE and self._react(result, window)
        if not is_gone and (time := self._operator.cleanup_time(window)) < MAX_TIMESTAMP:
            self._register(self._namespace_of(window), time)

    def on_timer(self, timer: InternalTimer, *, is_event_time: bool) -> None:
        operator, trigger = self._operator, self._trigger
        ask = trigger.on_event_time if is_event_time else trigger.on_processing_time
        timestamp, _, namespace = timer
        operator.window = place = window = operator.namespaces.window_of(namespace)
        if self._merges:
            place = self._merging_set().places.get(window)
            if place is None:
                return
            namespace = self._namespace_of(place)
        self._kept.set_current_namespace(namespace)
        self._context.window = window
        result = ask(timestamp, window, self._context)
        is_gone = result is not TriggerResult.CONTINUE and self._react(result, window)
        if is_event_time == operator.is_event_time and not is_gone:
            self._pass(timestamp, window)

    def _pass(self, timestamp: int, window: Any) -> None:
        """Drop a window at its time, or later if an earlier start gave it longer; wait on if it gave it less."""
        cleanup = self._operator.cleanup_time(window)
        is_left = timestamp > cleanup and (self._merges or self._kept.peek() is not ABSENT)
        if timestamp == cleanup or is_left:
            self._clear(window)
        elif window.max_timestamp() <= timestamp < cleanup < MAX_TIMESTAMP:
            self._register(self._namespace_of(window), cleanup)

    def _react(self, result: TriggerResult, window: Any) -> bool:
        """Do what the trigger said; return whether nothing is left of the window."""
        if type(result) is not TriggerResult:
            raise InvalidTriggerError(
                f"{type(self._trigger).__name__}, the trigger of operator {self._operator.name!r}, "
                f"returned {result!r}, with {self._operator.where()}: that is no TriggerResult.",
                hint="Return TriggerResult.CONTINUE where nothing is to be done.",
            )
        if result.is_fire():
            kept = self._kept.peek()
            if kept is not ABSENT:
                (self._operator.fire if self._evictor is None else self._evict)(window, kept)
        if result.is_purge():
            self._kept.clear()
        # A count window is full then, and no record is put into it any more.
        is_gone = result.is_purge() and type(window) is CountWindow
        if is_gone:
            self._clear(window)
        return is_gone

    def _evict(self, window: Any, elements: list[TimestampedValue]) -> None:
        """Call the function between the two calls of the evictor."""
        assert self._evictor is not None
        known = elements.copy()
        self._evictor.evict_before(elements, len(known), window, self._clocks)
        self._operator.fire(window, elements)
        self._evictor.evict_after(elements, len(elements), window, self._clocks)
        if len(elements) != len(known):
            # What is left stays as it was, whatever was done to the records that were given out.
            as_kept = dict(zip(map(id, known), self._kept.get(), strict=True))
            self._kept.update([as_kept.get(id(element), element) for element in elements])

    def _clear(self, window: Any) -> None:
        """Drop all that is kept of a window."""
        self._kept.clear()
        self._context.window = window
        self._trigger.clear(window, self._context)
        self._operator.forget(window)
        if self._merges:
            known = self._merging_set()
            known.places.pop(window, None)
            known.persist()

    def _merging_set(self) -> MergingWindows:
        """Return the windows of the current key, which merge."""
        assert isinstance(self._assigner, MergingWindowAssigner)
        known = self._merging.get(self._operator.state.current_key)
        return known or MergingWindows(
            self._assigner, self._merging_state, self._operator.namespaces
        )

    def _merge(self, whole: Any, parts: list[Any], place: Any, others: list[Any]) -> None:
        """Make one window of several: the trigger first, then their contents."""
        operator, context = self._operator, self._context
        operator.window = whole
        now = context.get_current_processing_time()
        if operator.is_event_time:
            now = context.get_current_watermark()
        if operator.cleanup_time(whole) <= now:
            raise LateMergedWindowError(
                f"Operator {operator.name!r}, {operator.where()}: the window would be made of {record_text(parts)}, "
                f"and it is late already: the {'watermark' if operator.is_event_time else 'time'} is {now}.",
                hint="A merged window must not end before the windows that became it: look at "
                f"merge_windows of {type(self._assigner).__name__}.",
            )
        context.window, context.merged = whole, parts
        self._trigger.on_merge(whole, context)
        for part in parts:
            if part != whole:
                context.window = part
                self._trigger.clear(part, context)
                if (time := operator.cleanup_time(part)) < MAX_TIMESTAMP:
                    self._delete(self._namespace_of(part), time)
        namespaces = list(map(self._namespace_of, others))
        self._kept.merge_namespaces(self._namespace_of(place), namespaces)
