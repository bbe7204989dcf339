"""The driver's side of a PostgresSink: writes an epoch's rows in one transaction."""

from __future__ import annotations

import pickle
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from penstock.datastream.connectors.postgres_table import PostgresTable
from penstock.datastream.connectors.postgres_writer import StagedRows
from penstock.errors import LostEpochError, LostOutputError, SinkError
from penstock.runtime.sinks import CommitContext, Committer, Uncommitted

if TYPE_CHECKING:
    from psycopg import Connection, Cursor


class PostgresCommitter(Committer):
    """Writes the rows of an epoch and its number in one transaction.

    Args:
        table: The table.
    """

    def __init__(self, table: PostgresTable) -> None:
        self._table = table
        self._connection: Connection[tuple[Any, ...]] | None = None

    def open(self) -> None:
        """Make sure that the table is there, and the one that remembers epochs."""
        connection = self._connected()
        with self._table.errors(), connection.transaction(), connection.cursor() as cursor:
            self._table.check(cursor)
            self._table.create_epochs_table(cursor)

    def _connected(self) -> Connection[tuple[Any, ...]]:
        if self._connection is not None and self._connection.closed:
            self._connection = None
        if self._connection is None:
            self._connection = self._table.connect()
        return self._connection

    def commit(self, committables: list[StagedRows], context: CommitContext) -> None:
        """Write an epoch's rows, if they are not written yet."""
        try:
            self._commit(committables, context)
        except BaseException:
            self.close()
            raise

    def _commit(self, committables: list[StagedRows], context: CommitContext) -> None:
        table, connection = self._table, self._connected()
        owner = context.lineage, context.sink_id
        with table.errors(), connection.transaction(), connection.cursor() as cursor:
            if table.last_epoch(cursor, *owner) >= context.epoch:
                return
            is_plain = table.on_conflict == "error"
            if not is_plain:
                table.create_stage(cursor)
            self._copy(cursor, committables, context, staged=not is_plain)
            if not is_plain:
                table.insert_staged(cursor)
            table.remember_epoch(cursor, *owner, context.epoch)

    def _copy(
        self,
        cursor: Cursor[tuple[Any, ...]],
        committables: list[StagedRows],
        context: CommitContext,
        *,
        staged: bool,
    ) -> None:
        for name, count in committables:
            try:
                rows = pickle.loads(context.read(name))
            except FileNotFoundError:
                raise LostOutputError(
                    f"{count} rows of epoch {context.epoch} for the table {self._table.name!r} are not "
                    f"there: {name} is missing from the job's checkpoint location.",
                    hint="Start the job from an earlier epoch: see `penstock checkpoint list`.",
                ) from None
            self._table.copy(cursor, rows, staged=staged)

    def drop(self, uncommitted: Uncommitted) -> None:
        """Make sure that no epoch was written that the job does not know; what was staged is not in the table."""
        if uncommitted.is_over:
            return
        table, written = self._table, uncommitted.after
        # What is wrong with the database is told when the committer is opened, which may come later.
        with suppress(SinkError), table.errors():
            connection = self._connected()
            with connection.transaction(), connection.cursor() as cursor:
                table.create_epochs_table(cursor)
                written = table.last_epoch(cursor, uncommitted.lineage, uncommitted.sink_id)
        self.close()
        if written > uncommitted.after:
            raise LostEpochError.after(
                uncommitted.after, written, table.name, "the table penstock_epochs of its sink says"
            )

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
