"""Records that a function brings, with timestamps and watermarks of its own."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from penstock.errors import InvalidArgumentError
from penstock.runtime.exchange.buffer import not_serializable
from penstock.runtime.exchange.elements import Block, Watermark
from penstock.runtime.exchange.watermarks.timestamps import checked_watermark
from penstock.runtime.job_pickle import dumps, loads
from penstock.runtime.objects.mutability import copied_if_possible
from penstock.runtime.planned.planned_source import PlannedSource, Planner
from penstock.runtime.planned.pushed import Bringer, Inbox, PushPlanner
from penstock.runtime.user_code import FAILURES, function_failure


class SourceFunction(ABC):
    """A source of your own that is a loop: it runs on the driver, in a thread.

    For trying things out, and for feeds that cannot be asked again. What it has collected is kept until the epoch
    that has it is committed: in one life of the driver each record comes once, whatever fails. When the job is
    started again in another process, `run` begins anew and knows nothing of the time before. What was collected
    and not committed is lost then, unless the function collects it once more. For a source that goes on where it was,
    use a `FileSource`, or what Spark reads.

    It has the parallelism 1, and need not be picklable. Event time comes from
    `SourceContext.collect_with_timestamp` and `SourceContext.emit_watermark`, or from
    `assign_timestamps_and_watermarks` behind it.

    Example:
        >>> from penstock.testing import local_environment
        >>> class Countdown(SourceFunction):
        ...     def run(self, ctx):
        ...         for number in (3, 2, 1):
        ...             ctx.collect(number)
        ...
        ...     def cancel(self):
        ...         pass
        >>> list(local_environment().add_source(Countdown()).execute_and_collect())
        [3, 2, 1]
    """

    @abstractmethod
    def run(self, ctx: SourceContext) -> None:
        """Collect records until there are no more, or `cancel` was called.

        Args:
            ctx: Takes them.
        """

    @abstractmethod
    def cancel(self) -> None:
        """Let `run` return soon. Called from another thread."""


class _Event(NamedTuple):
    """Something that a function has told; a watermark if it is no record."""

    value: Any
    timestamp: int | None
    is_record: bool = True


class SourceContext:
    """Takes what a `SourceFunction` gives."""

    def __init__(self, inbox: Inbox[_Event]) -> None:
        self._inbox = inbox
        self._lock = threading.RLock()

    def collect(self, element: Any) -> None:
        """Take a record without a timestamp. It waits if too many are under way, and copies what can be changed."""
        self._put(_Event(copied_if_possible(element), None))

    def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
        """Take a record.

        Args:
            element: The record.
            timestamp: Its event time, in milliseconds.

        Raises:
            InvalidArgumentError: If that is no whole number.
        """
        if not isinstance(timestamp, int):
            raise InvalidArgumentError(
                f"collect_with_timestamp() was given the timestamp {timestamp!r}.",
                hint="Give milliseconds, as a whole number.",
            )
        self._put(_Event(copied_if_possible(element), timestamp))

    def emit_watermark(self, mark: Any) -> None:
        """Say that no record before a time follows.

        Args:
            mark: The time in milliseconds, or a `Watermark`.
        """
        self._put(
            _Event(None, checked_watermark(getattr(mark, "timestamp", mark)), is_record=False)
        )

    def get_checkpoint_lock(self) -> AbstractContextManager[bool]:
        """Return a lock to hold while several records are collected that belong together.

        Nobody else takes it: a source has no state of its own to keep in step.
        """
        return self._lock

    def close(self) -> None:
        """Take nothing any more."""
        self._inbox.close()

    def _put(self, event: _Event) -> None:
        self._inbox.put(event)


class FunctionSource(PlannedSource):
    """What a function brings on the driver.

    Args:
        function: The function.
        name: The name of the source, for messages.
    """

    kind = "a source function"
    has_present = False

    def __init__(self, function: SourceFunction, name: str) -> None:
        self._function = function
        self._name = name

    def __getstate__(self) -> dict[str, Any]:
        # It is the driver that calls the function: it need not be picklable.
        return {"_name": self._name}

    def planner(self) -> Planner:
        return PushPlanner(_Caller(self._function, self._name), self._packed)

    def _packed(self, events: Sequence[_Event]) -> bytes:
        plain = [tuple(event) for event in events]
        try:
            return dumps(plain)
        except Exception as error:
            values = [event.value for event in events]
            raise not_serializable(error, [Block(values)], self._name) from error

    def read(self, content: Any) -> Iterator[Block | Watermark]:
        values: list[Any] = []
        timestamps: list[int | None] = []
        for value, timestamp, is_record in loads(content):
            if is_record:
                values.append(value)
                timestamps.append(timestamp)
                continue
            yield from _cut(values, timestamps)
            values, timestamps = [], []
            yield Watermark(timestamp)
        yield from _cut(values, timestamps)


def _cut(values: list[Any], timestamps: list[int | None]) -> Iterator[Block]:
    has_time = any(timestamp is not None for timestamp in timestamps)
    yield from Block(values, timestamps if has_time else None).cut()


class _Caller(Bringer[_Event]):
    def __init__(self, function: SourceFunction, name: str) -> None:
        self._function = function
        self._name = name

    def run(self, inbox: Inbox[_Event]) -> None:
        try:
            self._function.run(SourceContext(inbox))
        except FAILURES as error:
            raise function_failure(error, self._name, None) from error

    def cancel(self) -> None:
        self._function.cancel()
