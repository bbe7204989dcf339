"""Windows: the records of each key in groups, and a function for each group."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Sized
from typing import Any, ClassVar, Final

from penstock.errors import (
    InvalidTimestampError,
    InvalidTriggerError,
    InvalidWindowError,
    StateTypeMismatchError,
    TypeMismatchError,
)
from penstock.runtime.elements import MAX_TIMESTAMP, Block
from penstock.runtime.epoch import Epoch
from penstock.runtime.job_pickle import dumps, loads
from penstock.runtime.mutability import copied, given
from penstock.runtime.operator import OperatorPart, StreamOperator
from penstock.runtime.operators.collector import Collector
from penstock.runtime.operators.window_call import WindowCall
from penstock.runtime.operators.window_contents import (
    PANES_NAME,
    STATE_NAME,
    ListedRecords,
    WindowContents,
)
from penstock.runtime.operators.window_contexts import (
    AssignerContext,
    StatelessContext,
    TriggerContext,
    WindowContext,
)
from penstock.runtime.output_tag import OutputTag
from penstock.runtime.state.states import KeyedMergingState
from penstock.runtime.state.tables import ABSENT
from penstock.runtime.timers.internal_timer import InternalTimer
from penstock.runtime.user_code import (
    FAILURES,
    described_failure,
    failing_record,
    function_failure,
    record_text,
)
from penstock.runtime.windowing.assigner import WindowAssigner
from penstock.runtime.windowing.global_triggers import EndOfStreamTrigger
from penstock.runtime.windowing.global_windows import GlobalWindows
from penstock.runtime.windowing.time_triggers import EventTimeTrigger
from penstock.runtime.windowing.trigger import Trigger, TriggerResult
from penstock.runtime.windowing.window import CountWindow, Window, last_timestamp
from penstock.runtime.windowing.window_kind import kind_of

_SERVICE: Final = "window-timers"
LATE_RECORDS: Final = "num_late_records_dropped"
"""The counter of the records that came too late for all their windows and went nowhere."""


class WindowOperator(StreamOperator):
    """Puts each record into its windows, and calls a function for each window that fires.

    State and timers of a window have the window as their namespace. The trigger says when a window
    fires. When the watermark has passed the window's end by the allowed lateness (with processing time,
    when the clock has passed its end), all that is kept of the window goes.

    Args:
        assigner: Says which windows a record belongs to.
        trigger: Says when a window fires.
        contents: Says how the records of a window are kept.
        call: Calls the function.
        allowed_lateness: How long windows stay after their end, in milliseconds of event time.
        late_tag: The side output of the records that are late for all their windows; None to drop and
            count them.
        output_type: The declared type of the results; None for any.
    """

    is_stateful = True
    merges: ClassVar[bool] = False
    """Whether windows merge."""
    kept_by_others: ClassVar[frozenset[str]] = frozenset({PANES_NAME})
    """The states in which operators that keep windows otherwise have them."""
    shows_order: ClassVar[bool] = True
    """Whether the order of records shows in which windows there are and when they fire: to assigners and
    triggers that are asked about each record."""

    def __init__(
        self,
        assigner: WindowAssigner[Any, Any],
        trigger: Trigger[Any, Any],
        contents: WindowContents,
        call: WindowCall,
        *,
        allowed_lateness: int = 0,
        late_tag: OutputTag | None = None,
        output_type: Any = None,
    ) -> None:
        self.assigner = assigner
        self.trigger = trigger
        self.contents = contents
        self.call = call
        self.allowed_lateness = allowed_lateness
        self.late_tag = late_tag
        self._output_type = output_type
        # Where only a function that joins them could see their order, it is not worth keeping them all.
        fires_once = type(assigner) is GlobalWindows and type(trigger) is EndOfStreamTrigger
        shows_order = self.shows_order and not fires_once
        self.sorts_in_batch = shows_order or isinstance(contents, ListedRecords)

    @property
    def wants_wake_ups(self) -> bool:
        is_by_watermarks = self.assigner.is_event_time() and type(self.trigger) is EventTimeTrigger
        return not is_by_watermarks

    @property
    def kept_windows(self) -> str:
        return f"{kind_of(self.assigner)}, {self.how_kept}, {self.contents.what_is_kept}"

    @property
    def how_kept(self) -> str:
        """Where state has what is kept of a window, in words that checkpoints hold too: they must not change."""
        return "each by itself"

    @property
    def is_plain(self) -> bool:
        """Whether what a window comes to is emitted, as it is."""
        return type(self.call) is WindowCall and self._output_type is None

    def open(self) -> None:
        assert self.timers is not None
        self._service = self.timers.get_internal_timer_service(_SERVICE, self)
        self._is_event_time = self.assigner.is_event_time()
        state = self.state.get_state(self.contents.descriptor())
        assert isinstance(state, KeyedMergingState)
        self._kept = state
        self._add_to_kept: Callable[[Any], None] = (
            state.put_in if self.contents.are_partial else state.add  # type: ignore[attr-defined]
        )
        self._assigner_context = AssignerContext(self.context, self._service)
        self._trigger_context = TriggerContext(
            self.context,
            self._service,
            self.state,
            event_cleanup=self._cleanup_timer if self._is_event_time else _never,
            processing_cleanup=_never if self._is_event_time else self._cleanup_timer,
        )
        self._window_context = WindowContext(
            self.context, self._service, self.state, merges=self.merges
        )
        self._late_records = self.metrics.user.counter(LATE_RECORDS)
        self._window: Any = None
        self._guarded(self._open_functions)

    def _open_functions(self) -> None:
        stateless = StatelessContext.of(self.context)
        self.contents.open(stateless)
        self.call.open(self.context)

    def close(self) -> None:
        self._guarded(self.contents.close)
        self._guarded(self.call.close)

    def show_calls(self) -> None:
        self.contents.show_calls()

    def begin_epoch(self, epoch: Epoch) -> None:
        self._collector = Collector(self.output)
        if self.state.was_read(self.kept_by_others):
            raise StateTypeMismatchError(
                f"Operator {self.name!r} goes on from a checkpoint in which its windows are kept "
                f"{'one by one' if STATE_NAME in self.kept_by_others else 'as shared panes'}, and "
                "now they are not.",
                hint="Give reduce() or aggregate() the share_panes with which the checkpoint was written, "
                "and the windows their trigger. To drop what it holds of the operator, give the operator "
                "another uid and set execution.state-recovery.ignore-unclaimed-state.",
            )

    def snapshot(self) -> bytes | None:
        known = self.assigner.snapshot()
        return None if known is None else dumps(known)

    def restore(self, snapshot: bytes | None) -> None:
        self.assigner.restore(None if snapshot is None else loads(snapshot))

    def redistribute(
        self,
        parts: Sequence[OperatorPart],
        subtask: int,
        parallelism: int,
        subtask_of: Callable[[Any], int] | None,
    ) -> bytes | None:
        # What an assigner takes along is its own to choose: where its windows are staggered to.
        return parts[subtask * len(parts) // parallelism].snapshot

    def process_block(self, block: Block) -> None:
        keys = block.keys
        if keys is None:
            raise TypeError(f"{self.name!r} got records without keys.")
        set_current_key, process = self.state.set_current_key, self._process
        rest = iter(block.values)
        timestamps = block.timestamps or [None] * len(keys)
        try:
            for value, key, timestamp in zip(rest, keys, timestamps, strict=True):
                set_current_key(key)
                self._window = None
                process(value, timestamp)
        except FAILURES as error:
            raise self._failure(error, failing_record(block, rest)) from error
        self._collector.flush()

    def _process(self, value: Any, timestamp: int | None) -> None:
        """Put a record into its windows."""
        is_skipped = True
        windows = self._windows_of(value, timestamp)
        held = self._held_for(windows, value)
        for window in windows:
            self._window = window
            if not self._is_late(window):
                is_skipped = False
                self._put(given(held), timestamp, window, window)
        if is_skipped:
            self._skip(value, timestamp)

    def _windows_of(self, value: Any, timestamp: int | None) -> Collection[Any]:
        if timestamp is None and self._is_event_time:
            raise InvalidTimestampError(
                f"Operator {self.name!r} got a record without a timestamp, which cannot be in a window "
                f"of event time: {record_text(value)}, with the key "
                f"{record_text(self.state.current_key)}.",
                hint="Call assign_timestamps_and_watermarks() on the stream before, or take windows "
                "of processing time.",
            )
        windows = self.assigner.assign_windows(value, timestamp, self._assigner_context)
        if windows is None or isinstance(windows, Window):
            raise InvalidWindowError(
                f"{type(self.assigner).__name__}, the assigner of operator {self.name!r}, returned "
                f"{windows!r} for the record {record_text(value)}, with "
                f"{self._where()}: that is no collection of windows.",
                hint="Return a list of windows from assign_windows(), an empty one for none.",
            )
        return windows if isinstance(windows, Sized) else list(windows)

    def _held_for(self, windows: Collection[Any], value: Any) -> Any:
        """Return what to hold of a record that goes to windows, each of which is given its own."""
        return self._kept.hold(value, self.state.current_key) if len(windows) > 1 else value

    def _put(self, value: Any, timestamp: int | None, window: Any, place: Any) -> None:
        """Add a record to a window whose contents are in the state of the window `place`."""
        self._kept.set_current_namespace(place)
        self._add(value, timestamp)
        context = self._trigger_context
        context.window = window
        result = self.trigger.on_element(value, timestamp, window, context)
        is_gone = result is not TriggerResult.CONTINUE and self._react(result, window)
        if not is_gone:
            self._register_cleanup(window)

    def _add(self, value: Any, timestamp: int | None) -> None:
        """Add a record to the contents of the window whose state is the current one."""
        self._add_to_kept(value.value if self.contents.are_partial else value)

    def _skip(self, value: Any, timestamp: int | None) -> None:
        """Do what is to be done with a record that was put into no window."""
        if not self._is_event_time or timestamp is None:
            return
        if timestamp + self.allowed_lateness > self._service.current_watermark:
            return
        if self.late_tag is None:
            self._late_records.inc(value.records if self.contents.are_partial else 1)
        else:
            self._collector.collect(((self.late_tag, value),), timestamp)

    def process_watermark(self, timestamp: int) -> None:
        assert self.timers is not None
        if self.batch and timestamp == MAX_TIMESTAMP:
            self.timers.fire_processing_time_timers()
        self.timers.advance_watermark(timestamp)
        self._collector.flush()
        self.output.emit_watermark(timestamp)

    def on_event_time(self, timer: InternalTimer) -> None:
        """Ask the trigger about a window of which an event-time timer fires."""
        self._on_timer(timer, self.trigger.on_event_time, is_cleanup=self._is_event_time)

    def on_processing_time(self, timer: InternalTimer) -> None:
        """Ask the trigger about a window of which a processing-time timer fires."""
        self._on_timer(timer, self.trigger.on_processing_time, is_cleanup=not self._is_event_time)
        self._collector.flush()

    def _on_timer(
        self,
        timer: InternalTimer,
        ask: Callable[[int, Any, Any], TriggerResult],
        *,
        is_cleanup: bool,
    ) -> None:
        timestamp, _, window = timer
        self._window = window
        try:
            place = self._place_of(window)
            if place is None:
                return
            self._kept.set_current_namespace(place)
            context = self._trigger_context
            context.window = window
            result = ask(timestamp, window, context)
            is_gone = result is not TriggerResult.CONTINUE and self._react(result, window)
            if is_cleanup and not is_gone and timestamp == self._cleanup_time(window):
                self._clear_all(window)
        except FAILURES as error:
            raise self._failure(error, None) from error

    def _place_of(self, window: Any) -> Any:
        """Return in which window's state the contents of a window are; None for no such window."""
        return window

    def _react(self, result: TriggerResult, window: Any) -> bool:
        """Do what the trigger said; return whether nothing is left of the window."""
        if type(result) is not TriggerResult:
            raise InvalidTriggerError(
                f"{type(self.trigger).__name__}, the trigger of operator {self.name!r}, returned "
                f"{result!r}, with {self._where()}: that is no TriggerResult.",
                hint="Return TriggerResult.CONTINUE where nothing is to be done.",
            )
        if result.is_fire():
            self._fire(window)
        if not result.is_purge():
            return False
        self._kept.clear()
        if type(window) is not CountWindow:
            return False
        # It is full, and no record is put into it any more.
        self._clear_all(window)
        return True

    def _fire(self, window: Any) -> None:
        """Call the function, if the window has contents."""
        kept = self._kept.peek()
        if kept is ABSENT:
            return
        values = self._result(kept)
        if values is not None:
            self._emit(window, values)

    def _result(self, kept: Any) -> list[Any] | None:
        """Return what the function is given for what is kept of a window; None not to call it."""
        try:
            return self.contents.result(kept)
        except TypeMismatchError as error:
            raise self._mismatch(error) from error

    def _emit(self, window: Any, values: list[Any]) -> None:
        context = self._window_context
        context.current = window
        results = self.call.results(copied(self.state.current_key), context, values)
        if results is None:
            return
        if self._output_type is not None:
            results = map(self._checked, results)
        self._collector.collect(results, last_timestamp(window))

    def _checked(self, result: Any) -> Any:
        if not (type(result) is tuple and len(result) == 2 and isinstance(result[0], OutputTag)):
            try:
                self._output_type.check(result, "the result")
            except TypeMismatchError as error:
                raise self._mismatch(error) from error
        return result

    def _mismatch(self, error: TypeMismatchError) -> TypeMismatchError:
        return TypeMismatchError(
            f"Operator {self.name!r}, {self._where()}: {error.message}", hint=error.hint
        )

    def _is_late(self, window: Any) -> bool:
        return self._is_event_time and self._cleanup_time(window) <= self._service.current_watermark

    def _cleanup_time(self, window: Any) -> int:
        """Return when all that is kept of a window goes; `MAX_TIMESTAMP` for never."""
        end: int = window.max_timestamp()
        return min(end + self.allowed_lateness, MAX_TIMESTAMP) if self._is_event_time else end

    def _cleanup_timer(self, window: Any) -> int | None:
        """Return the time of the timer that cleans a window up; None if there is none."""
        time = self._cleanup_time(window)
        return time if time < MAX_TIMESTAMP else None

    def _register_cleanup(self, window: Any) -> None:
        time = self._cleanup_timer(window)
        if time is None:
            return
        if self._is_event_time:
            timer = InternalTimer(time, self.state.current_key, window)
            self._service.event_time_queue.add(timer)
        else:
            self._service.register_processing_time_timer(window, time)

    def _delete_cleanup(self, window: Any) -> None:
        time = self._cleanup_timer(window)
        if time is None:
            return
        if self._is_event_time:
            self._service.delete_event_time_timer(window, time)
        else:
            self._service.delete_processing_time_timer(window, time)

    def _clear_all(self, window: Any) -> None:
        """Drop all that is kept of a window."""
        self._kept.clear()
        self._trigger_context.window = window
        self.trigger.clear(window, self._trigger_context)
        self._window_context.current = window
        self.call.clear(self._window_context)

    def _guarded(self, step: Callable[[], None]) -> None:
        try:
            step()
        except FAILURES as error:
            raise function_failure(error, self.name, None) from error

    def _failure(self, error: BaseException, record: str | None) -> Exception:
        """Return what to raise for an error that a function of the user raised."""
        what = self._where()
        if record is not None:
            what = f"the record {record}, {what}"
        return described_failure(error, self.name, what, record)

    def _where(self) -> str:
        key = f"the key {record_text(self.state.current_key)}"
        return key if self._window is None else f"{key} and the window {record_text(self._window)}"


def _never(_: Any) -> None:
    """Return no time."""
