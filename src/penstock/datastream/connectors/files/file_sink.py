"""A sink that writes files, each record into one of them once."""

from __future__ import annotations

import os
from typing import Any, Self

from penstock.common.serialization import BulkWriterFactory, Encoder
from penstock.datastream.connectors.files.committer import FileCommitter
from penstock.datastream.connectors.files.policies import (
    BucketAssigner,
    BucketContext,
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    PartFileInfo,
    RollingPolicy,
)
from penstock.datastream.connectors.files.writer import (
    BulkFormat,
    FileFormat,
    FileSettings,
    FileWriter,
    RowFormat,
)
from penstock.datastream.connectors.two_phase_commit import TwoPhaseCommitSink
from penstock.errors import InvalidArgumentError, UnsupportedOperationError
from penstock.runtime.sinks import WriterContext

__all__ = [
    "BucketAssigner",
    "BucketContext",
    "DefaultRollingPolicy",
    "FileSink",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "PartFileInfo",
    "RollingPolicy",
]


class FileSink(TwoPhaseCommitSink):
    r"""Writes records to files in a folder that all workers and the driver reach under one path.

    Exactly once: each record is in one of the visible files, once, whatever dies at whatever moment.
    `tests/datastream/connectors/files/test_file_exactly_once.py` proves it.

    The base path has a folder for each bucket, and a bucket has files, which one subtask each has
    written. A file is not seen until it is complete, and then as a whole: with row formats
    when the rolling policy says so or the input ends, with bulk formats at the end of each epoch. Until
    then its records stand in the hidden folder `.penstock` below the base path, which Spark and others
    do not read. What is left there by a job that was given up for good can be deleted.

    A job that is set back to an earlier epoch or begins from a savepoint writes again what came after
    it; files that are visible stay.

    Built with `for_row_format` or `for_bulk_format`.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> from penstock.testing import local_environment
        >>> folder = mkdtemp()
        >>> sink = (
        ...     FileSink.for_row_format(folder, Encoder.json_lines())
        ...     .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        ...     .build()
        ... )
        >>> env = local_environment()
        >>> end = env.from_collection([{"id": 1}, {"id": 2}]).sink_to(sink)
        >>> result = env.execute()
        >>> [file.read_text() for file in Path(folder).glob("part-*")]
        ['{"id": 1}\n{"id": 2}\n']
    """

    class _Builder:
        """What the builders of both formats have in common."""

        def __init__(self, base_path: str, format: FileFormat, policy: RollingPolicy) -> None:
            self._base_path = _local(base_path)
            self._format = format
            self._policy = policy
            self._assigner = BucketAssigner.date_time_bucket_assigner()
            self._names = OutputFileConfig.builder().build()
            self._interval = 60_000

        def with_bucket_check_interval(self, interval: int) -> Self:
            """Set after how long without records the rolling policy is asked about time.

            With records it is asked at the end of each epoch.

            Args:
                interval: Milliseconds. Default: 60,000.

            Raises:
                InvalidArgumentError: If it is below 1.
            """
            if not isinstance(interval, int) or interval < 1:
                raise InvalidArgumentError(
                    f"{interval!r} is no interval.", hint="Give milliseconds, from 1 on."
                )
            self._interval = interval
            return self

        def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> Self:
            """Set what chooses the folder of a record. Default: one for each hour of processing time."""
            self._assigner = _instance(bucket_assigner, BucketAssigner, "with_bucket_assigner")
            return self

        def with_output_file_config(self, output_file_config: OutputFileConfig) -> Self:
            """Set how files are named. Default: they begin with "part"."""
            self._names = _instance(output_file_config, OutputFileConfig, "with_output_file_config")
            return self

        def build(self) -> FileSink:
            """Return the sink."""
            return FileSink(
                FileSettings(
                    self._base_path,
                    self._format,
                    self._assigner,
                    self._policy,
                    self._names,
                    self._interval,
                )
            )

    class RowFormatBuilder(_Builder):
        """Builds a FileSink of a row format."""

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
            """Set when a file is complete. Default: `RollingPolicy.default_rolling_policy()`."""
            self._policy = _instance(rolling_policy, RollingPolicy, "with_rolling_policy")
            return self

    class BulkFormatBuilder(_Builder):
        """Builds a FileSink of a bulk format."""

        def with_rolling_policy(self, rolling_policy: OnCheckpointRollingPolicy) -> Self:
            """Set the only policy there is for bulk formats, which is the default."""
            self._policy = _instance(
                rolling_policy, OnCheckpointRollingPolicy, "with_rolling_policy"
            )
            return self

    restores_writer_state = True

    def __init__(self, settings: FileSettings) -> None:
        self._settings = settings
        # A file that one epoch leaves open belongs to a subtask, and time may complete it.
        self.has_writer_state = not isinstance(settings.policy, OnCheckpointRollingPolicy)
        self.wants_wake_ups = self.has_writer_state

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> FileSink.RowFormatBuilder:
        """Build a sink whose files have one record after the other.

        Args:
            base_path: The folder, or its `file://` URL.
            encoder: Makes bytes of each record.

        Raises:
            InvalidArgumentError: If it is no encoder.
            UnsupportedOperationError: If the base path is elsewhere than in a file system.
        """
        encoder = _instance(encoder, Encoder, "for_row_format")
        return FileSink.RowFormatBuilder(
            base_path, RowFormat(encoder), RollingPolicy.default_rolling_policy()
        )

    @staticmethod
    def for_bulk_format(
        base_path: str, writer_factory: BulkWriterFactory
    ) -> FileSink.BulkFormatBuilder:
        """Build a sink whose files are written as a whole, at the end of each epoch.

        Args:
            base_path: The folder, or its `file://` URL.
            writer_factory: Makes the writer of each file, such as
                `penstock.datastream.formats.parquet.ParquetBulkWriters.for_row_type(...)`.

        Raises:
            InvalidArgumentError: If it is no factory.
            UnsupportedOperationError: If the base path is elsewhere than in a file system.
        """
        factory = _instance(writer_factory, BulkWriterFactory, "for_bulk_format")
        return FileSink.BulkFormatBuilder(
            base_path, BulkFormat(factory), RollingPolicy.on_checkpoint_rolling_policy()
        )

    @property
    def place(self) -> str:
        """See `TwoPhaseCommitSink.place`."""
        return self._settings.base_path

    def create_writer(self, context: WriterContext) -> FileWriter:
        """See `TwoPhaseCommitSink.create_writer`."""
        return FileWriter(self._settings, context)

    def create_committer(self) -> FileCommitter:
        """See `TwoPhaseCommitSink.create_committer`."""
        return FileCommitter(self._settings.base_path)


def _local(base_path: str) -> str:
    scheme, separator, rest = base_path.partition("://")
    if separator and scheme != "file":
        raise UnsupportedOperationError(
            f"A FileSink cannot write to {base_path!r}: it gives files their names by renaming them, "
            "which an object store cannot.",
            hint="Write to a file system, or use a SparkSink.",
        )
    path = rest if separator else base_path
    if not path.strip() or path.startswith("~"):
        raise InvalidArgumentError(
            f"{base_path!r} is no folder that a FileSink could write to.",
            hint="Give the whole path of a folder, without ~.",
        )
    return os.path.abspath(path)


def _instance(value: Any, kind: type[Any], method: str) -> Any:
    if not isinstance(value, kind):
        raise InvalidArgumentError(
            f"{method}() was given {value!r}, which is no {kind.__name__}.",
            hint=f"Give an instance of {kind.__name__}.",
        )
    return value
