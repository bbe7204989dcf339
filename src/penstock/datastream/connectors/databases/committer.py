"""The driver's side of a sink for a database: writes an epoch's rows, and its number, in one transaction."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from contextlib import suppress

from penstock.datastream.connectors.databases.client import Connection, Row
from penstock.datastream.connectors.databases.target import DatabaseTarget
from penstock.datastream.connectors.databases.writer import StagedRows
from penstock.errors import (
    LostEpochError,
    LostOutputError,
    SinkError,
    SinkNotWritableError,
    SinkRowError,
)
from penstock.runtime.sinks import CommitContext, Committer, Uncommitted


class RowsCommitter(Committer):
    """Writes the rows of an epoch and its number in one transaction.

    Args:
        target: Where they are written.
    """

    def __init__(self, target: DatabaseTarget) -> None:
        self._target = target
        self._connection: Connection | None = None

    def open(self) -> None:
        """Make sure that the rows can be written, and that there is a table that remembers epochs."""
        target, connection = self._target, self._connected()
        with target.errors():
            with target.client.transaction(connection) as cursor:
                target.check(cursor)
            target.epochs.create(connection)

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = self._target.connect()
        return self._connection

    def commit(self, committables: list[StagedRows], context: CommitContext) -> None:
        """Write an epoch's rows, if they are not written yet."""
        retries = 0
        while True:
            try:
                return self._commit(self._target, committables, context)
            except SinkNotWritableError:
                if retries >= self._target.max_retries:
                    raise
            retries += 1
            time.sleep(retries)

    def _commit(
        self, target: DatabaseTarget, committables: list[StagedRows], context: CommitContext
    ) -> None:
        owner = context.lineage, context.sink_id
        try:
            connection = self._connected()
            with target.errors():
                target.epochs.add(connection, *owner)
                with target.client.transaction(connection) as cursor:
                    if target.epochs.last(cursor, *owner) >= context.epoch:
                        return
                    target.write(cursor, self._parts(committables, context))
                    target.epochs.remember(cursor, *owner, context.epoch)
        except SinkRowError:
            row_by_row = target.row_by_row()
            if row_by_row is None:
                self.close()
                raise
            self._commit(row_by_row, committables, context)
        except BaseException:
            self.close()
            raise

    def _parts(self, committables: list[StagedRows], context: CommitContext) -> Iterator[list[Row]]:
        for name, count in committables:
            try:
                yield pickle.loads(context.read(name))
            except FileNotFoundError:
                raise LostOutputError(
                    f"{count} rows of epoch {context.epoch} for {self._target.what} are not "
                    f"there: {name} is missing from the job's checkpoint location.",
                    hint="Start the job from an earlier epoch: see `penstock checkpoint list`.",
                ) from None

    def drop(self, uncommitted: Uncommitted) -> None:
        """Make sure that no epoch was written that the job does not know; what was staged is not in the database."""
        if uncommitted.is_over:
            return
        target, written = self._target, uncommitted.after
        owner = uncommitted.lineage, uncommitted.sink_id
        # What is wrong with the database is told when the committer is opened, which may come later.
        with suppress(SinkError), target.errors():
            connection = self._connected()
            if target.epochs.is_there(connection):
                with target.client.transaction(connection) as cursor:
                    written = target.epochs.last(cursor, *owner)
        self.close()
        if written > uncommitted.after:
            raise LostEpochError.after(
                uncommitted.after,
                written,
                target.what,
                f"the table {target.epochs_table!r} of its sink says",
            )

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(self._target.client.module.Error):
                connection.close()
