"""An event loop whose time a test moves."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from penstock.errors import UnsupportedOperationError
from penstock.runtime.async_io.loop.event_loop import EventLoop

_T = TypeVar("_T")
_NEVER = float("inf")


class ManualEventLoop(EventLoop):
    """An event loop that runs in the thread of whoever waits for it, on a clock that is moved by hand.

    Nobody sleeps: a wait moves the clock to when something happens. Plain functions that would run in
    a thread run at once.

    Args:
        now: The time at first, in milliseconds.

    Example:
        >>> import asyncio
        >>> loop = ManualEventLoop(now=1000)
        >>> async def sleep():
        ...     await asyncio.sleep(3600)
        ...     return "awake"
        >>> loop.run(sleep())
        'awake'
        >>> loop.now
        3601000
        >>> loop.close()
    """

    def __init__(self, now: int = 0) -> None:
        self._selector = _VirtualTimeSelector()
        self._virtual = _VirtualTimeLoop(self._selector)
        self._selector.on_idle = self._idle
        self._virtual.now = now / 1000
        self._limit = 0.0
        self._awaited: ManualSignal | None = None
        super().__init__(self._virtual)

    @property
    def now(self) -> int:
        """The time in milliseconds."""
        return round(self._virtual.now * 1000)

    def advance_to(self, now: int) -> None:
        """Run what happens until a time (milliseconds), and stop there."""
        self._run(now / 1000)
        self._virtual.now = max(self._virtual.now, now / 1000)

    def run_ready(self) -> None:
        """Run what can run without time passing."""
        self._run(self._virtual.now)

    def call_soon(self, function: Callable[..., Any], *args: Any) -> None:
        self.loop.call_soon(function, *args)

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        task = self.loop.create_task(coroutine)
        task.add_done_callback(lambda _: self.loop.stop())
        self._run(_NEVER)
        if not task.done():
            task.cancel()
            self.run_ready()
            raise _stalled()
        return task.result()

    def create_signal(self) -> ManualSignal:
        return ManualSignal(self)

    def wait_for(self, signal: ManualSignal, seconds: float | None) -> bool:
        """Run what happens until a signal is set, or the time has passed; return whether it is set.

        Raises:
            UnsupportedOperationError: If nothing would happen any more, and the wait has no end.
        """
        if not signal.is_set:
            self._awaited = signal
            self._run(_NEVER if seconds is None else self._virtual.now + seconds)
            self._awaited = None
        if not signal.is_set and seconds is None:
            raise _stalled()
        if not signal.is_set:
            self._virtual.now = self._limit
        return signal.is_set

    def on_signal(self, signal: ManualSignal) -> None:
        """Stop running, if that is for this signal."""
        if self._awaited is signal:
            self.loop.stop()

    def close(self) -> None:
        """Cancel what runs, and close the loop."""
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.run_ready()
        self.loop.close()

    def _run(self, limit: float) -> None:
        """Run until a time (seconds), until nothing would happen any more, or until a stop."""
        self._limit = limit
        self.loop.run_forever()

    def _idle(self, timeout: float | None) -> None:
        """Move the clock to the next timer, or stop."""
        if timeout is None or self._virtual.now + timeout > self._limit:
            self.loop.stop()
        else:
            self._virtual.now += timeout


def _stalled() -> UnsupportedOperationError:
    return UnsupportedOperationError(
        "A call waits for what never comes: nothing is left to happen on the event loop.",
        hint="Give the operator a timeout, or have the function end.",
    )


class ManualSignal:
    """A signal that is waited for by running the loop on which it is set.

    Args:
        event_loop: The loop.

    Attributes:
        is_set: Whether it is set.
    """

    def __init__(self, event_loop: ManualEventLoop) -> None:
        self._event_loop = event_loop
        self.is_set = False

    def set(self) -> None:
        """Let who waits go on."""
        self.is_set = True
        self._event_loop.on_signal(self)

    def clear(self) -> None:
        """Begin anew."""
        self.is_set = False

    def wait(self, seconds: float | None) -> bool:
        """Wait until it is set, at most so long; return whether it is."""
        return self._event_loop.wait_for(self, seconds)


class _VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop with a clock of its own."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        future = self.create_future()
        try:
            result = func(*args)
        except Exception as error:  # noqa: BLE001 - who awaits the future gets it
            future.set_exception(error)
        else:
            future.set_result(result)
        return future


class _VirtualTimeSelector(selectors.BaseSelector):
    """A selector that never waits: it tells that there is nothing to do, and until when."""

    on_idle: Callable[[float | None], None]

    def __init__(self) -> None:
        self._real = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = self._real.select(0)
        if not found and (timeout is None or timeout > 0):
            self.on_idle(timeout)
        return found

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()
