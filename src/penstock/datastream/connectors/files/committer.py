"""The driver's side of a FileSink: gives staged files their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from penstock.checkpoint.open_files import OpenFile
from penstock.datastream.connectors.files.staging import (
    PublishedFile,
    StagedFile,
    Staging,
    file_errors,
)
from penstock.errors import LostEpochError
from penstock.runtime.sinks import CommitContext, Committer, Uncommitted


class FileCommittable(NamedTuple):
    """What a subtask of a FileSink prepared in an epoch.

    Attributes:
        complete: The files that are complete.
        open: Those that will become parts of others; of earlier versions, only their paths.
    """

    complete: list[PublishedFile]
    open: list[StagedFile] | list[str]

    @property
    def open_paths(self) -> set[str]:
        """The paths of the files that will become parts of others."""
        return {file if isinstance(file, str) else file.path for file in self.open}


class FileCommitter(Committer):
    """Publishes files, and deletes what nobody needs: what tasks that were given up have left, and old pieces.

    The pieces of a file that is open are kept as long as the job can be set back to an epoch that goes on with
    them.

    Args:
        base_path: The sink's base path.
    """

    def __init__(self, base_path: str) -> None:
        self._base_path = base_path
        self._needed: set[str] = set()
        self._lineages: set[str] = set()
        self._is_new = True
        self._left_in: int | None = None

    def commit(self, committables: list[FileCommittable], context: CommitContext) -> None:
        """Publish the files that are complete."""
        staging = Staging(self._base_path, context.sink_id, context.lineage)
        complete = [file for committable in committables for file in committable.complete]
        if complete:
            if self._left_in is None:
                self._left_in = context.epoch
            if staging.published_epoch() < context.epoch:
                with file_errors(self._base_path):
                    # What an earlier driver left may have lain there for long.
                    staging.publish(complete, context.epoch, reads_them=self._is_new)

    def clean_up(self, context: CommitContext) -> None:
        """Delete files that no epoch needs which the job can be set back to."""
        needed = {
            path
            for kept in context.kept
            for committable in kept.committables
            for path in committable.open_paths
        }
        lineages = {kept.lineage for kept in context.kept}
        oldest = min((kept.epoch for kept in context.kept), default=context.epoch)
        is_due = self._left_in is not None and self._left_in <= oldest
        if self._is_new or is_due or self._needed - needed:
            Staging(self._base_path, context.sink_id, context.lineage).sweep(oldest, needed)
            # What later epochs have left has to wait until none is kept that is older.
            self._left_in = None if oldest == context.epoch else context.epoch
            self._is_new = False
        for lineage in self._lineages - lineages:
            Staging(self._base_path, context.sink_id, lineage).remove()
        self._needed, self._lineages = needed, lineages

    def drop(self, uncommitted: Uncommitted) -> None:
        """Delete pieces and files that no epoch has: of drivers that were killed before they committed."""
        staging = Staging(self._base_path, uncommitted.sink_id, uncommitted.lineage)
        if uncommitted.is_over:
            staging.remove()
            return
        if (published := staging.published_epoch()) > uncommitted.after:
            raise LostEpochError.after(
                uncommitted.after, published, self._base_path, "its FileSink has published so much"
            )
        staging.drop(uncommitted.after, uncommitted.generation)

    def open_files(self, committables: list[FileCommittable]) -> Mapping[str, OpenFile]:
        """Return the pieces of the files that are open."""
        staging = Staging(self._base_path, "", "")
        return {
            file.path: staging.open_file(file)
            for committable in committables
            for file in committable.open
            if isinstance(file, StagedFile)
        }
