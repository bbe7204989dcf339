"""A sink that executes a statement of SQL for each row."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from penstock.common.typeinfo.composite_typeinfo import RowTypeInfo
from penstock.datastream.connectors.databases.committer import RowsCommitter
from penstock.datastream.connectors.databases.jdbc_statement import JdbcStatement
from penstock.datastream.connectors.databases.writer import RowsWriter
from penstock.datastream.connectors.jdbc.conversions import conversion
from penstock.datastream.connectors.jdbc.options import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
)
from penstock.datastream.connectors.two_phase_commit import TwoPhaseCommitSink
from penstock.errors import InvalidArgumentError
from penstock.runtime.sinks import WriterContext

__all__ = ["JdbcSink"]

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True, eq=False)
class JdbcSink(TwoPhaseCommitSink):
    """Executes a statement of SQL for each row, over the database's own Python client.

    Exactly once, where the database has transactions: all rows of an epoch are written in one, and with
    them the epoch's number, into the table `penstock_epochs`. An epoch that is there already is not
    written again. Flink's delivers at least once.
    `tests/datastream/connectors/jdbc/test_sink.py` proves it, with PostgreSQL and SQLite; with another
    client it holds if `rollback` takes back all that was not committed.

    Workers check rows against their declared type, and keep those of an epoch beside the job's
    checkpoints; the driver writes them when the epoch is committed, so that only the driver has to
    reach the database. If the database then refuses a row, the job ends with the row and the
    reason, and goes on from there when it is started again.

    PostgreSQL needs psycopg 3 (`pip install 'penstock[postgres]'`), MySQL and MariaDB PyMySQL
    (`'penstock[mysql]'`), SQLite nothing; for others see `with_client` of the builder of
    `JdbcConnectionOptions`.

    A job that is set back to an earlier epoch or begins from a savepoint writes again what came after
    it; with a statement that replaces rows ("on conflict do update") the same rows end up in the table.

    Made by `sink`, and given to `add_sink` or `sink_to`.

    Example:
        >>> import sqlite3
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> from penstock.common import Types
        >>> from penstock.testing import local_environment
        >>> file = Path(mkdtemp(), "shop.db")
        >>> shop = sqlite3.connect(file)
        >>> shop.execute("create table totals (customer text primary key, total int)").close()
        >>> sink = JdbcSink.sink(
        ...     "insert into totals values (?, ?) on conflict do update set total = excluded.total",
        ...     Types.ROW([Types.STRING(), Types.INT()]),
        ...     JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        ...     .with_url(f"jdbc:sqlite:{file}")
        ...     .build(),
        ... )
        >>> env = local_environment()
        >>> end = env.from_collection([("ann", 3), ("bob", 5), ("ann", 4)]).add_sink(sink)
        >>> result = env.execute()
        >>> shop.execute("select * from totals order by customer").fetchall()
        [('ann', 4), ('bob', 5)]
        >>> shop.close()
    """

    statement: JdbcStatement = field(repr=False)

    @staticmethod
    def sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
        *,
        epochs_table: str = "penstock_epochs",
    ) -> JdbcSink:
        """Return a sink.

        Args:
            sql: A statement with a question mark for each field of a row: an insert, update, upsert or
                delete. As with JDBC, `??` stands for an operator that is a question mark.
            type_info: The types of the fields. Names are taken as `Types.ROW_NAMED` says.
            jdbc_connection_options: Where the database is.
            jdbc_execution_options: How many rows are sent at once, and how often they are tried again.
            epochs_table: The table that remembers epochs, with its schema where needed; made if it is not there.

        Raises:
            InvalidArgumentError: If an argument is of the wrong kind, or the statement has not as many
                question marks as a row has fields.
            UnsupportedTypeError: If the database has no such type.
            PsycopgNotFoundError: If psycopg is needed and not installed; at `execute`.
            DatabaseClientNotFoundError: If another client is needed and not installed; at `execute`.
            SinkTableError: If the database does not know a table or a column of the statement; at `execute`.
        """
        _check(type_info, jdbc_connection_options, epochs_table)
        execution = jdbc_execution_options or JdbcExecutionOptions.defaults()
        client = jdbc_connection_options.client
        types = type_info.get_field_types()
        found = client.count_placeholders(sql)
        if found != len(types):
            raise InvalidArgumentError(
                f"The statement {sql!r} has {found} question marks for values, and a row {len(types)} fields.",
                hint="Write one question mark for each field; in literals, names and comments they do not count.",
            )
        return JdbcSink(
            JdbcStatement(
                sql,
                tuple(type_info.get_field_names()),
                type_info,
                tuple(conversion(each, client) for each in types),
                client,
                jdbc_connection_options.place,
                epochs_table,
                execution.batch_size,
                execution.max_retries,
            )
        )

    @property
    def place(self) -> str:
        """See `TwoPhaseCommitSink.place`."""
        return self.statement.place

    def create_writer(self, context: WriterContext) -> RowsWriter:
        """See `TwoPhaseCommitSink.create_writer`."""
        return RowsWriter(self.statement, context)

    def create_committer(self) -> RowsCommitter:
        """See `TwoPhaseCommitSink.create_committer`."""
        return RowsCommitter(self.statement)


def _check(type_info: object, options: object, epochs_table: str) -> None:
    if not isinstance(type_info, RowTypeInfo):
        raise InvalidArgumentError(
            f"The rows of a JdbcSink cannot be of the type {type_info!r}.",
            hint="Give Types.ROW([...]), with a type for each question mark.",
        )
    if not isinstance(options, JdbcConnectionOptions):
        raise InvalidArgumentError(
            f"{options!r} does not say where the database is.",
            hint="Give JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(...).build().",
        )
    if _NAME.fullmatch(epochs_table) is None:
        raise InvalidArgumentError(
            f"{epochs_table!r} is no name of a table.", hint="Give a name as 'penstock_epochs'."
        )
