"""Emits what is done, in blocks."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Any

from penstock.runtime.async_io.queue.entries import (
    StatusQueueEntry,
    StreamRecordQueueEntry,
    WatermarkQueueEntry,
)
from penstock.runtime.async_io.queue.stream_element_queue import StreamElementQueue
from penstock.runtime.exchange.elements import BLOCK_SIZE, Block
from penstock.runtime.exchange.output import Output


class Emitter:
    """Takes from a queue what is done: peeks, emits, and only then polls.

    Args:
        queue: The queue.
        output: Where results go, with the timestamps of their records.
    """

    def __init__(self, queue: StreamElementQueue, output: Output) -> None:
        self._queue = queue
        self._output = output

    def emit_completed(self) -> int:
        """Emit all that may be emitted now, and return how many records that were."""
        queue = self._queue
        records = 0
        while queue.has_completed():
            if next(queue.completed()).is_in_band:
                self._emit_in_band()
            else:
                records += self._emit_records()
        return records

    def _emit_in_band(self) -> None:
        entry = self._queue.peek_blockingly()
        if isinstance(entry, WatermarkQueueEntry):
            self._output.emit_watermark(entry.timestamp)
        elif isinstance(entry, StatusQueueEntry):
            self._output.emit_status(entry.status)
        self._queue.poll()

    def _emit_records(self) -> int:
        """Emit a run of records as one block, and return how many there were."""
        values: list[Any] = []
        timestamps: list[int | None] = []
        aside: list[StreamRecordQueueEntry] = []
        count = 0
        for entry in islice(self._queue.completed(), BLOCK_SIZE):
            if not isinstance(entry, StreamRecordQueueEntry):
                break
            count += 1
            results = entry.results
            assert results is not None
            if len(results) == 1:
                values.append(results[0])
                timestamps.append(entry.timestamp)
            elif results:
                values.extend(results)
                timestamps.extend([entry.timestamp] * len(results))
            if entry.aside is not None:
                aside.append(entry)
        if values:
            self._output.collect(_block(values, timestamps))
        for entry in aside:
            assert entry.aside is not None
            tag, value = entry.aside
            self._output.collect_side(tag, _block([value], [entry.timestamp]))
        deque((self._queue.poll() for _ in range(count)), maxlen=0)
        return count


def _block(values: list[Any], timestamps: list[int | None]) -> Block:
    if timestamps.count(None) == len(timestamps):
        return Block(values)
    return Block(values, timestamps)
