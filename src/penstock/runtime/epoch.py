"""What a worker has to know about the epoch it works on."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Final

from penstock.checkpoint.handles import StateHandle
from penstock.runtime.progress import SubtaskProgress

SubtaskId = tuple[int, int]
"""The index of a vertex, and that of one of its subtasks."""

SHARED: Final = -1
"""Stands where a subtask's index stands, for what all tasks of a source have in common."""


@dataclass(frozen=True)
class Epoch:
    """What a worker has to know about the epoch it works on.

    Attributes:
        job_id: Tells the runs of jobs apart.
        number: The number of the epoch, from 0.
        attempt: How often this epoch was tried before.
        finishing: The sources whose last records are in this epoch.
        finished: The sources that ended in an earlier epoch.
        is_last: True if no epoch follows, so that no state need be kept.
        folder: The job's folder, which all workers reach; None if the job needs none.
        state: For each subtask with state, the files it is made of, oldest first.
        progress: How far each subtask has come.
    """

    job_id: str
    number: int = 0
    attempt: int = 0
    finishing: frozenset[int] = frozenset()
    finished: frozenset[int] = frozenset()
    is_last: bool = False
    folder: str | None = None
    state: dict[SubtaskId, tuple[StateHandle, ...]] = field(default_factory=dict)
    progress: dict[SubtaskId, SubtaskProgress] = field(default_factory=dict)

    def prepared_file(self, name: str) -> str:
        """Return where a sink may prepare a file of that name in this attempt of the epoch."""
        if self.folder is None:
            raise ValueError("The job has no folder.")
        folder = os.path.join(self.folder, "prepared", f"{self.number:08d}-{self.attempt}")
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, f"{os.getpid()}-{name}")
