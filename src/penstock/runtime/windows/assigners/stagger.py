"""Staggered windows: not every subtask ends its windows at the same moment."""

from __future__ import annotations

import random
from enum import Enum

from penstock.runtime.context import RuntimeContext
from penstock.runtime.keys.window_values import TimeWindow


class WindowStagger(Enum):
    """How much later than elsewhere the tumbling windows of a subtask start."""

    ALIGNED = "aligned"
    """Not at all: windows start at the same times in all subtasks."""
    RANDOM = "random"
    """By a random part of their size, which is always the same for a subtask of an operator."""
    NATURAL = "natural"
    """By how far into its window the clock was when the subtask got its first record."""

    def get_stagger_offset(self, current_processing_time: int, size: int, task: str = "") -> int:
        """Return by how much later the windows of a subtask start.

        Args:
            current_processing_time: The time of the clock in milliseconds.
            size: The size of the windows in milliseconds.
            task: Names the subtask, for `RANDOM`.

        Returns:
            Milliseconds, from 0 to less than the size.

        Example:
            >>> WindowStagger.NATURAL.get_stagger_offset(1_003, 10)
            3
        """
        if self is WindowStagger.RANDOM:
            return random.Random(task).randrange(size)
        if self is WindowStagger.NATURAL:
            start = TimeWindow.get_window_start_with_offset(current_processing_time, 0, size)
            return current_processing_time - start
        return 0


def task_key(context: RuntimeContext) -> str:
    """Return what names a subtask, alike in each attempt and epoch."""
    return f"{context.get_task_name()}/{context.get_index_of_this_subtask()}"
