"""Waits that Ctrl-C ends, whenever it comes.

Python answers a signal in the main thread, between any two instructions, by raising `KeyboardInterrupt` there. What
waits in `threading` and `concurrent.futures` is Python code: an exception in the middle of it may leave a lock taken
that another thread waits for, and one in a callback of the garbage collector is lost. So Ctrl-C is only noted
meanwhile, and answered between two looks at what is waited for.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

_SECONDS_A_LOOK: Final = 0.04

Handler = Callable[[int, FrameType | None], Any]


class _Note:
    """Notes Ctrl-C, and has it answered when it is asked to.

    Args:
        answer: The handler that answers it; None for nobody.
    """

    def __init__(self, answer: Handler | None) -> None:
        self._answer = answer
        self._signal: tuple[int, FrameType | None] | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self._signal = number, frame

    def answer(self) -> None:
        noted, self._signal = self._signal, None
        if noted is not None and self._answer is not None:
            self._answer(*noted)


@contextmanager
def postponed() -> Iterator[Callable[[], None]]:
    """Have Ctrl-C inside of the block answered at its end, or when what the block is given is called.

    Raises:
        KeyboardInterrupt: If that is the answer, as usual.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    note = _Note(handler)
    try:
        signal.signal(signal.SIGINT, note)
        yield note.answer
    finally:
        signal.signal(signal.SIGINT, handler)
        note.answer()


def wait_until(is_there: Callable[[float], bool], seconds: float = math.inf) -> bool:
    """Wait until something is there, and return whether it is.

    Args:
        is_there: Waits for it, at most the given number of seconds, and returns whether it is there.
        seconds: How many seconds to wait at most.

    Raises:
        KeyboardInterrupt: If Ctrl-C comes meanwhile.
    """
    until = time.monotonic() + seconds
    with postponed() as answer:
        # The waits are short, as the signal may reach another thread, which wakes nobody.
        while not is_there(max(min(_SECONDS_A_LOOK, until - time.monotonic()), 0.0)):
            answer()
            if time.monotonic() >= until:
                return False
    return True
