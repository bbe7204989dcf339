"""A result that is not there yet."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Generic, TypeVar

from penstock.interruptible import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CompletableFuture"]

T = TypeVar("T")


class CompletableFuture(Generic[T]):
    """The result of something that goes on, which can be waited for.

    Args:
        compute: Computes the result, in a thread of its own.
        check: Raises in whoever may not wait for it. Default: everybody may.

    Example:
        >>> future = CompletableFuture(lambda: 6 * 7)
        >>> future.result(), future.done()
        (42, True)
    """

    def __init__(
        self, compute: Callable[[], T], *, check: Callable[[], None] = lambda: None
    ) -> None:
        self._future: Future[T] = Future()
        self._check = check
        self._compute = compute
        threading.Thread(target=self._complete, name="future", daemon=True).start()

    def _complete(self) -> None:
        try:
            result = self._compute()
        except BaseException as error:  # noqa: BLE001 - whoever asks for the result gets it
            if self._future.set_running_or_notify_cancel():
                self._future.set_exception(error)
        else:
            if self._future.set_running_or_notify_cancel():
                self._future.set_result(result)

    def cancel(self) -> bool:
        """Give up waiting. What goes on is not stopped by it.

        Returns:
            Whether there was still something to wait for.
        """
        return self._future.cancel()

    def cancelled(self) -> bool:
        """Tell whether `cancel` was called before there was a result.

        Returns:
            Whether it was.
        """
        return self._future.cancelled()

    def done(self) -> bool:
        """Tell whether there is a result or an error, or the future was cancelled.

        Returns:
            Whether there is.
        """
        return self._future.done()

    def result(self) -> T:
        """Wait for the result.

        Returns:
            The result.

        Raises:
            CancelledError: If the future was cancelled (of `concurrent.futures`).
            WaitInListenerError: If an epoch listener waits for the end of its own job.
            PenstockError: What was raised in place of a result.
        """
        self._wait()
        return self._future.result()

    def exception(self) -> BaseException | None:
        """Wait for the end, and return what was raised in place of a result.

        Returns:
            The error; None if there is a result.

        Raises:
            CancelledError: If the future was cancelled (of `concurrent.futures`).
            WaitInListenerError: If an epoch listener waits for the end of its own job.
        """
        self._wait()
        return self._future.exception()

    def _wait(self) -> None:
        self._check()
        wait_until(self._is_done_after)

    def _is_done_after(self, seconds: float) -> bool:
        try:
            self._future.exception(seconds)
        except TimeoutError:
            return False
        except CancelledError:
            pass
        return True

    def __str__(self) -> str:
        if not self.done():
            return "CompletableFuture(not done)"
        if self.cancelled():
            return "CompletableFuture(cancelled)"
        error = self.exception()
        return f"CompletableFuture({error or self.result()!r})"
