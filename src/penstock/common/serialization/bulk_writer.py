"""How records become bytes in files, many at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, BinaryIO

from penstock.common.typeinfo.composite_typeinfo import RowTypeInfo

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BulkWriter", "BulkWriterFactory", "RowDataBulkWriterFactory"]


class BulkWriter(ABC):
    """Writes the records of one file, many at once: see `BulkWriterFactory`."""

    @abstractmethod
    def add_element(self, element: Any) -> None:
        """Add a record, now or later.

        Args:
            element: The record.
        """

    @abstractmethod
    def finish(self) -> None:
        """Write what is left. The file is closed by whoever opened it."""

    def abandon(self) -> None:  # noqa: B027 - only some hold anything but the file
        """Let go of everything: nobody will read the file, which is closed next."""


class BulkWriterFactory(ABC):
    """Makes the writers of files whose format is not one record after the other.

    See `FileSink.for_bulk_format`. A class of your own defines `create`; PyFlink's wrap classes of Java.

    Attributes:
        is_whole: Whether a file is one as a whole only, as those of Parquet are, so that two of them, one behind the
            other, are none. `FileCompactor.concat_file_compactor` does not take such files.
    """

    is_whole: bool = False

    @abstractmethod
    def create(self, file: BinaryIO) -> BulkWriter:
        """Return a writer for a file.

        Args:
            file: The file, which is empty.
        """


class RowDataBulkWriterFactory(BulkWriterFactory):
    """Makes the writers of files that have columns.

    Args:
        row_type: The columns.
    """

    def __init__(self, row_type: RowTypeInfo | pa.Schema) -> None:
        self._row_type = row_type

    def get_row_type(self) -> RowTypeInfo | pa.Schema:
        """Return the columns: `Types.ROW_NAMED(...)` or a PyArrow schema."""
        return self._row_type
