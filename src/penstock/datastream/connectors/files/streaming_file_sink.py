"""The sink of files by its earlier name."""

from __future__ import annotations

from typing import Self

from penstock.common.serialization import BulkWriterFactory, Encoder
from penstock.datastream.connectors.files.policies import OnCheckpointRollingPolicy, RollingPolicy
from penstock.datastream.connectors.files.sink_of_files import (
    SinkOfFiles,
    SinkOfFilesBuilder,
    instance,
)
from penstock.datastream.connectors.files.writer import BulkFiles, RowFiles

__all__ = ["StreamingFileSink"]


class StreamingFileSink(SinkOfFiles):
    """Writes records to files, as `FileSink` does, of which it is an earlier name in Flink.

    Given to `add_sink` or `sink_to`. Exactly once, as `FileSink`.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> from penstock.testing import local_environment
        >>> folder = mkdtemp()
        >>> sink = StreamingFileSink.for_row_format(folder, Encoder.simple_string_encoder()).build()
        >>> env = local_environment()
        >>> end = env.from_collection([1, 2]).add_sink(sink)
        >>> result = env.execute()
        >>> next(Path(folder).rglob("part-*")).read_text().split()
        ['1', '2']
    """

    class BaseBuilder(SinkOfFilesBuilder):
        """What the builders of both formats have in common."""

        def build(self) -> StreamingFileSink:
            """Return the sink."""
            return StreamingFileSink(self._settings())

    class DefaultRowFormatBuilder(BaseBuilder):
        """Builds a StreamingFileSink of a row format."""

        def with_rolling_policy(self, policy: RollingPolicy) -> Self:
            """Set when a file is complete. Default: `RollingPolicy.default_rolling_policy()`."""
            self._policy = instance(policy, RollingPolicy, "with_rolling_policy")
            return self

    class DefaultBulkFormatBuilder(BaseBuilder):
        """Builds a StreamingFileSink of a bulk format."""

        def with_rolling_policy(self, policy: OnCheckpointRollingPolicy) -> Self:
            """Set the only policy there is for bulk formats, which is the default."""
            self._policy = instance(policy, OnCheckpointRollingPolicy, "with_rolling_policy")
            return self

    @staticmethod
    def for_row_format(
        base_path: str, encoder: Encoder
    ) -> StreamingFileSink.DefaultRowFormatBuilder:
        """See `FileSink.for_row_format`."""
        encoder = instance(encoder, Encoder, "for_row_format")
        return StreamingFileSink.DefaultRowFormatBuilder(
            base_path, RowFiles(encoder), RollingPolicy.default_rolling_policy()
        )

    @staticmethod
    def for_bulk_format(
        base_path: str, writer_factory: BulkWriterFactory
    ) -> StreamingFileSink.DefaultBulkFormatBuilder:
        """See `FileSink.for_bulk_format`."""
        factory = instance(writer_factory, BulkWriterFactory, "for_bulk_format")
        return StreamingFileSink.DefaultBulkFormatBuilder(
            base_path, BulkFiles(factory), RollingPolicy.on_checkpoint_rolling_policy()
        )
