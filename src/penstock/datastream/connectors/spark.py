"""A sink for every format that Spark can write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from penstock.datastream.connectors.base import Sink
from penstock.errors import InvalidArgumentError
from penstock.runtime.operators.prepared_sink import PreparedSinkOperator

__all__ = ["SparkSink"]

_MODES = ("append", "overwrite", "ignore", "error", "errorifexists")


@dataclass(frozen=True, eq=False)
class SparkSink(Sink):
    """Writes records with one of Spark's formats: files, tables, JDBC, Kafka, whatever is installed.

    Workers prepare the rows of an epoch; when the epoch is committed, the driver writes them with
    `DataFrame.write`. Records are delivered at least once: where the driver dies while it writes, the
    epoch's rows are written again after a restart (`tests/executors/spark/test_sinks.py` has what is
    proved: an epoch that is run again is written once). For "delta" the epoch's number goes along
    (`txnAppId` and `txnVersion`), by which Delta Lake leaves out what it has already; this was never
    tried with Delta Lake itself. For files that are written once there is `FileSink`.

    Rows with field names and dicts are written by name; tuples, lists and rows without names by
    position; plain values if there is one column.

    Args:
        format: Spark's name of the format, as "parquet", "csv", "jdbc". Default: Spark's own default,
            Parquet.
        schema: The columns: DDL as "word string, count long", a Spark `StructType`, a PyArrow schema
            or a row type as `Types.ROW_NAMED(...)`.
        mode: What becomes of data that is already there: "append", "overwrite", "ignore", "error" or
            "errorifexists", as in Spark. A streaming job writes once per epoch, so that only
            "append" keeps the results of all epochs.
        path: Where the files are written.
        table: The table that is written; not together with `path`.
        options: The options of the format.

    Raises:
        InvalidArgumentError: If there is no schema, the mode is none of the above, or both a path and a
            table are given.

    Example:
        >>> SparkSink("csv", schema="word string, count long", path="counts").mode
        'append'
    """

    format: str | None = None
    _: KW_ONLY
    schema: Any
    mode: str = "append"
    path: str | None = None
    table: str | None = None
    options: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        if self.schema is None or self.schema == "":
            raise InvalidArgumentError(
                "A SparkSink needs the schema of its rows.",
                hint="For instance: SparkSink('csv', schema='word string, count long', path=...).",
            )
        if self.mode not in _MODES:
            raise InvalidArgumentError(
                f"{self.mode!r} is no mode of a SparkSink.", hint=f"Modes are: {', '.join(_MODES)}."
            )
        if self.path is not None and self.table is not None:
            raise InvalidArgumentError(
                f"A SparkSink writes to a path or to a table, not to both: {self.path!r} and "
                f"{self.table!r}.",
                hint="Leave out one of them.",
            )

    @property
    def place(self) -> str:
        """The table or the path that is written; empty if the options say where."""
        return self.table or self.path or ""

    def create_operator(self) -> PreparedSinkOperator:
        """See `Sink.create_operator`."""
        return PreparedSinkOperator(self.schema, self)
