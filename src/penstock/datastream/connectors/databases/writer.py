"""The tasks' side of a sink for a database: keeps the rows of an epoch, once the database would take them."""

from __future__ import annotations

import pickle
from typing import Any, Final, NamedTuple

from penstock.datastream.connectors.databases.client import Connection, Row
from penstock.datastream.connectors.databases.target import DatabaseTarget
from penstock.errors import SinkRowError, TypeMismatchError
from penstock.runtime.sinks import SinkWriter, WriterContext

_ROWS_PER_FILE: Final = 1 << 16


class StagedRows(NamedTuple):
    """Rows that a writer has staged.

    Attributes:
        name: Where they are.
        rows: How many they are.
    """

    name: str
    rows: int


class RowsWriter(SinkWriter):
    """Stages the rows of one subtask.

    Args:
        target: What they are for.
        context: Takes what is staged.
    """

    def __init__(self, target: DatabaseTarget, context: WriterContext) -> None:
        self._target = target
        self._row = target.row
        self._context = context
        self._connection: Connection | None = None
        self._rows: list[Row] = []
        self._staged: list[StagedRows] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        """Take a row."""
        try:
            row = self._row(value)
        except TypeMismatchError as error:
            raise self._refused(value, str(error).partition("\n")[0].rstrip(".")) from error
        except (LookupError, ValueError) as error:
            raise self._refused(value, f"{type(error).__name__}: {error}") from error
        if len(row) != len(self._target.columns):
            raise self._refused(value, f"it has {len(row)} fields")
        self._rows.append(row)
        if len(self._rows) >= _ROWS_PER_FILE:
            self._stage()

    def _refused(self, value: Any, why: str) -> SinkRowError:
        return SinkRowError(
            f"{self._context.name!r} cannot write {value!r}: {why}.",
            hint=f"The columns are: {', '.join(self._target.columns)}.",
        )

    def _stage(self) -> None:
        rows, self._rows = self._rows, []
        if self._target.tries_rows:
            self._try(rows)
        name = self._context.stage(pickle.dumps(rows, pickle.HIGHEST_PROTOCOL))
        self._staged.append(StagedRows(name, len(rows)))

    def _try(self, rows: list[Row]) -> None:
        target, connection = self._target, self._connected()
        with target.errors(rows), target.client.transaction(connection) as cursor:
            target.try_rows(cursor, rows)

    def _connected(self) -> Connection:
        target = self._target
        if self._connection is None:
            self._connection = target.connect()
            with target.errors(), target.client.transaction(self._connection) as cursor:
                target.create_trial(cursor)
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
