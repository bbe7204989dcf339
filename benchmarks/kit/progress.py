"""A line that says what the suite is at; on a terminal it moves."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TextIO


class Progress:
    """Shows one entry's progress.

    Args:
        what: The entry, and which of how many it is.
        last: How many seconds it took the last time, if that is known.
        began: When the suite began, by `monotonic`.
        out: Where to show it.
    """

    def __init__(
        self, what: str, last: float | None, began: float, out: TextIO | None = None
    ) -> None:
        self._what = what
        self._last = "" if last is None else f" (last time {clock(last)})"
        self._began = began
        self._start = monotonic()
        self._out = out or sys.stdout
        self._moves = self._out.isatty()
        if not self._moves:
            self._say(f"{what}{self._last}\n")

    def note(self, text: str) -> None:
        """Says why the entry does not begin yet."""
        self._show(text) if self._moves else self._say(f"  {text}\n")

    def tick(self) -> None:
        """Shows the time, while the entry runs."""
        if self._moves:
            now = monotonic()
            self._show(f"{clock(now - self._start)}{self._last}; {clock(now - self._began)} in all")

    def end(self, outcome: str) -> None:
        """Says how the entry ended."""
        first, _, rest = outcome.partition("\n")
        text = f"{first} after {clock(monotonic() - self._start)}\n{rest}".rstrip() + "\n"
        self._show(text) if self._moves else self._say(f"  {text}")

    def _show(self, text: str) -> None:
        self._say(f"\r\033[K{self._what}  {text}")

    def _say(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def clock(seconds: float) -> str:
    """Seconds as minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
