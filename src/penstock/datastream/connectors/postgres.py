"""A sink that writes rows into a table of PostgreSQL, each of them once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from penstock.datastream.connectors.databases.committer import RowsCommitter
from penstock.datastream.connectors.databases.postgres_table import Conflict, PostgresTable
from penstock.datastream.connectors.databases.writer import RowsWriter
from penstock.datastream.connectors.two_phase_commit import TwoPhaseCommitSink
from penstock.errors import InvalidArgumentError
from penstock.runtime.sinks import WriterContext

__all__ = ["PostgresSink"]


@dataclass(frozen=True, eq=False)
class PostgresSink(TwoPhaseCommitSink):
    """Writes rows into a table of PostgreSQL.

    Exactly once: all rows of an epoch are written in one transaction, and with them the epoch's number,
    into a table of the sink's own. An epoch that is there already is not written again.
    `tests/datastream/connectors/test_postgres.py` proves it.

    Workers keep the rows of an epoch beside the job's checkpoints; the driver writes them when the epoch
    is committed. Rows that PostgreSQL would not take are found before that: each worker tries them on a
    temporary table of the same columns. What depends on other rows, such as a key that exists, or on
    triggers, shows only when they are written; then the job goes on once the table is fixed.

    Needs psycopg 3 (`pip install 'penstock[postgres]'`). An error of the connection is one that the
    job's restart strategy retries.

    A job that is set back to an earlier epoch or begins from a savepoint writes again what came after
    it; with `on_conflict` the same rows end up in the table.

    Args:
        conninfo: Where the database is: a URL as "postgresql://user@host/database", or libpq's
            `name=value` pairs. It is sent to the workers; a password may be left to a `.pgpass` there.
        table: The table, with its schema where needed, as "shop.orders".
        columns: The columns that are written. Rows with names and dicts are taken by name, all others
            by position. A dict as a value is written as JSON.
        on_conflict: What becomes of a row whose key is in the table: "error", which ends the job,
            "nothing", which leaves the row in the table, or "update", which replaces its columns. Of
            several rows of an epoch with one key, "update" takes the last.
        conflict_columns: The columns of the key, which has to have a unique index; for "update".
        epochs_table: The table that remembers epochs; made if it is not there.
        check_rows: Whether workers try rows on a temporary table. Without it, workers need no
            connection, and a row that does not fit ends a job that cannot go on before it is removed.

    Raises:
        InvalidArgumentError: If an argument is of the wrong kind, or there are no columns.
        PsycopgNotFoundError: If psycopg is not installed; at `execute`.
        SinkTableError: If the table or a column does not exist; at `execute`.

    Example:
        >>> sink = PostgresSink(
        ...     "postgresql://writer@db/shop",
        ...     "totals",
        ...     columns=["customer", "total"],
        ...     on_conflict="update",
        ...     conflict_columns=["customer"],
        ... )
        >>> sink.epochs_table
        'penstock_epochs'
    """

    conninfo: str
    table: str
    _: KW_ONLY
    columns: Sequence[str]
    on_conflict: Conflict = "error"
    conflict_columns: Sequence[str] = ()
    epochs_table: str = "penstock_epochs"
    check_rows: bool = True

    def __post_init__(self) -> None:
        for what, names in (
            ("columns", self.columns),
            ("conflict_columns", self.conflict_columns),
        ):
            if isinstance(names, str) or len(set(names)) < len(names):
                raise InvalidArgumentError(
                    f"{what} is {names!r}.", hint="Give a list of names, each of them once."
                )
        if not self.columns:
            raise InvalidArgumentError(
                "A PostgresSink needs the columns that it writes.",
                hint="For instance: PostgresSink(conninfo, 'totals', columns=['customer', 'total']).",
            )
        if self.on_conflict not in {"error", "nothing", "update"}:
            raise InvalidArgumentError(
                f"{self.on_conflict!r} cannot be done on a conflict.",
                hint="Give 'error', 'nothing' or 'update'.",
            )
        missing = [name for name in self.conflict_columns if name not in self.columns]
        if missing or (self.on_conflict == "update" and not self.conflict_columns):
            raise InvalidArgumentError(
                f"The key {list(self.conflict_columns)} is not among the columns {list(self.columns)}.",
                hint="Give in conflict_columns the columns of a unique index, which are written.",
            )

    @property
    def _table(self) -> PostgresTable:
        return PostgresTable(
            self.conninfo,
            self.table,
            tuple(self.columns),
            self.on_conflict,
            tuple(self.conflict_columns),
            self.epochs_table,
            check_rows=self.check_rows,
        )

    @property
    def place(self) -> str:
        """See `TwoPhaseCommitSink.place`."""
        return self.table

    def create_writer(self, context: WriterContext) -> RowsWriter:
        """See `TwoPhaseCommitSink.create_writer`."""
        return RowsWriter(self._table, context)

    def create_committer(self) -> RowsCommitter:
        """See `TwoPhaseCommitSink.create_committer`."""
        return RowsCommitter(self._table)
