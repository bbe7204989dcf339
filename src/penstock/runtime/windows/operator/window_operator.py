"""Windows: the records of each key in groups, and a function for each group."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

from penstock.common.typeinfo.conversion import conversion_to
from penstock.errors import StateTypeMismatchError, TypeMismatchError
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.elements import Block
from penstock.runtime.job_pickle import dumps, loads
from penstock.runtime.keys.window_values import last_timestamp
from penstock.runtime.late_records import LateRecords
from penstock.runtime.objects.mutability import copied
from penstock.runtime.operator import BatchOrder, OperatorPart, StreamOperator
from penstock.runtime.operators.collector import Collector
from penstock.runtime.output_tag import OutputTag
from penstock.runtime.timers.internal_timer import InternalTimer
from penstock.runtime.timestamp import MAX_TIMESTAMP
from penstock.runtime.user_code import FAILURES, described_failure, failing_record, record_text
from penstock.runtime.windows.assigners.assigner import MergingWindowAssigner, WindowAssigner
from penstock.runtime.windows.assigners.global_windows import GlobalWindows
from penstock.runtime.windows.assigners.time_window_assigner import without_timestamp
from penstock.runtime.windows.kept_windows import kept_windows
from penstock.runtime.windows.operator.window_call import WindowCall
from penstock.runtime.windows.operator.window_contents import (
    PANES_NAME,
    STATE_NAME,
    ListedRecords,
    WindowContents,
)
from penstock.runtime.windows.operator.window_contexts import WindowContext
from penstock.runtime.windows.operator.window_namespaces import WindowNamespaces
from penstock.runtime.windows.triggers.global_triggers import EndOfStreamTrigger
from penstock.runtime.windows.triggers.time_triggers import EventTimeTrigger
from penstock.runtime.windows.triggers.trigger import Trigger

_SERVICE: Final = "window-timers"


class WindowSet(ABC):
    """The windows that the keys of a subtask have, where what is kept of them is, and their timers."""

    layout: ClassVar[str] = "places"
    """Where state has what is kept of windows: see `kept_windows`."""
    shows_order: ClassVar[bool] = False
    """Whether the order of records shows in which windows there are and when they fire: to assigners and
    triggers that are asked about each record."""

    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator

    @staticmethod
    def can_run(assigner: Any, trigger: Any, contents: Any, call: Any) -> bool:  # noqa: ARG004
        """Whether such windows may be in a set of this class."""
        return True

    def begin_epoch(self) -> None:  # noqa: B027 - only some remember something
        """Forget what is left of an epoch that failed."""

    @abstractmethod
    def put(self, block: Block) -> None:
        """Put records into their windows; they have keys, and timestamps where windows are of event time."""

    def advance(self, watermark: int) -> None:
        """Fire what a watermark completes."""
        self._operator.service.advance_watermark(watermark)

    def on_timer(self, timer: InternalTimer, *, is_event_time: bool) -> None:  # noqa: B027
        """Do what is to be done for a timer, unless `advance` does all. Its key is the current one."""


class WindowOperator(StreamOperator):
    """Puts each record into its windows, and calls a function for each window that fires.

    When the watermark has passed a window's end by the allowed lateness (in milliseconds; with processing
    time, when the clock has passed its end), all that is kept of the window goes. Records that are late
    for all their windows go to the side output of a tag; where there is none, they are counted.
    """

    is_stateful = True

    def __init__(
        self,
        assigner: WindowAssigner[Any, Any],
        trigger: Trigger[Any, Any],
        contents: WindowContents,
        call: WindowCall,
        *,
        windows: type[WindowSet],
        allowed_lateness: int = 0,
        late_tag: OutputTag | None = None,
        output_type: Any = None,
    ) -> None:
        self.assigner = assigner
        self.trigger = trigger
        self.contents = contents
        self.call = call
        self.windows = windows
        self.allowed_lateness = allowed_lateness
        self.late_tag = late_tag
        self._output_type = output_type
        self.is_event_time = assigner.is_event_time()
        # Whether what a window comes to is emitted, as it is.
        self.is_plain = type(call) is WindowCall and output_type is None
        # Where only a function that joins them could see their order, it is not worth keeping them all.
        fires_once = type(assigner) is GlobalWindows and type(trigger) is EndOfStreamTrigger
        shows_order = windows.shows_order and not fires_once
        if shows_order or isinstance(contents, ListedRecords):
            self.batch_order = BatchOrder.BY_KEY

    @property
    def wants_wake_ups(self) -> bool:
        return not (self.is_event_time and type(self.trigger) is EventTimeTrigger)

    @property
    def kept_windows(self) -> str:
        contents, evicts = self.contents.descriptor().kind, self.contents.evictor is not None
        return kept_windows(self.assigner, self.windows.layout, contents, evicts=evicts)

    def open(self) -> None:
        assert self.timers is not None
        self.service = self.timers.get_internal_timer_service(_SERVICE, self)
        # The state that the contents ask for.
        self.kept: Any = self.state.get_state(self.contents.descriptor())
        merges = isinstance(self.assigner, MergingWindowAssigner)
        self._conversion = conversion_to(self._output_type, "the result")
        self.namespaces = WindowNamespaces(self.assigner, self.name)
        self._context = WindowContext(
            self.context, self.service, self.state, self.namespaces.of, merges=merges
        )
        self._late_records = LateRecords(self.metrics.user)
        # The window that is at work, for messages.
        self.window: Any = None
        stateless = replace(
            self.context, without_state="a function that joins the records of windows"
        )
        self._guarded(lambda: self.contents.open(stateless))
        self._guarded(lambda: self.call.open(self.context))
        self._set = self.windows(self)

    def close(self) -> None:
        self._guarded(self.contents.close)
        self._guarded(self.call.close)

    def _guarded(self, step: Callable[[], None]) -> None:
        try:
            step()
        except FAILURES as error:
            raise described_failure(error, self.name, None) from error

    def show_calls(self) -> None:
        self.contents.show_calls()

    def begin_epoch(self, epoch: Epoch) -> None:
        self.collector = Collector(self.output)
        self._set.begin_epoch()
        has_panes = self.windows.layout == "panes"
        if self.state.was_read({STATE_NAME if has_panes else PANES_NAME}):
            raise StateTypeMismatchError(
                f"Operator {self.name!r} goes on from a checkpoint in which its windows are kept "
                f"{'one by one' if has_panes else 'as shared panes'}, and now they are not.",
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
        if block.keys is None:
            raise TypeError(f"{self.name!r} got records without keys.")
        self.window = None
        if self.is_event_time and (block.timestamps is None or None in block.timestamps):
            first = 0 if block.timestamps is None else block.timestamps.index(None)
            self.state.set_current_key(block.keys[first])
            raise without_timestamp(self.name, self.assigner, block.values[first], self.where())
        self.being_read: Any = None
        try:
            self._set.put(block)
        except FAILURES as error:
            if self.being_read is None:
                raise
            run, rest = self.being_read
            index = len(run.values) - rest.__length_hint__() - 1
            self.state.set_current_key(run.keys[max(index, 0)])
            raise self._failure(error, failing_record(run, rest)) from error
        self.collector.flush()

    def reading(self, block: Block, values: list[Any] | None = None) -> Iterator[Any]:
        """Return an iterator over the values of a block, or others in their place.

        If something fails, the record it failed on is the one that was taken last, unless `being_read` is
        set to None since: then it was no record.
        """
        rest = iter(block.values if values is None else values)
        self.being_read = block, rest
        return rest

    def process_watermark(self, timestamp: int) -> None:
        assert self.timers is not None
        try:
            self._set.advance(timestamp)
            if self.batch and timestamp == MAX_TIMESTAMP:
                self.timers.fire_processing_time_timers()
        except FAILURES as error:
            raise self._failure(error) from error
        self.collector.flush()
        self.output.emit_watermark(timestamp)

    def on_event_time(self, timer: InternalTimer) -> None:
        self._set.on_timer(timer, is_event_time=True)

    def on_processing_time(self, timer: InternalTimer) -> None:
        try:
            self._set.on_timer(timer, is_event_time=False)
        except FAILURES as error:
            raise self._failure(error) from error
        self.collector.flush()

    def is_late(self, window: Any) -> bool:
        """Whether nothing may be kept of a window any more."""
        return self.is_event_time and self.cleanup_time(window) <= self.service.current_watermark

    def cleanup_time(self, window: Any) -> int:
        """Return when all that is kept of a window goes; `MAX_TIMESTAMP` for never."""
        end: int = window.max_timestamp()
        return min(end + self.allowed_lateness, MAX_TIMESTAMP) if self.is_event_time else end

    def skip(self, value: Any, timestamp: int | None, windows: Iterable[Any]) -> None:
        """Do what is to be done with a record that was put into none of its windows."""
        latest = self.service.current_watermark - self.allowed_lateness
        if not self.is_event_time or timestamp is None or timestamp > latest:
            return
        if self.late_tag is None:
            gone = max(map(self.cleanup_time, windows), default=None)
            watermark = self.service.current_watermark
            self._late_records.drop(
                self.contents.records_in(value), None if gone is None else watermark - gone + 1
            )
            self.metrics.user.samples.late(value, watermark - timestamp)
        else:
            self.collector.collect(((self.late_tag, value),), timestamp)

    def fire(self, window: Any, kept: Any) -> None:
        """Call the function of a window with what is kept of it, unless that comes to nothing."""
        try:
            values = self.contents.result(kept)
        except TypeMismatchError as error:
            raise self._mismatch(error) from error
        if values is None:
            return
        results: Iterable[Any] = values
        if not self.is_plain:
            self._context.current = window
            found = self.call.results(copied(self.state.current_key), self._context, values)
            if found is None:
                return
            results = found if self._conversion is None else map(self._converted, found)
        self.collector.collect(results, last_timestamp(window))

    def _converted(self, result: Any) -> Any:
        if type(result) is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
            return result
        assert self._conversion is not None
        try:
            return self._conversion.one(result)
        except TypeMismatchError as error:
            raise self._mismatch(error) from error

    def _mismatch(self, error: TypeMismatchError) -> TypeMismatchError:
        return TypeMismatchError(
            f"Operator {self.name!r}, {self.where()}: {error.message}", hint=error.hint
        )

    def forget(self, window: Any) -> None:
        """Tell the function that a window is gone."""
        self._context.current = window
        self.call.clear(self._context)

    def _failure(self, error: BaseException, record: str | None = None) -> Exception:
        """Return what to raise for an error that a function of the user raised."""
        what = self.where() if record is None else f"the record {record}, {self.where()}"
        return described_failure(error, self.name, what, record)

    def where(self) -> str:
        """Return which key and window are at work, for messages."""
        key = f"the key {record_text(self.state.current_key)}"
        return key if self.window is None else f"{key} and the window {record_text(self.window)}"
