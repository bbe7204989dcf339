"""Where in a job something happens: what a line of the log is told apart by."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final


@dataclass
class TaskPlace:
    """Where in a job something happens.

    Attributes:
        job_id: Tells the runs of jobs apart; None where that is not known.
        operator: The name of the operator; that of the chain where more is not known, None where that is not.
        subtask: The index of its subtask, from 0; None where that is not known.
        parallelism: How many subtasks it has.
        epoch: The number of the epoch; None before the first.
    """

    job_id: str | None
    operator: str | None
    subtask: int | None = None
    parallelism: int = 1
    epoch: int | None = None

    def copied(self) -> TaskPlace:
        """Return the same place, which stays so: that of an operator changes with the epoch."""
        return TaskPlace(self.job_id, self.operator, self.subtask, self.parallelism, self.epoch)

    def __str__(self) -> str:
        """Return it as users read it, as in `Map (1/4), epoch 3`."""
        subtask = "" if self.subtask is None else f" ({self.subtask + 1}/{self.parallelism})"
        epoch = "" if self.epoch is None else f", epoch {self.epoch}"
        return f"{self.operator or 'a task'}{subtask}{epoch}"


_PLACE: Final[ContextVar[TaskPlace | None]] = ContextVar("penstock-place", default=None)


def place_in_context() -> TaskPlace | None:
    """Return whom the running context works for, where that was said: on event loops, and in their threads."""
    return _PLACE.get()


@contextlib.contextmanager
def working_for(place: TaskPlace) -> Iterator[None]:
    """Let what is begun in here, and its context copied, work for an operator: see `place_in_context`."""
    token = _PLACE.set(place)
    try:
        yield
    finally:
        _PLACE.reset(token)
