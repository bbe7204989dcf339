"""What an asynchronous operator counts."""

from __future__ import annotations

from penstock.runtime.async_io.call import Call
from penstock.runtime.metrics import MetricGroup


class AsyncMetrics:
    """What an asynchronous operator counts; in the result of the job under these names.

    `async.in_flight`: records under way. `async.completed`, `async.failed`, `async.timed_out`: calls, by
    what came of them; one that timed out without results has failed too. `async.retried`: attempts
    after the first. `async.cached`: records that needed no call of their own. `async.latency`:
    milliseconds from the start of a call to its outcome. `async.queue`: how full the queue was, in
    percent.

    Args:
        group: The operator's metrics.
    """

    def __init__(self, group: MetricGroup) -> None:
        self._group = group
        own = group.add_group("async")
        self.in_flight = own.counter("in_flight")
        self._completed = own.counter("completed")
        self._failed = own.counter("failed")
        self._timed_out = own.counter("timed_out")
        self._retried = own.counter("retried")
        self._cached = own.counter("cached")
        self._latency = own.distribution("latency")
        self.queue = own.distribution("queue")

    def count(self, calls: list[Call]) -> None:
        """Count calls that were settled."""
        failed = 0
        measure = self._latency.update
        for call in calls:
            measure(call.seconds * 1000)
            if call.attempts != 1:
                self._count_attempts(call.attempts)
            if call.has_failed:
                failed += 1
                self._note_failure(call)
            if call.has_timed_out:
                self._timed_out.inc()
        self._failed.inc(failed)
        self._completed.inc(len(calls) - failed)

    def _note_failure(self, call: Call) -> None:
        if call.error is None and call.failure is not None:
            error, call.failure = call.failure, None
            self._group.fail(call.value, f"{type(error).__name__}: {error}")

    def _count_attempts(self, attempts: int) -> None:
        if attempts:
            self._retried.inc(attempts - 1)
        else:
            self._cached.inc()
