"""Brings what was completed on the event loop to the task that waits for it."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from penstock.errors import JobCancelledError
from penstock.runtime.async_io.loop.event_loop import EventLoop

_T = TypeVar("_T")


class Mailbox(Generic[_T]):
    """Brings what was completed on the event loop to the task that waits for it.

    All that is completed in one turn of the loop arrives together.

    Args:
        event_loop: The loop.
    """

    def __init__(self, event_loop: EventLoop) -> None:
        self._loop = event_loop.loop
        self._signal = event_loop.create_signal()
        self._mail: deque[_T] = deque()
        self._is_announced = False
        self._is_interrupted = False

    def post(self, mail: _T) -> None:
        """Leave something for the task; called on the loop."""
        self._mail.append(mail)
        if not self._is_announced:
            self._is_announced = True
            self._loop.call_soon(self._announce)

    def _announce(self) -> None:
        self._is_announced = False
        self._signal.set()

    def take(self) -> list[_T]:
        """Return all that was left here; called by the task."""
        # First this: what is left here from now on sets it again.
        self._signal.clear()
        mail = self._mail
        return [mail.popleft() for _ in range(len(mail))]

    def wait(self, seconds: float | None) -> bool:
        """Wait until something is here, at most so long; return whether there is.

        Raises:
            EventLoopDiedError: If the loop has ended.
            JobCancelledError: If it was interrupted.
        """
        if self._is_interrupted:
            raise _cancelled()
        is_here = bool(self._mail) or self._signal.wait(seconds)
        if self._is_interrupted:
            raise _cancelled()
        return is_here

    def interrupt(self) -> None:
        """Let nobody wait here any more; called from any thread."""
        self._is_interrupted = True
        self._signal.set()


def _cancelled() -> JobCancelledError:
    return JobCancelledError("The job was cancelled while calls were under way.")
