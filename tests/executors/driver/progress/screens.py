"""A terminal, and what a person sees in it."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import pyte
import pytest


class Screen:
    """A terminal with two streams to it, and a screen that shows what was written.

    Args:
        columns: Its width.
        encoding: That of the streams.
    """

    def __init__(self, columns: int = 60, encoding: str = "utf-8") -> None:
        self._ours, self._theirs = pty.openpty()
        self._screen = pyte.HistoryScreen(columns, 30)
        self._parser = pyte.ByteStream(self._screen)
        self.raw = b""
        self.resize(columns)
        os.set_blocking(self._ours, False)
        self.out = self._stream(encoding, "strict")
        self.err = self._stream(encoding, "backslashreplace")

    def _stream(self, encoding: str, errors: str) -> TextIO:
        file = open(os.dup(self._theirs), "wb", buffering=0)  # noqa: SIM115
        return io.TextIOWrapper(file, encoding, errors, write_through=True)

    def resize(self, columns: int) -> None:
        """Make it wider or narrower."""
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        self._screen.resize(columns=columns)

    def rows(self) -> list[str]:
        """Return what it shows, without the empty rows at its end, and that with the address of the job's page."""
        while True:
            try:
                read = os.read(self._ours, 1 << 16)
            except BlockingIOError:
                break
            self.raw += read
            self._parser.feed(read)
        rows = [row.rstrip() for row in self._screen.display if not row.startswith("Job '")]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def write_from_outside(self, text: str) -> None:
        """Write as another process does."""
        os.write(self._theirs, text.encode())

    def close(self) -> None:
        """Close all of it."""
        self.out.close()
        self.err.close()
        os.close(self._theirs)
        os.close(self._ours)


@contextmanager
def screen(columns: int = 60, encoding: str = "utf-8") -> Iterator[Screen]:
    """Put a terminal in the place of standard output and standard error."""
    found = Screen(columns, encoding)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", found.out)
        patch.setattr("sys.stderr", found.err)
        try:
            yield found
        finally:
            found.close()
