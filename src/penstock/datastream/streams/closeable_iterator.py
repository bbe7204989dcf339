"""The results of a stream, in the client."""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from penstock.common.job_client import JobClient
from penstock.interruptible import wait_until
from penstock.uncaught import show_as

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CloseableIterator"]

_MOST_WAITING: Final = 64
_NOTHING: Final = object()


class Results:
    """Hands results from the thread that reads a job's epochs to the one that iterates over them.

    The reader waits while many batches are waiting, so that results the user does not take stay
    where the job keeps them.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[list[Any]] = deque()
        self._is_ended = False
        self._error: BaseException | None = None

    def put(self, values: list[Any]) -> None:
        """Take a batch of results; nothing after the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_ended or len(self._waiting) < _MOST_WAITING)
            if not self._is_ended:
                self._waiting.append(values)
                self._changed.notify_all()

    def end(self, error: BaseException | None = None) -> None:
        """Take no more results; those that are waiting can still be had, and then the error."""
        with self._changed:
            if not self._is_ended:
                self._is_ended = True
                self._error = error
                self._changed.notify_all()

    def discard(self) -> None:
        """Drop what is waiting, and the error, and take no more results."""
        self.end()
        with self._changed:
            self._waiting.clear()
            self._error = None

    def take(self) -> list[Any] | None:
        """Return the next batch, as soon as there is one; None at the end.

        Raises:
            PenstockError: What the job failed with, once all results before it are taken.
        """
        found: list[Any] | None = None
        error: BaseException | None = None

        def is_there(seconds: float) -> bool:
            nonlocal found, error
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_ended, seconds)
                if self._waiting:
                    self._changed.notify_all()
                    found = self._waiting.popleft()
                elif self._is_ended:
                    error, self._error = self._error, None
                return found is not None or self._is_ended

        wait_until(is_there)
        if error is not None:
            raise error
        return found


class CloseableIterator:
    """Iterates over the results of a stream while the job runs: see `DataStream.execute_and_collect`.

    Results come in the order in which the stream's subtasks gave them, epoch by epoch. What the job
    fails with is raised here, after all results before it. `close` cancels the job if it still runs;
    so does leaving a `with`.

    Args:
        client: The job.
        results: What its reader fills.

    Example:
        >>> from penstock.testing import local_environment
        >>> numbers = local_environment().from_collection([1, 2, 3])
        >>> with numbers.map(lambda number: 10 * number).execute_and_collect() as results:
        ...     for result in results:
        ...         print(result)
        10
        20
        30
    """

    def __init__(self, client: JobClient, results: Results) -> None:
        self._client = client
        self._results = results
        self._batch: Iterator[Any] = iter(())
        waiter = threading.Thread(target=self._wait, name="collect", daemon=True)
        waiter.start()

    def _wait(self) -> None:
        try:
            self._client.result()
        except BaseException as error:  # noqa: BLE001 - the iterating thread raises it
            self._results.end(error)
        else:
            self._results.end()

    def next(self) -> Any:
        """Return the next result, as soon as there is one.

        Raises:
            StopIteration: At the end.
            PenstockError: What the job failed with.
        """
        while (value := next(self._batch, _NOTHING)) is _NOTHING:
            batch = self._results.take()
            if batch is None:
                raise StopIteration
            self._batch = iter(batch)
        return value

    def close(self) -> None:
        """Cancel the job if it still runs, and drop the results that were not taken.

        Returns when the job has stopped.
        """
        self._batch = iter(())
        self._results.discard()
        if not self._client.progress().status.is_terminal_state():
            self._client.cancel().exception()  # what it fails with now, nobody asked for

    def __next__(self) -> Any:
        return self.next()

    def __iter__(self) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if isinstance(error, KeyboardInterrupt):
            show_as(error, "")
            self._client.tell_end()
