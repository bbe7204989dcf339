"""The tasks' side of a FileSink: writes files into the sink's hidden folder."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, BinaryIO, ClassVar, Final, Protocol

from penstock.checkpoint.open_files import chunks_of
from penstock.common.serialization import BulkWriter, BulkWriterFactory, Encoder
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.connectors.files.committer import FileCommittable
from penstock.datastream.connectors.files.compaction import FileCompactor, FileCompactStrategy
from penstock.datastream.connectors.files.policies import (
    BucketAssigner,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from penstock.datastream.connectors.files.staging import (
    PublishedFile,
    StagedFile,
    Staging,
    file_errors,
    gone,
    unwritable,
    visible_name,
)
from penstock.errors import InvalidArgumentError
from penstock.runtime.objects.mutability import copied_if_possible
from penstock.runtime.sinks import SinkWriter, WriterContext

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.ESTALE)
"""What a file may answer to a write; other errors come from whoever made the bytes."""
_POLICIES: Final = BucketAssigner.__module__
_FOLDED: Final = 8
"""How many pieces of a file become one."""
_LARGE: Final = 1 << 28
"""Pieces that have more bytes together stay as they are."""


class FileFormat(Protocol):
    """Makes the writer of a file, or of the next piece of one."""

    @property
    def has_pieces(self) -> bool:
        """Whether a file may go on where it ended before."""

    @property
    def keeps_records(self) -> bool:
        """Whether a writer may still need a record when it is given the next."""

    def of_type(self, type_info: TypeInformation | None) -> FileFormat:
        """Return the format for records of a declared type; None for none."""

    @property
    def is_whole(self) -> bool:
        """Whether two files, one behind the other, are none."""

    def begin(self, file: BinaryIO, *, is_first: bool) -> BulkWriter:
        """Return the writer for a piece of a file; `is_first` if the file begins with it."""


@dataclass(frozen=True)
class RowFiles:
    """Files whose records are encoded one by one."""

    encoder: Encoder
    has_pieces: ClassVar[bool] = True
    keeps_records: ClassVar[bool] = False

    @property
    def is_whole(self) -> bool:
        """See `FileFormat.is_whole`."""
        return bool(self.encoder.header())

    def of_type(self, type_info: TypeInformation | None) -> RowFiles:
        """See `FileFormat.of_type`."""
        return RowFiles(self.encoder.of_type(type_info))

    def begin(self, file: BinaryIO, *, is_first: bool) -> BulkWriter:
        """See `FileFormat.begin`."""
        if is_first:
            file.write(self.encoder.header())
        return _RowWriter(file, self.encoder)


class _RowWriter(BulkWriter):
    def __init__(self, file: BinaryIO, encoder: Encoder) -> None:
        self._write = file.write
        self._encode = encoder.encode

    def add_element(self, element: Any) -> None:
        self._write(self._encode(element))

    def finish(self) -> None:
        """Nothing: each record is complete."""


@dataclass(frozen=True)
class BulkFiles:
    """Files that are written as a whole, so within one epoch."""

    factory: BulkWriterFactory
    has_pieces: ClassVar[bool] = False
    keeps_records: ClassVar[bool] = True

    @property
    def is_whole(self) -> bool:
        """See `FileFormat.is_whole`."""
        return self.factory.is_whole

    def of_type(self, type_info: TypeInformation | None) -> BulkFiles:
        """See `FileFormat.of_type`: what makes its writers knows the type."""
        return self

    def begin(self, file: BinaryIO, *, is_first: bool) -> BulkWriter:
        """See `FileFormat.begin`."""
        assert is_first
        return self.factory.create(file)


class _Piece:
    """A file of the hidden folder, while it is written.

    Args:
        staging: The folder.
        epoch: The number of the epoch.
        subtask: The index of the subtask.
        begin: Makes the writer of its content.
    """

    def __init__(
        self, staging: Staging, epoch: int, subtask: int, begin: Callable[[BinaryIO], BulkWriter]
    ) -> None:
        self._path, absolute = staging.new_path(epoch, subtask)
        self._file = open(absolute, "xb")  # noqa: SIM115 - it stays open until the epoch ends
        try:
            self._writer = begin(self._file)
        except BaseException:
            self._file.close()
            raise
        self.add = self._writer.add_element

    @property
    def size(self) -> int:
        return self._file.tell()

    def complete(self) -> StagedFile:
        """Make what was written durable."""
        try:
            self._writer.finish()
            self._file.flush()
            os.fsync(self._file.fileno())
        except BaseException:
            self.abandon()
            raise
        length = self._file.tell()
        self._file.close()
        # Read again, as a writer may go back in its file; what was just written is in memory.
        checksum = 0
        try:
            for chunk in chunks_of(self._file.name):
                checksum = zlib.crc32(chunk, checksum)
        except FileNotFoundError:
            # Whoever took this one's place has deleted it.
            raise gone(self._file.name) from None
        return StagedFile(self._path, length, checksum=checksum)

    def abandon(self) -> None:
        if self._file.closed:
            return
        # What is given up may fail: a full disk stays full.
        with contextlib.suppress(Exception):
            self._writer.abandon()
        with contextlib.suppress(OSError):
            self._file.close()


@dataclass
class _Part:
    """A file as readers will see it, while it is written: pieces of this epoch and of earlier ones."""

    bucket_id: str
    creation_time: int
    last_update_time: int
    pieces: list[StagedFile] = field(default_factory=list)
    piece: _Piece | None = None

    @property
    def size(self) -> int:
        written = 0 if self.piece is None else self.piece.size
        return written + sum(piece.length for piece in self.pieces)

    def suspend(self) -> None:
        """Complete the piece that is being written."""
        if self.piece is not None:
            self.pieces.append(self.piece.complete())
            self.piece = None

    def to_plain(self) -> list[Any]:
        return [self.bucket_id, self.creation_time, self.last_update_time, self.pieces]

    @classmethod
    def from_plain(cls, plain: list[Any]) -> _Part:
        bucket_id, created, updated, pieces = plain
        return cls(bucket_id, created, updated, [StagedFile(*piece) for piece in pieces])


@dataclass
class _Waiting:
    """The files of a bucket that are to be compacted.

    Attributes:
        epochs: At the ends of how many epochs one of them waited.
        files: The files.
    """

    epochs: int = 0
    files: list[StagedFile] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(file.length for file in self.files)


def _foldable(pieces: list[StagedFile]) -> int | None:
    """Return where the last pieces begin that are to become one; None if there are too few, or they are large."""
    start = len(pieces) - _FOLDED
    if start < 0 or len({piece.level for piece in pieces[start:]}) > 1:
        return None
    return start if sum(piece.length for piece in pieces[start:]) <= _LARGE else None


@dataclass(frozen=True)
class FileSettings:
    """What a FileSink was built with.

    Attributes:
        base_path: The folder, absolute.
        format: How records become bytes.
        assigner: Chooses the folder of a record.
        policy: Says when a file is complete.
        names: How files are named.
        check_interval: After how long without records policies are asked, in milliseconds.
        strategy: When files are compacted; None for never.
        compactor: How they are.
    """

    base_path: str
    format: FileFormat
    assigner: BucketAssigner
    policy: RollingPolicy
    names: OutputFileConfig
    check_interval: int
    strategy: FileCompactStrategy | None = None
    compactor: FileCompactor | None = None

    @property
    def leaves_something_open(self) -> bool:
        """Whether an epoch may leave files that are not complete, or not compacted."""
        return self.strategy is not None or not isinstance(self.policy, OnCheckpointRollingPolicy)

    @property
    def may_change_kept(self) -> bool:
        """Whether the program's own assigner or policy could change a record that a writer still needs."""
        is_own = any(type(one).__module__ != _POLICIES for one in (self.assigner, self.policy))
        return is_own and self.format.keeps_records


class FileWriter(SinkWriter):
    """Writes the records of one subtask.

    A file that is not complete at the end of an epoch stands in the hidden folder in pieces, one for
    each epoch: so no process appends to what another wrote. When it is complete they are joined.

    Args:
        settings: What the sink was built with.
        context: Tells subtask, epoch and times.
    """

    def __init__(self, settings: FileSettings, context: WriterContext) -> None:
        self._settings = settings
        self._context = context
        self._subtask = context.runtime.subtask
        self._assign = settings.assigner.get_bucket_id
        self._should_roll = settings.policy.should_roll_on_event
        self._copies = settings.may_change_kept
        self._now = context.current_processing_time
        self._timestamp: int | None = None
        self._parts: dict[str, _Part] = {}
        # What is complete and is to be compacted, by bucket.
        self._waiting: dict[str, _Waiting] = {}
        # Parts that nothing is added to any more.
        self._closed: list[_Part] = []
        self._complete: list[PublishedFile] = []
        self._has_ended = False

    def timestamp(self) -> int | None:
        """See `BucketContext.timestamp`."""
        return self._timestamp

    def current_watermark(self) -> int:
        """See `BucketContext.current_watermark`."""
        return self._context.watermark

    def current_processing_time(self) -> int:
        """See `BucketContext.current_processing_time`."""
        return self._now()

    def restore(self, snapshots: list[bytes]) -> None:
        """Take up parts that are not complete."""
        for snapshot in snapshots:
            for plain in json.loads(snapshot):
                if isinstance(plain, dict):
                    self._restore_waiting(plain)
                    continue
                part = _Part.from_plain(plain)
                # Two former subtasks may have written to one bucket; and the format may have been another.
                is_taken = self._parts.get(part.bucket_id) is not None
                if is_taken or not self._settings.format.has_pieces:
                    self._closed.append(part)
                else:
                    self._parts[part.bucket_id] = part

    def _restore_waiting(self, plain: dict[str, Any]) -> None:
        waiting = self._waiting.setdefault(plain["bucket"], _Waiting())
        waiting.epochs = max(waiting.epochs, plain["epochs"])
        waiting.files += [StagedFile(*file) for file in plain["files"]]

    def snapshot(self) -> bytes | None:
        """Return the parts that are not complete, and what is to be compacted."""
        plain: list[Any] = [part.to_plain() for part in self._parts.values()]
        plain += [
            {"bucket": bucket, "epochs": waiting.epochs, "files": waiting.files}
            for bucket, waiting in self._waiting.items()
        ]
        return json.dumps(plain).encode() if plain else None

    def write(self, value: Any, timestamp: int | None) -> None:
        """Write a record into the part of its bucket."""
        self._timestamp = timestamp
        bucket = self._assign(value, self)
        part = self._parts.get(bucket)
        if part is not None and self._should_roll(part, value):
            with file_errors(self._settings.base_path):
                self._roll(self._parts.pop(bucket))
            part = None
        now = self._now()
        if part is None:
            part = self._parts[bucket] = _Part(self._checked(bucket), now, now)
        if part.piece is None:
            part.piece = self._begin_piece(is_first=not part.pieces)
        try:
            part.piece.add(copied_if_possible(value) if self._copies else value)
        except OSError as error:
            if error.errno in _FULL:
                raise unwritable(error, self._settings.base_path) from error
            raise
        part.last_update_time = now

    def _begin_piece(self, *, is_first: bool) -> _Piece:
        def begin(file: BinaryIO) -> BulkWriter:
            return self._settings.format.begin(file, is_first=is_first)

        with file_errors(self._settings.base_path):
            return _Piece(self._staging, self._context.epoch, self._subtask, begin)

    @property
    def _staging(self) -> Staging:
        context = self._context
        return Staging(
            self._settings.base_path, context.sink_id, context.lineage, context.generation
        )

    def _checked(self, bucket: str) -> str:
        parts = bucket.split("/") if isinstance(bucket, str) else ["."]
        if bucket != "" and not all(part and not part.startswith(".") for part in parts):
            raise InvalidArgumentError(
                f"A record of {self._context.name!r} cannot go into the folder {bucket!r}.",
                hint="Let get_bucket_id return a path below the base path, as 'year=2024/month=5', "
                "without names that begin with a dot.",
            )
        return bucket

    def _roll(self, part: _Part) -> None:
        """Complete a part: its file is published when the epoch is committed, or compacted before."""
        part.suspend()
        epoch, staging = self._context.epoch, self._staging
        whole = part.pieces[0]
        if len(part.pieces) > 1 or not staging.is_of_epoch(whole.path, epoch):
            # What earlier epochs wrote stays where it is: the job may be set back to one of them.
            whole = staging.join(part.pieces, epoch, self._subtask, self._context.copy_of)
        if self._settings.strategy is None:
            self._publish(part.bucket_id, whole)
        else:
            self._waiting.setdefault(part.bucket_id, _Waiting()).files.append(whole)

    def _publish(self, bucket: str, file: StagedFile, before: str = "") -> None:
        names = self._settings.names
        prefix, suffix = f"{before}{names.get_part_prefix()}", names.get_part_suffix()
        name = f"{prefix}-{visible_name(file.path)}{suffix}"
        self._complete.append(PublishedFile(file, f"{bucket}/{name}" if bucket else name))

    def _compact(self) -> None:
        """Compact what is due, and have the rest wait in files of this history."""
        strategy, staging = self._settings.strategy, self._staging
        for bucket, waiting in list(self._waiting.items()):
            waiting.epochs += 1
            if strategy is None or self._has_ended or strategy.is_due(waiting.epochs, waiting.size):
                del self._waiting[bucket]
                before = "" if strategy is None else "compacted-"
                for file in self._compacted(waiting.files):
                    self._publish(bucket, file, before)
                continue
            waiting.files = [
                file if staging.is_own(file.path) else self._joined([file])
                for file in waiting.files
            ]
            if self._joins:
                while (place := _foldable(waiting.files)) is not None:
                    waiting.files[place:] = [self._joined(waiting.files[place:])]

    def _compacted(self, files: list[StagedFile]) -> list[StagedFile]:
        """Return what becomes of files that wait: files of this epoch."""
        epoch, staging = self._context.epoch, self._staging
        if self._joins and len(files) > 1:
            return [self._joined(files)]
        return [
            file if staging.is_of_epoch(file.path, epoch) else self._joined([file])
            for file in files
        ]

    @property
    def _joins(self) -> bool:
        compactor = self._settings.compactor
        return compactor is not None and compactor.joins

    def _joined(self, files: list[StagedFile]) -> StagedFile:
        compactor, context = self._settings.compactor, self._context
        delimiter = b"" if compactor is None else compactor.delimiter
        return self._staging.join(files, context.epoch, self._subtask, context.copy_of, delimiter)

    def end_input(self) -> None:
        """Complete all parts with this epoch."""
        self._has_ended = True

    def prepare_commit(self) -> list[FileCommittable]:
        """Make durable what was written."""
        with file_errors(self._settings.base_path):
            return self._prepare(self._now())

    def _prepare(self, now: int) -> list[FileCommittable]:
        for bucket, part in list(self._parts.items()):
            if self._is_complete(part, now):
                self._roll(self._parts.pop(bucket))
            else:
                part.suspend()
                self._fold(part)
        while self._closed:
            self._roll(self._closed.pop())
        self._compact()
        complete, self._complete = self._complete, []
        pieces = [piece for part in self._parts.values() for piece in part.pieces]
        pieces += [file for waiting in self._waiting.values() for file in waiting.files]
        if not complete and not pieces:
            return []
        self._staging.sync()
        return [FileCommittable(complete, pieces)]

    def _fold(self, part: _Part) -> None:
        """Join pieces of a part, so that there are never many, and none of another history.

        As many as there are at a time of one level become one of the next: of a long file each record is
        written as often as the number of its pieces has digits.
        """
        staging = self._staging
        if not all(staging.is_own(piece.path) for piece in part.pieces):
            self._join(part, 0)
            return
        while (place := _foldable(part.pieces)) is not None:
            self._join(part, place)

    def _join(self, part: _Part, start: int) -> None:
        pieces = part.pieces[start:]
        joined = self._staging.join(
            pieces, self._context.epoch, self._subtask, self._context.copy_of
        )
        part.pieces[start:] = [joined]

    def _is_complete(self, part: _Part, now: int) -> bool:
        policy = self._settings.policy
        return (
            self._has_ended
            or policy.should_roll_on_checkpoint(part)
            or policy.should_roll_on_processing_time(part, now)
        )

    def next_wake_up(self) -> int | None:
        """Return when policies are to be asked again."""
        is_open = self._parts or self._waiting
        return self._now() + self._settings.check_interval if is_open else None

    def close(self) -> None:
        """Give up what was not prepared."""
        for part in self._parts.values():
            if part.piece is not None:
                part.piece.abandon()
