"""Asynchronous calls: many records under way at once, in order or not."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from penstock.errors import AsyncResultError, AsyncTimeoutError, EventLoopBlockedWarning
from penstock.runtime.async_io.async_metrics import AsyncMetrics
from penstock.runtime.async_io.call import Call
from penstock.runtime.async_io.emitter import Emitter
from penstock.runtime.async_io.function_life import AsyncSettings, FunctionLife
from penstock.runtime.async_io.invoker import Invoker
from penstock.runtime.async_io.loop.event_loop import EventLoop, shared_event_loop
from penstock.runtime.async_io.loop.mailbox import Mailbox
from penstock.runtime.async_io.pending import dealt_out, restored_entries, snapshot_of
from penstock.runtime.async_io.queue.entries import (
    StatusQueueEntry,
    StreamElementQueueEntry,
    StreamRecordQueueEntry,
    WatermarkQueueEntry,
)
from penstock.runtime.async_io.queue.ordered_stream_element_queue import OrderedStreamElementQueue
from penstock.runtime.async_io.queue.unordered_stream_element_queue import (
    UnorderedStreamElementQueue,
)
from penstock.runtime.context import RuntimeContext
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.elements import Block, WatermarkStatus
from penstock.runtime.objects.mutability import copied_if_possible
from penstock.runtime.operator import OperatorPart
from penstock.runtime.operators.function_operator import FunctionOperator
from penstock.runtime.task_place import TaskPlace, working_for
from penstock.runtime.user_code import function_failure, record_text

_SOONEST: Final = 0.05
LONGEST_LOOK: Final = 1.0
"""When, in seconds, an epoch is due for calls under way: soon for young ones, later for old ones."""


class AsyncWaitOperator(FunctionOperator):
    """Calls an asynchronous function for each record, many at once, and emits what comes of it.

    A record is put into the queue, then its timeout is set, then the call begins, on the event loop of
    the process. What is done is emitted from the task's own thread, with the record's timestamp. A full
    queue makes the task wait. Watermarks keep their places in the queue.

    What is under way when an epoch has waited long enough at its end goes, as input, into the snapshot.
    Where the next epoch finds it still running in this copy of the operator it is not called again.

    Args:
        function: The function, in any of its forms.
        settings: How the operator works.

    Attributes:
        event_loop: The event loop, if it is not to be that of the process.
    """

    method = "async_invoke"
    needs_its_subtask = True

    keeps_records = True
    wants_wake_ups = True
    event_loop: EventLoop | None = None

    def __init__(self, function: Any, settings: AsyncSettings) -> None:
        super().__init__(function)
        self._settings = settings

    def open(self) -> None:
        self._loop = self.event_loop or shared_event_loop()
        self._mailbox: Mailbox[Call] = Mailbox(self._loop)
        self._counts = AsyncMetrics(self.metrics.user)
        self._origin = os.urandom(8)
        self._numbers = itertools.count()
        self._unstarted: list[Call] = []
        self._restored: bytes | None = None
        self._settles = False
        self._create_queue()
        context = replace(self.context, without_state="an asynchronous function")
        self._place = TaskPlace(None, self.name, context.subtask, context.parallelism)
        with working_for(self._place):
            self._open_function(context)
        self.processing_time.at_every_poll(self._poll)

    def _open_function(self, context: RuntimeContext) -> None:
        settings = self._settings
        self._life = FunctionLife(self.function, settings, self._loop)
        self._guarded(lambda: self._life.open(context))
        self._invoker = Invoker(
            self._loop.loop,
            self._mailbox,
            self._life.step,
            name=self.name,
            timeout=settings.timeout / 1000 or None,
            on_timeout=self._life.on_timeout,
            on_failure=settings.options.on_failure,
            waits_for_permits=self._life.waits_for_permits,
            capacity=settings.capacity,
        )

    def close(self) -> None:
        try:
            self._loop.run(self._invoker.close())
        finally:
            with working_for(self._place):
                self._guarded(self._life.close)

    def interrupt(self) -> None:
        self._mailbox.interrupt()

    def _create_queue(self) -> None:
        kind = OrderedStreamElementQueue if self._settings.ordered else UnorderedStreamElementQueue
        self._queue = kind(self._settings.capacity, self._await_completion)
        self._emitter = Emitter(self._queue, self.output)

    def restore(self, snapshot: bytes | None) -> None:
        self._restored = snapshot

    def begin_epoch(self, epoch: Epoch) -> None:
        """Take up what was under way: calls that still run here go on, others begin anew."""
        self._life.begin_epoch()
        self._place.job_id, self._place.epoch = epoch.job_id, epoch.number
        self._settles = epoch.settles
        running = {
            entry.entry_id: entry
            for entry in self._queue.values()
            if isinstance(entry, StreamRecordQueueEntry) and entry.call is not None
        }
        self._unstarted = []
        entries: list[StreamElementQueueEntry] = []
        for entry in restored_entries(self._restored):
            if isinstance(entry, StreamRecordQueueEntry):
                entries.append(running.pop(entry.entry_id, entry))
            else:
                entries.append(entry)
        self._give_up(list(running.values()))
        self._create_queue()
        for entry in entries:
            self._put(entry)
        self._start_calls()

    def _give_up(self, entries: list[StreamRecordQueueEntry]) -> None:
        """Cancel the calls of an epoch that was given up, or that ended in another process."""
        for entry in entries:
            entry.is_abandoned = True
        if entries:
            self._loop.call_soon(self._invoker.give_up, [entry.call for entry in entries])

    def process_block(self, block: Block) -> None:
        """Begin a call for each record, and emit what is done."""
        self._counts.in_flight.inc(len(block.values))
        origin, numbers = self._origin, self._numbers
        queue, now = self._queue, self._loop.time()
        # What is under way nobody else changes.
        values = block.values if block.is_immutable else map(copied_if_possible, block.values)
        for value, timestamp in zip(
            values, block.timestamps or itertools.repeat(None), strict=False
        ):
            entry = StreamRecordQueueEntry(value, timestamp, (origin, next(numbers)))
            entry.started_at = now
            while not queue.try_put(entry):
                self._make_room()
                now = entry.started_at = self._loop.time()
            entry.call = call = Call(value, entry)
            self._unstarted.append(call)
        self._counts.queue.update(100 * queue.size() / queue.capacity)
        self._start_calls()
        self._poll()

    def process_watermark(self, timestamp: int) -> None:
        self._put(WatermarkQueueEntry(timestamp))
        self._poll()

    def process_status(self, status: WatermarkStatus) -> None:
        self._put(StatusQueueEntry(status))
        self._poll()

    def _put(self, entry: StreamElementQueueEntry) -> None:
        """Put in an element, or a record that was under way before, which begins if it does not run."""
        if isinstance(entry, StreamRecordQueueEntry):
            is_new = entry.call is None
            if is_new:
                entry.started_at = self._loop.time()
            self._queue.put(entry, self._make_room)
            if is_new:
                entry.call = Call(entry.value, entry)
                self._unstarted.append(entry.call)
        else:
            self._queue.put(entry, self._make_room)

    def _start_calls(self) -> None:
        """Hand calls over to the event loop, all at once."""
        if self._unstarted:
            calls, self._unstarted = self._unstarted, []
            self._loop.call_soon(self._invoker.start, calls)

    def _make_room(self) -> None:
        """Wait until something of a full queue is done, and emit what may be emitted then."""
        self._counts.queue.update(100.0)
        self._wait_and_emit()

    def _wait_and_emit(self) -> None:
        self._start_calls()
        if not self._queue.has_completed():
            self._await_completion()
        self._emit()

    def _await_completion(self) -> None:
        self._mailbox.wait(None)
        self._complete()

    def _poll(self) -> None:
        """Emit what is done, without waiting."""
        if not self._queue.is_empty():
            self._complete()
            self._emit()

    def _emit(self) -> None:
        self._counts.in_flight.dec(self._emitter.emit_completed())

    def _complete(self) -> None:
        """Complete the entries whose calls were settled."""
        while self._loop.reports:
            warnings.warn(EventLoopBlockedWarning(self._loop.reports.popleft()), stacklevel=2)
        calls = [call for call in self._mailbox.take() if not call.entry.is_abandoned]
        self._counts.count(calls)
        for call in calls:
            entry: StreamRecordQueueEntry = call.entry
            if call.error is not None:
                entry.complete_exceptionally(call.error)
                raise self._call_failure(call.error, call.value) from call.error
            entry.aside = call.aside
            entry.complete(call.results)

    def _call_failure(self, error: BaseException, value: Any) -> Exception:
        record = record_text(value)
        if not isinstance(error, (AsyncTimeoutError, AsyncResultError)):
            return function_failure(error, self.name, record)
        named = type(error)(
            f"{error.message}\n\nOperator {self.name!r} failed on the record {record}.",
            hint=error.hint,
        )
        named.operator, named.record = self.name, record
        return named

    def flush(self) -> None:
        """Wait for calls until the youngest that is awaited has had its time, and emit what is done."""
        self._poll()
        if self._settles:
            self._wait_for_all()
        patience = self._settings.drain_timeout / 1000
        while (awaited := self._queue.awaited()) is not None:
            left = awaited.started_at + patience - self._loop.time()
            if left <= 0:
                break
            self._mailbox.wait(left)
            self._poll()

    def end_input(self) -> None:
        """Wait for all calls, and emit what comes of them."""
        self._life.end_input()
        self._wait_for_all()

    def _wait_for_all(self) -> None:
        while not self._queue.is_empty():
            self._wait_and_emit()

    def snapshot(self) -> bytes | None:
        return snapshot_of(self._queue.values(), self.name)

    def redistribute(
        self,
        parts: Sequence[OperatorPart],
        subtask: int,
        parallelism: int,
        subtask_of: Callable[[Any], int] | None,
    ) -> bytes | None:
        """Deal out the records under way: by key where they come by key, else in turn."""
        return dealt_out(
            [(part.snapshot, part.watermark) for part in parts], subtask, parallelism, subtask_of
        )

    def next_wake_up(self) -> int | None:
        """Return a time by which calls under way may be done: the longer they run, the later."""
        awaited = self._queue.awaited()
        if awaited is None:
            return None
        seconds = (self._loop.time() - awaited.started_at) / 4
        wait = min(max(seconds, _SOONEST), LONGEST_LOOK)
        return self.processing_time.current_processing_time() + round(wait * 1000)
