"""The tasks' side of a PostgresSink: keeps the rows of an epoch, once PostgreSQL would take them."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from penstock.common.rows.row_values import row_values
from penstock.datastream.connectors.postgres_table import PostgresTable
from penstock.errors import SinkRowError
from penstock.runtime.sinks import SinkWriter, WriterContext

if TYPE_CHECKING:
    from psycopg import Connection

_ROWS_PER_FILE: Final = 1 << 16


class StagedRows(NamedTuple):
    """Rows that a writer has staged.

    Attributes:
        name: Where they are.
        rows: How many they are.
    """

    name: str
    rows: int


class PostgresWriter(SinkWriter):
    """Stages the rows of one subtask.

    Args:
        table: The table.
        context: Takes what is staged.
        check_rows: Whether rows are tried on a temporary table.
    """

    def __init__(self, table: PostgresTable, context: WriterContext, *, check_rows: bool) -> None:
        self._table = table
        self._columns = table.columns
        self._context = context
        self._checks_rows = check_rows
        self._connection: Connection[tuple[Any, ...]] | None = None
        self._rows: list[tuple[Any, ...]] = []
        self._staged: list[StagedRows] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        """Take a row."""
        try:
            row = row_values(value, self._columns)
        except (LookupError, ValueError) as error:
            raise self._refused(value, f"{type(error).__name__}: {error}") from error
        if len(row) != len(self._columns):
            raise self._refused(value, f"it has {len(row)} fields")
        self._rows.append(row)
        if len(self._rows) >= _ROWS_PER_FILE:
            self._stage()

    def _refused(self, value: Any, why: str) -> SinkRowError:
        return SinkRowError(
            f"{self._context.name!r} cannot write {value!r}: {why}.",
            hint=f"The columns are: {', '.join(self._columns)}.",
        )

    def _stage(self) -> None:
        rows, self._rows = self._rows, []
        if self._checks_rows:
            self._check(rows)
        name = self._context.stage(pickle.dumps(rows, pickle.HIGHEST_PROTOCOL))
        self._staged.append(StagedRows(name, len(rows)))

    def _check(self, rows: list[tuple[Any, ...]]) -> None:
        connection = self._connected()
        with self._table.errors(rows), connection.transaction(), connection.cursor() as cursor:
            self._table.copy(cursor, rows, staged=True)

    def _connected(self) -> Connection[tuple[Any, ...]]:
        if self._connection is None:
            self._connection = self._table.connect()
            with self._table.errors(), self._connection.cursor() as cursor:
                self._table.create_trial(cursor)
        return self._connection

    def prepare_commit(self) -> list[StagedRows]:
        """Stage what is left."""
        if self._rows:
            self._stage()
        staged, self._staged = self._staged, []
        return staged

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
