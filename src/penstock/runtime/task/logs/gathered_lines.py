"""The lines of one subtask and epoch: of many the first and the last, and how many were in between."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Sequence
from typing import Final

from penstock.runtime.task.logs.log_line import LogLine, WaitingLine

_MOST_CHARACTERS: Final = 1_000_000
_SHARE_OF_LAST: Final = 10


class GatheredLines:
    """Lines of the log, as many as are wanted.

    Of more of them the first are kept, and a tenth for the last ones: those tell most of a failure.

    Args:
        most: How many.
        most_characters: How many characters the first of them may have together.
    """

    def __init__(self, most: int, most_characters: int = _MOST_CHARACTERS) -> None:
        self._most_first = most - most // _SHARE_OF_LAST
        self._most_characters = most_characters
        self._first: list[LogLine] = []
        self._last: deque[LogLine | WaitingLine] = deque()
        self._most_last = most // _SHARE_OF_LAST
        self._characters = 0
        self._left_out: dict[str, tuple[int, LogLine | WaitingLine]] = {}

    @property
    def takes_first(self) -> bool:
        """Whether the next line is one of the first, which are all kept."""
        has_room = len(self._first) < self._most_first and self._characters < self._most_characters
        return has_room and not self._last and not self._left_out

    def add(self, line: LogLine | WaitingLine) -> None:
        """Add a line."""
        if self.takes_first:
            made = line.made()
            self._first.append(made)
            self._characters += made.size
            return
        self._last.append(line)
        if len(self._last) > self._most_last:
            self._leave_out(self._last.popleft())

    def _leave_out(self, line: LogLine | WaitingLine) -> None:
        count, worst = self._left_out.get(line.logger, (0, line))
        self._left_out[line.logger] = count + 1, max(worst, line, key=lambda found: found.level)

    def all(self) -> list[LogLine]:
        """Return the lines, and how many were left out of each logger."""
        last = [line.made() for line in self._last]
        counted = [self._counted(*found, last) for found in self._left_out.values()]
        return [*self._first, *counted, *last]

    def _counted(
        self, count: int, waiting: LogLine | WaitingLine, last: Sequence[LogLine]
    ) -> LogLine:
        """Return a line that stands for those that were left out: with the level of the worst of them."""
        worst = waiting.made()
        text = f"… and {count:,} more line{'s' * (count > 1)} of the logger {worst.logger!r}"
        created = last[0].created if last else worst.created
        return dataclasses.replace(
            worst,
            attributes={
                **worst.attributes,
                "msg": text,
                "args": None,
                "exc_text": None,
                "stack_info": None,
                "created": created,
            },
            warning=None,
        )
