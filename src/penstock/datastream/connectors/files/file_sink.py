"""A sink that writes files, each record into one of them once."""

from __future__ import annotations

from typing import Self

from penstock.common.serialization import BulkWriterFactory, Encoder
from penstock.datastream.connectors.files.compaction import FileCompactor, FileCompactStrategy
from penstock.datastream.connectors.files.policies import (
    OnCheckpointRollingPolicy,
    RollingPolicy,
)
from penstock.datastream.connectors.files.sink_of_files import (
    SinkOfFiles,
    SinkOfFilesBuilder,
    instance,
)
from penstock.datastream.connectors.files.writer import BulkFiles, RowFiles
from penstock.errors import UnsupportedOperationError

__all__ = ["FileSink"]


class FileSink(SinkOfFiles):
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
        >>> from penstock.common.serialization import Encoder
        >>> from penstock.datastream.connectors.file_system import BucketAssigner, FileSink
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

    class BaseBuilder(SinkOfFilesBuilder):
        """What the builders of both formats have in common."""

        def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> Self:
            """Have files that are complete made larger ones before they are published.

            Those of one bucket that one subtask has written are put together, those of several epochs too. Until
            then nobody sees them. The names of what is published begin with "compacted-".

            Args:
                strategy: When that is done.
                compactor: How.

            Raises:
                InvalidArgumentError: If one of them is something else.
            """
            self._strategy = instance(strategy, FileCompactStrategy, "enable_compact")
            self._compactor = instance(compactor, FileCompactor, "enable_compact")
            return self

        def disable_compact(self) -> Self:
            """Publish files as they were written, which is the default.

            What waits to be compacted since an earlier run is published with the first epoch.
            """
            self._strategy = self._compactor = None
            return self

        def build(self) -> FileSink:
            """Return the sink.

            Raises:
                UnsupportedOperationError: If files are to be put together whose format does not allow it.
            """
            if self._compactor is not None and self._compactor.joins and self._format.is_whole:
                raise UnsupportedOperationError(
                    "Files of Parquet, ORC and Avro, and such that begin with a header, cannot be put one behind the "
                    "other: who reads them would miss records, or find headers among them.",
                    hint="Let files be as they are, FileCompactor.identical_file_compactor(), and fewer by longer "
                    "epochs, env.enable_checkpointing(...); or leave the header out.",
                )
            return FileSink(self._settings())

    class RowFormatBuilder(BaseBuilder):
        """Builds a FileSink of a row format."""

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
            """Set when a file is complete. Default: `RollingPolicy.default_rolling_policy()`."""
            self._policy = instance(rolling_policy, RollingPolicy, "with_rolling_policy")
            return self

    class BulkFormatBuilder(BaseBuilder):
        """Builds a FileSink of a bulk format."""

        def with_rolling_policy(self, rolling_policy: OnCheckpointRollingPolicy) -> Self:
            """Set the only policy there is for bulk formats, which is the default."""
            self._policy = instance(
                rolling_policy, OnCheckpointRollingPolicy, "with_rolling_policy"
            )
            return self

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
        encoder = instance(encoder, Encoder, "for_row_format")
        return FileSink.RowFormatBuilder(
            base_path, RowFiles(encoder), RollingPolicy.default_rolling_policy()
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
        factory = instance(writer_factory, BulkWriterFactory, "for_bulk_format")
        return FileSink.BulkFormatBuilder(
            base_path, BulkFiles(factory), RollingPolicy.on_checkpoint_rolling_policy()
        )
