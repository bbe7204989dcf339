"""The lines of one subtask and epoch: of many the first and the last, and how many were in between."""

from __future__ import annotations

import dataclasses
from collections import deque
from typing import Final

from penstock.runtime.task.logs.log_line import LogLine

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
        self._last: deque[LogLine] = deque()
        self._most_last = most // _SHARE_OF_LAST
        self._characters = 0
        self._left_out: dict[str, tuple[int, LogLine]] = {}

    def add(self, line: LogLine) -> None:
        """Add a line."""
        has_room = len(self._first) < self._most_first and self._characters < self._most_characters
        if has_room and not self._last and not self._left_out:
            self._first.append(line)
            self._characters += line.size
            return
        self._last.append(line)
        if len(self._last) > self._most_last:
            self._leave_out(self._last.popleft())

    def _leave_out(self, line: LogLine) -> None:
        count, worst = self._left_out.get(line.logger, (0, line))
        self._left_out[line.logger] = count + 1, max(worst, line, key=lambda found: found.level)

    def all(self) -> list[LogLine]:
        """Return the lines, and how many were left out of each logger."""
        return [*self._first, *map(self._counted, self._left_out.values()), *self._last]

    def _counted(self, found: tuple[int, LogLine]) -> LogLine:
        """Return a line that stands for those that were left out: with the level of the worst of them."""
        count, worst = found
        text = f"… and {count:,} more line{'s' * (count > 1)} of the logger {worst.logger!r}"
        created = self._last[0].created if self._last else worst.created
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
