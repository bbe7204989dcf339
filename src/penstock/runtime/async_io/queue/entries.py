"""What the queue of an asynchronous operator holds: records under way, and the elements between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.runtime.exchange.elements import WatermarkStatus

EntryId = tuple[bytes, int]
"""Names a record under way: what made it, and its number there."""


class StreamElementQueueEntry:
    """An entry of the queue.

    Attributes:
        is_in_band: Whether it is no record, but an element that keeps its place between records.
        is_done: Whether it may be emitted, once its turn has come.
        started_at: When it was put into the queue, in seconds of the event loop's clock.
    """

    __slots__ = ("started_at",)

    is_in_band: bool = True
    is_done: bool = True
    started_at: float


class WatermarkQueueEntry(StreamElementQueueEntry):
    """A watermark in the queue; it is done at once.

    Args:
        timestamp: The watermark, in milliseconds.
    """

    __slots__ = ("timestamp",)

    def __init__(self, timestamp: int) -> None:
        self.timestamp = timestamp


class StatusQueueEntry(StreamElementQueueEntry):
    """A change between active and idle in the queue; it is done at once.

    In its place in the queue it says nothing of the records before it. Flink lets it overtake them,
    and then drops the watermarks among them.

    Args:
        status: What the stream became.
    """

    __slots__ = ("status",)

    def __init__(self, status: WatermarkStatus) -> None:
        self.status = status


class StreamRecordQueueEntry(StreamElementQueueEntry):
    """A record under way: it is done when its call has a result, or has failed.

    Args:
        value: The record.
        timestamp: Its event timestamp in milliseconds, or None.
        entry_id: Names the entry from epoch to epoch.

    Attributes:
        results: The results; None until there are any.
        aside: The id of a side output and a value for it, if the call failed and goes there.
        error: What the call failed with, if that fails the job.
        call: What the event loop knows of it; None before it was handed over.
        is_abandoned: Whether nobody waits for it any more.
    """

    __slots__ = (
        "_on_complete",
        "aside",
        "call",
        "entry_id",
        "error",
        "is_abandoned",
        "is_done",
        "results",
        "timestamp",
        "value",
    )

    is_in_band = False

    def __init__(self, value: Any, timestamp: int | None, entry_id: EntryId) -> None:
        self.value = value
        self.timestamp = timestamp
        self.entry_id = entry_id
        self.is_done = False
        self.is_abandoned = False
        self.results: Sequence[Any] | None = None
        self.aside: tuple[str, Any] | None = None
        self.error: BaseException | None = None
        self.call: Any = None
        self._on_complete: Callable[[StreamRecordQueueEntry], None] | None = None

    def on_complete(self, callback: Callable[[StreamRecordQueueEntry], None]) -> None:
        """Have `callback` called when the entry is done: at once, if it is.

        There is one callback: that of the queue which the entry is in.
        """
        self._on_complete = callback
        if self.is_done:
            callback(self)

    def complete(self, results: Sequence[Any]) -> bool:
        """Give the results; return False, and change nothing, if the entry was done before."""
        if self.is_done:
            return False
        self.results = results
        self._finish()
        return True

    def complete_exceptionally(self, error: BaseException) -> bool:
        """Say that the call failed; return False, and change nothing, if the entry was done before."""
        if self.is_done:
            return False
        self.error = error
        # Without results, so that whoever waits for the queue to be empty does not wait for this.
        self.results = ()
        self._finish()
        return True

    def _finish(self) -> None:
        self.is_done = True
        if self._on_complete is not None:
            self._on_complete(self)
