"""When small files become large ones, and how."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import InvalidArgumentError

__all__ = ["FileCompactStrategy", "FileCompactor"]


@dataclass(frozen=True)
class FileCompactStrategy:
    """Says when files are compacted: see `FileSink.for_row_format(...).enable_compact`.

    Built with `FileCompactStrategy.builder()`. The files of one bucket of one subtask are compacted as soon as one
    of the conditions holds at the end of an epoch, and when the input ends.

    Attributes:
        num_checkpoints: After how many epochs; None for never.
        size_threshold: From how many bytes on; None for never.

    Example:
        >>> FileCompactStrategy.builder().enable_compaction_on_checkpoint(10).build().num_checkpoints
        10
    """

    class Builder:
        """Builds a `FileCompactStrategy`."""

        def __init__(self) -> None:
            self._num_checkpoints: int | None = None
            self._size_threshold: int | None = None

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """Set after how many epochs files are compacted. Default: no number of them has it done.

            Raises:
                InvalidArgumentError: If it is below 1.
            """
            self._num_checkpoints = _positive(num_checkpoints_before_compaction, "number of epochs")
            return self

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Set from how many bytes on files are compacted. Default: no size has it done.

            Raises:
                InvalidArgumentError: If it is below 1.
            """
            self._size_threshold = _positive(size_threshold, "size")
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """Set how many threads compact. It changes nothing here: each subtask compacts its own files.

            Raises:
                InvalidArgumentError: If it is below 1.
            """
            _positive(num_compact_threads, "number of threads")
            return self

        def build(self) -> FileCompactStrategy:
            """Return the strategy.

            Raises:
                InvalidArgumentError: If there is no condition.
            """
            if self._num_checkpoints is None and self._size_threshold is None:
                raise InvalidArgumentError(
                    "A FileCompactStrategy needs a condition.",
                    hint="Call enable_compaction_on_checkpoint() or set_size_threshold().",
                )
            return FileCompactStrategy(self._num_checkpoints, self._size_threshold)

    num_checkpoints: int | None
    size_threshold: int | None

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        """Return what builds a strategy."""
        return FileCompactStrategy.Builder()

    def is_due(self, epochs: int, size: int) -> bool:
        """Whether files are compacted now.

        Args:
            epochs: For how many epochs the first of them has waited, this one included.
            size: How many bytes they have.
        """
        waited = self.num_checkpoints is not None and epochs >= self.num_checkpoints
        return waited or (self.size_threshold is not None and size >= self.size_threshold)


@dataclass(frozen=True)
class FileCompactor:
    """Says how files are compacted: see `FileSink.for_row_format(...).enable_compact`.

    Attributes:
        joins: Whether files are put together.
        delimiter: What stands between two of them.
    """

    joins: bool
    delimiter: bytes = b""

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """Return a compactor that puts files one behind the other.

        That is for formats whose files may be put together so, as lines; Parquet, ORC, Avro and files with headers
        are refused by `build` of the sink.

        Args:
            file_delimiter: What stands between two files. Flink writes it behind the last one, too.

        Raises:
            InvalidArgumentError: If these are no bytes.
        """
        if not isinstance(file_delimiter, bytes | None):
            raise InvalidArgumentError(
                f"{file_delimiter!r} cannot stand between files.", hint="Give bytes, as b'\\n'."
            )
        return FileCompactor(joins=True, delimiter=file_delimiter or b"")

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Return a compactor that leaves files as they are. Flink's takes no more than one at a time."""
        return FileCompactor(joins=False)


def _positive(value: int, what: str) -> int:
    if not isinstance(value, int) or value < 1:
        raise InvalidArgumentError(f"{value!r} is no {what}.", hint="Give a number from 1 on.")
    return value
