"""A row of the terminal that is written again and again, below all else that is written there."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final, TextIO

from penstock.common.plain_text import fitted

_CLEAR: Final = "\r\033[K"
_UNWRAPPED: Final = "\033[?7l{}\033[?7h"
"""A text that ends where the terminal ends, even if that has just become narrower."""

_WHEELS: Final = ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\")
_ENDS: Final = ("■", "*")
_USUAL_COLUMNS: Final = 80
_SETTLED_SECONDS: Final = 0.3


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream writes to a terminal."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # it is closed
        return False


class TerminalRow:
    """The last row of the terminal, with a text that changes.

    While it is open, whatever Python writes to standard output and standard error takes the row's place, and the
    row comes back below: the streams stay the objects that they are, and their `write` clears the row before.
    Nothing is shown behind a text without a line break, such as a prompt. Another process that writes to the
    terminal, as Spark's own does, writes behind the row, and clears nothing.

    Args:
        clock: Tells the time, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._writes: list[tuple[Any, Callable[[str], int]]] = []
        self._is_shown = self._is_line_open = self._is_over = False
        self._columns = 0
        self._resized = 0.0
        self._turn = 0
        os.register_at_fork(after_in_child=self._leave_to_parent)
        atexit.register(self._end)

    def open(self) -> None:
        """Have the streams make room before they write."""
        with self._lock:
            if not self._writes and not self._is_over:
                self._is_line_open = False
                for stream in (sys.stdout, sys.stderr):
                    if is_terminal(stream):
                        self._guard(stream)

    def close(self) -> None:
        """Clear the row, and leave the streams as they were."""
        with self._lock:
            self._clear()
            self._let_go()

    def _let_go(self) -> None:
        for stream, _ in self._writes:
            # What was set on the object hides the method of its class.
            vars(stream).pop("write", None)
        self._writes = []

    def _end(self) -> None:
        """Show nothing any more: the process ends."""
        with self._lock:
            self._is_over = True
            self.close()

    def _leave_to_parent(self) -> None:
        self._lock = threading.RLock()  # some other thread of the parent may have had it
        self._is_shown, self._is_over = False, True
        self._let_go()

    def _guard(self, stream: Any) -> None:
        write = stream.write

        def guarded(text: str) -> int:
            with self._lock:
                self._clear()
                written: int = write(text)
                if text:
                    self._is_line_open = not text.endswith("\n")
                return written

        try:
            stream.write = guarded
        except AttributeError:  # somebody has put another in its place, and it takes none
            return
        self._writes.append((stream, write))

    def columns(self) -> int:
        """Return how many columns a text may have."""
        return max(_columns() - 3, 0)

    def show(self, text: str) -> None:
        """Show a text, with a wheel before it that turns at every call."""
        with self._lock:
            if self._is_over or self._is_line_open or not self._has_settled():
                return
            wheel = _first_writable(_WHEELS)
            self._turn += 1
            shown = fitted(f"{wheel[self._turn % len(wheel)]} {writable(text)}", _columns() - 1)
            self._is_shown = True
            self._write(_CLEAR + _UNWRAPPED.format(shown))

    def leave(self, text: str) -> None:
        """Leave a text that does not change any more in the terminal."""
        with self._lock:
            self._clear()
            start = "\n" if self._is_line_open else ""
            self._is_line_open = False
            self._write(f"{start}{_first_writable(_ENDS)} {writable(text)}\n")

    def clear(self) -> None:
        """Show nothing until it is shown again."""
        with self._lock:
            self._clear()

    def _has_settled(self) -> bool:
        """Whether the terminal is as wide as before: what is drawn while it becomes narrower leaves traces."""
        columns, now = _columns(), self._clock()
        if columns != self._columns:
            self._resized = now if self._columns else now - _SETTLED_SECONDS
            self._columns = columns
        return now - self._resized >= _SETTLED_SECONDS

    def _clear(self) -> None:
        if self._is_shown:
            self._is_shown = False
            self._write(_CLEAR)

    def _write(self, text: str) -> None:
        stream = sys.stderr
        write = next((write for one, write in self._writes if one is stream), stream.write)
        try:
            write(text)
            stream.flush()
        except (OSError, ValueError):  # the terminal is gone, or the stream is closed
            self._is_over = True


def _columns() -> int:
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError, AttributeError):
        columns = 0
    return columns or _USUAL_COLUMNS


def _first_writable(texts: tuple[str, ...]) -> str:
    return next((text for text in texts if writable(text) == text), texts[-1])


def writable(text: str) -> str:
    """Return a text as standard error can write it: with question marks for what its encoding has not."""
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    return text.encode(encoding, errors="replace").decode(encoding)
