"""What is in a file: its records, in blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import IO

from penstock.common.serialization.schema import charset_named
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.common.typeinfo.types import Types
from penstock.runtime.exchange.elements import Block
from penstock.runtime.planned.file_places import decompressed
from penstock.runtime.source import lines_of


class ReaderFormat(ABC):
    """Reads the records of a file.

    Attributes:
        produced_type: The type of the records; None if it is not known.
    """

    produced_type: TypeInformation | None = None

    @abstractmethod
    def read(self, file: IO[bytes], path: str) -> Iterator[Block]:
        """Yield the records of a file.

        Args:
            file: Its bytes.
            path: Where it is, for messages; its end may say how it is compressed.

        Raises:
            PenstockError: If these are no records of the format.
        """


class StreamFormat(ReaderFormat, ABC):
    """Reads a file from its beginning to its end, one record after the other.

    A file is decompressed if its name ends in `.gz`, `.gzip`, `.bz2`, `.xz`, `.zst` or `.deflate`.
    """

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """Return the format of text, whose records are its lines without their ends.

        Args:
            charset_name: The encoding.

        Raises:
            InvalidArgumentError: If there is no such encoding.

        Example:
            >>> StreamFormat.text_line_format("latin-1").produced_type
            String
        """
        return _TextLines(charset_named(charset_name))


class _TextLines(StreamFormat):
    produced_type = Types.STRING()

    def __init__(self, charset: str) -> None:
        self._charset = charset

    def read(self, file: IO[bytes], path: str) -> Iterator[Block]:
        return lines_of(decompressed(file, path), path, self._charset)


class BulkFormat(ReaderFormat, ABC):
    """Reads a file whose records stand in batches, such as one of Parquet."""
