"""The records of a cached stream as files: one job writes them, later ones read them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any, Final

from penstock.checkpoint.storage import open_storage
from penstock.datastream.connectors.two_phase_commit import TwoPhaseCommitSink
from penstock.errors import SourceNotReadableError
from penstock.runtime.exchange.elements import Block
from penstock.runtime.job_pickle import dumps, loads
from penstock.runtime.sinks import CommitContext, Committer, SinkWriter, WriterContext
from penstock.runtime.source import NativeSource

_RECORDS: Final = 1 << 14
"""The most records of a file."""
_COMMITTED: Final = "epochs"

CachedFile = tuple[int, str]
"""The index of the subtask that wrote a file, and the file's name."""


class CacheSink(TwoPhaseCommitSink):
    """Keeps records with their timestamps, those of each subtask in their order.

    Args:
        location: Where: a folder or place in an object store that has nothing else.
    """

    def __init__(self, location: str) -> None:
        self.location = location

    def create_writer(self, context: WriterContext) -> SinkWriter:
        """See `TwoPhaseCommitSink.create_writer`."""
        return _CacheWriter(self.location, context)

    def create_committer(self) -> Committer:
        """See `TwoPhaseCommitSink.create_committer`."""
        return _CacheCommitter(self.location)


class _CacheWriter(SinkWriter):
    def __init__(self, location: str, context: WriterContext) -> None:
        self._storage = open_storage(location, is_durable=False)
        self._context = context
        self._files: list[CachedFile] = []
        self._begin()

    def _begin(self) -> None:
        self._values: list[Any] = []
        self._timestamps: list[int | None] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        self._values.append(value)
        self._timestamps.append(timestamp)
        if len(self._values) == _RECORDS:
            self._write_file()

    def _write_file(self) -> None:
        subtask = self._context.runtime.subtask
        name = f"records/{subtask}-{self._context.epoch}-{uuid.uuid4().hex}"
        self._storage.write(name, [dumps((self._values, self._timestamps))])
        self._files.append((subtask, name))
        self._begin()

    def prepare_commit(self) -> list[CachedFile]:
        if self._values:
            self._write_file()
        files, self._files = self._files, []
        return files


class _CacheCommitter(Committer):
    def __init__(self, location: str) -> None:
        self._storage = open_storage(location, is_durable=False)

    def commit(self, committables: list[CachedFile], context: CommitContext) -> None:
        listed = json.dumps(committables).encode()
        self._storage.write(f"{_COMMITTED}/{context.epoch:010}", [listed])


def committed_files(location: str) -> list[CachedFile]:
    """Return the files that a job has committed at a location, in the order of epochs."""
    storage = open_storage(location)
    return [
        (subtask, name)
        for epoch in storage.names(_COMMITTED)
        for subtask, name in json.loads(storage.read(epoch))
    ]


def are_there(location: str, files: list[CachedFile]) -> bool:
    """Whether all these files are at a location."""
    return {name for _, name in files} <= set(open_storage(location).names())


class CachedRecords(NativeSource):
    """What a `CacheSink` kept: what one subtask wrote is read by one subtask, in its order.

    Args:
        location: Where it is.
        files: The files.
    """

    def __init__(self, location: str, files: list[CachedFile]) -> None:
        self._location = location
        self._files = files

    def read(self, epoch: int, subtask: int, parallelism: int) -> Iterator[Block]:
        """See `NativeSource.read`.

        Raises:
            SourceNotReadableError: If a file is gone.
        """
        if epoch > 0:
            return
        storage = open_storage(self._location)
        for writer, name in self._files:
            if writer % parallelism == subtask:
                try:
                    data = storage.read(name)
                except FileNotFoundError as error:
                    raise SourceNotReadableError(
                        f"The records of a cached stream are gone: {storage.url(name)!r}.",
                        hint="Every worker has to reach execution.checkpointing.dir. Call invalidate() on the cached "
                        "stream to have them computed again.",
                    ) from error
                values, timestamps = loads(data)
                has_timestamps = any(timestamp is not None for timestamp in timestamps)
                yield from Block(values, timestamps if has_timestamps else None).cut()
