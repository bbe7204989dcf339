"""The table in which a database remembers what was written into it: an epoch for each job and sink."""

from __future__ import annotations

from typing import Final

from penstock.datastream.connectors.databases.client import Connection, Cursor, DatabaseClient

_OWNER: Final = "where lineage = ? and sink = ?"


class EpochsTable:
    """The table, in SQL that all databases know.

    Args:
        client: The database.
        name: The name of the table, quoted if need be.
    """

    def __init__(self, client: DatabaseClient, name: str) -> None:
        self._client = client
        self._name = name

    def create(self, connection: Connection) -> None:
        """Make the table, if it is not there."""
        if self.is_there(connection):
            return
        try:
            with self._client.transaction(connection) as cursor:
                cursor.execute(
                    f"create table {self._name} (lineage varchar(190) not null,"
                    f" sink varchar(190) not null, epoch {self._client.number_type} not null,"
                    f" written_at {self._client.timestamp_type}, primary key (lineage, sink))"
                )
        except self._client.module.Error:
            # Of two that make it at once, one fails.
            if not self.is_there(connection):
                raise

    def is_there(self, connection: Connection) -> bool:
        """Whether the table is there."""
        try:
            with self._client.transaction(connection) as cursor:
                cursor.execute(f"select epoch from {self._name} where 1 = 0")  # noqa: S608
                cursor.fetchall()
        except self._client.module.Error:
            return False
        return True

    def add(self, connection: Connection, lineage: str, sink: str) -> None:
        """Make sure that there is a row of a job and a sink, so that it can be locked."""
        try:
            with self._client.transaction(connection) as cursor:
                if self._epoch(cursor, lineage, sink) is None:
                    self._execute(
                        cursor,
                        f"insert into {self._name} (epoch, lineage, sink) values (?, ?, ?)",  # noqa: S608
                        -1,
                        lineage,
                        sink,
                    )
        except self._client.module.IntegrityError:
            pass  # another driver was quicker

    def last(self, cursor: Cursor, lineage: str, sink: str) -> int:
        """Return the last epoch that was written, -1 for none; others have to wait meanwhile."""
        self._execute(
            cursor,
            f"update {self._name} set epoch = epoch {_OWNER}",  # noqa: S608 - it locks
            lineage,
            sink,
        )
        found = self._epoch(cursor, lineage, sink)
        return -1 if found is None else found

    def _epoch(self, cursor: Cursor, lineage: str, sink: str) -> int | None:
        self._execute(cursor, f"select epoch from {self._name} {_OWNER}", lineage, sink)  # noqa: S608
        rows = cursor.fetchall()
        return int(rows[0][0]) if rows else None

    def remember(self, cursor: Cursor, lineage: str, sink: str, epoch: int) -> None:
        """Write which epoch is the last."""
        self._execute(
            cursor,
            f"update {self._name} set epoch = ?, written_at = current_timestamp {_OWNER}",  # noqa: S608
            epoch,
            lineage,
            sink,
        )

    def _execute(self, cursor: Cursor, sql: str, *values: object) -> None:
        cursor.execute(self._client.statement(sql), self._client.parameters(values))
