"""What a worker has to know about the epoch it works on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from penstock.checkpoint.epoch_record import RowNames, SubtaskId
from penstock.checkpoint.handles import StateHandle
from penstock.checkpoint.leftovers import PREPARED, STATE, file_name
from penstock.checkpoint.storage import Storage, open_storage
from penstock.runtime.planned.planned_source import Piece
from penstock.runtime.progress import SubtaskProgress

SHARED: Final = -1
"""Stands where a subtask's index stands, for what all tasks of a source have in common."""


@dataclass(frozen=True)
class Epoch:
    """What a worker has to know about the epoch it works on.

    Attributes:
        job_id: Tells the runs of jobs apart.
        number: The number of the epoch, from 0.
        lineage: Names the history that the epoch belongs to; see `EpochRecord`.
        generation: The number of the driver among those that ran the job, from 1.
        attempt: How often this epoch was tried before.
        finishing: The sources whose last records are in this epoch.
        finished: The sources that ended in an earlier epoch.
        reads: Which epoch of its own each bounded source gives, by the number of the source; where nothing
            is said, that of the job.
        planned: What is read of each source whose reading the driver plans, by the number of the source.
        is_last: True if no epoch follows, so that no state need be kept.
        ends: True if sources only end in this epoch, and read nothing, since the job is to be stopped.
        settles: True if it waits for calls however long they take, since none follows in this run.
        location: Where the job's checkpoints are, which all workers reach; None if it needs none.
        keeps_state: Whether another start of the job can go on from its state.
        may_fold: Whether changelogs may be folded into snapshots in this epoch.
        state: For each subtask with state, the files it is made of, oldest first.
        progress: How far each subtask has come.
        pieces: Copies of files that sinks go on with, by what they call them; see `EpochRecord`.
        old_rows: The names of rows among keys of an earlier version; see `EpochRecord`.
    """

    job_id: str
    number: int = 0
    lineage: str = ""
    generation: int = 1
    attempt: int = 0
    finishing: frozenset[int] = frozenset()
    finished: frozenset[int] = frozenset()
    reads: Mapping[int, int] = field(default_factory=dict)
    planned: Mapping[int, tuple[Piece, ...]] = field(default_factory=dict)
    is_last: bool = False
    ends: bool = False
    settles: bool = False
    location: str | None = None
    keeps_state: bool = True
    may_fold: bool = True
    state: Mapping[SubtaskId, tuple[StateHandle, ...]] = field(default_factory=dict)
    progress: Mapping[SubtaskId, SubtaskProgress] = field(default_factory=dict)
    pieces: Mapping[str, StateHandle] = field(default_factory=dict)
    old_rows: frozenset[RowNames] | None = frozenset()

    @property
    def asks_for_rows(self) -> bool:
        """Whether the driver has to hear of rows among keys."""
        return self.old_rows is None or bool(self.old_rows)

    def own_epoch(self, source: int | None) -> int:
        """Return which epoch of its own a source gives."""
        return self.number if source is None else self.reads.get(source, self.number)

    @property
    def storage(self) -> Storage:
        """Where the job's checkpoints are kept."""
        if self.location is None:
            raise ValueError("The job has no place for checkpoints.")
        return _storage_at(self.location)

    @property
    def state_storage(self) -> Storage:
        """Where state is kept with them: if it ends with the job, nothing waits for the disk."""
        if self.location is None:
            raise ValueError("The job has no place for checkpoints.")
        return _storage_at(self.location, is_durable=self.keeps_state)

    def state_name(self, subtask: str) -> str:
        """Return what the names of a subtask's state files begin with in this epoch."""
        return f"{STATE}/{subtask}/{self.number:08d}-{self.generation:08d}"

    def prepared_name(self, name: str) -> str:
        """Return the name in the job's storage under which a sink may prepare a file.

        No other attempt of the epoch, by whatever process, is given the same.
        """
        return file_name(PREPARED, self.number, self.generation, f"-{name}")


@lru_cache(maxsize=16)
def _storage_at(location: str, *, is_durable: bool = True) -> Storage:
    return open_storage(location, is_durable=is_durable)
