"""A pool of threads that nobody has to wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, TypeVar

_T = TypeVar("_T")
_Work = tuple[Future[Any], Callable[[], Any]]


class DaemonThreads(Executor):
    """A pool of daemon threads: a function that hangs in one does not keep the process from ending.

    `ThreadPoolExecutor` joins its threads when Python exits. What is called in these finds the context variables
    of whoever has made the pool. All methods are for one thread at a time.

    Args:
        size: The most threads; they are started as they are needed.
        name: The beginning of their names.
    """

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._work: SimpleQueue[_Work | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._threads = 0
        self._context = copy_context()

    def submit(self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any) -> Future[_T]:
        """Have a function called in a thread."""
        future: Future[_T] = Future()
        self._work.put((future, lambda: fn(*args, **kwargs)))
        if self._threads < self._size and not self._idle.acquire(blocking=False):
            name = f"{self._name}_{self._threads}"
            self._threads += 1
            context = self._context.copy()
            threading.Thread(target=context.run, args=(self._main,), name=name, daemon=True).start()
        return future

    def close(self) -> None:
        """Let each thread end when its function has; what has not begun is cancelled."""
        while not self._work.empty():
            if (work := self._work.get()) is not None:
                work[0].cancel()
        for _ in range(self._threads):
            self._work.put(None)

    def _main(self) -> None:
        while (work := self._work.get()) is not None:
            _do(*work)
            del work
            self._idle.release()


def _do(future: Future[Any], call: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - who waits is told
        future.set_exception(error)
    else:
        future.set_result(result)
