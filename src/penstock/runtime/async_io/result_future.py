"""What a function in callback form is given: takes the results when there are any."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from penstock.common.types import Row
from penstock.errors import AsyncResultError
from penstock.runtime.objects.mutability import copied_if_possible


class ResultFuture:
    """Takes the results of one call, or its failure: whichever comes first; what comes later is ignored.

    Args:
        loop: The event loop, in whose thread it is made.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread = threading.get_ident()
        self._outcome: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def complete(self, result: list[Any] | Callable[[], list[Any]]) -> None:
        """Complete the call with its results; from any thread.

        Args:
            result: A list of results; an empty one for none. Or a supplier: a function that returns the list. It is
                called in the thread of the event loop, unless the call has an outcome already; what it raises the
                call has failed with.
        """
        # Whoever completes it may change the results before the loop sees them.
        self._settle_soon(result if _is_supplier(result) else _own_copy(result), None)

    def complete_exceptionally(self, error: BaseException) -> None:
        """Say that the call failed; from any thread.

        Args:
            error: What it failed with.
        """
        if not isinstance(error, BaseException):
            error = AsyncResultError(
                f"complete_exceptionally() was given {error!r}, which is no exception.",
                hint="Give an exception.",
            )
        self._settle_soon(None, error)

    def _settle_soon(self, results: Any, error: BaseException | None) -> None:
        if threading.get_ident() == self._thread:
            self._settle(results, error)
        else:
            self._loop.call_soon_threadsafe(self._settle, results, error)

    def _settle(self, results: Any, error: BaseException | None) -> None:
        if self._outcome.done():
            return
        if _is_supplier(results):
            try:
                results = _own_copy(results())
            except Exception as raised:  # noqa: BLE001 - whatever the user's function raises
                results, error = None, raised
        self._outcome.set_result((results, error))

    def result(self) -> Any:
        """Return the results, or raise the failure.

        Raises:
            AsyncResultError: If it was not completed yet.
        """
        if not self._outcome.done():
            raise AsyncResultError(
                "timeout() returned, and had not completed its result future.",
                hint="Complete it before timeout() returns.",
            )
        results, error = self._outcome.result()
        if error is not None:
            raise error
        return results

    async def wait(self) -> Any:
        """Wait until it is completed; return the results, or raise the failure."""
        await self._outcome
        return self.result()


def _is_supplier(results: Any) -> bool:
    # A row is callable, too: it makes other rows.
    return callable(results) and not isinstance(results, Row)


def _own_copy(results: Any) -> Any:
    return list(map(copied_if_possible, results)) if isinstance(results, list) else results
