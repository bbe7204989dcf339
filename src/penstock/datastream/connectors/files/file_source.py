"""A source of files: those that are there, or also those that come."""

from __future__ import annotations

import os
from typing import Any

from penstock.checkpoint.object_storage import SCHEMES
from penstock.common.time import Duration
from penstock.datastream.connectors.base import Source
from penstock.errors import InvalidArgumentError, UnsupportedOperationError
from penstock.runtime.planned.files import FilesSource
from penstock.runtime.planned.reader_format import BulkFormat, ReaderFormat, StreamFormat

__all__ = [
    "BulkFormat",
    "FileEnumeratorProvider",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "StreamFormat",
]


class FileEnumeratorProvider:
    """Says which files are read, and whether in parts.

    Both of them find all files below a folder that are not hidden. A file is read whole, so there is no difference
    between them.
    """

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Return the one for formats that can be read in parts."""
        return FileEnumeratorProvider()

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Return the one for formats that cannot."""
        return FileEnumeratorProvider()


class FileSplitAssignerProvider:
    """Says which subtask reads which file: each the next one, as Spark decides where it runs."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Return the only one there is."""
        return FileSplitAssignerProvider()


class FileSource(Source):
    r"""Reads the files below some folders, each once.

    By default the source is bounded: it reads the files that are there when the job begins. With
    `monitor_continuously` it never ends, and reads files as they come, also after the job was started again:
    exactly once, however the folder is spelled then. A file has to be there whole when it appears, as one that
    was moved into the folder. One that changes later, or is written under a name that was there before, is not
    read again.

    Files of nested folders are read too; names that begin with a dot or an underscore are not. Files are read in
    no order of time, so watermarks come when those that were found together are read: none of their records is
    late because of the others.

    All workers and the driver have to reach the files under one path, or under a URL in an object store, such as
    `s3://bucket/folder`.

    Built with `for_record_stream_format` or `for_bulk_file_format`.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from penstock.common import WatermarkStrategy
        >>> from penstock.testing import local_environment
        >>> with TemporaryDirectory() as folder:
        ...     written = Path(folder, "one.txt").write_text("to be\nor not\n")
        ...     source = FileSource.for_record_stream_format(
        ...         StreamFormat.text_line_format(), folder
        ...     ).build()
        ...     lines = local_environment().from_source(
        ...         source, WatermarkStrategy.no_watermarks(), "lines"
        ...     )
        ...     list(lines.execute_and_collect())
        ['to be', 'or not']
    """

    def __init__(
        self, file_format: ReaderFormat, paths: tuple[str, ...], interval: int | None
    ) -> None:
        self._format = file_format
        self._paths = paths
        self._interval = interval
        self.is_bounded = interval is None
        self.produced_type = file_format.produced_type

    @staticmethod
    def for_record_stream_format(
        stream_format: StreamFormat, *paths: str | os.PathLike[str]
    ) -> FileSourceBuilder:
        """Begin to build a source that reads files from beginning to end.

        Args:
            stream_format: What is in the files, as `StreamFormat.text_line_format()`.
            *paths: The files and folders, or URLs in an object store.

        Raises:
            InvalidArgumentError: If one of them is none.
        """
        _check(stream_format, StreamFormat)
        return FileSourceBuilder(stream_format, _places(paths))

    @staticmethod
    def for_bulk_file_format(
        bulk_format: BulkFormat, *paths: str | os.PathLike[str]
    ) -> FileSourceBuilder:
        """Begin to build a source of files whose records stand in batches.

        Args:
            bulk_format: What is in the files.
            *paths: The files and folders.

        Raises:
            InvalidArgumentError: If one of them is none.
        """
        _check(bulk_format, BulkFormat)
        return FileSourceBuilder(bulk_format, _places(paths))

    def description(self) -> FilesSource:
        """See `Source.description`."""
        return FilesSource(self._format, self._paths, self._interval)


class FileSourceBuilder:
    """Builds a `FileSource`."""

    def __init__(self, file_format: ReaderFormat, paths: tuple[str, ...]) -> None:
        self._format = file_format
        self._paths = paths
        self._interval: int | None = None

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """Let the source go on with files that come later: it never ends.

        Args:
            discovery_interval: The time between two looks for new files.

        Raises:
            InvalidArgumentError: If it is no duration, or not longer than zero.

        Example:
            >>> text = StreamFormat.text_line_format()
            >>> builder = FileSource.for_record_stream_format(text, "/data/in")
            >>> builder.monitor_continuously(Duration.of_seconds(10)).build().is_bounded
            False
        """
        if not isinstance(discovery_interval, Duration) or discovery_interval.to_millis() <= 0:
            raise InvalidArgumentError(
                f"monitor_continuously() was given {discovery_interval!r}.",
                hint="Give the time between two looks, such as Duration.of_seconds(10).",
            )
        self._interval = discovery_interval.to_millis()
        return self

    def process_static_file_set(self) -> FileSourceBuilder:
        """Let the source read the files that are there when the job begins, and end. This is the default."""
        self._interval = None
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Set which files are read; both of those there are find the same.

        Raises:
            InvalidArgumentError: If it is none.
        """
        _check(file_enumerator, FileEnumeratorProvider)
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Set which subtask reads which file; there is but one way.

        Raises:
            InvalidArgumentError: If it is none.
        """
        _check(split_assigner, FileSplitAssignerProvider)
        return self

    def build(self) -> FileSource:
        """Return the source."""
        return FileSource(self._format, self._paths, self._interval)


def _check(value: object, kind: type[Any]) -> None:
    if not isinstance(value, kind):
        raise InvalidArgumentError(
            f"A FileSource was given {value!r}, which is no {kind.__name__}.",
            hint="For instance: FileSource.for_record_stream_format(StreamFormat.text_line_format(), '/data/in').",
        )


def _places(paths: tuple[str | os.PathLike[str], ...]) -> tuple[str, ...]:
    places = tuple(os.fspath(path) for path in paths if isinstance(path, str | os.PathLike))
    if not paths or len(places) < len(paths) or not all(places):
        raise InvalidArgumentError(
            f"A FileSource was given the paths {list(paths)!r}.",
            hint="Give one path of a file or folder, or several.",
        )
    for place in places:
        scheme, separator, _ = place.partition("://")
        if separator and scheme not in {"file", *SCHEMES}:
            raise UnsupportedOperationError(
                f"A FileSource cannot read {place!r}: nothing is known of {scheme}://.",
                hint="Give a path, or a URL of s3://, gs:// or abfss://, or read it with Spark: "
                f"env.from_data_frame(spark.readStream.text({place!r})).",
            )
    return places
