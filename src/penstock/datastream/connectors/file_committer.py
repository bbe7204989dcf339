"""The driver's side of a FileSink: gives staged files their names."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from penstock.datastream.connectors.file_staging import PublishedFile, Staging, file_errors
from penstock.runtime.sinks import CommitContext, Committer

_RETAINED: Final = 3
"""For how many epochs files are kept that were open in them: a job may be set back to one of those."""


class FileCommittable(NamedTuple):
    """What a subtask of a FileSink prepared in an epoch.

    Attributes:
        complete: The files that are complete.
        open: The paths of those that will become parts of others.
    """

    complete: list[PublishedFile]
    open: list[str]


class FileCommitter(Committer):
    """Publishes files, and deletes what tasks that were given up have left.

    Args:
        base_path: The sink's base path.
    """

    def __init__(self, base_path: str) -> None:
        self._base_path = base_path
        self._open: set[str] = set()
        self._needed: deque[tuple[int, set[str]]] = deque(maxlen=_RETAINED)
        self._has_leftovers = True

    def commit(self, committables: list[FileCommittable], context: CommitContext) -> None:
        """Publish the files that are complete."""
        staging = Staging(self._base_path, context.sink_id, context.lineage)
        complete = [file for committable in committables for file in committable.complete]
        self._open = {path for committable in committables for path in committable.open}
        if complete:
            self._has_leftovers = True
            if staging.published_epoch() < context.epoch:
                with file_errors(self._base_path):
                    staging.publish(complete, context.epoch)

    def clean_up(self, context: CommitContext) -> None:
        """Delete files that are no part of anything; of a job that has ended, all."""
        staging = Staging(self._base_path, context.sink_id, context.lineage)
        now, self._open = (context.epoch, self._open), set()
        if self._needed and self._needed[-1][0] >= context.epoch:
            self._needed.clear()
        self._needed.append(now)
        if context.is_last:
            staging.sweep(context.epoch, set())
        elif self._has_leftovers and len(self._needed) == _RETAINED:
            staging.sweep(self._needed[0][0], set().union(*(paths for _, paths in self._needed)))
            self._has_leftovers = False
