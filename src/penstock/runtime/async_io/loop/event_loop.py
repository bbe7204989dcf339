"""The event loop that asynchronous functions run on, as tasks see it."""

from __future__ import annotations

import asyncio
import os
import threading
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol, TypeVar

from penstock.errors import EventLoopDiedError
from penstock.runtime.async_io.loop.watchdog import watch

_T = TypeVar("_T")

_SECONDS_A_LOOK: Final = 0.1
"""How often who waits for the loop looks whether it still runs."""


class Signal(Protocol):
    """What a task waits for."""

    def set(self) -> None:
        """Let who waits go on."""

    def clear(self) -> None:
        """Begin anew."""

    def wait(self, seconds: float | None) -> bool:
        """Wait until it is set, at most so long; return whether it is.

        Raises:
            EventLoopDiedError: If the loop has ended, so that nobody would set it.
        """


class EventLoop(ABC):
    """An event loop, and how a task in another thread reaches it.

    Attributes:
        loop: The loop.
        shared: What operators in this process share, by name.
        reports: What the operators are to warn of.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.shared: dict[str, Any] = {}
        self.reports: deque[str] = deque()

    def time(self) -> float:
        """Return the time of the loop's clock, in seconds from some past moment."""
        return self.loop.time()

    @abstractmethod
    def call_soon(self, function: Callable[..., Any], *args: Any) -> None:
        """Have a function called on the loop.

        Raises:
            EventLoopDiedError: If the loop has ended.
        """

    @abstractmethod
    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine on the loop and wait for its end.

        Raises:
            EventLoopDiedError: If the loop has ended.
        """

    @abstractmethod
    def create_signal(self) -> Signal:
        """Return something to wait for, which is set on the loop."""


class EventLoopThread(EventLoop):
    """An event loop in a daemon thread of its own."""

    def __init__(self) -> None:
        super().__init__(asyncio.new_event_loop())
        self._failure: str | None = None
        self._thread = threading.Thread(target=self._main, name="penstock-event-loop", daemon=True)
        self._thread.start()
        watch(self.loop, self._thread, self.reports)

    def _main(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        except BaseException as error:  # noqa: BLE001 - who waits for the loop is told
            self._failure = "".join(traceback.format_exception_only(error)).strip()

    @property
    def is_alive(self) -> bool:
        """Whether the loop runs."""
        return self._thread.is_alive()

    def check(self) -> None:
        """Make sure that the loop runs.

        Raises:
            EventLoopDiedError: If it does not.
        """
        if self.is_alive:
            return
        why = "was stopped" if self._failure is None else f"ended with {self._failure}"
        raise EventLoopDiedError(
            f"The event loop of the asynchronous functions in this process {why}.",
            hint="A function must not stop the loop it runs on, and tasks that it creates must not "
            "exit: neither loop.stop() nor sys.exit().",
        )

    def call_soon(self, function: Callable[..., Any], *args: Any) -> None:
        self.check()
        self.loop.call_soon_threadsafe(function, *args)

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        try:
            self.check()
        except EventLoopDiedError:
            coroutine.close()
            raise
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        while not done.wait(_SECONDS_A_LOOK):
            self.check()
        if (error := future.exception()) is not None:
            raise error  # not by result(), whose own frames would stand before the user's
        return future.result()

    def create_signal(self) -> ThreadSignal:
        return ThreadSignal(self)


class ThreadSignal:
    """A signal that a task waits for in its own thread.

    Args:
        event_loop: The loop on which it is set.
    """

    def __init__(self, event_loop: EventLoopThread) -> None:
        self._event_loop = event_loop
        self._event = threading.Event()
        self.set = self._event.set
        self.clear = self._event.clear

    def wait(self, seconds: float | None) -> bool:
        left = float("inf") if seconds is None else seconds
        while not self._event.wait(min(left, _SECONDS_A_LOOK)):
            self._event_loop.check()
            left -= _SECONDS_A_LOOK
            if left <= 0:
                return False
        return True


_OF_PROCESS: dict[int, EventLoopThread] = {}
_LOCK = threading.Lock()


def shared_event_loop() -> EventLoopThread:
    """Return the event loop of this process, kept from job to job; a new one if it has ended."""
    process = os.getpid()
    with _LOCK:
        found = _OF_PROCESS.get(process)
        if found is None or not found.is_alive:
            # What a parent process left behind in a fork does not run here.
            _OF_PROCESS.clear()
            found = _OF_PROCESS[process] = EventLoopThread()
        return found
