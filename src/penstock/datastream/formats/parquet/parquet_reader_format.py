"""Parquet files of rows, for sources."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from penstock.common.configuration import Configuration
from penstock.datastream.formats.column_reader import ColumnReader, Columns

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.common.typeinfo.composite_typeinfo import RowTypeInfo

__all__ = ["ParquetColumnarRowInputFormat"]


class ParquetColumnarRowInputFormat(ColumnReader):
    """Reads rows of Parquet files: see `FileSource.for_bulk_file_format`.

    PyFlink's takes a row type of its Table API.

    Args:
        row_type: The columns to read, by their names: `Types.ROW_NAMED(...)` or a PyArrow schema. Others are not
            read. One that a file has not is None in its rows.
        hadoop_config: Settings of Hadoop's, which have no effect.
        batch_size: How many rows are read at once.
        is_utc_timestamp: Whether points in time become timestamps of UTC. Default: of the zone of the machine that reads.
            What is written without zone is read as the clock read.
        is_case_sensitive: Whether names differ that differ in upper and lower case only.

    Raises:
        InvalidArgumentError: If the row type is neither, or a batch would be empty.
        UnsupportedTypeError: If a type has no column.

    Example:
        >>> import pyarrow as pa, pyarrow.parquet as pq
        >>> from tempfile import TemporaryDirectory
        >>> from penstock.common import Types, WatermarkStrategy
        >>> from penstock.datastream.connectors.file_system import FileSource
        >>> from penstock.testing import local_environment
        >>> rows = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
        >>> with TemporaryDirectory() as folder:
        ...     pq.write_table(pa.table({"id": [1, 2], "name": ["a", None]}), f"{folder}/one.parquet")
        ...     source = FileSource.for_bulk_file_format(
        ...         ParquetColumnarRowInputFormat(rows), folder
        ...     ).build()
        ...     stream = local_environment().from_source(
        ...         source, WatermarkStrategy.no_watermarks(), "rows"
        ...     )
        ...     list(stream.execute_and_collect())
        [Row(id=1, name='a'), Row(id=2, name=None)]
    """

    kind = "Parquet"

    def __init__(
        self,
        row_type: RowTypeInfo | pa.Schema,
        hadoop_config: Configuration | None = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        del hadoop_config
        super().__init__(
            row_type,
            batch_size=batch_size,
            is_utc_timestamp=is_utc_timestamp,
            is_case_sensitive=is_case_sensitive,
        )

    def _columns(self, file: IO[bytes]) -> Columns:
        import pyarrow.parquet as pq

        parquet = pq.ParquetFile(file)
        return Columns(
            parquet.schema_arrow.names,
            lambda wanted: parquet.iter_batches(self._batch_size, columns=wanted),
        )
