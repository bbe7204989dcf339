"""What the sinks of files have in common."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Self

from penstock.common.typeinfo import TypeInformation
from penstock.datastream.connectors.files.committer import FileCommitter
from penstock.datastream.connectors.files.compaction import FileCompactor, FileCompactStrategy
from penstock.datastream.connectors.files.policies import (
    BucketAssigner,
    OutputFileConfig,
    RollingPolicy,
)
from penstock.datastream.connectors.files.writer import FileFormat, FileSettings, FileWriter
from penstock.datastream.connectors.two_phase_commit import TwoPhaseCommitSink
from penstock.errors import InvalidArgumentError, UnsupportedOperationError
from penstock.runtime.sinks import WriterContext


class SinkOfFiles(TwoPhaseCommitSink):
    """Writes records to files.

    Args:
        settings: What it was built with.
    """

    restores_writer_state = True

    def __init__(self, settings: FileSettings) -> None:
        self._settings = settings
        # What one epoch leaves open, or to be compacted, belongs to a subtask, and time may complete it.
        self.has_writer_state = settings.leaves_something_open
        self.wants_wake_ups = self.has_writer_state

    def of_type(self, type_info: TypeInformation | None) -> Self:
        """See `Sink.of_type`."""
        settings = self._settings
        return type(self)(replace(settings, format=settings.format.of_type(type_info)))

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


class SinkOfFilesBuilder:
    """Collects what sinks of files are built with.

    Args:
        base_path: The folder, or its `file://` URL.
        format: How records become bytes.
        policy: When a file is complete.
    """

    def __init__(self, base_path: str, format: FileFormat, policy: RollingPolicy) -> None:
        self._base_path = _local(base_path)
        self._format = format
        self._policy = policy
        self._assigner = BucketAssigner.date_time_bucket_assigner()
        self._names = OutputFileConfig.builder().build()
        self._interval = 60_000
        self._strategy: FileCompactStrategy | None = None
        self._compactor: FileCompactor | None = None

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
        self._assigner = instance(bucket_assigner, BucketAssigner, "with_bucket_assigner")
        return self

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> Self:
        """Set how files are named. Default: they begin with "part"."""
        self._names = instance(output_file_config, OutputFileConfig, "with_output_file_config")
        return self

    def _settings(self) -> FileSettings:
        return FileSettings(
            self._base_path,
            self._format,
            self._assigner,
            self._policy,
            self._names,
            self._interval,
            self._strategy,
            self._compactor,
        )


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


def instance(value: Any, kind: type[Any], method: str) -> Any:
    """Return a value that is of a class.

    Raises:
        InvalidArgumentError: If it is not.
    """
    if not isinstance(value, kind):
        raise InvalidArgumentError(
            f"{method}() was given {value!r}, which is no {kind.__name__}.",
            hint=f"Give an instance of {kind.__name__}.",
        )
    return value
